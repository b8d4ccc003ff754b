/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests to many nodes; see the header. Each has a connection to lnetxd of its own, so that one
 * node that does not answer does not hold up the others. Called by lst*.c, keeper.c and
 * fabric_load.c.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/ctl/ctl.h"
#include "session.h"
#include "trans.h"
#include "tree.h"

#define WINDOW 16 /* connections at a time; lnetxd has 64 for everybody */

int lx_trans_new(struct lx_trans *t, const json_t *console, const json_t *nids, uint32_t service,
		 int64_t timeout_s)
{
	const char *self = json_string_value(json_object_get(console, "console"));
	struct lx_control_ask req = { .service = service };
	json_t *nid;
	size_t i;

	t->n = 0;
	t->one = calloc(json_array_size(nids) + 1, sizeof(*t->one));
	if (!t->one)
		return -ENOMEM;
	req.timeout_ms = (timeout_s ? timeout_s : LX_TRANS_TIMEOUT_S) * 1000;
	req.stamp = json_integer_value(json_object_get(console, "stamp"));
	if (!self || lx_nid_parse(self, &req.console))
		return 0;
	json_array_foreach (nids, i, nid) {
		struct lx_trans_one *one = &t->one[t->n];
		const char *text = json_string_value(nid);

		one->req = req;
		if (!text || lx_nid_parse(text, &one->req.nid))
			continue;
		snprintf(one->nid, sizeof(one->nid), "%s", text);
		t->n++;
	}
	return 0;
}

static int receive(struct lx_ctl *ctl, struct lx_trans_one *one)
{
	json_t *list = json_array();
	const void *attrs;
	size_t len;
	int more;

	while ((more = lx_ctl_receive(ctl, &attrs, &len)) == 1)
		lx_tree_add(list, &lx_control_answers, attrs, len, LX_LEVEL_OWN);
	one->row = json_incref(json_array_get(list, 0));
	json_decref(list);
	if (!more && !one->row)
		return -EPROTO;
	one->status = lx_trans_number(one, "status");
	return more;
}

static void run_window(struct lx_trans_one *one, size_t n, const char *address)
{
	struct lx_ctl *ctl[WINDOW] = { NULL };

	for (size_t i = 0; i < n; i++) {
		one[i].err = lx_session_ctl_new(address, &ctl[i]);
		if (!one[i].err)
			one[i].err = lx_ctl_send(ctl[i], LX_CONTROL_ASK, NLM_F_DUMP,
						 &lx_control_ask_schema, &one[i].req);
	}
	for (size_t i = 0; i < n; i++) {
		if (!one[i].err)
			one[i].err = receive(ctl[i], &one[i]);
		lx_ctl_free(ctl[i]);
	}
}

void lx_trans_run(struct lx_trans *t, const char *address)
{
	for (size_t i = 0; i < t->n; i += WINDOW)
		run_window(&t->one[i], t->n - i < WINDOW ? t->n - i : WINDOW, address);
}

size_t lx_trans_failed(const struct lx_trans *t)
{
	size_t failed = 0;

	for (size_t i = 0; i < t->n; i++)
		failed += t->one[i].err || t->one[i].status;
	return failed;
}

void lx_trans_print(const struct lx_trans *t, const char *what)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct lx_trans_one *one = &t->one[i];

		if (one->err)
			fprintf(stderr, "%s RPC failed on 12345-%s: %s\n", what, one->nid,
				strerror(-one->err));
		else if (one->status)
			fprintf(stderr, "operation %s failed on 12345-%s: %s\n", what, one->nid,
				strerror(one->status));
	}
}

int64_t lx_trans_number(const struct lx_trans_one *one, const char *key)
{
	return json_integer_value(json_object_get(one->row, key));
}

void lx_trans_free(struct lx_trans *t)
{
	for (size_t i = 0; i < t->n; i++)
		json_decref(t->one[i].row);
	free(t->one);
	*t = (struct lx_trans){ 0 };
}
