/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The public functions of lnetx.h that only call a core function under the lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/array.h"
#include "../base/grow.h"
#include "../conf/modparam.h"
#include "../core/announce.h"
#include "../core/count.h"
#include "../core/credit.h"
#include "../core/monitor.h"
#include "../core/msg.h"
#include "../core/parse.h"
#include "../core/peerconf.h"
#include "../core/reach.h"
#include "../core/recovery.h"
#include "../core/udsp.h"
#include "node.h"

/* Evaluates an expression with the node's lock held. */
#define LOCKED(node, expr) \
	({ \
		int lx_r_; \
		lx_node_lock(node); \
		lx_r_ = (node)->stopped ? -ESHUTDOWN : (expr); \
		lx_node_unlock(node); \
		lx_r_; \
	})

/* ---- memory -------------------------------------------------------------------------- */

int lx_memory_add(struct lx_node *node, void *start, size_t length)
{
	return LOCKED(node, lx_core_memory_add(node->core, start, length));
}

int lx_memory_del(struct lx_node *node, void *start)
{
	return LOCKED(node, lx_core_memory_del(node->core, start));
}

int lx_me_attach(struct lx_node *node, uint32_t portal, const struct lx_id *match,
		 uint64_t match_bits, uint64_t ignore_bits, enum lx_unlink unlink,
		 enum lx_me_pos pos, struct lx_handle *ret_me)
{
	struct lx_me *me;
	int r;

	if (portal == LX_PORTAL_RESERVED)
		return -EINVAL;
	lx_node_lock(node);
	r = node->core->stopping ? -ESHUTDOWN
				 : lx_portal_attach(node->core, portal, match, match_bits,
						    ignore_bits, unlink, pos, &me);
	if (!r)
		*ret_me = me->handle;
	lx_node_unlock(node);
	return r;
}

int lx_me_unlink(struct lx_node *node, struct lx_handle handle)
{
	struct lx_me *me;

	lx_node_lock(node);
	me = lx_me_lookup(node->core, handle);
	if (me)
		lx_me_retire(me);
	lx_node_unlock(node);
	return me ? 0 : -ENOENT;
}

int lx_md_attach(struct lx_node *node, struct lx_handle me_handle, const struct lx_md_desc *desc,
		 enum lx_unlink unlink, struct lx_handle *ret_md)
{
	struct lx_portal *portal;
	struct lx_me *me;
	struct lx_md *md;
	int r;

	lx_node_lock(node);
	me = lx_me_lookup(node->core, me_handle);
	if (node->core->stopping)
		r = -ESHUTDOWN;
	else if (!me)
		r = -ENOENT;
	else
		r = me->md ? -EBUSY : lx_md_new(node->core, me, desc, unlink, &md);
	if (!r) {
		/* Waiting messages may exhaust MD and ME before this returns. */
		portal = me->portal;
		*ret_md = md->handle;
		lx_parse_resume(node->core, portal);
	}
	lx_node_unlock(node);
	return r;
}

int lx_md_bind(struct lx_node *node, const struct lx_md_desc *desc, enum lx_unlink unlink,
	       struct lx_handle *ret_md)
{
	struct lx_md *md;
	int r;

	lx_node_lock(node);
	r = node->core->stopping ? -ESHUTDOWN : lx_md_new(node->core, NULL, desc, unlink, &md);
	if (!r)
		*ret_md = md->handle;
	lx_node_unlock(node);
	return r;
}

int lx_md_unlink(struct lx_node *node, struct lx_handle handle)
{
	struct lx_md *md;

	lx_node_lock(node);
	md = lx_md_lookup(node->core, handle);
	if (md)
		lx_md_retire(md);
	lx_node_unlock(node);
	return md ? 0 : -ENOENT;
}

int lx_portal_set_lazy(struct lx_node *node, uint32_t portal, bool lazy)
{
	if (portal >= LX_PORTALS || portal == LX_PORTAL_RESERVED)
		return -EINVAL;
	lx_node_lock(node);
	lx_parse_lazy_set(node->core, &node->core->portal[portal], lazy);
	lx_node_unlock(node);
	return 0;
}

/* ---- messages --------------------------------------------------------------------------- */

