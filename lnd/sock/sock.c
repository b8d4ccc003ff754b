/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd as the core sees it: the table of functions, NI start-up and shutdown, tunables.
 * The objects behind them are in priv.h.
 *
 * Shutdown of an NI:
 *
 *	shutdown() ─▶ closes conns and listeners, each on its own loop
 *	              they hold the net; the last one to be freed releases it
 *	              ─▶ the host, if this was its last net
 *	              ─▶ lx_lnd_stopped()
 */
#include <errno.h>

#include "../../user/base/setting.h"
#include "../../user/io/tcpinfo.h"
#include "priv.h"
#include "sock.h"

static const char *const lx_sock_accept_names[] = { "secure", "all", "none", NULL };
static const char *const lx_sock_switch_names[] = { "off", "on", NULL };

struct lx_sock_tunables lx_sock_tun;

static const struct lx_tunable tunable_table[] =
	LX_TUNABLE_TABLE(lx_sock_tunables, LX_SOCK_TUNABLES);

static const char *const ni_setting_names[] = LX_NI_SETTING_NAMES(LX_SOCK_NI_SETTINGS);

/* The tunables have their defaults before main(). */
__attribute__((constructor)) static void set_defaults(void)
{
	lx_tunable_defaults(tunable_table, &lx_sock_tun);
}

static const struct lx_tunable_conflict *tunables_conflict(const void *values)
{
	static const struct lx_tunable_conflict reconnect = {
		.name = { "min_reconnectms", "max_reconnectms" },
		.why = "min_reconnectms is greater than max_reconnectms",
	};
	const struct lx_sock_tunables *tun = values;

	return tun->min_reconnectms > tun->max_reconnectms ? &reconnect : NULL;
}

/* ---- start-up ------------------------------------------------------------- */

static void take_default(int32_t *value, int64_t def)
{
	if (*value == LX_UNSET)
		*value = def;
}

static bool ni_setting_valid(unsigned int index, int32_t value)
{
	const struct lx_conf_ni_setting *set = &lx_conf_lnd_settings(LX_NET_TCP)[index];

	return lx_setting_fits(set, value) ||
	       (index == LX_SOCK_NI_TOS && value == LX_UNSET) ||
	       (index == LX_SOCK_NI_FASTPATH && value == LX_LND_TUNABLE_HIDDEN);
}

static int take_tunables(struct lx_sock_net *net)
{
	struct lx_ni *ni = net->ni;
	int32_t *tun = ni->lnd_tun.value;

	take_default(&ni->tun.credits, lx_sock_tun.credits);
	take_default(&ni->tun.peer_credits, lx_sock_tun.peer_credits);
	take_default(&ni->tun.peer_buffer_credits, lx_sock_tun.peer_buffer_credits);
	take_default(&ni->tun.peer_timeout, lx_sock_tun.peer_timeout);
	take_default(&tun[LX_SOCK_NI_CONNS_PER_PEER], lx_sock_tun.conns_per_peer);
	take_default(&tun[LX_SOCK_NI_TIMEOUT], lx_sock_tun.sock_timeout);
	take_default(&tun[LX_SOCK_NI_TOS], lx_sock_tun.tos);
	take_default(&tun[LX_SOCK_NI_FASTPATH], LX_LND_TUNABLE_HIDDEN);
	for (unsigned int i = 0; ni_setting_names[i]; i++) {
		if (!ni_setting_valid(i, tun[i]))
			return -EINVAL;
	}
	if (!tun[LX_SOCK_NI_CONNS_PER_PEER])
		tun[LX_SOCK_NI_CONNS_PER_PEER] = lx_proto_auto_conns(net->netif.speed_mbps);
	return 0;
}

/* Finds the NID for the interface, or the interface for the NID. */
static int resolve(struct lx_sock_net *net)
{
	struct lx_ni *ni = net->ni;
	int r;

	if (lx_nid_is_any(&ni->nid)) {
		r = lx_netif_by_name(ni->ifname, &net->netif);
		if (!r)
			r = lx_nid_from_sockaddr(ni->net, &net->netif.addr.sa, &ni->nid);
	} else {
		r = lx_netif_by_nid(&ni->nid, ni->ifname, &net->netif);
		if (!r)
			memcpy(ni->ifname, net->netif.name, sizeof(ni->ifname));
	}
	if (r)
		return r;
	net->addr = net->netif.addr;
	lx_sock_net_set_scope(net, &net->addr);
	return 0;
}

