/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages: created for sending, routed, and ended. Received messages are in parse.c; msg.h
 * has a picture of both.
 *
 * Ending a message may end others (the credit it returns may send a message that fails
 * immediately), so ended messages go through a queue that the outermost caller drains.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "answer.h"
#include "count.h"
#include "credit.h"
#include "health.h"
#include "msg.h"
#include "parse.h"
#include "select.h"
#include "track.h"

/* Ended messages kept for reuse: as many as a few busy peers have in flight. */
#define MSG_FREELIST_MAX 256

struct lx_core_msg *lx_msg_new(struct lx_core *core)
{
	struct lx_core_msg *msg = lx_freelist_get(&core->msg_freelist, sizeof(*msg));

	if (!msg)
		return NULL;
	memset(msg, 0, sizeof(*msg));
	msg->core = core;
	msg->src_param = msg->rtr_param = lx_nid_any;
	lx_list_init(&msg->link);
	lx_queue_init_at(&msg->at);
	lx_list_append(&core->msgs, &msg->all);
	if (++core->stats.msgs_alloc > core->stats.msgs_max)
		core->stats.msgs_max = core->stats.msgs_alloc;
	return msg;
}

static void msg_free(struct lx_core_msg *msg)
{
	if (msg->pair)
		msg->pair->pair = NULL;
	free(msg->avoid);
	lx_list_del(&msg->all);
	msg->core->stats.msgs_alloc--;
	lx_freelist_put(&msg->core->msg_freelist, msg, MSG_FREELIST_MAX);
}

static bool is_reserved(const struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;

	return (hdr->type == LX_MSG_PUT && lx_le32(hdr->cmd.put.portal) == LX_PORTAL_RESERVED) ||
	       (hdr->type == LX_MSG_GET && lx_le32(hdr->cmd.get.portal) == LX_PORTAL_RESERVED);
}

bool lx_msg_asks_ack(const struct lx_hdr *put)
{
	return memcmp(&put->cmd.put.ack_md, &LX_WIRE_HANDLE_NONE, sizeof(put->cmd.put.ack_md));
}

/* ---- resending (lnet.md 13.2) ---------------------------------------------------- */

/* Whether there may be another path (lnet.md 13.2). */
static bool has_choice(const struct lx_core_msg *msg)
{
	const struct lx_peer_ni *dst = lx_peer_ni_lookup(msg->core, &msg->dst_param);
	struct lx_core_ni *ni;
	struct lx_net *net;

	if (!msg->txpeer || !dst || lx_peer_of(dst)->deleted)
		return false;
	if (!msg->txpeer->net)
		return true; /* the peer NI was removed, the peer is still there */
	if (!lx_health_is_local(msg->m.hstatus))
		return lx_peer_of(msg->txpeer)->n_nis > 1;
	lx_ni_for_each(net, ni, msg->core) {
		if (ni != msg->txni && !ni->ni.lnd->no_credits)
			return true;
	}
	return false;
}

/*
 * Never resent: forwarded messages, as that is up to their sender; an RDMA answer, which is
 * the transport's; a GET whose failed REPLY was already reported; recovery pings, which test
 * one path; messages whose MD was unlinked.
 */
static bool may_resend(const struct lx_core_msg *msg)
{
	const struct lx_core *core = msg->core;

	if (!lx_health_resends(msg->m.hstatus) || core->stopping || msg->m.routing ||
	    msg->transit || msg->rdma_get || msg->lnd_answered || msg->pair ||
	    msg->resends >= lx_core_tunables_retries(&core->tun) ||
	    msg->m.deadline_ns <= lx_core_now(msg->core))
		return false;
	if (msg->md && (msg->md->as_given || (msg->md->zombie && !msg->response)))
		return false;
	return has_choice(msg);
}

