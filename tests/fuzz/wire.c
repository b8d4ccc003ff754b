/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/iov.h"
#include "../../user/io/rbuf.h"
#include "wire.h"

struct wire_out {
	struct lx_list link;
	struct lx_ni *ni;
	struct lx_msg *msg;
};

struct wire_rx {
	struct lx_list link;
	struct lx_ni *ni;
	size_t length;
	bool rdma_get;
	bool received; /* the core has said where to receive it */
	struct lx_msg *msg;
};

/* ---- input ------------------------------------------------------------------------ */

uint8_t wire_byte(struct wire_input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

uint32_t wire_u32(struct wire_input *in)
{
	uint32_t value;

	wire_bytes(in, &value, sizeof(value));
	return value;
}

void wire_bytes(struct wire_input *in, void *buf, size_t len)
{
	size_t n = len < in->left ? len : in->left;

	memcpy(buf, in->data, n);
	memset((char *)buf + n, 0, len - n);
	in->data += n;
	in->left -= n;
}

/* ---- payloads ------------------------------------------------------------------------ */

static size_t iov_bytes(const struct lx_payload *p)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < p->n_iov; i++)
		sum += p->iov[i].iov_len;
	return sum;
}

/* The memory of a payload: its iovec, or that of a router buffer. */
static const struct iovec *memory_of(const struct lx_payload *p, struct iovec *one)
{
	void *mem;

	if (!p->rbuf) {
		assert(p->offset + p->length <= iov_bytes(p));
		return p->iov;
	}
	assert(p->offset + p->length <= p->rbuf->size);
	if (lx_rbuf_memory(p->rbuf, &mem))
		abort();
	*one = (struct iovec){ mem, p->rbuf->size };
	return one;
}

/* Fills it with bytes of the input, repeated; a sanitizer sees every write. */
static void fill(struct wire *w, const struct lx_payload *dst)
{
	struct iovec one;
	const struct iovec *iov;
	char *bytes;

	if (!dst->length)
		return;
	iov = memory_of(dst, &one);
	bytes = malloc(dst->length);
	assert(bytes);
	wire_bytes(w->in, bytes, dst->length < 1024 ? dst->length : 1024);
	if (dst->length > 1024)
		memset(bytes + 1024, 'x', dst->length - 1024);
	lx_iov_put(iov, dst->offset, bytes, dst->length);
	free(bytes);
	if (dst->rbuf)
		dst->rbuf->length = dst->length;
}

static void drain(const struct lx_payload *src)
{
	struct iovec one, to;

	if (!src->length)
		return;
	to = (struct iovec){ malloc(src->length), src->length };
	assert(to.iov_base);
	lx_iov_copy(&to, 0, memory_of(src, &one), src->offset, src->length);
	free(to.iov_base);
}

/* ---- the transport ---------------------------------------------------------------------- */

static struct wire *wire_of(struct lx_ni *ni)
{
	return lx_container_of(ni->lnd, struct wire, lnd);
}

/* Ends a GET that the transport may answer without a REPLY; the input decides how. */
static void end_sink(struct wire *w, struct wire_out *out, int status)
{
	struct lx_msg *reply = lx_lnd_reply_msg(out->ni, out->msg);
	struct lx_payload sink = out->msg->sink;

	out->msg->hstatus = status ? LX_HSTATUS_REMOTE_DROPPED : LX_HSTATUS_OK;
	if (reply && !status) {
		sink.length = wire_u32(w->in) % (sink.length + 1);
		fill(w, &sink);
		lx_lnd_reply_length(reply, sink.length);
	}
	lx_lnd_finalize(out->msg, status);
	if (reply) {
		reply->hstatus = status ? LX_HSTATUS_REMOTE_DROPPED : LX_HSTATUS_OK;
		lx_lnd_finalize(reply, status);
	}
}

static void out_end(struct wire *w, struct wire_out *out, int status)
{
	lx_list_del(&out->link);
	drain(&out->msg->payload);
	if (out->msg->sink.length) {
		end_sink(w, out, status);
	} else {
		out->msg->hstatus = status ? LX_HSTATUS_REMOTE_DROPPED : LX_HSTATUS_OK;
		lx_lnd_finalize(out->msg, status);
	}
	free(out);
}

static int wire_send(struct lx_ni *ni, struct lx_msg *msg)
{
	struct wire *w = wire_of(ni);
	struct wire_out *out = calloc(1, sizeof(*out));

	assert(out);
	assert(lx_nid_net(&msg->target.nid) == ni->net);
	assert(msg->payload.length == msg->hdr.payload_length);
	if (msg->hdr.type == LX_MSG_GET || msg->hdr.type == LX_MSG_PUT)
		w->asked[w->n_asked++ % WIRE_ASKED] = msg->hdr;
	out->ni = ni;
	out->msg = msg;
	lx_list_append(&w->out, &out->link);
	if (w->closing || w->at_once)
		out_end(w, out, w->closing ? -EHOSTUNREACH : 0);
	return 0;
}

