/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd against a scripted peer: reactions to each reject and CONNACK (o2iblnd.md 4 to 6),
 * protocol errors on a connection, the credits of both versions (7), whose fault a timeout is
 * (13), and conflicting tunables (14).
 */
#include "testlib.h"

#include <errno.h>

#include "fakeo2ib.h"

#define MSGS 64
#define POSTED 256

/* ---- above and below ------------------------------------------------------------------ */

static struct lx_msg msgs[MSGS];
static unsigned int n_msgs, n_ended;
static int last_status;
static enum lx_hstatus last_hstatus;
static char data[10000];
static struct iovec iov = { data, sizeof(data) };
static void *parsed_rx;

static struct lx_o2ib_conn *conn; /* the one dialled or accepted last, if open */
static unsigned int n_dials, n_closed, next_rx;
static struct lx_o2ib_msg dialled; /* the CONNREQ we dialled it with */
static int rejected; /* why we rejected the last request; 0: accepted */
static struct {
	uint8_t type, credits;
	unsigned int slot;
	uint64_t cookie;
} posted[POSTED];
static unsigned int n_posted;

static void core_finalize(struct lx_msg *msg, int status)
{
	n_ended++;
	last_status = status;
	last_hstatus = msg->hstatus;
}

static int core_parse(const struct lx_hdr *hdr, void *rx, struct lx_msg **ret_msg)
{
	parsed_rx = rx;
	return LX_RX_LATER;
}

static struct lx_msg *core_reply_msg(void)
{
	assert_true(n_msgs < MSGS);
	return &msgs[n_msgs++];
}

static void core_reply_length(size_t length)
{
}

static int hw_dial(struct lx_o2ib_conn *c, const void *pdata, size_t len)
{
	assert_int_equal(lx_o2ib_proto_decode(pdata, len, &dialled), 0);
	conn = c;
	n_dials++;
	return 0;
}

static int hw_accept(struct lx_o2ib_conn *c, void *request, const void *pdata, size_t len)
{
	conn = c;
	return 0;
}

static void hw_reject(struct lx_o2ib_net *net, void *request, const void *pdata, size_t len)
{
	struct lx_o2ib_rej rej;

	assert_int_equal(lx_o2ib_proto_rej_decode(pdata, len, &rej), 0);
	rejected = rej.why;
}

static void hw_close(struct lx_o2ib_conn *c)
{
	n_closed++;
	if (c == conn)
		conn = NULL;
}

static int hw_post_send(struct lx_o2ib_conn *c, unsigned int slot, size_t nob,
			const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	struct lx_o2ib_msg m;

	assert_int_equal(lx_o2ib_proto_decode(lx_o2ib_conn_slot_buf(c, slot), nob, &m), 0);
	assert_int_equal(m.version, c->version);
	assert_true(n_posted < POSTED);
	posted[n_posted].type = m.type;
	posted[n_posted].credits = m.credits;
	posted[n_posted].cookie = m.cookie;
	posted[n_posted++].slot = slot;
	return 0;
}

static void begin(int credits)
{
	n_msgs = n_ended = n_dials = n_closed = n_posted = next_rx = 0;
	conn = NULL;
	hand_begin(credits);
}

static int setup(void **state)
{
	begin(LX_UNSET);
	return 0;
}

static int teardown(void **state)
{
	hand_shutdown();
	assert_true(hand.stopped);
	assert_int_equal(hand.live_mrs, 0);
	assert_int_equal(n_ended, n_msgs);
	return 0;
}

/* A PUT of @len bytes. */
static void put_to(uint64_t nid, size_t len)
{
	struct lx_msg *msg = &msgs[n_msgs++];

	assert_true(n_msgs <= MSGS);
	memset(msg, 0, sizeof(*msg));
	msg->hdr.type = LX_MSG_PUT;
	msg->hdr.payload_length = len;
	msg->hdr.src_nid = hand.ni.nid;
	lx_nid_from_u64(nid, &msg->hdr.dst_nid);
	msg->target.nid = msg->hdr.dst_nid;
	msg->payload = (struct lx_payload){ .iov = &iov, .n_iov = 1, .length = len };
	assert_int_equal(lx_o2ib_lnd.send(&hand.ni, msg), 0);
}

