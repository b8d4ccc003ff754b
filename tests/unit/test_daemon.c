/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetxd as a service, on the fake node: options, files, signals, the service manager,
 * its socket; and clients that misbehave.
 */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <internal/control.h>

#include "../../user/ctl/codec.h"
#include "proc.h"
#include "testlib.h"

static struct proc_daemon lnetxd;

static void start(const char *state, const char *const *args)
{
	proc_daemon_start(&lnetxd, state, args);
	proc_daemon_wait_log(&lnetxd, "state=");
}

static void start_configured(const char *state)
{
	start(state, (const char *const[]){ "--configure", NULL });
}

static int stop(void **state)
{
	if (lnetxd.pid)
		assert_int_equal(proc_daemon_stop(&lnetxd), 0);
	lnetxd.pid = 0;
	return 0;
}

/* Runs a tool; fails unless this is its exit status. */
static const struct proc_result *run(int status, const char *line)
{
	const struct proc_result *r = proc_run(line);

	if (r->status != status)
		fail_msg("$ %s\n%s%sstatus %d, not %d", line, r->out, r->err, r->status, status);
	return r;
}

static bool shows(const char *line, const char *text)
{
	return strstr(run(0, line)->out, text);
}

static void assert_log(const char *text)
{
	proc_daemon_wait_log(&lnetxd, text);
}

/* Repeats a command until it succeeds: the daemon takes a moment to see that clients left. */
static void run_soon(const char *line)
{
	for (int i = 0; i < 500; i++) {
		if (!proc_run(line)->status)
			return;
	}
	run(0, line);
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
		{ 2, "-t", "needs a file" },
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
		if (!strstr(run(cases[i].status, line)->err, cases[i].text))
			fail_msg("lnetxd %s: no \"%s\"", cases[i].args, cases[i].text);
	}
	/* The directory that is used, not the usual one. */
	setenv("LNETX_RUNDIR", "/nonexistent/run", 1);
	assert_non_null(strstr(run(1, "lnetxd-fake")->err, "below /nonexistent/run: No such file"));
	setenv("LNETX_RUNDIR", rundir, 1);
	free(rundir);
	assert_non_null(strstr(run(0, "lnetxd-fake --version")->out, "lnetxd "));
	assert_non_null(strstr(run(0, "lnetxd-fake --help")->out, "--drain"));
}

static void check_file(int status, const char *yaml, const char *text)
{
	const char *path = proc_file("conf.yaml", yaml);
	char line[300], want[300];
	const struct proc_result *r;

	snprintf(line, sizeof(line), "lnetxd-fake -t -c %s", path);
	snprintf(want, sizeof(want), "%s%s", status ? path : "", text);
	r = run(status, line);
	if (!strstr(status ? r->err : r->out, want))
		fail_msg("%s\n%s%s: no \"%s\"", yaml, r->out, r->err, want);
}

static void test_check(void **state)
{
	check_file(0, "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n", "ok\n");
	check_file(0, "", "ok\n");
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
	r = run(1, line);
	assert_int_equal(count(r->err, "\n"), N_OF(told));
	for (size_t i = 0; i < N_OF(told); i++)
		assert_int_equal(count(r->err, told[i]), 1);
	assert_true(strstr(r->err, told[0]) < strstr(r->err, told[2]));

	snprintf(line, sizeof(line), "lnetxd-fake --no-bpf -c %s", path);
	r = run(1, line);
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
	start(NULL, file_args(TWO_NETS));
	assert_true(shows("lnetctl net show", "net type: tcp1"));
	assert_true(shows("lnetctl global show", "retry_count: 4"));
	run(0, "lnetctl lnet unconfigure");
	run(234, "lnetctl net show");
	/* Without --all, only the settings of the file. */
	run(0, "lnetctl lnet configure");
	assert_false(shows("lnetctl net show", "tcp"));
	assert_true(shows("lnetctl global show", "retry_count: 4"));
	run(0, "lnetctl lnet unconfigure");
	run(0, "lnetctl lnet configure --all");
	assert_true(shows("lnetctl net show", "net type: tcp1"));
}

