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
#include "../ctl/codec.h"
#include "ask.h"
#include "change.h"
#include "columns.h"
#include "command.h"
#include "edit.h"
#include "monitor.h"
#include "probe.h"
#include "programs.h"
#include "server.h"
#include "share.h"
#include "tester.h"
#include "trace.h"

/* Creates the dump for one kind of show. Returns 0 or -errno. */
typedef int (*show_fn)(struct lx_daemon *d, const struct lx_control_show *req,
		       struct lx_dump **ret_dump);

static bool is_any(const struct lx_nid *nid)
{
	return lx_nid_eq(nid, &lx_nid_any);
}

/* ---- nets, peers, routes ----------------------------------------------------------- */

static bool keep_ni(const void *element, const void *arg)
{
	const struct lx_ni_info *ni = element;
	const struct lx_control_show *req = arg;

	if (req->level == LX_LEVEL_BACKUP && lx_net_type(ni->net) == LX_NET_LO)
		return false;
	return (req->net == LX_NET_U32_ANY || req->net == ni->net) &&
	       (is_any(&req->nid) || lx_nid_eq(&req->nid, &ni->nid));
}

static int show_nets(struct lx_daemon *d, const struct lx_control_show *req,
		     struct lx_dump **ret_dump)
{
	struct lx_ni_info *list;
	size_t n;
	int err = lx_ni_list(d->node, &list, &n);

	if (!err)
		err = lx_dump_new(&lx_control_nets, req->level, list, n, sizeof(*list), ret_dump);
	if (!err)
		lx_dump_filter(*ret_dump, keep_ni, req);
	return err;
}

static int show_peers(struct lx_daemon *d, const struct lx_control_show *req,
		      struct lx_dump **ret_dump)
{
	struct lx_peer_info *list;
	size_t n = 1;
	int err;

	if (is_any(&req->nid))
		err = lx_peer_list(d->node, &list, &n);
	else
		err = lx_peer_find(d->node, &req->nid, &list);
	return err ? err
		   : lx_dump_new(&lx_control_peers, req->level, list, n, sizeof(*list), ret_dump);
}

/* Which routes to show; a gateway may be given by any of its NIDs. */
struct route_filter {
	const struct lx_control_show *req;
	struct lx_nid primary; /* of the node that has req->gateway */
};

static bool keep_route(const void *element, const void *arg)
{
	const struct lx_route_info *r = element;
	const struct route_filter *f = arg;
	const struct lx_control_show *req = f->req;

	return (req->net == LX_NET_U32_ANY || req->net == r->net) &&
	       (is_any(&req->gateway) || lx_nid_eq(&req->gateway, &r->gateway) ||
		lx_nid_eq(&f->primary, &r->primary)) &&
	       (req->hop == LX_UNSET || req->hop == r->hop) &&
	       (req->priority == LX_UNSET || req->priority == r->priority);
}

static int show_routes(struct lx_daemon *d, const struct lx_control_show *req,
		       struct lx_dump **ret_dump)
{
	struct route_filter filter = { .req = req };
	struct lx_route_info *list;
	size_t n;
	int err = lx_route_list(d->node, &list, &n);

	lx_primary_nid(d->node, &req->gateway, &filter.primary);
	if (!err)
		err = lx_dump_new(&lx_control_routes, req->level, list, n, sizeof(*list), ret_dump);
	if (!err)
		lx_dump_filter(*ret_dump, keep_route, &filter);
	return err;
}

static bool keep_udsp(const void *element, const void *arg)
{
	const struct lx_control_show *req = arg;

	return req->index == LX_UNSET || req->index == ((const struct lx_conf_udsp *)element)->index;
}

static int show_udsps(struct lx_daemon *d, const struct lx_control_show *req,
		      struct lx_dump **ret_dump)
{
	struct lx_conf_udsp *list;
	size_t n;
	int err = lx_udsp_list(d->node, &list, &n);

