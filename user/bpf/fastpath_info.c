/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path for users: "lnetx stream show", "lnetx lane show", and drops for "lnetx bpf
 * status". Reads tables while programs and daemon change them: each number is valid, but the
 * numbers are not a consistent snapshot.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <internal/lanes.h>

#include "../io/netif.h"
#include "fastpath.h"

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

static void format_end(const uint8_t mapped[16], __be16 port, char buf[LX_FLOW_TEXT])
{
	union lx_addr addr;

	lx_addr_unmap(&addr, mapped, ntohs(port));
	lx_addr_format(&addr, buf, LX_FLOW_TEXT);
}

/* ---- streams ----------------------------------------------------------------------- */

static enum lx_stream_shown stream_state(const struct lx_stream *s)
{
	switch (READ(s->state)) {
	case LX_STREAM_TAKEOVER:
		return LX_STREAM_SHOWN_TAKEOVER;
	case LX_STREAM_ECN:
	case LX_STREAM_CLOCK:
	case LX_STREAM_ELSEWHERE:
		return LX_STREAM_SHOWN_UNSUPPORTED;
	}
	if (READ(s->broken))
		return LX_STREAM_SHOWN_BROKEN;
	if (READ(s->flags) & LX_STREAM_NO_LANES)
		return READ(s->aside) ? LX_STREAM_SHOWN_ASIDE : LX_STREAM_SHOWN_OFF;
	return READ(s->unframed) ? LX_STREAM_SHOWN_UNFRAMED : LX_STREAM_SHOWN_FRAMED;
}

static uint32_t stream_why(const struct lx_stream *s, enum lx_stream_shown state)
{
	if (state == LX_STREAM_SHOWN_UNSUPPORTED)
		return READ(s->state) - LX_STREAM_ECN + LX_STREAM_WHY_ECN;
	return state == LX_STREAM_SHOWN_ASIDE ? READ(s->aside) : LX_STREAM_ASIDE_NO;
}

static void stream_describe(struct lx_fastpath *f, uint32_t index, const struct lx_stream *s,
			    struct lx_stream_info *ret_info)
{
	const struct lx_fp_peer *peer = lx_fastpath_peer(f, READ(s->peer));
	enum lx_stream_shown state = stream_state(s);

	*ret_info = (struct lx_stream_info){
		.index = index,
		.state = state,
		.why = stream_why(s, state),
		.messages = READ(s->messages),
		.lane_messages = READ(s->lane_messages),
		.bytes = READ(s->unframed) ? READ(s->unframed_high) : READ(s->parse_next),
		.lane_bytes = READ(s->lane_bytes),
		.extents = READ(s->tail) - READ(s->head),
		.cookies = READ(s->cookies_due),
		.packets = READ(s->packets),
		.resegmented = READ(s->resegmented),
		.fragments = READ(s->fragments),
		.unframed = READ(s->n_unframed),
		.gaps = READ(s->gaps),
		.acks = READ(s->acks),
		.busy = READ(s->busy),
	};
	if (ret_info->bytes)
		ret_info->lane_percent = ret_info->lane_bytes * 100 / ret_info->bytes;
	for (int i = 0; i < LX_LANE0_COUNT; i++)
		ret_info->reasons[i] = READ(s->reasons[i]);
	for (int i = 0; i < LX_REFUSALS_COUNT; i++)
		ret_info->refused[i] = READ(s->refused[i]);
	format_end(s->key.remote, s->key.remote_port, ret_info->remote);
	format_end(s->key.local, s->key.local_port, ret_info->local);
	if (peer) {
		ret_info->peer = peer->nid;
		ret_info->credits = READ(peer->rtr.now);
		ret_info->credits_min = READ(peer->rtr.min);
	}
}

