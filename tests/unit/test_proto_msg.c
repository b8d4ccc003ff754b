/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socklnd protocol functions: messages, which connection carries them, zero-copy
 * cookies, checksums. Spec socklnd.md 5.1 and 6 to 9.
 */
#include "testlib.h"

#include <errno.h>

#include "../../lnd/sock/proto.h"

#define NO LX_FIT_NO
#define MAY LX_FIT_MAY
#define YES LX_FIT_YES

static void sizes(void **state)
{
	assert_int_equal(lx_proto_overhead(LX_SOCK_V1), 72);
	assert_int_equal(lx_proto_overhead(LX_SOCK_V2), 96);
	assert_int_equal(lx_proto_overhead(LX_SOCK_V3), 96);
	assert_int_equal(lx_proto_overhead(LX_SOCK_V4), 120);
}

static void flip(void **state)
{
	struct lx_sock_msg msg, again;
	uint8_t bytes[24];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	memcpy(&msg, bytes, sizeof(msg));
	lx_proto_msg_flip(&msg);
	assert_memory_equal(&msg,
			    "\3\2\1\0\7\6\5\4\17\16\15\14\13\12\11\10\27\26\25\24\23\22\21\20", 24);
	again = msg;
	lx_proto_msg_flip(&again);
	assert_memory_equal(&again, bytes, 24);
}

/* The table of section 7, a row per kind of message: results for ANY, CONTROL, IN, OUT. */
static void connection_choice(void **state)
{
	enum { SMALL, BULK, NOOP };
	static const struct {
		unsigned int version;
		int kind;
		bool nonblk;
		enum lx_conn_fit fit[LX_CTYPES];
	} table[] = {
		{ 1, SMALL, false, { YES, YES, MAY, MAY } },
		{ 1, BULK, false, { YES, MAY, MAY, YES } },
		{ 1, NOOP, false, { NO, NO, NO, NO } }, /* V1 has none */
		{ 2, SMALL, false, { YES, YES, MAY, MAY } },
		{ 2, BULK, false, { YES, MAY, MAY, YES } },
		{ 2, NOOP, false, { YES, YES, MAY, MAY } },
		{ 2, NOOP, true, { YES, YES, MAY, MAY } },
		{ 3, SMALL, false, { NO, YES, NO, MAY } },
		{ 3, BULK, false, { NO, MAY, NO, YES } },
		{ 3, NOOP, false, { NO, YES, MAY, MAY } },
		{ 3, NOOP, true, { NO, NO, YES, NO } },
		{ 4, SMALL, false, { NO, YES, NO, MAY } },
		{ 4, BULK, false, { NO, MAY, NO, YES } },
		{ 4, NOOP, false, { NO, YES, MAY, MAY } },
		{ 4, NOOP, true, { NO, NO, YES, NO } },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		/*
		 * The whole message counts: the header's 96 bytes, or 72 in V1, plus the
		 * payload.
		 */
		size_t edge = 1024 - (table[i].version == 1 ? 72 : 96);
		size_t payload[] = { table[i].kind == BULK ? edge : 0,
				     table[i].kind == BULK ? 1 << 20 : edge - 1 };

		for (int size = 0; size < 2; size++) {
			for (uint32_t ctype = 0; ctype < LX_CTYPES; ctype++) {
				if (lx_proto_conn_fit(table[i].version, ctype,
						      table[i].kind == NOOP, payload[size],
						      table[i].nonblk, 1024) != table[i].fit[ctype])
					fail_msg("row %zu, type %u, payload %zu", i, ctype,
						 payload[size]);
			}
			assert_int_equal(lx_proto_conn_fit(table[i].version, LX_CTYPE_NONE, false,
							   0, false, 1024),
					 NO);
		}
	}
	/* min_bulk is a tunable; below 24 even a NOOP is bulk. */
	assert_int_equal(lx_proto_conn_fit(3, LX_CTYPE_BULK_OUT, true, 0, false, 24), YES);
	assert_int_equal(lx_proto_conn_fit(3, LX_CTYPE_BULK_OUT, true, 0, false, 25), MAY);
	assert_int_equal(lx_proto_conn_fit(3, LX_CTYPE_CONTROL, false, 0, false, 0), MAY);
}