static void put(size_t len)
{
	put_to(HAND_PEER, len);
}

static void receive(struct lx_o2ib_msg m, unsigned int n)
{
	m.version = conn->version;
	hand_receive(conn, next_rx++ % conn->n_rxs, &m, n);
}

static void credits_back(unsigned int n)
{
	struct lx_o2ib_msg m = hand_msg(LX_O2IB_NOOP);

	m.credits = n;
	receive(m, 0);
}

/* The peer sends a PUT without payload, and our core finishes with it. */
static void receive_put(void)
{
	struct lx_o2ib_msg m = hand_msg(LX_O2IB_IMMEDIATE);

	m.hdr.type = LX_MSG_PUT;
	lx_nid_from_u64(HAND_PEER, &m.hdr.src_nid);
	m.hdr.dst_nid = hand.ni.nid;
	receive(m, 0);
	lx_o2ib_lnd.recv(&hand.ni, parsed_rx, NULL);
}

static void complete_all(void)
{
	for (unsigned int i = 0; i < n_posted && conn; i++)
		lx_o2ib_conn_sent(conn, posted[i].slot, true);
	n_posted = 0;
}

static void tick_after(uint64_t ns)
{
	hand.now_ns += ns;
	lx_o2ib_tick(hand.net);
}

/* ---- rejects ----------------------------------------------------------------------------- */

static void say_no(enum lx_o2ib_cm_reject why, const struct lx_o2ib_rej *rej)
{
	uint8_t buf[148] = { 0 }; /* the CM pads */

	lx_o2ib_proto_rej_encode(rej, buf);
	lx_o2ib_peer_rejected(conn, why, buf, sizeof(buf));
}

#define FAILS(e, h) .error = e, .hstatus = LX_HSTATUS_##h
#define REFUSED FAILS(-ECONNREFUSED, REMOTE_DROPPED)

/* error 0: retried at once; the fields are what differs from { V2, 8, 257, 0 }. */
static const struct reaction {
	const char *what;
	enum lx_o2ib_cm_reject cm;
	struct lx_o2ib_rej rej;
	uint16_t version, depth, frags;
	uint64_t incarnation;
	int error;
	enum lx_hstatus hstatus;
} reactions[] = {
	{ "race", .rej = { .why = LX_O2IB_REJ_RACE } },
	{ "resources", .rej = { .why = LX_O2IB_REJ_RESOURCES }, REFUSED },
	{ "fatal", .rej = { .why = LX_O2IB_REJ_FATAL }, REFUSED },
	{ "fatal, says V1", .rej = { .why = LX_O2IB_REJ_FATAL, .version = LX_O2IB_V1 },
	  .version = LX_O2IB_V1 },
	{ "another version", .rej = { .why = LX_O2IB_REJ_UNCOMPAT, .version = LX_O2IB_V1 },
	  .version = LX_O2IB_V1 },
	{ "another version, which is ours", .rej = { .why = LX_O2IB_REJ_UNCOMPAT }, REFUSED },
	{ "a version nobody has", .rej = { .why = LX_O2IB_REJ_UNCOMPAT, .version = 0x13 },
	  REFUSED },
	{ "stale", .rej = { .why = LX_O2IB_REJ_STALE, .incarnation = 77 }, .incarnation = 77 },
	{ "stale, other byte order",
	  .rej = { .why = LX_O2IB_REJ_STALE, .incarnation = 77, .flip = true }, .incarnation = 77 },
	{ "depth",
	  .rej = { .why = LX_O2IB_REJ_DEPTH, .incarnation = 77, .params = { 4, 257, 4096 } },
	  .depth = 4, .incarnation = 77 },
	{ "depth we offered", .rej = { .why = LX_O2IB_REJ_DEPTH, .params = { 8, 257, 4096 } },
	  REFUSED },
	{ "depth 0", .rej = { .why = LX_O2IB_REJ_DEPTH, .params = { 0, 257, 4096 } }, REFUSED },
	{ "fragments",
	  .rej = { .why = LX_O2IB_REJ_FRAGS, .incarnation = 77, .params = { 8, 16, 4096 } },
	  .frags = 16, .incarnation = 77 },
	{ "fragments we offered", .rej = { .why = LX_O2IB_REJ_FRAGS, .params = { 8, 257, 4096 } },
	  REFUSED },
	{ "no service", .rej = { .why = LX_O2IB_REJ_SERVICE }, REFUSED },
	{ "early", .rej = { .why = LX_O2IB_REJ_EARLY }, REFUSED },
	{ "unknown", .rej = { .why = 14 }, REFUSED },
	{ "the CM: stale", .cm = LX_O2IB_CM_STALE },
	{ "the CM: no listener", .cm = LX_O2IB_CM_NO_LISTENER,
	  FAILS(-EHOSTUNREACH, NETWORK_TIMEOUT) },
	{ "the CM: whatever", .cm = LX_O2IB_CM_OTHER, REFUSED },
};

