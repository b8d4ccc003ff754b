/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of "lnetx doctor": doctor.c asks lnetxd, doctor_host.c looks at Linux. */
#ifndef LX_TOOLS_DOCTOR_H
#define LX_TOOLS_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>

#include "../cli/session.h"
#include "findings.h"
#include "rtnl.h"

#define LX_DOCTOR_REACH_MAX 4 /* nodes that are asked, which takes up to two seconds each */

/* A tcp NI, with the address and the interface that it has in Linux. */
struct lx_doctor_ni {
	const char *nid, *net;
	struct lx_netif netif;
};

struct lx_doctor_host {
	struct lx_rtnl_list rules;
	struct lx_netif *addr; /* all of them */
	size_t n_addrs;
	struct lx_doctor_ni *ni;
	size_t n_nis;
};

struct lx_doctor {
	struct lx_session *session;
	struct lx_doctor_host host;
	struct lx_findings found;
	json_t *nets;
	struct lx_nid lost[LX_DOCTOR_REACH_MAX]; /* nodes that LNet does not reach */
	unsigned int n_lost;
};

/* Reads what Linux has, of the NIs in d->nets. Returns 0 or -errno; lx_doctor_host_fini() frees. */
int lx_doctor_host_load(struct lx_doctor *d);
void lx_doctor_host_fini(struct lx_doctor_host *host);

/* Looks for problems. @peers: as lnetxd shows them; @router: this node routes */
void lx_doctor_host(struct lx_doctor *d, const json_t *peers, bool router);

#endif
