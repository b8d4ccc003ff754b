/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replays a capture with our node in the place of one of its hosts.
 *
 * Sends what the far hosts sent, byte for byte, except for handles and cookies that our node
 * chose differently; our node must send what the captured node sent. Requests that a program
 * made on the captured node (PUTs and GETs on portals other than 0) are made on ours in turn;
 * REPLYs, ACKs, connections, HELLOs and ZC-ACKs must come from our node itself.
 *
 * Fails the running cmocka test if our node sends anything else, or nothing.
 */
#ifndef LX_TESTS_REPLAY_H
#define LX_TESTS_REPLAY_H

#include <stdbool.h>

#define REPLAY_CHAIN 4

struct replay {
	const char *name;                   /* of the test */
	const char *capture[REPLAY_CHAIN];  /* played in order, on the same node */
	const char *also[REPLAY_CHAIN];     /* the router's other side, at the same time */
	char us;                            /* our node's host in the captures: script.h */
	unsigned int steps;                 /* play only so many; 0: all */
	int conns_per_peer;                 /* of our node; 0: 1 */
	unsigned int version;               /* the captured node dialled with it; 0: its default */
	bool other_net;                     /* our node's address is on another net only */
	int keepalive;                      /* s; 0: default, and captured ones are skipped */
	const char *nids[3];                /* our node's, in order; others as in the captures */
	bool no_discovery;                  /* was done before: our node knows its peers */
	bool asks_pushers;                  /* our node does, and they answer what they pushed */
	bool no_carrier;                    /* the interface with our first NID has none */
	const char *drops;                  /* our NID, or "*": a rule drops GETs to it */
	const char *conf;                   /* our node's peers and routes, as YAML */
	char router;                        /* host that our node checks */
	bool elsewhere;                     /* another test plays it */
	const char *not_played;             /* why it is only listed */
};

/* @folder: of the captures. */
void replay_run(const struct replay *replay, const char *folder);
/* Call it after each replay, even a failed one. */
void replay_end(void);

/* Creates a network namespace with the addresses of the captures. False: not permitted. */
bool replay_network(void);

#endif
