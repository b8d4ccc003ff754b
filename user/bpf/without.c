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

int lx_pin_give(uid_t uid, gid_t gid, char ret_note[LX_BPF_TEXT])
{
	return 0;
}

bool lx_bpf_look(struct lx_bpf *bpf)
{
	return false;
}

void lx_bpf_retry(struct lx_bpf *bpf)
{
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
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		ret_info->set[i].name = sets[i];
		strcpy(ret_info->set[i].reason, reason(bpf));
		ret_info->n_sets++;
	}
}

/* ---- the fast path ----------------------------------------------------------------- */

void lx_fastpath_clean(struct lx_bpf *bpf)
{
}

bool lx_fastpath_look(struct lx_fastpath *fastpath)
{
	return false;
}

int lx_fastpath_mend(struct lx_fastpath *fastpath)
{
	return 0;
}

void lx_fastpath_retry(struct lx_fastpath *fastpath)
{
}

int lx_fastpath_new(struct lx_bpf *bpf, struct lx_fastpath **ret_fastpath)
{
	*ret_fastpath = NULL;
	return -EOPNOTSUPP;
}

void lx_fastpath_free(struct lx_fastpath *fastpath)
{
}

void lx_fastpath_count_tx_dropped(struct lx_bpf_info *info)
{
}

/* None of these is called, as there is no fast path. */

int lx_trial(struct lx_fastpath *fastpath)
{
	return -EOPNOTSUPP;
}

int lx_fastpath_attach(struct lx_fastpath *fastpath, const char *ifname)
{
	return -EOPNOTSUPP;
}

void lx_fastpath_info(struct lx_fastpath *fastpath, unsigned int streams_max,
		      struct lx_bpf_info *info)
{
}

int lx_fastpath_stream_list(struct lx_fastpath *fastpath, struct lx_stream_info **ret_list,
			    size_t *ret_n)
{
	return -EOPNOTSUPP;
}

int lx_fastpath_lane_list(struct lx_fastpath *fastpath, struct lx_lane_info **ret_list,
			  size_t *ret_n)
{
	return -EOPNOTSUPP;
}

int lx_fastpath_trace_start(struct lx_fastpath *fastpath)
{
	return -EOPNOTSUPP;
}

void lx_fastpath_trace_stop(struct lx_fastpath *fastpath)
{
}

void lx_fastpath_trace_read(struct lx_fastpath *fastpath,
			    void (*fn)(const struct lx_trace *t, uint64_t lost, void *arg),
			    void *arg)
{
}

/* ---- the guard --------------------------------------------------------------------- */

/* No NI gets a guard. */
int lx_guard_addr(const struct lx_nid *nid, uint8_t ret_addr[16])
{
	return -EAFNOSUPPORT;
}

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

void lx_guard_place(struct lx_guard *guard, const struct lx_guard_ni *ni, size_t n, bool secure)
{
}

int lx_guard_ban(struct lx_guard *guard, const struct lx_nid *nid)
{
	return -EOPNOTSUPP;
}

int lx_guard_unban(struct lx_guard *guard, const struct lx_nid *nid)
{
	return -EOPNOTSUPP;
}

int lx_guard_prefix_set(struct lx_guard *guard, const struct lx_guard_prefix *prefix,
			enum lx_guard_action action)
{
	return -EOPNOTSUPP;
}

int lx_guard_prefix_del(struct lx_guard *guard, const struct lx_guard_prefix *prefix)
{
	return -EOPNOTSUPP;
}

int lx_guard_mode(struct lx_guard *guard, enum lx_guard_mode mode)
{
	return -EOPNOTSUPP;
}

int lx_guard_rate(struct lx_guard *guard, uint32_t rate, uint32_t burst)
{
	return -EOPNOTSUPP;
}

int lx_guard_info(struct lx_guard *guard, struct lx_guard_info *ret_info)
{
	memset(ret_info, 0, sizeof(*ret_info));
	strcpy(ret_info->reason, reason(guard->bpf));
	return 0;
}

int lx_guard_counts(struct lx_guard *guard, uint64_t *ret_count)
{
	return -EOPNOTSUPP;
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
