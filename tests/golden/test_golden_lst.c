/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replays captured sessions of LNet selftest with our service in the place of one of the hosts, in
 * virtual time: the other hosts send what they sent, at the time at which they sent it, and our
 * node must send what the captured one sent, byte for byte. Not compared: the numbers of requests
 * and of bulk, which the node chooses; the wall clock in pings; bytes of bulk that nobody checks;
 * and counters that depend on what the node did before (stat: those of LNet altogether, those of
 * RPCs before the first stat).
 *
 * A host is all that it was in the capture, up to three at a time:
 *  - server: sessions, tests, bulk as the active side, replies
 *  - client: requests, bulk as the passive side. Where the console was on the same host its orders
 *    are not in the capture; the test gives them, as many requests as were captured
 *  - console: lx_lst_ask_*(), with the captured requests' parameters. sys/lst tests
 *    what a console asks, and when
 *
 * Routers play no part: all nets are one here (test_replay has the routers, and the
 * connections of all captures). The O2IB captures are compared by test_golden_o2ib.
 */
#include "../unit/lstworld.h"

#include "../../user/selftest/ask.h"
#include "../../user/selftest/pattern.h"
#include "script.h"

#define CONSOLE "10.77.0.250@tcp" /* of orders that are not in the capture */
#define SETTLE (5 * MS) /* more than our node needs for anything */
#define MEMORY (4U << 20)
#define PORTALS 3 /* from LX_LST_PORTAL_TEST on */

struct session {
	const char *name; /* of the test */
	const char *capture;
	char us;
	unsigned int failing; /* the first tests, as a client, that end by an error */
	unsigned int more; /* messages that our node sends, and the captured one was dead */
	const char *server; /* a node that works until it is killed */
	uint64_t killed_ns;
	unsigned int rpc_timeout; /* s; 0: default */
	const char *not_played; /* why */
};

#define AS(host, title, ...)                                                                       \
	{                                                                                          \
		.name = title " as " host, .capture = title, .us = host[0], __VA_ARGS__            \
	}
#define BOTH(title) AS("A", title), AS("B", title)
#define ROUTED(title) AS("A", title "-side1"), AS("S", title "-side2")

static const struct session sessions[] = {
	BOTH("02-tcp-v2-lst-write-64k-x2"),
	BOTH("03a-tcp-v4-ipv4-forced-lst-write-64k-x2"),
	BOTH("04-tcp-v1-lst-write-64k-x2"),
	AS("A", "05e-multirail-lst-write-64k-x4"),
	AS("B", "05e-multirail-lst-write-64k-x4",
	   .not_played = "which rail takes a request is LNet's choice, as test_replay plays it"),
	BOTH("06a-lst-brw-write-4k-x2"),
	BOTH("06b-lst-brw-read-4k-x2"),
	BOTH("06c-lst-brw-write-64k-x4-zcack"),
	BOTH("06d-lst-brw-read-64k-x4-zcack"),
	BOTH("06e-lst-brw-write-1m-x1"),
	BOTH("06f-lst-ping-x3"),
	BOTH("06g-lst-write-64k-x1-no-offload"),
	ROUTED("07b-router-lst-write-64k-x2"),
	ROUTED("07c-router-lst-read-1m-x1"),
	ROUTED("07d-router-lst-ping-x2"),
	AS("A", "07e-router-tcp-o2ib-ping-lst64k-tcpside"),
	BOTH("11b-2158-to-2170-lst-write-64k"),
	BOTH("11c-2170-to-2158-lst-read-64k"),
	BOTH("11d-2158-2158-ping-discover-lst4k"),
	BOTH("13a-master-to-2170-ping-discover-lst4k"),
	BOTH("19a-lst-session-brw-simple-ping"),
	AS("G", "19a-lst-session-brw-simple-ping"),
	BOTH("19b-lst-brw-injected-errors"),
	AS("G", "19b-lst-brw-injected-errors", .failing = 2),
	/* The client's transport gave up before its RPC did. */
	AS("A", "19c-lst-server-killed"),
	AS("B", "19c-lst-server-killed", .more = 1),
	AS("G", "19c-lst-server-killed", .server = "10.77.0.2@tcp", .killed_ns = 3 * SEC,
	   .rpc_timeout = 45),
};

