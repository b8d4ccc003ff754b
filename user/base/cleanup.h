/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cleanup attributes for locals. */
#ifndef LX_BASE_CLEANUP_H
#define LX_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define LX_CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void lx_free_p(void *p)
{
	free(*(void **)p);
}
#define LX_AUTO_FREE LX_CLEANUP(lx_free_p)

static inline void lx_close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define LX_AUTO_CLOSE LX_CLEANUP(lx_close_p)

#endif
