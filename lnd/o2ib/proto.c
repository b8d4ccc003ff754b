/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codec of o2iblnd. Used by the transport, the tests and the fuzzer.
 */
#include <errno.h>
#include <string.h>

#include "../../user/base/array.h"
#include "proto.h"

/* In CPU order, whatever the sender's order. */
static uint16_t get16(uint16_t x, bool flip)
{
	return flip ? __builtin_bswap16(x) : x;
}

static uint32_t get32(uint32_t x, bool flip)
{
	return flip ? __builtin_bswap32(x) : x;
}

static uint64_t get64(uint64_t x, bool flip)
{
	return flip ? __builtin_bswap64(x) : x;
}

static const char *const type_names[16] = {
	"NOOP",	    "IMMEDIATE", "PUT_REQ", "PUT_NAK",
	"PUT_ACK",  "PUT_DONE",	 "GET_REQ", "GET_DONE",
};

const char *lx_o2ib_proto_type_name(unsigned int type)
{
	if (type == LX_O2IB_CONNREQ)
		return "CONNREQ";
	if (type == LX_O2IB_CONNACK)
		return "CONNACK";
	if (type >= LX_O2IB_NOOP && type <= LX_O2IB_GET_DONE)
		return type_names[type - LX_O2IB_NOOP];
	return "?";
}

uint32_t lx_o2ib_proto_nob(unsigned int type, unsigned int n)
{
	switch (type) {
	case LX_O2IB_CONNREQ:
	case LX_O2IB_CONNACK:
		return LX_O2IB_CONN_BYTES;
	case LX_O2IB_IMMEDIATE:
		return offsetof(struct lx_o2ib_wire, immediate.payload) + n;
	case LX_O2IB_PUT_REQ:
		return LX_O2IB_HDR_BYTES + sizeof(struct lx_o2ib_putreq);
	case LX_O2IB_PUT_ACK:
		return LX_O2IB_HDR_BYTES + sizeof(struct lx_o2ib_putack) +
		       n * sizeof(struct lx_o2ib_frag);
	case LX_O2IB_GET_REQ:
		return LX_O2IB_HDR_BYTES + sizeof(struct lx_o2ib_getreq) +
		       n * sizeof(struct lx_o2ib_frag);
	case LX_O2IB_PUT_NAK:
	case LX_O2IB_PUT_DONE:
	case LX_O2IB_GET_DONE:
		return LX_O2IB_HDR_BYTES + sizeof(struct lx_o2ib_completion);
	default:
		return LX_O2IB_HDR_BYTES;
	}
}

uint32_t lx_o2ib_proto_cksum(const void *buf, size_t len, bool signed_bytes)
{
	const uint8_t *p = buf;
	uint32_t sum = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t byte = i >= 12 && i < 16 ? 0 : p[i];

		sum = (sum << 1 | sum >> 31) +
		      (signed_bytes ? (uint32_t)(int32_t)(int8_t)byte : byte);
	}
	return sum ? sum : 1;
}

/* ---- fragments ------------------------------------------------------------ */

void lx_o2ib_proto_frag_get(const struct lx_o2ib_desc *desc, bool flip, unsigned int i,
			    uint32_t *ret_nob, uint64_t *ret_addr)
{
	const struct lx_o2ib_frag *frag = desc->frags;

	*ret_nob = get32(frag[i].nob, flip);
	*ret_addr = get64(frag[i].addr, flip);
}

void lx_o2ib_proto_frag_put(void *frags, unsigned int i, uint32_t nob, uint64_t addr)
{
	struct lx_o2ib_frag *frag = frags;

	frag[i].nob = nob;
	frag[i].addr = addr;
}

uint64_t lx_o2ib_proto_desc_bytes(const struct lx_o2ib_desc *desc, bool flip)
{
	uint64_t sum = 0, addr;
	uint32_t nob;

	for (unsigned int i = 0; i < desc->n_frags; i++) {
		lx_o2ib_proto_frag_get(desc, flip, i, &nob, &addr);
		sum += nob;
	}
	return sum;
}

