/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A capture as a script: the hosts' messages in order, and the ends of their
 * connections. Support for the replay of captures.
 */
#ifndef LX_TESTS_SCRIPT_H
#define LX_TESTS_SCRIPT_H

#include "messages.h"

#define SCRIPT_STREAMS 64

struct wire;

struct step {
	const struct message *m; /* NULL: the connection ends */
	unsigned int stream, order;
	bool ours; /* sent by the host that our node replaces */
	bool asked; /* for the user: our node's program was made to do it */
};

struct script {
	const char *name;
	char us;
	struct capture capture;
	struct messages all; /* between our host and others */
	struct step *step;
	unsigned int n, at;
	struct wire *wire[SCRIPT_STREAMS]; /* by stream; both directions */
};

/* @us: our node's host. */
void script_load(struct script *script, const char *folder, const char *name, char us);
void script_free(struct script *script);

/* True if a host of the captures ('A', 'B', 'R', 'G', 'S', 'H') has the address. */
bool script_host_has(char host, const char *addr);
/* Addresses of all hosts, one after the other, each once; NULL at the end. */
const char *script_address(unsigned int i);

/* The address of a NID. */
void script_nid_addr(const struct lx_nid *nid, char addr[LX_NID_TEXT]);
/* The NID of an address, from some message. */
bool script_find_nid(const struct script *script, const char *addr, struct lx_nid *nid);
/* The same; if no message has it, the one on tcp. */
struct lx_nid script_nid_of(const struct script *script, const char *addr);

unsigned int script_stream(const struct script *script, const struct capture_stream *stream);
/* The direction of a stream's connection from the side that dialled. */
const struct capture_stream *script_dialled(const struct script *script, unsigned int stream);
/* True if our host is one end. */
bool script_concerns_us(const struct script *script, unsigned int stream);
/* True if the capture starts in the middle of it. */
bool script_in_middle(const struct capture_stream *stream);

/* True for LNet's own pings and pushes. */
bool script_is_ping(const struct message *m);
bool script_is_push(const struct message *m);
bool script_is_keepalive(const struct message *m);
/* True if there is more than connection attempts. */
bool script_has_lnet(const struct script *script);

#endif
