/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: an o2iblnd node whose peer, core and hardware follow the input. Whatever a
 * peer sends and however the hardware orders events: each message ends once, no memory stays
 * registered, nothing is used after its end.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/fakeo2ib.h"
#include "fuzz.h"

#define MSGS 64
#define AWAITING 64
#define MEM 20000

struct out {
	struct lx_msg msg;
	bool open; /* owned by the transport */
};

struct qp { /* the hardware's view of a connection */
	struct lx_o2ib_conn *conn;
	unsigned int slot[64], n_slots;
	unsigned int rx[600], n_rxs;
};

static const uint8_t *in;
static size_t left;
static struct qp qps[8];
static struct out outs[MSGS];
static void *awaiting_recv[AWAITING];
static unsigned int n_awaiting;
static uint64_t last_cookie;
static bool direct;
static char mem[MEM];
static struct iovec iov[2] = { { mem, MEM / 2 }, { mem + MEM / 2, MEM / 2 } };

static uint8_t byte(void)
{
	return left ? (left--, *in++) : 0;
}

static uint32_t u16(void)
{
	return byte() << 8 | byte();
}

/* ---- the core ----------------------------------------------------------------------- */

static void core_finalize(struct lx_msg *msg, int status)
{
	struct out *out = lx_container_of(msg, struct out, msg);

	assert(out >= outs && out < outs + MSGS && out->open);
	out->open = false;
}

static struct lx_msg *msg_new(void)
{
	for (unsigned int i = 0; i < MSGS; i++) {
		if (outs[i].open)
			continue;
		memset(&outs[i], 0, sizeof(outs[i]));
		outs[i].open = true;
		return &outs[i].msg;
	}
	return NULL;
}

static struct lx_payload memory(size_t length)
{
	struct lx_payload p = { .iov = iov, .n_iov = 2, .offset = byte(), .length = length };

	if (p.length > MEM - p.offset)
		p.length = MEM - p.offset;
	return p;
}

/* The core's decision: the message to receive into, or NULL: drop. */
static struct lx_msg *decide(const struct lx_o2ib_rx *rx)
{
	struct lx_payload p = memory(rx->msg.hdr.payload_length);
	struct lx_msg *msg = byte() & 1 ? msg_new() : NULL;

	if (p.length > rx->msg.hdr.payload_length)
		p.length = rx->msg.hdr.payload_length;
	if (rx->msg.type == LX_O2IB_GET_REQ)
		p = memory(u16());
	if (msg)
		msg->payload = p;
	return msg;
}

static void go_on(unsigned int i)
{
	struct lx_o2ib_rx *rx = awaiting_recv[i];

	awaiting_recv[i] = awaiting_recv[--n_awaiting];
	lx_o2ib_lnd.recv(&hand.ni, rx, decide(rx));
}

static int core_parse(const struct lx_hdr *hdr, void *rx, struct lx_msg **ret_msg)
{
	if (n_awaiting == AWAITING || hdr->type > LX_MSG_REPLY ||
	    hdr->payload_length > LX_PAYLOAD_MAX)
		return -EPROTO;
	if (direct) {
		*ret_msg = decide(rx);
		return LX_RX_NOW;
	}
	awaiting_recv[n_awaiting++] = rx;
	return LX_RX_LATER;
}

static void core_reply_length(size_t length)
{
	assert(length <= MEM);
}

/* ---- the hardware ---------------------------------------------------------------------- */

static int hw_post_recv(struct lx_o2ib_conn *conn, unsigned int rx)
{
	struct qp *qp = conn->hw;

	assert(rx < conn->n_rxs && qp->n_rxs < conn->n_rxs);
	qp->rx[qp->n_rxs++] = rx;
	return 0;
}

static int qp_new(struct lx_o2ib_conn *conn)
{
	for (unsigned int i = 0; i < 8; i++) {
		if (qps[i].conn)
			continue;
		qps[i] = (struct qp){ .conn = conn };
		conn->hw = &qps[i];
		for (unsigned int j = 0; j < conn->n_rxs; j++)
			hw_post_recv(conn, j);
		return 0;
	}
	return -ENOMEM;
}

static int hw_dial(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	return qp_new(conn);
}

static int hw_accept(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len)
{
	return qp_new(conn);
}

