/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd between whole nodes in virtual time, on fake hardware: connections and their
 * negotiation, every form of message, credits, failures.
 */
#include "o2ibworld.h"

#include <errno.h>

#include "../../user/base/log.h"

#define A_NID 0x000500000a000001ULL
#define B_NID 0x000500000a000002ULL
#define BIG (1u << 20)

static int setup(void **state)
{
	return o2ib_world_begin(BIG);
}

static struct lx_o2ib_conn *conn_of(struct lx_sim_node *node)
{
	return lx_list_first(&net_of(node)->conns, struct lx_o2ib_conn, net_link);
}

/* Between operations every credit is accounted for, and nothing waits. */
static void expect_rest(void)
{
	struct lx_o2ib_conn *x = conn_of(a), *y = conn_of(b);

	assert_at_rest(a);
	assert_at_rest(b);
	/* With several connections we cannot tell which ends belong together. */
	if (!x || !y || x->net_link.next != x->net_link.prev || y->net_link.next != y->net_link.prev)
		return;
	assert_int_equal(x->credits + y->outstanding, x->depth);
	assert_int_equal(y->credits + x->outstanding, y->depth);
	assert_int_equal(x->reserved, x->depth);
	assert_int_equal(y->reserved, y->depth);
	assert_int_equal(lx_o2ib_conn_load(x) + lx_o2ib_conn_load(y), 0);
	assert_int_equal(x->n_free_slots, x->n_slots);
	assert_int_equal(x->wrs_free, x->n_wrs);
}

static void put_one(struct lx_sim_node *from, struct lx_sim_node *to, const char *to_nid,
		    size_t len, size_t room, bool ack)
{
	struct lx_handle md;

	log_clear();
	memset(dst, 0, BIG);
	post(to, 20, NULL, 1, 0, dst, room, LX_MD_OP_PUT | (room < len ? LX_MD_TRUNCATE : 0), 1);
	md = mem(from, src, len, ack ? 2 : 1);
	assert_int_equal(put(from, md, ack, to_nid, 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, 0);
	assert_int_equal(the_event(LX_EVENT_PUT)->status, 0);
	assert_int_equal(the_event(LX_EVENT_PUT)->mlength, room < len ? room : len);
	if (ack)
		assert_int_equal(the_event(LX_EVENT_ACK)->mlength, room < len ? room : len);
	assert_memory_equal(dst, src, room < len ? room : len);
	expect_rest();
}

static void get_one(struct lx_sim_node *from, struct lx_sim_node *of, const char *of_nid,
		    size_t len)
{
	struct lx_handle md;

	log_clear();
	memset(dst, 0, BIG);
	post(of, 20, NULL, 2, 0, src, len, LX_MD_OP_GET, 1);
	md = mem(from, dst, len, 2);
	assert_int_equal(get(from, md, of_nid, 20, 2), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_REPLY)->status, 0);
	assert_int_equal(the_event(LX_EVENT_REPLY)->mlength, len);
	assert_memory_equal(dst, src, len);
	expect_rest();
}

/* ---- forms ------------------------------------------------------------------------- */

static const size_t sizes[] = { 0, 1, 100, 3975, 3976, 3977, 4096, 65536, 1000001, BIG };

static void every_size(void **state)
{
	for (unsigned int i = 0; i < N_OF(sizes); i++) {
		put_one(a, b, B, sizes[i], sizes[i], true);
		put_one(b, a, A, sizes[i], sizes[i], false);
		if (!sizes[i])
			continue;
		get_one(a, b, B, sizes[i]);
		get_one(b, a, A, sizes[i]);
	}
	assert_int_equal(simib_established, 1);
	/* Small messages are sent whole, all others by RDMA, each answered once. */
	assert_int_equal(simib_sent[LX_O2IB_PUT_REQ], 10);
	assert_int_equal(simib_sent[LX_O2IB_PUT_ACK], 10);
	assert_int_equal(simib_sent[LX_O2IB_PUT_DONE], 10);
	assert_int_equal(simib_sent[LX_O2IB_GET_REQ], 10);
	assert_int_equal(simib_sent[LX_O2IB_GET_DONE], 10);
	assert_int_equal(simib_sent[LX_O2IB_PUT_NAK], 0);
}