/* ---- decoding --------------------------------------------------------------- */

static int decode_start(const struct lx_o2ib_wire *wire, size_t len, struct lx_o2ib_msg *msg)
{
	if (len < offsetof(struct lx_o2ib_wire, type))
		return -EPROTO;
	if (wire->magic == LX_O2IB_MAGIC)
		msg->flip = false;
	else if (wire->magic == __builtin_bswap32(LX_O2IB_MAGIC))
		msg->flip = true;
	else
		return -EPROTO;
	msg->version = get16(wire->version, msg->flip);
	if (msg->version != LX_O2IB_V1 && msg->version != LX_O2IB_V2)
		return -EPROTONOSUPPORT;
	return len < LX_O2IB_HDR_BYTES ? -EPROTO : 0;
}

static int decode_cksum(const struct lx_o2ib_wire *wire, const struct lx_o2ib_msg *msg)
{
	/* Whether bytes are signed depends on how the sender was built. */
	if (!msg->cksum || msg->cksum == lx_o2ib_proto_cksum(wire, msg->nob, true) ||
	    msg->cksum == lx_o2ib_proto_cksum(wire, msg->nob, false))
		return 0;
	return -EBADMSG;
}

static int decode_desc(const struct lx_o2ib_rdma_desc *wire, struct lx_o2ib_msg *msg)
{
	msg->desc.key = get32(wire->key, msg->flip);
	msg->desc.n_frags = get32(wire->n_frags, msg->flip);
	msg->desc.frags = (const char *)wire + sizeof(*wire);
	if (!msg->desc.n_frags || msg->desc.n_frags > LX_O2IB_FRAGS_MAX)
		return -EPROTO;
	return msg->nob < lx_o2ib_proto_nob(msg->type, msg->desc.n_frags) ? -EPROTO : 0;
}

static int decode_body(const struct lx_o2ib_wire *wire, struct lx_o2ib_msg *msg)
{
	switch (msg->type) {
	case LX_O2IB_CONNREQ:
	case LX_O2IB_CONNACK:
		msg->params.queue_depth = get16(wire->params.queue_depth, msg->flip);
		msg->params.max_frags = get16(wire->params.max_frags, msg->flip);
		msg->params.max_msg_size = get32(wire->params.max_msg_size, msg->flip);
		return 0;
	case LX_O2IB_IMMEDIATE:
		lx_hdr_nid4_decode(&wire->immediate.hdr, &msg->hdr);
		msg->payload = wire->immediate.payload;
		return 0;
	case LX_O2IB_PUT_REQ:
		lx_hdr_nid4_decode(&wire->putreq.hdr, &msg->hdr);
		msg->cookie = get64(wire->putreq.cookie, msg->flip);
		return 0;
	case LX_O2IB_PUT_ACK:
		msg->cookie = get64(wire->putack.src_cookie, msg->flip);
		msg->dst_cookie = get64(wire->putack.dst_cookie, msg->flip);
		return decode_desc(&wire->putack.desc, msg);
	case LX_O2IB_GET_REQ:
		lx_hdr_nid4_decode(&wire->getreq.hdr, &msg->hdr);
		msg->cookie = get64(wire->getreq.cookie, msg->flip);
		return decode_desc(&wire->getreq.desc, msg);
	case LX_O2IB_PUT_NAK:
	case LX_O2IB_PUT_DONE:
	case LX_O2IB_GET_DONE:
		msg->cookie = get64(wire->completion.cookie, msg->flip);
		msg->status = get32(wire->completion.status, msg->flip);
		return 0;
	default:
		return 0;
	}
}

