/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include "../unit/testlib.h"

#include "run.h"

/* ---- its node ------------------------------------------------------------- */

int actor_nid(const struct run *run, const struct lx_nid *nid)
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

	script_nid_addr(nid, addr);
	if (lx_nid_is_any(nid) || !script_host_has(run->replay->us, addr) ||
	    actor_nid(run, nid) >= 0)
		return;
	assert_true(run->n_nids < N_OF(run->nid));
	run->nid[run->n_nids++] = *nid;
}

void actor_note_nids(struct run *run, const struct script *script)
{
	struct lx_nid nid;

	for (unsigned int i = 0; i < N_OF(run->replay->nids) && run->replay->nids[i]; i++) {
		assert_int_equal(lx_nid_parse(run->replay->nids[i], &nid), 0);
		note_nid(run, &nid);
	}
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

static void on_event(const struct lx_event *event)
{
	struct run *run = event->user;

	if (event->status)
		__atomic_add_fetch(&run->n_errors, 1, __ATOMIC_SEQ_CST);
}

static void on_probe(int status, const struct lx_peer_info *info, void *arg)
{
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

static void configure(struct run *run, const char *yaml)
{
	struct lx_conf_error err;
	struct lx_conf *conf;

	if (lx_conf_parse(yaml, strlen(yaml), &conf, &err))
		fail_msg("line %d: %s", err.line, err.text);
	for (size_t i = 0; i < conf->n_peers; i++)
		assert_int_equal(lx_peer_add(run->node, &conf->peer[i]), 0);
	for (size_t i = 0; i < conf->n_routes; i++)
		assert_int_equal(lx_route_add(run->node, &conf->route[i]), 0);
	for (size_t i = 0; i < conf->n_udsps; i++)
		assert_int_equal(lx_udsp_add(run->node, &conf->udsp[i]), 0);
	lx_conf_free(conf);
}

/* The address stays, but its interface loses the carrier. */
static void lose_carrier(const struct lx_nid *nid)
{
	char addr[LX_NID_TEXT], command[400];

	script_nid_addr(nid, addr);
	snprintf(command, sizeof(command),
		 "ip addr del %s/32 dev lo && ip link add cut type veth peer other && "
		 "ip addr add %s/32 dev cut && ip link set cut up",
		 addr, addr);
	assert_int_equal(system(command), 0);
}

static void drop_gets(struct run *run, const char *to)
{
	struct lx_fault_rule rule = { .src = lx_nid_any,
				      .local = lx_nid_any,
				      .messages = LX_FAULT_GET,
				      .rate = 1 };

	assert_int_equal(lx_nid_parse(to, &rule.dst), 0);
	assert_int_equal(lx_fault_add(run->node, &rule), 0);
}

void actor_start(struct run *run)
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
	set(conf, "lnet", "lnet_peer_discovery_disabled", replay->no_discovery);
	r = lx_node_new(conf, &err, &run->node);
	if (r)
		fail_msg("no node: %s", err.text);
	lx_conf_free(conf);
	for (unsigned int i = 0; i < run->n_nids; i++)
		net_add(run, i);
	if (replay->no_carrier)
		lose_carrier(&run->nid[0]);
	if (replay->conf)
		configure(run, replay->conf);
	if (replay->drops)
		drop_gets(run, replay->drops);
	if (replay->us == 'R')
		assert_int_equal(lx_routing_set(run->node, true), 0);
}

void actor_dial(struct run *run, const struct lx_nid *src, const struct lx_nid *dst)
{
	struct lx_id to = { .nid = *dst, .pid = LX_PID_LUSTRE };

	lx_ping(run->node, &to, src, 60000, on_probe, NULL);
}

/* Remote nets are reached through the far host of the connection. */
void actor_add_routes(struct run *run, const struct script *script)
{
	for (unsigned int i = 0; i < script->n; i++) {
		const struct message *m = script->step[i].m;
		const char *far;
		struct lx_conf_route route = { .hop = LX_UNSET,
					       .priority = LX_UNSET,
					       .health_sensitivity = LX_UNSET };
		bool local = false;

		if (!m || m->kind != MESSAGE_LNET || run->replay->us == 'R')
			continue;
		far = script->step[i].ours ? m->stream->dst : m->stream->src;
		route.net = lx_nid_net(far == m->stream->dst ? &m->hdr.dst_nid : &m->hdr.src_nid);
		for (unsigned int j = 0; j < run->n_nids; j++)
			local |= lx_nid_net(&run->nid[j]) == route.net;
		/* If no message names the gateway, it was set in the previous capture. */
		if (!local && script_find_nid(script, far, &route.gateway))
			(void)lx_route_add(run->node, &route); /* exists already */
	}
}

/* ---- what it expects ------------------------------------------------------ */

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
	struct lx_md_desc md = {
		.length = len, .threshold = 1, .options = option, .handler = on_event, .user = run
	};
	struct lx_handle me, handle;

	md.start = keep(run, malloc(len + 1));
	if (data)
		memcpy(md.start, data, len);
	assert_int_equal(
		lx_me_attach(run->node, portal, &from, bits, 0, LX_UNLINK, LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_attach(run->node, me, &md, LX_UNLINK, &handle), 0);
}

/* Prepares a program on our node for a request that a far host is about to send. */
void actor_expect(struct run *run, const struct script *script, const struct message *m)
{
	const union lx_cmd *cmd = &m->hdr.cmd;

	if (m->kind != MESSAGE_LNET || actor_nid(run, &m->hdr.dst_nid) < 0)
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

/* ---- what it does --------------------------------------------------------- */

static bool to_router(const struct run *run, const struct message *m)
{
	char addr[LX_NID_TEXT];

	script_nid_addr(&m->hdr.dst_nid, addr);
	return run->replay->router && script_host_has(run->replay->router, addr);
}

/* Enables periodic router checks until the one in the script has been sent. */
static void check_routers(struct run *run, bool on)
{
	run->checking = on;
	assert_int_equal(
		lx_tunable_write(run->node, "lnet", "alive_router_check_interval", on ? "1" : "0"),
		0);
}

static bool is_request(const struct run *run, const struct step *step)
{
	return step->ours && step->m && step->m->kind == MESSAGE_LNET &&
	       (step->m->hdr.type == LX_MSG_PUT || step->m->hdr.type == LX_MSG_GET) &&
	       actor_nid(run, &step->m->hdr.src_nid) >= 0;
}

/* A discovery's ping: followed by a push to the same node before the next ping. */
static bool is_discovery(const struct run *run, const struct script *script, unsigned int at)
{
	const struct message *ping = script->step[at].m;

	while (++at < script->n) {
		const struct step *step = &script->step[at];

		if (!is_request(run, step) || !lx_nid_eq(&step->m->hdr.dst_nid, &ping->hdr.dst_nid))
			continue;
		return script_is_push(step->m);
	}
	return false;
}

static void request(struct run *run, const struct message *m)
{
	const union lx_cmd *cmd = &m->hdr.cmd;
	bool put = m->hdr.type == LX_MSG_PUT, ack = put && !mask_handle_none(&cmd->put.ack_md);
	struct lx_id to = { .nid = m->hdr.dst_nid, .pid = m->hdr.dst_pid };
	size_t len = put ? m->hdr.payload_length : lx_le32(cmd->get.sink_length);
	struct lx_md_desc md = {
		.length = len, .threshold = put && !ack ? 1 : 2, .handler = on_event, .user = run
	};
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

/* True while a ping that our node was asked for has not been received. */
static bool ping_pending(const struct script *script)
{
	for (unsigned int i = script->at; i < script->n; i++) {
		const struct step *step = &script->step[i];

		if (step->asked && step->m->kind == MESSAGE_LNET && script_is_ping(step->m))
			return true;
	}
	return false;
}

static void do_request(struct run *run, struct script *script, unsigned int at)
{
	struct step *step = &script->step[at];
	struct lx_id to = { .nid = step->m->hdr.dst_nid, .pid = step->m->hdr.dst_pid };

	if (step->asked || script_is_push(step->m))
		return;
	/* One at a time, since each may take another path. */
	if (script_is_ping(step->m) && ping_pending(script))
		return;
	step->asked = true;
	if (!script_is_ping(step->m))
		request(run, step->m);
	else if (is_discovery(run, script, at) && to_router(run, step->m))
		check_routers(run, true);
	else if (is_discovery(run, script, at))
		lx_discover(run->node, &to.nid, true, on_probe, NULL);
	else /* some answers are not in the capture: none may become overdue on a slow machine */
		lx_ping(run->node, &to, NULL, 60000, on_probe, NULL);
}

/* A router announces that it forwards from now on. */
static bool tells_routing(const struct step *step)
{
	return step->ours && step->m && step->m->kind == MESSAGE_LNET && script_is_push(step->m) &&
	       !(step->m->payload[4] & LX_PING_RTE_DISABLED);
}

/* Our node closed the connection: the NI goes down. Or an address dials again: it is back. */
static bool change_nets(struct run *run, struct script *script, const struct step *blocked)
{
	const struct capture_stream *s = &script->capture.stream[blocked->stream];
	char addr[LX_NID_TEXT];

	for (unsigned int i = 0; i < run->n_nids; i++) {
		script_nid_addr(&run->nid[i], addr);
		if (strcmp(addr, s->src) || run->nid_gone[i] != !!blocked->m)
			continue;
		if (blocked->m)
			net_add(run, i);
		else if (script->wire[blocked->stream])
			net_del(run, i);
		else
			continue;
		return true;
	}
	return false;
}

/* Makes our node dial a connection, by the first request that the script sends on it. */
static bool do_request_on(struct run *run, struct script *script, unsigned int stream)
{
	for (unsigned int i = script->at; i < script->n; i++) {
		const struct step *step = &script->step[i];

		if (step->stream == stream && is_request(run, step) && !step->asked) {
			do_request(run, script, i);
			return true;
		}
	}
	return false;
}

/* Issues the next request, unless far hosts must send something before it. */
static void do_next_request(struct run *run, struct script *script)
{
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
}

void actor_act(struct run *run, struct script *script)
{
	struct step *blocked = &script->step[script->at];

	if (run->checking)
		return;
	if (run->replay->us == 'R' && tells_routing(blocked))
		lx_tunable_write(run->node, "lnet", "router_start_delay", "0");
	if (change_nets(run, script, blocked))
		return;
	if (blocked->m && do_request_on(run, script, blocked->stream))
		return;
	do_next_request(run, script);
	if (blocked->m && blocked->m->kind == MESSAGE_ACCEPTOR && !script_has_lnet(script) &&
	    !blocked->asked) {
		struct lx_id to = { .nid = blocked->m->target, .pid = LX_PID_LUSTRE };

		/* For a connection that was attempted in vain. */
		blocked->asked = true;
		lx_ping(run->node, &to, NULL, 5000, on_probe, NULL);
	}
}

void actor_heard(struct run *run, const struct message *captured)
{
	if (run->checking && captured->kind == MESSAGE_LNET && script_is_ping(captured) &&
	    to_router(run, captured))
		check_routers(run, false);
}
