/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socklnd protocol as pure functions; see the header. No state. Called by the socket
 * side of the transport, the fuzzers and the golden tests.
 *
 * Byte order (spec socklnd.md 3.4): a sender writes integers in its own order, and the magic
 * tells which that is ("flip": not ours). A V1 HELLO is little endian whatever the magic
 * says. NIDs in the 20-byte form are never swapped; the 8-byte NIDs of a V2 or V3 HELLO are
 * integers and are.
 *
 * Buffers have any alignment, hence the copies in and out of wire structs.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "proto.h"

static uint32_t order32(uint32_t value, bool flip)
{
	return flip ? __builtin_bswap32(value) : value;
}

static uint64_t order64(uint64_t value, bool flip)
{
	return flip ? __builtin_bswap64(value) : value;
}

/* The u32 at @offset, in its own byte order. */
static uint32_t peek32(const void *buf, size_t offset)
{
	uint32_t value;

	memcpy(&value, (const char *)buf + offset, sizeof(value));
	return value;
}

/* Whether @value is @magic in either byte order; @ret_flip: in the other one. */
static bool magic_is(uint32_t value, uint32_t magic, bool *ret_flip)
{
	*ret_flip = value != magic;
	return value == magic || value == __builtin_bswap32(magic);
}

/*
 * A 16-byte address has no 8-byte form. A node with only such NIDs answers "any" to a peer
 * that speaks V3 or less, which ends the peer's attempt.
 */
static uint64_t nid_u64(const struct lx_nid *nid)
{
	return lx_nid_is_nid4(nid) ? lx_nid_to_u64(nid) : LX_NID_U64_ANY;
}

/* ---- acceptor request (2.2, 2.3) ------------------------------------------- */

size_t lx_proto_acc_encode(const struct lx_nid *target, void *buf)
{
	if (lx_nid_is_nid4(target)) {
		struct lx_acc_req1 req = {
			.magic = LX_PROTO_ACC_MAGIC,
			.version = 1,
			.nid = lx_nid_to_u64(target),
		};

		memcpy(buf, &req, sizeof(req));
		return sizeof(req);
	}
	struct lx_acc_req2 req = {
		.magic = LX_PROTO_ACC_MAGIC,
		.version = 2,
		.nid = *target,
	};

	memcpy(buf, &req, sizeof(req));
	return sizeof(req);
}

int lx_proto_acc_need(const void *buf, size_t have)
{
	bool flip;

	if (have < 4)
		return 4;
	if (magic_is(peek32(buf, 0), LX_PROTO_MAGIC, &flip))
		return -EPROTONOSUPPORT;
	if (!magic_is(peek32(buf, 0), LX_PROTO_ACC_MAGIC, &flip))
		return -EPROTO;
	if (have < 8)
		return 8;
	switch (order32(peek32(buf, 4), flip)) {
	case 1:
		return sizeof(struct lx_acc_req1);
	case 2:
		return sizeof(struct lx_acc_req2);
	default:
		return -EPROTONOSUPPORT;
	}
}

void lx_proto_acc_decode(const void *buf, struct lx_nid *ret_target)
{
	bool flip;

	magic_is(peek32(buf, 0), LX_PROTO_ACC_MAGIC, &flip);
	if (order32(peek32(buf, 4), flip) == 1) {
		struct lx_acc_req1 req;

		memcpy(&req, buf, sizeof(req));
		lx_nid_from_u64(order64(req.nid, flip), ret_target);
	} else {
		memcpy(ret_target, (const char *)buf + offsetof(struct lx_acc_req2, nid),
		       sizeof(*ret_target));
	}
}

void lx_proto_acc_version(struct lx_acc_req1 *ret_answer)
{
	*ret_answer = (struct lx_acc_req1){ .magic = LX_PROTO_ACC_MAGIC, .version = 1 };
}

/* ---- HELLO: encode (3) ------------------------------------------------------- */

