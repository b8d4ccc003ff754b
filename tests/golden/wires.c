/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include "../unit/testlib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../user/io/netif.h"
#include "wires.h"

static void to_addr(const char *text, uint16_t port, union lx_addr *addr)
{
	bool v6 = strchr(text, ':');
	uint8_t bytes[16];

	assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes), 1);
	lx_addr_init(addr, bytes, v6 ? 16 : 4, port);
}

static void to_text(const union lx_addr *addr, char text[46])
{
	if (addr->sa.sa_family == AF_INET)
		inet_ntop(AF_INET, &addr->v4.sin_addr, text, 46);
	else
		inet_ntop(AF_INET6, &addr->v6.sin6_addr, text, 46);
}

/* ---- connections ---------------------------------------------------------- */

static struct wire *add(struct wires *wires, int fd, bool theirs)
{
	struct wire *wire = calloc(1, sizeof(*wire));
	union lx_addr local, remote;
	socklen_t len = sizeof(local);

	assert_non_null(wire);
	assert_true(wires->n < N_OF(wires->wire));
	assert_int_equal(getsockname(fd, &local.sa, &len), 0);
	len = sizeof(remote);
	assert_int_equal(getpeername(fd, &remote.sa, &len), 0);
	wire->fd = fd;
	wire->theirs = theirs;
	wire->owner = -1;
	to_text(&local, wire->far);
	to_text(&remote, wire->node);
	wire->far_port = lx_addr_port(&local);
	wires->wire[wires->n++] = wire;
	return wire;
}

void wires_listen(struct wires *wires, const char *far)
{
	union lx_addr addr;
	int fd;

	for (unsigned int i = 0; i < wires->n_listeners; i++) {
		if (!strcmp(wires->listening[i], far))
			return;
	}
	assert_true(wires->n_listeners < N_OF(wires->listener));
	to_addr(far, wires->port, &addr);
	fd = lx_netif_listen(&addr, 20);
	if (fd < 0)
		fail_msg("cannot listen on %s: %s", far, strerror(-fd));
	snprintf(wires->listening[wires->n_listeners], 46, "%s", far);
	wires->listener[wires->n_listeners++] = fd;
}

struct wire *wires_dial(struct wires *wires, const char *far, uint16_t far_port, const char *node)
{
	union lx_addr local, remote;
	struct lx_netif_dial dial = {
		.local = &local,
		.remote = &remote,
		.port_first = far_port,
		.port_last = far_port,
	};
	struct pollfd pfd = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	bool privileged;
	int error;

