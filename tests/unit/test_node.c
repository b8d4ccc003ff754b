/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library as an application uses it: messages, handlers, threads, start and stop. With an
 * argument: test free_in_handler_is_told in this process.
 */
#include <signal.h>
#include <sys/wait.h>

#include "nodeworld.h"

/* ---- waiting for events --------------------------------------------------------------- */

static unsigned int seen[LX_EVENT_UNLINK + 1], failures /* of SEND */;
static struct lx_event last[LX_EVENT_UNLINK + 1];

static void on_event(const struct lx_event *event)
{
	pthread_mutex_lock(&mutex);
	seen[event->type]++;
	failures += event->type == LX_EVENT_SEND && event->status;
	last[event->type] = *event;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void forget(void)
{
	pthread_mutex_lock(&mutex);
	memset(seen, 0, sizeof(seen));
	failures = 0;
	pthread_mutex_unlock(&mutex);
}

/* Waits for @n events of a type; false after some seconds. */
static bool await(enum lx_event_type type, unsigned int n)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 60;
	pthread_mutex_lock(&mutex);
	while (seen[type] < n && !r)
		r = pthread_cond_timedwait(&cond, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	return !r;
}

static void post(struct lx_node *node, uint64_t bits, void *mem, size_t len, unsigned int options)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = mem, .length = len, .threshold = LX_MD_UNLIMITED,
		.options = options | LX_MD_MANAGE_REMOTE, .handler = on_event,
	};
	struct lx_handle me, md;

	assert_int_equal(lx_me_attach(node, 4, &anyone, bits, 0, LX_UNLINK, LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_attach(node, me, &desc, LX_UNLINK, &md), 0);
}

static struct lx_handle bound(struct lx_node *node, void *mem, size_t len, int threshold)
{
	const struct lx_md_desc desc = {
		.start = mem, .length = len, .threshold = threshold, .handler = on_event,
	};
	struct lx_handle md;

	assert_int_equal(lx_md_bind(node, &desc, LX_UNLINK, &md), 0);
	return md;
}

/* ---- tests ------------------------------------------------------------------------------- */

static void put_and_get(void **state)
{
	static const size_t sizes[] = { 0, 1, 100, 4096, 65536, 1 << 20 };
	static char src[1 << 20], dst[1 << 20];
	struct lx_id to = id("127.0.0.2@tcp");

	rnd_fill(src, sizeof(src));
	post(b, 1, dst, sizeof(dst), LX_MD_OP_PUT);
	post(b, 2, src, sizeof(src), LX_MD_OP_GET);
	for (unsigned int i = 0; i < N_OF(sizes); i++) {
		size_t n = sizes[i];

		forget();
		memset(dst, 0, sizeof(dst));
		assert_int_equal(lx_put(a, NULL, bound(a, src, n, 2), true, &to, 4, 1, 0, 42), 0);
		assert_true(await(LX_EVENT_ACK, 1));
		assert_memory_equal(src, dst, n);
		assert_int_equal(last[LX_EVENT_ACK].mlength, n);
		assert_int_equal(last[LX_EVENT_PUT].hdr_data, 42);
		assert_true(await(LX_EVENT_SEND, 1));

		forget();
		memset(dst, 0, sizeof(dst));
		assert_int_equal(lx_get(a, NULL, bound(a, dst, n, 2), &to, 4, 2, 0), 0);
		assert_true(await(LX_EVENT_REPLY, 1));
		assert_memory_equal(src, dst, n);
		assert_true(await(LX_EVENT_SEND, 1));
	}
}

static void ping_and_discover(void **state)
{
	struct outcome o = { 0 };
	struct lx_id to = id("127.0.0.2@tcp"), nobody = id("127.0.0.3@tcp");
	struct lx_peer_info *peer;
	struct lx_ni_info *nis;
	size_t n;

	assert_int_equal(lx_ping(a, &to, NULL, 60000, on_probe, &o), 0);
	wait_probe(&o);
	assert_int_equal(o.status, 0);
	assert_int_equal(o.n_nis, 1);
	assert_int_equal(lx_ni_list(a, &nis, &n), 0);
	assert_int_equal(nis[1].n_peers, 1);
	assert_true(nis[1].n_conns >= 1);
	free(nis);
	assert_int_equal(discover(a, "127.0.0.2@tcp", false), 0);
	assert_int_equal(lx_peer_find(a, &to.nid, &peer), 0);
	assert_true(peer->multi_rail);
	free(peer);
	o.done = false;
	assert_int_equal(lx_ping(a, &nobody, NULL, 300, on_probe, &o), 0);
	wait_probe(&o);
	assert_true(o.status < 0);
}

