/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Discovery: learning a peer's NIDs by a ping, telling it ours by a push.
 *
 * Each occurrence is recorded in the peer's state, and the peer is queued;
 * lx_discover_work() takes the one step that the state calls for:
 *
 *	MARK_DELETION ──▶ forget what discovery learned    │
 *	DATA_PRESENT  ──▶ merge what it told ──────────────┐
 *	PING_FAILED   ──▶ error: end; truncated: ping again│
 *	PUSH_FAILED   ──▶ end                              │
 *	needs a ping  ──▶ GET, PING_SENT ─▶ reply: DATA_PRESENT
 *	needs a push  ──▶ PUT, PUSH_SENT ─▶ ACK           ─┤
 *	PING_SENT, PUSH_SENT: wait for the event           │
 *	else          ──▶ discovered: end ◀────────────────┘
 *
 * At the end the messages and users waiting for the peer continue. State bits are
 * those of lnet.md 12.3, which users see.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "change.h"
#include "core.h"
#include "discover.h"
#include "health.h"
#include "probe.h"
#include "rank.h"

enum step { STEP_AGAIN, STEP_WAIT, STEP_END, STEP_GONE };

static bool needs_ping(const struct lx_peer *peer)
{
	return (peer->state & LX_PEER_FORCE_PING) || !(peer->state & LX_PEER_NIDS_UPTODATE);
}

/*
 * Others can make us ping a peer: by pushes that cannot be used, and by claims to its NIDs. Not
 * more than once a second for one peer, nor more than some in all.
 */
#define ASKS_PER_SECOND 64

static void ask(struct lx_peer *peer)
{
	struct lx_core *core = peer->core;
	uint64_t now = lx_core_now(core);

	if (now < peer->ask_ns || core->n_asked >= ASKS_PER_SECOND) {
		if (lx_list_empty(&peer->ping_due_link))
			lx_list_append(&core->pings_due, &peer->ping_due_link);
		return;
	}
	lx_list_del(&peer->ping_due_link);
	core->n_asked++;
	peer->ask_ns = now + LX_S_NS;
	peer->state |= LX_PEER_FORCE_PING;
	lx_peer_discover(peer);
}

static void ask_due(struct lx_core *core)
{
	struct lx_peer *peer, *next;

	core->n_asked = 0;
	lx_list_for_each_safe(peer, next, &core->pings_due, ping_due_link) {
		if (core->n_asked < ASKS_PER_SECOND)
			ask(peer);
	}
}

/* ---- a peer's information (lnet.md 12.3 - 12.5) ------------------------------------------ */

/*
 * Compares the DISCOVERY and MULTI_RAIL bits of an answer or a push with our state. After a push
 * the peer would not be discovered again: that our discovery is off says nothing about its NIDs.
 */
static void note_features(struct lx_peer *peer, uint32_t features, bool pushed)
{
	bool local_off = peer->core->tun.lnet_peer_discovery_disabled;
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	if ((local_off && !pushed) || !(features & LX_PING_DISCOVERY)) {
		/* Its NIDs were learned by discovery: start over with the one we use. */
		if (!(peer->state & (LX_PEER_CONFIGURED | LX_PEER_NO_DISCOVERY)) &&
		    (peer->state & (LX_PEER_DISCOVERED | LX_PEER_MULTI_RAIL)))
			peer->state |= LX_PEER_MARK_DELETION;
		peer->state |= LX_PEER_NO_DISCOVERY;
	} else {
		peer->state &= ~LX_PEER_NO_DISCOVERY;
	}

	if (peer->state & LX_PEER_CONFIGURED) {
		if (!(features & LX_PING_MULTI_RAIL) != !(peer->state & LX_PEER_MULTI_RAIL))
			lx_warn("peer=%s reason=\"Multi-Rail differs from its configuration\" "
				"action=\"configuration kept\"",
				lx_nid_str(&peer->primary));
	} else if (!(features & LX_PING_MULTI_RAIL)) {
		peer->state &= ~LX_PEER_MULTI_RAIL;
	} else if (!local_off && !(peer->state & (LX_PEER_MULTI_RAIL | LX_PEER_NO_DISCOVERY))) {
		peer->state |= LX_PEER_MULTI_RAIL;
		lx_peer_ni_for_each(net, pni, peer)
			pni->preferred = lx_nid_any;
	}
}

static void data_set(struct lx_peer *peer, struct lx_pinginfo *info, bool asked)
{
	free(peer->data);
	peer->data = info;
	peer->data_asked = asked;
	peer->data_waited = false;
	peer->state |= LX_PEER_DATA_PRESENT;
}