int lx_fastpath_stream_list(struct lx_fastpath *f, struct lx_stream_info **ret_list, size_t *ret_n)
{
	size_t n = 0, max = lx_fastpath_used(f, LX_FASTPATH_STREAMS);
	struct lx_stream_info *list = calloc(max + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	lx_fastpath_for_each (i, f, LX_FASTPATH_STREAMS) {
		const struct lx_stream *s = lx_fastpath_stream(f, i);

		if (n < max && READ(s->state) != LX_STREAM_FREE)
			stream_describe(f, i, s, &list[n++]);
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

/* ---- lanes ------------------------------------------------------------------------- */

static uint32_t lane_state(const struct lx_lane *lane, bool busy)
{
	uint32_t state = READ(lane->state);

	if (lx_lane_is_stuck(lane) && lx_lane_is_of_socket(lane))
		return LX_LANE_SHOWN_STUCK;
	return state == LX_LANE_LIVE && busy ? LX_LANE_SHOWN_BUSY : state;
}

/* The stream of a run; -1: it has ended, or is not there any more. */
static int64_t run_stream(const struct lx_lane *lane, uint16_t number)
{
	uint32_t stream = lx_lane_run_stream(lane, number);

	return stream != LX_LANE_OWNER ? (int64_t)stream : -1;
}

/* Owners of the messages under way: the first one, then those behind it, in order. */
static void describe_runs(const struct lx_lane *lane, uint16_t tail, struct lx_lane_info *info)
{
	uint16_t first = READ(lane->run_first);
	int16_t n = tail - first; /* not positive: the programs have gone on meanwhile */
	size_t at = 0;

	info->stream = run_stream(lane, first);
	for (int i = 1; i < n && i < LX_LANE_RUNS && at < sizeof(info->behind); i++)
		at += snprintf(info->behind + at, sizeof(info->behind) - at, "%s%lld",
			       i > 1 ? "," : "", (long long)run_stream(lane, first + i));
}

/* How long @percent of the runs waited at most, in microseconds; 0: none has. */
static uint64_t lane_wait_us(const struct lx_lane *lane, unsigned int percent)
{
	uint64_t n[LX_LANE_WAITS], all = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < LX_LANE_WAITS; i++)
		all += n[i] = READ(lane->waits[i]);
	for (i = 0; i < LX_LANE_WAITS && all; i++) {
		seen += n[i];
		if (100 * seen >= percent * all)
			return ((1ull << i) << LX_LANE_WAIT_SHIFT) / 1000;
	}
	return 0;
}

/* The programs change both ends of the queue meanwhile. */
static uint32_t lane_waiting(const struct lx_lane *lane)
{
	uint32_t first = READ(lane->waiting_first), n = READ(lane->waiting_tail) - first;

	return n <= LX_LANE_WAITING ? n : 0;
}

static void lane_describe(struct lx_fastpath *f, uint32_t index, const struct lx_lane *lane,
			  struct lx_lane_info *ret_info)
{
	const struct lx_fp_peer *peer = lx_fastpath_peer(f, READ(lane->next_hop));
	uint64_t una = READ(lane->una), window_edge = READ(lane->window_edge),
		 word = READ(lane->word);
	bool busy = lx_lane_busy(word);
	/* The word has only the low 32 bits of the next byte's position. */
	int64_t unacked = (int32_t)((uint32_t)word - (uint32_t)una);
	int64_t window = window_edge - una - unacked;

	*ret_info = (struct lx_lane_info){
		.index = index,
		.state = lane_state(lane, busy),
		.stream = -1,
		.window = window > 0 ? window : 0,
		.unacked = unacked > 0 ? unacked : 0,
		.messages = READ(lane->messages),
		.bytes = READ(lane->bytes),
		.takes = READ(lane->takes),
		.acks = READ(lane->acks),
		.waiting = lane_waiting(lane),
		.grants = READ(lane->grants),
		.stores = READ(lane->stores),
		.stored = READ(lane->stored),
		.limit = lx_lane_limit(lane),
		.handovers = READ(lane->handovers),
		.handovers_per_s = READ(lane->handovers_per_s),
		.wait_p50_us = lane_wait_us(lane, 50),
		.wait_p99_us = lane_wait_us(lane, 99),
	};
	if (busy)
		describe_runs(lane, lx_lane_tail(word), ret_info);
	for (int i = 0; i < LX_REFUSALS_COUNT; i++)
		ret_info->refused[i] = READ(lane->refused[i]);
	format_end(lane->key.remote, lane->key.remote_port, ret_info->remote);
	format_end(lane->key.local, lane->key.local_port, ret_info->local);
	if (peer) {
		ret_info->next_hop = peer->nid;
		ret_info->credits = READ(peer->tx.now);
		ret_info->credits_min = READ(peer->tx.min);
	}
}

int lx_fastpath_lane_list(struct lx_fastpath *f, struct lx_lane_info **ret_list, size_t *ret_n)
{
	size_t n = 0, max = lx_fastpath_used(f, LX_FASTPATH_LANES);
	struct lx_lane_info *list = calloc(max + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	lx_fastpath_for_each (i, f, LX_FASTPATH_LANES) {
		const struct lx_lane *lane = lx_fastpath_lane(f, i);

		if (n < max && READ(lane->state) != LX_LANE_FREE)
			lane_describe(f, i, lane, &list[n++]);
	}
	*ret_list = list;
	*ret_n = n;
	return 0;
}

/* ---- drops ------------------------------------------------------------------------- */

/* Each interface counts once: all have a program at ingress, some also at egress. */
void lx_fastpath_count_tx_dropped(struct lx_bpf_info *info)
{
	info->tx_dropped = 0;
	for (uint32_t i = 0; i < info->n_hooks; i++) {
		const struct lx_bpf_hook_info *h = &info->hook[i];

		if (!strcmp(h->set, "fastpath") && !strcmp(h->hook, "ingress"))
			info->tx_dropped += h->tx_dropped;
	}
}
