/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Commands that public programs and scripts run, and what they look for in the answer. A new caller is a
 * line in a table; it says who calls, so that one can look up what it does with the answer.
 */
#include <fcntl.h>
#include <regex.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cliworld.h"

struct call {
	const char *who;
	const char *line;
	int status;
	const char *says; /* extended regular expression for a line of either stream; NULL: silent */
};

/* A node as most of them meet it: two NIs, routes up and down, a peer with a connection, counters. */
static const char node[] =
	"net:\n"
	"- net type: lo\n"
	"  local NI(s):\n"
	"  - nid: 0@lo\n"
	"    status: up\n"
	"- net type: tcp\n"
	"  local NI(s):\n"
	"  - nid: 10.0.0.1@tcp\n"
	"    status: up\n"
	"    tunables: { peer_timeout: 180, peer_credits: 8, peer_buffer_credits: 0, credits: 256 }\n"
	"    tx_credits: 255\n"
	"    tx_credits_min: 250\n"
	"    tx_credits_max: 256\n"
	"    alive_s: -1\n"
	"    refs: 3\n"
	"    interfaces:\n"
	"      0: eth0\n"
	"- net type: tcp1\n"
	"  local NI(s):\n"
	"  - nid: 10.1.0.1@tcp1\n"
	"    status: up\n"
	"    interfaces:\n"
	"      0: eth1\n"
	"peer:\n"
	"- primary nid: 10.0.0.2@tcp\n"
	"  Multi-Rail: true\n"
	"  peer ni:\n"
	"  - nid: 10.0.0.2@tcp\n"
	"    state: NA\n"
	"    max_ni_tx_credits: 8\n"
	"    available_tx_credits: 7\n"
	"    min_tx_credits: 2\n"
	"    tx_q_num_of_buf: 96\n"
	"    available_rtr_credits: 8\n"
	"    min_rtr_credits: 6\n"
	"    refcount: 4\n"
	"route:\n"
	"- net: tcp5\n"
	"  gateway: 10.0.0.9@tcp\n"
	"  hop: -1\n"
	"  priority: 0\n"
	"  state: up\n"
	"- net: tcp6\n"
	"  gateway: 10.0.0.8@tcp\n"
	"  hop: 2\n"
	"  priority: 3\n"
	"  state: down\n"
	"conn:\n"
	"- { peer: 12345-10.0.0.2@tcp, nid: 10.0.0.1@tcp, type: control, local: \"10.0.0.1:1023\",\n"
	"    remote: \"10.0.0.2:988\" }\n"
	"- { peer: 12345-10.0.0.2@tcp, nid: 10.0.0.1@tcp, type: bulk_in, local: \"10.0.0.1:1022\",\n"
	"    remote: \"10.0.0.2:988\" }\n"
	"statistics: { msgs_alloc: 1, msgs_max: 2, errors: 3, send_count: 4, recv_count: 5,\n"
	"  route_count: 6, drop_count: 7, send_length: 8, recv_length: 9, route_length: 10,\n"
	"  drop_length: 11 }\n"
	"discover:\n"
	"- primary nid: 10.0.0.2@tcp\n"
	"  Multi-Rail: true\n"
	"  peer_ni:\n"
	"  - nid: 10.0.0.2@tcp\n"
	"  - nid: 10.1.0.2@tcp1\n";

static bool matches(const char *pattern, const char *text)
{
	regex_t re;
	bool found;

	if (regcomp(&re, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB))
		fail_msg("\"%s\" is no regular expression", pattern);
	found = !regexec(&re, text, 0, NULL, 0);
	regfree(&re);
	return found;
}

/* In this order, as a script would; @uid: by that user, 0: by root. */
static void make_calls(const struct call *call, size_t n, uid_t uid)
{
	for (size_t i = 0; i < n; i++, call++) {
		const struct proc_result *r = proc_run_as(uid, uid, call->line, NULL);
		bool found = call->says ? matches(call->says, r->out) || matches(call->says, r->err)
					: !*r->out && !*r->err;

		if (r->status != call->status || !found)
			fail_msg("%s: $ %s\n%s%sstatus %d; expected: %d and \"%s\"", call->who,
				 call->line, r->out, r->err, r->status, call->status,
				 call->says ? call->says : "");
	}
}

