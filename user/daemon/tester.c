/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The selftest on the daemon's node; see the header. Two locks: one for the settings and the
 * service, which is held while the service is called, and one for the list of consoles, which the
 * service asks for with its own lock held.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "../base/nidrange.h"
#include "../selftest/selftest.h"
#include "edit.h"
#include "tester.h"

#define TICK_MS 1000

struct lx_tester {
	uv_timer_t timer;
	pthread_mutex_t lock;
	struct lx_conf_selftest conf;
	struct lx_selftest *service; /* NULL: off, or no node */

	pthread_mutex_t consoles_lock;
	struct lx_nid_range *console;
	size_t n_consoles;
	bool any;
};

/* ---- what the service asks ------------------------------------------------------------ */

static bool may_console(const struct lx_nid *nid, void *arg)
{
	struct lx_tester *t = arg;
	bool may;

	pthread_mutex_lock(&t->consoles_lock);
	may = t->any;
	for (size_t i = 0; i < t->n_consoles && !may; i++)
		may = lx_nidrange_has(&t->console[i], nid);
	pthread_mutex_unlock(&t->consoles_lock);
	return may;
}

static void note(const char *line, void *arg)
{
	lx_info("%s", line);
}

/* ---- settings --------------------------------------------------------------------------- */

static void set_consoles(struct lx_tester *t, struct lx_nid_range *console, size_t n, bool any)
{
	struct lx_nid_range *old;

	pthread_mutex_lock(&t->consoles_lock);
	old = t->console;
	t->console = console;
	t->n_consoles = n;
	t->any = any;
	pthread_mutex_unlock(&t->consoles_lock);
	free(old);
}

static int parse_consoles(struct lx_tester *t, const char *text)
{
	struct lx_nid_range *console = NULL;
	bool any = !strcmp(text, "any");
	size_t n = 0;
	int err = any || !*text ? 0 : lx_nidranges_parse(text, &console, &n);

	if (!err)
		set_consoles(t, console, n, any);
	return err;
}

static int64_t given(int64_t value, const char *name)
{
	return value != LX_UNSET ? value : lx_tunable_lookup(lx_selftest_tunable_table, name)->def;
}

static struct lx_selftest_tunables limits(const struct lx_conf_selftest *conf)
{
	return (struct lx_selftest_tunables){
		.session_timeout = given(conf->session_timeout, "session_timeout"),
		.rpc_timeout = given(conf->rpc_timeout, "rpc_timeout"),
		.bulk_mib = given(conf->bulk_mib, "bulk_mib"),
	};
}

/* Settings that a request does not name stay. */
static void merge(struct lx_conf_selftest *conf, const struct lx_conf_selftest *request)
{
	if (request->enable != LX_UNSET)
		conf->enable = request->enable;
	if (request->consoles[0])
		strcpy(conf->consoles, request->consoles);
	if (request->session_timeout != LX_UNSET)
		conf->session_timeout = request->session_timeout;
	if (request->rpc_timeout != LX_UNSET)
		conf->rpc_timeout = request->rpc_timeout;
	if (request->bulk_mib != LX_UNSET)
		conf->bulk_mib = request->bulk_mib;
}

void lx_tester_configure(struct lx_tester *t, const struct lx_conf_selftest *conf)
{
	pthread_mutex_lock(&t->lock);
	t->conf = *conf;
	parse_consoles(t, conf->consoles);
	pthread_mutex_unlock(&t->lock);
}

/* ---- the service --------------------------------------------------------------------------- */

/* Lock held. */
static int follow(struct lx_tester *t, struct lx_node *node)
{
	const struct lx_selftest_ops ops = { .may_console = may_console, .note = note, .arg = t };
	const struct lx_selftest_tunables tun = limits(&t->conf);

	if (t->conf.enable != 1 || !node) {
		lx_selftest_free(t->service);
		t->service = NULL;
		return 0;
	}
	if (t->service) {
		lx_selftest_tune(t->service, &tun);
		return 0;
	}
	return lx_selftest_new(node, &tun, &ops, &t->service);
}

void lx_tester_start(struct lx_tester *t, struct lx_node *node)
{
	int err;

	pthread_mutex_lock(&t->lock);
	err = follow(t, node);
	pthread_mutex_unlock(&t->lock);
	if (err)
		lx_err("selftest=off reason=\"cannot start: %s\" next=\"lnetx selftest on\"",
		       strerror(-err));
}

void lx_tester_stop(struct lx_tester *t)
{
	pthread_mutex_lock(&t->lock);
	follow(t, NULL);
	pthread_mutex_unlock(&t->lock);
}

/* ---- clients -------------------------------------------------------------------------------- */

static int check_limit(struct lx_edit *e, const char *name, int64_t value)
{
	const struct lx_tunable *t = lx_tunable_lookup(lx_selftest_tunable_table, name);

	if (value == LX_UNSET || (value >= t->min && value <= t->max))
		return 0;
	return lx_edit_say(e, -ERANGE, "%s %lld: not in %lld..%lld", name, (long long)value,
			   (long long)t->min, (long long)t->max);
}

