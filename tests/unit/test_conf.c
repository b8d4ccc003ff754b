/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* YAML configurations: what is accepted; refusals, with line and column. */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <internal/ctl.h>
#include <lnetx/conf.h>

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/sock/sock.h"
#include "../../user/ctl/codec.h"
#include "../../user/conf/check.h"
#include "../../user/conf/global.h"
#include "../../user/conf/import.h"

static struct lx_conf *parse(const char *yaml)
{
	struct lx_conf_error err;
	struct lx_conf *conf = NULL;
	int ret = lx_conf_parse(yaml, strlen(yaml), &conf, &err);

	if (ret)
		fail_msg("%d:%d: %s (%d)", err.line, err.column, err.text, ret);
	return conf;
}

static void assert_nid(const struct lx_nid *nid, const char *text)
{
	assert_string_equal(lx_nid_str(nid), text);
}

/* ---- what is understood ------------------------------------------------------------ */

static void test_empty(void **state)
{
	static const char *const texts[] = {
		"", "# nothing\n", "---\n", "~\n", "---\n...\n", "{}\n"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct lx_conf *conf = parse(texts[i]);

		assert_int_equal(conf->n_nis, 0);
		assert_int_equal(conf->routing, LX_UNSET);
		assert_int_equal(conf->buffers[LX_POOL_LARGE], LX_UNSET);
		lx_conf_free(conf);
	}
	lx_conf_free(NULL);
}

static const char whole[] = "net:\n"
			    "-     net type: lo\n"
			    "      local NI(s):\n"
			    "      -     nid: 0@lo\n"
			    "            status: up\n"
			    "-     net type: tcp1\n"
			    "      local NI(s):\n"
			    "      -     interfaces:\n"
			    "                  0: eth0\n"
			    "            tunables:\n"
			    "                  peer_timeout: 180\n"
			    "                  peer_credits: 8\n"
			    "                  peer_buffer_credits: 0\n"
			    "                  credits: 256\n"
			    "            lnd tunables:\n"
			    "                  conns_per_peer: 1\n"
			    "                  tos: -1\n"
			    "            CPT: \"[0]\"\n"
			    "      -     nid: 10.77.0.11@tcp1\n"
			    "route:\n"
			    "-     net: tcp2\n"
			    "      gateway: 10.77.0.3@tcp1\n"
			    "      hop: -1\n"
			    "      priority: 0\n"
			    "      state: up\n"
			    "routing:\n"
			    "    - cpt[0]:\n"
			    "          tiny:\n"
			    "              npages: 0\n"
			    "    - cpt[1]:\n"
			    "          tiny: { npages: 0 }\n"
			    "    - enable: 1\n"
			    "buffers: { tiny: 512, small: 4096 }\n"
			    "peer:\n"
			    "    - primary nid: 10.77.0.3@tcp1\n"
			    "      Multi-Rail: False\n"
			    "      peer ni:\n"
			    "        - nid: 10.77.0.3@tcp1\n"
			    "          state: up\n"
			    "        - nid: 0@lo\n" /* of the node's own peer */
			    "        - nid: 10.77.1.[3-4]@tcp2\n"
			    "    - primary nid: 6@gni\n"
			    "global:\n"
			    "    discovery: 0\n"
			    "    retry_count: 3\n"
			    "    lnd_timeout: 49\n"
			    "numa:\n"
			    "    range: 7\n"
			    "tunables:\n"
			    "    lnet: { alive_router_check_interval: 10 }\n"
			    "    tcp:\n"
			    "        accept: all\n"
			    "statistics:\n"
			    "    msgs_alloc: 0\n";

static void test_whole(void **state)
{
	static const struct {
		const char *module, *name, *value;
	} tunables[] = {
		{ "lnet", "lnet_peer_discovery_disabled", "1" },
		{ "lnet", "lnet_retry_count", "3" },
		{ "lnet", "lnet_numa_range", "7" },
		{ "lnet", "alive_router_check_interval", "10" },
		{ "tcp", "accept", "all" },
	};
	struct lx_conf *conf = parse(whole);

	assert_int_equal(conf->n_nis, 2);
	assert_string_equal(conf->ni[0].ifname, "eth0");
	assert_int_equal(conf->ni[0].net, LX_NET(LX_NET_TCP, 1));
	assert_int_equal(conf->ni[0].tun.peer_timeout, 180);
	assert_int_equal(conf->ni[0].tun.peer_buffer_credits, 0);
	assert_int_equal(conf->ni[0].lnd_tun.value[0], 1);
	assert_int_equal(conf->ni[0].lnd_tun.value[1], LX_UNSET);
	assert_int_equal(conf->ni[0].at.line, 9);
	assert_int_equal(conf->ni[0].at.column, 22);
	assert_true(lx_nid_eq(&conf->ni[0].nid, &lx_nid_any));
	assert_nid(&conf->ni[1].nid, "10.77.0.11@tcp1");
	assert_string_equal(conf->ni[1].ifname, "");
	assert_int_equal(conf->ni[1].tun.credits, LX_UNSET);

	assert_int_equal(conf->n_routes, 1);
	assert_int_equal(conf->route[0].hop, LX_UNSET);
	assert_int_equal(conf->route[0].priority, 0);
	assert_nid(&conf->route[0].gateway, "10.77.0.3@tcp1");

	assert_int_equal(conf->routing, 1);
	assert_int_equal(conf->buffers[LX_POOL_TINY], 512);
	assert_int_equal(conf->buffers[LX_POOL_LARGE], LX_UNSET);

	assert_int_equal(conf->n_peers, 2);
	assert_false(conf->peer[0].multi_rail);
	assert_int_equal(conf->peer[0].n_nids, 2);
	assert_nid(&conf->peer[0].nid[1], "10.77.1.4@tcp2");
	assert_true(conf->peer[1].multi_rail);
	assert_int_equal(conf->peer[1].n_nids, 0);

	assert_int_equal(conf->n_tunables, 5);
	for (int i = 0; i < 5; i++) {
		assert_string_equal(conf->tunable[i].module, tunables[i].module);
		assert_string_equal(conf->tunable[i].name, tunables[i].name);
		assert_string_equal(conf->tunable[i].value, tunables[i].value);
		assert_true(conf->tunable[i].at.line > 40);
		assert_int_equal(conf->tunable[i].at.line, conf->tunable[i].value_at.line);
		assert_true(conf->tunable[i].at.column < conf->tunable[i].value_at.column ||
			    i == 2);
	}
	lx_conf_free(conf);
}

