/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Captures of real nodes, byte by byte: our codec decodes every byte of every socklnd
 * connection, encodes the same bytes, and describes it like the listing next to the capture
 * (made by another decoder), line for line. In addition, the captured nodes must follow our
 * rules: types of connections, which connection carries what, which cookies are acknowledged,
 * ping information.
 *
 * Captures of o2iblnd have their own program, test_golden_o2ib.
 */
#include "../unit/testlib.h"

#include <dirent.h>

#include "../../user/core/pinginfo.h"
#include "messages.h"

#define CAPTURES_MAX 256

static const char *folder;

struct golden {
	const char *name;
	struct capture capture;
	struct messages all;
};

/* ---- the listing ----------------------------------------------------------------- */

/* Finds the message of a line: the first one there that has no line yet. */
static int listed_message(const struct golden *g, const char *who, size_t offset, bool *told)
{
	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *m = &g->all.message[i];

		if (!told[i] && !strcmp(m->stream->who, who)) {
			if (m->offset != offset)
				fail_msg("%s: +%zu expected, not +%zu", who, m->offset, offset);
			told[i] = true;
			return i;
		}
	}
	fail_msg("%s +%zu: not decoded by us", who, offset);
	return -1;
}

/* True for a line about the omitted stream. */
static bool about_stray(const struct golden *g, const char *line)
{
	const char *who = messages_stray(g->name);

	return who && (strstr(line, who) || !strncmp(line, "  leftover ", 11));
}

/* Returns true for a line about a message. */
static bool listing_line(const struct golden *g, const char *line, bool *told)
{
	size_t offset, len;
	char who[112], text[600];
	unsigned int frame;
	double at;
	int rest = 0, i;

	if (sscanf(line, "%lf #%u %111s +%zu %zu B %n", &at, &frame, who, &offset, &len, &rest) !=
	    5) {
		if (!strstr(line, " FIN") && !strstr(line, " RST") && *line &&
		    !about_stray(g, line))
			fail_msg("listing line not understood: %s", line);
		return false;
	}
	assert_true(rest > 0);
	i = listed_message(g, who, offset, told);
	assert_int_equal(g->all.message[i].len, len);
	message_describe(&g->all.message[i], text, sizeof(text));
	if (strstr(line, " LST "))
		message_describe_lst(&g->all.message[i], text + strlen(text),
				     sizeof(text) - strlen(text));
	assert_string_equal(text, line + rest);
	return true;
}

static void expect_listing(const struct golden *g)
{
	bool *told = calloc(g->all.n + 1, sizeof(*told));
	char path[600], line[1000];
	unsigned int lines = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.txt", folder, g->name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("no listing %s", path);
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		lines += listing_line(g, line, told);
	}
	fclose(file);
	free(told);
	assert_int_equal(lines, g->all.n);
}

/* ---- what the nodes did ------------------------------------------------------------ */

static const struct message *hello_of(const struct golden *g, const struct capture_stream *stream)
{
	for (unsigned int i = 0; i < g->all.n; i++) {
		if (g->all.message[i].stream == stream && g->all.message[i].kind == MESSAGE_HELLO)
			return &g->all.message[i];
	}
	return NULL;
}

/* A reply has the request's version and the inverted type, or type NONE (4). */
static void expect_hello_replies(const struct golden *g)
{
	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *m = &g->all.message[i], *request;
		const struct capture_stream *s = m->stream;

		if (m->kind != MESSAGE_HELLO || s->active)
			continue;
		assert_true(s->reverse >= 0);
		request = hello_of(g, &g->capture.stream[s->reverse]);
		assert_non_null(request);
		assert_int_equal(m->hello.version, request->hello.version);
		assert_true(lx_nid_eq(&m->hello.dst_nid, &request->hello.src_nid) ||
			    m->hello.version == LX_SOCK_V1);
		if (m->hello.ctype != LX_CTYPE_NONE)
			assert_int_equal(m->hello.ctype,
					 lx_proto_ctype_invert(request->hello.ctype));
	}
}

/* Where types are known, no message is on a connection that our table rules out (7). */
static void expect_conn_choice(const struct golden *g)
{
	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *m = &g->all.message[i], *hello = hello_of(g, m->stream);
		bool noop = m->kind == MESSAGE_NOOP;
		bool nonblk = noop && m->version >= LX_SOCK_V3;
		enum lx_conn_fit fit;

		if (!hello || (!noop && m->kind != MESSAGE_LNET))
			continue;
		fit = lx_proto_conn_fit(m->version, hello->hello.ctype, noop, m->hdr.payload_length,
					nonblk, 1024);
		if (fit == LX_FIT_NO || (nonblk && fit != LX_FIT_YES))
			fail_msg("%s +%zu on a connection of type %s", m->stream->who, m->offset,
				 lx_proto_ctype_name(hello->hello.ctype));
	}
}

/* Clears the requests that @ack acknowledges; returns how many there were. */
static unsigned int take_acked(const struct golden *g, const struct message *ack,
			       const struct lx_acked *acked, bool *open)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *m = &g->all.message[i];

		if (open[i] && lx_acked_has(acked, m->msg.cookie[0]) &&
		    !strcmp(m->stream->src, ack->stream->dst) &&
		    !strcmp(m->stream->dst, ack->stream->src)) {
			open[i] = false;
			found++;
		}
	}
	return found;
}

