/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetx -j: every command prints exactly one document, even on failure.
 */
#include <errno.h>
#include <jansson.h>

#include "cliworld.h"

/* Runs @line, which must print one document and nothing else. */
static json_t *document(int status, const char *line)
{
	const struct proc_result *r = expect(status, line);
	json_error_t error;
	json_t *doc = json_loads(r->out, 0, &error);

	if (!doc || *r->err)
		fail_msg("$ %s\n%s%s%s", line, r->out, r->err, error.text);
	return doc;
}

static void json_has(const char *line, const char *text)
{
	const struct proc_result *r = expect(0, line);
	json_t *doc = json_loads(r->out, 0, NULL);

	if (!doc || *r->err || !strstr(r->out, text))
		fail_msg("$ %s\n%s%sdoes not have \"%s\"", line, r->out, r->err, text);
	json_decref(doc);
}

/* Expects a document with this error; what else it has is not checked. */
static void json_fails(int status, const char *line, int error, const char *reason)
{
	json_t *doc = document(status, line), *e = json_object_get(doc, "error");
	const char *why = json_string_value(json_object_get(e, "reason"));

	if (json_integer_value(json_object_get(e, "errno")) != error || !why ||
	    !strstr(why, reason))
		fail_msg("$ %s\n%s", line, json_dumps(doc, 0));
	json_decref(doc);
}

static void test_json_errors(void **state)
{
	start("ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n  peer_ni:\n"
	      "  - nid: 10.0.0.7@tcp\n"
	      "manage:\n- ping:\n  errno: -110\n  descr: '10.0.0.9@tcp'\n");
	json_fails(1, "lnetx -j net add net tcp1 if nosuch", -ENODEV, "no such interface");
	json_fails(1, "lnetx -j -n nosuch net", -ENOENT, "no lnetxd runs");
	json_fails(1, "lnetx -jp route add net tcp5 via 10.0.0.1@tcp7", -EHOSTUNREACH, "tcp5");
	json_fails(1, "lnetx -j tunable show tcp nosuch", -ENOENT, "tcp has no tunable nosuch");
	json_fails(1, "lnetx -j tunable show tpc", -ENOENT, "did you mean tcp?");
	json_fails(1, "lnetx -j tunable set tcp acept all", -ENOENT, "did you mean accept?");
	json_fails(2, "lnetx -j net add nett tcp", -EINVAL, "unknown keyword \"nett\"");
	json_fails(2, "lnetx -j nosuch", -EINVAL, "unknown object");
	json_fails(2, "lnetx -j net nosuch", -EINVAL, "unknown verb");
	json_fails(2, "lnetx -j", -EINVAL, "an object is expected");
	json_fails(2, "lnetx -j --what", -EINVAL, "--what");
	json_fails(2, "lnetx -j ping", -EINVAL, "give one or more NIDs");
	json_fails(2, "lnetx -j tunable set a", -EINVAL, "tunable set MODULE");
	json_fails(2, "lnetx -j net add net", -EINVAL, "needs a value");
	json_fails(1, "lnetx -j import /nonexistent", -ENOENT, "No such file");
	json_fails(1, "lnetx -j daemon reload", -ENOENT, "without a configuration file");
	json_fails(1, "lnetx -j guard deny 10.0.0.0/8", -EOPNOTSUPP, "guard is not loaded");
	/* The same in YAML. */
	prints_in(1, "lnetx -y tunable show tcp nosuch", "error:\n  errno: -2\n  reason: ");
	/* Plain text is unchanged. */
	fails(1, "lnetx tunable show tcp acept", "tcp has no tunable acept; did you mean accept?");
	fails(1, "lnetx tunable show nosuch", "no module nosuch has tunables");
	fails(1, "lnetx tunable set tcp acept all", "did you mean accept?");
	prints("lnetx tunable show tcp", "sock_timeout");
}

static void test_json_probes(void **state)
{
	json_t *doc, *list, *good, *bad;

	start("ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n  peer_ni:\n"
	      "  - nid: 10.0.0.7@tcp\n"
	      "manage:\n- ping:\n  errno: -110\n  descr: '10.0.0.9@tcp'\n");
	/* One entry per target, in the order given; the first error is repeated at the top. */
	doc = document(1, "lnetx -j ping 10.0.0.9@tcp 10.0.0.7@tcp");
	list = json_object_get(doc, "ping");
	assert_int_equal(json_array_size(list), 2);
	bad = json_array_get(list, 0);
	good = json_array_get(list, 1);
	assert_string_equal(json_string_value(json_object_get(bad, "nid")), "10.0.0.9@tcp");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(bad, "error"), "errno")),
			 -ETIMEDOUT);
	assert_true(json_equal(json_object_get(doc, "error"), json_object_get(bad, "error")));
	assert_string_equal(json_string_value(json_object_get(good, "primary_nid")),
			    "10.0.0.7@tcp");
	/* The fake node takes a millisecond to answer. */
	assert_in_range(json_integer_value(json_object_get(good, "rtt_us")), 1000, 60000000);
	assert_null(json_object_get(good, "error"));
	json_decref(doc);
	json_has("lnetx -j ping 10.0.0.7@tcp", "\"rtt_us\":");
	json_fails(1, "lnetx -j discover 10.0.0.9@tcp", -ETIMEDOUT, "failed to discover");
	prints("lnetx -y ping 10.0.0.7@tcp", "  rtt_us: ");
	prints_not("lnetctl ping 10.0.0.7@tcp", "rtt");
}

