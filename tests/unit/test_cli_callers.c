/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What public programs and scripts run, and what they look for in the answer. A new caller is a
 * line in a table; it says who calls, so that one can look up what it does with the answer.
 */
#include <regex.h>

#include "cliworld.h"

struct call {
	const char *who;
	const char *line;
	int status;
	const char *says; /* extended regular expression for a line of either stream; NULL: silent */
};

/* A node as most of them meet it: two NIs, a route that is up and one that is down, a peer. */
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
};
/* clang-format on */

static void test_node(void **state)
{
	start(node);
	make_calls(on_a_node, N_OF(on_a_node), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_node),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
