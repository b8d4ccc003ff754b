/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests to test nodes, as consoles make them: started on the main thread, completed by the node
 * on one of its threads; the result comes back through a list and uv_async, as for probes. What
 * the requests mean is up to the client: lnetxd keeps no session.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../ctl/codec.h"
#include "../selftest/ask.h"
#include "ask.h"
#include "change.h"
#include "results.h"

#define TIMEOUT_MAX_MS 300000

struct ask {
	struct lx_result result;
	struct lx_results *results;
	struct lx_client *client; /* NULL: it has left */
	struct lx_nid nid;
	struct lx_lst_ask *lst;
	uv_timer_t timer;
	int status;
	struct lx_lst_msg reply;
};

/* On a thread of the node. */
static void on_result(int status, const struct lx_lst_msg *reply, void *arg)
{
	struct ask *a = arg;

	a->status = status;
	if (reply)
		a->reply = *reply;
	lx_results_put(a->results, &a->result);
}

/* ---- the answer ----------------------------------------------------------------------------- */

static void take_session(const struct lx_lst_sid *sid, const char *name,
			 struct lx_ctl_answer *answer)
{
	memcpy(answer->name, name, sizeof(answer->name));
	if (!lx_lst_sid_is_none(sid))
		lx_nid_from_u64(sid->nid, &answer->console);
}

static void take_counters(const struct lx_lst_msg *reply, struct lx_ctl_answer *answer)
{
	const struct lx_lst_rpc_counters *rpc = &reply->stat_reply.rpc;
	const struct lx_lst_lnet_counters *lnet = &reply->stat_reply.lnet;

	answer->brw_errors = reply->stat_reply.framework.brw_errors;
	answer->ping_errors = reply->stat_reply.framework.ping_errors;
	answer->rpc_errors = rpc->errors;
	answer->sent = rpc->sent;
	answer->rcvd = rpc->rcvd;
	answer->dropped = rpc->dropped;
	answer->expired = rpc->expired;
	answer->bulk_get = rpc->bulk_get;
	answer->bulk_put = rpc->bulk_put;
	answer->running_ms = reply->stat_reply.framework.running_ms;
	answer->send_count = lnet->send_count;
	answer->recv_count = lnet->recv_count;
	answer->send_length = lnet->send_length;
	answer->recv_length = lnet->recv_length;
}

static void describe(const struct ask *a, struct lx_ctl_answer *answer)
{
	const struct lx_lst_msg *reply = &a->reply;

	answer->nid = a->nid;
	answer->console = lx_nid_any;
	answer->status = reply->status;
	switch (reply->type - 1) {
	case LX_LST_MAKE_SESSION_REQ:
		answer->timeout_s = reply->make_reply.timeout;
		take_session(&reply->make_reply.sid, reply->make_reply.name, answer);
		break;
	case LX_LST_DEBUG_REQ:
		answer->timeout_s = reply->debug_reply.timeout;
		take_session(&reply->debug_reply.sid, reply->debug_reply.name, answer);
		break;
	case LX_LST_BATCH_REQ:
		answer->active = reply->batch_reply.active;
		break;
	case LX_LST_STAT_REQ:
		take_counters(reply, answer);
		break;
	}
}

static void refuse(struct ask *a, int err)
{
	struct lx_node *node = a->client->daemon->node;
	char hop[LX_REACH_TEXT] = "";

	if (node)
		lx_reach_explain(node, &a->nid, NULL, hop, sizeof(hop));
	lx_client_reply(
		a->client, err, "ask",
		"test node %s does not answer: %s%s%s; next: lnetx ping %s, "
		"and is its selftest on (lnetx selftest on; Lustre: modprobe lnet_selftest)",
		lx_nid_str(&a->nid), strerror(-err), *hop ? ": " : "", hop, lx_nid_str(&a->nid));
}

static void answer(struct ask *a)
{
	struct lx_ctl_answer *row;
	struct lx_rows rows;
	struct lx_dump *dump;
	int err = a->status;

	if (!a->client)
		return;
	if (!err) {
		row = lx_rows_one(&rows, sizeof(*row));
		err = row ? 0 : -ENOMEM;
		if (row)
			describe(a, row);
		if (row)
			err = lx_dump_new(&lx_object_answers, LX_LEVEL_OWN, &rows, &dump);
	}
	if (err)
		refuse(a, err);
	else
		lx_client_dump(a->client, dump);
}

static void timer_closed(uv_handle_t *handle)
{
	struct ask *a = handle->data;

	lx_lst_ask_free(a->lst);
	free(a);
}

static void deliver(struct lx_result *result)
{
	struct ask *a = lx_container_of(result, struct ask, result);

	answer(a);
	uv_close((uv_handle_t *)&a->timer, timer_closed);
}

static void on_timeout(uv_timer_t *timer)
{
	struct ask *a = timer->data;

	lx_lst_ask_give_up(a->lst, -ETIMEDOUT);
}

