/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "table.h"

#define WORD 64

/* Elements of such a map are padded to 8 bytes, and it is mapped by pages. */
static size_t entry_bytes(const struct lx_table *t)
{
	return (t->each + 7) & ~(size_t)7;
}

static size_t block_bytes(const struct lx_table *t)
{
	size_t page = sysconf(_SC_PAGESIZE);

	return (t->block * entry_bytes(t) + page - 1) & ~(page - 1);
}

static unsigned int size_now(const struct lx_table *t)
{
	return __atomic_load_n(&t->n, __ATOMIC_ACQUIRE);
}

int lx_table_init(struct lx_table *t)
{
	t->at = calloc(t->max / t->block, sizeof(*t->at));
	t->used = calloc((t->max + WORD - 1) / WORD, sizeof(*t->used));
	return t->at && t->used ? 0 : -ENOMEM;
}

void lx_table_fini(struct lx_table *t)
{
	for (unsigned int i = 0; t->at && i < t->n / t->block; i++)
		munmap(t->at[i], block_bytes(t));
	free(t->at);
	free(t->used);
}

/* ---- blocks -------------------------------------------------------------------------- */

/* Creates a block as the map was declared, with its types for bpftool. Returns a descriptor. */
static int block_new(const struct lx_table *t, const char *name, const struct btf *btf)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int key = btf__find_by_name(btf, "__u32");
	int value = btf__find_by_name_kind(btf, t->type, BTF_KIND_STRUCT), fd;

	if (key > 0 && value > 0 && btf__fd(btf) >= 0) {
		opts.btf_fd = btf__fd(btf);
		opts.btf_key_type_id = key;
		opts.btf_value_type_id = value;
	}
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(uint32_t), t->each, t->block, &opts);
	return fd < 0 ? -errno : fd;
}

int lx_table_grow(struct lx_table *t, const struct bpf_map *map, struct lx_bpf_set *set)
{
	uint32_t number = t->n / t->block;
	char name[BPF_OBJ_NAME_LEN];
	int fd LX_AUTO_CLOSE = -1;
	void *at;

	if (t->n + t->block > t->max)
		return -ENOSPC;
	snprintf(name, sizeof(name), "%.8s_%u", bpf_map__name(map), number);
	fd = block_new(t, name, bpf_object__btf(lx_bpf_object(set)));
	if (fd < 0)
		return fd;
	at = mmap(NULL, block_bytes(t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	if (bpf_map_update_elem(bpf_map__fd(map), &number, &fd, BPF_ANY)) {
		int err = -errno;

		munmap(at, block_bytes(t));
		return err;
	}
	lx_bpf_pin(set, fd, name);
	t->at[number] = at;
	__atomic_store_n(&t->n, t->n + t->block, __ATOMIC_RELEASE);
	return 0;
}

void *lx_table_at(const struct lx_table *t, unsigned int index)
{
	if (index >= size_now(t))
		return NULL;
	return (char *)t->at[index / t->block] + index % t->block * entry_bytes(t);
}

size_t lx_table_memory(const struct lx_table *t)
{
	return size_now(t) / t->block * block_bytes(t);
}

/* ---- entries ------------------------------------------------------------------------- */

int lx_table_take(struct lx_table *t, unsigned int limit)
{
	unsigned int n = size_now(t), words = (n + WORD - 1) / WORD, index;

	if (limit > t->max)
		limit = t->max;
	/* Half a block ahead, as growing takes a while. */
	if (n < limit && n - t->n_used < t->block / 2)
		__atomic_store_n(&t->is_short, true, __ATOMIC_RELAXED);
	for (unsigned int w = 0; w < words; w++) {
		if (!~t->used[w])
			continue;
		index = w * WORD + __builtin_ctzll(~t->used[w]);
		if (index >= limit || index >= n)
			break;
		__atomic_fetch_or(&t->used[w], 1ull << index % WORD, __ATOMIC_RELAXED);
		__atomic_fetch_add(&t->n_used, 1, __ATOMIC_RELAXED);
		return (int)index;
	}
	return n < limit ? -EAGAIN : -ENOSPC;
}

void lx_table_give(struct lx_table *t, unsigned int index)
{
	__atomic_fetch_and(&t->used[index / WORD], ~(1ull << index % WORD), __ATOMIC_RELAXED);
	__atomic_fetch_sub(&t->n_used, 1, __ATOMIC_RELAXED);
}

int lx_table_next(const struct lx_table *t, unsigned int index)
{
	unsigned int words = (size_now(t) + WORD - 1) / WORD;
	uint64_t rest;

	for (unsigned int w = index / WORD; w < words; w++, index = w * WORD) {
		rest = __atomic_load_n(&t->used[w], __ATOMIC_RELAXED) >> index % WORD;
		if (rest)
			return (int)(index + __builtin_ctzll(rest));
	}
	return -1;
}