/* A host that the test plays. */
struct peer {
	struct lx_nid nid;
	char text[LX_NID_TEXT];
	struct lx_sim_node *sim;
	uint8_t *memory[PORTALS]; /* what our node puts there */
};

struct heard {
	struct lx_event event;
	const struct peer *peer;
	const uint8_t *payload;
	bool claimed;
};

/* A number that our node chose for a request or bulk, and that of the captured node. */
struct number {
	uint64_t captured, real;
};

struct asked {
	struct lx_lst_ask *ask;
	uint64_t rpyid; /* captured */
	bool answered;
	struct lx_lst_msg reply;
};

static struct play {
	const struct session *session;
	struct script script;
	struct lst_node *us;
	struct peer peer[4];
	unsigned int n_peers;
	struct heard heard[1024];
	unsigned int n_heard;
	struct number number[1024];
	unsigned int n_numbers;
	struct asked asked[64];
	unsigned int n_asked;
	void *sink[256];
	unsigned int n_sinks;

	struct lst_console console; /* of orders */
	struct lx_lst_msg begun[4]; /* tests, as a client: one of their requests */
	unsigned int n_begun;
	bool counted; /* there was a stat: */
	struct lx_lst_rpc_counters base, captured_base;
} p;

static const char *folder;

/* ---- messages -------------------------------------------------------------------------- */

static struct lx_nid on_tcp(const struct lx_nid *nid)
{
	struct lx_nid plain = *nid;

	plain.type = LX_NET_TCP;
	plain.num = 0;
	return plain;
}

static const char *text_of(const struct lx_nid *nid, char buf[LX_NID_TEXT])
{
	const struct lx_nid plain = on_tcp(nid);

	return lx_nid_format(&plain, buf, LX_NID_TEXT);
}

static struct peer *peer_of(const struct lx_nid *nid)
{
	const struct lx_nid plain = on_tcp(nid);

	for (unsigned int i = 0; i < p.n_peers; i++) {
		if (lx_nid_eq(&p.peer[i].nid, &plain))
			return &p.peer[i];
	}
	return NULL;
}

static uint32_t portal_of(const struct message *m)
{
	return lx_le32(m->hdr.type == LX_MSG_PUT ? m->hdr.cmd.put.portal : m->hdr.cmd.get.portal);
}

static uint64_t bits_of(const struct message *m)
{
	return lx_le64(m->hdr.type == LX_MSG_PUT ? m->hdr.cmd.put.match_bits
						 : m->hdr.cmd.get.match_bits);
}

/* REPLYs are left out: a node sends them by itself. */
static bool is_selftest(const struct message *m)
{
	return m && m->kind == MESSAGE_LNET &&
	       (m->hdr.type == LX_MSG_PUT || m->hdr.type == LX_MSG_GET) &&
	       portal_of(m) >= LX_LST_PORTAL_TEST && portal_of(m) <= LX_LST_PORTAL_DATA;
}

static bool decoded(const struct message *m, struct lx_lst_msg *ret_msg)
{
	return m->hdr.type == LX_MSG_PUT &&
	       !lx_lst_wire_decode(m->payload, m->hdr.payload_length, ret_msg);
}

static bool is_request(const struct message *m, struct lx_lst_msg *ret_msg)
{
	return is_selftest(m) && portal_of(m) != LX_LST_PORTAL_DATA && decoded(m, ret_msg);
}

/* The answer to a GET; NULL: not captured */
static const struct message *reply_to(const struct message *get)
{
	for (unsigned int i = 0; i < p.script.all.n; i++) {
		const struct message *m = &p.script.all.message[i];

		if (m->kind == MESSAGE_LNET && m->hdr.type == LX_MSG_REPLY &&
		    lx_nid_eq(&m->hdr.dst_nid, &get->hdr.src_nid) &&
		    !memcmp(&get->hdr.cmd.get.return_md, &m->hdr.cmd.reply.dst_md,
			    sizeof(struct lx_wire_handle)))
			return m;
	}
	return NULL;
}

static const struct message *get_of(uint64_t bulkid)
{
	for (unsigned int i = 0; i < p.script.all.n; i++) {
		const struct message *m = &p.script.all.message[i];

		if (is_selftest(m) && m->hdr.type == LX_MSG_GET && bits_of(m) == bulkid)
			return m;
	}
	return NULL;
}

