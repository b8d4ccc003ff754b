/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fresh node accepts whatever a node exports, from a file and by import, and then has the
 * same configuration. Uses random configurations of a real lnetxd on loopback addresses, which
 * has also discovered gateways that are nodes of this process.
 */
#include <pthread.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "proc.h"
#include "testlib.h"

#define GATEWAYS 3
#define LINES_MAX 256

static struct proc_daemon lnetxd = { .program = "lnetxd" };
static struct lx_node *gateway[GATEWAYS];
static char text[1 << 16]; /* an export */

static const struct proc_result *expect(int status, const char *line)
{
	const struct proc_result *r = proc_run(line);

	if (r->status != status || (!status && *r->err))
		fail_msg("$ %s\n%s%sstatus %d, not %d", line, r->out, r->err, r->status, status);
	return r;
}

__attribute__((format(printf, 1, 2))) static void ok(const char *fmt, ...)
{
	char line[1000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	expect(0, line);
}

/* ---- gateways ---------------------------------------------------------------------- */

/* On the two near nets, tcp1 and tcp2, and on tcp9; its first NID may be on any of them. */
static int gateway_up(int i)
{
	static const int nets[] = { 1, 2, 9, 1 };
	struct lx_conf_error err = { 0 };
	char yaml[2048] = "net:\n";
	int first = i % 3, r;

	for (int j = 0; j < 3; j++) {
		int net = nets[(first + 2 + j) % 3];
		size_t at = strlen(yaml);

		snprintf(yaml + at, sizeof(yaml) - at,
			 "    - net type: tcp%d\n      local NI(s):\n"
			 "        - nid: 127.10.%d.%d@tcp%d\n",
			 net, net, i + 1, net);
	}
	snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml),
		 "routing: { enable: 1 }\ntunables:\n"
		 "    tcp: { accept_port: %d, accept_port_bulk: %d, accept: all, nscheds: 1 }\n",
		 own_port(), own_port());
	r = lx_node_new_yaml(yaml, strlen(yaml), &err, &gateway[i]);
	if (r)
		printf("%d:%d: %s\n", err.line, err.column, err.text);
	return r;
}

static int gateways_up(void **state)
{
	int r = 0;

	for (int i = 0; i < GATEWAYS && !r; i++)
		r = gateway_up(i);
	return r;
}

static int gateways_down(void **state)
{
	for (int i = 0; i < GATEWAYS; i++) {
		lx_node_free(gateway[i]);
		gateway[i] = NULL;
	}
	return 0;
}

/* ---- the node under test ----------------------------------------------------------- */

static void start(const char *file)
{
	const char *const args[] = { "--configure", file ? "-c" : NULL, file, NULL };

	proc_daemon_start(&lnetxd, NULL, args);
	proc_daemon_wait_log(&lnetxd, "state=running");
}

static void stop(void)
{
	assert_int_equal(proc_daemon_stop(&lnetxd), 0);
	lnetxd.pid = 0;
}

static int kill_rest(void **state)
{
	if (lnetxd.pid)
		proc_daemon_stop(&lnetxd);
	lnetxd.pid = 0;
	return 0;
}

/* A node that no router was before it: lnetxd asks the neighbours it remembers, who become peers. */
static void begin(void)
{
	static const char *const first[] = { "127.0.0.1@tcp1", "127.20.1.1@tcp1" };
	char path[200];

	for (unsigned int i = 0; i < N_OF(first); i++) {
		snprintf(path, sizeof(path), "%s/%s.neighbours", proc_dir(), first[i]);
		unlink(path);
	}
	start(NULL);
	ok("lnetx tunable set tcp accept all");
	ok("lnetx tunable set tcp accept_port %d", own_port());
	ok("lnetx tunable set tcp accept_port_bulk %d", own_port());
	ok("lnetx tunable set tcp nscheds 1");
}

static void export(const char *options)
{
	char line[100];

	snprintf(line, sizeof(line), "lnetctl export %s", options);
	snprintf(text, sizeof(text), "%s", expect(0, line)->out);
}

/* ---- configurations as lines that can be compared ---------------------------------- */

static char lines[LINES_MAX][2000];
static unsigned int n_lines;

__attribute__((format(printf, 1, 2))) static void add_line(const char *fmt, ...)
{
	va_list ap;

	assert_true(n_lines < LINES_MAX);
	va_start(ap, fmt);
	vsnprintf(lines[n_lines++], sizeof(lines[0]), fmt, ap);
	va_end(ap);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_ni(const struct lx_conf_ni *ni)
{
	const int32_t *tun = (const int32_t *)&ni->tun;

	add_line("ni %s %s nid %s tunables %d %d %d %d lnd %d %d %d", lx_net_str(ni->net),
		 ni->ifname, lx_nid_str(&ni->nid), tun[0], tun[1], tun[2], tun[3],
		 ni->lnd_tun.value[0], ni->lnd_tun.value[1], ni->lnd_tun.value[2]);
}

static int by_nid(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct lx_nid));
}

