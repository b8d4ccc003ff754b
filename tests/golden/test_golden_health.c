/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Captures in which timing matters, on virtual time: health, resends, recovery pings, response
 * time-outs. Two of our nodes take the places of A and B, and start with the captured health
 * values and turns. Users and admins act at the captured times; each PUT and GET must then leave
 * in the captured order, by the captured pair of NIDs, at the captured time. Health values are
 * compared with samples taken on A (lnetctl/health-2.17.0.txt of the captures).
 *
 * A Lustre node looks for overdue responses only every transaction_timeout / 2 (lnet.md 13.5),
 * ours every second. So after n overdue responses, ours may send n times that much earlier.
 */
#include "../unit/simlib.h"

#include <errno.h>

#include "../../user/core/count.h"
#include "../../user/core/fault.h"
#include "../../user/core/health.h"
#include "../../user/core/peer.h"
#include "../../user/core/probe.h"
#include "../../user/core/udsp.h"

#define A1 "10.77.0.1@tcp"
#define A2 "10.78.0.1@tcp"
#define B1 "10.77.0.2@tcp"
#define B2 "10.78.0.2@tcp"

#define TIMEOUT_S 10 /* lnet_transaction_timeout on A and B */
#define NO_ANSWER -ETIMEDOUT /* lnetctl says EIO */
#define TICK_MS 1100 /* of the monitor, plus the delay of a guest in QEMU */

static const struct lx_sim_knobs like_tcp = {
	.delay_min_ns = 500000,
	.delay_max_ns = 500000,
	.conns = 1,
	.buffered = 1000,
	.connects_to_self = true,
};

static struct lx_sim *sim;
static struct lx_sim_node *a, *b;
static uint64_t zero_ns; /* when the capture begins */

/* A message; of most captures PUTs and GETs only. */
struct said {
	unsigned int ms;
	char text[2 * LX_NID_TEXT + 20]; /* "GET 10.77.0.1@tcp -> 10.77.0.2@tcp" */
	unsigned long handle;            /* captured: of its MD; handles ascend */
	unsigned int overdue;            /* ours: responses so far */
};

static struct said captured[100], ours[200];
static unsigned int n_captured, n_ours;

/* ---- what was captured, and what we send ---------------------------------------------------- */

static int by_handle(const void *x, const void *y)
{
	const struct said *a = x, *b = y;

	return (a->handle > b->handle) - (a->handle < b->handle);
}

/*
 * Messages of one host, of these types, in the order of the requests: on a stuck connection messages
 * arrive later than others.
 */
static void load(const char *name, const char *types, const char *host1, const char *host2)
{
	char path[600], line[1000], type[10], src[LX_NID_TEXT], dst[LX_NID_TEXT];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.txt", captures_dir(), name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("no listing %s", path);
	n_captured = 0;
	while (fgets(line, sizeof(line), file)) {
		struct said *r = &captured[n_captured];
		const char *at = strstr(line, "LNET "), *handle = strstr(line, "_wmd=");

		if (!at || sscanf(at, "LNET %9s %47s -> %47s", type, src, dst) != 3 ||
		    !strstr(types, type) || (strcmp(src, host1) && strcmp(src, host2)))
			continue;
		assert_true(handle && n_captured < N_OF(captured));
		r->ms = (unsigned int)(atof(line) * 1000);
		r->handle = strtoul(strchr(handle, '.') + 1, NULL, 16);
		snprintf(r->text, sizeof(r->text), "%s %s -> %s", type, src, dst);
		n_captured++;
	}
	fclose(file);
	assert_true(n_captured > 0);
	qsort(captured, n_captured, sizeof(captured[0]), by_handle);
}

static unsigned int now_ms(void)
{
	return (lx_sim_now(sim) - zero_ns) / MS;
}

static bool is_of(const struct lx_nid *nid, const struct lx_sim_node *node)
{
	return lx_ni_lookup(node->core, nid);
}

#define REQUESTS "PUT GET"
#define RESPONSES "REPLY ACK"

static struct lx_sim_node *watched;
static const char *watched_types;

