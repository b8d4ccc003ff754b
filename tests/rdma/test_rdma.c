/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * o2iblnd on real RDMA: memory that is unmapped and mapped again, device events, and a peer
 * that is killed at each stage of a connection and of a transfer. Run by make vmtest, over rxe.
 *
 * The node under test runs here; its peer is a child, this program again, whose hardware
 * (lnd/o2ib/hw.h) is wrapped: at the chosen stage it kills itself.
 *
 * usage: test_rdma NID PEER-NID
 */
#include "../unit/testlib.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../lnd/o2ib/hw.h"
#include "../../lnd/o2ib/priv.h"

#define PORTAL 20
#define BITS 1
#define BIG (1u << 20)
#define PEER_BYTE 0x5a
/* Seconds. Generous, for emulated processors under load. */
#define PATIENCE 60
/* The end of a connection must be noticed, well before o2ib's timeout. */
#define PROMPT 20

extern char **environ;
static const char *program, *own_nid, *peer_nid;

/* ---- a node, and what happens to its MDs ------------------------------------------------ */

static struct lx_node *node;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void (*on_put)(void); /* in the peer: dies here */

/* Events of one MD. */
struct told {
	bool sent, replied, put, unlinked;
	int send_status, reply_status, put_status;
};

/* Memory that any node may PUT to and GET from. */
static char *target;
static struct lx_handle target_me;
static struct told target_told;

static void on_event(const struct lx_event *event)
{
	struct told *told = event->user;

	pthread_mutex_lock(&mutex);
	switch (event->type) {
	case LX_EVENT_SEND:
		told->sent = true;
		told->send_status = event->status;
		break;
	case LX_EVENT_REPLY:
		told->replied = true;
		told->reply_status = event->status;
		break;
	case LX_EVENT_PUT:
		told->put = true;
		told->put_status = event->status;
		if (on_put)
			on_put();
		break;
	default:
		break;
	}
	told->unlinked = told->unlinked || event->unlinked;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

/* False: not within this many seconds. */
static bool await(const bool *what, unsigned int seconds)
{
	struct timespec until;
	int r = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&mutex);
	while (!*what && !r)
		r = pthread_cond_timedwait(&cond, &mutex, &until);
	r = *what;
	pthread_mutex_unlock(&mutex);
	return r;
}

static struct lx_id id(const char *text)
{
	struct lx_id id = { .pid = LX_PID_LUSTRE };

	if (lx_nid_parse(text, &id.nid))
		abort();
	return id;
}

static int node_up(const char *nid)
{
	struct lx_conf_error err = { 0 };
	char yaml[512];
	int r;

	snprintf(yaml, sizeof(yaml),
		 "net:\n    - net type: o2ib\n      local NI(s):\n        - nid: %s\n"
		 "tunables:\n    lnet: { lnet_peer_discovery_disabled: 1 }\n", nid);
	r = lx_node_new_yaml(yaml, strlen(yaml), &err, &node);
	if (r)
		printf("# %d:%d: %s\n", err.line, err.column, err.text);
	return r;
}

static int attach_target(void)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	const struct lx_md_desc desc = {
		.start = target, .length = BIG, .threshold = LX_MD_UNLIMITED,
		.options = LX_MD_OP_PUT | LX_MD_OP_GET | LX_MD_MANAGE_REMOTE,
		.handler = on_event, .user = &target_told,
	};
	struct lx_handle md;
	int r;

	target_told = (struct told){ 0 };
	r = lx_me_attach(node, PORTAL, &anyone, BITS, 0, LX_UNLINK, LX_ME_AFTER, &target_me);
	return r ? r : lx_md_attach(node, target_me, &desc, LX_UNLINK, &md);
}

static struct lx_handle bind_md(const void *start, size_t len, struct told *told)
{
	const struct lx_md_desc desc = {
		.start = (void *)start, .length = len, .threshold = LX_MD_UNLIMITED,
		.handler = on_event, .user = told,
	};
	struct lx_handle md;

	*told = (struct told){ 0 };
	if (lx_md_bind(node, &desc, LX_RETAIN, &md))
		abort();
	return md;
}

static int start_op(bool put, struct lx_handle md, const char *to)
{
	const struct lx_id peer = id(to);

	return put ? lx_put(node, NULL, md, false, &peer, PORTAL, BITS, 0, 0) :
		     lx_get(node, NULL, md, &peer, PORTAL, BITS, 0);
}

