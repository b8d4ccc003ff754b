/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What admins change of the guard, and what it shows; programs.c loads it and places it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/log.h"
#include "../base/prefix.h"
#include "../bpf/guard.h"
#include "guard.h"
#include "programs.h"

/* ---- changes ----------------------------------------------------------------------- */

static struct lx_guard *guard_of(const struct lx_edit *e)
{
	return lx_programs_guard(e->daemon->programs);
}

/* Errors that any change of the guard may return. */
static int explain(struct lx_edit *e, int err, const char *what)
{
	struct lx_guard_info info;

	if (err == -EOPNOTSUPP && !lx_guard_info(guard_of(e), &info))
		return lx_edit_say(e, err, "%s: the guard is not loaded: %s", what, info.reason);
	return lx_edit_say(e, err, "%s: %s", what, strerror(-err));
}

static int set_rate(struct lx_edit *e)
{
	const struct lx_ctl_guard *req = e->req;
	int64_t burst = req->burst;
	int err;

	if (req->rate == LX_UNSET)
		return lx_edit_say(e, -EINVAL, "a burst needs a rate: rate N burst M");
	if (burst == LX_UNSET)
		burst = req->rate > LX_GUARD_BURST ? req->rate : LX_GUARD_BURST;
	if (req->rate < 0 || req->rate > LX_GUARD_RATE_MAX)
		return lx_edit_say(e, -ERANGE, "rate %lld is not in 0..%d connections a second",
				   (long long)req->rate, LX_GUARD_RATE_MAX);
	if (burst < 1 || burst > LX_GUARD_RATE_MAX)
		return lx_edit_say(e, -ERANGE, "burst %lld is not in 1..%d connections",
				   (long long)burst, LX_GUARD_RATE_MAX);
	err = lx_guard_rate(guard_of(e), (uint32_t)req->rate, (uint32_t)burst);
	return err ? explain(e, err, "rate not set") : 0;
}

int lx_daemon_guard_set(struct lx_edit *e)
{
	const struct lx_ctl_guard *req = e->req;
	int err = 0;

	if (req->mode != LX_UNSET && (req->mode < 0 || req->mode >= LX_GUARD_MODES))
		return lx_edit_say(e, -EINVAL, "mode %lld is unknown", (long long)req->mode);
	if (req->rate != LX_UNSET || req->burst != LX_UNSET)
		err = set_rate(e);
	if (err || req->mode == LX_UNSET)
		return err;
	err = lx_guard_mode(guard_of(e), (enum lx_guard_mode)req->mode);
	return err ? explain(e, err, "mode not set") : 0;
}

static bool is_neighbour(struct lx_node *node, const struct lx_nid *nid)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	size_t n;

	if (lx_ni_list(node, &list, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (list[i].net == lx_nid_net(nid))
			return true;
	}
	return false;
}

/* The first other NID of a peer, or NULL. */
static const struct lx_nid *other_nid(const struct lx_peer_info *peer, const struct lx_nid *nid)
{
	for (uint32_t i = 0; i < peer->n_nis; i++) {
		if (!lx_nid_eq(&peer->ni[i].nid, nid))
			return &peer->ni[i].nid;
	}
	return NULL;
}

/* Closes the peer's connections, and mentions its other NIDs. */
static int finish_ban(struct lx_edit *e, const struct lx_nid *nid)
{
	struct lx_peer_info *peer LX_AUTO_FREE = NULL;
	const struct lx_nid *other = NULL;
	int closed = lx_disconnect(e->node, nid);

	if (closed < 0)
		closed = 0;
	if (!lx_peer_find(e->node, nid, &peer))
		other = other_nid(peer, nid);
	lx_edit_say(e, 0, "%s is banned, %d connections closed%s%s%s", lx_nid_str(nid), closed,
		    other ? "; the peer has other NIDs: " : "", other ? lx_nid_str(other) : "",
		    other ? ", ..." : "");
	return closed;
}

