/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Discovery: what nodes learn about each other, and what false information can cause. */
#include "discoverworld.h"

#include "../../user/core/change.h"

static char buf[4096];

static void both_learn(void **state)
{
	struct outcome o = discover(a, "10.0.0.2@tcp", false);
	struct lx_nid n1 = nid("10.0.0.2@tcp"), n2 = nid("10.1.0.2@tcp1");

	assert_int_equal(o.status, 0);
	assert_true(o.multi_rail);
	assert_int_equal(o.n_nis, 2);
	assert_true(lx_nid_eq(&o.primary, &n1));
	assert_true(lx_nid_eq(&o.nis[0], &n1));
	assert_true(lx_nid_eq(&o.nis[1], &n2));
	assert_ptr_equal(peer_of(a, "10.1.0.2@tcp1"), peer_of(a, "10.0.0.2@tcp"));
	/* B received the push, merged it, and pushed back. */
	assert_true(peer_of(b, "10.0.0.1@tcp")->state & LX_PEER_MULTI_RAIL);
	assert_true(lx_peer_uptodate(peer_of(b, "10.0.0.1@tcp")));
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->state,
			 LX_PEER_MULTI_RAIL | LX_PEER_DISCOVERED | LX_PEER_NIDS_UPTODATE);
	assert_int_equal(peer_of(b, "10.0.0.1@tcp")->state,
			 LX_PEER_MULTI_RAIL | LX_PEER_DISCOVERED | LX_PEER_NIDS_UPTODATE);
}

/* A peer that is known to the last NID must answer nevertheless. */
static void a_known_peer_is_asked_again(void **state)
{
	struct lx_nid n = nid("10.0.0.2@tcp");
	struct outcome o = { 0 };

	assert_int_equal(discover(a, "10.0.0.2@tcp", false).status, 0);
	lx_sim_dead(sim, "10.0.0.2@tcp", true);
	lx_sim_dead(sim, "10.1.0.2@tcp1", true);
	assert_int_equal(lx_probe_discover(a->core, &n, false, outcome_set, &o), 0);
	lx_sim_run(sim, 200 * SEC);
	assert_int_equal(o.calls, 1);
	assert_true(o.status < 0);
	/* With discovery off nobody is asked. */
	a->core->tun.lnet_peer_discovery_disabled = 1;
	peer_of(a, "10.0.0.2@tcp")->state |= LX_PEER_NIDS_UPTODATE;
	peer_of(a, "10.0.0.2@tcp")->state &= ~LX_PEER_FORCE_PING;
	assert_int_equal(discover(a, "10.0.0.2@tcp", false).status, 0);
}

/* A locked primary NID stays one when discovery finds that its peer has other NIDs. */
static void locked_primary_survives_a_merge(void **state)
{
	const uint32_t locked = LX_PEER_MULTI_RAIL | LX_PEER_LOCK_PRIMARY;
	struct lx_conf_peer conf = { .primary = nid("10.1.0.2@tcp1"),
				     .multi_rail = true,
				     .lock_primary = true };
	struct lx_nid first = nid("10.0.0.2@tcp");
	struct outcome o;

	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
	peer_of(a, "10.1.0.2@tcp1")->state = locked;
	o = discover(a, "10.0.0.2@tcp", false);
	assert_int_equal(o.status, 0);
	assert_int_equal(o.n_nis, 2);
	assert_true(lx_nid_eq(&o.primary, &conf.primary) && lx_nid_eq(&o.nis[0], &first));
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->state,
			 locked | LX_PEER_DISCOVERED | LX_PEER_NIDS_UPTODATE);
}