/* Settings last until the daemon ends or reads its file again, like module parameters. */
static void test_settings_survive(void **state)
{
	start(NULL, file_args(TWO_NETS));
	run(0, "lnetctl set retry_count 5");
	run(0, "lnetx tunable set tcp sock_timeout 77");
	run(0, "lnetctl lnet unconfigure");
	run(0, "lnetctl lnet configure");
	assert_true(shows("lnetctl global show", "retry_count: 5"));
	assert_true(shows("lnetx tunable show tcp sock_timeout", " 77 "));
	run(0, "lnetctl lnet unconfigure");
	run(0, "lnetctl lnet configure --all");
	assert_true(shows("lnetctl net show", "net type: tcp1"));
	assert_true(shows("lnetctl global show", "retry_count: 5"));
	assert_true(shows("lnetx tunable show tcp sock_timeout", " 77 "));
	/* When the file is read again, its values win, even while unconfigured. */
	run(0, "lnetctl lnet unconfigure");
	run(0, "lnetx daemon reload");
	run(0, "lnetctl lnet configure --all");
	assert_true(shows("lnetctl global show", "retry_count: 4"));
	assert_true(shows("lnetx tunable show tcp sock_timeout", " 50 "));
}

/* If the node cannot start, the daemon must exit, so that the service manager knows. */
static void test_start_fails(void **state)
{
	char line[300];
	const struct proc_result *r;

	snprintf(line, sizeof(line), "lnetxd-fake --no-bpf -c %s",
		 proc_file("conf.yaml", "net:\n- net type: tcp\n  local NI(s):\n"
					"  - interfaces: {0: nosuch}\n"));
	r = run(1, line);
	assert_non_null(
		strstr(r->err, "conf.yaml:4:21: net tcp on nosuch: there is no such interface"));
	assert_non_null(strstr(r->err, "level=error action=exit"));
}

static void test_starts_without(void **state)
{
	static const char *const none[] = { NULL };
	const struct proc_result *r;

	start(NULL, none);
	assert_log("state=\"not configured\"");
	r = run(234, "lnetctl net show");
	assert_non_null(strstr(r->err, "errno: -100"));
	r = run(234, "lnetctl net add --net tcp --if eth0");
	assert_non_null(strstr(r->err, "lnetctl lnet configure"));
	run(0, "lnetctl lnet configure");
	run(0, "lnetctl net add --net tcp --if eth0");
}

static void test_reload(void **state)
{
	start(NULL, file_args(TWO_NETS));
	proc_file("conf.yaml", "net:\n- net type: tcp\n  local NI(s):\n  - interfaces: {0: eth0}\n"
			       "- net type: tcp2\n  local NI(s):\n  - interfaces: {0: eth2}\n");
	kill(lnetxd.pid, SIGHUP);
	assert_log("action=reloaded");
	assert_true(shows("lnetctl net show", "net type: tcp2"));
	assert_false(shows("lnetctl net show", "net type: tcp1"));
	/* eth0's NI was kept. */
	assert_true(shows("lnetctl net show --net tcp", "nid: 10.0.0.1@tcp\n"));

	proc_file("conf.yaml", "net:\n- nett type: tcp\n");
	kill(lnetxd.pid, SIGHUP);
	assert_log("conf.yaml:2:3: invalid key 'nett type'");
	assert_log("configuration unchanged");
	assert_true(shows("lnetctl net show", "net type: tcp2"));
	assert_non_null(strstr(run(1, "lnetx daemon reload")->err, "conf.yaml:2:3"));
	/* Invalid configurations are refused before anything changes. */
	proc_file("conf.yaml", THREE_MISTAKES);
	assert_non_null(
		strstr(run(1, "lnetx daemon reload")->err, "conf.yaml:2:24: route to tcp2"));
	assert_non_null(strstr(run(1, "lnetx daemon reload")->err,
			       "the first of 3 mistakes; \"lnetxd -t -c "));
	assert_true(shows("lnetctl net show", "net type: tcp2"));
	/* Not configured: the file is kept for later. */
	run(0, "lnetctl lnet unconfigure");
	proc_file("conf.yaml", TWO_NETS);
	run(0, "lnetx daemon reload");
	run(0, "lnetctl lnet configure --all");
	assert_true(shows("lnetctl net show", "net type: tcp1"));
}

