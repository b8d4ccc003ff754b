/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue of changes; edit.c changes the pieces of a node. Requests come
 * from command.c; starting, reloading and stopping from main.c. Owns the changes; the
 * daemon owns the node, except while it is being started or stopped:
 *
 *	main thread                          worker thread
 *	queued ── begin(): takes the node ─▶ run(): lx_node_*() ─┐
 *	answered ◀─ finish(): gives it back ◀────────────────────┘
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/explain.h"
#include "../base/log.h"
#include "../ctl/codec.h"
#include "change.h"
#include "config.h"
#include "difference.h"
#include "duplicate.h"
#include "edit.h"
#include "log.h"
#include "monitor.h"
#include "neighbours.h"
#include "programs.h"
#include "tester.h"
#include "trace.h"

#define QUEUE_MAX 256

struct change;

struct kind {
	const char *verb; /* in the log; NULL: the request's */
	int (*run)(struct change *c);
	bool without_node; /* works without a configured node */
};

struct change {
	struct lx_list link;
	uv_work_t work;
	struct lx_daemon *daemon;
	const struct kind *kind;
	const struct lx_edit_kind *edit; /* of run_edit() */
	const struct lx_request *request; /* a client's; else NULL */
	void *req; /* its struct */
	uint16_t flags;
	struct lx_client *client; /* waits for the answer; may be NULL */
	unsigned long netns; /* the client's; 0: unknown */
	long uid, pid; /* the client's; pid 0: the daemon itself */
	lx_change_fn done; /* for a change by the daemon itself */
	struct lx_node *node; /* to work on; of a start: the new one */
	struct lx_conf *conf; /* ours if not the daemon's */
	struct lx_conf *later; /* of it, what waits for an interface; NULL: nothing */
	struct lx_saved saved; /* of a stop: the node's tunables */
	int error;
	bool applied; /* of a reload: the file holds now, even if parts of it failed */
	int fd; /* as in struct lx_edit, as the next ones */
	struct lx_rows rows;
	int64_t count;
	bool dry;
	char text[400];
};

struct lx_changes {
	struct lx_list queue;
	unsigned int length;
	struct change *running;
	bool stopped;
	uint64_t stop_by_ns; /* of uv_hrtime(): the deadline of a stop in progress */
	struct lx_facts read; /* the node as the file, or its start, has made it; the worker's */
};

/* Sets the text of an error, or of a remark on success. Returns @error. */
#define say(c, error, ...) lx_explain((c)->text, sizeof((c)->text), error, __VA_ARGS__)

/* ---- the node itself ------------------------------------------------------------ */

static int explain_conf(struct change *c, int err, const struct lx_conf_error *why)
{
	lx_config_error(c->daemon->config_file ? c->daemon->config_file : "configuration", why,
			c->text, sizeof(c->text));
	if (!why->text[0])
		say(c, err, "cannot start LNet: %s", strerror(-err));
	return err;
}

/* Changes to the node from now on are set by command; without memory nothing is known of it. */
static void remember(struct change *c, struct lx_facts *facts)
{
	struct lx_facts *read = &c->daemon->changes->read;

	lx_difference_clear(read);
	*read = *facts;
}

static void take_facts(struct change *c, struct lx_facts *ret_facts)
{
	if (lx_difference_take(c->node, c->daemon->tester, ret_facts))
		lx_warn("reason=\"out of memory\" "
			"action=\"the next reload does not log what changed\"");
}

/* Missing NIs come later, but at least one has to come now. */
static int resolve_start(struct change *c, struct lx_conf **ret_conf, struct lx_conf_error *ret_why)
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

static void log_missing(struct change *c)
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
static int node_start(struct change *c)
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
static int routing_end(struct change *c)
{
	struct lx_daemon *d = c->daemon;

	d->changes->stop_by_ns = uv_hrtime() + d->drain_ms * 1000000ULL;
	if (lx_routing_stop(c->node, d->drain_ms) == -ETIMEDOUT)
		lx_warn("drain_s=%u reason=\"neighbours still use this router\" "
			"action=\"their messages are dropped from now on\"", d->drain_ms / 1000);
	return 0;
}