/* Settings of a net apply to all its NIs, in any order; an NI's own settings win. */
static void test_net_settings(void **state)
{
	struct lx_conf *conf = parse("net:\n"
				     "  - local NI(s):\n"
				     "      - interfaces: { 0: eth0, 1: eth1 }\n"
				     "      - interfaces: [eth2]\n"
				     "        tunables: { credits: 7 }\n"
				     "        lnd tunables: { tos: 104 }\n"
				     "    lnd tunables: { conns_per_peer: 3 }\n"
				     "    tunables: { peer_timeout: 182, credits: 256 }\n"
				     "    CPT: [0, 0-0]\n"
				     "    net type: tcp\n"
				     "  - net: tcp3\n"
				     "    interfaces: { 0: 'eth3[0,1]' }\n"
				     "    tunables: { credits: 5 }\n");

	assert_int_equal(conf->n_nis, 4);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(conf->ni[i].lnd_tun.value[0], 3);
		assert_int_equal(conf->ni[i].tun.peer_timeout, 182);
	}
	assert_string_equal(conf->ni[1].ifname, "eth1");
	assert_int_equal(conf->ni[1].tun.credits, 256);
	assert_int_equal(conf->ni[2].tun.credits, 7);
	assert_int_equal(conf->ni[2].lnd_tun.value[2], 104);
	assert_string_equal(conf->ni[3].ifname, "eth3");
	assert_int_equal(conf->ni[3].tun.credits, 5);
	lx_conf_free(conf);
}

static void test_udsp(void **state)
{
	struct lx_conf *conf = parse("udsp:\n"
				     "  - { idx: 3, src: \"*.*.*.*@tcp\", action: { priority: 0 } }\n"
				     "  - { dst: tcp1, rte: 10.0.0.1@tcp, action: }\n");

	assert_int_equal(conf->n_udsps, 2);
	assert_string_equal(conf->udsp[0].src, "*.*.*.*@tcp");
	assert_string_equal(conf->udsp[0].dst, "");
	assert_int_equal(conf->udsp[0].index, 3);
	assert_int_equal(conf->udsp[0].priority, 0);
	assert_string_equal(conf->udsp[1].dst, "tcp1");
	assert_string_equal(conf->udsp[1].rte, "10.0.0.1@tcp");
	assert_int_equal(conf->udsp[1].index, LX_UNSET);
	assert_int_equal(conf->udsp[1].priority, LX_UNSET);
	lx_conf_free(conf);
}

static void test_selftest(void **state)
{
	struct lx_conf *conf = parse("selftest:\n"
				     "    enable: 1\n"
				     "    consoles: 10.0.0.*@tcp, 10.1.0.[1,4]@o2ib1\n"
				     "    rpc_timeout: 10\n");

	assert_int_equal(conf->selftest.enable, 1);
	assert_string_equal(conf->selftest.consoles, "10.0.0.*@tcp, 10.1.0.[1,4]@o2ib1");
	assert_int_equal(conf->selftest.rpc_timeout, 10);
	assert_int_equal(conf->selftest.session_timeout, LX_UNSET);
	lx_conf_free(conf);
	conf = parse("selftest:\n");
	assert_int_equal(conf->selftest.enable, LX_UNSET);
	lx_conf_free(conf);
}

static void test_route_forms(void **state)
{
	struct lx_conf *conf = parse("route:\n"
				     "  net: o2ib1\n"
				     "  gateway: 192.168.1.[1-3]@tcp\n"
				     "  hop-count: 2\n"
				     "  health_sensitivity: 4\n"
				     "routing: { enable: 3 }\n");

	assert_int_equal(conf->n_routes, 3);
	assert_nid(&conf->route[2].gateway, "192.168.1.3@tcp");
	assert_int_equal(conf->route[2].hop, 2);
	assert_int_equal(conf->route[2].priority, LX_UNSET);
	assert_int_equal(conf->route[2].health_sensitivity, 4);
	assert_int_equal(conf->routing, 1);
	lx_conf_free(conf);
}

/* Every key that a show command prints must be accepted in a configuration. */
static void all_known(const struct lx_schema *schema, const char *before)
{
	struct lx_conf_error err;
	char yaml[300];

	for (const struct lx_field *f = schema->field; f->key; f++) {
		struct lx_conf *conf = NULL;

		if (f->level > LX_LEVEL_MAX && !f->backup)
			continue;
		snprintf(yaml, sizeof(yaml), "%s%s: 1\n", before, f->key);
		if (lx_conf_parse(yaml, strlen(yaml), &conf, &err) && strstr(err.text, "invalid key"))
			fail_msg("%s: %s", yaml, err.text);
		lx_conf_free(conf);
	}
}