/* ---- ACKs ------------------------------------------------------------------------- */

static struct lx_sock_msg noop_of(uint64_t first, uint64_t last)
{
	return (struct lx_sock_msg){ .type = LX_SOCK_NOOP, .cookie = { first, last } };
}

/* Merging one more cookie into a queued NOOP (8.2). */
static void merge_steps(void **state)
{
	const uint64_t top = UINT64_MAX;
	const struct {
		uint64_t first, last, cookie;
		bool merged;
		uint64_t to_first, to_last;
	} table[] = {
		/* a cookie replaces a ping; a ping is absorbed by anything */
		{ 0, 1, 7, true, 0, 7 },
		{ 0, 1, 1, true, 0, 1 },
		{ 0, 7, 1, true, 0, 7 },
		{ 0, 2, 1, true, 0, 2 },
		{ 9, 7, 1, true, 9, 7 },
		{ 3, 2, 1, true, 3, 2 }, /* although 1 is adjacent */
		{ 2, 5, 1, true, 2, 5 },
		{ 9, 2, 1, true, 9, 2 },
		/* one becomes a pair, the higher first */
		{ 0, 7, 9, true, 9, 7 },
		{ 0, 9, 7, true, 9, 7 },
		{ 0, 7, 8, true, 8, 7 },
		{ 0, 8, 7, true, 8, 7 },
		{ 0, 2, 900, true, 900, 2 },
		{ 0, 900, 2, true, 900, 2 },
		{ 0, 2, top, true, top, 2 },
		/* a gap of one is closed by exactly that cookie */
		{ 9, 7, 8, true, 7, 9 },
		{ 9, 7, 10, false, 9, 7 },
		{ 9, 7, 6, false, 9, 7 },
		{ 9, 7, 77, false, 9, 7 },
		{ top, top - 2, top - 1, true, top - 2, top },
		/* adjacent cookies become a range, at either end */
		{ 8, 7, 9, true, 7, 9 },
		{ 8, 7, 6, true, 6, 8 },
		{ 8, 7, 10, false, 8, 7 },
		{ 8, 7, 5, false, 8, 7 },
		{ 3, 2, 4, true, 2, 4 },
		{ top, top - 1, top - 2, true, top - 2, top },
		{ top, top - 1, 2, false, top, top - 1 }, /* no wrap-around */
		/* too far apart: no room for a third */
		{ 10, 7, 8, false, 10, 7 },
		{ 10, 7, 9, false, 10, 7 },
		{ 10, 7, 11, false, 10, 7 },
		{ top, 2, 3, false, top, 2 },
		/* a range grows at either end */
		{ 7, 9, 10, true, 7, 10 },
		{ 7, 9, 6, true, 6, 9 },
		{ 7, 9, 11, false, 7, 9 },
		{ 7, 9, 5, false, 7, 9 },
		{ 3, 5, 2, true, 2, 5 },
		{ top - 2, top, 2, false, top - 2, top },
		{ top - 3, top - 1, top, true, top - 3, top },
		/* duplicates: still one ACK */
		{ 0, 7, 7, true, 0, 7 },
		{ 9, 7, 9, true, 9, 7 },
		{ 9, 7, 7, true, 9, 7 },
		{ 10, 7, 10, true, 10, 7 },
		{ 7, 9, 7, true, 7, 9 },
		{ 7, 9, 8, true, 7, 9 },
		{ 7, 9, 9, true, 7, 9 },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		struct lx_sock_msg noop = noop_of(table[i].first, table[i].last);

		if (lx_proto_ack_merge(&noop, table[i].cookie) != table[i].merged ||
		    noop.cookie[0] != table[i].to_first || noop.cookie[1] != table[i].to_last)
			fail_msg("row %zu: %llu %llu", i, (unsigned long long)noop.cookie[0],
				 (unsigned long long)noop.cookie[1]);
		assert_int_equal(noop.type, LX_SOCK_NOOP);
		assert_int_equal(noop.csum, 0);
	}
}

