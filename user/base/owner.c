/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Used by the daemon at start; no state. */
#include <errno.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include "owner.h"

static int give_one(const FTSENT *e, uid_t uid, gid_t gid)
{
	const struct stat *st = e->fts_statp;

	switch (e->fts_info) {
	case FTS_DP: /* of a directory's two entries */
		return 0;
	case FTS_ERR:
	case FTS_DNR:
	case FTS_NS:
		return e->fts_errno == ENOENT ? 0 : -e->fts_errno;
	}
	if (st->st_uid == uid || (!S_ISDIR(st->st_mode) && st->st_nlink > 1))
		return 0;
	return lchown(e->fts_accpath, uid, gid) && errno != ENOENT ? -errno : 0;
}

int lx_owner_give(const char *dir, mode_t mode, uid_t uid, gid_t gid)
{
	char *const roots[] = { (char *)dir, NULL };
	const FTSENT *e;
	int err = 0;
	FTS *all;

	if (mkdir(dir, mode) && errno != EEXIST)
		return -errno;
	/*
	 * fts enters each directory, and checks that it is the one it has seen. If it went by
	 * paths, the directory's owner could put a symbolic link there meanwhile, and get others'
	 * files.
	 */
	all = fts_open(roots, FTS_PHYSICAL | FTS_XDEV, NULL);
	if (!all)
		return -errno;
	while (!err && (e = fts_read(all)))
		err = give_one(e, uid, gid);
	fts_close(all);
	return err;
}
