/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rails: their text, and the NIs that they make of the addresses of a machine. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/conf/rails.h"
#include "testlib.h"

static struct lx_conf_addr machine[10];
static size_t n_addrs;

static void has(const char *ifname, const char *addr)
{
	struct lx_conf_addr *a = &machine[n_addrs++];

	memset(a, 0, sizeof(*a));
	strcpy(a->ifname, ifname);
	a->v6 = strchr(addr, ':');
	assert_int_equal(inet_pton(a->v6 ? AF_INET6 : AF_INET, addr, a->addr), 1);
}

static int setup(void **state)
{
	n_addrs = 0;
	has("eth0", "10.1.0.1");
	has("eth1", "10.2.0.10");
	has("eth1:1", "10.2.0.9");
	has("eth1", "10.2.0.11");
	has("eth1", "10.2.0.20");
	has("eth1", "fd00::fe");
	has("eth1", "fd00::ff");
	has("eth1", "fd00::100");
	has("eth2", "fd01::1");
	has("eth2", "fd01::2");
	return 0;
}

static int expand(const char *ifname, const char *nid, const char *rails, char *ret_text,
		  size_t size)
{
	struct lx_conf_ni ni = { .net = LX_NET(LX_NET_TCP, 2), .nid = lx_nid_any }, *list;
	int r, used = 0;
	size_t n;

	strcpy(ni.ifname, ifname);
	strcpy(ni.rails, rails);
	ni.tun.credits = 77;
	if (nid)
		assert_true(lx_nid_parse(nid, &ni.nid) >= 0);
	r = lx_rails_expand(&ni, machine, n_addrs, &list, &n, ret_text, size);
	if (r)
		return r;
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(list[i].ifname, ifname);
		assert_string_equal(list[i].rails, "");
		assert_int_equal(list[i].tun.credits, 77);
		used += snprintf(ret_text + used, size - used, "%s%s", i ? " " : "",
				 lx_nid_str(&list[i].nid));
	}
	free(list);
	return 0;
}

static void makes(const char *ifname, const char *nid, const char *rails, const char *want)
{
	char text[400];
	int r = expand(ifname, nid, rails, text, sizeof(text));

	if (r || strcmp(text, want))
		fail_msg("%s rails %s: %d, \"%s\", not \"%s\"", ifname, rails, r, text, want);
}

static void lacks(const char *ifname, const char *rails, const char *why)
{
	char text[400];
	int r = expand(ifname, NULL, rails, text, sizeof(text));

	if (r != -EADDRNOTAVAIL || !strstr(text, why))
		fail_msg("%s rails %s: %d, \"%s\", which lacks \"%s\"", ifname, rails, r, text, why);
}

static void test_count(void **state)
{
	makes("eth1", NULL, "1", "10.2.0.10@tcp2");
	makes("eth1", NULL, "3", "10.2.0.10@tcp2 10.2.0.11@tcp2 10.2.0.20@tcp2");
	makes("eth2", NULL, "2", "fd01::1@tcp2 fd01::2@tcp2");
	makes("eth1:1", NULL, "1", "10.2.0.9@tcp2");
	/* The family of the NID, if one is given: after "lnet configure --large". */
	makes("eth1", "fd00::fe@tcp2", "2", "fd00::fe@tcp2 fd00::ff@tcp2");
	lacks("eth1", "4", "net tcp2 on eth1: rails 4: the interface has 3 addresses; add 1 with");
	lacks("eth0", "64", "the interface has 1 address; add 63 with \"ip address add\"");
	lacks("eth9", "2", "has 0 addresses; add 2");
}

static void test_ranges(void **state)
{
	makes("eth1", NULL, "10.2.0.10-11", "10.2.0.10@tcp2 10.2.0.11@tcp2");
	makes("eth1", NULL, "10.2.0.10-10.2.0.11", "10.2.0.10@tcp2 10.2.0.11@tcp2");
	makes("eth1", NULL, "10.2.0.20,10.2.0.10", "10.2.0.20@tcp2 10.2.0.10@tcp2");
	makes("eth1", NULL, "10.2.0.20,10.2.0.10-11", "10.2.0.20@tcp2 10.2.0.10@tcp2 10.2.0.11@tcp2");
	makes("eth1", NULL, "fd00::fe-100", "fd00::fe@tcp2 fd00::ff@tcp2 fd00::100@tcp2");
	makes("eth1", NULL, "fd00::ff,10.2.0.20", "fd00::ff@tcp2 10.2.0.20@tcp2");
	lacks("eth1", "10.2.0.10-12", "rails 10.2.0.10-12: 10.2.0.12 is no address of the interface");
	lacks("eth1", "10.1.0.1", "10.1.0.1 is no address of the interface; add it with");
	lacks("eth1", "fd01::1-2", "fd01::1 is no address");
	lacks("eth1", "10.2.0.10-11,10.2.0.11", "10.2.0.11 is given twice");
}

static void test_text(void **state)
{
	static const char *const bad[] = {
		"", "0", "-1", "65", "four", "4 ", "4,", "10.2.0.11-10", "10.2.0.1-70", "10.2.0.300",
		"10.2.0.1-300", "10.2.0.1-", "-10.2.0.1", "10.2.0.1,", ",10.2.0.1", "10.2.0.1,,10.2.0.2",
		"10.2.0.1-fd00::1", "10.2.0.1-10.2.1.1", "fd00::1-10000", "fd00::1-fd01::2", "10.2.0.1@tcp",
		"10.2.0.1-32,10.2.0.40-80", "99999999999999999999", NULL
	};
	char why[160], longest[LX_RAILS_TEXT + 20] = "";

	for (int i = 0; bad[i]; i++) {
		if (lx_rails_check(bad[i], why, sizeof(why)) != -EINVAL || !strstr(why, "are expected"))
			fail_msg("\"%s\" is taken for rails", bad[i]);
	}
	while (strlen(longest) < LX_RAILS_TEXT)
		strcat(longest, "10.2.0.1,");
	strcat(longest, "10.2.0.1");
	assert_int_equal(lx_rails_check(longest, why, sizeof(why)), -EINVAL);
	assert_int_equal(lx_rails_check("10.2.0.1-64", why, sizeof(why)), 0);
	assert_int_equal(lx_rails_check("64", why, sizeof(why)), 0);
	assert_int_equal(lx_rails_check("fe80::1-40", why, sizeof(why)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_count, setup),
		cmocka_unit_test_setup(test_ranges, setup),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
