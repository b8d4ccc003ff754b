/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The price of faults, and who pays it; messages that are resent; how NIs recover (lnet.md 13). */
#include "simlib.h"

#include <errno.h>

#include "../../user/core/fault.h"
#include "../../user/core/health.h"
#include "../../user/core/recovery.h"
#include "../../user/core/select.h"

/*
 *	a 10.0.0.1@tcp ──┬── 10.0.0.2@tcp b
 *	  10.0.1.1@tcp ──┴── 10.0.1.2@tcp
 */
#define A1 "10.0.0.1@tcp"
#define A2 "10.0.1.1@tcp"
#define B1 "10.0.0.2@tcp"
#define B2 "10.0.1.2@tcp"

static struct lx_sim *sim;
static struct lx_sim_node *a, *b;
static char src[4096], dst[4096];

static int setup(void **state)
{
	log_clear();
	rnd_fill(src, sizeof(src));
	if (lx_sim_new(rnd(), &sim_plain, &sim))
		return -1;
	a = NODE(sim, A1, A2);
	b = NODE(sim, B1, B2);
	tune(a, "lnet_transaction_timeout", "10");
	tune(b, "lnet_transaction_timeout", "10");
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 4; i++)
		lx_sim_fail(sim, ((const char *const[]){ A1, A2, B1, B2 })[i], LX_HSTATUS_OK, 0);
	lx_sim_run(sim, 30 * SEC + 500 * MS);
	assert_at_rest(a);
	assert_at_rest(b);
	lx_sim_free(sim);
	return 0;
}

/* Sends a PUT with ACK from a to b and waits a while; returns how it ended. */
static int put_to(const char *to)
{
	struct lx_handle target;
	int status = 1;

	log_clear();
	target = post(b, 5, NULL, 1, 0, dst, sizeof(dst), LX_MD_OP_PUT, 1);
	assert_int_equal(put(a, mem(a, src, sizeof(src), 2), true, to, 5, 1), 0);
	lx_sim_run(sim, 10 * MS);
	for (unsigned int i = 0; i < n_events; i++) {
		if (event_log[i].type == LX_EVENT_ACK || event_log[i].status)
			status = event_log[i].status;
	}
	if (lx_md_lookup(b->core, target))
		lx_md_retire(lx_md_lookup(b->core, target));
	return status;
}

/* Both nodes discover each other, and hear from all NIDs. */
static void meet(void)
{
	for (int i = 0; i < 4; i++)
		assert_int_equal(put_to(B1), 0);
	assert_int_equal(lx_peer_of(pni_of(a, B1))->n_nis, 2);
	assert_true(pni_of(a, B1)->last_alive_ns && pni_of(a, B2)->last_alive_ns);
}

static bool in_recovery(struct lx_sim_node *node, const char *text)
{
	struct lx_recovery_info *list;
	struct lx_nid id = nid(text);
	bool found = false;
	size_t n;

	assert_int_equal(lx_recovery_describe(node->core, &list, &n), 0);
	for (size_t i = 0; i < n; i++)
		found |= lx_nid_eq(&list[i].nid, &id);
	free(list);
	return found;
}

/* ---- each status (capture 16a) --------------------------------------------------------- */

struct fault {
	enum lx_hstatus hstatus;
	bool local, remote; /* whose health drops */
	bool resent;
	size_t counter; /* offset of the node's counter */
};

#define COUNTER(name) offsetof(struct lx_stats, name)

static const struct fault faults[] = {
	{ LX_HSTATUS_LOCAL_INTERRUPT, true, false, true, COUNTER(local_interrupt_count) },
	{ LX_HSTATUS_LOCAL_DROPPED, true, false, true, COUNTER(local_dropped_count) },
	{ LX_HSTATUS_LOCAL_ABORTED, true, false, true, COUNTER(local_aborted_count) },
	{ LX_HSTATUS_LOCAL_NO_ROUTE, true, false, true, COUNTER(local_no_route_count) },
	{ LX_HSTATUS_LOCAL_ERROR, true, false, false, COUNTER(local_error_count) },
	{ LX_HSTATUS_LOCAL_TIMEOUT, true, false, true, COUNTER(local_timeout_count) },
	{ LX_HSTATUS_REMOTE_ERROR, false, true, false, COUNTER(remote_error_count) },
	{ LX_HSTATUS_REMOTE_DROPPED, false, true, true, COUNTER(remote_dropped_count) },
	{ LX_HSTATUS_REMOTE_TIMEOUT, false, true, false, COUNTER(remote_timeout_count) },
	{ LX_HSTATUS_NETWORK_TIMEOUT, true, true, false, COUNTER(network_timeout_count) },
};

