/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Router buffer storage. Owner: the core's pools, which allocate and free buffers;
 * transports fill and drain them.
 *
 * The bytes of a message are in two places:
 *
 *	mem: 0 .. pipe_at - 1    pipe: pipe_at .. pipe_at + piped - 1    mem: the rest
 *
 * so that bytes read together with a header need not be pushed into the pipe, and
 * bytes that do not fit the pipe go to memory, too. Splicing out of the pipe increases
 * pipe_at and decreases piped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "rbuf.h"

/*
 * A pipe holds one reference per slot, and has a slot for each page of its size. A
 * network card without LRO or GRO fills a slot with a single segment, and unaligned data
 * takes one more slot: ask for a larger pipe.
 */
#define PIPE_ROOM 4

#define SLAB_ALIGN 4096

/* Buffers allocated together; untouched pages cost nothing. */
struct lx_rbuf_slab {
	struct lx_region region;
	struct iovec memory; /* iov_base: NULL until needed, then never changed (slab_memory()) */
	unsigned int n; /* buffers not freed yet */
	struct lx_rbuf rbuf[];
};

int lx_rbuf_new(size_t size, unsigned int n, struct lx_rbuf **ret_rbufs)
{
	struct lx_rbuf_slab *slab = calloc(1, sizeof(*slab) + n * sizeof(slab->rbuf[0]));

	if (!slab)
		return -ENOMEM;
	slab->memory.iov_len = size * n;
	slab->n = n;
	lx_region_init(&slab->region, &slab->memory, 1);
	for (unsigned int i = 0; i < n; i++) {
		ret_rbufs[i] = &slab->rbuf[i];
		*ret_rbufs[i] = (struct lx_rbuf){ .slab = slab, .size = size, .pipe = { -1, -1 } };
	}
	return 0;
}

static void pipe_close(struct lx_rbuf *rbuf)
{
	for (int i = 0; i < 2; i++) {
		if (rbuf->pipe[i] >= 0)
			close(rbuf->pipe[i]);
		rbuf->pipe[i] = -1;
	}
}

void lx_rbuf_free(struct lx_rbuf *rbuf)
{
	if (!rbuf)
		return;
	pipe_close(rbuf);
	if (--rbuf->slab->n)
		return;
	lx_region_end(&rbuf->slab->region);
	free(rbuf->slab->memory.iov_base);
	free(rbuf->slab);
}

struct lx_region *lx_rbuf_region(struct lx_rbuf *rbuf)
{
	return &rbuf->slab->region;
}

void lx_rbuf_reset(struct lx_rbuf *rbuf)
{
	/* Left over by a message that could not be sent: closing is cheaper than draining. */
	if (rbuf->piped)
		pipe_close(rbuf);
	rbuf->length = rbuf->pipe_at = rbuf->piped = 0;
}

static int pipe_read(struct lx_rbuf *rbuf)
{
	char *to = (char *)rbuf->mem + rbuf->pipe_at;
	ssize_t n;

	while (rbuf->piped) {
		n = read(rbuf->pipe[0], to, rbuf->piped);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		to += n;
		rbuf->piped -= n;
	}
	return 0;
}

/*
 * The slab's memory, allocated on first use; NULL: out of memory. Threads that have
 * different buffers of the slab may get here at once, with or without the node
 * lock: the first allocation wins, the others are freed.
 */
static void *slab_memory(struct lx_rbuf_slab *slab)
{
	void *memory = __atomic_load_n(&slab->memory.iov_base, __ATOMIC_ACQUIRE), *theirs = NULL;

	if (memory)
		return memory;
	if (posix_memalign(&memory, SLAB_ALIGN, slab->memory.iov_len))
		return NULL;
	if (__atomic_compare_exchange_n(&slab->memory.iov_base, &theirs, memory, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return memory;
	free(memory);
	return theirs;
}

int lx_rbuf_reserve(struct lx_rbuf *rbuf, void **ret_mem)
{
	char *memory = slab_memory(rbuf->slab);

	if (!memory)
		return -ENOMEM;
	rbuf->mem = memory + (rbuf - rbuf->slab->rbuf) * rbuf->size;
	*ret_mem = rbuf->mem;
	return 0;
}

int lx_rbuf_memory(struct lx_rbuf *rbuf, void **ret_mem)
{
	int r = lx_rbuf_reserve(rbuf, ret_mem);

	return r ? r : pipe_read(rbuf);
}

int lx_rbuf_pipe(struct lx_rbuf *rbuf)
{
	size_t room = rbuf->size * PIPE_ROOM;
	int r;

	if (rbuf->pipe[1] >= 0)
		return rbuf->pipe[1];
	if (pipe2(rbuf->pipe, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	/* More than fs.pipe-max-size needs a privilege: settle for less. */
	while (fcntl(rbuf->pipe[1], F_SETPIPE_SZ, (int)room) < 0) {
		room /= 2;
		if (room < rbuf->size) {
			r = -errno;
			pipe_close(rbuf);
			return r;
		}
	}
	return rbuf->pipe[1];
}
