/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers of the fast path, and the next hops for each destination NID. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../io/tcpinfo.h"
#include "priv.h"

/* ---- keys ------------------------------------------------------------------- */

void lx_fp_key_of(struct lx_fp_conn *conn, struct lx_flow_key *ret_key)
{
	union lx_addr local;
	socklen_t len = sizeof(local);

	if (getsockname(conn->facts.fd, &local.sa, &len))
		local = conn->facts.local;
	lx_addr_map(&conn->facts.remote, ret_key->remote);
	lx_addr_map(&local, ret_key->local);
	ret_key->remote_port = htons(lx_addr_port(&conn->facts.remote));
	ret_key->local_port = htons(lx_addr_port(&local));
}

uint8_t lx_fp_tos_of(const struct lx_fp_conn *conn)
{
	return lx_sock_offload_ni_tos(conn->facts.ni);
}

uint16_t lx_fp_mss_of(const struct lx_fp_conn *conn)
{
	int mss = lx_tcpinfo_mss(conn->facts.fd, conn->facts.remote.sa.sa_family);

	/* 1: no message fits. */
	return mss < 1 ? 1 : mss > UINT16_MAX ? UINT16_MAX : mss;
}

/* ---- senders and next hops -------------------------------------------------- */

/*
 * Makes the core and the programs use the same credit counters. Repeated when the core has
 * recreated a deleted peer or moved NIDs between peers.
 */
void lx_fp_peer_share(struct lx_fp *fp, struct lx_fp_neighbour *peer)
{
	struct lx_fp_peer *fp_peer = lx_fastpath_peer(fp->fastpath, peer->index);

	fp_peer->node = lx_lnd_peer_number(peer->facts.ni, &peer->facts.nid);

	/* The core may learn of the peer only with the current message. */
	peer->shared = !lx_lnd_share_credits(peer->facts.ni, &peer->facts.nid, &fp_peer->tx,
					     &fp_peer->rtr);
}

int lx_fp_peer_obtain(struct lx_fp *fp, struct lx_sock_peer *sock_peer)
{
	struct lx_fp_neighbour *peer = lx_sock_peer_state(sock_peer);
	struct lx_fp_peer *fp_peer;
	int index;

	if (peer)
		return peer->index;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	index = lx_fastpath_take(fp->fastpath, LX_FASTPATH_PEERS, LX_PEERS_MAX);
	if (index < 0) {
		free(peer);
		return index;
	}
	peer->peer = sock_peer;
	peer->index = index;
	lx_sock_peer_facts(sock_peer, &peer->facts);
	fp_peer = lx_fastpath_peer(fp->fastpath, index);
	memset(fp_peer, 0, sizeof(*fp_peer));
	fp_peer->nid = peer->facts.nid;
	fp->peer[index] = peer;
	lx_sock_peer_set_state(sock_peer, peer);
	lx_fp_peer_share(fp, peer);
	return index;
}

static void dest_free(struct lx_fp *fp, struct lx_fp_dest *dest)
{
	lx_hash_del(&fp->dests, &dest->node);
	lx_list_del(&dest->link);
	free(dest);
}

static void forget(struct lx_fp *fp, struct lx_fp_dest *dest)
{
	lx_fastpath_dest_set(fp->fastpath, &dest->nid, NULL);
	dest_free(fp, dest);
}

/* Whether a policy change (policy_changed()) may affect the next hop of a destination. */
static bool is_concerned(const struct lx_fp *fp, const struct lx_fp_dest *dest,
			 const struct lx_nid *nid, uint32_t net)
{
	if (net != LX_NET_U32_ANY && lx_nid_net(&dest->nid) != net)
		return false;
	if (!nid || lx_nid_eq(&dest->nid, nid))
		return true;
	for (unsigned int i = 0; i < dest->to.n; i++) {
		if (lx_nid_eq(&fp->peer[dest->to.next_hop[i]]->facts.nid, nid))
			return true;
	}
	return false;
}

static const struct lx_nid *own_nid(const struct lx_fp *fp, unsigned int i)
{
	return fp->stopping ? NULL : lx_sock_offload_own_nid(fp->host, i);
}

/* Our own NIDs stay. One that is not ours any more is forgotten when others' messages go there. */
void lx_fp_forget(void *state, const struct lx_nid *nid, uint32_t net)
{
	struct lx_fp *fp = state;
	struct lx_fp_dest *dest, *next;

	lx_list_for_each_safe (dest, next, &fp->dest_list, link) {
		if (is_concerned(fp, dest, nid, net) && (dest->to.n || fp->stopping))
			forget(fp, dest);
	}
	lx_fp_learn_own(fp);
	if (net != LX_NET_U32_ANY)
		return;
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_PEERS) {
		if (!nid || lx_nid_eq(&fp->peer[i]->facts.nid, nid))
			lx_fp_peer_share(fp, fp->peer[i]);
	}
}