static size_t hello1_encode(const struct lx_hello *hello, void *buf)
{
	struct lx_hello1 wire = {
		.magic = lx_le32(LX_PROTO_TCP_MAGIC),
		.version_major = lx_le16(1),
		.version_minor = 0,
		.src_nid = lx_le64(nid_u64(&hello->src_nid)),
		.dst_pid = lx_le32(hello->dst_pid),
		.src_pid = lx_le32(hello->src_pid),
		.type = lx_le32(LX_MSG_HELLO),
		.payload_length = lx_le32(4 * hello->nips),
		.src_incarnation = lx_le64(hello->src_incarnation),
		.ctype = lx_le32(hello->ctype),
	};

	memcpy(buf, &wire, sizeof(wire));
	return sizeof(wire);
}

/* V2 and V3 differ only in their number. */
static size_t hello3_encode(const struct lx_hello *hello, void *buf)
{
	bool flip = hello->flip;
	struct lx_hello3 wire = {
		.magic = order32(LX_PROTO_MAGIC, flip),
		.version = order32(hello->version, flip),
		.src_nid = order64(nid_u64(&hello->src_nid), flip),
		.dst_nid = order64(nid_u64(&hello->dst_nid), flip),
		.src_pid = order32(hello->src_pid, flip),
		.dst_pid = order32(hello->dst_pid, flip),
		.src_incarnation = order64(hello->src_incarnation, flip),
		.dst_incarnation = order64(hello->dst_incarnation, flip),
		.ctype = order32(hello->ctype, flip),
		.nips = order32(hello->nips, flip),
	};

	memcpy(buf, &wire, sizeof(wire));
	return sizeof(wire);
}

static size_t hello4_encode(const struct lx_hello *hello, void *buf)
{
	bool flip = hello->flip;
	struct lx_hello4 wire = {
		.magic = order32(LX_PROTO_MAGIC, flip),
		.version = order32(hello->version, flip),
		.src_nid = hello->src_nid,
		.dst_nid = hello->dst_nid,
		.src_pid = order32(hello->src_pid, flip),
		.dst_pid = order32(hello->dst_pid, flip),
		.src_incarnation = order64(hello->src_incarnation, flip),
		.dst_incarnation = order64(hello->dst_incarnation, flip),
		.ctype = order32(hello->ctype, flip),
		.nips = 0,
	};

	memcpy(buf, &wire, sizeof(wire));
	return sizeof(wire);
}

/* The byte order of the IP list: V1 is always little endian. */
static uint32_t order_ip(const struct lx_hello *hello, uint32_t ip)
{
	return hello->version == LX_SOCK_V1 ? lx_le32(ip) : order32(ip, hello->flip);
}

size_t lx_proto_hello_encode(const struct lx_hello *hello, void *buf)
{
	size_t len;

	if (hello->version == LX_SOCK_V4)
		return hello4_encode(hello, buf);
	assert(hello->nips <= LX_HELLO_IPS_MAX);
	len = hello->version == LX_SOCK_V1 ? hello1_encode(hello, buf) : hello3_encode(hello, buf);
	for (uint32_t i = 0; i < hello->nips; i++, len += 4) {
		uint32_t ip = order_ip(hello, hello->ip[i]);

		memcpy((char *)buf + len, &ip, sizeof(ip));
	}
	return len;
}

/* ---- HELLO: decode (3, 4) ---------------------------------------------------- */

static int hello1_need(const void *buf, size_t have)
{
	struct lx_hello1 wire;
	uint32_t payload;

	if (have < 8)
		return 8;
	if (peek32(buf, 4) != lx_le32(1)) /* major 1, minor 0 */
		return -EPROTONOSUPPORT;
	if (have < sizeof(wire))
		return sizeof(wire);
	memcpy(&wire, buf, sizeof(wire));
	payload = lx_le32(wire.payload_length);
	if (wire.type != lx_le32(LX_MSG_HELLO) || payload % 4 || payload > 4 * LX_HELLO_IPS_MAX)
		return -EPROTO;
	return sizeof(wire) + payload;
}

