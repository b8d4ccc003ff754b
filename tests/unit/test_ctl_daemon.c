/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* liblnetxctl against lnetxd on a fake node: every object is shown, changed and followed. */
#include <errno.h>

#include <lnetx/ctl.h>

#include "../../user/base/key.h"
#include "../../user/ctl/codec.h"
#include "../../user/schema/requests.h"
#include "cliworld.h"

static struct lx_ctl *ctl;

static int begin(void **state)
{
	start(NULL);
	assert_int_equal(lx_ctl_new(NULL, &ctl), 0);
	return 0;
}

static int finish(void **state)
{
	lx_ctl_free(ctl);
	return stop(state);
}

#define ARGS(...) ((const struct lx_ctl_arg[]){ __VA_ARGS__, { NULL, NULL } })

static void done(enum lx_ctl_verb verb, enum lx_ctl_object object, const struct lx_ctl_arg *args)
{
	if (lx_ctl_do(ctl, verb, object, args))
		fail_msg("%s", lx_ctl_why(ctl)->text);
}

/* Counts the fields of a row or map that have a value. */
static unsigned int count_fields(const struct lx_ctl_row *row)
{
	struct lx_ctl_value v = { 0 };
	unsigned int n = 0;

	while (lx_ctl_each(row, &v))
		n += v.type == LX_CTL_MAP || v.type == LX_CTL_LIST ? count_fields(&v.inside) : 1;
	return n;
}

/* Counts the rows of a show; *ret_fields: fields of all rows. */
static unsigned int show(enum lx_ctl_object object, const struct lx_ctl_arg *args,
			 unsigned int *ret_fields)
{
	struct lx_ctl_row row;
	unsigned int n = 0;
	int more;

	if (lx_ctl_start(ctl, LX_CTL_SHOW, object, args))
		fail_msg("%s", lx_ctl_why(ctl)->text);
	*ret_fields = 0;
	while ((more = lx_ctl_next(ctl, &row)) == 1) {
		n++;
		*ret_fields += count_fields(&row);
	}
	if (more < 0)
		fail_msg("%s: %s", lx_ctl_object_name(object), lx_ctl_why(ctl)->text);
	return n;
}

static unsigned int rows(enum lx_ctl_object object)
{
	unsigned int fields, n = show(object, NULL, &fields);

	assert_true(!n == !fields);
	return n;
}

static void test_every_show(void **state)
{
	for (const struct lx_request *r = lx_requests; r->object < LX_CTL_OBJECT_COUNT && r->schema;
	     r++) {
		unsigned int n;

		if (r->verb != LX_CTL_SHOW || r->object == LX_CTL_PING || r->object == LX_CTL_EVENT ||
		    r->object == LX_CTL_DISCOVER || r->object == LX_CTL_TRACE)
			continue;
		n = rows(r->object);
		if (r->object == LX_CTL_DAEMON || r->object == LX_CTL_TUNABLE ||
		    r->object == LX_CTL_STATS || r->object == LX_CTL_BPF ||
		    r->object == LX_CTL_GUARD)
			assert_true(n > 0);
	}
}

static void test_changes(void **state)
{
	struct lx_ctl_row route;
	unsigned int fields;

	done(LX_CTL_ADD, LX_CTL_NET, ARGS({ "net_type", "tcp" }, { "interfaces", "eth0" },
					  { "tunables.peer_credits", "16" },
					  { "lnd_tunables.conns_per_peer", "2" }));
	done(LX_CTL_ADD, LX_CTL_ROUTE, ARGS({ "net", "tcp5" }, { "gateway", "127.0.0.9@tcp" },
					    { "hop", "3" }));
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_ROUTE, ARGS({ "net", "tcp5" })), 0);
	assert_int_equal(lx_ctl_next(ctl, &route), 1);
	assert_string_equal(lx_ctl_text(&route, "gateway"), "127.0.0.9@tcp");
	assert_int_equal(lx_ctl_int(&route, "hop", 0), 3);
	assert_int_equal(lx_ctl_int(&route, "gateway", -7), -7);
	assert_int_equal(lx_ctl_int(&route, "nosuch", -7), -7);
	assert_null(lx_ctl_text(&route, "hop"));
	assert_null(lx_ctl_text(&route, "gateway.x"));
	assert_int_equal(lx_ctl_next(ctl, &route), 0);
	done(LX_CTL_DEL, LX_CTL_ROUTE, ARGS({ "net", "tcp5" }));
	assert_int_equal(rows(LX_CTL_ROUTE), 0);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_ROUTE, ARGS({ "net", "tcp5" })), -ENOENT);
	assert_int_equal(lx_ctl_why(ctl)->origin, LX_CTL_FROM_DAEMON);
	assert_string_equal(lx_ctl_why(ctl)->object, "route");

	done(LX_CTL_ADD, LX_CTL_PEER, ARGS({ "primary_nid", "127.0.0.7@tcp" },
					   { "peer_ni", "127.0.0.8@tcp" }));
	assert_int_equal(show(LX_CTL_PEER, ARGS({ "nid", "127.0.0.8@tcp" }), &fields), 2);
	done(LX_CTL_DEL, LX_CTL_PEER, ARGS({ "primary_nid", "127.0.0.7@tcp" }));
	done(LX_CTL_ADD, LX_CTL_UDSP, ARGS({ "src", "tcp" }, { "action.priority", "0" }));
	assert_int_equal(rows(LX_CTL_UDSP), 1);
	done(LX_CTL_DEL, LX_CTL_UDSP, NULL);
	done(LX_CTL_ADD, LX_CTL_FAULT, ARGS({ "src", "127.0.0.1@tcp" }, { "dst", "127.0.0.9@tcp" },
					    { "rate", "10" }));
	assert_int_equal(rows(LX_CTL_FAULT), 1);
	done(LX_CTL_SET, LX_CTL_FAULT, ARGS({ "delay", "false" }));
	done(LX_CTL_DEL, LX_CTL_FAULT, ARGS({ "all", "true" }));
	assert_int_equal(lx_ctl_why(ctl)->count, 1);
	done(LX_CTL_SET, LX_CTL_SELFTEST, ARGS({ "enable", "1" }, { "consoles", "tcp" }));
	assert_int_equal(rows(LX_CTL_SELFTEST), 1);
	done(LX_CTL_SET, LX_CTL_SELFTEST, ARGS({ "enable", "0" }));
	done(LX_CTL_SET, LX_CTL_ROUTING, ARGS({ "enable", "1" }));
	done(LX_CTL_SET, LX_CTL_BUFFERS, ARGS({ "tiny", "2048" }));
	done(LX_CTL_DEL, LX_CTL_STATS, NULL);
	done(LX_CTL_DEL, LX_CTL_NET, ARGS({ "net_type", "tcp" }));
	done(LX_CTL_DEL, LX_CTL_NODE, NULL);
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &route), -ENETDOWN);
	done(LX_CTL_ADD, LX_CTL_NODE, ARGS({ "all", "true" }));
}

