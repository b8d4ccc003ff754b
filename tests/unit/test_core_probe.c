/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pings: source, answer, time-outs. */
#include "discoverworld.h"
#include "../../user/core/reach.h"

static void ping_answers(void **state)
{
	struct outcome o = ping(a, "10.0.0.2@tcp", 1000);

	assert_int_equal(o.status, 0);
	assert_int_equal(o.n_nis, 2);
	assert_false(o.multi_rail); /* not discovered yet */
	discover(a, "10.0.0.2@tcp", false);
	assert_true(ping(a, "10.0.0.2@tcp", 1000).multi_rail);
}

/* A source that cannot reach the target is not replaced with another. */
static void ping_goes_from_its_source(void **state)
{
	struct lx_id target = id("10.0.0.1@tcp");
	struct lx_nid stranger = nid("10.0.0.7@tcp");
	struct outcome o;

	assert_int_equal(ping_from(b, "10.0.0.2@tcp", "10.0.0.1@tcp", 1000).status, 0);
	assert_int_equal(ping_from(b, "10.1.0.2@tcp1", "10.0.0.1@tcp", 1000).status, -EHOSTUNREACH);
	assert_int_equal(ping_from(b, "0@lo", "10.0.0.1@tcp", 1000).status, -EHOSTUNREACH);
	assert_int_equal(lx_probe_ping(b->core, &target, &stranger, 1000, outcome_set, &o),
			 -EINVAL);
	/* The same for our own NIDs, except 0@lo, which reaches all nets. */
	assert_int_equal(ping_from(b, "10.0.0.2@tcp", "10.0.0.2@tcp", 1000).status, 0);
	assert_int_equal(ping_from(b, "10.0.0.2@tcp", "0@lo", 1000).status, 0);
	assert_int_equal(ping_from(b, "0@lo", "0@lo", 1000).status, 0);
	assert_int_equal(ping_from(b, "10.1.0.2@tcp1", "10.0.0.2@tcp", 1000).status, -EHOSTUNREACH);
	assert_int_equal(ping_from(b, "0@lo", "10.0.0.2@tcp", 1000).status, -EHOSTUNREACH);
}

static void ping_ends_in_time(void **state)
{
	lx_sim_knobs(sim)->loss = 1000;
	assert_int_equal(ping(a, "10.0.0.2@tcp", 300).status, -ETIMEDOUT);
	lx_sim_knobs(sim)->loss = 0;
	lx_sim_dead(sim, "10.0.0.3@tcp", true);
	assert_int_equal(ping(a, "10.0.0.3@tcp", 300).status, -EHOSTUNREACH);
	assert_int_equal(ping(a, "10.0.0.3@tcp9", 300).status, -EHOSTUNREACH);
}

/* Without a time-out of its own it waits, so that the reason becomes known. */
static void ping_waits_for_the_reason(void **state)
{
	struct lx_id dead = id("10.0.0.3@tcp"), slow = id("10.0.0.2@tcp");
	struct outcome o = { 0 }, o2 = { 0 };

	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 3 * SEC;
	lx_sim_dead(sim, "10.0.0.3@tcp", true);
	assert_int_equal(lx_probe_ping(a->core, &dead, NULL, 0, outcome_set, &o), 0);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(o.calls, 0);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(o.calls, 1);
	assert_int_equal(o.status, -EHOSTUNREACH);

	/* It is sent late, and the answer comes too late; or it is never sent. */
	o = (struct outcome){ 0 };
	assert_int_equal(lx_probe_ping(a->core, &slow, NULL, 0, outcome_set, &o), 0);
	lx_sim_run(sim, 4 * SEC);
	assert_int_equal(o.status, -ETIMEDOUT);
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 20 * SEC;
	assert_int_equal(lx_probe_ping(a->core, &slow, NULL, 0, outcome_set, &o2), 0);
	lx_sim_run(sim, 7 * SEC);
	assert_int_equal(o2.calls, 1);
	assert_int_equal(o2.status, -ETIMEDOUT);
	lx_sim_run(sim, 60 * SEC);
	assert_int_equal(o.calls, 1);
	assert_int_equal(o2.calls, 1);
}

