/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx fabric": checks all paths to other nodes. Table: lnetx_cmds.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/selftest/wire.h"
#include "../common/json.h"
#include "../common/requests.h"
#include "fabric.h"
#include "fabric_load.h"
#include "interrupt.h"
#include "lnetx.h"
#include "matrix.h"
#include "selftest_run.h"

#define SMALL 8 /* nodes whose bandwidths are shown as figures */
#define MIB (1024.0 * 1024.0)

/* The report. */
struct result {
	struct lx_fabric *f;
	struct lx_fabric_load *load; /* NULL: not asked for */
	json_t *faults;
};

/* ---- progress, and its end ------------------------------------------------------------------ */

static bool progress(const char *what, size_t done, size_t all)
{
	if (what && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s: %zu of %zu", what, done, all);
	return lx_interrupt_came();
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- as a matrix ---------------------------------------------------------------------------- */

static bool fill_matrix(const struct lx_fabric *f, struct lx_matrix *m)
{
	for (size_t i = 0; i < f->n_rails; i++) {
		const struct lx_rail *rail = &f->rail[i];

		if (lx_matrix_row(m, lx_nid_str(&rail->peer)) < 0 ||
		    (!lx_nid_is_any(&rail->own) &&
		     lx_matrix_column(m, lx_nid_str(&rail->own)) < 0))
			return false;
	}
	for (size_t i = 0; i < f->n_rails; i++) {
		const struct lx_rail *rail = &f->rail[i];
		int row = lx_matrix_row(m, lx_nid_str(&rail->peer));
		struct lx_matrix_cell *cell;

		/* A node that cannot be reached is lost to all NIs. */
		for (size_t c = 0; c < m->n_columns && lx_nid_is_any(&rail->own); c++)
			lx_matrix_at(m, row, c)->lost = true;
		if (lx_nid_is_any(&rail->own))
			continue;
		cell = lx_matrix_at(m, row, lx_matrix_column(m, lx_nid_str(&rail->own)));
		cell->value = rail->answered ? lx_rail_median(rail) / 1000.0 : -1;
		cell->lost = !rail->answered;
		cell->bad = rail->fault != LX_RAIL_WELL;
	}
	return true;
}

static bool fill_bandwidths(const struct lx_bandwidth *b, struct lx_matrix *m)
{
	for (size_t i = 0; i < b->n; i++) {
		if (lx_matrix_row(m, lx_nid_str(&b->node[i].nid)) < 0 ||
		    lx_matrix_column(m, lx_nid_str(&b->node[i].nid)) < 0)
			return false;
	}
	for (size_t from = 0; from < b->n; from++) {
		for (size_t to = 0; to < b->n; to++) {
			const struct lx_bandwidth_cell *from_to = lx_bandwidth_at(b, from, to);
			struct lx_matrix_cell *cell = lx_matrix_at(m, from, to);

			cell->lost = from_to->state == LX_BANDWIDTH_FAILED;
			cell->bad = from_to->state == LX_BANDWIDTH_LOW;
			if (cell->bad || from_to->state == LX_BANDWIDTH_WELL)
				cell->value = from_to->rate / MIB;
		}
	}
	m->compact = b->n > SMALL;
	return true;
}

static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (int i = 0; i < 3; i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strstr(value, "UTF-8") || strstr(value, "utf8");
	}
	return false;
}

static int write_svg(struct lx_session *s, const struct lx_matrix *m, size_t n, const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return lx_session_fail(s, -errno, "%s: %s", path, strerror(errno));
	lx_matrix_svg(out, m, n);
	if (fflush(out) || ferror(out)) {
		fclose(out);
		return lx_session_fail(s, -EIO, "%s: cannot be written", path);
	}
	fclose(out);
	return 0;
}

/* ---- as JSON -------------------------------------------------------------------------------- */

static json_t *gateways_json(const struct lx_rail *rail)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < rail->n_gateways; i++)
		json_array_append_new(list, json_string(lx_nid_str(&rail->gateway[i])));
	return list;
}

