/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules that make NIs by the addresses of a machine (struct lx_conf_rule, control.md 4 and 7.3).
 * Pure: the addresses are the caller's to ask for (user/node/rules.c).
 */
#ifndef LX_CONF_RULE_H
#define LX_CONF_RULE_H

#include <lnetx/conf.h>

#include "../base/octets.h"

/* "10.0.[1-3].*", or IPv6: "fd00::/64". */
struct lx_iprange {
	bool v6;
	uint8_t prefix_len; /* IPv6 */
	uint8_t prefix[16];
	struct lx_octets octets; /* IPv4 */
};

/* An address of an interface. */
struct lx_conf_addr {
	char ifname[IF_NAMESIZE];
	bool v6;
	bool up; /* and no loopback: an NI may come up there without having been named */
	uint8_t addr[16]; /* the first 4 bytes of an IPv4 address */
};

/* Returns 0 or -EINVAL. */
int lx_iprange_parse(const char *text, struct lx_iprange *ret_range);

bool lx_iprange_match(const struct lx_iprange *range, bool v6, const uint8_t *addr);

/**
 * lx_rules_apply - the NIs that rules make on a machine
 * @addr: its addresses, those of an interface in the order in which it has them
 * @ret_ni: to be freed; NULL if there are none
 * Returns 0, -ENOENT no rule applies, -ENODEV one needs an interface that is up and there is
 * none, -ENOMEM.
 */
int lx_rules_apply(const struct lx_conf_rule *rule, size_t n_rules,
		   const struct lx_conf_addr *addr, size_t n_addrs, struct lx_conf_ni **ret_ni,
		   size_t *ret_n);

void lx_rule_fini(struct lx_conf_rule *rule);

#endif
