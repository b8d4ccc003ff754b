/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bystanders of a failing next hop or sender, in virtual time: 6 senders, 2 next hops
 * with 2 lanes each. As in scaleworld.h, and the daemon's lane.c, store.c, lost.c and cut.c are
 * real, too. Modelled: a stored lane's socket, which repeats what is not acknowledged; socklnd at
 * the next hop, which closes all connections when one ends inside a message.
 */
#define STREAMS 6
#define HOPS 2
#define CONNS 2
#define IN_FLIGHT 4
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../user/io/tcpinfo.h"
#include "scalenet.h"

#define FAULTY 0 /* the sender, or the next hop, that fails */
#define BEGIN (1000 * MS)
#define RECONNECT (100 * MS)

static int faulty_sender; /* -1: it is the next hop that fails */
static __u64 worst_ns[HOPS]; /* of messages of the others, by next hop */
static unsigned long n_delivered, n_lost_of_others, n_stores, n_cuts, n_elsewhere, n_bad;
static struct lx_fp_conn slow_conn[HOPS];
static struct lx_sock_conn slow_sock[HOPS];
static int peer_end[LANES]; /* of a stored lane's socket */
static __u64 repeat_ns[LANES], gone_ns[LANES];
static struct lx_sock_peer *const sock_peer[HOPS] = { (void *)&hop[0], (void *)&hop[1] };

int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	if (!fp) /* for the seed */
		return syscall(SYS_clock_gettime, clock, ret_now);
	*ret_now = (struct timespec){ now_ns / LX_S_NS, now_ns % LX_S_NS };
	return 0;
}

static void note_age(int who, const struct message *m)
{
	if (who != faulty_sender && now_ns - m->begun_ns > worst_ns[m->hop] &&
	    now_ns >= measured_from)
		worst_ns[m->hop] = now_ns - m->begun_ns;
}

static void note_delay(int who, const struct message *m)
{
	n_delivered++;
	note_age(who, m);
}

/* ---- stored lanes ------------------------------------------------------------------------ */

/* The first bytes of each message tell which one it is. */
static void fill(int who, const struct lx_fragment *p, __u64 from, uint8_t *bytes, __u32 n)
{
	memset(bytes, 0, n);
	for (__u64 pos = from; pos < from + n;) {
		unsigned int number = message_of(who, pos);
		const struct message *m = message_at(who, number);
		__u32 id[2] = { who, number };

		for (; pos < m->start + sizeof(id) && pos < from + n; pos++)
			bytes[pos - from] = ((uint8_t *)id)[pos - m->start];
		pos = m->start + m->len;
	}
}

/* As in bpf/store.h. */
static void store_part(int who, const struct lx_fragment *p)
{
	struct lx_stream *s = &stream[who];
	__u64 pos = lx_store_from(s);
	uint8_t bytes[LX_STORED_MAX];

	for (__u32 n; !lx_pos_before(pos, p->pos) && lx_pos_before(pos, p->end); pos += n) {
		struct lx_stored stored = { .pos = p->target + (pos - p->pos), .lane = p->lane };

		n = p->end - pos < sizeof(bytes) ? p->end - pos : sizeof(bytes);
		stored.len = n;
		fill(who, p, pos, bytes, n);
		lx_fp_stored(&stored, bytes, fp);
		s->stored = pos + n;
	}
	tell_sender(who);
}

