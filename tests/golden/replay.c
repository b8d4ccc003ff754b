/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. A capture is a script: what was said, in order. The far hosts' lines
 * are said when everything before them has been said; for a line of our node's we wait.
 * Within one connection, as between them, LNet orders nothing, so that a line of ours
 * may come before those that stand in front of it.
 *
 * Two scripts, a router's two sides, go on as far as each of them can by itself.
 */
#include "../unit/testlib.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include <lnetx/lnetx.h>

#include "../../lnd/sock/priv.h"
#include "../../user/core/pinginfo.h"
#include "replay.h"
#include "wires.h"

#define GRACE_MS 80
#define PATIENCE_MS 6000
#define KEEPALIVE_PAUSE_MS 10000 /* between two */
#define STREAMS 64

/* Who has which addresses in the captures. */
static const struct {
	char name;
	const char *addr[4];
} hosts[] = {
	{ 'A', { "10.77.0.1", "10.77.0.11", "fd77::1" } },
	{ 'B', { "10.77.0.2", "fd77::2" } },
	{ 'R', { "10.77.0.3", "10.77.1.3" } },
	{ 'S', { "10.77.1.2" } },
};

struct step {
	const struct message *m; /* NULL: the connection ends */
	unsigned int stream, order;
	bool ours, done;
};

struct script {
	const char *name;
	struct capture capture;
	struct messages all;
	struct step *step;
	unsigned int n, at;
	struct wire *wire[STREAMS]; /* by stream; both directions */
};

struct pair {
	struct lx_wire_handle captured, real;
};

struct cookie {
	uint64_t captured, real;
	const struct wire *wire; /* on which our node has sent it */
};

struct run {
	const struct replay *replay;
	struct lx_node *node;
	struct wires wires;
	struct script script[2];
	unsigned int n_scripts;
	struct lx_nid nid[STREAMS];
	unsigned int n_nids;
	bool nid_gone[STREAMS];
	bool taught, checking;
	struct pair handle[1024];
	unsigned int n_handles;
	struct cookie asked[1024]; /* by our node, for its messages */
	unsigned int n_asked;
	struct cookie acked[1024]; /* by our node, not yet met in a script */
	unsigned int n_acked;
	const struct message *triggered[1024];
	unsigned int n_triggered;
	unsigned int n_events, n_errors;
	void *memory[1024];
	unsigned int n_memory;
};

/* ---- who is who ----------------------------------------------------------- */

static bool has_addr(char host, const char *addr)
{
	for (unsigned int i = 0; i < N_OF(hosts); i++) {
		for (unsigned int j = 0; hosts[i].name == host && hosts[i].addr[j]; j++) {
			if (!strcmp(hosts[i].addr[j], addr))
				return true;
		}
	}
	return false;
}

static void nid_addr(const struct lx_nid *nid, char addr[LX_NID_TEXT])
{
	lx_nid_format(nid, addr, LX_NID_TEXT);
	addr[strcspn(addr, "@")] = '\0';
}

static int our_nid(const struct run *run, const struct lx_nid *nid)
{
	for (unsigned int i = 0; i < run->n_nids; i++) {
		if (lx_nid_eq(&run->nid[i], nid))
			return i;
	}
	return -1;
}

static void note_nid(struct run *run, const struct lx_nid *nid)
{
	char addr[LX_NID_TEXT];

	nid_addr(nid, addr);
	if (lx_nid_is_any(nid) || !has_addr(run->replay->us, addr) || our_nid(run, nid) >= 0)
		return;
	assert_true(run->n_nids < STREAMS);
	run->nid[run->n_nids++] = *nid;
}

static void note_nids(struct run *run, const struct script *script)
{
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];

		if (m->kind == MESSAGE_ACCEPTOR)
			note_nid(run, &m->target);
		if (m->kind == MESSAGE_HELLO) {
			note_nid(run, &m->hello.src_nid);
			note_nid(run, &m->hello.dst_nid);
		}
		if (m->kind == MESSAGE_LNET) {
			note_nid(run, &m->hdr.src_nid);
			note_nid(run, &m->hdr.dst_nid);
		}
	}
}

/* The NID of an address, as some message has it. */
static bool find_nid(const struct script *script, const char *addr, struct lx_nid *nid)
{
	char text[LX_NID_TEXT];

	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];
		const struct lx_nid *nids[] = { &m->target, &m->hello.src_nid, &m->hello.dst_nid,
						&m->hdr.src_nid, &m->hdr.dst_nid };

		for (unsigned int j = 0; j < N_OF(nids); j++) {
			nid_addr(nids[j], text);
			if (strcmp(text, addr) || nids[j]->type != LX_NET_TCP)
				continue;
			*nid = *nids[j];
			return true;
		}
	}
	return false;
}

static struct lx_nid nid_of(const struct script *script, const char *addr)
{
	struct lx_nid nid = lx_nid_any;

	if (!find_nid(script, addr, &nid))
		fail_msg("%s: which NID has %s?", script->name, addr);
	return nid;
}

/* ---- scripts -------------------------------------------------------------- */

static unsigned int version_of(const char *name, const struct capture_stream *stream)
{
	if (strstr(name, "-v1-"))
		return LX_SOCK_V1;
	if (strstr(name, "-v2-"))
		return LX_SOCK_V2;
	return stream->v6 || strstr(name, "-v4-") ? LX_SOCK_V4 : LX_SOCK_V3;
}

static unsigned int stream_of(const struct capture *capture, const struct capture_stream *stream)
{
	return stream - capture->stream;
}

static unsigned int order_of(const struct capture *capture, unsigned int stream, size_t offset)
{
	for (unsigned int i = 0; i < capture->n_events; i++) {
		const struct capture_event *e = &capture->event[i];

		if (e->what == CAPTURE_DATA && e->stream == stream && offset >= e->offset &&
		    offset < e->offset + e->len)
			return i;
	}
	fail_msg("no event for %s +%zu", capture->stream[stream].who, offset);
	return 0;
}