/* ---- numbers ----------------------------------------------------------------------------- */

static void learn(uint64_t captured, uint64_t real)
{
	assert_true(p.n_numbers < N_OF(p.number));
	p.number[p.n_numbers++] = (struct number){ captured, real };
}

static uint64_t real_number(uint64_t captured)
{
	for (unsigned int i = 0; i < p.n_numbers; i++) {
		if (p.number[i].captured == captured)
			return p.number[i].real;
	}
	fail_msg("our node has not sent the request with number 0x%llx",
		 (unsigned long long)captured);
	return 0;
}

/* ---- bulk ---------------------------------------------------------------------------------- */

/* enum lx_lst_check; 0: it is a list of destinations */
static uint32_t check_of(uint64_t bulkid)
{
	struct lx_lst_msg msg;

	for (unsigned int i = 0; i < p.script.all.n; i++) {
		if (is_request(&p.script.all.message[i], &msg) && msg.type == LX_LST_BRW_REQ &&
		    msg.brw.bulkid == bulkid)
			return msg.brw.flags;
	}
	return 0;
}

/*
 * Only what the receiver checks is determined (selftest.md 8). Where the captured node sent what
 * the receiver would refuse, it was made to; ours is right.
 */
static bool same_bulk(uint64_t bulkid, const uint8_t *captured, const uint8_t *real, size_t len)
{
	uint32_t check = check_of(bulkid);

	if (check && lx_lst_pattern_check(captured, len, check, false))
		return !lx_lst_pattern_check(real, len, check, false);
	if (!check || check == LX_LST_CHECK_FULL)
		return !memcmp(captured, real, len);
	for (size_t at = 0; check == LX_LST_CHECK_SIMPLE && at < len; at += LX_LST_PAGE) {
		size_t last = at + (len - at < LX_LST_PAGE ? len - at : LX_LST_PAGE) - 8;

		if (memcmp(captured + at, real + at, 8) || memcmp(captured + last, real + last, 8))
			return false;
	}
	return true;
}

/* ---- what our node sent --------------------------------------------------------------------- */

static void collect(void)
{
	for (unsigned int i = 0; i < n_events; i++) {
		const struct lx_event *e = &event_log[i];

		for (unsigned int j = 0; j < p.n_peers; j++) {
			const struct peer *peer = &p.peer[j];

			if (e->user != peer->sim ||
			    (e->type != LX_EVENT_PUT && e->type != LX_EVENT_GET))
				continue;
			assert_true(p.n_heard < N_OF(p.heard));
			p.heard[p.n_heard++] = (struct heard){
				.event = *e,
				.peer = peer,
				.payload = peer->memory[e->portal - LX_LST_PORTAL_TEST] + e->offset,
			};
		}
	}
	log_clear();
}

static void run(uint64_t ns)
{
	lx_sim_run(lst_sim, ns);
	collect();
}

/* Hides what may differ between two requests. Returns true if they are then the same. */
static bool same_request(const struct lx_lst_msg *captured, struct lx_lst_msg real)
{
	bool has_bulk = captured->type == LX_LST_BRW_REQ ||
			(captured->type == LX_LST_TEST_REQ && captured->test.is_client);

	real.rpyid = captured->rpyid;
	if (has_bulk)
		real.brw.bulkid = captured->brw.bulkid;
	if (captured->type == LX_LST_PING_REQ) {
		real.ping.seconds = captured->ping.seconds;
		real.ping.nanoseconds = captured->ping.nanoseconds;
	}
	return !memcmp(&real, captured, sizeof(real));
}

static bool same_counters(const struct lx_lst_rpc_counters *captured,
			  const struct lx_lst_rpc_counters *real)
{
	const struct lx_lst_rpc_counters *a = &p.captured_base, *b = &p.base;

	return captured->errors - a->errors == real->errors - b->errors &&
	       captured->sent - a->sent == real->sent - b->sent &&
	       captured->dropped - a->dropped == real->dropped - b->dropped &&
	       captured->expired - a->expired == real->expired - b->expired &&
	       captured->bulk_get - a->bulk_get == real->bulk_get - b->bulk_get &&
	       captured->bulk_put - a->bulk_put == real->bulk_put - b->bulk_put &&
	       captured->rcvd - a->rcvd == real->rcvd - b->rcvd;
}

