/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetx fabric check on the fake node: its words, output and exit status. The fake node does not
 * complete requests to test nodes, so bandwidths are off.
 */
#include "cliworld.h"

static const char world[] =
	"net:\n- net type: tcp1\n  local NI(s):\n"
	"  - {nid: 10.0.0.1@tcp1, status: up}\n"
	"  - {nid: 10.0.0.11@tcp1, status: down, down_since: '2026-01-02T03:04:05+0000', "
	"down_reason: interface=eth1}\n"
	"- net type: tcp5\n  local NI(s):\n  - {nid: 10.5.0.1@tcp5, status: up}\n"
	"route:\n- {net: tcp7, gateway: 10.0.0.3@tcp1, hop: -1, priority: 0, state: up}\n"
	"- {net: tcp8, gateway: 10.0.0.4@tcp1, hop: -1, priority: 0, state: down}\n"
	"peer:\n- primary nid: 10.0.0.7@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	"  - {nid: 10.0.0.7@tcp1, state: NA}\n"
	"ping:\n- primary nid: 10.0.0.7@tcp1\n  Multi-Rail: true\n  peer_ni:\n"
	"  - nid: 10.0.0.7@tcp1\n  - nid: 10.5.0.7@tcp5\n  - nid: 10.6.0.7@tcp6\n"
	"- primary nid: 10.7.0.9@tcp7\n  Multi-Rail: true\n  peer_ni:\n  - nid: 10.7.0.9@tcp7\n"
	"- primary nid: 10.0.0.3@tcp1\n  Multi-Rail: true\n  peer_ni:\n"
	"  - nid: 10.0.0.3@tcp1\n  - nid: 10.7.0.3@tcp7\n"
	"- primary nid: 10.6.0.8@tcp6\n  Multi-Rail: true\n  peer_ni:\n  - nid: 10.6.0.8@tcp6\n"
	"manage:\n- ping:\n  errno: -113\n  descr: '10.0.0.9@tcp1'\n";

/* Each NI that is up to each NI on its net, or behind a gateway on it; gateways are nodes. */
static void test_rails(void **state)
{
	start(world);
	prints_in(3, "lnetx -j fabric check count 2 slow 1000000 bandwidth off",
		  "{\"peer\":\"10.5.0.7@tcp5\",\"primary_nid\":\"10.0.0.7@tcp1\",\"gateways\":[],"
		  "\"sent\":2,\"answered\":2,\"state\":\"well\",\"source\":\"10.5.0.1@tcp5\"");
	prints_in(3, "lnetx -j fabric check 10.7.0.9@tcp7 slow 1000000 bandwidth off",
		  "\"gateways\":[\"10.0.0.3@tcp1\"]");
	prints_in(3, "lnetx fabric check 10.7.0.9@tcp7 slow 1000000 bandwidth off",
		  "2 rails of 2 nodes");
	prints_in(3, "lnetx fabric check slow 1000000 bandwidth off", "2 rails of 1 nodes");
	prints_in(3, "lnetx fabric check 10.0.0.7@tcp1 10.5.0.7@tcp5 slow 1000000 bandwidth off",
		  "2 rails of 2 nodes");
}

static void test_faults(void **state)
{
	start(world);
	prints_in(3, "lnetx fabric check slow 1000000 bandwidth off",
		  "fault: 10.0.0.11@tcp1: this node's own NI is down since ");
	prints_in(3, "lnetx fabric check slow 1000000 bandwidth off",
		  "fault: 10.0.0.4@tcp1: its route to tcp8 is down");
	prints_in(3, "lnetx fabric check 10.0.0.9@tcp1 bandwidth off",
		  "fault: 10.0.0.9@tcp1: No route to host: it is in another world; next: lnetx "
		  "ping 10.0.0.9@tcp1 timeout 10\n");
	prints_in(3, "lnetx fabric check 10.6.0.8@tcp6 bandwidth off",
		  "fault: 10.6.0.8@tcp6: no NI of ours that is up, and no route that is up, leads "
		  "to its nets");
	prints_in(3, "lnetx fabric check 10.0.0.9@tcp1 bandwidth off",
		  "not healthy: 3 faults on 1 rails");
}

