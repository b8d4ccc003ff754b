/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests: the table of objects and verbs, and the functions of lnetx/ctl.h that use it.
 * No state except the handle's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/key.h"
#include "codec.h"
#include "args.h"
#include "ctl.h"
#include "request.h"
#include "row.h"

static const struct lx_field no_fields[] = { { 0 } };
static const struct lx_schema nothing = { "nothing", 0, no_fields };

/* Arguments that set flags of the message instead of attributes. */
static const struct lx_ctl_flag node_flags[] = { { "all", NLM_F_EXCL, true },
						 { "large", NLM_F_APPEND, false },
						 { NULL, 0, false } };
static const struct lx_ctl_flag discover_flags[] = { { "force", NLM_F_EXCL, false },
						     { NULL, 0, false } };

/* What lnetctl sends by default. */
static const struct lx_ctl_arg all_levels[] = { { "level", "9" }, { NULL, NULL } };
static const struct lx_ctl_arg one_second[] = { { "timeout", "1000" }, { NULL, NULL } };
static const struct lx_ctl_arg multi_rail[] = { { "Multi-Rail", "true" }, { NULL, NULL } };

#define SHOW(o, shown) \
	{ LX_CTL_##o, LX_CTL_SHOW, NLM_F_DUMP, &lx_control_show_schema, &shown, all_levels, NULL }
#define FOLLOW(o, schema, shown) \
	{ LX_CTL_##o, LX_CTL_SHOW, NLM_F_DUMP, &schema, &shown, NULL, NULL }
#define PROBE(o, flags, words) \
	{ LX_CTL_##o, LX_CTL_SHOW, flags, &lx_control_ping_schema, &lx_control_pings, one_second, \
	  words }
#define ADD(o, schema) { LX_CTL_##o, LX_CTL_ADD, NLM_F_CREATE, &schema, NULL, NULL, NULL }
#define DEL(o, schema) { LX_CTL_##o, LX_CTL_DEL, 0, &schema, NULL, NULL, NULL }
#define SET(o, schema) { LX_CTL_##o, LX_CTL_SET, NLM_F_REPLACE, &schema, NULL, NULL, NULL }

const struct lx_ctl_request lx_ctl_requests[] = {
	SHOW(DAEMON, lx_control_statuses),
	{ LX_CTL_NODE, LX_CTL_ADD, NLM_F_CREATE, &nothing, NULL, NULL, node_flags },
	DEL(NODE, nothing),
	SET(CONFIG, nothing),
	SHOW(NET, lx_control_nets),
	ADD(NET, lx_control_net_schema),
	DEL(NET, lx_control_net_schema),
	SET(NET, lx_control_set_schema),
	SHOW(PEER, lx_control_peers),
	{ LX_CTL_PEER, LX_CTL_ADD, NLM_F_CREATE, &lx_control_peer_schema, NULL, multi_rail, NULL },
	{ LX_CTL_PEER, LX_CTL_DEL, 0, &lx_control_peer_schema, NULL, multi_rail, NULL },
	SET(PEER, lx_control_set_schema),
	SHOW(ROUTE, lx_control_routes),
	ADD(ROUTE, lx_control_route_schema),
	DEL(ROUTE, lx_control_route_schema),
	SHOW(ROUTING, lx_control_routing_info),
	SET(ROUTING, lx_control_routing_schema),
	SET(BUFFERS, lx_control_buffers_schema),
	SHOW(STATS, lx_control_stats),
	DEL(STATS, nothing),
	SHOW(TUNABLE, lx_control_tunables),
	SET(TUNABLE, lx_control_value_schema),
	SHOW(UDSP, lx_control_udsps),
	ADD(UDSP, lx_control_udsp_schema),
	DEL(UDSP, lx_control_udsp_del_schema),
	SHOW(FAULT, lx_control_faults),
	ADD(FAULT, lx_control_fault_schema),
	DEL(FAULT, lx_control_fault_schema),
	SET(FAULT, lx_control_fault_schema),
	SHOW(RECOVERY, lx_control_recovery),
	SHOW(CONN, lx_control_conns),
	DEL(CONN, lx_control_disconnect_schema),
	PROBE(PING, NLM_F_DUMP, NULL),
	PROBE(DISCOVER, NLM_F_CREATE, discover_flags),
	FOLLOW(EVENT, nothing, lx_control_events),
	SHOW(BPF, lx_control_bpf),
	SHOW(STREAM, lx_control_streams),
	SHOW(LANE, lx_control_lanes),
	FOLLOW(TRACE, lx_control_filter_schema, lx_control_traces),
	SHOW(GUARD, lx_control_guards),
	SET(GUARD, lx_control_guard_schema),
	SHOW(BAN, lx_control_bans),
	ADD(BAN, lx_control_ban_schema),
	DEL(BAN, lx_control_ban_schema),
	SHOW(PREFIX, lx_control_prefixes),
	ADD(PREFIX, lx_control_prefix_schema),
	DEL(PREFIX, lx_control_prefix_schema),
	SHOW(REFUSAL, lx_control_refusals),
	SHOW(SELFTEST, lx_control_selftests),
	SET(SELFTEST, lx_control_selftest_schema),
	{ 0, 0, 0, NULL, NULL, NULL, NULL },
};

static const uint8_t commands[] = {
	[LX_CTL_DAEMON] = LX_CONTROL_STATUS,
	[LX_CTL_NODE] = LX_CONTROL_CONFIGURE,
	[LX_CTL_CONFIG] = LX_CONTROL_RELOAD,
	[LX_CTL_NET] = LX_CONTROL_NETS,
	[LX_CTL_PEER] = LX_CONTROL_PEERS,
	[LX_CTL_ROUTE] = LX_CONTROL_ROUTES,
	[LX_CTL_ROUTING] = LX_CONTROL_ROUTING,
	[LX_CTL_BUFFERS] = LX_CONTROL_BUFFERS,
	[LX_CTL_STATS] = LX_CONTROL_STATS,
	[LX_CTL_TUNABLE] = LX_CONTROL_TUNABLES,
	[LX_CTL_UDSP] = LX_CONTROL_UDSP,
	[LX_CTL_FAULT] = LX_CONTROL_FAULT,
	[LX_CTL_RECOVERY] = LX_CONTROL_RECOVERY,
	[LX_CTL_CONN] = LX_CONTROL_CONNS,
	[LX_CTL_PING] = LX_CONTROL_PING,
	[LX_CTL_DISCOVER] = LX_CONTROL_PING,
	[LX_CTL_EVENT] = LX_CONTROL_MONITOR,
	[LX_CTL_BPF] = LX_CONTROL_BPF,
	[LX_CTL_STREAM] = LX_CONTROL_STREAMS,
	[LX_CTL_LANE] = LX_CONTROL_LANES,
	[LX_CTL_TRACE] = LX_CONTROL_TRACE,
	[LX_CTL_GUARD] = LX_CONTROL_GUARD,
	[LX_CTL_BAN] = LX_CONTROL_BANS,
	[LX_CTL_PREFIX] = LX_CONTROL_PREFIXES,
	[LX_CTL_REFUSAL] = LX_CONTROL_REFUSALS,
	[LX_CTL_SELFTEST] = LX_CONTROL_SELFTEST,
};

const char *lx_ctl_object_name(enum lx_ctl_object object)
{
#define NAME_(NAME, name) name,
	static const char *const names[] = { LX_CTL_OBJECTS(NAME_) };

	return (unsigned int)object < LX_CTL_OBJECT_COUNT ? names[object] : NULL;
}

/* ---- requests ---------------------------------------------------------------------- */

static const char *const verb_names[] = { "show", "add", "del", "set" };

static const struct lx_ctl_request *find(enum lx_ctl_verb verb, enum lx_ctl_object object)
{
	for (const struct lx_ctl_request *r = lx_ctl_requests; r->schema; r++) {
		if (r->object == object && r->verb == verb)
			return r;
	}
	return NULL;
}

static int refuse(struct lx_ctl *ctl, int error, const char *object, const struct lx_ctl_args_error *why)
{
	lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, error, "%s: %s", object,
		    *why->text ? why->text : strerror(-error));
	snprintf(ctl->why.object, sizeof(ctl->why.object), "%s", object);
	snprintf(ctl->why.word, sizeof(ctl->why.word), "%s", why->word);
	return error;
}

/* Turns arguments into flags. @rest: gets the other arguments; room for all. */
static int take_flags(const struct lx_ctl_request *r, const struct lx_ctl_arg *args,
		      struct lx_ctl_arg *rest, uint16_t *flags, struct lx_ctl_args_error *why)
{
	for (const struct lx_ctl_flag *f = r->words; f && f->key; f++)
		*flags |= f->inverse ? f->flag : 0;
	for (; args && args->key; args++) {
		const struct lx_ctl_flag *f = r->words;
		bool on = args->value && !strcmp(args->value, "true");

		while (f && f->key && !lx_key_is(f->key, args->key))
			f++;
		if (!f || !f->key) {
			*rest++ = *args;
			continue;
		}
		if (!on && (!args->value || strcmp(args->value, "false"))) {
			snprintf(why->word, sizeof(why->word), "%s", args->key);
			snprintf(why->text, sizeof(why->text), "%s: \"true\" or \"false\" is expected",
				 args->key);
			return -EINVAL;
		}
		*flags = on != f->inverse ? *flags | f->flag : *flags & ~f->flag;
	}
	*rest = (struct lx_ctl_arg){ NULL, NULL };
	return 0;
}

static int no_such(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object)
{
	const char *name = lx_ctl_object_name(object);

	lx_ctl_discard(ctl);
	lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, -EINVAL, "%s: no verb \"%s\"",
		    name ? name : "no such object",
		    (unsigned int)verb < sizeof(verb_names) / sizeof(verb_names[0]) ?
			    verb_names[verb] :
			    "?");
	snprintf(ctl->why.object, sizeof(ctl->why.object), "%s", name ? name : "");
	return -EINVAL;
}

