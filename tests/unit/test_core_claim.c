/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nodes that list NIDs of others as their own, by pushes and in answers, by mistake or malice:
 * a NID moves to another peer only if it agrees (discover.c).
 */
#include "simlib.h"

#define US "10.0.0.1@tcp"
#define SERVER "10.0.0.2@tcp"
#define CLIENT "10.0.0.3@tcp"
#define EVIL "10.0.0.9@tcp"

static struct lx_sim *sim;
static struct lx_sim_node *us, *server, *client, *evil;
static unsigned int n_moved;
static char buf[4096];

static void note_moved(int level, const char *line, void *arg)
{
	n_moved += strstr(line, "does not answer any more") != NULL;
}

static struct lx_peer *peer_of(const char *text)
{
	return lx_peer_of(pni_of(us, text));
}

/* @node sends us a message, so we have heard it. */
static void is_heard(struct lx_sim_node *node)
{
	log_clear();
	assert_int_equal(put(node, mem(node, buf, 10, 2), true, US, 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_ACK), 1);
}

static int setup(void **state)
{
	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	us = NODE(sim, US);
	server = NODE(sim, SERVER);
	client = NODE(sim, CLIENT);
	/* Two more NIDs, to have room for others in its answers. */
	evil = NODE(sim, EVIL, "10.7.0.1@tcp7", "10.7.0.2@tcp8");
	post(us, 5, NULL, 1, 0, buf, sizeof(buf), LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
	     LX_MD_UNLIMITED);
	lx_sim_run(sim, 5 * SEC);
	is_heard(server);
	is_heard(client);
	is_heard(evil);
	n_moved = 0;
	lx_set_log(note_moved, NULL);
	return 0;
}

static int teardown(void **state)
{
	lx_set_log(NULL, NULL);
	lx_sim_run(sim, 10 * SEC);
	assert_at_rest(us);
	lx_sim_free(sim);
	return 0;
}

/* Information that lists three NIDs, the first one as primary; @down is the one that is down. */
static size_t info_of(const char *const nids[3], unsigned int down, unsigned char *raw)
{
	struct lx_pinginfo *info;
	size_t size;

	assert_int_equal(lx_pinginfo_new(3, &info), 0);
	info->features = LX_PING_NI_STATUS | LX_PING_MULTI_RAIL | LX_PING_DISCOVERY;
	info->seqno = 1000 + rnd_below(1000);
	info->n_nis = 3;
	for (unsigned int i = 0; i < 3; i++)
		info->ni[i] = (struct lx_pinginfo_ni){ nid(nids[i]), i == down
									     ? LX_NI_STATUS_DOWN
									     : LX_NI_STATUS_UP };
	size = lx_pinginfo_size(info);
	lx_pinginfo_encode(info, raw);
	free(info);
	return size;
}

static const char *forged; /* the source of the next push */

static void forge(const struct lx_hdr *hdr, const struct lx_nid *next_hop)
{
	if (forged && hdr->type == LX_MSG_PUT)
		((struct lx_hdr *)(uintptr_t)hdr)->src_nid = nid(forged);
	forged = NULL;
}

/* Pushes that to us; if @as, in the name of that NID. */
static void push(struct lx_sim_node *node, const void *raw, size_t len, const char *as)
{
	struct lx_md *md = lx_md_lookup(node->core, mem(node, (void *)(uintptr_t)raw, len,
							LX_MD_UNLIMITED));
	const struct lx_id target = id(US);

	lx_sim_watch(sim, forge);
	forged = as;
	assert_int_equal(lx_msg_put(node->core, NULL, md, false, &target, 0, LX_PING_MATCH_BITS, 0,
				    0, true), 0);
	lx_sim_run(sim, SEC);
	lx_md_retire(md);
}

/* Each node that pings @node gets that. */
static void answers(struct lx_sim_node *node, const void *raw, size_t len)
{
	assert_true(len <= node->core->target.buffer->length);
	memcpy(node->core->target.buffer->data, raw, len);
}

