/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Interfaces that take GSO packets apart whose parts go different ways; a program alone cannot.
 *
 *	GSO packet ─▶ in ═══▶ out ─▶ segments       a veth pair, without segmentation offload
 *	GSO packet ◀─ in ◀═══ out ◀─ segments       GRO joins those that go one way
 *	GSO packet ─▶ cut ──▶ out ─▶ a part of it   a macvlan on top of the pair
 *
 * A GSO packet sent on "in" comes out of "out" as segments of the size that the sender's TCP gave
 * them. Rewritten and sent back from there, those that go one way come out as a GSO packet again. A
 * program cuts a part out of a GSO packet where it leaves "cut" (bpf/cut.h); the kernel sets its
 * headers anew, and it leaves "out" before anything else is sent.
 */
#ifndef LX_BPF_RESEGMENT_H
#define LX_BPF_RESEGMENT_H

#include <net/if.h>
#include <stdbool.h>

struct lx_resegment {
	char in[IF_NAMESIZE], out[IF_NAMESIZE];
	char cut[IF_NAMESIZE];
	/* a pair for trials (trial.h), not created here */
	char near[IF_NAMESIZE], far[IF_NAMESIZE];
	int no_cut; /* 0, or why there is no such interface: -errno */
};

/**
 * lx_resegment_names - names of an lnetxd's interfaces: "lnetx-seg...0", "...1", and so on
 * @instance: its name, also in the interfaces' alias ("ip link")
 */
struct lx_resegment lx_resegment_names(const char *instance);

/**
 * lx_resegment_add - create them in this network namespace; replaces the instance's old ones
 * @ret_pair: their names
 * Returns 0, or -errno. A kernel without macvlan is no failure.
 */
int lx_resegment_add(const char *instance, struct lx_resegment *ret_pair);

/* Whether others left the pair as it was created. */
bool lx_resegment_holds(const char *instance);

/* Removes the interfaces of an instance, if any, even those left by a crashed daemon. */
void lx_resegment_del(const char *instance);

#endif
