/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Network interfaces of lnetxd's own, by rtnetlink: created, switched on and removed in the
 * network namespace of the calling thread. Each function returns 0 or the kernel's -errno.
 */
#ifndef LX_BPF_LINK_H
#define LX_BPF_LINK_H

/*
 * With a queue for each CPU. Both ends are down, so that their features can be changed before there
 * is traffic.
 */
int lx_link_add_veth(const char *name, const char *peer);

/* On top of @lower. Frames for it are none: it only sends. */
int lx_link_add_macvlan(const char *name, const char *lower);

/* Switches it on, without ARP and IPv6. @alias: shown by "ip link". */
int lx_link_up(const char *name, const char *alias);

/*
 * Waits until it has a queue, two seconds at most: a packet that is sent before is lost. A veth
 * gets one some time after both ends are up.
 */
void lx_link_wait(const char *name);

/* With the veth at its other end, and what is on top of either. None: does nothing. */
void lx_link_del(const char *name);

#endif
