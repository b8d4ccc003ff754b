/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a control message. The first byte chooses the request, the rest is the
 * packet as the daemon received it; or as a client of liblnetxctl did, a row of some object.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <internal/ctl.h>

#include "../../user/ctl/codec.h"
#include "../../user/ctl/row.h"
#include "fuzz.h"

static const struct lx_schema *const requests[] = {
	&lx_object_show_schema,	   &lx_object_net_schema,     &lx_object_set_schema,
	&lx_object_route_schema,   &lx_object_peer_schema,    &lx_object_ping_schema,
	&lx_object_routing_schema, &lx_object_buffers_schema, &lx_object_disconnect_schema,
	&lx_object_value_schema,
};

static const struct lx_ctl_shown *const objects[] = {
	&lx_object_nets, &lx_object_peers, &lx_object_bpf, &lx_object_stats, &lx_object_udsps,
};

/* Each value that there is can be read. */
static void walk(const struct lx_ctl_row *row)
{
	struct lx_ctl_value v = { 0 };

	while (lx_ctl_each(row, &v)) {
		assert(v.type != LX_CTL_NONE);
		if (v.type == LX_CTL_TEXT)
			assert(strlen(v.text) < LX_CTL_PACKET);
		if (v.type == LX_CTL_MAP || v.type == LX_CTL_LIST)
			walk(&v.inside);
	}
}

static void show(unsigned int n, const void *attrs, size_t len)
{
	const struct lx_ctl_shown *o = objects[n % (sizeof(objects) / sizeof(objects[0]))];
	struct lx_ctl_row row;

	lx_ctl_row_of(&row, o->group, o->row, attrs, len, LX_LEVEL_OWN);
	walk(&row);
}

/* A decoded message can be encoded, and decodes to the same. */
static void write_again(const struct lx_schema *schema, const void *obj)
{
	static _Alignas(8) char buf[2 * LX_CTL_PACKET];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	void *again = malloc(schema->size);
	char text[200];
	const void *attrs;
	size_t len;
	int err;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct lx_ctl_hdr));
	err = lx_codec_put(nlh, sizeof(buf), schema, obj, LX_LEVEL_OWN);
	assert(!err);
	attrs = lx_codec_attrs(nlh, sizeof(struct lx_ctl_hdr), &len);
	err = lx_codec_get(attrs, len, schema, again, text, sizeof(text));
	assert(!err);
	assert(!memcmp(again, obj, schema->size));
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct lx_schema *schema;
	struct nlmsghdr *nlh;
	const void *attrs;
	char text[200];
	void *obj;
	size_t len;

	if (size < 1 + sizeof(*nlh) || size > LX_CTL_PACKET)
		return 0;
	schema = requests[data[0] % (sizeof(requests) / sizeof(requests[0]))];
	nlh = malloc(size - 1);
	memcpy(nlh, data + 1, size - 1);
	obj = malloc(schema->size);
	if (lx_codec_message(nlh, size - 1, sizeof(struct lx_ctl_hdr))) {
		attrs = lx_codec_attrs(nlh, sizeof(struct lx_ctl_hdr), &len);
		if (!lx_codec_get(attrs, len, schema, obj, text, sizeof(text)))
			write_again(schema, obj);
		show(data[0], attrs, len);
	}
	free(obj);
	free(nlh);
	return 0;
}
