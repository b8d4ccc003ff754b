/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetxd as a service, on the fake node: options, files, signals, the service manager, its
 * socket. Its clients: test_daemon_clients.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cliworld.h"

static void start_with(const char *const *args)
{
	proc_daemon_start(&lnetxd, NULL, args);
	proc_daemon_wait_log(&lnetxd, "state=");
}

static void assert_log(const char *text)
{
	proc_daemon_wait_log(&lnetxd, text);
}

/* ---- command line and files -------------------------------------------------------- */

static void test_options(void **state)
{
	static const struct {
		int status;
		const char *args, *text;
	} cases[] = {
		{ 2, "--what", "--help" },
		{ 2, "extra", "not expected" },
		{ 2, "--drain soon", "number of seconds" },
		{ 2, "--drain 99999", "number of seconds" },
		{ 2, "--log-level loud", "error, warning" },
		{ 1, "-n a/b", "not a name" },
		{ 1, "-t -c /nonexistent", "/nonexistent: cannot read it: No such file" },
		{ 1, "-c /nonexistent", "/nonexistent: cannot read it" },
		{ 1, "-t -c /", "/: cannot read it: Is a directory" },
		{ 1, "-t -c /dev/zero", "/dev/zero: it is too long; at most 4 MiB are accepted" },
	};
	char *rundir = strdup(getenv("LNETX_RUNDIR"));

	for (size_t i = 0; i < N_OF(cases); i++) {
		char line[200];

		snprintf(line, sizeof(line), "lnetxd-fake %s", cases[i].args);
		if (!strstr(expect(cases[i].status, line)->err, cases[i].text))
			fail_msg("lnetxd %s: no \"%s\"", cases[i].args, cases[i].text);
	}
	/* The directory that is used, not the usual one. */
	setenv("LNETX_RUNDIR", "/nonexistent/run", 1);
	fails(1, "lnetxd-fake", "below /nonexistent/run: No such file");
	setenv("LNETX_RUNDIR", rundir, 1);
	free(rundir);
	prints("lnetxd-fake --version", "lnetxd ");
	prints("lnetxd-fake --help", "--drain");
}

static void check_file(int status, const char *yaml, const char *text)
{
	const char *path = proc_file("conf.yaml", yaml);
	char line[300], want[300];
	const struct proc_result *r;

	snprintf(line, sizeof(line), "lnetxd-fake -t -c %s", path);
	snprintf(want, sizeof(want), "%s%s", status ? path : "", text);
	r = expect(status, line);
	if (!strstr(status ? r->err : r->out, want))
		fail_msg("%s\n%s%s: no \"%s\"", yaml, r->out, r->err, want);
}

static void test_check(void **state)
{
	check_file(0, "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n", "ok\n");
	check_file(0, "", "ok: configures nothing\n");
	check_file(1, "net: [", ":2:1: not YAML");
	check_file(1, "route:\n- {net: tcp, via: x}\n", ":2:14: invalid key \"via\"");
	check_file(1, "tunables:\n  tcp:\n    nosuch: 1\n", ":3:5: tcp: no tunable \"nosuch\"");
	check_file(1, "tunables:\n  tcp:\n    acept: 1\n",
		   ":3:5: tcp: no tunable \"acept\"; did you mean accept?");
	check_file(1, "global:\n  response_tracking: 7\n",
		   ":2:22: global: response_tracking: \"7\" is out of range; expected: 0..3");
}

#define THREE_MISTAKES                                                                             \
	"route:\n- {net: tcp2, gateway: 10.0.0.1@tcp9}\n"                                          \
	"tunables: { tcp: { acept: all } }\nglobal: { retry_count: x }\n"

static unsigned int count(const char *text, const char *part)
{
	unsigned int n = 0;

	while ((text = strstr(text, part))) {
		text += strlen(part);
		n++;
	}
	return n;
}

