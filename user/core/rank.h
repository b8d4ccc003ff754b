/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of several NIs to use (lnet.md 11.2). */
#ifndef LX_CORE_RANK_H
#define LX_CORE_RANK_H

#include <lnetx/nid.h>

struct lx_core_ni;
struct lx_net;
struct lx_peer_net;
struct lx_peer_ni;

/* In a better_*(): decides by one criterion; continues with the next if it is a tie. */
#define LX_PREFER_MORE(a, b) \
	do { \
		if ((a) != (b)) \
			return (a) > (b); \
	} while (0)
#define LX_PREFER_LESS(a, b) LX_PREFER_MORE(b, a)

/* NIDs of NIs and peer NIs where earlier attempts to send a message failed. */
#define LX_AVOID_MAX 16
struct lx_avoid {
	unsigned int n;
	struct lx_nid nid[LX_AVOID_MAX];
};

void lx_avoid_add(struct lx_avoid *avoid, const struct lx_nid *nid);
/* @avoid may be NULL. */
bool lx_avoids(const struct lx_avoid *avoid, const struct lx_nid *nid);

/* The best running NI of a local net, or NULL. NIs in @avoid (may be NULL) rank last. */
struct lx_core_ni *lx_rank_best_ni(struct lx_net *net, const struct lx_avoid *avoid);

/*
 * The best of a peer's NIDs on one of its nets; a peer net is never empty.
 * @ni: our NI, if it is chosen already; or NULL
 */
struct lx_peer_ni *lx_rank_best_peer_ni(struct lx_peer_net *net, const struct lx_core_ni *ni,
					const struct lx_avoid *avoid);

/* The health value as a criterion: -1 if down. */
int lx_rank_ni_health(const struct lx_core_ni *ni);
int lx_rank_peer_ni_health(const struct lx_peer_ni *pni);

#endif
