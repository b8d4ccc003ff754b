/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Control messages: encoding and decoding structs, and hostile clients. */
#include <errno.h>
#include <sys/stat.h>

#include <internal/ctl.h>

#include "../../user/ctl/codec.h"
#include "testlib.h"

struct message {
	_Alignas(8) char buf[LX_CTL_PACKET];
	struct nlmsghdr *nlh;
	const void *attrs;
	size_t len;
};

static void begin(struct message *m)
{
	m->nlh = mnl_nlmsg_put_header(m->buf);
	mnl_nlmsg_put_extra_header(m->nlh, sizeof(struct lx_ctl_hdr));
}

static void finish(struct message *m)
{
	m->attrs = lx_codec_attrs(m->nlh, sizeof(struct lx_ctl_hdr), &m->len);
}

static void put(struct message *m, const struct lx_schema *schema, const void *obj)
{
	begin(m);
	assert_int_equal(lx_codec_put(m->nlh, sizeof(m->buf), schema, obj, LX_LEVEL_OWN), 0);
	finish(m);
}

static struct lx_nid nid_of(const char *text)
{
	struct lx_nid nid;

	assert_int_equal(lx_nid_parse(text, &nid), 0);
	return nid;
}

/* ---- round trips ------------------------------------------------------------------- */

static void test_net(void **state)
{
	struct lx_ctl_net net = { 0 }, got;
	struct message m;
	char text[200];

	net.ni.net = LX_NET(LX_NET_TCP, 3);
	net.ni.nid = nid_of("fd00::1@tcp3");
	strcpy(net.ni.ifname, "eth0");
	net.ni.tun = (struct lx_ni_tunables){ 180, -1, 0, 1 << 20 };
	net.n_lnd = 2;
	strcpy(net.lnd[0].name, "tos");
	net.lnd[0].value = -1;
	strcpy(net.lnd[1].name, "conns_per_peer");
	net.lnd[1].value = 4;
	put(&m, &lx_object_net_schema, &net);
	assert_int_equal(
		lx_codec_get(m.attrs, m.len, &lx_object_net_schema, &got, text, sizeof(text)), 0);
	assert_int_equal(got.ni.net, net.ni.net);
	assert_true(lx_nid_eq(&got.ni.nid, &net.ni.nid));
	assert_string_equal(got.ni.ifname, "eth0");
	assert_memory_equal(&got.ni.tun, &net.ni.tun, sizeof(net.ni.tun));
	assert_int_equal(got.n_lnd, 2);
	assert_string_equal(got.lnd[1].name, "conns_per_peer");
	assert_int_equal(got.lnd[0].value, -1);
	assert_int_equal(got.lnd[1].value, 4);
}

static void test_peer(void **state)
{
	struct lx_ctl_peer *peer = calloc(1, sizeof(*peer)), *got = malloc(sizeof(*got));
	struct message m;
	char text[200];

	peer->primary = nid_of("10.0.0.1@tcp");
	peer->lock_primary = true;
	peer->n_nids = LX_CTL_NIDS_MAX;
	for (int i = 0; i < LX_CTL_NIDS_MAX; i++)
		peer->nid[i] = nid_of("2001:db8::1@tcp");
	put(&m, &lx_object_peer_schema, peer);
	assert_int_equal(
		lx_codec_get(m.attrs, m.len, &lx_object_peer_schema, got, text, sizeof(text)), 0);
	assert_memory_equal(got, peer, sizeof(*peer));
	free(peer);
	free(got);
}

/* Attributes that a message lacks have defaults: not set. */
static void test_defaults(void **state)
{
	struct lx_ctl_show show;
	struct lx_conf_route route;
	struct lx_ctl_net net;
	struct lx_ctl_buffers buffers;
	char text[200];

	assert_int_equal(lx_codec_get("", 0, &lx_object_show_schema, &show, text, sizeof(text)), 0);
	assert_int_equal(show.net, LX_NET_U32_ANY);
	assert_true(lx_nid_eq(&show.gateway, &lx_nid_any));
	assert_int_equal(show.hop, LX_UNSET);
	assert_int_equal(show.level, 0);
	assert_int_equal(lx_codec_get("", 0, &lx_object_route_schema, &route, text, sizeof(text)),
			 0);
	assert_int_equal(route.priority, LX_UNSET);
	assert_int_equal(lx_codec_get("", 0, &lx_object_net_schema, &net, text, sizeof(text)), 0);
	assert_int_equal(net.ni.tun.credits, LX_UNSET);
	assert_int_equal(net.n_lnd, 0);
	assert_int_equal(
		lx_codec_get("", 0, &lx_object_buffers_schema, &buffers, text, sizeof(text)), 0);
	assert_int_equal(buffers.total[LX_POOL_LARGE], LX_UNSET);
}