/* The level of detail that a request asks for. */
static unsigned int level_of(const struct lx_ctl_request *r, const struct nlmsghdr *nlh)
{
	struct lx_control_show req;
	const void *attrs;
	char text[80];
	size_t len;

	if (r->schema != &lx_control_show_schema)
		return LX_LEVEL_OWN;
	attrs = lx_schema_attrs(nlh, sizeof(struct lx_control_hdr), &len);
	lx_schema_get(attrs, len, r->schema, &req, text, sizeof(text)); /* checked before */
	return req.level;
}

int lx_ctl_start(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
		 const struct lx_ctl_arg *args)
{
	const struct lx_ctl_request *r = find(verb, object);
	struct lx_ctl_args_error why = { "", "" };
	struct lx_ctl_arg *rest LX_AUTO_FREE = NULL;
	uint16_t flags = r ? r->flags : 0;
	struct nlmsghdr *nlh;
	size_t n = 0;
	int err;

	if (!r)
		return no_such(ctl, verb, object);
	while (args && args[n].key)
		n++;
	rest = calloc(n + 1, sizeof(*rest));
	err = rest ? take_flags(r, args, rest, &flags, &why) : -ENOMEM;
	nlh = lx_ctl_begin(ctl, commands[object], flags);
	if (!err)
		err = lx_ctl_args_put(nlh, sizeof(ctl->buf), r->schema, rest, r->given, &why);
	if (err)
		return refuse(ctl, err, lx_ctl_object_name(object), &why);
	ctl->shown = r->shown;
	ctl->level = level_of(r, nlh);
	return lx_ctl_finish(ctl, nlh);
}

