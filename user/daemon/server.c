/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control socket: accepts clients and identifies them. Owns the socket, its lock file
 * and the clients (client.c); runs on the main thread.
 *
 * The lock file, not the socket, shows whether a daemon is alive: the kernel drops the
 * lock with the process, so a socket without a locked file belongs to a dead daemon.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/netns.h"
#include "../io/poll.h"
#include "server.h"

#define GROUPS_MAX 1024
#define GROUP_PAUSE_NS (10 * LX_S_NS)

struct lx_server {
	struct lx_daemon *daemon;
	struct sockaddr_un sa;
	char lock_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	int lock_fd, fd;
	int spare_fd; /* closed for a moment when descriptors run out */
	bool polling;
	uv_poll_t *poll; /* freed by the loop */
	uv_timer_t *alive; /* runs while there are clients; the same */
	struct lx_list clients;
	gid_t gid;
	bool has_gid;
	uint64_t group_ns; /* not before is the group looked up again */
	lx_client_request_fn request;
};

/* ---- identity ----------------------------------------------------------------------- */

static bool in_group(const struct lx_server *s, int fd, gid_t primary)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);

	if (!s->has_gid)
		return false;
	if (primary == s->gid)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++) {
		if (groups[i] == s->gid)
			return true;
	}
	return false;
}

static bool find_group(const char *name, gid_t *ret_gid)
{
	char buf[16384];
	struct group gr, *found;

	if (!name || getgrnam_r(name, &gr, buf, sizeof(buf), &found) || !found)
		return false;
	*ret_gid = gr.gr_gid;
	return true;
}

/* It may be in a directory that takes its time, so not on this thread. */
struct group_search {
	uv_work_t work;
	struct lx_daemon *daemon;
	gid_t gid;
	bool found;
};

static void search_group(uv_work_t *work)
{
	struct group_search *search = work->data;

	search->found = find_group(search->daemon->group, &search->gid);
}

static void on_group(uv_work_t *work, int status)
{
	struct group_search *search = work->data;
	struct lx_server *s = search->daemon->server;

	if (s && search->found) {
		s->has_gid = true;
		s->gid = search->gid;
	}
	free(search);
}

/* The group may have been created after us. For the next client: this one is refused. */
static void find_group_again(struct lx_server *s)
{
	struct group_search *search;

	if (s->has_gid || !s->daemon->group || uv_hrtime() < s->group_ns)
		return;
	s->group_ns = uv_hrtime() + GROUP_PAUSE_NS;
	search = calloc(1, sizeof(*search));
	if (!search)
		return;
	search->work.data = search;
	search->daemon = s->daemon;
	if (uv_queue_work(s->daemon->loop, &search->work, search_group, on_group))
		free(search);
}

/* Returns -EPERM for those who may do nothing. */
static int identify(struct lx_server *s, struct lx_client *c)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	c->uid = cred.uid;
	c->pid = cred.pid;
	c->netns = lx_netns_of_socket(c->fd);
	c->may_write = cred.uid == 0 || cred.uid == geteuid();
	if (c->may_write || in_group(s, c->fd, cred.gid))
		return 0;
	find_group_again(s);
	return -EPERM;
}

/* ---- clients come and go ----------------------------------------------------------- */

static void reject(int fd, int error, const char *text)
{
	_Alignas(8) char buf[512];
	struct nlmsghdr *nlh = lx_dump_header(buf, NLMSG_ERROR, 0, 0);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	memset(e, 0, sizeof(*e));
	e->error = error;
	mnl_attr_put_strz_check(nlh, sizeof(buf), LX_CTL_ERR_TEXT, text);
	mnl_attr_put_strz_check(nlh, sizeof(buf), LX_CTL_ERR_OBJECT, "control");
	send(fd, buf, nlh->nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/* Some places are reserved for root, so that others cannot lock it out. */
static bool has_place(const struct lx_server *s, const struct lx_client *c)
{
	unsigned int places = LX_CLIENTS_MAX - (c->may_write ? 0 : LX_CLIENTS_ROOT);

	return lx_server_clients(s) < places;
}

/* At once, whatever they would ask for: kept, they could take the places of those who may. */
static void reject_stranger(const struct lx_client *c)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "%s: user %ld may not read the state or change it; root may do both, members of "
		 "group \"%s\" may read",
		 strerror(EPERM), c->uid, c->daemon->group);
	reject(c->fd, -EPERM, text);
}

static void reject_one_too_many(const struct lx_client *c)
{
	lx_warn("client_uid=%ld reason=\"too many control clients\" "
		"action=\"connection refused\"",
		c->uid);
	reject(c->fd, -EUSERS, "too many clients are connected to lnetxd; try again later");
}

static void on_alive(uv_timer_t *timer)
{
	struct lx_server *s = timer->data;
	struct lx_client *c, *next;

	lx_list_for_each_safe (c, next, &s->clients, link)
		lx_client_alive(c);
	if (lx_list_empty(&s->clients))
		uv_timer_stop(timer);
}

static int client_new(struct lx_server *s, int fd)
{
	struct lx_client *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->fd = fd;
	c->daemon = s->daemon;
	c->request = s->request;
	c->given = -1;
	c->count = LX_UNSET;
	err = identify(s, c);
	if (err == -EPERM || (!err && !has_place(s, c))) {
		if (err)
			reject_stranger(c);
		else
			reject_one_too_many(c);
		free(c);
		return 0;
	}
	if (!err)
		err = lx_client_start(c, &s->clients);
	if (err)
		free(c);
	else if (!uv_is_active((uv_handle_t *)s->alive))
		uv_timer_start(s->alive, on_alive, LX_CTL_ALIVE_MS, LX_CTL_ALIVE_MS);
	return err;
}

