/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue of changes and what each of them does. Requests come from command.c,
 * starting, reloading and stopping from main.c. Owns the changes; the node belongs to
 * the daemon, but for the time it is being started or stopped:
 *
 *	main thread                          worker thread
 *	queued ── begin(): takes the node ─▶ run(): lx_node_*() ─┐
 *	answered ◀─ finish(): gives it back ◀────────────────────┘
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/log.h"
#include "../base/schema.h"
#include "change.h"
#include "config.h"
#include "monitor.h"
#include "offload.h"

#define QUEUE_MAX 256

struct change;

/* A kind of change: what its request holds, and who does it. */
struct kind {
	uint8_t command;
	uint16_t verb; /* NLM_F_CREATE, NLM_F_REPLACE or 0 */
	const char *object;
	const struct lx_schema *schema;
	int (*run)(struct change *c);
	bool without_node; /* makes sense when nothing is configured */
};

struct change {
	struct lx_list link;
	uv_work_t work;
	struct lx_daemon *daemon;
	const struct kind *kind;
	uint16_t flags;
	struct lx_client *client; /* who waits for the answer, or NULL */
	lx_change_fn done; /* likewise within the daemon */
	union {
		struct lx_control_net net;
		struct lx_control_set set;
		struct lx_conf_route route;
		struct lx_control_peer peer;
		struct lx_control_routing routing;
		struct lx_control_buffers buffers;
		struct lx_control_disconnect disconnect;
		struct lx_control_tunable_value value;
		struct lx_control_guard guard;
		struct lx_control_ban ban;
		struct lx_control_prefix prefix;
	} req;
	struct lx_node *node; /* to work on; of a start: the new one */
	struct lx_conf *conf; /* ours if not the daemon's */
	int error;
	char text[400];
};

struct lx_changes {
	struct lx_list queue;
	unsigned int length;
	struct change *running;
	bool stopped;
};

/* Notes what went wrong, or on success what there is to say. Returns @error. */
__attribute__((format(printf, 3, 4))) static int say(struct change *c, int error, const char *fmt,
						     ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
	return error;
}

/* ---- nets -------------------------------------------------------------------------- */

static const char *ni_name(const struct lx_conf_ni *ni, char *buf, size_t size)
{
	if (!lx_nid_eq(&ni->nid, &lx_nid_any))
		snprintf(buf, size, "%s", lx_nid_str(&ni->nid));
	else if (ni->ifname[0])
		snprintf(buf, size, "%s on %s", lx_net_str(ni->net), ni->ifname);
	else
		snprintf(buf, size, "%s", lx_net_str(ni->net));
	return buf;
}

static int explain_net_add(struct change *c, const char *name, int err)
{
	const char *why = lx_conf_net_why(c->req.net.ni.net, err);

	if (err == -EEXIST)
		return say(c, err, "NI %s exists already", name);
	return say(c, err, "cannot add NI %s: %s", name, why ? why : strerror(-err));
}

/* The net's type says what the settings by name mean. */
static int take_lnd_settings(struct change *c)
{
	struct lx_control_net *req = &c->req.net;
	const struct lx_conf_lnd_setting *known = lx_conf_lnd_settings(lx_net_type(req->ni.net));

	memset(&req->ni.lnd_tun, 0xff, sizeof(req->ni.lnd_tun)); /* -1 is LX_UNSET */
	for (uint32_t i = 0; i < req->n_lnd; i++) {
		const struct lx_control_lnd_value *v = &req->lnd[i];
		int at = 0;

		while (known && known[at].name && strcmp(known[at].name, v->name))
			at++;
		if (!known || !known[at].name)
			return say(c, -EOPNOTSUPP, "nets of type %s have no setting \"%s\"",
				   lx_net_str(req->ni.net), v->name);
		if (v->value != LX_UNSET && (v->value < known[at].min || v->value > known[at].max))
			return say(c, -EINVAL, "%s %d is not in %d..%d", v->name, v->value,
				   known[at].min, known[at].max);
		req->ni.lnd_tun.value[at] = v->value;
	}
	return 0;
}