static bool same_stat(const struct lx_lst_msg *captured, struct lx_lst_msg real)
{
	if (!p.counted) {
		p.captured_base = captured->stat_reply.rpc;
		p.base = real.stat_reply.rpc;
		p.counted = true;
	}
	if (!same_counters(&captured->stat_reply.rpc, &real.stat_reply.rpc))
		return false;
	real.stat_reply.rpc = captured->stat_reply.rpc;
	real.stat_reply.lnet = captured->stat_reply.lnet;
	real.stat_reply.framework.running_ms = captured->stat_reply.framework.running_ms;
	return !memcmp(&real, captured, sizeof(real));
}

static bool same_payload(const struct message *m, const struct heard *h)
{
	struct lx_lst_msg captured, real;

	if (h->event.mlength != m->hdr.payload_length)
		return false;
	if (!decoded(m, &captured) || lx_lst_wire_decode(h->payload, h->event.mlength, &real))
		return same_bulk(bits_of(m), m->payload, h->payload, h->event.mlength);
	if (captured.type != real.type)
		return false;
	/* Each in its sender's byte order. */
	if (lx_lst_flipped(&captured) == CAPTURES_FLIP && !lx_lst_flipped(&real))
		captured.magic = real.magic;
	if (captured.type == LX_LST_STAT_REQ + 1)
		return same_stat(&captured, real);
	if (portal_of(m) == LX_LST_PORTAL_DATA)
		return !memcmp(&real, &captured, sizeof(real));
	if (!same_request(&captured, real))
		return false;
	learn(captured.rpyid, real.rpyid);
	if (real.brw.bulkid != captured.brw.bulkid)
		learn(captured.brw.bulkid, real.brw.bulkid);
	return true;
}

static bool is_it(const struct message *m, const struct heard *h)
{
	const struct lx_nid src = on_tcp(&m->hdr.src_nid);
	bool put = m->hdr.type == LX_MSG_PUT;

	if (h->claimed || h->peer != peer_of(&m->hdr.dst_nid) ||
	    h->event.type != (put ? LX_EVENT_PUT : LX_EVENT_GET) ||
	    h->event.portal != portal_of(m) || h->event.match_bits != bits_of(m) ||
	    !lx_nid_eq(&h->event.source, &src))
		return false;
	return put ? same_payload(m, h)
		   : h->event.rlength == lx_le32(m->hdr.cmd.get.sink_length);
}

/* The bulk of a request came before its reply (selftest.md 1). */
static void expect_bulk_before(const struct heard *reply)
{
	struct lx_lst_msg request;
	bool answered_well;

	lx_lst_wire_decode(reply->payload, reply->event.mlength, &request);
	answered_well = !request.status;
	for (unsigned int i = 0; i < p.script.all.n; i++) {
		if (!is_request(&p.script.all.message[i], &request) ||
		    request.type != LX_LST_BRW_REQ || request.rpyid != reply->event.match_bits ||
		    !answered_well)
			continue;
		for (const struct heard *h = p.heard; h < reply; h++) {
			if (h->claimed && h->event.match_bits == request.brw.bulkid)
				return;
		}
		fail_msg("a reply came before its bulk");
	}
}

/* Our node sent this, too. */
static void expect(const struct message *m)
{
	char text[300];

	for (unsigned int i = 0; i < p.n_heard; i++) {
		struct heard *h = &p.heard[i];

		if (!is_it(m, h))
			continue;
		h->claimed = true;
		if (m->hdr.type == LX_MSG_PUT && portal_of(m) == LX_LST_PORTAL_DATA &&
		    h->event.mlength == LX_LST_MSG_BYTES)
			expect_bulk_before(h);
		return;
	}
	message_describe(m, text, sizeof(text));
	message_describe_lst(m, text + strlen(text), sizeof(text) - strlen(text));
	fail_msg("our node did not send: %s", text);
}

static void expect_no_more(void)
{
	unsigned int more = 0;

	for (unsigned int i = 0; i < p.n_heard; i++) {
		const struct lx_event *e = &p.heard[i].event;

		if (!p.heard[i].claimed && ++more > p.session->more)
			fail_msg("our node sent %zu bytes to %s, portal %u, bits 0x%llx, "
				 "which the captured one did not", e->mlength, p.heard[i].peer->text,
				 e->portal, (unsigned long long)e->match_bits);
	}
	assert_int_equal(more, p.session->more);
}

