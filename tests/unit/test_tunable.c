/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables of named integers (lnetx/tunable.h). */
#include "testlib.h"

#include <errno.h>

#include <lnetx/tunable.h>

static const char *const modes[] = { "none", "secure", "all", NULL };
static const char *const from_minus_one[] = { "unset", "off", "on", NULL };

#define SAMPLE_TUNABLES(X, tag)                                                                    \
	X(tag, port, 988, 1, 65535, NULL, "TCP port")                                              \
	X(tag, mode, 1, 0, 2, modes, "who may connect")                                            \
	X(tag, tos, -1, -1, 255, NULL, "-1 = leave")                                               \
	X(tag, flag, -1, -1, 1, from_minus_one, "three-valued")                                    \
	X(tag, wide, 0, INT64_MIN, INT64_MAX, NULL, "anything")                                    \
	X(tag, fixed, 7, 7, 7, NULL, "just one value")
LX_TUNABLE_STRUCT(sample, SAMPLE_TUNABLES);
static const struct lx_tunable table[] = LX_TUNABLE_TABLE(sample, SAMPLE_TUNABLES);

static const struct lx_tunable *find(const char *name)
{
	const struct lx_tunable *t = lx_tunable_lookup(table, name);

	assert_non_null(t);
	return t;
}

static void lookup(void **state)
{
	static const char *const names[] = { "port", "mode", "tos", "flag", "wide", "fixed" };

	for (size_t i = 0; i < N_OF(names); i++)
		assert_ptr_equal(lx_tunable_lookup(table, names[i]), &table[i]);
	assert_int_equal(N_OF(table), N_OF(names) + 1);
	assert_null(lx_tunable_lookup(table, ""));
	assert_null(lx_tunable_lookup(table, "por"));
	assert_null(lx_tunable_lookup(table, "portt"));
	assert_null(lx_tunable_lookup(table, "PORT"));
	assert_null(lx_tunable_lookup(NULL, "port"));
	assert_string_equal(find("port")->help, "TCP port");
}

static void defaults(void **state)
{
	struct sample values;

	memset(&values, 0x5a, sizeof(values));
	lx_tunable_defaults(table, &values);
	assert_int_equal(values.port, 988);
	assert_int_equal(values.mode, 1);
	assert_int_equal(values.tos, -1);
	assert_int_equal(values.flag, -1);
	assert_int_equal(values.wide, 0);
	assert_int_equal(values.fixed, 7);
	for (const struct lx_tunable *t = table; t->name; t++)
		assert_int_equal(lx_tunable_get(t, &values), t->def);
}