/* Returns credits and references of the path. */
static void leave_path(struct lx_core_msg *msg)
{
	if (msg->txni)
		lx_credit_return_tx(msg);
	if (msg->txpeer)
		lx_peer_ni_put(msg->core, msg->txpeer);
	if (msg->txni)
		lx_ni_put(msg->txni);
	msg->txpeer = NULL;
	msg->txni = NULL;
}

static void resend(struct lx_core_msg *msg)
{
	const struct lx_nid *failed = lx_health_is_local(msg->m.hstatus)
					      ? &msg->txni->ni.nid
					      : &msg->txpeer->nid;

	if (!msg->avoid)
		msg->avoid = calloc(1, sizeof(*msg->avoid));
	if (msg->avoid) /* out of memory: health alone selects another path */
		lx_avoid_add(msg->avoid, failed);
	leave_path(msg);
	msg->core->stats.resend_count++;
	msg->resends++;
	msg->discovered = true;
	msg->phase = LX_PHASE_NEW;
	msg->status = 0;
	msg->drop = LX_REASON_NONE;
	msg->m.hstatus = LX_HSTATUS_OK;
	msg->m.sink = (struct lx_payload){ 0 };
	msg->m.lnd_priv = NULL;
	msg->m.hdr.dst_nid = msg->dst_param;
	lx_msg_route(msg);
}

/* ---- the end -------------------------------------------------------------------- */

/*
 * To a process, which nobody can dial. Anybody can write its pid, into a message that we forward or
 * a request that we answer: its node does not pay with its health.
 */
static void note_no_process(struct lx_core_msg *msg)
{
	if (!msg->status || !(msg->m.target.pid & LX_PID_USERFLAG))
		return;
	msg->m.hstatus = LX_HSTATUS_OK;
	if (!msg->drop)
		msg->drop = LX_REASON_NO_PROCESS;
}

/* Counters and health. A failure after the deadline costs no health. */
static void account(struct lx_core_msg *msg)
{
	bool late = !msg->m.routing && msg->m.deadline_ns &&
		    msg->m.deadline_ns <= lx_core_now(msg->core);

	if (msg->status && msg->txpeer && msg->txpeer->net)
		lx_peer_of(msg->txpeer)->failed = msg->txpeer->nid;
	if (!msg->status && msg->phase == LX_PHASE_TX) {
		lx_count_sent(msg);
		lx_health_ok(msg->txni, NULL);
		/* It was lost, and this message has tried (credit.c). */
		if (msg->m.routing && lx_down_is_lost(&msg->txpeer->down))
			lx_peer_ni_set_up(msg->core, msg->txpeer);
		if (msg->txpeer)
			msg->txpeer->reached = true;
	} else if (msg->status && late) {
		lx_count_fault(msg->core, msg->txni, msg->txpeer, msg->m.hstatus, 1);
	} else if (msg->status) {
		lx_health_fault(msg->core, msg->txni, msg->txpeer, msg->m.hstatus, 1);
	}
}

/*
 * The REPLY that a transport made for a GET ends. If both failed and the GET is resent, its
 * MD keeps waiting and there is no event.
 */
static void end_pair(struct lx_core_msg *reply)
{
	struct lx_core_msg *get = reply->pair;

	get->pair = reply->pair = NULL;
	if (!reply->status)
		return;
	get->m.hstatus = reply->m.hstatus;
	reply->m.hstatus = LX_HSTATUS_OK; /* counted with the GET */
	get->lnd_answered = !may_resend(get);
	if (get->lnd_answered)
		return;
	lx_md_expect_response(reply->md, LX_RESPONSE_REPLY);
	lx_md_put(reply->md, NULL);
	reply->md = NULL;
}

/* Until a neighbour is dialled again, messages end with the error of the last attempt. */
static int reason_of(const struct lx_core_msg *msg)
{
	const struct lx_cause *down = msg->txpeer ? &msg->txpeer->down : NULL;

	return msg->status == -EHOSTUNREACH && down && lx_down_is_lost(down) && down->error
		       ? down->error
		       : msg->status;
}

