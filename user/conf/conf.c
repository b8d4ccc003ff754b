/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parses YAML into struct lx_conf (lnetx/conf.h): the output of "lnetctl export", with or
 * without "--backup", and files written by admins. Called by the daemon, by
 * lx_node_new_yaml() and by the CLI's import; owns no state.
 *
 * The schema of its object describes the keys of a mapping; here are the keys that need
 * more than that. Status in an export, counters and states, is ignored. All other keys are errors.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lnetx/conf.h>

#include "../base/array.h"
#include "../base/cleanup.h"
#include "../base/nidrange.h"
#include "../base/suggest.h"
#include "check.h"
#include "global.h"
#include "ip2nets.h"
#include "modparam.h"
#include "net.h"
#include "rule.h"
#include "udsp.h"
#include "yaml.h"

/* Argument of the sections' functions. */
struct section {
	struct lx_conf *conf;
	struct lx_conf_route route;
	const char *gateways; /* owned by the document */
	const yaml_node_t *gateway; /* the node of that text */
	int64_t lnd_timeout; /* of "global"; 0: not given */
	int lnd_timeout_line;
	struct lx_conf_peer peer;
	const char *module;
};

/* ---- the value --------------------------------------------------------------------- */

int lx_conf_new(struct lx_conf **ret_conf)
{
	struct lx_conf *conf = calloc(1, sizeof(*conf));

	if (!conf)
		return -ENOMEM;
	conf->routing = LX_UNSET;
	lx_schema_init(&lx_object_selftest_schema, &conf->selftest);
	lx_schema_init(&lx_object_buffers_schema, conf->buffers);
	*ret_conf = conf;
	return 0;
}

void lx_conf_free(struct lx_conf *conf)
{
	if (!conf)
		return;
	for (size_t i = 0; i < conf->n_peers; i++)
		free(conf->peer[i].nid);
	for (size_t i = 0; i < conf->n_rules; i++)
		lx_rule_fini(&conf->rule[i]);
	free(conf->ni);
	free(conf->rule);
	free(conf->route);
	free(conf->peer);
	free(conf->tunable);
	free(conf->udsp);
	free(conf->ignored);
	free(conf);
}

static int section_net(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	int err = lx_conf_net(y, value, ((struct section *)arg)->conf);

	y->report->nets_unsure |= err < 0;
	return err;
}

static int section_ip2nets(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	int err = lx_conf_ip2nets(y, value, ((struct section *)arg)->conf);

	y->report->nets_unsure |= err < 0;
	return err;
}

/* ---- route ------------------------------------------------------------------------- */

static int route_gateway(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct section *s = arg;
	const char *text = lx_yaml_text(y, value, "gateway");

	if (!text)
		return -EINVAL;
	s->gateways = text; /* expanded when the entry is complete */
	s->gateway = value;
	return 0;
}

/* Adds the routes even if the entry has mistakes: checks may find more. */
static int add_routes(struct lx_yaml *y, yaml_node_t *node, struct section *s)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = lx_nid_expand(s->gateways, LX_YAML_NIDS, &nids, &n);

	if (err)
		return lx_yaml_fail(y, s->gateway, err == -E2BIG ? -EINVAL : err,
				    "invalid value for \"gateway\": \"%.80s\" %s", s->gateways,
				    err == -E2BIG ? "are too many NIDs" : "is not a NID");
	s->route.at = lx_yaml_at(s->gateway);
	for (size_t i = 0; !err && s->route.net != LX_NET_U32_ANY && i < n; i++) {
		s->route.gateway = nids[i];
		err = lx_yaml_append(y, node, &s->conf->route, &s->conf->n_routes, LX_YAML_ENTRIES,
				     &s->route, sizeof(s->route));
	}
	return err;
}

