/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lossy IFNAME N": while it runs, drops one in N data packets received on the interface,
 * before all other programs there. At ingress, because the sender's TCP notices drops at egress
 * immediately. Needs Linux 6.6.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define TCX_INGRESS 46 /* the system's header may be older than the kernel */
#define TCX_BEFORE (1u << 3)
#define TCX_DROP 2
#define TCX_NEXT (-1)
#define DATA_LEN 1000 /* shorter packets, mostly ACKs, pass */

static int load(unsigned int one_in)
{
	const struct bpf_insn insns[] = {
		/* w0 = skb->len; short packets pass */
		{ .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 0, .src_reg = 1 },
		{ .code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = 0, .off = 4, .imm = DATA_LEN },
		/* w0 = a random number; one in N is dropped */
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_prandom_u32 },
		{ .code = BPF_JMP32 | BPF_JGE | BPF_K,
		  .imm = (int)(UINT32_MAX / one_in),
		  .off = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = TCX_DROP },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = TCX_NEXT },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "lossy", "GPL", insns,
			     sizeof(insns) / sizeof(insns[0]), NULL);
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = TCX_BEFORE);
	unsigned int ifindex = argc == 3 ? if_nametoindex(argv[1]) : 0;
	unsigned int one_in = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	int prog, link;

	if (!ifindex || one_in < 2) {
		fprintf(stderr, "usage: lossy IFNAME N     lose one packet in N, at least 2\n");
		return 2;
	}
	prog = load(one_in);
	link = prog < 0 ? prog : bpf_link_create(prog, (int)ifindex, TCX_INGRESS, &opts);
	if (link < 0) {
		fprintf(stderr, "lossy: %s: %s; Linux 6.6 and root are needed\n", argv[1],
			strerror(-link));
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