static void on_sent(const struct lx_hdr *hdr, const struct lx_nid *next_hop)
{
	static const char *const names[] = {
		[LX_MSG_ACK] = "ACK", [LX_MSG_PUT] = "PUT",
		[LX_MSG_GET] = "GET", [LX_MSG_REPLY] = "REPLY",
	};
	struct said *r = &ours[n_ours];

	/* A node's pings to itself do not pass the interface where the capture was made. */
	if (!strstr(watched_types, names[hdr->type]) || !is_of(&hdr->src_nid, watched) ||
	    is_of(&hdr->dst_nid, watched))
		return;
	assert_true(n_ours < N_OF(ours));
	r->ms = now_ms();
	r->overdue = watched->core->stats.response_timeout_count;
	snprintf(r->text, sizeof(r->text), "%s %s -> %s", names[hdr->type],
		 lx_nid_str(&hdr->src_nid), lx_nid_str(&hdr->dst_nid));
	if (getenv("VERBOSE"))
		printf("%6u %s\n", r->ms, r->text);
	n_ours++;
}

static void show(const char *whose, const struct said *list, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		print_error("   %s %2u: %6u ms %s\n", whose, i + 1, list[i].ms, list[i].text);
}

static bool same_time(const struct said *real, const struct said *wanted)
{
	unsigned int early = TICK_MS + real->overdue * TIMEOUT_S * 1000 / 2;

	return real->ms + early >= wanted->ms && real->ms <= wanted->ms + TICK_MS;
}

static void differs(void)
{
	show("captured", captured, n_captured);
	show("ours", ours, n_ours);
	fail_msg("our node sends otherwise");
}

/* Ours must begin with the first @n captured messages, in order. */
static void expect_first(unsigned int n)
{
	if (n_ours < n)
		differs();
	for (unsigned int i = 0; i < n; i++) {
		if (strcmp(ours[i].text, captured[i].text) || !same_time(&ours[i], &captured[i]))
			differs();
	}
}

/* Ours must be what was captured, and nothing else. */
static void expect_all(void)
{
	expect_first(n_captured);
	if (n_ours > n_captured)
		differs();
}

static bool is_to(const struct said *r, const char *peer)
{
	return !strcmp(strstr(r->text, "-> ") + 3, peer);
}

/* After the first @n, ours must have what was captured to one NID, in order; it may have more. */
static void expect_to(const char *peer, unsigned int n)
{
	unsigned int at = n;

	for (unsigned int i = n; i < n_captured; i++) {
		if (!is_to(&captured[i], peer))
			continue;
		while (at < n_ours && !is_to(&ours[at], peer))
			at++;
		if (at == n_ours || !same_time(&ours[at++], &captured[i]))
			differs();
	}
}

/* ---- the nodes ------------------------------------------------------------------------------ */

static int probe_status;

static void on_probe(int status, struct lx_peer_info *info, void *arg)
{
	probe_status = status;
	free(info);
}

static void ping(const char *to, unsigned int timeout_s)
{
	const struct lx_id target = id(to);

	probe_status = 1;
	assert_int_equal(lx_probe_ping(a->core, &target, NULL, timeout_s * 1000, on_probe, NULL), 0);
}

static void discover(struct lx_sim_node *node, const char *to)
{
	struct lx_nid target = nid(to);

	probe_status = 1;
	assert_int_equal(lx_probe_discover(node->core, &target, true, on_probe, NULL), 0);
}

static int setup_strangers(void **state)
{
	if (lx_sim_new(rnd(), &like_tcp, &sim))
		return -1;
	a = NODE(sim, A1, A2);
	b = NODE(sim, B1, B2);
	tune(a, "lnet_transaction_timeout", "10");
	tune(b, "lnet_transaction_timeout", "10");
	n_ours = 0;
	return 0;
}

