/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds and pings the rails of a fabric; see the header. Called by fabric_cmds.c.
 *
 * A ping from a given NI to a NID on its net goes exactly that way. To a net behind gateways it
 * leaves by that NI and arrives at that NID; which of several gateways of one net it takes is
 * LNet's choice, so such gateways share a rail, and each has a rail of its own as a node.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/clock.h"
#include "../../../user/base/grow.h"
#include "../../host/echo.h"
#include "../common/json.h"
#include "../common/requests.h"
#include "../common/trans.h"
#include "fabric.h"

#define GIVE_UP 3 /* unanswered pings in a row */

static bool nid_of(const json_t *row, const char *key, struct lx_nid *ret)
{
	return lx_nid_parse(lx_json_text(row, key), ret) == 0;
}

/* Without "failed to ping NID: ". */
static const char *reason_of(const char *text)
{
	const char *reason = strncmp(text, "failed to ", 10) ? NULL : strstr(text, ": ");

	return reason ? reason + 2 : text;
}

LX_PRINTF(3, 4) static void add_fault(struct lx_fabric *f, const char *nid, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(f->faults, json_pack("{ss, ss}", "nid", nid, "reason", text));
}

static void add_silent(struct lx_fabric *f, const struct lx_nid *nid)
{
	json_array_append_new(f->silent, json_pack("{ss, ss}", "nid", lx_nid_str(nid), "reason",
						   reason_of(f->session->text)));
}

/* The check itself cannot go on: lnetxd is gone, or refuses this user. */
static bool is_hopeless(struct lx_fabric *f, int err)
{
	return err == -EPERM || err == -EACCES || !lx_session_connected(f->session);
}

bool lx_fabric_step(struct lx_fabric *f, const char *what, size_t done, size_t all)
{
	f->stopped = f->stopped || (f->progress && f->progress(what, done, all));
	return f->stopped;
}

/* ---- this node ------------------------------------------------------------------------------ */

int lx_fabric_each_ni(struct lx_fabric *f, lx_fabric_ni_fn fn, void *arg)
{
	json_t *net, *ni;
	struct lx_nid nid;
	size_t i, j;
	int r = 0;

	json_array_foreach (f->nets, i, net) {
		json_array_foreach (json_object_get(net, lx_object_nets.rows), j, ni) {
			if (!r && nid_of(ni, "nid", &nid) && nid.type != LX_NET_LO)
				r = fn(f, ni, &nid, arg);
		}
	}
	return r;
}

static bool is_up(const json_t *row)
{
	return !strcmp(lx_json_text(row, "status"), "up") ||
	       !strcmp(lx_json_text(row, "state"), "up");
}

static int note_down(struct lx_fabric *f, const json_t *ni, const struct lx_nid *nid, void *arg)
{
	if (!is_up(ni))
		add_fault(f, lx_nid_str(nid), "this node's own NI is down since %s: %s",
			  lx_json_text(ni, "down_since"), lx_json_text(ni, "down_reason"));
	return 0;
}

static int is_nid(struct lx_fabric *f, const json_t *ni, const struct lx_nid *nid, void *arg)
{
	return lx_nid_eq(nid, arg);
}

