/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of a peer from other addresses than the one in its NID: they are read, and what else
 * they may do. The peer is LOW_IP. One that restarts elsewhere: test_moved of test_sock_hello; both
 * dial at once: capture 05h of test_replay.
 */
#include "../../lnd/sock/priv.h"
#include "sockworld.h"

#define OTHER_IP "127.0.0.3"
#define OUR_IP6 "fd77::5"

/* Connects as a node from any address; the answer must be positive. */
static int joined_as(const struct lx_nid *nid, const char *from, uint32_t type)
{
	bool v6 = !lx_nid_is_nid4(nid);
	struct lx_hello hello = raw_hello_of(v6 ? LX_SOCK_V4 : LX_SOCK_V3, nid, &ours, type), answer;
	int fd = raw_dial(from, true, v6 ? OUR_IP6 : OUR_IP, PORT);

	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, lx_proto_ctype_invert(type));
	return fd;
}

static int joined(const char *from, uint32_t type)
{
	return joined_as(&low, from, type);
}

/* A HELLO as after a restart, which is declined and closed. */
static void restarts(const char *from, uint64_t n)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL), answer;
	int fd = dial(from);

	hello.src_incarnation += n;
	assert_true(raw_handshake(fd, &hello, &answer));
	assert_int_equal(answer.ctype, LX_CTYPE_NONE);
	assert_true(raw_closes(fd));
	close(fd);
}

/* A message to a node is sent on this connection. */
static void arrives_on_of(const struct lx_id *id, int fd, size_t len)
{
	struct fake_msg *out = fake_put(node, id, len);
	struct raw_msg got;

	assert_true(raw_read_msg(fd, lx_nid_is_nid4(&id->nid) ? LX_SOCK_V3 : LX_SOCK_V4, &got));
	assert_int_equal(got.hdr.payload_length, len);
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
}

static void arrives_on(int fd, size_t len)
{
	arrives_on_of(&id_low, fd, len);
}

static void is_read_from(const struct lx_nid *nid, int fd, size_t len)
{
	struct raw_msg msg = put_from(nid, len);

	raw_put(fd, lx_nid_is_nid4(nid) ? LX_SOCK_V3 : LX_SOCK_V4, false, &msg);
	receive(len);
}

static void is_read(int fd, size_t len)
{
	is_read_from(&low, fd, len);
}

/* It is read and gets its acknowledgements, but no message, and cannot restart the peer. */
static void test_joiner(void **state)
{
	int own = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	int other = joined(HIGH_IP, LX_CTYPE_BULK_IN); /* which would fit large messages best */
	struct raw_msg msg = put_from(&low, 100), got;

	arrives_on(own, 5000);
	is_read(other, 3000);
	msg.head.cookie[0] = 77;
	raw_put(other, LX_SOCK_V3, false, &msg);
	receive(100);
	assert_true(raw_read_msg(other, LX_SOCK_V3, &got));
	assert_int_equal(got.head.type, LX_SOCK_NOOP);
	assert_int_equal(got.head.cookie[1], 77);
	assert_false(raw_closed(own, 50));
	restarts(HIGH_IP, 1);
	restarts(HIGH_IP, 1);
	assert_false(raw_closed(own, 50));
	arrives_on(own, 5000);
	expect_warning("connected_from=" LOW_IP);
	/* From its own address it counts at once. */
	restarts(LOW_IP, 2);
	assert_true(raw_closes(own) && raw_closes(other));
	close(own);
	close(other);
}

