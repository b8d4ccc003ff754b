/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fake core; see the header. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "../../lnd/sock/sock.h"
#include "fakeclock.h"
#include "fakecore.h"
#include "testlib.h"

static struct lx_list nodes = { &nodes, &nodes }; /* changes with the lock of their environment */

static struct fake_node *node_of(struct lx_ni *ni)
{
	return lx_container_of(ni, struct fake_node, ni);
}

/* ---- messages ----------------------------------------------------------- */

/* Splits a buffer into fragments of different lengths. */
static void cut(struct fake_msg *msg)
{
	size_t at = 0, part;

	msg->m.payload.iov = msg->iov;
	for (unsigned int i = 0; i < N_OF(msg->iov) && at < msg->len; i++, at += part) {
		part = i + 1 == N_OF(msg->iov) ? msg->len - at : msg->len / 5 + 7 * i + 1;
		if (part > msg->len - at)
			part = msg->len - at;
		msg->iov[i] = (struct iovec){ msg->buf + at, part };
		msg->m.payload.n_iov = i + 1;
	}
	msg->m.payload.length = msg->len;
}

static struct fake_msg *msg_new(struct fake_node *node, size_t len)
{
	struct fake_msg *msg = calloc(1, sizeof(*msg));

	assert_non_null(msg);
	msg->node = node;
	msg->len = len;
	lx_list_init(&msg->link);
	msg->buf = malloc(len + 1);
	assert_non_null(msg->buf);
	cut(msg);
	return msg;
}

void fake_msg_free(struct fake_msg *msg)
{
	if (!msg)
		return;
	lx_list_del(&msg->link);
	if (msg->m.payload.rbuf)
		lx_rbuf_free(msg->m.payload.rbuf);
	free(msg->buf);
	free(msg);
}

static uint8_t pattern(size_t i)
{
	return i * 31 + (i >> 8) * 7 + 5;
}

void fake_fill(uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = pattern(i);
}

bool fake_check(const struct fake_msg *msg)
{
	for (size_t i = 0; i < msg->len; i++) {
		if (msg->buf[i] != pattern(i))
			return false;
	}
	return true;
}

static int submit(struct fake_node *node, struct fake_msg *msg)
{
	int r = node->ni.lnd->send(&node->ni, &msg->m);

	if (r) {
		msg->done = true;
		msg->status = r;
		msg->hstatus = msg->m.hstatus;
	}
	return r;
}

static struct fake_msg *send_new(struct fake_node *node, const struct lx_id *hop,
				 const struct lx_nid *dst, uint32_t type, size_t len)
{
	struct fake_msg *msg = msg_new(node, len);

	fake_fill(msg->buf, len);
	msg->m.target = *hop;
	msg->m.hdr = (struct lx_hdr){ .dst_nid = *dst,
				      .src_nid = node->ni.nid,
				      .dst_pid = hop->pid,
				      .src_pid = LX_PID_LUSTRE,
				      .type = type,
				      .payload_length = len };
	return msg;
}

struct fake_msg *fake_put_via(struct fake_node *node, const struct lx_id *hop,
			      const struct lx_nid *dst, size_t len)
{
	struct fake_msg *msg = send_new(node, hop, dst, LX_MSG_PUT, len);

	lx_env_lock(node->env);
	submit(node, msg);
	lx_env_unlock(node->env);
	return msg;
}

struct fake_msg *fake_put(struct fake_node *node, const struct lx_id *to, size_t len)
{
	return fake_put_via(node, to, &to->nid, len);
}

struct fake_msg *fake_put_rbuf(struct fake_node *node, const struct lx_id *to,
			       struct lx_rbuf *rbuf)
{
	struct fake_msg *msg = send_new(node, to, &to->nid, LX_MSG_PUT, rbuf->length);

	msg->m.payload = (struct lx_payload){ .rbuf = rbuf, .length = rbuf->length };
	lx_env_lock(node->env);
	submit(node, msg);
	lx_env_unlock(node->env);
	return msg;
}

struct fake_msg *fake_get(struct fake_node *node, const struct lx_id *to, size_t sink)
{
	struct fake_msg *msg = send_new(node, to, &to->nid, LX_MSG_GET, 0);

	msg->m.hdr.cmd.get.sink_length = lx_le32(sink);
	lx_env_lock(node->env);
	submit(node, msg);
	lx_env_unlock(node->env);
	return msg;
}

/* ---- calls of the transport ---------------------------------------------- */

