/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rate limit for log lines that a peer can trigger: one line per key and interval, with the
 * number of lines suppressed. A key is a net, a NID's hash, or whatever the line is about.
 *
 *	if (lx_ratelimit(&core->no_route, net, now, LX_RATELIMIT_MINUTE, &missed))
 *		lx_warn("net=%s missed=%u reason=...", ...)
 *
 * Zeroed memory is an initialized limit. The caller provides locking and time.
 */
#ifndef LX_BASE_RATELIMIT_H
#define LX_BASE_RATELIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define LX_RATELIMIT_KEYS 16
#define LX_RATELIMIT_MINUTE 60000000000ULL /* ns */

struct lx_ratelimit {
	struct {
		uint64_t key;
		uint64_t until_ns; /* no line before; 0: free */
		unsigned int missed;
	} slot[LX_RATELIMIT_KEYS];
};

/**
 * lx_ratelimit - may a line be logged now?
 * @now_ns: monotonic time
 * @ret_missed: when true, lines of this key suppressed since its last one
 *
 * If more keys than fit come within one interval, the surplus keys are suppressed,
 * too: the log stays bounded whatever a peer invents.
 */
static inline bool lx_ratelimit(struct lx_ratelimit *limit, uint64_t key, uint64_t now_ns,
				uint64_t interval_ns, unsigned int *ret_missed)
{
	unsigned int at = LX_RATELIMIT_KEYS, i;

	for (i = 0; i < LX_RATELIMIT_KEYS; i++) {
		if (limit->slot[i].until_ns && limit->slot[i].key == key)
			break;
		/* Evict the key that has been silent for longest. */
		if (limit->slot[i].until_ns <= now_ns &&
		    (at == LX_RATELIMIT_KEYS || limit->slot[i].until_ns < limit->slot[at].until_ns))
			at = i;
	}
	if (i < LX_RATELIMIT_KEYS) {
		if (limit->slot[i].until_ns > now_ns) {
			limit->slot[i].missed++;
			return false;
		}
		*ret_missed = limit->slot[i].missed;
	} else if (at < LX_RATELIMIT_KEYS) {
		i = at;
		*ret_missed = 0;
	} else {
		return false;
	}
	limit->slot[i].key = key;
	limit->slot[i].until_ns = now_ns + interval_ns;
	limit->slot[i].missed = 0;
	return true;
}

#endif
