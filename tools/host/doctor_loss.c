/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Findings of "lnetx doctor" about packets that get lost: what TCP sent again between two looks at
 * the connections. Called by doctor.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../cli/common/json.h"
#include "doctor.h"

/* Below that, a look says nothing: TCP also repeats the last bytes of a message to be sure. */
#define SENT_MIN 100000
#define RESENT_MIN 20000
#define LOSS_PERCENT 1

/* The connections of a look, by their addresses. */
static json_t *by_addresses(const json_t *conns)
{
	json_t *map = json_object(), *conn;
	char key[160];
	size_t i;

	json_array_foreach ((json_t *)conns, i, conn) {
		snprintf(key, sizeof(key), "%s %s", lx_json_text(conn, "local"),
			 lx_json_text(conn, "remote"));
		json_object_set(map, key, conn);
	}
	return map;
}

static void add(json_t *sum, const char *key, const json_t *then, const json_t *now)
{
	int64_t more = lx_json_int(now, key) - lx_json_int(then, key);

	json_object_set_new(sum, key, json_integer(lx_json_int(sum, key) + more));
}

/* What was sent meanwhile: objects by the peer, and the NI that sent. */
static json_t *sums_of(const json_t *before, const json_t *after)
{
	json_t *then = by_addresses(before), *now = by_addresses(after), *sums = json_object();
	json_t *conn, *sum;
	const char *address;
	char key[160];

	json_object_foreach (now, address, conn) {
		snprintf(key, sizeof(key), "%s %s", lx_json_text(conn, "peer"),
			 lx_json_text(conn, "nid"));
		sum = json_object_get(sums, key);
		if (!sum) {
			sum = json_pack("{sO, sO}", "peer", json_object_get(conn, "peer"), "nid",
					json_object_get(conn, "nid"));
			json_object_set_new(sums, key, sum);
		}
		add(sum, "tcp_sent_bytes", json_object_get(then, address), conn);
		add(sum, "tcp_resent_bytes", json_object_get(then, address), conn);
	}
	json_decref(then);
	json_decref(now);
	return sums;
}

static const char *interface_of(const struct lx_doctor *d, const char *nid)
{
	const json_t *ni;
	size_t i;

	json_array_foreach (d->nis, i, ni) {
		if (!strcmp(lx_json_text(ni, "nid"), nid))
			return lx_json_text(json_object_get(ni, "interfaces"), "0");
	}
	return "";
}

/* Returns whether there is loss that need not be named any more. */
static bool check_one(struct lx_doctor *d, const json_t *sum, bool full)
{
	int64_t sent = lx_json_int(sum, "tcp_sent_bytes");
	int64_t resent = lx_json_int(sum, "tcp_resent_bytes");
	const char *ifname = interface_of(d, lx_json_text(sum, "nid"));
	char next[160];
	struct lx_finding one = lx_doctor_about(d, LX_FINDING_NET, lx_json_nid(sum, "peer"), next);

	if (sent < SENT_MIN || resent < RESENT_MIN || 100 * resent < LOSS_PERCENT * sent)
		return false;
	if (full && !lx_findings_has(&d->found, one.node))
		return true;
	snprintf(next, sizeof(next),
		 "ip -s -s link show %s, its cable and switch port; the same there; then what is "
		 "between",
		 *ifname ? ifname : "dev");
	one.effect = "what is sent to it gets lost";
	/* What a gateway forwards in the kernel we send again, also if it is lost behind it. */
	lx_findings_put(&d->found, &one,
			"%" PRId64 " %% of the bytes to it were sent again in the last second: "
			"loss behind %s%s",
			100 * resent / sent, *ifname ? ifname : lx_json_text(sum, "nid"),
			lx_doctor_peers_gateway(d->routes, one.about, NULL)
				? ", or behind this gateway: lnetx doctor there"
				: "");
	return false;
}

void lx_doctor_loss(struct lx_doctor *d, const json_t *before, const json_t *after)
{
	json_t *sums = sums_of(before, after), *sum;
	unsigned int more = 0;
	const char *key;
	size_t had = json_array_size(d->found.list);

	json_object_foreach (sums, key, sum)
		more += check_one(d, sum,
				  json_array_size(d->found.list) >= had + LX_DOCTOR_NAMED_MAX);
	if (more)
		lx_findings_add(&d->found, false, "lnetxd", "lnetx -s conn show",
				"more than one percent was sent again to %u more", more);
	json_decref(sums);
}
