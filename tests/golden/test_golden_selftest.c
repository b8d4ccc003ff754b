/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Captures of real selftest sessions, byte by byte: our codec decodes every request, reply and
 * list of destinations, encodes the same bytes, and the nodes follow the rules of the spec.
 */
#include "../unit/testlib.h"

#include <dirent.h>

#include "../../user/selftest/wire.h"
#include "messages.h"

#define CAPTURES_MAX 64

static const char *folder;

struct seen {
	struct capture capture;
	struct messages all;
	unsigned int requests, replies, dests;
};

static bool is_put(const struct message *m, uint32_t *ret_portal, uint64_t *ret_bits)
{
	if (m->kind != MESSAGE_LNET || m->hdr.type != LX_MSG_PUT)
		return false;
	*ret_portal = lx_le32(m->hdr.cmd.put.portal);
	*ret_bits = lx_le64(m->hdr.cmd.put.match_bits);
	return *ret_portal >= LX_LST_PORTAL_TEST && *ret_portal <= LX_LST_PORTAL_DATA;
}

static void expect_again(const struct message *m, const struct lx_lst_msg *msg)
{
	uint8_t again[LX_LST_MSG_BYTES];

	lx_lst_wire_encode(msg, again);
	assert_memory_equal(again, m->payload, sizeof(again));
}

/* Finds the request that a reply answers, by its match bits; false: not captured. */
static bool request_of(const struct seen *s, const struct message *reply, uint64_t bits,
		       struct lx_lst_msg *ret_msg)
{
	uint32_t portal;
	uint64_t service;

	for (unsigned int i = 0; i < s->all.n; i++) {
		const struct message *m = &s->all.message[i];

		if (is_put(m, &portal, &service) && portal != LX_LST_PORTAL_DATA &&
		    lx_nid_eq(&m->hdr.src_nid, &reply->hdr.dst_nid) &&
		    !lx_lst_wire_decode(m->payload, m->hdr.payload_length, ret_msg) &&
		    ret_msg->rpyid == bits)
			return true;
	}
	return false;
}

static void expect_message(struct seen *s, const struct message *m, uint32_t portal, uint64_t bits)
{
	struct lx_lst_msg msg, request;

	assert_int_equal(m->hdr.payload_length, LX_LST_MSG_BYTES);
	assert_int_equal(lx_lst_wire_decode(m->payload, m->hdr.payload_length, &msg), 0);
	assert_int_equal(lx_lst_flipped(&msg), CAPTURES_FLIP);
	expect_again(m, &msg);
	assert_int_equal(msg.features & ~LX_LST_FEATURES, 0);
	if (portal != LX_LST_PORTAL_DATA) {
		assert_int_equal(lx_lst_wire_portal(bits), portal);
		assert_int_equal(lx_lst_wire_request_type(bits), msg.type);
		s->requests++;
		return;
	}
	s->replies++;
	if (request_of(s, m, bits, &request))
		assert_int_equal(msg.type, request.type + 1);
}

/* The list of destinations that a node fetched for @test, if that was captured. */
static void expect_dests(struct seen *s, const struct lx_lst_msg *test)
{
	const struct message *get = NULL;
	struct lx_lst_dest dest;
	struct lx_nid nid;

	for (unsigned int i = 0; i < s->all.n; i++) {
		const struct message *m = &s->all.message[i];

		if (m->kind == MESSAGE_LNET && m->hdr.type == LX_MSG_GET &&
		    lx_le64(m->hdr.cmd.get.match_bits) == test->test.bulkid)
			get = m;
	}
	for (unsigned int i = 0; get && i < s->all.n; i++) {
		const struct message *m = &s->all.message[i];

		if (m->kind != MESSAGE_LNET || m->hdr.type != LX_MSG_REPLY ||
		    !lx_nid_eq(&m->hdr.dst_nid, &get->hdr.src_nid) ||
		    memcmp(&get->hdr.cmd.get.return_md, &m->hdr.cmd.reply.dst_md,
			   sizeof(struct lx_wire_handle)))
			continue;
		assert_int_equal(m->hdr.payload_length,
				 lx_lst_wire_dests_bytes(test->test.ndest, test->features));
		assert_int_equal(lx_lst_wire_dest_get(m->payload, m->hdr.payload_length, 0,
						      CAPTURES_FLIP, &dest),
				 0);
		assert_int_equal(dest.pid, LX_PID_LUSTRE);
		lx_nid_from_u64(dest.nid, &nid);
		assert_int_equal(nid.type, LX_NET_TCP);
		s->dests++;
	}
}

static void one_capture(void **state)
{
	struct seen s = { 0 };
	struct lx_lst_msg msg;
	uint32_t portal;
	uint64_t bits;
	char name[200];

	snprintf(name, sizeof(name), "%.*s", (int)strlen(*state) - 5, (char *)*state);
	messages_load(folder, name, &s.capture, &s.all);
	for (unsigned int i = 0; i < s.all.n; i++) {
		const struct message *m = &s.all.message[i];

		if (!is_put(m, &portal, &bits))
			continue;
		if (portal == LX_LST_PORTAL_DATA && m->hdr.payload_length != LX_LST_MSG_BYTES)
			continue; /* bulk */
		expect_message(&s, m, portal, bits);
		if (!lx_lst_wire_decode(m->payload, m->hdr.payload_length, &msg) &&
		    msg.type == LX_LST_TEST_REQ && msg.test.is_client)
			expect_dests(&s, &msg);
	}
	assert_true(s.requests > 0 && s.replies > 0);
	if (!strcmp(name, "19c-lst-server-killed"))
		assert_int_equal(s.dests, 1);
	printf("             %u requests, %u replies, %u lists of destinations\n", s.requests,
	       s.replies, s.dests);
	free(s.all.message);
	capture_free(&s.capture);
}

static int is_selftest(const struct dirent *entry)
{
	const char *name = entry->d_name;
	size_t len = strlen(name);

	return len > 5 && !strcmp(name + len - 5, ".pcap") && strstr(name, "lst") &&
	       (!strstr(name, "-o2ib-") || strstr(name, "-tcpside"));
}

int main(void)
{
	static struct CMUnitTest tests[CAPTURES_MAX];
	struct dirent **names = NULL;
	int found, n = 0, rc;

	folder = captures_dir();
	found = scandir(folder, &names, is_selftest, alphasort);
	if (found < 20 || found > CAPTURES_MAX) {
		fprintf(stderr, "%d captures of the selftest in %s?\n", found, folder);
		return 1;
	}
	for (n = 0; n < found; n++)
		tests[n] = (struct CMUnitTest){ .name = names[n]->d_name,
						.test_func = one_capture,
						.initial_state = names[n]->d_name };
	rc = _cmocka_run_group_tests("golden_selftest", tests, n, NULL, NULL);
	while (found)
		free(names[--found]);
	free(names);
	return rc;
}
