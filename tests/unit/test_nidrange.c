/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ranges of NIDs and nets, as in selection policies. Spec lnet.md 11.3. */
#include "testlib.h"

#include <errno.h>

#include <lnetx/nid.h>

#include "../../user/base/nidrange.h"

static struct lx_nid_range range(const char *text)
{
	struct lx_nid_range r;

	if (lx_nidrange_parse(text, &r))
		fail_msg("\"%s\" is a range", text);
	return r;
}

/* Text, and the printed form if it differs. */
static const struct {
	const char *text, *printed;
} good[] = {
	{ "tcp", NULL },
	{ "tcp0", NULL },
	{ "tcp1", NULL },
	{ "tcp[1-3]", NULL },
	{ "tcp[1-9/2,20]", NULL },
	{ "tcp[7]", "tcp7" },
	{ "o2ib", NULL },
	{ "o2ib2", NULL },
	{ "o2ib[0-65535]", NULL },
	{ "bxi3f4", NULL },
	{ "lo", NULL },
	{ "0@lo", NULL },
	{ "10.0.0.1@tcp", NULL },
	{ "10.0.0.1@tcp0", NULL },
	{ "010.0.0.01@tcp1", "10.0.0.1@tcp1" },
	{ "*.*.*.*@tcp1", "[0-255].[0-255].[0-255].[0-255]@tcp1" },
	{ "10.77.0.[2-10/2]@tcp", NULL },
	{ "10.77.0.[2-10/1]@tcp", "10.77.0.[2-10]@tcp" },
	{ "10.77.[0,1-4/2].*@tcp[0-9/3]", "10.77.[0,1-4/2].[0-255]@tcp[0-9/3]" },
	{ "[0-255].[1].2.[3,4]@efa", "[0-255].1.2.[3,4]@efa" },
	{ "7@kfi", NULL },
	{ "[1-4,9]@gni3", NULL },
	{ "[0-4294967295]@gni", NULL },
	{ "fd77::1@tcp", NULL },
	{ "FD77:0::1@tcp3", "fd77::1@tcp3" },
};

static const char *const bad[] = {
	"",
	"@",
	"*",
	"*@tcp",
	"*@*",
	"@tcp",
	"bogus",
	"tcp-1",
	"tcp65536",
	"tcp[65536]",
	"tcp[]",
	"tcp[1",
	"tcp[1]]",
	"tcp[3-1]",
	"tcp[1-3/0]",
	"tcp1[2]",
	"tcp[1][2]",
	"tcp[1-]",
	"tcp[-1]",
	"tcp[1,]",
	"tcp ",
	" tcp",
	"lo1",
	"lo[0]",
	"10.0.0.1",
	"10.77.0@tcp",
	"10.77.0.1.2@tcp",
	"10.77.0.300@tcp",
	"10.77.0.[1-300]@tcp",
	"10.77.0.0/24@tcp",
	"10.77.0.1-4@tcp",
	"10.77.0.1[2]@tcp",
	"10.77.0.**@tcp",
	"10.77.0.*1@tcp",
	"10.77.0.@tcp",
	"10.77.0.1@tcp@tcp",
	"10.77.0.1@bogus",
	"10.0.0.1@kfi",
	"7@tcp",
	"[1-4]@tcp",
	"fd77::1@o2ib",
	"fd77::1@tcp[1-2]",
	"fd77::[1-2]@tcp",
	"fd77::*@tcp",
	"[1,2,3,4,5,6,7,8].[1,2,3,4,5,6,7,8].[1,2,3,4,5,6,7,8].[1,2,3,4,5,6,7,8,9]@tcp",
};

