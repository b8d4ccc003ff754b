/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pins that a daemon leaves, and their use by the next one. "Daemons" are child
 * processes that exit abruptly; skipped if BPF is not permitted.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testlib.h"

#include "../../user/base/prefix.h"
#include "../../user/bpf/bpf.h"
#include "../../user/bpf/guard.h"
#include "../../user/bpf/pin.h"
#include "../../user/bpf/resegment.h"

static char instance[40];
static char dir[LX_BPF_PATH]; /* of the guard's pins */
static bool possible;

struct daemon {
	struct lx_bpf *bpf;
	struct lx_guard *guard;
};

static void begin(struct daemon *d, bool enabled)
{
	assert_int_equal(lx_bpf_new(instance, enabled, &d->bpf), 0);
	assert_int_equal(lx_guard_new(d->bpf, &d->guard), 0);
}

static void end(struct daemon *d)
{
	lx_guard_free(d->guard);
	lx_bpf_free(d->bpf);
}

static void ban(struct daemon *d, const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	assert_int_equal(lx_guard_ban(d->guard, &nid), 0);
}

static size_t n_bans(struct daemon *d)
{
	struct lx_guard_ban_info *list;
	size_t n;

	assert_int_equal(lx_guard_bans(d->guard, &list, &n), 0);
	free(list);
	return n;
}

/* Runs @fn in a process that then exits abruptly, like a crash. */
static void crash(void (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void leave_rules(void)
{
	struct lx_guard_prefix prefix;
	struct daemon d;

	begin(&d, true);
	ban(&d, "10.1.0.2@tcp");
	ban(&d, "10.1.0.3@tcp");
	assert_int_equal(lx_prefix_parse("10.2.0.0/16", prefix.addr, &prefix.bits), 0);
	assert_int_equal(lx_guard_prefix_set(d.guard, &prefix, LX_GUARD_DENY), 0);
	assert_int_equal(lx_guard_rate(d.guard, 7, 70), 0);
	assert_int_equal(lx_guard_mode(d.guard, LX_GUARD_TC), 0);
}

static bool has_pins(void)
{
	return !access(dir, F_OK);
}

static void forget(void)
{
	lx_pin_forget(instance, NULL, NULL);
	assert_false(has_pins());
}

#define NEEDS_BPF()                                                                                \
	do {                                                                                       \
		if (!possible)                                                                     \
			skip();                                                                    \
	} while (0)

static void test_crash(void **state)
{
	struct lx_guard_prefix_info *list;
	struct lx_guard_info info;
	struct daemon d;
	size_t n;

	NEEDS_BPF();
	crash(leave_rules);
	assert_true(has_pins());
	begin(&d, true);
	assert_int_equal(n_bans(&d), 2);
	assert_int_equal(lx_guard_info(d.guard, &info), 0);
	assert_int_equal(info.rate, 7);
	assert_int_equal(info.burst, 70);
	assert_int_equal(info.mode, LX_GUARD_TC);
	assert_int_equal(lx_guard_prefixes(d.guard, &list, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].prefix, "10.2.0.0/16");
	free(list);
	end(&d);
	/* After a clean exit the rules are also there for the next daemon. */
	begin(&d, true);
	assert_int_equal(n_bans(&d), 2);
	end(&d);
	forget();
}

static void test_nothing_left(void **state)
{
	struct daemon d;

	NEEDS_BPF();
	begin(&d, true);
	assert_true(has_pins());
	end(&d);
	assert_false(has_pins());
	begin(&d, true);
	ban(&d, "10.1.0.2@tcp");
	end(&d);
	assert_true(has_pins());
	begin(&d, false); /* --no-bpf */
	assert_false(has_pins());
	end(&d);
	assert_false(has_pins());
}

/* Pins of another version are removed without being read. */
static void change_version(void)
{
	struct lx_abi abi;
	uint32_t zero = 0;
	char path[LX_BPF_PATH];
	int fd;

	leave_rules();
	assert_int_equal(lx_pin_path(dir, "abi", path), 0);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, &abi), 0);
	assert_int_equal(abi.magic, LX_GUARD_MAGIC);
	assert_int_equal(abi.pid, getpid());
	abi.version++;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &abi, BPF_ANY), 0);
}

