/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lnetctl import and export, and what ping and discover print, on the fake node. */
#include <lnetx/conf.h>

#include <internal/ctl.h>

#include "../../user/schema/schema.h"
#include "cliworld.h"

/* ---- import, export ---------------------------------------------------------------- */

/* Shows the first line that differs; whole files are too long for a message. */
static void assert_same_lines(const char *a, const char *b)
{
	const char *line = a;

	for (const char *p = a, *q = b; *p || *q; p++, q++) {
		if (*p != *q)
			fail_msg("differ from here on:\n%.200s\n--- and:\n%.200s", line,
				 b + (line - a));
		if (*p == '\n')
			line = p + 1;
	}
}

static const char big_state[] =
	"net:\n"
	"- net type: lo\n  local NI(s):\n  - nid: 0@lo\n    status: up\n"
	"- net type: tcp1\n  local NI(s):\n"
	"  - nid: 10.0.0.1@tcp1\n    status: up\n    interfaces: {0: eth0}\n"
	"    tunables: {peer_timeout: 60, peer_credits: 9, peer_buffer_credits: 3, credits: 100}\n"
	"    lnd tunables: {conns_per_peer: 3, timeout: 50, tos: 104}\n"
	"  - nid: fd00::1@tcp1\n    status: up\n    interfaces: {0: eth1}\n"
	"    tunables: {peer_timeout: 60, peer_credits: 9, peer_buffer_credits: 3, credits: 100}\n"
	"    lnd tunables: {conns_per_peer: 3, timeout: 50, tos: -1}\n"
	"route:\n"
	"- {net: tcp2, gateway: 10.0.0.3@tcp1, hop: -1, priority: 0, state: up, type: single-hop}\n"
	"- {net: tcp3, gateway: 10.0.0.4@tcp1, hop: 2, priority: 5, health_sensitivity: 3, state: "
	"up, "
	"type: multi-hop}\n"
	"peer:\n"
	"- primary nid: 10.0.0.3@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	"  - nid: 10.0.0.3@tcp1\n    state: up\n  - nid: 10.9.0.3@tcp2\n    state: up\n"
	"- primary nid: 7@gni\n  Multi-Rail: true\n  peer ni:\n  - nid: 7@gni\n    state: NA\n"
	/* Must be last: its route creates the peer, since the entry has no other settings. */
	"- primary nid: 10.0.0.4@tcp1\n  Multi-Rail: false\n  peer ni:\n"
	"  - nid: 10.0.0.4@tcp1\n    state: NA\n"
	"routing:\n- cpt[0]:\n    tiny: {npages: 0, nbuffers: 100, credits: 100, mincredits: 90}\n"
	"    small: {npages: 1, nbuffers: 200, credits: 100, mincredits: 90}\n"
	"    large: {npages: 256, nbuffers: 30, credits: 30, mincredits: 3}\n"
	"- enable: 1\n"
	"global:\n  numa_range: 3\n  discovery: 0\n  retry_count: 4\n";

static void test_round_trip(void **state)
{
	char *before, *after, path[200], line[300];

	start(big_state);
	snprintf(path, sizeof(path), "%s/backup", proc_dir());
	snprintf(line, sizeof(line), "lnetctl export --backup %s", path);
	ok(line);
	before = proc_read(path);
	after = output_of("lnetctl export -b");
	assert_same_lines(before, after);
	free(after);
	assert_non_null(strstr(before, "nid: fd00::1@tcp1\n"));
	assert_non_null(strstr(before, "routing:\n    enable: 1\nbuffers:\n    tiny: 100\n"));
	assert_null(strstr(before, "timeout: 50"));
	assert_null(strstr(before, "statistics"));

	ok("lnetctl lnet unconfigure");
	fails(234, "lnetctl export", "errno: -100");
	ok("lnetctl lnet configure");
	ok("lnetctl lnet configure"); /* again: no error */
	snprintf(line, sizeof(line), "lnetctl import %s", path);
	ok(line);
	after = output_of("lnetctl export --backup");
	assert_same_lines(before, after);
	free(after);

	/* Delete all of it. */
	snprintf(line, sizeof(line), "lnetctl import --del %s", path);
	expect(0, line);
	prints_not("lnetctl export --backup", "tcp1");
	prints_not("lnetctl export --backup", "gateway:");
	prints("lnetctl global show", "retry_count: 2\n");
	free(before);
}