/* The level selects the fields; a backup has those needed to configure the same again. */
static void test_levels(void **state)
{
	static const char *const names[] = { "timeout", NULL };
	struct lx_ni_info ni = { .net = LX_NET(LX_NET_TCP, 0),
				 .ifname = "eth0",
				 .lnd_tunable_names = names };
	static const struct {
		unsigned int level;
		bool nid, stats, sent, credits, tunables;
	} cases[] = {
		{ 0, true, false, false, false, false },
		{ 1, true, true, false, false, true },
		{ 2, true, true, true, false, true },
		{ LX_LEVEL_OWN, true, true, true, true, true },
		{ LX_LEVEL_BACKUP, false, false, false, false, true },
	};

	ni.nid = nid_of("10.0.0.1@tcp");
	for (size_t i = 0; i < N_OF(cases); i++) {
		struct message m;

		begin(&m);
		assert_int_equal(
			lx_codec_put(m.nlh, sizeof(m.buf), lx_object_nets.row, &ni, cases[i].level),
			0);
		finish(&m);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 2), cases[i].nid);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 5), cases[i].stats);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 6), cases[i].sent);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 20), cases[i].credits);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 10), cases[i].tunables);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 11), cases[i].tunables);
	}
}

/* A backup must name an NI's NID if its interface alone does not identify it. */
static void test_backup_given_nid(void **state)
{
	struct lx_ni_info ni = { .ifname = "eth0", .given = lx_nid_any };
	struct message m;

	ni.nid = nid_of("10.0.0.7@tcp");
	for (int given = 0; given < 2; given++) {
		if (given)
			ni.given = ni.nid;
		begin(&m);
		assert_int_equal(lx_codec_put(m.nlh, sizeof(m.buf), lx_object_nets.row, &ni,
					      LX_LEVEL_BACKUP),
				 0);
		finish(&m);
		assert_int_equal(!!lx_codec_find(m.attrs, m.len, 27), given);
	}
}

/* States are named in the order of their enum; unknown values are not looked up. */
static void test_names(void **state)
{
	static const struct {
		uint32_t state;
		const char *name;
	} cases[] = {
		{ LX_LANE_SHOWN_IDLE, "idle" },	  { LX_LANE_SHOWN_BUSY, "busy" },
		{ LX_LANE_SHOWN_DRAIN, "drain" }, { LX_LANE_SHOWN_SOCKET, "socket" },
		{ LX_LANE_SHOWN_DEAD, "dead" },	  { LX_LANE_SHOWN_COUNT, "?" },
	};

	for (size_t i = 0; i < N_OF(cases); i++) {
		struct lx_lane_info lane = { .state = cases[i].state };
		struct message m;

		begin(&m);
		assert_int_equal(lx_codec_put(m.nlh, sizeof(m.buf), lx_object_lanes.row, &lane, 0),
				 0);
		finish(&m);
		assert_string_equal(lx_codec_text(lx_codec_find(m.attrs, m.len, 5)), cases[i].name);
	}
}

/* A message without room for a field is left unchanged. */
static void test_no_room(void **state)
{
	struct lx_stats stats = { 0 };
	struct message m;
	size_t full;

	put(&m, lx_object_stats.row, &stats);
	full = m.nlh->nlmsg_len;
	for (size_t size = sizeof(struct nlmsghdr) + 4; size < full; size++) {
		begin(&m);
		assert_int_equal(
			lx_codec_put(m.nlh, size, lx_object_stats.row, &stats, LX_LEVEL_OWN),
			-EMSGSIZE);
		assert_int_equal(m.nlh->nlmsg_len, sizeof(struct nlmsghdr) + 4);
	}
}

/* No attribute number has two meanings in one message. */
static void check_numbers(const struct lx_schema *group, const struct lx_schema *row)
{
	bool seen[256] = { false };
	const struct lx_schema *both[] = { group, row };

	for (int i = 0; i < 2; i++) {
		for (const struct lx_field *f = both[i] ? both[i]->field : NULL; f && f->key; f++) {
			if (f->type == LX_FIELD_FIXED)
				continue;
			assert_true(f->attr);
			assert_false(seen[f->attr]);
			seen[f->attr] = true;
			if (f->sub)
				check_numbers(NULL, f->sub);
		}
	}
}

