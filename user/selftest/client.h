/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A request to another node: its reply, its time-out, and its bulk as the passive side
 * (selftest.md 1). Called with the service's lock held.
 */
#ifndef LX_SELFTEST_CLIENT_H
#define LX_SELFTEST_CLIENT_H

#include "../base/list.h"
#include "port.h"
#include "wire.h"

/* Embedded in its owner, which uses it for one request at a time. */
struct lx_lst_client {
	struct lx_selftest *s;
	/* Called once per successful lx_lst_client_call(); may make the next call. */
	void (*done)(struct lx_lst_client *client);

	/* valid in done(): */
	int status; /* 0: the reply and all bulk have arrived; or a negative errno */
	struct lx_lst_msg reply;

	/* private */
	struct lx_list link; /* in lx_selftest.clients during a call */
	struct lx_lst_port out, in, bulk;
	uint64_t deadline_ns;
	size_t bulk_len;
	bool replied;
	uint8_t out_buf[LX_LST_MSG_BYTES], in_buf[LX_LST_MSG_BYTES];
};

/**
 * lx_lst_client_call - send a request
 * @request: the function fills in rpyid and bulkid
 * @bulk: memory for @bulk_len bytes of bulk, or NULL
 * @bulk_op: LX_MD_OP_PUT: the other side fills it; LX_MD_OP_GET: it fetches it
 * Returns 0, or a negative errno; then done() is not called.
 */
int lx_lst_client_call(struct lx_lst_client *client, const struct lx_id *to,
		       enum lx_lst_service service, struct lx_lst_msg *request, void *bulk,
		       size_t bulk_len, unsigned int bulk_op);

/* Ends the call, if there is one, with @status; done() is called now or later. */
void lx_lst_client_abort(struct lx_lst_client *client, int status);

static inline bool lx_lst_client_runs(const struct lx_lst_client *client)
{
	return client->link.next && !lx_list_empty(&client->link);
}

/* Ends calls that have timed out. */
void lx_lst_client_tick(struct lx_selftest *s, uint64_t now_ns);

#endif
