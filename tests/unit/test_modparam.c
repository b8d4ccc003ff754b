/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Module parameters, and rules applied to a machine's addresses (control.md 4 and 7). */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../user/conf/modparam.h"
#include "../../user/conf/rule.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

typedef int (*parse_fn)(struct lx_modparam *p, const char *text);

static struct lx_conf_addr machine[4];

static void address(int i, const char *ifname, const char *text, bool up)
{
	struct lx_conf_addr *a = &machine[i];

	memset(a, 0, sizeof(*a));
	strcpy(a->ifname, ifname);
	a->v6 = strchr(text, ':');
	a->up = up;
	assert_int_equal(inet_pton(a->v6 ? AF_INET6 : AF_INET, text, a->addr), 1);
}

/* As node 10.77.0.3 of the captures, plus an IPv6 address. */
static int setup(void **state)
{
	address(0, "eth0", "10.77.0.3", true);
	address(1, "eth1", "10.78.0.3", true);
	address(2, "eth1", "fd78::3", true);
	address(3, "eth2", "10.79.0.3", false);
	return 0;
}

/* "tcp eth0, tcp1 eth1", or the errno. */
static const char *apply(const struct lx_conf *conf)
{
	static char text[400];
	struct lx_conf_ni *ni = NULL;
	size_t n = 0, used = 0;
	int err = lx_rules_apply(conf->rule, conf->n_rules, machine, N_OF(machine), &ni, &n);

	text[0] = '\0';
	if (err)
		snprintf(text, sizeof(text), "%d", err);
	for (size_t i = 0; !err && i < n; i++)
		used += snprintf(text + used, sizeof(text) - used, "%s%s %s", i ? ", " : "",
				 lx_net_str(ni[i].net), ni[i].ifname);
	free(ni);
	return text;
}

static void nis_of(parse_fn parse, const char *text, const char *want)
{
	struct lx_modparam p = { 0 };
	int err;

	assert_int_equal(lx_conf_new(&p.conf), 0);
	err = parse(&p, text);
	if (err)
		fail_msg("\"%s\": %s (%d)", text, p.why, err);
	if (strcmp(apply(p.conf), want))
		fail_msg("\"%s\" makes \"%s\", not \"%s\"", text, apply(p.conf), want);
	lx_conf_free(p.conf);
}

static void refused(parse_fn parse, const char *text, const char *why)
{
	struct lx_modparam p = { 0 };
	int err;

	assert_int_equal(lx_conf_new(&p.conf), 0);
	err = parse(&p, text);
	if (err != -EINVAL || !strstr(p.why, why))
		fail_msg("\"%s\": %d, \"%s\", which lacks \"%s\"", text, err, p.why, why);
	lx_conf_free(p.conf);
}

/* As the captured "modprobe lnet networks=..." did. */
static void test_networks(void **state)
{
	nis_of(lx_modparam_networks, "tcp(eth0)", "tcp eth0");
	nis_of(lx_modparam_networks, "tcp0(eth0,eth1)", "tcp eth0, tcp eth1");
	nis_of(lx_modparam_networks, "tcp(eth0),tcp1(eth1)", "tcp eth0, tcp1 eth1");
	nis_of(lx_modparam_networks, "tcp(eth0)[0],tcp1(eth1[0])", "tcp eth0, tcp1 eth1");
	nis_of(lx_modparam_networks, "tcp", "tcp eth0");
	nis_of(lx_modparam_networks, "tcp(eth0),tcp(eth1)", "tcp eth0, tcp eth1");
	nis_of(lx_modparam_networks, "tcp(eth9)", "tcp eth9");
	nis_of(lx_modparam_networks, "lo,tcp(eth0)", "tcp eth0");
	nis_of(lx_modparam_networks, "tcp,tcp(eth1)", "tcp eth1");
	nis_of(lx_modparam_networks, "tcp1,tcp( eth1 , eth0 ) , tcp2", "tcp1 eth0, tcp eth1, tcp eth0, tcp2 eth0");
	nis_of(lx_modparam_networks, "", "");
	refused(lx_modparam_networks, "bogus(eth0)", "\"bogus\" is not a net");
	refused(lx_modparam_networks, "tcp(eth0", "\")\"");
	refused(lx_modparam_networks, "tcp()", "name of an interface");
	refused(lx_modparam_networks, "tcp(eth0)x", "a comma");
	refused(lx_modparam_networks, "tcp(eth0),", "a net is expected");
	refused(lx_modparam_networks, "tcp(eth0,eth0)", "twice");
	refused(lx_modparam_networks, "tcp(eth0),tcp(eth0)", "twice");
	refused(lx_modparam_networks, "tcp(eth0)[0", "CPU partitions");
	nis_of(lx_modparam_networks, "tcp(eth0)[4000]", "tcp eth0");
	refused(lx_modparam_networks, "tcp(averyverylongname)", "name of an interface");
	refused(lx_modparam_networks, "gni(eth0)", "no transport");
}

