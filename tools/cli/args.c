/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parses arguments; see the header. Called by requests.c. */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/cleanup.h"
#include "../../user/conf/cpt.h"
#include "../../user/conf/rails.h"
#include "../../user/ctl/codec.h"
#include "args.h"

int lx_arg_int(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
	       int64_t min, int64_t max, int64_t *ret_value)
{
	const char *text = a->v[id];
	long long value;
	char *end;

	*ret_value = LX_UNSET;
	if (!text)
		return 0;
	errno = 0;
	value = strtoll(text, &end, 0);
	if (end == text || *end)
		return lx_session_fail(s, -EINVAL, "%s \"%s\": a number is expected", name, text);
	if (errno || value < min || value > max)
		return lx_session_fail(s, -EINVAL, "%s %s is not in %" PRId64 "..%" PRId64, name,
				       text, min, max);
	*ret_value = value;
	return 0;
}

int lx_arg_field(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id,
		 const struct lx_schema *schema, const char *key, int64_t *ret_value)
{
	const struct lx_field *f = lx_schema_field(schema, key);

	return lx_arg_int(s, a, id, key, f->low, f->high, ret_value);
}

int lx_arg_field_given(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id,
		       const struct lx_schema *schema, const char *key, int64_t *ret_value)
{
	*ret_value = LX_UNSET;
	if (a->v[id] && !strcmp(a->v[id], "-1"))
		return 0;
	return lx_arg_field(s, a, id, schema, key, ret_value);
}

int lx_arg_net(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, uint32_t *ret_net)
{
	*ret_net = LX_NET_U32_ANY;
	if (a->v[id] && lx_net_parse(a->v[id], ret_net) < 0)
		return lx_session_fail(
			s, -ENOENT, "net \"%s\": no such type of net (tcp, tcp1, ...)", a->v[id]);
	return 0;
}

/* "host@net" with a host to resolve: its first address that makes a NID. */
static int resolve(const char *text, struct lx_nid *ret_nid)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char host[256];
	const char *at = strrchr(text, '@');
	uint32_t net;
	int err = -EINVAL;

	/* "1@tcp" is not a NID, although a resolver would make it 0.0.0.1. */
	if (!at || (size_t)(at - text) >= sizeof(host) || strchr(text, ',') ||
	    strspn(text, "0123456789.x") == (size_t)(at - text) ||
	    lx_net_parse(at + 1, &net) < 0 || lx_net_type(net) != LX_NET_TCP)
		return -EINVAL;
	memcpy(host, text, at - text);
	host[at - text] = '\0';
	if (getaddrinfo(host, NULL, &hints, &found))
		return -EINVAL;
	for (const struct addrinfo *i = found; err && i; i = i->ai_next)
		err = lx_nid_from_sockaddr(net, i->ai_addr, ret_nid);
	freeaddrinfo(found);
	return err ? -EINVAL : 0;
}

int lx_arg_nid(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
	       struct lx_nid *ret_nid)
{
	*ret_nid = lx_nid_any;
	if (a->v[id] && lx_nid_parse(a->v[id], ret_nid) < 0 && resolve(a->v[id], ret_nid))
		return lx_session_fail(s, -EINVAL,
				       "%s \"%s\": not a NID, or no such host (10.0.0.1@tcp, ...)",
				       name, a->v[id]);
	return 0;
}

static int resolve_one(const char *text, struct lx_nid **ret_nids, size_t *ret_n)
{
	struct lx_nid nid, *nids;
	int err = resolve(text, &nid);

	if (err)
		return err;
	nids = malloc(sizeof(*nids));
	if (!nids)
		return -ENOMEM;
	*nids = nid;
	*ret_nids = nids;
	*ret_n = 1;
	return 0;
}

int lx_arg_nids(struct lx_session *s, const char *text, const char *name, struct lx_nid **ret_nids,
		size_t *ret_n)
{
	int err = lx_nid_expand(text, LX_CONTROL_NIDS_MAX, ret_nids, ret_n);

	if (err == -EINVAL)
		err = resolve_one(text, ret_nids, ret_n);
	if (err == -E2BIG)
		return lx_session_fail(s, -EINVAL, "%s \"%s\": more than %u NIDs", name, text,
				       LX_CONTROL_NIDS_MAX);
	if (err)
		return lx_session_fail(s, -EINVAL,
				       "%s \"%s\": not a NID, or no such host (10.0.0.1@tcp, "
				       "10.0.0.[1-4]@tcp, ...)",
				       name, text);
	return 0;
}

int lx_arg_cpt(struct lx_session *s, const char *text)
{
	char why[160];

	if (lx_conf_cpt(text, why, sizeof(why)))
		return lx_session_fail(s, -EINVAL, "cpt %s", why);
	return 0;
}

/* lnetxd finds the addresses: it may be in another namespace. */
int lx_arg_rails(struct lx_session *s, const struct lx_args *a, struct lx_conf_ni *ni)
{
	const char *rails = a->v[LX_ARG_RAILS];
	char why[160];

	if (!rails)
		return 0;
	if (a->v[LX_ARG_NID] || !a->v[LX_ARG_IF] || strchr(a->v[LX_ARG_IF], ','))
		return lx_session_fail(s, -EINVAL,
				       "rails \"%.40s\" are addresses of one interface; give a net "
				       "and one interface, no NID", rails);
	if (ni->net != LX_NET_U32_ANY && lx_net_type(ni->net) != LX_NET_TCP)
		return lx_session_fail(s, -EOPNOTSUPP,
				       "rails \"%.40s\" of net %s: only NIs of tcp nets have them; "
				       "leave it out", rails, lx_net_str(ni->net));
	if (lx_rails_check(rails, why, sizeof(why)))
		return lx_session_fail(s, -EINVAL, "%s", why);
	snprintf(ni->rails, sizeof(ni->rails), "%s", rails);
	return 0;
}
