/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue of changes, and owner of them. Requests come from command.c; lifecycle.c changes the
 * node as a whole, edit.c pieces of it:
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

#include "../base/log.h"
#include "../ctl/codec.h"
#include "change.h"
#include "edit.h"
#include "log.h"
#include "programs.h"
#include "trace.h"

#define QUEUE_MAX 256

struct lx_changes {
	struct lx_list queue;
	unsigned int length;
	struct lx_change_task *running;
	bool stopped;
};

static int run_edit(struct lx_change_task *c)
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

static const struct lx_change_kind edit = { .run = run_edit };

/* Its name in answers and in the log; the node's is the reference's. */
static const char *name_of(const struct lx_request *request)
{
	return request->object == LX_CTL_NODE ? "lnet" : lx_ctl_object_name(request->object);
}

static void start_next(struct lx_daemon *d);

static void change_free(struct lx_change_task *c)
{
	if (c->conf != c->daemon->conf)
		lx_conf_free(c->conf);
	if (c->fd >= 0)
		close(c->fd);
	free(c->rows.list);
	free(c->req);
	free(c);
}

static const char *verb_of(const struct lx_change_task *c)
{
	if (c->kind->verb)
		return c->kind->verb;
	return c->request->object == LX_CTL_STATS ? "reset" : lx_request_verb(c->request->verb);
}

static bool in_part(const struct lx_change_task *c)
{
	return c->error && c->applied;
}

/* Logs a change and its author. A client that changed nothing has got the reason. */
static void log_change(const struct lx_change_task *c)
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

static void tell_client(struct lx_change_task *c)
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
	const struct lx_change_task *c = d->changes->running;

	if (lx_programs_are_loading(d->programs))
		return lx_explain(text, size, -ENETDOWN,
				  "starting: loading BPF programs; try again in some seconds");
	if (c && c->kind->meanwhile)
		return lx_explain(text, size, -ENETDOWN, "%s", c->kind->meanwhile);
	/* The first words are the reference's, which scripts look for. */
	return lx_explain(text, size, -ENETDOWN,
			  "LNet stack down: LNet is not configured in this lnetxd; start it with "
			  "\"lnetctl lnet configure\" (lnetx daemon up)");
}

/* Sends the answer, and frees the change. */
static void answer(struct lx_change_task *c)
{
	log_change(c);
	if (c->client)
		tell_client(c);
	if (c->done)
		c->done(c->daemon, c->error, c->applied, c->text);
	change_free(c);
}

static bool begin(struct lx_change_task *c)
{
	struct lx_daemon *d = c->daemon;

	c->node = d->node;
	if (c->kind->begin)
		return c->kind->begin(c);
	if (c->node || c->kind->without_node || (c->edit && c->edit->without_node))
		return true;
	c->error = lx_change_no_node(d, c->text, sizeof(c->text));
	return false;
}

static void run(uv_work_t *work)
{
	struct lx_change_task *c = lx_container_of(work, struct lx_change_task, work);

	c->error = c->kind->run(c);
	/* Programs that an earlier daemon left attached stay until there is a node. */
	if (!c->kind->without_node)
		lx_programs_follow(c->daemon->programs, c->node);
}

static void finish(uv_work_t *work, int status)
{
	struct lx_change_task *c = lx_container_of(work, struct lx_change_task, work);
	struct lx_daemon *d = c->daemon;

	d->changes->running = NULL;
	if (lx_programs_leaves(d->programs))
		lx_trace_end(d->tracer);
	lx_programs_settle(d->programs);
	if (c->kind->end)
		c->kind->end(c);
	answer(c);
	start_next(d);
}

static void start_next(struct lx_daemon *d)
{
	struct lx_changes *changes = d->changes;
	struct lx_change_task *c;
	int err;

	while (!changes->running &&
	       (c = lx_list_pop(&changes->queue, struct lx_change_task, link))) {
		changes->length--;
		if (!begin(c)) {
			answer(c);
			continue;
		}
		changes->running = c;
		/* The worker owns the change from here on, unless this fails. */
		err = uv_queue_work(d->loop, &c->work, run, finish);
		if (err) {
			c->error = lx_change_say(c, err, "no worker thread: %s", strerror(-err));
			finish(&c->work, err);
		}
	}
}

static int change_new(struct lx_daemon *d, const struct lx_change_kind *kind,
		      struct lx_change_task **ret_change)
{
	struct lx_change_task *c = calloc(1, sizeof(*c));

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

static void append(struct lx_change_task *c)
{
	struct lx_changes *changes = c->daemon->changes;

	lx_list_append(&changes->queue, &c->link);
	changes->length++;
}

static void enqueue(struct lx_change_task *c)
{
	const struct lx_change_kind *kind = c->kind;
	struct lx_change_task *first;

	if (kind->queued)
		kind->queued(c->daemon);
	if (kind->first && !change_new(c->daemon, kind->first, &first))
		append(first);
	append(c);
	start_next(c->daemon);
}

void lx_change_request(struct lx_client *client, const struct lx_change_kind *kind,
		       const struct lx_request *request, const void *attrs, size_t len)
{
	const struct lx_edit_kind *edit_kind = lx_edit_find(request);
	const struct lx_schema *schema = request->schema;
	struct lx_daemon *d = client->daemon;
	char text[200] = "";
	struct lx_change_task *c = NULL;
	int err;

	if (d->changes->stopped || d->changes->length >= QUEUE_MAX) {
		lx_client_reply(client, d->changes->stopped ? -ESHUTDOWN : -EBUSY, name_of(request),
				d->changes->stopped ? "lnetxd is stopping"
						    : "too many changes are waiting; try again");
		return;
	}
	err = change_new(d, edit_kind ? &edit : kind, &c);
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
	c->edit = edit_kind;
	c->flags = client->flags;
	c->fd = client->given;
	client->given = -1;
	c->netns = client->netns;
	c->uid = client->uid;
	c->pid = client->pid;
	lx_client_wait(client, &c->client);
	enqueue(c);
}

int lx_change_own(struct lx_daemon *d, const struct lx_change_kind *kind, uint16_t flags,
		  lx_change_fn done)
{
	struct lx_change_task *c;
	int err = change_new(d, kind, &c);

	if (err)
		return err;
	c->flags = flags;
	c->done = done;
	enqueue(c);
	return 0;
}

int lx_change_last(struct lx_daemon *d, const struct lx_change_kind *kind, lx_change_fn done)
{
	struct lx_change_task *c;

	d->changes->stopped = true;
	while ((c = lx_list_pop(&d->changes->queue, struct lx_change_task, link))) {
		c->error = lx_change_say(c, -ESHUTDOWN, "lnetxd is stopping");
		answer(c);
	}
	return lx_change_own(d, kind, 0, done);
}

bool lx_change_idle(const struct lx_daemon *d)
{
	return !d->changes->running && !d->changes->stopped;
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
	free(changes);
}