static void tell(struct lx_core_msg *msg)
{
	msg->event.status = reason_of(msg);
	/* A request that was not sent gets no response. */
	if (msg->status && msg->awaits) {
		lx_track_end(msg->md, NULL, NULL);
		lx_md_take_response(msg->md, msg->awaits);
	}
	lx_md_put(msg->md, &msg->event);
	msg->md = NULL;
}

static void msg_end(struct lx_core_msg *msg)
{
	struct lx_core *core = msg->core;

	if (msg->pair && msg->m.hdr.type == LX_MSG_REPLY)
		end_pair(msg);
	note_no_process(msg);
	account(msg);
	if (msg->status && msg->txni && may_resend(msg)) {
		resend(msg);
		return;
	}
	if (msg->resends && msg->status)
		core->stats.failed_resends++;
	else if (msg->resends)
		core->stats.successful_resends++;
	if (msg->status && (msg->transit || msg->response || msg->drop))
		lx_count_lost(msg);
	if (msg->md)
		tell(msg);
	/*
	 * After the event: an ACK makes its target a known peer, and pushes of others are ignored.
	 */
	if (msg->ack_wanted && !msg->status)
		lx_parse_ack(msg);
	leave_path(msg);
	if (msg->rxpeer)
		lx_credit_return_rx(msg);
	if (msg->rxpeer)
		lx_peer_ni_put(core, msg->rxpeer);
	if (msg->rxni)
		lx_ni_put(msg->rxni);
	lx_answer_end(msg);
	lx_origin_put(core, msg->origin);
	msg_free(msg);
	/* lx_node_stop() waits for the core to be idle: let it check again. */
	if (core->draining)
		lx_core_kick(core);
}

static void drain_done(struct lx_core *core)
{
	struct lx_core_msg *msg;

	if (core->finalizing)
		return;
	core->finalizing = true;
	while ((msg = lx_list_pop(&core->done, struct lx_core_msg, link))) {
		if (msg->phase == LX_PHASE_RX)
			lx_parse_received(msg);
		else
			msg_end(msg);
	}
	core->finalizing = false;
}

void lx_msg_ends_hold(struct lx_core *core)
{
	core->finalizing = true;
}

void lx_msg_ends_go_on(struct lx_core *core)
{
	core->finalizing = false;
	drain_done(core);
}

void lx_lnd_finalize(struct lx_msg *m, int status)
{
	struct lx_core_msg *msg = lx_core_msg(m);

	msg->status = status;
	lx_list_append(&msg->core->done, &msg->link);
	drain_done(msg->core);
}

void lx_msg_finish(struct lx_core_msg *msg, int status)
{
	if (msg->phase != LX_PHASE_TX)
		msg->phase = LX_PHASE_NEW;
	lx_lnd_finalize(&msg->m, status);
}

static void fail_waiting(struct lx_core_msg *msg, int status, enum lx_hstatus hstatus)
{
	lx_credit_stop_waiting(msg);
	msg->m.hstatus = hstatus;
	lx_msg_finish(msg, status);
}

void lx_msg_fail_queue(struct lx_list *queue, int status, enum lx_hstatus hstatus)
{
	struct lx_core_msg *msg;

	while ((msg = lx_list_first(queue, struct lx_core_msg, link)))
		fail_waiting(msg, status, hstatus);
}

static void fail_tx_queue(struct lx_queue *queue, int status, enum lx_hstatus hstatus)
{
	struct lx_queued *at;

	while ((at = lx_queue_next(queue)))
		fail_waiting(lx_container_of(at, struct lx_core_msg, at), status, hstatus);
}

void lx_msg_fail_ni(struct lx_core_ni *ni)
{
	struct lx_core_msg *msg, *tmp;
	struct lx_list doomed;

	lx_list_init(&doomed);
	lx_list_for_each_safe(msg, tmp, &ni->ni.core->msgs, all) {
		if (msg->txni != ni || msg->phase != LX_PHASE_TX_WAIT || !msg->waits_share)
			continue;
		lx_credit_stop_waiting(msg);
		lx_list_append(&doomed, &msg->link);
	}
	fail_tx_queue(&ni->tx_queue, -ESHUTDOWN, LX_HSTATUS_LOCAL_ABORTED);
	lx_msg_fail_queue(&doomed, -ESHUTDOWN, LX_HSTATUS_LOCAL_ABORTED);
}

