/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local nets and NIs. Owned by the core; core.c starts and stops them and everything that
 * depends on them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change.h"
#include "core.h"
#include "udsp.h"

struct lx_net *lx_net_lookup(struct lx_core *core, uint32_t id)
{
	struct lx_net *net;

	lx_list_for_each(net, &core->nets, link) {
		if (net->id == id)
			return net;
	}
	return NULL;
}

static struct lx_core_ni *ni_find(struct lx_core *core, const struct lx_nid *nid)
{
	struct lx_net *net = lx_net_lookup(core, lx_nid_net(nid));
	struct lx_core_ni *ni;

	if (!net)
		return NULL;
	lx_list_for_each(ni, &net->nis, link) {
		if (lx_nid_eq(&ni->ni.nid, nid))
			return ni;
	}
	return NULL;
}

struct lx_core_ni *lx_ni_lookup(struct lx_core *core, const struct lx_nid *nid)
{
	struct lx_core_ni *ni = ni_find(core, nid);

	return ni && ni->state == LX_NI_UP ? ni : NULL;
}

bool lx_ni_is_local_nid(struct lx_core *core, const struct lx_nid *nid)
{
	return ni_find(core, nid);
}

const struct lx_nid *lx_lnd_own_nid(struct lx_ni *lni, unsigned int i)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, lni->core) {
		if (!i--)
			return &ni->ni.nid;
	}
	return NULL;
}

void lx_ni_get(struct lx_core_ni *ni)
{
	ni->refs++;
}

void lx_ni_put(struct lx_core_ni *ni)
{
	if (!--ni->refs)
		free(ni);
}

/* ---- up --------------------------------------------------------------------------------- */

static int conf_check(const struct lx_conf_ni *conf)
{
	const struct lx_ni_tunables *t = &conf->tun;

	if (t->peer_timeout < LX_UNSET || t->peer_credits < LX_UNSET || !t->peer_credits ||
	    t->peer_buffer_credits < LX_UNSET || t->credits < LX_UNSET || !t->credits)
		return -EINVAL;
	return 0;
}

static struct lx_net *net_obtain(struct lx_core *core, uint32_t id)
{
	struct lx_net *net = lx_net_lookup(core, id);

	if (net)
		return net;
	net = calloc(1, sizeof(*net));
	if (!net)
		return NULL;
	net->id = id;
	lx_list_init(&net->nis);
	net->last_alive_ns = lx_core_now(core);
	lx_udsp_apply_net(core, net);
	lx_list_append(&core->nets, &net->link);
	return net;
}

static void net_free_if_empty(struct lx_net *net)
{
	if (!lx_list_empty(&net->nis))
		return;
	lx_list_del(&net->link);
	free(net);
}

/* True if there is an NI with the same net and interface, or the same NID. */
static bool ni_exists(struct lx_net *net, const struct lx_conf_ni *conf)
{
	struct lx_core_ni *ni;

	lx_list_for_each(ni, &net->nis, link) {
		if (conf->ifname[0] && !strcmp(ni->ni.ifname, conf->ifname) &&
		    lx_nid_is_any(&conf->nid))
			return true;
		if (lx_nid_eq(&ni->ni.nid, &conf->nid))
			return true;
	}
	return false;
}

static struct lx_core_ni *ni_new(struct lx_core *core, const struct lx_lnd *lnd,
				 struct lx_env *env, const struct lx_conf_ni *conf)
{
	struct lx_core_ni *ni = calloc(1, sizeof(*ni));

	if (!ni)
		return NULL;
	ni->refs = 1;
	lx_list_init(&ni->link);
	lx_queue_init(&ni->tx_queue);
	lx_list_init(&ni->recovery.link);
	ni->ni.lnd = lnd;
	ni->ni.core = core;
	ni->ni.env = env;
	ni->ni.net = conf->net;
	ni->ni.nid = conf->nid;
	ni->by_nid = !lx_nid_is_any(&conf->nid);
	memcpy(ni->ni.ifname, conf->ifname, sizeof(ni->ni.ifname));
	ni->ni.tun = ni->given_tun = conf->tun;
	ni->ni.lnd_tun = ni->given_lnd_tun = conf->lnd_tun;
	ni->ni.dev_cpt = -1;
	ni->ni.incarnation_ns = core->ops->wall(core->ops_arg);
	return ni;
}

