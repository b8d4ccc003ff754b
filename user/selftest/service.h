/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every file of the service needs: its clock, its log, and the end of its lock. */
#ifndef LX_SELFTEST_SERVICE_H
#define LX_SELFTEST_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

struct lx_selftest;

uint64_t lx_lst_service_now(const struct lx_selftest *s);

/* Writes a line to the log. */
void lx_lst_service_note(const struct lx_selftest *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Unlocks; @put: and drops a reference, with the last of which the service is freed. */
void lx_lst_service_unlock(struct lx_selftest *s, bool put);

#endif
