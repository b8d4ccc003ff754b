/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "testlib.h"

#include "segment.h"

static uint32_t sum16(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i < n; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static uint32_t pseudo(const uint8_t *l3, bool six, uint32_t len)
{
	return six ? sum16(l3 + 8, 32, 6 + len) : sum16(l3 + 12, 8, 6 + len);
}

void segment_put16(uint8_t *at, uint16_t v)
{
	at[0] = v >> 8;
	at[1] = v;
}

void segment_put32(uint8_t *at, uint32_t v)
{
	segment_put16(at, v >> 16);
	segment_put16(at + 2, v);
}

static uint16_t get16(const uint8_t *at)
{
	return at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static uint32_t put_options(uint8_t *at, const struct seg *g)
{
	uint32_t n = 0;

	if (!g->no_ts) {
		segment_put32(at, 0x0101080a);
		segment_put32(at + 4, g->tsval);
		segment_put32(at + 8, g->tsecr);
		n = 12;
	}
	if (!g->n_block)
		return n;
	segment_put32(at + n, 0x01010502 + 8 * g->n_block);
	n += 4;
	for (unsigned int i = 0; i < g->n_block; i++, n += 8) {
		segment_put32(at + n, g->block[i][0]);
		segment_put32(at + n + 4, g->block[i][1]);
	}
	return n;
}

void segment_write(const struct seg *g, struct frame *f)
{
	uint8_t *l3 = f->bytes + 14, *tcp = l3 + (g->v6 ? 40 : 20);
	const uint8_t *src = g->out ? g->key.local : g->key.remote;
	const uint8_t *dst = g->out ? g->key.remote : g->key.local;
	uint32_t hlen, len, sum;

	memset(f, 0, sizeof(*f));
	segment_put16(f->bytes + 12, g->v6 ? 0x86dd : 0x0800);
	memcpy(tcp, g->out ? &g->key.local_port : &g->key.remote_port, 2);
	memcpy(tcp + 2, g->out ? &g->key.remote_port : &g->key.local_port, 2);
	segment_put32(tcp + 4, g->seq);
	segment_put32(tcp + 8, g->ack);
	hlen = 20 + put_options(tcp + 20, g);
	tcp[12] = hlen / 4 << 4;
	tcp[13] = g->flags ? g->flags : 16 /* ACK */;
	segment_put16(tcp + 14, g->window);
	if (g->len)
		memcpy(tcp + hlen, g->data, g->len);
	len = hlen + g->len;
	if (g->v6) {
		l3[0] = 0x60;
		segment_put16(l3 + 4, len);
		l3[6] = 6;
		l3[7] = 64;
		memcpy(l3 + 8, src, 16);
		memcpy(l3 + 24, dst, 16);
	} else {
		l3[0] = 0x45;
		segment_put16(l3 + 2, 20 + len);
		l3[6] = 0x40;
		l3[8] = 64;
		l3[9] = 6;
		memcpy(l3 + 12, src + 12, 4);
		memcpy(l3 + 16, dst + 12, 4);
		segment_put16(l3 + 10, ~sum16(l3, 20, 0));
	}
	sum = pseudo(l3, g->v6, len);
	segment_put16(tcp + 16, ~sum16(tcp, len, sum));
	f->len = tcp + len - f->bytes;
}

static void read_options(struct seg *g, const uint8_t *at, const uint8_t *end)
{
	g->no_ts = true;
	while (at < end && *at) {
		if (*at == 1) {
			at++;
			continue;
		}
		assert_true(at + 1 < end && at[1] >= 2 && at + at[1] <= end);
		if (*at == 8) {
			g->no_ts = false;
			g->tsval = get32(at + 2);
			g->tsecr = get32(at + 6);
		} else if (*at == 5) {
			g->n_block = (at[1] - 2) / 8;
			assert_in_range(g->n_block, 1, 3);
			for (unsigned int i = 0; i < g->n_block; i++) {
				g->block[i][0] = get32(at + 2 + 8 * i);
				g->block[i][1] = get32(at + 6 + 8 * i);
			}
		}
		at += at[1];
	}
}

/* @key: the expected connection; checks lengths and the IP header. */
void segment_read(const struct frame *f, bool v6, const struct lx_flow_key *key, bool out,
		  struct seg *ret_seg)
{
	const uint8_t *l3 = f->bytes + 14, *tcp = l3 + (v6 ? 40 : 20);
	uint32_t all = v6 ? get16(l3 + 4) : get16(l3 + 2) - 20u;
	struct seg *g = ret_seg;
	const uint8_t *src = out ? key->local : key->remote, *dst = out ? key->remote : key->local;

	memset(g, 0, sizeof(*g));
	g->v6 = v6;
	assert_int_equal(f->len, tcp + all - f->bytes);
	assert_memory_equal(v6 ? l3 + 8 : l3 + 12, v6 ? src : src + 12, v6 ? 16 : 4);
	assert_memory_equal(v6 ? l3 + 24 : l3 + 16, v6 ? dst : dst + 12, v6 ? 16 : 4);
	assert_memory_equal(tcp, out ? &key->local_port : &key->remote_port, 2);
	assert_memory_equal(tcp + 2, out ? &key->remote_port : &key->local_port, 2);
	if (!v6)
		assert_int_equal(sum16(l3, 20, 0), 0xffff);
	g->seq = get32(tcp + 4);
	g->ack = get32(tcp + 8);
	g->hlen = tcp[12] / 16 * 4;
	g->flags = tcp[13];
	g->window = get16(tcp + 14);
	read_options(g, tcp + 20, tcp + g->hlen);
	g->tos = v6 ? get16(l3) >> 4 & 0xff : l3[1];
	g->len = all - g->hlen;
	memcpy(g->bytes, tcp + g->hlen, g->len);
	g->data = g->bytes;
	g->csum_ok = sum16(tcp, all, pseudo(l3, v6, all)) == 0xffff;
}

#define QUOTED 100 /* bytes of a packet */

/* The checksum over an ICMP message; 0xffff if correct. */
static uint32_t icmp_sum(const struct frame *f, bool v6)
{
	const uint8_t *l3 = f->bytes + 14;
	uint32_t len = 8 + QUOTED;

	/* In IPv6 it covers the addresses, too. */
	return v6 ? sum16(l3 + 40, len, sum16(l3 + 8, 32, 58 + len)) : sum16(l3 + 20, len, 0);
}

void segment_quote(const struct seg *lost, uint32_t mtu, struct frame *f)
{
	uint8_t *l3 = f->bytes + 14, *icmp = l3 + (lost->v6 ? 40 : 20);
	struct frame quoted;

	segment_write(lost, &quoted);
	memset(f, 0, sizeof(*f));
	/* The quoted packet's headers, reversed, with ICMP as the protocol. */
	memcpy(f->bytes, quoted.bytes, icmp - f->bytes);
	if (lost->v6) {
		segment_put16(l3 + 4, 8 + QUOTED);
		l3[6] = 58;
		memcpy(l3 + 8, lost->key.remote, 16);
		memcpy(l3 + 24, lost->key.local, 16);
		icmp[0] = 2;
		segment_put32(icmp + 4, mtu);
	} else {
		segment_put16(l3 + 2, 20 + 8 + QUOTED);
		l3[9] = 1;
		memcpy(l3 + 12, lost->key.remote + 12, 4);
		memcpy(l3 + 16, lost->key.local + 12, 4);
		segment_put16(l3 + 10, 0);
		segment_put16(l3 + 10, ~sum16(l3, 20, 0));
		icmp[0] = 3;
		icmp[1] = 4;
		segment_put32(icmp + 4, mtu);
	}
	memcpy(icmp + 8, quoted.bytes + 14, QUOTED);
	segment_put16(icmp + 2, ~icmp_sum(f, lost->v6));
	f->len = icmp + 8 + QUOTED - f->bytes;
}

uint32_t segment_quoted(const struct frame *f, bool v6)
{
	assert_int_equal(icmp_sum(f, v6), 0xffff);
	return get32(f->bytes + 14 + (v6 ? 40 + 8 + 40 : 20 + 8 + 20) + 4);
}
