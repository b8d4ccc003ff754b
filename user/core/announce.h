/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notifies neighbours that this node starts or stops routing (lnet.md 10.3).
 */
#ifndef LX_CORE_ANNOUNCE_H
#define LX_CORE_ANNOUNCE_H

#include <lnetx/info.h>

struct lx_core;
struct lx_peer;
struct lx_peer_ni;

/* A neighbour has sent a message for others; or it has fetched our ping information. */
void lx_announce_routed(struct lx_core *core, struct lx_peer_ni *from);
void lx_announce_asked(struct lx_core *core, struct lx_peer_ni *from);
/* Two peers were found to be one. */
void lx_announce_absorb(struct lx_peer *to, struct lx_peer *from);

/* Our routing state changes: all neighbours have yet to be told. */
void lx_announce_begin(struct lx_core *core);

/**
 * lx_announce_add - once routing is on, notify a neighbour, known or not, by ping and push
 * Ignores NIDs that are not on a local net. Returns 0, -ENOBUFS too many, -ENOMEM.
 */
int lx_announce_add(struct lx_core *core, const struct lx_nid *nid);

/* One round: notifies the next few neighbours in the queue. */
void lx_announce_work(struct lx_core *core);

/* Drops the queue. */
void lx_announce_stop(struct lx_core *core);

/* Users of this router that delay the end of routing. */
struct lx_announce_users {
	unsigned int untold;  /* do not know yet that routing ends */
	unsigned int sending; /* sent a message for others a moment ago */
	struct lx_nid nid;    /* one of them, preferably an untold one */
};

void lx_announce_users(struct lx_core *core, struct lx_announce_users *ret_users);

/*
 * A user of this router that, since the stop of routing began, refuses connections or has been
 * silent for 5 s, although it was told: what is on its way to it or from it is not waited for.
 */
bool lx_announce_is_gone(const struct lx_peer *peer);

/* As lx_neighbour_list() of lnetx.h. */
int lx_announce_describe(struct lx_core *core, struct lx_neighbour_info **ret_list,
			 size_t *ret_n);

#endif
