/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes files as /proc/sys/lnet has them; see the header. Called by main.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <internal/ctl.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "columns.h"
#include "daemon.h"
#include "procfiles.h"

#define PATH_TEXT 300

static struct {
	int dir; /* locked; -1: we write no files */
	uint64_t due_ms; /* on the loop's clock */
	int told; /* the error of the last time, which is logged */
} procfiles = { .dir = -1, .told = 1 };

static const char *folder(char *buf, size_t size)
{
	snprintf(buf, size, "%s/lnet", lx_ctl_rundir());
	return buf;
}

static int read_interval(const char *module, const struct lx_tunable *t, const char *value,
			 void *arg)
{
	bool found = !strcmp(module, "lnet") && !strcmp(t->name, "procfiles_interval");

	if (found)
		*(uint64_t *)arg = strtoull(value, NULL, 10) * 1000;
	return found;
}

/* The lock says whose folder it is, and ends with the process. */
static int open_folder(void)
{
	char path[PATH_TEXT];
	int err;

	folder(path, sizeof(path));
	if (mkdir(path, 0755) && errno != EEXIST)
		return -errno;
	procfiles.dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (procfiles.dir < 0)
		return -errno;
	if (!flock(procfiles.dir, LOCK_EX | LOCK_NB))
		return 0;
	err = errno == EWOULDBLOCK ? -EBUSY : -errno;
	close(procfiles.dir);
	procfiles.dir = -1;
	return err;
}

/* Readers have the old file or the new one. */
static int write_file(const char *name, const char *text)
{
	char new[40];
	size_t len = strlen(text);
	bool whole;
	int fd;

	snprintf(new, sizeof(new), ".%s.new", name);
	fd = openat(procfiles.dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0644);
	if (fd < 0)
		return -errno;
	fchmod(fd, 0644); /* whatever the umask is */
	whole = write(fd, text, len) == (ssize_t)len;
	close(fd);
	if (!whole || renameat(procfiles.dir, new, procfiles.dir, name)) {
		unlinkat(procfiles.dir, new, 0);
		return whole ? -errno : -ENOSPC;
	}
	return 0;
}

static int write_all(struct lx_node *node)
{
	int err = procfiles.dir < 0 ? open_folder() : 0;

	for (size_t i = 0; !err && lx_columns_name(i); i++) {
		char *text LX_AUTO_FREE = NULL;

		err = lx_columns_text(node, lx_columns_name(i), &text);
		if (!err)
			err = write_file(lx_columns_name(i), text);
	}
	return err;
}

/* Once for each reason. */
static void tell(int err)
{
	char path[PATH_TEXT];

	if (err == procfiles.told)
		return;
	procfiles.told = err;
	folder(path, sizeof(path));
	if (!err)
		lx_info("files=%s action=\"written from now on\"", path);
	else
		lx_warn("files=%s action=\"not written\" reason=\"%s\" next=\"mend this, or set "
			"procfiles_interval to 0\"", path,
			err == -EBUSY ? "another lnetxd writes them" : strerror(-err));
}

void lx_procfiles_end(void)
{
	char path[PATH_TEXT];

	procfiles.due_ms = 0;
	procfiles.told = 1; /* the next time is told, whatever comes of it */
	if (procfiles.dir < 0)
		return;
	for (size_t i = 0; lx_columns_name(i); i++)
		unlinkat(procfiles.dir, lx_columns_name(i), 0);
	rmdir(folder(path, sizeof(path)));
	close(procfiles.dir);
	procfiles.dir = -1;
}

void lx_procfiles_look(struct lx_daemon *d)
{
	uint64_t interval_ms = 0, now = uv_now(d->loop);

	if (d->node)
		lx_tunable_each(d->node, read_interval, &interval_ms);
	if (!interval_ms) {
		lx_procfiles_end();
		return;
	}
	if (now < procfiles.due_ms && procfiles.due_ms - now <= interval_ms)
		return;
	procfiles.due_ms = now + interval_ms;
	tell(write_all(d->node));
}
