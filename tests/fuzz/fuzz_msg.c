/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: messages into the core. The input is a list of steps: headers arrive, from
 * neighbours and from afar, for us and to be forwarded; payloads arrive or fail; an application
 * attaches memory, puts and gets; answers come, right and wrong; time passes, and NIs are
 * removed. wire.h has the invariants.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/core/monitor.h"
#include "../../user/core/parse.h"
#include "fuzz.h"
#include "wire.h"

#define MEMORY 6000
#define STEPS 400 /* ignore the rest: each input must be quick */

struct scene {
	struct wire_input in;
	struct wire *w;
	struct lx_core_ni *ni[2]; /* on tcp and tcp1 */
	char *mem;
	struct lx_handle md[8]; /* the latest ones */
	unsigned int n_mds;
};

static const char *const nids[] = {
	"10.0.0.1@tcp", "10.0.1.1@tcp1", /* ours */
	"10.0.0.2@tcp", "10.0.0.3@tcp", "10.0.1.2@tcp1", /* neighbours */
	"10.0.0.9@tcp", /* a gateway, to tcp2 */
	"10.0.2.1@tcp2", "10.0.3.1@tcp3", /* behind it; and unreachable */
	"2001:db8::1@tcp", "0@lo", "*",
};

static struct lx_nid some_nid(struct scene *s)
{
	uint8_t i = wire_byte(&s->in);
	struct lx_nid nid;

	if (i != 0xff)
		return wire_nid(nids[i % (sizeof(nids) / sizeof(nids[0]))]);
	wire_bytes(&s->in, &nid, sizeof(nid));
	return nid;
}

/* ---- headers --------------------------------------------------------------------- */

/* Decodes raw bytes, as a transport would. */
static void raw_header(struct scene *s, struct lx_hdr *ret_hdr)
{
	struct lx_hdr_nid16 wire16;
	struct lx_hdr_nid4 wire4;

	if (wire_byte(&s->in) & 1) {
		wire_bytes(&s->in, &wire16, sizeof(wire16));
		lx_hdr_nid16_decode(&wire16, ret_hdr);
	} else {
		wire_bytes(&s->in, &wire4, sizeof(wire4));
		lx_hdr_nid4_decode(&wire4, ret_hdr);
	}
}

/* A nearly valid header. */
static void near_header(struct scene *s, struct lx_hdr *ret_hdr)
{
	uint8_t portal = wire_byte(&s->in), bits = wire_byte(&s->in);
	uint32_t length = wire_u32(&s->in) >> 11; /* up to 2 MiB */
	uint64_t match = portal ? bits : 1ULL << 63;

	memset(ret_hdr, 0, sizeof(*ret_hdr));
	ret_hdr->dst_nid = some_nid(s);
	ret_hdr->src_nid = some_nid(s);
	ret_hdr->dst_pid = ret_hdr->src_pid = LX_PID_LUSTRE;
	ret_hdr->type = wire_byte(&s->in) % 6;
	switch (ret_hdr->type) {
	case LX_MSG_PUT:
		ret_hdr->payload_length = length;
		ret_hdr->cmd.put.portal = lx_le32(portal % 70u);
		ret_hdr->cmd.put.match_bits = lx_le64(match);
		ret_hdr->cmd.put.offset = lx_le32(wire_u32(&s->in));
		wire_bytes(&s->in, &ret_hdr->cmd.put.ack_md, sizeof(ret_hdr->cmd.put.ack_md));
		break;
	case LX_MSG_GET:
		ret_hdr->cmd.get.portal = lx_le32(portal % 70u);
		ret_hdr->cmd.get.match_bits = lx_le64(match);
		ret_hdr->cmd.get.src_offset = lx_le32(wire_u32(&s->in));
		ret_hdr->cmd.get.sink_length = lx_le32(length);
		break;
	default: /* random handles; valid ones come from wire_answer() */
		ret_hdr->payload_length = bits & 1 ? length : 0;
		wire_bytes(&s->in, &ret_hdr->cmd, sizeof(ret_hdr->cmd));
	}
}

