/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The table of peers. Owned by the core; traffic, configuration (peerconf.c) and discovery
 * create peers and move NIDs between them.
 *
 * Removal has two phases: a peer NI is unlinked from its peer and the table at once,
 * and freed with its last reference.
 */
#include <errno.h>
#include <stdlib.h>

#include "change.h"
#include "core.h"
#include "credit.h"
#include "udsp.h"

#define SILENT_S 3600 /* a peer that has not answered */

/* Calls the watchers of peers that have this callback. */
#define ANNOUNCE(core, what, ...) \
	do { \
		for (const struct lx_peer_watcher *w_ = (core)->peer_watchers; w_->name; w_++) { \
			if (w_->what) \
				w_->what(__VA_ARGS__); \
		} \
	} while (0)

struct lx_peer_ni *lx_peer_ni_lookup(struct lx_core *core, const struct lx_nid *nid)
{
	struct lx_peer_ni *pni;

	lx_hash_for_each(pni, &core->peer_nis, lx_nid_hash(nid), node)
		if (lx_nid_eq(&pni->nid, nid))
			return pni;
	return NULL;
}

struct lx_peer_ni *lx_peer_ni_of(const struct lx_peer *peer, const struct lx_nid *nid)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(peer->core, nid);

	return pni && lx_peer_of(pni) == peer ? pni : NULL;
}

struct lx_peer_net *lx_peer_net_lookup(struct lx_peer *peer, uint32_t id)
{
	struct lx_peer_net *net;

	lx_list_for_each(net, &peer->nets, link) {
		if (net->id == id)
			return net;
	}
	return NULL;
}

void lx_peer_primary_of(struct lx_core *core, const struct lx_nid *nid, struct lx_nid *ret_nid)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid);

	*ret_nid = pni ? lx_peer_of(pni)->primary : *nid;
}

/* ---- references ---------------------------------------------------------------------- */

void lx_peer_ni_get(struct lx_peer_ni *pni)
{
	pni->refs++;
}

void lx_peer_ni_put(struct lx_core *core, struct lx_peer_ni *pni)
{
	if (!--pni->refs && !pni->net)
		free(pni);
}

void lx_peer_get(struct lx_peer *peer)
{
	peer->refs++;
}

void lx_peer_put(struct lx_peer *peer)
{
	if (--peer->refs)
		return;
	free(peer->data);
	free(peer);
}

/* ---- shortcuts of transports ---------------------------------------------------------- */

int lx_peer_ni_from(struct lx_core *core, const struct lx_rx_from *from,
		    struct lx_peer_ni **ret_pni)
{
	struct lx_lnd_peer *shortcut = from->peer;
	int r;

	if (shortcut && shortcut->pni) {
		*ret_pni = shortcut->pni;
		return 0;
	}
	r = lx_peer_ni_obtain(core, &from->nid, ret_pni);
	if (r || !shortcut)
		return r;
	shortcut->pni = *ret_pni;
	shortcut->next = (*ret_pni)->shortcuts;
	(*ret_pni)->shortcuts = shortcut;
	return 0;
}

void lx_lnd_peer_forget(struct lx_lnd_peer *peer)
{
	struct lx_lnd_peer **at;

	if (!peer->pni)
		return;
	for (at = &peer->pni->shortcuts; *at != peer; at = &(*at)->next)
		;
	*at = peer->next;
	peer->pni = NULL;
}

/* ---- credits of NIDs that can be next hops --------------------------------------------- */

/* The limits from the settings of the net's NIs; 0 if the net is not local. */
static void net_credits(struct lx_core *core, uint32_t id, int32_t *ret_tx, int32_t *ret_rtr)
{
	struct lx_net *net = lx_net_lookup(core, id);
	struct lx_core_ni *ni = net ? lx_list_first(&net->nis, struct lx_core_ni, link) : NULL;

	*ret_tx = *ret_rtr = 0;
	if (!ni || ni->ni.lnd->no_credits)
		return;
	*ret_tx = *ret_rtr = ni->ni.tun.peer_credits;
	if (ni->ni.tun.peer_buffer_credits > 0)
		*ret_rtr = ni->ni.tun.peer_buffer_credits;
	else if (core->tun.peer_buffer_credits > 0)
		*ret_rtr = core->tun.peer_buffer_credits;
}