/* Behind NAT: the address that came first has all messages, until 15 s after it is gone. */
static void test_only_other_addresses(void **state)
{
	int first = joined(HIGH_IP, LX_CTYPE_CONTROL), second = joined(OTHER_IP, LX_CTYPE_BULK_IN);

	fake_clock_stop();
	arrives_on(first, 5000);
	is_read(second, 5000);
	close(first);
	assert_true(fake_wait_conns(node, 1, 20000));
	first = joined(HIGH_IP, LX_CTYPE_CONTROL);
	arrives_on(first, 5000);
	close(first);
	assert_true(fake_wait_conns(node, 1, 20000));
	for (int i = 0; i < 20; i++) {
		fake_clock_go(1000);
		usleep(100000); /* a tick */
	}
	fake_clock_run();
	arrives_on(second, 5000);
	/* Its own address is there: it has them now. */
	first = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	arrives_on(first, 5000);
	close(first);
	close(second);
}

/* Its own address is gone: a dial has to fail before another one gets messages. */
static void test_own_address_lost(void **state)
{
	int own = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), other = joined(HIGH_IP, LX_CTYPE_CONTROL);
	int listener = raw_listen(LOW_IP, PORT), fd;
	struct lx_hello hello;
	struct lx_nid target;
	struct fake_msg *out;
	struct raw_msg got;

	close(own);
	assert_true(fake_wait_conns(node, 1, 20000));
	out = fake_put(node, &id_low, 10);
	fd = raw_accept(listener, 20000, NULL);
	assert_true(fd >= 0);
	assert_true(raw_read_request(fd, &target) && raw_read_hello(fd, &hello));
	close(listener);
	close(fd);
	assert_true(raw_read_msg(other, LX_SOCK_V3, &got));
	assert_int_equal(got.hdr.payload_length, 10);
	free(got.payload);
	assert_int_equal(fake_wait(out, NULL), 0);
	assert_int_equal(node->n_lost, 0);
	close(other);
}

/* Takes the node's next attempt to connect to the peer. */
static int accepted(int listener)
{
	int fd = raw_accept(listener, 20000, NULL);
	struct lx_hello hello, answer;
	struct lx_nid target;

	assert_true(fd >= 0);
	assert_true(raw_read_request(fd, &target) && raw_read_hello(fd, &hello));
	answer = raw_hello_of(hello.version, &low, &ours, lx_proto_ctype_invert(hello.ctype));
	raw_hello(fd, &answer);
	return fd;
}

/* We have dialled a node that connects from a VIP, or an alias, itself (2.14 and later). */
static void test_dialled_then_alias(void **state)
{
	int listener = raw_listen(LOW_IP, PORT), own[3], alias = -1;
	struct fake_msg *out;
	struct raw_msg got;

	for (int i = 0; i < 2; i++) {
		out = fake_put(node, &id_low, 10);
		own[0] = accepted(listener); /* for control */
		assert_true(raw_read_msg(own[0], LX_SOCK_V3, &got));
		free(got.payload);
		assert_int_equal(fake_wait(out, NULL), 0);
		for (int j = 1; j < 3; j++)
			own[j] = accepted(listener);
		if (!i)
			alias = joined(HIGH_IP, LX_CTYPE_CONTROL);
		assert_true(fake_wait_conns(node, 4, 20000));
		is_read(alias, 3000);
		is_read(own[0], 3000);
		arrives_on(own[0], 10);
		/* In order: it is dialled again, and the alias is not used instead. */
		for (int j = 0; j < 3; j++)
			close(own[j]);
		assert_true(fake_wait_conns(node, 1, 20000));
	}
	assert_int_equal(warnings(), 0);
	close(alias);
	close(listener);
}

/* Two NIs on one subnet: the first connection of 2.12 in the name of each is from the first. */
static void test_two_nis(void **state)
{
	struct lx_id second = fake_id(OTHER_IP "@tcp");
	int a = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	int b = joined_as(&second.nid, LOW_IP, LX_CTYPE_CONTROL), b_own;

	arrives_on_of(&second, b, 10);
	is_read_from(&second.nid, b, 10);
	b_own = joined_as(&second.nid, OTHER_IP, LX_CTYPE_BULK_IN);
	arrives_on_of(&second, b_own, 5000);
	is_read_from(&second.nid, b, 10);
	is_read_from(&second.nid, b_own, 5000);
	is_read(a, 10);
	/* The first restarts: that says nothing about the second. */
	restarts(LOW_IP, 1);
	assert_true(raw_closes(a));
	is_read_from(&second.nid, b, 10);
	arrives_on_of(&second, b_own, 10);
	close(a);
	close(b);
	close(b_own);
}

