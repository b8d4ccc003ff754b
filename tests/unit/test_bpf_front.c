/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The front of a hook of traffic control, with tcx and with clsact: who is there, and how ours gets
 * there without a packet that passes by. All programs are of two instructions; ours drops packets,
 * so that one that arrives has passed by. Skipped if BPF is not permitted.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testlib.h"

#include "../../user/bpf/hook.h"

#define BEFORE 8
#define PASS 0
#define DROP 2
#define NEXT (-1)
#define MOVES 20

static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 }; /* of in0 */
static int ours = -1, hold, of_lnetx, udp;
static bool has_tcx;

static int program(const char *name, int verdict)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = verdict },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, name, "Dual BSD/GPL", code, 2, NULL);
}

static int try_tcx(int prog)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = BEFORE);

	return bpf_link_create(prog, (int)if_nametoindex("in0"), LX_BPF_TCX_INGRESS, &opts);
}

static int open_all(void **state)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(9) };
	int link;

	if (geteuid() || unshare(CLONE_NEWNET))
		return 0;
	ours = program("ours", DROP);
	if (ours < 0)
		return 0;
	hold = program("hold", DROP);
	of_lnetx = program("lnetx_other", DROP);
	assert_true(hold >= 0 && of_lnetx >= 0);
	assert_int_equal(
		system("ip link add in0 address 02:00:00:00:00:01 type veth peer name out0 && "
		       "ip link set in0 up && ip link set out0 up && "
		       "ip addr add 10.9.0.1/24 dev in0"),
		0);
	link = try_tcx(ours);
	has_tcx = link >= 0;
	close(link);
	udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(udp, (void *)&addr, sizeof(addr)), 0);
	return 0;
}

static struct lx_hook hook_at(bool tcx)
{
	return (struct lx_hook){ .kind = LX_BPF_HOOK_INGRESS,
				 .ifname = "in0",
				 .program = "ours",
				 .ifindex = if_nametoindex("in0"),
				 .tcx = tcx,
				 .mode = "none",
				 .fd = -1 };
}

/* Another agent's; a link's descriptor, or 0 with clsact. */
static int agent_attach(bool tcx, int verdict)
{
	int prog, link;

	if (!tcx) {
		assert_int_equal(system("tc qdisc add dev in0 clsact 2>/dev/null; "
					"tc filter add dev in0 ingress prio 1 bpf direct-action "
					"bytecode '1,6 0 0 0,'"),
				 0);
		return 0;
	}
	prog = program("agent", verdict);
	link = try_tcx(prog);
	assert_true(link > 0);
	close(prog);
	return link;
}

static void agent_detach(int link)
{
	if (link)
		close(link);
	else
		assert_int_equal(system("tc qdisc del dev in0 clsact"), 0);
}

static void both(void (*test)(bool tcx))
{
	if (ours < 0)
		skip();
	if (has_tcx)
		test(true);
	test(false);
}

static void front_is(const struct lx_hook *h, const char *expected)
{
	char text[LX_BPF_TEXT] = "";
	struct lx_chain front;

	assert_true(lx_hook_look(h, &front));
	assert_int_equal(!!front.n, !!*expected); /* u32 has an entry for its table */
	if (front.n)
		assert_false(lx_chain_describe(&front.program[0], text, sizeof(text)));
	if (strncmp(text, expected, strlen(expected)))
		fail_msg("in front is \"%s\", not \"%s\"", text, expected);
}

static void goes_to_the_front(bool tcx)
{
	const char *agent = tcx ? "agent (program " : "a filter of tc (bpf, priority 1)";
	struct lx_hook h = hook_at(tcx);
	struct lx_chain chain;
	int link = agent_attach(tcx, PASS), second;

	/* from the start */
	assert_int_equal(lx_hook_attach(&h, ours, ""), 0);
	front_is(&h, "");
	/* others come later, twice */
	for (int i = 0; i < 2; i++) {
		second = agent_attach(tcx, PASS);
		front_is(&h, agent);
		assert_int_equal(lx_hook_advance(&h, ours, i ? hold : -1, ""), 0);
		assert_string_equal(h.mode, tcx ? "tcx" : "clsact");
		front_is(&h, "");
		if (second)
			close(second);
	}
	assert_int_equal(lx_chain_read(h.ifindex, false, tcx, &chain), 0);
	assert_int_equal(chain.n, tcx ? 2 : 4); /* all agents of clsact are there */
	lx_hook_detach(&h);
	assert_false(lx_hook_look(&h, &chain));
	agent_detach(link);
}

