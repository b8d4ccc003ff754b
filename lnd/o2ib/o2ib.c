/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd as the core sees it: the table of functions, NI start-up and shutdown, tunables.
 * The objects behind them are in priv.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../user/base/array.h"
#include "../../user/base/setting.h"
#include "../../user/io/netif.h"
#include "o2ib.h"
#include "priv.h"

#ifdef LX_O2IB
const struct lx_o2ib_hw *lx_o2ib_hw = &lx_o2ib_verbs;
#else
const struct lx_o2ib_hw *lx_o2ib_hw;
#endif

struct lx_o2ib_tunables lx_o2ib_tun;

static const struct lx_tunable tunable_table[] =
	LX_TUNABLE_TABLE(lx_o2ib_tunables, LX_O2IB_TUNABLES);

static const char *const ni_setting_names[] = LX_NI_SETTING_NAMES(LX_O2IB_NI_SETTINGS);

/* The tunables have their defaults before main(). */
__attribute__((constructor)) static void set_defaults(void)
{
	lx_tunable_defaults(tunable_table, &lx_o2ib_tun);
}

/* ---- start-up ------------------------------------------------------------------------- */

static void take_default(int32_t *value, int64_t def)
{
	if (*value == LX_UNSET)
		*value = def;
}

static int32_t clamp(int32_t value, int32_t min, int32_t max)
{
	return value < min ? min : value > max ? max : value;
}

/* Fills in defaults, and adjusts values that do not fit together, as the reference does. */
static int take_tunables(struct lx_ni *ni)
{
	struct lx_ni_tunables *tun = &ni->tun;
	int32_t *v = ni->lnd_tun.value;

	take_default(&tun->credits, lx_o2ib_tun.credits);
	take_default(&tun->peer_credits, lx_o2ib_tun.peer_credits);
	take_default(&tun->peer_buffer_credits, lx_o2ib_tun.peer_buffer_credits);
	take_default(&tun->peer_timeout, lx_o2ib_tun.peer_timeout);
	take_default(&v[LX_O2IB_NI_PEERCREDITS_HIW], lx_o2ib_tun.peer_credits_hiw);
	take_default(&v[LX_O2IB_NI_CONCURRENT_SENDS], lx_o2ib_tun.concurrent_sends);
	take_default(&v[LX_O2IB_NI_CONNS_PER_PEER], lx_o2ib_tun.conns_per_peer);
	take_default(&v[LX_O2IB_NI_MAP_ON_DEMAND], lx_o2ib_tun.map_on_demand);
	take_default(&v[LX_O2IB_NI_FMR_POOL_SIZE], lx_o2ib_tun.fmr_pool_size);
	take_default(&v[LX_O2IB_NI_FMR_FLUSH_TRIGGER], lx_o2ib_tun.fmr_flush_trigger);
	take_default(&v[LX_O2IB_NI_FMR_CACHE], lx_o2ib_tun.fmr_cache);
	take_default(&v[LX_O2IB_NI_NTX], lx_o2ib_tun.ntx);
	take_default(&v[LX_O2IB_NI_TIMEOUT], lx_o2ib_tun.timeout);
	take_default(&v[LX_O2IB_NI_TOS], lx_o2ib_tun.tos);
	if (v[LX_O2IB_NI_CONNS_PER_PEER] < 1 || v[LX_O2IB_NI_CONNS_PER_PEER] > 16 ||
	    v[LX_O2IB_NI_TIMEOUT] < 1 || v[LX_O2IB_NI_TOS] < -1 || v[LX_O2IB_NI_TOS] > 255)
		return -EINVAL;
	tun->peer_credits = clamp(tun->peer_credits, 8, 254);
	if (tun->peer_credits > tun->credits)
		tun->credits = tun->peer_credits;
	v[LX_O2IB_NI_PEERCREDITS_HIW] = clamp(v[LX_O2IB_NI_PEERCREDITS_HIW],
					      tun->peer_credits / 2, tun->peer_credits - 1);
	if (!v[LX_O2IB_NI_CONCURRENT_SENDS])
		v[LX_O2IB_NI_CONCURRENT_SENDS] = tun->peer_credits;
	v[LX_O2IB_NI_CONCURRENT_SENDS] = clamp(v[LX_O2IB_NI_CONCURRENT_SENDS],
					       tun->peer_credits / 2, 2 * tun->peer_credits);
	return 0;
}

/* Finds the NID for the interface, or vice versa; in virtual time there is no interface. */
static int resolve(struct lx_o2ib_net *net)
{
	struct lx_ni *ni = net->ni;
	struct lx_netif netif;
	int r;

	if (!lx_nid_is_any(&ni->nid) && !lx_nid_is_nid4(&ni->nid))
		return -EADDRNOTAVAIL;
	if (lx_nid_is_any(&ni->nid)) {
		r = lx_netif_by_name(ni->ifname, &netif);
		if (!r && netif.addr.sa.sa_family != AF_INET)
			r = -EADDRNOTAVAIL;
		if (!r)
			r = lx_nid_from_sockaddr(ni->net, &netif.addr.sa, &ni->nid);
		if (r)
			return r;
	} else if (ni->env) {
		r = lx_netif_by_nid(&ni->nid, ni->ifname, &netif);
		if (r)
			return r;
		memcpy(ni->ifname, netif.name, sizeof(ni->ifname));
	}
	memcpy(&net->addr, ni->nid.addr, sizeof(net->addr));
	return 0;
}

