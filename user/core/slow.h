/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Next hops that do not take what they are sent. Messages for one hold the router credits of who
 * sends them: a server that has a few clients that do not read has none left soon, and then waits
 * for these with all that it sends to others.
 *
 *	a message waits for a second, and others behind it
 *	  ─▶ slow: its messages are kept in extra memory, and hold nothing of their senders
 *	no memory is left, and others wait behind one that has waited for 10 s
 *	  ─▶ refused: what waits for it is dropped, and so is what follows
 *	it has taken all that it was sent
 *	  ─▶ as before
 */
#ifndef LX_CORE_SLOW_H
#define LX_CORE_SLOW_H

#include <stdbool.h>
#include <stddef.h>

struct lx_core;
struct lx_core_msg;
struct lx_peer_ni;

/* Of the memory, tunable router_store, one next hop gets this part. */
#define LX_SLOW_SHARE 8

/* Of a peer NI. */
struct lx_slow {
	bool is, refused;
	bool due; /* to be refused */
	size_t bytes; /* of messages that are kept */
};

/* Looks for them; called once a second. */
void lx_slow_second(struct lx_core *core);
/*
 * A forwarded message has its path, and is kept if the next hop is slow. False: the next hop is
 * refused, and the message is to be dropped.
 */
bool lx_slow_admit(struct lx_core_msg *msg);
/* The message has ended: its next hop may have taken everything. */
void lx_slow_ended(struct lx_core_msg *msg);

#endif
