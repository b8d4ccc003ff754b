/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * User-defined selection policies (lnet.md 11.3): an ordered list, and what it says of NIs,
 * peers and gateways. The first policy of the list that names something decides.
 *
 * Priorities are kept where selection needs them: by an apply function for whatever comes,
 * for all that is there when the list changes. Preferences relate two things of which either may
 * come or go, so they are looked up in the list; a peer NI knows whether there are any for it.
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

/* What policies say of something new. */
void lx_udsp_apply_net(struct lx_core *core, struct lx_net *net);
void lx_udsp_apply_ni(struct lx_core *core, struct lx_core_ni *ni);
void lx_udsp_apply_peer_net(struct lx_core *core, struct lx_peer_net *net);
void lx_udsp_apply_peer_ni(struct lx_core *core, struct lx_peer_ni *pni);

/* Whether an own NI is preferred for a peer NI; no NI is not. */
bool lx_udsp_prefers_ni(const struct lx_peer_ni *pni, const struct lx_core_ni *ni);
/* Whether a gateway is preferred for a destination. */
bool lx_udsp_prefers_gateway(const struct lx_peer_ni *pni, const struct lx_peer *gateway);

/* What is shown of it. */
void lx_udsp_describe_ni(const struct lx_core_ni *ni, struct lx_udsp_effect *ret_effect);
void lx_udsp_describe_peer_ni(const struct lx_peer_ni *pni, struct lx_udsp_effect *ret_effect);

#endif