/* The previous hop is a neighbour. */
static struct lx_nid some_neighbour(struct scene *s, const struct lx_core_ni *ni)
{
	struct lx_nid nid = some_nid(s);

	if (lx_nid_net(&nid) != ni->ni.net || !lx_nid_is_valid(&nid))
		nid = wire_nid(ni == s->ni[0] ? "10.0.0.2@tcp" : "10.0.1.2@tcp1");
	return nid;
}

static void arrive(struct scene *s)
{
	uint8_t how = wire_byte(&s->in);
	struct lx_core_ni *ni = s->ni[how & 1];
	struct lx_nid from = some_neighbour(s, ni);
	struct lx_hdr hdr;

	if (how & 2)
		raw_header(s, &hdr);
	else
		near_header(s, &hdr);
	wire_deliver(s->w, ni, &hdr, &from, (how & 12) == 12 && hdr.type == LX_MSG_GET);
}

/* ---- the application ---------------------------------------------------------------- */

static void on_event(const struct lx_event *event)
{
	assert(event->type >= LX_EVENT_GET && event->type <= LX_EVENT_UNLINK);
	if (event->type == LX_EVENT_PUT || event->type == LX_EVENT_GET)
		assert(event->offset + event->mlength <= MEMORY);
	if (event->type == LX_EVENT_PUT || event->type == LX_EVENT_GET ||
	    event->type == LX_EVENT_REPLY)
		assert(event->mlength <= event->rlength);
}

static struct lx_md_desc some_md(struct scene *s, unsigned int options)
{
	struct lx_md_desc desc = {
		.start = s->mem,
		.options = options,
		.handler = on_event,
		.user = s,
	};

	desc.length = wire_u32(&s->in) % (MEMORY + 1);
	desc.threshold = (int)(wire_byte(&s->in) % 5) - 1;
	if (desc.options & LX_MD_MAX_SIZE)
		desc.max_size = wire_u32(&s->in) % (MEMORY + 1);
	return desc;
}

static void remember(struct scene *s, const struct lx_md *md)
{
	s->md[s->n_mds++ % 8] = md->handle;
}

static void post(struct scene *s)
{
	const unsigned int kinds = LX_MD_OP_PUT | LX_MD_OP_GET | LX_MD_MANAGE_REMOTE |
				   LX_MD_TRUNCATE | LX_MD_ACK_DISABLE | LX_MD_MAX_SIZE;
	uint8_t portal = wire_byte(&s->in) % 4 + 1, bits = wire_byte(&s->in);
	uint8_t how = wire_byte(&s->in);
	uint8_t options = wire_byte(&s->in) & kinds;
	struct lx_id match = { how & 1 ? some_nid(s) : lx_nid_any, LX_PID_ANY };
	struct lx_md_desc desc = some_md(s, options);
	struct lx_me *me;
	struct lx_md *md;

	if (how & 2)
		match.pid = LX_PID_LUSTRE;
	if (lx_portal_attach(s->w->core, portal, &match, bits, how & 4 ? 0xf0 : 0,
			     how & 8 ? LX_UNLINK : LX_RETAIN,
			     how & 16 ? LX_ME_BEFORE : LX_ME_AFTER, &me))
		return;
	if (lx_md_new(s->w->core, me, &desc, how & 32 ? LX_UNLINK : LX_RETAIN, &md))
		return;
	remember(s, md);
	lx_parse_resume(s->w->core, &s->w->core->portal[portal]);
}

/* Our own PUT or GET. */
static void request(struct scene *s)
{
	uint8_t how = wire_byte(&s->in), portal = wire_byte(&s->in);
	struct lx_id to = { some_nid(s), LX_PID_LUSTRE };
	struct lx_md_desc desc = some_md(s, how & 1 ? LX_MD_TRUNCATE : 0);
	struct lx_md *md;
	int r;

	if (lx_md_new(s->w->core, NULL, &desc, LX_UNLINK, &md))
		return;
	remember(s, md);
	if (how & 2)
		r = lx_msg_put(s->w->core, NULL, md, how & 4, &to, portal % 64u, 1, 0, 0, false);
	else
		r = lx_msg_get(s->w->core, NULL, md, &to, portal % 64u, 1, 0, false);
	assert(r <= 0);
}

