/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The base of TCP transports: interfaces, ports, links and router buffers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lnd/sock/sock.h"
#include "../../lnd/sock/tunables.h"
#include "../../user/io/netif.h"
#include "../../user/io/rbuf.h"
#include "fakecore.h"
#include "rawpeer.h"
#include "testlib.h"

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

/* ---- router buffers ------------------------------------------------------- */

static void fill(uint8_t *buf, size_t len, uint8_t seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = i * 13 + (i >> 9) + seed;
}

static void to_memory(struct lx_rbuf *rbuf, const uint8_t *from, size_t len)
{
	void *mem;

	if (!len)
		return;
	assert_int_equal(lx_rbuf_reserve(rbuf, &mem), 0);
	memcpy((char *)mem + rbuf->length, from + rbuf->length, len);
	rbuf->length += len;
}

/* @in_mem bytes are received to memory, then @in_pipe through the pipe, then the rest. */
static void receive(struct lx_rbuf *rbuf, const uint8_t *from, size_t in_mem, size_t in_pipe,
		    size_t rest)
{
	size_t done = 0;
	int fd;

	to_memory(rbuf, from, in_mem);
	fd = lx_rbuf_pipe(rbuf);
	assert_true(fd >= 0);
	rbuf->pipe_at = in_mem;
	while (done < in_pipe) {
		ssize_t n = write(fd, from + in_mem + done, in_pipe - done);

		assert_true(n > 0);
		done += n;
		rbuf->length += n;
		rbuf->piped += n;
	}
	to_memory(rbuf, from, rest);
}

static void test_rbuf(void **state)
{
	static const size_t mixes[][3] = {
		{ 0, 0, 0 },	      { 100, 0, 0 },	   { 0, 100, 0 },     { 5000, 200000, 0 },
		{ 0, 1 << 20, 0 },    { 1 << 20, 0, 0 },   { 1, 1000000, 7 }, { 500, 1000, 50000 },
		{ 0, 4096, 1000000 },
	};
	size_t size = 1 << 20;
	uint8_t *from = malloc(size);
	struct lx_rbuf *rbuf;
	void *mem;

	assert_non_null(from);
	assert_int_equal(lx_rbuf_new(size, 1, &rbuf), 0);
	assert_null(rbuf->mem);
	assert_int_equal(rbuf->pipe[0], -1);
	for (size_t i = 0; i < 3 * N_OF(mixes); i++) {
		const size_t *mix = mixes[i % N_OF(mixes)];

		fill(from, size, i);
		receive(rbuf, from, mix[0], mix[1], mix[2]);
		if (i % 3 < 2) {
			assert_int_equal(lx_rbuf_memory(rbuf, &mem), 0);
			assert_memory_equal(mem, from, mix[0] + mix[1] + mix[2]);
			assert_int_equal(rbuf->piped, 0);
		}
		assert_int_equal(rbuf->length, mix[0] + mix[1] + mix[2]);
		lx_rbuf_reset(rbuf); /* sometimes with data left in the pipe */
		assert_int_equal(rbuf->length, 0);
	}
	lx_rbuf_free(rbuf);
	lx_rbuf_free(NULL);
	free(from);
}

static unsigned int n_cut;

static void count_cut(struct lx_tie *tie)
{
	n_cut++;
}

/* Buffers created together share memory, and the ties to it. */
static void test_rbuf_slab(void **state)
{
	struct lx_tie tie = { .cut = count_cut };
	struct lx_rbuf *rbuf[3];
	const struct iovec *stretch;
	void *mem[3];

	n_cut = 0;
	assert_int_equal(lx_rbuf_new(10000, 3, rbuf), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(lx_rbuf_reserve(rbuf[i], &mem[i]), 0);
		memset(mem[i], i, 10000);
	}
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(((char *)mem[i])[0], i);
		assert_int_equal(((char *)mem[i])[9999], i);
		assert_ptr_equal(lx_rbuf_region(rbuf[i]), lx_rbuf_region(rbuf[0]));
		stretch = lx_region_find(lx_rbuf_region(rbuf[i]), mem[i], 10000);
		assert_non_null(stretch);
		assert_int_equal(stretch->iov_len, 30000);
	}
	assert_null(lx_region_find(lx_rbuf_region(rbuf[0]), mem[2], 10001));
	lx_region_tie(lx_rbuf_region(rbuf[0]), &tie);
	lx_rbuf_free(rbuf[1]);
	lx_rbuf_free(rbuf[0]);
	assert_int_equal(n_cut, 0);
	lx_rbuf_free(rbuf[2]);
	assert_int_equal(n_cut, 1);
}

