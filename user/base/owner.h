/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Directories of root that another user takes over. */
#ifndef LX_BASE_OWNER_H
#define LX_BASE_OWNER_H

#include <sys/types.h>

/**
 * lx_owner_give - make a directory a user's, with all below it
 *
 * Creates it if it does not exist. Symbolic links are not followed, other file systems not entered,
 * and files with further names left alone: those may be of somebody else. Files that go away
 * meanwhile do not matter. Returns 0 or -errno.
 */
int lx_owner_give(const char *dir, mode_t mode, uid_t uid, gid_t gid);

#endif
