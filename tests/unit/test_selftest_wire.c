/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The codec of lnet_selftest: examples of the spec, byte orders, lists, malformed bytes. */
#include "testlib.h"

#include <errno.h>

#include "../../user/selftest/wire.h"

/* selftest.md 11, and its mirror image from a big-endian sender. */
static const char ping_text[] = "0d f0 b0 ee 01 00 00 00 0e 00 00 00 00 00 00 00 "
				"00 00 00 00 01 00 00 00 01 00 00 00 00 00 a0 65 "
				"ce fa be ba 00 00 00 00 00 f1 53 65 00 00 00 00 "
				"00 00 00 00 00 00 00 00";
static const char ping_be_text[] = "ee b0 f0 0d 00 00 00 01 00 00 00 0e 00 00 00 00 "
				   "00 00 00 00 00 00 00 01 65 a0 00 00 00 00 00 01 "
				   "ba be fa ce 00 00 00 00 00 00 00 00 65 53 f1 00 "
				   "00 00 00 00 00 00 00 00";

static void expect_ping(const char *text, bool flipped)
{
	uint8_t buf[LX_LST_MSG_BYTES] = { 0 }, again[sizeof(buf)];
	struct lx_lst_msg msg;

	assert_int_equal(unhex(text, buf, sizeof(buf)), 56);
	assert_int_equal(lx_lst_wire_decode(buf, sizeof(buf), &msg), 0);
	assert_int_equal(lx_lst_flipped(&msg), flipped);
	assert_int_equal(msg.type, LX_LST_PING_REQ);
	assert_int_equal(msg.features, LX_LST_FEAT_BULK_LEN);
	assert_true(msg.rpyid == 0x65a0000000000001ULL);
	assert_int_equal(msg.ping.magic, LX_LST_PING_MAGIC);
	assert_int_equal(msg.ping.sequence, 0);
	assert_true(msg.ping.seconds == 0x6553f100);
	memset(again, 0xa5, sizeof(again));
	lx_lst_wire_encode(&msg, again);
	assert_memory_equal(again, buf, sizeof(buf));
}

static void example(void **state)
{
	expect_ping(ping_text, false);
	expect_ping(ping_be_text, true);
}

/* Fills all fields of a type with values that differ in the other byte order. */
static void fill(struct lx_lst_msg *msg, uint32_t type, uint32_t features, uint32_t service)
{
	lx_lst_wire_init(msg, type, features);
	rnd_fill(msg->body, sizeof(msg->body));
	if (type == LX_LST_TEST_REQ)
		msg->test.service = service;
	for (size_t i = 0; type == LX_LST_MAKE_SESSION_REQ && i < LX_LST_NAME; i++)
		msg->make.name[i] = 'a' + rnd_below(26);
}

static void expect_both_orders(const struct lx_lst_msg *full)
{
	uint8_t ours[LX_LST_MSG_BYTES], theirs[LX_LST_MSG_BYTES];
	struct lx_lst_msg a, b, other = *full;

	other.magic = __builtin_bswap32(LX_LST_MAGIC);
	lx_lst_wire_encode(full, ours);
	lx_lst_wire_encode(&other, theirs);
	assert_memory_not_equal(ours, theirs, sizeof(ours));
	assert_int_equal(lx_lst_wire_decode(ours, sizeof(ours), &a), 0);
	assert_int_equal(lx_lst_wire_decode(theirs, sizeof(theirs), &b), 0);
	assert_true(lx_lst_flipped(&b) && !lx_lst_flipped(&a));
	b.magic = a.magic;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(a.type, full->type);
	/* Names, and fields next to each other, stay in their places. */
	if (full->type == LX_LST_TEST_REQ) {
		assert_int_equal(a.test.ndest, full->test.ndest);
		assert_int_equal(a.test.is_client, full->test.is_client);
		assert_int_equal(a.test.stop_on_error, full->test.stop_on_error);
		assert_memory_equal(&a.test.params, &full->test.params,
				    a.test.service == LX_LST_PING ? 8 : 12);
	}
	if (full->type == LX_LST_MAKE_SESSION_REQ)
		assert_memory_equal(a.make.name, full->make.name, LX_LST_NAME - 1);
}

