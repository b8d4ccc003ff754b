/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection to lnetxd: requests out, answers in (internal/ctl.h). Owns the socket,
 * the buffer and the outcome of the last call. Called by request.c and by tools/cli.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/text.h"
#include "codec.h"
#include "../base/clock.h"
#include "ctl.h"
#include "dial.h"

int lx_ctl_new(const char *address, struct lx_ctl **ret_ctl)
{
	struct lx_ctl *ctl = calloc(1, sizeof(*ctl));

	if (!ctl)
		return -ENOMEM;
	ctl->address = address ? strdup(address) : NULL;
	if (address && !ctl->address) {
		free(ctl);
		return -ENOMEM;
	}
	ctl->fd = ctl->give = -1;
	ctl->timeout_ms = -1;
	lx_ctl_discard(ctl);
	*ret_ctl = ctl;
	return 0;
}

void lx_ctl_free(struct lx_ctl *ctl)
{
	if (!ctl)
		return;
	lx_ctl_close(ctl);
	free(ctl->address);
	free(ctl);
}

void lx_ctl_set_timeout(struct lx_ctl *ctl, int ms)
{
	ctl->timeout_ms = ms < 0 ? -1 : ms;
}

int lx_ctl_fd(const struct lx_ctl *ctl)
{
	return ctl->fd;
}

void lx_ctl_close(struct lx_ctl *ctl)
{
	if (ctl->fd >= 0)
		close(ctl->fd);
	ctl->fd = -1;
	ctl->answering = ctl->reset = false;
	ctl->at = ctl->got = 0;
}

/* ---- the outcome ------------------------------------------------------------------- */

const struct lx_ctl_error *lx_ctl_why(const struct lx_ctl *ctl)
{
	return &ctl->why;
}

static void clear(struct lx_ctl *ctl)
{
	memset(&ctl->why, 0, sizeof(ctl->why));
	ctl->why.count = LX_UNSET;
}

void lx_ctl_discard(struct lx_ctl *ctl)
{
	if (ctl->answering)
		lx_ctl_close(ctl);
	clear(ctl);
	ctl->shown = NULL;
}

int lx_ctl_fail(struct lx_ctl *ctl, enum lx_ctl_origin origin, int error, const char *fmt, ...)
{

	LX_FORMAT(ctl->why.text, sizeof(ctl->why.text), fmt);
	ctl->why.origin = origin;
	ctl->why.error = error;
	return error;
}

static int lost(struct lx_ctl *ctl, int err)
{
	lx_ctl_close(ctl);
	return lx_ctl_fail(ctl, LX_CTL_FROM_CONNECTION, err ? err : -ECONNRESET,
			   "lost the connection to lnetxd: %s",
			   err ? strerror(-err) : "lnetxd closed it");
}

/* ---- requests ---------------------------------------------------------------------- */

static struct nlmsghdr *begin(struct lx_ctl *ctl, uint8_t command, uint16_t flags)
{
	struct nlmsghdr *nlh;
	struct lx_ctl_hdr *hdr;

	lx_ctl_discard(ctl);
	nlh = mnl_nlmsg_put_header(ctl->buf);
	nlh->nlmsg_type = LX_CTL_TYPE;
	/* With signs of life only a silent lnetxd is given up, not a slow answer. */
	nlh->nlmsg_flags = NLM_F_REQUEST | flags | (ctl->timeout_ms > 0 ? NLM_F_ACK : 0);
	nlh->nlmsg_seq = ++ctl->seq;
	hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));
	hdr->command = command;
	hdr->version = LX_CTL_VERSION;
	return nlh;
}

