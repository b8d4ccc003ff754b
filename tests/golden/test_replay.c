/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replays captures of real nodes with our node in the place of one of them: it must send
 * what the real one sent (replay.h). Each TCP capture is replayed once per host,
 * with the real node's configuration and, if it begins in the
 * middle, after the capture that precedes it. Captures that cannot be replayed are
 * in the table with the reason, and printed; a capture missing from the
 * table fails the test.
 *
 * Some replays end early:
 *  - 05h ends with a connection attempt of A that B, already connected, rejects;
 *    what follows was not captured. Our node does not dial in that situation.
 *  - 08: the third keepalive comes 10 s after the second, like the second after the first.
 *  - 14c: two REPLYs of B's are not in the capture, although their GETs were answered.
 *  - 14h: first contact with one gateway, both dialling; then policies change while eight users
 *    ping at once, and only the numbers of messages by each gateway are certain.
 *  - 18b: from the middle on A is another node, newly configured.
 * Of 07e the TCP side is played as A; its router and S, as all of 09 and 11e, are o2iblnd.
 * In 19 the test plays lnet_selftest; the node only transports its messages.
 *
 * Without root the replays run in a user namespace. With part of a name as argument:
 * only those. With a full name: in this process, for a debugger; VERBOSE=1 shows the
 * node's log.
 *
 * A replay mostly waits, so several run in parallel: each in a separate process and network
 * namespace, with its output shown in turn.
 */
#include "../unit/testlib.h"

#include <dirent.h>
#include <errno.h>
#include <sys/mman.h>
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
#define ADDED(host, title, before, ...) AS(host, title, .capture = { before, title }, __VA_ARGS__)

/* A router's two sides are two captures. */
#define SIDE1(title) title "-side1"
#define SIDE2(title) title "-side2"
#define ROUTED(title)                                                                              \
	AS("A", title, .capture = { SIDE1(ROUTER), SIDE1(title) }, .router = 'R'),                 \
		AS("S", title, .capture = { SIDE2(ROUTER), SIDE2(title) }, .router = 'R'),         \
		AS("R", title, .capture = { SIDE1(ROUTER), SIDE1(title) },                         \
		   .also = { SIDE2(ROUTER), SIDE2(title) })

/* Captures that precede those that start in the middle. */
#define PINGED "01-tcp-v3-connect-ping"
#define KNOWN PINGED, "05a-tcp-v3-discover-1nid"
#define KNOWN_2158 "11a-2158-to-2170-ping-discover"
#define RAILS "05b-multirail-discover"
#define RAILS_DEL RAILS, "05c-multirail-push-net-del"
#define RAILS_ADD RAILS_DEL, "05d-multirail-push-net-add"
#define ROUTER "07a-router-connect-ping-discover"

/* The admin's configuration. */
#define PEER(first, second)                                                                        \
	"peer:\n"                                                                                  \
	"    - primary nid: " first "\n"                                                           \
	"      Multi-Rail: true\n"                                                                 \
	"      peer ni:\n"                                                                         \
	"        - nid: " first "\n"                                                               \
	"        - nid: " second "\n"
#define PEER_B PEER("10.77.0.2@tcp", "10.78.0.2@tcp")
#define ROUTE_VIA_G(net)                                                                           \
	"route:\n"                                                                                 \
	"    - net: " net "\n"                                                                     \
	"      gateway: 10.77.0.3@tcp\n"
#define POLICY(clause, nid) "    - " clause ": " nid "\n"
#define PREFER(src, dst) "    - src: " src "\n      dst: " dst "\n"
/*
 * It is unknown whose turn it was when such a capture started. Our node starts with what comes
 * first in its configuration. Where 14e starts, its rule makes no difference; test_core_udsp
 * covers other starts.
 */
#define WITH_POLICIES(title, peer, policies, ...)                                                  \
	AS("A", title, .capture = { title }, .conf = peer "udsp:\n" policies,                      \
	   TWO_NIDS_OF_A, .no_discovery = true, __VA_ARGS__)
#define TWO_NIDS_OF_A .nids = { "10.77.0.1@tcp", "10.78.0.1@tcp" }
#define TWO_NIDS_OF_B .nids = { "10.77.0.2@tcp", "10.78.0.2@tcp" }

/* B only answers, whatever A sends. */
#define ANSWERED(title, ...) AS("B", title, .capture = { title }, TWO_NIDS_OF_B, __VA_ARGS__)
/* Between hosts that discovered each other before. */
#define AMONG_FRIENDS(host, title) AS(host, title, .capture = { title }, .no_discovery = true)
#define NOT_PLAYED(host, title, why) AS(host, title, .capture = { title }, .not_played = why)
/* It goes by the second, so test_golden_health.c plays it, on virtual time. */
#define BY_THE_SECOND(host, title) AS(host, title, .capture = { title }, .elsewhere = true)

