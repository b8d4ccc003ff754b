/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pinger.h"

#define EVERY_NS 100000000u

static void on_answer(int status, const struct lx_peer_info *info, void *arg)
{
	struct lx_pinger *pinger = arg;

	pthread_mutex_lock(&pinger->lock);
	pinger->under_way = false;
	if (status)
		pinger->failed++;
	else if (pinger->counts)
		lx_hist_add(&pinger->hist, lx_load_now() - pinger->sent_ns);
	pthread_mutex_unlock(&pinger->lock);
}

void lx_pinger_init(struct lx_pinger *pinger, const struct lx_options *opt, struct lx_node *node)
{
	pinger->node = node;
	pinger->target = opt->pinged;
	pinger->timeout_ms = (unsigned int)(opt->timeout * 1000) + 1;
	pthread_mutex_init(&pinger->lock, NULL);
}

void lx_pinger_tick(struct lx_pinger *pinger, uint64_t now, bool counts)
{
	bool due;
	int r;

	pthread_mutex_lock(&pinger->lock);
	due = !pinger->under_way && now >= pinger->sent_ns + EVERY_NS;
	if (due) {
		pinger->under_way = true;
		pinger->counts = counts;
		pinger->sent_ns = lx_load_now();
	}
	pthread_mutex_unlock(&pinger->lock);
	if (!due)
		return;
	r = lx_ping(pinger->node, &pinger->target, NULL, pinger->timeout_ms, on_answer, pinger);
	if (r)
		on_answer(r, NULL, pinger);
}
