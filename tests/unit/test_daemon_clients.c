/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clients of lnetxd that misbehave, or are too many, slow or gone; on the fake node. */
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <internal/ctl.h>

#include "../../user/ctl/codec.h"
#include "cliworld.h"

/* Repeats a command until it succeeds: the daemon takes a moment to see that clients left. */
static void run_soon(const char *line)
{
	for (int i = 0; i < 500; i++) {
		if (!proc_run(line)->status)
			return;
	}
	expect(0, line);
}

static int connect_raw(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/test.sock", proc_dir());
	assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	return fd;
}

static struct nlmsghdr *request(char *buf, uint8_t command, uint16_t flags, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct lx_ctl_hdr *hdr;

	nlh->nlmsg_type = LX_CTL_TYPE;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = 77;
	hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));
	hdr->command = command;
	hdr->version = version;
	return nlh;
}

/* Returns the text of the error in the reply. */
static const char *error_of(int fd, const struct nlmsghdr *nlh, int *ret_error)
{
	static _Alignas(8) char buf[LX_CTL_PACKET];
	const struct nlmsghdr *got = (const void *)buf;
	const struct nlattr *text;
	const void *attrs;
	size_t len, head;

	assert_int_equal(send(fd, nlh, nlh->nlmsg_len, 0), nlh->nlmsg_len);
	assert_true(recv(fd, buf, sizeof(buf), 0) > 0);
	assert_int_equal(got->nlmsg_seq, 77);
	head = got->nlmsg_type == NLMSG_DONE ? sizeof(int32_t) : sizeof(struct nlmsgerr);
	*ret_error = *(const int32_t *)mnl_nlmsg_get_payload(got);
	attrs = lx_codec_attrs(got, head, &len);
	text = lx_codec_find(attrs, len, LX_CTL_ERR_TEXT);
	return text ? lx_codec_text(text) : "";
}

static void test_bad_requests(void **state)
{
	_Alignas(8) char buf[512];
	struct nlmsghdr *nlh;
	int fd, error;

	start(NULL);
	fd = connect_raw();
	nlh = request(buf, LX_CTL_CMD_NETS, NLM_F_DUMP, LX_CTL_VERSION + 1);
	assert_non_null(strstr(error_of(fd, nlh, &error), "this client version 2"));
	assert_int_equal(error, -EPROTONOSUPPORT);
	nlh = request(buf, 99, 0, LX_CTL_VERSION);
	assert_non_null(strstr(error_of(fd, nlh, &error), "does not know command 99"));
	assert_int_equal(error, -EOPNOTSUPP);
	nlh = request(buf, 99, NLM_F_DUMP, LX_CTL_VERSION);
	error_of(fd, nlh, &error);
	assert_int_equal(error, -EOPNOTSUPP);
	nlh = request(buf, LX_CTL_CMD_NETS, NLM_F_CREATE, LX_CTL_VERSION);
	mnl_attr_put_u64(nlh, 200, 1);
	assert_non_null(strstr(error_of(fd, nlh, &error), "unknown attribute 200"));
	nlh = request(buf, LX_CTL_CMD_CONFIGURE, 0, LX_CTL_VERSION); /* stop */
	mnl_attr_put_u64(nlh, 1, 1);
	assert_non_null(strstr(error_of(fd, nlh, &error), "unknown attribute 1"));
	nlh = request(buf, LX_CTL_CMD_PING, NLM_F_DUMP, LX_CTL_VERSION);
	assert_non_null(strstr(error_of(fd, nlh, &error), "give a NID"));
	nlh = request(buf, LX_CTL_CMD_ROUTES, NLM_F_CREATE, LX_CTL_VERSION);
	assert_non_null(strstr(error_of(fd, nlh, &error), "needs a net"));
	/* The connection still works. */
	nlh = request(buf, LX_CTL_CMD_STATS, 0, LX_CTL_VERSION);
	error_of(fd, nlh, &error);
	assert_int_equal(error, 0);
	close(fd);
}

