/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two nodes in virtual time that ask each other who they are. */
#ifndef LX_TESTS_DISCOVERWORLD_H
#define LX_TESTS_DISCOVERWORLD_H

#include "simlib.h"

static struct lx_sim *sim;
static struct lx_sim_node *a, *b;

static inline int setup(void **state)
{
	log_clear();
	if (lx_sim_new(rnd(), &sim_plain, &sim))
		return -1;
	a = NODE(sim, "10.0.0.1@tcp");
	b = NODE(sim, "10.0.0.2@tcp", "10.1.0.2@tcp1");
	return 0;
}

static inline int teardown(void **state)
{
	lx_sim_run(sim, 10 * SEC);
	/* Not in the moment in which gateways are asked, which is on the second. */
	lx_sim_run(sim, SEC / 4);
	assert_at_rest(a);
	assert_at_rest(b);
	lx_sim_free(sim);
	return 0;
}

static inline struct lx_peer *peer_of(struct lx_sim_node *node, const char *text)
{
	struct lx_nid n = nid(text);
	struct lx_peer_ni *pni = lx_peer_ni_lookup(node->core, &n);

	return pni ? lx_peer_of(pni) : NULL;
}

struct outcome {
	int calls, status;
	struct lx_nid primary;
	bool multi_rail;
	unsigned int n_nis;
	struct lx_nid nis[64];
};

static inline void outcome_set(int status, struct lx_peer_info *info, void *arg)
{
	struct outcome *o = arg;

	o->calls++;
	o->status = status;
	if (!info)
		return;
	o->primary = info->primary;
	o->multi_rail = info->multi_rail;
	o->n_nis = info->n_nis;
	for (unsigned int i = 0; i < info->n_nis && i < 64; i++)
		o->nis[i] = info->ni[i].nid;
	free(info);
}

static inline struct outcome discover(struct lx_sim_node *node, const char *text, bool force)
{
	struct outcome o = { 0 };
	struct lx_nid n = nid(text);

	assert_int_equal(lx_probe_discover(node->core, &n, force, outcome_set, &o), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(o.calls, 1);
	return o;
}

static inline struct outcome ping_from(struct lx_sim_node *node, const char *source,
				       const char *text, unsigned int ms)
{
	struct lx_nid from = source ? nid(source) : lx_nid_any;
	struct outcome o = { 0 };
	struct lx_id target = id(text);

	assert_int_equal(lx_probe_ping(node->core, &target, &from, ms, outcome_set, &o), 0);
	lx_sim_run(sim, 2 * ms * MS);
	assert_int_equal(o.calls, 1);
	return o;
}

static inline struct outcome ping(struct lx_sim_node *node, const char *text, unsigned int ms)
{
	return ping_from(node, NULL, text, ms);
}

/* The NIDs that a node shows of its first peer. */
static inline void assert_nids(struct lx_sim_node *node, const char *want)
{
	struct lx_peer_info *list;
	char text[500] = "";
	size_t n;

	assert_int_equal(lx_peer_describe_all(node->core, &list, &n), 0);
	assert_true(n > 0);
	for (size_t i = 0; i < list->n_nis; i++) {
		strcat(text, lx_nid_str(&list->ni[i].nid));
		strcat(text, " ");
	}
	assert_string_equal(text, want);
	free(list);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