/* A file keeps its content unless there is something to write, and is never quietly cut short. */
static void test_failed_export(void **state)
{
	char path[200], lnetctl[300], lnetx[300], *now;

	start(big_state);
	snprintf(path, sizeof(path), "%s", proc_file("kept", "old\n"));
	snprintf(lnetctl, sizeof(lnetctl), "lnetctl export --backup %s", path);
	snprintf(lnetx, sizeof(lnetx), "lnetx export %s", path);
	fails(234, "lnetctl export /dev/full", "/dev/full: No space left on device; it is incomplete");
	fails(1, "lnetx export /dev/full", "/dev/full: No space left on device; it is incomplete");
	prints_in(1, "lnetx -j export /dev/full", "it is incomplete");
	fails(1, "lnetx export /nosuch/file", "/nosuch/file: No such file or directory");
	ok("lnetctl lnet unconfigure");
	fails(234, lnetctl, "errno: -100");
	fails(1, lnetx, "LNet is not configured");
	stop(NULL);
	fails(234, lnetctl, "errno: ");
	fails(1, lnetx, "no lnetxd runs");
	now = proc_read(path);
	assert_string_equal(now, "old\n");
	free(now);
}

static void test_full_export_is_importable(void **state)
{
	char *full;

	start(big_state);
	full = output_of("lnetctl export");
	ok("lnetctl lnet unconfigure");
	ok("lnetctl lnet configure");
	import(0, "", full);
	prints("lnetctl route show --net tcp3 -v", "priority: 5\n");
	free(full);
}

static void test_import_peers(void **state)
{
	start(NULL);
	import(0, "",
	       "peer:\n    - primary nid: 1.1.1.1@tcp\n      Multi-Rail: True\n      peer ni:\n"
	       "        - nid: 1.1.1.1@tcp\n        - nid: 2.2.2.2@tcp\n        - nid: "
	       "4.4.4.4@tcp\n"
	       "        - nid: 3.3.3.3@o2ib\n        - nid: 5@gni\n");
	/* NIDs without the primary: only these are deleted. */
	import(0, "--del",
	       "peer:\n    - primary nid: 1.1.1.1@tcp\n      Multi-Rail: True\n"
	       "      peer ni:\n        - nid: 2.2.2.2@tcp\n        - nid: 3.3.3.3@o2ib\n"
	       "        - nid: 5@gni\n");
	prints("lnetctl export --backup",
	       "peer:\n-     primary nid: 1.1.1.1@tcp\n      Multi-Rail: "
	       "true\n      peer ni:\n      -     nid: 1.1.1.1@tcp\n"
	       "      -     nid: 4.4.4.4@tcp\n");
	/* Repeating it is no error: there is nothing to do. */
	import(0, "-a",
	       "peer:\n  - primary nid: 1.1.1.1@tcp\n    peer ni:\n      - nid: 4.4.4.4@tcp\n");
	import(0, "-d",
	       "peer:\n  - primary nid: 1.1.1.1@tcp\n    peer ni:\n      - nid: 1.1.1.1@tcp\n"
	       "      - nid: 4.4.4.4@tcp\n");
	prints_not("lnetctl export --backup", "peer:");
}

static void import_fails(const char *yaml, const char *text)
{
	import(234, "", yaml);
	if (!strstr(proc_run_as(0, 0, "lnetctl import", yaml)->err, text))
		fail_msg("the complaint is not \"%s\"", text);
}

static void test_import_refused(void **state)
{
	start(NULL);
	import_fails("foobar:\n", "standard input:1:1: invalid key");
	import_fails("global:\n  discovery:\n", "no value");
	import_fails("global:\n  discovery: foo\n", "invalid value");
	import_fails("global:\n  response_tracking: 10\n", "errno: -34");
	import_fails("ip2nets:\n  - ip-range: { 0: 10.0.0.1 }\n", "errno: -22");
	import_fails("ip2nets:\n  - net-spec: tcp\n    ip-range: { 0: 192.0.2.1 }\n",
		     "no rule of ip2nets applies");
	import_fails("peer:\n  - primary nid: 99.99.99.99@tcp\n    Multi-Rail: Foobar\n", "Foobar");
	import_fails("net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
		     "    lnd tunables: {conns_per_peer: 200}\n",
		     ":5:36: invalid value");
	prints_not("lnetctl net show", "tcp");
	import_fails("route:\n- {net: tcp5, gateway: 10.0.0.1@tcp9}\n"
		     "peer:\n- {primary nid: 3.3.3.3@tcp}\n",
		     "errno: -113");
	fails(234, "lnetctl import /nonexistent", "No such file");
}

