/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * liblnetxctl against daemons that misbehave: a thread plays lnetxd and sends prepared answers.
 * Also arguments and rows alone. For tests against lnetxd see test_ctl_daemon.c.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <lnetx/ctl.h>

#include "../../user/ctl/codec.h"
#include "../../user/ctl/args.h"
#include "../../user/ctl/row.h"
#include "testlib.h"

#define PACKETS_MAX 8
#define ANSWERS_MAX 4

struct packet {
	_Alignas(8) char data[LX_CTL_PACKET + 8];
	size_t len;
};

/* The n-th connection gets the n-th answer, then is closed unless @stay. */
struct answer {
	struct packet packet[PACKETS_MAX];
	unsigned int n;
	bool stay; /* until the test ends */
};

static struct {
	char dir[64], path[100];
	int listener;
	pthread_t thread;
	struct answer answer[ANSWERS_MAX];
	unsigned int connections;
	struct packet request; /* the last one */
	int kept[ANSWERS_MAX];
	unsigned int n_kept;
} fake;

static struct lx_ctl *ctl;

/* ---- the fake daemon --------------------------------------------------------------- */

static void serve_one(int fd, const struct answer *a)
{
	ssize_t got = recv(fd, fake.request.data, sizeof(fake.request.data), 0);

	fake.request.len = got > 0 ? got : 0;
	for (unsigned int i = 0; i < a->n; i++)
		send(fd, a->packet[i].data, a->packet[i].len, MSG_NOSIGNAL);
	if (a->stay)
		fake.kept[fake.n_kept++] = fd;
	else
		close(fd);
}

static void *serve(void *arg)
{
	int fd;

	while ((fd = accept(fake.listener, NULL, NULL)) >= 0) {
		unsigned int at = __atomic_fetch_add(&fake.connections, 1, __ATOMIC_SEQ_CST);

		if (at >= ANSWERS_MAX)
			abort();
		serve_one(fd, &fake.answer[at]);
	}
	return NULL;
}

static int setup(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };

	memset(&fake, 0, sizeof(fake));
	strcpy(fake.dir, "/tmp/lnetx-test-XXXXXX");
	assert_non_null(mkdtemp(fake.dir));
	snprintf(fake.path, sizeof(fake.path), "%s/lnetxd.sock", fake.dir);
	strcpy(sa.sun_path, fake.path);
	fake.listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(fake.listener, (struct sockaddr *)&sa, sizeof(sa)), 0);
	assert_int_equal(listen(fake.listener, 8), 0);
	assert_int_equal(lx_ctl_new(fake.path, &ctl), 0);
	return 0;
}

static void start_serving(void)
{
	assert_int_equal(pthread_create(&fake.thread, NULL, serve, NULL), 0);
}

static int teardown(void **state)
{
	lx_ctl_free(ctl);
	shutdown(fake.listener, SHUT_RDWR);
	if (fake.thread)
		pthread_join(fake.thread, NULL);
	for (unsigned int i = 0; i < fake.n_kept; i++)
		close(fake.kept[i]);
	close(fake.listener);
	unlink(fake.path);
	rmdir(fake.dir);
	return 0;
}

/* ---- answers ----------------------------------------------------------------------- */

static struct packet *add_packet(struct answer *a)
{
	assert_true(a->n < PACKETS_MAX);
	return &a->packet[a->n++];
}

/* The next message of a packet. */
static struct nlmsghdr *message(struct packet *p, uint16_t type)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(p->data + p->len);

	nlh->nlmsg_type = type;
	return nlh;
}

static void end_message(struct packet *p, const struct nlmsghdr *nlh)
{
	p->len += MNL_ALIGN(nlh->nlmsg_len);
}

static struct nlmsghdr *row(struct packet *p, unsigned int version)
{
	struct nlmsghdr *nlh = message(p, LX_CTL_TYPE);
	struct lx_ctl_hdr *hdr = mnl_nlmsg_put_extra_header(nlh, sizeof(*hdr));

	hdr->version = version;
	return nlh;
}

static void add_ni(struct packet *p, const char *net, const char *nid)
{
	struct nlmsghdr *nlh = row(p, LX_CTL_VERSION);

	mnl_attr_put_strz(nlh, 1, net);
	mnl_attr_put_strz(nlh, 2, nid);
	end_message(p, nlh);
}

