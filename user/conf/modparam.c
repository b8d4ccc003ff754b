/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Module parameters; see the header. Copies a text and splits it into entries (";" or newline;
 * "#" begins a comment up to the next of these), and entries into words.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "cpt.h"
#include "modparam.h"
#include "net.h"
#include "rule.h"

#define SPACE " \t\r\v\f"
#define ENTRIES_MAX 4096
#define WORDS_MAX 256 /* of an entry */
#define NIDS_MAX 4096 /* of a word */
/* Debugging and CPU partitions; of lnet since libcfs became a part of it. */
#define LIBCFS_PARAMETERS                                                                          \
	"cpu_npartitions", "cpu_pattern", "libcfs_subsystem_debug", "libcfs_debug",                \
		"libcfs_debug_mb", "libcfs_subsystem_printk", "libcfs_printk",                     \
		"libcfs_console_ratelimit", "libcfs_console_max_delay",                            \
		"libcfs_console_min_delay", "libcfs_console_backoff", "libcfs_panic_on_lbug",      \
		"libcfs_debug_file_path", "libcfs_debug_raw_pointers"

__attribute__((format(printf, 2, 3))) static int fail(struct lx_modparam *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Adds an element to an array that grows like that of lx_yaml_append(). NULL: out of memory. */
static void *grow(void *array, size_t *n, size_t size)
{
	char *grown = *(void **)array;

	if (!(*n & (*n - 1))) /* full: sizes are powers of 2 */
		grown = realloc(grown, size * (*n ? *n * 2 : 1));
	if (!grown)
		return NULL;
	*(void **)array = grown;
	memset(grown + *n * size, 0, size);
	return grown + (*n)++ * size;
}

static int copy(struct lx_modparam *p, const char *text, char **ret_copy)
{
	if (strlen(text) >= LX_MODPARAM_TEXT)
		return fail(p, "longer than %d characters", LX_MODPARAM_TEXT - 1);
	*ret_copy = strdup(text);
	return *ret_copy ? 0 : -ENOMEM;
}

/* The next entry of *@text, terminated; NULL: none. Advances *@text past it. */
static char *next_entry(char **text)
{
	char *entry = *text, *end;

	if (!*entry)
		return NULL;
	end = entry + strcspn(entry, ";\n");
	*text = *end ? end + 1 : end;
	*end = '\0';
	entry[strcspn(entry, "#")] = '\0';
	return entry;
}

/* Splits an entry into words. Returns their number. */
static int split(char *entry, char **word, int max)
{
	char *state = NULL;
	int n = 0;

	for (char *w = strtok_r(entry, SPACE, &state); w && n < max;
	     w = strtok_r(NULL, SPACE, &state))
		word[n++] = w;
	return n;
}

/* ---- nets and their interfaces: "tcp0(eth0,eth1[0])[0,1]" ----------------------------- */

static int net_of(struct lx_modparam *p, const char *name, uint32_t *ret_net)
{
	if (lx_net_parse(name, ret_net) < 0 || *ret_net == LX_NET_U32_ANY)
		return fail(p, "\"%.40s\" is not a net (tcp, tcp1, o2ib, ...)", name);
	return 0;
}

static int local_net_of(struct lx_modparam *p, const char *name, uint32_t *ret_net)
{
	int err = net_of(p, name, ret_net);

	if (!err && lx_net_type(*ret_net) != LX_NET_LO &&
	    !lx_conf_lnd_settings(lx_net_type(*ret_net)))
		err = fail(p, "\"%.40s\": this version has no transport for it", name);
	return err;
}

/* "[0,1]": CPU partitions, checked as elsewhere. Advances *@text past the bracket. */
static int cpts(struct lx_modparam *p, char **text)
{
	char list[64], why[160];
	size_t len = strcspn(*text, "]") + 1;

	if ((*text)[len - 1] != ']' || len >= sizeof(list))
		return fail(p, "\"%.40s\": the list of CPU partitions has no end", *text);
	memcpy(list, *text, len);
	list[len] = '\0';
	*text += len;
	return lx_conf_cpt(list, why, sizeof(why)) ? fail(p, "CPU partitions %s", why) : 0;
}

static void skip_space(char **text)
{
	*text += strspn(*text, SPACE "\n");
}

/* One name of the list in parentheses. Advances *@text past it. */
static int interface(struct lx_modparam *p, struct lx_conf_rule *rule, char **text)
{
	char(*name)[IF_NAMESIZE];
	size_t len;

	skip_space(text);
	len = strcspn(*text, ",()[]" SPACE "\n");
	if (!len || len >= IF_NAMESIZE)
		return fail(p, "\"%.40s\": the name of an interface is expected", *text);
	for (size_t i = 0; i < rule->n_ifnames; i++) {
		if (!strncmp(rule->ifname[i], *text, len) && !rule->ifname[i][len])
			return fail(p, "interface \"%s\" is given twice", rule->ifname[i]);
	}
	name = grow(&rule->ifname, &rule->n_ifnames, sizeof(*name));
	if (!name)
		return -ENOMEM;
	memcpy(*name, *text, len);
	*text += len;
	if (**text == '[')
		return cpts(p, text);
	return 0;
}

static int interfaces(struct lx_modparam *p, struct lx_conf_rule *rule, char **text)
{
	int err;

	do {
		++*text;
		err = interface(p, rule, text);
		if (err)
			return err;
		skip_space(text);
	} while (**text == ',');
	if (**text != ')')
		return fail(p, "\"%.40s\": \")\" or another interface is expected", *text);
	++*text;
	return 0;
}

/* Parses the rest of a net into @rule; @text is after the net's name. */
static int rest_of_net(struct lx_modparam *p, struct lx_conf_rule *rule, char **text)
{
	int err = **text == '(' ? interfaces(p, rule, text) : 0;

	if (!err && **text == '[')
		err = cpts(p, text);
	skip_space(text);
	if (!err && **text && **text != ',')
		err = fail(p, "\"%.40s\": a comma is expected", *text);
	return err;
}

static struct lx_conf_rule *new_rule(struct lx_modparam *p, uint32_t net)
{
	struct lx_conf_rule *rule = grow(&p->conf->rule, &p->conf->n_rules, sizeof(*rule));

	if (!rule)
		return NULL;
	lx_conf_ni_init(&rule->ni);
	rule->ni.net = net;
	rule->ni.at = rule->at = p->at;
	rule->legacy = true;
	return rule;
}

/* The next net of a list. Skips "lo", which always exists. */
static int net_spec(struct lx_modparam *p, char **text)
{
	struct lx_conf_rule *rule, none = { 0 };
	char name[LX_NET_TEXT];
	uint32_t net;
	size_t len;
	int err;

	skip_space(text);
	len = strcspn(*text, ",()[]" SPACE "\n");
	if (!len || len >= sizeof(name))
		return fail(p, "\"%.40s\": a net is expected", *text);
	memcpy(name, *text, len);
	name[len] = '\0';
	*text += len;
	skip_space(text);
	err = local_net_of(p, name, &net);
	if (err)
		return err;
	if (p->conf->n_rules >= ENTRIES_MAX)
		return -E2BIG;
	if (lx_net_type(net) == LX_NET_LO) {
		err = rest_of_net(p, &none, text);
		lx_rule_fini(&none);
		return err;
	}
	rule = new_rule(p, net);
	return rule ? rest_of_net(p, rule, text) : -ENOMEM;
}

static int net_list(struct lx_modparam *p, char *text)
{
	int err;

	for (;;) {
		err = net_spec(p, &text);
		if (err || !*text)
			return err;
		text++; /* the comma */
	}
}

/* Checks that no interface is on a net twice, in one list or in two. */
static int check_twice(struct lx_modparam *p, size_t first)
{
	const struct lx_conf_rule *rule = p->conf->rule;

	for (size_t i = first; i < p->conf->n_rules; i++) {
		for (size_t j = first; j < i; j++) {
			for (size_t k = 0; k < rule[i].n_ifnames * rule[j].n_ifnames; k++) {
				const char *a = rule[i].ifname[k % rule[i].n_ifnames];

				if (rule[i].ni.net == rule[j].ni.net &&
				    !strcmp(a, rule[j].ifname[k / rule[i].n_ifnames]))
					return fail(p, "interface \"%s\" is on net %s twice", a,
						    lx_net_str(rule[i].ni.net));
			}
		}
	}
	return 0;
}

int lx_modparam_networks(struct lx_modparam *p, const char *text)
{
	size_t first = p->conf->n_rules;
	char *mine LX_AUTO_FREE = NULL;
	int err = copy(p, text, &mine);

	if (err || !mine[strspn(mine, SPACE "\n")])
		return err;
	err = net_list(p, mine);
	for (size_t i = first; i < p->conf->n_rules; i++)
		p->conf->rule[i].always = true;
	return err ? err : check_twice(p, first);
}

/* ---- "nets pattern [pattern ...]" ------------------------------------------------------ */

/* The end of a list of nets: white space outside parentheses. */
static char *end_of_nets(char *text)
{
	bool inside = false;

	for (; *text && (inside || !strchr(SPACE, *text)); text++)
		inside = *text == '(' || (inside && *text != ')');
	return text;
}

static int add_range(struct lx_modparam *p, struct lx_conf_rule *rule, const char *word)
{
	struct lx_iprange range, *place;

	if (lx_iprange_parse(word, &range))
		return fail(p, "\"%.60s\" is not an address pattern (10.0.[1-3].*)", word);
	place = grow(&rule->range, &rule->n_ranges, sizeof(*place));
	if (!place)
		return -ENOMEM;
	*place = range;
	return 0;
}

static int ip2nets_entry(struct lx_modparam *p, char *entry)
{
	size_t first = p->conf->n_rules;
	char *word[WORDS_MAX], *end;
	int n, err;

	entry += strspn(entry, SPACE);
	if (!*entry)
		return 0;
	end = end_of_nets(entry);
	n = *end ? split(end + 1, word, WORDS_MAX) : 0;
	*end = '\0';
	err = net_list(p, entry);
	for (size_t i = first; !err && i < p->conf->n_rules; i++) {
		for (int j = 0; !err && j < n; j++)
			err = add_range(p, &p->conf->rule[i], word[j]);
	}
	return err;
}

int lx_modparam_ip2nets(struct lx_modparam *p, const char *text)
{
	char *mine LX_AUTO_FREE = NULL, *left, *entry;
	int err = copy(p, text, &mine);

	left = mine;
	while (!err && (entry = next_entry(&left)))
		err = ip2nets_entry(p, entry);
	return err;
}

/* ---- "net [hops] gateway[:priority] ..." ----------------------------------------------- */

/* The nets of "tcp1" or "tcp[1-3,5]". */
static int expand_nets(struct lx_modparam *p, const char *word, uint32_t *net, size_t max,
		       size_t *ret_n)
{
	size_t prefix = strcspn(word, "["), len;
	const char *at = word + prefix;
	char name[LX_NET_TEXT];
	struct lx_span span;

	*ret_n = 0;
	if (!*at) {
		*ret_n = 1;
		return net_of(p, word, net);
	}
	do {
		at++;
		len = strcspn(at, ",]");
		if (lx_span_parse(at, len, 65535, &span) || prefix >= sizeof(name) - 6)
			return fail(p, "\"%.40s\" is not a net", word);
		for (uint32_t i = span.first; i <= span.last; i += span.stride) {
			snprintf(name, sizeof(name), "%.*s%u", (int)prefix, word, i);
			if (*ret_n >= max)
				return -E2BIG;
			if (net_of(p, name, &net[(*ret_n)++]))
				return -EINVAL;
		}
		at += len;
	} while (*at == ',');
	return strcmp(at, "]") ? fail(p, "\"%.40s\" is not a net", word) : 0;
}

static int add_route(struct lx_modparam *p, uint32_t net, const struct lx_nid *gateway, int32_t hop,
		     int64_t priority)
{
	struct lx_conf_route *route;

	if (lx_nid_net(gateway) == net || gateway->type == LX_NET_LO ||
	    lx_net_type(net) == LX_NET_LO)
		return fail(p, "route to %s via %s: the gateway must be on another net",
			    lx_net_str(net), lx_nid_str(gateway));
	if (p->conf->n_routes >= ENTRIES_MAX)
		return -E2BIG;
	route = grow(&p->conf->route, &p->conf->n_routes, sizeof(*route));
	if (!route)
		return -ENOMEM;
	*route = (struct lx_conf_route){ .net = net,
					 .gateway = *gateway,
					 .hop = hop,
					 .priority = priority,
					 .health_sensitivity = LX_UNSET,
					 .legacy = true,
					 .at = p->at,
					 .net_at = p->at };
	return 0;
}

/* A colon before the "@" belongs to an IPv6 address. */
static int take_priority(struct lx_modparam *p, char *word, int64_t *ret_priority)
{
	char *at = strchr(word, '@'), *colon = strchr(at ? at : word, ':');
	uint32_t priority;

	*ret_priority = LX_UNSET;
	if (!colon)
		return 0;
	if (lx_number_parse(colon + 1, strlen(colon + 1), 10, UINT32_MAX, &priority))
		return fail(p, "\"%.60s\": no priority after the colon", word);
	*colon = '\0';
	*ret_priority = priority;
	return 0;
}

static int gateways(struct lx_modparam *p, char *word, const uint32_t *net, size_t n_nets,
		    int32_t hop)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	char name[256];
	int64_t priority;
	size_t n = 0;
	int err = take_priority(p, word, &priority);

	if (err)
		return err;
	/* An address alone is on tcp. */
	if (snprintf(name, sizeof(name), "%s%s", word, strchr(word, '@') ? "" : "@tcp") >=
		    (int)sizeof(name) ||
	    strchr(name, ' ') || lx_nid_expand(name, NIDS_MAX, &nids, &n))
		return fail(p, "\"%.60s\" is not a gateway's NID (10.0.0.[1-2]@tcp)", word);
	for (size_t i = 0; !err && i < n_nets * n; i++)
		err = add_route(p, net[i / n], &nids[i % n], hop, priority);
	return err;
}

