/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx doctor": what is wrong with this node and its machine, why, and what to do. A problem
 * costs messages or will; advice is about speed, or about what may be meant that way. Changes
 * nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "../../user/base/clock.h"
#include "../cli/json.h"
#include "../cli/lnetx.h"
#include "doctor.h"
#include "mrroute.h"
#include "reach.h"

#define WATCH_MS 1000 /* to see what grows */
#define DOWN_MAX 8 /* peers that are named */
#define RECENT_S 600 /* refusals */
#define CLOCK_JUMP_S 5
#define WAITED_PERCENT 20
#define INTERRUPTS_PERCENT 80

static void fini(struct lx_doctor *d)
{
	lx_doctor_host_fini(&d->host);
	json_decref(d->nets);
	json_decref(d->found.list);
}

/* ---- from lnetxd ------------------------------------------------------------------- */

/* NULL: lnetxd does not say, so there is nothing to find. */
static json_t *list_of(struct lx_doctor *d, enum lx_ctl_object object)
{
	json_t *list;

	return lx_request_show_all(d->session, object, LX_LEVEL_OWN, &list) ? NULL : list;
}

/* The same for an object of which there is one. */
static json_t *row_of(struct lx_doctor *d, enum lx_ctl_object object)
{
	json_t *row;

	return lx_request_first(d->session, object, NULL, LX_LEVEL_OWN, &row) ? NULL : row;
}

static void check_ni(struct lx_doctor *d, const json_t *ni)
{
	const char *reason = lx_json_text(ni, "down_reason");

	if (strcmp(lx_json_text(ni, "status"), "down"))
		return;
	lx_findings_add(&d->found, true, lx_json_text(ni, "nid"),
			"mend that; the NI comes up by itself",
			"the NI is down%s%s, and its messages take other NIs or fail",
			*reason ? ": " : "", reason);
}

static void check_nis(struct lx_doctor *d)
{
	json_t *status = row_of(d, LX_CTL_DAEMON);
	const json_t *net, *ni;
	size_t i, j, n = 0;

	json_array_foreach (d->nets, i, net) {
		json_array_foreach (json_object_get(net, lx_ctl_nets.rows), j, ni) {
			check_ni(d, ni);
			n += strcmp(lx_json_text(ni, "nid"), "0@lo") != 0;
		}
	}
	if (*lx_json_text(status, "missing"))
		lx_findings_add(
			&d->found, true, "lnetxd",
			"mend that, and it comes up by itself; or correct the file and reload",
			"it runs without NIs of its file: %s", lx_json_text(status, "missing"));
	json_decref(status);
	if (!n)
		lx_findings_add(&d->found, true, "lnetxd",
				"lnetctl lnet configure --all, or lnetx net add",
				"this node has no NI, so no other can reach it");
}

static void is_lost(struct lx_doctor *d, const char *text)
{
	struct lx_nid nid;

	if (d->n_lost == LX_DOCTOR_REACH_MAX || lx_nid_parse(text, &nid))
		return;
	for (unsigned int i = 0; i < d->n_lost; i++) {
		if (lx_nid_eq(&d->lost[i], &nid))
			return;
	}
	d->lost[d->n_lost++] = nid;
}

static void check_routes(struct lx_doctor *d)
{
	json_t *list = list_of(d, LX_CTL_ROUTE), *route;
	size_t i;

	json_array_foreach (list, i, route) {
		if (strcmp(lx_json_text(route, "state"), "down"))
			continue;
		is_lost(d, lx_json_text(route, "gateway"));
		lx_findings_add(&d->found, true, lx_json_text(route, "gateway"),
				"lnetx ping the gateway; then look there",
				"the route to %s is down: %s", lx_json_text(route, "net"),
				*lx_json_text(route, "down_reason")
					? lx_json_text(route, "down_reason")
					: "no reason is known");
	}
	json_decref(list);
}

static bool is_found(const struct lx_doctor *d, const char *about)
{
	const json_t *one;
	size_t i;

	json_array_foreach (d->found.list, i, one) {
		if (!strcmp(lx_json_text(one, "about"), about))
			return true;
	}
	return false;
}

/* A router's neighbours, and gateways, that are not there; they may be switched off on purpose. */
static void check_peers(struct lx_doctor *d, const json_t *peers)
{
	const json_t *peer, *row;
	unsigned int n = 0;
	size_t i, j;

	json_array_foreach ((json_t *)peers, i, peer) {
		json_array_foreach (json_object_get(peer, lx_ctl_peers.rows), j, row) {
			const char *reason = lx_json_text(row, "down_reason"),
				   *nid = lx_json_text(row, "nid");

			if (*reason)
				is_lost(d, nid);
			if (!*reason || is_found(d, nid) || n++ >= DOWN_MAX)
				continue;
			lx_findings_add(&d->found, false, nid,
					"lnetx ping it; if it should be there: look at that node",
					"this NID of a peer is down: %s", reason);
		}
	}
	if (n > DOWN_MAX)
		lx_findings_add(&d->found, false, "lnetxd", "lnetx peer show",
				"%u more NIDs of peers are down", n - DOWN_MAX);
}

