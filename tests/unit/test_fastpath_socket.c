/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socket of a lane, in virtual time (faultsworld.h): whatever the next hop has from the programs
 * and from the socket, in whatever order that is acknowledged and lost, and however often the lane is
 * stored, taken back and given again, the socket sends each byte under its own number, and never
 * stands still while its next hop answers.
 */
#include "faultsworld.h"

#define FAULTS_END (6 * LX_S_NS)
/* A sender is waited for, its next hop drained, and timeouts have doubled to that. */
#define END (FAULTS_END + 2 * (LX_SENDER_MAX_NS + 2 * LX_HOLD_NS))

static void hop_gets_well(struct hop *t)
{
	t->silent = t->mute = t->lies = false;
	t->link = LINK;
	hop_go(t - hop);
}

/* Shorter than what costs a connection. */
static void hop_changes(struct hop *t)
{
	hop_gets_well(t);
	switch (rnd_below(6)) {
	case 0:
		t->silent = true; /* what is sent gets lost */
		break;
	case 1:
		t->mute = true; /* its ACKs get lost */
		break;
	case 2:
		t->link = 1250 << rnd_below(8);
		break;
	case 3:
		lose = lose ? 0 : 20 << rnd_below(6);
		break;
	case 4:
		off = !off;
		break;
	}
}

/* How long the oldest message has waited; those of a sender that has been closed do not count. */
static __u64 oldest_ns(void)
{
	__u64 oldest = 0;

	for (int i = 0; i < STREAMS; i++) {
		for (unsigned int k = sender[i].n_begun - IN_FLIGHT; k != sender[i].n_begun; k++) {
			const struct message *m = message_at(i, k);

			if (m->under_way && !sender[i].dead && now_ns - m->begun_ns > oldest)
				oldest = now_ns - m->begun_ns;
		}
	}
	return oldest;
}

static bool all_is_sent(void)
{
	bool idle = oldest_ns() < LX_S_NS / 2;

	for (int l = 0; l < LANES; l++)
		idle &= kernel_socket_is_idle(&ksock[l]);
	return idle;
}

static void one_schedule(void)
{
	static const struct pattern patterns[] = { LARGE, SMALL, { 1 << 10, 1 << 20, 3, LINK / 1000 } };

	pattern = patterns[rnd_below(N_OF(patterns))];
	faulty_sender = -1;
	measured_from = ~0ull;
	senders_begin();
	fp->slow_rate =
		~0u; /* socklnd would send on lanes for a minute, and their sockets not rest */
	for (__u64 ns = 500 * MS; ns < FAULTS_END; ns += (5 + rnd_below(200)) * MS) {
		run_until(ns);
		if (rnd_below(2))
			hop_changes(&hop[rnd_below(HOPS)]);
		for (int l = 0; l < LANES; l++)
			socklnd_sends(l);
	}
	lose = off = 0;
	for (int h = 0; h < HOPS; h++)
		hop_gets_well(&hop[h]);
	for (__u64 ns = FAULTS_END + LX_S_NS; ns < END && !all_is_sent(); ns += 100 * MS)
		run_until(ns);
	assert_true(all_is_sent());
}

static void nothing_stands_still(void **state)
{
	unsigned long rounds = 3 * rnd_rounds(15), stores = 0, own = 0, ignored = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		rnd_case("nothing_stands_still", i);
		one_schedule();
		stores += n_stores;
		own += n_own;
		for (int l = 0; l < LANES; l++)
			ignored += ksock[l].ignored;
		end(state);
		begin(state);
	}
	rnd_case(NULL, 0);
	printf("%lu lanes stored, %lu messages of lnetxd on them, %lu ACKs ignored\n", stores, own,
	       ignored);
	assert_true(stores > rounds);
	assert_true(own);
}

/* A next hop that answers what is repeated, but acknowledges none of it: found out, and closed. */
static void answers_for_nothing(void **state)
{
	pattern = SMALL;
	faulty_sender = -1;
	senders_begin();
	run_until(LX_S_NS);
	hop[0].lies = true;
	run_until(5 * LX_S_NS);
	assert_in_range(n_stuck, 1, CONNS);
	assert_int_equal(n_resets, 0);
	run_until(9 * LX_S_NS);
	assert_in_range(n_stuck, 1, CONNS);
	assert_int_equal(n_resets, CONNS);
	assert_true(gone_ns[0] && gone_ns[1]);
	assert_false(gone_ns[2] || gone_ns[3]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_stands_still, begin, end),
		cmocka_unit_test_setup_teardown(answers_for_nothing, begin, end),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: a lane's socket", tests, NULL, NULL);
}
