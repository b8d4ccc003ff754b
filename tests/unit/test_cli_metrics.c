/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx metrics": every line by the grammar of OpenMetrics (and of Prometheus' older text format, as
 * far as they agree), and every metric by docs/metrics.md.
 */
#include "cliworld.h"

#define NAMES_MAX 128
#define SERIES_MAX 512

static const char world[] =
	"net:\n- net type: lo\n  local NI(s):\n  - nid: 0@lo\n    status: up\n"
	"- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	"    interfaces: {0: eth0}\n"
	"    statistics: {send_count: 12, recv_count: 3, drop_count: 1}\n"
	"  - nid: 10.0.0.2@tcp1\n    status: down\n    interfaces: {0: eth1}\n"
	"route:\n- net: tcp7\n  gateway: 10.0.0.9@tcp1\n  state: down\n"
	"- net: tcp8\n  gateway: 10.0.0.9@tcp1\n  state: up\n"
	"routing:\n- cpt[0]:\n    tiny: {npages: 0, nbuffers: 512, credits: 510, mincredits: -3}\n"
	"    small: {npages: 1, nbuffers: 16384, credits: 16384, mincredits: 16384}\n"
	"    large: {npages: 256, nbuffers: 1024, credits: 1024, mincredits: 1020}\n"
	"- enable: 1\n"
	"peer:\n- primary nid: 10.0.0.7@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	"  - nid: 10.0.0.7@tcp1\n    state: up\n  - nid: 10.0.0.8@tcp1\n    state: NA\n"
	"    health stats: {health value: 900}\n"
	"statistics:\n  send_count: 55\n  local_timeout_count: 2\n  drops: {no_route: 4, loop: 1}\n";

struct exposition {
	char family[NAMES_MAX][64];
	char type[NAMES_MAX][16];
	char *series[SERIES_MAX];
	size_t n_families, n_series;
	bool ended;
};

static const char *name_end(const char *p)
{
	return p + strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

/* After "{": labels up to and with "}". NULL: wrong. */
static const char *labels_end(const char *p)
{
	do {
		const char *eq = name_end(p);

		if (eq == p || strncmp(eq, "=\"", 2))
			return NULL;
		for (p = eq + 2; *p && *p != '"'; p++)
			p += *p == '\\' && p[1];
		if (*p++ != '"')
			return NULL;
	} while (*p++ == ',');
	return p[-1] == '}' ? p : NULL;
}

static void check_comment(struct exposition *e, const char *line)
{
	char name[64], text[16];
	int used = 0;

	if (!strcmp(line, "# EOF")) {
		e->ended = true;
	} else if (sscanf(line, "# HELP %63[a-z_] %n", name, &used) == 1 && used && line[used]) {
		for (size_t i = 0; i < e->n_families; i++)
			assert_string_not_equal(e->family[i], name);
		assert_null(strchr(line, '\\'));
		strcpy(e->family[e->n_families++], name);
	} else if (sscanf(line, "# TYPE %63[a-z_] %15[a-z]%n", name, text, &used) == 2 && !line[used]) {
		assert_string_equal(name, e->family[e->n_families - 1]);
		assert_true(!strcmp(text, "gauge") || !strcmp(text, "counter"));
		strcpy(e->type[e->n_families - 1], text);
	} else {
		fail_msg("\"%s\" is no comment of OpenMetrics", line);
	}
}

/* "name{labels} value", of the family that came last, and only once. */
static void check_sample(struct exposition *e, const char *line)
{
	const char *end = name_end(line), *family = e->family[e->n_families - 1];
	bool counter = !strcmp(e->type[e->n_families - 1], "counter");
	size_t len = strlen(family);
	char *rest;

	if (strncmp(line, family, len) || strncmp(line + len, counter ? "_total" : "", end - line - len))
		fail_msg("\"%s\" is not of family %s", line, family);
	assert_int_equal(end - line, len + (counter ? strlen("_total") : 0));
	if (*end == '{')
		end = labels_end(end + 1);
	if (!end || *end != ' ')
		fail_msg("\"%s\": bad labels", line);
	for (size_t i = 0; i < e->n_series; i++) {
		if (!strncmp(e->series[i], line, end - line + 1))
			fail_msg("\"%s\" comes twice", line);
	}
	e->series[e->n_series++] = strdup(line);
	if (strtoll(end + 1, &rest, 10) < 0 && counter)
		fail_msg("\"%s\": a counter below 0", line);
	if (rest == end + 1 || *rest)
		fail_msg("\"%s\": bad value", line);
}

static struct exposition *parse(const char *command, int status)
{
	struct exposition *e = calloc(1, sizeof(*e));
	char *text = strdup(expect(status, command)->out), *save;

	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_null(strstr(text, "\n\n"));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_false(e->ended);
		if (*line == '#')
			check_comment(e, line);
		else
			check_sample(e, line);
	}
	assert_true(e->ended);
	free(text);
	return e;
}

