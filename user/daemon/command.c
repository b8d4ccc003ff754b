/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clients' requests: checks who may change, and answers shows from a snapshot at once.
 * Changes go to change.c, pings to probe.c, monitoring to monitor.c.
 * Called by client.c with each request.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/text.h"
#include "../ctl/codec.h"
#include "ask.h"
#include "columns.h"
#include "command.h"
#include "edit.h"
#include "guard.h"
#include "lifecycle.h"
#include "monitor.h"
#include "probe.h"
#include "programs.h"
#include "server.h"
#include "share.h"
#include "tester.h"
#include "trace.h"

static bool is_any(const struct lx_nid *nid)
{
	return lx_nid_eq(nid, &lx_nid_any);
}

/* ---- nets, peers, routes ----------------------------------------------------------- */

/* Each gets the rows of an object: an array, as the object's schema describes it. */

#define LIST(fn, type, get)                                                                        \
	static int fn(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)          \
	{                                                                                          \
		type *list = NULL;                                                                 \
		int err = get(d->node, &list, &rows->n);                                           \
                                                                                                   \
		rows->list = list;                                                                 \
		return err;                                                                        \
	}
LIST(list_nis, struct lx_ni_info, lx_ni_list)
LIST(list_all_routes, struct lx_route_info, lx_route_list)
LIST(list_udsps, struct lx_conf_udsp, lx_udsp_list)
LIST(list_conns, struct lx_conn_info, lx_conn_list)
LIST(list_recovery, struct lx_recovery_info, lx_recovery_list)
LIST(list_faults, struct lx_fault_info, lx_fault_list)

/* A gateway may be given by any of its NIDs. */
static int list_routes(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	lx_primary_nid(d->node, &req->gateway, &req->gateway);
	return list_all_routes(d, req, rows);
}

static int list_peers(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_peer_info *list = NULL;
	int err = is_any(&req->nid) ? lx_peer_list(d->node, &list, &rows->n)
				    : lx_peer_find(d->node, &req->nid, &list);

	if (!is_any(&req->nid))
		rows->n = 1;
	rows->list = list;
	return err;
}

/* Which of them a request is for; the others are left out. */

static bool keep_ni(const struct lx_ctl_show *req, const void *element)
{
	const struct lx_ni_info *ni = element;

	if (req->level == LX_LEVEL_BACKUP && lx_net_type(ni->net) == LX_NET_LO)
		return false;
	return (req->net == LX_NET_U32_ANY || req->net == ni->net) &&
	       (is_any(&req->nid) || lx_nid_eq(&req->nid, &ni->nid));
}

static bool keep_route(const struct lx_ctl_show *req, const void *element)
{
	const struct lx_route_info *r = element;

	return (req->net == LX_NET_U32_ANY || req->net == r->net) &&
	       (is_any(&req->gateway) || lx_nid_eq(&req->gateway, &r->gateway) ||
		lx_nid_eq(&req->gateway, &r->primary)) &&
	       (req->hop == LX_UNSET || req->hop == r->hop) &&
	       (req->priority == LX_UNSET || req->priority == r->priority);
}

static bool keep_udsp(const struct lx_ctl_show *req, const void *element)
{
	return req->index == LX_UNSET ||
	       req->index == ((const struct lx_conf_udsp *)element)->index;
}

/* ---- single values ----------------------------------------------------------------- */

static int get_selftest(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_ctl_selftest_info *info = lx_rows_one(rows, sizeof(*info));

	if (info)
		lx_tester_describe(d->tester, info);
	return info ? 0 : -ENOMEM;
}

static int get_routing(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_routing_info *info = lx_rows_one(rows, sizeof(*info));

	if (!info)
		return -ENOMEM;
	lx_routing_get(d->node, info);
	rows->n = info->pools;
	return 0;
}

static int get_stats(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_stats *stats = lx_rows_one(rows, sizeof(*stats));

	if (stats)
		lx_stats_get(d->node, stats);
	return stats ? 0 : -ENOMEM;
}

static void fill_missing(const struct lx_daemon *d, char *buf, size_t size)
{
	struct lx_conf_error why;

	for (size_t i = 0; d->later && i < d->later->n_nis; i++) {
		if (lx_config_lacks(&d->later->ni[i], d->large, &why))
			lx_text_join(buf, size, "; ", why.text);
	}
}

static int by_route(const void *a, const void *b)
{
	const struct lx_route_info *x = a, *y = b;

	return x->net != y->net ? (x->net > y->net) - (x->net < y->net)
				: lx_nid_cmp(&x->gateway, &y->gateway);
}

static bool waits(const struct lx_daemon *d, const struct lx_conf_route *route)
{
	for (size_t i = 0; d->later && i < d->later->n_routes; i++) {
		if (d->later->route[i].net == route->net &&
		    lx_nid_eq(&d->later->route[i].gateway, &route->gateway))
			return true;
	}
	return false;
}