static void traffic_discovers_first(void **state)
{
	post(b, 5, NULL, 1, 0, buf, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(put(a, mem(a, buf, 100, 2), true, "10.0.0.2@tcp", 5, 1), 0);
	assert_int_equal(lx_list_empty(&peer_of(a, "10.0.0.2@tcp")->pending), 0);
	lx_sim_run(sim, SEC);
	the_event(LX_EVENT_ACK);
	assert_true(lx_peer_uptodate(peer_of(a, "10.0.0.2@tcp")));
}

static void traffic_goes_on_if_discovery_fails(void **state)
{
	lx_sim_knobs(sim)->failure = 1000;
	post(b, 5, NULL, 1, 0, buf, 100, LX_MD_OP_PUT, 1);
	assert_int_equal(put(a, mem(a, buf, 100, 1), false, "10.0.0.2@tcp", 5, 1), 0);
	while (!a->core->stats.remote_dropped_count)
		assert_true(lx_sim_step(sim, 2 * SEC));
	/* The ping failed, so the message is sent without discovery. */
	lx_sim_knobs(sim)->failure = 0;
	lx_sim_run(sim, SEC);
	the_event(LX_EVENT_SEND);
	the_event(LX_EVENT_PUT);
	assert_true(peer_of(a, "10.0.0.2@tcp")->state & LX_PEER_REDISCOVER);
}

static void change_is_pushed(void **state)
{
	discover(a, "10.0.0.2@tcp", false);
	assert_int_equal(lx_sim_ni_add(b, "10.2.0.2@tcp2", 8, 256), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 3);
	lx_sim_ni_del(b, "10.1.0.2@tcp1");
	lx_sim_run(sim, SEC);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 2);
	assert_null(peer_of(a, "10.1.0.2@tcp1"));
}

static void primary_change_is_followed(void **state)
{
	struct lx_nid n = nid("10.1.0.2@tcp1");

	assert_int_equal(lx_sim_ni_add(a, "10.1.0.1@tcp1", 8, 256), 0);
	discover(a, "10.0.0.2@tcp", false);
	lx_sim_ni_del(b, "10.0.0.2@tcp");
	lx_sim_run(sim, SEC);
	assert_null(peer_of(a, "10.0.0.2@tcp"));
	assert_true(lx_nid_eq(&peer_of(a, "10.1.0.2@tcp1")->primary, &n));
}

static void two_peers_turn_out_to_be_one(void **state)
{
	assert_int_equal(lx_sim_ni_add(a, "10.1.0.1@tcp1", 8, 256), 0);
	post(b, 5, NULL, 1, 0, buf, 100, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	/* The second NID first, so that it is a separate peer for a while. */
	assert_int_equal(put(a, mem(a, buf, 10, 2), true, "10.1.0.2@tcp1", 5, 1), 0);
	assert_int_equal(put(a, mem(a, buf, 10, 2), true, "10.0.0.2@tcp", 5, 1), 0);
	assert_ptr_not_equal(peer_of(a, "10.1.0.2@tcp1"), peer_of(a, "10.0.0.2@tcp"));
	lx_sim_run(sim, SEC);
	assert_int_equal(count_events(LX_EVENT_ACK), 2);
	assert_ptr_equal(peer_of(a, "10.1.0.2@tcp1"), peer_of(a, "10.0.0.2@tcp"));
}

static void discovery_off_here(void **state)
{
	struct outcome o;

	tune(a, "lnet_peer_discovery_disabled", "1");
	lx_sim_run(sim, SEC);
	post(b, 5, NULL, 1, 0, buf, 100, LX_MD_OP_PUT, LX_MD_UNLIMITED);
	assert_int_equal(put(a, mem(a, buf, 10, 2), true, "10.0.0.2@tcp", 5, 1), 0);
	lx_sim_run(sim, SEC);
	the_event(LX_EVENT_ACK);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->state, 0);
	/* With discovery off, an explicit one is a plain ping: statuses, but no NIDs merged. */
	o = discover(a, "10.0.0.2@tcp", false);
	assert_int_equal(o.status, 0);
	assert_int_equal(o.n_nis, 1);
	assert_false(o.multi_rail);
}

static void discovery_off_there(void **state)
{
	uint32_t pushed_seqno;
	struct outcome o;

	discover(a, "10.0.0.2@tcp", false);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 2);
	tune(b, "lnet_peer_discovery_disabled", "1");
	lx_sim_run(sim, SEC);
	/* This is the last change that B pushes. */
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 1);
	assert_true(peer_of(a, "10.0.0.2@tcp")->state & LX_PEER_NO_DISCOVERY);
	assert_false(peer_of(a, "10.0.0.2@tcp")->state & LX_PEER_MULTI_RAIL);
	assert_true(lx_peer_uptodate(peer_of(b, "10.0.0.1@tcp")));
	pushed_seqno = peer_of(a, "10.0.0.2@tcp")->seqno;
	assert_int_equal(lx_sim_ni_add(b, "10.2.0.2@tcp2", 8, 256), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->seqno, pushed_seqno);
	o = discover(a, "10.0.0.2@tcp", true);
	assert_int_equal(o.status, 0);
	assert_int_equal(o.n_nis, 1);
	lx_sim_ni_del(b, "10.2.0.2@tcp2");
	tune(b, "lnet_peer_discovery_disabled", "0");
	lx_sim_run(sim, SEC);
	o = discover(a, "10.0.0.2@tcp", true);
	assert_int_equal(o.n_nis, 2);
	assert_true(o.multi_rail);
}

