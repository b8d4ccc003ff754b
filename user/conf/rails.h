/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rails: several NIs of one net on one interface, each on an address of its own
 * ("rails: 4", "rails: 10.2.0.10-13"). Pure: the caller supplies the addresses.
 */
#ifndef LX_CONF_RAILS_H
#define LX_CONF_RAILS_H

#include "rule.h"

/* NIs that one interface gets at most. */
#define LX_RAILS_MAX 64

/**
 * lx_rails_check - whether a text says rails
 * @text: a number of addresses, or the addresses: "10.2.0.10-13", "10.2.0.10-10.2.0.13",
 *	"10.2.0.10,10.2.0.20", "fd00::10-13"
 * @ret_why: says what is wrong, and what is expected
 * Returns 0 or -EINVAL.
 */
int lx_rails_check(const char *text, char *ret_why, size_t size);

/**
 * lx_rails_expand - the NIs of an interface with rails
 * @ni: has rails. A number means the first addresses of the interface, of the family of
 *	ni->nid if it is given, else IPv4 if there are any
 * @addr: the addresses of the machine, those of each interface in the interface's order
 * @ret_ni: to be freed; each has the interface and a NID
 * @ret_why: says what is wrong, and what to do
 * Returns 0, -EINVAL, -EADDRNOTAVAIL the interface does not have these addresses, -ENOMEM.
 */
int lx_rails_expand(const struct lx_conf_ni *ni, const struct lx_conf_addr *addr, size_t n_addrs,
		    struct lx_conf_ni **ret_ni, size_t *ret_n, char *ret_why, size_t size);

#endif
