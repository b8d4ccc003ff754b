/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules on command lines: fault injection, NIs by addresses, NIDs by host names. */
#include "cliworld.h"

/* The reference's error texts are checked in golden.bats. */
static void test_fault(void **state)
{
	start(NULL);
	assert_string_equal(expect(0, "lnetctl fault drop show")->out, "");
	ok("lnetctl fault drop add -s *@tcp -d * -m get -m PUT -p 10 -i 3");
	ok("lnetctl fault delay add --source 10.0.0.1@tcp --dest *@tcp1 --rate 5 -l 2 --rule_type delay");
	assert_string_equal(expect(0, "lnetctl fault drop list")->out,
			    "fault:\n"
			    "-     rule_type: drop\n"
			    "      fa_src: 255.255.255.255@tcp\n"
			    "      fa_dst: \"*\"\n"
			    "      fa_ptl_mask: 0x400\n"
			    "      fa_msg_mask: 0x6\n"
			    "      da_interval: 3\n"
			    "      ds_dropped: 0\n"
			    "      fs_count: 0\n"
			    "      fs_put: 0\n"
			    "      fs_ack: 0\n"
			    "      fs_get: 0\n"
			    "      fs_reply: 0\n");
	prints("lnetctl fault delay show", "la_rate: 5\n      la_latency: 2\n");
	prints("lnetctl fault drop add --help", "--health_error:");
	fails(255, "lnetctl fault drop", "fault drop add");
	fails(255, "lnetctl fault reset ''", "no command");
	fails(234, "lnetctl fault drop add -s 10.0.0.[1-4]@tcp -d * -r 1", "Invalid NID");
	fails(254, "lnetctl fault drop del -s 10.0.0.1@tcp -d *", "Object not found");
	ok("lnetctl fault drop del -s *@tcp -d *");
	ok("lnetctl fault delay del -a");
	ok("lnetx fault add drop from *@tcp msg get,put error random for 4999m");
	prints("lnetx -j fault show",
	       "{\"fault\":[{\"type\":\"drop\",\"src\":\"*@tcp\",\"messages\":\"put,get\","
	       "\"rate\":1,\"health_errors\":\"local_interrupt,");
	prints("lnetx -j fault show", "\"seconds_left\":2999");
	assert_non_null(strstr(expect(0, "lnetx net show")->err, "1 rule of fault injection is"));
	ok("lnetx fault add delay to 10.0.0.2@tcp latency 500ms rate 3");
	assert_non_null(strstr(expect(0, "lnetx net show")->err, "2 rules of fault injection are"));
	fails(2, "lnetx fault add delay to 10.0.0.2@tcp", "latency");
	fails(2, "lnetx fault add drop latency 5x",
	      "latency \"5x\": 0.001s to 2147483s is expected");
	fails(2, "lnetx fault add drop interval 999ms", "interval \"999ms\": 1s to ");
	fails(2, "lnetx fault add drop rate 2 interval 3s", "not both");
	fails(2, "lnetx fault add drop from 10.0.0.1", "Invalid NID");
	fails(2, "lnetx fault add drop error bogus", "unknown health error bogus");
	fails(2, "lnetx fault add", "drop or delay");
	/* Every message of the node, only if that is said. */
	fails(2, "lnetx fault add drop", "\"all\"");
	fails(2, "lnetx fault add drop for 60s", "\"all\"");
	fails(2, "lnetx fault add drop src 10.0.0.1@tcp", "unknown keyword \"src\"");
	fails(2, "lnetx fault add drop frm 10.0.0.1@tcp", "did you mean \"from\"?");
	fails(2, "lnetx fault add dorp from 10.0.0.1@tcp", "\"dorp\": drop or delay is expected");
	fails(2, "lnetx fault del drop 10.0.0.1@tcp", "did you mean \"from 10.0.0.1@tcp\"?");
	prints_in(0, "lnetx -j fault show", "\"rate\":3");
	fails(2, "lnetx fault del", "or \"all\"");
	ok("lnetx fault reset");
	ok("lnetx fault del all");
	fails(1, "lnetx fault del all", "there are no rules");
	ok("lnetx fault add drop from 10.0.0.1@tcp");
	ok("lnetx fault add drop from 10.0.0.2@tcp to 10.0.0.3@tcp");
	ok("lnetx fault add delay from 10.0.0.1@tcp latency 1s");
	ok("lnetx fault add delay to 10.0.0.3@tcp latency 1s");
	fails(1, "lnetx fault del from 10.0.0.9@tcp", "no such rule, of either kind");
	fails(2, "lnetx fault del all from 10.0.0.1@tcp", "not both");
	/* Rules of both kinds, then of one. */
	ok("lnetx fault del from 10.0.0.1@tcp");
	prints_not("lnetx -j fault show", "10.0.0.1@tcp");
	prints("lnetx -j fault show", "\"delay\",\"dst\":\"10.0.0.3@tcp\"");
	prints("lnetx -j fault show", "\"drop\",\"src\":\"10.0.0.2@tcp\"");
	ok("lnetx fault del to 10.0.0.3@tcp");
	prints("lnetx -j fault show", "{\"fault\":[]}");
	fails(1, "lnetx fault del drop from 10.0.0.1@tcp", "no such drop rule");
}

