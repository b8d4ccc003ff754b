/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Prints the sum of a field of struct lx_stream, or of the Nth number of an array, over the streams
 * in the first block of a table of the fast path's programs. (bpftool prints the whole block, 400,000
 * lines.)
 *
 * usage: streams MAP-ID FIELD [N]
 */
#include <bpf/bpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../include/internal/abi.h"

#define FIELD(name) { #name, offsetof(struct lx_stream, name), sizeof(((struct lx_stream *)0)->name) }

/* All are, or are arrays of, __u64; or single smaller numbers. */
static const struct field {
	const char *name;
	size_t offset, size;
} fields[] = {
	FIELD(parse_next), FIELD(diverted), FIELD(lane_messages), FIELD(resegmented),
	FIELD(fragments), FIELD(n_unframed), FIELD(lost), FIELD(gaps), FIELD(reasons),
	FIELD(base_seq), FIELD(socket_sent), FIELD(socket_una), FIELD(peer_acked),
};

static const struct field *field_of(const char *name)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!strcmp(fields[i].name, name))
			return &fields[i];
	}
	return NULL;
}

static int first_block(uint32_t table_id)
{
	int table = bpf_map_get_fd_by_id(table_id);
	uint32_t key = 0, id;

	if (table < 0 || bpf_map_lookup_elem(table, &key, &id))
		return -1;
	return bpf_map_get_fd_by_id(id);
}

int main(int argc, char **argv)
{
	const struct field *field = argc > 2 ? field_of(argv[2]) : NULL;
	size_t offset = argc > 3 ? strtoul(argv[3], NULL, 10) * sizeof(uint64_t) : 0;
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	uint64_t sum = 0, value = 0;
	char *stream;
	int fd;

	if (!field || offset >= field->size) {
		fprintf(stderr, "usage: streams MAP-ID FIELD [N]; see fields[] in tests/sys/streams.c\n");
		return 2;
	}
	fd = first_block(strtoul(argv[1], NULL, 10));
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ||
	    info.value_size < sizeof(struct lx_stream)) {
		perror("streams: no such table");
		return 1;
	}
	stream = malloc(info.value_size);
	for (uint32_t key = 0; stream && key < info.max_entries; key++) {
		if (bpf_map_lookup_elem(fd, &key, stream))
			continue;
		memcpy(&value, stream + field->offset + offset,
		       field->size < sizeof(value) ? field->size : sizeof(value));
		sum += value;
	}
	printf("%llu\n", (unsigned long long)sum);
	free(stream);
	return stream ? 0 : 1;
}
