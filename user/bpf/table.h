/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table shared by programs and process that grows: an array of maps, each a block
 * of entries in memory that both have mapped. A block is allocated when entries run short,
 * and then kept, so memory reflects the peak use.
 *
 * One thread at a time takes and returns entries. Growing waits for an RCU grace period, some
 * 20 ms, so it may be done by another thread, one at a time.
 */
#ifndef LX_BPF_TABLE_H
#define LX_BPF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf.h"

struct bpf_map;

struct lx_table {
	const char *type;    /* of an entry, in the programs' BTF */
	unsigned int block;  /* entries per block */
	unsigned int max;    /* maximum number of entries */
	size_t each;         /* bytes per entry */
	const struct bpf_map *map;
	void **at;           /* blocks */
	unsigned int n;      /* entries allocated; written by the growing thread */
	uint64_t *used;      /* bitmap of entries */
	unsigned int n_used;
	bool is_short;       /* set by lx_table_take(), cleared by the growing thread */
};

/**
 * lx_table_init - initialize a table without entries
 * @table: type, block, max and each are set, all else is 0
 * Returns 0 or -ENOMEM; then, too, lx_table_fini() is fine.
 */
int lx_table_init(struct lx_table *table);
void lx_table_fini(struct lx_table *table);

/**
 * lx_table_grow - add one block
 * @map: the loaded array of maps; @set: its owner, pins the block as NAME_NUMBER
 * Returns 0, -ENOSPC there are max entries, -ENOMEM or another -errno.
 */
int lx_table_grow(struct lx_table *table, const struct bpf_map *map, struct lx_bpf_set *set);

/* Any thread. NULL: no such entry, or not allocated yet. */
void *lx_table_at(const struct lx_table *table, unsigned int index);

/**
 * lx_table_take - take the lowest free entry below @limit
 * Returns its index, -EAGAIN the table has to grow first, -ENOSPC @limit is reached.
 */
int lx_table_take(struct lx_table *table, unsigned int limit);
void lx_table_give(struct lx_table *table, unsigned int index);
/* The first entry in use from @index on; -1: none. Any thread. */
int lx_table_next(const struct lx_table *table, unsigned int index);

/* Bytes of kernel memory that it takes. */
size_t lx_table_memory(const struct lx_table *table);

#endif
