/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Guard and fast path follow the node, which does not know about the guard: after each change of
 * the node the guard is attached to its present NIs. Changes come from the worker of change.c, one
 * at a time; shows from command.c, at any time.
 *
 * The fast path exists while the node routes:
 *
 *	worker, after a change                   main thread, when the change is done
 *	routes: @next loaded, lent to the node ─▶ @fastpath, can be shown and traced
 *	does not: taken back from the node ─────▶ traces end, unloaded
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <internal/offload.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../bpf/bpf.h"
#include "../bpf/fastpath.h"
#include "../bpf/guard.h"
#include "../bpf/trial.h"
#include "../fastpath/fastpath.h"
#include "../io/netif.h"
#include "programs.h"
#include "share.h"

struct lx_programs {
	char instance[LX_INSTANCE_TEXT];
	bool enabled;
	atomic_bool ready; /* lx_programs_load() has set @bpf and @guard */
	atomic_bool loading;
	struct lx_bpf *bpf;
	struct lx_guard *guard;
	struct lx_fastpath *fastpath; /* NULL: the node does not route */
	bool fastpath_loaded; /* it is loaded */
	struct lx_fp_offload offload; /* as given to the node */
	/* owned by the worker until lx_programs_settle() */
	struct lx_fastpath *next; /* will become @fastpath */
	bool next_forwards;
	bool unwanted;        /* unload @fastpath */
};

int lx_programs_new(struct lx_daemon *daemon, bool enabled, struct lx_programs **ret_programs)
{
	struct lx_programs *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	strcpy(o->instance, daemon->instance);
	o->enabled = enabled;
	o->loading = true; /* soon */
	*ret_programs = o;
	return 0;
}

int lx_programs_load(struct lx_programs *o)
{
	int err = lx_bpf_new(o->instance, o->enabled, &o->bpf);

	if (!err)
		err = lx_guard_new(o->bpf, &o->guard);
	if (!err)
		lx_fastpath_clean(o->bpf);
	o->ready = !err;
	o->loading = false;
	return err;
}

bool lx_programs_are_ready(const struct lx_programs *o)
{
	return o->ready;
}

bool lx_programs_are_loading(const struct lx_programs *o)
{
	return o->loading;
}

void lx_programs_free(struct lx_programs *o)
{
	if (!o)
		return;
	lx_fastpath_free(o->fastpath);
	lx_fastpath_free(o->next);
	lx_guard_free(o->guard);
	lx_bpf_free(o->bpf);
	free(o);
}

struct lx_fastpath *lx_programs_fastpath(const struct lx_programs *o)
{
	return o->fastpath_loaded ? o->fastpath : NULL;
}

struct lx_guard *lx_programs_guard(const struct lx_programs *o)
{
	return o->ready ? o->guard : NULL;
}

/* ---- following the node ------------------------------------------------------------- */

/* Tunables of module tcp. */
struct settings {
	uint16_t port, port_bulk;
	bool secure, fastpath;
	uint32_t fastpath_streams;
};

static int read_tunable(const char *module, const struct lx_tunable *t, const char *value,
			void *arg)
{
	struct settings *a = arg;

	if (strcmp(module, "tcp"))
		return 0;
	if (!strcmp(t->name, "accept"))
		a->secure = !strcmp(value, "secure");
	else if (!strcmp(t->name, "fastpath"))
		a->fastpath = !strcmp(value, "on");
	else if (!strcmp(t->name, "fastpath_streams"))
		a->fastpath_streams = (uint32_t)atoi(value);
	else if (!strcmp(t->name, "accept_port"))
		a->port = (uint16_t)atoi(value);
	else if (!strcmp(t->name, "accept_port_bulk"))
		a->port_bulk = (uint16_t)atoi(value); /* 0: same as accept_port */
	return 0;
}

/* False if the NI needs no guard. */
static bool describe(const struct lx_ni_info *ni, const struct settings *a,
		     struct lx_guard_ni *ret_ni)
{
	if (lx_guard_addr(&ni->nid, ret_ni->addr))
		return false;
	memcpy(ret_ni->ifname, ni->ifname, sizeof(ret_ni->ifname));
	ret_ni->ifname[strcspn(ret_ni->ifname, ":")] = '\0'; /* "eth0:1" is on eth0 */
	ret_ni->port = a->port;
	ret_ni->port_bulk = a->port_bulk ? a->port_bulk : a->port;
	return ret_ni->ifname[0] && !lx_netif_is_loopback(ret_ni->ifname);
}

static bool routes(struct lx_node *node)
{
	struct lx_routing_info info = { .state = LX_ROUTING_OFF };

	if (node)
		lx_routing_get(node, &info);
	return info.state != LX_ROUTING_OFF;
}

/*
 * Takes a second or more, in which lnetxd forwards. If it fails the slow path goes on with
 * everything; "lnetx bpf status" says why.
 */
static void load_fastpath(struct lx_programs *o)
{
	if (o->enabled)
		lx_share_check_memory();
	o->loading = true;
	o->next_forwards = !lx_fastpath_new(o->bpf, &o->next) && !lx_trial(o->next);
	o->loading = false;
}

static void follow_routing(struct lx_programs *o, struct lx_node *node)
{
	if (routes(node)) {
		if (!o->fastpath)
			load_fastpath(o);
		return;
	}
	if (!o->fastpath || o->unwanted)
		return;
	if (node && o->fastpath_loaded)
		lx_node_set_offload(node, NULL);
	o->unwanted = true;
}

