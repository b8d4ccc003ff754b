/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lxload's server: receives PUTs in buffers that it reposts, lets GETs
 * read patterned memory, and keeps an account of each client's stream.
 *
 * It works like servers on LNet: it posts a limited number of buffers; messages
 * go into one until it is nearly full, and it is reposted when the last message
 * in it has been processed. If all are in use, messages wait on the lazy portal.
 *
 * Everything except start and stop happens in event handlers, one at a time: no lock.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"
#include "note.h"
#include "pattern.h"
#include "stream.h"

#define SOURCE_LEN (4u << 20)
#define SOURCE_KEY 0x5ca1ab1eull
#define CALL_SINKS 2
#define CALL_SINK_LEN 4096u
#define STREAMS 4096
#define FORGOTTEN_NS 60000000000ull /* a client silent for this long is gone */

struct server;

/* A buffer that is posted repeatedly. */
struct sink {
	struct server *server;
	enum lx_load_kind kind;
	char *mem;
	size_t len;
};

struct client {
	uint32_t id;
	uint64_t nonce, heard_ns;
	size_t size;
	bool verify, closed;
	struct lx_stream stream;
	uint64_t bytes, bad;
};

struct server {
	const struct lx_options *opt;
	struct lx_node *node;
	struct sink *sink; /* for PUTs, and CALL_SINKS for CALLs */
	unsigned int n_sinks;
	void *source;
	struct client
		/* by stream, modulo; a client that finds it in use takes another */
		*client[STREAMS];
	uint64_t puts, bytes, bad, strangers, opened;
};

/* ---- streams ------------------------------------------------------------------ */

static struct client *client_lookup(struct server *server, uint32_t id)
{
	struct client *client = server->client[id % STREAMS];

	return client && client->id == id ? client : NULL;
}

/* Returns 0, -EEXIST: another client has the stream; -ENOMEM. */
static int client_open(struct server *server, uint32_t id, const struct lx_load_call *call)
{
	struct client **slot = &server->client[id % STREAMS], *client = *slot;
	uint64_t now = lx_load_now();

	if (client && client->id == id && client->nonce == lx_le64(call->nonce))
		return 0; /* repeated: the answer was lost */
	if (client && !client->closed && now - client->heard_ns < FORGOTTEN_NS)
		return -EEXIST;
	if (!client)
		*slot = client = malloc(sizeof(*client));
	if (!client)
		return -ENOMEM;
	*client = (struct client){
		.id = id,
		.nonce = lx_le64(call->nonce),
		.heard_ns = now,
		.size = lx_le64(call->size),
		.verify = lx_le64(call->verify),
	};
	lx_stream_init(&client->stream);
	server->opened++;
	return 0;
}

/* ---- calls -------------------------------------------------------------------- */

static void answer_close(const struct client *client, struct lx_load_answer *answer)
{
	answer->received = lx_le64(client->stream.received);
	answer->bytes = lx_le64(client->bytes);
	answer->again = lx_le64(client->stream.again);
	answer->missing = lx_le64(lx_stream_missing(&client->stream));
	answer->bad = lx_le64(client->bad + client->stream.beyond);
}

static void take_call(struct server *server, const struct sink *sink, const struct lx_event *event)
{
	struct lx_load_answer answer = { .magic = lx_le64(LX_LOAD_MAGIC) };
	uint32_t id = lx_load_stream(event->match_bits);
	struct lx_load_call call;
	struct client *client;
	int r = 0;

	if (event->mlength != sizeof(call))
		return;
	memcpy(&call, sink->mem + event->offset, sizeof(call));
	if (lx_le64(call.magic) != LX_LOAD_MAGIC)
		return;
	answer.op = call.op;
	client = client_lookup(server, id);
	switch (lx_le64(call.op)) {
	case LX_LOAD_OPEN:
		r = client_open(server, id, &call);
		answer.source_key = lx_le64(SOURCE_KEY);
		answer.source_len = lx_le64(SOURCE_LEN);
		break;
	case LX_LOAD_CLOSE:
		if (client && client->nonce == lx_le64(call.nonce)) {
			client->closed = true;
			answer_close(client, &answer);
		} else {
			r = -ENOENT;
		}
		break;
	default:
		r = -EPROTO;
	}
	answer.error = lx_le64(-r);
	lx_note_send(server->node, &event->initiator, lx_load_bits(LX_LOAD_ANSWER, id, 0), &answer,
		     sizeof(answer), NULL, NULL);
}

