/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules that drop or delay messages, to test how a site reacts (lnet.md 14). They apply to
 * every transport: credit.c asks before it sends, parse.c when a message arrives. Held
 * messages are returned on lists; core.c sends them on.
 */
#ifndef LX_CORE_FAULT_H
#define LX_CORE_FAULT_H

#include <internal/lnd.h>

#include "../base/list.h"

struct lx_core;
struct lx_core_msg;
struct lx_core_ni;

struct lx_faults {
	struct lx_list rules; /* of struct rule (fault.c), newest first */
	unsigned int n;
};

void lx_fault_init(struct lx_core *core);
/* No message may be held. */
void lx_fault_fini(struct lx_core *core);

/**
 * lx_fault_new - add a rule
 * Returns 0, -EINVAL the rule matches nothing or lacks rate and interval, -ENOSPC, -ENOMEM.
 */
int lx_fault_new(struct lx_core *core, const struct lx_fault_rule *rule);

/**
 * lx_fault_delete - delete all rules of a kind that have this source and destination
 * @src, @dst: exactly those of the rule; any: all rules
 * @ret_held: messages that they held are added to it
 * Returns how many, or -ENOENT.
 */
int lx_fault_delete(struct lx_core *core, bool delay, const struct lx_nid *src,
		    const struct lx_nid *dst, struct lx_list *ret_held);

/* An NI stops: moves its held messages to @ret_held. */
void lx_fault_let_go(struct lx_core *core, const struct lx_core_ni *ni, struct lx_list *ret_held);

/* Sets the counters of all rules of a kind to 0. */
void lx_fault_reset(struct lx_core *core, bool delay);

/* All rules; free() the list. -ENOMEM. */
int lx_fault_describe(struct lx_core *core, struct lx_fault_info **ret_list, size_t *ret_n);

/**
 * lx_fault_drops - whether a rule drops a message
 * @local: of the NI
 * @sending: false: the message is received
 * @ret_hstatus: when sending: how the message fails; OK: it vanishes
 */
bool lx_fault_drops(struct lx_core *core, const struct lx_hdr *hdr, const struct lx_nid *local,
		    bool sending, enum lx_hstatus *ret_hstatus);

/* Whether a rule holds the message back; it has then been queued. */
bool lx_fault_holds(struct lx_core *core, struct lx_core_msg *msg, const struct lx_nid *local);

/* Whether a rule may match messages to a NID: the fast path must not carry them. */
bool lx_fault_watches(const struct lx_core *core, const struct lx_nid *dst);

/* Moves messages held long enough to @ret_held; deletes expired rules. */
void lx_fault_tick(struct lx_core *core, struct lx_list *ret_held);
/* When lx_fault_tick() has something to do; UINT64_MAX: never. */
uint64_t lx_fault_deadline(const struct lx_core *core);

#endif