static void test_ip2nets(void **state)
{
	nis_of(lx_modparam_ip2nets, "tcp(eth0) 10.77.0.*", "tcp eth0");
	nis_of(lx_modparam_ip2nets, "tcp 10.77.*.*;tcp1 10.78.0.[1-4/2,3]", "tcp eth0, tcp1 eth0");
	nis_of(lx_modparam_ip2nets, "tcp(eth0) 10.77.0.3;tcp(eth1) 10.78.0.3",
	       "tcp eth0, tcp eth1");
	nis_of(lx_modparam_ip2nets, "tcp(eth0),tcp1(eth1) 10.77.0.3", "tcp eth0, tcp1 eth1");
	nis_of(lx_modparam_ip2nets, "tcp(eth0, eth1) [10].[77,78].[0].[3]", "tcp eth0, tcp eth1");
	nis_of(lx_modparam_ip2nets, "tcp(eth9) 10.99.*.*  10.78.*.*", "tcp eth9");
	nis_of(lx_modparam_ip2nets, "tcp 10.99.*.*", "-2");
	nis_of(lx_modparam_ip2nets, "tcp", "-2");
	nis_of(lx_modparam_ip2nets, "tcp1(eth1) fd78::/64", "tcp1 eth1");
	nis_of(lx_modparam_ip2nets, "tcp1(eth1) fd79::/64 fd78::4", "-2");
	nis_of(lx_modparam_ip2nets, "# all\n tcp *.*.*.* # and; tcp1 10.77.0.3\n;\n",
	       "tcp eth0, tcp1 eth0");
	refused(lx_modparam_ip2nets, "tcp 10.77.0", "\"10.77.0\" is not an address pattern");
	refused(lx_modparam_ip2nets, "tcp 10.77.0.300", "is not an address pattern");
	refused(lx_modparam_ip2nets, "tcp 10.7[7-8].*.*", "is not an address pattern");
	refused(lx_modparam_ip2nets, "bogus 10.77.0.3", "\"bogus\" is not a net");
	refused(lx_modparam_ip2nets, "tcp 10.77.*.*; tcp1 fd78::/129", "is not an address pattern");
}

/* All interfaces are down: nets without a named interface find none. */
static void test_no_interface(void **state)
{
	for (size_t i = 0; i < N_OF(machine); i++)
		machine[i].up = false;
	nis_of(lx_modparam_networks, "tcp", "-19");
	nis_of(lx_modparam_networks, "tcp(eth2)", "tcp eth2");
	nis_of(lx_modparam_ip2nets, "tcp 10.77.*.*", "-19");
}

