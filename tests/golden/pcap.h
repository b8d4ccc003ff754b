/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packet captures as byte streams: reads a pcap file (Ethernet, IPv4 and IPv6) and reassembles
 * the TCP streams of one port, for the golden tests.
 *
 * Strict on purpose: gaps, truncated packets and overlapping segments that differ are errors,
 * so a test that reads to the end of all streams has seen every byte.
 */
#ifndef LX_TESTS_PCAP_H
#define LX_TESTS_PCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One direction of one connection. */
struct capture_stream {
	char who[112]; /* "10.0.0.1:1023>10.0.0.2:988" */
	char src[46], dst[46];
	uint16_t sport, dport;
	bool v6;
	bool begun; /* its SYN was captured; else the capture starts in the middle */
	bool ended; /* FIN or RST was seen */
	bool active; /* from the side that dialled */
	int reverse; /* the other direction; -1: not captured */
	uint8_t *data;
	size_t len;

	/* only for the reader */
	uint32_t first_seq;
	bool has_seq;
};

enum capture_what { CAPTURE_SYN, CAPTURE_DATA, CAPTURE_FIN, CAPTURE_RST };

/* Events, in order. Data: @len contiguous bytes at @offset. */
struct capture_event {
	enum capture_what what;
	unsigned int frame; /* from 1 */
	uint64_t time_us; /* since the first frame */
	unsigned int stream;
	size_t offset, len;
};

struct capture {
	struct capture_stream *stream;
	unsigned int n_streams;
	struct capture_event *event;
	unsigned int n_events;
	unsigned int frames; /* all of the file */
	char error[160]; /* after a failed capture_load() */
};

/**
 * capture_load - read a file
 * @port: the port of the side that listens
 * @without: a stream to leave out, by its capture_stream.who; NULL: none
 * @capture: filled; capture_free() it in any case
 *
 * Returns 0, a negative errno of the file, or -EBADMSG: see capture->error.
 */
int capture_load(const char *path, uint16_t port, const char *without, struct capture *capture);
void capture_free(struct capture *capture);

#endif
