/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clock, log and references of the service. */
#ifndef LX_SELFTEST_SERVICE_H
#define LX_SELFTEST_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

struct lx_selftest;

uint64_t lx_lst_service_now(const struct lx_selftest *s);

/* Logs a line. */
void lx_lst_service_note(const struct lx_selftest *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Unlocks. @put: drops a reference, too; the last one frees the service. */
void lx_lst_service_unlock(struct lx_selftest *s, bool put);

#endif