/*
 * Moves the primary NID to the front of its net, and the net to the front of the peer. If it
 * is locked, the NID that the peer itself calls primary.
 */
static void primary_first(struct lx_peer *peer, const struct lx_nid *reported)
{
	struct lx_peer_ni *pni = lx_peer_ni_of(peer, &peer->primary);
	struct lx_peer_ni *its_own = lx_peer_ni_of(peer, reported);

	if (!pni) {
		/* The peer could not take it: use another NID as primary. */
		pni = lx_peer_first_ni(peer);
		peer->primary = pni->nid;
	} else if ((peer->state & LX_PEER_LOCK_PRIMARY) && its_own) {
		pni = its_own;
	}
	lx_list_del(&pni->link);
	lx_list_push(&pni->net->nis, &pni->link);
	lx_list_del(&pni->net->link);
	lx_list_push(&peer->nets, &pni->net->link);
}

/* NIDs that a peer cannot have, listed by mistake or by malice. */
static bool impossible(const struct lx_peer *peer, const struct lx_nid *nid)
{
	return lx_nid_is_any(nid) || nid->type == LX_NET_LO ||
	       lx_ni_is_local_nid(peer->core, nid) != lx_peer_is_self(peer);
}

/*
 * NIDs that another peer has. That a peer lists one is its word alone, and a push may come from
 * anybody. So the NID moves if the peer lists it in the answer to a ping, and the NID itself has
 * said, in such an answer, that its node's primary NID is one of that peer. Both are asked. If its
 * owner does not answer, and the NID has not been heard for as long as ends a peer, or never, it
 * moves, too.
 */
#define GONE_S 180 /* the default of peer_timeout */

static bool is_gone(const struct lx_peer_ni *pni)
{
	struct lx_core *core = lx_peer_of(pni)->core;

	return (lx_peer_of(pni)->state & LX_PEER_REDISCOVER) &&
	       (!pni->last_alive_ns || lx_core_now(core) - pni->last_alive_ns >= GONE_S * LX_S_NS);
}

/* Another peer has it, and not as an admin configured it. */
static bool is_of_another(const struct lx_peer *peer, const struct lx_peer_ni *pni)
{
	return lx_peer_of(pni) != peer && lx_peer_may_give(lx_peer_of(pni), &pni->nid);
}

static bool may_move(const struct lx_peer *peer, const struct lx_peer_ni *pni)
{
	return is_gone(pni) ||
	       (lx_peer_ni_of(peer, &pni->claimed_by) && lx_peer_ni_of(peer, &pni->agrees));
}

static void report_moved(const struct lx_peer *peer, const struct lx_peer_ni *pni)
{
	if (is_gone(pni))
		lx_info("peer=%s nid=%s reason=\"it lists this NID of peer %s, which does not "
			"answer any "
			"more\" action=\"the NID belongs to it now\"",
			lx_nid_str(&peer->primary), lx_nid_str(&pni->nid),
			lx_nid_str(&lx_peer_of(pni)->primary));
}

/* @peer says that it is @other: whether that one says so, too. */
static bool is_one_with(const struct lx_peer *peer, const struct lx_peer *other)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer) {
		if (lx_peer_ni_of(other, &pni->agrees) && lx_peer_ni_of(other, &pni->claimed_by))
			return true;
	}
	return false;
}

/* A NID in @peer's information that another peer has, and that does not move yet: asks both. */
static void contest(struct lx_peer *peer, struct lx_peer *owner)
{
	if (!peer->data_asked)
		ask(peer);
	else if (!peer->data_waited && lx_list_empty(&peer->claim_link) &&
		 lx_list_empty(&owner->claim_link))
		lx_list_append(&owner->claimants, &peer->claim_link);
	ask(owner);
}

/* Looks at all NIDs that others have. True: the information has to wait until one is asked. */
static bool contested(struct lx_peer *peer, const struct lx_pinginfo *info)
{
	for (uint32_t i = 0; i < info->n_nis; i++) {
		struct lx_peer_ni *pni = lx_peer_ni_lookup(peer->core, &info->ni[i].nid);

		if (!pni || !is_of_another(peer, pni))
			continue;
		if (peer->data_asked)
			pni->claimed_by = peer->primary;
		if (!may_move(peer, pni) && !is_one_with(peer, lx_peer_of(pni)))
			contest(peer, lx_peer_of(pni));
	}
	return !lx_list_empty(&peer->claim_link);
}

