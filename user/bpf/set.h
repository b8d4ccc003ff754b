/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What bpf.c and hooks.c share. */
#ifndef LX_BPF_SET_H
#define LX_BPF_SET_H

#include <pthread.h>

#include "hooks.h"

struct lx_bpf {
	bool enabled;
	char instance[LX_BPF_TEXT];
	char pins[LX_BPF_PATH];
	char pins_note[LX_BPF_TEXT];
	uint64_t n_removed; /* what others removed */
	struct lx_bpf_feature_info feature[LX_BPF_FEATURE_COUNT];
	pthread_mutex_t lock; /* protects the sets and their contents */
	struct lx_list sets;
};

struct lx_bpf_set {
	struct lx_list link;
	struct lx_bpf *bpf;
	const char *name;
	struct bpf_object_skeleton *skeleton;
	bool loaded, taken_over;
	char dir[LX_BPF_PATH]; /* of its pins; "": none */
	char reason[LX_BPF_TEXT];
	const char *otherwise; /* of its lx_bpf_want */
	const struct bpf_program *hold; /* the same; NULL: none */
	struct lx_removals pins_removed;
	struct lx_list hooks;
};

#endif