/* Nothing arrives between answers, except the end of the connection if lnetxd has stopped. */
static bool gone(const struct lx_ctl *ctl)
{
	struct pollfd p = { .fd = ctl->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int reach(struct lx_ctl *ctl)
{
	char text[sizeof(ctl->why.text)];
	int fd;

	if (ctl->fd >= 0 && gone(ctl))
		lx_ctl_close(ctl);
	if (ctl->fd >= 0)
		return 0;
	fd = lx_dial(ctl->address, ctl->timeout_ms, text, sizeof(text));
	if (fd < 0)
		return lx_ctl_fail(ctl, LX_CTL_FROM_CONNECTION, fd, "%s", text);
	ctl->fd = fd;
	return 0;
}

/* As send(), with the descriptor to give, if there is one. */
static ssize_t send_packet(const struct lx_ctl *ctl, size_t len)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec iov = { .iov_base = (char *)ctl->buf, .iov_len = len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (ctl->give >= 0) {
		memcpy(CMSG_DATA(&control.header), &ctl->give, sizeof(ctl->give));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	do {
		sent = sendmsg(ctl->fd, &msg, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent;
}

static int finish(struct lx_ctl *ctl, const struct nlmsghdr *nlh)
{
	int err = reach(ctl);
	ssize_t sent;

	if (err)
		return err;
	sent = send_packet(ctl, nlh->nlmsg_len);
	/* If lnetxd has rejected us, the reason is waiting to be read. */
	if (sent < 0 && errno != EPIPE)
		return lost(ctl, errno == EAGAIN ? -ETIMEDOUT : -errno);
	ctl->answering = true;
	ctl->at = ctl->got = 0;
	return 0;
}

int lx_ctl_send(struct lx_ctl *ctl, uint8_t command, uint16_t flags, const struct lx_schema *schema,
		const void *obj)
{
	struct nlmsghdr *nlh = begin(ctl, command, flags);

	if (schema && lx_codec_put(nlh, sizeof(ctl->buf), schema, obj, LX_LEVEL_OWN) < 0)
		return lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, -EMSGSIZE, "the request is too long");
	return finish(ctl, nlh);
}

/* ---- answers ----------------------------------------------------------------------- */

static void take_text(const void *attrs, size_t len, uint8_t attr, char *buf, size_t size)
{
	const struct nlattr *a = lx_codec_find(attrs, len, attr);
	const char *text = a ? lx_codec_text(a) : NULL;

	if (text)
		snprintf(buf, size, "%s", text);
}

/* The end of an answer: a number, then on failure a text. */
static int take_end(struct lx_ctl *ctl, const struct nlmsghdr *nlh, size_t head)
{
	struct lx_ctl_error *why = &ctl->why;
	const struct nlattr *a;
	const void *attrs;
	int32_t error;
	size_t len;

	if (mnl_nlmsg_get_payload_len(nlh) < head)
		return lost(ctl, -EPROTO);
	memcpy(&error, mnl_nlmsg_get_payload(nlh), sizeof(error));
	if (error > 0)
		return lost(ctl, -EPROTO);
	ctl->answering = false;
	attrs = lx_codec_attrs(nlh, head, &len);
	lx_ctl_fail(ctl, LX_CTL_FROM_DAEMON, error, "%s", error ? strerror(-error) : "");
	take_text(attrs, len, LX_CTL_ERR_TEXT, why->text, sizeof(why->text));
	take_text(attrs, len, LX_CTL_ERR_OBJECT, why->object, sizeof(why->object));
	a = lx_codec_find(attrs, len, LX_CTL_ERR_COUNT);
	if (a && mnl_attr_get_payload_len(a) == sizeof(uint64_t))
		why->count = (int64_t)mnl_attr_get_u64(a);
	return error;
}

static int other_version(struct lx_ctl *ctl, unsigned int version)
{
	lx_ctl_close(ctl);
	return lx_ctl_fail(ctl, LX_CTL_FROM_CONNECTION, -EPROTONOSUPPORT,
			   "lnetxd speaks version %u of the control protocol, this program "
			   "version %u (%s); use the tools of lnetxd's release, or restart "
			   "lnetxd",
			   version, LX_CTL_VERSION, LX_VERSION);
}

static int take_message(struct lx_ctl *ctl, const struct nlmsghdr *nlh, const void **ret_attrs,
			size_t *ret_len)
{
	const struct lx_ctl_hdr *hdr;

	if (nlh->nlmsg_type == NLMSG_ERROR)
		return take_end(ctl, nlh, sizeof(struct nlmsgerr));
	if (nlh->nlmsg_type == NLMSG_DONE)
		return take_end(ctl, nlh, sizeof(int32_t));
	hdr = mnl_nlmsg_get_payload(nlh);
	if (nlh->nlmsg_type != LX_CTL_TYPE || mnl_nlmsg_get_payload_len(nlh) < sizeof(*hdr))
		return lost(ctl, -EPROTO);
	if (hdr->version != LX_CTL_VERSION)
		return other_version(ctl, hdr->version);
	*ret_attrs = lx_codec_attrs(nlh, sizeof(*hdr), ret_len);
	return 1;
}

static int silent(struct lx_ctl *ctl)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);

	getsockopt(ctl->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	return lx_ctl_fail(
		ctl, LX_CTL_FROM_CONNECTION, -ETIMEDOUT,
		"lnetxd%s%s (pid %d) has given no sign of life within %d ms; see its log, "
		"and what it waits for: cat /proc/%d/stack",
		ctl->address ? " " : "", ctl->address ? ctl->address : "", (int)cred.pid,
		ctl->timeout_ms, (int)cred.pid);
}

/* Waits for a packet; returns 0 or -errno. */
static int await(struct lx_ctl *ctl, int64_t deadline_ms)
{
	struct pollfd p = { .fd = ctl->fd, .events = POLLIN };
	int n;

	do {
		int64_t left = deadline_ms - lx_clock_ms();

		n = poll(&p, 1, ctl->timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return lost(ctl, -errno);
	if (n)
		return 0;
	return silent(ctl);
}

static int receive_packet(struct lx_ctl *ctl)
{
	int64_t deadline = ctl->timeout_ms < 0 ? 0 : lx_clock_ms() + ctl->timeout_ms;

	for (;;) {
		int err = await(ctl, deadline);
		ssize_t got;

		if (err)
			return err;
		got = recv(ctl->fd, ctl->buf, sizeof(ctl->buf), MSG_TRUNC | MSG_DONTWAIT);
		if (got > 0 && got <= (ssize_t)sizeof(ctl->buf)) {
			ctl->at = 0;
			ctl->got = got;
			return 0;
		}
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* A reset is reported once, before data sent ahead of it. */
		if (got >= 0 || errno != ECONNRESET || ctl->reset)
			return lost(ctl, got < 0 ? -errno : got ? -EPROTO : 0);
		ctl->reset = true;
	}
}

int lx_ctl_receive(struct lx_ctl *ctl, const void **ret_attrs, size_t *ret_len)
{
	const struct nlmsghdr *nlh;
	int err;

	if (!ctl->answering)
		return ctl->why.error;
	clear(ctl); /* e.g. of a timeout */
	do {
		err = ctl->at < ctl->got ? 0 : receive_packet(ctl);
		if (err)
			return err;
		nlh = lx_codec_message(ctl->buf + ctl->at, ctl->got - ctl->at, 0);
		if (!nlh)
			return lost(ctl, -EPROTO);
		ctl->at += MNL_ALIGN(nlh->nlmsg_len);
	} while (nlh->nlmsg_type == NLMSG_NOOP);
	return take_message(ctl, nlh, ret_attrs, ret_len);
}
