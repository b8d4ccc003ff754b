/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selection policies: the list, and the paths that messages take. */
#include "simlib.h"

#include <errno.h>

#include "../../user/core/select.h"
#include "../../user/core/udsp.h"

/*
 *	a 10.77.0.1@tcp, 10.78.0.1@tcp ── b 10.77.0.2@tcp, 10.78.0.2@tcp
 */
static struct lx_sim *sim;
static struct lx_sim_node *a;

static int setup(void **state)
{
	if (lx_sim_new(rnd(), &sim_plain, &sim))
		return -1;
	a = NODE(sim, "10.77.0.1@tcp", "10.78.0.1@tcp");
	return 0;
}

static int teardown(void **state)
{
	lx_sim_free(sim);
	return 0;
}

static int add_at(const char *src, const char *dst, const char *rte, int64_t priority, int index)
{
	struct lx_conf_udsp conf = { .priority = priority, .index = index };

	snprintf(conf.src, sizeof(conf.src), "%s", src ? src : "");
	snprintf(conf.dst, sizeof(conf.dst), "%s", dst ? dst : "");
	snprintf(conf.rte, sizeof(conf.rte), "%s", rte ? rte : "");
	return lx_udsp_new(a->core, &conf);
}

static int add(const char *src, const char *dst, const char *rte, int64_t priority)
{
	return add_at(src, dst, rte, priority, LX_UNSET);
}

static void peer(const char *primary, const char *other)
{
	struct lx_nid more;
	struct lx_conf_peer conf = { .primary = nid(primary), .multi_rail = true, .nid = &more };

	if (other) {
		more = nid(other);
		conf.n_nids = 1;
	}
	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
}

static struct lx_peer_ni *peer_ni(const char *text)
{
	struct lx_nid n = nid(text);
	struct lx_peer_ni *pni;

	assert_int_equal(lx_peer_ni_obtain(a->core, &n, &pni), 0);
	return pni;
}

/* The list, one line per policy: "src tcp priority 0;" */
static const char *list(void)
{
	static char text[2000];
	struct lx_conf_udsp *udsp;
	size_t n, used = 0;

	assert_int_equal(lx_udsp_describe_all(a->core, &udsp, &n), 0);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(udsp[i].index, i);
		if (udsp[i].src[0])
			used += sprintf(text + used, "src %s ", udsp[i].src);
		if (udsp[i].dst[0])
			used += sprintf(text + used, "dst %s ", udsp[i].dst);
		if (udsp[i].rte[0])
			used += sprintf(text + used, "rte %s ", udsp[i].rte);
		used += sprintf(text + used, "%lld;", (long long)udsp[i].priority);
	}
	free(udsp);
	return text;
}

static struct lx_path path_to(const char *to)
{
	const struct lx_path_request req = {
		.dst = peer_ni(to), .src = &lx_nid_any, .gateway = &lx_nid_any, .origin = &lx_nid_any,
	};
	struct lx_path path;

	assert_int_equal(lx_select_path(a->core, &req, &path), 0);
	return path;
}

/* ---- the list ------------------------------------------------------------------------ */

static void test_order(void **state)
{
	assert_int_equal(add("tcp1", NULL, NULL, 0), 0);
	assert_int_equal(add("10.77.0.1@tcp", NULL, NULL, 5), 0);
	assert_int_equal(add_at("tcp", NULL, NULL, 9, 0), 0);
	assert_int_equal(add_at("tcp2", NULL, NULL, 1, 99), 0);
	assert_int_equal(add_at("tcp3", NULL, NULL, 1, 2), 0);
	assert_string_equal(list(), "src tcp 9;src tcp1 0;src tcp3 1;src 10.77.0.1@tcp 5;src tcp2 1;");
	/* The same clauses replace the action, in place. */
	assert_int_equal(add_at("tcp1", NULL, NULL, 7, 4), 0);
	assert_string_equal(list(), "src tcp 9;src tcp1 7;src tcp3 1;src 10.77.0.1@tcp 5;src tcp2 1;");
	assert_int_equal(add("tcp1", NULL, NULL, 7), -EALREADY);
	assert_int_equal(lx_udsp_delete(a->core, 0), 0);
	assert_int_equal(lx_udsp_delete(a->core, 2), 0);
	assert_string_equal(list(), "src tcp1 7;src tcp3 1;src tcp2 1;");
	assert_int_equal(lx_udsp_delete(a->core, 3), -ENOENT);
	assert_int_equal(lx_udsp_delete(a->core, -2), -ENOENT);
	assert_int_equal(lx_udsp_delete(a->core, LX_UNSET), 0);
	assert_int_equal(lx_udsp_delete(a->core, LX_UNSET), 0);
	assert_string_equal(list(), "");
}

