/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of softirq.bpf.c, per CPU. */
#ifndef BENCH_SOFTIRQ_H
#define BENCH_SOFTIRQ_H

#include <linux/types.h>

struct softirq_ns {
	__u64 began, all, in_process;
};

#endif
