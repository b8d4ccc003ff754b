/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Orders and judges bandwidths; see the header. Called by fabric_load.c and fabric_cmds.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/text.h"
#include "bandwidth.h"

#define MIB (1024.0 * 1024.0)

int lx_bandwidth_init(struct lx_bandwidth *b, const struct lx_nid *nids, size_t n)
{
	*b = (struct lx_bandwidth){ .n = n };
	b->node = calloc(n + 1, sizeof(*b->node));
	b->cell = calloc(n * n + 1, sizeof(*b->cell));
	if (!b->node || !b->cell)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		b->node[i].nid = nids[i];
	return 0;
}

void lx_bandwidth_fini(struct lx_bandwidth *b)
{
	free(b->node);
	free(b->cell);
	*b = (struct lx_bandwidth){ 0 };
}

const char *lx_bandwidth_state_name(enum lx_bandwidth_state state)
{
	static const char *const names[] = { "none", "well", "low", "failed" };

	return names[state];
}

/* ---- the order ------------------------------------------------------------------------------ */

size_t lx_bandwidth_rounds(size_t n)
{
	return n < 2 ? 0 : n - 1 + n % 2;
}

/*
 * One player stays, the others move on by one seat of a circle each round, and meet who sits
 * opposite. Of an odd number, one pauses: who would meet the missing player.
 */
