/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetxd: an LNet node as a service. This file has the order of start and stop:
 *
 *	options, log ─▶ not root ─▶ file read ─▶ control socket ─▶ loop: BPF ─▶ node up ─▶ READY
 *	                                                                   │ SIGHUP: reload
 *	exit ◀─ all closed ◀─ node stopped, drained ◀─ STOPPING ◀──────────┘ SIGTERM, SIGINT
 *
 * BPF and the node are the first changes (change.c): meanwhile clients get answers.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <syslog.h>
#include <unistd.h>

#include "../base/log.h"
#include "command.h"
#include "config.h"
#include "daemon.h"
#include "duplicate.h"
#include "interfaces.h"
#include "lifecycle.h"
#include "log.h"
#include "monitor.h"
#include "neighbours.h"
#include "notify.h"
#include "procfiles.h"
#include "programs.h"
#include "refusals.h"
#include "report.h"
#include "results.h"
#include "server.h"
#include "share.h"
#include "tester.h"
#include "trace.h"
#include "user.h"

/* Neighbours without discovery check their gateways once in 60 s. */
#define DRAIN_SECONDS 70
#define DRAIN_SECONDS_MAX 3600
/* Upper bound for the rest of a stop. */
#define STOP_SECONDS 15

struct options {
	struct lx_config_files config;
	const char *instance, *group, *user;
	bool test, configure, missing_ok, no_bpf, no_priority;
	int level;
	unsigned int drain_s;
};

static struct {
	struct lx_daemon daemon;
	uv_loop_t loop;
	uv_signal_t hup, term, interrupt;
	uv_timer_t watchdog, look;
	bool waits; /* for "lnetctl lnet configure" */
	bool stopping;
	int exit_status;
} lnetxd;

static const char usage_text[] =
	"usage: lnetxd [-c FILE] [-n INSTANCE] [options]\n"
	"       lnetxd -t [-c FILE]\n"
	"\n"
	"  -c, --config FILE      read this configuration and start LNet with it; given more than\n"
	"                         once, the first FILE that exists\n"
	"  -m, --missing-ok       if there is no FILE, wait for \"lnetctl lnet configure\"\n"
	"  -C, --configure        start LNet even without a file\n"
	"  -t, --test             only check the file: \"ok\", or FILE:LINE:COL: what is wrong;\n"
	"                         default: /etc/lnetx.conf, else /etc/lnet.conf\n"
	"  -n, --instance NAME    name of the control socket (default: $LNETX_INSTANCE, or one\n"
	"                         per network namespace)\n"
	"  -u, --user NAME        go on as this user, without root's rights\n"
	"  -g, --group NAME       members may read the state (default: lnetx)\n"
	"  -d, --drain SECONDS    on exit, forward and drain messages for at most this long\n"
	"                         (default: 70)\n"
	"  -l, --log-level LEVEL  error, warning, notice, info or debug (default: info)\n"
	"  -B, --no-bpf           load no BPF programs, neither fast path nor guard\n"
	"  -P, --no-priority      be scheduled as any process; on a busy router lnetxd may starve\n"
	"  -f, --foreground       accepted and ignored; lnetxd always runs in the foreground\n"
	"  -V, --version\n"
	"  -h, --help\n";

static int usage_error(const char *option, const char *value, const char *expected)
{
	fprintf(stderr, "lnetxd: %s \"%s\": %s\n", option, value, expected);
	return -EINVAL;
}

static int parse_drain(const char *text, unsigned int *ret_seconds)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || value > DRAIN_SECONDS_MAX)
		return usage_error("--drain", text, "a number of seconds up to 3600 is expected");
	*ret_seconds = value;
	return 0;
}

static int parse_level(const char *text, int *ret_level)
{
	*ret_level = lx_daemon_log_level(text);
	if (*ret_level < 0)
		return usage_error("--log-level", text,
				   "error, warning, notice, info or debug is expected");
	return 0;
}

static int add_config(const char *path, struct lx_config_files *files)
{
	if (files->n == LX_CONFIG_FILES)
		return usage_error("--config", path, "at most 4 files are expected");
	files->path[files->n++] = path;
	return 0;
}

