/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration file: reading it, and saying what is wrong with it. */
#ifndef LX_DAEMON_CONFIG_H
#define LX_DAEMON_CONFIG_H

#include <lnetx/conf.h>

#define LX_CONFIG_TEXT 400 /* of a mistake, with the file's name */

/* Told of each mistake: "FILE:LINE:COL: text". */
typedef void (*lx_config_fn)(const char *text, void *arg);

/**
 * lx_config_load - read, check and parse a file
 * @flags: LX_CHECK_*
 * @fn: told of all that is wrong
 * Returns 0, -errno of opening or reading, or of the first mistake.
 */
int lx_config_load(const char *path, unsigned int flags, struct lx_conf **ret_conf, lx_config_fn fn,
		   void *arg);

/* "FILE:LINE:COL: text", without the numbers where there are none. Returns @buf. */
const char *lx_config_error(const char *path, const struct lx_conf_error *err, char *buf,
			    size_t size);

/**
 * lx_config_default - one NI on net tcp, on the first interface that is up
 * @large: one with an IPv6 address will do if none has an IPv4 address
 * Returns 0, -ENODEV there is none; -ENOMEM.
 */
int lx_config_default(bool large, struct lx_conf **ret_conf);

/* Names the NI by the first global IPv6 address of its interface, if that has one. */
void lx_config_large_nid(struct lx_conf_ni *ni);

/**
 * lx_config_large_nids - the same for all NIs of a configuration
 * @conf: gets a list of NIs of its own; who had the old one keeps it
 * @ret_ni: that list, to be freed
 * Returns 0 or -ENOMEM.
 */
int lx_config_large_nids(struct lx_conf *conf, struct lx_conf_ni **ret_ni);

#endif
