/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnet_legacy2yaml: converts module parameters to the YAML that "lnetctl import" reads. Keeps
 * texts as written, including ranges, but refuses what an import would refuse. Layout and exit
 * statuses are the reference's, which knows "networks", "ip2nets" and "routes"; other options
 * become routing and tunables, and a note names what is left out.
 *
 * Collects the sections from all sources, then writes them, so that a mistake does not leave
 * partial output.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../lnd/o2ib/tunables.h"
#include "../../../lnd/sock/tunables.h"
#include "../../../user/base/cleanup.h"
#include "../../../user/conf/modparam.h"
#include "../../../user/conf/rule.h"
#include "../../../user/core/tunables.h"
#include "../common/json.h"
#include "../common/print.h"
#include "legacy2yaml.h"
#include "modprobe.h"

#define STATUS_USAGE 1
#define STATUS_WRONG 2
#define PROGRAM "lnet_legacy2yaml"
#define SPACE " \t\r\v\f\n"

enum list { NETWORKS, IP2NETS, ROUTES, LISTS };

static const struct {
	const char *name, *entry;
	int (*parse)(struct lx_modparam *p, const char *text);
} lists[] = {
	{ "networks", "Invalid network specification", lx_modparam_networks },
	{ "ip2nets", "rule", lx_modparam_ip2nets },
	{ "routes", "route", lx_modparam_routes },
};

struct convert {
	struct lx_modparam p;
	struct lx_conf conf; /* gets "forwarding" */
	json_t *doc; /* the sections */
	json_t *merged; /* by net: see merge() */
	json_t *files; /* by kind, an option's letter, in the order in which they are taken */
	const char *source; /* for error messages; NULL: none, or many */
	struct {
		char *text;
		const char *source;
	} option[LISTS]; /* a list that was given as an option: as for the kernel, the last one */
	const char *output; /* a file; or NULL */
	char *text; /* as given without an option; or NULL */
	int default_hop; /* LX_UNSET: none */
	bool has_gateway; /* the route at hand */
	bool has_lists, failed;
};

LX_PRINTF(2, 3) static void complain(struct convert *c, const char *fmt, ...)
{
	va_list ap;

	fputs(PROGRAM ": error: ", stderr);
	if (c->source)
		fprintf(stderr, "%s: ", c->source);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	c->failed = true;
}

/* ---- nets and rules -------------------------------------------------------------------- */

static int keep(struct convert *c, const char *section, json_t *row)
{
	return json_array_append_new(json_object_get(c->doc, section), row) ? -ENOMEM : 0;
}

static void add_text(json_t *map, json_t *text)
{
	char key[24];

	snprintf(key, sizeof(key), "%zu", json_object_size(map));
	json_object_set_new(map, key, text);
}

/* "0: eth0", ...; NULL if there are none. */
static json_t *numbered(char *const *text)
{
	json_t *map = text ? json_object() : NULL;

	for (; text && *text; text++)
		add_text(map, json_string_nocheck(*text));
	return map;
}

static int take_network(struct lx_modparam *p, const struct lx_modparam_net *net)
{
	json_t *cpts = net->cpts ? json_string_nocheck(net->cpts) : NULL;

	if (!net->interface)
		return keep(p->arg, "net",
			    json_pack("{s:s s:o*}", "net type", net->name, "CPT", cpts));
	return keep(p->arg, "net",
		    json_pack("{s:s s:[{s:o s:o*}]}", "net type", net->name, "local NI(s)",
			      "interfaces", numbered(net->interface), "CPT", cpts));
}

/* Adds the texts of @rule that @merged lacks. True if there are any. */
static bool join(const char *key, json_t *merged, json_t *rule)
{
	json_t *mine = json_object_get(merged, key), *text, *other;
	size_t before = json_object_size(mine);
	const char *i, *j;

	json_object_foreach (json_object_get(rule, key), i, text) {
		bool found = false;

		json_object_foreach (mine, j, other)
			found |= json_equal(text, other);
		if (!found)
			add_text(mine, json_incref(text));
	}
	return json_object_size(mine) > before;
}

