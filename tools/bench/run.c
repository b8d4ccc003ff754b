/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "lxload put", "get" and "ping": starts clients together, watches them, adds them up.
 *
 *	all open ─▶ go ─▶ warm-up ─▶ measured ─▶ no new ones ─▶ all ended ─▶ all closed
 *
 * The result covers the measured time; verification covers everything.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "pinger.h"

#define TICK_US 5000

/* Totals of all clients at some time. */
struct sample {
	uint64_t ns, messages, bytes;
};

struct run {
	const struct lx_options *opt;
	struct lx_client **client;
	struct lx_pinger *pinger; /* one per client */
	unsigned int n;
	bool measuring;
	struct sample start, end; /* of the measured time */
	uint64_t progress_ns; /* when the last message ended */
	bool stuck;
	int error;

	/* sums */
	struct sample all;
	uint64_t puts, failed, bad, lost;
	int why_failed;
	uint64_t received, again; /* by the server */
	struct lx_hist hist;
	struct lx_hist pings;
	unsigned int pings_failed;
};

static struct sample take_sample(struct run *run)
{
	struct sample s = { .ns = lx_load_now() };

	for (unsigned int i = 0; i < run->n; i++) {
		struct lx_client *client = run->client[i];

		pthread_mutex_lock(&client->lock);
		s.messages += client->messages;
		s.bytes += client->bytes;
		pthread_mutex_unlock(&client->lock);
	}
	return s;
}

static void set_state(struct run *run, bool running, bool measuring)
{
	run->measuring = measuring;
	for (unsigned int i = 0; i < run->n; i++) {
		pthread_mutex_lock(&run->client[i]->lock);
		run->client[i]->running = running;
		run->client[i]->measuring = measuring;
		pthread_mutex_unlock(&run->client[i]->lock);
	}
}

static unsigned int busy(struct run *run)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < run->n; i++) {
		pthread_mutex_lock(&run->client[i]->lock);
		n += run->client[i]->n_busy;
		pthread_mutex_unlock(&run->client[i]->lock);
	}
	return n;
}

static double seconds_between(uint64_t from_ns, uint64_t to_ns)
{
	return (double)(to_ns - from_ns) / 1e9;
}

static double mbps(const struct sample *from, const struct sample *to)
{
	double s = seconds_between(from->ns, to->ns);

	return s > 0 ? (double)(to->bytes - from->bytes) * 8 / 1e6 / s : 0;
}

static void tell_interval(struct run *run, uint64_t begin_ns, struct sample *last)
{
	struct sample now = take_sample(run);

	if (run->opt->json)
		printf("{\"at\": %.2f, \"mbps\": %.1f, \"messages\": %" PRIu64 "}\n",
		       seconds_between(begin_ns, now.ns), mbps(last, &now),
		       now.messages - last->messages);
	else
		printf("%6.1f s  %8.1f MB/s  %8" PRIu64 " messages\n",
		       seconds_between(begin_ns, now.ns), mbps(last, &now) / 8,
		       now.messages - last->messages);
	*last = now;
}

/* One tick: resends failed messages. False: no progress for too long. */
static bool tick(struct run *run)
{
	static uint64_t seen;
	struct sample now;

	usleep(TICK_US);
	now = take_sample(run);
	for (unsigned int i = 0; i < run->n; i++)
		lx_client_tick(run->client[i], now.ns);
	for (unsigned int i = 0; run->pinger && i < run->n; i++)
		lx_pinger_tick(&run->pinger[i], now.ns, run->measuring);
	if (now.messages != seen || !run->progress_ns)
		run->progress_ns = now.ns;
	seen = now.messages;
	run->stuck = seconds_between(run->progress_ns, now.ns) > run->opt->timeout;
	return !run->stuck && !lx_load_giving_up();
}