/*
 * A net has one set of tunables, its first NI's, because credits belong to peers on the net.
 * Returns true if others were requested.
 */
static bool take_net_tunables(const struct lx_net *net, struct lx_core_ni *ni)
{
	const struct lx_core_ni *first = lx_list_first(&net->nis, struct lx_core_ni, link);
	const int32_t *have = first ? (const int32_t *)&first->ni.tun : NULL;
	int32_t *want = (int32_t *)&ni->ni.tun;
	bool other = false;

	for (size_t i = 0; first && i < sizeof(ni->ni.tun) / sizeof(int32_t); i++) {
		other = other || (want[i] != LX_UNSET && want[i] != have[i]);
		want[i] = have[i];
	}
	if (first)
		ni->given_tun = first->given_tun;
	return other;
}

int lx_ni_start(struct lx_core *core, const struct lx_lnd *lnd, struct lx_env *env,
		const struct lx_conf_ni *conf, struct lx_core_ni **ret_ni)
{
	struct lx_core_ni *ni;
	struct lx_net *net;
	bool other = false;
	int r = -ENOMEM;

	if (core->stopping)
		return -ESHUTDOWN;
	if (conf_check(conf) && !lnd->no_credits)
		return -EINVAL;
	net = net_obtain(core, conf->net);
	if (!net)
		return -ENOMEM;
	if (ni_exists(net, conf))
		return -EEXIST;
	ni = ni_new(core, lnd, env, conf);
	if (ni) {
		other = take_net_tunables(net, ni);
		r = lnd->startup(&ni->ni);
	}
	if (r) {
		if (ni)
			lx_ni_put(ni);
		net_free_if_empty(net);
		return r;
	}
	ni->net = net;
	ni->state = LX_NI_UP;
	ni->tx_credits = ni->tx_credits_min = ni->ni.tun.credits;
	ni->health.value = lnd->no_credits ? 0 : LX_HEALTH_MAX;
	lx_udsp_apply_ni(core, ni); /* its NID is known now */
	lx_list_append(&net->nis, &ni->link);
	*ret_ni = ni;
	return other;
}

/* ---- down ------------------------------------------------------------------------------- */

void lx_ni_stop(struct lx_core_ni *ni)
{
	ni->state = LX_NI_STOPPING;
	lx_list_del(&ni->link);
	lx_list_del(&ni->recovery.link);
}

bool lx_ni_leave_net(struct lx_core_ni *ni)
{
	struct lx_net *net = ni->net;
	bool last = lx_list_empty(&net->nis);

	ni->net = NULL;
	net_free_if_empty(net);
	return last;
}

void lx_lnd_stopped(struct lx_ni *lni)
{
	struct lx_core_ni *ni = lx_core_ni(lni);
	struct lx_core *core = lni->core;

	ni->state = LX_NI_STOPPED;
	core->ops->ni_stopped(lni, core->ops_arg);
	lx_ni_put(ni);
}

/* ---- status ------------------------------------------------------------------------------- */

/* Updates status and reason from link_down, silent and worn. */
static void status_update(struct lx_core *core, struct lx_core_ni *ni)
{
	bool was_down = ni->down.why;

	if (ni->link_down)
		lx_down_set(core, &ni->down, ni->link_down, 0, LX_NET_U32_ANY);
	else if (ni->silent)
		lx_down_set(core, &ni->down, LX_DOWN_SILENT, 0, ni->ni.net);
	else if (ni->worn)
		lx_down_set(core, &ni->down, LX_DOWN_HEALTH, 0, LX_NET_U32_ANY);
	else
		lx_down_clear(&ni->down);
	if (was_down == !!ni->down.why)
		return;
	if (was_down)
		lx_change_tell(core, LX_CHANGE_NI_UP, &ni->ni.nid, ni->ni.net, "interface=%s",
			       ni->ni.ifname);
	else
		lx_change_tell(core, LX_CHANGE_NI_DOWN, &ni->ni.nid, ni->ni.net,
			       "interface=%s: %s", ni->ni.ifname, lx_down_str(&ni->down));
	/* At once: the ping that revives an NI is answered before our information is rebuilt. */
	if (core->target.buffer)
		lx_pinginfo_set_status(core->target.buffer->data, &ni->ni.nid, lx_ni_status(ni));
	lx_change_own_info(core);
}