/* That it is off is pushed once, also to a peer that has to be pinged before other pushes. */
static void discovery_off_is_told(void **state)
{
	discover(a, "10.0.0.2@tcp", false);
	lx_sim_run(sim, SEC);
	assert_int_equal(lx_sim_ni_add(a, "10.1.0.1@tcp1", 8, 256), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(peer_of(b, "10.0.0.1@tcp")->n_nis, 2);
	lx_sim_dead(sim, "10.0.0.2@tcp", true);
	lx_sim_dead(sim, "10.1.0.2@tcp1", true);
	assert_true(discover(a, "10.0.0.2@tcp", true).status);
	lx_sim_run(sim, 60 * SEC);
	lx_sim_dead(sim, "10.0.0.2@tcp", false);
	lx_sim_dead(sim, "10.1.0.2@tcp1", false);
	assert_true(peer_of(a, "10.0.0.2@tcp")->state & LX_PEER_FORCE_PING);
	tune(a, "lnet_peer_discovery_disabled", "1");
	lx_sim_run(sim, 5 * SEC);
	assert_int_equal(peer_of(b, "10.0.0.1@tcp")->n_nis, 1);
	assert_true(peer_of(b, "10.0.0.1@tcp")->state & LX_PEER_NO_DISCOVERY);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 1);
}

static void ipv6_nids_are_told(void **state)
{
	struct lx_nid n = nid("2001:db8::2@tcp6");

	assert_int_equal(lx_sim_ni_add(b, "2001:db8::2@tcp6", 8, 256), 0);
	lx_sim_run(sim, SEC);
	assert_int_equal(discover(a, "10.0.0.2@tcp", false).n_nis, 3);
	assert_ptr_equal(peer_of(a, "2001:db8::2@tcp6"), peer_of(a, "10.0.0.2@tcp"));
	assert_true(lx_peer_ni_lookup(a->core, &n)->status == LX_NI_STATUS_UP);
}

/* Sends raw bytes as a push from B to A. */
static void push_raw(const void *data, size_t len)
{
	struct lx_id target = id("10.0.0.1@tcp");
	struct lx_md *md;

	md = lx_md_lookup(b->core, mem(b, (void *)(uintptr_t)data, len, 2));
	assert_int_equal(lx_msg_put(b->core, NULL, md, true, &target, 0, LX_PING_MATCH_BITS, 0, 0,
				    false), 0);
	lx_sim_run(sim, SEC);
}

static void bad_pushes_do_no_harm(void **state)
{
	struct lx_pinginfo *info;
	unsigned char raw[512];
	size_t size;

	discover(a, "10.0.0.2@tcp", false);
	assert_int_equal(lx_pinginfo_new(3, &info), 0);
	info->features = LX_PING_NI_STATUS | LX_PING_MULTI_RAIL | LX_PING_DISCOVERY;
	info->seqno = 99;
	info->n_nis = 3;
	info->ni[0] = (struct lx_pinginfo_ni){ nid("10.0.0.2@tcp"), LX_NI_STATUS_UP };
	info->ni[1] = (struct lx_pinginfo_ni){ nid("10.0.0.1@tcp"), 12345 }; /* our own NID */
	info->ni[2] = (struct lx_pinginfo_ni){ nid("10.7.0.7@tcp7"), 0 };
	size = lx_pinginfo_size(info);
	lx_pinginfo_encode(info, raw);
	for (int i = 0; i < 3000; i++) {
		unsigned char bad[512];
		size_t len = rnd_below(4) ? size : rnd_below(size);

		memcpy(bad, raw, sizeof(bad));
		for (uint64_t n = rnd_below(4); n; n--)
			bad[rnd_below(size)] = rnd();
		push_raw(bad, len);
		log_clear();
		assert_true(lx_ni_is_local_nid(a->core, &info->ni[1].nid));
		assert_null(peer_of(a, "10.0.0.1@tcp"));
	}
	/* The next discovery restores the truth. */
	assert_int_equal(discover(a, "10.0.0.2@tcp", true).status, 0);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 2);
	free(info);
}

static unsigned int n_pings, n_malformed;

