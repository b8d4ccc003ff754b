/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control socket: who may connect, and packets in and out, never blocking. What
 * the packets say is the business of command.c. Owns the socket, its lock file and
 * the clients; runs on the main thread.
 *
 * The lock file, not the socket, says whether a daemon lives: the kernel drops the
 * lock with the process, so a socket without a locked file is a dead daemon's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
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
#include "../control/schema.h"
#include "command.h"
#include "ring.h"
#include "server.h"

#define REQUEST_MAX LX_CONTROL_PACKET
#define GROUPS_MAX 1024
#define PACKETS_PER_TURN 16 /* then others have their turn */

struct lx_server {
	struct lx_daemon *daemon;
	struct sockaddr_un sa;
	char lock_path[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	int lock_fd, fd;
	int spare_fd; /* given up for a moment when descriptors run out */
	bool polling;
	uv_poll_t *poll; /* freed by the loop */
	struct lx_list clients;
	unsigned int n_clients;
	gid_t gid;
	bool has_gid;
	/* One request at a time is looked at. */
	_Alignas(8) char request[REQUEST_MAX];
};

static void client_step(struct lx_client *c);

/* ---- who is it --------------------------------------------------------------------- */

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

static int identify(const struct lx_server *s, struct lx_client *c)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	c->uid = cred.uid;
	c->pid = cred.pid;
	c->netns = lx_netns_of_socket(c->fd);
	c->may_write = cred.uid == 0 || cred.uid == geteuid();
	c->may_read = c->may_write || in_group(s, c->fd, cred.gid);
	return 0;
}

/* ---- clients come and go ----------------------------------------------------------- */

static void client_closed(uv_handle_t *handle)
{
	struct lx_client *c = lx_container_of(handle, struct lx_client, poll);

	close(c->fd);
	free(c->out);
	free(c);
}

/* After this nobody but the loop knows the client, which frees it. */
static void client_close(struct lx_client *c)
{
	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	if (c->waiting)
		*c->waiting = NULL;
	c->waiting = NULL;
	lx_dump_free(c->dump);
	c->dump = NULL;
	lx_ring_free(c->ring);
	lx_list_del(&c->link);
	c->daemon->server->n_clients--;
	uv_close((uv_handle_t *)&c->poll, client_closed);
}