/* Its discovery has ended: those who claim its NIDs go on. */
static void release_claimants(struct lx_peer *owner)
{
	struct lx_peer *peer;

	while ((peer = lx_list_pop(&owner->claimants, struct lx_peer, claim_link))) {
		peer->data_waited = true;
		lx_peer_discover(peer);
	}
}

static void report_full(struct lx_peer *peer, unsigned int refused)
{
	struct lx_core *core = peer->core;
	unsigned int missed;

	if (!lx_ratelimit(&core->peers_full, lx_nid_hash(&peer->primary), lx_core_now(core),
			  LX_RATELIMIT_MINUTE, &missed))
		return;
	lx_warn("peer=%s nids=%u refused=%u missed=%u reason=\"%lld peer NIDs are known "
		"(peers_max)\" "
		"action=\"the other NIDs that it lists are ignored\"",
		lx_nid_str(&peer->primary), peer->n_nis, refused, missed,
		(long long)core->tun.peers_max);
}

/* Without room for one NID there is none for the next; those of other peers can still move. */
static void add_listed(struct lx_peer *peer, const struct lx_pinginfo *info)
{
	unsigned int refused = 0;
	struct lx_peer_ni *pni;

	for (uint32_t i = 0; i < info->n_nis; i++) {
		const struct lx_nid *nid = &info->ni[i].nid;
		int r;

		if (impossible(peer, nid))
			continue;
		pni = lx_peer_ni_lookup(peer->core, nid);
		if (!pni && (refused || !lx_peer_make_room(peer->core))) {
			refused++;
			continue;
		}
		if (pni && is_of_another(peer, pni)) {
			if (!may_move(peer, pni))
				continue;
			report_moved(peer, pni);
		}
		r = lx_peer_take_nid(peer, nid);
		if (r == -ENOMEM)
			peer->state |= LX_PEER_FORCE_PING;
		else if (r)
			lx_warn("peer=%s nid=%s reason=\"NID is configured for another peer\" "
				"action=\"configuration kept\"",
				lx_nid_str(&peer->primary), lx_nid_str(nid));
	}
	if (refused)
		report_full(peer, refused);
}

/*
 * An NI that went down at the peer costs health (lnet.md 13.3). Not at a router: it also
 * reports NIs down that are not pinged, and a recovery ping would bring such an NI up.
 */
static void note_down(struct lx_peer *peer, struct lx_peer_ni *pni)
{
	if (lx_peer_ni_up(pni) && !(peer->state & LX_PEER_ROUTER_ENABLED))
		lx_health_lower_peer(peer->core, pni);
	lx_peer_ni_set_down(peer->core, pni, LX_DOWN_TOLD, 0);
}

/* Records the status of each listed NID, and marks it for drop_unlisted(). */
static void note_statuses(struct lx_peer *peer, const struct lx_pinginfo *info)
{
	peer->merges++;
	for (uint32_t i = 0; i < info->n_nis; i++) {
		struct lx_peer_ni *pni = lx_peer_ni_of(peer, &info->ni[i].nid);

		if (!pni)
			continue;
		pni->listed = peer->merges;
		if (info->ni[i].status == LX_NI_STATUS_UP)
			lx_peer_ni_set_up(peer->core, pni);
		else
			note_down(peer, pni);
	}
}

/* Configured NIDs stay, but are down if not listed. */
static void drop_unlisted(struct lx_peer *peer)
{
	struct lx_peer_net *net, *next_net;
	struct lx_peer_ni *pni, *next;

	lx_list_for_each_safe(net, next_net, &peer->nets, link) {
		bool last_of_net = false;

		lx_list_for_each_safe(pni, next, &net->nis, link) {
			if (lx_peer_ni_listed(pni) || peer->n_nis == 1)
				continue;
			if (peer->state & LX_PEER_CONFIGURED) {
				lx_peer_ni_set_down(peer->core, pni, LX_DOWN_UNLISTED, 0);
				continue;
			}
			/* The net goes with its last NID: end the loop over it. */
			last_of_net = net->nis.next == net->nis.prev;
			lx_peer_drop_nid(pni);
			if (last_of_net)
				break;
		}
	}
}

