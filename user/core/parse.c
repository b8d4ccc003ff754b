/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that arrive. A transport calls lx_lnd_parse() with each header and learns where
 * the payload goes; lx_parse_received() follows when the payload is there:
 *
 *	header ─▶ legal? ─▶ whose? ─▶ ours: match an MD ──────┬─▶ NOW or LATER
 *	                        └───▶ forward: credit, buffer ┘        │
 *	forwarded, answered, event ◀── lx_parse_received() ◀── payload read
 *
 * msg.c has the rest of a message's life; credit.c wakes messages that wait for a buffer.
 */
#include <errno.h>

#include <internal/admit.h>

#include "announce.h"
#include "answer.h"
#include "core.h"
#include "count.h"
#include "credit.h"
#include "health.h"
#include "parse.h"
#include "track.h"

/* The fate of an accepted message. */
enum outcome {
	RECEIVE, /* the transport's now: it reads the payload */
	DROPPED, /* ended; the transport discards the payload */
	WAITS,
};

static enum outcome drop(struct lx_core_msg *msg, enum lx_reason reason)
{
	lx_count_drop(msg->core, reason, msg->m.hdr.payload_length);
	lx_count_dropped(msg->rxni, msg->rxpeer, msg->m.hdr.type);
	lx_msg_finish(msg, 0);
	return DROPPED;
}

/* A message that the transport was told to wait for. */
static void drop_waiting(struct lx_core_msg *msg, enum lx_reason reason)
{
	msg->rxni->ni.lnd->recv(&msg->rxni->ni, msg->rx, NULL);
	drop(msg, reason);
}

static void drop_all(struct lx_list *doomed)
{
	struct lx_core_msg *msg;

	while ((msg = lx_list_pop(doomed, struct lx_core_msg, link))) {
		drop_waiting(msg, LX_REASON_SHUTDOWN);
	}
}

void lx_parse_drop_waiting(struct lx_core_ni *ni)
{
	struct lx_core_msg *msg, *tmp;
	struct lx_list doomed;

	lx_list_init(&doomed);
	lx_list_for_each_safe(msg, tmp, &ni->ni.core->msgs, all) {
		if (msg->rxni != ni ||
		    (msg->phase != LX_PHASE_RX_WAIT && msg->phase != LX_PHASE_ANSWER_WAIT &&
		     msg->phase != LX_PHASE_DELAYED))
			continue;
		lx_credit_stop_waiting(msg);
		lx_list_append(&doomed, &msg->link);
	}
	drop_all(&doomed);
}

/* Takes the messages of a queue off it. */
static void take_waiting(struct lx_list *queue, struct lx_list *doomed)
{
	struct lx_core_msg *msg;

	while ((msg = lx_list_first(queue, struct lx_core_msg, link))) {
		lx_credit_stop_waiting(msg);
		lx_list_append(doomed, &msg->link);
	}
}

void lx_parse_drop_from(struct lx_peer_ni *pni)
{
	struct lx_list doomed;

	lx_list_init(&doomed);
	take_waiting(&pni->rtr_queue, &doomed);
	take_waiting(&pni->request_queue, &doomed);
	drop_all(&doomed);
}

/* ---- verdicts on the header alone (lnet.md 7.1, rows 1 to 8) ---------------------- */

enum verdict { ACCEPT, DROP, ILLEGAL };

static enum verdict check_header(const struct lx_hdr *hdr, enum lx_reason *ret_reason)
{
	*ret_reason = lx_admit_header(hdr->type, hdr->payload_length);
	if (*ret_reason)
		return ILLEGAL;
	*ret_reason = lx_admit_nids(&hdr->src_nid, &hdr->dst_nid);
	return *ret_reason ? DROP : ACCEPT;
}

static enum verdict check_destination(struct lx_core_ni *ni, const struct lx_hdr *hdr,
				      const struct lx_rx_from *from, enum lx_reason *ret_reason)
{
	struct lx_core *core = ni->ni.core;

	if (lx_nid_eq(&hdr->dst_nid, &ni->ni.nid))
		return ACCEPT;
	/*
	 * Lustre closes the connection. But the neighbour may only have forwarded, or answered,
	 * what a third node has made up.
	 */
	*ret_reason = lx_admit_transit(&hdr->dst_nid, ni->ni.net);
	if (*ret_reason)
		return DROP;
	if (lx_ni_is_local_nid(core, &hdr->dst_nid)) {
		*ret_reason = LX_REASON_WRONG_NET;
		return DROP;
	}
	if (from->rdma_get) {
		*ret_reason = LX_REASON_RDMA_NOT_FOR_ME;
		return ILLEGAL;
	}
	/* A previous hop on another net has no router credits: the message would wait for ever. */
	if (lx_nid_net(&from->nid) != ni->ni.net) {
		*ret_reason = LX_REASON_BAD_NID;
		return ILLEGAL;
	}
	*ret_reason = LX_REASON_ROUTING_DISABLED;
	return core->routing == LX_ROUTING_OFF ? DROP : ACCEPT;
}