/* All are who they are, and the server gets what is for it. */
static void assert_order(void)
{
	struct lx_nid primary = nid(SERVER);

	assert_ptr_not_equal(peer_of(SERVER), peer_of(EVIL));
	assert_ptr_not_equal(peer_of(CLIENT), peer_of(EVIL));
	assert_ptr_not_equal(peer_of(CLIENT), peer_of(SERVER));
	assert_true(lx_nid_eq(&peer_of(SERVER)->primary, &primary));
	assert_int_equal(peer_of(SERVER)->n_nis, 1);
	assert_true(lx_peer_ni_up(pni_of(us, SERVER)));
	log_clear();
	assert_int_equal(put(us, mem(us, buf, 10, 2), true, SERVER, 5, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_ACK), 1);
	assert_int_equal(count_events(LX_EVENT_PUT), 1);
	is_heard(client);
	assert_int_equal(n_moved, 0);
}

static const char *const lies[][3] = {
	{ EVIL, SERVER, CLIENT }, { SERVER, EVIL, CLIENT }, { CLIENT, SERVER, EVIL },
	{ SERVER, CLIENT, EVIL }, { EVIL, SERVER, "10.7.0.1@tcp7" },
	{ SERVER, "10.0.0.77@tcp", "10.0.0.78@tcp" },
};

/* By pushes, in its own and in others' names; it answers pings with the truth or the same lies. */
static void nobody_takes_a_nid_that_lives(void **state)
{
	unsigned char raw[512];
	size_t len;

	post(server, 5, NULL, 1, 0, buf, sizeof(buf), LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
	     LX_MD_UNLIMITED);
	for (int i = 0; i < 60; i++) {
		static const char *const as[] = { NULL, EVIL, SERVER, CLIENT };

		len = info_of(lies[rnd_below(N_OF(lies))], rnd_below(4), raw);
		if (rnd_below(2))
			answers(evil, raw, len);
		push(evil, raw, len, as[rnd_below(N_OF(as))]);
		lx_sim_run(sim, rnd_below(3) * SEC);
		assert_order();
	}
}

/* Its claim can be true only of the server: no other node has these NIDs. */
static void nobody_pushes_in_others_names(void **state)
{
	unsigned char raw[512];
	size_t len = info_of((const char *[]){ SERVER, "10.0.0.77@tcp", "10.0.0.78@tcp" }, 0, raw);

	post(server, 5, NULL, 1, 0, buf, sizeof(buf), LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
	     LX_MD_UNLIMITED);
	push(evil, raw, len, SERVER);
	assert_order();
}

/* Discovery by us, whose answer is a lie. */
static void nobody_answers_for_others(void **state)
{
	struct lx_nid n = nid(EVIL);
	unsigned char raw[512];

	post(server, 5, NULL, 1, 0, buf, sizeof(buf), LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE,
	     LX_MD_UNLIMITED);
	for (unsigned int i = 0; i < N_OF(lies); i++) {
		answers(evil, raw, info_of(lies[i], rnd_below(4), raw));
		assert_non_null(lx_peer_ni_lookup(us->core, &n));
		peer_of(EVIL)->state |= LX_PEER_FORCE_PING;
		lx_peer_discover(peer_of(EVIL));
		lx_sim_run(sim, 5 * SEC);
		assert_order();
	}
}

/* A node gets a NID that another one had: both say so at once. */
static void a_nid_moves_with_its_node(void **state)
{
	lx_sim_ni_del(client, CLIENT);
	assert_int_equal(lx_sim_ni_add(server, CLIENT, 8, 256), 0);
	lx_sim_run(sim, 3 * SEC);
	assert_ptr_equal(peer_of(SERVER), peer_of(CLIENT));
	assert_int_equal(n_moved, 0);
}

/* Its owner is dead, and does not answer: after the time that ends a peer it moves. */
static void a_nid_of_the_dead_moves(void **state)
{
	static const char *const claim[] = { EVIL, CLIENT, "10.7.0.1@tcp7" };
	unsigned char raw[512];
	size_t len = info_of(claim, 3, raw);
	unsigned int s = 0;

	lx_sim_mute(sim, CLIENT, true);
	answers(evil, raw, len);
	while (peer_of(EVIL) != peer_of(CLIENT)) {
		assert_true(s < 900);
		push(evil, raw, len, NULL);
		lx_sim_run(sim, 29 * SEC);
		s += 30;
	}
	assert_true(s >= 150);
	assert_int_equal(n_moved, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(nobody_takes_a_nid_that_lives), T(nobody_pushes_in_others_names),
		T(nobody_answers_for_others), T(a_nid_moves_with_its_node), T(a_nid_of_the_dead_moves),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: claims to NIDs", tests, NULL, NULL);
}