static void merge_nids(struct lx_peer *peer, const struct lx_pinginfo *info)
{
	peer->fresh = !lx_peer_discovery_off(peer);
	if (info->features & LX_PING_RTE_DISABLED)
		peer->state &= ~LX_PEER_ROUTER_ENABLED;
	else
		peer->state |= LX_PEER_ROUTER_ENABLED;
	if (peer->fresh)
		add_listed(peer, info);
	note_statuses(peer, info);
	if (peer->fresh) {
		drop_unlisted(peer);
		primary_first(peer, lx_pinginfo_primary(info));
	}
	if (!lx_list_empty(&peer->routes))
		lx_route_gateway_info(peer, info);
}

/* The node is already known as another peer: hand the information to that one. */
static void hand_over(struct lx_peer *from, struct lx_peer *to, struct lx_pinginfo *info)
{
	if (!(from->state & LX_PEER_NO_DISCOVERY))
		to->state &= ~LX_PEER_NO_DISCOVERY;
	to->state |= from->state & LX_PEER_MULTI_RAIL;
	if (!lx_nid_is_any(&from->push_from)) {
		to->push_from = from->push_from;
		to->push_to = from->push_to;
	}
	if ((to->state & LX_PEER_DATA_PRESENT) && to->data->seqno >= info->seqno)
		free(info);
	else
		data_set(to, info, true);
	to->state &= ~(LX_PEER_FORCE_PING | LX_PEER_PING_FAILED);
	to->seqno = to->data->seqno;
	lx_peer_absorb(to, from);
	lx_peer_discover(to);
}

/* A hash of everything that others base decisions on: NIDs and features. */
static uint32_t fingerprint(const struct lx_peer *peer)
{
	uint32_t sum = lx_nid_hash(&peer->primary) * 3;
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer)
		sum += lx_nid_hash(&pni->nid);
	return sum + (peer->state & (LX_PEER_ROUTER_ENABLED | LX_PEER_MULTI_RAIL));
}

static enum step merge(struct lx_peer *peer)
{
	struct lx_core *core = peer->core;
	struct lx_pinginfo *info = peer->data;
	const struct lx_nid *primary = lx_pinginfo_primary(info);
	bool renames = !(peer->state & (LX_PEER_CONFIGURED | LX_PEER_LOCK_PRIMARY)) &&
		       !lx_peer_discovery_off(peer);
	uint32_t before = fingerprint(peer);
	struct lx_peer_ni *pni;

	if (!lx_list_empty(&peer->claim_link) ||
	    (!lx_peer_discovery_off(peer) && contested(peer, info)))
		return STEP_WAIT;
	peer->data = NULL;
	peer->state &= ~LX_PEER_DATA_PRESENT;
	peer->state |= LX_PEER_NIDS_UPTODATE;
	if (!primary || impossible(peer, primary)) {
		free(info);
		return STEP_AGAIN;
	}
	pni = lx_peer_ni_lookup(core, primary);
	if (renames && pni && lx_peer_of(pni) != peer) {
		if (is_one_with(peer, lx_peer_of(pni)) || is_gone(pni)) {
			hand_over(peer, lx_peer_of(pni), info);
			return STEP_END;
		}
		free(info); /* so far only it says so */
		return STEP_AGAIN;
	}
	if (renames)
		peer->primary = *primary;
	merge_nids(peer, info);
	free(info);
	if (fingerprint(peer) != before) {
		lx_peer_policy_changed(peer);
		lx_change_tell(core, LX_CHANGE_PEER_CHANGED, &peer->primary, LX_NET_U32_ANY,
			       "nids=%u", peer->n_nis);
	}
	return STEP_AGAIN;
}

/*
 * A peer that switched discovery off is a single NID again, and a gateway is one for each NID
 * that routes name.
 */
static void renew(struct lx_peer *peer)
{
	struct lx_peer_ni *kept = lx_route_gateway_ni(peer);

	if (!kept)
		kept = lx_peer_first_ni(peer);
	peer->merges++;
	kept->listed = peer->merges;
	drop_unlisted(peer);
	peer->fresh = false;
	peer->primary = kept->nid;
	peer->seqno = peer->acked_seqno = 0;
	peer->state &= LX_PEER_RTR_DISCOVERY | LX_PEER_RTR_DISCOVERED | LX_PEER_DISCOVERING |
		       LX_PEER_DATA_PRESENT;
	peer->state |= LX_PEER_NO_DISCOVERY | LX_PEER_NIDS_UPTODATE;
	lx_route_gateway_split(peer);
}

/* ---- ping ---------------------------------------------------------------------------------- */

static void ping_failed(struct lx_peer *peer, int error)
{
	peer->state &= ~LX_PEER_PING_SENT;
	peer->state |= LX_PEER_PING_FAILED;
	peer->ping_error = error;
}

