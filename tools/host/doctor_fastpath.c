/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings of "lnetx doctor" about the programs of a router's fast path. Called by doctor.c. */
#include <stdio.h>
#include <string.h>

#include "../cli/common/json.h"
#include "../cli/lnetx/lnetx.h"
#include "doctor.h"

/* @was: the same hook a second ago, or another one. */
static void check_dropped(struct lx_doctor *d, const json_t *was, const json_t *hook)
{
	json_int_t n = lx_json_int(hook, "tx_dropped") - lx_json_int(was, "tx_dropped");
	const char *ifname = lx_json_text(hook, "interface");
	char next[100];

	if (n <= 0 || !lx_bpf_is_interface(hook) || strcmp(ifname, lx_json_text(was, "interface")))
		return;
	snprintf(next, sizeof(next),
		 "ip -s -s link show %s; if it goes on: lnetx bpf off, and report it", ifname);
	lx_findings_add(&d->found, false, ifname, next,
			"it dropped %" JSON_INTEGER_FORMAT
			" packets on the way out in the last second; TCP sends them again, later",
			n);
}

void lx_doctor_fastpath_dropped(struct lx_doctor *d, const json_t *before, const json_t *after)
{
	const json_t *hooks = json_object_get(before, "hooks"), *hook;
	size_t i;

	json_array_foreach (json_object_get(after, "hooks"), i, hook)
		check_dropped(d, json_array_get(hooks, i), hook);
}

/* Those that are missing have a reason; these have been put back. */
static void check_removed(struct lx_doctor *d, const json_t *hook)
{
	const char *set = lx_json_text(hook, "set"), *front = lx_json_text(hook, "front");
	json_int_t n = lx_json_int(hook, "removed");

	if (n && !*lx_json_text(hook, "reason"))
		lx_findings_add(&d->found, false, lx_json_text(hook, "interface"),
				"find out who does it: bpftool net, tc monitor",
				"another program or an admin removed the program of %s%s%s "
				"%" JSON_INTEGER_FORMAT
				" times in the last ten minutes; it was put back%s",
				set, *front ? ", or was put in front of it, as " : "", front, n,
				strcmp(set, "guard") ? ""
						     : ", and what banned peers opened "
						       "meanwhile was closed");
}

/* lnetxd itself forwards for connections that find no place there. */
static void check_tables(struct lx_doctor *d, const json_t *info)
{
	const json_t *row;
	char what[80];
	size_t i;

	json_array_foreach (json_object_get(info, "tables"), i, row) {
		snprintf(what, sizeof(what), "fast path, %s", lx_json_text(row, "table"));
		lx_findings_add_full(&d->found, what, lx_json_int(row, "used"),
				     lx_json_int(row, "max"),
				     "lnetx -s tunable show tcp fastpath_streams; the rest is "
				     "slower, not lost");
	}
}

/* A peer whose messages lnetxd itself forwards, which is slower; one finding for each. */
static void add_slow(struct lx_doctor *d, const char *peer, const char *next, const char *why)
{
	const struct lx_finding one = lx_doctor_about(d, LX_FINDING_EFFECT, peer, next);

	if (lx_findings_has(&d->found, one.node) || d->n_slow > LX_DOCTOR_NAMED_MAX)
		return;
	if (d->n_slow++ == LX_DOCTOR_NAMED_MAX) {
		lx_findings_add(&d->found, false, "fast path", "lnetx stream show",
				"it leaves messages of more peers to lnetxd");
		return;
	}
	lx_findings_put(&d->found, &one, "lnetxd forwards its messages itself, which is slower: %s",
			why);
}

/* Connections that the programs leave to lnetxd. @why, @whom: keys. */
static void check_elsewhere(struct lx_doctor *d, const json_t *list, const char *why,
			    const char *whom)
{
	char text[160];
	const json_t *row;
	size_t i;

	json_array_foreach (list, i, row) {
		if (strcmp(lx_json_text(row, why), "elsewhere"))
			continue;
		snprintf(text, sizeof(text),
			 "packets come or leave by an interface without programs (its connection "
			 "with %s)",
			 lx_json_text(row, "remote"));
		add_slow(d, lx_json_text(row, whom),
			 "ip route get, ip neigh and tcpdump tell which; mend that, or give it an "
			 "NI",
			 text);
	}
}

/* Nothing of ours should bring that about. */
static void check_lanes(struct lx_doctor *d, const json_t *list)
{
	struct lx_finding one;
	const json_t *lane;
	size_t i;

	json_array_foreach (list, i, lane) {
		if (strcmp(lx_json_text(lane, "state"), "stuck"))
			continue;
		one = lx_doctor_about(d, LX_FINDING_STATE, lx_json_text(lane, "next_hop"),
				      "lnetxd will close it; if it comes again: lnetx bpf off, and "
				      "report it");
		one.problem = true;
		lx_findings_put(&d->found, &one,
				"one of its lanes gets nowhere, though it answers");
	}
}

/* What keeps all messages of a stream off lanes, and can be changed there. NULL: nothing. */
static const char *stream_trouble(const json_t *stream, const char **ret_next)
{
	json_int_t form = lx_json_int(json_object_get(stream, "lane0"), "form");
	const char *why = lx_json_text(stream, "why");

	*ret_next = "there: sysctl net.ipv4.tcp_ecn=2, then new connections";
	if (!strcmp(why, "ecn"))
		return "its connection uses ECN";
	*ret_next = "there: its routes without the feature tcp_usec_ts, then new connections";
	if (!strcmp(why, "clock"))
		return "its TCP timestamps are in microseconds";
	*ret_next = "its cable, its switch port, ethtool -S there and here";
	if (!strcmp(why, "lossy"))
		return "its packets get lost, or overtake each other, on their way here";
	*ret_next = "net.ipv4.tcp_timestamps the same on both sides, then new connections";
	return form && 2 * form > lx_json_int(stream, "messages")
		       ? "its connections and those of the next hops differ in TCP timestamps, IP "
			 "version or protocol version"
		       : NULL;
}

static void check_streams(struct lx_doctor *d, const json_t *list)
{
	const char *why, *next;
	const json_t *stream;
	size_t i;

	json_array_foreach (list, i, stream) {
		why = stream_trouble(stream, &next);
		if (why)
			add_slow(d, lx_json_text(stream, "peer"), next, why);
	}
}

void lx_doctor_fastpath(struct lx_doctor *d)
{
	json_t *info = lx_request_row(d->session, LX_CTL_BPF, NULL), *streams, *lanes;
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
	}
	check_tables(d, info);
	streams = lx_request_list(d->session, LX_CTL_STREAM);
	lanes = lx_request_list(d->session, LX_CTL_LANE);
	check_elsewhere(d, streams, "why", "peer");
	check_elsewhere(d, lanes, "state", "next_hop");
	check_lanes(d, lanes);
	check_streams(d, streams);
	json_decref(lanes);
	json_decref(streams);
	json_decref(info);
}