static void release(struct exposition *e)
{
	for (size_t i = 0; i < e->n_series; i++)
		free(e->series[i]);
	free(e);
}

static bool says(const struct exposition *e, const char *series)
{
	for (size_t i = 0; i < e->n_series; i++) {
		if (!strcmp(e->series[i], series))
			return true;
	}
	return false;
}

static void has(const struct exposition *e, const char *series)
{
	if (!says(e, series))
		fail_msg("\"%s\" is missing", series);
}

static void test_values(void **state)
{
	struct exposition *e;

	start(world);
	ok("lnetx fault add drop from * to * rate 1000");
	ok("lnetx fault add drop from * to * rate 1000");
	e = parse("lnetx metrics peers", 0);
	has(e, "lnetx_up 1");
	has(e, "lnetx_configured 1");
	has(e, "lnetx_sent_messages_total 55");
	has(e, "lnetx_failures_total{status=\"local_timeout\"} 2");
	has(e, "lnetx_drops_total{reason=\"no_route\"} 4");
	has(e, "lnetx_drops_total{reason=\"loop\"} 1");
	has(e, "lnetx_ni_up{nid=\"10.0.0.1@tcp1\",net=\"tcp1\",interface=\"eth0\"} 1");
	has(e, "lnetx_ni_up{nid=\"10.0.0.2@tcp1\",net=\"tcp1\",interface=\"eth1\"} 0");
	has(e, "lnetx_ni_sent_messages_total{nid=\"10.0.0.1@tcp1\",net=\"tcp1\",interface=\"eth0\"} 12");
	has(e, "lnetx_route_up{net=\"tcp7\",gateway=\"10.0.0.9@tcp1\"} 0");
	has(e, "lnetx_route_up{net=\"tcp8\",gateway=\"10.0.0.9@tcp1\"} 1");
	has(e, "lnetx_routing_enabled 1");
	has(e, "lnetx_router_buffer_credits_min{pool=\"tiny\"} -3");
	has(e, "lnetx_fastpath_tx_dropped_packets 0");
	has(e, "lnetx_fastpath_stored_bytes_total 0");
	has(e, "lnetx_fault_rules 2");
	has(e, "lnetx_peer_up{nid=\"10.0.0.7@tcp1\",primary_nid=\"10.0.0.7@tcp1\"} 1");
	/* Nothing is known of it. */
	assert_false(says(e, "lnetx_peer_up{nid=\"10.0.0.8@tcp1\",primary_nid=\"10.0.0.7@tcp1\"} 0"));
	has(e, "lnetx_peer_health{nid=\"10.0.0.8@tcp1\",primary_nid=\"10.0.0.7@tcp1\"} 900");
	release(e);
	/* There may be very many. */
	e = parse("lnetx metrics", 0);
	for (size_t i = 0; i < e->n_families; i++)
		assert_null(strstr(e->family[i], "_peer_"));
	release(e);
	prints("lnetx -j metrics", "{\"metrics\":\"# HELP lnetx_up ");
}

/* LNet is stopped; lnetxd is gone. */
static void test_down(void **state)
{
	struct exposition *e;

	start(world);
	ok("lnetx daemon down");
	e = parse("lnetx metrics", 0);
	has(e, "lnetx_up 1");
	has(e, "lnetx_configured 0");
	release(e);
	stop(NULL);
	e = parse("lnetx metrics", 1);
	has(e, "lnetx_up 0");
	assert_int_equal(e->n_series, 1);
	release(e);
	fails(1, "lnetx metrics", "lnetxd");
}

/* docs/metrics.md has a row for each: | `lnetx_up` | gauge | labels | meaning | */
static void test_documented(void **state)
{
	char *page = proc_read("docs/metrics.md"), row[100];
	struct exposition *e;
	size_t rows = 0;

	start(world);
	e = parse("lnetx metrics peers", 0);
	for (size_t i = 0; i < e->n_families; i++) {
		snprintf(row, sizeof(row), "\n| `%s%s` | %s |", e->family[i],
			 strcmp(e->type[i], "counter") ? "" : "_total", e->type[i]);
		if (!strstr(page, row))
			fail_msg("docs/metrics.md has no row \"%s\"", row + 1);
	}
	for (const char *p = page; (p = strstr(p, "\n| `lnetx_")); p++)
		rows++;
	assert_int_equal(rows, e->n_families);
	release(e);
	free(page);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values),
		TEST(test_down),
		TEST(test_documented),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
