/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetctl and lnetx as users and scripts run them, on the fake node: spellings, refusals, exit
 * statuses, import and export, tables.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cliworld.h"

/* ---- lnetctl: spellings ------------------------------------------------------------ */

static void test_net_options(void **state)
{
	start(NULL);
	ok("lnetctl net add --net tcp --if eth0 --peer-timeout=60 --peer-credits 16 --credits 64 "
	   "--peer-buffer-credits 4 --conns-per-peer 3 --tos 104 --cpt [0,1] "
	   "--skip-mr-route-setup");
	prints("lnetctl net show -v --net tcp", "peer_timeout: 60\n");
	prints("lnetctl net show -n tcp -v 1", "peer_credits: 16\n");
	prints("lnetctl net show --net tcp -v1", "credits: 64\n");
	prints("lnetctl net show -v", "peer_buffer_credits: 4\n");
	prints("lnetctl net show --verbose", "conns_per_peer: 3\n");
	prints("lnetctl net show --verbose 2", "tos: 104\n");
	prints("lnetctl net show --verbose=4 --net tcp", "health value: 1000\n");
	prints_not("lnetctl net show -v", "sent_stats");
	prints_not("lnetctl net show", "statistics");
	ok("lnetctl net add -n tcp1 -i eth1,eth2[0] -t -1 -c 9");
	prints("lnetctl net show --net tcp1 -v", "0: eth2\n");
	prints("lnetctl net show --net tcp1 -v", "peer_credits: 9\n");
	ok("lnetctl net add --nid 10.1.2.3@tcp2,10.1.2.4@tcp2");
	prints("lnetctl net show --net tcp2", "nid: 10.1.2.4@tcp2\n");
	ok("lnetctl net del --nid 10.1.2.3@tcp2");
	prints_not("lnetctl net show --net tcp2", "10.1.2.3");
	ok("lnetctl net set --all --conns-per-peer 5");
	prints("lnetctl net show --net tcp -v", "conns_per_peer: 5\n");
	ok("lnetctl net set --all --conns-per-peer -1");
	prints("lnetctl net show --net tcp -v", "conns_per_peer: 5\n");
	ok("lnetctl net set --net tcp --lnd-timeout 51");
	prints("lnetctl net show --net tcp -v", " timeout: 51\n");
	prints("lnetctl net set -h", "--lnd-timeout:");
	ok("lnetctl net del --net tcp1 --if eth2");
	ok("lnetctl net del --net tcp1");
}

static void test_net_refused(void **state)
{
	start(NULL);
	ok("lnetctl net add --net tcp --if eth0");
	fails(234, "lnetctl net add --net tcp --if eth0", "errno: -17");
	fails(234, "lnetctl net add --net tcp1", "errno: -22");
	fails(234, "lnetctl net add --if eth1", "errno: -22");
	fails(234, "lnetctl net add --net tcp1 --if nosuch", "there is no such interface");
	fails(234, "lnetctl net add --net tcp1 --if eth1 --conns-per-peer 128", "not in -1..127");
	fails(234, "lnetctl net add --net tcp1 --if eth1 --conns-per-peer foo", "a number");
	fails(234,
	      "lnetctl net add --net tcp1 --if eth1 --conns-per-peer 1000000000000000000000000",
	      "conns_per_peer");
	fails(234, "lnetctl net add --net tcp1 --if eth1 --tos 300", "tos 300 is not in -1..255");
	fails(234, "lnetctl net add --net tcp1 --if eth1 --credits x", "a number is expected");
	fails(234, "lnetctl net add --net tcp1 --if eth1 --cpt 0", "cpt");
	fails(234, "lnetctl net add --net tcp1 --if ,", "interfaces");
	fails(234, "lnetctl net add --net tcp1 --nid 10.0.0.1@tcp1", "not both");
	fails(234, "lnetctl net add --net kfi --if eth1", "no transport");
	fails(234, "lnetctl net add --what x", "unrecognized option '--what'");
	fails(234, "lnetctl net add --net", "requires an argument");
	fails(234, "lnetctl net show --net tcp9", "errno: -2");
	fails(234, "lnetctl net show now", "\"now\" is not expected");
	fails(234, "lnetctl net set --all --health 1001", "net:\n    - set:\n          errno: -22");
	fails(234, "lnetctl net set --all --health -1", "not in 0..1000");
	fails(234, "lnetctl net set --conns-per-peer 3", "errno: -22");
	fails(234, "lnetctl net set --all --state 1", "unrecognized option '--state'");
	fails(234, "lnetctl net set --all --conns-per-peer 128", "not in -1..127");
	prints_not("lnetctl net show", "tcp1");
}

static void test_routes(void **state)
{
	start(NULL);
	ok("lnetctl net add --net tcp --if eth0");
	ok("lnetctl route add -n tcp5 -g 10.0.0.[2-4/2]@tcp");
	prints("lnetctl route show --gateway 10.0.0.4@tcp", "gateway: 10.0.0.4@tcp\n");
	prints_not("lnetctl route show --gateway 10.0.0.4@tcp", "10.0.0.2");
	ok("lnetctl route add --net tcp6 --gateway 10.0.0.9@tcp --hop-count 2 --priority 3 "
	   "--health_sensitivity 7");
	prints("lnetctl route show --net tcp6 --verbose", "hop: 2\n      priority: 3\n"
							  "      health_sensitivity: 7\n");
	prints("lnetctl route show --hop 2", "tcp6");
	prints_not("lnetctl route show --hop 2", "tcp5");
	prints("lnetctl route show -v", "type: single-hop");
	fails(234, "lnetctl route add --net tcp7 --gateway 1@gni", "errno: -113");
	fails(234, "lnetctl route add --net tcp7", "errno: -22");
	fails(234, "lnetctl route add --net tcp --gateway 10.0.0.9@tcp", "errno: -22");
	fails(234, "lnetctl route add --net tcp7 --gateway 10.0.0.9@tcp --hop 0", "not in 1..255");
	fails(234, "lnetctl route del --net tcp5", "--gateway");
	ok("lnetctl route del --net tcp5 --gateway 10.0.0.[2-4/2]@tcp");
	prints_not("lnetctl route show", "tcp5");
}

