/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnet_legacy2yaml: the reference's behaviour as captured, and input that is refused. */
#include "cliworld.h"

#include <arpa/inet.h>
#include <errno.h>

#include <lnetx/conf.h>

#include "../../user/conf/rule.h"

static void converts(const char *args, const char *yaml)
{
	char line[2000];
	const struct proc_result *r;
	struct lx_conf_error why;
	struct lx_conf *conf;

	snprintf(line, sizeof(line), "lnet_legacy2yaml %s", args);
	r = proc_run(line);
	if (r->status || *r->err || strcmp(r->out, yaml))
		fail_msg("$ %s\n%s%sstatus %d\n--- expected:\n%s", line, r->out, r->err, r->status,
			 yaml);
	/* The output must parse; only nets without interfaces, and o2ib, may be refused. */
	if (lx_conf_parse(r->out, strlen(r->out), &conf, &why)) {
		if (!strstr(why.text, "local NI(s)") && !strstr(why.text, "RDMA"))
			fail_msg("%s%d:%d: %s", r->out, why.line, why.column, why.text);
	} else {
		lx_conf_free(conf);
	}
}

static void wrong(int status, const char *args, const char *text)
{
	char line[500];

	snprintf(line, sizeof(line), "lnet_legacy2yaml %s", args);
	fails(status, line, text);
	fails(status, line, "error");
}

static void test_ip2nets(void **state)
{
	converts("'tcp0(eth0,eth1) 10.0.0.*; o2ib0 192.168.[1-2].*'",
		 "ip2nets:\n"
		 "  - net-spec: tcp0\n"
		 "    interfaces:\n"
		 "         0: eth0\n"
		 "         1: eth1\n"
		 "    ip-range:\n"
		 "         0: 10.0.0.*\n"
		 "  - net-spec: o2ib0\n"
		 "    ip-range:\n"
		 "         0: 192.168.[1-2].*\n");
}

static const char starred[] = "ip2nets:\n  - net-spec: tcp\n    ip-range:\n         0: \"*.*.*.*\"\n";
static const char bracket[] =
	"ip2nets:\n  - net-spec: tcp\n    ip-range:\n         0: \"[10-11].0.0.1\"\n";
static const char two_ranges[] = "ip2nets:\n  - net-spec: tcp0\n    ip-range:\n"
				 "         0: 10.0.0.*\n         1: 10.0.1.*\n";
static const char two_nets[] = "ip2nets:\n  - net-spec: tcp\n    interfaces:\n         0: eth0\n"
			       "    ip-range:\n         0: 10.0.0.*\n"
			       "  - net-spec: tcp1\n    interfaces:\n         0: eth1\n"
			       "    ip-range:\n         0: 10.0.0.*\n";

static void test_patterns(void **state)
{
	converts("'tcp *.*.*.*'", starred);
	converts("'tcp [10-11].0.0.1'", bracket);
	converts("'tcp0 10.0.0.* 10.0.1.*'", two_ranges);
	converts("'tcp(eth0),tcp1(eth1) 10.0.0.*'", two_nets);
	converts("'ip2nets=\"tcp *.*.*.* # all\"'", starred);
}

static void test_routes(void **state)
{
	converts("\"routes='tcp0 1 10.0.0.1@o2ib0'\"",
		 "route:\n  - net: tcp0\n    gateway: 10.0.0.1@o2ib0\n    hop: 1\n");
	converts("\"routes='tcp0 2 10.0.0.1@o2ib0:7'\"",
		 "route:\n  - net: tcp0\n    gateway: 10.0.0.1@o2ib0\n    hop: 2\n    priority: 7\n");
	converts("\"routes='tcp0 10.0.0.1@o2ib0'\" --default-hop",
		 "route:\n  - net: tcp0\n    gateway: 10.0.0.1@o2ib0\n    hop: 1\n");
	converts("--default-hop 3 \"routes='tcp0 10.0.0.1@o2ib0'\"",
		 "route:\n  - net: tcp0\n    gateway: 10.0.0.1@o2ib0\n    hop: 3\n");
	converts("\"routes='tcp7: { gateway: 10.3.3.[6-12]@tcp, priority: 20, hop: 8 }'\"",
		 "route:\n  - net: tcp7\n    gateway: 10.3.3.[6-12]@tcp\n    hop: 8\n"
		 "    priority: 20\n");
	/* A gateway without a net is on tcp. */
	converts("\"routes='tcp1 10.0.0.[1-2]'\"",
		 "route:\n  - net: tcp1\n    gateway: 10.0.0.[1-2]@tcp\n");
	converts("--default-hop 3 \"routes='tcp5: { gateway: 10.5.5.5@tcp0 }; tcp6 fd00::1@tcp:4'\"",
		 "route:\n  - net: tcp5\n    gateway: 10.5.5.5@tcp0\n    hop: 3\n"
		 "  - net: tcp6\n    gateway: fd00::1@tcp\n    hop: 3\n    priority: 4\n");
}

