/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The far ends of the TCP connections of a node under test: sockets on addresses of this
 * machine, and the messages that the node sends on them. Support for the replay of captures;
 * fails the running cmocka test on malformed bytes.
 */
#ifndef LX_TESTS_WIRES_H
#define LX_TESTS_WIRES_H

#include "messages.h"

struct wire_msg {
	struct message m; /* stream and offset unused; payload: allocated */
	bool taken;
};

struct wire {
	int fd;
	bool theirs; /* dialled by the node */
	char node[46], far[46]; /* addresses */
	uint16_t far_port;
	unsigned int version; /* 0: no HELLO from the node yet */
	uint8_t *buf;
	size_t len, size;
	struct wire_msg *msg;
	unsigned int n;
	bool closed; /* by the node */
	int owner;   /* for the user */
};

struct wires {
	struct wire *wire[64];
	unsigned int n;
	int listener[8];
	char listening[8][46];
	unsigned int n_listeners;
	uint16_t port;
};

void wires_listen(struct wires *wires, const char *far);
/* Dials the node; the source port is @far_port. */
struct wire *wires_dial(struct wires *wires, const char *far, uint16_t far_port, const char *node);
/* Reads what has arrived, waiting up to @ms for it; false if nothing had. */
bool wires_poll(struct wires *wires, int ms);
void wire_write(struct wire *wire, const void *buf, size_t len);
void wire_close(struct wire *wire);
void wires_free(struct wires *wires);

#endif