/* Bytes that are no message end this connection only. */
static void test_garbage(void **state)
{
	char buf[2 * LX_CTL_PACKET];

	start(NULL);
	for (int i = 0; i < 200; i++) {
		size_t len = 1 + rnd_below(i < 100 ? 64 : sizeof(buf) - 1);
		int fd = connect_raw();

		rnd_fill(buf, len);
		/* Random headers may be valid requests, such as a stop. */
		if (i & 1 && len > MNL_NLMSG_HDRLEN + sizeof(struct lx_ctl_hdr)) {
			request(buf, rnd(), rnd(), LX_CTL_VERSION);
			((struct nlmsghdr *)buf)->nlmsg_len = i & 2 ? len : rnd();
		}
		send(fd, buf, len, MSG_NOSIGNAL);
		if (i % 3)
			recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		close(fd);
	}
	expect(0, "lnetx daemon");
	prints("lnetx net", "0@lo");
}

static int count_fds(void)
{
	char path[64];
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)lnetxd.pid);
	for (int i = 0; i < 500; i++) {
		char one[96], to[8];

		snprintf(one, sizeof(one), "%s/%d", path, i);
		n += readlink(one, to, sizeof(to)) > 0;
	}
	return n;
}

/* Sends a request with two descriptors of a pipe. Returns the answer's error. */
static int ask_with_pipe(int fd, uint8_t command, uint16_t flags)
{
	_Alignas(8) char buf[LX_CTL_PACKET];
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(2 * sizeof(int))];
	} control = { .header = { .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS,
				  .cmsg_len = CMSG_LEN(2 * sizeof(int)) } };
	struct nlmsghdr *nlh = request(buf, command, flags, LX_CTL_VERSION);
	struct iovec iov = { buf, nlh->nlmsg_len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	const struct nlmsghdr *end = (const void *)buf;
	int pipes[2], left;

	assert_int_equal(pipe(pipes), 0);
	memcpy(CMSG_DATA(&control.header), pipes, sizeof(pipes));
	assert_int_equal(sendmsg(fd, &msg, 0), nlh->nlmsg_len);
	left = recv(fd, buf, sizeof(buf), 0);
	while (end->nlmsg_type != NLMSG_DONE && end->nlmsg_type != NLMSG_ERROR)
		end = mnl_nlmsg_next(end, &left);
	close(pipes[0]);
	close(pipes[1]);
	return *(const int *)mnl_nlmsg_get_payload(end);
}

/* Descriptors that come with requests are closed, and none but text in memory is read. */
static void test_descriptors(void **state)
{
	int fd, before;

	start(NULL);
	fd = connect_raw();
	assert_int_equal(ask_with_pipe(fd, LX_CTL_CMD_STATUS, NLM_F_DUMP), 0);
	before = count_fds();
	for (int i = 0; i < 20; i++) {
		assert_int_equal(ask_with_pipe(fd, LX_CTL_CMD_STATUS, NLM_F_DUMP), 0);
		assert_int_equal(ask_with_pipe(fd, LX_CTL_CMD_RELOAD, NLM_F_CREATE), -EINVAL);
		assert_int_equal(ask_with_pipe(fd, LX_CTL_CMD_RELOAD, 0), -EINVAL);
	}
	assert_in_range(count_fds(), before - 2, before + 1);
	close(fd);
}

static char *many_peers(int n)
{
	char *state = malloc(n * 2000 + 100);
	size_t used = sprintf(state, "peer:\n");

	for (int i = 0; i < n; i++) {
		used += sprintf(state + used,
				"- primary nid: 10.1.%d.1@tcp\n  Multi-Rail: true\n"
				"  peer ni:\n",
				i);
		for (int j = 1; j <= 40; j++)
			used += sprintf(state + used, "  - {nid: 10.1.%d.%d@tcp, state: up}\n", i,
					j);
	}
	return state;
}

