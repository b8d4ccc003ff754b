/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests from other nodes, their bulk as the active side, and the replies (selftest.md 1, 7, 8).
 * Called with the service's lock held.
 */
#ifndef LX_SELFTEST_SERVER_H
#define LX_SELFTEST_SERVER_H

#include "port.h"
#include "wire.h"

#define LX_LST_INBOX_REQUESTS 512 /* per buffer */
#define LX_LST_INBOX_BUFFERS 16

/*
 * The request buffers of a portal, each with room for many requests. Two with much room are posted
 * at any time; when one is full, the next takes over. Requests are copied out at once, so a full
 * one is idle at once, unless a sender has stopped in the middle of a request: the others exist for
 * that. Without a buffer, requests wait, and so does all that comes by their connections.
 */
struct lx_lst_inbox {
	struct lx_selftest *s;
	uint32_t portal;
	struct lx_lst_request_buffer {
		struct lx_lst_port port;
		struct lx_lst_inbox *inbox;
		uint8_t *memory; /* NULL: not used yet */
		unsigned int used; /* requests, as far as known */
	} buffer[LX_LST_INBOX_BUFFERS];
};

/* Returns 0, or a negative errno; call lx_lst_server_stop() in both cases. */
int lx_lst_server_start(struct lx_selftest *s);

/* Accepts no more requests, and aborts those being served. Does not wait. */
void lx_lst_server_stop(struct lx_selftest *s);

/* Frees the buffers. No port may be busy. */
void lx_lst_server_fini(struct lx_selftest *s);

/* Posts buffers that could not be posted; drops requests that wait too long. */
void lx_lst_server_tick(struct lx_selftest *s, uint64_t now_ns);

#endif
