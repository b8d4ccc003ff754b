/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Everything that may differ between a captured node and ours: handles, cookies,
 * incarnations, ports, the sequence number of ping information and the size of its sink.
 */
#ifndef LX_TESTS_MASK_H
#define LX_TESTS_MASK_H

#include "wires.h"

struct mask_handle {
	struct lx_wire_handle captured, real;
};

struct mask_cookie {
	uint64_t captured, real; /* real 0: acknowledged */
	const struct wire *wire; /* our node sent it on this one */
};

struct mask {
	bool router; /* our node is a router */
	struct mask_handle handle[1024];
	unsigned int n_handles;
	struct mask_cookie asked[1024]; /* by our node */
	unsigned int n_asked;
};

/* Notes that our node sent @real where the captured one sent @captured. */
void mask_learn(struct mask *mask, const struct message *captured, const struct message *real,
		const struct wire *wire);
/* Replaces a captured handle with our node's. False: ours has no such handle. */
bool mask_handle(const struct mask *mask, struct lx_wire_handle *handle);
/* Our node's cookie for a captured one; 0: it sent none to this peer. */
uint64_t mask_cookie(const struct mask *mask, const struct wire *wire, uint64_t captured);
/* Cookies are numbered per peer. */
bool mask_same_peer(const struct wire *a, const struct wire *b);
bool mask_handle_none(const struct lx_wire_handle *handle);

bool mask_same(const struct mask *mask, const struct message *captured,
	       const struct message *real);

#endif
