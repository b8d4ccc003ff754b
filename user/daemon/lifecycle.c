/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The node as a whole, as kinds of changes (change.c): started, reloaded, completed and stopped.
 * The daemon owns the node, except while it is being started or stopped.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/log.h"
#include "config.h"
#include "difference.h"
#include "duplicate.h"
#include "lifecycle.h"
#include "log.h"
#include "monitor.h"
#include "neighbours.h"
#include "programs.h"
#include "tester.h"

/* ---- the worker -------------------------------------------------------------------- */

static int explain_conf(struct lx_change_task *c, int err, const struct lx_conf_error *why)
{
	lx_config_error(c->daemon->config_file ? c->daemon->config_file : "configuration", why,
			c->text, sizeof(c->text));
	if (!why->text[0])
		lx_change_say(c, err, "cannot start LNet: %s", strerror(-err));
	return err;
}

/* Changes to the node from now on are set by command; without memory nothing is known of it. */
static void remember(struct lx_change_task *c, struct lx_facts *facts)
{
	struct lx_facts *read = &c->daemon->read;

	lx_difference_clear(read);
	*read = *facts;
}

static void take_facts(struct lx_change_task *c, struct lx_facts *ret_facts)
{
	if (lx_difference_take(c->node, c->daemon->tester, ret_facts))
		lx_warn("reason=\"out of memory\" "
			"action=\"the next reload does not log what changed\"");
}

/* Missing NIs come later, but at least one has to come now. */
static int resolve_start(struct lx_change_task *c, struct lx_conf **ret_conf,
			 struct lx_conf_error *ret_why)
{
	struct lx_daemon *d = c->daemon;
	int err = lx_config_resolve(c->conf, d->large, ret_conf, &c->later, ret_why);

	if (err || !c->later || (*ret_conf)->n_nis)
		return err;
	lx_conf_free(*ret_conf);
	lx_conf_free(c->later);
	c->later = NULL;
	/* lx_node_new() says what is missing. */
	return lx_config_resolve(c->conf, d->large, ret_conf, NULL, ret_why);
}

static void log_missing(struct lx_change_task *c)
{
	struct lx_conf_error why;
	char text[sizeof(why.text)];

	for (size_t i = 0; c->later && i < c->later->n_nis; i++) {
		if (lx_config_lacks(&c->later->ni[i], c->daemon->large, &why))
			lx_err("config=%s:%d action=\"started without this NI\" reason=\"%s\" "
			       "next=\"mend that: it comes up by itself; or correct the file and "
			       "reload\"",
			       c->daemon->config_file ? c->daemon->config_file : "-", why.line,
			       lx_daemon_log_unquoted(why.text, text, sizeof(text)));
	}
}

/* NLM_F_EXCL: only the settings of a configuration, without NIs, routes and peers. */
static int node_start(struct lx_change_task *c)
{
	struct lx_conf_error why = { 0 };
	struct lx_conf conf = { .routing = LX_UNSET, .buffers = { LX_UNSET, LX_UNSET, LX_UNSET } };
	struct lx_conf *resolved = NULL;
	struct lx_facts facts = { .n = 0 };
	int err = 0;

	if (c->conf && !(c->flags & NLM_F_EXCL)) {
		err = resolve_start(c, &resolved, &why);
		conf = err ? conf : *resolved;
	} else if (c->conf) {
		conf.tunable = c->conf->tunable;
		conf.n_tunables = c->conf->n_tunables;
	}
	lx_saved_give(&c->daemon->saved, &conf);
	if (!err)
		err = lx_node_new(&conf, &why, &c->node);
	lx_conf_free(resolved);
	if (err) {
		lx_conf_free(c->later);
		c->later = NULL;
		return explain_conf(c, err, &why);
	}
	log_missing(c);
	lx_tester_start(c->daemon->tester, c->node);
	take_facts(c, &facts);
	remember(c, &facts);
	return 0;
}

/*
 * The first half of a stop: tell the neighbours, and forward what they still send.
 * The second half gets the rest of the time.
 */
static int routing_end(struct lx_change_task *c)
{
	struct lx_daemon *d = c->daemon;

	d->stop_by_ns = uv_hrtime() + d->drain_ms * 1000000ULL;
	if (lx_routing_stop(c->node, d->drain_ms) == -ETIMEDOUT)
		lx_warn("drain_s=%u reason=\"neighbours still use this router\" "
			"action=\"their messages are dropped from now on\"",
			d->drain_ms / 1000);
	return 0;
}

