/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The life of a transmission (lnd/o2ib/tx.c) in every order of events: completions that succeed
 * or fail, the peer's answers, a disconnect, a timeout. Tries all sequences, each on a fresh
 * connection; the message must end exactly when the rules say so (o2iblnd.md 9), once, with the
 * right result, and in the end no memory may be registered.
 *
 * This file plays both core and hardware.
 */
#include "testlib.h"

#include <errno.h>

#include "fakeo2ib.h"

#define BIG 10000
#define SLOTS 4

/* ---- what the transport is told and tells ------------------------------------------ */

static struct lx_msg msg, reply;
static unsigned int msg_ended, reply_ended;
static int msg_status, reply_status;
static size_t reply_length;
static void *parsed_rx;

static void core_finalize(struct lx_msg *m, int status)
{
	if (m == &msg) {
		msg_ended++;
		msg_status = status;
	} else {
		assert_ptr_equal(m, &reply);
		reply_ended++;
		reply_status = status;
	}
}

static int core_parse(const struct lx_hdr *hdr, void *rx, struct lx_msg **ret_msg)
{
	parsed_rx = rx;
	return LX_RX_LATER;
}

static struct lx_msg *core_reply_msg(void)
{
	return &reply;
}

static void core_reply_length(size_t length)
{
	reply_length = length;
}

/* ---- hardware by hand -------------------------------------------------------------- */

static struct lx_o2ib_conn *conn;
static struct {
	bool open; /* posted, not completed */
	uint8_t type;
} posted[SLOTS];
static unsigned int n_posted, next_rx;
static uint64_t their_cookie_for_us; /* the cookie we sent in our last request or PUT_ACK */

static int hw_dial(struct lx_o2ib_conn *c, const void *pdata, size_t len)
{
	conn = c;
	return 0;
}

static void hw_close(struct lx_o2ib_conn *c)
{
	conn = NULL;
}

static int hw_post_send(struct lx_o2ib_conn *c, unsigned int slot, size_t nob,
			const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	struct lx_o2ib_msg m;

	assert_int_equal(lx_o2ib_proto_decode(lx_o2ib_conn_slot_buf(c, slot), nob, &m), 0);
	assert_true(slot < c->n_slots);
	if (m.type == LX_O2IB_PUT_REQ || m.type == LX_O2IB_GET_REQ)
		their_cookie_for_us = m.cookie;
	if (m.type == LX_O2IB_PUT_ACK)
		their_cookie_for_us = m.dst_cookie;
	/* Slot numbers have no meaning here: posts are counted instead. */
	assert_true(n_posted < SLOTS);
	posted[n_posted].open = true;
	posted[n_posted++].type = slot;
	return 0;
}

/* ---- the peer ---------------------------------------------------------------------- */

static void receive(struct lx_o2ib_msg m, unsigned int n)
{
	hand_receive(conn, next_rx++ % conn->n_rxs, &m, n);
}

static void answer(uint8_t type, int32_t status, uint64_t cookie)
{
	uint8_t frag[12];
	struct lx_o2ib_msg m = hand_msg(type);

	m.cookie = cookie;
	m.status = status;
	if (type == LX_O2IB_PUT_ACK) {
		lx_o2ib_proto_frag_put(frag, 0, BIG, 0x1000);
		m.desc = (struct lx_o2ib_desc){ 7, 1, frag };
		m.dst_cookie = HAND_PEER_COOKIE;
	}
	receive(m, 1);
}

static void request(uint8_t type)
{
	uint8_t frag[12];
	struct lx_o2ib_msg m = hand_msg(type);

	m.cookie = HAND_PEER_COOKIE;
	m.hdr.type = type == LX_O2IB_PUT_REQ ? LX_MSG_PUT : LX_MSG_GET;
	lx_nid_from_u64(HAND_PEER, &m.hdr.src_nid);
	m.hdr.dst_nid = hand.ni.nid;
	lx_o2ib_proto_frag_put(frag, 0, BIG, 0x1000);
	m.desc = (struct lx_o2ib_desc){ 7, 1, frag };
	receive(m, 1);
}

/* ---- scenes: what is transmitted --------------------------------------------------- */

enum scene { IMMEDIATE, PUT, PUT_TARGET, GET, GET_TARGET, SCENES };

static char data[BIG];
static struct iovec iov = { data, BIG };