static int open_hw(struct lx_o2ib_net *net)
{
	char text[INET_ADDRSTRLEN];
	int r = lx_o2ib_hw->net_open(net);

	if (r == -ENODEV) {
		lx_err("ni=%s reason=\"%s is on no RDMA device\" action=\"NI not added\" "
		       "next=\"see rdma link; for Ethernet: modprobe rdma_rxe, "
		       "rdma link add rxe0 type rxe netdev %s\"",
		       lx_nid_str(&net->ni->nid),
		       inet_ntop(AF_INET, &net->addr, text, sizeof(text)),
		       net->ni->ifname[0] ? net->ni->ifname : "IFACE");
		return -ENXIO;
	}
	return r;
}

static void net_free(struct lx_o2ib_net *net)
{
	lx_o2ib_mem_fini(&net->mem);
	lx_hash_fini(&net->peer_hash);
	free(net);
}

static void net_released(struct lx_o2ib_net *net)
{
	struct lx_ni *ni = net->ni;

	lx_o2ib_peers_sweep(net);
	net_free(net);
	lx_lnd_stopped(ni);
}

static struct lx_o2ib_net *net_new(struct lx_ni *ni)
{
	struct lx_o2ib_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->ni = ni;
	net->pending = 1;
	net->released = net_released;
	net->service = lx_o2ib_tun.service;
	net->incarnation = ni->incarnation_ns / 1000;
	net->next_cookie = 1;
	lx_list_init(&net->port_link);
	lx_list_init(&net->peers);
	lx_list_init(&net->conns);
	if (lx_hash_init(&net->peer_hash) || lx_o2ib_mem_init(&net->mem)) {
		net_free(net);
		return NULL;
	}
	return net;
}

static int o2ib_startup(struct lx_ni *ni)
{
	struct lx_o2ib_net *net;
	int r;

	if (!lx_o2ib_hw)
		return -EPROTONOSUPPORT;
	net = net_new(ni);
	if (!net)
		return -ENOMEM;
	r = resolve(net);
	if (!r)
		r = take_tunables(ni);
	if (!r)
		r = open_hw(net);
	if (r) {
		net_free(net);
		return r;
	}
	ni->lnd_data = net;
	return 0;
}

/* ---- shutdown --------------------------------------------------------------------------- */

void lx_o2ib_net_closed(struct lx_o2ib_net *net)
{
	lx_o2ib_net_put(net);
}

static int close_all(struct lx_o2ib_net *net, const struct lx_nid *nid, int error)
{
	struct lx_o2ib_conn *conn = NULL;
	int n = 0;

	while ((conn = lx_o2ib_conn_next(net, conn))) {
		if (conn->closing || (nid && !lx_nid_eq(nid, &conn->nid)))
			continue;
		n += conn->state == LX_O2IB_UP;
		lx_o2ib_conn_close(conn, error, LX_HSTATUS_LOCAL_ABORTED);
	}
	return n;
}

void lx_o2ib_net_lost(struct lx_o2ib_net *net, int error)
{
	close_all(net, NULL, error);
	lx_o2ib_mem_drop(&net->mem);
}

static void o2ib_shutdown(struct lx_ni *ni)
{
	struct lx_o2ib_net *net = ni->lnd_data;
	struct lx_o2ib_peer *peer;

	net->closing = true;
	net->pending++;
	lx_list_for_each (peer, &net->peers, link)
		lx_o2ib_peer_shutdown(peer);
	close_all(net, NULL, -ESHUTDOWN);
	lx_o2ib_mem_drop(&net->mem);
	lx_o2ib_hw->net_close(net);
	lx_o2ib_net_put(net);
}

/* ---- messages ----------------------------------------------------------------------------- */

static int o2ib_send(struct lx_ni *ni, struct lx_msg *msg)
{
	struct lx_o2ib_net *net = ni->lnd_data;
	struct lx_o2ib_tx *tx;
	int r;

	msg->hstatus = LX_HSTATUS_LOCAL_ERROR;
	if (net->closing)
		return -ESHUTDOWN;
	if (!lx_nid_is_nid4(&msg->target.nid))
		return -EHOSTUNREACH;
	r = lx_o2ib_tx_for(net, msg, &tx);
	if (r)
		return r;
	r = lx_o2ib_peer_send(net, &msg->target.nid, tx);
	if (r) {
		/* The core ends the message itself, but does not know the reply. */
		tx->msg = NULL;
		lx_o2ib_tx_fail(tx, r, LX_HSTATUS_LOCAL_ERROR);
	}
	return r;
}