static void test_shown_keys(void **state)
{
	all_known(lx_object_nets.group, "net:\n  - ");
	all_known(lx_object_nets.row, "net:\n  - net type: tcp\n    local NI(s):\n      - ");
	all_known(lx_object_peers.group, "peer:\n  - ");
	all_known(lx_object_peers.row, "peer:\n  - primary nid: 1@tcp\n    peer ni:\n      - ");
	all_known(lx_object_routes.row, "route:\n  - ");
	/* lnetctl prints them, after "enable". */
	lx_conf_free(parse("routing:\n    - enable: 1\n      phase: starting\n"
			   "      seconds_left: 57\n"));
}

/* Parameters that the reference has in another module. */
static void test_acceptor(void **state)
{
	struct lx_conf *conf = parse("tunables: { lnet: { accept_port_bulk: 989, lnet_retry_count: 1 } }");

	assert_int_equal(conf->n_tunables, 2);
	assert_string_equal(conf->tunable[0].module, "tcp");
	assert_string_equal(conf->tunable[0].name, "accept_port_bulk");
	assert_string_equal(conf->tunable[1].module, "lnet");
	lx_conf_free(conf);
	conf = parse("tunables: { ksocklnd: { sock_timeout: 9 }, ko2iblnd: { timeout: 9 } }");
	assert_string_equal(conf->tunable[0].module, "tcp");
	assert_string_equal(conf->tunable[1].module, "o2ib");
	lx_conf_free(conf);
}

/* A section without a value is empty. */
static void test_null_sections(void **state)
{
	struct lx_conf *conf = parse("net:\nroute:\nrouting:\nbuffers:\npeer:\nglobal:\n"
				     "tunables:\n  lnet:\n");

	assert_int_equal(conf->n_nis + conf->n_routes + conf->n_peers + conf->n_tunables, 0);
	lx_conf_free(conf);
}

/* ---- what is not ------------------------------------------------------------------- */

struct bad {
	const char *yaml;
	int error, line, column;
	const char *text; /* must occur in the message */
};

#define NET "net:\n  - net type: tcp\n    local NI(s):\n      - "