/* Every request is acknowledged exactly once, and nothing else is (8). */
static void expect_acks(const struct golden *g)
{
	bool *open = calloc(g->all.n + 1, sizeof(*open));

	for (unsigned int i = 0; i < g->all.n; i++)
		open[i] = g->all.message[i].kind == MESSAGE_LNET && g->all.message[i].msg.cookie[0];
	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *m = &g->all.message[i];
		struct lx_acked acked;

		if (m->version == LX_SOCK_V1 ||
		    (m->kind != MESSAGE_NOOP && m->kind != MESSAGE_LNET))
			continue;
		assert_int_equal(lx_proto_acked(m->version, &m->msg, &acked), 0);
		if (acked.expected)
			assert_int_equal(take_acked(g, m, &acked, open), acked.expected);
	}
	for (unsigned int i = 0; i < g->all.n; i++) {
		if (open[i])
			fail_msg("%s: cookie %llu is never acknowledged",
				 g->all.message[i].stream->who,
				 (unsigned long long)g->all.message[i].msg.cookie[0]);
	}
	free(open);
}

/* ---- ping information -------------------------------------------------------------- */

static bool is_ping_get(const struct message *m)
{
	return m->kind == MESSAGE_LNET && m->hdr.type == LX_MSG_GET &&
	       lx_le32(m->hdr.cmd.get.portal) == LX_PORTAL_RESERVED &&
	       lx_le64(m->hdr.cmd.get.match_bits) == LX_PING_MATCH_BITS;
}

static bool is_push(const struct message *m)
{
	return m->kind == MESSAGE_LNET && m->hdr.type == LX_MSG_PUT &&
	       lx_le32(m->hdr.cmd.put.portal) == LX_PORTAL_RESERVED &&
	       lx_le64(m->hdr.cmd.put.match_bits) == LX_PING_MATCH_BITS;
}

static bool is_ping_reply(const struct golden *g, const struct message *m)
{
	if (m->kind != MESSAGE_LNET || m->hdr.type != LX_MSG_REPLY)
		return false;
	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *get = &g->all.message[i];

		if (is_ping_get(get) && lx_nid_eq(&get->hdr.src_nid, &m->hdr.dst_nid) &&
		    !memcmp(&get->hdr.cmd.get.return_md, &m->hdr.cmd.reply.dst_md,
			    sizeof(struct lx_wire_handle)))
			return true;
	}
	return false;
}

/* All captured nodes are little endian. */
static bool has_ping_magic(const struct message *m)
{
	return m->kind == MESSAGE_LNET && m->hdr.payload_length >= 4 &&
	       !memcmp(m->payload, "gnip", 4);
}

static void expect_ping_info(const struct message *m)
{
	struct lx_pinginfo *info;
	size_t need, len = m->hdr.payload_length;
	void *again;

	assert_int_equal(lx_pinginfo_decode(m->payload, len, 4096, &need, &info), 0);
	assert_int_equal(need, len);
	assert_int_equal(info->pid, LX_PID_LUSTRE);
	assert_non_null(lx_pinginfo_primary(info));
	assert_int_equal(lx_pinginfo_size(info), len);
	again = calloc(1, len);
	assert_non_null(again);
	lx_pinginfo_encode(info, again);
	if (!CAPTURES_FLIP) /* we send it in our own byte order only */
		assert_memory_equal(again, m->payload, len);
	free(again);
	free(info);
}

static unsigned int expect_ping_infos(const struct golden *g)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < g->all.n; i++) {
		const struct message *m = &g->all.message[i];

		assert_int_equal(is_push(m) || is_ping_reply(g, m), has_ping_magic(m));
		if (has_ping_magic(m)) {
			expect_ping_info(m);
			n++;
		}
	}
	return n;
}

/* ---- captures ------------------------------------------------------------------------ */

static void one_capture(void **state)
{
	struct golden g = { 0 };
	unsigned int pings;
	size_t bytes = 0;
	char name[200];

	g.name = name;
	snprintf(name, sizeof(name), "%.*s", (int)strlen(*state) - 5, (char *)*state);
	messages_load(folder, name, &g.capture, &g.all);
	assert_true(g.capture.n_streams > 0);
	for (unsigned int i = 0; i < g.capture.n_streams; i++)
		bytes += g.capture.stream[i].len;
	for (unsigned int i = 0; i < g.all.n; i++)
		bytes -= g.all.message[i].len;
	assert_int_equal(bytes, 0);
	expect_listing(&g);
	expect_hello_replies(&g);
	expect_conn_choice(&g);
	expect_acks(&g);
	pings = expect_ping_infos(&g);
	printf("             %u streams, %u messages, %u of them ping information\n",
	       g.capture.n_streams, g.all.n, pings);
	free(g.all.message);
	capture_free(&g.capture);
}

static bool is_o2ib(const char *name)
{
	return strstr(name, "-o2ib-") && !strstr(name, "-tcpside");
}

static int is_capture(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 5 && !strcmp(entry->d_name + len - 5, ".pcap");
}

int main(void)
{
	static struct CMUnitTest tests[CAPTURES_MAX];
	struct dirent **names = NULL;
	int found, n = 0, rc;

	folder = captures_dir();
	found = scandir(folder, &names, is_capture, alphasort);
	if (found <= 0) {
		fprintf(stderr, "no captures in %s\n", folder);
		return 1;
	}
	for (int i = 0; i < found && n < CAPTURES_MAX; i++) {
		if (!is_o2ib(names[i]->d_name))
			tests[n++] = (struct CMUnitTest){ .name = names[i]->d_name,
							  .test_func = one_capture,
							  .initial_state = names[i]->d_name };
	}
	printf("%d captures in %s, %d of them of o2iblnd and left out\n", found, folder, found - n);
	rc = _cmocka_run_group_tests("golden_decode", tests, n, NULL, NULL);
	while (found)
		free(names[--found]);
	free(names);
	return rc;
}
