/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx metrics": the state and counters of lnetxd for monitoring systems, in the text format of
 * Prometheus (0.0.4), which the textfile collector of node_exporter reads, or of OpenMetrics. A
 * user of liblnetxctl: each metric is a field of a row. docs/metrics.md explains them; its
 * table comes from those here.
 *
 * Metrics are gauges and counters only, and have no timestamps. So the formats agree, except on the
 * end, and on the name of a counter in comments: Prometheus wants that of its samples, and takes
 * the samples for untyped otherwise; OpenMetrics wants it without "_total", and refuses the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lnetx.h"
#include "metrics.h"

#define METRICS_MAX 32 /* of an object */
#define ROWS "#" /* a path: how many rows there are */

/* clang-format off */

#define GAUGE(name, help, path) { name, help, LX_GAUGE, path, NULL, NULL }
#define COUNTER(name, help, path) { name, help, LX_COUNTER, path, NULL, NULL }

const struct lx_metric lx_metrics_always[] = {
	GAUGE("lnetx_up", "whether lnetxd answers", NULL),
	GAUGE("lnetx_version_mismatch",
		"whether lnetxd and lnetx speak other versions of the control protocol", NULL),
	{ 0 }
};

static const struct lx_metric daemon_metrics[] = {
	GAUGE("lnetx_build_info", "version of lnetxd, as a label", NULL),
	{ 0 }
};

static const struct lx_metric state_metrics[] = {
	GAUGE("lnetx_configured", "whether LNet is started", "configured"),
	GAUGE("lnetx_uptime_seconds", "time since lnetxd started", "uptime_s"),
	COUNTER("lnetx_cpu_milliseconds", "CPU time of lnetxd", "cpu_ms"),
	COUNTER("lnetx_cpu_waited_milliseconds",
		"time that its threads were ready and waited for a CPU", "waited_ms"),
	COUNTER("lnetx_interrupts_milliseconds", "interrupts and softirqs of all CPUs",
		"interrupts_ms"),
	{ 0 }
};

#define FAILURES(status) \
	{ "lnetx_failures", "messages that failed, by health status", LX_COUNTER, status "_count", \
	  "status=\"" status "\"", NULL }
static const struct lx_metric stats_metrics[] = {
	GAUGE("lnetx_messages", "messages in progress", "msgs_alloc"),
	GAUGE("lnetx_messages_max", "most messages that were in progress at a time", "msgs_max"),
	GAUGE("lnetx_responses_awaited", "answers that are waited for", "rst_alloc"),
	COUNTER("lnetx_errors", "errors", "errors"),
	COUNTER("lnetx_sent_messages", "messages sent", "send_count"),
	COUNTER("lnetx_received_messages", "messages received", "recv_count"),
	COUNTER("lnetx_routed_messages", "messages forwarded", "route_count"),
	COUNTER("lnetx_dropped_messages", "messages dropped", "drop_count"),
	COUNTER("lnetx_sent_bytes", "payload sent", "send_length"),
	COUNTER("lnetx_received_bytes", "payload received", "recv_length"),
	COUNTER("lnetx_routed_bytes", "payload forwarded", "route_length"),
	COUNTER("lnetx_dropped_bytes", "payload dropped", "drop_length"),
	COUNTER("lnetx_resent_messages", "messages sent again", "resend_count"),
	COUNTER("lnetx_successful_resends", "messages that got through when sent again",
		"successful_resends"),
	COUNTER("lnetx_failed_resends", "messages that did not", "failed_resends"),
	COUNTER("lnetx_response_timeouts", "answers that did not come in time",
		"response_timeout_count"),
	GAUGE("lnetx_answer_bytes", "memory of answers that are not sent yet", "answer_bytes"),
	COUNTER("lnetx_answer_waits", "requests that waited until answers before them were sent",
		"answer_waits"),
	FAILURES("local_interrupt"),
	FAILURES("local_dropped"),
	FAILURES("local_aborted"),
	FAILURES("local_no_route"),
	FAILURES("local_timeout"),
	FAILURES("local_error"),
	FAILURES("remote_dropped"),
	FAILURES("remote_error"),
	FAILURES("remote_timeout"),
	FAILURES("network_timeout"),
	{ "lnetx_drops", "messages dropped, by reason", LX_COUNTER, "drops", NULL, "reason" },
	{ 0 }
};