static void test_actions(void **state)
{
	/* A single src or dst without a priority gets 0; other policies get none. */
	assert_int_equal(add("tcp", NULL, NULL, LX_UNSET), 0);
	assert_int_equal(add(NULL, "tcp", NULL, LX_UNSET), 0);
	assert_int_equal(add(NULL, NULL, "10.77.0.3@tcp", LX_UNSET), 0);
	assert_int_equal(add(NULL, NULL, "10.77.0.3@tcp", 1), -EALREADY);
	assert_int_equal(add("tcp", "tcp1", NULL, 1), 0);
	assert_int_equal(add("tcp", "tcp2", NULL, LX_UNSET), 0);
	assert_int_equal(add(NULL, "tcp1", "10.77.0.3@tcp", 1), 0);
	assert_string_equal(list(), "src tcp 0;dst tcp 0;rte 10.77.0.3@tcp -1;src tcp dst tcp1 1;"
				    "src tcp dst tcp2 -1;dst tcp1 rte 10.77.0.3@tcp 1;");
	assert_int_equal(add(NULL, NULL, NULL, 1), -EINVAL);
	assert_int_equal(add("tcp", NULL, "10.77.0.3@tcp", LX_UNSET), -EINVAL);
	assert_int_equal(add("tcp", "tcp1", "10.77.0.3@tcp", LX_UNSET), -EINVAL);
	assert_int_equal(add("bogus", NULL, NULL, 1), -EINVAL);
	assert_int_equal(add(NULL, "*@tcp", NULL, 1), -EINVAL);
	assert_int_equal(add("tcp9", NULL, NULL, -2), -EINVAL);
	assert_int_equal(add("tcp9", NULL, NULL, 1LL << 32), -EINVAL);
}

/* ---- paths, as in the captures 14a to 14h ------------------------------------------------ */

static const char *const ours[] = { "10.77.0.1@tcp", "10.78.0.1@tcp" };
static const char *const theirs[] = { "10.77.0.2@tcp", "10.78.0.2@tcp" };

static void expect_paths(unsigned int n, const unsigned int want[2][2])
{
	unsigned int got[2][2] = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		struct lx_path path = path_to(theirs[0]);
		struct lx_nid src = nid(ours[1]), dst = nid(theirs[1]);

		got[lx_nid_eq(&path.ni->ni.nid, &src)][lx_nid_eq(&path.dst, &dst)]++;
	}
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 2; j++) {
			if (got[i][j] != want[i][j])
				fail_msg("%s -> %s: %u, not %u", ours[i], theirs[j], got[i][j],
					 want[i][j]);
		}
	}
}
#define EXPECT_PATHS(...) expect_paths(8, (const unsigned int[2][2])__VA_ARGS__)

static void test_no_policy(void **state)
{
	peer(theirs[0], theirs[1]);
	EXPECT_PATHS({ { 4, 0 }, { 0, 4 } });
}

static void test_src_priority(void **state)
{
	peer(theirs[0], theirs[1]);
	assert_int_equal(add(ours[1], NULL, NULL, 0), 0);
	EXPECT_PATHS({ { 0, 0 }, { 4, 4 } });
	assert_int_equal(lx_udsp_delete(a->core, 0), 0);
	ni_of(a, ours[0])->seq = ni_of(a, ours[1])->seq; /* both used equally often */
	EXPECT_PATHS({ { 4, 0 }, { 0, 4 } });
}

static void test_dst_priority(void **state)
{
	peer(theirs[0], theirs[1]);
	assert_int_equal(add(NULL, theirs[1], NULL, 0), 0);
	EXPECT_PATHS({ { 0, 4 }, { 0, 4 } });
}

static void test_pairs_crossed(void **state)
{
	peer(theirs[0], theirs[1]);
	assert_int_equal(add(ours[0], theirs[1], NULL, LX_UNSET), 0);
	assert_int_equal(add(ours[1], theirs[0], NULL, LX_UNSET), 0);
	EXPECT_PATHS({ { 0, 4 }, { 4, 0 } });
}