static const struct bad bads[] = {
	{ "foobar:\n", -EINVAL, 1, 1, "invalid key \"foobar\"" },
	{ "net: [", -EINVAL, 2, 1, "not YAML" },
	{ "net:\n\t- a\n", -EINVAL, 2, 1, "not YAML" },
	{ "a: b\n---\nc: d\n", -EINVAL, 3, 1, "second document" },
	{ "- a\n", -EINVAL, 1, 1, "a mapping" },
	{ "net: 5\n", -EINVAL, 1, 6, "a sequence" },
	{ "net:\n  - tcp\n", -EINVAL, 2, 5, "a mapping" },
	{ "net:\n  - local NI(s): []\n", -EINVAL, 2, 5, "no value for \"net type\"" },
	{ "net:\n  - net type: tcp\n    local NI(s):\n", -EINVAL, 2, 5,
	  "no value for \"local NI(s)\"" },
	{ "net:\n  - net type: foo\n", -EINVAL, 2, 15, "\"foo\" is not a net" },
	{ "net:\n  - net type: kfi\n", -EOPNOTSUPP, 2, 15, "no transport" },
	{ "net:\n  - net type: tcp\n    net type: tcp\n", -EINVAL, 3, 5, "given twice" },
	{ NET "status: up\n", -EINVAL, 4, 9, "without \"interfaces\"" },
	{ NET "nid: bad\n", -EINVAL, 4, 14, "is not a NID" },
	{ NET "interfaces: {0: a}\n        rails: 0\n", -EINVAL, 5, 16,
	  "rails \"0\": a number of" },
	{ NET "interfaces: {0: a}\n        rails: [1]\n", -EINVAL, 5, 16, "a sequence, where one" },
	{ NET "nid: 10.0.0.1@tcp\n        rails: 2\n", -EINVAL, 4, 9, "not \"nid\"" },
	{ NET "rails: 2\n", -EINVAL, 4, 9, "without \"interfaces\"" },
	{ NET "nid: 10.0.0.1@tcp1\n", -EINVAL, 4, 14, "is not on net tcp" },
	{ NET "nid: 10.0.0.1@tcp\n        interfaces: {0: a, 1: b}\n", -EINVAL, 4, 9,
	  "one \"nid\" for 2 interfaces" },
	{ NET "interfaces: {0: abcdefghijklmnopqrst}\n", -EINVAL, 4, 25, "not an interface name" },
	{ NET "interfaces: {0: ''}\n", -EINVAL, 4, 25, "not an interface name" },
	{ NET "interfaces: eth0\n", -EINVAL, 4, 21, "a mapping" },
	{ NET "interfaces: {0: e}\n        tunables: {credits: x}\n", -EINVAL, 5, 29,
	  "\"x\" is not a number" },
	{ NET "interfaces: {0: e}\n        tunables: {credits: 99999999999}\n", -EINVAL, 5, 29,
	  "is not in" },
	{ NET "interfaces: {0: e}\n        tunables: {creditz: 1}\n", -EINVAL, 5, 20,
	  "invalid key \"creditz\" in tunables; did you mean \"credits\"?" },
	{ NET "interfaces: {0: e}\n        tunables: {foobar: 1}\n", -EINVAL, 5, 20,
	  "known: peer_timeout, peer_credits" },
	{ NET "interfaces: {0: e}\n        tunables: {peer_credits: 0}\n", -EINVAL, 5, 34,
	  "0 is not in 1..1048576" },
	{ NET "interfaces: {0: e}\n        tunables: {peer_timeout: 90000}\n", -EINVAL, 5, 34,
	  "90000 is not in" },
	{ NET "interfaces: {0: e}\n        lnd tunables: {timeout: 90000}\n", -EINVAL, 5, 33,
	  "90000 is not in -1..86400" },
	{ NET "interfaces: {0: e}\n        lnd tunables: {conn_per_peer: 2}\n", -EINVAL, 5, 24,
	  "did you mean \"conns_per_peer\"?" },
	{ NET "interfaces: {0: e}\n        lnd tunables: {conns_per_peer: 200}\n", -EINVAL, 5, 40,
	  "200 is not in -1..127" },
	{ NET "interfaces: {0: e}\n        lnd tunables: {foobar: 1}\n", -EINVAL, 5, 24,
	  "invalid key \"foobar\" in lnd tunables of net type tcp" },
	{ NET "interfaces: {0: e}\n        CPT: \"[1-0]\"\n", -EINVAL, 5, 14, "CPT" },
	{ NET "interfaces: {0: e}\n        CPT: \"[]\"\n", -EINVAL, 5, 14, "CPT" },
	{ NET "interfaces: {0: e}\n        CPT: [1-0]\n", -EINVAL, 5, 15, "CPT" },
	{ NET "interfaces: {0: e}\n        CPT: []\n", -EINVAL, 5, 14, "an empty list" },
	{ NET "interfaces: {0: e}\n        CPT: \"[0,]\"\n", -EINVAL, 5, 14, "CPT" },
	{ NET "interfaces: {0: e}\n        CPT: \"[99999999999]\"\n", -EINVAL, 5, 14, "CPT" },
	{ NET "interfaces: {0: e}\n        CPT: \"[0\"\n", -EINVAL, 5, 14, "CPT" },
	{ "route:\n  - net: tcp2\n", -EINVAL, 2, 5, "no value for \"gateway\"" },
	{ "route:\n  - gateway: 1.1.1.1@tcp\n", -EINVAL, 2, 5, "no value for \"net\"" },
	{ "route:\n  - net: tcp2\n    gateway: nobody\n", -EINVAL, 3, 14, "is not a NID" },
	{ "route:\n  - net: tcp2\n    gateway: 1.1.1.[1-200]@tcp\n", -EINVAL, 3, 14, "too many" },
	{ "route:\n  - net: tcp2\n    hop: 1\n    hop-count: 2\n", -EINVAL, 4, 5,
	  "\"hop\" given twice" },
	{ "route:\n  - net: tcp2\n    hop: 300\n", -EINVAL, 3, 10, "300 is not in" },
	{ "route:\n  - net: tcp2\n    hop: 0\n", -EINVAL, 3, 10, "1..255" },
	{ "route:\n  - net: tcp2\n    via: x\n", -EINVAL, 3, 5, "invalid key \"via\" in route" },
	{ "routing:\n  enable: maybe\n", -EINVAL, 2, 11, "is not a number" },
	{ "routing: 4\n", -EINVAL, 1, 10, "is not in 0..3" },
	{ "routing:\n  enable: 5\n", -EINVAL, 2, 11, "is not in 0..3" },
	{ "buffers: { huge: 1 }\n", -EINVAL, 1, 12, "known: tiny, small, large" },
	{ "buffers: { large: 2000000 }\n", -EINVAL, 1, 19, "is not in 0..1048576" },
	/* "force" is of a command. */
	{ "peer:\n  - {primary nid: 9.9.9.9@tcp, forced: 1}\n", -EINVAL, 2, 32,
	  "known: primary nid, Multi-Rail, lock_prim, peer ni" },
	{ "peer:\n  - Multi-Rail: true\n", -EINVAL, 2, 5, "primary nid" },
	{ "peer:\n  - primary nid: 9.9.9.9@tcp\n    Multi-Rail: Foobar\n", -EINVAL, 3, 17,
	  "\"Foobar\"" },
	{ "peer:\n  - primary nid: 1.1.1.1@gni\n", -EINVAL, 2, 18, "is not a NID" },
	{ "peer:\n  - primary nid: 1.1.1.1@tcp\n    peer ni:\n      - nid: [a]\n", -EINVAL, 4, 14,
	  "a sequence, where one value" },
	{ "peer:\n  - primary nid: 1.1.1.1@tcp\n    peer ni:\n      - nid: 1.1.1.[2-255]@tcp\n",
	  -EINVAL, 4, 14, "more than 128 NIDs" },
	{ "global:\n  discovery:\n", -EINVAL, 2, 13, "no value for \"discovery\"" },
	{ "global:\n  discovery: foo\n", -EINVAL, 2, 14, "invalid value for \"discovery\"" },
	{ "global:\n  response_tracking: -10\n", -EINVAL, 2, 22, "is not in" },
	{ "global: [1]\n", -EINVAL, 1, 9, "a mapping" },
	{ "global:\n  what: 1\n", -EINVAL, 2, 3, "invalid key \"what\" in global" },
	{ "global:\n  retry: 1\n", -EINVAL, 2, 3, "did you mean \"retry_count\"?" },
	{ "global:\n  discovery: 2\n", -EINVAL, 2, 14, "is not in 0..1" },
	{ "global:\n  retry_count: 1\n  retry_count: 1\n", -EINVAL, 3, 3, "first in line 2" },
	{ "tunables:\n  tcp: { accept: all, sock_timeout: 1, accept: all }\n", -EINVAL, 2, 40,
	  "given twice" },
	{ NET "interfaces: {0: eth0, 0: eth1}\n", -EINVAL, 4, 31, "given twice" },
	{ "statistics:\n  a: { b: 1, c: 2, b: 1 }\n", -EINVAL, 2, 20, "given twice" },
	{ "numa:\n  ranges: 1\n", -EINVAL, 2, 3, "invalid key \"ranges\"" },
	{ "tunables: { lnet: 5 }\n", -EINVAL, 1, 19, "a mapping" },
	{ "tunables: { muchtoolonganame: { a: 1 } }\n", -EINVAL, 1, 33, "too long" },
	{ "tunables: { lnet: { a: [] } }\n", -EINVAL, 1, 24, "invalid value for \"a\"" },
	{ "ip2nets:\n  - ip-range:\n", -EINVAL, 2, 5, "no value for \"net-spec\"" },
	{ "udsp:\n  - src: bogus\n", -EINVAL, 2, 5, "src \"bogus\" is neither a net" },
	{ "udsp:\n  - src: tcp\n    rte: tcp\n", -EINVAL, 2, 5, "do not go together" },
	{ "udsp:\n  - idx: 0\n", -EINVAL, 2, 5, "a policy needs" },
	{ "udsp:\n  - src: tcp\n    action: { prio: 1 }\n", -EINVAL, 3, 15,
	  "did you mean \"priority\"" },
	{ "udsp:\n  - src: tcp\n    action: { priority: -2 }\n", -EINVAL, 3, 25, "-2 is not in" },
	{ "ping:\n  nids: {0: 1.1.1.1@tcp}\n", -EINVAL, 2, 3, "import --exec" },
	{ "\"net\\0\": 1\n", -EINVAL, 1, 1, "NUL" },
	{ "? [a]\n: b\n", -EINVAL, 1, 3, "a sequence" },
};

