/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The configuration file: reading it, and reporting mistakes. */
#ifndef LX_DAEMON_CONFIG_H
#define LX_DAEMON_CONFIG_H

#include <lnetx/conf.h>

#define LX_CONFIG_TEXT 400 /* of a mistake, including the file's name */
#define LX_CONFIG_FILES 4

/* Where the configuration may be, best first. */
struct lx_config_files {
	const char *path[LX_CONFIG_FILES];
	unsigned int n;
};

/* Called for each mistake: "FILE:LINE:COL: text". */
typedef void (*lx_config_fn)(const char *text, void *arg);

/* The first file that exists, else the first; NULL: there are none. Logs one that is not first. */
const char *lx_config_choose(const struct lx_config_files *files);

/* Reads a file that is open. @ret_text: to be freed. Returns 0 or -errno, with @ret_why. */
int lx_config_read(int fd, char **ret_text, size_t *ret_len, struct lx_conf_error *ret_why);

/* As an empty file. */
bool lx_config_is_empty(const struct lx_conf *conf);

/* Logs the keys of the file that mean nothing here, or that all of it configures nothing. */
void lx_config_log_ignored(const char *path, const struct lx_conf *conf);

/**
 * lx_config_load - read, check and parse a file
 * @start: an NI whose interface or address is missing is no mistake, unless all are
 * @fn: called for each mistake
 * Returns 0, -errno of opening or reading, or of the first mistake; at @start -EBADMSG if some are
 * of the file alone, whatever this machine has.
 */
int lx_config_load(const char *path, bool start, struct lx_conf **ret_conf, lx_config_fn fn,
		   void *arg);

/* "FILE:LINE:COL: text", without numbers if there are none. Returns @buf. */
const char *lx_config_error(const char *path, const struct lx_conf_error *err, char *buf,
			    size_t size);

/**
 * lx_config_default - one NI on net tcp, on the first interface that is up
 * @large: accept an interface with an IPv6 address if none has an IPv4 address
 * Returns 0, -ENODEV there is none; -ENOMEM.
 */
int lx_config_default(bool large, struct lx_conf **ret_conf);

/* Gives the NI the first global IPv6 address of its interface, if there is one. */
void lx_config_large_nid(struct lx_conf_ni *ni);

/**
 * lx_config_resolve - a configuration on this machine
 * @large: interfaces stand for their IPv6 address
 * @ret_conf: to be freed with lx_conf_free()
 * @ret_later: what waits for an interface or an address (lx_conf_part()); NULL: that is a mistake
 * Returns 0, -EINVAL no rule of it applies, or what lx_conf_resolve() does.
 */
int lx_config_resolve(const struct lx_conf *conf, bool large, struct lx_conf **ret_conf,
		      struct lx_conf **ret_later, struct lx_conf_error *ret_err);

/* Why an NI cannot come up: "net tcp5 on eth5: there is no such interface". False: it can. */
bool lx_config_lacks(const struct lx_conf_ni *ni, bool large, struct lx_conf_error *ret_why);

#endif
