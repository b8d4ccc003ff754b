/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NIDs, nets and process ids as text; ranges; hash. Spec lnet.md 1 and 2. */
#include "testlib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include <lnetx/nid.h>

/* Text, its 20 bytes, and the printed form if it differs. */
static const struct {
	const char *text, *bytes, *printed;
} good[] = {
	{ "192.168.1.20@tcp", "00 02 0000 c0a80114", NULL },
	{ "192.168.1.20", "00 02 0000 c0a80114", "192.168.1.20@tcp" },
	{ "192.168.1.20@tcp0", "00 02 0000 c0a80114", "192.168.1.20@tcp" },
	{ "10.0.0.1@tcp1", "00 02 0001 0a000001", NULL },
	{ "0.0.0.0@tcp", "00 02 0000 00000000", NULL },
	{ "255.255.255.255@tcp65535", "00 02 ffff ffffffff", NULL },
	{ "10.0.0.1@o2ib2", "00 05 0002 0a000001", NULL },
	{ "10.0.0.1@o2ib", "00 05 0000 0a000001", NULL },
	{ "0@lo", "00 09 0000 00000000", NULL },
	{ "7@gni", "00 0d 0000 00000007", NULL },
	{ "0x1F@gni3", "00 0d 0003 0000001f", "31@gni3" },
	{ "0XfF@gni3", "00 0d 0003 000000ff", "255@gni3" },
	{ "4294967295@gni", "00 0d 0000 ffffffff", NULL },
	{ "10.0.0.1@gip", "00 0e 0000 0a000001", NULL },
	{ "9@ptlf", "00 0f 0000 00000009", NULL },
	{ "9@kfi12", "00 10 000c 00000009", NULL },
	{ "9@tofu", "00 11 0000 00000009", NULL },
	{ "10.0.0.1@efa", "00 12 0000 0a000001", NULL },
	{ "9@bxi3f", "00 13 0000 00000009", NULL },
	{ "2001:db8::14@tcp", "0c 02 0000 20010db8000000000000000000000014", NULL },
	{ "2001:db8::14", "0c 02 0000 20010db8000000000000000000000014", "2001:db8::14@tcp" },
	{ "2001:DB8:0:0::14@tcp258", "0c 02 0102 20010db8000000000000000000000014",
	  "2001:db8::14@tcp258" },
	{ "::@tcp", "0c 02 0000 00000000000000000000000000000000", NULL },
	{ "::1@efa1", "0c 12 0001 00000000000000000000000000000001", NULL },
	{ "::ffff:10.0.0.1@tcp", "0c 02 0000 00000000000000000000ffff0a000001", NULL },
	{ "*", "ff ff ffff ffffffffffffffffffffffffffffffff", "<?>" },
	{ "<?>", "ff ff ffff ffffffffffffffffffffffffffffffff", NULL },
};

static const char *const bad[] = {
	"",
	"@",
	"@tcp",
	"tcp",
	"10.0.0.1@",
	"10.0.0.1@@tcp",
	"10.0.0.1@tcp@tcp",
	"10.0.0@tcp",
	"10.0.0.1.2@tcp",
	"10.0.0.256@tcp",
	"10.0.0.-1@tcp",
	"10.0.0.1 @tcp",
	" 10.0.0.1@tcp",
	"10.0.0.1@ tcp",
	"10.0.0.1@tcp ",
	"10.0.0.1@tcp-1",
	"10.0.0.1@tcp+1",
	"10.0.0.1@tcp 1",
	"10.0.0.1@tcp65536",
	"10.0.0.1@tcp4294967297",
	"10.0.0.1@tcp99999999999999999999",
	"10.0.0.1@tcp1x",
	"10.0.0.1@tcp0x1",
	"10.0.0.1@TCP",
	"10.0.0.1@tc",
	"10.0.0.1@quux",
	"0@lo0",
	"0@lo1",
	"1@lo",
	"127.0.0.1@lo",
	"00000000001@lo",
	"7@tcp",
	"0x7@tcp",
	"10.0.0.1@gni",
	"2001:db8::1@o2ib",
	"2001:db8::1@gip",
	"2001:db8::1@gni",
	"@gni",
	"4294967296@gni",
	"-1@gni",
	"+1@gni",
	"1.0@gni",
	"0x@gni",
	"0x100000000@gni",
	"0xg@gni",
	"1e3@gni",
	"7 @gni",
	"2001:db8:::1@tcp",
	"2001:db8::1::@tcp",
	"[2001:db8::1]@tcp",
	"fe80::1%eth0@tcp",
	"12345::@tcp",
	"**",
	"*@tcp",
	"*@*",
	"<?>@tcp",
	"host.example@tcp",
	"10.0.0.[1-2]@tcp",
	"10.0.0.1,10.0.0.2",
	"10.0.0.0/8@tcp",
	"10.0.0.1\n",
};