static const struct lx_ctl_shown *const objects[] = {
	&lx_object_nets,	&lx_object_peers,	 &lx_object_routes,
	&lx_object_udsps,	&lx_object_recovery,	 &lx_object_conns,
	&lx_object_pings,	&lx_object_routing_info, &lx_object_stats,
	&lx_object_tunables,	&lx_object_events,	 &lx_object_statuses,
	&lx_object_faults,	&lx_object_selftests,	 &lx_object_answers,
	&lx_object_columns,	&lx_object_bpf,		 &lx_object_bpf_features,
	&lx_object_bpf_sets,	&lx_object_bpf_hooks,	 &lx_object_bpf_tables,
	&lx_object_bpf_objects, &lx_object_streams,	 &lx_object_lanes,
	&lx_object_traces,	&lx_object_guards,	 &lx_object_bans,
	&lx_object_prefixes,	&lx_object_refusals
};

/* clang-format off */
#define REQUEST(name) { "request " #name, &lx_object_##name##_schema }
static const struct {
	const char *name;
	const struct lx_schema *schema;
} requests[] = {
	REQUEST(show), REQUEST(net), REQUEST(set), REQUEST(route), REQUEST(peer), REQUEST(udsp),
	REQUEST(udsp_del), REQUEST(ping), REQUEST(fault), REQUEST(selftest), REQUEST(routing),
	REQUEST(buffers), REQUEST(disconnect), REQUEST(value), REQUEST(guard), REQUEST(ban),
	REQUEST(prefix), REQUEST(filter), REQUEST(ask),
};
/* clang-format on */

static void test_numbers(void **state)
{
	for (size_t i = 0; i < N_OF(objects); i++)
		check_numbers(objects[i]->group, objects[i]->row);
	for (size_t i = 0; i < N_OF(requests); i++)
		check_numbers(NULL, requests[i].schema);
}

/* A line for each field: the keys that lead to it, and its number. */
static void list_numbers(FILE *out, const char *path, const struct lx_schema *schema)
{
	char below[200];

	for (const struct lx_field *f = schema ? schema->field : NULL; f && f->key; f++) {
		snprintf(below, sizeof(below), "%s.%s", path, f->key);
		if (f->attr)
			fprintf(out, "%s %u\n", below, f->attr);
		if (f->sub)
			list_numbers(out, below, f->sub);
	}
}

/* True if @text has a line that begins as @line, up to its end. */
static bool has_line(const char *text, const char *line)
{
	size_t len = strcspn(line, "\n");

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (!strncmp(text, line, len) && text[len] == '\n')
			return true;
	}
	return false;
}

/* Prints the lines of @text that @other lacks. Returns their number. */
static unsigned int missing_lines(const char *text, const char *other, const char *what)
{
	unsigned int n = 0;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		if (*text == '#' || *text == '\n' || has_line(other, text))
			continue;
		print_error("%s: %.*s\n", what, (int)strcspn(text, "\n"), text);
		n++;
	}
	return n;
}

/* A number that has been in a release keeps its meaning: other programs speak this protocol. */
static void test_frozen_numbers(void **state)
{
	static char file[64 << 10];
	FILE *in = fopen("tests/golden/ctl.numbers", "r");
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(in);
	file[fread(file, 1, sizeof(file) - 1, in)] = '\0';
	fclose(in);
	for (size_t i = 0; i < N_OF(objects); i++) {
		list_numbers(out, objects[i]->yaml, objects[i]->group);
		list_numbers(out, objects[i]->yaml, objects[i]->row);
	}
	for (size_t i = 0; i < N_OF(requests); i++)
		list_numbers(out, requests[i].name, requests[i].schema);
	fclose(out);
	assert_int_equal(missing_lines(text, file, "new, not yet in tests/golden/ctl.numbers") +
				 missing_lines(file, text, "gone, or has another number"),
			 0);
	free(text);
}

/* ---- hostile requests -------------------------------------------------------------- */

static void refuse(struct message *m, const struct lx_schema *schema, int error, const char *what)
{
	static struct lx_ctl_peer obj; /* the largest */
	char text[200] = "";
	int err;

	finish(m);
	err = lx_codec_get(m->attrs, m->len, schema, &obj, text, sizeof(text));
	if (err != error || !strstr(text, what))
		fail_msg("%d \"%s\", expected %d \"%s\"", err, text, error, what);
}

