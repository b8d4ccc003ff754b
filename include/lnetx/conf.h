/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The configuration of a node, as a struct and as YAML.
 *
 * The YAML is what "lnetctl export" writes and "lnetctl import" reads (control.md
 * 2 and 4), with an additional section for what the reference sets as kernel module
 * parameters:
 *
 *	tunables:
 *	    lnet: { alive_router_check_interval: 10 }
 *	    tcp: { sock_timeout: 20, conns_per_peer: 2 }
 *
 * where "networks", "ip2nets", "routes" and "forwarding" of lnet have the grammars of
 * these parameters (control.md 7).
 */
#ifndef LNETX_CONF_H
#define LNETX_CONF_H

#include "info.h"

#pragma GCC visibility push(default) /* what liblnetx.so exports */

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the YAML, counted from 1; 0: not from YAML. */
struct lx_conf_place {
	int line, column;
};

#define LX_RAILS_TEXT 128

/* Numbers not given are LX_UNSET, not 0. */
struct lx_conf_ni {
	uint32_t net;
	char ifname[IF_NAMESIZE]; /* "" if the NID selects it */
	struct lx_nid nid;     /* any if the interface selects it */
	struct lx_ni_tunables tun;      /* LX_UNSET: default */
	struct lx_lnd_tunables lnd_tun; /* LX_UNSET: default; order: lx_conf_lnd_settings() */
	struct lx_conf_place at; /* of the interface or NID */
	/*
	 * Until the next version, an NI for each of several addresses: how many ("4"), or which
	 * ("10.2.0.10-13"). "": a single NI.
	 */
	char rails[LX_RAILS_TEXT];
	struct lx_conf_place rails_at;
};

/* A setting of an NI: "tunables", or one that only its transport understands ("lnd tunables"). */
struct lx_conf_ni_setting {
	const char *name;
	int32_t min, max; /* LX_UNSET is always allowed */
};

/**
 * lx_conf_lnd_settings - the settings that NIs of a net type have
 * Terminated by name NULL; in the order of lx_lnd_tunables.value. NULL: this version has
 * no configurable transport for the type.
 */
const struct lx_conf_ni_setting *lx_conf_lnd_settings(uint8_t net_type);

/* The ranges of struct lx_ni_tunables, in the order of its members; terminated by name NULL. */
const struct lx_conf_ni_setting *lx_conf_ni_settings(void);

/**
 * lx_conf_net_why - what an errno of lx_net_add() means, and what to check next
 * @net: the net that was to be added
 * @err: a negative errno
 * A constant text; NULL: use strerror().
 */
const char *lx_conf_net_why(uint32_t net, int err);

#define LX_HOP_MAX 255 /* of a route */

struct lx_conf_route {
	uint32_t net;
	struct lx_nid gateway;
	int32_t hop;      /* 1..LX_HOP_MAX, or LX_UNSET */
	int64_t priority; /* 0 best, or LX_UNSET */
	int32_t health_sensitivity; /* or LX_UNSET */
	/*
	 * From a module parameter: a gateway on a net without an NI is ignored, and one that is
	 * this node itself makes it a router (control.md 7.2).
	 */
	bool legacy;
	struct lx_conf_place at, net_at; /* of the gateway, of the net */
};

struct lx_iprange; /* user/conf/rule.h */

/* A rule that creates NIs by a machine's addresses: "ip2nets", "networks" (control.md 7). */
struct lx_conf_rule {
	struct lx_conf_ni ni; /* net and settings; neither interface nor NID */
	char (*ifname)[IF_NAMESIZE]; /* of the NIs; none: depends on @legacy */
	size_t n_ifnames;
	struct lx_iprange *range; /* applies to addresses in one of these */
	size_t n_ranges;
	bool always; /* applies whatever the addresses */
	/*
	 * From a module parameter: if any address of the machine is in range, the rule applies with
	 * all its interfaces, or else the first that is up. Otherwise, as in section "ip2nets", it
	 * applies to interfaces with an address in range, unless an earlier rule applied to its
	 * net.
	 */
	bool legacy;
	struct lx_conf_place at;
};

struct lx_conf_peer {
	struct lx_nid primary;
	bool multi_rail;
	bool lock_primary;
	struct lx_nid *nid; /* without the primary */
	size_t n_nids;
	bool primary_listed; /* the YAML has the primary among the NIDs, too */
	struct lx_conf_place at; /* of the primary NID */
};

