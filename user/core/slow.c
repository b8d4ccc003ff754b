/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <errno.h>

#include "../base/log.h"
#include "core.h"
#include "credit.h"
#include "msg.h"
#include "slow.h"

#define STUCK_NS LX_S_NS
#define WAITED_MAX_NS (10 * LX_S_NS)

/* ---- memory --------------------------------------------------------------------------- */

static bool has_room(const struct lx_core *core, const struct lx_slow *slow, size_t bytes)
{
	uint64_t most = (uint64_t)core->tun.router_store << 20;

	return core->slow_bytes + bytes <= most && slow->bytes + bytes <= most / LX_SLOW_SHARE;
}

/* @must: even if there is no room; the next hop's transmit credits limit how many these are. */
static bool keep(struct lx_core_msg *msg, bool must)
{
	struct lx_slow *slow = &msg->txpeer->slow;
	size_t bytes = sizeof(*msg) + msg->pool->size;

	if ((!must && !has_room(msg->core, slow, bytes)) ||
	    lx_pool_keep(msg->core, msg->pool, true))
		return false;
	msg->kept = bytes;
	slow->bytes += bytes;
	msg->core->slow_bytes += bytes;
	lx_credit_release(msg);
	return true;
}

bool lx_slow_admit(struct lx_core_msg *msg)
{
	const struct lx_slow *slow = &msg->txpeer->slow;

	msg->admitted_ns = lx_core_now(msg->core);
	if (!slow->refused && slow->is)
		(void)keep(msg, false);
	return !slow->refused;
}

void lx_slow_ended(struct lx_core_msg *msg)
{
	struct lx_peer_ni *pni = msg->txpeer;

	pni->slow.bytes -= msg->kept;
	msg->core->slow_bytes -= msg->kept;
	if (pni->slow.is && lx_credit_without_lanes(pni->tx) >= pni->tx_max)
		pni->slow = (struct lx_slow){ 0 };
}

/* ---- who is slow ----------------------------------------------------------------------- */

/* A message that holds a router credit, and waits for its next hop. */
static bool is_stuck(const struct lx_core_msg *msg, uint64_t now)
{
	return msg->has_rtr_credit && msg->txpeer && !msg->kept && !msg->waits_share &&
	       (msg->phase == LX_PHASE_TX || msg->phase == LX_PHASE_TX_WAIT) &&
	       now - msg->admitted_ns >= STUCK_NS;
}

static void look(struct lx_core_msg *msg, uint64_t now)
{
	struct lx_slow *slow = &msg->txpeer->slow;

	slow->is |= !lx_list_empty(&msg->rxpeer->rtr_queue);
	/* What its sender has behind it may go on now. */
	if (slow->is && !keep(msg, false))
		slow->due |= now - msg->admitted_ns >= WAITED_MAX_NS &&
			     !lx_list_empty(&msg->rxpeer->rtr_queue);
}

/* The transport has what it was given; that ends when the next hop takes it, or is lost. */
static void refuse(struct lx_core *core, struct lx_peer_ni *pni)
{
	struct lx_core_msg *msg;

	pni->slow.refused = true;
	lx_warn("peer=%s bytes=%zu reason=\"it does not take what we forward to it, and others "
		"wait behind a message that it has not taken for %llu s\" action=\"what waits for "
		"it is dropped, and so is what follows, until it has taken the rest\" next=\"find "
		"out what that node does\"",
		lx_nid_str(&pni->nid), pni->slow.bytes, WAITED_MAX_NS / LX_S_NS);
	lx_list_for_each(msg, &core->msgs, all) {
		if (!msg->origin || msg->txpeer != pni)
			continue;
		if (msg->phase == LX_PHASE_TX && !msg->kept)
			(void)keep(msg, true);
		if (msg->phase != LX_PHASE_TX_WAIT)
			continue;
		lx_credit_stop_waiting(msg);
		msg->drop = LX_REASON_NOT_TAKEN;
		lx_msg_finish(msg, -EHOSTUNREACH);
	}
}

void lx_slow_second(struct lx_core *core)
{
	uint64_t now = lx_core_now(core);
	struct lx_core_msg *msg;

	lx_msg_ends_hold(core);
	lx_list_for_each(msg, &core->msgs, all) {
		if (is_stuck(msg, now))
			look(msg, now);
	}
	lx_list_for_each(msg, &core->msgs, all) {
		if (msg->txpeer && msg->txpeer->slow.due && !msg->txpeer->slow.refused)
			refuse(core, msg->txpeer);
	}
	lx_msg_ends_go_on(core);
}
