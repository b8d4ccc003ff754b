/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include "../unit/testlib.h"

#include "../../user/core/pinginfo.h"
#include "mask.h"

/* ---- handles and cookies -------------------------------------------------- */

static void note_handle(struct mask *mask, const struct lx_wire_handle *captured,
			const struct lx_wire_handle *real)
{
	assert_true(mask->n_handles < N_OF(mask->handle));
	mask->handle[mask->n_handles++] = (struct mask_handle){ *captured, *real };
}

void mask_learn(struct mask *mask, const struct message *captured, const struct message *real,
		const struct wire *wire)
{
	if (captured->kind != MESSAGE_LNET)
		return;
	if (captured->hdr.type == LX_MSG_GET)
		note_handle(mask, &captured->hdr.cmd.get.return_md, &real->hdr.cmd.get.return_md);
	if (captured->hdr.type == LX_MSG_PUT)
		note_handle(mask, &captured->hdr.cmd.put.ack_md, &real->hdr.cmd.put.ack_md);
	if (captured->msg.cookie[0]) {
		assert_true(mask->n_asked < N_OF(mask->asked));
		mask->asked[mask->n_asked++] =
			(struct mask_cookie){ captured->msg.cookie[0], real->msg.cookie[0], wire };
	}
}

bool mask_handle(const struct mask *mask, struct lx_wire_handle *handle)
{
	for (unsigned int i = mask->n_handles; i--;) {
		if (!memcmp(&mask->handle[i].captured, handle, sizeof(*handle))) {
			*handle = mask->handle[i].real;
			return true;
		}
	}
	return false;
}

bool mask_same_peer(const struct wire *a, const struct wire *b)
{
	return !strcmp(a->node, b->node) && !strcmp(a->far, b->far);
}

uint64_t mask_cookie(const struct mask *mask, const struct wire *wire, uint64_t captured)
{
	for (unsigned int i = mask->n_asked; i--;) {
		if (mask->asked[i].captured == captured &&
		    mask_same_peer(mask->asked[i].wire, wire))
			return mask->asked[i].real;
	}
	return 0;
}

bool mask_handle_none(const struct lx_wire_handle *handle)
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
	/* Equal except for the sequence number. */
	same = a->features == b->features && a->pid == b->pid && a->n_nis == b->n_nis;
	for (uint32_t i = 0; same && i < a->n_nis; i++)
		same = lx_nid_eq(&a->ni[i].nid, &b->ni[i].nid) &&
		       a->ni[i].status == b->ni[i].status;
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

	/* Our handles differ from the captured node's. */
	if (captured->type == LX_MSG_PUT &&
	    mask_handle_none(&x.put.ack_md) == mask_handle_none(&y.put.ack_md))
		x.put.ack_md = y.put.ack_md;
	if (captured->type == LX_MSG_GET)
		x.get.return_md = y.get.return_md;
	/* The room for ping information is up to the node that asks. */
	if (captured->type == LX_MSG_GET && lx_le32(x.get.portal) == LX_PORTAL_RESERVED &&
	    lx_le32(y.get.sink_length) >= LX_PING_INFO_MIN)
		x.get.sink_length = y.get.sink_length;
	if (captured->type == LX_MSG_REPLY)
		return !memcmp(&x.reply.dst_md, &y.reply.dst_md, sizeof(x.reply.dst_md));
	if (captured->type == LX_MSG_ACK)
		return !memcmp(&x, &y, sizeof(x.ack));
	return !memcmp(&x, &y, captured->type == LX_MSG_PUT ? sizeof(x.put) : sizeof(x.get));
}

static bool same_lnet(const struct mask *mask, const struct message *captured,
		      const struct message *real)
{
	/* Our router splices, and then does not ask for an acknowledgement. */
	bool zc_ok = !captured->msg.cookie[0] == !real->msg.cookie[0] ||
		     (mask->router && !real->msg.cookie[0]);

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

bool mask_same(const struct mask *mask, const struct message *captured, const struct message *real)
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
		return same_lnet(mask, captured, real);
	}
}