static void test_forms(void **state)
{
	struct lx_nid_range r;
	char text[LX_NID_RANGE_TEXT], longest[400];

	for (size_t i = 0; i < N_OF(good); i++) {
		r = range(good[i].text);
		assert_string_equal(lx_nidrange_format(&r, text, sizeof(text)),
				    good[i].printed ? good[i].printed : good[i].text);
	}
	for (size_t i = 0; i < N_OF(bad); i++) {
		if (!lx_nidrange_parse(bad[i], &r))
			fail_msg("\"%s\" is no range", bad[i]);
	}
	memset(longest, '0', sizeof(longest));
	strcpy(longest + sizeof(longest) - sizeof("1.0.0.1@tcp"), "1.0.0.1@tcp");
	assert_int_equal(lx_nidrange_parse(longest, &r), -EINVAL);
}

static bool has(const char *text, const char *nid_text)
{
	struct lx_nid_range r = range(text);
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(nid_text, &nid), 0);
	return lx_nidrange_has(&r, &nid);
}

static bool has_net(const char *text, const char *net_text)
{
	struct lx_nid_range r = range(text);
	uint32_t net;

	assert_int_equal(lx_net_parse(net_text, &net), 0);
	return lx_nidrange_has_net(&r, net);
}

static void test_match(void **state)
{
	const struct lx_nid_range none = { 0 };

	/* A net without a number is number 0, not any. */
	assert_true(has_net("tcp", "tcp") && has_net("tcp0", "tcp") && has_net("tcp", "tcp0"));
	assert_false(has_net("tcp", "tcp1"));
	assert_false(has_net("tcp", "o2ib"));
	assert_true(has_net("tcp[1-9/2]", "tcp3"));
	assert_false(has_net("tcp[1-9/2]", "tcp4"));
	assert_true(has("tcp", "10.0.0.1@tcp") && has("tcp", "fd00::1@tcp"));
	assert_false(has("tcp", "10.0.0.1@tcp1"));

	assert_true(has("10.0.*.[2-10/4,7]@tcp[1,2]", "10.0.9.6@tcp2"));
	assert_true(has("10.0.*.[2-10/4,7]@tcp[1,2]", "10.0.255.7@tcp1"));
	assert_false(has("10.0.*.[2-10/4,7]@tcp[1,2]", "10.0.9.8@tcp2"));
	assert_false(has("10.0.*.[2-10/4,7]@tcp[1,2]", "10.0.9.6@tcp"));
	assert_false(has("10.0.*.[2-10/4,7]@tcp[1,2]", "10.1.9.6@tcp1"));
	/* An IPv6 address does not match by its first bytes, as if it were IPv4. */
	assert_false(has("*.*.*.*@tcp", "fd00::1@tcp"));

	assert_true(has("[1-4]@kfi", "3@kfi"));
	assert_false(has("[1-4]@kfi", "5@kfi"));
	assert_true(has("fd00::1@tcp1", "fd00:0::1@tcp1"));
	assert_false(has("fd00::1@tcp1", "fd00::1@tcp"));
	assert_true(has("0@lo", "0@lo") && has("lo", "0@lo"));

	assert_false(lx_nidrange_has(&none, &lx_nid_any));
	assert_false(lx_nidrange_has(&none, &lx_nid_lo));
	assert_false(lx_nidrange_has_net(&none, 0));
}

/* A list short enough to be expanded. */
static void random_list(char *to, unsigned int max)
{
	int n = 1 + rnd_below(3);

	for (int i = 0; i < n; i++) {
		unsigned int first = rnd_below(max + 1);
		unsigned int last = first + rnd_below(max - first < 8 ? max - first + 1 : 8);

		to += sprintf(to, "%s%u", i ? "," : "[", first);
		if (rnd_below(2))
			to += sprintf(to, "-%u", last);
		else
			continue;
		if (rnd_below(2))
			to += sprintf(to, "/%u", (unsigned int)(1 + rnd_below(4)));
	}
	strcpy(to, "]");
}

#define N_EXPANDED (40 * 40 * 40 * 40)

