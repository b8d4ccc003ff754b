/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fakeo2ib.h"

#include <assert.h>
#include <errno.h>

struct hand hand;
struct hand_core hand_core;

/* ---- the core --------------------------------------------------------------------- */

void lx_lnd_finalize(struct lx_msg *msg, int status)
{
	hand_core.finalize(msg, status);
}

int lx_lnd_parse(struct lx_ni *ni, const struct lx_hdr *hdr, const struct lx_rx_from *from,
		 void *rx, struct lx_msg **ret_msg)
{
	return hand_core.parse(hdr, rx, ret_msg);
}

void lx_lnd_peer_forget(struct lx_lnd_peer *peer)
{
}

struct lx_msg *lx_lnd_reply_msg(struct lx_ni *ni, struct lx_msg *get)
{
	return hand_core.reply_msg();
}

void lx_lnd_reply_length(struct lx_msg *reply, size_t length)
{
	hand_core.reply_length(length);
}

void lx_lnd_peer_lost(struct lx_ni *ni, const struct lx_nid *nid, enum lx_down_why why,
		      int error)
{
	hand.n_lost++;
}

void lx_lnd_stopped(struct lx_ni *ni)
{
	hand.stopped = true;
}

void lx_lnd_link(struct lx_ni *ni, enum lx_down_why why)
{
}

void lx_lnd_change(struct lx_ni *ni, const struct lx_change *change)
{
}

uint64_t lx_lnd_now(struct lx_ni *ni)
{
	return hand.now_ns;
}

unsigned int lx_lnd_timeout(struct lx_ni *ni)
{
	return 50;
}

/* ---- the hardware --------------------------------------------------------------------- */

static int net_open(struct lx_o2ib_net *net)
{
	hand.net = net;
	lx_list_append(&hand.nets, &net->port_link);
	return 0;
}

static void net_close(struct lx_o2ib_net *net)
{
	lx_list_del(&net->port_link);
	lx_o2ib_net_closed(net);
}

static int dial(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	return 0;
}

static int accept_one(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len)
{
	return 0;
}

static void reject(struct lx_o2ib_net *net, void *request, const void *pdata, size_t len)
{
}

static void nothing(struct lx_o2ib_conn *conn)
{
}

static int post_recv(struct lx_o2ib_conn *conn, unsigned int rx)
{
	return 0;
}

static int post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
		     const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	return 0;
}

int hand_reg(struct lx_o2ib_net *net, void *addr, size_t len, bool remote, struct lx_o2ib_mr *ret_mr)
{
	*ret_mr = (struct lx_o2ib_mr){ NULL, 1, 2 };
	hand.live_mrs++;
	return 0;
}

static void dereg(struct lx_o2ib_mr *mr)
{
	hand.live_mrs--;
}

struct lx_o2ib_hw hand_hw = {
	.net_open = net_open,
	.net_close = net_close,
	.dial = dial,
	.accept = accept_one,
	.reject = reject,
	.close = nothing,
	.free = nothing,
	.post_recv = post_recv,
	.post_send = post_send,
	.reg = hand_reg,
	.dereg = dereg,
};

/* ---- begin and end ---------------------------------------------------------------------- */

void hand_begin(int credits)
{
	int r;

	lx_o2ib_hw = &hand_hw;
	lx_tunable_defaults(lx_o2ib_lnd.tunables, &lx_o2ib_tun);
	memset(&hand, 0, sizeof(hand));
	lx_list_init(&hand.nets);
	hand.now_ns = LX_S_NS;
	lx_nid_from_u64(0x000500000a000001ULL, &hand.ni.nid);
	hand.ni.net = lx_nid_net(&hand.ni.nid);
	memset(&hand.ni.tun, 0xff, sizeof(hand.ni.tun)); /* -1 is LX_UNSET */
	memset(&hand.ni.lnd_tun, 0xff, sizeof(hand.ni.lnd_tun));
	hand.ni.tun.peer_credits = credits;
	r = lx_o2ib_lnd.startup(&hand.ni);
	assert(!r);
}

void hand_shutdown(void)
{
	lx_o2ib_lnd.shutdown(&hand.ni);
}

/* ---- the peer --------------------------------------------------------------------------- */

struct lx_o2ib_msg hand_msg(uint8_t type)
{
	return (struct lx_o2ib_msg){
		.version = LX_O2IB_V2,
		.type = type,
		.src_nid = HAND_PEER,
		.src_incarnation = HAND_PEER_INCARNATION,
		.dst_nid = lx_nid_to_u64(&hand.ni.nid),
		.dst_incarnation = hand.net->incarnation,
	};
}

void hand_receive(struct lx_o2ib_conn *conn, unsigned int rx, struct lx_o2ib_msg *msg, unsigned int n)
{
	msg->nob = lx_o2ib_proto_nob(msg->type, n);
	lx_o2ib_proto_encode(msg, lx_o2ib_conn_rx_buf(conn, rx), false);
	lx_o2ib_rx_received(conn, rx, msg->nob, true);
}

void hand_connack(struct lx_o2ib_conn *conn)
{
	struct lx_o2ib_msg m = hand_msg(LX_O2IB_CONNACK);
	uint8_t buf[LX_O2IB_CONN_BYTES];

	m.version = conn->version;
	m.nob = sizeof(buf);
	m.params = (struct lx_o2ib_params){ conn->depth, conn->max_frags, LX_O2IB_MSG_MAX };
	lx_o2ib_proto_encode(&m, buf, false);
	lx_o2ib_peer_established(conn, buf, sizeof(buf));
}
