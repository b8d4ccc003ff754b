/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_IO_POLL_H
#define LX_IO_POLL_H

#include <uv.h>

/*
 * libuv stops to poll a descriptor that has an error, a netlink socket that lost messages for
 * example. Call this at the end of a callback, when it has read the error off: it polls on.
 */
static inline void lx_poll_go_on(uv_poll_t *poll, int status, int events, uv_poll_cb fn)
{
	if (status < 0 && !uv_is_closing((uv_handle_t *)poll))
		uv_poll_start(poll, events, fn);
}

#endif