/*
 * Peers that lnetxd knows, but has never heard of, are listed apart: they are not there yet, or are
 * remembered. One that has sent something is at fault, and so is one that the user names.
 */
static void test_silent(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 10.0.0.1@tcp1, status: up}\n"
	      "peer:\n- primary nid: 10.0.0.9@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - {nid: 10.0.0.9@tcp1, state: NA}\n"
	      "manage:\n- ping:\n  errno: -113\n  descr: '10.0.0.9@tcp1'\n");
	prints("lnetx fabric check bandwidth off",
	       "silent: 10.0.0.9@tcp1: nothing has come from it since lnetxd started: No route");
	prints("lnetx fabric check bandwidth off", "healthy: 0 rails of 1 nodes");
	prints("lnetx -j fabric check bandwidth off", "\"silent\":[{\"nid\":\"10.0.0.9@tcp1\",");
	prints_in(3, "lnetx fabric check 10.0.0.9@tcp1 bandwidth off",
		  "fault: 10.0.0.9@tcp1: No route");
	stop(NULL);
	start("net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 10.0.0.1@tcp1, status: up}\n"
	      "peer:\n- primary nid: 10.0.0.9@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - {nid: 10.0.0.9@tcp1, state: NA, statistics: {recv_count: 7}}\n"
	      "manage:\n- ping:\n  errno: -113\n  descr: '10.0.0.9@tcp1'\n");
	prints_in(3, "lnetx fabric check bandwidth off", "fault: 10.0.0.9@tcp1: No route");
}

/* A user who may read the state, but not ping, is told so; no node is at fault. */
static void test_permission(void **state)
{
	const struct proc_result *r;

	if (geteuid())
		skip();
	start(world);
	r = proc_run_as(65534, 100, "lnetx fabric check 10.0.0.7@tcp1 bandwidth off", NULL);
	if (r->status != 1 || *r->out || !strstr(r->err, "for root"))
		fail_msg("status %d, not 1: %s%s", r->status, r->out, r->err);
}

static void test_words(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - {nid: 10.0.0.1@tcp1, status: up}\n"
	      "ping:\n- primary nid: 10.0.0.7@tcp1\n  Multi-Rail: true\n  peer_ni:\n"
	      "  - nid: 10.0.0.7@tcp1\n");
	prints("lnetx fabric check bandwidth off", "nothing to check: this node knows no peers");
	prints("lnetx fabric check 10.0.0.7@tcp1 bandwidth off", "healthy: 1 rails of 1 nodes");
	prints("lnetx -j fabric check 10.0.0.7@tcp1 bandwidth off",
	       "\"healthy\":true,\"complete\":true");
	fails(2, "lnetx fabric check count 0", "count 0 is not in 1..100");
	fails(2, "lnetx fabric check slow 1", "slow 1 is not in");
	fails(2, "lnetx fabric check bandwidth maybe", "on or off is expected");
	fails(2, "lnetx fabric check time 11s", "1s to 10s");
	fails(2, "lnetx fabric check size 2m", "up to 1m are expected");
	fails(2, "lnetx fabric check low 100", "low 100 is not in 1..99");
	fails(2, "lnetx fabric check pairs 0", "pairs 0 is not in");
	fails(2, "lnetx fabric check 1@nosuch", "not a NID");
	fails(2, "lnetx fabric check --count 3", "there is no option");
	fails(1, "lnetx fabric check 10.0.0.7@tcp1 bandwidth off --svg /nonexistent/x.svg",
	      "No such file");
	fails(1, "lnetx -n nosuch fabric check", "no lnetxd runs");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rails),
		TEST(test_faults),
		TEST(test_silent),
		TEST(test_permission),
		TEST(test_words),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