static void test_peers(void **state)
{
	start(NULL);
	ok("lnetctl peer add --prim 1.1.1.1@tcp --nid "
	   "1.1.1.1@tcp,2.2.2.2@tcp,5@gni,3.3.3.[1-2]@o2ib");
	prints("lnetctl peer show --nid 5@gni", "primary nid: 1.1.1.1@tcp\n");
	ok("lnetctl peer del --prim_nid 1.1.1.1@tcp --nid 2.2.2.2@tcp,5@gni");
	prints_not("lnetctl peer show", "gni");
	ok("lnetctl peer add --prim_nid 1.1.1.2@tcp --ni 7.7.7.7@tcp");
	prints("lnetctl peer list", "peer list:\n-     nid: 1.1.1.1@tcp\n-     nid: 1.1.1.2@tcp\n");
	ok("lnetctl peer add --prim_nid 9.9.9.9@tcp --lock_prim");
	prints("lnetctl peer show -v 4 --nid 9.9.9.9@tcp", "peer state: 1048585\n");
	prints_not("lnetctl peer show -v 2 --nid 9.9.9.9@tcp", "peer state");
	ok("lnetctl peer add --prim_nid 8.8.8.8@tcp --non_mr");
	prints("lnetctl peer show --nid 8.8.8.8@tcp", "Multi-Rail: false\n");
	/* Deleting the primary NID deletes the peer. */
	ok("lnetctl peer del --prim_nid 1.1.1.1@tcp --nid 1.1.1.1@tcp,3.3.3.[1-2]@o2ib");
	fails(234, "lnetctl peer show --nid 1.1.1.1@tcp", "errno: -2");
	fails(234, "lnetctl peer del --prim_nid 1.1.1.1@tcp", "errno: -2");
	fails(234, "lnetctl peer add --nid 1.1.1.1@tcp", "errno: -22");
	fails(234, "lnetctl peer add", "errno: -22");
	fails(234, "lnetctl peer add --prim_nid 1.1.1.1@tcp --nid 1.1.1.[2-255]@tcp",
	      "more than 128");
	fails(234, "lnetctl peer add --prim_nid 1.1.1.1@tcp --nid 7.7.7.7@tcp", "errno: -17");
	static const char *const bad[] = { "foobar",
					   "1@foo",
					   "1@tcp",
					   "1.1.1.1@gni",
					   "[2-1]@gni",
					   "256.256.256.256@tcp",
					   "1.1.1.1.[2-5/f]@tcp",
					   "1.[2-4,[5-6],7-8].1.1@tcp" };
	for (size_t i = 0; i < N_OF(bad); i++) {
		char line[200];

		snprintf(line, sizeof(line), "lnetctl peer add --prim_nid %s", bad[i]);
		fails(234, line, "errno: -22");
		snprintf(line, sizeof(line), "lnetctl peer add --prim_nid 1.1.1.1@tcp --nid %s",
			 bad[i]);
		fails(234, line, "errno: -22");
	}
	prints_not("lnetctl peer list", "1.1.1.1@tcp");
}

/* A peer that is a gateway cannot be configured; a configured peer can become a gateway. */
static void test_gateway_peers(void **state)
{
	start(NULL);
	ok("lnetctl net add --net tcp --if eth0");
	ok("lnetctl route add --net tcp2 --gateway 10.0.0.9@tcp");
	fails(234, "lnetctl peer add --prim_nid 10.0.0.9@tcp", "it is a gateway");
	fails(234, "lnetctl peer add --prim_nid 10.0.0.9@tcp --nid 10.9.0.9@tcp2", "errno: -16");
	fails(234, "lnetctl peer add --prim_nid 10.0.0.9@tcp --non_mr", "lnetx route del");
	prints_not("lnetctl peer show", "10.9.0.9@tcp2");
	import(0, "",
	       "route:\n- {net: tcp2, gateway: 10.0.0.8@tcp}\n"
	       "peer:\n- primary nid: 10.0.0.8@tcp\n  peer ni:\n  - nid: 10.0.0.8@tcp\n"
	       "  - nid: 10.9.0.8@tcp2\n");
	prints("lnetctl peer show --nid 10.9.0.8@tcp2", "primary nid: 10.0.0.8@tcp\n");
	/* Importing the same again changes nothing. */
	import(0, "", "peer:\n- primary nid: 10.0.0.8@tcp\n  peer ni:\n  - nid: 10.9.0.8@tcp2\n");
}

static void test_set(void **state)
{
	start(NULL);
	ok("lnetctl set routing 1");
	ok("lnetctl set tiny_buffers 1024");
	prints("lnetctl routing show",
	       "buffers:\n    tiny: 1024\n    small: 4096\n    large: 256\n");
	fails(234, "lnetctl set tiny_buffers 0", "add:\n    - buf:\n          errno: -22");
	fails(255, "lnetctl set routing 2", "errno: -1\n");
	ok("lnetctl set response_tracking 0");
	prints("lnetctl global show -v", "response_tracking: 0\n");
	fails(234, "lnetctl set response_tracking -1",
	      "- response_tracking:\n          errno: -22");
	fails(234, "lnetctl set response_tracking 4", "errno: -22");
	fails(195, "lnetctl set health_sensitivity 1001", "errno: -61");
	fails(255, "lnetctl set retry_count two", "parser:\n    - set:\n          errno: -1");
	fails(234, "lnetctl set retry_count", "needs a value");
	fails(255, "lnetctl set lnd_timeout 5", "no command");
	ok("lnetctl set retry_count 0");
	prints("lnetctl global show", "lnd_timeout: 149\n");
	ok("lnetctl set discovery 0");
	prints("lnetctl global show", "discovery: 0\n");
	prints("lnetctl set help", "transaction_timeout");
}

/* golden.bats compares texts and numbers with the reference; this checks the records. */
static void test_udsp(void **state)
{
	start(NULL);
	ok("lnetctl udsp show");
	prints("lnetctl udsp add", "add a selection policy");
	ok("lnetctl udsp add --src tcp --priority 4294967297");
	prints("lnetctl udsp show", "udsp:\n    - idx: 0\n      src: tcp\n      action:\n"
				    "          priority: 1\n");
	fails(114, "lnetctl udsp add --src tcp --priority 1", "errno: 114\n");
	fails(234, "lnetctl udsp add --src tcp --rte 10.0.0.1@tcp", "do not go together");
	fails(234, "lnetctl udsp add --src fd00::1@tcp", "use \\\"lnetx udsp add\\\"");
	fails(234, "lnetctl udsp del", "--idx, or --all");
	fails(234, "lnetctl udsp del --all --idx 0", "either --idx or --all");
	fails(254, "lnetctl udsp del --idx 7", "add:\n    - udsp:\n          errno: -2\n");
	ok("lnetctl udsp show --idx 7");
	ok("lnetx udsp add dst fd00::1@tcp index 0");
	prints("lnetx udsp", "INDEX  SRC  DST          RTE  PRIORITY\n"
			     "    0  -    fd00::1@tcp  -           0\n"
			     "    1  tcp  -            -           1\n");
	fails(2, "lnetx udsp del", "its index, or \"all\"");
	fails(2, "lnetx udsp del index 0 all", "its index, or \"all\"");
	fails(2, "lnetx udsp add src tcp1 priority -1", "priority -1 is not in");
	ok("lnetctl udsp del --idx -1");
	prints("lnetx -j udsp show", "{\"udsp\":[]}");
}

