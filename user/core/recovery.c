/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by monitor.c each second; the queues are filled by health.c.
 *
 * Both are pinged from the best of our NIs on their net, so that an NI that cannot reach itself
 * recovers by another one. Health changes by recovery pings as by any other message. Where the
 * transport does not connect to itself a ping of the node to itself does not pass through the
 * NI: its answer raises the NI here.
 *
 *	queued ─1 s─▶ ping ──▶ answer    ─▶ back-off restarts; next_ping stays
 *	               ▲  └──▶ no answer ─▶ health drops
 *	               └── 2, 4, 8 ... s after the last ping, never while one is unanswered
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "msg.h"
#include "recovery.h"

struct ping {
	struct lx_core *core;
	struct lx_nid nid; /* pinged; looked up again, as it may be gone by then */
	bool local;
	char answer[LX_PING_INFO_MIN] __attribute__((aligned(8)));
};

/* ---- one ping -------------------------------------------------------------------- */

static void answered(const struct ping *ping)
{
	struct lx_peer_ni *pni;
	struct lx_core_ni *ni;

	if (!ping->local) {
		pni = lx_peer_ni_lookup(ping->core, &ping->nid);
		if (pni)
			pni->health.ping_count = 0;
		return;
	}
	ni = lx_ni_lookup(ping->core, &ping->nid);
	if (!ni)
		return;
	ni->health.ping_count = 0;
	if (lx_msg_stays_inside(ping->core, &ping->nid))
		lx_health_raise_ni(ni);
}

static void on_event(const struct lx_event *event)
{
	struct ping *ping = event->user;

	if (event->type == LX_EVENT_REPLY && !event->status)
		answered(ping);
	if (event->unlinked)
		free(ping);
}

static int ping_send(struct lx_core *core, const struct lx_nid *nid, bool local,
		     struct lx_recovery *recovery)
{
	const struct lx_id target = { *nid, LX_PID_LUSTRE };
	struct lx_md_desc desc = {
		.length = LX_PING_INFO_MIN,
		.threshold = 2,
		.options = LX_MD_TRACK_RESPONSE | LX_MD_TRUNCATE,
		.handler = on_event,
	};
	struct ping *ping = calloc(1, sizeof(*ping));
	struct lx_md *md;
	int r;

	if (!ping)
		return -ENOMEM;
	*ping = (struct ping){ .core = core, .nid = *nid, .local = local };
	desc.start = ping->answer;
	desc.user = ping;
	r = lx_md_new(core, NULL, &desc, LX_UNLINK, &md);
	if (r) {
		free(ping);
		return r;
	}
	md->internal = true;
	md->as_given = true;
	recovery->ping = md->handle;
	r = lx_msg_get(core, NULL, md, &target, LX_PORTAL_RESERVED, LX_PING_MATCH_BITS, 0, true);
	if (r) {
		lx_md_abandon(md);
		free(ping);
	}
	return r;
}

/* ---- the queues ------------------------------------------------------------------ */

static uint64_t interval_s(const struct lx_core *core, unsigned int pings)
{
	uint64_t most = core->tun.lnet_max_recovery_ping_interval;
	uint64_t s = 1ull << (pings < 32 ? pings : 32);

	return s < most ? s : most;
}

/* If a ping is due, counts it and sets next_ping. */
static bool is_due(struct lx_core *core, const struct lx_recovery *recovery, uint32_t *ping_count,
		   uint64_t *next_ping)
{
	uint64_t now = lx_core_now(core) / LX_S_NS;

	if (now < *next_ping || lx_md_lookup(core, recovery->ping))
		return false;
	*next_ping = now + interval_s(core, ++*ping_count);
	return true;
}

static void recover_ni(struct lx_core_ni *ni)
{
	/* The node would answer itself, although others cannot reach the NI. */
	if (ni->link_down)
		return;
	if (is_due(ni->ni.core, &ni->recovery, &ni->health.ping_count, &ni->health.next_ping))
		ping_send(ni->ni.core, &ni->ni.nid, true, &ni->recovery);
}

static bool is_given_up(const struct lx_core *core, const struct lx_peer_ni *pni, uint64_t now)
{
	uint64_t limit = (uint64_t)core->tun.lnet_recovery_limit * LX_S_NS;

	return limit && now - pni->last_alive_ns > limit;
}

static void recover_peer(struct lx_core *core, struct lx_peer_ni *pni)
{
	if (is_given_up(core, pni, lx_core_now(core))) {
		lx_list_del(&pni->recovery.link);
		pni->health.ping_count = 0;
		return;
	}
	if (is_due(core, &pni->recovery, &pni->health.ping_count, &pni->health.next_ping))
		ping_send(core, &pni->nid, false, &pni->recovery);
}

/* A ping that fails at once may change the queues, so each entry is put back first. */
void lx_recovery_tick(struct lx_core *core)
{
	struct lx_list nis, peers;
	struct lx_peer_ni *pni;
	struct lx_core_ni *ni;

	if (!core->tun.lnet_health_sensitivity)
		return;
	lx_list_init(&nis);
	lx_list_init(&peers);
	lx_list_splice(&nis, &core->recovery_nis);
	lx_list_splice(&peers, &core->recovery_peers);
	while ((ni = lx_list_pop(&nis, struct lx_core_ni, recovery.link))) {
		lx_list_append(&core->recovery_nis, &ni->recovery.link);
		recover_ni(ni);
	}
	while ((pni = lx_list_pop(&peers, struct lx_peer_ni, recovery.link))) {
		lx_list_append(&core->recovery_peers, &pni->recovery.link);
		recover_peer(core, pni);
	}
}

/* ---- description ----------------------------------------------------------------- */

static struct lx_recovery_info describe(const struct lx_core *core, const struct lx_nid *nid,
					uint32_t value, uint32_t ping_count, uint64_t next_ping)
{
	uint64_t now = core->ops->now(core->ops_arg) / LX_S_NS;

	return (struct lx_recovery_info){
		.nid = *nid,
		.value = value,
		.ping_count = ping_count,
		.next_ping_s = next_ping > now ? next_ping - now : 0,
	};
}

int lx_recovery_describe(struct lx_core *core, struct lx_recovery_info **ret_list, size_t *ret_n)
{
	struct lx_recovery_info *list;
	struct lx_peer_ni *pni;
	struct lx_core_ni *ni;
	size_t n = 0;

	list = calloc(lx_list_count(&core->recovery_nis) + lx_list_count(&core->recovery_peers) + 1,
		      sizeof(*list));
	if (!list)
		return -ENOMEM;
	lx_list_for_each(ni, &core->recovery_nis, recovery.link)
		list[n++] = describe(core, &ni->ni.nid, ni->health.value, ni->health.ping_count,
				     ni->health.next_ping);
	lx_list_for_each(pni, &core->recovery_peers, recovery.link) {
		list[n] = describe(core, &pni->nid, pni->health.value, pni->health.ping_count,
				   pni->health.next_ping);
		list[n++].peer = true;
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}
