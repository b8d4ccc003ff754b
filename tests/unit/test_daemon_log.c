/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's log with a reader that stops: nobody who logs waits for it, lines stay whole and in
 * order, and those that are lost are counted.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "../../user/base/log.h"
#include "../../user/daemon/log.h"
#include "testlib.h"

static FILE *said; /* what the log has written */
static int out;

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Standard error is a pipe of one page. */
static int setup(void **state)
{
	int end[2];

	assert_int_equal(pipe(end), 0);
	assert_true(fcntl(end[1], F_SETPIPE_SZ, 4096) >= 0);
	out = dup(2);
	dup2(end[1], 2);
	close(end[1]);
	said = fdopen(end[0], "r");
	return 0;
}

static int teardown(void **state)
{
	dup2(out, 2);
	close(out);
	fclose(said);
	return 0;
}

/* No limit for lines of this level: what one line asks is not what another gets. */
static void say(unsigned int n)
{
	lx_log(LOG_CRIT, "line=%u text=\"something of an ordinary length, as lines are\"", n);
}

static const char *next_line(void)
{
	struct pollfd p = { .fd = fileno(said), .events = POLLIN };
	static char line[1024];

	if (!poll(&p, 1, 5000))
		fail_msg("no line comes");
	assert_non_null(fgets(line, sizeof(line), said));
	return line;
}

static unsigned int number(const char *line, const char *key)
{
	const char *at = strstr(line, key);

	if (!at)
		fail_msg("no %s in: %s", key, line);
	return strtoul(at + strlen(key), NULL, 10);
}

static void who_logs_does_not_wait(void **state)
{
	unsigned int n = 20000, lost, read = 0;
	double began = seconds();
	const char *line;

	for (unsigned int i = 0; i < n; i++)
		say(i);
	assert_true(seconds() - began < 5);
	setvbuf(said, NULL, _IONBF, 0);
	while (!strstr(line = next_line(), "suppressed="))
		assert_int_equal(number(line, "line="), read++);
	lost = number(line, "suppressed=");
	assert_non_null(strstr(line, "level=warning"));
	assert_true(read > 1000);
	assert_int_equal(read + lost, n);
	/* It goes on. */
	say(77);
	assert_int_equal(number(next_line(), "line="), 77);
}

/* The end of the process waits for a moment only. */
static void the_end_does_not_wait(void **state)
{
	double began;

	for (unsigned int i = 0; i < 200; i++)
		say(i);
	began = seconds();
	lx_daemon_log_flush();
	assert_true(seconds() - began < 4);
	setvbuf(said, NULL, _IONBF, 0);
	for (unsigned int i = 0; i < 200; i++)
		assert_int_equal(number(next_line(), "line="), i);
	lx_daemon_log_flush();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_logs_does_not_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(the_end_does_not_wait, setup, teardown),
	};

	lx_daemon_log_start(LOG_INFO);
	return cmocka_run_group_tests_name("daemon: log", tests, NULL, NULL);
}