static int is_on_net(struct lx_fabric *f, const json_t *ni, const struct lx_nid *nid, void *arg)
{
	return lx_nid_net(nid) == *(uint32_t *)arg;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Once; not this node itself. */
static int add_node(struct lx_fabric *f, const struct lx_nid *nid)
{
	struct lx_nid *added;

	for (size_t i = 0; i < f->n_nodes; i++) {
		if (lx_nid_eq(&f->node[i], nid))
			return 0;
	}
	if (nid->type == LX_NET_LO || lx_fabric_each_ni(f, is_nid, (void *)nid))
		return 0;
	added = lx_grow(&f->node, &f->n_nodes, sizeof(*added));
	if (!added)
		return lx_session_fail(f->session, -ENOMEM, "out of memory");
	*added = *nid;
	return 0;
}

static int add_known(struct lx_fabric *f)
{
	json_t *list, *peer;
	struct lx_nid nid;
	size_t i;
	int err = lx_request_show_all(f->session, LX_CTL_PEER, 1, &list);

	if (err)
		return err;
	json_array_foreach (list, i, peer) {
		if (err || !nid_of(peer, "primary nid", &nid))
			continue;
		err = add_node(f, &nid);
		if (!lx_request_peer_received(peer))
			json_object_set_new(f->unheard, lx_nid_str(&nid), json_true());
	}
	json_decref(list);
	return err;
}

static bool leads_to(const json_t *route, uint32_t net, struct lx_nid *ret_gateway)
{
	uint32_t to;

	return !lx_net_parse(lx_json_text(route, "net"), &to) && to == net &&
	       nid_of(route, "gateway", ret_gateway);
}

static void note_routes(struct lx_fabric *f)
{
	json_t *route;
	size_t i;

	json_array_foreach (f->routes, i, route) {
		if (!is_up(route))
			add_fault(f, lx_json_text(route, "gateway"),
				  "its route to %s is down since %s: %s",
				  lx_json_text(route, "net"), lx_json_text(route, "down_since"),
				  lx_json_text(route, "down_reason"));
	}
}

/* ---- rails ---------------------------------------------------------------------------------- */

static struct lx_rail *add_rail(struct lx_fabric *f, const struct lx_nid *own,
				const struct lx_nid *peer, const struct lx_nid *primary)
{
	struct lx_rail *added = lx_grow(&f->rail, &f->n_rails, sizeof(*added));

	if (!added) {
		lx_session_fail(f->session, -ENOMEM, "out of memory");
		return NULL;
	}
	added->own = *own;
	added->peer = *peer;
	added->primary = *primary;
	added->answers_by = lx_nid_any;
	return added;
}

struct ends {
	const struct lx_nid *peer, *primary;
	const json_t *nis; /* all of the peer's */
	bool local; /* a net of ours */
};

/*
 * Whether a gateway is the peer itself. LNet may choose it for a message to its own far NI; it
 * refuses such a message, and closes the sender's connections. So the peer's far NIs are not
 * pinged.
 */
static bool is_its_own(const struct ends *e, const struct lx_nid *gateway)
{
	struct lx_nid nid;
	json_t *row;
	size_t i;

	json_array_foreach ((json_t *)e->nis, i, row) {
		if (nid_of(row, "nid", &nid) && lx_nid_eq(&nid, gateway))
			return true;
	}
	return false;
}

/* From one of our NIs to one of a peer's, if a message can go that way. */
static int add_ends(struct lx_fabric *f, const json_t *ni, const struct lx_nid *own, void *arg)
{
	const struct ends *e = arg;
	uint32_t net = lx_nid_net(e->peer);
	struct lx_rail rail = { 0 }, *new;
	struct lx_nid gateway;
	json_t *route;
	size_t i;

	if (!is_up(ni) || (e->local && lx_nid_net(own) != net))
		return 0;
	json_array_foreach (f->routes, i, route) {
		if (e->local || !leads_to(route, net, &gateway))
			continue;
		if (is_its_own(e, &gateway))
			return 0;
		if (is_up(route) && lx_nid_net(&gateway) == lx_nid_net(own) &&
		    rail.n_gateways < LX_RAIL_GATEWAYS_MAX)
			rail.gateway[rail.n_gateways++] = gateway;
	}
	if (!e->local && !rail.n_gateways)
		return 0;
	for (i = 0; i < rail.n_gateways; i++) {
		if (add_node(f, &rail.gateway[i]))
			return -ENOMEM;
	}
	new = add_rail(f, own, e->peer, e->primary);
	if (!new)
		return -ENOMEM;
	new->n_gateways = rail.n_gateways;
	memcpy(new->gateway, rail.gateway, sizeof(rail.gateway));
	return 0;
}

static bool is_found(const struct lx_fabric *f, const struct lx_nid *primary)
{
	for (size_t i = 0; i < f->n_rails; i++) {
		if (lx_nid_eq(&f->rail[i].primary, primary))
			return true;
	}
	return false;
}

/* A node that does not tell its NIDs: one rail, as it is known. */
static int add_dead(struct lx_fabric *f, const struct lx_nid *nid)
{
	struct lx_rail *rail = add_rail(f, &lx_nid_any, nid, nid);

	if (!rail)
		return -ENOMEM;
	rail->sent = 1;
	snprintf(rail->why, sizeof(rail->why), "%s; next: lnetx ping %s timeout 10",
		 reason_of(f->session->text), lx_nid_str(nid));
	return 0;
}

static int add_peer(struct lx_fabric *f, const struct lx_nid *nid, const json_t *peer)
{
	struct lx_nid primary = *nid, its;
	const json_t *nis = json_object_get(peer, lx_object_pings.rows);
	size_t i, before = f->n_rails;
	json_t *row;
	int err = 0;

	nid_of(peer, "primary nid", &primary);
	if (is_found(f, &primary))
		return 0;
	json_array_foreach ((json_t *)nis, i, row) {
		uint32_t net;
		struct ends ends = { &its, &primary, nis, false };

		if (err || !nid_of(row, "nid", &its) || its.type == LX_NET_LO)
			continue;
		net = lx_nid_net(&its);
		ends.local = lx_fabric_each_ni(f, is_on_net, &net);
		err = lx_fabric_each_ni(f, add_ends, &ends);
	}
	if (!err && f->n_rails == before) {
		lx_session_fail(
			f->session, -EHOSTUNREACH,
			"no NI of ours that is up, and no route that is up, leads to its nets");
		err = add_dead(f, nid);
	}
	return err;
}

/* A ping first: it has a short time-out, unlike a discovery. */
static int find_node(struct lx_fabric *f, const struct lx_nid *nid)
{
	struct lx_ctl_ping ping = { .nid = *nid, .source = lx_nid_any, .timeout_ms = f->ping_ms };
	json_t *list = json_array(), *discovered = json_array();
	int err = -ETIMEDOUT;

	for (int i = 0; err == -ETIMEDOUT && i < GIVE_UP && !lx_fabric_step(f, NULL, 0, 0); i++)
		err = lx_request_probe(f->session, &ping, false, false, list);
	if (!err) {
		err = lx_request_probe(f->session, &ping, true, true, discovered);
		if (err && !is_hopeless(f, err)) {
			add_fault(f, lx_nid_str(nid), "it answers pings, but discovery fails: %s; "
				  "next: lnetx discover %s force",
				  reason_of(f->session->text), lx_nid_str(nid));
			err = 0;
		}
		if (!err)
			err = add_peer(
				f, nid,
				json_array_get(json_array_size(discovered) ? discovered : list, 0));
	} else if (!is_hopeless(f, err) && json_object_get(f->unheard, lx_nid_str(nid))) {
		add_silent(f, nid);
		err = 0;
	} else if (!is_hopeless(f, err)) {
		err = add_dead(f, nid);
	}
	json_decref(list);
	json_decref(discovered);
	return err;
}

int lx_fabric_find(struct lx_fabric *f, const struct lx_nid *nids, size_t n)
{
	int err;

	f->faults = json_array();
	f->silent = json_array();
	f->unheard = json_object();
	err = lx_request_show_all(f->session, LX_CTL_NET, LX_LEVEL_OWN, &f->nets);
	if (!err)
		err = lx_request_show_all(f->session, LX_CTL_ROUTE, LX_LEVEL_OWN, &f->routes);
	for (size_t i = 0; !err && i < n; i++)
		err = add_node(f, &nids[i]);
	if (!err && !nids)
		err = add_known(f);
	if (err)
		return err;
	f->n_named = f->n_nodes;
	lx_fabric_each_ni(f, note_down, NULL);
	note_routes(f);
	/* It grows by the gateways. */
	for (size_t i = 0; !err && i < f->n_nodes; i++) {
		struct lx_nid nid = f->node[i];

		if (lx_fabric_step(f, "nodes", i, f->n_nodes))
			break;
		err = find_node(f, &nid);
	}
	return err;
}

/* ---- pings ---------------------------------------------------------------------------------- */

/* Returns 0 also if there is no answer. */
static int ping_once(struct lx_fabric *f, struct lx_rail *rail)
{
	struct lx_ctl_ping ping = { .nid = rail->peer,
				    .source = rail->own,
				    .timeout_ms = f->ping_ms };
	json_t *list = json_array();
	int64_t begin = lx_clock_ns(CLOCK_MONOTONIC) / 1000;
	int err = lx_request_probe(f->session, &ping, false, false, list);
	int64_t us = lx_clock_ns(CLOCK_MONOTONIC) / 1000 - begin;

	json_decref(list);
	rail->sent++;
	if (!err)
		rail->rtt_us[rail->answered++] = us < UINT32_MAX ? us : UINT32_MAX;
	else if (is_hopeless(f, err))
		return err;
	else
		snprintf(rail->why, sizeof(rail->why),
			 "%s; next: lnetx ping %s source %s timeout 10",
			 reason_of(f->session->text), lx_nid_str(&rail->peer),
			 lx_nid_str(&rail->own));
	return 0;
}

/* ---- the way back --------------------------------------------------------------------------- */

static bool is_on_rail(const json_t *peer, const struct lx_rail *rail)
{
	struct lx_nid nid;
	json_t *ni;
	size_t i;

	json_array_foreach (json_object_get(peer, lx_object_peers.rows), i, ni) {
		for (unsigned int j = 0; nid_of(ni, "nid", &nid) && j < rail->n_gateways; j++) {
			if (lx_nid_eq(&nid, &rail->gateway[j]))
				return true;
		}
	}
	return false;
}

/* {primary NID: received}; NULL: lnetxd does not say. */
static json_t *received_from_all(struct lx_fabric *f, json_t **ret_peers)
{
	json_t *map = json_object(), *peer;
	size_t i;

	if (lx_request_show_all(f->session, LX_CTL_PEER, 1, ret_peers)) {
		*ret_peers = NULL;
		return map;
	}
	json_array_foreach (*ret_peers, i, peer)
		json_object_set_new(map, lx_json_text(peer, "primary nid"),
				    json_integer(lx_request_peer_received(peer)));
	return map;
}

/*
 * Messages count for the neighbour that they come from. If fewer came from the rail's gateways
 * than there were answers, some came by another router: the peer has another route to us.
 */
static void find_way_back(struct lx_fabric *f, struct lx_rail *rail, const json_t *before)
{
	json_t *peers, *after = received_from_all(f, &peers), *peer;
	json_int_t by_rail = 0, most = 0;
	struct lx_nid nid;
	size_t i;

	rail->answers_by = lx_nid_any;
	json_array_foreach (peers, i, peer) {
		const char *name = lx_json_text(peer, "primary nid");
		json_int_t more = lx_json_int(after, name) - lx_json_int(before, name);

		if (is_on_rail(peer, rail)) {
			by_rail += more;
		} else if (more > most && nid_of(peer, "primary nid", &nid)) {
			most = more;
			rail->answers_by = nid;
		}
	}
	if (by_rail >= rail->answered)
		rail->answers_by = lx_nid_any;
	json_decref(after);
	json_decref(peers);
}

/* ---- a rail --------------------------------------------------------------------------------- */

/* The first ping may have to connect, so it does not count as a measurement. */
static int ping_rail(struct lx_fabric *f, struct lx_rail *rail)
{
	json_t *before = NULL, *peers = NULL;
	unsigned int failed = 0;
	int err;

	if (rail->n_gateways)
		before = received_from_all(f, &peers);
	json_decref(peers);
	rail->measured++;
	rail->sent = rail->answered = 0;
	err = ping_once(f, rail);

	if (!err && rail->answered)
		rail->sent = rail->answered = 0;
	else
		failed = 1;
	while (!err && rail->sent < f->count && failed < GIVE_UP && !f->stopped) {
		unsigned int before = rail->answered;

		err = ping_once(f, rail);
		failed = rail->answered > before ? 0 : failed + 1;
		if (lx_fabric_step(f, NULL, 0, 0))
			break;
	}
	if (before && !err && rail->answered)
		find_way_back(f, rail, before);
	json_decref(before);
	return err;
}

static int ping_all(struct lx_fabric *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->n_rails; i++) {
		struct lx_rail *rail = &f->rail[i];

		if (lx_nid_is_any(&rail->own))
			continue; /* nothing to send from */
		if (lx_fabric_step(f, "rails", i, f->n_rails)) {
			f->n_rails = i; /* the others were not looked at */
			break;
		}
		err = ping_rail(f, rail);
		if (!err && rail->answered && !rail->n_gateways && !f->stopped)
			lx_echo_mtu(&rail->own, &rail->peer, &rail->mtu, &rail->passed);
	}
	return err;
}