static struct lx_sock_conn *first_moved(const struct lx_sock_peer *peer, bool all)
{
	struct lx_sock_conn *conn;

	lx_list_for_each (conn, &peer->conns, link) {
		if (all || conn->offload)
			return conn;
	}
	return NULL;
}

/* The NI works on, so it does not pay with its health for what is lost. */
static void peer_moved(struct lx_sock_peer *peer, bool all)
{
	struct lx_sock_conn *conn;

	lx_sock_net_set_scope(peer->net, &peer->addr);
	if (all && peer->dialling)
		lx_sock_conn_close(peer->dialling, -ECONNABORTED, LX_HSTATUS_REMOTE_DROPPED);
	/* Closing one may close others (lanes), so search the list again each time. */
	while ((conn = first_moved(peer, all)))
		lx_sock_conn_close(conn, -ECONNABORTED, LX_HSTATUS_REMOTE_DROPPED);
}

/*
 * TCP does not care which interface has the address, so most connections go on. But the programs
 * would send to the old interface for ever, and link-local sockets are bound to it.
 */
static void net_moved(struct lx_sock_net *net, const struct lx_netif *netif)
{
	bool bound = lx_addr_is_link_local(&net->addr);
	struct lx_sock_peer *peer;

	if (net->deaf && netif->index == net->netif.index) {
		net->deaf = lx_sock_accept_start(net, NULL) != 0;
		return;
	}
	net->netif = *netif;
	lx_sock_net_set_scope(net, &net->addr);
	lx_list_for_each (peer, &net->peers, link)
		peer_moved(peer, bound);
	if (!bound)
		return;
	lx_sock_accept_stop(net);
	/* The address is not usable until the kernel knows that no other machine has it. */
	net->deaf = lx_sock_accept_start(net, "NI down until it can listen") != 0;
}

/* Nothing holds the net any more. */
static void net_released(struct lx_sock_net *net)
{
	while (!lx_list_empty(&net->peers))
		lx_sock_peer_free(lx_list_first(&net->peers, struct lx_sock_peer, link));
	lx_sock_host_leave(net);
}

/* Later changes are host.c's. */
static void start_link(struct lx_sock_net *net)
{
	net->link_down = lx_netif_down(&net->netif, true);
	if (net->link_down)
		lx_lnd_link(net->ni, net->link_down);
}

static int sock_startup(struct lx_ni *ni)
{
	struct lx_sock_net *net;
	int r;

	if (!ni->env)
		return -EOPNOTSUPP;
	r = lx_sock_net_new(ni, net_released, &net);
	if (r)
		return r;
	r = resolve(net);
	/* With a listener the port decides: any local user can have the name. */
	if (!r && lx_sock_net_claim(net) == -EADDRINUSE &&
	    lx_sock_tun.accept == LX_SOCK_ACCEPT_NONE)
		r = -EADDRINUSE;
	if (!r)
		r = take_tunables(net);
	if (!r)
		r = lx_sock_host_join(net, lx_sock_tick, net_moved);
	if (r) {
		lx_sock_net_free(net);
		return r;
	}
	ni->lnd_data = net;
	r = lx_sock_accept_start(net, "NI not started");
	if (!r) {
		start_link(net);
		return 0;
	}
	/* No lx_lnd_stopped() for an NI that did not come up. */
	net->ni = NULL;
	ni->lnd_data = NULL;
	net->closing = true;
	lx_sock_accept_stop(net);
	lx_sock_net_release(net);
	return r;
}

/* ---- shutdown ------------------------------------------------------------- */

