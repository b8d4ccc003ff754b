/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx doctor" on machines that a test cannot have: other clocks, many CPUs. The command runs in
 * a child process of the test, with the clock of __wrap_adjtimex(). Machines that a
 * network namespace can imitate are in tests/sys/setup.bats.
 */
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../tools/cli/common/json.h"
#include "../../tools/cli/common/requests.h"
#include "../../tools/cli/lnetx/lnetx.h"
#include "../../tools/host/doctor.h"
#include "../../tools/host/rxqueue.h"
#include "../../user/daemon/clocks.h"
#include "cliworld.h"

static struct timex machine;
static int machine_state;

int __wrap_adjtimex(struct timex *tx);

int __wrap_adjtimex(struct timex *tx)
{
	*tx = machine;
	return machine_state;
}

/* That the clock of lnetxd's machine was set since it started. */
static int64_t jump_s;
static const char *refused; /* whom lnetxd has refused, as JSON */

json_t *__real_lx_request_row(struct lx_session *s, unsigned int object, const struct lx_args *a);
json_t *__wrap_lx_request_row(struct lx_session *s, unsigned int object, const struct lx_args *a);

json_t *__wrap_lx_request_row(struct lx_session *s, unsigned int object, const struct lx_args *a)
{
	json_t *row = __real_lx_request_row(s, object, a);

	if (object == LX_CTL_DAEMON && jump_s)
		json_object_set_new(row, "clock_jump_s", json_integer(jump_s));
	if (object == LX_CTL_DAEMON && refused)
		json_object_set_new(row, "refused", json_loads(refused, 0, NULL));
	return row;
}

/* The output of "lnetx doctor", or with @word; freed by the caller. */
static char *doctor_as(char *word, int *ret_status)
{
	char path[200];
	int status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s", proc_file("doctor", ""));
	pid = fork();
	if (!pid) {
		char *argv[] = { "lnetx", "doctor", word, NULL };

		if (!freopen(path, "w", stdout))
			_exit(126);
		status = lx_lnetx_main(word ? 3 : 2, argv);
		fflush(stdout);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	*ret_status = WEXITSTATUS(status);
	return proc_read(path);
}

static char *doctor(void)
{
	int status;

	return doctor_as(NULL, &status);
}

/* True if the doctor complains about a clock in this state. */
static bool ails(int state, int status)
{
	char *text;
	bool found;

	machine = (struct timex){ .status = status };
	machine_state = state;
	text = doctor();
	found = strstr(text, "advice   clock: nothing keeps this machine's clock right");
	/* Advice is no problem. */
	assert_non_null(strstr(text, "healthy\n"));
	assert_null(strstr(text, "not healthy"));
	free(text);
	return found;
}

static bool jumped(int64_t by_s, const char *part)
{
	char *text;
	bool found;

	machine = (struct timex){ 0 };
	machine_state = TIME_OK;
	jump_s = by_s;
	text = doctor();
	jump_s = 0;
	found = strstr(text, part);
	free(text);
	return found;
}

static void test_clock(void **state)
{
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n");
	assert_false(ails(TIME_OK, 0));
	assert_false(ails(TIME_OK, STA_PLL));
	assert_false(ails(TIME_INS, STA_PLL | STA_INS)); /* a leap second is no fault */
	assert_true(ails(TIME_ERROR, STA_UNSYNC));
	assert_true(ails(TIME_OK, STA_UNSYNC));
	/* Without the right to ask, nothing is known. */
	assert_false(ails(-1, 0));
}

/* Set by hand or by a first answer of NTP; what NTP corrects bit by bit is no jump. */
static void test_clock_jump(void **state)
{
	struct lx_clocks from = { 1000000000000, 5000000000 }, to = from;

	to.boot_ns += 7900000000;
	to.wall_ns += 7900000000;
	assert_int_equal(lx_clocks_passed_s(&from, &to), 7);
	assert_int_equal(lx_clocks_jump_s(&from, &to), 0);
	to.wall_ns += 900000000;
	assert_int_equal(lx_clocks_jump_s(&from, &to), 0);
	to.wall_ns += 3600000000000;
	assert_int_equal(lx_clocks_jump_s(&from, &to), 3600);
	to.wall_ns -= 7200000000000;
	assert_int_equal(lx_clocks_jump_s(&from, &to), -3599);

	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n");
	assert_false(jumped(0, "clock"));
	assert_false(jumped(4, "clock"));
	assert_true(jumped(3600, "clock: this machine's clock was set forward by 3600 s"));
	assert_true(jumped(-5, "clock: this machine's clock was set back by 5 s"));
}

/* As the kernel reads it: groups of 32 bits. */
static void test_cpu_mask(void **state)
{
	static const struct {
		unsigned int n_cpus;
		const char *mask;
	} cases[] = { { 1, "1" },
		      { 2, "3" },
		      { 31, "7fffffff" },
		      { 32, "ffffffff" },
		      { 33, "1,ffffffff" },
		      { 64, "ffffffff,ffffffff" },
		      { 72, "ff,ffffffff,ffffffff" } };
	char buf[256];

	for (size_t i = 0; i < N_OF(cases); i++)
		assert_string_equal(lx_rxqueue_mask(cases[i].n_cpus, buf, sizeof(buf)), cases[i].mask);
	/* Longer than the buffer: cut off, not beyond it. */
	assert_int_equal(strlen(lx_rxqueue_mask(8192, buf, 16)), 15);
}

/* A server behind a gateway costs its health, too. */
static void test_gateway(void **state)
{
	char *text;

	machine_state = TIME_OK;
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n"
	      "route:\n- net: tcp2\n  gateway: 192.0.2.2@tcp1\n  state: up\n"
	      "peer:\n- primary nid: 192.0.2.2@tcp1\n  peer ni:\n  - nid: 192.0.2.2@tcp1\n"
	      "- primary nid: 192.0.2.3@tcp1\n  peer ni:\n  - nid: 192.0.2.3@tcp1\n");
	ok("lnetx peer set nid 192.0.2.2@tcp1 health 999");
	ok("lnetx peer set nid 192.0.2.3@tcp1 health 999");
	text = doctor();
	assert_null(strstr(text, "192.0.2.2@tcp1"));
	assert_non_null(strstr(text, "advice   192.0.2.3@tcp1: "));
	free(text);
	ok("lnetx peer set nid 192.0.2.2@tcp1 health 500");
	text = doctor();
	assert_non_null(strstr(text, "advice   192.0.2.2@tcp1: "));
	free(text);
}

