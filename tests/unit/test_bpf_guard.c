/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The guard's decisions about frames: chosen and random cases, each decided three times - by
 * the header compiled natively over plain tables, by the XDP program and by the TC program in
 * the kernel (PROG_TEST_RUN) - with the same result. If BPF is not permitted, only natively;
 * the other tests are skipped.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <unistd.h>

#include "testlib.h"

#include "../../bpf/guard.h"
#include "../../user/base/clock.h"
#include "../../user/base/prefix.h"
#include "../../user/bpf/bpf.h"
#include "../../user/bpf/guard.h"

#define PORT 988
#define SECOND 1000000000ULL
#define RANDOM_FRAMES 20000

/* ---- the native side: tables of a few entries ---------------------------------------- */

static struct lx_guard_config config;
static struct lx_guard_ban bans[4];
static struct lx_guard_rule rules[4];
static struct {
	uint8_t addr[16];
} banned[4];
static struct lx_guard_prefix prefixes[4];
static unsigned int n_bans, n_prefixes;
static struct lx_guard_source source;
static uint8_t own[2][16]; /* the acceptor's addresses */

static struct lx_guard_ban *lx_guard_ban_of(const struct lx_packet *p)
{
	for (unsigned int i = 0; i < n_bans; i++) {
		if (!memcmp(banned[i].addr, p->src, 16))
			return &bans[i];
	}
	return NULL;
}

static bool matches(const struct lx_guard_prefix *prefix, const uint8_t *addr)
{
	for (unsigned int i = 0; i < prefix->bits; i++) {
		if ((prefix->addr[i / 8] ^ addr[i / 8]) & 0x80 >> i % 8)
			return false;
	}
	return true;
}

static struct lx_guard_rule *lx_guard_rule_of(const struct lx_packet *p)
{
	struct lx_guard_rule *best = NULL;
	unsigned int bits = 0;

	for (unsigned int i = 0; i < n_prefixes; i++) {
		if (matches(&prefixes[i], p->src) && (!best || prefixes[i].bits > bits)) {
			best = &rules[i];
			bits = prefixes[i].bits;
		}
	}
	return best;
}

static struct lx_guard_source *lx_guard_source_of(const struct lx_packet *p)
{
	return &source;
}

static __u32 syns; /* that passed, for any of them */

static __u32 *lx_guard_listener_of(const struct lx_packet *p)
{
	return p->dport == htons(PORT) &&
			       (!memcmp(p->dst, own[0], 16) || !memcmp(p->dst, own[1], 16))
		       ? &syns
		       : NULL;
}

/* ---- the kernel side ------------------------------------------------------------------- */

static struct lx_bpf *bpf;
static struct lx_guard *guard; /* NULL: cannot be loaded here */

static void address(const char *text, uint8_t addr[16])
{
	struct lx_guard_prefix prefix;

	assert_int_equal(lx_prefix_parse(text, prefix.addr, &prefix.bits), 0);
	memcpy(addr, prefix.addr, 16);
}

static void kernel_open(void)
{
	char instance[40];
	struct lx_guard_info info;

	snprintf(instance, sizeof(instance), "unit-%d", (int)getpid());
	assert_int_equal(lx_bpf_new(instance, true, &bpf), 0);
	assert_int_equal(lx_guard_new(bpf, &guard), 0);
	assert_int_equal(lx_guard_info(guard, &info), 0);
	if (info.loaded)
		return;
	print_message("# no guard in the kernel: %s\n", info.reason);
	lx_guard_free(guard);
	guard = NULL;
}

/* Sets the same rules everywhere. */
static void setup_rules(bool secure)
{
	/* The interface does not exist: programs are not attached, but their tables are filled. */
	struct lx_guard_ni ni[2] = { { .ifname = "nosuch0", .port = PORT, .port_bulk = PORT },
				     { .ifname = "nosuch0", .port = PORT, .port_bulk = PORT } };

	address("10.1.0.1", own[0]);
	address("fd00::1", own[1]);
	memcpy(ni[0].addr, own[0], 16);
	memcpy(ni[1].addr, own[1], 16);
	config = (struct lx_guard_config){ .secure = secure };
	n_bans = n_prefixes = 0;
	if (guard)
		lx_guard_place(guard, ni, 2, secure);
}