/* ---- what the others send ------------------------------------------------------------------ */

/* Bulk that our node will fetch. */
static void lend_bulk(const struct message *m, const struct lx_lst_msg *request)
{
	const struct message *get = NULL, *reply;

	if (request->type == LX_LST_BRW_REQ && request->brw.rw == LX_LST_WRITE)
		get = get_of(request->brw.bulkid);
	if (request->type == LX_LST_TEST_REQ && request->test.is_client)
		get = get_of(request->test.bulkid);
	reply = get ? reply_to(get) : NULL;
	if (reply)
		post(peer_of(&m->hdr.src_nid)->sim, LX_LST_PORTAL_DATA, NULL, bits_of(get), 0,
		     (void *)reply->payload, reply->hdr.payload_length, LX_MD_OP_GET, 1);
}

/* The program that asked has the answer. */
static void expect_answered(const struct message *m)
{
	struct lx_lst_msg reply;

	for (unsigned int i = 0; i < p.n_asked; i++) {
		if (p.asked[i].rpyid != bits_of(m))
			continue;
		assert_true(decoded(m, &reply));
		assert_true(p.asked[i].answered);
		assert_memory_equal(&p.asked[i].reply, &reply, sizeof(reply));
	}
}

static void deliver_put(const struct message *m)
{
	struct lx_sim_node *from = peer_of(&m->hdr.src_nid)->sim;
	uint64_t bits = bits_of(m);
	struct lx_lst_msg request;
	char to[LX_NID_TEXT];

	if (portal_of(m) == LX_LST_PORTAL_DATA)
		bits = real_number(bits);
	else if (decoded(m, &request))
		lend_bulk(m, &request);
	put(from, mem(from, (void *)m->payload, m->hdr.payload_length, 1), false,
	    text_of(&m->hdr.dst_nid, to), portal_of(m), bits);
	run(SETTLE);
	if (portal_of(m) == LX_LST_PORTAL_DATA)
		expect_answered(m);
}

/* Fetches bulk of our node. */
static void deliver_get(const struct message *m)
{
	struct lx_sim_node *from = peer_of(&m->hdr.src_nid)->sim;
	const struct message *reply = reply_to(m);
	size_t len = lx_le32(m->hdr.cmd.get.sink_length);
	uint8_t *sink = malloc(len);
	char to[LX_NID_TEXT];

	assert_non_null(sink);
	assert_true(p.n_sinks < N_OF(p.sink));
	p.sink[p.n_sinks++] = sink;
	memset(sink, 0x5a, len);
	get(from, mem(from, sink, len, 2), text_of(&m->hdr.dst_nid, to), LX_LST_PORTAL_DATA,
	    real_number(bits_of(m)));
	run(SETTLE);
	assert_non_null(reply);
	assert_int_equal(reply->hdr.payload_length, len);
	assert_true(same_bulk(bits_of(m), reply->payload, sink, len));
}

/* ---- what our node was made to do --------------------------------------------------------------- */

static void on_answer(int status, const struct lx_lst_msg *reply, void *arg)
{
	struct asked *a = arg;

	a->answered = !status;
	if (reply)
		a->reply = *reply;
}

/* The console on our node asks. */
static void ask(const struct message *m)
{
	struct asked *a = &p.asked[p.n_asked++];
	const struct lx_id to = { peer_of(&m->hdr.dst_nid)->nid, LX_PID_LUSTRE };
	const struct message *list = NULL;
	struct lx_lst_dest dest;
	struct lx_lst_msg msg;
	bool with_list;

	assert_true(p.n_asked <= N_OF(p.asked));
	assert_true(decoded(m, &msg));
	a->rpyid = msg.rpyid;
	with_list = msg.type == LX_LST_TEST_REQ && msg.test.is_client;
	if (with_list) {
		assert_int_equal(msg.test.ndest, 1);
		assert_non_null(get_of(msg.test.bulkid));
		list = reply_to(get_of(msg.test.bulkid));
		assert_non_null(list);
		assert_int_equal(lx_lst_wire_dest_get(list->payload, list->hdr.payload_length, 0,
						      false, &dest),
				 0);
		msg.test.bulkid = msg.test.ndest = 0;
	}
	msg.rpyid = 0;
	assert_int_equal(lx_lst_ask_new(p.us->node, &to, bits_of(m), &msg, with_list ? &dest : NULL,
					with_list, on_answer, a, &a->ask), 0);
}

