/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two nodes on o2ib in virtual time, on fake hardware, with memory to send from and to
 * receive in.
 */
#ifndef LX_TESTS_O2IBWORLD_H
#define LX_TESTS_O2IBWORLD_H

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/o2ib/priv.h"
#include "simib.h"

#define A "10.0.0.1@o2ib"
#define B "10.0.0.2@o2ib"

extern struct lx_sim *sim;
extern struct lx_sim_node *a, *b;
extern char *src, *dst; /* random bytes; zeroes */

/* @bytes: size of src and of dst. For a cmocka setup; returns 0. */
int o2ib_world_begin(size_t bytes);
int o2ib_world_end(void **state);

/* Another node, without discovery. */
struct lx_sim_node *node_on(const char *nid, int peer_credits);

/* The net of its NI on o2ib, or NULL. */
struct lx_o2ib_net *net_of(struct lx_sim_node *node);

#endif