static void rx_end(struct wire *w, struct wire_rx *rx, int status)
{
	struct lx_msg *msg = rx->msg;

	lx_list_del(&rx->link);
	if (msg && !status) {
		if (rx->rdma_get)
			drain(&msg->payload);
		else
			fill(w, &msg->payload);
	}
	if (msg) {
		msg->hstatus = status ? LX_HSTATUS_REMOTE_ERROR : LX_HSTATUS_OK;
		lx_lnd_finalize(msg, status);
	}
	free(rx);
}

static void wire_recv(struct lx_ni *ni, void *data, struct lx_msg *msg)
{
	struct wire *w = wire_of(ni);
	struct wire_rx *rx = data;

	assert(!rx->received);
	assert(!msg || rx->rdma_get || msg->payload.length <= rx->length);
	rx->received = true;
	rx->msg = msg;
	if (!msg || w->at_once || w->closing)
		rx_end(w, rx, 0);
}

static int wire_startup(struct lx_ni *ni)
{
	ni->tun = (struct lx_ni_tunables){
		.peer_timeout = 180, .peer_credits = 2, .peer_buffer_credits = 0, .credits = 4,
	};
	return 0;
}

/* Ending one may end or start others, so search from the front each time. */
static bool end_one(struct wire *w, const struct lx_ni *ni, int status)
{
	struct wire_out *out;
	struct wire_rx *rx;

	lx_list_for_each(out, &w->out, link) {
		if (ni && out->ni != ni)
			continue;
		out_end(w, out, status);
		return true;
	}
	lx_list_for_each(rx, &w->rx, link) {
		if ((ni && rx->ni != ni) || !rx->received)
			continue;
		rx_end(w, rx, status);
		return true;
	}
	return false;
}

/* Ends everything that an NI (NULL: any) sends or receives. */
static void end_all(struct wire *w, const struct lx_ni *ni, int status)
{
	while (end_one(w, ni, status))
		;
}

static void wire_shutdown(struct lx_ni *ni)
{
	struct wire *w = wire_of(ni);
	end_all(w, ni, -ESHUTDOWN);
	lx_lnd_stopped(ni);
}

/* ---- the core's surroundings ---------------------------------------------------------------- */

static void on_change(struct lx_sim_node *node, const struct lx_change *change)
{
	assert(memchr(change->text, 0, sizeof(change->text)));
}

void wire_settle(struct wire *w)
{
	/* Deferred work may queue more work, but not forever. */
	for (unsigned int i = 0; lx_sim_step(w->sim, lx_sim_now(w->sim)); i++)
		assert(i < 10000);
}

void wire_wait(struct wire *w, unsigned int seconds)
{
	lx_sim_run(w->sim, seconds * LX_S_NS);
}

/* ---- life -------------------------------------------------------------------------------- */

struct lx_nid wire_nid(const char *text)
{
	struct lx_nid nid;

	if (lx_nid_parse(text, &nid))
		abort();
	return nid;
}

void wire_tune(struct wire *w, const char *name, const char *value)
{
	if (lx_core_tunable_set(w->core, name, value))
		abort();
}

struct lx_core_ni *wire_ni(struct wire *w, const char *nid)
{
	struct lx_conf_ni conf = {
		.nid = wire_nid(nid),
		.tun = { LX_UNSET, LX_UNSET, LX_UNSET, LX_UNSET },
	};
	struct lx_core_ni *ni;

	conf.net = lx_nid_net(&conf.nid);
	if (lx_core_ni_start(w->core, &w->lnd, NULL, &conf, &ni))
		abort();
	return ni;
}

struct wire *wire_new(struct wire_input *in)
{
	const struct lx_sim_knobs knobs = { 0 };
	struct wire *w = calloc(1, sizeof(*w));
	struct lx_sim_node *node;

	assert(w);
	w->in = in;
	w->lnd = (struct lx_lnd){
		.name = "wire",
		.net_type = LX_NET_TCP,
		.startup = wire_startup,
		.shutdown = wire_shutdown,
		.send = wire_send,
		.recv = wire_recv,
	};
	lx_list_init(&w->out);
	lx_list_init(&w->rx);
	if (lx_sim_new(1, &knobs, &w->sim) || lx_sim_node_new(w->sim, &node))
		abort();
	node->change = on_change;
	w->core = node->core;
	wire_tune(w, "lnet_retry_count", "1");
	wire_tune(w, "lnet_transaction_timeout", "5");
	wire_tune(w, "alive_router_check_interval", "3");
	wire_tune(w, "router_ping_timeout", "2");
	wire_tune(w, "tiny_router_buffers", "2");
	wire_tune(w, "small_router_buffers", "2");
	wire_tune(w, "large_router_buffers", "1");
	return w;
}

/* ---- what the fuzzer does ---------------------------------------------------------------- */