static void measure(struct run *run)
{
	const struct lx_options *opt = run->opt;
	uint64_t begin = lx_load_now();
	uint64_t warm = begin + (uint64_t)(opt->warmup * 1e9);
	uint64_t until = UINT64_MAX;
	uint64_t next_line = begin + (uint64_t)(opt->interval * 1e9);
	struct sample last = { .ns = begin };
	uint64_t now = begin;
	bool warmed = false;

	run->start = last;
	for (unsigned int i = 0; i < run->n; i++)
		lx_client_go(run->client[i]);
	while (now < until && !lx_load_stopping()) {
		if (!warmed && now >= warm) {
			warmed = true;
			set_state(run, true, true);
			run->start = take_sample(run);
			if (!opt->count)
				until = run->start.ns + (uint64_t)(opt->seconds * 1e9);
		}
		if (opt->interval > 0 && now >= next_line) {
			next_line += (uint64_t)(opt->interval * 1e9);
			tell_interval(run, begin, &last);
		}
		if ((opt->count && !busy(run)) || !tick(run))
			break;
		now = lx_load_now();
	}
	run->end = take_sample(run);
	set_state(run, false, false);
	while (busy(run) && tick(run))
		;
}

static void add_answer(struct run *run, const struct lx_load_answer *answer)
{
	run->received += lx_le64(answer->received);
	run->again += lx_le64(answer->again);
	run->bad += lx_le64(answer->bad);
}

static void close_client(struct run *run, struct lx_client *client)
{
	struct lx_load_answer answer;
	int r;

	for (unsigned int i = 0; i < run->opt->n_targets; i++) {
		r = lx_client_close(client, i, &answer);
		if (!r) {
			add_answer(run, &answer);
			continue;
		}
		run->error = r;
		fprintf(stderr, "lxload: %s does not report what it received: %s\n",
			lx_nid_str(&run->opt->target[i].nid), strerror(-r));
	}
}

static void add_pings(struct run *run, struct lx_pinger *pinger)
{
	pthread_mutex_lock(&pinger->lock);
	run->pings_failed += pinger->failed;
	lx_hist_merge(&run->pings, &pinger->hist);
	pthread_mutex_unlock(&pinger->lock);
}

/* Closes every stream, and compares the servers' accounts with what was sent. */
static void settle(struct run *run)
{
	run->all = take_sample(run);
	for (unsigned int i = 0; i < run->n; i++) {
		struct lx_client *client = run->client[i];

		run->failed += client->attempts_failed;
		if (client->last_error)
			run->why_failed = client->last_error;
		run->bad += client->bad;
		run->lost += client->n_busy;
		run->puts += client->puts;
		lx_hist_merge(&run->hist, &client->hist);
		if (client->n_busy) {
			run->error = client->last_error ? client->last_error : -ETIMEDOUT;
			continue; /* a call would fail, too */
		}
		close_client(run, client);
	}
	for (unsigned int i = 0; run->pinger && i < run->n; i++)
		add_pings(run, &run->pinger[i]);
	run->lost += run->puts - run->received;
}

/* ---- the result --------------------------------------------------------------- */

static double us(const struct lx_hist *hist, double percentile)
{
	return (double)lx_hist_percentile(hist, percentile) / 1e3;
}

static double mean_us(const struct lx_hist *hist)
{
	return hist->n ? (double)hist->sum / hist->n / 1e3 : 0;
}

static const char *op_name(const struct lx_options *opt)
{
	return opt->mixed ? "mix" : lx_load_verb_name(opt->verb);
}

static bool all_well(const struct run *run)
{
	return !run->error && !run->bad && !run->lost && !run->stuck;
}

static void print_json(struct run *run)
{
	const struct lx_options *opt = run->opt;
	double s = seconds_between(run->start.ns, run->end.ns);

	printf("{\"op\": \"%s\", \"target\": \"%s\", \"clients\": %u, \"size\": %zu, "
	       "\"inflight\": %u, \"seconds\": %.3f, \"messages\": %" PRIu64 ", \"bytes\": %" PRIu64
	       ", \"mbps\": %.1f, \"per_s\": %.0f, ",
	       op_name(opt), lx_nid_str(&opt->target[0].nid), run->n, opt->size, opt->inflight, s,
	       run->end.messages - run->start.messages, run->end.bytes - run->start.bytes,
	       mbps(&run->start, &run->end),
	       s > 0 ? (double)(run->end.messages - run->start.messages) / s : 0);
	printf("\"mean_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, "
	       "\"messages_total\": %" PRIu64 ", \"bytes_total\": %" PRIu64
	       ", \"verified\": %s, \"bad\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"sent_again\": %" PRIu64 ", \"why\": \"%s\", \"arrived_again\": %" PRIu64 ", ",
	       mean_us(&run->hist), us(&run->hist, 50), us(&run->hist, 99),
	       (double)run->hist.max / 1e3, run->all.messages, run->all.bytes,
	       opt->verify ? "true" : "false", run->bad, run->lost, run->failed,
	       run->why_failed ? strerror(-run->why_failed) : "", run->again);
	if (run->pinger)
		printf("\"pings\": %" PRIu64 ", \"pings_failed\": %u, \"ping_mean_us\": %.2f, "
		       "\"ping_p50_us\": %.2f, \"ping_p99_us\": %.2f, \"ping_max_us\": %.2f, ",
		       run->pings.n, run->pings_failed, mean_us(&run->pings), us(&run->pings, 50),
		       us(&run->pings, 99), (double)run->pings.max / 1e3);
	printf("\"ok\": %s}\n", all_well(run) ? "true" : "false");
}

