/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Module parameters; see the header. Copies a text and cuts the copy into parts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/text.h"
#include "modparam.h"
#include "net.h"
#include "rule.h"

#define SPACE " \t\r\v\f\n"
#define ENTRIES_MAX 4096
#define NIDS_MAX 4096 /* of a word */
/* Debugging and CPU partitions; of lnet since libcfs became a part of it. */
#define LIBCFS_PARAMETERS                                                                          \
	"cpu_npartitions", "cpu_pattern", "libcfs_subsystem_debug", "libcfs_debug",                \
		"libcfs_debug_mb", "libcfs_subsystem_printk", "libcfs_printk",                     \
		"libcfs_console_ratelimit", "libcfs_console_max_delay",                            \
		"libcfs_console_min_delay", "libcfs_console_backoff", "libcfs_panic_on_lbug",      \
		"libcfs_debug_file_path", "libcfs_debug_raw_pointers"

int lx_modparam_fail(struct lx_modparam *p, const char *fmt, ...)
{

	LX_FORMAT(p->why, sizeof(p->why), fmt);
	return -EINVAL;
}

/* ---- parts of a text ------------------------------------------------------------------- */

char *lx_modparam_part(char **text, const char *separators)
{
	char *part = *text, *end;
	int depth = 0;

	if (!part)
		return NULL;
	part += strspn(part, SPACE);
	for (end = part; *end && (depth > 0 || !strchr(separators, *end)); end++)
		depth += (*end == '(' || *end == '[') - (*end == ')' || *end == ']');
	*text = *end ? end + 1 : NULL;
	while (end > part && strchr(SPACE, end[-1]))
		end--;
	*end = '\0';
	return part;
}

char *lx_modparam_entry(char **text)
{
	char *entry = strsep(text, ";\n");

	if (entry)
		entry[strcspn(entry, "#")] = '\0';
	return lx_modparam_part(&entry, "");
}

/* The parts, ended by NULL; no empty ones between spaces. NULL: out of memory. */
static char **split(char *text, const char *separators)
{
	char **part = calloc(strlen(text) + 2, sizeof(*part)), *one;
	size_t n = 0;

	while (part && (one = lx_modparam_part(&text, separators))) {
		if (*one || *separators == ',')
			part[n++] = one;
	}
	return part;
}

/* Gives @fn a copy of a parameter, as a whole or entry by entry. */
static int parse(struct lx_modparam *p, const char *text, bool whole,
		 int (*fn)(struct lx_modparam *p, char *text))
{
	char *mine LX_AUTO_FREE = NULL, *left, *entry;
	int err = 0;

	if (strlen(text) >= LX_MODPARAM_TEXT)
		return lx_modparam_fail(p, "longer than %d characters", LX_MODPARAM_TEXT - 1);
	lx_modparam_fail(p, "out of memory"); /* unless a better reason follows */
	mine = left = strdup(text);
	if (!mine)
		return -ENOMEM;
	if (whole)
		return fn(p, mine);
	while (!err && (entry = lx_modparam_entry(&left)))
		err = fn(p, entry);
	return err;
}

/* ---- rules of a configuration ---------------------------------------------------------- */

/* CPU partitions, checked as elsewhere. */
static int check_cpts(struct lx_modparam *p, const char *list)
{
	char why[160];

	return lx_conf_net_cpt(list, why, sizeof(why))
		       ? lx_modparam_fail(p, "CPU partitions %s", why)
		       : 0;
}

/* An interface must not be on a net twice, in one list or in two of "networks". */
static int add_interface(struct lx_modparam *p, struct lx_conf_rule *rule, const char *word)
{
	size_t len = strcspn(word, "[");
	char(*name)[IF_NAMESIZE];

	for (const struct lx_conf_rule *r = p->conf->rule + p->first; r <= rule; r++) {
		for (size_t i = 0; r->ni.net == rule->ni.net && i < r->n_ifnames; i++) {
			if (!strncmp(r->ifname[i], word, len) && !r->ifname[i][len])
				return lx_modparam_fail(p, "interface \"%s\" is on net %s twice",
							r->ifname[i], lx_net_str(r->ni.net));
		}
	}
	name = lx_grow(&rule->ifname, &rule->n_ifnames, sizeof(*name));
	if (!name)
		return -ENOMEM;
	memcpy(*name, word, len);
	return word[len] ? check_cpts(p, word + len) : 0;
}

static int add_range(struct lx_modparam *p, struct lx_conf_rule *rule, const char *word)
{
	struct lx_iprange *range = lx_grow(&rule->range, &rule->n_ranges, sizeof(*range));

	if (!range)
		return -ENOMEM;
	if (lx_iprange_parse(word, range))
		return lx_modparam_fail(p, "\"%.60s\" is not an address pattern (10.0.[1-3].*)",
					word);
	return 0;
}