static const struct lx_metric ni_metrics[] = {
	GAUGE("lnetx_ni_up", "whether the NI is up", "status"),
	GAUGE("lnetx_ni_health", "health of the NI, 0 to 1000", "health_stats.health_value"),
	COUNTER("lnetx_ni_sent_messages", "messages sent by the NI", "statistics.send_count"),
	COUNTER("lnetx_ni_received_messages", "messages received by the NI",
		"statistics.recv_count"),
	COUNTER("lnetx_ni_dropped_messages", "messages dropped by the NI",
		"statistics.drop_count"),
	GAUGE("lnetx_ni_tx_credits", "messages that the NI may send now; negative: those waiting",
		"tx_credits"),
	GAUGE("lnetx_ni_tx_credits_min", "their lowest number so far", "tx_credits_min"),
	GAUGE("lnetx_ni_peers", "peer NIs on its net", "peers"),
	GAUGE("lnetx_ni_connections", "connections of the NI", "conns"),
	COUNTER("lnetx_ni_tcp_sent_bytes",
		"what the NI's sockets sent, without what the programs forward",
		"statistics.tcp_sent_bytes"),
	COUNTER("lnetx_ni_tcp_resent_bytes", "of that, sent again, as it seemed lost",
		"statistics.tcp_resent_bytes"),
	{ 0 }
};

static const struct lx_metric route_metrics[] = {
	GAUGE("lnetx_route_up", "whether the route is up", "state"),
	{ 0 }
};

#define POOL(name, help, path, pool) \
	{ name, help, LX_GAUGE, pool "." path, "pool=\"" pool "\"", NULL }
#define POOLS(name, help, path) \
	POOL(name, help, path, "tiny"), POOL(name, help, path, "small"), \
	POOL(name, help, path, "large")
static const struct lx_metric routing_metrics[] = {
	GAUGE("lnetx_routing_enabled", "whether routing is switched on", "enable"),
	POOLS("lnetx_router_buffers", "router buffers", "nbuffers"),
	POOLS("lnetx_router_buffer_credits",
	  "buffers that are free; negative: messages that wait for one", "credits"),
	POOLS("lnetx_router_buffer_credits_min", "their lowest number so far", "mincredits"),
	{ 0 }
};

static const struct lx_metric bpf_metrics[] = {
	GAUGE("lnetx_fastpath_tx_dropped_packets",
		"packets that interfaces of the fast path dropped on the way out", "tx_dropped"),
	GAUGE("lnetx_bpf_missing_programs",
		"places at interfaces without the program that belongs there, or with another "
		"one in front of it", "missing"),
	COUNTER("lnetx_bpf_removed",
		"programs, pins and interfaces of lnetxd that others removed, or put "
		"theirs in front of", "removed"),
	COUNTER("lnetx_fastpath_stores",
		"times that a next hop did not take what was under way, and lnetxd stored that",
		"stores"),
	COUNTER("lnetx_fastpath_stuck",
		"lanes whose socket got nowhere, though the next hop answered; they are closed",
		"stuck"),
	COUNTER("lnetx_fastpath_unpassed",
		"segments that sockets of streams and lanes did not take, as they had come past "
		"the programs", "unpassed"),
	COUNTER("lnetx_fastpath_stored_bytes", "what lnetxd stored then", "stored_bytes"),
	{ 0 }
};

static const struct lx_metric hook_metrics[] = {
	GAUGE("lnetx_bpf_hook_removed",
		"the same of one place, in the last ten minutes, with the program that was in "
		"front; none while there was nothing", "removed"),
	{ 0 }
};

static const struct lx_metric fault_metrics[] = {
	GAUGE("lnetx_fault_rules", "active rules of fault injection", ROWS),
	{ 0 }
};

