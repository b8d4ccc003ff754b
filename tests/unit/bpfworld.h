/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs in the kernel with one stream from a peer and one lane to a
 * next hop, set up as a takeover does: for tests that run packets one by
 * one. The sequence numbers of both connections are about to wrap.
 */
#ifndef LX_TESTS_BPFWORLD_H
#define LX_TESTS_BPFWORLD_H

#include "fastpath.skel.h"
#include "segment.h"

#include "fptables.h"

#include "../../bpf/parse.h"

#define STREAM_BASE 0xffffff00u
#define LANE_BASE 0xffffffc0u
#define SOCKET_SEQ 0x1000u /* the next sequence number of our socket to the peer */
#define LANE_ACK 0x2000u   /* and on the lane */
#define WINDOW_EDGE 100000
#define GO_ON (-1)
#define DROP 2
#define REDIRECT 7
#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16

extern struct fastpath_bpf *bpf; /* NULL: it cannot be loaded here */
extern struct lx_stream *s;
extern struct lx_lane *lane;
extern struct lx_settings *settings;
extern bool v6; /* the current world's family */
extern uint32_t run_flags; /* BPF_F_TEST_*, for runs from here on */

/* Group setup. The programs run in a separate network namespace. */
int kernel_open(void **state);
int kernel_close(void **state);

/* Sets up a stream framed at position 0, and an idle lane; skips the test without BPF. */
void world(bool ipv6);
/* Runs a test in such a world, with IPv4 and with IPv6. */
void both(void (*test)(void));
/* Sets what a connection is to the programs. */
void flow_set(const struct lx_flow_key *key, enum lx_flow_kind kind, uint32_t index);
/* 0: the peer as a sender, 1: the next hop. */
struct lx_fp_peer *peer_at(int i);

/* Writes a message with random payload for the next hop, or for us; its length. */
uint32_t message(uint8_t *at, bool ours, uint64_t cookie, uint32_t payload);

/* Where a frame arrives. */
enum run_where { IN, OUT, PART, JOINED, HELD };
/* Runs a frame. Returns GO_ON, DROP or REDIRECT. */
int run_frame(const struct frame *in, enum run_where where, uint32_t mark, uint32_t gso,
	      struct frame *ret_frame, uint32_t *ret_mark);
/*
 * Runs a segment; @ret: the resulting segment of @key's connection, including its mark. A clone that
 * is to leave (@out) is on its way out.
 */
int run(const struct seg *in, const struct lx_flow_key *key, bool out, struct seg *ret);

/* Data from the peer, starting at a stream position. */
struct seg data_at(uint64_t pos, const uint8_t *data, uint32_t len);
/* The next hop's acknowledgement of a lane position, our socket's of a socket position. */
struct seg lane_ack(uint64_t pos, uint16_t window);
struct seg socket_ack(uint64_t pos, uint16_t window);
/* Data that our socket sends on the lane, with its own sequence number. */
struct seg lane_data(uint32_t seq, const uint8_t *data, uint32_t len);
/* The next hop's ACK with a SACK block of lane positions. */
struct seg lane_sack(uint64_t pos, uint16_t window, uint64_t start, uint64_t end);

/* Asserts that it became a segment on the lane; or an ACK for the peer. */
void is_on_lane(const struct seg *g, uint64_t pos);
void is_ack(const struct seg *g, uint64_t pos);
/* A message of the peer goes to the lane completely; returns its length. */
uint32_t goes_by_lane(uint64_t pos, uint64_t lane_pos, uint32_t payload, uint8_t *bytes);

/* Not used: parse.h is included for its header sizes only. */
FP_NO_TABLES


static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	return NULL;
}

FP_NO_PACKETS

#endif
