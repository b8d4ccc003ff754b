/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A veth pair that resegments GSO packets whose parts go different ways; a program cannot
 * do that. A GSO packet sent on one end comes out of the other as segments of the size
 * that the sender's TCP gave them. Rewritten and sent back from there, those that go one
 * way come out as a GSO packet again: that end has GRO.
 */
#ifndef LX_BPF_RESEGMENT_H
#define LX_BPF_RESEGMENT_H

#include <net/if.h>

struct lx_resegment {
	char in[IF_NAMESIZE], out[IF_NAMESIZE];
};

/**
 * lx_resegment_names - names of an lnetxd's pair: "lnetx-seg...0" and "...1"
 * @instance: its name, also in the interfaces' alias ("ip link")
 */
struct lx_resegment lx_resegment_names(const char *instance);

/**
 * lx_resegment_add - create the pair in this network namespace; replaces the instance's old one
 * @ret_pair: its names
 * Returns 0, or -errno.
 */
int lx_resegment_add(const char *instance, struct lx_resegment *ret_pair);

/* Removes the pair of an instance, if any, even one left by a crashed daemon. */
void lx_resegment_del(const char *instance);

#endif
