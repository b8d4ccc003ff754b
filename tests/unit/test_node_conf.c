/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration of a running node: what a new one changes, and what it refuses. */
#include "nodeworld.h"

static int apply_yaml(const char *yaml, struct lx_conf_error *ret_err)
{
	struct lx_conf *conf;
	int r;

	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, ret_err), 0);
	r = lx_node_apply(a, conf, LX_APPLY_DIFF, ret_err);
	lx_conf_free(conf);
	return r;
}

/* With settings of TCP for tests. */
static int apply(const char *text, struct lx_conf_error *ret_err)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), "%stunables:\n    tcp: { accept_port: %d, accept: all }\n",
		 text, own_port());
	return apply_yaml(yaml, ret_err);
}

/* In addition to how the node began. */
static int apply_more(const char *more, struct lx_conf_error *ret_err)
{
	char yaml[1024];

	snprintf(yaml, sizeof(yaml), yaml_fmt, "127.0.0.1", own_port(), own_port(), 2, more);
	return apply_yaml(yaml, ret_err);
}

static void apply_by_difference(void **state)
{
	static const char *first =
		"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		"route:\n    - net: tcp5\n      gateway: 127.0.0.2@tcp\n"
		"    - net: tcp6\n      gateway: 127.0.0.2@tcp\n"
		"peer:\n    - primary nid: 127.0.0.2@tcp\n      Multi-Rail: true\n"
		"global: { transaction_timeout: 30 }\n";
	static const char *second =
		"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		"        - nid: 127.0.0.5@tcp\n"
		"route:\n    - net: tcp5\n      gateway: 127.0.0.2@tcp\n      priority: 1\n";
	struct lx_conn_info *conns;
	struct lx_route_info *routes;
	struct lx_conf_error err;
	struct lx_ni_info *nis;
	size_t n, n_conns;

	assert_int_equal(apply(first, &err), 0);
	assert_int_equal(lx_route_list(a, &routes, &n), 0);
	assert_int_equal(n, 2);
	free(routes);
	assert_int_equal(ping(a, "127.0.0.2@tcp", NULL), 0);
	assert_int_equal(lx_conn_list(a, &conns, &n_conns), 0);
	assert_true(n_conns > 0);
	free(conns);

	assert_int_equal(apply(second, &err), 0);
	assert_int_equal(lx_route_list(a, &routes, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(routes[0].priority, 1);
	free(routes);
	assert_int_equal(lx_ni_list(a, &nis, &n), 0);
	assert_int_equal(n, 3);
	free(nis);
	/* NIs that stayed the same kept their connections. */
	assert_int_equal(lx_conn_list(a, &conns, &n), 0);
	assert_true(n >= n_conns);
	free(conns);
}

/* "PRIMARY NID...; " of each configured peer */
static const char *configured_peers(void)
{
	static char text[400];
	struct lx_peer_info *peers;
	size_t n, used = 0;

	text[0] = '\0';
	assert_int_equal(lx_peer_list(a, &peers, &n), 0);
	for (size_t i = 0; i < n; i++) {
		if (!(peers[i].state & LX_PEER_CONFIGURED))
			continue;
		used += snprintf(text + used, sizeof(text) - used, "%s",
				 peers[i].multi_rail ? "" : "single ");
		for (size_t j = 0; j < peers[i].n_nis; j++)
			used += snprintf(text + used, sizeof(text) - used, "%s ",
					 lx_nid_str(&peers[i].ni[j].nid));
		used += snprintf(text + used, sizeof(text) - used, "; ");
	}
	free(peers);
	return text;
}

#define PEER(primary, nids)                                                                        \
	"    - primary nid: " primary "\n      Multi-Rail: true\n      peer ni:\n"                 \
	"        - nid: " primary "\n" nids
#define NID(nid) "        - nid: " nid "\n"
#define GATEWAY "127.0.0.77@tcp"

static void peers_by_difference(void **state)
{
	static const struct {
		const char *more, *want;
	} steps[] = {
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.2@tcp5") NID("10.0.0.1@tcp6")),
		  "10.0.0.1@tcp5 10.0.0.2@tcp5 10.0.0.1@tcp6 ; " },
		/* NIDs go, with the net of the last one. */
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.2@tcp5")),
		  "10.0.0.1@tcp5 10.0.0.2@tcp5 ; " },
		{ "peer:\n" PEER("10.0.0.1@tcp5", ""), "10.0.0.1@tcp5 ; " },
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.2@tcp5")),
		  "10.0.0.1@tcp5 10.0.0.2@tcp5 ; " },
		/* From one peer to another. */
		{ "peer:\n" PEER("10.0.0.1@tcp5", "") PEER("10.0.0.3@tcp5", NID("10.0.0.2@tcp5")),
		  "10.0.0.1@tcp5 ; 10.0.0.3@tcp5 10.0.0.2@tcp5 ; " },
		/* A peer's primary NID, and another one in its place. */
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.3@tcp5")) PEER("10.0.0.2@tcp5", ""),
		  "10.0.0.1@tcp5 10.0.0.3@tcp5 ; 10.0.0.2@tcp5 ; " },
		{ "peer:\n    - primary nid: 10.0.0.1@tcp5\n      Multi-Rail: false\n",
		  "single 10.0.0.1@tcp5 ; " },
		/* This node itself, as in an export after it has pinged its own NID. */
		{ "peer:\n" PEER("127.0.0.1@tcp", ""), "127.0.0.1@tcp ; " },
		/* A gateway, until its last route goes. */
		{ "peer:\n" PEER(GATEWAY, ""), GATEWAY " ; " },
		{ "peer:\n" PEER(GATEWAY, "") "route:\n    - net: tcp5\n      gateway: " GATEWAY
					      "\n",
		  GATEWAY " ; " },
		{ "", "" },
	};
	struct lx_conf_error err;

	for (size_t i = 0; i < N_OF(steps); i++) {
		print_message("step %zu\n", i);
		assert_int_equal(apply_more(steps[i].more, &err), 0);
		assert_string_equal(configured_peers(), steps[i].want);
	}
}