/*
 * "tcp(eth0) A; tcp(eth1) B" make two NIs on a machine with addresses in both, but in the section
 * the first rule of a net that applies is the last. So a rule with all interfaces goes before
 * them; if one does not match it does not apply, and those of the parameter do.
 */
static void merge(struct convert *c, const char *net, json_t *rule)
{
	json_t *m = json_object_get(c->merged, net), *all = json_object_get(m, "all");
	bool differs = join("interfaces", all, rule);

	join("ip-range", all, rule);
	if (!m)
		json_object_set_new(c->merged, net,
				    json_pack("{s:o s:O s:i}", "all", json_deep_copy(rule), "first",
					      rule, "rules", 1));
	else if (differs)
		json_object_set_new(m, "rules", json_integer(lx_json_int(m, "rules") + 1));
}

static void put_merged(struct convert *c)
{
	json_t *rules = json_object_get(c->doc, "ip2nets"), *m;
	const char *net;

	json_object_foreach (c->merged, net, m) {
		int n = (int)lx_json_int(m, "rules");
		size_t at = 0;

		if (n < 2)
			continue;
		while (json_array_get(rules, at) != json_object_get(m, "first"))
			at++;
		json_array_insert(rules, at, json_object_get(m, "all"));
		if (n > 2)
			lx_modprobe_note("net %s has %d rules with different interfaces: a machine "
					 "to which some of them apply, but not all, gets the "
					 "interfaces of the first; see section \"ip2nets\" of "
					 "lnetx.conf(5)",
					 net, n);
	}
}

static int take_rule(struct lx_modparam *p, const struct lx_modparam_net *net)
{
	struct lx_iprange range;
	json_t *rule;

	if (!*net->pattern)
		return lx_modparam_fail(p, "no IP pattern; \"NET PATTERN ...\" is expected");
	for (char **word = net->pattern; *word; word++) {
		if (isalpha((unsigned char)**word) && !strchr(*word, ':'))
			return lx_modparam_fail(
				p,
				"\"%.60s\" looks like another net. Multiple network rules must be "
				"separated by a semicolon or a new line",
				*word);
		if (lx_iprange_parse(*word, &range))
			return lx_modparam_fail(
				p, "Invalid IP pattern \"%.60s\"; 10.0.[1-3].* is expected", *word);
	}
	rule = json_pack("{s:s s:o* s:o}", "net-spec", net->name, "interfaces",
			 numbered(net->interface), "ip-range", numbered(net->pattern));
	if (net->interface)
		merge(p->arg, lx_net_str(net->net), rule);
	return keep(p->arg, "ip2nets", rule);
}

static int take_net(struct lx_modparam *p, const struct lx_modparam_net *net)
{
	return net->pattern ? take_rule(p, net) : take_network(p, net);
}

/* ---- routes ---------------------------------------------------------------------------- */

static json_t *number(int64_t value)
{
	return value == LX_UNSET ? NULL : json_integer(value);
}

static int take_route(struct lx_modparam *p, const struct lx_modparam_route *r)
{
	struct convert *c = p->arg;

	if (c->has_gateway)
		return lx_modparam_fail(p, "multiple gateway specifications found; separate routes "
					   "by semicolons, or give a range of NIDs");
	c->has_gateway = true;
	return keep(c, "route",
		    json_pack("{s:s s:s s:o* s:o*}", "net", r->net, "gateway", r->gateway, "hop",
			      number(r->hop == LX_UNSET ? c->default_hop : r->hop), "priority",
			      number(r->priority)));
}

