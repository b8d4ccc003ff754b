/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by select.c for both ends of a path and by route.c for gateways.
 *
 * Each better_*() is one ordered list of lnet.md 11.2, one line per criterion; a
 * line counts only if those above are a tie. Criteria that need NUMA
 * distances keep their numbered place as a comment until these exist. The line
 * without a number is not in the spec: a resent message takes another path if there is one.
 */
#include "core.h"
#include "credit.h"
#include "rank.h"
#include "udsp.h"

#define DOWN (-1)

/* Overwrites the oldest entry when full. */
void lx_avoid_add(struct lx_avoid *avoid, const struct lx_nid *nid)
{
	avoid->nid[avoid->n++ % LX_AVOID_MAX] = *nid;
}

bool lx_avoids(const struct lx_avoid *avoid, const struct lx_nid *nid)
{
	for (unsigned int i = 0; avoid && i < avoid->n && i < LX_AVOID_MAX; i++) {
		if (lx_nid_eq(&avoid->nid[i], nid))
			return true;
	}
	return false;
}

int lx_rank_ni_health(const struct lx_core_ni *ni)
{
	return ni->link_down ? DOWN : (int)ni->health.value;
}

int lx_rank_peer_ni_health(const struct lx_peer_ni *pni)
{
	return lx_peer_ni_up(pni) ? (int)pni->health.value : DOWN;
}

static bool better_ni(const struct lx_core_ni *a, const struct lx_core_ni *b,
		      const struct lx_avoid *avoid)
{
	LX_PREFER_LESS(a->link_down, b->link_down); /* 1 no fatal error */
	LX_PREFER_LESS(lx_avoids(avoid, &a->ni.nid), lx_avoids(avoid, &b->ni.nid));
	LX_PREFER_MORE(a->health.value, b->health.value); /* 2 */
	LX_PREFER_LESS(a->priority, b->priority); /* 3 of policies (UDSP) */
	/* 4 device (GPU-direct) priority */
	/* 5 NUMA distance */
	LX_PREFER_MORE(a->tx_credits, b->tx_credits); /* 6 */
	return a->seq < b->seq; /* 7 */
}

/* @ni: our NI, if it is chosen already; or NULL */
static bool better_peer_ni(const struct lx_peer_ni *a, const struct lx_peer_ni *b,
			   const struct lx_core_ni *ni, const struct lx_avoid *avoid)
{
	LX_PREFER_LESS(lx_avoids(avoid, &a->nid), lx_avoids(avoid, &b->nid));
	LX_PREFER_MORE(lx_rank_peer_ni_health(a), lx_rank_peer_ni_health(b)); /* 1 */
	LX_PREFER_LESS(a->priority, b->priority); /* 2 of policies (UDSP) */
	LX_PREFER_MORE(lx_udsp_prefers_ni(a, ni), lx_udsp_prefers_ni(b, ni)); /* 3 */
	LX_PREFER_MORE(lx_credit_now(a->tx), lx_credit_now(b->tx)); /* 4 */
	return a->seq < b->seq; /* 5 */
}

struct lx_core_ni *lx_rank_best_ni(struct lx_net *net, const struct lx_avoid *avoid)
{
	struct lx_core_ni *ni, *best = NULL;

	lx_list_for_each(ni, &net->nis, link) {
		if (ni->state == LX_NI_UP && (!best || better_ni(ni, best, avoid)))
			best = ni;
	}
	return best;
}

struct lx_peer_ni *lx_rank_best_peer_ni(struct lx_peer_net *net, const struct lx_core_ni *ni,
				       const struct lx_avoid *avoid)
{
	struct lx_peer_ni *pni, *best = NULL;

	lx_list_for_each(pni, &net->nis, link) {
		if (!best || better_peer_ni(pni, best, ni, avoid))
			best = pni;
	}
	return best;
}