static void test_networks(void **state)
{
	converts("'networks=tcp(@if)'", "net:\n-     net type: tcp\n      local NI(s):\n"
					"      -     interfaces:\n                  0: \"@if\"\n");
	converts("'options lnet networks=tcp'", "net:\n-     net type: tcp\n");
	converts("'options lnet networks=tcp0(eth0),tcp1(eth1,eth2)[0]'",
		 "net:\n"
		 "-     net type: tcp0\n"
		 "      local NI(s):\n"
		 "      -     interfaces:\n"
		 "                  0: eth0\n"
		 "-     net type: tcp1\n"
		 "      local NI(s):\n"
		 "      -     interfaces:\n"
		 "                  0: eth1\n"
		 "                  1: eth2\n"
		 "            CPT: \"[0]\"\n");
}

/* All three parameters in one line, with any quotes. */
static void test_options(void **state)
{
	converts("'options lnet ip2nets=\"tcp0 10.0.0.*\" routes=\"tcp9 1 10.0.0.2@tcp0\" "
		 "networks=tcp1(eth1)'",
		 "net:\n-     net type: tcp1\n      local NI(s):\n      -     interfaces:\n"
		 "                  0: eth1\n"
		 "ip2nets:\n  - net-spec: tcp0\n    ip-range:\n         0: 10.0.0.*\n"
		 "route:\n  - net: tcp9\n    gateway: 10.0.0.2@tcp0\n    hop: 1\n");
	converts("\"options lnet 'ip2nets=\"'\"tcp0 10.0.0.*\"'\"'\"",
		 "ip2nets:\n  - net-spec: tcp0\n    ip-range:\n         0: 10.0.0.*\n");
}

static void test_files(void **state)
{
	char args[900], modprobe[200], rules[200], routes[200], out[200];
	char *text;

	strcpy(modprobe, proc_file("modprobe.conf", "# of lnet\n"
						    "options lnet ip2nets=\"tcp0(eth0) 10.1.0.*\"\n"
						    "options lnet \\\n"
						    "  routes=\"tcp9 1 10.1.0.1@tcp0:9\"\n"
						    "options other networks=tcp\n"));
	strcpy(rules, proc_file("rules", "tcp1 10.2.0.*\n# none\n\n"));
	strcpy(routes, proc_file("routes", "tcp8: { gateway: 10.3.3.4@tcp } # by name\n"
					   "tcp7 2 10.4.4.5@tcp0:7\n"));
	snprintf(out, sizeof(out), "%s/out.yaml", proc_dir());
	snprintf(args, sizeof(args), "lnet_legacy2yaml -r %s -i %s -m %s -o %s", routes, rules,
		 modprobe, out);
	assert_non_null(strstr(expect(0, args)->err, "options other"));
	text = proc_read(out);
	assert_string_equal(text, "ip2nets:\n"
				  "  - net-spec: tcp0\n"
				  "    interfaces:\n"
				  "         0: eth0\n"
				  "    ip-range:\n"
				  "         0: 10.1.0.*\n"
				  "  - net-spec: tcp1\n"
				  "    ip-range:\n"
				  "         0: 10.2.0.*\n"
				  "route:\n"
				  "  - net: tcp9\n"
				  "    gateway: 10.1.0.1@tcp0\n"
				  "    hop: 1\n"
				  "    priority: 9\n"
				  "  - net: tcp8\n"
				  "    gateway: 10.3.3.4@tcp\n"
				  "  - net: tcp7\n"
				  "    gateway: 10.4.4.5@tcp0\n"
				  "    hop: 2\n"
				  "    priority: 7\n");
	free(text);
	assert_string_equal(proc_run_as(0, 0, "lnet_legacy2yaml", "tcp *.*.*.*\n")->out, starred);
}

