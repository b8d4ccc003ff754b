/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes to the table of peers by an admin. Checks the whole request
 * first; the table itself is peer.c's. Called by the owner of the core; owns nothing.
 */
#include <errno.h>

#include "change.h"
#include "core.h"
#include "peerconf.h"

static int nid_free_for(struct lx_core *core, const struct lx_nid *nid, struct lx_peer *peer)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, nid);

	if (lx_nid_is_any(nid) || nid->type == LX_NET_LO)
		return -EINVAL;
	if (pni && lx_peer_of(pni) != peer && !lx_peer_may_give(lx_peer_of(pni), nid))
		return -EEXIST;
	return 0;
}

static int add_check(struct lx_core *core, const struct lx_conf_peer *conf,
		     struct lx_peer *peer)
{
	bool known = peer && (peer->state & LX_PEER_CONFIGURED);
	bool named = known || (peer && (peer->state & LX_PEER_LOCK_PRIMARY));
	bool multi_rail = peer && (peer->state & LX_PEER_MULTI_RAIL);
	int r;

	if (peer && !lx_list_empty(&peer->routes))
		return -EBUSY; /* a gateway: its routes and discovery define it */
	if (!conf->multi_rail && conf->n_nids)
		return -EPERM; /* more NIDs make it Multi-Rail */
	if (named && !lx_nid_eq(&peer->primary, &conf->primary))
		return -EEXIST;
	if (known && multi_rail != conf->multi_rail)
		return -EPERM;
	r = nid_free_for(core, &conf->primary, peer);
	for (size_t i = 0; i < conf->n_nids && !r; i++) {
		r = nid_free_for(core, &conf->nid[i], peer);
		/* All of them are ours, or none. */
		if (lx_ni_is_local_nid(core, &conf->nid[i]) !=
		    lx_ni_is_local_nid(core, &conf->primary))
			r = -EINVAL;
	}
	return r;
}

bool lx_peerconf_lists(const struct lx_conf_peer *conf, const struct lx_nid *nid)
{
	bool lists = lx_nid_eq(&conf->primary, nid);

	for (size_t i = 0; i < conf->n_nids && !lists; i++)
		lists = lx_nid_eq(&conf->nid[i], nid);
	return lists;
}

static struct lx_peer_ni *first_not_configured(const struct lx_peer *peer,
						const struct lx_conf_peer *conf)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer) {
		if (!lx_peerconf_lists(conf, &pni->nid))
			return pni;
	}
	return NULL;
}

/* Drops what discovery has found; it comes back when the peer is discovered again. */
static void start_over(struct lx_peer *peer, const struct lx_conf_peer *conf)
{
	struct lx_peer_ni *pni;

	while ((pni = first_not_configured(peer, conf)))
		lx_peer_drop_nid(pni);
	peer->by_lo = false;
	peer->state &= ~(LX_PEER_NIDS_UPTODATE | LX_PEER_MULTI_RAIL);
}

/* This node has its own peer by that name already, and always. */
static bool is_own_lo(const struct lx_conf_peer *conf)
{
	return lx_nid_eq(&conf->primary, &lx_nid_lo) && !conf->n_nids;
}

int lx_peerconf_add(struct lx_core *core, const struct lx_conf_peer *conf)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, &conf->primary);
	struct lx_peer *peer = pni ? lx_peer_of(pni) : NULL;
	int r;

	if (is_own_lo(conf))
		return 0;
	r = add_check(core, conf, peer);
	if (r)
		return r;
	if (!peer) {
		r = lx_peer_ni_obtain(core, &conf->primary, &pni);
		if (r)
			return r;
		peer = lx_peer_of(pni);
	} else if (!(peer->state & LX_PEER_CONFIGURED)) {
		start_over(peer, conf);
	}
	peer->primary = conf->primary;
	peer->state |= LX_PEER_CONFIGURED;
	if (conf->multi_rail)
		peer->state |= LX_PEER_MULTI_RAIL;
	if (conf->lock_primary)
		peer->state |= LX_PEER_LOCK_PRIMARY;
	r = lx_peer_take_nid(peer, &conf->primary);
	for (size_t i = 0; i < conf->n_nids && !r; i++)
		r = lx_peer_take_nid(peer, &conf->nid[i]);
	lx_peer_policy_changed(peer);
	lx_change_tell(core, LX_CHANGE_PEER_CHANGED, &peer->primary, LX_NET_U32_ANY,
		       "configured");
	return r;
}

static struct lx_peer_ni *first_but_primary(const struct lx_peer *peer)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;

	lx_peer_ni_for_each(net, pni, peer) {
		if (!lx_nid_eq(&pni->nid, &peer->primary))
			return pni;
	}
	return NULL;
}

/* Deletes the peer; a locked primary NID stays, and all others go (control.md 1.3). */
static void del_whole(struct lx_peer *peer, bool force)
{
	struct lx_peer_ni *pni;

	if (!(peer->state & LX_PEER_LOCK_PRIMARY) || force) {
		lx_peer_delete(peer);
		return;
	}
	while ((pni = first_but_primary(peer)))
		lx_peer_drop_nid(pni);
}

int lx_peerconf_del(struct lx_core *core, const struct lx_conf_peer *conf, bool force)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(core, &conf->primary);
	struct lx_peer *peer = pni ? lx_peer_of(pni) : NULL;
	bool whole = !conf->n_nids;

	if (is_own_lo(conf))
		return 0;
	if (!peer)
		return -ENOENT;
	if (!lx_nid_eq(&peer->primary, &conf->primary))
		return -ENODEV;
	for (size_t i = 0; i < conf->n_nids; i++) {
		if (!lx_peer_ni_of(peer, &conf->nid[i]))
			return -ENOENT;
		/* There is no peer without its primary NID. */
		whole = whole || lx_nid_eq(&conf->nid[i], &peer->primary);
	}
	if (!lx_list_empty(&peer->routes) && !force)
		return -EBUSY;
	if (whole) {
		del_whole(peer, force);
		return 0;
	}
	for (size_t i = 0; i < conf->n_nids; i++) {
		pni = lx_peer_ni_lookup(core, &conf->nid[i]);
		if (pni)
			lx_peer_drop_nid(pni);
	}
	return 0;
}
