/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Commands as requests to the daemon; see the header. Called by both grammars. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/conf/global.h"
#include "json.h"
#include "requests.h"
#include "tree.h"

/* ---- the node ---------------------------------------------------------------------- */

int lx_request_up(struct lx_session *s, const struct lx_args *a)
{
	const struct lx_ctl_arg words[] = { { "all", a->v[LX_ARG_ALL] ? "true" : "false" },
					    { "large", a->v[LX_ARG_LARGE_NIDS] ? "true" : "false" },
					    { 0 } };

	return lx_session_read(s, LX_CTL_ADD, LX_CTL_NODE, NULL, words, NULL, NULL);
}

int lx_request_down(struct lx_session *s, const struct lx_args *a)
{
	return lx_session_do(s, LX_CTL_DEL, LX_CTL_NODE, NULL);
}

int lx_request_reload(struct lx_session *s, const struct lx_args *a)
{
	return lx_session_do(s, LX_CTL_SET, LX_CTL_CONFIG, NULL);
}

/* ---- routes ------------------------------------------------------------------------ */

/* Without the gateway, which may be several. */
static int parse_route(struct lx_session *s, const struct lx_args *a, struct lx_conf_route *r)
{
	struct lx_args without = *a;
	int err;

	without.v[LX_ARG_GATEWAY] = NULL;
	err = lx_args_take(s, &without, &lx_object_route_schema, r);
	if (!err && r->net == LX_NET_U32_ANY)
		err = lx_session_fail(s, -EINVAL, "a route needs a net");
	return err;
}

static int each_gateway(struct lx_session *s, const struct lx_args *a, struct lx_conf_route *r,
			enum lx_ctl_verb verb)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = lx_arg_nids(s, a->v[LX_ARG_GATEWAY], "gateway", &nids, &n);

	for (size_t i = 0; !err && i < n; i++) {
		r->gateway = nids[i];
		err = lx_session_do(s, verb, LX_CTL_ROUTE, r);
	}
	return err;
}

int lx_request_route_add(struct lx_session *s, const struct lx_args *a)
{
	struct lx_conf_route r;
	int err = parse_route(s, a, &r);

	if (!err && !a->v[LX_ARG_GATEWAY])
		err = lx_session_fail(s, -EINVAL, "a route needs a gateway");
	return err ? err : each_gateway(s, a, &r, LX_CTL_ADD);
}

int lx_request_route_del(struct lx_session *s, const struct lx_args *a)
{
	struct lx_conf_route r;
	int err = parse_route(s, a, &r);

	if (err)
		return err;
	if (a->v[LX_ARG_GATEWAY])
		return each_gateway(s, a, &r, LX_CTL_DEL);
	return lx_session_do(s, LX_CTL_DEL, LX_CTL_ROUTE, &r);
}

/* ---- peers ------------------------------------------------------------------------- */

static int peer_request(struct lx_session *s, const struct lx_conf_peer *peer,
			enum lx_ctl_verb verb, bool force)
{
	struct lx_ctl_peer *req LX_AUTO_FREE = calloc(1, sizeof(*req));

	if (!req)
		return lx_session_fail(s, -ENOMEM, "out of memory");
	if (peer->n_nids > LX_CTL_NIDS_MAX)
		return lx_session_fail(s, -EINVAL, "peer %s: more than %u NIDs",
				       lx_nid_str(&peer->primary), LX_CTL_NIDS_MAX);
	req->primary = peer->primary;
	req->multi_rail = peer->multi_rail;
	req->lock_primary = peer->lock_primary;
	req->force = force;
	req->n_nids = peer->n_nids;
	if (peer->n_nids)
		memcpy(req->nid, peer->nid, peer->n_nids * sizeof(*peer->nid));
	return lx_session_do(s, verb, LX_CTL_PEER, req);
}

/* @nids: the memory of peer->nid. */
static int parse_peer(struct lx_session *s, const struct lx_args *a, struct lx_conf_peer *peer,
		      struct lx_nid **nids)
{
	int err;

	*peer = (struct lx_conf_peer){ .multi_rail = !a->v[LX_ARG_NON_MR],
				       .lock_primary = a->v[LX_ARG_LOCK_PRIMARY] };
	if (!a->v[LX_ARG_PRIMARY])
		return lx_session_fail(s, -EINVAL, "give the primary NID of the peer");
	err = lx_arg_nid(s, a, LX_ARG_PRIMARY, "primary nid", &peer->primary);
	if (!err && a->v[LX_ARG_NID] && a->v[LX_ARG_IP2NETS])
		err = lx_session_fail(s, -EINVAL, "give NIDs once: as nid or as ip2nets");
	if (!err && (a->v[LX_ARG_NID] || a->v[LX_ARG_IP2NETS]))
		err = lx_arg_nids(s, a->v[a->v[LX_ARG_NID] ? LX_ARG_NID : LX_ARG_IP2NETS], "nid",
				  nids, &peer->n_nids);
	peer->nid = *nids;
	return err;
}