static json_t *rtt_json(const struct lx_rail *rail)
{
	uint32_t least = rail->rtt_us[0], most = least;

	for (unsigned int i = 1; i < rail->answered; i++) {
		least = rail->rtt_us[i] < least ? rail->rtt_us[i] : least;
		most = rail->rtt_us[i] > most ? rail->rtt_us[i] : most;
	}
	return json_pack("{sI, sI, sI}", "min", (json_int_t)least, "median",
			 (json_int_t)lx_rail_median(rail), "max", (json_int_t)most);
}

static json_t *rail_json(const struct lx_rail *rail)
{
	json_t *row = json_pack("{ss, ss, so, si, si, ss}", "peer", lx_nid_str(&rail->peer),
				"primary_nid", lx_nid_str(&rail->primary), "gateways",
				gateways_json(rail), "sent", (int)rail->sent, "answered",
				(int)rail->answered, "state", lx_rail_fault_name(rail->fault));

	if (!lx_nid_is_any(&rail->own))
		json_object_set_new(row, "source", json_string(lx_nid_str(&rail->own)));
	if (rail->answered)
		json_object_set_new(row, "rtt_us", rtt_json(rail));
	if (!lx_nid_is_any(&rail->answers_by))
		json_object_set_new(row, "answers_by", json_string(lx_nid_str(&rail->answers_by)));
	json_object_set_new(row, "measured", json_integer(rail->measured));
	if (rail->passed) {
		json_object_set_new(row, "mtu", json_integer(rail->mtu));
		json_object_set_new(row, "mtu_passed", json_integer(rail->passed));
	}
	return row;
}

static json_t *node_json(const struct lx_bandwidth_node *node)
{
	json_t *row = json_pack(
		"{ss, sf, sf, ss}", "nid", lx_nid_str(&node->nid), "sends_bytes_per_s",
		node->best[LX_BANDWIDTH_SENDS], "receives_bytes_per_s",
		node->best[LX_BANDWIDTH_RECEIVES], "state",
		node->low[LX_BANDWIDTH_SENDS] || node->low[LX_BANDWIDTH_RECEIVES] ? "low" : "well");

	if (node->rails[0])
		json_object_set_new(row, "rails", json_string(node->rails));
	return row;
}

static json_t *pairs_json(const struct lx_bandwidth *b)
{
	json_t *pairs = json_array();

	for (size_t from = 0; from < b->n; from++) {
		for (size_t to = 0; to < b->n; to++) {
			const struct lx_bandwidth_cell *cell = lx_bandwidth_at(b, from, to);

			if (cell->state == LX_BANDWIDTH_NONE)
				continue;
			json_array_append_new(
				pairs, json_pack("{ss, ss, sf, si, ss}", "from",
						 lx_nid_str(&b->node[from].nid), "to",
						 lx_nid_str(&b->node[to].nid), "bytes_per_s",
						 cell->rate, "errors", (int)cell->errors, "state",
						 lx_bandwidth_state_name(cell->state)));
		}
	}
	return pairs;
}

/* Nodes without an answer, and others, by the same keys. */
static json_t *left_out_json(const struct lx_fabric_load *load)
{
	json_t *list = json_deep_copy(load->left_out), *nid;
	size_t i;

	json_array_foreach (load->silent, i, nid)
		json_array_append_new(list, json_pack("{sO, ss}", "nid", nid, "reason",
						      "its selftest does not answer"));
	return list;
}

static json_t *bandwidth_json(const struct lx_fabric_load *load)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < load->b.n; i++)
		json_array_append_new(nodes, node_json(&load->b.node[i]));
	return json_pack("{sI, si, so, so, so}", "size", (json_int_t)load->size, "concurrency",
			 (int)load->concurrency, "nodes", nodes, "pairs", pairs_json(&load->b),
			 "left_out", left_out_json(load));
}

static void print_tree(const struct result *r)
{
	const struct lx_fabric *f = r->f;
	json_t *rails = json_array(), *map;

	for (size_t i = 0; i < f->n_rails; i++)
		json_array_append_new(rails, rail_json(&f->rail[i]));
	map = json_pack("{sb, sb, so, sO}", "healthy", !json_array_size(r->faults) && !f->stopped,
			"complete", !f->stopped, "rails", rails, "faults", r->faults);
	json_object_set(map, "silent", f->silent);
	if (r->load)
		json_object_set_new(map, "bandwidth", bandwidth_json(r->load));
	lx_lnetx_print("fabric", map);
}

