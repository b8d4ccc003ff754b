/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests for NIs, and their settings; declared in requests.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/array.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/base/setting.h"
#include "../../../user/conf/net.h"
#include "requests.h"

/* Settings of the transport are sent by name. */
static void to_request(const struct lx_conf_ni *ni, struct lx_ctl_net *ret_req)
{
	const struct lx_conf_ni_setting *known = lx_conf_lnd_settings(lx_net_type(ni->net));

	memset(ret_req, 0, sizeof(*ret_req));
	ret_req->ni = *ni;
	for (int i = 0; known && known[i].name; i++) {
		struct lx_ctl_lnd_value *v = &ret_req->lnd[ret_req->n_lnd];

		if (ni->lnd_tun.value[i] == LX_UNSET)
			continue;
		snprintf(v->name, sizeof(v->name), "%s", known[i].name);
		v->value = ni->lnd_tun.value[i];
		ret_req->n_lnd++;
	}
}

int lx_ni_request_add(struct lx_session *s, const struct lx_conf_ni *ni)
{
	struct lx_ctl_net req;
	int err;

	to_request(ni, &req);
	err = lx_session_do(s, LX_CTL_ADD, LX_CTL_NET, &req);
	if (!err && *s->text)
		fprintf(stderr, "%s\n", s->text);
	return err;
}

int lx_ni_request_check(struct lx_session *s, const struct lx_conf_ni *ni)
{
	struct lx_ctl_net req;
	int err;

	to_request(ni, &req);
	req.check = true;
	err = lx_session_do(s, LX_CTL_ADD, LX_CTL_NET, &req);
	return err == -ENODEV || err == -EADDRNOTAVAIL ? err : 0;
}

static int del_ni(struct lx_session *s, const struct lx_conf_ni *ni)
{
	struct lx_ctl_net req;

	to_request(ni, &req);
	return lx_session_do(s, LX_CTL_DEL, LX_CTL_NET, &req);
}

/* The place of a setting of the transport, which must have it. */
static int lnd_place(struct lx_session *s, uint32_t net, const char *name, int *ret_at)
{
	*ret_at = lx_setting_find(lx_conf_lnd_settings(lx_net_type(net)), name);
	if (*ret_at >= 0)
		return 0;
	return lx_session_fail(s, -EOPNOTSUPP, "nets of type %s have no setting %s",
			       lx_net_str(net), name);
}

static const struct {
	enum lx_arg_id id;
	const char *name;
} ni_words[] = {
#define NI_WORD_(NAME, name_, value) { LX_ARG_##NAME, #name_ },
	LX_NI_WORDS(NI_WORD_)
#undef NI_WORD_
};

static int take_setting(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id,
			const char *name, struct lx_conf_ni *ni)
{
	int at = lx_setting_find(lx_conf_ni_settings(), name), err = 0;
	int32_t *to = (int32_t *)&ni->tun; /* lnetxd knows the ranges of these */
	int64_t value, max = INT32_MAX;

	if (at < 0) {
		err = lnd_place(s, ni->net, name, &at);
		to = ni->lnd_tun.value;
		max = err ? 0 : lx_conf_lnd_settings(lx_net_type(ni->net))[at].max;
	}
	if (!err)
		err = lx_arg_int(s, a, id, name, LX_UNSET, max, &value);
	if (!err)
		to[at] = value;
	return err;
}

int lx_ni_request_settings(struct lx_session *s, const struct lx_args *a, struct lx_conf_ni *ni)
{
	int err = 0;

	for (size_t i = 0; !err && i < LX_ARRAY_LEN(ni_words); i++) {
		if (a->v[ni_words[i].id])
			err = take_setting(s, a, ni_words[i].id, ni_words[i].name, ni);
	}
	if (!err && a->v[LX_ARG_CPT])
		err = lx_arg_cpt(s, a->v[LX_ARG_CPT]);
	return err;
}

