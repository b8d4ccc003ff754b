/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Used by the core, and by the daemon and user/conf for error messages. */
#include <errno.h>

#include "explain.h"
#include "policy.h"

static int clause_parse(const char *name, const char *clause, struct lx_nid_range *ret_range,
			char *text, size_t size)
{
	memset(ret_range, 0, sizeof(*ret_range));
	if (!*clause || !lx_nidrange_parse(clause, ret_range))
		return 0;
	return lx_explain(text, size, -EINVAL,
			  "%s \"%.80s\" is neither a net (tcp, tcp[1-3]) nor a range of NIDs "
			  "(10.0.*.[1-9]@tcp)", name, clause);
}

static int check(const struct lx_policy *p, char *text, size_t size)
{
	bool src = lx_policy_has(&p->src), dst = lx_policy_has(&p->dst),
	     rte = lx_policy_has(&p->rte);

	if (!src && !dst && !rte)
		return lx_explain(text, size, -EINVAL,
				  "a policy needs src, dst, rte, src with dst, or dst with rte");
	if (src && rte)
		return lx_explain(text, size, -EINVAL,
				  "src and rte do not go together: a router is preferred for "
				  "destinations (dst and rte)");
	if (p->priority < LX_UNSET || p->priority > UINT32_MAX)
		return lx_explain(text, size, -EINVAL, "priority is not in 0..%u, 0 being best",
				  UINT32_MAX);
	return 0;
}

int lx_policy_parse(const struct lx_conf_udsp *conf, struct lx_policy *ret_policy, char *text,
		    size_t size)
{
	struct lx_policy *p = ret_policy;
	int r;

	p->priority = conf->priority;
	r = clause_parse("src", conf->src, &p->src, text, size);
	if (!r)
		r = clause_parse("dst", conf->dst, &p->dst, text, size);
	if (!r)
		r = clause_parse("rte", conf->rte, &p->rte, text, size);
	if (!r)
		r = check(p, text, size);
	/* A single src or dst without a priority has the best one. */
	if (!r && p->priority == LX_UNSET && !lx_policy_has(&p->rte) &&
	    lx_policy_has(&p->src) != lx_policy_has(&p->dst))
		p->priority = 0;
	return r;
}

void lx_policy_format(const struct lx_policy *policy, struct lx_conf_udsp *conf)
{
	lx_nidrange_format(&policy->src, conf->src, sizeof(conf->src));
	lx_nidrange_format(&policy->dst, conf->dst, sizeof(conf->dst));
	lx_nidrange_format(&policy->rte, conf->rte, sizeof(conf->rte));
	conf->priority = policy->priority;
}

bool lx_policy_same(const struct lx_policy *a, const struct lx_policy *b)
{
	/* Ranges have no padding, and their unused parts are 0. */
	return !memcmp(&a->src, &b->src, sizeof(a->src)) &&
	       !memcmp(&a->dst, &b->dst, sizeof(a->dst)) &&
	       !memcmp(&a->rte, &b->rte, sizeof(a->rte));
}