#define RUNS                                                                                       \
	"net:\n- net type: tcp1\n  local NI(s):\n  - interfaces: {0: eth0}\n"                      \
	"    tunables: {peer_credits: 9}\n"                                                         \
	"peer:\n- primary nid: 10.0.0.5@tcp1\n  peer ni:\n  - nid: 10.0.0.6@tcp1\n"               \
	"route:\n- {net: tcp2, gateway: 10.0.0.3@tcp1, hop: 2}\n"                                 \
	"udsp:\n- {src: tcp1}\n"                                                                 \
	"global: {retry_count: 5, transaction_timeout: 50}\n"

/* Of a file with a mistake nothing is done, and the mistake has a place. */
static void test_mistakes_change_nothing(void **state)
{
	static const struct {
		const char *yaml, *text;
		int error;
	} files[] = {
		{ "global: {response_tracking: 10}\n", "5:29: global: response_tracking: \\\"10", -34 },
		{ "tunables:\n  tcp: {sock_timeout: 99999999}\n", "6:23: tcp: sock_timeout", -34 },
		{ "tunables: {tcp: {sock_timout: 9}}\n", "5:18: tcp: no tunable", -2 },
		{ "tunables: {tpc: {sock_timeout: 9}}\n", "5:18: no module", -2 },
		{ "tunables: {lnet: {lnet_transaction_timeout: 3}}\n", "5:19: lnet: ", -22 },
		{ "net:\n- net type: tcp4\n  local NI(s):\n  - interfaces: {0: eth3}\n"
		  "  - interfaces: {0: eth3}\n", "9:21: eth3 is on net tcp4 twice", -17 },
		{ "net:\n- net type: tcp4\n  local NI(s):\n  - interfaces: {0: eth3}\n"
		  "  - interfaces: {0: nosuch1}\n", "9:21: net tcp4 on nosuch1: there is no such", -19 },
		{ "ip2nets:\n- net-spec: tcp4\n  ip-range: {0: 192.0.2.1}\n", "no rule", -22 },
		{ "route: [{net: tcp1, gateway: 10.0.0.3@tcp4}]\n", "5:15: route to tcp1", -17 },
		{ "route: [{net: tcp5, gateway: 10.0.0.3@tcp5}]\n", "5:30: route to tcp5", -22 },
		{ "route: [{net: tcp5, gateway: 10.0.0.1@tcp1}]\n", "5:30: route to tcp5", -22 },
		{ "route: [{net: tcp5, gateway: 10.0.0.3@tcp9}]\n", "(nets: tcp3, tcp1)", -113 },
		{ "route:\n- {net: tcp5, gateway: 10.0.0.3@tcp1}\n"
		  "- {net: tcp5, gateway: 10.0.0.3@tcp1}\n", "7:24: route to tcp5", -17 },
		{ "peer:\n- {primary nid: 10.0.0.7@tcp1}\n- primary nid: 10.0.0.8@tcp1\n"
		  "  peer ni: [{nid: 10.0.0.7@tcp1}]\n", "7:16: peer 10.0.0.8@tcp1", -17 },
		{ "peer:\n- primary nid: 10.0.0.8@tcp1\n  peer ni: [{nid: 10.0.0.6@tcp1}]\n",
		  "6:16: peer 10.0.0.8@tcp1: 10.0.0.6@tcp1 belongs to peer 10.0.0.5@tcp1", -17 },
		{ "peer:\n- primary nid: 10.0.0.8@tcp1\n  peer ni: [{nid: 10.0.0.1@tcp1}]\n",
		  "6:16: peer 10.0.0.8@tcp1: 10.0.0.1@tcp1 is this node's own", -22 },
		{ "peer:\n- primary nid: 10.0.0.8@tcp1\n  Multi-Rail: false\n"
		  "  peer ni: [{nid: 10.0.0.9@tcp1}]\n", "6:16: peer 10.0.0.8@tcp1", -1 },
		{ "udsp:\n- {src: tcp7}\n- {src: 'tcp[7]', action: {priority: 3}}\n",
		  "7:3: selection policy: given twice; first in line 6", -17 },
	};
	char *before, *after, yaml[1000], errno_is[30];

	start(NULL);
	import(0, "", RUNS);
	before = output_of("lnetx export all");
	for (size_t i = 0; i < N_OF(files); i++) {
		const struct proc_result *r;

		snprintf(yaml, sizeof(yaml), "numa: {range: 7}\nnet:\n- net type: tcp3\n"
			 "  local NI(s): [{interfaces: {0: eth1}}]\n%s"
			 "selftest: {enable: 1, consoles: any}\n", files[i].yaml);
		if (!strncmp(files[i].yaml, "net:", 4)) /* sections may be repeated */
			assert_non_null(strstr(yaml, "tcp3"));
		snprintf(errno_is, sizeof(errno_is), "errno: %d\n", files[i].error);
		r = proc_run_as(0, 0, "lnetctl import", yaml);
		if (r->status != 234 || !strstr(r->err, files[i].text) || !strstr(r->err, errno_is))
			fail_msg("import of\n%sstatus %d:\n%s", yaml, r->status, r->err);
		after = output_of("lnetx export all");
		assert_same_lines(before, after);
		free(after);
	}
	free(before);
}