static int route_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "gateway", route_gateway },
						   { "seq_no", lx_yaml_ignored },
						   { "detail", lx_yaml_ignored },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "route", keys, &lx_object_route_schema,
						    &lx_object_routes };
	struct section *s = arg;
	int err, more = 0;

	lx_schema_init(shape.schema, &s->route);
	s->gateways = NULL;
	err = lx_yaml_map(y, node, &shape, &s->route, s);
	s->route.net_at = lx_yaml_place(y, node, "net");
	if (!err && (s->route.net == LX_NET_U32_ANY || !s->gateways))
		err = lx_yaml_fail(y, node, -EINVAL, "no value for \"%s\" in route",
				   s->gateways ? "net" : "gateway");
	if (s->gateways && !lx_conf_is_fatal(err))
		more = add_routes(y, node, s);
	return err ? err : more;
}

static int section_route(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_seq(y, value, "route", route_entry, arg);
}

/* ---- routing, buffers -------------------------------------------------------------- */

/* 2 and 3 were stopping and starting, in an export of 0.1 during a change. */
static int routing_enable(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf *conf = ((struct section *)arg)->conf;
	const char *text = lx_yaml_text(y, value, "enable");
	bool on;
	int err = text ? 0 : -EINVAL;

	conf->routing_at = lx_yaml_at(value);
	if (text && lx_schema_field_is_truth(text, &on))
		conf->routing = on;
	else if (text)
		err = lx_yaml_int32(y, value, "enable", 0, LX_ROUTING_STARTING, &conf->routing);
	if (!err)
		conf->routing &= 1;
	return err;
}

static int routing_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "enable", routing_enable },
						   { "cpt[0]", NULL },
						   { "seq_no", lx_yaml_ignored },
						   { "detail", lx_yaml_ignored },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "routing", keys, NULL,
						    &lx_object_routing_info };

	/* An export of a reference node has an entry for each of its CPTs. */
	if (node->type == YAML_MAPPING_NODE &&
	    node->data.mapping.pairs.top == node->data.mapping.pairs.start + 1) {
		yaml_node_t *key =
			yaml_document_get_node(&y->doc, node->data.mapping.pairs.start->key);

		if (key->type == YAML_SCALAR_NODE &&
		    (!strncmp((char *)key->data.scalar.value, "cpt[", 4) ||
		     !strncmp((char *)key->data.scalar.value, "cpt_", 4)))
			return 0;
	}
	return lx_yaml_map(y, node, &shape, NULL, arg);
}

static int section_routing(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	if (value->type == YAML_SCALAR_NODE && !lx_yaml_null(value)) /* "routing: 1" */
		return routing_enable(y, value, arg);
	return lx_yaml_seq(y, value, "routing", routing_entry, arg);
}

static int section_buffers(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "seq_no", lx_yaml_ignored }, { 0 } };
	static const struct lx_yaml_shape shape = { "buffers", keys, &lx_object_buffers_schema,
						    NULL };

	return lx_yaml_map(y, value, &shape, ((struct section *)arg)->conf->buffers, arg);
}

/* ---- peer -------------------------------------------------------------------------- */

static int peer_ni_nid(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf_peer *peer = &((struct section *)arg)->peer;
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = lx_yaml_nids(y, value, "nid", &nids, &n);

	for (size_t i = 0; !err && i < n; i++)
		err = lx_yaml_append(y, value, &peer->nid, &peer->n_nids, LX_YAML_NIDS, &nids[i],
				     sizeof(nids[i]));
	return err;
}

static int peer_ni_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "nid", peer_ni_nid },
						   { "send_count", NULL }, /* 2.10 */
						   { "recv_count", NULL },
						   { "drop_count", NULL },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "peer ni", keys, NULL, &lx_object_peers };

	return lx_yaml_map(y, node, &shape, NULL, arg);
}

static int peer_nis(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_seq(y, value, "peer ni", peer_ni_entry, arg);
}

/*
 * An export lists the primary NID among the NIs, and 0@lo among those of the node itself;
 * struct lx_conf_peer does not.
 */
