/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lnetx doctor": what is wrong with this node and its machine, why, and what to do. A problem
 * costs messages or will; advice is about speed, or about what may be meant that way. Changes
 * nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../user/base/array.h"
#include "../../user/base/cleanup.h"
#include "../../user/base/clock.h"
#include "../cli/common/json.h"
#include "../cli/lnetx/lnetx.h"
#include "doctor.h"
#include "mrroute.h"

#define WATCH_MS 1000 /* to see what grows */
#define SHAKE_MS 100 /* a handshake that has begun */
#define CLOCK_JUMP_S 5
#define WAITED_PERCENT 20
#define INTERRUPTS_PERCENT 80

/* Exit status of monitoring plugins. */
#define NAGIOS_WARNING 1
#define NAGIOS_CRITICAL 2
#define NAGIOS_UNKNOWN 3

static void fini(struct lx_doctor *d)
{
	lx_doctor_host_fini(&d->host);
	json_decref(d->nets);
	json_decref(d->peers);
	json_decref(d->routes);
	json_decref(d->status);
	json_decref(d->nis);
	json_decref(d->peer_nis);
	json_decref(d->nodes);
	json_decref(d->silent);
	json_decref(d->found.list);
}

/* ---- this node --------------------------------------------------------------------- */

static void check_ni(struct lx_doctor *d, const json_t *ni)
{
	const char *reason = lx_json_text(ni, "down_reason");
	const struct lx_finding one = {
		.problem = true,
		.rank = LX_FINDING_HERE,
		.about = lx_json_text(ni, "nid"),
		.next = strncmp(reason, "no neighbour", 12)
				? "mend that; the NI comes up by itself"
				: "do nodes on this net have a route through it? lnetx ping one; "
				  "the switch port, the VLAN",
		.since = lx_json_text(ni, "down_since"),
	};

	if (strcmp(lx_json_text(ni, "status"), "down"))
		return;
	lx_findings_put(&d->found, &one,
			"the NI is down%s%s, and its messages take other NIs or fail",
			*reason ? ": " : "", reason);
}

static void check_nis(struct lx_doctor *d)
{
	const json_t *status = d->status, *ni;
	size_t i, n = 0;

	json_array_foreach (d->nis, i, ni) {
		check_ni(d, ni);
		n += strcmp(lx_json_text(ni, "nid"), "0@lo") != 0;
	}
	if (*lx_json_text(status, "missing"))
		lx_findings_add(
			&d->found, true, "lnetxd",
			"mend that, and it comes up by itself; or correct the file and reload",
			"it runs without NIs of its file: %s", lx_json_text(status, "missing"));
	if (*lx_json_text(status, "deviates"))
		lx_findings_add(&d->found, true, "lnetxd",
				"reload it; or, if that is meant, write it into the file",
				"it does not run as its file says: %s",
				lx_json_text(status, "deviates"));
	if (*lx_json_text(status, "reload_failed"))
		lx_findings_add(&d->found, true, "lnetxd", "mend that, then reload again",
				"the last reload failed: %s",
				lx_json_text(status, "reload_failed"));
	if (!n)
		lx_findings_add(&d->found, true, "lnetxd",
				"lnetctl lnet configure --all, or lnetx net add",
				"this node has no NI, so no other can reach it");
}

static void check_faults(struct lx_doctor *d)
{
	unsigned int n = lx_request_fault_count(d->session);

	if (n)
		lx_findings_add(&d->found, true, "lnetxd", "lnetx fault show; lnetx fault del all",
				"fault injection drops or delays messages on purpose, by %u rule%s",
				n, n == 1 ? "" : "s");
}

static bool is_router(struct lx_doctor *d)
{
	json_t *info = lx_request_row(d->session, LX_CTL_ROUTING, NULL);
	bool on = lx_json_int(info, "enable") && !json_object_get(info, "phase");

	json_decref(info);
	return on;
}

/* ---- what goes on now -------------------------------------------------------------- */

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
				? "packets in threads (lnetxd(8), CPU TIME), more CPUs or receive "
				  "queues, or another router"
				: "let lnetxd come before other processes: lnetxd(8), CPU TIME",
			"lnetxd's threads waited for it for %" PRId64
			" %% of the time, and interrupts took "
			"%" PRId64 " %% of all CPUs",
			waited, interrupts);
}

/* This node, or the next hop, did not do its part. For other reasons the sender is at fault. */
static bool is_our_fault(const char *reason)
{
	static const char *const ours[] = { "no_memory", "no_route",	"peer_dead",
					    "deadline",	 "send_failed", "not_taken" };

	for (size_t i = 0; i < LX_ARRAY_LEN(ours); i++) {
		if (!strcmp(ours[i], reason))
			return true;
	}
	return false;
}

static int64_t drops_of(const json_t *ni)
{
	return lx_json_int(json_object_get(ni, "statistics"), "drop_count");
}