/* clang-format off */
static const struct call on_a_node[] = {
	{ "lst.sh", "lnetctl discover 10.0.0.2@tcp", 0, "^discover:$" },
	{ "lst.sh", "lnetctl discover 10.0.0.2@tcp 10.0.0.77@tcp", 255, "errno: -" },
	{ "lst.sh", "lctl mark 'Start LST ping'", 0, NULL },
	{ "lst.sh", "lctl mark 'lst stop brw_ping'", 0, NULL },
	/* With LST_SESSION; what needs test nodes is in tests/sys/lst.bats. */
	{ "lst.sh", "lst new_session lnet_session", 0,
	  "^SESSION: lnet_session FEATURES: 1 TIMEOUT: 300 FORCE: No$" },
	{ "lst.sh", "lst add_group servers 10.0.0.77@tcp", 254,
	  "^create session RPC failed on 12345-10\\.0\\.0\\.77@tcp: " },
	{ "lst.sh", "lst add_batch brw_rw", 0, NULL },
	{ "lst.sh", "lst add_test --batch brw_rw --concurrency 16 --from clients --to servers "
	  "--distribute 1:2 --loop 9 brw read size=1m check=simple off=0", 255,
	  "^Can't find test in current session$" },
	{ "lst.sh", "lst stat --count 1 --delay 1 --bw --mbs clients servers", 255,
	  "^Can't find stat in current session$" },
	{ "lst.sh", "lst run brw_rw", 0, "^brw_rw is running now$" },
	{ "lst.sh", "lst stop brw_rw", 0, "^Batch is stopped$" },
	{ "lst.sh", "lst end_session", 0, NULL },
	{ "lst.sh", "lctl list_nids", 0, "^10\\.0\\.0\\.1@tcp$" },
	{ "CSI drivers", "lctl list_nids all", 0, "^0@lo$" },
	{ "boot scripts", "lctl network up", 0, "^LNET configured" },
	{ "resource agents", "lctl ping 10.0.0.2@tcp", 0, "^10\\.0\\.0\\.2@tcp$" },
	{ "resource agents", "lctl ping 10.0.0.2@tcp 5", 0, "^12345-0@lo$" },
	{ "resource agents", "lctl ping 10.0.0.77@tcp", 1,
	  "^failed to ping 10\\.0\\.0\\.77@tcp: No route" },
	{ "typing errors", "lctl ping nonsense", 1, "^failed to ping nonsense: nid \"nonsense\"" },
	{ "resource agents", "lctl ping 10.0.0.77@tcp 1", 1, ": Connection timed out" },
	{ "resource agents", "lctl ping 12345-10.0.0.2@tcp", 0, "^10\\.1\\.0\\.2@tcp1$" },
	{ "typing errors", "lctl ping", 1, "^usage: lctl ping NID" },
	{ "typing errors", "lctl ping 10.0.0.2@tcp 121", 1, "^usage: lctl ping" },
	{ "mount wrappers", "lctl which_nid 10.0.0.2@tcp 10.1.0.1@tcp1", 0, "^10\\.1\\.0\\.1@tcp1$" },
	{ "mount wrappers", "lctl which_nid 10.5.0.1@tcp5 10.0.0.7@tcp", 0, "^10\\.0\\.0\\.7@tcp$" },
	{ "mount wrappers", "lctl which_nid 10.6.0.1@tcp6 10.5.0.1@tcp5", 0, "^10\\.5\\.0\\.1@tcp5$" },
	{ "mount wrappers", "lctl which_nid 10.6.0.1@tcp6", 1, "^No reachable NID$" },
	{ "mount wrappers", "lctl which_nid x", 1, "not a NID" },
	/* The seventh word is the state. */
	{ "route monitors", "lctl show_route", 0, "^net +tcp5 hops -1 gw +10\\.0\\.0\\.9@tcp up pri 0$" },
	{ "route monitors", "lctl route_list", 0, "^net +tcp6 hops 2 gw +10\\.0\\.0\\.8@tcp down pri 3$" },
	{ "support scripts", "lctl --net tcp conn_list", 0,
	  "^12345-10\\.0\\.0\\.2@tcp +I\\[0\\]10\\.0\\.0\\.1->10\\.0\\.0\\.2:988 0/0 nonagle$" },
	{ "support scripts", "lctl --net=tcp peer_list", 0,
	  "^12345-10\\.0\\.0\\.2@tcp +\\[1\\]10\\.0\\.0\\.1->10\\.0\\.0\\.2:988 #2$" },
	{ "support scripts", "lctl --net tcp1 conn_list", 0, "^<no connections>$" },
	{ "support scripts", "lctl --net tcp1 peer_list", 0, "^<no peers>$" },
	{ "support scripts", "lctl --net tcp interface_list", 0,
	  "^10\\.0\\.0\\.1: \\(10\\.0\\.0\\.1/.*\\) npeer [0-9]+ nroute 0$" },
	{ "support scripts", "lctl --net tcp9 interface_list", 0, "^<no interfaces>$" },
	{ "support scripts", "lctl conn_list", 1, "lctl --net tcp conn_list" },
	{ "support scripts", "lctl --net nonsense conn_list", 1, "not a net" },
	{ "exporters", "lctl get_param -n stats", 0, "^1 2 3 4 5 6 7 8 9 10 11$" },
	{ "exporters", "lctl get_param stats", 0, "^stats=1 2 3 4 5 6 7 8 9 10 11$" },
	{ "exporters", "lctl get_param -n nis", 0,
	  "^10\\.0\\.0\\.1@tcp                 up    -1    3    8    0   256   255   250$" },
	{ "exporters", "lctl get_param nis", 0, "^nis=$" },
	{ "exporters", "lctl get_param -n peers", 0,
	  "^nid                      refs state  last   max   rtr   min    tx   min queue$" },
	{ "exporters", "lctl get_param -n peers", 0,
	  "^10\\.0\\.0\\.2@tcp                4    NA    -1     8     8     6     7     2 96$" },
	{ "exporters", "lctl get_param -n routes", 0, "^Routing disabled$" },
	{ "exporters", "lctl get_param -n routes", 0, "^tcp6        2        3    down 10\\.0\\.0\\.8@tcp$" },
	{ "exporters", "lctl get_param -n routers", 0, "^[0-9]+ +1    up 10\\.0\\.0\\.9@tcp$" },
	{ "exporters", "lctl get_param -n buffers", 0, "^pages count credits     min$" },
	{ "exporters", "lctl get_param n?s s*", 0, "^stats=1 2 3" },
	{ "exporters", "lctl get_param -n version", 0, "^[0-9]+\\.[0-9]+\\.[0-9]+$" },
	{ "exporters", "lctl get_param llite.*.stats", 2, "^error: get_param: param_path 'llite" },
	{ "exporters", "lctl list_param n*", 0, "^nis$" },
	{ "exporters", "lctl dl", 0, NULL },
	{ "test scripts", "lctl set_param debug=-1", 0, "set_param debug: ignored" },
	{ "test scripts", "lctl get_param -n lnet_debug", 0, "^0$" },
	{ "test scripts", "lctl set_param stats=0", 0, NULL },
	{ "test scripts", "lctl get_param -n stats", 0, "^0 0 0 0 0 0 0 0 0 0 0$" },
	{ "test scripts", "lctl net_drop_add -s *@tcp -d *@tcp -r 1000", 0, NULL },
	{ "test scripts", "lctl net_drop_list", 22, "^255\\.255\\.255\\.255@tcp->255" },
	{ "test scripts", "lctl net_drop del -a", 0, NULL },
	{ "typing errors", "lctl setup", 1, "no command 'setup'" },
	{ "typing errors", "lctl help", 0, "^list_nids +\\[all\\]" },
	{ "boot scripts", "lctl network down", 0, "^LNET ready to unload$" },
	{ "boot scripts", "lctl list_nids", 1, "LNet is not configured" },
	{ "boot scripts", "lnetctl net show", 234, "LNet stack down" },
	{ "boot scripts", "lctl net configure", 0, "^LNET configured" },
};
/* clang-format on */

