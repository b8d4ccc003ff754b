/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings of "lnetx doctor" about other nodes: nets, routes and peers that are down, and what
 * else answers there. Called by doctor.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../cli/common/json.h"
#include "doctor.h"

#define SILENT_MIN 2 /* neighbours; one alone may itself be the cause */
#define RECENT_S 600 /* refusals */

/* ---- nodes ------------------------------------------------------------------------- */

static void note_node(struct lx_doctor *d, const json_t *peer, const json_t *ni)
{
	json_t *primary = json_object_get(peer, "primary nid");
	const char *nid = lx_json_text(ni, "nid");
	char address[LX_NID_TEXT];

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(nid, "@"), nid);
	json_object_set(d->nodes, nid, primary);
	json_object_set(d->nodes, address, primary);
}

void lx_doctor_peers_load(struct lx_doctor *d)
{
	const json_t *peer, *ni;
	size_t i, j;

	d->peers = lx_request_list(d->session, LX_CTL_PEER);
	d->peer_nis = lx_doctor_rows(d->peers, lx_object_peers.rows);
	d->nodes = json_object();
	d->silent = json_object();
	json_array_foreach (d->peers, i, peer) {
		json_array_foreach (json_object_get(peer, lx_object_peers.rows), j, ni)
			note_node(d, peer, ni);
	}
}

static const char *node_of(const struct lx_doctor *d, const char *about)
{
	const char *primary = lx_json_text(d->nodes, about);

	return *primary ? primary : about;
}

struct lx_finding lx_doctor_about(const struct lx_doctor *d, enum lx_finding_rank rank,
				  const char *about, const char *next)
{
	return (struct lx_finding){
		.rank = rank, .about = about, .node = node_of(d, about), .next = next
	};
}

static void is_lost(struct lx_doctor *d, const char *text)
{
	struct lx_nid nid;

	if (d->n_lost == LX_DOCTOR_REACH_MAX || lx_nid_parse(text, &nid))
		return;
	for (unsigned int i = 0; i < d->n_lost; i++) {
		if (lx_nid_eq(&d->lost[i].nid, &nid))
			return;
	}
	d->lost[d->n_lost++].nid = nid;
}

/* ---- nets -------------------------------------------------------------------------- */

/* How many NIDs of peers on a net are known, and how many of them are down. */
static void count_net(const json_t *peer_nis, uint32_t net, unsigned int *ret_n,
		      unsigned int *ret_down)
{
	struct lx_nid nid;
	const json_t *row;
	size_t i;

	*ret_n = *ret_down = 0;
	json_array_foreach ((json_t *)peer_nis, i, row) {
		if (lx_nid_parse(lx_json_text(row, "nid"), &nid) || lx_nid_net(&nid) != net)
			continue;
		++*ret_n;
		*ret_down += *lx_json_text(row, "down_reason") != 0;
	}
}

static bool has_ni_up(const json_t *net)
{
	const json_t *ni;
	size_t i;

	json_array_foreach (json_object_get(net, lx_object_nets.rows), i, ni) {
		if (strcmp(lx_json_text(ni, "status"), "down"))
			return true;
	}
	return false;
}

/* If nobody on a net answers, the cause is on this side of them all; an NI that is down is one. */
static void check_silent_nets(struct lx_doctor *d)
{
	unsigned int n, down;
	const json_t *net;
	uint32_t number;
	size_t i;

	json_array_foreach (d->nets, i, net) {
		const char *name = lx_json_text(net, "net type");
		const struct lx_finding one = {
			.problem = true,
			.rank = LX_FINDING_NET,
			.about = name,
			.next = "its interface here, the cable, the switch port, the VLAN",
		};

		if (lx_net_parse(name, &number))
			continue;
		count_net(d->peer_nis, number, &n, &down);
		if (n < SILENT_MIN || down < n)
			continue;
		json_object_set_new(d->silent, name, json_true());
		if (has_ni_up(net))
			lx_findings_put(&d->found, &one,
					"none of the %u neighbours on this net answers", n);
	}
}

/* Whether it is down because all on its net are. */
static bool is_on_silent_net(const struct lx_doctor *d, const char *nid)
{
	const char *net = strchr(nid, '@');

	return net && json_object_get(d->silent, net + 1);
}

/* ---- routes ------------------------------------------------------------------------ */

static void add_gateway(struct lx_doctor *d, const char *gateway, const json_t *first,
			unsigned int n)
{
	const char *net = lx_json_text(first, "net"), *reason = lx_json_text(first, "down_reason");
	char effect[80];
	struct lx_finding one = lx_doctor_about(d, LX_FINDING_STATE, gateway,
						"lnetx ping the gateway; then look there");

	one.problem = true;
	one.since = lx_json_text(first, "down_since");
	one.effect = effect;
	if (n == 1)
		snprintf(effect, sizeof(effect), "the route to %s is down", net);
	else
		snprintf(effect, sizeof(effect), "the routes to %s and %u other net%s are down",
			 net, n - 1, n == 2 ? "" : "s");
	is_lost(d, gateway);
	lx_findings_put(&d->found, &one, "%s: %s", effect, *reason ? reason : "no reason is known");
}