/* The fast path for the node from now on; may be NULL. */
static struct lx_fastpath *usable(const struct lx_programs *o)
{
	if (o->next)
		return o->next_forwards ? o->next : NULL;
	return o->fastpath_loaded && !o->unwanted ? o->fastpath : NULL;
}

/* Attaches it to the interfaces of the NIs. False: others have removed it too often. */
static bool attach(struct lx_fastpath *fastpath, const struct lx_guard_ni *ni, size_t n)
{
	bool holds = lx_fastpath_mend(fastpath) != -ECANCELED;

	for (size_t i = 0; i < n; i++)
		holds &= lx_fastpath_attach(fastpath, ni[i].ifname) != -ECANCELED;
	return holds;
}

static void follow_interfaces(struct lx_programs *o, struct lx_node *node,
			      struct lx_fastpath *fastpath, const struct lx_guard_ni *ni, size_t n)
{
	if (!attach(fastpath, ni, n)) {
		lx_node_set_offload(node, NULL);
		return;
	}
	if (o->offload.fastpath != fastpath)
		lx_fp_offload_init(&o->offload, fastpath);
	lx_node_set_offload(node, &o->offload.offload);
}

/* They may have connected while the guard was not in its place. */
static void close_banned(struct lx_programs *o, struct lx_node *node)
{
	struct lx_guard_ban_info *list LX_AUTO_FREE = NULL;
	size_t n;
	int closed;

	if (lx_guard_bans(o->guard, &list, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		closed = lx_disconnect(node, &list[i].nid);
		if (closed > 0)
			lx_warn("peer=%s closed=%d reason=\"it is banned, and connected while the "
				"guard was not in front of its packets\"",
				lx_nid_str(&list[i].nid), closed);
	}
}

void lx_programs_follow(struct lx_programs *o, struct lx_node *node)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	struct lx_guard_ni *ni LX_AUTO_FREE = NULL;
	struct settings a = { 0 };
	size_t n = 0, n_guarded = 0;
	struct lx_fastpath *fastpath;

	if (!o->ready)
		return;
	if (node) {
		int err = lx_ni_list(node, &list, &n);

		ni = calloc(n + 1, sizeof(*ni));
		if (err || !ni) {
			lx_warn("guard=\"out of memory\" action=\"guards the same NIs as before\"");
			return;
		}
		lx_tunable_each(node, read_tunable, &a);
	}
	for (size_t i = 0; i < n; i++)
		n_guarded += describe(&list[i], &a, &ni[n_guarded]);
	lx_guard_place(o->guard, ni, n_guarded, a.secure);
	if (node)
		close_banned(o, node);
	follow_routing(o, node);
	fastpath = usable(o);
	if (node && fastpath)
		follow_interfaces(o, node, fastpath, ni, n_guarded);
}

bool lx_programs_look(struct lx_programs *o)
{
	bool due = o->ready && lx_bpf_look(o->bpf);

	return due || (o->fastpath_loaded && lx_fastpath_look(o->fastpath));
}

void lx_programs_retry(struct lx_programs *o)
{
	lx_bpf_retry(o->bpf);
	if (o->fastpath_loaded)
		lx_fastpath_retry(o->fastpath);
}

bool lx_programs_leaves(const struct lx_programs *o)
{
	return o->unwanted;
}

void lx_programs_settle(struct lx_programs *o)
{
	if (o->unwanted) {
		lx_fastpath_free(o->fastpath);
		o->fastpath = o->offload.fastpath = NULL;
		o->fastpath_loaded = o->unwanted = false;
	}
	if (o->next) {
		o->fastpath = o->next;
		o->fastpath_loaded = o->next_forwards;
		o->next = NULL;
	}
}

/* ---- shows ------------------------------------------------------------------------- */

/* Shows an unloaded fast path, with the reason. */
static void add_unloaded(struct lx_bpf_info *info)
{
	struct lx_bpf_set_info *set = &info->set[info->n_sets];

	for (uint32_t i = 0; i < info->n_sets; i++) {
		if (!strcmp(info->set[i].name, "fastpath"))
			return;
	}
	if (info->n_sets == LX_BPF_SETS_MAX)
		return;
	set->name = "fastpath";
	snprintf(set->reason, sizeof(set->reason), "%s",
		 info->enabled ? "this node does not route: it is loaded while routing is on"
			       : "switched off: lnetxd runs with --no-bpf");
	info->n_sets++;
}

int lx_programs_show_bpf(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_bpf_info *info = lx_rows_one(rows, sizeof(*info));
	struct settings tcp = { .fastpath = true };

	if (!info)
		return -ENOMEM;
	if (d->node)
		lx_tunable_each(d->node, read_tunable, &tcp);
	lx_bpf_info(d->programs->bpf, info);
	info->fastpath = tcp.fastpath;
	add_unloaded(info);
	lx_fastpath_count_tx_dropped(info);
	if (d->programs->fastpath_loaded)
		lx_fastpath_info(d->programs->fastpath, tcp.fastpath_streams, info);
	return 0;
}

/* Not loaded: nothing to show; "lnetx bpf status" says why. */
#define FASTPATH_LIST(fn, type, get)                                                               \
	int fn(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)                 \
	{                                                                                          \
		type *list = NULL;                                                                 \
		int err = d->programs->fastpath_loaded                                             \
				  ? get(d->programs->fastpath, &list, &rows->n)                    \
				  : 0;                                                             \
                                                                                                   \
		rows->list = list;                                                                 \
		return err;                                                                        \
	}
FASTPATH_LIST(lx_programs_show_streams, struct lx_stream_info, lx_fastpath_stream_list)
FASTPATH_LIST(lx_programs_show_lanes, struct lx_lane_info, lx_fastpath_lane_list)
