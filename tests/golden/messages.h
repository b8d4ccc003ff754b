/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Decodes the messages of a captured socklnd stream with our codec, for the golden
 * tests; fails the running cmocka test at the first byte that it cannot decode, or
 * that the codec would encode differently.
 */
#ifndef LX_TESTS_MESSAGES_H
#define LX_TESTS_MESSAGES_H

#include "../../lnd/sock/proto.h"
#include "pcap.h"

/* Captures are of little-endian hosts: whether their byte order is another one than ours. */
#define CAPTURES_FLIP (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)

enum message_kind { MESSAGE_ACCEPTOR, MESSAGE_HELLO, MESSAGE_NOOP, MESSAGE_LNET };

struct message {
	const struct capture_stream *stream;
	size_t offset, len; /* in the stream */
	enum message_kind kind;
	unsigned int version; /* of the preceding HELLO */
	struct lx_nid target; /* ACCEPTOR */
	struct lx_hello hello; /* HELLO */
	struct lx_sock_msg msg; /* NOOP, LNET except for V1 */
	struct lx_hdr hdr; /* LNET */
	const uint8_t *payload; /* LNET */
};

struct messages {
	struct message *message;
	unsigned int n;
};

/**
 * messages_load - load all streams of a capture, and their messages
 * @folder, @name: of the file, without ".pcap"
 * @capture: capture_free() it
 * @messages: stream by stream; free() messages->message
 */
void messages_load(const char *folder, const char *name, struct capture *capture,
		   struct messages *messages);

/* Version of a connection whose HELLO was not captured, from the capture's name. */
unsigned int messages_version(const char *name, const struct capture_stream *stream);

/* The stream of a capture that messages_load() omits (see there), or NULL. */
const char *messages_stray(const char *name);

/* Describes a message like the listings next to the captures, without time and offset. */
void message_describe(const struct message *message, char *buf, size_t size);

/* The listings' addition for lnet_selftest; nothing for other messages. */
void message_describe_lst(const struct message *message, char *buf, size_t size);

#endif