static bool same_test(const struct lx_lst_msg *a, const struct lx_lst_msg *b)
{
	return a->type == b->type &&
	       (a->type == LX_LST_PING_REQ ||
		(a->brw.rw == b->brw.rw && a->brw.length == b->brw.length &&
		 a->brw.flags == b->brw.flags));
}

static unsigned int count_requests(const struct lx_lst_msg *of)
{
	struct lx_lst_msg msg;
	unsigned int n = 0;

	for (unsigned int i = 0; i < p.script.n; i++)
		n += p.script.step[i].ours && is_request(p.script.step[i].m, &msg) &&
		     same_test(&msg, of);
	return n;
}

/* Our node sends the first request of a test: its console has run it. */
static void begin_test(const struct message *m)
{
	char server[LX_NID_TEXT];
	struct lst_test test = { .concurrency = 1, .dests = { text_of(&m->hdr.dst_nid, server) } };
	struct lx_lst_msg msg;

	assert_true(decoded(m, &msg));
	for (unsigned int i = 0; i < p.n_begun; i++) {
		if (same_test(&p.begun[i], &msg))
			return;
	}
	assert_true(p.n_begun < N_OF(p.begun));
	p.begun[p.n_begun++] = msg;
	test.batch = p.n_begun;
	test.service = bits_of(m);
	test.loop = p.n_begun <= p.session->failing ? LX_LST_LOOP_FOREVER : count_requests(&msg);
	if (test.service == LX_LST_BRW) {
		test.rw = msg.brw.rw;
		test.check = msg.brw.flags;
		test.length = msg.brw.length;
	}
	collect();
	if (p.n_begun == 1)
		assert_int_equal(lst_make(&p.console, p.us->nid, "orders", true, NULL), 0);
	assert_int_equal(lst_add(&p.console, p.us->nid, &test), 0);
	assert_int_equal(lst_batch(&p.console, p.us->nid, test.batch, LX_LST_BATCH_RUN, 0, 0), 0);
	run(SETTLE);
}

/* All tests are over, with as many errors as captured. */
static void expect_ended(void)
{
	struct lx_lst_msg stat;

	if (!p.n_begun)
		return;
	for (unsigned int i = 1; i <= p.n_begun; i++)
		assert_int_equal(lst_query(&p.console, p.us->nid, i, 0), 0);
	assert_int_equal(lst_stat(&p.console, p.us->nid, &stat), 0);
	assert_int_equal(stat.stat_reply.framework.brw_errors, p.session->failing);
	assert_int_equal(stat.stat_reply.framework.ping_errors, 0);
}

/* ---- a replay ------------------------------------------------------------------------------------ */

static void add_peer(const struct lx_nid *nid)
{
	struct peer *peer = &p.peer[p.n_peers];

	if (peer_of(nid))
		return;
	assert_true(p.n_peers++ < N_OF(p.peer));
	peer->nid = on_tcp(nid);
	text_of(nid, peer->text);
	peer->sim = lst_peer(peer->text);
	tune(peer->sim, "lnet_peer_discovery_disabled", "1");
	for (unsigned int i = 0; i < PORTALS; i++) {
		peer->memory[i] = malloc(MEMORY);
		assert_non_null(peer->memory[i]);
		post(peer->sim, LX_LST_PORTAL_TEST + i, NULL, 0, ~0ULL, peer->memory[i], MEMORY,
		     LX_MD_OP_PUT, LX_MD_UNLIMITED);
	}
}

static void add_peers(void)
{
	for (unsigned int i = 0; i < p.script.n; i++) {
		const struct step *step = &p.script.step[i];

		if (is_selftest(step->m))
			add_peer(step->ours ? &step->m->hdr.dst_nid : &step->m->hdr.src_nid);
	}
	assert_true(p.n_peers > 0);
}

