/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is said in a captured socklnd stream, by our own codec. Support for the golden
 * tests; fails the running cmocka test at the first byte that it can't explain, or
 * that the codec would have written otherwise.
 */
#ifndef LX_TESTS_MESSAGES_H
#define LX_TESTS_MESSAGES_H

#include "../../lnd/sock/proto.h"
#include "pcap.h"

enum message_kind { MESSAGE_ACCEPTOR, MESSAGE_HELLO, MESSAGE_NOOP, MESSAGE_LNET };

struct message {
	const struct capture_stream *stream;
	size_t offset, len; /* in the stream */
	enum message_kind kind;
	unsigned int version; /* of the HELLO that came before */
	struct lx_nid target; /* ACCEPTOR */
	struct lx_hello hello; /* HELLO */
	struct lx_sock_msg msg; /* NOOP, LNET but for V1 */
	struct lx_hdr hdr; /* LNET */
	const uint8_t *payload; /* LNET */
};

struct messages {
	struct message *message;
	unsigned int n;
};

/**
 * messages_load - all streams of a capture, and all that is said in them
 * @folder, @name: of the file, without ".pcap"
 * @capture: capture_free() it
 * @messages: stream by stream; free() messages->message
 */
void messages_load(const char *folder, const char *name, struct capture *capture,
		   struct messages *messages);

/* Of a connection whose HELLO was not captured; the names of the captures tell it. */
unsigned int messages_version(const char *name, const struct capture_stream *stream);

/* The stream of a capture that messages_load() leaves out (see there), or NULL. */
const char *messages_stray(const char *name);

/* A message as the listings beside the captures tell it, without time and place. */
void message_describe(const struct message *message, char *buf, size_t size);

/* What the listings of lnet_selftest add; nothing if the message is none of its. */
void message_describe_lst(const struct message *message, char *buf, size_t size);

#endif
