/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Global settings: what "global:" in a file and "lnetctl set" call tunables. No state. */
#ifndef LX_CONF_GLOBAL_H
#define LX_CONF_GLOBAL_H

#include <stdbool.h>
#include <stdint.h>

/* A key of "global:" and "lnetctl set", and the tunable of module "lnet" behind it. */
struct lx_global {
	const char *key;
	const char *tunable; /* NULL: derived from others, read only */
	bool inverse; /* 1 where the tunable is 0 */
};

extern const struct lx_global lx_globals[]; /* ended by key NULL */

const struct lx_global *lx_global_lookup(const char *key);

/* Seconds a transport may take, from the two tunables it is derived from (lnet.md 13.4). */
int64_t lx_global_lnd_timeout(int64_t transaction_timeout, int64_t retry_count);

#endif
