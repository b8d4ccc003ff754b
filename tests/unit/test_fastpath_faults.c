/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bystanders of a failing next hop or sender, in virtual time (faultsworld.h): how long they wait
 * at most, and that they lose nothing.
 */
#include "faultsworld.h"

/* Many senders to each next hop, and so behind each other. */
#define MIDDLE                                                                                     \
	(struct pattern)                                                                           \
	{                                                                                          \
		64 << 10, 1 << 20, 1, LINK / 1000                                                  \
	}
#define OTHERS (600 * MS) /* how long others wait at most: stored, and repeated twice */
#define FAULTY 0 /* the sender, or the next hop, that fails */
#define BEGIN (1000 * MS)

/* How long the fault lasts. */
static __u64 lasts_ns;

/* The next hop that fails, or behind whose messages others wait. */
static int concerned;
/* The worst of a test's runs: to this one, to the other. */
static __u64 most_ns[2];

static void judge(void)
{
	for (int i = 0; i < SENDERS; i++) {
		for (unsigned int k = sender[i].n_begun - IN_FLIGHT; k != sender[i].n_begun; k++) {
			if (message_at(i, k)->under_way)
				note_age(i, message_at(i, k));
		}
	}
	most_ns[0] = lx_pos_max(most_ns[0], worst_ns[concerned]);
	most_ns[1] = lx_pos_max(most_ns[1], worst_ns[1 - concerned]);
	assert_int_equal(n_lost_of_others, 0);
	assert_int_equal(n_bad, 0);
	assert_int_equal(n_closed_senders, 0);
}

static int begin_test(void **state)
{
	memset(most_ns, 0, sizeof(most_ns));
	return begin(state);
}

static int end_test(void **state)
{
	printf("worst %.3f s to the next hop concerned, %.3f s to the other\n",
	       (double)most_ns[0] / LX_S_NS, (double)most_ns[1] / LX_S_NS);
	return end(state);
}

/* Whether others wait behind a message of this sender, of which some is still to come. */
static bool is_in_front(int who)
{
	for (int l = 0; l < LANES; l++) {
		const struct lx_stream *s = &stream[who];
		const struct lx_extent *last = lx_extent_at(s, s->tail - 1);

		if (lx_lane_first_stream(&lane[l]) != (__u32)who || !lx_lane_is_shared(&lane[l]) ||
		    s->unframed || last->lane != l ||
		    last->lane_start >= lx_lane_run(&lane[l], lane[l].run_first + 1)->start ||
		    lx_stream_arrived(s) + PACKET >= s->parse_next)
			continue;
		concerned = l / CONNS;
		return true;
	}
	return false;
}

/* Half a second with everybody well. */
static void all_is_well(struct pattern p)
{
	pattern = p;
	concerned = FAULTY;
	measured_from = BEGIN / 2;
	senders_begin();
	/* Its messages take longer to come than to go on. */
	if (faulty_sender >= 0)
		sender[faulty_sender].link = LINK / 8;
	run_until(BEGIN + rnd_below(20 * MS));
}

/* How many addresses have offended like that. */
static unsigned int n_offenders(enum lx_stream_aside why)
{
	unsigned int n = 0;

	for (int i = 0; i < LX_OFFENDERS; i++)
		n += fp->offender[i].pause_ns && fp->offender[i].why == why;
	return n;
}

static void until_in_front(int who)
{
	while (!is_in_front(who))
		run_until(now_ns + MS / 10);
}

/* Then something fails, and is mended later. */
static void run(struct pattern p, void (*fails)(void), void (*mended)(void))
{
	all_is_well(p);
	if (faulty_sender >= 0)
		until_in_front(faulty_sender);
	fails();
	run_until(now_ns + lasts_ns);
	if (mended)
		mended();
	run_until(now_ns + 3 * LX_S_NS);
	judge();
}

static void hop_falls_silent(void)
{
	hop[FAULTY].silent = true;
}

static void hop_returns(void)
{
	hop[FAULTY].silent = hop[FAULTY].lies = false;
	hop[FAULTY].link = LINK;
	hop_go(FAULTY);
}

static void hop_becomes_slow(void)
{
	hop[FAULTY].link = 1250; /* 10 Mbit/s */
}

static void hop_lies(void)
{
	hop[FAULTY].lies = true;
}