static void react(const struct reaction *r)
{
	struct lx_o2ib_rej rej = r->rej;

	if (!rej.version)
		rej.version = LX_O2IB_V2;
	put(100);
	assert_int_equal(n_dials, 1);
	say_no(r->cm, &rej);
	if (r->error) {
		assert_int_equal(n_dials, 1);
		assert_int_equal(n_ended, 1);
		assert_int_equal(last_status, r->error);
		assert_int_equal(last_hstatus, r->hstatus);
		/* It forgets the peer's limits, and the next message starts over. */
		put(100);
		assert_int_equal(n_dials, 2);
		assert_int_equal(dialled.version, LX_O2IB_V2);
		return;
	}
	assert_int_equal(n_dials, 2);
	assert_int_equal(n_ended, 0);
	assert_int_equal(dialled.version, r->version ? r->version : LX_O2IB_V2);
	assert_int_equal(dialled.params.queue_depth, r->depth ? r->depth : 8);
	assert_int_equal(dialled.params.max_frags, r->frags ? r->frags : 257);
	assert_true(dialled.dst_incarnation == r->incarnation);
	hand_connack(conn);
	assert_int_equal(n_posted, 1);
	complete_all();
	assert_int_equal(n_ended, 1);
	assert_int_equal(last_status, 0);
}

static void rejects(void **state)
{
	for (unsigned int i = 0; i < N_OF(reactions); i++) {
		print_message("             %s\n", reactions[i].what);
		setup(NULL);
		react(&reactions[i]);
		teardown(NULL);
	}
}

static void rejects_that_are_none(void **state)
{
	put(100);
	lx_o2ib_peer_rejected(conn, LX_O2IB_CM_CONSUMER, "what is this, then?.....", 24);
	assert_int_equal(last_status, -ECONNREFUSED);
	put(100);
	lx_o2ib_peer_rejected(conn, LX_O2IB_CM_CONSUMER, NULL, 0);
	assert_int_equal(n_ended, 2);
	assert_int_equal(n_dials, 2);
}

/* Ten retries at once, then one per second, until the message times out. */
static void rejected_for_ever(void **state)
{
	const struct lx_o2ib_rej race = { .version = LX_O2IB_V2, .why = LX_O2IB_REJ_RACE };
	unsigned int dials;

	put(100);
	while (conn) {
		assert_true(n_dials <= 11);
		say_no(LX_O2IB_CM_CONSUMER, &race);
	}
	assert_int_equal(n_dials, 11);
	for (unsigned int i = 0; i < 3; i++) {
		dials = n_dials;
		tick_after(LX_S_NS / 2);
		assert_int_equal(n_dials, dials);
		tick_after(LX_S_NS / 2);
		assert_int_equal(n_dials, dials + 1);
		say_no(LX_O2IB_CM_CONSUMER, &race);
	}
	tick_after(50 * LX_S_NS);
	assert_int_equal(n_ended, 1);
	assert_int_equal(last_status, -ETIMEDOUT);
}