/* Updates the limits; credits in use stay in use. */
static void peer_ni_limits(struct lx_core *core, struct lx_peer_ni *pni)
{
	int32_t tx, rtr;

	net_credits(core, lx_nid_net(&pni->nid), &tx, &rtr);
	__atomic_add_fetch(&pni->tx->now, tx - pni->tx_max, __ATOMIC_ACQ_REL);
	pni->tx_max = tx;
	pni->tx->min = lx_credit_now(pni->tx);
	__atomic_add_fetch(&pni->rtr->now, rtr - pni->rtr_max, __ATOMIC_ACQ_REL);
	pni->rtr_max = rtr;
	pni->rtr->min = lx_credit_now(pni->rtr);
}

static void each_on_net(struct lx_core *core, uint32_t id,
			void (*fn)(struct lx_core *core, struct lx_peer_ni *pni))
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni, *tmp;
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link) {
		net = lx_peer_net_lookup(peer, id);
		if (!net)
			continue;
		lx_list_for_each_safe(pni, tmp, &net->nis, link)
			fn(core, pni);
	}
}

void lx_peer_net_up(struct lx_core *core, uint32_t net)
{
	each_on_net(core, net, peer_ni_limits);
}

/* Ends messages, and one that gets their buffer may go to a new peer: see lx_peer_make_room(). */
static void peer_ni_unreachable(struct lx_core *core, struct lx_peer_ni *pni)
{
	core->unreachables++;
	ANNOUNCE(core, unreachable, pni);
	core->unreachables--;
}

void lx_peer_net_down(struct lx_core *core, uint32_t net)
{
	each_on_net(core, net, peer_ni_unreachable);
	each_on_net(core, net, peer_ni_limits);
}

static void move_credits(struct lx_credit **credit, struct lx_credit *own, struct lx_credit *to)
{
	struct lx_credit *from = *credit;

	if (!to)
		to = own;
	if (from == to)
		return;
	__atomic_add_fetch(&to->now, lx_credit_without_lanes(from) - lx_credit_without_lanes(to),
			   __ATOMIC_ACQ_REL);
	to->min = from->min;
	*credit = to;
}

/* Moves the credits back to the peer NI: the fast path's memory may go. */
static void unshare_credits(struct lx_peer_ni *pni)
{
	move_credits(&pni->tx, &pni->own_tx, NULL);
	move_credits(&pni->rtr, &pni->own_rtr, NULL);
}

int lx_lnd_share_credits(struct lx_ni *ni, const struct lx_nid *nid, struct lx_credit *tx,
			 struct lx_credit *rtr)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(ni->core, nid);

	if (!pni)
		return -ENOENT;
	move_credits(&pni->tx, &pni->own_tx, tx);
	move_credits(&pni->rtr, &pni->own_rtr, rtr);
	return 0;
}

/* ---- discovery --------------------------------------------------------------------------- */

bool lx_peer_discovery_off(const struct lx_peer *peer)
{
	return peer->core->tun.lnet_peer_discovery_disabled ||
	       !(peer->state & LX_PEER_MULTI_RAIL) || (peer->state & LX_PEER_NO_DISCOVERY);
}

bool lx_peer_needs_push(const struct lx_peer *peer)
{
	if (!(peer->state & LX_PEER_MULTI_RAIL))
		return false;
	if (peer->state & LX_PEER_FORCE_PUSH)
		return true;
	return !lx_peer_discovery_off(peer) && peer->acked_seqno != peer->core->target.seqno;
}

bool lx_peer_uptodate(const struct lx_peer *peer)
{
	const uint32_t unrest = LX_PEER_DISCOVERING | LX_PEER_FORCE_PING | LX_PEER_FORCE_PUSH |
				LX_PEER_REDISCOVER;

	return !(peer->state & unrest) && (peer->state & LX_PEER_DISCOVERED) &&
	       (peer->state & LX_PEER_NIDS_UPTODATE) && !lx_peer_needs_push(peer);
}

void lx_peer_discover(struct lx_peer *peer)
{
	if (peer->deleted || peer->core->stopping)
		return;
	peer->state |= LX_PEER_DISCOVERING;
	if (lx_list_empty(&peer->discover_link))
		lx_list_append(&peer->core->discover, &peer->discover_link);
	lx_core_kick(peer->core);
}

/* ---- making and moving ------------------------------------------------------------------- */