/* "net: { gateway: ... }", keys in any order: only this tool knows it, so spell it as usual. */
static int named_route(struct lx_modparam *p, const char *entry)
{
	LX_AUTO_FREE char *net = strdup(entry), *plain = NULL;
	const char *hop = "", *gateway = NULL, *priority = NULL;
	char *left = strchr(net, '{'), *end = strrchr(left, '}'), *pair;
	bool ok = end && !*lx_modparam_part(&(char *){ end + 1 }, "");

	*left++ = '\0';
	net[strcspn(net, ":")] = '\0';
	if (ok)
		*end = '\0';
	while (ok && (pair = lx_modparam_part(&left, ","))) {
		const char *key = lx_modparam_part(&pair, ":");
		const char **value = !strcmp(key, "gateway")	? &gateway
				     : !strcmp(key, "hop")	? &hop
				     : !strcmp(key, "priority") ? &priority
								: NULL;

		if (!*key)
			continue;
		ok = value && pair;
		if (ok)
			*value = lx_modparam_part(&pair, "");
	}
	if (!ok || !gateway)
		return lx_modparam_fail(
			p, "\"NET: { gateway: NID, hop: N, priority: N }\" is expected");
	if (asprintf(&plain, "%s %s %s%s%s", net, hop, gateway, priority ? ":" : "",
		     priority ? priority : "") < 0)
		return -ENOMEM;
	return lx_modparam_routes(p, plain);
}

/* ---- options --------------------------------------------------------------------------- */

static void take_list(struct convert *c, enum list list, char *text)
{
	char *entry;

	c->has_lists |= text[strspn(text, SPACE ",")];
	while (!c->failed && (entry = list == NETWORKS ? lx_modparam_part(&text, ",;\n")
						       : lx_modparam_entry(&text))) {
		bool is_named = list == ROUTES && strchr(entry, '{');

		if (!*entry)
			continue;
		c->has_gateway = false;
		if (is_named ? named_route(&c->p, entry) : lists[list].parse(&c->p, entry))
			complain(c, "%s \"%s\": %s", lists[list].entry, entry, c->p.why);
	}
}

static void take_forwarding(struct convert *c, const char *value)
{
	c->conf.routing = LX_UNSET;
	if (lx_modparam_forwarding(&c->p, value))
		lx_modprobe_note("left out: lnet forwarding=%s: %s", value, c->p.why);
	json_object_set_new(c->doc, "routing",
			    json_pack("{s:o*}", "enable", number(c->conf.routing)));
}

static bool is_known(const char *module, const char *name)
{
#define NAME_(module, name, ...) #module "." #name,
	static const char *const known[] = { LX_CORE_TUNABLES(NAME_, lnet) LX_SOCK_TUNABLES(
		NAME_, tcp) LX_O2IB_TUNABLES(NAME_, o2ib) NULL };
#undef NAME_
	size_t len = strlen(module);

	for (const char *const *k = known; *k; k++) {
		if (!strncmp(*k, module, len) && (*k)[len] == '.' && !strcmp(*k + len + 1, name))
			return true;
	}
	return false;
}

static void take_tunable(struct convert *c, const char *module, const char *name, const char *value)
{
	const char *mine = lx_modparam_module(module, name), *why = NULL;
	json_t *tunables = json_object_get(json_object_get(c->doc, "tunables"), mine);

	if (lx_modparam_ignored(module, name))
		why = "it has no meaning in lnetx";
	else if (!is_known(mine, name))
		why = "lnetx does not know it; see \"lnetx tunable show\"";
	else if (!*value || value[strspn(value, LX_MODPROBE_NAME)])
		why = "a number or a word is expected";
	if (why) {
		lx_modprobe_note("left out: %s %s=%s: %s", module, name, value, why);
		return;
	}
	json_object_del(tunables, name); /* the last one counts, in its place */
	json_object_set_new(tunables, name, json_string(value));
}

static void take_option(void *arg, const char *module, const char *name, char *value)
{
	struct convert *c = arg;
	bool of_lnet = !strcmp(module, "lnet");
	int list = 0;

	while (list < LISTS && strcmp(name, lists[list].name))
		list++;
	if (of_lnet && list < LISTS) {
		free(c->option[list].text);
		c->option[list].text = strdup(value);
		c->option[list].source = c->source;
	} else if (of_lnet && !strcmp(name, "forwarding")) {
		take_forwarding(arg, value);
	} else {
		take_tunable(arg, module, name, value);
	}
}