/* ---- the CONNACK --------------------------------------------------------------------------- */

static void nothing_wrong(struct lx_o2ib_msg *m)
{
}

static void less(struct lx_o2ib_msg *m)
{
	m->params = (struct lx_o2ib_params){ 1, 1, 256 };
}

static void wrong_type(struct lx_o2ib_msg *m)
{
	m->type = LX_O2IB_CONNREQ;
}

static void wrong_version(struct lx_o2ib_msg *m)
{
	m->version = LX_O2IB_V1;
}

static void no_depth(struct lx_o2ib_msg *m)
{
	m->params.queue_depth = 0;
}

static void deeper(struct lx_o2ib_msg *m)
{
	m->params.queue_depth = 9;
}

static void no_frags(struct lx_o2ib_msg *m)
{
	m->params.max_frags = 0;
}

static void more_frags(struct lx_o2ib_msg *m)
{
	m->params.max_frags = 258;
}

static void larger(struct lx_o2ib_msg *m)
{
	m->params.max_msg_size = 4097;
}

static void wrong_destination(struct lx_o2ib_msg *m)
{
	m->dst_nid++;
}

static void former_life(struct lx_o2ib_msg *m)
{
	m->dst_incarnation--;
}

static void wrong_source(struct lx_o2ib_msg *m)
{
	m->src_nid++;
}

static void connacks(void **state)
{
	static const struct {
		void (*spoil)(struct lx_o2ib_msg *m);
		int error;
	} cases[] = {
		{ nothing_wrong, 0 },	   { less, 0 },		 { wrong_type, -EPROTO },
		{ wrong_version, -EPROTO }, { no_depth, -EPROTO },	 { deeper, -EPROTO },
		{ no_frags, -EPROTO },	   { more_frags, -EPROTO }, { larger, -EPROTO },
		{ wrong_destination, -ESTALE }, { former_life, -ESTALE }, { wrong_source, -ESTALE },
	};
	uint8_t buf[LX_O2IB_CONN_BYTES];

	for (unsigned int i = 0; i < N_OF(cases); i++) {
		struct lx_o2ib_msg m;

		print_message("             case %u\n", i);
		setup(NULL);
		put(100);
		m = hand_msg(LX_O2IB_CONNACK);
		m.nob = sizeof(buf);
		m.params = (struct lx_o2ib_params){ 8, 257, 4096 };
		cases[i].spoil(&m);
		lx_o2ib_proto_encode(&m, buf, false);
		lx_o2ib_peer_established(conn, buf, sizeof(buf));
		assert_int_equal(n_posted, !cases[i].error);
		assert_int_equal(n_ended, !!cases[i].error);
		if (cases[i].error)
			assert_int_equal(last_status, cases[i].error);
		else
			assert_int_equal(conn->depth, m.params.queue_depth);
		teardown(NULL);
	}
	/* No data at all. */
	setup(NULL);
	put(100);
	lx_o2ib_peer_established(conn, NULL, 0);
	assert_int_equal(last_status, -EPROTO);
	teardown(NULL);
}

/* ---- both at once ------------------------------------------------------------------------ */

static int request_from(uint64_t nid, uint64_t incarnation)
{
	struct lx_o2ib_msg m = hand_msg(LX_O2IB_CONNREQ);
	uint8_t buf[LX_O2IB_CONN_BYTES];

	m.src_nid = nid;
	m.src_incarnation = incarnation;
	m.dst_incarnation = 0;
	m.nob = sizeof(buf);
	m.params = (struct lx_o2ib_params){ 8, 257, 4096 };
	lx_o2ib_proto_encode(&m, buf, false);
	rejected = 0;
	lx_o2ib_peer_request(&hand.nets, NULL, buf, sizeof(buf), 1023);
	return rejected;
}