static void byte_orders(void **state)
{
	struct lx_lst_msg msg;

	for (uint32_t type = 0; type < LX_LST_TYPES; type++) {
		fill(&msg, type, LX_LST_FEATURES, LX_LST_BRW);
		expect_both_orders(&msg);
	}
	fill(&msg, LX_LST_TEST_REQ, 0, LX_LST_BRW);
	expect_both_orders(&msg);
	fill(&msg, LX_LST_TEST_REQ, LX_LST_FEATURES, LX_LST_PING);
	expect_both_orders(&msg);
}

/* The 16-bit parameters exist only with the length feature (3). */
static void params(void **state)
{
	static const uint8_t bytes[] = { 0, 1, 0, 2, 0, 0, 0x10, 0, 0, 0, 0, 8 };
	uint8_t buf[LX_LST_MSG_BYTES];
	struct lx_lst_msg msg;

	lx_lst_wire_init(&msg, LX_LST_TEST_REQ, LX_LST_FEAT_BULK_LEN);
	msg.magic = __builtin_bswap32(LX_LST_MAGIC);
	msg.test.service = LX_LST_BRW;
	lx_lst_wire_encode(&msg, buf);
	memcpy(buf + 24 + 58, bytes, sizeof(bytes));
	assert_int_equal(lx_lst_wire_decode(buf, sizeof(buf), &msg), 0);
	assert_int_equal(msg.test.params.bulk.rw, LX_LST_READ);
	assert_int_equal(msg.test.params.bulk.flags, LX_LST_CHECK_SIMPLE);
	assert_int_equal(msg.test.params.bulk.length, 4096);
	assert_int_equal(msg.test.params.bulk.offset, 8);
	buf[23] = 0; /* no features */
	assert_int_equal(lx_lst_wire_decode(buf, sizeof(buf), &msg), 0);
	assert_int_equal(msg.test.params.bulk_pages.rw, 0x10002);
	assert_int_equal(msg.test.params.bulk_pages.pages, 4096);
	assert_int_equal(msg.test.params.bulk_pages.flags, 8);
}

/* Names end up in terminals: none may contain their control sequences. */
static void unprintable_names(void **state)
{
	static const uint32_t types[] = { LX_LST_MAKE_SESSION_REQ, LX_LST_MAKE_SESSION_REQ + 1,
					  LX_LST_DEBUG_REQ + 1, LX_LST_JOIN_REQ,
					  LX_LST_JOIN_REQ + 1 };
	uint8_t buf[LX_LST_MSG_BYTES];
	struct lx_lst_msg msg;
	char *name;

	for (size_t i = 0; i < N_OF(types); i++) {
		fill(&msg, types[i], 0, 0);
		name = types[i] == LX_LST_MAKE_SESSION_REQ ? msg.make.name
		       : types[i] == LX_LST_DEBUG_REQ + 1  ? msg.debug_reply.name
		       : types[i] == LX_LST_JOIN_REQ	    ? msg.join.group
							    : msg.make_reply.name;
		strcpy(name, "a\033[2J\n\177\233 ~z");
		lx_lst_wire_encode(&msg, buf);
		memset(&msg, 0, sizeof(msg));
		assert_int_equal(lx_lst_wire_decode(buf, sizeof(buf), &msg), 0);
		assert_string_equal(name, "a?[2J??? ~z");
	}
}

static void malformed(void **state)
{
	uint8_t buf[LX_LST_MSG_BYTES + 1] = { 0 };
	struct lx_lst_msg msg;

	fill(&msg, LX_LST_MAKE_SESSION_REQ, 0, 0);
	memset(msg.make.name, 'x', LX_LST_NAME);
	msg.rpyid = 7;
	lx_lst_wire_encode(&msg, buf);
	/* A name without NUL gets one. */
	assert_int_equal(lx_lst_wire_decode(buf, LX_LST_MSG_BYTES, &msg), 0);
	assert_int_equal(strlen(msg.make.name), LX_LST_NAME - 1);
	/* Lengths. */
	assert_int_equal(lx_lst_wire_decode(buf, LX_LST_MSG_BYTES - 1, &msg), -EPROTO);
	assert_int_equal(lx_lst_wire_decode(buf, LX_LST_MSG_BYTES + 1, &msg), -EPROTO);
	assert_int_equal(lx_lst_wire_decode(buf, 0, &msg), -EPROTO);
	/* Another version can be answered. */
	buf[4] = 2;
	memset(&msg, 0, sizeof(msg));
	assert_int_equal(lx_lst_wire_decode(buf, LX_LST_MSG_BYTES, &msg), -EPROTONOSUPPORT);
	assert_true(msg.rpyid == 7);
	buf[4] = 1;
	/* Unknown types and magics. */
	for (unsigned int type = LX_LST_TYPES; type < 256; type++) {
		buf[8] = type;
		assert_int_equal(lx_lst_wire_decode(buf, LX_LST_MSG_BYTES, &msg), -EPROTO);
	}
	buf[8] = 0;
	buf[0]++;
	assert_int_equal(lx_lst_wire_decode(buf, LX_LST_MSG_BYTES, &msg), -EPROTO);
}