#define WINDOW 64

/* Clears in @open what a NOOP acknowledges; each bit must be set. */
static void acknowledge(const struct lx_sock_msg *noop, bool *open, uint64_t base)
{
	struct lx_acked acked;
	unsigned int found = 0;

	assert_int_equal(lx_proto_acked(LX_SOCK_V3, noop, &acked), 0);
	if (acked.keepalive) {
		assert_int_equal(acked.expected, 0);
		return;
	}
	for (uint64_t cookie = base; cookie < base + WINDOW; cookie++) {
		if (!lx_acked_has(&acked, cookie))
			continue;
		assert_true(open[cookie - base]);
		open[cookie - base] = false;
		found++;
	}
	assert_int_equal(found, acked.expected);
}

/*
 * Both sides together: cookies to acknowledge, in any order and mixed with pings, are merged,
 * sent when they cannot be merged, and decoded by the other side.
 */
static void merge_is_understood(void **state)
{
	for (int round = 0; round < 20000; round++) {
		uint64_t base = rnd_below(3) ? 2 : rnd() >> rnd_below(40) | 2, order[WINDOW];
		bool open[WINDOW];
		struct lx_sock_msg noop = noop_of(0, 0);
		unsigned int sent = 0, disorder = rnd_below(4) ? 4 : WINDOW;

		if (base > UINT64_MAX - WINDOW)
			base = UINT64_MAX - WINDOW;
		for (int i = 0; i < WINDOW; i++) {
			order[i] = base + i;
			open[i] = true;
		}
		for (unsigned int i = 0; i < WINDOW; i++) { /* shuffled, mostly a little */
			unsigned int j = i + rnd_below(disorder);
			uint64_t cookie = order[i];

			j = j < WINDOW ? j : WINDOW - 1;
			order[i] = order[j];
			order[j] = cookie;
		}
		for (int i = 0; i < WINDOW; i++) {
			if (rnd_below(8) == 0 && !lx_proto_ack_merge(&noop, 1))
				fail_msg("a ping was not swallowed");
			if (lx_proto_ack_merge(&noop, order[i]))
				continue;
			acknowledge(&noop, open, base);
			noop = noop_of(0, order[i]);
			sent++;
		}
		acknowledge(&noop, open, base);
		for (int i = 0; i < WINDOW; i++)
			assert_false(open[i]);
		assert_true(sent < WINDOW / 2); /* on average two share a NOOP */
	}
}

/* In order, all pending cookies fit into one NOOP. */
static void merge_in_order(void **state)
{
	struct lx_sock_msg noop = noop_of(0, 1);

	for (uint64_t cookie = 2; cookie < 100000; cookie++)
		assert_true(lx_proto_ack_merge(&noop, cookie));
	assert_true(noop.cookie[0] == 2);
	assert_true(noop.cookie[1] == 99999);
}