/* Our own NIDs are the source of messages only on a connection to ourselves. */
static enum verdict check_source(struct lx_core *core, const struct lx_hdr *hdr,
				 const struct lx_rx_from *from, enum lx_reason *ret_reason)
{
	if (lx_nid_eq(&hdr->src_nid, &from->nid) || !lx_ni_is_local_nid(core, &hdr->src_nid) ||
	    lx_ni_is_local_nid(core, &from->nid))
		return ACCEPT;
	*ret_reason = LX_REASON_OWN_NID;
	return DROP;
}

/* ---- what an accepted message tells about its sender -------------------------------- */

static bool is_ping(const struct lx_hdr *hdr)
{
	return hdr->type == LX_MSG_GET && lx_le32(hdr->cmd.get.portal) == LX_PORTAL_RESERVED;
}

/*
 * A router's own NI is up as long as somebody pings it (lnet.md 10.3) or sends messages
 * to be forwarded over it: a busy router need not be pinged.
 */
static void note_ni(struct lx_core_ni *ni)
{
	struct lx_core *core = ni->ni.core;

	if (core->routing == LX_ROUTING_OFF)
		return;
	ni->net->last_alive_ns = lx_core_now(core);
	lx_ni_status_set(core, ni, false);
}

/* The previous hop is alive. */
static void note_sender(struct lx_core *core, struct lx_peer_ni *from, uint32_t src_net)
{
	if (src_net != lx_nid_net(&from->nid))
		lx_route_gateway_heard(core, lx_peer_of(from), src_net);
	from->last_alive_ns = lx_core_now(core);
	lx_peer_ni_set_up(core, from);
}

static void note_received(struct lx_core_msg *msg)
{
	lx_count_received(msg);
	lx_health_ok(msg->rxni, msg->stranger ? NULL : msg->rxpeer);
}

/* Reception failed. Clears the status, so that msg.c does not count it again. */
static void note_broken(struct lx_core_msg *msg)
{
	lx_health_fault(msg->core, msg->rxni, msg->rxpeer, msg->m.hstatus, 1);
	msg->m.hstatus = LX_HSTATUS_OK;
}

/* lnet.md 7.1, row 11. */
static bool is_asymmetric(const struct lx_core_msg *msg)
{
	uint32_t src_net = lx_nid_net(&msg->m.hdr.src_nid);

	return msg->core->tun.lnet_drop_asym_route && !msg->m.routing &&
	       src_net != lx_nid_net(&msg->rxpeer->nid) &&
	       !lx_route_is_through(lx_peer_of(msg->rxpeer), src_net);
}

void lx_lnd_offloaded(struct lx_ni *lni, const struct lx_nid *nid, const struct lx_offloaded *c)
{
	struct lx_peer_ni *from = lx_peer_ni_lookup(lni->core, nid);
	struct lx_core_ni *ni = lx_core_ni(lni);

	if (!lx_count_offloaded(ni, from, c) || ni->state != LX_NI_UP)
		return;
	note_ni(ni);
	lx_health_ok(ni, c->stranger ? NULL : from);
	if (!from || c->stranger)
		return;
	note_sender(lni->core, from, c->src_net);
	lx_announce_routed(lni->core, from);
}

void lx_lnd_tcp_sent(struct lx_ni *ni, const struct lx_nid *nid, const struct lx_tcp_bytes *more)
{
	lx_count_tcp_sent(lx_core_ni(ni), lx_peer_ni_lookup(ni->core, nid), more);
}

/* ---- for us ---------------------------------------------------------------------------- */