/* Who has deleted or switched off by command what the file has may have forgotten it. */
static void fill_deviates(const struct lx_daemon *d, char *buf, size_t size)
{
	struct lx_route_info *list LX_AUTO_FREE = NULL;
	struct lx_routing_info routing;
	size_t n = 0;

	if (!d->node || !d->conf)
		return;
	lx_routing_get(d->node, &routing);
	if (d->conf->routing == 1 &&
	    (routing.state == LX_ROUTING_OFF || routing.state == LX_ROUTING_STOPPING))
		lx_text_join(buf, size, "; ", "routing is off");
	if (!d->conf->n_routes || lx_route_list(d->node, &list, &n))
		return;
	if (n)
		qsort(list, n, sizeof(*list), by_route);
	for (size_t i = 0; i < d->conf->n_routes; i++) {
		const struct lx_conf_route *r = &d->conf->route[i];
		struct lx_route_info key = { .net = r->net, .gateway = r->gateway };
		char text[LX_NID_TEXT + 64];

		if (r->legacy || waits(d, r) ||
		    (n && bsearch(&key, list, n, sizeof(key), by_route)))
			continue;
		snprintf(text, sizeof(text), "no route to %s through %s", lx_net_str(r->net),
			 lx_nid_str(&r->gateway));
		lx_text_join(buf, size, "; ", text);
	}
}

static int fill_refused(struct lx_daemon *d, struct lx_ctl_status *status)
{
	struct lx_refused_info *list LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = d->node ? lx_refused_list(d->node, &list, &n) : 0;

	if (err)
		return err;
	status->n_refused = n;
	if (n)
		memcpy(status->refused, list, n * sizeof(*list));
	return 0;
}

static int get_status(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_ctl_status *status = lx_rows_one(rows, sizeof(*status));
	struct lx_clocks now = lx_clocks_now();

	if (!status)
		return -ENOMEM;
	*status = (struct lx_ctl_status){ .version = LX_VERSION,
					  .instance = d->instance,
					  .config = d->config_file,
					  .pid = getpid(),
					  .uptime_s = lx_clocks_passed_s(&d->started, &now),
					  .clock_jump_s = lx_clocks_jump_s(&d->started, &now),
					  .configured = d->node != NULL,
					  .clients = lx_server_clients(d->server) };
	lx_share_fill(status);
	fill_missing(d, status->missing, sizeof(status->missing));
	fill_deviates(d, status->deviates, sizeof(status->deviates));
	snprintf(status->reload_failed, sizeof(status->reload_failed), "%s", d->reload_failed);
	return fill_refused(d, status);
}

/* ---- the reference's files ---------------------------------------------------------- */

/* A row for each line. */
static int list_columns(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	char *text LX_AUTO_FREE = NULL, *save;
	int err = lx_columns_text(d->node, req->name, &text);
	struct lx_ctl_line *line;
	size_t n = 0;

	if (err)
		return err;
	for (const char *p = text; *p; p++)
		n += *p == '\n';
	rows->list = line = calloc(n + 1, sizeof(*line));
	if (!line)
		return -ENOMEM;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		snprintf(line[rows->n++].text, sizeof(line->text), "%s", p);
	return 0;
}

/* ---- tunables ---------------------------------------------------------------------- */

struct tunable_walk {
	const struct lx_ctl_show *req;
	struct lx_rows *rows;
	int err;
};

static void list_choices(const struct lx_tunable *t, char *buf, size_t size)
{
	for (int i = 0; t->names && t->names[i]; i++)
		lx_text_join(buf, size, " ", t->names[i]);
}

/* Formats the default like a value: by its name if it has one. */
static void format_default(const struct lx_tunable *t, char *buf, size_t size)
{
	struct lx_tunable at_start = *t;

	at_start.offset = 0;
	lx_tunable_format(&at_start, &t->def, buf, size);
}

static int add_tunable(const char *module, const struct lx_tunable *t, const char *value, void *arg)
{
	struct tunable_walk *w = arg;
	struct lx_ctl_tunable *row;

	if ((w->req->module[0] && strcmp(w->req->module, module)) ||
	    (w->req->name[0] && strcmp(w->req->name, t->name)))
		return 0;
	row = lx_grow(&w->rows->list, &w->rows->n, sizeof(*row));
	if (!row) {
		w->err = -ENOMEM;
		return 1;
	}
	/* Names and help are in static tables. */
	*row = (struct lx_ctl_tunable){
		.module = module, .name = t->name, .help = t->help, .min = t->min, .max = t->max
	};
	snprintf(row->value, sizeof(row->value), "%s", value);
	format_default(t, row->def, sizeof(row->def));
	list_choices(t, row->choices, sizeof(row->choices));
	return 0;
}

static int list_tunables(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct tunable_walk w = { .req = req, .rows = rows };

	lx_tunable_each(d->node, add_tunable, &w);
	return w.err || rows->n ? w.err : -ENOENT;
}

/* ---- dispatch ---------------------------------------------------------------------- */

