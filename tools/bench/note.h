/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fire-and-forget messages.
 */
#ifndef LX_BENCH_NOTE_H
#define LX_BENCH_NOTE_H

#include <lnetx/lnetx.h>

/**
 * lx_note_send - PUT a copy of @data to a peer's LX_LOAD_PORTAL, without ACK
 * @failed: called on a thread of the node if it could not be sent; may be NULL
 * Returns 0, -ENOMEM, or an error of lx_md_bind() or lx_put().
 */
int lx_note_send(struct lx_node *node, const struct lx_id *to, uint64_t bits, const void *data,
		 size_t len, void (*failed)(int status, void *arg), void *arg);

#endif