static void test_node(void **state)
{
	start(node);
	setenv("LST_SESSION", "7", 1);
	make_calls(on_a_node, N_OF(on_a_node), 0);
}

/* Commands by standard input; a net stays chosen. */
static void test_input(void **state)
{
	const struct proc_result *r;

	start(node);
	r = proc_run_as(0, 0, "lctl", "network tcp\nconn_list # of it\nlist_nids\nquit\nhelp\n");
	assert_int_equal(r->status, 0);
	assert_true(matches("^12345-10\\.0\\.0\\.2@tcp +C\\[", r->out));
	assert_true(matches("^10\\.1\\.0\\.1@tcp1$", r->out));
	assert_false(matches("^usage", r->out));
}

static bool wait_for(bool (*done)(void))
{
	for (int i = 0; i < 4000 && !done(); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	return done();
}

static const char *folder(void)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/lnet", proc_dir());
	return path;
}

/* The last one that is written. */
static bool is_written(void)
{
	char path[220];

	snprintf(path, sizeof(path), "%s/buffers", folder());
	return !access(path, R_OK);
}

static bool is_removed(void)
{
	return access(folder(), F_OK);
}

/* lctl and the files have the same text. */
static void check_file(const char *name)
{
	char path[220], line[80], *text;
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	text = proc_read(path);
	snprintf(line, sizeof(line), "lctl get_param -n %s", name);
	assert_string_equal(expect(0, line)->out, text);
	free(text);
}

/* Telegraf (lnet_procfiles) and others read files of /proc/sys/lnet. */
static void test_files(void **state)
{
	static const char *const names[] = { "stats", "nis", "peers", "routes", "routers", "buffers" };
	int other;

	start(node);
	assert_true(is_removed());
	/* Another lnetxd has the folder. */
	assert_int_equal(mkdir(folder(), 0755), 0);
	other = open(folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX), 0);
	ok("lnetx tunable set lnet procfiles_interval 1");
	proc_daemon_wait_log(&lnetxd, "reason=\"another lnetxd writes them\"");
	assert_false(is_written());
	close(other);
	assert_true(wait_for(is_written));
	for (size_t i = 0; i < N_OF(names); i++)
		check_file(names[i]);
	ok("lnetx tunable set lnet procfiles_interval 0");
	assert_true(wait_for(is_removed));
	/* A stop removes them, too. */
	ok("lnetx tunable set lnet procfiles_interval 3600");
	assert_true(wait_for(is_written));
	stop(NULL);
	assert_true(is_removed());
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_node),
		TEST(test_input),
		TEST(test_files),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
