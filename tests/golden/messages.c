/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by the golden tests; owns nothing. */
#include "../unit/testlib.h"

#include <errno.h>

#include "messages.h"

/* Position in a stream. */
struct cursor {
	const struct capture_stream *stream;
	struct messages *messages;
	size_t at;
	unsigned int version; /* 0: no HELLO yet */
	bool flip;
};

static const uint8_t *here(const struct cursor *c)
{
	return c->stream->data + c->at;
}

static size_t left(const struct cursor *c)
{
	return c->stream->len - c->at;
}

static void expect_left(const struct cursor *c, size_t len, const char *what)
{
	if (left(c) < len)
		fail_msg("%s: %s at %zu is cut short", c->stream->who, what, c->at);
}

static void expect_same(const struct cursor *c, const void *again, size_t len, const char *what)
{
	if (memcmp(here(c), again, len))
		fail_msg("%s: %s at %zu is encoded otherwise", c->stream->who, what, c->at);
}

/* Adds the next message, of @len bytes, and moves the cursor past it. */
static struct message *add(struct cursor *c, enum message_kind kind, size_t len)
{
	struct messages *m = c->messages;

	m->message = realloc(m->message, (m->n + 1) * sizeof(*m->message));
	assert_non_null(m->message);
	memset(&m->message[m->n], 0, sizeof(*m->message));
	m->message[m->n] = (struct message){ .stream = c->stream,
					     .offset = c->at,
					     .len = len,
					     .kind = kind,
					     .version = c->version };
	c->at += len;
	return &m->message[m->n++];
}

/* The length of a request or HELLO, read as from a socket: no further than need() asks. */
static size_t length_by_need(const struct cursor *c, int (*need)(const void *, size_t),
			     const char *what)
{
	size_t have = 0;

	for (;;) {
		int want = need(here(c), have);

		if (want < 0)
			fail_msg("%s: no %s at %zu: %d", c->stream->who, what, c->at, want);
		if ((size_t)want == have)
			return have;
		assert_true((size_t)want > have);
		expect_left(c, want, what);
		have = want;
	}
}

static void acceptor(struct cursor *c)
{
	size_t len = length_by_need(c, lx_proto_acc_need, "acceptor request");
	uint8_t again[LX_ACC_REQ_MAX];
	struct lx_nid target;

	lx_proto_acc_decode(here(c), &target);
	assert_true(lx_nid_is_valid(&target));
	assert_int_equal(lx_proto_acc_encode(&target, again), len);
	if (!CAPTURES_FLIP) /* we send it in our own byte order only */
		expect_same(c, again, len, "acceptor request");
	add(c, MESSAGE_ACCEPTOR, len)->target = target;
}

static void hello(struct cursor *c)
{
	size_t len = length_by_need(c, lx_proto_hello_need, "HELLO");
	uint8_t again[LX_HELLO_MAX];
	struct lx_hello hello;

	if (lx_proto_hello_decode(here(c), len, &hello))
		fail_msg("%s: a bad HELLO at %zu", c->stream->who, c->at);
	assert_int_equal(lx_proto_hello_encode(&hello, again), len);
	expect_same(c, again, len, "HELLO");
	c->version = hello.version;
	c->flip = hello.flip;
	add(c, MESSAGE_HELLO, len)->hello = hello;
}

/* Only V2 has checksums: over the whole message, with 0 in that field (9). */
static void expect_csum(const struct cursor *c, const struct lx_sock_msg *msg, size_t len)
{
	struct lx_sock_msg zero = *msg;
	uint32_t csum;

	assert_int_equal(c->version, LX_SOCK_V2);
	zero.csum = 0;
	if (c->flip)
		lx_proto_msg_flip(&zero);
	csum = lx_proto_csum(LX_CSUM_INIT, &zero, sizeof(zero));
	csum = lx_proto_csum(csum, here(c) + sizeof(zero), len - sizeof(zero));
	assert_int_equal(csum, msg->csum);
}