static uint32_t state_of(const struct lx_nid *nid)
{
	struct lx_peer_info *peer;
	uint32_t peer_state;

	assert_int_equal(lx_peer_find(a, nid, &peer), 0);
	peer_state = peer->state;
	free(peer);
	return peer_state;
}

/* Whatever state a peer is given by hand, its discovery ends and tells it our NIDs. */
static void any_peer_state_may_be_set(void **state)
{
	const uint32_t settled = LX_PEER_MULTI_RAIL | LX_PEER_DISCOVERED | LX_PEER_NIDS_UPTODATE;
	struct lx_id to = id("127.0.0.2@tcp");

	assert_int_equal(discover(a, "127.0.0.2@tcp", false), 0);
	for (unsigned int bit = 0; bit < 32; bit++) {
		assert_int_equal(lx_peer_set(a, &to.nid, "state", 1u << bit), 0);
		assert_int_equal(discover(a, "127.0.0.2@tcp", true), 0);
		assert_int_equal(state_of(&to.nid) & LX_PEER_DISCOVERING, 0);
		/* The state that lets the peer vanish in 2.17. */
		assert_int_equal(lx_peer_set(a, &to.nid, "state", 0), 0);
		assert_int_equal(discover(a, "127.0.0.2@tcp", true), 0);
		assert_int_equal(state_of(&to.nid), settled);
	}
}

/* Handlers may call the library, but not wait for themselves. */
static struct outcome in_handler;

static void from_handler(const struct lx_event *event)
{
	struct lx_id to = id("127.0.0.1@tcp");
	struct lx_node *node = event->user;
	struct lx_conf_ni ni = { .net = LX_NET(LX_NET_TCP, 0), .nid = lx_nid_any };

	if (event->type != LX_EVENT_PUT)
		return;
	assert_int_equal(lx_node_stop(node, 0), -EDEADLK);
	assert_int_equal(lx_routing_stop(node, 0), -EDEADLK);
	assert_int_equal(lx_net_del(node, &ni), -EDEADLK);
	assert_int_equal(lx_ping(node, &to, NULL, 60000, on_probe, &in_handler), 0);
}

static void handlers_may_call(void **state)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	struct lx_md_desc desc = {
		.threshold = 1, .options = LX_MD_OP_PUT, .handler = from_handler, .user = b,
	};
	struct lx_id to = id("127.0.0.2@tcp");
	struct lx_handle me, md;

	assert_int_equal(lx_me_attach(b, 4, &anyone, 9, 0, LX_UNLINK, LX_ME_AFTER, &me), 0);
	assert_int_equal(lx_md_attach(b, me, &desc, LX_UNLINK, &md), 0);
	assert_int_equal(lx_put(a, NULL, bound(a, NULL, 0, 1), false, &to, 4, 9, 0, 0), 0);
	wait_probe(&in_handler);
	assert_int_equal(in_handler.status, 0);
}

/* ---- handlers that should not -------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	bool waits, returned; /* seen in the log */
} watched = { .lock = PTHREAD_MUTEX_INITIALIZER };
static bool let_go;

static void on_log(int level, const char *line, void *arg)
{
	pthread_mutex_lock(&watched.lock);
	watched.waits |= strstr(line, "has not returned for a second") != NULL;
	watched.returned |= strstr(line, "handler has returned") != NULL;
	pthread_mutex_unlock(&watched.lock);
}

static bool told(const bool *what)
{
	for (int i = 0; i < 6000; i++) {
		pthread_mutex_lock(&watched.lock);
		bool yes = *what;
		pthread_mutex_unlock(&watched.lock);
		if (yes)
			return true;
		usleep(10000);
	}
	return false;
}

static void blocks(const struct lx_event *event)
{
	while (!__atomic_load_n(&let_go, __ATOMIC_RELAXED))
		usleep(1000);
}

static void handle_with(lx_event_fn handler, struct lx_node *node, void *user)
{
	const struct lx_md_desc desc = { .threshold = 1, .handler = handler, .user = user };
	struct lx_id to = id("0@lo");
	struct lx_handle md;

	assert_int_equal(lx_md_bind(node, &desc, LX_UNLINK, &md), 0);
	assert_int_equal(lx_put(node, NULL, md, false, &to, 4, 9, 0, 0), 0);
}