static void note_malformed(int level, const char *line, void *arg)
{
	n_malformed += strstr(line, "malformed push") != NULL;
}

static void count_pings(const struct lx_hdr *hdr, const struct lx_nid *next_hop)
{
	n_pings += hdr->type == LX_MSG_GET;
}

/* Whatever it sends, one ping a second asks a peer what it meant, and one line a minute says so. */
static void bad_pushes_are_asked_about_once_a_second(void **state)
{
	const struct lx_id target = id("10.0.0.1@tcp");
	struct lx_handle md = mem(b, "bad", 3, LX_MD_UNLIMITED);

	discover(a, "10.0.0.2@tcp", false);
	n_pings = n_malformed = 0;
	lx_set_log(note_malformed, NULL);
	lx_sim_watch(sim, count_pings);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(lx_msg_put(b->core, NULL, lx_md_lookup(b->core, md), false, &target,
					    0, LX_PING_MATCH_BITS, 0, 0, false), 0);
		lx_sim_run(sim, MS);
		log_clear();
	}
	lx_sim_run(sim, 2 * SEC);
	lx_sim_watch(sim, NULL);
	lx_set_log(NULL, NULL);
	assert_in_range(n_pings, 4, 7);
	assert_int_equal(n_malformed, 1);
	log_clear();
}

/* @n NIDs that a peer would list of itself; its first one is @first. */
static size_t listing(const char *first, unsigned int n, unsigned char *raw)
{
	struct lx_pinginfo *info;
	size_t size;

	assert_int_equal(lx_pinginfo_new(n, &info), 0);
	info->features = LX_PING_NI_STATUS | LX_PING_MULTI_RAIL | LX_PING_DISCOVERY;
	info->seqno = 99;
	info->n_nis = n;
	info->ni[0] = (struct lx_pinginfo_ni){ nid(first), LX_NI_STATUS_UP };
	for (unsigned int i = 1; i < n; i++) {
		info->ni[i] = (struct lx_pinginfo_ni){ nid("10.7.0.0@tcp7"), LX_NI_STATUS_UP };
		info->ni[i].nid.addr[3] = i;
	}
	size = lx_pinginfo_size(info);
	lx_pinginfo_encode(info, raw);
	free(info);
	return size;
}

/* A push that comes while discovery is off here ends nothing, and is no discovery. */
static void discovery_on_again(void **state)
{
	unsigned char raw[512];
	size_t size = listing("10.0.0.2@tcp", 3, raw);

	for (int i = 0; i < 2; i++) {
		tune(a, "lnet_peer_discovery_disabled", "1");
		assert_int_equal(ping(a, "10.0.0.2@tcp", 1000).status, 0);
		/* First it is a single NID, and then one that was discovered. */
		push_raw(raw, size);
		assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 1 + i);
		assert_int_equal(!(peer_of(a, "10.0.0.2@tcp")->state & LX_PEER_MULTI_RAIL), !i);
		assert_null(peer_of(a, "10.7.0.1@tcp7"));
		tune(a, "lnet_peer_discovery_disabled", "0");
		post(b, 5, NULL, 1, 0, buf, 100, LX_MD_OP_PUT, 1);
		assert_int_equal(put(a, mem(a, buf, 100, 2), true, "10.0.0.2@tcp", 5, 1), 0);
		lx_sim_run(sim, SEC);
		assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 2);
		assert_true(lx_peer_uptodate(peer_of(a, "10.0.0.2@tcp")));
	}
}

static unsigned int n_full;

static void note_full(int level, const char *line, void *arg)
{
	if (strstr(line, "peers_max")) {
		assert_non_null(strstr(line, "peer=10.0.0.2@tcp "));
		n_full++;
	}
}

/* A peer cannot list more NIDs than peers_max leaves room for. */
static void listed_nids_are_bounded(void **state)
{
	unsigned char raw[64 * 16 + 32];
	size_t size = listing("10.0.0.2@tcp", 64, raw);

	discover(a, "10.0.0.2@tcp", false);
	tune(a, "peers_max", "16");
	n_full = 0;
	lx_set_log(note_full, NULL);
	push_raw(raw, size); /* too long for the buffer, which grows; it is pinged in a second */
	lx_sim_run(sim, SEC);
	push_raw(raw, size);
	/* The NID that it does not list any more has made room for the next time. */
	assert_int_equal(a->core->peer_nis.count, 15);
	push_raw(raw, size);
	assert_int_equal(a->core->peer_nis.count, 16);
	assert_int_equal(peer_of(a, "10.0.0.2@tcp")->n_nis, 16);
	assert_int_equal(n_full, 1);
	lx_set_log(NULL, NULL);
	/* Discovery restores the truth; the first one makes the room for it. */
	assert_int_equal(discover(a, "10.0.0.2@tcp", true).status, 0);
	assert_int_equal(discover(a, "10.0.0.2@tcp", true).n_nis, 2);
}

