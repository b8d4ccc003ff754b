/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetxd's share of the machine: of its CPUs, and of its memory. On a busy router interrupts and
 * softirqs, in which the fast path's programs run, take nearly all of them, and what is left goes
 * to all other processes alike. A router that answers no ping is taken for dead by its neighbours,
 * so lnetxd comes before other processes, and before the kernel's threads for softirqs (ksoftirqd,
 * threaded NAPI): it only consumes what those deliver, and sleeps when there is nothing. Its nice
 * value counts within its cgroup; among cgroups CPUWeight does (lnetxd.service).
 */
#ifndef LX_DAEMON_SHARE_H
#define LX_DAEMON_SHARE_H

struct lx_ctl_status;

/*
 * Gives the calling thread, and those that it will start, a low nice value. A scheduling class or
 * nice value that is not the usual one is left alone, as the service manager wanted. Failures are
 * logged; lnetxd works without. Ends with the process.
 */
void lx_share_claim(void);

/* Warns where the memory limit of its cgroup is below what loading the fast path takes. */
void lx_share_check_memory(void);

/* Fills in what the status says of it. Unknown values are 0. */
void lx_share_fill(struct lx_ctl_status *status);

#endif
