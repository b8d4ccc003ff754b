/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where pins are: files that keep programs, maps and attachments alive, and show them
 * to bpftool, below <bpffs>/lnetx/<instance>/.
 *
 * Each mount of a bpffs is one of its own, and "ip netns exec" gives a program a /sys
 * without the usual one. So pins go to the first that there is of
 *
 *	/sys/fs/bpf               as everywhere
 *	/proc/1/root/sys/fs/bpf   the same of process 1, seen from a mount namespace
 *	                          of our own: where an admin looks
 *	/sys/fs/bpf               mounted now, as bpftool and tc do; in a mount namespace
 *	                          of our own others see it as /proc/<pid>/root/...
 */
#ifndef LX_BPF_PIN_H
#define LX_BPF_PIN_H

#include <internal/bpf_info.h>

/**
 * lx_pin_open - make the folder of an instance's pins
 * @ret_dir: its path
 * @ret_note: what to know about it, or why there is none
 *
 * What another network namespace has left under this name is removed. Returns 0 or
 * -errno; programs work without pins, too, but nobody can look at them by path, and
 * they do not outlive a daemon that crashes.
 */
int lx_pin_open(const char *instance, char ret_dir[LX_BPF_PATH], char ret_note[LX_BPF_TEXT]);

/* "DIR/NAME", with what bpffs does not take ('.') as '%'. -ENAMETOOLONG. */
int lx_pin_path(const char *dir, const char *name, char ret_path[LX_BPF_PATH]);

/*
 * Removes what a daemon of this name has left, if there is a place for pins at all.
 * @set: called for the folder of each set before; or NULL
 */
void lx_pin_forget(const char *instance, void (*set)(const char *dir, void *arg), void *arg);

/* Removes the folder of an instance if no set has left anything in it. @dir "": none. */
void lx_pin_close(const char *dir);

/* Removes a folder and what is in it; none there: fine. What is attached by it only, ends. */
void lx_pin_clean(const char *dir);

#endif
