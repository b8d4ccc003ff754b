/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One client of lxload: a node that keeps a number of messages in flight.
 */
#ifndef LX_BENCH_CLIENT_H
#define LX_BENCH_CLIENT_H

#include <pthread.h>

#include "hist.h"
#include "load.h"
#include "turn.h"

struct lx_client;

/* One message in flight at a time, with its memory. */
struct lx_slot {
	struct lx_client *client;
	void *buf;
	struct lx_handle md; /* none: not bound */
	uint64_t seq; /* of the client's messages */
	struct lx_turn turn;
	uint64_t started_ns; /* of the first attempt */
	uint64_t retry_ns; /* when to retry a failed one; 0: it has not failed */
	unsigned int waits; /* events still due */
	bool busy; /* has a message */
	bool counts; /* it began while we measured, and however long it takes */
	bool failed; /* this attempt has; waits until the MD is gone */
};

struct lx_client {
	const struct lx_options *opt;
	struct lx_node *node;
	struct lx_turns turns;
	uint32_t stream;
	uint64_t nonce;
	struct {
		uint64_t key, len;
	} source[LX_LOAD_LIST_MAX]; /* what a GET reads at each target */

	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t answered;
	struct lx_load_answer answer, landing;
	uint64_t awaited; /* the call waiting for an answer; 0: none */
	bool reached; /* a ping has been answered */
	int call_error; /* why the last call could not be sent */

	struct lx_slot *slot;
	bool running; /* begin new messages */
	bool measuring;
	uint64_t next_seq;
	uint64_t oldest; /* all messages before it are finished */
	unsigned int n_busy, n_failed; /* slots */
	uint64_t messages, puts, bytes; /* done */
	uint64_t attempts_failed, bad;
	int last_error;
	struct lx_hist hist;
};

/* Brings the node up. Reports errors on stderr. Returns 0 or -errno. */
int lx_client_new(const struct lx_options *opt, const struct lx_nid *nid,
		  struct lx_client **ret_client);
void lx_client_free(struct lx_client *client);

/* Opens the stream. -ETIMEDOUT, or why the server cannot be reached. */
int lx_client_open(struct lx_client *client);

/* Starts sending; each message's end then starts the next one. */
void lx_client_go(struct lx_client *client);

/* Resends failed messages, and fills slots that had to wait; call it often. */
void lx_client_tick(struct lx_client *client, uint64_t now);

/* Closes the stream at a target. @ret_answer: the server's account. As lx_client_open(). */
int lx_client_close(struct lx_client *client, unsigned int target,
		    struct lx_load_answer *ret_answer);

#endif
