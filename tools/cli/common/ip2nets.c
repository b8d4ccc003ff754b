/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "net add" with rules: NIs by the addresses of this machine; see requests.h. */
#include <errno.h>

#include <lnetx/lnetx.h>

#include "requests.h"

/* If an interface is missing, none. */
static int add_all(struct lx_session *s, const struct lx_args *a, const struct lx_conf *nis)
{
	int err = 0;

	for (size_t i = 0; !err && i < nis->n_nis; i++)
		err = lx_ni_request_check(s, &nis->ni[i]);
	for (size_t i = 0; !err && i < nis->n_nis; i++) {
		struct lx_conf_ni ni = nis->ni[i];

		err = lx_ni_request_settings(s, a, &ni);
		if (!err)
			err = lx_ni_request_add(s, &ni);
	}
	return err;
}

static int add_by_rules(struct lx_session *s, const struct lx_args *a)
{
	struct lx_conf *rules = NULL, *nis = NULL;
	struct lx_conf_error why = { 0 };
	int err;

	if (a->v[LX_ARG_NET] || a->v[LX_ARG_IF] || a->v[LX_ARG_NID] || a->v[LX_ARG_RAILS])
		return lx_session_fail(
			s, -EINVAL,
			"rules name nets and interfaces themselves; give only the rules");
	err = lx_conf_parse_ip2nets(a->v[LX_ARG_IP2NETS], &rules, &why);
	if (!err && !rules->n_rules)
		err = -EINVAL;
	if (!err)
		err = lx_conf_resolve(rules, &nis, &why);
	if (err)
		err = lx_session_fail(s, err, "%s", why.text[0] ? why.text
							       : "ip2nets: there is no rule");
	else
		err = add_all(s, a, nis);
	lx_conf_free(rules);
	lx_conf_free(nis);
	return err;
}

int lx_ip2nets_add(struct lx_session *s, const struct lx_args *a)
{
	return a->v[LX_ARG_IP2NETS] ? add_by_rules(s, a) : lx_ni_request_net_add(s, a);
}