static int net_add(struct change *c)
{
	struct lx_conf_ni *ni = &c->req.net.ni;
	bool by_nid = !lx_nid_eq(&ni->nid, &lx_nid_any);
	char name[LX_NID_TEXT];
	int err;

	if (by_nid && ni->net == LX_NET_U32_ANY)
		ni->net = lx_nid_net(&ni->nid);
	if (ni->net == LX_NET_U32_ANY || (!by_nid && !ni->ifname[0]))
		return say(c, -EINVAL, "an NI needs a net and an interface, or a NID");
	if (by_nid && lx_nid_net(&ni->nid) != ni->net)
		return say(c, -EINVAL, "NID %s is not on net %s", lx_nid_str(&ni->nid),
			   lx_net_str(ni->net));
	err = take_lnd_settings(c);
	if (err)
		return err;
	if (c->daemon->large && !by_nid)
		lx_config_large_nid(ni->net, ni->ifname, &ni->nid);
	err = lx_net_add(c->node, ni);
	return err ? explain_net_add(c, ni_name(ni, name, sizeof(name)), err) : 0;
}

static int net_del(struct change *c)
{
	struct lx_conf_ni *ni = &c->req.net.ni;
	char name[LX_NID_TEXT];
	int err;

	if (ni->net == LX_NET_U32_ANY && !lx_nid_eq(&ni->nid, &lx_nid_any))
		ni->net = lx_nid_net(&ni->nid);
	if (ni->net == LX_NET_U32_ANY)
		return say(c, -EINVAL, "say which: a net, or the NID of an NI");
	err = lx_net_del(c->node, ni);
	if (!err)
		return 0;
	ni_name(ni, name, sizeof(name));
	if (err == -ENOENT)
		return say(c, err, "there is no NI %s; see \"lnetx net show\"", name);
	return say(c, err, "cannot remove NI %s: %s", name, strerror(-err));
}

static int explain_set(struct change *c, uint32_t net, int err)
{
	const struct lx_control_set *req = &c->req.set;

	switch (err) {
	case -ENOENT:
		return say(c, err, "there is no NI %s; see \"lnetx net show\"",
			   lx_nid_eq(&req->nid, &lx_nid_any) ? lx_net_str(net)
							     : lx_nid_str(&req->nid));
	case -EOPNOTSUPP:
		return say(c, err, "\"%s\" of NIs on %s cannot be set in this version", req->name,
			   lx_net_str(net));
	case -EINVAL:
	case -ERANGE:
		return say(c, err, "%s %d is out of range on net %s", req->name, req->value,
			   lx_net_str(net));
	}
	return say(c, err, "cannot set %s of NIs on %s: %s", req->name, lx_net_str(net),
		   strerror(-err));
}

static bool in_list_before(const struct lx_ni_info *nis, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (nis[j].net == nis[i].net)
			return true;
	}
	return false;
}

static int set_all(struct change *c)
{
	const struct lx_control_set *req = &c->req.set;
	struct lx_ni_info *nis;
	int first = 0, err;
	size_t n;

	err = lx_ni_list(c->node, &nis, &n);
	if (err)
		return say(c, err, "%s", strerror(-err));
	for (size_t i = 0; i < n; i++) {
		if (lx_net_type(nis[i].net) == LX_NET_LO || in_list_before(nis, i))
			continue;
		err = lx_net_set(c->node, nis[i].net, &lx_nid_any, req->name, req->value);
		if (err && !first)
			first = explain_set(c, nis[i].net, err);
	}
	free(nis);
	return first;
}

