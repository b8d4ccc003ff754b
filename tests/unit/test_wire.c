/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NIDs and LNet headers byte by byte. Spec lnet.md 1 and 3, socklnd.md 6. */
#include "testlib.h"

#include <lnetx/nid.h>

static struct lx_nid nid_of(const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return nid;
}

static void byte_order(void **state)
{
	uint8_t bytes[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;

	memcpy(&u16, bytes, 2);
	memcpy(&u32, bytes, 4);
	memcpy(&u64, bytes, 8);
	assert_int_equal(lx_le16(u16), 0x0201);
	assert_int_equal(lx_be16(u16), 0x0102);
	assert_int_equal(lx_le32(u32), 0x04030201);
	assert_int_equal(lx_be32(u32), 0x01020304);
	assert_true(lx_le64(u64) == 0x0807060504030201ULL);
	assert_true(lx_be64(u64) == 0x0102030405060708ULL);
}

/* A NID as a number and as bytes (1.1, 1.2). */
static void nid4_numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t u64;
		uint32_t net;
	} table[] = {
		{ "192.168.1.20@tcp", 0x00020000c0a80114ULL, 0x00020000 },
		{ "0@lo", 0x0009000000000000ULL, 0x00090000 },
		{ "10.0.0.1@o2ib258", 0x000501020a000001ULL, 0x00050102 },
		{ "4294967295@gni65535", 0x000dffffffffffffULL, 0x000dffff },
		{ "*", LX_NID_U64_ANY, LX_NET_U32_ANY },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		struct lx_nid nid = nid_of(table[i].text), again;
		uint8_t big[8];

		assert_true(lx_nid_is_nid4(&nid));
		assert_true(lx_nid_to_u64(&nid) == table[i].u64);
		assert_int_equal(lx_nid_net(&nid), table[i].net);
		lx_nid_from_u64(table[i].u64, &again);
		assert_true(lx_nid_eq(&nid, &again));
		if (lx_nid_is_any(&nid))
			continue;
		assert_int_equal(lx_nid_bytes(&nid), 8);
		for (int byte = 0; byte < 8; byte++)
			big[byte] = table[i].u64 >> (56 - 8 * byte);
		assert_memory_equal(&nid, big, 8);
	}
	for (int round = 0; round < 100000; round++) {
		uint64_t u64 = rnd() >> 8; /* the top byte is zero; all others are random */
		struct lx_nid nid;

		if ((u64 >> 48 & 0xff) == LX_NET_ANY)
			continue;
		lx_nid_from_u64(u64, &nid);
		assert_true(lx_nid_to_u64(&nid) == u64);
		assert_int_equal(lx_nid_net(&nid), u64 >> 32);
		assert_true(lx_nid_is_valid(&nid));
	}
}

static void large_nids(void **state)
{
	struct lx_nid nid = nid_of("2001:db8::14@tcp258");

	assert_false(lx_nid_is_nid4(&nid));
	assert_int_equal(lx_nid_bytes(&nid), 20);
	assert_int_equal(lx_nid_net(&nid), 0x00020102);
	assert_false(lx_nid_is_any(&nid));
	/* The type byte alone means "any". */
	memset(&nid, 0, sizeof(nid));
	nid.type = 0xff;
	assert_true(lx_nid_is_any(&nid));
	assert_true(lx_nid_is_nid4(&nid));
	assert_true(lx_nid_to_u64(&nid) == LX_NID_U64_ANY);
	assert_int_equal(lx_nid_net(&nid), LX_NET_U32_ANY);
}

/* lnet.md 3.3: a GET of the ping information. */
static void example_get(void **state)
{
	static const char bytes[] =
		"14 01 a8 c0 00 00 02 00 0a 01 a8 c0 00 00 02 00 39 30 00 00 39 30 00 00"
		"02 00 00 00 00 00 00 00 06 f5 e4 d3 c2 b1 a3 17 15 00 00 00 00 00 00 00"
		"00 00 00 00 00 00 00 80 00 00 00 00 00 00 00 00 10 01 00 00 00 00 00 00";
	struct lx_hdr_nid4 wire = { 0 }, again;
	struct lx_hdr hdr;

	assert_int_equal(unhex(bytes, &wire, sizeof(wire)), 72);
	lx_hdr_nid4_decode(&wire, &hdr);
	assert_string_equal(lx_nid_str(&hdr.dst_nid), "192.168.1.20@tcp");
	assert_string_equal(lx_nid_str(&hdr.src_nid), "192.168.1.10@tcp");
	assert_int_equal(hdr.dst_pid, 12345);
	assert_int_equal(hdr.src_pid, 12345);
	assert_int_equal(hdr.type, LX_MSG_GET);
	assert_int_equal(hdr.payload_length, 0);
	assert_true(lx_le64(hdr.cmd.get.return_md.interface_cookie) == 0x17a3b1c2d3e4f506ULL);
	assert_true(lx_le64(hdr.cmd.get.return_md.object_cookie) == 0x15);
	assert_true(lx_le64(hdr.cmd.get.match_bits) == LX_PING_MATCH_BITS);
	assert_int_equal(lx_le32(hdr.cmd.get.portal), LX_PORTAL_RESERVED);
	assert_int_equal(lx_le32(hdr.cmd.get.src_offset), 0);
	assert_int_equal(lx_le32(hdr.cmd.get.sink_length), LX_PING_INFO_MIN);
	lx_hdr_nid4_encode(&hdr, &again);
	assert_memory_equal(&wire, &again, sizeof(wire));
}