/* A file of routes alone is valid where the nets are up; and again: there is nothing to do. */
static void test_import_adds(void **state)
{
	char *before, *after;

	start(NULL);
	import(0, "", RUNS);
	import(0, "", "route: [{net: tcp5, gateway: 10.0.0.3@tcp1}]\n");
	import(0, "", "peer:\n- primary nid: 10.0.0.5@tcp1\n  peer ni: [{nid: 10.0.0.7@tcp1}]\n");
	import(0, "", "tunables: {lnet: {lnet_transaction_timeout: 6}}\n");
	import(0, "", "global: {discovery: off, drop_asym_route: Yes}\n");
	prints("lnetctl global show", "discovery: 0\n    drop_asym_route: 1\n");
	before = output_of("lnetx export");
	import(0, "", before);
	after = output_of("lnetx export");
	assert_same_lines(before, after);
	assert_non_null(strstr(after, "gateway: 10.0.0.3@tcp1"));
	assert_non_null(strstr(after, "net: tcp5"));
	assert_non_null(strstr(after, "nid: 10.0.0.7@tcp1"));
	proc_daemon_wait_log(&lnetxd, "import=\"route to tcp5 through 10.0.0.3@tcp1: added\"");
	proc_daemon_wait_log(&lnetxd, "command=\"config add\" client_uid=");
	free(before);
	free(after);
}

/* Text up to 4 MiB; the request itself has only a descriptor. */
static void test_import_size(void **state)
{
	size_t size = 4u << 20;
	char *big = malloc(size + 2), line[300];

	start(NULL);
	memset(big, '#', size + 1);
	strcpy(big, "numa: {range: 8}\n");
	big[strlen(big)] = '#';
	big[size] = '\0';
	snprintf(line, sizeof(line), "lnetctl import %s", proc_file("big", big));
	ok(line);
	prints("lnetctl global show", "numa_range: 8\n");
	big[size] = '#';
	big[size + 1] = '\0';
	snprintf(line, sizeof(line), "lnetctl import %s", proc_file("bigger", big));
	fails(234, line, "File too large");
	free(big);
}

/* All mistakes, as "lnetxd -t"; and what is ignored, which is none. */
static void test_import_names_all(void **state)
{
	const struct proc_result *r;
	char line[300];

	start(NULL);
	snprintf(line, sizeof(line), "lnetctl import %s",
		 proc_file("bad", "route:\n- {net: tcp5, gateway: nobody}\nfoobar:\n"
				  "global:\n  discovery: 2\n"));
	fails(234, line, "bad:2:24: invalid value for");
	fails(234, line, "bad:3:1: invalid key");
	fails(234, line, "bad:5:14: invalid value for");
	snprintf(line, sizeof(line), "lnetctl import %s",
		 proc_file("old", "net:\n- net type: tcp1\n  local NI(s):\n"
				  "  - interfaces: {0: eth0}\n    tcp bonding: 0\n"
				  "    lnd tunables:\n    tunables:\n"
				  "net:\n- net type: tcp2\n  local NI(s):\n"
				  "  - interfaces: {0: eth1}\n    tcp bonding: 0\n"));
	r = expect(0, line);
	assert_string_equal(r->out, "");
	assert_non_null(strstr(r->err, "old: ignored: \"tcp bonding\" (line 5)\n"));
	prints("lnetctl net show", "net type: tcp1\n");
	prints("lnetctl net show", "net type: tcp2\n");
}