static int net_set(struct change *c)
{
	const struct lx_control_set *req = &c->req.set;
	bool by_nid = !lx_nid_eq(&req->nid, &lx_nid_any);
	uint32_t net = by_nid ? lx_nid_net(&req->nid) : req->net;
	int err;

	if (net == LX_NET_U32_ANY)
		return set_all(c);
	err = lx_net_set(c->node, net, &req->nid, req->name, req->value);
	return err ? explain_set(c, net, err) : 0;
}

/* ---- routes, peers ----------------------------------------------------------------- */

static int route_add(struct change *c)
{
	const struct lx_conf_route *r = &c->req.route;
	int err;

	if (r->net == LX_NET_U32_ANY || lx_nid_eq(&r->gateway, &lx_nid_any))
		return say(c, -EINVAL, "a route needs a net and a gateway");
	if (r->hop != LX_UNSET && (r->hop < 1 || r->hop > 255))
		return say(c, -EINVAL, "route to %s: hop %d is not in 1..255", lx_net_str(r->net),
			   r->hop);
	err = lx_route_add(c->node, r);
	switch (err) {
	case 0:
		return 0;
	case -EHOSTUNREACH:
		return say(c, err,
			   "route to %s via %s: this node has no NI on the gateway's net; "
			   "add one first (lnetx net add)",
			   lx_net_str(r->net), lx_nid_str(&r->gateway));
	case -EEXIST:
		return say(c, err, "route to %s: the net is local, it needs no gateway",
			   lx_net_str(r->net));
	case -EINVAL:
		return say(c, err,
			   "route to %s via %s: not a possible gateway for this net, or a "
			   "value is out of range",
			   lx_net_str(r->net), lx_nid_str(&r->gateway));
	}
	return say(c, err, "route to %s via %s: %s", lx_net_str(r->net), lx_nid_str(&r->gateway),
		   strerror(-err));
}

static int route_del(struct change *c)
{
	const struct lx_conf_route *r = &c->req.route;
	int err;

	if (r->net == LX_NET_U32_ANY)
		return say(c, -EINVAL,
			   "say which route: a net, and a gateway if there are several");
	err = lx_route_del(c->node, r->net, &r->gateway);
	if (err == -ENOENT)
		return say(c, err, "there is no route to %s via %s; see \"lnetx route show\"",
			   lx_net_str(r->net),
			   lx_nid_eq(&r->gateway, &lx_nid_any) ? "any gateway"
							       : lx_nid_str(&r->gateway));
	return err ? say(c, err, "route to %s: %s", lx_net_str(r->net), strerror(-err)) : 0;
}

static int explain_peer(struct change *c, const char *what, int err)
{
	const char *primary = lx_nid_str(&c->req.peer.primary);

	switch (err) {
	case -EEXIST:
		return say(c, err,
			   "cannot %s peer %s: a NID belongs to another configured peer; see "
			   "\"lnetx peer show\"",
			   what, primary);
	case -EPERM:
		return say(c, err,
			   "cannot %s peer %s: it exists and was not configured, or its "
			   "Multi-Rail setting differs",
			   what, primary);
	case -ENOENT:
		return say(c, err,
			   "cannot %s peer %s: no such peer or NID; see \"lnetx peer show\"", what,
			   primary);
	case -EBUSY:
		return say(c, err,
			   "cannot %s peer %s: it is a gateway; remove its routes first (lnetx "
			   "route del)",
			   what, primary);
	case -ENODEV:
		return say(c, err, "cannot %s peer %s: this is not the peer's primary NID", what,
			   primary);
	}
	return say(c, err, "cannot %s peer %s: %s", what, primary, strerror(-err));
}

static int peer_change(struct change *c, bool add)
{
	struct lx_control_peer *req = &c->req.peer;
	struct lx_conf_peer peer = { .primary = req->primary,
				     .multi_rail = req->multi_rail,
				     .lock_primary = req->lock_primary,
				     .nid = req->nid,
				     .n_nids = req->n_nids };
	int err;

	if (lx_nid_eq(&req->primary, &lx_nid_any))
		return say(c, -EINVAL, "say which peer: its primary NID");
	err = add ? lx_peer_add(c->node, &peer) : lx_peer_del(c->node, &peer, req->force);
	return err ? explain_peer(c, add ? "add" : "remove", err) : 0;
}