static void add_done(struct packet *p, int32_t error)
{
	struct nlmsghdr *nlh = message(p, NLMSG_DONE);

	*(int32_t *)mnl_nlmsg_put_extra_header(nlh, sizeof(error)) = error;
	end_message(p, nlh);
}

static void add_error(struct packet *p, int error, const char *text, const char *object)
{
	struct nlmsghdr *nlh = message(p, NLMSG_ERROR);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = error;
	if (text)
		mnl_attr_put_strz(nlh, LX_CTL_ERR_TEXT, text);
	if (object)
		mnl_attr_put_strz(nlh, LX_CTL_ERR_OBJECT, object);
	if (!error)
		mnl_attr_put_u64(nlh, LX_CTL_ERR_COUNT, 3);
	end_message(p, nlh);
}

/* The outcome of the last call, whose text contains @text. */
static void is_why(int error, enum lx_ctl_origin origin, const char *text)
{
	const struct lx_ctl_error *why = lx_ctl_why(ctl);

	if (why->error != error || why->origin != origin || !strstr(why->text, text))
		fail_msg("error %d from %d: %s; not %d from %d: %s", why->error, why->origin,
			 why->text, error, origin, text);
}

/* ---- whole answers ----------------------------------------------------------------- */

static void test_rows(void **state)
{
	struct answer *a = &fake.answer[0];
	struct packet *p = add_packet(a);
	struct lx_ctl_row ni;

	add_ni(p, "lo", "0@lo");
	add_ni(p, "tcp", "10.0.0.1@tcp");
	p = add_packet(a);
	add_ni(p, "tcp", "10.0.0.2@tcp");
	add_done(p, 0);
	start_serving();
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), 1);
	assert_string_equal(lx_ctl_text(&ni, "nid"), "0@lo");
	assert_string_equal(lx_ctl_text(&ni, "net type"), "lo");
	assert_int_equal(lx_ctl_next(ctl, &ni), 1);
	assert_string_equal(lx_ctl_text(&ni, "net_type"), "tcp");
	assert_int_equal(lx_ctl_next(ctl, &ni), 1);
	assert_string_equal(lx_ctl_text(&ni, "nid"), "10.0.0.2@tcp");
	assert_int_equal(lx_ctl_next(ctl, &ni), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), 0);
	is_why(0, LX_CTL_FROM_DAEMON, "");
}

static void reconnect(void)
{
	lx_ctl_free(ctl);
	assert_int_equal(lx_ctl_new(fake.path, &ctl), 0);
}

static void test_outcomes(void **state)
{
	add_error(add_packet(&fake.answer[0]), -ENOENT, "route tcp1: none", "route");
	add_error(add_packet(&fake.answer[1]), -EBUSY, NULL, NULL);
	add_error(add_packet(&fake.answer[2]), 0, "in 3 s", NULL);
	start_serving();
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_ROUTE, NULL), -ENOENT);
	is_why(-ENOENT, LX_CTL_FROM_DAEMON, "route tcp1: none");
	assert_string_equal(lx_ctl_why(ctl)->object, "route");
	assert_int_equal(lx_ctl_why(ctl)->count, -1);
	reconnect();
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), -EBUSY);
	is_why(-EBUSY, LX_CTL_FROM_DAEMON, "Device or resource busy");
	reconnect();
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_CONN, NULL), 0);
	is_why(0, LX_CTL_FROM_DAEMON, "in 3 s");
	assert_int_equal(lx_ctl_why(ctl)->count, 3);
}

/* A daemon that was restarted between two requests: the second one goes to the new one. */
static void test_restarted(void **state)
{
	struct pollfd closed;

	add_error(add_packet(&fake.answer[0]), 0, NULL, NULL);
	add_error(add_packet(&fake.answer[1]), 0, "new", NULL);
	start_serving();
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), 0);
	closed = (struct pollfd){ .fd = lx_ctl_fd(ctl), .events = POLLIN };
	assert_int_equal(poll(&closed, 1, -1), 1);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), 0);
	is_why(0, LX_CTL_FROM_DAEMON, "new");
}

static void test_gone(void **state)
{
	struct lx_ctl_row ni;

	add_ni(add_packet(&fake.answer[0]), "tcp", "10.0.0.1@tcp");
	add_done(add_packet(&fake.answer[1]), 0);
	start_serving();
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), 1);
	assert_int_equal(lx_ctl_next(ctl, &ni), -ECONNRESET);
	is_why(-ECONNRESET, LX_CTL_FROM_CONNECTION, "lost the connection");
	assert_int_equal(lx_ctl_next(ctl, &ni), -ECONNRESET);
	assert_int_equal(lx_ctl_fd(ctl), -1);
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), 0);
}

