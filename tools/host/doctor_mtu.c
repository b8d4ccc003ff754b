/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Findings of "lnetx doctor" about neighbours that no large packet reaches. Called by doctor.c. */
#include <string.h>

#include "../cli/common/json.h"
#include "doctor.h"
#include "echo.h"

struct path {
	const struct lx_doctor_host *host;
	const char *to;
	unsigned int mtu, passed; /* mtu: 0: large ones arrive, or none does */
};

/* From the first NI of which packets get lost. */
static void *look(void *path)
{
	struct path *p = path;
	const char *net = strchr(p->to, '@');
	struct lx_nid own, nid;

	for (size_t i = 0; net && i < p->host->n_nis; i++) {
		if (!strcmp(p->host->ni[i].net, net) && !lx_nid_parse(p->to, &nid) &&
		    !lx_nid_parse(p->host->ni[i].nid, &own) &&
		    !lx_echo_mtu(&own, &nid, &p->mtu, &p->passed) && p->passed &&
		    p->passed < p->mtu)
			return NULL;
	}
	p->mtu = 0;
	return NULL;
}

/* TCP sends small messages, but waits for the end of large ones; then LNet gives up. */
static void check(struct lx_doctor *d, const struct path *p)
{
	struct lx_finding one =
		lx_doctor_about(d, LX_FINDING_NET, p->to,
				"the same MTU on all interfaces and switch ports between");

	one.problem = true;
	if (p->mtu)
		lx_findings_put(&d->found, &one,
				"packets of %u bytes to it get lost, those of %u arrive", p->mtu,
				p->passed);
}

/* Adds a NID that has not acknowledged something yet. */
static void suspect(json_t *nids, const json_t *row, const char *key, const char *count)
{
	if (lx_json_int(row, count) > 0 && json_object_size(nids) < LX_DOCTOR_REACH_MAX)
		json_object_set_new(nids, lx_json_nid(row, key), json_true());
}

void lx_doctor_mtu(struct lx_doctor *d, const json_t *conns)
{
	json_t *nids = json_object(), *lanes = lx_request_list(d->session, LX_CTL_LANE), *row,
	       *unused;
	struct path path[LX_DOCTOR_REACH_MAX];
	const char *nid;
	size_t i, n = 0;

	json_array_foreach ((json_t *)conns, i, row)
		suspect(nids, row, "peer", "unacked_segments");
	json_array_foreach (lanes, i, row)
		suspect(nids, row, "next_hop", "unacked");
	json_object_foreach (nids, nid, unused)
		path[n++] = (struct path){ .host = &d->host, .to = nid };
	lx_doctor_together(look, path, sizeof(path[0]), n);
	for (i = 0; i < n; i++)
		check(d, &path[i]);
	json_decref(nids);
	json_decref(lanes);
}