static void add_ban(const char *nid_text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(nid_text, &nid), 0);
	assert_int_equal(lx_guard_addr(&nid, banned[n_bans++].addr), 0);
	config.bans = n_bans;
	if (guard)
		assert_int_equal(lx_guard_ban(guard, &nid), 0);
}

static void add_prefix(const char *text, enum lx_guard_action action)
{
	struct lx_guard_prefix *prefix = &prefixes[n_prefixes];

	assert_int_equal(lx_prefix_parse(text, prefix->addr, &prefix->bits), 0);
	rules[n_prefixes] = (struct lx_guard_rule){ .action = action };
	if (guard)
		assert_int_equal(lx_guard_prefix_set(guard, &prefixes[n_prefixes], action), 0);
	n_prefixes++;
}

static void drop_rules(void)
{
	struct lx_guard_ban_info *list;
	size_t n;

	if (!guard)
		return;
	for (unsigned int i = 0; i < n_prefixes; i++)
		assert_int_equal(lx_guard_prefix_del(guard, &prefixes[i]), 0);
	assert_int_equal(lx_guard_bans(guard, &list, &n), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(lx_guard_unban(guard, &list[i].nid), 0);
	free(list);
	assert_int_equal(lx_guard_rate(guard, 0, 1), 0);
}

/* Frames without a complete IP header, which the kernel refuses in test runs. */
#define LEAST (14 + 2 * 4 + 40)

static uint32_t syns_of(const struct lx_guard_info *info)
{
	assert_int_equal(info->n_listeners, 2);
	assert_string_equal(info->listener[0].ifname, "nosuch0");
	return info->listener[0].syns + info->listener[1].syns;
}

static uint32_t kernel_syns; /* as @syns: of the last run */

/* The counter that a run of a program incremented; -1: the frame cannot be run. */
static int kernel_verdict(const uint8_t *frame, size_t len, bool tc)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)len);
	struct lx_guard_info before, after;
	int found = -1;
	bool dropped;
	int err;

	assert_int_equal(lx_guard_info(guard, &before), 0);
	err = bpf_prog_test_run_opts(lx_guard_prog_fd(guard, tc), &opts);
	if (err == -EINVAL && len < LEAST)
		return -1;
	assert_int_equal(err, 0);
	assert_int_equal(lx_guard_info(guard, &after), 0);
	kernel_syns = syns_of(&after) - syns_of(&before);
	for (int i = 0; i < LX_GUARD_COUNT; i++) {
		if (after.count[i] == before.count[i])
			continue;
		assert_int_equal(after.count[i], before.count[i] + 1);
		assert_int_equal(found, -1);
		found = i;
	}
	assert_int_not_equal(found, -1);
	dropped = opts.retval == (tc ? 2u /* TC_ACT_SHOT */ : 1u /* XDP_DROP */);
	if (!dropped)
		assert_int_equal((int)opts.retval, tc ? -1 /* TC_ACT_UNSPEC */ : 2 /* XDP_PASS */);
	assert_int_equal(dropped, found >= LX_GUARD_FIRST_DROP);
	return found;
}

static enum lx_guard_verdict native_verdict(const uint8_t *frame, size_t len)
{
	/* Exact size, so that a sanitizer detects reads beyond it. */
	uint8_t *copy = malloc(len);
	struct lx_packet packet = { 0 };
	enum lx_packet_kind kind;

	assert_non_null(copy);
	memcpy(copy, frame, len);
	kind = lx_packet_parse(copy, copy + len, &packet);
	free(copy);
	return lx_guard_check(&config, kind, &packet, SECOND);
}

/* ---- frames ------------------------------------------------------------------------------ */

struct frame {
	uint8_t bytes[600];
	size_t len;
};

struct shape {
	const char *src, *dst; /* both IPv4, or both IPv6 */
	uint16_t sport, dport;
	uint8_t flags;
	uint8_t proto; /* 0: TCP */
	uint16_t frag; /* IPv4: the field; IPv6: of a fragment header, 0: none */
	uint16_t vlan[2]; /* tag + 1; 0: none */
	unsigned int options; /* IPv4: words of options */
	uint8_t ext[10]; /* IPv6: headers, up to 255 or to a 0 after the first */
	unsigned int n_ext;
	unsigned int cut; /* bytes missing at the end */
};