#define OWN_NID "both ends are ours: there is nobody to be played"
#define NO_LOOP "ours drops what would go back to where it came from"
/* Of 14h known: nobody had pinged it there for 110 s, and the gateway said that its NI was down. */
#define ONE_SIDE "the gateway's other net is not in the capture"

static const struct replay replays[] = {
	/* Slowest first. */
	BOTH("08-tcp-keepalive-noop", .keepalive = 2, .steps = 13),
	AS("A", "07e-router-tcp-o2ib-ping-lst64k",
	   .capture = { SIDE1(ROUTER), "07e-router-tcp-o2ib-ping-lst64k-tcpside" }, .router = 'R'),
	ROUTED("07b-router-lst-write-64k-x2"),
	ROUTED("07c-router-lst-read-1m-x1"),
	ROUTED("07d-router-lst-ping-x2"),
	AS("A", ROUTER, .capture = { SIDE1(ROUTER) }, .router = 'R'),
	AS("S", ROUTER, .capture = { SIDE2(ROUTER) }, .router = 'R'),
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
	ADDED("A", "05d-multirail-push-net-add", RAILS_DEL),
	ADDED("B", "05d-multirail-push-net-add", RAILS_DEL, .asks_pushers = true),
	ADDED("A", "05e-multirail-lst-write-64k-x4", RAILS_ADD),
	ADDED("B", "05e-multirail-lst-write-64k-x4", RAILS_ADD, .asks_pushers = true),
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
	WITH_POLICIES("14a-udsp-none", PEER_B, ""),
	ANSWERED("14a-udsp-none"),
	WITH_POLICIES("14b-udsp-src-priority", PEER_B,
		      POLICY("src", "10.78.0.1@tcp")),
	ANSWERED("14b-udsp-src-priority"),
	WITH_POLICIES("14c-udsp-dst-priority", PEER_B,
		      POLICY("dst", "10.78.0.2@tcp")),
	ANSWERED("14c-udsp-dst-priority", .steps = 17),
	WITH_POLICIES("14d-udsp-src-dst-cross", PEER_B,
		      PREFER("10.77.0.1@tcp", "10.78.0.2@tcp")
		      PREFER("10.78.0.1@tcp", "10.77.0.2@tcp")),
	ANSWERED("14d-udsp-src-dst-cross"),
	WITH_POLICIES("14e-udsp-pair-one-dst", PEER("10.78.0.2@tcp", "10.77.0.2@tcp"),
		      PREFER("10.78.0.1@tcp", "10.77.0.2@tcp")),
	ANSWERED("14e-udsp-pair-one-dst"),
	WITH_POLICIES("14f-udsp-src-and-dst-priority", PEER_B,
		      POLICY("src", "10.78.0.1@tcp") POLICY("dst", "10.77.0.2@tcp")),
	ANSWERED("14f-udsp-src-and-dst-priority"),
	WITH_POLICIES("14g-udsp-pref-vs-priority", PEER_B,
		      PREFER("10.77.0.1@tcp", "10.77.0.2@tcp") POLICY("dst", "10.78.0.2@tcp")),
	ANSWERED("14g-udsp-pref-vs-priority"),
	AS("A", "14h-udsp-preferred-gateway", .capture = { "14h-udsp-preferred-gateway" },
	   .router = 'G', .conf = ROUTE_VIA_G("tcp8"), .steps = 23),
	BY_THE_SECOND("A, from step 24 on", "14h-udsp-preferred-gateway"),
	NOT_PLAYED("B", "14h-udsp-preferred-gateway", ONE_SIDE),
	NOT_PLAYED("G", "14h-udsp-preferred-gateway", ONE_SIDE),
	BOTH("15a-fault-drop-delay"),
	BY_THE_SECOND("A", "16a-health-simulated-errors"),
	ANSWERED("16a-health-simulated-errors"),
	BY_THE_SECOND("A", "16b-health-peer-interface-down"),
	BY_THE_SECOND("B", "16b-health-peer-interface-down"),
	BY_THE_SECOND("A", "16c-health-recovery-ping-backoff"),
	BY_THE_SECOND("B", "16c-health-recovery-ping-backoff"),
	BY_THE_SECOND("A", "16d-health-get-response-timeout"),
	ANSWERED("16d-health-get-response-timeout", .drops = "*"),
	BY_THE_SECOND("A", "16e-health-resend-connect-failure"),
	ANSWERED("16e-health-resend-connect-failure", .no_carrier = true),
	NOT_PLAYED("G", "17a-own-nid-loopback", OWN_NID),
	NOT_PLAYED("B", "18a-routing-loop", NO_LOOP),
	NOT_PLAYED("G", "18a-routing-loop", NO_LOOP),
	AS("A", "18b-gateway-primary-on-far-net", .capture = { "18b-gateway-primary-on-far-net" },
	   .router = 'G', .conf = ROUTE_VIA_G("tcp1"), .steps = 60),
	NOT_PLAYED("B", "18b-gateway-primary-on-far-net", ONE_SIDE),
	NOT_PLAYED("G", "18b-gateway-primary-on-far-net", ONE_SIDE),
	AFTER(KNOWN, "19a-lst-session-brw-simple-ping"),
	AS("G", "19a-lst-session-brw-simple-ping",
	   .capture = { "19a-lst-session-brw-simple-ping" }),
	AMONG_FRIENDS("A", "19b-lst-brw-injected-errors"),
	AMONG_FRIENDS("B", "19b-lst-brw-injected-errors"),
	AMONG_FRIENDS("G", "19b-lst-brw-injected-errors"),
	AMONG_FRIENDS("A", "19c-lst-server-killed"),
	AMONG_FRIENDS("B", "19c-lst-server-killed"),
	AMONG_FRIENDS("G", "19c-lst-server-killed"),
};