static void add_step(struct run *run, struct script *script, const struct message *m,
		     unsigned int stream, unsigned int order)
{
	script->step[script->n++] = (struct step){
		.m = m,
		.stream = stream,
		.order = order,
		.ours = has_addr(run->replay->us, script->capture.stream[stream].src),
	};
}

static int by_order(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (!x->m || !y->m)
		return !x->m - !y->m;
	return x->m->offset < y->m->offset ? -1 : 1;
}

static void script_load(struct run *run, struct script *script, const char *folder,
			const char *name)
{
	bool ended[STREAMS] = { 0 };
	char path[600];

	memset(script, 0, sizeof(*script));
	script->name = name;
	snprintf(path, sizeof(path), "%s/%s.pcap", folder, name);
	if (capture_load(path, LX_SOCK_PORT, &script->capture))
		fail_msg("%s: %s", path, script->capture.error);
	assert_true(script->capture.n_streams <= STREAMS);
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = &script->capture.stream[i];

		messages_decode(s, version_of(name, s), &script->all);
	}
	script->step = calloc(script->all.n + script->capture.n_events, sizeof(*script->step));
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];
		unsigned int stream = stream_of(&script->capture, m->stream);

		add_step(run, script, m, stream, order_of(&script->capture, stream, m->offset));
	}
	for (unsigned int i = 0; i < script->capture.n_events; i++) {
		const struct capture_event *e = &script->capture.event[i];

		if ((e->what == CAPTURE_FIN || e->what == CAPTURE_RST) && !ended[e->stream]) {
			ended[e->stream] = true;
			add_step(run, script, NULL, e->stream, i);
		}
	}
	qsort(script->step, script->n, sizeof(*script->step), by_order);
	if (run->replay->messages && run->replay->messages < script->n)
		script->n = run->replay->messages;
}

static void script_free(struct script *script)
{
	free(script->step);
	free(script->all.message);
	capture_free(&script->capture);
}

/* ---- the node ------------------------------------------------------------- */

static void on_event(const struct lx_event *event)
{
	struct run *run = event->user;

	__atomic_add_fetch(&run->n_events, 1, __ATOMIC_SEQ_CST);
	if (event->status)
		__atomic_add_fetch(&run->n_errors, 1, __ATOMIC_SEQ_CST);
}

static void on_probe(int status, const struct lx_peer_info *info, void *arg)
{
}

static void on_log(int level, const char *line, void *arg)
{
	if (getenv("VERBOSE"))
		printf("   <%d> %s\n", level, line);
}

static void net_add(struct run *run, unsigned int i)
{
	struct lx_conf_ni ni = { .net = lx_nid_net(&run->nid[i]), .nid = run->nid[i] };
	int r;

	memset(&ni.tun, 0xff, sizeof(ni.tun));
	memset(&ni.lnd_tun, 0xff, sizeof(ni.lnd_tun));
	if (run->replay->other_net) {
		ni.net = LX_NET(LX_NET_TCP, 7);
		ni.nid.num = lx_be16(7);
	}
	r = lx_net_add(run->node, &ni);
	if (r)
		fail_msg("cannot add %s: %s", lx_nid_str(&ni.nid), strerror(-r));
	run->nid_gone[i] = false;
}

static void net_del(struct run *run, unsigned int i)
{
	struct lx_conf_ni ni = { .net = lx_nid_net(&run->nid[i]), .nid = run->nid[i] };

	assert_int_equal(lx_net_del(run->node, &ni), 0);
	run->nid_gone[i] = true;
}

static void set(struct lx_conf *conf, const char *module, const char *name, int value)
{
	struct lx_conf_tunable *t;

	conf->tunable = realloc(conf->tunable, (conf->n_tunables + 1) * sizeof(*t));
	assert_non_null(conf->tunable);
	t = &conf->tunable[conf->n_tunables++];
	memset(t, 0, sizeof(*t));
	snprintf(t->module, sizeof(t->module), "%s", module);
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->value, sizeof(t->value), "%d", value);
}

static void node_start(struct run *run)
{
	const struct replay *replay = run->replay;
	struct lx_conf_error err;
	struct lx_conf *conf;
	int r;

	assert_int_equal(lx_conf_new(&conf), 0);
	set(conf, "tcp", "conns_per_peer", replay->conns_per_peer ? replay->conns_per_peer : 1);
	set(conf, "tcp", "keepalive", replay->keepalive ? replay->keepalive : 30);
	set(conf, "lnet", "alive_router_check_interval", 0);
	set(conf, "lnet", "router_start_delay", 3600);
	r = lx_node_new(conf, &err, &run->node);
	if (r)
		fail_msg("no node: %s", err.text);
	lx_conf_free(conf);
	for (unsigned int i = 0; i < run->n_nids; i++)
		net_add(run, i);
	if (replay->us == 'R')
		assert_int_equal(lx_routing_set(run->node, true), 0);
}

/* Nets that are not ours are behind the far host of a connection. */
static void add_routes(struct run *run, const struct script *script)
{
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];
		bool ours = has_addr(run->replay->us, m->stream->src);
		struct lx_conf_route route = { .hop = LX_UNSET,
					       .priority = LX_UNSET,
					       .health_sensitivity = LX_UNSET };
		bool local = false;

		if (m->kind != MESSAGE_LNET || run->replay->us == 'R')
			continue;
		route.net = lx_nid_net(ours ? &m->hdr.dst_nid : &m->hdr.src_nid);
		for (unsigned int j = 0; j < run->n_nids; j++)
			local |= lx_nid_net(&run->nid[j]) == route.net;
		/* If the gateway is never named, it was in the capture before. */
		if (!local && find_nid(script, ours ? m->stream->dst : m->stream->src, &route.gateway))
			(void)lx_route_add(run->node, &route); /* there already */
	}
}

