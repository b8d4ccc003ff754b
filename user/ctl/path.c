/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where an lnetxd's socket is (internal/ctl.h). Used by the daemon and its clients. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <internal/ctl.h>

#include "../base/netns.h"

static bool instance_ok(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_.-");

	return len && !name[len] && len < LX_INSTANCE_TEXT && name[0] != '.';
}

int lx_ctl_instance(const char *name, char *buf, size_t size)
{
	unsigned long netns = lx_netns_own();

	if (!name)
		name = getenv("LNETX_INSTANCE");
	if (name && !instance_ok(name))
		return -EINVAL;
	if (name)
		return (size_t)snprintf(buf, size, "%s", name) < size ? 0 : -EINVAL;
	if (!netns)
		return -errno;
	snprintf(buf, size, "net-%lu", netns);
	return 0;
}

const char *lx_ctl_rundir(void)
{
	const char *dir = getenv("LNETX_RUNDIR");

	return dir && *dir ? dir : LX_CTL_RUNDIR;
}

int lx_ctl_path(const char *instance, char *buf, size_t size)
{
	if ((size_t)snprintf(buf, size, "%s/%s.sock", lx_ctl_rundir(), instance) >= size)
		return -ENAMETOOLONG;
	return 0;
}
