/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Payload that identifies its place: word i of a pattern is the pattern's key
 * plus i times a constant. This detects bytes that are lost, duplicated, misplaced or
 * from another message.
 */
#ifndef LX_BENCH_PATTERN_H
#define LX_BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* The pattern of message @seq of @stream. */
uint64_t lx_pattern_key(uint64_t stream, uint64_t seq);

/* The key of the pattern that starts @bytes (a multiple of 8) into that of @key. */
uint64_t lx_pattern_at(uint64_t key, size_t bytes);

void lx_pattern_fill(void *buf, size_t len, uint64_t key);

/* The offset of the first wrong byte; @len: all correct. */
size_t lx_pattern_check(const void *buf, size_t len, uint64_t key);

#endif