static void fill_event(struct lx_core_msg *msg, enum lx_event_type type)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	struct lx_event *event = &msg->event;

	event->type = type;
	event->msg_type = hdr->type;
	event->target = (struct lx_id){ hdr->dst_nid, hdr->dst_pid };
	event->source = hdr->src_nid;
	event->sender = msg->rxpeer->nid;
	event->initiator.pid = hdr->src_pid;
	if (msg->rxpeer->net && lx_nid_eq(&hdr->src_nid, &msg->rxpeer->nid))
		event->initiator.nid = lx_peer_of(msg->rxpeer)->primary;
	else
		lx_peer_primary_of(msg->core, &hdr->src_nid, &event->initiator.nid);
}

static void receive_into(struct lx_core_msg *msg, struct lx_md *md, size_t offset,
			 size_t mlength)
{
	msg->md = md;
	msg->m.payload = lx_md_payload(md, offset, mlength);
	msg->phase = LX_PHASE_RX;
}

/* The answer goes back the way the request came (lnet.md 8). */
static void answer_to(struct lx_core_msg *answer, const struct lx_core_msg *request,
		      const struct lx_hdr *hdr)
{
	answer->response = true;
	lx_answer_begin(answer, request->rxpeer);
	answer->src_param = hdr->dst_nid;
	answer->dst_param = hdr->src_nid;
	if (lx_nid_net(&hdr->src_nid) != lx_nid_net(&request->rxpeer->nid))
		answer->rtr_param = request->rxpeer->nid;
	answer->m.deadline_ns = lx_core_tunables_deadline(answer->core);
	answer->m.hdr = (struct lx_hdr){
		.dst_nid = hdr->src_nid,
		.dst_pid = hdr->src_pid,
		.src_nid = hdr->dst_nid,
		.src_pid = hdr->dst_pid,
	};
}

void lx_parse_ack(struct lx_core_msg *put)
{
	struct lx_core_msg *ack = lx_msg_new(put->core);

	if (!ack)
		return; /* like a lost ACK: the initiator times out */
	ack->internal = put->internal;
	answer_to(ack, put, &put->m.hdr);
	ack->m.hdr.type = LX_MSG_ACK;
	ack->m.hdr.cmd.ack.dst_md = put->m.hdr.cmd.put.ack_md;
	ack->m.hdr.cmd.ack.match_bits = put->m.hdr.cmd.put.match_bits;
	ack->m.hdr.cmd.ack.mlength = lx_le32((uint32_t)put->event.mlength);
	lx_msg_route(ack);
}

/* Turns a matched GET into its REPLY: same MD, same event. */
static void become_reply(struct lx_core_msg *msg)
{
	const struct lx_hdr get = msg->m.hdr;

	answer_to(msg, msg, &get);
	msg->m.hdr.type = LX_MSG_REPLY;
	msg->m.hdr.payload_length = msg->event.mlength;
	msg->m.hdr.cmd.reply.dst_md = get.cmd.get.return_md;
	msg->m.payload = lx_md_payload(msg->md, msg->event.offset, msg->event.mlength);
	msg->phase = LX_PHASE_NEW;
}

/* The transport writes the data into the sink itself; no REPLY is ever on the wire. */
static void answer_rdma_get(struct lx_core_msg *msg)
{
	note_received(msg);
	become_reply(msg);
	msg->txni = msg->rxni;
	lx_ni_get(msg->txni);
	msg->phase = LX_PHASE_TX;
	msg->sent_ns = lx_core_now(msg->core);
}

/* A push has taken the buffer for pushes: post another one before the next push. */
static void note_push(struct lx_core *core)
{
	core->target.push_unposted = true;
	lx_core_kick(core);
}

/* Finds the MD for a request. LX_MATCH_OK: the message can be received. */
static enum lx_match_result deliver(struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	bool put = hdr->type == LX_MSG_PUT;
	struct lx_match match = {
		.initiator = msg->event.initiator,
		.portal = lx_le32(put ? hdr->cmd.put.portal : hdr->cmd.get.portal),
		.bits = lx_le64(put ? hdr->cmd.put.match_bits : hdr->cmd.get.match_bits),
		.op = put ? LX_MD_OP_PUT : LX_MD_OP_GET,
		.rlength = put ? hdr->payload_length : lx_le32(hdr->cmd.get.sink_length),
		.roffset = lx_le32(put ? hdr->cmd.put.offset : hdr->cmd.get.src_offset),
	};
	enum lx_match_result result;
	size_t offset, mlength;
	struct lx_md *md;

	/* A GET cannot ask for more than a REPLY can carry. */
	if (!put && match.rlength > LX_PAYLOAD_MAX)
		match.rlength = LX_PAYLOAD_MAX;
	result = lx_portal_match(msg->core, &match, &md, &offset, &mlength);
	if (result != LX_MATCH_OK)
		return result;
	msg->event.portal = match.portal;
	msg->event.match_bits = match.bits;
	msg->event.rlength = match.rlength;
	msg->event.offset = offset;
	msg->event.mlength = mlength;
	if (put) {
		msg->event.hdr_data = hdr->cmd.put.hdr_data;
		msg->ack_wanted = !(md->options & LX_MD_ACK_DISABLE) && lx_msg_asks_ack(hdr);
		receive_into(msg, md, offset, mlength);
		if (match.portal == LX_PORTAL_RESERVED)
			note_push(msg->core);
		return LX_MATCH_OK;
	}
	receive_into(msg, md, 0, 0);
	if (msg->rdma_get)
		answer_rdma_get(msg);
	return LX_MATCH_OK;
}