static void hw_close(struct lx_o2ib_conn *conn)
{
	struct qp *qp = conn->hw;

	if (qp)
		qp->conn = NULL;
	conn->hw = NULL;
}

static void hw_free(struct lx_o2ib_conn *conn)
{
	assert(!conn->hw);
}

static int hw_post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	struct qp *qp = conn->hw;
	struct lx_o2ib_msg m;

	assert(!lx_o2ib_proto_decode(lx_o2ib_conn_slot_buf(conn, slot), nob, &m));
	assert(qp->n_slots < 64 && n_writes <= LX_O2IB_FRAGS_MAX + 4);
	for (unsigned int i = 0; i < n_writes; i++) {
		assert(writes[i].n_sge >= 1 && writes[i].n_sge <= 2);
		for (unsigned int j = 0; j < writes[i].n_sge; j++)
			assert(writes[i].sge[j].length <= MEM);
	}
	qp->slot[qp->n_slots++] = slot;
	if (m.type == LX_O2IB_PUT_REQ || m.type == LX_O2IB_GET_REQ)
		last_cookie = m.cookie;
	if (m.type == LX_O2IB_PUT_ACK)
		last_cookie = m.dst_cookie;
	return 0;
}

static int hw_reg(struct lx_o2ib_net *n, void *addr, size_t len, bool remote,
		  struct lx_o2ib_mr *ret_mr)
{
	if (byte() == 0xee)
		return -ENOMEM;
	return hand_reg(n, addr, len, remote, ret_mr);
}

/* ---- what happens ------------------------------------------------------------------------ */

static struct lx_o2ib_msg peer_msg(uint8_t type)
{
	struct lx_o2ib_msg m = hand_msg(type);

	m.version = byte() == 0x11 ? LX_O2IB_V1 : LX_O2IB_V2;
	return m;
}

/* Answers our request, with private data from the input. */
static void handshake(struct qp *qp)
{
	struct lx_o2ib_msg m = peer_msg(LX_O2IB_CONNACK);
	struct lx_o2ib_rej rej = { .version = LX_O2IB_V2,
				   .why = byte() & 15,
				   .incarnation = byte() };
	uint8_t buf[LX_O2IB_CONN_BYTES];

	m.params = (struct lx_o2ib_params){ 1 + byte() % 9, 257 - byte(), 4096 };
	m.nob = LX_O2IB_CONN_BYTES;
	switch (byte() & 3) {
	case 0:
		rej.params = m.params;
		lx_o2ib_peer_rejected(qp->conn, byte() & 3, buf,
				      lx_o2ib_proto_rej_encode(&rej, buf));
		break;
	case 1:
		lx_o2ib_peer_failed(qp->conn, -ETIMEDOUT);
		break;
	default:
		lx_o2ib_proto_encode(&m, buf, false);
		lx_o2ib_peer_established(qp->conn, buf, sizeof(buf));
	}
}

static void connect_request(void)
{
	struct lx_o2ib_msg m = peer_msg(byte() == 1 ? LX_O2IB_NOOP : LX_O2IB_CONNREQ);
	uint8_t buf[LX_O2IB_CONN_BYTES] = { 0 };

	m.params = (struct lx_o2ib_params){ byte() % 10, 257 - byte(), 4096 };
	m.nob = lx_o2ib_proto_nob(m.type, 0);
	m.src_incarnation += byte() == 7;
	m.dst_incarnation = byte() & 1 ? hand.net->incarnation : 0;
	m.dst_nid += byte() == 9;
	lx_o2ib_proto_encode(&m, buf, false);
	lx_o2ib_peer_request(&hand.nets, NULL, buf, byte() == 3 ? byte() % 57 : sizeof(buf), 1023);
}