void lx_msg_fail_peer(struct lx_peer_ni *pni)
{
	/* Before the answers that its requests wait for. */
	lx_parse_drop_from(pni);
	/* A NID that is gone is not the fault of our NI; that its net went down is. */
	fail_tx_queue(&pni->tx_queue, -ESHUTDOWN,
		      pni->net ? LX_HSTATUS_LOCAL_ABORTED : LX_HSTATUS_REMOTE_DROPPED);
}

/* ---- the path --------------------------------------------------------------------- */

static void take_path(struct lx_core_msg *msg, const struct lx_path *path)
{
	struct lx_hdr *hdr = &msg->m.hdr;

	msg->txni = path->ni;
	lx_ni_get(msg->txni);
	hdr->dst_nid = path->dst;
	if (!msg->m.routing)
		hdr->src_nid = path->ni->ni.nid;
	if (!path->next_hop) {
		msg->m.target = (struct lx_id){ path->dst, hdr->dst_pid };
		return;
	}
	msg->txpeer = path->next_hop;
	lx_peer_ni_get(msg->txpeer);
	if (msg->awaits)
		lx_track_sent(msg->md, path->next_hop);
	msg->m.target.nid = path->next_hop->nid;
	msg->m.target.pid = path->via_gateway ? LX_PID_LUSTRE : hdr->dst_pid;
	msg->m.target_is_router = path->via_gateway;
	msg->m.slow = msg->core->faults.n && lx_fault_watches(msg->core, &hdr->dst_nid);
	if (hdr->type == LX_MSG_GET && msg->md && path->ni->ni.lnd->can_rdma_get &&
	    !path->via_gateway && !(lx_peer_of(path->next_hop)->state & LX_PEER_ROUTER_ENABLED))
		msg->m.sink = lx_md_payload(msg->md, 0, msg->md->length);
}

/* Queues the message until its peer is discovered, if it has to be (lnet.md 11.1). */
static bool wait_for_discovery(struct lx_core_msg *msg, struct lx_peer *peer)
{
	struct lx_core *core = msg->core;

	if (msg->response || msg->m.routing || msg->discovered || is_reserved(msg) ||
	    core->tun.lnet_peer_discovery_disabled || (peer->state & LX_PEER_RTR_DISCOVERY) ||
	    lx_peer_uptodate(peer))
		return false;
	msg->phase = LX_PHASE_PENDING;
	msg->discovered = true;
	lx_list_append(&peer->pending, &msg->link);
	lx_peer_discover(peer);
	return true;
}

/* An NI reaches our NIDs on its own net; every NI reaches 0@lo (lnet.md 11.1). */
static bool source_reaches_self(const struct lx_core_msg *msg, const struct lx_nid *dst)
{
	return msg->response || lx_nid_is_any(&msg->src_param) || dst->type == LX_NET_LO ||
	       lx_nid_net(&msg->src_param) == lx_nid_net(dst);
}

bool lx_msg_stays_inside(struct lx_core *core, const struct lx_nid *dst)
{
	const struct lx_core_ni *ni = lx_ni_lookup(core, dst);

	return ni && !ni->ni.lnd->connects_to_self;
}

static int select_path(const struct lx_core_msg *msg, struct lx_peer_ni *dst,
		       struct lx_path *ret_path)
{
	bool forwarded = msg->m.routing;
	const struct lx_path_request req = {
		.dst = dst,
		.src = &msg->src_param,
		.gateway = &msg->rtr_param,
		.origin = &msg->m.hdr.src_nid,
		.avoid = msg->avoid,
		.reserved = is_reserved(msg),
		.dst_given = msg->md && !msg->response &&
			     (msg->md->as_given || (msg->md->first_given && !msg->resends)),
		.forwarded = forwarded,
		.previous = forwarded && msg->rxpeer->net ? lx_peer_of(msg->rxpeer) : NULL,
	};