static void send_msg(uint32_t type, size_t len, size_t sink)
{
	msg.hdr.type = type;
	msg.hdr.src_nid = hand.ni.nid;
	lx_nid_from_u64(HAND_PEER, &msg.hdr.dst_nid);
	msg.target.nid = msg.hdr.dst_nid;
	msg.payload = (struct lx_payload){ .iov = &iov, .n_iov = 1, .length = len };
	msg.sink = (struct lx_payload){ .iov = &iov, .n_iov = 1, .length = sink };
	assert_int_equal(lx_o2ib_lnd.send(&hand.ni, &msg), 0);
}

static void begin(enum scene scene)
{
	memset(&msg, 0, sizeof(msg));
	memset(&reply, 0, sizeof(reply));
	memset(posted, 0, sizeof(posted));
	msg_ended = reply_ended = n_posted = next_rx = 0;
	msg_status = reply_status = 1;
	reply_length = 0;
	hand_begin(LX_UNSET);
	/* A connection needs a message to be sent: the one under test, or an unrelated one. */
	if (scene == IMMEDIATE || scene == PUT || scene == GET) {
		send_msg(scene == GET ? LX_MSG_GET : LX_MSG_PUT,
			 scene == PUT ? BIG : 0, scene == GET ? BIG : 0);
		hand_connack(conn);
		return;
	}
	send_msg(LX_MSG_PUT, 0, 0);
	hand_connack(conn);
	lx_o2ib_conn_sent(conn, posted[0].type, true);
	assert_int_equal(msg_ended, 1);
	msg_ended = n_posted = 0;
	request(scene == PUT_TARGET ? LX_O2IB_PUT_REQ : LX_O2IB_GET_REQ);
	msg.payload = (struct lx_payload){ .iov = &iov, .n_iov = 1, .length = BIG };
	lx_o2ib_lnd.recv(&hand.ni, parsed_rx, &msg);
}

/* ---- events ------------------------------------------------------------------------ */

/* Events so far, as far as the rules need them. */
struct past {
	bool completed[SLOTS];
	bool answered, refused, failed_answer, closed;
};

enum event {
	COMPLETE_0, COMPLETE_1, FAIL_0, FAIL_1, ANSWER, ANSWER_NO, ANSWER_ERROR, ANSWER_WRONG,
	GOODBYE, LATE, EVENTS
};

static uint8_t good_answer(enum scene scene)
{
	return scene == PUT ? LX_O2IB_PUT_ACK : scene == GET ? LX_O2IB_GET_DONE : LX_O2IB_PUT_DONE;
}

static bool possible(enum scene scene, const struct past *p, enum event event)
{
	bool asks = scene == PUT || scene == GET || scene == PUT_TARGET;

	if (p->closed || !conn)
		return false;
	switch (event) {
	case COMPLETE_0:
	case FAIL_0:
		return posted[0].open;
	case COMPLETE_1:
	case FAIL_1:
		return posted[1].open;
	case ANSWER:
	case ANSWER_ERROR:
	case ANSWER_WRONG:
		return asks && n_posted && !p->answered;
	case ANSWER_NO:
		return scene == PUT && !p->answered;
	case GOODBYE:
	case LATE:
		return !msg_ended;
	default:
		return false;
	}
}

static void complete(struct past *p, unsigned int i, bool ok)
{
	posted[i].open = false;
	p->completed[i] = ok;
	p->closed = !ok;
	lx_o2ib_conn_sent(conn, posted[i].type, ok);
}

static void happen(enum scene scene, struct past *p, enum event event)
{
	switch (event) {
	case COMPLETE_0:
	case COMPLETE_1:
		complete(p, event - COMPLETE_0, true);
		break;
	case FAIL_0:
	case FAIL_1:
		complete(p, event - FAIL_0, false);
		break;
	case ANSWER:
		p->answered = true;
		answer(good_answer(scene), scene == GET ? BIG - 1 : 0, their_cookie_for_us);
		break;
	case ANSWER_NO: /* the target accepts 0 bytes */
		p->answered = p->refused = true;
		answer(LX_O2IB_PUT_NAK, 0, their_cookie_for_us);
		break;
	case ANSWER_ERROR:
		p->answered = p->refused = p->failed_answer = true;
		answer(scene == PUT ? LX_O2IB_PUT_NAK : good_answer(scene), -ENODATA,
		       their_cookie_for_us);
		break;
	case ANSWER_WRONG:
		p->closed = true;
		answer(good_answer(scene), 0, 123456789);
		break;
	case GOODBYE:
		p->closed = true;
		lx_o2ib_peer_failed(conn, 0);
		break;
	case LATE:
		p->closed = true;
		hand.now_ns += 100 * LX_S_NS;
		lx_o2ib_tick(hand.net);
		if (!p->failed_answer)
			assert_int_equal(msg.hstatus, posted[0].open || posted[1].open ?
							      LX_HSTATUS_NETWORK_TIMEOUT :
							      LX_HSTATUS_REMOTE_TIMEOUT);
		break;
	default:
		fail();
	}
}

