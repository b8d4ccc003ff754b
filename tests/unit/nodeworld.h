/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two nodes in this process, with threads, on real TCP over loopback addresses. */
#ifndef LX_TESTS_NODEWORLD_H
#define LX_TESTS_NODEWORLD_H

#include "testlib.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "rawpeer.h"

static struct lx_node *a, *b;
static const char yaml_fmt[] =
	"net:\n"
	"    - net type: tcp\n"
	"      local NI(s):\n"
	"        - nid: %s@tcp\n"
	"tunables:\n"
	"    tcp: { accept_port: %d, accept_port_bulk: %d, accept: all, nscheds: %d }\n"
	"%s";

static inline int node_up(const char *address, const char *more, struct lx_node **ret_node)
{
	struct lx_conf_error err = { 0 };
	char yaml[1024];
	int r;

	snprintf(yaml, sizeof(yaml), yaml_fmt, address, own_port(), own_port(), 2, more);
	r = lx_node_new_yaml(yaml, strlen(yaml), &err, ret_node);
	if (r)
		printf("%d:%d: %s\n", err.line, err.column, err.text);
	return r;
}

static inline int setup(void **state)
{
	return node_up("127.0.0.1", "", &a) || node_up("127.0.0.2", "", &b);
}

static inline int teardown(void **state)
{
	lx_node_free(a);
	lx_node_free(b);
	a = b = NULL;
	return 0;
}

static inline struct lx_id id(const char *text)
{
	struct lx_id id = { .pid = LX_PID_LUSTRE };

	assert_int_equal(lx_nid_parse(text, &id.nid), 0);
	return id;
}

/* ---- probes ---------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

struct outcome {
	bool done;
	int status;
	unsigned int n_nis;
};

static inline void on_probe(int status, const struct lx_peer_info *info, void *arg)
{
	struct outcome *o = arg;

	pthread_mutex_lock(&mutex);
	o->status = status;
	o->n_nis = info ? info->n_nis : 0;
	o->done = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static inline void wait_probe(struct outcome *o)
{
	pthread_mutex_lock(&mutex);
	while (!o->done)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* Both wait for the end, and return its status. */
static inline int ping(struct lx_node *node, const char *nid, const struct lx_nid *source)
{
	struct lx_id to = id(nid);
	struct outcome o = { 0 };

	assert_int_equal(lx_ping(node, &to, source, 60000, on_probe, &o), 0);
	wait_probe(&o);
	return o.status;
}

static inline int discover(struct lx_node *node, const char *nid, bool force)
{
	struct lx_id to = id(nid);
	struct outcome o = { 0 };

	assert_int_equal(lx_discover(node, &to.nid, force, on_probe, &o), 0);
	wait_probe(&o);
	return o.status;
}

static inline bool listens(int at)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(at) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok;

	inet_pton(AF_INET, "127.0.0.1", &sa.sin_addr);
	ok = !connect(fd, (struct sockaddr *)&sa, sizeof(sa));
	close(fd);
	return ok;
}

/* With ports of our own, if we may; false: skip the tests. */
static inline bool begin(void)
{
	if (!geteuid() && !raw_private_net())
		return false;
	rnd_init();
	return true;
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

#endif