static void fill_with_strangers(unsigned int n)
{
	struct lx_nid stranger = nid("10.0.5.0@tcp");
	struct lx_peer_ni *pni;

	while (a->core->peer_nis.count < n) {
		stranger.addr[3]++;
		assert_int_equal(lx_peer_ni_obtain(a->core, &stranger, &pni), 0);
	}
}

/* Strangers make room for what a peer lists, as they do for each other. */
static void strangers_make_room_for_listed_nids(void **state)
{
	tune(a, "peers_max", "16");
	fill_with_strangers(16);
	assert_int_equal(discover(a, "10.0.0.2@tcp", false).n_nis, 2);
	assert_int_equal(a->core->peer_nis.count, 16);
	assert_non_null(peer_of(a, "10.0.5.16@tcp"));
}

static void lowered_limit_is_reached_again(void **state)
{
	fill_with_strangers(60);
	tune(a, "peers_max", "16");
	discover(a, "10.0.0.2@tcp", false);
	assert_int_equal(a->core->peer_nis.count, 16);
}

/* A push from a source that is no peer is ignored, though its ACK makes that source one. */
static void push_of_a_stranger_is_ignored(void **state)
{
	unsigned char raw[512];
	size_t size = listing("10.8.0.1@tcp8", 3, raw);
	struct lx_rx_from from = { .nid = nid("10.0.0.2@tcp") };
	struct lx_hdr hdr = {
		.type = LX_MSG_PUT,
		.src_nid = nid("10.8.0.1@tcp8"),
		.dst_nid = nid("10.0.0.1@tcp"),
		.src_pid = LX_PID_LUSTRE,
		.dst_pid = LX_PID_LUSTRE,
		.payload_length = size,
		.cmd.put = { .portal = lx_le32(LX_PORTAL_RESERVED),
			     .match_bits = lx_le64(LX_PING_MATCH_BITS) },
	};
	struct lx_msg *msg;

	add_route(a, "tcp8", "10.0.0.2@tcp", LX_UNSET, 0);
	lx_sim_run(sim, SEC);
	assert_null(peer_of(a, "10.8.0.1@tcp8"));
	assert_int_equal(lx_lnd_parse(&ni_of(a, "10.0.0.1@tcp")->ni, &hdr, &from, NULL, &msg),
			 LX_RX_NOW);
	assert_non_null(msg);
	memcpy(msg->payload.iov[0].iov_base, raw, size);
	lx_lnd_finalize(msg, 0);
	lx_sim_run(sim, SEC);
	assert_non_null(peer_of(a, "10.8.0.1@tcp8"));
	assert_null(peer_of(a, "10.7.0.1@tcp7"));
	assert_null(peer_of(a, "10.7.0.2@tcp7"));
}

static struct lx_hdr last_push;

static void note_push(const struct lx_hdr *hdr, const struct lx_nid *next_hop)
{
	if (hdr->type == LX_MSG_PUT && lx_le32(hdr->cmd.put.portal) == LX_PORTAL_RESERVED)
		last_push = *hdr;
}

/* All peers get the same memory from us in a push: a peer must not write to it. */
static void reply_to_a_push(void **state)
{
	struct lx_ping_info *own, lie = { .magic = LX_PING_MAGIC, .n_nis = 1000000 };
	struct lx_core_ni *ni = ni_of(a, "10.0.0.1@tcp");
	struct lx_hdr hdr;

	discover(a, "10.0.0.2@tcp", false);
	lx_sim_watch(sim, note_push);
	lx_sim_mute(sim, "10.0.0.2@tcp", true);
	lx_change_own_info(a->core);
	lx_sim_run(sim, SEC);
	lx_sim_watch(sim, NULL);
	assert_int_equal(last_push.type, LX_MSG_PUT);

	hdr = (struct lx_hdr){ .type = LX_MSG_REPLY, .dst_nid = last_push.src_nid,
			       .payload_length = sizeof(lie),
			       .cmd.reply.dst_md = last_push.cmd.put.ack_md };
	respond(sim, b, &hdr, &lie);
	own = (void *)a->core->target.buffer->data;
	assert_int_not_equal(own->n_nis, lie.n_nis);
	/* With the lie in its place this would write far beyond it. */
	lx_lnd_link(&ni->ni, LX_DOWN_CARRIER);
	lx_lnd_link(&ni->ni, LX_DOWN_NO);
	lx_sim_mute(sim, "10.0.0.2@tcp", false);
}

