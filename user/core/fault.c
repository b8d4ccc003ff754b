/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault injection; see the header. Owns the rules; the messages that they hold are msg.c's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "core.h"
#include "fault.h"
#include "msg.h"

#define RULES_MAX 1024

struct rule {
	struct lx_list link; /* core->faults.rules */
	struct lx_fault_rule r;
	uint64_t end_ns;   /* when it deletes itself; 0: never */
	uint64_t place;    /* rate: the match of this group that it acts on, from 0 */
	uint64_t seen;     /* rate: matches of this group */
	uint64_t next_ns;  /* interval: the first match from then on is acted on */
	uint64_t round_ns; /* interval: when the next one begins */
	struct lx_fault_counts counts;
	struct lx_list held; /* delay: of lx_core_msg, by release time */
	unsigned int n_held;
};

static uint64_t random_below(struct lx_core *core, uint64_t limit)
{
	return core->ops->random(core->ops_arg) % limit;
}

void lx_fault_init(struct lx_core *core)
{
	lx_list_init(&core->faults.rules);
}

static void rule_free(struct lx_core *core, struct rule *rule)
{
	lx_list_del(&rule->link);
	core->faults.n--;
	free(rule);
}

void lx_fault_fini(struct lx_core *core)
{
	struct rule *rule;

	while ((rule = lx_list_first(&core->faults.rules, struct rule, link)))
		rule_free(core, rule);
}

/* ---- rules ------------------------------------------------------------------------------ */

static int check(const struct lx_fault_rule *r)
{
	if (!r->rate == !r->interval_s && !r->drop_all)
		return -EINVAL;
	if (r->delay ? !r->latency_ms || r->hstatuses || r->drop_all : r->latency_ms)
		return -EINVAL;
	if (r->random && !r->interval_s)
		return -EINVAL;
	if (r->messages & ~LX_FAULT_MESSAGES || r->hstatuses & ~LX_FAULT_HSTATUSES)
		return -EINVAL;
	return r->messages ? 0 : -EINVAL;
}

static void begin_counting(struct lx_core *core, struct rule *rule)
{
	uint64_t now = lx_core_now(core), span = rule->r.interval_s * LX_S_NS;

	memset(&rule->counts, 0, sizeof(rule->counts));
	rule->seen = 0;
	rule->place = rule->r.rate ? random_below(core, rule->r.rate) : 0;
	rule->round_ns = now + span;
	rule->next_ns = span ? now + random_below(core, span) : 0;
}

