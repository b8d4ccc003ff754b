/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tracks who uses this node as a router, and notifies them when routing begins and ends.
 * Called by monitor.c each second, and by parse.c with neighbours' messages.
 *
 * A user is a neighbour that fetched our ping information or sent us a message for
 * others within the period in which every gateway is checked once. It has been told once
 * it has acknowledged a push, or fetched the information, after the change.
 *
 *	              known to do discovery ─▶ pushed to at once (discover.c)
 *	to be told ──┤
 *	              others, remembered ones ─▶ queue here ─▶ ping, then push ─▶ told
 *	                                           ▲ PER_ROUND/s    │ no answer
 *	                                           └── RETRY_NS ◀───┴─▶ given up
 *
 * A neighbour without discovery ignores pushes; it finds out when it checks its gateways. A fetch
 * may be a recovery ping, whose answer the neighbour does not learn from: it ends no announcement.
 */
#include <errno.h>
#include <stdlib.h>

#include "announce.h"
#include "change.h"
#include "core.h"
#include "count.h"

#define PER_ROUND 200     /* pings per second */
#define TRIES 3
#define RETRY_NS (5 * LX_S_NS)
#define QUEUE_MAX 8192
#define SENDING_NS (2 * LX_S_NS)
#define ANSWER_NS (5 * LX_S_NS) /* without an answer for so long, the node is not there */

/* A neighbour to be told. Owner: core->announcements. */
struct announcement {
	struct lx_list link;
	struct lx_nid nid;
	unsigned int tries;
	uint64_t next_ns;
	bool made; /* the peer was created for this */
};

/* ---- who uses us --------------------------------------------------------------------- */

void lx_announce_routed(struct lx_core *core, struct lx_peer_ni *from)
{
	if (from->net)
		lx_peer_of(from)->routed_ns = lx_core_now(core);
}

void lx_announce_asked(struct lx_core *core, struct lx_peer_ni *from)
{
	struct lx_peer *peer;

	if (!from->net)
		return;
	peer = lx_peer_of(from);
	peer->asked_ns = lx_core_now(core);
	peer->asked_seqno = core->target.seqno;
}

void lx_announce_absorb(struct lx_peer *to, struct lx_peer *from)
{
	if (from->routed_ns > to->routed_ns)
		to->routed_ns = from->routed_ns;
	if (from->asked_ns <= to->asked_ns)
		return;
	to->asked_ns = from->asked_ns;
	to->asked_seqno = from->asked_seqno;
}

static uint64_t used_ns(const struct lx_peer *peer)
{
	return peer->routed_ns > peer->asked_ns ? peer->routed_ns : peer->asked_ns;
}

static bool is_user(const struct lx_peer *peer, uint64_t now)
{
	const struct lx_core_tunables *tun = &peer->core->tun;
	uint64_t s = tun->alive_router_check_interval + tun->router_ping_timeout;

	return used_ns(peer) && now - used_ns(peer) <= s * LX_S_NS;
}

static bool has_acked(const struct lx_peer *peer)
{
	return peer->acked_seqno >= peer->core->announced_seqno && !lx_peer_discovery_off(peer);
}

static bool is_told(const struct lx_peer *peer)
{
	return peer->asked_seqno >= peer->core->announced_seqno || has_acked(peer);
}

bool lx_announce_is_gone(const struct lx_peer *peer)
{
	uint64_t since = peer->core->routing_end_ns, now = lx_core_now(peer->core);
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;
	bool lost = true;

	if (!since || !is_user(peer, now))
		return false;
	lx_peer_ni_for_each(net, pni, peer) {
		if (pni->last_alive_ns >= since)
			return false;
		lost &= lx_down_is_lost(&pni->down);
	}
	return lost || now - since >= ANSWER_NS;
}

void lx_announce_users(struct lx_core *core, struct lx_announce_users *ret_users)
{
	struct lx_announce_users users = { .nid = lx_nid_any };
	uint64_t now = lx_core_now(core);
	struct lx_peer *peer;

	lx_count_refresh(core); /* the fast path's traffic */
	lx_list_for_each(peer, &core->peers, link) {
		bool sending = peer->routed_ns && now - peer->routed_ns < SENDING_NS;

		if (sending && !users.sending++ && !users.untold)
			users.nid = peer->primary;
		if (is_user(peer, now) && !is_told(peer) && !lx_announce_is_gone(peer) &&
		    !users.untold++)
			users.nid = peer->primary;
	}
	*ret_users = users;
}