/* Decodes the LNet header @skip bytes from here, in the version's form. */
static void header(struct cursor *c, size_t skip, struct lx_hdr *hdr)
{
	const uint8_t *wire = here(c) + skip;
	uint8_t again[sizeof(struct lx_hdr_nid16)];

	if (c->version == LX_SOCK_V4) {
		lx_hdr_nid16_decode((const void *)wire, hdr);
		lx_hdr_nid16_encode(hdr, (void *)again);
	} else {
		lx_hdr_nid4_decode((const void *)wire, hdr);
		lx_hdr_nid4_encode(hdr, (void *)again);
	}
	if (memcmp(wire, again, lx_sock_hdr_bytes(c->version)))
		fail_msg("%s: LNet header at %zu is encoded otherwise", c->stream->who, c->at);
	assert_true(lx_nid_is_valid(&hdr->src_nid) && !lx_nid_is_any(&hdr->src_nid));
	assert_true(lx_nid_is_valid(&hdr->dst_nid) && !lx_nid_is_any(&hdr->dst_nid));
	if (hdr->type > LX_MSG_REPLY || hdr->payload_length > LX_PAYLOAD_MAX)
		fail_msg("%s: message type %u at %zu", c->stream->who, hdr->type, c->at);
	if (hdr->type == LX_MSG_ACK || hdr->type == LX_MSG_GET)
		assert_int_equal(hdr->payload_length, 0);
}

static void lnet(struct cursor *c, const struct lx_sock_msg *msg)
{
	size_t overhead = lx_proto_overhead(c->version);
	const uint8_t *start = here(c);
	struct message *m;
	struct lx_hdr hdr;

	expect_left(c, overhead, "message");
	header(c, overhead - lx_sock_hdr_bytes(c->version), &hdr);
	expect_left(c, overhead + hdr.payload_length, "payload");
	if (msg->csum)
		expect_csum(c, msg, overhead + hdr.payload_length);
	m = add(c, MESSAGE_LNET, overhead + hdr.payload_length);
	m->msg = *msg;
	m->hdr = hdr;
	m->payload = start + overhead;
}

static void message(struct cursor *c)
{
	struct lx_sock_msg msg, again;

	expect_left(c, sizeof(msg), "message header");
	memcpy(&msg, here(c), sizeof(msg));
	if (c->flip)
		lx_proto_msg_flip(&msg);
	again = msg;
	if (c->flip)
		lx_proto_msg_flip(&again);
	expect_same(c, &again, sizeof(again), "message header");
	if (msg.type == LX_SOCK_LNET) {
		lnet(c, &msg);
	} else if (msg.type == LX_SOCK_NOOP) {
		if (msg.csum)
			expect_csum(c, &msg, sizeof(msg));
		add(c, MESSAGE_NOOP, sizeof(msg))->msg = msg;
	} else {
		fail_msg("%s: message type %#x at %zu", c->stream->who, msg.type, c->at);
	}
}

unsigned int messages_version(const char *name, const struct capture_stream *stream)
{
	if (strstr(name, "-v1-"))
		return LX_SOCK_V1;
	if (strstr(name, "-v2-"))
		return LX_SOCK_V2;
	return stream->v6 || strstr(name, "-v4-") ? LX_SOCK_V4 : LX_SOCK_V3;
}

static void stream_decode(const struct capture_stream *stream, unsigned int version,
			  struct messages *messages)
{
	struct cursor c = { .stream = stream, .messages = messages, .flip = CAPTURES_FLIP };

	if (!stream->begun)
		c.version = version;
	else if (stream->active && stream->len)
		acceptor(&c);
	while (left(&c)) {
		if (!c.version)
			hello(&c);
		else if (c.version == LX_SOCK_V1)
			lnet(&c, &(struct lx_sock_msg){ .type = LX_SOCK_LNET });
		else
			message(&c);
	}
}

const char *messages_stray(const char *name)
{
	/*
	 * Retransmitted to the node that was switched off, starting inside a message; the
	 * captured node was neither of the two.
	 */
	return strcmp(name, "19c-lst-server-killed") ? NULL : "10.77.0.3:1021>10.77.0.2:988";
}

void messages_load(const char *folder, const char *name, struct capture *capture,
		   struct messages *messages)
{
	char path[600];
	int rc;

	snprintf(path, sizeof(path), "%s/%s.pcap", folder, name);
	rc = capture_load(path, LX_SOCK_PORT, messages_stray(name), capture);
	if (rc)
		fail_msg("%s: %s", path, rc == -EBADMSG ? capture->error : strerror(-rc));
	for (unsigned int i = 0; i < capture->n_streams; i++)
		stream_decode(&capture->stream[i], messages_version(name, &capture->stream[i]),
			      messages);
}

