/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Files of other versions, in tests/golden/conf: what comes of each, and what is named as ignored.
 * A new file is a row.
 */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <lnetx/lnetx.h>

#include "../../user/base/cleanup.h"

#define DIR "tests/golden/conf/"

/* The "global:" of 2.14 and later. */
#define GLOBALS                                                                                   \
	"lnet_numa_range=0; lnet_interfaces_max=200; lnet_peer_discovery_disabled=0; "             \
	"lnet_drop_asym_route=0; lnet_retry_count=2; lnet_transaction_timeout=150; "               \
	"lnet_health_sensitivity=100; lnet_recovery_interval=1; "                                  \
	"router_sensitivity_percentage=100; lnet_response_tracking=3; lnet_recovery_limit=0; "

struct file {
	const char *name;
	const char *what; /* as describe() writes it */
	const char *ignored;
};

static const struct file files[] = {
	{ "export-2.10.yaml",
	  "tcp eth0 10.0.0.1@tcp credits 256/8; "
	  "o2ib ib0 10.1.0.1@o2ib credits 1024/128 lnd 64 256 1 0 2048 512 1 2048; "
	  "route o2ib1 10.1.0.9@o2ib; peer 10.0.0.2@tcp mr +1; routing 1; lnet_numa_range=0; ",
	  "\"tcp bonding\" (line 17)" },
	{ "export-2.12.yaml",
	  "o2ib2 ib0 10.2.0.1@o2ib2 credits 256/8 lnd 4 8 1 1 512 384 1 512; "
	  "o2ib2 ib1 10.2.0.2@o2ib2 credits 256/8 lnd 4 8 1 1 512 384 1 512; "
	  "route tcp 10.2.0.9@o2ib2 hop 1; peer 10.2.0.9@o2ib2; routing 0; lnet_numa_range=0; "
	  "lnet_interfaces_max=200; lnet_peer_discovery_disabled=0; ",
	  "\"tcp bonding\" (line 43)" },
	{ "backup-2.12.yaml",
	  "tcp eth0 credits 256/8; tcp eth1 credits 256/8; route o2ib 10.0.0.9@tcp; "
	  "peer 10.0.0.2@tcp mr +1; routing 1; buffers 512 4096 256; lnet_numa_range=0; "
	  "lnet_interfaces_max=200; lnet_peer_discovery_disabled=1; ",
	  NULL },
	{ "export-2.14.yaml",
	  "tcp2 eth2.10 10.0.2.1@tcp2 credits 256/8; route tcp3 10.0.2.9@tcp2; "
	  "peer 10.0.2.9@tcp2 mr +1; routing 0; " GLOBALS,
	  "\"tcp bonding\" (line 43)" },
	{ "export-2.15.yaml",
	  "tcp bond0 10.0.0.1@tcp credits 256/8 lnd 4 50; "
	  "o2ib ib0 10.1.0.1@o2ib credits 256/32 lnd 16 64 4 1 1280 1024 1 2048 50; "
	  "route tcp9 10.1.0.9@o2ib; peer 10.1.0.9@o2ib mr +0; routing 0; udsp o2ib; " GLOBALS,
	  NULL },
	{ "backup-2.17.yaml",
	  "tcp1 eth0 credits 256/8 lnd 1; tcp1 eth1 credits 256/8 lnd 1; "
	  "o2ib ib0 credits 256/8 lnd 64 256 1 0 2048 512 1 2048; route tcp2 10.77.0.3@tcp1; "
	  "peer 10.77.0.3@tcp1 mr +1; " GLOBALS "lnet_max_recovery_ping_interval=900; ",
	  NULL },
	{ "pre-multi-rail.yaml", "tcp eth0 credits 256/8; ", NULL },
	{ "manual.yaml",
	  "tcp2 eth2 credits 2048/256; route tcp6 192.168.205.130@tcp2 hop 4; routing 1; "
	  "buffers 1024 2000 512; ",
	  "\"seq_no\" (line 13), \"detail\" (line 14)" },
	{ "guide-appended.yaml",
	  "tcp1 eth1 10.0.1.1@tcp1; tcp2 eth2 10.0.2.1@tcp2; route tcp8 10.0.1.9@tcp1; "
	  "route tcp9 10.0.2.9@tcp2; lnet_retry_count=2; lnet_peer_discovery_disabled=0; "
	  "lnet_retry_count=3; ", /* the last one counts */
	  NULL },
	{ "role-template.yaml", "o2ib ib0 credits 1024/128 lnd 64 256 1 2048 512 1; tcp eth0; "
	  "routing 1; lnet_peer_discovery_disabled=1; lnet_retry_count=2; ",
	  "\"peercredits_hiw\" (line 11), \"ntx\" (line 13), \"peer_credits\" (line 28), "
	  "\"tcp bonding\" (line 30)" },
	{ "legacy2yaml-2.17.yaml",
	  "o2ib1 ib0; tcp on the first interface up; route tcp9 10.0.0.9@o2ib1 hop 2; ", NULL },
	{ "role-router.yaml", "tcp1 eth1; tcp2 eth2; routing 1; ", NULL },
};

