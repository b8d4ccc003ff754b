/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called where something changes; calls the core's owner and transports. */

#include "../base/text.h"
#include "change.h"
#include "core.h"

void lx_change_policy(struct lx_core *core, const struct lx_nid *nid, uint32_t id)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core) {
		if (ni->ni.lnd->policy_changed)
			ni->ni.lnd->policy_changed(&ni->ni, nid, id);
	}
}

/* Reports to transports changes that may change next hops, and of which messages. */
static void note_policy(struct lx_core *core, const struct lx_change *change)
{
	switch (change->type) {
	case LX_CHANGE_PEER_ADD:
	case LX_CHANGE_PEER_UP:
	case LX_CHANGE_PEER_CHANGED: /* lx_peer_policy_changed() */
	case LX_CHANGE_PEER_DEL: /* its NIDs are detached one by one (peer.c) */
	case LX_CHANGE_CONN_UP:
	case LX_CHANGE_CONN_DOWN:
		break;
	case LX_CHANGE_PEER_DOWN:
		lx_change_policy(core, &change->nid, LX_NET_U32_ANY);
		break;
	case LX_CHANGE_ROUTE_ADD:
	case LX_CHANGE_ROUTE_DEL:
	case LX_CHANGE_ROUTE_UP:
	case LX_CHANGE_ROUTE_DOWN:
		lx_change_policy(core, NULL, change->net);
		break;
	default:
		lx_change_policy(core, NULL, LX_NET_U32_ANY);
	}
}

void lx_change_tell(struct lx_core *core, enum lx_change_type type, const struct lx_nid *nid,
		    uint32_t net, const char *fmt, ...)
{
	struct lx_change change = { .type = type, .nid = *nid, .net = net };

	LX_FORMAT(change.text, sizeof(change.text), fmt);
	note_policy(core, &change);
	core->ops->change(&change, core->ops_arg);
}

void lx_change_own_info(struct lx_core *core)
{
	core->target.stale = true;
	lx_core_kick(core);
}