/* ---- what differs between the captured node and ours ----------------------- */

static void note_handle(struct run *run, const struct lx_wire_handle *captured,
			const struct lx_wire_handle *real)
{
	assert_true(run->n_handles < N_OF(run->handle));
	run->handle[run->n_handles++] = (struct pair){ *captured, *real };
}

static bool real_handle(const struct run *run, struct lx_wire_handle *handle)
{
	for (unsigned int i = run->n_handles; i--;) {
		if (!memcmp(&run->handle[i].captured, handle, sizeof(*handle))) {
			*handle = run->handle[i].real;
			return true;
		}
	}
	return false;
}

/* Cookies are numbered for each peer by itself. */
static bool same_peer(const struct wire *a, const struct wire *b)
{
	return !strcmp(a->node, b->node) && !strcmp(a->far, b->far);
}

/* 0: our node has not asked. */
static uint64_t real_cookie(const struct run *run, const struct wire *wire, uint64_t captured)
{
	for (unsigned int i = run->n_asked; i--;) {
		if (run->asked[i].captured == captured && same_peer(run->asked[i].wire, wire))
			return run->asked[i].real;
	}
	return 0;
}

static bool handle_none(const struct lx_wire_handle *handle)
{
	return handle->interface_cookie == ~0ull;
}

/* ---- comparing ------------------------------------------------------------ */

static bool same_pinginfo(const struct message *x, const struct message *y)
{
	struct lx_pinginfo *a, *b;
	size_t need;
	bool same;

	if (lx_pinginfo_decode(x->payload, x->hdr.payload_length, 4096, &need, &a))
		return false;
	if (lx_pinginfo_decode(y->payload, y->hdr.payload_length, 4096, &need, &b)) {
		free(a);
		return false;
	}
	/* All but the number of the information. */
	same = a->features == b->features && a->pid == b->pid && a->n_nis == b->n_nis;
	for (uint32_t i = 0; same && i < a->n_nis; i++)
		same = lx_nid_eq(&a->ni[i].nid, &b->ni[i].nid) && a->ni[i].status == b->ni[i].status;
	if (getenv("VERBOSE") && !same)
		printf("   ping information: features %x, captured %x; %u NIs, captured %u\n",
		       b->features, a->features, b->n_nis, a->n_nis);
	free(a);
	free(b);
	return same;
}

static bool same_payload(const struct message *captured, const struct message *real)
{
	size_t len = captured->hdr.payload_length;

	if (len >= 4 && !memcmp(captured->payload, "gnip", 4))
		return same_pinginfo(captured, real);
	return !memcmp(captured->payload, real->payload, len);
}

static bool same_command(const struct lx_hdr *captured, const struct lx_hdr *real)
{
	union lx_cmd x = captured->cmd, y = real->cmd;

	/* Handles of our own are another's than the captured node's. */
	if (captured->type == LX_MSG_PUT && handle_none(&x.put.ack_md) == handle_none(&y.put.ack_md))
		x.put.ack_md = y.put.ack_md;
	if (captured->type == LX_MSG_GET)
		x.get.return_md = y.get.return_md;
	/* How much room there is for ping information is the asker's business. */
	if (captured->type == LX_MSG_GET && lx_le32(x.get.portal) == LX_PORTAL_RESERVED &&
	    lx_le32(y.get.sink_length) >= LX_PING_INFO_MIN)
		x.get.sink_length = y.get.sink_length;
	if (captured->type == LX_MSG_REPLY)
		return !memcmp(&x.reply.dst_md, &y.reply.dst_md, sizeof(x.reply.dst_md));
	if (captured->type == LX_MSG_ACK)
		return !memcmp(&x, &y, sizeof(x.ack));
	return !memcmp(&x, &y, captured->type == LX_MSG_PUT ? sizeof(x.put) : sizeof(x.get));
}

static bool same_lnet(const struct run *run, const struct message *captured,
		      const struct message *real)
{
	/* A router of ours splices, and then has no use for an acknowledgement. */
	bool zc_ok = !captured->msg.cookie[0] == !real->msg.cookie[0] ||
		     (run->replay->us == 'R' && !real->msg.cookie[0]);

	return captured->hdr.type == real->hdr.type &&
	       lx_nid_eq(&captured->hdr.src_nid, &real->hdr.src_nid) &&
	       lx_nid_eq(&captured->hdr.dst_nid, &real->hdr.dst_nid) &&
	       captured->hdr.src_pid == real->hdr.src_pid &&
	       captured->hdr.dst_pid == real->hdr.dst_pid &&
	       captured->hdr.payload_length == real->hdr.payload_length &&
	       captured->msg.csum == real->msg.csum && zc_ok &&
	       same_command(&captured->hdr, &real->hdr) && same_payload(captured, real);
}

static bool same_hello(const struct lx_hello *captured, const struct lx_hello *real)
{
	return captured->version == real->version &&
	       lx_nid_eq(&captured->src_nid, &real->src_nid) &&
	       lx_nid_eq(&captured->dst_nid, &real->dst_nid) &&
	       captured->src_pid == real->src_pid && captured->dst_pid == real->dst_pid &&
	       captured->dst_incarnation == real->dst_incarnation &&
	       captured->ctype == real->ctype && captured->nips == real->nips;
}