/* ---- PUTs --------------------------------------------------------------------- */

static void complain(struct server *server, const struct lx_event *event, size_t at)
{
	if (server->bad > 10)
		return; /* the others are only counted */
	fprintf(stderr, "lxload: message %" PRIu64 " from %s: ", lx_load_seq(event->match_bits),
		lx_nid_str(&event->initiator.nid));
	if (at < event->mlength)
		fprintf(stderr, "byte %zu of %zu is wrong\n", at, event->mlength);
	else
		fprintf(stderr, "%zu bytes arrived\n", event->mlength);
}

static void take_put(struct server *server, const struct sink *sink, const struct lx_event *event)
{
	uint32_t id = lx_load_stream(event->match_bits);
	uint64_t seq = lx_load_seq(event->match_bits);
	struct client *client = client_lookup(server, id);
	size_t at = event->mlength;

	if (!client) {
		server->strangers++;
		return;
	}
	if (client->verify)
		at = lx_pattern_check(sink->mem + event->offset, event->mlength,
				      lx_pattern_key(id, seq));
	if (at < event->mlength || event->mlength != client->size) {
		client->bad++;
		server->bad++;
		complain(server, event, at);
	}
	if (lx_stream_add(&client->stream, seq))
		client->bytes += event->mlength;
	client->heard_ns = lx_load_now();
	server->puts++;
	server->bytes += event->mlength;
}

/* ---- buffers ------------------------------------------------------------------ */

static int attach(struct server *server, enum lx_load_kind kind, const struct lx_md_desc *desc)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	struct lx_handle me, md;
	int r;

	r = lx_me_attach(server->node, LX_LOAD_PORTAL, &anyone, lx_load_bits(kind, 0, 0),
			 LX_LOAD_ANY_OF_KIND, LX_UNLINK, LX_ME_AFTER, &me);
	if (r)
		return r;
	r = lx_md_attach(server->node, me, desc, LX_UNLINK, &md);
	if (r)
		lx_me_unlink(server->node, me);
	return r;
}

static void on_event(const struct lx_event *event);

static int post(struct sink *sink)
{
	const struct lx_md_desc desc = {
		.start = sink->mem,
		.length = sink->len,
		.threshold = LX_MD_UNLIMITED,
		.max_size =
			sink->kind == LX_LOAD_PUT ? LX_LOAD_SIZE_MAX : sizeof(struct lx_load_call),
		.options = LX_MD_OP_PUT | LX_MD_MAX_SIZE,
		.handler = on_event,
		.user = sink,
	};

	return attach(sink->server, sink->kind, &desc);
}

static void on_event(const struct lx_event *event)
{
	struct sink *sink = event->user;
	int r;

	if (event->type == LX_EVENT_PUT && !event->status) {
		if (sink->kind == LX_LOAD_PUT)
			take_put(sink->server, sink, event);
		else
			take_call(sink->server, sink, event);
	}
	if (!event->unlinked || lx_load_stopping())
		return;
	r = post(sink);
	if (r && r != -ESHUTDOWN)
		fprintf(stderr, "lxload: cannot repost a buffer: %s\n",
			strerror(-r));
}

/* ---- start and stop ----------------------------------------------------------- */

