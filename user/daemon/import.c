/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clients' YAML; see the header. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/policy.h"
#include "config.h"
#include "difference.h"
#include "import.h"
#include "programs.h"
#include "tester.h"

#define ROWS_MAX 100

/* Adds a row to the answer, with @more after the text. Returns @error. */
static int tell(struct lx_edit *e, int error, const struct lx_conf_error *what, const char *more)
{
	struct lx_ctl_mistake *row =
		e->rows.n < ROWS_MAX ? lx_grow(&e->rows.list, &e->rows.n, sizeof(*row)) : NULL;

	if (row) {
		row->error = error;
		row->line = what->line;
		row->column = what->column;
		snprintf(row->text, sizeof(row->text), "%s%s",
			 what->text[0] ? what->text : strerror(-error), more);
	}
	return error;
}

static void on_mistake(int error, const struct lx_conf_error *what, void *arg)
{
	char place[LX_EDIT_PLACE_TEXT] = "";

	if (error == -ENODEV || error == -EADDRNOTAVAIL)
		lx_edit_place(arg, place, sizeof(place));
	tell(arg, error, what, place);
}

/* What means something elsewhere, and nothing here, is a row without an error. */
static void tell_ignored(struct lx_edit *e, const struct lx_conf *conf)
{
	if (conf->ignored)
		tell(e, 0, &(struct lx_conf_error){ .text = "ignored: " }, conf->ignored);
}

/* From memory alone: a pipe, or a file on a server, could make us wait. */
static int read_text(struct lx_edit *e, char **ret_text, size_t *ret_len,
		     struct lx_conf_error *ret_why)
{
	if (fcntl(e->fd, F_GET_SEALS) >= 0)
		return lx_config_read(e->fd, ret_text, ret_len, ret_why);
	snprintf(ret_why->text, sizeof(ret_why->text), "the request needs a text, in a memfd");
	return -EINVAL;
}

/* ---- add ------------------------------------------------------------------------- */

/* Those of the file that differ among themselves are among what is ignored. */
static void tell_shared(struct lx_edit *e, const struct lx_conf *conf, const struct lx_conf_ni *ni)
{
	struct lx_conf_error remark = { .line = ni->at.line, .column = ni->at.column };
	size_t first = 0;

	while (conf->ni[first].net != ni->net)
		first++;
	lx_edit_shared(e, ni, remark.text, sizeof(remark.text));
	if (*remark.text && ni == &conf->ni[first])
		tell(e, 0, &remark, "");
}

static int apply(struct lx_edit *e, const struct lx_conf *conf)
{
	struct lx_facts before = { .n = 0 }, after = { .n = 0 };
	struct lx_conf_error why = { 0 };
	int err;

	lx_difference_take(e->node, e->daemon->tester, &before);
	err = lx_node_apply(e->node, conf, 0, &why);
	if (err)
		tell(e, err, &why, "; the rest of the file is applied");
	for (size_t i = 0; i < conf->n_nis; i++)
		tell_shared(e, conf, &conf->ni[i]);
	e->req = (void *)&conf->selftest;
	if (lx_tester_set(e)) {
		snprintf(why.text, sizeof(why.text), "%s", e->text);
		err = tell(e, -EINVAL, &why, "");
	}
	lx_difference_take(e->node, e->daemon->tester, &after);
	lx_difference_log_changes("import", &(struct lx_facts){ 0 }, &before, &after);
	lx_difference_clear(&before);
	lx_difference_clear(&after);
	lx_programs_retry(e->daemon->programs);
	return err;
}

int lx_import_add(struct lx_edit *e)
{
	struct lx_conf *given = NULL, *conf = NULL;
	struct lx_conf_error why = { 0 };
	char *text LX_AUTO_FREE = NULL;
	size_t len = 0;
	int err = read_text(e, &text, &len, &why);

	if (err)
		return tell(e, err, &why, "");
	err = lx_node_check_addition(e->node, text, len, on_mistake, e, &given);
	if (err)
		return err;
	tell_ignored(e, given);
	err = lx_config_resolve(given, e->daemon->large, &conf, NULL, &why);
	err = err ? tell(e, err, &why, "") : apply(e, conf);
	lx_conf_free(conf);
	lx_conf_free(given);
	return err;
}