static void test_debug_nidlist(void **state)
{
	start(NULL);
	prints("lnetctl debug nidlist 10.77.0.[1-3]@tcp", "nidlist parsed to: 10.77.0.[1-3]@tcp\n");
	prints("lnetctl debug nidlist '*@o2ib 10.*.0.[2-8/2,9]@tcp[1-2] fd00::1@tcp'",
	       "nidlist parsed to: *@o2ib 10.[0-255].0.[2-8/2,9]@tcp[1-2] fd00::1@tcp\n");
	prints("lnetctl debug nidlist '10.0.0.[1-3]@tcp' 10.0.0.3@tcp",
	       "10.0.0.3@tcp matches nidlist 10.0.0.[1-3]@tcp\n");
	prints("lnetctl debug nidlist '10.0.0.[1-3]@tcp *@o2ib' 10.0.0.9@o2ib", "@o2ib matches");
	prints("lnetctl debug nidlist '10.0.0.[1-3]@tcp' 10.0.0.4@tcp",
	       "10.0.0.4@tcp does not match nidlist 10.0.0.[1-3]@tcp\n");
	fails(234, "lnetctl debug nidlist bogus", "\"bogus\" is not a range");
	fails(234, "lnetctl debug nidlist tcp", "\"tcp\" is not a range");
	fails(234, "lnetctl debug nidlist ''", "cannot read the list");
	fails(234, "lnetctl debug nidlist", "give a list");
	fails(234, "lnetctl debug nidlist 10.0.0.1@tcp x@y", "\"x@y\" is not a NID");
	fails(234, "lnetctl debug nidlist 10.0.0.1@tcp 10.0.0.1@tcp x", "not expected");
}

/* The fake node leaves this machine's settings alone; tests/sys/setup.bats has real ones. */
static void test_setup(void **state)
{
	start(NULL);
	ok("lnetctl net add --net tcp --if eth0");
	prints("lnetctl setup-mrrouting --dry-run", "");
	fails(234, "lnetctl setup-mrrouting --nosuch", "--dry-run: print");
	fails(234, "lnetctl setup-sysctl eth0", "not expected");
	prints("lnetx tunable show lnet enable_sysctl_setup", "enable_sysctl_setup  0 ");
	prints("lnetctl setup-sysctl --dry-run", "");
}

static void test_commands(void **state)
{
	start(NULL);
	fails(255, "lnetctl fault reset ''", "no command");
	fails(255, "lnetctl nosuch", "'nosuch'");
	fails(255, "lnetctl net nosuch", "'nosuch'");
	fails(255, "lnetctl net", "net add");
	prints("lnetctl net help", "--peer-credits:");
	prints("lnetctl ping --help", "--timeout:");
	prints("lnetctl --list-commands", "net add del show set\n");
	ok("lnetctl cpt-of-nid 10.0.0.1@tcp");
	fails(255, "lnetctl s show",
	      "'s' is ambiguous: set, stats, service-id, setup-mrrouting, setup-sysctl");
	fails(234, "lnetctl peer l x", "not expected");
	fails(255, "lnetctl routes show", "did you mean 'route'?");
	ok("lnetctl stat sho");
}

/* RDMA CM service ID: port space TCP (0x0106), then the port. */
static void test_service_id(void **state)
{
	start(NULL);
	fails(214, "lnetctl service-id", "error:\n    msg: \"");
	stop(NULL);
	setenv("FAKENODE_O2IB", "1", 1);
	start(NULL);
	unsetenv("FAKENODE_O2IB");
	assert_string_equal(expect(0, "lnetctl service-id")->out,
			    "service_id:\n    value: 0x10603db\n");
	fails(234, "lnetctl service-id extra", "not expected");
}

/* "help" and "--help" work in any position. */
static void test_help(void **state)
{
	static const char *const same[][4] = {
		{ "lnetx net add help", "lnetx net add --help", "lnetx help net add",
		  "lnetx net help add" },
		{ "lnetx -h net add net tcp", "lnetx net add net tcp --help",
		  "lnetx net add if eth0 help", "lnetx net -h add" },
		{ "lnetx net help", "lnetx net --help", "lnetx help net", "lnetx -h net" },
		{ "lnetx help", "lnetx --help", "lnetx -h", "lnetx -jh" },
		{ "lnetx ping help", "lnetx help ping", "lnetx ping --help",
		  "lnetx ping 10.0.0.1@tcp -h" },
		{ "lnetctl help", "lnetctl --help", "lnetctl -h", "lnetctl help" },
		{ "lnetctl net help", "lnetctl help net", "lnetctl net --help", "lnetctl net -h" },
		{ "lnetctl net add help", "lnetctl help net add", "lnetctl net help add",
		  "lnetctl net add --net tcp --help" },
		{ "lnetctl ping help", "lnetctl help ping", "lnetctl ping --help",
		  "lnetctl ping 10.0.0.1@tcp --help" },
		{ "lnetctl set retry_count help", "lnetctl help set retry_count",
		  "lnetctl set retry_count --help", "lnetctl set retry_count 5 --help" },
		{ "lnetctl udsp add help", "lnetctl help udsp add", "lnetctl udsp add --help",
		  "lnetctl udsp add --src tcp --help" },
		{ "lnetctl lnet configure --help", "lnetctl help lnet configure",
		  "lnetctl lnet configure -h", "lnetctl lnet configure --all --help" },
	};

	start(NULL);
	for (size_t i = 0; i < N_OF(same); i++) {
		char *first = output_of(same[i][0]);

		assert_true(*first);
		for (int j = 1; j < 4; j++) {
			const struct proc_result *r = expect(0, same[i][j]);

			if (strcmp(r->out, first) || *r->err)
				fail_msg("$ %s\n%s%snot as $ %s\n%s", same[i][j], r->out, r->err,
					 same[i][0], first);
		}
		free(first);
	}
	assert_true(strstr(expect(0, "lnetx net add help")->out, "lnetx net add [net NET]"));
	fails(2, "lnetx help nosuch", "unknown object");
	fails(2, "lnetx help net nosuch", "unknown verb");
	fails(255, "lnetctl help nosuch", "no command");
	prints_not("lnetctl net show", "retry"); /* help did not run the command */
	prints("lnetctl global show", "retry_count: 2\n");
}

static void test_options_anywhere(void **state)
{
	start(NULL);
	ok("lnetx net add net tcp if eth0 -n test");
	prints("lnetx net show -j", "{\"net\":[");
	prints("lnetx net -j show net tcp -p", "{\n  \"net\": [");
	prints("lnetx net --yaml", "net:\n- net type: lo\n");
	prints("lnetx tunable show tcp accept -s", "none secure all");
	fails(1, "lnetx net --instance nosuch", "instance nosuch");
	fails(1, "lnetx net -nnosuch", "instance nosuch");
	fails(1, "lnetx net show --instance=nosuch", "instance nosuch");
	prints("lnetx net --version", "lnetx ");
	/* A word in the place of a value is a value, even if it looks like an option. */
	ok("lnetx tunable set lnet router_start_delay -1");
	ok("lnetx net set all tos -1");
	fails(234, "lnetctl net show --instance nosuch", "instance nosuch");
	fails(234, "lnetctl --instance=nosuch net show", "instance nosuch");
	ok("lnetctl net show --instance test --net tcp");
	/* "dev", as in ip(8). */
	ok("lnetx net add net tcp1 dev eth1");
	ok("lnetx net del net tcp1 dev eth1");
	ok("lnetctl net add --net tcp1 --dev eth1");
	ok("lnetctl net del --net tcp1 --dev eth1");
	prints_not("lnetx net help", "dev");
}