/* ---- the peer: a child that may have to die --------------------------------------------- */

enum when { NEVER, BEFORE, AFTER };

#define DIAL 1
#define ACCEPT 2
#define PUT_EVENT 3

static const struct stage {
	const char *name;
	uint8_t at; /* a type of posted message, or one of the above */
	enum when when;
	bool put;       /* the operation */
	bool initiator; /* the initiator dies, not the target */
} stages[] = {
	{ "never", 0, NEVER, true, false },
	{ "accept, before", ACCEPT, BEFORE, true, false },
	{ "accept, after", ACCEPT, AFTER, true, false },
	{ "dial, before", DIAL, BEFORE, true, true },
	{ "dial, after", DIAL, AFTER, true, true },
	{ "PUT_REQ, before", LX_O2IB_PUT_REQ, BEFORE, true, true },
	{ "PUT_REQ, after", LX_O2IB_PUT_REQ, AFTER, true, true },
	{ "PUT_ACK, before", LX_O2IB_PUT_ACK, BEFORE, true, false },
	{ "PUT_ACK, after", LX_O2IB_PUT_ACK, AFTER, true, false },
	{ "writes and PUT_DONE, before", LX_O2IB_PUT_DONE, BEFORE, true, true },
	{ "writes and PUT_DONE, posted", LX_O2IB_PUT_DONE, AFTER, true, true },
	{ "event of the PUT", PUT_EVENT, BEFORE, true, false },
	{ "GET_REQ, before", LX_O2IB_GET_REQ, BEFORE, false, true },
	{ "GET_REQ, after", LX_O2IB_GET_REQ, AFTER, false, true },
	{ "writes and GET_DONE, before", LX_O2IB_GET_DONE, BEFORE, false, false },
	{ "writes and GET_DONE, posted", LX_O2IB_GET_DONE, AFTER, false, false },
};

static const struct stage *my_stage = stages;
static volatile bool armed;

static void reached(uint8_t at, enum when when)
{
	if (armed && my_stage->at == at && my_stage->when == when)
		kill(getpid(), SIGKILL);
}

static int mortal_dial(struct lx_o2ib_conn *conn, const void *pdata, size_t len)
{
	int r;

	reached(DIAL, BEFORE);
	r = lx_o2ib_verbs.dial(conn, pdata, len);
	reached(DIAL, AFTER);
	return r;
}

static int mortal_accept(struct lx_o2ib_conn *conn, void *request, const void *pdata, size_t len)
{
	int r;

	reached(ACCEPT, BEFORE);
	r = lx_o2ib_verbs.accept(conn, request, pdata, len);
	reached(ACCEPT, AFTER);
	return r;
}

static int mortal_post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			    const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	uint8_t type = ((uint8_t *)lx_o2ib_conn_slot_buf(conn, slot))[6];
	int r;

	reached(type, BEFORE);
	r = lx_o2ib_verbs.post_send(conn, slot, nob, writes, n_writes);
	reached(type, AFTER);
	return r;
}

static void die_of_put(void)
{
	reached(PUT_EVENT, BEFORE);
}

/* Stages of connecting die with the first connection; others connect first. */
static bool at_once(const struct stage *stage)
{
	return stage->at == DIAL || stage->at == ACCEPT;
}

/* Reports when it is ready, and when the stage may be reached; then plays its part. */
static int peer_main(const char *nid, const char *to, const char *stage)
{
	static struct lx_o2ib_hw mortal;
	struct told told;
	char *data;
	char c;

	mortal = lx_o2ib_verbs;
	mortal.dial = mortal_dial;
	mortal.accept = mortal_accept;
	mortal.post_send = mortal_post_send;
	lx_o2ib_hw = &mortal;
	my_stage = &stages[atoi(stage)];
	on_put = die_of_put;
	target = calloc(1, BIG);
	data = malloc(BIG);
	if (!target || !data || node_up(nid) || attach_target() || write(1, "r", 1) != 1)
		return 1;
	memset(data, PEER_BYTE, BIG);
	if (read(0, &c, 1) != 1) {
		lx_node_free(node);
		free(target);
		free(data);
		return 0;
	}
	armed = true;
	if (write(1, "a", 1) != 1)
		return 1;
	if (my_stage->initiator)
		start_op(my_stage->put, bind_md(data, BIG, &told), to);
	sleep(PATIENCE);
	return 2;
}

