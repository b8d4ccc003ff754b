/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnetx selftest run: the words of its command line. sys/selftest_run tests what it does. */
#include "cliworld.h"

static void test_words(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 10.0.0.1@tcp1, status: up}\n");
	fails(2, "lnetx selftest run", "give the NIDs from which: from NIDS to NIDS");
	fails(2, "lnetx selftest run --from 10.0.0.2@tcp1", "give the NIDs to which");
	fails(2, "lnetx selftest run from 10.0.0.2@tcp1 to 10.0.0.[2-3]@tcp1", "named twice");
	/* As much as fits into a request to lnetxd. */
	fails(2, "lnetx selftest run from 10.0.0.2@tcp1 to 10.0.1.[1-129]@tcp1",
	      "more than 128 NIDs");
	fails(2, "lnetx selftest run from 10.0.0.2@tcp1 to 10.0.1.[1-100]@tcp1,10.0.2.[1-29]@tcp1",
	      "more than 128 NIDs");
	fails(2, "lnetx selftest run from x@y to 10.0.0.3@tcp1", "not a NID");
	static const char *const bad[][2] = {
		{ "size 3", "size \"3\"" },
		{ "size 2m", "size \"2m\"" },
		{ "--size 4k,x", "size \"x\"" },
		{ "time 0", "time \"0\"" },
		{ "time 25h", "time \"25h\": 1s to 86400s" },
		{ "check half", "check \"half\"" },
		{ "read --ping", "give one of" },
		{ "ping size 4k", "a ping has no size" },
		{ "size ''", "size \"\": " },
		{ "--size ,", "size \",\": " },
		{ "concurrency 0", "not in 1..1024" },
		{ "size 8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8", "more than 16" },
	};
	for (size_t i = 0; i < N_OF(bad); i++) {
		char line[200];

		snprintf(line, sizeof(line),
			 "lnetx selftest run from 10.0.0.2@tcp1 to 10.0.0.3@tcp1 %s", bad[i][0]);
		fails(2, line, bad[i][1]);
	}
}

/* Without a NID that fits the protocol there is no console. */
static void test_no_console(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 'fd00::1@tcp1', status: up}\n");
	fails(1, "lnetx selftest run from 10.0.0.2@tcp1 to 10.0.0.3@tcp1",
	      "no NID with a 4-byte address");
}

/* The most servers that a request to lnetxd has room for. The first node does not answer. */
static void test_most_servers(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 10.0.0.1@tcp1, status: up}\n");
	for (int i = 0; i < 3; i++)
		fails(1, "lnetx selftest run from 10.0.0.2@tcp1 to 10.0.1.[1-128]@tcp1",
		      "test node 10.0.0.2@tcp1 does not answer: ");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words),
		TEST(test_no_console),
		TEST(test_most_servers),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
