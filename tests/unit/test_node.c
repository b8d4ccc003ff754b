/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library as an application uses it: two nodes in this process, real TCP over
 * loopback addresses, threads.
 */
#include "testlib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "rawpeer.h"

static struct lx_node *a, *b;
static const char *yaml_fmt =
	"net:\n"
	"    - net type: tcp\n"
	"      local NI(s):\n"
	"        - nid: %s@tcp\n"
	"tunables:\n"
	"    tcp: { accept_port: %d, accept_port_bulk: %d, accept: all, nscheds: %d }\n"
	"%s";

static int node_up(const char *address, const char *more, struct lx_node **ret_node)
{
	struct lx_conf_error err = { 0 };
	char yaml[1024];
	int r;

	snprintf(yaml, sizeof(yaml), yaml_fmt, address, own_port(), own_port(), 2, more);
	r = lx_node_new_yaml(yaml, strlen(yaml), &err, ret_node);
	if (r)
		printf("%d:%d: %s\n", err.line, err.column, err.text);
	return r;
}

static int setup(void **state)
{
	return node_up("127.0.0.1", "", &a) || node_up("127.0.0.2", "", &b);
}

static int teardown(void **state)
{
	lx_node_free(a);
	lx_node_free(b);
	a = b = NULL;
	return 0;
}

/* ---- waiting for events --------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
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

static struct lx_id id(const char *text)
{
	struct lx_id id = { .pid = LX_PID_LUSTRE };

	assert_int_equal(lx_nid_parse(text, &id.nid), 0);
	return id;
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

struct outcome {
	bool done;
	int status;
	unsigned int n_nis;
};

static void on_probe(int status, const struct lx_peer_info *info, void *arg)
{
	struct outcome *o = arg;

	pthread_mutex_lock(&mutex);
	o->status = status;
	o->n_nis = info ? info->n_nis : 0;
	o->done = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void wait_probe(struct outcome *o)
{
	pthread_mutex_lock(&mutex);
	while (!o->done)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
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
	o.done = false;
	assert_int_equal(lx_discover(a, &to.nid, false, on_probe, &o), 0);
	wait_probe(&o);
	assert_int_equal(o.status, 0);
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
	struct outcome o = { 0 };

	assert_int_equal(lx_discover(a, &to.nid, false, on_probe, &o), 0);
	wait_probe(&o);
	for (unsigned int bit = 0; bit < 32; bit++) {
		o.done = false;
		assert_int_equal(lx_peer_set(a, &to.nid, "state", 1u << bit), 0);
		assert_int_equal(lx_discover(a, &to.nid, true, on_probe, &o), 0);
		wait_probe(&o);
		assert_int_equal(o.status, 0);
		assert_int_equal(state_of(&to.nid) & LX_PEER_DISCOVERING, 0);
		/* The state that lets the peer vanish in 2.17. */
		assert_int_equal(lx_peer_set(a, &to.nid, "state", 0), 0);
		o.done = false;
		assert_int_equal(lx_discover(a, &to.nid, true, on_probe, &o), 0);
		wait_probe(&o);
		assert_int_equal(o.status, 0);
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
	struct outcome o = { 0 };
	size_t n;

	assert_int_equal(lx_routing_stop(a, 0), 0); /* does not route */
	lx_node_free(a);
	assert_int_equal(node_up("127.0.0.1", "routing: { enable: 1 }\n", &a), 0);
	assert_int_equal(routing_of(a), LX_ROUTING_ON);
	assert_int_equal(lx_ping(b, &to, NULL, 60000, on_probe, &o), 0);
	wait_probe(&o);
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
	struct outcome o = { 0 };
	struct lx_id to = id("127.0.0.2@tcp");

	lx_node_watch(a, on_change, NULL);
	assert_int_equal(lx_discover(a, &to.nid, false, on_probe, &o), 0);
	wait_probe(&o);
	assert_int_equal(o.status, 0);
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