static void answer_get(struct fake_node *node, const struct lx_hdr *hdr,
		       const struct lx_rx_from *from)
{
	struct lx_id to = { .nid = from->nid, .pid = hdr->src_pid };
	struct fake_msg *msg = send_new(node, &to, &hdr->src_nid, LX_MSG_REPLY,
					lx_le32(hdr->cmd.get.sink_length));

	node->n_gets++;
	msg->rx = true; /* no receiver waits for it */
	if (submit(node, msg))
		fake_msg_free(msg);
}

/* Decides what happens to a message; NULL: dropped and freed. */
static struct lx_msg *decide(struct fake_node *node, struct fake_msg *msg)
{
	if (node->discard) {
		fake_msg_free(msg);
		return NULL;
	}
	if (node->truncate && msg->m.payload.length > node->truncate)
		msg->m.payload.length = node->truncate;
	return &msg->m;
}

/* Continues with a message that was held. */
static void go_on(struct fake_node *node, struct fake_msg *msg)
{
	void *rx = msg->rx_handle;

	node->ni.lnd->recv(&node->ni, rx, decide(node, msg));
}

int lx_lnd_parse(struct lx_ni *ni, const struct lx_hdr *hdr, const struct lx_rx_from *from,
		 void *rx, struct lx_msg **ret_msg)
{
	struct fake_node *node = node_of(ni);
	struct fake_msg *msg;

	node->n_parsed++;
	if (node->illegal || hdr->payload_length > LX_PAYLOAD_MAX || hdr->type > LX_MSG_REPLY)
		return -EPROTO;
	if (hdr->type == LX_MSG_GET) {
		answer_get(node, hdr, from);
		*ret_msg = NULL;
		return LX_RX_NOW;
	}
	msg = msg_new(node, hdr->payload_length);
	msg->rx = true;
	msg->hdr = *hdr;
	msg->from = from->nid;
	msg->rx_handle = rx;
	if (node->use_rbuf || node->forward_to) {
		assert_int_equal(lx_rbuf_new(LX_PAYLOAD_MAX, 1, &msg->m.payload.rbuf), 0);
		msg->m.payload.iov = NULL;
		msg->m.payload.n_iov = 0;
	}
	lx_list_append(&node->received, &msg->link);
	if (node->hold)
		return LX_RX_LATER;
	*ret_msg = decide(node, msg);
	return LX_RX_NOW;
}

void lx_lnd_peer_forget(struct lx_lnd_peer *peer)
{
}

bool fake_release(struct fake_node *node)
{
	struct fake_msg *msg;
	bool found = false;

	lx_env_lock(node->env);
	lx_list_for_each(msg, &node->received, link) {
		if (msg->rx_handle && !msg->done) {
			found = true;
			go_on(node, msg);
			break;
		}
	}
	lx_env_unlock(node->env);
	return found;
}

static void forward(struct fake_node *node, struct fake_msg *msg)
{
	struct fake_node *to = node->forward_to;

	msg->node = to;
	msg->m.routing = true;
	msg->m.hdr = msg->hdr;
	msg->m.target = node->forward_id;
	msg->m.payload.offset = 0;
	if (submit(to, msg))
		fake_msg_free(msg);
}

/* Copies a router buffer to memory, for the test to read. */
static void settle(struct fake_msg *msg)
{
	void *mem;

	if (!msg->m.payload.rbuf)
		return;
	assert_int_equal(lx_rbuf_memory(msg->m.payload.rbuf, &mem), 0);
	memcpy(msg->buf, mem, msg->len);
}

void lx_lnd_finalize(struct lx_msg *m, int status)
{
	struct fake_msg *msg = lx_container_of(m, struct fake_msg, m);
	struct fake_node *node = msg->node;

	assert_false(msg->done);
	msg->rx_handle = NULL;
	if (msg->rx && node->forward_to && !m->routing && !status) {
		lx_list_del(&msg->link);
		forward(node, msg);
		return;
	}
	msg->done = true;
	msg->status = status;
	msg->hstatus = m->hstatus;
	if (msg->rx && !lx_list_empty(&msg->link) && !status) {
		node->n_received++;
		node->bytes_received += msg->len;
		settle(msg);
	}
	if (msg->rx && (lx_list_empty(&msg->link) || !node->keep))
		fake_msg_free(msg);
	lx_env_wake(node->env);
}

struct lx_msg *lx_lnd_reply_msg(struct lx_ni *ni, struct lx_msg *get)
{
	return NULL;
}

void lx_lnd_reply_length(struct lx_msg *reply, size_t length)
{
}

void lx_lnd_refused(struct lx_ni *ni, enum lx_refused_kind kind, const char *address,
		    const char *reason)
{
}

