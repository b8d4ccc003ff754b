/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lxload idle": sends one ping from each NID of a node, so that the target gets as many peers
 * with connections, and then idles. To measure the cost of peers.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

#define PINGS_MAX 16 /* at a time: the target limits half-open connections */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned int under_way, answered, unanswered;
static int last_error;

static void on_ping(int status, const struct lx_peer_info *info, void *arg)
{
	pthread_mutex_lock(&lock);
	under_way--;
	if (status) {
		unanswered++;
		last_error = status;
	} else {
		answered++;
	}
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_below(unsigned int n)
{
	pthread_mutex_lock(&lock);
	while (under_way >= n)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void ping_from_all(const struct lx_options *opt, struct lx_node *node)
{
	unsigned int timeout_ms = (unsigned int)(opt->timeout * 1000) + 1;

	for (size_t i = 0; i < opt->n_nids && !lx_load_stopping(); i++) {
		int r;

		wait_below(PINGS_MAX);
		pthread_mutex_lock(&lock);
		under_way++;
		pthread_mutex_unlock(&lock);
		r = lx_ping(node, &opt->target[0], &opt->nid[i], timeout_ms, on_ping, NULL);
		if (r)
			on_ping(r, NULL, NULL);
	}
	wait_below(1);
}

static size_t connections(struct lx_node *node)
{
	struct lx_conn_info *conns;
	size_t n = 0;

	if (!lx_conn_list(node, &conns, &n))
		free(conns);
	return n;
}

int lx_idle_run(const struct lx_options *opt)
{
	uint64_t end = lx_load_now() + (uint64_t)(opt->seconds * 1e9);
	struct lx_node *node;

	if (!opt->n_nids) {
		fprintf(stderr, "lxload: idle takes its NIDs from --nid\n");
		return 2;
	}
	if (lx_setup_node(opt, opt->nid, opt->n_nids, &node))
		return 1;
	ping_from_all(opt, node);
	/* The other connections of each peer follow the first one. */
	usleep(500000);
	printf("{\"op\": \"idle\", \"answered\": %u, \"unanswered\": %u, \"connections\": %zu}\n",
	       answered, unanswered, connections(node));
	fflush(stdout);
	if (unanswered)
		fprintf(stderr, "lxload: %u of %zu pings of %s failed: %s\n", unanswered,
			opt->n_nids, lx_nid_str(&opt->target[0].nid), strerror(-last_error));
	while (!lx_load_stopping() && lx_load_now() < end)
		usleep(20000);
	lx_node_free(node);
	return unanswered ? 1 : 0;
}
