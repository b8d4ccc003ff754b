/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reloads of a running node, and the settings that a node leaves for the next one. */
#include "testlib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "rawpeer.h"

static struct lx_node *node;
static atomic_uint n_ni_adds;

/* A configuration of one NI. */
static struct lx_conf *conf_of(const char *ni, const char *tunables)
{
	struct lx_conf_error err = { 0 };
	struct lx_conf *conf;
	char yaml[1024];

	snprintf(yaml, sizeof(yaml),
		 "net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n%s"
		 "tunables:\n    tcp: { accept: all, %s }\n", ni, tunables);
	if (lx_conf_parse(yaml, strlen(yaml), &conf, &err))
		fail_msg("%d:%d: %s", err.line, err.column, err.text);
	return conf;
}

static int reload_with(const char *ni, const char *tunables, struct lx_conf_error *ret_err)
{
	struct lx_conf *conf = conf_of(ni, tunables);
	int r = lx_node_apply(node, conf, LX_APPLY_DIFF, ret_err);

	lx_conf_free(conf);
	return r;
}

static const char *usual(void)
{
	static char text[80];

	snprintf(text, sizeof(text), "accept_port: %d, accept_port_bulk: %d", own_port(), own_port());
	return text;
}

static void reload(const char *ni)
{
	struct lx_conf_error err = { 0 };

	if (reload_with(ni, usual(), &err))
		fail_msg("%s", err.text);
}

static void on_change(const struct lx_change *change, void *arg)
{
	n_ni_adds += change->type == LX_CHANGE_NI_ADD;
}

static void up(const char *tunables)
{
	struct lx_conf *conf = conf_of("", tunables);
	struct lx_conf_error err = { 0 };

	if (lx_node_new(conf, &err, &node))
		fail_msg("%s", err.text);
	lx_conf_free(conf);
	lx_node_watch(node, on_change, NULL);
}

static int setup(void **state)
{
	n_ni_adds = 0;
	up(usual());
	return 0;
}

static int teardown(void **state)
{
	lx_node_free(node);
	node = NULL;
	return 0;
}

/* A setting of the NI that only its transport understands. */
static int lnd_setting(const char *name)
{
	struct lx_ni_info *nis;
	int value = -2;
	size_t n;

	assert_int_equal(lx_ni_list(node, &nis, &n), 0);
	for (size_t i = 0; i < n; i++) {
		const char *const *names = nis[i].lnd_tunable_names;

		for (int j = 0; names && names[j]; j++) {
			if (!strcmp(names[j], name))
				value = nis[i].lnd_tun.value[j];
		}
	}
	free(nis);
	return value;
}

struct find {
	const char *name, *value;
	char text[40];
};

static int find_one(const char *module, const struct lx_tunable *t, const char *value, void *arg)
{
	struct find *f = arg;

	if (!strcmp(module, "tcp") && !strcmp(t->name, f->name))
		snprintf(f->text, sizeof(f->text), "%s", value);
	return 0;
}

static const char *tcp_tunable(const char *name)
{
	static struct find f;

	f = (struct find){ .name = name };
	lx_tunable_each(node, find_one, &f);
	return f.text;
}

/* 0 is a value, unless it leaves the choice to the transport. */
static void zero_is_a_setting(void **state)
{
	reload("          lnd tunables: { tos: 184 }\n");
	assert_int_equal(lnd_setting("tos"), 184);
	reload("          lnd tunables: { tos: 0 }\n");
	assert_int_equal(lnd_setting("tos"), 0);
	reload("          lnd tunables: { tos: 0, fastpath: 0 }\n");
	assert_int_equal(lnd_setting("fastpath"), 0);
	reload("          lnd tunables: { tos: 0, fastpath: 1 }\n");
	assert_int_equal(lnd_setting("fastpath"), 1);
}

/* Watchers hear of it a little later. */
static void assert_ni_adds(unsigned int n)
{
	for (int i = 0; i < 5000 && n_ni_adds < n; i++)
		usleep(1000);
	usleep(50000);
	assert_int_equal(n_ni_adds, n);
}

/* A value that the transport chose or adjusted is no difference from the file. */
static void same_choice_is_no_change(void **state)
{
	static const char *chosen = "          lnd tunables: { conns_per_peer: 0, timeout: 0 }\n";

	reload(chosen);
	assert_ni_adds(1);
	reload(chosen);
	assert_ni_adds(1);
	assert_true(lnd_setting("conns_per_peer") > 0);
	/* Until somebody else sets it. */
	assert_int_equal(lx_net_set(node, LX_NET(LX_NET_TCP, 0), &lx_nid_any, "conns_per_peer", 7), 0);
	assert_int_equal(lnd_setting("conns_per_peer"), 7);
	reload(chosen);
	assert_ni_adds(2);
	assert_true(lnd_setting("conns_per_peer") > 0);
}

/* A tunable that is no longer in the file, and cannot return to its default. */
static void default_that_fails_is_told(void **state)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(988) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct lx_conf_error err = { 0 };

	if (geteuid())
		skip();
	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 9), 0);
	assert_int_equal(reload_with("", "sock_timeout: 30", &err), -EADDRINUSE);
	assert_non_null(strstr(err.text, "tcp: accept_port"));
	assert_string_equal(tcp_tunable("sock_timeout"), "30");
	close(fd);
	assert_int_equal(reload_with("", "sock_timeout: 30", &err), 0);
	assert_string_equal(tcp_tunable("accept_port"), "988");
}