void wire_deliver(struct wire *w, struct lx_core_ni *ni, const struct lx_hdr *hdr,
		  const struct lx_nid *from, bool rdma_get)
{
	const struct lx_rx_from who = { .nid = *from, .rdma_get = rdma_get };
	struct lx_msg *msg;
	struct wire_rx *rx;
	int r;

	if (ni->state != LX_NI_UP)
		return;
	rx = calloc(1, sizeof(*rx));
	assert(rx);
	rx->ni = &ni->ni;
	rx->length = hdr->payload_length;
	rx->rdma_get = rdma_get;
	lx_list_append(&w->rx, &rx->link);
	r = lx_lnd_parse(&ni->ni, hdr, &who, rx, &msg);
	assert(!rx->received);
	if (r == LX_RX_NOW) {
		wire_recv(&ni->ni, rx, msg);
	} else if (r < 0) {
		assert(r == -EPROTO || r == -ESHUTDOWN);
		lx_list_del(&rx->link);
		free(rx);
	}
}

void wire_receive(struct wire *w, unsigned int i, int status)
{
	struct wire_rx *rx;
	unsigned int n = 0;

	lx_list_for_each(rx, &w->rx, link)
		n += rx->received;
	i = n ? i % n : 0;
	lx_list_for_each(rx, &w->rx, link) {
		if (!rx->received || i--)
			continue;
		rx_end(w, rx, status);
		return;
	}
}

void wire_sent(struct wire *w, unsigned int i, int status)
{
	struct wire_out *out;
	unsigned int n = 0;

	lx_list_for_each(out, &w->out, link)
		n++;
	if (!n)
		return;
	i %= n;
	lx_list_for_each(out, &w->out, link) {
		if (i--)
			continue;
		out_end(w, out, status);
		return;
	}
}

void wire_answer(struct wire *w, struct lx_core_ni *ni, const struct lx_nid *from,
		 unsigned int i, uint32_t length)
{
	unsigned int n = w->n_asked < WIRE_ASKED ? w->n_asked : WIRE_ASKED;
	const struct lx_hdr *asked = &w->asked[n ? i % n : 0];
	struct lx_hdr hdr = {
		.dst_nid = asked->src_nid, .src_nid = asked->dst_nid,
		.dst_pid = asked->src_pid, .src_pid = asked->dst_pid,
	};

	if (!n)
		return;
	if (asked->type == LX_MSG_GET) {
		hdr.type = LX_MSG_REPLY;
		hdr.payload_length = length;
		hdr.cmd.reply.dst_md = asked->cmd.get.return_md;
	} else {
		hdr.type = LX_MSG_ACK;
		hdr.cmd.ack.dst_md = asked->cmd.put.ack_md;
		hdr.cmd.ack.match_bits = asked->cmd.put.match_bits;
		hdr.cmd.ack.mlength = lx_le32(length);
	}
	wire_deliver(w, ni, &hdr, from, false);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void assert_at_rest(struct wire *w)
{
	struct lx_core *core = w->core;
	struct lx_peer_net *peer_net;
	struct lx_core_msg *msg;
	struct lx_peer_ni *pni;
	struct lx_peer *peer;
	struct lx_core_ni *ni;
	struct lx_net *net;

	/* Delayed messages may remain; so may one from us to us, whose sender still counts it. */
	lx_list_for_each(msg, &core->msgs, all)
		assert(msg->phase == LX_PHASE_DELAYED ||
		       (msg->phase == LX_PHASE_TX && msg->txni == core->lo));
	lx_ni_for_each(net, ni, core) {
		assert(ni->tx_credits == ni->ni.tun.credits);
		assert(lx_queue_empty(&ni->tx_queue));
	}
	lx_list_for_each(peer, &core->peers, link) {
		assert(lx_list_empty(&peer->pending));
		lx_peer_ni_for_each(peer_net, pni, peer) {
			assert(pni->tx->now == pni->tx_max);
			assert(pni->rtr->now == pni->rtr_max);
			assert(!pni->tx_queued_bytes);
			assert(lx_queue_empty(&pni->tx_queue));
			assert(lx_list_empty(&pni->rtr_queue));
		}
	}
	for (unsigned int i = 0; i < LX_POOLS; i++) {
		assert(core->pool[i].n_free == core->pool[i].made);
		assert(core->pool[i].credits == (int32_t)core->pool[i].made);
	}
}

void wire_free(struct wire *w)
{
	wire_settle(w);
	w->closing = true;
	end_all(w, NULL, -EHOSTUNREACH);
	/* Past every deadline: whatever waited for an answer has ended. */
	for (unsigned int i = 0; i < 15; i++) {
		wire_wait(w, 1);
		end_all(w, NULL, -EHOSTUNREACH);
	}
	assert_at_rest(w);
	lx_sim_free(w->sim);
	/* recv() was called for each parsed message. */
	assert(lx_list_empty(&w->rx));
	assert(lx_list_empty(&w->out));
	free(w);
}
