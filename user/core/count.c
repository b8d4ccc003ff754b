/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters (lnet.md 15) of the node, its NIs and peer NIs. Called by msg.c and parse.c
 * at each step of a message, and by transports for offloaded traffic.
 */
#include <errno.h>

#include "core.h"
#include "count.h"
#include "credit.h"
#include "msg.h"

/* ---- one message ------------------------------------------------------------------ */

void lx_count_latency(struct lx_latency *latency, uint64_t nsec)
{
	uint64_t n = ++latency->samples;

	if (n == 1 || nsec < latency->min_nsec)
		latency->min_nsec = nsec;
	if (nsec > latency->max_nsec)
		latency->max_nsec = nsec;
	/* A running mean: accurate enough, and it cannot overflow. */
	if (nsec >= latency->avg_nsec)
		latency->avg_nsec += (nsec - latency->avg_nsec) / n;
	else
		latency->avg_nsec -= (latency->avg_nsec - nsec) / n;
}

void lx_count_drop(struct lx_core *core, enum lx_reason reason, size_t bytes)
{
	core->stats.drop_count++;
	core->stats.drop_length += bytes;
	core->stats.drops[reason]++;
}

static uint64_t *type_counter(struct lx_type_counts *counts, uint32_t type)
{
	switch (type) {
	case LX_MSG_ACK:
		return &counts->ack;
	case LX_MSG_PUT:
		return &counts->put;
	case LX_MSG_GET:
		return &counts->get;
	case LX_MSG_REPLY:
		return &counts->reply;
	default:
		return &counts->hello;
	}
}

void lx_count_sent(struct lx_core_msg *msg)
{
	struct lx_stats *stats = &msg->core->stats;
	uint32_t type = msg->m.hdr.type;

	if (msg->m.routing) {
		stats->route_count++;
		stats->route_length += msg->m.hdr.payload_length;
	} else {
		stats->send_count++;
		stats->send_length += msg->m.hdr.payload_length;
	}
	msg->txni->traffic.io.send++;
	++*type_counter(&msg->txni->traffic.sent, type);
	if (type == LX_MSG_PUT) {
		uint64_t nsec = lx_core_now(msg->core) - msg->sent_ns;

		lx_count_latency(&msg->txni->traffic.put_egress, nsec);
		if (msg->txpeer)
			lx_count_latency(&msg->txpeer->traffic.put_egress, nsec);
	}
	if (msg->txpeer) {
		msg->txpeer->traffic.io.send++;
		++*type_counter(&msg->txpeer->traffic.sent, type);
	}
}

void lx_count_received(struct lx_core_msg *msg)
{
	struct lx_stats *stats = &msg->core->stats;
	uint32_t type = msg->m.hdr.type;

	if (!msg->m.routing) {
		stats->recv_count++;
		stats->recv_length += msg->m.hdr.payload_length;
	}
	msg->rxni->traffic.io.recv++;
	++*type_counter(&msg->rxni->traffic.received, type);
	msg->rxpeer->traffic.io.recv++;
	++*type_counter(&msg->rxpeer->traffic.received, type);
}

static uint64_t add_types(struct lx_type_counts *to, const struct lx_type_counts *n)
{
	to->put += n->put;
	to->get += n->get;
	to->reply += n->reply;
	to->ack += n->ack;
	return n->put + n->get + n->reply + n->ack;
}

static void add_offloaded(struct lx_traffic *traffic, const struct lx_offloaded *c)
{
	traffic->io.recv += add_types(&traffic->received, &c->received);
	traffic->io.send += add_types(&traffic->sent, &c->sent);
}

uint64_t lx_count_offloaded(struct lx_core_ni *ni, struct lx_peer_ni *pni,
			    const struct lx_offloaded *c)
{
	struct lx_stats *stats = &ni->ni.core->stats;
	struct lx_type_counts routed = { 0 };
	uint64_t n = add_types(&routed, &c->received);

	/* Counted on arrival only: the same messages go out. */
	stats->route_count += n;
	stats->route_length += c->payload;
	add_offloaded(&ni->traffic, c);
	if (pni)
		add_offloaded(&pni->traffic, c);
	return n;
}

static void add_tcp(struct lx_tcp_bytes *to, const struct lx_tcp_bytes *more)
{
	to->sent += more->sent;
	to->resent += more->resent;
}

void lx_count_tcp_sent(struct lx_core_ni *ni, struct lx_peer_ni *pni,
		       const struct lx_tcp_bytes *more)
{
	add_tcp(&ni->traffic.tcp, more);
	if (pni)
		add_tcp(&pni->traffic.tcp, more);
}

