/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard's program has counters, and a table of the sources of SYNs it dropped. The
 * counters are read often, the table only if they changed: so the first drop is logged
 * soon, and further ones once a minute, with their number. Sources can be forged at any
 * rate: a limit on the lines per minute keeps the log readable.
 *
 * Runs on the main thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/ratelimit.h"
#include "../bpf/guard.h"
#include "programs.h"
#include "refusals.h"

#define LOOK_MS 2000
#define LINES_MAX 8 /* at a time */

struct lx_refusals {
	uv_timer_t timer;
	uint64_t syns;     /* dropped, when last read */
	uint64_t since_ns; /* earlier drops have been logged, or precede our start */
	uint64_t next_ns;  /* do not log before */
};

/* ---- lines ----------------------------------------------------------------------------- */

static void tell(const struct lx_guard_refusal_info *r)
{
	const char *source = r->source;
	unsigned long long syns = r->syns;

	switch (r->verdict) {
	case LX_GUARD_UNPRIVILEGED:
		lx_warn("source=%s port=%u syns=%llu reason=\"its source port is above 1023, and "
			"accept is secure\" action=\"the guard drops them: it sees a time-out\" "
			"next=\"let it use a port up to 1023, or: lnetx guard set accept all\"",
			source, r->port, syns);
		break;
	case LX_GUARD_RATE:
		lx_warn("source=%s port=%u syns=%llu reason=\"more connections a second than the "
			"guard's rate\" action=\"the guard drops the surplus: it sees a time-out\" "
			"next=\"lnetx guard allow %s, or a higher one: lnetx guard set rate N\"",
			source, r->port, syns, source);
		break;
	case LX_GUARD_DENIED: /* as configured */
		lx_info("source=%s port=%u syns=%llu reason=\"a prefix denies it\" "
			"action=\"the guard drops them: it sees a time-out\" "
			"next=\"to accept it: lnetx guard allow %s\"",
			source, r->port, syns, source);
		break;
	}
}

/* @list: latest first. */
static void tell_all(const struct lx_guard_refusal_info *list, size_t n, uint64_t since_ns)
{
	size_t recent = 0;

	while (recent < n && list[recent].last_ns > since_ns)
		recent++;
	for (size_t i = 0; i < recent && i < LINES_MAX; i++)
		tell(&list[i]);
	if (recent > LINES_MAX)
		lx_warn("sources=%zu action=\"the guard drops connections of other sources, too\" "
			"next=\"lnetx -s guard show\"",
			recent - LINES_MAX);
}

/* ---- looking --------------------------------------------------------------------------- */

/* Zero without a guard. */
static uint64_t count_syns(struct lx_guard *guard)
{
	uint64_t count[LX_GUARD_COUNT];

	if (lx_guard_counts(guard, count))
		return 0;
	return count[LX_GUARD_UNPRIVILEGED] + count[LX_GUARD_DENIED] + count[LX_GUARD_RATE];
}

static void look(struct lx_refusals *r, struct lx_guard *guard)
{
	struct lx_guard_refusal_info *list LX_AUTO_FREE = NULL;
	uint64_t now_ns = uv_hrtime(), syns;
	size_t n;

	if (now_ns < r->next_ns)
		return;
	syns = count_syns(guard);
	if (syns == r->syns || lx_guard_refusals(guard, &list, &n))
		return;
	r->syns = syns;
	tell_all(list, n, r->since_ns);
	r->since_ns = now_ns;
	r->next_ns = now_ns + LX_RATELIMIT_MINUTE;
}

static void on_timer(uv_timer_t *timer)
{
	struct lx_daemon *d = timer->data;

	look(d->refusals, lx_programs_guard(d->programs));
}

/* ---- life ------------------------------------------------------------------------------ */

int lx_refusals_new(struct lx_daemon *daemon, struct lx_refusals **ret_refusals)
{
	struct lx_refusals *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->since_ns = uv_hrtime();
	r->syns = count_syns(lx_programs_guard(daemon->programs));
	err = uv_timer_init(daemon->loop, &r->timer);
	if (!err)
		err = uv_timer_start(&r->timer, on_timer, LOOK_MS, LOOK_MS);
	if (err) {
		free(r);
		return err;
	}
	r->timer.data = daemon;
	*ret_refusals = r;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(lx_container_of(handle, struct lx_refusals, timer));
}

void lx_refusals_free(struct lx_refusals *r)
{
	if (r)
		uv_close((uv_handle_t *)&r->timer, on_closed);
}
