/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Captures of real nodes with o2iblnd over RoCE v2: our codec decodes every message and
 * every reject, encodes the same bytes, and describes it like the listing
 * next to the capture (made by another decoder), line for line.
 */
#include "../unit/testlib.h"

#include <dirent.h>
#include <errno.h>

#include "../../lnd/o2ib/proto.h"

#define CAPTURES_MAX 256
#define ROCE_PORT 4791
#define FLOWS_MAX 64

static const char *folder;

/* A message in several packets, on one queue pair of one node. */
struct flow {
	uint32_t src, qp;
	size_t len;
	uint8_t data[LX_O2IB_MSG_MAX];
};

struct golden {
	FILE *listing;
	struct flow flow[FLOWS_MAX];
	unsigned int n_flows, messages, rejects;
};

/* ---- the listing ---------------------------------------------------------------- */

static size_t print_nid(char *text, size_t size, uint64_t nid)
{
	struct lx_nid n;

	lx_nid_from_u64(nid, &n);
	return snprintf(text, size, "%u.%u.%u.%u@%s%.0d", n.addr[0], n.addr[1], n.addr[2], n.addr[3],
			n.type == LX_NET_TCP ? "tcp" : "o2ib", (int)lx_be16(n.num));
}

static size_t print_hdr(char *text, size_t size, const struct lx_hdr *hdr)
{
	static const char *const names[] = { "ACK", "PUT", "GET", "REPLY" };
	char src[40], dst[40];
	size_t n;

	assert_true(hdr->type < 4);
	print_nid(src, sizeof(src), lx_nid_to_u64(&hdr->src_nid));
	print_nid(dst, sizeof(dst), lx_nid_to_u64(&hdr->dst_nid));
	n = snprintf(text, size, " | LNET %s %s->%s payload=%u body=", names[hdr->type], src, dst,
		     hdr->payload_length);
	for (unsigned int i = 0; i < sizeof(hdr->cmd); i++)
		n += snprintf(text + n, size - n, "%02x", hdr->cmd.bytes[i]);
	return n;
}

static size_t print_desc(char *text, size_t size, const struct lx_o2ib_msg *msg)
{
	size_t n = snprintf(text, size, " rd{key=%#x nfrags=%u", msg->desc.key, msg->desc.n_frags);
	uint64_t addr;
	uint32_t nob;

	for (unsigned int i = 0; i < msg->desc.n_frags && i < 4; i++) {
		lx_o2ib_proto_frag_get(&msg->desc, msg->flip, i, &nob, &addr);
		n += snprintf(text + n, size - n, " [nob=%u addr=%#llx]", nob,
			      (unsigned long long)addr);
	}
	return n + snprintf(text + n, size - n, "}");
}

/* Python also prints a prefix for 0. */
#define HEX(x) ((x) ? "" : "0x"), (unsigned long long)(x)

static void print_msg(char *text, size_t size, const struct lx_o2ib_msg *m)
{
	size_t n = snprintf(text, size,
			    "KIB %s magic=%#x ver=%#x credits=%u nob=%u cksum=%s%#llx src=",
			    lx_o2ib_proto_type_name(m->type), LX_O2IB_MAGIC, m->version, m->credits,
			    m->nob, HEX(m->cksum));

	n += print_nid(text + n, size - n, m->src_nid);
	n += snprintf(text + n, size - n, " stamp=%s%#llx dst=", HEX(m->src_incarnation));
	n += print_nid(text + n, size - n, m->dst_nid);
	n += snprintf(text + n, size - n, " stamp=%s%#llx", HEX(m->dst_incarnation));
	if (m->type == LX_O2IB_CONNREQ || m->type == LX_O2IB_CONNACK)
		n += snprintf(text + n, size - n, " | queue_depth=%u max_frags=%u max_msg_size=%u",
			      m->params.queue_depth, m->params.max_frags, m->params.max_msg_size);
	if (m->hdr.src_nid.type)
		n += print_hdr(text + n, size - n, &m->hdr);
	if (m->type == LX_O2IB_PUT_REQ || m->type == LX_O2IB_GET_REQ)
		n += snprintf(text + n, size - n, " cookie=%#llx", (unsigned long long)m->cookie);
	if (m->type == LX_O2IB_PUT_ACK)
		n += snprintf(text + n, size - n, " | src_cookie=%#llx dst_cookie=%#llx ",
			      (unsigned long long)m->cookie, (unsigned long long)m->dst_cookie);
	if (m->desc.n_frags)
		n += print_desc(text + n, size - n, m);
	if (m->type == LX_O2IB_PUT_NAK || m->type == LX_O2IB_PUT_DONE || m->type == LX_O2IB_GET_DONE)
		snprintf(text + n, size - n, " | cookie=%#llx status=%d",
			 (unsigned long long)m->cookie, m->status);
}

