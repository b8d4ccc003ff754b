/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Network namespaces; see the header. Used by the daemon and the tools; no state. */
#include <dirent.h>
#include <limits.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "netns.h"

#define NAMES "/run/netns" /* where "ip netns" keeps its own */

static unsigned long inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (unsigned long)st.st_ino;
}

unsigned long lx_netns_own(void)
{
	return inode_of("/proc/self/ns/net");
}

unsigned long lx_netns_of_socket(int fd)
{
	int ns LX_AUTO_CLOSE = ioctl(fd, SIOCGSKNS);
	struct stat st;

	return ns < 0 || fstat(ns, &st) ? 0 : (unsigned long)st.st_ino;
}

unsigned long lx_netns_of_peer(int fd)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	char path[40];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) || !cred.pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)cred.pid);
	return inode_of(path);
}

static bool is_named(unsigned long inode, const char *name)
{
	char path[sizeof(NAMES) + NAME_MAX + 1];

	snprintf(path, sizeof(path), NAMES "/%s", name);
	return name[0] != '.' && inode_of(path) == inode;
}

const char *lx_netns_name(unsigned long inode, char *buf, size_t size)
{
	DIR *dir = opendir(NAMES);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		found = is_named(inode, entry->d_name);
		if (found)
			snprintf(buf, size, "network namespace %s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (!found && inode_of("/proc/1/ns/net") == inode)
		snprintf(buf, size, "the machine's network namespace");
	else if (!found)
		snprintf(buf, size, "network namespace net:[%lu]", inode);
	return buf;
}
