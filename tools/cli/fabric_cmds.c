/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx fabric": checks all paths to other nodes. Table: lnetx_cmds.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "fabric.h"
#include "interrupt.h"
#include "lnetx.h"
#include "matrix.h"

/* ---- progress, and its end ------------------------------------------------------------------ */

static bool progress(const char *what, size_t done, size_t all)
{
	if (what && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%s: %zu of %zu", what, done, all);
	return lx_interrupted();
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

static int write_svg(struct lx_session *s, const struct lx_matrix *m, const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return lx_session_fail(s, -errno, "%s: %s", path, strerror(errno));
	lx_matrix_svg(out, m);
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
	if (rail->passed) {
		json_object_set_new(row, "mtu", json_integer(rail->mtu));
		json_object_set_new(row, "mtu_passed", json_integer(rail->passed));
	}
	return row;
}

static void print_tree(const struct lx_fabric *f, const json_t *faults)
{
	json_t *rails = json_array();

	for (size_t i = 0; i < f->n_rails; i++)
		json_array_append_new(rails, rail_json(&f->rail[i]));
	lx_lnetx_print("fabric",
		       json_pack("{sb, sb, so, sO}", "healthy",
				 !json_array_size(faults) && !f->stopped, "complete", !f->stopped,
				 "rails", rails, "faults", faults));
}

/* ---- as text -------------------------------------------------------------------------------- */

static void print_mtu(const struct lx_fabric *f)
{
	size_t probed = 0, silent = 0;

	for (size_t i = 0; i < f->n_rails; i++) {
		probed += f->rail[i].passed > 0;
		silent += f->rail[i].mtu && !f->rail[i].passed;
	}
	if (probed)
		printf("MTU: probed on %zu rail%s\n", probed, probed > 1 ? "s" : "");
	if (silent)
		printf("MTU: not known on %zu rail%s: no answer to ICMP echo requests\n", silent,
		       silent > 1 ? "s" : "");
}

static void print_text(const struct lx_fabric *f, const struct lx_matrix *m, const json_t *faults)
{
	json_t *fault;
	size_t i, n = json_array_size(faults);

	if (m->n_columns)
		lx_matrix_draw(stdout, m, is_utf8());
	print_mtu(f);
	json_array_foreach ((json_t *)faults, i, fault)
		printf("fault: %s\n", json_string_value(json_object_get(fault, "text")));
	if (f->stopped)
		printf("interrupted after %zu rails of %zu nodes\n", f->n_rails, f->n_nodes);
	else if (!f->n_rails)
		puts("nothing to check: this node knows no peers; give their NIDs");
	else if (n)
		printf("not healthy: %zu fault%s on %zu rails of %zu nodes\n", n, n > 1 ? "s" : "",
		       f->n_rails, f->n_nodes);
	else
		printf("healthy: %zu rails of %zu nodes\n", f->n_rails, f->n_nodes);
}

/* ---- the command ---------------------------------------------------------------------------- */

static void add_text(json_t *fault)
{
	json_object_set_new(fault, "text",
			    json_sprintf("%s: %s",
					 json_string_value(json_object_get(fault, "nid")),
					 json_string_value(json_object_get(fault, "reason"))));
}

/* All faults: NIs and routes first. */
static json_t *list_faults(const struct lx_fabric *f)
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
	return list;
}

static int report(struct lx_session *s, const struct lx_args *a, struct lx_fabric *f)
{
	char title[100];
	struct lx_matrix m = { .title = title };
	json_t *faults = list_faults(f);
	int r = f->stopped ? LX_EXIT_INTERRUPTED : json_array_size(faults) ? LX_EXIT_UNHEALTHY : 0;

	snprintf(title, sizeof(title), "latency in ms, median of %u pings; peers' NIs by own NIs",
		 f->count);
	if (!fill_matrix(f, &m))
		r = lx_session_fail(s, -ENOMEM, "out of memory");
	if (r >= 0 && lx_lnetx_as_tree())
		print_tree(f, faults);
	else if (r >= 0)
		print_text(f, &m, faults);
	if (r >= 0 && a->v[LX_ARG_SVG] && write_svg(s, &m, a->v[LX_ARG_SVG]))
		r = s->error;
	json_decref(faults);
	lx_matrix_free(&m);
	return r;
}

static int targets(struct lx_session *s, const struct lx_args *a, struct lx_nid **ret_nids,
		   size_t *ret_n)
{
	struct lx_nid *all = NULL;
	size_t n = 0;
	int err = 0;

	for (int i = 0; !err && i < a->n_rest; i++) {
		struct lx_nid *some LX_AUTO_FREE = NULL, *grown;
		size_t n_some = 0;

		err = lx_arg_nids(s, a->rest[i], "NID", &some, &n_some);
		grown = err ? NULL : realloc(all, (n + n_some) * sizeof(*all));
		if (!grown)
			break;
		all = grown;
		memcpy(all + n, some, n_some * sizeof(*all));
		n += n_some;
	}
	*ret_nids = all;
	*ret_n = n;
	return err;
}

static int check(struct lx_session *s, const struct lx_args *a)
{
	struct lx_fabric f = { .session = s, .progress = progress };
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	int64_t count, timeout, slow;
	size_t n = 0;
	int err;

	err = lx_arg_int(s, a, LX_ARG_COUNT, "count", 1, LX_RAIL_PINGS_MAX, &count);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_TIMEOUT, "timeout", 1, 3600, &timeout);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_SLOW, "slow", 2, 1000000, &slow);
	if (!err)
		err = targets(s, a, &nids, &n);
	if (err)
		return err;
	f.count = count == LX_UNSET ? 5 : count;
	f.timeout_ms = timeout == LX_UNSET ? 1000 : timeout * 1000;
	lx_interrupt_catch();
	err = lx_fabric_find(&f, nids, n);
	if (!err && !f.stopped)
		err = lx_fabric_ping(&f);
	else if (!err)
		f.n_rails = 0; /* none was pinged */
	end_progress();
	if (!err) {
		lx_rail_judge(f.rail, f.n_rails, slow == LX_UNSET ? 4 : slow);
		err = report(s, a, &f);
	}
	lx_fabric_fini(&f);
	return err;
}

/* clang-format off */

static const struct lx_keyword check_keywords[] = {
	{ "count", LX_ARG_COUNT, "N" }, { "timeout", LX_ARG_TIMEOUT, "S" },
	{ "slow", LX_ARG_SLOW, "FACTOR" }, { "svg", LX_ARG_SVG, "FILE" },
	{ "--svg", LX_ARG_SVG, "FILE" }, { NULL, 0, NULL }
};

const struct lx_command lx_fabric_commands[] = {
	{ "check", check, check_keywords, "[NIDS...]",
	  "ping every path to nodes, or to all known ones, and name those at fault" },
	{ NULL, NULL, NULL, NULL, NULL }
};