/* socklnd.md 6: a PUT without ACK. */
static void example_put(void **state)
{
	static const char bytes[] =
		"14 01 a8 c0 00 00 02 00 0a 01 a8 c0 00 00 02 00 39 30 00 00 39 30 00 00"
		"01 00 00 00 a0 00 00 00 ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff"
		"0b 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 32 00 00 00 00 00 00 00";
	struct lx_hdr hdr = {
		.dst_nid = nid_of("192.168.1.20@tcp"),
		.src_nid = nid_of("192.168.1.10@tcp"),
		.dst_pid = LX_PID_LUSTRE,
		.src_pid = LX_PID_LUSTRE,
		.type = LX_MSG_PUT,
		.payload_length = 160,
		.cmd.put.ack_md = LX_WIRE_HANDLE_NONE,
		.cmd.put.match_bits = lx_le64(11),
		.cmd.put.portal = lx_le32(50),
	};
	struct lx_hdr_nid4 want = { 0 }, wire;

	assert_int_equal(unhex(bytes, &want, sizeof(want)), 72);
	lx_hdr_nid4_encode(&hdr, &wire);
	assert_memory_equal(&wire, &want, sizeof(want));
}

/* The command area: each byte's value is its offset, so a field shows where it is. */
static void command_offsets(void **state)
{
	union lx_cmd cmd;

	for (size_t i = 0; i < sizeof(cmd.bytes); i++)
		cmd.bytes[i] = i;
	assert_int_equal(((uint8_t *)&cmd.ack.dst_md)[15], 15);
	assert_true(lx_le64(cmd.ack.match_bits) == 0x1716151413121110ULL);
	assert_int_equal(lx_le32(cmd.ack.mlength), 0x1b1a1918);
	assert_int_equal(((uint8_t *)&cmd.put.ack_md)[0], 0);
	assert_true(lx_le64(cmd.put.match_bits) == 0x1716151413121110ULL);
	assert_memory_equal(&cmd.put.hdr_data, "\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f", 8);
	assert_int_equal(lx_le32(cmd.put.portal), 0x23222120);
	assert_int_equal(lx_le32(cmd.put.offset), 0x27262524);
	assert_int_equal(((uint8_t *)&cmd.get.return_md)[7], 7);
	assert_true(lx_le64(cmd.get.match_bits) == 0x1716151413121110ULL);
	assert_int_equal(lx_le32(cmd.get.portal), 0x1b1a1918);
	assert_int_equal(lx_le32(cmd.get.src_offset), 0x1f1e1d1c);
	assert_int_equal(lx_le32(cmd.get.sink_length), 0x23222120);
	assert_int_equal(((uint8_t *)&cmd.reply.dst_md)[8], 8);
	assert_true(lx_le64(cmd.hello.incarnation) == 0x0706050403020100ULL);
	assert_int_equal(lx_le32(cmd.hello.ctype), 0x0b0a0908);
}