static int node_stop(struct lx_change_task *c)
{
	uint64_t now = uv_hrtime(), by = c->daemon->stop_by_ns;

	if (!c->node)
		return 0;
	if (lx_saved_take(c->node, &c->saved))
		lx_warn("reason=\"out of memory\" action=\"settings made at run time are lost\"");
	lx_tester_stop(c->daemon->tester);
	lx_node_stop(c->node, by > now ? (by - now) / 1000000 : 0);
	lx_node_free(c->node);
	c->node = NULL;
	return 0;
}

static void log_changes(struct lx_change_task *c, struct lx_facts *before)
{
	struct lx_facts after = { .n = 0 };

	take_facts(c, &after);
	if (before->list && after.list)
		lx_difference_log_changes("reload", &c->daemon->read, before, &after);
	lx_difference_clear(before);
	remember(c, &after);
}

static int node_apply(struct lx_change_task *c)
{
	struct lx_facts before = { .n = 0 };
	struct lx_conf_error why = { 0 };
	struct lx_conf *conf;
	int err;

	if (!c->node) {
		c->applied = true;
		lx_tester_configure(c->daemon->tester, &c->conf->selftest);
		return lx_change_say(c, 0, "to be used by the next \"lnet configure --all\"");
	}
	err = lx_config_resolve(c->conf, c->daemon->large, &conf, NULL, &why);
	if (err)
		return explain_conf(c, err, &why);
	take_facts(c, &before);
	if (conf->routing != 1)
		routing_end(c); /* before anything it needs goes */
	err = lx_node_apply(c->node, conf, LX_APPLY_DIFF, &why);
	lx_conf_free(conf);
	/* A failure does not undo or prevent the rest. */
	c->applied = true;
	lx_tester_configure(c->daemon->tester, &c->conf->selftest);
	lx_tester_start(c->daemon->tester, c->node);
	log_changes(c, &before);
	return err ? explain_conf(c, err, &why) : 0;
}

/* Interfaces that were missing at the start are there. */
static int node_complete(struct lx_change_task *c)
{
	struct lx_facts before = { .n = 0 }, after = { .n = 0 };
	struct lx_daemon *d = c->daemon;
	struct lx_conf_error why = { 0 };
	struct lx_conf *now;
	int err = lx_config_resolve(d->later, d->large, &now, &c->later, &why);

	if (err)
		return explain_conf(c, err, &why);
	take_facts(c, &before);
	err = lx_node_apply(c->node, now, 0, &why);
	take_facts(c, &after);
	lx_difference_learn(&d->read, &before, &after);
	lx_difference_clear(&before);
	lx_difference_clear(&after);
	for (size_t i = 0; !err && i < now->n_nis; i++)
		lx_info("config=%s:%d net=%s interface=%s "
			"action=\"brought up the NI that was missing\"",
			d->config_file, now->ni[i].at.line, lx_net_str(now->ni[i].net),
			now->ni[i].ifname);
	lx_conf_free(now);
	return err ? explain_conf(c, err, &why) : 0;
}

static int load_programs(struct lx_change_task *c)
{
	return lx_programs_load(c->daemon->programs);
}

/* ---- main thread, before ----------------------------------------------------------- */

static bool begin_start(struct lx_change_task *c)
{
	struct lx_daemon *d = c->daemon;

	if (c->node)
		return false; /* it runs already */
	c->conf = d->conf;
	if (!c->conf && !(c->flags & NLM_F_EXCL)) {
		c->error = lx_config_default(c->flags & NLM_F_APPEND, &c->conf);
		if (c->error)
			lx_change_say(c, c->error,
				      "no interface with an IPv4 address is up; add NIs yourself "
				      "(lnetx net add)");
	}
	d->large = c->flags & NLM_F_APPEND;
	return !c->error;
}

static bool begin_stop(struct lx_change_task *c)
{
	c->daemon->node = NULL; /* nothing new may start with it */
	return true;
}

static void note_reload(struct lx_change_task *c)
{
	struct lx_daemon *d = c->daemon;

	snprintf(d->reload_failed, sizeof(d->reload_failed), "%s",
		 !c->error  ? ""
		 : *c->text ? c->text
			    : strerror(-c->error));
}

