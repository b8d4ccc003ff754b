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

#define LX_CUTTER_IN "lnetx-cut0"
#define LX_CUTTER_OUT "lnetx-cut1"

/**
 * lx_cutter_add - make the pair in this network namespace; one that is there is replaced
 * Returns 0, or -errno.
 */
int lx_cutter_add(void);
void lx_cutter_del(void);

#endif
