/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers as hops of the fast path, and which of them messages for a NID go to. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "../../user/io/tcpinfo.h"
#include "fast_priv.h"

/* ---- keys ------------------------------------------------------------------- */

void lx_fast_addr_of(const union lx_addr *addr, uint8_t ret_addr[16])
{
	memset(ret_addr, 0, 16);
	if (addr->sa.sa_family == AF_INET6) {
		memcpy(ret_addr, &addr->v6.sin6_addr, 16);
		return;
	}
	ret_addr[10] = ret_addr[11] = 0xff;
	memcpy(ret_addr + 12, &addr->v4.sin_addr, 4);
}

void lx_fast_key_of(struct lx_sock_conn *conn, struct lx_flow_key *ret_key)
{
	union lx_addr local;
	socklen_t len = sizeof(local);

	if (getsockname(conn->fd, &local.sa, &len))
		local = conn->local;
	lx_fast_addr_of(&conn->remote, ret_key->remote);
	lx_fast_addr_of(&local, ret_key->local);
	ret_key->remote_port = htons(lx_addr_port(&conn->remote));
	ret_key->local_port = htons(lx_addr_port(&local));
}

uint8_t lx_fast_tos_of(const struct lx_sock_conn *conn)
{
	int tos = conn->net->ni->lnd_tun.value[LX_SOCK_NI_TOS];

	return tos > 0 ? tos : 0;
}

uint16_t lx_fast_mss_of(const struct lx_sock_conn *conn)
{
	int mss = lx_tcpinfo_mss(conn->fd, conn->remote.sa.sa_family);

	/* What nothing fits in. */
	return mss < 1 ? 1 : mss > UINT16_MAX ? UINT16_MAX : mss;
}

/* ---- hops: peers that messages come from, or go to ---------------------------- */

/*
 * The core and the programs count in the same credits. Again after the core has made a new
 * peer of a deleted one, or moved NIDs between peers.
 */
void lx_fast_hop_share(struct lx_sock_fast *fast, struct lx_sock_peer *peer)
{
	struct lx_hop *hop = lx_forward_hop(fast->forward, peer->hop);

	hop->node = lx_lnd_peer_number(peer->net->ni, &peer->id.nid);

	/* The core may come to know it only with the message at hand. */
	fast->shared[peer->hop] = !lx_lnd_share_credits(peer->net->ni, &peer->id.nid, &hop->tx,
							&hop->rtr);
}

int lx_fast_hop_obtain(struct lx_sock_fast *fast, struct lx_sock_peer *peer)
{
	struct lx_hop *hop;
	int index;

	if (peer->hop >= 0)
		return peer->hop;
	index = lx_forward_take(fast->forward, LX_FORWARD_HOPS, LX_HOPS_MAX);
	if (index < 0)
		return index;
	hop = lx_forward_hop(fast->forward, index);
	memset(hop, 0, sizeof(*hop));
	hop->nid = peer->id.nid;
	fast->hop[index] = peer;
	peer->hop = index;
	lx_fast_hop_share(fast, peer);
	return index;
}

static void forget(struct lx_sock_fast *fast, struct lx_fast_dest *dest)
{
	lx_forward_dest_set(fast->forward, &dest->nid, NULL);
	lx_hash_del(&fast->dests, &dest->node);
	lx_list_del(&dest->link);
	free(dest);
}

/* Whether messages for a destination may have to go elsewhere; as policy_changed(). */
static bool is_concerned(const struct lx_sock_fast *fast, const struct lx_fast_dest *dest,
			 const struct lx_nid *nid, uint32_t net)
{
	if (net != LX_NET_U32_ANY && lx_nid_net(&dest->nid) != net)
		return false;
	if (!nid || lx_nid_eq(&dest->nid, nid))
		return true;
	for (unsigned int i = 0; i < dest->to.n; i++) {
		if (lx_nid_eq(&fast->hop[dest->to.hop[i]]->id.nid, nid))
			return true;
	}
	return false;
}

