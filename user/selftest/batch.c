/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Batches, tests, units; see the header. Called by session.c, and by client.c and pool.c for a
 * unit.
 *
 *	          run            ┌──── buffer ────┐            request fails
 *	IDLE ───────────▶ WAITING                 ▼  ┌──────────────────────▶ PAUSED
 *	 ▲   (no buffer needed) ──────────▶ CALLING ─┘ ◀──── tick ──────────────┘
 *	 │                                    │  ▲
 *	 └── loop done, error, stopped ◀──────┴──┘ next of the loop
 *
 * A unit that continues after an error (stop_on_error is not set) pauses until the next tick, so
 * that a dead destination does not keep a CPU busy.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "priv.h"

enum unit_state { IDLE, WAITING, CALLING, PAUSED };

struct test;

struct unit {
	struct lx_lst_client client;
	struct lx_lst_waiter waiter; /* for a buffer */
	struct test *test;
	struct lx_id dest;
	enum unit_state state;
	uint32_t left; /* iterations */
	uint32_t sequence; /* of a ping */
	void *buffer;
};

struct test {
	struct lx_list link;
	struct lx_lst_batch *batch;
	uint32_t service, loop;
	uint32_t features;
	bool stop_on_error, stopping;
	struct { /* brw */
		uint32_t rw, check, length, offset;
	} bulk;
	uint32_t n_units, active;
	struct unit *unit; /* n_units of them; none in a server part */
};

static void unit_go(struct unit *u);

/* ---- freeing ---------------------------------------------------------------------- */

static void test_free(struct test *test)
{
	struct lx_selftest *s = test->batch->session->s;

	s->n_units -= test->n_units;
	s->n_tests--;
	lx_list_del(&test->link);
	free(test->unit);
	free(test);
}

static void session_free(struct lx_lst_session *session)
{
	struct lx_lst_batch *batch, *next;
	struct test *test, *tmp;

	lx_list_for_each_safe (batch, next, &session->batches, link) {
		lx_list_for_each_safe (test, tmp, &batch->tests, link)
			test_free(test);
		lx_list_del(&batch->link);
		session->s->n_batches--;
		free(batch);
	}
	lx_list_del(&session->link);
	free(session);
}

/* ---- units -------------------------------------------------------------------------- */

static void test_done(struct test *test)
{
	struct lx_lst_batch *batch = test->batch;

	test->stopping = false;
	if (!--batch->active_tests)
		batch->session->active_batches--;
}

/* May free its session. */
static void unit_done(struct unit *u)
{
	struct test *test = u->test;
	struct lx_lst_session *session = test->batch->session;

	u->state = IDLE;
	if (!--test->active)
		test_done(test);
	if (!--session->active_units && session->ended)
		session_free(session);
}

static void count_error(struct unit *u)
{
	struct lx_lst_session *session = u->test->batch->session;

	if (u->test->service == LX_LST_PING)
		session->ping_errors++;
	else
		session->brw_errors++;
}

static bool is_read(const struct test *test)
{
	return test->service == LX_LST_BRW && test->bulk.rw == LX_LST_READ;
}

static void *bulk_memory(const struct unit *u)
{
	return (char *)u->buffer + u->test->bulk.offset;
}

/* Whether the contents of a well-formed reply are right (7, 8). */
static int check_reply(const struct unit *u)
{
	const struct lx_lst_msg *reply = &u->client.reply;

	if (u->test->service == LX_LST_PING) {
		if (reply->ping_reply.magic != LX_LST_PING_MAGIC ||
		    reply->ping_reply.sequence != u->sequence)
			return -EBADMSG;
		return 0;
	}
	if (!is_read(u->test))
		return 0;
	return lx_lst_pattern_check(bulk_memory(u), u->test->bulk.length, u->test->bulk.check,
				    lx_lst_flipped(reply));
}

static void return_buffer(struct unit *u)
{
	void *buffer = u->buffer;

	u->buffer = NULL;
	if (is_read(u->test))
		lx_lst_pool_put(&u->test->batch->session->s->pool, buffer);
}

static void on_called(struct lx_lst_client *client)
{
	struct unit *u = lx_container_of(client, struct unit, client);
	struct test *test = u->test;
	int err = client->status;

	if (!err && client->reply.status)
		err = -(int)(client->reply.status & 0xfff);
	if (!err)
		err = check_reply(u);
	return_buffer(u);
	if (err && !test->stopping)
		count_error(u);
	if (u->left != LX_LST_LOOP_FOREVER)
		u->left--;
	if (test->stopping || !u->left || (err && test->stop_on_error))
		unit_done(u);
	else if (err)
		u->state = PAUSED;
	else
		unit_go(u);
}

