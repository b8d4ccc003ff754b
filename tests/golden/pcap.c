/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Owns the streams of a capture; called by the golden tests.
 *
 * An early segment waits in a list until the gap before it is filled; one that still waits at
 * the end of the file means that the capture has a gap.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap.h"

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04

struct early {
	struct early *next;
	unsigned int stream;
	size_t offset, len;
	const uint8_t *data; /* points into the file */
};

struct reader {
	struct capture *capture;
	uint8_t *file;
	size_t size;
	bool swapped, nanoseconds;
	uint16_t port;
	const char *without;
	uint64_t first_us, now_us;
	struct early *early;
};

/* A TCP segment with its addresses. */
struct segment {
	char src[46], dst[46];
	bool v6;
	uint16_t sport, dport;
	uint32_t seq;
	unsigned int flags;
	const uint8_t *data;
	size_t len;
};

static int bad(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int bad(struct reader *r, const char *fmt, ...)
{
	char text[120];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(r->capture->error, sizeof(r->capture->error), "frame %u: %s", r->capture->frames,
		 text);
	return -EBADMSG;
}

static uint32_t get32(const struct reader *r, size_t at)
{
	uint32_t value;

	memcpy(&value, r->file + at, sizeof(value));
	return r->swapped ? __builtin_bswap32(value) : value;
}

static uint16_t net16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

/* Makes room for one more element in an array of @n; exits if memory runs out. */
static void *one_more(void *array, unsigned int n, size_t size)
{
	array = realloc(array, (n + 1) * size);
	if (!array)
		abort();
	memset((char *)array + n * size, 0, size);
	return array;
}

/* ---- streams ------------------------------------------------------------------ */

static void event(struct reader *r, enum capture_what what, unsigned int stream, size_t offset,
		  size_t len)
{
	struct capture *c = r->capture;

	c->event = one_more(c->event, c->n_events, sizeof(*c->event));
	c->event[c->n_events++] = (struct capture_event){
		.what = what,
		.frame = c->frames,
		.time_us = r->now_us - r->first_us,
		.stream = stream,
		.offset = offset,
		.len = len,
	};
}

/* The newest stream with these ends, or -1. */
static int find(const struct capture *c, const char *src, uint16_t sport, const char *dst,
		uint16_t dport)
{
	for (int i = (int)c->n_streams - 1; i >= 0; i--) {
		const struct capture_stream *s = &c->stream[i];

		if (s->sport == sport && s->dport == dport && !strcmp(s->src, src) &&
		    !strcmp(s->dst, dst))
			return i;
	}
	return -1;
}

static void stream_name(const struct segment *seg, char who[112])
{
	snprintf(who, 112, "%s:%u>%s:%u", seg->src, seg->sport, seg->dst, seg->dport);
}

static unsigned int stream_new(struct reader *r, const struct segment *seg)
{
	struct capture *c = r->capture;
	struct capture_stream *s;
	int reverse = find(c, seg->dst, seg->dport, seg->src, seg->sport);

	c->stream = one_more(c->stream, c->n_streams, sizeof(*c->stream));
	s = &c->stream[c->n_streams];
	memcpy(s->src, seg->src, sizeof(s->src));
	memcpy(s->dst, seg->dst, sizeof(s->dst));
	stream_name(seg, s->who);
	s->sport = seg->sport;
	s->dport = seg->dport;
	s->v6 = seg->v6;
	s->active = seg->dport == r->port;
	s->reverse = -1;
	/* An older connection with the same ports already has its reverse direction. */
	if (reverse >= 0 && c->stream[reverse].reverse < 0) {
		s->reverse = reverse;
		c->stream[reverse].reverse = c->n_streams;
	}
	return c->n_streams++;
}

/* The stream of a segment: a SYN begins one, unless it is a retransmission. */
static unsigned int stream_of(struct reader *r, const struct segment *seg)
{
	struct capture *c = r->capture;
	int i = find(c, seg->src, seg->sport, seg->dst, seg->dport);

	if (i >= 0 && !(seg->flags & TCP_SYN))
		return i;
	if (i >= 0 && c->stream[i].begun && c->stream[i].first_seq == seg->seq + 1)
		return i;
	i = stream_new(r, seg);
	if (seg->flags & TCP_SYN) {
		c->stream[i].begun = c->stream[i].has_seq = true;
		c->stream[i].first_seq = seg->seq + 1;
		event(r, CAPTURE_SYN, i, 0, 0);
	}
	return i;
}

/* Appends the new part of bytes that start at or before the end of a stream. */
static int stream_append(struct reader *r, unsigned int i, size_t offset, const uint8_t *data,
			 size_t len)
{
	struct capture_stream *s = &r->capture->stream[i];
	size_t known = s->len - offset < len ? s->len - offset : len;

	if (known && memcmp(s->data + offset, data, known))
		return bad(r, "%s sends other bytes at %zu than before", s->who, offset);
	if (known == len)
		return 0;
	s->data = realloc(s->data, s->len + len - known);
	if (!s->data)
		abort();
	memcpy(s->data + s->len, data + known, len - known);
	event(r, CAPTURE_DATA, i, s->len, len - known);
	s->len += len - known;
	return 0;
}

/* Appends the early segments of a stream that fit now. */
static int early_append(struct reader *r, unsigned int i)
{
	for (struct early **p = &r->early, *e; (e = *p) != NULL;) {
		int rc;

		if (e->stream != i || e->offset > r->capture->stream[i].len) {
			p = &e->next;
			continue;
		}
		*p = e->next;
		rc = stream_append(r, i, e->offset, e->data, e->len);
		free(e);
		if (rc)
			return rc;
		p = &r->early; /* another may fit now */
	}
	return 0;
}

static int segment_data(struct reader *r, unsigned int i, const struct segment *seg)
{
	struct capture_stream *s = &r->capture->stream[i];
	struct early *e;
	int32_t offset;
	int rc;

	if (!s->has_seq) {
		s->has_seq = true;
		s->first_seq = seg->seq;
	}
	offset = seg->seq - s->first_seq;
	if (offset < 0)
		return bad(r, "%s: bytes from before the start of the capture", s->who);
	if ((size_t)offset > s->len) {
		e = calloc(1, sizeof(*e));
		if (!e)
			abort();
		*e = (struct early){ r->early, i, offset, seg->len, seg->data };
		r->early = e;
		return 0;
	}
	rc = stream_append(r, i, offset, seg->data, seg->len);
	return rc ? rc : early_append(r, i);
}

static int segment(struct reader *r, const struct segment *seg)
{
	unsigned int i;
	char who[112];
	int rc;

	stream_name(seg, who);
	if (r->without && !strcmp(who, r->without))
		return 0;
	i = stream_of(r, seg);
	rc = seg->len ? segment_data(r, i, seg) : 0;
	if (seg->flags & (TCP_FIN | TCP_RST) && !r->capture->stream[i].ended) {
		r->capture->stream[i].ended = true;
		event(r, seg->flags & TCP_RST ? CAPTURE_RST : CAPTURE_FIN, i, 0, 0);
	}
	return rc;
}

/* ---- frames -------------------------------------------------------------------- */

static int tcp(struct reader *r, struct segment *seg, const uint8_t *p, size_t len)
{
	size_t header;

	if (len < 20)
		return bad(r, "TCP header cut short");
	seg->sport = net16(p);
	seg->dport = net16(p + 2);
	if (seg->sport != r->port && seg->dport != r->port)
		return 0;
	seg->seq = (uint32_t)net16(p + 4) << 16 | net16(p + 6);
	header = (p[12] >> 4) * 4;
	if (header < 20 || header > len)
		return bad(r, "TCP header length %zu", header);
	seg->flags = p[13];
	seg->data = p + header;
	seg->len = len - header;
	return segment(r, seg);
}

/* An IP length of 0: a GSO packet that the sending host had not segmented yet. */
static int ip4(struct reader *r, const uint8_t *p, size_t len)
{
	struct segment seg = { .v6 = false };
	size_t header, total;

	if (len < 20)
		return bad(r, "IPv4 header cut short");
	header = (p[0] & 15) * 4;
	total = net16(p + 2);
	if (!total)
		total = len;
	if (header < 20 || total < header || total > len)
		return bad(r, "IPv4 length %zu", total);
	if (p[9] != 6)
		return 0;
	if (net16(p + 6) & 0x3fff)
		return bad(r, "an IPv4 fragment");
	inet_ntop(AF_INET, p + 12, seg.src, sizeof(seg.src));
	inet_ntop(AF_INET, p + 16, seg.dst, sizeof(seg.dst));
	return tcp(r, &seg, p + header, total - header);
}

static int ip6(struct reader *r, const uint8_t *p, size_t len)
{
	struct segment seg = { .v6 = true };
	size_t payload;

	if (len < 40)
		return bad(r, "IPv6 header cut short");
	payload = net16(p + 4);
	if (!payload)
		payload = len - 40;
	if (payload > len - 40)
		return bad(r, "IPv6 length %zu", payload);
	if (p[6] != 6) /* captured hosts send TCP without extension headers */
		return 0;
	inet_ntop(AF_INET6, p + 8, seg.src, sizeof(seg.src));
	inet_ntop(AF_INET6, p + 24, seg.dst, sizeof(seg.dst));
	return tcp(r, &seg, p + 40, payload);
}

static int frame(struct reader *r, const uint8_t *p, size_t len)
{
	if (len < 14)
		return bad(r, "Ethernet header cut short");
	switch (net16(p + 12)) {
	case 0x0800:
		return ip4(r, p + 14, len - 14);
	case 0x86dd:
		return ip6(r, p + 14, len - 14);
	default:
		return 0;
	}
}

static int frames(struct reader *r)
{
	size_t at = 24, len;
	int rc = 0;

	while (!rc && at < r->size) {
		r->capture->frames++;
		if (r->size - at < 16)
			return bad(r, "file ends in a record header");
		len = get32(r, at + 8);
		if (len != get32(r, at + 12))
			return bad(r, "captured only in part");
		if (len > r->size - at - 16)
			return bad(r, "file ends in the packet");
		r->now_us =
			get32(r, at) * 1000000ULL + get32(r, at + 4) / (r->nanoseconds ? 1000 : 1);
		if (r->capture->frames == 1)
			r->first_us = r->now_us;
		rc = frame(r, r->file + at + 16, len);
		at += 16 + len;
	}
	return rc;
}

static int file_header(struct reader *r)
{
	uint32_t magic;

	if (r->size < 24)
		return bad(r, "shorter than a pcap header");
	magic = get32(r, 0);
	r->swapped = magic == 0xd4c3b2a1u || magic == 0x4d3cb2a1u;
	magic = get32(r, 0);
	r->nanoseconds = magic == 0xa1b23c4du;
	if (magic != 0xa1b2c3d4u && !r->nanoseconds)
		return bad(r, "not a pcap file");
	if (get32(r, 20) != 1)
		return bad(r, "link type %u, not Ethernet", get32(r, 20));
	return 0;
}

static int file_read(struct reader *r, const char *path)
{
	FILE *file = fopen(path, "rb");
	int rc = file ? 0 : -errno;

	while (!rc && !feof(file)) {
		r->file = realloc(r->file, r->size + 65536);
		if (!r->file)
			abort();
		r->size += fread(r->file + r->size, 1, 65536, file);
		if (ferror(file))
			rc = -EIO;
	}
	if (file)
		fclose(file);
	return rc;
}

int capture_load(const char *path, uint16_t port, const char *without, struct capture *capture)
{
	struct reader r = { .capture = capture, .port = port, .without = without };
	int rc;

	memset(capture, 0, sizeof(*capture));
	rc = file_read(&r, path);
	if (!rc)
		rc = file_header(&r);
	if (!rc)
		rc = frames(&r);
	if (!rc && r.early)
		rc = bad(&r, "%s: a gap after %zu bytes", capture->stream[r.early->stream].who,
			 capture->stream[r.early->stream].len);
	while (r.early) {
		struct early *e = r.early;

		r.early = e->next;
		free(e);
	}
	free(r.file);
	return rc;
}

void capture_free(struct capture *capture)
{
	for (unsigned int i = 0; i < capture->n_streams; i++)
		free(capture->stream[i].data);
	free(capture->stream);
	free(capture->event);
	memset(capture, 0, sizeof(*capture));
}
