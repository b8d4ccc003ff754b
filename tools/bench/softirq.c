/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "softirq PID": measures, until SIGTERM, how long softirqs ran on all CPUs, and how long those
 * that interrupted this process; prints both, in seconds, on each SIGUSR1. The kernel's
 * accounting of a process includes the softirqs that interrupt it, mostly on behalf of others,
 * without saying which part that is.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "softirq.h"
#include "softirq.skel.h"

static int print_sums(int map)
{
	int cpus = libbpf_num_possible_cpus();
	struct softirq_ns *cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(*cpu)) : NULL;
	struct softirq_ns sum = { 0 };
	__u32 key = 0;
	int err = cpu ? bpf_map_lookup_elem(map, &key, cpu) : -ENOMEM;

	for (int i = 0; !err && i < cpus; i++) {
		sum.all += cpu[i].all;
		sum.in_process += cpu[i].in_process;
	}
	free(cpu);
	if (!err) {
		printf("{\"all\": %.6f, \"in_process\": %.6f}\n", (double)sum.all / 1e9,
		       (double)sum.in_process / 1e9);
		fflush(stdout);
	}
	return err;
}

int main(int argc, char **argv)
{
	struct softirq_bpf *skel;
	sigset_t set;
	int err, sig;

	if (argc != 2) {
		fprintf(stderr, "usage: softirq PID     time in softirqs, in all and in PID\n");
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	skel = softirq_bpf__open();
	err = skel ? 0 : -errno;
	if (!err) {
		skel->rodata->process = (__u32)strtoul(argv[1], NULL, 10);
		err = softirq_bpf__load(skel);
	}
	if (!err)
		err = softirq_bpf__attach(skel);
	if (!err) {
		printf("ready\n");
		fflush(stdout);
		while (!err && sigwait(&set, &sig) == 0 && sig == SIGUSR1)
			err = print_sums(bpf_map__fd(skel->maps.times));
	}
	if (err)
		fprintf(stderr, "softirq: %s; root is needed, and raw tracepoints (Linux 4.17)\n",
			strerror(-err));
	softirq_bpf__destroy(skel);
	return err ? 1 : 0;
}
