/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests of other nodes: what arrives, its bulk as the active side, and the reply (selftest.md
 * 1, 7, 8). With the lock.
 */
#ifndef LX_SELFTEST_SERVER_H
#define LX_SELFTEST_SERVER_H

#include "../base/list.h"
#include "port.h"
#include "wire.h"

#define LX_LST_INBOX_REQUESTS 512 /* of a buffer */

/*
 * The request buffers of a portal. Two, each with room for many requests: when one is full the
 * other one is there, and since a request is taken out of it at once, it is lent again at once.
 */
struct lx_lst_inbox {
	struct lx_selftest *s;
	uint32_t portal;
	struct lx_lst_request_buffer {
		struct lx_lst_port port;
		struct lx_lst_inbox *inbox;
		uint8_t *memory;
	} buffer[2];
};

/* Returns 0, or a negative errno; lx_lst_server_stop() in any case. */
int lx_lst_server_start(struct lx_selftest *s);

/* Takes no more requests, and gives up on those being served; does not wait. */
void lx_lst_server_stop(struct lx_selftest *s);

/* Frees what it has. No port is busy. */
void lx_lst_server_fini(struct lx_selftest *s);

/* Lends buffers that could not be lent; gives up on requests that wait too long for a buffer. */
void lx_lst_server_tick(struct lx_selftest *s, uint64_t now_ns);

#endif
