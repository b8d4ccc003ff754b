/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Whatever setting a user gives a real lnetxd holds, or lnetxd and the tools say that it does not:
 * each setting of an NI, each tunable and each key of "global", by file, import and command.
 */
#include <unistd.h>

#include <lnetx/conf.h>
#include <lnetx/ctl.h>

#include "../../user/conf/global.h"
#include "../../user/core/tunables.h"
#include "cliworld.h"

static struct lx_ctl *ctl;
static char told[1 << 16]; /* what was said when the settings were given */

enum way { FILE_AT_START, IMPORT, COMMAND, WAYS };
static const char *const ways[] = { "the file", "import", "a command" };

static void begin(const char *yaml)
{
	const char *file = yaml ? proc_file("settings.yaml", yaml) : NULL;
	const char *const args[] = { "--configure", "--no-bpf", file ? "-c" : NULL, file, NULL };

	lnetxd.program = "lnetxd";
	proc_daemon_start(&lnetxd, NULL, args);
	proc_daemon_wait_log(&lnetxd, "state=running");
	assert_int_equal(lx_ctl_new(NULL, &ctl), 0);
	*told = '\0';
}

static int end(void **state)
{
	lx_ctl_free(ctl);
	ctl = NULL;
	return stop(state);
}

/* Gives lnetxd the settings, and keeps what it says. */
static void give(enum way way, const char *yaml)
{
	char *log;

	if (way == FILE_AT_START) {
		begin(yaml);
		log = proc_read(lnetxd.log);
		snprintf(told, sizeof(told), "%s", log);
		free(log);
		return;
	}
	begin(NULL);
	snprintf(told, sizeof(told), "%s", proc_run_as(0, 0, "lnetctl import", yaml)->err);
}

static void command(const char *line)
{
	strcat(told, expect(0, line)->err);
}

/* A value of a row, as text. */
static void value_of(enum lx_ctl_object object, const struct lx_ctl_arg *which, const char *path,
		     char *buf, size_t size)
{
	struct lx_ctl_row row;
	const char *text;
	int more;

	snprintf(buf, size, "nothing");
	if (lx_ctl_start(ctl, LX_CTL_SHOW, object, which))
		fail_msg("%s", lx_ctl_why(ctl)->text);
	while ((more = lx_ctl_next(ctl, &row)) == 1) {
		text = lx_ctl_text(&row, path);
		if (text)
			snprintf(buf, size, "%s", text);
		else
			snprintf(buf, size, "%lld", (long long)lx_ctl_int(&row, path, -7));
	}
	assert_int_equal(more, 0);
}

static void check(enum way way, const char *what, const char *key, const char *want,
		  const char *have)
{
	if (strcmp(want, have) && !strstr(told, key))
		fail_msg("%s %s: %s has set %s, and it is %s; nothing is said of it:\n%s", what, key,
			 ways[way], want, have, told);
}

/* ---- NIs --------------------------------------------------------------------------------- */

static long long ni_value(const struct lx_conf_ni_setting *set)
{
	return set->max < 3 ? 0 : 3; /* a switch is on by default */
}

/* The NI's settings, in YAML or as words of "lnetx net add". */
static void list_settings(char *buf, size_t size, const struct lx_conf_ni_setting *set,
			  const char *format)
{
	for (; set->name; set++)
		snprintf(buf + strlen(buf), size - strlen(buf), format, set->name, ni_value(set));
}

static void check_ni(enum way way, int i)
{
	static const char *const where[] = { "tunables", "lnd tunables" };
	const struct lx_conf_ni_setting *set[] = { lx_conf_ni_settings(),
						   lx_conf_lnd_settings(LX_NET_TCP) };
	char nid[40], path[80], want[24], have[24];
	const struct lx_ctl_arg which[] = { { "nid", nid }, { NULL, NULL } };

	snprintf(nid, sizeof(nid), "127.20.1.%d@tcp1", i);
	for (int j = 0; j < 2; j++) {
		for (const struct lx_conf_ni_setting *s = set[j]; s->name; s++) {
			if (!strcmp(s->name, "fastpath")) /* hidden unless there is one */
				continue;
			snprintf(path, sizeof(path), "%s.%s", where[j], s->name);
			snprintf(want, sizeof(want), "%lld", ni_value(s));
			value_of(LX_CTL_NET, which, path, have, sizeof(have));
			check(way, nid, s->name, want, have);
		}
	}
}

/* @i: the NI of the net that has the settings, 1 or 2 */
static void settings_of_an_ni(enum way way, int i)
{
	char yaml[4000], settings[1000] = "";

	if (way == COMMAND) {
		list_settings(settings, sizeof(settings), lx_conf_ni_settings(), " %s %lld");
		list_settings(settings, sizeof(settings), lx_conf_lnd_settings(LX_NET_TCP), " %s %lld");
		begin(NULL);
		for (int n = 1; n <= 2; n++) {
			snprintf(yaml, sizeof(yaml), "lnetx net add nid 127.20.1.%d@tcp1%s", n,
				 n == i ? settings : "");
			command(yaml);
		}
	} else {
		strcat(settings, ", tunables: {");
		list_settings(settings, sizeof(settings), lx_conf_ni_settings(), "%s: %lld, ");
		strcat(settings, "}, lnd tunables: {");
		list_settings(settings, sizeof(settings), lx_conf_lnd_settings(LX_NET_TCP), "%s: %lld, ");
		strcat(settings, "}");
		snprintf(yaml, sizeof(yaml),
			 "net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 127.20.1.1@tcp1%s}\n"
			 "  - {nid: 127.20.1.2@tcp1%s}\n", i == 1 ? settings : "",
			 i == 2 ? settings : "");
		give(way, yaml);
	}
	check_ni(way, i);
	end(NULL);
}

