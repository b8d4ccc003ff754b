/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A router with fake fast path programs, and raw peers on both sides. */
#ifndef LX_TESTS_SOCKFPWORLD_H
#define LX_TESTS_SOCKFPWORLD_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../lnd/sock/priv.h"
#include "../../lnd/sock/sock.h"
#include "../../user/fastpath/priv.h"
#include "fakeclock.h"
#include "fakecore.h"
#include "fakefastpath.h"
#include "rawpeer.h"
#include "testlib.h"

#define PORT 9886
#define IN_IP "10.1.0.5"
#define OUT_IP "10.2.0.5"
#define CLIENT_IP "10.1.0.2"
#define SERVER_IP "10.2.0.2"
#define OTHER_IP "10.1.0.3"
#define V LX_SOCK_V3

static struct lx_env *env;
static struct lx_fastpath *fastpath;
static struct lx_fp_offload offload;
static struct fake_node *in, *out; /* the router's NIs */
static struct lx_nid in_nid, out_nid, client, claimed, server;
static int fds[16];
static unsigned int n_fds;
static char logged[4096];

static inline void on_log(int level, const char *line, void *arg)
{
	size_t have = strlen(logged);

	snprintf(logged + have, sizeof(logged) - have, "%s\n", line);
	if (getenv("VERBOSE"))
		printf("   <%d> %s\n", level, line);
}

static inline int setup(void **state)
{
	logged[0] = '\0';
	lx_set_log(on_log, NULL);
	lx_tunable_defaults(lx_sock_lnd.tunables, &lx_sock_tun);
	lx_sock_tun.accept_port = lx_sock_tun.accept_port_bulk = PORT;
	assert_int_equal(lx_nid_parse(IN_IP "@tcp", &in_nid), 0);
	assert_int_equal(lx_nid_parse(OUT_IP "@tcp1", &out_nid), 0);
	assert_int_equal(lx_nid_parse(CLIENT_IP "@tcp", &client), 0);
	assert_int_equal(lx_nid_parse("10.1.0.99@tcp", &claimed), 0);
	assert_int_equal(lx_nid_parse(SERVER_IP "@tcp1", &server), 0);
	fastpath = fake_fastpath_new();
	assert_int_equal(lx_env_new(2, NULL, NULL, &env), 0);
	lx_fp_offload_init(&offload, fastpath);
	lx_env_lock(env);
	lx_sock_set_offload(env, &offload.offload);
	lx_env_unlock(env);
	in = fake_new(IN_IP "@tcp", 0, env);
	out = fake_new(OUT_IP "@tcp1", 0, env);
	in->forward_to = out;
	in->forward_id = fake_id(SERVER_IP "@tcp1");
	n_fds = 0;
	return 0;
}

static inline int teardown(void **state)
{
	fake_clock_run();
	fake_free(in);
	fake_free(out);
	lx_env_lock(env);
	lx_sock_set_offload(env, NULL);
	lx_env_unlock(env);
	lx_env_free(env);
	fake_fastpath_free(fastpath);
	while (n_fds)
		close(fds[--n_fds]);
	return 0;
}

/* ---- peers --------------------------------------------------------------------------- */

/* Drops all incoming segments of the socket, or stops doing so. */
static inline void cut_off(int fd, bool cut)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog prog = { .len = 1, .filter = &nothing };

	if (cut)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)), 0);
	else
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &(int){ 0 },
					    sizeof(int)), 0);
}

/* Dials as a peer, with @ctype as the peer sees it; again, if we are dialling it ourselves. */
static inline int dialled(const char *ip, const struct lx_nid *nid, uint32_t ctype, bool cut)
{
	bool to_in = nid != &server;
	struct lx_hello hello = raw_hello_of(V, nid, to_in ? &in_nid : &out_nid, ctype), answer;
	uint8_t buf[LX_ACC_REQ_MAX];
	size_t n;
	int fd;

	for (int i = 0;; i++) {
		fd = raw_dial(ip, true, to_in ? IN_IP : OUT_IP, PORT);
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){ 16384 }, sizeof(int));
		if (cut)
			break;
		assert_true(raw_handshake(fd, &hello, &answer));
		if (answer.ctype != LX_CTYPE_NONE || i == 1000)
			break;
		close(fd);
		usleep(1000);
	}
	fds[n_fds++] = fd;
	if (!cut) {
		assert_int_equal(answer.ctype, lx_proto_ctype_invert(ctype));
		return fd;
	}
	n = lx_proto_acc_encode(&hello.dst_nid, buf);
	cut_off(fd, true);
	raw_write(fd, buf, n);
	raw_hello(fd, &hello);
	return fd;
}

