/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parses the reference's module parameters "networks", "ip2nets", "routes" and
 * "forwarding" (control.md 7) into a configuration, and knows where others belong. Called by
 * conf.c and user/node; no state.
 */
#ifndef LX_CONF_MODPARAM_H
#define LX_CONF_MODPARAM_H

#include <lnetx/conf.h>

#define LX_MODPARAM_TEXT 4096 /* maximum length of a parameter, with its NUL */

struct lx_modparam {
	struct lx_conf *conf; /* gets the results */
	struct lx_conf_place at; /* of the text, for the results */
	char why[200]; /* set to the error */
};

/* Each returns 0, -EINVAL with p->why, -E2BIG too many entries, or -ENOMEM. */
int lx_modparam_networks(struct lx_modparam *p, const char *text);
int lx_modparam_ip2nets(struct lx_modparam *p, const char *text);
int lx_modparam_routes(struct lx_modparam *p, const char *text);
int lx_modparam_forwarding(struct lx_modparam *p, const char *text);

/*
 * The module here that has a tunable of a module of the reference: ksocklnd is tcp, ko2iblnd is
 * o2ib, and the acceptor's, which are lnet's there, are tcp's.
 */
const char *lx_modparam_module(const char *module, const char *name);

/* True for a parameter of a module of the reference that has no meaning here. */
bool lx_modparam_ignored(const char *module, const char *name);

#endif