/* The first file that exists, at the start and at each reload; and what it has in vain. */
static void test_two_files(void **state)
{
	char best[200], line[300];

	snprintf(best, sizeof(best), "%s/best.yaml", proc_dir());
	start(NULL, (const char *const[]){ "-c", best, "-c",
					   proc_file("conf.yaml", "net:\n- net type: tcp2\n  seq_no: 1\n"
								  "  interfaces: {0: eth0}\n"),
					   NULL });
	assert_log("best.yaml\"");
	assert_log("conf.yaml reason=\"there is no ");
	assert_log("ignored=\"'seq_no' (line 3)\"");
	assert_true(shows("lnetctl net show", "net type: tcp2"));
	proc_file("best.yaml", "net:\n- net type: tcp3\n  detail: 1\n  interfaces: {0: eth0}\n");
	run(0, "lnetx daemon reload");
	assert_log("ignored=\"'detail' (line 3)\"");
	assert_true(shows("lnetctl net show", "net type: tcp3"));
	assert_true(shows("lnetx daemon show", "best.yaml"));
	snprintf(line, sizeof(line), "lnetxd-fake -t -c %s", best);
	assert_non_null(strstr(run(0, line)->err, "best.yaml: ignored: \"detail\" (line 3)"));
	unlink(best);
	/* None: the first is the one to write. */
	snprintf(line, sizeof(line), "lnetxd-fake -c %s -c %s/none", best, proc_dir());
	assert_non_null(strstr(run(1, line)->err, "best.yaml: cannot read it"));
	run(2, "lnetxd-fake -c a -c a -c a -c a -c a");
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

	start(NULL, file_args(TWO_NETS));
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

/* It feeds the service manager's watchdog, in time, and does not wait for one that does not read. */
static void test_watchdog(void **state)
{
	struct sockaddr_un sa;
	int fd = notify_socket(&sa);

	setenv("WATCHDOG_USEC", "600000", 1);
	start(NULL, file_args(TWO_NETS));
	skip_until_ready(fd);
	for (int i = 0; i < 5; i++)
		assert_notified(fd, "WATCHDOG=1");
	stop(NULL);
	setenv("WATCHDOG_USEC", "6000", 1);
	start(NULL, file_args(TWO_NETS));
	sleep(2); /* more than fits into its socket */
	run(0, "lnetx daemon show");
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
	start_configured(NULL);
	assert_log("\n<6>instance=test state=running nis=0 routes=0 routing=off\n");
	stop(NULL);
	/* ... or goes elsewhere although JOURNAL_STREAM is set: lines have a timestamp. */
	setenv("JOURNAL_STREAM", "8:1", 1);
	start_configured(NULL);
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

	start_configured(NULL);
	for (size_t i = 0; i < N_OF(lines); i++) {
		run(0, lines[i][0]);
		snprintf(want, sizeof(want), "%s client_uid=%d client_pid=", lines[i][1], getuid());
		assert_log(want);
	}
	run(234, "lnetctl route add --net tcp8 --gateway 10.0.0.9@tcp9");
	run(0, "lnetx net");
	log = proc_read(lnetxd.log);
	assert_null(strstr(log, "tcp8"));
	assert_null(strstr(log, "client_pid=0"));
	free(log);
}

static void test_stop(void **state)
{
	char path[200];

	start(NULL, (const char *const[]){ "--configure", "--drain", "700", NULL });
	kill(lnetxd.pid, SIGTERM);
	assert_log("fakenode=stopped drain_ms=6"); /* the rest of 700000 */
	assert_int_equal(waitpid(lnetxd.pid, NULL, 0), lnetxd.pid);
	lnetxd.pid = 0;
	assert_non_null(strstr(run(1, "lnetx net")->err, "no lnetxd runs"));
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

	start(NULL, file_args(ROUTER));
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
	start(NULL, file_args(ROUTER));
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
	start(NULL, file_args(ROUTER));
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
	start(NULL, file_args(TWO_NETS "peer:\n- primary nid: 10.0.0.7@tcp\n"));
	stop(NULL);
	assert_int_equal(access(path, F_OK), -1);
}

/* A reload that turns routing off first stops it. */
static void test_reload_without_routing(void **state)
{
	start(NULL, file_args(ROUTER));
	proc_file("conf.yaml", TWO_NETS);
	kill(lnetxd.pid, SIGHUP);
	assert_log("fakenode=\"stopped routing\" limit_ms=70000");
	assert_log("action=reloaded");
	assert_true(shows("lnetctl net show", "net type: tcp1"));
}

static void test_one_of_a_name(void **state)
{
	start_configured(NULL);
	assert_non_null(strstr(run(1, "lnetxd-fake --configure")->err, "runs already"));
	run(0, "lnetx net"); /* the first one is unaffected */

	/* A dead daemon's socket does not block the next. */
	kill(lnetxd.pid, SIGKILL);
	waitpid(lnetxd.pid, NULL, 0);
	assert_non_null(strstr(run(1, "lnetx net")->err, "no lnetxd runs"));
	start_configured(NULL);
	run(0, "lnetx net");
}

static void test_socket_mode(void **state)
{
	char path[200];
	struct stat st;

	start_configured(NULL);
	snprintf(path, sizeof(path), "%s/test.sock", proc_dir());
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
}

/* ---- clients by hand
 * ----------------------------------------------------------------------------- */

static int connect_raw(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/test.sock", proc_dir());
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static struct nlmsghdr *request(char *buf, uint8_t command, uint16_t flags, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct lx_control_hdr *hdr;

	nlh->nlmsg_type = LX_CONTROL_TYPE;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = 77;
	hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));
	hdr->command = command;
	hdr->version = version;
	return nlh;
}

