/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The programs at a hook of traffic control, in the order in which they run. Each may end the chain
 * for a packet: those behind it do not see it. Called by hook.c and bpf.c.
 */
#ifndef LX_BPF_CHAIN_H
#define LX_BPF_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LX_CHAIN_MAX 64 /* more there cannot be with tcx; of clsact, others are not read */

struct lx_chain_program {
	uint32_t id; /* 0: not an eBPF program, but another filter of clsact */
	uint32_t priority, handle; /* of clsact */
	char kind[16]; /* of clsact: bpf, u32, ... */
};

struct lx_chain {
	unsigned int n;
	struct lx_chain_program program[LX_CHAIN_MAX];
};

/* @tcx: else clsact. Returns 0, also for a hook without programs, or -errno. */
int lx_chain_read(unsigned int ifindex, bool egress, bool tcx, struct lx_chain *ret_chain);

/**
 * lx_chain_describe - name a program for an admin: "NAME (program ID of uid N)"
 * Returns whether it is one of an lnetxd. Without CAP_SYS_ADMIN the kernel does not tell more than
 * its ID.
 */
bool lx_chain_describe(const struct lx_chain_program *program, char *ret_text, size_t size);

#endif