static void test_shorthand(void **state)
{
	char value[24], one[1];

	assert_int_equal(lx_ctl_tunable_set(ctl, "lnet", "lnet_retry_count", "4"), 0);
	assert_int_equal(lx_ctl_tunable_get(ctl, "lnet", "lnet_retry_count", value, sizeof(value)),
			 0);
	assert_string_equal(value, "4");
	assert_int_equal(lx_ctl_tunable_get(ctl, "lnet", "lnet_retry_count", one, 1), -ENOSPC);
	assert_int_equal(lx_ctl_why(ctl)->error, -ENOSPC);
	assert_int_equal(lx_ctl_tunable_get(ctl, "tcp", "acept", value, sizeof(value)), -ENOENT);
	assert_non_null(strstr(lx_ctl_why(ctl)->text, "did you mean accept?"));
	assert_int_equal(lx_ctl_tunable_set(ctl, "a_module_with_a_name", "x", "1"), -EINVAL);
	assert_string_equal(lx_ctl_why(ctl)->word, "module");
	assert_int_equal(lx_ctl_ping(ctl, "nonsense", 100), -EINVAL);
	assert_int_equal(lx_ctl_why(ctl)->origin, LX_CTL_FROM_CALLER);
}

/* Same keys and values as "lnetx -j". */
static void test_like_json(void **state)
{
	const struct proc_result *r = expect(0, "lnetx -j net show");
	struct lx_ctl_value name, value;
	struct lx_ctl_row ni;

	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), 1);
	memset(&name, 0, sizeof(name));
	while (lx_ctl_each(&ni, &name)) {
		char key[64], json[80];

		lx_key_snake(name.key, key, sizeof(key));
		snprintf(json, sizeof(json), "\"%s\":", key);
		if (!strstr(r->out, json))
			fail_msg("%s is not in %s", json, r->out);
		assert_int_equal(lx_ctl_get(&ni, key, &value), 0);
		assert_int_equal(value.type, name.type);
		assert_int_equal(lx_ctl_get(&ni, name.key, &value), 0);
	}
}

static void test_follow(void **state)
{
	struct lx_ctl_row event;
	struct lx_ctl *other;
	const char *change;

	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_EVENT, NULL), 0);
	/* The subscription has been served when a later request on another connection has. */
	assert_int_equal(lx_ctl_new(NULL, &other), 0);
	do {
		assert_int_equal(lx_ctl_do(other, LX_CTL_ADD, LX_CTL_NET,
					   ARGS({ "net_type", "tcp" }, { "interfaces", "eth0" })), 0);
		assert_int_equal(lx_ctl_do(other, LX_CTL_DEL, LX_CTL_NET,
					   ARGS({ "net_type", "tcp" })), 0);
		lx_ctl_set_timeout(ctl, 1000);
	} while (lx_ctl_next(ctl, &event) == -ETIMEDOUT);
	lx_ctl_free(other);
	assert_int_equal(lx_ctl_why(ctl)->error, 0);
	change = lx_ctl_text(&event, "change");
	assert_non_null(change);
	assert_true(!strcmp(change, "ni add") || !strcmp(change, "ni del"));
	assert_true(lx_ctl_int(&event, "time_us", 0) > 0);
	/* Another request ends the subscription. */
	done(LX_CTL_DEL, LX_CTL_STATS, NULL);
}

static void test_none(void **state)
{
	struct lx_ctl *other;

	assert_int_equal(lx_ctl_new("nosuch", &other), 0);
	assert_int_equal(lx_ctl_do(other, LX_CTL_DEL, LX_CTL_STATS, NULL), -ENOENT);
	assert_int_equal(lx_ctl_why(other)->origin, LX_CTL_FROM_CONNECTION);
	assert_non_null(strstr(lx_ctl_why(other)->text, "no lnetxd runs as instance nosuch"));
	assert_non_null(strstr(lx_ctl_why(other)->text, "of one that runs: test"));
	lx_ctl_free(other);
}

int main(int argc, char **argv)
{
#define WITH_DAEMON(f) cmocka_unit_test_setup_teardown(f, begin, finish)
	const struct CMUnitTest tests[] = {
		WITH_DAEMON(test_every_show), WITH_DAEMON(test_changes),
		WITH_DAEMON(test_shorthand),  WITH_DAEMON(test_like_json),
		WITH_DAEMON(test_follow),     WITH_DAEMON(test_none),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