/* What the kernel selects as the source: temporary addresses, which change. */
static void test_temporary_addresses(void **state)
{
	int first, second, own;

	fake_free(node);
	node = fake_new(OUR_IP6 "@tcp", 1, NULL);
	id_low = fake_id("fd77::2@tcp");
	low = id_low.nid;
	ours = fake_id(OUR_IP6 "@tcp").nid;
	first = joined("fd77::8", LX_CTYPE_CONTROL);
	second = joined("fd77::9", LX_CTYPE_BULK_IN);
	is_read(first, 10);
	is_read(second, 5000);
	arrives_on(first, 5000);
	own = joined("fd77::2", LX_CTYPE_CONTROL);
	arrives_on(own, 10);
	is_read(first, 10);
	is_read(second, 5000);
	assert_int_equal(warnings(), 0);
	close(first);
	close(second);
	close(own);
}

/* Connections that may not be sent on do not hide that the peer is gone. */
static void test_lost_with_joiners(void **state)
{
	int own = connected(LX_SOCK_V3, LX_CTYPE_CONTROL), other = joined(HIGH_IP, LX_CTYPE_CONTROL);
	const struct linger reset = { .l_onoff = 1 };

	/* What breaks the joiner's connection ends no other: a cookie of nobody, too. */
	raw_noop(other, false, 0, 4711);
	assert_true(raw_closes(other));
	close(other);
	expect_warning("unknown zero-copy cookie");
	assert_false(raw_closed(own, 50));
	assert_int_equal(node->n_lost, 0);
	other = joined(HIGH_IP, LX_CTYPE_CONTROL);
	setsockopt(own, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(own);
	assert_true(fake_wait_conns(node, 1, 20000));
	assert_int_equal(node->n_lost, 1);
	close(other);
}

/* Nor that it cannot be dialled. */
static void test_undialled_with_joiners(void **state)
{
	int first = joined(HIGH_IP, LX_CTYPE_CONTROL), second = joined(OTHER_IP, LX_CTYPE_CONTROL);
	struct fake_msg *out;

	close(first);
	assert_true(fake_wait_conns(node, 1, 20000));
	out = fake_put(node, &id_low, 10);
	assert_int_equal(fake_wait(out, NULL), -ECONNREFUSED);
	expect_warning("cannot connect");
	assert_int_equal(node->n_lost, 1);
	close(second);
}

/* The first of the other addresses stays; of the rest the one that is silent for longest goes. */
static void test_many_addresses(void **state)
{
	int fd[9], more;
	char ip[16];

	for (unsigned int i = 0; i < 8; i++) {
		snprintf(ip, sizeof(ip), "127.0.1.%u", i + 1);
		fd[i] = joined(ip, LX_CTYPE_CONTROL);
	}
	usleep(20000); /* the clock is coarse */
	is_read(fd[1], 10);
	more = joined(HIGH_IP, LX_CTYPE_CONTROL);
	assert_int_equal(fake_conns(node, NULL), 8);
	assert_true(raw_closes(fd[2]));
	is_read(fd[0], 10);
	is_read(fd[1], 10);
	is_read(more, 10);
	arrives_on(fd[0], 10);
	assert_int_equal(warnings(), 0);
	for (unsigned int i = 0; i < 8; i++)
		close(fd[i]);
	close(more);
}

static void test_own_nid(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &ours, &ours, LX_CTYPE_CONTROL), answer;
	int fd = dial(HIGH_IP);

	raw_request(fd, &ours);
	raw_hello(fd, &hello);
	assert_true(raw_closes(fd));
	close(fd);
	expect_warning("in the name of this node");
	fd = dial(OUR_IP);
	assert_true(raw_handshake(fd, &hello, &answer));
	close(fd);
}