static const struct lx_metric peer_metrics[] = {
	GAUGE("lnetx_peer_up", "whether the peer NI is up, as far as known", "state"),
	GAUGE("lnetx_peer_health", "health of the peer NI, 0 to 1000",
		"health_stats.health_value"),
	COUNTER("lnetx_peer_sent_messages", "messages sent to the peer NI",
		"statistics.send_count"),
	COUNTER("lnetx_peer_received_messages", "messages received from it",
		"statistics.recv_count"),
	COUNTER("lnetx_peer_dropped_messages", "messages to or from it that were dropped",
		"statistics.drop_count"),
	GAUGE("lnetx_peer_tx_credits",
		"messages that may be sent to it now; negative: those waiting",
		"available_tx_credits"),
	GAUGE("lnetx_peer_tx_credits_min", "their lowest number so far", "min_tx_credits"),
	GAUGE("lnetx_peer_tx_queued_bytes", "payload that waits for it", "tx_q_num_of_buf"),
	GAUGE("lnetx_peer_tx_oldest_milliseconds",
		"how long the oldest message to it has waited for a credit", "tx_oldest_ms"),
	COUNTER("lnetx_peer_tcp_sent_bytes",
		"what sockets sent to it, without what the programs forward",
		"statistics.tcp_sent_bytes"),
	COUNTER("lnetx_peer_tcp_resent_bytes", "of that, sent again, as it seemed lost",
		"statistics.tcp_resent_bytes"),
	{ 0 }
};

const struct lx_metric_source lx_metric_sources[] = {
	{ LX_CTL_DAEMON, false, false, { { "version", "version" } }, NULL, daemon_metrics },
	{ LX_CTL_DAEMON, .metric = state_metrics },
	{ LX_CTL_STATS, .configured = true, .metric = stats_metrics },
	{ LX_CTL_NET, false, true, { { "nid", "nid" }, { "net", "net_type" }, { "interface",
	  "interfaces.0" } }, NULL, ni_metrics },
	{ LX_CTL_ROUTE, false, true, { { "net", "net" }, { "gateway", "gateway" } },
	  NULL, route_metrics },
	{ LX_CTL_ROUTING, .configured = true, .metric = routing_metrics },
	{ LX_CTL_BPF, .configured = true, .metric = bpf_metrics },
	{ LX_CTL_BPF, false, true, { { "set", "set" }, { "interface", "interface" },
	  { "hook", "hook" }, { "front", "front" } }, "hooks", hook_metrics },
	{ LX_CTL_FAULT, .configured = true, .metric = fault_metrics },
	{ LX_CTL_PEER, true, true, { { "nid", "nid" }, { "primary_nid", "primary_nid" } },
	  NULL, peer_metrics },
	{ 0 }
};

/* clang-format on */

/* ---- samples ----------------------------------------------------------------------- */

/* Rows come one by one, and metrics are printed one by one: each collects its samples. */
struct samples {
	char *text;
	size_t size;
	FILE *file;
};