/* All mistakes, in one format, from -t, a start and a reload. */
static void test_all_mistakes(void **state)
{
	static const char *const told[] = { "conf.yaml:2:24: route to tcp2 via 10.0.0.1@tcp9: ",
					    "conf.yaml:3:20: tcp: no tunable ",
					    "conf.yaml:4:24: invalid value for " };
	const char *path = proc_file("conf.yaml", THREE_MISTAKES);
	const struct proc_result *r;
	char line[300];

	snprintf(line, sizeof(line), "lnetxd-fake -t -c %s", path);
	r = expect(1, line);
	assert_int_equal(count(r->err, "\n"), N_OF(told));
	for (size_t i = 0; i < N_OF(told); i++)
		assert_int_equal(count(r->err, told[i]), 1);
	assert_true(strstr(r->err, told[0]) < strstr(r->err, told[2]));

	snprintf(line, sizeof(line), "lnetxd-fake --no-bpf -c %s", path);
	r = expect(78, line);
	assert_int_equal(count(r->err, "level=error action=exit reason=\"/"), N_OF(told));
	for (size_t i = 0; i < N_OF(told); i++)
		assert_int_equal(count(r->err, told[i]), 1);
}

#define TWO_NETS                                                                                   \
	"net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"                       \
	"- net type: tcp1\n  local NI(s):\n  - interfaces: {0: eth1}\n"                            \
	"global: {retry_count: 4}\n"

static const char *const with_file[] = { "--config", NULL, NULL };

static const char *const *file_args(const char *yaml)
{
	static char path[200];
	static const char *args[3];

	memcpy(args, with_file, sizeof(with_file));
	snprintf(path, sizeof(path), "%s", proc_file("conf.yaml", yaml));
	args[1] = path;
	return args;
}

static void test_start_with_file(void **state)
{
	start_with(file_args(TWO_NETS));
	prints("lnetctl net show", "net type: tcp1");
	prints("lnetctl global show", "retry_count: 4");
	expect(0, "lnetctl lnet unconfigure");
	expect(234, "lnetctl net show");
	/* Without --all, only the settings of the file. */
	expect(0, "lnetctl lnet configure");
	prints_not("lnetctl net show", "tcp");
	prints("lnetctl global show", "retry_count: 4");
	expect(0, "lnetctl lnet unconfigure");
	expect(0, "lnetctl lnet configure --all");
	prints("lnetctl net show", "net type: tcp1");
}

/* Settings last until the daemon ends or reads its file again, like module parameters. */
static void test_settings_survive(void **state)
{
	start_with(file_args(TWO_NETS));
	expect(0, "lnetctl set retry_count 5");
	expect(0, "lnetx tunable set tcp sock_timeout 77");
	expect(0, "lnetctl lnet unconfigure");
	expect(0, "lnetctl lnet configure");
	prints("lnetctl global show", "retry_count: 5");
	prints("lnetx tunable show tcp sock_timeout", " 77 ");
	expect(0, "lnetctl lnet unconfigure");
	expect(0, "lnetctl lnet configure --all");
	prints("lnetctl net show", "net type: tcp1");
	prints("lnetctl global show", "retry_count: 5");
	prints("lnetx tunable show tcp sock_timeout", " 77 ");
	/* When the file is read again, its values win, even while unconfigured. */
	expect(0, "lnetctl lnet unconfigure");
	expect(0, "lnetx daemon reload");
	expect(0, "lnetctl lnet configure --all");
	prints("lnetctl global show", "retry_count: 4");
	prints("lnetx tunable show tcp sock_timeout", " 50 ");
}

/* If the node cannot start, the daemon must exit, so that the service manager knows. */
static void test_start_fails(void **state)
{
	char line[300];
	const struct proc_result *r;

	snprintf(line, sizeof(line), "lnetxd-fake --no-bpf -c %s",
		 proc_file("conf.yaml", "net:\n- net type: tcp\n  local NI(s):\n"
					"  - interfaces: {0: nosuch}\n"));
	r = expect(1, line);
	assert_non_null(
		strstr(r->err, "conf.yaml:4:21: net tcp on nosuch: there is no such interface"));
	assert_non_null(strstr(r->err, "level=error action=exit"));
}

