/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A socklnd peer that does exactly what a test says, byte for byte: blocking
 * sockets with a timeout, so that a test fails instead of hanging.
 */
#ifndef LX_TESTS_RAWPEER_H
#define LX_TESTS_RAWPEER_H

#include "../../lnd/sock/proto.h"

/*
 * Moves the process to its own network namespace, with fd77::1 to fd77::9 and 127.0.0.0/8.
 * False: not permitted (not root), so the tests cannot run.
 */
bool raw_private_net(void);

/* Connects from @from_ip and a privileged port, or from any port. Asserts. */
int raw_dial(const char *from_ip, bool privileged, const char *to_ip, uint16_t port);
int raw_listen(const char *ip, uint16_t port);
/* Accepts a connection; -1 after @ms. @ret_port: the peer's port; may be NULL. */
int raw_accept(int listener, unsigned int ms, uint16_t *ret_port);

void raw_write(int fd, const void *buf, size_t len);
/* Reads @len bytes; returns how many came before EOF, a reset or 20 s. */
size_t raw_read(int fd, void *buf, size_t len);
/* True if the other side closes within @ms without sending another byte. */
bool raw_closed(int fd, unsigned int ms);
/* Waits for the other side to close. False: it sent something, or did not close. */
bool raw_closes(int fd);

void raw_request(int fd, const struct lx_nid *target);
void raw_hello(int fd, const struct lx_hello *hello);
/* False: closed or malformed. */
bool raw_read_request(int fd, struct lx_nid *ret_target);
bool raw_read_hello(int fd, struct lx_hello *ret_hello);

/* A HELLO from @src to @dst. */
struct lx_hello raw_hello_of(unsigned int version, const struct lx_nid *src,
			     const struct lx_nid *dst, uint32_t ctype);

/* Exchanges acceptor request and HELLOs. */
bool raw_handshake(int fd, const struct lx_hello *hello, struct lx_hello *ret_answer);

struct raw_msg {
	struct lx_sock_msg head;
	struct lx_hdr hdr;
	uint8_t *payload; /* freed by the caller */
};

/* @flip: use the other byte order. Payload: the pattern of fake_put(), or @payload. */
void raw_put(int fd, unsigned int version, bool flip, const struct raw_msg *msg);
bool raw_read_msg(int fd, unsigned int version, struct raw_msg *ret_msg);
void raw_noop(int fd, bool flip, uint64_t cookie0, uint64_t cookie1);

#endif