static bool dest_has(const struct lx_fp_dest *dest, int next_hop)
{
	for (unsigned int i = 0; i < dest->to.n; i++) {
		if ((int)dest->to.next_hop[i] == next_hop)
			return true;
	}
	return false;
}

void lx_fp_peer_gone(void *state, struct lx_sock_peer *sock_peer)
{
	struct lx_fp_neighbour *peer = lx_sock_peer_state(sock_peer);
	struct lx_fp_dest *dest, *next;
	struct lx_fp *fp = state;

	if (!peer)
		return;
	lx_fp_end_done(fp, peer, lx_sock_now());
	lx_fp_limit_end(fp, peer);
	lx_list_for_each_safe (dest, next, &fp->dest_list, link) {
		if (dest_has(dest, peer->index))
			forget(fp, dest);
	}
	(void)lx_lnd_share_credits(peer->facts.ni, &peer->facts.nid, NULL, NULL);
	fp->peer[peer->index] = NULL;
	lx_fastpath_give(fp->fastpath, LX_FASTPATH_PEERS, peer->index);
	lx_sock_peer_set_state(sock_peer, NULL);
	free(peer);
}

struct lx_fp_dest *lx_fp_dest_lookup(struct lx_fp *fp, const struct lx_nid *nid)
{
	struct lx_fp_dest *dest;

	lx_hash_for_each (dest, &fp->dests, lx_nid_hash(nid), node) {
		if (lx_nid_eq(&dest->nid, nid))
			return dest;
	}
	return NULL;
}

int lx_fp_dest_next_hop(const struct lx_fp_dest *dest, unsigned int stream)
{
	return dest->to.n ? (int)dest->to.next_hop[stream % dest->to.n] : -1;
}

static struct lx_fp_dest *dest_add(struct lx_fp *fp, const struct lx_nid *nid)
{
	uint64_t now = lx_sock_now();
	struct lx_fp_dest *dest;

	if (fp->dests_full && now < fp->room_ns)
		return NULL;
	dest = calloc(1, sizeof(*dest));
	if (!dest)
		return NULL;
	dest->nid = *nid;
	dest->since_ns = now;
	lx_hash_add(&fp->dests, &dest->node, lx_nid_hash(nid));
	lx_list_append(&fp->dest_list, &dest->link);
	return dest;
}

/* A sender to many NIDs must not keep others off lanes. Forgotten ones are learned again. */
static bool make_room(struct lx_fp *fp, uint64_t now)
{
	struct lx_fp_dest *dest, *next;
	unsigned int n = 0;

	if (now < fp->room_ns)
		return false;
	fp->room_ns = now + LX_SEARCH_NS;
	lx_list_for_each_safe (dest, next, &fp->dest_list, link) {
		if (n == LX_ROOM_DESTS || now < dest->since_ns + LX_ROOM_AGE_NS)
			break;
		if (!dest->to.n) /* our own */
			continue;
		forget(fp, dest);
		n++;
	}
	return n;
}

static int publish(struct lx_fp *fp, struct lx_fp_dest *dest)
{
	return lx_fastpath_dest_set(fp->fastpath, &dest->nid, &dest->to);
}

/* One that is not in the map yet: if it cannot be added, no stream has ever seen it. */
static void publish_new(struct lx_fp *fp, struct lx_fp_dest *dest)
{
	int r = publish(fp, dest);

	if (r && make_room(fp, dest->since_ns))
		r = publish(fp, dest);
	fp->dests_full = r;
	if (r)
		dest_free(fp, dest);
}

/*
 * The slow path balances messages over equal gateways. The programs spread streams over those
 * that the slow path has used since the last policy change.
 */
void lx_fp_learn(void *state, struct lx_sock_peer *sock_peer, const struct lx_nid *dst,
		 bool is_router)
{
	const struct lx_fp_neighbour *peer = lx_sock_peer_state(sock_peer);
	struct lx_fp *fp = state;
	struct lx_fp_dest *dest;
	int next_hop;
	bool is_new;

	dest = lx_fp_dest_lookup(fp, dst);
	is_new = !dest;
	if (dest && peer && dest_has(dest, peer->index))
		return;
	if (dest && dest->to.n == LX_DEST_NEXT_HOPS)
		return;
	next_hop = lx_fp_peer_obtain(fp, sock_peer);
	if (next_hop < 0)
		return;
	if (!dest)
		dest = dest_add(fp, dst);
	if (!dest)
		return;
	dest->to.next_hop[dest->to.n++] = next_hop;
	dest->to.routed |= is_router;
	if (is_new)
		publish_new(fp, dest);
	else if (publish(fp, dest))
		forget(fp, dest);
}

void lx_fp_learn_own(struct lx_fp *fp)
{
	const struct lx_nid *nid;
	struct lx_fp_dest *dest;

	for (unsigned int i = 0; (nid = own_nid(fp, i)); i++) {
		dest = lx_fp_dest_lookup(fp, nid) ? NULL : dest_add(fp, nid);
		if (dest)
			publish_new(fp, dest);
	}
}
