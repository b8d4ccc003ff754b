/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds an lnetxd and connects to it; on failure, tells which ones are running. */
#ifndef LX_CTL_DIAL_H
#define LX_CTL_DIAL_H

#include <stddef.h>

/**
 * lx_dial - connect to an lnetxd
 * @address: as for lx_ctl_new()
 * @timeout_ms: for a connection whose other end is busy, and for sending; -1: for ever
 * @ret_text: on failure, the reason and what to do
 * Returns the socket or -errno.
 */
int lx_dial(const char *address, int timeout_ms, char *ret_text, size_t text_size);

#endif