static unsigned int lost(struct lx_sim_node *node, const char *const nids[2])
{
	unsigned int n = 0;

	for (int i = 0; i < 2; i++)
		n += LX_HEALTH_MAX - (node ? ni_of(node, nids[i])->health.value
					   : pni_of(a, nids[i])->health.value);
	return n;
}

static void each_status(void **state)
{
	static const char *const own[] = { A1, A2 }, *const theirs[] = { B1, B2 };

	meet();
	for (size_t i = 0; i < N_OF(faults); i++) {
		const struct fault *f = &faults[i];
		struct lx_stats before = a->core->stats, *now = &a->core->stats;
		const uint64_t *counter = (uint64_t *)((char *)now + f->counter);
		uint64_t was = *counter;
		int failed = 0;

		/* Fail everything sent to its first NID: one of two PUTs. */
		lx_sim_fail(sim, B1, f->hstatus, -EIO);
		for (int j = 0; j < 2 && *counter == was; j++)
			failed += put_to(B1) == -EIO;
		lx_sim_fail(sim, B1, LX_HSTATUS_OK, 0);
		assert_int_equal(failed, !f->resent);
		assert_true(*counter > was);
		assert_int_equal(now->resend_count > before.resend_count, f->resent);
		assert_int_equal(now->successful_resends > before.successful_resends, f->resent);
		assert_int_equal(now->failed_resends, before.failed_resends);
		assert_int_equal(!!in_recovery(a, B1), f->remote);
		assert_int_equal(in_recovery(a, A1) || in_recovery(a, A2), f->local);
		assert_int_equal(!!lost(NULL, theirs), f->remote);
		/* All recovers after some pings and messages. */
		lx_sim_run(sim, 20 * SEC);
		for (int j = 0; j < 4; j++)
			assert_int_equal(put_to(B1), 0);
		assert_int_equal(lost(a, own) + lost(NULL, theirs), 0);
		lx_sim_run(sim, 2 * SEC);
		assert_false(in_recovery(a, B1) || in_recovery(a, A1) || in_recovery(a, A2));
	}
}

/* ---- who is lowered --------------------------------------------------------------------- */

/* Only one NID on each side: the peer keeps its health, ours drops. */
static void single_rail(void **state)
{
	struct lx_sim_node *c = NODE(sim, "10.0.0.3@tcp"), *d = NODE(sim, "10.0.0.4@tcp");
	struct lx_sim_node *was_a = a, *was_b = b;

	a = c;
	b = d;
	assert_int_equal(put_to("10.0.0.4@tcp"), 0);
	lx_sim_fail(sim, "10.0.0.4@tcp", LX_HSTATUS_REMOTE_DROPPED, -ECONNREFUSED);
	assert_int_equal(put_to("10.0.0.4@tcp"), -ECONNREFUSED);
	assert_int_equal(pni_of(c, "10.0.0.4@tcp")->health.value, LX_HEALTH_MAX);
	assert_int_equal(pni_of(c, "10.0.0.4@tcp")->health.dropped, 1);
	lx_sim_fail(sim, "10.0.0.4@tcp", LX_HSTATUS_LOCAL_TIMEOUT, -ETIMEDOUT);
	assert_int_equal(put_to("10.0.0.4@tcp"), -ETIMEDOUT);
	assert_int_equal(ni_of(c, "10.0.0.3@tcp")->health.value, 900);
	assert_int_equal(c->core->stats.resend_count, 0);
	lx_sim_fail(sim, "10.0.0.4@tcp", LX_HSTATUS_OK, 0);
	a = was_a;
	b = was_b;
}

/* A router lowers the health even of a peer's only NI; its first message restores it. */
static void router_jumps(void **state)
{
	struct lx_sim_node *c = NODE(sim, "10.0.0.3@tcp");
	struct lx_sim_node *was = b;

	b = c;
	make_router(a);
	assert_int_equal(put_to("10.0.0.3@tcp"), 0);
	lx_sim_fail(sim, "10.0.0.3@tcp", LX_HSTATUS_REMOTE_ERROR, -EIO);
	for (int i = 0; i < 3; i++)
		assert_int_equal(put_to("10.0.0.3@tcp"), -EIO);
	assert_int_equal(pni_of(a, "10.0.0.3@tcp")->health.value, 700);
	lx_sim_fail(sim, "10.0.0.3@tcp", LX_HSTATUS_OK, 0);
	assert_int_equal(put_to("10.0.0.3@tcp"), 0);
	assert_int_equal(pni_of(a, "10.0.0.3@tcp")->health.value, LX_HEALTH_MAX);
	b = was;
}