/* ---- text ----------------------------------------------------------------------- */

#define HANDLE_FMT "%016llx.%016llx"
#define HANDLE(h)                                                                                  \
	(unsigned long long)lx_le64((h).interface_cookie),                                         \
		(unsigned long long)lx_le64((h).object_cookie)

/* V4's listings also show the size code of each NID. */
static const char *nid_text(const struct message *m, const struct lx_nid *nid, char *buf)
{
	lx_nid_format(nid, buf, LX_NID_TEXT);
	if (m->version == LX_SOCK_V4 || nid->size)
		snprintf(buf + strlen(buf), 16, "(size=%u)", nid->size);
	return buf;
}

static void describe_hello(const struct message *m, const char *src, const char *dst, char *buf,
			   size_t size)
{
	static const char *const types[] = { "ANY", "CONTROL", "BULK_IN", "BULK_OUT" };
	const struct lx_hello *h = &m->hello;
	const char *type = h->ctype < N_OF(types) ? types[h->ctype] : "None";

	if (h->version == LX_SOCK_V1)
		snprintf(buf, size,
			 "HELLO v1 (lnet_hdr magic=0xeebc0ded version=1.0) src=%s pid %u->%u "
			 "type=4 payload=%u incarnation=0x%llx type=%u(%s)",
			 src, h->src_pid, h->dst_pid, 4 * h->nips,
			 (unsigned long long)h->src_incarnation, h->ctype, type);
	else
		snprintf(buf, size,
			 "HELLO v%u src=%s dst=%s src_pid=%u dst_pid=%u src_inc=0x%llx "
			 "dst_inc=0x%llx ctype=%u(%s) nips=%u",
			 h->version, src, dst, h->src_pid, h->dst_pid,
			 (unsigned long long)h->src_incarnation,
			 (unsigned long long)h->dst_incarnation, h->ctype, type, h->nips);
}

static void describe_command(const struct lx_hdr *hdr, char *buf, size_t size)
{
	const union lx_cmd *cmd = &hdr->cmd;

	switch (hdr->type) {
	case LX_MSG_ACK:
		snprintf(buf, size, "dst_wmd=" HANDLE_FMT " match_bits=0x%llx mlength=%u",
			 HANDLE(cmd->ack.dst_md), (unsigned long long)lx_le64(cmd->ack.match_bits),
			 lx_le32(cmd->ack.mlength));
		break;
	case LX_MSG_PUT:
		snprintf(buf, size,
			 "ack_wmd=" HANDLE_FMT
			 " match_bits=0x%llx hdr_data=0x%llx ptl=%u offset=%u",
			 HANDLE(cmd->put.ack_md), (unsigned long long)lx_le64(cmd->put.match_bits),
			 (unsigned long long)lx_le64(cmd->put.hdr_data), lx_le32(cmd->put.portal),
			 lx_le32(cmd->put.offset));
		break;
	case LX_MSG_GET:
		snprintf(buf, size,
			 "return_wmd=" HANDLE_FMT
			 " match_bits=0x%llx ptl=%u src_offset=%u sink_length=%u",
			 HANDLE(cmd->get.return_md),
			 (unsigned long long)lx_le64(cmd->get.match_bits), lx_le32(cmd->get.portal),
			 lx_le32(cmd->get.src_offset), lx_le32(cmd->get.sink_length));
		break;
	default:
		snprintf(buf, size, "dst_wmd=" HANDLE_FMT, HANDLE(cmd->reply.dst_md));
	}
}

static void describe_lnet(const struct message *m, const char *src, const char *dst, char *buf,
			  size_t size)
{
	static const char *const types[] = { "ACK", "PUT", "GET", "REPLY" };
	const struct lx_sock_msg *msg = &m->msg;
	char command[200], cookies[100] = "";

	describe_command(&m->hdr, command, sizeof(command));
	if (msg->csum || msg->cookie[0] || msg->cookie[1])
		snprintf(cookies, sizeof(cookies), " csum=0x%x zc=[0x%llx,0x%llx]", msg->csum,
			 (unsigned long long)msg->cookie[0], (unsigned long long)msg->cookie[1]);
	snprintf(buf, size, "LNET%s %s %s -> %s pid %u->%u payload=%u %s%s",
		 m->version == LX_SOCK_V1 ? "(v1)" : "", types[m->hdr.type], src, dst,
		 m->hdr.src_pid, m->hdr.dst_pid, m->hdr.payload_length, command, cookies);
}