/* An export would be refused. */
static void values_that_conflict_are_refused(void **state)
{
	assert_int_equal(lx_tunable_write(node, "tcp", "min_reconnectms", "100000"), -EINVAL);
	assert_string_equal(tcp_tunable("min_reconnectms"), "1000");
	assert_int_equal(lx_tunable_write(node, "tcp", "max_reconnectms", "200000"), 0);
	assert_int_equal(lx_tunable_write(node, "tcp", "min_reconnectms", "100000"), 0);
}

/* Though transports' tunables are per process. */
static void tunables_end_with_the_node(void **state)
{
	char text[120];

	assert_int_equal(lx_tunable_write(node, "tcp", "keepalive", "11"), 0);
	lx_node_free(node);
	snprintf(text, sizeof(text), "%s, sock_timeout: 20", usual());
	up(text);
	assert_string_equal(tcp_tunable("sock_timeout"), "20");
	assert_string_equal(tcp_tunable("keepalive"), "30");
	lx_node_free(node);
	up(usual());
	assert_string_equal(tcp_tunable("sock_timeout"), "50");
}

static int add(const char *yaml, struct lx_conf_error *ret_err)
{
	struct lx_conf *conf;
	int r;

	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, ret_err), 0);
	r = lx_node_apply(node, conf, 0, ret_err);
	lx_conf_free(conf);
	return r;
}

#define NI "net: [{net type: tcp, local NI(s): [{nid: 127.0.0.1@tcp, "
#define ROUTE "route: [{net: tcp9, gateway: 127.0.0.9@tcp, "
#define PEER "peer:\n- primary nid: 127.0.0.7@tcp\n  peer ni: [{nid: 127.0.0.8@tcp}"

/* What is there already is no failure, unless it is there with other settings; nothing goes. */
static void additions(void **state)
{
	static const char *const files[] = {
		NI "lnd tunables: {conns_per_peer: 2}}]}]\n",
		ROUTE "hop: 2}]\n" PEER "]\n",
		PEER ", {nid: 127.0.0.6@tcp}]\n",
		"peer:\n- primary nid: 127.0.0.7@tcp\n",
	};
	struct lx_conf_error err = { 0 };
	struct lx_peer_info *peer;

	for (int i = 0; i < 4; i++)
		assert_int_equal(add(files[i], &err), i ? 0 : -EEXIST);
	for (int i = 0; i < 2; i++)
		assert_int_equal(add(NI "}]}]\n" ROUTE "hop: 2}]\n", &err), 0);
	assert_int_equal(lnd_setting("conns_per_peer"), 1);
	assert_int_equal(add(ROUTE "hop: 3}]\n", &err), -EEXIST);
	assert_string_equal(err.text, "route to tcp9 via 127.0.0.9@tcp: it is there with other "
				      "settings; delete it first");
	assert_int_equal(lx_peer_find(node, &(struct lx_nid){ .type = LX_NET_TCP, .addr = { 127, 0, 0, 7 } },
				      &peer), 0);
	assert_int_equal(peer->n_nis, 3);
	free(peer);
	assert_int_equal(n_ni_adds, 0);
}

#define PARTED                                                                                     \
	"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"             \
	"    - net type: tcp1\n      local NI(s):\n        - nid: 192.0.2.9@tcp1\n"                \
	"    - net type: tcp2\n      local NI(s):\n"                                               \
	"        - interfaces: { 0: nosuch }\n          rails: 2\n"                                \
	"route:\n    - { net: tcp8, gateway: 127.0.0.8@tcp }\n"                                     \
	"    - { net: tcp9, gateway: 192.0.2.1@tcp1 }\n"                                            \
	"peer:\n    - primary nid: 127.0.0.1@tcp\n      Multi-Rail: true\n"                         \
	"      peer ni:\n        - nid: 127.0.0.1@tcp\n        - nid: 192.0.2.9@tcp1\n"             \
	"    - primary nid: 127.0.0.7@tcp\n      Multi-Rail: false\n"

/* NIs without an interface or an address wait, with their routes; and nothing else does. */
static void parted(void **state)
{
	struct lx_conf_error err = { 0 };
	struct lx_conf *conf, *now, *later;

	assert_int_equal(lx_conf_parse(PARTED, strlen(PARTED), &conf, &err), 0);
	assert_int_equal(lx_node_check(conf, &err), -ENODEV);
	assert_int_equal(lx_node_check_yaml(PARTED, strlen(PARTED), LX_CHECK_PART, NULL, NULL), 0);
	assert_int_equal(lx_conf_part(conf, &now, &later, &err), 0);
	assert_int_equal(now->n_nis, 1);
	assert_int_equal(now->n_routes, 1);
	assert_int_equal(now->route[0].net, LX_NET(LX_NET_TCP, 8));
	/* The entry for the node itself would look like a mistake. */
	assert_int_equal(now->n_peers, 1);
	assert_int_equal(lx_node_check(now, &err), 0);
	assert_int_equal(later->n_nis, 2);
	assert_int_equal(later->n_routes, 1);
	assert_int_equal(later->route[0].net, LX_NET(LX_NET_TCP, 9));
	lx_conf_free(now);
	lx_conf_free(conf);

	/* Still not there. */
	conf = later;
	assert_int_equal(lx_conf_part(conf, &now, &later, &err), 0);
	assert_int_equal(now->n_nis, 0);
	assert_int_equal(later->n_nis, 2);
	lx_conf_free(now);
	lx_conf_free(later);
	lx_conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(zero_is_a_setting), T(same_choice_is_no_change), T(default_that_fails_is_told),
		T(values_that_conflict_are_refused), T(tunables_end_with_the_node), T(additions),
		cmocka_unit_test(parted),
	};

	/* With ports of our own, if we may. */
	if (!geteuid() && !raw_private_net())
		return 0;
	return cmocka_run_group_tests_name("reload", tests, NULL, NULL);
}
