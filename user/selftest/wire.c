/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages of lnet_selftest; see the header. No state.
 *
 * A message is in its sender's byte order, shown by its magic (selftest.md 1). Each type has a row
 * that lists the integers of its body; one walk swaps them and finds where unused bytes begin.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "wire.h"

/*
 * The fields of a body, in order: a digit is an integer of as many bytes, 'n' a name. The
 * parameters of a test follow.
 */
static const struct {
	const char *name;
	const char *fields;
} layouts[LX_LST_TYPES] = {
	[LX_LST_MAKE_SESSION_REQ] = { "make session", "8884n" },
	[LX_LST_MAKE_SESSION_REQ + 1] = { "make session reply", "4884n" },
	[LX_LST_REMOVE_SESSION_REQ] = { "remove session", "888" },
	[LX_LST_REMOVE_SESSION_REQ + 1] = { "remove session reply", "488" },
	[LX_LST_BATCH_REQ] = { "batch", "8888444" },
	[LX_LST_BATCH_REQ + 1] = { "batch reply", "48844" },
	[LX_LST_STAT_REQ] = { "stat", "8884" },
	[LX_LST_STAT_REQ + 1] = { "stat reply", "488"
						"44444"
						"4444488"
						"44444448888" },
	[LX_LST_TEST_REQ] = { "test", "88888444114" },
	[LX_LST_TEST_REQ + 1] = { "test reply", "488" },
	[LX_LST_DEBUG_REQ] = { "debug", "8884" },
	[LX_LST_DEBUG_REQ + 1] = { "debug reply", "48844n" },
	[LX_LST_BRW_REQ] = { "brw", "88444" },
	[LX_LST_BRW_REQ + 1] = { "brw reply", "4" },
	[LX_LST_PING_REQ] = { "ping", "84488" },
	[LX_LST_PING_REQ + 1] = { "ping reply", "444" },
	[LX_LST_JOIN_REQ] = { "join", "888n" },
	[LX_LST_JOIN_REQ + 1] = { "join reply", "4884n" },
};

/* ---- byte order -------------------------------------------------------------------- */

static void swap(uint8_t *field, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes / 2; i++) {
		uint8_t byte = field[i];

		field[i] = field[bytes - 1 - i];
		field[bytes - 1 - i] = byte;
	}
}

/* Swaps, if @flip, the integers that @fields lists from @at on; returns where they end. */
static uint8_t *walk(uint8_t *at, const char *fields, bool flip)
{
	for (; *fields; fields++) {
		unsigned int bytes = *fields == 'n' ? LX_LST_NAME : (unsigned int)(*fields - '0');

		if (flip && *fields != 'n')
			swap(at, bytes);
		at += bytes;
	}
	return at;
}

/* Parameters of a bulk test are shorter integers with the length feature (3). */
static const char *params_fields(const struct lx_lst_msg *test)
{
	if (test->test.service != LX_LST_BRW)
		return "44";
	return test->features & LX_LST_FEAT_BULK_LEN ? "2244" : "444";
}

static uint8_t *walk_header(struct lx_lst_msg *msg)
{
	return walk((uint8_t *)&msg->version, "44444", lx_lst_flipped(msg));
}

/*
 * Swaps the body of @msg, if its sender has the other byte order, and zeroes unused bytes.
 * @cpu: the message in CPU order; may be @msg itself, which is in CPU order as far as swapped.
 */
static void walk_body(struct lx_lst_msg *msg, const struct lx_lst_msg *cpu)
{
	bool flip = lx_lst_flipped(msg);
	uint8_t *end = walk(msg->body, layouts[cpu->type].fields, flip);

	if (cpu->type == LX_LST_TEST_REQ)
		end = walk(end, params_fields(cpu), flip);
	memset(end, 0, msg->body + sizeof(msg->body) - end);
}

/* ---- messages (2, 3) ------------------------------------------------------------------ */

void lx_lst_wire_init(struct lx_lst_msg *msg, uint32_t type, uint32_t features)
{
	*msg = (struct lx_lst_msg){
		.magic = LX_LST_MAGIC,
		.version = LX_LST_VERSION,
		.type = type,
		.features = features,
	};
}

void lx_lst_wire_encode(const struct lx_lst_msg *msg, void *ret_buf)
{
	struct lx_lst_msg wire = *msg;

	assert(msg->type < LX_LST_TYPES);
	memset(wire.reserved, 0, sizeof(wire.reserved));
	walk_header(&wire);
	walk_body(&wire, msg);
	memcpy(ret_buf, &wire, sizeof(wire));
}

