/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Logs changes of the node: what happened, the node's reason, and what it means for
 * messages. Called on the main thread, some time after the change: "next" is
 * what holds now.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "report.h"

#define NEXT_TEXT 200

static const char *name_of(enum lx_change_type type)
{
	static const char *const names[] = {
#define NAME_(NAME, name) [LX_CHANGE_##NAME] = name,
		LX_CHANGES(NAME_)
#undef NAME_
	};

	return names[type];
}

/* Up and down are of general interest; peers and connections coming and going are not. */
static int level_of(enum lx_change_type type)
{
	switch (type) {
	case LX_CHANGE_NI_DOWN:
	case LX_CHANGE_ROUTE_DOWN:
		return LOG_WARNING;
	case LX_CHANGE_NI_UP:
	case LX_CHANGE_ROUTE_UP:
	case LX_CHANGE_ROUTING:
		return LOG_INFO;
	default:
		return LOG_DEBUG;
	}
}

/* ---- what comes next ----------------------------------------------------------------- */

static void after_route_down(struct lx_node *node, const struct lx_change *change,
			     struct lx_report_batch *batch, char *next)
{
	const char *net = lx_net_str(change->net);
	const struct lx_route_info *other = NULL, *list;
	size_t up = 0;
	bool back = false;

	if (!batch->routes && lx_route_list(node, &batch->routes, &batch->n_routes))
		return;
	list = batch->routes;
	for (size_t i = 0; i < batch->n_routes; i++) {
		if (list[i].net != change->net || !list[i].up)
			continue;
		back |= lx_nid_eq(&list[i].gateway, &change->nid);
		other = &list[i];
		up++;
	}
	if (back)
		snprintf(next, NEXT_TEXT, "by now it is up again");
	else if (up)
		snprintf(next, NEXT_TEXT, "messages to %s go by %s%s", net,
			 lx_nid_str(&other->gateway), up > 1 ? " and others" : "");
	else
		snprintf(next, NEXT_TEXT, "messages to %s fail: no other route to it is up", net);
}

static void after_ni_down(struct lx_node *node, const struct lx_change *change, char *next)
{
	const char *net = lx_net_str(lx_nid_net(&change->nid));
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	const struct lx_ni_info *other = NULL;
	bool back = false;
	size_t n = 0;

	if (lx_ni_list(node, &list, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		if (list[i].net != lx_nid_net(&change->nid) || !list[i].up)
			continue;
		back |= lx_nid_eq(&list[i].nid, &change->nid);
		other = &list[i];
	}
	if (back)
		snprintf(next, NEXT_TEXT, "by now it is up again");
	else if (other)
		snprintf(next, NEXT_TEXT, "peers are told, messages go by %s",
			 lx_nid_str(&other->nid));
	else
		snprintf(next, NEXT_TEXT, "peers are told, no other NI on %s is up", net);
}

static void find_next(struct lx_node *node, const struct lx_change *change,
		      struct lx_report_batch *batch, char *next)
{
	next[0] = '\0';
	if (node && change->type == LX_CHANGE_ROUTE_DOWN)
		after_route_down(node, change, batch, next);
	if (node && change->type == LX_CHANGE_NI_DOWN)
		after_ni_down(node, change, next);
}

/* ---- lines ----------------------------------------------------------------------------- */

void lx_report_change(struct lx_daemon *d, const struct lx_change *change,
		      struct lx_report_batch *batch)
{
	bool has_net = change->net != LX_NET_U32_ANY;
	bool has_nid = !lx_nid_eq(&change->nid, &lx_nid_any);
	char next[NEXT_TEXT];

	if (change->type == LX_CHANGE_ROUTING) {
		lx_log_state(LOG_INFO, "routing=\"%s\"", change->text);
		return;
	}
	find_next(d->node, change, batch, next);
	lx_log_state(level_of(change->type), "event=\"%s\"%s%s%s%s%s%s%s%s%s%s",
		     name_of(change->type), has_net ? " net=" : "",
		     has_net ? lx_net_str(change->net) : "", has_nid ? " nid=" : "",
		     has_nid ? lx_nid_str(&change->nid) : "", change->text[0] ? " reason=\"" : "",
		     change->text, change->text[0] ? "\"" : "", next[0] ? " next=\"" : "", next,
		     next[0] ? "\"" : "");
}

static const char *routing_now(struct lx_node *node)
{
	static const char *const names[] = { "off", "on", "stopping", "starting" };
	struct lx_routing_info info;

	lx_routing_get(node, &info);
	return names[info.state];
}

/* An NI that was down before anybody watched changes. */
static void report_down(struct lx_daemon *d, const struct lx_ni_info *ni)
{
	struct lx_change change = { .type = LX_CHANGE_NI_DOWN, .net = ni->net, .nid = ni->nid };
	struct lx_report_batch batch = { 0 };

	if (!ni->down.reason[0])
		return;
	snprintf(change.text, sizeof(change.text), "interface=%s: %s", ni->ifname, ni->down.reason);
	lx_report_change(d, &change, &batch);
}

void lx_report_start(struct lx_daemon *d)
{
	struct lx_route_info *routes LX_AUTO_FREE = NULL;
	struct lx_ni_info *nis LX_AUTO_FREE = NULL;
	size_t n_nis = 0, n_routes = 0, own = 0;

	lx_ni_list(d->node, &nis, &n_nis);
	lx_route_list(d->node, &routes, &n_routes);
	for (size_t i = 0; i < n_nis; i++)
		own += lx_net_type(nis[i].net) != LX_NET_LO;
	lx_info("instance=%s state=running nis=%zu routes=%zu routing=%s", d->instance, own,
		n_routes, routing_now(d->node));
	for (size_t i = 0; i < n_nis; i++)
		report_down(d, &nis[i]);
}
