/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Reads all files of names each time; writes only one of our own. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "rttable.h"

#define FIRST_FREE 256 /* below are the kernel's own, and numbers that fit a byte */

static const char *const patterns[] = { "/usr/share/iproute2/rt_tables", "/etc/iproute2/rt_tables",
					"/usr/share/iproute2/rt_tables.d/*.conf",
					"/etc/iproute2/rt_tables.d/*.conf" };

struct search {
	const char *name;
	unsigned int found, highest; /* found 0: not yet; 0 is no table of routes */
};

const char *lx_rttable_path(void)
{
	const char *path = getenv("LNETX_RT_TABLES");

	return path && *path ? path : LX_RTTABLE_FILE;
}

/* Lines are "NUMBER NAME"; "#" starts a comment. */
static void search_file(const char *path, struct search *s)
{
	FILE *f = fopen(path, "re");
	char line[256], name[64];
	unsigned int number;
	int n;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, " 0x%x%n", &number, &n) != 1 &&
		    sscanf(line, " %u%n", &number, &n) != 1)
			continue;
		if (sscanf(line + n, " %63s", name) != 1)
			continue;
		if (number > s->highest)
			s->highest = number;
		if (!strcmp(name, s->name))
			s->found = number;
	}
	if (f)
		fclose(f);
}

/*
 * True if the table has a number; otherwise @ret_number is free. If a file of names is given,
 * only that one names tables, but their numbers are free in all.
 */
static bool search_all(const char *name, unsigned int *ret_number)
{
	struct search s = { .name = name, .highest = FIRST_FREE - 1 };
	glob_t g;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		if (glob(patterns[i], 0, NULL, &g))
			continue;
		for (size_t j = 0; j < g.gl_pathc; j++)
			search_file(g.gl_pathv[j], &s);
		globfree(&g);
	}
	if (strcmp(lx_rttable_path(), LX_RTTABLE_FILE))
		s.found = 0;
	search_file(lx_rttable_path(), &s);
	*ret_number = s.found ? s.found : s.highest + 1;
	return s.found;
}

/* As "mkdir -p" for the directory of a file. */
static void make_directories(const char *path)
{
	char dir[256];

	for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		mkdir(dir, 0755);
	}
}

/* Everybody who may read the file can lock it, for ever. */
static int lock(int fd)
{
	for (int i = 0; i < 20; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		usleep(100000);
	}
	return -EBUSY;
}

int lx_rttable_number(const char *name, bool create, unsigned int *ret_number)
{
	const char *path = lx_rttable_path();
	int fd LX_AUTO_CLOSE = -1;
	int err;

	if (search_all(name, ret_number))
		return 0;
	if (!create)
		return 1;
	make_directories(path);
	/* Under a lock: another process may be about to take the same number. */
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return -errno;
	err = lock(fd);
	if (err)
		return err;
	if (search_all(name, ret_number))
		return 0;
	return dprintf(fd, "%u %s\n", *ret_number, name) < 0 ? -errno : 1;
}
