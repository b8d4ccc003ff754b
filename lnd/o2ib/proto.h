/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The codec of o2iblnd: bytes to structs and back, in both byte orders. Pure functions.
 */
#ifndef LX_O2IB_PROTO_H
#define LX_O2IB_PROTO_H

#include <internal/o2ib_wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor; its fragments are not copied and stay in wire order. */
struct lx_o2ib_desc {
	uint32_t key;
	uint32_t n_frags;
	const void *frags; /* 12 bytes each, in the byte order of the message */
};

/* A message in CPU order. The type says which of the last members are valid. */
struct lx_o2ib_msg {
	bool flip; /* the wire has the other byte order */
	uint16_t version;
	uint8_t type;
	uint8_t credits;
	uint32_t nob;
	uint32_t cksum;
	uint64_t src_nid, src_incarnation, dst_nid, dst_incarnation;

	struct lx_o2ib_params params; /* CONNREQ, CONNACK */
	struct lx_hdr hdr;            /* IMMEDIATE, PUT_REQ, GET_REQ */
	uint64_t cookie;              /* all that have one; in PUT_ACK the source's */
	uint64_t dst_cookie;          /* PUT_ACK */
	int32_t status;               /* PUT_NAK, PUT_DONE, GET_DONE */
	struct lx_o2ib_desc desc;     /* PUT_ACK, GET_REQ */
	const void *payload;          /* IMMEDIATE: nob - 120 bytes */
};

/* "PUT_ACK"; "?" if the type is unknown. */
const char *lx_o2ib_proto_type_name(unsigned int type);

/**
 * lx_o2ib_proto_nob - length of a message on the wire (o2iblnd.md 2)
 * @n: payload bytes of an IMMEDIATE, fragments of PUT_ACK and GET_REQ
 */
uint32_t lx_o2ib_proto_nob(unsigned int type, unsigned int n);

/**
 * lx_o2ib_proto_decode - read a message
 * @buf: @ret_msg refers to it (descriptor, payload)
 * Checks all of section 2, and the checksum if there is one.
 *
 * Returns 0, -EPROTO: malformed; -EPROTONOSUPPORT: neither V1 nor V2, where
 * @ret_msg has only version and flip; -EBADMSG: wrong checksum.
 */
int lx_o2ib_proto_decode(const void *buf, size_t len, struct lx_o2ib_msg *ret_msg);

/**
 * lx_o2ib_proto_encode - write a message
 * @msg: nob as lx_o2ib_proto_nob() says; fragments and payload are copied as they are
 * @buf: room for msg->nob bytes; payload and fragments may be in place already
 * @cksum: compute the checksum; else msg->cksum is written
 */
void lx_o2ib_proto_encode(const struct lx_o2ib_msg *msg, void *buf, bool cksum);

/* The checksum of a message, its own field taken as 0 (section 12). */
uint32_t lx_o2ib_proto_cksum(const void *buf, size_t len, bool signed_bytes);

/* Reads fragment @i of a decoded descriptor; @flip: of its message. */
void lx_o2ib_proto_frag_get(const struct lx_o2ib_desc *desc, bool flip, unsigned int i,
			    uint32_t *ret_nob, uint64_t *ret_addr);
/* Writes fragment @i, in our byte order. */
void lx_o2ib_proto_frag_put(void *frags, unsigned int i, uint32_t nob, uint64_t addr);
/* Bytes of all fragments. */
uint64_t lx_o2ib_proto_desc_bytes(const struct lx_o2ib_desc *desc, bool flip);

struct lx_o2ib_rej {
	bool flip;
	uint16_t version;
	uint8_t why; /* enum lx_o2ib_reject */
	uint64_t incarnation;
	struct lx_o2ib_params params;
};

/**
 * lx_o2ib_proto_rej_decode - read the private data of a reject
 * @len: may be longer than the message, since the CM pads
 * Returns 0, or -EPROTO: not a reject of o2iblnd.
 */
int lx_o2ib_proto_rej_decode(const void *buf, size_t len, struct lx_o2ib_rej *ret_rej);

/* Returns the number of bytes: 8 for V1, 24 otherwise. */
size_t lx_o2ib_proto_rej_encode(const struct lx_o2ib_rej *rej, void *buf);

/* "the queue depth is too large", for the log. */
const char *lx_o2ib_proto_rej_text(unsigned int why);

#endif
