/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Captures of real nodes, played again with a node of ours in the place of one of them:
 * it must say what the real one said (replay.h). Each capture once for each host in it,
 * with what the real node had for configuration and, where a capture begins in the
 * middle, after the capture that shows what the hosts had said before.
 *
 * Every TCP capture is played. Two things in them are not a node's doing that can be
 * asked for again, so that a replay ends before them:
 *  - 05h ends with a dial of A's that B, whose connection is already there, turns away;
 *    what becomes of it was not captured. Ours knows better and does not dial.
 *  - 08's third keepalive comes 10 s after the second as that after the first.
 * Of 07e the TCP side is played as A; its router and S, as all of 09 and 11e, are o2iblnd.
 *
 * The captures are in LNETX_CAPTURES, else in ../shared/captures; without them, or
 * without root, the tests are skipped. With part of a name for argument: only those.
 * With a whole name: in this process, for a debugger; VERBOSE=1 shows the node's log.
 *
 * A replay mostly waits, so some are played at a time: each in a process and a network
 * of its own, whose output is shown when it's its turn.
 */
#include "../unit/testlib.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replay.h"

#define AT_A_TIME 6

static const char *folder;

#define AS(host, title, ...)                                                                       \
	{                                                                                          \
		.name = title " as " host, .us = host[0], __VA_ARGS__                              \
	}
#define BOTH(title, ...)                                                                           \
	AS("A", title, .capture = { title }, __VA_ARGS__),                                         \
		AS("B", title, .capture = { title }, __VA_ARGS__)
#define AFTER(before, title)                                                                       \
	AS("A", title, .capture = { before, title }), AS("B", title, .capture = { before, title })

/* Across a router: its two sides are two captures. */
#define SIDE1(title) title "-side1"
#define SIDE2(title) title "-side2"
#define ROUTED(title)                                                                              \
	AS("A", title, .capture = { SIDE1(ROUTER), SIDE1(title) }),                                \
		AS("S", title, .capture = { SIDE2(ROUTER), SIDE2(title) }),                        \
		AS("R", title, .capture = { SIDE1(ROUTER), SIDE1(title) },                         \
		   .also = { SIDE2(ROUTER), SIDE2(title) })

/* What hosts had said to each other before the captures that begin in the middle. */
#define PINGED "01-tcp-v3-connect-ping"
#define KNOWN PINGED, "05a-tcp-v3-discover-1nid"
#define KNOWN_2158 "11a-2158-to-2170-ping-discover"
#define RAILS "05b-multirail-discover"
#define RAILS_DEL RAILS, "05c-multirail-push-net-del"
#define RAILS_ADD RAILS_DEL, "05d-multirail-push-net-add"
#define ROUTER "07a-router-connect-ping-discover"

static const struct replay replays[] = {
	/* The slow ones first. */
	BOTH("08-tcp-keepalive-noop", .keepalive = 2, .steps = 13),
	AS("A", "07e-router-tcp-o2ib-ping-lst64k",
	   .capture = { SIDE1(ROUTER), "07e-router-tcp-o2ib-ping-lst64k-tcpside" }),
	ROUTED("07b-router-lst-write-64k-x2"),
	ROUTED("07c-router-lst-read-1m-x1"),
	ROUTED("07d-router-lst-ping-x2"),
	AS("A", ROUTER, .capture = { SIDE1(ROUTER) }),
	AS("S", ROUTER, .capture = { SIDE2(ROUTER) }),
	AS("R", ROUTER, .capture = { SIDE1(ROUTER) }, .also = { SIDE2(ROUTER) }),
	BOTH(PINGED),
	BOTH("02-tcp-v2-connect-ping", .version = 2),
	BOTH("02-tcp-v2-lst-write-64k-x2", .version = 2),
	BOTH("03a-tcp-v4-ipv4-forced-connect-ping", .version = 4),
	BOTH("03a-tcp-v4-ipv4-forced-lst-write-64k-x2", .version = 4),
	BOTH("03b-tcp-v4-ipv6-connect-ping"),
	BOTH("04-tcp-v1-connect-ping", .version = 1),
	BOTH("04-tcp-v1-lst-write-64k-x2", .version = 1),
	AFTER(PINGED, "05a-tcp-v3-discover-1nid"),
	BOTH(RAILS),
	AFTER(RAILS, "05c-multirail-push-net-del"),
	AFTER(RAILS_DEL, "05d-multirail-push-net-add"),
	AFTER(RAILS_ADD, "05e-multirail-lst-write-64k-x4"),
	AS("A", "05f-conns-per-peer-2-vs-1", .capture = { "05f-conns-per-peer-2-vs-1" },
	   .conns_per_peer = 2),
	AS("B", "05f-conns-per-peer-2-vs-1", .capture = { "05f-conns-per-peer-2-vs-1" }),
	BOTH("05g-mixed-v4-v6-nids-discover"),
	BOTH("05h-simultaneous-connect-race", .steps = 23),
	BOTH("05i-conns-per-peer-2-both", .conns_per_peer = 2),
	AFTER(KNOWN, "06a-lst-brw-write-4k-x2"),
	AFTER(KNOWN, "06b-lst-brw-read-4k-x2"),
	AFTER(KNOWN, "06c-lst-brw-write-64k-x4-zcack"),
	AFTER(KNOWN, "06d-lst-brw-read-64k-x4-zcack"),
	AFTER(KNOWN, "06e-lst-brw-write-1m-x1"),
	AFTER(KNOWN, "06f-lst-ping-x3"),
	BOTH("06g-lst-write-64k-x1-no-offload"),
	AFTER(PINGED, "10a-net-del-close"),
	AS("A", "10d-tcp-wrong-nid-reject", .capture = { "10d-tcp-wrong-nid-reject" }),
	AS("B", "10d-tcp-wrong-nid-reject", .capture = { "10d-tcp-wrong-nid-reject" },
	   .other_net = true),
	BOTH(KNOWN_2158),
	AFTER(KNOWN_2158, "11b-2158-to-2170-lst-write-64k"),
	AFTER(KNOWN_2158, "11c-2170-to-2158-lst-read-64k"),
	BOTH("11d-2158-2158-ping-discover-lst4k"),
	BOTH("13a-master-to-2170-ping-discover-lst4k"),
};

