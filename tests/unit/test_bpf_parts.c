/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clones of a packet leave before the program that made them returns, each as the part of the packet
 * that it is for: in order, and not behind packets that came in later. With real interfaces: a pair
 * that the clones leave through, and one towards the next hop. Skipped if BPF is not permitted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testlib.h"

#include "bpfworld.h"

#include "../../user/bpf/hook.h"
#include "../../user/bpf/poke.h"

static int at_next_hop = -1; /* receives what is sent to it */
static struct lx_hook hook = {
	.kind = LX_BPF_HOOK_EGRESS, .ifname = "seg0", .program = "lnetx_part", .fd = -1
};

static int open_all(void **state)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };

	if (kernel_open(state) || !bpf)
		return 0;
	assert_int_equal(system("ip link add seg0 type veth peer name seg1 && "
				"ip link add out0 type veth peer name in0 && "
				"for i in seg0 seg1 out0 in0; do ip link set $i up || exit; done && "
				"ip addr add 10.2.0.1/24 dev out0 && "
				"ip addr add fd02::1/64 dev out0 nodad && "
				"ip neigh add 10.2.0.2 lladdr 02:00:00:00:00:02 dev out0 && "
				"ip neigh add fd02::2 lladdr 02:00:00:00:00:02 dev out0"),
			 0);
	hook.ifindex = if_nametoindex("seg0");
	assert_int_equal(lx_hook_attach(&hook, bpf_program__fd(bpf->progs.lnetx_part), ""), 0);
	at_next_hop = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, htons(ETH_P_ALL));
	assert_true(at_next_hop >= 0);
	addr.sll_ifindex = (int)if_nametoindex("in0");
	assert_int_equal(bind(at_next_hop, (void *)&addr, sizeof(addr)), 0);
	return 0;
}

static int close_all(void **state)
{
	if (at_next_hop >= 0)
		close(at_next_hop);
	if (hook.fd >= 0)
		lx_hook_detach(&hook);
	return kernel_close(state);
}

/* The next frame of a connection, which is there already; false: none. */
static bool leaves_in(int ms, const struct lx_flow_key *key, struct seg *ret)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 2 };
	struct pollfd in = { .fd = at_next_hop, .events = POLLIN };
	struct frame f;
	ssize_t n;

	do {
		assert_true(poll(&in, 1, ms) >= 0);
		memset(&f, 0, sizeof(f));
		n = recv(at_next_hop, f.bytes, sizeof(f.bytes), 0);
		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			return false;
		}
	} while (memcmp(f.bytes, mac, sizeof(mac))); /* the kernel's own multicasts */
	f.len = n;
	segment_read(&f, v6, key, true, ret);
	assert_true(ret->csum_ok);
	return true;
}

/* On a busy machine, a thread of the kernel delivers it. */
static bool leaves_for(const struct lx_flow_key *key, struct seg *ret)
{
	return leaves_in(5000, key, ret);
}

static bool leaves(struct seg *ret)
{
	return leaves_for(&lane->key, ret);
}

static bool nothing_leaves(void)
{
	struct seg out;

	return !leaves_in(0, &lane->key, &out);
}

static void here(void)
{
	settings->part_ifindex = if_nametoindex("seg0");
	lane->ifindex = if_nametoindex("out0");
	while (!nothing_leaves())
		;
}

/* For the next hop, for us, for the next hop, and a part of a header, which is kept. */
static void parts(void)
{
	uint8_t bytes[1448];
	uint32_t a = message(bytes, false, 0, 101), b = a + message(bytes + a, true, 0, 50), c, d;
	struct seg in, out;

	here();
	c = b + message(bytes + b, false, 0, 77);
	d = c + message(bytes + c, false, 0, 200);
	in = data_at(0, bytes, c + 41);
	assert_int_equal(run(&in, &s->key, false, &out), GO_ON);
	assert_memory_equal(out.data, bytes + a, b - a);
	assert_true(leaves(&out));
	is_on_lane(&out, 0);
	assert_int_equal(out.len, a);
	assert_memory_equal(out.data, bytes, a);
	assert_true(leaves(&out));
	is_on_lane(&out, a);
	assert_int_equal(out.len, c - b);
	assert_memory_equal(out.data, bytes + b, c - b);
	assert_true(nothing_leaves());
	/* Kept bytes leave in front of those that complete them. */
	in = data_at(c + 41, bytes + c + 41, d - c - 41);
	assert_int_equal(run(&in, &lane->key, true, &out), REDIRECT);
	is_on_lane(&out, a + c - b + 41);
	assert_true(leaves(&out));
	is_on_lane(&out, a + c - b);
	assert_int_equal(out.len, 41);
	assert_memory_equal(out.data, bytes + c, 41);
	assert_true(nothing_leaves());
}

static void test_parts(void **state)
{
	both(parts);
}

/* A clone of a connection that is no stream any more, or never was. */
static void unknown(void)
{
	uint8_t bytes[1448];
	uint32_t n = message(bytes, false, 0, 101);
	struct seg in, out;

	here();
	in = data_at(0, bytes, n);
	in.mark = LX_MARK | LX_MARK_FRAGMENT;
	s->state = LX_STREAM_FREE;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	flow_set(&s->key, LX_FLOW_SHIFT, 7);
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	in.key.remote_port = 1;
	assert_int_equal(run(&in, &lane->key, true, &out), DROP);
	assert_true(nothing_leaves());
}

static void test_unknown(void **state)
{
	both(unknown);
}

/* ---- pokes ------------------------------------------------------------------------------- */

/* The only route is in a table for packets from the connection's address. */
static void poked(void)
{
	int fd = bpf_program__fd(bpf->progs.lnetx_takeover);
	struct seg out;

	here();
	assert_int_equal(system(v6 ? "ip -6 rule add from fd02::1 lookup 100 && "
				     "ip -6 route add fd02::/64 dev out0 table 100 && "
				     "ip -6 route del fd02::/64 dev out0 && "
				     "ip addr add fd01::1/64 dev out0 nodad && "
				     "ip neigh add fd01::2 lladdr 02:00:00:00:00:02 dev out0"
				   : "ip rule add from 10.2.0.1 lookup 100 && "
				     "ip route add 10.2.0.0/24 dev out0 table 100 && "
				     "ip route del 10.2.0.0/24 dev out0 && "
				     "ip addr add 10.1.0.1/24 dev out0 && "
				     "ip neigh add 10.1.0.2 lladdr 02:00:00:00:00:02 dev out0"),
			 0);
	lx_poke(fd, LX_MARK_FIN, lane->family, &lane->key);
	assert_true(nothing_leaves()); /* it has not ended */
	lane->state = LX_LANE_STORED;
	lx_poke(fd, LX_MARK_FIN, lane->family, &lane->key);
	assert_true(leaves(&out));
	assert_int_equal(out.flags, ACK | FIN);
	assert_int_equal(out.len, 0);
	lx_poke(fd, LX_MARK_TELL, s->family, &s->key); /* nothing new */
	assert_true(nothing_leaves());
	s->force = 1;
	s->ifindex = lane->ifindex;
	lx_poke(fd, LX_MARK_TELL, s->family, &s->key);
	assert_true(leaves_for(&s->key, &out));
	assert_int_equal(out.flags, ACK);
	assert_int_equal(out.len, 0);
}

static void test_poked(void **state)
{
	both(poked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_poked),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: parts of packets", tests, open_all, close_all);
}