static void check_recovery(struct lx_doctor *d)
{
	json_t *list = list_of(d, LX_CTL_RECOVERY), *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (!strcmp(lx_json_text(row, "kind"), "peer"))
			is_lost(d, lx_json_text(row, "nid"));
		lx_findings_add(&d->found, false, lx_json_text(row, "nid"),
				"lnetx -s net show, lnetx -s peer show: which failures",
				"its health is %" JSON_INTEGER_FORMAT
				" of 1000, and it is avoided until pings raise it",
				lx_json_int(row, "health value"));
	}
	json_decref(list);
}

static void check_faults(struct lx_doctor *d)
{
	unsigned int n = lx_request_fault_count(d->session);

	if (n)
		lx_findings_add(&d->found, true, "lnetxd", "lnetx fault show; lnetx fault del all",
				"fault injection drops or delays messages on purpose, by %u rule%s",
				n, n == 1 ? "" : "s");
}

/* Where LNet does not get an answer, who does? */
static void check_reach(struct lx_doctor *d, const struct lx_nid *nid, uint16_t port)
{
	struct lx_reach reach;
	const char *about;

	if (lx_reach_look(nid, port, &reach) || !reach.tcp)
		return;
	about = lx_nid_str(nid);
	if (reach.tcp == -ECONNREFUSED)
		lx_findings_add(
			&d->found, false, about, "start LNet there",
			"its machine is on, and nothing listens on port %u: no LNet runs there",
			port);
	else if (reach.icmp > 0)
		lx_findings_add(
			&d->found, false, about,
			"the firewalls of both and between them; there: lnetx guard show",
			"it answers ICMP, but not port %u: a firewall, or its guard, drops our "
			"connections",
			port);
	else if (!reach.icmp)
		lx_findings_add(&d->found, false, about,
				"is that machine on? ip route get its address",
				"it answers neither port %u nor ICMP", port);
}

static void check_lost(struct lx_doctor *d)
{
	int64_t port;

	if (!d->n_lost || lx_request_tunable(d->session, "tcp", "accept_port", &port))
		return;
	for (unsigned int i = 0; i < d->n_lost; i++)
		check_reach(d, &d->lost[i], port);
}

/* These nodes see only a time-out, and cannot know why. */
static void check_refused(struct lx_doctor *d, const json_t *counters)
{
	json_int_t n = lx_json_int(counters, "refused_ports");
	json_t *list = list_of(d, LX_CTL_REFUSAL), *row;
	static const char next[] = "there: CAP_NET_BIND_SERVICE for its LNet; or here: lnetx guard "
				   "set accept all";
	size_t i;

	json_array_foreach (list, i, row) {
		if (strcmp(lx_json_text(row, "reason"), "unprivileged") || i >= DOWN_MAX ||
		    lx_json_int(row, "age_s") > RECENT_S)
			continue;
		lx_findings_add(&d->found, false, lx_json_text(row, "source"), next,
				"its connections are dropped: its source ports are above 1023, and "
				"accept is "
				"secure");
	}
	json_decref(list);
	if (n)
		lx_findings_add(&d->found, false, "lnetxd", next,
				"%" JSON_INTEGER_FORMAT
				" connections from source ports above 1023 were "
				"refused, as accept is secure; the log names the addresses",
				n);
}

/* ---- the fast path ----------------------------------------------------------------- */

static bool is_router(struct lx_doctor *d)
{
	json_t *info = row_of(d, LX_CTL_ROUTING);
	bool on = lx_json_int(info, "enable") && !json_object_get(info, "phase");

	json_decref(info);
	return on;
}

static void check_dropped(struct lx_doctor *d, const json_t *hook)
{
	json_int_t n = lx_json_int(hook, "tx_dropped");
	const char *ifname = lx_json_text(hook, "interface");
	char next[100];

	if (!n || !lx_bpf_is_interface(hook))
		return;
	snprintf(next, sizeof(next),
		 "ip -s -s link show %s; if it goes on: lnetx bpf off, and report it", ifname);
	lx_findings_add(&d->found, false, ifname, next,
			"it dropped %" JSON_INTEGER_FORMAT
			" packets on the way out since the fast path is attached;"
			" TCP sends them again, later",
			n);
}

