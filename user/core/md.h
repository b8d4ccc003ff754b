/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory descriptors and match entries (lnet.md 5, 6).
 */
#ifndef LX_CORE_MD_H
#define LX_CORE_MD_H

#include <internal/lnd.h>
#include <lnetx/lnetx.h>

#include "../base/hash.h"
#include "../base/list.h"
#include "../base/region.h"

struct lx_core;
struct lx_memory;
struct lx_portal;
struct lx_tracker;

/* The answer to a request (lnet.md 8). A PUT's MD is only read: no REPLY may be written to it. */
enum lx_response { LX_RESPONSE_NONE, LX_RESPONSE_ACK, LX_RESPONSE_REPLY, LX_RESPONSES };

/* Owner: core->mds. Messages that use its memory hold references. */
struct lx_md {
	struct lx_hash_node node;
	struct lx_handle handle;
	struct lx_core *core;
	struct lx_me *me;            /* NULL: bound */
	size_t length;
	size_t offset;               /* locally managed */
	size_t max_size;
	int threshold;
	unsigned int awaited[LX_RESPONSES]; /* each has one of the threshold reserved */
	unsigned int options;
	enum lx_unlink unlink;
	lx_event_fn handler;
	void *user;
	bool internal;               /* the handler is the core's: it is called directly */
	bool as_given;               /* requests go only to the given NID, and are not resent */
	bool first_given;            /* the first attempt goes to it, if it can be reached */
	bool zombie;                 /* unlinked; freed with the last reference */
	int unlink_status;           /* for the UNLINK event: why it was unlinked */
	unsigned int refs;
	struct lx_tracker *tracker;
	struct lx_memory *memory;    /* that contains it, or NULL */
	struct lx_region region;     /* its own, if memory is NULL */
	unsigned int n_iov;
	struct iovec iov[];
};

/* Owner: its portal. */
struct lx_me {
	struct lx_hash_node node;
	struct lx_handle handle;
	struct lx_core *core;
	struct lx_portal *portal;
	struct lx_list link;         /* in one of the portal's lists */
	struct lx_id match;
	uint64_t match_bits, ignore_bits;
	enum lx_unlink unlink;       /* whether it is unlinked with its MD */
	struct lx_md *md;
};

/* @me NULL: bound. -EINVAL, -ENOMEM. */
int lx_md_new(struct lx_core *core, struct lx_me *me, const struct lx_md_desc *desc,
	      enum lx_unlink unlink, struct lx_md **ret_md);

struct lx_md *lx_md_lookup(struct lx_core *core, struct lx_handle handle);
/* By a handle from the wire; NULL also for a handle of another incarnation. */
struct lx_md *lx_md_lookup_wire(struct lx_core *core, const struct lx_wire_handle *wire);
void lx_md_wire(const struct lx_md *md, struct lx_wire_handle *ret_wire);

/**
 * lx_md_take_request - take one of the threshold for a request (lnet.md 8)
 * @response: reserve one more for its response
 * Returns 0; -ENOENT: the MD is unlinked, or attached to an ME; -EINVAL: the threshold is too
 * low: the response would find an MD that is exhausted or freed.
 */
int lx_md_take_request(struct lx_md *md, enum lx_response response);

/*
 * Takes what was reserved for a response: it has arrived, or will not, because the request
 * was not sent. False: none is awaited.
 */
bool lx_md_take_response(struct lx_md *md, enum lx_response response);

/* Undoes lx_md_take_response(): the request is resent. */
void lx_md_expect_response(struct lx_md *md, enum lx_response response);

/* No operation can use it any more (lnet.md 6.1 step 1). */
bool lx_md_exhausted(const struct lx_md *md);

/* Unlinks it: immediately if it is idle, else with the last lx_md_put(). */
void lx_md_retire(struct lx_md *md);

/* Frees it without an event: the core created it and then could not use it. */
void lx_md_abandon(struct lx_md *md);

/* Some of its bytes, as a payload for transports. */
struct lx_payload lx_md_payload(struct lx_md *md, size_t offset, size_t length);

void lx_md_get(struct lx_md *md);

/**
 * lx_md_put - a message is done with the MD
 * @event: what happened; md, user and unlinked are filled in here. NULL: no event
 *
 * Unlinks the MD if this was its last use, and delivers the event.
 */
void lx_md_put(struct lx_md *md, struct lx_event *event);

/* Unlinks every ME and MD, with its UNLINK event. */
void lx_md_free_all(struct lx_core *core);

#endif