void lx_lnd_peer_lost(struct lx_ni *ni, const struct lx_nid *nid, enum lx_down_why why,
		      int error)
{
	node_of(ni)->n_lost++;
	node_of(ni)->lost_error = error;
	node_of(ni)->lost_why = why;
	lx_env_wake(ni->env);
}

void lx_lnd_stopped(struct lx_ni *ni)
{
	node_of(ni)->stopped = true;
	lx_env_wake(ni->env);
}

void lx_lnd_link(struct lx_ni *ni, enum lx_down_why why)
{
	node_of(ni)->n_link++;
	node_of(ni)->link_up = !why;
	lx_env_wake(ni->env);
}

void lx_lnd_change(struct lx_ni *ni, const struct lx_change *change)
{
	if (change->type == LX_CHANGE_CONN_UP)
		node_of(ni)->n_up++;
	else if (change->type == LX_CHANGE_CONN_DOWN)
		node_of(ni)->n_down++;
	lx_env_wake(ni->env);
}

uint64_t lx_lnd_now(struct lx_ni *ni)
{
	return uv_hrtime();
}

int lx_lnd_share_credits(struct lx_ni *ni, const struct lx_nid *nid, struct lx_credit *tx,
			 struct lx_credit *rtr)
{
	return 0;
}

uint32_t lx_lnd_peer_number(struct lx_ni *ni, const struct lx_nid *nid)
{
	return node_of(ni)->peer_number;
}

/* As one node with all NIs of the environment. */
const struct lx_nid *lx_lnd_own_nid(struct lx_ni *ni, unsigned int i)
{
	struct fake_node *node;

	lx_list_for_each(node, &nodes, link) {
		if (node->env == ni->env && !i--)
			return &node->ni.nid;
	}
	return NULL;
}

void lx_lnd_lost(struct lx_ni *ni, const struct lx_nid *next_hop, const struct lx_type_counts *n,
		 uint64_t payload, enum lx_hstatus hstatus)
{
	node_of(ni)->lost_hstatus = hstatus;
	node_of(ni)->lost = *n;
	node_of(ni)->lost_payload += payload;
	node_of(ni)->n_dropped += n->put + n->get + n->reply + n->ack;
	lx_env_wake(ni->env);
}

void lx_lnd_offloaded(struct lx_ni *ni, const struct lx_nid *nid,
		      const struct lx_offloaded *offloaded)
{
	if (!offloaded->received.put)
		return;
	node_of(ni)->n_offloaded += offloaded->received.put;
	node_of(ni)->offloaded_from = *nid;
	node_of(ni)->offloaded_src_net = offloaded->src_net;
	lx_env_wake(ni->env);
}

void lx_lnd_tcp_sent(struct lx_ni *ni, const struct lx_nid *nid, const struct lx_tcp_bytes *more)
{
	node_of(ni)->tcp.sent += more->sent;
	node_of(ni)->tcp.resent += more->resent;
	node_of(ni)->tcp_to = *nid;
}

unsigned int lx_lnd_timeout(struct lx_ni *ni)
{
	return 49;
}

/* ---- nodes ----------------------------------------------------------------- */

int fake_try(const char *nid, const char *ifname, struct lx_env *env, struct fake_node **ret_node)
{
	struct fake_node *node = calloc(1, sizeof(*node));
	struct timespec now;
	int r;

	assert_non_null(node);
	node->env = env;
	node->keep = true;
	lx_list_init(&node->received);
	node->ni.lnd = &lx_sock_lnd;
	node->ni.env = env;
	node->ni.nid = lx_nid_any;
	if (nid)
		assert_int_equal(lx_nid_parse(nid, &node->ni.nid), 0);
	node->ni.net = nid ? lx_nid_net(&node->ni.nid) : LX_NET(LX_NET_TCP, 0);
	if (ifname)
		snprintf(node->ni.ifname, sizeof(node->ni.ifname), "%s", ifname);
	memset(&node->ni.tun, 0xff, sizeof(node->ni.tun));
	memset(&node->ni.lnd_tun, 0xff, sizeof(node->ni.lnd_tun));
	clock_gettime(CLOCK_REALTIME, &now);
	node->ni.incarnation_ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	lx_env_lock(env);
	r = lx_sock_lnd.startup(&node->ni);
	if (!r)
		lx_list_append(&nodes, &node->link);
	lx_env_unlock(env);
	if (r)
		free(node);
	else
		*ret_node = node;
	return r;
}

struct fake_node *fake_new(const char *nid, unsigned int loops, struct lx_env *env)
{
	struct fake_node *node;
	bool own = !env;

