/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetx as users and scripts run it, on the fake node: words, refusals, tables, changes as they
 * happen, permissions.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cliworld.h"

/* ---- words, tables ------------------------------------------------------------------- */

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
	/* The acceptor follows it, with a guard and without. */
	prints("lnetx guard show", "accept    any source port\n");
	ok("lnetx tunable set tcp accept none");
	prints("lnetx guard show", "accept    none: no connections\n");
	ok("lnetx tunable set tcp accept secure");
	prints("lnetx guard show", "accept    secure: only privileged source ports\n");
	prints("lnetx -j guard show", "\"accept\":\"secure\",\"secure\":true");
	ok("lnetx net set all tos 7");
	ok("lnetx net del net tcp1");
	prints("lnetx export", "net type: tcp\n");
	prints("lnetx daemon", "yes");
	ok("lnetx daemon down");
	prints("lnetx daemon", "no");
	prints("lnetx guard show", "accept    nobody: LNet is not configured\n");
	fails(1, "lnetx net", "LNet is not configured");
	fails(234, "lnetctl net show", "errno: -100\n      descr: ! \"LNet stack down");
	fails(234, "lnetctl net add --net tcp --if eth0", "LNet stack down");
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
	fails(2, "lnetx -w 0.1 net", "--wait needs whole seconds");
	fails(2, "lnetx monitor route", "unknown keyword \"route\"; none is expected");
	fails(2, "lnetx --what", "there is no option \"--what\"");
	fails(2, "lnetx net add net tcp", "an interface are needed");
	fails(2, "lnetx net add net tcp if ''", "interfaces \"\": names separated by commas");
	fails(2, "lnetx ping", "give one or more NIDs");
	fails(1, "lnetx route add net tcp5 via 10.0.0.1@tcp7", "add one first (lnetx net add)");
	fails(1, "lnetx tunable set tcp nosuch 1", "module tcp has no tunable nosuch");
	fails(1, "lnetx tunable set tcp accept_port 0", "out of range");
	fails(1, "lnetx -n nosuch net", "no lnetxd runs as instance nosuch");
	fails(2, "lnetx -n a/b net", "instance \"a/b\"");
	fails(2, "lnetx ro", "\"ro\" is ambiguous: route routing\n");
	/* What a word looks like. */
	fails(2, "lnetx route add tcp9 via 10.0.0.1@tcp", "did you mean \"net tcp9\"?");
	fails(2, "lnetx route add net tcp9 10.0.0.1@tcp", "did you mean \"via 10.0.0.1@tcp\"?");
	fails(2, "lnetx peer add 10.0.0.1@tcp", "did you mean \"primary 10.0.0.1@tcp\"?");
	fails(2, "lnetx route add net tcp9 gatway 10.0.0.1@tcp", "did you mean \"gateway\"?");
	fails(1, "lnetx route add net tcp9 gateway 10.0.0.1@tcp7", "add one first (lnetx net add)");
	fails(1, "lnetx peer show 10.0.0.7@tcp", "10.0.0.7@tcp: No such file or directory");
	prints("lnetx -j net show tcp", "{\"net\":[]}");
	prints("lnetx tunable show name accept_port", "accept_port");
	prints_not("lnetx tunable show name accept_port", "sock_timeout");
	assert_int_equal(proc_run("lnetx bpf show")->status, proc_run("lnetx bpf status")->status);
	/* No more words than there is use for. */
	fails(2, "lnetx tunable set tcp accept all now", "unknown keyword \"now\"");
	fails(2, "lnetx tunable show tcp accept now", "unknown keyword \"now\"");
	fails(2, "lnetx conn del 10.0.0.1@tcp 10.0.0.2@tcp", "unknown keyword \"10.0.0.2@tcp\"");
	fails(2, "lnetx import a b", "unknown keyword \"b\"");
	fails(2, "lnetx export a b", "unknown keyword \"b\"");
	prints("lnetx net help", "lnetx net add [net NET] [if IF[,IF]]");
	/* Words that must be there are not in brackets. */
	prints("lnetx help route add", "lnetx route add net NET via NIDS [hop N] [priority N]");
	prints("lnetx help route del", "lnetx route del net NET [via NIDS]");
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
	      "- enable: 0\n  phase: stopping\n  seconds_left: 57\n");
	prints("lnetx routing", "routing stopping, 57 s left\ntiny ");
	prints("lnetx -j routing", "{\"routing\":{\"enable\":0,\"phase\":\"stopping\",");
	prints("lnetx -j routing", "\"seconds_left\":57");
	prints("lnetctl routing show",
	       "    - enable: 0\n      phase: stopping\n      seconds_left: 57\n");
	prints("lnetctl export", "      phase: stopping\n");
	prints("lnetctl export --backup", "routing:\n    enable: 0\n");
	prints_not("lnetctl export --backup", "phase");
	prints_not("lnetctl export --backup", "seconds_left");
	ok("lnetctl set routing 1");
	prints("lnetctl routing show", "    - enable: 1\n");
	snprintf(line, sizeof(line), "lnetxd -t -c %s",
		 proc_file("starts.yaml", "routing:\n    - enable: 1\n      phase: starting\n"
					   "      seconds_left: 57\n"));
	ok(line);
}

