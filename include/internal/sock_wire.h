/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd on the wire: acceptor request, HELLO, message header.
 *
 * Layouts and constants only; the codec is lnd/sock/proto.c. Compiles natively and
 * for BPF. Source: socklnd.md 2, 3, 6 and 8.
 */
#ifndef LNETX_SOCK_WIRE_H
#define LNETX_SOCK_WIRE_H

#include <lnetx/wire.h>

#define LX_SOCK_PORT 988
#define LX_SOCK_PRIVILEGED_PORT_MAX 1023
#define LX_SOCK_PRIVILEGED_PORT_MIN 512

#define LX_PROTO_MAGIC 0x45726963u      /* V2, V3, V4 HELLO, and generic probers */
#define LX_PROTO_TCP_MAGIC 0xeebc0dedu  /* V1 HELLO, always little endian */
#define LX_PROTO_ACC_MAGIC 0xacce7100u  /* acceptor request */

/* ---- acceptor request (socklnd.md 2.2), sender order ------------------- */

struct lx_acc_req1 {
	__u32 magic;
	__u32 version; /* 1 */
	__u64 nid;
} LX_PACKED;
LX_LAYOUT(struct lx_acc_req1, 16);

struct lx_acc_req2 {
	__u32 magic;
	__u32 version; /* 2 */
	struct lx_nid nid; /* bytes, never swapped */
} LX_PACKED;
LX_LAYOUT(struct lx_acc_req2, 28);

/* ---- HELLO (socklnd.md 3) ---------------------------------------------- */

enum lx_sock_version {
	LX_SOCK_V1 = 1,
	LX_SOCK_V2 = 2,
	LX_SOCK_V3 = 3,
	LX_SOCK_V4 = 4,
};

enum lx_sock_ctype {
	LX_CTYPE_ANY = 0,
	LX_CTYPE_CONTROL = 1,
	LX_CTYPE_BULK_IN = 2,
	LX_CTYPE_BULK_OUT = 3,
	LX_CTYPES,
};
#define LX_CTYPE_NONE 0xffffffffu

#define LX_HELLO_IPS_MAX 16

/* V1: an LNet header with other meanings; little endian; followed by IPs. */
struct lx_hello1 {
	__le32 magic; /* LX_PROTO_TCP_MAGIC */
	__le16 version_major; /* 1 */
	__le16 version_minor; /* 0 */
	__le64 src_nid;
	__le32 dst_pid; /* 0 */
	__le32 src_pid;
	__le32 type; /* LX_MSG_HELLO */
	__le32 payload_length; /* 4 x number of IPs */
	__le64 src_incarnation;
	__le32 ctype;
	__u8 zero[28];
} LX_PACKED;
LX_LAYOUT(struct lx_hello1, 72);

/* V2 and V3: sender order; followed by nips u32 IPv4 addresses. */
struct lx_hello3 {
	__u32 magic; /* LX_PROTO_MAGIC */
	__u32 version;
	__u64 src_nid;
	__u64 dst_nid;
	__u32 src_pid;
	__u32 dst_pid;
	__u64 src_incarnation;
	__u64 dst_incarnation;
	__u32 ctype;
	__u32 nips;
} LX_PACKED;
LX_LAYOUT(struct lx_hello3, 56);

/* V4: sender order except for the NIDs, which are bytes; no IPs. */
struct lx_hello4 {
	__u32 magic; /* LX_PROTO_MAGIC */
	__u32 version; /* 4 */
	struct lx_nid src_nid;
	struct lx_nid dst_nid;
	__u32 src_pid;
	__u32 dst_pid;
	__u64 src_incarnation;
	__u64 dst_incarnation;
	__u32 ctype;
	__u32 nips; /* 0 */
} LX_PACKED;
LX_LAYOUT(struct lx_hello4, 80);
LX_OFFSET(struct lx_hello4, ctype, 72);

/* ---- messages of V2, V3, V4 (socklnd.md 6) ----------------------------- */

#define LX_SOCK_NOOP 0xc0u
#define LX_SOCK_LNET 0xc1u
#define LX_SOCK_COOKIE_KEEPALIVE 1ULL /* in a NOOP's cookie[1]; V3 and V4 */
#define LX_SOCK_COOKIE_FIRST 2ULL

struct lx_sock_msg { /* sender order */
	__u32 type;
	__u32 csum;
	__u64 cookie[2];
} LX_PACKED;
LX_LAYOUT(struct lx_sock_msg, 24);
LX_OFFSET(struct lx_sock_msg, cookie, 8);

/* Bytes of the LNet header that follows a message header of type LNET. */
LX_INLINE unsigned int lx_sock_hdr_bytes(unsigned int version)
{
	return version == LX_SOCK_V4 ? sizeof(struct lx_hdr_nid16) : sizeof(struct lx_hdr_nid4);
}

#endif