/* Options that are not lists: what has a meaning here is converted, and notes name the rest. */
static void test_tunables(void **state)
{
	static const char site[] =
		"options lnet networks=tcp(eth0) forwarding=enabled accept=all accept_port=1988 \\\n"
		"\tconfig_on_load=1 bogus=1 router_ping_timeout=x.y\n"
		"options ksocklnd sock_timeout=20 credits=512 accept_port=2988\n"
		"options ksocklnd 'credits=1024' nscheds=\"2\"\n"
		"options ko2iblnd ntx=2048 ipif_name=ib0\n"
		"options ko2iblnd-opa ntx=1024\n"
		"install lnet echo don't\n";
	static const char *const notes[] = {
		"note: left out: lnet config_on_load=1: it has no meaning in lnetx\n",
		"note: left out: lnet bogus=1: lnetx does not know it",
		"note: left out: lnet router_ping_timeout=x.y: a number or a word is expected\n",
		"note: left out: ko2iblnd ipif_name=ib0: it has no meaning",
		"note: left out: options ko2iblnd-opa ntx=1024 (see",
	};
	const struct proc_result *r;
	struct lx_conf_error why;
	struct lx_conf *conf;
	char args[300];

	snprintf(args, sizeof(args), "lnet_legacy2yaml -m %s", proc_file("site.conf", site));
	r = expect(0, args);
	assert_string_equal(r->out, "net:\n-     net type: tcp\n      local NI(s):\n"
				    "      -     interfaces:\n                  0: eth0\n"
				    "routing:\n    enable: 1\n"
				    "tunables:\n    tcp:\n        accept: all\n"
				    "        sock_timeout: 20\n        accept_port: 2988\n"
				    "        credits: 1024\n        nscheds: 2\n"
				    "    o2ib:\n        ntx: 2048\n");
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		if (!strstr(r->err, notes[i]))
			fail_msg("no \"%s\" in:\n%s", notes[i], r->err);
	}
	assert_int_equal(lx_conf_parse(r->out, strlen(r->out), &conf, &why), 0);
	assert_int_equal(conf->routing, 1);
	lx_conf_free(conf);

	/* As the kernel takes them: "-" for "_", and of two the last one. */
	converts("'options lnet accept-port=988 router_ping-timeout=9 accept_port=989'",
		 "tunables:\n    lnet:\n        router_ping_timeout: 9\n"
		 "    tcp:\n        accept_port: 989\n");
	converts("'options lnet networks=tcp(eth0) networks=tcp1(eth1)\noptions lnet "
		 "routes=\"tcp8 10.0.0.1@tcp1\"\noptions lnet routes=\"tcp9 10.0.0.1@tcp1\"'",
		 "net:\n-     net type: tcp1\n      local NI(s):\n      -     interfaces:\n"
		 "                  0: eth1\n"
		 "route:\n  - net: tcp9\n    gateway: 10.0.0.1@tcp1\n");
	converts("'options lnet forwarding=disabled'", "routing:\n    enable: 0\n");
	converts("'networks=tcp(eth0) forwarding=\"\"; accept=none # as it was'",
		 "net:\n-     net type: tcp\n      local NI(s):\n      -     interfaces:\n"
		 "                  0: eth0\ntunables:\n    tcp:\n        accept: none\n");
	assert_non_null(strstr(expect(0, "lnet_legacy2yaml 'networks=tcp(eth0), tcp1'")->err,
			       "left out: tcp1: NAME=VALUE is expected"));
	wrong(1, "'forwarding=on'", "left out: lnet forwarding=on: \"enabled\"");
	wrong(1, "'options lnet bogus=1'", "no ip2nets, routes, or networks data");
}

/* Where an open quote begins. */
static void test_quotes(void **state)
{
	char args[300], want[300];
	const char *path = proc_file("open.conf", "# one\noptions lnet accept=all \\\n"
						  "  routes=\"tcp9 10.0.0.1@tcp\n"
						  "options lnet networks=\"tcp\"\n");

	snprintf(want, sizeof(want), "%s: line 3, column 10: the quote \" is not closed", path);
	snprintf(args, sizeof(args), "-m %s", path);
	wrong(2, args, want);
	wrong(2, "'options lnet networks=\"tcp'", "line 1, column 23: the quote");
	wrong(2, "\"options lnet 'networks=tcp\"", "line 1, column 14: the quote '");
	/* A list may be longer than a line. */
	converts("\"routes='tcp0 1 10.0.0.1@o2ib0\n'\"",
		 "route:\n  - net: tcp0\n    gateway: 10.0.0.1@o2ib0\n    hop: 1\n");
}