static void test_import_show_exec(void **state)
{
	const struct proc_result *r;

	start("ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n  peer_ni:\n"
	      "  - nid: 10.0.0.7@tcp\n");
	ok("lnetctl net add --net tcp --if eth0");
	r = proc_run_as(0, 0, "lnetctl import -e",
			"ping:\n  nids:\n    0: 10.0.0.7@tcp\n"
			"discover:\n  nids:\n    0: 10.0.0.7@tcp\n");
	assert_int_equal(r->status, 0);
	assert_string_equal(r->out, "ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n"
				    "  peer_ni:\n  - nid: 10.0.0.7@tcp\n"
				    "discover:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n"
				    "  peer_ni:\n  - nid: 10.0.0.7@tcp\n");
	import(234, "-e", "ping:\n  nids:\n    0: 10.0.0.8@tcp\n");
	/* Import accepts what ping and discover print, also as JSON. */
	import(0, "-e", expect(0, "lnetctl ping 10.0.0.7@tcp")->out);
	import(0, "-e", expect(0, "lnetctl discover 10.0.0.7@tcp")->out);
	import(0, "-e", expect(0, "lnetx -j ping 10.0.0.7@tcp")->out);
	import(234, "-e", expect(1, "lnetx -y ping 10.0.0.7@tcp 10.0.0.8@tcp")->out);
	r = proc_run_as(0, 0, "lnetx -j import exec",
			"ping: { nids: { 0: 10.0.0.7@tcp, 1: 10.0.0.8@tcp } }\n");
	assert_int_equal(r->status, 1);
	assert_non_null(strstr(r->out, "{\"ping\":[{\"primary_nid\":\"10.0.0.7@tcp\""));
	assert_non_null(strstr(r->out, "\"error\":{\"errno\":-113,\"reason\":\"failed to ping"));
	assert_string_equal(r->err, "");
	r = proc_run_as(0, 0, "lnetctl import --show", "net:\nglobal:\nstatistics:\n");
	assert_int_equal(r->status, 0);
	assert_non_null(strstr(r->out, "net:\n-     net type: tcp\n"));
	assert_non_null(strstr(r->out, "statistics:\n    msgs_alloc: 0\n"));
	assert_non_null(strstr(r->out, "global:\n    numa_range: 0\n"));
}

/* ---- probes ------------------------------------------------------------------------ */

static const char probe_state[] =
	"ping:\n- primary nid: 127.0.0.1@tcp\n  Multi-Rail: false\n  peer_ni:\n"
	"  - nid: 127.0.0.1@tcp\n"
	"- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n  peer_ni:\n"
	"  - nid: 10.0.0.7@tcp\n  - nid: 10.0.1.7@tcp1\n"
	"manage:\n- ping:\n  errno: -110\n  descr: '10.0.0.9@tcp'\n";

static void test_probes(void **state)
{
	const struct proc_result *r;

	start(probe_state);
	prints("lnetctl ping 10.0.0.7@tcp", "primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n");
	prints("lnetctl ping 0x7f.1@tcp --timeout 3", "nid: 127.0.0.1@tcp\n");
	ok("lnetctl ping --source 10.0.0.1@tcp 10.0.0.7@tcp");
	ok("lnetctl discover --force 10.0.1.7@tcp1");
	/* Successes come first, then failures; the exit status is that of the failure. */
	r = expect(255, "lnetctl ping 10.0.0.9@tcp 10.0.0.7@tcp");
	assert_string_equal(r->out,
			    "ping:\n- primary nid: 10.0.0.7@tcp\n  Multi-Rail: true\n"
			    "  peer_ni:\n  - nid: 10.0.0.7@tcp\n  - nid: 10.0.1.7@tcp1\n"
			    "manage:\n- ping:\n  errno: -5\n"
			    "  descr: ! 'failed to ping 10.0.0.9@tcp: Input/output error: it is "
			    "in another world'\n");
	/* A request that cannot be sent tells why, if it has the time to find out. */
	prints_in(255, "lnetctl ping 10.0.0.8@tcp", "  errno: -113\n");
	prints_in(255, "lnetctl ping --timeout 3 10.0.0.8@tcp", "  errno: -113\n");
	prints_in(255, "lnetctl ping --timeout 1 10.0.0.8@tcp",
		  "  errno: -110\n  descr: ! 'failed to ping 10.0.0.8@tcp: Connection timed out");
	fails(1, "lnetx ping 10.0.0.8@tcp timeout 1", "10.0.0.8@tcp: Connection timed out: it is");
	prints_in(1, "lctl ping 10.0.0.8@tcp 1", "Connection timed out");
	fails(234, "lnetctl ping nosuchhost.invalid@tcp", "manage:\n-     ping:\n      errno: -22");
	fails(234, "lnetctl ping", "errno: -22");
	fails(234, "lnetctl ping --timeout 0 10.0.0.7@tcp", "timeout 0");
	fails(1, "lnetx ping 10.0.0.9@tcp", "failed to ping 10.0.0.9@tcp: Connection timed out");
	prints("lnetx ping 10.0.0.7@tcp", "10.0.0.7@tcp: answered in ");
	prints("lnetx ping 10.0.0.7@tcp", "10.0.0.7@tcp  yes  10.0.1.7@tcp1\n");
	prints("lnetx -j discover 10.0.0.7@tcp force",
	       "{\"discover\":[{\"primary_nid\":\"10.0.0.7@tcp\",\"multi_rail\":true,"
	       "\"peer_ni\":[{\"nid\":\"10.0.0.7@tcp\"},{\"nid\":\"10.0.1.7@tcp1\"}],\"rtt_us\":");
}