static void add_peer(const struct lx_conf_peer *peer)
{
	char nids[1500] = "";

	qsort(peer->nid, peer->n_nids, sizeof(*peer->nid), by_nid);
	for (size_t i = 0; i < peer->n_nids; i++)
		snprintf(nids + strlen(nids), sizeof(nids) - strlen(nids), " %s",
			 lx_nid_str(&peer->nid[i]));
	add_line("peer %s mr %d lock %d%s", lx_nid_str(&peer->primary), peer->multi_rail,
		 peer->lock_primary, nids);
}

/* A node that was never a router has the buffer numbers as tunables only. */
static void add_routing(const struct lx_conf *conf)
{
	static const char *const name[] = { "tiny", "small", "large" };
	long n[] = { 512, 4096, 256 };
	char tunable[40];

	for (int i = 0; i < LX_POOLS; i++) {
		snprintf(tunable, sizeof(tunable), "%s_router_buffers", name[i]);
		for (size_t j = 0; j < conf->n_tunables; j++) {
			if (!strcmp(conf->tunable[j].name, tunable))
				n[i] = atol(conf->tunable[j].value);
		}
		if (conf->buffers[i] != LX_UNSET)
			n[i] = conf->buffers[i];
	}
	add_line("routing %d buffers %ld %ld %ld", conf->routing == 1, n[0], n[1], n[2]);
}

/* An export without order, counters and states. */
static char *canonical(const char *yaml)
{
	struct lx_conf_error err = { 0 };
	struct lx_conf *conf;
	char *all = calloc(1, sizeof(lines));

	if (lx_conf_parse(yaml, strlen(yaml), &conf, &err))
		fail_msg("%d:%d: %s\n%s", err.line, err.column, err.text, yaml);
	n_lines = 0;
	for (size_t i = 0; i < conf->n_nis; i++)
		add_ni(&conf->ni[i]);
	for (size_t i = 0; i < conf->n_routes; i++)
		add_line("route %s via %s hop %d priority %ld sensitivity %d",
			 lx_net_str(conf->route[i].net), lx_nid_str(&conf->route[i].gateway),
			 conf->route[i].hop, (long)conf->route[i].priority,
			 conf->route[i].health_sensitivity);
	for (size_t i = 0; i < conf->n_peers; i++)
		add_peer(&conf->peer[i]);
	for (size_t i = 0; i < conf->n_tunables; i++) {
		if (!strstr(conf->tunable[i].name, "_router_buffers"))
			add_line("tunable %s %s %s", conf->tunable[i].module,
				 conf->tunable[i].name, conf->tunable[i].value);
	}
	add_routing(conf);
	lx_conf_free(conf);
	qsort(lines, n_lines, sizeof(lines[0]), by_text);
	for (unsigned int i = 0; i < n_lines; i++)
		strcat(strcat(all, lines[i]), "\n");
	return all;
}

/* The lines of @all that are not in @other. */
static void print_extra(const char *title, const char *all, const char *other)
{
	size_t len;

	printf("%s:\n", title);
	for (; *all; all += len) {
		char line[sizeof(lines[0])];

		len = strcspn(all, "\n") + 1;
		snprintf(line, sizeof(line), "%.*s", (int)len, all);
		if (!strstr(other, line))
			printf("%s", line);
	}
}

static void same_as(const char *want, const char *options, const char *how)
{
	char *got;

	export(options);
	got = canonical(text);
	if (strcmp(got, want)) {
		print_extra("configured", want, got);
		print_extra("restored", got, want);
		fail_msg("%s of \"export %s\" is another configuration", how, options);
	}
	free(got);
}

/*
 * Recreates the running node from its export, by every way there is. Stops it. The gateways are
 * down meanwhile: a node that discovers them, or receives their pings, learns new peers.
 */
static void restores(const char *options)
{
	char path[300], *want;

	gateways_down(NULL);
	export(options);
	want = canonical(text);
	snprintf(path, sizeof(path), "%s", proc_file("export.yaml", text));
	stop();

	ok("lnetxd -t -c %s", path);
	start(path);
	same_as(want, options, "lnetxd -c");
	ok("lnetx daemon reload");
	same_as(want, options, "reload");
	stop();

	start(NULL);
	ok("lnetctl import %s", path);
	same_as(want, options, "import");
	free(want);
	assert_int_equal(gateways_up(NULL), 0);
}

/* ---- tests ------------------------------------------------------------------------- */