static bool same(const struct run *run, const struct message *captured, const struct message *real)
{
	if (captured->kind != real->kind)
		return false;
	switch (captured->kind) {
	case MESSAGE_ACCEPTOR:
		return captured->len == real->len && lx_nid_eq(&captured->target, &real->target);
	case MESSAGE_HELLO:
		return same_hello(&captured->hello, &real->hello);
	case MESSAGE_NOOP:
		return !memcmp(&captured->msg, &real->msg, sizeof(real->msg));
	default:
		return same_lnet(run, captured, real);
	}
}

/* ---- what the far hosts say ------------------------------------------------ */

static void *keep(struct run *run, void *memory)
{
	assert_true(run->n_memory < N_OF(run->memory));
	run->memory[run->n_memory++] = memory;
	return memory;
}

static void serve(struct run *run, const struct lx_hdr *hdr, uint32_t portal, uint64_t bits,
		  const void *data, size_t len, unsigned int option)
{
	struct lx_id from = { .nid = hdr->src_nid, .pid = hdr->src_pid };
	struct lx_md_desc md = { .length = len,
				 .threshold = 1,
				 .options = option,
				 .handler = on_event,
				 .user = run };
	struct lx_handle me, handle;

	md.start = keep(run, malloc(len + 1));
	if (data)
		memcpy(md.start, data, len);
	assert_int_equal(lx_me_attach(run->node, portal, &from, bits, 0, LX_UNLINK, LX_ME_AFTER, &me),
			 0);
	assert_int_equal(lx_md_attach(run->node, me, &md, LX_UNLINK, &handle), 0);
}

/* A program on our node expects what a far one is about to ask for. */
static void expect_request(struct run *run, const struct script *script, const struct message *m)
{
	const union lx_cmd *cmd = &m->hdr.cmd;

	if (m->kind != MESSAGE_LNET || our_nid(run, &m->hdr.dst_nid) < 0)
		return;
	if (m->hdr.type == LX_MSG_PUT && lx_le32(cmd->put.portal) != LX_PORTAL_RESERVED)
		serve(run, &m->hdr, lx_le32(cmd->put.portal), lx_le64(cmd->put.match_bits), NULL,
		      m->hdr.payload_length, LX_MD_OP_PUT);
	if (m->hdr.type != LX_MSG_GET || lx_le32(cmd->get.portal) == LX_PORTAL_RESERVED)
		return;
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *reply = &script->all.message[i];

		if (reply->kind == MESSAGE_LNET && reply->hdr.type == LX_MSG_REPLY &&
		    !memcmp(&reply->hdr.cmd.reply.dst_md, &cmd->get.return_md,
			    sizeof(struct lx_wire_handle)))
			serve(run, &m->hdr, lx_le32(cmd->get.portal), lx_le64(cmd->get.match_bits),
			      reply->payload, reply->hdr.payload_length, LX_MD_OP_GET);
	}
}

/* Acknowledges what our node asked for; the numbers are its own. */
static void say_acks(struct run *run, struct wire *wire, const struct message *m)
{
	struct lx_sock_msg noop = { .type = LX_SOCK_NOOP };
	struct lx_acked acked;

	assert_int_equal(lx_proto_acked(m->version, &m->msg, &acked), 0);
	if (acked.keepalive)
		wire_write(wire, &m->msg, sizeof(m->msg));
	for (unsigned int i = 0; i < run->n_asked && acked.expected; i++) {
		if (!lx_acked_has(&acked, run->asked[i].captured) || !run->asked[i].real ||
		    !same_peer(run->asked[i].wire, wire))
			continue;
		noop.cookie[1] = run->asked[i].real;
		wire_write(wire, &noop, sizeof(noop));
		run->asked[i].real = 0;
	}
}

static void say(struct run *run, struct script *script, const struct step *step)
{
	struct wire *wire = script->wire[step->stream];
	const struct message *m = step->m;
	const uint8_t *data = m->stream->data + m->offset;
	size_t head = m->version == LX_SOCK_V1 ? 0 : sizeof(struct lx_sock_msg);
	uint8_t *copy;

	if (m->kind == MESSAGE_NOOP) {
		say_acks(run, wire, m);
		return;
	}
	expect_request(run, script, m);
	copy = malloc(m->len);
	assert_non_null(copy);
	memcpy(copy, data, m->len);
	if (m->kind == MESSAGE_LNET && our_nid(run, &m->hdr.dst_nid) >= 0 &&
	    (m->hdr.type == LX_MSG_REPLY || m->hdr.type == LX_MSG_ACK)) {
		size_t at = head + lx_sock_hdr_bytes(m->version) - sizeof(union lx_cmd);
		struct lx_wire_handle handle;

		memcpy(&handle, copy + at, sizeof(handle));
		if (!real_handle(run, &handle))
			fail_msg("%s: an answer to what our node never asked", m->stream->who);
		memcpy(copy + at, &handle, sizeof(handle));
	}
	if (m->kind == MESSAGE_LNET && m->msg.cookie[1]) {
		uint64_t cookie = real_cookie(run, wire, m->msg.cookie[1]);

		memcpy(copy + offsetof(struct lx_sock_msg, cookie[1]), &cookie, sizeof(cookie));
	}
	wire_write(wire, copy, m->len);
	free(copy);
}

/* ---- connections ------------------------------------------------------------ */

static void own(struct script *script, unsigned int stream, struct wire *wire)
{
	int reverse = script->capture.stream[stream].reverse;

	wire->owner = stream;
	script->wire[stream] = wire;
	if (reverse >= 0)
		script->wire[reverse] = wire;
}

static const struct capture_stream *dialled(const struct script *script, unsigned int stream)
{
	const struct capture_stream *s = &script->capture.stream[stream];

	return s->active || s->reverse < 0 ? s : &script->capture.stream[s->reverse];
}

/* Type of a connection that was there before its capture, by the port: first is first. */
static uint32_t type_of_port(uint16_t port)
{
	return LX_CTYPE_CONTROL + LX_SOCK_PRIVILEGED_PORT_MAX - port;
}