/* The NIs that a machine with these two interfaces has by the output. */
static void gives(const char *args, const char *addr0, const char *addr1, const char *want)
{
	struct lx_conf_addr addr[2] = { { .ifname = "if0", .up = true },
					{ .ifname = "if1", .up = true } };
	char line[300], got[200] = "";
	const struct proc_result *r;
	struct lx_conf_error why;
	struct lx_conf_ni *ni;
	struct lx_conf *conf;
	size_t n;

	snprintf(line, sizeof(line), "lnet_legacy2yaml %s", args);
	r = proc_run(line);
	assert_int_equal(inet_pton(AF_INET, addr0, addr[0].addr), 1);
	assert_int_equal(inet_pton(AF_INET, addr1, addr[1].addr), 1);
	assert_int_equal(lx_conf_parse(r->out, strlen(r->out), &conf, &why), 0);
	assert_int_equal(lx_rules_apply(conf->rule, conf->n_rules, addr, 2, &ni, &n), 0);
	for (size_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s ", ni[i].ifname);
	if (strcmp(got, want))
		fail_msg("%s gives \"%s\", not \"%s\"\n%s", args, got, want, r->out);
	free(ni);
	lx_conf_free(conf);
}

/* Two rules for one net, of which both or one apply. */
static void test_one_net(void **state)
{
	static const char two[] = "'tcp(if0) 10.0.0.*; tcp(if1) 10.1.0.*'";
	static const char three[] = "'tcp(if0) 10.0.0.*; tcp0(if1) 10.1.0.*; tcp(if2) 10.2.0.*'";

	gives(two, "10.0.0.1", "10.1.0.1", "if0 if1 ");
	gives(two, "10.0.0.1", "10.9.0.1", "if0 ");
	gives(two, "10.9.0.1", "10.1.0.1", "if1 ");
	/* Once for one interface, and not for a rule that names none. */
	converts("'tcp(if0) 10.0.0.1; tcp(if0) 10.0.0.2; tcp 10.1.0.1'",
		 "ip2nets:\n  - net-spec: tcp\n    interfaces:\n         0: if0\n"
		 "    ip-range:\n         0: 10.0.0.1\n"
		 "  - net-spec: tcp\n    interfaces:\n         0: if0\n"
		 "    ip-range:\n         0: 10.0.0.2\n"
		 "  - net-spec: tcp\n    ip-range:\n         0: 10.1.0.1\n");
	gives(three, "10.0.0.1", "10.1.0.1", "if0 ");
	assert_non_null(strstr(proc_run_as(0, 0, "lnet_legacy2yaml",
					   "tcp(a) 10.0.0.*; tcp(b) 10.1.0.*; tcp(c) 10.2.*.*")
				       ->err,
			       "note: net tcp has 3 rules with different interfaces"));
}

static void test_refused(void **state)
{
	wrong(2, "tcp0", "no IP pattern");
	wrong(1, "''", "no ip2nets, routes, or networks data");
	wrong(2, "\"routes='tcp0 0 10.0.0.1@o2ib0'\"", "hopcount 0");
	wrong(2, "\"routes='tcp0: { gateway: 10.0.0.1@o2ib0, hop: 0 }'\"", "hopcount 0 is out of range");
	wrong(2, "\"routes='tcp0: { gateway: 10.0.0.1@o2ib0'\"", "is expected");
	wrong(2, "\"routes='tcp0: { priority: 3 }'\"", "is expected");
	wrong(2, "\"routes='tcp0'\"", "not complete");
	wrong(2, "\"routes='tcp0 x'\"", "not a gateway's NID");
	wrong(2, "'options lnet routes=\"tcp0 1 10.0.0.1@o2ib0 10.0.0.2@o2ib0\"'",
	      "multiple gateway specifications found");
	wrong(2, "'tcp0 10.0.0'", "Invalid IP pattern");
	wrong(2, "'options lnet networks=tcp0(eth0'", "Invalid network specification");
	wrong(2, "'networks=bogus(eth0)'", "Invalid network specification");
	wrong(2, "'tcp0(eth0) 10.0.0.* tcp1(eth1) 192.168.1.*'",
	      "Multiple network rules must be separated");
	wrong(2, "\"routes='bogus 10.0.0.1@tcp'\"", "\"bogus\" is not a net");
	wrong(2, "\"routes='tcp1 10.0.0.1@tcp:4294967296'\"", "no priority after the colon");
	wrong(2, "\"routes='tcp1: { gateway: 10.0.0.1@tcp, hop }'\"", "is expected");
	wrong(2, "--default-hop 256 \"routes='tcp0 10.0.0.1@o2ib0'\"", "out of range");
	wrong(2, "-i /nonexistent", "No such file");
	fails(2, "lnet_legacy2yaml --bogus", "usage:");
	fails(2, "lnet_legacy2yaml a b", "usage:");
	prints("lnet_legacy2yaml --help", "usage: lnet_legacy2yaml");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ip2nets),	 cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_routes),	 cmocka_unit_test(test_networks),
		cmocka_unit_test(test_options),	 cmocka_unit_test(test_files),
		cmocka_unit_test(test_refused),	 cmocka_unit_test(test_tunables),
		cmocka_unit_test(test_quotes),	 cmocka_unit_test(test_one_net),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