/* The NID that has answered says which node it belongs to. */
static void note_agreement(struct lx_peer *peer, const struct lx_nid *source,
			   const struct lx_pinginfo *info)
{
	struct lx_peer_ni *pni = lx_peer_ni_of(peer, source);
	const struct lx_nid *primary = lx_pinginfo_primary(info);

	if (pni && primary)
		pni->agrees = *primary;
}

/*
 * Any node can write another one's NID as source. A message from the peer's own NIDs, or by
 * a gateway to its net, is from it.
 */
static bool is_from(const struct lx_peer *peer, const struct lx_event *event)
{
	struct lx_peer_ni *sender = lx_peer_ni_lookup(peer->core, &event->sender);

	if (event->sender.type == LX_NET_LO)
		return true;
	return sender &&
	       (lx_peer_of(sender) == peer ||
		lx_route_is_through(lx_peer_of(sender), lx_nid_net(&event->source)));
}

static void on_ping_reply(struct lx_peer *peer, const struct lx_event *event, const void *data)
{
	struct lx_core *core = peer->core;
	struct lx_pinginfo *info;
	bool proven = is_from(peer, event);
	size_t need = 0;
	int r;

	peer->push_from = event->target.nid;
	peer->push_to = event->source;
	r = event->status;
	if (!r)
		r = lx_pinginfo_decode(data, event->mlength, core->tun.lnet_interfaces_max,
				       &need, &info);
	if (r == -EMSGSIZE && need > peer->data_bytes && need > LX_PING_INFO_MIN) {
		/* Ping again with a larger buffer; its pushes will be as large. */
		peer->data_bytes = need;
		if (core->target.push_bytes < need)
			core->target.push_bytes = need;
		ping_failed(peer, 0);
		return;
	}
	if (r) {
		if (!event->status)
			lx_warn("peer=%s reason=\"malformed ping answer (%s)\" "
				"action=\"answer ignored\"",
				lx_nid_str(&peer->primary), strerror(-r));
		ping_failed(peer, r);
		return;
	}
	peer->state &= ~LX_PEER_PING_SENT;
	note_features(peer, info->features, false);
	peer->seqno = info->seqno;
	if (proven)
		note_agreement(peer, &event->source, info);
	data_set(peer, info, proven);
}

/* False for an event of an abandoned request. */
static bool is_current(const struct lx_peer *peer, uint32_t sent, struct lx_handle md,
		       const struct lx_event *event)
{
	return (peer->state & sent) && event->md.cookie == md.cookie;
}

static void on_ping_event(const struct lx_event *event)
{
	struct lx_ping_buffer *buffer = event->user;
	struct lx_peer *peer = buffer->owner;

	if (is_current(peer, LX_PEER_PING_SENT, peer->ping_md, event)) {
		if (event->type == LX_EVENT_REPLY)
			on_ping_reply(peer, event, buffer->data);
		else if (event->type == LX_EVENT_UNLINK)
			ping_failed(peer, event->status ? event->status : -ETIMEDOUT);
		else if (event->status)
			ping_failed(peer, event->status);
		if (!(peer->state & LX_PEER_PING_SENT))
			lx_peer_discover(peer);
	}
	if (event->unlinked) {
		lx_ping_buffer_put(buffer);
		lx_peer_put(peer);
	}
}

/* Creates an MD for one request and its response. */
static int md_bind(struct lx_peer *peer, struct lx_ping_buffer *buffer, lx_event_fn handler,
		   void *user, struct lx_md **ret_md)
{
	const struct lx_md_desc desc = {
		.start = buffer->data,
		.length = buffer->length,
		.threshold = 2,
		.options = LX_MD_TRACK_RESPONSE | LX_MD_TRUNCATE,
		.handler = handler,
		.user = user,
	};
	int r;

	r = lx_md_new(peer->core, NULL, &desc, LX_UNLINK, ret_md);
	if (r)
		return r;
	(*ret_md)->internal = true;
	lx_peer_get(peer);
	return 0;
}

/* Frees an unused MD. */
static void md_unbind(struct lx_peer *peer, struct lx_md *md)
{
	lx_md_abandon(md);
	lx_peer_put(peer);
}

/*
 * Source and target of a ping. A gateway is checked on each net that it shares with us,
 * in turn, so the check must go over the net whose turn it is.
 */