/* ---- in a process of its own -------------------------------------------------- */

static struct player {
	const struct replay *replay;
	pid_t pid;
	FILE *said;
} players[N_OF(replays)];

static size_t n_players, n_started;
static const char *self; /* not /proc/self/exe, which may be qemu's */

static void start(struct player *player)
{
	player->said = fdopen(memfd_create(player->replay->name, 0), "w+");
	assert_non_null(player->said);
	fflush(stdout);
	player->pid = fork();
	assert_true(player->pid >= 0);
	if (player->pid)
		return;
	dup2(fileno(player->said), STDOUT_FILENO);
	dup2(fileno(player->said), STDERR_FILENO);
	setenv("CMOCKA_MESSAGE_OUTPUT", "STDOUT", true);
	execl(self, self, player->replay->name, NULL);
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

/* Whether this user may create network namespaces. */
static bool can_play(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(!replay_network());
	while (waitpid(pid, &status, 0) < 0)
		assert_int_equal(errno, EINTR);
	return !status;
}

/* ---- the table is whole --------------------------------------------------------- */

static bool in_table(const char *name)
{
	for (size_t i = 0; i < N_OF(replays); i++) {
		for (unsigned int j = 0; j < REPLAY_CHAIN; j++) {
			const char *one = replays[i].capture[j], *other = replays[i].also[j];

			if ((one && !strcmp(one, name)) || (other && !strcmp(other, name)))
				return true;
		}
	}
	return false;
}

/* Each TCP capture is played, or the table gives a reason why not. */
static void test_table(void **state)
{
	DIR *dir = opendir(folder);
	unsigned int missing = 0;
	struct dirent *entry;
	char name[300];

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		snprintf(name, sizeof(name), "%s", entry->d_name);
		if (!strstr(name, ".pcap") || (strstr(name, "-o2ib-") && !strstr(name, "-tcpside")))
			continue;
		*strstr(name, ".pcap") = '\0';
		if (!in_table(name))
			print_error("%s is not in the table\n", name);
		missing += !in_table(name);
	}
	closedir(dir);
	assert_int_equal(missing, 0);
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[N_OF(replays) + 1];
	size_t n = 0;

	self = argv[0];
	folder = captures_dir();
	if (!can_play())
		return skip_all("networks of its own need root or user namespaces");
	if (argc == 1)
		tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_table);
	for (size_t i = 0; i < N_OF(replays); i++) {
		struct player *player = &players[n_players];

		if (argc > 1 && !strstr(replays[i].name, argv[1]))
			continue;
		if (replays[i].elsewhere)
			continue;
		if (replays[i].not_played) {
			printf("# not played: %s: %s\n", replays[i].name, replays[i].not_played);
			continue;
		}
		if (argc > 1 && !strcmp(replays[i].name, argv[1]))
			return play_here(&replays[i]);
		n_players++;
		player->replay = &replays[i];
		tests[n++] = (struct CMUnitTest){
			.name = replays[i].name,
			.test_func = watch,
			.initial_state = player,
		};
	}
	return _cmocka_run_group_tests("replay", tests, n, NULL, NULL);
}