static struct lx_peer *peer_new(struct lx_core *core, const struct lx_nid *primary)
{
	struct lx_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->core = core;
	peer->number = ++core->peer_seq;
	peer->made_ns = lx_core_now(core);
	peer->refs = 1;
	peer->primary = *primary;
	peer->push_from = peer->push_to = lx_nid_any;
	peer->check_net = LX_NET_U32_ANY;
	lx_list_init(&peer->nets);
	lx_list_init(&peer->gateway_link);
	lx_list_init(&peer->routes);
	lx_list_init(&peer->discover_link);
	lx_list_init(&peer->ping_due_link);
	lx_list_init(&peer->claimants);
	lx_list_init(&peer->claim_link);
	lx_list_init(&peer->pending);
	lx_list_init(&peer->waiters);
	lx_list_append(&core->peers, &peer->link);
	return peer;
}

static struct lx_peer_net *peer_net_obtain(struct lx_peer *peer, uint32_t id)
{
	struct lx_peer_net *net = lx_peer_net_lookup(peer, id);

	if (net)
		return net;
	net = calloc(1, sizeof(*net));
	if (!net)
		return NULL;
	net->peer = peer;
	net->id = id;
	lx_udsp_apply_peer_net(peer->core, net);
	lx_list_init(&net->nis);
	lx_list_append(&peer->nets, &net->link);
	return net;
}

static struct lx_peer_ni *peer_ni_new(struct lx_core *core, const struct lx_nid *nid)
{
	struct lx_peer_ni *pni = calloc(1, sizeof(*pni));

	if (!pni)
		return NULL;
	pni->nid = *nid;
	pni->preferred = pni->claimed_by = pni->agrees = lx_nid_any;
	pni->status = LX_NI_STATUS_UP;
	if (core->tun.check_routers_before_use) {
		pni->status = LX_NI_STATUS_DOWN;
		lx_down_set(core, &pni->down, LX_DOWN_NOT_ASKED, 0, LX_NET_U32_ANY);
	}
	pni->health.value = LX_HEALTH_MAX;
	lx_list_init(&pni->link);
	lx_queue_init(&pni->tx_queue);
	lx_list_init(&pni->rtr_queue);
	lx_list_init(&pni->request_queue);
	lx_list_init(&pni->recovery.link);
	pni->tx = &pni->own_tx;
	pni->rtr = &pni->own_rtr;
	lx_udsp_apply_peer_ni(core, pni);
	peer_ni_limits(core, pni);
	return pni;
}

static void peer_ni_attach(struct lx_peer_ni *pni, struct lx_peer_net *net)
{
	pni->net = net;
	pni->listed = 0; /* by this peer */
	lx_list_append(&net->nis, &pni->link);
	net->peer->n_nis++;
}

/* Leaves the peer, which may then have no NIDs. */
static void peer_ni_detach(struct lx_peer_ni *pni)
{
	struct lx_peer_net *net = pni->net;
	struct lx_peer *peer = net->peer;

	while (pni->shortcuts)
		lx_lnd_peer_forget(pni->shortcuts);
	lx_list_del(&pni->link);
	pni->net = NULL;
	peer->n_nis--;
	if (lx_list_empty(&net->nis)) {
		lx_list_del(&net->link);
		free(net);
	}
	if (peer->n_nis && lx_nid_eq(&peer->primary, &pni->nid))
		peer->primary = lx_peer_first_ni(peer)->nid;
	lx_change_policy(peer->core, &pni->nid, LX_NET_U32_ANY);
}

/* Removes a peer NI: waiting messages fail; references may remain. */
static void peer_ni_remove(struct lx_core *core, struct lx_peer_ni *pni)
{
	pni->refs++;
	unshare_credits(pni); /* later it cannot be found by its NID */
	/* Transports that hear of it from peer_ni_detach() must not find it any more. */
	lx_hash_del(&core->peer_nis, &pni->node);
	peer_ni_detach(pni);
	lx_list_del(&pni->recovery.link);
	peer_ni_unreachable(core, pni);
	lx_peer_ni_put(core, pni);
}

bool lx_peer_idle(const struct lx_peer *peer)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	if ((peer->state & (LX_PEER_CONFIGURED | LX_PEER_DISCOVERING)) ||
	    !lx_list_empty(&peer->routes) || !lx_list_empty(&peer->pending) ||
	    !lx_list_empty(&peer->waiters) || peer->refs > 1)
		return false;
	lx_peer_ni_for_each(net, pni, peer) {
		if (pni->refs)
			return false;
	}
	return true;
}

