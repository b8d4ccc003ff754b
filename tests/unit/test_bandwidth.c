/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bandwidths of a fabric check: the order of the pairs, and which nodes and pairs are slow. */
#include "../../tools/cli/lnetx/bandwidth.h"
#include "testlib.h"

#define MIB (1024 * 1024.0)

static struct lx_bandwidth b;
static char told[4096]; /* faults, a line each */
static size_t n_told;

/* Nodes 10.1.0.1@tcp and so on; in MiB/s, row by row; 0: not measured, -1: failed. */
static void matrix(size_t n, const double *rate)
{
	struct lx_nid nid[LX_BANDWIDTH_NODES_MAX];

	for (size_t i = 0; i < n; i++) {
		char text[LX_NID_TEXT];

		snprintf(text, sizeof(text), "10.1.0.%zu@tcp", i + 1);
		assert_int_equal(lx_nid_parse(text, &nid[i]), 0);
	}
	lx_bandwidth_fini(&b);
	assert_int_equal(lx_bandwidth_init(&b, nid, n), 0);
	for (size_t i = 0; rate && i < n * n; i++) {
		b.cell[i].rate = rate[i] < 0 ? 0 : rate[i] * MIB;
		b.cell[i].errors = rate[i] < 0;
		b.cell[i].state = rate[i] < 0	? LX_BANDWIDTH_FAILED
				  : rate[i] > 0 ? LX_BANDWIDTH_WELL
						: LX_BANDWIDTH_NONE;
	}
}

static void tell(const struct lx_nid *nid, const char *reason, const char *text, void *arg)
{
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s: %s\n", reason, text);
	n_told++;
}

static void judged(double low, const char *text)
{
	told[0] = '\0';
	n_told = 0;
	lx_bandwidth_judge(&b, low);
	lx_bandwidth_explain(&b, tell, NULL);
	assert_string_equal(told, text);
}

static int end(void **state)
{
	lx_bandwidth_fini(&b);
	return 0;
}

/* ---- the order ------------------------------------------------------------------------------ */

static void test_tournament(void **state)
{
	for (size_t n = 0; n <= 33; n++) {
		unsigned char met[33][33] = { 0 };
		struct lx_bandwidth_pair pair[17];
		size_t all = 0;

		for (size_t round = 0; round < lx_bandwidth_rounds(n); round++) {
			bool busy[33] = { 0 };
			size_t found = lx_bandwidth_round(n, round, pair);

			assert_int_equal(found, n / 2);
			for (size_t i = 0; i < found; i++) {
				size_t x = pair[i].a, y = pair[i].b;

				assert_true(x < n && y < n && x != y && !busy[x] && !busy[y]);
				busy[x] = busy[y] = true;
				assert_false(met[x][y]++ || met[y][x]++);
				all++;
			}
		}
		assert_int_equal(all, n ? n * (n - 1) / 2 : 0);
	}
}

/* ---- the judgement -------------------------------------------------------------------------- */

static void test_well(void **state)
{
	matrix(3, (double[]){ 0, 100, 80, /* */ 90, 0, 70, /* */ 110, 60, 0 });
	judged(0.5, "");
	assert_int_equal(lx_bandwidth_at(&b, 0, 1)->state, LX_BANDWIDTH_WELL);
	assert_int_equal(lx_bandwidth_at(&b, 0, 0)->state, LX_BANDWIDTH_NONE);
}

/* Most figures of the matrix are those of the slow node, but it is the one that is named. */
static void test_slow_node(void **state)
{
	matrix(3, (double[]){ 0, 100, 38, /* */ 100, 0, 37, /* */ 38, 35, 0 });
	strcpy(b.node[2].rails, "one of its 2 rails carries nothing: 10.2.0.3@tcp2");
	judged(0.5, "low: 10.1.0.3@tcp: sends 38.0 MiB/s at best, 38 % of the median of all nodes "
		    "(100.0 MiB/s); receives 38.0 MiB/s at best, 38 % of the median of all nodes "
		    "(100.0 MiB/s); one of its 2 rails carries nothing: 10.2.0.3@tcp2\n");
	assert_int_equal(lx_bandwidth_at(&b, 2, 0)->state, LX_BANDWIDTH_LOW);
	assert_int_equal(lx_bandwidth_at(&b, 0, 2)->state, LX_BANDWIDTH_LOW);
	assert_int_equal(lx_bandwidth_at(&b, 0, 1)->state, LX_BANDWIDTH_WELL);
	judged(0.3, "");
}

/* One direction only: the others receive little from it, but that is not their fault. */
static void test_slow_sender(void **state)
{
	matrix(3, (double[]){ 0, 100, 100, /* */ 100, 0, 100, /* */ 10, 10, 0 });
	judged(0.5, "low: 10.1.0.3@tcp: sends 10.0 MiB/s at best, 10 % of the median of all nodes "
		    "(100.0 MiB/s)\n");
	matrix(3, (double[]){ 0, 100, 10, /* */ 100, 0, 10, /* */ 100, 100, 0 });
	judged(0.5, "low: 10.1.0.3@tcp: receives 10.0 MiB/s at best, 10 % of the median of all "
		    "nodes (100.0 MiB/s)\n");
}