/* Peers whose messages were dropped since d->peers were listed: "; to NID, NID", or nothing. */
static void name_hops(struct lx_doctor *d, char *buf, size_t size)
{
	json_t *now = lx_request_list(d->session, LX_CTL_PEER), *ni;
	json_t *nis = lx_doctor_rows(now, lx_object_peers.rows);
	const char *sep = "; to ";
	size_t i, used = 0;

	*buf = '\0';
	json_array_foreach (nis, i, ni) {
		const json_t *was = json_array_get(d->peer_nis, i);

		if (strcmp(lx_json_text(was, "nid"), lx_json_text(ni, "nid")) ||
		    drops_of(ni) <= drops_of(was) || used >= size)
			continue;
		used += snprintf(buf + used, size - used, "%s%s", sep, lx_json_text(ni, "nid"));
		sep = ", ";
	}
	json_decref(nis);
	json_decref(now);
}

/* Messages that are lost now; what was lost some time ago needs nobody. */
static void check_counters(struct lx_doctor *d, const json_t *before, const json_t *after)
{
	const json_t *were = json_object_get(before, "drops"), *n;
	struct lx_finding routes = { .problem = true,
				     .rank = LX_FINDING_EFFECT,
				     .about = "routes",
				     .next = "lnetx route show; the log names the nets" },
			  drops = { .rank = LX_FINDING_EFFECT,
				    .about = "drops",
				    .next = "lnetx -s stats show; lnetx(8) and the log say why" };
	int64_t unsent = grown(before, after, "local_no_route_count");
	char hops[LX_DOCTOR_REACH_MAX * (LX_NID_TEXT + 2) + 8];
	bool named = false;
	const char *reason;

	if (unsent)
		lx_findings_put(&d->found, &routes,
				"there was no route for %" PRId64 " messages in the last second",
				unsent);
	json_object_foreach (json_object_get(after, "drops"), reason, n) {
		int64_t more = json_integer_value(n) - lx_json_int(were, reason);

		if (!more)
			continue;
		drops.problem = is_our_fault(reason);
		if (drops.problem && !named)
			name_hops(d, hops, sizeof(hops));
		named |= drops.problem;
		lx_findings_put(&d->found, &drops,
				"%" PRId64 " messages were dropped in the last second: %s%s", more,
				reason, drops.problem ? hops : "");
	}
}

/* Times in logs, and of what was measured, do not fit together. */
static void check_jump(struct lx_doctor *d)
{
	json_int_t jump = lx_json_int(d->status, "clock_jump_s");

	if (jump >= CLOCK_JUMP_S || jump <= -CLOCK_JUMP_S)
		lx_findings_add(&d->found, false, "clock",
				"what set it? times in the log before and after do not compare",
				"this machine's clock was set %s by %" JSON_INTEGER_FORMAT
				" s since lnetxd started",
				jump > 0 ? "forward" : "back", jump > 0 ? jump : -jump);
}

/* What lnetxd says of all that grows. */
struct look {
	json_t *status, *bpf, *conns, *counters;
	int64_t ms;
};

static void look_fini(struct look *l)
{
	json_decref(l->status);
	json_decref(l->bpf);
	json_decref(l->conns);
	json_decref(l->counters);
}

static struct look look(struct lx_doctor *d)
{
	return (struct look){ lx_request_row(d->session, LX_CTL_DAEMON, NULL),
			      lx_request_row(d->session, LX_CTL_BPF, NULL),
			      lx_request_list(d->session, LX_CTL_CONN),
			      lx_request_row(d->session, LX_CTL_STATS, NULL), lx_clock_ms() };
}

static void watch(struct lx_doctor *d, bool router)
{
	struct look was LX_CLEANUP(look_fini) = look(d), is LX_CLEANUP(look_fini) = { 0 };

	usleep(WATCH_MS * 1000);
	is = look(d);
	lx_doctor_mtu(d, is.conns);
	lx_doctor_loss(d, was.conns, is.conns);
	lx_doctor_fastpath_dropped(d, was.bpf, is.bpf);
	if (router)
		check_cpu(d, was.status, is.status, is.ms - was.ms);
	if (was.counters && is.counters)
		check_counters(d, was.counters, is.counters);
}

/* Connections that were made to any port here. */
static long long passive_opens(void)
{
	FILE *f = fopen("/proc/net/snmp", "re");
	long long n = 0;
	char line[1000];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "Tcp: %*d %*d %*d %*d %*d %lld", &n);
	if (f)
		fclose(f);
	return n;
}