static bool has_answered(const struct lx_peer *peer)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer) {
		if (pni->last_alive_ns)
			return true;
	}
	return false;
}

void lx_peer_tick(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct lx_peer *peer, *next;

	if (core->unreachables || now / LX_S_NS % 60) /* there may be many */
		return;
	lx_list_for_each_safe(peer, next, &core->peers, link) {
		if (now - peer->made_ns >= SILENT_S * LX_S_NS && lx_peer_idle(peer) &&
		    !has_answered(peer))
			lx_peer_delete(peer);
	}
}

bool lx_peer_make_room(struct lx_core *core)
{
	struct lx_peer *peer, *next;

	if (core->peer_nis.count < core->tun.peers_max)
		return true;
	if (core->unreachables)
		return false;
	lx_list_for_each_safe(peer, next, &core->peers, link) {
		if (!lx_peer_idle(peer))
			continue;
		lx_peer_delete(peer);
		if (core->peer_nis.count < core->tun.peers_max)
			return true;
	}
	return false;
}

int lx_peer_ni_obtain(struct lx_core *core, const struct lx_nid *nid,
		      struct lx_peer_ni **ret_pni)
{
	struct lx_peer *peer;
	int r;

	*ret_pni = lx_peer_ni_lookup(core, nid);
	if (*ret_pni)
		return 0;
	if (core->stopping)
		return -ESHUTDOWN;
	if (lx_nid_eq(nid, &lx_nid_lo)) {
		*ret_pni = core->self;
		return 0;
	}
	/* Other NIDs on lo, as 1@lo, belong to no node: self would be discovered, and merged. */
	if (nid->type == LX_NET_LO)
		return -EHOSTUNREACH;
	if (lx_nid_is_any(nid))
		return -EINVAL;
	if (!lx_peer_make_room(core))
		return -ENOBUFS;
	peer = peer_new(core, nid);
	if (!peer)
		return -ENOMEM;
	r = lx_peer_take_nid(peer, nid);
	if (r) {
		lx_peer_delete(peer);
		return r;
	}
	lx_change_tell(core, LX_CHANGE_PEER_ADD, nid, LX_NET_U32_ANY, "%s", "");
	*ret_pni = lx_peer_ni_lookup(core, nid);
	return 0;
}

void lx_peer_absorb(struct lx_peer *to, struct lx_peer *from)
{
	bool waiting = !lx_list_empty(&from->pending) || !lx_list_empty(&from->waiters);

	lx_list_splice(&to->pending, &from->pending);
	lx_list_splice(&to->waiters, &from->waiters);
	to->by_lo |= from->by_lo;
	ANNOUNCE(to->core, merged, to, from);
	if (waiting)
		lx_peer_discover(to);
}

static bool is_locked(const struct lx_peer *peer, const struct lx_nid *nid)
{
	return (peer->state & LX_PEER_LOCK_PRIMARY) && lx_nid_eq(&peer->primary, nid);
}

bool lx_peer_may_give(const struct lx_peer *peer, const struct lx_nid *nid)
{
	return !(peer->state & LX_PEER_CONFIGURED) && (!is_locked(peer, nid) || peer->n_nis == 1);
}

int lx_peer_take_nid(struct lx_peer *peer, const struct lx_nid *nid)
{
	struct lx_core *core = peer->core;
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid);
	struct lx_peer *other = pni ? lx_peer_of(pni) : NULL;
	bool known = other || peer->n_nis;
	struct lx_peer_net *net;

	if (other == peer) {
		ANNOUNCE(core, joined, peer, nid); /* traffic may have made the peer NI */
		return 0;
	}
	if (other && !lx_peer_may_give(other, nid))
		return -EEXIST;
	net = peer_net_obtain(peer, lx_nid_net(nid));
	if (!net)
		return -ENOMEM;
	if (!pni) {
		pni = peer_ni_new(core, nid);
		if (!pni) {
			if (lx_list_empty(&net->nis)) {
				lx_list_del(&net->link);
				free(net);
			}
			return -ENOMEM;
		}
		lx_hash_add(&core->peer_nis, &pni->node, lx_nid_hash(nid));
	}
	if (other) {
		if (is_locked(other, nid) && !(peer->state & LX_PEER_LOCK_PRIMARY)) {
			peer->primary = *nid;
			peer->state |= LX_PEER_LOCK_PRIMARY;
		}
		peer_ni_detach(pni);
	}
	peer_ni_attach(pni, net);
	if (other && !other->n_nis) {
		lx_peer_absorb(peer, other);
		lx_peer_delete(other);
	}
	/* A new peer, made by traffic, says nothing about who has the NID. */
	if (known)
		ANNOUNCE(core, joined, peer, nid);
	return 0;
}

