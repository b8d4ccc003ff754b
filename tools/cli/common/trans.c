/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine of consoles; see the header. Each node has a connection to lnetxd of its own, so that
 * one that does not answer does not hold up the others. Called by lst*.c, keeper.c,
 * selftest_run.c and fabric_load.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/clock.h"
#include "../../../user/ctl/ctl.h"
#include "../../../user/ctl/request.h"
#include "../../../user/schema/requests.h"
#include "console.h"
#include "json.h"
#include "session.h"
#include "trans.h"
#include "tree.h"

double lx_trans_now(void)
{
	return lx_clock_ns(CLOCK_MONOTONIC) / 1e9;
}

int64_t lx_trans_stamp(void)
{
	return lx_clock_ns(CLOCK_REALTIME) / LX_MS_NS;
}

/* ---- nodes ------------------------------------------------------------------------------ */

int lx_trans_new(struct lx_trans *t, const char *address, size_t max)
{
	*t = (struct lx_trans){ .address = address, .one = calloc(max + 1, sizeof(*t->one)) };
	return t->one ? 0 : -ENOMEM;
}

void lx_trans_of(struct lx_trans *t, const char *address, const json_t *console, const json_t *nids,
		 int64_t timeout_s)
{
	struct lx_ctl_ask base = {
		.stamp = lx_json_int(console, "stamp"),
		.timeout_ms = (timeout_s ? timeout_s : LX_TRANS_TIMEOUT_S) * 1000,
	};
	int err = lx_trans_new(t, address, json_array_size(nids));
	struct lx_nid nid;
	json_t *text;
	size_t i;

	if (err || lx_nid_parse(lx_json_text(console, "console"), &base.console))
		return;
	json_array_foreach (nids, i, text) {
		if (!lx_nid_parse(json_string_value(text), &nid))
			lx_trans_add(t, &base, &nid);
	}
}

struct lx_trans_one *lx_trans_add(struct lx_trans *t, const struct lx_ctl_ask *base,
				  const struct lx_nid *nid)
{
	struct lx_trans_one *one = &t->one[t->n++];

	one->req = *base;
	one->req.nid = one->serves_at = *nid;
	snprintf(one->nid, sizeof(one->nid), "%s", lx_nid_str(nid));
	return one;
}

struct lx_trans lx_trans_part(const struct lx_trans *t, size_t first, size_t n)
{
	return (struct lx_trans){ t->address, t->one + first, t->n - first < n ? t->n - first : n };
}

void lx_trans_free(struct lx_trans *t)
{
	lx_trans_for_each (one, t) {
		json_decref(one->row);
		json_decref(one->begin);
		json_decref(one->now);
	}
	free(t->one);
	*t = (struct lx_trans){ 0 };
}

/* ---- a request -------------------------------------------------------------------------- */

static void set(json_t **slot, json_t *value)
{
	json_decref(*slot);
	*slot = json_incref(value);
}

static int receive(struct lx_ctl *ctl, struct lx_trans_one *one)
{
	json_t *list = json_array();
	const void *attrs;
	size_t len;
	int more;

	while ((more = lx_ctl_receive(ctl, &attrs, &len)) == 1)
		lx_tree_add(list, &lx_object_answers, attrs, len, LX_LEVEL_OWN);
	one->heard_s = lx_trans_now();
	set(&one->row, json_array_get(list, 0));
	json_object_set_new(one->row, "at_s", json_real(one->heard_s));
	json_decref(list);
	if (!more && !one->row)
		return -EPROTO;
	one->status = lx_json_int(one->row, "status");
	return more;
}

static void ask_window(const struct lx_trans *t)
{
	struct lx_ctl *ctl[LX_TRANS_WINDOW] = { NULL }, **c = ctl;

	lx_trans_for_each (one, t) {
		if (!one->failed) {
			set(&one->row, NULL);
			one->status = 0;
			one->err = lx_session_ctl_new(t->address, c);
		}
		if (*c)
			one->err = lx_ctl_start_with(*c, LX_CTL_SHOW, LX_CTL_ASK, &one->req, NULL);
		c++;
	}
	c = ctl;
	lx_trans_for_each (one, t) {
		if (*c && !one->err)
			one->err = receive(*c, one);
		if (*c)
			strcpy(one->why, lx_ctl_why(*c)->text);
		one->failed |= one->err || one->status;
		lx_ctl_free(*c++);
	}
}

size_t lx_trans_ask(struct lx_trans *t, enum lx_lst_service service)
{
	size_t failed = 0;

	lx_trans_for_each (one, t) {
		one->req.service = service;
		failed -= one->failed;
	}
	for (size_t i = 0; i < t->n; i += LX_TRANS_WINDOW) {
		struct lx_trans some = lx_trans_part(t, i, LX_TRANS_WINDOW);

		ask_window(&some);
	}
	lx_trans_for_each (one, t)
		failed += one->failed;
	return failed;
}

void lx_trans_refusal(const struct lx_trans_one *one, const char *what, char *text, size_t size)
{
	const char *console = lx_json_text(one->row, "console");
	bool joins = one->req.service == LX_LST_MAKE_SESSION;

	if (joins && one->status == EPERM)
		snprintf(text, size,
			 "does not let this node be a console; next, there: "
			 "lnetx selftest on consoles %s",
			 lx_nid_str(&one->req.console));
	else if (joins && one->status == EBUSY)
		snprintf(text, size, "is in session \"%s\" of console %s",
			 lx_json_text(one->row, "session"), *console ? console : "?");
	else
		snprintf(text, size, "refuses to %s: %s", what, strerror(one->status));
}