static int routes_entry(struct lx_modparam *p, char *entry)
{
	uint32_t net[256], hop;
	char *word[WORDS_MAX];
	int n = split(entry, word, WORDS_MAX), first = 1, err;
	bool digits = n > 1 && word[1][strspn(word[1], "0123456789")] == '\0';
	size_t n_nets;

	if (!n)
		return 0;
	err = expand_nets(p, word[0], net, sizeof(net) / sizeof(net[0]), &n_nets);
	if (err)
		return err;
	if (digits && (lx_number_parse(word[1], strlen(word[1]), 10, LX_HOP_MAX, &hop) || !hop))
		return fail(p, "route to %s: hops \"%.20s\" are not in 1..%d", word[0], word[1],
			    LX_HOP_MAX);
	first += digits;
	if (first >= n)
		return fail(p, "route to %s: there is no gateway", word[0]);
	for (int i = first; !err && i < n; i++)
		err = gateways(p, word[i], net, n_nets, digits ? (int32_t)hop : LX_UNSET);
	return err;
}

int lx_modparam_routes(struct lx_modparam *p, const char *text)
{
	char *mine LX_AUTO_FREE = NULL, *left, *entry;
	int err = copy(p, text, &mine);

	left = mine;
	while (!err && (entry = next_entry(&left)))
		err = routes_entry(p, entry);
	return err;
}

int lx_modparam_forwarding(struct lx_modparam *p, const char *text)
{
	p->conf->routing_at = p->at;
	if (!strcmp(text, "enabled"))
		p->conf->routing = 1;
	else if (!strcmp(text, "disabled"))
		p->conf->routing = 0;
	else if (*text)
		return fail(p, "\"%.40s\": \"enabled\", \"disabled\" or nothing is expected", text);
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
		    "live_router_check_interval", "dead_router_check_interval", LIBCFS_PARAMETERS } },
		{ "libcfs", { LIBCFS_PARAMETERS } },
		{ "tcp", { "backoff_init", "backoff_max", "protocol" } },
		{ "o2ib", { "ipif_name" } },
	};
	const char *const *names = NULL;

	module = lx_modparam_module(module, name);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (!strcmp(table[i].module, module))
			names = table[i].name;
	}
	while (names && *names && strcmp(*names, name))
		names++;
	return names && *names;
}
