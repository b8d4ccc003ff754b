/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF of one lnetxd: what this kernel can do, sets of programs and maps, and where
 * they are attached and pinned.
 *
 * A set comes from one object file. Its skeleton is made, opened and destroyed by
 * whoever has the set; loading, pinning and attaching is done here. Its maps are
 * pinned as <pins>/<set>/<map>, programs as prog_<name>, attachments as
 * link_<hook>_<interface>. Each set has a map "abi", an array of one struct lx_abi: a
 * set that finds a daemon's pins takes the maps over if their ABI is its own, else
 * removes them and begins anew.
 *
 *	lx_bpf_load() ─▶ lx_bpf_attach() ... lx_bpf_detach() ─▶ lx_bpf_unload()
 *
 * Nothing here is needed for LNet to work, and no failure ends anything: reasons are
 * kept for "lnetx bpf status". Any thread may call any of it: an instance has a lock.
 */
#ifndef LX_BPF_BPF_H
#define LX_BPF_BPF_H

#include <internal/abi.h>
#include <internal/bpf_info.h>

#include "feature.h"
#include "hook.h"

struct bpf_object_skeleton;
struct bpf_program;

struct lx_bpf;
struct lx_bpf_set;

/**
 * lx_bpf_new - probe the kernel and find a place for pins
 * @instance: lnetxd's name (lx_control_instance())
 * @enabled: false: nothing will be loaded (-EOPNOTSUPP); state left by a daemon before
 *	is removed
 * Returns 0 or -ENOMEM: a kernel without BPF is no error.
 */
int lx_bpf_new(const char *instance, bool enabled, struct lx_bpf **ret_bpf);

/* Removes what a daemon that crashed has left of a set, attached or pinned; for one not loaded. */
void lx_bpf_clean(struct lx_bpf *bpf, const char *set);

/* All sets must be unloaded. NULL is fine. */
void lx_bpf_free(struct lx_bpf *bpf);

/* Whose it is. */
const char *lx_bpf_instance(const struct lx_bpf *bpf);

bool lx_bpf_has(const struct lx_bpf *bpf, enum lx_bpf_feature feature);

/* "/sys/fs/bpf/lnetx/<instance>", or "" if nothing can be pinned. */
const char *lx_bpf_pins(const struct lx_bpf *bpf);

/* What a set is, and what state of another daemon it can go on with. */
struct lx_bpf_want {
	const char *name; /* static; its folder */
	uint32_t need; /* LX_BPF_NEED(...) | ... */
	bool keep;     /* it is of use to the next daemon; else it is removed before loading */
	struct lx_abi abi; /* magic, version and sizes must be equal to be taken over */
};

/**
 * lx_bpf_load - load a set, with the state of the daemon before if there is some
 * @skeleton: opened, with what is configurable about maps done; outlives the set
 * @ret_set: set on failure, too, so that the reason can be shown
 *
 * Map "abi" is written with this process and the time. Returns 0,
 * -EOPNOTSUPP switched off or the kernel lacks something, -ENOMEM, or what loading
 * returned (-EACCES, -EINVAL, -E2BIG: refused by the verifier; -EPERM).
 */
int lx_bpf_load(struct lx_bpf *bpf, const struct lx_bpf_want *want,
		struct bpf_object_skeleton *skeleton, struct lx_bpf_set **ret_set);

struct bpf_object;
struct bpf_object *lx_bpf_object(const struct lx_bpf_set *set);

/* Pins a map that was made later, if there are pins; it goes with the others. */
void lx_bpf_pin(struct lx_bpf_set *set, int fd, const char *name);

/* Why it is not loaded, or "". */
const char *lx_bpf_reason(const struct lx_bpf_set *set);
bool lx_bpf_taken_over(const struct lx_bpf_set *set);

/**
 * lx_bpf_attach - attach a program of the set to an interface
 * @flags: LX_BPF_NATIVE, ...
 * Idempotent: what is attached there already is left, what a daemon before has
 * attached gets the new program, without a gap. Returns 0, -ENODEV, -EBUSY another
 * program is there, -ENOMEM, or another -errno; the reason is in lx_bpf_info().
 */
int lx_bpf_attach(struct lx_bpf_set *set, const struct bpf_program *program, const char *ifname,
		  enum lx_bpf_hook_kind kind, unsigned int flags);

/**
 * lx_bpf_refuse - note why a program is not attached to an interface, or should not be
 * @err: -errno, returned; @reason: for "lnetx bpf status", and the log when it is a new one
 */
int lx_bpf_refuse(struct lx_bpf_set *set, const struct bpf_program *program, const char *ifname,
		  enum lx_bpf_hook_kind kind, int err, const char *reason);

/**
 * lx_bpf_detach - take the set off interfaces
 * @wanted: called for each place: whether to stay there; NULL: nowhere. Has no program:
 *	left by a daemon before, and not attached again since. It may call nothing here
 */
void lx_bpf_detach(struct lx_bpf_set *set, bool (*wanted)(const struct lx_hook *h, void *arg),
		   void *arg);

/**
 * lx_bpf_unload - the end of a set; NULL is fine
 * @keep: maps stay pinned for the next daemon; it is detached in any case
 */
void lx_bpf_unload(struct lx_bpf_set *set, bool keep);

/* Fills all of it. */
void lx_bpf_info(struct lx_bpf *bpf, struct lx_bpf_info *ret_info);

#endif