static int peer_add(struct change *c)
{
	return peer_change(c, true);
}

static int peer_del(struct change *c)
{
	return peer_change(c, false);
}

/* ---- routing, counters, connections, tunables -------------------------------------- */

static int routing_set(struct change *c)
{
	int err;

	if (c->req.routing.enable != 0 && c->req.routing.enable != 1)
		return say(c, -EINVAL, "routing is 0 (off) or 1 (on)");
	err = lx_routing_set(c->node, c->req.routing.enable);
	if (err == -EBUSY)
		return say(c, err,
			   "routing is just being started or stopped; wait until \"lnetx "
			   "routing show\" says 0 or 1");
	if (err == -ENOMEM)
		return say(c, err,
			   "no memory for the router buffers; ask for fewer (lnetx routing "
			   "set large ...)");
	return err ? say(c, err, "cannot turn routing %s: %s", c->req.routing.enable ? "on" : "off",
			 strerror(-err))
		   : 0;
}

static int buffers_set(struct change *c)
{
	int err = lx_buffers_set(c->node, c->req.buffers.total);

	if (err == -EINVAL)
		return say(c, err, "a number of router buffers is out of range");
	return err ? say(c, err, "cannot change the router buffers: %s", strerror(-err)) : 0;
}

static int stats_reset(struct change *c)
{
	lx_stats_reset(c->node);
	return 0;
}

static int disconnect(struct change *c)
{
	int closed = lx_disconnect(c->node, &c->req.disconnect.nid);

	if (closed < 0)
		return say(c, closed, "cannot disconnect: %s", strerror(-closed));
	return say(c, 0, "%d connections closed", closed);
}

static int tunable_set(struct change *c)
{
	const struct lx_control_tunable_value *v = &c->req.value;
	int err = lx_tunable_write(c->node, v->module, v->name, v->value);

	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return say(c, err, "module %s has no tunable %s; see \"lnetx tunable show\"",
			   v->module, v->name);
	case -EINVAL:
		return say(c, err,
			   "%s %s: \"%s\" is no value for it; see \"lnetx tunable show %s %s\"",
			   v->module, v->name, v->value, v->module, v->name);
	case -ERANGE:
		return say(c, err, "%s %s: %s is out of range; see \"lnetx -s tunable show %s %s\"",
			   v->module, v->name, v->value, v->module, v->name);
	case -EADDRINUSE:
		return say(c, err,
			   "%s %s: another program listens on port %s of an NI's address; see "
			   "\"ss -ltnp\". It stays as it was",
			   v->module, v->name, v->value);
	case -EBUSY:
		return say(c, err,
			   "%s %s cannot change while NIs are up; remove them first (lnetx net del), or "
			   "have it in the configuration",
			   v->module, v->name);
	}
	return say(c, err, "%s %s: %s", v->module, v->name, strerror(-err));
}

/* ---- the guard --------------------------------------------------------------------- */

static int guard_set(struct change *c)
{
	return lx_offload_guard_set(c->daemon->offload, &c->req.guard, c->text, sizeof(c->text));
}

static int ban_add(struct change *c)
{
	return lx_offload_ban(c->daemon->offload, c->node, &c->req.ban, c->text, sizeof(c->text));
}

static int ban_del(struct change *c)
{
	return lx_offload_unban(c->daemon->offload, &c->req.ban, c->text, sizeof(c->text));
}

static int prefix_add(struct change *c)
{
	return lx_offload_prefix_add(c->daemon->offload, &c->req.prefix, c->text, sizeof(c->text));
}

static int prefix_del(struct change *c)
{
	return lx_offload_prefix_del(c->daemon->offload, &c->req.prefix, c->text, sizeof(c->text));
}

/* ---- the node itself
 * ----------------------------------------------------------------------------- */

