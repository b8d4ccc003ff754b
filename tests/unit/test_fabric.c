/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Results of a fabric check: medians, which rails are at fault, how a matrix is drawn. */
#include "../../tools/cli/lnetx/matrix.h"
#include "../../tools/cli/lnetx/rail.h"
#include "testlib.h"

/* @us: of all its answers */
static struct lx_rail rail(const char *own, const char *peer, const char *primary, uint32_t us)
{
	struct lx_rail r = { .sent = 5, .answered = 5 };

	if (own)
		assert_int_equal(lx_nid_parse(own, &r.own), 0);
	else
		r.own = lx_nid_any;
	assert_int_equal(lx_nid_parse(peer, &r.peer), 0);
	assert_int_equal(lx_nid_parse(primary, &r.primary), 0);
	for (int i = 0; i < 5; i++)
		r.rtt_us[i] = us;
	return r;
}

static void explains(const struct lx_rail *r, const struct lx_rail *all, size_t n, const char *text)
{
	char buf[400];

	lx_rail_explain(r, all, n, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

static void test_median(void **state)
{
	struct lx_rail r = rail("10.1.0.1@tcp", "10.1.0.2@tcp", "10.1.0.2@tcp", 100);

	assert_int_equal(lx_rail_median(&r), 100);
	r.rtt_us[0] = 900000;
	r.rtt_us[3] = 1;
	assert_int_equal(lx_rail_median(&r), 100);
	r.answered = 2; /* even number of pings: the lower median */
	assert_int_equal(lx_rail_median(&r), 100);
	r.answered = 0;
	assert_int_equal(lx_rail_median(&r), 0);
}

/* The fault names the slow rail and its latency, and whether the node or one rail is at fault. */
static void test_slow(void **state)
{
	struct lx_rail all[] = {
		rail("10.1.0.1@tcp", "10.1.0.2@tcp", "10.1.0.2@tcp", 200),
		rail("10.2.0.1@tcp2", "10.2.0.2@tcp2", "10.1.0.2@tcp", 9000),
		rail("10.1.0.1@tcp", "10.1.0.3@tcp", "10.1.0.3@tcp", 250),
	};

	assert_int_equal(lx_rail_judge(all, 3, 4), 1);
	assert_int_equal(all[0].fault, LX_RAIL_WELL);
	assert_int_equal(all[1].fault, LX_RAIL_SLOW);
	explains(&all[1], all, 3,
		 "10.2.0.2@tcp2 from 10.2.0.1@tcp2: 9.000 ms, 36 times the median of 0.250 ms of "
		 "all direct rails; its other rail is well");
	/* The user sets the limit. */
	assert_int_equal(lx_rail_judge(all, 3, 40), 0);
	/* Very short latencies are not slow, whatever the ratio. */
	all[0].rtt_us[0] = all[0].rtt_us[1] = all[0].rtt_us[2] = 1;
	all[1] = all[2];
	assert_int_equal(lx_rail_judge(all, 3, 4), 0);
}

/* Routed rails are compared with each other. */
static void test_kinds(void **state)
{
	struct lx_rail all[] = {
		rail("10.1.0.1@tcp", "10.1.0.2@tcp", "10.1.0.2@tcp", 100),
		rail("10.1.0.1@tcp", "10.1.0.3@tcp", "10.1.0.3@tcp", 100),
		rail("10.1.0.1@tcp", "10.9.0.1@tcp9", "10.9.0.1@tcp9", 3000),
		rail("10.1.0.1@tcp", "10.9.0.2@tcp9", "10.9.0.2@tcp9", 3000),
		rail("10.1.0.1@tcp", "10.9.0.3@tcp9", "10.9.0.3@tcp9", 30000),
	};

	for (int i = 2; i < 5; i++) {
		all[i].n_gateways = 2;
		lx_nid_parse("10.1.0.8@tcp", &all[i].gateway[0]);
		lx_nid_parse("10.1.0.9@tcp", &all[i].gateway[1]);
	}
	assert_int_equal(lx_rail_judge(all, 5, 4), 1);
	explains(&all[4], all, 5,
		 "10.9.0.3@tcp9 from 10.1.0.1@tcp via 10.1.0.8@tcp or 10.1.0.9@tcp: 30.000 ms, 10 "
		 "times the median of 3.000 ms of all routed rails");
}

static void test_lost(void **state)
{
	struct lx_rail all[] = {
		rail(NULL, "10.1.0.2@tcp", "10.1.0.2@tcp", 0),
		rail("10.1.0.1@tcp", "10.1.0.3@tcp", "10.1.0.3@tcp", 100),
		rail("10.1.0.1@tcp", "10.1.0.4@tcp", "10.1.0.3@tcp", 100),
	};

	all[0].answered = 0;
	strcpy(all[0].why, "No route to host: nobody is there");
	all[1].answered = 4;
	strcpy(all[1].why, "Connection timed out");
	all[2].mtu = 9000;
	all[2].passed = 1500;
	assert_int_equal(lx_rail_judge(all, 3, 4), 3);
	explains(&all[0], all, 3, "10.1.0.2@tcp: No route to host: nobody is there");
	explains(&all[1], all, 3,
		 "10.1.0.3@tcp from 10.1.0.1@tcp: 1 of 5 pings lost (Connection timed out); so is "
		 "its other rail");
	explains(&all[2], all, 3,
		 "10.1.0.4@tcp from 10.1.0.1@tcp: packets of 9000 bytes get lost, those of 1500 "
		 "arrive; set the MTU of all interfaces and switches on this way to 9000, or ours "
		 "lower; so is its other rail");
	/* No answer to any size proves nothing: echo requests may be filtered. */
	all[2].passed = 0;
	assert_int_equal(lx_rail_judge(all, 3, 4), 2);
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void fill(struct lx_matrix *m)
{
	*m = (struct lx_matrix){ .title = "ms", .decimals = 3 };
	assert_int_equal(lx_matrix_row(m, "b"), 0);
	assert_int_equal(lx_matrix_column(m, "own1"), 0);
	lx_matrix_at(m, 0, 0)->value = 0.1;
	/* A cell stays where it is when the matrix grows. */
	assert_int_equal(lx_matrix_column(m, "own2"), 1);
	assert_int_equal(lx_matrix_row(m, "cc"), 1);
	assert_int_equal(lx_matrix_row(m, "b"), 0);
	lx_matrix_at(m, 1, 0)->value = 12.8;
	lx_matrix_at(m, 1, 0)->bad = true;
	lx_matrix_at(m, 1, 1)->lost = true;
}

static char *drawn(const struct lx_matrix *m, int how)
{
	static char text[4096];
	FILE *out;

	memset(text, 0, sizeof(text));
	out = fmemopen(text, sizeof(text), "w");
	if (how == 2)
		lx_matrix_svg(out, m, 1);
	else
		lx_matrix_draw(out, m, how);
	fclose(out);
	return text;
}

static void test_drawing(void **state)
{
	struct lx_matrix m;

	fill(&m);
	assert_string_equal(drawn(&m, 0), "ms\n"
					  "            own1          own2\n"
					  "b       0.100 1           -   \n"
					  "cc  !  12.800 8   !    lost   \n");
	assert_non_null(strstr(drawn(&m, 1), "0.100 ▁"));
	assert_non_null(strstr(drawn(&m, 1), "12.800 █"));
	lx_matrix_free(&m);
}

static void test_svg(void **state)
{
	struct lx_matrix m;
	char *svg;

	fill(&m);
	lx_matrix_row(&m, "<&>");
	svg = drawn(&m, 2);
	assert_int_equal(strncmp(svg, "<svg xmlns=", 11), 0);
	assert_non_null(strstr(svg, ">12.800</text>"));
	assert_non_null(strstr(svg, ">lost</text>"));
	assert_non_null(strstr(svg, ">&#60;&#38;&#62;</text>"));
	assert_non_null(strstr(svg, "</svg>\n"));
	lx_matrix_free(&m);
}

/* Two in one picture: as wide as the wider one, the second below the first. */
static void test_svg_two(void **state)
{
	struct lx_matrix m[2];
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	fill(&m[0]);
	fill(&m[1]);
	m[1].title = "MiB/s";
	lx_matrix_svg(out, m, 2);
	fclose(out);
	/* Of each two lines of heading, two rows, and a margin. */
	assert_non_null(strstr(text, "width=\"232\" height=\"240\""));
	assert_non_null(strstr(text, "y=\"18\" text-anchor=\"start\">ms<"));
	assert_non_null(strstr(text, "y=\"138\" text-anchor=\"start\">MiB/s<"));
	assert_string_equal(strstr(text, "</svg>"), "</svg>\n");
	lx_matrix_free(&m[0]);
	lx_matrix_free(&m[1]);
}

/* Many nodes: only the bars. */
static void test_compact(void **state)
{
	struct lx_matrix m = {
		.title = "MiB/s", .decimals = 1, .higher_is_better = true, .compact = true
	};

	for (int i = 0; i < 3; i++) {
		char name[2] = { 'a' + i };

		assert_int_equal(lx_matrix_row(&m, name), i);
		assert_int_equal(lx_matrix_column(&m, name), i);
	}
	lx_matrix_at(&m, 0, 1)->value = 100;
	lx_matrix_at(&m, 0, 2)->value = 90;
	lx_matrix_at(&m, 1, 0)->value = 95;
	/* Much the same, so all are full. */
	assert_string_equal(drawn(&m, 0), "MiB/s, 90.0 to 100.0\n"
					  "a   -  8  8\n"
					  "b   8  -  -\n"
					  "c   -  -  -\n");
	lx_matrix_at(&m, 2, 1)->value = 10;
	lx_matrix_at(&m, 2, 1)->bad = true;
	lx_matrix_at(&m, 2, 0)->lost = true;
	assert_string_equal(drawn(&m, 0), "MiB/s, 10.0 to 100.0\n"
					  "a   -  8  8\n"
					  "b   8  -  -\n"
					  "c  !x !1  -\n");
	lx_matrix_free(&m);
}

/* There is nothing to compare with. */
static void test_drawing_one(void **state)
{
	struct lx_matrix m = { .title = "ms", .decimals = 3 };

	assert_non_null(strstr(drawn(&m, 0), "ms\n"));
	lx_matrix_row(&m, "b");
	lx_matrix_column(&m, "own1");
	lx_matrix_at(&m, 0, 0)->value = 3;
	assert_non_null(strstr(drawn(&m, 0), "3.000 1"));
	lx_matrix_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median),	cmocka_unit_test(test_slow),
		cmocka_unit_test(test_kinds),	cmocka_unit_test(test_lost),
		cmocka_unit_test(test_drawing), cmocka_unit_test(test_svg),
		cmocka_unit_test(test_svg_two), cmocka_unit_test(test_drawing_one),
		cmocka_unit_test(test_compact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
