/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One client of lxload. Called by run.c; the event handler that sees the end of a slot's
 * message begins the next one.
 *
 *	free ── begin() ─▶ in flight ── all events, no error ──▶ counted ─▶ begin()
 *	                     ▲   │ an event reports a failure, or that no answer will come
 *	                     │   ▼
 *	             tick()  │  failed: MD unlinked, until its last event
 *	                     │   ▼
 *	                     └── waits a moment: same number, same bytes
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client.h"
#include "note.h"
#include "pattern.h"

#define WAIT_SEND 1u
#define WAIT_ANSWER 2u

#define RETRY_NS 50000000u
#define CALL_AGAIN_NS 1000000000u

/* ---- messages ----------------------------------------------------------------- */

static void on_event(const struct lx_event *event);

/* GETs read the source at different offsets. */
static uint32_t source_offset(const struct lx_slot *slot)
{
	const struct lx_client *client = slot->client;
	uint64_t room = client->source[slot->turn.target].len - client->opt->size;

	return (slot->turn.number * 40503 * 8) % (room + 1) / 8 * 8;
}

static void fill(struct lx_slot *slot)
{
	const struct lx_client *client = slot->client;
	const struct lx_options *opt = client->opt;

	if (!opt->verify || !slot->turn.put || !opt->size)
		return;
	lx_pattern_fill(slot->buf, opt->size, lx_pattern_key(client->stream, slot->turn.number));
	if (opt->damage && !((slot->seq + 1) % opt->damage))
		((unsigned char *)slot->buf)[slot->seq % opt->size] ^= 0x10;
}

static int send_slot(struct lx_slot *slot)
{
	struct lx_client *client = slot->client;
	const struct lx_options *opt = client->opt;
	const struct lx_md_desc desc = {
		.start = opt->size ? slot->buf : NULL,
		.length = opt->size,
		.threshold = LX_MD_UNLIMITED,
		.handler = on_event,
		.user = slot,
	};
	bool put = slot->turn.put;
	enum lx_load_kind kind = put ? LX_LOAD_PUT : LX_LOAD_GET;
	uint64_t bits = lx_load_bits(kind, client->stream, slot->turn.number);
	const struct lx_id *target = &opt->target[slot->turn.target];
	int r = 0;

	if (!slot->md.cookie)
		r = lx_md_bind(client->node, &desc, LX_RETAIN, &slot->md);
	if (r)
		return r;
	slot->waits = put && opt->no_ack ? WAIT_SEND : WAIT_SEND | WAIT_ANSWER;
	if (put)
		return lx_put(client->node, NULL, slot->md, !opt->no_ack, target,
			      LX_LOAD_PORTAL, bits, 0, 0);
	return lx_get(client->node, NULL, slot->md, target, LX_LOAD_PORTAL, bits,
		      source_offset(slot));
}

/* This attempt failed; the next one starts when the memory is no longer in use. */
static void fail(struct lx_slot *slot, int error)
{
	struct lx_client *client = slot->client;

	if (slot->failed)
		return;
	slot->failed = true;
	client->attempts_failed++;
	client->last_error = error;
	client->n_failed++;
	if (slot->md.cookie)
		lx_md_unlink(client->node, slot->md); /* or it is being unlinked already */
	else
		slot->retry_ns = lx_load_now() + RETRY_NS;
}

static void attempt(struct lx_slot *slot)
{
	int r = send_slot(slot);

	if (r)
		fail(slot, r);
}

/* True if the oldest unfinished message lets us run further ahead. */
static bool may_begin(struct lx_client *client)
{
	const struct lx_options *opt = client->opt;
	const uint64_t ahead = LX_LOAD_WINDOW - LX_LOAD_INFLIGHT_MAX;

	if (!client->running || (opt->count && client->next_seq >= opt->count))
		return false;
	if (client->next_seq - client->oldest < ahead)
		return true;
	client->oldest = client->next_seq;
	for (unsigned int i = 0; i < opt->inflight; i++) {
		if (client->slot[i].busy && client->slot[i].seq < client->oldest)
			client->oldest = client->slot[i].seq;
	}
	return client->next_seq - client->oldest < ahead;
}