/* The rest of an answer does not become part of the next one. */
static void test_discard(void **state)
{
	struct lx_ctl_row ni;

	add_ni(add_packet(&fake.answer[0]), "tcp", "10.0.0.1@tcp");
	add_ni(add_packet(&fake.answer[0]), "tcp", "10.0.0.2@tcp");
	fake.answer[0].stay = true;
	add_error(add_packet(&fake.answer[1]), 0, NULL, NULL);
	start_serving();
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), 1);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_ADD, LX_CTL_STATS, NULL), -EINVAL);
	assert_int_equal(lx_ctl_next(ctl, &ni), -EINVAL);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), 0);
	assert_int_equal(fake.connections, 2);
}

static void test_version(void **state)
{
	struct packet *p = add_packet(&fake.answer[0]);
	struct lx_ctl_row ni;

	end_message(p, row(p, LX_CTL_VERSION + 1));
	start_serving();
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), -EPROTONOSUPPORT);
	is_why(-EPROTONOSUPPORT, LX_CTL_FROM_CONNECTION, "version 2 of the control protocol");
}

/* ---- answers that are wrong -------------------------------------------------------- */

static void a_short_header(struct packet *p)
{
	add_done(p, 0);
	p->len = sizeof(struct nlmsghdr) - 1;
}

static void a_long_length(struct packet *p)
{
	add_done(p, 0);
	((struct nlmsghdr *)p->data)->nlmsg_len += 4;
}

static void a_huge_length(struct packet *p)
{
	add_done(p, 0);
	((struct nlmsghdr *)p->data)->nlmsg_len = UINT32_MAX - 3;
}

static void no_length(struct packet *p)
{
	add_done(p, 0);
	((struct nlmsghdr *)p->data)->nlmsg_len = 0;
}

static void an_end_without_number(struct packet *p)
{
	end_message(p, message(p, NLMSG_DONE));
}

static void an_error_cut_short(struct packet *p)
{
	struct nlmsghdr *nlh = message(p, NLMSG_ERROR);

	mnl_nlmsg_put_extra_header(nlh, sizeof(int32_t));
	end_message(p, nlh);
}

static void a_positive_errno(struct packet *p)
{
	add_done(p, ENOENT);
}

static void another_type(struct packet *p)
{
	struct nlmsghdr *nlh = message(p, 16);

	mnl_nlmsg_put_extra_header(nlh, 16);
	end_message(p, nlh);
}

static void no_control_header(struct packet *p)
{
	end_message(p, message(p, LX_CTL_TYPE));
}

static void bytes_after_a_row(struct packet *p)
{
	add_ni(p, "tcp", "10.0.0.1@tcp");
	memset(p->data + p->len, 0xff, 12);
	p->len += 12;
}

static void too_large(struct packet *p)
{
	add_done(p, 0);
	p->len = LX_CTL_PACKET + 8;
}

static void test_malformed(void **state)
{
	static void (*const forms[])(struct packet *p) = {
		a_short_header,	      a_long_length,	  a_huge_length,    no_length,
		an_end_without_number, an_error_cut_short, a_positive_errno, another_type,
		no_control_header,     bytes_after_a_row,  too_large,
	};
	struct lx_ctl_row ni;

	for (size_t i = 0; i < N_OF(forms); i++) {
		int more;

		if (i) {
			teardown(state);
			setup(state);
		}
		forms[i](add_packet(&fake.answer[0]));
		add_done(add_packet(&fake.answer[1]), 0);
		start_serving();
		assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
		do {
			more = lx_ctl_next(ctl, &ni);
		} while (more == 1);
		if (more != -EPROTO)
			fail_msg("form %zu: %d, %s", i, more, lx_ctl_why(ctl)->text);
		is_why(-EPROTO, LX_CTL_FROM_CONNECTION, "Protocol error");
		assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
		assert_int_equal(lx_ctl_next(ctl, &ni), 0);
	}
}

