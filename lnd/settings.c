/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The settings of each transport's NIs. Apart from the transports, so that tools have the names
 * and ranges without them.
 */
#include <internal/ni_setting.h>

#include "o2ib/tunables.h"
#include "sock/tunables.h"

const struct lx_conf_ni_setting *lx_conf_lnd_settings(uint8_t net_type)
{
	static const struct lx_conf_ni_setting tcp[] = LX_NI_SETTING_TABLE(LX_SOCK_NI_SETTINGS);

#ifdef LX_O2IB
	static const struct lx_conf_ni_setting o2ib[] = LX_NI_SETTING_TABLE(LX_O2IB_NI_SETTINGS);

	if (net_type == LX_NET_O2IB)
		return o2ib;
#endif
	return net_type == LX_NET_TCP ? tcp : NULL;
}