/* A client that requests much and does not read delays nobody, and gets everything in the end. */
static void test_slow_reader(void **state)
{
	char *peers = many_peers(200);
	_Alignas(8) char buf[LX_CTL_PACKET];
	struct lx_ctl_show show = { .net = LX_NET_U32_ANY,
				    .nid = lx_nid_any,
				    .gateway = lx_nid_any,
				    .hop = -1,
				    .priority = -1,
				    .level = LX_LEVEL_OWN };
	size_t rows = 0, packets = 0;
	struct nlmsghdr *nlh;
	bool done = false;
	int fd;

	start(peers);
	fd = connect_raw();
	nlh = request(buf, LX_CTL_CMD_PEERS, NLM_F_DUMP, LX_CTL_VERSION);
	assert_int_equal(
		lx_codec_put(nlh, sizeof(buf), &lx_object_show_schema, &show, LX_LEVEL_OWN), 0);
	assert_int_equal(send(fd, buf, nlh->nlmsg_len, 0), nlh->nlmsg_len);
	for (int i = 0; i < 20; i++)
		expect(0, "lnetx daemon");
	expect(0, "lnetx peer del primary 10.1.7.1@tcp"); /* the snapshot is unaffected */
	while (!done) {
		ssize_t len = recv(fd, buf, sizeof(buf), 0);
		int rest = len;

		assert_true(len > 0);
		packets++;
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest)) {
			done = nlh->nlmsg_type == NLMSG_DONE;
			rows += !done;
		}
		assert_int_equal(rest, 0);
	}
	assert_int_equal(rows, 200 * 40);
	assert_true(packets > 20);
	/* It may leave in the middle. */
	nlh = request(buf, LX_CTL_CMD_PEERS, NLM_F_DUMP, LX_CTL_VERSION);
	send(fd, buf, nlh->nlmsg_len, 0);
	close(fd);
	prints("lnetctl peer list", "10.1.199.1@tcp");
	free(peers);
}

/* The tools reassemble a peer that spans many packets. */
static void test_long_list(void **state)
{
	char *peers = many_peers(20);
	const struct proc_result *r;
	size_t nids = 0, primaries = 0;

	start(peers);
	r = expect(0, "lnetctl peer show");
	for (const char *p = r->out; (p = strstr(p, "nid: ")); p++)
		nids++;
	for (const char *p = r->out; (p = strstr(p, "primary nid: ")); p++)
		primaries++;
	assert_int_equal(primaries, 20);
	assert_int_equal(nids, 20 * 41);
	free(peers);
}

static void test_too_many_clients(void **state)
{
	int fd[80], refused = 0;
	char buf[512];

	start(NULL);
	for (size_t i = 0; i < N_OF(fd); i++)
		fd[i] = connect_raw();
	proc_daemon_wait_log(&lnetxd, "too many control clients");
	/* The last one is refused after all others. */
	assert_true(recv(fd[N_OF(fd) - 1], buf, sizeof(buf), 0) > 0);
	for (size_t i = 0; i < N_OF(fd) - 1; i++)
		refused += recv(fd[i], buf, sizeof(buf), MSG_DONTWAIT) > 0;
	assert_in_range(refused, 1, 15);
	fails(1, "lnetx daemon", "too many clients");
	for (size_t i = 0; i < N_OF(fd); i++)
		close(fd[i]);
	run_soon("lnetx daemon");
}

/* Users who may do nothing take no places. */
static void test_strangers(void **state)
{
	char buf[512];
	int fd[60];

	if (geteuid())
		skip();
	start(NULL);
	assert_int_equal(setegid(65534) | seteuid(65534), 0);
	for (size_t i = 0; i < N_OF(fd); i++)
		fd[i] = connect_raw();
	assert_int_equal(seteuid(0) | setegid(0), 0);
	assert_int_equal(proc_run_as(65534, 100, "lnetx daemon", NULL)->status, 0);
	for (size_t i = 0; i < N_OF(fd); i++) {
		assert_true(recv(fd[i], buf, sizeof(buf), 0) > 0); /* the reason */
		assert_int_equal(recv(fd[i], buf, sizeof(buf), 0), 0);
		close(fd[i]);
	}
}