static void apply_by_difference(void **state)
{
	static const char *first =
		"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		"route:\n    - net: tcp5\n      gateway: 127.0.0.2@tcp\n"
		"    - net: tcp6\n      gateway: 127.0.0.2@tcp\n"
		"peer:\n    - primary nid: 127.0.0.2@tcp\n      Multi-Rail: true\n"
		"global: { transaction_timeout: 30 }\n";
	static const char *second =
		"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		"        - nid: 127.0.0.5@tcp\n"
		"route:\n    - net: tcp5\n      gateway: 127.0.0.2@tcp\n      priority: 1\n";
	char yaml[1024];
	struct outcome o = { 0 };
	struct lx_id to = id("127.0.0.2@tcp");
	struct lx_conn_info *conns;
	struct lx_route_info *routes;
	struct lx_conf_error err;
	struct lx_ni_info *nis;
	struct lx_conf *conf;
	size_t n, n_conns;

	snprintf(yaml, sizeof(yaml), "%stunables:\n    tcp: { accept_port: %d, accept: all }\n", first,
		 own_port());
	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, &err), 0);
	assert_int_equal(lx_node_apply(a, conf, LX_APPLY_DIFF, &err), 0);
	lx_conf_free(conf);
	assert_int_equal(lx_route_list(a, &routes, &n), 0);
	assert_int_equal(n, 2);
	free(routes);
	assert_int_equal(lx_ping(a, &to, NULL, 60000, on_probe, &o), 0);
	wait_probe(&o);
	assert_int_equal(o.status, 0);
	assert_int_equal(lx_conn_list(a, &conns, &n_conns), 0);
	assert_true(n_conns > 0);
	free(conns);

	snprintf(yaml, sizeof(yaml), "%stunables:\n    tcp: { accept_port: %d, accept: all }\n",
		 second, own_port());
	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, &err), 0);
	assert_int_equal(lx_node_apply(a, conf, LX_APPLY_DIFF, &err), 0);
	lx_conf_free(conf);
	assert_int_equal(lx_route_list(a, &routes, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(routes[0].priority, 1);
	free(routes);
	assert_int_equal(lx_ni_list(a, &nis, &n), 0);
	assert_int_equal(n, 3);
	free(nis);
	/* NIs that stayed the same kept their connections. */
	assert_int_equal(lx_conn_list(a, &conns, &n), 0);
	assert_true(n >= n_conns);
	free(conns);
}

/* "PRIMARY NID...; " of each configured peer */
static const char *configured_peers(void)
{
	static char text[400];
	struct lx_peer_info *peers;
	size_t n, used = 0;

	text[0] = '\0';
	assert_int_equal(lx_peer_list(a, &peers, &n), 0);
	for (size_t i = 0; i < n; i++) {
		if (!(peers[i].state & LX_PEER_CONFIGURED))
			continue;
		used += snprintf(text + used, sizeof(text) - used, "%s",
				 peers[i].multi_rail ? "" : "single ");
		for (size_t j = 0; j < peers[i].n_nis; j++)
			used += snprintf(text + used, sizeof(text) - used, "%s ",
					 lx_nid_str(&peers[i].ni[j].nid));
		used += snprintf(text + used, sizeof(text) - used, "; ");
	}
	free(peers);
	return text;
}

static int apply_peers(const char *more, struct lx_conf_error *ret_err)
{
	struct lx_conf *conf;
	char yaml[1024];
	int r;

	snprintf(yaml, sizeof(yaml), yaml_fmt, "127.0.0.1", own_port(), own_port(), 2, more);
	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, ret_err), 0);
	r = lx_node_apply(a, conf, LX_APPLY_DIFF, ret_err);
	lx_conf_free(conf);
	return r;
}

#define PEER(primary, nids)                                                                        \
	"    - primary nid: " primary "\n      Multi-Rail: true\n      peer ni:\n"                    \
	"        - nid: " primary "\n" nids