static char *read_file(const char *name, size_t *ret_len)
{
	char path[200], *text = malloc(1u << 16);
	FILE *file;

	snprintf(path, sizeof(path), DIR "%s", name);
	file = fopen(path, "re");
	if (!file || !text)
		fail_msg("%s: %s (tests run in the root of the tree)", path, strerror(errno));
	*ret_len = fread(text, 1, 1u << 16, file);
	fclose(file);
	return text;
}

static void describe_ni(FILE *out, const struct lx_conf_ni *ni)
{
	bool lnd = false;

	fprintf(out, "%s %s", lx_net_str(ni->net), ni->ifname);
	if (!lx_nid_eq(&ni->nid, &lx_nid_any))
		fprintf(out, " %s", lx_nid_str(&ni->nid));
	if (ni->tun.credits != LX_UNSET)
		fprintf(out, " credits %d/%d", ni->tun.credits, ni->tun.peer_credits);
	for (size_t i = 0; i < sizeof(ni->lnd_tun.value) / sizeof(ni->lnd_tun.value[0]); i++) {
		if (ni->lnd_tun.value[i] == LX_UNSET)
			continue;
		fprintf(out, "%s %d", lnd ? "" : " lnd", ni->lnd_tun.value[i]);
		lnd = true;
	}
	fputs("; ", out);
}

static void describe_peer(FILE *out, const struct lx_conf_peer *peer)
{
	fprintf(out, "peer %s", lx_nid_str(&peer->primary));
	if (peer->multi_rail)
		fprintf(out, " mr +%zu", peer->n_nids);
	fputs("; ", out);
}

static void describe(FILE *out, const struct lx_conf *conf)
{
	for (size_t i = 0; i < conf->n_nis; i++)
		describe_ni(out, &conf->ni[i]);
	for (size_t i = 0; i < conf->n_rules; i++) {
		assert_true(conf->rule[i].always && !conf->rule[i].n_ifnames);
		fprintf(out, "%s on the first interface up; ", lx_net_str(conf->rule[i].ni.net));
	}
	for (size_t i = 0; i < conf->n_routes; i++) {
		fprintf(out, "route %s %s", lx_net_str(conf->route[i].net),
			lx_nid_str(&conf->route[i].gateway));
		if (conf->route[i].hop != LX_UNSET)
			fprintf(out, " hop %d", conf->route[i].hop);
		fputs("; ", out);
	}
	for (size_t i = 0; i < conf->n_peers; i++)
		describe_peer(out, &conf->peer[i]);
	if (conf->routing != LX_UNSET)
		fprintf(out, "routing %d; ", conf->routing);
	if (conf->buffers[0] != LX_UNSET)
		fprintf(out, "buffers %d %d %d; ", (int)conf->buffers[0], (int)conf->buffers[1],
			(int)conf->buffers[2]);
	for (size_t i = 0; i < conf->n_udsps; i++)
		fprintf(out, "udsp %s%s%s; ", conf->udsp[i].src, conf->udsp[i].dst,
			conf->udsp[i].rte);
	for (size_t i = 0; i < conf->n_tunables; i++)
		fprintf(out, "%s=%s; ", conf->tunable[i].name, conf->tunable[i].value);
}

static void print_mistake(const struct lx_conf_error *err, void *arg)
{
	print_error("%s:%d:%d: %s\n", (char *)arg, err->line, err->column, err->text);
}

