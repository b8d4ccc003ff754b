/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Measures softirqs: all of them, and those that interrupt one process. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "softirq.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct softirq_ns);
} times SEC(".maps");

const volatile __u32 process;

static struct softirq_ns *get(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&times, &key);
}

SEC("raw_tp/softirq_entry")
int softirq_begins(void *ctx)
{
	struct softirq_ns *t = get();

	if (t)
		t->began = bpf_ktime_get_ns();
	return 0;
}

/* Skip a softirq that started before we were attached. */
SEC("raw_tp/softirq_exit")
int softirq_ends(void *ctx)
{
	struct softirq_ns *t = get();
	__u64 ns;

	if (!t || !t->began)
		return 0;
	ns = bpf_ktime_get_ns() - t->began;
	t->all += ns;
	if (bpf_get_current_pid_tgid() >> 32 == process)
		t->in_process += ns;
	return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