/* The ip2nets section: the first matching rule of a net, and interfaces by address. */
static void test_section(void **state)
{
	static const struct {
		const char *yaml, *want;
	} cases[] = {
		{ "- net-spec: tcp1\n  interfaces: {0: eth1}\n  ip-range: {0: 10.78.*.*}",
		  "tcp1 eth1" },
		{ "- net-spec: tcp\n  ip-range: {0: '10.77.0.[1-3]'}", "tcp eth0" },
		{ "- net-spec: tcp3\n  interfaces: {0: 'eth0[0]', 1: eth1}\n"
		  "  ip-range: {0: 10.77.0.3, 1: 10.78.0.3}",
		  "tcp3 eth0, tcp3 eth1" },
		{ "- net-spec: tcp4\n  interfaces: {0: eth0}\n  ip-range: {0: 10.99.*.*}", "-2" },
		{ "- net-spec: tcp4\n  interfaces: {0: eth9}\n  ip-range: {0: 10.77.*.*}", "-2" },
		/* All of its interfaces have to match. */
		{ "- net-spec: tcp4\n  interfaces: {0: eth0, 1: eth9}\n  ip-range: {0: 10.77.*.*}",
		  "-2" },
		{ "- net-spec: tcp4\n  interfaces: {0: eth0, 1: eth1}\n  ip-range: {0: 10.77.*.*}\n"
		  "- net-spec: tcp4\n  interfaces: {0: eth0}\n  ip-range: {0: 10.77.*.*}",
		  "tcp4 eth0" },
		{ "- net-spec: tcp4", "tcp4 eth0" },
		{ "- net-spec: tcp4\n  interfaces: {0: eth1}", "tcp4 eth1" },
		{ "- net-spec: tcp1\n  ip-range: {0: 10.78.*.*}", "tcp1 eth1" },
		{ "- net-spec: tcp1\n  ip-range: {0: 10.79.*.*}", "-2" },
		{ "- net-spec: tcp1\n  ip-range: {0: 'fd78::/48'}", "tcp1 eth1" },
		{ "- net-spec: tcp5\n  ip-range: {0: 10.99.*.*}\n"
		  "- net-spec: tcp6\n  ip-range: {0: 10.78.*.*}",
		  "tcp6 eth1" },
		/* Once a rule applies to a net, later rules for it are ignored. */
		{ "- net-spec: tcp\n  interfaces: {0: eth0}\n  ip-range: {0: '*.*.*.*'}\n"
		  "- net-spec: tcp\n  interfaces: {0: eth0, 1: eth1}\n"
		  "- net-spec: tcp2\n  interfaces: {0: eth0}",
		  "tcp eth0, tcp2 eth0" },
		{ "tcp(eth1) 10.77.*.*", "tcp eth1" },
	};
	char yaml[500];

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct lx_conf_error why;
		struct lx_conf *conf = NULL;

		snprintf(yaml, sizeof(yaml), "ip2nets:%s%s\n",
			 cases[i].yaml[0] == '-' ? "\n" : " ", cases[i].yaml);
		if (lx_conf_parse(yaml, strlen(yaml), &conf, &why))
			fail_msg("%s%d:%d: %s", yaml, why.line, why.column, why.text);
		if (strcmp(apply(conf), cases[i].want))
			fail_msg("%smakes \"%s\", not \"%s\"", yaml, apply(conf), cases[i].want);
		lx_conf_free(conf);
	}
}

static void test_section_settings(void **state)
{
	static const char yaml[] = "ip2nets:\n- lnd tunables: {conns_per_peer: 3}\n"
				   "  tunables: {peer_credits: 16}\n  net-spec: tcp\n";
	struct lx_conf_error why;
	struct lx_conf *conf;
	struct lx_conf_ni *ni;
	size_t n;

	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, &why), 0);
	assert_int_equal(lx_rules_apply(conf->rule, conf->n_rules, machine, 2, &ni, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(ni->tun.peer_credits, 16);
	assert_int_equal(ni->tun.credits, LX_UNSET);
	assert_int_equal(ni->lnd_tun.value[0], 3);
	free(ni);
	lx_conf_free(conf);
}

static void test_section_mistakes(void **state)
{
	static const struct {
		const char *yaml, *why;
	} cases[] = {
		{ "ip2nets:\n- interfaces: {0: eth0}\n", "\"net-spec\"" },
		{ "ip2nets:\n- net-spec: bogus\n", "\"bogus\" is not a net" },
		{ "ip2nets:\n- net-spec: lo\n", "always there" },
		{ "ip2nets:\n- net-spec: tcp\n  ip-range: {0: 10.77.999.*}\n", "10.77.999.*" },
		{ "ip2nets:\n- net-spec: tcp\n  bogus: 1\n", "invalid key \"bogus\"" },
		{ "ip2nets: tcp 10.77.0\n", "10.77.0" },
		{ "tunables: {lnet: {networks: bogus}}\n", "\"networks\": \"bogus\" is not a net" },
		{ "tunables: {lnet: {networks: tcp, ip2nets: tcp 1.2.3.4}}\n", "not both" },
		{ "tunables: {lnet: {forwarding: bogus}}\n", "\"forwarding\"" },
		{ "tunables: {lnet: {routes: tcp9}}\n", "no gateway" },
	};

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct lx_conf_error why;
		struct lx_conf *conf = NULL;

		assert_true(lx_conf_parse(cases[i].yaml, strlen(cases[i].yaml), &conf, &why) < 0);
		if (!strstr(why.text, cases[i].why))
			fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].yaml, why.text, cases[i].why);
	}
}

/* "tcp8 10.77.0.1@tcp 2 3" for each route. */
static void routes_of(const char *text, const char *want)
{
	struct lx_modparam p = { 0 };
	char got[600] = "";
	size_t used = 0;

	assert_int_equal(lx_conf_new(&p.conf), 0);
	if (lx_modparam_routes(&p, text))
		fail_msg("\"%s\": %s", text, p.why);
	for (size_t i = 0; i < p.conf->n_routes; i++) {
		const struct lx_conf_route *r = &p.conf->route[i];

		assert_true(r->legacy);
		used += snprintf(got + used, sizeof(got) - used, "%s %s %d %lld;",
				 lx_net_str(r->net), lx_nid_str(&r->gateway), r->hop,
				 (long long)r->priority);
	}
	if (strcmp(got, want))
		fail_msg("\"%s\" is \"%s\", not \"%s\"", text, got, want);
	lx_conf_free(p.conf);
}

