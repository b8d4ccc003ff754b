/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * libFuzzer target: what an o2iblnd peer may send, as a message in a receive buffer or as
 * private data of the CM. An accepted message encodes to the same bytes again, and its pointers
 * stay within the bytes that arrived.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lnd/o2ib/proto.h"
#include "fuzz.h"

static void use_message(const void *data, size_t size)
{
	uint8_t again[LX_O2IB_MSG_MAX];
	struct lx_o2ib_msg msg, same;
	int r = lx_o2ib_proto_decode(data, size, &msg);

	assert(!r || r == -EPROTO || r == -EPROTONOSUPPORT || r == -EBADMSG);
	if (r)
		return;
	assert(msg.nob <= size && msg.nob <= LX_O2IB_MSG_MAX);
	lx_o2ib_proto_desc_bytes(&msg.desc, msg.flip);
	/*
	 * Bytes outside a message's fields are ignored by the decoder, and not written by the
	 * encoder.
	 */
	memcpy(again, data, msg.nob);
	lx_o2ib_proto_encode(&msg, again, false);
	assert(!memcmp(again, data, LX_O2IB_HDR_BYTES));
	lx_o2ib_proto_encode(&msg, again, true);
	assert(!lx_o2ib_proto_decode(again, msg.nob, &same));
	assert(same.type == msg.type && same.cookie == msg.cookie && same.status == msg.status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lx_o2ib_rej rej;
	uint8_t buf[24];
	void *copy = exact_copy(data, size);

	use_message(copy, size);
	if (!lx_o2ib_proto_rej_decode(copy, size, &rej)) {
		assert(lx_o2ib_proto_rej_encode(&rej, buf) <= sizeof(buf));
		assert(*lx_o2ib_proto_rej_text(rej.why));
	}
	free(copy);
	return 0;
}