static void version(void **state)
{
	unsigned int major, minor, patch;
	char rest;

	assert_int_equal(sscanf(lx_version(), "%u.%u.%u%c", &major, &minor, &patch, &rest), 3);
	assert_int_equal(LX_VERSION_NUMBER, major << 16 | minor << 8 | patch);
	assert_string_equal(lx_version(), LX_VERSION);
}

/* Only the log can say why nothing happens. */
static void blocked_handler_is_told(void **state)
{
	lx_set_log(on_log, NULL);
	handle_with(blocks, a, NULL);
	assert_true(told(&watched.waits));
	assert_false(watched.returned);
	lx_node_alive(a);
	usleep(100000);
	assert_false(lx_node_alive(a));
	__atomic_store_n(&let_go, true, __ATOMIC_RELAXED);
	assert_true(told(&watched.returned));
	lx_set_log(NULL, NULL);
	while (!lx_node_alive(a)) /* or the test's time limit */
		usleep(10000);
}

static void frees_its_node(const struct lx_event *event)
{
	lx_node_free(event->user);
}

/* Ends the process if all is well: runs in a process of its own. */
static int free_in_handler(void)
{
	if (lx_node_new(NULL, NULL, &a))
		return 2;
	handle_with(frees_its_node, a, a);
	sleep(20);
	return 3;
}