static void ping_path(struct lx_peer *peer, struct lx_id *ret_target, struct lx_nid *ret_self)
{
	struct lx_net *net = lx_net_lookup(peer->core, peer->check_net);
	struct lx_peer_net *peer_net = lx_peer_net_lookup(peer, peer->check_net);

	*ret_target = (struct lx_id){ peer->primary, LX_PID_LUSTRE };
	*ret_self = lx_nid_any;
	if (!(peer->state & LX_PEER_RTR_DISCOVERY) || !net || !peer_net)
		return;
	ret_target->nid = lx_list_first(&peer_net->nis, struct lx_peer_ni, link)->nid;
	*ret_self = lx_list_first(&net->nis, struct lx_core_ni, link)->ni.nid;
}

/* Of the NIDs of a node one may be dead: begin with that which the user named, if it is healthy. */
static bool take_named(struct lx_peer *peer, struct lx_nid *target)
{
	const struct lx_probe *probe = lx_list_first(&peer->waiters, struct lx_probe, waiter_link);
	struct lx_peer_ni *pni = probe ? lx_peer_ni_of(peer, &probe->target.nid) : NULL;

	if (!pni || lx_rank_peer_ni_health(pni) < LX_HEALTH_MAX)
		return false;
	*target = pni->nid;
	return true;
}

static int send_ping(struct lx_peer *peer)
{
	struct lx_core *core = peer->core;
	struct lx_ping_buffer *buffer;
	struct lx_id target;
	struct lx_nid self;
	struct lx_md *md;
	int r;

	peer->state &= ~LX_PEER_FORCE_PING;
	buffer = lx_ping_buffer_new(peer->data_bytes > LX_PING_INFO_MIN ? peer->data_bytes
									  : LX_PING_INFO_MIN);
	if (!buffer)
		return -ENOMEM;
	buffer->owner = peer;
	r = md_bind(peer, buffer, on_ping_event, buffer, &md);
	if (r) {
		lx_ping_buffer_put(buffer);
		return r;
	}
	ping_path(peer, &target, &self);
	md->first_given = lx_nid_is_any(&self) && take_named(peer, &target.nid);
	peer->state |= LX_PEER_PING_SENT;
	peer->sent_ns = lx_core_now(core);
	peer->ping_md = md->handle;
	r = lx_msg_get(core, lx_nid_is_any(&self) ? NULL : &self, md, &target,
		       LX_PORTAL_RESERVED, LX_PING_MATCH_BITS, 0, true);
	if (r) {
		peer->state &= ~LX_PEER_PING_SENT;
		md_unbind(peer, md);
		lx_ping_buffer_put(buffer);
	}
	return r;
}

/* ---- push ----------------------------------------------------------------------------------- */

static void push_failed(struct lx_peer *peer, int error)
{
	peer->state &= ~LX_PEER_PUSH_SENT;
	peer->state |= LX_PEER_PUSH_FAILED;
	peer->push_error = error;
}

/* The core owns the pushed information; the MD's user pointer has the peer. */
struct push {
	struct lx_peer *peer;
	struct lx_ping_buffer *buffer;
};

static void on_push_event(const struct lx_event *event)
{
	struct push *push = event->user;
	struct lx_peer *peer = push->peer;

	if (is_current(peer, LX_PEER_PUSH_SENT, peer->push_md, event)) {
		if (event->type == LX_EVENT_UNLINK) {
			push_failed(peer, event->status ? event->status : -ETIMEDOUT);
		} else if (event->status) {
			push_failed(peer, event->status);
		} else if (event->type == LX_EVENT_ACK) {
			peer->state &= ~LX_PEER_PUSH_SENT;
			peer->acked_seqno = peer->pushed_seqno;
		}
		if (!(peer->state & LX_PEER_PUSH_SENT))
			lx_peer_discover(peer);
	}
	if (event->unlinked) {
		lx_ping_buffer_put(push->buffer);
		free(push);
		lx_peer_put(peer);
	}
}