static int post_all(struct server *server)
{
	const struct lx_md_desc source = {
		.start = server->source,
		.length = SOURCE_LEN,
		.threshold = LX_MD_UNLIMITED,
		.options = LX_MD_OP_GET | LX_MD_MANAGE_REMOTE,
	};
	int r;

	r = attach(server, LX_LOAD_GET, &source);
	for (unsigned int i = 0; i < server->n_sinks && !r; i++)
		r = post(&server->sink[i]);
	if (!r)
		r = lx_portal_set_lazy(server->node, LX_LOAD_PORTAL, true);
	return r;
}

/* Announces the memory: MDs in it come and go, the transport's registrations stay. */
static int tell_of(struct server *server)
{
	int r = 0;

	for (unsigned int i = 0; i < server->n_sinks && !r; i++)
		r = lx_memory_add(server->node, server->sink[i].mem, server->sink[i].len);
	return r;
}

static int make(struct server *server)
{
	const struct lx_options *opt = server->opt;
	int r;

	server->n_sinks = opt->buffers + CALL_SINKS;
	server->sink = calloc(server->n_sinks, sizeof(server->sink[0]));
	server->source = malloc(SOURCE_LEN);
	if (!server->sink || !server->source)
		return -ENOMEM;
	lx_pattern_fill(server->source, SOURCE_LEN, SOURCE_KEY);
	if (opt->damage)
		((unsigned char *)server->source)[opt->damage % SOURCE_LEN] ^= 1;
	for (unsigned int i = 0; i < server->n_sinks; i++) {
		struct sink *sink = &server->sink[i];

		sink->server = server;
		sink->kind = i < opt->buffers ? LX_LOAD_PUT : LX_LOAD_CALL;
		sink->len = i < opt->buffers ? opt->buffer_size : CALL_SINK_LEN;
		sink->mem = malloc(sink->len);
		if (!sink->mem)
			return -ENOMEM;
	}
	r = lx_setup_node(opt, opt->nid, opt->n_nids, &server->node);
	return r ? r : tell_of(server);
}

static void tell_ready(struct lx_node *node)
{
	struct lx_ni_info *nis;
	size_t n;

	if (lx_ni_list(node, &nis, &n))
		return;
	printf("ready");
	for (size_t i = 0; i < n; i++) {
		if (lx_net_type(nis[i].net) != LX_NET_LO)
			printf(" %s", lx_nid_str(&nis[i].nid));
	}
	printf("\n");
	fflush(stdout);
	free(nis);
}

static void report(const struct server *server)
{
	if (server->opt->json)
		printf("{\"op\": \"server\", \"streams\": %" PRIu64 ", \"puts\": %" PRIu64
		       ", \"bytes\": %" PRIu64 ", \"bad\": %" PRIu64 ", \"strangers\": %" PRIu64
		       "}\n",
		       server->opened, server->puts, server->bytes, server->bad, server->strangers);
	else
		printf("server: %" PRIu64 " streams, %" PRIu64 " PUTs with %" PRIu64
		       " bytes, %" PRIu64 " wrong\n",
		       server->opened, server->puts, server->bytes, server->bad);
}

static void server_free(struct server *server)
{
	lx_node_free(server->node);
	for (unsigned int i = 0; server->sink && i < server->n_sinks; i++)
		free(server->sink[i].mem);
	for (unsigned int i = 0; i < STREAMS; i++)
		free(server->client[i]);
	free(server->sink);
	free(server->source);
	free(server);
}

int lx_server_run(const struct lx_options *opt)
{
	struct server *server = calloc(1, sizeof(*server));
	int r = -ENOMEM;

	if (server) {
		server->opt = opt;
		r = make(server);
	}
	if (!r)
		r = post_all(server);
	if (!r) {
		tell_ready(server->node);
		while (!lx_load_stopping())
			usleep(20000);
		lx_node_stop(server->node, 1000);
		report(server);
		r = server->bad ? -EIO : 0;
	} else {
		fprintf(stderr, "lxload: cannot start the server: %s\n", strerror(-r));
	}
	if (server)
		server_free(server);
	return r ? 1 : 0;
}