static int hello3_need(const void *buf, size_t have, bool flip)
{
	uint32_t nips;

	if (have < sizeof(struct lx_hello3))
		return sizeof(struct lx_hello3);
	nips = order32(peek32(buf, offsetof(struct lx_hello3, nips)), flip);
	if (nips > LX_HELLO_IPS_MAX)
		return -EPROTO;
	return sizeof(struct lx_hello3) + 4 * nips;
}

int lx_proto_hello_need(const void *buf, size_t have)
{
	bool flip;

	if (have < 4)
		return 4;
	if (peek32(buf, 0) == lx_le32(LX_PROTO_TCP_MAGIC))
		return hello1_need(buf, have);
	if (!magic_is(peek32(buf, 0), LX_PROTO_MAGIC, &flip))
		return -EPROTO;
	if (have < 8)
		return 8;
	switch (order32(peek32(buf, 4), flip)) {
	case LX_SOCK_V2:
	case LX_SOCK_V3:
		return hello3_need(buf, have, flip);
	case LX_SOCK_V4:
		return sizeof(struct lx_hello4);
	default:
		return -EPROTONOSUPPORT;
	}
}

static size_t hello1_decode(const void *buf, struct lx_hello *hello)
{
	struct lx_hello1 wire;

	memcpy(&wire, buf, sizeof(wire));
	lx_nid_from_u64(lx_le64(wire.src_nid), &hello->src_nid);
	hello->dst_nid = lx_nid_any;
	hello->dst_pid = lx_le32(wire.dst_pid);
	hello->src_pid = lx_le32(wire.src_pid);
	hello->src_incarnation = lx_le64(wire.src_incarnation);
	hello->ctype = lx_le32(wire.ctype);
	hello->nips = lx_le32(wire.payload_length) / 4;
	return sizeof(wire);
}

static size_t hello3_decode(const void *buf, struct lx_hello *hello)
{
	bool flip = hello->flip;
	struct lx_hello3 wire;

	memcpy(&wire, buf, sizeof(wire));
	lx_nid_from_u64(order64(wire.src_nid, flip), &hello->src_nid);
	lx_nid_from_u64(order64(wire.dst_nid, flip), &hello->dst_nid);
	hello->src_pid = order32(wire.src_pid, flip);
	hello->dst_pid = order32(wire.dst_pid, flip);
	hello->src_incarnation = order64(wire.src_incarnation, flip);
	hello->dst_incarnation = order64(wire.dst_incarnation, flip);
	hello->ctype = order32(wire.ctype, flip);
	hello->nips = order32(wire.nips, flip);
	return sizeof(wire);
}

/* nips stays 0: no list follows, whatever the field says (3.3). */
static size_t hello4_decode(const void *buf, struct lx_hello *hello)
{
	bool flip = hello->flip;
	struct lx_hello4 wire;

	memcpy(&wire, buf, sizeof(wire));
	hello->src_nid = wire.src_nid;
	hello->dst_nid = wire.dst_nid;
	hello->src_pid = order32(wire.src_pid, flip);
	hello->dst_pid = order32(wire.dst_pid, flip);
	hello->src_incarnation = order64(wire.src_incarnation, flip);
	hello->dst_incarnation = order64(wire.dst_incarnation, flip);
	hello->ctype = order32(wire.ctype, flip);
	return sizeof(wire);
}

int lx_proto_hello_decode(const void *buf, size_t len, struct lx_hello *ret_hello)
{
	struct lx_hello hello = { 0 };
	int need = lx_proto_hello_need(buf, len);
	size_t at;

	if (need < 0 || (size_t)need != len)
		return -EPROTO;
	if (peek32(buf, 0) == lx_le32(LX_PROTO_TCP_MAGIC)) {
		hello.version = LX_SOCK_V1;
		at = hello1_decode(buf, &hello);
	} else {
		magic_is(peek32(buf, 0), LX_PROTO_MAGIC, &hello.flip);
		hello.version = order32(peek32(buf, 4), hello.flip);
		at = hello.version == LX_SOCK_V4 ? hello4_decode(buf, &hello)
						 : hello3_decode(buf, &hello);
	}
	if (lx_nid_is_any(&hello.src_nid) || !lx_nid_is_valid(&hello.src_nid))
		return -EPROTO;
	for (uint32_t i = 0; i < hello.nips; i++, at += 4) {
		hello.ip[i] = order_ip(&hello, peek32(buf, at));
		if (!hello.ip[i])
			return -EPROTO;
	}
	*ret_hello = hello;
	return 0;
}

