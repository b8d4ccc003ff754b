/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parses arguments; see the header. Called by requests.c. */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../user/base/array.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/base/grow.h"
#include "../../../user/base/integer.h"
#include "../../../user/conf/net.h"
#include "../../../user/conf/rails.h"
#include "../../../user/ctl/codec.h"
#include "args.h"
#include "quantity.h"

int lx_arg_int(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
	       int64_t min, int64_t max, int64_t *ret_value)
{
	const char *text = a->v[id];
	int err;

	*ret_value = LX_UNSET;
	err = text ? lx_integer_parse(text, 0, min, max, ret_value) : 0;
	if (err == -EINVAL)
		return lx_session_fail(s, err, "%s \"%s\": a number is expected", name, text);
	if (err)
		return lx_session_fail(s, -EINVAL, "%s %s is not in %" PRId64 "..%" PRId64, name,
				       text, min, max);
	return 0;
}

int lx_arg_time(struct lx_session *s, const struct lx_args *a, enum lx_arg_id id, const char *name,
		int64_t min_ms, int64_t max_ms, int64_t *ret_ms)
{
	const char *text = a->v[id];

	*ret_ms = LX_UNSET;
	if (!text || lx_quantity(text, lx_quantity_ms, min_ms, max_ms, ret_ms))
		return 0;
	return lx_session_fail(s, -EINVAL,
			       "%s \"%s\": %gs to %" PRId64 "s is expected (500ms, 2s, 5m, 1h)",
			       name, text, min_ms / 1000.0, max_ms / 1000);
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

/* ---- by a request's schema ----------------------------------------------------------- */

/* The key of the field that an argument is for. */
static const struct arg_key {
	enum lx_arg_id id;
	const char *key;
	bool unset; /* -1 counts as not given, as scripts give it */
} keys[] = { { LX_ARG_NET, "net", false },
	     { LX_ARG_NET, "net type", false },
	     { LX_ARG_NID, "nid", false },
	     { LX_ARG_GATEWAY, "gateway", false },
	     { LX_ARG_HOP, "hop", true },
	     { LX_ARG_PRIORITY, "priority", true },
	     { LX_ARG_SENSITIVITY, "health_sensitivity", false },
	     { LX_ARG_INDEX, "index", true },
	     { LX_ARG_MODULE, "module", false },
	     { LX_ARG_NAME, "name", false },
	     { LX_ARG_SOURCE, "source", false },
	     { LX_ARG_TINY, "tiny", true },
	     { LX_ARG_SMALL, "small", true },
	     { LX_ARG_LARGE, "large", true },
	     { LX_ARG_RATE, "rate", false },
	     { LX_ARG_BURST, "burst", false },
	     { LX_ARG_MODE, "mode", false },
	     { LX_ARG_TYPE, "type", false },
	     { LX_ARG_CONSOLES, "consoles", false },
	     { LX_ARG_SESSION_TIMEOUT, "session_timeout", false },
	     { LX_ARG_RPC_TIMEOUT, "rpc_timeout", false },
	     { LX_ARG_BULK_MIB, "bulk_mib", false } };

/* NULL: it is not given, or no argument is for the field. */
static const struct arg_key *find_key(const struct lx_args *a, const struct lx_field *f)
{
	for (size_t i = 0; i < LX_ARRAY_LEN(keys); i++) {
		if (!strcmp(keys[i].key, f->key) && a->v[keys[i].id])
			return &keys[i];
	}
	return NULL;
}

static int take_field(struct lx_session *s, const struct lx_args *a, const struct arg_key *k,
		      const struct lx_field *f, void *p)
{
	const char *text = a->v[k->id];
	bool unset = f->omit == LX_OMIT_UNSET && !strcmp(text, "-1");
	int64_t low, high;
	char why[200];

	if (f->type == LX_FIELD_NID)
		return lx_arg_nid(s, a, k->id, f->key, p);
	if (f->type == LX_FIELD_NET)
		return lx_arg_net(s, a, k->id, p);
	if (unset && !k->unset) {
		lx_schema_field_range(f, &low, &high);
		return lx_session_fail(s, -EINVAL, "%s -1 is not in %" PRId64 "..%" PRId64, f->key,
				       low, high);
	}
	if (lx_schema_field_parse(f, p, text, why, sizeof(why)))
		return lx_session_fail(s, -EINVAL, "%s %s", f->key, why);
	return 0;
}

int lx_args_take(struct lx_session *s, const struct lx_args *a, const struct lx_schema *schema,
		 void *obj)
{
	int err = 0;

	lx_schema_init(schema, obj);
	for (const struct lx_field *f = schema->field; !err && f->key; f++) {
		const struct arg_key *k = find_key(a, f);

		if (k)
			err = take_field(s, a, k, f, (char *)obj + f->offset);
	}
	return err;
}

/* ---- lists ----------------------------------------------------------------------------- */

int lx_arg_nids(struct lx_session *s, const char *text, const char *name, struct lx_nid **ret_nids,
		size_t *ret_n)
{
	int err = lx_nid_expand(text, LX_CTL_NIDS_MAX, ret_nids, ret_n);
	struct lx_nid nid;

	if (err == -EINVAL && !resolve(text, &nid)) {
		*ret_nids = malloc(sizeof(nid));
		if (!*ret_nids)
			return lx_session_fail(s, -ENOMEM, "out of memory");
		**ret_nids = nid;
		*ret_n = 1;
		return 0;
	}
	if (err == -E2BIG)
		return lx_session_fail(s, -EINVAL, "%s \"%s\": more than %u NIDs", name, text,
				       LX_CTL_NIDS_MAX);
	if (err)
		return lx_session_fail(s, -EINVAL,
				       "%s \"%s\": not a NID, or no such host (10.0.0.1@tcp, "
				       "10.0.0.[1-4]@tcp, ...)",
				       name, text);
	return 0;
}

int lx_args_nids(struct lx_session *s, const struct lx_args *a, const char *name,
		 struct lx_nid **ret_nids, size_t *ret_n)
{
	int err = 0;

	*ret_nids = NULL;
	*ret_n = 0;
	for (int i = 0; !err && i < a->n_rest; i++) {
		struct lx_nid *some LX_AUTO_FREE = NULL, *one;
		size_t n = 0;

		err = lx_arg_nids(s, a->rest[i], name, &some, &n);
		for (size_t j = 0; !err && j < n; j++) {
			one = lx_grow(ret_nids, ret_n, sizeof(*one));
			if (one)
				*one = some[j];
			else
				err = lx_session_fail(s, -ENOMEM, "out of memory");
		}
	}
	return err;
}

int lx_arg_cpt(struct lx_session *s, const char *text)
{
	char why[160];

	if (lx_conf_net_cpt(text, why, sizeof(why)))
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