/* For sites where each NID has its own address. */
static void test_strict(void **state)
{
	struct lx_hello hello = raw_hello_of(LX_SOCK_V3, &low, &ours, LX_CTYPE_CONTROL);
	int fd = dial(HIGH_IP);

	lx_sock_tun.accept_own_address = 1;
	raw_request(fd, &ours);
	raw_hello(fd, &hello);
	assert_true(raw_closes(fd));
	close(fd);
	expect_warning(LOW_IP "@tcp: HELLO from another address");
	fd = connected(LX_SOCK_V3, LX_CTYPE_CONTROL);
	arrives_on(fd, 10);
	close(fd);
}

static void test_no_hosts(void **state)
{
	static const struct {
		const char *nid;
		bool is;
	} cases[] = {
		{ "10.0.0.1@tcp", true },      { "10.0.0.255@tcp", false }, { "10.0.1.255@tcp", true },
		{ "255.255.255.255@tcp", false }, { "0.0.0.0@tcp", false }, { "224.0.0.1@tcp", false },
		{ "127.0.0.1@tcp", false },    { "fd00::1@tcp", true },     { "ff02::1@tcp", false },
		{ "::1@tcp", false },
	};
	struct lx_netif netif = { .prefix_len = 24 };
	struct lx_nid nid;
	union lx_addr addr;

	assert_int_equal(lx_nid_parse("10.0.0.5@tcp", &nid), 0);
	lx_addr_of_nid(&netif.addr, &nid, 0);
	for (size_t i = 0; i < N_OF(cases); i++) {
		assert_int_equal(lx_nid_parse(cases[i].nid, &nid), 0);
		lx_addr_of_nid(&addr, &nid, 0);
		if (lx_sock_origin_is_host(&netif, &addr) != cases[i].is)
			fail_msg("%s", cases[i].nid);
	}
}

/* What a machine can choose of an address does not give it another share. */
static void test_shares(void **state)
{
	static const struct {
		const char *from, *address;
	} cases[] = {
		{ "10.0.0.1@tcp", "10.0.0.1@tcp" },
		{ "2001:db8:1:2:3:4:5:6@tcp", "2001:db8:1:2::@tcp" },
		{ "fd00::1:2:3:4@tcp", "fd00::1:2:3:4@tcp" }, /* our own prefix */
		{ "fd00:0:0:1:1:2:3:4@tcp", "fd00:0:0:1::@tcp" },
	};
	struct lx_sock_host host;
	struct lx_sock_net net = { .netif.prefix_len = 64 };
	struct lx_sock_conn conn = { .host = &host };
	struct lx_nid nid, got;

	lx_list_init(&host.nets);
	lx_list_append(&host.nets, &net.link);
	assert_int_equal(lx_nid_parse("fd00::5@tcp3", &nid), 0);
	lx_addr_of_nid(&net.addr, &nid, 0);
	for (size_t i = 0; i < N_OF(cases); i++) {
		assert_int_equal(lx_nid_parse(cases[i].from, &nid), 0);
		lx_addr_of_nid(&conn.remote, &nid, 1023);
		lx_sock_origin_address(&conn, &got);
		assert_string_equal(lx_nid_str(&got), cases[i].address);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_joiner),
		TEST(test_only_other_addresses),
		TEST(test_own_address_lost),
		TEST(test_dialled_then_alias),
		TEST(test_two_nis),
		TEST(test_temporary_addresses),
		TEST(test_lost_with_joiners),
		TEST(test_undialled_with_joiners),
		TEST(test_many_addresses),
		TEST(test_own_nid),
		TEST(test_strict),
		cmocka_unit_test(test_no_hosts),
		cmocka_unit_test(test_shares),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests_name("socklnd: origins", tests, NULL, NULL);
}