static int node_stop(struct change *c)
{
	uint64_t now = uv_hrtime(), by = c->daemon->changes->stop_by_ns;

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

static void log_changes(struct change *c, struct lx_facts *before)
{
	struct lx_facts after = { .n = 0 };

	take_facts(c, &after);
	if (before->list && after.list)
		lx_difference_log_changes("reload", &c->daemon->changes->read, before, &after);
	lx_difference_clear(before);
	remember(c, &after);
}

static int node_apply(struct change *c)
{
	struct lx_facts before = { .n = 0 };
	struct lx_conf_error why = { 0 };
	struct lx_conf *conf;
	int err;

	if (!c->node) {
		c->applied = true;
		lx_tester_configure(c->daemon->tester, &c->conf->selftest);
		return say(c, 0, "to be used by the next \"lnet configure --all\"");
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
static int node_complete(struct change *c)
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
	lx_difference_learn(&d->changes->read, &before, &after);
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

static int load_programs(struct change *c)
{
	return lx_programs_load(c->daemon->programs);
}

static int change_nothing(struct change *c)
{
	return 0;
}

static int run_edit(struct change *c)
{
	struct lx_edit edit = { .daemon = c->daemon,
				.node = c->node,
				.req = c->req,
				.netns = c->netns,
				.text = c->text,
				.size = sizeof(c->text),
				.fd = c->fd,
				.count = LX_UNSET };
	int err = c->edit->run(&edit);

	c->count = edit.count;
	c->dry = edit.dry;
	c->rows = edit.rows;
	return err;
}

static const struct kind edit = { .run = run_edit };
static const struct kind start = { "configure", node_start, true };
static const struct kind stop = { "unconfigure", node_stop, true };
static const struct kind reload = { "reload", node_apply, true };

/* Not clients' requests: what precedes each start and stop; nothing but what follows a change. */
static const struct kind load = { .run = load_programs, .without_node = true };
static const struct kind end_of_routing = { .run = routing_end };
static const struct kind complete = { .run = node_complete };
static const struct kind no_change = { .run = change_nothing };

/* Its name in answers and in the log; the node's is the reference's. */
static const char *name_of(const struct lx_request *request)
{
	return request->object == LX_CTL_NODE ? "lnet" : lx_ctl_object_name(request->object);
}

/* ---- the queue ------------------------------------------------------------------ */

static void start_next(struct lx_daemon *d);

static void change_free(struct change *c)
{
	if (c->conf != c->daemon->conf)
		lx_conf_free(c->conf);
	if (c->fd >= 0)
		close(c->fd);
	free(c->rows.list);
	free(c->req);
	free(c);
}

static const char *verb_of(const struct change *c)
{
	if (c->kind->verb)
		return c->kind->verb;
	return c->request->object == LX_CTL_STATS ? "reset" : lx_request_verb(c->request->verb);
}

static bool in_part(const struct change *c)
{
	return c->error && c->applied;
}

/* Logs a change and its author. A client that changed nothing has got the reason. */
static void log_change(const struct change *c)
{
	char args[300], reason[sizeof(c->text)];

	if (!c->pid || (c->error && !c->applied) || c->dry)
		return;
	lx_schema_format(c->request->schema, c->req, args, sizeof(args));
	lx_daemon_log_unquoted(in_part(c) ? c->text : "", reason, sizeof(reason));
	lx_info("command=\"%s %s\"%s%s client_uid=%ld client_pid=%ld%s%s%s", name_of(c->request),
		verb_of(c), *args ? " " : "", args, c->uid, c->pid,
		*reason ? " action=\"reloaded in part\" reason=\"" : "", reason,
		*reason ? "\"" : "");
}

static void tell_client(struct change *c)
{
	char more[80] = "";
	struct lx_rows rows = c->rows;
	struct lx_dump *dump;

	c->rows = (struct lx_rows){ 0 }; /* the dump's */
	if (rows.n && !lx_dump_new(c->request->shown, 0, &rows, &dump)) {
		dump->error = c->error;
		lx_client_dump(c->client, dump);
		return;
	}
	if (in_part(c))
		strcpy(more, " (the rest is applied; mend this, then reload again)");
	lx_client_count(c->client, c->count);
	lx_client_reply(c->client, c->error, name_of(c->request), "%s%s", c->text, more);
}

int lx_change_no_node(struct lx_daemon *d, char *text, size_t size)
{
	const struct change *c = d->changes->running;

	if (lx_programs_are_loading(d->programs))
		return lx_explain(text, size, -ENETDOWN,
				  "starting: loading BPF programs; try again in some seconds");
	if (c && c->kind == &start)
		return lx_explain(text, size, -ENETDOWN,
				  "starting: the nets come up; try again in some seconds");
	if (c && c->kind == &stop)
		return lx_explain(text, size, -ENETDOWN, "LNet is stopping");
	/* The first words are the reference's, which scripts look for. */
	return lx_explain(text, size, -ENETDOWN,
			  "LNet stack down: LNet is not configured in this lnetxd; start it with "
			  "\"lnetctl lnet configure\" (lnetx daemon up)");
}

/* Sends the answer, and frees the change. */
static void answer(struct change *c)
{
	const char *why = *c->text ? c->text : strerror(-c->error);
	struct lx_daemon *d = c->daemon;

	if (c->kind == &reload)
		snprintf(d->reload_failed, sizeof(d->reload_failed), "%s", c->error ? why : "");
	log_change(c);
	if (c->client)
		tell_client(c);
	if (c->done)
		c->done(c->daemon, c->error, c->applied, c->text);
	change_free(c);
}

/* Each begin_*() returns whether there is work for the worker; if not, it has the answer. */
static bool begin_start(struct change *c)
{
	struct lx_daemon *d = c->daemon;

	if (c->node)
		return false; /* it runs already */
	c->conf = d->conf;
	if (!c->conf && !(c->flags & NLM_F_EXCL)) {
		c->error = lx_config_default(c->flags & NLM_F_APPEND, &c->conf);
		if (c->error)
			say(c, c->error,
			    "no interface with an IPv4 address is up; add NIs yourself "
			    "(lnetx net add)");
	}
	d->large = c->flags & NLM_F_APPEND;
	return !c->error;
}

struct mistakes {
	struct change *change;
	unsigned int n;
};

static void on_mistake(const char *text, void *arg)
{
	struct mistakes *m = arg;

	if (!m->n++)
		snprintf(m->change->text, sizeof(m->change->text), "%s", text);
}

static bool begin_reload(struct change *c)
{
	const char *file = lx_config_choose(&c->daemon->config_files);
	struct mistakes m = { .change = c };
	size_t used;

	if (!file) {
		c->error = say(c, -ENOENT, "lnetxd was started without a configuration file");
		return false;
	}
	c->daemon->config_file = file;
	c->error = lx_config_load(file, false, &c->conf, on_mistake, &m);
	used = strlen(c->text);
	if (m.n > 1)
		snprintf(c->text + used, sizeof(c->text) - used,
			 " (the first of %u mistakes; \"lnetxd -t -c %s\" lists all)", m.n, file);
	if (!c->error)
		lx_config_log_ignored(file, c->conf);
	return !c->error;
}

static bool begin(struct change *c)
{
	struct lx_daemon *d = c->daemon;

	c->node = d->node;
	if (c->kind == &start)
		return begin_start(c);
	if (c->kind == &reload)
		return begin_reload(c);
	if (c->kind == &stop)
		d->node = NULL; /* nothing new may start with it */
	if (c->node || c->kind->without_node || (c->edit && c->edit->without_node))
		return true;
	c->error = lx_change_no_node(d, c->text, sizeof(c->text));
	return false;
}

static void run(uv_work_t *work)
{
	struct change *c = lx_container_of(work, struct change, work);

	c->error = c->kind->run(c);
	/* Programs that an earlier daemon left attached stay until there is a node. */
	if (c->kind != &load)
		lx_programs_follow(c->daemon->programs, c->node);
}

static void finish(uv_work_t *work, int status)
{
	struct change *c = lx_container_of(work, struct change, work);
	struct lx_daemon *d = c->daemon;

	d->changes->running = NULL;
	if (lx_programs_leaves(d->programs))
		lx_trace_end(d->tracer);
	lx_programs_settle(d->programs);
	if (c->kind == &start && !c->error) {
		d->node = c->node;
		lx_monitor_watch(d);
		lx_neighbours_announce(d);
		lx_duplicates_look(d);
	}
	if (c->applied) {
		lx_conf_free(d->conf);
		d->conf = c->conf;
	}
	/* After a stop or a reload: nothing. */
	if (c->applied || c->kind == &start || c->kind == &complete || c->kind == &stop) {
		lx_conf_free(d->later);
		d->later = c->later;
	}
	/* After a reload there are none: the file has everything. */
	if (c->saved.tunable || c->applied) {
		lx_saved_clear(&d->saved);
		d->saved = c->saved;
	}
	answer(c);
	start_next(d);
}

static void start_next(struct lx_daemon *d)
{
	struct lx_changes *changes = d->changes;
	struct change *c;
	int err;

	while (!changes->running && (c = lx_list_first(&changes->queue, struct change, link))) {
		lx_list_del(&c->link);
		changes->length--;
		if (!begin(c)) {
			answer(c);
			continue;
		}
		changes->running = c;
		/* The worker owns the change from here on, unless this fails. */
		err = uv_queue_work(d->loop, &c->work, run, finish);
		if (err) {
			c->error = say(c, err, "no worker thread: %s", strerror(-err));
			finish(&c->work, err);
		}
	}
}

static int change_new(struct lx_daemon *d, const struct kind *kind, struct change **ret_change)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->daemon = d;
	c->kind = kind;
	c->fd = -1;
	c->count = LX_UNSET;
	lx_list_init(&c->link);
	*ret_change = c;
	return 0;
}

static void append(struct change *c)
{
	struct lx_changes *changes = c->daemon->changes;

	lx_list_append(&changes->queue, &c->link);
	changes->length++;
}

/* A stop has two halves: during the first one the node can still be shown. */
static void enqueue(struct change *c)
{
	struct change *first;

	if (c->kind == &stop) {
		lx_neighbours_save(c->daemon);
		if (!change_new(c->daemon, &end_of_routing, &first))
			append(first);
		else
			c->daemon->changes->stop_by_ns = uv_hrtime();
	}
	append(c);
	start_next(c->daemon);
}

static const struct kind *kind_of(const struct lx_request *request)
{
	if (request->object == LX_CTL_NODE)
		return request->verb == LX_CTL_ADD ? &start : &stop;
	return lx_edit_find(request) ? &edit : &reload;
}

void lx_change_request(struct lx_client *client, const struct lx_request *request,
		       const void *attrs, size_t len)
{
	const struct lx_schema *schema = request->schema;
	struct lx_daemon *d = client->daemon;
	char text[200] = "";
	struct change *c = NULL;
	int err;

	if (d->changes->stopped || d->changes->length >= QUEUE_MAX) {
		lx_client_reply(client, d->changes->stopped ? -ESHUTDOWN : -EBUSY, name_of(request),
				d->changes->stopped ? "lnetxd is stopping"
						    : "too many changes are waiting; try again");
		return;
	}
	err = change_new(d, kind_of(request), &c);
	if (!err) {
		c->req = calloc(1, schema->size + 1);
		err = c->req ? lx_codec_get(attrs, len, schema, c->req, text, sizeof(text))
			     : -ENOMEM;
	}
	if (err) {
		lx_client_reply(client, err, name_of(request), "%s", *text ? text : strerror(-err));
		if (c)
			change_free(c);
		return;
	}
	c->request = request;
	c->edit = lx_edit_find(request);
	c->flags = client->flags;
	c->fd = client->given;
	client->given = -1;
	c->netns = client->netns;
	c->uid = client->uid;
	c->pid = client->pid;
	lx_client_wait(client, &c->client);
	enqueue(c);
}

static int own_change(struct lx_daemon *d, const struct kind *kind, uint16_t flags,
		      lx_change_fn done)
{
	struct change *c;
	int err = change_new(d, kind, &c);

	if (err)
		return err;
	c->flags = flags;
	c->done = done;
	enqueue(c);
	return 0;
}

int lx_change_load(struct lx_daemon *d, lx_change_fn done)
{
	return own_change(d, &load, 0, done);
}

/* Without a file only the node: nobody requested the net that "--all" would choose. */
int lx_change_start(struct lx_daemon *d, lx_change_fn done)
{
	return own_change(d, &start, NLM_F_CREATE | (d->conf ? 0 : NLM_F_EXCL), done);
}

int lx_change_reload(struct lx_daemon *d, lx_change_fn done)
{
	return own_change(d, &reload, NLM_F_REPLACE, done);
}

/* BPF programs follow the interfaces. */
static void follow_interfaces(struct lx_daemon *d)
{
	struct change *c;

	if (d->node && !d->changes->stopped && !change_new(d, &no_change, &c))
		enqueue(c);
}

static void on_completed(struct lx_daemon *d, int error, bool applied, const char *text)
{
	char buf[400];

	if (error && error != -EEXIST) /* an admin was faster */
		lx_err("action=\"the NI that was missing is not brought up\" reason=\"%s\" "
		       "next=\"mend this; lnetx net add\"",
		       lx_daemon_log_unquoted(text, buf, sizeof(buf)));
}

static bool can_complete(const struct lx_daemon *d)
{
	struct lx_conf_error why;

	for (size_t i = 0; d->node && d->later && i < d->later->n_nis; i++) {
		if (!lx_config_lacks(&d->later->ni[i], d->large, &why))
			return true;
	}
	return false;
}

void lx_change_look(struct lx_daemon *d)
{
	if (!d->changes->running && !d->changes->stopped && can_complete(d))
		own_change(d, &complete, 0, on_completed);
	if (!d->changes->running && lx_programs_look(d->programs))
		follow_interfaces(d);
}

void lx_change_follow(struct lx_daemon *d, const struct lx_ctl_event *event, unsigned int n)
{
	bool interfaces = false, routing = false, addresses = false;

	for (unsigned int i = 0; i < n; i++) {
		enum lx_change_type type = event[i].change.type;

		interfaces |= type == LX_CHANGE_NI_UP || type == LX_CHANGE_ROUTING;
		routing |= type == LX_CHANGE_ROUTING || type == LX_CHANGE_NI_ADD;
		addresses |= type == LX_CHANGE_NI_UP || type == LX_CHANGE_NI_ADD;
	}
	if (addresses)
		lx_duplicates_look(d);
	if (interfaces)
		follow_interfaces(d);
	if (routing) {
		lx_neighbours_save(d);
		lx_neighbours_announce(d);
	}
}

int lx_change_stop(struct lx_daemon *d, lx_change_fn done)
{
	struct change *c;

	d->changes->stopped = true;
	while ((c = lx_list_first(&d->changes->queue, struct change, link))) {
		lx_list_del(&c->link);
		c->error = say(c, -ESHUTDOWN, "lnetxd is stopping");
		answer(c);
	}
	return own_change(d, &stop, 0, done);
}

int lx_changes_new(struct lx_daemon *daemon, struct lx_changes **ret_changes)
{
	struct lx_changes *changes = calloc(1, sizeof(*changes));

	if (!changes)
		return -ENOMEM;
	lx_list_init(&changes->queue);
	*ret_changes = changes;
	return 0;
}

void lx_changes_free(struct lx_changes *changes)
{
	if (changes)
		lx_difference_clear(&changes->read);
	free(changes);
}