/* What is on the wire is lost. */
static void lose_sent(void)
{
	struct sender *t = &sender[FAULTY];

	t->epoch++;
	t->free_ns = now_ns;
	t->sent = lx_stream_arrived(&stream[FAULTY]);
}

static void sender_vanishes(void)
{
	sender[FAULTY].dead = true;
}

static void sender_becomes_slow(void)
{
	sender[FAULTY].link = 2; /* 2 KB/s */
	sender[FAULTY].packet = MSS;
	lose_sent();
}

static void sender_lies(void)
{
	lose_sent();
	sender[FAULTY].hole = sender[FAULTY].sent + 10000;
	sender_send(FAULTY);
}

/* ---- a next hop fails -------------------------------------------------------------------- */

/* Messages to the other next hop, of the same senders, do not wait. */
static void a_next_hop(void (*fails)(void))
{
	faulty_sender = -1;
	lasts_ns = 5 * LX_S_NS;
	run(SMALL, fails, hop_returns);
	assert_true(n_stores);
	assert_true(worst_ns[1 - concerned] < OTHERS);
	assert_true(worst_ns[concerned] < lasts_ns + 2 * LX_S_NS);
	assert_int_equal(n_fins + n_resets, 0);
}

static void silent_next_hop(void **state)
{
	a_next_hop(hop_falls_silent);
}

static void slow_next_hop(void **state)
{
	a_next_hop(hop_becomes_slow);
}

static void lying_next_hop(void **state)
{
	a_next_hop(hop_lies);
}

/* 2 Mbit/s for 20 s: nobody is closed, least of all those who have done all they can. */
static void hop_becomes_thin(void)
{
	hop[FAULTY].link = 250;
}

static void thin_next_hop(void **state)
{
	faulty_sender = -1;
	lasts_ns = 20 * LX_S_NS;
	run(LARGE, hop_becomes_thin, hop_returns);
	assert_true(worst_ns[1 - concerned] < OTHERS);
	assert_int_equal(n_fins + n_resets, 0);
}

/* One packet in 20 gets lost on the way to the next hops, and ACKs: no sender is to blame. */
static void loss_behind(void **state)
{
	faulty_sender = -1;
	for (int i = 0; i < 2; i++) {
		all_is_well(i ? LARGE : MIDDLE);
		lose = 20;
		run_until(now_ns + 10 * LX_S_NS);
		lose = 0;
		run_until(now_ns + 3 * LX_S_NS);
		judge();
		assert_int_equal(n_offenders(LX_STREAM_ASIDE_SLOW), 0);
		assert_int_equal(n_offenders(LX_STREAM_ASIDE_UNSAFE), 0);
		assert_int_equal(n_fins + n_resets, 0);
		end(NULL);
		begin(NULL);
	}
}

/* ---- a stall ends by itself ---------------------------------------------------------------- */

static void sender_stalls(void)
{
	sender[FAULTY].stalls = true;
	lose_sent();
}

static void sender_goes_on(void)
{
	sender[FAULTY].stalls = false;
	sender_send(FAULTY);
}

/* Messages behind its own wait as long; nobody is closed, and nothing lost, not even of its own. */
static void a_stall(int who, void (*fails)(void), void (*mended)(void), unsigned int most)
{
	static const unsigned int ms[] = { 1200, 2000, 3000 };

	faulty_sender = who;
	for (unsigned int i = 0; i < 4 * N_OF(ms); i++) {
		lasts_ns = ms[i % N_OF(ms)] * MS;
		run(i / N_OF(ms) % 2 ? LARGE : MIDDLE, fails, mended);
		assert_true(worst_ns[concerned] < most * lasts_ns + 500 * MS);
		assert_true(worst_ns[1 - concerned] < OTHERS);
		assert_int_equal(n_fins + n_resets, 0);
		end(NULL);
		begin(NULL);
	}
}

static void stalled_sender(void **state)
{
	a_stall(FAULTY, sender_stalls, sender_goes_on, 1);
}

/* TCP has doubled its timeout meanwhile. */
static void stalled_next_hop(void **state)
{
	a_stall(-1, hop_falls_silent, hop_returns, 2);
}

