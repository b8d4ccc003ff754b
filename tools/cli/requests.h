/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What commands do, without the way they are written or their outcome is shown. Each
 * returns 0 or a negative errno, and has noted in the session why.
 */
#ifndef LX_TOOLS_REQUESTS_H
#define LX_TOOLS_REQUESTS_H

#include <jansson.h>

#include "args.h"

typedef int (*lx_request_fn)(struct lx_session *s, const struct lx_args *a);

int lx_request_up(struct lx_session *s, const struct lx_args *a);
int lx_request_down(struct lx_session *s, const struct lx_args *a);
int lx_request_reload(struct lx_session *s, const struct lx_args *a);
int lx_request_net_add(struct lx_session *s, const struct lx_args *a);
int lx_request_net_del(struct lx_session *s, const struct lx_args *a);
int lx_request_net_set(struct lx_session *s, const struct lx_args *a);
int lx_request_route_add(struct lx_session *s, const struct lx_args *a);
int lx_request_route_del(struct lx_session *s, const struct lx_args *a);
int lx_request_peer_add(struct lx_session *s, const struct lx_args *a);
int lx_request_peer_del(struct lx_session *s, const struct lx_args *a);
int lx_request_routing(struct lx_session *s, bool enable);
int lx_request_buffers(struct lx_session *s, const struct lx_args *a);
int lx_request_stats_reset(struct lx_session *s, const struct lx_args *a);
int lx_request_disconnect(struct lx_session *s, const struct lx_args *a);
int lx_request_tunable_set(struct lx_session *s, const char *module, const char *name,
			   const char *value);

/*
 * An NI, or with LX_ARG_IP2NETS those that rules in the grammar of the module parameter make on
 * this machine. -ENOENT: none of them applies.
 */
int lx_request_nets_add(struct lx_session *s, const struct lx_args *a);

/* The pieces of a configuration; used by the import as well. */
int lx_request_add_ni(struct lx_session *s, const struct lx_conf_ni *ni);
int lx_request_del_ni(struct lx_session *s, const struct lx_conf_ni *ni);
int lx_request_add_route(struct lx_session *s, const struct lx_conf_route *route);
int lx_request_del_route(struct lx_session *s, const struct lx_conf_route *route);
int lx_request_set_buffers(struct lx_session *s, const int64_t totals[LX_POOLS]);
int lx_request_add_peer(struct lx_session *s, const struct lx_conf_peer *peer);
int lx_request_del_peer(struct lx_session *s, const struct lx_conf_peer *peer, bool force);

/**
 * lx_request_show - what there is of an object, limited by net, nid, gateway, ...
 * @ret_list: a JSON array; the caller's
 */
int lx_request_show(struct lx_session *s, uint8_t command, const struct lx_control_object *object,
		    const struct lx_args *a, unsigned int level, json_t **ret_list);

/* The same when nothing limits it. */
int lx_request_show_all(struct lx_session *s, uint8_t command,
			const struct lx_control_object *object, unsigned int level,
			json_t **ret_list);

/* The counters of the node as one mapping. */
int lx_request_stats(struct lx_session *s, unsigned int level, json_t **ret_map);

/* One probe; the answer is added to @list, the form of "ping:". */
int lx_request_probe(struct lx_session *s, const struct lx_control_ping *ping, bool discover,
		     bool force, json_t *list);

/*
 * Calls @probe for each NID that the command names, with its source and timeout; the first
 * error it returns, or one of the command's own, is the last of them.
 */
typedef int (*lx_request_probe_fn)(struct lx_session *s, const struct lx_control_ping *ping, void *arg);
int lx_request_probe_each(struct lx_session *s, const struct lx_args *a, lx_request_probe_fn probe,
			  void *arg);

/* A mapping as "global:" has it. */
int lx_request_globals(struct lx_session *s, json_t **ret_map);

/* Sets one of them. -ENOENT: no such key or not to be set. */
int lx_request_global_set(struct lx_session *s, const char *key, int64_t value);

/* {"routing": [...], "buffers": {...}} as the reference shows it; empty if never a router. */
int lx_request_routing_show(struct lx_session *s, bool backup, json_t **ret_map);

/* What a command says of an NI's settings, whose net is known: into @ni. */
int lx_request_ni_settings(struct lx_session *s, const struct lx_args *a, struct lx_conf_ni *ni);

/* Fills an NI all of whose settings are the defaults. */
void lx_request_init_ni(struct lx_conf_ni *ni);

#endif
