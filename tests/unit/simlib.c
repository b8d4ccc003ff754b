/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "simlib.h"

const struct lx_sim_knobs sim_plain = {
	.delay_min_ns = 10000,
	.delay_max_ns = 10000,
	.conns = 1,
};

struct lx_event event_log[LOG_MAX];
unsigned int n_events;

struct lx_nid nid(const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return nid;
}

struct lx_id id(const char *text)
{
	return (struct lx_id){ nid(text), LX_PID_LUSTRE };
}

struct lx_core_ni *ni_of(struct lx_sim_node *node, const char *text)
{
	struct lx_nid id = nid(text);
	struct lx_core_ni *ni = lx_ni_lookup(node->core, &id);

	assert_non_null(ni);
	return ni;
}

struct lx_peer_ni *pni_of(struct lx_sim_node *node, const char *text)
{
	struct lx_nid id = nid(text);
	struct lx_peer_ni *pni = lx_peer_ni_lookup(node->core, &id);

	assert_non_null(pni);
	return pni;
}

struct lx_sim_node *node_with(struct lx_sim *sim, const char *const *nids)
{
	struct lx_sim_node *node;

	assert_int_equal(lx_sim_node_new(sim, &node), 0);
	for (; *nids; nids++)
		assert_int_equal(lx_sim_ni_add(node, *nids, 8, 256), 0);
	return node;
}

void log_event(const struct lx_event *event)
{
	assert_true(n_events < LOG_MAX);
	event_log[n_events++] = *event;
}

void log_clear(void)
{
	n_events = 0;
}

unsigned int count_events(enum lx_event_type type)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < n_events; i++)
		n += event_log[i].type == type;
	return n;
}

const struct lx_event *the_event(enum lx_event_type type)
{
	assert_int_equal(count_events(type), 1);
	for (unsigned int i = 0; i < n_events; i++) {
		if (event_log[i].type == type)
			return &event_log[i];
	}
	return NULL;
}

struct lx_handle post(struct lx_sim_node *node, uint32_t portal, const char *who, uint64_t bits,
		      uint64_t ignore, void *mem, size_t len, unsigned int options, int threshold)
{
	const struct lx_md_desc desc = {
		.start = mem,
		.length = len,
		.threshold = threshold,
		.options = options,
		.handler = log_event,
		.user = node,
	};
	const struct lx_id match = { who ? nid(who) : lx_nid_any, LX_PID_ANY };
	struct lx_handle handle;
	struct lx_me *me;
	struct lx_md *md;

	assert_int_equal(lx_portal_attach(node->core, portal, &match, bits, ignore, LX_UNLINK,
					  LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_new(node->core, me, &desc, LX_UNLINK, &md), 0);
	handle = md->handle;
	lx_parse_resume(node->core, &node->core->portal[portal]);
	return handle;
}

struct lx_handle mem(struct lx_sim_node *node, void *start, size_t len, int threshold)
{
	const struct lx_md_desc desc = {
		.start = start,
		.length = len,
		.threshold = threshold,
		.handler = log_event,
		.user = node,
	};
	struct lx_md *md;

	assert_int_equal(lx_md_new(node->core, NULL, &desc, LX_UNLINK, &md), 0);
	return md->handle;
}

int put(struct lx_sim_node *node, struct lx_handle md, bool ack, const char *to, uint32_t portal,
	uint64_t bits)
{
	const struct lx_id target = id(to);

	return lx_msg_put(node->core, NULL, lx_md_lookup(node->core, md), ack, &target, portal,
			  bits, 0, 0x1234, false);
}

int get(struct lx_sim_node *node, struct lx_handle md, const char *from, uint32_t portal,
	uint64_t bits)
{
	const struct lx_id target = id(from);

	return lx_msg_get(node->core, NULL, lx_md_lookup(node->core, md), &target, portal, bits, 0,
			  false);
}

void respond(struct lx_sim *sim, struct lx_sim_node *node, const struct lx_hdr *hdr, void *payload)
{
	struct lx_core_msg *msg = lx_msg_new(node->core);
	struct lx_md *data = lx_md_lookup(node->core, mem(node, payload, hdr->payload_length,
							  LX_MD_UNLIMITED));

	msg->response = true;
	msg->m.deadline_ns = UINT64_MAX;
	msg->m.hdr = *hdr;
	msg->m.hdr.dst_pid = msg->m.hdr.src_pid = LX_PID_LUSTRE;
	msg->m.payload = lx_md_payload(data, 0, hdr->payload_length);
	lx_msg_route(msg);
	lx_sim_run(sim, SEC);
	lx_md_retire(data);
}

void add_route(struct lx_sim_node *node, const char *net, const char *gateway, int hop,
	       int priority)
{
	struct lx_conf_route conf = {
		.gateway = nid(gateway),
		.hop = hop,
		.priority = priority,
		.health_sensitivity = LX_UNSET,
	};

	assert_int_equal(lx_net_parse(net, &conf.net), 0);
	assert_int_equal(lx_route_new(node->core, &conf), 0);
}

void make_router(struct lx_sim_node *node)
{
	assert_int_equal(lx_monitor_route(node->core, true, true), 0);
}

void tune(struct lx_sim_node *node, const char *name, const char *value)
{
	assert_int_equal(lx_core_tunable_set(node->core, name, value), 0);
}

void assert_at_rest(struct lx_sim_node *node)
{
	struct lx_core *core = node->core;
	struct lx_peer_net *peer_net;
	struct lx_core_msg *msg;
	struct lx_peer_ni *pni;
	struct lx_peer *peer;
	struct lx_core_ni *ni;
	struct lx_net *net;

	lx_list_for_each(msg, &core->msgs, all)
		assert_int_equal(msg->phase, LX_PHASE_DELAYED);
	lx_ni_for_each(net, ni, core) {
		assert_int_equal(ni->tx_credits, ni->ni.tun.credits);
		assert_true(lx_queue_empty(&ni->tx_queue));
		assert_int_equal(ni->tx_forwarding, 0);
	}
	lx_list_for_each(peer, &core->peers, link) {
		assert_true(lx_list_empty(&peer->pending));
		lx_peer_ni_for_each(peer_net, pni, peer) {
			assert_int_equal(pni->tx->now, pni->tx_max);
			assert_int_equal(pni->rtr->now, pni->rtr_max);
			assert_int_equal(pni->tx_queued_bytes, 0);
			assert_true(lx_queue_empty(&pni->tx_queue));
			assert_true(lx_list_empty(&pni->rtr_queue));
			assert_true(lx_list_empty(&pni->request_queue));
			assert_int_equal(pni->answer_bytes, 0);
		}
	}
	for (unsigned int i = 0; i < LX_POOLS; i++) {
		assert_int_equal(core->pool[i].n_free, core->pool[i].made);
		assert_int_equal(core->pool[i].credits, core->pool[i].made);
		assert_int_equal(core->pool[i].taken, 0);
		assert_int_equal(core->pool[i].kept, 0);
	}
	assert_int_equal(core->origins.count, 0);
	assert_int_equal(core->slow_bytes, 0);
}