static void peer_shutdown(struct lx_sock_peer *peer)
{
	struct lx_sock_conn *conn;

	peer->closing = true;
	if (peer->dialling)
		lx_sock_conn_close(peer->dialling, -ESHUTDOWN, LX_HSTATUS_LOCAL_ERROR);
	while ((conn = lx_list_first(&peer->conns, struct lx_sock_conn, link)))
		lx_sock_conn_close(conn, -ESHUTDOWN, LX_HSTATUS_LOCAL_ERROR);
	lx_sock_peer_fail_waiting(peer, -ESHUTDOWN, LX_HSTATUS_LOCAL_ERROR);
}

static void sock_shutdown(struct lx_ni *ni)
{
	struct lx_sock_net *net = ni->lnd_data;
	struct lx_sock_conn *conn;
	struct lx_sock_peer *peer;

	net->closing = true;
	lx_sock_accept_stop(net);
	lx_list_for_each (peer, &net->peers, link)
		peer_shutdown(peer);
	/* Connections after the acceptor request and before the end of HELLO. */
	lx_list_for_each (conn, &net->host->conns, host_link) {
		if (conn->net == net)
			lx_sock_conn_close(conn, -ESHUTDOWN, LX_HSTATUS_LOCAL_ERROR);
	}
	lx_sock_net_release(net);
}

/* ---- messages ------------------------------------------------------------- */

static int sock_send(struct lx_ni *ni, struct lx_msg *msg)
{
	struct lx_sock_net *net = ni->lnd_data;
	struct lx_sock_peer *peer;
	int r;

	msg->hstatus = LX_HSTATUS_LOCAL_ERROR;
	if (net->closing)
		return -ESHUTDOWN;
	peer = lx_sock_peer_lookup(net, &msg->target);
	if (!peer) {
		/* A userspace peer cannot be dialled: its port is unknown. */
		if (msg->target.pid & LX_PID_USERFLAG) {
			msg->hstatus = LX_HSTATUS_REMOTE_ERROR;
			return -EHOSTUNREACH;
		}
		r = lx_sock_peer_new(net, &msg->target, &peer);
		if (r)
			return r;
	}
	r = lx_sock_send_msg(peer, msg);
	if (r == -EHOSTUNREACH)
		msg->hstatus = LX_HSTATUS_REMOTE_ERROR;
	return r;
}

/* ---- information and settings --------------------------------------------- */

static void each_conn(struct lx_sock_net *net, void (*fn)(struct lx_sock_conn *conn))
{
	struct lx_sock_peer *peer;
	struct lx_sock_conn *conn;

	lx_list_for_each (peer, &net->peers, link) {
		lx_list_for_each (conn, &peer->conns, link)
			fn(conn);
	}
}

/* Other tunables are read when they are used. */
static int sock_retune(struct lx_ni *ni)
{
	struct lx_sock_host *host = ((struct lx_sock_net *)ni->lnd_data)->host;
	struct lx_sock_net *net;

	lx_list_for_each (net, &host->nets, link)
		each_conn(net, lx_sock_conn_set_keepalive);
	return lx_sock_accept_follow(host);
}

static int sock_set_tunable(struct lx_ni *ni, unsigned int index, int32_t value)
{
	struct lx_sock_net *net = ni->lnd_data;

	if (index == LX_SOCK_NI_FASTPATH)
		take_default(&value, LX_LND_TUNABLE_HIDDEN);
	if (!ni_setting_valid(index, value))
		return -EINVAL;
	if (index == LX_SOCK_NI_CONNS_PER_PEER && !value)
		value = lx_proto_auto_conns(net->netif.speed_mbps);
	if (index == LX_SOCK_NI_TIMEOUT && !value)
		value = lx_lnd_timeout(ni);
	ni->lnd_tun.value[index] = value;
	if (index == LX_SOCK_NI_TIMEOUT)
		each_conn(net, lx_sock_conn_set_keepalive);
	else if (index == LX_SOCK_NI_TOS)
		each_conn(net, lx_sock_conn_set_tos);
	return 0;
}