static void test_other_version(void **state)
{
	struct daemon d;

	NEEDS_BPF();
	crash(change_version);
	begin(&d, true);
	assert_int_equal(n_bans(&d), 0);
	end(&d);
	assert_false(has_pins());
}

/* A map with another layout: none of it is used. */
static void change_shape(void)
{
	char path[LX_BPF_PATH];
	int fd;

	leave_rules();
	assert_int_equal(lx_pin_path(dir, "bans", path), 0);
	assert_int_equal(unlink(path), 0);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bans", 4, 8, 1, NULL);
	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
}

static void test_other_shape(void **state)
{
	struct lx_guard_info info;
	struct daemon d;

	NEEDS_BPF();
	crash(change_shape);
	begin(&d, true);
	assert_int_equal(lx_guard_info(d.guard, &info), 0);
	assert_true(info.loaded);
	assert_int_equal(n_bans(&d), 0);
	end(&d);
	assert_false(has_pins());
}

static void leave_from_elsewhere(void)
{
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	leave_rules();
}

/* Names come from inode numbers, which get reused. */
static void test_other_namespace(void **state)
{
	struct daemon d;

	NEEDS_BPF();
	crash(leave_from_elsewhere);
	assert_true(has_pins());
	begin(&d, true);
	assert_int_equal(n_bans(&d), 0);
	end(&d);
	assert_false(has_pins());
}

static unsigned int n_hooks(struct daemon *d)
{
	static struct lx_bpf_info info;

	lx_bpf_info(d->bpf, &info);
	return info.n_hooks;
}

/* An attachment survives its daemon. The next one adopts it, or removes it. */
static void second_daemon(void)
{
	struct lx_guard_ni ni = { .ifname = "lxpin0", .port = 988, .port_bulk = 988 };
	struct daemon d;

	begin(&d, true);
	assert_int_equal(n_hooks(&d), 1); /* adopted */
	lx_guard_place(d.guard, &ni, 1, true);
	assert_int_equal(n_hooks(&d), 1); /* and kept */
	lx_guard_place(d.guard, NULL, 0, true);
	assert_int_equal(n_hooks(&d), 0);
	lx_guard_place(d.guard, &ni, 1, true);
	assert_int_equal(n_hooks(&d), 1);
}

static void third_daemon(void)
{
	struct lx_guard_ni ni = { .ifname = "lxpin1", .port = 988, .port_bulk = 988 };
	struct daemon d;

	begin(&d, true);
	lx_guard_place(d.guard, &ni, 1, true); /* elsewhere: detached from the old place */
	assert_int_equal(n_hooks(&d), 1);
	end(&d);
}

static void three_daemons(void)
{
	struct lx_guard_ni ni = { .ifname = "lxpin0", .port = 988, .port_bulk = 988 };
	struct daemon d;

	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(system("ip link add lxpin0 type veth peer name lxpin1"), 0);
	begin(&d, true);
	ban(&d, "10.1.0.2@tcp");
	lx_guard_place(d.guard, &ni, 1, true);
	assert_int_equal(n_hooks(&d), 1);
	crash(second_daemon);
	crash(third_daemon);
}

static void test_attached(void **state)
{
	NEEDS_BPF();
	crash(three_daemons);
	forget();
}

static void test_place_of_pins(void **state)
{
	char path[LX_BPF_PATH], longer[300];

	assert_int_equal(lx_pin_path("/a/b.c", "eth0.100", path), 0);
	assert_string_equal(path, "/a/b.c/eth0%100");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(lx_pin_path("/a", longer, path), -ENAMETOOLONG);
}

/* ---- the pair of interfaces -------------------------------------------------------- */

static void alias_of(const char *ifname, char *ret_alias, size_t size)
{
	char command[80];
	FILE *f;

	snprintf(command, sizeof(command), "ip link show dev %s | sed -n 's/.*alias //p'", ifname);
	f = popen(command, "r");
	assert_non_null(f);
	assert_non_null(fgets(ret_alias, size, f));
	pclose(f);
}

