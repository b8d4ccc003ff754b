/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A client of the control socket: packets in and out, never blocking. command.c
 * interprets the requests. Created by server.c, runs on the main thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../base/log.h"
#include "../base/text.h"
#include "../ctl/codec.h"
#include "client.h"
#include "ring.h"

#define PACKETS_PER_TURN 16 /* then it is the next client's turn */

/* ---- the end --------------------------------------------------------------------------- */

static void client_closed(uv_handle_t *handle)
{
	struct lx_client *c = lx_container_of(handle, struct lx_client, poll);

	close(c->fd);
	if (c->given >= 0)
		close(c->given);
	free(c->out);
	free(c);
}

void lx_client_close(struct lx_client *c)
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
	uv_close((uv_handle_t *)&c->poll, client_closed);
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

/* The packet to fill; NULL: the client is closed. */
static char *packet(struct lx_client *c)
{
	if (!c->out)
		c->out = malloc(LX_CTL_PACKET);
	if (!c->out)
		lx_client_close(c);
	return c->out;
}

/* Produces the next packet of the answer; false: there is none. */
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
		lx_client_close(c);
		return;
	}
	if (err)
		events = UV_WRITABLE | UV_DISCONNECT;
	else if (c->waiting)
		events = UV_DISCONNECT; /* the next request has to wait, too */
	uv_poll_start(&c->poll, events, on_client);
}

/* Anything that is not a message ends the connection. */
static void take_request(struct lx_client *c, const void *request, size_t len)
{
	const struct lx_ctl_hdr *hdr;
	const struct nlmsghdr *nlh = lx_codec_message(request, len, sizeof(*hdr));
	const void *attrs;
	size_t attrs_len;

	if (!nlh || nlh->nlmsg_type != LX_CTL_TYPE) {
		lx_warn("client_uid=%ld reason=\"malformed control message\" "
			"action=\"connection closed\"",
			c->uid);
		lx_client_close(c);
		return;
	}
	hdr = mnl_nlmsg_get_payload(nlh);
	attrs = lx_codec_attrs(nlh, sizeof(*hdr), &attrs_len);
	c->seq = nlh->nlmsg_seq;
	c->flags = nlh->nlmsg_flags;
	c->command = hdr->command;
	if (hdr->version != LX_CTL_VERSION)
		lx_client_reply(c, -EPROTONOSUPPORT, "control",
				"lnetxd %s speaks version %u of the control protocol, this client "
				"version %u; use the tools of lnetxd's release, or restart lnetxd",
				LX_VERSION, LX_CTL_VERSION, hdr->version);
	else
		c->request(c, attrs, attrs_len);
}

/* A descriptor that the request does not need goes with the next one. */
static void take_descriptor(struct lx_client *c, const struct msghdr *msg)
{
	const struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);

	if (c->given >= 0)
		close(c->given);
	c->given = -1;
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
		memcpy(&c->given, CMSG_DATA(cmsg), sizeof(c->given));
}

/* As recv(); with a descriptor, if there is one. More have no room: the kernel closes them. */
static ssize_t receive(struct lx_client *c, void *buf, size_t size)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t len = recvmsg(c->fd, &msg, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);

	if (len >= 0)
		take_descriptor(c, &msg);
	return len;
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	struct lx_client *c = lx_container_of(poll, struct lx_client, poll);
	_Alignas(8) char request[LX_CTL_PACKET];
	ssize_t len;

	if (status < 0 || (events & UV_DISCONNECT && !(events & UV_READABLE))) {
		lx_client_close(c);
		return;
	}
	if (events & UV_READABLE) {
		len = receive(c, request, sizeof(request));
		if (len < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* A monitoring client must not send anything. */
		if (len <= 0 || len > (ssize_t)sizeof(request) || c->ring) {
			lx_client_close(c);
			return;
		}
		take_request(c, request, len);
	}
	if (!uv_is_closing((uv_handle_t *)&c->poll))
		client_step(c);
}

int lx_client_start(struct lx_client *c, struct lx_list *clients)
{
	int err = uv_poll_init(c->daemon->loop, &c->poll, c->fd);

	if (err)
		return err;
	lx_list_append(clients, &c->link);
	client_step(c);
	return 0;
}

/* ---- answers ----------------------------------------------------------------------- */

void lx_client_reply(struct lx_client *c, int error, const char *object, const char *fmt, ...)
{
	bool dump = (c->flags & NLM_F_DUMP) == NLM_F_DUMP;
	struct nlmsghdr *nlh;
	char text[400] = "";

	if (!packet(c))
		return;
	if (fmt) {
		LX_FORMAT(text, sizeof(text), fmt);
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
		mnl_attr_put_strz_check(nlh, LX_CTL_PACKET, LX_CTL_ERR_TEXT, text);
	if (object)
		mnl_attr_put_strz_check(nlh, LX_CTL_PACKET, LX_CTL_ERR_OBJECT, object);
	if (c->count != LX_UNSET)
		mnl_attr_put_u64(nlh, LX_CTL_ERR_COUNT, (uint64_t)c->count);
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

/* A sign of life, for a client that wants them, unless there is something to send anyway. */
static void sign_of_life(struct lx_client *c)
{
	if (!(c->flags & NLM_F_ACK) || c->out_len || !packet(c))
		return;
	c->out_len = lx_dump_header(c->out, NLMSG_NOOP, 0, c->seq)->nlmsg_len;
}

void lx_client_wait(struct lx_client *c, struct lx_client **slot)
{
	*slot = c;
	c->waiting = slot;
	sign_of_life(c); /* sent at the end of its turn */
}

void lx_client_alive(struct lx_client *c)
{
	if (!c->waiting && !c->ring)
		return;
	sign_of_life(c);
	lx_client_kick(c);
}

void lx_client_kick(struct lx_client *c)
{
	if (!uv_is_closing((uv_handle_t *)&c->poll))
		client_step(c);
}
