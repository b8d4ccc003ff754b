/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is told about BPF: "lnetx bpf status" and "lnetx guard show". Plain values, as
 * in info.h; user/bpf fills them, the daemon sends them on.
 */
#ifndef LNETX_BPF_INFO_H
#define LNETX_BPF_INFO_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "guard_abi.h"
#include "nid.h"

#define LX_BPF_FEATURES_MAX 32
#define LX_BPF_SETS_MAX 4
#define LX_BPF_HOOKS_MAX 32
#define LX_BPF_OBJECTS_MAX 32
#define LX_BPF_PATH 256
#define LX_BPF_TEXT 240

struct lx_bpf_feature_info {
	const char *name, *help;
	bool have;
	char reason[LX_BPF_TEXT]; /* why not */
};

/* Programs and maps that are loaded together. */
struct lx_bpf_set_info {
	const char *name;
	bool loaded;
	bool taken_over; /* with the state of the daemon before */
	char reason[LX_BPF_TEXT]; /* why it is not loaded */
};

struct lx_bpf_hook_info {
	const char *set, *program;
	char ifname[IF_NAMESIZE];
	const char *hook; /* xdp, ingress, egress */
	const char *mode; /* native, generic, tcx, clsact, or none */
	char reason[LX_BPF_TEXT]; /* mode none: why it is not attached */
};

struct lx_bpf_object_info {
	const char *set, *kind; /* map, program */
	char name[32];
	uint32_t id; /* as bpftool has it */
	uint64_t memory; /* bytes; of a program: its code */
	uint32_t entries; /* of a map: the most */
};

struct lx_bpf_info {
	char kernel[80];
	bool enabled; /* false: lnetxd --no-bpf */
	char pins[LX_BPF_PATH]; /* where maps and programs are pinned; "": nowhere */
	char reason[LX_BPF_TEXT]; /* why nowhere, or what to know about it */
	uint64_t memory; /* of all objects */
	uint32_t n_features, n_sets, n_hooks, n_objects;
	struct lx_bpf_feature_info feature[LX_BPF_FEATURES_MAX];
	struct lx_bpf_set_info set[LX_BPF_SETS_MAX];
	struct lx_bpf_hook_info hook[LX_BPF_HOOKS_MAX];
	struct lx_bpf_object_info object[LX_BPF_OBJECTS_MAX];
};

/* ---- the guard --------------------------------------------------------------------- */

struct lx_guard_info {
	bool loaded;
	bool active; /* there is something to watch for, and it is attached somewhere */
	char reason[LX_BPF_TEXT]; /* why it is not */
	uint32_t mode; /* enum lx_guard_mode */
	bool secure; /* tunable tcp accept=secure */
	uint32_t rate, burst; /* SYNs a second and source; 0: no limit */
	uint32_t sources; /* that have a history, if there is a limit */
	uint64_t count[LX_GUARD_COUNT]; /* packets, by enum lx_guard_verdict */
};

struct lx_guard_ban_info {
	struct lx_nid nid;
	uint64_t packets; /* dropped */
	int64_t age_s;
};

#define LX_GUARD_PREFIX_TEXT 64

struct lx_guard_prefix_info {
	char prefix[LX_GUARD_PREFIX_TEXT];
	uint32_t action; /* enum lx_guard_action */
	uint64_t syns; /* that it decided about */
};

#endif