static void print_rej(char *text, size_t size, const struct lx_o2ib_rej *rej)
{
	snprintf(text, size,
		 "KIB REJ magic=%#x ver=%#x why=%u incarnation=%s%#llx queue_depth=%u max_frags=%u "
		 "max_msg_size=%u",
		 LX_O2IB_MAGIC, rej->version, rej->why, HEX(rej->incarnation),
		 rej->params.queue_depth, rej->params.max_frags, rej->params.max_msg_size);
}

/* Collapses runs of blanks, which the listing has where a field is missing. */
static void squeeze(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != ' ' || text[1] != ' ')
			*to++ = *text;
	}
	*to = '\0';
}

/* The next line about a message; NULL at the end. */
static const char *listed(struct golden *g, char *line, size_t size)
{
	char *at;

	while (fgets(line, size, g->listing)) {
		line[strcspn(line, "\n")] = '\0';
		at = strstr(line, "KIB ");
		if (at) {
			squeeze(at);
			return at;
		}
	}
	return NULL;
}

static void expect_listed(struct golden *g, char *text)
{
	char line[4096];
	const char *at = listed(g, line, sizeof(line));

	squeeze(text);
	if (!at)
		fail_msg("not in the listing: %s", text);
	assert_string_equal(text, at);
}

/* ---- messages ---------------------------------------------------------------------- */

static void one_message(struct golden *g, const uint8_t *data, size_t len)
{
	uint8_t again[LX_O2IB_MSG_MAX];
	struct lx_o2ib_msg msg;
	char text[4096];

	assert_int_equal(lx_o2ib_proto_decode(data, len, &msg), 0);
	assert_true(msg.nob <= len);
	memset(again, 0, sizeof(again));
	lx_o2ib_proto_encode(&msg, again, false);
	assert_memory_equal(again, data, msg.nob);
	print_msg(text, sizeof(text), &msg);
	expect_listed(g, text);
	if (msg.type == LX_O2IB_IMMEDIATE)
		assert_int_equal(msg.hdr.payload_length, msg.nob - lx_o2ib_proto_nob(msg.type, 0));
	g->messages++;
}

static void one_reject(struct golden *g, const uint8_t *data, size_t len)
{
	struct lx_o2ib_rej rej;
	uint8_t again[24];
	char text[400];

	if (lx_o2ib_proto_rej_decode(data, len, &rej))
		return; /* of the CM */
	assert_int_equal(lx_o2ib_proto_rej_encode(&rej, again), 24);
	assert_memory_equal(again, data, 24);
	print_rej(text, sizeof(text), &rej);
	expect_listed(g, text);
	g->rejects++;
}

static unsigned int be16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

/* A datagram of the CM: attribute, and the private data after its fixed part. */
static void management(struct golden *g, const uint8_t *mad, size_t len)
{
	switch (be16(mad + 16)) {
	case 0x10: /* REQ, with the header of RDMA CM */
		one_message(g, mad + 200, len - 200);
		break;
	case 0x13: /* REP */
		one_message(g, mad + 60, len - 60);
		break;
	case 0x12: /* REJ */
		one_reject(g, mad + 108, len - 108);
		break;
	}
}