static void free_in_handler_is_told(void **state)
{
	char out[4096] = "";
	int end[2], status;
	size_t at = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (!pid) {
		dup2(end[1], 2);
		execl("/proc/self/exe", "test_node", "--free-in-handler", NULL);
		_exit(4);
	}
	close(end[1]);
	while (at < sizeof(out) - 1 && (n = read(end[0], out + at, sizeof(out) - 1 - at)) > 0)
		at += n;
	close(end[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	print_message("%s", out);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(out, "lx_node_free() was called from a handler"));
}

/* A PUT sent by a handler leaves at once, not when the loop happens to wake up. */
#define CHAIN 2000

static unsigned int chain;

static void next_of_chain(const struct lx_event *event)
{
	struct lx_id to = id("127.0.0.2@tcp");

	if (event->type == LX_EVENT_SEND && ++chain < CHAIN)
		assert_int_equal(lx_put(a, NULL, event->md, false, &to, 4, 3, 0, 0), 0);
	on_event(event);
}

static void handlers_send_at_once(void **state)
{
	static char src[4096], dst[4096];
	const struct lx_md_desc desc = {
		.start = src, .length = sizeof(src), .threshold = LX_MD_UNLIMITED,
		.handler = next_of_chain,
	};
	struct lx_id to = id("127.0.0.2@tcp");
	struct lx_handle md;

	forget();
	chain = 0;
	post(b, 3, dst, sizeof(dst), LX_MD_OP_PUT);
	assert_int_equal(lx_md_bind(a, &desc, LX_RETAIN, &md), 0);
	assert_int_equal(lx_put(a, NULL, md, false, &to, 4, 3, 0, 0), 0);
	assert_true(await(LX_EVENT_SEND, CHAIN));
	assert_true(await(LX_EVENT_PUT, CHAIN));
}

#define THREADS 4
#define ROUNDS 200

static void *putter(void *arg)
{
	struct lx_id to = id("127.0.0.2@tcp");
	static char src[8192];

	for (int i = 0; i < ROUNDS; i++)
		assert_int_equal(lx_put(a, NULL, bound(a, src, 1 + i * 40, 2), true, &to, 4, 3, 0, 0),
				 0);
	return NULL;
}

static void many_threads(void **state)
{
	static char dst[8192];
	pthread_t thread[THREADS];

	forget();
	post(b, 3, dst, sizeof(dst), LX_MD_OP_PUT);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, putter, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_true(await(LX_EVENT_ACK, THREADS * ROUNDS));
}

static void stop_under_load(void **state)
{
	static char src[65536], dst[65536];
	struct lx_id to = id("127.0.0.2@tcp");
	unsigned int ends;

	forget();
	post(b, 3, dst, sizeof(dst), LX_MD_OP_PUT);
	for (int i = 0; i < 100; i++)
		assert_int_equal(lx_put(a, NULL, bound(a, src, sizeof(src), 1), false, &to, 4, 3, 0,
					0), 0);
	assert_int_equal(lx_node_stop(a, 0), 0);
	assert_int_equal(lx_node_stop(a, 0), 0);
	pthread_mutex_lock(&mutex);
	ends = seen[LX_EVENT_SEND];
	pthread_mutex_unlock(&mutex);
	assert_int_equal(ends, 100); /* each ended */
	assert_int_equal(lx_put(a, NULL, (struct lx_handle){ 1 }, false, &to, 4, 3, 0, 0), -ENOENT);
}

/* With time to drain, everything that was started is sent. */
static void stop_drains(void **state)
{
	static char src[65536], dst[65536];
	struct lx_id to = id("127.0.0.2@tcp");
	unsigned int bad;

	forget();
	post(b, 3, dst, sizeof(dst), LX_MD_OP_PUT);
	for (int i = 0; i < 100; i++)
		assert_int_equal(lx_put(a, NULL, bound(a, src, sizeof(src), 1), false, &to, 4, 3, 0,
					0), 0);
	assert_int_equal(lx_node_stop(a, 60000), 0);
	assert_true(await(LX_EVENT_SEND, 100));
	pthread_mutex_lock(&mutex);
	bad = failures;
	pthread_mutex_unlock(&mutex);
	assert_int_equal(bad, 0);
}

static enum lx_routing_state routing_of(struct lx_node *node)
{
	struct lx_routing_info info;

	lx_routing_get(node, &info);
	return info.state;
}

/* A stop waits until the neighbours know; a discovered neighbour learns it at once. */
static void router_stops_and_comes_back(void **state)
{
	struct lx_nid nid_b = id("127.0.0.2@tcp").nid;
	struct lx_neighbour_info *list;
	struct lx_peer_info *peer;
	struct lx_id to = id("127.0.0.1@tcp");
	size_t n;

	assert_int_equal(lx_routing_stop(a, 0), 0); /* does not route */
	lx_node_free(a);
	assert_int_equal(node_up("127.0.0.1", "routing: { enable: 1 }\n", &a), 0);
	assert_int_equal(routing_of(a), LX_ROUTING_ON);
	assert_int_equal(ping(b, "127.0.0.1@tcp", NULL), 0);
	assert_int_equal(lx_neighbour_list(a, &list, &n), 0);
	assert_int_equal(n, 1);
	assert_true(lx_nid_eq(&list[0].nid, &nid_b));
	assert_true(list[0].told);
	free(list);
	assert_int_equal(lx_routing_stop(a, 60000), 0);
	assert_int_equal(routing_of(a), LX_ROUTING_OFF);

	lx_node_free(a);
	assert_int_equal(node_up("127.0.0.1", "routing: { enable: 1 }\n", &a), 0);
	assert_int_equal(lx_announce(a, &nid_b, 1), 0);
	for (int i = 0; i < 6000; i++) {
		usleep(10000);
		assert_int_equal(lx_peer_find(b, &to.nid, &peer), 0);
		n = peer->state & LX_PEER_ROUTER_ENABLED;
		free(peer);
		if (n)
			break;
	}
	assert_true(n);
	/* Without a timeout, whoever is still to be told. */
	assert_int_equal(lx_routing_stop(a, 0), -ETIMEDOUT);
	assert_int_equal(routing_of(a), LX_ROUTING_OFF);
}

static unsigned int changes;

static void on_change(const struct lx_change *change, void *arg)
{
	__atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED);
}

/* Freeing a node drops its peers; the watcher does not hear of it. */
static void watched_to_the_end(void **state)
{
	lx_node_watch(a, on_change, NULL);
	assert_int_equal(discover(a, "127.0.0.2@tcp", false), 0);
	lx_node_free(a);
	a = NULL;
	assert_true(__atomic_load_n(&changes, __ATOMIC_RELAXED) > 0);
}

static int dist(const char *text)
{
	struct lx_id to = id(text);

	return lx_dist(a, &to.nid);
}

