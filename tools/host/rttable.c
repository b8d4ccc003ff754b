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

#include "../../user/base/array.h"
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

	for (size_t i = 0; i < LX_ARRAY_LEN(patterns); i++) {
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

/* Everybody who may read the file can lock it, for ever. -ESTALE: somebody has removed it. */
static int lock(int fd)
{
	struct stat st;

	for (int i = 0; i < 20; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return !fstat(fd, &st) && st.st_nlink ? 0 : -ESTALE;
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

/* ---- marks ------------------------------------------------------------------------- */

static bool parse_mark(const char *line, struct lx_rttable_mark *ret_mark)
{
	ret_mark->named = *line != '#';
	return sscanf(line + !ret_mark->named, " %u %15s # net add %63s", &ret_mark->number,
		      ret_mark->name, ret_mark->by) == 3;
}

int lx_rttable_marks(struct lx_rtnl_list *list)
{
	FILE *f = fopen(lx_rttable_path(), "re");
	struct lx_rttable_mark mark;
	char line[256];
	int err = 0;

	while (f && !err && fgets(line, sizeof(line), f)) {
		if (parse_mark(line, &mark))
			err = lx_rtnl_list_add(list, &mark, sizeof(mark));
	}
	if (f)
		fclose(f);
	return err;
}

/* Copies the lines that stay, and the one that takes the place of the table's. */
static void write_lines(FILE *from, FILE *to, const struct lx_rttable_mark *mark,
			enum lx_rttable_change change)
{
	struct lx_rttable_mark was, now = *mark;
	char line[256], plain[64];

	snprintf(plain, sizeof(plain), "%u %s\n", mark->number, mark->name);
	while (fgets(line, sizeof(line), from)) {
		if (parse_mark(line, &was) && was.number == mark->number &&
		    !strcmp(was.name, mark->name)) {
			now.named = was.named;
			if (change == LX_RTTABLE_ADDED && strcmp(was.by, mark->by))
				change = LX_RTTABLE_KEPT;
		} else if (!mark->named || strcmp(line, plain)) {
			fputs(line, to);
		}
	}
	if (change == LX_RTTABLE_ADDED)
		fprintf(to, "%s%u %s # net add %s\n", now.named ? "" : "# ", now.number, now.name,
			now.by);
	else if (change == LX_RTTABLE_KEPT && now.named)
		fputs(plain, to);
}

int lx_rttable_mark(const struct lx_rttable_mark *mark, enum lx_rttable_change change)
{
	const char *path = lx_rttable_path();
	int create = change == LX_RTTABLE_ADDED ? O_CREAT : 0;
	char *text LX_AUTO_FREE = NULL;
	int fd LX_AUTO_CLOSE = -1;
	FILE *from, *to;
	size_t len;
	int err;

	if (create)
		make_directories(path);
	fd = open(path, O_RDWR | create | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : lock(fd);
	if (err)
		return err == -ENOENT ? 0 : err;
	from = fopen(path, "re");
	to = open_memstream(&text, &len);
	if (from && to)
		write_lines(from, to, mark, change);
	else
		err = -errno;
	if (from)
		fclose(from);
	if (to && fclose(to))
		err = -ENOMEM;
	if (!err && !len && !unlink(path))
		return 0;
	if (!err && (pwrite(fd, text, len, 0) != (ssize_t)len || ftruncate(fd, (off_t)len)))
		err = -errno;
	return err;
}
