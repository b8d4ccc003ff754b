/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One program on one interface. Attachments are links: they end when neither a process
 * nor a pin holds them. clsact, which replaces tcx below Linux 6.6, has no links; its
 * attachments stay until they are removed.
 */
#ifndef LX_BPF_HOOK_H
#define LX_BPF_HOOK_H

#include <internal/bpf_info.h>

#include "../base/list.h"
#include "chain.h"
#include "removal.h"

/* The header of the system may be older than the kernel. */
#define LX_BPF_TCX_INGRESS 46
#define LX_BPF_TCX_EGRESS 47

enum lx_bpf_hook_kind {
	LX_BPF_HOOK_XDP,
	LX_BPF_HOOK_INGRESS,
	LX_BPF_HOOK_EGRESS,
	LX_BPF_HOOK_KINDS
};

/* How to attach. */
#define LX_BPF_NATIVE 1u /* of XDP: in the driver or not at all */
#define LX_BPF_GENERIC 2u /* of XDP: behind the driver */
#define LX_BPF_FIRST 4u /* of traffic control: in front of our other programs, too */
#define LX_BPF_TRY 8u /* may fail: then nothing is logged, and no hook is kept */

struct lx_hook {
	struct lx_list link;
	enum lx_bpf_hook_kind kind;
	unsigned int flags;
	unsigned int ifindex;
	char ifname[IF_NAMESIZE]; /* lx_hook_rename() */
	const char *program; /* NULL: taken over, still the previous daemon's program */
	const char *mode; /* as shown */
	bool tcx; /* for traffic control: tcx, not clsact */
	int fd; /* of the link; -1: none */
	char pin[LX_BPF_PATH]; /* of the link; "": none */
	uint32_t priority, handle; /* of clsact; handle 0: no place yet */
	char reason[LX_BPF_TEXT]; /* why not attached, or of no use */
	uint32_t prog_id; /* of what we attached */
	bool behind; /* another program is in front of it */
	char front[LX_BPF_TEXT]; /* which one was the last that was; "": none so far */
	struct lx_removals removals; /* by others, who may also put a program in front */
	uint32_t tx_dropped; /* the interface's counter when the program was attached */
};

const char *lx_hook_kind_name(enum lx_bpf_hook_kind kind);

/**
 * lx_hook_attach - attach a program, or replace the one attached already
 * @dir: for the pin; "": none
 * XDP without flags is native if the driver supports it, else generic. Programs of traffic control
 * are put in front of all others. Returns 0, -EBUSY another program is there, or another -errno;
 * h->reason has it as text.
 */
int lx_hook_attach(struct lx_hook *h, int prog_fd, const char *dir);

/**
 * lx_hook_advance - put what is attached to traffic control in front of all others again
 * @hold_fd: a program that drops what must not pass by ours; it is there until ours is. -1: none
 * Returns 0, or -errno: it is where it was, or, if its mode is "none" now, not attached.
 */
int lx_hook_advance(struct lx_hook *h, int prog_fd, int hold_fd, const char *dir);

/* Detaches, and removes the pin. */
void lx_hook_detach(struct lx_hook *h);

/* Packets that the interface dropped on the way out since the program was attached. */
uint64_t lx_hook_tx_dropped(const struct lx_hook *h);

/* Closes it without detaching what is pinned. */
void lx_hook_close(struct lx_hook *h);

/**
 * lx_hook_look - whether a hook that we attached is attached still
 * @ret_front: which programs run before it
 * Others may have removed it, or replaced it.
 */
bool lx_hook_look(const struct lx_hook *h, struct lx_chain *ret_front);

/* Another program or an admin removed it: gives up what is left of it. */
void lx_hook_removed(struct lx_hook *h);

/* Gives it its interface's present name. False: the interface is gone. */
bool lx_hook_rename(struct lx_hook *h);

/* Pins its link in @dir, if it has one; in place of an old pin. */
void lx_hook_pin(struct lx_hook *h, const char *dir);

/**
 * lx_hook_adopt - fill a hook from a pin left by a daemon
 * @name: of the file in @dir
 * Returns 0, -ENOENT not a hook's pin, or its interface is gone: then the pin is removed.
 */
int lx_hook_adopt(struct lx_hook *h, const char *dir, const char *name);

/*
 * Adds hooks (malloc'd) to a list: clsact attachments, which have no pins, of the programs
 * pinned in @dir.
 */
void lx_hook_find(const char *dir, struct lx_list *hooks);

#endif