static void test_bad(void **state)
{
	for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		const struct bad *b = &bads[i];
		struct lx_conf_error err;
		struct lx_conf *conf = NULL;
		int ret = lx_conf_parse(b->yaml, strlen(b->yaml), &conf, &err);

		if (ret != b->error || err.line != b->line || err.column != b->column ||
		    !strstr(err.text, b->text))
			fail_msg("%s-> %d, %d:%d: %s\nexpected %d, %d:%d: %s", b->yaml, ret,
				 err.line, err.column, err.text, b->error, b->line, b->column,
				 b->text);
		assert_null(conf);
	}
}

/* ---- all mistakes, not the first ---------------------------------------------------- */

static const char *const modes[] = { "off", "on", "auto", NULL };
static const struct lx_tunable lnet_table[] = {
	{ "lnet_retry_count", 0, 100, 2, NULL, "times", 0 },
	{ "lnet_numa_range", 0, 100, 0, NULL, "", 0 },
	{ 0 },
};
static const struct lx_tunable tcp_table[] = { { "accept", 0, 2, 0, modes, "who", 0 },
					       { "port", 1, 65535, 988, NULL, "", 0 },
					       { 0 } };
static const struct lx_conf_module modules[] = { { "lnet", lnet_table },
						 { "tcp", tcp_table },
						 { NULL, NULL } };

struct told {
	int line, column;
	const char *text;
};

/* Expects exactly these mistakes, in this order. */
static void tells(const char *yaml, const struct told *told, size_t n)
{
	struct lx_conf_report r = { 0 };
	struct lx_conf *conf = NULL;

	assert_int_equal(lx_conf_read(yaml, strlen(yaml), &r, &conf), 0);
	lx_conf_check(conf, conf, modules, &r);
	lx_conf_report_sort(&r);
	for (size_t i = 0; i < r.n || i < n; i++) {
		const struct lx_conf_error *e = i < r.n ? &r.list[i].what : NULL;

		if (!e || i >= n || e->line != told[i].line || e->column != told[i].column ||
		    !strstr(e->text, told[i].text))
			fail_msg("%s\nmistake %zu is %d:%d: %s\nnot %d:%d: %s", yaml, i,
				 e ? e->line : 0, e ? e->column : 0, e ? e->text : "-",
				 i < n ? told[i].line : 0, i < n ? told[i].column : 0,
				 i < n ? told[i].text : "-");
		assert_true(r.list[i].error < 0);
	}
	assert_int_equal(!lx_conf_report_end(&r, NULL), !n);
	lx_conf_free(conf);
}
#define TELLS(yaml, ...)                                                                           \
	tells(yaml, (const struct told[]){ __VA_ARGS__ },                                          \
	      sizeof((const struct told[]){ __VA_ARGS__ }) / sizeof(struct told))

#define TWO_NETS                                                                                   \
	"net:\n"                                                                                   \
	"- {net type: tcp, local NI(s): [{interfaces: {0: eth0}}]}\n"                              \
	"- {net type: tcp1, local NI(s): [{interfaces: {0: eth1}}]}\n"

