/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The hooks of a set: where its programs are attached. */
#ifndef LX_BPF_HOOKS_H
#define LX_BPF_HOOKS_H

#include "bpf.h"
#include "hook.h"

struct bpf_program;

/**
 * lx_hooks_attach - attach a program of the set to an interface
 * @flags: LX_BPF_NATIVE, ...
 * Idempotent: does nothing if it is attached already, in front of all others; an attachment of an
 * earlier daemon gets the new program, without a gap. Returns 0, -ENODEV, -EBUSY another
 * program is there, -EAGAIN others removed it or put theirs in front, try again after lx_bpf_look()
 * is true, -ECANCELED they did so too often (removal.h), -ENOMEM, or another -errno; the reason is
 * in lx_bpf_info().
 */
int lx_hooks_attach(struct lx_bpf_set *set, const struct bpf_program *program, const char *ifname,
		    enum lx_bpf_hook_kind kind, unsigned int flags);

/**
 * lx_hooks_refuse - record why a program is not attached to an interface, or should not be
 * @err: -errno, returned; @reason: for "lnetx bpf status", and for the log if it is new
 */
int lx_hooks_refuse(struct lx_bpf_set *set, const struct bpf_program *program, const char *ifname,
		    enum lx_bpf_hook_kind kind, int err, const char *reason);

/**
 * lx_hooks_detach - detach the set from interfaces
 * @wanted: called for each attachment; true: keep it. NULL: keep none. A hook without a
 *	program was left by an earlier daemon and not attached since. Must not call
 *	functions of this header
 */
void lx_hooks_detach(struct lx_bpf_set *set, bool (*wanted)(const struct lx_hook *h, void *arg),
		     void *arg);

/* What lx_bpf_look() does for an interface of our own, which others removed: counts it, says so. */
void lx_hooks_removed(struct lx_bpf_set *set, struct lx_removals *removals, const char *ifname);

/* The rest is for bpf.c, with the lock held. */

/* Takes over what the previous daemon left, still with its programs. */
void lx_hooks_adopt(struct lx_bpf_set *set);

/* Forgets hooks of interfaces that are gone. True: others have a new name. */
bool lx_hooks_refresh(struct lx_bpf_set *set);

/* What others have done since the last time. True: attach again. */
bool lx_hooks_look(struct lx_bpf_set *set);

void lx_hooks_info(const struct lx_bpf_set *set, struct lx_bpf_info *info);

#endif
