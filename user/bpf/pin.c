/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pins: finding a bpffs, and directories in it. A directory's symbolic link "owner" says
 * which network namespace it belongs to ("netns:7 pid:1234"): names of instances come
 * from inode numbers, which are reused, and one namespace must not take over the
 * state of another.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/netns.h"
#include "../base/owner.h"
#include "pin.h"

#define STANDARD "/sys/fs/bpf"
#define OURS STANDARD "/lnetx"
#define OF_INIT "/proc/1/root/sys/fs/bpf"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == BPF_FS_MAGIC;
}

/* True if process 1 has the same files there. False if we may not look. */
static bool is_of_init(const char *path, const char *of_init)
{
	struct stat ours, init;

	return !stat(path, &ours) && !stat(of_init, &init) && ours.st_dev == init.st_dev;
}

/* The first existing place; NULL: none. */
static const char *look(void)
{
	if (is_bpffs(STANDARD) || is_bpffs(OURS))
		return STANDARD;
	return is_bpffs(OF_INIT) ? OF_INIT : NULL;
}

static int find_bpffs(const char **ret_root, char ret_note[LX_BPF_TEXT])
{
	ret_note[0] = '\0';
	*ret_root = look();
	if (*ret_root) {
		if (strcmp(*ret_root, STANDARD))
			strcpy(ret_note, "this is " STANDARD " of process 1");
		return 0;
	}
	if (mount("bpf", STANDARD, "bpf", 0, "mode=0700")) {
		snprintf(ret_note, LX_BPF_TEXT,
			 "no bpffs: cannot mount it at " STANDARD
			 ": %s; next: mount -t bpf bpf " STANDARD,
			 strerror(errno));
		return -errno;
	}
	*ret_root = STANDARD;
	if (!is_of_init(STANDARD, OF_INIT))
		snprintf(ret_note, LX_BPF_TEXT,
			 "mounted just now; from other mount namespaces it is below /proc/%d/root",
			 (int)getpid());
	return 0;
}

int lx_pin_path(const char *dir, const char *name, char ret_path[LX_BPF_PATH])
{
	size_t at = strlen(dir) + 1;

	if (at + strlen(name) >= LX_BPF_PATH)
		return -ENAMETOOLONG;
	memcpy(ret_path, dir, at - 1);
	ret_path[at - 1] = '/';
	strcpy(ret_path + at, name);
	for (char *p = ret_path + at; *p; p++) {
		if (*p == '.')
			*p = '%';
	}
	return 0;
}

void lx_pin_clean(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	char path[LX_BPF_PATH];

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.' || lx_pin_path(dir, e->d_name, path))
			continue;
		if (e->d_type == DT_DIR)
			lx_pin_clean(path);
		else
			unlink(path);
	}
	closedir(d);
	rmdir(dir);
}

/* True if there is nothing but the owner's name. */
static bool is_bare(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool bare = true;

	if (!d)
		return false;
	while ((e = readdir(d)))
		bare = bare && (e->d_name[0] == '.' || !strcmp(e->d_name, "owner"));
	closedir(d);
	return bare;
}

void lx_pin_close(const char *dir)
{
	if (dir[0] && is_bare(dir))
		lx_pin_clean(dir);
}

/* A number that no other network namespace has had since the system started. */
static uint64_t netns(void)
{
	int fd LX_AUTO_CLOSE = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie;
	socklen_t len = sizeof(cookie);

	if (fd >= 0 && !getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len))
		return cookie;
	return lx_netns_own(); /* before 5.14 */
}

/* Takes ownership of the directory. */
static int claim(const char *dir)
{
	char path[LX_BPF_PATH], owner[80] = "", expected[40], now[80];
	ssize_t n;
	int err = lx_pin_path(dir, "owner", path);

	if (err)
		return err;
	n = readlink(path, owner, sizeof(owner) - 1);
	snprintf(expected, sizeof(expected), "netns:%llu ", (unsigned long long)netns());
	if (n > 0 && strncmp(owner, expected, strlen(expected))) {
		lx_warn("pins=%s owner=\"%s\" reason=\"left by another network namespace\" "
			"action=removed",
			dir, owner);
		lx_pin_clean(dir);
		if (mkdir(dir, 0700) && errno != EEXIST)
			return -errno;
	}
	unlink(path);
	snprintf(now, sizeof(now), "%spid:%d", expected, (int)getpid());
	return symlink(now, path) ? -errno : 0;
}

static void each_folder(const char *dir, void (*fn)(const char *dir, void *arg), void *arg)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	char path[LX_BPF_PATH];

	while (d && (e = readdir(d))) {
		if (e->d_type == DT_DIR && e->d_name[0] != '.' &&
		    !lx_pin_path(dir, e->d_name, path))
			fn(path, arg);
	}
	if (d)
		closedir(d);
}

void lx_pin_forget(const char *instance, void (*set)(const char *dir, void *arg), void *arg)
{
	char all[LX_BPF_PATH], dir[LX_BPF_PATH];
	const char *root = look();

	if (!root || lx_pin_path(root, "lnetx", all) || lx_pin_path(all, instance, dir))
		return;
	if (set)
		each_folder(dir, set, arg);
	lx_pin_clean(dir);
}

/*
 * Hides this process's mounts from others, and still sees their later ones. In a chroot the root is
 * no mount.
 */
static bool is_apart(void)
{
	return !unshare(CLONE_NEWNS) && (!mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) ||
					 !mount(NULL, STANDARD, NULL, MS_SLAVE, NULL));
}

/* Puts an empty place with nothing but the directory above the bpffs. */
static int hide_others(const char *all)
{
	int dir LX_AUTO_CLOSE = -1;
	char path[40];

	if (!is_apart())
		return -errno;
	dir = open(all, O_PATH | O_DIRECTORY | O_CLOEXEC); /* in this namespace */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir);
	if (dir < 0 ||
	    mount("lnetx", STANDARD, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0755") ||
	    mkdir(OURS, 0700) || mount(path, OURS, NULL, MS_BIND, NULL))
		return -errno;
	return 0;
}

int lx_pin_give(uid_t uid, gid_t gid, char ret_note[LX_BPF_TEXT])
{
	char all[LX_BPF_PATH];
	const char *root;
	struct stat st;
	int err = find_bpffs(&root, ret_note);

	if (err)
		return err;
	err = lx_pin_path(root, "lnetx", all);
	if (!err)
		err = lx_owner_give(all, 0700, uid, gid);
	if (!err && stat(root, &st))
		err = -errno;
	if (!err && !(st.st_mode & S_IXOTH))
		err = hide_others(all);
	if (err)
		snprintf(ret_note, LX_BPF_TEXT, "cannot give away %s/lnetx: %s", root,
			 strerror(-err));
	return err;
}

int lx_pin_open(const char *instance, char ret_dir[LX_BPF_PATH], char ret_note[LX_BPF_TEXT])
{
	char all[LX_BPF_PATH];
	const char *root;
	int err;

	ret_dir[0] = '\0';
	err = find_bpffs(&root, ret_note);
	if (err)
		return err;
	err = lx_pin_path(root, "lnetx", all);
	if (!err && mkdir(all, 0700) && errno != EEXIST)
		err = -errno;
	if (!err)
		err = lx_pin_path(all, instance, ret_dir);
	if (!err && mkdir(ret_dir, 0700) && errno != EEXIST)
		err = -errno;
	if (!err)
		err = claim(ret_dir);
	if (err) {
		snprintf(ret_note, LX_BPF_TEXT, "cannot create %s/lnetx/%s: %s", root, instance,
			 strerror(-err));
		ret_dir[0] = '\0';
	}
	return err;
}
