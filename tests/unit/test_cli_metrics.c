/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx metrics": every line by the grammar of Prometheus' text format or of OpenMetrics, which
 * name a counter differently in comments. Where promtool is
 * installed, it says the same.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <internal/ctl.h>
#include <libmnl/libmnl.h>

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
	bool openmetrics, ended;
};

static bool ends_in_total(const char *name)
{
	size_t len = strlen(name);

	return len > 6 && !strcmp(name + len - 6, "_total");
}

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

	if (e->openmetrics && !strcmp(line, "# EOF")) {
		e->ended = true;
	} else if (sscanf(line, "# HELP %63[a-z_] %n", name, &used) == 1 && used && line[used]) {
		for (size_t i = 0; i < e->n_families; i++)
			assert_string_not_equal(e->family[i], name);
		assert_null(strchr(line, '\\'));
		strcpy(e->family[e->n_families++], name);
	} else if (sscanf(line, "# TYPE %63[a-z_] %15[a-z]%n", name, text, &used) == 2 && !line[used]) {
		assert_string_equal(name, e->family[e->n_families - 1]);
		assert_true(!strcmp(text, "gauge") || !strcmp(text, "counter"));
		if (ends_in_total(name) != (!e->openmetrics && !strcmp(text, "counter")))
			fail_msg("%s is no name of a %s here", name, text);
		strcpy(e->type[e->n_families - 1], text);
	} else {
		fail_msg("\"%s\" is no comment of this format", line);
	}
}

/* "name{labels} value", of the family that came last, and only once. */
static void check_sample(struct exposition *e, const char *line)
{
	const char *end = name_end(line), *family = e->family[e->n_families - 1];
	bool counter = !strcmp(e->type[e->n_families - 1], "counter");
	char name[80], *rest;

	snprintf(name, sizeof(name), "%s%s", family, counter && e->openmetrics ? "_total" : "");
	if ((size_t)(end - line) != strlen(name) || strncmp(line, name, end - line))
		fail_msg("\"%s\" is not of family %s", line, family);
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

	e->openmetrics = strstr(command, "openmetrics");
	assert_int_equal(text[strlen(text) - 1], '\n');
	assert_null(strstr(text, "\n\n"));
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		assert_false(e->ended);
		if (*line == '#')
			check_comment(e, line);
		else
			check_sample(e, line);
	}
	assert_int_equal(e->ended, e->openmetrics);
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
	has(e, "lnetx_version_mismatch 0");
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
	/* It is always up, and carries what the node sends itself. */
	for (size_t i = 0; i < e->n_series; i++)
		assert_null(strstr(e->series[i], "0@lo"));
	release(e);
	/* There may be very many. */
	e = parse("lnetx metrics", 0);
	for (size_t i = 0; i < e->n_families; i++)
		assert_null(strstr(e->family[i], "_peer_"));
	release(e);
	prints("lnetx -j metrics", "{\"metrics\":\"# HELP lnetx_up ");
}

/* The same samples in both formats. */
static void test_formats(void **state)
{
	struct exposition *text, *open;
	size_t counters = 0;

	start(world);
	text = parse("lnetx metrics peers", 0);
	open = parse("lnetx metrics peers openmetrics", 0);
	assert_int_equal(text->n_series, open->n_series);
	assert_int_equal(text->n_families, open->n_families);
	for (size_t i = 0; i < text->n_series; i++)
		assert_int_equal(name_end(text->series[i]) - text->series[i],
				 name_end(open->series[i]) - open->series[i]);
	has(open, "lnetx_sent_messages_total 55");
	for (size_t i = 0; i < text->n_families; i++)
		counters += ends_in_total(text->family[i]);
	assert_true(counters > 20);
	release(text);
	release(open);
}

/* It takes all; of milliseconds, whose names are promised, it says that seconds would be better. */
static void test_promtool(void **state)
{
	char line[300], advice[300];
	FILE *f;

	if (system("command -v promtool >/dev/null"))
		skip();
	start(world);
	snprintf(line, sizeof(line), "promtool check metrics <%s 2>&1",
		 proc_file("lnetx.prom", expect(0, "lnetx metrics peers")->out));
	f = popen(line, "r");
	assert_non_null(f);
	while (fgets(advice, sizeof(advice), f)) {
		if (!strstr(advice, "_milliseconds_total use base unit"))
			fail_msg("promtool: %s", advice);
	}
	pclose(f);
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

/* Answers one request as an lnetxd of another version would. */
static void play_other_version(int listener)
{
	_Alignas(8) char buf[LX_CTL_PACKET];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct lx_ctl_hdr *hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));
	char request[1000];
	int fd = accept(listener, NULL, NULL);

	nlh->nlmsg_type = LX_CTL_TYPE;
	hdr->version = LX_CTL_VERSION + 1;
	if (recv(fd, request, sizeof(request), 0) <= 0 ||
	    send(fd, buf, nlh->nlmsg_len, MSG_NOSIGNAL) != (ssize_t)nlh->nlmsg_len)
		_exit(1);
	recv(fd, request, sizeof(request), 0);
	_exit(0);
}

/* Nothing is known of the node, but it is not lnetxd that has to be started. */
static void test_version_mismatch(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), status;
	struct exposition *e;
	char line[200];
	pid_t pid;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/other.sock", proc_dir());
	assert_int_equal(bind(listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(listener, 1), 0);
	pid = fork();
	if (!pid)
		play_other_version(listener);
	snprintf(line, sizeof(line), "lnetx -n %s metrics", sa.sun_path);
	e = parse(line, 1);
	has(e, "lnetx_up 0");
	has(e, "lnetx_version_mismatch 1");
	assert_int_equal(e->n_series, 2);
	release(e);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(listener);
	unlink(sa.sun_path);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_values), TEST(test_formats),		TEST(test_promtool),
		TEST(test_down),   TEST(test_version_mismatch),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