/* Sends @n messages from the client to the server, on one of its connections. */
static inline void send_puts(int fd, unsigned int n, size_t len)
{
	struct raw_msg msg = { .hdr = { .dst_nid = server,
					.src_nid = client,
					.dst_pid = LX_PID_LUSTRE,
					.src_pid = LX_PID_LUSTRE,
					.type = LX_MSG_PUT,
					.payload_length = len } };

	for (unsigned int i = 0; i < n; i++)
		raw_put(fd, V, false, &msg);
}

/* ---- waiting ---------------------------------------------------------------------------- */

static inline struct lx_fp *fp(void)
{
	return ((struct lx_sock_net *)in->ni.lnd_data)->host->offload_state;
}

static inline bool fp_is_there(void)
{
	return fp();
}

static inline bool stream_is_on(void)
{
	return fastpath->stream[0].state == LX_STREAM_ON;
}

static inline bool lane_is_live(void)
{
	return fastpath->lane[0].state == LX_LANE_LIVE;
}

static inline bool second_stream_is_on(void)
{
	return fastpath->stream[1].state == LX_STREAM_ON;
}

static inline bool lane_is_stored(void)
{
	return fastpath->lane[0].state == LX_LANE_STORED;
}

static inline bool lane_is_back(void)
{
	return fastpath->lane[0].state == LX_LANE_SOCKET;
}

/* Evaluates @ready under the node lock. */
static inline bool eventually(bool (*ready)(void), unsigned int ms)
{
	bool is;

	for (unsigned int i = 0;; i++) {
		lx_env_lock(env);
		is = ready();
		lx_env_unlock(env);
		if (is || i == ms)
			return is;
		fake_clock_sleep();
	}
}

/* Creates a framed stream and a lane to the server. */
static inline int stream_and_lane(void)
{
	int fd;

	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	dialled(SERVER_IP, &server, LX_CTYPE_BULK_IN, false);
	fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 2, 0);
	assert_true(eventually(stream_is_on, 20000));
	assert_true(eventually(lane_is_live, 20000));
	return fd;
}

static int to_server; /* the server's end of lane 0 */

/* The same with a timeout in seconds, and a clock that has stopped. */
static inline int timed_world(int timeout)
{
	int fd;

	assert_true(eventually(fp_is_there, 20000));
	dialled(SERVER_IP, &server, LX_CTYPE_CONTROL, false);
	to_server = dialled(SERVER_IP, &server, LX_CTYPE_BULK_IN, false);
	lx_env_lock(env);
	assert_int_equal(lx_sock_lnd.set_tunable(&out->ni, LX_SOCK_NI_TIMEOUT, timeout), 0);
	lx_env_unlock(env);
	fd = dialled(CLIENT_IP, &client, LX_CTYPE_BULK_OUT, false);
	send_puts(fd, 1, 0);
	assert_true(eventually(stream_is_on, 20000));
	assert_true(eventually(lane_is_live, 20000));
	fake_clock_stop();
	return fd;
}

/*
 * As raw_closed(), but a stopped clock goes on meanwhile; ten times as fast as real time if that
 * takes seconds. (The daemon counts at most LX_LOOK_MAX_NS between two looks.)
 */
static inline bool closed(int fd, unsigned int ms)
{
	unsigned int step = ms > 2000 ? 10 : 1;

	for (unsigned int i = 0; i < ms; i += step) {
		if (raw_closed(fd, 0))
			return true;
		fake_clock_go(step - 1);
		fake_clock_sleep();
	}
	return raw_closed(fd, 0);
}

