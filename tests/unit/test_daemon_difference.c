/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The daemon's log about a reload: changes, and values that were set by command. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/log.h"
#include "../../user/daemon/difference.h"
#include "../../user/daemon/tester.h"
#include "testlib.h"

/* A node: its lists as the test has them. */
static struct lx_ni_info nis[3];
static struct lx_route_info routes[100];
static struct lx_peer_info peers[1];
static struct lx_peer_ni_info peer_nis[2];
static struct lx_conf_udsp udsps[1];
static size_t n_nis, n_routes, n_peers, n_udsps;
static struct lx_routing_info routing;
static struct lx_ctl_selftest_info selftest;
static const char *timeout;

static char lines[1 << 16];

#define LIST(name, type, of)                                                                   \
	int name(struct lx_node *node, type **ret_list, size_t *ret_n)                         \
	{                                                                                      \
		*ret_list = malloc(sizeof(of));                                                \
		memcpy(*ret_list, of, sizeof(of));                                             \
		*ret_n = n_##of;                                                               \
		return 0;                                                                      \
	}

LIST(lx_ni_list, struct lx_ni_info, nis)
LIST(lx_route_list, struct lx_route_info, routes)
LIST(lx_peer_list, struct lx_peer_info, peers)
LIST(lx_udsp_list, struct lx_conf_udsp, udsps)

void lx_routing_get(struct lx_node *node, struct lx_routing_info *ret_info)
{
	*ret_info = routing;
}

void lx_tunable_each(struct lx_node *node,
		     int (*fn)(const char *module, const struct lx_tunable *t, const char *value,
			       void *arg),
		     void *arg)
{
	static const struct lx_tunable t = { .name = "sock_timeout" };

	fn("tcp", &t, timeout, arg);
}

void lx_tester_describe(struct lx_tester *tester, struct lx_ctl_selftest_info *ret_info)
{
	*ret_info = selftest;
}

/* In place of the real one, which admits 50 lines a second. */
void lx_log_state(int level, const char *fmt, ...)
{
	size_t used = strlen(lines);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(lines + used, sizeof(lines) - used, "%s%s\n", level == LOG_WARNING ? "! " : "",
		 text);
}

static struct lx_nid nid_of(const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return nid;
}

static void add_ni(const char *nid, const char *ifname)
{
	static const char *const names[] = { "conns_per_peer", NULL };
	struct lx_ni_info *ni = &nis[n_nis++];

	*ni = (struct lx_ni_info){ .nid = nid_of(nid), .lnd_tunable_names = names };
	ni->net = lx_nid_net(&ni->nid);
	ni->tun.peer_credits = 8;
	snprintf(ni->ifname, sizeof(ni->ifname), "%s", ifname);
}

static void add_route(const char *net, const char *gateway)
{
	struct lx_route_info *r = &routes[n_routes++];

	*r = (struct lx_route_info){ .gateway = nid_of(gateway), .hop = -1 };
	assert_int_equal(lx_net_parse(net, &r->net), 0);
}

static int setup(void **state)
{
	n_nis = n_routes = n_peers = n_udsps = 0;
	routing.state = LX_ROUTING_OFF;
	memset(&selftest, 0, sizeof(selftest));
	timeout = "50";
	lines[0] = '\0';
	add_ni("10.0.0.1@tcp", "eth0");
	add_route("tcp9", "10.0.0.9@tcp");
	peer_nis[0].nid = nid_of("10.0.0.5@tcp");
	peer_nis[1].nid = nid_of("10.0.0.6@tcp");
	peers[0] = (struct lx_peer_info){ .primary = peer_nis[0].nid, .n_nis = 1, .ni = peer_nis };
	return 0;
}

static struct lx_facts facts(void)
{
	struct lx_facts f;

	assert_int_equal(lx_difference_take(NULL, NULL, &f), 0);
	return f;
}

/* The log of a reload; clears the lists. */
static void changes(struct lx_facts *read, struct lx_facts *before)
{
	struct lx_facts after = facts();

	lines[0] = '\0';
	lx_difference_log_changes("reload", read, before, &after);
	if (read != before)
		lx_difference_clear(read);
	lx_difference_clear(before);
	lx_difference_clear(&after);
}

static void nothing_changes(void **state)
{
	struct lx_facts f = facts();

	changes(&f, &f);
	assert_string_equal(lines, "");
}