void lx_sock_fast_forget(struct lx_sock_host *host, const struct lx_nid *nid, uint32_t net)
{
	struct lx_sock_fast *fast = host->fast;
	struct lx_fast_dest *dest, *next;

	if (!fast)
		return;
	lx_list_for_each_safe (dest, next, &fast->dest_list, link) {
		if (is_concerned(fast, dest, nid, net))
			forget(fast, dest);
	}
	if (net != LX_NET_U32_ANY)
		return;
	lx_forward_for_each (i, fast->forward, LX_FORWARD_HOPS) {
		if (!nid || lx_nid_eq(&fast->hop[i]->id.nid, nid))
			lx_fast_hop_share(fast, fast->hop[i]);
	}
}

static bool dest_has(const struct lx_fast_dest *dest, int hop)
{
	for (unsigned int i = 0; i < dest->to.n; i++) {
		if ((int)dest->to.hop[i] == hop)
			return true;
	}
	return false;
}

void lx_sock_fast_peer_gone(struct lx_sock_peer *peer)
{
	struct lx_sock_fast *fast = peer->net->host ? peer->net->host->fast : NULL;
	struct lx_fast_dest *dest, *next;

	if (!fast || peer->hop < 0)
		return;
	lx_list_for_each_safe (dest, next, &fast->dest_list, link) {
		if (dest_has(dest, peer->hop))
			forget(fast, dest);
	}
	(void)lx_lnd_share_credits(peer->net->ni, &peer->id.nid, NULL, NULL);
	fast->hop[peer->hop] = NULL;
	lx_forward_give(fast->forward, LX_FORWARD_HOPS, peer->hop);
	peer->hop = -1;
}

struct lx_fast_dest *lx_fast_dest_lookup(struct lx_sock_fast *fast, const struct lx_nid *nid)
{
	struct lx_fast_dest *dest;

	lx_hash_for_each (dest, &fast->dests, lx_nid_hash(nid), node) {
		if (lx_nid_eq(&dest->nid, nid))
			return dest;
	}
	return NULL;
}

int lx_fast_dest_hop(const struct lx_fast_dest *dest, unsigned int stream)
{
	return dest->to.n ? (int)dest->to.hop[stream % dest->to.n] : -1;
}

static struct lx_fast_dest *dest_add(struct lx_sock_fast *fast, const struct lx_nid *nid)
{
	struct lx_fast_dest *dest = calloc(1, sizeof(*dest));

	if (!dest)
		return NULL;
	dest->nid = *nid;
	lx_hash_add(&fast->dests, &dest->node, lx_nid_hash(nid));
	lx_list_append(&fast->dest_list, &dest->link);
	return dest;
}

static void publish(struct lx_sock_fast *fast, struct lx_fast_dest *dest)
{
	if (lx_forward_dest_set(fast->forward, &dest->nid, &dest->to))
		forget(fast, dest);
}

/*
 * The slow path balances gateways that are equal; those that it has used since the policy
 * changed may be used by the programs, too, which spread streams over them.
 */
void lx_sock_fast_learn(struct lx_sock_peer *peer, const struct lx_nid *dst)
{
	struct lx_sock_fast *fast = peer->net->host->fast;
	struct lx_fast_dest *dest;
	int hop;

	if (!fast)
		return;
	dest = lx_fast_dest_lookup(fast, dst);
	if (dest && (dest->to.n == LX_DEST_HOPS || dest_has(dest, peer->hop)))
		return;
	hop = lx_fast_hop_obtain(fast, peer);
	if (hop < 0)
		return;
	if (!dest)
		dest = dest_add(fast, dst);
	if (!dest)
		return;
	dest->to.hop[dest->to.n++] = hop;
	publish(fast, dest);
}

void lx_fast_learn_own(struct lx_sock_fast *fast, const struct lx_nid *dst)
{
	struct lx_fast_dest *dest;

	if (lx_fast_dest_lookup(fast, dst))
		return;
	dest = dest_add(fast, dst);
	if (dest)
		publish(fast, dest);
}
