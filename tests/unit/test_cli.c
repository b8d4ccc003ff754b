/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetctl as users and scripts run it, on the fake node: spellings, refusals, exit statuses,
 * tables.
 */
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
	fails(234, "lnetctl net add --net tcp1 --if eth1 --cpt x", "cpt");
	fails(234, "lnetctl net add --net tcp1 --if ,", "interfaces");
	fails(234, "lnetctl net add --net tcp1 --if ''", "interfaces \\\"\\\": names");
	fails(234, "lnetctl net del --net tcp --if ''", "interfaces \\\"\\\": names");
	/* None is added, or deleted, of a list with a mistake. */
	fails(234, "lnetctl net add --net tcp1 --if eth1,,eth2", "errno: -22");
	fails(234, "lnetctl net del --net tcp --if eth0,eth1[0", "errno: -22");
	fails(234, "lnetctl net add --net tcp1 --if eth1,eth2,eth1", "eth1 is there twice");
	fails(234, "lnetctl net add --net tcp1 --if eth1[0],eth1[1]", "eth1 is there twice");
	fails(234, "lnetctl net del --net tcp --if eth0,eth0", "eth0 is there twice");
	prints("lnetctl net show", "net type: tcp\n");
	fails(234, "lnetctl net add --net tcp1 --nid 10.0.0.1@tcp1", "not both");
	fails(234, "lnetctl net add --net kfi --if eth1", "no transport");
	fails(234, "lnetctl net add --what x", "unrecognized option '--what'");
	fails(234, "lnetctl net add --net", "requires an argument");
	fails(234, "lnetctl net show --net tcp9", "errno: -2");
	fails(234, "lnetctl net set --all --health 1001", "net:\n    - set:\n          errno: -22");
	fails(234, "lnetctl net set --all --health -1", "not in 0..1000");
	fails(234, "lnetctl net set --conns-per-peer 3", "errno: -22");
	fails(234, "lnetctl net set --all --state 1", "unrecognized option '--state'");
	fails(234, "lnetctl net set --all --conns-per-peer 128", "not in -1..127");
	/* Of several settings, none is set if one is wrong; the type of the net is known. */
	fails(2, "lnetx net set net tcp timeout 20 tos 300", "tos 300 is not in -1..255");
	fails(234, "lnetctl net set --all --health 500 --conns-per-peer 128", "not in -1..127");
	fails(2, "lnetx net set net tcp health 500 timeout 86401",
	      "timeout 86401 is not in -1..86400");
#ifdef LX_O2IB
	fails(1, "lnetx net set nid 10.0.0.1@o2ib timeout 20 fastpath 0", "no setting fastpath");
#endif
	prints("lnetctl net show -v 2 --net tcp", "health value: 1000\n");
	prints_not("lnetctl net show -v --net tcp", " timeout: 20\n");
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
	fails(234, "lnetctl route add --net tcp7 --gateway 10.0.0.9@tcp --hop -2", "not in 1..255");
	/* As tools call it that have no hop and no priority to set. */
	ok("lnetctl route add --net tcp7 --gateway 10.0.0.9@tcp --hop -1 --priority -1");
	prints("lnetctl route show --net tcp7 --hop -1 --priority -1 -v 2",
	       "hop: -1\n      priority: 0\n");
	fails(234, "lnetctl route del --net tcp5", "--gateway");
	ok("lnetctl route del --net tcp5 --gateway 10.0.0.[2-4/2]@tcp");
	prints_not("lnetctl route show", "tcp5");
}

/* Words that the reference takes, without effect there or here, are named and ignored. */
static void test_ignored(void **state)
{
	char *stats;

	start(NULL);
	warns("lnetctl net add --net tcp --if eth0 \xe2\x80\x93peer-credits 8 --credits 300",
	      "\"\xe2\x80\x93peer-credits\" is not expected here: ignored; its first character "
	      "only looks like \"-\"\nlnetctl: \"8\" is not expected here: ignored\n");
	prints("lnetctl net show -v", "peer_credits: 8\n                  peer_buffer_credits: 0\n"
				      "                  credits: 300\n");
	warns("lnetctl net show now", "\"now\" is not expected here: ignored\n");
	warns("lnetctl set retry_count 1 2", "\"2\" is not expected");
	prints("lnetctl global show", "retry_count: 1\n");
	/* Shows that have no options in the reference. */
	stats = output_of("lnetctl stats show");
	assert_true(*stats);
	assert_string_equal(expect(0, "lnetctl stats show -v 3")->out, stats);
	assert_string_equal(warns("lnetctl stats show -x --nosuch=1 3", "\"-x\" is not expected "
				  "here: ignored\nlnetctl: \"--nosuch=1\" is not expected"), stats);
	free(stats);
	ok("lnetctl stats show --verbose");
	ok("lnetctl routing show -v 2");
	ok("lnetctl udsp show -v");
	ok("lnetctl fault drop show -v 1");
	ok("lnetctl peer list -v");
	ok("lnetctl route show --verbose 2");
	fails(234, "lnetctl net show --nosuch", "unrecognized option '--nosuch'");
}

/* Underscores are hyphens, and the other way round. */
static void test_option_names(void **state)
{
	start(NULL);
	ok("lnetctl net add --net tcp --if eth0 --peer_timeout 100 --peer_credits=16 "
	   "--peer_buffer_cr 4 --conns_per_peer 3 --cpt 0 --skip_mr_route_setup");
	prints("lnetctl net show -v", "peer_timeout: 100\n                  peer_credits: 16\n"
				      "                  peer_buffer_credits: 4\n");
	ok("lnetctl peer add --prim-nid 10.0.0.7@tcp --non-mr");
	prints("lnetctl peer show", "10.0.0.7@tcp\n      Multi-Rail: false\n");
	fails(234, "lnetctl net add --net tcp1 --if eth1 --peer_what 1", "'--peer_what'");
	/* Only names are changed, not values. */
	fails(234, "lnetctl net del --net=conns-per_peer", "conns-per_peer");
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
	ok("lnetctl set tiny_buffers -1");
	prints("lnetctl routing show", "tiny: 1024\n");
	ok("lnetctl set tiny_buffers 0");
	prints("lnetctl routing show", "tiny: 512\n");
	fails(234, "lnetctl set tiny_buffers -2", "add:\n    - buf:\n          errno: -22");
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
	/* As in a file. */
	fails(195, "lnetctl set discovery 2", "discovery 2 is not in 0..1");
	fails(195, "lnetctl set discovery 7", "add:\n    - discovery:\n          errno: -61\n");
	fails(195, "lnetctl set discovery -1", "discovery -1 is not in 0..1");
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
	warns("lnetctl setup-sysctl --dry-run eth0", "\"eth0\" is not expected here: ignored");
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
	warns("lnetctl peer l x", "\"x\" is not expected");
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
	warns("lnetctl service-id extra", "not expected");
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_net_options),
		TEST(test_net_refused),
		TEST(test_routes),
		TEST(test_ignored),
		TEST(test_option_names),
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
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