/*
 * A single failure may have been anything: a busy moment, a connection that broke. A node without
 * a rail of ours was pinged GIVE_UP times already.
 */
static int ping_suspects(struct lx_fabric *f)
{
	int err = 0;

	for (size_t i = 0; !err && i < f->n_rails; i++) {
		struct lx_rail *rail = &f->rail[i], before = *rail;

		if (lx_fabric_step(f, "rails again", i, f->n_rails))
			break;
		if (lx_nid_is_any(&rail->own) || rail->fault == LX_RAIL_WELL ||
		    rail->fault == LX_RAIL_MTU)
			continue;
		err = ping_rail(f, rail);
		if (f->stopped)
			*rail = before; /* the second time is not complete */
	}
	return err;
}

int lx_fabric_ping(struct lx_fabric *f, double slow_factor)
{
	int err = ping_all(f);

	if (!err && lx_rail_judge(f->rail, f->n_rails, slow_factor)) {
		err = ping_suspects(f);
		lx_rail_judge(f->rail, f->n_rails, slow_factor);
	}
	return err;
}

void lx_fabric_fini(struct lx_fabric *f)
{
	json_decref(f->silent);
	json_decref(f->unheard);
	json_decref(f->nets);
	json_decref(f->routes);
	json_decref(f->faults);
	free(f->node);
	free(f->rail);
}