static int explain_conf(struct change *c, int err, const struct lx_conf_error *why)
{
	lx_config_error(c->daemon->config_file ? c->daemon->config_file : "configuration", why,
			c->text, sizeof(c->text));
	if (!why->text[0])
		say(c, err, "cannot start LNet: %s", strerror(-err));
	return err;
}

/* With NLM_F_EXCL only the settings of a configuration, without NIs, routes, peers. */
static int node_start(struct change *c)
{
	struct lx_conf_error why = { 0 };
	struct lx_conf settings;
	int err;

	if (c->conf && c->flags & NLM_F_EXCL) {
		settings = *c->conf;
		settings.n_nis = settings.n_routes = settings.n_peers = 0;
		settings.routing = LX_UNSET;
		for (int i = 0; i < LX_POOLS; i++)
			settings.buffers[i] = LX_UNSET;
		err = lx_node_new(&settings, &why, &c->node);
	} else {
		err = lx_node_new(c->conf, &why, &c->node);
	}
	return err ? explain_conf(c, err, &why) : 0;
}

static int node_stop(struct change *c)
{
	if (c->node)
		lx_node_stop(c->node, c->daemon->drain_ms);
	lx_node_free(c->node);
	c->node = NULL;
	return 0;
}

static int node_apply(struct change *c)
{
	struct lx_conf_error why = { 0 };
	int err;

	if (!c->node)
		return say(c, 0, "taken for the next \"lnet configure --all\"");
	err = lx_node_apply(c->node, c->conf, LX_APPLY_DIFF, &why);
	return err ? explain_conf(c, err, &why) : 0;
}

static const struct lx_field no_fields[] = { { .key = NULL } };
static const struct lx_schema nothing = { "request", 0, no_fields };

static const struct kind kinds[] = {
	{ LX_CONTROL_CONFIGURE, NLM_F_CREATE, "lnet", &nothing, node_start, true },
	{ LX_CONTROL_CONFIGURE, 0, "lnet", &nothing, node_stop, true },
	{ LX_CONTROL_RELOAD, NLM_F_REPLACE, "config", &nothing, node_apply, true },
	{ LX_CONTROL_NETS, NLM_F_CREATE, "net", &lx_control_net_schema, net_add, false },
	{ LX_CONTROL_NETS, 0, "net", &lx_control_net_schema, net_del, false },
	{ LX_CONTROL_NETS, NLM_F_REPLACE, "net", &lx_control_set_schema, net_set, false },
	{ LX_CONTROL_ROUTES, NLM_F_CREATE, "route", &lx_control_route_schema, route_add, false },
	{ LX_CONTROL_ROUTES, 0, "route", &lx_control_route_schema, route_del, false },
	{ LX_CONTROL_PEERS, NLM_F_CREATE, "peer", &lx_control_peer_schema, peer_add, false },
	{ LX_CONTROL_PEERS, 0, "peer", &lx_control_peer_schema, peer_del, false },
	{ LX_CONTROL_ROUTING, NLM_F_REPLACE, "routing", &lx_control_routing_schema, routing_set,
	  false },
	{ LX_CONTROL_BUFFERS, NLM_F_REPLACE, "buffers", &lx_control_buffers_schema, buffers_set,
	  false },
	{ LX_CONTROL_STATS, 0, "statistics", &nothing, stats_reset, false },
	{ LX_CONTROL_CONNS, 0, "conn", &lx_control_disconnect_schema, disconnect, false },
	{ LX_CONTROL_TUNABLES, NLM_F_REPLACE, "tunable", &lx_control_value_schema, tunable_set,
	  false },
	{ LX_CONTROL_GUARD, NLM_F_REPLACE, "guard", &lx_control_guard_schema, guard_set, true },
	{ LX_CONTROL_BANS, NLM_F_CREATE, "ban", &lx_control_ban_schema, ban_add, true },
	{ LX_CONTROL_BANS, 0, "ban", &lx_control_ban_schema, ban_del, true },
	{ LX_CONTROL_PREFIXES, NLM_F_CREATE, "prefix", &lx_control_prefix_schema, prefix_add,
	  true },
	{ LX_CONTROL_PREFIXES, 0, "prefix", &lx_control_prefix_schema, prefix_del, true },
	{ 0, 0, NULL, NULL, NULL, false }
};