static void unlink_one(struct scene *s)
{
	struct lx_md *md = lx_md_lookup(s->w->core, s->md[wire_byte(&s->in) % 8]);

	if (md)
		lx_md_retire(md);
}

/* ---- the rest of the world ------------------------------------------------------------- */

static void change(struct scene *s)
{
	uint8_t what = wire_byte(&s->in);
	const struct lx_nid who = wire_nid(what & 16 ? "10.0.0.2@tcp" : "10.0.0.9@tcp");
	struct lx_conf_route route = {
		.net = LX_NET(LX_NET_TCP, 2), .gateway = wire_nid("10.0.0.9@tcp"),
		.hop = LX_UNSET, .priority = LX_UNSET, .health_sensitivity = LX_UNSET,
	};

	switch (what % 10) {
	case 0:
		lx_lnd_link(&s->ni[what >> 7]->ni, what & 32 ? LX_DOWN_NO : LX_DOWN_CARRIER);
		break;
	case 1:
		lx_lnd_peer_lost(&s->ni[0]->ni, &who, LX_DOWN_LOST, -ECONNRESET);
		break;
	case 2:
		lx_route_delete(s->w->core, route.net, &route.gateway);
		break;
	case 3:
		lx_route_new(s->w->core, &route);
		break;
	case 4:
		lx_monitor_route(s->w->core, what & 32, what & 64);
		break;
	case 5:
		lx_parse_lazy_set(s->w->core, &s->w->core->portal[1 + (what >> 6)], what & 32);
		break;
	case 6:
		s->w->at_once = what & 32;
		break;
	case 7:
		s->w->lnd.can_rdma_get = what & 32;
		break;
	case 8:
		wire_tune(s->w, "lnet_drop_asym_route", what & 32 ? "1" : "0");
		break;
	case 9:
		wire_tune(s->w, "large_router_buffers", what & 32 ? "1" : "3");
		break;
	}
}

static void answer(struct scene *s, struct lx_core_ni *ni)
{
	struct lx_nid from = some_neighbour(s, ni);
	uint8_t which = wire_byte(&s->in);

	wire_answer(s->w, ni, &from, which, wire_u32(&s->in) >> 16);
}

static void step(struct scene *s)
{
	uint8_t op = wire_byte(&s->in);

	switch (op % 16) {
	case 0 ... 4:
		arrive(s);
		break;
	case 5 ... 6:
		wire_receive(s->w, wire_byte(&s->in), op & 32 ? -ECONNRESET : 0);
		break;
	case 7 ... 8:
		wire_sent(s->w, wire_byte(&s->in), op & 32 ? -ETIMEDOUT : 0);
		break;
	case 9:
		post(s);
		break;
	case 10:
		request(s);
		break;
	case 11 ... 12:
		answer(s, s->ni[op >> 7]);
		break;
	case 13:
		unlink_one(s);
		break;
	case 14:
		change(s);
		break;
	case 15:
		wire_wait(s->w, 1 + op / 32);
		break;
	}
	wire_settle(s->w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene s = { .in = { data, size } };

	s.mem = calloc(1, MEMORY);
	assert(s.mem);
	s.w = wire_new(&s.in);
	s.ni[0] = wire_ni(s.w, "10.0.0.1@tcp");
	s.ni[1] = wire_ni(s.w, "10.0.1.1@tcp1");
	if (lx_monitor_route(s.w->core, true, true))
		abort();
	for (unsigned int i = 0; s.in.left && i < STEPS; i++)
		step(&s);
	wire_free(s.w);
	free(s.mem);
	return 0;
}