/* It comes from outside, may lack the NUL, and ends up in terminals. */
static void clean_name(char name[LX_LST_NAME])
{
	name[LX_LST_NAME - 1] = '\0';
	for (; *name; name++) {
		if (*name < ' ' || *name > '~')
			*name = '?';
	}
}

static void clean_names(struct lx_lst_msg *msg)
{
	switch (msg->type) {
	case LX_LST_MAKE_SESSION_REQ:
		clean_name(msg->make.name);
		break;
	case LX_LST_JOIN_REQ:
		clean_name(msg->join.group);
		break;
	case LX_LST_MAKE_SESSION_REQ + 1:
	case LX_LST_JOIN_REQ + 1:
		clean_name(msg->make_reply.name);
		break;
	case LX_LST_DEBUG_REQ + 1:
		clean_name(msg->debug_reply.name);
		break;
	}
}

int lx_lst_wire_decode(const void *buf, size_t len, struct lx_lst_msg *ret_msg)
{
	struct lx_lst_msg msg;

	if (len != sizeof(msg))
		return -EPROTO;
	memcpy(&msg, buf, sizeof(msg));
	if (msg.magic != LX_LST_MAGIC && msg.magic != __builtin_bswap32(LX_LST_MAGIC))
		return -EPROTO;
	walk_header(&msg);
	if (msg.type >= LX_LST_TYPES)
		return -EPROTO;
	memset(msg.reserved, 0, sizeof(msg.reserved));
	walk_body(&msg, &msg);
	clean_names(&msg);
	*ret_msg = msg;
	return msg.version == LX_LST_VERSION ? 0 : -EPROTONOSUPPORT;
}

/* ---- services (3) ------------------------------------------------------------------------ */

uint32_t lx_lst_wire_portal(enum lx_lst_service service)
{
	return service > 10 ? LX_LST_PORTAL_TEST : LX_LST_PORTAL_FRAMEWORK;
}

int lx_lst_wire_request_type(uint64_t service)
{
	switch (service) {
	case LX_LST_DEBUG:
		return LX_LST_DEBUG_REQ;
	case LX_LST_MAKE_SESSION:
		return LX_LST_MAKE_SESSION_REQ;
	case LX_LST_REMOVE_SESSION:
		return LX_LST_REMOVE_SESSION_REQ;
	case LX_LST_BATCH:
		return LX_LST_BATCH_REQ;
	case LX_LST_TEST:
		return LX_LST_TEST_REQ;
	case LX_LST_STAT:
		return LX_LST_STAT_REQ;
	case LX_LST_JOIN:
		return LX_LST_JOIN_REQ;
	case LX_LST_BRW:
		return LX_LST_BRW_REQ;
	case LX_LST_PING:
		return LX_LST_PING_REQ;
	default:
		return -ENOENT;
	}
}

const char *lx_lst_wire_type_name(uint32_t type)
{
	return type < LX_LST_TYPES ? layouts[type].name : "?";
}

/* ---- destinations (5) ---------------------------------------------------------------------- */

static size_t dest_offset(uint32_t i)
{
	return (size_t)(i / LX_LST_DESTS_PAGE) * LX_LST_PAGE +
	       i % LX_LST_DESTS_PAGE * sizeof(struct lx_lst_dest);
}

size_t lx_lst_wire_dests_room(uint32_t n)
{
	return ((size_t)n + LX_LST_DESTS_PAGE - 1) / LX_LST_DESTS_PAGE * LX_LST_PAGE;
}

size_t lx_lst_wire_dests_bytes(uint32_t n, uint32_t features)
{
	return features & LX_LST_FEAT_BULK_LEN ? (size_t)n * sizeof(struct lx_lst_dest)
					       : lx_lst_wire_dests_room(n);
}

void lx_lst_wire_dest_put(void *buf, uint32_t i, const struct lx_lst_dest *dest)
{
	memcpy((char *)buf + dest_offset(i), dest, sizeof(*dest));
}

int lx_lst_wire_dest_get(const void *buf, size_t len, uint32_t i, bool flip,
			 struct lx_lst_dest *ret_dest)
{
	struct lx_lst_dest dest = { .pid = 0 };
	size_t offset = dest_offset(i), have = len > offset ? len - offset : 0;

	if (i >= LX_LST_DESTS_MAX || have < sizeof(dest.nid))
		return -EPROTO;
	memcpy(&dest, (const char *)buf + offset, have < sizeof(dest) ? have : sizeof(dest));
	if (flip)
		walk((uint8_t *)&dest, "84", true);
	if (have < sizeof(dest))
		dest.pid = LX_PID_LUSTRE;
	*ret_dest = dest;
	return 0;
}
