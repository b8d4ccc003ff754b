/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The section "ip2nets" of a configuration, and parameters with their own grammar.
 * Called by conf.c only; owns no state.
 */
#include <errno.h>
#include <string.h>

#include "../base/array.h"
#include "ip2nets.h"
#include "modparam.h"
#include "net.h"
#include "rule.h"

#define RANGES_MAX 1024 /* of a rule, and interfaces */

/* ---- parameters ---------------------------------------------------------------------- */

/* Only one of the two may define the NIs. */
static bool both_given(const struct lx_conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->n_rules; i++) {
		if (conf->rule[i].legacy && conf->rule[i].always != !strcmp(name, "networks"))
			return true;
	}
	return false;
}

int lx_conf_modparam(struct lx_yaml *y, yaml_node_t *value, const char *name,
		     struct lx_conf *conf)
{
	static const struct {
		const char *name;
		int (*fn)(struct lx_modparam *p, const char *text);
		bool makes_nis;
	} params[] = { { "networks", lx_modparam_networks, true },
		       { "ip2nets", lx_modparam_ip2nets, true },
		       { "routes", lx_modparam_routes, false },
		       { "forwarding", lx_modparam_forwarding, false } };
	struct lx_modparam p = { .conf = conf, .at = lx_yaml_at(value) };
	const char *text;
	size_t i = 0;
	int err;

	while (i < LX_ARRAY_LEN(params) && strcmp(params[i].name, name))
		i++;
	if (i == LX_ARRAY_LEN(params))
		return -ENOENT;
	text = lx_yaml_text(y, value, name);
	if (!text)
		return -EINVAL;
	if (params[i].makes_nis && both_given(conf, name))
		return lx_yaml_fail(y, value, -EINVAL,
				    "give \"networks\" or \"ip2nets\", not both");
	err = params[i].fn(&p, text);
	return err ? lx_yaml_fail(y, value, err, "invalid value for \"%s\": %s", name, p.why) : 0;
}

/* ---- the section ----------------------------------------------------------------------- */

/* Argument of the keys' functions. */
struct walk {
	struct lx_conf *conf;
	struct lx_conf_rule rule;
};

static int net_spec(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf_rule *rule = &((struct walk *)arg)->rule;
	int err;

	rule->at = rule->ni.at = lx_yaml_at(value);
	err = lx_conf_net_type(y, value, "net-spec", &rule->ni.net);
	if (!err && lx_net_type(rule->ni.net) == LX_NET_LO)
		err = lx_yaml_fail(y, value, -EINVAL, "net lo is always there");
	return err;
}

static int ifname(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf_rule *rule = &((struct walk *)arg)->rule;
	char name[IF_NAMESIZE];
	int err = lx_conf_net_ifname(y, value, name);

	return err ? err
		   : lx_yaml_append(y, value, &rule->ifname, &rule->n_ifnames, RANGES_MAX, name,
				    sizeof(name));
}

static int interfaces(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_values(y, value, "interfaces", ifname, arg);
}

static int range(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct lx_conf_rule *rule = &((struct walk *)arg)->rule;
	const char *text = lx_yaml_text(y, value, "ip-range");
	struct lx_iprange one;

	if (!text)
		return -EINVAL;
	if (lx_iprange_parse(text, &one))
		return lx_yaml_fail(y, value, -EINVAL,
				    "invalid value for \"ip-range\": \"%.60s\" is not an address "
				    "pattern (10.0.[1-3].*, fd00::/64)",
				    text);
	return lx_yaml_append(y, value, &rule->range, &rule->n_ranges, RANGES_MAX, &one,
			      sizeof(one));
}

static int ranges(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_values(y, value, "ip-range", range, arg);
}

static int tunables(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_conf_net_ni_tunables(y, value, &((struct walk *)arg)->rule.ni);
}

static int lnd_tunables(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_conf_net_ni_lnd_tunables(y, value, &((struct walk *)arg)->rule.ni);
}

static int entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = {
		{ "net-spec", net_spec },	  { "interfaces", interfaces },
		{ "ip-range", ranges },		  { "tunables", tunables },
		{ "lnd tunables", lnd_tunables }, { "CPT", NULL },
		{ "seq_no", lx_yaml_ignored },	  { 0 }
	};
	static const struct lx_yaml_shape shape = { "ip2nets", keys, NULL, NULL };
	struct walk w = { .conf = arg };
	int err;

	lx_conf_net_ni_init(&w.rule.ni);
	err = lx_yaml_map(y, node, &shape, NULL, &w);
	w.rule.always = !w.rule.n_ranges;
	if (!w.rule.at.line)
		err = lx_yaml_fail(y, node, -EINVAL, "no value for \"net-spec\" in ip2nets");
	if (!err)
		err = lx_yaml_append(y, node, &w.conf->rule, &w.conf->n_rules, LX_YAML_ENTRIES,
				     &w.rule, sizeof(w.rule));
	if (err)
		lx_rule_fini(&w.rule);
	return err;
}

int lx_conf_ip2nets(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf)
{
	if (value->type == YAML_SCALAR_NODE && !lx_yaml_null(value))
		return lx_conf_modparam(y, value, "ip2nets", conf);
	return lx_yaml_seq(y, value, "ip2nets", entry, conf);
}
