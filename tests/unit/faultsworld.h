/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A router in virtual time whose neighbours fail: 6 senders, 2 next hops with 2 lanes each; for
 * test_fastpath_faults.c and test_fastpath_socket.c. As in scaleworld.h, and the daemon's lane.c,
 * store.c, lost.c, cut.c and ending.c are real, too. Modelled: the socket of a lane
 * (kernelsocket.h), with bytes; a Lustre node as next hop. When one of our connections ends inside
 * a message, it closes all others, 5 ms after a FIN, but only seconds after a reset.
 */
#ifndef LX_TESTS_FAULTSWORLD_H
#define LX_TESTS_FAULTSWORLD_H

#define SENDERS 6
#define STREAMS (SENDERS + 34) /* the rest comes and goes */
#define HOPS 2
#define CONNS 2
#define IN_FLIGHT 4
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../user/io/tcpinfo.h"
#include "kernelsocket.h"
#include "scalenet.h"

#define NOTICES_FIN (5 * MS)
#define NOTICES_RESET (3 * LX_S_NS) /* at least */
#define RECONNECT (25 * MS)
#define LATE_EOF (80 * MS)
#define PROBED (6 * LX_S_NS)

static int faulty_sender; /* -1: it is the next hop that fails; those who come and go are, too */
static __u64 replies[HOPS], replied[HOPS]; /* bytes that a next hop has for us, and has sent */
static __u64 n_bytes_of_others, begun_at_ns[HOPS];
static __u64 gap_ns[HOPS]; /* the longest time without a message of others */
static __u64 worst_ns[HOPS]; /* of messages of the others, by next hop */
static unsigned int n_own; /* messages that socklnd has sent on lanes */
static __u64 placed_end[LANES]; /* of these, on the connection */
static unsigned long n_delivered, n_lost_of_others, n_stores, n_fins, n_resets, n_closed_senders,
	n_elsewhere, n_bad, n_stuck;
static struct lx_fp_conn slow_conn[HOPS];
static struct lx_sock_conn slow_sock[HOPS];
static struct kernel_socket ksock[LANES];
static __u64 closed_ns[HOPS]; /* when a next hop closed its connections */
static __u64 probed_ns[STREAMS]; /* since when the kernel asks whether a sender lives */
static __u64 gone_ns[LANES], repeated_ns[LANES], ill_ns[HOPS];
static struct lx_sock_peer *const sock_peer[HOPS] = { (void *)&hop[0], (void *)&hop[1] };

int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
	if (!fp) /* for the seed */
		return syscall(SYS_clock_gettime, clock, ret_now);
	*ret_now = (struct timespec){ now_ns / LX_S_NS, now_ns % LX_S_NS };
	return 0;
}

static bool is_faulty(int who)
{
	return who == faulty_sender || who >= SENDERS;
}

static void note_age(int who, const struct message *m)
{
	if (!is_faulty(who) && now_ns - m->begun_ns > worst_ns[m->hop] && now_ns >= measured_from)
		worst_ns[m->hop] = now_ns - m->begun_ns;
}

static void note_delay(int who, const struct message *m)
{
	n_delivered++;
	note_age(who, m);
	if (is_faulty(who) || now_ns < measured_from)
		return;
	if (begun_at_ns[m->hop] && now_ns - begun_at_ns[m->hop] > gap_ns[m->hop])
		gap_ns[m->hop] = now_ns - begun_at_ns[m->hop];
	begun_at_ns[m->hop] = now_ns;
	n_bytes_of_others += m->len;
}

/* ---- stored lanes ------------------------------------------------------------------------ */

static __u32 own_len(unsigned int number)
{
	return 100 + number * 7919 % 60000;
}

/* Which message, and different bytes in each. */
static void message_bytes(int who, unsigned int number, __u32 from, __u32 n, uint8_t *bytes)
{
	const __u32 id[2] = { who, number };

	for (__u32 i = 0; i < n; i++)
		bytes[i] = from + i < sizeof(id) ? ((const uint8_t *)id)[from + i]
						 : (uint8_t)(number * 7 + who + (from + i) / 251);
}

static void fill(int who, __u64 from, uint8_t *bytes, __u32 n)
{
	for (__u64 pos = from, end; pos < from + n; pos = end) {
		unsigned int number = message_of(who, pos);
		const struct message *m = message_at(who, number);

		end = lx_pos_min(m->start + m->len, from + n);
		message_bytes(who, number, pos - m->start, end - pos, bytes + (pos - from));
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
		fill(who, pos, bytes, n);
		lx_fp_stored(&stored, bytes, fp);
		s->stored = pos + n;
	}
	tell_sender(who);
}

