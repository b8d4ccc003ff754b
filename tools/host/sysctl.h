/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linux settings for large systems: room for their neighbours (ARP, NDP). The values are
 * those of LX_SYSCTL_FILE, or built in. The old values are kept until they are put back, or the
 * machine starts anew.
 */
#ifndef LX_TOOLS_SYSCTL_H
#define LX_TOOLS_SYSCTL_H

#include "../cli/common/requests.h"

#define LX_SYSCTL_NEIGHBOURS "2048" /* room in tables of neighbours, by the built-in values */
#define LX_SYSCTL_FILE "/etc/lnet-sysctl.conf" /* the reference's; lines "key = value" */

/*
 * Reads a setting that is a number ("net.core.rmem_max", "net/ipv4/conf/eth0.7/rp_filter").
 * -ENOENT, or another errno.
 */
int lx_sysctl_read(const char *key, long long *ret_value);

#endif
