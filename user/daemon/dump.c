/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes snapshots as messages, packet by packet, so that a long list neither blocks
 * the daemon nor takes more than one packet of extra memory. Called by client.c when a
 * client can receive more; created by command.c and probe.c.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdlib.h>

#include "../ctl/codec.h"
#include "dump.h"

size_t lx_dump_size(const struct lx_ctl_shown *object)
{
	return (object->group ? object->group : object->row)->size;
}

void *lx_rows_one(struct lx_rows *rows, size_t size)
{
	rows->n = 1;
	rows->list = calloc(1, size);
	return rows->list;
}

int lx_dump_new(const struct lx_ctl_shown *object, unsigned int level, const struct lx_rows *rows,
		struct lx_dump **ret_dump)
{
	struct lx_dump *dump = calloc(1, sizeof(*dump));

	if (!dump) {
		free(rows->list);
		return -ENOMEM;
	}
	dump->object = object;
	dump->level = level;
	dump->rows = *rows;
	*ret_dump = dump;
	return 0;
}

void lx_dump_free(struct lx_dump *dump)
{
	if (!dump)
		return;
	free(dump->rows.list);
	free(dump);
}

struct nlmsghdr *lx_dump_header(void *buf, uint16_t type, uint16_t flags, uint32_t seq)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = seq;
	return nlh;
}

size_t lx_dump_message(const struct lx_ctl_shown *object, const void *group, const void *row,
		       unsigned int level, uint8_t command, uint32_t seq, void *packet, size_t used)
{
	size_t room = LX_CTL_PACKET - used;
	struct lx_ctl_hdr *hdr;
	struct nlmsghdr *nlh;

	if (room < MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(*hdr)))
		return 0;
	nlh = lx_dump_header((char *)packet + used, LX_CTL_TYPE, NLM_F_MULTI, seq);
	hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));
	hdr->command = command;
	hdr->version = LX_CTL_VERSION;
	if (group && lx_codec_put(nlh, room, object->group, group, level) < 0)
		return 0;
	if (row && lx_codec_put(nlh, room, object->row, row, level) < 0)
		return 0;
	return nlh->nlmsg_len;
}

static bool has_rows_of_peers(const struct lx_dump *dump)
{
	return dump->object == &lx_object_peers || dump->object == &lx_object_pings;
}

static const void *element_of(const struct lx_dump *dump)
{
	return (const char *)dump->rows.list + dump->next * lx_dump_size(dump->object);
}

/* The next row with its group; false at the end. A peer without NIs is a row, too. */
static bool current_row(const struct lx_dump *dump, const void **ret_group, const void **ret_row)
{
	const void *element = element_of(dump);
	const struct lx_peer_info *peer = element;

	if (dump->next >= dump->rows.n)
		return false;
	*ret_group = dump->object->group ? element : NULL;
	*ret_row = element;
	if (has_rows_of_peers(dump))
		*ret_row = dump->next_ni < peer->n_nis ? &peer->ni[dump->next_ni] : NULL;
	return true;
}

static void advance(struct lx_dump *dump)
{
	const struct lx_peer_info *peer = element_of(dump);

	if (has_rows_of_peers(dump) && ++dump->next_ni < peer->n_nis)
		return;
	dump->next_ni = 0;
	dump->next++;
}

static size_t put_done(struct lx_dump *dump, void *packet, size_t used)
{
	struct nlmsghdr *nlh;
	int32_t *error;

	if (used + MNL_NLMSG_HDRLEN + sizeof(*error) > LX_CTL_PACKET)
		return used;
	nlh = lx_dump_header((char *)packet + used, NLMSG_DONE, NLM_F_MULTI, dump->seq);
	error = mnl_nlmsg_put_extra_header(nlh, sizeof(*error));
	*error = dump->error;
	dump->done = true;
	return used + nlh->nlmsg_len;
}

size_t lx_dump_fill(struct lx_dump *dump, void *packet)
{
	const void *group, *row;
	size_t used = 0, len;

	if (dump->done)
		return 0;
	while (current_row(dump, &group, &row)) {
		len = lx_dump_message(dump->object, group, row, dump->level, dump->command,
				      dump->seq, packet, used);
		if (!len && used)
			return used;
		/* Rows are far smaller than a packet; one that does not fit is skipped. */
		used += len;
		advance(dump);
	}
	return put_done(dump, packet, used);
}