static int send_push(struct lx_peer *peer)
{
	struct lx_core *core = peer->core;
	struct lx_ping_buffer *buffer = core->target.buffer;
	struct lx_id target = { peer->primary, LX_PID_LUSTRE };
	const struct lx_nid *self = NULL;
	struct push *push;
	struct lx_md *md;
	int r;

	peer->state &= ~LX_PEER_FORCE_PUSH;
	push = calloc(1, sizeof(*push));
	if (!push)
		return -ENOMEM;
	r = md_bind(peer, buffer, on_push_event, push, &md);
	if (r) {
		free(push);
		return r;
	}
	push->peer = peer;
	push->buffer = buffer;
	buffer->refs++;

	/* Back along the path of its answer, if known. */
	if (lx_ni_lookup(core, &peer->push_from)) {
		self = &peer->push_from;
		target.nid = peer->push_to;
	}
	peer->state |= LX_PEER_PUSH_SENT;
	peer->sent_ns = lx_core_now(core);
	peer->pushed_seqno = core->target.seqno;
	peer->push_md = md->handle;
	r = lx_msg_put(core, self, md, true, &target, LX_PORTAL_RESERVED, LX_PING_MATCH_BITS, 0, 0,
		       true);
	peer->push_from = peer->push_to = lx_nid_any;
	if (r) {
		peer->state &= ~LX_PEER_PUSH_SENT;
		md_unbind(peer, md);
		lx_ping_buffer_put(buffer);
		free(push);
	}
	return r;
}

/* ---- a push that arrives (lnet.md 12.4) -------------------------------------------------- */

static void report_bad(struct lx_core *core, const struct lx_event *push, const char *why)
{
	unsigned int missed;

	if (lx_ratelimit(&core->bad_push, lx_nid_hash(&push->sender), lx_core_now(core),
			 LX_RATELIMIT_MINUTE, &missed))
		lx_warn("peer=%s from=%s missed=%u reason=\"%s\" action=\"pinging the peer\"",
			lx_nid_str(&push->source), lx_nid_str(&push->sender), missed, why);
}

void lx_discover_pushed(struct lx_core *core, const struct lx_event *event, int status,
			const void *data)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, &event->source);
	struct lx_peer *peer = pni ? lx_peer_of(pni) : NULL;
	struct lx_pinginfo *info = NULL;
	size_t need = 0;
	int r;

	if (!peer)
		return;
	if (!is_from(peer, event)) {
		report_bad(core, event, "push of another node in its name");
		ask(peer);
		return;
	}
	r = lx_pinginfo_decode(data, event->mlength, core->tun.lnet_interfaces_max, &need, &info);
	if (status && status != -EMSGSIZE)
		r = status;
	if (r == -EMSGSIZE && core->target.push_bytes < need)
		core->target.push_bytes = need;
	if (r) {
		free(info);
		if (r != -EMSGSIZE && !status)
			report_bad(core, event, "malformed push");
		ask(peer);
		return;
	}
	if (!(info->features & LX_PING_MULTI_RAIL)) {
		free(info);
		return;
	}
	note_features(peer, info->features, true);
	peer->seqno = info->seqno;
	if ((peer->state & LX_PEER_DATA_PRESENT) && peer->data->seqno >= info->seqno)
		free(info);
	else
		data_set(peer, info, false);
	lx_peer_discover(peer);
}

void lx_discover_push_all(struct lx_core *core)
{
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link) {
		if (lx_peer_needs_push(peer))
			lx_peer_discover(peer);
	}
}

/* While discovery was off, peers were learned as single NIDs. */
void lx_discover_switched_on(struct lx_core *core)
{
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link)
		peer->state &= ~(LX_PEER_NO_DISCOVERY | LX_PEER_NIDS_UPTODATE);
}

/* With it off lx_discover_push_all() leaves peers out, who would find out by a ping, if ever. */
void lx_discover_switched_off(struct lx_core *core)
{
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link) {
		if (!lx_peer_discovery_off(peer))
			peer->state |= LX_PEER_FORCE_PUSH;
	}
}

/* ---- the state machine ------------------------------------------------------------------- */

static void md_drop(struct lx_core *core, struct lx_handle *handle)
{
	struct lx_md *md = lx_md_lookup(core, *handle);

	*handle = LX_HANDLE_NONE;
	if (md)
		lx_md_retire(md);
}

/* First it is told that our discovery is off, if it has not been: nothing will tell it later. */
static enum step renew_step(struct lx_peer *peer)
{
	if (peer->core->tun.lnet_peer_discovery_disabled &&
	    ((peer->state & LX_PEER_PUSH_SENT) || (lx_peer_needs_push(peer) && !send_push(peer))))
		return STEP_WAIT;
	if (peer->state & LX_PEER_PUSH_FAILED)
		md_drop(peer->core, &peer->push_md);
	renew(peer);
	return STEP_AGAIN;
}

static enum step step(struct lx_peer *peer, int *ret_error)
{
	struct lx_core *core = peer->core;