/* ---- the request ---------------------------------------------------------------------------- */

/* A test's parameters; those of a ping are not looked at by anybody. */
static void fill_test(const struct lx_ctl_ask *req, struct lx_lst_msg *msg)
{
	msg->test.batch = req->batch;
	msg->test.service = req->test_service;
	msg->test.loop = req->loop;
	msg->test.concurrency = req->concurrency;
	msg->test.is_client = req->client;
	msg->test.stop_on_error = 1; /* as the reference's console */
	if (req->test_service != LX_LST_BRW)
		return;
	msg->test.params.bulk.rw = req->rw;
	msg->test.params.bulk.flags = req->check;
	msg->test.params.bulk.length = req->length;
	msg->test.params.bulk.offset = req->offset;
}

/* In all requests of the framework the session is in its place, but not in the same one. */
static int fill(const struct lx_ctl_ask *req, struct lx_lst_msg *msg)
{
	struct lx_lst_sid sid = { lx_nid_to_u64(&req->console), req->stamp };
	int type = lx_lst_wire_request_type(req->service);

	if (type < 0 || lx_lst_wire_portal(req->service) != LX_LST_PORTAL_FRAMEWORK)
		return -EINVAL;
	lx_lst_wire_init(msg, type, LX_LST_FEATURES);
	switch (type) {
	case LX_LST_MAKE_SESSION_REQ:
		msg->make.sid = sid;
		msg->make.force = req->force;
		memcpy(msg->make.name, req->name, sizeof(msg->make.name));
		break;
	case LX_LST_BATCH_REQ:
		msg->batch.sid = sid;
		msg->batch.batch = req->batch;
		msg->batch.op = req->op;
		msg->batch.test = req->test;
		msg->batch.arg = req->force;
		break;
	case LX_LST_TEST_REQ:
		msg->test.sid = sid;
		fill_test(req, msg);
		break;
	case LX_LST_REMOVE_SESSION_REQ:
	case LX_LST_STAT_REQ:
	case LX_LST_DEBUG_REQ:
		msg->remove.sid = sid; /* the same place in these three */
		break;
	default:
		return -EINVAL; /* join: consoles serve it */
	}
	return 0;
}

static int check(const struct lx_ctl_ask *req, char *text, size_t size)
{
	if (lx_nid_is_any(&req->nid) || !lx_nid_is_nid4(&req->nid) ||
	    lx_nid_is_any(&req->console) || !lx_nid_is_nid4(&req->console)) {
		snprintf(text, size, "LNet selftest has NIDs of 4-byte addresses only");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < req->n_dests; i++) {
		if (!lx_nid_is_nid4(&req->dest[i])) {
			snprintf(text, size, "%s: LNet selftest has NIDs of 4-byte addresses only",
				 lx_nid_str(&req->dest[i]));
			return -EINVAL;
		}
	}
	return 0;
}

static int begin(struct lx_daemon *d, const struct lx_ctl_ask *req, struct ask *a)
{
	const struct lx_id to = { req->nid, LX_PID_LUSTRE };
	struct lx_lst_dest dest[LX_CTL_NIDS_MAX];
	struct lx_lst_msg msg;
	int err = fill(req, &msg);

	for (uint32_t i = 0; i < req->n_dests; i++)
		dest[i] = (struct lx_lst_dest){ lx_nid_to_u64(&req->dest[i]), LX_PID_LUSTRE };
	return err ? err
		   : lx_lst_ask_new(d->node, &to, req->service, &msg, req->n_dests ? dest : NULL,
				    req->n_dests, on_result, a, &a->lst);
}

void lx_ask_request(struct lx_client *client, const void *attrs, size_t len)
{
	struct lx_daemon *d = client->daemon;
	struct lx_ctl_ask *req = calloc(1, sizeof(*req));
	struct ask *a = calloc(1, sizeof(*a));
	char text[200] = "";
	int err = req && a ? 0 : -ENOMEM;

	client->flags |= NLM_F_DUMP;
	if (!err)
		err = lx_codec_get(attrs, len, &lx_object_ask_schema, req, text, sizeof(text));
	if (!err)
		err = check(req, text, sizeof(text));
	if (!err && !d->node)
		err = lx_change_no_node(d, text, sizeof(text));
	if (!err) {
		a->results = d->results;
		a->result.deliver = deliver;
		a->nid = req->nid;
		a->timer.data = a;
		err = begin(d, req, a);
	}
	if (err) {
		lx_client_reply(client, err, "ask", "%s", *text ? text : strerror(-err));
		free(a);
	} else {
		lx_client_wait(client, &a->client);
		uv_timer_init(d->loop, &a->timer);
		uv_timer_start(&a->timer, on_timeout,
			       req->timeout_ms && req->timeout_ms < TIMEOUT_MAX_MS
				       ? req->timeout_ms
				       : TIMEOUT_MAX_MS,
			       0);
	}
	free(req);
}