static void describe_tcp(const struct lx_sock_conn *conn, struct lx_conn_info *info)
{
	struct lx_tcpinfo tcp;

	info->tcp_sent = info->tcp_resent = info->srtt_us = info->unacked = info->cwnd =
		info->unsent = -1;
	if (lx_tcpinfo_read(conn->fd, &tcp))
		return;
	info->tcp_sent = tcp.sent;
	info->tcp_resent = tcp.resent;
	info->srtt_us = tcp.srtt_us;
	info->unacked = tcp.unacked;
	info->cwnd = tcp.cwnd;
	info->unsent = tcp.unsent;
}

static void describe(const struct lx_sock_conn *conn, struct lx_conn_info *info)
{
	const struct lx_sock_peer *peer = conn->peer;
	uint64_t now = lx_sock_now();
	uint64_t last = conn->last_rx_ns > conn->last_tx_ns ? conn->last_rx_ns : conn->last_tx_ns;
	const struct lx_sock_tx *tx;

	*info = (struct lx_conn_info){
		.peer = peer->id,
		.ni = conn->net->ni->nid,
		.version = conn->version,
		.tx_queued_bytes = conn->queued_bytes,
		.tx_bytes = conn->tx_bytes,
		.rx_bytes = conn->rx_bytes,
		.idle_s = (now - last) / LX_S_NS,
	};
	lx_list_for_each (tx, &peer->zc, zc_link)
		info->zc_pending += tx->conn == conn;
	lx_addr_format(&conn->local, info->local, sizeof(info->local));
	lx_addr_format(&conn->remote, info->remote, sizeof(info->remote));
	snprintf(info->type, sizeof(info->type), "%s", lx_proto_ctype_name(conn->ctype));
	describe_tcp(conn, info);
}

static void sock_conns(struct lx_ni *ni, const struct lx_nid *nid,
		       int (*fn)(const struct lx_conn_info *info, void *arg), void *arg)
{
	struct lx_sock_net *net = ni->lnd_data;
	struct lx_sock_peer *peer;
	struct lx_sock_conn *conn;
	struct lx_conn_info info;

	lx_list_for_each (peer, &net->peers, link) {
		if (nid && !lx_nid_eq(nid, &peer->id.nid))
			continue;
		lx_list_for_each (conn, &peer->conns, link) {
			describe(conn, &info);
			if (fn(&info, arg))
				return;
		}
	}
}

static unsigned int sock_peers(struct lx_ni *ni)
{
	const struct lx_sock_net *net = ni->lnd_data;

	return lx_list_count(&net->peers);
}

static void sock_count(struct lx_ni *ni)
{
	struct lx_sock_net *net = ni->lnd_data;

	lx_sock_offload_count(net);
	each_conn(net, lx_sock_conn_count);
}

static void sock_policy_changed(struct lx_ni *ni, const struct lx_nid *nid, uint32_t id)
{
	struct lx_sock_net *net = ni->lnd_data;

	if (net && net->host)
		lx_sock_offload_policy_changed(net->host, nid, id);
}

static int sock_disconnect(struct lx_ni *ni, const struct lx_nid *nid)
{
	struct lx_sock_net *net = ni->lnd_data;
	struct lx_sock_peer *peer;
	struct lx_sock_conn *conn;
	int n = 0;

	lx_list_for_each (peer, &net->peers, link) {
		if (nid && !lx_nid_eq(nid, &peer->id.nid))
			continue;
		for (; (conn = lx_list_first(&peer->conns, struct lx_sock_conn, link)); n++)
			lx_sock_conn_close(conn, -ECONNABORTED, LX_HSTATUS_LOCAL_ERROR);
	}
	return n;
}

const struct lx_lnd lx_sock_lnd = {
	.connects_to_self = true,
	.name = "tcp",
	.net_type = LX_NET_TCP,
	.tunables = tunable_table,
	.tunable_values = &lx_sock_tun,
	.conflict = tunables_conflict,
	.ni_tunables = ni_setting_names,
	.startup = sock_startup,
	.shutdown = sock_shutdown,
	.send = sock_send,
	.recv = lx_sock_rx_recv,
	.retune = sock_retune,
	.set_tunable = sock_set_tunable,
	.conns = sock_conns,
	.peers = sock_peers,
	.disconnect = sock_disconnect,
	.count = sock_count,
	.policy_changed = sock_policy_changed,
};