/* ---- in a process of its own -------------------------------------------------- */

static struct player {
	const struct replay *replay;
	pid_t pid;
	FILE *said;
} players[N_OF(replays)];

static size_t n_players, n_started;

static void start(struct player *player)
{
	player->said = tmpfile();
	assert_non_null(player->said);
	fflush(stdout);
	player->pid = fork();
	assert_true(player->pid >= 0);
	if (player->pid)
		return;
	dup2(fileno(player->said), STDOUT_FILENO);
	dup2(fileno(player->said), STDERR_FILENO);
	setenv("CMOCKA_MESSAGE_OUTPUT", "STDOUT", true);
	execl("/proc/self/exe", "test_replay", player->replay->name, NULL);
	_exit(127);
}

static void watch(void **state)
{
	struct player *player = *state;
	char line[4096];
	int status = 0;

	while (n_started < n_players && n_started < (size_t)(player - players) + AT_A_TIME)
		start(&players[n_started++]);
	while (waitpid(player->pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	rewind(player->said);
	while (status && fgets(line, sizeof(line), player->said))
		print_message("# %s", line);
	fclose(player->said);
	if (status)
		fail_msg("%s: wait status 0x%x", player->replay->name, status);
}

/* ---- here ----------------------------------------------------------------------- */

static void play(void **state)
{
	replay_run(*state, folder);
}

static int end(void **state)
{
	replay_end();
	return 0;
}

static int play_here(const struct replay *replay)
{
	const struct CMUnitTest test = {
		.name = replay->name,
		.test_func = play,
		.teardown_func = end,
		.initial_state = (void *)replay,
	};

	if (!replay_network()) {
		printf("no network namespace; see above\n");
		return 1;
	}
	return _cmocka_run_group_tests("replay", &test, 1, NULL, NULL);
}

static void cannot(void **state)
{
	skip();
}

static int skip_all(const char *why)
{
	const struct CMUnitTest none[] = { cmocka_unit_test(cannot) };

	printf("skipped: %s\n", why);
	return cmocka_run_group_tests_name("replay", none, NULL, NULL);
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[N_OF(replays)];

	folder = getenv("LNETX_CAPTURES");
	if (!folder)
		folder = "../shared/captures";
	if (access(folder, R_OK))
		return skip_all("no captures in ../shared/captures (set LNETX_CAPTURES)");
	if (geteuid())
		return skip_all("network namespaces need root");
	for (size_t i = 0; i < N_OF(replays); i++) {
		struct player *player = &players[n_players];

		if (argc > 1 && !strcmp(replays[i].name, argv[1]))
			return play_here(&replays[i]);
		if (argc > 1 && !strstr(replays[i].name, argv[1]))
			continue;
		player->replay = &replays[i];
		tests[n_players++] = (struct CMUnitTest){
			.name = replays[i].name,
			.test_func = watch,
			.initial_state = player,
		};
	}
	return _cmocka_run_group_tests("replay", tests, n_players, NULL, NULL);
}