static bool is_true(const struct lx_ctl_arg *words, const char *key)
{
	while (words && words->key && strcmp(words->key, key))
		words++;
	return words && words->key && !strcmp(words->value, "true");
}

int lx_ctl_start_with(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
		      const void *obj, const struct lx_ctl_arg *words)
{
	const struct lx_ctl_request *r = find(verb, object);
	uint16_t flags = r ? r->flags : 0;

	if (!r)
		return no_such(ctl, verb, object);
	for (const struct lx_ctl_flag *f = r->words; f && f->key; f++)
		flags |= f->inverse != is_true(words, f->key) ? f->flag : 0;
	return lx_ctl_send(ctl, commands[object], flags, obj ? r->schema : NULL, obj);
}

int lx_ctl_next(struct lx_ctl *ctl, struct lx_ctl_row *ret_row)
{
	const struct lx_control_object *shown = ctl->shown;
	const void *attrs;
	size_t len;
	int more = lx_ctl_receive(ctl, &attrs, &len);

	if (more == 1)
		lx_ctl_row_of(ret_row, shown ? shown->group : NULL, shown ? shown->row : &nothing,
			      attrs, len, ctl->level);
	return more;
}

/* Reads what is left of the answer. */
static int drain(struct lx_ctl *ctl)
{
	const void *attrs;
	size_t len;
	int more;

	do {
		more = lx_ctl_receive(ctl, &attrs, &len);
	} while (more == 1);
	if (more < 0 && ctl->answering)
		lx_ctl_close(ctl); /* a late answer is not for the next request */
	return more;
}

int lx_ctl_do(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
	      const struct lx_ctl_arg *args)
{
	int err = lx_ctl_start(ctl, verb, object, args);

	return err ? err : drain(ctl);
}

/* ---- shorthand --------------------------------------------------------------------- */

int lx_ctl_tunable_get(struct lx_ctl *ctl, const char *module, const char *name, char *buf,
		       size_t size)
{
	const struct lx_ctl_arg args[] = { { "module", module }, { "name", name }, { NULL, NULL } };
	int err = lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_TUNABLE, args);
	const char *value = NULL;
	struct lx_ctl_row row;
	bool fits = true;

	if (err)
		return err;
	err = lx_ctl_next(ctl, &row);
	if (err == 1)
		value = lx_ctl_text(&row, "value");
	if (value)
		fits = (size_t)snprintf(buf, size, "%s", value) < size;
	if (err == 1)
		err = drain(ctl);
	if (!err && !value)
		return lx_ctl_fail(ctl, LX_CTL_FROM_CONNECTION, -EPROTO,
				   "lnetxd sent no value of %s %s", module, name);
	if (!err && !fits)
		return lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, -ENOSPC,
				   "%s %s: the value is longer than the buffer", module, name);
	return err;
}

int lx_ctl_tunable_set(struct lx_ctl *ctl, const char *module, const char *name,
		       const char *value)
{
	const struct lx_ctl_arg args[] = {
		{ "module", module }, { "name", name }, { "value", value }, { NULL, NULL }
	};

	return lx_ctl_do(ctl, LX_CTL_SET, LX_CTL_TUNABLE, args);
}

int lx_ctl_ping(struct lx_ctl *ctl, const char *nid, int timeout_ms)
{
	char ms[16];
	const struct lx_ctl_arg args[] = { { "nid", nid }, { "timeout", ms }, { NULL, NULL } };

	snprintf(ms, sizeof(ms), "%d", timeout_ms);
	return lx_ctl_do(ctl, LX_CTL_SHOW, LX_CTL_PING, args);
}