/* Returns 0, 1: nothing more to do, or -EINVAL. */
static int parse_option(int opt, struct options *o)
{
	switch (opt) {
	case 'c':
		return add_config(optarg, &o->config);
	case 'm':
		o->missing_ok = true;
		return 0;
	case 'C':
		o->configure = true;
		return 0;
	case 't':
		o->test = true;
		return 0;
	case 'n':
		o->instance = optarg;
		return 0;
	case 'u':
		o->user = optarg;
		return 0;
	case 'g':
		o->group = optarg;
		return 0;
	case 'd':
		return parse_drain(optarg, &o->drain_s);
	case 'l':
		return parse_level(optarg, &o->level);
	case 'B':
		o->no_bpf = true;
		return 0;
	case 'P':
		o->no_priority = true;
		return 0;
	case 'f':
		return 0;
	case 'V':
		printf("lnetxd %s\n", LX_VERSION);
		return 1;
	case 'h':
		fputs(usage_text, stdout);
		return 1;
	}
	fputs("Try \"lnetxd --help\".\n", stderr);
	return -EINVAL;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option table[] = { { "config", required_argument, NULL, 'c' },
					       { "missing-ok", no_argument, NULL, 'm' },
					       { "configure", no_argument, NULL, 'C' },
					       { "test", no_argument, NULL, 't' },
					       { "instance", required_argument, NULL, 'n' },
					       { "user", required_argument, NULL, 'u' },
					       { "group", required_argument, NULL, 'g' },
					       { "drain", required_argument, NULL, 'd' },
					       { "log-level", required_argument, NULL, 'l' },
					       { "no-bpf", no_argument, NULL, 'B' },
					       { "no-priority", no_argument, NULL, 'P' },
					       { "foreground", no_argument, NULL, 'f' },
					       { "version", no_argument, NULL, 'V' },
					       { "help", no_argument, NULL, 'h' },
					       { 0 } };
	int opt, err = 0;

	while (!err && (opt = getopt_long(argc, argv, "c:mCtn:u:g:d:l:BPfVh", table, NULL)) != -1)
		err = parse_option(opt, o);
	if (!err && optind < argc)
		err = usage_error("argument", argv[optind], "not expected; try \"lnetxd --help\"");
	return err;
}

/* ---- the file ---------------------------------------------------------------------- */

static void print_mistake(const char *text, void *arg)
{
	fprintf(stderr, "%s\n", text);
}

static bool may_be_missing(const struct options *o)
{
	return o->missing_ok && access(lnetxd.daemon.config_file, F_OK) && errno == ENOENT;
}

/* @files: those of the unit if there are none. */
static int test_file(const struct lx_config_files *files)
{
	static const struct lx_config_files known = { { "/etc/lnetx.conf", "/etc/lnet.conf" }, 2 };
	const char *path = lx_config_choose(files->n ? files : &known);
	struct lx_conf *conf = NULL;

	if (lx_config_load(path, false, &conf, print_mistake, NULL))
		return EXIT_FAILURE;
	if (conf->ignored)
		fprintf(stderr, "%s: ignored: %s\n", path, conf->ignored);
	if (!files->n)
		printf("%s: ", path);
	puts(lx_config_is_empty(conf) ? "ok: configures nothing" : "ok");
	lx_conf_free(conf);
	return EXIT_SUCCESS;
}

static void log_mistake(const char *text, void *arg)
{
	char buf[LX_CONFIG_TEXT];

	lx_err("action=exit reason=\"%s\"", lx_daemon_log_unquoted(text, buf, sizeof(buf)));
}

/* ---- stop -------------------------------------------------------------------------- */

static void close_all(struct lx_daemon *d)
{
	lx_server_free(d->server);
	lx_results_free(d->results);
	lx_monitor_free(d->monitor);
	lx_trace_free(d->tracer);
	lx_neighbours_free(d->neighbours);
	lx_refusals_free(d->refusals);
	lx_tester_close(d->tester);
	lx_procfiles_end();
	lx_duplicates_end();
	d->server = NULL;
	uv_close((uv_handle_t *)&lnetxd.hup, NULL);
	uv_close((uv_handle_t *)&lnetxd.term, NULL);
	uv_close((uv_handle_t *)&lnetxd.interrupt, NULL);
	uv_close((uv_handle_t *)&lnetxd.watchdog, NULL);
	uv_close((uv_handle_t *)&lnetxd.look, NULL);
}

static void end_at_once(void)
{
	lx_daemon_log_flush();
	_exit(EXIT_FAILURE);
}

static void on_stopped(struct lx_daemon *d, int error, bool applied, const char *text)
{
	close_all(d);
}

static void stop(int exit_status)
{
	int err;

	if (lnetxd.stopping)
		return;
	lnetxd.stopping = true;
	lnetxd.exit_status = exit_status;
	lx_notify("STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu\nSTATUS=draining messages in flight",
		  (lnetxd.daemon.drain_ms / 1000 + STOP_SECONDS) * 1000000ULL);
	err = lx_lifecycle_stop(&lnetxd.daemon, on_stopped);
	if (err) {
		lx_err("reason=\"cannot stop cleanly: %s\"", strerror(-err));
		end_at_once();
	}
}

/* ---- events ------------------------------------------------------------------------ */