static void test_refused(void **state)
{
	struct nlattr *nest;
	struct message m;

	begin(&m);
	mnl_attr_put_strz(m.nlh, 1, "nonet");
	refuse(&m, &lx_object_route_schema, -EINVAL, "net: \"nonet\" is not a net");
	begin(&m);
	mnl_attr_put_strz(m.nlh, 2, "1.2.3@tcp");
	refuse(&m, &lx_object_route_schema, -EINVAL, "is not a NID (10.0.0.1@tcp, ...)");
	begin(&m);
	mnl_attr_put(m.nlh, 2, 3, "abc"); /* no NUL */
	refuse(&m, &lx_object_route_schema, -EPROTO, "gateway: not a string");
	begin(&m);
	mnl_attr_put(m.nlh, 2, 8, "10.0\0.1"); /* a NUL inside */
	refuse(&m, &lx_object_route_schema, -EPROTO, "gateway: not a string");
	begin(&m);
	mnl_attr_put(m.nlh, 2, 0, "");
	refuse(&m, &lx_object_route_schema, -EPROTO, "gateway: not a string");
	begin(&m);
	mnl_attr_put_u32(m.nlh, 3, 1);
	refuse(&m, &lx_object_route_schema, -EPROTO, "hop: not a number");
	begin(&m);
	mnl_attr_put_u64(m.nlh, 3, 1ULL << 31);
	refuse(&m, &lx_object_route_schema, -EINVAL, "hop: 2147483648 is not in 1..255");
	begin(&m);
	mnl_attr_put_u64(m.nlh, 2, 2);
	refuse(&m, &lx_object_peer_schema, -EINVAL, "Multi-Rail: 2 is not in 0..1");
	begin(&m);
	mnl_attr_put_u64(m.nlh, 99, 2);
	refuse(&m, &lx_object_peer_schema, -EOPNOTSUPP, "unknown attribute 99");
	begin(&m);
	mnl_attr_put_strz(m.nlh, 6, "a_name_that_is_longer_than_any_tunable_has");
	refuse(&m, &lx_object_show_schema, -EINVAL, "is too long");
	begin(&m);
	mnl_attr_put_strz(m.nlh, 2, "*");
	refuse(&m, &lx_object_route_schema, -EINVAL, "gateway: \"*\" is not a NID");
	begin(&m);
	mnl_attr_put_u64(m.nlh, 3, 1);
	mnl_attr_put_u64(m.nlh, 3, 2);
	refuse(&m, &lx_object_route_schema, -EPROTO, "hop: given twice");
	begin(&m);
	nest = mnl_attr_nest_start(m.nlh, 4);
	mnl_attr_nest_end(m.nlh, mnl_attr_nest_start(m.nlh, 1)); /* an NI without a NID */
	mnl_attr_nest_end(m.nlh, nest);
	refuse(&m, &lx_object_peer_schema, -EPROTO, "nid: missing");
	begin(&m);
	nest = mnl_attr_nest_start(m.nlh, 4);
	for (int i = 0; i <= LX_CTL_NIDS_MAX; i++) {
		struct nlattr *one = mnl_attr_nest_start(m.nlh, 1);

		mnl_attr_put_strz(m.nlh, 1, "10.0.0.1@tcp");
		mnl_attr_nest_end(m.nlh, one);
	}
	mnl_attr_nest_end(m.nlh, nest);
	refuse(&m, &lx_object_peer_schema, -EINVAL, "peer ni: more than 128");
}

/* A valid message with any byte removed or changed is decoded or refused. */
/* lnetxd's answer to one number as a field's value; "": it takes it. */
static const char *answer_to(const struct lx_schema *schema, const struct lx_field *f,
			     int64_t value)
{
	static struct lx_ctl_peer obj; /* the largest */
	static char text[200];
	struct message m;

	begin(&m);
	mnl_attr_put_u64(m.nlh, f->attr, (uint64_t)value);
	finish(&m);
	text[0] = '\0';
	lx_codec_get(m.attrs, m.len, schema, &obj, text, sizeof(text));
	return text;
}

/* A field's range holds for all requests, whoever sends them. */
static void test_ranges(void **state)
{
	unsigned int n = 0;

	for (size_t i = 0; i < N_OF(requests); i++) {
		for (const struct lx_field *f = requests[i].schema->field; f->key; f++) {
			if (!f->low && !f->high)
				continue;
			n++;
			assert_string_equal(answer_to(requests[i].schema, f, f->low), "");
			assert_string_equal(answer_to(requests[i].schema, f, f->high), "");
			assert_non_null(
				strstr(answer_to(requests[i].schema, f, f->high + 1), "is not in"));
			/* -1 means that it is not given. */
			if (f->low != 0 || f->omit != LX_OMIT_UNSET)
				assert_non_null(strstr(answer_to(requests[i].schema, f, f->low - 1),
						       "is not in"));
		}
	}
	assert_true(n > 10);
}