/* Health off: no value drops, nothing is resent, and lowered values are ignored. */
static void switched_off(void **state)
{
	meet();
	lx_health_set_peer(a->core, pni_of(a, B2), 300);
	tune(a, "lnet_health_sensitivity", "0");
	assert_int_equal(pni_of(a, B2)->health.value, LX_HEALTH_MAX);
	assert_false(in_recovery(a, B2));
	assert_int_equal(a->core->tun.lnet_retry_count, 0);
	lx_sim_fail(sim, B1, LX_HSTATUS_REMOTE_DROPPED, -EIO);
	lx_sim_fail(sim, B2, LX_HSTATUS_REMOTE_DROPPED, -EIO);
	assert_int_equal(put_to(B1), -EIO);
	lx_sim_fail(sim, B1, LX_HSTATUS_OK, 0);
	lx_sim_fail(sim, B2, LX_HSTATUS_OK, 0);
	assert_int_equal(pni_of(a, B1)->health.value + pni_of(a, B2)->health.value, 2000);
	assert_int_equal(a->core->stats.resend_count, 0);
}

/* At health 0 the NI reports itself down to all nodes, until it has recovered fully. */
static void worn_out(void **state)
{
	meet();
	lx_health_set_ni(ni_of(a, A2), 0);
	lx_sim_run(sim, 100 * MS);
	assert_int_equal(lx_ni_status(ni_of(a, A2)), LX_NI_STATUS_DOWN);
	assert_string_equal(lx_down_str(&ni_of(a, A2)->down),
			    "its health has dropped to 0 and is not yet back at 1000");
	assert_false(lx_peer_ni_up(pni_of(b, A2)));
	/* This costs as much as a failed message, but counts no drop. */
	assert_int_equal(pni_of(b, A2)->health.value, 900);
	assert_int_equal(pni_of(b, A2)->health.dropped, 0);
	lx_sim_run(sim, 3 * SEC);
	assert_int_equal(lx_ni_status(ni_of(a, A2)), LX_NI_STATUS_DOWN);
	assert_in_range(ni_of(a, A2)->health.value, 100, 900);
	lx_sim_run(sim, 60 * SEC);
	assert_int_equal(ni_of(a, A2)->health.value, LX_HEALTH_MAX);
	assert_int_equal(lx_ni_status(ni_of(a, A2)), LX_NI_STATUS_UP);
	assert_true(lx_peer_ni_up(pni_of(b, A2)));
}

/* If a message to us breaks off, the sender is at fault. */
static void broken_reception(void **state)
{
	meet();
	log_clear();
	post(b, 5, NULL, 1, 0, dst, sizeof(dst), LX_MD_OP_PUT, 1);
	lx_sim_knobs(sim)->failure = 1000;
	put(a, mem(a, src, sizeof(src), 2), true, B1, 5, 1);
	lx_sim_run(sim, 10 * MS);
	lx_sim_knobs(sim)->failure = 0;
	assert_true(a->core->stats.remote_dropped_count > 0);
	assert_true(a->core->stats.failed_resends > 0);
}

/* ---- once more ---------------------------------------------------------------------------- */

/* Each attempt uses another NID, even if health prefers one that failed already. */
static void all_rails_are_tried(void **state)
{
	struct lx_sim_node *c = NODE(sim, "10.0.0.3@tcp", "10.0.1.3@tcp", "10.0.2.3@tcp");
	struct lx_sim_node *was = b;

	b = c;
	for (int i = 0; i < 6; i++)
		assert_int_equal(put_to("10.0.0.3@tcp"), 0);
	lx_health_set_peer(a->core, pni_of(a, "10.0.2.3@tcp"), 100);
	lx_sim_dead(sim, "10.0.0.3@tcp", true);
	lx_sim_dead(sim, "10.0.1.3@tcp", true);
	assert_int_equal(put_to("10.0.0.3@tcp"), 0);
	assert_int_equal(a->core->stats.resend_count, 2);
	assert_int_equal(a->core->stats.successful_resends, 1);
	/* All are dead: the third attempt is the last. */
	lx_sim_dead(sim, "10.0.2.3@tcp", true);
	assert_int_equal(put_to("10.0.0.3@tcp"), -EHOSTUNREACH);
	assert_int_equal(a->core->stats.resend_count, 4);
	assert_int_equal(a->core->stats.failed_resends, 1);
	b = was;
}