static void test_nis(void **state)
{
	for (int way = 0; way < WAYS; way++) {
		settings_of_an_ni(way, 1);
		settings_of_an_ni(way, 2);
	}
}

/* To a net that has an NI already, by import. */
static void test_ni_of_another_file(void **state)
{
	give(FILE_AT_START, "net: [{net type: tcp1, local NI(s): [{nid: 127.20.1.1@tcp1}]}]\n");
	strcpy(told, proc_run_as(0, 0, "lnetctl import",
				 "net:\n- net type: tcp1\n  local NI(s):\n  - nid: 127.20.1.2@tcp1\n"
				 "    tunables: {peer_credits: 77}\n")->err);
	assert_non_null(strstr(told, "peer_credits stays 8, not 77"));
}

/* ---- tunables, global -------------------------------------------------------------------- */

struct tunable {
	char module[8], name[40], want[24];
};

/* One of "off, on", but not @def. */
static void other_choice(const char *choices, const char *def, char *buf, size_t size)
{
	do {
		choices += strspn(choices, ", ");
		snprintf(buf, size, "%.*s", (int)strcspn(choices, ", "), choices);
		choices += strlen(buf);
	} while (!strcmp(buf, def));
}

/* All tunables, each with a value that is not its default. */
static size_t list_tunables(struct tunable *list, size_t max)
{
	struct lx_ctl_row row;
	size_t n = 0;

	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_TUNABLE, NULL), 0);
	while (lx_ctl_next(ctl, &row) == 1) {
		const char *choices = lx_ctl_text(&row, "choices");
		const char *def = lx_ctl_text(&row, "default");
		struct tunable *t = &list[n++];

		assert_true(n < max);
		snprintf(t->module, sizeof(t->module), "%s", lx_ctl_text(&row, "module"));
		snprintf(t->name, sizeof(t->name), "%s", lx_ctl_text(&row, "name"));
		if (choices && *choices)
			other_choice(choices, def, t->want, sizeof(t->want));
		else
			snprintf(t->want, sizeof(t->want), "%lld",
				 atoll(def) + (atoll(def) < lx_ctl_int(&row, "max", 0) ? 1 : -1));
	}
	return n;
}

static void check_tunables(enum way way, const struct tunable *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct lx_ctl_arg which[] = { { "module", list[i].module },
						    { "name", list[i].name },
						    { NULL, NULL } };
		char have[24];

		value_of(LX_CTL_TUNABLE, which, "value", have, sizeof(have));
		check(way, list[i].module, list[i].name, list[i].want, have);
	}
}

static void test_tunables(void **state)
{
	static struct tunable list[200];
	static char yaml[20000], line[100];
	size_t n;

	begin(NULL);
	n = list_tunables(list, N_OF(list));
	assert_true(n > 60);
	for (size_t i = 0; i < n; i++) {
		snprintf(line, sizeof(line), "lnetx tunable set %.8s %.40s %.24s", list[i].module,
			 list[i].name, list[i].want);
		command(line);
	}
	check_tunables(COMMAND, list, n);
	end(NULL);
	strcpy(yaml, "tunables:\n");
	for (size_t i = 0; i < n; i++)
		snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml), "%s%s%s    %s: %s\n",
			 i && !strcmp(list[i].module, list[i - 1].module) ? "" : "  ",
			 i && !strcmp(list[i].module, list[i - 1].module) ? "" : list[i].module,
			 i && !strcmp(list[i].module, list[i - 1].module) ? "" : ":\n",
			 list[i].name, list[i].want);
	for (int way = FILE_AT_START; way <= IMPORT; way++) {
		give(way, yaml);
		check_tunables(way, list, n);
		end(NULL);
	}
}

/* One that is not the default. */
static long long global_value(const struct lx_global *g)
{
	const struct lx_tunable *t =
		g->tunable ? lx_tunable_lookup(lx_core_tunables_table, g->tunable) : NULL;
	long long value = !t ? 20 : t->def < t->max ? t->def + 1 : t->def - 1;

	return g->inverse ? !value : value;
}

static void test_globals(void **state)
{
	char yaml[2000] = "global: {", want[60], *have;

	for (const struct lx_global *g = lx_globals; g->key; g++)
		snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml), "%s: %lld, ", g->key,
			 global_value(g));
	strcat(yaml, "}\n");
	for (int way = FILE_AT_START; way <= IMPORT; way++) {
		give(way, yaml);
		have = strdup(expect(0, "lnetctl global show")->out);
		for (const struct lx_global *g = lx_globals; g->key; g++) {
			snprintf(want, sizeof(want), " %s: %lld\n", g->key, global_value(g));
			check(way, "global", g->key, want, strstr(have, want) ? want : "other");
		}
		free(have);
		end(NULL);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_teardown(fn, end)
		T(test_nis),
		T(test_ni_of_another_file),
		T(test_tunables),
		T(test_globals),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
