/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socklnd protocol functions: acceptor requests and HELLOs. Spec socklnd.md 2 to 4;
 * the examples there byte by byte, both byte orders, every length, every bad field.
 * Messages, cookies and checksums: test_proto_msg.c.
 */
#include "testlib.h"

#include <errno.h>

#include "../../lnd/sock/proto.h"

#define REQ1 "00 71 ce ac 01 00 00 00 14 01 a8 c0 00 00 02 00"
#define REQ1_BE "ac ce 71 00 00 00 00 01 00 02 00 00 c0 a8 01 14"
#define NID16_B "0c 02 00 00 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 14"
#define NID16_A "0c 02 00 00 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 0a"
#define REQ2 "00 71 ce ac 02 00 00 00" NID16_B
#define REQ2_BE "ac ce 71 00 00 00 00 02" NID16_B

#define LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#define HELLO1                                                                                     \
	"ed 0d bc ee 01 00 00 00 0a 01 a8 c0 00 00 02 00 00 00 00 00 39 30 00 00"                  \
	"04 00 00 00 00 00 00 00 06 f5 e4 d3 c2 b1 a3 17 01 00 00 00"                              \
	"00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
#define HELLO3                                                                                     \
	"63 69 72 45 03 00 00 00 0a 01 a8 c0 00 00 02 00"                                          \
	"14 01 a8 c0 00 00 02 00 39 30 00 00 00 00 00 00"                                          \
	"06 f5 e4 d3 c2 b1 a3 17 00 00 00 00 00 00 00 00"                                          \
	"01 00 00 00 00 00 00 00"
#define HELLO2_BE                                                                                  \
	"45 72 69 63 00 00 00 02 00 02 00 00 c0 a8 01 0a"                                          \
	"00 02 00 00 c0 a8 01 14 00 00 30 39 00 00 00 00"                                          \
	"17 a3 b1 c2 d3 e4 f5 06 00 00 00 00 00 00 00 00"                                          \
	"00 00 00 01 00 00 00 00"
#define HELLO4                                                                                     \
	"63 69 72 45 04 00 00 00" NID16_A NID16_B "39 30 00 00 00 00 00 00"                        \
	"06 f5 e4 d3 c2 b1 a3 17 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00"
#define HELLO4_BE                                                                                  \
	"45 72 69 63 00 00 00 04" NID16_A NID16_B "00 00 30 39 00 00 00 00"                        \
	"17 a3 b1 c2 d3 e4 f5 06 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00"

static struct lx_nid nid_of(const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return nid;
}

/*
 * Does what a socket reader does: ask for a length, read it, ask again. @buf is copied to an
 * allocation of just the length that arrived, so that a sanitizer detects reads beyond. Returns
 * the total length, or the error.
 */
static int read_by_need(int (*need)(const void *, size_t), const void *buf, size_t len)
{
	size_t have = 0;

	for (int steps = 0; steps < 5; steps++) {
		void *exact = malloc(have + !have);
		int want;

		assert_non_null(exact);
		memcpy(exact, buf, have);
		want = need(exact, have);
		free(exact);
		if (want < 0 || (size_t)want == have)
			return want;
		assert_true((size_t)want > have);
		if ((size_t)want > len)
			return -ENODATA;
		have = want;
	}
	fail_msg("asks for more without end");
	return 0;
}

/* ---- acceptor ----------------------------------------------------------------- */

static const struct {
	const char *bytes, *target;
	bool little; /* endian */
} requests[] = {
	{ REQ1, "192.168.1.20@tcp", true },
	{ REQ1_BE, "192.168.1.20@tcp", false },
	{ REQ2, "2001:db8::14@tcp", true },
	{ REQ2_BE, "2001:db8::14@tcp", false },
};

static void acc_examples(void **state)
{
	for (size_t i = 0; i < N_OF(requests); i++) {
		uint8_t bytes[64], out[LX_ACC_REQ_MAX];
		size_t len = unhex(requests[i].bytes, bytes, sizeof(bytes));
		struct lx_nid target, want = nid_of(requests[i].target);

		assert_int_equal(len, want.size ? 28 : 16);
		assert_int_equal(read_by_need(lx_proto_acc_need, bytes, len), len);
		lx_proto_acc_decode(bytes, &target);
		assert_true(lx_nid_eq(&target, &want));
		/* The steps of need(), and no result before all bytes are there. */
		for (size_t have = 0; have <= len; have++)
			assert_int_equal(lx_proto_acc_need(bytes, have), have < 4   ? 4
									 : have < 8 ? 8
										    : len);
		if (requests[i].little != LITTLE)
			continue;
		assert_int_equal(lx_proto_acc_encode(&want, out), len);
		assert_memory_equal(out, bytes, len);
	}
}