	*ret_error = 0;
	if (peer->state & LX_PEER_MARK_DELETION)
		return renew_step(peer);
	if (peer->state & LX_PEER_DATA_PRESENT)
		return merge(peer);
	if (peer->state & LX_PEER_PING_FAILED) {
		peer->state &= ~LX_PEER_PING_FAILED;
		peer->state |= LX_PEER_FORCE_PING;
		md_drop(core, &peer->ping_md);
		*ret_error = peer->ping_error;
		return *ret_error ? STEP_END : STEP_AGAIN;
	}
	if (peer->state & LX_PEER_PUSH_FAILED) {
		peer->state &= ~LX_PEER_PUSH_FAILED;
		md_drop(core, &peer->push_md);
		*ret_error = peer->push_error;
		return STEP_END;
	}
	if (peer->state & (LX_PEER_PING_SENT | LX_PEER_PUSH_SENT))
		return STEP_WAIT;
	if (needs_ping(peer)) {
		*ret_error = send_ping(peer);
		return *ret_error ? STEP_END : STEP_WAIT;
	}
	if (lx_peer_needs_push(peer)) {
		*ret_error = send_push(peer);
		return *ret_error ? STEP_END : STEP_WAIT;
	}
	peer->state &= ~LX_PEER_FORCE_PUSH; /* the peer is not Multi-Rail */
	return STEP_END;
}

/* Waiting messages continue with what is known, even if discovery failed. */
static void release(struct lx_peer *peer, int error)
{
	struct lx_list pending;
	struct lx_core_msg *msg;
	struct lx_probe *probe;

	lx_list_init(&pending);
	lx_list_splice(&pending, &peer->pending);
	while ((probe = lx_list_first(&peer->waiters, struct lx_probe, waiter_link)))
		lx_probe_discovered(peer, probe, error);
	while ((msg = lx_list_pop(&pending, struct lx_core_msg, link))) {
		msg->phase = LX_PHASE_NEW;
		lx_msg_route(msg);
	}
}

static void end(struct lx_peer *peer, int error)
{
	release_claimants(peer);
	peer->state &= ~LX_PEER_DISCOVERING;
	if (error) {
		peer->state |= LX_PEER_REDISCOVER;
	} else {
		peer->state &= ~LX_PEER_REDISCOVER;
		peer->state |= LX_PEER_DISCOVERED;
	}
	if (!lx_list_empty(&peer->routes))
		lx_route_gateway_checked(peer, error);
	release(peer, error);
}

void lx_discover_work(struct lx_core *core)
{
	struct lx_peer *peer;
	enum step s;
	int error;

	while ((peer = lx_list_pop(&core->discover, struct lx_peer, discover_link))) {
		lx_peer_get(peer);
		do {
			s = peer->deleted ? STEP_GONE : step(peer, &error);
		} while (s == STEP_AGAIN);
		if (s == STEP_END)
			end(peer, error);
		lx_peer_put(peer);
	}
}

void lx_discover_cancel(struct lx_peer *peer)
{
	struct lx_probe *probe;

	lx_list_del(&peer->discover_link);
	lx_list_del(&peer->ping_due_link);
	lx_list_del(&peer->claim_link);
	release_claimants(peer);
	peer->state &= ~(LX_PEER_DISCOVERING | LX_PEER_PING_SENT | LX_PEER_PUSH_SENT |
			 LX_PEER_PING_FAILED | LX_PEER_PUSH_FAILED);
	md_drop(peer->core, &peer->ping_md);
	md_drop(peer->core, &peer->push_md);
	while ((probe = lx_list_first(&peer->waiters, struct lx_probe, waiter_link)))
		lx_probe_discovered(peer, probe, -ESHUTDOWN);
	lx_msg_fail_queue(&peer->pending, -ESHUTDOWN, LX_HSTATUS_LOCAL_ABORTED);
}

/* Pings that are due; ends overdue checks of gateways, sooner than the MD's tracker would. */
void lx_discover_tick(struct lx_core *core)
{
	uint64_t limit = (uint64_t)core->tun.router_ping_timeout * LX_S_NS;
	uint64_t now = lx_core_now(core);
	struct lx_peer *peer;

	ask_due(core);
	lx_list_for_each(peer, &core->gateways, gateway_link) {
		if (!(peer->state & LX_PEER_RTR_DISCOVERY) || now - peer->sent_ns < limit)
			continue;
		if (peer->state & LX_PEER_PING_SENT)
			ping_failed(peer, -ETIMEDOUT);
		else if (peer->state & LX_PEER_PUSH_SENT)
			push_failed(peer, -ETIMEDOUT);
		else
			continue;
		lx_peer_discover(peer);
	}
}