	if (!err)
		err = lx_dump_new(&lx_control_udsps, req->level, list, n, sizeof(*list), ret_dump);
	if (!err)
		lx_dump_filter(*ret_dump, keep_udsp, req);
	return err;
}

static int show_conns(struct lx_daemon *d, const struct lx_control_show *req,
		      struct lx_dump **ret_dump)
{
	struct lx_conn_info *list;
	size_t n;
	int err = lx_conn_list(d->node, &list, &n);

	return err ? err
		   : lx_dump_new(&lx_control_conns, req->level, list, n, sizeof(*list), ret_dump);
}

static int show_selftest(struct lx_daemon *d, const struct lx_control_show *req,
			 struct lx_dump **ret_dump)
{
	struct lx_control_selftest_info *info = calloc(1, sizeof(*info));

	if (!info)
		return -ENOMEM;
	lx_tester_describe(d->tester, info);
	return lx_dump_new(&lx_control_selftests, req->level, info, 1, sizeof(*info), ret_dump);
}

static int show_recovery(struct lx_daemon *d, const struct lx_control_show *req,
			 struct lx_dump **ret_dump)
{
	struct lx_recovery_info *list;
	size_t n;
	int err = lx_recovery_list(d->node, &list, &n);

	return err ? err
		   : lx_dump_new(&lx_control_recovery, req->level, list, n, sizeof(*list),
				 ret_dump);
}

static int show_faults(struct lx_daemon *d, const struct lx_control_show *req,
		       struct lx_dump **ret_dump)
{
	struct lx_fault_info *list;
	size_t n;
	int err = lx_fault_list(d->node, &list, &n);

	return err ? err
		   : lx_dump_new(&lx_control_faults, req->level, list, n, sizeof(*list), ret_dump);
}

/* ---- single values ----------------------------------------------------------------- */

static int show_routing(struct lx_daemon *d, const struct lx_control_show *req,
			struct lx_dump **ret_dump)
{
	struct lx_routing_info *info = calloc(1, sizeof(*info));

	if (!info)
		return -ENOMEM;
	lx_routing_get(d->node, info);
	return lx_dump_new(&lx_control_routing_info, req->level, info, info->pools, sizeof(*info),
			   ret_dump);
}

static int show_stats(struct lx_daemon *d, const struct lx_control_show *req,
		      struct lx_dump **ret_dump)
{
	struct lx_stats *stats = calloc(1, sizeof(*stats));

	if (!stats)
		return -ENOMEM;
	lx_stats_get(d->node, stats);
	return lx_dump_new(&lx_control_stats, req->level, stats, 1, sizeof(*stats), ret_dump);
}

static void fill_missing(const struct lx_daemon *d, char *buf, size_t size)
{
	struct lx_conf_error why;
	size_t used = 0;

	for (size_t i = 0; d->later && i < d->later->n_nis && used < size; i++) {
		if (lx_config_lacks(&d->later->ni[i], d->large, &why))
			used += snprintf(buf + used, size - used, "%s%s", used ? "; " : "",
					 why.text);
	}
}

static int show_status(struct lx_daemon *d, const struct lx_control_show *req,
		       struct lx_dump **ret_dump)
{
	struct lx_control_status *status = calloc(1, sizeof(*status));
	struct lx_clocks now = lx_clocks_now();

	if (!status)
		return -ENOMEM;
	*status = (struct lx_control_status){ .version = LX_VERSION,
					      .instance = d->instance,
					      .config = d->config_file,
					      .pid = getpid(),
					      .uptime_s = lx_clocks_passed_s(&d->started, &now),
					      .clock_jump_s = lx_clocks_jump_s(&d->started, &now),
					      .configured = d->node != NULL,
					      .clients = lx_server_clients(d->server) };
	lx_share_fill(status);
	fill_missing(d, status->missing, sizeof(status->missing));
	return lx_dump_new(&lx_control_statuses, req->level, status, 1, sizeof(*status), ret_dump);
}

/* ---- the reference's files ---------------------------------------------------------- */