/* Damaged rows: walking them reads nothing beyond their end. */
static void walk(const struct lx_ctl_row *r, unsigned int depth)
{
	struct lx_ctl_value v = { 0 };
	unsigned int n = 0;

	assert_true(depth < 8);
	while (lx_ctl_each(r, &v)) {
		assert_true(++n <= LX_CTL_PACKET / 4 + 256);
		assert_int_not_equal(v.type, LX_CTL_NONE);
		if (v.type == LX_CTL_TEXT)
			assert_true(strlen(v.text) < LX_CTL_PACKET);
		if (v.type == LX_CTL_MAP || v.type == LX_CTL_LIST)
			walk(&v.inside, depth + 1);
	}
}

static void test_mutated_rows(void **state)
{
	static const struct lx_ctl_shown *const objects[] = {
		&lx_object_nets,  &lx_object_peers, &lx_object_bpf,
		&lx_object_stats, &lx_object_udsps,
	};
	static const char *const lnd_names[] = { "conns_per_peer", "tos", NULL };
	struct lx_ni_info ni = { .ifname = "eth0", .lnd_tunable_names = lnd_names,
				 .udsp = { .n_gateways = 2, .n_sources = 1 } };
	struct packet p = { .len = 0 };
	struct nlmsghdr *nlh = row(&p, LX_CTL_VERSION);
	size_t len;
	const void *attrs;

	assert_int_equal(lx_codec_put(nlh, LX_CTL_PACKET, lx_object_nets.group, &ni, 9), 0);
	assert_int_equal(lx_codec_put(nlh, LX_CTL_PACKET, lx_object_nets.row, &ni, 9), 0);
	attrs = lx_codec_attrs(nlh, sizeof(struct lx_ctl_hdr), &len);
	for (int i = 0; i < 20000; i++) {
		const struct lx_ctl_shown *o = objects[rnd_below(N_OF(objects))];
		size_t cut = rnd_below(4) ? len : rnd_below(len + 1);
		char *copy = malloc(cut ? cut : 1); /* exact size, for sanitizers */
		struct lx_ctl_row r;

		memcpy(copy, attrs, cut);
		for (unsigned int n = rnd_below(4); n && cut; n--)
			copy[rnd_below(cut)] = rnd();
		lx_ctl_row_of(&r, o->group, o->row, copy, cut, LX_LEVEL_OWN);
		walk(&r, 0);
		free(copy);
	}
}

/* ---- waiting ----------------------------------------------------------------------- */

static void test_silence(void **state)
{
	struct lx_ctl_row ni;

	fake.answer[0].stay = fake.answer[1].stay = true;
	add_error(add_packet(&fake.answer[2]), 0, NULL, NULL);
	start_serving();
	lx_ctl_set_timeout(ctl, 20);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), -ETIMEDOUT);
	is_why(-ETIMEDOUT, LX_CTL_FROM_CONNECTION, "within 20 ms");
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_EVENT, NULL), 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), -ETIMEDOUT);
	lx_ctl_set_timeout(ctl, 0);
	assert_int_equal(lx_ctl_next(ctl, &ni), -ETIMEDOUT);
	lx_ctl_set_timeout(ctl, -1);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), 0);
}

static void add_noop(struct packet *p)
{
	end_message(p, message(p, NLMSG_NOOP));
}

/* An lnetxd that works on it says so; one that says nothing any more is named. */
static void test_signs_of_life(void **state)
{
	struct answer *a = &fake.answer[0];
	char pid[32];

	add_noop(add_packet(a));
	add_noop(add_packet(a));
	a->stay = true;
	add_noop(add_packet(&fake.answer[1]));
	add_error(add_packet(&fake.answer[1]), 0, NULL, NULL);
	start_serving();
	lx_ctl_set_timeout(ctl, 50);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), -ETIMEDOUT);
	snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
	is_why(-ETIMEDOUT, LX_CTL_FROM_CONNECTION, pid);
	assert_true(((struct nlmsghdr *)fake.request.data)->nlmsg_flags & NLM_F_ACK);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), 0);
	/* A client that does not ask for them gets none. */
	lx_ctl_free(ctl);
	assert_int_equal(lx_ctl_new(fake.path, &ctl), 0);
	add_error(add_packet(&fake.answer[2]), 0, NULL, NULL);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), 0);
	assert_false(((struct nlmsghdr *)fake.request.data)->nlmsg_flags & NLM_F_ACK);
}

