/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by doctor.c. */
#include <glob.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "../../user/base/line.h"
#include "rxqueue.h"

#define CLASS_NET "/sys/class/net/"
#define DEPTH_MAX 4 /* a VLAN on a bond on cards, and one more */
#define GROUP_BITS 32

static bool is_zero(const char *file)
{
	char mask[4096];

	return !lx_line_read(mask, sizeof(mask), "%s", file) && !mask[strspn(mask, "0,")];
}

static bool has_one_queue(const char *ifname, char *ret_file, size_t size)
{
	char pattern[96];
	bool one;
	glob_t g;

	snprintf(pattern, sizeof(pattern), CLASS_NET "%s/queues/rx-*/rps_cpus", ifname);
	if (glob(pattern, 0, NULL, &g))
		return false;
	one = g.gl_pathc == 1;
	snprintf(ret_file, size, "%s", g.gl_pathv[0]);
	globfree(&g);
	return one;
}

static bool lone(const char *ifname, int depth, char *ret_ifname, char *ret_file, size_t size)
{
	char pattern[96];
	bool found = false;
	glob_t g;

	snprintf(pattern, sizeof(pattern), CLASS_NET "%s/lower_*", ifname);
	if (glob(pattern, 0, NULL, &g)) {
		snprintf(ret_ifname, IFNAMSIZ, "%s", ifname);
		return has_one_queue(ifname, ret_file, size) && is_zero(ret_file);
	}
	for (size_t i = 0; i < g.gl_pathc && !found && depth < DEPTH_MAX; i++)
		found = lone(strrchr(g.gl_pathv[i], '/') + strlen("/lower_"), depth + 1, ret_ifname,
			     ret_file, size);
	globfree(&g);
	return found;
}

bool lx_rxqueue_lone(const char *ifname, char *ret_ifname, char *ret_file, size_t size)
{
	return lone(ifname, 0, ret_ifname, ret_file, size);
}

const char *lx_rxqueue_mask(unsigned int n_cpus, char *buf, size_t size)
{
	unsigned int first = n_cpus % GROUP_BITS;
	size_t len = 0;

	if (first)
		len = snprintf(buf, size, "%x", (1u << first) - 1);
	for (unsigned int i = 0; i < n_cpus / GROUP_BITS && len < size; i++)
		len += snprintf(buf + len, size - len, "%sffffffff", len ? "," : "");
	return buf;
}