/* The gateway's first NID is on the far net; discovery makes it the primary. */
static void test_far_primary(void **state)
{
	static const char *const options[] = { "--backup", "" };

	for (int i = 0; i < 2; i++) {
		begin();
		ok("lnetctl net add --nid 127.20.1.1@tcp1");
		ok("lnetctl route add --net tcp9 --gateway 127.10.1.1@tcp1");
		ok("lnetctl discover 127.10.1.1@tcp1");
		assert_non_null(strstr(expect(0, "lnetctl peer list")->out, "127.10.9.1@tcp9"));
		assert_non_null(strstr(expect(0, "lnetctl route show")->out,
				       "gateway: 127.10.1.1@tcp1"));
		/* Found by any of its NIDs, and by no others. */
		assert_non_null(strstr(expect(0, "lnetctl route show --gateway 127.10.1.1@tcp1")->out,
				       "gateway: 127.10.1.1@tcp1"));
		assert_non_null(strstr(expect(0, "lnetctl route show --gateway 127.10.9.1@tcp9")->out,
				       "gateway: 127.10.1.1@tcp1"));
		assert_string_equal(expect(0, "lnetctl route show --gateway 127.10.1.2@tcp1")->out,
				    "");
		restores(options[i]);
		ok("lnetctl route del --net tcp9 --gateway 127.10.9.1@tcp9");
		assert_string_equal(expect(0, "lnetctl route show")->out, "");
		stop();
	}
}

/* A gateway that was down during the export is found to be Multi-Rail when it is up. */
static void test_gateway_was_down(void **state)
{
	char path[300];

	lx_node_free(gateway[1]);
	gateway[1] = NULL;
	begin();
	ok("lnetctl net add --nid 127.20.1.1@tcp1");
	ok("lnetctl route add --net tcp9 --gateway 127.10.1.2@tcp1");
	export("--backup");
	snprintf(path, sizeof(path), "%s", proc_file("export.yaml", text));
	stop();
	assert_int_equal(gateway_up(1), 0);
	for (int i = 0; i < 2; i++) {
		start(i ? NULL : path);
		if (i)
			ok("lnetctl import %s", path);
		ok("lnetctl discover --force 127.10.1.2@tcp1");
		assert_non_null(strstr(expect(0, "lnetctl peer show --nid 127.10.1.2@tcp1")->out,
				       "Multi-Rail: true"));
		stop();
	}
}

/* No file could have these. */
static void test_out_of_range(void **state)
{
	begin();
	assert_non_null(strstr(expect(234, "lnetctl net add --nid 127.20.1.1@tcp1 --peer-timeout "
					   "86401")->err, "86401 is not in 0..86400"));
	expect(234, "lnetctl net add --nid 127.20.1.1@tcp1 --credits 1048577");
	ok("lnetctl net add --nid 127.20.1.1@tcp1 --peer-timeout 86400 --credits 1048576");
	restores("--backup");
	stop();
}

/* A setting made at run time holds over a restart of LNet, until the file is read again. */
static void test_selftest_setting(void **state)
{
	char path[300];

	snprintf(path, sizeof(path), "%s", proc_file("conf.yaml", "tunables: { tcp: "
						     "{ accept: all, sock_timeout: 20 } }\n"));
	start(path);
	ok("lnetctl lnet unconfigure");
	ok("lnetx selftest on consoles any");
	ok("lnetctl lnet configure --all");
	assert_non_null(strstr(expect(0, "lnetx -j selftest show")->out, "\"enable\":1"));
	ok("lnetctl lnet unconfigure");
	ok("lnetx daemon reload");
	ok("lnetctl lnet configure --all");
	assert_non_null(strstr(expect(0, "lnetx -j selftest show")->out, "\"enable\":0"));
	stop();
}

static void random_nis(void)
{
	for (int net = 1; net <= 2; net++) {
		int n = 1 + rnd_below(2), by_if = rnd_below(4) == 0;

		/* A net's settings are those of its first NI. */
		if (by_if)
			ok("lnetctl net add --net tcp%d --if lo --peer-timeout %d", net,
			   (int)rnd_below(300));
		for (int i = 0; i < n; i++)
			ok("lnetctl net add --nid 127.20.%d.%d@tcp%d%s", net, i + 1, net,
			   by_if || i ? "" : " --peer-credits 16 --credits 100 --conns-per-peer 2");
	}
	if (rnd_below(2))
		ok("lnetctl net add --nid 127.20.3.1@tcp3 --peer-buffer-credits %d --tos 8",
		   (int)rnd_below(20));
	if (rnd_below(2))
		ok("lnetctl net set --net tcp1 --lnd-timeout %d", 1 + (int)rnd_below(50));
}