/* A message from the peer: mostly well-formed, sensible or not. */
static void arrive(struct qp *qp)
{
	struct lx_o2ib_msg m = peer_msg(LX_O2IB_NOOP + byte() % 8);
	unsigned int n = byte(), rx;
	uint8_t *buf;

	if (!qp->n_rxs)
		return;
	rx = qp->rx[0];
	memmove(qp->rx, qp->rx + 1, --qp->n_rxs * sizeof(qp->rx[0]));
	buf = lx_o2ib_conn_rx_buf(qp->conn, rx);
	m.version = qp->conn->version;
	m.credits = byte() & 3;
	m.cookie = byte() & 7 ? last_cookie : byte();
	m.dst_cookie = byte();
	m.status = (int8_t)byte() * 100;
	m.hdr.type = byte() % 5;
	m.hdr.payload_length = byte() & 3 ? n : u16();
	m.desc = (struct lx_o2ib_desc){ byte(), 1 + byte() % 5, NULL };
	for (unsigned int i = 0; i < m.desc.n_frags; i++)
		lx_o2ib_proto_frag_put(buf + (m.type == LX_O2IB_PUT_ACK ? 72 : 136), i, u16(),
				       u16());
	m.desc.frags = buf + (m.type == LX_O2IB_PUT_ACK ? 72 : 136);
	m.nob = lx_o2ib_proto_nob(m.type, m.type == LX_O2IB_IMMEDIATE ? n : m.desc.n_frags);
	m.src_incarnation += byte() == 0xfe;
	lx_o2ib_proto_encode(&m, buf, false);
	if (byte() == 0xfd)
		buf[byte()] = byte();
	lx_o2ib_rx_received(qp->conn, rx, m.nob, byte() != 0xfc);
}

static void completion(struct qp *qp)
{
	unsigned int i, slot;

	if (!qp->n_slots)
		return;
	i = byte() % qp->n_slots;
	slot = qp->slot[i];
	memmove(qp->slot + i, qp->slot + i + 1, (--qp->n_slots - i) * sizeof(qp->slot[0]));
	lx_o2ib_conn_sent(qp->conn, slot, byte() != 0xfb);
}

static void send_one(void)
{
	struct lx_msg *msg = msg_new();

	if (!msg)
		return;
	msg->hdr.type = byte() & 3;
	msg->hdr.src_nid = hand.ni.nid;
	lx_nid_from_u64(HAND_PEER, &msg->hdr.dst_nid);
	msg->target.nid = msg->hdr.dst_nid;
	if (msg->hdr.type == LX_MSG_PUT || msg->hdr.type == LX_MSG_REPLY)
		msg->payload = memory(u16());
	if (msg->hdr.type == LX_MSG_GET)
		msg->sink = memory(u16());
	msg->hdr.payload_length = msg->payload.length;
	if (lx_o2ib_lnd.send(&hand.ni, msg)) {
		assert(lx_container_of(msg, struct out, msg)->open);
		lx_container_of(msg, struct out, msg)->open = false;
	}
}

static void step(void)
{
	uint8_t op = byte();
	struct qp *qp = &qps[byte() & 7];

	direct = op & 0x80;
	if ((op & 15) < 8 && !qp->conn)
		qp = &qps[0];
	if ((op & 15) < 8 && !qp->conn)
		return;
	switch (op & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
		arrive(qp);
		break;
	case 4:
	case 5:
		completion(qp);
		break;
	case 6:
		handshake(qp);
		break;
	case 7:
		lx_o2ib_peer_failed(qp->conn, 0);
		break;
	case 8:
		connect_request();
		break;
	case 9:
		hand.now_ns += (uint64_t)byte() * LX_S_NS;
		lx_o2ib_tick(hand.net);
		break;
	case 10:
	case 11:
		if (n_awaiting)
			go_on(byte() % n_awaiting);
		break;
	default:
		send_one();
	}
}

static void begin(void)
{
	memset(qps, 0, sizeof(qps));
	memset(outs, 0, sizeof(outs));
	n_awaiting = 0;
	last_cookie = 1;
	hand_core = (struct hand_core){ core_finalize, core_parse, msg_new, core_reply_length };
	hand_hw.dial = hw_dial;
	hand_hw.accept = hw_accept;
	hand_hw.close = hw_close;
	hand_hw.free = hw_free;
	hand_hw.post_recv = hw_post_recv;
	hand_hw.post_send = hw_post_send;
	hand_hw.reg = hw_reg;
	hand_begin(LX_UNSET);
}

static void end(void)
{
	left = 0;
	hand_shutdown();
	while (n_awaiting)
		go_on(n_awaiting - 1);
	assert(hand.stopped);
	assert(!hand.live_mrs);
	for (unsigned int i = 0; i < MSGS; i++)
		assert(!outs[i].open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = data;
	left = size;
	begin();
	while (left)
		step();
	end();
	return 0;
}