/* What a far host says of itself all through a script, if it does. */
static uint64_t incarnation_of(const struct script *script, const char *far)
{
	for (unsigned int i = 0; i < script->all.n; i++) {
		const struct message *m = &script->all.message[i];

		if (m->kind == MESSAGE_HELLO && !strcmp(m->stream->src, far))
			return m->hello.src_incarnation;
	}
	return 0x1234567812345678;
}

static struct lx_hello make_hello(const struct script *script, unsigned int version,
				  const char *far, const char *node, uint32_t ctype)
{
	struct lx_hello hello = {
		.version = version,
		.src_nid = nid_of(script, far),
		.dst_nid = nid_of(script, node),
		.src_pid = LX_PID_LUSTRE,
		.src_incarnation = incarnation_of(script, far),
		.ctype = ctype,
	};

	return hello;
}

/* A far host's connection that its capture takes for granted. */
static struct wire *dial_before(struct run *run, const struct script *script,
				const struct capture_stream *s, uint16_t port)
{
	struct lx_hello hello = make_hello(script, version_of(script->name, s), s->src, s->dst,
					   type_of_port(port));
	struct wire *wire = wires_dial(&run->wires, s->src, port, s->dst);
	uint8_t buf[LX_ACC_REQ_MAX + LX_HELLO_MAX];
	size_t len = lx_proto_acc_encode(&hello.dst_nid, buf);

	len += lx_proto_hello_encode(&hello, buf + len);
	wire_write(wire, buf, len);
	for (int i = 0; i < 100 && !wire->n; i++)
		wires_poll(&run->wires, 20);
	assert_int_equal(wire->n, 1);
	assert_int_equal(wire->msg[0].m.hello.ctype, lx_proto_ctype_invert(hello.ctype));
	wire->msg[0].taken = true;
	return wire;
}

/* One that goes on from the capture before. */
static struct wire *existing(const struct run *run, const struct capture_stream *s)
{
	bool theirs = has_addr(run->replay->us, s->src);

	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *w = run->wires.wire[i];

		if (w->fd >= 0 && w->theirs == theirs && !strcmp(theirs ? w->node : w->far, s->src) &&
		    !strcmp(theirs ? w->far : w->node, s->dst) &&
		    (theirs ? w->owner == s->sport : w->far_port == s->sport))
			return w;
	}
	return NULL;
}

static bool in_middle(const struct capture_stream *s)
{
	return !s->begun;
}

/* Before a script: the far addresses listen, connections from before are there. */
static void prepare(struct run *run, struct script *script)
{
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = dialled(script, i);
		bool ours = has_addr(run->replay->us, s->src);
		struct wire *wire;

		wires_listen(&run->wires, ours ? s->dst : s->src);
		if (!in_middle(s) || script->wire[i])
			continue;
		wire = existing(run, s);
		if (!wire && !ours) {
			wire = dial_before(run, script, s, s->sport);
			/* and those on which nothing was said */
			for (uint16_t port = 1023; port > 1020; port--) {
				struct capture_stream other = *s;

				other.sport = port;
				if (!existing(run, &other))
					dial_before(run, script, s, port);
			}
		}
		if (wire)
			own(script, stream_of(&script->capture, s), wire);
	}
}

/* After a script: connections of our node's are known by the captured port from now on. */
static void remember(struct script *script)
{
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = dialled(script, i);

		if (script->wire[i])
			script->wire[i]->owner = s->sport;
	}
}

/* Our node's attempts that no script has: it is to learn a version, or they were before. */
static bool answer_before(struct run *run, struct script *script, struct wire *wire)
{
	const struct lx_hello *asked = &wire->msg[1].m.hello;
	struct lx_hello hello;
	uint8_t buf[LX_HELLO_MAX];
	uint32_t type = asked->ctype;
	int found = -1;

	hello = make_hello(script, asked->version, wire->far, wire->node,
			   lx_proto_ctype_invert(type));
	if (run->replay->version && !run->taught) {
		run->taught = true;
		hello.version = run->replay->version;
		hello.ctype = LX_CTYPE_NONE;
		wire_write(wire, buf, lx_proto_hello_encode(&hello, buf));
		wire_close(wire);
		wire->msg[0].taken = wire->msg[1].taken = true;
		wire->closed = true;
		return true;
	}
	for (unsigned int i = 0; i < script->capture.n_streams; i++) {
		const struct capture_stream *s = dialled(script, i);

		if (!in_middle(s) || strcmp(s->src, wire->node) || strcmp(s->dst, wire->far))
			continue;
		found = STREAMS;
		if (type_of_port(s->sport) == type) {
			found = stream_of(&script->capture, s);
			break;
		}
	}
	if (found < 0)
		return false;
	wire_write(wire, buf, lx_proto_hello_encode(&hello, buf));
	wire->msg[0].taken = wire->msg[1].taken = true;
	wire->owner = STREAMS;
	if (found < STREAMS)
		own(script, found, wire);
	return true;
}

static void answer_strangers(struct run *run)
{
	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < run->n_scripts; j++) {
			if (wire->theirs && wire->owner < 0 && !wire->closed && wire->n > 1 &&
			    answer_before(run, &run->script[j], wire))
				break;
		}
	}
}

static bool is_ping(const struct message *m)
{
	return m->hdr.type == LX_MSG_GET && lx_le32(m->hdr.cmd.get.portal) == LX_PORTAL_RESERVED;
}

static bool is_push(const struct message *m)
{
	return m->hdr.type == LX_MSG_PUT && lx_le32(m->hdr.cmd.put.portal) == LX_PORTAL_RESERVED;
}

