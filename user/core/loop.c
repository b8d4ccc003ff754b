/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. The first message that hashes to a slot takes it, for some seconds: an idle
 * router remembers every message, a busy one a sample. Called by msg.c for messages forwarded
 * to another router; owns core->loops.
 *
 * The same header again is not yet a circle. From the same peer, if that is on the route to
 * the source, an application may be repeating it. From another peer, it may be a resend over
 * another gateway, so it takes several. With the fast path we first see a message after some
 * hundred rounds, and then once a second, always from the same peer: the only sign is that
 * this peer is not on the route to the source.
 */
#include "../base/log.h"
#include "core.h"
#include "loop.h"
#include "msg.h"
#include "route.h"

/* Longer than the interval of samples of the fast path (SAMPLE_NS of user/fastpath/review.c). */
#define KEEP_NS (4 * LX_S_NS)
/* More than a message's resends over other gateways (lnet_retry_count). */
#define RETURNS 4

static uint64_t mix(uint64_t print, const void *bytes, size_t len)
{
	uint64_t word;

	for (size_t i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, (const char *)bytes + i, sizeof(word));
		print = (print ^ word) * 0x9e3779b97f4a7c15ULL;
		print ^= print >> 29;
	}
	return print;
}

static uint64_t fingerprint(const struct lx_hdr *hdr)
{
	uint64_t print = (uint64_t)hdr->type << 32 | hdr->payload_length;

	print ^= (uint64_t)hdr->src_pid << 32 ^ hdr->dst_pid;
	print ^= (uint64_t)lx_nid_hash(&hdr->src_nid) << 32 ^ lx_nid_hash(&hdr->dst_nid);
	return mix(print, &hdr->cmd, sizeof(hdr->cmd));
}

static bool is_same_peer(struct lx_core *core, const struct lx_nid *nid,
			 const struct lx_peer_ni *pni)
{
	const struct lx_peer_ni *known = lx_peer_ni_lookup(core, nid);

	return lx_nid_eq(nid, &pni->nid) ||
	       (known && pni->net && lx_peer_of(known) == lx_peer_of(pni));
}

/*
 * True if we would answer the source through this peer, or cannot tell: we have no route to the
 * source, or the peer has lost this NID while the message was received.
 */
static bool is_towards_source(const struct lx_core_msg *msg)
{
	const struct lx_nid *src = &msg->m.hdr.src_nid;
	struct lx_core *core = msg->core;
	uint32_t net = lx_nid_net(src);

	if (lx_net_lookup(core, net))
		return is_same_peer(core, src, msg->rxpeer);
	return !lx_rnet_lookup(core, net) || !msg->rxpeer->net ||
	       lx_route_is_through(lx_peer_of(msg->rxpeer), net);
}

static void remember(struct lx_loop_slot *slot, uint64_t print, uint64_t now,
		     const struct lx_peer_ni *from)
{
	*slot = (struct lx_loop_slot){ .print = print, .seen_ns = now, .from = from->nid };
}

static void tell(struct lx_core_msg *msg, const struct lx_loop_slot *slot, uint64_t now)
{
	struct lx_core *core = msg->core;
	uint32_t net = lx_nid_net(&msg->m.hdr.dst_nid);
	unsigned int missed;

	if (!lx_ratelimit(&core->loops.circle_log, net, now, LX_RATELIMIT_MINUTE, &missed))
		return;
	lx_warn("net=%s dst=%s src=%s first_from=%s again_from=%s next_hop=%s missed=%u "
		"reason=\"a message keeps coming back: routers forward it in a circle\" "
		"next=\"compare the routes to this net, from next_hop on to again_from\"",
		lx_net_str(net), lx_nid_str(&msg->m.hdr.dst_nid), lx_nid_str(&msg->m.hdr.src_nid),
		lx_nid_str(&slot->from), lx_nid_str(&msg->rxpeer->nid),
		lx_nid_str(&msg->txpeer->nid), missed);
}

void lx_loop_watch(struct lx_core_msg *msg)
{
	struct lx_core *core = msg->core;
	uint64_t print = fingerprint(&msg->m.hdr), now = lx_core_now(core);
	struct lx_loop_slot *slot = &core->loops.slot[print % LX_LOOP_SLOTS];

	if (!slot->seen_ns || now - slot->seen_ns > KEEP_NS) {
		remember(slot, print, now, msg->rxpeer);
		return;
	}
	if (slot->print != print || slot->repeated)
		return;
	if (is_same_peer(core, &slot->from, msg->rxpeer) && is_towards_source(msg)) {
		slot->repeated = true;
		return;
	}
	if (++slot->returns == RETURNS)
		core->stats.loops++;
	slot->seen_ns = now;
	if (slot->returns >= RETURNS)
		tell(msg, slot, now);
}

void lx_loop_refused(struct lx_core_msg *msg, const struct lx_peer_ni *next_hop)
{
	struct lx_core *core = msg->core;
	const struct lx_nid *dst = &msg->m.hdr.dst_nid;
	uint32_t net = lx_nid_net(dst);
	unsigned int missed;

	if (!lx_ratelimit(&core->loops.refused_log, net, lx_core_now(core), LX_RATELIMIT_MINUTE,
			  &missed))
		return;
	lx_warn("net=%s dst=%s src=%s from=%s next_hop=%s missed=%u reason=\"it would go back to "
		"the peer it came from\" action=\"dropped\" next=\"compare the routes to this net "
		"on both routers: each is the other's gateway\"",
		lx_net_str(net), lx_nid_str(dst), lx_nid_str(&msg->m.hdr.src_nid),
		lx_nid_str(&msg->rxpeer->nid), lx_nid_str(&next_hop->nid), missed);
}