static void put(struct frame *f, const void *bytes, size_t len)
{
	memcpy(f->bytes + f->len, bytes, len);
	f->len += len;
}

static void put16(struct frame *f, uint16_t value)
{
	value = htons(value);
	put(f, &value, 2);
}

static void put_zeroes(struct frame *f, size_t len)
{
	memset(f->bytes + f->len, 0, len);
	f->len += len;
}

static void put_tcp(struct frame *f, const struct shape *s)
{
	put16(f, s->sport);
	put16(f, s->dport);
	put_zeroes(f, 8);
	put(f, "\x50", 1);
	put(f, &s->flags, 1);
	put_zeroes(f, 6);
}

static void put_ip4(struct frame *f, const struct shape *s)
{
	uint8_t first = 0x45 + s->options, proto = s->proto ? s->proto : 6, addr[4];

	put(f, &first, 1);
	put_zeroes(f, 1);
	put16(f, 40 + 4 * s->options);
	put_zeroes(f, 2);
	put16(f, s->frag);
	put(f, "\x40", 1);
	put(f, &proto, 1);
	put_zeroes(f, 2);
	assert_int_equal(inet_pton(AF_INET, s->src, addr), 1);
	put(f, addr, 4);
	assert_int_equal(inet_pton(AF_INET, s->dst, addr), 1);
	put(f, addr, 4);
	put_zeroes(f, 4 * s->options);
	put_tcp(f, s);
}

/* Extension headers have 16 bytes, fragment headers 8. */
static void put_ip6(struct frame *f, const struct shape *s)
{
	uint8_t proto = s->proto ? s->proto : 6, addr[16];
	uint8_t next = s->n_ext ? s->ext[0] : proto;

	put(f, "\x60\0\0\0", 4);
	put16(f, 20);
	put(f, &next, 1);
	put(f, "\x40", 1);
	assert_int_equal(inet_pton(AF_INET6, s->src, addr), 1);
	put(f, addr, 16);
	assert_int_equal(inet_pton(AF_INET6, s->dst, addr), 1);
	put(f, addr, 16);
	for (unsigned int i = 0; i < s->n_ext; i++) {
		bool fragment = s->ext[i] == 44;

		next = i + 1 < s->n_ext ? s->ext[i + 1] : proto;
		put(f, &next, 1);
		/*
		 * The length of 16 bytes: 1 in units of 8 after the first, or for AH 2 in units
		 * of 4.
		 */
		put(f, fragment ? "\0" : s->ext[i] == 51 ? "\2" : "\1", 1);
		put16(f, fragment ? s->frag : 0);
		put_zeroes(f, fragment ? 4 : 12);
	}
	put_tcp(f, s);
}

static void make(struct frame *f, const struct shape *s)
{
	bool v6 = strchr(s->src, ':');

	f->len = 0;
	put_zeroes(f, 12);
	for (int i = 0; i < 2 && s->vlan[i]; i++) {
		put16(f, i == 0 && s->vlan[1] ? 0x88a8 : 0x8100);
		put16(f, s->vlan[i] - 1);
	}
	put16(f, v6 ? 0x86dd : 0x0800);
	if (v6)
		put_ip6(f, s);
	else
		put_ip4(f, s);
	f->len -= s->cut;
}

static void check(const struct shape *s, enum lx_guard_verdict expected, int line)
{
	struct frame f;
	int verdict;

	make(&f, s);
	verdict = native_verdict(f.bytes, f.len);
	if (verdict != (int)expected)
		fail_msg("line %d: %d natively", line, verdict);
	for (int tc = 0; guard && tc < 2; tc++) {
		verdict = kernel_verdict(f.bytes, f.len, tc);
		if (verdict != (int)expected && verdict != -1)
			fail_msg("line %d: %d in %s", line, verdict, tc ? "TC" : "XDP");
	}
}

#define V4 .src = "10.1.0.2", .dst = "10.1.0.1", .sport = 1023, .dport = PORT, .flags = 2
#define V6 .src = "fd00::2", .dst = "fd00::1", .sport = 1023, .dport = PORT, .flags = 2
#define CHECK(verdict, ...) check(&(struct shape){ __VA_ARGS__ }, LX_GUARD_##verdict, __LINE__)

