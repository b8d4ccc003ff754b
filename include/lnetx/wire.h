/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * LNet on the wire: NIDs, the message header in its two forms, ping information.
 *
 * Layouts and their conversions. This header compiles natively and for BPF; it
 * needs only fixed-width types. Source of every rule: lnet.md 1, 3, 4 and 12.
 */
#ifndef LNETX_WIRE_H
#define LNETX_WIRE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define LX_INLINE static inline __attribute__((always_inline, unused))
#define LX_PACKED __attribute__((packed))
#ifdef __cplusplus
#define LX_STATIC_ASSERT static_assert
#define LX_VALUE(tag, ...) (tag{ __VA_ARGS__ }) /* a struct @tag in an expression */
#else
#define LX_STATIC_ASSERT _Static_assert
#define LX_VALUE(tag, ...) ((struct tag){ __VA_ARGS__ })
#endif
#define LX_LAYOUT(type, size) \
	LX_STATIC_ASSERT(sizeof(type) == (size), #type " is " #size " bytes on the wire")
#define LX_OFFSET(type, field, offset) \
	LX_STATIC_ASSERT(__builtin_offsetof(type, field) == (offset), #type "." #field)

/* ---- byte order ------------------------------------------------------- */

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define lx_le16(x) ((__u16)(x))
#define lx_le32(x) ((__u32)(x))
#define lx_le64(x) ((__u64)(x))
#define lx_be16(x) __builtin_bswap16((__u16)(x))
#define lx_be32(x) __builtin_bswap32((__u32)(x))
#define lx_be64(x) __builtin_bswap64((__u64)(x))
#else
#define lx_le16(x) __builtin_bswap16((__u16)(x))
#define lx_le32(x) __builtin_bswap32((__u32)(x))
#define lx_le64(x) __builtin_bswap64((__u64)(x))
#define lx_be16(x) ((__u16)(x))
#define lx_be32(x) ((__u32)(x))
#define lx_be64(x) ((__u64)(x))
#endif

/* ---- NIDs (lnet.md 1) ------------------------------------------------- */

/* A net's transport. tcp, o2ib and lo exist here; of the others only the NIDs are understood. */
enum lx_net_type {
	LX_NET_TCP = 2,    /* tcp: sockets */
	LX_NET_O2IB = 5,   /* o2ib: RDMA, InfiniBand or RoCE */
	LX_NET_LO = 9,     /* lo: the node itself, 0@lo */
	LX_NET_GNI = 13,   /* gni: Cray Gemini and Aries */
	LX_NET_GIP = 14,   /* gip: gni with IP addresses */
	LX_NET_PTLF = 15,  /* ptlf: Portals 4 */
	LX_NET_KFI = 16,   /* kfi: kfabric, as on Slingshot */
	LX_NET_TOFU = 17,  /* tofu: Fujitsu Tofu */
	LX_NET_EFA = 18,   /* efa: Amazon's Elastic Fabric Adapter */
	LX_NET_BXI3F = 19, /* bxi3f: BXI v3 */
	LX_NET_ANY = 0xff, /* of the NID "any" */
};

/*
 * A NID in its large form: the same bytes in memory and on the wire, never
 * swapped. The unused tail of the address is zero, so memcmp compares NIDs.
 */
struct lx_nid {
	__u8 size; /* bytes used - 8: 0 for a 4-byte address, 12 for a 16-byte one */
	__u8 type; /* enum lx_net_type */
	__be16 num;
	__u8 addr[16]; /* network order */
} LX_PACKED;
LX_LAYOUT(struct lx_nid, 20);

#define LX_NID_SIZE4 0         /* "size" of a 4-byte address: IPv4 */
#define LX_NID_SIZE16 12       /* of a 16-byte address: IPv6 */
#define LX_NID_U64_ANY (~0ULL) /* "any", 4-byte-address form */

/* A net: type << 16 | number. */
#define LX_NET(type, num) ((__u32)(type) << 16 | (num))
#define LX_NET_U32_ANY (~0U)

LX_INLINE __u32 lx_nid_net(const struct lx_nid *nid)
{
	return nid->type == LX_NET_ANY ? LX_NET_U32_ANY : LX_NET(nid->type, lx_be16(nid->num));
}

/* The type byte alone says "any" (lnet.md 1.1). */
LX_INLINE int lx_nid_is_any(const struct lx_nid *nid)
{
	return nid->type == LX_NET_ANY;
}

/* True if the NID has a 4-byte form and so fits a nid4 header. "Any" does, too. */
LX_INLINE int lx_nid_is_nid4(const struct lx_nid *nid)
{
	return nid->size == LX_NID_SIZE4 || lx_nid_is_any(nid);
}

/*
 * Checks a NID that came from outside: "any", or one of the two sizes with a zero tail.
 * Others would never compare equal to the NID they look like.
 */
LX_INLINE int lx_nid_is_valid(const struct lx_nid *nid)
{
	__u32 tail[3];

	if (lx_nid_is_any(nid) || nid->size == LX_NID_SIZE16)
		return 1;
	__builtin_memcpy(tail, nid->addr + 4, sizeof(tail));
	return nid->size == LX_NID_SIZE4 && !(tail[0] | tail[1] | tail[2]);
}

/* Length in bytes of the used part of a NID. */
LX_INLINE unsigned int lx_nid_bytes(const struct lx_nid *nid)
{
	return nid->size + 8u;
}

/* The 4-byte-address form as a number; only for NIDs with lx_nid_is_nid4(). */
LX_INLINE __u64 lx_nid_to_u64(const struct lx_nid *nid)
{
	if (lx_nid_is_any(nid))
		return LX_NID_U64_ANY;
	return (__u64)lx_nid_net(nid) << 32 | (__u32)nid->addr[0] << 24 | nid->addr[1] << 16 |
	       nid->addr[2] << 8 | nid->addr[3];
}

LX_INLINE void lx_nid_from_u64(__u64 u64, struct lx_nid *ret_nid)
{
	__builtin_memset(ret_nid, 0, sizeof(*ret_nid));
	if (u64 == LX_NID_U64_ANY) {
		__builtin_memset(ret_nid, 0xff, sizeof(*ret_nid));
		return;
	}
	ret_nid->type = u64 >> 48;
	ret_nid->num = lx_be16(u64 >> 32);
	ret_nid->addr[0] = u64 >> 24;
	ret_nid->addr[1] = u64 >> 16;
	ret_nid->addr[2] = u64 >> 8;
	ret_nid->addr[3] = u64;
}

/* ---- process ids (lnet.md 1.4) ---------------------------------------- */

#define LX_PID_ANY (~0U)              /* of an ME: matches every pid */
#define LX_PID_LUSTRE 12345u          /* every node's */
#define LX_PID_USERFLAG 0x80000000u   /* set for peers that dialled from an unprivileged port */

/* ---- message header (lnet.md 3) --------------------------------------- */

enum lx_msg_type {
	LX_MSG_ACK,   /* a PUT has arrived; no payload */
	LX_MSG_PUT,   /* its payload is the data */
	LX_MSG_GET,   /* no payload */
	LX_MSG_REPLY, /* answers a GET; its payload is the data */
	LX_MSG_HELLO, /* only inside socklnd's V1 HELLO */
	LX_MSG_TYPES
};

#define LX_PAYLOAD_MAX (1u << 20) /* bytes of a PUT or REPLY */

/*
 * A handle ("wire cookie"). Only the node that created it interprets it; all others
 * copy its 16 bytes verbatim, whatever the byte order (lnet.md 3.1).
 */
struct lx_wire_handle {
	__u64 interface_cookie;
	__u64 object_cookie;
} LX_PACKED;
LX_LAYOUT(struct lx_wire_handle, 16);

#define LX_WIRE_HANDLE_NONE LX_VALUE(lx_wire_handle, ~0ULL, ~0ULL)

/*
 * The command area, as on the wire: 40 bytes, little endian except for
 * - handles, which are opaque, and
 * - put.hdr_data, which is sent in the sender's CPU order and delivered
 *   unchanged (lnet.md 3.2).
 * Routers forward the 40 bytes untouched, so they are never converted as a whole.
 */
union lx_cmd {
	struct {
		struct lx_wire_handle dst_md;
		__le64 match_bits;
		__le32 mlength;
	} LX_PACKED ack;
	struct {
		struct lx_wire_handle ack_md;
		__le64 match_bits;
		__u64 hdr_data;
		__le32 portal;
		__le32 offset;
	} LX_PACKED put;
	struct {
		struct lx_wire_handle return_md;
		__le64 match_bits;
		__le32 portal;
		__le32 src_offset;
		__le32 sink_length;
	} LX_PACKED get;
	struct {
		struct lx_wire_handle dst_md;
	} LX_PACKED reply;
	struct {
		__le64 incarnation;
		__le32 ctype;
	} LX_PACKED hello;
	__u8 bytes[40];
} LX_PACKED;
LX_LAYOUT(union lx_cmd, 40);
LX_OFFSET(union lx_cmd, ack.mlength, 24);
LX_OFFSET(union lx_cmd, put.offset, 36);
LX_OFFSET(union lx_cmd, get.sink_length, 32);

struct lx_hdr_nid4 {
	__le64 dst_nid;
	__le64 src_nid;
	__le32 dst_pid;
	__le32 src_pid;
	__le32 type;
	__le32 payload_length;
	union lx_cmd cmd;
} LX_PACKED;
LX_LAYOUT(struct lx_hdr_nid4, 72);
LX_OFFSET(struct lx_hdr_nid4, cmd, 32);

struct lx_hdr_nid16 {
	struct lx_nid dst_nid;
	struct lx_nid src_nid;
	__le32 dst_pid;
	__le32 src_pid;
	__le32 type;
	__le32 payload_length;
	union lx_cmd cmd;
} LX_PACKED;
LX_LAYOUT(struct lx_hdr_nid16, 96);
LX_OFFSET(struct lx_hdr_nid16, cmd, 56);

/* A header in memory: numbers in CPU order, the command area as on the wire. */
struct lx_hdr {
	struct lx_nid dst_nid;
	struct lx_nid src_nid;
	__u32 dst_pid;
	__u32 src_pid;
	__u32 type; /* enum lx_msg_type, unchecked */
	__u32 payload_length;
	union lx_cmd cmd;
};

LX_INLINE void lx_hdr_nid4_decode(const struct lx_hdr_nid4 *wire, struct lx_hdr *ret_hdr)
{
	lx_nid_from_u64(lx_le64(wire->dst_nid), &ret_hdr->dst_nid);
	lx_nid_from_u64(lx_le64(wire->src_nid), &ret_hdr->src_nid);
	ret_hdr->dst_pid = lx_le32(wire->dst_pid);
	ret_hdr->src_pid = lx_le32(wire->src_pid);
	ret_hdr->type = lx_le32(wire->type);
	ret_hdr->payload_length = lx_le32(wire->payload_length);
	ret_hdr->cmd = wire->cmd;
}

/* Both NIDs must have the 4-byte form. */
LX_INLINE void lx_hdr_nid4_encode(const struct lx_hdr *hdr, struct lx_hdr_nid4 *ret_wire)
{
	ret_wire->dst_nid = lx_le64(lx_nid_to_u64(&hdr->dst_nid));
	ret_wire->src_nid = lx_le64(lx_nid_to_u64(&hdr->src_nid));
	ret_wire->dst_pid = lx_le32(hdr->dst_pid);
	ret_wire->src_pid = lx_le32(hdr->src_pid);
	ret_wire->type = lx_le32(hdr->type);
	ret_wire->payload_length = lx_le32(hdr->payload_length);
	ret_wire->cmd = hdr->cmd;
}

LX_INLINE void lx_hdr_nid16_decode(const struct lx_hdr_nid16 *wire, struct lx_hdr *ret_hdr)
{
	ret_hdr->dst_nid = wire->dst_nid;
	ret_hdr->src_nid = wire->src_nid;
	ret_hdr->dst_pid = lx_le32(wire->dst_pid);
	ret_hdr->src_pid = lx_le32(wire->src_pid);
	ret_hdr->type = lx_le32(wire->type);
	ret_hdr->payload_length = lx_le32(wire->payload_length);
	ret_hdr->cmd = wire->cmd;
}

LX_INLINE void lx_hdr_nid16_encode(const struct lx_hdr *hdr, struct lx_hdr_nid16 *ret_wire)
{
	ret_wire->dst_nid = hdr->dst_nid;
	ret_wire->src_nid = hdr->src_nid;
	ret_wire->dst_pid = lx_le32(hdr->dst_pid);
	ret_wire->src_pid = lx_le32(hdr->src_pid);
	ret_wire->type = lx_le32(hdr->type);
	ret_wire->payload_length = lx_le32(hdr->payload_length);
	ret_wire->cmd = hdr->cmd;
}

/* ---- ping information (lnet.md 12) ------------------------------------ */

#define LX_PORTALS 64        /* 0 .. 63 */
#define LX_PORTAL_RESERVED 0 /* ping and discovery */
#define LX_PING_MATCH_BITS 0x8000000000000000ULL /* of a ping, on that portal */
#define LX_PING_MAGIC 0x70696e67u /* "ping": first word of the answer, in its sender's order */

enum lx_ping_feature {
	LX_PING_BASE = 1,           /* obsolete; never set */
	LX_PING_NI_STATUS = 2,      /* NIs have a status; always set */
	LX_PING_RTE_DISABLED = 4,   /* it does not forward */
	LX_PING_MULTI_RAIL = 8,     /* all its NIDs may be used */
	LX_PING_DISCOVERY = 16,     /* it takes part in discovery */
	LX_PING_LARGE_ADDR = 32,    /* a list of NIDs with 16-byte addresses follows */
	LX_PING_PRIMARY_LARGE = 64, /* the first of these is the primary NID */
	LX_PING_METADATA = 128,     /* data of the transports follows all NIDs */
};

/* Status of each NI in ping information. */
#define LX_NI_STATUS_INVALID 0u       /* no NI */
#define LX_NI_STATUS_UP 0x15aac0deu
#define LX_NI_STATUS_DOWN 0xdeadfaceu

/*
 * All in the responder's CPU order. Record 0 is 0@lo; its status is the
 * sequence number of the information, its size the number of bytes up to the end
 * of the large list.
 */
struct lx_ping_ni {
	__u64 nid;
	__u32 status;
	__u32 size;
} LX_PACKED;
LX_LAYOUT(struct lx_ping_ni, 16);

/* A flexible array is not C++, but its compilers accept it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
struct lx_ping_info {
	__u32 magic;
	__u32 features;
	__u32 pid;
	__u32 n_nis;
	struct lx_ping_ni ni[];
} LX_PACKED;
#pragma GCC diagnostic pop
LX_LAYOUT(struct lx_ping_info, 16);

/* An entry of the large list, followed by lx_nid_bytes() - 8 address bytes. */
struct lx_ping_large_ni {
	__u32 status;
	struct lx_nid nid; /* only its used part is on the wire */
} LX_PACKED;
LX_LAYOUT(struct lx_ping_large_ni, 24);

#define LX_PING_INFO_MIN 272u /* smallest sink a requester offers: 16 records */

/* ---- credits (lnet.md 9.1) ------------------------------------------------ */

/*
 * A negative value is the number of waiting messages. The fast path takes credits here, too,
 * so change the fields by atomic operations only. It neither waits for a credit nor makes
 * others wait for its own: whether a credit is free depends on @now plus @lanes.
 */
struct lx_credit {
	__s32 now;
	__s32 min;   /* lowest ever */
	__s32 lanes; /* taken by the fast path; never more than it subtracted from @now */
};
LX_LAYOUT(struct lx_credit, 12);

#endif
