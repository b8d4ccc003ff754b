/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of "lnetx doctor": doctor.c asks lnetxd about this node, doctor_peers.c about others,
 * doctor_loss.c and doctor_mtu.c about packets that get lost, doctor_fastpath.c about its programs;
 * doctor_host.c looks at Linux.
 */
#ifndef LX_TOOLS_DOCTOR_H
#define LX_TOOLS_DOCTOR_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>

#include "../../user/io/duplicate.h"
#include "../cli/common/requests.h"
#include "findings.h"
#include "reach.h"
#include "rtnl.h"

#define LX_DOCTOR_REACH_MAX 4 /* nodes that are asked */
#define LX_DOCTOR_NAMED_MAX 8 /* peers that are named with a fault of one kind */

/* A tcp NI, with the address and the interface that it has in Linux. */
struct lx_doctor_ni {
	const char *nid, *net; /* the latter with its @ */
	struct lx_netif netif;
	bool shared; /* another machine has its address, too, ... */
	char mac[LX_MAC_TEXT]; /* ... this one */
};

struct lx_doctor_host {
	struct lx_rtnl_list rules, routes;
	struct lx_netif *addr; /* all of them */
	size_t n_addrs;
	struct lx_doctor_ni *ni;
	size_t n_nis;
};

struct lx_doctor {
	struct lx_session *session;
	struct lx_doctor_host host;
	struct lx_findings found;
	json_t *nets, *peers, *routes, *status; /* as lnetxd shows them; all but nets may be NULL */
	json_t *nis, *peer_nis; /* of all nets, and of all peers */
	json_t *nodes; /* by NID and by address: the primary NID */
	json_t *silent; /* nets on which nobody answers: an object, by name */
	struct lx_reach lost[LX_DOCTOR_REACH_MAX]; /* nodes that LNet does not reach */
	unsigned int n_lost;
	unsigned int n_slow; /* peers whose messages lnetxd itself forwards */
};

/* The rows of all in a list, by the key that they have there. */
static inline json_t *lx_doctor_rows(const json_t *list, const char *key)
{
	json_t *rows = json_array(), *one;
	size_t i;

	json_array_foreach ((json_t *)list, i, one)
		json_array_extend(rows, json_object_get(one, key));
	return rows;
}

/* Calls @fn for the first eight of @n items, all at once: what waits for answers of others. */
static inline void lx_doctor_together(void *(*fn)(void *item), void *items, size_t size, size_t n)
{
	pthread_t thread[8];
	size_t i = 0;

	while (i < n && i < sizeof(thread) / sizeof(thread[0]) &&
	       !pthread_create(&thread[i], NULL, fn, (char *)items + i * size))
		i++;
	while (i--)
		pthread_join(thread[i], NULL);
}

/* Fills d->nodes. */
void lx_doctor_peers_load(struct lx_doctor *d);
/* The beginning of a finding about another node, by its NID or address. */
struct lx_finding lx_doctor_about(const struct lx_doctor *d, enum lx_finding_rank rank,
				  const char *about, const char *next);
/* Whether one of @routes leads through a node, and has this state (NULL: any). */
bool lx_doctor_peers_gateway(const json_t *routes, const char *nid, const char *state);
/* Looks for problems with others. */
void lx_doctor_peers(struct lx_doctor *d);

/* Looks for packets that got lost between two lists of LX_CTL_CONN; NULL: none. */
void lx_doctor_loss(struct lx_doctor *d, const json_t *before, const json_t *after);
/* Looks for neighbours that large packets do not reach, among those with something under way. */
void lx_doctor_mtu(struct lx_doctor *d, const json_t *conns);

/* Looks for problems of a router's programs. */
void lx_doctor_fastpath(struct lx_doctor *d);
/* Looks for packets that interfaces dropped between two looks at LX_CTL_BPF; NULL: none. */
void lx_doctor_fastpath_dropped(struct lx_doctor *d, const json_t *before, const json_t *after);

/* Reads what Linux has, of the NIs in d->nets. Returns 0 or -errno; lx_doctor_host_fini() frees. */
int lx_doctor_host_load(struct lx_doctor *d);
void lx_doctor_host_fini(struct lx_doctor_host *host);

/* Looks for problems of this machine. @router: this node routes */
void lx_doctor_host(struct lx_doctor *d, bool router);

#endif