/* What a lane's socket sends is what belongs there. @pos: on the connection. */
static void check_bytes(int l, __u64 pos, const uint8_t *bytes, __u32 n)
{
	const struct receiver *r = &receiver[l];
	static uint8_t want[PACKET];
	__u64 from = lx_pos_max(pos, r->next), start = r->next;

	for (unsigned int i = r->first; i != r->tail && from < pos + n; i++) {
		const struct placed *p = &r->placed[i % PLACED];
		__u64 end = lx_pos_min(p->end, pos + n);
		__u32 len = p->who < 0 ? own_len(p->message) : message_at(p->who, p->message)->len;

		start = p->end - len;
		if (from >= p->end)
			continue;
		message_bytes(p->who, p->message, from - start, end - from, want);
		assert_memory_equal(bytes + (from - pos), want, end - from);
		from = end;
	}
	assert_true(from >= pos + n);
}

static void socket_go(int l)
{
	struct kernel_socket *k = &ksock[l];
	struct lx_lane *t = &lane[l];
	static uint8_t bytes[PACKET];
	__u32 seq, n;
	__u64 pos;

	while ((n = kernel_socket_next(k, now_ns, &seq, bytes))) {
		assert_true(lx_lane_is_of_socket(t));
		pos = lx_pos_of(lx_lane_socket_sends(t, seq, n), k->first, receiver[l].next);
		check_bytes(l, pos, bytes, n);
		if (t->state == LX_LANE_STORED)
			lx_lane_sent(t, pos + n - origin[l]);
		hop_takes(l, pos, pos + n);
	}
}

static void socket_hears(int l, __u64 pos)
{
	struct kernel_socket *k = &ksock[l];

	if (!lx_lane_is_of_socket(&lane[l]))
		return;
	kernel_socket_ack(k, now_ns, lx_lane_socket_hears(&lane[l], k->first + (__u32)pos));
	socket_go(l);
}

/* A next hop that answers lets a socket go on: it does not repeat twice for nothing. */
static void socket_timer(int l)
{
	struct kernel_socket *k = &ksock[l];
	unsigned int repeats = k->repeats;
	const struct hop *t = &hop[l / CONNS];

	if (t->silent || t->mute || t->lies || lose || t->free_ns > now_ns + 50 * MS)
		ill_ns[l / CONNS] = now_ns;
	kernel_socket_timer(k, now_ns);
	if (k->repeats == repeats)
		return;
	assert_true(k->backoff == 1 || ill_ns[l / CONNS] >= repeated_ns[l]);
	repeated_ns[l] = now_ns;
}

ssize_t lx_sock_conn_write(struct lx_sock_conn *sock, const void *bytes, size_t len)
{
	ssize_t n = kernel_socket_write(&ksock[sock - lane_sock], bytes, len);

	socket_go(sock - lane_sock);
	return n ? n : -EAGAIN;
}