/* 10.0.0.2 sorts above us: its request wins, and carries what waits. */
static void race_lost(void **state)
{
	struct lx_o2ib_conn *ours, *theirs;

	put(100);
	ours = conn;
	assert_int_equal(request_from(HAND_PEER, HAND_PEER_INCARNATION), 0);
	theirs = conn;
	assert_ptr_not_equal(ours, theirs);
	/* It rejects ours: no reason to retry. */
	conn = ours;
	say_no(LX_O2IB_CM_CONSUMER,
	       &(struct lx_o2ib_rej){ .version = LX_O2IB_V2, .why = LX_O2IB_REJ_RACE });
	assert_int_equal(n_dials, 1);
	assert_int_equal(n_ended, 0);
	conn = theirs;
	lx_o2ib_peer_established(theirs, NULL, 0);
	assert_int_equal(n_posted, 1);
	complete_all();
	assert_int_equal(n_ended, 1);
	assert_int_equal(last_status, 0);
}

/* 10.0.0.0 sorts below us: rejected while we dial; but not forever. */
static void race_won(void **state)
{
	const uint64_t lower = HAND_PEER - 2;
	unsigned int n = 0;

	put_to(lower, 100);
	assert_int_equal(n_dials, 1);
	while (request_from(lower, HAND_PEER_INCARNATION) == LX_O2IB_REJ_RACE)
		n++;
	assert_int_equal(n, 20);
	assert_int_equal(rejected, 0);
}

/* ---- faults ------------------------------------------------------------------------------ */

static void connect_up(size_t len)
{
	put(len);
	hand_connack(conn);
}

static void wrong_incarnation(struct lx_o2ib_msg *m)
{
	m->src_incarnation++;
}

static void too_many_credits(struct lx_o2ib_msg *m)
{
	m->credits = 2; /* one is in use */
}

static void connreq(struct lx_o2ib_msg *m)
{
	m->type = LX_O2IB_CONNREQ;
}

static void answer_to_nothing(struct lx_o2ib_msg *m)
{
	m->type = LX_O2IB_PUT_NAK;
	m->cookie = 123456;
}

static void done_of_nothing(struct lx_o2ib_msg *m)
{
	m->type = LX_O2IB_PUT_DONE;
}

static void get_as_putreq(struct lx_o2ib_msg *m)
{
	m->type = LX_O2IB_PUT_REQ;
	m->hdr.type = LX_MSG_GET;
}

static void payload_that_is_not_there(struct lx_o2ib_msg *m)
{
	m->type = LX_O2IB_IMMEDIATE;
	m->hdr.type = LX_MSG_PUT;
	m->hdr.payload_length = 1;
}

static void faults(void **state)
{
	static void (*const spoil[])(struct lx_o2ib_msg *m) = {
		nothing_wrong, wrong_version, wrong_destination, former_life, wrong_source,
		wrong_incarnation, too_many_credits, connreq, wrong_type, answer_to_nothing,
		done_of_nothing, get_as_putreq, payload_that_is_not_there,
	};

	for (unsigned int i = 0; i < N_OF(spoil); i++) {
		struct lx_o2ib_msg m;

		print_message("             case %u\n", i);
		setup(NULL);
		connect_up(100);
		complete_all();
		m = hand_msg(LX_O2IB_NOOP);
		spoil[i](&m);
		hand_receive(conn, 0, &m, 0);
		assert_int_equal(n_closed, i > 0);
		/* The next message gets a new connection. */
		put(100);
		assert_int_equal(n_dials, 1 + (i > 0));
		teardown(NULL);
	}
}

/* Only a peer whose connection failed is lost, not one that was disconnected by it or by us. */
static void lost(void **state)
{
	connect_up(100);
	complete_all();
	lx_o2ib_peer_failed(conn, 0);
	assert_int_equal(n_closed, 1);
	assert_int_equal(hand.n_lost, 0);
	connect_up(100);
	complete_all();
	assert_int_equal(lx_o2ib_lnd.disconnect(&hand.ni, NULL), 1);
	assert_int_equal(hand.n_lost, 0);
	connect_up(100);
	lx_o2ib_conn_sent(conn, posted[0].slot, false);
	assert_int_equal(hand.n_lost, 1);
	put(100);
	lx_o2ib_peer_failed(conn, -EHOSTUNREACH);
	assert_int_equal(hand.n_lost, 2);
}