static void test_interactive(void **state)
{
	const struct proc_result *r;

	start(NULL);
	r = proc_run_as(0, 0, "lnetctl",
			"net add --net tcp --if 'eth0'\n\n# nothing\nnosuch\n"
			"net show\nquit\nglobal show\n");
	assert_int_equal(r->status, 255);
	assert_non_null(strstr(r->out, "0: eth0\n"));
	assert_null(strstr(r->out, "global"));
	assert_non_null(strstr(r->err, "'nosuch'"));
	/* The exit status is that of the last failure. */
	r = proc_run_as(0, 0, "lnetctl",
			"nosuch\nroute add --net tcp5 --gateway 10.1.1.1@tcp9\nnet show\n");
	assert_int_equal(r->status, 234);
	r = proc_run_as(0, 0, "lnetctl", "net show\n\nglobal show\nexit\nnosuch\n");
	assert_int_equal(r->status, 0);
}

/* ---- import, export ---------------------------------------------------------------- */

/* Shows the first line that differs; whole files are too long for a message. */
static void assert_same_lines(const char *a, const char *b)
{
	const char *line = a;

	for (const char *p = a, *q = b; *p || *q; p++, q++) {
		if (*p != *q)
			fail_msg("differ from here on:\n%.200s\n--- and:\n%.200s", line,
				 b + (line - a));
		if (*p == '\n')
			line = p + 1;
	}
}

static const char big_state[] =
	"net:\n"
	"- net type: lo\n  local NI(s):\n  - nid: 0@lo\n    status: up\n"
	"- net type: tcp1\n  local NI(s):\n"
	"  - nid: 10.0.0.1@tcp1\n    status: up\n    interfaces: {0: eth0}\n"
	"    tunables: {peer_timeout: 60, peer_credits: 9, peer_buffer_credits: 3, credits: 100}\n"
	"    lnd tunables: {conns_per_peer: 3, timeout: 50, tos: 104}\n"
	"  - nid: fd00::1@tcp1\n    status: up\n    interfaces: {0: eth1}\n"
	"    tunables: {peer_timeout: 60, peer_credits: 9, peer_buffer_credits: 3, credits: 100}\n"
	"    lnd tunables: {conns_per_peer: 3, timeout: 50, tos: -1}\n"
	"route:\n"
	"- {net: tcp2, gateway: 10.0.0.3@tcp1, hop: -1, priority: 0, state: up, type: single-hop}\n"
	"- {net: tcp3, gateway: 10.0.0.4@tcp1, hop: 2, priority: 5, health_sensitivity: 3, state: "
	"up, "
	"type: multi-hop}\n"
	"peer:\n"
	"- primary nid: 10.0.0.3@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	"  - nid: 10.0.0.3@tcp1\n    state: up\n  - nid: 10.9.0.3@tcp2\n    state: up\n"
	"- primary nid: 7@gni\n  Multi-Rail: true\n  peer ni:\n  - nid: 7@gni\n    state: NA\n"
	/* Must be last: its route creates the peer, since the entry has no other settings. */
	"- primary nid: 10.0.0.4@tcp1\n  Multi-Rail: false\n  peer ni:\n"
	"  - nid: 10.0.0.4@tcp1\n    state: NA\n"
	"routing:\n- cpt[0]:\n    tiny: {npages: 0, nbuffers: 100, credits: 100, mincredits: 90}\n"
	"    small: {npages: 1, nbuffers: 200, credits: 100, mincredits: 90}\n"
	"    large: {npages: 256, nbuffers: 30, credits: 30, mincredits: 3}\n"
	"- enable: 1\n"
	"global:\n  numa_range: 3\n  discovery: 0\n  retry_count: 4\n";

static void test_round_trip(void **state)
{
	char *before, *after, path[200], line[300];

	start(big_state);
	snprintf(path, sizeof(path), "%s/backup", proc_dir());
	snprintf(line, sizeof(line), "lnetctl export --backup %s", path);
	ok(line);
	before = proc_read(path);
	after = output_of("lnetctl export -b");
	assert_same_lines(before, after);
	free(after);
	assert_non_null(strstr(before, "nid: fd00::1@tcp1\n"));
	assert_non_null(strstr(before, "routing:\n    enable: 1\nbuffers:\n    tiny: 100\n"));
	assert_null(strstr(before, "timeout: 50"));
	assert_null(strstr(before, "statistics"));

	ok("lnetctl lnet unconfigure");
	fails(234, "lnetctl export", "errno: -100");
	ok("lnetctl lnet configure");
	ok("lnetctl lnet configure"); /* again: no error */
	snprintf(line, sizeof(line), "lnetctl import %s", path);
	ok(line);
	after = output_of("lnetctl export --backup");
	assert_same_lines(before, after);
	free(after);

	/* Delete all of it. */
	snprintf(line, sizeof(line), "lnetctl import --del %s", path);
	expect(0, line);
	prints_not("lnetctl export --backup", "tcp1");
	prints_not("lnetctl export --backup", "gateway:");
	prints("lnetctl global show", "retry_count: 2\n");
	free(before);
}

static void test_full_export_is_importable(void **state)
{
	char *full;

	start(big_state);
	full = output_of("lnetctl export");
	ok("lnetctl lnet unconfigure");
	ok("lnetctl lnet configure");
	import(0, "", full);
	prints("lnetctl route show --net tcp3 -v", "priority: 5\n");
	free(full);
}

static void test_import_peers(void **state)
{
	start(NULL);
	import(0, "",
	       "peer:\n    - primary nid: 1.1.1.1@tcp\n      Multi-Rail: True\n      peer ni:\n"
	       "        - nid: 1.1.1.1@tcp\n        - nid: 2.2.2.2@tcp\n        - nid: "
	       "4.4.4.4@tcp\n"
	       "        - nid: 3.3.3.3@o2ib\n        - nid: 5@gni\n");
	/* NIDs without the primary: only these are deleted. */
	import(0, "--del",
	       "peer:\n    - primary nid: 1.1.1.1@tcp\n      Multi-Rail: True\n"
	       "      peer ni:\n        - nid: 2.2.2.2@tcp\n        - nid: 3.3.3.3@o2ib\n"
	       "        - nid: 5@gni\n");
	prints("lnetctl export --backup",
	       "peer:\n-     primary nid: 1.1.1.1@tcp\n      Multi-Rail: "
	       "true\n      peer ni:\n      -     nid: 1.1.1.1@tcp\n"
	       "      -     nid: 4.4.4.4@tcp\n");
	/* Repeating it is no error: there is nothing to do. */
	import(0, "-a",
	       "peer:\n  - primary nid: 1.1.1.1@tcp\n    peer ni:\n      - nid: 4.4.4.4@tcp\n");
	import(0, "-d",
	       "peer:\n  - primary nid: 1.1.1.1@tcp\n    peer ni:\n      - nid: 1.1.1.1@tcp\n"
	       "      - nid: 4.4.4.4@tcp\n");
	prints_not("lnetctl export --backup", "peer:");
}