struct mistakes {
	struct lx_change_task *change;
	unsigned int n;
};

static void on_mistake(const char *text, void *arg)
{
	struct mistakes *m = arg;

	if (!m->n++)
		snprintf(m->change->text, sizeof(m->change->text), "%s", text);
}

static bool begin_reload(struct lx_change_task *c)
{
	const char *file = lx_config_choose(&c->daemon->config_files);
	struct mistakes m = { .change = c };
	size_t used;

	if (!file) {
		c->error = lx_change_say(c, -ENOENT,
					 "lnetxd was started without a configuration file");
		note_reload(c);
		return false;
	}
	c->daemon->config_file = file;
	c->error = lx_config_load(file, false, &c->conf, on_mistake, &m);
	used = strlen(c->text);
	if (m.n > 1)
		snprintf(c->text + used, sizeof(c->text) - used,
			 " (the first of %u mistakes; \"lnetxd -t -c %s\" lists all)", m.n, file);
	if (c->error)
		note_reload(c);
	else
		lx_config_log_ignored(file, c->conf);
	return !c->error;
}

/* ---- main thread, afterwards ------------------------------------------------------ */

static void take_later(struct lx_change_task *c)
{
	lx_conf_free(c->daemon->later);
	c->daemon->later = c->later;
}

static void take_saved(struct lx_change_task *c)
{
	lx_saved_clear(&c->daemon->saved);
	c->daemon->saved = c->saved;
}

static void end_start(struct lx_change_task *c)
{
	struct lx_daemon *d = c->daemon;

	take_later(c);
	if (c->error)
		return;
	d->node = c->node;
	lx_monitor_watch(d);
	lx_neighbours_announce(d);
	lx_duplicates_look(d);
}

static void end_reload(struct lx_change_task *c)
{
	struct lx_daemon *d = c->daemon;

	note_reload(c);
	if (!c->applied)
		return;
	lx_conf_free(d->conf);
	d->conf = c->conf;
	/* There are none: the file has everything. */
	take_later(c);
	take_saved(c);
}

static void end_stop(struct lx_change_task *c)
{
	take_later(c);
	if (c->saved.tunable)
		take_saved(c);
}

/* ---- kinds ------------------------------------------------------------------------ */

static const struct lx_change_kind load = { .run = load_programs, .without_node = true };

static const struct lx_change_kind start = {
	.verb = "configure",
	.meanwhile = "starting: the nets come up; try again in some seconds",
	.begin = begin_start,
	.run = node_start,
	.end = end_start,
};

static const struct lx_change_kind reload = {
	.verb = "reload",
	.begin = begin_reload,
	.run = node_apply,
	.end = end_reload,
};

static const struct lx_change_kind complete = { .run = node_complete, .end = take_later };

/* A stop has two halves: during the first one the node can still be shown. */
static const struct lx_change_kind end_of_routing = { .run = routing_end };
static const struct lx_change_kind stop = {
	.verb = "unconfigure",
	.meanwhile = "LNet is stopping",
	.first = &end_of_routing,
	.queued = lx_neighbours_save,
	.begin = begin_stop,
	.run = node_stop,
	.end = end_stop,
};

const struct lx_change_kind *lx_lifecycle_kind(const struct lx_request *request)
{
	if (request->object == LX_CTL_NODE)
		return request->verb == LX_CTL_ADD ? &start : &stop;
	return &reload;
}

int lx_lifecycle_load(struct lx_daemon *d, lx_change_fn done)
{
	return lx_change_own(d, &load, 0, done);
}

/* Without a file only the node: nobody requested the net that "--all" would choose. */
int lx_lifecycle_start(struct lx_daemon *d, lx_change_fn done)
{
	return lx_change_own(d, &start, NLM_F_CREATE | (d->conf ? 0 : NLM_F_EXCL), done);
}

int lx_lifecycle_reload(struct lx_daemon *d, lx_change_fn done)
{
	return lx_change_own(d, &reload, NLM_F_REPLACE, done);
}

int lx_lifecycle_complete(struct lx_daemon *d, lx_change_fn done)
{
	return lx_change_own(d, &complete, 0, done);
}

int lx_lifecycle_stop(struct lx_daemon *d, lx_change_fn done)
{
	return lx_change_last(d, &stop, done);
}
