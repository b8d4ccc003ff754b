/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Linux settings for large systems: room for their neighbours (ARP, NDP). The values are
 * those of LX_SYSCTL_FILE, or built in. The old values are kept until they are put back, or the
 * machine starts anew.
 */
#ifndef LX_TOOLS_SYSCTL_H
#define LX_TOOLS_SYSCTL_H

#include "../cli/requests.h"

#define LX_SYSCTL_NEIGHBOURS "2048" /* room in tables of neighbours, by the built-in values */
#define LX_SYSCTL_FILE "/etc/lnet-sysctl.conf" /* the reference's; lines "key = value" */

/**
 * lx_sysctl_setup - set them if the tunable enable_sysctl_setup is 1, else put back the old ones
 * LX_ARG_UNDO: put them back in any case. LX_ARG_DRY_RUN: print sysctl commands instead.
 * Built-in values only ever raise a setting; those of the file replace it.
 *
 * Returns 0 or a negative errno, recorded in the session: -EINVAL a mistake in the file,
 * -EOPNOTSUPP the settings are not visible in this network namespace, -EACCES.
 */
int lx_sysctl_setup(struct lx_session *s, const struct lx_args *a);

/*
 * Reads a setting that is a number ("net.core.rmem_max", "net/ipv4/conf/eth0.7/rp_filter").
 * -ENOENT, or another errno.
 */
int lx_sysctl_read(const char *key, long long *ret_value);

#endif