/* A peer always has its primary NID; listing it again adds nothing. */
static void drop_primary(struct lx_conf_peer *peer)
{
	size_t kept = 0;

	for (size_t i = 0; i < peer->n_nids; i++) {
		if (!lx_nid_eq(&peer->nid[i], &peer->primary))
			peer->nid[kept++] = peer->nid[i];
	}
	peer->n_nids = kept;
}

int lx_request_peer_add(struct lx_session *s, const struct lx_args *a)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	struct lx_conf_peer peer;
	int err = parse_peer(s, a, &peer, &nids);

	if (err)
		return err;
	drop_primary(&peer);
	return peer_request(s, &peer, LX_CTL_ADD, false);
}

int lx_request_peer_del(struct lx_session *s, const struct lx_args *a)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	struct lx_conf_peer peer;
	size_t named;
	int err = parse_peer(s, a, &peer, &nids);

	if (err)
		return err;
	named = peer.n_nids;
	drop_primary(&peer);
	if (peer.n_nids < named)
		peer.n_nids = 0; /* removing the primary NID removes the peer */
	return peer_request(s, &peer, LX_CTL_DEL, a->v[LX_ARG_FORCE]);
}

int lx_request_peer_set(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_set req;
	bool health = a->v[LX_ARG_HEALTH];
	int err = lx_args_take(s, a, &lx_object_set_schema, &req);

	if (!err && !a->v[LX_ARG_NID] && !a->v[LX_ARG_ALL])
		err = lx_session_fail(s, -EINVAL, "give a NID of a peer, or \"all\"");
	if (!err && (health == !!a->v[LX_ARG_STATE] || (!health && a->v[LX_ARG_ALL])))
		err = lx_session_fail(s, -EINVAL,
				      "give either a health, or the state of one peer");
	if (!err)
		err = health ? lx_arg_int(s, a, LX_ARG_HEALTH, "health", 0, 1000, &req.value)
			     : lx_arg_int(s, a, LX_ARG_STATE, "state", 0, UINT32_MAX, &req.value);
	if (err)
		return err;
	snprintf(req.name, sizeof(req.name), "%s", health ? "health" : "state");
	return lx_session_do(s, LX_CTL_SET, LX_CTL_PEER, &req);
}

/* ---- routing, counters, connections, tunables ----------------------------------------- */

int lx_request_routing(struct lx_session *s, bool enable)
{
	struct lx_ctl_routing req = { .enable = enable };

	return lx_session_do(s, LX_CTL_SET, LX_CTL_ROUTING, &req);
}

int lx_request_buffers(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_buffers req;
	int err = lx_args_take(s, a, &lx_object_buffers_schema, &req);

	return err ? err : lx_session_do(s, LX_CTL_SET, LX_CTL_BUFFERS, &req);
}

int lx_request_stats_reset(struct lx_session *s, const struct lx_args *a)
{
	return lx_session_do(s, LX_CTL_DEL, LX_CTL_STATS, NULL);
}

int lx_request_disconnect(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_disconnect req;
	int err = lx_args_take(s, a, &lx_object_disconnect_schema, &req);

	if (!err && !a->v[LX_ARG_NID] && !a->v[LX_ARG_ALL])
		err = lx_session_fail(s, -EINVAL, "give a NID, or \"all\"");
	return err ? err
		   : lx_session_do(s, LX_CTL_DEL, LX_CTL_CONN, &req);
}

int lx_request_tunable_set(struct lx_session *s, const char *module, const char *name,
			   const char *value)
{
	struct lx_ctl_tunable_value req;

	if ((size_t)snprintf(req.module, sizeof(req.module), "%s", module) >= sizeof(req.module) ||
	    (size_t)snprintf(req.name, sizeof(req.name), "%s", name) >= sizeof(req.name) ||
	    (size_t)snprintf(req.value, sizeof(req.value), "%s", value) >= sizeof(req.value))
		return lx_session_fail(s, -ENOENT,
				       "no tunable has a name or value as long as \"%s %s %s\"",
				       module, name, value);
	return lx_session_do(s, LX_CTL_SET, LX_CTL_TUNABLE, &req);
}

/* ---- shows ----------------------------------------------------------------------- */