void lx_peer_drop_nid(struct lx_peer_ni *pni)
{
	struct lx_peer *peer = lx_peer_of(pni);

	peer_ni_remove(peer->core, pni);
	if (!peer->n_nis)
		lx_peer_delete(peer);
}

void lx_peer_delete(struct lx_peer *peer)
{
	struct lx_core *core = peer->core;
	struct lx_peer_net *net;

	if (peer->deleted)
		return;
	peer->deleted = true;
	lx_change_tell(core, LX_CHANGE_PEER_DEL, &peer->primary, LX_NET_U32_ANY, "%s", "");
	ANNOUNCE(core, deleted, peer);
	while ((net = lx_list_first(&peer->nets, struct lx_peer_net, link)))
		peer_ni_remove(core, lx_list_first(&net->nis, struct lx_peer_ni, link));
	lx_list_del(&peer->link);
	lx_peer_put(peer);
}

bool lx_peer_is_self(const struct lx_peer *peer)
{
	return lx_ni_is_local_nid(peer->core, &lx_peer_first_ni(peer)->nid);
}

static bool has_other_nid(const struct lx_peer *peer, const struct lx_nid *nid, bool own)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer) {
		if (!lx_nid_eq(&pni->nid, nid) && lx_ni_is_local_nid(peer->core, &pni->nid) == own)
			return true;
	}
	return false;
}

void lx_peer_own_nid_changed(struct lx_core *core, const struct lx_nid *nid)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid);

	if (pni && has_other_nid(lx_peer_of(pni), nid, !lx_ni_is_local_nid(core, nid)))
		lx_peer_drop_nid(pni);
}

const struct lx_nid *lx_peer_self_nid(struct lx_core *core)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core) {
		if (ni->ni.lnd->connects_to_self)
			return &ni->ni.nid;
	}
	return NULL;
}

int lx_peer_self_start(struct lx_core *core)
{
	struct lx_peer *peer = peer_new(core, &lx_nid_lo);
	struct lx_peer_net *net;

	if (!peer)
		return -ENOMEM;
	lx_list_del(&peer->link);
	net = peer_net_obtain(peer, lx_nid_net(&lx_nid_lo));
	core->self = net ? peer_ni_new(core, &lx_nid_lo) : NULL;
	if (!core->self) {
		free(net);
		lx_peer_put(peer);
		return -ENOMEM;
	}
	peer_ni_attach(core->self, net);
	return 0;
}

void lx_peer_self_stop(struct lx_core *core)
{
	struct lx_peer_ni *self = core->self;
	struct lx_peer *peer;

	if (!self)
		return;
	core->self = NULL;
	peer = lx_peer_of(self);
	peer_ni_detach(self);
	free(self);
	lx_peer_put(peer);
}

/*
 * ---- status
 * --------------------------------------------------------------------------------------
 */

static void status_changed(struct lx_core *core, struct lx_peer_ni *pni,
			   enum lx_change_type type)
{
	lx_change_tell(core, type, &pni->nid, LX_NET_U32_ANY, "%s", lx_down_str(&pni->down));
	if (pni->net && !lx_list_empty(&lx_peer_of(pni)->routes))
		lx_core_kick(core);
}

void lx_peer_policy_changed(struct lx_peer *peer)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer)
		lx_change_policy(peer->core, &pni->nid, LX_NET_U32_ANY);
}

void lx_peer_ni_set_up(struct lx_core *core, struct lx_peer_ni *pni)
{
	if (lx_peer_ni_up(pni))
		return;
	pni->status = LX_NI_STATUS_UP;
	lx_down_clear(&pni->down);
	status_changed(core, pni, LX_CHANGE_PEER_UP);
}

void lx_peer_ni_set_down(struct lx_core *core, struct lx_peer_ni *pni, enum lx_down_why why,
			 int error)
{
	lx_down_set(core, &pni->down, why, error, LX_NET_U32_ANY);
	if (pni->status == LX_NI_STATUS_DOWN)
		return;
	pni->status = LX_NI_STATUS_DOWN;
	status_changed(core, pni, LX_CHANGE_PEER_DOWN);
}