/* ---- cases ---------------------------------------------------------------------------------- */

/* Later initializers override, which these macros rely on. */
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma clang diagnostic ignored "-Winitializer-overrides"
#endif

static void test_secure(void **state)
{
	setup_rules(true);
	CHECK(ACCEPTED, V4);
	CHECK(ACCEPTED, V6);
	CHECK(UNPRIVILEGED, V4, .sport = 1024);
	CHECK(UNPRIVILEGED, V6, .sport = 65535);
	CHECK(UNPRIVILEGED, V4, .sport = 1024, .flags = 2 | 0x40 | 0x80); /* ECN */
	CHECK(ACCEPTED, V4, .sport = 1024, .flags = 0x12); /* the answer to our SYN */
	CHECK(ACCEPTED, V4, .sport = 1024, .flags = 0x10);
	CHECK(OTHER, V4, .sport = 1024, .dport = 80);
	CHECK(OTHER, V4, .sport = 1024, .dst = "10.1.0.3"); /* forwarded, or for nobody */
	CHECK(OTHER, V4, .sport = 1024, .proto = 17);
	CHECK(OTHER, V6, .sport = 1024, .proto = 58);
	setup_rules(false);
	CHECK(ACCEPTED, V4, .sport = 1024);
	CHECK(ACCEPTED, V6, .sport = 1024);
}

static void test_headers(void **state)
{
	setup_rules(true);
	CHECK(UNPRIVILEGED, V4, .sport = 1024, .options = 10);
	CHECK(UNPRIVILEGED, V4, .sport = 1024, .vlan = { 1 }); /* number 0: only a priority */
	CHECK(UNPRIVILEGED, V4, .sport = 1024, .vlan = { 0xe001, 1 });
	CHECK(OTHER, V4, .sport = 1024, .vlan = { 101 });
	CHECK(OTHER, V4, .sport = 1024, .vlan = { 1, 101 });
	CHECK(UNPRIVILEGED, V6, .sport = 1024, .ext = { 0 }, .n_ext = 1);
	CHECK(UNPRIVILEGED, V6, .sport = 1024, .ext = { 0, 60, 43, 51, 60 }, .n_ext = 5);
	CHECK(UNPARSED, V6, .sport = 1024, .ext = { 0, 60, 60, 60, 60, 60, 60, 60, 60 },
	      .n_ext = 9);
	CHECK(UNPARSED, V4, .sport = 1024, .cut = 7); /* truncated before the flags */
	CHECK(UNPARSED, V4, .sport = 1024, .cut = 25);
	CHECK(UNPARSED, V6, .sport = 1024, .cut = 20);
	CHECK(UNPRIVILEGED, V4, .sport = 1024, .cut = 6); /* flags are the last byte */
}

static void test_fragments(void **state)
{
	setup_rules(true);
	CHECK(UNPRIVILEGED, V4, .sport = 1024, .frag = 0x2000); /* the first of several */
	CHECK(ACCEPTED, V4, .frag = 0x2000);
	CHECK(OTHER, V4, .sport = 1024, .frag = 0x2001); /* a later one */
	CHECK(OTHER, V4, .sport = 1024, .frag = 1);
	CHECK(FRAGMENT, V4, .frag = 0x2000, .cut = 12); /* flags in the next one */
	CHECK(OTHER, V4, .frag = 0x2000, .cut = 12, .dport = 80);
	CHECK(UNPRIVILEGED, V6, .sport = 1024, .ext = { 44 }, .n_ext = 1, .frag = 1);
	CHECK(OTHER, V6, .sport = 1024, .ext = { 44 }, .n_ext = 1, .frag = 9);
	CHECK(FRAGMENT, V6, .ext = { 0, 44 }, .n_ext = 2, .frag = 1, .cut = 12);
	CHECK(UNPRIVILEGED, V6, .sport = 1024, .ext = { 44 }, .n_ext = 1); /* "atomic" */
}