/* One line for each thing that comes or goes, whatever its settings; one for each new value. */
static void what_changed(void **state)
{
	struct lx_facts f = facts();

	nis[0].tun.peer_credits = 16;
	nis[0].lnd_tun.value[0] = 4;
	add_ni("10.2.0.1@tcp2", "eth2");
	n_routes = 0;
	add_route("tcp8", "10.0.0.9@tcp");
	peers[0].state = LX_PEER_CONFIGURED;
	n_peers = 1;
	snprintf(udsps[0].dst, sizeof(udsps[0].dst), "tcp2");
	n_udsps = 1;
	routing.state = LX_ROUTING_STARTING;
	selftest.conf.enable = 1;
	timeout = "77";
	changes(&f, &f);
	assert_string_equal(lines,
			    "reload=\"NI 10.0.0.1@tcp on eth0: conns_per_peer 0 -> 4\"\n"
			    "reload=\"NI 10.0.0.1@tcp on eth0: peer_credits 8 -> 16\"\n"
			    "reload=\"NI 10.2.0.1@tcp2 on eth2: added\"\n"
			    "reload=\"peer 10.0.0.5@tcp: added\"\n"
			    "reload=\"route to tcp8 through 10.0.0.9@tcp: added\"\n"
			    "reload=\"route to tcp9 through 10.0.0.9@tcp: removed\"\n"
			    "reload=\"routing: off -> on\"\n"
			    "reload=\"selection policy dst tcp2: added\"\n"
			    "reload=\"selftest: off -> on\"\n"
			    "reload=\"tunable tcp sock_timeout: 50 -> 77\"\n");
}

/* Peers that traffic made are nobody's configuration; NIDs of those that are, are. */
static void peers_by_configuration(void **state)
{
	struct lx_facts f = facts();

	n_peers = 1;
	changes(&f, &f);
	assert_string_equal(lines, "");
	peers[0].state = LX_PEER_CONFIGURED;
	f = facts();
	peers[0].n_nis = 2;
	changes(&f, &f);
	assert_string_equal(lines, "reload=\"peer 10.0.0.5@tcp: NID 10.0.0.6@tcp added\"\n");
}

/* Values that the file did not have, and that it has again. */
static void lost_by_command(void **state)
{
	struct lx_facts read = facts(), before;

	add_ni("10.3.0.1@tcp3", "eth3");
	n_routes = 0;
	timeout = "60";
	nis[0].tun.peer_credits = 32;
	before = facts();
	n_nis = 1;
	add_route("tcp9", "10.0.0.9@tcp");
	timeout = "50";
	changes(&read, &before);
	assert_string_equal(
		lines,
		"! reload=\"NI 10.3.0.1@tcp3 on eth3: removed\" reason=\"it was added by command, "
		"and is lost\" next=\"write it into the file, if it is to stay\"\n"
		"reload=\"route to tcp9 through 10.0.0.9@tcp: added\" reason=\"it was removed by "
		"command, and is back\"\n"
		"! reload=\"tunable tcp sock_timeout: 60 -> 50\" reason=\"60 was set by command, "
		"and is lost\" next=\"write it into the file, if it is to stay\"\n");
}

/* A command that the file now agrees with is nothing lost. */
static void command_that_stays(void **state)
{
	struct lx_facts read = facts(), before;

	timeout = "60";
	before = facts();
	changes(&read, &before);
	assert_string_equal(lines, "");
}

/* Of those that there is no room for, the number. */
static void many(void **state)
{
	struct lx_facts f = facts();
	unsigned int n = 0;

	for (int i = 0; i < 60; i++) {
		char gateway[40];

		snprintf(gateway, sizeof(gateway), "10.0.1.%d@tcp", i + 1);
		add_route("tcp7", gateway);
	}
	changes(&f, &f);
	for (const char *at = lines; (at = strchr(at, '\n')); at++)
		n++;
	assert_int_equal(n, 41);
	assert_non_null(strstr(lines, "! reload=\"20 more changes\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_changes, setup),
		cmocka_unit_test_setup(what_changed, setup),
		cmocka_unit_test_setup(peers_by_configuration, setup),
		cmocka_unit_test_setup(lost_by_command, setup),
		cmocka_unit_test_setup(command_that_stays, setup),
		cmocka_unit_test_setup(many, setup),
	};

	return cmocka_run_group_tests_name("daemon: difference", tests, NULL, NULL);
}