void message_describe(const struct message *m, char *buf, size_t size)
{
	char src[LX_NID_TEXT + 16], dst[LX_NID_TEXT + 16];

	switch (m->kind) {
	case MESSAGE_ACCEPTOR:
		snprintf(buf, size, "ACCEPTOR req magic=0xacce7100 version=%u nid=%s",
			 m->len == sizeof(struct lx_acc_req1) ? 1 : 2,
			 nid_text(m, &m->target, src));
		break;
	case MESSAGE_HELLO:
		describe_hello(m, nid_text(m, &m->hello.src_nid, src),
			       nid_text(m, &m->hello.dst_nid, dst), buf, size);
		break;
	case MESSAGE_NOOP:
		snprintf(buf, size, "KSOCK_MSG_NOOP csum=0x%x zc=[0x%llx,0x%llx] (%s)", m->msg.csum,
			 (unsigned long long)m->msg.cookie[0], (unsigned long long)m->msg.cookie[1],
			 m->msg.cookie[0]	 ? "ZC-ACK range"
			 : m->msg.cookie[1] == 1 ? "keepalive PING"
						 : "ZC-ACK");
		break;
	case MESSAGE_LNET:
		describe_lnet(m, nid_text(m, &m->hdr.src_nid, src),
			      nid_text(m, &m->hdr.dst_nid, dst), buf, size);
	}
}

/* ---- lnet_selftest --------------------------------------------------------------- */

/* A little-endian field of the body of a message of 160 bytes (selftest.md 3). */
static uint64_t lst_field(const struct message *m, unsigned int offset, unsigned int bytes)
{
	uint64_t value = 0;

	memcpy(&value, m->payload + 24 + offset, bytes);
	return lx_le64(value);
}

static int lst_status(const struct message *m, char *buf, size_t size, uint32_t type)
{
	if (type & 1)
		return snprintf(buf, size, " status=%u", (unsigned int)lst_field(m, 0, 4));
	return snprintf(buf, size, " rpyid=0x%llx", (unsigned long long)lst_field(m, 0, 8));
}

#define F(offset, bytes) (unsigned long long)lst_field(m, offset, bytes)

void message_describe_lst(const struct message *m, char *buf, size_t size)
{
	static const char *const types[] = {
		"MAKE_SESSION", "REMOVE_SESSION", "BATCH", "STAT", "TEST", "DEBUG",
		"BRW",		"PING",		  "JOIN",
	};
	uint32_t type;
	int n;

	*buf = '\0';
	if (m->kind != MESSAGE_LNET || m->hdr.payload_length != 160 ||
	    memcmp(m->payload, "\x0d\xf0\xb0\xee", 4))
		return;
	memcpy(&type, m->payload + 8, sizeof(type));
	type = lx_le32(type);
	assert_true(type / 2 < N_OF(types));
	n = snprintf(buf, size, " LST %s%s", types[type / 2], type & 1 ? "-reply" : "");
	n += lst_status(m, buf + n, size - n, type);
	switch (type) {
	case 4:
		snprintf(buf + n, size - n, " batch=%llu op=%llu test=%llu arg=%llu", F(24, 8),
			 F(32, 4), F(36, 4), F(40, 4));
		break;
	case 5:
		snprintf(buf + n, size - n, " active=%llu time=%llu", F(20, 4), F(24, 4));
		break;
	case 8:
		snprintf(buf + n, size - n,
			 " bulkid=0x%llx batch=%llu service=%llu loop=%llu conc=%llu client=%llu "
			 "stop_on_error=%llu ndest=%llu",
			 F(8, 8), F(32, 8), F(40, 4), F(44, 4), F(48, 4), F(52, 1), F(53, 1),
			 F(54, 4));
		break;
	case 12:
		snprintf(buf + n, size - n, " bulkid=0x%llx rw=%llu len=%llu flags=%llu", F(8, 8),
			 F(16, 4), F(20, 4), F(24, 4));
		break;
	case 14:
		snprintf(buf + n, size - n, " seq=%llu", F(12, 4));
		break;
	case 15:
		snprintf(buf + n, size - n, " seq=%llu", F(8, 4));
		break;
	}
}