static void test_all_mistakes(void **state)
{
	TELLS("net:\n"
	      "    - net type: tcp\n"
	      "      local NI(s):\n"
	      "        - interfaces: { 0: eth0 }\n"
	      "          tunables: { creditz: 5, peer_credits: x }\n"
	      "          what: 1\n"
	      "        - interfaces: { 0: toolongforaninterface }\n"
	      "    - net type: foo\n"
	      "      local NI(s): [{nid: bad}]\n"
	      "rout:\n"
	      "route:\n"
	      "    - net: tcp7\n"
	      "      gateway: nobody\n"
	      "      hop: 300\n"
	      "    - { net: tcp8, gateway: 10.9.9.9@tcp9 }\n"
	      "global: { retry_count: 5, retry_cont: 5, discovery: x }\n"
	      "tunables:\n"
	      "    tcp: { acept: all, port: 0, accept: maybe }\n"
	      "    tpc: { port: 5 }\n"
	      "peer: [1]\n",
	      { 5, 23, "did you mean \"credits\"?" }, { 5, 49, "\"x\" is not a number" },
	      { 6, 11, "invalid key \"what\"" }, { 7, 28, "not an interface name" },
	      { 8, 17, "is not a net" }, { 10, 1, "did you mean \"route\"?" },
	      { 13, 16, "\"nobody\"" }, { 14, 12, "300 is not in" },
	      /* Checks across nets are skipped, since not all nets could be parsed. */
	      { 16, 27, "did you mean \"retry_count\"?" }, { 16, 53, "\"x\" is not a number" },
	      { 18, 12, "tcp: no tunable \"acept\"; did you mean accept?" },
	      { 18, 30, "tcp: port: \"0\" is out of range; expected: 1..65535" },
	      { 18, 41, "tcp: accept: \"maybe\" is not a valid value; expected: off, on, auto" },
	      { 19, 12, "no module \"tpc\" has a tunable port; did you mean tcp?" },
	      { 20, 8, "a mapping" });
}

static void test_what_cannot_be(void **state)
{
	TELLS(TWO_NETS "route:\n"
		       "- {net: tcp1, gateway: 10.0.0.1@tcp}\n"
		       "- {net: tcp2, gateway: 10.0.0.1@tcp3}\n"
		       "- {net: tcp4, gateway: 10.0.0.1@tcp4}\n"
		       "- {net: tcp4, gateway: 10.0.0.1@tcp}\n"
		       "- {net: lo, gateway: 10.0.0.1@tcp}\n"
		       "- {net: tcp4, gateway: '10.0.0.[1-2]@tcp'}\n",
	      { 5, 9, "the net is local" },
	      { 6, 24, "there is no NI on the gateway's net tcp3 (nets: tcp, tcp1)" },
	      { 7, 24, "a gateway is a neighbour on another net" }, { 9, 9, "it needs none" },
	      { 10, 24, "given twice; first in line 8" });
	TELLS("net:\n"
	      "- net type: tcp\n"
	      "  local NI(s):\n"
	      "  - interfaces: {0: eth0, 1: eth1, 2: eth0}\n"
	      "  - nid: 10.0.0.1@tcp\n"
	      "- net type: tcp1\n"
	      "  local NI(s): [{interfaces: {0: eth0}}]\n"
	      "- net type: tcp\n"
	      "  local NI(s): [{interfaces: {0: eth1}}, {nid: 10.0.0.1@tcp}]\n",
	      { 4, 39, "eth0 is on net tcp twice; first in line 4" },
	      { 9, 34, "eth1 is on net tcp twice; first in line 4" },
	      { 9, 48, "10.0.0.1@tcp is on net tcp twice; first in line 5" });
	TELLS("peer:\n"
	      "- {primary nid: 1.1.1.1@tcp, peer ni: [{nid: 1.1.1.1@tcp}, {nid: 1.1.1.2@tcp}]}\n"
	      "- {primary nid: 1.1.1.3@tcp, peer ni: [{nid: 1.1.1.2@tcp}]}\n"
	      "- {primary nid: 1.1.1.3@tcp}\n"
	      "- {primary nid: 1.1.1.9@tcp, Multi-Rail: false, peer ni: [{nid: 1.1.1.8@tcp}]}\n",
	      { 3, 17, "1.1.1.2@tcp belongs to the peer in line 2, too" },
	      { 4, 17, "1.1.1.3@tcp belongs to the peer in line 3, too" },
	      { 5, 17, "not Multi-Rail has one NID, not 2" });
	TELLS("udsp:\n- { src: tcp1 }\n- { src: 10.0.0.1@tcp, dst: tcp1 }\n- { dst: tcp1 }\n"
	      "- { src: 'tcp[1]', action: { priority: 4 } }\n",
	      { 5, 3, "selection policy: given twice; first in line 2" });
	TELLS("global: { retry_count: 200 }\nnuma: { range: 5 }\n"
	      "tunables: { lnet: { lnet_numa_range: 6 } }\n",
	      { 1, 24, "global: retry_count: \"200\" is out of range; expected: 0..100" },
	      { 2, 16, "numa_range: line 3 sets lnet_numa_range of lnet to another value" });
}