/* ---- in place of the programs ------------------------------------------------------------- */

/* Sets the ring of stream 0, from @head on. */
static inline void set_ring(uint32_t head, const struct lx_extent *extents, uint32_t n)
{
	struct lx_stream *s = &fastpath->stream[0];

	lx_env_lock(env);
	for (uint32_t i = 0; i < n; i++)
		s->extent[(head + i) % LX_STREAM_EXTENTS] = extents[i];
	s->head = head;
	s->tail = head + n;
	lx_env_unlock(env);
}

static inline void lane_has_acked(uint64_t una)
{
	lx_env_lock(env);
	fastpath->lane[0].una = una;
	lx_env_unlock(env);
}

/*
 * A stream's only message is run @number of its lane, the last one, and @here bytes of it have
 * arrived. With the lock held.
 */
static inline void put_run(uint16_t number, unsigned int stream, const struct lx_extent *message,
			   uint32_t here)
{
	struct lx_lane *l = &fastpath->lane[message->lane];
	struct lx_stream *s = &fastpath->stream[stream];
	uint64_t from = htole64(lx_nid_to_u64(&fp()->stream[stream].conn->facts.nid));

	s->extent[0] = *message;
	memcpy(s->extent[0].nids + sizeof(from), &from, sizeof(from));
	s->parse_next = message->start + message->len;
	s->advertised_ack = message->start;
	s->advertised_edge = s->parse_next;
	s->head = 0;
	s->tail = 1;
	s->high = s->arrived = message->start + here;
	*lx_lane_run(l, number) = (struct lx_lane_run){ .start = message->lane_start,
							.tag = LX_LANE_RUN | number,
							.stream = stream,
							.from = s->peer };
	l->word = lx_lane_word(stream, number + 1, message->lane_start + message->len);
}

/* Puts the first @len of a message's @all bytes on the lane. */
static inline void begin_on_lane(unsigned int lane, unsigned int stream, uint32_t all, uint32_t len)
{
	struct lx_lane *l = &fastpath->lane[lane];

	lx_env_lock(env);
	put_run(0, stream, &(struct lx_extent){ .lane = lane, .len = all }, len);
	l->run_first = 0;
	l->sent = len;
	l->una = 0;
	lx_env_unlock(env);
}

/* The numbers of lane 0's socket lie so far in front, of four windows of 10,000 bytes. */
static inline void numbers_are_ahead(uint32_t by)
{
	lx_env_lock(env);
	fastpath->lane[0].window_max = 10000;
	fastpath->lane[0].shift = -by;
	lx_env_unlock(env);
}

/* Another stream's message of @len bytes follows on lane 0. */
static inline void another_behind(uint32_t len)
{
	struct lx_lane *l = &fastpath->lane[0];

	lx_env_lock(env);
	l->run[1] = (struct lx_lane_run){ .start = (uint32_t)l->word, .tag = LX_LANE_RUN | 1,
					  .stream = 63, .from = fastpath->stream[0].peer };
	l->word = lx_lane_word(63, 2, (uint32_t)l->word + len);
	l->first_ns = lx_sock_now();
	lx_env_unlock(env);
}

/* Runs tests in their own network namespace. */
#define SOCKFP_RUN(tests)                                                                          \
	(raw_private_net() ? sockfp_addresses() ? 1 : cmocka_run_group_tests(tests, NULL, NULL) : 0)

static inline int sockfp_addresses(void)
{
	rnd_init();
	alarm(300); /* an endless loop would hold the node lock */
	return system("ip link add d0 type veth peer name d1 && ip addr add " IN_IP "/24 dev d0 && "
		      "ip addr add " CLIENT_IP "/24 dev d0 && ip addr add " OUT_IP "/24 dev d0 && "
		      "ip addr add " OTHER_IP "/24 dev d0 && "
		      "ip addr add " SERVER_IP "/24 dev d0 && ip link set d0 up && ip link set d1 up");
}

#endif
