/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of interfaces for GSO packets whose parts go different ways; a program cannot
 * split one. What is sent on the one end comes out of the other as packets of the size
 * that the sender's TCP gave them. Sent back from there, each with the headers of where it
 * goes, those that go one way come out as GSO packets again: that end has GRO.
 */
#ifndef LX_BPF_RESEGMENT_H
#define LX_BPF_RESEGMENT_H

#include <net/if.h>

struct lx_resegment {
	char in[IF_NAMESIZE], out[IF_NAMESIZE];
};

/**
 * lx_resegment_names - what the interfaces of an lnetxd are called: "lnetx-seg...0" and "...1"
 * @instance: its name, which is in the interfaces' alias, too ("ip link")
 */
struct lx_resegment lx_resegment_names(const char *instance);

/**
 * lx_resegment_add - make the pair in this network namespace; the instance's old one is replaced
 * @ret_pair: its names
 * Returns 0, or -errno.
 */
int lx_resegment_add(const char *instance, struct lx_resegment *ret_pair);

/* Removes the pair of an instance, perhaps left by a daemon that crashed; none: fine. */
void lx_resegment_del(const char *instance);

#endif
