/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by msg.c and parse.c when a message ends, by track.c when a response
 * is overdue, by discover.c when a peer reports an NI down, by core.c when a transport loses a
 * peer NI. Values are fields of NIs and peer NIs; recovery.c serves the queues.
 */
#include "change.h"
#include "core.h"
#include "count.h"
#include "health.h"

static const struct {
	bool local, remote; /* which side is at fault */
	bool resends;
} faults[LX_HSTATUSES] = {
	[LX_HSTATUS_LOCAL_INTERRUPT] = { .local = true, .resends = true },
	[LX_HSTATUS_LOCAL_DROPPED] = { .local = true, .resends = true },
	[LX_HSTATUS_LOCAL_ABORTED] = { .local = true, .resends = true },
	[LX_HSTATUS_LOCAL_NO_ROUTE] = { .local = true, .resends = true },
	[LX_HSTATUS_LOCAL_TIMEOUT] = { .local = true, .resends = true },
	[LX_HSTATUS_LOCAL_ERROR] = { .local = true },
	[LX_HSTATUS_REMOTE_ERROR] = { .remote = true },
	[LX_HSTATUS_REMOTE_DROPPED] = { .remote = true, .resends = true },
	[LX_HSTATUS_REMOTE_TIMEOUT] = { .remote = true },
	[LX_HSTATUS_NETWORK_TIMEOUT] = { .local = true, .remote = true },
};

bool lx_health_is_local(enum lx_hstatus hstatus)
{
	return faults[hstatus].local && !faults[hstatus].remote;
}

bool lx_health_resends(enum lx_hstatus hstatus)
{
	return faults[hstatus].resends;
}

static uint32_t stepped_down(uint32_t value, uint64_t step)
{
	return value > step ? value - step : 0;
}

static uint32_t stepped_up(uint32_t value, uint64_t step)
{
	return value + step < LX_HEALTH_MAX ? value + step : LX_HEALTH_MAX;
}

/* ---- queues ---------------------------------------------------------------------- */

/* Restarts the back-off: the first ping is due in a second. */
static void enqueue(struct lx_core *core, struct lx_list *queue, struct lx_recovery *recovery,
		    uint32_t *ping_count, uint64_t *next_ping)
{
	if (!lx_list_empty(&recovery->link))
		return;
	lx_list_append(queue, &recovery->link);
	*ping_count = 0;
	*next_ping = lx_core_now(core) / LX_S_NS + 1;
}

/* ---- local NIs ------------------------------------------------------------------- */

static void ni_set(struct lx_core_ni *ni, uint32_t value)
{
	struct lx_core *core = ni->ni.core;

	if (value == ni->health.value)
		return;
	ni->health.value = value;
	if (!value)
		lx_ni_set_worn(core, ni, true);
	else if (value == LX_HEALTH_MAX)
		lx_ni_set_worn(core, ni, false);
	lx_change_policy(core, NULL, LX_NET_U32_ANY);
	if (value == LX_HEALTH_MAX)
		lx_list_del(&ni->recovery.link);
	else
		enqueue(core, &core->recovery_nis, &ni->recovery, &ni->health.ping_count,
			&ni->health.next_ping);
}

/* 0@lo has no health, and an NI that is stopping needs none. */
static bool has_health(const struct lx_core_ni *ni)
{
	return !ni->ni.lnd->no_credits && ni->state == LX_NI_UP;
}

void lx_health_raise_ni(struct lx_core_ni *ni)
{
	if (has_health(ni))
		ni_set(ni, stepped_up(ni->health.value,
				      ni->ni.core->tun.lnet_health_sensitivity));
}

void lx_health_set_ni(struct lx_core_ni *ni, unsigned int value)
{
	if (has_health(ni))
		ni_set(ni, value);
}

/* ---- peer NIs -------------------------------------------------------------------- */

static bool is_gateway(const struct lx_peer_ni *pni)
{
	return !lx_list_empty(&lx_peer_of(pni)->routes);
}

/* A gateway has the highest sensitivity of its routes. */
static uint64_t sensitivity(struct lx_core *core, const struct lx_peer_ni *pni)
{
	const struct lx_route *route;
	int64_t most = 0;

	if (!core->tun.lnet_health_sensitivity || !is_gateway(pni))
		return core->tun.lnet_health_sensitivity;
	lx_list_for_each(route, &lx_peer_of(pni)->routes, gateway_link) {
		if (route->health_sensitivity > most)
			most = route->health_sensitivity;
	}
	return most;
}

static void peer_set(struct lx_core *core, struct lx_peer_ni *pni, uint32_t value)
{
	if (value == pni->health.value)
		return;
	pni->health.value = value;
	if (value == LX_HEALTH_MAX)
		lx_list_del(&pni->recovery.link);
	if (core->routing == LX_ROUTING_OFF)
		return;
	/* Forwarded messages may have another next hop now. */
	if (is_gateway(pni))
		lx_change_policy(core, NULL, LX_NET_U32_ANY);
	else
		lx_peer_policy_changed(lx_peer_of(pni));
}