enum { RACERS = 4 };

struct racer {
	struct lx_rbuf *rbuf;
	pthread_barrier_t *start;
	void *mem;
	int result;
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	pthread_barrier_wait(racer->start);
	racer->result = lx_rbuf_memory(racer->rbuf, &racer->mem);
	if (!racer->result)
		memset(racer->mem, racer->rbuf->size % 251, racer->rbuf->size);
	return NULL;
}

/* Buffers of one slab, used by different threads: still one allocation. */
static void test_rbuf_threads(void **state)
{
	enum { ROUNDS = 100, SIZE = 5000 };
	struct racer racer[RACERS];
	struct lx_rbuf *rbuf[RACERS];
	pthread_t thread[RACERS];
	pthread_barrier_t start;

	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(lx_rbuf_new(SIZE, RACERS, rbuf), 0);
		pthread_barrier_init(&start, NULL, RACERS);
		for (int i = 0; i < RACERS; i++) {
			racer[i] = (struct racer){ .rbuf = rbuf[i], .start = &start };
			assert_int_equal(pthread_create(&thread[i], NULL, race, &racer[i]), 0);
		}
		for (int i = 0; i < RACERS; i++)
			pthread_join(thread[i], NULL);
		pthread_barrier_destroy(&start);
		for (int i = 0; i < RACERS; i++) {
			assert_int_equal(racer[i].result, 0);
			assert_ptr_equal(racer[i].mem, (char *)racer[0].mem + i * SIZE);
		}
		for (int i = 0; i < RACERS; i++)
			lx_rbuf_free(rbuf[i]);
	}
}

/* The pipe claims bytes that are not there: an error, not a hang. */
static void test_rbuf_short(void **state)
{
	struct lx_rbuf *rbuf;
	void *mem;

	assert_int_equal(lx_rbuf_new(1000, 1, &rbuf), 0);
	assert_true(lx_rbuf_pipe(rbuf) >= 0);
	rbuf->length = rbuf->piped = 10;
	assert_int_equal(lx_rbuf_memory(rbuf, &mem), -EIO);
	lx_rbuf_free(rbuf);
}

/* ---- addresses and interfaces ------------------------------------------------ */

static void test_addr(void **state)
{
	uint8_t v4[4] = { 10, 1, 2, 3 }, v6[16] = { 0xfd, 0x77, [15] = 9 };
	union lx_addr a, b;

	lx_addr_init(&a, v4, 4, 988);
	assert_string_equal(lx_addr_str(&a), "10.1.2.3:988");
	b = a;
	lx_addr_set_port(&b, 1023);
	assert_true(lx_addr_same_host(&a, &b));
	assert_int_equal(lx_addr_port(&b), 1023);
	lx_addr_init(&b, v6, 16, 65535);
	assert_string_equal(lx_addr_str(&b), "[fd77::9]:65535");
	assert_false(lx_addr_same_host(&a, &b));
}

static void addr_of(const char *nid, union lx_addr *ret_addr)
{
	struct lx_nid parsed;

	assert_int_equal(lx_nid_parse(nid, &parsed), 0);
	lx_addr_of_nid(ret_addr, &parsed, 988);
}

static void test_addr_bits(void **state)
{
	static const struct {
		const char *a, *b;
		unsigned int bits;
		bool shares;
	} pairs[] = {
		{ "10.1.2.3@tcp", "10.1.2.2@tcp", 31, true },
		{ "10.1.2.3@tcp", "10.1.2.2@tcp", 32, false },
		{ "10.1.2.3@tcp", "138.1.2.3@tcp", 0, true },
		{ "10.1.2.3@tcp", "138.1.2.3@tcp", 1, false },
		{ "10.1.2.3@tcp", "fd77::9@tcp", 0, false },
		{ "fd77::9@tcp", "fd77::8@tcp", 127, true },
		{ "fd77::9@tcp", "fd77::8@tcp", 128, false },
	};
	uint8_t mapped[16];
	union lx_addr a, b;
	char text[46];

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		addr_of(pairs[i].a, &a);
		addr_of(pairs[i].b, &b);
		assert_int_equal(lx_addr_shares(&a, &b, pairs[i].bits), pairs[i].shares);
		lx_addr_map(&a, mapped);
		lx_addr_unmap(&b, mapped, 988);
		assert_string_equal(lx_addr_str(&b), lx_addr_str(&a));
	}
	assert_string_equal(lx_addr_host(&a, text, sizeof(text)), "fd77::9");
	assert_false(lx_addr_is_link_local(&a));
	addr_of("fe80::1@tcp", &a);
	assert_true(lx_addr_is_link_local(&a));
	a.sa.sa_family = 0;
	assert_string_equal(lx_addr_str(&a), "?");
}