/* There is nothing to start LNet with. */
static void tell_waiting(const struct lx_daemon *d)
{
	lx_notify("READY=1\nSTATUS=waiting for \"lnetctl lnet configure\"");
	if (d->config_file)
		lx_info("instance=%s state=\"not configured\" reason=\"there is no %s\" "
			"next=\"lnetctl lnet configure; or write that file and restart lnetxd\"",
			d->instance, d->config_file);
	else
		lx_info("instance=%s state=\"not configured\" next=\"lnetctl lnet configure\"",
			d->instance);
}

static void on_loaded(struct lx_daemon *d, int error, bool applied, const char *text)
{
	if (lnetxd.stopping)
		return;
	if (!error)
		error = lx_refusals_new(d, &d->refusals);
	if (error) {
		lx_err("action=exit reason=\"%s\"", strerror(-error));
		stop(EXIT_FAILURE);
	} else if (lnetxd.waits) {
		tell_waiting(d);
	}
}

static void on_started(struct lx_daemon *d, int error, bool applied, const char *text)
{
	char buf[400];

	if (lnetxd.stopping)
		return;
	if (error) {
		lx_err("action=exit reason=\"%s\"", lx_daemon_log_unquoted(text, buf, sizeof(buf)));
		stop(EXIT_FAILURE);
		return;
	}
	lx_notify("READY=1\nSTATUS=LNet runs%s", d->later ? ", NIs are missing" : "");
	lx_report_start(d);
}

static void on_reloaded(struct lx_daemon *d, int error, bool applied, const char *text)
{
	char buf[400];

	lx_daemon_log_unquoted(text, buf, sizeof(buf));
	if (error && applied)
		lx_err("action=\"reloaded in part\" reason=\"%s\" next=\"mend this, then reload "
		       "again\"", buf);
	else if (error)
		lx_err("action=\"configuration unchanged\" reason=\"%s\"", buf);
	else
		lx_info("action=reloaded%s%s%s", *buf ? " reason=\"" : "", buf, *buf ? "\"" : "");
	lx_notify("READY=1\nSTATUS=%s", error ? text : "LNet runs");
}

static void on_hup(uv_signal_t *signal, int number)
{
	int err;

	if (lnetxd.stopping)
		return;
	lx_notify_reloading();
	err = lx_lifecycle_reload(&lnetxd.daemon, on_reloaded);
	if (err)
		on_reloaded(&lnetxd.daemon, err, false, strerror(-err));
}

static void on_term(uv_signal_t *signal, int number)
{
	if (lnetxd.stopping) {
		lx_warn("action=\"exit without draining\" reason=\"second signal\"");
		end_at_once();
	}
	lx_info("signal=%s action=\"stop, draining up to %u s\" next=\"a second signal ends it at "
		"once\"", strsignal(number), lnetxd.daemon.drain_ms / 1000);
	stop(EXIT_SUCCESS);
}

/* Only while this thread and the node's turn: if one hangs, the service manager restarts us. */
static void on_watchdog(uv_timer_t *timer)
{
	struct lx_node *node = lnetxd.daemon.node;

	if (!node || lx_node_alive(node))
		lx_notify("WATCHDOG=1");
}

static void start_watchdog(void)
{
	unsigned int ms = lx_notify_watchdog_ms();

	uv_timer_init(&lnetxd.loop, &lnetxd.watchdog);
	if (ms)
		uv_timer_start(&lnetxd.watchdog, on_watchdog, ms, ms);
}

#define LOOK_MS 500
#define THREADS 8 /* that libuv and the node create soon after */

static void on_look(uv_timer_t *timer)
{
	lx_interfaces_look(&lnetxd.daemon);
	lx_procfiles_look(&lnetxd.daemon);
}

static void start_look(void)
{
	uv_timer_init(&lnetxd.loop, &lnetxd.look);
	uv_timer_start(&lnetxd.look, on_look, LOOK_MS, LOOK_MS);
}

/* ---- start ---------------------------------------------------------------------------------- */

static int init_daemon(struct lx_daemon *d, const struct options *o)
{
	int err = lx_ctl_instance(o->instance, d->instance, sizeof(d->instance));

	if (err == -EINVAL) {
		lx_err("instance=%s reason=\"not a name of letters, digits, '_', '.' and '-'\"",
		       o->instance ? o->instance : getenv("LNETX_INSTANCE"));
		return err;
	}
	if (err) {
		lx_err("reason=\"cannot read /proc/self/ns/net: %s\" next=\"mount /proc, or name "
		       "the "
		       "instance: lnetxd -n NAME\"",
		       strerror(-err));
		return err;
	}
	d->loop = &lnetxd.loop;
	d->group = o->group;
	d->drain_ms = o->drain_s * 1000;
	d->started = lx_clocks_now();
	err = uv_loop_init(d->loop);
	if (!err)
		err = lx_changes_new(d, &d->changes);
	if (!err)
		err = lx_results_new(d, &d->results);
	if (!err)
		err = lx_monitor_new(d, lx_interfaces_follow, &d->monitor);
	if (!err)
		err = lx_trace_new(d, &d->tracer);
	if (!err)
		err = lx_neighbours_new(d, &d->neighbours);
	if (!err)
		err = lx_tester_new(d, &d->tester);
	if (err)
		lx_err("action=exit reason=\"%s\"", strerror(-err));
	return err;
}

