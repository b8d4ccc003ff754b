/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where pins are: files that keep programs, maps and attachments alive, and show them
 * to bpftool, below <bpffs>/lnetx/<instance>/.
 *
 * An lnetxd of another user than root sees only lnetx/ of the usual place (lnetxd.service,
 * lx_pin_give()).
 *
 * Each mount of a bpffs is a separate file system, and "ip netns exec" gives a program a
 * /sys without the usual one. So pins go to the first of these that exists:
 *
 *	/sys/fs/bpf               the usual place
 *	/proc/1/root/sys/fs/bpf   that of process 1, seen from a separate mount
 *	                          namespace: where an admin looks
 *	/sys/fs/bpf               mounted now, as bpftool and tc do; in a separate mount
 *	                          namespace others see it as /proc/<pid>/root/...
 */
#ifndef LX_BPF_PIN_H
#define LX_BPF_PIN_H

#include <sys/types.h>

#include <internal/bpf_info.h>

/**
 * lx_pin_open - create the directory of an instance's pins
 * @ret_dir: its path
 * @ret_note: a remark about it, or why there is none
 *
 * Removes pins that another network namespace left under this name. Returns 0 or
 * -errno; programs work without pins, too, but cannot be inspected by path, and
 * do not outlive a crashed daemon.
 */
int lx_pin_open(const char *instance, char ret_dir[LX_BPF_PATH], char ret_note[LX_BPF_TEXT]);

/**
 * lx_pin_give - let another user have the pins, before this process becomes that user
 * @ret_note: why there will be none
 *
 * Makes <bpffs>/lnetx theirs, with what is there. Where only root may enter the bpffs, as systemd
 * mounts it, this process then sees nothing else of it, in a mount namespace of its own; paths stay
 * the same. Returns 0 or -errno.
 */
int lx_pin_give(uid_t uid, gid_t gid, char ret_note[LX_BPF_TEXT]);

/* "DIR/NAME", with '%' for '.', which bpffs does not allow. -ENAMETOOLONG. */
int lx_pin_path(const char *dir, const char *name, char ret_path[LX_BPF_PATH]);

/*
 * Removes what a daemon of this name left, if there is a place for pins at all.
 * @set: called first for the directory of each set; may be NULL
 */
void lx_pin_forget(const char *instance, void (*set)(const char *dir, void *arg), void *arg);

/* Removes the directory of an instance if it is empty. @dir "": none. */
void lx_pin_close(const char *dir);

/* Removes a directory and its pins, if any; attachments held by them alone end. */
void lx_pin_clean(const char *dir);

#endif
