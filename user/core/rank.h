/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which of several NIs to use (lnet.md 11.2). */
#ifndef LX_CORE_RANK_H
#define LX_CORE_RANK_H

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

/* The best running NI of a local net, or NULL. */
struct lx_core_ni *lx_rank_best_ni(struct lx_net *net);

/* The best of a peer's NIDs on one of its nets; a peer net is never empty. */
struct lx_peer_ni *lx_rank_best_peer_ni(struct lx_peer_net *net);

#endif