/*
 * Whether an MD for it may come. A message that waits stops its connection, so on the node's own
 * portal only pushes do: nothing else ever matches there.
 */
static bool may_wait(const struct lx_core_msg *msg, uint32_t portal)
{
	const struct lx_hdr *hdr = &msg->m.hdr;

	return hdr->type == LX_MSG_PUT && msg->core->portal[portal].lazy &&
	       (portal != LX_PORTAL_RESERVED ||
		hdr->cmd.put.match_bits == lx_le64(LX_PING_MATCH_BITS));
}

static enum outcome parse_request(struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	bool put = hdr->type == LX_MSG_PUT;
	uint32_t portal = lx_le32(put ? hdr->cmd.put.portal : hdr->cmd.get.portal);

	fill_event(msg, put ? LX_EVENT_PUT : LX_EVENT_GET);
	if (portal >= LX_PORTALS)
		return drop(msg, LX_REASON_BAD_PORTAL);
	switch (deliver(msg)) {
	case LX_MATCH_OK:
		return RECEIVE;
	case LX_MATCH_TOO_LONG:
		return drop(msg, LX_REASON_TOO_LONG);
	case LX_MATCH_NONE:
		break;
	}
	if (!may_wait(msg, portal))
		return drop(msg, LX_REASON_NO_MATCH);
	lx_portal_delay(&msg->core->portal[portal], msg);
	return WAITS;
}

/* The MD a response is for; NULL if it waits for none (lnet.md 8). */
static struct lx_md *response_md(struct lx_core *core, const struct lx_wire_handle *wire,
				 enum lx_response response)
{
	struct lx_md *md = lx_md_lookup_wire(core, wire);

	return md && md->awaited[response] ? md : NULL;
}

static void take_response(struct lx_core_msg *msg, struct lx_md *md, enum lx_response response)
{
	lx_md_take_response(md, response);
	lx_md_get(md);
	lx_track_end(md, msg->rxni, msg->rxpeer);
}

static enum outcome parse_reply(struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	struct lx_md *md = response_md(msg->core, &hdr->cmd.reply.dst_md, LX_RESPONSE_REPLY);
	size_t mlength = hdr->payload_length;

	if (!md)
		return drop(msg, LX_REASON_NO_HANDLE);
	if (mlength > md->length) {
		if (!(md->options & LX_MD_TRUNCATE))
			return drop(msg, LX_REASON_TOO_LONG);
		mlength = md->length;
	}
	take_response(msg, md, LX_RESPONSE_REPLY);
	fill_event(msg, LX_EVENT_REPLY);
	msg->event.rlength = hdr->payload_length;
	msg->event.mlength = mlength;
	receive_into(msg, md, 0, mlength);
	return RECEIVE;
}

static enum outcome parse_ack(struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	struct lx_md *md = response_md(msg->core, &hdr->cmd.ack.dst_md, LX_RESPONSE_ACK);

	if (!md) {
		/* Its MD is gone: no error, and not counted. */
		lx_msg_finish(msg, 0);
		return DROPPED;
	}
	take_response(msg, md, LX_RESPONSE_ACK);
	fill_event(msg, LX_EVENT_ACK);
	msg->event.match_bits = lx_le64(hdr->cmd.ack.match_bits);
	msg->event.mlength = lx_le32(hdr->cmd.ack.mlength);
	receive_into(msg, md, 0, 0);
	return RECEIVE;
}

/* ---- messages delayed on a lazy portal ---------------------------------------------------- */