/* To a router of ours: of its regular checks. */
static bool is_check(const struct run *run, const struct message *m)
{
	char addr[LX_NID_TEXT];

	nid_addr(&m->hdr.dst_nid, addr);
	return run->replay->us != 'R' && is_ping(m) && has_addr('R', addr);
}

/* Regular checks are switched on until there is the one that the script has. */
static void check_routers(struct run *run, bool on)
{
	assert_int_equal(lx_tunable_write(run->node, "lnet", "alive_router_check_interval",
					  on ? "1" : "0"),
			 0);
	run->checking = on;
}

/* ---- what our node says ------------------------------------------------------ */

static void took(struct run *run, const struct message *captured, const struct message *real,
		 const struct wire *wire)
{
	if (captured->kind != MESSAGE_LNET)
		return;
	if (is_check(run, captured))
		check_routers(run, false);
	if (captured->hdr.type == LX_MSG_GET)
		note_handle(run, &captured->hdr.cmd.get.return_md, &real->hdr.cmd.get.return_md);
	if (captured->hdr.type == LX_MSG_PUT)
		note_handle(run, &captured->hdr.cmd.put.ack_md, &real->hdr.cmd.put.ack_md);
	if (captured->msg.cookie[0]) {
		assert_true(run->n_asked < N_OF(run->asked));
		run->asked[run->n_asked++] =
			(struct cookie){ captured->msg.cookie[0], real->msg.cookie[0], wire };
	}
}

/* Acknowledgements are sets of cookies, however they were put together. */
static void collect_acks(struct run *run)
{
	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++) {
			struct wire_msg *w = &wire->msg[j];
			struct lx_acked acked;

			if ((w->m.kind != MESSAGE_NOOP && w->m.kind != MESSAGE_LNET) ||
			    w->m.version == LX_SOCK_V1 || !w->m.msg.cookie[1])
				continue;
			assert_int_equal(lx_proto_acked(w->m.version, &w->m.msg, &acked), 0);
			if (acked.keepalive || w->m.msg.cookie[0] == ~0ull)
				continue;
			for (uint64_t c = acked.pair ? acked.last : acked.first;
			     c <= (acked.pair ? acked.first : acked.last); c++) {
				assert_true(run->n_acked < N_OF(run->acked));
				if (lx_acked_has(&acked, c))
					run->acked[run->n_acked++] = (struct cookie){ c, c, wire };
			}
			/* Once. */
			w->m.msg.cookie[1] = 0;
			w->taken |= w->m.kind == MESSAGE_NOOP;
		}
	}
}

static bool take_ack(struct run *run, uint64_t cookie, const struct wire *wire)
{
	for (unsigned int i = 0; i < run->n_acked; i++) {
		if (run->acked[i].real != cookie || run->acked[i].wire != wire)
			continue;
		run->acked[i] = run->acked[--run->n_acked];
		return true;
	}
	return false;
}

static bool heard_acks(struct run *run, const struct message *m, const struct wire *wire)
{
	struct lx_acked acked;
	uint64_t first, last;

	assert_int_equal(lx_proto_acked(m->version, &m->msg, &acked), 0);
	first = acked.pair ? acked.last : acked.first;
	last = acked.pair ? acked.first : acked.last;
	for (uint64_t c = first; c <= last; c++) {
		bool there = !lx_acked_has(&acked, c);

		for (unsigned int i = 0; i < run->n_acked; i++)
			there |= run->acked[i].real == c && run->acked[i].wire == wire;
		if (!there)
			return false;
	}
	for (uint64_t c = first; c <= last; c++) {
		if (lx_acked_has(&acked, c))
			take_ack(run, c, wire);
	}
	return true;
}

static bool is_keepalive(const struct message *m)
{
	return m->kind == MESSAGE_NOOP && m->version >= LX_SOCK_V3 && !m->msg.cookie[0] &&
	       m->msg.cookie[1] == LX_SOCK_COOKIE_KEEPALIVE;
}

static bool heard_on(struct run *run, const struct message *m, struct wire *wire)
{
	if (m->kind == MESSAGE_NOOP && !is_keepalive(m))
		return heard_acks(run, m, wire);
	for (unsigned int i = 0; i < wire->n; i++) {
		struct wire_msg *w = &wire->msg[i];

		if (w->taken || !same(run, m, &w->m))
			continue;
		w->taken = true;
		took(run, m, &w->m, wire);
		return true;
	}
	return false;
}

/* The connection that our node has dialled for this one of the script's. */
static bool heard_new(struct run *run, struct script *script, const struct step *step)
{
	const struct capture_stream *s = step->m->stream;

	for (unsigned int i = 0; i < run->wires.n; i++) {
		struct wire *wire = run->wires.wire[i];

		if (!wire->theirs || wire->owner >= 0 || strcmp(wire->node, s->src) ||
		    strcmp(wire->far, s->dst) || !heard_on(run, step->m, wire))
			continue;
		own(script, step->stream, wire);
		return true;
	}
	return false;
}

static bool heard(struct run *run, struct script *script, const struct step *step)
{
	struct wire *wire = script->wire[step->stream];

	if (!step->m)
		return wire && (wire->closed || wire->fd < 0);
	if (wire)
		return heard_on(run, step->m, wire);
	return heard_new(run, script, step);
}

/* ---- what a program on our node does ------------------------------------------ */

static bool is_request(const struct run *run, const struct step *step)
{
	return step->ours && step->m && step->m->kind == MESSAGE_LNET &&
	       (step->m->hdr.type == LX_MSG_PUT || step->m->hdr.type == LX_MSG_GET) &&
	       our_nid(run, &step->m->hdr.src_nid) >= 0;
}

