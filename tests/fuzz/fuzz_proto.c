/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: what a socklnd peer may send, from the first byte on: an acceptor request
 * (if it dialled us), a HELLO, messages. They are read as from a socket, bit by bit, from
 * buffers that end where the arrived bytes end.
 *
 * The first byte of the input sets the scene; see struct scene.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lnd/sock/proto.h"
#include "fuzz.h"

struct scene {
	const uint8_t *data;
	size_t left;
	unsigned int version; /* 0: a HELLO comes first */
	bool flip, dialled;
	struct lx_sock_msg waiting; /* the NOOP we would send next */
};

/*
 * Bit 0: the peer dialled us. Bit 1: no HELLO, but messages of version 1 + bits 2 and 3; bit 4:
 * in the other byte order.
 */
static struct scene scene_of(const uint8_t *data, size_t size)
{
	struct scene s = { .data = data + 1, .left = size - 1, .dialled = data[0] & 1 };

	if (data[0] & 2) {
		s.dialled = false;
		s.version = 1 + (data[0] >> 2 & 3);
		s.flip = data[0] >> 4 & 1 && s.version != LX_SOCK_V1;
	}
	return s;
}

/* Calls @need after each byte. Returns the total length; 0: an error, or the input ends. */
static size_t read_by_need(const struct scene *s, int (*need)(const void *, size_t))
{
	size_t before = 1;

	for (size_t have = 0; have <= s->left; have++) {
		void *copy = exact_copy(s->data, have);
		int want = need(copy, have);

		free(copy);
		if (want < 0) {
			assert(want == -EPROTO || want == -EPROTONOSUPPORT);
			return 0;
		}
		assert((size_t)want >= before && (size_t)want >= have);
		assert((size_t)want <= LX_HELLO_MAX);
		if ((size_t)want == have)
			return have;
		before = want;
	}
	return 0;
}

/* The printed NID parses to the same NID, if its net has addresses of that size. */
static void use_nid(const struct lx_nid *nid)
{
	struct lx_nid again;

	assert(strlen(lx_nid_str(nid)) < LX_NID_TEXT - 1);
	lx_nid_hash(nid);
	if (!lx_nid_is_valid(nid) || lx_nid_is_any(nid))
		return;
	if (!lx_nid_parse(lx_nid_str(nid), &again) && again.size == nid->size)
		assert(lx_nid_eq(nid, &again));
}

static bool acceptor(struct scene *s)
{
	size_t len = read_by_need(s, lx_proto_acc_need), again_len;
	uint8_t again[LX_ACC_REQ_MAX];
	struct lx_nid target, same;
	void *copy;

	if (!len)
		return false;
	copy = exact_copy(s->data, len);
	lx_proto_acc_decode(copy, &target);
	free(copy);
	use_nid(&target);
	again_len = lx_proto_acc_encode(&target, again);
	assert(again_len <= len || lx_nid_is_any(&target) || target.size);
	if (!lx_nid_is_any(&target) && lx_nid_is_valid(&target)) {
		lx_proto_acc_decode(again, &same);
		assert(lx_nid_eq(&target, &same));
	}
	s->data += len;
	s->left -= len;
	return true;
}

static bool hello(struct scene *s)
{
	size_t len = read_by_need(s, lx_proto_hello_need);
	uint8_t first[LX_HELLO_MAX], second[LX_HELLO_MAX];
	struct lx_hello hello, again;
	void *copy;
	int rc;

	if (!len)
		return false;
	copy = exact_copy(s->data, len);
	rc = lx_proto_hello_decode(copy, len, &hello);
	free(copy);
	if (rc) {
		assert(rc == -EPROTO);
		return false;
	}
	assert(hello.nips <= LX_HELLO_IPS_MAX);
	assert(lx_nid_is_valid(&hello.src_nid) && !lx_nid_is_any(&hello.src_nid));
	use_nid(&hello.src_nid);
	use_nid(&hello.dst_nid);
	assert(lx_proto_hello_encode(&hello, first) == len);
	assert(!lx_proto_hello_decode(first, len, &again));
	assert(lx_proto_hello_encode(&again, second) == len);
	assert(!memcmp(first, second, len));
	assert(lx_proto_ctype_name(hello.ctype));
	s->version = hello.version;
	s->flip = hello.flip;
	s->data += len;
	s->left -= len;
	return true;
}

/* Merges a requested cookie into our answer, which must contain it. */
static void answer(struct scene *s, uint64_t cookie)
{
	struct lx_acked acked;

	if (cookie <= LX_SOCK_COOKIE_KEEPALIVE)
		return;
	if (!lx_proto_ack_merge(&s->waiting, cookie))
		s->waiting = (struct lx_sock_msg){ .type = LX_SOCK_NOOP, .cookie = { 0, cookie } };
	assert(!lx_proto_acked(LX_SOCK_V3, &s->waiting, &acked));
	assert(lx_acked_has(&acked, cookie) && acked.expected);
}

/* The LNet header and its payload. */
static bool lnet(struct scene *s)
{
	size_t bytes = lx_sock_hdr_bytes(s->version), payload;
	uint8_t again[sizeof(struct lx_hdr_nid16)];
	struct lx_hdr hdr;
	void *copy;

	if (s->left < bytes)
		return false;
	copy = exact_copy(s->data, bytes);
	if (s->version == LX_SOCK_V4) {
		lx_hdr_nid16_decode(copy, &hdr);
		lx_hdr_nid16_encode(&hdr, (void *)again);
		assert(!memcmp(again, copy, bytes));
	} else {
		lx_hdr_nid4_decode(copy, &hdr);
		lx_hdr_nid4_encode(&hdr, (void *)again);
		assert(!memcmp(again + 16, (char *)copy + 16, bytes - 16));
	}
	free(copy);
	use_nid(&hdr.src_nid);
	use_nid(&hdr.dst_nid);
	if (hdr.type > LX_MSG_REPLY || hdr.payload_length > LX_PAYLOAD_MAX)
		return false;
	for (uint32_t ctype = 0; ctype <= LX_CTYPES; ctype++)
		lx_proto_conn_fit(s->version, ctype, false, hdr.payload_length, false, 1024);
	payload = hdr.payload_length < s->left - bytes ? hdr.payload_length : s->left - bytes;
	s->data += bytes + payload;
	s->left -= bytes + payload;
	return true;
}

static bool message(struct scene *s)
{
	struct lx_sock_msg msg;
	struct lx_acked acked;

	if (s->version == LX_SOCK_V1)
		return lnet(s);
	if (s->left < sizeof(msg))
		return false;
	memcpy(&msg, s->data, sizeof(msg));
	if (s->flip)
		lx_proto_msg_flip(&msg);
	if (lx_proto_acked(s->version, &msg, &acked))
		return false;
	assert(!acked.keepalive || !acked.expected);
	assert(!acked.pair || acked.expected == 2);
	if (acked.expected)
		assert(lx_acked_has(&acked, acked.first) && lx_acked_has(&acked, acked.last));
	lx_proto_csum(LX_CSUM_INIT, s->data, sizeof(msg));
	s->data += sizeof(msg);
	s->left -= sizeof(msg);
	if (msg.type == LX_SOCK_NOOP)
		return true;
	if (!lnet(s))
		return false;
	answer(s, msg.cookie[0]);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene s;

	if (!size)
		return 0;
	s = scene_of(data, size);
	s.waiting.type = LX_SOCK_NOOP;
	if (s.dialled && !acceptor(&s))
		return 0;
	if (!s.version && !hello(&s))
		return 0;
	while (s.left && message(&s))
		;
	return 0;
}
