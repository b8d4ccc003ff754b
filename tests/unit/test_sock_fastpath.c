/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's half of the fast path, without the kernel's: two NIs of one router, a scripted
 * client on one side, a scripted server on the other. The maps are plain memory
 * (fakefastpath.h), and the test plays the programs.
 */
#include "sockfpworld.h"

/* Bytes that the socket received: those read, and those still queued. */
static uint64_t arrived(int fd, uint64_t n_read)
{
	int waiting = 0;

	assert_int_equal(ioctl(fd, SIOCINQ, &waiting), 0);
	return n_read + waiting;
}

/* A stream, which has brought one message for lane 0. */
static int stream(void)
{
	int fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false);

	send_puts(fd, 1, 0);
	assert_true(eventually(stream_is_on, 20000));
	return fd;
}

static bool parsed(unsigned int n)
{
	return fake_wait_count(in, &in->n_parsed, n, 20000);
}

/* True if exactly @n messages have been parsed, and no more for now. */
static bool stays_parsed(unsigned int n)
{
	usleep(50000);
	return parsed(n) && !fake_wait_count(in, &in->n_parsed, n + 1, 0);
}

/* Sends a message for a node behind the server. */
static void send_for_far(int fd)
{
	struct lx_nid near = server;

	assert_int_equal(lx_nid_parse("10.7.0.1@tcp7", &server), 0);
	send_puts(fd, 1, 0);
	server = near;
}

/* A message of lane 0 waits for none that is on a lane, not even one for the same NID. */
static void test_waits_for_nobody(void **state)
{
	struct lx_extent extent = { .lane = 0, .lane_start = 0, .len = 1000 };
	int fd;

	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	assert_true(eventually(fp_is_there, 20000));
	fd = stream();
	lx_env_lock(env);
	fastpath->lane[0].state = LX_LANE_LIVE;
	lx_env_unlock(env);
	set_ring(0, &extent, 1);
	send_puts(fd, 1, 0);
	assert_true(parsed(2));
}

static bool any_lane(void)
{
	return fastpath->taken[LX_FASTPATH_LANES];
}

/* A peer sends messages to route on its connection for bulk to it, before that becomes a lane. */
static void test_stream_is_no_lane(void **state)
{
	int fd;

	assert_true(eventually(fp_is_there, 20000));
	dialled(CLIENT_IP, &client, LX_CTYPE_CONTROL, false);
	fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_IN, false);
	send_puts(fd, 1, 0);
	assert_true(eventually(stream_is_on, 20000));
	assert_false(eventually(any_lane, 500));
}

/* The router's own NIDs are always known. */
#define N_OWN 2

/* Reports a policy change; returns how many other destinations remain. */
static unsigned int known_after(const char *nid, uint32_t net)
{
	struct lx_nid of;
	unsigned int n;

	if (nid)
		assert_int_equal(lx_nid_parse(nid, &of), 0);
	lx_env_lock(env);
	in->ni.lnd->policy_changed(&in->ni, nid ? &of : NULL, net);
	n = fastpath->n_dests - N_OWN;
	lx_env_unlock(env);
	return n;
}

/* ---- more destinations than there is room for ------------------------------------------------ */

static bool knows(unsigned int number)
{
	struct lx_nid nid;
	char text[32];

	snprintf(text, sizeof(text), "10.9.0.%u@tcp9", number);
	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return lx_fp_dest_lookup(fp(), &nid);
}

static bool learns(unsigned int number)
{
	struct lx_sock_peer *next_hop;
	struct lx_nid nid;
	char text[32];

	snprintf(text, sizeof(text), "10.9.0.%u@tcp9", number);
	assert_int_equal(lx_nid_parse(text, &nid), 0);
	lx_env_lock(env);
	next_hop = lx_sock_peer_lookup(out->ni.lnd_data, &in->forward_id);
	lx_fp_learn(fp(), next_hop, &nid, true);
	lx_env_unlock(env);
	return knows(number);
}