static void test_bans(void **state)
{
	setup_rules(true);
	add_ban("10.1.0.2@tcp");
	add_ban("fd00::2@tcp");
	CHECK(BANNED, V4);
	CHECK(BANNED, V4, .flags = 0x10, .sport = 40000); /* established */
	CHECK(BANNED, V4, .proto = 17);
	CHECK(BANNED, V4, .dst = "10.1.0.3", .dport = 80);
	CHECK(BANNED, V4, .frag = 0x2001);
	CHECK(BANNED, V4, .cut = 7);
	CHECK(BANNED, V6, .proto = 58);
	CHECK(ACCEPTED, V4, .src = "10.1.0.3");
	CHECK(OTHER, V4, .vlan = { 101 }); /* another net with the same addresses */
	drop_rules();
	setup_rules(true);
	CHECK(ACCEPTED, V4);
	CHECK(ACCEPTED, V6);
}

static void test_prefixes(void **state)
{
	setup_rules(true);
	add_prefix("10.0.0.0/8", LX_GUARD_DENY);
	add_prefix("10.1.0.0/24", LX_GUARD_ALLOW);
	add_prefix("10.1.0.7", LX_GUARD_DENY);
	add_prefix("::/0", LX_GUARD_DENY);
	CHECK(ACCEPTED, V4);
	CHECK(UNPRIVILEGED, V4, .sport = 1024); /* not even from allowed prefixes */
	CHECK(DENIED, V4, .src = "10.1.0.7");
	CHECK(DENIED, V4, .src = "10.2.0.1");
	CHECK(DENIED, V4, .src = "192.168.0.1"); /* ::/0 is everybody */
	CHECK(DENIED, V6);
	CHECK(ACCEPTED, V6, .flags = 0x10); /* established connections continue */
	drop_rules();
}

static void test_rate(void **state)
{
	setup_rules(true);
	if (guard) /* XDP and TC share the budget */
		assert_int_equal(lx_guard_rate(guard, 1, 6), 0);
	config.interval_ns = SECOND;
	config.burst_ns = 3 * SECOND;
	source.paid_ns = 0;
	for (int i = 0; i < 3; i++)
		CHECK(ACCEPTED, V4);
	CHECK(RATE, V4);
	CHECK(ACCEPTED, V4, .flags = 0x10);
	source.paid_ns = 0; /* natively, all sources are one */
	CHECK(ACCEPTED, V4, .src = "10.1.0.3");
	drop_rules();
}

/* ---- properties ----------------------------------------------------------------------------- */

/* At no time do more than burst + rate x time pass, and a quiet source always does. */
static void test_pays(void **state)
{
	for (int round = 0; round < 2000; round++) {
		uint64_t interval = 1 + rnd_below(SECOND), burst = interval * (1 + rnd_below(20));
		uint64_t begin = rnd() >> 8, now = begin, passed = 0;
		__u64 paid = 0;

		for (int i = 0; i < 200; i++) {
			now += rnd_below(3) ? rnd_below(interval / 2 + 1) : rnd_below(3 * interval);
			passed += lx_guard_pays(&paid, now, interval, burst);
			assert_true(passed <= burst / interval + (now - begin) / interval + 1);
			assert_true(paid <= now + burst);
		}
		assert_true(passed >= (now - begin) / interval / 3);
		assert_true(lx_guard_pays(&paid, now + burst + interval, interval, burst));
	}
}

static void random_shape(struct shape *s)
{
	static const char *const v4[] = { "10.1.0.1", "10.1.0.2", "10.1.0.7", "10.2.0.1" };
	static const char *const v6[] = { "fd00::1", "fd00::2", "fd00::7", "fe80::1" };
	static const uint8_t ext[] = { 0, 43, 44, 51, 60, 50, 59 };
	static const uint8_t flags[] = { 2, 2, 2, 0x12, 0x10, 0x18, 4, 3, 0, 0xff };
	static const uint16_t frag[] = { 0x2000, 0x2001, 1, 9 };
	const char *const *addr = rnd_below(2) ? v4 : v6;

	*s = (struct shape){ .src = addr[rnd_below(4)],
			     .dst = addr[rnd_below(2)],
			     .sport = rnd_below(2) ? 1000 + rnd_below(50) : rnd(),
			     .dport = rnd_below(4) ? PORT : rnd(),
			     .flags = flags[rnd_below(sizeof(flags))],
			     .proto = rnd_below(8) ? 0 : rnd(),
			     .frag = rnd_below(4) ? 0 : rnd_below(3) ? frag[rnd_below(4)] : rnd(),
			     .options = rnd_below(3) ? 0 : rnd_below(11),
			     .n_ext = rnd_below(2) ? 0 : rnd_below(10),
			     .cut = rnd_below(3) ? 0 : rnd_below(40) };
	if (!rnd_below(20)) { /* rare by chance: the flags in a later fragment */
		s->frag = 0x2000;
		s->cut = 12;
	}
	for (unsigned int i = 0; i < s->n_ext; i++)
		s->ext[i] = ext[rnd_below(sizeof(ext))];
	for (int i = 0; i < 2 && !rnd_below(3); i++)
		s->vlan[i] = 1 + (rnd_below(2) ? 0 : rnd_below(4096));
}

