/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network in one process and in virtual time, for tests: several cores, and a transport
 * between them whose delay, order, loss and failures depend on a seed.
 *
 * Nothing runs on its own. lx_sim_step() takes the next step: a core's deferred work, an
 * application's event, the arrival of a message or a timer, to which it advances the clock. The
 * same seed and the same calls give the same run, to the nanosecond.
 */
#ifndef LX_SIM_H
#define LX_SIM_H

#include <internal/lnd.h>
#include <lnetx/lnetx.h>

struct lx_sim;
struct lx_core;

struct lx_sim_knobs {
	uint64_t delay_min_ns, delay_max_ns; /* per message */
	unsigned int conns;      /* between two NIs; messages are ordered within one only */
	unsigned int loss;       /* of 1000 messages: lost, but the sender believes it was sent */
	unsigned int failure;    /* of 1000 messages: the connection breaks, and loses its messages */
	unsigned int buffered;   /* of 1000 messages: sent when handed over, not when received */
	bool rdma_get;           /* answer GETs without a REPLY (lnd.h) */
	bool connects_to_self;   /* as the transport's (lnd.h); only when the sim is made */
};

/* A node: a core with 0@lo. Owner: the sim. */
struct lx_sim_node {
	struct lx_core *core;
	struct lx_sim *sim;
	struct lx_sim_node *next;
	bool kicked;
	unsigned int nis_stopped; /* counts lx_lnd_stopped() */
	void (*change)(struct lx_sim_node *node, const struct lx_change *change);
	void *user;
};

int lx_sim_new(uint64_t seed, const struct lx_sim_knobs *knobs, struct lx_sim **ret_sim);
/* Stops every node and checks for leaks. */
void lx_sim_free(struct lx_sim *sim);

int lx_sim_node_new(struct lx_sim *sim, struct lx_sim_node **ret_node);

/*
 * A node for the library's public functions on it (public.c): they need no more than its lock. Free
 * it after the sim.
 */
struct lx_node *lx_sim_public_new(struct lx_sim_node *node);
void lx_sim_public_free(struct lx_node *node);

/* Gives a node an NI by NID text ("10.0.0.1@tcp"). Returns what lx_core_ni_start() does. */
int lx_sim_ni_add(struct lx_sim_node *node, const char *nid, int peer_credits, int credits);
void lx_sim_ni_del(struct lx_sim_node *node, const char *nid);

/* Messages to a NID fail from now on (dead), or arrive again. */
void lx_sim_dead(struct lx_sim *sim, const char *nid, bool dead);

/* Sending to or from a NID fails at once with @status and @hstatus; LX_HSTATUS_OK: works again. */
void lx_sim_fail(struct lx_sim *sim, const char *nid, enum lx_hstatus hstatus, int status);
void lx_sim_fail_from(struct lx_sim *sim, const char *nid, enum lx_hstatus hstatus, int status);

/* Messages to a NID are lost silently from now on, or arrive again. */
void lx_sim_mute(struct lx_sim *sim, const char *nid, bool mute);

/* Messages from one NID to another wait from now on, as when TCP is stuck, or go on. */
void lx_sim_hold(struct lx_sim *sim, const char *from, const char *to, bool hold);

/* Calls @fn for each message that the transport takes from a core. */
void lx_sim_watch(struct lx_sim *sim,
		  void (*fn)(const struct lx_hdr *hdr, const struct lx_nid *next_hop));

/* The knobs may be changed at any time. */
struct lx_sim_knobs *lx_sim_knobs(struct lx_sim *sim);

uint64_t lx_sim_now(const struct lx_sim *sim);
uint64_t lx_sim_random(struct lx_sim *sim);

/* False if there is nothing to do before @until; then the clock is at @until. */
bool lx_sim_step(struct lx_sim *sim, uint64_t until);
/* Runs for this long. */
void lx_sim_run(struct lx_sim *sim, uint64_t ns);

/* Calls @fn after @ns. */
void lx_sim_at(struct lx_sim *sim, uint64_t ns, void (*fn)(void *arg), void *arg);

#endif
