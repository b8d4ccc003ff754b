/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../user/io/netif.h"
#include "rawpeer.h"
#include "testlib.h"

#define PATIENCE_MS 20000

bool raw_private_net(void)
{
	if (unshare(CLONE_NEWNET)) {
		printf("skipped: needs root for a network namespace\n");
		return false;
	}
	if (system("ip link set lo up && for i in 1 2 3 4 5 6 7 8 9; do "
		   "ip -6 addr add fd77::$i/128 dev lo nodad; done")) {
		printf("skipped: needs ip(8)\n");
		return false;
	}
	return true;
}

static void make_addr(const char *ip, uint16_t port, union lx_addr *addr)
{
	uint8_t bytes[16];

	if (inet_pton(AF_INET, ip, bytes) == 1) {
		lx_addr_init(addr, bytes, 4, port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, ip, bytes), 1);
		lx_addr_init(addr, bytes, 16, port);
	}
}

int raw_dial(const char *from_ip, bool privileged, const char *to_ip, uint16_t port)
{
	union lx_addr local, remote;
	struct lx_netif_dial dial = {
		.local = &local,
		.remote = &remote,
		.port_first = privileged ? 1000 : 0,
		.port_last = 600,
	};
	struct pollfd pfd = { .events = POLLOUT };
	bool got;

	make_addr(from_ip, 0, &local);
	make_addr(to_ip, port, &remote);
	pfd.fd = lx_netif_dial(&dial, &got);
	assert_true(pfd.fd >= 0);
	assert_true(got == privileged);
	assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
	assert_true(pfd.revents == POLLOUT);
	return pfd.fd;
}

int raw_listen(const char *ip, uint16_t port)
{
	union lx_addr addr;
	int fd;

	make_addr(ip, port, &addr);
	fd = lx_netif_listen(&addr, 100);
	assert_true(fd >= 0);
	return fd;
}

int raw_accept(int listener, unsigned int ms, uint16_t *ret_port)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	union lx_addr addr;
	socklen_t len = sizeof(addr);
	int fd;

	if (poll(&pfd, 1, ms) != 1)
		return -1;
	fd = accept4(listener, &addr.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(fd >= 0);
	if (ret_port)
		*ret_port = lx_addr_port(&addr);
	return fd;
}

void raw_write(int fd, const void *buf, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t n;

	while (len) {
		assert_int_equal(poll(&pfd, 1, PATIENCE_MS), 1);
		n = send(fd, buf, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			continue;
		assert_true(n > 0);
		buf = (const char *)buf + n;
		len -= n;
	}
}

size_t raw_read(int fd, void *buf, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t have = 0;
	ssize_t n;

	while (have < len && poll(&pfd, 1, PATIENCE_MS) == 1) {
		n = recv(fd, (char *)buf + have, len - have, 0);
		if (n <= 0)
			break;
		have += n;
	}
	return have;
}

bool raw_closed(int fd, unsigned int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&pfd, 1, ms) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

bool raw_closes(int fd)
{
	return raw_closed(fd, PATIENCE_MS);
}

void raw_request(int fd, const struct lx_nid *target)
{
	uint8_t buf[LX_ACC_REQ_MAX];

	raw_write(fd, buf, lx_proto_acc_encode(target, buf));
}

void raw_hello(int fd, const struct lx_hello *hello)
{
	uint8_t buf[LX_HELLO_MAX];

	raw_write(fd, buf, lx_proto_hello_encode(hello, buf));
}

static bool read_by(int fd, void *buf, int (*need)(const void *, size_t), size_t *ret_len)
{
	size_t have = 0;
	int want;

	while ((want = need(buf, have)) >= 0 && (size_t)want != have) {
		if (raw_read(fd, (char *)buf + have, want - have) != want - have)
			return false;
		have = want;
	}
	*ret_len = have;
	return want >= 0;
}

bool raw_read_request(int fd, struct lx_nid *ret_target)
{
	uint8_t buf[LX_ACC_REQ_MAX];
	size_t len;

	if (!read_by(fd, buf, lx_proto_acc_need, &len))
		return false;
	lx_proto_acc_decode(buf, ret_target);
	return true;
}

bool raw_read_hello(int fd, struct lx_hello *ret_hello)
{
	uint8_t buf[LX_HELLO_MAX];
	size_t len;

	return read_by(fd, buf, lx_proto_hello_need, &len) &&
	       !lx_proto_hello_decode(buf, len, ret_hello);
}

struct lx_hello raw_hello_of(unsigned int version, const struct lx_nid *src,
			     const struct lx_nid *dst, uint32_t ctype)
{
	return (struct lx_hello){
		.version = version,
		.src_nid = *src,
		.dst_nid = *dst,
		.src_pid = LX_PID_LUSTRE,
		.src_incarnation = 0x1122334455667788,
		.ctype = ctype,
	};
}

bool raw_handshake(int fd, const struct lx_hello *hello, struct lx_hello *ret_answer)
{
	raw_request(fd, &hello->dst_nid);
	raw_hello(fd, hello);
	return raw_read_hello(fd, ret_answer);
}

/* ---- messages ----------------------------------------------------------- */

void raw_put(int fd, unsigned int version, bool flip, const struct raw_msg *msg)
{
	size_t len = msg->hdr.payload_length;
	uint8_t *buf = malloc(120 + len), *at = buf;
	struct lx_sock_msg head = msg->head;

	assert_non_null(buf);
	head.type = head.type ? head.type : LX_SOCK_LNET;
	if (flip)
		lx_proto_msg_flip(&head);
	if (version != LX_SOCK_V1) {
		memcpy(at, &head, sizeof(head));
		at += sizeof(head);
	}
	if (version == LX_SOCK_V4) {
		lx_hdr_nid16_encode(&msg->hdr, (void *)at);
		at += sizeof(struct lx_hdr_nid16);
	} else {
		lx_hdr_nid4_encode(&msg->hdr, (void *)at);
		at += sizeof(struct lx_hdr_nid4);
	}
	for (size_t i = 0; i < len; i++)
		*at++ = msg->payload ? msg->payload[i] : (uint8_t)(i * 31 + (i >> 8) * 7 + 5);
	raw_write(fd, buf, at - buf);
	free(buf);
}

bool raw_read_msg(int fd, unsigned int version, struct raw_msg *ret_msg)
{
	uint8_t wire[sizeof(struct lx_hdr_nid16)];
	size_t len = lx_sock_hdr_bytes(version);

	memset(ret_msg, 0, sizeof(*ret_msg));
	if (version != LX_SOCK_V1 &&
	    raw_read(fd, &ret_msg->head, sizeof(ret_msg->head)) != sizeof(ret_msg->head))
		return false;
	if (version != LX_SOCK_V1 && ret_msg->head.type == LX_SOCK_NOOP)
		return true;
	if (raw_read(fd, wire, len) != len)
		return false;
	if (version == LX_SOCK_V4)
		lx_hdr_nid16_decode((void *)wire, &ret_msg->hdr);
	else
		lx_hdr_nid4_decode((void *)wire, &ret_msg->hdr);
	len = ret_msg->hdr.payload_length;
	ret_msg->payload = malloc(len + 1);
	assert_non_null(ret_msg->payload);
	return raw_read(fd, ret_msg->payload, len) == len;
}

void raw_noop(int fd, bool flip, uint64_t cookie0, uint64_t cookie1)
{
	struct lx_sock_msg head = { .type = LX_SOCK_NOOP, .cookie = { cookie0, cookie1 } };

	if (flip)
		lx_proto_msg_flip(&head);
	raw_write(fd, &head, sizeof(head));
}
