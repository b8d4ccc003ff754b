/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration file: reading it, and saying what is wrong with it. */
#ifndef LX_DAEMON_CONFIG_H
#define LX_DAEMON_CONFIG_H

#include <lnetx/conf.h>

/**
 * lx_config_load - read and parse a file
 * @ret_err: filled on failure; line 0: the file as a whole
 * Returns 0, -errno of opening or reading, or what lx_conf_parse() returns.
 */
int lx_config_load(const char *path, struct lx_conf **ret_conf, struct lx_conf_error *ret_err);

/* "FILE:LINE:COL: text", without the numbers where there are none. Returns @buf. */
const char *lx_config_error(const char *path, const struct lx_conf_error *err, char *buf,
			    size_t size);

/* One NI on net tcp, on the first interface that is up and has an IPv4 address. -ENODEV. */
int lx_config_default(struct lx_conf **ret_conf);

/* The NID on @net of the first global IPv6 address of an interface. -EADDRNOTAVAIL. */
int lx_config_large_nid(uint32_t net, const char *ifname, struct lx_nid *ret_nid);

#endif
