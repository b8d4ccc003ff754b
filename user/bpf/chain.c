/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../io/netlink.h"
#include "chain.h"
#include "hook.h"

/* ---- tcx --------------------------------------------------------------------------- */

/* What bpf(BPF_PROG_QUERY) takes since Linux 6.6. */
struct query {
	uint32_t ifindex, attach_type, query_flags, attach_flags;
	uint64_t ids;
	uint32_t n, unused;
	uint64_t prog_flags, link_ids, link_flags, revision;
};

static int read_tcx(unsigned int ifindex, bool egress, struct lx_chain *ret_chain)
{
	uint32_t id[LX_CHAIN_MAX];
	struct query q = { .ifindex = ifindex,
			   .attach_type = egress ? LX_BPF_TCX_EGRESS : LX_BPF_TCX_INGRESS,
			   .ids = (uintptr_t)id,
			   .n = LX_CHAIN_MAX };

	if (syscall(__NR_bpf, BPF_PROG_QUERY, &q, sizeof(q)))
		return errno == ENOENT ? 0 : -errno;
	for (; ret_chain->n < q.n && ret_chain->n < LX_CHAIN_MAX; ret_chain->n++)
		ret_chain->program[ret_chain->n] =
			(struct lx_chain_program){ .id = id[ret_chain->n] };
	return 0;
}

/* ---- clsact ------------------------------------------------------------------------ */

static uint32_t bpf_id(const struct nlattr *options)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested (attr, options) {
		if (mnl_attr_get_type(attr) == TCA_BPF_ID)
			return mnl_attr_get_u32(attr);
	}
	return 0;
}

/* By priority; the filters of one priority and type as they run. */
static int on_filter(const struct nlmsghdr *nlh, void *arg)
{
	const struct tcmsg *tc = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *kind = lx_netlink_attr(nlh, sizeof(*tc), TCA_KIND);
	const struct nlattr *options = lx_netlink_attr(nlh, sizeof(*tc), TCA_OPTIONS);
	const struct nlattr *chain = lx_netlink_attr(nlh, sizeof(*tc), TCA_CHAIN);
	struct lx_chain *c = arg;
	struct lx_chain_program *p = &c->program[c->n];

	/* Handle 0: a group of filters, which follow. Others are only gone to from chain 0. */
	if (c->n == LX_CHAIN_MAX || !kind || !tc->tcm_handle || (chain && mnl_attr_get_u32(chain)))
		return MNL_CB_OK;
	*p = (struct lx_chain_program){ .priority = TC_H_MAJ(tc->tcm_info) >> 16,
					.handle = tc->tcm_handle };
	snprintf(p->kind, sizeof(p->kind), "%s", mnl_attr_get_str(kind));
	if (options && !strcmp(p->kind, "bpf"))
		p->id = bpf_id(options);
	c->n++;
	return MNL_CB_OK;
}

/* Without the qdisc there are none. */
static int read_clsact(unsigned int ifindex, bool egress, struct lx_chain *ret_chain)
{
	struct tcmsg tc = { .tcm_family = AF_UNSPEC,
			    .tcm_ifindex = (int)ifindex,
			    .tcm_parent = TC_H_MAKE(TC_H_CLSACT,
						    egress ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS) };
	union lx_netlink_request request;

	return lx_netlink_ask(
		NETLINK_ROUTE,
		lx_netlink_request(&request, RTM_GETTFILTER, NLM_F_DUMP, &tc, sizeof(tc)),
		on_filter, ret_chain);
}

int lx_chain_read(unsigned int ifindex, bool egress, bool tcx, struct lx_chain *ret_chain)
{
	ret_chain->n = 0;
	return tcx ? read_tcx(ifindex, egress, ret_chain) : read_clsact(ifindex, egress, ret_chain);
}

/* ---- names ------------------------------------------------------------------------- */

bool lx_chain_describe(const struct lx_chain_program *p, char *ret_text, size_t size)
{
	int fd LX_AUTO_CLOSE = p->id ? bpf_prog_get_fd_by_id(p->id) : -1;
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (!p->id) {
		snprintf(ret_text, size, "a filter of tc (%s, priority %u)", p->kind, p->priority);
		return false;
	}
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len)) {
		snprintf(ret_text, size, "program %u", p->id);
		return false;
	}
	snprintf(ret_text, size, "%.*s (program %u of uid %u)", (int)sizeof(info.name),
		 info.name[0] ? info.name : "a program without a name", p->id, info.created_by_uid);
	return !strncmp(info.name, "lnetx_", strlen("lnetx_"));
}