/* Returns the text of the error in the reply. */
static const char *error_of(int fd, const struct nlmsghdr *nlh, int *ret_error)
{
	static _Alignas(8) char buf[LX_CONTROL_PACKET];
	const struct nlmsghdr *got = (const void *)buf;
	const struct nlattr *text;
	const void *attrs;
	size_t len, head;

	assert_int_equal(send(fd, nlh, nlh->nlmsg_len, 0), nlh->nlmsg_len);
	assert_true(recv(fd, buf, sizeof(buf), 0) > 0);
	assert_int_equal(got->nlmsg_seq, 77);
	head = got->nlmsg_type == NLMSG_DONE ? sizeof(int32_t) : sizeof(struct nlmsgerr);
	*ret_error = *(const int32_t *)mnl_nlmsg_get_payload(got);
	attrs = lx_schema_attrs(got, head, &len);
	text = lx_schema_find(attrs, len, LX_CONTROL_ERR_TEXT);
	return text ? lx_schema_text(text) : "";
}

static void test_bad_requests(void **state)
{
	_Alignas(8) char buf[512];
	struct nlmsghdr *nlh;
	int fd, error;

	start_configured(NULL);
	fd = connect_raw();
	nlh = request(buf, LX_CONTROL_NETS, NLM_F_DUMP, LX_CONTROL_VERSION + 1);
	assert_non_null(strstr(error_of(fd, nlh, &error), "this client version 2"));
	assert_int_equal(error, -EPROTONOSUPPORT);
	nlh = request(buf, 99, 0, LX_CONTROL_VERSION);
	assert_non_null(strstr(error_of(fd, nlh, &error), "does not know command 99"));
	assert_int_equal(error, -EOPNOTSUPP);
	nlh = request(buf, 99, NLM_F_DUMP, LX_CONTROL_VERSION);
	error_of(fd, nlh, &error);
	assert_int_equal(error, -EOPNOTSUPP);
	nlh = request(buf, LX_CONTROL_NETS, NLM_F_CREATE, LX_CONTROL_VERSION);
	mnl_attr_put_u64(nlh, 200, 1);
	assert_non_null(strstr(error_of(fd, nlh, &error), "unknown attribute 200"));
	nlh = request(buf, LX_CONTROL_CONFIGURE, 0, LX_CONTROL_VERSION); /* stop */
	mnl_attr_put_u64(nlh, 1, 1);
	assert_non_null(strstr(error_of(fd, nlh, &error), "unknown attribute 1"));
	nlh = request(buf, LX_CONTROL_PING, NLM_F_DUMP, LX_CONTROL_VERSION);
	assert_non_null(strstr(error_of(fd, nlh, &error), "give a NID"));
	nlh = request(buf, LX_CONTROL_ROUTES, NLM_F_CREATE, LX_CONTROL_VERSION);
	assert_non_null(strstr(error_of(fd, nlh, &error), "needs a net"));
	/* The connection still works. */
	nlh = request(buf, LX_CONTROL_STATS, 0, LX_CONTROL_VERSION);
	error_of(fd, nlh, &error);
	assert_int_equal(error, 0);
	close(fd);
}