/* With an event loop: poll the descriptor, read until there is nothing. */
static void test_poll(void **state)
{
	struct packet *p = add_packet(&fake.answer[0]);
	struct lx_ctl_row event;
	struct pollfd fd;

	add_ni(p, "tcp", "10.0.0.1@tcp");
	add_ni(p, "tcp", "10.0.0.2@tcp");
	fake.answer[0].stay = true;
	start_serving();
	assert_int_equal(lx_ctl_fd(ctl), -1);
	lx_ctl_set_timeout(ctl, 0);
	assert_int_equal(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL), 0);
	fd = (struct pollfd){ .fd = lx_ctl_fd(ctl), .events = POLLIN };
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_int_equal(lx_ctl_next(ctl, &event), 1);
	assert_int_equal(lx_ctl_next(ctl, &event), 1);
	assert_int_equal(lx_ctl_next(ctl, &event), -ETIMEDOUT);
}

/* The daemon does not accept, and the queue of connections is full. */
static void test_busy(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd[64], n = 0;

	strcpy(sa.sun_path, fake.path);
	do {
		assert_true(n < (int)N_OF(fd));
		fd[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
	} while (!connect(fd[n++], (struct sockaddr *)&sa, sizeof(sa)));
	lx_ctl_set_timeout(ctl, 20);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), -ETIMEDOUT);
	is_why(-ETIMEDOUT, LX_CTL_FROM_CONNECTION, "cannot reach lnetxd at");
	while (n)
		close(fd[--n]);
}

static void test_absent(void **state)
{
	static char far[200];
	struct lx_ctl *other;

	unlink(fake.path);
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_DEL, LX_CTL_STATS, NULL), -ENOENT);
	is_why(-ENOENT, LX_CTL_FROM_CONNECTION, fake.path);

	memset(far, 'a', sizeof(far) - 1);
	far[0] = '/';
	assert_int_equal(lx_ctl_new(far, &other), 0);
	assert_int_equal(lx_ctl_do(other, LX_CTL_DEL, LX_CTL_STATS, NULL), -ENAMETOOLONG);
	lx_ctl_free(other);
	assert_int_equal(lx_ctl_new("a/b", &other), 0);
	assert_int_equal(lx_ctl_do(other, LX_CTL_DEL, LX_CTL_STATS, NULL), -EINVAL);
	assert_non_null(strstr(lx_ctl_why(other)->text, "letters, digits"));
	lx_ctl_free(other);
	lx_ctl_free(NULL);
}

/* ---- arguments --------------------------------------------------------------------- */

static void refused(enum lx_ctl_verb verb, enum lx_ctl_object object, const char *key,
		    const char *value, const char *text)
{
	const struct lx_ctl_arg args[] = { { key, value }, { NULL, NULL } };

	assert_int_equal(lx_ctl_do(ctl, verb, object, args), -EINVAL);
	is_why(-EINVAL, LX_CTL_FROM_CALLER, text);
	assert_string_equal(lx_ctl_why(ctl)->object, lx_ctl_object_name(object));
	assert_string_equal(lx_ctl_why(ctl)->word, key);
	assert_int_equal(lx_ctl_fd(ctl), -1); /* nothing was sent */
}

static void test_bad_arguments(void **state)
{
	const struct lx_ctl_arg twice[] = { { "net", "tcp" }, { "net", "tcp1" }, { NULL, NULL } };

	refused(LX_CTL_ADD, LX_CTL_ROUTE, "hops", "1", "did you mean \"hop\"?");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "colour", "1", "known: net, gateway, hop");
	refused(LX_CTL_DEL, LX_CTL_STATS, "all", "true", "known: none");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "hop", "two", "\"two\" is not a number");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "hop", "", "\"\" is not a number");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "hop", "1x", "\"1x\" is not a number");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "hop", "99999999999", "99999999999 is not in 1..255");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "hop", "99999999999999999999",
		"99999999999999999999 is not in 1..255");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "net", "nosuch", "net: \"nosuch\" is not a net");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "gateway", "*", "gateway: \"*\" is not a NID");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "net", NULL, "no value");
	refused(LX_CTL_ADD, LX_CTL_ROUTE, "net.x", "tcp", "no such argument");
	refused(LX_CTL_ADD, LX_CTL_NET, "tunables", "8", "no such argument");
	refused(LX_CTL_ADD, LX_CTL_NET, "tunables.credit", "8", "did you mean");
	refused(LX_CTL_ADD, LX_CTL_NET, "lnd_tunables", "8", "the element's name is missing");
	refused(LX_CTL_ADD, LX_CTL_PEER, "peer_ni.x", "1@tcp", "its elements have no names");
	refused(LX_CTL_ADD, LX_CTL_PEER, "Multi-Rail", "maybe", "\"maybe\" is not true or false");
	refused(LX_CTL_ADD, LX_CTL_PEER, "Multi-Rail", "2", "\"2\" is not true or false");
	refused(LX_CTL_ADD, LX_CTL_NODE, "all", "yes", "\"true\" or \"false\"");
	refused(LX_CTL_SET, LX_CTL_GUARD, "mode", "magic", "native, generic or tc is expected");
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_ADD, LX_CTL_ROUTE, twice), -EINVAL);
	is_why(-EINVAL, LX_CTL_FROM_CALLER, "given twice");
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_ADD, LX_CTL_STATS, NULL), -EINVAL);
	is_why(-EINVAL, LX_CTL_FROM_CALLER, "statistics: no verb \"add\"");
	assert_int_equal(lx_ctl_do(ctl, (enum lx_ctl_verb)9, (enum lx_ctl_object)99, NULL), -EINVAL);
	is_why(-EINVAL, LX_CTL_FROM_CALLER, "no such object");
}