/* Spec section 8.3. */
static void acked_table(void **state)
{
	const uint32_t N = LX_SOCK_NOOP, L = LX_SOCK_LNET;
	const uint64_t top = UINT64_MAX;
	const struct {
		unsigned int version;
		uint32_t type;
		uint64_t c0, c1;
		int rc;
		uint64_t first, last;
		bool pair, keepalive;
		unsigned int expected;
	} table[] = {
		/* nothing */
		{ 3, N, 0, 0, 0, 0, 0, false, false, 0 },
		{ 3, N, 5, 0, 0, 0, 0, false, false, 0 },
		{ 3, L, 5, 0, 0, 0, 0, false, false, 0 },
		{ 1, L, 0, 0, 0, 0, 0, false, false, 0 },
		/* one; in an LNET message the first cookie is its own request */
		{ 2, N, 0, 7, 0, 7, 7, false, false, 1 },
		{ 3, N, 0, 7, 0, 7, 7, false, false, 1 },
		{ 3, N, 7, 7, 0, 7, 7, false, false, 1 },
		{ 2, L, 0, 7, 0, 7, 7, false, false, 1 },
		{ 2, L, 9, 7, 0, 7, 7, false, false, 1 },
		{ 4, L, 2, 7, 0, 7, 7, false, false, 1 },
		/* pair and range */
		{ 3, N, 9, 7, 0, 9, 7, true, false, 2 },
		{ 4, N, top, 2, 0, top, 2, true, false, 2 },
		{ 3, N, 7, 9, 0, 7, 9, false, false, 3 },
		{ 3, N, 2, 4294967296ULL, 0, 2, 4294967296ULL, false, false, 4294967295u },
		{ 3, N, 2, 4294967297ULL, 0, 2, 4294967297ULL, false, false, 4294967295u },
		{ 3, N, 2, 4294967298ULL, 0, 2, 4294967298ULL, false, false, 4294967295u },
		{ 3, N, 1, top, 0, 1, top, false, false, 4294967295u },
		/* keepalive, from V3 on */
		{ 3, N, 0, 1, 0, 0, 0, false, true, 0 },
		{ 4, N, 0, 1, 0, 0, 0, false, true, 0 },
		{ 4, N, 1, 1, 0, 0, 0, false, true, 0 },
		{ 3, L, 5, 1, 0, 0, 0, false, true, 0 },
		{ 3, N, 2, 1, -EPROTO, 0, 0, false, false, 0 },
		{ 4, N, top, 1, -EPROTO, 0, 0, false, false, 0 },
		{ 2, N, 0, 1, 0, 1, 1, false, false, 1 }, /* no request had cookie 1 */
		/* not a valid message */
		{ 1, N, 0, 7, -EPROTO, 0, 0, false, false, 0 },
		{ 3, 0xc2, 0, 0, -EPROTO, 0, 0, false, false, 0 },
		{ 3, 0, 0, 0, -EPROTO, 0, 0, false, false, 0 },
		{ 3, 0xc0000000u, 0, 1, -EPROTO, 0, 0, false, false, 0 },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		struct lx_sock_msg msg = { .type = table[i].type,
					   .cookie = { table[i].c0, table[i].c1 } };
		struct lx_acked acked;

		if (lx_proto_acked(table[i].version, &msg, &acked) != table[i].rc)
			fail_msg("verdict of row %zu", i);
		if (table[i].rc)
			continue;
		if (acked.first != table[i].first || acked.last != table[i].last ||
		    acked.pair != table[i].pair || acked.keepalive != table[i].keepalive ||
		    acked.expected != table[i].expected)
			fail_msg("row %zu", i);
	}
}

static void acked_members(void **state)
{
	struct lx_acked range = { .first = 7, .last = 9 };
	struct lx_acked pair = { .first = 9, .last = 7, .pair = true };

	for (uint64_t cookie = 0; cookie < 20; cookie++) {
		assert_int_equal(lx_acked_has(&range, cookie), cookie >= 7 && cookie <= 9);
		assert_int_equal(lx_acked_has(&pair, cookie), cookie == 7 || cookie == 9);
	}
}

/* The examples of 8.3, as bytes. */
static void acked_examples(void **state)
{
	static const struct {
		const char *bytes;
		unsigned int expected;
		bool seven, eight, nine;
	} table[] = {
		{ "c0 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00", 1,
		  true, false, false },
		{ "c0 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 09 00 00 00 00 00 00 00", 3,
		  true, true, true },
		{ "c0 00 00 00 00 00 00 00 09 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00", 2,
		  true, false, true },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		struct lx_sock_msg msg;
		struct lx_acked acked;

		assert_int_equal(unhex(table[i].bytes, &msg, sizeof(msg)), 24);
		msg.type = lx_le32(msg.type);
		msg.cookie[0] = lx_le64(msg.cookie[0]);
		msg.cookie[1] = lx_le64(msg.cookie[1]);
		assert_int_equal(lx_proto_acked(LX_SOCK_V3, &msg, &acked), 0);
		assert_int_equal(acked.expected, table[i].expected);
		assert_int_equal(lx_acked_has(&acked, 7), table[i].seven);
		assert_int_equal(lx_acked_has(&acked, 8), table[i].eight);
		assert_int_equal(lx_acked_has(&acked, 9), table[i].nine);
	}
}