/* Both header forms, at the offsets of section 3. */
static void header_offsets(void **state)
{
	uint8_t wire4[72], wire16[96];
	struct lx_hdr hdr;

	for (size_t i = 0; i < 96; i++)
		wire16[i] = i;
	memcpy(wire4, wire16, sizeof(wire4));
	wire4[7] = wire4[15] = 0; /* top bytes of the NIDs */

	lx_hdr_nid4_decode((void *)wire4, &hdr);
	assert_true(lx_nid_to_u64(&hdr.dst_nid) == 0x0006050403020100ULL);
	assert_true(lx_nid_to_u64(&hdr.src_nid) == 0x000e0d0c0b0a0908ULL);
	assert_int_equal(hdr.dst_pid, 0x13121110);
	assert_int_equal(hdr.src_pid, 0x17161514);
	assert_int_equal(hdr.type, 0x1b1a1918);
	assert_int_equal(hdr.payload_length, 0x1f1e1d1c);
	assert_memory_equal(&hdr.cmd, wire4 + 32, 40);

	lx_hdr_nid16_decode((void *)wire16, &hdr);
	assert_memory_equal(&hdr.dst_nid, wire16, 20);
	assert_memory_equal(&hdr.src_nid, wire16 + 20, 20);
	assert_int_equal(hdr.dst_pid, 0x2b2a2928);
	assert_int_equal(hdr.src_pid, 0x2f2e2d2c);
	assert_int_equal(hdr.type, 0x33323130);
	assert_int_equal(hdr.payload_length, 0x37363534);
	assert_memory_equal(&hdr.cmd, wire16 + 56, 40);
}

/* Any bytes survive decoding and encoding, in both forms, also at odd addresses. */
static void round_trips(void **state)
{
	for (int round = 0; round < 100000; round++) {
		uint8_t wire[97], again[97];
		struct lx_hdr hdr;

		rnd_fill(wire, sizeof(wire));
		lx_hdr_nid16_decode((void *)(wire + 1), &hdr);
		lx_hdr_nid16_encode(&hdr, (void *)(again + 1));
		assert_memory_equal(wire + 1, again + 1, 96);

		wire[1 + 7] = wire[1 + 15] = 0;
		if (wire[1 + 6] == 0xff || wire[1 + 14] == 0xff)
			continue;
		lx_hdr_nid4_decode((void *)(wire + 1), &hdr);
		lx_hdr_nid4_encode(&hdr, (void *)(again + 1));
		assert_memory_equal(wire + 1, again + 1, 72);
	}
}

/* A nid4 header can be passed on as nid16 and back (a router between V3 and V4). */
static void changes_of_form(void **state)
{
	for (int round = 0; round < 20000; round++) {
		struct lx_hdr_nid4 first, last;
		struct lx_hdr_nid16 between;
		struct lx_hdr hdr;

		rnd_fill(&first, sizeof(first));
		first.dst_nid = lx_le64(0x0002ULL << 48 | rnd() >> 16);
		first.src_nid = lx_le64(0x0005ULL << 48 | rnd() >> 16);
		lx_hdr_nid4_decode(&first, &hdr);
		lx_hdr_nid16_encode(&hdr, &between);
		assert_int_equal(between.dst_nid.size, LX_NID_SIZE4);
		memset(&hdr, 0x5a, sizeof(hdr));
		lx_hdr_nid16_decode(&between, &hdr);
		lx_hdr_nid4_encode(&hdr, &last);
		assert_memory_equal(&first, &last, sizeof(first));
	}
}

/* lnet.md 12.2: the constants; the codec has its own tests. */
static void ping_layout(void **state)
{
	uint8_t bytes[0x30];
	struct lx_ping_info *info = (void *)bytes;

	unhex("67 6e 69 70 1e 00 00 00 39 30 00 00 02 00 00 00"
	      "00 00 00 00 00 00 09 00 03 00 00 00 00 00 00 00"
	      "0a 01 a8 c0 00 00 02 00 de c0 aa 15 00 00 00 00",
	      bytes, sizeof(bytes));
	assert_int_equal(lx_le32(info->magic), LX_PING_MAGIC);
	assert_int_equal(lx_le32(info->features), LX_PING_NI_STATUS | LX_PING_RTE_DISABLED |
							  LX_PING_MULTI_RAIL | LX_PING_DISCOVERY);
	assert_int_equal(lx_le32(info->pid), LX_PID_LUSTRE);
	assert_int_equal(lx_le32(info->n_nis), 2);
	assert_true(lx_le64(info->ni[0].nid) == lx_nid_to_u64(&lx_nid_lo));
	assert_int_equal(lx_le32(info->ni[0].status), 3);
	assert_true(lx_le64(info->ni[1].nid) == 0x00020000c0a8010aULL);
	assert_int_equal(lx_le32(info->ni[1].status), LX_NI_STATUS_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(byte_order),	   cmocka_unit_test(nid4_numbers),
		cmocka_unit_test(large_nids),	   cmocka_unit_test(example_get),
		cmocka_unit_test(example_put),	   cmocka_unit_test(command_offsets),
		cmocka_unit_test(header_offsets),  cmocka_unit_test(round_trips),
		cmocka_unit_test(changes_of_form), cmocka_unit_test(ping_layout),
	};

	rnd_init();
	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