static void reject(int fd, const char *text)
{
	_Alignas(8) char buf[512];
	struct nlmsghdr *nlh = lx_dump_header(buf, NLMSG_ERROR, 0, 0);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	memset(e, 0, sizeof(*e));
	e->error = -EUSERS;
	mnl_attr_put_strz_check(nlh, sizeof(buf), LX_CONTROL_ERR_TEXT, text);
	send(fd, buf, nlh->nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	close(fd);
}

/* Some places are kept for root, so that others cannot lock it out. */
static bool has_place(const struct lx_server *s, const struct lx_client *c)
{
	unsigned int places = LX_CLIENTS_MAX - (c->may_write ? 0 : LX_CLIENTS_ROOT);

	return s->n_clients < places;
}

static int client_new(struct lx_server *s, int fd)
{
	struct lx_client *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->fd = fd;
	c->daemon = s->daemon;
	c->count = LX_UNSET;
	err = identify(s, c);
	if (!err && !has_place(s, c)) {
		lx_warn("client_uid=%ld reason=\"too many control clients\" "
			"action=\"connection refused\"",
			c->uid);
		reject(fd, "too many clients are connected to lnetxd; try again later");
		free(c);
		return 0;
	}
	if (!err)
		err = uv_poll_init(s->daemon->loop, &c->poll, fd);
	if (err) {
		free(c);
		return err;
	}
	lx_list_append(&s->clients, &c->link);
	s->n_clients++;
	client_step(c);
	return 0;
}

/* A client that waits and cannot be taken would wake us for ever: it is turned away. */
static void turn_away(struct lx_server *s)
{
	int fd;

	close(s->spare_fd);
	fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		reject(fd, "lnetxd has no file descriptors left; see its LimitNOFILE");
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	struct lx_server *s = poll->data;
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int err = fd < 0 ? -errno : client_new(s, fd);

	if (err == -EMFILE || err == -ENFILE)
		turn_away(s);
	if (!err || err == -EAGAIN || err == -ECONNABORTED || err == -EINTR)
		return;
	lx_warn("reason=\"control client not accepted: %s\"", strerror(-err));
	if (fd >= 0)
		close(fd);
}

/* ---- packets ----------------------------------------------------------------------- */

/* Returns 0: sent; -EAGAIN: later; other: the client is gone. */
static int flush(struct lx_client *c)
{
	ssize_t sent;

	if (!c->out_len)
		return 0;
	do {
		sent = send(c->fd, c->out, c->out_len, MSG_DONTWAIT | MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EWOULDBLOCK || errno == ENOBUFS ? -EAGAIN : -errno;
	c->out_len = 0;
	return 0;
}

/* The packet to be filled, or NULL with the client closed. */
static char *packet(struct lx_client *c)
{
	if (!c->out)
		c->out = malloc(LX_CONTROL_PACKET);
	if (!c->out)
		client_close(c);
	return c->out;
}

/* The next packet of what is being sent; false: there is none. */
static bool produce(struct lx_client *c)
{
	if ((!c->dump && !c->ring) || !packet(c))
		return false;
	if (c->dump) {
		c->out_len = lx_dump_fill(c->dump, c->out);
		if (!c->out_len) {
			lx_dump_free(c->dump);
			c->dump = NULL;
		}
	} else {
		c->out_len = lx_ring_fill(c->ring, c->out);
	}
	return c->out_len > 0;
}

static void on_client(uv_poll_t *poll, int status, int events);

static void client_step(struct lx_client *c)
{
	int events = UV_READABLE | UV_DISCONNECT, packets = 0, err;

	do {
		err = packets++ < PACKETS_PER_TURN ? flush(c) : -EAGAIN;
	} while (!err && produce(c));
	if (uv_is_closing((uv_handle_t *)&c->poll))
		return;
	if (err && err != -EAGAIN) {
		client_close(c);
		return;
	}
	if (err)
		events = UV_WRITABLE | UV_DISCONNECT;
	else if (c->waiting)
		events = UV_DISCONNECT; /* the next request has to wait, too */
	uv_poll_start(&c->poll, events, on_client);
}

/* A request in the server's buffer; what is no message at all ends the connection. */
static void take_request(struct lx_client *c, size_t len)
{
	const struct lx_control_hdr *hdr;
	const struct nlmsghdr *nlh =
		lx_schema_message(c->daemon->server->request, len, sizeof(*hdr));
	const void *attrs;
	size_t attrs_len;

	if (!nlh || nlh->nlmsg_type != LX_CONTROL_TYPE) {
		lx_warn("client_uid=%ld reason=\"malformed control message\" "
			"action=\"connection closed\"",
			c->uid);
		client_close(c);
		return;
	}
	hdr = mnl_nlmsg_get_payload(nlh);
	attrs = lx_schema_attrs(nlh, sizeof(*hdr), &attrs_len);
	c->seq = nlh->nlmsg_seq;
	c->flags = nlh->nlmsg_flags;
	c->command = hdr->command;
	if (hdr->version != LX_CONTROL_VERSION)
		lx_client_reply(c, -EPROTONOSUPPORT, "control",
				"lnetxd %s speaks version %u of the control protocol, this client "
				"version %u; use the tools of lnetxd's release, or restart lnetxd",
				LX_VERSION, LX_CONTROL_VERSION, hdr->version);
	else
		lx_command(c, attrs, attrs_len);
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	struct lx_client *c = lx_container_of(poll, struct lx_client, poll);
	struct lx_server *s = c->daemon->server;
	ssize_t len;

	if (status < 0 || (events & UV_DISCONNECT && !(events & UV_READABLE))) {
		client_close(c);
		return;
	}
	if (events & UV_READABLE) {
		len = recv(c->fd, s->request, sizeof(s->request), MSG_DONTWAIT | MSG_TRUNC);
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* A monitoring client has nothing more to say. */
		if (len <= 0 || len > (ssize_t)sizeof(s->request) || c->ring) {
			client_close(c);
			return;
		}
		take_request(c, len);
	}
	if (!uv_is_closing((uv_handle_t *)&c->poll))
		client_step(c);
}

/* ---- answers ----------------------------------------------------------------------- */

void lx_client_reply(struct lx_client *c, int error, const char *object, const char *fmt, ...)
{
	bool dump = (c->flags & NLM_F_DUMP) == NLM_F_DUMP;
	struct nlmsghdr *nlh;
	char text[400] = "";
	va_list ap;

	if (!packet(c))
		return;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
	}
	if (dump) {
		nlh = lx_dump_header(c->out, NLMSG_DONE, NLM_F_MULTI, c->seq);
		*(int32_t *)mnl_nlmsg_put_extra_header(nlh, sizeof(int32_t)) = error;
	} else {
		struct nlmsgerr *e;

		nlh = lx_dump_header(c->out, NLMSG_ERROR, 0, c->seq);
		e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));
		memset(e, 0, sizeof(*e));
		e->error = error;
	}
	if (*text)
		mnl_attr_put_strz_check(nlh, LX_CONTROL_PACKET, LX_CONTROL_ERR_TEXT, text);
	if (object)
		mnl_attr_put_strz_check(nlh, LX_CONTROL_PACKET, LX_CONTROL_ERR_OBJECT, object);
	if (c->count != LX_UNSET)
		mnl_attr_put_u64(nlh, LX_CONTROL_ERR_COUNT, (uint64_t)c->count);
	c->count = LX_UNSET;
	c->out_len = nlh->nlmsg_len;
	if (c->waiting) {
		*c->waiting = NULL;
		c->waiting = NULL;
		client_step(c);
	}
}

