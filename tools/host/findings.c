/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by the parts of the doctor. An entry of the list has the keys of struct
 * lx_finding, reason, and "more": effects of other causes.
 */
#include <stdarg.h>
#include <string.h>

#include "../cli/common/json.h"
#include "findings.h"

static json_t *entry_new(const struct lx_finding *one, json_t *reason)
{
	return json_pack("{sb, si, ss, ss*, ss, ss*, ss*, so, s[]}", "problem", one->problem,
			 "rank", (int)one->rank, "about", one->about, "node", one->node, "next",
			 one->next, "since", one->since && *one->since ? one->since : NULL,
			 "effect", one->effect, "reason", reason, "more");
}

static json_t *entry_of(const struct lx_findings *f, const char *node)
{
	json_t *entry;
	size_t i;

	json_array_foreach (f->list, i, entry) {
		if (!strcmp(lx_json_text(entry, "node"), node))
			return entry;
	}
	return NULL;
}

static bool is_problem(const json_t *entry)
{
	return json_is_true(json_object_get(entry, "problem"));
}

/* An effect is said once. @at: where; those of the first cause come first */
static void add_effect(json_t *to, const json_t *other, size_t at)
{
	json_t *more = json_object_get(to, "more"), *effect = json_object_get(other, "effect");
	const json_t *said;
	size_t i;

	if (!effect || json_equal(effect, json_object_get(to, "effect")))
		return;
	json_array_foreach (more, i, said) {
		if (json_equal(effect, said))
			return;
	}
	json_array_insert(more, at, effect);
}

/* Keeps the earlier cause in @to; the other one leaves its level, its time and its effect. */
static void merge(json_t *to, json_t *entry)
{
	bool problem = is_problem(to) || is_problem(entry);
	bool earlier = lx_json_int(entry, "rank") < lx_json_int(to, "rank");
	json_t *more = json_object_get(to, "more"), *other = json_copy(to);

	if (earlier) {
		json_object_del(to, "effect");
		json_object_del(to, "since");
		json_object_update(to, entry);
		json_object_set(to, "more", more);
	} else {
		json_decref(other);
		other = json_incref(entry);
	}
	json_object_set_new(to, "problem", json_boolean(problem));
	if (!json_object_get(to, "since") && json_object_get(other, "since"))
		json_object_set(to, "since", json_object_get(other, "since"));
	add_effect(to, other, earlier ? 0 : json_array_size(more));
	json_decref(other);
}

void lx_findings_put(struct lx_findings *f, const struct lx_finding *one, const char *fmt, ...)
{
	json_t *entry, *known = one->node ? entry_of(f, one->node) : NULL;
	va_list ap;

	va_start(ap, fmt);
	entry = entry_new(one, json_vsprintf(fmt, ap));
	va_end(ap);
	if (known)
		merge(known, entry);
	else
		json_array_append(f->list, entry);
	json_decref(entry);
}

void lx_findings_add_full(struct lx_findings *f, const char *what, long long used, long long most,
			  const char *next)
{
	if (most && used >= most)
		lx_findings_add(f, false, what, next, "the table is full: %lld of %lld are in use",
				used, most);
}

bool lx_findings_has(const struct lx_findings *f, const char *node)
{
	return entry_of(f, node) != NULL;
}

/* As users see it. */
static json_t *shown(const json_t *entry)
{
	json_t *reason = json_incref(json_object_get(entry, "reason"));
	const json_t *effect;
	size_t i;

	json_array_foreach (json_object_get(entry, "more"), i, effect) {
		json_t *longer = json_sprintf("%s; %s", json_string_value(reason),
					      json_string_value(effect));

		json_decref(reason);
		reason = longer;
	}
	return json_pack("{ss, sO, so, sO*, sO}", "level", is_problem(entry) ? "problem" : "advice",
			 "about", json_object_get(entry, "about"), "reason", reason, "since",
			 json_object_get(entry, "since"), "next", json_object_get(entry, "next"));
}

json_t *lx_findings_sorted(const struct lx_findings *f, unsigned int *ret_problems)
{
	json_t *sorted = json_array();
	const json_t *entry;
	size_t i;

	for (int problem = 1; problem >= 0; problem--) {
		for (int rank = LX_FINDING_HERE; rank <= LX_FINDING_EFFECT; rank++) {
			json_array_foreach (f->list, i, entry) {
				if (is_problem(entry) == problem &&
				    lx_json_int(entry, "rank") == rank)
					json_array_append_new(sorted, shown(entry));
			}
		}
		if (problem)
			*ret_problems = json_array_size(sorted);
	}
	return sorted;
}