static void test_pair_of_one(void **state)
{
	peer(theirs[0], theirs[1]);
	/* Our other NI uses the one that was used less. */
	peer_ni(theirs[0])->seq = 1;
	assert_int_equal(add(ours[1], theirs[0], NULL, LX_UNSET), 0);
	EXPECT_PATHS({ { 0, 4 }, { 4, 0 } });
	/* The preference outweighs the turn: by turns it would be the other one. */
	peer_ni(theirs[0])->seq = lx_peer_of(peer_ni(theirs[0]))->send_seq + 1;
	ni_of(a, ours[0])->seq = a->core->net_seq + 1;
	a->core->net_seq += 2;
	lx_peer_of(peer_ni(theirs[0]))->send_seq += 2;
	EXPECT_PATHS({ { 0, 4 }, { 4, 0 } });
}

static void test_both_priorities(void **state)
{
	peer(theirs[0], theirs[1]);
	assert_int_equal(add(ours[1], NULL, NULL, 0), 0);
	assert_int_equal(add(NULL, theirs[0], NULL, 0), 0);
	EXPECT_PATHS({ { 0, 0 }, { 8, 0 } });
}

static void test_pair_is_weaker(void **state)
{
	peer(theirs[0], theirs[1]);
	assert_int_equal(add(ours[0], theirs[0], NULL, LX_UNSET), 0);
	assert_int_equal(add(NULL, theirs[1], NULL, 0), 0);
	EXPECT_PATHS({ { 0, 4 }, { 0, 4 } });
}

/* How many of @n messages to @to use each gateway. */
static void gateways(const char *to, unsigned int n, unsigned int *ret_first, unsigned int *ret_second)
{
	struct lx_nid first = nid("10.77.0.2@tcp");

	*ret_first = *ret_second = 0;
	while (n--)
		++*(lx_nid_eq(&path_to(to).next_hop->nid, &first) ? ret_first : ret_second);
}

static void test_gateway(void **state)
{
	unsigned int first, second;
	struct lx_udsp_effect e;
	struct lx_nid via = nid("10.77.0.2@tcp");

	tune(a, "check_routers_before_use", "0");
	add_route(a, "tcp8", "10.77.0.2@tcp", LX_UNSET, 0);
	add_route(a, "tcp8", "10.77.0.3@tcp", LX_UNSET, 0);
	gateways("10.99.0.200@tcp8", 8, &first, &second);
	assert_int_equal(first, 4);
	assert_int_equal(add(NULL, "10.99.0.*@tcp8", "10.77.0.2@tcp", LX_UNSET), 0);
	/* A NID known before, and one first seen now. */
	gateways("10.99.0.200@tcp8", 8, &first, &second);
	assert_int_equal(first, 8);
	gateways("10.99.0.201@tcp8", 8, &first, &second);
	assert_int_equal(first, 8);
	lx_udsp_describe_peer_ni(peer_ni("10.99.0.201@tcp8"), &e);
	assert_int_equal(e.n_gateways, 1);
	assert_true(lx_nid_eq(&e.gateway[0], &via));
	/* rte alone: no effect. */
	assert_int_equal(lx_udsp_delete(a->core, LX_UNSET), 0);
	assert_int_equal(add(NULL, NULL, "10.77.0.2@tcp", LX_UNSET), 0);
	path_to("10.99.0.202@tcp8"); /* whose turn it was before */
	gateways("10.99.0.202@tcp8", 8, &first, &second);
	assert_int_equal(first, 4);
	lx_udsp_describe_peer_ni(peer_ni("10.99.0.202@tcp8"), &e);
	assert_int_equal(e.n_gateways, 0);
	/* A gateway matches by any of its NIDs, even if added after the policy. */
	assert_int_equal(add(NULL, "10.99.0.*@tcp8", "10.77.0.4@tcp", LX_UNSET), 0);
	add_route(a, "tcp8", "10.77.0.4@tcp", LX_UNSET, 0);
	gateways("10.99.0.202@tcp8", 8, &first, &second);
	assert_int_equal(second, 8);
	lx_udsp_describe_peer_ni(peer_ni("10.99.0.202@tcp8"), &e);
	assert_int_equal(e.n_gateways, 1);
	/* It is a preference: without this gateway the others are used. */
	via = nid("10.77.0.4@tcp");
	assert_int_equal(lx_route_delete(a->core, LX_NET(LX_NET_TCP, 8), &via), 0);
	gateways("10.99.0.202@tcp8", 8, &first, &second);
	assert_int_equal(first, 4);
}