static int setup(void **state)
{
	if (setup_strangers(state))
		return -1;
	discover(a, B1);
	lx_sim_run(sim, SEC);
	assert_int_equal(probe_status, 0);
	/* Each has heard all NIDs of the other. */
	for (int i = 0; i < 4; i++) {
		ping(B1, 1);
		lx_sim_run(sim, SEC);
		assert_int_equal(probe_status, 0);
	}
	n_ours = 0;
	return 0;
}

static int teardown(void **state)
{
	lx_sim_watch(sim, NULL);
	lx_sim_free(sim);
	return 0;
}

/* Begins a capture in which A's monitor runs at @tick_ms. */
static void begin(const char *name, struct lx_sim_node *node, const char *types,
		  unsigned int tick_ms)
{
	load(name, types, node == a ? A1 : B1, node == a ? A2 : B2);
	watched = node;
	watched_types = types;
	lx_sim_run(sim, lx_core_deadline(a->core) + (2000 - tick_ms % 1000) * MS - lx_sim_now(sim));
	zero_ns = lx_sim_now(sim);
	a->core->stats.response_timeout_count = 0;
	lx_sim_watch(sim, on_sent);
}

/* Sets which NIs and peer NIs are next in turn on a node. */
static void turn(struct lx_sim_node *node, const char *own, const char *peer)
{
	static const char *const others[][2] = { { A1, A2 }, { A2, A1 }, { B1, B2 }, { B2, B1 } };
	struct lx_peer *p = lx_peer_of(pni_of(node, peer));

	for (unsigned int i = 0; i < N_OF(others); i++) {
		if (!strcmp(others[i][0], own))
			ni_of(node, others[i][1])->seq = ++node->core->net_seq;
		if (!strcmp(others[i][0], peer))
			pni_of(node, others[i][1])->seq = ++p->send_seq;
	}
}

static void run_to(unsigned int ms)
{
	assert_true(now_ms() <= ms);
	lx_sim_run(sim, zero_ns + ms * MS - lx_sim_now(sim));
}

/* Health and consecutive pings of a peer NI of A. */
static void expect_health(const char *peer, unsigned int value, unsigned int pings)
{
	struct lx_peer_ni *p = pni_of(a, peer);

	if (p->health.value != value || p->health.ping_count != pings)
		fail_msg("%u ms: %s has health %u after %u pings, not %u after %u", now_ms(), peer,
			 p->health.value, p->health.ping_count, value, pings);
}

static void rule_new(struct lx_sim_node *node, const char *to, uint32_t hstatuses)
{
	struct lx_fault_rule rule = {
		.src = lx_nid_any,
		.dst = to ? nid(to) : lx_nid_any,
		.local = lx_nid_any,
		.messages = LX_FAULT_GET,
		.rate = 1,
		.drop_all = true,
		.hstatuses = hstatuses,
	};

	assert_int_equal(lx_fault_new(node->core, &rule), 0);
}

static void rules_delete(struct lx_sim_node *node)
{
	struct lx_list held;

	lx_list_init(&held);
	assert_true(lx_fault_delete(node->core, false, &lx_nid_any, &lx_nid_any, &held) > 0);
	assert_true(lx_list_empty(&held));
}

/* ---- B drops the GETs to one of its NIDs ---------------------------------------------------- */

static void play_16c(struct lx_sim_node *node, const char *types)
{
	begin("16c-health-recovery-ping-backoff", node, types, 460);
	turn(a, A1, B2);
	lx_health_set_peer(a->core, pni_of(a, B1), 900);
	rule_new(b, B1, 0);
	discover(a, B2);
	run_to(1500);
	expect_health(B1, 900, 1);
	run_to(2205);
	ping(B1, 6);
	run_to(2898);
	ping(B1, 6);
	run_to(12020);
	expect_health(B1, 800, 2);
	run_to(26010);
	expect_health(B1, 700, 3);
	run_to(36130);
	expect_health(B1, 600, 4);
	run_to(46000); /* sampled at 47 s, before the next ping */
	expect_health(B1, 500, 4);
	run_to(52110);
	expect_health(B1, 500, 5);
	run_to(57000);
	rules_delete(b);
	run_to(66080);
	expect_health(B1, 400, 5);
	expect_all();
}