/* Whether the message must have ended by now. */
static bool due(enum scene scene, const struct past *p)
{
	if (p->closed)
		return true;
	switch (scene) {
	case PUT:
		return p->answered && p->completed[0] && (p->refused || p->completed[1]);
	case GET:
	case PUT_TARGET:
		return p->answered && p->completed[0];
	default:
		return p->completed[0];
	}
}

static void expect(enum scene scene, const struct past *p, bool was_due)
{
	bool now_due = due(scene, p) || was_due;

	assert_int_equal(msg_ended, now_due);
	assert_int_equal(reply_ended, scene == GET && now_due);
	if (!now_due)
		return;
	assert_int_equal(hand.live_mrs, 0);
	if (was_due)
		return; /* the result is final */
	if (p->closed && scene == GET && p->failed_answer) {
		/* The request itself succeeded, whatever happened to the connection. */
		assert_int_equal(reply_status, -ENODATA);
	} else if (p->closed) {
		assert_true(msg_status < 0 && (scene != GET || reply_status < 0));
	} else if (p->failed_answer) {
		assert_int_equal(scene == GET ? reply_status : msg_status, -ENODATA);
	} else {
		assert_int_equal(msg_status, 0);
		if (scene == GET) {
			assert_int_equal(reply_status, 0);
			assert_int_equal(reply_length, BIG - 1);
		}
	}
}

static void end_scene(void)
{
	hand_shutdown();
	assert_true(hand.stopped);
	assert_int_equal(hand.live_mrs, 0);
	assert_true(msg_ended == 1);
}

/* ---- the walk ---------------------------------------------------------------------- */

#define DEPTH 12

/*
 * Runs one sequence: @given choices, then always the first possible event. Sets @choice to the
 * choices made and @of to how many there were; returns the sequence's length.
 */
static unsigned int walk(enum scene scene, unsigned int *choice, unsigned int *of,
			 unsigned int given)
{
	struct past p = { 0 };
	unsigned int n = 0;

	begin(scene);
	for (;; n++) {
		enum event can[EVENTS];
		unsigned int n_can = 0;
		bool was_due = due(scene, &p);

		for (unsigned int e = 0; e < EVENTS; e++) {
			if (possible(scene, &p, e))
				can[n_can++] = e;
		}
		if (!n_can)
			break;
		assert_true(n < DEPTH);
		if (n >= given)
			choice[n] = 0;
		of[n] = n_can;
		happen(scene, &p, can[choice[n]]);
		expect(scene, &p, was_due);
	}
	end_scene();
	return n;
}

static void every_order(void **state)
{
	static const char *const names[] = { "IMMEDIATE", "PUT", "PUT target", "GET", "GET target" };

	for (unsigned int scene = 0; scene < SCENES; scene++) {
		unsigned int choice[DEPTH] = { 0 }, of[DEPTH], given = 0, n, walks = 0;

		do {
			n = walk(scene, choice, of, given);
			walks++;
			while (n && choice[n - 1] + 1 == of[n - 1])
				n--;
			given = n;
			if (n)
				choice[n - 1]++;
		} while (n);
		printf("             %s: %u sequences\n", names[scene], walks);
		assert_true(walks >= 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_order) };

	hand_core = (struct hand_core){ core_finalize, core_parse, core_reply_msg, core_reply_length };
	hand_hw.dial = hw_dial;
	hand_hw.close = hw_close;
	hand_hw.post_send = hw_post_send;
	return cmocka_run_group_tests_name("o2ib_tx", tests, NULL, NULL);
}
