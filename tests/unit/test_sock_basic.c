/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * socklnd between two nodes: connections come up, messages of all sizes arrive intact, and
 * everything ends when an NI is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lnd/sock/priv.h"
#include "../../lnd/sock/sock.h"
#include "fakecore.h"
#include "rawpeer.h"
#include "testlib.h"

#define PORT 9880

static struct fake_node *a, *b;
static struct lx_id id_a, id_b;

static int setup(void **state)
{
	lx_tunable_defaults(lx_sock_lnd.tunables, &lx_sock_tun);
	lx_sock_tun.accept_port = lx_sock_tun.accept_port_bulk = PORT;
	id_a = fake_id("127.0.0.1@tcp");
	id_b = fake_id("127.0.0.2@tcp");
	a = fake_new("127.0.0.1@tcp", 2, NULL);
	b = fake_new("127.0.0.2@tcp", 2, NULL);
	return 0;
}

static int teardown(void **state)
{
	fake_free(a);
	fake_free(b);
	return 0;
}

static void exchange(struct fake_node *from, struct fake_node *to, const struct lx_id *id,
		     size_t len)
{
	struct fake_msg *msg = fake_put(from, id, len), *got;

	assert_int_equal(fake_wait(msg, NULL), 0);
	got = fake_receive(to, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, 0);
	assert_int_equal(got->len, len);
	assert_true(lx_nid_eq(&got->from, &from->ni.nid));
	assert_true(fake_check(got));
	fake_msg_free(got);
}

static void test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 48, 1023, 4096, 8191, 8192, 65536, 100000, 1 << 20 };

	for (size_t i = 0; i < N_OF(sizes); i++) {
		exchange(a, b, &id_b, sizes[i]);
		exchange(b, a, &id_a, sizes[i]);
	}
	assert_true(fake_wait_conns(a, 3, 20000));
	assert_int_equal(fake_conns(a, "control"), 1);
	assert_int_equal(fake_conns(a, "bulk_in"), 1);
	assert_int_equal(fake_conns(a, "bulk_out"), 1);
	assert_int_equal(fake_conns(b, NULL), 3);
}

static void test_rbuf(void **state)
{
	static const size_t sizes[] = { 0, 100, 4096, 65535, 65536, 300000, 1 << 20 };

	b->use_rbuf = true;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < N_OF(sizes); i++)
			exchange(a, b, &id_b, sizes[i]);
	}
}

/* A failing allocation is not a bug here: the sanitizer must return NULL, as libc does. */
#define SANITIZER_OPTIONS(tool) \
	const char *__##tool##_default_options(void); \
	__attribute__((visibility("default"))) const char *__##tool##_default_options(void) \
	{ \
		return "allocator_may_return_null=1"; \
	}
SANITIZER_OPTIONS(asan)
SANITIZER_OPTIONS(tsan)

static bool out_of_memory(struct fake_node *node)
{
	struct lx_sock_net *net = node->ni.lnd_data;
	struct lx_sock_conn *conn;
	bool found = false;

	lx_env_lock(node->env);
	lx_list_for_each (conn, &net->host->conns, host_link)
		found |= conn->tx_nomem;
	lx_env_unlock(node->env);
	return found;
}

/* A router buffer that never gets memory, its whole payload in the pipe. */
static struct lx_rbuf *piped(size_t len)
{
	uint8_t *bytes = malloc(len);
	struct lx_rbuf *rbuf;