/* The oldest make room, but not those that have just come; what finds no room changes nothing. */
static void test_full_of_dests(void **state)
{
	unsigned int n = 1;

	stream_and_lane();
	fake_clock_stop();
	while (learns(n))
		n++;
	assert_int_equal(fastpath->n_dests, FAKE_DESTS);
	fake_clock_go(1000);
	assert_false(learns(n));
	assert_int_equal(fastpath->n_dests, FAKE_DESTS);
	fake_clock_go(10000);
	assert_true(learns(n));
	assert_false(knows(1));
	assert_true(fastpath->n_dests <= FAKE_DESTS);
	/* Our own NIDs stay, whatever happens. */
	assert_true(lx_fp_dest_lookup(fp(), &in_nid));
	assert_true(lx_fp_dest_lookup(fp(), &out_nid));
	assert_int_equal(known_after(NULL, LX_NET_U32_ANY), 0);
	assert_true(lx_fp_dest_lookup(fp(), &in_nid));
	assert_true(lx_fp_dest_lookup(fp(), &out_nid));
}

/*
 * A next hop that is behind NAT has a lane, as long as nothing comes from its own address: anybody
 * can connect in its name.
 */
static void test_lane_of_another_address(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	dialled(OTHER_IP, &server, LX_CTYPE_CONTROL, false);
	dialled(OTHER_IP, &server, LX_CTYPE_BULK_IN, false);
	send_puts(dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false), 2, 0);
	assert_true(eventually(lane_is_live, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	assert_true(eventually(lane_is_back, 20000));
}

static bool has_tos(void)
{
	return fastpath->stream[0].tos == 96 && fastpath->lane[0].tos == 32;
}

/* Changes of the setting reach existing streams and lanes. */
static void test_tos(void **state)
{
	stream_and_lane();
	lx_env_lock(env);
	assert_int_equal(lx_sock_lnd.set_tunable(&in->ni, LX_SOCK_NI_TOS, 96), 0);
	assert_int_equal(lx_sock_lnd.set_tunable(&out->ni, LX_SOCK_NI_TOS, 32), 0);
	lx_env_unlock(env);
	assert_true(eventually(has_tos, 2000));
}

/* ---- signs of life --------------------------------------------------------------------------- */

static bool sampled(void)
{
	return fastpath->stream[0].sample == 1;
}

/* The core hears of messages on lanes even if nobody reads counters. */
static void test_life(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	stream();
	lx_env_lock(env);
	fastpath->stream[0].lane_types[LX_MSG_PUT] = 5;
	fastpath->stream[0].src_net = LX_NET(LX_NET_TCP, 7);
	lx_env_unlock(env);
	assert_true(fake_wait_count(in, &in->n_offloaded, 5, 20000));
	assert_true(lx_nid_eq(&in->offloaded_from, &client));
	assert_int_equal(in->offloaded_src_net, LX_NET(LX_NET_TCP, 7));
	/* It requests a sample of a stream with some traffic. */
	assert_false(sampled());
	lx_env_lock(env);
	fastpath->stream[0].messages = 64;
	lx_env_unlock(env);
	assert_true(eventually(sampled, 20000));
}

/* ---- who is who ------------------------------------------------------------------------------ */

static bool both_are_numbered(void)
{
	return fastpath->peer[0].node + fastpath->peer[1].node == 5 + 6;
}

/* The programs know which NIDs belong to one peer, also after a change. */
static void test_peer_number(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	in->peer_number = 5;
	out->peer_number = 6;
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	send_puts(stream(), 1, 0);
	assert_true(eventually(both_are_numbered, 20000));
	lx_env_lock(env);
	in->peer_number = 6;
	in->ni.lnd->policy_changed(&in->ni, &server, LX_NET_U32_ANY);
	assert_int_equal(fastpath->peer[0].node + fastpath->peer[1].node, 5 + 6);
	in->ni.lnd->policy_changed(&in->ni, NULL, LX_NET_U32_ANY);
	assert_int_equal(fastpath->peer[0].node, 6);
	assert_int_equal(fastpath->peer[1].node, 6);
	lx_env_unlock(env);
}

/* ---- where messages go ------------------------------------------------------------------- */

static bool knows_two(void)
{
	return fastpath->n_dests == N_OWN + 2;
}

/* Destinations whose next hop may have changed are forgotten, and no others. */
static void test_forget(void **state)
{
	int fd;

	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	fd = stream(); /* with a message for the server */
	send_for_far(fd);
	assert_true(eventually(knows_two, 20000));
	assert_int_equal(known_after("10.2.0.99@tcp1", LX_NET_U32_ANY), 2);
	assert_int_equal(known_after(NULL, LX_NET(LX_NET_TCP, 9)), 2);
	assert_int_equal(known_after(NULL, LX_NET(LX_NET_TCP, 7)), 1);
	send_for_far(fd);
	assert_true(eventually(knows_two, 20000));
	assert_int_equal(known_after("10.7.0.1@tcp7", LX_NET_U32_ANY), 1);
	send_for_far(fd);
	assert_true(eventually(knows_two, 20000));
	/* One is this NID, the other is reached through it. */
	assert_int_equal(known_after(SERVER_IP "@tcp1", LX_NET_U32_ANY), 0);
	send_puts(fd, 1, 0);
	send_for_far(fd);
	assert_true(eventually(knows_two, 20000));
	assert_int_equal(known_after(NULL, LX_NET_U32_ANY), 0);
}

/* ---- connections that end together ----------------------------------------------------------- */

/*
 * Puts two PUTs and a GET on a lane: all but the last @unsent bytes sent, the first PUT
 * acknowledged.
 */
static int three_on_lane(uint32_t unsent)
{
	struct lx_extent extents[] = {
		{ .lane = 0, .lane_start = 0, .len = 24 + 72 + 100, .type = LX_MSG_PUT },
		{ .lane = 0, .lane_start = 196, .len = 24 + 72 + 200, .type = LX_MSG_PUT },
		{ .lane = LX_NO_LANE, .lane_start = 0, .len = 500 },
		{ .lane = 0, .lane_start = 492, .len = 24 + 72, .type = LX_MSG_GET },
	};
	int lane;

	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	lane = dialled(SERVER_IP, &server, LX_CTYPE_BULK_IN, false);
	stream();
	send_puts(fds[n_fds - 1], 1, 0);
	assert_true(eventually(lane_is_live, 20000));
	begin_on_lane(0, 0, 588, 588 - unsent);
	set_ring(0, extents, 4);
	lane_has_acked(196);
	return lane;
}

/* Messages unacknowledged on a lane at a reset are lost, and reported to the core by type. */
static void test_lost(void **state)
{
	const struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	int lane = three_on_lane(0);

	assert_return_code(connect(lane, &nowhere, sizeof(nowhere)), errno); /* sends a reset */
	assert_true(fake_wait_count(out, &out->n_dropped, 2, 20000));
	assert_int_equal(out->lost.put, 1);
	assert_int_equal(out->lost.get, 1);
	assert_int_equal(out->lost_payload, 200);
	assert_int_equal(out->lost_hstatus, LX_HSTATUS_REMOTE_DROPPED);
	assert_non_null(strstr(logged, "messages=2 "));
}

/* A next hop that closes cleanly may still owe an ACK: only unsent messages are lost. */
static void test_goodbye(void **state)
{
	shutdown(three_on_lane(40), SHUT_RDWR);
	assert_true(fake_wait_count(out, &out->n_dropped, 1, 20000));
	assert_int_equal(out->lost.put, 0);
	assert_int_equal(out->lost.get, 1);
	assert_int_equal(out->lost_payload, 0);
	assert_int_equal(out->lost_hstatus, LX_HSTATUS_REMOTE_DROPPED);
	assert_non_null(strstr(logged, "messages=1 "));
}

/*
 * A peer that is the next hop of its own messages: one of its connections fails, all are
 * closed, and with its stream the lane that it used, which is the next one.
 */
static void test_close_siblings(void **state)
{
	struct lx_sock_msg garbage = { .type = 0x77 };
	int first;

	assert_true(eventually(fp_is_there, 20000));
	first = dialled(CLIENT_IP, &client, LX_CTYPE_CONTROL, false);
	send_puts(dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false), 1, 0);
	assert_true(eventually(stream_is_on, 20000));
	dialled(CLIENT_IP, &client, LX_CTYPE_BULK_IN, false);
	assert_true(eventually(lane_is_live, 20000));
	begin_on_lane(0, 0, 1000, 500);
	raw_write(first, &garbage, sizeof(garbage));
	assert_true(fake_wait_conns(in, 0, 20000));
}

