/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. No state. Called by mrroute.c and doctor_host.c. */
#include <errno.h>

#include "device.h"

int lx_device_addr(const char *nid, union lx_addr *ret_addr)
{
	struct lx_nid parsed;

	if (lx_nid_parse(nid, &parsed) || parsed.type != LX_NET_TCP)
		return -EOPNOTSUPP;
	lx_addr_of_nid(ret_addr, &parsed, 0);
	return 0;
}

int lx_device_of(const char *nid, struct lx_netif *ret_netif)
{
	union lx_addr addr;
	int err = lx_device_addr(nid, &addr);

	if (!err)
		err = lx_netif_by_addr(&addr, "", ret_netif);
	return err ? err : lx_netif_name(ret_netif->index, ret_netif->name);
}