/* ---- credits ----------------------------------------------------------------------------- */

static void credits_v2(void **state)
{
	connect_up(100);
	for (unsigned int i = 1; i < 20; i++)
		put(100);
	assert_int_equal(n_posted, 8);
	complete_all();
	assert_int_equal(n_posted, 0);
	credits_back(3);
	assert_int_equal(n_posted, 3);
	complete_all();
	/* Out of credits: what we owe is returned by NOOP, from half of the queue on. */
	for (unsigned int i = 0; i < 3; i++)
		receive_put();
	assert_int_equal(n_posted, 0);
	receive_put();
	assert_int_equal(n_posted, 1);
	assert_int_equal(posted[0].type, LX_O2IB_NOOP);
	assert_int_equal(posted[0].credits, 4);
	/* At most two NOOPs at a time. */
	for (unsigned int i = 0; i < 12; i++)
		receive_put();
	assert_int_equal(n_posted, 2);
	lx_o2ib_conn_sent(conn, posted[0].slot, true);
	assert_int_equal(n_posted, 3);
	assert_int_equal(posted[2].type, LX_O2IB_NOOP);
	assert_int_equal(posted[2].credits, 8);
	lx_o2ib_conn_sent(conn, posted[1].slot, true);
	lx_o2ib_conn_sent(conn, posted[2].slot, true);
	n_posted = 0;
	credits_back(8);
	complete_all();
	credits_back(8);
	complete_all();
	assert_int_equal(n_ended, 20);
}

/*
 * So few credits that the share of them from which a NOOP returns them would round down to none: a
 * NOOP goes out for each message, and none goes out for nothing.
 */
static void least_depth(void **state)
{
	struct lx_o2ib_rej rej = { .version = LX_O2IB_V2, .why = LX_O2IB_REJ_DEPTH,
				   .params = { 1, 257, 4096 } };

	put(100);
	say_no(LX_O2IB_CM_CONSUMER, &rej);
	hand_connack(conn);
	assert_int_equal(conn->depth, 1);
	assert_int_equal(n_posted, 1);
	complete_all();
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(n_posted, 0);
		receive_put();
		assert_int_equal(n_posted, 1);
		assert_int_equal(posted[0].type, LX_O2IB_NOOP);
		assert_int_equal(posted[0].credits, 1);
		n_posted = 0;
		lx_o2ib_conn_sent(conn, posted[0].slot, true);
	}
	assert_int_equal(n_posted, 0);
}

/* Requests are also bounded by the buffers for their answers. */
static void reservations(void **state)
{
	connect_up(sizeof(data));
	for (unsigned int i = 1; i < 20; i++)
		put(sizeof(data));
	assert_int_equal(n_posted, 8);
	credits_back(8);
	complete_all();
	assert_int_equal(n_posted, 0);
	assert_int_equal(conn->credits, 8);
	assert_int_equal(conn->reserved, 0);
}

/* When one is answered, the next takes its reservation. */
static void reservation_back(void **state)
{
	struct lx_o2ib_msg m = hand_msg(LX_O2IB_PUT_NAK);

	connect_up(sizeof(data));
	for (unsigned int i = 1; i < 9; i++)
		put(sizeof(data));
	assert_int_equal(n_posted, 8);
	m.cookie = posted[0].cookie;
	m.credits = 1;
	complete_all();
	receive(m, 0);
	assert_int_equal(n_ended, 1);
	assert_int_equal(n_posted, 1);
	assert_int_equal(posted[0].type, LX_O2IB_PUT_REQ);
}