static void begin(struct lx_slot *slot)
{
	struct lx_client *client = slot->client;

	if (!may_begin(client))
		return;
	slot->busy = true;
	client->n_busy++;
	slot->seq = client->next_seq++;
	slot->turn = lx_turn_of(&client->turns, slot->seq);
	fill(slot);
	slot->started_ns = lx_load_now();
	slot->counts = client->measuring;
	attempt(slot);
}

static void check_payload(struct lx_slot *slot)
{
	struct lx_client *client = slot->client;
	uint64_t key = lx_pattern_at(client->source[slot->turn.target].key, source_offset(slot));
	size_t at = lx_pattern_check(slot->buf, client->opt->size, key);

	if (at == client->opt->size)
		return;
	if (client->bad++ < 10)
		fprintf(stderr, "lxload: message %" PRIu64 ": byte %zu of %zu is wrong\n",
			slot->seq, at, client->opt->size);
}

static void done(struct lx_slot *slot)
{
	struct lx_client *client = slot->client;

	if (client->opt->verify && !slot->turn.put)
		check_payload(slot);
	client->messages++;
	client->puts += slot->turn.put;
	client->bytes += client->opt->size;
	if (slot->counts)
		lx_hist_add(&client->hist, lx_load_now() - slot->started_ns);
	slot->busy = false;
	client->n_busy--;
	begin(slot);
}

static void note_event(struct lx_slot *slot, const struct lx_event *event)
{
	switch (event->type) {
	case LX_EVENT_SEND:
		slot->waits &= ~WAIT_SEND;
		if (event->status) /* there will be no answer */
			fail(slot, event->status);
		break;
	case LX_EVENT_ACK:
	case LX_EVENT_REPLY:
		slot->waits &= ~WAIT_ANSWER;
		if (event->status)
			fail(slot, event->status);
		else if (event->mlength != slot->client->opt->size)
			fail(slot, -EMSGSIZE);
		break;
	default:
		break;
	}
	if (!event->unlinked)
		return;
	slot->md = LX_HANDLE_NONE;
	if (slot->failed)
		slot->retry_ns = lx_load_now() + RETRY_NS;
	else /* timed out */
		fail(slot, event->status ? event->status : -ETIMEDOUT);
}

static void on_event(const struct lx_event *event)
{
	struct lx_slot *slot = event->user;
	struct lx_client *client = slot->client;

	pthread_mutex_lock(&client->lock);
	note_event(slot, event);
	if (!slot->waits && !slot->failed && slot->busy)
		done(slot);
	pthread_mutex_unlock(&client->lock);
}

void lx_client_tick(struct lx_client *client, uint64_t now)
{
	pthread_mutex_lock(&client->lock);
	for (unsigned int i = 0; i < client->opt->inflight && client->n_failed; i++) {
		struct lx_slot *slot = &client->slot[i];

		if (!slot->retry_ns || slot->retry_ns > now)
			continue;
		slot->retry_ns = 0;
		slot->failed = false;
		client->n_failed--;
		attempt(slot);
	}
	/* Slots may have had to wait for an old message. */
	for (unsigned int i = 0;
	     client->n_busy < client->opt->inflight && i < client->opt->inflight; i++) {
		if (!client->slot[i].busy)
			begin(&client->slot[i]);
	}
	pthread_mutex_unlock(&client->lock);
}

void lx_client_go(struct lx_client *client)
{
	client->running = true;
	lx_client_tick(client, 0);
}

/* ---- calls -------------------------------------------------------------------- */

