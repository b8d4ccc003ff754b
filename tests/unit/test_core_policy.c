/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* policy_changed(): transports hear of no more peers and nets than necessary. */
#include "simlib.h"

#include "../../user/core/route.h"

/*
 *	a 10.0.0.1@tcp1 ──┬── r1 10.0.0.11@tcp1 / 10.1.0.11@tcp2
 *	                  ├── r2 10.0.0.12@tcp1 / 10.1.0.12@tcp2
 *	                  └── b  10.0.0.2@tcp1, 10.0.0.3@tcp1
 */
static struct lx_sim *sim;
static struct lx_sim_node *a, *b, *r1, *r2;

/* ---- what is told -------------------------------------------------------------------- */

static struct told {
	struct lx_nid nid; /* any: none */
	uint32_t net;
} told[100];
static unsigned int n_told;

static void record(struct lx_ni *ni, const struct lx_nid *id, uint32_t net)
{
	if (ni->core != a->core)
		return;
	assert_true(n_told < N_OF(told));
	told[n_told++] = (struct told){ id ? *id : lx_nid_any, net };
}

static bool is_told(const char *text, uint32_t net)
{
	struct lx_nid id = text ? nid(text) : lx_nid_any;

	for (unsigned int i = 0; i < n_told; i++) {
		if (lx_nid_eq(&told[i].nid, &id) && told[i].net == net)
			return true;
	}
	return false;
}

#define TOLD_NID(text) is_told(text, LX_NET_U32_ANY)
#define TOLD_NET(net) is_told(NULL, net)
#define TOLD_ALL() is_told(NULL, LX_NET_U32_ANY)

/* ---- the world ----------------------------------------------------------------------- */

static void quick(struct lx_sim_node *node)
{
	tune(node, "alive_router_check_interval", "2");
	tune(node, "router_ping_timeout", "1");
	tune(node, "lnet_transaction_timeout", "5");
}

static int setup(void **state)
{
	struct lx_nid own = nid("10.0.0.1@tcp1");

	if (lx_sim_new(rnd(), &sim_plain, &sim))
		return -1;
	a = NODE(sim, "10.0.0.1@tcp1");
	b = NODE(sim, "10.0.0.2@tcp1", "10.0.0.3@tcp1");
	r1 = NODE(sim, "10.0.0.11@tcp1", "10.1.0.11@tcp2");
	r2 = NODE(sim, "10.0.0.12@tcp1", "10.1.0.12@tcp2");
	quick(a);
	make_router(r1);
	make_router(r2);
	add_route(a, "tcp2", "10.0.0.11@tcp1", LX_UNSET, 0);
	add_route(a, "tcp2", "10.0.0.12@tcp1", LX_UNSET, 0);
	lx_sim_run(sim, 5 * SEC);
	/* The sim's own function table, which all its nodes share. */
	((struct lx_lnd *)lx_ni_lookup(a->core, &own)->ni.lnd)->policy_changed = record;
	n_told = 0;
	return 0;
}

static int teardown(void **state)
{
	lx_sim_free(sim);
	return 0;
}

/* ---- tests --------------------------------------------------------------------------- */

static void gateway_down(void **state)
{
	lx_sim_dead(sim, "10.0.0.11@tcp1", true);
	lx_sim_run(sim, 10 * SEC);
	assert_true(TOLD_NET(LX_NET(2, 2)));
	assert_false(TOLD_ALL());
	assert_false(TOLD_NID("10.0.0.12@tcp1"));
	n_told = 0;
	lx_sim_dead(sim, "10.0.0.11@tcp1", false);
	lx_sim_run(sim, 10 * SEC);
	assert_true(TOLD_NET(LX_NET(2, 2)));
	assert_false(TOLD_ALL());
}

static void peer_down(void **state)
{
	char buf[8] = { 0 };
	struct lx_nid one = nid("10.0.0.3@tcp1");

	assert_int_equal(put(a, mem(a, buf, sizeof(buf), 2), true, "10.0.0.2@tcp1", 5, 1), 0);
	lx_sim_run(sim, 3 * SEC);
	/* Discovery: from now on any of its NIDs may be used. */
	assert_true(TOLD_NID("10.0.0.2@tcp1") && TOLD_NID("10.0.0.3@tcp1"));
	n_told = 0;
	lx_peer_ni_set_down(a->core, lx_peer_ni_lookup(a->core, &one), LX_DOWN_LOST, 0);
	assert_int_equal(n_told, 1);
	assert_true(TOLD_NID("10.0.0.3@tcp1"));
	/* Up again, there is one more to choose from: messages to others may stay there. */
	n_told = 0;
	lx_peer_ni_set_up(a->core, lx_peer_ni_lookup(a->core, &one));
	assert_int_equal(n_told, 0);
	/* It leaves its peer. */
	lx_peer_drop_nid(lx_peer_ni_lookup(a->core, &one));
	assert_int_equal(n_told, 1);
	assert_true(TOLD_NID("10.0.0.3@tcp1"));
}

/* Peers created by messages of strangers replace each other; others stay. */
static void peers_max(void **state)
{
	struct lx_peer_ni *pni;
	struct lx_nid id = nid("10.0.0.70@tcp1");
	char text[16];

	while (a->core->peer_nis.count < 16) {
		id.addr[3]++;
		assert_int_equal(lx_peer_ni_obtain(a->core, &id, &pni), 0);
	}
	snprintf(text, sizeof(text), "%u", a->core->peer_nis.count + 1);
	tune(a, "peers_max", text);
	id.addr[3]++;
	assert_int_equal(lx_peer_ni_obtain(a->core, &id, &pni), 0);
	assert_int_equal(n_told, 0);
	id.addr[3]++;
	assert_int_equal(lx_peer_ni_obtain(a->core, &id, &pni), 0);
	assert_true(n_told > 0);
	assert_false(TOLD_ALL());
}

static void others(void **state)
{
	add_route(a, "tcp7", "10.0.0.12@tcp1", LX_UNSET, 0);
	assert_true(TOLD_NET(LX_NET(2, 7)));
	assert_false(TOLD_ALL());
	assert_int_equal(lx_sim_ni_add(a, "10.5.0.1@tcp5", 8, 256), 0);
	assert_true(TOLD_ALL());
	n_told = 0;
	make_router(a);
	assert_true(TOLD_ALL());
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(gateway_down), T(peer_down), T(peers_max), T(others),
	};

	rnd_init();
	return cmocka_run_group_tests_name("changes of policy", tests, NULL, NULL);
}
