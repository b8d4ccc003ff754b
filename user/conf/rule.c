/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules that create NIs by a machine's addresses; see the header. No state. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/grow.h"
#include "../base/prefix.h"
#include "rule.h"

int lx_iprange_parse(const char *text, struct lx_iprange *ret_range)
{
	struct lx_iprange range = { .v6 = strchr(text, ':'), .prefix_len = 128 };
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char addr[INET6_ADDRSTRLEN];
	uint32_t bits = 128;

	if (!range.v6) {
		if (lx_octets_parse(text, true, &range.octets))
			return -EINVAL;
		*ret_range = range;
		return 0;
	}
	if (len >= sizeof(addr) ||
	    (slash && lx_octets_number(slash + 1, strlen(slash + 1), 10, 128, &bits)))
		return -EINVAL;
	memcpy(addr, text, len);
	addr[len] = '\0';
	if (inet_pton(AF_INET6, addr, range.prefix) != 1)
		return -EINVAL;
	range.prefix_len = bits;
	*ret_range = range;
	return 0;
}

static bool range_matches(const struct lx_iprange *range, bool v6, const uint8_t *addr)
{
	if (range->v6 != v6)
		return false;
	if (!v6)
		return lx_octets_match(&range->octets, addr);
	return lx_prefix_shares(range->prefix, addr, range->prefix_len);
}

/* ---- application -------------------------------------------------------------------- */

struct machine {
	const struct lx_conf_rule *rule; /* all of them */
	size_t n_rules;
	const struct lx_conf_addr *addr;
	size_t n;
};

/* The NIs so far. */
struct result {
	struct lx_conf_ni *ni;
	size_t n;
};

static bool in_range(const struct lx_conf_rule *rule, const struct lx_conf_addr *addr)
{
	for (size_t i = 0; i < rule->n_ranges; i++) {
		if (range_matches(&rule->range[i], addr->v6, addr->addr))
			return true;
	}
	return rule->always;
}

static bool has_ni(const struct result *r, uint32_t net, const char *ifname)
{
	for (size_t i = 0; i < r->n; i++) {
		if (r->ni[i].net == net && (!ifname || !strcmp(r->ni[i].ifname, ifname)))
			return true;
	}
	return false;
}

static int add(struct result *r, const struct lx_conf_rule *rule, const char *ifname)
{
	struct lx_conf_ni *ni;

	if (has_ni(r, rule->ni.net, ifname))
		return 0;
	ni = lx_grow(&r->ni, &r->n, sizeof(*ni));
	if (!ni)
		return -ENOMEM;
	*ni = rule->ni;
	ni->at = rule->at;
	memcpy(ni->ifname, ifname, IF_NAMESIZE);
	return 0;
}

static const char *first_up(const struct machine *m)
{
	for (int v6 = 0; v6 < 2; v6++) {
		for (size_t i = 0; i < m->n; i++) {
			if (m->addr[i].up && m->addr[i].v6 == v6)
				return m->addr[i].ifname;
		}
	}
	return NULL;
}

static bool applies(const struct lx_conf_rule *rule, const struct machine *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (in_range(rule, &m->addr[i]))
			return true;
	}
	return rule->always;
}

/* True if a rule that applies names the interfaces of a net. */
static bool names_interfaces(const struct machine *m, uint32_t net)
{
	for (size_t i = 0; i < m->n_rules; i++) {
		const struct lx_conf_rule *rule = &m->rule[i];

		if (rule->legacy && rule->ni.net == net && rule->n_ifnames && applies(rule, m))
			return true;
	}
	return false;
}

static int apply_legacy(const struct lx_conf_rule *rule, const struct machine *m,
			struct result *r)
{
	const char *ifname = first_up(m);
	int err = 0;

	for (size_t i = 0; !err && i < rule->n_ifnames; i++)
		err = add(r, rule, rule->ifname[i]);
	if (err || rule->n_ifnames || has_ni(r, rule->ni.net, NULL) ||
	    names_interfaces(m, rule->ni.net))
		return err;
	return ifname ? add(r, rule, ifname) : -ENODEV;
}

/* With an address in range; @ifname NULL: any that is up. */
static int add_in_range(const struct lx_conf_rule *rule, const struct machine *m,
			const char *ifname, struct result *r, bool *ret_any)
{
	int err = 0;

	*ret_any = false;
	for (size_t i = 0; !err && i < m->n; i++) {
		const struct lx_conf_addr *addr = &m->addr[i];

		if (!in_range(rule, addr) || (ifname ? strcmp(ifname, addr->ifname) : !addr->up))
			continue;
		*ret_any = true;
		err = add(r, rule, addr->ifname);
	}
	return err;
}

/*
 * Adds NIs on interfaces whose addresses are in range, in the order of their names. If the rule
 * names interfaces, it applies only if all of them match.
 */
static int apply_by_address(const struct lx_conf_rule *rule, const struct machine *m,
			    struct result *r)
{
	size_t before = r->n;
	bool any;
	int err = 0;

	if (!rule->n_ifnames)
		return add_in_range(rule, m, NULL, r, &any);
	for (size_t i = 0; !err && i < rule->n_ifnames; i++) {
		err = add_in_range(rule, m, rule->ifname[i], r, &any);
		if (!any) {
			r->n = before;
			break;
		}
	}
	return err;
}

/* Section "ip2nets": the first rule of a net that applies counts. */
static int apply_section(const struct lx_conf_rule *rule, const struct machine *m,
			 struct result *r)
{
	if (has_ni(r, rule->ni.net, NULL))
		return 0;
	if (rule->always)
		return apply_legacy(rule, m, r);
	return apply_by_address(rule, m, r);
}

int lx_rules_apply(const struct lx_conf_rule *rule, size_t n_rules,
		   const struct lx_conf_addr *addr, size_t n_addrs, struct lx_conf_ni **ret_ni,
		   size_t *ret_n)
{
	const struct machine m = { rule, n_rules, addr, n_addrs };
	struct result r = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < n_rules; i++) {
		if (!rule[i].legacy)
			err = apply_section(&rule[i], &m, &r);
		else if (applies(&rule[i], &m))
			err = apply_legacy(&rule[i], &m, &r);
	}
	if (!err && n_rules && !r.n)
		err = -ENOENT;
	if (err) {
		free(r.ni);
		return err;
	}
	*ret_ni = r.ni;
	*ret_n = r.n;
	return 0;
}

void lx_rule_fini(struct lx_conf_rule *rule)
{
	free(rule->ifname);
	free(rule->range);
}