/* A request that cannot be sent ends at its time-out, or earlier if the reason is known. */
static void ping_ends_in_its_time(void **state)
{
	struct lx_id dead = id("10.0.0.3@tcp");
	struct outcome o = { 0 };

	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 3 * SEC;
	lx_sim_dead(sim, "10.0.0.3@tcp", true);
	assert_int_equal(lx_probe_ping(a->core, &dead, NULL, 1000, outcome_set, &o), 0);
	lx_sim_run(sim, SEC - 1);
	assert_int_equal(o.calls, 0);
	lx_sim_run(sim, 1);
	assert_int_equal(o.calls, 1);
	assert_int_equal(o.status, -ETIME);
	lx_sim_run(sim, 60 * SEC);
	assert_int_equal(o.calls, 1);
	/* There is time for the reason. */
	assert_int_equal(lx_probe_ping(a->core, &dead, NULL, 4000, outcome_set, &o), 0);
	lx_sim_run(sim, 4 * SEC);
	assert_int_equal(o.status, -EHOSTUNREACH);
}

static void ping_grows_its_buffer(void **state)
{
	for (int i = 0; i < 30; i++) {
		char text[32];

		snprintf(text, sizeof(text), "10.3.0.%d@tcp3", i + 1);
		assert_int_equal(lx_sim_ni_add(b, text, 8, 256), 0);
	}
	lx_sim_run(sim, SEC);
	assert_int_equal(ping(a, "10.0.0.2@tcp", 1000).n_nis, 32);
	assert_int_equal(discover(a, "10.0.0.2@tcp", false).n_nis, 32);
	/* Pushes of that size are accepted. */
	lx_sim_ni_del(b, "10.3.0.7@tcp3");
	lx_sim_run(sim, SEC);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 31);
}

static const char *why(const char *to)
{
	static char text[LX_REACH_TEXT];
	struct lx_nid target = nid(to);

	lx_reach_why(a->core, &target, NULL, text, sizeof(text));
	return text;
}

/*
 * A ping goes by any NID of a Multi-Rail node: one that fails says which. A discovery begins with
 * the NID that was named, so the node's dead one does not delay it.
 */
static void healthy_nid_of_a_node_with_a_dead_one(void **state)
{
	assert_int_equal(lx_sim_ni_add(a, "10.1.0.1@tcp1", 8, 256), 0);
	discover(a, "10.0.0.2@tcp", false);
	lx_sim_mute(sim, "10.1.0.2@tcp1", true);
	for (int i = 0; i < 4; i++) /* whoever's turn it is */
		assert_int_equal(discover(a, "10.0.0.2@tcp", true).status, 0);
	for (int i = 0; i < 4; i++) {
		if (ping(a, "10.0.0.2@tcp", 1000).status != -ETIMEDOUT)
			continue;
		assert_string_equal(why("10.0.0.2@tcp"),
				    "it went by another NID of that node, 10.1.0.2@tcp1; with a "
				    "source on tcp a ping goes by 10.0.0.2@tcp");
		assert_string_equal(why("10.1.0.2@tcp1"), "it is a direct neighbour");
		return;
	}
	fail_msg("no ping went by the dead NID");
}

static void refuse(void)
{
	struct lx_nid other = nid("10.0.0.3@tcp");

	lx_lnd_peer_lost(&ni_of(a, "10.0.0.1@tcp")->ni, &other, LX_DOWN_LOST, -ECONNREFUSED);
}

/* Until a transport dials again, requests end with the error of its last attempt, whoever asks. */
static void the_same_error_for_all(void **state)
{
	static unsigned char buf[10];

	lx_sim_dead(sim, "10.0.0.3@tcp", true);
	assert_int_equal(ping(a, "10.0.0.3@tcp", 300).status, -EHOSTUNREACH);
	refuse();
	assert_int_equal(ping(a, "10.0.0.3@tcp", 300).status, -ECONNREFUSED);
	refuse();
	assert_int_equal(discover(a, "10.0.0.3@tcp", true).status, -ECONNREFUSED);
	log_clear();
	refuse();
	tune(a, "lnet_peer_discovery_disabled", "1");
	assert_int_equal(put(a, mem(a, buf, 10, 1), false, "10.0.0.3@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ECONNREFUSED);
	log_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(ping_answers),	  T(ping_goes_from_its_source),
		T(ping_ends_in_time),	  T(ping_waits_for_the_reason),
		T(ping_ends_in_its_time), T(ping_grows_its_buffer),
		T(healthy_nid_of_a_node_with_a_dead_one), T(the_same_error_for_all),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: probes", tests, NULL, NULL);
}
