/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The changes of a reload; see the header. Called by change.c, on the worker. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lnetx/lnetx.h>

#include "../base/array.h"
#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/log.h"
#include "../base/text.h"
#include "difference.h"
#include "tester.h"

#define LINES_MAX 40 /* the log takes 50 a second */

/* ---- a list ------------------------------------------------------------------------- */

/* A list that grows. After an error nothing is added. */
struct taker {
	struct lx_facts facts;
	int err;
};

LX_PRINTF(4, 5)
static void add(struct taker *t, const char *what, const char *setting, const char *fmt, ...)
{
	char *copy = t->err ? NULL : strdup(what);
	struct lx_fact *fact = copy ? lx_grow(&t->facts.list, &t->facts.n, sizeof(*fact)) : NULL;

	if (!fact) {
		free(copy);
		t->err = -ENOMEM;
		return;
	}
	fact->what = copy;
	snprintf(fact->setting, sizeof(fact->setting), "%s", setting);
	LX_FORMAT(fact->value, sizeof(fact->value), fmt);
}

/* That there is such a thing; its settings follow. */
static void add_thing(struct taker *t, const char *what)
{
	add(t, what, "", "%s", "");
}

static int by_name(const void *a, const void *b)
{
	const struct lx_fact *x = a, *y = b;
	int order = strcmp(x->what, y->what);

	return order ? order : strcmp(x->setting, y->setting);
}

void lx_difference_clear(struct lx_facts *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->list[i].what);
	free(f->list);
	*f = (struct lx_facts){ .n = 0 };
}

/* ---- the node ------------------------------------------------------------------------ */

static void take_ni(struct taker *t, const struct lx_ni_info *ni)
{
	const struct lx_conf_ni_setting *set = lx_conf_ni_settings();
	const int32_t *value = (const int32_t *)&ni->tun; /* in their order */
	char what[LX_NID_TEXT + IFNAMSIZ + 16];

	if (lx_net_type(ni->net) == LX_NET_LO)
		return;
	snprintf(what, sizeof(what), "NI %s on %s", lx_nid_str(&ni->nid), ni->ifname);
	add_thing(t, what);
	for (; set->name; set++)
		add(t, what, set->name, "%d", *value++);
	for (int i = 0; ni->lnd_tunable_names && ni->lnd_tunable_names[i]; i++) {
		if (ni->lnd_tun.value[i] != LX_LND_TUNABLE_HIDDEN)
			add(t, what, ni->lnd_tunable_names[i], "%d", ni->lnd_tun.value[i]);
	}
}

static void take_nis(struct taker *t, struct lx_node *node)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	size_t n = 0;

	t->err = lx_ni_list(node, &list, &n);
	for (size_t i = 0; !t->err && i < n; i++)
		take_ni(t, &list[i]);
}

static void take_routes(struct taker *t, struct lx_node *node)
{
	struct lx_route_info *list LX_AUTO_FREE = NULL;
	size_t n = 0;

	t->err = lx_route_list(node, &list, &n);
	for (size_t i = 0; !t->err && i < n; i++) {
		const struct lx_route_info *r = &list[i];
		char what[LX_NID_TEXT + 64];

		snprintf(what, sizeof(what), "route to %s through %s", lx_net_str(r->net),
			 lx_nid_str(&r->gateway));
		add_thing(t, what);
		add(t, what, "hop", "%d", r->hop);
		add(t, what, "priority", "%u", r->priority);
		add(t, what, "health_sensitivity", "%d", r->health_sensitivity);
	}
}

/* Only what is configured: traffic and discovery change the rest. */
static void take_peers(struct taker *t, struct lx_node *node)
{
	struct lx_peer_info *list LX_AUTO_FREE = NULL;
	size_t n = 0;

	t->err = lx_peer_list(node, &list, &n);
	for (size_t i = 0; !t->err && i < n; i++) {
		char what[LX_NID_TEXT + 16], nid[LX_NID_TEXT + 8];

		if (!(list[i].state & LX_PEER_CONFIGURED))
			continue;
		snprintf(what, sizeof(what), "peer %s", lx_nid_str(&list[i].primary));
		add_thing(t, what);
		add(t, what, "Multi-Rail", "%d", list[i].multi_rail);
		for (uint32_t j = 0; j < list[i].n_nis; j++) {
			snprintf(nid, sizeof(nid), "NID %s", lx_nid_str(&list[i].ni[j].nid));
			add(t, what, nid, "%s", "");
		}
	}
}

static void take_policies(struct taker *t, struct lx_node *node)
{
	struct lx_conf_udsp *list LX_AUTO_FREE = NULL;
	size_t n = 0;

	t->err = lx_udsp_list(node, &list, &n);
	for (size_t i = 0; !t->err && i < n; i++) {
		const struct lx_conf_udsp *u = &list[i];
		char what[3 * LX_UDSP_TEXT + 40];

		snprintf(what, sizeof(what), "selection policy%s%s%s%s%s%s", *u->src ? " src " : "",
			 u->src, *u->dst ? " dst " : "", u->dst, *u->rte ? " rte " : "", u->rte);
		add_thing(t, what);
		add(t, what, "priority", "%" PRId64, u->priority);
		add(t, what, "place", "%d", u->index);
	}
}