/* The first message that fails on a dead rail moves traffic to the other; none is lost. */
static void rail_is_left(void **state)
{
	uint64_t sent;

	meet();
	sent = pni_of(a, B1)->traffic.io.send;
	lx_sim_dead(sim, B1, true);
	for (int i = 0; i < 20; i++)
		assert_int_equal(put_to(B1), 0);
	assert_int_equal(a->core->stats.resend_count, 1);
	assert_int_equal(pni_of(a, B1)->traffic.io.send, sent);
	/* Once it answers a ping, messages use it again. */
	lx_sim_dead(sim, B1, false);
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(pni_of(a, B1)->health.value, LX_HEALTH_MAX);
	for (int i = 0; i < 10; i++)
		assert_int_equal(put_to(B1), 0);
	assert_true(pni_of(a, B1)->traffic.io.send > sent + 4);
}

/*
 * The transport loses an idle rail, and no message fails: without a fault nothing else would ever
 * find out that the rail works again, as messages take the others.
 */
static void idle_rail_comes_back(void **state)
{
	struct lx_nid rail = nid(B2);
	struct lx_peer_ni *pni;
	uint64_t sent;

	meet();
	pni = pni_of(a, B2);
	lx_sim_dead(sim, B2, true);
	lx_lnd_peer_lost(&ni_of(a, A2)->ni, &rail, LX_DOWN_LOST, -ETIMEDOUT);
	assert_false(lx_peer_ni_up(pni));
	/* It is said again, after a ping that failed: only the ping costs health. */
	lx_lnd_peer_lost(&ni_of(a, A2)->ni, &rail, LX_DOWN_LOST, -ETIMEDOUT);
	assert_int_equal(pni->health.value, LX_HEALTH_MAX - 100);
	lx_sim_run(sim, 2 * SEC);
	assert_int_equal(pni->health.value, LX_HEALTH_MAX - 200);
	assert_false(lx_peer_ni_up(pni));
	lx_sim_dead(sim, B2, false);
	lx_sim_run(sim, 10 * SEC);
	assert_true(lx_peer_ni_up(pni));
	assert_int_equal(pni->health.value, LX_HEALTH_MAX);
	assert_false(in_recovery(a, B2));
	sent = pni->traffic.io.send;
	for (int i = 0; i < 10; i++)
		assert_int_equal(put_to(B1), 0);
	assert_true(pni->traffic.io.send > sent + 2);
}

/* A peer with one NID needs no recovery: messages have no other choice. */
static void lost_without_a_choice(void **state)
{
	struct lx_sim_node *c = NODE(sim, "10.0.0.3@tcp");
	struct lx_nid only = nid("10.0.0.3@tcp");
	struct lx_sim_node *was = b;

	b = c;
	assert_int_equal(put_to("10.0.0.3@tcp"), 0);
	lx_lnd_peer_lost(&ni_of(a, A1)->ni, &only, LX_DOWN_LOST, -ETIMEDOUT);
	assert_int_equal(pni_of(a, "10.0.0.3@tcp")->health.value, LX_HEALTH_MAX);
	assert_false(in_recovery(a, "10.0.0.3@tcp"));
	assert_int_equal(put_to("10.0.0.3@tcp"), 0);
	assert_true(lx_peer_ni_up(pni_of(a, "10.0.0.3@tcp")));
	b = was;
}

/* Silence: the response is overdue, which is the next hop's fault; one message is lost. */
static void silent_rail_is_left(void **state)
{
	int late = 0;

	meet();
	lx_sim_mute(sim, B1, true);
	for (int i = 0; i < 20; i++) {
		struct lx_handle md = mem(a, dst, sizeof(dst), 2);

		log_clear();
		post(b, 5, NULL, 1, 0, src, sizeof(src), LX_MD_OP_GET, 1);
		assert_int_equal(get(a, md, B2, 5, 1), 0);
		lx_sim_run(sim, 12 * SEC);
		late += !count_events(LX_EVENT_REPLY);
		assert_null(lx_md_lookup(a->core, md));
	}
	lx_sim_mute(sim, B1, false);
	assert_int_equal(late, 1);
	assert_true(a->core->stats.response_timeout_count >= 1);
	assert_true(pni_of(a, B1)->health.value < LX_HEALTH_MAX);
	assert_int_equal(ni_of(a, A1)->health.value + ni_of(a, A2)->health.value, 2000);
}

static void on_probe(int status, struct lx_peer_info *info, void *arg)
{
	free(info);
	*(int *)arg = status;
}