static void print_text(struct run *run)
{
	const struct lx_options *opt = run->opt;
	double s = seconds_between(run->start.ns, run->end.ns);
	uint64_t messages = run->end.messages - run->start.messages;

	printf("%s %s: %" PRIu64 " messages of %zu bytes in %.2f s from %u client%s: "
	       "%.1f MB/s, %.0f messages/s\n",
	       op_name(opt), lx_nid_str(&opt->target[0].nid), messages, opt->size, s, run->n,
	       run->n == 1 ? "" : "s", mbps(&run->start, &run->end) / 8,
	       s > 0 ? (double)messages / s : 0);
	printf("time of a message: p50 %.1f us, p99 %.1f us, longest %.1f us\n", us(&run->hist, 50),
	       us(&run->hist, 99), (double)run->hist.max / 1e3);
	printf("%s: %" PRIu64 " messages with %" PRIu64 " bytes, %" PRIu64 " wrong, %" PRIu64
	       " lost; %" PRIu64 " sent again, %" PRIu64 " arrived again\n",
	       opt->verify ? "every byte checked" : "payload not checked", run->all.messages,
	       run->all.bytes, run->bad, run->lost, run->failed, run->again);
	if (run->pinger)
		printf("%" PRIu64 " pings: p50 %.1f us, p99 %.1f us, longest %.1f us; %u failed\n",
		       run->pings.n, us(&run->pings, 50), us(&run->pings, 99),
		       (double)run->pings.max / 1e3, run->pings_failed);
	if (run->why_failed)
		printf("sent again, last time, because of: %s\n", strerror(-run->why_failed));
}

/* ---- the order of things -------------------------------------------------------- */

static int open_all(struct run *run)
{
	const struct lx_options *opt = run->opt;
	int r;

	for (unsigned int i = 0; i < run->n; i++) {
		r = lx_client_new(opt, opt->n_nids ? &opt->nid[i] : NULL, &run->client[i]);
		if (r)
			return r;
	}
	for (unsigned int i = 0; i < run->n; i++) {
		r = lx_client_open(run->client[i]);
		if (r) {
			fprintf(stderr,
				"lxload: no answer from %s: %s; is \"lxload server\" up "
				"there, and is there a route both ways?\n",
				lx_nid_str(&opt->target[0].nid), strerror(-r));
			return r;
		}
	}
	if (lx_nid_is_any(&opt->pinged.nid))
		return 0;
	run->pinger = calloc(run->n, sizeof(run->pinger[0]));
	for (unsigned int i = 0; run->pinger && i < run->n; i++)
		lx_pinger_init(&run->pinger[i], opt, run->client[i]->node);
	return run->pinger ? 0 : -ENOMEM;
}

int lx_client_run(const struct lx_options *opt)
{
	struct run *run = calloc(1, sizeof(*run));
	int r = -ENOMEM;

	if (run) {
		run->opt = opt;
		run->n = opt->n_nids ? opt->n_nids : 1;
		run->client = calloc(run->n, sizeof(run->client[0]));
	}
	if (run && run->client)
		r = open_all(run);
	if (!r) {
		measure(run);
		settle(run);
		if (run->stuck)
			fprintf(stderr, "lxload: nothing moved for %.0f s: %s\n", opt->timeout,
				strerror(run->error ? -run->error : ETIMEDOUT));
		if (opt->json)
			print_json(run);
		else
			print_text(run);
		r = all_well(run) ? 0 : -EIO;
	}
	for (unsigned int i = 0; run && run->client && i < run->n; i++)
		lx_client_free(run->client[i]);
	if (run) {
		free(run->client);
		free(run->pinger);
	}
	free(run);
	return r ? 1 : 0;
}