/* ---- session ---------------------------------------------------------------------------- */

size_t lx_trans_join(struct lx_trans *t, const char *name, bool force)
{
	size_t failed;

	lx_trans_for_each (one, t) {
		snprintf(one->req.name, sizeof(one->req.name), "%s", name);
		one->req.force = force;
	}
	failed = lx_trans_ask(t, LX_LST_MAKE_SESSION);
	lx_trans_for_each (one, t)
		one->joined = !one->failed;
	return failed;
}

size_t lx_trans_leave(struct lx_trans *t)
{
	lx_trans_for_each (one, t)
		one->failed = !one->joined;
	return lx_trans_ask(t, LX_LST_REMOVE_SESSION);
}

/* ---- tests ------------------------------------------------------------------------------ */

uint32_t lx_trans_check(const char *word)
{
	static const char *const names[] = { "none", "simple", "full" };

	for (int i = 0; i < 3; i++) {
		if (!strcmp(word, names[i]))
			return LX_LST_CHECK_NONE + i;
	}
	return 0;
}

static void set_test(struct lx_ctl_ask *req, const struct lx_trans_test *test)
{
	req->test_service = test->service;
	req->rw = test->rw;
	req->check = test->check;
	req->length = test->length;
	req->offset = test->offset;
	req->loop = test->loop;
	req->concurrency = test->concurrency;
}

/* Of a server part "loop" is how many requests may come at a time. */
size_t lx_trans_serve(struct lx_trans *t, const struct lx_trans_test *test, size_t clients)
{
	lx_trans_for_each (one, t) {
		set_test(&one->req, test);
		one->req.loop = test->concurrency * clients;
	}
	return lx_trans_ask(t, LX_LST_TEST);
}

size_t lx_trans_test(struct lx_trans *t, const struct lx_trans_test *test,
		     const struct lx_trans *servers)
{
	size_t *dest = calloc(servers->n + 1, sizeof(*dest)), failed;

	lx_trans_for_each (one, t) {
		size_t n = dest ? lx_console_dests(one - t->one, test->dist, test->span, servers->n,
						   dest)
				: 0;

		set_test(&one->req, test);
		one->req.client = true;
		for (size_t i = 0; i < n && i < LX_CTL_NIDS_MAX; i++)
			one->req.dest[one->req.n_dests++] = servers->one[dest[i]].serves_at;
	}
	free(dest);
	failed = lx_trans_ask(t, LX_LST_TEST);
	lx_trans_for_each (one, t)
		one->req.n_dests = 0; /* no other request may have them */
	return failed;
}

size_t lx_trans_batch(struct lx_trans *t, uint32_t op, bool force)
{
	size_t failed;

	lx_trans_for_each (one, t) {
		one->req.op = op;
		one->req.force = force;
	}
	failed = lx_trans_ask(t, LX_LST_BATCH);
	lx_trans_for_each (one, t)
		one->idle = op == LX_LST_BATCH_QUERY && !lx_json_int(one->row, "active");
	return failed;
}

bool lx_trans_idle(const struct lx_trans *t)
{
	lx_trans_for_each (one, t) {
		if (!one->failed && !one->idle)
			return false;
	}
	return true;
}

size_t lx_trans_drain(struct lx_trans *t, double seconds)
{
	double end = lx_trans_now() + seconds;
	size_t failed = lx_trans_batch(t, LX_LST_BATCH_STOP, false);

	while (!lx_trans_idle(t)) {
		bool late = lx_trans_now() >= end;

		failed += lx_trans_batch(t, late ? LX_LST_BATCH_STOP : LX_LST_BATCH_QUERY, late);
		if (late)
			break;
		usleep(20000);
	}
	return failed;
}

/* ---- counters --------------------------------------------------------------------------- */

size_t lx_trans_count(struct lx_trans *t, bool begin)
{
	size_t failed = lx_trans_ask(t, LX_LST_STAT);

	lx_trans_for_each (one, t) {
		if (one->failed)
			continue;
		set(&one->now, one->row);
		if (begin)
			set(&one->begin, one->row);
	}
	return failed;
}

/* Counts and milliseconds are of 32 bits and wrap around. */
int64_t lx_trans_grown(const json_t *begin, const json_t *now, const char *key)
{
	int64_t more = lx_json_int(now, key) - lx_json_int(begin, key);

	return strstr(key, "length") ? more : (uint32_t)more;
}

int64_t lx_trans_errors(const json_t *begin, const json_t *now)
{
	return lx_trans_grown(begin, now, "brw_errors") +
	       lx_trans_grown(begin, now, "ping_errors") +
	       lx_trans_grown(begin, now, "rpc_errors") + lx_trans_grown(begin, now, "expired");
}

/* By the node's own clock, that of its session, so that it does not matter how long a count takes.
 */
double lx_trans_seconds(const json_t *begin, const json_t *now)
{
	double here = json_real_value(json_object_get(now, "at_s")) -
		      json_real_value(json_object_get(begin, "at_s"));
	double there = lx_trans_grown(begin, now, "running_ms") / 1000.0;

	return there > here / 2 && there < here * 2 ? there : here;
}

double lx_trans_rate(const json_t *begin, const json_t *now, const char *key)
{
	double seconds = lx_trans_seconds(begin, now);

	return seconds > 0 ? lx_trans_grown(begin, now, key) / seconds : 0;
}
