/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The core out of memory: each allocation fails in turn. The operation fails with
 * -ENOMEM and cleans up after itself; sanitizers watch.
 */
#include <errno.h>

#include "simlib.h"

#include "../../lnd/lo/lo.h"

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static unsigned int left; /* allocations until one fails; 0: none fails */

static bool fails(void)
{
	return left && !--left;
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

/* No more failures from here on. Returns whether one occurred. */
static bool has_failed(void)
{
	bool failed = !left;

	left = 0;
	return failed;
}

/* ---- life ------------------------------------------------------------------------------ */

static uint64_t some_number(void *arg)
{
	return 4711;
}

static void nothing(void *arg)
{
}

static void no_event(lx_event_fn fn, const struct lx_event *event, void *arg)
{
}

static void no_change(const struct lx_change *change, void *arg)
{
}

static void no_stop(struct lx_ni *ni, void *arg)
{
}

static const struct lx_core_ops ops = {
	.now = some_number,
	.wall = some_number,
	.random = some_number,
	.kick = nothing,
	.event = no_event,
	.change = no_change,
	.ni_stopped = no_stop,
};

static void life(void **state)
{
	bool failed = true;
	unsigned int n = 0;

	while (failed) {
		struct lx_core *core = NULL;
		int r;

		left = ++n;
		r = lx_core_new(&ops, NULL, &core);
		if (!r)
			r = lx_core_start(core, &lx_lo_lnd);
		failed = has_failed();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		if (!core)
			continue;
		lx_core_stop(core);
		if (core->lo)
			lx_core_ni_stop(core, core->lo);
		lx_core_free(core);
	}
	assert_true(n > 8);
}

/* ---- configuration ------------------------------------------------------------------------ */

static void forget_all(struct lx_core *core)
{
	lx_route_delete(core, LX_NET_U32_ANY, &lx_nid_any);
	while (!lx_list_empty(&core->peers))
		lx_peer_delete(lx_list_first(&core->peers, struct lx_peer, link));
}

static void configuration(void **state)
{
	struct lx_nid far = nid("10.9.0.13@tcp9");
	struct lx_conf_route route = { .net = LX_NET(2, 9), .gateway = nid("10.0.0.11@tcp1"),
				       .hop = LX_UNSET, .priority = LX_UNSET,
				       .health_sensitivity = LX_UNSET };
	struct lx_conf_peer peer = { .primary = nid("10.0.0.13@tcp1"), .multi_rail = true,
				     .nid = &far, .n_nids = 1 };
	struct lx_route_info *list;
	struct lx_sim_node *a;
	struct lx_sim *sim;
	bool failed = true;
	unsigned int n = 0;
	size_t n_routes;

	assert_int_equal(lx_sim_new(rnd(), &sim_plain, &sim), 0);
	a = NODE(sim, "10.0.0.1@tcp1");
	while (failed) {
		int r, p;

		left = ++n;
		r = lx_route_new(a->core, &route);
		p = lx_peerconf_add(a->core, &peer);
		failed = has_failed();
		assert_int_equal(r ? r : p, failed ? -ENOMEM : 0);
		assert_int_equal(lx_route_describe_all(a->core, &list, &n_routes), 0);
		assert_int_equal(n_routes, !r);
		free(list);
		lx_sim_run(sim, SEC);
		forget_all(a->core);
	}
	assert_true(n > 6);
	lx_sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(life),
		cmocka_unit_test(configuration),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: without memory", tests, NULL, NULL);
}
