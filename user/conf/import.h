/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of a YAML file besides configuration: its sections, for "import --show",
 * and the commands "ping" and "discover", for "import --exec". These have the first form, once
 * or as a list, or the form in which they are printed, where an entry means its primary NID:
 *
 *	ping:                            ping:
 *	  timeout: 2                     - primary nid: 10.0.0.1@tcp
 *	  source: 10.0.0.9@tcp             Multi-Rail: true
 *	  nids:                            peer_ni:
 *	    0: 10.0.0.1@tcp                - nid: 10.0.0.1@tcp
 */
#ifndef LX_CONF_IMPORT_H
#define LX_CONF_IMPORT_H

#include <lnetx/conf.h>

/* clang-format off */
#define LX_IMPORT_SECTIONS(X) \
	X(NET, "net") X(ROUTE, "route") X(ROUTING, "routing") X(BUFFERS, "buffers") \
	X(PEER, "peer") X(GLOBAL, "global") X(UDSP, "udsp") X(NUMA, "numa") \
	X(TUNABLES, "tunables") \
	X(STATISTICS, "statistics") X(PING, "ping") X(DISCOVER, "discover") \
	X(IP2NETS, "ip2nets") X(MANAGE, "manage") X(ERROR, "error") /* failed probes; ignored */

enum lx_import_section {
#define LX_IMPORT_ENUM_(NAME, key) LX_IMPORT_##NAME,
	LX_IMPORT_SECTIONS(LX_IMPORT_ENUM_)
#undef LX_IMPORT_ENUM_
	LX_IMPORT_COUNT
};
/* clang-format on */

struct lx_import_probe {
	bool discover; /* else ping */
	struct lx_nid nid;
	struct lx_nid source; /* or any */
	uint32_t timeout_ms;
};

struct lx_import {
	uint32_t sections; /* 1 << enum lx_import_section */
	struct lx_import_probe *probe; /* in the order of the file */
	size_t n_probes;
};

/* Returns 0 or an error of lx_conf_parse(). Ignores the content of other sections. */
int lx_import_scan(const char *yaml, size_t len, struct lx_import *ret_import,
		   struct lx_conf_error *ret_err);
void lx_import_fini(struct lx_import *import);

/**
 * lx_import_peer_says - whether an import should configure a peer of the file
 * An export lists all known peers. A gateway that could not be discovered yet is listed
 * with one NID, not Multi-Rail: configuring that would prevent its discovery forever.
 */
bool lx_import_peer_says(const struct lx_conf *conf, const struct lx_conf_peer *peer);

#endif
