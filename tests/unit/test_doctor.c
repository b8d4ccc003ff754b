/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx doctor" on machines that a test cannot have: other clocks, many CPUs. The command runs in
 * a child process of the test, with the clock of __wrap_adjtimex(). Machines that a
 * network namespace can imitate are in tests/sys/setup.bats.
 */
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/cli/lnetx.h"
#include "../../tools/cli/requests.h"
#include "../../tools/host/rxqueue.h"
#include "../../user/daemon/clocks.h"
#include "cliworld.h"

static struct timex machine;
static int machine_state;

int __wrap_adjtimex(struct timex *tx);

int __wrap_adjtimex(struct timex *tx)
{
	*tx = machine;
	return machine_state;
}

/* That the clock of lnetxd's machine was set since it started. */
static int64_t jump_s;

int __real_lx_request_first(struct lx_session *s, unsigned int object, const struct lx_args *a,
			    unsigned int level, json_t **ret_row);
int __wrap_lx_request_first(struct lx_session *s, unsigned int object, const struct lx_args *a,
			    unsigned int level, json_t **ret_row);

int __wrap_lx_request_first(struct lx_session *s, unsigned int object, const struct lx_args *a,
			    unsigned int level, json_t **ret_row)
{
	int err = __real_lx_request_first(s, object, a, level, ret_row);

	if (!err && object == LX_CTL_DAEMON && jump_s)
		json_object_set_new(*ret_row, "clock_jump_s", json_integer(jump_s));
	return err;
}

/* The output of "lnetx doctor"; freed by the caller. */
static char *doctor(void)
{
	char path[200];
	pid_t pid;

	snprintf(path, sizeof(path), "%s", proc_file("doctor", ""));
	pid = fork();
	if (!pid) {
		char *argv[] = { "lnetx", "doctor", NULL };

		if (!freopen(path, "w", stdout))
			_exit(126);
		lx_lnetx_main(2, argv);
		fflush(stdout);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return proc_read(path);
}

/* True if the doctor complains about a clock in this state. */
static bool ails(int state, int status)
{
	char *text;
	bool found;

	machine = (struct timex){ .status = status };
	machine_state = state;
	text = doctor();
	found = strstr(text, "advice   clock: nothing keeps this machine's clock right");
	/* Advice is no problem. */
	assert_non_null(strstr(text, "healthy\n"));
	assert_null(strstr(text, "not healthy"));
	free(text);
	return found;
}

static bool jumped(int64_t by_s, const char *part)
{
	char *text;
	bool found;

	machine = (struct timex){ 0 };
	machine_state = TIME_OK;
	jump_s = by_s;
	text = doctor();
	jump_s = 0;
	found = strstr(text, part);
	free(text);
	return found;
}

static void test_clock(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n");
	assert_false(ails(TIME_OK, 0));
	assert_false(ails(TIME_OK, STA_PLL));
	assert_false(ails(TIME_INS, STA_PLL | STA_INS)); /* a leap second is no fault */
	assert_true(ails(TIME_ERROR, STA_UNSYNC));
	assert_true(ails(TIME_OK, STA_UNSYNC));
	/* Without the right to ask, nothing is known. */
	assert_false(ails(-1, 0));
}

/* Set by hand or by a first answer of NTP; what NTP corrects bit by bit is no jump. */
static void test_clock_jump(void **state)
{
	struct lx_clocks from = { 1000000000000, 5000000000 }, to = from;

	to.boot_ns += 7900000000;
	to.wall_ns += 7900000000;
	assert_int_equal(lx_clocks_passed_s(&from, &to), 7);
	assert_int_equal(lx_clocks_jump_s(&from, &to), 0);
	to.wall_ns += 900000000;
	assert_int_equal(lx_clocks_jump_s(&from, &to), 0);
	to.wall_ns += 3600000000000;
	assert_int_equal(lx_clocks_jump_s(&from, &to), 3600);
	to.wall_ns -= 7200000000000;
	assert_int_equal(lx_clocks_jump_s(&from, &to), -3599);

	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n");
	assert_false(jumped(0, "clock"));
	assert_false(jumped(4, "clock"));
	assert_true(jumped(3600, "clock: this machine's clock was set forward by 3600 s"));
	assert_true(jumped(-5, "clock: this machine's clock was set back by 5 s"));
}

/* As the kernel reads it: groups of 32 bits. */
static void test_cpu_mask(void **state)
{
	static const struct {
		unsigned int n_cpus;
		const char *mask;
	} cases[] = { { 1, "1" },
		      { 2, "3" },
		      { 31, "7fffffff" },
		      { 32, "ffffffff" },
		      { 33, "1,ffffffff" },
		      { 64, "ffffffff,ffffffff" },
		      { 72, "ff,ffffffff,ffffffff" } };
	char buf[256];

	for (size_t i = 0; i < N_OF(cases); i++)
		assert_string_equal(lx_rxqueue_mask(cases[i].n_cpus, buf, sizeof(buf)), cases[i].mask);
	/* Longer than the buffer: cut off, not beyond it. */
	assert_int_equal(strlen(lx_rxqueue_mask(8192, buf, 16)), 15);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clock),
		TEST(test_clock_jump),
		cmocka_unit_test(test_cpu_mask),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
