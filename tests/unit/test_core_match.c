/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Matching: each rule of lnet.md 6 alone, then random portals against a model that
 * restates the rules.
 */
#include "simlib.h"

static struct lx_sim *sim;
static struct lx_sim_node *n;
static char pool[1 << 16];

static int setup(void **state)
{
	log_clear();
	if (lx_sim_new(rnd(), &sim_plain, &sim))
		return -1;
	n = NODE(sim, "10.0.0.1@tcp");
	return 0;
}

static int teardown(void **state)
{
	lx_sim_free(sim);
	return 0;
}

/* The match of a PUT from 10.0.0.9@tcp; handle 0: none. */
struct found {
	enum lx_match_result result;
	struct lx_handle md;
	size_t offset, mlength;
};

static struct found match_from(const char *who, uint32_t portal, uint64_t bits, size_t rlength,
			       size_t roffset, enum lx_md_option op)
{
	const struct lx_match m = {
		.initiator = id(who), .portal = portal, .bits = bits,
		.op = op, .rlength = rlength, .roffset = roffset,
	};
	struct found f = { 0 };
	struct lx_md *md;

	f.result = lx_portal_match(n->core, &m, &md, &f.offset, &f.mlength);
	if (f.result == LX_MATCH_OK) {
		f.md = md->handle;
		lx_md_put(md, NULL);
	}
	return f;
}

static struct found match(uint32_t portal, uint64_t bits, size_t rlength)
{
	return match_from("10.0.0.9@tcp", portal, bits, rlength, 0, LX_MD_OP_PUT);
}

static void first_in_order_wins(void **state)
{
	struct lx_handle h1 = post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	struct lx_handle h2 = post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 1);

	assert_int_equal(match(1, 5, 10).md.cookie, h1.cookie);
	assert_int_equal(match(1, 5, 10).md.cookie, h2.cookie);
	assert_int_equal(match(1, 5, 10).result, LX_MATCH_NONE);
	assert_int_equal(n->core->portal[1].n_mes, 0);
}

static void ignoring_ones_come_first(void **state)
{
	struct lx_handle exact = post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	struct lx_handle loose = post(n, 1, NULL, 4, 3, pool, 100, LX_MD_OP_PUT, 1);

	assert_int_equal(match(1, 5, 10).md.cookie, loose.cookie);
	assert_int_equal(match(1, 5, 10).md.cookie, exact.cookie);
}

static void exhausted_is_passed_over(void **state)
{
	struct lx_handle h;

	post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 0);
	h = post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(match(1, 5, 10).md.cookie, h.cookie);
}

static void wrong_operation_is_passed_over(void **state)
{
	struct lx_handle h;

	post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_GET, 1);
	h = post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(match(1, 5, 10).md.cookie, h.cookie);
}

static void too_long_ends_the_search(void **state)
{
	post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	post(n, 1, NULL, 5, 0, pool, 1000, LX_MD_OP_PUT, 1);
	assert_int_equal(match(1, 5, 101).result, LX_MATCH_TOO_LONG);
	/* The match consumed nothing. */
	assert_int_equal(match(1, 5, 100).result, LX_MATCH_OK);
}

static void truncate_shortens(void **state)
{
	post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT | LX_MD_TRUNCATE, LX_MD_UNLIMITED);
	assert_int_equal(match(1, 5, 60).offset, 0);
	assert_int_equal(match(1, 5, 60).mlength, 40);
	assert_int_equal(match(1, 5, 60).mlength, 0);
}

static void local_offset_advances(void **state)
{
	post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	assert_int_equal(match(1, 5, 30).offset, 0);
	assert_int_equal(match(1, 5, 30).offset, 30);
	assert_int_equal(match(1, 5, 41).result, LX_MATCH_TOO_LONG);
	assert_int_equal(match(1, 5, 40).offset, 60);
}