static void random_routes(void)
{
	char line[200];
	int n = rnd_below(8);

	/* Duplicates are refused, which does not matter here. */
	for (int i = 0; i < n; i++) {
		snprintf(line, sizeof(line), "lnetctl route add --net tcp%d --gateway "
			 "127.10.%d.%d@tcp%d", 4 + (int)rnd_below(4), 1 + i % 2,
			 1 + (int)rnd_below(GATEWAYS + 2), 1 + i % 2);
		if (rnd_below(2))
			snprintf(line + strlen(line), sizeof(line) - strlen(line),
				 " --hop %d --priority %u", 1 + (int)rnd_below(255),
				 rnd_below(2) ? (unsigned int)rnd() : 3);
		if (rnd_below(3) == 0)
			snprintf(line + strlen(line), sizeof(line) - strlen(line),
				 " --health_sensitivity %d", 1 + (int)rnd_below(100));
		proc_run(line);
	}
}

static void random_peers(void)
{
	if (rnd_below(2))
		ok("lnetctl peer add --prim_nid 127.30.1.1@tcp1 --nid 127.30.2.[1-%d]@tcp2%s",
		   1 + (int)rnd_below(4), rnd_below(2) ? " --lock_prim" : "");
	if (rnd_below(2))
		ok("lnetctl peer add --prim_nid 127.30.7.2@tcp7 --non_mr");
	if (rnd_below(2))
		ok("lnetctl peer add --prim_nid 127.30.7.3@tcp7");
	/* Perhaps before it becomes a gateway: two of its NIDs. */
	if (rnd_below(3) == 0)
		ok("lnetctl peer add --prim_nid 127.10.2.5@tcp2 --nid 127.10.1.5@tcp1");
}

static void random_settings(void)
{
	static const char *const values[] = {
		"lnet lnet_numa_range 2147483647",   "lnet lnet_interfaces_max 16",
		"lnet lnet_drop_asym_route 1",	     "lnet lnet_transaction_timeout 1000",
		"lnet lnet_retry_count 200",	     "lnet lnet_health_sensitivity 0",
		"lnet lnet_response_tracking 0",     "lnet lnet_recovery_limit 30",
		"lnet alive_router_check_interval 20", "lnet router_start_delay 0",
		"lnet tiny_router_buffers 700",	     "lnet avoid_asym_router_failure 0",
		"tcp sock_timeout 20",		     "tcp fastpath off",
		"tcp keepalive 11",		     "tcp conns_per_peer 3",
		"lnet lnet_peer_discovery_disabled 1",
	};

	char line[100];

	for (unsigned int i = 0; i < N_OF(values); i++) {
		snprintf(line, sizeof(line), "lnetx tunable set %s", values[i]);
		/*
		 * Without discovery nothing is learnt. That many retries need the longer
		 * timeout.
		 */
		if (rnd_below(i + 1 == N_OF(values) ? 6 : 3) == 0)
			proc_run(line);
	}
}

static void random_routing(void)
{
	if (rnd_below(2))
		ok("lnetctl set routing 1");
	if (rnd_below(3) == 0)
		ok("lnetctl set tiny_buffers %d", 1 + (int)rnd_below(2000));
	if (rnd_below(3) == 0)
		ok("lnetctl set large_buffers %d", 1 + (int)rnd_below(300));
	if (rnd_below(4) == 0)
		ok("lnetctl set routing 0");
}

/* Traffic and pings create peers, known and unknown. */
static void learn(void)
{
	for (int i = 0; i < GATEWAYS; i++) {
		char line[100];

		snprintf(line, sizeof(line), "lnetctl discover 127.10.%d.%d@tcp%d",
			 1 + i % 2, i + 1, 1 + i % 2);
		if (rnd_below(2))
			proc_run(line);
	}
	if (rnd_below(2))
		proc_run("lnetctl ping --timeout 1 127.30.1.77@tcp1");
}

static void test_random(void **state)
{
	for (int round = 0; round < 6; round++) {
		rnd_case("test_random", round);
		begin();
		if (rnd_below(2))
			random_settings();
		random_nis();
		random_peers();
		random_routes();
		random_routing();
		if (rnd_below(2))
			random_settings();
		learn();
		restores(rnd_below(4) ? "--backup" : "");
		stop();
	}
	rnd_case(NULL, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_far_primary, kill_rest),
		cmocka_unit_test_teardown(test_gateway_was_down, kill_rest),
		cmocka_unit_test_teardown(test_out_of_range, kill_rest),
		cmocka_unit_test_teardown(test_selftest_setting, kill_rest),
		cmocka_unit_test_teardown(test_random, kill_rest),
	};
	int failed;

	proc_init(argv[0]);
	rnd_init();
	failed = cmocka_run_group_tests_name("restore", tests, gateways_up, gateways_down);
	proc_fini();
	return failed;
}