void lx_parse_resume(struct lx_core *core, struct lx_portal *portal)
{
	struct lx_core_msg *msg;
	struct lx_list batch;

	/* Messages that still have no match are delayed again, in the same order. */
	lx_portal_take_delayed(portal, &batch);
	while ((msg = lx_list_pop(&batch, struct lx_core_msg, link))) {
		switch (deliver(msg)) {
		case LX_MATCH_NONE:
			if (portal->lazy)
				lx_portal_delay(portal, msg);
			else
				drop_waiting(msg, LX_REASON_LAZY_CLEARED);
			break;
		case LX_MATCH_TOO_LONG:
			drop_waiting(msg, LX_REASON_TOO_LONG);
			break;
		case LX_MATCH_OK:
			msg->rxni->ni.lnd->recv(&msg->rxni->ni, msg->rx, &msg->m);
			break;
		}
	}
}

void lx_parse_lazy_set(struct lx_core *core, struct lx_portal *portal, bool lazy)
{
	portal->lazy = lazy;
	if (!lazy)
		lx_parse_resume(core, portal);
}

/* ---- entry point --------------------------------------------------------------------------- */

static struct lx_core_msg *incoming_new(struct lx_core_ni *ni, const struct lx_hdr *hdr,
					const struct lx_rx_from *from, void *rx,
					enum lx_reason *ret_reason)
{
	bool routing = !lx_nid_eq(&hdr->dst_nid, &ni->ni.nid);
	struct lx_core *core = ni->ni.core;
	struct lx_origin *origin = NULL;
	struct lx_core_msg *msg;
	struct lx_peer_ni *peer;

	*ret_reason = core->stopping ? LX_REASON_SHUTDOWN : LX_REASON_NO_MEMORY;
	if (core->stopping || lx_peer_ni_from(core, from, &peer) ||
	    (routing && lx_origin_get(core, from, &origin)))
		return NULL;
	msg = lx_msg_new(core);
	if (!msg) {
		lx_origin_put(core, origin);
		return NULL;
	}
	msg->m.hdr = *hdr;
	msg->m.routing = routing;
	msg->origin = origin;
	msg->rx = rx;
	msg->rdma_get = from->rdma_get;
	msg->stranger = from->stranger;
	msg->rxni = ni;
	lx_ni_get(ni);
	msg->rxpeer = peer;
	lx_peer_ni_get(peer);
	return msg;
}

/* Where it goes (row 13). */
static enum outcome proceed(struct lx_core_msg *msg)
{
	if (msg->m.routing)
		return lx_credit_recv(msg) ? RECEIVE : WAITS;
	switch (msg->m.hdr.type) {
	case LX_MSG_REPLY:
		return parse_reply(msg);
	case LX_MSG_ACK:
		return parse_ack(msg);
	default:
		break;
	}
	switch (lx_answer_room(msg)) {
	case LX_ANSWER_ROOM:
		break;
	case LX_ANSWER_WAITS:
		return WAITS;
	case LX_ANSWER_NO_ROOM:
		return drop(msg, LX_REASON_ANSWERS);
	}
	return parse_request(msg);
}

/* Notes what an accepted message tells about its sender, then finds its destination. */
static enum outcome take(struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	struct lx_core *core = msg->core;

	if (is_asymmetric(msg))
		return drop(msg, LX_REASON_ASYM_ROUTE);
	if (!msg->stranger)
		note_sender(core, msg->rxpeer, lx_nid_net(&hdr->src_nid));
	if (msg->m.routing) {
		note_ni(msg->rxni);
		lx_announce_routed(core, msg->rxpeer);
	} else if (is_ping(hdr) && lx_nid_eq(&hdr->src_nid, &msg->rxpeer->nid)) {
		lx_announce_asked(core, msg->rxpeer);
	}
	if (core->faults.n && lx_fault_holds(core, msg, &msg->rxni->ni.nid)) {
		msg->phase = LX_PHASE_HELD_RX;
		return WAITS;
	}
	return proceed(msg);
}

void lx_parse_again(struct lx_core_msg *msg)
{
	struct lx_ni *ni = &msg->rxni->ni;
	void *rx = msg->rx;

	msg->phase = LX_PHASE_NEW;
	if (msg->core->stopping) {
		drop_waiting(msg, LX_REASON_SHUTDOWN);
		return;
	}
	switch (proceed(msg)) {
	case RECEIVE:
		ni->lnd->recv(ni, rx, &msg->m);
		break;
	case DROPPED:
		ni->lnd->recv(ni, rx, NULL);
		break;
	case WAITS:
		break;
	}
}

