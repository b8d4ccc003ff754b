/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See iface.h. For fastpath.c and guard.c, when they attach interfaces, or look again. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/xfrm.h>
#include <string.h>

#include "../base/explain.h"
#include "../io/netif.h"
#include "../io/netlink.h"
#include "iface.h"

static int on_policies(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *info = lx_netlink_attr(nlh, sizeof(uint32_t), XFRMA_SPD_INFO);

	if (info && mnl_attr_get_payload_len(info) >= sizeof(struct xfrmu_spdinfo))
		memcpy(arg, mnl_attr_get_payload(info), sizeof(struct xfrmu_spdinfo));
	return MNL_CB_OK;
}

/* A kernel without IPsec has none, and no such bus. */
static unsigned int n_policies(void)
{
	struct xfrmu_spdinfo info = { 0 };
	union lx_netlink_request request;

	lx_netlink_ask(NETLINK_XFRM,
		       lx_netlink_request(&request, XFRM_MSG_GETSPDINFO, 0, &(uint32_t){ ~0u },
					  sizeof(uint32_t)),
		       on_policies, &info);
	return info.incnt + info.outcnt;
}

bool lx_iface_has_ipsec(void)
{
	return n_policies();
}

int lx_iface_carries(const char *ifname, char *ret_reason, size_t size)
{
	char driver[IFNAMSIZ];

	if (lx_netif_driver(ifname, driver, sizeof(driver)) || strcmp(driver, "dummy"))
		return 0;
	return lx_explain(ret_reason, size, -EOPNOTSUPP, "%s is a dummy, which no packet passes",
			  ifname);
}

int lx_iface_check(const char *ifname, char *ret_reason, size_t size)
{
	int is_ethernet = lx_netif_is_ethernet(ifname);
	char card[IFNAMSIZ];
	unsigned int n;
	int r;

	if (is_ethernet < 0 && is_ethernet != -ENODEV)
		return lx_explain(ret_reason, size, is_ethernet, "cannot query %s: %s", ifname,
				  strerror(-is_ethernet));
	if (is_ethernet != 1)
		return lx_explain(ret_reason, size, -EAFNOSUPPORT, "%s is not an Ethernet device",
				  ifname);
	if (lx_netif_index(ifname) > 0xffff) /* of a mark's 32 bits, 16 are for the index */
		return lx_explain(ret_reason, size, -EOPNOTSUPP,
				  "the index of %s is above 65535; create it again with a smaller "
				  "one (ip link add index N)", ifname);
	r = lx_iface_carries(ifname, ret_reason, size);
	if (r)
		return r;
	if (lx_netif_vrf(lx_netif_index(ifname)))
		return lx_explain(ret_reason, size, -EOPNOTSUPP, "%s is in a VRF", ifname);
	if (lx_netif_has_lro(ifname, card))
		return lx_explain(ret_reason, size, -EOPNOTSUPP,
				  "%s has large receive offload on; \"ethtool -K %s lro off\"",
				  card, card);
	n = n_policies();
	if (n)
		return lx_explain(
			ret_reason, size, -EOPNOTSUPP,
			"IPsec policies are set (ip xfrm policy lists %u), which it would bypass",
			n);
	return 0;
}
