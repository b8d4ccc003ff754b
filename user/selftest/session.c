/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The session and requests of consoles; see the header. Called by server.c. A node has at most one
 * session; ended sessions that still drain are zombies (batch.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

static const char *console_of(const struct lx_lst_sid *sid, char *buf)
{
	struct lx_nid nid;

	lx_nid_from_u64(sid->nid, &nid);
	return lx_nid_format(&nid, buf, LX_NID_TEXT);
}

/* Names come from a peer: replace characters that are syntax in the log. */
static const char *tame(const char *name, char *buf)
{
	size_t i;

	for (i = 0; name[i] && i < LX_LST_NAME - 1; i++)
		buf[i] = name[i] > ' ' && name[i] < 0x7f && name[i] != '"' ? name[i] : '?';
	buf[i] = '\0';
	return buf;
}

void lx_lst_session_end(struct lx_selftest *s, const char *why)
{
	struct lx_lst_session *session = s->session;
	char nid[LX_NID_TEXT], name[LX_LST_NAME];

	if (!session)
		return;
	s->session = NULL;
	lx_lst_service_note(s, "selftest=\"session ends\" name=\"%s\" console=%s reason=\"%s\"",
			    tame(session->name, name), console_of(&session->sid, nid), why);
	lx_lst_batch_end(session);
}

static int session_new(struct lx_selftest *s, const struct lx_lst_msg *request)
{
	struct lx_lst_session *session = calloc(1, sizeof(*session));
	char nid[LX_NID_TEXT], name[LX_LST_NAME];

	if (!session)
		return -ENOMEM;
	session->s = s;
	session->sid = request->make.sid;
	session->features = request->features;
	session->refs = 1;
	session->started_ns = session->touched_ns = lx_lst_service_now(s);
	memcpy(session->name, request->make.name, sizeof(session->name));
	lx_list_init(&session->batches);
	lx_list_init(&session->link);
	s->session = session;
	lx_lst_service_note(s, "selftest=\"session begins\" name=\"%s\" console=%s",
			    tame(session->name, name), console_of(&session->sid, nid));
	return 0;
}

static bool is_own(const struct lx_selftest *s, const struct lx_lst_sid *sid)
{
	return s->session && lx_lst_sid_eq(&s->session->sid, sid);
}

/* ---- make, remove (4) --------------------------------------------------------------- */

static int make_session(struct lx_selftest *s, const struct lx_lst_msg *request,
			struct lx_lst_msg *reply)
{
	int err;

	if (lx_lst_sid_is_none(&request->make.sid))
		return EINVAL;
	if (is_own(s, &request->make.sid)) {
		s->session->refs++;
		return 0;
	}
	if (s->session && !request->make.force) {
		memcpy(reply->make_reply.name, s->session->name, LX_LST_NAME);
		return EBUSY;
	}
	if (request->features & ~LX_LST_FEATURES) {
		reply->features = LX_LST_FEATURES;
		return EPROTO;
	}
	lx_lst_session_end(s, "another console took over");
	err = session_new(s, request);
	return -err;
}

static int remove_session(struct lx_selftest *s, const struct lx_lst_msg *request)
{
	if (lx_lst_sid_is_none(&request->remove.sid))
		return EINVAL;
	if (!s->session)
		return ESRCH;
	if (!is_own(s, &request->remove.sid))
		return EBUSY;
	if (!--s->session->refs)
		lx_lst_session_end(s, "its console ended it");
	return 0;
}

/* ---- tests, batches (5) ----------------------------------------------------------------- */

static bool test_is_valid(const struct lx_lst_msg *request)
{
	if (!request->test.loop || !request->test.concurrency ||
	    request->test.concurrency > LX_LST_CONCURRENCY_MAX ||
	    lx_lst_sid_is_none(&request->test.sid) || request->test.ndest > LX_LST_DESTS_MAX)
		return false;
	if (request->test.is_client && !request->test.ndest)
		return false;
	return request->test.service == LX_LST_BRW || request->test.service == LX_LST_PING;
}

/* Returns a positive errno, or 0 with @ret_fetch set if the destinations are missing. */
static int add_test(struct lx_selftest *s, const struct lx_lst_msg *request, const void *bulk,
		    size_t len, size_t *ret_fetch)
{
	struct lx_lst_batch *batch;
	int err;

	if (!test_is_valid(request))
		return EINVAL;
	if (!is_own(s, &request->test.sid))
		return ENOENT;
	err = lx_lst_batch_get(s->session, request->test.batch, &batch);
	if (err)
		return -err;
	if (batch->active_tests)
		return EBUSY;
	if (request->test.is_client && !bulk) {
		*ret_fetch = lx_lst_wire_dests_bytes(request->test.ndest, request->features);
		return 0;
	}
	return -lx_lst_batch_add(batch, request, bulk, len);
}

static int query_batch(const struct lx_lst_batch *batch, const struct lx_lst_msg *request,
		       struct lx_lst_msg *reply)
{
	int active = batch->active_tests;

	if ((int32_t)request->batch.test < 0)
		return EINVAL;
	if (request->batch.test)
		active = lx_lst_batch_query(batch, request->batch.test);
	if (active < 0)
		return -active;
	reply->batch_reply.active = active;
	return 0;
}

static enum lx_lst_verdict control_batch(struct lx_selftest *s, const struct lx_lst_msg *request,
					 struct lx_lst_msg *reply)
{
	struct lx_lst_batch *batch;
	uint32_t op = request->batch.op;

	if (!is_own(s, &request->batch.sid)) {
		reply->status = ESRCH;
		return LX_LST_ANSWER;
	}
	batch = lx_lst_batch_lookup(s->session, request->batch.batch);
	if (!batch)
		reply->status = ENOENT;
	else if (op == LX_LST_BATCH_RUN)
		lx_lst_batch_run(batch);
	else if (op == LX_LST_BATCH_STOP)
		lx_lst_batch_stop(batch, request->batch.arg != 0);
	else if (op == LX_LST_BATCH_QUERY)
		reply->status = query_batch(batch, request, reply);
	else
		return LX_LST_IGNORE;
	return LX_LST_ANSWER;
}

/* ---- stat, debug (6) ----------------------------------------------------------------------- */

static void count_lnet(struct lx_selftest *s, struct lx_lst_lnet_counters *ret)
{
	struct lx_stats stats;

	lx_stats_get(s->node, &stats);
	*ret = (struct lx_lst_lnet_counters){
		.msgs_alloc = stats.msgs_alloc,
		.msgs_max = stats.msgs_max,
		.errors = stats.errors,
		.send_count = stats.send_count,
		.recv_count = stats.recv_count,
		.route_count = stats.route_count,
		.drop_count = stats.drop_count,
		.send_length = stats.send_length,
		.recv_length = stats.recv_length,
		.route_length = stats.route_length,
		.drop_length = stats.drop_length,
	};
}

static int stat(struct lx_selftest *s, const struct lx_lst_msg *request, struct lx_lst_msg *reply)
{
	const struct lx_lst_session *session = s->session;

	if (lx_lst_sid_is_none(&request->stat.sid))
		return EINVAL;
	if (!is_own(s, &request->stat.sid))
		return ESRCH;
	reply->stat_reply.framework = (struct lx_lst_framework_counters){
		.running_ms = (lx_lst_service_now(s) - session->started_ns) / 1000000,
		.active_batches = session->active_batches,
		.zombie_sessions = lx_list_count(&s->zombies),
		.brw_errors = session->brw_errors,
		.ping_errors = session->ping_errors,
	};
	reply->stat_reply.rpc = s->rpc;
	count_lnet(s, &reply->stat_reply.lnet);
	return 0;
}

static void debug(struct lx_selftest *s, struct lx_lst_msg *reply)
{
	if (!s->session)
		return;
	reply->debug_reply.timeout = s->tun.session_timeout;
	reply->debug_reply.batches = s->session->n_batches;
	memcpy(reply->debug_reply.name, s->session->name, LX_LST_NAME);
}

/* ---- all requests ----------------------------------------------------------------------- */

/* Features that only make session and debug may change (2). */
static bool features_fit(const struct lx_selftest *s, const struct lx_lst_msg *request,
			 struct lx_lst_msg *reply)
{
	if (request->type == LX_LST_MAKE_SESSION_REQ)
		return true;
	if (request->type == LX_LST_DEBUG_REQ || !s->session) {
		if (!(request->features & ~LX_LST_FEATURES))
			return true;
		reply->features = LX_LST_FEATURES;
		return false;
	}
	return request->features == s->session->features;
}

static enum lx_lst_verdict serve(struct lx_selftest *s, const struct lx_lst_msg *request,
				 const void *bulk, size_t len, struct lx_lst_msg *reply,
				 size_t *ret_fetch)
{
	size_t fetch = 0;

	switch (request->type) {
	case LX_LST_MAKE_SESSION_REQ:
		reply->status = make_session(s, request, reply);
		break;
	case LX_LST_REMOVE_SESSION_REQ:
		reply->status = remove_session(s, request);
		break;
	case LX_LST_TEST_REQ:
		reply->status = add_test(s, request, bulk, len, &fetch);
		break;
	case LX_LST_BATCH_REQ:
		return control_batch(s, request, reply);
	case LX_LST_STAT_REQ:
		reply->status = stat(s, request, reply);
		break;
	case LX_LST_DEBUG_REQ:
		debug(s, reply);
		break;
	default:
		return LX_LST_IGNORE;
	}
	*ret_fetch = fetch;
	return fetch ? LX_LST_FETCH : LX_LST_ANSWER;
}

enum lx_lst_verdict lx_lst_session_request(struct lx_selftest *s, const struct lx_lst_msg *request,
					   const void *bulk, size_t len, struct lx_lst_msg *reply,
					   size_t *ret_fetch)
{
	enum lx_lst_verdict verdict = LX_LST_ANSWER;

	if (s->session) {
		s->session->touched_ns = lx_lst_service_now(s);
		reply->features = s->session->features;
	}
	if (features_fit(s, request, reply))
		verdict = serve(s, request, bulk, len, reply, ret_fetch);
	else
		reply->status = EPROTO;
	/* Every reply of the framework names the current session. */
	reply->reply.sid = s->session ? s->session->sid : LX_LST_SID_NONE;
	if (request->type == LX_LST_MAKE_SESSION_REQ && s->session) {
		reply->make_reply.timeout = s->tun.session_timeout;
		if (reply->status != EPROTO)
			reply->features = s->session->features;
	}
	return verdict;
}

void lx_lst_session_tick(struct lx_selftest *s, uint64_t now_ns)
{
	char why[80];

	if (!s->session)
		return;
	if (now_ns - s->session->touched_ns >= s->tun.session_timeout * LX_LST_SECOND) {
		snprintf(why, sizeof(why), "no request of a console for %u s",
			 (unsigned int)s->tun.session_timeout);
		lx_lst_session_end(s, why);
		return;
	}
	lx_lst_batch_tick(s->session);
}