int lx_lnd_parse(struct lx_ni *lni, const struct lx_hdr *hdr, const struct lx_rx_from *from,
		 void *rx, struct lx_msg **ret_msg)
{
	struct lx_core_ni *ni = lx_core_ni(lni);
	struct lx_core *core = lni->core;
	enum lx_reason reason = LX_REASON_NONE;
	struct lx_core_msg *msg;
	enum verdict verdict;

	if (ni->state != LX_NI_UP)
		return -ESHUTDOWN;
	verdict = check_header(hdr, &reason);
	if (verdict == ACCEPT) {
		if (is_ping(hdr) && !lx_ni_is_local_nid(core, &hdr->src_nid))
			note_ni(ni);
		verdict = check_destination(ni, hdr, from, &reason);
	}
	if (verdict == ACCEPT)
		verdict = check_source(core, hdr, from, &reason);
	if (verdict == ACCEPT && core->faults.n &&
	    lx_fault_drops(core, hdr, &ni->ni.nid, false, NULL)) {
		verdict = DROP;
		reason = LX_REASON_FAULT;
	}
	if (verdict == ILLEGAL) {
		core->stats.errors++;
		lx_count_drop(core, reason, 0);
		return -EPROTO;
	}
	*ret_msg = NULL;
	msg = verdict == ACCEPT ? incoming_new(ni, hdr, from, rx, &reason) : NULL;
	if (!msg) {
		lx_count_drop(core, reason, hdr->payload_length);
		lx_count_dropped(ni, NULL, hdr->type);
		return LX_RX_NOW;
	}
	switch (take(msg)) {
	case RECEIVE:
		*ret_msg = &msg->m;
		break;
	case DROPPED:
		break;
	case WAITS:
		return LX_RX_LATER;
	}
	return LX_RX_NOW;
}

void lx_parse_received(struct lx_core_msg *msg)
{
	if (msg->status) {
		if (!msg->pair)
			note_broken(msg);
		lx_msg_finish(msg, msg->status);
		return;
	}
	note_received(msg);
	if (msg->m.routing) {
		msg->phase = LX_PHASE_NEW;
		msg->transit = true;
		lx_msg_route(msg);
	} else if (msg->m.hdr.type == LX_MSG_GET) {
		become_reply(msg);
		lx_msg_route(msg);
	} else {
		/* The REPLY to an optimised GET has come only now. */
		if (msg->m.hdr.type == LX_MSG_REPLY)
			lx_track_end(msg->md, msg->rxni, msg->rxpeer);
		lx_msg_finish(msg, 0);
	}
}

/* ---- answers to an optimised GET (initiator) ------------------------------------------------ */

struct lx_msg *lx_lnd_reply_msg(struct lx_ni *lni, struct lx_msg *m)
{
	struct lx_core_msg *get = lx_core_msg(m), *reply;
	struct lx_core_ni *ni = lx_core_ni(lni);
	struct lx_md *md = get->md;

	if (!md || md->zombie || !md->awaited[LX_RESPONSE_REPLY] || !get->txpeer)
		return NULL;
	reply = lx_msg_new(get->core);
	if (!reply)
		return NULL;
	reply->m.hdr = (struct lx_hdr){
		.dst_nid = get->m.hdr.src_nid,
		.dst_pid = get->m.hdr.src_pid,
		.src_nid = get->m.hdr.dst_nid,
		.src_pid = get->m.hdr.dst_pid,
		.type = LX_MSG_REPLY,
	};
	reply->rxni = ni;
	lx_ni_get(ni);
	reply->rxpeer = get->txpeer;
	lx_peer_ni_get(reply->rxpeer);
	reply->phase = LX_PHASE_RX;
	reply->pair = get;
	get->pair = reply;
	reply->md = md;
	lx_md_take_response(md, LX_RESPONSE_REPLY);
	lx_md_get(md);
	fill_event(reply, LX_EVENT_REPLY);
	reply->event.rlength = reply->event.mlength = md->length;
	return &reply->m;
}

void lx_lnd_reply_length(struct lx_msg *m, size_t length)
{
	struct lx_core_msg *reply = lx_core_msg(m);

	reply->m.hdr.payload_length = length;
	reply->event.mlength = length;
}