static void on_answer(const struct lx_event *event)
{
	struct lx_client *client = event->user;

	if (event->type != LX_EVENT_PUT || event->status ||
	    event->mlength != sizeof(client->landing))
		return;
	pthread_mutex_lock(&client->lock);
	if (lx_le64(client->landing.magic) == LX_LOAD_MAGIC && client->awaited &&
	    lx_le64(client->landing.op) == client->awaited) {
		client->answer = client->landing;
		client->awaited = 0;
		pthread_cond_signal(&client->answered);
	}
	pthread_mutex_unlock(&client->lock);
}

static void on_call_failed(int status, void *arg)
{
	struct lx_client *client = arg;

	pthread_mutex_lock(&client->lock);
	client->call_error = status;
	pthread_mutex_unlock(&client->lock);
}

static void deadline(uint64_t ns, struct timespec *ret)
{
	clock_gettime(CLOCK_REALTIME, ret);
	ns += ret->tv_nsec;
	ret->tv_sec += ns / 1000000000u;
	ret->tv_nsec = ns % 1000000000u;
}

static void on_pinged(int status, const struct lx_peer_info *info, void *arg)
{
	struct lx_client *client = arg;

	pthread_mutex_lock(&client->lock);
	if (!status)
		client->reached = true;
	else if (status != -ETIMEDOUT)
		client->call_error = status;
	pthread_cond_signal(&client->answered);
	pthread_mutex_unlock(&client->lock);
}

/*
 * Pings a target until it answers. A call would wait for discovery, and if discovery's only ping
 * is lost, so would all that follow it, for lnet_transaction_timeout.
 */
static int reach(struct lx_client *client, unsigned int target)
{
	const struct lx_options *opt = client->opt;
	uint64_t end = lx_load_now() + (uint64_t)(opt->timeout * 1e9);
	struct timespec until;
	int r;

	pthread_mutex_lock(&client->lock);
	client->reached = false;
	client->call_error = 0;
	while (!client->reached && lx_load_now() < end && !lx_load_stopping()) {
		pthread_mutex_unlock(&client->lock);
		/* Its time is not limited, so that it tells why there is no answer. */
		r = lx_ping(client->node, &opt->target[target], NULL, 0, on_pinged, client);
		deadline(CALL_AGAIN_NS, &until);
		pthread_mutex_lock(&client->lock);
		if (r)
			client->call_error = r;
		while (!client->reached &&
		       !pthread_cond_timedwait(&client->answered, &client->lock, &until))
			;
	}
	r = client->reached ? 0 : client->call_error ? client->call_error : -ETIMEDOUT;
	client->call_error = 0;
	pthread_mutex_unlock(&client->lock);
	return r;
}

/* Open calls are completed even after a stop. */
static bool told_to_stop(enum lx_load_op op)
{
	return op == LX_LOAD_OPEN ? lx_load_stopping() : lx_load_giving_up();
}

/* Repeats a call until there is an answer, a timeout or a signal. */
static int call(struct lx_client *client, unsigned int target, enum lx_load_op op)
{
	const struct lx_options *opt = client->opt;
	uint64_t end = lx_load_now() + (uint64_t)(opt->timeout * 1e9);
	const struct lx_load_call call = {
		.magic = lx_le64(LX_LOAD_MAGIC),
		.op = lx_le64(op),
		.nonce = lx_le64(client->nonce),
		.size = lx_le64(opt->size),
		.verify = lx_le64(opt->verify && client->turns.put),
	};
	struct timespec until;
	int r;

	pthread_mutex_lock(&client->lock);
	client->awaited = op;
	while (client->awaited && lx_load_now() < end && !told_to_stop(op)) {
		/* Sent without the lock: failures are reported on another thread. */
		pthread_mutex_unlock(&client->lock);
		r = lx_note_send(client->node, &opt->target[target],
				 lx_load_bits(LX_LOAD_CALL, client->stream, 0), &call, sizeof(call),
				 on_call_failed, client);
		deadline(CALL_AGAIN_NS, &until);
		pthread_mutex_lock(&client->lock);
		if (r)
			client->call_error = r;
		while (client->awaited &&
		       !pthread_cond_timedwait(&client->answered, &client->lock, &until))
			;
	}
	r = client->call_error ? client->call_error : -ETIMEDOUT;
	if (!client->awaited)
		r = -(int)lx_le64(client->answer.error);
	client->awaited = 0;
	pthread_mutex_unlock(&client->lock);
	return r;
}