int lx_o2ib_proto_decode(const void *buf, size_t len, struct lx_o2ib_msg *ret_msg)
{
	const struct lx_o2ib_wire *wire = buf;
	int r;

	memset(ret_msg, 0, sizeof(*ret_msg));
	r = decode_start(wire, len, ret_msg);
	if (r)
		return r;
	ret_msg->type = wire->type;
	ret_msg->credits = wire->credits;
	ret_msg->nob = get32(wire->nob, ret_msg->flip);
	ret_msg->cksum = get32(wire->cksum, ret_msg->flip);
	ret_msg->src_nid = get64(wire->src_nid, ret_msg->flip);
	ret_msg->src_incarnation = get64(wire->src_incarnation, ret_msg->flip);
	ret_msg->dst_nid = get64(wire->dst_nid, ret_msg->flip);
	ret_msg->dst_incarnation = get64(wire->dst_incarnation, ret_msg->flip);
	if (lx_o2ib_proto_type_name(ret_msg->type)[0] == '?' ||
	    ret_msg->src_nid == LX_NID_U64_ANY || ret_msg->nob > len ||
	    ret_msg->nob > LX_O2IB_MSG_MAX || ret_msg->nob < lx_o2ib_proto_nob(ret_msg->type, 0))
		return -EPROTO;
	r = decode_cksum(wire, ret_msg);
	return r ? r : decode_body(wire, ret_msg);
}

/* ---- encoding --------------------------------------------------------------- */

static void encode_desc(const struct lx_o2ib_msg *msg, struct lx_o2ib_rdma_desc *wire)
{
	char *frags = (char *)wire + sizeof(*wire);

	wire->key = get32(msg->desc.key, msg->flip);
	wire->n_frags = get32(msg->desc.n_frags, msg->flip);
	if (msg->desc.frags != frags)
		memmove(frags, msg->desc.frags, msg->desc.n_frags * sizeof(struct lx_o2ib_frag));
}

static void encode_body(const struct lx_o2ib_msg *msg, struct lx_o2ib_wire *wire)
{
	switch (msg->type) {
	case LX_O2IB_CONNREQ:
	case LX_O2IB_CONNACK:
		wire->params.queue_depth = get16(msg->params.queue_depth, msg->flip);
		wire->params.max_frags = get16(msg->params.max_frags, msg->flip);
		wire->params.max_msg_size = get32(msg->params.max_msg_size, msg->flip);
		break;
	case LX_O2IB_IMMEDIATE:
		lx_hdr_nid4_encode(&msg->hdr, &wire->immediate.hdr);
		if (msg->payload && msg->payload != wire->immediate.payload)
			memmove(wire->immediate.payload, msg->payload,
				msg->nob - lx_o2ib_proto_nob(msg->type, 0));
		break;
	case LX_O2IB_PUT_REQ:
		lx_hdr_nid4_encode(&msg->hdr, &wire->putreq.hdr);
		wire->putreq.cookie = get64(msg->cookie, msg->flip);
		break;
	case LX_O2IB_PUT_ACK:
		wire->putack.src_cookie = get64(msg->cookie, msg->flip);
		wire->putack.dst_cookie = get64(msg->dst_cookie, msg->flip);
		encode_desc(msg, &wire->putack.desc);
		break;
	case LX_O2IB_GET_REQ:
		lx_hdr_nid4_encode(&msg->hdr, &wire->getreq.hdr);
		wire->getreq.cookie = get64(msg->cookie, msg->flip);
		encode_desc(msg, &wire->getreq.desc);
		break;
	case LX_O2IB_PUT_NAK:
	case LX_O2IB_PUT_DONE:
	case LX_O2IB_GET_DONE:
		wire->completion.cookie = get64(msg->cookie, msg->flip);
		wire->completion.status = get32(msg->status, msg->flip);
		break;
	}
}