/* test_modparam checks which rules apply on a machine. */
/* A repeated option, longer than any fixed buffer: the last one counts, too. */
static void test_many_options(void **state)
{
	char line[1024] = "lnetctl fault drop add -s * -d * -r 1";

	start(NULL);
	for (int i = 0; i < 16; i++)
		strcat(line, " -p 0x000000000000000a");
	strcat(line, " -p 40");
	ok(line);
	prints("lnetctl fault drop show", "fa_ptl_mask: 0x10000000400\n");
}

static void test_ip2nets(void **state)
{
	start(NULL);
	fails(234, "lnetctl net add --ip2net 'bogus 10.77.0.3'", "errno: -22");
	fails(234, "lnetctl net add --ip2net 'tcp 10.77.0.300'", "errno: -22");
	fails(234, "lnetctl net add --ip2net 'tcp 192.0.2.1'", "errno: -2\n");
	fails(234, "lnetctl net add --ip2net tcp", "errno: -2\n");
	fails(234, "lnetctl net add --ip2net ''", "there is no rule");
	fails(234, "lnetctl net add --ip2net 'tcp 192.0.2.1' --net tcp", "give only the rules");
	fails(1, "lnetx net add ip2nets 'tcp 192.0.2.1'", "applies to this machine");
	fails(234, "lnetctl net add --net tcp --if eth0 --auth-key 5", "type kfi");
	fails(234, "lnetctl net add --net tcp --if eth0 --traffic-class LOW_LATENCY", "type kfi");
	ok("lnetctl peer add --prim_nid 10.1.1.1@tcp --ip2nets 10.1.1.[2-3]@tcp");
	prints("lnetctl peer show --nid 10.1.1.1@tcp", "nid: 10.1.1.3@tcp");
	fails(234, "lnetctl peer add --prim_nid 10.1.1.1@tcp --ip2nets 10.1.1.4@tcp --nid 10.1.1.5@tcp",
	      "once");
	ok("lnetctl peer del --prim_nid 10.1.1.1@tcp --ip2nets 10.1.1.[2-3]@tcp");
	prints_not("lnetctl peer show --nid 10.1.1.1@tcp", "nid: 10.1.1.3@tcp");
}

/* Errors in the words; lnetxd checks addresses (ni_rails.bats). */
static void test_rails(void **state)
{
	start(NULL);
	fails(2, "lnetx net add net tcp2 if eth0 rails 0", "rails \"0\": a number of addresses, 1..64");
	fails(2, "lnetx net add net tcp2 if eth0 rails 10.2.0.9-", "are expected");
	fails(2, "lnetx net add net tcp2 if eth0,eth1 rails 2", "of one interface");
	fails(2, "lnetx net add net tcp2 rails 2", "of one interface");
	fails(2, "lnetx net add nid 10.2.0.9@tcp2 rails 2", "no NID");
	fails(1, "lnetx net add net o2ib if eth0 rails 2", "only NIs of tcp nets");
	fails(2, "lnetx net add rails 2 ip2nets 'tcp 192.0.2.1'", "give only the rules");
	fails(1, "lnetx net add net tcp2 if eth0 rails 5",
	      "cannot add NIs: net tcp2 on eth0: rails 5: the interface");
	prints_not("lnetx net show", "tcp2");
	warns("lnetx net add net tcp2 if eth0 rails 3",
	      "write: lnetx net add nid 10.0.0.1@tcp2,10.0.0.2@tcp2,10.0.0.3@tcp2");
	prints("lnetx -j net show net tcp2", "\"nid\":\"10.0.0.3@tcp2\"");
	ok("lnetx net del net tcp2 if eth0");
	prints_not("lnetx net show", "tcp2");
	prints("lnetx net add --help", "rails N|ADDRS");
}

/* Wherever a NID is expected. Resolvers know this one even without "localhost" in /etc/hosts. */
static void test_host_names(void **state)
{
	start(NULL);
	ok("lnetctl peer add --prim_nid 0x7f.1@tcp --nid 10.0.0.8@tcp");
	prints("lnetctl peer show --nid 0x7f.1@tcp", "primary nid: 127.0.0.1@tcp\n");
	ok("lnetctl peer del --prim_nid 0x7f.1@tcp");
	fails(234, "lnetctl peer add --prim_nid nosuchhost.invalid@tcp", "no such host");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fault),
		TEST(test_many_options),
		TEST(test_ip2nets),
		TEST(test_host_names),
		TEST(test_rails),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
