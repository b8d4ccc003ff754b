/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What may differ between a captured node and ours, and nothing else: handles, cookies,
 * incarnations, ports, the number of ping information and how much of it is asked for.
 */
#ifndef LX_TESTS_MASK_H
#define LX_TESTS_MASK_H

#include "wires.h"

struct mask_handle {
	struct lx_wire_handle captured, real;
};

struct mask_cookie {
	uint64_t captured, real; /* real 0: acknowledged */
	const struct wire *wire; /* on which our node has sent it */
};

struct mask {
	bool router; /* our node is one */
	struct mask_handle handle[1024];
	unsigned int n_handles;
	struct mask_cookie asked[1024]; /* by our node */
	unsigned int n_asked;
};

/* Our node has said @real where the captured one said @captured. */
void mask_learn(struct mask *mask, const struct message *captured, const struct message *real,
		const struct wire *wire);
/* To our node's. False: it has not chosen one for this. */
bool mask_handle(const struct mask *mask, struct lx_wire_handle *handle);
/* 0: our node has not asked on connections to this peer. */
uint64_t mask_cookie(const struct mask *mask, const struct wire *wire, uint64_t captured);
/* Cookies are numbered for each peer by itself. */
bool mask_same_peer(const struct wire *a, const struct wire *b);
bool mask_handle_none(const struct lx_wire_handle *handle);

bool mask_same(const struct mask *mask, const struct message *captured,
	       const struct message *real);

#endif
