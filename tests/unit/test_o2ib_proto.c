/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The codec of o2iblnd: examples of the spec, byte orders, checksums, malformed bytes. */
#include "testlib.h"

#include <errno.h>

#include "../../lnd/o2ib/proto.h"

#define A 0x000500000a000001ULL /* 10.0.0.1@o2ib */
#define B 0x000500000a000002ULL

static const char noop_text[] = "91 1b e9 0b 12 00 d0 04 30 00 00 00 00 00 00 00 "
				"01 00 00 0a 00 00 05 00 01 00 00 00 00 00 00 00 "
				"02 00 00 0a 00 00 05 00 02 00 00 00 00 00 00 00";

static const char connreq_text[] = "91 1b e9 0b 12 00 c0 00 38 00 00 00 00 00 00 00 "
				   "01 00 00 0a 00 00 05 00 a5 b4 c3 d2 e1 f0 05 00 "
				   "02 00 00 0a 00 00 05 00 00 00 00 00 00 00 00 00 "
				   "08 00 01 01 00 10 00 00";

static const char reject_text[] = "91 1b e9 0b 12 00 01 00 a5 b4 c3 d2 e1 f0 05 00 "
				  "00 00 00 00 00 00 00 00";

static const uint8_t types[] = {
	LX_O2IB_CONNREQ, LX_O2IB_CONNACK, LX_O2IB_NOOP,	    LX_O2IB_IMMEDIATE, LX_O2IB_PUT_REQ,
	LX_O2IB_PUT_NAK, LX_O2IB_PUT_ACK, LX_O2IB_PUT_DONE, LX_O2IB_GET_REQ,   LX_O2IB_GET_DONE,
};

static void expect_again(const struct lx_o2ib_msg *msg, const void *bytes, size_t len)
{
	uint8_t again[LX_O2IB_MSG_MAX];

	assert_int_equal(msg->nob, len);
	memset(again, 0xa5, sizeof(again));
	lx_o2ib_proto_encode(msg, again, false);
	assert_memory_equal(again, bytes, len);
	assert_int_equal(again[len], 0xa5);
}

static void examples(void **state)
{
	struct lx_o2ib_msg msg;
	struct lx_o2ib_rej rej;
	uint8_t buf[64];
	size_t n;

	n = unhex(noop_text, buf, sizeof(buf));
	assert_int_equal(n, 48);
	assert_int_equal(lx_o2ib_proto_decode(buf, n, &msg), 0);
	assert_int_equal(msg.type, LX_O2IB_NOOP);
	assert_int_equal(msg.credits, 4);
	assert_true(msg.src_nid == A && msg.dst_nid == B);
	assert_true(msg.src_incarnation == 1 && msg.dst_incarnation == 2);
	expect_again(&msg, buf, n);

	n = unhex(connreq_text, buf, sizeof(buf));
	assert_int_equal(lx_o2ib_proto_decode(buf, n, &msg), 0);
	assert_int_equal(msg.type, LX_O2IB_CONNREQ);
	assert_true(msg.src_incarnation == 0x5f0e1d2c3b4a5ULL && msg.dst_incarnation == 0);
	assert_int_equal(msg.params.queue_depth, 8);
	assert_int_equal(msg.params.max_frags, 257);
	assert_int_equal(msg.params.max_msg_size, 4096);
	expect_again(&msg, buf, n);

	n = unhex(reject_text, buf, sizeof(buf));
	assert_int_equal(lx_o2ib_proto_rej_decode(buf, n, &rej), 0);
	assert_int_equal(rej.why, LX_O2IB_REJ_RACE);
	assert_true(rej.incarnation == 0x5f0e1d2c3b4a5ULL);
}

/* Spec section 12. */
static void checksum(void **state)
{
	struct lx_o2ib_msg msg;
	uint8_t buf[48];

	unhex(noop_text, buf, sizeof(buf));
	assert_int_equal(lx_o2ib_proto_cksum(buf, 48, true), 0x2a4f8701);
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), 0);
	lx_o2ib_proto_encode(&msg, buf, true);
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), 0);
	assert_int_equal(msg.cksum, 0x2a4f8701);
	/* A single bit is detected; sums over unsigned bytes are accepted, too. */
	buf[20] ^= 1;
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), -EBADMSG);
	buf[20] ^= 1;
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), 0);
	msg.cksum = lx_o2ib_proto_cksum(buf, 48, false);
	assert_int_not_equal(msg.cksum, 0x2a4f8701);
	lx_o2ib_proto_encode(&msg, buf, false);
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), 0);
	/* In the other byte order the checksum is over the swapped bytes. */
	msg.flip = true;
	lx_o2ib_proto_encode(&msg, buf, true);
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), 0);
	assert_true(msg.flip);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(lx_o2ib_proto_cksum(buf, 48, true), 1);
}