static bool lane_is_gone(void)
{
	return fastpath->lane[0].state == LX_LANE_FREE || fastpath->lane[0].state == LX_LANE_DEAD;
}

static bool is_rated(void)
{
	return fastpath->lane[0].handovers_per_s && fastpath->lane[0].waits[3] < 100;
}

/* Recent figures: hand-overs of the last second, and waits, which are forgotten. */
static void test_rate(void **state)
{
	three_on_lane(0);
	lx_env_lock(env);
	fastpath->lane[0].handovers += 100000;
	fastpath->lane[0].waits[3] = 100;
	lx_env_unlock(env);
	assert_true(eventually(is_rated, 20000));
}

/* A lane that was taken back ends normally: the programs shift its socket's numbers to the end. */
static void test_back_and_closed(void **state)
{
	uint64_t ours = (uint64_t)LX_LANE_OURS << 32 | 588;
	int lane = three_on_lane(0);

	lane_has_acked(588);
	lx_env_lock(env);
	fastpath->lane[0].word &= ~((uint64_t)LX_LANE_BUSY << 32);
	lx_sock_tun.fastpath = 0;
	lx_env_unlock(env);
	assert_true(eventually(lane_is_back, 20000));
	shutdown(lane, SHUT_RDWR);
	assert_true(eventually(lane_is_gone, 20000));
	lx_env_lock(env);
	assert_int_equal(fastpath->lane[0].word & ~(0xffffull << (32 + LX_LANE_TAIL_SHIFT)), ours);
	assert_int_equal(fastpath->lane[0].shift, 588);
	lx_env_unlock(env);
}