/* A ping of a discovery: a push to the same node comes before the next ping. */
static bool is_discovery(const struct run *run, const struct script *script, unsigned int at)
{
	const struct message *ping = script->step[at].m;

	while (++at < script->n) {
		const struct step *step = &script->step[at];

		if (!is_request(run, step) ||
		    !lx_nid_eq(&step->m->hdr.dst_nid, &ping->hdr.dst_nid))
			continue;
		return is_push(step->m);
	}
	return false;
}

static void request(struct run *run, const struct message *m)
{
	const union lx_cmd *cmd = &m->hdr.cmd;
	bool put = m->hdr.type == LX_MSG_PUT, ack = put && !handle_none(&cmd->put.ack_md);
	struct lx_id to = { .nid = m->hdr.dst_nid, .pid = m->hdr.dst_pid };
	size_t len = put ? m->hdr.payload_length : lx_le32(cmd->get.sink_length);
	struct lx_md_desc md = { .length = len,
				 .threshold = put && !ack ? 1 : 2,
				 .handler = on_event,
				 .user = run };
	struct lx_handle handle;
	uint64_t hdr_data;

	md.start = keep(run, malloc(len + 1));
	if (put)
		memcpy(md.start, m->payload, len);
	assert_int_equal(lx_md_bind(run->node, &md, LX_UNLINK, &handle), 0);
	memcpy(&hdr_data, &cmd->put.hdr_data, sizeof(hdr_data));
	if (put)
		assert_int_equal(lx_put(run->node, &m->hdr.src_nid, handle, ack, &to,
					lx_le32(cmd->put.portal), lx_le64(cmd->put.match_bits),
					lx_le32(cmd->put.offset), hdr_data),
				 0);
	else
		assert_int_equal(lx_get(run->node, &m->hdr.src_nid, handle, &to,
					lx_le32(cmd->get.portal), lx_le64(cmd->get.match_bits),
					lx_le32(cmd->get.src_offset)),
				 0);
}

static bool was_triggered_yet(const struct run *run, const struct message *m)
{
	for (unsigned int i = 0; i < run->n_triggered; i++) {
		if (run->triggered[i] == m)
			return true;
	}
	return false;
}

static bool was_triggered(struct run *run, const struct message *m)
{
	if (was_triggered_yet(run, m))
		return true;
	assert_true(run->n_triggered < N_OF(run->triggered));
	run->triggered[run->n_triggered++] = m;
	return false;
}

static void do_request(struct run *run, struct script *script, unsigned int at)
{
	const struct message *m = script->step[at].m;
	struct lx_id to = { .nid = m->hdr.dst_nid, .pid = m->hdr.dst_pid };

	if (was_triggered(run, m) || is_push(m))
		return;
	if (!is_ping(m))
		request(run, m);
	else if (is_check(run, m))
		check_routers(run, true);
	else if (is_discovery(run, script, at))
		lx_discover(run->node, &to.nid, true, on_probe, NULL);
	else
		lx_ping(run->node, &to, NULL, 5000, on_probe, NULL);
}

static bool has_lnet(const struct script *script)
{
	for (unsigned int i = 0; i < script->all.n; i++) {
		if (script->all.message[i].kind == MESSAGE_LNET)
			return true;
	}
	return false;
}

/* A router's word that it forwards from now on. */
static bool tells_routing(const struct step *step)
{
	return step->ours && step->m && step->m->kind == MESSAGE_LNET && is_push(step->m) &&
	       !(step->m->payload[4] & LX_PING_RTE_DISABLED);
}

/* Nothing comes by itself: does what the program or the admin did then. */
static void trigger(struct run *run, struct script *script)
{
	const struct step *blocked = &script->step[script->at];
	char addr[LX_NID_TEXT];

	if (run->checking)
		return;
	if (run->replay->us == 'R' && tells_routing(blocked))
		lx_tunable_write(run->node, "lnet", "router_start_delay", "0");
	for (unsigned int i = 0; i < run->n_nids; i++) {
		const struct capture_stream *s = &script->capture.stream[blocked->stream];

		nid_addr(&run->nid[i], addr);
		if (strcmp(addr, s->src))
			continue;
		if (!blocked->m && !run->nid_gone[i] && script->wire[blocked->stream]) {
			net_del(run, i);
			return;
		}
		if (blocked->m && run->nid_gone[i]) {
			net_add(run, i);
			return;
		}
	}
	/* A connection is dialled for what is then said on it. */
	for (unsigned int i = script->at; blocked->m && i < script->n; i++) {
		if (is_request(run, &script->step[i]) && script->step[i].stream == blocked->stream &&
		    !was_triggered_yet(run, script->step[i].m)) {
			do_request(run, script, i);
			return;
		}
	}
	for (unsigned int i = script->at; i < script->n; i++) {
		const struct step *step = &script->step[i];

		if (is_request(run, step)) {
			do_request(run, script, i);
			return;
		}
		if (!step->ours && step->m &&
		    (step->m->kind == MESSAGE_LNET || step->m->kind == MESSAGE_NOOP))
			return;
	}
	/* A connection that came to nothing. */
	if (blocked->m && blocked->m->kind == MESSAGE_ACCEPTOR && !has_lnet(script) &&
	    !was_triggered(run, blocked->m)) {
		struct lx_id to = { .nid = blocked->m->target, .pid = LX_PID_LUSTRE };

		lx_ping(run->node, &to, NULL, 5000, on_probe, NULL);
	}
}

/* ---- the play ---------------------------------------------------------------- */

/* Whether a step could be made. */
static bool advance(struct run *run, struct script *script)
{
	struct step *step = &script->step[script->at];
	const struct capture_stream *s;

	if (script->at == script->n)
		return false;
	if (step->ours) {
		if (!heard(run, script, step))
			return false;
	} else if (!step->m) {
		if (script->wire[step->stream])
			wire_close(script->wire[step->stream]);
	} else {
		s = step->m->stream;
		if (!script->wire[step->stream] && s->active)
			own(script, step->stream,
			    wires_dial(&run->wires, s->src, s->sport, s->dst));
		if (!script->wire[step->stream])
			return false; /* our node has yet to dial */
		say(run, script, step);
	}
	script->at++;
	return true;
}