static void peer_drop_implied(struct lx_conf_peer *peer)
{
	size_t kept = 0;

	for (size_t i = 0; i < peer->n_nids; i++) {
		bool primary = lx_nid_eq(&peer->nid[i], &peer->primary);

		peer->primary_listed |= primary;
		if (!primary && !lx_nid_eq(&peer->nid[i], &lx_nid_lo))
			peer->nid[kept++] = peer->nid[i];
	}
	peer->n_nids = kept;
}

static int peer_entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "peer ni", peer_nis },
						   { "seq_no", lx_yaml_ignored },
						   { "detail", lx_yaml_ignored },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "peer", keys, &lx_object_peer_schema,
						    &lx_object_peers };
	struct lx_ctl_peer given;
	struct section *s = arg;
	int err, more = 1; /* not taken */

	lx_schema_init(shape.schema, &given);
	given.multi_rail = true;
	s->peer = (struct lx_conf_peer){ .at = lx_yaml_place(y, node, "primary nid") };
	err = lx_yaml_map(y, node, &shape, &given, s);
	s->peer.primary = given.primary;
	s->peer.multi_rail = given.multi_rail;
	s->peer.lock_primary = given.lock_primary;
	if (!err && lx_nid_is_any(&given.primary))
		err = lx_yaml_fail(y, node, -EINVAL, "no value for \"primary nid\" in peer");
	if (!lx_nid_is_any(&given.primary) && !lx_conf_is_fatal(err)) {
		peer_drop_implied(&s->peer);
		more = lx_yaml_append(y, node, &s->conf->peer, &s->conf->n_peers, LX_YAML_ENTRIES,
				      &s->peer, sizeof(s->peer));
	}
	if (more)
		free(s->peer.nid);
	return err ? err : more < 0 ? more : 0;
}

static int section_peer(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_seq(y, value, "peer", peer_entry, arg);
}

/* ---- tunables: global, numa, tunables ------------------------------------------------------- */

static int add_tunable(struct lx_yaml *y, const yaml_node_t *key, struct section *s,
		       struct lx_conf_tunable *t, const char *module, const char *name,
		       const char *value)
{
	const struct {
		const char *from;
		char *to;
		size_t size;
	} part[] = { { module, t->module, sizeof(t->module) },
		     { name, t->name, sizeof(t->name) },
		     { value, t->value, sizeof(t->value) } };

	for (size_t i = 0; i < LX_ARRAY_LEN(part); i++) {
		if (strlen(part[i].from) >= part[i].size)
			return lx_yaml_fail(y, key, -EINVAL,
					    "invalid value for \"%.40s\": \"%.40s\" is too long",
					    name, part[i].from);
		strcpy(part[i].to, part[i].from); /* fits: just checked */
	}
	t->at = lx_yaml_at(key);
	return lx_yaml_append(y, key, &s->conf->tunable, &s->conf->n_tunables, LX_YAML_ENTRIES, t,
			      sizeof(*t));
}

/* @key: the node of the name, maybe in another section. */
static int global_value(struct lx_yaml *y, yaml_node_t *key, yaml_node_t *value, const char *name,
			struct section *s)
{
	const struct lx_global *g = lx_global_lookup(name);
	struct lx_conf_tunable t = { .global = true, .value_at = lx_yaml_at(value) };
	const char *given = lx_yaml_text(y, value, name);
	int64_t number;
	char text[24];
	bool on;
	int err = given ? 0 : -EINVAL;

	if (given && g->on_off && lx_schema_field_is_truth(given, &on))
		number = on;
	else if (given)
		err = lx_yaml_int(y, value, name, 0, g->inverse ? 1 : INT32_MAX, &number);

	if (!err && !g->tunable) {
		s->lnd_timeout = number;
		s->lnd_timeout_line = t.value_at.line;
	}
	if (err || !g->tunable)
		return err;
	snprintf(text, sizeof(text), "%" PRId64, g->inverse ? !number : number);
	return add_tunable(y, key, s, &t, "lnet", g->tunable, text);
}

