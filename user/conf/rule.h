/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rules that create NIs by a machine's addresses (struct lx_conf_rule, control.md 4 and 7.3).
 * Pure: the caller supplies the addresses (user/node/resolve.c).
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
	bool up; /* and not loopback: eligible without being named */
	uint8_t addr[16]; /* the first 4 bytes of an IPv4 address */
};

/* Returns 0 or -EINVAL. */
int lx_iprange_parse(const char *text, struct lx_iprange *ret_range);

/**
 * lx_rules_apply - create the NIs of the rules on a machine
 * @addr: its addresses, those of each interface in the interface's order
 * @ret_ni: to be freed; NULL if there are none
 * Returns 0, -ENOENT no rule applies, -ENODEV a rule needs an interface that is up and there
 * is none, -ENOMEM.
 */
int lx_rules_apply(const struct lx_conf_rule *rule, size_t n_rules,
		   const struct lx_conf_addr *addr, size_t n_addrs, struct lx_conf_ni **ret_ni,
		   size_t *ret_n);

void lx_rule_fini(struct lx_conf_rule *rule);

#endif
