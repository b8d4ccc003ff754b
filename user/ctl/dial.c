/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connects to control sockets; see the header. Called by ctl.c. No state. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <internal/ctl.h>

#include "../base/cleanup.h"
#include "../base/explain.h"
#include "../base/netns.h"
#include "../base/text.h"
#include "dial.h"

#define PATH_SIZE sizeof(((struct sockaddr_un *)0)->sun_path)

/* The inode number in "net-4026531840", a namespace's default name; else 0. */
static unsigned long netns_of(const char *instance)
{
	unsigned long inode;
	int end = 0;

	return sscanf(instance, "net-%lu%n", &inode, &end) == 1 && !instance[end] ? inode : 0;
}

/* connect() and send() of a unix socket wait while the other end's queue is full. */
static void limit_waiting(int fd, int timeout_ms)
{
	int ms = timeout_ms > 0 ? timeout_ms : 1;
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	if (timeout_ms >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
}

/* Returns the connected socket or -errno. */
static int connect_to(const char *path, int timeout_ms)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, err;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	limit_waiting(fd, timeout_ms);
	if (!connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return fd;
	err = errno == EAGAIN ? -ETIMEDOUT : -errno;
	close(fd);
	return err;
}

/* Formats "net-4026531840 (pid 812, the machine's network namespace)", if it answers. */
static bool describe_running(const char *instance, char *buf, size_t size)
{
	char path[PATH_SIZE], name[NAME_MAX];
	int fd LX_AUTO_CLOSE = lx_ctl_path(instance, path, sizeof(path)) ? -1 : connect_to(path, 0);
	unsigned long netns = netns_of(instance);
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	snprintf(buf, size, "%s (pid %d%s%s)", instance, (int)cred.pid,
		 netns ? ", " : "", netns ? lx_netns_name(netns, name, sizeof(name)) : "");
	return true;
}

/* Lists up to five running instances, and says how many more there are. */
static void list_running(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_SIZE], one[LX_INSTANCE_TEXT + NAME_MAX + 32];
	struct dirent **entry = NULL;
	int n, named = 0, more = 0;

	buf[0] = '\0';
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	n = scandir(dir, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *dot = strrchr(entry[i]->d_name, '.');

		if (dot && !strcmp(dot, ".sock")) {
			*dot = '\0';
			if (!describe_running(entry[i]->d_name, one, sizeof(one)))
				;
			else if (named == 5 || strlen(buf) + strlen(one) + 20 >= size)
				more++;
			else if (++named)
				lx_text_join(buf, size, ", ", one);
		}
		free(entry[i]);
	}
	free(entry);
	if (more) {
		snprintf(one, sizeof(one), "%d more", more);
		lx_text_join(buf, size, " and ", one);
	}
}

static int explain_absent(const char *instance, const char *path, int err, char *text, size_t size)
{
	unsigned long netns = netns_of(instance);
	char where[NAME_MAX + 8], name[NAME_MAX], running[300];

	list_running(path, running, sizeof(running));
	if (netns)
		snprintf(where, sizeof(where), "in %s", lx_netns_name(netns, name, sizeof(name)));
	else
		snprintf(where, sizeof(where), "as instance %s", instance);
	return lx_explain(text, size, err,
			  "no lnetxd runs %s (%s). Next: systemctl start lnetxd, or lnetxd -n "
			  "NAME; if that has failed: journalctl -u lnetxd%s%s", where, path,
			  *running ? "; or LNETX_INSTANCE=NAME of one that runs: " : "", running);
}

int lx_dial(const char *address, int timeout_ms, char *ret_text, size_t text_size)
{
	bool is_path = address && *address == '/';
	char path[PATH_SIZE], instance[LX_INSTANCE_TEXT] = "";
	int err = is_path ? 0 : lx_ctl_instance(address, instance, sizeof(instance));

	if (err && err != -EINVAL)
		return lx_explain(
			ret_text, text_size, err,
			"cannot read /proc/self/ns/net: %s; mount /proc, or name the instance "
			"(-n NAME)",
			strerror(-err));
	if (err)
		return lx_explain(ret_text, text_size, err,
				  "instance \"%s\": letters, digits, '_', '.' "
				  "and '-' are expected",
				  address ? address : "?");
	if (is_path && (size_t)snprintf(path, sizeof(path), "%s", address) >= sizeof(path))
		err = -ENAMETOOLONG;
	else if (!is_path)
		err = lx_ctl_path(instance, path, sizeof(path));
	if (err)
		return lx_explain(ret_text, text_size, err,
				  "the path of the control socket is too long");
	err = connect_to(path, timeout_ms);
	if (err >= 0)
		return err;
	if (!is_path && (err == -ENOENT || err == -ECONNREFUSED))
		return explain_absent(instance, path, err, ret_text, text_size);
	return lx_explain(ret_text, text_size, err, "cannot reach lnetxd at %s: %s", path,
			  strerror(-err));
}