static void import_fails(const char *yaml, const char *text)
{
	import(234, "", yaml);
	if (!strstr(proc_run_as(0, 0, "lnetctl import", yaml)->err, text))
		fail_msg("the complaint is not \"%s\"", text);
}

static void test_import_refused(void **state)
{
	start(NULL);
	import_fails("foobar:\n", "standard input:1:1: invalid key");
	import_fails("global:\n  discovery:\n", "no value");
	import_fails("global:\n  discovery: foo\n", "invalid value");
	import_fails("global:\n  response_tracking: 10\n", "errno: -34");
	import_fails("ip2nets:\n  - ip-range: { 0: 10.0.0.1 }\n", "errno: -22");
	import_fails("ip2nets:\n  - net-spec: tcp\n    ip-range: { 0: 192.0.2.1 }\n",
		     "no rule of ip2nets applies");
	import_fails("peer:\n  - primary nid: 99.99.99.99@tcp\n    Multi-Rail: Foobar\n", "Foobar");
	import_fails("net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
		     "    lnd tunables: {conns_per_peer: 200}\n",
		     ":5:36: invalid value");
	prints_not("lnetctl net show", "tcp");
	/* One bad entry does not stop the others. */
	import_fails("route:\n- {net: tcp5, gateway: 10.0.0.1@tcp9}\n"
		     "peer:\n- {primary nid: 3.3.3.3@tcp}\n",
		     "errno: -113");
	prints("lnetctl peer list", "3.3.3.3@tcp");
	fails(234, "lnetctl import /nonexistent", "No such file");
}

static void test_import_show_exec(void **state)
{
	const struct proc_result *r;

	start("ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n  peer_ni:\n"
	      "  - nid: 10.0.0.7@tcp\n");
	ok("lnetctl net add --net tcp --if eth0");
	r = proc_run_as(0, 0, "lnetctl import -e",
			"ping:\n  nids:\n    0: 10.0.0.7@tcp\n"
			"discover:\n  nids:\n    0: 10.0.0.7@tcp\n");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, "ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n"
				    "  peer_ni:\n  - nid: 10.0.0.7@tcp\n"
				    "discover:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n"
				    "  peer_ni:\n  - nid: 10.0.0.7@tcp\n");
	import(234, "-e", "ping:\n  nids:\n    0: 10.0.0.8@tcp\n");
	/* Import accepts what ping and discover print, also as JSON. */
	import(0, "-e", expect(0, "lnetctl ping 10.0.0.7@tcp")->out);
	import(0, "-e", expect(0, "lnetctl discover 10.0.0.7@tcp")->out);
	import(0, "-e", expect(0, "lnetx -j ping 10.0.0.7@tcp")->out);
	import(234, "-e", expect(1, "lnetx -y ping 10.0.0.7@tcp 10.0.0.8@tcp")->out);
	r = proc_run_as(0, 0, "lnetx -j import exec",
			"ping: { nids: { 0: 10.0.0.7@tcp, 1: 10.0.0.8@tcp } }\n");
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->out, "{\"ping\":[{\"primary_nid\":\"10.0.0.7@tcp\""));
	assert_non_null(strstr(r->out, "\"error\":{\"errno\":-113,\"reason\":\"failed to ping"));
	assert_string_equal(r->err, "");
	r = proc_run_as(0, 0, "lnetctl import --show", "net:\nglobal:\nstatistics:\n");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "net:\n-     net type: tcp\n"));
	assert_non_null(strstr(r->out, "statistics:\n    msgs_alloc: 0\n"));
	assert_non_null(strstr(r->out, "global:\n    numa_range: 0\n"));
}

/* ---- probes ------------------------------------------------------------------------ */

static const char probe_state[] =
	"ping:\n- primary nid: 127.0.0.1@tcp\n  Multi-Rail: false\n  peer_ni:\n"
	"  - nid: 127.0.0.1@tcp\n"
	"- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n  peer_ni:\n"
	"  - nid: 10.0.0.7@tcp\n  - nid: 10.0.1.7@tcp1\n"
	"manage:\n- ping:\n  errno: -110\n  descr: '10.0.0.9@tcp'\n";

static void test_probes(void **state)
{
	const struct proc_result *r;

	start(probe_state);
	prints("lnetctl ping 10.0.0.7@tcp", "primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n");
	prints("lnetctl ping localhost@tcp --timeout 3", "nid: 127.0.0.1@tcp\n");
	ok("lnetctl ping --source 10.0.0.1@tcp 10.0.0.7@tcp");
	ok("lnetctl discover --force 10.0.1.7@tcp1");
	/* Successes come first, then failures; the exit status is that of the failure. */
	r = expect(255, "lnetctl ping 10.0.0.9@tcp 10.0.0.7@tcp");
	assert_string_equal(r->out,
			    "ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n"
			    "  peer_ni:\n  - nid: 10.0.0.7@tcp\n  - nid: 10.0.1.7@tcp1\n"
			    "manage:\n- ping:\n  errno: -5\n"
			    "  descr: ! 'failed to ping 10.0.0.9@tcp: Input/output error'\n");
	fails(234, "lnetctl ping nosuchhost.invalid@tcp", "manage:\n-     ping:\n      errno: -22");
	fails(234, "lnetctl ping", "errno: -22");
	fails(234, "lnetctl ping --timeout 0 10.0.0.7@tcp", "timeout 0");
	fails(1, "lnetx ping 10.0.0.9@tcp", "failed to ping 10.0.0.9@tcp: Connection timed out");
	prints("lnetx ping 10.0.0.7@tcp", "10.0.0.7@tcp: answered in ");
	prints("lnetx ping 10.0.0.7@tcp", "10.0.0.7@tcp  yes  10.0.1.7@tcp1\n");
	prints("lnetx -j discover 10.0.0.7@tcp force",
	       "{\"discover\":[{\"primary_nid\":\"10.0.0.7@tcp\",\"multi_rail\":true,"
	       "\"peer_ni\":[{\"nid\":\"10.0.0.7@tcp\"},{\"nid\":\"10.0.1.7@tcp1\"}],\"rtt_us\":");
}

/* ---- lnetx
 * --------------------------------------------------------------------------------------- */