/* Those that are missing have a reason; these have been put back. */
static void check_removed(struct lx_doctor *d, const json_t *hook)
{
	json_int_t n = lx_json_int(hook, "removed");

	if (n && !*lx_json_text(hook, "reason"))
		lx_findings_add(&d->found, false, lx_json_text(hook, "interface"),
				"find out who does it: bpftool net, tc monitor",
				"another program or an admin removed the program of %s "
				"%" JSON_INTEGER_FORMAT
				" times in the last ten minutes; it was put back",
				lx_json_text(hook, "set"), n);
}

static void check_room(struct lx_doctor *d, const char *what, long long used, long long most,
		       const char *next)
{
	if (most && used >= most)
		lx_findings_add(&d->found, false, what, next,
				"the table is full: %lld of %lld are in use", used, most);
}

/* lnetxd itself forwards for connections that find no place there. */
static void check_tables(struct lx_doctor *d, const json_t *info)
{
	const json_t *row;
	char what[80];
	size_t i;

	json_array_foreach (json_object_get(info, "tables"), i, row) {
		snprintf(what, sizeof(what), "fast path, %s", lx_json_text(row, "table"));
		check_room(d, what, lx_json_int(row, "used"), lx_json_int(row, "max"),
			   "lnetx -s tunable show tcp fastpath_streams; the rest is slower, not "
			   "lost");
	}
}

static void check_programs(struct lx_doctor *d)
{
	json_t *info = row_of(d, LX_CTL_BPF);
	bool enabled = json_is_true(json_object_get(info, "enabled"));
	const json_t *row;
	size_t i;

	if (info && enabled && !json_is_true(json_object_get(info, "fastpath")))
		lx_findings_add(&d->found, false, "fast path", "lnetx bpf on",
				"it is switched off, so lnetxd forwards all messages itself, which "
				"is slower");
	json_array_foreach (json_object_get(info, "sets"), i, row) {
		bool loaded = json_is_true(json_object_get(row, "loaded"));

		if (*lx_json_text(row, "reason") && !strcmp(lx_json_text(row, "set"), "fastpath"))
			lx_findings_add(
				&d->found, false, "fast path",
				loaded ? "when nothing removes its programs any more: lnetx bpf on"
				: enabled ? "lnetx bpf status says what the kernel lacks"
					  : "start lnetxd without --no-bpf",
				"lnetxd forwards all messages itself, which is slower: %s",
				lx_json_text(row, "reason"));
	}
	if (*lx_json_text(info, "resegments"))
		lx_findings_add(&d->found, false, "fast path", "lnetx bpf status",
				"it resegments packets with messages for several next hops, which "
				"is slower "
				"than to cut them: %s",
				lx_json_text(info, "resegments"));
	json_array_foreach (json_object_get(info, "hooks"), i, row) {
		if (*lx_json_text(row, "reason"))
			lx_findings_add(&d->found, false, lx_json_text(row, "interface"),
					"mend that, or leave it to lnetxd",
					"no program of %s here: %s", lx_json_text(row, "set"),
					lx_json_text(row, "reason"));
		check_removed(d, row);
		check_dropped(d, row);
	}
	check_tables(d, info);
	json_decref(info);
}

/* ---- what goes on now -------------------------------------------------------------- */

/* Peers that are idle make room for others; those that are not keep them out. */
static void check_peers_max(struct lx_doctor *d, const json_t *peers)
{
	const json_t *peer;
	int64_t most = 0;
	long long n = 0;
	size_t i;

	json_array_foreach ((json_t *)peers, i, peer)
		n += json_array_size(json_object_get(peer, lx_ctl_peers.rows));
	lx_request_tunable(d->session, "lnet", "peers_max", &most);
	check_room(d, "peers", n, most,
		   "lnetx peer show: are these all yours? lnetx tunable set lnet peers_max N");
}

static int64_t grown(const json_t *from, const json_t *to, const char *key)
{
	return lx_json_int(to, key) - lx_json_int(from, key);
}

static void check_cpu(struct lx_doctor *d, const json_t *before, const json_t *status, int64_t ms)
{
	int64_t waited = 100 * grown(before, status, "waited_ms") / ms;
	int64_t interrupts =
		100 * grown(before, status, "interrupts_ms") / (ms * sysconf(_SC_NPROCESSORS_ONLN));

	if (before && status && (waited >= WAITED_PERCENT || interrupts >= INTERRUPTS_PERCENT))
		lx_findings_add(
			&d->found, false, "CPU",
			json_is_true(json_object_get(status, "priority"))
				? "more or faster CPUs, more receive queues, or another router"
				: "let lnetxd come before other processes: lnetxd(8), CPU TIME",
			"lnetxd's threads waited for it for %" PRId64
			" %% of the time, and interrupts took "
			"%" PRId64 " %% of all CPUs",
			waited, interrupts);
}

/* NULL: lnetxd does not say. */
static json_t *counters_of(struct lx_doctor *d)
{
	json_t *map;

	return lx_request_stats(d->session, LX_LEVEL_OWN, &map) ? NULL : map;
}