static void describe_wires(const struct run *run)
{
	char text[600];

	for (unsigned int i = 0; i < run->wires.n; i++) {
		const struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++) {
			if (wire->msg[j].taken)
				continue;
			message_describe(&wire->msg[j].m, text, sizeof(text));
			print_error("   instead: %s > %s (port %u): %s\n", wire->node, wire->far,
				    wire->far_port, text);
		}
	}
	for (unsigned int i = 0; i < run->n_acked; i++)
		print_error("   instead: acknowledgement of %llu\n",
			    (unsigned long long)run->acked[i].real);
}

static void stuck(const struct run *run)
{
	char text[600];

	for (unsigned int i = 0; i < run->n_scripts; i++) {
		const struct script *script = &run->script[i];
		const struct step *step = &script->step[script->at];

		if (script->at == script->n)
			continue;
		snprintf(text, sizeof(text), "end of connection");
		if (step->m)
			message_describe(step->m, text, sizeof(text));
		print_error("   %s, step %u of %u: expected from %s: %s\n", script->name,
			    script->at + 1, script->n, script->capture.stream[step->stream].who,
			    text);
	}
	describe_wires(run);
	fail_msg("%s: our node does otherwise than the captured one", run->replay->name);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

static bool all_done(const struct run *run)
{
	for (unsigned int i = 0; i < run->n_scripts; i++) {
		if (run->script[i].at < run->script[i].n)
			return false;
	}
	return true;
}

static void play(struct run *run)
{
	uint64_t moved = now_ms(), tried = moved, patience = PATIENCE_MS;

	if (run->replay->keepalive)
		patience += KEEPALIVE_PAUSE_MS;
	for (unsigned int i = 0; i < run->n_scripts; i++)
		prepare(run, &run->script[i]);
	while (!all_done(run)) {
		bool progress = false;

		wires_poll(&run->wires, 5);
		collect_acks(run);
		answer_strangers(run);
		for (unsigned int i = 0; i < run->n_scripts; i++) {
			while (advance(run, &run->script[i]))
				progress = true;
		}
		if (progress) {
			moved = tried = now_ms();
			continue;
		}
		if (now_ms() - tried > GRACE_MS) {
			for (unsigned int i = 0; i < run->n_scripts; i++) {
				if (run->script[i].at < run->script[i].n)
					trigger(run, &run->script[i]);
			}
			tried = now_ms();
		}
		if (now_ms() - moved > patience)
			stuck(run);
	}
	for (unsigned int i = 0; i < run->n_scripts; i++)
		remember(&run->script[i]);
}

/* What our node has said beyond the script. */
static void expect_silence(struct run *run)
{
	unsigned int n = 0;

	wires_poll(&run->wires, 50);
	collect_acks(run);
	for (unsigned int i = 0; i < run->wires.n; i++) {
		const struct wire *wire = run->wires.wire[i];

		for (unsigned int j = 0; j < wire->n; j++)
			n += !wire->msg[j].taken;
	}
	if (n || run->n_acked) {
		describe_wires(run);
		fail_msg("%s: our node says more than the captured one", run->replay->name);
	}
}

static struct run run;

void replay_end(void)
{
	lx_node_free(run.node);
	wires_free(&run.wires);
	for (unsigned int i = 0; i < run.n_scripts; i++)
		script_free(&run.script[i]);
	for (unsigned int i = 0; i < run.n_memory; i++)
		free(run.memory[i]);
	memset(&run, 0, sizeof(run));
	lx_sock_zc_force = false;
	lx_set_log(NULL, NULL);
}

void replay_run(const struct replay *replay, const char *folder)
{
	unsigned int steps = 0;

	memset(&run, 0, sizeof(run));
	run.replay = replay;
	run.wires.port = LX_SOCK_PORT;
	lx_set_log(on_log, NULL);
	lx_sock_zc_force = true;
	for (int pass = 0; pass < 2; pass++) {
		for (unsigned int i = 0; i < REPLAY_CHAIN && replay->capture[i]; i++) {
			run.n_scripts = 0;
			script_load(&run, &run.script[run.n_scripts++], folder, replay->capture[i]);
			if (replay->also[i])
				script_load(&run, &run.script[run.n_scripts++], folder,
					    replay->also[i]);
			for (unsigned int j = 0; j < run.n_scripts; j++) {
				if (!pass)
					note_nids(&run, &run.script[j]);
				else
					add_routes(&run, &run.script[j]);
			}
			if (pass)
				play(&run);
			for (unsigned int j = 0; j < run.n_scripts; j++) {
				steps += pass ? run.script[j].n : 0;
				script_free(&run.script[j]);
			}
			run.n_scripts = 0;
		}
		if (!pass)
			node_start(&run);
	}
	expect_silence(&run);
	printf("             %u steps\n", steps);
}

bool replay_network(void)
{
	char command[200];

	if (unshare(CLONE_NEWNET) || system("ip link set lo up")) {
		printf("skipped: needs root and ip(8) for a network namespace\n");
		return false;
	}
	for (unsigned int i = 0; i < N_OF(hosts); i++) {
		for (unsigned int j = 0; hosts[i].addr[j]; j++) {
			bool v6 = strchr(hosts[i].addr[j], ':');

			snprintf(command, sizeof(command), "ip addr add %s/%s dev lo %s",
				 hosts[i].addr[j], v6 ? "128" : "32", v6 ? "nodad" : "");
			assert_int_equal(system(command), 0);
		}
	}
	return true;
}