static void test_nothing_to_tell(void **state)
{
	tells(TWO_NETS
	      "route:\n- {net: tcp2, gateway: 10.0.0.1@tcp}\n"
	      "- {net: tcp2, gateway: 10.0.0.2@tcp}\n- {net: tcp3, gateway: 10.0.0.1@tcp}\n"
	      "peer:\n- {primary nid: 1.1.1.1@tcp, peer ni: [{nid: 1.1.1.2@tcp}]}\n"
	      "global: { retry_count: 2 }\ntunables: { lnet: { lnet_retry_count: 2 } }\n",
	      NULL, 0);
	/* Partitions of a larger machine. */
	tells("net: [{net type: tcp, local NI(s): [{interfaces: {0: eth0}, CPT: '[4000]'}]}]\n",
	      NULL, 0);
	/* Zeros in an export, for settings that the net does not have. */
	tells("net:\n- net type: lo\n  local NI(s):\n  - nid: 0@lo\n"
	      "    tunables: {peer_timeout: 0, peer_credits: 0, credits: 0}\n",
	      NULL, 0);
	/* The keys of JSON. */
	tells("{\"net\":[{\"net_type\":\"tcp\",\"local_ni\":[{\"interfaces\":{\"0\":\"eth0\"},"
	      "\"lnd_tunables\":{\"tos\":3},\"cpt\":\"[0]\"}]}],\"routing\":[{\"cpt_0\":{}},"
	      "{\"enable\":1}],\"peer\":[{\"primary_nid\":\"1.1.1.1@tcp\",\"multi_rail\":true,"
	      "\"peer_ni\":[{\"nid\":\"1.1.1.2@tcp\"}]}]}",
	      NULL, 0);
}

/* A file full of mistakes must not exhaust memory or time. */
static void test_many_mistakes(void **state)
{
	struct lx_conf_report r = { 0 };
	struct lx_conf_error err;
	struct lx_conf *conf = NULL;
	char *yaml = malloc(3u << 20);
	size_t used = sprintf(yaml, "route:\n");

	for (int i = 0; i < 60000; i++)
		used += sprintf(yaml + used, "- {net: tcp%d, gateway: x%d}\n", i % 7, i);
	assert_int_equal(lx_conf_read(yaml, used, &r, &conf), 0);
	assert_int_equal(r.n, LX_CONF_MISTAKES_MAX);
	assert_int_equal(lx_conf_report_end(&r, &err), -EINVAL);
	assert_int_equal(err.line, 2);
	lx_conf_free(conf);
	used = sprintf(yaml, "route:\n");
	for (int i = 0; i < 60000; i++)
		used += sprintf(yaml + used, "- {net: tcp%d, gateway: 10.0.0.1@tcp}\n", i % 60 + 1);
	assert_int_equal(lx_conf_read(yaml, used, &r, &conf), 0);
	assert_int_equal(conf->n_routes, 60000);
	lx_conf_check(conf, conf, modules, &r);
	assert_int_equal(r.n, LX_CONF_MISTAKES_MAX);
	assert_int_equal(lx_conf_report_end(&r, &err), -EHOSTUNREACH);
	lx_conf_free(conf);
	free(yaml);
}

/* Every prefix of a good file parses, or is refused with line and column; nothing leaks. */
static void test_truncated(void **state)
{
	for (size_t len = 0; len < sizeof(whole) - 1; len++) {
		struct lx_conf_error err;
		struct lx_conf *conf = NULL;

		if (lx_conf_parse(whole, len, &conf, &err))
			assert_true(err.line > 0 && err.text[0]);
		lx_conf_free(conf);
	}
}

static void assert_too_big(const char *yaml, size_t len, int error)
{
	struct lx_conf_error err;
	struct lx_conf *conf = NULL;

	assert_int_equal(lx_conf_parse(yaml, len, &conf, &err), error);
	assert_non_null(strstr(err.text, "more than"));
}

/* Few bytes must not expand into much memory or time. */
static void test_limits(void **state)
{
	size_t len = (4u << 20) + 1, used;
	char *yaml = malloc(len);

	memset(yaml, '#', len);
	assert_too_big(yaml, len, -E2BIG);

	/* 300 nets, each the same 300 NIs, by reference */
	used = sprintf(yaml, "net:\n  - &n\n    net type: tcp\n    local NI(s):\n"
			     "      - &i {interfaces: {0: e}}\n");
	for (int i = 0; i < 300; i++)
		used += sprintf(yaml + used, "      - *i\n");
	for (int i = 0; i < 300; i++)
		used += sprintf(yaml + used, "  - *n\n");
	assert_too_big(yaml, used, -EINVAL);

	/* The same where nothing is stored: bounded by a count of steps. */
	used = sprintf(yaml, "peer:\n  - &p\n    primary nid: 1.1.1.1@tcp\n    peer ni:\n"
			     "      - &i {nid: 1.1.1.1@tcp}\n");
	for (int i = 0; i < 120; i++)
		used += sprintf(yaml + used, "      - *i\n");
	for (int i = 0; i < 5000; i++)
		used += sprintf(yaml + used, "  - *p\n");
	assert_too_big(yaml, used, -E2BIG);
	free(yaml);
}

/* ---- import: sections and commands ------------------------------------------------- */

static void test_import_scan(void **state)
{
	static const char yaml[] = "net:\n  - anything\n"
				   "discover:\n  nids:\n    0: 10.0.0.[1-2]@tcp\n"
				   "ping:\n  nids: [ 10.0.0.3@tcp ]\n  timeout: 7\n"
				   "  source: 10.0.0.9@tcp\n";
	struct lx_import import;
	struct lx_conf_error err;

	assert_int_equal(lx_import_scan(yaml, strlen(yaml), &import, &err), 0);
	assert_int_equal(import.sections,
			 1 << LX_IMPORT_NET | 1 << LX_IMPORT_PING | 1 << LX_IMPORT_DISCOVER);
	assert_int_equal(import.n_probes, 3);
	assert_true(import.probe[1].discover);
	assert_nid(&import.probe[1].nid, "10.0.0.2@tcp");
	assert_false(import.probe[2].discover);
	assert_int_equal(import.probe[2].timeout_ms, 7000);
	assert_nid(&import.probe[2].source, "10.0.0.9@tcp");
	lx_import_fini(&import);

	assert_int_equal(lx_import_scan("ping:\n  nids: {0: x}\n", 21, &import, &err), -EINVAL);
	assert_int_equal(err.line, 2);
	assert_int_equal(lx_import_scan("pong: 1\n", 8, &import, &err), -EINVAL);
}