static void test_16c_as_a(void **state)
{
	play_16c(a, REQUESTS);
}

static void test_16c_as_b(void **state)
{
	play_16c(b, RESPONSES);
}

/* ---- B drops all GETs ----------------------------------------------------------------------- */

/* Until the user's ping or discovery has ended, and @ms more. */
static int wait_probe(unsigned int ms)
{
	while (probe_status > 0)
		lx_sim_run(sim, 10 * MS);
	lx_sim_run(sim, ms * MS);
	return probe_status;
}

static void test_16d(void **state)
{
	begin("16d-health-get-response-timeout", a, REQUESTS, 56);
	turn(a, A1, B2);
	rule_new(b, NULL, 0);
	run_to(2031);
	ping(B2, 180);
	assert_int_equal(wait_probe(0), NO_ANSWER);
	ping(B2, 30);
	assert_int_equal(wait_probe(0), NO_ANSWER);
	discover(a, B2);
	assert_int_equal(wait_probe(1100), -ETIMEDOUT);
	expect_health(B1, 700, 2);
	/*
	 * On ours, the answers to the second ping and to the first recovery ping are overdue in
	 * the same second, so it pings that NID before the user asks for the discovery.
	 */
	expect_first(3);
	expect_to(B1, 3);
	expect_to(B2, 3);
}

/* ---- an interface of B goes down ------------------------------------------------------------ */

/* Messages over this interface, in both directions, are stuck in TCP. */
static void stuck(bool on)
{
	static const char *const a_nids[] = { A1, A2 };

	for (int i = 0; i < 2; i++) {
		lx_sim_hold(sim, B1, a_nids[i], on);
		lx_sim_hold(sim, a_nids[i], B1, on);
	}
	/* B's route to A's first address. */
	lx_sim_hold(sim, B2, A1, on);
}

/* B repeats its last push to A. */
static void push_again(void)
{
	struct lx_peer *peer = lx_peer_of(pni_of(b, A1));

	peer->state |= LX_PEER_FORCE_PUSH;
	lx_peer_discover(peer);
	lx_sim_run(sim, 10 * MS);
}

/*
 * When the interface was up again, B still reported its NI as down, for at least three seconds,
 * and pushed that again. Ours noticed the first overdue response 1.3 s earlier, so all of this is
 * moved by 1.9 s, to a time when B's answer is not overdue.
 */
static void test_16b_as_a(void **state)
{
	begin("16b-health-peer-interface-down", a, REQUESTS, 196);
	turn(a, A1, B2);
	run_to(745);
	discover(a, B2);
	run_to(5600);
	stuck(true);
	lx_lnd_link(&ni_of(b, B1)->ni, LX_DOWN_CARRIER);
	run_to(5900);
	expect_health(B1, 900, 0);
	run_to(6451);
	expect_health(B1, 900, 1);
	ping(B1, 180);
	assert_int_equal(wait_probe(0), 0);
	run_to(7163);
	ping(B1, 180);
	assert_int_equal(wait_probe(0), NO_ANSWER);
	run_to(17850);
	expect_health(B1, 800, 2);
	run_to(17960);
	ping(B1, 180);
	run_to(18900);
	expect_health(B2, 1000, 0);
	run_to(26000);
	assert_int_equal(probe_status, 1);
	stuck(false);
	assert_int_equal(wait_probe(0), 0);
	push_again();
	expect_health(B1, 800, 0);
	run_to(26922);
	expect_health(B1, 900, 0);
	ping(B1, 180);
	run_to(27565);
	ping(B1, 180);
	run_to(28164);
	ping(B1, 180);
	run_to(28900);
	expect_health(B1, 1000, 0);
	expect_all();
}

/*
 * B tells A through its other NI. When its interface is up again, ours says so at once; the
 * captured node still reported it as down, for at least three seconds.
 */
