/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd: LNet over RDMA (spec o2iblnd.md).
 */
#ifndef LX_O2IB_O2IB_H
#define LX_O2IB_O2IB_H

#include <internal/lnd.h>

extern const struct lx_lnd lx_o2ib_lnd;

#endif
