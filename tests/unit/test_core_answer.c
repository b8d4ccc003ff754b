/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Answers that we owe are bounded (answer.h): what a peer that asks and does not read can make a
 * node keep, and that nodes which ask each other never stop for good.
 */
#include <errno.h>
#include <string.h>

#include "simlib.h"

#define A "10.0.0.1@tcp"
#define B "10.0.0.2@tcp"

static struct lx_sim *sim;
static struct lx_sim_node *a, *b;
static char buf[4096];

static int setup(void **state)
{
	log_clear();
	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	a = NODE(sim, A);
	b = NODE(sim, B);
	/* Requests that are not discovery's. */
	tune(a, "lnet_peer_discovery_disabled", "1");
	tune(b, "lnet_peer_discovery_disabled", "1");
	return 0;
}

static int teardown(void **state)
{
	lx_sim_free(sim);
	return 0;
}

/* A node may owe @n answers to a peer, and @all in total. */
static void may_owe(struct lx_sim_node *node, unsigned int n, unsigned int all, unsigned int few)
{
	node->core->answers.peer_max = n * sizeof(struct lx_core_msg);
	node->core->answers.total_max = all * sizeof(struct lx_core_msg);
	node->core->answers.few = few * sizeof(struct lx_core_msg);
}

static unsigned int owes(const struct lx_sim_node *node)
{
	return node->core->stats.answer_bytes / sizeof(struct lx_core_msg);
}

static struct lx_handle offer(struct lx_sim_node *node, unsigned int options)
{
	return post(node, 5, NULL, 1, 0, buf, sizeof(buf), options | LX_MD_MANAGE_REMOTE,
		    LX_MD_UNLIMITED);
}

static void gets(struct lx_sim_node *node, const char *from, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(get(node, mem(node, buf, 64, 2), from, 5, 1), 0);
}

static void puts_acked(struct lx_sim_node *node, const char *to, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(put(node, mem(node, buf, 64, 2), true, to, 5, 1), 0);
}

/* All that A asked for, it gets: what waited goes on when answers are taken. */
static void who_does_not_read_waits(void **state)
{
	unsigned int n = 10 + rnd_below(200), answers = 0;
	bool acks = rnd_below(2);

	may_owe(b, 20, 100, 0);
	offer(b, LX_MD_OP_GET | LX_MD_OP_PUT);
	lx_sim_hold(sim, B, A, true);
	(acks ? puts_acked : gets)(a, B, n);
	lx_sim_run(sim, SEC);
	assert_int_equal(owes(b), n < 20 ? n : 20);
	assert_int_equal(pni_of(b, A)->answer_bytes, b->core->stats.answer_bytes);
	assert_int_equal(b->core->stats.answer_waits, n > 20);
	/* Nothing more gets in. */
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(b->core->stats.answer_waits, n > 20);
	lx_sim_hold(sim, B, A, false);
	lx_sim_run(sim, SEC);
	for (unsigned int i = 0; i < n_events; i++)
		answers += event_log[i].type == (acks ? LX_EVENT_ACK : LX_EVENT_REPLY) &&
			   !event_log[i].status;
	assert_int_equal(answers, n);
	assert_int_equal(owes(b), 0);
	assert_int_equal(b->core->stats.drop_count, 0);
	assert_at_rest(b);
}

/* It never reads: what is owed does not last for ever, and is counted when it is lost. */
static void who_never_reads(void **state)
{
	may_owe(b, 20, 100, 0);
	offer(b, LX_MD_OP_GET);
	lx_sim_hold(sim, B, A, true);
	gets(a, B, 100);
	lx_sim_run(sim, SEC);
	assert_int_equal(owes(b), 20);
	lx_sim_dead(sim, A, true);
	lx_sim_hold(sim, B, A, false);
	lx_sim_run(sim, 400 * SEC);
	assert_int_equal(owes(b), 0);
	assert_true(b->core->stats.drops[LX_REASON_SEND_FAILED] >= 20);
	assert_at_rest(b);
	assert_at_rest(a);
}

/* While the total is used up by one, others with a few answers are served. */
static void others_are_served(void **state)
{
	struct lx_sim_node *c = NODE(sim, "10.0.0.3@tcp");

	tune(c, "lnet_peer_discovery_disabled", "1");
	may_owe(b, 50, 20, 3);
	offer(b, LX_MD_OP_GET);
	lx_sim_hold(sim, B, A, true);
	gets(a, B, 100);
	lx_sim_run(sim, SEC);
	assert_int_equal(owes(b), 20);
	log_clear();
	gets(c, B, 50);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_REPLY), 50);
	assert_int_equal(owes(b), 20);
	lx_sim_hold(sim, B, A, false);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_REPLY), 150);
}

static void hold_both(bool hold)
{
	lx_sim_hold(sim, A, B, hold);
	lx_sim_hold(sim, B, A, hold);
}

/*
 * Two nodes that ask each other over one connection, far more than they may owe: each could wait
 * for the other to read. Every operation ends, in time; those within the bound with success.
 */
static void who_ask_each_other_go_on(void **state)
{
	unsigned int n = 100 + rnd_below(300), m = rnd_below(2) ? n : rnd_below(n), ended = 0;
	unsigned int answered = 0;

	may_owe(a, 10, 100, 0);
	may_owe(b, 10, 100, 0);
	tune(a, "lnet_transaction_timeout", "20");
	tune(b, "lnet_transaction_timeout", "20");
	offer(a, LX_MD_OP_GET | LX_MD_OP_PUT);
	offer(b, LX_MD_OP_GET | LX_MD_OP_PUT);
	log_clear();
	for (int i = 0; i < 20; i++) {
		hold_both(true);
		gets(a, B, n / 20);
		gets(b, A, m / 20);
		lx_sim_run(sim, rnd_below(50) * MS);
		hold_both(false);
		lx_sim_run(sim, rnd_below(50) * MS / 10);
	}
	lx_sim_run(sim, SEC);
	answered = count_events(LX_EVENT_REPLY);
	gets(a, B, 1);
	gets(b, A, 1);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_REPLY), answered + 2);
	lx_sim_run(sim, 60 * SEC);
	answered = 0;
	for (unsigned int i = 0; i < n_events; i++) {
		if (event_log[i].type == LX_EVENT_REPLY)
			answered++;
		/* An MD of a request ends once, with its answer or its time. */
		ended += event_log[i].unlinked;
	}
	assert_int_equal(ended, n / 20 * 20 + m / 20 * 20 + 2);
	assert_true(answered >= 10);
	assert_int_equal(owes(a) + owes(b), 0);
	assert_int_equal(a->core->stats.answer_bytes + b->core->stats.answer_bytes, 0);
	assert_at_rest(a);
	assert_at_rest(b);
}

/* Their sender goes, or our NI stops, while requests wait. */
static void what_waits_ends_with_its_sender(void **state)
{
	may_owe(b, 5, 100, 0);
	offer(b, LX_MD_OP_GET);
	lx_sim_hold(sim, B, A, true);
	gets(a, B, 50);
	lx_sim_run(sim, SEC);
	assert_int_equal(b->core->stats.answer_waits, 1);
	if (rnd_below(2))
		lx_sim_ni_del(b, B);
	else
		lx_peer_delete(lx_peer_of(pni_of(b, A)));
	lx_sim_hold(sim, B, A, false);
	lx_sim_run(sim, 400 * SEC);
	assert_int_equal(owes(b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(who_does_not_read_waits),
		T(who_never_reads),
		T(others_are_served),
		T(who_ask_each_other_go_on),
		T(what_waits_ends_with_its_sender),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: answers", tests, NULL, NULL);
}