/* @conf: with what the request changes. Lock held. */
static int check(struct lx_edit *e, const struct lx_conf_selftest *conf)
{
	int err = check_limit(e, "session_timeout", conf->session_timeout);

	if (!err)
		err = check_limit(e, "rpc_timeout", conf->rpc_timeout);
	if (!err)
		err = check_limit(e, "bulk_mib", conf->bulk_mib);
	if (!err && conf->enable == 1 && !conf->consoles[0])
		err = lx_edit_say(
			e, -EINVAL,
			"which nodes may be consoles? They can order traffic of any size: "
			"\"lnetx selftest on consoles 10.0.0.*@tcp\", or \"consoles any\"");
	return err;
}

static int change(struct lx_edit *e, struct lx_tester *t)
{
	struct lx_conf_selftest conf = t->conf, old = t->conf;
	int err;

	merge(&conf, e->req);
	err = check(e, &conf);
	if (err)
		return err;
	if (parse_consoles(t, conf.consoles))
		return lx_edit_say(e, -EINVAL,
				   "consoles \"%s\": NIDs or ranges of NIDs are expected, as in "
				   "10.0.0.*@tcp,10.1.0.[1-4]@o2ib, or \"any\"",
				   conf.consoles);
	t->conf = conf;
	err = follow(t, e->node);
	if (!err)
		return e->node || conf.enable != 1 ? 0
						   : lx_edit_say(e, 0, "on as soon as LNet runs");
	t->conf = old;
	parse_consoles(t, old.consoles);
	return lx_edit_say(e, err, "cannot start the selftest: %s", strerror(-err));
}

int lx_tester_set(struct lx_edit *e)
{
	struct lx_tester *t = e->daemon->tester;
	int err;

	pthread_mutex_lock(&t->lock);
	err = change(e, t);
	pthread_mutex_unlock(&t->lock);
	return err;
}

static void describe_service(const struct lx_selftest_info *info, struct lx_ctl_selftest_info *ret)
{
	ret->sent = info->rpc.sent;
	ret->served = info->rpc.rcvd;
	ret->dropped = info->rpc.dropped;
	ret->expired = info->rpc.expired;
	ret->errors = info->rpc.errors;
	ret->bulk_get = info->rpc.bulk_get;
	ret->bulk_put = info->rpc.bulk_put;
	ret->refused = info->refused;
	ret->bulk_buffers = info->bulk_buffers;
	ret->bulk_waiting = info->bulk_waiting;
	if (!info->active)
		return;
	/* One without a name is a session, too. */
	snprintf(ret->session, sizeof(ret->session), "%s", info->name[0] ? info->name : "-");
	lx_nid_from_u64(info->sid.nid, &ret->console);
	ret->age_s = info->age_ms / 1000;
	ret->idle_s = info->idle_ms / 1000;
	ret->batches = info->batches;
	ret->tests = info->tests;
	ret->active_batches = info->active_batches;
	ret->active_units = info->active_units;
	ret->brw_errors = info->framework.brw_errors;
	ret->ping_errors = info->framework.ping_errors;
}

void lx_tester_describe(struct lx_tester *t, struct lx_ctl_selftest_info *ret_info)
{
	struct lx_selftest_info info = { 0 };
	struct lx_selftest_tunables tun;

	pthread_mutex_lock(&t->lock);
	tun = limits(&t->conf);
	*ret_info = (struct lx_ctl_selftest_info){ .conf = t->conf, .console = lx_nid_any };
	if (t->service)
		lx_selftest_info(t->service, &info);
	pthread_mutex_unlock(&t->lock);
	ret_info->conf.enable = ret_info->conf.enable == 1;
	ret_info->conf.session_timeout = tun.session_timeout;
	ret_info->conf.rpc_timeout = tun.rpc_timeout;
	ret_info->conf.bulk_mib = tun.bulk_mib;
	describe_service(&info, ret_info);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void on_tick(uv_timer_t *timer)
{
	struct lx_tester *t = timer->data;

	pthread_mutex_lock(&t->lock);
	if (t->service)
		lx_selftest_tick(t->service);
	pthread_mutex_unlock(&t->lock);
}

int lx_tester_new(struct lx_daemon *daemon, struct lx_tester **ret_tester)
{
	struct lx_tester *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->consoles_lock, NULL);
	t->conf.enable = LX_UNSET;
	t->conf.session_timeout = t->conf.rpc_timeout = t->conf.bulk_mib = LX_UNSET;
	uv_timer_init(daemon->loop, &t->timer);
	t->timer.data = t;
	uv_timer_start(&t->timer, on_tick, TICK_MS, TICK_MS);
	*ret_tester = t;
	return 0;
}

void lx_tester_close(struct lx_tester *t)
{
	if (t)
		uv_close((uv_handle_t *)&t->timer, NULL);
}

void lx_tester_free(struct lx_tester *t)
{
	if (!t)
		return;
	set_consoles(t, NULL, 0, false);
	pthread_mutex_destroy(&t->consoles_lock);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