/* By kind, in the last ten minutes. */
static void test_refused(void **state)
{
	char *text;

	machine = (struct timex){ 0 };
	machine_state = TIME_OK;
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n");
	refused = "[{\"address\": \"192.0.2.7\", \"kind\": \"nid\", \"reason\": \"wrong net "
		  "there\", \"since\": \"noon\", \"age_s\": 600}, {\"address\": \"192.0.2.8\", "
		  "\"kind\": \"peer\", \"reason\": \"HELLO\", \"age_s\": 1}, {\"address\": "
		  "\"192.0.2.9\", \"kind\": \"nid\", \"reason\": \"old\", \"age_s\": 601}]";
	text = doctor();
	refused = NULL;
	assert_string_equal(text,
			    "advice   192.0.2.7: wrong net there (since noon)\n         next: "
			    "there: the NID in its mount or routes; or here: lnetx net add\n"
			    "advice   192.0.2.8: HELLO\n         next: there: its NID and its "
			    "LNet's address; no NAT between\nhealthy\n");
	free(text);
}

static void nagios(int status, const char *line)
{
	int is;
	char *text = doctor_as("nagios", &is);

	/* Of what is not known, only the begin. */
	if (status == 3)
		assert_memory_equal(text, line, strlen(line));
	else
		assert_string_equal(text, line);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_int_equal(is, status);
	free(text);
}

static void test_nagios(void **state)
{
	machine = (struct timex){ 0 };
	machine_state = TIME_OK;
	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 192.0.2.1@tcp1\n    status: up\n");
	nagios(0, "LNETX OK - healthy | problems=0 advice=0\n");
	machine_state = TIME_ERROR;
	nagios(1,
	       "LNETX WARNING - clock: nothing keeps this machine's clock right: times in logs of "
	       "two nodes do not compare; next: chrony, or another client of NTP | problems=0 "
	       "advice=1\n");
	ok("lnetx fault add drop from * to * rate 1000");
	nagios(2,
	       "LNETX CRITICAL - lnetxd: fault injection drops or delays messages on purpose, by "
	       "1 rule; next: lnetx fault show; lnetx fault del all (and 1 more: lnetx doctor) | "
	       "problems=1 advice=1\n");
	stop(state);
	nagios(3, "LNETX UNKNOWN - no lnetxd runs as instance ");
}

static void says(const json_t *list, size_t i, const char *level, const char *about,
		 const char *reason, const char *since)
{
	const json_t *one = json_array_get(list, i);

	assert_string_equal(lx_json_text(one, "level"), level);
	assert_string_equal(lx_json_text(one, "about"), about);
	assert_string_equal(lx_json_text(one, "reason"), reason);
	assert_string_equal(lx_json_text(one, "since"), since);
}

