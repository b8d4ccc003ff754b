/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User-defined selection policies (lnet.md 11.3): an ordered list that applies to NIs,
 * peers and gateways. The first policy that names an object decides.
 *
 * Priorities are stored in the objects, for selection: the apply functions set them for new
 * objects, and for all objects when the list changes. Preferences relate two objects, either of
 * which may come and go, so they are looked up in the list; a peer NI knows whether it has any.
 */
#ifndef LX_CORE_UDSP_H
#define LX_CORE_UDSP_H

#include <lnetx/conf.h>
#include <lnetx/info.h>

#include "../base/list.h"
#include "../base/policy.h"

struct lx_core;
struct lx_core_ni;
struct lx_net;
struct lx_peer;
struct lx_peer_net;
struct lx_peer_ni;

#define LX_PRIORITY_NONE UINT32_MAX /* no policy gives one */

struct lx_udsp {
	struct lx_list link; /* in core->udsps */
	struct lx_policy policy;
};

/* As lx_udsp_add(), lx_udsp_del() and lx_udsp_list() of lnetx.h. */
int lx_udsp_new(struct lx_core *core, const struct lx_conf_udsp *conf);
int lx_udsp_delete(struct lx_core *core, int32_t index);
int lx_udsp_describe_all(struct lx_core *core, struct lx_conf_udsp **ret_list, size_t *ret_n);

/* Apply the policies to a new object. */
void lx_udsp_apply_net(struct lx_core *core, struct lx_net *net);
void lx_udsp_apply_ni(struct lx_core *core, struct lx_core_ni *ni);
void lx_udsp_apply_peer_net(struct lx_core *core, struct lx_peer_net *net);
void lx_udsp_apply_peer_ni(struct lx_core *core, struct lx_peer_ni *pni);

/* True if a local NI (may be NULL) is preferred for a peer NI. */
bool lx_udsp_prefers_ni(const struct lx_peer_ni *pni, const struct lx_core_ni *ni);
/* True if a gateway is preferred for a destination. */
bool lx_udsp_prefers_gateway(const struct lx_peer_ni *pni, const struct lx_peer *gateway);

/* Describes the effect of the policies, for shows. */
void lx_udsp_describe_ni(const struct lx_core_ni *ni, struct lx_udsp_effect *ret_effect);
void lx_udsp_describe_peer_ni(const struct lx_peer_ni *pni, struct lx_udsp_effect *ret_effect);

#endif
