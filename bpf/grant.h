/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Grants: who may send the next large message to a shared lane.
 *
 * A message reserves its bytes when its header arrives, but a lane takes only so much at a time.
 * So the window of a stream with large messages ends where its message ends, until it has a
 * grant for the next one:
 *
 *	        window computed, lane shared
 *	NONE ─────────────────────────────────▶ WAITS, in the lane's queue
 *	  ▲                                       │ an ACK of the next hop has made room;
 *	  │ the next message is framed            ▼ or at once, if there is room
 *	  └──────────────────────────────────── GIVEN: the window opens for a message like the last
 *
 * The sender waits, with its data. One that does not use its grant may have nothing to send: as
 * soon as the lane has delivered what was before it, the next in the queue gets one beyond the
 * maximum. So what counts as late is what the lane does, not a time. The daemon does the same where
 * no ACK comes (user/fastpath/grant.c). A message that comes without a grant goes to the lane if
 * there is room, or to lane 0.
 */
#ifndef LX_BPF_GRANT_H
#define LX_BPF_GRANT_H

#include "lane.h"

LX_INLINE int lx_lane_was_shared(const struct lx_lane *lane)
{
	return lane->shared && lane->una - lane->shared_una < LX_SHARED_BYTES;
}

LX_INLINE int lx_grant_fits(const struct lx_lane *lane, __u32 len)
{
	__u64 word = lane->word;
	__u32 granted = lane->granted;
	__u32 taken = granted + lx_lane_under_way(lane, word);

	if (!taken)
		return 1;
	return taken + len <= LX_GRANT_MAX &&
	       lx_lane_room(lane, word) >= (__s64)(granted + len + LX_GRANT_SPARE);
}

/* Returns 0 if somebody else has changed the stream's state meanwhile. */
LX_INLINE int lx_grant_give(struct lx_lane *lane, struct lx_stream *s, __u32 from)
{
	__u32 len = s->grant_len;

	LX_ADD(&lane->granted, len);
	s->grant_una = lane->una;
	if (LX_CAS(&s->grant, from, LX_GRANT_GIVEN) == from)
		return 1;
	LX_ADD(&lane->granted, -len);
	return 0;
}

/* The next message has been framed. */
LX_INLINE void lx_grant_use(struct lx_stream *s)
{
	if (s->grant == LX_GRANT_GIVEN)
		lx_grant_end(s, lx_lane_at(s->grant_lane));
}

/* Returns whether the stream needs a grant for its next message. */
LX_INLINE int lx_grant_is_needed(const struct lx_stream *s, const struct lx_lane *lane,
				 __u64 now_ns)
{
	return lane->state == LX_LANE_LIVE &&
	       (lx_lane_was_shared(lane) || lx_lane_room(lane, lane->word) < (__s64)s->last_len) &&
	       !lx_lane_is_slow(lane, lane->word, now_ns);
}

/* Queues a stream at @tail. Returns 0 if the queue is full, or another CPU has taken the place. */
LX_INLINE int lx_grant_queue(struct lx_lane *lane, __u32 tail, __u32 me)
{
	if (tail - lane->waiting_first >= LX_LANE_WAITING ||
	    LX_CAS(&lane->waiting_tail, tail, tail + 1) != tail)
		return 0;
	LX_OPAQUE(tail);
	lane->waiting[tail & (LX_LANE_WAITING - 1)] = me + 1;
	return 1;
}

/* Asks for a grant of @lane; only inside the section that builds the stream's ACK. */
LX_INLINE void lx_grant_request(struct lx_stream *s, struct lx_lane *lane, __u32 index, __u32 me)
{
	__u32 tail = lane->waiting_tail;

	s->grant_lane = index;
	s->grant_len = s->last_len;
	if (lane->waiting_first == tail && lx_grant_fits(lane, s->grant_len)) {
		lx_grant_give(lane, s, LX_GRANT_NONE);
		return;
	}
	if (LX_CAS(&s->grant, LX_GRANT_NONE, LX_GRANT_WAITS) == LX_GRANT_NONE &&
	    !lx_grant_queue(lane, tail, me))
		LX_CAS(&s->grant, LX_GRANT_WAITS, LX_GRANT_NONE); /* the next ACK asks again */
}

/*
 * Gives the first in the queue its grant, inside the section that removes runs: if there is room,
 * or the lane is idle as given grants are not used. Returns the stream, or LX_LANE_OWNER: none.
 */
LX_INLINE __u32 lx_grant_next(struct lx_lane *lane, __u32 index, int *ret_more)
{
	__u32 first = lane->waiting_first, at = first, who;
	struct lx_stream *s;
	int fits = 1;

	*ret_more = 0;
	if (first == lane->waiting_tail)
		return LX_LANE_OWNER;
	LX_OPAQUE(at);
	at &= LX_LANE_WAITING - 1;
	who = lane->waiting[at];
	if (!who--)
		return LX_LANE_OWNER;
	s = lx_stream_at(who);
	if (s && s->grant == LX_GRANT_WAITS && s->grant_lane == index)
		fits = lx_grant_fits(lane, s->grant_len);
	if (!fits && lx_lane_busy(lane->word))
		return LX_LANE_OWNER;
	lane->waiting[at] = 0;
	lane->waiting_first = first + 1;
	*ret_more = fits;
	if (!s || s->grant_lane != index || !lx_grant_give(lane, s, LX_GRANT_WAITS))
		return LX_LANE_OWNER;
	return who;
}

#endif