static void acc_errors(void **state)
{
	static const struct {
		const char *bytes;
		int error;
	} table[] = {
		{ "63 69 72 45", -EPROTONOSUPPORT }, /* a generic prober, either byte order */
		{ "45 72 69 63", -EPROTONOSUPPORT },
		{ "ed 0d bc ee", -EPROTO }, /* a socklnd without acceptor */
		{ "ee bc 0d ed", -EPROTO },
		{ "00 00 00 00", -EPROTO },
		{ "47 45 54 20", -EPROTO }, /* a browser */
		{ "00 71 ce ad", -EPROTO },
		{ "00 71 ce ac 00 00 00 00", -EPROTONOSUPPORT },
		{ "00 71 ce ac 03 00 00 00", -EPROTONOSUPPORT },
		{ "00 71 ce ac 00 00 00 01", -EPROTONOSUPPORT }, /* 1, in the other byte order */
		{ "ac ce 71 00 01 00 00 00", -EPROTONOSUPPORT },
		{ "ac ce 71 00 ff ff ff ff", -EPROTONOSUPPORT },
	};
	struct lx_acc_req1 answer;
	uint8_t bytes[64];

	for (size_t i = 0; i < N_OF(table); i++) {
		size_t len = unhex(table[i].bytes, bytes, sizeof(bytes));

		assert_int_equal(read_by_need(lx_proto_acc_need, bytes, len), table[i].error);
	}
	lx_proto_acc_version(&answer);
	assert_int_equal(answer.magic, LX_PROTO_ACC_MAGIC);
	assert_int_equal(answer.version, 1);
	assert_true(answer.nid == 0);
}

static void acc_random(void **state)
{
	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[LX_ACC_REQ_MAX];
		struct lx_nid nid, again;
		int rc;

		rnd_fill(bytes, sizeof(bytes));
		unhex(requests[rnd_below(4)].bytes, bytes, sizeof(bytes));
		if (rnd_below(3) == 0)
			bytes[rnd_below(8)] ^= 1u << rnd_below(8);
		rnd_fill(bytes + 8, sizeof(bytes) - 8);
		rc = read_by_need(lx_proto_acc_need, bytes, sizeof(bytes));
		assert_true(rc == 16 || rc == 28 || rc == -EPROTO || rc == -EPROTONOSUPPORT);
		if (rc < 0)
			continue;
		lx_proto_acc_decode(bytes, &nid);
		if (!lx_nid_is_valid(&nid) || lx_nid_is_any(&nid))
			continue;
		rc = lx_proto_acc_encode(&nid, bytes);
		assert_int_equal(read_by_need(lx_proto_acc_need, bytes, rc), rc);
		lx_proto_acc_decode(bytes, &again);
		assert_true(lx_nid_eq(&nid, &again));
	}
}

/* ---- HELLO --------------------------------------------------------------------- */

static const struct {
	const char *bytes;
	unsigned int version;
	bool big; /* endian */
} hellos[] = {
	{ HELLO1, LX_SOCK_V1, false },	 { HELLO3, LX_SOCK_V3, false },
	{ HELLO2_BE, LX_SOCK_V2, true }, { HELLO4, LX_SOCK_V4, false },
	{ HELLO4_BE, LX_SOCK_V4, true },
};

/* The values of the spec's examples. */
static void expect_example(const struct lx_hello *hello)
{
	bool v4 = hello->version == LX_SOCK_V4;
	struct lx_nid src = nid_of(v4 ? "2001:db8::a@tcp" : "192.168.1.10@tcp");
	struct lx_nid dst = nid_of(v4 ? "2001:db8::14@tcp" : "192.168.1.20@tcp");

	if (hello->version == LX_SOCK_V1)
		dst = lx_nid_any;
	assert_true(lx_nid_eq(&hello->src_nid, &src));
	assert_true(lx_nid_eq(&hello->dst_nid, &dst));
	assert_int_equal(hello->src_pid, 12345);
	assert_int_equal(hello->dst_pid, 0);
	assert_true(hello->src_incarnation == 0x17a3b1c2d3e4f506ULL);
	assert_true(hello->dst_incarnation == 0);
	assert_int_equal(hello->ctype, LX_CTYPE_CONTROL);
	assert_int_equal(hello->nips, 0);
}