static void test_starts_without(void **state)
{
	static const char *const none[] = { NULL };

	start_with(none);
	assert_log("state=\"not configured\"");
	fails(234, "lnetctl net show", "errno: -100");
	fails(234, "lnetctl net add --net tcp --if eth0", "lnetctl lnet configure");
	expect(0, "lnetctl lnet configure");
	expect(0, "lnetctl net add --net tcp --if eth0");
}

static void test_reload(void **state)
{
	start_with(file_args(TWO_NETS));
	proc_file("conf.yaml", "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
			       "- net type: tcp2\n  local NI(s):\n  - interfaces: {0: eth2}\n");
	kill(lnetxd.pid, SIGHUP);
	assert_log("action=reloaded");
	prints("lnetctl net show", "net type: tcp2");
	prints_not("lnetctl net show", "net type: tcp1");
	/* eth0's NI was kept. */
	prints("lnetctl net show --net tcp", "nid: 10.0.0.1@tcp\n");

	proc_file("conf.yaml", "net:\n- nett type: tcp\n");
	kill(lnetxd.pid, SIGHUP);
	assert_log("conf.yaml:2:3: invalid key 'nett type'");
	assert_log("configuration unchanged");
	prints("lnetctl net show", "net type: tcp2");
	fails(1, "lnetx daemon reload", "conf.yaml:2:3");
	/* Invalid configurations are refused before anything changes. */
	proc_file("conf.yaml", THREE_MISTAKES);
	fails(1, "lnetx daemon reload", "conf.yaml:2:24: route to tcp2");
	fails(1, "lnetx daemon reload", "the first of 3 mistakes; \"lnetxd -t -c ");
	prints("lnetctl net show", "net type: tcp2");
	/* Not configured: the file is kept for later. */
	expect(0, "lnetctl lnet unconfigure");
	proc_file("conf.yaml", TWO_NETS);
	expect(0, "lnetx daemon reload");
	expect(0, "lnetctl lnet configure --all");
	prints("lnetctl net show", "net type: tcp1");
}

/* The first file that exists, at the start and at each reload; and what it has in vain. */
static void test_two_files(void **state)
{
	char best[200], line[300];

	snprintf(best, sizeof(best), "%s/best.yaml", proc_dir());
	start_with((const char *const[]){ "-c", best, "-c",
					  proc_file("conf.yaml",
						    "net:\n- net type: tcp2\n  seq_no: 1\n"
						    "  interfaces: {0: eth0}\n"),
					  NULL });
	assert_log("best.yaml\"");
	assert_log("conf.yaml reason=\"there is no ");
	assert_log("ignored=\"'seq_no' (line 3)\"");
	prints("lnetctl net show", "net type: tcp2");
	proc_file("best.yaml", "net:\n- net type: tcp3\n  detail: 1\n  interfaces: {0: eth0}\n");
	expect(0, "lnetx daemon reload");
	assert_log("ignored=\"'detail' (line 3)\"");
	prints("lnetctl net show", "net type: tcp3");
	prints("lnetx daemon show", "best.yaml");
	snprintf(line, sizeof(line), "lnetxd-fake -t -c %s", best);
	warns(line, "best.yaml: ignored: \"detail\" (line 3)");
	unlink(best);
	/* None: the first is the one to write. */
	snprintf(line, sizeof(line), "lnetxd-fake -c %s -c %s/none", best, proc_dir());
	fails(1, line, "best.yaml: cannot read it");
	expect(2, "lnetxd-fake -c a -c a -c a -c a -c a");
}

/* ---- service manager, log, socket -------------------------------------------------- */