/* What the guard let pass, and nobody saw. @opened: when @before was taken */
static void check_firewall(struct lx_doctor *d, const json_t *before, long long opened)
{
	json_t *after = lx_request_row(d->session, LX_CTL_GUARD, NULL), *row;
	const json_t *were = json_object_get(before, "listeners");
	const char *ifname = NULL;
	size_t i;

	json_array_foreach (json_object_get(after, "listeners"), i, row) {
		if (grown(json_array_get(were, i), row, "syns") > 0)
			ifname = lx_json_text(row, "interface");
	}
	usleep(SHAKE_MS * 1000);
	if (ifname && passive_opens() == opened)
		lx_findings_add(&d->found, false, ifname,
				"nft list ruleset, iptables-save: let accept_port in, and its "
				"answers out",
				"nodes try to connect, and nothing of it gets through: a firewall "
				"of this node drops it, or its answers get lost");
	json_decref(after);
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
	d->nis = lx_doctor_rows(d->nets, lx_object_nets.rows);
	err = lx_doctor_host_load(d);
	return err ? lx_session_fail(d->session, err, "cannot look at this machine: %s",
				     strerror(-err))
		   : 0;
}

static void check(struct lx_doctor *d)
{
	bool router = is_router(d);
	long long opened = passive_opens();
	json_t *guard = lx_request_row(d->session, LX_CTL_GUARD, NULL);

	d->status = lx_request_row(d->session, LX_CTL_DAEMON, NULL);
	lx_doctor_peers_load(d);
	check_nis(d);
	check_faults(d);
	lx_doctor_peers(d);
	if (router)
		lx_doctor_fastpath(d);
	lx_doctor_host(d, router);
	check_jump(d);
	watch(d, router);
	check_firewall(d, guard, opened);
	json_decref(guard);
}

static void print(const json_t *findings, unsigned int problems)
{
	const json_t *one;
	size_t i;

	json_array_foreach ((json_t *)findings, i, one) {
		const char *since = lx_json_text(one, "since");

		printf("%-7s  %s: %s%s%s%s\n         next: %s\n", lx_json_text(one, "level"),
		       lx_json_text(one, "about"), lx_json_text(one, "reason"),
		       *since ? " (since " : "", since, *since ? ")" : "",
		       lx_json_text(one, "next"));
	}
	if (problems)
		printf("not healthy: %u problem%s\n", problems, problems == 1 ? "" : "s");
	else
		puts("healthy");
}

/* One line as monitoring plugins have it: what follows a "|" is for graphs. */
static void print_line(const char *state, const char *text, const char *next, const char *tail)
{
	printf("LNETX %s - ", state);
	for (const char *p = text; *p; p++)
		putchar(*p == '|' ? '/' : *p == '\n' ? ' ' : *p);
	printf("%s%s%s\n", *next ? "; next: " : "", next, tail);
}

static void print_nagios(const json_t *findings, unsigned int problems)
{
	unsigned int n = json_array_size(findings);
	const json_t *first = json_array_get(findings, 0);
	char text[1000], tail[120], more[60] = "";

	snprintf(text, sizeof(text), "%s: %s", lx_json_text(first, "about"),
		 lx_json_text(first, "reason"));
	if (n > 1)
		snprintf(more, sizeof(more), " (and %u more: lnetx doctor)", n - 1);
	snprintf(tail, sizeof(tail), "%s | problems=%u advice=%u", more, problems, n - problems);
	print_line(problems ? "CRITICAL"
		   : n	    ? "WARNING"
			    : "OK",
		   n ? text : "healthy", lx_json_text(first, "next"), tail);
}

/* Without an answer nothing is known of the node. */
static int fail_nagios(const struct lx_session *s)
{
	if (lx_lnetx_as_tree())
		lx_lnetx_print("error", lx_lnetx_error(s->error, s->text));
	else
		print_line("UNKNOWN", s->text, "", "");
	return NAGIOS_UNKNOWN;
}

static int doctor(struct lx_session *s, const struct lx_args *a)
{
	struct lx_doctor d LX_CLEANUP(fini) = { .session = s };
	bool nagios = a->v[LX_ARG_NAGIOS];
	int err = load(&d);
	unsigned int problems;
	json_t *findings;
	size_t n;

	if (err)
		return nagios ? fail_nagios(s) : err;
	check(&d);
	s->text[0] = '\0'; /* of questions without an answer */
	findings = lx_findings_sorted(&d.found, &problems);
	n = json_array_size(findings);
	if (lx_lnetx_as_tree())
		lx_lnetx_print("doctor",
			       json_pack("{sb, sO}", "healthy", !problems, "findings", findings));
	else if (nagios)
		print_nagios(findings, problems);
	else
		print(findings, problems);
	json_decref(findings);
	if (nagios)
		return problems ? NAGIOS_CRITICAL : n ? NAGIOS_WARNING : 0;
	return problems ? LX_EXIT_UNHEALTHY : 0;
}

/* clang-format off */
static const struct lx_keyword doctor_keywords[] = {
	{ "nagios", LX_ARG_NAGIOS, NULL },
	{ 0 }
};

const struct lx_command lx_doctor_commands[] = {
	{ "doctor", doctor, doctor_keywords,
	  .help =
	  "problems of this node and machine, why, and what to do; \"nagios\": one line and exit "
	  "status 0 to 3, as monitoring plugins have it" },
	{ 0 }
};
/* clang-format on */