#define NID(nid) "        - nid: " nid "\n"
#define GATEWAY "127.0.0.77@tcp"

static void peers_by_difference(void **state)
{
	static const struct {
		const char *more, *want;
	} steps[] = {
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.2@tcp5") NID("10.0.0.1@tcp6")),
		  "10.0.0.1@tcp5 10.0.0.2@tcp5 10.0.0.1@tcp6 ; " },
		/* NIDs go, with the net of the last one. */
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.2@tcp5")),
		  "10.0.0.1@tcp5 10.0.0.2@tcp5 ; " },
		{ "peer:\n" PEER("10.0.0.1@tcp5", ""), "10.0.0.1@tcp5 ; " },
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.2@tcp5")),
		  "10.0.0.1@tcp5 10.0.0.2@tcp5 ; " },
		/* From one peer to another. */
		{ "peer:\n" PEER("10.0.0.1@tcp5", "") PEER("10.0.0.3@tcp5", NID("10.0.0.2@tcp5")),
		  "10.0.0.1@tcp5 ; 10.0.0.3@tcp5 10.0.0.2@tcp5 ; " },
		/* A peer's primary NID, and another one in its place. */
		{ "peer:\n" PEER("10.0.0.1@tcp5", NID("10.0.0.3@tcp5"))
			  PEER("10.0.0.2@tcp5", ""),
		  "10.0.0.1@tcp5 10.0.0.3@tcp5 ; 10.0.0.2@tcp5 ; " },
		{ "peer:\n    - primary nid: 10.0.0.1@tcp5\n      Multi-Rail: false\n",
		  "single 10.0.0.1@tcp5 ; " },
		/* This node itself, as in an export after it has pinged its own NID. */
		{ "peer:\n" PEER("127.0.0.1@tcp", ""), "127.0.0.1@tcp ; " },
		/* A gateway, until its last route goes. */
		{ "peer:\n" PEER(GATEWAY, ""), GATEWAY " ; " },
		{ "peer:\n" PEER(GATEWAY, "") "route:\n    - net: tcp5\n      gateway: " GATEWAY "\n",
		  GATEWAY " ; " },
		{ "", "" },
	};
	struct lx_conf_error err;

	for (size_t i = 0; i < N_OF(steps); i++) {
		print_message("step %zu\n", i);
		assert_int_equal(apply_peers(steps[i].more, &err), 0);
		assert_string_equal(configured_peers(), steps[i].want);
	}
}

/* A configuration that gives a peer's NID to another one wins over what the peer says. */
static void discovered_nids_by_difference(void **state)
{
	static const char *just_b = "peer:\n" PEER("127.0.0.2@tcp", "");
	struct lx_id to = id("127.0.0.2@tcp");
	struct lx_conf_ni second = { .net = LX_NET(LX_NET_TCP, 0), .nid = id("127.0.0.6@tcp").nid,
				     .tun = { LX_UNSET, LX_UNSET, LX_UNSET, LX_UNSET } };
	struct outcome o = { 0 };
	struct lx_conf_error err;

	assert_int_equal(lx_net_add(b, &second), 0);
	assert_int_equal(apply_peers(just_b, &err), 0);
	assert_int_equal(lx_discover(a, &to.nid, false, on_probe, &o), 0);
	wait_probe(&o);
	assert_int_equal(o.status, 0);
	assert_string_equal(configured_peers(), "127.0.0.2@tcp 127.0.0.6@tcp ; ");
	assert_int_equal(apply_peers(just_b, &err), 0);
	assert_string_equal(configured_peers(), "127.0.0.2@tcp 127.0.0.6@tcp ; ");
	assert_int_equal(apply_peers("peer:\n" PEER("127.0.0.2@tcp", "")
					     PEER("127.0.0.6@tcp", ""), &err), 0);
	assert_string_equal(configured_peers(), "127.0.0.2@tcp ; 127.0.0.6@tcp ; ");
}