static void test_netif(void **state)
{
	uint8_t v4[4] = { 10, 9, 8, 7 }, other[4] = { 10, 9, 8, 8 };
	struct lx_netif netif;
	char name[IFNAMSIZ];
	union lx_addr addr;

	run("ip link add lxt0 type veth peer name lxt1 && ip link set lxt1 up");
	assert_int_equal(lx_netif_by_name("nosuch", &netif), -ENODEV);
	assert_int_equal(lx_netif_by_name("lxt0", &netif), -EADDRNOTAVAIL);
	run("ip -6 addr add fd88::7/64 dev lxt0 nodad && ip link set lxt0 up");
	assert_int_equal(lx_netif_by_name("lxt0", &netif), 0);
	assert_string_equal(lx_addr_str(&netif.addr), "[fd88::7]:0");
	run("ip addr add 10.9.8.7/24 dev lxt0 && ip addr add 10.9.9.7/24 dev lxt0 label lxt0:1");
	assert_int_equal(lx_netif_by_name("lxt0", &netif), 0);
	assert_string_equal(lx_addr_str(&netif.addr), "10.9.8.7:0");
	assert_true(netif.up && netif.offload && !netif.loopback);
	assert_int_equal(netif.speed_mbps, 10000);
	assert_int_equal(netif.index, if_nametoindex("lxt0"));
	assert_int_equal(lx_netif_name(netif.index, name), 0);
	assert_string_equal(name, "lxt0");
	assert_int_equal(lx_netif_by_name("lxt0:1", &netif), 0);
	assert_string_equal(lx_addr_str(&netif.addr), "10.9.9.7:0");
	lx_addr_init(&addr, v4, 4, 5);
	assert_int_equal(lx_netif_by_addr(&addr, "", &netif), 0);
	assert_string_equal(netif.name, "lxt0");
	assert_int_equal(lx_netif_by_addr(&addr, "lo", &netif), -EADDRNOTAVAIL);
	lx_addr_init(&addr, other, 4, 5);
	assert_int_equal(lx_netif_by_addr(&addr, "", &netif), -EADDRNOTAVAIL);
	run("ip link del lxt0");
}

static void first_is(const char *want)
{
	struct lx_netif by_name, first;

	assert_int_equal(lx_netif_by_name("lxt0", &by_name), 0);
	assert_int_equal(lx_netif_first(AF_INET6, "lxt0", &first), 0);
	assert_string_equal(lx_addr_str(&by_name.addr), want);
	assert_string_equal(lx_addr_str(&first.addr), want);
}

/* How many of its addresses may be rails. */
static unsigned int lasting(void)
{
	struct lx_netif *list;
	unsigned int found = 0;
	size_t n;

	assert_int_equal(lx_netif_addrs(&list, &n), 0);
	for (size_t i = 0; i < n; i++)
		found += !strcmp(list[i].name, "lxt0") && !list[i].fleeting &&
			 !lx_addr_is_link_local(&list[i].addr);
	free(list);
	return found;
}

