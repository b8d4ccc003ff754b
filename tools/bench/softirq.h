/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What softirq.bpf.c counts on each processor. */
#ifndef BENCH_SOFTIRQ_H
#define BENCH_SOFTIRQ_H

#include <linux/types.h>

struct softirq_ns {
	__u64 began, all, in_process;
};

#endif