uint32_t lx_proto_ctype_invert(uint32_t ctype)
{
	switch (ctype) {
	case LX_CTYPE_ANY:
	case LX_CTYPE_CONTROL:
		return ctype;
	case LX_CTYPE_BULK_IN:
		return LX_CTYPE_BULK_OUT;
	case LX_CTYPE_BULK_OUT:
		return LX_CTYPE_BULK_IN;
	default:
		return LX_CTYPE_NONE;
	}
}

const char *lx_proto_ctype_name(uint32_t ctype)
{
	switch (ctype) {
	case LX_CTYPE_ANY:
		return "any";
	case LX_CTYPE_CONTROL:
		return "control";
	case LX_CTYPE_BULK_IN:
		return "bulk_in";
	case LX_CTYPE_BULK_OUT:
		return "bulk_out";
	case LX_CTYPE_NONE:
		return "none";
	default:
		return "unknown";
	}
}

/* ---- messages (6, 7) ----------------------------------------------------------- */

void lx_proto_msg_flip(struct lx_sock_msg *msg)
{
	msg->type = __builtin_bswap32(msg->type);
	msg->csum = __builtin_bswap32(msg->csum);
	msg->cookie[0] = __builtin_bswap64(msg->cookie[0]);
	msg->cookie[1] = __builtin_bswap64(msg->cookie[1]);
}

size_t lx_proto_overhead(unsigned int version)
{
	size_t hdr = lx_sock_hdr_bytes(version);

	return version == LX_SOCK_V1 ? hdr : sizeof(struct lx_sock_msg) + hdr;
}

/* The length by which a connection is chosen counts a nid4 header in V4, too (7). */
static size_t fit_bytes(unsigned int version, bool noop, size_t payload)
{
	size_t msg = version == LX_SOCK_V1 ? 0 : sizeof(struct lx_sock_msg);

	return noop ? msg : msg + sizeof(struct lx_hdr_nid4) + payload;
}

enum lx_conn_fit lx_proto_conn_fit(unsigned int version, uint32_t ctype, bool noop, size_t payload,
				   bool nonblk, size_t min_bulk)
{
	bool bulk = fit_bytes(version, noop, payload) >= min_bulk;
	bool v3 = version >= LX_SOCK_V3;

	if (noop && version == LX_SOCK_V1)
		return LX_FIT_NO;
	switch (ctype) {
	case LX_CTYPE_ANY:
		return v3 ? LX_FIT_NO : LX_FIT_YES;
	case LX_CTYPE_CONTROL:
		if (v3 && nonblk)
			return LX_FIT_NO;
		return bulk ? LX_FIT_MAY : LX_FIT_YES;
	case LX_CTYPE_BULK_OUT:
		if (v3 && nonblk)
			return LX_FIT_NO;
		return bulk ? LX_FIT_YES : LX_FIT_MAY;
	case LX_CTYPE_BULK_IN:
		if (!v3)
			return LX_FIT_MAY;
		if (nonblk)
			return LX_FIT_YES;
		return noop ? LX_FIT_MAY : LX_FIT_NO;
	default:
		return LX_FIT_NO;
	}
}

/* ---- zero-copy cookies (8) --------------------------------------------------------- */

/*
 * The content of a waiting NOOP, as (cookie[0], cookie[1]), and how it grows (8.2):
 *
 *	            any real c            c close to it          c = lo - 1 or hi + 1
 *	(0, 1) ping ----------> (0, c) one ---------> (hi, lo) pair ------> (lo, hi) range
 *	                           |                  hi - lo <= 2            |  ^
 *	                           `---> (hi, lo), hi - lo > 2: full          `--'
 *
 * A pair that has a gap of one becomes a range by the cookie in the gap; a pair
 * without gap by either neighbour. Cookies in here are never 0, and 1 is the ping,
 * so neither lo - 1 nor a merged cookie can be mistaken for "none".
 */