/* Half of the nodes: of two kinds, the faster one is how it should be. */
static void test_many_slow(void **state)
{
	matrix(4, (double[]){ 0, 90, 20, 20, /* */ 90, 0, 20, 20, /* */ 20, 20, 0, 20, /* */
			      20, 20, 20, 0 });
	lx_bandwidth_judge(&b, 0.5);
	assert_false(b.node[0].low[LX_BANDWIDTH_SENDS] || b.node[0].low[LX_BANDWIDTH_RECEIVES]);
	assert_false(b.node[1].low[LX_BANDWIDTH_SENDS] || b.node[1].low[LX_BANDWIDTH_RECEIVES]);
	assert_true(b.node[2].low[LX_BANDWIDTH_SENDS] && b.node[2].low[LX_BANDWIDTH_RECEIVES]);
	assert_true(b.node[3].low[LX_BANDWIDTH_SENDS] && b.node[3].low[LX_BANDWIDTH_RECEIVES]);
}

/* Both ends are fast with others. */
static void test_slow_pair(void **state)
{
	matrix(4, (double[]){ 0, 10, 100, 100, /* */ 100, 0, 90, 80, /* */ 90, 80, 0, 100, /* */
			      100, 90, 80, 0 });
	judged(0.5, "low: 10.1.0.1@tcp to 10.1.0.2@tcp: 10.0 MiB/s, 11 % of what both ends reach "
		    "with others (90.0 MiB/s)\n");
	assert_int_equal(lx_bandwidth_at(&b, 0, 1)->state, LX_BANDWIDTH_LOW);
}

/* Slow with most, though not with all: told once. */
static void test_slow_with_most(void **state)
{
	matrix(5, (double[]){ 0,   100, 100, 100, 100, /* */ 100, 0,   100, 100, 100, /* */
			      100, 100, 0,   100, 100, /* */ 100, 100, 100, 0,	 100, /* */
			      10,  10,	10,  100, 0 });
	judged(0.5, "low: 10.1.0.5@tcp: to 3 of 4 nodes it is below 50 % of what both ends reach "
		    "with others\n");
}

static void test_failed(void **state)
{
	matrix(3, (double[]){ 0, -1, 100, /* */ 100, 0, 100, /* */ 100, 100, 0 });
	judged(0.5, "failed: 10.1.0.1@tcp to 10.1.0.2@tcp: no data gets through (errors: 1); next, "
		    "on the first: lnetctl ping 10.1.0.2@tcp\n");
	matrix(3, (double[]){ 0, 100, -1, /* */ 100, 0, -1, /* */ -1, -1, 0 });
	judged(0.5, "failed: 10.1.0.3@tcp: to 2 of 2 nodes no data gets through\n"
		    "failed: 10.1.0.3@tcp: from 2 of 2 nodes no data gets through\n");
	/* Nothing at all. */
	matrix(2, (double[]){ 0, -1, -1, 0 });
	judged(0.5, "failed: 10.1.0.1@tcp to 10.1.0.2@tcp: no data gets through (errors: 1); next, "
		    "on the first: lnetctl ping 10.1.0.2@tcp\n"
		    "failed: 10.1.0.2@tcp to 10.1.0.1@tcp: no data gets through (errors: 1); next, "
		    "on the first: lnetctl ping 10.1.0.1@tcp\n");
}

/* There is only the other direction to compare with. */
static void test_two(void **state)
{
	matrix(2, (double[]){ 0, 100, 38, 0 });
	judged(0.5, "low: 10.1.0.2@tcp to 10.1.0.1@tcp: 38.0 MiB/s, 38 % of the other direction "
		    "(100.0 MiB/s)\n");
	assert_int_equal(lx_bandwidth_at(&b, 0, 1)->state, LX_BANDWIDTH_WELL);
	matrix(2, (double[]){ 0, 100, 60, 0 });
	judged(0.5, "");
}

/* Few of the pairs were measured, or none. */
static void test_gaps(void **state)
{
	matrix(4, (double[]){ 0, 100, 0, 0, /* */ 100, 0, 0, 0, /* */ 0, 0, 0, 10, /* */
			      0, 0, 10, 0 });
	lx_bandwidth_judge(&b, 0.5);
	assert_true(b.node[2].low[LX_BANDWIDTH_SENDS] && b.node[3].low[LX_BANDWIDTH_SENDS]);
	assert_false(b.node[0].low[LX_BANDWIDTH_SENDS] || b.node[0].low[LX_BANDWIDTH_RECEIVES]);
	matrix(4, NULL);
	judged(0.5, "");
	matrix(0, NULL);
	judged(0.5, "");
}

#define TEST(fn) cmocka_unit_test_teardown(fn, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tournament),	   TEST(test_well),	 TEST(test_slow_node),
		TEST(test_slow_sender),	   TEST(test_many_slow), TEST(test_slow_pair),
		TEST(test_slow_with_most), TEST(test_failed),	 TEST(test_two),
		TEST(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