/* Once more after each stall: TCP must not have kept the round trip of the last one. */
static void stalled_again(void **state)
{
	static const unsigned int ms[] = { 1200, 2000, 3000 };

	faulty_sender = -1;
	for (unsigned int i = 0; i < N_OF(ms); i++) {
		all_is_well(MIDDLE);
		for (int n = 0; n < 5; n++) {
			memset(worst_ns, 0, sizeof(worst_ns));
			measured_from = now_ns;
			hop_falls_silent();
			run_until(now_ns + ms[i] * MS);
			hop_returns();
			run_until(now_ns + 2 * ms[i] * MS);
			judge();
			assert_true(worst_ns[FAULTY] < 2 * ms[i] * MS + 500 * MS);
		}
		end(NULL);
		begin(NULL);
	}
}

/* ---- a message that will not be finished ---------------------------------------------------- */

/* Once, messages behind its own wait until it is given up; then a lane ends, and nothing else. */
static void a_sender(struct pattern p, void (*fails)(void), __u64 least_ns, __u64 most_ns,
		     __u64 other_ns)
{
	faulty_sender = FAULTY;
	lasts_ns = most_ns + LX_S_NS;
	for (int i = 0; i < 4; i++) {
		run(p, fails, NULL);
		assert_in_range(worst_ns[concerned], least_ns, most_ns);
		assert_true(worst_ns[1 - concerned] < other_ns);
		assert_true(n_fins && n_elsewhere);
		assert_int_equal(n_resets, 0);
		assert_int_equal(n_offenders(LX_STREAM_ASIDE_UNSAFE),
				 !(stream[FAULTY].flags & LX_STREAM_GATEWAY));
		end(NULL);
		begin(NULL);
	}
}

static void vanished_sender(void **state)
{
	a_sender(MIDDLE, sender_vanishes, LX_SENDER_SILENT_NS, LX_SENDER_SILENT_NS + LX_S_NS,
		 OTHERS);
}

static void lying_sender(void **state)
{
	a_sender(LARGE, sender_lies, LX_SENDER_SILENT_NS, LX_SENDER_SILENT_NS + LX_S_NS, OTHERS);
}

static void slow_sender(void **state)
{
	a_sender(MIDDLE, sender_becomes_slow, LX_SENDER_MAX_NS, LX_SENDER_MAX_NS + LX_S_NS, OTHERS);
}

/* Its connection ends: nobody has to wait for that to be found out. */
static void sender_dies(void)
{
	sender_ends(FAULTY);
}

static void dead_sender(void **state)
{
	a_sender(MIDDLE, sender_dies, 0, LX_S_NS, OTHERS);
}

/* ---- behind another router ----------------------------------------------------------------- */

static void sender_is_gateway(void)
{
	stream_conn[FAULTY].facts.nid =
		(struct lx_nid){ .type = LX_NET_TCP, .addr = { 10, 9, 0, 9 } };
	stream[FAULTY].flags |= LX_STREAM_GATEWAY;
}

/* Who trickles there is that router's to close; ours waits until it must have done so. */
static void gateway_is_slow(void)
{
	sender_is_gateway();
	sender_becomes_slow();
}

static void slow_behind_gateway(void **state)
{
	a_sender(LARGE, gateway_is_slow, LX_FORWARDED_NS, LX_FORWARDED_NS + LX_S_NS, OTHERS);
}

/* The router itself is gone: it answers no probe. */
static void gateway_vanishes(void)
{
	sender_is_gateway();
	sender_vanishes();
}

static void vanished_gateway(void **state)
{
	a_sender(LARGE, gateway_vanishes, LX_SENDER_SILENT_NS, LX_SENDER_SILENT_NS + 2 * LX_S_NS,
		 OTHERS);
}

/* ---- several at once ----------------------------------------------------------------------- */

/* The next hop has answers for us that take a second: what it has sent of them is not lost. */
static void sender_of_busy_dies(void)
{
	replies[concerned] = LX_S_NS / MS * LINK;
	sender_ends(FAULTY);
}

static void dead_sender_to_busy(void **state)
{
	a_sender(MIDDLE, sender_of_busy_dies, 0, 2 * LX_S_NS, LX_S_NS);
}

/* Others die inside messages meanwhile, to the same next hop. */
static void sender_comes(int who)
{
	make_sender(who);
	sender[who].hop = concerned;
	sender[who].link = LINK / 8;
	sender[who].large = true;
	stream[who].key.remote[14] = 1;
	sender_send(who);
}

