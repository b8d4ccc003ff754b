/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Captures of real nodes, played again with a node of ours in the place of one of them:
 * it must say what the real one said (replay.h). Each capture once for each side, with
 * what the real node had for configuration.
 *
 * The captures are in LNETX_CAPTURES, else in ../shared/captures; without them, or
 * without root, the tests are skipped.
 */
#include "../unit/testlib.h"

#include <unistd.h>

#include "replay.h"

static const char *folder;

#define AS(host, title, ...) { .name = title " as " host, .us = host[0], __VA_ARGS__ }
#define BOTH(capture_name, ...)                                                                    \
	AS("A", capture_name, .capture = { capture_name }, __VA_ARGS__),                           \
	AS("B", capture_name, .capture = { capture_name }, __VA_ARGS__)
#define AFTER(before, capture_name)                                                                \
	AS("A", capture_name, .capture = { before, capture_name }),                                \
	AS("B", capture_name, .capture = { before, capture_name })

/* Across a router: its two sides are two captures. */
#define SIDE1(capture_name) capture_name "-side1"
#define SIDE2(capture_name) capture_name "-side2"
#define ROUTER "07a-router-connect-ping-discover"
#define ROUTED(capture_name)                                                                       \
	AS("A", capture_name, .capture = { SIDE1(ROUTER), SIDE1(capture_name) }),                  \
	AS("S", capture_name, .capture = { SIDE2(ROUTER), SIDE2(capture_name) }),                  \
	AS("R", capture_name, .capture = { SIDE1(ROUTER), SIDE1(capture_name) },                   \
	   .also = { SIDE2(ROUTER), SIDE2(capture_name) })

/* What hosts had said to each other before the captures that begin in the middle. */
#define KNOWN "01-tcp-v3-connect-ping", "05a-tcp-v3-discover-1nid"
#define KNOWN_2158 "11a-2158-to-2170-ping-discover"
#define RAILS "05b-multirail-discover"
#define RAILS_DEL RAILS, "05c-multirail-push-net-del"
#define RAILS_ADD RAILS_DEL, "05d-multirail-push-net-add"

static const struct replay replays[] = {
	BOTH("01-tcp-v3-connect-ping"),
	BOTH("02-tcp-v2-connect-ping", .version = 2),
	BOTH("02-tcp-v2-lst-write-64k-x2", .version = 2),
	BOTH("03a-tcp-v4-ipv4-forced-connect-ping", .version = 4),
	BOTH("03a-tcp-v4-ipv4-forced-lst-write-64k-x2", .version = 4),
	BOTH("03b-tcp-v4-ipv6-connect-ping"),
	BOTH("04-tcp-v1-connect-ping", .version = 1),
	BOTH("04-tcp-v1-lst-write-64k-x2", .version = 1),
	AFTER("01-tcp-v3-connect-ping", "05a-tcp-v3-discover-1nid"),
	BOTH(RAILS),
	AFTER(RAILS, "05c-multirail-push-net-del"),
	AFTER(RAILS_DEL, "05d-multirail-push-net-add"),
	AFTER(RAILS_ADD, "05e-multirail-lst-write-64k-x4"),
	AS("A", "05f-conns-per-peer-2-vs-1", .capture = { "05f-conns-per-peer-2-vs-1" },
	   .conns_per_peer = 2),
	AS("B", "05f-conns-per-peer-2-vs-1", .capture = { "05f-conns-per-peer-2-vs-1" }),
	BOTH("05g-mixed-v4-v6-nids-discover"),
	/* Without its last two lines: a dial that A need not make, whose end is not captured. */
	BOTH("05h-simultaneous-connect-race", .messages = 23),
	BOTH("05i-conns-per-peer-2-both", .conns_per_peer = 2),
	AFTER(KNOWN, "06a-lst-brw-write-4k-x2"),
	AFTER(KNOWN, "06b-lst-brw-read-4k-x2"),
	AFTER(KNOWN, "06c-lst-brw-write-64k-x4-zcack"),
	AFTER(KNOWN, "06d-lst-brw-read-64k-x4-zcack"),
	AFTER(KNOWN, "06e-lst-brw-write-1m-x1"),
	AFTER(KNOWN, "06f-lst-ping-x3"),
	BOTH("06g-lst-write-64k-x1-no-offload"),
	AS("A", ROUTER, .capture = { SIDE1(ROUTER) }),
	AS("S", ROUTER, .capture = { SIDE2(ROUTER) }),
	AS("R", ROUTER, .capture = { SIDE1(ROUTER) }, .also = { SIDE2(ROUTER) }),
	ROUTED("07b-router-lst-write-64k-x2"),
	ROUTED("07c-router-lst-read-1m-x1"),
	ROUTED("07d-router-lst-ping-x2"),
	AS("A", "07e-router-tcp-o2ib-ping-lst64k",
	   .capture = { SIDE1(ROUTER), "07e-router-tcp-o2ib-ping-lst64k-tcpside" }),
	BOTH("08-tcp-keepalive-noop", .keepalive = 2, .messages = 13),
	AFTER("01-tcp-v3-connect-ping", "10a-net-del-close"),
	AS("A", "10d-tcp-wrong-nid-reject", .capture = { "10d-tcp-wrong-nid-reject" }),
	AS("B", "10d-tcp-wrong-nid-reject", .capture = { "10d-tcp-wrong-nid-reject" },
	   .other_net = true),
	BOTH(KNOWN_2158),
	AFTER(KNOWN_2158, "11b-2158-to-2170-lst-write-64k"),
	AFTER(KNOWN_2158, "11c-2170-to-2158-lst-read-64k"),
	BOTH("11d-2158-2158-ping-discover-lst4k"),
	BOTH("13a-master-to-2170-ping-discover-lst4k"),
};

static void one(void **state)
{
	replay_run(*state, folder);
}

static int end(void **state)
{
	replay_end();
	return 0;
}

static void no_captures(void **state)
{
	skip();
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[N_OF(replays)];
	const struct CMUnitTest none[] = { cmocka_unit_test(no_captures) };
	int n = 0;

	folder = getenv("LNETX_CAPTURES");
	if (!folder)
		folder = "../shared/captures";
	if (access(folder, R_OK)) {
		printf("skipped: no captures in %s (set LNETX_CAPTURES)\n", folder);
		return cmocka_run_group_tests_name("replay", none, NULL, NULL);
	}
	if (!replay_network())
		return cmocka_run_group_tests_name("replay", none, NULL, NULL);
	for (size_t i = 0; i < N_OF(replays); i++) {
		if (argc < 2 || strstr(replays[i].name, argv[1]))
			tests[n++] = (struct CMUnitTest){ .name = replays[i].name,
							  .test_func = one,
							  .teardown_func = end,
							  .initial_state = (void *)&replays[i] };
	}
	return _cmocka_run_group_tests("replay", tests, n, NULL, NULL);
}