static void test_json_results(void **state)
{
	char *json;

	start("conn:\n- {peer: 12345-10.0.0.2@tcp1, nid: 10.0.0.1@tcp1, type: control, "
	      "local: '10.0.0.1:1023', remote: '10.0.0.2:988', version: 3}\n");
	json_has("lnetx -j disconnect all", "{\"disconnect\":{\"connections\":1}}\n");
	json_has("lnetx -j conn del 10.0.0.2@tcp1", "{\"disconnect\":{\"connections\":0}}\n");
	/* Not a router: says so. */
	json_has("lnetx -j routing show", "{\"routing\":{\"enable\":0}}\n");
	prints("lnetx -y routing", "routing:\n  enable: 0\n");
	prints_in(0, "lnetctl routing show", "");
	/* Commands without output print an empty document. */
	json_has("lnetx -j net add net tcp if eth0", "{}\n");
	json_has("lnetx -j route add net tcp2 via 10.0.0.9@tcp", "{}\n");
	json_has("lnetx -j routing on", "{}\n");
	json_has("lnetx -j export", "\"net\":[{\"net_type\":\"tcp\",\"local_ni\":[");
	json_has("lnetx -jp export", "\"enable\": 1");
	/* The export can be imported again. */
	json = output_of("lnetx -j export");
	ok("lnetx route del net tcp2");
	ok("lnetx net del net tcp");
	import(0, "", json);
	prints("lnetctl route show", "net: tcp2\n      gateway: 10.0.0.9@tcp\n");
	prints("lnetctl net show", "0: eth0\n");
	free(json);
	json = output_of("lnetx -j export all");
	import(0, "", json); /* there is nothing to do */
	free(json);
}

/* One page of one peer: what shows have of it, and the way there. */
static void test_explain(void **state)
{
	char *text;

	start("net:\n- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	      "    interfaces: {0: eth0}\n"
	      "route:\n- {net: tcp2, gateway: 10.0.0.2@tcp1, hop: -1, priority: 0, state: down, "
	      "down_since: 2026-08-05T14:03:08+0200, down_reason: 'it does not answer'}\n"
	      "peer:\n- primary nid: 10.0.0.2@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - {nid: 10.0.0.2@tcp1, state: up, max_ni_tx_credits: 8, available_tx_credits: -2,"
	      " min_tx_credits: -3, tx_q_num_of_buf: 5000, tx_oldest_ms: 1234, heard_s: 3, "
	      "statistics: "
	      "{send_count: 7,"
	      " recv_count: 6, drop_count: 0, tcp_sent_bytes: 2000, tcp_resent_bytes: 300},"
	      " health stats: {health value: 900, timeout: 4}}\n"
	      "conn:\n- {peer: 12345-10.0.0.2@tcp1, nid: 10.0.0.1@tcp1, type: control, "
	      "local: '10.0.0.1:1023', remote: '10.0.0.2:988', version: 3, tcp_sent_bytes: 2000, "
	      "tcp_resent_bytes: 300, srtt_us: 77, unacked_segments: 5, cwnd_segments: 10, "
	      "unsent_bytes: 9}\n"
	      "- {peer: 12345-10.0.0.3@tcp1, nid: 10.0.0.1@tcp1, type: any, "
	      "local: '10.0.0.1:1022', remote: '10.0.0.3:988', version: 3}\n");
	text = output_of("lnetx explain peer 10.0.0.2@tcp1");
	assert_non_null(strstr(text,
			       "10.0.0.2@tcp1 is up\n"
			       "  way       by 10.0.0.1@tcp1 on eth0, up\n"
			       "  waiting   2 messages to it for transmit credits (5000 bytes), "
			       "the oldest for 1.2 s; "
			       "credits -2 of 8, lowest -3\n"
			       "  health    900 of 1000; failures: timeout 4\n"
			       "  messages  7 sent, 6 received (the last 3 s ago), 0 dropped\n"
			       "  TCP sent  2000 bytes, of these again 300 (15 %)\n"
			       "in the last "));
	assert_non_null(strstr(text, "10.0.0.2:988"));
	assert_null(strstr(text, "10.0.0.3:988"));
	free(text);
	json_has("lnetx -j explain peer 10.0.0.2@tcp1",
		 "\"ways\":[{\"nid\":\"10.0.0.2@tcp1\",\"nis\":[{\"nid\":\"10.0.0.1@tcp1\","
		 "\"status\":\"up\",\"interfaces\":{\"0\":\"eth0\"}");
	json_has("lnetx -j explain peer 10.0.0.2@tcp1",
		 "\"srtt_us\":77,\"unacked_segments\":5,\"cwnd_segments\":10,\"unsent_bytes\":9");
	/* Behind a gateway: the connections are the gateway's. */
	text = output_of("lnetx explain peer 10.9.0.5@tcp2");
	assert_non_null(strstr(text, "10.9.0.5@tcp2 is not known: nothing came from it, or was "
				     "sent to it\n  way       through 10.0.0.2@tcp1, down since "));
	assert_non_null(strstr(text, ": it does not answer\n"));
	assert_non_null(strstr(text, "10.0.0.2:988"));
	free(text);
	prints("lnetx explain peer 10.9.0.5@tcp7", "no NI on its net, and no route to it");
	prints("lnetx -s conn show", "TCP BYTES  SENT AGAIN  SRTT US  UNACKED  CWND  UNSENT\n");
	prints("lnetx -s peer show", "TCP BYTES  SENT AGAIN");
	fails(2, "lnetx explain peer", "give a NID of a peer");
	fails(2, "lnetx explain peer bogus", "not a NID");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_json_errors),
		TEST(test_json_probes),
		TEST(test_json_results),
		TEST(test_explain),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
