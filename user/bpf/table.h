/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table that programs and process share, and that grows: an array of maps, each a block
 * of entries in memory that both have mapped. A block is made when entries run short, and
 * kept then, so memory is what has been in use at one time.
 *
 * Taking and giving are for one thread at a time. Growing waits for all processors to have
 * seen the new block, some 20 ms: it may be done by another thread, one at a time.
 */
#ifndef LX_BPF_TABLE_H
#define LX_BPF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf.h"

struct bpf_map;

struct lx_table {
	const char *type;    /* of its entries, as the programs' BTF has it */
	unsigned int block;  /* entries of one */
	unsigned int max;    /* entries at most */
	size_t each;         /* bytes */
	const struct bpf_map *map;
	void **at;           /* blocks */
	unsigned int n;      /* entries that there are; written by whoever grows */
	uint64_t *used;      /* a bit an entry */
	unsigned int n_used;
	bool is_short;       /* set by lx_table_take(), cleared by whoever is to grow it */
};

/**
 * lx_table_init - get ready; there are no entries yet
 * @table: type, block, max and each are set; zeroes otherwise
 * Returns 0, or -ENOMEM; lx_table_fini() is fine then, too.
 */
int lx_table_init(struct lx_table *table);
void lx_table_fini(struct lx_table *table);

/**
 * lx_table_grow - make one more block
 * @map: the loaded array of maps; @set: its owner, pins the block as NAME_NUMBER
 * Returns 0, -ENOSPC it has all of them, -ENOMEM or another -errno.
 */
int lx_table_grow(struct lx_table *table, const struct bpf_map *map, struct lx_bpf_set *set);

/* Any thread. NULL: there is no such entry, or not yet. */
void *lx_table_at(const struct lx_table *table, unsigned int index);

/**
 * lx_table_take - an entry that is free, the lowest one, below @limit
 * Returns its index, -EAGAIN: there will be one when the table has grown, -ENOSPC: @limit is
 * reached.
 */
int lx_table_take(struct lx_table *table, unsigned int limit);
void lx_table_give(struct lx_table *table, unsigned int index);
/* The first one from @index on that is in use; -1: none. Any thread. */
int lx_table_next(const struct lx_table *table, unsigned int index);

/* Bytes of memory that the kernel has for it. */
size_t lx_table_memory(const struct lx_table *table);

#endif