static void services(void **state)
{
	unsigned int known = 0;

	for (uint64_t service = 0; service < 64; service++) {
		int type = lx_lst_wire_request_type(service);

		if (type == -ENOENT)
			continue;
		known++;
		assert_int_equal(type % 2, 0);
		assert_int_equal(lx_lst_wire_portal(service), service > 10 ? 50 : 51);
		assert_string_not_equal(lx_lst_wire_type_name(type), "?");
	}
	assert_int_equal(known, LX_LST_TYPES / 2);
	assert_int_equal(lx_lst_wire_request_type(1ULL << 32), -ENOENT);
	assert_string_equal(lx_lst_wire_type_name(LX_LST_TYPES), "?");
	assert_string_equal(lx_lst_wire_type_name(LX_LST_BRW_REQ + 1), "brw reply");
}

/* 341 a page (5). */
static void destinations(void **state)
{
	static uint8_t buf[3 * LX_LST_PAGE];
	struct lx_lst_dest dest;

	assert_int_equal(lx_lst_wire_dests_bytes(1, 0), LX_LST_PAGE);
	assert_int_equal(lx_lst_wire_dests_bytes(341, 0), LX_LST_PAGE);
	assert_int_equal(lx_lst_wire_dests_bytes(342, 0), 2 * LX_LST_PAGE);
	assert_int_equal(lx_lst_wire_dests_bytes(342, LX_LST_FEAT_BULK_LEN), 342 * 12);
	assert_int_equal(lx_lst_wire_dests_bytes(0, 0), 0);
	assert_int_equal(lx_lst_wire_dests_room(LX_LST_DESTS_MAX), LX_LST_BULK_MAX);
	for (uint32_t i = 0; i < 700; i++) {
		dest = (struct lx_lst_dest){ .nid = 1000000 + i, .pid = i };
		lx_lst_wire_dest_put(buf, i, &dest);
	}
	assert_memory_equal(buf + 4092, "\0\0\0", 4);
	for (uint32_t i = 0; i < 700; i++) {
		assert_int_equal(lx_lst_wire_dest_get(buf, sizeof(buf), i, false, &dest), 0);
		assert_true(dest.nid == 1000000 + i && dest.pid == i);
	}
	assert_int_equal(lx_lst_wire_dest_get(buf, sizeof(buf), 1, true, &dest), 0);
	assert_true(dest.nid == __builtin_bswap64(1000001) && dest.pid == 1 << 24);
	/* With its length in bytes the list is too short for its own layout: 342 lose a pid. */
	assert_int_equal(lx_lst_wire_dest_get(buf, 342 * 12, 341, false, &dest), 0);
	assert_true(dest.nid == 1000341 && dest.pid == LX_PID_LUSTRE);
	assert_int_equal(lx_lst_wire_dest_get(buf, 683 * 12, 682, false, &dest), -EPROTO);
	assert_int_equal(lx_lst_wire_dest_get(buf, 11, 0, false, &dest), 0);
	assert_int_equal(lx_lst_wire_dest_get(buf, 7, 0, false, &dest), -EPROTO);
	assert_int_equal(lx_lst_wire_dest_get(buf, 0, 0, false, &dest), -EPROTO);
	assert_int_equal(lx_lst_wire_dest_get(buf, sizeof(buf), UINT32_MAX, false, &dest), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(example),  cmocka_unit_test(byte_orders),
		cmocka_unit_test(params),   cmocka_unit_test(malformed),
		cmocka_unit_test(unprintable_names),
		cmocka_unit_test(services), cmocka_unit_test(destinations),
	};

	rnd_init();
	return cmocka_run_group_tests_name("selftest_wire", tests, NULL, NULL);
}