	to_addr(far, 0, &local);
	to_addr(node, wires->port, &remote);
	pfd.fd = lx_netif_dial(&dial, &privileged);
	if (pfd.fd < 0)
		fail_msg("%s:%u cannot dial %s: %s", far, far_port, node, strerror(-pfd.fd));
	assert_int_equal(poll(&pfd, 1, 30000), 1);
	assert_int_equal(getsockopt(pfd.fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
	if (pfd.revents != POLLOUT)
		fail_msg("%s refuses %s:%u (events 0x%x, %s)", node, far, far_port, pfd.revents,
			 strerror(error));
	return add(wires, pfd.fd, false);
}

void wire_write(struct wire *wire, const void *buf, size_t len)
{
	struct pollfd pfd = { .fd = wire->fd, .events = POLLOUT };
	ssize_t n;

	while (len) {
		assert_int_equal(poll(&pfd, 1, 30000), 1);
		n = send(wire->fd, buf, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			continue;
		if (n < 0)
			fail_msg("%s > %s: %s", wire->far, wire->node, strerror(errno));
		buf = (const char *)buf + n;
		len -= n;
	}
}

void wire_close(struct wire *wire)
{
	if (wire->fd >= 0)
		close(wire->fd);
	wire->fd = -1;
}

void wires_free(struct wires *wires)
{
	for (unsigned int i = 0; i < wires->n; i++) {
		struct wire *wire = wires->wire[i];

		wire_close(wire);
		for (unsigned int j = 0; j < wire->n; j++)
			free((void *)wire->msg[j].m.payload);
		free(wire->msg);
		free(wire->buf);
		free(wire);
	}
	for (unsigned int i = 0; i < wires->n_listeners; i++)
		close(wires->listener[i]);
	wires->n = wires->n_listeners = 0;
}

/* ---- bytes to messages ---------------------------------------------------- */

static struct message *push(struct wire *wire, enum message_kind kind, size_t len)
{
	wire->msg = realloc(wire->msg, (wire->n + 1) * sizeof(*wire->msg));
	assert_non_null(wire->msg);
	memset(&wire->msg[wire->n], 0, sizeof(*wire->msg));
	wire->msg[wire->n].m.kind = kind;
	wire->msg[wire->n].m.version = wire->version;
	wire->msg[wire->n].m.len = len;
	return &wire->msg[wire->n++].m;
}

/* Parsers of messages; each returns how many bytes it took, 0: needs more. */
static size_t take_by_need(struct wire *wire, int (*need)(const void *, size_t))
{
	size_t have = 0;
	int want;

	for (;;) {
		want = need(wire->buf, have);
		if (want < 0)
			fail_msg("%s > %s: no request or HELLO", wire->node, wire->far);
		if ((size_t)want > wire->len)
			return 0;
		if ((size_t)want == have)
			return have;
		have = want;
	}
}

static size_t take_acceptor(struct wire *wire)
{
	size_t len = take_by_need(wire, lx_proto_acc_need);

	if (len)
		lx_proto_acc_decode(wire->buf, &push(wire, MESSAGE_ACCEPTOR, len)->target);
	return len;
}

static size_t take_hello(struct wire *wire)
{
	size_t len = take_by_need(wire, lx_proto_hello_need);
	struct lx_hello hello;

	if (!len)
		return 0;
	assert_int_equal(lx_proto_hello_decode(wire->buf, len, &hello), 0);
	wire->version = hello.version;
	push(wire, MESSAGE_HELLO, len)->hello = hello;
	return len;
}

static size_t take_message(struct wire *wire)
{
	size_t overhead = lx_proto_overhead(wire->version);
	struct lx_sock_msg head = { .type = LX_SOCK_LNET };
	const uint8_t *at = wire->buf;
	struct message *m;
	struct lx_hdr hdr;

	if (wire->version != LX_SOCK_V1) {
		if (wire->len < sizeof(head))
			return 0;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
	}
	if (head.type == LX_SOCK_NOOP) {
		push(wire, MESSAGE_NOOP, sizeof(head))->msg = head;
		return sizeof(head);
	}
	assert_int_equal(head.type, LX_SOCK_LNET);
	if (wire->len < overhead)
		return 0;
	if (wire->version == LX_SOCK_V4)
		lx_hdr_nid16_decode((const void *)at, &hdr);
	else
		lx_hdr_nid4_decode((const void *)at, &hdr);
	assert_true(hdr.payload_length <= LX_PAYLOAD_MAX);
	if (wire->len < overhead + hdr.payload_length)
		return 0;
	m = push(wire, MESSAGE_LNET, overhead + hdr.payload_length);
	m->msg = head;
	m->hdr = hdr;
	m->payload = malloc(hdr.payload_length + 1);
	assert_non_null(m->payload);
	memcpy((void *)m->payload, wire->buf + overhead, hdr.payload_length);
	return overhead + hdr.payload_length;
}

static void cut(struct wire *wire)
{
	size_t len;

	while (wire->len) {
		if (wire->theirs && !wire->n)
			len = take_acceptor(wire);
		else if (!wire->version)
			len = take_hello(wire);
		else
			len = take_message(wire);
		if (!len)
			return;
		wire->len -= len;
		memmove(wire->buf, wire->buf + len, wire->len);
	}
}

static void receive(struct wire *wire)
{
	ssize_t n;

	for (;;) {
		if (wire->size - wire->len < 65536) {
			wire->size = 2 * wire->size + 65536;
			wire->buf = realloc(wire->buf, wire->size);
			assert_non_null(wire->buf);
		}
		n = recv(wire->fd, wire->buf + wire->len, wire->size - wire->len, MSG_DONTWAIT);
		if (n <= 0)
			break;
		wire->len += n;
		cut(wire);
	}
	wire->closed = !n || errno != EAGAIN;
}

bool wires_poll(struct wires *wires, int ms)
{
	struct pollfd pfd[N_OF(wires->wire) + N_OF(wires->listener)];
	unsigned int n = wires->n;
	int fd;

	for (unsigned int i = 0; i < n; i++) {
		const struct wire *wire = wires->wire[i];

		pfd[i] = (struct pollfd){ .fd = wire->closed ? -1 : wire->fd, .events = POLLIN };
	}
	for (unsigned int i = 0; i < wires->n_listeners; i++)
		pfd[n + i] = (struct pollfd){ .fd = wires->listener[i], .events = POLLIN };
	if (poll(pfd, n + wires->n_listeners, ms) <= 0)
		return false;
	for (unsigned int i = 0; i < n; i++) {
		if (pfd[i].revents)
			receive(wires->wire[i]);
	}
	for (unsigned int i = 0; i < wires->n_listeners; i++) {
		if (!pfd[n + i].revents)
			continue;
		fd = accept4(wires->listener[i], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			add(wires, fd, true);
	}
	return true;
}