	if (own)
		assert_int_equal(lx_env_new(loops, NULL, NULL, &env), 0);
	assert_int_equal(fake_try(nid, NULL, env, &node), 0);
	node->own_env = own;
	return node;
}

void fake_shutdown(struct fake_node *node)
{
	struct fake_msg *msg;

	lx_env_lock(node->env);
	lx_list_del(&node->link);
	node->ni.lnd->shutdown(&node->ni);
	/* Release held messages, as the real core does. */
	lx_list_for_each(msg, &node->received, link) {
		if (node->hold && msg->rx_handle)
			go_on(node, msg);
	}
	node->hold = false;
	while (!node->stopped)
		lx_env_wait(node->env);
	lx_env_unlock(node->env);
}

void fake_free(struct fake_node *node)
{
	if (!node)
		return;
	if (!node->stopped)
		fake_shutdown(node);
	while (!lx_list_empty(&node->received))
		fake_msg_free(lx_list_first(&node->received, struct fake_msg, link));
	if (node->own_env)
		lx_env_free(node->env);
	free(node);
}

/* ---- waiting ------------------------------------------------------------------ */

/* Polls: tests may be slow, but must not hang. */
static bool wait_for(struct fake_node *node, bool (*ready)(void *arg), void *arg, unsigned int ms)
{
	bool ok;

	for (unsigned int i = 0;; i++) {
		lx_env_lock(node->env);
		ok = ready(arg);
		lx_env_unlock(node->env);
		if (ok || i >= ms)
			return ok;
		fake_clock_sleep();
	}
}

static bool msg_done(void *arg)
{
	return ((struct fake_msg *)arg)->done;
}

bool fake_is_done(struct fake_msg *msg)
{
	return wait_for(msg->node, msg_done, msg, 0);
}

int fake_wait(struct fake_msg *msg, enum lx_hstatus *ret_hstatus)
{
	int status;

	if (!wait_for(msg->node, msg_done, msg, 60000))
		fail_msg("message not finalized within 60 s");
	status = msg->status;
	if (ret_hstatus)
		*ret_hstatus = msg->hstatus;
	fake_msg_free(msg);
	return status;
}

static bool first_done(void *arg)
{
	struct fake_node *node = arg;
	struct fake_msg *msg;

	lx_list_for_each(msg, &node->received, link) {
		if (msg->done)
			return true;
	}
	return false;
}

struct fake_msg *fake_receive(struct fake_node *node, unsigned int ms)
{
	struct fake_msg *msg, *found = NULL;

	wait_for(node, first_done, node, ms);
	lx_env_lock(node->env);
	lx_list_for_each(msg, &node->received, link) {
		if (msg->done && !found)
			found = msg;
	}
	if (found)
		lx_list_del(&found->link);
	lx_env_unlock(node->env);
	return found;
}

struct count {
	const unsigned int *value;
	unsigned int wanted;
};

static bool count_reached(void *arg)
{
	struct count *count = arg;

	return *count->value >= count->wanted;
}

bool fake_wait_count(struct fake_node *node, const unsigned int *value, unsigned int wanted,
		     unsigned int ms)
{
	struct count count = { value, wanted };

	return wait_for(node, count_reached, &count, ms);
}

struct conn_count {
	const char *type;
	unsigned int n;
};

static int count_conn(const struct lx_conn_info *info, void *arg)
{
	struct conn_count *count = arg;

	count->n += !count->type || !strcmp(count->type, info->type);
	return 0;
}

unsigned int fake_conns(struct fake_node *node, const char *type)
{
	struct conn_count count = { type, 0 };

	lx_env_lock(node->env);
	node->ni.lnd->conns(&node->ni, NULL, count_conn, &count);
	lx_env_unlock(node->env);
	return count.n;
}

bool fake_wait_conns(struct fake_node *node, unsigned int wanted, unsigned int ms)
{
	for (unsigned int i = 0; fake_conns(node, NULL) != wanted; i++) {
		if (i >= ms)
			return false;
		fake_clock_sleep();
	}
	return true;
}

bool fake_wait_lost(struct fake_node *node, int error)
{
	int last = 0;

	for (unsigned int i = 0; i < 20000; i++) {
		lx_env_lock(node->env);
		last = node->lost_error;
		lx_env_unlock(node->env);
		if (last == error)
			return true;
		fake_clock_sleep();
	}
	print_message("peer lost: %s\n", strerror(-last));
	return false;
}

struct lx_id fake_id(const char *nid)
{
	struct lx_id id = { .pid = LX_PID_LUSTRE };

	assert_int_equal(lx_nid_parse(nid, &id.nid), 0);
	return id;
}