/* One finding for each gateway, however many routes it has. */
static void check_routes(struct lx_doctor *d, json_t *list)
{
	json_t *down = json_object(), *route, *routes;
	const char *gateway;
	size_t i;

	json_array_foreach (list, i, route) {
		if (strcmp(lx_json_text(route, "state"), "down"))
			continue;
		gateway = lx_json_text(route, "gateway");
		if (!json_object_get(down, gateway))
			json_object_set_new(down, gateway, json_array());
		json_array_append(json_object_get(down, gateway), route);
	}
	json_object_foreach (down, gateway, routes)
		add_gateway(d, gateway, json_array_get(routes, 0), json_array_size(routes));
	json_decref(down);
}

bool lx_doctor_peers_gateway(const json_t *routes, const char *nid, const char *state)
{
	const json_t *route;
	size_t i;

	json_array_foreach ((json_t *)routes, i, route) {
		if (!strcmp(lx_json_text(route, "gateway"), nid) &&
		    (!state || !strcmp(lx_json_text(route, "state"), state)))
			return true;
	}
	return false;
}

/* ---- peers ------------------------------------------------------------------------- */

/* @heard: something came from this peer; otherwise it may have been gone for long. */
static void add_down(struct lx_doctor *d, const json_t *ni, bool heard)
{
	const char *reason = lx_json_text(ni, "down_reason"), *nid = lx_json_text(ni, "nid");
	struct lx_finding one =
		lx_doctor_about(d, LX_FINDING_STATE, nid,
				heard ? "lnetx ping it; if it should be there: look at that node"
				      : "nothing, if it is gone for good; else look at that node");

	if (heard) {
		one.since = lx_json_text(ni, "down_since");
		lx_findings_put(&d->found, &one, "this NID of a peer is down: %s", reason);
	} else {
		one.effect = "silent since the start";
		lx_findings_put(&d->found, &one,
				"%s: nothing has come from it since lnetxd started: %s", one.effect,
				reason);
	}
}

/* Of @n nodes, this one, too. Returns false if enough others are named. */
static bool is_named(const struct lx_doctor *d, const char *nid, unsigned int *n)
{
	return lx_findings_has(&d->found, node_of(d, nid)) || (*n)++ < LX_DOCTOR_NAMED_MAX;
}

static void check_down(struct lx_doctor *d, bool heard, unsigned int *n)
{
	const json_t *peer, *ni;
	size_t i, j;

	json_array_foreach (d->peers, i, peer) {
		if (heard != (lx_request_peer_received(peer) > 0))
			continue;
		json_array_foreach (json_object_get(peer, lx_object_peers.rows), j, ni) {
			const char *nid = lx_json_text(ni, "nid");

			if (!*lx_json_text(ni, "down_reason"))
				continue;
			is_lost(d, nid);
			if (!is_on_silent_net(d, nid) && is_named(d, nid, n))
				add_down(d, ni, heard);
		}
	}
}

/* A router's neighbours, and gateways, that are not there; they may be switched off on purpose. */
static void check_peers(struct lx_doctor *d)
{
	unsigned int n = 0;

	check_down(d, true, &n);
	check_down(d, false, &n);
	if (n > LX_DOCTOR_NAMED_MAX)
		lx_findings_add(&d->found, false, "lnetxd", "lnetx peer show",
				"%u more NIDs of peers are down", n - LX_DOCTOR_NAMED_MAX);
}

/*
 * A gateway loses health by each message that is lost behind it, too. While it answers pings, and
 * has a route that is up, that is not its fault.
 */
static bool is_blameless(const json_t *row, const json_t *routes)
{
	return lx_json_int(row, "ping_count") <= 1 &&
	       lx_doctor_peers_gateway(routes, lx_json_text(row, "nid"), "up");
}

static void check_recovery(struct lx_doctor *d, const json_t *routes)
{
	json_t *list = lx_request_list(d->session, LX_CTL_RECOVERY), *row;
	unsigned int n = 0;
	size_t i;

	json_array_foreach (list, i, row) {
		bool peer = !strcmp(lx_json_text(row, "kind"), "peer");
		const char *nid = lx_json_text(row, "nid");
		struct lx_finding one =
			lx_doctor_about(d, LX_FINDING_EFFECT, nid,
					"lnetx -s net show, lnetx -s peer show: which failures");

		if (!peer)
			one.node = NULL;
		if (peer && (is_blameless(row, routes) || is_on_silent_net(d, nid)))
			continue;
		if (peer)
			is_lost(d, nid);
		if (peer && !is_named(d, nid, &n))
			continue;
		lx_findings_put(&d->found, &one,
				"its health is %" JSON_INTEGER_FORMAT
				" of 1000, and it is avoided until pings raise it",
				lx_json_int(row, "health value"));
	}
	if (n > LX_DOCTOR_NAMED_MAX)
		lx_findings_add(&d->found, false, "lnetxd", "lnetx -s peer show",
				"the health of %u more is below 1000", n - LX_DOCTOR_NAMED_MAX);
	json_decref(list);
}