/* ---- the fast path goes ---------------------------------------------------------------------- */

static bool becomes_arrived(int fd, uint64_t n)
{
	for (int i = 0; arrived(fd, 0) < n && i < 20000; i++)
		usleep(1000);
	return arrived(fd, 0) == n;
}

/*
 * The accelerator is removed: streams and lanes end, since their sockets have not seen
 * everything; other connections stay, and it is not used any more. Another one may be
 * installed.
 */
static void test_leave(void **state)
{
	struct lx_fastpath *next = fake_fastpath_new();
	uint64_t before;
	int other, fd;

	assert_true(eventually(fp_is_there, 20000));
	other = dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	dialled(SERVER_IP, &server, LX_CTYPE_BULK_IN, false);
	send_puts(dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false), 1, 0);
	assert_true(eventually(stream_is_on, 20000));
	assert_true(eventually(lane_is_live, 20000));
	assert_true(becomes_arrived(other, 24 + 72));
	lx_env_lock(env);
	lx_sock_set_offload(env, NULL);
	assert_null(fp());
	fake_fastpath_free(fastpath);
	fastpath = next;
	lx_env_unlock(env);
	assert_true(fake_wait_conns(in, 0, 20000));
	assert_true(fake_wait_conns(out, 1, 20000));
	before = arrived(other, 0);

	/* The slow path and existing connections continue. */
	fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 1, 0);
	assert_true(becomes_arrived(other, before + 24 + 72));
	lx_env_lock(env);
	assert_null(fp());
	lx_fp_offload_init(&offload, fastpath);
	lx_sock_set_offload(env, &offload.offload);
	lx_env_unlock(env);
	assert_true(eventually(fp_is_there, 20000));
	send_puts(fd, 1, 0);
	assert_true(eventually(stream_is_on, 20000));
}