static void hello_examples(void **state)
{
	for (size_t i = 0; i < N_OF(hellos); i++) {
		uint8_t bytes[LX_HELLO_MAX], out[LX_HELLO_MAX];
		size_t len = unhex(hellos[i].bytes, bytes, sizeof(bytes));
		struct lx_hello hello;

		assert_int_equal(read_by_need(lx_proto_hello_need, bytes, len), len);
		for (size_t have = 0; have <= len; have++)
			assert_int_equal(lx_proto_hello_need(bytes, have), have < 4   ? 4
									   : have < 8 ? 8
										      : len);
		assert_int_equal(lx_proto_hello_decode(bytes, len, &hello), 0);
		assert_int_equal(hello.version, hellos[i].version);
		/* One of V1 is little endian on every host. */
		assert_int_equal(hello.flip,
				 hello.version != LX_SOCK_V1 && hellos[i].big == LITTLE);
		expect_example(&hello);
		assert_int_equal(lx_proto_hello_encode(&hello, out), len);
		assert_memory_equal(out, bytes, len);
	}
}

/* A HELLO is as long as need() says; its decoder accepts no other length. */
static void hello_lengths(void **state)
{
	for (size_t i = 0; i < N_OF(hellos); i++) {
		uint8_t bytes[LX_HELLO_MAX + 8] = { 0 };
		size_t len = unhex(hellos[i].bytes, bytes, sizeof(bytes));
		struct lx_hello hello;

		for (size_t have = 0; have < len; have++) {
			void *exact = malloc(have + !have);

			assert_non_null(exact);
			memcpy(exact, bytes, have);
			assert_int_equal(lx_proto_hello_decode(exact, have, &hello), -EPROTO);
			free(exact);
		}
		for (size_t have = len + 1; have < sizeof(bytes); have++)
			assert_int_equal(lx_proto_hello_decode(bytes, have, &hello), -EPROTO);
	}
}

/* Lists of IPs (V1 to V3): up to 16, none of them 0. */
static void hello_ips(void **state)
{
	for (unsigned int version = LX_SOCK_V1; version <= LX_SOCK_V3; version++) {
		for (unsigned int nips = 0; nips <= LX_HELLO_IPS_MAX; nips++) {
			bool flip = version != LX_SOCK_V1 && nips % 2;
			bool big = version != LX_SOCK_V1 && flip == LITTLE;
			struct lx_hello hello = { .version = version,
						  .flip = flip,
						  .src_nid = nid_of("10.0.0.1@tcp"),
						  .dst_nid = nid_of("10.0.0.2@tcp"),
						  .nips = nips },
					again;
			uint8_t bytes[LX_HELLO_MAX];
			size_t fixed = version == LX_SOCK_V1 ? 72 : 56, len;

			for (unsigned int i = 0; i < nips; i++)
				hello.ip[i] = 0x0a000001 + i;
			len = lx_proto_hello_encode(&hello, bytes);
			assert_int_equal(len, fixed + 4 * nips);
			assert_int_equal(read_by_need(lx_proto_hello_need, bytes, len), len);
			assert_int_equal(lx_proto_hello_need(bytes, fixed), len);
			assert_int_equal(lx_proto_hello_decode(bytes, len, &again), 0);
			assert_int_equal(again.nips, nips);
			assert_memory_equal(again.ip, hello.ip, sizeof(hello.ip));
			for (unsigned int i = 0; i < nips; i++) {
				const char *ip = big ? "\x0a\0\0" : NULL;

				if (ip)
					assert_memory_equal(bytes + fixed + 4 * i, ip, 3);
				else
					assert_int_equal(bytes[fixed + 4 * i], 1 + i);
				memset(bytes + fixed + 4 * i, 0, 4);
				assert_int_equal(lx_proto_hello_decode(bytes, len, &again),
						 -EPROTO);
				bytes[fixed + 4 * i] = 9;
			}
		}
	}
}

