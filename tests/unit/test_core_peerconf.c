/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers that an admin adds and deletes; and this node's own NIDs as a peer. */
#include "discoverworld.h"

static void configured_peer_stays(void **state)
{
	struct lx_nid extra = nid("10.9.0.2@tcp9");
	const struct lx_conf_peer conf = {
		.primary = nid("10.0.0.2@tcp"),
		.multi_rail = true,
		.nid = &extra,
		.n_nids = 1,
	};
	struct outcome o;

	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
	o = discover(a, "10.0.0.2@tcp", true);
	assert_int_equal(o.n_nis, 3);
	assert_int_equal(peer_of(a, "10.9.0.2@tcp9")->state & LX_PEER_CONFIGURED,
			 LX_PEER_CONFIGURED);
	/* A configured NID belongs to one peer. */
	assert_int_equal(lx_peerconf_add(a->core, &(struct lx_conf_peer){ .primary = extra,
									  .multi_rail = true }),
			 -EEXIST);
	assert_int_equal(lx_peerconf_del(a->core,
					 &(struct lx_conf_peer){ .primary = conf.primary,
								 .nid = &extra,
								 .n_nids = 1 },
					 false),
			 0);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 2);
	assert_int_equal(
		lx_peerconf_del(a->core, &(struct lx_conf_peer){ .primary = conf.primary }, false),
		0);
	assert_null(peer_of(a, "10.0.0.2@tcp"));
	assert_int_equal(
		lx_peerconf_del(a->core, &(struct lx_conf_peer){ .primary = conf.primary }, false),
		-ENOENT);
}

static int unconfigure(const char *primary, const char *one, bool force)
{
	struct lx_nid n = nid(one ? one : primary);
	const struct lx_conf_peer conf = {
		.primary = nid(primary),
		.nid = &n,
		.n_nids = one ? 1 : 0,
	};

	return lx_peerconf_del(a->core, &conf, force);
}

static void configured_peer_goes(void **state)
{
	struct lx_nid extra = nid("10.9.0.2@tcp9");
	struct lx_conf_peer conf = {
		.primary = nid("10.9.0.1@tcp9"),
		.multi_rail = true,
		.nid = &extra,
		.n_nids = 1,
	};

	/* Found by its primary NID only; deleted with all its NIDs. */
	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
	assert_int_equal(unconfigure("10.9.0.2@tcp9", NULL, false), -ENODEV);
	assert_int_equal(unconfigure("10.9.0.1@tcp9", "10.9.0.3@tcp9", false), -ENOENT);
	assert_int_equal(peer_of(a, "10.9.0.1@tcp9")->n_nis, 2);
	assert_int_equal(unconfigure("10.9.0.1@tcp9", "10.9.0.1@tcp9", false), 0);
	assert_null(peer_of(a, "10.9.0.1@tcp9"));
	assert_null(peer_of(a, "10.9.0.2@tcp9"));

	/* A locked peer stays, with only its primary NID. */
	conf.lock_primary = true;
	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
	assert_int_equal(unconfigure("10.9.0.1@tcp9", NULL, false), 0);
	assert_int_equal(peer_of(a, "10.9.0.1@tcp9")->n_nis, 1);
	assert_null(peer_of(a, "10.9.0.2@tcp9"));
	assert_int_equal(unconfigure("10.9.0.1@tcp9", NULL, true), 0);
	assert_null(peer_of(a, "10.9.0.1@tcp9"));
}

/* A gateway belongs to its routes: it cannot be configured by any of its NIDs. */
static void gateway_is_not_configured(void **state)
{
	struct lx_nid far = nid("10.1.0.2@tcp1"), extra = nid("10.0.0.99@tcp");
	const struct lx_conf_peer refused[] = {
		{ .primary = nid("10.0.0.2@tcp"), .multi_rail = true },
		{ .primary = nid("10.0.0.2@tcp") },
		{ .primary = nid("10.0.0.2@tcp"), .multi_rail = true, .nid = &far, .n_nids = 1 },
		{ .primary = nid("10.0.0.2@tcp"), .multi_rail = true, .nid = &extra, .n_nids = 1 },
		{ .primary = far, .multi_rail = true },
	};
	const struct lx_conf_peer first = {
		.primary = nid("10.0.0.2@tcp"),
		.multi_rail = true,
		.nid = &far,
		.n_nids = 1,
	};

	add_route(a, "tcp1", "10.0.0.2@tcp", LX_UNSET, 0);
	discover(a, "10.0.0.2@tcp", true);
	for (size_t i = 0; i < N_OF(refused); i++)
		assert_int_equal(lx_peerconf_add(a->core, &refused[i]), -EBUSY);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 2);
	assert_null(peer_of(a, "10.0.0.99@tcp"));
	/* Without routes it is an ordinary peer, and can become a gateway again. */
	assert_int_equal(lx_route_delete(a->core, LX_NET(LX_NET_TCP, 1), &first.primary), 0);
	assert_int_equal(lx_peerconf_add(a->core, &first), 0);
	add_route(a, "tcp1", "10.0.0.2@tcp", LX_UNSET, 0);
	assert_int_equal(lx_peerconf_add(a->core, &refused[0]), -EBUSY);
}

