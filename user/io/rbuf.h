/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Storage of one router buffer: memory, or a pipe full of references to pages.
 *
 * The core counts router buffers and hands them to transports; it never looks
 * inside. A transport that can splice receives a large payload into the pipe, and
 * the sending transport splices it out again, without a copy. A transport that needs
 * the bytes in memory calls lx_rbuf_memory(), which moves them there. Both kinds of
 * backing are allocated on first use and then kept, so a router's memory is bounded by
 * its pools.
 *
 * The memory of buffers allocated together is contiguous, a slab, which transports
 * prepare as a whole (user/base/region.h). It is freed with the last of them.
 *
 * One thread at a time uses a buffer, the one whose transport has the message, with or
 * without the node lock. Several threads may use buffers of one slab at once.
 * lx_rbuf_new() and lx_rbuf_free() need the lock.
 */
#ifndef LX_IO_RBUF_H
#define LX_IO_RBUF_H

#include <stddef.h>

#include "../base/region.h"

struct lx_rbuf {
	struct lx_rbuf_slab *slab;
	size_t size;    /* maximum payload */
	void *mem;      /* NULL until needed */
	int pipe[2];    /* -1 until needed */
	size_t length;  /* payload bytes in it */
	size_t pipe_at; /* where in the payload the pipe's bytes belong */
	size_t piped;   /* bytes in the pipe; all others are in mem */
};

/* Allocates @n buffers, without backing. Returns 0 or -ENOMEM. */
int lx_rbuf_new(size_t size, unsigned int n, struct lx_rbuf **ret_rbufs);
void lx_rbuf_free(struct lx_rbuf *rbuf);

/* The region that contains its memory. */
struct lx_region *lx_rbuf_region(struct lx_rbuf *rbuf);

/* Discards the content; called when the buffer returns to its pool. */
void lx_rbuf_reset(struct lx_rbuf *rbuf);

/* The memory, lx_rbuf.size bytes; bytes in the pipe stay there. 0 or -ENOMEM. */
int lx_rbuf_reserve(struct lx_rbuf *rbuf, void **ret_mem);

/**
 * lx_rbuf_memory - move the content to memory
 * Empties the pipe. Returns 0 and the start of lx_rbuf.size bytes, -ENOMEM
 * or -EIO.
 */
int lx_rbuf_memory(struct lx_rbuf *rbuf, void **ret_mem);

/*
 * The write end of the pipe, with as many slots as the system grants; or -errno (use
 * memory). Writers update pipe_at and piped.
 */
int lx_rbuf_pipe(struct lx_rbuf *rbuf);

#endif
