/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client's end of the control socket; see the header. Used by both grammars. */
#include <dirent.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../user/base/cleanup.h"
#include "../../user/base/netns.h"
#include "../../user/control/schema.h"
#include "session.h"

void lx_session_init(struct lx_session *s, const char *instance)
{
	s->instance = instance;
	s->fd = -1;
	s->seq = 0;
	s->error = 0;
	s->count = LX_UNSET;
	s->text[0] = '\0';
}

void lx_session_fini(struct lx_session *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

int lx_session_fail(struct lx_session *s, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->text, sizeof(s->text), fmt, ap);
	va_end(ap);
	s->error = error;
	return error;
}

/* The inode number in "net-4026531840", a namespace's default name; else 0. */
static unsigned long netns_of(const char *instance)
{
	unsigned long inode;
	int end = 0;

	return sscanf(instance, "net-%lu%n", &inode, &end) == 1 && !instance[end] ? inode : 0;
}

/* Returns the connected socket or -errno. @path: set to the socket's path. */
static int connect_to(const char *instance, char *path, size_t size)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd, err = lx_control_path(instance, sa.sun_path, sizeof(sa.sun_path));

	if (err)
		return err;
	snprintf(path, size, "%s", sa.sun_path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

/* "net-4026531840 (pid 812, network namespace the machine's)", if it answers. */
static bool describe_running(const char *instance, char *buf, size_t size)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)], name[NAME_MAX + 1];
	int fd LX_AUTO_CLOSE = connect_to(instance, path, sizeof(path));
	unsigned long netns = netns_of(instance);
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return false;
	snprintf(buf, size, "%s (pid %d%s%s)", instance, (int)cred.pid,
		 netns ? ", network namespace " : "",
		 netns ? lx_netns_name(netns, name, sizeof(name)) : "");
	return true;
}

/* Lists running instances, as many as fit. */
static void list_running(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path)], one[LX_INSTANCE_TEXT + NAME_MAX + 64];
	struct dirent **entry = NULL;
	size_t used = 0;
	int n;

	buf[0] = '\0';
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
	n = scandir(dir, &entry, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *dot = strrchr(entry[i]->d_name, '.');

		if (dot && !strcmp(dot, ".sock")) {
			*dot = '\0';
			if (describe_running(entry[i]->d_name, one, sizeof(one)) &&
			    used + strlen(one) + 3 < size)
				used += snprintf(buf + used, size - used, "%s%s",
						 used ? ", " : "", one);
		}
		free(entry[i]);
	}
	free(entry);
}

static int explain_connect(struct lx_session *s, const char *instance, const char *path, int err)
{
	unsigned long netns = netns_of(instance);
	char name[NAME_MAX + 1], running[300];

	if (err != -ENOENT && err != -ECONNREFUSED)
		return lx_session_fail(s, err, "cannot reach lnetxd at %s: %s", path,
				       strerror(-err));
	list_running(path, running, sizeof(running));
	return lx_session_fail(s, err, "no lnetxd runs for instance %s%s%s (%s)%s%s; %s", instance,
			       netns ? ", of network namespace " : "",
			       netns ? lx_netns_name(netns, name, sizeof(name)) : "", path,
			       *running ? ". Running: " : "", running,
			       *running ? "LNETX_INSTANCE=NAME chooses one"
					: "start it: systemctl start lnetxd, or lnetxd -n NAME");
}

static int connect_session(struct lx_session *s)
{
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)] = "";
	char instance[LX_INSTANCE_TEXT];
	int err = lx_control_instance(s->instance, instance, sizeof(instance));

	if (err)
		return lx_session_fail(s, err,
				       "instance \"%s\": letters, digits, '_', '.' and '-' "
				       "are expected",
				       s->instance ? s->instance : "?");
	s->fd = connect_to(instance, path, sizeof(path));
	if (s->fd >= 0)
		return 0;
	err = s->fd;
	s->fd = -1;
	if (err == -ENAMETOOLONG)
		return lx_session_fail(s, err, "the path of the control socket is too long");
	return explain_connect(s, instance, path, err);
}

static int lost(struct lx_session *s, int err)
{
	lx_session_fini(s);
	return lx_session_fail(s, err ? err : -ECONNRESET, "lost the connection to lnetxd: %s",
			       err ? strerror(-err) : "lnetxd closed it");
}

