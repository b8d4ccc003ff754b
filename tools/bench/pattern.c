/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Payload patterns of lxload; pure. Words are little endian, so the two ends
 * may differ. Checking is about as fast as reading memory.
 */
#include <string.h>

#include <lnetx/wire.h>

#include "pattern.h"

#define STEP 0x9e3779b97f4a7c15ull /* odd: 2^64 distinct words */

uint64_t lx_pattern_key(uint64_t stream, uint64_t seq)
{
	uint64_t x = (stream << 40 ^ seq) + STEP;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t lx_pattern_at(uint64_t key, size_t bytes)
{
	return key + bytes / 8 * STEP;
}

void lx_pattern_fill(void *buf, size_t len, uint64_t key)
{
	unsigned char *p = buf;
	uint64_t word;

	for (; len >= 8; len -= 8, p += 8, key += STEP) {
		word = lx_le64(key);
		memcpy(p, &word, 8);
	}
	word = lx_le64(key);
	memcpy(p, &word, len);
}

static size_t first_difference(const unsigned char *p, uint64_t key, size_t len)
{
	uint64_t word = lx_le64(key);
	const unsigned char *want = (const unsigned char *)&word;
	size_t i = 0;

	while (i < len && p[i] == want[i])
		i++;
	return i;
}

size_t lx_pattern_check(const void *buf, size_t len, uint64_t key)
{
	const unsigned char *p = buf;
	uint64_t word, wrong;
	size_t at = 0, end;

	while (len - at >= 8) {
		/* Checks the differences of many words together: no branch per word. */
		end = len - at > 512 ? at + 512 : at + (len - at) / 8 * 8;
		wrong = 0;
		for (size_t i = at; i < end; i += 8) {
			memcpy(&word, p + i, 8);
			wrong |= word ^ lx_le64(lx_pattern_at(key, i));
		}
		for (; wrong && at < end; at += 8) {
			size_t same = first_difference(p + at, lx_pattern_at(key, at), 8);

			if (same < 8)
				return at + same;
		}
		at = end;
	}
	return at + first_difference(p + at, lx_pattern_at(key, at), len - at);
}
