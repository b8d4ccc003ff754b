/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Storage of one router buffer: memory, or a pipe full of references to pages.
 *
 * The core counts router buffers and hands them to transports; it never looks
 * inside. A transport that can splice receives a large payload into the pipe, and
 * the sending transport splices it out again, without a copy. Whoever needs bytes
 * in memory calls lx_rbuf_memory(), which moves them there. Both kinds of backing
 * are made on first use and then kept, so a router's memory grows up to what its
 * pools may hold and not beyond.
 *
 * The memory of buffers that were made together is one stretch, a slab, which transports
 * prepare at once (user/base/region.h). It is free when the last of them is.
 *
 * A buffer is used by one thread at a time, the one whose transport has the message; with
 * the node lock or without. Buffers of one slab may be used by several threads at once.
 * lx_rbuf_new() and lx_rbuf_free() need the lock.
 */
#ifndef LX_IO_RBUF_H
#define LX_IO_RBUF_H

#include <stddef.h>

#include "../base/region.h"

struct lx_rbuf {
	struct lx_rbuf_slab *slab;
	size_t size;    /* most payload it takes */
	void *mem;      /* NULL until needed */
	int pipe[2];    /* -1 until needed */
	size_t length;  /* payload bytes in it */
	size_t pipe_at; /* where in the payload the pipe's bytes belong */
	size_t piped;   /* how many the pipe has; all others are in mem */
};

/* Makes @n of them. Returns 0 or -ENOMEM. Allocates no backing yet. */
int lx_rbuf_new(size_t size, unsigned int n, struct lx_rbuf **ret_rbufs);
void lx_rbuf_free(struct lx_rbuf *rbuf);

/* The region that its memory is in. */
struct lx_region *lx_rbuf_region(struct lx_rbuf *rbuf);

/* Forgets the content; called when the buffer goes back to its pool. */
void lx_rbuf_reset(struct lx_rbuf *rbuf);

/* The memory, lx_rbuf.size bytes; what is in the pipe stays there. 0 or -ENOMEM. */
int lx_rbuf_reserve(struct lx_rbuf *rbuf, void **ret_mem);

/**
 * lx_rbuf_memory - the content in memory
 * Moves what is in the pipe. Returns 0 and the start of lx_rbuf.size bytes, -ENOMEM
 * or -EIO.
 */
int lx_rbuf_memory(struct lx_rbuf *rbuf, void **ret_mem);

/*
 * The write end of the pipe, of as many slots as the system grants; or -errno (use
 * memory). Whoever writes to it keeps pipe_at and piped.
 */
int lx_rbuf_pipe(struct lx_rbuf *rbuf);

#endif