static void take_option_lists(struct convert *c)
{
	for (int list = 0; list < LISTS; list++) {
		c->source = c->option[list].source;
		if (c->option[list].text && !c->failed)
			take_list(c, list, c->option[list].text);
		free(c->option[list].text);
		c->option[list].text = NULL;
	}
	c->source = NULL;
}

static void take_options(struct convert *c, const char *text, bool file)
{
	struct lx_modprobe_quote open;

	if (lx_modprobe_read(text, file, take_option, c, &open))
		complain(c, "line %d, column %d: the quote %c is not closed", open.line,
			 open.column, open.quote);
}

/* Takes arguments without an option: parameters by name, or rules of ip2nets. */
static void take_inline(struct convert *c, char *text)
{
	if (lx_modprobe_has_options(text))
		take_options(c, text, false);
	else
		take_list(c, IP2NETS, text);
}

/* ---- sources --------------------------------------------------------------------------- */

/* Takes a file of a kind: an option's letter; 0: standard input. */
static void take_file(struct convert *c, int kind, const char *path)
{
	FILE *file = kind ? fopen(path, "re") : stdin;
	LX_AUTO_FREE char *text = NULL;
	size_t size = 0;
	bool any = file && getdelim(&text, &size, '\0', file) >= 0;

	if (!file || ferror(file))
		complain(c, "cannot read %s: %s", path, strerror(errno));
	if (file && kind)
		fclose(file);
	if (!any)
		return;
	c->source = path;
	if (kind == 'm')
		take_options(c, text, true);
	else if (kind)
		take_list(c, kind == 'i' ? IP2NETS : kind == 'r' ? ROUTES : NETWORKS, text);
	else
		take_inline(c, text);
	c->source = NULL;
}

/* True if standard input has something to read. */
static bool has_input(bool other_sources)
{
	struct stat st;

	if (isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &st))
		return false;
	return !other_sources || S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode);
}

/* ---- the program ----------------------------------------------------------------------- */

static const char usage[] =
	"usage: lnet_legacy2yaml [OPTION]... [PARAMETERS]\n"
	"\n"
	"Writes module parameters (networks, ip2nets, routes, ...) as YAML for \"lnetctl "
	"import\".\n"
	"PARAMETERS: 'options lnet networks=\"...\" routes=\"...\"', or rules of ip2nets alone; "
	"without\n"
	"them the standard input.\n"
	"\n"
	"  -m, --modprobe FILE      take the options of LNet in a file of modprobe's\n"
	"  -i, --ip2nets FILE       take rules of ip2nets from a file\n"
	"  -r, --routes FILE        take routes from a file\n"
	"  -n, --networks FILE      take networks from a file\n"
	"  -o, --output FILE        write to a file\n"
	"      --default-hop [N]    hops of routes that have none (1)\n"
	"  -h, --help               this\n";

static const struct option longs[] = { { "modprobe", required_argument, NULL, 'm' },
				       { "ip2nets", required_argument, NULL, 'i' },
				       { "routes", required_argument, NULL, 'r' },
				       { "networks", required_argument, NULL, 'n' },
				       { "output", required_argument, NULL, 'o' },
				       { "default-hop", no_argument, NULL, 'd' },
				       { "help", no_argument, NULL, 'h' },
				       { 0 } };

/* A number may follow as a separate word. */
static void take_hop(struct convert *c, int argc, char **argv)
{
	const char *word = optind < argc ? argv[optind] : "";
	uint32_t hop = 1;

	if (!lx_octets_number(word, strlen(word), 10, UINT32_MAX, &hop))
		optind++;
	if (hop < 1 || hop > LX_HOP_MAX)
		complain(c, "--default-hop %u is out of range 1-255", hop);
	c->default_hop = (int)hop;
}

