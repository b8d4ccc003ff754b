/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linux routes for nodes with several interfaces on one subnet: without them, Linux sends
 * what comes from any of their addresses by the first interface. Each interface with a tcp
 * NI gets a routing table of its name, with its subnet and its gateways, and each address a
 * rule that leads there (as the reference's ksocklnd-config does). Ours have the
 * protocol number LX_MRROUTE_PROTOCOL, so that they can be removed.
 */
#ifndef LX_TOOLS_MRROUTE_H
#define LX_TOOLS_MRROUTE_H

#include "../cli/common/requests.h"

#define LX_MRROUTE_PROTOCOL 98 /* of routes and rules (rtm_protocol); nobody else's */

/*
 * Adds the routes and rules that the tcp NIs lack, after "net add". What it makes is marked as its
 * own, and goes when the interface has no NI any more: when the next one is added, or with these,
 * lx_ni_request_net_del() and lx_request_down().
 */
int lx_mrroute_add(struct lx_session *s);
lx_request_fn lx_mrroute_net_del, lx_mrroute_down;

/*
 * -EXDEV, recorded, if lnetxd is in another network namespace than this command; 0 also if
 * that cannot be found out. Connects the session if need be.
 */
int lx_mrroute_check_netns(struct lx_session *s);

#endif