static const struct show {
	uint8_t object; /* enum lx_ctl_object */
	enum { NOTHING, NODE, PROGRAMS } needs;
	/* May put what is asked for in another form, for keep(). */
	lx_rows_fn *get;
	bool (*keep)(const struct lx_ctl_show *req, const void *row);
} shows[] = { { LX_CTL_NET, NODE, list_nis, keep_ni },
	      { LX_CTL_PEER, NODE, list_peers, NULL },
	      { LX_CTL_ROUTE, NODE, list_routes, keep_route },
	      { LX_CTL_RECOVERY, NODE, list_recovery, NULL },
	      { LX_CTL_UDSP, NODE, list_udsps, keep_udsp },
	      { LX_CTL_CONN, NODE, list_conns, NULL },
	      { LX_CTL_FAULT, NODE, list_faults, NULL },
	      { LX_CTL_ROUTING, NODE, get_routing, NULL },
	      { LX_CTL_STATS, NODE, get_stats, NULL },
	      { LX_CTL_TUNABLE, NODE, list_tunables, NULL },
	      { LX_CTL_COLUMNS, NODE, list_columns, NULL },
	      { LX_CTL_DAEMON, NOTHING, get_status, NULL },
	      { LX_CTL_SELFTEST, NOTHING, get_selftest, NULL },
	      { LX_CTL_BPF, PROGRAMS, lx_programs_show_bpf, NULL },
	      { LX_CTL_GUARD, PROGRAMS, lx_daemon_guard_show, NULL },
	      { LX_CTL_BAN, PROGRAMS, lx_daemon_guard_show_bans, NULL },
	      { LX_CTL_PREFIX, PROGRAMS, lx_daemon_guard_show_prefixes, NULL },
	      { LX_CTL_REFUSAL, PROGRAMS, lx_daemon_guard_show_refusals, NULL },
	      { LX_CTL_STREAM, PROGRAMS, lx_programs_show_streams, NULL },
	      { LX_CTL_LANE, PROGRAMS, lx_programs_show_lanes, NULL } };

static void explain(struct lx_daemon *d, const struct lx_request *request,
		    const struct lx_ctl_show *req, int err, char *text, size_t size)
{
	if (err == -ENOENT && request->object == LX_CTL_TUNABLE)
		lx_edit_unknown_tunable(d->node, req->module, req->name, text, size);
	else
		snprintf(text, size, "%s%s%s", is_any(&req->nid) ? "" : lx_nid_str(&req->nid),
			 is_any(&req->nid) ? "" : ": ", strerror(-err));
}

static int get_rows(struct lx_daemon *d, const struct show *s, struct lx_ctl_show *req, size_t size,
		    struct lx_rows *rows)
{
	int err = s->get(d, req, rows);
	size_t kept = 0;
	char *row;

	for (size_t i = 0; !err && s->keep && i < rows->n; i++) {
		row = (char *)rows->list + i * size;
		if (s->keep(req, row))
			memmove((char *)rows->list + size * kept++, row, size);
	}
	if (s->keep)
		rows->n = kept;
	return err;
}

static void show(struct lx_client *c, const struct lx_request *request, const void *attrs,
		 size_t len)
{
	struct lx_daemon *d = c->daemon;
	const struct show *s = shows;
	struct lx_rows rows = { 0 };
	struct lx_ctl_show req;
	struct lx_dump *dump = NULL;
	char text[200];
	int err;

	while (s->object != request->object)
		s++;
	err = lx_codec_get(attrs, len, request->schema, &req, text, sizeof(text));
	if (!err && ((s->needs == NODE && !d->node) ||
		     (s->needs == PROGRAMS && !lx_programs_are_ready(d->programs))))
		err = lx_change_no_node(d, text, sizeof(text));
	if (!err) {
		err = get_rows(d, s, &req, lx_dump_size(request->shown), &rows);
		if (err)
			free(rows.list);
		else
			err = lx_dump_new(request->shown, req.level, &rows, &dump);
		if (err)
			explain(d, request, &req, err, text, sizeof(text));
	}
	if (err)
		lx_client_reply(c, err, request->shown->yaml, "%s", text);
	else
		lx_client_dump(c, dump);
}

static void monitor(struct lx_client *c)
{
	int err = lx_monitor_join(c);

	if (err)
		lx_client_reply(c, err, "event", "%s", strerror(-err));
}

void lx_command(struct lx_client *c, const void *attrs, size_t len)
{
	const struct lx_request *request = lx_request_of(c->command, c->flags);

	if (!request)
		lx_client_reply(c, -EOPNOTSUPP, "control",
				"this lnetxd does not know command %u with flags 0x%x", c->command,
				c->flags);
	else if (!request->all_users && !c->may_write)
		lx_client_reply(c, -EPERM, "control",
				"%s: user %ld may not do this; changes, probes and traces are for "
				"root",
				strerror(EPERM), c->uid);
	else if (request->verb != LX_CTL_SHOW)
		lx_change_request(c, lx_lifecycle_kind(request), request, attrs, len);
	else if (request->object == LX_CTL_PING || request->object == LX_CTL_DISCOVER)
		lx_probe_request(c, attrs, len);
	else if (request->object == LX_CTL_ASK)
		lx_ask_request(c, attrs, len);
	else if (request->object == LX_CTL_TRACE)
		lx_trace_request(c, attrs, len);
	else if (request->object == LX_CTL_EVENT)
		monitor(c);
	else
		show(c, request, attrs, len);
}