/* ---- who has how many streams ------------------------------------------------------------ */

static unsigned int n_streams; /* wanted */

static bool has_streams(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < FAKE_STREAMS; i++)
		n += fastpath->stream[i].state != LX_STREAM_FREE;
	return n == n_streams;
}

static bool becomes_streams(unsigned int n)
{
	n_streams = n;
	return eventually(has_streams, 20000);
}

/* Connects from @ip with the invented NID 10.1.9.@number, and sends one message. */
static int invented(const char *ip, unsigned int number)
{
	struct lx_nid real = client;
	char text[32];
	int fd;

	snprintf(text, sizeof(text), "10.1.9.%u@tcp", number);
	assert_int_equal(lx_nid_parse(text, &client), 0);
	fd = dialled(ip, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 1, 0);
	client = real;
	return fd;
}

static void limit_streams(int n)
{
	lx_env_lock(env);
	lx_sock_tun.fastpath_streams = n;
	lx_env_unlock(env);
}

/*
 * Whatever NIDs a host invents, it leaves streams to others, and its own come back when it
 * closes some.
 */
static void test_share(void **state)
{
	enum { SHARE = 2 };
	int fd[8];

	limit_streams(8 * SHARE);
	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	for (unsigned int i = 0; i < N_OF(fd); i++) {
		fd[i] = invented(CLIENT_IP, i);
		assert_true(parsed(i + 1)); /* the first ones get the streams */
	}
	assert_true(becomes_streams(SHARE));
	assert_non_null(strstr(logged, "address=" CLIENT_IP));
	invented(OTHER_IP, 20);
	assert_true(becomes_streams(SHARE + 1));
	/* Two of them are streams; only when these end there is room. */
	shutdown(fd[0], SHUT_RDWR);
	shutdown(fd[1], SHUT_RDWR);
	assert_true(becomes_streams(1));
	invented(CLIENT_IP, 30);
	assert_true(becomes_streams(2));
}

static bool other_has_it(void)
{
	/* ::ffff:10.1.0.3 */
	return fastpath->stream[0].state == LX_STREAM_ON && fastpath->stream[0].key.remote[15] == 3;
}

static bool first_has_it(void)
{
	return fastpath->stream[0].state == LX_STREAM_ON && fastpath->stream[0].key.remote[15] == 2;
}

/* Sets stream 0's bytes that went by lanes, arrived here, and were acknowledged. */
static void set_positions(uint64_t diverted, uint64_t high, uint64_t acked)
{
	struct lx_stream *s = &fastpath->stream[0];

	lx_env_lock(env);
	s->diverted = diverted;
	s->high = s->parse_next = high;
	s->acked = s->advertised_ack = acked;
	lx_env_unlock(env);
}

/*
 * An idle connection gives up its stream when everything has arrived; from then on the bytes
 * that went by lanes are compensated, also when it becomes a stream again.
 */
static void test_idle(void **state)
{
	int fd, first;

	limit_streams(1);
	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	first = invented(CLIENT_IP, 1);
	assert_true(eventually(stream_is_on, 20000));
	fake_clock_stop();
	set_positions(1000, 3000, 2000);
	fake_clock_go(6000);
	client.addr[3] = 9;
	fd = dialled(OTHER_IP, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 1, 0);
	assert_true(stays_parsed(2));
	assert_true(eventually(stream_is_on, 0));
	assert_false(eventually(other_has_it, 0));
	assert_non_null(strstr(logged, "all of them are in use"));
	set_positions(1000, 3000, 3000);
	for (int i = 0; i < 200 && !eventually(other_has_it, 100); i++)
		send_puts(fd, 1, 0);
	assert_true(eventually(other_has_it, 0));
	lx_env_lock(env);
	assert_int_equal(fastpath->shift.index, 1000);
	lx_env_unlock(env);
	/* The other way round, without bytes on lanes. */
	fake_clock_go(6000);
	for (int i = 0; i < 200 && !eventually(first_has_it, 100); i++)
		send_puts(first, 1, 0);
	assert_true(eventually(first_has_it, 0));
	lx_env_lock(env);
	assert_int_equal(fastpath->stream[0].diverted, 1000);
	lx_env_unlock(env);
}

