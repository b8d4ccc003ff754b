/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The data of a bulk test; see the header. Called by the test node's both sides. */
#include <errno.h>
#include <string.h>

#include "pattern.h"

#define PATTERN 0xeeb0eeb1eeb2eeb3ULL
#define POISON 0xbeefbeefbeefbeefULL

static void put(uint8_t *at, uint64_t word)
{
	memcpy(at, &word, sizeof(word));
}

static bool is(const uint8_t *at, uint64_t word)
{
	return !memcmp(at, &word, sizeof(word));
}

static void fill(uint8_t *buf, size_t len, uint64_t word)
{
	for (size_t i = 0; i + sizeof(word) <= len; i += sizeof(word))
		put(buf + i, word);
}

static size_t fragment(size_t len, size_t at)
{
	return len - at < LX_LST_PAGE ? len - at : LX_LST_PAGE;
}

void lx_lst_pattern_fill(void *buf, size_t len)
{
	fill(buf, len, PATTERN);
}

void lx_lst_pattern_poison(void *buf, size_t len, enum lx_lst_check check)
{
	uint8_t *bytes = buf;

	if (check == LX_LST_CHECK_FULL)
		fill(buf, len, POISON);
	for (size_t at = 0; check == LX_LST_CHECK_SIMPLE && at < len; at += LX_LST_PAGE) {
		put(bytes + at, POISON);
		put(bytes + at + fragment(len, at) - sizeof(POISON), POISON);
	}
}

int lx_lst_pattern_check(const void *buf, size_t len, enum lx_lst_check check, bool flip)
{
	uint64_t word = flip ? __builtin_bswap64(PATTERN) : PATTERN;
	const uint8_t *bytes = buf;

	for (size_t i = 0; check == LX_LST_CHECK_FULL && i < len; i += sizeof(word)) {
		if (!is(bytes + i, word))
			return -EBADMSG;
	}
	for (size_t at = 0; check == LX_LST_CHECK_SIMPLE && at < len; at += LX_LST_PAGE) {
		if (!is(bytes + at, word) ||
		    !is(bytes + at + fragment(len, at) - sizeof(word), word))
			return -EBADMSG;
	}
	return 0;
}