static void expect_nid(const struct lx_nid *nid, const char *bytes)
{
	struct lx_nid want = { 0 };

	unhex(bytes, &want, sizeof(want));
	assert_memory_equal(nid, &want, sizeof(want));
	assert_true(lx_nid_eq(nid, &want));
	assert_true(lx_nid_is_valid(nid));
}

static void good_texts(void **state)
{
	for (size_t i = 0; i < N_OF(good); i++) {
		struct lx_nid nid, again;
		char text[LX_NID_TEXT];

		if (lx_nid_parse(good[i].text, &nid))
			fail_msg("%s is refused", good[i].text);
		expect_nid(&nid, good[i].bytes);
		assert_ptr_equal(lx_nid_format(&nid, text, sizeof(text)), text);
		assert_string_equal(text, good[i].printed ? good[i].printed : good[i].text);
		assert_string_equal(lx_nid_str(&nid), text);
		assert_int_equal(lx_nid_parse(text, &again), 0);
		assert_true(lx_nid_eq(&nid, &again));
	}
}

static void bad_texts(void **state)
{
	char endless[600];

	for (size_t i = 0; i < N_OF(bad); i++) {
		struct lx_nid nid = lx_nid_lo;

		if (lx_nid_parse(bad[i], &nid) != -EINVAL)
			fail_msg("\"%s\" is taken for %s", bad[i], lx_nid_str(&nid));
		assert_true(lx_nid_eq(&nid, &lx_nid_lo)); /* set on success only */
	}
	memset(endless, '1', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	for (size_t at = 0; at < sizeof(endless) - 5; at++) {
		struct lx_nid nid;

		memcpy(endless + at, "@tcp", 4);
		assert_int_equal(lx_nid_parse(endless, &nid), -EINVAL);
		memset(endless + at, '1', 4);
	}
}

/* Valid text with a byte changed or truncated: refused, or parsed to what it prints. */
static void damaged_texts(void **state)
{
	static const char bytes[] = "0123456789abcdefxX.:@*<>?[],-/ tcpolib";

	for (int round = 0; round < 200000; round++) {
		char text[LX_NID_TEXT], printed[LX_NID_TEXT];
		struct lx_nid nid, again;
		size_t len;

		strcpy(text, good[rnd_below(N_OF(good))].text);
		len = strlen(text);
		if (rnd_below(4) == 0)
			text[rnd_below(len + 1)] = '\0';
		else
			text[rnd_below(len)] = bytes[rnd_below(sizeof(bytes) - 1)];
		if (lx_nid_parse(text, &nid))
			continue;
		assert_true(lx_nid_is_valid(&nid));
		lx_nid_format(&nid, printed, sizeof(printed));
		assert_int_equal(lx_nid_parse(printed, &again), 0);
		assert_true(lx_nid_eq(&nid, &again));
	}
}

static struct lx_nid random_nid(void)
{
	static const uint8_t types[] = { 2, 5, 13, 14, 15, 16, 17, 18, 19 };
	struct lx_nid nid = { .type = types[rnd_below(N_OF(types))] };
	bool large = (nid.type == LX_NET_TCP || nid.type == LX_NET_EFA) && rnd_below(2);

	nid.num = lx_be16(rnd_below(3) ? rnd() & 0xffff : 0);
	nid.size = large ? LX_NID_SIZE16 : LX_NID_SIZE4;
	rnd_fill(nid.addr, large ? 16 : 4);
	return nid;
}

static void round_trips(void **state)
{
	for (int round = 0; round < 100000; round++) {
		struct lx_nid nid = random_nid(), again;
		struct lx_id id = { nid, rnd_below(2) ? rnd() : LX_PID_LUSTRE }, id_again;
		char text[LX_ID_TEXT];

		assert_int_equal(lx_nid_parse(lx_nid_str(&nid), &again), 0);
		assert_true(lx_nid_eq(&nid, &again));
		assert_int_equal(lx_nid_hash(&nid), lx_nid_hash(&again));
		assert_int_equal(lx_id_parse(lx_id_format(&id, text, sizeof(text)), &id_again), 0);
		assert_true(lx_id_eq(&id, &id_again));
	}
}

/* NIDs that cannot be written, but that a peer can send: printed somehow, in the buffer. */
static void odd_nids(void **state)
{
	static const struct {
		const char *bytes, *text;
	} odd[] = {
		{ "00 07 0003 0a000001", "a000001@<7:3>" },
		{ "00 00 0000 00000000", "0@<0:0>" },
		{ "00 fe ffff ffffffff", "ffffffff@<254:65535>" },
		{ "0c 07 0003 20010db8000000000000000000000014",
		  "20010db8000000000000000000000014@<7:3>" },
		{ "04 02 0000 0a00000101020304", "0a00000101020304@tcp" },
		{ "fe 02 0000 000102030405060708090a0b0c0d0e0f",
		  "000102030405060708090a0b0c0d0e0f@tcp" },
		{ "0c 0d 0000 000102030405060708090a0b0c0d0e0f",
		  "000102030405060708090a0b0c0d0e0f@gni" },
		{ "0c 05 0000 20010db8000000000000000000000014", "2001:db8::14@o2ib" },
		{ "00 ff 1234 01020304", "<?>" },
	};

	for (size_t i = 0; i < N_OF(odd); i++) {
		struct lx_nid nid = { 0 };

		unhex(odd[i].bytes, &nid, sizeof(nid));
		assert_string_equal(lx_nid_str(&nid), odd[i].text);
	}
	for (int round = 0; round < 20000; round++) {
		char text[LX_NID_TEXT + 8];
		struct lx_nid nid;
		size_t size = 1 + rnd_below(LX_NID_TEXT), len;

		rnd_fill(&nid, sizeof(nid));
		memset(text, 0x5a, sizeof(text));
		lx_nid_format(&nid, text, size);
		len = strlen(text);
		assert_true(len < size);
		assert_int_equal((uint8_t)text[size], 0x5a);
		assert_true(strlen(lx_nid_str(&nid)) < LX_NID_TEXT - 1); /* never truncated */
	}
}

static void validity(void **state)
{
	struct lx_nid nid;

	for (unsigned int size = 0; size < 256; size++) {
		memset(&nid, 0, sizeof(nid));
		nid.size = size;
		nid.type = LX_NET_TCP;
		assert_int_equal(lx_nid_is_valid(&nid), size == 0 || size == 12);
	}
	for (size_t i = 0; i < 16; i++) {
		memset(&nid, 0, sizeof(nid));
		nid.type = LX_NET_TCP;
		nid.addr[i] = 1;
		assert_int_equal(lx_nid_is_valid(&nid), i < 4);
		nid.size = LX_NID_SIZE16;
		assert_true(lx_nid_is_valid(&nid));
	}
	assert_true(lx_nid_is_valid(&lx_nid_any));
	assert_true(lx_nid_is_valid(&lx_nid_lo));
}

static void nets(void **state)
{
	static const struct {
		const char *text;
		uint32_t net;
		const char *printed;
	} table[] = {
		{ "tcp", 0x20000, NULL },     { "tcp0", 0x20000, "tcp" },
		{ "tcp1", 0x20001, NULL },    { "tcp65535", 0x2ffff, NULL },
		{ "o2ib2", 0x50002, NULL },   { "lo", 0x90000, NULL },
		{ "gni", 0xd0000, NULL },     { "gip7", 0xe0007, NULL },
		{ "ptlf", 0xf0000, NULL },    { "kfi10", 0x10000a, NULL },
		{ "tofu", 0x110000, NULL },   { "efa1", 0x120001, NULL },
		{ "bxi3f3", 0x130003, NULL }, { "tcp007", 0x20007, "tcp7" },
	};
	static const char *const no_nets[] = {
		"",	 "*",	  "tc",		  "TCP",       "tcp ",	       " tcp",
		"tcp1 ", "tcpx",  "tcp-1",	  "tcp65536",  "lo0",	       "o2i",
		"bxi3",	 "<7:3>", "10.0.0.1@tcp", "tcp1,tcp2", "tcp4294967296"
	};
	char text[LX_NET_TEXT];
	uint32_t net;

	for (size_t i = 0; i < N_OF(table); i++) {
		assert_int_equal(lx_net_parse(table[i].text, &net), 0);
		assert_int_equal(net, table[i].net);
		assert_int_equal(lx_net_type(net), net >> 16);
		assert_string_equal(lx_net_format(net, text, sizeof(text)),
				    table[i].printed ? table[i].printed : table[i].text);
		assert_string_equal(lx_net_str(net), text);
	}
	for (size_t i = 0; i < N_OF(no_nets); i++) {
		net = 77;
		if (lx_net_parse(no_nets[i], &net) != -EINVAL)
			fail_msg("\"%s\" is taken for a net", no_nets[i]);
		assert_int_equal(net, 77);
	}
	assert_string_equal(lx_net_str(0x70003), "<7:3>");
	assert_string_equal(lx_net_str(0x01020003), "<258:3>"); /* not tcp3 */
	assert_string_equal(lx_net_str(LX_NET_U32_ANY), "*");
}

static void ids(void **state)
{
	static const struct {
		const char *text;
		uint32_t pid;
		const char *nid, *printed;
	} table[] = {
		{ "12345-10.0.0.1@tcp", 12345, "10.0.0.1@tcp", NULL },
		{ "10.0.0.1@tcp", 12345, "10.0.0.1@tcp", "12345-10.0.0.1@tcp" },
		{ "10.0.0.1", 12345, "10.0.0.1@tcp", "12345-10.0.0.1@tcp" },
		{ "0-0@lo", 0, "0@lo", NULL },
		{ "U40000-10.0.0.1@tcp", 0x80000000u + 40000, "10.0.0.1@tcp", NULL },
		{ "2147523648-10.0.0.1@tcp", 0x80000000u + 40000, "10.0.0.1@tcp",
		  "U40000-10.0.0.1@tcp" },
		{ "LNET_PID_ANY-10.0.0.1@tcp", LX_PID_ANY, "10.0.0.1@tcp", NULL },
		{ "U2147483647-10.0.0.1@tcp", LX_PID_ANY, "10.0.0.1@tcp",
		  "LNET_PID_ANY-10.0.0.1@tcp" },
		{ "1-2001:db8::1@tcp3", 1, "2001:db8::1@tcp3", NULL },
		{ "12345-<?>", 12345, "*", NULL },
	};
	static const char *const no_ids[] = { "",
					      "-",
					      "-10.0.0.1@tcp",
					      "12345-",
					      "x-10.0.0.1@tcp",
					      "U-10.0.0.1@tcp",
					      "UU1-10.0.0.1@tcp",
					      "4294967296-10.0.0.1@tcp",
					      "U2147483648-10.0.0.1@tcp",
					      "1--10.0.0.1@tcp",
					      " 1-10.0.0.1@tcp",
					      "LNET_PID_AN-0@lo",
					      "lnet_pid_any-0@lo",
					      "u1-0@lo",
					      "0x1-0@lo",
					      "1-tcp" };

	for (size_t i = 0; i < N_OF(table); i++) {
		char text[LX_ID_TEXT];
		struct lx_nid nid;
		struct lx_id id;

		assert_int_equal(lx_id_parse(table[i].text, &id), 0);
		assert_int_equal(lx_nid_parse(table[i].nid, &nid), 0);
		assert_int_equal(id.pid, table[i].pid);
		assert_true(lx_nid_eq(&id.nid, &nid));
		assert_string_equal(lx_id_format(&id, text, sizeof(text)),
				    table[i].printed ? table[i].printed : table[i].text);
	}
	for (size_t i = 0; i < N_OF(no_ids); i++) {
		struct lx_id id;

		if (lx_id_parse(no_ids[i], &id) != -EINVAL)
			fail_msg("\"%s\" is taken for an id", no_ids[i]);
	}
}

/* 4-byte NIDs sort like their numbers (socklnd.md 4.3). */
static void order(void **state)
{
	for (int round = 0; round < 100000; round++) {
		uint64_t a = (2ULL + rnd_below(2)) << 48 | rnd_below(3) << 32 | (uint32_t)rnd();
		uint64_t b = rnd_below(8) ? (2ULL + rnd_below(2)) << 48 | rnd_below(3) << 32 |
						    (uint32_t)rnd()
					  : a;
		struct lx_nid x, y;
		int cmp;

		lx_nid_from_u64(a, &x);
		lx_nid_from_u64(b, &y);
		cmp = lx_nid_cmp(&x, &y);
		assert_int_equal(cmp > 0 ? 1 : cmp < 0 ? -1 : 0, a > b ? 1 : a < b ? -1 : 0);
		assert_int_equal(lx_nid_eq(&x, &y), a == b);
	}
}

/* Neighbouring NIDs, as clusters have them, spread over the buckets of a table. */
static void hash_spreads(void **state)
{
	static const char *const first[] = { "10.0.0.0@tcp", "10.0.0.0@o2ib9", "2001:db8::@tcp" };

	for (size_t i = 0; i < N_OF(first); i++) {
		/*
		 * Vary the last bytes of an IPv4 or IPv6 address, or 256 hosts in 16 subnets
		 * each.
		 */
		unsigned int count[4096] = { 0 }, most = 0;
		struct lx_nid nid;

		assert_int_equal(lx_nid_parse(first[i], &nid), 0);
		for (unsigned int n = 0; n < 4096; n++) {
			uint8_t *end = nid.addr + (nid.size ? 16 : 4);
			unsigned int *bucket;

			end[-1] = n;
			end[-2] = n >> 8;
			bucket = &count[lx_nid_hash(&nid) & 4095];
			if (++*bucket > most)
				most = *bucket;
		}
		assert_true(most <= 12); /* a random function gives 6 or 7 */
	}
}

static void sockaddrs(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(988) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_scope_id = 3 };
	struct sockaddr other = { .sa_family = AF_UNIX };
	struct lx_nid nid;

	inet_pton(AF_INET, "10.77.0.1", &in.sin_addr);
	assert_int_equal(lx_nid_from_sockaddr(LX_NET(LX_NET_TCP, 258), (void *)&in, &nid), 0);
	expect_nid(&nid, "00 02 0102 0a4d0001");
	inet_pton(AF_INET6, "fd77::1", &in6.sin6_addr);
	assert_int_equal(lx_nid_from_sockaddr(LX_NET(LX_NET_TCP, 0), (void *)&in6, &nid), 0);
	expect_nid(&nid, "0c 02 0000 fd770000000000000000000000000001");
	inet_pton(AF_INET6, "::ffff:10.77.0.1", &in6.sin6_addr);
	assert_int_equal(lx_nid_from_sockaddr(LX_NET(LX_NET_TCP, 0), (void *)&in6, &nid), 0);
	expect_nid(&nid, "00 02 0000 0a4d0001");
	assert_int_equal(lx_nid_from_sockaddr(LX_NET(LX_NET_TCP, 0), &other, &nid), -EAFNOSUPPORT);
}

