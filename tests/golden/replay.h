/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Plays one host of a capture against a node of ours that has the place of the other.
 *
 * What the far hosts sent is sent again, byte for byte but for the handles and cookies
 * that our node has chosen otherwise; what the captured node sent must come from ours.
 * Requests that a program made on the captured node (PUTs and GETs on other portals
 * than 0) are made on ours when their turn comes; REPLYs, ACKs, connections, HELLOs
 * and acknowledgements it must come up with by itself.
 *
 * Fails the running cmocka test when something else comes, or nothing.
 */
#ifndef LX_TESTS_REPLAY_H
#define LX_TESTS_REPLAY_H

#include <stdbool.h>

#define REPLAY_CHAIN 4

struct replay {
	const char *name;                   /* of the test */
	const char *capture[REPLAY_CHAIN];  /* one after the other, on the same node */
	const char *also[REPLAY_CHAIN];     /* other side of a router, at the same time */
	char us;                            /* host of the captures: script.h */
	unsigned int steps;                 /* play only so many; 0: all */
	int conns_per_peer;                 /* of ours; 0: 1 */
	unsigned int version;               /* that the captured node dialled with; 0: its default */
	bool other_net;                     /* ours has its address on another net only */
	int keepalive;                      /* s; 0: default, and those captured are not played */
	const char *nids[3];                /* of ours, in order; others: as the captures name them */
	bool no_discovery;                  /* was before: ours knows whom it talks to */
	bool no_carrier;                    /* the interface with ours' first NID has none */
	const char *conf;                   /* peers and routes that ours had, as YAML */
	char router;                        /* host that ours checks */
	const char *not_played;             /* why it is only listed */
};

/* @folder: of the captures. */
void replay_run(const struct replay *replay, const char *folder);
/* After each, however it ended. */
void replay_end(void);

/* A network of its own, with the addresses of the captures. False: not allowed to. */
bool replay_network(void);

#endif