void lx_client_count(struct lx_client *c, int64_t count)
{
	c->count = count;
}

void lx_client_dump(struct lx_client *c, struct lx_dump *dump)
{
	dump->seq = c->seq;
	dump->command = c->command;
	c->dump = dump;
	if (c->waiting) {
		*c->waiting = NULL;
		c->waiting = NULL;
		client_step(c);
	}
}

void lx_client_wait(struct lx_client *c, struct lx_client **slot)
{
	*slot = c;
	c->waiting = slot;
}

void lx_client_kick(struct lx_client *c)
{
	if (!uv_is_closing((uv_handle_t *)&c->poll))
		client_step(c);
}

/* ---- the socket -------------------------------------------------------------------- */

/* Whether the file that was locked is still the one of that name. */
static bool is_current(const struct lx_server *s)
{
	struct stat mine, named;

	return fstat(s->lock_fd, &mine) == 0 && stat(s->lock_path, &named) == 0 &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

/* A daemon that ends removes its file, maybe after we have opened it: then again. */
static int take_lock(struct lx_server *s)
{
	char pid[24];

	do {
		if (s->lock_fd >= 0)
			close(s->lock_fd);
		s->lock_fd = open(s->lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
		if (s->lock_fd < 0)
			return -errno;
		if (flock(s->lock_fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
	} while (!is_current(s));
	snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
	if (ftruncate(s->lock_fd, 0) < 0 || write(s->lock_fd, pid, strlen(pid)) < 0)
		return -errno;
	return 0;
}

/* Everyone may connect: what counts is who it is (identify()). */
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
	err = lx_control_path(instance, s->sa.sun_path, sizeof(s->sa.sun_path));
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

static void find_group(struct lx_server *s, const char *name)
{
	char buf[16384];
	struct group gr, *found;

	s->has_gid = name && !getgrnam_r(name, &gr, buf, sizeof(buf), &found) && found;
	if (s->has_gid)
		s->gid = gr.gr_gid;
}

static int watch(struct lx_server *s)
{
	int err;

	s->poll = calloc(1, sizeof(*s->poll));
	if (!s->poll)
		return -ENOMEM;
	err = uv_poll_init(s->daemon->loop, s->poll, s->fd);
	if (err)
		return err;
	s->polling = true;
	s->poll->data = s;
	return uv_poll_start(s->poll, UV_READABLE, on_accept);
}

int lx_server_new(struct lx_daemon *daemon, const char *group, struct lx_server **ret_server)
{
	struct lx_server *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->daemon = daemon;
	s->fd = s->lock_fd = -1;
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	lx_list_init(&s->clients);
	find_group(s, group);
	err = make_paths(s, daemon->instance);
	if (!err)
		err = take_lock(s);
	if (!err)
		err = listen_on(s);
	if (!err)
		err = watch(s);
	if (err) {
		/* Another daemon's socket and lock file are not ours to remove. */
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
		client_close(c);
	if (s->polling)
		uv_close((uv_handle_t *)s->poll, free_handle);
	else
		free(s->poll);
	if (s->fd >= 0) {
		unlink(s->sa.sun_path);
		close(s->fd);
	}
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	if (s->lock_fd >= 0) {
		unlink(s->lock_path); /* while it is ours (take_lock()) */
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
	return s->n_clients;
}