static void make_request(struct unit *u, struct lx_lst_msg *request)
{
	struct test *test = u->test;
	struct timespec now;

	if (test->service == LX_LST_PING) {
		clock_gettime(CLOCK_REALTIME, &now);
		lx_lst_wire_init(request, LX_LST_PING_REQ, test->features);
		u->sequence = test->batch->session->s->next_ping++;
		request->ping.magic = LX_LST_PING_MAGIC;
		request->ping.sequence = u->sequence;
		request->ping.seconds = now.tv_sec;
		request->ping.nanoseconds = now.tv_nsec;
		return;
	}
	lx_lst_wire_init(request, LX_LST_BRW_REQ, test->features);
	request->brw.rw = test->bulk.rw;
	request->brw.length = test->bulk.length;
	request->brw.flags = test->bulk.check;
}

static void unit_call(struct unit *u)
{
	struct test *test = u->test;
	void *bulk = NULL;
	struct lx_lst_msg request;

	make_request(u, &request);
	if (test->service == LX_LST_BRW)
		bulk = bulk_memory(u);
	if (is_read(test))
		lx_lst_pattern_poison(bulk, test->bulk.length, test->bulk.check);
	u->state = CALLING;
	if (!lx_lst_client_call(&u->client, &u->dest, test->service, &request, bulk,
				test->bulk.length, is_read(test) ? LX_MD_OP_PUT : LX_MD_OP_GET))
		return;
	/* Out of memory, or the node is stopping. */
	return_buffer(u);
	u->state = PAUSED;
}

static void on_buffer(struct lx_lst_waiter *waiter, void *buffer)
{
	struct unit *u = lx_container_of(waiter, struct unit, waiter);

	u->buffer = buffer;
	unit_call(u);
}

static void unit_go(struct unit *u)
{
	struct lx_selftest *s = u->test->batch->session->s;

	/* All writers send the same bytes. */
	if (!is_read(u->test)) {
		u->buffer = s->pattern;
		unit_call(u);
		return;
	}
	u->state = WAITING;
	u->buffer = lx_lst_pool_get(&s->pool, &u->waiter);
	if (u->buffer)
		unit_call(u);
}

static void unit_abort(struct unit *u)
{
	struct lx_selftest *s = u->test->batch->session->s;

	switch (u->state) {
	case IDLE:
		break;
	case WAITING:
		lx_lst_pool_cancel(&s->pool, &u->waiter);
		unit_done(u);
		break;
	case CALLING:
		lx_lst_client_abort(&u->client, -EINTR);
		break;
	case PAUSED:
		unit_done(u);
		break;
	}
}

/* ---- tests ---------------------------------------------------------------------------- */

static bool check_is_known(uint32_t check)
{
	return check >= LX_LST_CHECK_NONE && check <= LX_LST_CHECK_DISCARD;
}

/*
 * Any offset is fine: buffers have a page to spare. The offset does not show on the wire. (A node
 * of 2.17.0 crashes on some offsets, selftest.md 12.)
 */
static int parse_bulk(struct test *test, const struct lx_lst_msg *request)
{
	const union lx_lst_params *p = &request->test.params;

	if (request->features & LX_LST_FEAT_BULK_LEN) {
		test->bulk.rw = p->bulk.rw;
		test->bulk.check = p->bulk.flags;
		test->bulk.length = p->bulk.length;
		test->bulk.offset = p->bulk.offset % LX_LST_PAGE;
	} else {
		test->bulk.rw = p->bulk_pages.rw;
		test->bulk.check = p->bulk_pages.flags;
		test->bulk.length = p->bulk_pages.pages <= LX_LST_BULK_MAX / LX_LST_PAGE
					    ? p->bulk_pages.pages * LX_LST_PAGE
					    : 0;
	}
	if ((test->bulk.rw != LX_LST_READ && test->bulk.rw != LX_LST_WRITE) ||
	    !check_is_known(test->bulk.check) || !test->bulk.length ||
	    test->bulk.length > LX_LST_BULK_MAX || test->bulk.length % 8 || test->bulk.offset % 8)
		return -EINVAL;
	return 0;
}

static int make_units(struct test *test, const struct lx_lst_msg *request, const void *dests,
		      size_t len)
{
	struct lx_selftest *s = test->batch->session->s;
	uint64_t n = (uint64_t)request->test.ndest * request->test.concurrency;
	bool flip = lx_lst_flipped(request);
	struct lx_lst_dest dest;

	if (n > LX_LST_UNITS_MAX - s->n_units)
		return -ENOMEM;
	test->unit = calloc(n, sizeof(*test->unit));
	if (!test->unit)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct unit *u = &test->unit[i];

		if (lx_lst_wire_dest_get(dests, len, i / request->test.concurrency, flip, &dest))
			return -EPROTO;
		lx_nid_from_u64(dest.nid, &u->dest.nid);
		u->dest.pid = dest.pid;
		if (lx_nid_is_any(&u->dest.nid) || u->dest.pid == LX_PID_ANY)
			return -EPROTO;
		u->test = test;
		u->client.s = s;
		u->client.done = on_called;
		u->waiter.fn = on_buffer;
	}
	test->n_units = n;
	return 0;
}

