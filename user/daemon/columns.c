/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Columns as in /proc/sys/lnet; see the header. Called by command.c and procfiles.c. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lnetx/lnetx.h>

#include "../base/array.h"
#include "../base/cleanup.h"
#include "columns.h"

static const char *up_or_down(bool up)
{
	return up ? "up" : "down";
}

static int stats(struct lx_node *node, FILE *out)
{
	struct lx_stats s;

	lx_stats_get(node, &s);
	fprintf(out,
		"%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		s.msgs_alloc, s.msgs_max, s.errors, s.send_count, s.recv_count, s.route_count,
		s.drop_count, s.send_length, s.recv_length, s.route_length, s.drop_length);
	return 0;
}

/* Those of 0@lo are not set. */
static int at_least_0(int value)
{
	return value < 0 ? 0 : value;
}

static int nis(struct lx_node *node, FILE *out)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	size_t n;
	int err = lx_ni_list(node, &list, &n);

	if (err)
		return err;
	fprintf(out, "%-24s %6s %5s %4s %4s %4s %5s %5s %5s\n", "nid", "status", "alive", "refs",
		"peer", "rtr", "max", "tx", "min");
	for (const struct lx_ni_info *ni = list; ni < list + n; ni++) {
		bool lo = lx_net_type(ni->net) == LX_NET_LO;

		fprintf(out, "%-24s %6s %5" PRId64 " %4u %4d %4d %5d %5d %5d\n",
			lx_nid_str(&ni->nid), up_or_down(ni->up || lo), lo ? 0 : ni->alive_s,
			ni->refs, at_least_0(ni->tun.peer_credits),
			at_least_0(ni->tun.peer_buffer_credits), ni->tx_credits_max, ni->tx_credits,
			ni->tx_credits_min);
	}
	return 0;
}

/* "last" is -1 since the reference's 2.13. */
static int peers(struct lx_node *node, FILE *out)
{
	static const char *const states[] = { "NA", "up", "down" };
	struct lx_peer_info *list LX_AUTO_FREE = NULL;
	size_t n;
	int err = lx_peer_list(node, &list, &n);

	if (err)
		return err;
	fprintf(out, "%-24s %4s %5s %5s %5s %5s %5s %5s %5s %s\n", "nid", "refs", "state", "last",
		"max", "rtr", "min", "tx", "min", "queue");
	for (const struct lx_peer_info *p = list; p < list + n; p++) {
		for (const struct lx_peer_ni_info *ni = p->ni; ni < p->ni + p->n_nis; ni++)
			fprintf(out, "%-24s %4u %5s %5d %5d %5d %5d %5d %5d %" PRIu64 "\n",
				lx_nid_str(&ni->nid), ni->refs, states[ni->alive], -1,
				ni->tx_credits_max, ni->rtr_credits, ni->rtr_credits_min,
				ni->tx_credits, ni->tx_credits_min, ni->tx_queued_bytes);
	}
	return 0;
}

static int routes(struct lx_node *node, FILE *out)
{
	static const char *const states[] = { "disabled", "enabled", "stopping", "starting" };
	struct lx_route_info *list LX_AUTO_FREE = NULL;
	struct lx_routing_info routing;
	size_t n;
	int err = lx_route_list(node, &list, &n);

	if (err)
		return err;
	lx_routing_get(node, &routing);
	fprintf(out, "Routing %s\n", states[routing.state]);
	fprintf(out, "%-8s %4s %8s %7s %s\n", "net", "hops", "priority", "state", "router");
	for (const struct lx_route_info *r = list; r < list + n; r++)
		fprintf(out, "%-8s %4d %8u %7s %s\n", lx_net_str(r->net), r->hop, r->priority,
			up_or_down(r->up), lx_nid_str(&r->gateway));
	return 0;
}

/* References of a peer; the NI with its primary NID counts them. 0: it is gone. */
static uint32_t refs_of(struct lx_node *node, const struct lx_nid *primary)
{
	struct lx_peer_info *peer LX_AUTO_FREE = NULL;

	if (lx_peer_find(node, primary, &peer))
		return 0;
	for (uint32_t i = 0; i < peer->n_nis; i++) {
		if (lx_nid_eq(&peer->ni[i].nid, primary))
			return peer->ni[i].refs;
	}
	return 0;
}

/* A line a gateway: it is up if a route by it is. */
static void print_router(struct lx_node *node, const struct lx_route_info *list, size_t n,
			 const struct lx_nid *primary, FILE *out)
{
	unsigned int count = 0;
	bool up = false;

	for (size_t i = 0; i < n; i++) {
		if (!lx_nid_eq(&list[i].primary, primary))
			continue;
		count++;
		up |= list[i].up;
	}
	fprintf(out, "%-4u %7u %5s %s\n", refs_of(node, primary), count, up_or_down(up),
		lx_nid_str(primary));
}

static int routers(struct lx_node *node, FILE *out)
{
	struct lx_route_info *list LX_AUTO_FREE = NULL;
	size_t n, first;
	int err = lx_route_list(node, &list, &n);

	if (err)
		return err;
	fprintf(out, "%-4s %7s %5s %s\n", "ref", "rtr_ref", "alive", "router");
	for (size_t i = 0; i < n; i++) {
		for (first = 0; !lx_nid_eq(&list[first].primary, &list[i].primary); first++)
			;
		if (first == i)
			print_router(node, list, n, &list[i].primary, out);
	}
	return 0;
}

static int buffers(struct lx_node *node, FILE *out)
{
	struct lx_routing_info routing;

	lx_routing_get(node, &routing);
	fprintf(out, "%5s %5s %7s %7s\n", "pages", "count", "credits", "min");
	for (int i = 0; routing.pools && i < LX_POOLS; i++) {
		const struct lx_pool_info *pool = &routing.pool[i];

		fprintf(out, "%5u %5u %7d %7d\n", pool->npages, pool->nbuffers, pool->credits,
			pool->mincredits);
	}
	return 0;
}

static const struct file {
	const char *name;
	int (*print)(struct lx_node *node, FILE *out);
} files[] = { { "stats", stats },   { "nis", nis },	    { "peers", peers },
	      { "routes", routes }, { "routers", routers }, { "buffers", buffers } };

const char *lx_columns_name(size_t i)
{
	return i < LX_ARRAY_LEN(files) ? files[i].name : NULL;
}

int lx_columns_text(struct lx_node *node, const char *name, char **ret_text)
{
	size_t size, i = 0;
	FILE *out;
	int err;

	while (lx_columns_name(i) && strcmp(files[i].name, name))
		i++;
	if (!lx_columns_name(i))
		return -ENOENT;
	*ret_text = NULL;
	out = open_memstream(ret_text, &size);
	if (!out)
		return -ENOMEM;
	err = files[i].print(node, out);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err) {
		free(*ret_text);
		*ret_text = NULL;
	}
	return err;
}