/* The rule of a net; none for "lo", which always exists. */
static int add_rule(struct lx_modparam *p, const struct lx_modparam_net *net)
{
	struct lx_conf_rule *rule;
	int err = 0;

	if (lx_net_type(net->net) == LX_NET_LO)
		return 0;
	if (!lx_conf_lnd_settings(lx_net_type(net->net)))
		return lx_modparam_fail(p, "\"%.40s\": this version has no transport for it",
					net->name);
	if (p->conf->n_rules >= ENTRIES_MAX)
		return lx_modparam_fail(p, "too many entries");
	if (net->pattern)
		p->first = p->conf->n_rules;
	rule = lx_grow(&p->conf->rule, &p->conf->n_rules, sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	lx_conf_net_ni_init(&rule->ni);
	rule->ni.net = net->net;
	rule->ni.at = rule->at = p->at;
	rule->legacy = true;
	rule->always = !net->pattern;
	for (char **word = net->interface; !err && word && *word; word++)
		err = add_interface(p, rule, *word);
	if (!err && net->cpts)
		err = check_cpts(p, net->cpts);
	for (char **word = net->pattern; !err && word && *word; word++)
		err = add_range(p, rule, *word);
	return err;
}

/* ---- "networks" and "ip2nets" ---------------------------------------------------------- */

/* "(eth0,eth1[0])". Advances *@text past it. */
static int interfaces(struct lx_modparam *p, char **text, char ***ret_interface)
{
	char *list = *text + 1, *end = strchr(list, ')');

	if (!end)
		return lx_modparam_fail(p, "\"%.40s\": \")\" or another interface is expected",
					list);
	*end = '\0';
	*text = end + 1;
	*ret_interface = split(list, ",");
	if (!*ret_interface)
		return -ENOMEM;
	for (char **word = *ret_interface; *word; word++) {
		size_t len = strcspn(*word, "()[]" SPACE);

		if (!len || len >= IF_NAMESIZE || ((*word)[len] && (*word)[len] != '['))
			return lx_modparam_fail(
				p, "\"%.40s\": the name of an interface is expected", *word);
	}
	return 0;
}

/* "tcp0(eth0,eth1[0])[0,1]" */
static int net_spec(struct lx_modparam *p, char *spec, char **pattern)
{
	char **interface LX_AUTO_FREE = NULL, *rest = spec + strcspn(spec, "([" SPACE);
	char name[LX_NET_TEXT];
	struct lx_modparam_net net = { .name = name, .pattern = pattern };
	int err = 0;

	if (rest == spec || rest - spec >= (ptrdiff_t)sizeof(name))
		return lx_modparam_fail(p, "\"%.40s\": a net is expected", spec);
	snprintf(name, sizeof(name), "%.*s", (int)(rest - spec), spec);
	rest += strspn(rest, SPACE);
	if (lx_net_parse(name, &net.net))
		return lx_modparam_fail(p, "\"%s\" is not a net (tcp, tcp1, o2ib, ...)", name);
	if (*rest == '(')
		err = interfaces(p, &rest, &interface);
	if (err)
		return err;
	net.interface = interface;
	if (*rest == '[') {
		net.cpts = rest;
		rest += strcspn(rest, "]");
		if (!*rest)
			return lx_modparam_fail(
				p, "\"%.40s\": the list of CPU partitions has no end", net.cpts);
		rest++;
	}
	if (*rest)
		return lx_modparam_fail(p, "\"%.40s\": a comma is expected", rest);
	return p->net ? p->net(p, &net) : add_rule(p, &net);
}

static int net_list(struct lx_modparam *p, char *list, char **pattern)
{
	char *spec;
	int err = 0;

	while (!err && (spec = lx_modparam_part(&list, ",")))
		err = net_spec(p, spec, pattern);
	return err;
}

static int networks(struct lx_modparam *p, char *text)
{
	p->first = p->conf->n_rules;
	return text[strspn(text, SPACE)] ? net_list(p, text, NULL) : 0;
}

int lx_modparam_networks(struct lx_modparam *p, const char *text)
{
	return parse(p, text, true, networks);
}

/* "nets pattern [pattern ...]" */
static int ip2nets_entry(struct lx_modparam *p, char *entry)
{
	char **word LX_AUTO_FREE = split(entry, SPACE);

	if (!word)
		return -ENOMEM;
	return *word ? net_list(p, *word, word + 1) : 0;
}

int lx_modparam_ip2nets(struct lx_modparam *p, const char *text)
{
	return parse(p, text, false, ip2nets_entry);
}

/* ---- "routes": "net [hops] gateway[:priority] ..." ------------------------------------- */

static int add_route(struct lx_modparam *p, uint32_t net, const struct lx_nid *gateway,
		     const struct lx_modparam_route *r)
{
	struct lx_conf_route *route;

	if (lx_nid_net(gateway) == net || gateway->type == LX_NET_LO ||
	    lx_net_type(net) == LX_NET_LO)
		return lx_modparam_fail(p, "route to %s via %s: the gateway must be on another net",
					lx_net_str(net), lx_nid_str(gateway));
	if (p->conf->n_routes >= ENTRIES_MAX)
		return lx_modparam_fail(p, "too many entries");
	route = lx_grow(&p->conf->route, &p->conf->n_routes, sizeof(*route));
	if (!route)
		return -ENOMEM;
	*route = (struct lx_conf_route){ .net = net,
					 .gateway = *gateway,
					 .hop = r->hop,
					 .priority = r->priority,
					 .health_sensitivity = LX_UNSET,
					 .legacy = true,
					 .at = p->at,
					 .net_at = p->at };
	return 0;
}

/* To all nets by all gateways. */
static int add_routes(struct lx_modparam *p, const struct lx_modparam_route *r)
{
	int err = 0;

	for (const struct lx_span *s = r->nets.span; s < r->nets.span + r->nets.n_nums; s++) {
		for (uint32_t num = s->first; num <= s->last; num += s->stride) {
			for (size_t i = 0; !err && i < r->n_nids; i++)
				err = add_route(p, LX_NET(r->nets.type, num), &r->nid[i], r);
		}
	}
	return err;
}

/* A colon before the "@" belongs to an IPv6 address; an address alone is on tcp. */
static int gateway(struct lx_modparam *p, struct lx_modparam_route *r, char *word)
{
	char *at = strchr(word, '@'), *colon = strchr(at ? at : word, ':'), name[256];
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	uint32_t priority;

	r->priority = LX_UNSET;
	if (colon) {
		if (lx_octets_number(colon + 1, strlen(colon + 1), 10, UINT32_MAX, &priority))
			return lx_modparam_fail(p, "\"%.60s\": no priority after the colon", word);
		*colon = '\0';
		r->priority = priority;
	}
	if (snprintf(name, sizeof(name), "%s%s", word, at ? "" : "@tcp") >= (int)sizeof(name) ||
	    lx_nid_expand(name, NIDS_MAX, &nids, &r->n_nids))
		return lx_modparam_fail(p, "\"%.60s\" is not a gateway's NID (10.0.0.[1-2]@tcp)",
					word);
	r->gateway = name;
	r->nid = nids;
	return p->route ? p->route(p, r) : add_routes(p, r);
}

static int routes_entry(struct lx_modparam *p, char *entry)
{
	char **words LX_AUTO_FREE = split(entry, SPACE), **word = words;
	struct lx_modparam_route r = { .hop = LX_UNSET };
	uint32_t hop;
	int err = 0;

	if (!words)
		return -ENOMEM;
	if (!*word)
		return 0;
	r.net = *word++;
	if (lx_nidrange_parse(r.net, &r.nets) || r.nets.form != LX_NID_RANGE_NET)
		return lx_modparam_fail(p, "\"%.40s\" is not a net (tcp, tcp1, tcp[1-3], ...)",
					r.net);
	if (!r.nets.n_nums) /* "tcp" */
		r.nets.span[r.nets.n_nums++] = (struct lx_span){ .stride = 1 };
	if (*word && !(*word)[strspn(*word, "0123456789")]) {
		if (lx_octets_number(*word, strlen(*word), 10, LX_HOP_MAX, &hop) || !hop)
			return lx_modparam_fail(p, "hopcount %.20s is out of range 1..%d", *word,
						LX_HOP_MAX);
		r.hop = hop;
		word++;
	}
	if (!*word)
		return lx_modparam_fail(p, "not complete: there is no gateway; "
					   "\"NET [HOPS] GATEWAY\" is expected");
	for (; !err && *word; word++)
		err = gateway(p, &r, *word);
	return err;
}

int lx_modparam_routes(struct lx_modparam *p, const char *text)
{
	return parse(p, text, false, routes_entry);
}

/* ---- others ---------------------------------------------------------------------------- */

int lx_modparam_forwarding(struct lx_modparam *p, const char *text)
{
	p->conf->routing_at = p->at;
	if (!strcmp(text, "enabled"))
		p->conf->routing = 1;
	else if (!strcmp(text, "disabled"))
		p->conf->routing = 0;
	else if (*text)
		return lx_modparam_fail(p,
					"\"enabled\", \"disabled\" or nothing is expected, "
					"not \"%.40s\"",
					text);
	return 0;
}

const char *lx_modparam_module(const char *module, const char *name)
{
	bool of_acceptor = !strncmp(name, "accept", strlen("accept"));

	if (!strcmp(module, "ksocklnd"))
		return "tcp";
	if (!strcmp(module, "ko2iblnd"))
		return "o2ib";
	return of_acceptor && !strcmp(module, "lnet") ? "tcp" : module;
}

bool lx_modparam_ignored(const char *module, const char *name)
{
	static const struct {
		const char *module;
		const char *name[24]; /* NULL ends them */
	} table[] = {
		{ "lnet",
		  { "config_on_load", "use_tcp_bonding", "rnet_htable_size",
		    "live_router_check_interval", "dead_router_check_interval",
		    LIBCFS_PARAMETERS } },
		{ "libcfs", { LIBCFS_PARAMETERS } },
		{ "tcp", { "backoff_init", "backoff_max", "protocol" } },
		{ "o2ib", { "ipif_name" } },
	};
	const char *const *names = NULL;

	module = lx_modparam_module(module, name);
	for (size_t i = 0; i < LX_ARRAY_LEN(table); i++) {
		if (!strcmp(table[i].module, module))
			names = table[i].name;
	}
	while (names && *names && strcmp(*names, name))
		names++;
	return names && *names;
}