/* A ping with a short timeout counts as a request without an answer. */
static void ping_leaves_a_silent_rail(void **state)
{
	const struct lx_id target = id(B1);
	int status, lost_pings = 0;

	meet();
	lx_sim_mute(sim, B1, true);
	for (int i = 0; i < 10; i++) {
		status = 1;
		assert_int_equal(lx_probe_ping(a->core, &target, NULL, 200, on_probe, &status), 0);
		lx_sim_run(sim, SEC);
		lost_pings += status == -ETIMEDOUT;
	}
	lx_sim_mute(sim, B1, false);
	assert_int_equal(lost_pings, 1);
}

/* The transport had created the REPLY to a GET: resending the GET frees it. */
static void optimised_get_again(void **state)
{
	struct lx_handle md;

	lx_sim_knobs(sim)->rdma_get = true;
	meet();
	lx_sim_dead(sim, B1, true);
	for (int i = 0; i < 2; i++) {
		log_clear();
		memset(dst, 0, sizeof(dst));
		post(b, 5, NULL, 1, 0, src, sizeof(src), LX_MD_OP_GET, 1);
		md = mem(a, dst, sizeof(dst), 2);
		assert_int_equal(get(a, md, B1, 5, 1), 0);
		lx_sim_run(sim, 10 * MS);
		assert_int_equal(the_event(LX_EVENT_REPLY)->status, 0);
		assert_int_equal(the_event(LX_EVENT_SEND)->status, 0);
		assert_memory_equal(src, dst, sizeof(dst));
		assert_null(lx_md_lookup(a->core, md));
	}
	assert_int_equal(a->core->stats.successful_resends, 1);
	/* Nowhere to go: ends once. */
	lx_sim_dead(sim, B2, true);
	log_clear();
	md = mem(a, dst, sizeof(dst), 2);
	get(a, md, B1, 5, 1);
	lx_sim_run(sim, 10 * MS);
	assert_int_equal(the_event(LX_EVENT_REPLY)->status, -EHOSTUNREACH);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	assert_null(lx_md_lookup(a->core, md));
}

/* The REPLY arrived: a GET by an MD that stays is no longer tracked. */
static void optimised_get_is_not_overdue(void **state)
{
	struct lx_handle md = mem(a, dst, sizeof(dst), -1);

	lx_sim_knobs(sim)->rdma_get = true;
	meet();
	log_clear();
	post(b, 5, NULL, 1, 0, src, sizeof(src), LX_MD_OP_GET, 1);
	assert_int_equal(get(a, md, B1, 5, 1), 0);
	lx_sim_run(sim, 30 * SEC);
	the_event(LX_EVENT_REPLY);
	assert_non_null(lx_md_lookup(a->core, md));
	assert_int_equal(a->core->stats.response_timeout_count, 0);
}

/* All attempts share one deadline; what ends after it is nobody's fault. */
static void after_the_deadline(void **state)
{
	struct lx_core_msg *msg;

	meet();
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 20 * SEC;
	log_clear();
	put(a, mem(a, src, sizeof(src), 1), false, B1, 5, 1);
	lx_list_for_each(msg, &a->core->msgs, all) {
		if (!msg->internal)
			assert_int_equal(msg->m.deadline_ns, lx_sim_now(sim) + 10 * SEC);
	}
	lx_sim_dead(sim, B1, true);
	lx_sim_dead(sim, B2, true);
	lx_sim_run(sim, 25 * SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	/* The rail is lost, as an idle one would be; the message costs nothing on top of that. */
	assert_int_equal(pni_of(a, B1)->health.value + pni_of(a, B2)->health.value, 1900);
	assert_int_equal(a->core->stats.resend_count, 0);
	lx_sim_dead(sim, B1, false);
	lx_sim_dead(sim, B2, false);
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 10000;
}

/* When an NI is removed, its messages move to another path. */
static void ni_goes(void **state)
{
	meet();
	log_clear();
	for (int i = 0; i < 40; i++) {
		post(b, 5, NULL, 1, 0, dst, 16, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 16, 2), true, B1, 5, 1);
	}
	lx_sim_ni_del(a, A2);
	lx_sim_run(sim, 100 * MS);
	assert_int_equal(count_events(LX_EVENT_ACK), 40);
	for (unsigned int i = 0; i < n_events; i++)
		assert_int_equal(event_log[i].status, 0);
	assert_true(a->core->stats.successful_resends > 0);
}

static void assert_own_nis_healthy(void)
{
	assert_int_equal(ni_of(a, A1)->health.value, LX_HEALTH_MAX);
	assert_int_equal(ni_of(a, A2)->health.value, LX_HEALTH_MAX);
	assert_int_equal(lx_ni_status(ni_of(a, A1)), LX_NI_STATUS_UP);
	assert_int_equal(lx_ni_status(ni_of(a, A2)), LX_NI_STATUS_UP);
}