static void remote_offset_is_the_wire_s(void **state)
{
	struct found f;

	post(n, 1, NULL, 5, 0, pool, 100, LX_MD_OP_PUT | LX_MD_MANAGE_REMOTE, LX_MD_UNLIMITED);
	f = match_from("10.0.0.9@tcp", 1, 5, 10, 90, LX_MD_OP_PUT);
	assert_int_equal(f.offset, 90);
	assert_int_equal(f.mlength, 10);
	f = match_from("10.0.0.9@tcp", 1, 5, 10, 91, LX_MD_OP_PUT);
	assert_int_equal(f.result, LX_MATCH_TOO_LONG);
	f = match_from("10.0.0.9@tcp", 1, 5, 1, UINT32_MAX, LX_MD_OP_PUT);
	assert_int_equal(f.result, LX_MATCH_TOO_LONG);
}

static void max_size_bounds_and_exhausts(void **state)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = pool, .length = 100, .threshold = LX_MD_UNLIMITED, .max_size = 40,
		.options = LX_MD_OP_PUT | LX_MD_MAX_SIZE, .handler = log_event,
	};
	struct lx_handle handle;
	struct lx_me *me;
	struct lx_md *md;

	assert_int_equal(lx_portal_attach(n->core, 1, &anyone, 5, 0, LX_UNLINK, LX_ME_AFTER, &me),
			 0);
	handle = me->handle;
	assert_int_equal(lx_md_new(n->core, me, &desc, LX_UNLINK, &md), 0);
	assert_int_equal(match(1, 5, 41).result, LX_MATCH_TOO_LONG);
	assert_int_equal(match(1, 5, 40).offset, 0);
	assert_int_equal(match(1, 5, 30).offset, 40);
	/* 30 bytes are left, less than max_size: exhausted and unlinked. */
	assert_int_equal(match(1, 5, 1).result, LX_MATCH_NONE);
	assert_null(lx_me_lookup(n->core, handle));
}