static void test_lnetx_words(void **state)
{
	start(NULL);
	ok("lnetx net add net tcp if eth0 peer_credits 16 conns_per_peer 2");
	ok("lnetx ne a ne tcp1 if eth1");
	ok("lnetx route add net tcp2 via 10.0.0.9@tcp hop 1 priority 0");
	ok("lnetx route a net tcp3 via 10.0.0.[8-9]@tcp");
	prints("lnetx route show net tcp3",
	       "tcp3  10.0.0.8@tcp   -1         0  up     single-hop\n");
	prints_not("lnetx route show net tcp3", "tcp2");
	ok("lnetx route del net tcp3");
	prints_not("lnetx route", "tcp3");
	ok("lnetx peer add primary 1.1.1.1@tcp nid 1.1.1.[2-3]@tcp");
	prints("lnetx peer show nid 1.1.1.3@tcp", "1.1.1.1@tcp  yes  1.1.1.2@tcp  NA");
	ok("lnetx peer del primary 1.1.1.1@tcp");
	ok("lnetx routing on");
	ok("lnetx routing set large 40");
	prints("lnetx routing", "routing on\n");
	prints("lnetx routing", "large   npages 256  nbuffers 40  credits 40  mincredits 40\n");
	ok("lnetx tunable set tcp accept all");
	prints("lnetx tunable show tcp accept", "tcp     accept  all    secure   whom to accept\n");
	prints("lnetx -s tunable show tcp accept", "none secure all");
	ok("lnetx net set all tos 7");
	ok("lnetx net del net tcp1");
	prints("lnetx export", "net type: tcp\n");
	prints("lnetx daemon", "yes");
	ok("lnetx daemon down");
	prints("lnetx daemon", "no");
	fails(1, "lnetx net", "LNet is not configured");
	ok("lnetx daemon up");
	ok("lnetx net");
	fails(1, "lnetx daemon reload", "without a configuration file");
}

static void test_lnetx_refused(void **state)
{
	start(NULL);
	fails(2, "lnetx", "usage:");
	fails(2, "lnetx nosuch", "unknown object \"nosuch\"; one of: net route");
	fails(2, "lnetx net nosuch", "unknown verb \"nosuch\"; one of: show add del set");
	fails(2, "lnetx net add nett tcp", "unknown keyword \"nett\"");
	fails(2, "lnetx net add net", "\"net\" needs a value (NET)");
	fails(2, "lnetx d", "\"d\" is ambiguous: discover disconnect doctor daemon\n");
	fails(2, "lnetx net add p 5",
	      "\"p\" is ambiguous: peer_timeout peer_credits peer_buffer_credits\n");
	fails(2, "lnetx nte show", "did you mean \"net\"?");
	fails(2, "lnetx ping --timeout 5 10.0.0.1@tcp", "there is no option \"--timeout\"");
	fails(2, "lnetx net -n", "--instance needs a value");
	fails(2, "lnetx --what", "there is no option \"--what\"");
	fails(2, "lnetx net add net tcp", "an interface are needed");
	fails(2, "lnetx ping", "give one or more NIDs");
	fails(1, "lnetx route add net tcp5 via 10.0.0.1@tcp7", "add one first (lnetx net add)");
	fails(1, "lnetx tunable set tcp nosuch 1", "module tcp has no tunable nosuch");
	fails(1, "lnetx tunable set tcp accept_port 0", "out of range");
	fails(1, "lnetx -n nosuch net", "no lnetxd runs for instance nosuch");
	fails(2, "lnetx -n a/b net", "instance \"a/b\"");
	fails(2, "lnetx ro", "\"ro\" is ambiguous: route routing\n");
	prints("lnetx net help", "lnetx net add [net NET] [if IF[,IF]]");
	prints("lnetx --help", "objects:");
	prints("lnetx -V", "lnetx ");
}

static void test_lnetx_output(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	      "    interfaces: {0: eth0}\n    statistics: {send_count: 12, recv_count: 3, "
	      "drop_count: 1, "
	      "get_rtt_samples: 2, get_rtt_min_nsec: 5, get_rtt_max_nsec: 7, get_rtt_avg_nsec: 6}\n"
	      "conn:\n- {peer: 12345-10.0.0.2@tcp1, nid: 10.0.0.1@tcp1, type: control, "
	      "local: '10.0.0.1:1023', remote: '10.0.0.2:988', version: 3, tx_bytes: 70000}\n"
	      "statistics: {send_count: 12, msgs_max: 2}\n");
	assert_string_equal(expect(0, "lnetx net")->out,
			    "NET   NID            STATUS  INTERFACE  SENT  RECEIVED  DROPPED\n"
			    "tcp1  10.0.0.1@tcp1  up      eth0         12         3        1\n");
	prints("lnetx -j net",
	       "{\"net\":[{\"net_type\":\"tcp1\",\"local_ni\":[{\"nid\":"
	       "\"10.0.0.1@tcp1\",\"status\":\"up\",\"interfaces\":{\"0\":\"eth0\"}");
	prints("lnetx -j net", "\"get_rtt_samples\":2");
	prints("lnetx -y net", "net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n");
	prints("lnetx -jp net", "{\n  \"net\": [\n");
	prints_not("lnetctl net show -v 2", "get_rtt");
	prints("lnetctl net show -v 4", "get_rtt_max_nsec: 7\n");
	prints("lnetx conn", "12345-10.0.0.2@tcp1  10.0.0.1@tcp1  control  10.0.0.1:1023");
	assert_string_equal(expect(0, "lnetx stats")->out,
			    "msgs_max                                2\n"
			    "send_count                             12\n");
	prints("lnetx -s stats", "drop_length                             0\n");
	prints("lnetx -j stats", "{\"statistics\":{\"msgs_alloc\":0,\"msgs_max\":2,");
	prints("lnetx disconnect all", "1 connections closed\n");
	ok("lnetx stats reset");
	assert_string_equal(expect(0, "lnetx stats")->out, "");
	fails(2, "lnetx disconnect", "give a NID, or \"all\"");
}

/* Set health values and list recoveries, in both grammars. */
static void test_health(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	      "    interfaces: {0: eth0}\n  - nid: 10.0.0.2@tcp1\n    status: up\n"
	      "    interfaces: {0: eth1}\n    health stats: {health value: 1000}\n"
	      "peer:\n- primary nid: 10.0.0.3@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - nid: 10.0.0.3@tcp1\n    state: NA\n    health stats: {health value: 1000}\n");
	ok("lnetctl net set --all --health 1000");
	prints_in(0, "lnetctl debug recovery -l", "");
	prints_in(0, "lnetctl debug recovery --peer", "");
	ok("lnetctl net set --nid 10.0.0.2@tcp1 --health 500");
	assert_string_equal(expect(0, "lnetctl debug recovery --local")->out,
			    "Local NI recovery:\n      nid-0: 10.0.0.2@tcp1\n");
	prints("lnetctl net show -v 2 --net tcp1", "health value: 500\n");
	ok("lnetctl net set --all --health 0");
	prints("lnetctl debug recovery -l", "nid-1: 10.0.0.2@tcp1\n");
	prints("lnetctl net show --net tcp1", "status: down\n");
	ok("lnetctl peer set --nid 10.0.0.3@tcp1 --health 300");
	assert_string_equal(expect(0, "lnetctl debug recovery -p")->out,
			    "Peer NI recovery:\n      nid-0: 10.0.0.3@tcp1\n");
	prints("lnetx recovery", "NID            KIND   HEALTH  PINGS  NEXT IN S\n");
	prints("lnetx recovery show", "10.0.0.3@tcp1  peer      300      3          8\n");
	prints("lnetx -j recovery",
	       "{\"nid\":\"10.0.0.3@tcp1\",\"kind\":\"peer\",\"health_value\":300,"
	       "\"ping_count\":3,\"next_ping_s\":8}");
	ok("lnetctl peer set --all --health 1000");
	prints_in(0, "lnetctl debug recovery -p", "");
	ok("lnetx peer set nid 10.0.0.3@tcp1 state 273");
	prints("lnetctl peer show -v 3", "peer state: 273\n");
	ok("lnetx net set all health 1000");
	ok("lnetx peer set all health 7");
	prints("lnetctl peer show -v 2", "health value: 7\n");
	/* Nothing to do: succeeds, like the reference. */
	ok("lnetctl peer set");
	prints_in(0, "lnetctl debug peer --nid 10.0.0.3@tcp1", "");
	prints_in(0, "lnetctl debug peer --nid 10.9.9.9@tcp1", "");
	fails(234, "lnetctl debug peer", "debug:\n    - peer:\n          errno: -22");
	fails(234, "lnetctl debug peer --nid bogus", "bogus\\\" is not a NID of a peer");
	fails(234, "lnetctl debug peer --nid 0@lo", "errno: -22");
	fails(234, "lnetctl debug recovery", "give --local or --peer");
	fails(234, "lnetctl peer set --nid bogus --health 1", "net:\n    - set:\n          errno: -22");
	fails(234, "lnetctl peer set --nid 10.0.0.3@tcp1", "give either a health");
	fails(234, "lnetctl peer set --nid 10.9.9.9@tcp1 --state 1", "no peer has NID 10.9.9.9@tcp1");
	fails(234, "lnetctl peer set --all --state 1", "give either a health");
	fails(234, "lnetctl peer set --nid 10.0.0.3@tcp1 --state x", "a number is expected");
	fails(2, "lnetx peer set all health 1001", "health 1001 is not in 0..1000");
	fails(2, "lnetx peer set health 5", "give a NID of a peer");
	fails(2, "lnetx net set nid 10.0.0.1@tcp1 health -1", "health -1 is not in 0..1000");
}

