/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lxload: declarations shared by its files, and the protocol between its two ends.
 *
 *	client ── CALL open ──────────────▶ server   a stream: its messages, and how to check
 *	       ◀─────────────── ANSWER ────
 *	       ── PUT ... / GET ... ──────▶          the load, with ACKs or REPLYs
 *	       ── CALL close ─────────────▶
 *	       ◀─────────────── ANSWER ────          what arrived, and how
 *
 * Everything goes to one portal. The match bits identify a message:
 *
 *	63   60 59       40 39                0
 *	 kind  |  stream   |  sequence number
 *
 * A lost message is resent with its old sequence number, as the layers above LNet do;
 * so the server knows whether each one arrived, and how often.
 */
#ifndef LX_BENCH_LOAD_H
#define LX_BENCH_LOAD_H

#include <stdio.h>
#include <time.h>

#include <lnetx/lnetx.h>

#define LX_LOAD_PORTAL 60
#define LX_LOAD_MAGIC 0x64616f6c78ull /* "xload" */

enum lx_load_kind {
	LX_LOAD_PUT = 1,
	LX_LOAD_GET,
	LX_LOAD_CALL,
	LX_LOAD_ANSWER,
};

#define LX_LOAD_KIND_SHIFT 60
#define LX_LOAD_STREAM_SHIFT 40
#define LX_LOAD_STREAM_MASK 0xfffffull
#define LX_LOAD_SEQ_MASK 0xffffffffffull
#define LX_LOAD_ANY_OF_KIND (~(0xfull << LX_LOAD_KIND_SHIFT)) /* bits to ignore */

static inline uint64_t lx_load_bits(enum lx_load_kind kind, uint32_t stream, uint64_t seq)
{
	return (uint64_t)kind << LX_LOAD_KIND_SHIFT |
	       (stream & LX_LOAD_STREAM_MASK) << LX_LOAD_STREAM_SHIFT | (seq & LX_LOAD_SEQ_MASK);
}

static inline uint32_t lx_load_stream(uint64_t bits)
{
	return bits >> LX_LOAD_STREAM_SHIFT & LX_LOAD_STREAM_MASK;
}

static inline uint64_t lx_load_seq(uint64_t bits)
{
	return bits & LX_LOAD_SEQ_MASK;
}

enum lx_load_op {
	LX_LOAD_OPEN = 1,
	LX_LOAD_CLOSE,
};

/* Payload of a CALL; all little endian. */
struct lx_load_call {
	__le64 magic;
	__le64 op;
	__le64 nonce; /* identifies the client if two take the same stream */
	__le64 size; /* open: bytes of each message */
	__le64 verify; /* open: 1: check the payload */
};

/* Payload of an ANSWER. */
struct lx_load_answer {
	__le64 magic;
	__le64 op;
	__le64 error; /* 0; EEXIST: take another stream; EPROTO: malformed call */
	__le64 source_key; /* open: GETs read the pattern of this key */
	__le64 source_len; /* open: ... of this many bytes */
	__le64 received; /* close: distinct PUTs that arrived */
	__le64 bytes;
	__le64 again; /* duplicate arrivals */
	__le64 missing; /* sequence numbers below the highest one that did not arrive */
	__le64 bad; /* PUTs with a wrong byte or length */
};

/* How far a sender may run ahead of its oldest message without an answer. */
#define LX_LOAD_WINDOW 65536

#define LX_LOAD_SIZE_MAX LX_PAYLOAD_MAX
#define LX_LOAD_INFLIGHT_MAX 4096
#define LX_LOAD_CLIENTS_MAX 1024

enum lx_load_verb {
	LX_VERB_SERVER,
	LX_VERB_PUT,
	LX_VERB_GET,
	LX_VERB_PING,
	LX_VERB_IDLE,
};

#define LX_LOAD_LIST_MAX 32

struct lx_options {
	enum lx_load_verb verb;
	struct lx_id target[LX_LOAD_LIST_MAX];
	unsigned int n_targets;

	/* the node */
	const char *file; /* YAML; instead of the next three */
	uint32_t net;
	const char *ifname;
	struct lx_nid *nid;
	size_t n_nids;
	const char *route[LX_LOAD_LIST_MAX]; /* NET=GATEWAY */
	unsigned int n_routes;
	const char *set[LX_LOAD_LIST_MAX]; /* MODULE.NAME=VALUE */
	unsigned int n_sets;
	bool verbose;

	/* the load */
	size_t size;
	unsigned int inflight;
	unsigned int train; /* messages to one target before the next one's turn */
	uint64_t count; /* messages per client; 0: limited by @seconds */
	double seconds;
	double warmup; /* seconds that do not count */
	double interval; /* between progress lines; 0: none */
	double timeout; /* give up after this many seconds without progress */
	bool verify;
	bool put; /* ping: with PUT and ACK instead of GET and REPLY */
	bool no_ack;     /* PUTs are done when they are sent */
	bool mixed; /* put: every second message is a GET */
	struct lx_id pinged; /* put, get: pinged during the load; lx_nid_any: none */
	unsigned int damage; /* corrupt every Nth message; 0: none */

	/* the server */
	unsigned int buffers;
	size_t buffer_size;

	bool json;
};

static inline uint64_t lx_load_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static inline const char *lx_load_verb_name(enum lx_load_verb verb)
{
	static const char *const name[] = { "server", "put", "get", "ping", "idle" };

	return name[verb];
}

/* Counts SIGINT and SIGTERM. The first ends the run, the second gives up. */
extern int lx_load_stop;

static inline bool lx_load_stopping(void)
{
	return __atomic_load_n(&lx_load_stop, __ATOMIC_RELAXED);
}

static inline bool lx_load_giving_up(void)
{
	return __atomic_load_n(&lx_load_stop, __ATOMIC_RELAXED) > 1;
}

/* ---- setup.c ---------------------------------------------------------------- */

/*
 * Creates a node from the options, with the NIDs @nid (none: by interface or file).
 * Reports errors on stderr. Returns 0 or -errno.
 */
int lx_setup_node(const struct lx_options *opt, const struct lx_nid *nid, size_t n_nids,
		  struct lx_node **ret_node);

/* ---- the verbs; each returns the program's exit status ------------------------ */

int lx_server_run(const struct lx_options *opt);
int lx_client_run(const struct lx_options *opt);
int lx_idle_run(const struct lx_options *opt);

#endif