/* The @n NIDs as text, separated by spaces. */
static char *list_text(const struct lx_nid *nids, size_t n)
{
	static char text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 lx_nid_str(&nids[i]));
	return text;
}

static void expand_lists(void **state)
{
	static const struct {
		const char *text, *nids;
	} table[] = {
		{ "10.0.0.1@tcp", "10.0.0.1@tcp" },
		{ "10.0.0.1", "10.0.0.1@tcp" },
		{ "0@lo,7@gni,2001:db8::1@tcp1", "0@lo 7@gni 2001:db8::1@tcp1" },
		{ "10.1.1.[2-4,9]@tcp,10.2.0.1@tcp1",
		  "10.1.1.2@tcp 10.1.1.3@tcp 10.1.1.4@tcp 10.1.1.9@tcp 10.2.0.1@tcp1" },
		{ "10.1.1.[9,2-3]@o2ib3", "10.1.1.2@o2ib3 10.1.1.3@o2ib3 10.1.1.9@o2ib3" },
		{ "10.1.1.[2,1-3,2]", "10.1.1.1@tcp 10.1.1.2@tcp 10.1.1.3@tcp" },
		{ "10.1.1.[250-255/2]@tcp", "10.1.1.250@tcp 10.1.1.252@tcp 10.1.1.254@tcp" },
		{ "10.1.1.[1-255/255]@tcp", "10.1.1.1@tcp" },
		{ "10.1.1.[0-255/255]@tcp", "10.1.1.0@tcp 10.1.1.255@tcp" },
		{ "[1-2].0.[3-4].5@tcp", "1.0.3.5@tcp 1.0.4.5@tcp 2.0.3.5@tcp 2.0.4.5@tcp" },
		{ "[1].[2].[3].[4]@tcp", "1.2.3.4@tcp" },
		{ "1.1.1.[1-2],1.1.1.1", "1.1.1.1@tcp 1.1.1.2@tcp 1.1.1.1@tcp" },
		{ "[8-10]@gni,[6-12/4]@kfi2", "8@gni 9@gni 10@gni 6@kfi2 10@kfi2" },
		{ "[70000,3-4]@bxi3f", "70000@bxi3f 3@bxi3f 4@bxi3f" },
		{ "[4294967294-4294967295]@ptlf", "4294967294@ptlf 4294967295@ptlf" },
	};

	for (size_t i = 0; i < N_OF(table); i++) {
		struct lx_nid *nids;
		size_t n;

		if (lx_nid_expand(table[i].text, 100, &nids, &n))
			fail_msg("%s is refused", table[i].text);
		assert_string_equal(list_text(nids, n), table[i].nids);
		free(nids);
	}
}