	assert_non_null(bytes);
	fake_fill(bytes, len);
	assert_int_equal(lx_rbuf_new((size_t)1 << 46, 1, &rbuf), 0);
	assert_int_equal(pipe2(rbuf->pipe, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write(rbuf->pipe[1], bytes, len), len);
	rbuf->length = rbuf->piped = len;
	free(bytes);
	return rbuf;
}

/*
 * The socket does not accept a payload from its pipe, and there is no memory to move it to: it
 * stays in the pipe and is sent when the socket accepts it.
 */
static void test_no_memory_for_piped(void **state)
{
	enum { LEN = 50000 };
	struct lx_rbuf *rbuf = piped(LEN);
	int file = memfd_create("no pipe", MFD_CLOEXEC), pipe = rbuf->pipe[0];
	struct fake_msg *msg, *got;

	assert_true(file >= 0);
	exchange(a, b, &id_b, LEN); /* brings the connections up */
	rbuf->pipe[0] = file;
	msg = fake_put_rbuf(a, &id_b, rbuf);
	for (int i = 0; i < 20000 && !out_of_memory(a); i++)
		usleep(1000);
	lx_env_lock(a->env);
	rbuf->pipe[0] = pipe;
	assert_false(msg->done);
	lx_env_unlock(a->env);
	got = fake_receive(b, 20000);
	assert_non_null(got);
	assert_int_equal(got->status, 0);
	assert_int_equal(got->len, LEN);
	assert_true(fake_check(got));
	fake_msg_free(got);
	assert_int_equal(fake_wait(msg, NULL), 0);
	close(file);
}

static void test_get(void **state)
{
	struct fake_msg *msg, *got;

	for (size_t len = 0; len < 300000; len = len * 5 + 3) {
		msg = fake_get(a, &id_b, len);
		assert_int_equal(fake_wait(msg, NULL), 0);
		got = fake_receive(a, 20000);
		assert_non_null(got);
		assert_int_equal(got->hdr.type, LX_MSG_REPLY);
		assert_int_equal(got->len, len);
		assert_true(fake_check(got));
		fake_msg_free(got);
	}
}

/* Many messages at once, of any size, in both directions: all arrive intact. */
static void flood(unsigned int n, size_t max)
{
	struct fake_msg **out = calloc(2 * n, sizeof(*out)), *got;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < n; i++) {
		size_t len = rnd_below(max) >> rnd_below(16);

		bytes += len;
		out[2 * i] = fake_put(a, &id_b, len);
		out[2 * i + 1] = fake_put(b, &id_a, len);
	}
	for (unsigned int i = 0; i < 2 * n; i++)
		assert_int_equal(fake_wait(out[i], NULL), 0);
	assert_true(fake_wait_count(a, &a->n_received, n, 20000));
	assert_true(fake_wait_count(b, &b->n_received, n, 20000));
	for (unsigned int i = 0; i < n; i++) {
		got = fake_receive(a, 0);
		assert_true(fake_check(got));
		fake_msg_free(got);
		got = fake_receive(b, 0);
		assert_true(fake_check(got));
		fake_msg_free(got);
	}
	assert_int_equal(a->bytes_received, bytes);
	assert_int_equal(b->bytes_received, bytes);
	free(out);
}

static void test_flood(void **state)
{
	flood(2000, 1 << 20);
}

static void test_flood_rbuf(void **state)
{
	a->use_rbuf = b->use_rbuf = true;
	flood(500, 1 << 20);
}

/* recv() is called late: nothing is lost, and other connections go on. */
static void test_hold(void **state)
{
	struct fake_msg *msg[20], *got;

	b->hold = true;
	for (size_t i = 0; i < N_OF(msg); i++)
		msg[i] = fake_put(a, &id_b, i * 1000);
	assert_true(fake_wait_count(b, &b->n_parsed, 1, 20000));
	exchange(b, a, &id_a, 5000);
	assert_false(fake_wait_count(b, &b->n_parsed, 4, 20)); /* one per connection */
	for (size_t i = 0; i < N_OF(msg); i++) {
		while (!fake_release(b))
			usleep(1000);
		got = fake_receive(b, 20000);
		assert_non_null(got);
		assert_true(fake_check(got));
		fake_msg_free(got);
	}
	for (size_t i = 0; i < N_OF(msg); i++)
		assert_int_equal(fake_wait(msg[i], NULL), 0);
}

static void test_truncate(void **state)
{
	struct fake_msg *got;

	b->truncate = 1000;
	for (size_t len = 500; len < 1000000; len *= 3) {
		assert_int_equal(fake_wait(fake_put(a, &id_b, len), NULL), 0);
		got = fake_receive(b, 20000);
		assert_non_null(got);
		for (size_t i = 0; i < 500; i++)
			assert_int_equal(got->buf[i], (uint8_t)(i * 31 + (i >> 8) * 7 + 5));
		fake_msg_free(got);
	}
	b->truncate = 0;
	b->discard = true;
	for (size_t len = 500; len < 1000000; len *= 3)
		assert_int_equal(fake_wait(fake_put(a, &id_b, len), NULL), 0);
	assert_true(fake_wait_count(b, &b->n_parsed, 14, 20000));
	b->discard = false;
	exchange(a, b, &id_b, 5000);
}