/* A configuration that gives a peer's NID to another one wins over what the peer says. */
static void discovered_nids_by_difference(void **state)
{
	static const char *just_b = "peer:\n" PEER("127.0.0.2@tcp", "");
	struct lx_conf_ni second = { .net = LX_NET(LX_NET_TCP, 0),
				     .nid = id("127.0.0.6@tcp").nid,
				     .tun = { LX_UNSET, LX_UNSET, LX_UNSET, LX_UNSET } };
	struct lx_conf_error err;

	assert_int_equal(lx_net_add(b, &second), 0);
	assert_int_equal(apply_more(just_b, &err), 0);
	assert_int_equal(discover(a, "127.0.0.2@tcp", false), 0);
	assert_string_equal(configured_peers(), "127.0.0.2@tcp 127.0.0.6@tcp ; ");
	assert_int_equal(apply_more(just_b, &err), 0);
	assert_string_equal(configured_peers(), "127.0.0.2@tcp 127.0.0.6@tcp ; ");
	assert_int_equal(
		apply_more("peer:\n" PEER("127.0.0.2@tcp", "") PEER("127.0.0.6@tcp", ""), &err), 0);
	assert_string_equal(configured_peers(), "127.0.0.2@tcp ; 127.0.0.6@tcp ; ");
}

/* A part that cannot be applied is an error, and names the peer. */
static void peer_conflicts_with_a_gateway(void **state)
{
	static const char *route = "route:\n    - net: tcp5\n      gateway: " GATEWAY "\n";
	struct lx_conf_error err;
	char more[400];

	snprintf(more, sizeof(more), "peer:\n%s%s", PEER(GATEWAY, NID("10.0.0.2@tcp6")), route);
	assert_int_equal(apply_more("peer:\n" PEER(GATEWAY, NID("10.0.0.2@tcp6")), &err), 0);
	assert_int_equal(apply_more(more, &err), 0);
	assert_int_equal(apply_more(more, &err), 0);
	/* A gateway keeps its NIDs: routes and discovery define it. */
	snprintf(more, sizeof(more), "peer:\n%s%s", PEER("10.0.0.3@tcp6", NID("10.0.0.2@tcp6")),
		 route);
	assert_int_equal(apply_more(more, &err), -EEXIST);
	assert_non_null(strstr(err.text, "peer 10.0.0.3@tcp6"));
}

/* NIs of a net share the first one's tunables: those of a second one are no change. */
static void same_again_changes_nothing(void **state)
{
	static const char *text =
		"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		"          tunables: { credits: 100 }\n"
		"        - nid: 127.0.0.5@tcp\n          tunables: { credits: 200 }\n";
	struct lx_nid source = id("127.0.0.5@tcp").nid;
	struct lx_conf_error err;
	struct lx_ni_info *nis;
	size_t n;

	assert_int_equal(apply(text, &err), 0);
	assert_int_equal(ping(a, "127.0.0.2@tcp", &source), 0);
	assert_int_equal(apply(text, &err), 0);
	assert_int_equal(lx_ni_list(a, &nis, &n), 0);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		if (!lx_nid_eq(&nis[i].nid, &source))
			continue;
		assert_int_equal(nis[i].tun.credits, 100);
		assert_true(nis[i].traffic.sent.get > 0);
	}
	free(nis);
}