/* Forms of a section: as documented, as printed, and as JSON. */
static void test_import_shapes(void **state)
{
	static const struct {
		const char *yaml, *nids; /* in order; "d" marks NIDs to discover */
	} shapes[] = {
		{ "ping: { nids: { 0: 1.1.1.1@tcp, 1: 1.1.1.2@tcp } }\n",
		  "1.1.1.1@tcp 1.1.1.2@tcp " },
		{ "ping:\n- nids: [ 1.1.1.1@tcp ]\n- nids: { 0: '1.1.1.[2-3]@tcp' }\n",
		  "1.1.1.1@tcp 1.1.1.2@tcp 1.1.1.3@tcp " },
		{ "ping:\n- primary nid: 1.1.1.1@tcp\n  Multi-Rail: true\n  peer_ni:\n"
		  "  - nid: 1.1.1.1@tcp\n  - nid: 1.1.1.9@tcp\n- primary nid: 1.1.1.2@tcp\n"
		  "  rtt_us: 5\n"
		  "manage:\n- ping:\n  errno: -5\n  descr: ! 'failed'\n",
		  "1.1.1.1@tcp 1.1.1.2@tcp " },
		{ "discover:\n- primary nid: 1.1.1.1@tcp\n  Multi-Rail: true\n  peer_ni: []\n",
		  "d1.1.1.1@tcp " },
		{ "ping:\n- 1.1.1.1@tcp\n- nid: 1.1.1.2@tcp\n", "1.1.1.1@tcp 1.1.1.2@tcp " },
		{ "ping: 1.1.1.1@tcp\n", "1.1.1.1@tcp " },
		{ "{\"ping\":[{\"primary_nid\":\"1.1.1.1@tcp\",\"multi_rail\":true,\"peer_ni\":[]},"
		  "{\"nid\":\"1.1.1.2@tcp\",\"error\":{\"errno\":-5}}],\"error\":{\"errno\":-5}}",
		  "1.1.1.1@tcp 1.1.1.2@tcp " },
		{ "ping:\ndiscover: []\n", "" },
	};
	struct lx_conf_error err;
	struct lx_import import;

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		char nids[400] = "";

		if (lx_import_scan(shapes[i].yaml, strlen(shapes[i].yaml), &import, &err))
			fail_msg("%s-> %d:%d: %s", shapes[i].yaml, err.line, err.column, err.text);
		for (size_t j = 0; j < import.n_probes; j++) {
			const struct lx_import_probe *p = &import.probe[j];

			sprintf(nids + strlen(nids), "%s%s ", p->discover ? "d" : "",
				lx_nid_str(&p->nid));
		}
		assert_string_equal(nids, shapes[i].nids);
		lx_import_fini(&import);
	}
	assert_int_equal(lx_import_scan("ping: { timeout: 5 }\n", 21, &import, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no value for \"nids\""));
	assert_int_equal(lx_import_scan("ping: { nods: {0: x} }\n", 23, &import, &err), -EINVAL);
	assert_non_null(strstr(err.text, "did you mean \"nids\"?"));
	assert_int_equal(lx_import_scan("pnig: {}\n", 9, &import, &err), -EINVAL);
	assert_non_null(strstr(err.text, "did you mean \"ping\"?"));
}

/* Parser and transport must agree on the index of each setting. */
static void test_lnd_settings(void **state)
{
	static const struct lx_lnd *const lnds[] = { &lx_sock_lnd, &lx_o2ib_lnd };

	assert_null(lx_conf_lnd_settings(LX_NET_KFI));
	for (unsigned int i = 0; i < sizeof(lnds) / sizeof(lnds[0]); i++) {
		const struct lx_conf_ni_setting *set = lx_conf_lnd_settings(lnds[i]->net_type);
		const char *const *names = lnds[i]->ni_tunables;

		for (; set && set->name; set++, names++) {
			assert_non_null(*names);
			assert_string_equal(set->name, *names);
		}
		assert_true(!set || !*names);
	}
}

static void test_globals(void **state)
{
	assert_string_equal(lx_global_lookup("max_intf")->tunable, "lnet_interfaces_max");
	assert_null(lx_global_lookup("lnet_interfaces_max"));
	assert_int_equal(lx_global_lnd_timeout(150, 2), 49);
	assert_int_equal(lx_global_lnd_timeout(150, 5), 24);
	assert_int_equal(lx_global_lnd_timeout(1, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_net_settings),
		cmocka_unit_test(test_route_forms),
		cmocka_unit_test(test_udsp),
		cmocka_unit_test(test_selftest),
		cmocka_unit_test(test_null_sections),
		cmocka_unit_test(test_acceptor),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_all_mistakes),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_nothing_to_tell),
		cmocka_unit_test(test_many_mistakes),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_lnd_settings),
		cmocka_unit_test(test_import_scan),
		cmocka_unit_test(test_import_shapes),
		cmocka_unit_test(test_globals),
		cmocka_unit_test(test_shown_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