static int notify_socket(struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	sa->sun_family = AF_UNIX;
	snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/notify", proc_dir());
	unlink(sa->sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	setenv("NOTIFY_SOCKET", sa->sun_path, 1);
	return fd;
}

static void assert_notified(int fd, const char *text)
{
	char buf[512];
	ssize_t len = recv(fd, buf, sizeof(buf) - 1, 0);

	assert_true(len > 0);
	buf[len] = '\0';
	if (strncmp(buf, text, strlen(text)))
		fail_msg("told \"%s\", not \"%s\"", buf, text);
}

static void test_notify(void **state)
{
	struct sockaddr_un sa;
	int fd = notify_socket(&sa);

	start_with(file_args(TWO_NETS));
	assert_notified(fd, "READY=1\nSTATUS=");
	kill(lnetxd.pid, SIGHUP);
	assert_notified(fd, "RELOADING=1\nMONOTONIC_USEC=");
	assert_notified(fd, "READY=1\nSTATUS=");
	stop(NULL);
	assert_notified(fd, "STOPPING=1\n");
	unsetenv("NOTIFY_SOCKET");
	close(fd);
}

/* The start may take longer than the watchdog's time. */
static void skip_until_ready(int fd)
{
	char buf[512];
	ssize_t len;

	do {
		len = recv(fd, buf, sizeof(buf) - 1, 0);
		assert_true(len > 0);
	} while (strncmp(buf, "READY=1\nSTATUS=", strlen("READY=1\nSTATUS=")));
}

/* Nothing more fits into that socket. */
static void fill(const struct sockaddr_un *sa)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	while (sendto(fd, "X=1", 3, MSG_DONTWAIT, (const struct sockaddr *)sa, sizeof(*sa)) == 3)
		;
	assert_int_equal(errno, EAGAIN);
	close(fd);
}

/* It feeds the service manager's watchdog, in time, and does not wait for one that does not read. */
static void test_watchdog(void **state)
{
	struct sockaddr_un sa;
	int fd = notify_socket(&sa);

	setenv("WATCHDOG_USEC", "600000", 1);
	start_with(file_args(TWO_NETS));
	skip_until_ready(fd);
	for (int i = 0; i < 5; i++)
		assert_notified(fd, "WATCHDOG=1");
	stop(NULL);
	setenv("WATCHDOG_USEC", "6000", 1);
	start_with(file_args(TWO_NETS));
	fill(&sa);
	usleep(50000); /* for many more */
	expect(0, "lnetx daemon show");
	stop(NULL);
	unsetenv("WATCHDOG_USEC");
	unsetenv("NOTIFY_SOCKET");
	close(fd);
}

static void test_journal(void **state)
{
	char text[100], *log, zone;
	int n[8], end = 0;
	struct stat st;

	/* The log is the journal's stream ... */
	assert_int_equal(stat(proc_file("log", ""), &st), 0);
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	start(NULL);
	assert_log("\n<6>instance=test state=running nis=0 routes=0 routing=off\n");
	stop(NULL);
	/* ... or goes elsewhere although JOURNAL_STREAM is set: lines have a timestamp. */
	setenv("JOURNAL_STREAM", "8:1", 1);
	start(NULL);
	unsetenv("JOURNAL_STREAM");
	assert_log(" level=info instance=test state=running");
	log = proc_read(lnetxd.log);
	assert_int_equal(sscanf(log, "%4d-%2d-%2dT%2d:%2d:%2d.%3d%c%4d level=info %n", &n[0], &n[1],
				&n[2], &n[3], &n[4], &n[5], &n[6], &zone, &n[7], &end), 9);
	assert_true(end == 40 && (zone == '+' || zone == '-'));
	assert_in_range(n[0], 2020, 2200);
	free(log);
}