struct show_walk {
	const struct lx_ctl_shown *object;
	unsigned int level;
	json_t *list;
};

static int add_row(const void *attrs, size_t len, void *arg)
{
	struct show_walk *w = arg;

	return lx_tree_add(w->list, w->object, attrs, len, w->level);
}

int lx_request_show(struct lx_session *s, unsigned int object, const struct lx_args *a,
		    unsigned int level, json_t **ret_list)
{
	const struct lx_request *r = lx_request_find(object, LX_CTL_SHOW);
	struct show_walk w = { .object = r->shown, .level = level, .list = json_array() };
	struct lx_ctl_show req;
	int err = w.list ? lx_args_take(s, a, r->schema, &req)
			 : lx_session_fail(s, -ENOMEM, "out of memory");

	req.level = level;
	if (!err)
		err = lx_session_read(s, LX_CTL_SHOW, object, &req, NULL, add_row, &w);
	if (err)
		json_decref(w.list);
	else
		*ret_list = w.list;
	return err;
}

int lx_request_show_all(struct lx_session *s, unsigned int object, unsigned int level,
			json_t **ret_list)
{
	return lx_request_show(s, object, &(struct lx_args){ 0 }, level, ret_list);
}

int lx_request_first(struct lx_session *s, unsigned int object, const struct lx_args *a,
		     unsigned int level, json_t **ret_row)
{
	json_t *list;
	int err = lx_request_show(s, object, a ? a : &(struct lx_args){ 0 }, level, &list);

	if (err)
		return err;
	*ret_row = json_incref(json_array_get(list, 0));
	json_decref(list);
	return 0;
}

json_t *lx_request_list(struct lx_session *s, unsigned int object)
{
	json_t *list = NULL;

	lx_request_show_all(s, object, LX_LEVEL_OWN, &list);
	s->text[0] = '\0';
	return list;
}

json_t *lx_request_row(struct lx_session *s, unsigned int object, const struct lx_args *a)
{
	json_t *row = NULL;

	lx_request_first(s, object, a, LX_LEVEL_OWN, &row);
	s->text[0] = '\0';
	return row;
}

unsigned int lx_request_fault_count(struct lx_session *s)
{
	json_t *list = lx_request_list(s, LX_CTL_FAULT);
	unsigned int n = json_array_size(list);

	json_decref(list);
	return n;
}

json_int_t lx_request_peer_received(const json_t *peer)
{
	json_int_t n = 0;
	json_t *ni;
	size_t i;

	json_array_foreach (json_object_get(peer, lx_object_peers.rows), i, ni)
		n += lx_json_int(json_object_get(ni, "statistics"), "recv_count");
	return n;
}

int lx_request_probe(struct lx_session *s, const struct lx_ctl_ping *ping, bool discover,
		     bool force, json_t *list)
{
	struct show_walk w = { .object = &lx_object_pings, .list = list };
	const struct lx_ctl_arg words[] = { { "force", "true" }, { 0 } };

	return lx_session_read(s, LX_CTL_SHOW, discover ? LX_CTL_DISCOVER : LX_CTL_PING, ping,
			       discover && force ? words : NULL, add_row, &w);
}

int lx_request_probe_each(struct lx_session *s, const struct lx_args *a, lx_request_probe_fn probe,
			  void *arg)
{
	struct lx_ctl_ping ping = { 0 };
	int64_t timeout;
	int err;

	err = lx_args_take(s, a, &lx_object_ping_schema, &ping);
	if (!err)
		err = lx_arg_int(s, a, LX_ARG_TIMEOUT, "timeout", 1, 3600, &timeout);
	if (!err && !a->n_rest)
		err = lx_session_fail(s, -EINVAL, "give one or more NIDs");
	if (!err)
		ping.timeout_ms = timeout == LX_UNSET ? 0 : timeout * 1000;
	for (int i = 0; !err && i < a->n_rest; i++) {
		struct lx_nid *nids LX_AUTO_FREE = NULL;
		size_t n = 0;

		err = lx_arg_nids(s, a->rest[i], "nid", &nids, &n);
		for (size_t j = 0; !err && j < n; j++) {
			ping.nid = nids[j];
			err = probe(s, &ping, arg);
		}
	}
	return err;
}

/* ---- global settings ------------------------------------------------------------- */

/* A tunable's value from the list; 0 if it is missing. */
static int64_t tunable_value(const json_t *list, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach ((json_t *)list, i, row) {
		if (!strcmp(lx_json_text(row, "name"), name))
			return lx_json_number(row, "value");
	}
	return 0;
}

