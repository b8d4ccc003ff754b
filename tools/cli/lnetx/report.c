/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx report": what a maintainer asks for first, as one text. Mostly the output of other
 * commands, in this process. With -j and -y each part is a document of its own, as that command
 * prints it. A part that cannot be had says why, and the others follow.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../common/json.h"
#include "../common/words.h"
#include "lnetx.h"
#include "metrics.h"

#define WATCH_S 10
#define WATCH_MAX_S 3600

/* Of the unit's own lnetxd; the journal says nothing of others. */
#define JOURNAL "journalctl -q -u lnetxd -n 200 --no-pager 2>/dev/null"

LX_PRINTF(1, 2) static void head(const char *fmt, ...)
{
	va_list ap;

	if (lx_lnetx_as_tree())
		return;
	fputs("\n==== ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	fputs("\n\n", stdout);
}

/* @key: the part, in JSON */
static void missing(const char *key, int error, const char *reason)
{
	if (lx_lnetx_as_tree())
		lx_lnetx_print(key, json_pack("{so}", "error", lx_lnetx_error(error, reason)));
	else
		printf("not known: %s\n", reason);
}

/* ---- what other commands print ---------------------------------------------------------- */

static void show(struct lx_session *s, const char *object, const char *verb)
{
	size_t n;
	const struct lx_lnetx_object *o =
		lx_words_find(lx_lnetx_cmds, sizeof(*lx_lnetx_cmds), object, &n);
	const struct lx_command *c = lx_words_find(o->command, sizeof(*c), verb, &n);
	const struct lx_args args = { .verb = c->name, .shows = o->shows };
	int err;

	head("lnetx %s%s%s", object, strcmp(object, verb) ? " " : "",
	     strcmp(object, verb) ? verb : "");
	err = c->fn(s, &args);
	if (err < 0)
		missing(object, err, s->text);
}

/* ---- lines of others -------------------------------------------------------------------- */

/* JSON is UTF-8; what is not becomes "?". */
static json_t *line_new(char *line)
{
	json_t *text;

	line[strcspn(line, "\n")] = '\0';
	text = json_string(line);
	if (text)
		return text;
	for (char *p = line; *p; p++)
		*p = *p & 0x80 ? '?' : *p;
	return json_string(line);
}

/* All of a file; a new array. */
static json_t *read_lines(FILE *f)
{
	char *line LX_AUTO_FREE = NULL;
	json_t *lines = json_array();
	size_t size = 0;

	while (getline(&line, &size, f) > 0)
		json_array_append_new(lines, line_new(line));
	return lines;
}

/* Takes the reference. */
static void print_lines(const char *key, json_t *lines)
{
	const json_t *line;
	size_t i;

	if (lx_lnetx_as_tree()) {
		lx_lnetx_print(key, lines);
		return;
	}
	json_array_foreach (lines, i, line)
		puts(json_string_value(line));
	json_decref(lines);
}

/* ---- parts ------------------------------------------------------------------------------ */

static void print_versions(void)
{
	struct utsname system;
	time_t now = time(NULL);
	char when[40];
	json_t *kernel;

	uname(&system);
	strftime(when, sizeof(when), "%F %T %z", localtime(&now));
	kernel = json_sprintf("%s %s %s %s", system.sysname, system.release, system.version,
			      system.machine);
	head("versions");
	if (lx_lnetx_as_tree())
		lx_lnetx_print("versions", json_pack("{ss, ss, sO}", "time", when, "lnetx",
						     LX_VERSION, "kernel", kernel));
	else
		printf("time    %s\nlnetx   %s\nkernel  %s\n", when, LX_VERSION,
		       json_string_value(kernel));
	json_decref(kernel);
}

/* @path: ""; lnetxd was started without one */
static void print_file(const char *path)
{
	FILE *f;

	head("the file%s%s", *path ? " " : "", path);
	f = *path ? fopen(path, "re") : NULL;
	if (f)
		print_lines("file", read_lines(f));
	else
		missing("file", *path ? -errno : -ENOENT,
			*path ? strerror(errno) : "lnetxd runs without a file");
	if (f)
		fclose(f);
}

/* Where lnetxd writes its log, as far as this machine tells. */
static void print_log_place(const json_t *status)
{
	char link[40], place[200], text[300];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/fd/2", (int)lx_json_int(status, "pid"));
	n = status ? readlink(link, place, sizeof(place) - 1) : -1;
	place[n > 0 ? n : 0] = '\0';
	snprintf(text, sizeof(text),
		 "the journal has none of unit lnetxd; lnetxd's log is its "
		 "standard error%s%s",
		 n > 0 ? ": " : "", place);
	missing("log", -ENOENT, text);
}

static void print_log(const json_t *status)
{
	FILE *f = popen(JOURNAL, "re");
	json_t *lines = f ? read_lines(f) : json_array();

	if (f)
		pclose(f);
	head("the log: journalctl -u lnetxd -n 200");
	if (json_array_size(lines))
		print_lines("log", json_incref(lines));
	else
		print_log_place(status);
	json_decref(lines);
}

/* ---- what changes ----------------------------------------------------------------------- */

/* All metrics: numbers, by their names with labels. NULL: @s has the reason. */
static json_t *sample(struct lx_session *s)
{
	char *text LX_AUTO_FREE = NULL, *save, *value;
	json_t *numbers;

	if (lx_metrics_text(s, true, false, &text))
		return NULL;
	numbers = json_object();
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		value = strrchr(line, ' ');
		if (line[0] == '#' || !value)
			continue;
		*value++ = '\0';
		json_object_set_new(numbers, line, json_integer(strtoll(value, NULL, 10)));
	}
	return numbers;
}