/* Messages that are lost now; what was lost some time ago needs nobody. */
static void check_counters(struct lx_doctor *d, const json_t *before, const json_t *after)
{
	const json_t *were = json_object_get(before, "drops"), *n;
	int64_t unsent = grown(before, after, "local_no_route_count");
	const char *reason;

	if (unsent)
		lx_findings_add(
			&d->found, true, "routes", "lnetx route show; the log names the nets",
			"there was no route for %" PRId64 " messages in the last second", unsent);
	json_object_foreach (json_object_get(after, "drops"), reason, n) {
		int64_t more = json_integer_value(n) - lx_json_int(were, reason);

		if (more)
			lx_findings_add(&d->found, false, "drops",
					"lnetx -s stats show; lnetx(8) and the log say why",
					"%" PRId64 " messages were dropped in the last second: %s",
					more, reason);
	}
}

/* A node that never lost a message, and does not forward any, is not watched. */
static bool has_lost(const json_t *counters)
{
	return lx_json_int(counters, "local_no_route_count") ||
	       json_object_size(json_object_get(counters, "drops"));
}

/* Times in logs, and of what was measured, do not fit together. */
static void check_jump(struct lx_doctor *d, const json_t *status)
{
	json_int_t jump = lx_json_int(status, "clock_jump_s");

	if (jump >= CLOCK_JUMP_S || jump <= -CLOCK_JUMP_S)
		lx_findings_add(&d->found, false, "clock",
				"what set it? times in the log before and after do not compare",
				"this machine's clock was set %s by %" JSON_INTEGER_FORMAT
				" s since lnetxd started",
				jump > 0 ? "forward" : "back", jump > 0 ? jump : -jump);
}

static void watch(struct lx_doctor *d, bool router)
{
	json_t *status = row_of(d, LX_CTL_DAEMON), *counters = counters_of(d);
	json_t *status_then, *counters_then;
	int64_t ms = lx_clock_ms();

	check_jump(d, status);
	check_refused(d, counters);
	if (router || has_lost(counters)) {
		usleep(WATCH_MS * 1000);
		status_then = row_of(d, LX_CTL_DAEMON);
		ms = lx_clock_ms() - ms;
		counters_then = counters_of(d);
		if (router)
			check_cpu(d, status, status_then, ms);
		if (counters && counters_then)
			check_counters(d, counters, counters_then);
		json_decref(status_then);
		json_decref(counters_then);
	}
	json_decref(status);
	json_decref(counters);
}

/* ---- the command ------------------------------------------------------------------- */

static int load(struct lx_doctor *d)
{
	int err = lx_request_show_all(d->session, LX_CTL_NET, LX_LEVEL_OWN, &d->nets);

	if (!err)
		err = lx_mrroute_check_netns(d->session);
	if (err)
		return err;
	d->found.list = json_array();
	err = lx_doctor_host_load(d);
	return err ? lx_session_fail(d->session, err, "cannot look at this machine: %s",
				     strerror(-err))
		   : 0;
}

static void check(struct lx_doctor *d)
{
	json_t *peers = list_of(d, LX_CTL_PEER);
	bool router = is_router(d);

	check_nis(d);
	check_routes(d);
	check_peers(d, peers);
	check_recovery(d);
	check_faults(d);
	if (router)
		check_programs(d);
	lx_doctor_host(d, peers, router);
	check_lost(d);
	check_peers_max(d, peers);
	watch(d, router);
	json_decref(peers);
}

static void print(const struct lx_doctor *d)
{
	const json_t *one;
	size_t i;

	json_array_foreach (d->found.list, i, one)
		printf("%-7s  %s: %s\n         next: %s\n", lx_json_text(one, "level"),
		       lx_json_text(one, "about"), lx_json_text(one, "reason"),
		       lx_json_text(one, "next"));
	if (d->found.n_problems)
		printf("not healthy: %u problem%s\n", d->found.n_problems,
		       d->found.n_problems == 1 ? "" : "s");
	else
		puts("healthy");
}

static int doctor(struct lx_session *s, const struct lx_args *a)
{
	struct lx_doctor d LX_CLEANUP(fini) = { .session = s };
	int err = load(&d);

	if (err)
		return err;
	check(&d);
	s->text[0] = '\0'; /* of questions without an answer */
	if (lx_lnetx_as_tree())
		lx_lnetx_print("doctor", json_pack("{sb, sO}", "healthy", !d.found.n_problems,
						   "findings", d.found.list));
	else
		print(&d);
	return d.found.n_problems ? LX_EXIT_UNHEALTHY : 0;
}

/* clang-format off */
const struct lx_command lx_doctor_commands[] = {
	{ "doctor", doctor, .help = "problems of this node and machine, why, and what to do" },
	{ 0 }
};
/* clang-format on */