static void state_is_told(void **state)
{
	struct lx_conf_ni ni = { .net = LX_NET(LX_NET_TCP, 7), .nid = id("127.0.0.9@tcp7").nid,
				 .tun = { LX_UNSET, LX_UNSET, LX_UNSET, LX_UNSET } };
	struct lx_conf_route route = { .net = LX_NET(LX_NET_TCP, 5), .hop = LX_UNSET,
				       .priority = 3, .health_sensitivity = LX_UNSET,
				       .gateway = id("127.0.0.2@tcp").nid };
	struct lx_ni_info *nis;
	struct lx_route_info *routes;
	struct lx_routing_info routing;
	struct lx_stats stats;
	size_t n;

	for (int i = 0; i < LX_LND_TUNABLES_MAX; i++)
		ni.lnd_tun.value[i] = LX_UNSET;
	assert_int_equal(lx_ni_list(a, &nis, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(nis[1].tun.peer_credits, 8);
	assert_int_equal(nis[1].tun.credits, 256);
	assert_true(nis[1].up);
	free(nis);
	assert_int_equal(lx_net_add(a, &ni), 0);
	assert_int_equal(lx_net_add(a, &ni), -EEXIST);
	assert_int_equal(lx_net_del(a, &ni), 0);
	assert_int_equal(lx_net_del(a, &ni), -ENOENT);
	ni.net = LX_NET(LX_NET_KFI, 0);
	assert_int_equal(lx_net_add(a, &ni), -EPROTONOSUPPORT);
	assert_int_equal(lx_route_add(a, &route), 0);
	assert_int_equal(lx_route_list(a, &routes, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(routes[0].priority, 3);
	free(routes);
	assert_int_equal(dist("127.0.0.2@tcp"), 1);
	assert_int_equal(dist("1.2.3.4@tcp5"), 2);
	assert_int_equal(dist("1.2.3.4@tcp6"), -EHOSTUNREACH);
	assert_int_equal(lx_route_del(a, route.net, &route.gateway), 0);
	assert_int_equal(lx_routing_set(a, true), 0);
	lx_routing_get(a, &routing);
	assert_int_equal(routing.state, LX_ROUTING_STARTING);
	assert_int_equal(routing.pool[LX_POOL_SMALL].nbuffers, 4096);
	/* Unless the node sends something just then, all by itself. */
	for (int i = 0; i < 1000 && (!i || stats.send_count); i++) {
		lx_stats_reset(a);
		lx_stats_get(a, &stats);
	}
	assert_int_equal(stats.send_count, 0);
	assert_int_equal(lx_tunable_write(a, "lnet", "lnet_retry_count", "7"), 0);
	assert_int_equal(lx_tunable_write(a, "lnet", "lnet_retry_count", "-1"), -ERANGE);
	assert_int_equal(lx_tunable_write(a, "lnet", "nosuch", "1"), -ENOENT);
	assert_int_equal(lx_tunable_write(a, "ib", "nosuch", "1"), -ENOENT);
	assert_int_equal(lx_tunable_write(a, "lnet", "lnet_retry_count", "2"), 0);
}

/* Accepts connections and never sends a byte. */
static int mute(const char *address)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(own_port()) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &sa.sin_addr);
	assert_int_equal(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fd, 9), 0);
	return fd;
}

static void *stops_slowly(void *arg)
{
	assert_int_equal(lx_node_stop(a, 5000), 0);
	return NULL;
}

/* A second caller also returns only when the node is down. */
static void stopped_twice_at_once(void **state)
{
	struct lx_id to = id("127.0.0.77@tcp");
	int fd = mute("127.0.0.77");
	pthread_t thread;

	assert_int_equal(lx_put(a, NULL, bound(a, NULL, 0, 1), false, &to, 4, 9, 0, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, stops_slowly, NULL), 0);
	while (lx_dist(a, &to.nid) != -ESHUTDOWN)
		usleep(1000);
	assert_true(listens(own_port()));
	assert_int_equal(lx_node_stop(a, 0), 0);
	assert_false(listens(own_port()));
	pthread_join(thread, NULL);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(put_and_get),
		T(ping_and_discover),
		T(any_peer_state_may_be_set),
		T(handlers_may_call),
		T(handlers_send_at_once),
		T(many_threads),
		T(stop_under_load),
		T(stop_drains),
		T(router_stops_and_comes_back),
		T(watched_to_the_end),
		T(state_is_told),
		T(version),
		T(blocked_handler_is_told),
		T(free_in_handler_is_told),
		T(stopped_twice_at_once),
	};

	if (argc > 1)
		return free_in_handler();
	return begin() ? cmocka_run_group_tests_name("node", tests, NULL, NULL) : 0;
}