/* A node is known by its address: not by one that is temporary, or about to go. */
static void test_netif_ipv6_choice(void **state)
{
	struct lx_netif netif;

	run("ip link add lxt0 type veth peer name lxt1 && ip link set lxt1 up && ip link set lxt0 up");
	run("sysctl -qw net.ipv6.conf.lxt0.use_tempaddr=2 net.ipv6.conf.lxt0.accept_dad=0");
	/* The kernel makes a temporary address beside this one. */
	run("ip -6 addr add fd88::7/64 dev lxt0 nodad mngtmpaddr");
	run("for i in $(seq 500); do ip -6 addr show dev lxt0 temporary | grep -q inet6 && break; "
	    "sleep 0.02; done; ip -6 addr show dev lxt0 temporary | grep -q inet6");
	first_is("[fd88::7]:0");
	assert_int_equal(lasting(), 1);
	/* Deprecated: the newer one, if there is one, else that. */
	run("ip -6 addr change fd88::7/64 dev lxt0 preferred_lft 0 valid_lft 1000");
	first_is("[fd88::7]:0");
	assert_int_equal(lasting(), 0);
	run("ip -6 addr add fd88::8/64 dev lxt0 nodad");
	first_is("[fd88::8]:0");
	/* Still being checked for duplicates: its peer answers nothing. */
	run("sysctl -qw net.ipv6.conf.lxt0.accept_dad=1 net.ipv6.conf.lxt0.dad_transmits=100");
	run("ip -6 addr del fd88::8/64 dev lxt0 && ip -6 addr add fd88::9/64 dev lxt0");
	run("ip -6 addr show dev lxt0 tentative | grep -q fd88::9");
	first_is("[fd88::7]:0");
	run("ip -6 addr del fd88::7/64 dev lxt0"); /* with its temporary one */
	first_is("[fd88::9]:0"); /* soon */
	run("ip -6 addr flush dev lxt0 scope global");
	assert_int_equal(lx_netif_first(AF_INET6, "lxt0", &netif), -EADDRNOTAVAIL);
	run("ip link del lxt0");
}

static void test_netif_links(void **state)
{
	struct lx_netif_link *links;
	unsigned int index;
	char name[IFNAMSIZ];
	bool found = false;
	size_t n;

	run("ip link add lxt0 type veth peer name lxt1"); /* no address, down */
	index = if_nametoindex("lxt0");
	assert_int_equal(lx_netif_index("lxt0"), index);
	assert_int_equal(lx_netif_links(&links, &n), 0);
	for (size_t i = 0; i < n; i++)
		found |= links[i].index == index && !strcmp(links[i].name, "lxt0");
	assert_true(found);
	free(links);
	run("ip link del lxt0");
	assert_int_equal(lx_netif_index("lxt0"), 0);
	assert_int_equal(lx_netif_name(index, name), -ENODEV);
}

static void expect_feature(uint32_t command, bool on)
{
	struct ethtool_value value = { .cmd = command };
	struct ifreq ifr = { .ifr_name = "lxt0", .ifr_data = (void *)&value };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_int_equal(ioctl(fd, SIOCETHTOOL, &ifr), 0);
	assert_int_equal(value.data, on);
	close(fd);
}

static void test_netif_features(void **state)
{
	run("ip link add lxt0 type veth peer name lxt1");
	for (int on = 0; on <= 1; on++) {
		assert_int_equal(lx_netif_set_tso("lxt0", on), 0);
		expect_feature(ETHTOOL_GTSO, on);
		assert_int_equal(lx_netif_set_gro("lxt0", !on), 0);
		expect_feature(ETHTOOL_GGRO, !on);
	}
	run("ip link del lxt0");
	assert_int_equal(lx_netif_set_tso("lxt0", true), -ENODEV);
}

/* ---- ports -------------------------------------------------------------------- */