static void peer_enqueue(struct lx_core *core, struct lx_peer_ni *pni)
{
	if (pni->health.value < LX_HEALTH_MAX)
		enqueue(core, &core->recovery_peers, &pni->recovery, &pni->health.ping_count,
			&pni->health.next_ping);
}

static void peer_lower(struct lx_core *core, struct lx_peer_ni *pni, uint64_t n)
{
	if (!pni->net)
		return;
	peer_set(core, pni, stepped_down(pni->health.value, n * sensitivity(core, pni)));
	/* One that was never alive is not recovered, nor one of our own (lnet.md 13.3). */
	if (pni->last_alive_ns && !lx_ni_is_local_nid(core, &pni->nid))
		peer_enqueue(core, pni);
}

void lx_health_lower_peer(struct lx_core *core, struct lx_peer_ni *pni)
{
	peer_lower(core, pni, 1);
}

void lx_health_lost_peer(struct lx_core *core, struct lx_peer_ni *pni)
{
	if (pni->health.value == LX_HEALTH_MAX && pni->net && lx_peer_of(pni)->n_nis > 1)
		peer_lower(core, pni, 1);
}

void lx_health_set_peer(struct lx_core *core, struct lx_peer_ni *pni, unsigned int value)
{
	peer_set(core, pni, value);
	peer_enqueue(core, pni);
}

void lx_health_set_peers(struct lx_core *core, unsigned int value)
{
	struct lx_peer_net *net;
	struct lx_peer_ni *pni;
	struct lx_peer *peer;

	lx_list_for_each(peer, &core->peers, link) {
		lx_peer_ni_for_each(net, pni, peer)
			lx_health_set_peer(core, pni, value);
	}
}

void lx_health_off(struct lx_core *core)
{
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_ni_for_each(net, ni, core)
		lx_health_set_ni(ni, LX_HEALTH_MAX);
	lx_health_set_peers(core, LX_HEALTH_MAX);
}

/* ---- messages -------------------------------------------------------------------- */

static void heard(struct lx_core *core, struct lx_peer_ni *pni)
{
	/* One message from a router shows that it is fully healthy. */
	bool at_once = core->routing != LX_ROUTING_OFF || is_gateway(pni);

	peer_set(core, pni,
		 at_once ? LX_HEALTH_MAX
			 : stepped_up(pni->health.value, sensitivity(core, pni)));
	peer_enqueue(core, pni);
}

void lx_health_ok(struct lx_core_ni *ni, struct lx_peer_ni *from)
{
	if (ni->health.value < LX_HEALTH_MAX)
		lx_health_raise_ni(ni);
	if (from && from->health.value < LX_HEALTH_MAX && from->net)
		heard(ni->ni.core, from);
}

/*
 * Whether a fault costs our NI health. A connection that times out takes many messages with
 * it at once: to our NI that is one fault of the network, or one silent peer could wear out
 * an NI that works for all others.
 */
static bool blames_ni(struct lx_core_ni *ni, enum lx_hstatus hstatus)
{
	uint64_t now;

	if (!ni || !faults[hstatus].local || !has_health(ni))
		return false;
	if (hstatus != LX_HSTATUS_NETWORK_TIMEOUT)
		return true;
	now = lx_core_now(ni->ni.core);
	if (ni->network_fault_ns && now - ni->network_fault_ns < LX_S_NS)
		return false;
	ni->network_fault_ns = now;
	return true;
}

static bool is_worth_lowering(const struct lx_core *core, const struct lx_peer_ni *pni)
{
	return pni->net && (lx_peer_of(pni)->n_nis > 1 || is_gateway(pni) ||
			    core->routing != LX_ROUTING_OFF);
}

void lx_health_fault(struct lx_core *core, struct lx_core_ni *ni, struct lx_peer_ni *pni,
		     enum lx_hstatus hstatus, uint64_t n)
{
	lx_count_fault(core, ni, pni, hstatus, n);
	if (blames_ni(ni, hstatus)) {
		uint64_t times = hstatus == LX_HSTATUS_NETWORK_TIMEOUT ? 1 : n;

		ni_set(ni, stepped_down(ni->health.value,
					times * core->tun.lnet_health_sensitivity));
	}
	if (pni && faults[hstatus].remote && is_worth_lowering(core, pni))
		peer_lower(core, pni, n);
}

/* Lost offloaded messages cost the same as messages that the core sent. */
void lx_lnd_lost(struct lx_ni *ni, const struct lx_nid *next_hop, const struct lx_type_counts *n,
		 uint64_t payload, enum lx_hstatus hstatus)
{
	struct lx_peer_ni *pni = lx_peer_ni_lookup(ni->core, next_hop);
	uint64_t lost = lx_count_offload_lost(lx_core_ni(ni), pni, n, payload);

	if (lost)
		lx_health_fault(ni->core, lx_core_ni(ni), pni, hstatus, lost);
}
