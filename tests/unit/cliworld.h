/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For the tests of lnetx and lnetctl: an lnetxd on the fake node, and command lines with their
 * expected results.
 */
#ifndef LX_TESTS_CLIWORLD_H
#define LX_TESTS_CLIWORLD_H

#include "proc.h"
#include "testlib.h"

static struct proc_daemon lnetxd;

static inline void start(const char *state)
{
	static const char *const args[] = { "--configure", "--group", "users", NULL };

	proc_daemon_start(&lnetxd, state, args);
	proc_daemon_wait_log(&lnetxd, "state=running");
}

static inline int stop(void **state)
{
	if (lnetxd.pid)
		assert_int_equal(proc_daemon_stop(&lnetxd), 0);
	lnetxd.pid = 0;
	return 0;
}

static inline const struct proc_result *expect(int status, const char *line)
{
	const struct proc_result *r = proc_run(line);

	if (r->status != status)
		fail_msg("$ %s\n%s%sstatus %d, not %d", line, r->out, r->err, r->status, status);
	return r;
}

static inline void ok(const char *line)
{
	const struct proc_result *r = expect(0, line);

	if (*r->err)
		fail_msg("$ %s\nsucceeds, with a complaint: %s", line, r->err);
}

/* Succeeds, with this on stderr. Returns what it prints. */
static inline const char *warns(const char *line, const char *text)
{
	const struct proc_result *r = expect(0, line);

	if (!strstr(r->err, text))
		fail_msg("$ %s\n%sdoes not have \"%s\"", line, r->err, text);
	return r->out;
}

static inline char *output_of(const char *line)
{
	return strdup(expect(0, line)->out);
}

static inline void prints(const char *line, const char *text)
{
	const struct proc_result *r = expect(0, line);

	if (!strstr(r->out, text))
		fail_msg("$ %s\n%sdoes not have \"%s\"", line, r->out, text);
}

static inline void prints_not(const char *line, const char *text)
{
	const struct proc_result *r = expect(0, line);

	if (strstr(r->out, text))
		fail_msg("$ %s\n%shas \"%s\"", line, r->out, text);
}

static inline void prints_in(int status, const char *line, const char *text)
{
	const struct proc_result *r = expect(status, line);

	if (!strstr(r->out, text) || (!*text && *r->out))
		fail_msg("$ %s\n%sdoes not have \"%s\"", line, r->out, text);
}

/* Fails with this status and has @text on stderr. */
static inline void fails(int status, const char *line, const char *text)
{
	const struct proc_result *r = expect(status, line);

	if (!strstr(r->err, text))
		fail_msg("$ %s\n%sdoes not say \"%s\"", line, r->err, text);
}

static inline void import(int status, const char *options, const char *yaml)
{
	char line[100];
	const struct proc_result *r;

	snprintf(line, sizeof(line), "lnetctl import %s", options);
	r = proc_run_as(0, 0, line, yaml);
	if (r->status != status)
		fail_msg("import %s: status %d, not %d:\n%s", options, r->status, status, r->err);
}

#define TEST(fn) cmocka_unit_test_teardown(fn, stop)

#endif