/* The next name of "eth0,eth1[0,1]"; false: there is a mistake. Brackets contain CPU partitions. */
static bool next_ifname(const char **list, char *name, size_t size)
{
	const char *p = *list;
	size_t len = strcspn(p, ",[");

	if (!len || len >= size)
		return false;
	memcpy(name, p, len);
	name[len] = '\0';
	p += len;
	if (*p == '[') {
		p = strchr(p, ']');
		if (!p || (p[1] && p[1] != ','))
			return false;
		p++;
	}
	*list = *p ? p + 1 : p;
	return true;
}

typedef int (*ni_fn)(struct lx_session *s, const struct lx_conf_ni *ni);

/* True if a name is in the list, of good names, before @end. */
static bool is_before(const char *list, const char *end, const char *name)
{
	char other[IF_NAMESIZE];

	while (list < end && next_ifname(&list, other, sizeof(other)) && list < end) {
		if (!strcmp(other, name))
			return true;
	}
	return false;
}

static int check_interfaces(struct lx_session *s, const char *list)
{
	const char *left = list;
	char name[IF_NAMESIZE];
	bool good = *list;

	while (good && *left) {
		good = next_ifname(&left, name, sizeof(name));
		if (good && is_before(list, left, name))
			return lx_session_fail(s, -EINVAL, "interfaces \"%s\": %s is there twice",
					       list, name);
	}
	return good ? 0
		    : lx_session_fail(s, -EINVAL,
				      "interfaces \"%s\": names separated by commas are expected",
				      list);
}

/* The whole list is checked first: of one with a mistake, nothing is done. */
static int each_interface(struct lx_session *s, const char *list, struct lx_conf_ni *ni, ni_fn fn)
{
	const char *left = list;
	int err = check_interfaces(s, list);

	while (!err && *left && next_ifname(&left, ni->ifname, sizeof(ni->ifname)))
		err = fn(s, ni);
	return err;
}

static int each_nid(struct lx_session *s, const char *list, struct lx_conf_ni *ni, ni_fn fn)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = lx_arg_nids(s, list, "nid", &nids, &n);

	for (size_t i = 0; !err && i < n; i++) {
		ni->nid = nids[i];
		ni->net = lx_nid_net(&nids[i]);
		err = fn(s, ni);
	}
	return err;
}

/* The net may be given by a NID only. */
static int net_of(struct lx_session *s, const struct lx_args *a, struct lx_conf_ni *ni)
{
	int err = lx_arg_net(s, a, LX_ARG_NET, &ni->net);
	const char *at;

	if (err || !a->v[LX_ARG_NID])
		return err;
	if (a->v[LX_ARG_NET])
		return lx_session_fail(s, -EINVAL, "give a net or a NID, not both");
	at = strrchr(a->v[LX_ARG_NID], '@');
	if (!at || lx_net_parse(at + 1, &ni->net) < 0)
		return lx_session_fail(s, -EINVAL, "nid \"%s\": not a NID (10.0.0.1@tcp, ...)",
				       a->v[LX_ARG_NID]);
	return 0;
}

int lx_ni_request_net_add(struct lx_session *s, const struct lx_args *a)
{
	struct lx_conf_ni ni;
	int err;

	lx_conf_net_ni_init(&ni);
	err = net_of(s, a, &ni);
	if (!err)
		err = lx_arg_rails(s, a, &ni);
	if (!err)
		err = lx_ni_request_settings(s, a, &ni);
	if (err)
		return err;
	if (a->v[LX_ARG_NID])
		return each_nid(s, a->v[LX_ARG_NID], &ni, lx_ni_request_add);
	if (ni.net == LX_NET_U32_ANY || !a->v[LX_ARG_IF])
		return lx_session_fail(s, -EINVAL, "a net and an interface are needed, or a NID");
	return each_interface(s, a->v[LX_ARG_IF], &ni, lx_ni_request_add);
}

int lx_ni_request_net_del(struct lx_session *s, const struct lx_args *a)
{
	struct lx_conf_ni ni;
	int err;

	lx_conf_net_ni_init(&ni);
	err = net_of(s, a, &ni);
	if (err)
		return err;
	if (a->v[LX_ARG_NID])
		return each_nid(s, a->v[LX_ARG_NID], &ni, del_ni);
	if (ni.net == LX_NET_U32_ANY)
		return lx_session_fail(s, -EINVAL, "give a net, or the NID of an NI");
	if (a->v[LX_ARG_IF])
		return each_interface(s, a->v[LX_ARG_IF], &ni, del_ni);
	return del_ni(s, &ni);
}