static struct flow *flow_of(struct golden *g, const uint8_t *src, const uint8_t *qp)
{
	uint32_t s, q = qp[0] << 16 | qp[1] << 8 | qp[2];

	memcpy(&s, src, 4);
	for (unsigned int i = 0; i < g->n_flows; i++) {
		if (g->flow[i].src == s && g->flow[i].qp == q)
			return &g->flow[i];
	}
	assert_true(g->n_flows < FLOWS_MAX);
	g->flow[g->n_flows].src = s;
	g->flow[g->n_flows].qp = q;
	return &g->flow[g->n_flows++];
}

static void packet(struct golden *g, const uint8_t *src, const uint8_t *bth, size_t len)
{
	unsigned int op = bth[0], pad = bth[1] >> 4 & 3;
	struct flow *flow = flow_of(g, src, bth + 5);

	if (op == 0x64) {
		management(g, bth + 20, len - 20);
		return;
	}
	/* SEND first, middle, last, only; a retransmitted one would not decode. */
	if (op != 0 && op != 1 && op != 2 && op != 4)
		return;
	if (op == 0 || op == 4)
		flow->len = 0;
	len -= 12 + pad;
	assert_true(flow->len + len <= sizeof(flow->data));
	memcpy(flow->data + flow->len, bth + 12, len);
	flow->len += len;
	if (op == 2 || op == 4)
		one_message(g, flow->data, flow->len);
}

/* ---- captures ------------------------------------------------------------------------ */

static void frame(struct golden *g, const uint8_t *p, size_t len)
{
	size_t ihl, total;

	if (len < 42 || be16(p + 12) != 0x0800 || p[23] != 17)
		return;
	ihl = (p[14] & 15) * 4;
	total = be16(p + 16);
	assert_true(14 + total <= len && total >= ihl + 8 + 16);
	if (be16(p + 14 + ihl + 2) == ROCE_PORT)
		packet(g, p + 26, p + 14 + ihl + 8, total - ihl - 8 - 4);
}

static FILE *open_file(const char *name, const char *suffix)
{
	char path[600];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%.*s%s", folder, (int)strlen(name) - 5, name, suffix);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	return file;
}

static void one_capture(void **state)
{
	static uint8_t data[1 << 17];
	struct golden *g = calloc(1, sizeof(*g));
	FILE *file = open_file(*state, ".pcap");
	uint32_t head[4];
	char line[4096];

	assert_non_null(g);
	g->listing = open_file(*state, ".txt");
	assert_int_equal(fread(data, 1, 24, file), 24);
	while (fread(head, 1, 16, file) == 16) {
		size_t len = lx_le32(head[2]);

		assert_true(len <= sizeof(data));
		assert_int_equal(fread(data, 1, len, file), len);
		frame(g, data, len);
	}
	assert_null(listed(g, line, sizeof(line)));
	printf("             %u messages, %u rejects\n", g->messages, g->rejects);
	fclose(g->listing);
	fclose(file);
	free(g);
}

static int is_capture(const struct dirent *entry)
{
	const char *name = entry->d_name;
	size_t len = strlen(name);

	return len > 5 && !strcmp(name + len - 5, ".pcap") && strstr(name, "-o2ib-") &&
	       !strstr(name, "-tcpside");
}

int main(void)
{
	static struct CMUnitTest tests[CAPTURES_MAX];
	struct dirent **names = NULL;
	int found, rc;

	folder = captures_dir();
	found = scandir(folder, &names, is_capture, alphasort);
	if (found <= 0) {
		fprintf(stderr, "no captures in %s\n", folder);
		return 1;
	}
	if (found > CAPTURES_MAX)
		found = CAPTURES_MAX;
	for (int i = 0; i < found; i++)
		tests[i] = (struct CMUnitTest){ .name = names[i]->d_name,
						.test_func = one_capture,
						.initial_state = names[i]->d_name };
	rc = _cmocka_run_group_tests("golden_o2ib", tests, found, NULL, NULL);
	while (found)
		free(names[--found]);
	free(names);
	return rc;
}
