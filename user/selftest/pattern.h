/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data of a bulk test (selftest.md 8): pure functions. Positions are those in the stream on
 * the wire, in fragments of LX_LST_PAGE, so that an offset in either side's memory does not matter.
 */
#ifndef LX_SELFTEST_PATTERN_H
#define LX_SELFTEST_PATTERN_H

#include "wire.h"

/* Writes the pattern everywhere, which satisfies every check. @len: a multiple of 8. */
void lx_lst_pattern_fill(void *buf, size_t len);

/* Spoils what lx_lst_pattern_check() will look at, so that it finds data that never came. */
void lx_lst_pattern_poison(void *buf, size_t len, enum lx_lst_check check);

/* @flip: the producer has the other byte order. Returns 0, or -EBADMSG. */
int lx_lst_pattern_check(const void *buf, size_t len, enum lx_lst_check check, bool flip);

#endif