/* ---- as text -------------------------------------------------------------------------------- */

static void print_mtu(const struct lx_fabric *f)
{
	size_t probed = 0, silent = 0, routed = 0;

	for (size_t i = 0; i < f->n_rails; i++) {
		probed += f->rail[i].passed > 0;
		silent += f->rail[i].mtu && !f->rail[i].passed;
		routed += f->rail[i].answered && f->rail[i].n_gateways;
	}
	if (probed)
		printf("MTU: probed on %zu rail%s\n", probed, probed > 1 ? "s" : "");
	if (silent)
		printf("MTU: not known on %zu rail%s: no answer to ICMP echo requests\n", silent,
		       silent > 1 ? "s" : "");
	/* Of LNet's messages only those of a selftest are large. */
	if (routed)
		printf("MTU: not known behind gateways, on %zu rail%s; next, on a gateway: lnetx "
		       "fabric check\n",
		       routed, routed > 1 ? "s" : "");
}

/* "NID, NID and N more" */
static void print_some(const json_t *nids)
{
	size_t i, n = json_array_size(nids), shown = n > SMALL ? SMALL : n;

	for (i = 0; i < shown; i++)
		printf("%s%s", i ? ", " : "", json_string_value(json_array_get(nids, i)));
	if (shown < n)
		printf(" and %zu more", n - shown);
}

/* Why there are fewer bandwidths than pairs of nodes. That is no fault. */
static void print_left_out(const struct lx_fabric_load *load)
{
	json_t *row;
	size_t i;

	if (json_array_size(load->silent)) {
		fputs("bandwidth: no selftest answers on ", stdout);
		print_some(load->silent);
		printf("; next, there: lnetx selftest on consoles %s (Lustre: modprobe "
		       "lnet_selftest)\n",
		       lx_nid_str(&load->console));
	}
	json_array_foreach (load->left_out, i, row)
		printf("bandwidth: %s %s\n", json_string_value(json_object_get(row, "nid")),
		       json_string_value(json_object_get(row, "reason")));
	if (load->pairs < load->all_pairs)
		printf("bandwidth: %zu of %zu pairs measured\n", load->pairs, load->all_pairs);
}

/* Lustre allows it, unless drop_asym_route says otherwise; but half of a way is then unwatched. */
static void print_asymmetric(const struct lx_fabric *f)
{
	for (size_t i = 0; i < f->n_rails; i++) {
		const struct lx_rail *rail = &f->rail[i];

		if (lx_nid_is_any(&rail->answers_by))
			continue;
		printf("asymmetric: %s from %s: pings go by %s%s, answers come by %s; next, there: "
		       "lnetx route show\n",
		       lx_nid_str(&rail->peer), lx_nid_str(&rail->own),
		       lx_nid_str(&rail->gateway[0]), rail->n_gateways > 1 ? " and others" : "",
		       lx_nid_str(&rail->answers_by));
	}
}

/* Nodes that never answered, apart: they may be long gone, or not there yet. */
static void print_silent(const struct lx_fabric *f)
{
	json_t *row;
	size_t i;

	json_array_foreach (f->silent, i, row)
		printf("silent: %s: nothing has come from it since lnetxd started: %s\n",
		       json_string_value(json_object_get(row, "nid")),
		       json_string_value(json_object_get(row, "reason")));
}

static void print_end(const struct lx_fabric *f, size_t n)
{
	if (f->stopped)
		printf("interrupted after %zu rails of %zu nodes\n", f->n_rails, f->n_nodes);
	else if (!f->n_nodes)
		puts("nothing to check: this node knows no peers; give their NIDs");
	else if (n)
		printf("not healthy: %zu fault%s on %zu rails of %zu nodes\n", n, n > 1 ? "s" : "",
		       f->n_rails, f->n_nodes);
	else
		printf("healthy: %zu rails of %zu nodes\n", f->n_rails, f->n_nodes);
}