/* A range matches exactly what it expands to, also after printing and parsing. */
static void test_against_expansion(void **state)
{
	for (int round = 0; round < 300; round++) {
		char octet[4][64], text[300], printed[LX_NID_RANGE_TEXT];
		struct lx_nid_range r, again;
		struct lx_nid *nids, probe;
		size_t n;

		for (int i = 0; i < 4; i++)
			random_list(octet[i], 255);
		snprintf(text, sizeof(text), "%s.%s.%s.%s@tcp%u", octet[0], octet[1], octet[2],
			 octet[3], (unsigned int)rnd_below(3));
		r = range(text);
		again = range(lx_nidrange_format(&r, printed, sizeof(printed)));
		assert_memory_equal(&r, &again, sizeof(r));
		if (lx_nid_expand(text, N_EXPANDED, &nids, &n))
			fail_msg("cannot expand %s", text);
		for (size_t i = 0; i < n; i++)
			assert_true(lx_nidrange_has(&r, &nids[i]));
		/* Neighbouring NIDs match only if they are in the list. */
		for (int i = 0; i < 200; i++) {
			bool listed = false;

			probe = nids[rnd_below(n)];
			probe.addr[rnd_below(4)] += 1 + rnd_below(3);
			for (size_t j = 0; j < n && !listed; j++)
				listed = lx_nid_eq(&nids[j], &probe);
			assert_int_equal(lx_nidrange_has(&r, &probe), listed);
		}
		free(nids);
	}
}

/* Any bytes: refused, or printed as the same range. */
static void test_any_text(void **state)
{
	static const char alphabet[] = "0123456789.[]-,/*@:tcpo2iblokfi afd";
	unsigned int n = 0;

	for (int round = 0; round < 200000; round++) {
		char text[64], printed[LX_NID_RANGE_TEXT];
		struct lx_nid_range r, again;
		size_t len = rnd_below(24);

		if (rnd_below(2)) {
			strcpy(text, good[rnd_below(N_OF(good))].text);
			text[rnd_below(strlen(text))] = alphabet[rnd_below(sizeof(alphabet) - 1)];
		} else {
			for (size_t i = 0; i < len; i++)
				text[i] = alphabet[rnd_below(sizeof(alphabet) - 1)];
			text[len] = '\0';
		}
		if (lx_nidrange_parse(text, &r))
			continue;
		n++;
		again = range(lx_nidrange_format(&r, printed, sizeof(printed)));
		assert_memory_equal(&r, &again, sizeof(r));
	}
	assert_true(n > 1000);
}

static void test_lists(void **state)
{
	struct lx_nid_range *r;
	char text[LX_NID_RANGE_TEXT];
	char *many = calloc(1, 2000);
	size_t n;

	assert_int_equal(
		lx_nidranges_parse(" 10.0.0.[1,3-4]@tcp,tcp[1,2]\n,, fd00::1@tcp ", &r, &n), 0);
	assert_int_equal(n, 3);
	assert_string_equal(lx_nidrange_format(&r[0], text, sizeof(text)), "10.0.0.[1,3-4]@tcp");
	assert_string_equal(lx_nidrange_format(&r[1], text, sizeof(text)), "tcp[1,2]");
	assert_string_equal(lx_nidrange_format(&r[2], text, sizeof(text)), "fd00::1@tcp");
	free(r);
	assert_int_equal(lx_nidranges_parse("", &r, &n), -EINVAL);
	assert_int_equal(lx_nidranges_parse(", ,", &r, &n), -EINVAL);
	assert_int_equal(lx_nidranges_parse("tcp,bogus", &r, &n), -EINVAL);
	assert_int_equal(lx_nidranges_parse("10.0.0.[1,2@tcp", &r, &n), -EINVAL);
	for (int i = 0; i < 257; i++)
		strcat(many, "tcp,");
	assert_int_equal(lx_nidranges_parse(many, &r, &n), -E2BIG);
	memset(many, '1', 1999);
	assert_int_equal(lx_nidranges_parse(many, &r, &n), -EINVAL);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_against_expansion),
		cmocka_unit_test(test_any_text),
		cmocka_unit_test(test_lists),
	};

	rnd_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
