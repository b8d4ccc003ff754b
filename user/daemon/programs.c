/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's use of BPF. The node does not know about the guard: after each change
 * of the node the guard is attached to its present NIs. Changes come
 * from the worker of change.c, one at a time; shows from command.c, at any time.
 *
 * The fast path exists while the node routes:
 *
 *	worker, after a change                   main thread, when the change is done
 *	routes: @next loaded, lent to the node ─▶ @fastpath, can be shown and traced
 *	does not: taken back from the node ─────▶ traces end, unloaded
 */
#include <errno.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <internal/offload.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/prefix.h"
#include "../bpf/bpf.h"
#include "../bpf/fastpath.h"
#include "../bpf/guard.h"
#include "../bpf/trial.h"
#include "../fastpath/fastpath.h"
#include "../io/netif.h"
#include "edit.h"
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
	char accept[LX_GUARD_ACCEPT_TEXT];
	bool fastpath;
	uint32_t fastpath_streams;
};

static int read_tunable(const char *module, const struct lx_tunable *t, const char *value,
			void *arg)
{
	struct settings *a = arg;

	if (strcmp(module, "tcp"))
		return 0;
	if (!strcmp(t->name, "accept"))
		snprintf(a->accept, sizeof(a->accept), "%s", value);
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

static bool is_secure(const struct settings *a)
{
	return !strcmp(a->accept, "secure");
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
	lx_guard_place(o->guard, ni, n_guarded, is_secure(&a));
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

/* ---- changes ----------------------------------------------------------------------- */

static struct lx_guard *guard_of(const struct lx_edit *e)
{
	return e->daemon->programs->guard;
}

/* Errors that any change of the guard may return. */
static int explain(struct lx_edit *e, int err, const char *what)
{
	struct lx_guard_info info;

	if (err == -EOPNOTSUPP && !lx_guard_info(guard_of(e), &info))
		return lx_edit_say(e, err, "%s: the guard is not loaded: %s", what, info.reason);
	return lx_edit_say(e, err, "%s: %s", what, strerror(-err));
}

static int set_rate(struct lx_edit *e)
{
	const struct lx_ctl_guard *req = e->req;
	int64_t burst = req->burst;
	int err;

	if (req->rate == LX_UNSET)
		return lx_edit_say(e, -EINVAL, "a burst needs a rate: rate N burst M");
	if (burst == LX_UNSET)
		burst = req->rate > LX_GUARD_BURST ? req->rate : LX_GUARD_BURST;
	if (req->rate < 0 || req->rate > LX_GUARD_RATE_MAX)
		return lx_edit_say(e, -ERANGE, "rate %lld is not in 0..%d connections a second",
				   (long long)req->rate, LX_GUARD_RATE_MAX);
	if (burst < 1 || burst > LX_GUARD_RATE_MAX)
		return lx_edit_say(e, -ERANGE, "burst %lld is not in 1..%d connections",
				   (long long)burst, LX_GUARD_RATE_MAX);
	err = lx_guard_rate(guard_of(e), (uint32_t)req->rate, (uint32_t)burst);
	return err ? explain(e, err, "rate not set") : 0;
}

int lx_programs_guard_set(struct lx_edit *e)
{
	const struct lx_ctl_guard *req = e->req;
	int err = 0;

	if (req->mode != LX_UNSET && (req->mode < 0 || req->mode >= LX_GUARD_MODES))
		return lx_edit_say(e, -EINVAL, "mode %lld is unknown", (long long)req->mode);
	if (req->rate != LX_UNSET || req->burst != LX_UNSET)
		err = set_rate(e);
	if (err || req->mode == LX_UNSET)
		return err;
	err = lx_guard_mode(guard_of(e), (enum lx_guard_mode)req->mode);
	return err ? explain(e, err, "mode not set") : 0;
}

static bool is_neighbour(struct lx_node *node, const struct lx_nid *nid)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	size_t n;

	if (lx_ni_list(node, &list, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (list[i].net == lx_nid_net(nid))
			return true;
	}
	return false;
}

/* The first other NID of a peer, or NULL. */
static const struct lx_nid *other_nid(const struct lx_peer_info *peer, const struct lx_nid *nid)
{
	for (uint32_t i = 0; i < peer->n_nis; i++) {
		if (!lx_nid_eq(&peer->ni[i].nid, nid))
			return &peer->ni[i].nid;
	}
	return NULL;
}

/* Closes the peer's connections, and mentions its other NIDs. */
static int finish_ban(struct lx_edit *e, const struct lx_nid *nid)
{
	struct lx_peer_info *peer LX_AUTO_FREE = NULL;
	const struct lx_nid *other = NULL;
	int closed = lx_disconnect(e->node, nid);

	if (closed < 0)
		closed = 0;
	if (!lx_peer_find(e->node, nid, &peer))
		other = other_nid(peer, nid);
	lx_edit_say(e, 0, "%s is banned, %d connections closed%s%s%s", lx_nid_str(nid), closed,
		    other ? "; the peer has other NIDs: " : "", other ? lx_nid_str(other) : "",
		    other ? ", ..." : "");
	return closed;
}

int lx_programs_ban(struct lx_edit *e)
{
	const struct lx_ctl_ban *req = e->req;
	const char *nid = lx_nid_str(&req->nid);
	int err;

	if (lx_nid_eq(&req->nid, &lx_nid_any))
		return lx_edit_say(e, -EINVAL, "give the NID to ban");
	if (e->node && !is_neighbour(e->node, &req->nid))
		return lx_edit_say(
			e, -EHOSTUNREACH,
			"cannot ban %s: this node has no NI on net %s, its messages come through "
			"a router; see \"lnetx route show\"",
			nid, lx_net_str(lx_nid_net(&req->nid)));
	err = lx_guard_ban(guard_of(e), &req->nid);
	switch (err) {
	case 0:
		lx_edit_say(e, 0, "%s is banned", nid);
		lx_info("peer=%s action=banned", nid);
		e->count = e->node ? finish_ban(e, &req->nid) : 0;
		return 0;
	case -EEXIST:
		return lx_edit_say(e, err, "%s is banned already; see \"lnetx guard show\"", nid);
	case -E2BIG:
	case -ENOSPC:
		return lx_edit_say(
			e, err,
			"cannot ban %s: there are %d bans, which is the maximum; remove some "
			"(lnetx guard unban), or deny a prefix",
			nid, LX_GUARD_BANS_MAX);
	case -EAFNOSUPPORT:
		return lx_edit_say(e, err, "cannot ban %s: not a NID on a net of type tcp", nid);
	}
	return explain(e, err, "ban not set");
}

int lx_programs_unban(struct lx_edit *e)
{
	const struct lx_ctl_ban *req = e->req;
	int err = lx_guard_unban(guard_of(e), &req->nid);

	if (!err)
		lx_info("peer=%s action=unbanned", lx_nid_str(&req->nid));
	if (err == -ENOENT || err == -EAFNOSUPPORT)
		return lx_edit_say(e, err, "%s is not banned; see \"lnetx guard show\"",
				   lx_nid_str(&req->nid));
	return err ? explain(e, err, "ban not removed") : 0;
}

static int parse_prefix(struct lx_edit *e, struct lx_guard_prefix *ret_prefix)
{
	const struct lx_ctl_prefix *req = e->req;

	if (!lx_prefix_parse(req->prefix, ret_prefix->addr, &ret_prefix->bits))
		return 0;
	return lx_edit_say(
		e, -EINVAL,
		"\"%s\": an address or a prefix is expected, without host bits: 10.1.0.0/16",
		req->prefix);
}

int lx_programs_prefix_add(struct lx_edit *e)
{
	const struct lx_ctl_prefix *req = e->req;
	struct lx_guard_prefix prefix;
	int err = parse_prefix(e, &prefix);

	if (err)
		return err;
	if (req->action != LX_GUARD_ALLOW && req->action != LX_GUARD_DENY)
		return lx_edit_say(e, -EINVAL, "%s: give allow or deny", req->prefix);
	err = lx_guard_prefix_set(guard_of(e), &prefix, req->action);
	if (err == -E2BIG)
		return lx_edit_say(e, err,
				   "cannot add %s: there are %d prefixes, which is the maximum",
				   req->prefix, LX_GUARD_PREFIXES_MAX);
	return err ? explain(e, err, "prefix not added") : 0;
}

int lx_programs_prefix_del(struct lx_edit *e)
{
	const struct lx_ctl_prefix *req = e->req;
	struct lx_guard_prefix prefix;
	int err = parse_prefix(e, &prefix);

	if (err)
		return err;
	err = lx_guard_prefix_del(guard_of(e), &prefix);
	if (err == -ENOENT)
		return lx_edit_say(e, err, "there is no prefix %s; see \"lnetx guard show\"",
				   req->prefix);
	return err ? explain(e, err, "prefix not removed") : 0;
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

int lx_programs_show_guard(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_guard_info *info = lx_rows_one(rows, sizeof(*info));
	int err = info ? lx_guard_info(d->programs->guard, info) : -ENOMEM;
	struct settings tcp = { 0 };

	if (err)
		return err;
	/* Not from the guard: the acceptor follows these without one, too. */
	if (d->node)
		lx_tunable_each(d->node, read_tunable, &tcp);
	strcpy(info->accept, tcp.accept);
	info->secure = is_secure(&tcp);
	return 0;
}

#define GUARD_LIST(fn, type, get)                                                                  \
	int fn(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)                 \
	{                                                                                          \
		type *list = NULL;                                                                 \
		int err = get(d->programs->guard, &list, &rows->n);                                \
                                                                                                   \
		rows->list = list;                                                                 \
		return err;                                                                        \
	}
GUARD_LIST(lx_programs_show_bans, struct lx_guard_ban_info, lx_guard_bans)
GUARD_LIST(lx_programs_show_prefixes, struct lx_guard_prefix_info, lx_guard_prefixes)
GUARD_LIST(lx_programs_show_refusals, struct lx_guard_refusal_info, lx_guard_refusals)

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
