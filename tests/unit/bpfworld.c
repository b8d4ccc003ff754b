/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testlib.h"

#include "../../user/bpf/feature.h"
#include "bpfworld.h"

/* ---- the world ------------------------------------------------------------------------- */

struct fastpath_bpf *bpf;
struct lx_stream *s;
struct lx_lane *lane;
struct lx_settings *settings;
bool v6;
uint32_t run_flags;
static uint8_t *peers;

static void *map_memory(int fd, size_t each, size_t n)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t all = (((each + 7) & ~7ul) * n + page - 1) & ~(page - 1);
	void *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* The first block of a growing table, with the declared types, which old kernels require. */
static void *first_block(const struct bpf_map *table, const char *type, size_t each,
			 unsigned int n)
{
	const struct btf *btf = bpf_object__btf(bpf->obj);
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE,
		    .btf_fd = btf__fd(btf),
		    .btf_key_type_id = btf__find_by_name(btf, "__u32"),
		    .btf_value_type_id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT));
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(uint32_t), each, n, &opts);
	uint32_t zero = 0;
	void *p;

	assert_true(fd >= 0);
	assert_int_equal(bpf_map__update_elem(table, &zero, sizeof(zero), &fd, sizeof(fd),
					      BPF_ANY), 0);
	p = map_memory(fd, each, n);
	close(fd);
	return p;
}

int kernel_open(void **state)
{
	struct lx_bpf_feature_info feature[LX_BPF_FEATURE_COUNT];
	int r;

	if (geteuid() || unshare(CLONE_NEWNET))
		return 0;
	lx_bpf_feature_probe(feature);
	if (!feature[LX_BPF_LOOP].have) /* the newest one that the programs need */
		return 0;
	bpf = fastpath_bpf__open();
	assert_non_null(bpf);
	r = fastpath_bpf__load(bpf);
	if (r) {
		/* Lack of permission is fine; refusal by the verifier is not. */
		assert_int_equal(r, -EPERM);
		fastpath_bpf__destroy(bpf);
		bpf = NULL;
		return 0;
	}
	s = first_block(bpf->maps.streams, "lx_stream", sizeof(*s), LX_STREAM_BLOCK);
	lane = first_block(bpf->maps.lanes, "lx_lane", sizeof(*lane), LX_LANE_BLOCK);
	peers = first_block(bpf->maps.peers, "lx_fp_peer", sizeof(struct lx_fp_peer),
			    LX_PEER_BLOCK);
	settings = map_memory(bpf_map__fd(bpf->maps.settings), sizeof(*settings), 1);
	return 0;
}

int kernel_close(void **state)
{
	fastpath_bpf__destroy(bpf);
	return 0;
}

/* 0: the peer as a sender, 1: the next hop. Elements are padded to 8 bytes. */
struct lx_fp_peer *peer_at(int i)
{
	return (struct lx_fp_peer *)(peers + i * ((sizeof(struct lx_fp_peer) + 7) & ~7ul));
}

/* NET.LAST, in either family. */
static void address(int net, int last, uint8_t addr[16])
{
	memset(addr, 0, 16);
	if (v6) {
		addr[0] = 0xfd;
		addr[1] = net;
	} else {
		addr[10] = addr[11] = 0xff;
		addr[12] = 10;
		addr[13] = net;
	}
	addr[15] = last;
}

static void make_key(struct lx_flow_key *key, int net, uint16_t remote_port, uint16_t local_port)
{
	address(net, 2, key->remote);
	address(net, 1, key->local);
	key->remote_port = htons(remote_port);
	key->local_port = htons(local_port);
}

static struct lx_nid nid_of(int net, int last)
{
	struct lx_nid nid = { .type = LX_NET_TCP, .num = htons(net) };
	uint8_t addr[16];

	address(net, last, addr);
	if (v6) {
		nid.size = 12;
		memcpy(nid.addr, addr, 16);
	} else {
		memcpy(nid.addr, addr + 12, 4);
	}
	return nid;
}

void flow_set(const struct lx_flow_key *key, enum lx_flow_kind kind, uint32_t index)
{
	struct lx_flow value = { .kind = kind, .index = index };

	assert_int_equal(bpf_map__update_elem(bpf->maps.flows, key, sizeof(*key), &value,
					      sizeof(value), BPF_ANY), 0);
}

static void dest(struct lx_nid nid, uint32_t n)
{
	struct lx_dest value = { .n = n, .next_hop = { 1 } };

	assert_int_equal(bpf_map__update_elem(bpf->maps.dests, &nid, sizeof(nid), &value,
					      sizeof(value), BPF_ANY), 0);
}

