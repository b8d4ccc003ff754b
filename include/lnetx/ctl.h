/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * liblnetxctl: what lnetctl and lnetx do, from a program: look at an lnetxd, change it,
 * follow its changes. It needs no node of its own and none of liblnetx.
 *
 * Every object (NIs, peers, routes, tunables, ...) has some of the verbs show, add, del
 * and set. A request is a verb, an object, and arguments: pairs of texts. The answer to a
 * show is a sequence of rows, whose fields have the keys of "lnetx -j OBJECT show":
 *
 *	const struct lx_ctl_arg to[] = { { "net", "tcp" }, { NULL, NULL } };
 *	struct lx_ctl_row ni;
 *	int more = lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, to);
 *
 *	if (!more)
 *		while ((more = lx_ctl_next(ctl, &ni)) == 1)
 *			puts(lx_ctl_text(&ni, "nid"));
 *	if (more < 0)
 *		fprintf(stderr, "%s\n", lx_ctl_why(ctl)->text);
 *
 * The arguments and rows of each object and verb: docs/library.md, installed in
 * share/doc/lnetx. Rules of LNet, and the reference for keys and errno values: control.md.
 *
 * Threads. A handle is for one thread at a time; the caller serialises. Different handles
 * are independent of each other. Nothing is started in the background, and no signal is
 * used or raised.
 *
 * Errors are negative errno values; lx_ctl_why() has the rest. A failed request leaves the
 * handle usable: the next one connects again if need be.
 *
 *	-EINVAL           no such object, verb, key or value; nothing was sent, unless it
 *	                  came from lnetxd (origin)
 *	-ENOENT, -ECONNREFUSED   no lnetxd runs there
 *	-EACCES, -EPERM   the socket, or lnetxd, does not let this user
 *	-ENAMETOOLONG     the address is too long for a socket
 *	-ECONNRESET       lnetxd closed the connection before the end of the answer
 *	-ETIMEDOUT        nothing came within the time of lx_ctl_set_timeout()
 *	-EPROTO           the answer is malformed
 *	-EPROTONOSUPPORT  lnetxd is of a release with another control protocol
 *	-EMSGSIZE         the request does not fit into a packet (32 KiB)
 *	-ENOMEM           out of memory
 * and, from lnetxd, those of the functions in lnetx.h.
 */
#ifndef LNETX_CTL_H
#define LNETX_CTL_H

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#pragma GCC visibility push(default) /* what liblnetxctl.so exports */