/* What is new counts from 0. */
static json_t *differences(const json_t *before, const json_t *after)
{
	json_t *changed = json_object();
	const json_t *now;
	const char *name;

	json_object_foreach ((json_t *)after, name, now) {
		json_int_t more = json_integer_value(now) - lx_json_int(before, name);

		if (more)
			json_object_set_new(changed, name, json_integer(more));
	}
	return changed;
}

static void print_changed(const json_t *changed)
{
	const json_t *more;
	const char *name;

	json_object_foreach ((json_t *)changed, name, more)
		printf("%+12" JSON_INTEGER_FORMAT "  %s\n", json_integer_value(more), name);
}

static void watch(struct lx_session *s, unsigned int seconds)
{
	json_t *before, *after = NULL, *changed;

	head("what changed in %u s, of \"lnetx metrics peers\"", seconds);
	fflush(stdout);
	before = sample(s);
	if (before) {
		sleep(seconds);
		after = sample(s);
	}
	if (after) {
		changed = differences(before, after);
		if (lx_lnetx_as_tree())
			lx_lnetx_print("changed", json_incref(changed));
		else
			print_changed(changed);
		json_decref(changed);
	} else {
		missing("changed", s->error, s->text);
	}
	json_decref(before);
	json_decref(after);
}

/* ---- the command ------------------------------------------------------------------------ */

static int report(struct lx_session *s, const struct lx_args *a)
{
	json_t *status = NULL;
	int64_t seconds;
	int err = lx_arg_int(s, a, LX_ARG_TIME, "seconds", 1, WATCH_MAX_S, &seconds);

	if (err)
		return err;
	print_versions();
	err = lx_request_first(s, LX_CTL_DAEMON, NULL, LX_LEVEL_OWN, &status);
	if (err) {
		head("lnetx daemon show");
		missing("daemon", err, s->text);
	} else {
		show(s, "daemon", "show");
		show(s, "export", "export");
		print_file(lx_json_text(status, "config"));
		show(s, "doctor", "doctor");
		show(s, "bpf", "status");
		show(s, "stats", "show");
		watch(s, seconds == LX_UNSET ? WATCH_S : seconds);
		s->text[0] = '\0'; /* of parts that are missing */
	}
	print_log(status);
	json_decref(status);
	return err;
}

/* clang-format off */
static const struct lx_keyword report_keywords[] = {
	{ "seconds", LX_ARG_TIME, "S" },
	{ 0 }
};

const struct lx_command lx_report_commands[] = {
	{ "report", report, report_keywords,
	  .help =
	  "all that a maintainer asks for, as one text; \"seconds\": how long counters are "
	  "watched" },
	{ 0 }
};
/* clang-format on */
