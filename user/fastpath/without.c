/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Instead of the other files here in the build without BPF: see user/bpf/without.c. */
#include "fastpath.h"

/* Not called, as there is no fast path. */
void lx_fp_offload_init(struct lx_fp_offload *offload, struct lx_fastpath *fastpath)
{
}
