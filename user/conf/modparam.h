/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parses the reference's module parameters "networks", "ip2nets", "routes" and
 * "forwarding" (control.md 7) into a configuration, or for tools into the texts as written, and
 * knows where others belong. Called by conf.c, user/node and lnet_legacy2yaml; no state.
 */
#ifndef LX_CONF_MODPARAM_H
#define LX_CONF_MODPARAM_H

#include <lnetx/conf.h>

#include "../base/nidrange.h"
#include "../base/text.h"

#define LX_MODPARAM_TEXT 4096 /* maximum length of a parameter, with its NUL */

/* A net of "networks", or of an entry of "ip2nets". Lists of texts end with NULL. */
struct lx_modparam_net {
	uint32_t net;
	const char *name; /* as written */
	const char *cpts; /* "[0,1]"; NULL: not given */
	char **interface; /* each with its CPU partitions: "eth0[1]"; NULL: not given */
	char **pattern; /* not checked; NULL: of "networks" */
};

/* The nets of an entry of "routes", and one of its gateways or ranges of gateways. */
struct lx_modparam_route {
	const char *net, *gateway; /* as written; @gateway always has its net */
	struct lx_nid_range nets; /* at least one span of numbers */
	const struct lx_nid *nid; /* all gateways */
	size_t n_nids;
	int32_t hop; /* LX_UNSET: not given */
	int64_t priority; /* LX_UNSET: not given */
};

struct lx_modparam {
	struct lx_conf *conf; /* gets the results */
	struct lx_conf_place at; /* of the text, for the results */
	/* Get nets and routes in place of @conf, if set. Each returns 0 or lx_modparam_fail(). */
	int (*net)(struct lx_modparam *p, const struct lx_modparam_net *net);
	int (*route)(struct lx_modparam *p, const struct lx_modparam_route *route);
	void *arg; /* theirs */
	size_t first; /* private: the first rule of this text, or net */
	char why[200]; /* set to the error */
};

/* Each returns 0, -EINVAL or -ENOMEM, with p->why. */
int lx_modparam_networks(struct lx_modparam *p, const char *text);
int lx_modparam_ip2nets(struct lx_modparam *p, const char *text);
int lx_modparam_routes(struct lx_modparam *p, const char *text);
int lx_modparam_forwarding(struct lx_modparam *p, const char *text);

/*
 * Cut the next part out of *@text and advance it: up to one of the separators outside brackets,
 * or an entry of "ip2nets" or "routes" without its comment. Without space around it; NULL: none.
 */
char *lx_modparam_part(char **text, const char *separators);
char *lx_modparam_entry(char **text);

/* Sets p->why. Returns -EINVAL. */
int lx_modparam_fail(struct lx_modparam *p, const char *fmt, ...) LX_PRINTF(2, 3);

/*
 * The module here that has a tunable of a module of the reference: ksocklnd is tcp, ko2iblnd is
 * o2ib, and the acceptor's, which are lnet's there, are tcp's.
 */
const char *lx_modparam_module(const char *module, const char *name);

/* True for a parameter of a module of the reference that has no meaning here. */
bool lx_modparam_ignored(const char *module, const char *name);

#endif