int lx_put(struct lx_node *node, const struct lx_nid *self, struct lx_handle handle, bool ack,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	   uint64_t hdr_data)
{
	struct lx_md *md;
	int r;

	lx_node_lock(node);
	md = lx_md_lookup(node->core, handle);
	r = md ? lx_msg_put(node->core, self, md, ack, target, portal, match_bits, offset,
			    hdr_data, false)
	       : -ENOENT;
	lx_node_unlock(node);
	return r;
}

int lx_get(struct lx_node *node, const struct lx_nid *self, struct lx_handle handle,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset)
{
	struct lx_md *md;
	int r;

	lx_node_lock(node);
	md = lx_md_lookup(node->core, handle);
	r = md ? lx_msg_get(node->core, self, md, target, portal, match_bits, offset, false)
	       : -ENOENT;
	lx_node_unlock(node);
	return r;
}

/* ---- probes: the core's completion becomes a call without the lock ------------------------ */

struct probe_call {
	struct lx_call call;
	struct lx_node *node;
	lx_probe_fn fn;
	void *arg;
	int status;
	struct lx_peer_info *info;
};

static void run_probe(struct lx_call *call)
{
	struct probe_call *p = lx_container_of(call, struct probe_call, call);

	p->fn(p->status, p->info, p->arg);
	free(p->info);
}

static void on_probe(int status, struct lx_peer_info *info, void *arg)
{
	struct probe_call *p = arg;

	p->status = status;
	p->info = info;
	lx_node_call(p->node, &p->call);
}

static struct probe_call *probe_call_new(struct lx_node *node, lx_probe_fn fn, void *arg)
{
	struct probe_call *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->call.run = run_probe;
	p->call.what = "completion of a probe";
	p->call.function = fn;
	p->node = node;
	p->fn = fn;
	p->arg = arg;
	return p;
}

int lx_ping(struct lx_node *node, const struct lx_id *target, const struct lx_nid *source,
	    unsigned int timeout_ms, lx_probe_fn fn, void *arg)
{
	struct probe_call *p = probe_call_new(node, fn, arg);
	int r;

	if (!p)
		return -ENOMEM;
	r = LOCKED(node, lx_probe_ping(node->core, target, source, timeout_ms, on_probe, p));
	if (r)
		free(p);
	return r;
}

int lx_discover(struct lx_node *node, const struct lx_nid *nid, bool force, lx_probe_fn fn,
		void *arg)
{
	struct probe_call *p = probe_call_new(node, fn, arg);
	int r;

	if (!p)
		return -ENOMEM;
	r = LOCKED(node, lx_probe_discover(node->core, nid, force, on_probe, p));
	if (r)
		free(p);
	return r;
}

int lx_reach_explain(struct lx_node *node, const struct lx_nid *nid, const struct lx_nid *source,
		     char *buf, size_t size)
{
	return LOCKED(node, lx_reach_why(node->core, nid, source, buf, size));
}

int lx_dist(struct lx_node *node, const struct lx_nid *nid)
{
	return LOCKED(node, lx_route_distance(node->core, nid));
}

void lx_primary_nid(struct lx_node *node, const struct lx_nid *nid, struct lx_nid *ret_primary)
{
	lx_node_lock(node);
	lx_peer_primary_of(node->core, nid, ret_primary);
	lx_node_unlock(node);
}

/* ---- routes, peers, routing ------------------------------------------------------------------ */

int lx_route_add(struct lx_node *node, const struct lx_conf_route *route)
{
	return LOCKED(node, lx_route_new(node->core, route));
}

int lx_route_del(struct lx_node *node, uint32_t net, const struct lx_nid *gateway)
{
	return LOCKED(node, lx_route_delete(node->core, net, gateway));
}

int lx_peer_add(struct lx_node *node, const struct lx_conf_peer *peer)
{
	return LOCKED(node, lx_peerconf_add(node->core, peer));
}

int lx_peer_del(struct lx_node *node, const struct lx_conf_peer *peer, bool force)
{
	return LOCKED(node, lx_peerconf_del(node->core, peer, force));
}