/* ---- the parent's side of it ------------------------------------------------------------- */

static struct {
	pid_t pid;
	int in, out;
} peer;

static void hear(char what)
{
	char c = 0;

	assert_int_equal(read(peer.out, &c, 1), 1);
	assert_int_equal(c, what);
}

static void peer_start(unsigned int stage)
{
	char number[8];
	char *argv[] = { (char *)program, "--peer", (char *)peer_nid, (char *)own_nid, number, NULL };
	posix_spawn_file_actions_t files;
	int in[2], out[2];

	snprintf(number, sizeof(number), "%u", stage);
	assert_int_equal(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], 0);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	assert_int_equal(posix_spawn(&peer.pid, program, &files, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&files);
	close(in[0]);
	close(out[1]);
	peer.in = in[1];
	peer.out = out[0];
	hear('r');
}

static void peer_arm(void)
{
	assert_int_equal(write(peer.in, "a", 1), 1);
	hear('a');
}

/* @killed: it must have killed itself; otherwise it is told to exit, and exits cleanly. */
static void peer_end(bool killed)
{
	int status;

	if (!killed)
		close(peer.in);
	assert_int_equal(waitpid(peer.pid, &status, 0), peer.pid);
	if (killed)
		close(peer.in);
	close(peer.out);
	if (killed)
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else
		assert_int_equal(status, 0);
}

/* An operation with its own MD, which must succeed. */
static void op(bool put, const void *buf)
{
	struct told told;
	struct lx_handle md = bind_md(buf, BIG, &told);

	assert_int_equal(start_op(put, md, peer_nid), 0);
	assert_true(await(put ? &told.sent : &told.replied, PATIENCE));
	assert_int_equal(told.send_status, 0);
	assert_int_equal(told.reply_status, 0);
	assert_int_equal(lx_md_unlink(node, md), 0);
	assert_true(await(&told.unlinked, PROMPT));
}

static char *own, *copy; /* BIG bytes */

