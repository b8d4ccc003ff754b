/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The data of a bulk test (selftest.md 8): pure functions. Positions count on the wire, in
 * fragments of LX_LST_PAGE, so offsets in the memory of either side do not matter.
 */
#ifndef LX_SELFTEST_PATTERN_H
#define LX_SELFTEST_PATTERN_H

#include "wire.h"

/* Fills the buffer with the pattern, which passes every check. @len: a multiple of 8. */
void lx_lst_pattern_fill(void *buf, size_t len);

/* Overwrites what lx_lst_pattern_check() reads, so that it detects missing data. */
void lx_lst_pattern_poison(void *buf, size_t len, enum lx_lst_check check);

/* @flip: the writer has the other byte order. Returns 0, or -EBADMSG. */
int lx_lst_pattern_check(const void *buf, size_t len, enum lx_lst_check check, bool flip);

#endif