/* When a NID of a peer is removed, what waits for its credits moves to another one. */
static void nid_goes(void **state)
{
	meet();
	log_clear();
	for (int i = 0; i < 60; i++) {
		post(b, 5, NULL, 1, 0, dst, 16, LX_MD_OP_PUT, 1);
		put(a, mem(a, src, 16, 2), true, B1, 5, 1);
	}
	assert_false(lx_queue_empty(&pni_of(a, B2)->tx_queue));
	lx_peer_drop_nid(pni_of(a, B2));
	assert_true(a->core->stats.resend_count > 0);
	assert_own_nis_healthy();
	lx_sim_run(sim, 100 * MS);
	assert_int_equal(count_events(LX_EVENT_ACK), 60);
}

/* The peer was deleted on purpose: nobody to resend to, and no fault of our NIs. */
static void peer_goes(void **state)
{
	meet();
	log_clear();
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = SEC;
	for (int i = 0; i < 40; i++)
		put(a, mem(a, src, 16, 1), false, B1, 5, 1);
	lx_peer_delete(lx_peer_of(pni_of(a, B1)));
	assert_int_equal(a->core->stats.resend_count, 0);
	assert_own_nis_healthy();
	lx_sim_run(sim, 3 * SEC);
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 10000;
}

/* ---- recovery (captures 16b, 16c) ------------------------------------------------------------ */

/* Pings 2, 4, 8 ... s apart while they fail, up to the limit. */
static void back_off(void **state)
{
	struct lx_peer_ni *rail;
	uint64_t start, last = 0;

	meet();
	lx_sim_run(sim, SEC);
	rail = pni_of(a, B1);
	tune(a, "lnet_max_recovery_ping_interval", "20");
	lx_sim_fail(sim, B1, LX_HSTATUS_REMOTE_ERROR, -EIO);
	lx_health_set_peer(a->core, rail, 900);
	start = lx_sim_now(sim) / SEC;
	assert_int_equal(rail->health.next_ping, start + 1);
	for (unsigned int n = 1; n <= 7; n++) {
		unsigned int s = n < 5 ? 1u << n : 20;

		while (rail->health.ping_count < n)
			lx_sim_run(sim, 100 * MS);
		assert_int_equal(rail->health.error, n);
		assert_int_equal(rail->health.value, 900 - 100 * n);
		assert_int_equal(rail->health.next_ping, lx_sim_now(sim) / SEC + s);
		last = rail->health.next_ping;
	}
	/*
	 * After an answer the interval starts over, but the next ping comes no earlier than
	 * scheduled.
	 */
	lx_sim_fail(sim, B1, LX_HSTATUS_OK, 0);
	while (rail->health.value == 200)
		lx_sim_run(sim, 100 * MS);
	assert_in_range(lx_sim_now(sim) / SEC, last, last + 1);
	assert_int_equal(rail->health.value, 300);
	assert_int_equal(rail->health.ping_count, 0);
	start = lx_sim_now(sim);
	while (rail->health.value < LX_HEALTH_MAX)
		lx_sim_run(sim, 100 * MS);
	assert_in_range(lx_sim_now(sim) - start, (20 + 6 * 2 - 2) * SEC, (20 + 6 * 2 + 2) * SEC);
	lx_sim_run(sim, 3 * SEC);
	assert_false(in_recovery(a, B1));
}

/* An unanswered ping delays the next: its timeout is the shortest interval. */
static void unanswered_ping(void **state)
{
	struct lx_peer_ni *rail;
	uint64_t sent;

	meet();
	rail = pni_of(a, B1);
	lx_sim_mute(sim, B1, true);
	lx_health_set_peer(a->core, rail, 900);
	while (!rail->health.ping_count)
		lx_sim_run(sim, 100 * MS);
	sent = lx_sim_now(sim);
	while (rail->health.ping_count == 1)
		lx_sim_run(sim, 100 * MS);
	assert_in_range(lx_sim_now(sim) - sent, 9 * SEC, 12 * SEC);
	assert_int_equal(rail->health.value, 800);
	assert_int_equal(a->core->stats.response_timeout_count, 1);
	lx_sim_mute(sim, B1, false);
}