/* The log says who changed what, and nothing about changes that were refused. */
static void test_commands(void **state)
{
	static const char *const lines[][2] = {
		{ "lnetctl net add --net tcp --if eth0 --peer-credits 16 --conns-per-peer 2",
		  "command=\"net add\" net_type=tcp interfaces=eth0 peer_credits=16 "
		  "lnd_tunables=conns_per_peer:2" },
		{ "lnetctl route add --net tcp7 --gateway 10.0.0.9@tcp --hop 2",
		  "command=\"route add\" net=tcp7 gateway=10.0.0.9@tcp hop=2" },
		{ "lnetctl route del --net tcp7 --gateway 10.0.0.9@tcp",
		  "command=\"route del\" net=tcp7 gateway=10.0.0.9@tcp" },
		{ "lnetctl peer add --prim_nid 10.0.0.20@tcp --nid 10.0.0.21@tcp",
		  "command=\"peer add\" primary_nid=10.0.0.20@tcp Multi-Rail=true "
		  "peer_ni=10.0.0.21@tcp" },
		{ "lnetctl set transaction_timeout 60",
		  "command=\"tunable set\" module=lnet name=lnet_transaction_timeout value=60" },
		{ "lnetctl set routing 1", "command=\"routing set\" enable=1" },
		{ "lnetctl set large_buffers 300", "command=\"buffers set\" large=300" },
		{ "lnetctl stats reset", "command=\"statistics reset\"" },
		{ "lnetctl net del --net tcp", "command=\"net del\" net_type=tcp" },
		{ "lnetctl lnet unconfigure", "command=\"lnet unconfigure\"" },
		{ "lnetctl lnet configure", "command=\"lnet configure\"" },
	};
	char want[300], *log;

	start(NULL);
	for (size_t i = 0; i < N_OF(lines); i++) {
		expect(0, lines[i][0]);
		snprintf(want, sizeof(want), "%s client_uid=%d client_pid=", lines[i][1], getuid());
		assert_log(want);
	}
	expect(234, "lnetctl route add --net tcp8 --gateway 10.0.0.9@tcp9");
	expect(0, "lnetx net");
	log = proc_read(lnetxd.log);
	assert_null(strstr(log, "tcp8"));
	assert_null(strstr(log, "client_pid=0"));
	free(log);
}

static void test_stop(void **state)
{
	char path[200];

	start_with((const char *const[]){ "--configure", "--drain", "700", NULL });
	kill(lnetxd.pid, SIGTERM);
	assert_log("fakenode=stopped drain_ms=6"); /* the rest of 700000 */
	assert_int_equal(waitpid(lnetxd.pid, NULL, 0), lnetxd.pid);
	lnetxd.pid = 0;
	fails(1, "lnetx net", "no lnetxd runs");
	/* No socket or lock is left. */
	snprintf(path, sizeof(path), "%s/test.sock", proc_dir());
	assert_int_equal(access(path, F_OK), -1);
	strcat(path, ".lock");
	assert_int_equal(access(path, F_OK), -1);
}

/* ---- a router's neighbours ---------------------------------------------------------- */

#define ROUTER                                                                                     \
	"net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"                       \
	"routing: {enable: 1}\n"                                                                   \
	"peer:\n- primary nid: 10.0.0.7@tcp\n- primary nid: 10.0.0.8@tcp\n"

#define NEIGHBOURS "10.0.0.1@tcp.neighbours"

static char *neighbours_file(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/" NEIGHBOURS, proc_dir());
	return proc_read(path);
}

