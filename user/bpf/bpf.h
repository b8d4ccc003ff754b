/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * BPF of one lnetxd: kernel features, sets of programs and maps, and where they are
 * attached and pinned.
 *
 * A set comes from one object file. The owner of the set opens its skeleton, when this file
 * asks for it, and destroys it; this file loads, pins and attaches. Maps are pinned as
 * <pins>/<set>/<map>, programs as prog_<name>, attachments as link_<hook>_<interface>. Each set has
 * a map "abi", an array of one struct lx_abi: a set that finds an earlier daemon's pins takes over
 * maps of its own ABI, and removes others.
 *
 *	lx_bpf_load() ─▶ lx_hooks_attach() ... lx_hooks_detach() ─▶ lx_bpf_unload()
 *
 * LNet works without all of this, and no failure is fatal: "lnetx bpf status" shows the
 * reasons. Thread-safe: an instance has a lock.
 */
#ifndef LX_BPF_BPF_H
#define LX_BPF_BPF_H

#include <internal/abi.h>
#include <internal/bpf_info.h>

#include "feature.h"

struct bpf_object_skeleton;

struct lx_bpf;
struct lx_bpf_set;

/**
 * lx_bpf_new - probe the kernel and find a place for pins
 * @instance: lnetxd's name (lx_ctl_instance())
 * @enabled: false: nothing will be loaded (-EOPNOTSUPP); removes the state of an earlier
 *	daemon
 * Returns 0 or -ENOMEM: a kernel without BPF is not an error.
 */
int lx_bpf_new(const char *instance, bool enabled, struct lx_bpf **ret_bpf);

/* Removes attachments and pins that a crashed daemon left of a set that is not loaded. */
void lx_bpf_clean(struct lx_bpf *bpf, const char *set);

/* All sets must be unloaded. NULL is fine. */
void lx_bpf_free(struct lx_bpf *bpf);

/* The instance's name. */
const char *lx_bpf_instance(const struct lx_bpf *bpf);

bool lx_bpf_has(const struct lx_bpf *bpf, enum lx_bpf_feature feature);

/* "/sys/fs/bpf/lnetx/<instance>", or "" if nothing can be pinned. */
const char *lx_bpf_pins(const struct lx_bpf *bpf);

/* A set, and which state of an earlier daemon it can take over. */
struct lx_bpf_want {
	const char *name; /* static; its directory */
	uint32_t need; /* LX_BPF_NEED(...) | ... */
	bool keep;     /* useful to the next daemon; otherwise removed before loading */
	struct lx_abi abi; /* magic, version and sizes must be equal to be taken over */
	const char *otherwise; /* what happens if it is not loaded, for the log */
	const char *hold; /* its program for lx_hook_advance(); NULL: none is needed */
	/*
	 * Opens the skeleton, with maps configured; it outlives the set. Not called if the set
	 * cannot be loaded anyway. NULL: failed, errno is set.
	 */
	struct bpf_object_skeleton *(*open)(void *owner);
};

/**
 * lx_bpf_load - load a set, with the state of the previous daemon if there is any
 * @owner: for @want->open()
 * @ret_set: set on failure, too, so that the reason can be shown
 *
 * Writes this process and the time to map "abi". Returns 0,
 * -EOPNOTSUPP switched off, or the kernel lacks a feature; -ENOMEM; or what loading
 * returned (-EACCES, -EINVAL, -E2BIG: refused by the verifier; -EPERM). Unless switched off,
 * the log says why, too.
 */
int lx_bpf_load(struct lx_bpf *bpf, const struct lx_bpf_want *want, void *owner,
		struct lx_bpf_set **ret_set);

struct bpf_object;
struct bpf_object *lx_bpf_object(const struct lx_bpf_set *set);

/* Pins a map that was created later, if there are pins; removed with the others. */
void lx_bpf_pin(struct lx_bpf_set *set, int fd, const char *name);

/* Why the set is not loaded, or of no use; or "". */
const char *lx_bpf_reason(const struct lx_bpf_set *set);
bool lx_bpf_taken_over(const struct lx_bpf_set *set);

/**
 * lx_bpf_look - look whether others removed attachments or pins, or put programs in front
 * Says so in the log, and pins again. True: attach again, as that has changed something, or may
 * now, or an interface has a new name. Takes some microseconds for each attachment; call it about
 * twice a second.
 */
bool lx_bpf_look(struct lx_bpf *bpf);

/* An admin wants what was removed too often to be tried again. */
void lx_bpf_retry(struct lx_bpf *bpf);

/**
 * lx_bpf_unload - detach and unload a set; NULL is fine
 * @keep: leave its maps pinned for the next daemon
 */
void lx_bpf_unload(struct lx_bpf_set *set, bool keep);

/* Fills in everything. */
void lx_bpf_info(struct lx_bpf *bpf, struct lx_bpf_info *ret_info);

#endif