static void test_damaged(void **state)
{
	struct lx_ctl_peer *peer = calloc(1, sizeof(*peer)), *got = malloc(sizeof(*got));
	struct message m;
	char text[200], *copy;

	peer->primary = nid_of("10.0.0.1@tcp");
	peer->n_nids = 3;
	for (int i = 0; i < 3; i++)
		peer->nid[i] = nid_of("10.0.0.2@tcp");
	put(&m, &lx_object_peer_schema, peer);
	for (size_t len = 0; len < m.len; len++) {
		copy = malloc(len + 1); /* exact, so that a sanitizer detects reads beyond it */
		memcpy(copy, m.attrs, len);
		lx_codec_get(copy, len, &lx_object_peer_schema, got, text, sizeof(text));
		free(copy);
	}
	for (int i = 0; i < 20000; i++) {
		copy = malloc(m.len);
		memcpy(copy, m.attrs, m.len);
		for (int j = rnd_below(4); j >= 0; j--)
			copy[rnd_below(m.len)] = rnd();
		if (!lx_codec_get(copy, m.len, &lx_object_peer_schema, got, text, sizeof(text)))
			assert_true(got->n_nids <= LX_CTL_NIDS_MAX);
		free(copy);
	}
	free(peer);
	free(got);
}

/* Lengths that libmnl takes for negative numbers, and lengths too long and too short. */
static void test_message_length(void **state)
{
	static const uint32_t lengths[] = { 0,	15,	    16,		19,	   21,
					    24, 0x7fffffff, 0x80000000, 0xffffffff };
	_Alignas(8) char buf[20] = { 0 };
	struct nlmsghdr *nlh = (struct nlmsghdr *)buf;

	for (size_t i = 0; i < N_OF(lengths); i++) {
		nlh->nlmsg_len = lengths[i];
		assert_null(lx_codec_message(buf, sizeof(buf), sizeof(struct lx_ctl_hdr)));
	}
	nlh->nlmsg_len = 20;
	assert_ptr_equal(lx_codec_message(buf, 20, sizeof(struct lx_ctl_hdr)), buf);
	for (size_t len = 0; len < 20; len++)
		assert_null(lx_codec_message(buf, len, sizeof(struct lx_ctl_hdr)));
}

/* ---- the socket's name ------------------------------------------------------------- */

static void test_instance(void **state)
{
	static const char *const bad[] = { "", "a/b", "../x", ".x", "a b", "a\n" };
	char name[LX_INSTANCE_TEXT], path[108], want[64], longest[80];
	struct stat st;

	unsetenv("LNETX_INSTANCE");
	unsetenv("LNETX_RUNDIR");
	for (size_t i = 0; i < N_OF(bad); i++)
		assert_int_equal(lx_ctl_instance(bad[i], name, sizeof(name)), -EINVAL);
	memset(longest, 'x', sizeof(longest));
	longest[LX_INSTANCE_TEXT] = '\0';
	assert_int_equal(lx_ctl_instance(longest, name, sizeof(name)), -EINVAL);
	longest[LX_INSTANCE_TEXT - 1] = '\0';
	assert_int_equal(lx_ctl_instance(longest, name, sizeof(name)), 0);

	assert_int_equal(lx_ctl_instance("router-1.a", name, sizeof(name)), 0);
	assert_int_equal(lx_ctl_path(name, path, sizeof(path)), 0);
	assert_string_equal(path, "/run/lnetx/router-1.a.sock");

	assert_int_equal(lx_ctl_instance(NULL, name, sizeof(name)), 0);
	assert_int_equal(stat("/proc/self/ns/net", &st), 0);
	snprintf(want, sizeof(want), "net-%lu", (unsigned long)st.st_ino);
	assert_string_equal(name, want);

	setenv("LNETX_INSTANCE", "from-env", 1);
	assert_int_equal(lx_ctl_instance(NULL, name, sizeof(name)), 0);
	assert_string_equal(name, "from-env");
	assert_int_equal(lx_ctl_instance("given", name, sizeof(name)), 0);
	assert_string_equal(name, "given");
	setenv("LNETX_RUNDIR", "/tmp/x", 1);
	assert_int_equal(lx_ctl_path(name, path, sizeof(path)), 0);
	assert_string_equal(path, "/tmp/x/given.sock");
	assert_int_equal(lx_ctl_path(name, path, 10), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_net),
		cmocka_unit_test(test_peer),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_backup_given_nid),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_frozen_numbers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_message_length),
		cmocka_unit_test(test_instance),
	};

	rnd_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
