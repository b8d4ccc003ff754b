/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The daemon gives a grant while the programs, on another CPU, give or ask for one. */
#include "testlib.h"
#include "fptables.h"

#include "../../bpf/arrival.h"

/* What the other CPU does before the daemon's next change of a grant, and before the one after. */
static void (*other_cpu[2])(void);

static void other_cpu_runs(void)
{
	void (*run)(void) = other_cpu[0];

	other_cpu[0] = other_cpu[1];
	other_cpu[1] = NULL;
	if (run)
		run();
}

#define __atomic_compare_exchange_n(...)                                                           \
	(other_cpu_runs(), __atomic_compare_exchange_n(__VA_ARGS__))
#include "../../user/fastpath/grant.c"

enum { WHO = 1, A = 0, B = 1 };
static struct lx_stream stream[2], *const s = &stream[WHO];
static struct lx_lane lane[2];
static struct lx_fp_peer peer[1];
static struct lx_fp_conn conn;
static struct lx_fp_stream of_stream[N_OF(stream)] = { [WHO] = { .conn = &conn } };
static struct lx_fp_run run[N_OF(lane)];
static struct lx_fp fp = { .stream = of_stream, .run = run };
static unsigned int n_poked;

FP_TABLES(stream, N_OF(stream), lane, N_OF(lane), peer, N_OF(peer))
FP_DAEMON_TABLES
FP_NO_PACKETS

static struct lx_dest *lx_dest_of(const struct lx_nid *nid)
{
	return NULL;
}

int lx_fastpath_next(const struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int i)
{
	return -1;
}

void lx_fastpath_poke_ack(struct lx_fastpath *f, unsigned int index)
{
	assert_int_equal(index, WHO);
	n_poked++;
}

static void lx_stream_tell(void *packet, __u32 who, __u32 by_record)
{
}

static int begin(void **state)
{
	memset(stream, 0, sizeof(stream));
	memset(lane, 0, sizeof(lane));
	for (size_t i = 0; i < N_OF(lane); i++)
		lane[i].state = LX_LANE_LIVE;
	s->grant_len = 1000;
	memset(run, 0, sizeof(run));
	(void)lx_dest_of, (void)lx_packet_load;
	other_cpu[0] = other_cpu[1] = NULL;
	n_poked = 0;
	return 0;
}

static void waits_for(__u32 l)
{
	s->grant_lane = l;
	s->grant = LX_GRANT_WAITS;
	assert_true(lx_grant_queue(&lane[l], lane[l].waiting_tail, WHO));
}

static void moves_to_b(void)
{
	s->grant = LX_GRANT_NONE;
	waits_for(B);
}

static void gives_a(void)
{
	int more;

	(void)lx_grant_next(&lane[A], A, &more);
}

static void gives_b(void)
{
	int more;

	(void)lx_grant_next(&lane[B], B, &more);
}

/* Two looks: the lane rests if nothing has moved between them. */
static void daemon_looks(__u32 l)
{
	lx_fp_grant_lane_tick(&fp, l);
	lx_fp_grant_lane_tick(&fp, l);
}

/* It has a grant; or waits, in its lane's queue; or has been told to ask again. */
static void check_not_forgotten(void)
{
	const struct lx_lane *l = &lane[s->grant_lane];

	if (s->grant == LX_GRANT_GIVEN)
		assert_int_equal(l->granted, s->grant_len);
	else if (s->grant == LX_GRANT_WAITS)
		assert_true(l->waiting_first != l->waiting_tail);
	else
		assert_true(s->grant == LX_GRANT_NONE && n_poked);
}

/* Nothing moves on its lane. */
static void lane_rests(void **state)
{
	waits_for(A);
	daemon_looks(A);
	assert_int_equal(s->grant, LX_GRANT_GIVEN);
	assert_int_equal(n_poked, 1);
	check_not_forgotten();
}

/* The program removes it from the queue just then. */
static void both_give(void **state)
{
	waits_for(A);
	other_cpu[0] = gives_a;
	daemon_looks(A);
	check_not_forgotten();

	begin(NULL);
	waits_for(A);
	other_cpu[1] = gives_a;
	daemon_looks(A);
	assert_int_equal(s->grant, LX_GRANT_GIVEN);
	check_not_forgotten();
}

/* It is still in the queue of a lane that it no longer waits for, and gets its grant elsewhere. */
static void waits_elsewhere(void **state)
{
	waits_for(A);
	moves_to_b();
	other_cpu[1] = gives_b;
	daemon_looks(A);
	check_not_forgotten();
	assert_int_equal(lane[A].granted, 0);

	/* And it moves there when the daemon has just looked. */
	begin(NULL);
	waits_for(A);
	other_cpu[0] = moves_to_b;
	other_cpu[1] = gives_b;
	daemon_looks(A);
	check_not_forgotten();
	assert_int_equal(lane[A].granted, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lane_rests, begin),
		cmocka_unit_test_setup(both_give, begin),
		cmocka_unit_test_setup(waits_elsewhere, begin),
	};

	return cmocka_run_group_tests_name("fast path: grants", tests, NULL, NULL);
}