/* A third node between the two, as a router, with pipes and with memory. */
static void test_forward(void **state)
{
	static const size_t sizes[] = { 0, 10, 4096, 65536, 262144, 1 << 20 };
	struct lx_id via = fake_id("127.0.0.3@tcp"), far = fake_id("127.0.0.9@tcp9");
	struct lx_env *env;
	struct fake_node *in, *out;
	struct fake_msg *msg[60], *got;

	assert_int_equal(lx_env_new(2, NULL, NULL, &env), 0);
	in = fake_new("127.0.0.3@tcp", 0, env);
	out = fake_new("127.0.0.4@tcp", 0, env);
	in->forward_to = out;
	in->forward_id = id_b;
	for (size_t i = 0; i < N_OF(msg); i++)
		msg[i] = fake_put_via(a, &via, &far.nid, sizes[i % N_OF(sizes)]);
	for (size_t i = 0; i < N_OF(msg); i++) {
		got = fake_receive(b, 20000);
		assert_non_null(got);
		assert_int_equal(got->status, 0);
		assert_true(fake_check(got));
		assert_true(lx_nid_eq(&got->from, &out->ni.nid));
		assert_true(lx_nid_eq(&got->hdr.dst_nid, &far.nid));
		fake_msg_free(got);
		assert_int_equal(fake_wait(msg[i], NULL), 0);
	}
	fake_free(in);
	fake_free(out);
	lx_env_free(env);
}

static struct lx_sock_conn *a_conn(void)
{
	struct lx_sock_net *net = a->ni.lnd_data;
	struct lx_sock_peer *peer = lx_list_first(&net->peers, struct lx_sock_peer, link);

	return lx_list_first(&peer->conns, struct lx_sock_conn, link);
}

struct tcp_sum {
	uint64_t sent;
	unsigned int n_bad;
};

static int add_tcp(const struct lx_conn_info *info, void *arg)
{
	struct tcp_sum *sum = arg;

	sum->sent += info->tcp_sent;
	sum->n_bad += info->tcp_sent <= 0 || info->tcp_resent < 0 || info->srtt_us <= 0 ||
		      info->unacked < 0 || info->cwnd <= 0;
	return 0;
}

/* What TCP sent is counted once, also that of connections that are closed. */
static void test_tcp_bytes(void **state)
{
	struct tcp_sum sum = { 0 };

	exchange(a, b, &id_b, 1 << 20);
	assert_true(fake_wait_conns(a, 3, 20000));
	lx_env_lock(a->env);
	a->ni.lnd->conns(&a->ni, NULL, add_tcp, &sum);
	assert_int_equal(sum.n_bad, 0);
	assert_true(sum.sent > 1 << 20);
	a->tcp = (struct lx_tcp_bytes){ 0 };
	a->ni.lnd->count(&a->ni);
	a->ni.lnd->count(&a->ni);
	assert_true(a->tcp.sent >= sum.sent && a->tcp.sent < sum.sent + (1 << 20));
	assert_true(lx_nid_eq(&a->tcp_to, &id_b.nid));
	lx_env_unlock(a->env);

	exchange(a, b, &id_b, 1 << 20);
	lx_env_lock(a->env);
	assert_int_equal(lx_sock_lnd.disconnect(&a->ni, NULL), 3);
	assert_true(a->tcp.sent > sum.sent + (1 << 20));
	assert_true(a->tcp.sent < sum.sent + (2 << 20));
	lx_env_unlock(a->env);
}

static int tcp_option(int option)
{
	socklen_t len = sizeof(int);
	int value = -1;

	lx_env_lock(a->env);
	getsockopt(a_conn()->fd, IPPROTO_TCP, option, &value, &len);
	lx_env_unlock(a->env);
	return value;
}

/* The keepalive settings that follow from this timeout; all probes fit into it. */
static void probes(int timeout, int idle, int every, int count)
{
	lx_env_lock(a->env);
	assert_int_equal(lx_sock_lnd.set_tunable(&a->ni, LX_SOCK_NI_TIMEOUT, timeout), 0);
	lx_env_unlock(a->env);
	assert_int_equal(tcp_option(TCP_KEEPIDLE), idle);
	assert_int_equal(tcp_option(TCP_KEEPINTVL), every);
	assert_int_equal(tcp_option(TCP_KEEPCNT), count);
	assert_true(timeout < 3 || idle + every * count < timeout);
}

/* Both nodes share the tunables, and b's connections may still be coming up. */
static void set_probes(int idle, int count)
{
	lx_env_lock(a->env);
	lx_env_lock(b->env);
	lx_sock_tun.keepalive_idle = idle;
	lx_sock_tun.keepalive_count = count;
	lx_env_unlock(b->env);
	assert_int_equal(lx_sock_lnd.retune(&a->ni), 0);
	lx_env_unlock(a->env);
}