/* Asserts that the fake got this command with these flags; decodes it to @obj by @schema. */
static void got(uint8_t command, uint16_t flags, const struct lx_schema *schema, void *obj)
{
	const struct nlmsghdr *nlh =
		lx_codec_message(fake.request.data, fake.request.len, sizeof(struct lx_ctl_hdr));
	const struct lx_ctl_hdr *hdr = mnl_nlmsg_get_payload(nlh);
	const void *attrs;
	char text[200];
	size_t len;

	assert_int_equal(hdr->command, command);
	assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST | flags);
	attrs = lx_codec_attrs(nlh, sizeof(*hdr), &len);
	if (schema)
		assert_int_equal(lx_codec_get(attrs, len, schema, obj, text, sizeof(text)), 0);
	else
		assert_int_equal(len, 0);
}

static void send_it(enum lx_ctl_verb verb, enum lx_ctl_object object, const struct lx_ctl_arg *args)
{
	static void *state;

	if (fake.thread) {
		teardown(&state);
		setup(&state);
	}
	add_error(add_packet(&fake.answer[0]), 0, NULL, NULL);
	start_serving();
	if (lx_ctl_do(ctl, verb, object, args))
		fail_msg("%s", lx_ctl_why(ctl)->text);
}

static void test_net_arguments(void **state)
{
	const struct lx_ctl_arg args[] = {
		{ "lnd tunables.conns_per_peer", "4" }, { "net type", "tcp3" },
		{ "tunables.peer_credits", "010" }, { "interfaces", "eth0" },
		{ "lnd_tunables.tos", "-1" }, { "tunables.credits", "0x100" }, { NULL, NULL }
	};
	struct lx_ctl_net net;

	send_it(LX_CTL_ADD, LX_CTL_NET, args);
	got(LX_CTL_CMD_NETS, NLM_F_CREATE, &lx_object_net_schema, &net);
	assert_int_equal(net.ni.net, LX_NET(LX_NET_TCP, 3));
	assert_string_equal(net.ni.ifname, "eth0");
	assert_int_equal(net.ni.tun.peer_credits, 8);
	assert_int_equal(net.ni.tun.credits, 256);
	assert_int_equal(net.ni.tun.peer_timeout, -1);
	assert_int_equal(net.n_lnd, 2);
	assert_string_equal(net.lnd[0].name, "conns_per_peer");
	assert_int_equal(net.lnd[0].value, 4);
	assert_string_equal(net.lnd[1].name, "tos");
	assert_int_equal(net.lnd[1].value, -1);
}

static void test_peer_arguments(void **state)
{
	const struct lx_ctl_arg args[] = { { "peer_ni", "10.0.0.2@tcp" },
					   { "primary_nid", "10.0.0.1@tcp" },
					   { "peer_ni", "fd00::3@tcp" }, { NULL, NULL } };
	struct lx_ctl_peer *peer = calloc(1, sizeof(*peer));

	send_it(LX_CTL_ADD, LX_CTL_PEER, args);
	got(LX_CTL_CMD_PEERS, NLM_F_CREATE, &lx_object_peer_schema, peer);
	assert_string_equal(lx_nid_str(&peer->primary), "10.0.0.1@tcp");
	assert_true(peer->multi_rail); /* as lnetctl does */
	assert_int_equal(peer->n_nids, 2);
	assert_string_equal(lx_nid_str(&peer->nid[1]), "fd00::3@tcp");
	free(peer);
}

