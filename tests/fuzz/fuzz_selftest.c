/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: what a peer may send to the selftest, as a request or reply of 160 bytes or
 * as a list of destinations. Accepted input means the same when it is encoded in either byte
 * order, and nothing is read or written outside the bytes that arrived.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/selftest/wire.h"
#include "fuzz.h"

static void expect_same(const struct lx_lst_msg *msg, uint32_t magic)
{
	struct lx_lst_msg turned = *msg, again;
	uint8_t *buf = malloc(LX_LST_MSG_BYTES);
	int r;

	assert(buf);
	turned.magic = magic;
	lx_lst_wire_encode(&turned, buf);
	r = lx_lst_wire_decode(buf, LX_LST_MSG_BYTES, &again);
	assert(r == (msg->version == LX_LST_VERSION ? 0 : -EPROTONOSUPPORT));
	assert(!memcmp(&turned, &again, sizeof(again)));
	free(buf);
}

static void use_message(const void *data, size_t size)
{
	struct lx_lst_msg msg;
	int r = lx_lst_wire_decode(data, size, &msg);

	assert(!r || r == -EPROTO || r == -EPROTONOSUPPORT);
	if (r == -EPROTO)
		return;
	assert(size == LX_LST_MSG_BYTES && strcmp(lx_lst_wire_type_name(msg.type), "?"));
	expect_same(&msg, LX_LST_MAGIC);
	expect_same(&msg, __builtin_bswap32(LX_LST_MAGIC));
}

static void use_destinations(const void *data, size_t size)
{
	struct lx_lst_dest dest, flipped;
	uint32_t i;

	for (i = 0; !lx_lst_wire_dest_get(data, size, i, false, &dest); i++) {
		assert(!lx_lst_wire_dest_get(data, size, i, true, &flipped));
		assert(flipped.nid == __builtin_bswap64(dest.nid));
	}
	assert(lx_lst_wire_dests_room(i) >= i * sizeof(dest));
	assert(i * sizeof(dest) <= size + sizeof(dest));
	assert(lx_lst_wire_dest_get(data, size, UINT32_MAX, false, &dest) == -EPROTO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *copy = exact_copy(data, size);

	use_message(copy, size);
	use_destinations(copy, size);
	free(copy);
	return 0;
}