/* Splits a text, at the ends of its lines. */
static int to_lines(char *text, struct lx_control_line **ret_line, size_t *ret_n)
{
	struct lx_control_line *line;
	size_t n = 0;
	char *save;

	for (const char *p = text; *p; p++)
		n += *p == '\n';
	line = calloc(n + 1, sizeof(*line));
	if (!line)
		return -ENOMEM;
	*ret_n = 0;
	for (char *p = strtok_r(text, "\n", &save); p; p = strtok_r(NULL, "\n", &save))
		snprintf(line[(*ret_n)++].text, sizeof(line->text), "%s", p);
	*ret_line = line;
	return 0;
}

static int show_columns(struct lx_daemon *d, const struct lx_control_show *req,
			struct lx_dump **ret_dump)
{
	struct lx_control_line *line;
	char *text LX_AUTO_FREE = NULL;
	size_t n;
	int err = lx_columns_text(d->node, req->name, &text);

	if (!err)
		err = to_lines(text, &line, &n);
	return err ? err
		   : lx_dump_new(&lx_control_columns, req->level, line, n, sizeof(*line), ret_dump);
}

/* ---- tunables ---------------------------------------------------------------------- */

/* The entry, with the strings it points to. */
struct tunable_row {
	struct lx_control_tunable t;
	char value[32], def[32], choices[96];
};

struct tunable_walk {
	const struct lx_control_show *req;
	struct tunable_row *row;
	size_t n;
	int err;
};

static void list_choices(const struct lx_tunable *t, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (int i = 0; t->names && t->names[i] && used < size; i++)
		used += snprintf(buf + used, size - used, "%s%s", i ? " " : "", t->names[i]);
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
	struct tunable_row *grown, *row;

	if ((w->req->module[0] && strcmp(w->req->module, module)) ||
	    (w->req->name[0] && strcmp(w->req->name, t->name)))
		return 0;
	grown = realloc(w->row, (w->n + 1) * sizeof(*grown));
	if (!grown) {
		w->err = -ENOMEM;
		return 1;
	}
	w->row = grown;
	row = &grown[w->n++];
	/* Names and help are in static tables; the rest is copied. */
	row->t = (struct lx_control_tunable){
		.module = module, .name = t->name, .help = t->help, .min = t->min, .max = t->max
	};
	snprintf(row->value, sizeof(row->value), "%s", value);
	format_default(t, row->def, sizeof(row->def));
	list_choices(t, row->choices, sizeof(row->choices));
	return 0;
}

static int show_tunables(struct lx_daemon *d, const struct lx_control_show *req,
			 struct lx_dump **ret_dump)
{
	struct tunable_walk w = { .req = req };

	lx_tunable_each(d->node, add_tunable, &w);
	if (w.err || !w.n) {
		free(w.row);
		return w.err ? w.err : -ENOENT;
	}
	for (size_t i = 0; i < w.n; i++) {
		w.row[i].t.value = w.row[i].value;
		w.row[i].t.def = w.row[i].def;
		w.row[i].t.choices = w.row[i].choices;
	}
	return lx_dump_new(&lx_control_tunables, req->level, w.row, w.n, sizeof(*w.row), ret_dump);
}

/* ---- dispatch -----------------------------------------------------------------------------------
 */