static void truncated(void **state)
{
	put_one(a, b, B, BIG, 5000, true);
	put_one(a, b, B, BIG, 1, true);
	assert_int_equal(simib_sent[LX_O2IB_PUT_ACK], 2);
	assert_int_equal(simib_sent[LX_O2IB_PUT_NAK], 0);
	/* The target accepts 0 bytes: no RDMA write, and success. */
	put_one(a, b, B, BIG, 0, true);
	assert_int_equal(simib_sent[LX_O2IB_PUT_NAK], 1);
}

static void nobody_waits(void **state)
{
	struct lx_handle md = mem(a, src, BIG, 1);

	assert_int_equal(put(a, md, false, B, 20, 77), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, 0);
	assert_int_equal(simib_sent[LX_O2IB_PUT_NAK], 1);
	expect_rest();
	log_clear();
	md = mem(a, dst, BIG, 2);
	assert_int_equal(get(a, md, B, 20, 77), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, 0);
	assert_int_equal(the_event(LX_EVENT_REPLY)->status, -ENODATA);
	expect_rest();
}

/* Fragmented memory: read from several fragments, or gathered; written through a copy. */
static void scattered(void **state)
{
	struct iovec iov[40];
	struct lx_md_desc desc = { .iov = iov, .handler = log_event };
	struct lx_md *md;

	for (unsigned int n = 2; n <= 40; n += 38) {
		for (unsigned int i = 0; i < n; i++)
			iov[i] = (struct iovec){ src + i * 7000, 5000 };
		desc.n_iov = n;
		desc.threshold = 1;
		log_clear();
		post(b, 20, NULL, 3, 0, dst, BIG, LX_MD_OP_PUT, 1);
		assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), 0);
		assert_int_equal(put(a, md->handle, false, B, 20, 3), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(the_event(LX_EVENT_PUT)->mlength, n * 5000);
		for (unsigned int i = 0; i < n; i++)
			assert_memory_equal(dst + i * 5000, src + i * 7000, 5000);

		for (unsigned int i = 0; i < n; i++)
			iov[i].iov_base = dst + i * 7000;
		log_clear();
		memset(dst, 0, BIG);
		post(b, 20, NULL, 4, 0, src, n * 5000 - 1,
		     LX_MD_OP_GET | LX_MD_TRUNCATE, 1);
		desc.threshold = 2;
		assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), 0);
		assert_int_equal(get(a, md->handle, B, 20, 4), 0);
		lx_sim_run(sim, SEC);
		/* A GET may ask for more than there is. */
		assert_int_equal(the_event(LX_EVENT_REPLY)->mlength, n * 5000 - 1);
		for (unsigned int i = 0; i < n - 1; i++)
			assert_memory_equal(dst + i * 7000, src + i * 5000, 5000);
		assert_int_equal(dst[5000], 0);
		expect_rest();
	}
}

static void checksums(void **state)
{
	lx_o2ib_tun.cksum = 1;
	put_one(a, b, B, 100, 100, true);
	put_one(a, b, B, BIG, BIG, true);
	get_one(a, b, B, BIG);
}

/* ---- connecting -------------------------------------------------------------------- */