/* Quotes, backslashes and newlines are escaped. */
static void print_label(FILE *f, const char **sep, const char *name, const char *value)
{
	fprintf(f, "%s%s=\"", *sep, name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", f);
		else
			fprintf(f, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
	}
	putc('"', f);
	*sep = ",";
}

static const char *total(enum lx_metric_kind kind)
{
	return kind == LX_COUNTER ? "_total" : "";
}

static void add_sample(FILE *f, const struct lx_metric_source *src, const struct lx_metric *m,
		       const struct lx_ctl_row *row, const char *key, int64_t value)
{
	const char *sep = "{", *text;

	fprintf(f, "%s%s", m->name, total(m->kind));
	for (const struct lx_metric_label *l = src->label; l->name; l++) {
		text = lx_ctl_text(row, l->path);
		print_label(f, &sep, l->name, text ? text : "");
	}
	if (m->label) {
		fprintf(f, "%s%s", sep, m->label);
		sep = ",";
	}
	if (key)
		print_label(f, &sep, m->each, key);
	fprintf(f, "%s %" PRId64 "\n", *sep == ',' ? "}" : "", value);
}

static bool is_count(const struct lx_metric *m)
{
	return m->path && !strcmp(m->path, ROWS);
}

static void add_value(FILE *f, const struct lx_metric_source *src, const struct lx_metric *m,
		      const struct lx_ctl_row *row)
{
	struct lx_ctl_value value = { .type = LX_CTL_NONE }, one;

	if (!m->path) {
		add_sample(f, src, m, row, NULL, 1);
		return;
	}
	if (is_count(m))
		return;
	if (lx_ctl_get(row, m->path, &value))
		return;
	if (m->each) {
		memset(&one, 0, sizeof(one));
		while (lx_ctl_each(&value.inside, &one))
			add_sample(f, src, m, row, one.key, one.number);
	} else if (value.type == LX_CTL_TEXT) {
		/* Of most peers nothing is known ("NA"). */
		if (!strcmp(value.text, "up") || !strcmp(value.text, "down"))
			add_sample(f, src, m, row, NULL, !strcmp(value.text, "up"));
	} else {
		add_sample(f, src, m, row, NULL, value.number);
	}
}

/* The form that is asked for, and where it goes. */
struct output {
	FILE *file;
	bool peers, openmetrics;
};

/* ---- an object --------------------------------------------------------------------- */

static int open_all(const struct lx_metric_source *src, struct samples *s)
{
	for (size_t i = 0; src->metric[i].name; i++) {
		s[i].file = open_memstream(&s[i].text, &s[i].size);
		if (!s[i].file)
			return -ENOMEM;
	}
	return 0;
}

static void close_all(struct samples *s)
{
	for (size_t i = 0; i < METRICS_MAX; i++) {
		if (s[i].file)
			fclose(s[i].file);
		s[i].file = NULL;
	}
}

static void print_head(FILE *out, const struct lx_metric *m, bool openmetrics)
{
	const char *suffix = openmetrics ? "" : total(m->kind);

	fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", m->name, suffix, m->help, m->name, suffix,
		m->kind == LX_COUNTER ? "counter" : "gauge");
}

static void print_metrics(const struct output *out, const struct lx_metric_source *src,
			  const struct samples *s)
{
	const char *last = "";

	for (size_t i = 0; src->metric[i].name; i++) {
		const struct lx_metric *m = &src->metric[i];

		if (!s[i].size)
			continue;
		if (strcmp(m->name, last))
			print_head(out->file, m, out->openmetrics);
		last = m->name;
		fputs(s[i].text, out->file);
	}
}

/* 0@lo is always up, and its messages count as the node's. */
static bool is_loopback(const struct lx_ctl_row *row)
{
	const char *nid = lx_ctl_text(row, "nid");

	return nid && !strcmp(nid, "0@lo");
}

static void add_row(const struct lx_metric_source *src, const struct samples *s,
		    const struct lx_ctl_row *row)
{
	for (size_t i = 0; src->metric[i].name; i++)
		add_value(s[i].file, src, &src->metric[i], row);
}

static void add_list(const struct lx_metric_source *src, const struct samples *s,
		     const struct lx_ctl_row *row)
{
	struct lx_ctl_value list, element = { .type = LX_CTL_NONE };

	if (lx_ctl_get(row, src->list, &list))
		return;
	while (lx_ctl_each(&list.inside, &element))
		add_row(src, s, &element.inside);
}

static int read_rows(struct lx_ctl *ctl, const struct lx_metric_source *src,
		     const struct samples *s)
{
	struct lx_ctl_row row;
	int64_t n = 0;
	int more = lx_ctl_start(ctl, LX_CTL_SHOW, src->object, NULL);

	if (more)
		return more;
	while ((more = lx_ctl_next(ctl, &row)) == 1) {
		if (is_loopback(&row))
			continue;
		(src->list ? add_list : add_row)(src, s, &row);
		n++;
	}
	for (size_t i = 0; src->metric[i].name; i++) {
		if (is_count(&src->metric[i]))
			add_sample(s[i].file, src, &src->metric[i], NULL, NULL, n);
	}
	return more;
}