static int open_control(struct lx_daemon *d)
{
	int err = lx_server_new(d, d->group, lx_command, &d->server);

	if (err == -EADDRINUSE)
		lx_err("instance=%s action=exit reason=\"an lnetxd of this name runs already; stop "
		       "it, "
		       "or choose another name with --instance\"",
		       d->instance);
	else if (err)
		lx_err("instance=%s action=exit reason=\"no control socket below %s: %s\"",
		       d->instance, lx_ctl_rundir(), strerror(-err));
	else
		lx_info("instance=%s control=%s version=%s", d->instance, lx_server_path(d->server),
			LX_VERSION);
	return err;
}

static void watch_signal(uv_signal_t *handle, uv_signal_cb fn, int number)
{
	uv_signal_init(&lnetxd.loop, handle);
	uv_signal_start(handle, fn, number);
}

static int start(struct lx_daemon *d, const struct options *o)
{
	int err;

	lnetxd.waits = !d->conf && !o->configure;
	if (d->conf)
		lx_tester_configure(d->tester, &d->conf->selftest);
	err = lx_lifecycle_load(d, on_loaded);
	return err || lnetxd.waits ? err : lx_lifecycle_start(d, on_started);
}

static void *nothing(void *arg)
{
	return arg;
}

/* libuv ends a process that gets no thread from the system, without a word. */
static int has_threads(void)
{
	pthread_t thread[THREADS];
	int n = 0, err = 0;

	while (n < THREADS && !(err = -pthread_create(&thread[n], NULL, nothing, NULL)))
		n++;
	while (n > 0)
		pthread_join(thread[--n], NULL);
	if (err)
		lx_err("action=exit reason=\"cannot create %d threads: %s\" next=\"raise TasksMax "
		       "of the "
		       "unit, or the limit of processes (ulimit -u)\"",
		       THREADS, strerror(-err));
	return err;
}

static int run(const struct options *o)
{
	struct lx_daemon *d = &lnetxd.daemon;
	int err = 0;

	lx_daemon_log_start(o->level);
	if (!o->no_priority)
		lx_share_claim();
	if (o->user && lx_user_become(o->user))
		return EXIT_FAILURE;
	d->config_files = o->config;
	d->config_file = lx_config_choose(&o->config);
	if (d->config_file && !may_be_missing(o))
		err = lx_config_load(d->config_file, true, &d->conf, log_mistake, NULL);
	if (err)
		return err == -EBADMSG ? EX_CONFIG : EXIT_FAILURE;
	if (d->conf)
		lx_config_log_ignored(d->config_file, d->conf);
	if (init_daemon(d, o) || has_threads() || open_control(d))
		return EXIT_FAILURE; /* the process ends: no other cleanup is needed */
	err = lx_programs_new(d, !o->no_bpf, &d->programs);
	if (err) {
		lx_err("action=exit reason=\"%s\"", strerror(-err));
		return EXIT_FAILURE;
	}
	watch_signal(&lnetxd.hup, on_hup, SIGHUP);
	watch_signal(&lnetxd.term, on_term, SIGTERM);
	watch_signal(&lnetxd.interrupt, on_term, SIGINT);
	start_watchdog();
	start_look();
	err = start(d, o);
	if (err) {
		lx_err("action=exit reason=\"%s\"", strerror(-err));
		stop(EXIT_FAILURE);
	}
	uv_run(d->loop, UV_RUN_DEFAULT);
	uv_loop_close(d->loop);
	lx_changes_free(d->changes);
	lx_difference_clear(&d->read);
	lx_tester_free(d->tester);
	lx_programs_free(d->programs);
	lx_conf_free(d->conf);
	lx_conf_free(d->later);
	lx_saved_clear(&d->saved);
	return lnetxd.exit_status;
}

int main(int argc, char **argv)
{
	struct options o = { .group = "lnetx", .level = LOG_INFO, .drain_s = DRAIN_SECONDS };
	int err = parse_options(argc, argv, &o);

	if (err)
		return err > 0 ? EXIT_SUCCESS : 2;
	signal(SIGPIPE, SIG_IGN);
	if (o.test)
		return test_file(&o.config);
	return run(&o);
}
