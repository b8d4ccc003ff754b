/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Awaited responses. Owned by the MD that waits; core->trackers is in order of sending,
 * which is the order of the deadlines unless the timeout was changed.
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "count.h"
#include "health.h"
#include "track.h"

static bool wanted(const struct lx_core_msg *msg)
{
	unsigned int bit = msg->m.hdr.type == LX_MSG_GET ? 1 : 2;

	if (msg->md->options & LX_MD_TRACK_RESPONSE)
		return true;
	if (msg->md->options & LX_MD_NO_TRACK_RESPONSE)
		return false;
	return msg->core->tun.lnet_response_tracking & bit;
}

void lx_track_start(struct lx_core_msg *msg)
{
	struct lx_core *core = msg->core;
	struct lx_tracker *tracker;

	if (!wanted(msg))
		return;
	lx_track_end(msg->md, NULL, NULL);
	tracker = calloc(1, sizeof(*tracker));
	if (!tracker)
		return; /* not tracked: the application has to notice a lost response itself */
	tracker->md = msg->md;
	tracker->request = msg->m.hdr.type;
	tracker->sent_ns = lx_core_now(core);
	tracker->deadline_ns =
		tracker->sent_ns + (uint64_t)core->tun.lnet_transaction_timeout * LX_S_NS;
	lx_list_append(&core->trackers, &tracker->link);
	msg->md->tracker = tracker;
	core->stats.rst_alloc++;
}

static void set_next_hop(struct lx_tracker *tracker, struct lx_peer_ni *next_hop)
{
	if (next_hop) {
		lx_peer_ni_get(next_hop);
		next_hop->awaited++;
	}
	if (tracker->next_hop) {
		tracker->next_hop->awaited--;
		lx_peer_ni_put(tracker->md->core, tracker->next_hop);
	}
	tracker->next_hop = next_hop;
}

void lx_track_end(struct lx_md *md, struct lx_core_ni *rxni, struct lx_peer_ni *rxpeer)
{
	struct lx_tracker *tracker = md->tracker;

	if (!tracker)
		return;
	if (rxni) {
		uint64_t nsec = lx_core_now(md->core) - tracker->sent_ns;
		bool get = tracker->request == LX_MSG_GET;

		lx_count_latency(get ? &rxni->traffic.get_rtt : &rxni->traffic.put_ack, nsec);
		lx_count_latency(get ? &rxpeer->traffic.get_rtt : &rxpeer->traffic.put_ack, nsec);
	}
	set_next_hop(tracker, NULL);
	md->tracker = NULL;
	md->core->stats.rst_alloc--;
	lx_list_del(&tracker->link);
	free(tracker);
}

void lx_track_sent(struct lx_md *md, struct lx_peer_ni *next_hop)
{
	if (md->tracker)
		set_next_hop(md->tracker, next_hop);
}

void lx_track_overdue(struct lx_md *md)
{
	struct lx_core *core = md->core;
	struct lx_peer_ni *next_hop;

	if (!md->tracker)
		return;
	core->stats.response_timeout_count++;
	next_hop = md->tracker->next_hop;
	if (next_hop && next_hop->net) {
		lx_peer_of(next_hop)->failed = next_hop->nid;
		lx_health_lower_peer(core, next_hop);
	}
}

static void expire(struct lx_tracker *tracker, int status)
{
	struct lx_md *md = tracker->md;

	md->unlink_status = status;
	lx_md_retire(md); /* ends the tracker */
}

void lx_track_tick(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct lx_tracker *tracker, *tmp;

	lx_list_for_each_safe(tracker, tmp, &core->trackers, link) {
		if (tracker->deadline_ns > now)
			continue;
		lx_track_overdue(tracker->md);
		expire(tracker, -ETIMEDOUT);
	}
}

void lx_track_stop(struct lx_core *core)
{
	struct lx_tracker *tracker;

	while ((tracker = lx_list_first(&core->trackers, struct lx_tracker, link)))
		expire(tracker, -ESHUTDOWN);
}