/* Bytes that are no message end this connection only. */
static void test_garbage(void **state)
{
	char buf[2 * LX_CONTROL_PACKET];

	start_configured(NULL);
	for (int i = 0; i < 200; i++) {
		size_t len = 1 + rnd_below(i < 100 ? 64 : sizeof(buf) - 1);
		int fd = connect_raw();

		rnd_fill(buf, len);
		/* Random headers may be valid requests, such as a stop. */
		if (i & 1 && len > MNL_NLMSG_HDRLEN + sizeof(struct lx_control_hdr)) {
			request(buf, rnd(), rnd(), LX_CONTROL_VERSION);
			((struct nlmsghdr *)buf)->nlmsg_len = i & 2 ? len : rnd();
		}
		send(fd, buf, len, MSG_NOSIGNAL);
		if (i % 3)
			recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		close(fd);
	}
	run(0, "lnetx daemon");
	assert_true(shows("lnetx net", "0@lo"));
}

static char *many_peers(int n)
{
	char *state = malloc(n * 2000 + 100);
	size_t used = sprintf(state, "peer:\n");

	for (int i = 0; i < n; i++) {
		used += sprintf(state + used,
				"- primary nid: 10.1.%d.1@tcp\n  Multi-Rail: true\n"
				"  peer ni:\n",
				i);
		for (int j = 1; j <= 40; j++)
			used += sprintf(state + used, "  - {nid: 10.1.%d.%d@tcp, state: up}\n", i,
					j);
	}
	return state;
}