/* One field of an example is overwritten. */
static void hello_errors(void **state)
{
	static const struct {
		const char *hello;
		size_t at;
		const char *bytes;
		int need, decode;
	} table[] = {
		/* magic, version */
		{ HELLO3, 0, "00 00 00 00", -EPROTO, -EPROTO },
		{ HELLO3, 0, "ee bc 0d ed", -EPROTO, -EPROTO }, /* V1 in the wrong byte order */
		{ HELLO3, 0, "00 71 ce ac", -EPROTO, -EPROTO }, /* the acceptor's error reply */
		{ HELLO3, 4, "00 00 00 00", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO3, 4, "01 00 00 00", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO3, 4, "05 00 00 00", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO3, 4, "00 00 00 03", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO2_BE, 4, "02 00 00 00", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO1, 4, "02 00 00 00", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO1, 4, "01 00 01 00", -EPROTONOSUPPORT, -EPROTO },
		{ HELLO1, 4, "00 01 00 00", -EPROTONOSUPPORT, -EPROTO },
		/* source NID */
		{ HELLO1, 8, "ff ff ff ff ff ff ff ff", 72, -EPROTO },
		{ HELLO3, 8, "ff ff ff ff ff ff ff ff", 56, -EPROTO },
		{ HELLO2_BE, 8, "ff ff ff ff ff ff ff ff", 56, -EPROTO },
		{ HELLO3, 14, "ff", 56, -EPROTO }, /* only its type */
		{ HELLO4, 9, "ff", 80, -EPROTO },
		{ HELLO4, 8, "00", 80, -EPROTO }, /* 4 bytes long, should be 16 */
		{ HELLO4, 8, "08", 80, -EPROTO },
		{ HELLO4, 8, "0d", 80, -EPROTO },
		{ HELLO4, 8, "ff", 80, -EPROTO },
		/* length of the list */
		{ HELLO3, 52, "11 00 00 00", -EPROTO, -EPROTO },
		{ HELLO3, 52, "ff ff ff ff", -EPROTO, -EPROTO },
		{ HELLO3, 52, "00 00 00 40", -EPROTO, -EPROTO }, /* times 4 is 0 */
		{ HELLO2_BE, 52, "01 00 00 00", -EPROTO, -EPROTO },
		{ HELLO3, 52, "10 00 00 00", -ENODATA, -EPROTO }, /* waits for the list */
		{ HELLO1, 28, "44 00 00 00", -EPROTO, -EPROTO },
		{ HELLO1, 28, "fc ff ff ff", -EPROTO, -EPROTO },
		{ HELLO1, 28, "02 00 00 00", -EPROTO, -EPROTO },
		{ HELLO1, 28, "40 00 00 00", -ENODATA, -EPROTO },
		/* V1: an ordinary message */
		{ HELLO1, 24, "01 00 00 00", -EPROTO, -EPROTO },
		{ HELLO1, 24, "00 00 00 04", -EPROTO, -EPROTO },
		/* fine: ignored, or checked elsewhere */
		{ HELLO3, 16, "ff ff ff ff ff ff ff ff", 56, 0 },
		{ HELLO3, 28, "01 02 03 04", 56, 0 },
		{ HELLO3, 40, "01 02 03 04 05 06 07 08", 56, 0 },
		{ HELLO3, 48, "ff ff ff ff", 56, 0 },
		{ HELLO4, 28, "00 00", 80, 0 },
		{ HELLO4, 76, "11 00 00 00", 80, 0 }, /* V4 has no list, whatever this says */
		{ HELLO1, 44, "01 02", 72, 0 },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		uint8_t bytes[LX_HELLO_MAX];
		size_t len = unhex(table[i].hello, bytes, sizeof(bytes));
		struct lx_hello hello;

		unhex(table[i].bytes, bytes + table[i].at, sizeof(bytes) - table[i].at);
		if (read_by_need(lx_proto_hello_need, bytes, len) != table[i].need)
			fail_msg("need of row %zu", i);
		if (lx_proto_hello_decode(bytes, len, &hello) != table[i].decode)
			fail_msg("decode of row %zu", i);
		if (!table[i].decode)
			assert_int_equal(hello.nips, 0);
	}
}

static struct lx_nid random_nid(bool large)
{
	struct lx_nid nid = { .type = LX_NET_TCP, .num = rnd() };

	nid.size = large ? LX_NID_SIZE16 : LX_NID_SIZE4;
	rnd_fill(nid.addr, large ? 16 : 4);
	return nid;
}