static void test_front(void **state)
{
	both(goes_to_the_front);
}

/* Sends datagrams for udp, for ever. */
static pid_t flood(void)
{
	struct {
		uint8_t to[6], from[6];
		uint16_t type;
		struct iphdr ip;
		struct udphdr udp;
	} __attribute__((packed)) f = {
		.type = htons(ETH_P_IP),
		.ip = { .version = 4,
			.ihl = 5,
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.saddr = htonl(0x0a090002),
			.daddr = htonl(0x0a090001),
			.tot_len = htons(sizeof(f.ip) + sizeof(f.udp)) },
		.udp = { .dest = htons(9), .len = htons(sizeof(f.udp)) },
	};
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = (int)if_nametoindex("out0") };
	uint16_t word[sizeof(f.ip) / 2];
	uint32_t sum = 0;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	pid_t pid;

	memcpy(f.to, mac, sizeof(mac));
	memcpy(word, &f.ip, sizeof(f.ip));
	for (size_t i = 0; i < sizeof(f.ip) / 2; i++)
		sum += word[i];
	sum = (sum & 0xffff) + (sum >> 16);
	f.ip.check = (uint16_t) ~(sum + (sum >> 16));
	assert_true(fd >= 0);
	pid = fork();
	while (!pid) {
		if (sendto(fd, &f, sizeof(f), 0, (void *)&to, sizeof(to)) < 0 && errno != ENOBUFS)
			_exit(1);
	}
	close(fd);
	return pid;
}

/* The number of datagrams that have arrived since the last time. */
static unsigned int arrived(void)
{
	unsigned int n = 0;
	char byte;

	while (recv(udp, &byte, 1, 0) >= 0)
		n++;
	return n;
}

static void nothing_passes(bool tcx)
{
	struct lx_hook h = hook_at(tcx);
	int link = agent_attach(tcx, NEXT);
	pid_t pid = flood();

	while (!arrived())
		usleep(1000);
	assert_int_equal(lx_hook_attach(&h, ours, ""), 0);
	usleep(50000);
	arrived();
	for (int i = 0; i < MOVES; i++)
		assert_int_equal(lx_hook_advance(&h, ours, hold, ""), 0);
	usleep(50000);
	assert_int_equal(arrived(), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	lx_hook_detach(&h);
	agent_detach(link);
}

static void test_nothing_passes(void **state)
{
	both(nothing_passes);
}

/* Where clsact has a filter of another type in front, there is no place for ours. */
static void test_no_place(void **state)
{
	struct lx_hook h = hook_at(false);

	if (ours < 0)
		skip();
	assert_int_equal(lx_hook_attach(&h, ours, ""), 0);
	if (system("tc filter add dev in0 ingress prio 1 protocol all u32 match u32 0 0 classid "
		   "1:1")) {
		lx_hook_detach(&h);
		agent_detach(0);
		skip(); /* this kernel has no u32 */
	}
	front_is(&h, "a filter of tc (u32, priority 1)");
	assert_int_not_equal(lx_hook_advance(&h, ours, hold, ""), 0);
	assert_string_equal(h.mode, "clsact");
	front_is(&h, "a filter of tc (u32, priority 1)");
	lx_hook_detach(&h);
	agent_detach(0);
}

static void test_is_lnetx(void **state)
{
	struct lx_chain_program p = { 0 };
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	char text[LX_BPF_TEXT];

	if (ours < 0)
		skip();
	assert_int_equal(bpf_obj_get_info_by_fd(of_lnetx, &info, &len), 0);
	p.id = info.id;
	assert_true(lx_chain_describe(&p, text, sizeof(text)));
	p.id = 0x7ffffff0; /* gone */
	assert_false(lx_chain_describe(&p, text, sizeof(text)));
	assert_string_equal(text, "program 2147483632");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_front),
		cmocka_unit_test(test_nothing_passes),
		cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_is_lnetx),
	};

	return cmocka_run_group_tests_name("bpf: the front of a hook", tests, open_all, NULL);
}
