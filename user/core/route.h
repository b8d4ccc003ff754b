/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Routes to nets that are not local, and whether they are alive (lnet.md 10).
 */
#ifndef LX_CORE_ROUTE_H
#define LX_CORE_ROUTE_H

#include <lnetx/conf.h>
#include <lnetx/info.h>

#include "../base/list.h"
#include "down.h"

struct lx_avoid;
struct lx_core;
struct lx_core_ni;
struct lx_peer;
struct lx_peer_ni;

/* A net reached through gateways. Owner: core->rnets, while it has routes. */
struct lx_rnet {
	struct lx_list link;
	uint32_t id;
	struct lx_list routes; /* in random order */
};

struct lx_route {
	struct lx_list link;         /* in the rnet */
	struct lx_list gateway_link; /* in the peer */
	struct lx_rnet *rnet;
	struct lx_peer *gateway;
	struct lx_nid nid;           /* of the gateway, as configured */
	uint32_t local_net;          /* that of nid */
	int32_t hops;                /* LX_UNSET: undefined */
	uint32_t priority;
	int32_t health_sensitivity;
	enum lx_down_why verdict; /* last computed; valid where discovery is not usable */
	int verdict_error;
	bool single_hop;   /* the gateway has an NI on the net itself */
	bool shown_alive;  /* as last reported */
	struct lx_cause down; /* as last reported */
	uint64_t seq;
};

struct lx_rnet *lx_rnet_lookup(struct lx_core *core, uint32_t net);
/* Whether it has a route that is up. */
bool lx_rnet_alive(const struct lx_rnet *rnet);
/* By the NID it was configured with. */
struct lx_route *lx_route_lookup(struct lx_core *core, uint32_t net, const struct lx_nid *nid);

/* True if a peer is a gateway to a net, up or down. */
bool lx_route_is_through(const struct lx_peer *gateway, uint32_t net);

/* As lx_route_add() of lnetx.h. */
int lx_route_new(struct lx_core *core, const struct lx_conf_route *conf);
/* As lx_route_del() of lnetx.h; @net any: to every net. -ENOENT. */
int lx_route_delete(struct lx_core *core, uint32_t net, const struct lx_nid *gateway);
/* Deletes routes via a NID that is now our own. */
void lx_route_delete_own(struct lx_core *core, const struct lx_nid *nid);
/* Deletes routes whose gateway is on a local net that goes away. */
void lx_route_delete_over(struct lx_core *core, uint32_t local_net);
/* Deletes routes whose gateway is being deleted. */
void lx_route_delete_through(struct lx_peer *gateway);

bool lx_route_alive(const struct lx_route *route);
/* The reason why it is down, and since when; empty if it is up. */
void lx_route_describe_down(const struct lx_route *route, struct lx_down *ret_down);

/*
 * A gateway does not take messages for its own NIDs on other nets; a Lustre node closes all of the
 * sender's connections. So it is no way to them.
 */
bool lx_route_ends_at(const struct lx_peer *gateway, const struct lx_peer_ni *dst);

/**
 * lx_route_select - the best live route to a NID's net, and the gateway NI to use
 * @local_net: only gateways on this net; LX_NET_U32_ANY: any
 * @but: exclude this gateway; may be NULL
 * @avoid: gateways in it rank last; may be NULL
 * Returns NULL if there is none.
 */
struct lx_route *lx_route_select(struct lx_core *core, const struct lx_peer_ni *dst,
				 uint32_t local_net, const struct lx_peer *but,
				 const struct lx_avoid *avoid,
				 struct lx_peer_ni **ret_gateway);

/* As lx_dist() of lnetx.h. */
int lx_route_distance(struct lx_core *core, const struct lx_nid *nid);

/* Discovery of a gateway ended, with its ping information merged (or error). */
void lx_route_gateway_checked(struct lx_peer *gateway, int error);
void lx_route_gateway_info(struct lx_peer *gateway, const struct lx_pinginfo *info);
/* A message came through a gateway (lnet.md 7.1). */
void lx_route_gateway_heard(struct lx_core *core, struct lx_peer *gateway, uint32_t net);
/* A transport lost a gateway's NID. */
void lx_route_gateway_lost(struct lx_core *core, struct lx_peer_ni *pni, int error);
/* Moves @from's routes to @to: they are the same node. */
void lx_route_gateway_moved(struct lx_peer *to, struct lx_peer *from);
/* Moves the routes that name this NID to the peer that has it now. */
void lx_route_nid_moved(struct lx_peer *to, const struct lx_nid *nid);
/* The gateway's NI that its first usable route names, or NULL: not every NI is a way to it. */
struct lx_peer_ni *lx_route_gateway_ni(struct lx_peer *gateway);
/* A gateway lost its other NIDs: moves each route to the peer that has the route's NID. */
void lx_route_gateway_split(struct lx_peer *gateway);

/* Reports routes that came up or went down since the last call. */
void lx_route_report(struct lx_core *core);

int lx_route_describe_all(struct lx_core *core, struct lx_route_info **ret_list, size_t *ret_n);

#endif