static int peer_set(struct lx_core *core, const struct lx_nid *nid, const char *name,
		    int64_t value)
{
	bool health = !strcmp(name, "health");
	struct lx_peer_ni *pni = NULL;
	struct lx_peer *peer;

	if (!health && strcmp(name, "state"))
		return -EOPNOTSUPP;
	if (value < 0 || value > (health ? LX_HEALTH_MAX : UINT32_MAX))
		return -ERANGE;
	if (health && lx_nid_is_any(nid)) {
		lx_health_set_peers(core, value);
		return 0;
	}
	pni = lx_peer_ni_lookup(core, nid);
	if (!pni)
		return -ENOENT;
	if (health) {
		lx_health_set_peer(core, pni, value);
		return 0;
	}
	peer = lx_peer_of(pni);
	peer->state = (peer->state & LX_PEER_STEPS) | (value & ~LX_PEER_STEPS);
	return 0;
}

int lx_peer_set(struct lx_node *node, const struct lx_nid *nid, const char *name, int64_t value)
{
	return LOCKED(node, peer_set(node->core, nid, name, value));
}

int lx_recovery_list(struct lx_node *node, struct lx_recovery_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, lx_recovery_describe(node->core, ret_list, ret_n));
}

int lx_udsp_add(struct lx_node *node, const struct lx_conf_udsp *udsp)
{
	return LOCKED(node, lx_udsp_new(node->core, udsp));
}

int lx_udsp_del(struct lx_node *node, int32_t index)
{
	return LOCKED(node, lx_udsp_delete(node->core, index));
}

int lx_routing_set(struct lx_node *node, bool enable)
{
	return LOCKED(node, lx_monitor_route(node->core, enable, false));
}

static int announce(struct lx_core *core, const struct lx_nid *nid, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = lx_announce_add(core, &nid[i]);
	lx_announce_work(core);
	return r;
}

int lx_announce(struct lx_node *node, const struct lx_nid *nid, size_t n)
{
	return LOCKED(node, announce(node->core, nid, n));
}

int lx_neighbour_list(struct lx_node *node, struct lx_neighbour_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, lx_announce_describe(node->core, ret_list, ret_n));
}

int lx_buffers_set(struct lx_node *node, const int64_t totals[LX_POOLS])
{
	return LOCKED(node, lx_credit_pools_resize(node->core, totals));
}

/* ---- state ------------------------------------------------------------------------------- */

int lx_ni_list(struct lx_node *node, struct lx_ni_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, (lx_count_refresh(node->core),
			     lx_ni_describe_all(node->core, ret_list, ret_n)));
}

int lx_peer_list(struct lx_node *node, struct lx_peer_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, (lx_count_refresh(node->core),
			     lx_peer_describe_all(node->core, ret_list, ret_n)));
}

int lx_route_list(struct lx_node *node, struct lx_route_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, lx_route_describe_all(node->core, ret_list, ret_n));
}

int lx_udsp_list(struct lx_node *node, struct lx_conf_udsp **ret_list, size_t *ret_n)
{
	return LOCKED(node, lx_udsp_describe_all(node->core, ret_list, ret_n));
}

int lx_peer_find(struct lx_node *node, const struct lx_nid *nid, struct lx_peer_info **ret_peer)
{
	struct lx_peer_ni *pni;
	int r;

	lx_node_lock(node);
	pni = lx_peer_ni_lookup(node->core, nid);
	lx_count_refresh(node->core);
	r = pni ? lx_peer_describe(lx_peer_of(pni), true, ret_peer) : -ENOENT;
	lx_node_unlock(node);
	return r;
}

struct conn_list {
	struct lx_conn_info *list;
	size_t n;
	bool failed;
};

static int conn_list_add(const struct lx_conn_info *info, void *arg)
{
	struct conn_list *l = arg;

	struct lx_conn_info *to = lx_grow(&l->list, &l->n, sizeof(*to));

	l->failed |= !to;
	if (to)
		*to = *info;
	return l->failed;
}

int lx_conn_list(struct lx_node *node, struct lx_conn_info **ret_list, size_t *ret_n)
{
	struct conn_list l = { 0 };
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_node_lock(node);
	lx_ni_for_each(net, ni, node->core) {
		if (ni->ni.lnd->conns && !l.failed)
			ni->ni.lnd->conns(&ni->ni, NULL, conn_list_add, &l);
	}
	lx_node_unlock(node);
	if (l.failed) {
		free(l.list);
		return -ENOMEM;
	}
	*ret_list = l.list;
	*ret_n = l.n;
	return 0;
}

void lx_routing_get(struct lx_node *node, struct lx_routing_info *ret_info)
{
	lx_node_lock(node);
	lx_pool_describe(node->core, ret_info);
	ret_info->seconds_left = lx_monitor_route_left(node->core);
	lx_node_unlock(node);
}