static int test_new(struct lx_lst_batch *batch, const struct lx_lst_msg *request, const void *dests,
		    size_t len, struct test **ret_test)
{
	struct test *test = calloc(1, sizeof(*test));
	int err = 0;

	if (!test)
		return -ENOMEM;
	test->batch = batch;
	test->service = request->test.service;
	test->loop = request->test.loop;
	test->features = request->features;
	test->stop_on_error = request->test.stop_on_error;
	if (request->test.is_client) {
		if (test->service == LX_LST_BRW)
			err = parse_bulk(test, request);
		if (!err)
			err = make_units(test, request, dests, len);
	}
	if (err) {
		free(test->unit);
		free(test);
		return err;
	}
	*ret_test = test;
	return 0;
}

static void test_run(struct test *test)
{
	struct lx_lst_session *session = test->batch->session;

	if (!test->n_units)
		return;
	if (!test->batch->active_tests++)
		session->active_batches++;
	test->stopping = false;
	test->active = test->n_units;
	session->active_units += test->n_units;
	for (uint32_t i = 0; i < test->n_units; i++) {
		test->unit[i].left = test->loop;
		unit_go(&test->unit[i]);
	}
}

static void test_stop(struct test *test, bool force)
{
	test->stopping = test->active > 0;
	for (uint32_t i = 0; i < test->n_units; i++) {
		if (force || test->unit[i].state != CALLING)
			unit_abort(&test->unit[i]);
	}
}

/* ---- batches ---------------------------------------------------------------------------- */

struct lx_lst_batch *lx_lst_batch_lookup(struct lx_lst_session *session, uint64_t id)
{
	struct lx_lst_batch *batch;

	lx_list_for_each (batch, &session->batches, link) {
		if (batch->id == id)
			return batch;
	}
	return NULL;
}

int lx_lst_batch_get(struct lx_lst_session *session, uint64_t id, struct lx_lst_batch **ret_batch)
{
	struct lx_lst_batch *batch = lx_lst_batch_lookup(session, id);

	if (!batch) {
		if (session->s->n_batches >= LX_LST_BATCHES_MAX)
			return -ENOMEM;
		batch = calloc(1, sizeof(*batch));
		if (!batch)
			return -ENOMEM;
		batch->session = session;
		batch->id = id;
		lx_list_init(&batch->tests);
		lx_list_append(&session->batches, &batch->link);
		session->n_batches++;
		session->s->n_batches++;
	}
	*ret_batch = batch;
	return 0;
}

int lx_lst_batch_add(struct lx_lst_batch *batch, const struct lx_lst_msg *request,
		     const void *dests, size_t len)
{
	struct lx_lst_session *session = batch->session;
	struct test *test;
	int err;

	if (session->s->n_tests >= LX_LST_TESTS_MAX)
		return -ENOMEM;
	err = test_new(batch, request, dests, len, &test);
	if (err)
		return err;
	lx_list_append(&batch->tests, &test->link);
	session->n_tests++;
	session->s->n_tests++;
	session->n_units += test->n_units;
	session->s->n_units += test->n_units;
	return 0;
}

void lx_lst_batch_run(struct lx_lst_batch *batch)
{
	struct test *test;

	if (batch->active_tests)
		return;
	lx_list_for_each (test, &batch->tests, link)
		test_run(test);
}

void lx_lst_batch_stop(struct lx_lst_batch *batch, bool force)
{
	struct test *test;

	lx_list_for_each (test, &batch->tests, link)
		test_stop(test, force);
}

int lx_lst_batch_query(const struct lx_lst_batch *batch, uint32_t i)
{
	struct test *test;

	lx_list_for_each (test, &batch->tests, link) {
		if (!--i)
			return test->active;
	}
	return -ENOENT;
}

void lx_lst_batch_end(struct lx_lst_session *session)
{
	struct lx_lst_batch *batch;

	lx_list_append(&session->s->zombies, &session->link);
	/* Counts as a unit: otherwise the last unit would free the session while we use it. */
	session->active_units++;
	session->ended = true;
	lx_list_for_each (batch, &session->batches, link)
		lx_lst_batch_stop(batch, true);
	if (!--session->active_units)
		session_free(session);
}

void lx_lst_batch_tick(struct lx_lst_session *session)
{
	struct lx_lst_batch *batch;
	struct test *test;

	lx_list_for_each (batch, &session->batches, link) {
		if (!batch->active_tests)
			continue;
		lx_list_for_each (test, &batch->tests, link) {
			for (uint32_t i = 0; i < test->n_units; i++) {
				if (test->unit[i].state == PAUSED)
					unit_go(&test->unit[i]);
			}
		}
	}
}