/* Out of descriptors: new clients are told so, and the daemon continues. */
static void test_few_descriptors(void **state)
{
	struct rlimit all, few = { 24, 24 };
	int fd[40], refused = 0;
	char buf[512];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few.rlim_max = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &few);
	start(NULL); /* inherits the limit */
	setrlimit(RLIMIT_NOFILE, &all);
	for (size_t i = 0; i < N_OF(fd); i++)
		fd[i] = connect_raw();
	proc_daemon_wait_log(&lnetxd, "control client not accepted: Too many open files");
	assert_true(recv(fd[39], buf, sizeof(buf), 0) > 0);
	for (size_t i = 0; i < N_OF(fd); i++) {
		refused += i < 39 && recv(fd[i], buf, sizeof(buf), MSG_DONTWAIT) > 0;
	}
	assert_in_range(refused, 10, 38);
	fails(1, "lnetx daemon", "no file descriptors left");
	for (size_t i = 0; i < N_OF(fd); i++)
		close(fd[i]);
	run_soon("lnetx daemon");
}

/* Clients that leave before their answer. */
static void test_leavers(void **state)
{
	_Alignas(8) char buf[512];
	struct lx_ctl_ping ping = { .source = lx_nid_any, .timeout_ms = 1000 };

	start(NULL);
	assert_int_equal(lx_nid_parse("10.0.0.9@tcp", &ping.nid), 0);
	for (int i = 0; i < 100; i++) {
		int fd = connect_raw();
		struct nlmsghdr *nlh;

		if (i & 1) {
			nlh = request(buf, LX_CTL_CMD_PING, NLM_F_DUMP, LX_CTL_VERSION);
			lx_codec_put(nlh, sizeof(buf), &lx_object_ping_schema, &ping, LX_LEVEL_OWN);
		} else {
			nlh = request(buf, i & 2 ? LX_CTL_CMD_STATS : LX_CTL_CMD_CONFIGURE,
				      i & 4 ? NLM_F_CREATE : 0, LX_CTL_VERSION);
		}
		send(fd, buf, nlh->nlmsg_len, 0);
		close(fd);
	}
	expect(0, "lnetctl lnet configure");
	expect(0, "lnetx net");
}

/* A monitor that does not read loses changes, and learns how many. */
static void test_slow_monitor(void **state)
{
	_Alignas(8) char buf[LX_CTL_PACKET];
	uint64_t lost = 0, told = 0;
	struct nlmsghdr *nlh;
	int fd, small = 4096;

	start(NULL);
	fd = connect_raw();
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	nlh = request(buf, LX_CTL_CMD_MONITOR, NLM_F_DUMP, LX_CTL_VERSION);
	send(fd, buf, nlh->nlmsg_len, 0);
	expect(0, "lnetx net add net tcp if eth0");
	for (int i = 0; i < 30; i++) {
		char line[100];

		snprintf(line, sizeof(line), "lnetx route add net tcp%d via 10.0.0.[1-100]@tcp",
			 i + 2);
		expect(0, line);
	}
	expect(0, "lnetx net del net tcp");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (int quiet = 0; quiet < 20;) {
		ssize_t len = recv(fd, buf, sizeof(buf), 0);
		int rest = len;

		if (len <= 0) {
			quiet++;
			expect(0, "lnetx net add net tcp if eth0");
			expect(0, "lnetx net del net tcp");
			continue;
		}
		for (nlh = (void *)buf; mnl_nlmsg_ok(nlh, rest); nlh = mnl_nlmsg_next(nlh, &rest)) {
			const struct nlattr *a;
			const void *attrs;
			size_t attrs_len;

			attrs = lx_codec_attrs(nlh, sizeof(struct lx_ctl_hdr), &attrs_len);
			a = lx_codec_find(attrs, attrs_len, 2);
			lost += a ? mnl_attr_get_u64(a) : 0;
			told++;
		}
	}
	close(fd);
	/* 3000 routes, 100 peers, NIs: reported or counted as lost. */
	assert_true(lost > 0);
	assert_true(told + lost >= 3100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_bad_requests),    TEST(test_garbage),		 TEST(test_slow_reader),
		TEST(test_long_list),	    TEST(test_too_many_clients), TEST(test_strangers),
		TEST(test_descriptors),	    TEST(test_few_descriptors), TEST(test_leavers),		 TEST(test_slow_monitor),
	};
	int failed;

	rnd_init();
	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