void lx_stats_get(struct lx_node *node, struct lx_stats *ret_stats)
{
	lx_node_lock(node);
	lx_count_refresh(node->core);
	*ret_stats = node->core->stats;
	lx_node_unlock(node);
}

int lx_refused_list(struct lx_node *node, struct lx_refused_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, lx_refused_describe(node->core, ret_list, ret_n));
}

void lx_stats_reset(struct lx_node *node)
{
	lx_node_lock(node);
	lx_count_reset(node->core);
	lx_node_unlock(node);
}

int lx_disconnect(struct lx_node *node, const struct lx_nid *nid)
{
	struct lx_core_ni *ni;
	struct lx_net *net;
	int n = 0;

	lx_node_lock(node);
	lx_ni_for_each(net, ni, node->core) {
		if (ni->ni.lnd->disconnect)
			n += ni->ni.lnd->disconnect(&ni->ni, lx_nid_is_any(nid) ? NULL : nid);
	}
	lx_node_unlock(node);
	return n;
}

/* ---- fault injection --------------------------------------------------------------------- */

int lx_fault_add(struct lx_node *node, const struct lx_fault_rule *rule)
{
	return LOCKED(node, lx_core_fault_add(node->core, rule));
}

int lx_fault_del(struct lx_node *node, bool delay, const struct lx_nid *src,
		 const struct lx_nid *dst)
{
	return LOCKED(node, lx_core_fault_del(node->core, delay, src, dst));
}

void lx_fault_clear(struct lx_node *node, bool delay)
{
	lx_node_lock(node);
	lx_fault_reset(node->core, delay);
	lx_node_unlock(node);
}

int lx_fault_list(struct lx_node *node, struct lx_fault_info **ret_list, size_t *ret_n)
{
	return LOCKED(node, lx_fault_describe(node->core, ret_list, ret_n));
}

/* ---- tunables ---------------------------------------------------------------------------- */

/* Applies a new value to running NIs; on failure restores the old one. */
static int retune(struct lx_node *node, const void *values)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	for (unsigned int i = 0; i < LX_NODE_LNDS; i++) {
		const struct lx_lnd *lnd = lx_transport_lnds[i];

		if (lnd->tunable_values == values && lnd->conflict && lnd->conflict(values))
			return -EINVAL;
	}
	lx_ni_for_each(net, ni, node->core) {
		if (ni->state == LX_NI_UP && ni->ni.lnd->tunable_values == values)
			return ni->ni.lnd->retune ? ni->ni.lnd->retune(&ni->ni) : 0;
	}
	return 0;
}

static int transport_tunable_set(struct lx_node *node, const struct lx_tunable *t, void *values,
				 const char *value)
{
	char old[32];
	int r;

	if (!t)
		return -ENOENT;
	lx_tunable_format(t, values, old, sizeof(old));
	r = lx_tunable_set(t, values, value);
	if (r)
		return r;
	r = retune(node, values);
	if (r)
		lx_tunable_set(t, values, old);
	return r;
}

int lx_tunable_write(struct lx_node *node, const char *module, const char *name, const char *value)
{
	const struct lx_tunable *table;
	void *values;
	int r;

	module = lx_modparam_module(module, name);
	lx_node_lock(node);
	if (!lx_transport_module(node, module, &table, &values)) {
		r = -ENOENT;
	} else if (values == &node->core->tun) {
		r = lx_core_tunable_set(node->core, name, value);
	} else {
		r = transport_tunable_set(node, lx_tunable_lookup(table, name), values, value);
	}
	lx_node_unlock(node);
	return r;
}

void lx_tunable_each(struct lx_node *node,
		     int (*fn)(const char *module, const struct lx_tunable *t, const char *value,
			       void *arg),
		     void *arg)
{
	static const char *const modules[] = { "lnet", "tcp", "o2ib" };
	const struct lx_tunable *t;
	char value[32];
	void *values;

	for (unsigned int i = 0; i < LX_ARRAY_LEN(modules); i++) {
		lx_transport_module(node, modules[i], &t, &values);
		for (; t->name; t++) {
			lx_node_lock(node);
			lx_tunable_format(t, values, value, sizeof(value));
			lx_node_unlock(node);
			if (fn(modules[i], t, value, arg))
				return;
		}
	}
}