static void test_other_arguments(void **state)
{
	const struct lx_ctl_arg all[] = { { "all", "true" }, { "large", "true" }, { NULL, NULL } };
	const struct lx_ctl_arg nid[] = { { "nid", "10.0.0.1@tcp" }, { "force", "true" },
					  { NULL, NULL } };
	const struct lx_ctl_arg deny[] = { { "prefix", "10.0.0.0/8" }, { "action", "deny" },
					   { NULL, NULL } };
	const struct lx_ctl_arg puts[] = { { "type", "put" }, { NULL, NULL } };
	const struct lx_ctl_arg level[] = { { "level", "2" }, { NULL, NULL } };
	const struct lx_ctl_arg priority[] = { { "src", "tcp" }, { "action.priority", "0" },
					       { NULL, NULL } };
	struct lx_ctl_prefix prefix;
	struct lx_ctl_filter filter;
	struct lx_ctl_ping ping;
	struct lx_ctl_show show;
	struct lx_conf_udsp udsp;

	send_it(LX_CTL_ADD, LX_CTL_NODE, NULL);
	got(LX_CTL_CMD_CONFIGURE, NLM_F_CREATE | NLM_F_EXCL, NULL, NULL);
	send_it(LX_CTL_ADD, LX_CTL_NODE, all);
	got(LX_CTL_CMD_CONFIGURE, NLM_F_CREATE | NLM_F_APPEND, NULL, NULL);
	send_it(LX_CTL_SHOW, LX_CTL_DISCOVER, nid);
	got(LX_CTL_CMD_PING, NLM_F_CREATE | NLM_F_EXCL, &lx_object_ping_schema, &ping);
	assert_int_equal(ping.timeout_ms, 1000);
	send_it(LX_CTL_ADD, LX_CTL_PREFIX, deny);
	got(LX_CTL_CMD_PREFIXES, NLM_F_CREATE, &lx_object_prefix_schema, &prefix);
	assert_int_equal(prefix.action, 2);
	send_it(LX_CTL_SHOW, LX_CTL_TRACE, puts);
	got(LX_CTL_CMD_TRACE, NLM_F_DUMP, &lx_object_filter_schema, &filter);
	assert_int_equal(filter.type, LX_MSG_PUT);
	send_it(LX_CTL_SHOW, LX_CTL_PEER, NULL);
	got(LX_CTL_CMD_PEERS, NLM_F_DUMP, &lx_object_show_schema, &show);
	assert_int_equal(show.level, LX_LEVEL_OWN);
	send_it(LX_CTL_SHOW, LX_CTL_PEER, level);
	got(LX_CTL_CMD_PEERS, NLM_F_DUMP, &lx_object_show_schema, &show);
	assert_int_equal(show.level, 2);
	send_it(LX_CTL_ADD, LX_CTL_UDSP, priority);
	got(LX_CTL_CMD_UDSP, NLM_F_CREATE, &lx_object_udsp_schema, &udsp);
	assert_int_equal(udsp.priority, 0);
}

static void test_too_many(void **state)
{
	struct lx_ctl_arg *args = calloc(2002, sizeof(*args));

	for (int i = 0; i < 2000; i++)
		args[i] = (struct lx_ctl_arg){ "peer_ni", "10.0.0.1@tcp" };
	assert_int_equal(lx_ctl_do(ctl, LX_CTL_ADD, LX_CTL_PEER, args), -EINVAL);
	is_why(-EINVAL, LX_CTL_FROM_CALLER, "more than 128");
	assert_string_equal(lx_ctl_why(ctl)->word, "peer_ni");
	free(args);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_rows),
		TEST(test_outcomes),
		TEST(test_restarted),
		TEST(test_gone),
		TEST(test_discard),
		TEST(test_version),
		TEST(test_malformed),
		TEST(test_mutated_rows),
		TEST(test_silence),
		TEST(test_signs_of_life),
		TEST(test_poll),
		TEST(test_busy),
		TEST(test_absent),
		TEST(test_bad_arguments),
		TEST(test_net_arguments),
		TEST(test_peer_arguments),
		TEST(test_other_arguments),
		TEST(test_too_many),
	};

	rnd_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
