/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The selftest in virtual time: nodes of tests/sim with the service on them, called through the
 * library's real public functions, and consoles that ask them one thing after the other.
 */
#ifndef LX_TESTS_LSTWORLD_H
#define LX_TESTS_LSTWORLD_H

#include "../../user/selftest/priv.h"
#include "simlib.h"

#define LST_NODES_MAX 4

struct lst_node {
	struct lx_sim_node *sim;
	struct lx_node *node; /* the same, for the public functions */
	struct lx_selftest *s;
	unsigned int notes; /* lines for the log */
	char note[300]; /* the latest */
	const char *console; /* the only NID that may be one; NULL: all */
	char nid[LX_NID_TEXT]; /* its first */
};

struct lst_console {
	struct lx_sim_node *sim;
	struct lx_lst_sid sid;
	uint32_t features;
	bool flip; /* has the other byte order */
};

extern struct lx_sim *lst_sim;
extern struct lst_node lst_node[LST_NODES_MAX];

/* A network of @n nodes, 10.0.0.1@tcp and so on, with the service on all of them. */
void lst_world_new(const struct lx_sim_knobs *knobs, unsigned int n,
		   const struct lx_selftest_tunables *tun);

/* The same step by step: a network, and a node with the service. @nids: NULL ends them */
void lst_world_begin(const struct lx_sim_knobs *knobs);
struct lst_node *lst_world_add(const char *const *nids, const struct lx_selftest_tunables *tun);

/* Stops what is left; every MD, buffer and allocation must be back. */
void lst_world_free(void);

/* Another node, without the service, on which a console or a raw peer lives. */
struct lx_sim_node *lst_peer(const char *nid);
struct lst_console lst_console(const char *nid, uint64_t stamp);

/**
 * lst_ask - send a request and run until the reply
 * @to: a NID
 * @msg: the request; then the reply. rpyid is filled in, and so is @c's byte order
 * Returns its status; -ETIMEDOUT: no reply for 10 s.
 */
int lst_ask(const struct lst_console *c, const char *to, enum lx_lst_service service,
	    struct lx_lst_msg *msg);

/* Requests of consoles; each returns the status. */
int lst_make(const struct lst_console *c, const char *to, const char *name, bool force,
	     struct lx_lst_msg *ret_reply);
int lst_remove(const struct lst_console *c, const char *to);
int lst_batch(const struct lst_console *c, const char *to, uint64_t batch, uint32_t op,
	      uint32_t test, uint32_t arg);
/* Active tests of a batch, or units of a test; a negative errno. */
int lst_query(const struct lst_console *c, const char *to, uint64_t batch, uint32_t test);
int lst_stat(const struct lst_console *c, const char *to, struct lx_lst_msg *ret_reply);

/* A client part. @dests: NULL ends them. */
struct lst_test {
	uint64_t batch;
	uint32_t service, loop, concurrency;
	bool go_on; /* after an error */
	uint32_t rw, check, length, offset; /* brw; without the length feature length is pages */
	const char *dests[8];
};
int lst_add(const struct lst_console *c, const char *to, const struct lst_test *test);

/* Runs until the batch is no longer running; fails the test after @seconds. */
void lst_drain(const struct lst_console *c, const char *to, uint64_t batch, unsigned int seconds);

/* Asserts that nothing of a session is left. */
void lst_expect_idle(const struct lst_node *node);
int lst_teardown(void **state);

/* The first two nodes, and a console with a session on both. */
#define A "10.0.0.1@tcp"
#define B "10.0.0.2@tcp"
struct lst_console lst_begin(void);
int lst_debug(const struct lst_console *c, const char *to, struct lx_lst_msg *msg);
/* Adds a test to A and runs it to its end, which must be without an error. */
void lst_traffic(const struct lst_console *c, const struct lst_test *test);

#endif
