/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered memory of o2iblnd (lnd/o2ib/mem.c), between whole nodes in virtual time: which
 * registrations are reused, what ends them, and their limits. The fake
 * hardware fails a test that uses a registration after its end.
 */
#include "o2ibworld.h"

#include <errno.h>

#define MIB (1u << 20)
#define BIG (40 * MIB)

static int setup(void **state)
{
	return o2ib_world_begin(BIG);
}

static struct lx_o2ib_mem *mem_of(struct lx_sim_node *node)
{
	return &net_of(node)->mem;
}

static void unlink_md(struct lx_sim_node *node, struct lx_handle md)
{
	lx_md_retire(lx_md_lookup(node->core, md));
}

/* Sends all of @md as a PUT, received by B at @offset. */
static void put_at(struct lx_handle md, const char *from, size_t len, size_t offset)
{
	const struct lx_id target = id(B);

	log_clear();
	memset(dst + offset, 0, len);
	assert_int_equal(lx_msg_put(a->core, NULL, lx_md_lookup(a->core, md), false, &target, 20, 1,
				    offset, 0, false), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, 0);
	assert_int_equal(the_event(LX_EVENT_PUT)->status, 0);
	assert_memory_equal(dst + offset, from, len);
}

static struct lx_handle sink(size_t len)
{
	return post(b, 20, NULL, 1, 0, dst, len,
		    LX_MD_OP_PUT | LX_MD_OP_GET | LX_MD_MANAGE_REMOTE, LX_MD_UNLIMITED);
}

/* ---- MDs ----------------------------------------------------------------------------- */

static void an_md_once(void **state)
{
	struct lx_handle to = sink(MIB), from = mem(a, src, 10000, LX_MD_UNLIMITED);

	put_at(from, src, 10000, 0);
	assert_int_equal(simib_regs, 2);
	for (unsigned int i = 0; i < 20; i++)
		put_at(from, src, 10000, i * 10000);
	assert_int_equal(simib_regs, 2);
	/*
	 * Memory registered for reading is registered again to be written by the peer; B's need
	 * not be.
	 */
	for (unsigned int i = 0; i < 5; i++) {
		log_clear();
		memcpy(dst, src, 10000);
		memset(src, 0, 10000);
		assert_int_equal(get(a, from, B, 20, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(the_event(LX_EVENT_REPLY)->status, 0);
		assert_memory_equal(src, dst, 10000);
		assert_int_equal(simib_regs, 3);
	}
	/* Memory that may be written may also be read. */
	put_at(from, src, 10000, 0);
	assert_int_equal(simib_regs, 3);
	assert_int_equal(simib_live, 3);
	unlink_md(a, from);
	assert_int_equal(simib_live, 1);
	unlink_md(b, to);
	assert_int_equal(simib_live, 0);
}

static unsigned int n_unlinked;

/* The registration must be gone before the application gets its memory back. */
static void on_last(const struct lx_event *event)
{
	if (event->unlinked)
		assert_int_equal(simib_live, 1); /* the target's */
	n_unlinked += event->unlinked;
	log_event(event);
}

static void gone_before_unlinked(void **state)
{
	struct lx_md_desc desc = {
		.start = src, .length = 5000, .threshold = 2, .handler = on_last,
	};
	struct lx_md *md;

	n_unlinked = 0;
	sink(MIB);
	assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), 0);
	for (unsigned int i = 0; i < 2; i++) {
		log_clear();
		assert_int_equal(put(a, md->handle, false, B, 20, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(the_event(LX_EVENT_SEND)->unlinked, i);
	}
	/* Without and with a message in flight. */
	for (unsigned int busy = 0; busy < 2; busy++) {
		desc.threshold = LX_MD_UNLIMITED;
		assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), 0);
		assert_int_equal(put(a, md->handle, false, B, 20, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(simib_live, 2);
		log_clear();
		if (busy)
			assert_int_equal(put(a, md->handle, false, B, 20, 1), 0);
		lx_md_retire(md);
		lx_sim_run(sim, SEC);
		assert_int_equal(n_unlinked, 2 + busy);
		assert_int_equal(simib_live, 1);
	}
}

/* The same addresses in another MD may be other memory. */
static void not_by_address(void **state)
{
	sink(MIB);
	for (unsigned int i = 1; i <= 3; i++) {
		struct lx_handle md = mem(a, src, 10000, LX_MD_UNLIMITED);

		put_at(md, src, 10000, 0);
		assert_int_equal(simib_regs, 1 + i);
		unlink_md(a, md);
		assert_int_equal(simib_live, 1);
	}
}

/* Large memory is registered in windows; payloads may start anywhere and cross windows. */
static void windows(void **state)
{
	struct lx_handle md = mem(a, src, MIB, LX_MD_UNLIMITED);
	const size_t at[] = { 0, 16 * MIB - MIB, 16 * MIB - MIB / 2, 16 * MIB - 1, 16 * MIB,
			      32 * MIB - 1, 39 * MIB };

	sink(BIG);
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < N_OF(at); i++)
			put_at(md, src, MIB, at[i]);
		assert_int_equal(simib_regs, 1 + 3);
	}
	assert_int_equal(mem_of(b)->bytes, 17 * MIB + 17 * MIB + 8 * MIB);
}

