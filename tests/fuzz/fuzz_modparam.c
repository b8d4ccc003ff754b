/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any text as a module parameter; the first byte chooses which. It is parsed and applied to a
 * machine with some addresses, or refused with a reason. Build like fuzz_conf.c.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/conf/modparam.h"
#include "../../user/conf/rule.h"
#include "fuzz.h"

static const struct lx_conf_addr machine[] = {
	{ .ifname = "eth0", .up = true, .addr = { 10, 77, 0, 3 } },
	{ .ifname = "eth1", .up = true, .addr = { 10, 78, 0, 3 } },
	{ .ifname = "eth1", .up = true, .v6 = true, .addr = { 0xfd, 0x77, [15] = 1 } },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const parsers[])(struct lx_modparam *p, const char *text) = {
		lx_modparam_networks, lx_modparam_ip2nets, lx_modparam_routes,
		lx_modparam_forwarding
	};
	struct lx_modparam p = { 0 };
	struct lx_conf_ni *ni = NULL;
	size_t n = 0;
	char *text;
	int err;

	if (!size || lx_conf_new(&p.conf))
		return 0;
	text = calloc(1, size);
	assert(text);
	memcpy(text, data + 1, size - 1);
	err = parsers[data[0] % 4](&p, text);
	assert(err <= 0 && (err != -EINVAL || p.why[0]));
	if (!err && !lx_rules_apply(p.conf->rule, p.conf->n_rules, machine, 3, &ni, &n)) {
		for (size_t i = 0; i < n; i++)
			assert(ni[i].ifname[0]);
	}
	free(ni);
	free(text);
	lx_conf_free(p.conf);
	return 0;
}
