/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Router buffer storage. Owner: the core's pools, which make and free buffers;
 * transports fill and empty them.
 *
 * The bytes of a message are in two places:
 *
 *	mem: 0 .. pipe_at - 1    pipe: pipe_at .. pipe_at + piped - 1    mem: the rest
 *
 * so that what was read together with a header need not be pushed into the pipe, and
 * what the pipe has no room for goes to memory as well. Splicing out of the pipe moves
 * pipe_at on and lowers piped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "rbuf.h"

/*
 * A pipe holds references, one to a slot, and has a slot for each page of its size. A
 * network card that does not merge fills a slot with a single segment, and what starts
 * in the middle of a page takes one more: ask for room to spare.
 */
#define PIPE_ROOM 4

int lx_rbuf_new(size_t size, struct lx_rbuf **ret_rbuf)
{
	struct lx_rbuf *rbuf = calloc(1, sizeof(*rbuf));

	if (!rbuf)
		return -ENOMEM;
	rbuf->size = size;
	rbuf->pipe[0] = rbuf->pipe[1] = -1;
	*ret_rbuf = rbuf;
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
	free(rbuf->mem);
	free(rbuf);
}

void lx_rbuf_reset(struct lx_rbuf *rbuf)
{
	/* Left over by a message that could not be sent: cheaper than reading it. */
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

int lx_rbuf_reserve(struct lx_rbuf *rbuf, void **ret_mem)
{
	if (!rbuf->mem)
		rbuf->mem = malloc(rbuf->size);
	if (!rbuf->mem)
		return -ENOMEM;
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
	/* More than fs.pipe-max-size takes a privilege; then what everyone may have. */
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
