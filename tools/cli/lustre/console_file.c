/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the console's memory is between commands; see the header. Called by lst.c and keeper.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>
#include <unistd.h>

#include "../../../user/base/clock.h"
#include "../common/json.h"
#include "console_file.h"

int64_t lx_console_now(void)
{
	return lx_clock_ns(CLOCK_BOOTTIME) / LX_S_NS;
}

/* "/run/lnetx/a.sock" and ".lst": "/run/lnetx/a.lst" */
static int open_beside(const char *socket, const char *suffix)
{
	const char *end = strrchr(socket, '.');
	char path[PATH_MAX];
	int n = end && !strchr(end, '/') ? (int)(end - socket) : (int)strlen(socket), fd;

	if (snprintf(path, sizeof(path), "%.*s%s", n, socket, suffix) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd < 0 ? -errno : fd;
}

/* Waits for a lock, whatever signals come. */
static int lock(int fd, int how)
{
	while (flock(fd, how)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static bool is_kept(int keeper_fd)
{
	if (lock(keeper_fd, LOCK_SH | LOCK_NB))
		return true;
	flock(keeper_fd, LOCK_UN);
	return false;
}

static int close_with(struct lx_console_file *f, int err)
{
	if (f->keeper_fd >= 0)
		close(f->keeper_fd);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = f->keeper_fd = -1;
	json_decref(f->console);
	f->console = NULL;
	return err;
}

int lx_console_file_open(struct lx_console_file *f, const char *socket)
{
	int err;

	*f = (struct lx_console_file){ .fd = -1, .keeper_fd = -1 };
	snprintf(f->socket, sizeof(f->socket), "%s", socket);
	f->fd = open_beside(socket, ".lst");
	if (f->fd < 0)
		return close_with(f, f->fd);
	f->keeper_fd = open_beside(socket, ".lst.keeper");
	if (f->keeper_fd < 0)
		return close_with(f, f->keeper_fd);
	err = lock(f->fd, LOCK_EX);
	if (err)
		return close_with(f, err);
	if (is_kept(f->keeper_fd))
		f->console = json_loadfd(f->fd, 0, NULL);
	return 0;
}

static int save(struct lx_console_file *f)
{
	if (lseek(f->fd, 0, SEEK_SET) < 0 || ftruncate(f->fd, 0))
		return -errno;
	if (f->console && json_dumpfd(f->console, f->fd, JSON_COMPACT))
		return -EIO;
	return 0;
}

int lx_console_file_close(struct lx_console_file *f)
{
	return f->fd < 0 ? 0 : close_with(f, save(f));
}

int lx_console_file_keep(struct lx_console_file *f)
{
	return lock(f->keeper_fd, LOCK_EX);
}

/* It is the keeper: it has the lock, or there would be no session. And it saves nothing now. */
void lx_console_file_drop(struct lx_console_file *f)
{
	pid_t pid = lx_json_int(f->console, "keeper");

	if (pid > 1)
		kill(pid, SIGTERM);
	json_decref(f->console);
	f->console = NULL;
}