/* What cannot be applied is an error, and names the peer. */
static void peer_conflicts_with_a_gateway(void **state)
{
	static const char *route = "route:\n    - net: tcp5\n      gateway: " GATEWAY "\n";
	struct lx_conf_error err;
	char more[400];

	snprintf(more, sizeof(more), "peer:\n%s%s", PEER(GATEWAY, NID("10.0.0.2@tcp6")), route);
	assert_int_equal(apply_peers("peer:\n" PEER(GATEWAY, NID("10.0.0.2@tcp6")), &err), 0);
	assert_int_equal(apply_peers(more, &err), 0);
	assert_int_equal(apply_peers(more, &err), 0);
	/* A gateway keeps its NIDs: routes and discovery define it. */
	snprintf(more, sizeof(more), "peer:\n%s%s", PEER("10.0.0.3@tcp6", NID("10.0.0.2@tcp6")),
		 route);
	assert_int_equal(apply_peers(more, &err), -EEXIST);
	assert_non_null(strstr(err.text, "peer 10.0.0.3@tcp6"));
}

/* NIs of a net share the first one's tunables: those of a second one are no change. */
static void same_again_changes_nothing(void **state)
{
	static const char *text =
		"net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		"          tunables: { credits: 100 }\n"
		"        - nid: 127.0.0.5@tcp\n          tunables: { credits: 200 }\n";
	struct lx_nid source = id("127.0.0.5@tcp").nid;
	struct lx_id to = id("127.0.0.2@tcp");
	struct outcome o = { 0 };
	struct lx_conf_error err;
	struct lx_ni_info *nis;
	struct lx_conf *conf;
	char yaml[1024];
	size_t n;

	snprintf(yaml, sizeof(yaml), "%stunables:\n    tcp: { accept_port: %d, accept: all }\n", text,
		 own_port());
	assert_int_equal(lx_conf_parse(yaml, strlen(yaml), &conf, &err), 0);
	assert_int_equal(lx_node_apply(a, conf, LX_APPLY_DIFF, &err), 0);
	assert_int_equal(lx_ping(a, &to, &source, 60000, on_probe, &o), 0);
	wait_probe(&o);
	assert_int_equal(o.status, 0);
	assert_int_equal(lx_node_apply(a, conf, LX_APPLY_DIFF, &err), 0);
	lx_conf_free(conf);
	assert_int_equal(lx_ni_list(a, &nis, &n), 0);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		if (!lx_nid_eq(&nis[i].nid, &source))
			continue;
		assert_int_equal(nis[i].tun.credits, 100);
		assert_true(nis[i].traffic.sent.get > 0);
	}
	free(nis);
}

static void bad_configurations(void **state)
{
	static const struct {
		const char *yaml;
		int error, line;
	} bad[] = {
		{ "tunables:\n    tcp: { nosuch: 1 }\n", -ENOENT, 2 },
		{ "tunables:\n    lnet: { lnet_retry_count: -5 }\n", -ERANGE, 2 },
		{ "tunables:\n    ib: { x: 1 }\n", -ENOENT, 2 },
		{ "net:\n    - net type: tcp\n      local NI(s):\n        - interfaces:\n"
		  "              0: nosuch0\n", -ENODEV, 4 },
		{ "route:\n    - net: tcp9\n      gateway: 10.0.0.1@tcp8\n", -EHOSTUNREACH, 2 },
		{ "net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		  "peer:\n" PEER("127.0.0.1@tcp", NID("10.0.0.1@tcp")), -EINVAL, 6 },
		{ "net:\n    - net type: tcp\n      local NI(s):\n        - nid: 127.0.0.1@tcp\n"
		  "peer:\n" PEER("10.0.0.1@tcp", NID("127.0.0.1@tcp")), -EINVAL, 6 },
	};

	for (unsigned int i = 0; i < N_OF(bad); i++) {
		struct lx_conf_error err = { 0 };
		struct lx_node *node = NULL;
		int r;

		r = lx_node_new_yaml(bad[i].yaml, strlen(bad[i].yaml), &err, &node);
		print_message("%d:%d: %s\n", err.line, err.column, err.text);
		if (r != -EINVAL)
			assert_int_equal(r, bad[i].error);
		assert_null(node);
		assert_true(err.text[0]);
		assert_in_range(err.line, bad[i].line, bad[i].line + 1);
	}
}

/* ---- tunables of a running node -------------------------------------------------- */

static bool listens(int at)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(at) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	ok = !connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	close(fd);
	return ok;
}