void lx_count_dropped(struct lx_core_ni *ni, struct lx_peer_ni *peer, uint32_t type)
{
	ni->traffic.io.drop++;
	++*type_counter(&ni->traffic.dropped, type);
	if (peer) {
		peer->traffic.io.drop++;
		++*type_counter(&peer->traffic.dropped, type);
	}
}

void lx_count_fault(struct lx_core *core, struct lx_core_ni *ni, struct lx_peer_ni *pni,
		    enum lx_hstatus hstatus, uint64_t n)
{
	struct lx_ni_health none_ni = { 0 }, *local = ni ? &ni->health : &none_ni;
	struct lx_peer_health none_peer = { 0 }, *remote = pni ? &pni->health : &none_peer;
	struct lx_stats *stats = &core->stats;
	const struct {
		uint64_t *node;
		uint32_t *one;
	} counters[LX_HSTATUSES] = {
		[LX_HSTATUS_LOCAL_INTERRUPT] = { &stats->local_interrupt_count,
						 &local->interrupts },
		[LX_HSTATUS_LOCAL_DROPPED] = { &stats->local_dropped_count, &local->dropped },
		[LX_HSTATUS_LOCAL_ABORTED] = { &stats->local_aborted_count, &local->aborted },
		[LX_HSTATUS_LOCAL_NO_ROUTE] = { &stats->local_no_route_count, &local->no_route },
		[LX_HSTATUS_LOCAL_TIMEOUT] = { &stats->local_timeout_count, &local->timeouts },
		[LX_HSTATUS_LOCAL_ERROR] = { &stats->local_error_count, &local->error },
		[LX_HSTATUS_REMOTE_DROPPED] = { &stats->remote_dropped_count, &remote->dropped },
		[LX_HSTATUS_REMOTE_ERROR] = { &stats->remote_error_count, &remote->error },
		[LX_HSTATUS_REMOTE_TIMEOUT] = { &stats->remote_timeout_count, &remote->timeout },
		[LX_HSTATUS_NETWORK_TIMEOUT] = { &stats->network_timeout_count,
						 &remote->network_timeout },
	};

	if (hstatus == LX_HSTATUS_OK)
		return;
	*counters[hstatus].node += n;
	*counters[hstatus].one += n;
}

void lx_count_lost(struct lx_core_msg *msg)
{
	struct lx_core_ni *ni = msg->txni ? msg->txni : msg->rxni;
	enum lx_reason reason = msg->drop;

	if (!reason)
		reason = msg->status == -ESHUTDOWN ? LX_REASON_SHUTDOWN : LX_REASON_SEND_FAILED;
	lx_count_drop(msg->core, reason, msg->m.hdr.payload_length);
	if (!ni)
		ni = lx_ni_lookup(msg->core, &msg->src_param);
	if (ni)
		lx_count_dropped(ni, msg->txpeer, msg->m.hdr.type);
}

uint64_t lx_count_offload_lost(struct lx_core_ni *ni, struct lx_peer_ni *pni,
			       const struct lx_type_counts *n, uint64_t payload)
{
	struct lx_stats *stats = &ni->ni.core->stats;
	uint64_t all = add_types(&ni->traffic.dropped, n);

	ni->traffic.io.drop += all;
	stats->drop_count += all;
	stats->drop_length += payload;
	stats->drops[LX_REASON_SEND_FAILED] += all;
	if (pni)
		pni->traffic.io.drop += add_types(&pni->traffic.dropped, n);
	return all;
}

/* ---- all of them ------------------------------------------------------------------ */

void lx_count_refresh(struct lx_core *core)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core) {
		if (ni->ni.lnd->count)
			ni->ni.lnd->count(&ni->ni);
	}
}

void lx_count_reset(struct lx_core *core)
{
	struct lx_peer_net *peer_net;
	struct lx_peer_ni *pni;
	struct lx_peer *peer;
	struct lx_core_ni *ni;
	struct lx_stats now;
	struct lx_net *net;

	lx_count_refresh(core);
	now = core->stats;
	core->stats = (struct lx_stats){
		.msgs_alloc = now.msgs_alloc,
		.msgs_max = now.msgs_alloc,
		.rst_alloc = now.rst_alloc,
		.answer_bytes = now.answer_bytes,
	};
	lx_ni_for_each(net, ni, core) {
		ni->traffic = (struct lx_traffic){ 0 };
		ni->tx_credits_min = ni->tx_credits;
	}
	lx_list_for_each(peer, &core->peers, link) {
		lx_peer_ni_for_each(peer_net, pni, peer) {
			pni->traffic = (struct lx_traffic){ 0 };
			pni->tx->min = lx_credit_now(pni->tx);
			pni->rtr->min = lx_credit_now(pni->rtr);
		}
	}
}