static uint32_t monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Sets up a stream framed at position 0, and an idle lane. */
void world(bool ipv6)
{
	if (!bpf)
		skip();
	v6 = ipv6;
	run_flags = 0;
	memset(s, 0, sizeof(*s));
	memset(lane, 0, sizeof(*lane));
	memset(peer_at(0), 0, sizeof(struct lx_fp_peer));
	memset(peer_at(1), 0, sizeof(struct lx_fp_peer));
	*settings = (struct lx_settings){ .cuts = 1 };
	s->state = LX_STREAM_ON;
	s->version = lane->version = v6 ? LX_SOCK_V4 : LX_SOCK_V3;
	s->family = lane->family = v6 ? AF_INET6 : AF_INET;
	s->net = LX_NET(LX_NET_TCP, 1);
	s->wscale = lane->wscale = 7;
	s->options = lane->options = 12;
	s->mss = lane->mss = 1448;
	s->ifindex = lane->ifindex = 1;
	make_key(&s->key, 1, 1021, 988);
	make_key(&lane->key, 2, 988, 1020);
	s->base_seq = STREAM_BASE;
	s->socket_seq = SOCKET_SEQ;
	s->peer_acked = SOCKET_SEQ;
	s->window_max = lane->window_max = 1 << 16;
	s->peer_wscale = lane->own_wscale = 7;
	s->socket_window_edge = s->window_edge = s->advertised_edge = WINDOW_EDGE;
	s->tos = 0x48;
	lane->tos = 0x28;
	s->tcp_ts =
		(struct lx_tcp_ts){ .recent = 500, .offset = 7000000, .recent_s = monotonic_s() };
	lane->state = LX_LANE_LIVE;
	lane->next_hop = 1;
	lane->base_seq = LANE_BASE;
	lane->ack_seq = lane->window_edge_seq = LANE_ACK;
	lane->window = 777;
	lane->window_edge = WINDOW_EDGE;
	lane->word = (__u64)LX_LANE_OWNER << 32;
	lane->tcp_ts = (struct lx_tcp_ts){ .recent = 600, .offset = 9000000,
					 .recent_s = monotonic_s() };
	peer_at(0)->rtr.now = 8;
	peer_at(1)->tx.now = 8;
	peer_at(1)->n_lanes = 1;
	flow_set(&s->key, LX_FLOW_STREAM, 0);
	flow_set(&lane->key, LX_FLOW_LANE, 0);
	dest(nid_of(2, 2), 1);
	dest(nid_of(1, 1), 0);
}

void both(void (*test)(void))
{
	world(false);
	test();
	world(true);
	test();
}

/* ---- messages ----------------------------------------------------------------------------- */

/* Writes a message for the next hop, or for us; returns its length. */
uint32_t message(uint8_t *at, bool ours, uint64_t cookie, uint32_t payload)
{
	struct lx_sock_msg head = { .type = LX_SOCK_LNET, .cookie = { cookie } };
	struct lx_hdr hdr = { .payload_length = payload, .type = LX_MSG_PUT };
	uint32_t overhead = lx_overhead(s->version);

	hdr.dst_nid = ours ? nid_of(1, 1) : nid_of(2, 2);
	hdr.src_nid = nid_of(1, 2);
	memcpy(at, &head, sizeof(head));
	if (v6)
		lx_hdr_nid16_encode(&hdr, (void *)(at + sizeof(head)));
	else
		lx_hdr_nid4_encode(&hdr, (void *)(at + sizeof(head)));
	rnd_fill(at + overhead, payload);
	return overhead + payload;
}

/* ---- running them --------------------------------------------------------------------------- */

int run_frame(const struct frame *in, enum run_where where, uint32_t mark, uint32_t gso,
	      struct frame *ret_frame, uint32_t *ret_mark)
{
	struct __sk_buff ctx = { .mark = mark, .gso_size = gso }, ctx_out = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in->bytes, .data_size_in = in->len,
		    .data_out = ret_frame->bytes, .data_size_out = sizeof(ret_frame->bytes),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .ctx_out = &ctx_out,
		    .ctx_size_out = sizeof(ctx_out), .flags = run_flags);
	const struct bpf_program *program = where == IN	    ? bpf->progs.lnetx_ingress
					    : where == OUT  ? bpf->progs.lnetx_egress
					    : where == PART ? bpf->progs.lnetx_part
					    : where == HELD ? bpf->progs.lnetx_hold
							    : bpf->progs.lnetx_join;

	memset(ret_frame, 0, sizeof(*ret_frame));
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	ret_frame->len = opts.data_size_out;
	*ret_mark = ctx_out.mark;
	return (int)opts.retval;
}