static void test_keepalive(void **state)
{
	exchange(a, b, &id_b, 10);
	assert_true(fake_wait_conns(a, 3, 20000)); /* no attempt left that could time out */
	probes(100, 30, 5, 5);
	probes(50, 24, 5, 5);
	probes(30, 4, 5, 5);
	probes(10, 4, 1, 5);
	probes(7, 1, 1, 5);
	probes(4, 1, 1, 2);
	probes(3, 1, 1, 1);
	probes(1, 1, 1, 1);
	/* Settings changed later apply. */
	set_probes(3, 2);
	probes(50, 3, 5, 2);
	set_probes(3, 0);
	assert_int_equal(tcp_option(TCP_KEEPIDLE), 3); /* not used */
}

static void test_disconnect(void **state)
{
	exchange(a, b, &id_b, 10);
	assert_true(fake_wait_conns(a, 3, 20000));
	lx_env_lock(a->env);
	assert_int_equal(lx_sock_lnd.disconnect(&a->ni, &id_a.nid), 0);
	assert_int_equal(lx_sock_lnd.disconnect(&a->ni, &id_b.nid), 3);
	lx_env_unlock(a->env);
	assert_int_equal(fake_conns(a, NULL), 0);
	assert_true(fake_wait_conns(b, 0, 20000));
	assert_int_equal(a->n_lost + b->n_lost, 0);
	exchange(b, a, &id_a, 100000);
}

static void test_shutdown_busy(void **state)
{
	struct fake_msg *msg[50];
	unsigned int failed = 0;
	int r;

	b->hold = true;
	for (size_t i = 0; i < N_OF(msg); i++)
		msg[i] = fake_put(a, &id_b, 1 << 20);
	assert_true(fake_wait_count(b, &b->n_parsed, 1, 20000));
	fake_shutdown(a);
	for (size_t i = 0; i < N_OF(msg); i++) {
		r = fake_wait(msg[i], NULL);
		assert_true(r == 0 || r == -ESHUTDOWN);
		failed += r != 0;
	}
	assert_true(failed > 0);
	assert_true(fake_wait_conns(b, 0, 20000));
}

static void test_startup_errors(void **state)
{
	struct fake_node *node;
	struct lx_env *env;

	assert_int_equal(lx_env_new(1, NULL, NULL, &env), 0);
	assert_int_equal(fake_try(NULL, "nosuchif0", env, &node), -ENODEV);
	assert_int_equal(fake_try("192.0.2.77@tcp", NULL, env, &node), -EADDRNOTAVAIL);
	/* the port belongs to another node */
	assert_int_equal(fake_try("127.0.0.1@tcp", NULL, env, &node), -EADDRINUSE);
	lx_env_free(env);
}

/* Two nets at one address share the listener; each NI is found by its NID. */
static void test_shared_address(void **state)
{
	struct fake_node *a2 = fake_new("127.0.0.1@tcp2", 0, a->env);
	struct fake_node *b2 = fake_new("127.0.0.2@tcp2", 0, b->env);
	struct lx_id id_b2 = fake_id("127.0.0.2@tcp2");

	exchange(a, b, &id_b, 1000);
	exchange(a2, b2, &id_b2, 1000);
	fake_free(b2);
	exchange(b, a, &id_a, 1000);
	fake_free(a2);
	exchange(a, b, &id_b, 1000);
}

static void test_interface(void **state)
{
	struct fake_node *node;
	struct lx_env *env;

	lx_sock_tun.accept_port = lx_sock_tun.accept_port_bulk = PORT + 1;
	assert_int_equal(lx_env_new(1, NULL, NULL, &env), 0);
	assert_int_equal(fake_try(NULL, "lo", env, &node), 0);
	assert_string_equal(lx_nid_str(&node->ni.nid), "127.0.0.1@tcp");
	assert_int_equal(node->ni.tun.credits, 256);
	assert_int_equal(node->ni.tun.peer_credits, 8);
	assert_int_equal(node->ni.lnd_tun.value[LX_SOCK_NI_CONNS_PER_PEER], 1);
	assert_int_equal(node->ni.lnd_tun.value[LX_SOCK_NI_TIMEOUT], 50);
	fake_free(node);
	assert_int_equal(fake_try("127.0.0.5@tcp", NULL, env, &node), 0);
	assert_string_equal(node->ni.ifname, "lo");
	fake_free(node);
	lx_env_free(env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rbuf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory_for_piped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_get, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood_rbuf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_truncate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forward, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keepalive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tcp_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_disconnect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shutdown_busy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_startup_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared_address, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interface, setup, teardown),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
