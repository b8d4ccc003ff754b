/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The work of commands, independent of grammar and output. Each returns 0 or a negative errno,
 * with the reason recorded in the session.
 */
#ifndef LX_TOOLS_REQUESTS_H
#define LX_TOOLS_REQUESTS_H

#include <jansson.h>

#include "../../../user/schema/requests.h"
#include "args.h"

/* What a command does. */
typedef int lx_request_fn(struct lx_session *s, const struct lx_args *a);

lx_request_fn lx_request_up, lx_request_down, lx_request_reload, lx_request_route_add,
	lx_request_route_del, lx_request_peer_add, lx_request_peer_del, lx_request_peer_set,
	lx_request_buffers, lx_request_stats_reset, lx_request_disconnect, lx_ni_request_net_add,
	lx_ni_request_net_del, lx_ni_request_net_set;
int lx_request_routing(struct lx_session *s, bool enable);
int lx_request_tunable_set(struct lx_session *s, const char *module, const char *name,
			   const char *value);

/*
 * Adds an NI, or with LX_ARG_IP2NETS the NIs that result on this machine from rules in the
 * module parameter's grammar. -ENOENT: no rule applies.
 */
lx_request_fn lx_ip2nets_add;

int lx_ni_request_add(struct lx_session *s, const struct lx_conf_ni *ni);
/* Before several are added: is the interface or address of one missing? 0 otherwise. */
int lx_ni_request_check(struct lx_session *s, const struct lx_conf_ni *ni);

/**
 * lx_request_show - list an object (enum lx_ctl_object, or of user/schema/requests.h), filtered by
 *	net, nid, gateway, ...
 * @ret_list: a JSON array; owned by the caller
 */
int lx_request_show(struct lx_session *s, unsigned int object, const struct lx_args *a,
		    unsigned int level, json_t **ret_list);

/* The same for an object of which there is one. @a: or NULL. @ret_row: NULL: lnetxd sent none */
int lx_request_first(struct lx_session *s, unsigned int object, const struct lx_args *a,
		     unsigned int level, json_t **ret_row);

/* lx_request_show() without filter. */
int lx_request_show_all(struct lx_session *s, unsigned int object, unsigned int level,
			json_t **ret_list);

/* The same for what is only of use if it is there. NULL: lnetxd does not say, for whatever reason.
 */
json_t *lx_request_list(struct lx_session *s, unsigned int object);
json_t *lx_request_row(struct lx_session *s, unsigned int object, const struct lx_args *a);

/* The number of fault injection rules; 0 if it is unknown, too. */
unsigned int lx_request_fault_count(struct lx_session *s);

/* Messages from a peer, as shown, by any of its NIs. */
json_int_t lx_request_peer_received(const json_t *peer);

/* One probe; adds the answer to @list, in the form of "ping:". */
int lx_request_probe(struct lx_session *s, const struct lx_ctl_ping *ping, bool discover,
		     bool force, json_t *list);

/*
 * Calls @probe for each NID of the command, with its source and timeout, until it returns
 * an error.
 */
typedef int (*lx_request_probe_fn)(struct lx_session *s, const struct lx_ctl_ping *ping, void *arg);
int lx_request_probe_each(struct lx_session *s, const struct lx_args *a, lx_request_probe_fn probe,
			  void *arg);

/* The mapping shown as "global:". */
int lx_request_globals(struct lx_session *s, json_t **ret_map);

/* Sets one of them. -ENOENT: no such key, or it cannot be set. */
int lx_request_global_set(struct lx_session *s, const char *key, int64_t value);

/* {"routing": [...], "buffers": {...}} as the reference shows it; empty if it never routed. */
int lx_request_routing_show(struct lx_session *s, bool backup, json_t **ret_map);

/* Parses a command's settings of an NI into @ni, whose net is known. */
int lx_ni_request_settings(struct lx_session *s, const struct lx_args *a, struct lx_conf_ni *ni);

/*
 * A session of LNet selftest is named after a NID of its console: the first of ours with a 4-byte
 * address. -ENODEV: there is none.
 */
int lx_request_console(struct lx_session *s, struct lx_nid *ret_nid);

/* A tunable of lnetxd that is a number; 0 if there is none. Returns 0 or a recorded -errno. */
int lx_request_tunable(struct lx_session *s, const char *module, const char *name,
		       int64_t *ret_value);

#endif