static void set_unfit(bool unfit)
{
	lx_env_lock(env);
	fastpath->unfit = unfit;
	lx_env_unlock(env);
}

static bool stream_is_listed(void)
{
	return fastpath->stream[0].state == LX_STREAM_ECN;
}

/* A connection that the programs cannot serve is listed, but yields its place at once. */
static void test_unfit(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	limit_streams(1);
	set_unfit(true);
	invented(CLIENT_IP, 1);
	assert_true(parsed(1));
	assert_true(eventually(stream_is_listed, 0));
	set_unfit(false);
	for (int i = 0; i < 10 && !eventually(other_has_it, 2000); i++)
		invented(OTHER_IP, 20 + i);
	assert_true(eventually(other_has_it, 0));
}

static void set_unseen(bool unseen)
{
	lx_env_lock(env);
	fastpath->unseen = unseen;
	lx_env_unlock(env);
}

static bool stream_is_elsewhere(void)
{
	return fastpath->stream[0].state == LX_STREAM_ELSEWHERE;
}

static bool lane_is_elsewhere(void)
{
	return fastpath->lane[0].state == LX_LANE_ELSEWHERE;
}

/* Whether it was asked for a packet, by a keepalive. */
static bool was_asked(int fd)
{
	struct raw_msg msg;

	return raw_read_msg(fd, V, &msg) && msg.head.type == LX_SOCK_NOOP &&
	       msg.head.cookie[1] == LX_SOCK_COOKIE_KEEPALIVE;
}

/* lnetxd serves connections that the programs do not see, until they do. */
static void test_elsewhere(void **state)
{
	int fd, idle;

	assert_true(eventually(fp_is_there, 20000));
	set_unseen(true);
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	idle = dialled(SERVER_IP, &server, LX_CTYPE_BULK_IN, false);
	fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 1, 0);
	assert_true(was_asked(idle));
	assert_true(eventually(lane_is_elsewhere, 20000));
	assert_false(stream_is_elsewhere()); /* its socket has got nothing meanwhile, either */
	send_puts(fd, 1, 0);
	assert_true(eventually(stream_is_elsewhere, 20000));
	assert_int_equal(fastpath->n_filtered, 0);
	/* They do, but where its socket sends, what they send does not arrive. */
	fastpath->no_route = true;
	set_unseen(false);
	assert_false(eventually(lane_is_live, 300));
	assert_true(lane_is_elsewhere());
	assert_true(stream_is_elsewhere());
	fastpath->no_route = false;
	assert_true(eventually(lane_is_live, 20000));
	for (int i = 0; i < 10 && !eventually(stream_is_on, 2000); i++)
		send_puts(fd, 1, 0);
	assert_true(eventually(stream_is_on, 0));
	assert_int_equal(fastpath->n_filtered, 2);
}

static bool stream_has_moved(void)
{
	return fastpath->stream[0].ifindex == fastpath->moved && fastpath->pokes[0];
}

/* The sender's packets come another way, to which the route leads: so do our ACKs. */
static void test_moves(void **state)
{
	assert_true(eventually(fp_is_there, 20000));
	stream();
	lx_env_lock(env);
	fastpath->pokes[0] = 0;
	fastpath->moved = 77;
	fastpath->stream[0].packets++;
	lx_env_unlock(env);
	assert_true(eventually(stream_has_moved, 20000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_waits_for_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stream_is_no_lane, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_of_dests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lane_of_another_address, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tos, setup, teardown),
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_number, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_goodbye, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close_siblings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_and_closed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leave, setup, teardown),
		cmocka_unit_test_setup_teardown(test_share, setup, teardown),
		cmocka_unit_test_setup_teardown(test_idle, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unfit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moves, setup, teardown),
	};

	return SOCKFP_RUN(tests);
}