/* One column for each class of failures that has a count. */
static void test_failure_columns(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	      "    interfaces: {0: eth0}\n    health stats: {no route: 0, timeouts: 12}\n"
	      "peer:\n- primary nid: 10.0.0.3@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - nid: 10.0.0.3@tcp1\n    state: up\n    health stats: {dropped: 4, error: 5}\n");
	prints("lnetx -s net", "LOCAL TIMEOUT");
	prints_not("lnetx -s net", "NO ROUTE");
	prints_not("lnetx net", "LOCAL");
	prints("lnetx -s peer", "REMOTE DROP  REMOTE ERROR");
	prints_not("lnetx -s peer", "NET TIMEOUT");
}

/* Down NIs and routes show a reason and a time after the reference's keys; others do not. */
static void test_down(void **state)
{
	static const char down[] =
		"net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: down\n"
		"    interfaces: {0: eth0}\n    down_since: 2026-08-05T14:03:07+0200\n"
		"    down_reason: its interface has no carrier\n"
		"  - nid: 10.0.0.2@tcp1\n    status: up\n    interfaces: {0: eth1}\n"
		"route:\n- {net: tcp2, gateway: 10.0.0.3@tcp1, hop: -1, priority: 0, state: down, "
		"type: single-hop, down_since: 2026-08-05T14:03:08+0200, "
		"down_reason: 'its gateway does not answer pings: Connection timed out'}\n"
		"peer:\n- primary nid: 10.0.0.3@tcp1\n  Multi-Rail: true\n  peer ni:\n"
		"  - nid: 10.0.0.3@tcp1\n    state: down\n    down_since: 2026-08-05T14:03:09+0200\n"
		"    down_reason: 'no connection to it: Connection refused'\n"
		"  - nid: 10.9.0.3@tcp2\n    state: up\n";

	setenv("TZ", "UTC", 1);
	start(down);
	unsetenv("TZ");
	assert_string_equal(expect(0, "lnetctl net show")->out,
			    "net:\n-     net type: tcp1\n      local NI(s):\n"
			    "      -     nid: 10.0.0.1@tcp1\n            status: down\n"
			    "            interfaces:\n                  0: eth0\n"
			    "            down_since: 2026-08-05T12:03:07+0000\n"
			    "            down_reason: its interface has no carrier\n"
			    "      -     nid: 10.0.0.2@tcp1\n            status: up\n"
			    "            interfaces:\n                  0: eth1\n");
	prints("lnetctl route show -v", "      state: down\n      type: single-hop\n"
	       "      down_since: 2026-08-05T12:03:08+0000\n      down_reason: \"its gateway");
	prints_not("lnetctl route show", "down");
	prints("lnetctl peer show", "            state: down\n"
	       "            down_since: 2026-08-05T12:03:09+0000\n            down_reason: \"no conn");
	assert_string_equal(expect(0, "lnetx route")->out,
			    "NET   GATEWAY        HOP  PRIORITY  STATE  TYPE        DOWN SINCE               "
			    " REASON\n"
			    "tcp2  10.0.0.3@tcp1   -1         0  down   single-hop  2026-08-05T12:03:08+0000 "
			    " its gateway does not answer pings: Connection timed out\n");
	prints("lnetx -j net", "\"down_since\":\"2026-08-05T12:03:07+0000\"");
	prints("lnetx -y peer", "down_reason: \"no connection to it: Connection refused\"");
	prints("lnetx peer", "no connection to it: Connection refused\n");
	prints_not("lnetctl export --backup", "down_");
	prints("lnetctl export", "down_reason");
}

/* Starting and stopping routing report how long it takes; routing show says what it waits for. */
static void test_routing_left(void **state)
{
	char line[300];

	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	      "routing:\n- cpt[0]:\n    tiny: {npages: 0, nbuffers: 1, credits: 1, mincredits: 1}\n"
	      "- enable: 2\n  seconds_left: 57\n");
	prints("lnetx routing", "routing stopping, 57 s left\ntiny ");
	prints("lnetx -j routing", "\"seconds_left\":57");
	prints("lnetctl routing show", "    - enable: 2\n      seconds_left: 57\n");
	prints_not("lnetctl export --backup", "seconds_left");
	fails(240, "lnetctl set routing 1", "for at most 57 s more; wait until");
	snprintf(line, sizeof(line), "lnetxd -t -c %s",
		 proc_file("starts.yaml", "routing:\n    - enable: 3\n      seconds_left: 57\n"));
	ok(line);
}

/* ---- others
 * ------------------------------------------------------------------------------------------ */

static void test_monitor(void **state)
{
	char path[200], *text = NULL;
	pid_t pid;

	start(NULL);
	snprintf(path, sizeof(path), "%s/events", proc_dir());
	pid = fork();
	if (!pid) {
		assert_non_null(freopen(path, "w", stdout));
		execl(proc_path("lnetx"), "lnetx", "-j", "monitor", NULL);
		_exit(127);
	}
	for (int i = 0; i < 500; i++) {
		/* The monitor may not be listening yet, so cause several changes. */
		proc_run("lnetx net add net tcp if eth0");
		proc_run("lnetx route add net tcp9 via 10.0.0.9@tcp");
		proc_run("lnetx net del net tcp");
		proc_run("lnetx route del net tcp9");
		free(text);
		text = proc_read(path);
		if (strstr(text, "\"change\":\"route add\"") &&
		    strstr(text, "\"change\":\"ni add\""))
			break;
	}
	assert_non_null(strstr(text, "{\"time_us\":"));
	assert_non_null(strstr(text, "\"change\":\"ni add\",\"nid\":\"10.0.0."));
	assert_non_null(strstr(text, "\"nid\":\"10.0.0.9@tcp\",\"net\":\"tcp9\"}\n"));
	free(text);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
}

