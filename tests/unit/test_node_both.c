/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two nodes that read from each other, with far more under way than their sockets hold, over one
 * connection: both could stop to read because their answers are not taken (core/answer.h). Every
 * operation ends.
 */
#include "testlib.h"

#include <pthread.h>
#include <stdlib.h>

#include <lnetx/lnetx.h>

#include "../../user/core/msg.h"
#include "../../user/node/node.h"
#include "rawpeer.h"

#define BYTES (1u << 20)
#define OPS 300u

static struct lx_node *node[2];
static const char *const address[] = { "127.0.0.1", "127.0.0.2" };
static char *source, *sink;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned int answered, ended;

static void on_event(const struct lx_event *event)
{
	pthread_mutex_lock(&mutex);
	answered += event->type == LX_EVENT_REPLY && !event->status;
	ended += event->unlinked;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void say(int level, const char *line, void *arg)
{
	if (getenv("VERBOSE"))
		printf("# %s\n", line);
}

static void on_get(const struct lx_event *event)
{
}

static int begin(unsigned int timeout_s)
{
	const struct lx_id anyone = { lx_nid_any, LX_PID_ANY };
	struct lx_conf_error err = { 0 };
	struct lx_handle me, md;
	char yaml[800];

	lx_set_log(say, NULL);
	source = calloc(1, BYTES);
	sink = malloc(BYTES);
	answered = ended = 0;
	for (int i = 0; i < 2; i++) {
		const struct lx_md_desc desc = {
			.start = source,
			.length = BYTES,
			.threshold = LX_MD_UNLIMITED,
			.options = LX_MD_OP_GET | LX_MD_MANAGE_REMOTE,
			.handler = on_get,
		};

		snprintf(yaml, sizeof(yaml),
			 "net:\n"
			 "    - net type: tcp\n"
			 "      local NI(s): [ { nid: %s@tcp } ]\n"
			 "tunables:\n"
			 "    lnet: { lnet_transaction_timeout: %u, lnet_retry_count: 0 }\n"
			 "    tcp: { accept_port: %d, accept_port_bulk: %d, accept: all, nscheds: "
			 "2,\n"
			 "           conns_per_peer: 1, min_bulk: 1073741824, tx_buffer_size: "
			 "16384,\n"
			 "           rx_buffer_size: 16384 }\n",
			 address[i], timeout_s, own_port(), own_port());
		if (lx_node_new_yaml(yaml, strlen(yaml), &err, &node[i])) {
			printf("%d:%d: %s\n", err.line, err.column, err.text);
			return -1;
		}
		assert_int_equal(
			lx_me_attach(node[i], 4, &anyone, 1, 0, LX_UNLINK, LX_ME_AFTER, &me), 0);
		assert_int_equal(lx_md_attach(node[i], me, &desc, LX_UNLINK, &md), 0);
	}
	return 0;
}

static int setup(void **state)
{
	return begin(5);
}

/* On a busy machine it takes longer to read all of it. */
static int setup_with_time(void **state)
{
	return begin(100);
}

static int teardown(void **state)
{
	lx_node_free(node[0]);
	lx_node_free(node[1]);
	free(source);
	free(sink);
	return 0;
}

static void get(int from, int to)
{
	const struct lx_md_desc desc = {
		.start = sink,
		.length = BYTES,
		.threshold = 2,
		.options = LX_MD_TRACK_RESPONSE,
		.handler = on_event,
	};
	struct lx_id target = { .pid = LX_PID_LUSTRE };
	struct lx_handle md;
	char text[40];

	snprintf(text, sizeof(text), "%s@tcp", address[to]);
	assert_int_equal(lx_nid_parse(text, &target.nid), 0);
	assert_int_equal(lx_md_bind(node[from], &desc, LX_UNLINK, &md), 0);
	assert_int_equal(lx_get(node[from], NULL, md, &target, 4, 1, 0), 0);
}

static void all_end(void)
{
	struct timespec until;

	for (unsigned int i = 0; i < OPS; i++) {
		get(0, 1);
		get(1, 0);
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 120;
	pthread_mutex_lock(&mutex);
	while (ended < 2 * OPS) {
		if (pthread_cond_timedwait(&cond, &mutex, &until))
			fail_msg("%u of %u have ended", ended, 2 * OPS);
	}
	pthread_mutex_unlock(&mutex);
	printf("# %u of %u were answered\n", answered, 2 * OPS);
}

/* Within the bound all get their answer. */
static void within_the_bound(void **state)
{
	all_end();
	assert_int_equal(answered, 2 * OPS);
}

/* Far over it: those that are dropped end with their time, and the others go on meanwhile. */
static void over_the_bound(void **state)
{
	for (int i = 0; i < 2; i++) {
		lx_node_lock(node[i]);
		node[i]->core->answers.peer_max = node[i]->core->answers.few =
			4 * sizeof(struct lx_core_msg);
		lx_node_unlock(node[i]);
	}
	all_end();
	assert_true(answered >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(within_the_bound, setup_with_time, teardown),
		cmocka_unit_test_setup_teardown(over_the_bound, setup, teardown),
	};

	rnd_init();
	if (!raw_private_net())
		return 0;
	return cmocka_run_group_tests_name("node: both read", tests, NULL, NULL);
}