static void test_routes(void **state)
{
	routes_of("tcp9 10.77.0.[1-2]@tcp; tcp8 2 10.77.0.1@tcp:3",
		  "tcp9 10.77.0.1@tcp -1 -1;tcp9 10.77.0.2@tcp -1 -1;tcp8 10.77.0.1@tcp 2 3;");
	routes_of("tcp[1-3/2] 1 10.0.0.1@o2ib:7 10.0.0.2@o2ib\n# no; \n",
		  "tcp1 10.0.0.1@o2ib 1 7;tcp3 10.0.0.1@o2ib 1 7;"
		  "tcp1 10.0.0.2@o2ib 1 -1;tcp3 10.0.0.2@o2ib 1 -1;");
	routes_of("o2ib 10.77.0.[1-2]; tcp9 2 10.77.0.3:4",
		  "o2ib 10.77.0.1@tcp -1 -1;o2ib 10.77.0.2@tcp -1 -1;tcp9 10.77.0.3@tcp 2 4;");
	routes_of("gni 255 fd00::1@tcp:4", "gni fd00::1@tcp 255 4;");
	routes_of("", "");
	refused(lx_modparam_routes, "tcp9 300 10.77.0.1@tcp", "300");
	refused(lx_modparam_routes, "tcp9 0 10.77.0.1@tcp", "1..255");
	refused(lx_modparam_routes, "tcp9", "no gateway");
	refused(lx_modparam_routes, "tcp9 2", "no gateway");
	refused(lx_modparam_routes, "tcp 10.77.0.1@tcp", "must be on another net");
	refused(lx_modparam_routes, "bogus 10.77.0.1@tcp", "not a net");
	refused(lx_modparam_routes, "tcp9 x", "not a gateway's NID");
	refused(lx_modparam_routes, "tcp9 fd00::1", "priority");
	refused(lx_modparam_routes, "tcp9 10.77.0.1@tcp:x", "priority");
	refused(lx_modparam_routes, "tcp[2-1] 10.77.0.1@tcp", "not a net");
	refused(lx_modparam_routes, "tcp[70000] 10.77.0.1@tcp", "not a net");
}

static void test_forwarding(void **state)
{
	struct lx_modparam p = { 0 };

	assert_int_equal(lx_conf_new(&p.conf), 0);
	assert_int_equal(lx_modparam_forwarding(&p, ""), 0);
	assert_int_equal(p.conf->routing, LX_UNSET);
	assert_int_equal(lx_modparam_forwarding(&p, "enabled"), 0);
	assert_int_equal(p.conf->routing, 1);
	assert_int_equal(lx_modparam_forwarding(&p, "disabled"), 0);
	assert_int_equal(p.conf->routing, 0);
	assert_int_equal(lx_modparam_forwarding(&p, "bogus"), -EINVAL);
	lx_conf_free(p.conf);
}

/* As many words as there is room for, of which only the last applies. */
static void test_many_words(void **state)
{
	char text[LX_MODPARAM_TEXT] = "tcp";

	for (int i = 0; i < 400; i++)
		strcat(text, " 9.9.9.9");
	nis_of(lx_modparam_ip2nets, strcat(text, " 10.77.0.3"), "tcp eth0");
	strcpy(text, "tcp9");
	for (int i = 0; i < 300; i++)
		strcat(text, " 1.1.1.1@tcp");
	refused(lx_modparam_routes, strcat(text, " x"), "not a gateway's NID");
}

static void test_too_long(void **state)
{
	char text[LX_MODPARAM_TEXT + 1];

	memset(text, ' ', sizeof(text));
	text[LX_MODPARAM_TEXT] = '\0';
	refused(lx_modparam_networks, text, "longer");
	text[LX_MODPARAM_TEXT - 1] = '\0';
	nis_of(lx_modparam_networks, text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_networks, setup),
		cmocka_unit_test_setup(test_ip2nets, setup),
		cmocka_unit_test_setup(test_no_interface, setup),
		cmocka_unit_test_setup(test_section, setup),
		cmocka_unit_test_setup(test_section_settings, setup),
		cmocka_unit_test(test_section_mistakes),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_forwarding),
		cmocka_unit_test_setup(test_many_words, setup),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
