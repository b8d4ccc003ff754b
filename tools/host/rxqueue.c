/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by doctor.c. */
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "../../user/base/line.h"
#include "../../user/io/netif.h"
#include "rxqueue.h"

#define CLASS_NET "/sys/class/net/"
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

struct file {
	char *name;
	size_t size;
};

static bool is_lone(const char *ifname, void *arg)
{
	struct file *file = arg;

	return has_one_queue(ifname, file->name, file->size) && is_zero(file->name);
}

bool lx_rxqueue_lone(const char *ifname, char *ret_ifname, char *ret_file, size_t size)
{
	return lx_netif_find_card(ifname, is_lone, &(struct file){ ret_file, size }, ret_ifname);
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