/* A client that requests much and does not read delays nobody, and gets everything in the end. */
static void test_slow_reader(void **state)
{
	char *peers = many_peers(200);
	_Alignas(8) char buf[LX_CONTROL_PACKET];
	struct lx_control_show show = { .net = LX_NET_U32_ANY,
					.nid = lx_nid_any,
					.gateway = lx_nid_any,
					.hop = -1,
					.priority = -1,
					.level = LX_LEVEL_OWN };
	size_t rows = 0, packets = 0;
	struct nlmsghdr *nlh;
	bool done = false;
	int fd;

	start_configured(peers);
	fd = connect_raw();
	nlh = request(buf, LX_CONTROL_PEERS, NLM_F_DUMP, LX_CONTROL_VERSION);
	assert_int_equal(
		lx_schema_put(nlh, sizeof(buf), &lx_control_show_schema, &show, LX_LEVEL_OWN), 0);
	assert_int_equal(send(fd, buf, nlh->nlmsg_len, 0), nlh->nlmsg_len);
	for (int i = 0; i < 20; i++)
		run(0, "lnetx daemon");
	run(0, "lnetx peer del primary 10.1.7.1@tcp"); /* the snapshot is unaffected */
	while (!done) {
		ssize_t len = recv(fd, buf, sizeof(buf), 0);
		int rest = len;

		assert_true(len > 0);
		packets++;
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest)) {
			done = nlh->nlmsg_type == NLMSG_DONE;
			rows += !done;
		}
		assert_int_equal(rest, 0);
	}
	assert_int_equal(rows, 200 * 40);
	assert_true(packets > 20);
	/* It may leave in the middle. */
	nlh = request(buf, LX_CONTROL_PEERS, NLM_F_DUMP, LX_CONTROL_VERSION);
	send(fd, buf, nlh->nlmsg_len, 0);
	close(fd);
	assert_true(shows("lnetctl peer list", "10.1.199.1@tcp"));
	free(peers);
}

/* The tools reassemble a peer that spans many packets. */
static void test_long_list(void **state)
{
	char *peers = many_peers(20);
	const struct proc_result *r;
	size_t nids = 0, primaries = 0;

	start_configured(peers);
	r = run(0, "lnetctl peer show");
	for (const char *p = r->out; (p = strstr(p, "nid: ")); p++)
		nids++;
	for (const char *p = r->out; (p = strstr(p, "primary nid: ")); p++)
		primaries++;
	assert_int_equal(primaries, 20);
	assert_int_equal(nids, 20 * 41);
	free(peers);
}

static void test_too_many_clients(void **state)
{
	int fd[80], refused = 0;
	char buf[512];

	start_configured(NULL);
	for (size_t i = 0; i < N_OF(fd); i++)
		fd[i] = connect_raw();
	proc_daemon_wait_log(&lnetxd, "too many control clients");
	/* The last one is refused after all others. */
	assert_true(recv(fd[N_OF(fd) - 1], buf, sizeof(buf), 0) > 0);
	for (size_t i = 0; i < N_OF(fd) - 1; i++)
		refused += recv(fd[i], buf, sizeof(buf), MSG_DONTWAIT) > 0;
	assert_in_range(refused, 1, 15);
	assert_non_null(strstr(run(1, "lnetx daemon")->err, "too many clients"));
	for (size_t i = 0; i < N_OF(fd); i++)
		close(fd[i]);
	run_soon("lnetx daemon");
}

/* Users who may do nothing take no places. */
static void test_strangers(void **state)
{
	char buf[512];
	int fd[60];

	if (geteuid())
		skip();
	start(NULL, (const char *const[]){ "--configure", "--group", "users", NULL });
	assert_int_equal(setegid(65534) | seteuid(65534), 0);
	for (size_t i = 0; i < N_OF(fd); i++)
		fd[i] = connect_raw();
	assert_int_equal(seteuid(0) | setegid(0), 0);
	assert_int_equal(proc_run_as(65534, 100, "lnetx daemon", NULL)->status, 0);
	for (size_t i = 0; i < N_OF(fd); i++) {
		assert_true(recv(fd[i], buf, sizeof(buf), 0) > 0); /* the reason */
		assert_int_equal(recv(fd[i], buf, sizeof(buf), 0), 0);
		close(fd[i]);
	}
}

/* Out of descriptors: new clients are told so, and the daemon continues. */
static void test_few_descriptors(void **state)
{
	struct rlimit all, few = { 24, 24 };
	int fd[40], refused = 0;
	char buf[512];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few.rlim_max = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	start_configured(NULL); /* inherits the limit */
	setrlimit(RLIMIT_NOFILE, &all);
	for (size_t i = 0; i < N_OF(fd); i++)
		fd[i] = connect_raw();
	assert_log("control client not accepted: Too many open files");
	assert_true(recv(fd[39], buf, sizeof(buf), 0) > 0);
	for (size_t i = 0; i < N_OF(fd); i++) {
		refused += i < 39 && recv(fd[i], buf, sizeof(buf), MSG_DONTWAIT) > 0;
	}
	assert_in_range(refused, 10, 38);
	assert_non_null(strstr(run(1, "lnetx daemon")->err, "no file descriptors left"));
	for (size_t i = 0; i < N_OF(fd); i++)
		close(fd[i]);
	run_soon("lnetx daemon");
}

