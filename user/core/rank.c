/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by select.c for both ends of a path and by route.c for gateways.
 *
 * Each better_*() is one ordered list of lnet.md 11.2, one line per criterion; a
 * line counts only if those above are a tie. Criteria that need health values,
 * user-defined policies (UDSP) or NUMA distances keep their numbered place as a
 * comment until these exist.
 */
#include "core.h"
#include "credit.h"
#include "rank.h"

static bool better_ni(const struct lx_core_ni *a, const struct lx_core_ni *b)
{
	LX_PREFER_LESS(a->link_down, b->link_down); /* 1 no fatal error */
	/* 2 health */
	/* 3 UDSP priority */
	/* 4 device (GPU-direct) priority */
	/* 5 NUMA distance */
	LX_PREFER_MORE(a->tx_credits, b->tx_credits); /* 6 */
	return a->seq < b->seq; /* 7 */
}

static bool better_peer_ni(const struct lx_peer_ni *a, const struct lx_peer_ni *b)
{
	LX_PREFER_MORE(lx_peer_ni_up(a), lx_peer_ni_up(b)); /* 1 health: down is none */
	/* 2 UDSP priority */
	/* 3 the chosen local NI is on its preferred list */
	LX_PREFER_MORE(lx_credit_now(a->tx), lx_credit_now(b->tx)); /* 4 */
	return a->seq < b->seq; /* 5 */
}

struct lx_core_ni *lx_rank_best_ni(struct lx_net *net)
{
	struct lx_core_ni *ni, *best = NULL;

	lx_list_for_each(ni, &net->nis, link) {
		if (ni->state == LX_NI_UP && (!best || better_ni(ni, best)))
			best = ni;
	}
	return best;
}

struct lx_peer_ni *lx_rank_best_peer_ni(struct lx_peer_net *net)
{
	struct lx_peer_ni *pni, *best = NULL;

	lx_list_for_each(pni, &net->nis, link) {
		if (!best || better_peer_ni(pni, best))
			best = pni;
	}
	return best;
}