static void bad_configurations(void **state)
{
	static const struct {
		const char *yaml;
		int error, line;
	} bad[] = {
		{ "tunables:\n    tcp: { nosuch: 1 }\n", -ENOENT, 2 },
		{ "tunables:\n    lnet: { lnet_retry_count: -5 }\n", -ERANGE, 2 },
		{ "tunables:\n    ib: { x: 1 }\n", -ENOENT, 2 },
		{ "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n"
		  "              0: nosuch0\n",
		  -ENODEV, 4 },
		{ "route:\n    - net: tcp9\n      gateway: 10.0.0.1@tcp8\n", -EHOSTUNREACH, 2 },
		{ "net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		  "peer:\n" PEER("127.0.0.1@tcp", NID("10.0.0.1@tcp")),
		  -EINVAL, 6 },
		{ "net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		  "peer:\n" PEER("10.0.0.1@tcp", NID("127.0.0.1@tcp")),
		  -EINVAL, 6 },
	};

	for (unsigned int i = 0; i < N_OF(bad); i++) {
		struct lx_conf_error err = { 0 };
		struct lx_node *node = NULL;
		int r;

		r = lx_node_new_yaml(bad[i].yaml, strlen(bad[i].yaml), &err, &node);
		print_message("%d:%d: %s\n", err.line, err.column, err.text);
		if (r != -EINVAL)
			assert_int_equal(r, bad[i].error);
		assert_null(node);
		assert_true(err.text[0]);
		assert_in_range(err.line, bad[i].line, bad[i].line + 1);
	}
}

/* ---- tunables of a running node -------------------------------------------------- */

static bool stops_listening(int at)
{
	for (int i = 0; i < 12000 && listens(at); i++)
		usleep(5000);
	return !listens(at);
}

static int write_port(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	return lx_tunable_write(a, "tcp", name, text);
}

static int read_port(const char *module, const struct lx_tunable *t, const char *value, void *arg)
{
	if (!strcmp(module, "tcp") && !strcmp(t->name, "accept_port_bulk"))
		*(int *)arg = atoi(value);
	return 0;
}

static int taken_port(int *ret_fd)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);

	*ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(*ret_fd, 1), 0);
	getsockname(*ret_fd, (struct sockaddr *)&sa, &len);
	return ntohs(sa.sin_port);
}

/* Listening ports follow the tunables, also while NIs are up. */
static void listeners_follow(void **state)
{
	int fd, now = -1, taken = taken_port(&fd);

	assert_true(listens(own_port()));
	assert_int_equal(write_port("accept_port_bulk", own_port() + 20000), 0);
	assert_true(listens(own_port()) && listens(own_port() + 20000));
	/* The reference has them in module lnet. */
	assert_int_equal(lx_tunable_write(a, "lnet", "accept_port_bulk", "0"), 0);
	assert_true(stops_listening(own_port() + 20000));
	assert_int_equal(write_port("accept_port_bulk", own_port() + 20000), 0);
	/* A port that is taken changes nothing. */
	assert_int_equal(write_port("accept_port_bulk", taken), -EADDRINUSE);
	lx_tunable_each(a, read_port, &now);
	assert_int_equal(now, own_port() + 20000);
	assert_true(listens(own_port() + 20000));
	/* 0: follows accept_port. */
	assert_int_equal(write_port("accept_port_bulk", 0), 0);
	assert_true(stops_listening(own_port() + 20000) && listens(own_port()));
	assert_int_equal(write_port("accept_port", own_port() + 20000), 0);
	assert_true(listens(own_port() + 20000) && stops_listening(own_port()));
	assert_int_equal(lx_tunable_write(a, "tcp", "accept", "none"), 0);
	assert_true(stops_listening(own_port() + 20000));
	assert_int_equal(lx_tunable_write(a, "tcp", "accept", "all"), 0);
	assert_true(listens(own_port() + 20000));
	assert_int_equal(write_port("accept_port", own_port()), 0);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(apply_by_difference),
		T(peers_by_difference),
		T(discovered_nids_by_difference),
		T(peer_conflicts_with_a_gateway),
		T(same_again_changes_nothing),
		T(bad_configurations),
		T(listeners_follow),
	};

	return begin() ? cmocka_run_group_tests_name("node_conf", tests, NULL, NULL) : 0;
}