/* socklnd sends a message of its own on a lane that it has back. */
static inline void socklnd_sends(int l)
{
	struct receiver *r = &receiver[l];
	static uint8_t bytes[1 << 16];
	__u32 len = own_len(n_own);

	if (lane_conn[l].closing || lane_conn[l].lane_state != LX_FP_LANE_BACK ||
	    lane_conn[l].lane_due || kernel_socket_room(&ksock[l]) < len)
		return;
	message_bytes(-1, n_own, 0, len, bytes);
	placed_end[l] = lx_pos_max(placed_end[l], origin[l] + lane[l].una);
	r->placed[r->tail++ % PLACED] = (struct placed){ placed_end[l] += len, -1, n_own++ };
	kernel_socket_write(&ksock[l], bytes, len);
	socket_go(l);
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
		struct message *m;

		if (p->who < 0)
			continue;
		m = message_at(p->who, p->message);
		if (m->number != p->message || m->elsewhere || sender[p->who].dead ||
		    is_faulty(p->who))
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

/* A sender's connection ends. */
static void sender_ends(int who)
{
	struct lx_fp_conn *conn = &stream_conn[who];

	if (conn->closing)
		return;
	sender[who].dead = true;
	conn->closing = true;
	stream[who].flags |= LX_STREAM_NO_LANES;
	lx_fp_grant_end(fp, &stream[who]);
	lx_fp_stream_leave(fp, conn);
	fp->stream[who].conn = NULL;
}

void lx_sock_conn_close(struct lx_sock_conn *sock, int error, enum lx_hstatus hstatus)
{
	struct lx_fp_conn *conn = conn_of(sock);

	if (sock->who >= 0) {
		n_closed_senders += !is_faulty(sock->who);
		sender_ends(sock->who);
		return;
	}
	if (conn->closing)
		return;
	n_resets++;
	lane_ends(conn->lane);
	at(now_ns + NOTICES_RESET + rnd_below(9 * LX_S_NS),
	   (struct event){ .kind = CLOSE, .who = sock->hop });
}

void lx_sock_conn_fail(struct lx_sock_conn *sock, int error, enum lx_hstatus hstatus,
		       const char *reason)
{
	lx_sock_conn_close(sock, error, hstatus);
	for (int l = 0; l < LANES && sock->who < 0; l++) {
		if (l / CONNS == sock->hop)
			lx_sock_conn_close(&lane_sock[l], error, hstatus);
	}
}

/* The next hop has read the end of a connection, inside a message; or (@e->message) dials. */
static void hop_closes(const struct event *e)
{
	struct hop *t = &hop[e->who];

	if (e->message) {
		t->down = false;
		slow_conn[e->who].facts.up_ns = now_ns;
		hop_go(e->who);
	}
	if (e->message || t->down)
		return;
	n_bad += t->n_out || replies[e->who]; /* that is lost */
	t->down = true;
	closed_ns[e->who] = now_ns;
	for (int l = e->who * CONNS; l < (e->who + 1) * CONNS; l++) {
		if (!lane_conn[l].closing)
			lane_ends(l);
	}
	at(now_ns + RECONNECT, (struct event){ .kind = CLOSE, .who = e->who, .message = 1 });
}

void lx_fastpath_poke_fin(struct lx_fastpath *f, unsigned int l)
{
	struct hop *t = &hop[l / CONNS];

	if (lx_lane_is_gone(&lane[l])) /* a reset: see lane_ends() */
		return;
	n_fins++;
	assert_int_equal(lx_lane_expects(&lane[l]), receiver[l].next - origin[l]);
	if (t->silent || t->down)
		return;
	lane[l].una++; /* it acknowledges the FIN */
	at(now_ns + NOTICES_FIN, (struct event){ .kind = CLOSE, .who = l / CONNS });
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

	lane[l] = live_lane(l);
	receiver[l].next = receiver[l].n_early = 0;
	origin[l] = placed_end[l] = 0;
	kernel_socket_new(&ksock[l], rnd());
	lane[l].base_seq = ksock[l].first;
	lane_sock[l] = (struct lx_sock_conn){ .who = -1, .hop = l / CONNS };
	lane_conn[l] = (struct lx_fp_conn){
		.fp = fp,
		.conn = &lane_sock[l],
		.stream = -1,
		.lane = l,
		.facts = { .fd = l, .ctype = LX_CTYPE_BULK_OUT, .up_ns = now_ns }
	};
	fp->lane[l] = &lane_conn[l];
	fp->run[l] = (struct lx_fp_run){ .una_ns = now_ns, .since_ns = now_ns };
	peer->lane[peer->n_lanes++] = l;
}

static void lane_returns(int l)
{
	if (!lane_conn[l].closing || now_ns < gone_ns[l] + RECONNECT || hop[l / CONNS].down ||
	    is_referred(l))
		return;
	make_lane(l);
}

/*
 * ---- the daemon's half: what is not linked ----------------------------------------------------
 */

void lx_fastpath_count_stuck(struct lx_fastpath *f)
{
	n_stuck++;
}

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

/* The daemon gives a connection to the programs again, as in bpf/takeover.h. */
int lx_fastpath_takeover(struct lx_fastpath *f, enum lx_flow_kind kind, unsigned int l, bool on)
{
	struct lx_lane *t = &lane[l];

	if (kind != LX_FLOW_LANE)
		return 0;
	if (!kernel_socket_is_idle(&ksock[l]))
		return -EAGAIN;
	t->base_seq = ksock[l].nxt + t->shift;
	/* The connection's numbers go on. */
	assert_int_equal(t->base_seq, ksock[l].first + (__u32)receiver[l].next);
	assert_int_equal(receiver[l].first, receiver[l].tail);
	origin[l] = receiver[l].next;
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

bool lx_sock_conn_read_only(const struct lx_sock_conn *conn)
{
	return false;
}

bool lx_sock_conn_is_idle(struct lx_sock_conn *sock)
{
	return sock == &slow_sock[sock->hop] ? !hop[sock->hop].n_out
					     : kernel_socket_is_idle(&ksock[sock - lane_sock]);
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
	*ret_rx = (struct lx_sock_conn_rx){ .consumed = conn == &slow_sock[conn->hop]
								? replied[conn->hop]
								: 0 };
}

/* A dead peer does not answer, and the kernel ends its connection. */
void lx_fp_conn_ask(struct lx_fp_conn *conn, bool on)
{
	if (conn->asked == on)
		return;
	conn->asked = on;
	probed_ns[conn->conn->who] = on ? now_ns : 0;
}

static void probes_tick(void)
{
	for (int i = 0; i < STREAMS; i++) {
		if (sender[i].dead && probed_ns[i] && now_ns >= probed_ns[i] + PROBED)
			sender_ends(i);
	}
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
	int h = hop_of(peer);

	/* For an old connection, it may still close a new one. */
	n_bad += !on && closed_ns[h] && now_ns < closed_ns[h] + LATE_EOF;
	hop[h].held = on;
	hop_go(h);
}

/* Next hops connect again by themselves. */
void lx_sock_peer_dial(struct lx_sock_peer *peer)
{
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

int lx_fp_conn_filter(struct lx_fp_conn *conn, bool on)
{
	return 0;
}

/* Its lanes, then its other connection. */
struct lx_fp_conn *lx_fp_conn_next(const struct lx_fp_neighbour *peer,
				   const struct lx_fp_conn *conn)
{
	int l = conn ? conn - lane_conn + 1 : (int)peer->index * CONNS;

	if (conn == &slow_conn[peer->index] || hop[peer->index].down)
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
	if (fd < LANES) {
		ret_info->repeats = ksock[fd].backoff;
		ret_info->srtt_us = ksock[fd].rtt_ns / 1000;
		ret_info->rto_us = ksock[fd].rto_ns / 1000;
	}
	return 0;
}

static void tick(void)
{
	for (unsigned int i = 0; i < STREAMS; i++) {
		if (fp->stream[i].conn)
			lx_fp_stream_tick(fp, i, now_ns);
		sender_timer(i);
	}
	if (now_ns / MS % LX_TICK_MS == 0) {
		fp->peers_ns = now_ns;
		for (int h = 0; h < HOPS; h++)
			lx_fp_peer_lanes(fp, &neighbour[h], now_ns);
		for (int l = 0; l < LANES; l++) {
			if (!lx_fp_is_ending(&neighbour[l / CONNS]))
				socklnd_sends(l); /* on one that is not given again yet */
		}
		lx_fp_lanes_tick(fp, now_ns);
		lx_fp_ends_tick(fp, now_ns);
	}
	probes_tick();
	for (int h = 0; h < HOPS; h++) {
		__u64 n = hop[h].silent || hop[h].down ? 0 : lx_pos_min(replies[h], hop[h].link);

		replies[h] -= n;
		replied[h] += n;
	}
	for (int l = 0; l < LANES; l++) {
		socket_timer(l);
		socket_go(l);
		lane_returns(l);
	}
	at(now_ns + MS, (struct event){ .kind = TICK });
}

/* ---- a world ------------------------------------------------------------------------- */

static int begin(void **state)
{
	memset(worst_ns, 0, sizeof(worst_ns));
	memset(gone_ns, 0, sizeof(gone_ns));
	memset(probed_ns, 0, sizeof(probed_ns));
	memset(closed_ns, 0, sizeof(closed_ns));
	memset(repeated_ns, 0, sizeof(repeated_ns));
	memset(ill_ns, 0, sizeof(ill_ns));
	memset(replies, 0, sizeof(replies));
	memset(begun_at_ns, 0, sizeof(begun_at_ns));
	memset(gap_ns, 0, sizeof(gap_ns));
	n_own = n_delivered = n_lost_of_others = n_stores = n_fins = n_resets = n_elsewhere = 0;
	n_closed_senders = n_bad = n_stuck = n_bytes_of_others = 0;
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
	for (int l = 0; l < LANES; l++) {
		lx_fp_store_free(&fp->run[l]);
		kernel_socket_free(&ksock[l]);
	}
	world_end();
	return 0;
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

#endif