static int collect(struct lx_ctl *ctl, const struct lx_metric_source *src, const struct output *out)
{
	struct samples s[METRICS_MAX] = { 0 };
	int err = open_all(src, s);

	if (!err)
		err = read_rows(ctl, src, s);
	close_all(s);
	if (!err)
		print_metrics(out, src, s);
	for (size_t i = 0; i < METRICS_MAX; i++)
		free(s[i].text);
	return err;
}

static int is_configured(struct lx_ctl *ctl, bool *ret_configured)
{
	struct lx_ctl_row row;
	int more = lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_DAEMON, NULL);

	if (!more)
		more = lx_ctl_next(ctl, &row);
	*ret_configured = more == 1 && lx_ctl_int(&row, "configured", 0);
	return more < 0 ? more : 0;
}

static int collect_all(struct lx_ctl *ctl, const struct output *out)
{
	bool configured;
	int err = is_configured(ctl, &configured);

	for (const struct lx_metric_source *src = lx_metric_sources; !err && src->metric; src++) {
		if ((out->peers || !src->peers) && (configured || !src->configured))
			err = collect(ctl, src, out);
	}
	return err;
}

/* ---- the command ------------------------------------------------------------------- */

static void add_gauge(FILE *f, const struct lx_metric *m, int64_t value)
{
	print_head(f, m, false);
	fprintf(f, "%s %" PRId64 "\n", m->name, value);
}

/* Without an answer nothing is known of the node: old values would look healthy. */
static int collect_text(struct lx_ctl *ctl, const struct output *out)
{
	char *text = NULL;
	size_t size;
	struct output all = *out;
	int err;

	all.file = open_memstream(&text, &size);
	if (!all.file)
		return -ENOMEM;
	err = collect_all(ctl, &all);
	fclose(all.file);
	add_gauge(out->file, &lx_metrics_always[0], !err);
	if (!err || err == -EPROTONOSUPPORT)
		add_gauge(out->file, &lx_metrics_always[1], err == -EPROTONOSUPPORT);
	if (!err)
		fputs(text, out->file);
	if (out->openmetrics)
		fputs("# EOF\n", out->file);
	free(text);
	return err;
}

int lx_metrics_text(struct lx_session *s, bool peers, bool openmetrics, char **ret_text)
{
	struct output out = { .peers = peers, .openmetrics = openmetrics };
	struct lx_ctl *ctl;
	size_t size;
	int err;

	*ret_text = NULL;
	err = lx_session_ctl_new(s->instance, &ctl);
	if (err)
		return lx_session_fail(s, err, "out of memory");
	out.file = open_memstream(ret_text, &size);
	err = out.file ? collect_text(ctl, &out) : -ENOMEM;
	if (out.file)
		fclose(out.file);
	if (err)
		lx_session_fail(s, err, "%s",
				*lx_ctl_why(ctl)->text ? lx_ctl_why(ctl)->text : strerror(-err));
	lx_ctl_free(ctl);
	return err;
}

static int metrics(struct lx_session *s, const struct lx_args *a)
{
	char *text;
	int err = lx_metrics_text(s, a->v[LX_ARG_PEER], a->v[LX_ARG_OPENMETRICS], &text);

	if (!lx_lnetx_as_tree())
		fputs(text ? text : "", stdout);
	else if (!err)
		lx_lnetx_print("metrics", json_string(text));
	free(text);
	return err;
}

/* clang-format off */
static const struct lx_keyword metrics_keywords[] = {
	{ "peers", LX_ARG_PEER, NULL }, { "openmetrics", LX_ARG_OPENMETRICS, NULL },
	{ 0 }
};
const struct lx_command lx_metrics_commands[] = {
	{ "metrics", metrics, metrics_keywords,
	  .help =
	  "state and counters for Prometheus and node_exporter; \"peers\": of each peer, too; "
	  "\"openmetrics\": in that format" },
	{ 0 }
};
/* clang-format on */
