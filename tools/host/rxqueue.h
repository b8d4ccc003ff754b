/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receive queues of an interface, as sysfs shows them: does one CPU handle all its packets?
 * VLANs, bonds and bridges only pass packets on, so that the interfaces below them count.
 */
#ifndef LX_TOOLS_RXQUEUE_H
#define LX_TOOLS_RXQUEUE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * lx_rxqueue_lone - find an interface with a single receive queue that RPS does not spread
 * @ifname: looks at it, or at those below it
 * @ret_ifname: the first one found; IFNAMSIZ bytes
 * @ret_file: where RPS is switched on
 * Returns false if there is none, or sysfs does not say.
 */
bool lx_rxqueue_lone(const char *ifname, char *ret_ifname, char *ret_file, size_t size);

/* Writes the mask of the first CPUs as the kernel reads it: "ff,ffffffff" for 40. Returns @buf. */
const char *lx_rxqueue_mask(unsigned int n_cpus, char *buf, size_t size);

#endif