static void pid_and_nid_select(void **state)
{
	const struct lx_id pid7 = { lx_nid_any, 7 };
	const struct lx_md_desc desc = { .start = pool, .length = 100, .threshold = 1,
					 .options = LX_MD_OP_PUT };
	struct lx_handle h;
	struct lx_me *me;
	struct lx_md *md;

	assert_int_equal(lx_portal_attach(n->core, 1, &pid7, 5, 0, LX_UNLINK, LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_new(n->core, me, &desc, LX_UNLINK, &md), 0);
	post(n, 1, "10.0.0.8@tcp", 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	h = post(n, 1, "10.0.0.9@tcp", 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(match(1, 5, 10).md.cookie, h.cookie);
	assert_int_equal(match(1, 5, 10).result, LX_MATCH_NONE);
}

static void any_nid_of_the_peer_matches(void **state)
{
	struct lx_nid second = nid("10.1.0.9@tcp1");
	const struct lx_conf_peer conf = {
		.primary = nid("10.0.0.9@tcp"), .multi_rail = true, .nid = &second, .n_nids = 1,
	};

	assert_int_equal(lx_peerconf_add(n->core, &conf), 0);
	post(n, 1, "10.1.0.9@tcp1", 5, 0, pool, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(match(1, 5, 10).result, LX_MATCH_OK);
}

static void portals_are_of_one_kind(void **state)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY }, one = id("10.0.0.9@tcp");
	struct lx_me *me, *unique;

	assert_int_equal(lx_portal_attach(n->core, 2, &one, 5, 0, LX_UNLINK, LX_ME_AFTER, &unique),
			 0);
	assert_int_equal(lx_portal_attach(n->core, 2, &anyone, 5, 0, LX_UNLINK, LX_ME_AFTER, &me),
			 -EPERM);
	assert_int_equal(lx_portal_attach(n->core, 2, &one, 5, 1, LX_UNLINK, LX_ME_AFTER, &me),
			 -EPERM);
	lx_me_retire(unique);
	assert_int_equal(lx_portal_attach(n->core, 2, &anyone, 5, 0, LX_UNLINK, LX_ME_AFTER, &me),
			 0);
	assert_int_equal(lx_portal_attach(n->core, 2, &one, 5, 0, LX_UNLINK, LX_ME_AFTER, &unique),
			 -EPERM);
	assert_int_equal(lx_portal_attach(n->core, 64, &one, 5, 0, LX_UNLINK, LX_ME_AFTER, &me),
			 -EINVAL);
}

static void me_can_be_retained(void **state)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = { .start = pool, .length = 100, .threshold = 1,
					 .options = LX_MD_OP_PUT, .handler = log_event };
	struct lx_handle handle;
	struct lx_me *me;
	struct lx_md *md;

	assert_int_equal(lx_portal_attach(n->core, 1, &anyone, 5, 0, LX_RETAIN, LX_ME_AFTER, &me),
			 0);
	assert_int_equal(lx_md_new(n->core, me, &desc, LX_UNLINK, &md), 0);
	assert_int_equal(match(1, 5, 10).result, LX_MATCH_OK);
	assert_null(me->md);
	assert_int_equal(lx_md_new(n->core, me, &desc, LX_RETAIN, &md), 0);
	assert_int_equal(match(1, 5, 10).result, LX_MATCH_OK);
	/* A retained MD stays, though exhausted. */
	assert_ptr_equal(me->md, md);
	assert_int_equal(match(1, 5, 10).result, LX_MATCH_NONE);
	handle = me->handle;
	lx_me_retire(me);
	assert_null(lx_me_lookup(n->core, handle));
}

/* ---- against a model --------------------------------------------------------------- */

#define ENTRIES 40

struct entry {
	bool used;
	uint64_t bits, ignore;
	uint32_t pid;
	unsigned int options;
	size_t length, max_size, offset;
	int threshold;
	struct lx_handle md;
};

static struct entry model[ENTRIES]; /* in list order, apart from the two groups */

static bool model_exhausted(const struct entry *e)
{
	return !e->threshold || ((e->options & LX_MD_MAX_SIZE) &&
				 e->offset + e->max_size > e->length);
}

static struct found model_match(uint64_t bits, size_t rlength, size_t roffset, unsigned int op)
{
	struct found f = { .result = LX_MATCH_NONE };

	for (int group = 0; group < 2; group++) {
		for (struct entry *e = model; e < model + ENTRIES; e++) {
			size_t offset, available;

			if (!e->used || (e->ignore == 0) != group || model_exhausted(e) ||
			    !(e->options & op) ||
			    (e->pid != LX_PID_ANY && e->pid != LX_PID_LUSTRE) ||
			    ((e->bits ^ bits) & ~e->ignore))
				continue;
			offset = e->options & LX_MD_MANAGE_REMOTE ? roffset : e->offset;
			available = offset > e->length ? 0 : e->length - offset;
			if ((e->options & LX_MD_MAX_SIZE) && e->max_size < available)
				available = e->max_size;
			f.result = LX_MATCH_TOO_LONG;
			if (rlength > available && !(e->options & LX_MD_TRUNCATE))
				return f;
			f.result = LX_MATCH_OK;
			f.md = e->md;
			f.offset = offset > e->length ? e->length : offset;
			f.mlength = rlength < available ? rlength : available;
			e->offset = f.offset + f.mlength;
			if (e->threshold > 0)
				e->threshold--;
			if (model_exhausted(e))
				e->used = false;
			return f;
		}
	}
	return f;
}

static void model_post(void)
{
	static const unsigned int extra[] = { LX_MD_MANAGE_REMOTE, LX_MD_TRUNCATE, LX_MD_MAX_SIZE };
	struct entry e = {
		.used = true,
		.bits = rnd_below(4),
		.ignore = rnd_below(3) ? 0 : 1 + rnd_below(3),
		.pid = rnd_below(4) ? LX_PID_ANY : LX_PID_LUSTRE + rnd_below(2),
		.options = LX_MD_OP_PUT << rnd_below(2),
		.length = rnd_below(200),
		.threshold = (int)rnd_below(6) - 1,
	};
	struct lx_id match_id = { lx_nid_any, e.pid };
	struct lx_md_desc desc;
	struct entry *slot = NULL;
	struct lx_me *me;
	struct lx_md *md;

	/* Use positions after the last used one, so that the model's order is the posting order. */
	for (struct entry *i = model + ENTRIES - 1; i >= model && !i->used; i--)
		slot = i;
	if (!slot)
		return;
	for (unsigned int i = 0; i < N_OF(extra); i++)
		e.options |= rnd_below(3) ? 0 : extra[i];
	e.max_size = e.length ? rnd_below(e.length + 1) : 0;
	desc = (struct lx_md_desc){
		.start = pool, .length = e.length, .threshold = e.threshold,
		.max_size = e.max_size, .options = e.options,
	};
	assert_int_equal(lx_portal_attach(n->core, 1, &match_id, e.bits, e.ignore, LX_UNLINK,
					  LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_new(n->core, me, &desc, LX_UNLINK, &md), 0);
	e.md = md->handle;
	*slot = e;
}

static void random_portals(void **state)
{
	unsigned long matched = 0;

	for (int round = 0; round < 2000; round++) {
		struct lx_portal *portal = &n->core->portal[1];

		lx_portal_clear(portal);
		memset(model, 0, sizeof(model));
		for (int i = 0; i < 80; i++) {
			uint64_t bits = rnd_below(4);
			size_t rlength = rnd_below(100), roffset = rnd_below(220);
			unsigned int op = LX_MD_OP_PUT << rnd_below(2);
			struct found want, got;

			if (rnd_below(2)) {
				model_post();
				continue;
			}
			want = model_match(bits, rlength, roffset, op);
			got = match_from("10.0.0.9@tcp", 1, bits, rlength, roffset, op);
			assert_int_equal(got.result, want.result);
			assert_int_equal(got.md.cookie, want.md.cookie);
			if (want.result == LX_MATCH_OK) {
				assert_int_equal(got.offset, want.offset);
				assert_int_equal(got.mlength, want.mlength);
				matched++;
			}
		}
	}
	printf("random_portals: 2000 portals, %lu matches\n", matched);
	assert_true(matched > 1000);
}

/* Messages of the node to itself, without a transport, come from 0@lo: its own NIDs match. */
static void own_nid_is_lo(void **state)
{
	post(n, 1, "10.0.0.1@tcp", 5, 0, pool, 100, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	post(n, 2, "10.0.0.9@tcp", 5, 0, pool, 100, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	assert_int_equal(match_from("0@lo", 1, 5, 10, 0, LX_MD_OP_PUT).result, LX_MATCH_OK);
	assert_int_equal(match_from("10.0.0.1@tcp", 1, 5, 10, 0, LX_MD_OP_PUT).result, LX_MATCH_OK);
	assert_int_not_equal(match_from("10.0.0.9@tcp", 1, 5, 10, 0, LX_MD_OP_PUT).result,
			     LX_MATCH_OK);
	assert_int_not_equal(match_from("0@lo", 2, 5, 10, 0, LX_MD_OP_PUT).result, LX_MATCH_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(first_in_order_wins),
		T(own_nid_is_lo),
		T(ignoring_ones_come_first),
		T(exhausted_is_passed_over),
		T(wrong_operation_is_passed_over),
		T(too_long_ends_the_search),
		T(truncate_shortens),
		T(local_offset_advances),
		T(remote_offset_is_the_wire_s),
		T(max_size_bounds_and_exhausts),
		T(pid_and_nid_select),
		T(any_nid_of_the_peer_matches),
		T(portals_are_of_one_kind),
		T(me_can_be_retained),
		T(random_portals),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: matching", tests, NULL, NULL);
}