/* Flips bytes, too, except for the frame's type. */
static void test_same_everywhere(void **state)
{
	unsigned int seen[LX_GUARD_COUNT] = { 0 }, runs = 0, connects = 0;

	setup_rules(true);
	add_ban("10.1.0.7@tcp");
	add_prefix("10.2.0.0/16", LX_GUARD_DENY);
	add_prefix("fd00::7", LX_GUARD_DENY);
	for (int i = 0; i < RANDOM_FRAMES; i++) {
		struct shape s;
		struct frame f;
		int verdict, again;

		random_shape(&s);
		make(&f, &s);
		for (uint64_t n = rnd_below(4) ? 0 : rnd_below(4); n; n--)
			f.bytes[14 + rnd_below(f.len - 14)] = rnd();
		syns = 0;
		verdict = native_verdict(f.bytes, f.len);
		seen[verdict]++;
		connects += syns;
		for (int tc = 0; guard && tc < 2; tc++) {
			again = kernel_verdict(f.bytes, f.len, tc);
			assert_true(again == verdict || again == -1);
			assert_true(kernel_syns == syns || again == -1);
			runs += again != -1;
		}
	}
	for (int i = 0; i < LX_GUARD_COUNT; i++)
		assert_true(seen[i] > 0 || i == LX_GUARD_RATE);
	assert_in_range(connects, 1, seen[LX_GUARD_ACCEPTED] - 1);
	drop_rules();
	print_message("# %d frames, %u runs in the kernel\n", RANDOM_FRAMES, runs);
}

/* ---- texts --------------------------------------------------------------------------------- */

static void test_prefix_texts(void **state)
{
	static const char *const good[][2] = {
		{ "10.0.0.0/8", "10.0.0.0/8" },	  { "0.0.0.0/0", "0.0.0.0/0" },
		{ "10.1.2.3", "10.1.2.3/32" },	  { "::/0", "::/0" },
		{ "fd00::/8", "fd00::/8" },	  { "2001:db8::1", "2001:db8::1/128" },
		{ "::ffff:0:0/96", "0.0.0.0/0" },
	};
	static const char *const bad[] = { "",		"10.0.0.0/33", "10.0.0.1/8",   "10.0.0.0/",
					   "10.0.0/8",	"fd00::/129",  "10.0.0.0/-1",  "10.0.0.0/8x",
					   "fd00::1/64", "eth0",	       "10.0.0.0/ 8", "/8" };
	struct lx_guard_prefix prefix;
	char text[LX_GUARD_PREFIX_TEXT];

	for (size_t i = 0; i < N_OF(good); i++) {
		assert_int_equal(lx_prefix_parse(good[i][0], prefix.addr, &prefix.bits), 0);
		assert_string_equal(lx_guard_format(&prefix, text), good[i][1]);
	}
	for (size_t i = 0; i < N_OF(bad); i++)
		assert_int_equal(lx_prefix_parse(bad[i], prefix.addr, &prefix.bits), -EINVAL);
}