/* ---- the queue
 * ------------------------------------------------------------------------------------- */

static void start_next(struct lx_daemon *d);

static void change_free(struct change *c)
{
	if (c->conf != c->daemon->conf)
		lx_conf_free(c->conf);
	free(c);
}

/* Tells whoever asked, and is gone. */
static void answer(struct change *c)
{
	if (c->client)
		lx_client_reply(c->client, c->error, c->kind->object, "%s", c->text);
	if (c->done)
		c->done(c->daemon, c->error, c->text);
	change_free(c);
}

/* Each begin_*() says whether there is work for the worker; else the change is answered. */
static bool begin_start(struct change *c)
{
	struct lx_daemon *d = c->daemon;

	if (c->node)
		return false; /* it runs already, which is what was asked for */
	c->conf = d->conf;
	if (!c->conf && !(c->flags & NLM_F_EXCL)) {
		c->error = lx_config_default(&c->conf);
		if (c->error)
			say(c, c->error,
			    "no interface is up with an IPv4 address; add NIs by hand "
			    "(lnetx net add)");
	}
	d->large = c->flags & NLM_F_APPEND;
	return !c->error;
}

static bool begin_reload(struct change *c)
{
	const char *file = c->daemon->config_file;
	struct lx_conf_error why;

	if (!file) {
		c->error = say(c, -ENOENT, "lnetxd was started without a configuration file");
		return false;
	}
	c->error = lx_config_load(file, &c->conf, &why);
	if (c->error)
		lx_config_error(file, &why, c->text, sizeof(c->text));
	return !c->error;
}

static bool begin(struct change *c)
{
	struct lx_daemon *d = c->daemon;

	c->node = d->node;
	if (c->kind->run == node_start)
		return begin_start(c);
	if (c->kind->run == node_apply)
		return begin_reload(c);
	if (c->kind->run == node_stop)
		d->node = NULL; /* nobody begins anything with it from now on */
	if (c->node || c->kind->without_node)
		return true;
	c->error = say(c, -ENETDOWN,
		       "LNet is not configured in this lnetxd; start it with "
		       "\"lnetctl lnet configure\" (lnetx daemon up)");
	return false;
}

static void run(uv_work_t *work)
{
	struct change *c = lx_container_of(work, struct change, work);

	c->error = c->kind->run(c);
	lx_offload_follow(c->daemon->offload, c->node);
}

static void finish(uv_work_t *work, int status)
{
	struct change *c = lx_container_of(work, struct change, work);
	struct lx_daemon *d = c->daemon;

	d->changes->running = NULL;
	if (c->kind->run == node_start && !c->error) {
		d->node = c->node;
		lx_monitor_watch(d);
	}
	if (c->kind->run == node_apply && !c->error) {
		lx_conf_free(d->conf);
		d->conf = c->conf;
	}
	answer(c);
	start_next(d);
}

static void start_next(struct lx_daemon *d)
{
	struct lx_changes *changes = d->changes;
	struct change *c;
	int err;

	while (!changes->running && (c = lx_list_first(&changes->queue, struct change, link))) {
		lx_list_del(&c->link);
		changes->length--;
		if (!begin(c)) {
			answer(c);
			continue;
		}
		changes->running = c;
		/* From here on the change is the worker's, unless this fails. */
		err = uv_queue_work(d->loop, &c->work, run, finish);
		if (err) {
			c->error = say(c, err, "no worker thread: %s", strerror(-err));
			finish(&c->work, err);
		}
	}
}