/* Last heard from too long ago. */
static void limit(void **state)
{
	meet();
	tune(a, "lnet_recovery_limit", "30");
	lx_sim_dead(sim, B1, true);
	lx_health_set_peer(a->core, pni_of(a, B1), 900);
	lx_sim_run(sim, 28 * SEC);
	assert_true(in_recovery(a, B1));
	assert_int_not_equal(pni_of(a, B1)->health.ping_count, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_false(in_recovery(a, B1));
	assert_int_equal(pni_of(a, B1)->health.ping_count, 0);
	assert_true(pni_of(a, B1)->health.value < 900);
	lx_sim_dead(sim, B1, false);
}

/* A NID that was never heard from is not pinged for recovery. */
static void never_alive(void **state)
{
	struct lx_conf_peer conf = {
		.primary = nid(B1),
		.multi_rail = true,
		.nid = (struct lx_nid[]){ nid("10.0.9.9@tcp") },
		.n_nids = 1,
	};

	tune(a, "lnet_peer_discovery_disabled", "1");
	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put_to(B1), 0);
	assert_int_equal(pni_of(a, "10.0.9.9@tcp")->health.dropped, 1);
	assert_int_equal(pni_of(a, "10.0.9.9@tcp")->health.value, 900);
	assert_false(in_recovery(a, "10.0.9.9@tcp"));
}

/* Its link is down: the node would answer itself, which proves nothing. */
static void no_recovery_without_a_link(void **state)
{
	struct lx_core_ni *mine = ni_of(a, A1);

	lx_lnd_link(&mine->ni, LX_DOWN_CARRIER);
	lx_health_set_ni(mine, 500);
	lx_sim_run(sim, 10 * SEC);
	assert_int_equal(mine->health.value, 500);
	lx_lnd_link(&mine->ni, LX_DOWN_NO);
	lx_sim_run(sim, 20 * SEC);
	assert_int_equal(mine->health.value, LX_HEALTH_MAX);
}

/* An NI that does not reach itself recovers by another one on its net. */
static void recovered_by_another_ni(void **state)
{
	const struct lx_fault_rule rule = { .src = nid(A1), .dst = nid(A1), .local = lx_nid_any,
					    .rate = 1,
					    .hstatuses = 1u << LX_HSTATUS_LOCAL_ERROR };
	struct lx_sim_knobs knobs = sim_plain;

	lx_sim_free(sim);
	knobs.connects_to_self = true; /* as TCP */
	assert_int_equal(lx_sim_new(rnd(), &knobs, &sim), 0);
	a = NODE(sim, A1, A2);
	b = NODE(sim, B1, B2);
	assert_int_equal(lx_fault_new(a->core, &rule), 0);
	lx_health_set_ni(ni_of(a, A1), 900);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(ni_of(a, A1)->health.value, LX_HEALTH_MAX);
}

/* A NID may be deleted during its recovery. */
static void gone_while_recovered(void **state)
{
	meet();
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 3 * SEC;
	lx_health_set_peer(a->core, pni_of(a, B1), 500);
	lx_health_set_peer(a->core, pni_of(a, B2), 500);
	lx_health_set_ni(ni_of(a, A2), 500);
	lx_sim_run(sim, 2 * SEC + 500 * MS);
	lx_peer_delete(lx_peer_of(pni_of(a, B1)));
	lx_sim_ni_del(a, A2);
	assert_false(in_recovery(a, B1) || in_recovery(a, B2) || in_recovery(a, A2));
	lx_sim_knobs(sim)->delay_min_ns = lx_sim_knobs(sim)->delay_max_ns = 10000;
	lx_sim_run(sim, 10 * SEC);
}

/* ---- gateways ---------------------------------------------------------------------------- */