static void test_lists(void **state)
{
	struct lx_guard_prefix_info *list;
	struct lx_guard_ban_info *ban_list;
	struct lx_guard_info info;
	struct lx_nid nid;
	size_t n;

	if (!guard)
		skip();
	setup_rules(true);
	add_ban("10.1.0.2@tcp3");
	add_prefix("10.0.0.0/8", LX_GUARD_DENY);
	CHECK(BANNED, V4);
	CHECK(DENIED, V4, .src = "10.1.0.3");
	assert_int_equal(lx_guard_bans(guard, &ban_list, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(lx_nid_str(&ban_list[0].nid), "10.1.0.2@tcp3");
	assert_int_equal(ban_list[0].packets, 2); /* XDP and TC */
	assert_int_equal(lx_guard_ban(guard, &ban_list[0].nid), -EEXIST);
	free(ban_list);
	assert_int_equal(lx_guard_prefixes(guard, &list, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].prefix, "10.0.0.0/8");
	assert_int_equal(list[0].action, LX_GUARD_DENY);
	assert_int_equal(list[0].syns, 2);
	free(list);
	assert_int_equal(lx_guard_rate(guard, 10, 20), 0);
	assert_int_equal(lx_guard_info(guard, &info), 0);
	assert_int_equal(info.rate, 10);
	assert_int_equal(info.burst, 20);
	assert_false(info.active); /* its interface does not exist */
	assert_int_equal(lx_nid_parse("10.9.0.1@tcp", &nid), 0);
	assert_int_equal(lx_guard_unban(guard, &nid), -ENOENT);
	assert_int_equal(lx_nid_parse("10.9.0.1@o2ib", &nid), 0);
	assert_int_equal(lx_guard_ban(guard, &nid), -EAFNOSUPPORT);
	drop_rules();
	assert_int_equal(lx_guard_prefix_del(guard, &prefixes[0]), -ENOENT);
}

/* Dropped sources are listed with the latest reason, most recent first. */
static void test_refusals(void **state)
{
	struct lx_guard_refusal_info *list;
	uint64_t start = lx_clock_ns(CLOCK_MONOTONIC);
	size_t n;

	if (!guard)
		skip();
	setup_rules(true);
	add_ban("10.1.0.9@tcp");
	add_prefix("10.2.0.0/16", LX_GUARD_DENY);
	CHECK(UNPRIVILEGED, V4, .src = "10.1.7.1", .sport = 40001);
	CHECK(UNPRIVILEGED, V4, .src = "10.1.7.1", .sport = 40002);
	CHECK(DENIED, V4, .src = "10.2.7.2");
	CHECK(UNPRIVILEGED, V6, .src = "fd00::7:3", .sport = 40003);
	CHECK(BANNED, V4, .src = "10.1.0.9"); /* not listed here, but with the bans */
	CHECK(ACCEPTED, V4, .src = "10.1.7.4");
	assert_int_equal(lx_guard_refusals(guard, &list, &n), 0);
	assert_true(n >= 3); /* plus those of earlier tests, whose frames are random */
	assert_string_equal(list[0].source, "fd00::7:3");
	assert_int_equal(list[0].verdict, LX_GUARD_UNPRIVILEGED);
	assert_int_equal(list[0].port, 40003);
	assert_int_equal(list[0].syns, 2); /* XDP and TC */
	assert_string_equal(list[1].source, "10.2.7.2");
	assert_int_equal(list[1].verdict, LX_GUARD_DENIED);
	assert_string_equal(list[2].source, "10.1.7.1");
	assert_int_equal(list[2].port, 40002);
	assert_int_equal(list[2].syns, 4);
	assert_in_range(list[2].age_s, 0, 60);
	assert_true(list[0].last_ns >= list[1].last_ns && list[1].last_ns >= list[2].last_ns);
	for (size_t i = 3; i < n; i++) /* no fourth one of this test's */
		assert_true(list[i].last_ns < start);
	free(list);
	drop_rules();
}

static int end(void **state)
{
	lx_guard_free(guard);
	lx_bpf_free(bpf);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secure),	   cmocka_unit_test(test_headers),
		cmocka_unit_test(test_fragments),  cmocka_unit_test(test_bans),
		cmocka_unit_test(test_prefixes),   cmocka_unit_test(test_rate),
		cmocka_unit_test(test_pays),	   cmocka_unit_test(test_same_everywhere),
		cmocka_unit_test(test_prefix_texts), cmocka_unit_test(test_lists),
		cmocka_unit_test(test_refusals),
	};

	rnd_init();
	kernel_open();
	return cmocka_run_group_tests(tests, NULL, end);
}
