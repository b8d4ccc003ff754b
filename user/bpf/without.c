/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instead of the other files here in the build without BPF (make BPF=0): nothing is ever
 * loaded, and requests are answered with the reason. Called by user/daemon.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "../base/array.h"
#include "../base/log.h"
#include "bpf.h"
#include "fastpath.h"
#include "guard.h"
#include "pin.h"
#include "trial.h"

#define REASON "built without BPF; install clang, bpftool and libbpf, and build without BPF=0"

struct lx_bpf {
	bool enabled;
};

struct lx_guard {
	const struct lx_bpf *bpf;
};

static const char *reason(const struct lx_bpf *bpf)
{
	return bpf->enabled ? REASON : "switched off: lnetxd runs with --no-bpf";
}

/* ---- instances --------------------------------------------------------------------- */

int lx_bpf_new(const char *instance, bool enabled, struct lx_bpf **ret_bpf)
{
	struct lx_bpf *bpf = calloc(1, sizeof(*bpf));

	if (!bpf)
		return -ENOMEM;
	bpf->enabled = enabled;
	if (enabled)
		lx_info("bpf=none reason=\"" REASON "\" action=\"lnetxd forwards all messages "
			"itself, and its acceptor alone refuses strangers\"");
	*ret_bpf = bpf;
	return 0;
}

void lx_bpf_free(struct lx_bpf *bpf)
{
	free(bpf);
}

void lx_bpf_info(struct lx_bpf *bpf, struct lx_bpf_info *ret_info)
{
	static const char *const sets[] = { "guard", "fastpath" };
	struct utsname u;

	memset(ret_info, 0, sizeof(*ret_info));
	if (!uname(&u))
		snprintf(ret_info->kernel, sizeof(ret_info->kernel), "%.40s %.36s", u.release,
			 u.machine);
	ret_info->enabled = bpf->enabled;
	for (size_t i = 0; i < LX_ARRAY_LEN(sets); i++) {
		ret_info->set[i].name = sets[i];
		strcpy(ret_info->set[i].reason, reason(bpf));
		ret_info->n_sets++;
	}
}

/* ---- the guard --------------------------------------------------------------------- */

int lx_guard_new(struct lx_bpf *bpf, struct lx_guard **ret_guard)
{
	struct lx_guard *guard = calloc(1, sizeof(*guard));

	if (!guard)
		return -ENOMEM;
	guard->bpf = bpf;
	*ret_guard = guard;
	return 0;
}

void lx_guard_free(struct lx_guard *guard)
{
	free(guard);
}

int lx_guard_info(struct lx_guard *guard, struct lx_guard_info *ret_info)
{
	memset(ret_info, 0, sizeof(*ret_info));
	strcpy(ret_info->reason, reason(guard->bpf));
	return 0;
}

/* An empty list. */
static int none(void *list, size_t *ret_n)
{
	*ret_n = 0;
	return list ? 0 : -ENOMEM;
}

int lx_guard_bans(struct lx_guard *guard, struct lx_guard_ban_info **ret_list, size_t *ret_n)
{
	*ret_list = calloc(1, sizeof(**ret_list));
	return none(*ret_list, ret_n);
}

int lx_guard_prefixes(struct lx_guard *guard, struct lx_guard_prefix_info **ret_list,
		      size_t *ret_n)
{
	*ret_list = calloc(1, sizeof(**ret_list));
	return none(*ret_list, ret_n);
}

int lx_guard_refusals(struct lx_guard *guard, struct lx_guard_refusal_info **ret_list,
		      size_t *ret_n)
{
	*ret_list = calloc(1, sizeof(**ret_list));
	return none(*ret_list, ret_n);
}

/* ---- the rest: nothing under many names ------------------------------------------------ */

static int refuse(void)
{
	return -EOPNOTSUPP;
}

static int nothing(void)
{
	return 0;
}

#define REFUSED(name) extern typeof(name) name __attribute__((alias("refuse")));
#define IGNORED(name) extern typeof(name) name __attribute__((alias("nothing")));
#ifndef __clang__ /* parameters do not matter */
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif

REFUSED(lx_fastpath_attach)
REFUSED(lx_fastpath_lane_list)
REFUSED(lx_fastpath_new)
REFUSED(lx_fastpath_stream_list)
REFUSED(lx_fastpath_trace_start)
REFUSED(lx_guard_addr) /* no NI gets a guard */
REFUSED(lx_guard_ban)
REFUSED(lx_guard_counts)
REFUSED(lx_guard_mode)
REFUSED(lx_guard_prefix_del)
REFUSED(lx_guard_prefix_set)
REFUSED(lx_guard_rate)
REFUSED(lx_guard_unban)
REFUSED(lx_trial)

IGNORED(lx_bpf_look)
IGNORED(lx_bpf_retry)
IGNORED(lx_fastpath_clean)
IGNORED(lx_fastpath_count_tx_dropped)
IGNORED(lx_fastpath_free)
IGNORED(lx_fastpath_info)
IGNORED(lx_fastpath_look)
IGNORED(lx_fastpath_mend)
IGNORED(lx_fastpath_retry)
IGNORED(lx_fastpath_trace_read)
IGNORED(lx_fastpath_trace_stop)
IGNORED(lx_guard_place)
IGNORED(lx_pin_give)
