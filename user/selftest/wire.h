/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages of lnet_selftest as pure functions: bytes in, bytes and verdicts out. No node, no
 * clock, no state. Used by the test node, the console, the tests and the fuzzer. Rules: spec
 * selftest.md, sections as noted.
 */
#ifndef LX_SELFTEST_WIRE_H
#define LX_SELFTEST_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lnetx/wire.h>

/* ---- numbers (1, 2, 3) ------------------------------------------------------------ */

#define LX_LST_PORTAL_TEST 50 /* requests of tests: brw, ping */
#define LX_LST_PORTAL_FRAMEWORK 51 /* requests of the framework: all others */
#define LX_LST_PORTAL_DATA 52 /* replies, and bulk */

#define LX_LST_MAGIC 0xeeb0f00dU
#define LX_LST_VERSION 1
#define LX_LST_PING_MAGIC 0xbabefaceU

#define LX_LST_FEAT_BULK_LEN 1u /* parameters of a bulk test: length and offset in bytes */
#define LX_LST_FEATURES LX_LST_FEAT_BULK_LEN /* all known ones */

/* The match bits of a request. */
enum lx_lst_service {
	LX_LST_DEBUG = 0,
	LX_LST_MAKE_SESSION = 1,
	LX_LST_REMOVE_SESSION = 2,
	LX_LST_BATCH = 3,
	LX_LST_TEST = 4,
	LX_LST_STAT = 5,
	LX_LST_JOIN = 6,
	LX_LST_BRW = 11,
	LX_LST_PING = 12,
};

/* The type of a request; that of its reply is one more. */
enum lx_lst_type {
	LX_LST_MAKE_SESSION_REQ = 0,
	LX_LST_REMOVE_SESSION_REQ = 2,
	LX_LST_BATCH_REQ = 4,
	LX_LST_STAT_REQ = 6,
	LX_LST_TEST_REQ = 8,
	LX_LST_DEBUG_REQ = 10,
	LX_LST_BRW_REQ = 12,
	LX_LST_PING_REQ = 14,
	LX_LST_JOIN_REQ = 16,
	LX_LST_TYPES = 18,
};

enum lx_lst_batch_op { LX_LST_BATCH_RUN = 1, LX_LST_BATCH_STOP = 2, LX_LST_BATCH_QUERY = 3 };

enum lx_lst_rw { LX_LST_READ = 1, LX_LST_WRITE = 2 };

/* How much of a bulk test's data is checked (8). */
enum lx_lst_check {
	LX_LST_CHECK_NONE = 1,
	LX_LST_CHECK_SIMPLE = 2, /* first and last 8 bytes of each page fragment */
	LX_LST_CHECK_FULL = 3, /* all */
	LX_LST_CHECK_DISCARD = 4, /* none, and the receiver may throw the data away */
};

#define LX_LST_PAGE 4096u /* the protocol's page size, not the machine's */
#define LX_LST_BULK_MAX (256 * LX_LST_PAGE)
#define LX_LST_NAME 32 /* bytes of a session's or group's name, with the NUL */
#define LX_LST_CONCURRENCY_MAX 1024
#define LX_LST_DESTS_PAGE 341 /* destinations in a page */
#define LX_LST_DESTS_MAX (256 * LX_LST_DESTS_PAGE)
#define LX_LST_LOOP_FOREVER 0xffffffffu

/* ---- a message (2, 3) --------------------------------------------------------------- */

struct lx_lst_sid {
	uint64_t nid; /* of the console, 4-byte-address form */
	int64_t stamp;
} LX_PACKED;

#define LX_LST_SID_NONE LX_VALUE(lx_lst_sid, UINT64_MAX, -1)

static inline bool lx_lst_sid_eq(const struct lx_lst_sid *a, const struct lx_lst_sid *b)
{
	return a->nid == b->nid && a->stamp == b->stamp;
}

static inline bool lx_lst_sid_is_none(const struct lx_lst_sid *sid)
{
	return sid->nid == UINT64_MAX && sid->stamp == -1;
}

/* Parameters of a test; the service and features say which. */
union lx_lst_params {
	struct {
		uint32_t size, flags;
	} LX_PACKED ping;
	struct { /* with LX_LST_FEAT_BULK_LEN */
		uint16_t rw, flags;
		uint32_t length, offset;
	} LX_PACKED bulk;
	struct { /* without it */
		uint32_t rw, pages, flags;
	} LX_PACKED bulk_pages;
} LX_PACKED;