static int send_request(struct lx_session *s, uint8_t command, uint16_t flags,
			const struct lx_schema *schema, const void *obj)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(s->buf);
	struct lx_control_hdr *hdr;

	nlh->nlmsg_type = LX_CONTROL_TYPE;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++s->seq;
	hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));
	hdr->command = command;
	hdr->version = LX_CONTROL_VERSION;
	if (schema && lx_schema_put(nlh, sizeof(s->buf), schema, obj, LX_LEVEL_OWN) < 0)
		return lx_session_fail(s, -EMSGSIZE, "the request is too long");
	/* If lnetxd has rejected us, the reason is waiting to be read. */
	if (send(s->fd, s->buf, nlh->nlmsg_len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return lost(s, -errno);
	return 0;
}

/* The end of an answer: a number, then on failure a text. */
static int take_end(struct lx_session *s, const struct nlmsghdr *nlh, size_t head)
{
	const struct nlattr *a;
	const char *text = NULL;
	const void *attrs;
	int32_t error;
	size_t len;

	if (mnl_nlmsg_get_payload_len(nlh) < head)
		return lost(s, -EPROTO);
	memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	attrs = lx_schema_attrs(nlh, head, &len);
	a = lx_schema_find(attrs, len, LX_CONTROL_ERR_TEXT);
	if (a)
		text = lx_schema_text(a);
	a = lx_schema_find(attrs, len, LX_CONTROL_ERR_COUNT);
	if (a && mnl_attr_get_payload_len(a) == sizeof(uint64_t))
		s->count = (int64_t)mnl_attr_get_u64(a);
	if (error > 0)
		error = -EPROTO;
	lx_session_fail(s, error, "%s", text ? text : error ? strerror(-error) : "");
	return error;
}

/* Returns 1: more to come; else the outcome. */
static int take_message(struct lx_session *s, const struct nlmsghdr *nlh, lx_row_fn fn, void *arg)
{
	const struct lx_control_hdr *hdr;
	const void *attrs;
	size_t len;
	int err;

	if (nlh->nlmsg_type == NLMSG_ERROR)
		return take_end(s, nlh, sizeof(struct nlmsgerr));
	if (nlh->nlmsg_type == NLMSG_DONE)
		return take_end(s, nlh, sizeof(int32_t));
	hdr = mnl_nlmsg_get_payload(nlh);
	if (nlh->nlmsg_type != LX_CONTROL_TYPE || mnl_nlmsg_get_payload_len(nlh) < sizeof(*hdr))
		return lost(s, -EPROTO);
	if (hdr->version != LX_CONTROL_VERSION) {
		lx_session_fini(s);
		return lx_session_fail(
			s, -EPROTONOSUPPORT,
			"lnetxd speaks version %u of the control protocol, this program "
			"version %u (%s); use the tools of lnetxd's release, or restart "
			"lnetxd",
			hdr->version, LX_CONTROL_VERSION, LX_VERSION);
	}
	attrs = lx_schema_attrs(nlh, sizeof(*hdr), &len);
	err = fn ? fn(attrs, len, arg) : 0;
	if (err) {
		lx_session_fini(s); /* discard the rest of the answer */
		return s->error ? err : lx_session_fail(s, err, "%s", strerror(-err));
	}
	return 1;
}

static int receive_answer(struct lx_session *s, lx_row_fn fn, void *arg)
{
	bool reset = false; /* reported once, before data sent ahead of it */
	int more = 1;

	while (more == 1) {
		const struct nlmsghdr *nlh;
		ssize_t got = recv(s->fd, s->buf, sizeof(s->buf), MSG_TRUNC);
		size_t at = 0;

		if (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset))) {
			reset = errno == ECONNRESET;
			continue;
		}
		if (got <= 0 || got > (ssize_t)sizeof(s->buf))
			return lost(s, got < 0 ? -errno : got ? -EPROTO : 0);
		if (!lx_schema_message(s->buf, got, 0))
			return lost(s, -EPROTO);
		while (more == 1 && at < (size_t)got &&
		       (nlh = lx_schema_message(s->buf + at, got - at, 0))) {
			at += MNL_ALIGN(nlh->nlmsg_len);
			more = take_message(s, nlh, fn, arg);
		}
	}
	return more;
}

int lx_session_request(struct lx_session *s, uint8_t command, uint16_t flags,
		       const struct lx_schema *schema, const void *obj, lx_row_fn fn, void *arg)
{
	int err = 0;

	s->error = 0;
	s->count = LX_UNSET;
	s->text[0] = '\0';
	if (s->fd < 0)
		err = connect_session(s);
	if (!err)
		err = send_request(s, command, flags, schema, obj);
	return err ? err : receive_answer(s, fn, arg);
}