/* V1: the last credit is for a NOOP, and NOOPs cost one, on both sides. */
static void credits_v1(void **state)
{
	put(100);
	say_no(LX_O2IB_CM_CONSUMER,
	       &(struct lx_o2ib_rej){ .version = LX_O2IB_V1, .why = LX_O2IB_REJ_UNCOMPAT });
	assert_int_equal(dialled.version, LX_O2IB_V1);
	assert_int_equal(dialled.params.queue_depth, 8);
	hand_connack(conn);
	for (unsigned int i = 1; i < 10; i++)
		put(100);
	assert_int_equal(n_posted, 7);
	complete_all();
	for (unsigned int i = 0; i < 6; i++)
		receive_put();
	assert_int_equal(n_posted, 0);
	receive_put();
	assert_int_equal(n_posted, 1);
	assert_int_equal(posted[0].type, LX_O2IB_NOOP);
	assert_int_equal(posted[0].credits, 7);
	assert_int_equal(conn->credits, 0);
	complete_all();
	/* The peer's NOOP used a credit, which returns with the next message. */
	credits_back(4);
	assert_int_equal(n_posted, 3);
	assert_int_equal(posted[0].type, LX_O2IB_IMMEDIATE);
	assert_int_equal(posted[0].credits + posted[1].credits + posted[2].credits, 1);
	complete_all();
	assert_int_equal(n_ended, 10);
}

/* ---- time -------------------------------------------------------------------------------- */

static void keepalive(void **state)
{
	connect_up(100);
	complete_all();
	tick_after(99 * LX_S_NS);
	assert_int_equal(n_posted, 0);
	tick_after(LX_S_NS);
	assert_int_equal(n_posted, 1);
	assert_int_equal(posted[0].type, LX_O2IB_NOOP);
	complete_all();
	tick_after(50 * LX_S_NS);
	assert_int_equal(n_posted, 0);
	lx_o2ib_tun.keepalive = 0;
	tick_after(1000 * LX_S_NS);
	assert_int_equal(n_posted, 0);
}

/* Our request is not answered: a quarter of the timeout, but at least five seconds. */
static void dial_deadline(void **state)
{
	put(100);
	tick_after(12 * LX_S_NS);
	assert_int_equal(n_ended, 0);
	tick_after(LX_S_NS);
	assert_int_equal(n_ended, 1);
	assert_int_equal(last_status, -ETIMEDOUT);
	assert_int_equal(last_hstatus, LX_HSTATUS_NETWORK_TIMEOUT);
	assert_int_equal(lx_o2ib_lnd.set_tunable(&hand.ni, LX_O2IB_NI_TIMEOUT, 6), 0);
	put(100);
	tick_after(4 * LX_S_NS);
	assert_int_equal(n_ended, 1);
	tick_after(LX_S_NS);
	assert_int_equal(n_ended, 2);
}

static void late_in_queue(void **state)
{
	connect_up(100);
	for (unsigned int i = 1; i < 8; i++)
		put(100);
	complete_all();
	put(100); /* all credits are used, and do not return */
	tick_after(49 * LX_S_NS);
	assert_int_equal(n_closed, 0);
	tick_after(LX_S_NS);
	assert_int_equal(n_closed, 1);
	assert_int_equal(last_status, -ETIMEDOUT);
	assert_int_equal(last_hstatus, LX_HSTATUS_LOCAL_TIMEOUT);
}

static void late_posted(void **state)
{
	connect_up(100);
	tick_after(50 * LX_S_NS);
	assert_int_equal(last_status, -ETIMEDOUT);
	assert_int_equal(last_hstatus, LX_HSTATUS_NETWORK_TIMEOUT);
}

static void late_answer(void **state)
{
	connect_up(sizeof(data));
	complete_all();
	tick_after(50 * LX_S_NS);
	assert_int_equal(last_status, -ETIMEDOUT);
	assert_int_equal(last_hstatus, LX_HSTATUS_REMOTE_TIMEOUT);
}

static void send_fails(void **state)
{
	connect_up(100);
	lx_o2ib_conn_sent(conn, posted[0].slot, false);
	assert_int_equal(last_status, -EIO);
	assert_int_equal(last_hstatus, LX_HSTATUS_REMOTE_DROPPED);
}