static bool stops_listening(int at)
{
	for (int i = 0; i < 12000 && listens(at); i++)
		usleep(5000);
	return !listens(at);
}

static int write_port(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	return lx_tunable_write(a, "tcp", name, text);
}

static int read_port(const char *module, const struct lx_tunable *t, const char *value, void *arg)
{
	if (!strcmp(module, "tcp") && !strcmp(t->name, "accept_port_bulk"))
		*(int *)arg = atoi(value);
	return 0;
}

static int taken_port(int *ret_fd)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t len = sizeof(sa);

	*ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	assert_int_equal(bind(*ret_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(*ret_fd, 1), 0);
	getsockname(*ret_fd, (struct sockaddr *)&sa, &len);
	return ntohs(sa.sin_port);
}

/* Listening ports follow the tunables, also while NIs are up. */
static void listeners_follow(void **state)
{
	int fd, now = -1, taken = taken_port(&fd);

	assert_true(listens(own_port()));
	assert_int_equal(write_port("accept_port_bulk", own_port() + 20000), 0);
	assert_true(listens(own_port()) && listens(own_port() + 20000));
	/* The reference has them in module lnet. */
	assert_int_equal(lx_tunable_write(a, "lnet", "accept_port_bulk", "0"), 0);
	assert_true(stops_listening(own_port() + 20000));
	assert_int_equal(write_port("accept_port_bulk", own_port() + 20000), 0);
	/* A port that is taken changes nothing. */
	assert_int_equal(write_port("accept_port_bulk", taken), -EADDRINUSE);
	lx_tunable_each(a, read_port, &now);
	assert_int_equal(now, own_port() + 20000);
	assert_true(listens(own_port() + 20000));
	/* 0: follows accept_port. */
	assert_int_equal(write_port("accept_port_bulk", 0), 0);
	assert_true(stops_listening(own_port() + 20000) && listens(own_port()));
	assert_int_equal(write_port("accept_port", own_port() + 20000), 0);
	assert_true(listens(own_port() + 20000) && stops_listening(own_port()));
	assert_int_equal(lx_tunable_write(a, "tcp", "accept", "none"), 0);
	assert_true(stops_listening(own_port() + 20000));
	assert_int_equal(lx_tunable_write(a, "tcp", "accept", "all"), 0);
	assert_true(listens(own_port() + 20000));
	assert_int_equal(write_port("accept_port", own_port()), 0);
	close(fd);
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
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
		T(put_and_get), T(ping_and_discover), T(any_peer_state_may_be_set),
		T(handlers_may_call),
		T(handlers_send_at_once), T(many_threads), T(stop_under_load), T(stop_drains), T(router_stops_and_comes_back),
		T(watched_to_the_end),
		T(state_is_told), T(apply_by_difference), T(peers_by_difference),
		T(discovered_nids_by_difference), T(peer_conflicts_with_a_gateway), T(same_again_changes_nothing),
		T(bad_configurations), T(listeners_follow), T(blocked_handler_is_told),
		T(free_in_handler_is_told), T(stopped_twice_at_once),
	};

	if (argc > 1)
		return free_in_handler();
	/* With ports of our own, if we may. */
	if (!geteuid() && !raw_private_net())
		return 0;
	rnd_init();
	return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