/* ---- nets ----------------------------------------------------------------------------------- */

static void test_nets(void **state)
{
	struct lx_nid src;

	assert_int_equal(lx_sim_ni_add(a, "10.79.0.1@tcp1", 8, 256), 0);
	peer("10.77.0.2@tcp", "10.79.0.2@tcp1");
	src = nid("10.79.0.1@tcp1");
	/* Ours, by net: 4. */
	assert_int_equal(add("tcp1", NULL, NULL, 0), 0);
	for (int i = 0; i < 4; i++)
		assert_true(lx_nid_eq(&path_to("10.77.0.2@tcp").ni->ni.nid, &src));
	/* The peer's net comes before ours: 2. */
	assert_int_equal(add(NULL, "tcp", NULL, 5), 0);
	for (int i = 0; i < 4; i++)
		assert_false(lx_nid_eq(&path_to("10.77.0.2@tcp").ni->ni.nid, &src));
	/* Priorities of nets do not change those of NIDs. */
	assert_int_equal(peer_ni("10.77.0.2@tcp")->priority, LX_PRIORITY_NONE);
	assert_int_equal(ni_of(a, "10.79.0.1@tcp1")->priority, LX_PRIORITY_NONE);
}

static void test_remote_nets(void **state)
{
	struct lx_nid far = nid("10.99.0.9@tcp9");

	tune(a, "check_routers_before_use", "0");
	add_route(a, "tcp8", "10.77.0.3@tcp", LX_UNSET, 0);
	add_route(a, "tcp9", "10.77.0.3@tcp", LX_UNSET, 0);
	peer("10.99.0.8@tcp8", "10.99.0.9@tcp9");
	assert_int_equal(add(NULL, "tcp9", NULL, LX_UNSET), 0);
	for (int i = 0; i < 4; i++) {
		struct lx_path path = path_to("10.99.0.8@tcp8");

		assert_true(lx_nid_eq(&path.dst, &far));
	}
}

/* ---- what is there, and what comes ------------------------------------------------------- */

static void test_first_decides(void **state)
{
	assert_int_equal(add("10.77.0.*@tcp", NULL, NULL, 3), 0);
	assert_int_equal(add("10.77.0.1@tcp", NULL, NULL, 1), 0);
	assert_int_equal(ni_of(a, ours[0])->priority, 3);
	assert_int_equal(lx_udsp_delete(a->core, 0), 0);
	assert_int_equal(ni_of(a, ours[0])->priority, 1);
	assert_int_equal(lx_udsp_delete(a->core, 0), 0);
	assert_int_equal(ni_of(a, ours[0])->priority, LX_PRIORITY_NONE);
}

/* Evaluates the list for a net or NID, without any shortcut. */
static uint32_t said(bool remote, uint32_t net, const struct lx_nid *n)
{
	struct lx_udsp *u;

	lx_list_for_each(u, &a->core->udsps, link) {
		const struct lx_nid_range *r = remote ? &u->policy.dst : &u->policy.src;
		const struct lx_nid_range *other = remote ? &u->policy.src : &u->policy.dst;

		if (other->form || u->policy.rte.form)
			continue;
		if (n ? r->form != LX_NID_RANGE_NET && lx_nidrange_has(r, n)
		      : r->form == LX_NID_RANGE_NET && lx_nidrange_has_net(r, net))
			return u->policy.priority;
	}
	return LX_PRIORITY_NONE;
}