/* A peer's NID on a local net, or NULL: it is not a neighbour. */
static const struct lx_nid *neighbour_nid(const struct lx_peer *peer)
{
	struct lx_peer_net *net;

	lx_list_for_each(net, &peer->nets, link) {
		if (lx_net_lookup(peer->core, net->id))
			return &lx_list_first(&net->nis, struct lx_peer_ni, link)->nid;
	}
	return NULL;
}

int lx_announce_describe(struct lx_core *core, struct lx_neighbour_info **ret_list,
			 size_t *ret_n)
{
	struct lx_neighbour_info *list;
	uint64_t now = lx_core_now(core);
	struct lx_peer *peer;
	size_t n = 0;

	lx_count_refresh(core);
	list = calloc(lx_list_count(&core->peers) + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	lx_list_for_each(peer, &core->peers, link) {
		const struct lx_nid *nid = neighbour_nid(peer);

		if (!nid || !is_user(peer, now))
			continue;
		list[n++] = (struct lx_neighbour_info){
			.nid = *nid,
			.idle_s = (now - used_ns(peer)) / LX_S_NS,
			.told = is_told(peer),
		};
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

/* ---- announcing ------------------------------------------------------------------------ */

void lx_announce_begin(struct lx_core *core)
{
	/* The sequence number of the next rebuild of the information. */
	core->announced_seqno = core->target.seqno + 1;
	lx_change_own_info(core);
}

int lx_announce_add(struct lx_core *core, const struct lx_nid *nid)
{
	struct announcement *a;

	if (!lx_net_lookup(core, lx_nid_net(nid)) || lx_ni_is_local_nid(core, nid))
		return 0;
	if (core->n_announcements == QUEUE_MAX)
		return -ENOBUFS;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->nid = *nid;
	lx_list_append(&core->announcements, &a->link);
	core->n_announcements++;
	return 0;
}

static void announcement_free(struct lx_core *core, struct announcement *a)
{
	lx_list_del(&a->link);
	core->n_announcements--;
	free(a);
}

/* Deletes a peer that was created for this and never answered. */
static void give_up(struct lx_core *core, struct announcement *a)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, &a->nid);

	if (a->made && pni && !pni->last_alive_ns && lx_peer_idle(lx_peer_of(pni)))
		lx_peer_delete(lx_peer_of(pni));
	announcement_free(core, a);
}

/* Returns true if it requested a ping. */
static bool tell(struct lx_core *core, struct announcement *a)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, &a->nid);
	struct lx_peer *peer = pni ? lx_peer_of(pni) : NULL;
	bool deaf = peer && (peer->state & LX_PEER_DISCOVERED) && lx_peer_discovery_off(peer);

	if (a->tries == TRIES || deaf || (peer && has_acked(peer))) {
		give_up(core, a);
		return false;
	}
	if (lx_peer_ni_obtain(core, &a->nid, &pni)) {
		announcement_free(core, a);
		return false;
	}
	a->made |= !peer;
	a->tries++;
	a->next_ns = lx_core_now(core) + RETRY_NS;
	peer = lx_peer_of(pni);
	peer->state |= LX_PEER_FORCE_PING | LX_PEER_FORCE_PUSH;
	lx_peer_discover(peer);
	return true;
}

/* Queues users that no push has reached: a ping will tell whether they do discovery. */
static void add_untold(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	const struct lx_nid *nid;
	struct lx_peer *peer;

	if (!lx_list_empty(&core->announcements) || now - core->routing_since_ns < LX_S_NS)
		return;
	lx_list_for_each(peer, &core->peers, link) {
		nid = neighbour_nid(peer);
		if (nid && is_user(peer, now) && !is_told(peer) && !lx_announce_is_gone(peer) &&
		    lx_announce_add(core, nid))
			return;
	}
}

void lx_announce_work(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct announcement *a, *tmp;
	unsigned int n = 0;

	if (core->routing == LX_ROUTING_STOPPING)
		add_untold(core);
	else if (core->routing != LX_ROUTING_ON)
		return;
	lx_list_for_each_safe(a, tmp, &core->announcements, link) {
		if (a->next_ns <= now)
			n += tell(core, a);
		if (n == PER_ROUND)
			return;
	}
}

void lx_announce_stop(struct lx_core *core)
{
	struct announcement *a;

	while ((a = lx_list_first(&core->announcements, struct announcement, link)))
		announcement_free(core, a);
}
