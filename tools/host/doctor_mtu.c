/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings of "lnetx doctor" about neighbours that no large packet reaches. Called by doctor.c. */
#include <string.h>

#include "../cli/common/json.h"
#include "doctor.h"
#include "echo.h"

/* TCP sends small messages, but waits for the end of large ones; then LNet gives up. */
static void check(struct lx_doctor *d, const char *text)
{
	const char *net = strchr(text, '@');
	unsigned int mtu, passed;
	struct lx_finding one = lx_doctor_about(
		d, LX_FINDING_NET, text, "the same MTU on all interfaces and switch ports between");
	struct lx_nid own, nid;

	for (size_t i = 0; net && i < d->host.n_nis; i++) {
		if (strcmp(d->host.ni[i].net, net + 1) || lx_nid_parse(text, &nid) ||
		    lx_nid_parse(d->host.ni[i].nid, &own) ||
		    lx_echo_mtu(&own, &nid, &mtu, &passed) || !passed || passed >= mtu)
			continue;
		one.problem = true;
		lx_findings_put(&d->found, &one,
				"packets of %u bytes to it get lost, those of %u arrive", mtu,
				passed);
		return;
	}
}

/* Adds a NID that has not acknowledged something yet. */
static void suspect(json_t *nids, const json_t *row, const char *key, const char *count)
{
	if (lx_json_int(row, count) > 0 && json_object_size(nids) < LX_DOCTOR_REACH_MAX)
		json_object_set_new(nids, lx_json_nid(row, key), json_true());
}

void lx_doctor_mtu(struct lx_doctor *d, const json_t *conns)
{
	json_t *nids = json_object(), *lanes = lx_doctor_list(d, LX_CTL_LANE), *row, *unused;
	const char *nid;
	size_t i;

	json_array_foreach ((json_t *)conns, i, row)
		suspect(nids, row, "peer", "unacked_segments");
	json_array_foreach (lanes, i, row)
		suspect(nids, row, "next_hop", "unacked");
	json_object_foreach (nids, nid, unused)
		check(d, nid);
	json_decref(nids);
	json_decref(lanes);
}