/* Peers that are idle make room for others; those that are not keep them out. */
static void check_peers_max(struct lx_doctor *d)
{
	int64_t most = 0;

	lx_request_tunable(d->session, "lnet", "peers_max", &most);
	lx_findings_add_full(
		&d->found, "peers", json_array_size(d->peer_nis), most,
		"lnetx peer show: are these all yours? lnetx tunable set lnet peers_max N");
}

/* ---- their machines ---------------------------------------------------------------- */

/* Where LNet does not get an answer, who does? */
static void check_reach(struct lx_doctor *d, const struct lx_reach *reach)
{
	const char *about = lx_nid_str(&reach->nid);
	struct lx_finding one = lx_doctor_about(d, LX_FINDING_THERE, about, NULL);

	if (!reach->tcp)
		return;
	if (reach->tcp == -ECONNREFUSED) {
		one.next = "start LNet there";
		lx_findings_put(
			&d->found, &one,
			"its machine is on, and nothing listens on port %u: no LNet runs there",
			reach->port);
	} else if (reach->icmp > 0) {
		one.next = "the firewalls of both and between them; there: lnetx guard show";
		lx_findings_put(
			&d->found, &one,
			"it answers ICMP, but not port %u: a firewall, or its guard, drops our "
			"connections",
			reach->port);
	} else if (!reach->icmp) {
		one.next = "is that machine on? ip route get its address";
		lx_findings_put(&d->found, &one, "it answers neither port %u nor ICMP",
				reach->port);
	}
}

static void check_lost(struct lx_doctor *d)
{
	int64_t port;

	if (!d->n_lost || lx_request_tunable(d->session, "tcp", "accept_port", &port))
		return;
	for (unsigned int i = 0; i < d->n_lost; i++)
		d->lost[i].port = port;
	lx_doctor_together(lx_reach_look, d->lost, sizeof(d->lost[0]), d->n_lost);
	for (unsigned int i = 0; i < d->n_lost; i++)
		check_reach(d, &d->lost[i]);
}

static const char ports_next[] =
	"there: CAP_NET_BIND_SERVICE for its LNet; or here: lnetx guard set "
	"accept all";

/* These nodes see only a time-out, and cannot know why. */
static void check_guarded(struct lx_doctor *d)
{
	json_t *list = lx_request_list(d->session, LX_CTL_REFUSAL), *row;
	size_t i;

	json_array_foreach (list, i, row) {
		const struct lx_finding one = lx_doctor_about(
			d, LX_FINDING_THERE, lx_json_text(row, "source"), ports_next);

		if (strcmp(lx_json_text(row, "reason"), "unprivileged") ||
		    i >= LX_DOCTOR_NAMED_MAX || lx_json_int(row, "age_s") > RECENT_S)
			continue;
		lx_findings_put(&d->found, &one,
				"its connections are dropped: its source ports are above 1023, and "
				"accept is secure");
	}
	json_decref(list);
}

static void add_refused(struct lx_doctor *d, const json_t *row)
{
	const char *address = lx_json_text(row, "address"), *kind = lx_json_text(row, "kind");
	bool port = !strcmp(kind, "port");
	struct lx_finding one = lx_doctor_about(
		d, LX_FINDING_THERE, address,
		port ? ports_next
		: strcmp(kind, "nid")
			? "there: its NID and its LNet's address; no NAT between"
			: "there: the NID in its mount or routes; or here: lnetx net add");

	one.since = lx_json_text(row, "since");
	lx_findings_put(&d->found, &one, "%s",
			port ? "its connections are refused: its source ports are above 1023, and "
			       "accept is secure"
			     : lx_json_text(row, "reason"));
}

/* Connections that lnetxd refused, although these nodes may mean well. */
static void check_refused(struct lx_doctor *d)
{
	const json_t *row;
	size_t i;

	json_array_foreach (json_object_get(d->status, "refused"), i, row) {
		if (i < LX_DOCTOR_NAMED_MAX && lx_json_int(row, "age_s") <= RECENT_S)
			add_refused(d, row);
	}
}

void lx_doctor_peers(struct lx_doctor *d)
{
	d->routes = lx_request_list(d->session, LX_CTL_ROUTE);
	check_silent_nets(d);
	check_routes(d, d->routes);
	check_peers(d);
	check_recovery(d, d->routes);
	check_peers_max(d);
	check_guarded(d);
	check_refused(d);
	check_lost(d);
}