void lx_o2ib_proto_encode(const struct lx_o2ib_msg *msg, void *buf, bool cksum)
{
	struct lx_o2ib_wire *wire = buf;
	bool flip = msg->flip;

	/* The body first: it may be in place already; the header never is. */
	encode_body(msg, wire);
	wire->magic = get32(LX_O2IB_MAGIC, flip);
	wire->version = get16(msg->version, flip);
	wire->type = msg->type;
	wire->credits = msg->credits;
	wire->nob = get32(msg->nob, flip);
	wire->src_nid = get64(msg->src_nid, flip);
	wire->src_incarnation = get64(msg->src_incarnation, flip);
	wire->dst_nid = get64(msg->dst_nid, flip);
	wire->dst_incarnation = get64(msg->dst_incarnation, flip);
	wire->cksum = get32(cksum ? lx_o2ib_proto_cksum(buf, msg->nob, true) : msg->cksum, flip);
}

/* ---- rejects ------------------------------------------------------------------ */

int lx_o2ib_proto_rej_decode(const void *buf, size_t len, struct lx_o2ib_rej *ret_rej)
{
	const struct lx_o2ib_rej_wire *wire = buf;

	memset(ret_rej, 0, sizeof(*ret_rej));
	if (len < LX_O2IB_REJ_V1_BYTES)
		return -EPROTO;
	/* A request with the generic magic gets an answer with the generic magic. */
	ret_rej->flip = wire->magic == __builtin_bswap32(LX_O2IB_MAGIC) ||
			wire->magic == __builtin_bswap32(LX_O2IB_LNET_MAGIC);
	if (!ret_rej->flip && wire->magic != LX_O2IB_MAGIC && wire->magic != LX_O2IB_LNET_MAGIC)
		return -EPROTO;
	ret_rej->version = get16(wire->version, ret_rej->flip);
	ret_rej->why = wire->why;
	if (ret_rej->version == LX_O2IB_V1 || len < sizeof(*wire))
		return 0;
	ret_rej->incarnation = get64(wire->incarnation, ret_rej->flip);
	ret_rej->params.queue_depth = get16(wire->params.queue_depth, ret_rej->flip);
	ret_rej->params.max_frags = get16(wire->params.max_frags, ret_rej->flip);
	ret_rej->params.max_msg_size = get32(wire->params.max_msg_size, ret_rej->flip);
	return 0;
}

size_t lx_o2ib_proto_rej_encode(const struct lx_o2ib_rej *rej, void *buf)
{
	struct lx_o2ib_rej_wire *wire = buf;

	wire->magic = get32(LX_O2IB_MAGIC, rej->flip);
	wire->version = get16(rej->version, rej->flip);
	wire->why = rej->why;
	wire->pad = 0;
	if (rej->version == LX_O2IB_V1)
		return LX_O2IB_REJ_V1_BYTES;
	wire->incarnation = get64(rej->incarnation, rej->flip);
	wire->params.queue_depth = get16(rej->params.queue_depth, rej->flip);
	wire->params.max_frags = get16(rej->params.max_frags, rej->flip);
	wire->params.max_msg_size = get32(rej->params.max_msg_size, rej->flip);
	return sizeof(*wire);
}

static const char *const rej_texts[] = {
	[LX_O2IB_REJ_RACE] = "both sides connect at once, its own attempt wins",
	[LX_O2IB_REJ_RESOURCES] = "it is out of resources",
	[LX_O2IB_REJ_FATAL] = "it does not know our NID's net, or found an error in the request",
	[LX_O2IB_REJ_UNCOMPAT] = "it speaks another version",
	[LX_O2IB_REJ_STALE] = "it has been started anew",
	[LX_O2IB_REJ_FRAGS] = "it wants another number of fragments",
	[LX_O2IB_REJ_DEPTH] = "it wants a smaller queue depth",
	[LX_O2IB_REJ_SERVICE] = "nothing listens on its port",
	[LX_O2IB_REJ_EARLY] = "its NI is not ready yet",
};

const char *lx_o2ib_proto_rej_text(unsigned int why)
{
	if (why < LX_ARRAY_LEN(rej_texts) && rej_texts[why])
		return rej_texts[why];
	return "unknown reason";
}
