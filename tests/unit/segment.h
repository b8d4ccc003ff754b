/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes and reads TCP segments as frames: input and output of the fast path's programs
 * in tests.
 */
#ifndef LX_TESTS_SEGMENT_H
#define LX_TESTS_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include <internal/abi.h>

struct seg {
	bool v6;
	struct lx_flow_key key;
	bool out; /* from local to remote */
	uint32_t seq, ack;
	uint16_t window;
	uint8_t flags;
	bool no_ts;
	uint32_t tsval, tsecr;
	unsigned int n_block;
	uint32_t block[3][2];
	const uint8_t *data;
	uint32_t len;
	uint32_t mark, gso; /* of the packet in a test run */
	/* set when reading: */
	uint32_t hlen;
	uint8_t tos;
	bool csum_ok;
	uint8_t bytes[2000];
};

struct frame {
	uint8_t bytes[2000];
	uint32_t len;
};

/* With checksums, and timestamps and SACK blocks in the usual order. */
void segment_write(const struct seg *seg, struct frame *ret_frame);

/*
 * Reads a frame that must be a segment of @key's connection, from local to remote
 * (@out) or back; checks lengths and the IP header, sets csum_ok.
 */
void segment_read(const struct frame *frame, bool v6, const struct lx_flow_key *key, bool out,
		  struct seg *ret_seg);

/* A router's ICMP error for segment @lost that was larger than @mtu, with checksums. */
void segment_quote(const struct seg *lost, uint32_t mtu, struct frame *ret_frame);
/* The quoted sequence number; fails the test if a checksum is wrong. */
uint32_t segment_quoted(const struct frame *frame, bool v6);

/* In network byte order. */
void segment_put16(uint8_t *at, uint16_t value);
void segment_put32(uint8_t *at, uint32_t value);

#endif