int lx_client_open(struct lx_client *client)
{
	unsigned int at = 0;
	int r;

	/* The same number at all targets; if one has it in use, start over with the next. */
	do {
		if (!at && getrandom(&client->nonce, sizeof(client->nonce), 0) < 0)
			return -errno;
		client->stream = client->nonce & LX_LOAD_STREAM_MASK;
		r = reach(client, at);
		if (!r)
			r = call(client, at, LX_LOAD_OPEN);
		client->source[at].key = lx_le64(client->answer.source_key);
		client->source[at].len = lx_le64(client->answer.source_len);
		if (!r && client->source[at].len < client->opt->size)
			r = -EPROTO;
		at = r ? 0 : at + 1;
	} while (r == -EEXIST || (!r && at < client->opt->n_targets));
	return r;
}

int lx_client_close(struct lx_client *client, unsigned int target,
		    struct lx_load_answer *ret_answer)
{
	int r = call(client, target, LX_LOAD_CLOSE);

	if (!r)
		*ret_answer = client->answer;
	return r;
}

/* ---- life --------------------------------------------------------------------- */

static int listen_for_answers(struct lx_client *client)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = &client->landing,
		.length = sizeof(client->landing),
		.threshold = LX_MD_UNLIMITED,
		.options = LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
		.handler = on_answer,
		.user = client,
	};
	struct lx_handle me, md;
	int r;

	r = lx_me_attach(client->node, LX_LOAD_PORTAL, &anyone, lx_load_bits(LX_LOAD_ANSWER, 0, 0),
			 LX_LOAD_ANY_OF_KIND, LX_UNLINK, LX_ME_AFTER, &me);
	return r ? r : lx_md_attach(client->node, me, &desc, LX_UNLINK, &md);
}

static int make_slots(struct lx_client *client)
{
	const struct lx_options *opt = client->opt;

	client->slot = calloc(opt->inflight, sizeof(client->slot[0]));
	if (!client->slot)
		return -ENOMEM;
	for (unsigned int i = 0; i < opt->inflight; i++) {
		client->slot[i].client = client;
		client->slot[i].buf = opt->size ? calloc(1, opt->size) : NULL;
		if (opt->size && !client->slot[i].buf)
			return -ENOMEM;
	}
	return 0;
}

int lx_client_new(const struct lx_options *opt, const struct lx_nid *nid,
		  struct lx_client **ret_client)
{
	struct lx_client *client = calloc(1, sizeof(*client));
	int r;

	if (!client)
		return -ENOMEM;
	client->opt = opt;
	client->turns = (struct lx_turns){
		.train = opt->train,
		.n_targets = opt->n_targets,
		.put = opt->verb == LX_VERB_PUT || opt->put,
		.mixed = opt->mixed,
	};
	pthread_mutex_init(&client->lock, NULL);
	pthread_cond_init(&client->answered, NULL);
	r = make_slots(client);
	if (!r)
		r = lx_setup_node(opt, nid, nid ? 1 : 0, &client->node);
	if (!r)
		r = listen_for_answers(client);
	if (r) {
		lx_client_free(client);
		return r;
	}
	*ret_client = client;
	return 0;
}

void lx_client_free(struct lx_client *client)
{
	if (!client)
		return;
	lx_node_free(client->node);
	for (unsigned int i = 0; client->slot && i < client->opt->inflight; i++)
		free(client->slot[i].buf);
	free(client->slot);
	pthread_cond_destroy(&client->answered);
	pthread_mutex_destroy(&client->lock);
	free(client);
}