static const struct kind *find_kind(uint8_t command, uint16_t verb)
{
	const struct kind *k = kinds;

	while (k->object && (k->command != command || k->verb != verb))
		k++;
	return k->object ? k : NULL;
}

static int change_new(struct lx_daemon *d, const struct kind *kind, struct change **ret_change)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->daemon = d;
	c->kind = kind;
	lx_list_init(&c->link);
	*ret_change = c;
	return 0;
}

static void enqueue(struct change *c)
{
	struct lx_changes *changes = c->daemon->changes;

	lx_list_append(&changes->queue, &c->link);
	changes->length++;
	start_next(c->daemon);
}

void lx_change_request(struct lx_client *client, const void *attrs, size_t len)
{
	struct lx_daemon *d = client->daemon;
	const struct kind *kind =
		find_kind(client->command, client->flags & (NLM_F_CREATE | NLM_F_REPLACE));
	char text[200] = "";
	struct change *c = NULL;
	int err;

	if (!kind) {
		lx_client_reply(client, -EOPNOTSUPP, "control",
				"this lnetxd does not know command %u "
				"with flags 0x%x",
				client->command, client->flags);
		return;
	}
	if (d->changes->stopped || d->changes->length >= QUEUE_MAX) {
		lx_client_reply(client, d->changes->stopped ? -ESHUTDOWN : -EBUSY, kind->object,
				d->changes->stopped ? "lnetxd is stopping"
						    : "too many changes are waiting; try again");
		return;
	}
	err = change_new(d, kind, &c);
	if (!err)
		err = lx_schema_get(attrs, len, kind->schema, &c->req, text, sizeof(text));
	if (err) {
		lx_client_reply(client, err, kind->object, "%s", *text ? text : strerror(-err));
		free(c);
		return;
	}
	c->flags = client->flags;
	lx_client_wait(client, &c->client);
	enqueue(c);
}

static int own_change(struct lx_daemon *d, uint8_t command, uint16_t flags, lx_change_fn done)
{
	struct change *c;
	int err = change_new(d, find_kind(command, flags & (NLM_F_CREATE | NLM_F_REPLACE)), &c);

	if (err)
		return err;
	c->flags = flags;
	c->done = done;
	enqueue(c);
	return 0;
}

/* Without a file just the node: nobody has asked for the net that "--all" would choose. */
int lx_change_start(struct lx_daemon *d, lx_change_fn done)
{
	return own_change(d, LX_CONTROL_CONFIGURE, NLM_F_CREATE | (d->config_file ? 0 : NLM_F_EXCL),
			  done);
}

int lx_change_reload(struct lx_daemon *d, lx_change_fn done)
{
	return own_change(d, LX_CONTROL_RELOAD, NLM_F_REPLACE, done);
}

void lx_change_interfaces(struct lx_daemon *d)
{
	struct change *c;

	if (!d->node || d->changes->stopped ||
	    change_new(d, find_kind(LX_CONTROL_GUARD, NLM_F_REPLACE), &c))
		return;
	c->req.guard = (struct lx_control_guard){ LX_UNSET, LX_UNSET, LX_UNSET };
	enqueue(c);
}

int lx_change_stop(struct lx_daemon *d, lx_change_fn done)
{
	struct change *c;

	d->changes->stopped = true;
	while ((c = lx_list_first(&d->changes->queue, struct change, link))) {
		lx_list_del(&c->link);
		c->error = say(c, -ESHUTDOWN, "lnetxd is stopping");
		answer(c);
	}
	return own_change(d, LX_CONTROL_CONFIGURE, 0, done);
}

int lx_changes_new(struct lx_daemon *daemon, struct lx_changes **ret_changes)
{
	struct lx_changes *changes = calloc(1, sizeof(*changes));

	if (!changes)
		return -ENOMEM;
	lx_list_init(&changes->queue);
	*ret_changes = changes;
	return 0;
}

void lx_changes_free(struct lx_changes *changes)
{
	free(changes);
}