static int take_tunable(const char *module, const struct lx_tunable *tunable, const char *value,
			void *arg)
{
	struct taker *t = arg;
	char what[80];

	snprintf(what, sizeof(what), "tunable %s %s", module, tunable->name);
	add(t, what, "", "%s", value);
	return t->err;
}

static void take_rest(struct taker *t, struct lx_node *node, struct lx_tester *tester)
{
	struct lx_ctl_selftest_info test = { .console = lx_nid_any };
	struct lx_routing_info routing;
	bool on;

	lx_routing_get(node, &routing);
	on = routing.state == LX_ROUTING_ON || routing.state == LX_ROUTING_STARTING;
	lx_tester_describe(tester, &test);
	add(t, "routing", "", "%s", on ? "on" : "off");
	add(t, "selftest", "", "%s", test.conf.enable ? "on" : "off");
	/* As much as has room. */
	add(t, "selftest", "consoles", "%.60s", *test.conf.consoles ? test.conf.consoles : "-");
	lx_tunable_each(node, take_tunable, t);
}

static void sort(struct lx_facts *f)
{
	if (f->n)
		qsort(f->list, f->n, sizeof(*f->list), by_name);
}

int lx_difference_take(struct lx_node *node, struct lx_tester *tester, struct lx_facts *ret_facts)
{
	static void (*const lists[])(struct taker *t, struct lx_node *node) = {
		take_nis, take_routes, take_peers, take_policies
	};
	struct taker t = { .err = 0 };

	for (size_t i = 0; !t.err && i < LX_ARRAY_LEN(lists); i++)
		lists[i](&t, node);
	if (!t.err)
		take_rest(&t, node, tester);
	if (t.err) {
		lx_difference_clear(&t.facts);
		return t.err;
	}
	sort(&t.facts);
	*ret_facts = t.facts;
	return 0;
}

/* ---- the log -------------------------------------------------------------------------- */

static const struct lx_fact *find(const struct lx_facts *f, const char *what, const char *setting)
{
	struct lx_fact key = { .what = (char *)what };

	snprintf(key.setting, sizeof(key.setting), "%s", setting);
	return f->n ? bsearch(&key, f->list, f->n, sizeof(key), by_name) : NULL;
}

int lx_difference_learn(struct lx_facts *read, const struct lx_facts *before,
			const struct lx_facts *after)
{
	struct taker t = { .facts = *read };

	for (size_t i = 0; i < after->n; i++) {
		const struct lx_fact *f = &after->list[i];

		if (!find(before, f->what, f->setting))
			add(&t, f->what, f->setting, "%s", f->value);
	}
	sort(&t.facts);
	*read = t.facts;
	return t.err;
}

/* For what lost its value, or is there in spite of a command; "": no command had a part. */
static const char *by_command(const struct lx_fact *read, const struct lx_fact *before,
			      char *buf, size_t size)
{
	buf[0] = '\0';
	if (before && !read)
		snprintf(buf, size, "it was added by command, and is lost");
	else if (before && strcmp(before->value, read->value))
		snprintf(buf, size, "%s was set by command, and is lost", before->value);
	else if (!before && read)
		snprintf(buf, size, "it was removed by command, and is back");
	return buf;
}

static void log_change(const char *key, const struct lx_facts *read, const struct lx_fact *before,
		       const struct lx_fact *after)
{
	const struct lx_fact *any = before ? before : after;
	char reason[128], change[2 * sizeof(any->value) + 8];

	if (read->list)
		by_command(find(read, any->what, any->setting), before, reason, sizeof(reason));
	else
		reason[0] = '\0';
	if (before && after)
		snprintf(change, sizeof(change), "%s -> %s", before->value, after->value);
	else
		snprintf(change, sizeof(change), "%s", before ? "removed" : "added");
	lx_log_state(before && *reason ? LOG_WARNING : LOG_INFO,
		     "%s=\"%.200s: %s%s%s\"%s%s%s%s", key, any->what, any->setting,
		     *any->setting ? " " : "", change, *reason ? " reason=\"" : "", reason,
		     *reason ? "\"" : "",
		     before && *reason ? " next=\"write it into the file, if it is to stay\"" : "");
}

/* The settings of what came or went say nothing more. */
static bool is_worth_a_line(const struct lx_facts *before, const struct lx_facts *after,
			    const struct lx_fact *any)
{
	return !*any->setting || (find(before, any->what, "") && find(after, any->what, ""));
}

void lx_difference_log_changes(const char *key, const struct lx_facts *read,
			       const struct lx_facts *before, const struct lx_facts *after)
{
	unsigned int lines = 0;

	for (size_t i = 0, j = 0; i < before->n || j < after->n;) {
		const struct lx_fact *x = i < before->n ? &before->list[i] : NULL;
		const struct lx_fact *y = j < after->n ? &after->list[j] : NULL;
		int order = !x ? 1 : !y ? -1 : by_name(x, y);

		i += order <= 0;
		j += order >= 0;
		x = order <= 0 ? x : NULL;
		y = order >= 0 ? y : NULL;
		if ((x && y && !strcmp(x->value, y->value)) ||
		    !is_worth_a_line(before, after, x ? x : y) || lines++ >= LINES_MAX)
			continue;
		log_change(key, read, x, y);
	}
	if (lines > LINES_MAX)
		lx_log_state(LOG_WARNING, "%s=\"%u more changes\" next=\"lnetx export\"", key,
			     lines - LINES_MAX);
}