static void depth_negotiated(void **state)
{
	struct lx_sim_node *deep = node_on("10.0.0.3@o2ib", 32);
	struct lx_handle md = mem(deep, src, 100, 1);

	post(b, 20, NULL, 1, 0, dst, 100, LX_MD_OP_PUT, 2);
	assert_int_equal(put(deep, md, false, B, 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 1);
	assert_int_equal(simib_rejects[LX_O2IB_REJ_DEPTH], 1);
	assert_int_equal(conn_of(deep)->depth, 8);
	/* In the other direction there is nothing to negotiate. */
	assert_int_equal(put(a, mem(a, src, 100, 1), false, "10.0.0.3@o2ib", 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(conn_of(a)->depth, 8);
	assert_int_equal(simib_established, 2);
}

/*
 * One attempt wins. Or both do, if the later request arrives after the earlier was settled;
 * then there are two connections, which is fine.
 */
static void both_at_once(void **state)
{
	for (unsigned int i = 0; i < 20; i++) {
		log_clear();
		post(a, 20, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
		post(b, 20, NULL, 1, 0, dst, 10, LX_MD_OP_PUT, 1);
		assert_int_equal(put(a, mem(a, src, 10, 1), false, B, 20, 1), 0);
		assert_int_equal(put(b, mem(b, src, 10, 1), false, A, 20, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(count_events(LX_EVENT_PUT), 2);
		assert_at_rest(a);
		assert_at_rest(b);
		lx_o2ib_lnd.disconnect(net_of(a)->ni, NULL);
		lx_sim_run(sim, 3 * SEC);
		assert_null(conn_of(a));
		assert_null(conn_of(b));
	}
	assert_true(simib_rejects[LX_O2IB_REJ_RACE] > 0);
	assert_true(simib_established >= 20 && simib_established <= 40);
}

static void several_conns(void **state)
{
	struct lx_o2ib_conn *conn;
	unsigned int n = 0;

	/* The listening port cannot change while NIs are up; everything else can. */
	assert_int_equal(lx_o2ib_lnd.retune(net_of(a)->ni), 0);
	lx_o2ib_tun.service++;
	assert_int_equal(lx_o2ib_lnd.retune(net_of(a)->ni), -EBUSY);
	lx_o2ib_tun.service--;
	assert_int_equal(lx_o2ib_lnd.set_tunable(net_of(a)->ni, LX_O2IB_NI_CONNS_PER_PEER, 3), 0);
	post(b, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, 50);
	for (unsigned int i = 0; i < 50; i++) {
		assert_int_equal(put(a, mem(a, src, 6000, 1), false, B, 20, 1), 0);
		lx_sim_run(sim, SEC / 1000);
	}
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 50);
	assert_int_equal(simib_established, 3);
	lx_list_for_each (conn, &net_of(a)->conns, net_link)
		n += conn->tx_bytes > 0;
	assert_int_equal(n, 3);
}

static void no_listener(void **state)
{
	struct lx_handle md = mem(a, src, BIG, 1);

	assert_int_equal(put(a, md, false, "10.0.0.9@o2ib", 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	assert_at_rest(a);
	/* The CM refuses. */
	log_clear();
	simib.refuse = 1000;
	assert_int_equal(put(a, mem(a, src, 1, 1), false, B, 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ECONNREFUSED);
	simib.refuse = 0;
	put_one(a, b, B, 10, 10, true);
}

/* Its NI has this address, but is on another net. */
static void wrong_nid(void **state)
{
	struct lx_sim_node *c = node_on("10.0.0.4@o2ib5", 8);

	assert_non_null(c);
	assert_int_equal(put(a, mem(a, src, 1, 1), false, "10.0.0.4@o2ib", 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ECONNREFUSED);
	assert_int_equal(simib_rejects[LX_O2IB_REJ_FATAL], 1);
}

/* Two nets on one address: one listener, NIs distinguished by NID. */
static void two_nets(void **state)
{
	simib_ni_add(a, "10.0.0.1@o2ib1", 8);
	simib_ni_add(b, "10.0.0.2@o2ib1", 8);
	post(b, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, 2);
	assert_int_equal(put(a, mem(a, src, 10000, 1), false, B, 20, 1), 0);
	assert_int_equal(put(a, mem(a, src, 10000, 1), false, "10.0.0.2@o2ib1", 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 2);
	assert_int_equal(simib_established, 2);
}

/* The peer restarts while we still have a connection to its previous life. */
static void stale(void **state)
{
	struct lx_o2ib_conn *old;

	put_one(a, b, B, 10, 10, true);
	old = conn_of(b);
	assert_non_null(old);
	/* It vanished without a disconnect; after its restart it connects to us. */
	simib.silent = true;
	lx_sim_ni_del(a, A);
	lx_sim_run(sim, SEC / 100);
	simib.silent = false;
	simib_ni_add(a, A, 8);
	put_one(a, b, B, 10, 10, true);
}

/* A restarted peer is rejected first; after that its old connections are gone. */
static void stale_request(void **state)
{
	struct lx_o2ib_msg m = { .version = LX_O2IB_V2, .type = LX_O2IB_CONNREQ, .nob = 56,
				 .src_nid = A_NID, .src_incarnation = 4711, .dst_nid = B_NID,
				 .params = { 8, 257, 4096 } };
	uint8_t buf[56], got[200];
	struct lx_o2ib_rej rej;
	size_t len;

	put_one(a, b, B, 10, 10, true);
	lx_o2ib_proto_encode(&m, buf, false);
	assert_int_equal(simib_request(B, buf, 56, 1023, got, &len), LX_O2IB_REJ_STALE);
	assert_int_equal(lx_o2ib_proto_rej_decode(got, len, &rej), 0);
	assert_true(rej.incarnation == net_of(b)->incarnation);
	assert_null(conn_of(b));
	assert_int_equal(simib_request(B, buf, 56, 1023, got, &len), 0);
}

static const struct {
	const char *what;
	int why;
	struct lx_o2ib_msg m; /* fields that differ from a valid one are not 0 */
	uint16_t source_port;
} requests[] = {
	{ "a good one", 0, { 0 }, 0 },
	{ "V1", 0, { .version = LX_O2IB_V1 }, 0 },
	{ "other byte order", 0, { .flip = true }, 0 },
	{ "less than we have", 0, { .params = { 1, 1, 100 } }, 0 },
	{ "version", LX_O2IB_REJ_FATAL, { .version = 0x13 }, 0 },
	{ "wrong NID", LX_O2IB_REJ_FATAL, { .dst_nid = 5 }, 0 },
	{ "stale", LX_O2IB_REJ_STALE, { .dst_incarnation = 5 }, 0 },
	{ "type", LX_O2IB_REJ_FATAL, { .type = LX_O2IB_CONNACK }, 0 },
	{ "a NID of another net", LX_O2IB_REJ_FATAL, { .src_nid = 0x0005000909090909ULL }, 0 },
	{ "our NID", LX_O2IB_REJ_FATAL, { .src_nid = B_NID }, 0 },
	{ "0@lo", LX_O2IB_REJ_FATAL, { .src_nid = 0x0009000000000000ULL }, 0 },
	{ "depth", LX_O2IB_REJ_DEPTH, { .params = { 9, 257, 4096 } }, 0 },
	{ "depth of V1",
	  LX_O2IB_REJ_FATAL,
	  { .version = LX_O2IB_V1, .params = { 9, 257, 4096 } },
	  0 },
	{ "fragments", LX_O2IB_REJ_FRAGS, { .params = { 8, 258, 4096 } }, 0 },
	{ "size", LX_O2IB_REJ_FATAL, { .params = { 8, 257, 4097 } }, 0 },
	{ "no depth", LX_O2IB_REJ_FATAL, { .params = { 0, 257, 4096 } }, 0 },
	{ "port", LX_O2IB_REJ_FATAL, { 0 }, 1024 },
};

static void passive_checks(void **state)
{
	lx_o2ib_tun.require_privileged_port = 1;
	for (unsigned int i = 0; i < N_OF(requests); i++) {
		struct lx_o2ib_msg m = requests[i].m;
		uint8_t buf[56], got[200];
		struct lx_o2ib_rej rej;
		size_t len;
		int why;

		m.version = m.version ? m.version : LX_O2IB_V2;
		m.type = m.type ? m.type : LX_O2IB_CONNREQ;
		m.dst_nid = m.dst_nid ? m.dst_nid : B_NID;
		m.src_nid = m.src_nid ? m.src_nid : 0x000500000a000100ULL + i;
		m.src_incarnation = 4711;
		m.nob = 56;
		if (!m.params.max_frags)
			m.params = (struct lx_o2ib_params){ 8, 257, 4096 };
		lx_o2ib_proto_encode(&m, buf, false);
		why = simib_request(B, buf, 56, requests[i].source_port ? 1024 : 1023, got, &len);
		if (why != requests[i].why)
			fail_msg("%s: %d", requests[i].what, why);
		if (!why) {
			assert_int_equal(lx_o2ib_proto_decode(got, len, &m), 0);
			assert_int_equal(m.type, LX_O2IB_CONNACK);
			assert_true(m.dst_incarnation == 4711 && m.src_nid == B_NID);
			continue;
		}
		assert_int_equal(lx_o2ib_proto_rej_decode(got, len, &rej), 0);
		if (why == LX_O2IB_REJ_DEPTH)
			assert_int_equal(rej.params.queue_depth, 8);
		if (why == LX_O2IB_REJ_FRAGS)
			assert_int_equal(rej.params.max_frags, 257);
	}
	assert_int_equal(simib_request(B, "short", 5, 1023, src, &(size_t){ 0 }),
			 LX_O2IB_REJ_FATAL);
}

/* ---- trouble ----------------------------------------------------------------------- */

static void silent_peer(void **state)
{
	put_one(a, b, B, 10, 10, true);
	simib.silent = true;
	log_clear();
	/* The request is sent and never answered. */
	assert_int_equal(get(a, mem(a, dst, BIG, 2), B, 20, 5), 0);
	lx_sim_run(sim, 120 * SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ETIMEDOUT);
	assert_at_rest(a);
	/* No connection is found: the attempt itself times out. */
	log_clear();
	assert_int_equal(put(a, mem(a, src, 10, 1), false, B, 20, 5), 0);
	lx_sim_run(sim, 120 * SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ETIMEDOUT);
	assert_at_rest(a);
	simib.silent = false;
	lx_sim_run(sim, 120 * SEC);
	put_one(a, b, B, BIG, BIG, true);
}

/* Lines in the log about the peer, by kind; what the log says of it last; when. */
static struct {
	unsigned int failed, rejected, back;
	uint64_t at_ns;
	char last[300];
} said;

static void listen_to_log(int level, const char *line, void *arg)
{
	if (!strstr(line, arg))
		return;
	said.failed += strstr(line, "cannot connect") != NULL;
	said.rejected += strstr(line, "connection rejected") != NULL;
	said.back += strstr(line, "connected again") != NULL;
	said.at_ns = lx_lnd_now(net_of(a)->ni);
	snprintf(said.last, sizeof(said.last), "%s", line);
}

/* A message to a peer that is not there fails by its own attempt. */
static void put_fails(const char *to)
{
	log_clear();
	assert_int_equal(put(a, mem(a, src, 1, 1), false, to, 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_true(the_event(LX_EVENT_SEND)->status < 0);
}

/* The log names a dead peer at once, then ever more rarely, and says when it is back. */
static void dead_peer_in_log(void **state)
{
	uint64_t gap = 0, last = 0;

	memset(&said, 0, sizeof(said));
	lx_set_log(listen_to_log, "peer=" B);
	lx_sim_ni_del(b, B);
	for (unsigned int second = 0, lines = 0; second < 7200; second++) {
		put_fails(B);
		if (said.failed == lines)
			continue;
		assert_int_equal(said.failed, lines + 1);
		/* Each pause is longer than the one before, up to the longest. */
		assert_true(!lines++ || said.at_ns - last > gap || gap >= 600 * SEC);
		gap = last ? said.at_ns - last : 0;
		assert_true(gap <= 602 * SEC);
		last = said.at_ns;
		if (lines == 1)
			assert_int_equal(second, 0);
	}
	assert_true(said.failed >= 18 && said.failed <= 22);
	assert_int_equal(said.back, 0);
	simib_ni_add(b, B, 8);
	put_one(a, b, B, 10, 10, true);
	put_one(a, b, B, 10, 10, true);
	assert_int_equal(said.back, 1);
	assert_non_null(strstr(said.last, "failed="));
	assert_true(atoi(strstr(said.last, "failed=") + 7) >= 7200);
	/* It starts anew. */
	said.failed = 0;
	lx_sim_ni_del(b, B);
	lx_sim_run(sim, SEC);
	put_fails(B);
	assert_int_equal(said.failed, 1);
	lx_set_log(NULL, NULL);
}

/* A reject is one line, with what to do, and no more of them than of other failures. */
static void reject_in_log(void **state)
{
	memset(&said, 0, sizeof(said));
	lx_set_log(listen_to_log, "peer=10.0.0.4@o2ib ");
	assert_non_null(node_on("10.0.0.4@o2ib5", 8));
	for (unsigned int second = 0; second < 60; second++)
		put_fails("10.0.0.4@o2ib");
	assert_true(simib_rejects[LX_O2IB_REJ_FATAL] >= 60);
	assert_int_equal(said.failed, 0);
	assert_true(said.rejected >= 5 && said.rejected <= 6);
	assert_non_null(strstr(said.last, "next="));
	lx_set_log(NULL, NULL);
}

/* A failure of long ago does not count; nor is its peer kept for ever. */
static void dead_peer_forgotten(void **state)
{
	memset(&said, 0, sizeof(said));
	lx_set_log(listen_to_log, "peer=10.0.0.9@o2ib ");
	for (unsigned int i = 0; i < 10; i++)
		put_fails("10.0.0.9@o2ib");
	assert_int_equal(lx_o2ib_lnd.peers(net_of(a)->ni), 1);
	lx_sim_run(sim, 3700 * SEC);
	assert_int_equal(lx_o2ib_lnd.peers(net_of(a)->ni), 0);
	put_fails("10.0.0.9@o2ib");
	assert_non_null(strstr(said.last, "failed=1 "));
	lx_set_log(NULL, NULL);
}

/* A peer vanishes in the middle: every operation ends, and ends once (the core checks). */
static void peer_goes(void **state)
{
	for (unsigned int i = 0; i < 60; i++) {
		log_clear();
		post(b, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT, 1);
		post(b, 20, NULL, 2, 0, src, BIG, LX_MD_OP_GET, 1);
		assert_int_equal(put(a, mem(a, src, BIG, 2), true, B, 20, 1), 0);
		assert_int_equal(get(a, mem(a, dst, BIG, 2), B, 20, 2), 0);
		lx_sim_run(sim, rnd_below(400000));
		lx_sim_ni_del(b, B);
		lx_sim_run(sim, 5 * SEC);
		assert_int_equal(count_events(LX_EVENT_SEND), 2);
		assert_at_rest(a);
		simib_ni_add(b, B, 8);
	}
}

/* More at once than there are credits, reservations and slots. */
static void crowd(void **state)
{
	post(b, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, 400);
	post(a, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, 400);
	for (unsigned int i = 0; i < 400; i++) {
		size_t len = i & 1 ? 100 : 8000;

		assert_int_equal(put(a, mem(a, src, len, 1), false, B, 20, 1), 0);
		assert_int_equal(put(b, mem(b, src, len, 1), false, A, 20, 1), 0);
	}
	lx_sim_run(sim, 10 * SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 800);
	expect_rest();
}

/* One direction only: credits must return by NOOPs, or everything stops. */
static void one_way(void **state)
{
	post(b, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, 200);
	for (unsigned int i = 0; i < 200; i++)
		assert_int_equal(put(a, mem(a, src, 64, 1), false, B, 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_PUT), 200);
	assert_true(simib_sent[LX_O2IB_NOOP] >= 200 / 8 && simib_sent[LX_O2IB_NOOP] <= 200 / 4);
	expect_rest();
}

static void keepalive(void **state)
{
	put_one(a, b, B, 10, 10, true);
	simib_sent[LX_O2IB_NOOP] = 0;
	lx_sim_run(sim, 350 * SEC);
	assert_true(simib_sent[LX_O2IB_NOOP] >= 6 && simib_sent[LX_O2IB_NOOP] <= 8);
	expect_rest();
}

/* Connections break all the time: every operation still ends. */
static void failures(void **state)
{
	unsigned int sent = 0, ended = 0;

	simib.failure = 30;
	for (unsigned int i = 0; i < 150; i++) {
		size_t len = rnd_below(3) ? rnd_below(20000) : rnd_below(300);

		log_clear();
		post(b, 20, NULL, i, 0, dst, BIG, LX_MD_OP_PUT, 1);
		post(b, 20, NULL, i + 1000, 0, src, BIG, LX_MD_OP_GET, 1);
		assert_int_equal(put(a, mem(a, src, len, 2), true, B, 20, i), 0);
		assert_int_equal(get(a, mem(a, dst, len + 1, 2), B, 20, i + 1000), 0);
		lx_sim_run(sim, 5 * SEC);
		sent += 2;
		ended += count_events(LX_EVENT_SEND);
		assert_at_rest(a);
	}
	assert_int_equal(sent, ended);
	simib.failure = 0;
	lx_sim_run(sim, 60 * SEC);
	put_one(a, b, B, BIG, BIG, true);
}

/* ---- routing ----------------------------------------------------------------------- */

static void routed(void **state)
{
	struct lx_sim_node *r, *c;

	assert_int_equal(lx_sim_node_new(sim, &r), 0);
	assert_int_equal(lx_sim_ni_add(r, "10.1.0.9@tcp", 8, 256), 0);
	simib_ni_add(r, "10.0.0.9@o2ib", 8);
	make_router(r);
	assert_int_equal(lx_sim_node_new(sim, &c), 0);
	assert_int_equal(lx_sim_ni_add(c, "10.1.0.1@tcp", 8, 256), 0);
	tune(c, "lnet_peer_discovery_disabled", "1");
	add_route(c, "o2ib", "10.1.0.9@tcp", 1, 0);
	add_route(a, "tcp", "10.0.0.9@o2ib", 1, 0);
	lx_sim_run(sim, 5 * SEC);
	for (unsigned int i = 0; i < N_OF(sizes); i++) {
		size_t len = sizes[i];

		if (!len)
			continue;
		log_clear();
		memset(dst, 0, BIG);
		post(a, 20, NULL, 1, 0, dst, len, LX_MD_OP_PUT, 1);
		assert_int_equal(put(c, mem(c, src, len, 2), true, A, 20, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(the_event(LX_EVENT_ACK)->mlength, len);
		assert_memory_equal(dst, src, len);

		log_clear();
		memset(dst, 0, BIG);
		post(c, 20, NULL, 2, 0, src, len, LX_MD_OP_GET, 1);
		assert_int_equal(get(a, mem(a, dst, len, 2), "10.1.0.1@tcp", 20, 2), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(the_event(LX_EVENT_REPLY)->mlength, len);
		assert_memory_equal(dst, src, len);
	}
	/* Through a router, GETs are not answered with RDMA. */
	assert_int_equal(simib_sent[LX_O2IB_GET_REQ], 0);
	assert_at_rest(a);
	assert_at_rest(r);
	assert_at_rest(c);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, o2ib_world_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(every_size),	  T(truncated),	     T(nobody_waits), T(scattered),
		T(checksums),	  T(depth_negotiated), T(both_at_once), T(several_conns),
		T(no_listener),	  T(wrong_nid),	     T(two_nets),     T(stale),
		T(stale_request), T(passive_checks), T(silent_peer),  T(peer_goes),
		T(crowd),	  T(one_way),	     T(keepalive),    T(failures),
		T(routed),	  T(dead_peer_in_log), T(reject_in_log), T(dead_peer_forgotten),
	};

	rnd_init();
	return cmocka_run_group_tests_name("o2ib_conn", tests, NULL, NULL);
}