static void expand_errors(void **state)
{
	static const char *const table[] = {
		"",
		",",
		"*",
		"<?>",
		"10.0.0.1,",
		",10.0.0.1",
		"10.0.0.1,,10.0.0.2",
		"10.0.0.1, 10.0.0.2",
		"10.0.0.*@tcp",
		"10.0.0.[]@tcp",
		"10.0.0.[1@tcp",
		"10.0.0.1]@tcp",
		"10.0.0.[1]]@tcp",
		"10.0.0.[[1]]@tcp",
		"10.0.0.[1,]@tcp",
		"10.0.0.[,1]@tcp",
		"10.0.0.[3-1]@tcp",
		"10.0.0.[1-]@tcp",
		"10.0.0.[-1]@tcp",
		"10.0.0.[1-256]@tcp",
		"10.0.0.[256]@tcp",
		"10.0.0.[1-9/0]@tcp",
		"10.0.0.[1-9/]@tcp",
		"10.0.0.[1/2]@tcp",
		"10.0.0.[1/2-3]@tcp",
		"10.0.0.[1-9/256]@tcp",
		"10.0.0.[1-2-3]@tcp",
		"10.0.0.[1-9/2/2]@tcp",
		"10.0.0.[1 ]@tcp",
		"10.0.[1-2]@tcp",
		"10.0.0.[1-2].4@tcp",
		"10.0.0.[1-2]@quux",
		"10.0.0.[1-2]@tcp65536",
		"[2-1]@gni",
		"[a-f/x]@gni",
		"[1-9/0]@gni",
		"[1]2@gni",
		"1[2]@gni",
		"[1,]@gni",
		"[1@gni",
		"[4294967296]@gni",
		"[1].2.3.4@gni",
		"[0]@lo",
		"2001:db8::[1-2]@tcp",
		"10.0.0.[1-2]@lo",
		"10.0.0.[1-2",
		"[",
		"]",
		"10.0.0.[a]@tcp",
		"10..0.[1]@tcp",
		".10.0.[1]@tcp",
		"10.0.0.[1].@tcp",
		"10.0.0.[1]2@tcp",
	};
	char endless[2000];

	for (size_t i = 0; i < N_OF(table); i++) {
		struct lx_nid *nids = (void *)1;
		size_t n = 1234;

		if (lx_nid_expand(table[i], 1000, &nids, &n) != -EINVAL)
			fail_msg("\"%s\" is taken", table[i]);
		assert_ptr_equal(nids, (void *)1);
		assert_int_equal(n, 1234);
	}
	memset(endless, '[', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	assert_int_equal(lx_nid_expand(endless, 10, &(struct lx_nid *){ NULL }, &(size_t){ 0 }),
			 -EINVAL);
}

static void expand_limits(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} table[] = { { "10.0.0.1", 1 },
		      { "10.0.0.1,10.0.0.2,10.0.0.3", 3 },
		      { "10.0.0.[1-10]", 10 },
		      { "10.0.0.9,10.0.[1-3].[0-255]", 769 },
		      { "10.0.[0-255].[0-255]@tcp", 65536 } };
	struct lx_nid *nids;
	size_t n;

	for (size_t i = 0; i < N_OF(table); i++) {
		assert_int_equal(lx_nid_expand(table[i].text, table[i].n - 1, &nids, &n), -E2BIG);
		assert_int_equal(lx_nid_expand(table[i].text, table[i].n, &nids, &n), 0);
		assert_int_equal(n, table[i].n);
		for (size_t j = 1; i != 1 && j < n; j++)
			assert_false(lx_nid_eq(&nids[j - 1], &nids[j]));
		free(nids);
	}
	assert_int_equal(lx_nid_expand("[0-255].[0-255].[0-255].[0-255]", 1 << 20, &nids, &n),
			 -E2BIG);
}

