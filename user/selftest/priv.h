/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the files of the test node. One lock protects all of its state. */
#ifndef LX_SELFTEST_PRIV_H
#define LX_SELFTEST_PRIV_H

#include <pthread.h>

#include "../base/list.h"
#include "batch.h"
#include "client.h"
#include "pattern.h"
#include "pool.h"
#include "port.h"
#include "selftest.h"
#include "server.h"
#include "service.h"
#include "session.h"

#define LX_LST_SECOND 1000000000ULL

/* Limits on what consoles and clients make the service allocate, besides bulk buffers. */
#define LX_LST_SERVED_MAX 8192 /* requests being served */
#define LX_LST_SERVED_CONSOLES 256 /* further ones, of consoles */
/* Of all sessions, including zombies: */
#define LX_LST_BATCHES_MAX 1024
#define LX_LST_TESTS_MAX 4096
#define LX_LST_UNITS_MAX 16384

struct lx_selftest {
	pthread_mutex_t lock;
	struct lx_node *node;
	struct lx_selftest_tunables tun;
	struct lx_selftest_ops ops;
	bool stopping;
	unsigned int refs; /* the owner's, and one per busy port */
	void (*destroy)(struct lx_selftest *s); /* called without references */

	uint64_t next_id; /* rpyid and bulkid (selftest.md 1) */
	uint32_t next_ping;

	struct lx_lst_inbox inbox[2];
	struct lx_list served; /* struct lx_lst_rpc */
	unsigned int n_served;
	struct lx_list clients; /* struct lx_lst_client, during a call */
	struct lx_lst_pool pool;
	void *pattern; /* LX_LST_BUFFER_BYTES of it, read-only */

	struct lx_lst_session *session; /* NULL: none */
	struct lx_list zombies; /* ended sessions whose tests have not drained */
	unsigned int n_batches, n_tests, n_units; /* of all sessions */
	struct lx_lst_rpc_counters rpc;
	uint64_t refused;
};

#endif