static void set(void **state)
{
	static const struct {
		const char *name, *text;
		int rc;
		int64_t value;
	} rows[] = {
		{ "port", "1", 0, 1 },
		{ "port", "65535", 0, 65535 },
		{ "port", "0x10", 0, 16 },
		{ "port", "0XfF", 0, 255 },
		{ "port", "010", 0, 10 }, /* decimal, as the manual says */
		{ "port", "0", -ERANGE, 0 },
		{ "port", "65536", -ERANGE, 0 },
		{ "port", "-1", -ERANGE, 0 },
		{ "port", "99999999999999999999", -ERANGE, 0 },
		{ "port", "-99999999999999999999", -ERANGE, 0 },
		{ "port", "", -EINVAL, 0 },
		{ "port", " ", -EINVAL, 0 },
		{ "port", "x", -EINVAL, 0 },
		{ "port", "0x", -EINVAL, 0 },
		{ "port", "9 ", -EINVAL, 0 },
		{ "port", " 9", -EINVAL, 0 },
		{ "port", "+9", -EINVAL, 0 },
		{ "port", "9k", -EINVAL, 0 },
		{ "port", "9.0", -EINVAL, 0 },
		{ "port", "--9", -EINVAL, 0 },
		{ "port", "0x0x9", -EINVAL, 0 },
		{ "port", "1e3", -EINVAL, 0 },
		{ "port", "secure", -EINVAL, 0 },
		{ "mode", "none", 0, 0 },
		{ "mode", "secure", 0, 1 },
		{ "mode", "all", 0, 2 },
		{ "mode", "2", 0, 2 },
		{ "mode", "3", -ERANGE, 0 },
		{ "mode", "al", -EINVAL, 0 },
		{ "mode", "All", -EINVAL, 0 },
		{ "mode", "all ", -EINVAL, 0 },
		{ "tos", "-1", 0, -1 },
		{ "tos", "-0x1", 0, -1 },
		{ "tos", "255", 0, 255 },
		{ "tos", "-2", -ERANGE, 0 },
		{ "flag", "unset", 0, -1 },
		{ "flag", "off", 0, 0 },
		{ "flag", "on", 0, 1 },
		{ "flag", "-1", 0, -1 },
		{ "wide", "9223372036854775807", 0, INT64_MAX },
		{ "wide", "-9223372036854775808", 0, INT64_MIN },
		{ "wide", "9223372036854775808", -ERANGE, 0 },
		{ "wide", "0x7fffffffffffffff", 0, INT64_MAX },
		{ "port", "default", 0, 988 },
		{ "fixed", "7", 0, 7 },
		{ "fixed", "8", -ERANGE, 0 },
		{ "fixed", "6", -ERANGE, 0 },
	};

	for (size_t i = 0; i < N_OF(rows); i++) {
		const struct lx_tunable *t = find(rows[i].name);
		struct sample values, before;

		memset(&values, 0x11, sizeof(values));
		before = values;
		if (lx_tunable_set(t, &values, rows[i].text) != rows[i].rc)
			fail_msg("%s = \"%s\"", rows[i].name, rows[i].text);
		if (!rows[i].rc) {
			assert_true(lx_tunable_get(t, &values) == rows[i].value);
			/* Only this value changed. */
			memset((char *)&values + t->offset, 0x11, sizeof(int64_t));
		}
		assert_memory_equal(&values, &before, sizeof(values));
	}
}

static void format(void **state)
{
	static const struct {
		const char *name, *in, *out;
	} rows[] = {
		{ "port", "0x10", "16" },
		{ "mode", "2", "all" },
		{ "mode", "none", "none" },
		{ "flag", "-1", "unset" },
		{ "flag", "1", "on" },
		{ "tos", "-1", "-1" },
		{ "wide", "-9223372036854775808", "-9223372036854775808" },
	};
	char text[32];

	for (size_t i = 0; i < N_OF(rows); i++) {
		struct sample values;

		lx_tunable_defaults(table, &values);
		assert_int_equal(lx_tunable_set(find(rows[i].name), &values, rows[i].in), 0);
		assert_string_equal(
			lx_tunable_format(find(rows[i].name), &values, text, sizeof(text)),
			rows[i].out);
	}
}

/* A printed value is parsed to the same value. */
static void round_trips(void **state)
{
	for (int round = 0; round < 50000; round++) {
		const struct lx_tunable *t = &table[rnd_below(N_OF(table) - 1)];
		struct sample values, again;
		char text[32];
		int64_t value = t->min == INT64_MIN
					? (int64_t)rnd()
					: t->min + (int64_t)rnd_below(t->max - t->min + 1);

		lx_tunable_defaults(table, &values);
		again = values;
		memcpy((char *)&values + t->offset, &value, sizeof(value));
		lx_tunable_format(t, &values, text, sizeof(text));
		assert_int_equal(lx_tunable_set(t, &again, text), 0);
		assert_memory_equal(&values, &again, sizeof(values));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookup), cmocka_unit_test(defaults),	 cmocka_unit_test(set),
		cmocka_unit_test(format), cmocka_unit_test(round_trips),
	};

	rnd_init();
	return cmocka_run_group_tests_name("tunable", tests, NULL, NULL);
}