/* A route sets how much a fault costs its gateway; the other gateway is used at once. */
static void gateways(void **state)
{
	struct lx_sim_node *r1 = NODE(sim, "10.0.0.11@tcp", "10.2.0.11@tcp2");
	struct lx_sim_node *r2 = NODE(sim, "10.0.0.12@tcp", "10.2.0.12@tcp2");
	struct lx_sim_node *far = NODE(sim, "10.2.0.1@tcp2"), *was = b;
	struct lx_conf_route conf = {
		.net = LX_NET(2, 2), .gateway = nid("10.0.0.11@tcp"), .hop = LX_UNSET,
		.priority = 0, .health_sensitivity = 7,
	};

	make_router(r1);
	make_router(r2);
	assert_int_equal(lx_route_new(a->core, &conf), 0);
	add_route(a, "tcp2", "10.0.0.12@tcp", LX_UNSET, 0);
	add_route(far, "tcp", "10.2.0.11@tcp2", LX_UNSET, 0);
	add_route(far, "tcp", "10.2.0.12@tcp2", LX_UNSET, 0);
	lx_sim_run(sim, 3 * SEC);
	b = far;
	for (int i = 0; i < 4; i++)
		assert_int_equal(put_to("10.2.0.1@tcp2"), 0);
	lx_sim_fail(sim, "10.0.0.11@tcp", LX_HSTATUS_REMOTE_DROPPED, -ECONNRESET);
	for (int i = 0; i < 4; i++)
		assert_int_equal(put_to("10.2.0.1@tcp2"), 0);
	assert_int_equal(a->core->stats.resend_count, 1);
	assert_int_equal(pni_of(a, "10.0.0.11@tcp")->health.value, LX_HEALTH_MAX - 7);
	/* The first message from it restores its health. */
	lx_sim_fail(sim, "10.0.0.11@tcp", LX_HSTATUS_OK, 0);
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(pni_of(a, "10.0.0.11@tcp")->health.value, LX_HEALTH_MAX);
	/* A router sends what it forwards only once. */
	lx_sim_fail(sim, "10.2.0.1@tcp2", LX_HSTATUS_REMOTE_DROPPED, -ECONNRESET);
	assert_int_equal(put_to("10.2.0.1@tcp2"), 1);
	assert_int_equal(r1->core->stats.resend_count + r2->core->stats.resend_count, 0);
	assert_int_equal(r1->core->stats.drop_count + r2->core->stats.drop_count, 1);
	lx_sim_fail(sim, "10.2.0.1@tcp2", LX_HSTATUS_OK, 0);
	b = was;
	lx_sim_run(sim, 12 * SEC);
}

/* A failure of messages that the transport forwarded itself costs the same. */
static void lanes(void **state)
{
	const struct lx_type_counts n = { .put = 2, .reply = 1 };
	struct lx_offloaded back = { .src_net = LX_NET(2, 0), .received = { .put = 1 } };
	struct lx_nid hop = nid(B1);

	meet();
	make_router(a);
	lx_lnd_lost(&ni_of(a, A1)->ni, &hop, &n, 5000, LX_HSTATUS_NETWORK_TIMEOUT);
	assert_int_equal(pni_of(a, B1)->health.value, 700);
	assert_int_equal(pni_of(a, B1)->health.network_timeout, 3);
	assert_int_equal(ni_of(a, A1)->health.value, 900);
	assert_int_equal(a->core->stats.network_timeout_count, 3);
	assert_true(in_recovery(a, B1) && in_recovery(a, A1));
	lx_lnd_offloaded(&ni_of(a, A1)->ni, &hop, &back);
	assert_int_equal(pni_of(a, B1)->health.value, LX_HEALTH_MAX);
	assert_int_equal(ni_of(a, A1)->health.value, LX_HEALTH_MAX);
	lx_lnd_lost(&ni_of(a, A1)->ni, &hop, &n, 5000, LX_HSTATUS_LOCAL_ERROR);
	assert_int_equal(ni_of(a, A1)->health.value, 700);
	assert_int_equal(pni_of(a, B1)->health.value, LX_HEALTH_MAX);
}

/*
 * A silent peer does not drain the health of an NI that works for others, however many messages
 * fail.
 */
static void one_silent_peer(void **state)
{
	lx_sim_fail(sim, B1, LX_HSTATUS_NETWORK_TIMEOUT, -ETIMEDOUT);
	lx_sim_fail(sim, B2, LX_HSTATUS_NETWORK_TIMEOUT, -ETIMEDOUT);
	for (int i = 0; i < 40; i++)
		put(a, mem(a, src, 16, 1), false, B1, 5, 1);
	lx_sim_run(sim, 500 * MS);
	assert_true(ni_of(a, A1)->health.value >= 900 && ni_of(a, A2)->health.value >= 900);
	assert_int_equal(a->core->stats.network_timeout_count, 41); /* and a ping */
	lx_sim_run(sim, 2 * SEC);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_status),
		TEST(single_rail),
		TEST(router_jumps),
		TEST(switched_off),
		TEST(worn_out),
		TEST(broken_reception),
		TEST(all_rails_are_tried),
		TEST(rail_is_left),
		TEST(idle_rail_comes_back),
		TEST(lost_without_a_choice),
		TEST(silent_rail_is_left),
		TEST(ping_leaves_a_silent_rail),
		TEST(optimised_get_again),
		TEST(optimised_get_is_not_overdue),
		TEST(after_the_deadline),
		TEST(ni_goes),
		TEST(nid_goes),
		TEST(peer_goes),
		TEST(back_off),
		TEST(unanswered_ping),
		TEST(limit),
		TEST(never_alive),
		TEST(no_recovery_without_a_link), TEST(recovered_by_another_ni),
		TEST(gone_while_recovered),
		TEST(gateways),
		TEST(lanes),
		TEST(one_silent_peer),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: health", tests, NULL, NULL);
}