static void check_all(void)
{
	struct lx_peer_net *peer_net;
	struct lx_peer_ni *pni;
	struct lx_core_ni *ni;
	struct lx_peer *p;
	struct lx_net *net;

	lx_ni_for_each(net, ni, a->core) {
		assert_int_equal(net->priority, said(false, net->id, NULL));
		assert_int_equal(ni->priority, said(false, net->id, &ni->ni.nid));
	}
	lx_list_for_each(p, &a->core->peers, link) {
		lx_peer_ni_for_each(peer_net, pni, p) {
			bool nis = false, gateways = false;
			struct lx_udsp *u;

			assert_int_equal(peer_net->priority, said(true, peer_net->id, NULL));
			assert_int_equal(pni->priority, said(true, peer_net->id, &pni->nid));
			lx_list_for_each(u, &a->core->udsps, link) {
				bool here = lx_nidrange_has(&u->policy.dst, &pni->nid);

				nis |= here && u->policy.src.form;
				gateways |= here && u->policy.rte.form;
			}
			assert_int_equal(pni->prefers_nis, nis);
			assert_int_equal(pni->prefers_gateways, gateways);
		}
	}
}

static const char *some_range(void)
{
	static const char *const ranges[] = {
		"tcp", "tcp1", "tcp[1-2]", "10.0.0.[1-4]@tcp", "10.0.0.*@tcp1", "10.0.*.2@tcp[0-2/2]",
		"10.0.0.3@tcp2", "*.*.*.*@tcp",
	};

	return ranges[rnd_below(N_OF(ranges))];
}

static void random_policy(void)
{
	bool src = rnd_below(2), dst = !src || rnd_below(3) == 0, rte = !src && rnd_below(3) == 0;
	int r = add_at(src ? some_range() : NULL, dst ? some_range() : NULL,
		       rte ? some_range() : NULL, rnd_below(2) ? LX_UNSET : (int64_t)rnd_below(5),
		       (int)rnd_below(6) - 1);

	assert_true(!r || r == -EALREADY);
}

static void random_nid(struct lx_nid *ret_nid)
{
	char text[LX_NID_TEXT];

	snprintf(text, sizeof(text), "10.0.%u.%u@tcp%u", (unsigned int)rnd_below(2),
		 (unsigned int)rnd_below(6), (unsigned int)rnd_below(3));
	*ret_nid = nid(text);
}

/* Whatever the order in which policies, NIs and peers come and go, all match the list. */
static void test_what_comes(void **state)
{
	struct lx_peer_ni *pni;
	struct lx_nid n;

	for (int op = 0; op < 3000; op++) {
		random_nid(&n);
		switch (rnd_below(6)) {
		case 0:
			random_policy();
			break;
		case 1:
			lx_udsp_delete(a->core, rnd_below(8));
			break;
		case 2:
			lx_sim_ni_add(a, lx_nid_str(&n), 8, 256);
			break;
		case 3:
			if (lx_ni_lookup(a->core, &n))
				lx_sim_ni_del(a, lx_nid_str(&n));
			break;
		case 4:
			if (!lx_ni_is_local_nid(a->core, &n))
				assert_int_equal(lx_peer_ni_obtain(a->core, &n, &pni), 0);
			break;
		case 5:
			pni = lx_peer_ni_lookup(a->core, &n);
			if (pni)
				lx_peer_drop_nid(pni);
			break;
		}
		check_all();
	}
	printf("3000 changes of policies, NIs and peers\n");
}

static unsigned int n_told;

static void note(struct lx_ni *ni, const struct lx_nid *id, uint32_t net)
{
	n_told += !id && net == LX_NET_U32_ANY;
}

/* Transports must forget what they know of next hops. */
static void test_transports_are_told(void **state)
{
	((struct lx_lnd *)ni_of(a, ours[0])->ni.lnd)->policy_changed = note;
	n_told = 0;
	assert_int_equal(add("tcp", NULL, NULL, 0), 0);
	assert_true(n_told > 0);
	n_told = 0;
	assert_int_equal(add("tcp", NULL, NULL, 0), -EALREADY);
	assert_int_equal(n_told, 0);
	assert_int_equal(lx_udsp_delete(a->core, 0), 0);
	assert_true(n_told > 0);
	((struct lx_lnd *)ni_of(a, ours[0])->ni.lnd)->policy_changed = NULL;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),
		TEST(test_actions),
		TEST(test_no_policy),
		TEST(test_src_priority),
		TEST(test_dst_priority),
		TEST(test_pairs_crossed),
		TEST(test_pair_of_one),
		TEST(test_both_priorities),
		TEST(test_pair_is_weaker),
		TEST(test_gateway),
		TEST(test_nets),
		TEST(test_remote_nets),
		TEST(test_first_decides),
		TEST(test_what_comes),
		TEST(test_transports_are_told),
	};

	rnd_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
