/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Units of time, in nanoseconds; what a small message is. Compiles natively and for BPF. */
#ifndef LNETX_UNITS_H
#define LNETX_UNITS_H

#define LX_MS_NS 1000000ull
#define LX_S_NS 1000000000ull

#define LX_SMALL_MAX 4096u /* bytes of payload, as in a router's small buffers */

#endif