/* Sends @buf to the peer and reads it back. */
static void there_and_back(const char *buf)
{
	op(true, buf);
	memset(copy, 0, BIG);
	op(false, copy);
	assert_memory_equal(copy, buf, BIG);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static char *map_at(char *at)
{
	char *p = mmap(at, BIG, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	assert_true(p != MAP_FAILED && (!at || p == at));
	return p;
}

/* The same addresses, other memory, read or written by the hardware. */
static void mapped_again(void **state)
{
	char *p = NULL;

	peer_start(0);
	for (unsigned int i = 0; i < 4; i++) {
		p = map_at(p);
		rnd_fill(p, BIG);
		there_and_back(p);
		memcpy(copy, p, BIG);
		munmap(p, BIG);
		p = map_at(p);
		op(false, p);
		assert_memory_equal(p, copy, BIG);
		munmap(p, BIG);
	}
	peer_end(false);
}

/* With a registration that many MDs use; it ends when the memory is withdrawn. */
static void told_of(void **state)
{
	char *p = NULL;

	peer_start(0);
	for (unsigned int i = 0; i < 2; i++) {
		p = map_at(p);
		assert_int_equal(lx_memory_add(node, p, BIG), 0);
		assert_int_equal(lx_memory_add(node, p, BIG), -EEXIST);
		for (unsigned int j = 0; j < 3; j++) {
			rnd_fill(p, BIG);
			there_and_back(p);
			memcpy(copy, p, BIG);
			memset(p, 0, BIG);
			op(false, p);
			assert_memory_equal(p, copy, BIG);
		}
		assert_int_equal(lx_memory_del(node, p), 0);
		assert_int_equal(lx_memory_del(node, p), -ENOENT);
		munmap(p, BIG);
	}
	peer_end(false);
}

/* Pages that were never written, registered for reading. */
static void written_later(void **state)
{
	char *p = map_at(NULL);
	struct told told;
	struct lx_handle md;

	peer_start(0);
	md = bind_md(p, BIG, &told);
	for (unsigned int i = 0; i < 3; i++) {
		told.sent = false;
		assert_int_equal(start_op(true, md, peer_nid), 0);
		assert_true(await(&told.sent, PATIENCE));
		assert_int_equal(told.send_status, 0);
		op(false, copy);
		assert_memory_equal(copy, p, BIG);
		rnd_fill(p, BIG);
	}
	lx_md_unlink(node, md);
	assert_true(await(&told.unlinked, PROMPT));
	munmap(p, BIG);
	peer_end(false);
}

/* Memory that is only sent may be read-only to us. */
static void read_only(void **state)
{
	char *p = map_at(NULL);

	rnd_fill(p, BIG);
	assert_int_equal(mprotect(p, BIG, PROT_READ), 0);
	peer_start(0);
	there_and_back(p);
	peer_end(false);
	munmap(p, BIG);
}

/* ---- events of the device ---------------------------------------------------------------- */

/*
 * A completion queue with room for one really overruns: completions arrive while nobody polls,
 * because the posting thread holds the node's lock. The kernel's event about it is then
 * replaced by the one that a test wants.
 */
static bool small_cq;
static volatile unsigned int posts_to_hold; /* at the last one the lock is held for a while */
static enum ibv_event_type event_wanted;
static struct ibv_async_event event_real;
static struct ibv_qp *last_qp;

#define REAL(fn) ((typeof(&fn))dlsym(RTLD_NEXT, #fn))

struct ibv_cq *ibv_create_cq(struct ibv_context *verbs, int cqe, void *context,
			     struct ibv_comp_channel *channel, int vector)
{
	return REAL(ibv_create_cq)(verbs, small_cq ? 1 : cqe, context, channel, vector);
}

int rdma_create_qp(struct rdma_cm_id *cm, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int r = REAL(rdma_create_qp)(cm, pd, attr);

	last_qp = cm->qp;
	return r;
}

int ibv_get_async_event(struct ibv_context *verbs, struct ibv_async_event *ev)
{
	int r = REAL(ibv_get_async_event)(verbs, ev);

	event_real = *ev;
	if (!r && ev->event_type == IBV_EVENT_CQ_ERR && event_wanted != IBV_EVENT_CQ_ERR) {
		ev->event_type = event_wanted;
		ev->element.qp = last_qp;
	}
	return r;
}

void ibv_ack_async_event(struct ibv_async_event *ev)
{
	REAL(ibv_ack_async_event)(&event_real);
}

static int holding_post_send(struct lx_o2ib_conn *conn, unsigned int slot, size_t nob,
			     const struct lx_o2ib_write *writes, unsigned int n_writes)
{
	int r = lx_o2ib_verbs.post_send(conn, slot, nob, writes, n_writes);

	if (posts_to_hold && !--posts_to_hold)
		usleep(500000);
	return r;
}

/* As many PUTs as there are credits; all end, some of them with errors. */
static void overrun(enum ibv_event_type wanted)
{
	struct told told[8];
	struct lx_handle md[N_OF(told)];
	unsigned int failed = 0;

	event_wanted = wanted;
	small_cq = true;
	posts_to_hold = N_OF(told);
	for (unsigned int i = 0; i < N_OF(told); i++) {
		md[i] = bind_md(own, 100, &told[i]);
		assert_int_equal(start_op(true, md[i], peer_nid), 0);
	}
	for (unsigned int i = 0; i < N_OF(told); i++) {
		if (!await(&told[i].sent, PROMPT))
			fail_msg("nobody tells what became of message %u", i);
		failed += told[i].send_status < 0;
		lx_md_unlink(node, md[i]);
		assert_true(await(&told[i].unlinked, PROMPT));
	}
	assert_int_equal(posts_to_hold, 0);
	assert_true(failed > 0);
	small_cq = false;
}

/* A queue error ends its connection and nothing else. */
static void queue_event(enum ibv_event_type event)
{
	peer_start(0);
	overrun(event);
	rnd_fill(own, BIG);
	there_and_back(own);
	peer_end(false);
}

static void cq_overrun(void **state)
{
	queue_event(IBV_EVENT_CQ_ERR);
}

static void qp_fatal(void **state)
{
	queue_event(IBV_EVENT_QP_FATAL);
}

/* A device error ends the NI; with a new NI everything works. */
static void device_fatal(void **state)
{
	struct told told;
	struct lx_handle md;

	peer_start(0);
	overrun(IBV_EVENT_DEVICE_FATAL);
	md = bind_md(own, BIG, &told);
	if (!start_op(true, md, peer_nid)) {
		assert_true(await(&told.sent, PROMPT));
		assert_true(told.send_status < 0);
	}
	lx_md_unlink(node, md);
	assert_true(await(&told.unlinked, PROMPT));
	lx_node_free(node);
	assert_int_equal(node_up(own_nid), 0);
	there_and_back(own);
	peer_end(false);
}

/* ---- a peer that is killed ------------------------------------------------------------------- */

/* We are the initiator: it ends, and without success where it cannot have arrived. */
static void check_initiator(const struct stage *stage, struct told *told)
{
	bool cannot = stage->when == BEFORE && stage->at != PUT_EVENT;

	if (!await(&told->sent, PROMPT))
		fail_msg("nobody tells what became of the message");
	if (stage->put)
		assert_true(told->send_status < 0 || !cannot);
	else if (!told->send_status && await(&told->replied, PROMPT) && !told->reply_status)
		assert_true(!cannot && !memcmp(copy, own, BIG));
}

/* The peer is the initiator: what it reported as arrived has arrived. */
static void check_target(const struct stage *stage)
{
	bool arrived;

	lx_me_unlink(node, target_me);
	if (!await(&target_told.unlinked, PROMPT))
		fail_msg("the target's memory is still in use");
	arrived = target_told.put && !target_told.put_status;
	if (stage->at != LX_O2IB_PUT_DONE || stage->when != AFTER)
		assert_false(arrived);
	for (size_t i = 0; i < BIG && arrived; i++)
		assert_int_equal(target[i], PEER_BYTE);
}

static void killed(void **state)
{
	const struct stage *stage = *state;
	struct lx_handle md;
	struct told told;

	peer_start(stage - stages);
	/* Establishes a connection, and shows that all is well after the previous death. */
	rnd_fill(own, BIG);
	if (!at_once(stage))
		there_and_back(own);
	memset(target, 0, BIG);
	assert_int_equal(attach_target(), 0);
	md = bind_md(stage->put ? own : copy, BIG, &told);
	peer_arm();
	if (!stage->initiator) {
		assert_int_equal(start_op(stage->put, md, peer_nid), 0);
		check_initiator(stage, &told);
	}
	peer_end(true);
	check_target(stage);
	lx_md_unlink(node, md);
	if (!await(&told.unlinked, PROMPT))
		fail_msg("the MD is still in use");
}

/* And the node still works. */
static void after_all(void **state)
{
	peer_start(0);
	rnd_fill(own, BIG);
	there_and_back(own);
	peer_end(false);
}

int main(int argc, char **argv)
{
	static struct lx_o2ib_hw holding;
	struct CMUnitTest tests[8 + N_OF(stages)] = {
		cmocka_unit_test(mapped_again),
		cmocka_unit_test(told_of),
		cmocka_unit_test(written_later),
		cmocka_unit_test(read_only),
		cmocka_unit_test(cq_overrun),
		cmocka_unit_test(qp_fatal),
		cmocka_unit_test(device_fatal),
	};
	unsigned int n = 7;
	int r;

	if (argc == 5 && !strcmp(argv[1], "--peer"))
		return peer_main(argv[2], argv[3], argv[4]);
	if (argc != 3) {
		fprintf(stderr, "usage: test_rdma NID PEER-NID\n");
		return 2;
	}
	program = argv[0];
	own_nid = argv[1];
	peer_nid = argv[2];
	holding = lx_o2ib_verbs;
	holding.post_send = holding_post_send;
	lx_o2ib_hw = &holding;
	rnd_init();
	own = malloc(BIG);
	copy = malloc(BIG);
	target = malloc(BIG);
	if (!own || !copy || !target || node_up(own_nid))
		return 1;
	for (unsigned int i = 1; i < N_OF(stages); i++)
		tests[n++] = (struct CMUnitTest){ stages[i].name, killed, NULL, NULL,
						  (void *)&stages[i] };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(after_all);
	r = _cmocka_run_group_tests("rdma", tests, n, NULL, NULL);
	lx_node_free(node);
	free(own);
	free(copy);
	free(target);
	return r;
}