/* Random ranges, compared with a walk over all addresses of a /16. */
static void expand_random(void **state)
{
	for (int round = 0; round < 300; round++) {
		unsigned int lo[2], hi[2], stride[2];
		struct lx_nid *nids;
		size_t n, at = 0;
		char text[80];

		for (int i = 0; i < 2; i++) {
			lo[i] = rnd_below(256);
			hi[i] = lo[i] + rnd_below(256 - lo[i]);
			stride[i] = 1 + rnd_below(40);
		}
		snprintf(text, sizeof(text), "10.9.[%u-%u/%u].[%u-%u/%u]@tcp7", lo[0], hi[0],
			 stride[0], lo[1], hi[1], stride[1]);
		assert_int_equal(lx_nid_expand(text, 65536, &nids, &n), 0);
		for (unsigned int a = lo[0]; a <= hi[0]; a += stride[0]) {
			for (unsigned int b = lo[1]; b <= hi[1]; b += stride[1], at++) {
				struct lx_nid want;

				lx_nid_from_u64(0x0002000700000000ULL | 10 << 24 | 9 << 16 |
							a << 8 | b,
						&want);
				assert_true(at < n);
				assert_true(lx_nid_eq(&nids[at], &want));
			}
		}
		assert_int_equal(at, n);
		free(nids);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_texts),	 cmocka_unit_test(bad_texts),
		cmocka_unit_test(damaged_texts), cmocka_unit_test(round_trips),
		cmocka_unit_test(odd_nids),	 cmocka_unit_test(validity),
		cmocka_unit_test(nets),		 cmocka_unit_test(ids),
		cmocka_unit_test(order),	 cmocka_unit_test(hash_spreads),
		cmocka_unit_test(sockaddrs),	 cmocka_unit_test(expand_lists),
		cmocka_unit_test(expand_errors), cmocka_unit_test(expand_limits),
		cmocka_unit_test(expand_random),
	};

	rnd_init();
	return cmocka_run_group_tests_name("nid", tests, NULL, NULL);
}
