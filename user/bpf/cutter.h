/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of interfaces for super-packets whose parts go different ways; a program cannot
 * split one. What is sent on the one end comes out of the other as packets of the size
 * that the sender's TCP gave them. Sent back from there, each with the headers of where it
 * goes, those that go one way come out as super-packets again: that end has GRO.
 */
#ifndef LX_BPF_CUTTER_H
#define LX_BPF_CUTTER_H

#include <net/if.h>

struct lx_cutter {
	char in[IF_NAMESIZE], out[IF_NAMESIZE];
};

/**
 * lx_cutter_names - what the interfaces of an lnetxd are called: "lnetx-cut...0" and "...1"
 * @instance: its name, which is in the interfaces' alias, too ("ip link")
 */
struct lx_cutter lx_cutter_names(const char *instance);

/**
 * lx_cutter_add - make the pair in this network namespace; the instance's old one is replaced
 * @ret_cutter: its names
 * Returns 0, or -errno.
 */
int lx_cutter_add(const char *instance, struct lx_cutter *ret_cutter);

/* Removes the pair of an instance, perhaps left by a daemon that crashed; none: fine. */
void lx_cutter_del(const char *instance);

#endif