/* Clients that leave before their answer. */
static void test_leavers(void **state)
{
	_Alignas(8) char buf[512];
	struct lx_control_ping ping = { .source = lx_nid_any, .timeout_ms = 1000 };

	start_configured(NULL);
	assert_int_equal(lx_nid_parse("10.0.0.9@tcp", &ping.nid), 0);
	for (int i = 0; i < 100; i++) {
		int fd = connect_raw();
		struct nlmsghdr *nlh;

		if (i & 1) {
			nlh = request(buf, LX_CONTROL_PING, NLM_F_DUMP, LX_CONTROL_VERSION);
			lx_schema_put(nlh, sizeof(buf), &lx_control_ping_schema, &ping,
				      LX_LEVEL_OWN);
		} else {
			nlh = request(buf, i & 2 ? LX_CONTROL_STATS : LX_CONTROL_CONFIGURE,
				      i & 4 ? NLM_F_CREATE : 0, LX_CONTROL_VERSION);
		}
		send(fd, buf, nlh->nlmsg_len, 0);
		close(fd);
	}
	run(0, "lnetctl lnet configure");
	run(0, "lnetx net");
}

/* A monitor that does not read loses changes, and learns how many. */
static void test_slow_monitor(void **state)
{
	_Alignas(8) char buf[LX_CONTROL_PACKET];
	uint64_t lost = 0, told = 0;
	struct nlmsghdr *nlh;
	int fd, small = 4096;

	start_configured(NULL);
	fd = connect_raw();
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	nlh = request(buf, LX_CONTROL_MONITOR, NLM_F_DUMP, LX_CONTROL_VERSION);
	send(fd, buf, nlh->nlmsg_len, 0);
	run(0, "lnetx net add net tcp if eth0");
	for (int i = 0; i < 30; i++) {
		char line[100];

		snprintf(line, sizeof(line), "lnetx route add net tcp%d via 10.0.0.[1-100]@tcp",
			 i + 2);
		run(0, line);
	}
	run(0, "lnetx net del net tcp");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int quiet = 0; quiet < 20;) {
		ssize_t len = recv(fd, buf, sizeof(buf), 0);
		int rest = len;

		if (len <= 0) {
			quiet++;
			run(0, "lnetx net add net tcp if eth0");
			run(0, "lnetx net del net tcp");
			continue;
		}
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest)) {
			const struct nlattr *a;
			const void *attrs;
			size_t attrs_len;

			attrs = lx_schema_attrs(nlh, sizeof(struct lx_control_hdr), &attrs_len);
			a = lx_schema_find(attrs, attrs_len, 2);
			lost += a ? mnl_attr_get_u64(a) : 0;
			told++;
		}
	}
	close(fd);
	/* 3000 routes, 100 peers, NIs: reported or counted as lost. */
	assert_true(lost > 0);
	assert_true(told + lost >= 3100);
}

int main(int argc, char **argv)
{
#define TEST(fn) cmocka_unit_test_teardown(fn, stop)
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
		TEST(test_bad_requests),
		TEST(test_garbage),
		TEST(test_slow_reader),
		TEST(test_long_list),
		TEST(test_too_many_clients),
		TEST(test_strangers),
		TEST(test_few_descriptors),
		TEST(test_leavers),
		TEST(test_slow_monitor),
		TEST(test_router),
		TEST(test_many_neighbours),
		TEST(test_commands),
		TEST(test_no_router),
		TEST(test_reload_without_routing),
	};
	int failed;

	rnd_init();
	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