/* The lane's socket sends what lnetxd has written into it, and what has not arrived again. */
static void socket_sends(int l)
{
	struct lx_lane *t = &lane[l];
	static uint8_t bytes[1 << 20];
	ssize_t n;

	if (t->state != LX_LANE_STORED)
		return;
	while ((n = recv(peer_end[l], bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		hop_takes(l, t->store_sent, t->store_sent + n);
		t->store_sent += n;
		lx_lane_sent(t, t->store_sent);
	}
	if ((__u64)t->store_sent > t->una && now_ns > repeat_ns[l] + RTO) {
		repeat_ns[l] = now_ns;
		hop_takes(l, t->una, t->store_sent);
	}
}

/* ---- connections end --------------------------------------------------------------------- */

static struct lx_fp_conn *conn_of(struct lx_sock_conn *sock)
{
	if (sock->who >= 0)
		return &stream_conn[sock->who];
	for (int l = 0; l < LANES; l++) {
		if (sock == &lane_sock[l])
			return &lane_conn[l];
	}
	return &slow_conn[sock->hop];
}

/* Bytes that a next hop had not got are lost, unless they went elsewhere. */
static void lane_ends(int l)
{
	struct receiver *r = &receiver[l];

	for (; r->first != r->tail; r->first++) {
		const struct placed *p = &r->placed[r->first % PLACED];
		struct message *m = message_at(p->who, p->message);

		if (m->elsewhere || sender[p->who].dead || p->who == faulty_sender)
			continue;
		n_lost_of_others++;
		m->under_way = false;
		at(now_ns, (struct event){ .kind = DONE, .who = p->who });
	}
	r->epoch++;
	lane_conn[l].closing = true;
	lx_fp_lane_closing(fp, &lane_conn[l]);
	gone_ns[l] = now_ns;
}

void lx_sock_conn_close(struct lx_sock_conn *sock, int error, enum lx_hstatus hstatus)
{
	struct lx_fp_conn *conn = conn_of(sock);
	int h = sock->hop;

	if (conn->closing)
		return;
	if (sock->who >= 0) {
		sender[sock->who].dead = true;
		conn->closing = true;
		stream[sock->who].flags |= LX_STREAM_NO_LANES;
		lx_fp_grant_end(fp, &stream[sock->who]);
		lx_fp_stream_leave(fp, conn);
		fp->stream[sock->who].conn = NULL;
		return;
	}
	n_cuts++;
	lane_ends(conn->lane);
	/* The next hop closes the others. */
	for (int l = h * CONNS; l < (h + 1) * CONNS; l++) {
		if (!lane_conn[l].closing)
			lane_ends(l);
	}
	n_bad += hop[h].n_out != 0; /* these would be lost, too */
}

void lx_sock_conn_fail(struct lx_sock_conn *conn, int error, enum lx_hstatus hstatus,
		       const char *reason)
{
	lx_sock_conn_close(conn, error, hstatus);
}

static bool is_referred(int l)
{
	for (int i = 0; i < STREAMS; i++) {
		for (__u32 c = stream[i].head; fp->stream[i].conn && c != stream[i].tail; c++) {
			if (lx_extent_at(&stream[i], c)->lane == l)
				return true;
		}
	}
	return false;
}

static void make_lane(int l)
{
	struct lx_fp_peer *peer = &fp_peer[l / CONNS];
	int fds[2];

	lane[l] = (struct lx_lane){ .word = (__u64)LX_LANE_OWNER << 32,
				    .window_edge = RECEIVE_BUFFER,
				    .state = LX_LANE_LIVE,
				    .next_hop = l / CONNS,
				    .version = LX_SOCK_V3,
				    .mss = MSS };
	receiver[l].next = receiver[l].n_early = 0;
	lane_sock[l] = (struct lx_sock_conn){ .who = -1, .hop = l / CONNS };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	if (peer_end[l])
		close(peer_end[l]), close(lane_conn[l].facts.fd);
	peer_end[l] = fds[1];
	lane_conn[l] = (struct lx_fp_conn){
		.fp = fp,
		.conn = &lane_sock[l],
		.stream = -1,
		.lane = l,
		.facts = { .fd = fds[0], .ctype = LX_CTYPE_BULK_OUT, .up_ns = now_ns }
	};
	fp->lane[l] = &lane_conn[l];
	fp->run[l] = (struct lx_fp_run){ .una_ns = now_ns, .since_ns = now_ns };
	peer->lane[peer->n_lanes++] = l;
}

static void lane_returns(int l)
{
	if (!lane_conn[l].closing || now_ns < gone_ns[l] + RECONNECT || is_referred(l))
		return;
	make_lane(l);
}

/*
 * ---- the daemon's half: what is not linked ----------------------------------------------------
 */

void lx_fastpath_count_stored(struct lx_fastpath *f, unsigned int lanes, uint64_t bytes)
{
	n_stores += lanes;
}

int lx_fastpath_take(struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int max)
{
	return -1;
}

void lx_fastpath_give(struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int i)
{
}

int lx_fastpath_flow_add(struct lx_fastpath *f, const struct lx_flow_key *key,
			 enum lx_flow_kind kind, uint32_t index)
{
	return 0;
}

void lx_fastpath_flow_del(struct lx_fastpath *f, const struct lx_flow_key *key)
{
}

/* The daemon gives a connection to the programs again. */
int lx_fastpath_takeover(struct lx_fastpath *f, enum lx_flow_kind kind, unsigned int l, bool on)
{
	struct lx_lane *t = &lane[l];

	if (kind != LX_FLOW_LANE)
		return 0;
	assert_int_equal(receiver[l].first, receiver[l].tail);
	receiver[l].epoch++;
	receiver[l].next = receiver[l].n_early = 0;
	t->una = t->sent = t->n_sack = t->run_first = 0;
	t->window_edge = RECEIVE_BUFFER;
	t->word = (__u64)LX_LANE_OWNER << 32;
	t->state = LX_LANE_LIVE;
	return 0;
}

unsigned int lx_sock_offload_store(void)
{
	return 256;
}

bool lx_sock_conn_is_idle(struct lx_sock_conn *sock)
{
	const struct lx_fp_conn *conn = conn_of(sock);
	char byte;

	if (conn == &slow_conn[sock->hop])
		return !hop[sock->hop].n_out;
	return conn->lane < 0 ||
	       ((__u64)lane[conn->lane].store_sent <= lane[conn->lane].una &&
		recv(peer_end[conn->lane], &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0);
}

int lx_sock_conn_error(const struct lx_sock_conn *conn)
{
	return -ETIMEDOUT;
}

uint64_t lx_sock_conn_tx_bytes(const struct lx_sock_conn *conn)
{
	return conn->hop >= 0 && conn == &slow_sock[conn->hop] ? hop[conn->hop].n_out : 0;
}

void lx_sock_conn_rx(const struct lx_sock_conn *conn, struct lx_sock_conn_rx *ret_rx)
{
	*ret_rx = (struct lx_sock_conn_rx){ 0 };
}

void lx_sock_conn_reserve(struct lx_sock_conn *conn, bool on)
{
}

void lx_sock_conn_set_reset(struct lx_sock_conn *conn)
{
}

void lx_sock_peer_facts(const struct lx_sock_peer *peer, struct lx_sock_peer_facts *ret_facts)
{
	*ret_facts = (struct lx_sock_peer_facts){ 0 };
}

static int hop_of(const struct lx_sock_peer *peer)
{
	return (const struct hop *)peer - hop;
}

void lx_sock_peer_hold(struct lx_sock_peer *peer, bool on)
{
	hop[hop_of(peer)].held = on;
	hop_go(hop_of(peer));
}

int lx_sock_peer_send_bytes(struct lx_sock_peer *peer, unsigned int version, const void *bytes,
			    size_t len)
{
	const __u32 *id = bytes;
	struct message *m = message_at(id[0], id[1]);

	assert_true(id[0] < STREAMS && m->len == len && m->under_way && !m->elsewhere);
	assert_int_equal(m->hop, hop_of(peer));
	m->elsewhere = true;
	n_elsewhere++;
	at(now_ns + MS, (struct event){ .kind = ELSEWHERE, .who = id[0], .message = id[1] });
	return 0;
}

const char *lx_sock_conn_name(const struct lx_sock_conn *conn, char *buf, size_t size)
{
	return strcpy(buf, "?");
}

void lx_lnd_lost(struct lx_ni *ni, const struct lx_nid *peer, const struct lx_type_counts *counts,
		 uint64_t payload, enum lx_hstatus hstatus)
{
}

void lx_fp_count_conn(struct lx_fp *f, struct lx_fp_conn *conn)
{
}

int lx_fp_conn_obtain_all(struct lx_fp *f, const struct lx_fp_neighbour *peer)
{
	return 0;
}

/* Its lanes, then its other connection. */
struct lx_fp_conn *lx_fp_conn_next(const struct lx_fp_neighbour *peer,
				   const struct lx_fp_conn *conn)
{
	int l = conn ? conn - lane_conn + 1 : (int)peer->index * CONNS;

	if (conn == &slow_conn[peer->index])
		return NULL;
	for (; l < (int)(peer->index + 1) * CONNS; l++) {
		if (!lane_conn[l].closing)
			return &lane_conn[l];
	}
	return &slow_conn[peer->index];
}

void lx_fp_peer_lane_del(struct lx_fp_peer *peer, unsigned int index)
{
	for (unsigned int i = 0; i < peer->n_lanes; i++) {
		if (peer->lane[i] == index)
			peer->lane[i] = peer->lane[--peer->n_lanes];
	}
}

void lx_fp_lane_withdraw(struct lx_fp *f, struct lx_fp_conn *conn, enum lx_lane_state state)
{
	lx_fp_peer_lane_del(&fp_peer[lane[conn->lane].next_hop], conn->lane);
	lane[conn->lane].state = state;
	conn->lane_state = LX_FP_LANE_WANTED;
}

void lx_fp_key_of(struct lx_fp_conn *conn, struct lx_flow_key *ret_key)
{
}

uint8_t lx_fp_tos_of(const struct lx_fp_conn *conn)
{
	return 0;
}

uint16_t lx_fp_mss_of(const struct lx_fp_conn *conn)
{
	return MSS;
}

int lx_tcpinfo_read(int fd, struct lx_tcpinfo *ret_info)
{
	*ret_info = (struct lx_tcpinfo){ .window = RECEIVE_BUFFER };
	return 0;
}

static void tick(void)
{
	for (unsigned int i = 0; i < STREAMS; i++) {
		if (fp->stream[i].conn)
			lx_fp_stream_tick(fp, i, now_ns);
		if (now_ns / MS % (RTO / MS) == i)
			sender_timer(i);
	}
	if (now_ns / MS % LX_TICK_MS == 0) {
		fp->peers_ns = now_ns;
		for (int h = 0; h < HOPS; h++)
			lx_fp_peer_lanes(fp, &neighbour[h], now_ns);
		lx_fp_lanes_tick(fp, now_ns);
		lx_fp_holds_tick(fp, now_ns);
	}
	for (int l = 0; l < LANES; l++) {
		socket_sends(l);
		lane_returns(l);
	}
	at(now_ns + MS, (struct event){ .kind = TICK });
}

/* ---- a world ------------------------------------------------------------------------- */

static int begin(void **state)
{
	memset(worst_ns, 0, sizeof(worst_ns));
	memset(repeat_ns, 0, sizeof(repeat_ns));
	n_delivered = n_lost_of_others = n_stores = n_cuts = n_elsewhere = n_bad = 0;
	world_begin();
	for (int h = 0; h < HOPS; h++) {
		neighbour[h] = (struct lx_fp_neighbour){ .peer = sock_peer[h], .index = h };
		fp->peer[h] = &neighbour[h];
		slow_sock[h] = (struct lx_sock_conn){ .who = -1, .hop = h };
		slow_conn[h] = (struct lx_fp_conn){ .fp = fp,
						    .conn = &slow_sock[h],
						    .stream = -1,
						    .lane = -1,
						    .facts.ctype = LX_CTYPE_CONTROL };
	}
	for (int l = 0; l < LANES; l++) {
		make_lane(l);
	}
	return 0;
}

static int end(void **state)
{
	for (int l = 0; l < LANES; l++)
		lx_fp_store_free(&fp->run[l]);
	world_end();
	return 0;
}

/* Half a second with everybody well; then something fails, for five. */
static void run(struct pattern p, void (*fails)(void), void (*mended)(void))
{
	pattern = p;
	measured_from = BEGIN / 2;
	senders_begin();
	run_until(BEGIN + rnd_below(20 * MS));
	fails();
	run_until(BEGIN + 6 * LX_S_NS);
	if (mended)
		mended();
	run_until(BEGIN + 8 * LX_S_NS);
	for (int i = 0; i < STREAMS; i++) {
		for (unsigned int k = sender[i].n_begun - IN_FLIGHT; k != sender[i].n_begun; k++) {
			if (message_at(i, k)->under_way)
				note_age(i, message_at(i, k));
		}
	}
	printf("worst %.3f s to one next hop, %.3f s to the other; %lu messages, %lu of others "
	       "lost, "
	       "%lu lanes stored, %lu cut, %lu sent elsewhere\n",
	       (double)worst_ns[0] / LX_S_NS, (double)worst_ns[1] / LX_S_NS, n_delivered,
	       n_lost_of_others, n_stores, n_cuts, n_elsewhere);
	assert_int_equal(n_lost_of_others, 0);
	assert_int_equal(n_bad, 0);
}

#define LARGE                                                                                      \
	(struct pattern)                                                                           \
	{                                                                                          \
		1 << 20, 1 << 20, 0, LINK / 1000                                                   \
	}
#define SMALL                                                                                      \
	(struct pattern)                                                                           \
	{                                                                                          \
		4 << 10, 64 << 10, 1, LINK / 1000                                                  \
	}

/* ---- faults ------------------------------------------------------------------------------- */

static void hop_falls_silent(void)
{
	hop[FAULTY].silent = true;
}

static void hop_returns(void)
{
	hop[FAULTY].silent = hop[FAULTY].lies = false;
	hop[FAULTY].link = LINK;
	hop_go(FAULTY);
}

static void hop_becomes_slow(void)
{
	hop[FAULTY].link = 1250; /* 10 Mbit/s */
}

static void hop_lies(void)
{
	hop[FAULTY].lies = true;
}

static void sender_dies(void)
{
	sender[FAULTY].dead = true;
}

static void sender_becomes_slow(void)
{
	sender[FAULTY].link = 500; /* 4 Mbit/s */
}

static void sender_lies(void)
{
	sender[FAULTY].hole = sender[FAULTY].sent + 100000;
}

/* Messages to the other next hop, of the same senders, do not wait. */
static void a_next_hop(void (*fails)(void))
{
	faulty_sender = -1;
	run(SMALL, fails, hop_returns);
	assert_true(n_stores);
	assert_true(worst_ns[1 - FAULTY] < 500 * MS);
}

static void silent_next_hop(void **state)
{
	a_next_hop(hop_falls_silent);
}

static void slow_next_hop(void **state)
{
	a_next_hop(hop_becomes_slow);
}

static void lying_next_hop(void **state)
{
	a_next_hop(hop_lies);
}

/* Messages behind its own wait for a while, once; all others do not. At least one lane is cut. */
static void a_sender(void **state, void (*fails)(void), __u64 most_ns)
{
	unsigned long cut = 0;

	faulty_sender = FAULTY;
	for (int i = 0; i < 2 || (!cut && i < 40); i++) {
		run(LARGE, fails, NULL);
		assert_true(worst_ns[FAULTY] < most_ns);
		assert_true(worst_ns[1 - FAULTY] < 500 * MS);
		cut += n_elsewhere;
		end(state);
		begin(state);
	}
	assert_true(cut);
}

static void dead_sender(void **state)
{
	a_sender(state, sender_dies, 1250 * MS);
}

static void slow_sender(void **state)
{
	a_sender(state, sender_becomes_slow, 2500 * MS);
}

static void lying_sender(void **state)
{
	a_sender(state, sender_lies, 2500 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(silent_next_hop, begin, end),
		cmocka_unit_test_setup_teardown(slow_next_hop, begin, end),
		cmocka_unit_test_setup_teardown(lying_next_hop, begin, end),
		cmocka_unit_test_setup_teardown(dead_sender, begin, end),
		cmocka_unit_test_setup_teardown(slow_sender, begin, end),
		cmocka_unit_test_setup_teardown(lying_sender, begin, end),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: faults", tests, NULL, NULL);
}