/* ---- export and import are inverse, for each setting of the tables ---------------------- */

/* Imports one setting; what is exported then has it, and leads to the same export again. */
static void check_inverse(const char *yaml, const char *key, long long value)
{
	char setting[100], line[300], path[200], *before, *after, *json;

	import(0, "", yaml);
	snprintf(setting, sizeof(setting), " %s: %lld\n", key, value);
	snprintf(path, sizeof(path), "%s/one", proc_dir());
	snprintf(line, sizeof(line), "lnetx export %s", path);
	ok(line);
	before = proc_read(path);
	if (!strstr(before, setting))
		fail_msg("imported:\n%sexported, without \"%s\":\n%s", yaml, setting, before);
	snprintf(setting, sizeof(setting), "\"%s\":%lld", key, value);
	json = output_of("lnetx -j export");
	if (!strstr(json, setting))
		fail_msg("JSON without '%s': %s", setting, json);
	ok("lnetctl lnet unconfigure");
	ok("lnetctl lnet configure");
	snprintf(line, sizeof(line), "lnetctl import %s", path);
	ok(line);
	after = output_of("lnetctl export --backup");
	assert_same_lines(before, after);
	ok("lnetctl lnet unconfigure");
	ok("lnetctl lnet configure");
	free(before);
	free(after);
	free(json);
}

#define NI "net:\n- net type: tcp1\n  local NI(s):\n  - interfaces: {0: eth0}\n"

/* @format: of a file with a key and a value */
static void check_settings(const struct lx_conf_ni_setting *set, const char *format)
{
	char yaml[500];

	for (; set->name; set++) {
		long long value = set->max > 2 ? 2 : set->max;

		if (!strcmp(set->name, "fastpath")) /* NIs of the fake node have none */
			continue;
		snprintf(yaml, sizeof(yaml), format, set->name, value);
		check_inverse(yaml, set->name, value);
	}
}

static void check_fields(const struct lx_schema *schema, const char *format)
{
	int64_t low, high;
	char yaml[500];

	for (const struct lx_field *f = schema->field; f->key; f++) {
		if (f->type != LX_FIELD_INT || f->command)
			continue;
		lx_schema_field_range(f, &low, &high);
		low = low < 0 ? 0 : low;
		low = low + 2 < high ? low + 2 : high;
		snprintf(yaml, sizeof(yaml), format, f->key, (long long)low);
		check_inverse(yaml, f->key, low);
	}
}

static void test_each_setting(void **state)
{
	start("");
	check_settings(lx_conf_ni_settings(), NI "    tunables: {%s: %lld}\n");
	check_settings(lx_conf_lnd_settings(LX_NET_TCP), NI "    lnd tunables: {%s: %lld}\n");
	check_fields(&lx_object_route_schema,
		     NI "route:\n- {net: tcp9, gateway: 10.0.0.3@tcp1, %s: %lld}\n");
	check_fields(&lx_object_buffers_schema, "routing: {enable: 1}\nbuffers: {%s: %lld}\n");
	check_fields(&lx_object_selftest_schema,
		     "selftest: {enable: 1, consoles: any}\nselftest: {%s: %lld}\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip),
		TEST(test_each_setting),
		TEST(test_failed_export),
		TEST(test_full_export_is_importable),
		TEST(test_import_peers),
		TEST(test_import_refused),
		TEST(test_mistakes_change_nothing),
		TEST(test_import_adds),
		TEST(test_import_size),
		TEST(test_import_names_all),
		TEST(test_import_show_exec),
		TEST(test_probes),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