void lx_o2ib_tick(struct lx_o2ib_net *net)
{
	struct lx_o2ib_conn *conn = NULL;
	struct lx_o2ib_peer *peer;
	uint64_t now = lx_o2ib_now(net);

	if (net->closing)
		return;
	while ((conn = lx_o2ib_conn_next(net, conn)))
		lx_o2ib_conn_tick(conn, now);
	lx_list_for_each (peer, &net->peers, link)
		lx_o2ib_peer_tick(peer, now);
	lx_o2ib_peers_sweep(net);
}

/* ---- information and settings ------------------------------------------------------------ */

static int o2ib_set_tunable(struct lx_ni *ni, unsigned int index, int32_t value)
{
	/* Not lx_conf_lnd_settings(), which has none of this transport in a build without RDMA. */
	static const struct lx_conf_ni_setting set[] = LX_NI_SETTING_TABLE(LX_O2IB_NI_SETTINGS);

	switch (index) {
	case LX_O2IB_NI_CONNS_PER_PEER:
	case LX_O2IB_NI_TIMEOUT:
	case LX_O2IB_NI_TOS:
		if (!lx_setting_fits(&set[index], value) &&
		    !(index == LX_O2IB_NI_TOS && value == LX_UNSET))
			return -EINVAL;
		ni->lnd_tun.value[index] = value;
		return 0;
	default:
		/* Existing connections keep their queues. */
		return -EOPNOTSUPP;
	}
}

static size_t queued_bytes(const struct lx_o2ib_conn *conn)
{
	const struct lx_list *const lists[] = { &conn->q_reserved, &conn->q_normal,
						&conn->active_txs };
	struct lx_o2ib_tx *tx;
	size_t n = 0;

	for (unsigned int i = 0; i < LX_ARRAY_LEN(lists); i++) {
		lx_list_for_each (tx, lists[i], link)
			n += tx->msg && tx->type != LX_O2IB_PUT_ACK ? tx->msg->payload.length : 0;
	}
	return n;
}

static void describe(const struct lx_o2ib_conn *conn, struct lx_conn_info *info)
{
	const struct lx_o2ib_net *net = conn->net;
	uint64_t last = conn->last_rx_ns > conn->last_tx_ns ? conn->last_rx_ns : conn->last_tx_ns;

	*info = (struct lx_conn_info){
		.peer = { conn->nid, LX_PID_LUSTRE },
		.ni = net->ni->nid,
		.version = conn->version,
		.tx_queued_bytes = queued_bytes(conn),
		.tx_bytes = conn->tx_bytes,
		.rx_bytes = conn->rx_bytes,
		.idle_s = (lx_o2ib_now(net) - last) / LX_S_NS,
		.type = "rc",
		.tcp_sent = -1,
		.tcp_resent = -1,
		.srtt_us = -1,
		.unacked = -1,
		.cwnd = -1,
		.unsent = -1,
	};
	snprintf(info->local, sizeof(info->local), "%u.%u.%u.%u", net->ni->nid.addr[0],
		 net->ni->nid.addr[1], net->ni->nid.addr[2], net->ni->nid.addr[3]);
	snprintf(info->remote, sizeof(info->remote), "%u.%u.%u.%u", conn->nid.addr[0],
		 conn->nid.addr[1], conn->nid.addr[2], conn->nid.addr[3]);
}

static void o2ib_conns(struct lx_ni *ni, const struct lx_nid *nid,
		       int (*fn)(const struct lx_conn_info *info, void *arg), void *arg)
{
	struct lx_o2ib_net *net = ni->lnd_data;
	struct lx_o2ib_conn *conn;
	struct lx_conn_info info;

	lx_list_for_each (conn, &net->conns, net_link) {
		if (conn->closing || conn->state != LX_O2IB_UP ||
		    (nid && !lx_nid_eq(nid, &conn->nid)))
			continue;
		describe(conn, &info);
		if (fn(&info, arg))
			return;
	}
}

static unsigned int o2ib_peers(struct lx_ni *ni)
{
	const struct lx_o2ib_net *net = ni->lnd_data;

	return lx_list_count(&net->peers);
}

/* The listener stays where it is. */
static int o2ib_retune(struct lx_ni *ni)
{
	const struct lx_o2ib_net *net = ni->lnd_data;

	return lx_o2ib_tun.service == net->service ? 0 : -EBUSY;
}

static int o2ib_disconnect(struct lx_ni *ni, const struct lx_nid *nid)
{
	return close_all(ni->lnd_data, nid, -ECONNABORTED);
}

const struct lx_lnd lx_o2ib_lnd = {
	.name = "o2ib",
	.net_type = LX_NET_O2IB,
	.can_rdma_get = true,
	.tunables = tunable_table,
	.tunable_values = &lx_o2ib_tun,
	.ni_tunables = ni_setting_names,
	.startup = o2ib_startup,
	.shutdown = o2ib_shutdown,
	.send = o2ib_send,
	.recv = lx_o2ib_rx_recv,
	.retune = o2ib_retune,
	.set_tunable = o2ib_set_tunable,
	.conns = o2ib_conns,
	.peers = o2ib_peers,
	.disconnect = o2ib_disconnect,
};
