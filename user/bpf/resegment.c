/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <string.h>

#include "../base/hash.h"
#include "../io/netif.h"
#include "link.h"
#include "resegment.h"

#define NAME_DIGITS 5

/*
 * Instances may share a network namespace, and each must find what it left there. An
 * interface name has no room for the instance's name, so it has its hash.
 */
struct lx_resegment lx_resegment_names(const char *instance)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	char hash[NAME_DIGITS + 1] = "";
	uint64_t h = lx_hash_bytes(instance, strlen(instance));
	struct lx_resegment pair = { .no_cut = 0 };

	for (unsigned int i = 0; i < NAME_DIGITS; i++, h /= sizeof(digits) - 1)
		hash[i] = digits[h % (sizeof(digits) - 1)];
	snprintf(pair.in, sizeof(pair.in), "lnetx-seg%s0", hash);
	snprintf(pair.out, sizeof(pair.out), "lnetx-seg%s1", hash);
	snprintf(pair.cut, sizeof(pair.cut), "lnetx-cut%s", hash);
	snprintf(pair.near, sizeof(pair.near), "lnetx-try%s0", hash);
	snprintf(pair.far, sizeof(pair.far), "lnetx-try%s1", hash);
	return pair;
}

void lx_resegment_del(const char *instance)
{
	struct lx_resegment pair = lx_resegment_names(instance);

	lx_link_del(pair.in);
	lx_link_del(pair.near);
}

static int set_up(const char *ifname, const char *instance)
{
	char alias[128];

	snprintf(alias, sizeof(alias), "lnetxd %s: takes GSO packets apart", instance);
	return lx_link_up(ifname, alias);
}

/* One end must not join segments again, the other must. */
static int prepare(const char *ifname, const char *instance, bool gro)
{
	int r = lx_netif_set_tso(ifname, false);

	if (!r)
		r = lx_netif_set_gro(ifname, gro);
	return r ? r : set_up(ifname, instance);
}

bool lx_resegment_holds(const char *instance)
{
	struct lx_resegment pair = lx_resegment_names(instance);

	return lx_netif_is_up(pair.in) && lx_netif_is_up(pair.out) && !lx_netif_tso(pair.in) &&
	       !lx_netif_tso(pair.out);
}

int lx_resegment_add(const char *instance, struct lx_resegment *ret_pair)
{
	struct lx_resegment pair = lx_resegment_names(instance);
	int r;

	lx_resegment_del(instance);
	r = lx_link_add_veth(pair.in, pair.out);
	if (!r)
		r = prepare(pair.in, instance, true);
	if (!r)
		r = prepare(pair.out, instance, false);
	if (r) {
		lx_resegment_del(instance);
		return r;
	}
	lx_link_wait(pair.in);
	lx_link_wait(pair.out);
	pair.no_cut = lx_link_add_macvlan(pair.cut, pair.out);
	if (!pair.no_cut)
		pair.no_cut = set_up(pair.cut, instance);
	*ret_pair = pair;
	return 0;
}
