/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells that links or addresses of this machine have changed.
 *
 * It does not tell how: whoever cares looks (netif.h). So a burst of changes is one
 * call, and a message lost by the kernel costs nothing.
 */
#ifndef LX_IO_NETWATCH_H
#define LX_IO_NETWATCH_H

#include "env.h"

struct lx_netwatch;

/**
 * lx_netwatch_new - watch from now on
 * @loop: where to watch
 * @fn: called on the loop's thread, the node lock not held
 * The node lock must be held. Returns 0, -ENOMEM, or an errno of netlink.
 */
int lx_netwatch_new(struct lx_loop *loop, void (*fn)(void *arg), void *arg,
		    struct lx_netwatch **ret_watch);

/*
 * Stops; @closed is called on the loop's thread, the node lock held, when nothing
 * of it is left. @fn is not called any more once this has returned to a caller on
 * the loop's thread, the only one that may call it.
 */
void lx_netwatch_free(struct lx_netwatch *watch, void (*closed)(void *arg));

#endif
