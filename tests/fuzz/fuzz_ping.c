/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: ping information, by which a peer describes itself. The first byte chooses:
 * the decoder alone, on exactly the bytes that are there; or a node that receives such bytes as
 * pushes and as answers to pings, while it discovers peers, is configured, and gains and loses
 * NIs.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/core/discover.h"
#include "../../user/core/peerconf.h"
#include "fuzz.h"
#include "wire.h"

#define STEPS 200
#define NIDS_MAX 64

/* ---- the decoder -------------------------------------------------------------------- */

/* A decoded message can be encoded, and decodes to the same. */
static void encode(const struct lx_pinginfo *info)
{
	struct lx_pinginfo *again = NULL;
	size_t need, len;
	uint8_t *bytes;
	int r;

	/* Cannot be encoded; merging ignores it. */
	for (uint32_t i = 0; i < info->n_nis; i++) {
		if (lx_nid_is_any(&info->ni[i].nid))
			return;
	}
	len = lx_pinginfo_size(info);
	bytes = malloc(len);
	assert(bytes);
	lx_pinginfo_encode(info, bytes);
	r = lx_pinginfo_decode(bytes, len, 2 * NIDS_MAX + 1, &need, &again);
	assert(!r && need == len);
	assert(again->n_nis == info->n_nis && again->seqno == info->seqno);
	assert(!memcmp(again->ni, info->ni, info->n_nis * sizeof(info->ni[0])));
	free(bytes);
	free(again);
}

static void decode(const uint8_t *data, size_t size)
{
	struct lx_pinginfo *info = NULL;
	uint8_t *copy = exact_copy(data, size);
	size_t need = 0;
	int r;

	r = lx_pinginfo_decode(copy, size, NIDS_MAX, &need, &info);
	free(copy);
	assert(!r || r == -EPROTO || r == -ERANGE || r == -EMSGSIZE);
	assert(r != -EMSGSIZE || need > size);
	if (r)
		return;
	assert(info->n_nis <= 2 * NIDS_MAX);
	(void)lx_pinginfo_primary(info);
	encode(info);
	free(info);
}

/* ---- a node ---------------------------------------------------------------------------- */

struct scene {
	struct wire_input in;
	struct wire *w;
	struct lx_core_ni *ni;
};

static const char *const nids[] = {
	"10.0.0.2@tcp", "10.0.0.3@tcp", "10.0.0.4@tcp", "10.0.1.2@tcp1", "2001:db8::2@tcp",
};

static struct lx_nid some_nid(struct scene *s)
{
	return wire_nid(nids[wire_byte(&s->in) % (sizeof(nids) / sizeof(nids[0]))]);
}

/* The previous hop: a neighbour on our net. */
static struct lx_nid some_hop(struct scene *s)
{
	return wire_nid(nids[wire_byte(&s->in) % 3]);
}

static uint32_t some_length(struct scene *s)
{
	uint8_t low = wire_byte(&s->in);

	return low | (wire_byte(&s->in) & 7u) << 8;
}

static void push(struct scene *s)
{
	struct lx_nid from = some_hop(s);
	struct lx_hdr hdr = {
		.dst_nid = s->ni->ni.nid,
		.dst_pid = LX_PID_LUSTRE,
		.src_pid = LX_PID_LUSTRE,
		.type = LX_MSG_PUT,
		.cmd.put = { .ack_md = LX_WIRE_HANDLE_NONE, .match_bits = lx_le64(1ULL << 63) },
	};

	hdr.src_nid = some_nid(s);
	hdr.payload_length = some_length(s);
	wire_deliver(s->w, s->ni, &hdr, &from, false);
}

static void answer(struct scene *s)
{
	struct lx_nid from = some_hop(s);
	uint8_t which = wire_byte(&s->in);

	wire_answer(s->w, s->ni, &from, which, some_length(s));
}

static void on_probe(int status, struct lx_peer_info *info, void *arg)
{
	assert(status <= 0);
	assert(!info == !!status);
	free(info);
}

static void probe(struct scene *s)
{
	struct lx_nid nid = some_nid(s);
	const struct lx_id id = { nid, LX_PID_LUSTRE };
	uint8_t how = wire_byte(&s->in);

	if (how & 1)
		lx_probe_ping(s->w->core, &id, NULL, 3000, on_probe, s);
	else
		lx_probe_discover(s->w->core, &nid, how & 2, on_probe, s);
}

static void configure(struct scene *s)
{
	struct lx_nid more = some_nid(s), primary = some_nid(s), gateway = some_hop(s);
	struct lx_conf_peer conf = { .primary = primary, .nid = &more };
	struct lx_conf_route route = {
		.net = LX_NET(LX_NET_TCP, 1), .gateway = gateway, .hop = LX_UNSET,
		.priority = LX_UNSET, .health_sensitivity = LX_UNSET,
	};
	uint8_t how = wire_byte(&s->in);

	conf.multi_rail = how & 8;
	conf.lock_primary = how & 16;
	conf.n_nids = how >> 5 & 1;
	switch (how & 3) {
	case 0:
		lx_peerconf_add(s->w->core, &conf);
		break;
	case 1:
		lx_peerconf_del(s->w->core, &conf, how & 4);
		break;
	case 2:
		lx_route_new(s->w->core, &route);
		break;
	case 3:
		lx_route_delete(s->w->core, route.net, &route.gateway);
		break;
	}
}

static void change(struct scene *s)
{
	const struct lx_nid nid = wire_nid("10.0.0.101@tcp");
	struct lx_core_ni *second = lx_ni_lookup(s->w->core, &nid);
	uint8_t what = wire_byte(&s->in);

	switch (what & 7) {
	case 0 ... 1:
		wire_tune(s->w, "lnet_peer_discovery_disabled", what & 16 ? "1" : "0");
		break;
	case 2:
		wire_tune(s->w, "lnet_interfaces_max", what & 16 ? "16" : "4096");
		break;
	case 3 ... 4:
		/* A change of our NIs must be pushed. */
		if (second)
			lx_core_ni_stop(s->w->core, second);
		else
			wire_ni(s->w, "10.0.0.101@tcp");
		break;
	default:
		s->w->at_once = what & 16;
	}
}

static void step(struct scene *s)
{
	uint8_t op = wire_byte(&s->in);

	switch (op % 8) {
	case 0:
		push(s);
		break;
	case 1 ... 2:
		answer(s);
		break;
	case 3:
		probe(s);
		break;
	case 4:
		configure(s);
		break;
	case 5:
		change(s);
		break;
	case 6:
		wire_wait(s->w, 1 + op / 64);
		break;
	case 7:
		if (op & 8)
			wire_sent(s->w, wire_byte(&s->in), op & 16 ? -ETIMEDOUT : 0);
		else
			wire_receive(s->w, wire_byte(&s->in), op & 16 ? -ECONNRESET : 0);
		break;
	}
	wire_settle(s->w);
}

static void live(const uint8_t *data, size_t size)
{
	struct scene s = { .in = { data, size } };

	s.w = wire_new(&s.in);
	s.w->at_once = true;
	s.ni = wire_ni(s.w, "10.0.0.1@tcp");
	for (unsigned int i = 0; s.in.left && i < STEPS; i++)
		step(&s);
	wire_free(s.w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		live(data + 1, size - 1);
	else
		decode(data + 1, size - 1);
	return 0;
}