static bool pair_grow(struct lx_sock_msg *noop, uint64_t cookie)
{
	uint64_t hi = noop->cookie[0], lo = noop->cookie[1];

	if (hi - lo == 2) {
		if (cookie != lo + 1)
			return false;
	} else if (hi - lo == 1) {
		if (cookie == lo - 1)
			lo = cookie;
		else if (cookie > hi && cookie - hi == 1)
			hi = cookie;
		else
			return false;
	} else {
		return false;
	}
	noop->cookie[0] = lo;
	noop->cookie[1] = hi;
	return true;
}

static bool range_grow(struct lx_sock_msg *noop, uint64_t cookie)
{
	if (cookie < noop->cookie[0] && noop->cookie[0] - cookie == 1)
		noop->cookie[0] = cookie;
	else if (cookie > noop->cookie[1] && cookie - noop->cookie[1] == 1)
		noop->cookie[1] = cookie;
	else
		return false;
	return true;
}

bool lx_proto_ack_merge(struct lx_sock_msg *noop, uint64_t cookie)
{
	uint64_t first = noop->cookie[0], last = noop->cookie[1];

	if (cookie <= LX_SOCK_COOKIE_KEEPALIVE) /* any waiting NOOP will do as a keepalive */
		return true;
	if (!first && last <= LX_SOCK_COOKIE_KEEPALIVE) {
		noop->cookie[1] = cookie;
		return true;
	}
	if (cookie == first || cookie == last || (first && cookie > first && cookie < last))
		return true; /* a duplicate: for the peer a second ACK would be an error */
	if (!first) {
		noop->cookie[0] = cookie > last ? cookie : last;
		noop->cookie[1] = cookie > last ? last : cookie;
		return true;
	}
	return first > last ? pair_grow(noop, cookie) : range_grow(noop, cookie);
}

int lx_proto_acked(unsigned int version, const struct lx_sock_msg *msg, struct lx_acked *ret_acked)
{
	bool noop = msg->type == LX_SOCK_NOOP;
	uint64_t first = noop ? msg->cookie[0] : 0, last = msg->cookie[1], span;

	if (!noop && msg->type != LX_SOCK_LNET)
		return -EPROTO;
	if (noop && version == LX_SOCK_V1)
		return -EPROTO;
	memset(ret_acked, 0, sizeof(*ret_acked));
	if (!last)
		return 0;
	if (!first)
		first = last;
	if (last == LX_SOCK_COOKIE_KEEPALIVE && version >= LX_SOCK_V3) {
		ret_acked->keepalive = true;
		return first == last ? 0 : -EPROTO;
	}
	ret_acked->first = first;
	ret_acked->last = last;
	ret_acked->pair = first > last;
	/* More than a peer can have outstanding, but no overflow: not found, an error. */
	span = last - first;
	ret_acked->expected = ret_acked->pair ? 2 : span < UINT32_MAX ? span + 1 : UINT32_MAX;
	return 0;
}

uint64_t lx_proto_cookie_next(uint64_t cookie)
{
	return cookie + 1 < LX_SOCK_COOKIE_FIRST ? LX_SOCK_COOKIE_FIRST : cookie + 1;
}

/* ---- checksum (9), numbers (5.1) ---------------------------------------------------- */

/* zlib inverts before and after every call; undo it, so that calls can be chained. */
uint32_t lx_proto_csum(uint32_t csum, const void *data, size_t len)
{
	if (!len) /* for zlib, data == NULL means "start again" */
		return csum;
	return ~(uint32_t)crc32_z((uint32_t)~csum, data, len);
}

unsigned int lx_proto_auto_conns(unsigned int speed_mbps)
{
	unsigned int gbps = speed_mbps / 1000, log2 = 0;

	while (gbps >>= 1)
		log2++;
	return log2 / 2 + 1;
}