void lx_ni_status_set(struct lx_core *core, struct lx_core_ni *ni, bool silent)
{
	if (ni->silent == silent)
		return;
	ni->silent = silent;
	status_update(core, ni);
}

void lx_ni_set_worn(struct lx_core *core, struct lx_core_ni *ni, bool worn)
{
	if (ni->worn == worn)
		return;
	ni->worn = worn;
	status_update(core, ni);
}

void lx_lnd_link(struct lx_ni *lni, enum lx_down_why why)
{
	struct lx_core_ni *ni = lx_core_ni(lni);

	if (ni->state != LX_NI_UP && ni->state != LX_NI_STARTING)
		return;
	ni->link_down = why;
	ni->health.fatal = why != LX_DOWN_NO;
	if (ni->state == LX_NI_UP)
		status_update(lni->core, ni);
}

void lx_ni_started(struct lx_core *core, struct lx_core_ni *ni)
{
	status_update(core, ni);
}

/* ---- upcalls of transports ----------------------------------------------------------------- */

void lx_lnd_change(struct lx_ni *ni, const struct lx_change *change)
{
	ni->core->ops->change(change, ni->core->ops_arg);
}

uint64_t lx_lnd_now(struct lx_ni *ni)
{
	return lx_core_now(ni->core);
}

unsigned int lx_lnd_timeout(struct lx_ni *ni)
{
	return lx_core_tunables_lnd_timeout(ni->core);
}

/* ---- description ---------------------------------------------------------------------------- */

static int count_conn(const struct lx_conn_info *info, void *arg)
{
	++*(uint32_t *)arg;
	return 0;
}

static void describe(struct lx_core_ni *ni, struct lx_ni_info *ret_info)
{
	struct lx_core *core = ni->ni.core;
	bool lo = ni->ni.lnd->no_credits;

	*ret_info = (struct lx_ni_info){
		.nid = ni->ni.nid,
		.net = ni->ni.net,
		.given = ni->by_nid || !lx_nid_is_nid4(&ni->ni.nid) ? ni->ni.nid : lx_nid_any,
		.up = lx_ni_status(ni) == LX_NI_STATUS_UP,
		.traffic = ni->traffic,
		.health = ni->health,
		.tun = ni->ni.tun,
		.lnd_tunable_names = ni->ni.lnd->ni_tunables,
		.lnd_tun = ni->ni.lnd_tun,
		.dev_cpt = lo ? 0 : ni->ni.dev_cpt,
		.tx_credits = ni->tx_credits,
		.tx_credits_min = ni->tx_credits_min,
		.tx_credits_max = ni->ni.tun.credits,
		.alive_s =
			core->routing == LX_ROUTING_OFF
				? -1
				: (int64_t)((lx_core_now(core) - ni->net->last_alive_ns) / LX_S_NS),
		.refs = ni->refs,
	};
	memcpy(ret_info->ifname, ni->ni.ifname, sizeof(ret_info->ifname));
	lx_down_describe(&ni->down, &ret_info->down);
	lx_udsp_describe_ni(ni, &ret_info->udsp);
	if (ni->ni.lnd->peers)
		ret_info->n_peers = ni->ni.lnd->peers(&ni->ni);
	if (ni->ni.lnd->conns)
		ni->ni.lnd->conns(&ni->ni, NULL, count_conn, &ret_info->n_conns);
}

int lx_ni_describe_all(struct lx_core *core, struct lx_ni_info **ret_list, size_t *ret_n)
{
	struct lx_ni_info *list;
	struct lx_core_ni *ni;
	struct lx_net *net;
	size_t n = 0;

	lx_ni_for_each(net, ni, core)
		n++;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	lx_ni_for_each(net, ni, core) describe(ni, &list[n++]);
	*ret_list = list;
	*ret_n = n;
	return 0;
}
