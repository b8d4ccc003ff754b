/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnet_legacy2yaml: the reference's behaviour as captured, and input that is refused. */
#include "cliworld.h"

#include <errno.h>

#include <lnetx/conf.h>

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
	converts("--default-hop 3 \"routes='tcp5: { gateway: 10.5.5.5@tcp0 }; tcp6 fd00::1@tcp:4'\"",
		 "route:\n  - net: tcp5\n    gateway: 10.5.5.5@tcp0\n    hop: 3\n"
		 "  - net: tcp6\n    gateway: fd00::1@tcp\n    hop: 3\n    priority: 4\n");
}

static void test_networks(void **state)
{
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
		cmocka_unit_test(test_refused),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