/* Returns 0, or the exit status plus 1. */
static int parse_args(struct convert *c, int argc, char **argv)
{
	int opt;

	argv[0] = PROGRAM;
	/* In order, so that a number after --default-hop is not taken for a parameter. */
	while (optind < argc && (opt = getopt_long(argc, argv, "-m:i:r:n:o:h", longs, NULL)) >= 0) {
		if (opt == 'h') {
			fputs(usage, stdout);
			return 1;
		}
		if (opt == 'd') {
			take_hop(c, argc, argv);
		} else if (opt == 'o') {
			c->output = optarg;
		} else if (opt == 1 && !c->text) {
			c->text = optarg;
		} else if (json_array_append_new(json_object_get(c->files, (char[]){ opt, 0 }),
						 json_string_nocheck(optarg))) {
			fputs(usage, stderr);
			return STATUS_WRONG + 1;
		}
	}
	return 0;
}

static void take_all(struct convert *c)
{
	bool any = c->text;
	json_t *list, *path;
	const char *kind;
	size_t i;

	json_object_foreach (c->files, kind, list) {
		json_array_foreach (list, i, path) {
			any = true;
			if (!c->failed)
				take_file(c, *kind, json_string_value(path));
		}
		take_option_lists(c); /* of all files of modprobe's */
	}
	if (c->text && !c->failed)
		take_inline(c, c->text);
	else if (!c->failed && has_input(any))
		take_file(c, 0, "standard input");
}

static int convert(struct convert *c)
{
	static const struct lx_layout rows = { .map = 5, .dash = 2, .item = 2 };
	json_t *tunables = json_object_get(c->doc, "tunables"), *value;
	const char *name;
	void *next;

	take_all(c);
	take_option_lists(c);
	if (c->failed)
		return STATUS_WRONG;
	put_merged(c);
	json_object_foreach_safe(tunables, next, name, value)
	{
		if (!json_object_size(value))
			json_object_del(tunables, name);
	}
	json_object_foreach_safe(c->doc, next, name, value)
	{
		if (!json_object_size(value) && !json_array_size(value))
			json_object_del(c->doc, name);
	}
	if (!c->has_lists && !json_object_size(c->doc)) {
		complain(c, "no ip2nets, routes, or networks data; see --help");
		return STATUS_USAGE;
	}
	if (c->output && !freopen(c->output, "we", stdout)) {
		complain(c, "cannot write %s: %s", c->output, strerror(errno));
		return STATUS_WRONG;
	}
	json_object_foreach (c->doc, name, value) {
		json_t *section = json_pack("{s:O}", name, value);

		lx_print_yaml(stdout, section,
			      json_is_object(value) ? &lx_print_four
			      : strcmp(name, "net") ? &rows
						    : &lx_print_wide);
		json_decref(section);
	}
	return lx_print_end(PROGRAM) ? 0 : STATUS_WRONG;
}

int lx_legacy2yaml_main(int argc, char **argv)
{
	struct convert c = { .default_hop = LX_UNSET };
	int status;

	c.p = (struct lx_modparam){
		.conf = &c.conf, .net = take_net, .route = take_route, .arg = &c
	};
	c.doc = json_pack("{s:[] s:[] s:[] s:{} s:{s:{} s:{} s:{}}}", "net", "ip2nets", "route",
			  "routing", "tunables", "lnet", "tcp", "o2ib");
	c.files = json_pack("{s:[] s:[] s:[] s:[]}", "m", "i", "r", "n");
	c.merged = json_object();
	if (!c.doc || !c.files || !c.merged)
		complain(&c, "out of memory");
	status = parse_args(&c, argc, argv);
	status = status ? status - 1 : c.failed ? STATUS_WRONG : convert(&c);
	json_decref(c.merged);
	json_decref(c.files);
	json_decref(c.doc);
	return status;
}