	return lx_select_path(msg->core, &req, ret_path);
}

static int route(struct lx_core_msg *msg)
{
	struct lx_core *core = msg->core;
	struct lx_nid *dst = &msg->m.hdr.dst_nid;
	struct lx_path path = { .ni = core->lo, .dst = lx_nid_lo };
	struct lx_peer_ni *pni;
	int r;

	if (core->stopping && !msg->response)
		return -ESHUTDOWN;
	if (!msg->m.routing && lx_msg_stays_inside(core, dst)) {
		if (!source_reaches_self(msg, dst))
			return -EHOSTUNREACH;
		take_path(msg, &path);
		return 0;
	}
	r = lx_peer_ni_obtain(core, dst, &pni);
	if (r)
		return r;
	if (wait_for_discovery(msg, lx_peer_of(pni)))
		return -EINPROGRESS;
	r = select_path(msg, pni, &path);
	if (r == -ELOOP)
		lx_loop_refused(msg, path.next_hop);
	if (r)
		return r;
	take_path(msg, &path);
	if (msg->m.routing && msg->m.target_is_router)
		lx_loop_watch(msg);
	return 0;
}

/*
 * The sender of a request or of a message to be forwarded is not told; it times out. So log
 * what is missing here, once a minute for each net.
 */
static void report_no_route(struct lx_core_msg *msg)
{
	const struct lx_hdr *hdr = &msg->m.hdr;
	uint32_t net = lx_nid_net(&hdr->dst_nid);
	struct lx_core *core = msg->core;
	unsigned int missed;

	if ((!msg->response && !msg->m.routing) ||
	    !lx_ratelimit(&core->no_route, net, lx_core_now(core), LX_RATELIMIT_MINUTE, &missed))
		return;
	lx_warn("net=%s from=%s to=%s by=%s missed=%u reason=\"%s: %s\" next=\"lnetx route %s\"",
		lx_net_str(net), lx_nid_str(&hdr->src_nid), lx_nid_str(&hdr->dst_nid),
		msg->rxpeer ? lx_nid_str(&msg->rxpeer->nid)
			    : lx_nid_is_any(&msg->rtr_param) ? "" : lx_nid_str(&msg->rtr_param),
		missed,
		msg->response ? "a request cannot be answered" : "a message cannot be forwarded",
		lx_rnet_lookup(core, net) ? "no live route leads to it"
					  : "no route to its net is configured",
		lx_rnet_lookup(core, net) ? "show" : "add");
}

/* No path: sets whose fault it is, and the drop reason if the sender is not told. */
static void note_no_path(struct lx_core_msg *msg, int error)
{
	msg->m.hstatus = LX_HSTATUS_LOCAL_ERROR;
	if (error == -ELOOP)
		msg->drop = LX_REASON_LOOP;
	if (error != -EHOSTUNREACH)
		return;
	/* If all routes are down, the gateways are at fault. */
	msg->m.hstatus = lx_rnet_lookup(msg->core, lx_nid_net(&msg->m.hdr.dst_nid))
				 ? LX_HSTATUS_REMOTE_ERROR
				 : LX_HSTATUS_LOCAL_NO_ROUTE;
	if (msg->transit || msg->response)
		msg->drop = LX_REASON_NO_ROUTE;
	report_no_route(msg);
}

void lx_msg_route(struct lx_core_msg *msg)
{
	int r = route(msg);

	if (!r) {
		lx_credit_send(msg);
	} else if (r != -EINPROGRESS) {
		note_no_path(msg, r);
		lx_msg_finish(msg, r);
	}
}

/* ---- requests ------------------------------------------------------------------------ */