static void test_16b_as_b(void **state)
{
	begin("16b-health-peer-interface-down", b, REQUESTS, 196);
	assert_int_equal(n_captured, 2);
	turn(b, B2, A2);
	run_to(5600);
	lx_lnd_link(&ni_of(b, B1)->ni, LX_DOWN_CARRIER);
	run_to(5700);
	assert_int_equal(pni_of(a, B1)->status, LX_NI_STATUS_DOWN);
	run_to(27850);
	expect_first(1);
	assert_int_equal(n_ours, 1);
	lx_lnd_link(&ni_of(b, B1)->ni, LX_DOWN_NO);
	run_to(29000);
	assert_int_equal(n_ours, 2);
	assert_int_equal(pni_of(a, B1)->status, LX_NI_STATUS_UP);
}

/* ---- simulated faults ----------------------------------------------------------------------- */

/*
 * A user pings twice, under a rule that fails GETs to one NID of B. The turns at the start follow
 * from what comes later: A's pings to itself take turns, too, and are not in the capture.
 */
struct section {
	enum lx_hstatus hstatus;
	const char *own, *peer; /* next in turn */
	unsigned int ms[2];
	int status[2];
	unsigned int resends;
	unsigned int a1, a2, b1; /* health afterwards */
};

static void expect_values(unsigned int a1, unsigned int a2, unsigned int b1)
{
	assert_int_equal(ni_of(a, A1)->health.value, a1);
	assert_int_equal(ni_of(a, A2)->health.value, a2);
	assert_int_equal(pni_of(a, B1)->health.value, b1);
	assert_int_equal(pni_of(a, B2)->health.value, 1000);
}

static void section(const struct section *s)
{
	const struct lx_stats *stats = &a->core->stats;
	uint64_t resent = stats->resend_count, successful = stats->successful_resends;

	run_to(s->ms[0] - 200);
	expect_values(1000, 1000, 1000);
	rule_new(a, B1, 1u << s->hstatus);
	turn(a, s->own, s->peer);
	for (int i = 0; i < 2; i++) {
		run_to(s->ms[i]);
		ping(B1, 6);
		assert_int_equal(wait_probe(0), s->status[i]);
	}
	lx_sim_run(sim, 100 * MS);
	rules_delete(a);
	assert_int_equal(stats->resend_count - resent, s->resends);
	assert_int_equal(stats->successful_resends - successful, s->resends);
	expect_values(s->a1, s->a2, s->b1);
}

static void test_16a(void **state)
{
	static const struct section sections[] = {
		{ LX_HSTATUS_LOCAL_INTERRUPT, A1, B2, { 4416, 5114 }, { 0, 0 }, 1,
		  1000, 900, 1000 },
		{ LX_HSTATUS_LOCAL_DROPPED, A1, B1, { 10850, 11270 }, { 0, 0 }, 2,
		  1000, 900, 1000 },
		{ LX_HSTATUS_LOCAL_ABORTED, A2, B1, { 16639, 17157 }, { 0, 0 }, 2,
		  900, 1000, 1000 },
		{ LX_HSTATUS_LOCAL_NO_ROUTE, A2, B1, { 22185, 22780 }, { 0, 0 }, 2,
		  900, 1000, 1000 },
		{ LX_HSTATUS_LOCAL_ERROR, A2, B1, { 28400, 28826 }, { -EIO, 0 }, 0,
		  1000, 1000, 1000 },
		{ LX_HSTATUS_LOCAL_TIMEOUT, A1, B1, { 34354, 34771 }, { 0, 0 }, 2,
		  1000, 900, 1000 },
		{ LX_HSTATUS_REMOTE_ERROR, A1, B1, { 39300, 39662 }, { -EIO, 0 }, 0,
		  1000, 1000, 900 },
		{ LX_HSTATUS_REMOTE_DROPPED, A2, B2, { 44462, 44990 }, { 0, 0 }, 1,
		  1000, 1000, 900 },
		{ LX_HSTATUS_REMOTE_TIMEOUT, A2, B2, { 50461, 51000 }, { 0, -EIO }, 0,
		  1000, 1000, 900 },
		{ LX_HSTATUS_NETWORK_TIMEOUT, A1, B2, { 56929, 57400 }, { 0, -EIO }, 0,
		  1000, 900, 900 },
	};

	begin("16a-health-simulated-errors", a, REQUESTS, 916);
	for (unsigned int i = 0; i < N_OF(sections); i++)
		section(&sections[i]);
	lx_sim_run(sim, 2 * SEC);
	expect_all();
}