static const struct show {
	uint8_t command;
	const char *object;
	show_fn fn;
	enum { NOTHING, NODE, PROGRAMS } needs;
} shows[] = { { LX_CONTROL_NETS, "net", show_nets, NODE },
	      { LX_CONTROL_PEERS, "peer", show_peers, NODE },
	      { LX_CONTROL_ROUTES, "route", show_routes, NODE },
	      { LX_CONTROL_RECOVERY, "recovery", show_recovery, NODE },
	      { LX_CONTROL_UDSP, "udsp", show_udsps, NODE },
	      { LX_CONTROL_CONNS, "conn", show_conns, NODE },
	      { LX_CONTROL_FAULT, "fault", show_faults, NODE },
	      { LX_CONTROL_ROUTING, "routing", show_routing, NODE },
	      { LX_CONTROL_STATS, "statistics", show_stats, NODE },
	      { LX_CONTROL_TUNABLES, "tunable", show_tunables, NODE },
	      { LX_CONTROL_COLUMNS, "columns", show_columns, NODE },
	      { LX_CONTROL_STATUS, "daemon", show_status, NOTHING },
	      { LX_CONTROL_SELFTEST, "selftest", show_selftest, NOTHING },
	      { LX_CONTROL_BPF, "bpf", lx_programs_show_bpf, PROGRAMS },
	      { LX_CONTROL_GUARD, "guard", lx_programs_show_guard, PROGRAMS },
	      { LX_CONTROL_BANS, "ban", lx_programs_show_bans, PROGRAMS },
	      { LX_CONTROL_PREFIXES, "prefix", lx_programs_show_prefixes, PROGRAMS },
	      { LX_CONTROL_REFUSALS, "refusal", lx_programs_show_refusals, PROGRAMS },
	      { LX_CONTROL_STREAMS, "stream", lx_programs_show_streams, PROGRAMS },
	      { LX_CONTROL_LANES, "lane", lx_programs_show_lanes, PROGRAMS },
	      { 0, NULL, NULL, NOTHING } };

static void monitor(struct lx_client *c)
{
	int err = lx_monitor_join(c);

	if (err)
		lx_client_reply(c, err, "event", "%s", strerror(-err));
}

static void show(struct lx_client *c, const void *attrs, size_t len)
{
	struct lx_daemon *d = c->daemon;
	const struct show *s = shows;
	struct lx_control_show req;
	struct lx_dump *dump;
	char text[200];
	int err;

	while (s->object && s->command != c->command)
		s++;
	if (!s->object) {
		lx_client_reply(c, -EOPNOTSUPP, "control",
				"this lnetxd has nothing to show for command %u", c->command);
		return;
	}
	err = lx_schema_get(attrs, len, &lx_control_show_schema, &req, text, sizeof(text));
	if (!err && ((s->needs == NODE && !d->node) ||
		     (s->needs == PROGRAMS && !lx_programs_are_ready(d->programs))))
		err = lx_change_no_node(d, text, sizeof(text));
	if (!err) {
		err = s->fn(d, &req, &dump);
		if (err == -ENOENT && s->command == LX_CONTROL_TUNABLES)
			lx_edit_unknown_tunable(d->node, req.module, req.name, text, sizeof(text));
		else if (err)
			snprintf(text, sizeof(text), "%s%s%s",
				 is_any(&req.nid) ? "" : lx_nid_str(&req.nid),
				 is_any(&req.nid) ? "" : ": ", strerror(-err));
	}
	if (err)
		lx_client_reply(c, err, s->object, "%s", text);
	else
		lx_client_dump(c, dump);
}

void lx_command(struct lx_client *c, const void *attrs, size_t len)
{
	bool is_show = (c->flags & NLM_F_DUMP) == NLM_F_DUMP && c->command != LX_CONTROL_PING &&
		       c->command != LX_CONTROL_TRACE && c->command != LX_CONTROL_ASK;

	/* Probes make a node send messages and remember peers, traces slow it down: not read-only. */
	if (!is_show && !c->may_write)
		lx_client_reply(c, -EPERM, "control",
				"%s: user %ld may not do this; changes, probes and traces are for "
				"root",
				strerror(EPERM), c->uid);
	else if (c->command == LX_CONTROL_PING)
		lx_probe_request(c, attrs, len);
	else if (c->command == LX_CONTROL_ASK)
		lx_ask_request(c, attrs, len);
	else if (c->command == LX_CONTROL_TRACE)
		lx_trace_request(c, attrs, len);
	else if (c->command == LX_CONTROL_MONITOR && is_show)
		monitor(c);
	else if (is_show)
		show(c, attrs, len);
	else
		lx_change_request(c, attrs, len);
}