static int global_pair(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		       void *arg)
{
	struct lx_suggest meant = lx_suggest(name);

	if (lx_global_lookup(name))
		return global_value(y, key, value, name, arg);
	if (!strcmp(name, "seq_no"))
		return lx_yaml_ignore(y, key);
	for (const struct lx_global *g = lx_globals; g->key; g++)
		lx_suggest_offer(&meant, g->key);
	return lx_yaml_fail(y, key, -EINVAL, "invalid key \"%.40s\" in global; %s%s%s", name,
			    meant.best ? "did you mean \"" : "see lnetx.conf(5)",
			    meant.best ? meant.best : "", meant.best ? "\"?" : "");
}

/* An export has it, but it follows from others. */
static void check_lnd_timeout(struct lx_yaml *y, const struct section *s)
{
	const struct lx_conf_tunable *t = s->conf->tunable;
	int64_t whole = 0, retries = 0;

	for (size_t i = 0; i < s->conf->n_tunables; i++) {
		if (!strcmp(t[i].name, "lnet_transaction_timeout"))
			whole = atoll(t[i].value);
		else if (!strcmp(t[i].name, "lnet_retry_count"))
			retries = atoll(t[i].value);
	}
	if (s->lnd_timeout && s->lnd_timeout != lx_global_lnd_timeout(whole, retries))
		lx_yaml_remark(y, "\"lnd_timeout\" (line", s->lnd_timeout_line);
}

static int section_global(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_null(value) ? 0 : lx_yaml_pairs(y, value, "global", global_pair, arg);
}

static int numa_range(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return global_value(y, value, value, "numa_range", arg);
}

static int section_numa(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "range", numa_range },
						   { "seq_no", lx_yaml_ignored },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "numa", keys, NULL, NULL };

	return lx_yaml_map(y, value, &shape, NULL, arg);
}

static int tunable_pair(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
			void *arg)
{
	struct section *s = arg;
	struct lx_conf_tunable t = { .value_at = lx_yaml_at(value) };
	int err = strcmp(s->module, "lnet") ? -ENOENT
					    : lx_conf_modparam(y, value, name, s->conf);
	const char *text;

	if (err != -ENOENT)
		return err;
	if (lx_modparam_ignored(s->module, name))
		return lx_yaml_ignore(y, key);
	text = lx_yaml_text(y, value, name);
	return text ? add_tunable(y, key, s, &t, lx_modparam_module(s->module, name), name, text)
		    : -EINVAL;
}

static int module_pair(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		       void *arg)
{
	((struct section *)arg)->module = name;
	return lx_yaml_null(value) ? 0 : lx_yaml_pairs(y, value, name, tunable_pair, arg);
}

static int section_tunables(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_null(value) ? 0 : lx_yaml_pairs(y, value, "tunables", module_pair, arg);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int section_udsp(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_conf_udsps(y, value, ((struct section *)arg)->conf);
}

/* ---- selftest ---------------------------------------------------------------------- */

static int selftest_consoles(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf_selftest *selftest = &((struct section *)arg)->conf->selftest;
	const char *text = lx_yaml_text(y, value, "consoles");
	struct lx_nid_range *ranges = NULL;
	size_t n;

	if (!text)
		return -EINVAL;
	selftest->at = lx_yaml_at(value);
	if (strlen(text) >= sizeof(selftest->consoles))
		return lx_yaml_fail(y, value, -EINVAL, "consoles: more than %zu characters",
				    sizeof(selftest->consoles) - 1);
	if (strcmp(text, "any") && lx_nidranges_parse(text, &ranges, &n))
		return lx_yaml_fail(y, value, -EINVAL,
				    "consoles \"%s\": NIDs or ranges of NIDs are expected, as in "
				    "\"10.0.0.*@tcp, 10.1.0.[1-4]@o2ib\", or \"any\"",
				    text);
	free(ranges);
	strcpy(selftest->consoles, text);
	return 0;
}

static int section_selftest(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "consoles", selftest_consoles },
						   { 0 } };
	static const struct lx_yaml_shape shape = { "selftest", keys, &lx_object_selftest_schema,
						    NULL };
	struct lx_conf *conf = ((struct section *)arg)->conf;
	int err = lx_yaml_map(y, value, &shape, &conf->selftest, arg);

	if (!err && conf->selftest.enable == 1 && !conf->selftest.consoles[0])
		err = lx_yaml_fail(
			y, value, -EINVAL,
			"selftest: \"consoles\" is missing: which NIDs may order traffic, "
			"as in \"10.0.0.*@tcp\", or \"any\"");
	return err;
}