/* Our node, with all NIDs that it has in the capture. */
static void add_us(void)
{
	static char text[4][LX_NID_TEXT];
	const char *nids[5] = { NULL };
	struct lx_selftest_tunables tun;
	unsigned int n = 0, j;

	for (unsigned int i = 0; i < p.script.n; i++) {
		const struct step *step = &p.script.step[i];

		if (!is_selftest(step->m))
			continue;
		assert_true(n < N_OF(text));
		text_of(step->ours ? &step->m->hdr.src_nid : &step->m->hdr.dst_nid, text[n]);
		for (j = 0; strcmp(text[j], text[n]); j++)
			;
		if (j == n) {
			nids[n] = text[n];
			n++;
		}
	}
	lx_tunable_defaults(lx_selftest_tunable_table, &tun);
	if (p.session->rpc_timeout)
		tun.rpc_timeout = p.session->rpc_timeout;
	p.us = lst_world_add(nids, &tun);
	tune(p.us->sim, "lnet_peer_discovery_disabled", "1");
}

static void kill_server(void *arg)
{
	lx_sim_mute(lst_sim, p.session->server, true);
}

static void add_server(void)
{
	const char *nids[] = { p.session->server, NULL };

	if (!nids[0])
		return;
	lst_world_add(nids, NULL);
	assert_int_equal(lst_make(&p.console, nids[0], "orders", false, NULL), 0);
	lx_sim_at(lst_sim, p.session->killed_ns, kill_server, NULL);
}

static int setup(void **state)
{
	const struct lx_sim_knobs knobs = {
		.delay_min_ns = 100000, .delay_max_ns = 100000, .conns = 1
	};

	memset(&p, 0, sizeof(p));
	p.session = *state;
	lst_world_begin(&knobs);
	script_load(&p.script, folder, p.session->capture, p.session->us);
	add_us();
	add_peers();
	p.console = lst_console(CONSOLE, 1);
	add_server();
	collect();
	return 0;
}

static int teardown(void **state)
{
	for (unsigned int i = 0; i < p.n_asked; i++)
		lx_lst_ask_free(p.asked[i].ask);
	lst_world_free();
	for (unsigned int i = 0; i < p.n_peers; i++) {
		for (unsigned int j = 0; j < PORTALS; j++)
			free(p.peer[i].memory[j]);
	}
	while (p.n_sinks)
		free(p.sink[--p.n_sinks]);
	script_free(&p.script);
	return 0;
}

/* Waits until the time at which it was captured. */
static void wait_for(const struct step *step, uint64_t begin_ns)
{
	uint64_t due = begin_ns + p.script.capture.event[step->order].time_us * 1000;

	if (due > lx_sim_now(lst_sim))
		run(due - lx_sim_now(lst_sim));
}

static void play(void **state)
{
	uint64_t begin_ns = lx_sim_now(lst_sim);
	unsigned int n = 0;

	for (unsigned int i = 0; i < p.script.n; i++) {
		const struct step *step = &p.script.step[i];
		const struct message *m = step->m;

		if (!is_selftest(m))
			continue;
		n++;
		wait_for(step, begin_ns);
		if (!step->ours && m->hdr.type == LX_MSG_PUT) {
			deliver_put(m);
		} else if (!step->ours) {
			deliver_get(m);
		} else {
			if (portal_of(m) == LX_LST_PORTAL_FRAMEWORK)
				ask(m);
			else if (portal_of(m) == LX_LST_PORTAL_TEST)
				begin_test(m);
			run(SETTLE);
			expect(m);
		}
	}
	assert_true(n >= 4);
	run(SEC);
	expect_no_more();
	expect_ended();
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[N_OF(sessions)];
	size_t n = 0;

	folder = captures_dir();
	for (size_t i = 0; i < N_OF(sessions); i++) {
		if (argc > 1 && !strstr(sessions[i].name, argv[1]))
			continue;
		if (sessions[i].not_played) {
			printf("# not played: %s: %s\n", sessions[i].name, sessions[i].not_played);
			continue;
		}
		tests[n++] = (struct CMUnitTest){
			.name = sessions[i].name,
			.test_func = play,
			.setup_func = setup,
			.teardown_func = teardown,
			.initial_state = (void *)&sessions[i],
		};
	}
	return _cmocka_run_group_tests("golden_lst", tests, n, NULL, NULL);
}