/* A module or global tunable, by name: checked when the node takes it. */
struct lx_conf_tunable {
	char module[8]; /* "lnet", "tcp" */
	char name[40];
	char value[24];
	bool global; /* given by its key in section "global" */
	struct lx_conf_place at, value_at; /* of the name, of the value */
};

#define LX_UDSP_TEXT 256

/*
 * A user-defined selection policy (lnet.md 11.3). Clauses are nets ("tcp", "tcp[1-3]") or
 * ranges of NIDs ("10.0.*.[1-9/2]@tcp", "fd00::1@tcp"); one that is not given is "".
 */
struct lx_conf_udsp {
	char src[LX_UDSP_TEXT]; /* of this node */
	char dst[LX_UDSP_TEXT]; /* of peers */
	char rte[LX_UDSP_TEXT]; /* of routers */
	int64_t priority; /* 0 best, up to UINT32_MAX; or LX_UNSET */
	int32_t index;    /* place in the list, from 0; LX_UNSET: last */
	struct lx_conf_place at;
};

/* Room for a list of consoles. */
#define LX_CONSOLES_TEXT 512

#define LX_SELFTEST_SESSION_MAX 86400 /* of its time-outs and buffers */
#define LX_SELFTEST_RPC_MAX 3600
#define LX_SELFTEST_BULK_MAX 16384

/* Section "selftest": lnetxd's test node (selftest.md). A node itself ignores it. */
struct lx_conf_selftest {
	int32_t enable; /* 0, 1, or LX_UNSET */
	char consoles[LX_CONSOLES_TEXT]; /* ranges of NIDs, or "any"; "": not given */
	int64_t session_timeout; /* seconds; or LX_UNSET, as the next two */
	int64_t rpc_timeout; /* seconds */
	int64_t bulk_mib; /* MiB */
	struct lx_conf_place at; /* of the consoles */
};

struct lx_conf {
	struct lx_conf_ni *ni;
	size_t n_nis;
	struct lx_conf_rule *rule; /* further NIs, on machines to which they apply */
	size_t n_rules;
	struct lx_conf_route *route;
	size_t n_routes;
	struct lx_conf_peer *peer;
	size_t n_peers;
	struct lx_conf_tunable *tunable;
	size_t n_tunables;
	int32_t routing;           /* 0, 1, or LX_UNSET */
	struct lx_conf_place routing_at;
	int64_t buffers[LX_POOLS]; /* total buffers, or LX_UNSET */
	struct lx_conf_udsp *udsp; /* in the order of the file */
	size_t n_udsps;
	struct lx_conf_selftest selftest;
	/*
	 * Keys of the YAML that mean something to a version of the reference, and nothing here,
	 * with their lines, as a text for people. NULL: there were none.
	 */
	char *ignored;
};

struct lx_conf_error {
	int line, column; /* from 1; 0 if it has no place */
	char text[240];
};

/**
 * lx_conf_parse - read YAML into a configuration
 * @len: bytes of @yaml; at most 4 MiB
 * @ret_conf: the caller's, to be freed with lx_conf_free()
 * @ret_err: filled on failure: where, what, and what was expected
 *
 * Output-only keys of an export (statistics, state, ...) are accepted and ignored; settings
 * without a meaning here are accepted and named in the configuration's @ignored.
 * Returns 0, -EINVAL: see @ret_err; -EOPNOTSUPP: a section that this
 * version does not implement, see @ret_err; -E2BIG; -ENOMEM.
 */
int lx_conf_parse(const char *yaml, size_t len, struct lx_conf **ret_conf,
		  struct lx_conf_error *ret_err);

/**
 * lx_conf_new - create an empty configuration: all unset
 * @ret_conf: to be freed with lx_conf_free()
 * Returns 0 or -ENOMEM.
 */
int lx_conf_new(struct lx_conf **ret_conf);

/**
 * lx_conf_parse_ip2nets - rules in the grammar of the module parameter "ip2nets"
 * @text: "tcp(eth0) 10.0.0.*; o2ib0(ib0) 192.168.[1-2].*" (control.md 7.3)
 * @ret_conf: has the rules and nothing else; to be freed with lx_conf_free()
 * @ret_err: filled on failure
 * Returns 0, -EINVAL: see @ret_err; -ENOMEM.
 */
int lx_conf_parse_ip2nets(const char *text, struct lx_conf **ret_conf,
			  struct lx_conf_error *ret_err);

/** lx_conf_free - free a configuration and everything in it; NULL is fine */
void lx_conf_free(struct lx_conf *conf);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif
