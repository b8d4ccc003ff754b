/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Notifies of changed links or addresses of this machine.
 *
 * It does not say what changed: use netif.h to find out. So a burst of changes is one
 * call, and a message lost by the kernel does no harm.
 */
#ifndef LX_IO_NETWATCH_H
#define LX_IO_NETWATCH_H

#include "env.h"

struct lx_netwatch;

/**
 * lx_netwatch_new - watch from now on
 * @loop: where to watch
 * @fn: called on the loop's thread, without the node lock
 * The node lock must be held. Returns 0, -ENOMEM, or an errno of netlink.
 */
int lx_netwatch_new(struct lx_loop *loop, void (*fn)(void *arg), void *arg,
		    struct lx_netwatch **ret_watch);

/*
 * Stops watching. Call it on the loop's thread; @fn is not called after it has returned.
 * @closed is called on the loop's thread, with the node lock held, when everything is
 * closed.
 */
void lx_netwatch_free(struct lx_netwatch *watch, void (*closed)(void *arg));

#endif