int lx_daemon_guard_ban(struct lx_edit *e)
{
	const struct lx_ctl_ban *req = e->req;
	const char *nid = lx_nid_str(&req->nid);
	int err;

	if (lx_nid_eq(&req->nid, &lx_nid_any))
		return lx_edit_say(e, -EINVAL, "give the NID to ban");
	if (e->node && !is_neighbour(e->node, &req->nid))
		return lx_edit_say(
			e, -EHOSTUNREACH,
			"cannot ban %s: this node has no NI on net %s, its messages come through "
			"a router; see \"lnetx route show\"",
			nid, lx_net_str(lx_nid_net(&req->nid)));
	err = lx_guard_ban(guard_of(e), &req->nid);
	switch (err) {
	case 0:
		lx_edit_say(e, 0, "%s is banned", nid);
		lx_info("peer=%s action=banned", nid);
		e->count = e->node ? finish_ban(e, &req->nid) : 0;
		return 0;
	case -EEXIST:
		return lx_edit_say(e, err, "%s is banned already; see \"lnetx guard show\"", nid);
	case -E2BIG:
	case -ENOSPC:
		return lx_edit_say(
			e, err,
			"cannot ban %s: there are %d bans, which is the maximum; remove some "
			"(lnetx guard unban), or deny a prefix",
			nid, LX_GUARD_BANS_MAX);
	case -EAFNOSUPPORT:
		return lx_edit_say(e, err, "cannot ban %s: not a NID on a net of type tcp", nid);
	}
	return explain(e, err, "ban not set");
}

int lx_daemon_guard_unban(struct lx_edit *e)
{
	const struct lx_ctl_ban *req = e->req;
	int err = lx_guard_unban(guard_of(e), &req->nid);

	if (!err)
		lx_info("peer=%s action=unbanned", lx_nid_str(&req->nid));
	if (err == -ENOENT || err == -EAFNOSUPPORT)
		return lx_edit_say(e, err, "%s is not banned; see \"lnetx guard show\"",
				   lx_nid_str(&req->nid));
	return err ? explain(e, err, "ban not removed") : 0;
}

static int parse_prefix(struct lx_edit *e, struct lx_guard_prefix *ret_prefix)
{
	const struct lx_ctl_prefix *req = e->req;

	if (!lx_prefix_parse(req->prefix, ret_prefix->addr, &ret_prefix->bits))
		return 0;
	return lx_edit_say(
		e, -EINVAL,
		"\"%s\": an address or a prefix is expected, without host bits: 10.1.0.0/16",
		req->prefix);
}

int lx_daemon_guard_prefix_add(struct lx_edit *e)
{
	const struct lx_ctl_prefix *req = e->req;
	struct lx_guard_prefix prefix;
	int err = parse_prefix(e, &prefix);

	if (err)
		return err;
	if (req->action != LX_GUARD_ALLOW && req->action != LX_GUARD_DENY)
		return lx_edit_say(e, -EINVAL, "%s: give allow or deny", req->prefix);
	err = lx_guard_prefix_set(guard_of(e), &prefix, req->action);
	if (err == -E2BIG)
		return lx_edit_say(e, err,
				   "cannot add %s: there are %d prefixes, which is the maximum",
				   req->prefix, LX_GUARD_PREFIXES_MAX);
	return err ? explain(e, err, "prefix not added") : 0;
}

int lx_daemon_guard_prefix_del(struct lx_edit *e)
{
	const struct lx_ctl_prefix *req = e->req;
	struct lx_guard_prefix prefix;
	int err = parse_prefix(e, &prefix);

	if (err)
		return err;
	err = lx_guard_prefix_del(guard_of(e), &prefix);
	if (err == -ENOENT)
		return lx_edit_say(e, err, "there is no prefix %s; see \"lnetx guard show\"",
				   req->prefix);
	return err ? explain(e, err, "prefix not removed") : 0;
}

/* ---- shows ------------------------------------------------------------------------- */

static int read_accept(const char *module, const struct lx_tunable *t, const char *value, void *arg)
{
	struct lx_guard_info *info = arg;

	if (!strcmp(module, "tcp") && !strcmp(t->name, "accept")) {
		snprintf(info->accept, sizeof(info->accept), "%s", value);
		info->secure = !strcmp(value, "secure");
	}
	return 0;
}

int lx_daemon_guard_show(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)
{
	struct lx_guard_info *info = lx_rows_one(rows, sizeof(*info));
	int err = info ? lx_guard_info(lx_programs_guard(d->programs), info) : -ENOMEM;

	if (err)
		return err;
	/* Not from the guard: the acceptor follows these without one, too. */
	if (d->node)
		lx_tunable_each(d->node, read_accept, info);
	return 0;
}

#define GUARD_LIST(fn, type, get)                                                                  \
	int fn(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows)                 \
	{                                                                                          \
		type *list = NULL;                                                                 \
		int err = get(lx_programs_guard(d->programs), &list, &rows->n);                    \
                                                                                                   \
		rows->list = list;                                                                 \
		return err;                                                                        \
	}
GUARD_LIST(lx_daemon_guard_show_bans, struct lx_guard_ban_info, lx_guard_bans)
GUARD_LIST(lx_daemon_guard_show_prefixes, struct lx_guard_prefix_info, lx_guard_prefixes)
GUARD_LIST(lx_daemon_guard_show_refusals, struct lx_guard_refusal_info, lx_guard_refusals)