/* @m: latencies, bandwidths */
static void print_text(const struct result *r, const struct lx_matrix m[2])
{
	json_t *fault;
	size_t i;

	for (i = 0; i < 2; i++) {
		if (m[i].n_columns > i) /* one node alone is no matrix of nodes */
			lx_matrix_draw(stdout, &m[i], is_utf8());
	}
	print_mtu(r->f);
	if (r->load)
		print_left_out(r->load);
	json_array_foreach (r->faults, i, fault)
		printf("fault: %s\n", json_string_value(json_object_get(fault, "text")));
	print_asymmetric(r->f);
	print_silent(r->f);
	print_end(r->f, json_array_size(r->faults));
}

/* ---- the command ---------------------------------------------------------------------------- */

static void add_text(json_t *fault)
{
	json_object_set_new(fault, "text",
			    json_sprintf("%s: %s",
					 json_string_value(json_object_get(fault, "nid")),
					 json_string_value(json_object_get(fault, "reason"))));
}

static void add_low(const struct lx_nid *nid, const char *reason, const char *text, void *list)
{
	json_array_append_new(list, json_pack("{ss, ss, ss}", "nid", lx_nid_str(nid), "reason",
					      reason, "text", text));
}

/* All faults: NIs and routes first. */
static json_t *list_faults(const struct lx_fabric *f, const struct lx_fabric_load *load)
{
	json_t *list = json_deep_copy(f->faults), *fault;
	char text[1200];
	size_t i;

	json_array_foreach (list, i, fault)
		add_text(fault);
	for (i = 0; i < f->n_rails; i++) {
		if (f->rail[i].fault == LX_RAIL_WELL)
			continue;
		lx_rail_explain(&f->rail[i], f->rail, f->n_rails, text, sizeof(text));
		json_array_append_new(list, json_pack("{ss, ss, ss}", "nid",
						      lx_nid_str(&f->rail[i].peer), "reason",
						      lx_rail_fault_name(f->rail[i].fault), "text",
						      text));
	}
	if (load)
		lx_bandwidth_explain(&load->b, add_low, list);
	return list;
}

static int report(struct lx_session *s, const struct lx_args *a, struct lx_fabric *f,
		  struct lx_fabric_load *load)
{
	char title[100];
	struct lx_matrix m[2] = {
		{ .title = title, .decimals = 3 },
		{ .title = "bandwidth in MiB/s; from each node (row) to each node",
		  .decimals = 1,
		  .higher_is_better = true },
	};
	struct result result = { f, load, list_faults(f, load) };
	int r = f->stopped			 ? LX_EXIT_INTERRUPTED
		: json_array_size(result.faults) ? LX_EXIT_UNHEALTHY
						 : 0;

	snprintf(title, sizeof(title), "latency in ms, median of %u pings; peers' NIs by own NIs",
		 f->count);
	if (!fill_matrix(f, &m[0]) || (load && !fill_bandwidths(&load->b, &m[1])))
		r = lx_session_fail(s, -ENOMEM, "out of memory");
	if (r >= 0 && lx_lnetx_as_tree())
		print_tree(&result);
	else if (r >= 0)
		print_text(&result, m);
	if (r >= 0 && a->v[LX_ARG_SVG] &&
	    write_svg(s, m, m[1].n_columns > 1 ? 2 : 1, a->v[LX_ARG_SVG]))
		r = s->error;
	json_decref(result.faults);
	lx_matrix_free(&m[0]);
	lx_matrix_free(&m[1]);
	return r;
}

static int measure(struct lx_fabric *f, int64_t slow)
{
	if (!f->stopped)
		return lx_fabric_ping(f, slow == LX_UNSET ? 4 : slow);
	f->n_rails = 0; /* none was pinged */
	return 0;
}

/*
 * Nodes cannot be asked whether they have a selftest: one that has none drops the request, and
 * counts it (no_match). So nobody gets one unless the user says so, or uses the selftest here.
 */
static int wants_load(struct lx_session *s, const char *word, bool *ret_on)
{
	json_t *row;
	int err;

	*ret_on = word && !strcmp(word, "on");
	if (word)
		return 0;
	err = lx_request_first(s, LX_CTL_SELFTEST, NULL, LX_LEVEL_OWN, &row);
	if (err)
		return err;
	*ret_on = lx_json_int(row, "enable") == 1;
	json_decref(row);
	return 0;
}

