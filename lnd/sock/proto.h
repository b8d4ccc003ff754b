/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socklnd protocol as pure functions: bytes in, bytes and verdicts out. No socket, no
 * clock, no state. Layouts: internal/sock_wire.h. Rules: spec socklnd.md, sections as noted.
 */
#ifndef LX_SOCK_PROTO_H
#define LX_SOCK_PROTO_H

#include <stdbool.h>
#include <stdint.h>

#include <internal/sock_wire.h>
#include <lnetx/nid.h>

/* ---- acceptor request (2.2, 2.3) ------------------------------------------- */

#define LX_ACC_REQ_MAX sizeof(struct lx_acc_req2)

/* Writes the request for @target in CPU order; returns its length, 16 or 28. */
size_t lx_proto_acc_encode(const struct lx_nid *target, void *buf);

/**
 * lx_proto_acc_need - how long the request at hand is
 * @have: bytes in @buf so far
 *
 * Call it whenever more bytes have arrived. Returns the total to read before the next
 * call (4, then 8, then 16 or 28; complete when it returns @have), or
 * -EPROTO: not an acceptor request; close.
 * -EPROTONOSUPPORT: answer with lx_proto_acc_version(), then close.
 */
int lx_proto_acc_need(const void *buf, size_t have);

/* The requested NID, from a complete request. */
void lx_proto_acc_decode(const void *buf, struct lx_nid *ret_target);

/* The 16-byte record with our version, for a probe (2.3 steps 2', 3). */
void lx_proto_acc_version(struct lx_acc_req1 *ret_answer);

/* ---- HELLO (3, 4) ------------------------------------------------------------ */

struct lx_hello {
	unsigned int version; /* enum lx_sock_version */
	bool flip;            /* decoded: the sender has the other byte order */
	struct lx_nid src_nid, dst_nid; /* V1 has no dst_nid: any */
	uint32_t src_pid, dst_pid;
	uint64_t src_incarnation, dst_incarnation;
	uint32_t ctype;
	uint32_t nips;
	uint32_t ip[LX_HELLO_IPS_MAX]; /* CPU order */
};

#define LX_HELLO_MAX (sizeof(struct lx_hello4) + 4 * LX_HELLO_IPS_MAX)

/*
 * Writes a HELLO and returns its length. hello->flip: in the other byte order (tests).
 * V1 to V3 have "any" in place of a NID without a 4-byte form.
 */
size_t lx_proto_hello_encode(const struct lx_hello *hello, void *buf);

/**
 * lx_proto_hello_need - how long the HELLO is; used like lx_proto_acc_need()
 *
 * Returns a total to read, or -EPROTO: wrong magic, a V1 HELLO that is not one, more
 * than 16 IPs; -EPROTONOSUPPORT: unknown version (4.2 step 2: an own HELLO with
 * ctype NONE answers it; 4.1: fatal for the active side).
 */
int lx_proto_hello_need(const void *buf, size_t have);

/* A complete HELLO. Returns 0, or -EPROTO: source NID any or none, an IP that is 0, a bad V1. */
int lx_proto_hello_decode(const void *buf, size_t len, struct lx_hello *ret_hello);

/* The type as the other side sees it; LX_CTYPE_NONE if it is unknown (4.5). */
uint32_t lx_proto_ctype_invert(uint32_t ctype);

const char *lx_proto_ctype_name(uint32_t ctype);

/* ---- messages (6) --------------------------------------------------------------- */

/* Brings a message header to CPU order. */
void lx_proto_msg_flip(struct lx_sock_msg *msg);

/* Bytes before the payload on a connection of @version (V1 has no message header). */
size_t lx_proto_overhead(unsigned int version);

/* ---- which connection carries a message (7) --------------------------------------- */

enum lx_conn_fit { LX_FIT_NO, LX_FIT_MAY, LX_FIT_YES };

/* @noop: a NOOP, and @nonblk: one that must not wait behind bulk. @payload: bytes. */
enum lx_conn_fit lx_proto_conn_fit(unsigned int version, uint32_t ctype, bool noop,
				   size_t payload, bool nonblk, size_t min_bulk);

/* ---- zero-copy cookies (8) --------------------------------------------------------- */

/**
 * lx_proto_ack_merge - add a cookie to a NOOP that is queued
 * @noop: on the ACK connection of a V3 or V4 peer; a waiting keepalive is replaced
 * Returns false: it can't; send another NOOP.
 */
bool lx_proto_ack_merge(struct lx_sock_msg *noop, uint64_t cookie);

/* The cookies that a received NOOP or message acknowledges (8.3). */
struct lx_acked {
	uint64_t first, last; /* a pair: just these two; else all from first to last */
	bool pair;
	bool keepalive;
	unsigned int expected; /* how many requests have to be found */
};

/* Returns 0, or -EPROTO: a combination that no version allows. */
int lx_proto_acked(unsigned int version, const struct lx_sock_msg *msg,
		   struct lx_acked *ret_acked);

static inline bool lx_acked_has(const struct lx_acked *a, uint64_t cookie)
{
	return a->pair ? cookie == a->first || cookie == a->last
		       : cookie >= a->first && cookie <= a->last;
}

/* The cookie after @cookie; never 0 or 1. */
uint64_t lx_proto_cookie_next(uint64_t cookie);

/* ---- checksum (9) -------------------------------------------------------------------- */

#define LX_CSUM_INIT 0xffffffffu

/* Continues a checksum: CRC-32 without the final inversion. */
uint32_t lx_proto_csum(uint32_t csum, const void *data, size_t len);

/* ---- numbers ---------------------------------------------------------------------------- */

/* conns_per_peer for a link speed in Mb/s; 0 = unknown (5.1). */
unsigned int lx_proto_auto_conns(unsigned int speed_mbps);

#endif
