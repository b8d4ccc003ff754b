/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The addresses that messages to be forwarded come from. One machine may claim as many NIDs as it
 * likes, each with router credits of its own. So what forwarding needs is shared by address: the
 * router buffers, and an NI's transmit credits, which messages to nobody hold for as long as the
 * transport looks for them.
 *
 * An address may have a share of each, and at least as many as a single peer may have: one NID
 * never waits for its share. While messages of all addresses have taken less than half, it may
 * have more: NAT, or a few busy nodes. credit.c takes and gives.
 */
#ifndef LX_CORE_ORIGIN_H
#define LX_CORE_ORIGIN_H

#include <lnetx/info.h>

#include "../base/hash.h"
#include "../base/list.h"

struct lx_core;
struct lx_rx_from;

/* Of all there are. */
#define LX_ORIGIN_SHARE 8

enum lx_share_of {
	LX_SHARE_JOINED, /* router credits of a stranger's messages (lnd.h), as of a single peer */
	LX_SHARE_TX,     /* transmit credits of NIs, or waiting for a peer NI's */
	LX_SHARE_POOL,   /* a buffer of this pool, and those after it */
	LX_SHARES = LX_SHARE_POOL + LX_POOLS
};

struct lx_share {
	unsigned int held;    /* messages that have it */
	struct lx_list queue; /* of lx_core_msg that wait until one of these ends */
};

/* Owner: its messages; the last one frees it. */
struct lx_origin {
	struct lx_hash_node node; /* in core->origins, by address */
	struct lx_nid address;    /* as in struct lx_rx_from */
	unsigned int refs;
	struct lx_list waiting; /* as a sender in queues for transmit credits (queue.h) */
	struct lx_share share[LX_SHARES];
};

/* The address of a message; hold it until lx_origin_put(). -ENOMEM. */
int lx_origin_get(struct lx_core *core, const struct lx_rx_from *from,
		  struct lx_origin **ret_origin);
/* NULL is fine. */
void lx_origin_put(struct lx_core *core, struct lx_origin *origin);

#endif
