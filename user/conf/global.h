/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Global settings: tunables under the names of "global:" and "lnetctl set". No state. */
#ifndef LX_CONF_GLOBAL_H
#define LX_CONF_GLOBAL_H

#include <stdbool.h>
#include <stdint.h>

/* A key of "global:" and "lnetctl set", and the tunable of module "lnet" behind it. */
struct lx_global {
	const char *key;
	const char *tunable; /* NULL: derived from others, read only */
	bool inverse; /* 1 if the tunable is 0 */
	bool on_off; /* it is 0 or 1 */
};

extern const struct lx_global lx_globals[]; /* terminated by key NULL */

const struct lx_global *lx_global_lookup(const char *key);

/* The LND timeout in seconds, derived from these two tunables (lnet.md 13.4). */
int64_t lx_global_lnd_timeout(int64_t transaction_timeout, int64_t retry_count);

#endif