/* A message of any type with random content. */
static void random_msg(struct lx_o2ib_msg *msg, uint8_t type, uint8_t *tail)
{
	unsigned int n = 0;

	memset(msg, 0, sizeof(*msg));
	msg->flip = rnd() & 1;
	msg->version = rnd() & 1 ? LX_O2IB_V1 : LX_O2IB_V2;
	msg->type = type;
	msg->credits = rnd();
	msg->src_nid = A;
	msg->dst_nid = B;
	msg->src_incarnation = rnd();
	msg->dst_incarnation = rnd();
	switch (type) {
	case LX_O2IB_CONNREQ:
	case LX_O2IB_CONNACK:
		msg->params = (struct lx_o2ib_params){ rnd(), rnd(), rnd() };
		break;
	case LX_O2IB_PUT_ACK:
		msg->dst_cookie = rnd();
		/* fallthrough */
	case LX_O2IB_GET_REQ:
		n = 1 + rnd_below(LX_O2IB_FRAGS_MAX);
		rnd_fill(tail, n * 12);
		msg->desc = (struct lx_o2ib_desc){ rnd(), n, tail };
		break;
	case LX_O2IB_IMMEDIATE:
		n = rnd_below(LX_O2IB_IMMEDIATE_MAX + 1);
		rnd_fill(tail, n);
		msg->payload = tail;
		break;
	case LX_O2IB_PUT_NAK:
	case LX_O2IB_PUT_DONE:
	case LX_O2IB_GET_DONE:
		msg->status = rnd();
		break;
	}
	if (type >= LX_O2IB_PUT_REQ)
		msg->cookie = rnd();
	if (type == LX_O2IB_IMMEDIATE || type == LX_O2IB_PUT_REQ || type == LX_O2IB_GET_REQ) {
		lx_nid_from_u64(A, &msg->hdr.src_nid);
		lx_nid_from_u64(B, &msg->hdr.dst_nid);
		msg->hdr.type = rnd_below(4);
		msg->hdr.payload_length = rnd();
		rnd_fill(&msg->hdr.cmd, sizeof(msg->hdr.cmd));
	}
	msg->nob = lx_o2ib_proto_nob(type, n);
}

static void expect_same(const struct lx_o2ib_msg *a, const struct lx_o2ib_msg *b)
{
	struct lx_o2ib_msg x = *a, y = *b;

	assert_int_equal(x.desc.n_frags, y.desc.n_frags);
	assert_memory_equal(x.desc.frags, y.desc.frags, x.desc.n_frags * 12);
	if (x.type == LX_O2IB_IMMEDIATE)
		assert_memory_equal(x.payload, y.payload, x.nob - 120);
	x.desc.frags = y.desc.frags = x.payload = y.payload = NULL;
	x.cksum = y.cksum = 0;
	assert_int_equal(lx_o2ib_proto_desc_bytes(&a->desc, a->flip),
			 lx_o2ib_proto_desc_bytes(&b->desc, a->flip));
	assert_memory_equal(&x.params, &y.params, sizeof(x.params));
	assert_memory_equal(&x.hdr, &y.hdr, sizeof(x.hdr));
	assert_true(x.flip == y.flip && x.version == y.version && x.type == y.type &&
		    x.credits == y.credits && x.nob == y.nob && x.src_nid == y.src_nid &&
		    x.src_incarnation == y.src_incarnation && x.dst_nid == y.dst_nid &&
		    x.dst_incarnation == y.dst_incarnation && x.cookie == y.cookie &&
		    x.dst_cookie == y.dst_cookie && x.status == y.status &&
		    x.desc.key == y.desc.key);
}

/* Every type in both byte orders; truncated anywhere it is refused, never misread. */
static void round_trips(void **state)
{
	static uint8_t tail[LX_O2IB_MSG_MAX];
	struct lx_o2ib_msg msg, again;
	uint8_t *buf;

	for (unsigned int i = 0; i < 2000; i++) {
		random_msg(&msg, types[i % N_OF(types)], tail);
		buf = calloc(1, msg.nob);
		assert_non_null(buf);
		lx_o2ib_proto_encode(&msg, buf, i & 1);
		assert_int_equal(lx_o2ib_proto_decode(buf, msg.nob, &again), 0);
		expect_same(&msg, &again);
		/* The memory ends with the bytes: a sanitizer watches. */
		msg.nob = rnd_below(msg.nob);
		buf = realloc(buf, msg.nob + !msg.nob);
		assert_int_equal(lx_o2ib_proto_decode(buf, msg.nob, &again), -EPROTO);
		free(buf);
	}
}