/* Fragments are registered one by one; too many are copied to registered memory. */
static void pieces(void **state)
{
	struct iovec iov[40];
	struct lx_md_desc desc = { .iov = iov, .threshold = LX_MD_UNLIMITED, .handler = log_event };
	struct lx_md *md;

	sink(BIG);
	for (unsigned int i = 0; i < N_OF(iov); i++)
		iov[i] = (struct iovec){ src + i * 7000, 5000 };
	for (unsigned int n = 3; n <= 40; n += 37) {
		unsigned int before = simib_regs, more = n == 3 ? 1 + 3 : 1;

		desc.n_iov = n;
		assert_int_equal(lx_md_new(a->core, NULL, &desc, LX_UNLINK, &md), 0);
		for (unsigned int i = 0; i < 3; i++) {
			log_clear();
			assert_int_equal(put(a, md->handle, false, B, 20, 1), 0);
			lx_sim_run(sim, SEC);
			assert_int_equal(the_event(LX_EVENT_PUT)->status, 0);
			for (unsigned int j = 0; j < n; j++)
				assert_memory_equal(dst + j * 5000, src + j * 7000, 5000);
			assert_int_equal(simib_regs, before + more);
		}
		lx_md_retire(md);
	}
}

/* ---- memory that was told of ----------------------------------------------------------- */

static void told_of(void **state)
{
	struct lx_handle md;

	assert_int_equal(lx_core_memory_add(a->core, src, 2 * MIB), 0);
	assert_int_equal(lx_core_memory_add(a->core, src + 2 * MIB, MIB), 0);
	assert_int_equal(lx_core_memory_add(a->core, src + MIB, 2 * MIB), -EEXIST);
	assert_int_equal(lx_core_memory_add(a->core, src, 1), -EEXIST);
	assert_int_equal(lx_core_memory_add(a->core, NULL, 1), -EINVAL);
	assert_int_equal(lx_core_memory_add(a->core, src + 10 * MIB, 0), -EINVAL);
	sink(MIB);
	for (unsigned int i = 0; i < 10; i++) {
		md = mem(a, src + i * 1000, 10000, LX_MD_UNLIMITED);
		put_at(md, src + i * 1000, 10000, 0);
		assert_int_equal(simib_regs, 2);
		assert_int_equal(lx_core_memory_del(a->core, src), -EBUSY);
		unlink_md(a, md);
		assert_int_equal(simib_live, 2);
	}
	/* Half of it in announced memory: as good as none. */
	md = mem(a, src + 3 * MIB - 5000, 10000, LX_MD_UNLIMITED);
	put_at(md, src + 3 * MIB - 5000, 10000, 0);
	assert_int_equal(simib_live, 3);
	unlink_md(a, md);
	assert_int_equal(simib_live, 2);
	assert_int_equal(lx_core_memory_del(a->core, src + 1), -ENOENT);
	assert_int_equal(lx_core_memory_del(a->core, src), 0);
	assert_int_equal(simib_live, 1);
	assert_int_equal(lx_core_memory_del(a->core, src), -ENOENT);
	/* Memory that was not withdrawn is released with the node. */
}

/* ---- router buffers ---------------------------------------------------------------------- */