#ifdef __cplusplus
extern "C" {
#endif

struct lx_ctl;

/* ---- what there is -------------------------------------------------------- */

enum lx_ctl_verb { LX_CTL_SHOW, LX_CTL_ADD, LX_CTL_DEL, LX_CTL_SET };

/* X(NAME, "name"); new ones are added at the end */
#define LX_CTL_OBJECTS(X) \
	X(DAEMON, "daemon") /* show */ \
	X(NODE, "node") /* add: start LNet; del: stop it */ \
	X(CONFIG, "config") /* set: read the configuration file again; else lx_ctl_import() */ \
	X(NET, "net") /* show: NIs; add, del; set: a setting of them */ \
	X(PEER, "peer") /* show: NIs of peers; add, del; set: a setting of them */ \
	X(ROUTE, "route") /* show, add, del */ \
	X(ROUTING, "routing") /* show: with the router's buffers; set: on or off */ \
	X(BUFFERS, "buffers") /* set: how many router buffers */ \
	X(STATS, "statistics") /* show: counters of the node; del: to 0 */ \
	X(TUNABLE, "tunable") /* show, set */ \
	X(UDSP, "udsp") /* selection policies: show, add, del */ \
	X(FAULT, "fault") /* rules of fault injection: show, add, del; set: counters to 0 */ \
	X(RECOVERY, "recovery") /* show: what is below full health and pinged */ \
	X(CONN, "conn") /* show: connections; del: close those to a peer */ \
	X(PING, "ping") /* show: ask a node for its NIDs */ \
	X(DISCOVER, "discover") /* show: the same, and keep them */ \
	X(EVENT, "event") /* show: changes, as they happen, without end */ \
	X(BPF, "bpf") /* show: what is loaded and attached, and what the kernel lacks */ \
	X(STREAM, "stream") /* show: connections that the fast path receives on */ \
	X(LANE, "lane") /* show: connections that it sends on */ \
	X(TRACE, "trace") /* show: messages it sees, without end */ \
	X(GUARD, "guard") /* show; set: rate, burst, mode */ \
	X(BAN, "ban") /* show, add, del: NIDs kept out */ \
	X(PREFIX, "prefix") /* show, add, del: addresses allowed or denied */ \
	X(REFUSAL, "refusal") /* show: who was refused lately */ \
	X(SELFTEST, "selftest") /* show, set: enable, consoles, ... */

enum lx_ctl_object {
#define LX_CTL_OBJECT_ENUM_(NAME, name) LX_CTL_##NAME,
	LX_CTL_OBJECTS(LX_CTL_OBJECT_ENUM_)
#undef LX_CTL_OBJECT_ENUM_
	LX_CTL_OBJECT_COUNT
};

/* ---- a connection --------------------------------------------------------- */

/**
 * lx_ctl_new - a handle for one lnetxd
 * @address: the path of its control socket, if it begins with '/'; else an instance's name,
 *	as after "lnetx -n"; NULL: $LNETX_INSTANCE, or the lnetxd of the caller's network
 *	namespace, as lnetctl does. Copied.
 * @ret_ctl: free it with lx_ctl_free()
 *
 * Connects with the first request. Returns 0 or -ENOMEM.
 */
int lx_ctl_new(const char *address, struct lx_ctl **ret_ctl);

/** lx_ctl_free - close the connection; NULL is allowed */
void lx_ctl_free(struct lx_ctl *ctl);

/**
 * lx_ctl_set_timeout - how long a call waits for lnetxd
 * @ms: milliseconds in which nothing comes from lnetxd; -1: for ever, which is the default;
 *	0: lx_ctl_next() does not wait at all
 *
 * While lnetxd works on a request, it says so every two seconds, to those who wait with a limit:
 * give a busy machine at least five. So a limit ends the wait for an lnetxd that hangs, not for
 * what takes long, as a router's stop. An lx_ctl_do() that has timed out may still take effect.
 * After lx_ctl_next() has, it may be called again.
 */
void lx_ctl_set_timeout(struct lx_ctl *ctl, int ms);

/**
 * lx_ctl_fd - the descriptor to poll for input between calls of lx_ctl_next()
 * Poll it after lx_ctl_next() has returned -ETIMEDOUT with a timeout of 0: until then, rows may
 * be waiting in the handle. It changes when a request connects again. -1: not connected.
 */
int lx_ctl_fd(const struct lx_ctl *ctl);

/* ---- errors --------------------------------------------------------------- */

enum lx_ctl_origin {
	LX_CTL_FROM_CALLER,     /* the request is wrong: it was not sent */
	LX_CTL_FROM_CONNECTION, /* lnetxd cannot be reached, or not understood */
	LX_CTL_FROM_DAEMON      /* lnetxd has answered */
};

/* The outcome of the last call. */
struct lx_ctl_error {
	int error; /* negative errno; 0: success */
	enum lx_ctl_origin origin;
	char object[24]; /* that it is about: "net", "route"; "" if none */
	char word[64];   /* the key of the argument that is wrong; "" if not a single one */
	char text[512];  /* what, why and what to do, in one line; of a success a remark, or "" */
	int64_t count;   /* of a success: objects affected, if lnetxd says it; else -1 */
};

/** lx_ctl_why - the outcome of the last call. Valid until the next one; owned by @ctl. */
const struct lx_ctl_error *lx_ctl_why(const struct lx_ctl *ctl);

/* ---- requests ------------------------------------------------------------- */

/*
 * An argument. Keys are those of lnetctl or of "lnetx -j" ("net type", net_type); keys within keys
 * are joined by dots ("tunables.peer_credits"), and a list is its key several times. Values are
 * NIDs and nets as text, numbers (8, 0x8, 010), true or false, names of values.
 */
struct lx_ctl_arg {
	const char *key; /* NULL: the end */
	const char *value;
};

/**
 * lx_ctl_do - send a request and wait until it is done
 * @args: until one without a key; NULL: none. Not kept.
 *
 * For shows use lx_ctl_start(). The rest of an earlier answer is discarded. Returns 0 or -errno
 * as above.
 */
int lx_ctl_do(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
	      const struct lx_ctl_arg *args);

/**
 * lx_ctl_start - send a request whose answer has rows; read them with lx_ctl_next()
 * @args: as for lx_ctl_do(). Of most shows: filters, and "level" of detail: 0 to 8 as
 *	"lnetctl -v", 9 everything (default), 255 what a configuration has
 *
 * LX_CTL_EVENT and LX_CTL_TRACE subscribe: rows come as things happen, until the next request
 * or lx_ctl_free(). "lost" in a row counts those dropped before it because the program
 * was too slow. Returns 0 or -errno as above.
 */
int lx_ctl_start(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
		 const struct lx_ctl_arg *args);

/* Fields of a row, or of a map or list in it. Copy it freely; the members are not for you. */
struct lx_ctl_row {
	const void *attrs_, *schema_, *group_;
	size_t len_;
	unsigned int level_, form_;
};

/**
 * lx_ctl_next - wait for the next row of the answer
 * @ret_row: what it refers to stays until the next call with @ctl
 * Returns 1: a row; 0: that was all; or -errno as above.
 */
int lx_ctl_next(struct lx_ctl *ctl, struct lx_ctl_row *ret_row);

/**
 * lx_ctl_import - add what YAML says to lnetxd's configuration, or delete what it names
 * @verb: LX_CTL_ADD, LX_CTL_DEL
 * @yaml: the content of a file as for "lnetctl import", @len bytes, at most 4 MiB
 *
 * Read the answer with lx_ctl_next(). Its rows are what is wrong: errno, text, and line and column
 * if it has a place. YAML with a mistake changes nothing. A row whose errno is 0 is a remark.
 * At the end lx_ctl_next() returns 0, or the first of these errors. Returns 0 or -errno as above.
 */
int lx_ctl_import(struct lx_ctl *ctl, enum lx_ctl_verb verb, const char *yaml, size_t len);

/* ---- rows ----------------------------------------------------------------- */

enum lx_ctl_type { LX_CTL_NONE, LX_CTL_INT, LX_CTL_BOOL, LX_CTL_TEXT, LX_CTL_MAP, LX_CTL_LIST };

struct lx_ctl_value {
	const char *key; /* as lnetctl shows it: "health value"; NULL in a list */
	enum lx_ctl_type type;
	int64_t number;           /* INT; BOOL: 0 or 1 */
	const char *text;         /* TEXT */
	struct lx_ctl_row inside; /* MAP and LIST: pass it to the functions below */
	const void *at_;
	unsigned int n_;
};

/**
 * lx_ctl_get - find a field
 * @path: keys joined by dots, in either form: "health_stats.health_value"
 * Returns 0, or -ENOENT: the row does not have it; *@ret_value is then of type NONE.
 */
int lx_ctl_get(const struct lx_ctl_row *row, const char *path, struct lx_ctl_value *ret_value);

/** lx_ctl_int - a number, or a boolean as 0 or 1; @absent if there is none */
int64_t lx_ctl_int(const struct lx_ctl_row *row, const char *path, int64_t absent);

/** lx_ctl_text - a text; NULL if there is none. As long-lived as the row. */
const char *lx_ctl_text(const struct lx_ctl_row *row, const char *path);

/**
 * lx_ctl_each - walk the fields of a row or map, or the elements of a list, in order
 * @value: cleared before the first call; then the next field
 * Returns 1, or 0: that was all.
 */
int lx_ctl_each(const struct lx_ctl_row *row, struct lx_ctl_value *value);

/* ---- shorthand ------------------------------------------------------------ */

/**
 * lx_ctl_tunable_get - the value of a tunable as text
 * @module: "lnet", "tcp", ...
 * Returns 0, -ENOENT: no such tunable, -ENOSPC: @size is too small; or -errno as above.
 */
int lx_ctl_tunable_get(struct lx_ctl *ctl, const char *module, const char *name, char *buf,
		       size_t size);

/** lx_ctl_tunable_set - change it; 0 or -errno as above */
int lx_ctl_tunable_set(struct lx_ctl *ctl, const char *module, const char *name,
		       const char *value);

/**
 * lx_ctl_ping - does a node answer?
 * @timeout_ms: for its answer; at least 1
 * Returns 0, -ETIMEDOUT, -ETIME not even sent in time, or -EHOSTUNREACH from lnetxd; or -errno as
 * above.
 */
int lx_ctl_ping(struct lx_ctl *ctl, const char *nid, int timeout_ms);

/** lx_ctl_object_name - "net"; NULL: no such object */
const char *lx_ctl_object_name(enum lx_ctl_object object);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
