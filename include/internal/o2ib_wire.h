/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd on the wire: messages, connection parameters, rejects.
 *
 * Layouts and constants only; all in the sender's byte order except for the LNet
 * header inside. The codec is lnd/o2ib/proto.c. Source: o2iblnd.md 2 to 5.
 */
#ifndef LNETX_O2IB_WIRE_H
#define LNETX_O2IB_WIRE_H

#include <lnetx/wire.h>

#define LX_O2IB_MAGIC 0x0be91b91u
#define LX_O2IB_LNET_MAGIC 0x45726963u /* of a generic prober */
#define LX_O2IB_V1 0x11
#define LX_O2IB_V2 0x12

#define LX_O2IB_MSG_MAX 4096u
#define LX_O2IB_FRAGS_MAX 257u
#define LX_O2IB_DEPTH_V1 8

enum lx_o2ib_type {
	LX_O2IB_CONNREQ = 0xc0,
	LX_O2IB_CONNACK = 0xc1,
	LX_O2IB_NOOP = 0xd0,
	LX_O2IB_IMMEDIATE = 0xd1,
	LX_O2IB_PUT_REQ = 0xd2,
	LX_O2IB_PUT_NAK = 0xd3,
	LX_O2IB_PUT_ACK = 0xd4,
	LX_O2IB_PUT_DONE = 0xd5,
	LX_O2IB_GET_REQ = 0xd6,
	LX_O2IB_GET_DONE = 0xd7,
};

struct lx_o2ib_params {
	__u16 queue_depth;
	__u16 max_frags;
	__u32 max_msg_size;
} LX_PACKED;
LX_LAYOUT(struct lx_o2ib_params, 8);

struct lx_o2ib_frag {
	__u32 nob;
	__u64 addr;
} LX_PACKED; /* and not aligned either */
LX_LAYOUT(struct lx_o2ib_frag, 12);

/* Memory that the receiver of the message may write to by RDMA. */
struct lx_o2ib_rdma_desc {
	__u32 key;
	__u32 n_frags;
	struct lx_o2ib_frag frag[];
} LX_PACKED;
LX_LAYOUT(struct lx_o2ib_rdma_desc, 8);

struct lx_o2ib_immediate {
	struct lx_hdr_nid4 hdr;
	__u8 payload[];
} LX_PACKED;

struct lx_o2ib_putreq {
	struct lx_hdr_nid4 hdr;
	__u64 cookie;
} LX_PACKED;

struct lx_o2ib_putack {
	__u64 src_cookie; /* from PUT_REQ */
	__u64 dst_cookie; /* for PUT_DONE */
	struct lx_o2ib_rdma_desc desc;
} LX_PACKED;

struct lx_o2ib_getreq {
	struct lx_hdr_nid4 hdr;
	__u64 cookie;
	struct lx_o2ib_rdma_desc desc;
} LX_PACKED;

struct lx_o2ib_completion {
	__u64 cookie;
	__s32 status; /* bytes, or a negative errno */
} LX_PACKED;

struct lx_o2ib_wire {
	__u32 magic;
	__u16 version;
	__u8 type;
	__u8 credits; /* receive buffers returned */
	__u32 nob;    /* of the whole message */
	__u32 cksum;  /* 0: none */
	__u64 src_nid;
	__u64 src_incarnation;
	__u64 dst_nid;
	__u64 dst_incarnation;
	union {
		struct lx_o2ib_params params;
		struct lx_o2ib_immediate immediate;
		struct lx_o2ib_putreq putreq;
		struct lx_o2ib_putack putack;
		struct lx_o2ib_getreq getreq;
		struct lx_o2ib_completion completion;
	} LX_PACKED;
} LX_PACKED;
LX_OFFSET(struct lx_o2ib_wire, params, 48);
LX_OFFSET(struct lx_o2ib_wire, immediate.payload, 120);
LX_OFFSET(struct lx_o2ib_wire, putreq.cookie, 120);
LX_OFFSET(struct lx_o2ib_wire, putack.desc, 64);
LX_OFFSET(struct lx_o2ib_wire, putack.desc.frag, 72);
LX_OFFSET(struct lx_o2ib_wire, getreq.desc.frag, 136);
LX_OFFSET(struct lx_o2ib_wire, completion.status, 56);

#define LX_O2IB_HDR_BYTES 48u
#define LX_O2IB_CONN_BYTES 56u
#define LX_O2IB_IMMEDIATE_MAX (LX_O2IB_MSG_MAX - 120u) /* payload */

/* ---- rejects: private data of the CM's REJ (section 5) ------------------ */

enum lx_o2ib_reject {
	LX_O2IB_REJ_RACE = 1,
	LX_O2IB_REJ_RESOURCES = 2,
	LX_O2IB_REJ_FATAL = 3,
	LX_O2IB_REJ_UNCOMPAT = 4,
	LX_O2IB_REJ_STALE = 5,
	LX_O2IB_REJ_FRAGS = 6,
	LX_O2IB_REJ_DEPTH = 7,
	LX_O2IB_REJ_SERVICE = 8,
	LX_O2IB_REJ_EARLY = 9,
};

struct lx_o2ib_rej_wire {
	__u32 magic;
	__u16 version;
	__u8 why; /* enum lx_o2ib_reject */
	__u8 pad;
	__u64 incarnation; /* from here on V2 only */
	struct lx_o2ib_params params;
} LX_PACKED;
LX_LAYOUT(struct lx_o2ib_rej_wire, 24);
#define LX_O2IB_REJ_V1_BYTES 8u

#endif
