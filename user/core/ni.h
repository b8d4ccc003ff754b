/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local nets and NIs.
 *
 *	 lx_core_ni_start()     transport up             lx_core_ni_stop()
 *	     │                                                │
 *	     ▼                                                ▼
 *	 STARTING ──startup() ok──▶ UP ──shutdown() called──▶ STOPPING
 *	     └──────error──▶ freed       lx_lnd_stopped() ──▶ STOPPED, freed when the
 *	                                                      last message lets go
 */
#ifndef LX_CORE_NI_H
#define LX_CORE_NI_H

#include <internal/lnd.h>
#include <lnetx/conf.h>

#include "../base/list.h"
#include "../base/queue.h"
#include "down.h"
#include "health.h"

struct lx_core;

/* A local net. Owner: core->nets, while it has NIs. */
struct lx_net {
	struct lx_list link;
	uint32_t id;
	struct lx_list nis;      /* of lx_core_ni */
	uint32_t priority;       /* of policies (udsp.h); 0 best */
	uint64_t seq;            /* last used, for round robin */
	uint64_t last_alive_ns;  /* router: last ping, or message to forward */
};

enum lx_ni_state { LX_NI_STARTING, LX_NI_UP, LX_NI_STOPPING, LX_NI_STOPPED };

/* A local NI. Owner: its net; messages hold references. */
struct lx_core_ni {
	struct lx_ni ni; /* what the transport sees */
	struct lx_net *net;
	struct lx_list link;
	enum lx_ni_state state;
	unsigned int refs;
	bool by_nid;        /* configured by its NID */
	/* As given; ni.tun and ni.lnd_tun have what the transport chose or adjusted. */
	struct lx_ni_tunables given_tun;
	struct lx_lnd_tunables given_lnd_tun;
	enum lx_down_why link_down; /* as the transport says */
	bool silent;        /* router: not pinged through it for too long */
	bool worn;          /* health dropped to 0 and is not yet full again */
	int32_t tx_credits, tx_credits_min;
	struct lx_queue tx_queue; /* of lx_core_msg that wait for a credit */
	unsigned int tx_forwarding; /* forwarded messages that have a share (origin.h) */
	uint32_t priority; /* as of its net */
	uint64_t seq;
	struct lx_traffic traffic;
	struct lx_ni_health health;
	struct lx_recovery recovery;
	uint64_t network_fault_ns; /* health.c */
	struct lx_cause down;
};

static inline struct lx_core_ni *lx_core_ni(struct lx_ni *ni)
{
	return lx_container_of(ni, struct lx_core_ni, ni);
}

/* Status in ping information (lnet.md 12.2). */
static inline uint32_t lx_ni_status(const struct lx_core_ni *ni)
{
	return ni->link_down || ni->silent || ni->worn ? LX_NI_STATUS_DOWN : LX_NI_STATUS_UP;
}

struct lx_net *lx_net_lookup(struct lx_core *core, uint32_t id);
/* Finds running NIs only. */
struct lx_core_ni *lx_ni_lookup(struct lx_core *core, const struct lx_nid *nid);
bool lx_ni_is_local_nid(struct lx_core *core, const struct lx_nid *nid);

/**
 * lx_ni_start - create an NI in its net and start its transport; a step of lx_core_ni_start()
 * Returns 0, 1: it got the tunables of the net's first NI instead of the requested ones, or
 * an error of lx_core_ni_start().
 */
int lx_ni_start(struct lx_core *core, const struct lx_lnd *lnd, struct lx_env *env,
		const struct lx_conf_ni *conf, struct lx_core_ni **ret_ni);

/* Another one, after others were told of it: its link may be down from the start. */
void lx_ni_started(struct lx_core *core, struct lx_core_ni *ni);

/* Steps of lx_core_ni_stop(): hide it from lookups. */
void lx_ni_stop(struct lx_core_ni *ni);
/* Removes it from its net, which goes with its last NI. Returns true if it was the last. */
bool lx_ni_leave_net(struct lx_core_ni *ni);

void lx_ni_get(struct lx_core_ni *ni);
void lx_ni_put(struct lx_core_ni *ni);

/* For every NI of every net; the body must not remove NIs. */
#define lx_ni_for_each(netp, nip, core) \
	lx_list_for_each(netp, &(core)->nets, link) \
		lx_list_for_each(nip, &(netp)->nis, link)

/* The status of an NI in ping information has changed. */
void lx_ni_status_set(struct lx_core *core, struct lx_core_ni *ni, bool silent);
void lx_ni_set_worn(struct lx_core *core, struct lx_core_ni *ni, bool worn);

int lx_ni_describe_all(struct lx_core *core, struct lx_ni_info **ret_list, size_t *ret_n);

#endif
