/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes features instead of deriving them from a version: distributions backport
 * features to older kernels and leave them out of newer ones. Each probe creates something
 * small and drops it. Called by bpf.c when an instance starts.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../base/array.h"
#include "../base/cleanup.h"
#include "feature.h"
#include "hook.h"

#define NO_INTERFACE 0x7fffffff /* an unused index */

/* "return 0", for probes that need a program. Returns its fd or -errno. */
static int load_nothing(enum bpf_prog_type type, uint32_t flags)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = flags);

	return bpf_prog_load(type, "lnetx_probe", "Dual BSD/GPL", code, LX_ARRAY_LEN(code), &opts);
}

/* Returns 0 or -errno. */
static int try_program(enum bpf_prog_type type, uint32_t flags)
{
	int fd LX_AUTO_CLOSE = load_nothing(type, flags);

	return fd < 0 ? fd : 0;
}

/* A kernel that knows this kind of link gets as far as looking for the interface. */
static int try_tcx(void)
{
	int prog LX_AUTO_CLOSE = load_nothing(BPF_PROG_TYPE_SCHED_CLS, 0);
	int fd LX_AUTO_CLOSE = -1;

	if (prog < 0)
		return prog;
	fd = bpf_link_create(prog, NO_INTERFACE, LX_BPF_TCX_INGRESS, NULL);
	return fd == -ENODEV ? 0 : fd < 0 ? fd : -EINVAL;
}

/* *(u64 *)(r10 - 8) = 0; r0 = 0; if it is r0, make it r0 */
static int try_atomics(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0,
		  .off = -8,
		  .imm = BPF_CMPXCHG },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd LX_AUTO_CLOSE = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "lnetx_probe", "Dual BSD/GPL",
					     code, LX_ARRAY_LEN(code), NULL);

	return fd < 0 ? fd : 0;
}

/* libbpf returns 1, 0 or -errno. */
static int outcome(int answer)
{
	return answer > 0 ? 0 : answer ? answer : -EOPNOTSUPP;
}

static int try_feature(enum lx_bpf_feature feature)
{
	switch (feature) {
	case LX_BPF_LOAD:
		return try_program(BPF_PROG_TYPE_SOCKET_FILTER, 0);
	case LX_BPF_BTF:
		return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
	case LX_BPF_ATOMICS:
		return try_atomics();
	case LX_BPF_XDP:
		return try_program(BPF_PROG_TYPE_XDP, 0);
	case LX_BPF_XDP_FRAGS:
		return try_program(BPF_PROG_TYPE_XDP, BPF_F_XDP_HAS_FRAGS);
	case LX_BPF_TC:
		return try_program(BPF_PROG_TYPE_SCHED_CLS, 0);
	case LX_BPF_TCX:
		return try_tcx();
	case LX_BPF_LPM_TRIE:
		return outcome(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_LPM_TRIE, NULL));
	case LX_BPF_LRU_HASH:
		return outcome(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_LRU_HASH, NULL));
	case LX_BPF_RINGBUF:
		return outcome(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL));
	case LX_BPF_LOOP:
		return outcome(libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS, BPF_FUNC_loop,
						       NULL));
	case LX_BPF_SKC_LOOKUP:
		return outcome(libbpf_probe_bpf_helper(BPF_PROG_TYPE_SCHED_CLS,
						       BPF_FUNC_skc_lookup_tcp, NULL));
	case LX_BPF_FEATURE_COUNT:
		break;
	}
	return -EINVAL;
}

_Static_assert(LX_BPF_LOAD == 0, "probed first");

static void explain(struct lx_bpf_feature_info *f, int err)
{
	const char *what = "this kernel does not have it";

	if (err == -ECANCELED) {
		strcpy(f->reason, "not probed: programs cannot be loaded");
		return;
	}
	if (err == -EPERM || err == -EACCES)
		what = prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER
			       ? "not permitted; needs a seccomp filter that allows bpf(), and "
				 "CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON"
			       : "not permitted; run as root, or with CAP_BPF, CAP_NET_ADMIN and "
				 "CAP_PERFMON";
	else if (err == -ENOSYS)
		what = "this kernel was built without BPF (CONFIG_BPF_SYSCALL)";
	snprintf(f->reason, sizeof(f->reason), "%s (%s)", what, strerror(-err));
}

void lx_bpf_feature_probe(struct lx_bpf_feature_info *ret_feature)
{
	static const struct {
		const char *name, *help;
	} table[] = {
#define FEATURE_(NAME, name, help) { name, help },
		LX_BPF_FEATURES(FEATURE_)
#undef FEATURE_
	};
	libbpf_print_fn_t before = libbpf_set_print(NULL); /* do not log failed probes */

	for (int i = 0; i < LX_BPF_FEATURE_COUNT; i++) {
		/* Without permission to load programs the other probes fail for that reason. */
		bool futile = i > LX_BPF_LOAD && i != LX_BPF_BTF && !ret_feature[0].have;
		int err = futile ? -ECANCELED : try_feature(i);

		ret_feature[i] = (struct lx_bpf_feature_info){ .name = table[i].name,
							       .help = table[i].help,
							       .have = !err };
		if (err)
			explain(&ret_feature[i], err);
	}
	libbpf_set_print(before);
}