/* ---- a node's counters (3) --------------------------------------------------------- */

struct lx_lst_framework_counters { /* per session */
	uint32_t running_ms, active_batches, zombie_sessions, brw_errors, ping_errors;
} LX_PACKED;

struct lx_lst_rpc_counters { /* since start */
	uint32_t errors;
	uint32_t sent; /* requests, as a client */
	uint32_t rcvd; /* requests, as a server */
	uint32_t dropped, expired;
	uint64_t bulk_get, bulk_put; /* bytes */
} LX_PACKED;

struct lx_lst_lnet_counters {
	uint32_t msgs_alloc, msgs_max, errors;
	uint32_t send_count, recv_count, route_count, drop_count;
	uint64_t send_length, recv_length, route_length, drop_length;
} LX_PACKED;

/*
 * A message: the bytes on the wire, with integers in CPU order. Only the magic is as received:
 * swapped if the sender has the other byte order. lx_lst_wire_encode() writes in the order of the
 * magic, so that a test can play such a sender.
 */
struct lx_lst_msg {
	uint32_t magic;
	uint32_t version;
	uint32_t type; /* enum lx_lst_type, + 1 for a reply */
	uint32_t reserved[2];
	uint32_t features;
	union {
		uint64_t rpyid; /* every request: match bits of the reply */
		uint32_t status; /* every reply: 0 or a positive errno */
		struct {
			uint64_t rpyid;
			struct lx_lst_sid sid;
			uint32_t force;
			char name[LX_LST_NAME];
		} LX_PACKED make;
		struct {
			uint64_t rpyid;
			struct lx_lst_sid sid;
		} LX_PACKED remove;
		struct {
			uint64_t rpyid;
			struct lx_lst_sid sid;
			uint64_t batch;
			uint32_t op; /* enum lx_lst_batch_op */
			uint32_t test; /* of a query; 0: the batch */
			uint32_t arg; /* of a stop: force */
		} LX_PACKED batch;
		struct {
			uint64_t rpyid, bulkid;
			struct lx_lst_sid sid;
			uint64_t batch;
			uint32_t service;
			uint32_t loop; /* RPCs per unit; of a server part: request buffers */
			uint32_t concurrency;
			uint8_t is_client, stop_on_error;
			uint32_t ndest;
			union lx_lst_params params;
		} LX_PACKED test;
		struct {
			uint64_t rpyid;
			struct lx_lst_sid sid;
			uint32_t type;
		} LX_PACKED stat;
		struct {
			uint64_t rpyid;
			struct lx_lst_sid sid;
			uint32_t flags;
		} LX_PACKED debug;
		struct {
			uint64_t rpyid;
			struct lx_lst_sid sid;
			char group[LX_LST_NAME];
		} LX_PACKED join;
		struct {
			uint64_t rpyid, bulkid;
			uint32_t rw; /* enum lx_lst_rw */
			uint32_t length;
			uint32_t flags; /* enum lx_lst_check */
		} LX_PACKED brw;
		struct {
			uint64_t rpyid;
			uint32_t magic, sequence;
			uint64_t seconds, nanoseconds; /* wall clock of the client */
		} LX_PACKED ping;
		struct { /* of remove session and test */
			uint32_t status;
			struct lx_lst_sid sid;
		} LX_PACKED reply;
		struct {
			uint32_t status;
			struct lx_lst_sid sid;
			uint32_t timeout; /* s */
			char name[LX_LST_NAME];
		} LX_PACKED make_reply, join_reply;
		struct {
			uint32_t status;
			struct lx_lst_sid sid;
			uint32_t active, time;
		} LX_PACKED batch_reply;
		struct {
			uint32_t status;
			struct lx_lst_sid sid;
			struct lx_lst_framework_counters framework;
			struct lx_lst_rpc_counters rpc;
			struct lx_lst_lnet_counters lnet;
		} LX_PACKED stat_reply;
		struct {
			uint32_t status;
			struct lx_lst_sid sid;
			uint32_t timeout; /* s */
			uint32_t batches;
			char name[LX_LST_NAME];
		} LX_PACKED debug_reply;
		struct {
			uint32_t status;
			uint32_t magic, sequence;
		} LX_PACKED ping_reply;
		uint8_t body[136];
	};
} LX_PACKED;
LX_LAYOUT(struct lx_lst_msg, 160);
LX_OFFSET(struct lx_lst_msg, features, 20);
LX_OFFSET(struct lx_lst_msg, make.name, 24 + 28);
LX_OFFSET(struct lx_lst_msg, batch.arg, 24 + 40);
LX_OFFSET(struct lx_lst_msg, test.params, 24 + 58);
LX_OFFSET(struct lx_lst_msg, join.group, 24 + 24);
LX_OFFSET(struct lx_lst_msg, brw.flags, 24 + 24);
LX_OFFSET(struct lx_lst_msg, ping.nanoseconds, 24 + 24);
LX_OFFSET(struct lx_lst_msg, make_reply.name, 24 + 24);
LX_OFFSET(struct lx_lst_msg, batch_reply.time, 24 + 24);
LX_OFFSET(struct lx_lst_msg, stat_reply.lnet, 24 + 76);
LX_OFFSET(struct lx_lst_msg, debug_reply.name, 24 + 28);
LX_OFFSET(struct lx_lst_msg, ping_reply.sequence, 24 + 8);

