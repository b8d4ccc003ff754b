/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Router buffer storage. Owner: the core's pools, which make and free buffers;
 * transports fill and empty them.
 *
 * The bytes of a message are in two places, in this order:
 *
 *	mem: 0 .. length - piped        pipe: the last "piped" bytes
 *
 * so that bytes which were read together with a header need not be pushed into
 * the pipe, and a pipe that is full before its message is complete can be emptied
 * into memory. Splicing out of the pipe just lowers "piped".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "rbuf.h"

/*
 * A pipe holds references, one to a slot of a page's worth of pipe size, and a
 * network card that does not merge fills a slot with a single segment. Four times
 * the payload is room for segments of 1 KiB and more; where the kernel grants us no
 * more than fs.pipe-max-size, large pages of the sender's make up for it.
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
	rbuf->piped = 0;
	rbuf->length = 0;
}

static int pipe_read(struct lx_rbuf *rbuf)
{
	char *to = (char *)rbuf->mem + rbuf->length - rbuf->piped;
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

int lx_rbuf_memory(struct lx_rbuf *rbuf, void **ret_mem)
{
	int r;

	if (!rbuf->mem)
		rbuf->mem = malloc(rbuf->size);
	if (!rbuf->mem)
		return -ENOMEM;
	r = pipe_read(rbuf);
	if (r)
		return r;
	*ret_mem = rbuf->mem;
	return 0;
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