static void as_user(int status, gid_t group, const char *line, const char *text)
{
	const struct proc_result *r = proc_run_as(65534, group, line, NULL);

	if (r->status != status || !strstr(status ? r->err : r->out, text))
		fail_msg("as user: $ %s\n%s%sstatus %d", line, r->out, r->err, r->status);
}

/* Members of the group may show; only root may change. */
static void test_permissions(void **state)
{
	if (geteuid())
		skip();
	start(NULL);
	as_user(1, 0, "lnetx net", "user 65534 may not read the state");
	as_user(0, 100, "lnetx net", "0@lo"); /* group: users */
	as_user(0, 100, "lnetctl stats show", "send_count");
	as_user(1, 100, "lnetx net add net tcp if eth0", "user 65534 may not do this");
	as_user(1, 100, "lnetx ping 10.0.0.1@tcp", "for root");
	as_user(234, 100, "lnetctl lnet unconfigure", "errno: -1");
	as_user(1, 0, "lnetx daemon", "members of group \"users\"");
	prints("lnetx daemon", "yes");
}

/* These daemons run without BPF: commands are parsed, then refused with the reason. */
static void test_guard(void **state)
{
	start(NULL);
	prints("lnetx bpf status", "off: lnetxd runs with --no-bpf");
	prints("lnetx -s bpf", "bpf_loop()");
	prints("lnetx -j bpf", "\"enabled\":false");
	prints_not("lnetx bpf status", "fast path off");
	ok("lnetx bpf off");
	prints("lnetx bpf status", "fast path off: \"lnetx bpf on\"");
	prints("lnetx -j bpf", "\"fastpath\":false");
	prints("lnetx tunable show tcp fastpath", "off");
	expect(0, "lnetx bpf on");
	prints("lnetx -j bpf", "\"fastpath\":true");
	prints("lnetx -j stream", "{\"stream\":[]}");
	prints("lnetx -j lane show", "{\"lane\":[]}");
	fails(1, "lnetx trace", "the fast path is not loaded");
	fails(2, "lnetx trace type foo", "put, get, ack or reply");
	fails(2, "lnetx trace nid foo", "foo");
	prints("lnetx guard", "off: switched off: lnetxd runs with --no-bpf");
	prints("lnetx -j guard show", "\"bans\":[]");
	fails(1, "lnetx guard ban 10.0.0.2@tcp", "no NI on net tcp");
	fails(1, "lnetx guard deny 10.0.0.0/8", "guard is not loaded: switched off");
	fails(1, "lnetx guard forget 10.0.0.0/8", "guard is not loaded");
	fails(1, "lnetx guard deny 10.0.0.1/8", "without host bits");
	fails(1, "lnetx guard set rate 5", "guard is not loaded");
	fails(1, "lnetx guard set rate 2000000", "not in 0..1000000");
	fails(1, "lnetx guard set burst 5", "needs a rate");
	fails(1, "lnetx guard unban 10.0.0.2@tcp", "guard is not loaded");
	fails(2, "lnetx guard ban", "give one or more NIDs");
	fails(2, "lnetx guard allow", "give one or more prefixes");
	fails(2, "lnetx guard set", "nothing to set");
	fails(2, "lnetx guard set mode fast", "auto, native, generic or tc");
}

/* Off until consoles are named; settings stay when it is turned off. */
static void test_selftest(void **state)
{
	char line[300];

	start(NULL);
	ok("lnetctl lnet configure");
	prints("lnetx -j selftest", "\"enable\":0");
	prints("lnetx -j selftest", "\"session_timeout\":100");
	fails(1, "lnetx selftest on", "which nodes may be consoles?");
	fails(1, "lnetx selftest on consoles 10.0.0.300@tcp", "ranges of NIDs are expected");
	fails(2, "lnetx selftest on consoles any rpc_timeout 0", "not in 1..3600");
	prints("lnetx -j selftest show", "\"enable\":0");
	ok("lnetx selftest on consoles 10.0.0.*@tcp,10.1.0.[1,3]@tcp1 bulk_mib 32");
	prints("lnetx -j selftest", "\"enable\":1");
	prints("lnetx -j selftest", "\"consoles\":\"10.0.0.*@tcp,10.1.0.[1,3]@tcp1\"");
	prints("lnetx -j selftest", "\"bulk_mib\":32");
	prints("lnetx selftest", "10.0.0.*@tcp,10.1.0.[1,3]@tcp1");
	ok("lnetx selftest on session_timeout 20");
	prints("lnetx -j selftest", "\"session_timeout\":20");
	prints("lnetx -j selftest", "\"bulk_mib\":32");
	/* An export contains it. */
	prints("lnetctl export --backup", "selftest:");
	snprintf(line, sizeof(line), "lnetctl export --backup %s/selftest", proc_dir());
	ok(line);
	ok("lnetx selftest off");
	prints("lnetx -j selftest", "\"enable\":0");
	prints("lnetx -j selftest", "\"bulk_mib\":32");
	prints_not("lnetctl export --backup", "selftest:");
	snprintf(line, sizeof(line), "lnetctl import %s/selftest", proc_dir());
	ok(line);
	prints("lnetx -j selftest", "\"enable\":1");
	/* Without a node it waits for one. */
	ok("lnetctl lnet unconfigure");
	prints("lnetx -j selftest", "\"enable\":1");
	ok("lnetctl lnet configure");
	ok("lnetx selftest off");
}

static void test_no_daemon(void **state)
{
	fails(1, "lnetx net", "no lnetxd runs for instance test");
	fails(234, "lnetctl net show", "no lnetxd runs");
	fails(234, "lnetctl ping 10.0.0.1@tcp", "no lnetxd runs");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_net_options),
		TEST(test_net_refused),
		TEST(test_routes),
		TEST(test_peers),
		TEST(test_gateway_peers),
		TEST(test_set),
		TEST(test_udsp),
		TEST(test_debug_nidlist),
		TEST(test_setup),
		TEST(test_commands),
		TEST(test_service_id),
		TEST(test_help),
		TEST(test_options_anywhere),
		TEST(test_interactive),
		TEST(test_round_trip),
		TEST(test_full_export_is_importable),
		TEST(test_import_peers),
		TEST(test_import_refused),
		TEST(test_import_show_exec),
		TEST(test_probes),
		TEST(test_lnetx_words),
		TEST(test_lnetx_refused),
		TEST(test_lnetx_output),
		TEST(test_health),
		TEST(test_failure_columns),
		TEST(test_down),
		TEST(test_routing_left),
		TEST(test_monitor),
		TEST(test_permissions),
		TEST(test_guard),
		TEST(test_selftest),
		TEST(test_no_daemon),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