/* ---- no connection -------------------------------------------------------------------------- */

#define REFUSING "10.77.0.254@tcp"

static void peer_add(const char *primary, const char *other)
{
	struct lx_nid more = nid(other);
	const struct lx_conf_peer conf = {
		.primary = nid(primary), .multi_rail = true, .nid = &more, .n_nids = 1,
	};

	assert_int_equal(lx_peerconf_add(a->core, &conf), 0);
}

/*
 * The test plays TCP, and reports errors when the captured user saw them; test_sock_dial shows that
 * socklnd reports them.
 */
static void test_16e(void **state)
{
	struct lx_stats *stats = &a->core->stats;

	tune(a, "lnet_transaction_timeout", "20");
	begin("16e-health-resend-connect-failure", a, REQUESTS, 500);
	peer_add(B1, B2);
	lx_sim_fail(sim, B1, LX_HSTATUS_NETWORK_TIMEOUT, -ETIMEDOUT);
	run_to(55900);
	ping(B1, 19);
	assert_int_equal(wait_probe(0), -ETIMEDOUT);
	expect_values(900, 1000, 900);
	/* It was never alive. */
	assert_true(lx_list_empty(&a->core->recovery_peers));
	assert_false(lx_list_empty(&a->core->recovery_nis));
	ping(B1, 19);
	assert_int_equal(wait_probe(200), 0);
	ping(B1, 19);
	assert_int_equal(wait_probe(0), 0);
	expect_values(900, 1000, 900);
	assert_int_equal(stats->network_timeout_count, 1);
	assert_int_equal(stats->resend_count, 0);

	/* A peer whose first NID refuses; the route from our first NI to its second NID is broken. */
	lx_peer_delete(lx_peer_of(pni_of(a, B1)));
	lx_count_reset(a->core);
	peer_add(REFUSING, B2);
	run_to(117300);
	assert_int_equal(ni_of(a, A1)->health.value, 1000);
	lx_sim_fail(sim, REFUSING, LX_HSTATUS_REMOTE_DROPPED, -ECONNREFUSED);
	lx_sim_fail_from(sim, A1, LX_HSTATUS_NETWORK_TIMEOUT, -ETIMEDOUT);
	ping(REFUSING, 19);
	assert_int_equal(wait_probe(0), -ETIMEDOUT);
	run_to(117375);
	ping(REFUSING, 19);
	assert_int_equal(wait_probe(0), 0);
	assert_int_equal(pni_of(a, REFUSING)->health.value, 800);
	assert_int_equal(pni_of(a, B2)->health.value, 1000);
	assert_int_equal(stats->remote_dropped_count, 2);
	assert_int_equal(stats->network_timeout_count, 1);
	assert_int_equal(stats->resend_count, 2);
	assert_int_equal(stats->successful_resends, 1);
	expect_all();

	/* A lone NID: there is no choice, so it keeps its health. */
	lx_sim_fail(sim, "10.77.0.250@tcp", LX_HSTATUS_REMOTE_DROPPED, -EHOSTUNREACH);
	ping("10.77.0.250@tcp", 19);
	assert_int_equal(wait_probe(0), -EHOSTUNREACH);
	assert_int_equal(pni_of(a, "10.77.0.250@tcp")->health.value, 1000);
}

/* ---- gateways that policies prefer ----------------------------------------------------------- */

#define G1 "10.77.0.2@tcp"
#define G2 "10.77.0.3@tcp"

/* Counts GETs to each of three far NIDs by each of two gateways. */
static unsigned int by_gateway[3][2], by_gateway_captured[3][2];