/* A stop has two phases; users of the router are remembered, and told when it is back. */
static void test_router(void **state)
{
	long long seen[3], now = time(NULL);
	char line[200], *file;

	start_with(file_args(ROUTER));
	kill(lnetxd.pid, SIGTERM);
	assert_log("fakenode=\"stopped routing\" limit_ms=70000");
	assert_log("fakenode=stopped drain_ms=6"); /* the rest of it */
	assert_int_equal(waitpid(lnetxd.pid, NULL, 0), lnetxd.pid);
	file = neighbours_file();
	assert_int_equal(sscanf(file, "10.0.0.7@tcp %lld\n10.0.0.8@tcp %lld\n", &seen[0], &seen[1]),
			 2);
	assert_in_range(seen[0], now, now + 60);
	assert_in_range(seen[1], now - 60, now);
	free(file);

	/* Unreadable lines are skipped; the latest come first; old ones are told, too ... */
	snprintf(line, sizeof(line), "10.0.0.5@tcp 100\nx@y 5\n\n10.0.0.6@tcp %lld\n* 7\nhalf",
		 now - 3600);
	proc_file(NEIGHBOURS, line);
	start_with(file_args(ROUTER));
	assert_log("fakenode=announces n=2 first=10.0.0.6@tcp last=10.0.0.5@tcp");
	stop(NULL);
	/* ... but not kept longer. */
	file = neighbours_file();
	assert_int_equal(sscanf(file, "10.0.0.7@tcp %lld\n10.0.0.8@tcp %lld\n10.0.0.6@tcp %lld\n",
				&seen[0], &seen[1], &seen[2]), 3);
	assert_int_equal(seen[2], now - 3600);
	assert_null(strstr(file, "10.0.0.5@tcp"));
	free(file);
}

/* The largest file. */
static void test_many_neighbours(void **state)
{
	char *text = malloc(10000 * 40), *file, *p = text;
	unsigned int lines = 0;

	for (int i = 0; i < 10000; i++)
		p += sprintf(p, "10.1.%d.%d@tcp %lld\n", i / 250, i % 250, (long long)time(NULL));
	proc_file(NEIGHBOURS, text);
	free(text);
	start_with(file_args(ROUTER));
	assert_log("fakenode=announces n=4096");
	stop(NULL);
	file = neighbours_file();
	for (p = file; *p; p++)
		lines += *p == '\n';
	assert_int_equal(lines, 4096);
	assert_non_null(strstr(file, "10.0.0.7@tcp"));
	free(file);
}

/* A node that does not route remembers nobody. */
static void test_no_router(void **state)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/" NEIGHBOURS, proc_dir());
	unlink(path);
	start_with(file_args(TWO_NETS "peer:\n- primary nid: 10.0.0.7@tcp\n"));
	stop(NULL);
	assert_int_equal(access(path, F_OK), -1);
}

/* A reload that turns routing off first stops it. */
static void test_reload_without_routing(void **state)
{
	start_with(file_args(ROUTER));
	proc_file("conf.yaml", TWO_NETS);
	kill(lnetxd.pid, SIGHUP);
	assert_log("fakenode=\"stopped routing\" limit_ms=70000");
	assert_log("action=reloaded");
	prints("lnetctl net show", "net type: tcp1");
}

static void test_one_of_a_name(void **state)
{
	start(NULL);
	fails(1, "lnetxd-fake --configure", "runs already");
	expect(0, "lnetx net"); /* the first one is unaffected */

	/* A dead daemon's socket does not block the next. */
	kill(lnetxd.pid, SIGKILL);
	waitpid(lnetxd.pid, NULL, 0);
	fails(1, "lnetx net", "no lnetxd runs");
	start(NULL);
	expect(0, "lnetx net");
}

static void test_socket_mode(void **state)
{
	char path[200];
	struct stat st;

	start(NULL);
	snprintf(path, sizeof(path), "%s/test.sock", proc_dir());
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_options),
		TEST(test_check),
		TEST(test_all_mistakes),
		TEST(test_start_with_file),
		TEST(test_settings_survive),
		TEST(test_start_fails),
		TEST(test_starts_without),
		TEST(test_reload),
		TEST(test_two_files),
		TEST(test_notify),
		TEST(test_watchdog),
		TEST(test_journal),
		TEST(test_stop),
		TEST(test_one_of_a_name),
		TEST(test_socket_mode),
		TEST(test_router),
		TEST(test_many_neighbours),
		TEST(test_commands),
		TEST(test_no_router),
		TEST(test_reload_without_routing),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