/* Two on two lanes, soon after each other: what is behind either is not lost. */
static void two_deaths(void **state)
{
	__u64 ns;

	faulty_sender = FAULTY;
	for (int i = 0; i < 6; i++) {
		all_is_well(LARGE);
		sender_comes(SENDERS);
		until_in_front(FAULTY);
		sender_ends(FAULTY);
		ns = now_ns + (100 + rnd_below(600)) * MS;
		do
			run_until(now_ns + MS / 10);
		while (now_ns < ns || (now_ns < ns + LX_S_NS && !is_in_front(SENDERS)));
		sender_ends(SENDERS);
		run_until(now_ns + 2 * LX_S_NS);
		judge();
		assert_true(worst_ns[FAULTY] < 2 * LX_S_NS);
		assert_int_equal(n_resets, 0);
		end(NULL);
		begin(NULL);
	}
}

/* One trickles on another lane meanwhile: he is given up, too, and nobody else waits for him. */
static void death_beside_trickle(void **state)
{
	faulty_sender = FAULTY;
	for (int i = 0; i < 4; i++) {
		all_is_well(MIDDLE);
		until_in_front(FAULTY);
		sender_becomes_slow();
		run_until(now_ns + rnd_below(LX_S_NS));
		sender_comes(SENDERS);
		run_until(now_ns + 200 * MS);
		sender_ends(SENDERS);
		run_until(now_ns + 16 * LX_S_NS);
		judge();
		assert_true(worst_ns[concerned] < LX_SENDER_MAX_NS + LX_S_NS);
		assert_true(gap_ns[concerned] < 1500 * MS);
		assert_int_equal(n_resets, 0);
		end(NULL);
		begin(NULL);
	}
}

/* Each @every_ns, one comes, and dies @every_ns later. */
static void they_keep_dying(__u64 every_ns, bool busy)
{
	int next = SENDERS;

	pattern = busy ? LARGE : SMALL;
	faulty_sender = -1;
	concerned = FAULTY;
	measured_from = BEGIN / 2;
	senders_begin();
	for (int i = 0; !busy && i < SENDERS; i++)
		sender[i].link = LINK / 100;
	for (sender_comes(next); next < STREAMS - 1; next++) {
		run_until(now_ns + every_ns / 2);
		sender_comes(next + 1);
		run_until(now_ns + every_ns / 2);
		sender_ends(next);
	}
	run_until(now_ns + LX_S_NS);
	judge();
	printf("%lu FINs, %lu sent elsewhere, %.3f s without a message of others, %.2f Gbit/s\n",
	       n_fins, n_elsewhere, (double)gap_ns[FAULTY] / LX_S_NS,
	       n_bytes_of_others * 8.0 / (now_ns - measured_from));
	assert_int_equal(n_resets, 0);
}

static void many_deaths(void **state)
{
	they_keep_dying(350 * MS, false);
	assert_true(gap_ns[FAULTY] < 1500 * MS);
	assert_true(worst_ns[FAULTY] < 1500 * MS);
}

static void many_deaths_busy(void **state)
{
	they_keep_dying(350 * MS, true);
	/* At least half of what the links to both next hops carry. */
	assert_true(n_bytes_of_others * MS / (now_ns - measured_from) > HOPS * LINK / 2);
}

static void seldom_deaths(void **state)
{
	they_keep_dying(5 * LX_S_NS, false);
	assert_true(gap_ns[FAULTY] < 1500 * MS);
}

#define FAULTS_TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAULTS_TEST(silent_next_hop),	   FAULTS_TEST(slow_next_hop),
		FAULTS_TEST(lying_next_hop),	   FAULTS_TEST(thin_next_hop),
		FAULTS_TEST(loss_behind),	   FAULTS_TEST(stalled_sender),
		FAULTS_TEST(stalled_next_hop),	   FAULTS_TEST(stalled_again),
		FAULTS_TEST(vanished_sender),	   FAULTS_TEST(lying_sender),
		FAULTS_TEST(slow_sender),	   FAULTS_TEST(dead_sender),
		FAULTS_TEST(dead_sender_to_busy),  FAULTS_TEST(slow_behind_gateway),
		FAULTS_TEST(vanished_gateway),	   FAULTS_TEST(two_deaths),
		FAULTS_TEST(death_beside_trickle), FAULTS_TEST(many_deaths),
		FAULTS_TEST(many_deaths_busy),	   FAULTS_TEST(seldom_deaths),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: faults", tests, NULL, NULL);
}