/*
 * A peer that discovery has found is configured with the NIDs that are named, and no others:
 * these come back when it is discovered again. A locked primary NID cannot be renamed.
 */
static void configuring_starts_over(void **state)
{
	const struct lx_conf_peer near = { .primary = nid("10.0.0.2@tcp"), .multi_rail = true };
	const struct lx_conf_peer far = { .primary = nid("10.1.0.2@tcp1"), .multi_rail = true };

	discover(a, "10.0.0.2@tcp", false);
	peer_of(a, "10.0.0.2@tcp")->state |= LX_PEER_LOCK_PRIMARY;
	assert_int_equal(lx_peerconf_add(a->core, &far), -EEXIST);
	assert_nids(a, "10.0.0.2@tcp 10.1.0.2@tcp1 ");
	peer_of(a, "10.0.0.2@tcp")->state &= ~LX_PEER_LOCK_PRIMARY;
	assert_int_equal(lx_peerconf_add(a->core, &near), 0);
	assert_nids(a, "10.0.0.2@tcp ");
	assert_int_equal(discover(a, "10.0.0.2@tcp", false).n_nis, 2);
	assert_nids(a, "10.0.0.2@tcp 10.1.0.2@tcp1 ");
}

/* 0@lo can be added and deleted as a peer, which changes nothing; it is no NID of a peer. */
static void lo_is_always_a_peer(void **state)
{
	struct lx_nid lo = lx_nid_lo;
	const struct lx_conf_peer self = { .primary = lx_nid_lo, .multi_rail = true };
	const struct lx_conf_peer other = {
		.primary = nid("10.0.0.9@tcp"), .multi_rail = true, .nid = &lo, .n_nids = 1
	};

	assert_int_equal(lx_peerconf_add(b->core, &self), 0);
	assert_int_equal(lx_peerconf_add(b->core, &other), -EINVAL);
	assert_null(peer_of(b, "10.0.0.9@tcp"));
	assert_int_equal(lx_peerconf_del(b->core, &self, false), 0);
	assert_int_equal(ping(b, "0@lo", 1000).status, 0);
}