/* ---- others -------------------------------------------------------------------------- */

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
	as_user(1, 0, "lnetx net", "Operation not permitted: user 65534 may not read the state");
	as_user(234, 0, "lnetctl net show", "Operation not permitted");
	as_user(0, 100, "lnetx net", "0@lo"); /* group: users */
	as_user(0, 100, "lnetctl stats show", "send_count");
	as_user(1, 100, "lnetx net add net tcp if eth0",
		"Operation not permitted: user 65534 may not do this");
	as_user(1, 100, "lnetx ping 10.0.0.1@tcp", "for root");
	as_user(234, 100, "lnetctl lnet unconfigure", "errno: -1");
	as_user(1, 0, "lnetx daemon", "members of group \"users\"");
	assert_non_null(strstr(proc_run_as(65534, 0, "lnetx metrics", NULL)->out, "lnetx_up 0\n"));
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
	fails(2, "lnetx trace type foo", "ack, put, get, reply or hello");
	fails(2, "lnetx trace nid foo", "foo");
	prints("lnetx guard", "off: switched off: lnetxd runs with --no-bpf");
	prints("lnetx -j guard show", "\"bans\":[]");
	fails(1, "lnetx guard ban 10.0.0.2@tcp", "no NI on net tcp");
	fails(1, "lnetx guard deny 10.0.0.0/8", "guard is not loaded: switched off");
	fails(1, "lnetx guard forget 10.0.0.0/8", "guard is not loaded");
	fails(2, "lnetx guard deny 10.0.0.1/8", "without host bits");
	/* All words are checked before the first one is sent. */
	fails(2, "lnetx guard allow 10.2.0.0/16 bogus", "\"bogus\": an address or a prefix");
	fails(2, "lnetx guard ban 10.0.0.2@tcp bogus", "nid \"bogus\"");
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
	fails(1, "lnetx net", "no lnetxd runs as instance test");
	fails(234, "lnetctl net show", "no lnetxd runs");
	fails(234, "lnetctl ping 10.0.0.1@tcp", "no lnetxd runs");
}

/* As on a full disk. */
static void test_output_lost(void **state)
{
#define WHY ": cannot write the output: No space left on device\n"
	start(NULL);
	fails(1, "lnetx net show >/dev/full", "lnetx" WHY);
	fails(1, "lnetx -j net show >/dev/full", "lnetx" WHY);
	fails(1, "lnetx metrics >/dev/full", "lnetx" WHY);
	fails(1, "lnetx export >/dev/full", "lnetx" WHY);
	fails(1, "lnetx help >/dev/full", "lnetx" WHY);
	fails(2, "lnetx -j nosuch >/dev/full", "lnetx" WHY);
	fails(255, "lnetctl net show >/dev/full", "lnetctl" WHY);
	fails(255, "lnetctl export >/dev/full", "lnetctl" WHY);
	/* Line by line, so nothing is left to be written at the end. */
	fails(255, "lst help >/dev/full", "lst" WHY);
	ok("lnetctl export >/dev/null");
#undef WHY
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
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
		TEST(test_output_lost),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