static int section_command(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_fail(y, value, -EINVAL,
			    "sections \"ping\" and \"discover\" are commands, not configuration; "
			    "use \"import --exec\"");
}

/* Fills @conf with what can be parsed. Returns the first error. */
static int read_all(struct lx_conf *conf, const char *yaml, size_t len,
		    struct lx_conf_report *report)
{
	static const struct lx_yaml_key sections[] = { { "net", section_net },
						       { "route", section_route },
						       { "routing", section_routing },
						       { "buffers", section_buffers },
						       { "peer", section_peer },
						       { "global", section_global },
						       { "numa", section_numa },
						       { "tunables", section_tunables },
						       { "ip2nets", section_ip2nets },
						       { "udsp", section_udsp },
						       { "selftest", section_selftest },
						       { "statistics", NULL },
						       { "ping", section_command },
						       { "discover", section_command },
						       { 0 } };
	struct section s = { .conf = conf };
	struct lx_yaml y;
	int err = lx_yaml_open(&y, yaml, len, report);

	if (err)
		return err;
	if (lx_yaml_root(&y) && !lx_yaml_null(lx_yaml_root(&y)))
		err = lx_yaml_sections(&y, sections, &s);
	check_lnd_timeout(&y, &s);
	if (!lx_conf_is_fatal(err) && y.ignored[0]) {
		conf->ignored = strdup(y.ignored);
		if (!conf->ignored)
			err = lx_yaml_fail(&y, NULL, -ENOMEM, "out of memory");
	}
	lx_yaml_close(&y);
	return err;
}

int lx_conf_read(const char *yaml, size_t len, struct lx_conf_report *report,
		 struct lx_conf **ret_conf)
{
	struct lx_conf *conf;
	int err = lx_conf_new(&conf);

	if (err)
		return lx_conf_note(report, err, (struct lx_conf_place){ 0 }, "out of memory");
	err = read_all(conf, yaml, len, report);
	if (lx_conf_is_fatal(err)) {
		lx_conf_free(conf);
		return err;
	}
	*ret_conf = conf;
	return 0;
}

int lx_conf_parse_ip2nets(const char *text, struct lx_conf **ret_conf,
			  struct lx_conf_error *ret_err)
{
	struct lx_modparam p = { 0 };
	int err = lx_conf_new(&p.conf);

	memset(ret_err, 0, sizeof(*ret_err));
	if (!err)
		err = lx_modparam_ip2nets(&p, text);
	if (!err) {
		*ret_conf = p.conf;
		return 0;
	}
	snprintf(ret_err->text, sizeof(ret_err->text), "ip2nets: %s", p.why);
	lx_conf_free(p.conf);
	return err;
}

int lx_conf_parse(const char *yaml, size_t len, struct lx_conf **ret_conf,
		  struct lx_conf_error *ret_err)
{
	struct lx_conf_report report = { 0 };
	struct lx_conf *conf = NULL;
	int err = lx_conf_read(yaml, len, &report, &conf), first;

	memset(ret_err, 0, sizeof(*ret_err));
	first = lx_conf_report_end(&report, ret_err);
	if (!err)
		err = first;
	if (err)
		lx_conf_free(conf);
	else
		*ret_conf = conf;
	return err;
}