static void hello_round_trips(void **state)
{
	for (int round = 0; round < 20000; round++) {
		unsigned int version = 1 + rnd_below(4);
		struct lx_hello hello = { .version = version, .flip = rnd_below(2) }, again;
		uint8_t bytes[LX_HELLO_MAX];
		size_t len;

		hello.flip &= version != LX_SOCK_V1;
		hello.src_nid = random_nid(version == LX_SOCK_V4 && rnd_below(2));
		hello.dst_nid = random_nid(version == LX_SOCK_V4 && rnd_below(2));
		hello.src_pid = rnd();
		hello.dst_pid = rnd();
		hello.src_incarnation = rnd();
		hello.dst_incarnation = rnd();
		hello.ctype = rnd_below(2) ? rnd_below(4) : (uint32_t)rnd();
		hello.nips = version == LX_SOCK_V4 ? 0 : rnd_below(17);
		for (uint32_t i = 0; i < hello.nips; i++)
			hello.ip[i] = rnd() | 1;
		if (version == LX_SOCK_V1) {
			hello.dst_nid = lx_nid_any;
			hello.dst_incarnation = 0;
		}
		len = lx_proto_hello_encode(&hello, bytes);
		assert_true(len <= LX_HELLO_MAX);
		assert_int_equal(read_by_need(lx_proto_hello_need, bytes, len), len);
		assert_int_equal(lx_proto_hello_decode(bytes, len, &again), 0);
		assert_memory_equal(&hello, &again, sizeof(hello));
	}
}

/* Damaged HELLOs: an error, or values that are safe to use. */
static void hello_damaged(void **state)
{
	for (int round = 0; round < 40000; round++) {
		uint8_t bytes[LX_HELLO_MAX];
		struct lx_hello hello;
		int rc;

		rnd_fill(bytes, sizeof(bytes));
		unhex(hellos[rnd_below(N_OF(hellos))].bytes, bytes, sizeof(bytes));
		for (unsigned int n = rnd_below(4); n; n--)
			bytes[rnd_below(80)] = rnd_below(2) ? rnd() : rnd_below(20);
		rc = read_by_need(lx_proto_hello_need, bytes, sizeof(bytes));
		assert_true(rc > 0 || rc == -EPROTO || rc == -EPROTONOSUPPORT);
		if (rc < 0 || lx_proto_hello_decode(bytes, rc, &hello))
			continue;
		assert_in_range(hello.version, LX_SOCK_V1, LX_SOCK_V4);
		assert_true(hello.nips <= LX_HELLO_IPS_MAX);
		assert_true(lx_nid_is_valid(&hello.src_nid));
		assert_false(lx_nid_is_any(&hello.src_nid));
	}
}

/* A node without a 4-byte NID refuses V3 instead of sending half a NID. */
static void hello_large_nid_in_v3(void **state)
{
	struct lx_hello hello = { .version = LX_SOCK_V3,
				  .src_nid = nid_of("2001:db8::1@tcp"),
				  .dst_nid = nid_of("10.0.0.1@tcp") };
	uint8_t bytes[LX_HELLO_MAX];

	assert_int_equal(lx_proto_hello_encode(&hello, bytes), 56);
	assert_memory_equal(bytes + 8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	assert_int_equal(lx_proto_hello_decode(bytes, 56, &hello), -EPROTO);
}

/* Spec section 4.5. */
static void ctypes(void **state)
{
	static const uint32_t other[] = { 4, 5, 255, 0x7fffffff, 0x80000000, LX_CTYPE_NONE };

	assert_int_equal(lx_proto_ctype_invert(LX_CTYPE_ANY), LX_CTYPE_ANY);
	assert_int_equal(lx_proto_ctype_invert(LX_CTYPE_CONTROL), LX_CTYPE_CONTROL);
	assert_int_equal(lx_proto_ctype_invert(LX_CTYPE_BULK_IN), LX_CTYPE_BULK_OUT);
	assert_int_equal(lx_proto_ctype_invert(LX_CTYPE_BULK_OUT), LX_CTYPE_BULK_IN);
	for (size_t i = 0; i < N_OF(other); i++)
		assert_true(lx_proto_ctype_invert(other[i]) == LX_CTYPE_NONE);
	for (uint32_t i = 0; i < LX_CTYPES; i++) {
		for (uint32_t j = i + 1; j < LX_CTYPES; j++)
			assert_string_not_equal(lx_proto_ctype_name(i), lx_proto_ctype_name(j));
	}
	assert_string_equal(lx_proto_ctype_name(LX_CTYPE_NONE), "none");
	assert_string_equal(lx_proto_ctype_name(77), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acc_examples),	 cmocka_unit_test(acc_errors),
		cmocka_unit_test(acc_random),	 cmocka_unit_test(hello_examples),
		cmocka_unit_test(hello_lengths), cmocka_unit_test(hello_ips),
		cmocka_unit_test(hello_errors),	 cmocka_unit_test(hello_round_trips),
		cmocka_unit_test(hello_damaged), cmocka_unit_test(hello_large_nid_in_v3),
		cmocka_unit_test(ctypes),
	};

	rnd_init();
	return cmocka_run_group_tests_name("proto", tests, NULL, NULL);
}