static void pools(void **state)
{
	struct lx_sim_node *r, *c;
	struct lx_handle md;
	const int64_t fewer[LX_POOLS] = { LX_UNSET, LX_UNSET, 8 };

	assert_int_equal(lx_sim_node_new(sim, &r), 0);
	simib_ni_add(r, "10.0.0.9@o2ib", 8);
	simib_ni_add(r, "10.1.0.9@o2ib1", 8);
	tune(r, "large_router_buffers", "40");
	make_router(r);
	c = node_on("10.1.0.1@o2ib1", 8);
	add_route(c, "o2ib", "10.1.0.9@o2ib1", 1, 0);
	add_route(a, "o2ib1", "10.0.0.9@o2ib", 1, 0);
	lx_sim_run(sim, 5 * SEC);
	post(c, 20, NULL, 1, 0, dst, BIG, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, LX_MD_UNLIMITED);
	md = mem(a, src, MIB, LX_MD_UNLIMITED);
	for (unsigned int round = 0; round < 20; round++) {
		log_clear();
		for (unsigned int i = 0; i < 8; i++)
			assert_int_equal(put(a, md, false, "10.1.0.1@o2ib1", 20, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(count_events(LX_EVENT_PUT), 8);
		/* Source, sink, and one slab of buffers on each side of the router. */
		assert_int_equal(simib_regs, 4);
	}
	/* All slabs come into use one after the other; from then on nothing is registered. */
	for (unsigned int round = 0; round < 2; round++) {
		log_clear();
		for (unsigned int i = 0; i < 200; i++)
			assert_int_equal(put(a, md, false, "10.1.0.1@o2ib1", 20, 1), 0);
		lx_sim_run(sim, 5 * SEC);
		assert_int_equal(count_events(LX_EVENT_PUT), 200);
		assert_true(simib_regs <= 2 + 2 * 3);
	}
	/* Slabs without buffers are freed. */
	assert_int_equal(lx_credit_pools_resize(r->core, fewer), 0);
	lx_sim_run(sim, SEC);
	log_clear();
	assert_int_equal(put(a, md, false, "10.1.0.1@o2ib1", 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_memory_equal(the_event(LX_EVENT_PUT) ? dst : NULL, src, MIB);
	lx_sim_ni_del(r, "10.0.0.9@o2ib");
	lx_sim_ni_del(r, "10.1.0.9@o2ib1");
	lx_sim_run(sim, SEC);
	assert_int_equal(simib_live, 2);
}

/* ---- bounds -------------------------------------------------------------------------------- */

static void so_many(void **state)
{
	struct lx_handle md[10];

	lx_o2ib_tun.mr_cache_entries = 4;
	sink(MIB);
	for (unsigned int i = 0; i < N_OF(md); i++) {
		md[i] = mem(a, src + i * 10000, 10000, LX_MD_UNLIMITED);
		put_at(md[i], src + i * 10000, 10000, 0);
		assert_true(mem_of(a)->kept.count <= 4);
	}
	assert_int_equal(simib_regs, 11);
	assert_int_equal(simib_live, 5);
	/* The four most recent are still cached; each other one evicts the oldest. */
	for (unsigned int i = 6; i < 10; i++)
		put_at(md[i], src + i * 10000, 10000, 0);
	assert_int_equal(simib_regs, 11);
	put_at(md[0], src, 10000, 0);
	assert_int_equal(simib_regs, 12);
	put_at(md[7], src + 70000, 10000, 0);
	assert_int_equal(simib_regs, 12);
	put_at(md[6], src + 60000, 10000, 0);
	assert_int_equal(simib_regs, 13);
	for (unsigned int i = 0; i < N_OF(md); i++)
		unlink_md(a, md[i]);
	assert_int_equal(simib_live, 1);
}

static void so_much(void **state)
{
	struct lx_handle md[4];

	lx_o2ib_tun.mr_cache_mb = 3;
	for (unsigned int i = 0; i < N_OF(md); i++) {
		md[i] = mem(a, src + i * MIB, MIB, LX_MD_UNLIMITED);
		post(b, 20, NULL, 1, 0, dst, MIB, LX_MD_OP_PUT, 1);
		put_at(md[i], src + i * MIB, MIB, 0);
		assert_true(mem_of(a)->bytes <= 3 * MIB);
	}
	assert_int_equal(simib_live, 3);
	/* A sink larger than the cache is registered for each transfer. */
	lx_o2ib_tun.mr_cache_mb = 16;
	sink(17 * MIB);
	for (unsigned int i = 0; i < 3; i++) {
		put_at(md[3], src + 3 * MIB, MIB, i * MIB);
		assert_int_equal(mem_of(b)->bytes, 0);
	}
	assert_int_equal(simib_live, 3);
}

static void none_kept(void **state)
{
	struct lx_handle md = mem(a, src, MIB, LX_MD_UNLIMITED);

	lx_o2ib_tun.mr_cache_mb = 0;
	sink(MIB);
	for (unsigned int i = 1; i <= 5; i++) {
		put_at(md, src, MIB, 0);
		assert_int_equal(simib_regs, 2 * i);
		assert_int_equal(simib_live, 0);
	}
}

/* At the system's limit, cached registrations go first; then messages fail. */
static void memory_short(void **state)
{
	struct lx_handle md[4];

	simib.memlock = 3 * MIB;
	sink(MIB);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int i = 0; i < N_OF(md); i++) {
			if (!round)
				md[i] = mem(a, src + i * MIB, MIB, LX_MD_UNLIMITED);
			put_at(md[i], src + i * MIB, MIB, 0);
		}
	}
	/* No room for the window, but for the bytes of this message. */
	for (unsigned int i = 0; i < N_OF(md); i++)
		unlink_md(a, md[i]);
	assert_int_equal(lx_core_memory_add(a->core, src, 4 * MIB), 0);
	md[0] = mem(a, src + MIB, MIB, LX_MD_UNLIMITED);
	put_at(md[0], src + MIB, MIB, 0);
	assert_int_equal(simib_live, 1);

	simib.memlock = MIB + 1; /* the sink is registered, so nothing is left */
	log_clear();
	assert_int_equal(put(a, md[0], false, B, 20, 1), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -ENOMEM);
	simib.memlock = 0;
	put_at(md[0], src + MIB, MIB, 0);
}

/* Nothing remains of an NI that is gone, and nothing is missing when it is back. */
static void ni_goes(void **state)
{
	struct lx_handle md = mem(a, src, MIB, LX_MD_UNLIMITED);

	sink(MIB);
	for (unsigned int i = 0; i < 3; i++) {
		put_at(md, src, MIB, 0);
		assert_int_equal(simib_live, 2);
		lx_sim_ni_del(a, A);
		lx_sim_run(sim, 3 * SEC);
		assert_int_equal(simib_live, 1);
		simib_ni_add(a, A, 8);
	}
}

/* ---- anything ---------------------------------------------------------------------------- */

/* MDs come and go, everything is scarce, connections break: no byte is wrong. */
static void all_sorts(void **state)
{
	enum { MDS = 12 };
	struct lx_handle md[MDS] = { 0 };
	size_t at[MDS], len[MDS];
	unsigned int arrived = 0;

	lx_o2ib_tun.mr_cache_entries = 5;
	lx_o2ib_tun.mr_cache_mb = 4;
	simib.memlock = 12 * MIB;
	assert_int_equal(lx_core_memory_add(a->core, src, 3 * MIB), 0);
	assert_int_equal(lx_core_memory_add(b->core, dst, 2 * MIB), 0);
	for (unsigned int n = 0; n < 1500; n++) {
		unsigned int i = rnd_below(MDS);
		size_t to = rnd_below(3 * MIB);

		simib.failure = n % 100 < 50 ? 0 : 20;
		if (md[i].cookie && !rnd_below(4)) {
			unlink_md(a, md[i]);
			md[i].cookie = 0;
		}
		if (!md[i].cookie) {
			at[i] = rnd_below(5 * MIB);
			len[i] = rnd_below(2) ? 4000 + rnd_below(6000) : 1 + rnd_below(MIB);
			md[i] = mem(a, src + at[i], len[i], LX_MD_UNLIMITED);
		}
		log_clear();
		memset(dst + to, 0, len[i]);
		post(b, 20, NULL, n, 0, dst + to, len[i], LX_MD_OP_PUT, 1);
		assert_int_equal(put(a, md[i], false, B, 20, n), 0);
		lx_sim_run(sim, 3 * SEC);
		assert_int_equal(count_events(LX_EVENT_SEND), 1);
		if (count_events(LX_EVENT_PUT) && !the_event(LX_EVENT_PUT)->status) {
			assert_memory_equal(dst + to, src + at[i], len[i]);
			arrived++;
		}
		assert_true(mem_of(a)->kept.count <= 5 && mem_of(a)->bytes <= 4 * MIB);
		assert_at_rest(a);
	}
	assert_true(arrived > 1000);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, o2ib_world_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(an_md_once), T(gone_before_unlinked), T(not_by_address), T(windows),
		T(pieces),     T(told_of),		T(pools),	   T(so_many),
		T(so_much),    T(none_kept),		T(memory_short),   T(ni_goes),
		T(all_sorts),
	};

	rnd_init();
	return cmocka_run_group_tests_name("o2ib_mem", tests, NULL, NULL);
}