/* Out of descriptors, a waiting client would wake us forever: accept and reject it. */
static void turn_away(struct lx_server *s)
{
	int fd;

	close(s->spare_fd);
	fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		reject(fd, -EUSERS, "lnetxd has no file descriptors left; see its LimitNOFILE");
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	struct lx_server *s = poll->data;
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int err = fd < 0 ? -errno : client_new(s, fd);

	lx_poll_go_on(poll, status, UV_READABLE, on_accept);
	if (err == -EMFILE || err == -ENFILE)
		turn_away(s);
	if (!err || err == -EAGAIN || err == -ECONNABORTED || err == -EINTR)
		return;
	lx_warn("reason=\"control client not accepted: %s\"", strerror(-err));
	if (fd >= 0)
		close(fd);
}

/* ---- the socket -------------------------------------------------------------------- */

/* True if the locked file still has that name. */
static bool is_current(const struct lx_server *s)
{
	struct stat mine, named;

	return fstat(s->lock_fd, &mine) == 0 && stat(s->lock_path, &named) == 0 &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* A daemon that ends removes its file, maybe after we opened it: then retry. */
static int take_lock(struct lx_server *s)
{
	char pid[24];

	do {
		if (s->lock_fd >= 0)
			close(s->lock_fd);
		/* A process that may open it can lock it, and so block our next start. */
		s->lock_fd = open(s->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		if (s->lock_fd < 0 || fchmod(s->lock_fd, 0600) < 0)
			return -errno;
		if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	} while (!is_current(s));
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(s->lock_fd, 0) < 0 || write(s->lock_fd, pid, strlen(pid)) < 0)
		return -errno;
	return 0;
}

/* Everyone may connect; permissions depend on identify(). */
static int listen_on(struct lx_server *s)
{
	s->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	unlink(s->sa.sun_path); /* a dead daemon's: we have the lock */
	if (bind(s->fd, (struct sockaddr *)&s->sa, sizeof(s->sa)) < 0)
		return -errno;
	if (chmod(s->sa.sun_path, 0666) < 0 || listen(s->fd, 16) < 0)
		return -errno;
	return 0;
}

static int make_paths(struct lx_server *s, const char *instance)
{
	char *slash;
	int err;

	s->sa.sun_family = AF_UNIX;
	err = lx_ctl_path(instance, s->sa.sun_path, sizeof(s->sa.sun_path));
	if (err)
		return err;
	snprintf(s->lock_path, sizeof(s->lock_path), "%s.lock", s->sa.sun_path);
	slash = strrchr(s->sa.sun_path, '/');
	*slash = '\0';
	if (mkdir(s->sa.sun_path, 0755) < 0 && errno != EEXIST)
		err = -errno;
	*slash = '/';
	return err;
}

static int watch(struct lx_server *s)
{
	int err;

	s->poll = calloc(1, sizeof(*s->poll));
	s->alive = calloc(1, sizeof(*s->alive));
	if (!s->poll || !s->alive)
		return -ENOMEM;
	err = uv_poll_init(s->daemon->loop, s->poll, s->fd);
	if (err)
		return err;
	s->polling = true;
	uv_timer_init(s->daemon->loop, s->alive);
	s->alive->data = s;
	s->poll->data = s;
	return uv_poll_start(s->poll, UV_READABLE, on_accept);
}

int lx_server_new(struct lx_daemon *daemon, const char *group, lx_client_request_fn request,
		  struct lx_server **ret_server)
{
	struct lx_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->daemon = daemon;
	s->request = request;
	s->fd = s->lock_fd = -1;
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	lx_list_init(&s->clients);
	s->has_gid = find_group(group, &s->gid);
	err = make_paths(s, daemon->instance);
	if (!err)
		err = take_lock(s);
	if (!err)
		err = listen_on(s);
	if (!err)
		err = watch(s);
	if (err) {
		/* Do not remove another daemon's socket and lock file. */
		if (s->fd < 0 && s->lock_fd >= 0) {
			close(s->lock_fd);
			s->lock_fd = -1;
		}
		lx_server_free(s);
		return err;
	}
	*ret_server = s;
	return 0;
}

static void free_handle(uv_handle_t *handle)
{
	free(handle);
}

void lx_server_free(struct lx_server *s)
{
	struct lx_client *c, *next;

	if (!s)
		return;
	lx_list_for_each_safe (c, next, &s->clients, link)
		lx_client_close(c);
	if (s->polling) {
		uv_close((uv_handle_t *)s->poll, free_handle);
		uv_close((uv_handle_t *)s->alive, free_handle);
	} else {
		free(s->poll);
		free(s->alive);
	}
	if (s->fd >= 0) {
		unlink(s->sa.sun_path);
		close(s->fd);
	}
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	if (s->lock_fd >= 0) {
		unlink(s->lock_path); /* while we hold the lock (take_lock()) */
		close(s->lock_fd);
	}
	free(s);
}

const char *lx_server_path(const struct lx_server *s)
{
	return s->sa.sun_path;
}

unsigned int lx_server_clients(const struct lx_server *s)
{
	return lx_list_count(&s->clients);
}