static int parse_load(struct lx_session *s, const struct lx_args *a,
		      struct lx_fabric_load *ret_load, int64_t *ret_low)
{
	int64_t concurrency, pairs, ms;
	const char *on = a->v[LX_ARG_BANDWIDTH];
	int err;

	if (on && strcmp(on, "on") && strcmp(on, "off"))
		return lx_session_fail(s, -EINVAL, "bandwidth \"%s\": on or off is expected", on);
	/* For each direction of a pair. */
	err = lx_arg_time(s, a, LX_ARG_TIME, "time", 1000, 10000, &ms);
	if (!err)
		err = lx_selftest_parse_size(s, a->v[LX_ARG_SIZE] ? a->v[LX_ARG_SIZE] : "1m",
					     &ret_load->size);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_CONCURRENCY, "concurrency", 1, LX_LST_CONCURRENCY_MAX,
				 &concurrency);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_PAIRS, "pairs", 1, 1000000, &pairs);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_LOW, "low", 1, 99, ret_low);
	if (err)
		return err;
	ret_load->ms = ms == LX_UNSET ? 1000 : ms;
	ret_load->concurrency = concurrency == LX_UNSET ? 8 : concurrency;
	ret_load->max_pairs = pairs == LX_UNSET ? 256 : pairs;
	return 0;
}

static int check(struct lx_session *s, const struct lx_args *a)
{
	struct lx_fabric f = { .session = s, .progress = progress };
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	struct lx_fabric_load load = { 0 };
	int64_t count, timeout, slow, low;
	bool loads = false;
	size_t n = 0;
	int err;

	err = lx_arg_int(s, a, LX_ARG_COUNT, "count", 1, LX_RAIL_PINGS_MAX, &count);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_TIMEOUT, "timeout", 1, 3600, &timeout);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_SLOW, "slow", 2, 1000000, &slow);
	if (!err)
		err = parse_load(s, a, &load, &low);
	if (!err)
		err = lx_args_nids(s, a, "NID", &nids, &n);
	if (!err)
		err = wants_load(s, a->v[LX_ARG_BANDWIDTH], &loads);
	if (err)
		return err;
	f.count = count == LX_UNSET ? 5 : count;
	f.ping_ms = timeout == LX_UNSET ? 0 : timeout * 1000;
	f.ask_ms = f.ping_ms ? f.ping_ms : 1000;
	lx_interrupt_catch();
	load.low = (low == LX_UNSET ? 50 : low) / 100.0;
	err = lx_fabric_find(&f, nids, n);
	if (!err)
		err = measure(&f, slow);
	if (!err && loads && !f.stopped)
		err = lx_fabric_load(&load, &f);
	end_progress();
	if (!err) {
		lx_bandwidth_judge(&load.b, load.low);
		err = report(s, a, &f, loads ? &load : NULL);
	}
	lx_fabric_load_fini(&load);
	lx_fabric_fini(&f);
	return err;
}

/* clang-format off */

static const struct lx_keyword check_keywords[] = {
	{ "count", LX_ARG_COUNT, "N" }, { "timeout", LX_ARG_TIMEOUT, "S" },
	{ "slow", LX_ARG_SLOW, "FACTOR" }, { "svg", LX_ARG_SVG, "FILE" },
	{ "--svg", LX_ARG_SVG, "FILE" }, { "bandwidth", LX_ARG_BANDWIDTH, "on|off" },
	{ "time", LX_ARG_TIME, "TIME" }, { "size", LX_ARG_SIZE, "SIZE" },
	{ "concurrency", LX_ARG_CONCURRENCY, "N" }, { "pairs", LX_ARG_PAIRS, "N" },
	{ "low", LX_ARG_LOW, "PERCENT" }, { 0 }
};

const struct lx_command lx_fabric_commands[] = {
	{ "check", check, check_keywords, "[NIDS...]",
	  .help =
	  "ping every path to nodes, or to all known ones, measure them, and name those at fault" },
	{ 0 }
};