/* ---- tunables ---------------------------------------------------------------------------- */

static void tunables(void **state)
{
	static const struct {
		int depth, hiw, sends; /* as configured */
		int got_depth, got_hiw, got_sends;
	} cases[] = {
		{ LX_UNSET, LX_UNSET, LX_UNSET, 8, 4, 8 },
		{ 1, 0, 0, 8, 4, 8 },
		{ 300, 0, 0, 254, 127, 254 },
		{ 32, 4, 8, 32, 16, 16 },
		{ 32, 99, 99, 32, 31, 64 },
		{ 32, 20, 40, 32, 20, 40 },
	};

	for (unsigned int i = 0; i < N_OF(cases); i++) {
		const int32_t *v = hand.ni.lnd_tun.value;

		begin(cases[i].depth);
		hand_shutdown();
		/* Again, with the other value. */
		memset(&hand.ni.lnd_tun, 0xff, sizeof(hand.ni.lnd_tun));
		hand.ni.tun.peer_credits = cases[i].depth;
		hand.ni.lnd_tun.value[LX_O2IB_NI_PEERCREDITS_HIW] = cases[i].hiw;
		hand.ni.lnd_tun.value[LX_O2IB_NI_CONCURRENT_SENDS] = cases[i].sends;
		assert_int_equal(lx_o2ib_lnd.startup(&hand.ni), 0);
		assert_int_equal(hand.ni.tun.peer_credits, cases[i].got_depth);
		assert_int_equal(hand.ni.tun.credits, 256);
		assert_int_equal(v[LX_O2IB_NI_PEERCREDITS_HIW], cases[i].got_hiw);
		assert_int_equal(v[LX_O2IB_NI_CONCURRENT_SENDS], cases[i].got_sends);
		assert_int_equal(v[LX_O2IB_NI_TIMEOUT], 50);
		assert_int_equal(v[LX_O2IB_NI_CONNS_PER_PEER], 1);
		assert_int_equal(v[LX_O2IB_NI_TOS], -1);
		hand_shutdown();
	}
	begin(LX_UNSET);
	assert_int_equal(lx_o2ib_lnd.set_tunable(&hand.ni, LX_O2IB_NI_CONNS_PER_PEER, 17), -EINVAL);
	assert_int_equal(lx_o2ib_lnd.set_tunable(&hand.ni, LX_O2IB_NI_TOS, 256), -EINVAL);
	assert_int_equal(lx_o2ib_lnd.set_tunable(&hand.ni, LX_O2IB_NI_NTX, 1), -EOPNOTSUPP);
	hand_shutdown();
}

/* Without libibverbs this transport does not exist. */
static void built_without(void **state)
{
	struct lx_ni ni = { .nid = hand.ni.nid };

	lx_o2ib_hw = NULL;
	assert_int_equal(lx_o2ib_lnd.startup(&ni), -EPROTONOSUPPORT);
	lx_o2ib_hw = &hand_hw;
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rejects),
		T(rejects_that_are_none),
		T(rejected_for_ever),
		cmocka_unit_test(connacks),
		T(race_lost),
		T(race_won),
		cmocka_unit_test(faults),
		T(lost),
		T(credits_v2),
		T(least_depth),
		T(reservations),
		T(reservation_back),
		T(credits_v1),
		T(keepalive),
		T(dial_deadline),
		T(late_in_queue),
		T(late_posted),
		T(late_answer),
		T(send_fails),
		cmocka_unit_test(tunables),
		T(built_without),
	};

	hand_core = (struct hand_core){ core_finalize, core_parse, core_reply_msg,
					core_reply_length };
	hand_hw.dial = hw_dial;
	hand_hw.accept = hw_accept;
	hand_hw.reject = hw_reject;
	hand_hw.close = hw_close;
	hand_hw.post_send = hw_post_send;
	return cmocka_run_group_tests_name("o2ib_peer", tests, NULL, NULL);
}