static bool is_clone(const struct seg *g)
{
	uint32_t kind = g->mark & LX_MARK_KIND;

	return kind == LX_MARK_FRAGMENT || kind == LX_MARK_RESEGMENT_FRAGMENT ||
	       kind == LX_MARK_SAVED || kind == LX_MARK_TELL || kind == LX_MARK_FIN;
}

/* Runs a segment; @ret: the result, as a segment of @key in direction @out. */
int run(const struct seg *in, const struct lx_flow_key *key, bool out, struct seg *ret)
{
	struct frame f, g;
	uint32_t mark;
	int verdict;

	segment_write(in, &f);
	verdict = run_frame(&f, in->out ? OUT : out && is_clone(in) ? PART : IN, in->mark, in->gso, &g, &mark);
	/* No mark of ours may leave the programs. */
	if (verdict == GO_ON)
		assert_int_equal(mark, 0);
	if (verdict == DROP)
		return verdict;
	segment_read(&g, v6, key, out, ret);
	if (!ret->csum_ok)
		fail_msg("wrong checksum");
	ret->mark = mark;
	return verdict;
}

/* ---- what happens on the two connections ------------------------------------------------ */

static uint64_t peer_ts = 1000;

/* Data from the peer, starting at a stream position. */
struct seg data_at(uint64_t pos, const uint8_t *data, uint32_t len)
{
	return (struct seg){ .v6 = v6, .key = s->key, .seq = STREAM_BASE + (uint32_t)pos,
			     .ack = SOCKET_SEQ, .window = 500, .tsval = ++peer_ts, .tsecr = 1, .data = data,
			     .len = len };
}

struct seg lane_ack(uint64_t pos, uint16_t window)
{
	return (struct seg){ .v6 = v6, .key = lane->key, .seq = LANE_ACK, .ack = LANE_BASE + (uint32_t)pos,
			     .window = window, .tsval = 700, .tsecr = 1 };
}

struct seg lane_data(uint32_t seq, const uint8_t *data, uint32_t len)
{
	return (struct seg){ .v6 = v6, .key = lane->key, .out = true, .seq = seq, .ack = LANE_ACK,
			     .window = 5, .flags = ACK, .data = data, .len = len };
}

struct seg lane_sack(uint64_t pos, uint16_t window, uint64_t start, uint64_t end)
{
	struct seg g = lane_ack(pos, window);

	g.n_block = 1;
	g.block[0][0] = LANE_BASE + start;
	g.block[0][1] = LANE_BASE + end;
	return g;
}

/* An ACK from our socket, for a socket position. */
struct seg socket_ack(uint64_t pos, uint16_t window)
{
	return (struct seg){ .v6 = v6, .key = s->key, .out = true, .seq = SOCKET_SEQ,
			     .ack = STREAM_BASE + (uint32_t)pos, .window = window, .tsval = 3,
			     .tsecr = 4 };
}

static void is_near_ms(uint32_t tsval, uint32_t offset)
{
	struct timespec now;
	uint32_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = now.tv_sec * 1000 + now.tv_nsec / 1000000 + offset;
	assert_in_range(ms - tsval, 0, 5000);
}

/* It became a segment on the lane. */
void is_on_lane(const struct seg *g, uint64_t pos)
{
	assert_int_equal(g->seq, LANE_BASE + (uint32_t)pos);
	assert_int_equal(g->ack, LANE_ACK);
	assert_int_equal(g->window, lane->window);
	assert_int_equal(g->flags & ~8, ACK);
	assert_int_equal(g->hlen, 32);
	assert_int_equal(g->tos, lane->tos);
	is_near_ms(g->tsval, lane->tcp_ts.offset);
	assert_int_equal(g->tsecr, lane->tcp_ts.recent);
}

/* It became an ACK to the peer. */
void is_ack(const struct seg *g, uint64_t pos)
{
	assert_int_equal(g->len, 0);
	assert_int_equal(g->ack, STREAM_BASE + (uint32_t)pos);
	assert_int_equal(g->seq, SOCKET_SEQ);
	assert_int_equal(g->flags, ACK);
	is_near_ms(g->tsval, s->tcp_ts.offset);
	assert_int_equal(g->tsecr, s->tcp_ts.recent);
}

/* A message from the peer goes to the lane completely; returns its length. */
uint32_t goes_by_lane(uint64_t pos, uint64_t lane_pos, uint32_t payload, uint8_t *bytes)
{
	uint32_t n = message(bytes, false, 0, payload);
	struct seg in = data_at(pos, bytes, n), out;

	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, lane_pos);
	assert_int_equal(out.len, n);
	assert_memory_equal(out.data, bytes, n);
	return n;
}