uint32_t lx_lnd_peer_number(struct lx_ni *ni, const struct lx_nid *nid)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(ni->core, nid);

	/* It may be moving between two peers. */
	return pni && pni->net ? lx_peer_of(pni)->number : 0;
}

/*
 * ---- description
 * ------------------------------------------------------------------------------------
 */

/* Known for gateways and, on a router, for every neighbour (control.md 3.4). */
static enum lx_alive alive_of(struct lx_core *core, const struct lx_peer_ni *pni)
{
	bool watched = !lx_list_empty(&lx_peer_of(pni)->routes) ||
		       (core->routing != LX_ROUTING_OFF &&
			lx_net_lookup(core, lx_nid_net(&pni->nid)));

	if (!watched)
		return LX_ALIVE_NA;
	return lx_peer_ni_up(pni) ? LX_ALIVE_UP : LX_ALIVE_DOWN;
}

static void ni_describe(struct lx_core *core, const struct lx_peer_ni *pni,
			struct lx_peer_ni_info *ret_info)
{
	*ret_info = (struct lx_peer_ni_info){
		.nid = pni->nid,
		.alive = pni == core->self ? LX_ALIVE_NA : alive_of(core, pni),
		.tx_credits_max = pni->tx_max,
		.tx_credits = lx_credit_now(pni->tx),
		.tx_credits_min = pni->tx->min,
		.tx_queued_bytes = pni->tx_queued_bytes,
		.rtr_credits = lx_credit_now(pni->rtr),
		.rtr_credits_min = pni->rtr->min,
		/* As the reference counts: itself, and its list of remote NIs. */
		.refs = pni->refs - pni->awaited + 1 + !lx_net_lookup(core, pni->net->id),
		.traffic = pni->traffic,
		.health = pni->health,
		.answer_bytes = pni->answer_bytes,
		.tx_oldest_ms = lx_credit_oldest_ns(core, &pni->tx_queue) / LX_MS_NS,
		.heard_s = pni->last_alive_ns
				   ? (int64_t)((lx_core_now(core) - pni->last_alive_ns) / LX_S_NS)
				   : -1,
	};
	lx_udsp_describe_peer_ni(pni, &ret_info->udsp);
	if (ret_info->alive == LX_ALIVE_DOWN)
		lx_down_describe(&pni->down, &ret_info->down);
}

static size_t n_shown(const struct lx_peer *peer, bool lo)
{
	return peer->n_nis + (lo && peer->by_lo && peer->core->self);
}

/* 0@lo stands behind the net that the peer was first known by. */
static void peer_describe(struct lx_peer *peer, bool lo, struct lx_peer_info *ret_info,
			  struct lx_peer_ni_info *ni)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	*ret_info = (struct lx_peer_info){
		.primary = peer->primary,
		.multi_rail = peer->state & LX_PEER_MULTI_RAIL,
		.lock_primary = peer->state & LX_PEER_LOCK_PRIMARY,
		.state = peer->state,
		.n_nis = n_shown(peer, lo),
		.ni = ni,
	};
	lo = ret_info->n_nis > peer->n_nis;
	lx_list_for_each(net, &peer->nets, link) {
		lx_list_for_each(pni, &net->nis, link)
			ni_describe(peer->core, pni, ni++);
		if (lo)
			ni_describe(peer->core, peer->core->self, ni++);
		lo = false;
	}
}

int lx_peer_describe_all(struct lx_core *core, struct lx_peer_info **ret_list, size_t *ret_n)
{
	struct lx_peer_ni_info *ni;
	struct lx_peer_info *list;
	size_t n = 0, n_nis = 0;
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link) {
		n++;
		n_nis += n_shown(peer, true);
	}
	list = calloc(1, n * sizeof(*list) + n_nis * sizeof(*ni) + 1);
	if (!list)
		return -ENOMEM;
	ni = (struct lx_peer_ni_info *)(list + n);
	n = 0;
	lx_list_for_each(peer, &core->peers, link) {
		peer_describe(peer, true, &list[n], ni);
		ni += list[n++].n_nis;
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

int lx_peer_describe(struct lx_peer *peer, bool lo, struct lx_peer_info **ret_info)
{
	struct lx_peer_info *info =
		calloc(1, sizeof(*info) + n_shown(peer, lo) * sizeof(info->ni[0]));

	if (!info)
		return -ENOMEM;
	peer_describe(peer, lo, info, (struct lx_peer_ni_info *)(info + 1));
	*ret_info = info;
	return 0;
}