/* The worst first, causes before what they bring about, one for a node. */
static void test_findings(void **state)
{
	struct lx_findings f = { json_array() };
	const struct lx_finding
		health = { .rank = LX_FINDING_EFFECT, .about = "b@tcp", .node = "b", .next = "1" },
		route = { true, LX_FINDING_STATE, "b@tcp2", "b", "2", "noon", "its route is down" },
		dead = { .rank = LX_FINDING_THERE, .about = "b@tcp", .node = "b", .next = "3" },
		silent = { .rank = LX_FINDING_STATE,
			   .about = "b@tcp3",
			   .node = "b",
			   .next = "4",
			   .since = "night",
			   .effect = "silent" },
		drops = {
			.problem = true, .rank = LX_FINDING_EFFECT, .about = "drops", .next = "5"
		};
	unsigned int n;
	json_t *list;

	lx_findings_add(&f, false, "clock", "6", "wrong");
	lx_findings_put(&f, &drops, "%d lost", 7);
	lx_findings_put(&f, &health, "is low");
	assert_true(lx_findings_has(&f, "b"));
	assert_false(lx_findings_has(&f, "b@tcp"));
	list = lx_findings_sorted(&f, &n);
	assert_int_equal(n, 1);
	assert_int_equal(json_array_size(list), 3);
	says(list, 0, "problem", "drops", "7 lost", "");
	says(list, 1, "advice", "clock", "wrong", "");
	says(list, 2, "advice", "b@tcp", "is low", "");
	json_decref(list);

	lx_findings_put(&f, &route, "the route is down: why");
	lx_findings_put(&f, &silent, "silent: why");
	lx_findings_put(&f, &silent, "silent: why");
	list = lx_findings_sorted(&f, &n);
	assert_int_equal(n, 2);
	says(list, 0, "problem", "b@tcp2", "the route is down: why; silent", "noon");
	json_decref(list);

	/* The cause comes later, and has no time of its own. */
	lx_findings_put(&f, &dead, "is off");
	lx_findings_add(&f, true, "eth0", "7", "is down");
	list = lx_findings_sorted(&f, &n);
	assert_int_equal(n, 3);
	assert_int_equal(json_array_size(list), 4);
	says(list, 0, "problem", "eth0", "is down", "");
	says(list, 1, "problem", "b@tcp", "is off; its route is down; silent", "noon");
	assert_string_equal(lx_json_text(json_array_get(list, 1), "next"), "3");
	says(list, 2, "problem", "drops", "7 lost", "");
	says(list, 3, "advice", "clock", "wrong", "");
	json_decref(list);
	json_decref(f.list);
}

/* A look at two connections with one peer, and one with another. */
static json_t *conns_with(int64_t sent, int64_t resent, int64_t other)
{
	return json_pack(
		"[{ss, ss, ss, ss, sI, sI}, {ss, ss, ss, ss, sI, sI}, {ss, ss, ss, ss}]", "peer",
		"12345-192.0.2.2@tcp1", "nid", "192.0.2.1@tcp1", "local", "a", "remote", "b",
		"tcp_sent_bytes", (json_int_t)sent, "tcp_resent_bytes", (json_int_t)resent, "peer",
		"12345-192.0.2.2@tcp1", "nid", "192.0.2.1@tcp1", "local", "c", "remote", "b",
		"tcp_sent_bytes", (json_int_t)other, "tcp_resent_bytes", (json_int_t)0, "peer",
		"12345-192.0.2.3@o2ib", "nid", "192.0.2.1@o2ib", "local", "d", "remote", "e");
}

/* The findings after these bytes, beyond those of before. */
static json_t *lost(int64_t sent, int64_t resent, int64_t other)
{
	struct lx_doctor d = { .found = { json_array() }, .nodes = json_object() };
	json_t *before = conns_with(1000000, 900000, 5), *list;
	json_t *after = conns_with(1000000 + sent, 900000 + resent, 5 + other);
	unsigned int n;

	d.nis = json_pack("[{ss, s{ss}}]", "nid", "192.0.2.1@tcp1", "interfaces", "0", "eth1");
	json_object_set_new(d.nodes, "192.0.2.2@tcp1", json_string("192.0.2.9@tcp"));
	lx_doctor_loss(&d, before, after);
	list = lx_findings_sorted(&d.found, &n);
	assert_int_equal(n, 0); /* advice: TCP sends it again */
	json_decref(d.found.list);
	json_decref(d.nodes);
	json_decref(d.nis);
	json_decref(before);
	json_decref(after);
	return list;
}

static void test_loss(void **state)
{
	json_t *list = lost(500000, 150000, 500000);

	assert_int_equal(json_array_size(list), 1);
	says(list, 0, "advice", "192.0.2.2@tcp1",
	     "15 % of the bytes to it were sent again in the last second: loss behind eth1", "");
	json_decref(list);
	/* Too little of it, too little in all, too few to tell, nothing new. */
	list = lost(2000000, 25000, 2000000);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	list = lost(500000, 9000, 500000);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	list = lost(50000, 20000, 1000);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	list = lost(100000, 1500, 0);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
	list = lost(0, 0, 0);
	assert_int_equal(json_array_size(list), 0);
	json_decref(list);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_clock),
		TEST(test_clock_jump),
		TEST(test_gateway),
		TEST(test_nagios),
		TEST(test_refused),
		cmocka_unit_test(test_cpu_mask),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_loss),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