static void test_files(void **state)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const struct file *f = &files[i];
		char *what LX_AUTO_FREE = NULL;
		struct lx_conf_error err;
		struct lx_conf *conf;
		size_t len, size;
		char *yaml LX_AUTO_FREE = read_file(f->name, &len);
		FILE *out = open_memstream(&what, &size);

		/* All that "lnetxd -t" looks for, except for the interfaces of this machine. */
		if (lx_node_check_yaml(yaml, len, LX_CHECK_FILE, print_mistake, (void *)f->name))
			fail_msg("%s has mistakes", f->name);
		assert_int_equal(lx_conf_parse(yaml, len, &conf, &err), 0);
		describe(out, conf);
		fclose(out);
		if (strcmp(what, f->what))
			fail_msg("%s:\n%s\nexpected:\n%s", f->name, what, f->what);
		if (strcmp(conf->ignored ? conf->ignored : "", f->ignored ? f->ignored : ""))
			fail_msg("%s: ignored: %s\nexpected: %s", f->name, conf->ignored,
				 f->ignored);
		lx_conf_free(conf);
	}
}

/* Each key once, whatever its number; a text of bounded length. */
static void test_many_ignored(void **state)
{
	size_t len = 0;
	char *yaml LX_AUTO_FREE = malloc(1u << 20);
	struct lx_conf_error err;
	struct lx_conf *conf;

	len += sprintf(yaml, "net:\n");
	for (int i = 0; i < 5000; i++)
		len += sprintf(yaml + len, "- {net type: tcp, local NI(s): [{interfaces: {0: e%d},"
					   " tcp bonding: 0}], seq_no: %d}\n", i, i);
	assert_int_equal(lx_conf_parse(yaml, len, &conf, &err), 0);
	assert_int_equal(conf->n_nis, 5000);
	assert_string_equal(conf->ignored, "\"tcp bonding\" (line 2), \"seq_no\" (line 2)");
	lx_conf_free(conf);
}

/* Module parameters that have no meaning here, under both names of their modules. */
static void test_parameters(void **state)
{
	static const char yaml[] =
		"tunables:\n"
		"  lnet: {config_on_load: 1, use_tcp_bonding: 1, rnet_htable_size: 128,\n"
		"         live_router_check_interval: 60, dead_router_check_interval: 60,\n"
		"         cpu_npartitions: 2, cpu_pattern: \"0[0,1]\", libcfs_debug: 0,\n"
		"         router_ping_timeout: 40}\n"
		"  libcfs: {cpu_npartitions: 2, libcfs_debug_mb: 64}\n"
		"  ksocklnd: {backoff_init: 3, backoff_max: 3, protocol: 3, credits: 512}\n"
		"  ko2iblnd: {ipif_name: ib0, ntx: 2048}\n"
		"  o2ib: {ipif_name: ib1}\n";
	static const char unknown[] = "tunables: {lnet: {ipif_name: ib0}}\n";
	char *what LX_AUTO_FREE = NULL;
	struct lx_conf_error err;
	struct lx_conf *conf;
	size_t size;
	FILE *out = open_memstream(&what, &size);

	assert_int_equal(lx_node_check_yaml(yaml, strlen(yaml), LX_CHECK_FILE, print_mistake,
					    "parameters"), 0);
	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, &err), 0);
	describe(out, conf);
	fclose(out);
	assert_string_equal(what, "router_ping_timeout=40; credits=512; ntx=2048; ");
	assert_string_equal(conf->ignored,
			    "\"config_on_load\" (line 2), \"use_tcp_bonding\" (line 2), "
			    "\"rnet_htable_size\" (line 2), \"live_router_check_interval\" (line 3), "
			    "\"dead_router_check_interval\" (line 3), \"cpu_npartitions\" (line 4), "
			    "\"cpu_pattern\" (line 4), \"libcfs_debug\" (line 4), "
			    "\"libcfs_debug_mb\" (line 6), \"backoff_init\" (line 7), "
			    "\"backoff_max\" (line 7), \"protocol\" (line 7), "
			    "\"ipif_name\" (line 8)");
	lx_conf_free(conf);
	assert_int_equal(lx_node_check_yaml(unknown, strlen(unknown), LX_CHECK_FILE, print_mistake,
					    "unknown"), -ENOENT);
}

/* A key unknown to every version stays a mistake, and mistakes leave nothing behind. */
static void test_unknown(void **state)
{
	static const char yaml[] = "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
				   "    tcp bonding: 0\n    tcp bondage: 0\n";
	struct lx_conf_error err;
	struct lx_conf *conf = NULL;

	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, &err), -EINVAL);
	assert_null(conf);
	assert_int_equal(err.line, 6);
	assert_int_equal(err.column, 5);
	assert_non_null(strstr(err.text, "did you mean \"tcp bonding\"?"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_many_ignored),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