static void count(unsigned int counts[3][2], const char *gateway_addr, const char *dst)
{
	unsigned int far;
	const char *gateways[] = { "10.77.0.2", "10.77.0.3" };

	if (sscanf(dst, "10.99.0.%u@tcp8", &far) != 1)
		return;
	assert_in_range(far, 200, 202);
	for (int i = 0; i < 2; i++)
		counts[far - 200][i] += !strcmp(gateways[i], gateway_addr);
}

static void load_gateways(const char *name)
{
	char path[600], line[1000], gateway[LX_NID_TEXT], dst[LX_NID_TEXT];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.txt", captures_dir(), name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("no listing %s", path);
	while (fgets(line, sizeof(line), file)) {
		const char *get = strstr(line, "LNET GET ");

		if (get && sscanf(get, "LNET GET %*s -> %47s", dst) == 1 &&
		    sscanf(line, "%*f #%*u %*[^>]>%47[^:]", gateway) == 1)
			count(by_gateway_captured, gateway, dst);
	}
	fclose(file);
}

static void on_forwarded(const struct lx_hdr *hdr, const struct lx_nid *next_hop)
{
	char gateway[LX_NID_TEXT];

	snprintf(gateway, sizeof(gateway), "%s", lx_nid_str(next_hop));
	gateway[strcspn(gateway, "@")] = '\0';
	count(by_gateway, gateway, lx_nid_str(&hdr->dst_nid));
}

static void policy(const char *dst, const char *gateway)
{
	struct lx_conf_udsp conf = { .priority = LX_UNSET, .index = LX_UNSET };

	snprintf(conf.dst, sizeof(conf.dst), "%s", dst ? dst : "");
	snprintf(conf.rte, sizeof(conf.rte), "%s", gateway);
	assert_int_equal(lx_udsp_new(a->core, &conf), 0);
}

/*
 * Eight users ping a NID that nobody has, all at once: where each ping goes is a race, but not how
 * many go where. No answer was overdue before the next group.
 */
static void ping_by_gateways(const char *to)
{
	for (int i = 0; i < 8; i++)
		ping(to, 150);
	lx_sim_run(sim, SEC);
}

static void test_14h(void **state)
{
	load_gateways("14h-udsp-preferred-gateway");
	if (lx_sim_new(rnd(), &like_tcp, &sim))
		fail();
	a = NODE(sim, A1);
	make_router(NODE(sim, G1, "10.78.0.2@tcp1"));
	make_router(NODE(sim, G2, "10.78.0.3@tcp1"));
	tune(a, "check_routers_before_use", "0");
	add_route(a, "tcp8", G2, LX_UNSET, LX_UNSET);
	add_route(a, "tcp8", G1, LX_UNSET, LX_UNSET);
	lx_sim_run(sim, 300 * SEC);
	lx_sim_watch(sim, on_forwarded);
	ping_by_gateways("10.99.0.200@tcp8");
	policy("10.99.0.*@tcp8", G1);
	ping_by_gateways("10.99.0.201@tcp8");
	policy("10.99.0.*@tcp8", G2); /* refused or without effect: the first one decides */
	assert_int_equal(lx_udsp_delete(a->core, LX_UNSET), 0);
	policy(NULL, G1);
	ping_by_gateways("10.99.0.202@tcp8");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(by_gateway_captured[i][0] + by_gateway_captured[i][1], 8);
		assert_memory_equal(by_gateway[i], by_gateway_captured[i], sizeof(by_gateway[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_14h, teardown),
		cmocka_unit_test_setup_teardown(test_16c_as_a, setup, teardown),
		cmocka_unit_test_setup_teardown(test_16c_as_b, setup, teardown),
		cmocka_unit_test_setup_teardown(test_16a, setup, teardown),
		cmocka_unit_test_setup_teardown(test_16e, setup_strangers, teardown),
		cmocka_unit_test_setup_teardown(test_16d, setup, teardown),
		cmocka_unit_test_setup_teardown(test_16b_as_a, setup, teardown),
		cmocka_unit_test_setup_teardown(test_16b_as_b, setup, teardown),
	};

	return _cmocka_run_group_tests("golden_health", tests, N_OF(tests), NULL, NULL);
}