/* The settings of "net set", in this order. */
static const struct ni_choice {
	enum lx_arg_id id;
	const char *name;
} ni_choices[] = { { LX_ARG_HEALTH, "health" },
#define NI_CHOICE_(NAME, name_, value) { LX_ARG_##NAME, #name_ },
		   LX_NI_LIVE_WORDS(NI_CHOICE_)
#undef NI_CHOICE_
};

#define NI_CHOICES (LX_ARRAY_LEN(ni_choices))

/* As scripts rely on it, -1 leaves these as they are. */
static bool may_stay(enum lx_arg_id id)
{
	return id == LX_ARG_CONNS_PER_PEER || id == LX_ARG_LND_TIMEOUT;
}

/* The largest value that NIs of some type of net take. */
static int32_t largest(const char *name)
{
	static const uint8_t types[] = { LX_NET_TCP, LX_NET_O2IB };
	int32_t most = 0;

	for (size_t i = 0; i < sizeof(types); i++) {
		const struct lx_conf_ni_setting *set = lx_conf_lnd_settings(types[i]);
		int at = lx_setting_find(set, name);

		if (at >= 0 && set[at].max > most)
			most = set[at].max;
	}
	return most;
}

/* The value is LX_UNSET if it is not given. @net: LX_NET_U32_ANY: of any type */
static int take_choice(struct lx_session *s, const struct lx_args *a, const struct ni_choice *c,
		       uint32_t net, int64_t *ret_value)
{
	const struct lx_conf_ni_setting *known =
		net == LX_NET_U32_ANY ? NULL : lx_conf_lnd_settings(lx_net_type(net));
	int at, err;

	*ret_value = LX_UNSET;
	if (!a->v[c->id])
		return 0;
	if (c->id == LX_ARG_HEALTH)
		return lx_arg_int(s, a, c->id, c->name, 0, 1000, ret_value);
	if (!known)
		return lx_arg_int(s, a, c->id, c->name, LX_UNSET, largest(c->name), ret_value);
	err = lnd_place(s, net, c->name, &at);
	return err ? err : lx_arg_int(s, a, c->id, c->name, LX_UNSET, known[at].max, ret_value);
}

/* All values are checked first: if one is wrong, none is set. */
static int set_choices(struct lx_session *s, const struct lx_args *a, struct lx_ctl_set *req)
{
	uint32_t net = lx_nid_is_any(&req->nid) ? req->net : lx_nid_net(&req->nid);
	int64_t value[NI_CHOICES];
	int err = 0;

	for (size_t i = 0; !err && i < NI_CHOICES; i++)
		err = take_choice(s, a, &ni_choices[i], net, &value[i]);
	for (size_t i = 0; !err && i < NI_CHOICES; i++) {
		const struct ni_choice *c = &ni_choices[i];

		if (!a->v[c->id] || (may_stay(c->id) && value[i] == LX_UNSET))
			continue;
		snprintf(req->name, sizeof(req->name), "%s", c->name);
		req->value = value[i];
		err = lx_session_do(s, LX_CTL_SET, LX_CTL_NET, req);
	}
	return err;
}

int lx_ni_request_net_set(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_set req;
	bool any = false;
	int err;

	for (size_t i = 0; i < NI_CHOICES; i++)
		any |= a->v[ni_choices[i].id] != NULL;
	err = lx_args_take(s, a, &lx_object_set_schema, &req);
	if (!err && !a->v[LX_ARG_NET] && !a->v[LX_ARG_NID] && !a->v[LX_ARG_ALL])
		err = lx_session_fail(s, -EINVAL, "give a net, a NID, or \"all\"");
	if (!err && !any)
		err = lx_session_fail(s, -EINVAL,
				      "give conns_per_peer, timeout, tos, fastpath or health");
	return err ? err : set_choices(s, a, &req);
}
