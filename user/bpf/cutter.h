/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of interfaces that cuts super-packets up: what is sent on one end comes out of
 * the other as packets of the size that the sender's TCP gave them. For packets whose
 * parts go different ways; a program cannot split one.
 */
#ifndef LX_BPF_CUTTER_H
#define LX_BPF_CUTTER_H

#include <net/if.h>

#define LX_CUTTER_IN "lnetx-cut0"
#define LX_CUTTER_OUT "lnetx-cut1"

/**
 * lx_cutter_add - make the pair in this network namespace; one that is there is replaced
 * Returns the ifindex of LX_CUTTER_IN, or -errno.
 */
int lx_cutter_add(void);
void lx_cutter_del(void);

#endif