static int packet_socket(unsigned int ifindex)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				    .sll_ifindex = (int)ifindex };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (void *)&addr, sizeof(addr)), 0);
	return fd;
}

/* Whether a packet arrives at the other end, at once. */
static bool carries(unsigned int in, unsigned int out)
{
	char packet[100] = "";
	int from = packet_socket(in), to = packet_socket(out);
	struct pollfd p = { .fd = to, .events = POLLIN };
	bool arrives;

	assert_int_equal(send(from, packet, sizeof(packet), 0), sizeof(packet));
	arrives = poll(&p, 1, 1000) > 0;
	close(from);
	close(to);
	return arrives;
}

static unsigned int rx_queues(const char *ifname)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq ifr = { .ifr_data = (void *)&channels };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	assert_int_equal(ioctl(fd, SIOCETHTOOL, &ifr), 0);
	close(fd);
	return channels.rx_count + channels.combined_count;
}

/* Two daemons in one network namespace, one of which restarts after a crash. */
static void two_instances(void)
{
	struct lx_resegment one, two, again;
	unsigned int in, out;
	char alias[80];

	if (unshare(CLONE_NEWNET))
		return;
	assert_int_equal(lx_resegment_add("one", &one), 0);
	in = if_nametoindex(one.in);
	out = if_nametoindex(one.out);
	assert_true(in && out);
	assert_true(carries(in, out) && carries(out, in));
	assert_int_equal(rx_queues(one.in), sysconf(_SC_NPROCESSORS_CONF));
	assert_int_equal(lx_resegment_add("two", &two), 0);
	assert_string_not_equal(one.in, two.in);
	assert_string_not_equal(one.out, two.out);
	assert_int_equal(if_nametoindex(one.in), in);
	assert_int_equal(if_nametoindex(one.out), out);
	alias_of(two.in, alias, sizeof(alias));
	assert_non_null(strstr(alias, "lnetxd two:"));
	assert_int_equal(lx_resegment_add("one", &again), 0);
	assert_string_equal(again.in, one.in);
	assert_int_not_equal(if_nametoindex(one.in), in);
	assert_true(if_nametoindex(two.in) && if_nametoindex(two.out));
	assert_int_equal(one.no_cut, 0);
	assert_true(if_nametoindex(one.cut));
	lx_resegment_del("one");
	assert_false(if_nametoindex(one.in) || if_nametoindex(one.out) || if_nametoindex(one.cut));
	assert_true(if_nametoindex(two.in) && if_nametoindex(two.out));
	lx_resegment_del("two");
	lx_resegment_del("two");
	assert_false(if_nametoindex(two.in) || if_nametoindex(two.out));
}

static void test_resegment(void **state)
{
	crash(two_instances);
}

static void test_resegment_names(void **state)
{
	char longest[64] = "";
	struct lx_resegment a, b;

	memset(longest, 'x', sizeof(longest) - 1);
	a = lx_resegment_names(longest);
	assert_int_equal(strlen(a.in), IF_NAMESIZE - 1);
	longest[sizeof(longest) - 2] = 'y';
	b = lx_resegment_names(longest);
	assert_string_not_equal(a.in, b.in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crash),		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_other_version),	cmocka_unit_test(test_other_shape),
		cmocka_unit_test(test_other_namespace), cmocka_unit_test(test_attached),
		cmocka_unit_test(test_place_of_pins),	cmocka_unit_test(test_resegment),
		cmocka_unit_test(test_resegment_names),
	};
	struct lx_guard_info info;
	struct daemon d;

	snprintf(instance, sizeof(instance), "unit-pins-%d", (int)getpid());
	begin(&d, true);
	lx_guard_info(d.guard, &info);
	possible = info.loaded && lx_bpf_pins(d.bpf)[0];
	if (possible)
		lx_pin_path(lx_bpf_pins(d.bpf), "guard", dir);
	else
		printf("# skipped: %s\n", info.loaded ? "no pins here" : info.reason);
	end(&d);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