/* ---- delete ---------------------------------------------------------------------- */

/* As a request of its own would. Returns the first error of all. */
static int edit(struct lx_edit *e, unsigned int object, unsigned int verb, void *req,
		struct lx_conf_place at, int first)
{
	struct lx_conf_error why = { .line = at.line, .column = at.column };
	int err;

	e->req = req;
	err = lx_edit_find(lx_request_find(object, verb))->run(e);
	if (!err)
		return first;
	snprintf(why.text, sizeof(why.text), "%s", e->text);
	tell(e, err, &why, "");
	return first ? first : err;
}

static int del_peer(struct lx_edit *e, const struct lx_conf_peer *peer, int first)
{
	struct lx_ctl_peer req = { .primary = peer->primary, .multi_rail = peer->multi_rail };

	/* Without NIDs it is the whole peer, as with the primary one among them. */
	for (size_t i = 0; !peer->primary_listed && i < peer->n_nids; i++)
		req.nid[req.n_nids++] = peer->nid[i];
	return edit(e, LX_CTL_PEER, LX_CTL_DEL, &req, peer->at, first);
}

/* The policy with the same clauses, wherever in the list it is. */
static int del_udsp(struct lx_edit *e, const struct lx_conf_udsp *udsp, int first)
{
	struct lx_conf_udsp *list LX_AUTO_FREE = NULL;
	struct lx_ctl_udsp req = { .index = INT32_MAX };
	struct lx_policy policy, other;
	size_t n = 0;
	int err = lx_udsp_list(e->node, &list, &n);

	lx_policy_parse(udsp, &policy, e->text, e->size);
	for (size_t i = 0; !err && i < n; i++) {
		if (!lx_policy_parse(&list[i], &other, e->text, e->size) &&
		    lx_policy_same(&policy, &other))
			req.index = i;
	}
	return edit(e, LX_CTL_UDSP, LX_CTL_DEL, &req, udsp->at, first);
}

static int reset_tunable(struct lx_edit *e, const struct lx_conf_tunable *t, int first)
{
	struct lx_ctl_tunable_value req = { .value = "default" };

	memcpy(req.module, t->module, sizeof(req.module));
	memcpy(req.name, t->name, sizeof(req.name));
	return edit(e, LX_CTL_TUNABLE, LX_CTL_SET, &req, t->at, first);
}

/* Routes first: a gateway in use cannot be removed. */
static int del(struct lx_edit *e, const struct lx_conf *conf)
{
	struct lx_ctl_routing off = { .enable = 0 };
	int err = 0;

	for (size_t i = 0; i < conf->n_routes; i++)
		err = edit(e, LX_CTL_ROUTE, LX_CTL_DEL, &conf->route[i], conf->route[i].at, err);
	for (size_t i = 0; i < conf->n_peers; i++)
		err = del_peer(e, &conf->peer[i], err);
	if (conf->routing != LX_UNSET)
		err = edit(e, LX_CTL_ROUTING, LX_CTL_SET, &off, conf->routing_at, err);
	for (size_t i = 0; i < conf->n_nis; i++) {
		struct lx_ctl_net req = { .ni = conf->ni[i] };

		err = edit(e, LX_CTL_NET, LX_CTL_DEL, &req, conf->ni[i].at, err);
	}
	for (size_t i = 0; i < conf->n_udsps; i++)
		err = del_udsp(e, &conf->udsp[i], err);
	for (size_t i = 0; i < conf->n_tunables; i++)
		err = reset_tunable(e, &conf->tunable[i], err);
	return err;
}

int lx_import_del(struct lx_edit *e)
{
	struct lx_conf *given = NULL, *conf = NULL;
	struct lx_conf_error why = { 0 };
	char *text LX_AUTO_FREE = NULL;
	size_t len = 0;
	int err = read_text(e, &text, &len, &why);

	if (!err)
		err = lx_conf_parse(text, len, &given, &why);
	if (!err) {
		tell_ignored(e, given);
		err = lx_config_resolve(given, false, &conf, NULL, &why);
	}
	err = err ? tell(e, err, &why, "") : del(e, conf);
	lx_conf_free(conf);
	lx_conf_free(given);
	return err;
}