/* Changing the status of one NI in an encoded buffer, in either form, changes nothing else. */
static void status_changes_in_place(void **state)
{
	const char *const nids[] = { "10.0.0.2@tcp", "10.7.0.7@tcp7", "fd00::1@tcp", "fd00::2@tcp" };
	const struct lx_nid other = nid("10.0.0.3@tcp");
	struct lx_pinginfo *info, *read;
	unsigned char raw[512];
	size_t need;

	for (unsigned int n = 2; n <= N_OF(nids); n += 2) {
		assert_int_equal(lx_pinginfo_new(n, &info), 0);
		info->features = LX_PING_NI_STATUS;
		info->n_nis = n;
		for (unsigned int i = 0; i < n; i++)
			info->ni[i] = (struct lx_pinginfo_ni){ nid(nids[i]), LX_NI_STATUS_DOWN };
		for (unsigned int i = 0; i < n; i++) {
			lx_pinginfo_encode(info, raw);
			lx_pinginfo_set_status(raw, &other, LX_NI_STATUS_UP);
			lx_pinginfo_set_status(raw, &info->ni[i].nid, LX_NI_STATUS_UP);
			assert_int_equal(lx_pinginfo_decode(raw, lx_pinginfo_size(info), 8, &need,
							    &read), 0);
			assert_int_equal(read->n_nis, n);
			for (unsigned int k = 0; k < n; k++) {
				assert_true(lx_nid_eq(&read->ni[k].nid, &info->ni[k].nid));
				assert_int_equal(read->ni[k].status,
						 k == i ? LX_NI_STATUS_UP : LX_NI_STATUS_DOWN);
			}
			free(read);
		}
		free(info);
	}
}

static void peers_of_traffic_are_bounded(void **state)
{
	tune(a, "peers_max", "16");
	for (int i = 0; i < 100; i++) {
		char text[32];

		snprintf(text, sizeof(text), "10.0.5.%d@tcp", i);
		assert_int_equal(put(a, mem(a, buf, 10, 1), false, text, 5, 1), 0);
		lx_sim_run(sim, SEC);
		assert_true(a->core->peer_nis.count <= 16);
		log_clear();
	}
}

static void silent_peers_are_forgotten(void **state)
{
	struct lx_conf_peer conf = { .primary = nid("10.0.0.8@tcp"), .multi_rail = true };

	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
	assert_int_equal(discover(a, "10.0.0.2@tcp", false).status, 0);
	assert_int_not_equal(ping(a, "10.0.0.9@tcp", 1000).status, 0);
	lx_sim_run(sim, 3400 * SEC);
	assert_non_null(peer_of(a, "10.0.0.9@tcp"));
	lx_sim_run(sim, 300 * SEC);
	assert_null(peer_of(a, "10.0.0.9@tcp"));
	assert_non_null(peer_of(a, "10.0.0.2@tcp"));
	assert_non_null(peer_of(a, "10.0.0.8@tcp"));
	log_clear();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(both_learn),
		T(a_known_peer_is_asked_again),
		T(locked_primary_survives_a_merge),
		T(traffic_discovers_first),
		T(traffic_goes_on_if_discovery_fails),
		T(change_is_pushed),
		T(primary_change_is_followed),
		T(two_peers_turn_out_to_be_one),
		T(discovery_off_here),
		T(discovery_off_there),
		T(discovery_off_is_told),
		T(ipv6_nids_are_told),
		T(bad_pushes_do_no_harm),
		T(bad_pushes_are_asked_about_once_a_second),
		T(reply_to_a_push),
		T(listed_nids_are_bounded),
		T(strangers_make_room_for_listed_nids),
		T(lowered_limit_is_reached_again),
		T(push_of_a_stranger_is_ignored),
		T(discovery_on_again),
		T(status_changes_in_place),
		T(peers_of_traffic_are_bounded),
		T(silent_peers_are_forgotten),
	};

	rnd_init();
	return cmocka_run_group_tests_name("core: discovery", tests, NULL, NULL);
}