static void test_dial(void **state)
{
	uint8_t from[4] = { 127, 0, 0, 2 }, to[4] = { 127, 0, 0, 3 };
	union lx_addr local, remote, seen;
	struct lx_netif_dial dial = { &local, &remote, 1023, 1020, NULL, NULL };
	socklen_t len = sizeof(seen);
	int listener, fd[4], status;
	bool privileged;
	pid_t pid;

	lx_addr_init(&local, from, 4, 0);
	lx_addr_init(&remote, to, 4, 4000);
	listener = lx_netif_listen(&remote, 10);
	assert_true(listener >= 0);
	assert_int_equal(lx_netif_listen(&remote, 10), -EADDRINUSE);
	for (int i = 0; i < 4; i++) {
		fd[i] = lx_netif_dial(&dial, &privileged);
		assert_true(fd[i] >= 0 && privileged);
		assert_int_equal(getsockname(fd[i], &seen.sa, &len), 0);
		assert_int_equal(lx_addr_port(&seen), 1023 - i);
	}
	assert_int_equal(lx_netif_dial(&dial, &privileged), -EADDRINUSE);
	pid = fork();
	if (!pid) { /* unprivileged: any port */
		if (setuid(65534))
			_exit(2);
		fd[0] = lx_netif_dial(&dial, &privileged);
		_exit(fd[0] >= 0 && !privileged ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	close(listener);
}

/* ---- links ---------------------------------------------------------------------- */

static void expect_link(struct fake_node *node, unsigned int n, bool up)
{
	assert_true(fake_wait_count(node, &node->n_link, n, 20000));
	lx_env_lock(node->env);
	assert_int_equal(node->n_link, n);
	assert_int_equal(node->link_up, up);
	lx_env_unlock(node->env);
}

static void test_link(void **state)
{
	struct fake_node *node;
	struct lx_env *env;

	run("ip link add lxt0 type veth peer name lxt1 && ip addr add 10.9.8.7/24 dev lxt0 && "
	    "ip link set lxt0 up && ip link set lxt1 up && "
	    "for i in $(seq 200); do ip link show lxt0 | grep -q 'state UP' && exit 0; sleep 0.1; done; "
	    "exit 1");
	assert_int_equal(lx_env_new(1, NULL, NULL, &env), 0);
	assert_int_equal(fake_try(NULL, "lxt0", env, &node), 0);
	assert_int_equal(node->ni.lnd_tun.value[LX_SOCK_NI_CONNS_PER_PEER], 2); /* 10 Gb/s */
	usleep(20000);
	expect_link(node, 0, false);
	run("ip link set lxt1 down");
	expect_link(node, 1, false);
	run("ip link set lxt1 up");
	expect_link(node, 2, true);
	run("ip addr del 10.9.8.7/24 dev lxt0");
	expect_link(node, 3, false);
	run("ip addr add 10.9.8.7/24 dev lxt0");
	expect_link(node, 4, true);
	run("ip link add lxt2 type veth peer name lxt3 && ip link set lxt2 up && ip link del lxt2");
	run("ip link del lxt0");
	expect_link(node, 5, false);
	fake_free(node);
	lx_env_free(env);
}

/* A node that exists for a moment only. */
static void test_short_life(void **state)
{
	struct fake_node *node;
	struct lx_env *env;

	for (int i = 0; i < 50; i++) {
		assert_int_equal(lx_env_new(1 + i % 3, NULL, NULL, &env), 0);
		assert_int_equal(fake_try("127.0.0.1@tcp", NULL, env, &node), 0);
		if (i % 2)
			usleep(i * 100);
		fake_free(node);
		lx_env_free(env);
	}
}

/* ---- waiting ---------------------------------------------------------------- */

struct waker {
	struct lx_work work;
	struct lx_env *env;
	bool woken;
};

static void wake(struct lx_work *work)
{
	struct waker *waker = lx_container_of(work, struct waker, work);

	waker->woken = true;
	lx_env_wake(waker->env);
}

/* A deadline is in lx_env_now() time, and ends a wait that nobody wakes. */
static void test_wait_until(void **state)
{
	struct waker waker = { 0 };
	uint64_t from;

	assert_int_equal(lx_env_new(1, NULL, NULL, &waker.env), 0);
	lx_work_init(&waker.work, wake);
	lx_env_lock(waker.env);
	from = lx_env_now(waker.env);
	while (!lx_env_wait_until(waker.env, from + 20000000))
		;
	assert_true(lx_env_now(waker.env) >= from + 20000000);
	assert_int_equal(lx_env_wait_until(waker.env, from), -ETIMEDOUT);
	lx_loop_post(lx_env_loop(waker.env, 0), &waker.work);
	while (!waker.woken)
		assert_int_equal(lx_env_wait_until(waker.env, from + 60000000000), 0);
	lx_env_unlock(waker.env);
	lx_env_free(waker.env);
}

static int setup(void **state)
{
	lx_tunable_defaults(lx_sock_lnd.tunables, &lx_sock_tun);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rbuf),
		cmocka_unit_test(test_rbuf_short),
		cmocka_unit_test(test_rbuf_slab),
		cmocka_unit_test(test_rbuf_threads),
		cmocka_unit_test(test_addr),
		cmocka_unit_test(test_addr_bits),
		cmocka_unit_test(test_netif),
		cmocka_unit_test(test_netif_ipv6_choice),
		cmocka_unit_test(test_netif_links),
		cmocka_unit_test(test_netif_features),
		cmocka_unit_test(test_dial),
		cmocka_unit_test_setup(test_link, setup),
		cmocka_unit_test_setup(test_short_life, setup),
		cmocka_unit_test(test_wait_until),
	};

	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