static int request_new(struct lx_core *core, const struct lx_nid *self, struct lx_md *md,
		       const struct lx_id *target, uint32_t portal, enum lx_response awaits,
		       bool internal, struct lx_core_msg **ret_msg)
{
	struct lx_core_msg *msg;
	int r;

	if (core->stopping || (core->draining && !internal))
		return -ESHUTDOWN;
	if (portal >= LX_PORTALS || md->length > LX_PAYLOAD_MAX || lx_nid_is_any(&target->nid))
		return -EINVAL;
	msg = lx_msg_new(core);
	if (!msg)
		return -ENOMEM;
	r = lx_md_take_request(md, awaits);
	if (r) {
		msg_free(msg);
		return r;
	}
	lx_md_get(md);
	msg->md = md;
	msg->awaits = awaits;
	msg->internal = internal;
	if (self)
		msg->src_param = *self;
	msg->m.deadline_ns = lx_core_tunables_deadline(core);
	msg->dst_param = target->nid;
	msg->m.hdr.dst_nid = target->nid;
	msg->m.hdr.dst_pid = target->pid;
	msg->m.hdr.src_pid = LX_PID_LUSTRE;
	msg->event = (struct lx_event){
		.type = LX_EVENT_SEND,
		.target = *target,
		.initiator = { .nid = msg->src_param, .pid = LX_PID_LUSTRE },
		.source = msg->src_param,
		.sender = msg->src_param,
		.portal = portal,
		.rlength = md->length,
		.mlength = md->length,
	};
	*ret_msg = msg;
	return 0;
}

int lx_msg_put(struct lx_core *core, const struct lx_nid *self, struct lx_md *md, bool ack,
	       const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	       uint64_t hdr_data, bool internal)
{
	struct lx_core_msg *msg;
	struct lx_hdr *hdr;
	int r;

	r = request_new(core, self, md, target, portal, ack ? LX_RESPONSE_ACK : LX_RESPONSE_NONE,
			internal, &msg);
	if (r)
		return r;
	hdr = &msg->m.hdr;
	hdr->type = LX_MSG_PUT;
	hdr->payload_length = md->length;
	hdr->cmd.put.ack_md = LX_WIRE_HANDLE_NONE;
	if (ack) {
		struct lx_wire_handle wire;

		lx_md_wire(md, &wire);
		hdr->cmd.put.ack_md = wire;
	}
	hdr->cmd.put.match_bits = lx_le64(match_bits);
	hdr->cmd.put.hdr_data = hdr_data;
	hdr->cmd.put.portal = lx_le32(portal);
	hdr->cmd.put.offset = lx_le32(offset);
	msg->m.payload = lx_md_payload(md, 0, md->length);
	msg->event.match_bits = match_bits;
	msg->event.hdr_data = hdr_data;
	msg->event.msg_type = LX_MSG_PUT;
	if (ack)
		lx_track_start(msg);
	lx_msg_route(msg);
	return 0;
}

int lx_msg_get(struct lx_core *core, const struct lx_nid *self, struct lx_md *md,
	       const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	       bool internal)
{
	struct lx_wire_handle wire;
	struct lx_core_msg *msg;
	struct lx_hdr *hdr;
	int r;

	r = request_new(core, self, md, target, portal, LX_RESPONSE_REPLY, internal, &msg);
	if (r)
		return r;
	hdr = &msg->m.hdr;
	hdr->type = LX_MSG_GET;
	lx_md_wire(md, &wire);
	hdr->cmd.get.return_md = wire;
	hdr->cmd.get.match_bits = lx_le64(match_bits);
	hdr->cmd.get.portal = lx_le32(portal);
	hdr->cmd.get.src_offset = lx_le32(offset);
	hdr->cmd.get.sink_length = lx_le32((uint32_t)md->length);
	msg->event.match_bits = match_bits;
	msg->event.msg_type = LX_MSG_GET;
	lx_track_start(msg);
	lx_msg_route(msg);
	return 0;
}