/* Only 0@lo is this node: a message to another NID on lo must not discover its peer and end it. */
static void other_nids_on_lo_are_nobodys(void **state)
{
	static uint8_t src[8];
	const struct lx_id target = { { .type = LX_NET_LO, .num = 5 }, LX_PID_LUSTRE };
	struct lx_md *md = lx_md_lookup(b->core, mem(b, src, sizeof(src), 2));

	assert_int_equal(lx_msg_put(b->core, NULL, md, true, &target, 5, 1, 0, 0, false), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(the_event(LX_EVENT_SEND)->status, -EHOSTUNREACH);
	assert_int_equal(lx_peer_of(b->core->self)->n_nis, 1);
	assert_true(lx_nid_eq(&lx_peer_of(b->core->self)->primary, &lx_nid_lo));
	assert_int_equal(ping(b, "0@lo", 1000).status, 0);
}

/* Without an NI that reaches itself the node answers by 0@lo, and is no peer. */
static void discovery_of_lo_without_a_way_in(void **state)
{
	struct lx_nid own = nid("10.0.0.2@tcp");
	struct outcome o;

	lx_sim_run(sim, SEC);
	o = discover(b, "0@lo", false);
	assert_true(!o.status && o.n_nis == 2 && lx_nid_eq(&o.primary, &lx_nid_lo));
	assert_null(lx_peer_ni_lookup(b->core, &own));
}

/* As on TCP: our own NID is a peer like any other, distinct from other nodes' NIDs. */
static void own_nids_are_a_peer(void **state)
{
	struct lx_conf_peer conf = { .primary = nid("10.0.0.2@tcp"), .multi_rail = true };
	struct lx_nid own = nid("10.0.0.2@tcp"), far = nid("10.1.0.2@tcp1");
	struct lx_lnd *lnd = (struct lx_lnd *)lx_ni_lookup(b->core, &own)->ni.lnd;
	struct outcome o;

	assert_int_equal(lx_probe_discover(b->core, &own, false, outcome_set, &o), -EINVAL);
	lnd->connects_to_self = true;
	/* Pings create a peer per NID and go through the transport, not 0@lo. */
	assert_int_equal(ping(b, "10.0.0.2@tcp", 1000).status, 0);
	assert_int_equal(ping(b, "10.1.0.2@tcp1", 1000).status, 0);
	assert_int_equal(b->core->lo->traffic.io.send, 0);
	assert_int_equal(peer_of(b, "10.0.0.2@tcp")->n_nis, 1);
	assert_int_equal(ping(b, "0@lo", 1000).n_nis, 2);
	assert_int_equal(ping_from(b, "10.1.0.2@tcp1", "10.0.0.2@tcp", 1000).status, -EHOSTUNREACH);
	/* Discovery merges the two. */
	o = discover(b, "0@lo", false);
	assert_int_equal(o.status, 0);
	assert_true(o.multi_rail && o.n_nis == 2 && lx_nid_eq(&o.primary, &own));
	assert_ptr_equal(peer_of(b, "10.0.0.2@tcp"), peer_of(b, "10.1.0.2@tcp1"));
	assert_int_equal(discover(b, "10.1.0.2@tcp1", true).status, 0);
	o = ping(b, "0@lo", 1000);
	assert_true(o.multi_rail && lx_nid_eq(&o.primary, &own));
	/* By 0@lo it was discovered, too, so it is shown with that NID. */
	assert_nids(b, "10.0.0.2@tcp 0@lo 10.1.0.2@tcp1 ");
	/* Configured, it starts over with that NID alone; the other one is free. */
	assert_int_equal(lx_peerconf_add(b->core, &conf), 0);
	assert_nids(b, "10.0.0.2@tcp ");
	assert_int_equal(lx_peerconf_add(b->core, &conf), 0);
	assert_int_equal(lx_peerconf_add(b->core, &(struct lx_conf_peer){ .primary = own }),
			 -EPERM);
	/* A configured peer of our own NIDs takes no NID of others, nor others one of ours. */
	conf.nid = &far;
	conf.n_nids = 1;
	assert_int_equal(lx_peerconf_add(b->core, &conf), 0);
	assert_nids(b, "10.0.0.2@tcp 10.1.0.2@tcp1 ");
	far = nid("10.0.0.77@tcp");
	assert_int_equal(lx_peerconf_add(b->core, &conf), -EINVAL);
	conf.primary = nid("10.0.0.78@tcp");
	far = nid("10.1.0.2@tcp1");
	assert_true(lx_peerconf_add(b->core, &conf) < 0);
}

/* A NID that was another node's, and is ours now, or the other way round, leaves the others. */
static void own_nid_leaves_its_peer(void **state)
{
	struct lx_nid first = nid("10.0.0.2@tcp"), second = nid("10.1.0.2@tcp1");
	struct lx_lnd *lnd = (struct lx_lnd *)lx_ni_lookup(b->core, &first)->ni.lnd;

	discover(a, "10.0.0.2@tcp", false);
	lx_sim_ni_del(b, "10.1.0.2@tcp1");
	assert_ptr_equal(peer_of(a, "10.1.0.2@tcp1"), peer_of(a, "10.0.0.2@tcp"));
	assert_int_equal(lx_sim_ni_add(a, "10.1.0.2@tcp1", 8, 256), 0);
	assert_ptr_not_equal(peer_of(a, "10.1.0.2@tcp1"), peer_of(a, "10.0.0.2@tcp"));
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 1);
	lx_sim_run(sim, SEC);
	/* Own NIDs stay together with each other. */
	lnd->connects_to_self = true;
	first = nid("10.0.0.1@tcp");
	assert_int_equal(discover(a, "0@lo", false).status, 0);
	assert_int_equal(peer_of(a, "10.0.0.1@tcp")->n_nis, 2);
	assert_ptr_equal(peer_of(a, "10.1.0.2@tcp1"), peer_of(a, "10.0.0.1@tcp"));
	lx_sim_ni_del(a, "10.1.0.2@tcp1");
	assert_null(lx_peer_ni_lookup(a->core, &second));
	assert_int_equal(peer_of(a, "10.0.0.1@tcp")->n_nis, 1);
	/* Nor does the last one stay with one that has left, whichever goes first. */
	assert_int_equal(lx_sim_ni_add(a, "10.1.0.2@tcp1", 8, 256), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(discover(a, "0@lo", true).status, 0);
	assert_int_equal(peer_of(a, "10.0.0.1@tcp")->n_nis, 2);
	lx_sim_ni_del(a, "10.0.0.1@tcp");
	assert_null(lx_peer_ni_lookup(a->core, &first));
	assert_true(lx_peer_is_self(peer_of(a, "10.1.0.2@tcp1")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(configured_peer_stays),
		T(configured_peer_goes),
		T(gateway_is_not_configured),
		T(configuring_starts_over),
		T(lo_is_always_a_peer),
		T(other_nids_on_lo_are_nobodys),
		T(discovery_of_lo_without_a_way_in),
		T(own_nids_are_a_peer),
		T(own_nid_leaves_its_peer),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: configured peers", tests, NULL, NULL);
}