int lx_fault_new(struct lx_core *core, const struct lx_fault_rule *conf)
{
	struct lx_fault_rule r = *conf;
	struct rule *rule;

	if (!r.messages)
		r.messages = LX_FAULT_MESSAGES;
	if (r.portals) /* which only requests have */
		r.messages &= LX_FAULT_PUT | LX_FAULT_GET;
	if (check(&r))
		return -EINVAL;
	if (core->faults.n >= RULES_MAX)
		return -ENOSPC;
	rule = calloc(1, sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	rule->r = r;
	rule->end_ns = r.for_s ? lx_core_now(core) + r.for_s * LX_S_NS : 0;
	lx_list_init(&rule->held);
	lx_list_push(&core->faults.rules, &rule->link);
	core->faults.n++;
	begin_counting(core, rule);
	/* "Every other one": a message and its resend are one failure and one success. */
	if (r.rate == 2 && !r.delay)
		rule->place = 0;
	return 0;
}

static void let_go(struct rule *rule, uint64_t until_ns, struct lx_list *ret_held)
{
	struct lx_core_msg *msg;

	while ((msg = lx_list_first(&rule->held, struct lx_core_msg, link)) &&
	       msg->held_until_ns <= until_ns) {
		lx_list_del(&msg->link);
		lx_list_append(ret_held, &msg->link);
		rule->n_held--;
	}
}

void lx_fault_let_go(struct lx_core *core, const struct lx_core_ni *ni, struct lx_list *ret_held)
{
	struct lx_core_msg *msg, *tmp;
	struct rule *rule;

	lx_list_for_each(rule, &core->faults.rules, link) {
		lx_list_for_each_safe(msg, tmp, &rule->held, link) {
			if (msg->txni != ni && msg->rxni != ni)
				continue;
			lx_list_del(&msg->link);
			lx_list_append(ret_held, &msg->link);
			rule->n_held--;
		}
	}
}

/* In a deletion, "any" matches every NID and net. */
static bool is_for(const struct lx_nid *given, const struct lx_nid *of_rule)
{
	return lx_nid_is_any(given) || lx_nid_eq(given, of_rule);
}

int lx_fault_delete(struct lx_core *core, bool delay, const struct lx_nid *src,
		    const struct lx_nid *dst, struct lx_list *ret_held)
{
	struct rule *rule, *tmp;
	int n = 0;

	lx_list_for_each_safe(rule, tmp, &core->faults.rules, link) {
		if (rule->r.delay != delay || !is_for(src, &rule->r.src) ||
		    !is_for(dst, &rule->r.dst))
			continue;
		let_go(rule, UINT64_MAX, ret_held);
		rule_free(core, rule);
		n++;
	}
	return n ? n : -ENOENT;
}

void lx_fault_reset(struct lx_core *core, bool delay)
{
	struct rule *rule;

	lx_list_for_each(rule, &core->faults.rules, link) {
		if (rule->r.delay == delay)
			begin_counting(core, rule);
	}
}

int lx_fault_describe(struct lx_core *core, struct lx_fault_info **ret_list, size_t *ret_n)
{
	struct lx_fault_info *list = calloc(core->faults.n + 1, sizeof(*list));
	uint64_t now = lx_core_now(core);
	struct rule *rule;

	if (!list)
		return -ENOMEM;
	*ret_n = 0;
	lx_list_for_each(rule, &core->faults.rules, link) {
		struct lx_fault_info *info = &list[(*ret_n)++];

		info->rule = rule->r;
		info->counts = rule->counts;
		info->held = rule->n_held;
		if (rule->end_ns > now)
			info->left_s = (rule->end_ns - now + LX_S_NS - 1) / LX_S_NS;
	}
	*ret_list = list;
	return 0;
}

/* ---- what they match ----------------------------------------------------------------------- */

static bool nid_matches(const struct lx_nid *pattern, const struct lx_nid *nid)
{
	if (lx_nid_is_any(pattern) || lx_nid_eq(pattern, nid))
		return true;
	return lx_fault_nid_is_net(pattern) && lx_nid_net(pattern) == lx_nid_net(nid);
}

static uint32_t message_bit(uint32_t type)
{
	switch (type) {
	case LX_MSG_ACK:
		return LX_FAULT_ACK;
	case LX_MSG_PUT:
		return LX_FAULT_PUT;
	case LX_MSG_GET:
		return LX_FAULT_GET;
	case LX_MSG_REPLY:
		return LX_FAULT_REPLY;
	}
	return 0;
}

static bool portal_matches(uint64_t portals, const struct lx_hdr *hdr)
{
	uint32_t portal = lx_le32(hdr->type == LX_MSG_PUT ? hdr->cmd.put.portal
							  : hdr->cmd.get.portal);

	return !portals || (portal < 64 && portals >> portal & 1);
}

static bool matches(const struct rule *rule, const struct lx_hdr *hdr, const struct lx_nid *local)
{
	const struct lx_fault_rule *r = &rule->r;

	return (r->messages & message_bit(hdr->type)) && nid_matches(&r->src, &hdr->src_nid) &&
	       nid_matches(&r->dst, &hdr->dst_nid) && nid_matches(&r->local, local) &&
	       portal_matches(r->portals, hdr);
}

/* Acts on one match of each group, at a random place in it. */
static bool rate_acts(struct lx_core *core, struct rule *rule)
{
	bool acts = rule->seen == rule->place;

	if (++rule->seen < rule->r.rate)
		return acts;
	rule->seen = 0;
	rule->place = random_below(core, rule->r.rate);
	return acts;
}

/* Acts on one match per interval, at a random moment; after intervals without a match, on one. */
static bool interval_acts(struct lx_core *core, struct rule *rule)
{
	uint64_t now = lx_core_now(core), span = rule->r.interval_s * LX_S_NS;

	if (now < rule->next_ns)
		return false;
	if (now >= rule->round_ns)
		rule->round_ns += (now - rule->round_ns) / span * span + span;
	rule->next_ns = rule->round_ns + random_below(core, span);
	rule->round_ns += span;
	return true;
}

static bool acts(struct lx_core *core, struct rule *rule, uint32_t type)
{
	const struct lx_fault_rule *r = &rule->r;
	bool acts;

	rule->counts.matched++;
	if (r->drop_all)
		acts = true;
	else if (r->random)
		acts = !random_below(core, r->interval_s);
	else
		acts = r->rate ? rate_acts(core, rule) : interval_acts(core, rule);
	if (!acts)
		return false;
	rule->counts.acted++;
	rule->counts.put += type == LX_MSG_PUT;
	rule->counts.ack += type == LX_MSG_ACK;
	rule->counts.get += type == LX_MSG_GET;
	rule->counts.reply += type == LX_MSG_REPLY;
	return true;
}

/* One of several at random. */
static enum lx_hstatus pick_hstatus(struct lx_core *core, uint32_t mask)
{
	unsigned int left = mask ? random_below(core, __builtin_popcount(mask)) : 0;

	while (mask && left--)
		mask &= mask - 1;
	return mask ? (enum lx_hstatus)__builtin_ctz(mask) : LX_HSTATUS_OK;
}

bool lx_fault_drops(struct lx_core *core, const struct lx_hdr *hdr, const struct lx_nid *local,
		    bool sending, enum lx_hstatus *ret_hstatus)
{
	struct rule *rule;

	lx_list_for_each(rule, &core->faults.rules, link) {
		const struct lx_fault_rule *r = &rule->r;

		if (r->delay || (!r->drop_all && !r->hstatuses == sending) ||
		    !matches(rule, hdr, local) || !acts(core, rule, hdr->type))
			continue;
		if (sending)
			*ret_hstatus = pick_hstatus(core, r->hstatuses);
		return true;
	}
	return false;
}

bool lx_fault_holds(struct lx_core *core, struct lx_core_msg *msg, const struct lx_nid *local)
{
	struct rule *rule;

	lx_list_for_each(rule, &core->faults.rules, link) {
		if (!rule->r.delay || !matches(rule, &msg->m.hdr, local) ||
		    !acts(core, rule, msg->m.hdr.type))
			continue;
		msg->held_until_ns = lx_core_now(core) + rule->r.latency_ms * (LX_S_NS / 1000);
		lx_list_append(&rule->held, &msg->link);
		rule->n_held++;
		lx_core_kick(core); /* for a new deadline */
		return true;
	}
	return false;
}

bool lx_fault_watches(const struct lx_core *core, const struct lx_nid *dst)
{
	struct rule *rule;

	lx_list_for_each(rule, &core->faults.rules, link) {
		if (nid_matches(&rule->r.dst, dst))
			return true;
	}
	return false;
}

/* ---- time ------------------------------------------------------------------------------------ */

#define pattern(nid) (lx_nid_is_any(nid) ? "*" : lx_nid_str(nid))

void lx_fault_tick(struct lx_core *core, struct lx_list *ret_held)
{
	uint64_t now = lx_core_now(core);
	struct rule *rule, *tmp;

	lx_list_for_each_safe(rule, tmp, &core->faults.rules, link) {
		bool over = rule->end_ns && rule->end_ns <= now;

		let_go(rule, over ? UINT64_MAX : now, ret_held);
		if (!over)
			continue;
		lx_info("fault=%s from=%s to=%s matched=%llu acted_on=%llu action=\"its time is "
			"over: "
			"the rule is deleted\"",
			rule->r.delay ? "delay" : "drop", pattern(&rule->r.src),
			pattern(&rule->r.dst), (unsigned long long)rule->counts.matched,
			(unsigned long long)rule->counts.acted);
		rule_free(core, rule);
	}
}

uint64_t lx_fault_deadline(const struct lx_core *core)
{
	uint64_t deadline = UINT64_MAX;
	struct lx_core_msg *msg;
	struct rule *rule;

	lx_list_for_each(rule, &core->faults.rules, link) {
		msg = lx_list_first(&rule->held, struct lx_core_msg, link);
		if (msg && msg->held_until_ns < deadline)
			deadline = msg->held_until_ns;
		if (rule->end_ns && rule->end_ns < deadline)
			deadline = rule->end_ns;
	}
	return deadline;
}
