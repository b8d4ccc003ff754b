/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a fake node, from YAML as the tools print it: so the output of a real
 * node can be printed again and compared.
 */
#ifndef LX_TESTS_STATE_H
#define LX_TESTS_STATE_H

#include <lnetx/lnetx.h>

struct fake_peer {
	struct lx_peer_info info; /* its ni points to our array */
	bool configured, locked, gateway;
};

struct fake_probe {
	int error; /* the answer for this NID; or 0 and */
	char text[200];
	struct lx_peer_info info; /* the answer */
};

struct fake_state {
	struct lx_ni_info ni[64];
	size_t n_nis;
	struct fake_peer peer[256];
	size_t n_peers;
	struct lx_route_info route[4000];
	size_t n_routes;
	struct lx_conf_udsp udsp[64];
	size_t n_udsps;
	struct lx_conn_info conn[64];
	size_t n_conns;
	struct fake_probe probe[16];
	size_t n_probes;
	struct lx_stats stats;
	struct lx_routing_info routing;
	struct lx_fault_info fault[16];
	size_t n_faults;
};

extern const char *const fake_tcp_names[];

/* Fills @state and sets tunables ("global:") by calling @set. Exits on a bad file. */
void fake_state_load(struct fake_state *state, const char *path,
		     void (*set)(const char *module, const char *name, const char *value));

/* Waits until all events of MDs have been delivered. */
void fake_messages_wait(void);

#endif