static void cookies(void **state)
{
	assert_true(lx_proto_cookie_next(2) == 3);
	assert_true(lx_proto_cookie_next(UINT64_MAX - 1) == UINT64_MAX);
	assert_true(lx_proto_cookie_next(UINT64_MAX) == 2);
	assert_true(lx_proto_cookie_next(0) == 2);
	assert_true(lx_proto_cookie_next(1) == 2);
}

/* ---- checksum ------------------------------------------------------------------------ */

/* The definition of section 9, bit by bit. */
static uint32_t slow_csum(uint32_t csum, const uint8_t *data, size_t len)
{
	for (; len; len--, data++) {
		csum ^= *data;
		for (int bit = 0; bit < 8; bit++)
			csum = csum & 1 ? csum >> 1 ^ 0xedb88320u : csum >> 1;
	}
	return csum;
}

static void csum_examples(void **state)
{
	uint8_t noop[24];
	uint32_t csum;

	assert_int_equal(lx_proto_csum(LX_CSUM_INIT, "123456789", 9), 0x340bc6d9);
	/* The NOOP that acknowledges 7, in V2; its checksum is computed with 0 in that field. */
	unhex("c0 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00", noop,
	      sizeof(noop));
	csum = lx_le32(lx_proto_csum(LX_CSUM_INIT, noop, sizeof(noop)));
	assert_int_equal(csum, lx_le32(0x3d9e3319));
	memcpy(noop + 4, &csum, 4);
	assert_memory_equal(noop, "\xc0\0\0\0\x19\x33\x9e\x3d", 8);
}

static void csum_pieces(void **state)
{
	static uint8_t data[70000];

	rnd_fill(data, sizeof(data));
	for (int round = 0; round < 200; round++) {
		size_t len = rnd_below(round < 20 ? sizeof(data) : 300), from = rnd_below(300);
		uint32_t want, csum = LX_CSUM_INIT;

		if (from + len > sizeof(data))
			len = sizeof(data) - from;
		want = slow_csum(LX_CSUM_INIT, data + from, len);
		assert_int_equal(lx_proto_csum(LX_CSUM_INIT, data + from, len), want);
		for (size_t at = 0, n; at < len; at += n) {
			n = 1 + rnd_below(len - at);
			csum = lx_proto_csum(csum, data + from + at, n);
			csum = lx_proto_csum(csum, NULL, 0);
		}
		assert_int_equal(csum, want);
	}
	assert_true(lx_proto_csum(LX_CSUM_INIT, NULL, 0) == LX_CSUM_INIT);
}

/* Spec section 5.1. */
static void auto_conns(void **state)
{
	static const struct {
		unsigned int mbps, conns;
	} table[] = {
		{ 0, 1 },      { 10, 1 },     { 100, 1 },    { 1000, 1 },   { 2500, 1 },
		{ 3999, 1 },   { 4000, 2 },   { 5000, 2 },   { 10000, 2 },  { 15999, 2 },
		{ 16000, 3 },  { 25000, 3 },  { 40000, 3 },  { 50000, 3 },  { 64000, 4 },
		{ 100000, 4 }, { 200000, 4 }, { 256000, 5 }, { 400000, 5 }, { 800000, 5 },
	};

	for (size_t i = 0; i < N_OF(table); i++)
		assert_int_equal(lx_proto_auto_conns(table[i].mbps), table[i].conns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(flip),
		cmocka_unit_test(connection_choice),
		cmocka_unit_test(merge_steps),
		cmocka_unit_test(merge_is_understood),
		cmocka_unit_test(merge_in_order),
		cmocka_unit_test(acked_table),
		cmocka_unit_test(acked_members),
		cmocka_unit_test(acked_examples),
		cmocka_unit_test(cookies),
		cmocka_unit_test(csum_examples),
		cmocka_unit_test(csum_pieces),
		cmocka_unit_test(auto_conns),
	};

	rnd_init();
	return cmocka_run_group_tests_name("proto_msg", tests, NULL, NULL);
}