static void malformed(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
		int error;
	} wrong[] = {
		{ 0, 0x92, -EPROTO },	      /* magic */
		{ 4, 0x10, -EPROTONOSUPPORT }, /* version */
		{ 4, 0x13, -EPROTONOSUPPORT },
		{ 6, 0xcf, -EPROTO },	      /* type */
		{ 6, 0xd8, -EPROTO },
		{ 6, 0xc2, -EPROTO },
		{ 8, 0x2f, -EPROTO },	      /* length */
		{ 8, 0x31, -EPROTO },
	};
	struct lx_o2ib_msg msg;
	uint8_t buf[48];

	for (unsigned int i = 0; i < N_OF(wrong); i++) {
		unhex(noop_text, buf, sizeof(buf));
		buf[wrong[i].at] = wrong[i].value;
		assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), wrong[i].error);
	}
	unhex(noop_text, buf, sizeof(buf));
	memset(buf + 16, 0xff, 8); /* from any NID */
	assert_int_equal(lx_o2ib_proto_decode(buf, 48, &msg), -EPROTO);
}

/* The number of fragments, as a message of our byte order has it. */
static void set_frags(uint8_t *buf, uint32_t n)
{
	memcpy(buf + 68, &n, sizeof(n));
}

static void fragments(void **state)
{
	uint8_t frags[2 * 12], buf[LX_O2IB_MSG_MAX];
	struct lx_o2ib_msg msg = { .version = LX_O2IB_V2, .type = LX_O2IB_PUT_ACK, .src_nid = A };
	uint64_t addr;
	uint32_t nob;

	lx_o2ib_proto_frag_put(frags, 0, 4096, 0xffff88801995b000ULL);
	lx_o2ib_proto_frag_put(frags, 1, 5, 7);
	msg.desc = (struct lx_o2ib_desc){ 1, 2, frags };
	msg.nob = lx_o2ib_proto_nob(msg.type, 2);
	lx_o2ib_proto_encode(&msg, buf, false);
	assert_int_equal(lx_o2ib_proto_decode(buf, msg.nob, &msg), 0);
	lx_o2ib_proto_frag_get(&msg.desc, false, 0, &nob, &addr);
	assert_true(nob == 4096 && addr == 0xffff88801995b000ULL);
	lx_o2ib_proto_frag_get(&msg.desc, true, 1, &nob, &addr);
	assert_true(nob == 5u << 24 && addr == 7ULL << 56);
	assert_int_equal(lx_o2ib_proto_desc_bytes(&msg.desc, false), 4101);
	set_frags(buf, 0);
	assert_int_equal(lx_o2ib_proto_decode(buf, sizeof(buf), &msg), -EPROTO);
	set_frags(buf, 258);
	assert_int_equal(lx_o2ib_proto_decode(buf, sizeof(buf), &msg), -EPROTO);
	set_frags(buf, 3); /* more than its length allows */
	assert_int_equal(lx_o2ib_proto_decode(buf, sizeof(buf), &msg), -EPROTO);
}

static void rejects(void **state)
{
	struct lx_o2ib_rej rej = { .version = LX_O2IB_V2,
				   .why = LX_O2IB_REJ_DEPTH,
				   .incarnation = 77,
				   .params = { 8, 257, 4096 } },
			   again;
	uint8_t buf[148] = { 0 };

	for (unsigned int i = 0; i < 2; i++, rej.flip = true) {
		assert_int_equal(lx_o2ib_proto_rej_encode(&rej, buf), 24);
		assert_int_equal(lx_o2ib_proto_rej_decode(buf, sizeof(buf), &again), 0);
		assert_memory_equal(&again.params, &rej.params, sizeof(rej.params));
		assert_true(again.why == rej.why && again.incarnation == 77 &&
			    again.flip == rej.flip);
	}
	/* V1 has 8 bytes; the CM pads them, and the padding has no meaning. */
	rej.version = LX_O2IB_V1;
	assert_int_equal(lx_o2ib_proto_rej_encode(&rej, buf), 8);
	assert_int_equal(lx_o2ib_proto_rej_decode(buf, sizeof(buf), &again), 0);
	assert_true(again.version == LX_O2IB_V1 && again.incarnation == 0 &&
		    !again.params.queue_depth);
	assert_int_equal(lx_o2ib_proto_rej_decode(buf, 7, &again), -EPROTO);
	buf[0] ^= 1;
	assert_int_equal(lx_o2ib_proto_rej_decode(buf, sizeof(buf), &again), -EPROTO);
	assert_string_equal(lx_o2ib_proto_rej_text(0), "unknown reason");
	assert_string_equal(lx_o2ib_proto_rej_text(200), "unknown reason");
	for (unsigned int why = 1; why <= LX_O2IB_REJ_EARLY; why++)
		assert_string_not_equal(lx_o2ib_proto_rej_text(why), "unknown reason");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),  cmocka_unit_test(checksum),
		cmocka_unit_test(round_trips), cmocka_unit_test(malformed),
		cmocka_unit_test(fragments), cmocka_unit_test(rejects),
	};

	rnd_init();
	return cmocka_run_group_tests_name("o2ib_proto", tests, NULL, NULL);
}