size_t lx_bandwidth_round(size_t n, size_t round, struct lx_bandwidth_pair *ret_pair)
{
	size_t circle = lx_bandwidth_rounds(n), found = 0;

	if (!circle)
		return 0;
	if (n % 2 == 0)
		ret_pair[found++] = (struct lx_bandwidth_pair){ round % circle, n - 1 };
	for (size_t k = 1; k <= (circle - 1) / 2; k++)
		ret_pair[found++] = (struct lx_bandwidth_pair){ (round + k) % circle,
								(round + circle - k) % circle };
	return found;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of two in the middle the faster one: then the slower of two nodes stands out. 0 is no value. */
static double median_of(double *value, size_t n)
{
	size_t none = 0;

	qsort(value, n, sizeof(*value), by_value);
	while (none < n && value[none] <= 0)
		none++;
	return none < n ? value[none + (n - none) / 2] : 0;
}

static bool has_rate(const struct lx_bandwidth_cell *cell)
{
	return cell->state == LX_BANDWIDTH_WELL || cell->state == LX_BANDWIDTH_LOW;
}

/* @all: what slow senders sent says nothing about a receiver, unless there are no others */
static double best(const struct lx_bandwidth *b, size_t node, enum lx_bandwidth_way way, bool all)
{
	double best = 0;

	for (size_t i = 0; i < b->n; i++) {
		bool sends = way == LX_BANDWIDTH_SENDS;
		size_t from = sends ? node : i, to = sends ? i : node;
		const struct lx_bandwidth_cell *cell = lx_bandwidth_at(b, from, to);

		if (has_rate(cell) && cell->rate > best &&
		    (all || !b->node[from].low[LX_BANDWIDTH_SENDS]))
			best = cell->rate;
	}
	return best;
}

static void judge_nodes(struct lx_bandwidth *b, enum lx_bandwidth_way way)
{
	double *value = calloc(b->n + 1, sizeof(*value));

	for (size_t i = 0; value && i < b->n; i++)
		b->node[i].best[way] = value[i] = best(b, i, way, false);
	b->median[way] = value ? median_of(value, b->n) : 0;
	free(value);
	for (size_t i = 0; i < b->n && b->n > 2; i++)
		b->node[i].low[way] =
			b->node[i].best[way] > 0 && b->node[i].best[way] < b->low * b->median[way];
}

/* ---- pairs ---------------------------------------------------------------------------------- */

static double expected(const struct lx_bandwidth *b, size_t from, size_t to)
{
	const struct lx_bandwidth_cell *back = lx_bandwidth_at(b, to, from);
	double sent = b->node[from].best[LX_BANDWIDTH_SENDS];
	double received = best(b, to, LX_BANDWIDTH_RECEIVES, true);

	if (b->n == 2)
		return has_rate(back) ? back->rate : 0;
	if (b->node[from].low[LX_BANDWIDTH_SENDS])
		return b->median[LX_BANDWIDTH_SENDS];
	if (b->node[to].low[LX_BANDWIDTH_RECEIVES])
		return b->median[LX_BANDWIDTH_RECEIVES];
	return sent < received ? sent : received;
}

void lx_bandwidth_judge(struct lx_bandwidth *b, double low)
{
	b->low = low;
	for (size_t i = 0; i < b->n; i++)
		memset(b->node[i].low, 0, sizeof(b->node[i].low));
	judge_nodes(b, LX_BANDWIDTH_SENDS);
	judge_nodes(b, LX_BANDWIDTH_RECEIVES);
	for (size_t from = 0; from < b->n; from++) {
		for (size_t to = 0; to < b->n; to++) {
			struct lx_bandwidth_cell *cell = lx_bandwidth_at(b, from, to);

			if (!has_rate(cell))
				continue;
			cell->expected = expected(b, from, to);
			cell->state = cell->rate < low * cell->expected ? LX_BANDWIDTH_LOW
									: LX_BANDWIDTH_WELL;
		}
	}
}

/* ---- in words ------------------------------------------------------------------------------- */

struct words {
	const struct lx_bandwidth *b;
	lx_bandwidth_fault_fn fn;
	void *arg;
	char text[600];
};

LX_PRINTF(2, 3) static void add(struct words *w, const char *fmt, ...)
{
	size_t used = strlen(w->text);

	LX_FORMAT(w->text + used, sizeof(w->text) - used, fmt);
}

static void tell(struct words *w, size_t node, const char *reason)
{
	w->fn(&w->b->node[node].nid, reason, w->text, w->arg);
	w->text[0] = '\0';
}

static void add_rails(struct words *w, size_t node)
{
	if (w->b->node[node].rails[0])
		add(w, "; %s", w->b->node[node].rails);
}

static void tell_node(struct words *w, size_t i)
{
	const struct lx_bandwidth_node *node = &w->b->node[i];

	for (int way = LX_BANDWIDTH_SENDS; way >= 0; way--) {
		if (!node->low[way])
			continue;
		if (*w->text)
			add(w, ";");
		else
			add(w, "%s:", lx_nid_str(&node->nid));
		add(w, " %s %.1f MiB/s at best, %.0f %% of the median of all nodes (%.1f MiB/s)",
		    way == LX_BANDWIDTH_SENDS ? "sends" : "receives", node->best[way] / MIB,
		    100 * node->best[way] / w->b->median[way], w->b->median[way] / MIB);
	}
	if (!*w->text)
		return;
	add_rails(w, i);
	tell(w, i, "low");
}

/* A fault, and not of one of its ends in general, which has been told. */
static bool is_bad(const struct lx_bandwidth *b, size_t from, size_t to)
{
	const struct lx_bandwidth_cell *cell = lx_bandwidth_at(b, from, to);

	return cell->state == LX_BANDWIDTH_FAILED ||
	       (cell->state == LX_BANDWIDTH_LOW && !b->node[from].low[LX_BANDWIDTH_SENDS] &&
		!b->node[to].low[LX_BANDWIDTH_RECEIVES]);
}

/* More than half of what was measured in a row (@sent), or in a column. */
static bool is_mostly_bad(const struct lx_bandwidth *b, size_t i, bool sent, size_t *ret_bad,
			  size_t *ret_all)
{
	size_t bad = 0, all = 0;

	for (size_t j = 0; j < b->n; j++) {
		size_t from = sent ? i : j, to = sent ? j : i;

		bad += is_bad(b, from, to);
		all += lx_bandwidth_at(b, from, to)->state != LX_BANDWIDTH_NONE;
	}
	*ret_bad = bad;
	*ret_all = all;
	return bad > 1 && 2 * bad > all;
}

static void tell_mostly(struct words *w, size_t i, bool sent)
{
	const struct lx_bandwidth *b = w->b;
	size_t bad, all, failed = 0;

	if (!is_mostly_bad(b, i, sent, &bad, &all))
		return;
	for (size_t j = 0; j < b->n; j++)
		failed += lx_bandwidth_at(b, sent ? i : j, sent ? j : i)->state ==
			  LX_BANDWIDTH_FAILED;
	add(w, "%s: %s %zu of %zu nodes", lx_nid_str(&b->node[i].nid), sent ? "to" : "from", bad,
	    all);
	if (failed)
		add(w, " no data gets through");
	if (failed && failed < bad)
		add(w, " (%zu), or", failed);
	if (failed < bad)
		add(w, " it is below %.0f %% of what both ends reach with others", 100 * b->low);
	add_rails(w, i);
	tell(w, i, failed == bad ? "failed" : "low");
}

static void tell_pair(struct words *w, size_t from, size_t to)
{
	const struct lx_bandwidth *b = w->b;
	const struct lx_bandwidth_cell *cell = lx_bandwidth_at(b, from, to);
	size_t bad, all;

	if (!is_bad(b, from, to) || is_mostly_bad(b, from, true, &bad, &all) ||
	    is_mostly_bad(b, to, false, &bad, &all))
		return;
	add(w, "%s to ", lx_nid_str(&b->node[from].nid));
	add(w, "%s: ", lx_nid_str(&b->node[to].nid));
	if (cell->state == LX_BANDWIDTH_FAILED) {
		add(w, "no data gets through");
		if (cell->errors)
			add(w, " (errors: %u)", cell->errors);
		add(w, "; next, on the first: lnetctl ping %s", lx_nid_str(&b->node[to].nid));
	} else {
		add(w, "%.1f MiB/s, %.0f %% of %s (%.1f MiB/s)", cell->rate / MIB,
		    100 * cell->rate / cell->expected,
		    b->n == 2 ? "the other direction" : "what both ends reach with others",
		    cell->expected / MIB);
		add_rails(w, from);
		add_rails(w, to);
	}
	tell(w, from, lx_bandwidth_state_name(cell->state));
}

void lx_bandwidth_explain(const struct lx_bandwidth *b, lx_bandwidth_fault_fn fn, void *arg)
{
	struct words w = { .b = b, .fn = fn, .arg = arg };

	for (size_t i = 0; i < b->n; i++)
		tell_node(&w, i);
	for (size_t i = 0; i < b->n; i++) {
		tell_mostly(&w, i, true);
		tell_mostly(&w, i, false);
	}
	for (size_t from = 0; from < b->n; from++) {
		for (size_t to = 0; to < b->n; to++)
			tell_pair(&w, from, to);
	}
}