int lx_request_globals(struct lx_session *s, json_t **ret_map)
{
	const struct lx_args lnet = { .v = { [LX_ARG_MODULE] = "lnet" } };
	json_t *list, *map;
	int err = lx_request_show(s, LX_CTL_TUNABLE, &lnet, LX_LEVEL_OWN, &list);

	if (err)
		return err;
	map = json_object();
	for (const struct lx_global *g = lx_globals; g->key; g++) {
		int64_t value;

		if (!g->tunable)
			value = lx_global_lnd_timeout(
				tunable_value(list, "lnet_transaction_timeout"),
				tunable_value(list, "lnet_retry_count"));
		else
			value = tunable_value(list, g->tunable);
		json_object_set_new(map, g->key, json_integer(g->inverse ? !value : value));
	}
	json_decref(list);
	*ret_map = map;
	return 0;
}

int lx_request_global_set(struct lx_session *s, const char *key, int64_t value)
{
	const struct lx_global *g = lx_global_lookup(key);
	char text[24];

	if (!g || !g->tunable)
		return lx_session_fail(s, -ENOENT, "%s cannot be set%s", key,
				       g ? ": it follows from transaction_timeout and retry_count"
					 : "");
	/* lnetxd gets the opposite, and so could not refuse it. */
	if (g->inverse && value != 0 && value != 1)
		return lx_session_fail(s, -ERANGE, "%s %" PRId64 " is not in 0..1", key, value);
	snprintf(text, sizeof(text), "%lld", (long long)(g->inverse ? !value : value));
	return lx_request_tunable_set(s, "lnet", g->tunable, text);
}

/* ---- routing --------------------------------------------------------------------- */

/* Pools are the entries with counts of their own. */
static json_t *buffer_totals(const json_t *info)
{
	json_t *totals = json_object(), *pool;
	const char *key;

	json_object_foreach ((json_t *)info, key, pool) {
		if (json_is_object(pool))
			json_object_set(totals, key, json_object_get(pool, "nbuffers"));
	}
	return totals;
}

/* Moves all but the pools from @info into the result. A backup has no progress of a change. */
static json_t *take_enable(json_t *info, bool backup)
{
	json_t *enable = json_object(), *value;
	const char *key;
	void *tmp;

	json_object_foreach_safe (info, tmp, key, value) {
		if (json_is_object(value))
			continue;
		if (!backup || !strcmp(key, "enable"))
			json_object_set(enable, key, value);
		json_object_del(info, key);
	}
	return enable;
}

int lx_request_routing_show(struct lx_session *s, bool backup, json_t **ret_map)
{
	json_t *info, *map, *enable;
	int err = lx_request_first(s, LX_CTL_ROUTING, NULL, LX_LEVEL_OWN, &info);

	if (err)
		return err;
	map = json_object();
	if (info) {
		json_t *totals = buffer_totals(info);

		enable = take_enable(info, backup);
		if (backup)
			json_object_set_new(map, "routing", enable);
		else
			json_object_set_new(map, "routing",
					    json_pack("[{sO}, o]", "cpt[0]", info, enable));
		json_object_set_new(map, "buffers", totals);
	}
	json_decref(info);
	*ret_map = map;
	return 0;
}

int lx_request_tunable(struct lx_session *s, const char *module, const char *name,
		       int64_t *ret_value)
{
	const struct lx_args which = { .v = { [LX_ARG_MODULE] = module, [LX_ARG_NAME] = name } };
	json_t *row;
	int err = lx_request_first(s, LX_CTL_TUNABLE, &which, LX_LEVEL_OWN, &row);

	if (err)
		return err;
	*ret_value = lx_json_number(row, "value");
	json_decref(row);
	return 0;
}

int lx_request_console(struct lx_session *s, struct lx_nid *ret_nid)
{
	json_t *nets, *net, *ni;
	size_t i, j;
	int err = lx_request_show_all(s, LX_CTL_NET, 1, &nets);

	if (err)
		return err;
	*ret_nid = lx_nid_any;
	json_array_foreach (nets, i, net) {
		json_array_foreach (json_object_get(net, lx_object_nets.rows), j, ni) {
			struct lx_nid nid;

			if (lx_nid_is_any(ret_nid) &&
			    !lx_nid_parse(lx_json_text(ni, "nid"), &nid) && nid.type != LX_NET_LO &&
			    lx_nid_is_nid4(&nid))
				*ret_nid = nid;
		}
	}
	json_decref(nets);
	return lx_nid_is_any(ret_nid)
		       ? lx_session_fail(s, -ENODEV, "this node has no NID with a 4-byte "
					 "address, which LNet selftest needs; next: lnetx net add")
		       : 0;
}
