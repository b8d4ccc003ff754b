/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What has to follow the interfaces: missing NIs, BPF programs, and what neighbours know. */
#ifndef LX_DAEMON_INTERFACES_H
#define LX_DAEMON_INTERFACES_H

#include "daemon.h"

/*
 * Follows changes of the node (monitor.h): an interface has come back, or routing has changed.
 * Updates the BPF programs, and tells the neighbours.
 */
void lx_interfaces_follow(struct lx_daemon *d, const struct lx_ctl_event *event, unsigned int n);
/*
 * Brings up NIs whose interfaces have come, and puts back what others on the machine removed from
 * the kernel; call it twice a second.
 */
void lx_interfaces_look(struct lx_daemon *daemon);

#endif