#define LX_LST_MSG_BYTES sizeof(struct lx_lst_msg) /* of each request and reply */

/* Sets the fields up to features, zeroes the rest. @type: enum lx_lst_type, + 1 for a reply. */
void lx_lst_wire_init(struct lx_lst_msg *msg, uint32_t type, uint32_t features);

/**
 * lx_lst_wire_encode - write a message
 * @msg: the byte order is that of its magic
 * @ret_buf: LX_LST_MSG_BYTES; bytes that the type does not use are 0
 */
void lx_lst_wire_encode(const struct lx_lst_msg *msg, void *ret_buf);

/**
 * lx_lst_wire_decode - read a message
 * @len: bytes of @buf
 * @ret_msg: fields that the type does not use are 0, names end in NUL; set unless -EPROTO
 *
 * Returns 0; -EPROTO: not a message (wrong length, magic or type), drop it; -EPROTONOSUPPORT:
 * another version: reply with status EPROTO (1), and use nothing but rpyid or status.
 */
int lx_lst_wire_decode(const void *buf, size_t len, struct lx_lst_msg *ret_msg);

/* Whether the sender has the other byte order; its destinations and pattern have, too (5, 8). */
static inline bool lx_lst_flipped(const struct lx_lst_msg *msg)
{
	return msg->magic != LX_LST_MAGIC;
}

/* ---- services (3) ---------------------------------------------------------------------- */

/* The portal of a service's requests. */
uint32_t lx_lst_wire_portal(enum lx_lst_service service);

/* The type of a service's request; -ENOENT: no such service. */
int lx_lst_wire_request_type(uint64_t service);

/* "make session", "brw reply"; "?" for an unknown type. */
const char *lx_lst_wire_type_name(uint32_t type);

/* ---- destinations of a test (5) ---------------------------------------------------------- */

struct lx_lst_dest {
	uint64_t nid; /* 4-byte-address form */
	uint32_t pid;
} LX_PACKED;
LX_LAYOUT(struct lx_lst_dest, 12);

/* Length of the bulk for @n destinations; @n: at most LX_LST_DESTS_MAX. */
size_t lx_lst_wire_dests_bytes(uint32_t n, uint32_t features);

/* Bytes that lx_lst_wire_dest_put() of @n destinations needs: whole pages. */
size_t lx_lst_wire_dests_room(uint32_t n);

/* Writes the @i-th destination, from 0, in CPU order. */
void lx_lst_wire_dest_put(void *buf, uint32_t i, const struct lx_lst_dest *dest);

/**
 * lx_lst_wire_dest_get - read the @i-th destination
 * @len: bytes of @buf
 * @flip: lx_lst_flipped() of the request
 *
 * With more than LX_LST_DESTS_PAGE, the bulk ends inside the list (5): a missing pid is
 * LX_PID_LUSTRE.
 * Returns 0, or -EPROTO: the NID is not in @buf.
 */
int lx_lst_wire_dest_get(const void *buf, size_t len, uint32_t i, bool flip,
			 struct lx_lst_dest *ret_dest);

#endif
