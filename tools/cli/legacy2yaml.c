/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnet_legacy2yaml: converts module parameters to the YAML that "lnetctl import" reads. Keeps
 * texts as written, including ranges, but refuses what an import would refuse. Layout and exit
 * statuses are the reference's, which knows "networks", "ip2nets" and "routes"; other options
 * become routing and tunables, and a note names what is left out.
 *
 * Collects the texts of the parameters from all sources, then writes them section by section,
 * so that a mistake does not leave partial output.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lnetx/nid.h>

#include "../../lnd/o2ib/tunables.h"
#include "../../lnd/sock/tunables.h"
#include "../../user/base/cleanup.h"
#include "../../user/conf/modparam.h"
#include "../../user/conf/rule.h"
#include "../../user/core/tunables.h"
#include "legacy2yaml.h"
#include "modprobe.h"

#define STATUS_USAGE 1
#define STATUS_WRONG 2
#define FILE_MAX (4u << 20)
#define NIDS_MAX 4096
#define SPACE " \t\r\v\f\n"

enum param { NETWORKS, IP2NETS, ROUTES, N_PARAMS };

static const char *const param_names[] = { "networks", "ip2nets", "routes" };

/* A growing text. */
struct text {
	FILE *file;
	char *s;
	size_t len;
};

/* Another parameter. */
struct option_text {
	char *module, *name, *value;
};

/* A rule of ip2nets: one net of an entry. Its texts are parts of that, or @merged. */
struct rule_text {
	uint32_t net;
	const char *name, *interfaces, *patterns; /* interfaces: NULL if not given */
};

struct convert {
	struct text in[N_PARAMS];
	struct text out;
	struct option_text *option; /* in order: the last one of a name counts */
	size_t n_options;
	struct rule_text *rule;
	size_t n_rules;
	const char *source; /* for error messages; NULL: none, or many */
	int default_hop; /* 0: none */
	bool failed;
};

static void complain(struct convert *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void complain(struct convert *c, const char *fmt, ...)
{
	va_list ap;

	fputs("lnet_legacy2yaml: error: ", stderr);
	if (c->source)
		fprintf(stderr, "%s: ", c->source);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	c->failed = true;
}

/* Adds an element of zeros to an array. */
static void *grow(void *array, size_t *n, size_t size)
{
	char *grown = reallocarray(*(void **)array, *n + 1, size);

	if (!grown)
		return NULL;
	*(void **)array = grown;
	return memset(grown + (*n)++ * size, 0, size);
}

/* ---- words ---------------------------------------------------------------------------- */

/* The next part of *@text up to one of @separators outside brackets, trimmed; or NULL. */
static char *next_piece(char **text, const char *separators)
{
	char *piece = *text, *p = piece, *end;
	int depth = 0;

	if (!p)
		return NULL;
	for (; *p && (depth > 0 || !strchr(separators, *p)); p++)
		depth += (strchr("([{", *p) != NULL) - (strchr(")]}", *p) != NULL);
	*text = *p ? p + 1 : NULL;
	*p = '\0';
	piece += strspn(piece, SPACE);
	for (end = piece + strlen(piece); end > piece && isspace((unsigned char)end[-1]);)
		*--end = '\0';
	return piece;
}

/* The same without comments. An entry ends with its line even inside an unclosed bracket. */
static char *next_entry(char **text)
{
	char *entry = *text, *end;

	if (!entry)
		return NULL;
	end = entry + strcspn(entry, ";\n");
	*text = *end ? end + 1 : NULL;
	*end = '\0';
	entry[strcspn(entry, "#")] = '\0';
	entry = next_piece(&entry, "");
	return entry;
}

/* Quotes a scalar that YAML would take for something else. */
static void put_scalar(FILE *out, const char *text)
{
	bool quote = strchr("*[{&!|>%@`", *text) || !*text;

	fprintf(out, quote ? "\"%s\"\n" : "%s\n", text);
}

/* ---- nets: "tcp0(eth0,eth1)[0]" ----------------------------------------------------------- */

struct net_text {
	uint32_t net;
	char *name, *interfaces, *cpts; /* NULL: not given */
};

/* Splits @spec. The list ends with the bracket at the end of @spec. */
static bool cut_net(char *spec, struct net_text *ret)
{
	char *end;

	memset(ret, 0, sizeof(*ret));
	ret->name = spec;
	spec += strcspn(spec, "([");
	if (*spec == '(') {
		end = strchr(spec, ')');
		if (!end || end == spec + 1)
			return false;
		*spec = *end = '\0';
		ret->interfaces = spec + 1;
		spec = end + 1;
	}
	if (*spec == '[') {
		end = strchr(spec, ']');
		if (!end || end[1])
			return false;
		ret->cpts = strndup(spec, end + 1 - spec);
		*spec = '\0';
	} else if (*spec) {
		return false;
	}
	return !lx_net_parse(ret->name, &ret->net);
}

/* "0: eth0", one per line; an interface keeps its CPU partitions. */
static bool put_interfaces(FILE *out, char *list, int indent)
{
	char *name;
	int n = 0;

	while ((name = next_piece(&list, ","))) {
		if (!*name || strcspn(name, "([" SPACE) >= IF_NAMESIZE || strpbrk(name, "()" SPACE))
			return false;
		fprintf(out, "%*s%d: %s\n", indent, "", n++, name);
	}
	return true;
}

static void put_network(struct convert *c, char *spec)
{
	LX_AUTO_FREE char *whole = strdup(spec);
	FILE *out = c->out.file;
	struct net_text net;
	bool ok = cut_net(spec, &net);

	if (ok) {
		fprintf(out, "-     net type: %s\n", net.name);
		if (net.interfaces) {
			fputs("      local NI(s):\n      -     interfaces:\n", out);
			ok = put_interfaces(out, net.interfaces, 18);
		}
		if (net.interfaces && net.cpts)
			fprintf(out, "            CPT: \"%s\"\n", net.cpts);
		else if (net.cpts)
			fprintf(out, "      CPT: \"%s\"\n", net.cpts);
	}
	if (!ok)
		complain(c, "Invalid network specification \"%s\"; tcp, tcp0(eth0), ... is expected",
			 whole);
	free(net.cpts);
}

static void put_networks(struct convert *c, char *text)
{
	bool first = true;
	char *spec;

	while (!c->failed && (spec = next_piece(&text, ",;\n"))) {
		if (!*spec)
			continue;
		if (first)
			fputs("net:\n", c->out.file);
		first = false;
		put_network(c, spec);
	}
}

/* ---- ip2nets: "tcp0(eth0) 10.0.0.* ..." ----------------------------------------------------- */

static void put_patterns(struct convert *c, char *words)
{
	struct lx_iprange range;
	char *word;
	int n = 0;

	fputs("    ip-range:\n", c->out.file);
	while (!c->failed && (word = next_piece(&words, SPACE))) {
		if (!*word)
			continue;
		if (isalpha((unsigned char)*word) && !strchr(word, ':'))
			complain(c,
				 "\"%s\" looks like another net. Multiple network rules must be "
				 "separated by a semicolon or a new line",
				 word);
		else if (lx_iprange_parse(word, &range))
			complain(c, "Invalid IP pattern \"%s\"; 10.0.[1-3].* is expected", word);
		fprintf(c->out.file, "         %d: ", n++);
		put_scalar(c->out.file, word);
	}
}

static void put_rule(struct convert *c, const struct rule_text *r)
{
	LX_AUTO_FREE char *interfaces = r->interfaces ? strdup(r->interfaces) : NULL;
	LX_AUTO_FREE char *words = strdup(r->patterns);

	fprintf(c->out.file, "  - net-spec: %s\n", r->name);
	if (interfaces) {
		fputs("    interfaces:\n", c->out.file);
		if (!put_interfaces(c->out.file, interfaces, 9)) {
			complain(c, "Invalid network specification in rule \"%s(%s) %s\"", r->name,
				 r->interfaces, r->patterns);
			return;
		}
	}
	put_patterns(c, words);
}

/* Adds the pieces of @more that are not in @list yet. */
static char *join(char *list, const char *more, const char *separators)
{
	LX_AUTO_FREE char *pieces = strdup(more);
	char *left = pieces, *piece;

	while ((piece = next_piece(&left, separators))) {
		LX_AUTO_FREE char *copy = strdup(list);
		char *others = copy, *other, *longer;

		while ((other = next_piece(&others, separators)) && strcmp(other, piece))
			;
		if (other || asprintf(&longer, "%s%s%c", list, piece, *separators) < 0)
			continue;
		free(list);
		list = longer;
	}
	return list;
}

/*
 * "tcp(eth0) A; tcp(eth1) B" make two NIs on a machine with addresses in both, but in the section
 * the first rule of a net that applies is the last. So a rule with all interfaces goes before
 * them; if one does not match it does not apply, and those of the parameter do.
 */
static void put_merged(struct convert *c, size_t first)
{
	const struct rule_text *r = &c->rule[first];
	LX_AUTO_FREE char *interfaces = strdup(""), *patterns = strdup("");
	size_t rules = 0;

	for (size_t i = 0; i < c->n_rules; i++) {
		size_t before = strlen(interfaces);

		if (c->rule[i].net != r->net || !c->rule[i].interfaces)
			continue;
		if (i < first)
			return; /* not the first one */
		interfaces = join(interfaces, c->rule[i].interfaces, ",");
		patterns = join(patterns, c->rule[i].patterns, SPACE);
		rules += strlen(interfaces) > before;
	}
	if (rules < 2)
		return;
	interfaces[strlen(interfaces) - 1] = '\0'; /* the last comma */
	put_rule(c, &(struct rule_text){ r->net, r->name, interfaces, patterns });
	if (rules > 2)
		lx_modprobe_note("net %s has %zu rules with different interfaces: a machine to which "
				 "some of them apply, but not all, gets the interfaces of the "
				 "first; see section \"ip2nets\" of lnetx.conf(5)",
				 r->name, rules);
}

/* One rule for each net of the list, with the same addresses. */
static void take_entry(struct convert *c, char *entry)
{
	LX_AUTO_FREE char *whole = strdup(entry);
	char *nets = next_piece(&entry, SPACE), *spec;

	if (!entry || !entry[strspn(entry, SPACE)]) {
		complain(c, "rule \"%s\" has no IP pattern; \"NET PATTERN ...\" is expected",
			 whole);
		return;
	}
	while (!c->failed && (spec = next_piece(&nets, ","))) {
		struct rule_text *r = grow(&c->rule, &c->n_rules, sizeof(*r));
		struct net_text net;

		if (!r || !cut_net(spec, &net)) {
			complain(c, "Invalid network specification in rule \"%s\"", whole);
			return;
		}
		free(net.cpts);
		*r = (struct rule_text){ net.net, net.name, net.interfaces, entry };
	}
}

static void put_ip2nets(struct convert *c, char *text)
{
	char *entry;

	while (!c->failed && (entry = next_entry(&text))) {
		if (*entry)
			take_entry(c, entry);
	}
	if (c->n_rules)
		fputs("ip2nets:\n", c->out.file);
	for (size_t i = 0; i < c->n_rules && !c->failed; i++) {
		if (c->rule[i].interfaces)
			put_merged(c, i);
		put_rule(c, &c->rule[i]);
	}
}

/* ---- routes: "net [hops] gateway[:priority]", "net: { gateway: ..., hop: ... }" ------------ */

struct route_text {
	char *net, *gateway;
	long hop, priority; /* -1: not given */
};

static void put_route(struct convert *c, const struct route_text *r, const char *whole)
{
	LX_AUTO_FREE struct lx_nid *nids = NULL;
	FILE *out = c->out.file;
	long hop = r->hop < 0 && c->default_hop ? c->default_hop : r->hop;
	size_t n;

	if (r->hop != -1 && (r->hop < 1 || r->hop > LX_HOP_MAX)) {
		complain(c, "hopcount %ld is out of range 1-255 in route \"%s\"", r->hop, whole);
		return;
	}
	if (!strchr(r->gateway, '@') || lx_nid_expand(r->gateway, NIDS_MAX, &nids, &n)) {
		complain(c, "\"%s\" is not a gateway's NID in route \"%s\"", r->gateway, whole);
		return;
	}
	fprintf(out, "  - net: %s\n    gateway: ", r->net);
	put_scalar(out, r->gateway);
	if (hop > 0)
		fprintf(out, "    hop: %ld\n", hop);
	if (r->priority >= 0)
		fprintf(out, "    priority: %ld\n", r->priority);
}

static bool is_number(const char *text, long *ret)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return false;
	*ret = number;
	return true;
}

/* "net: { gateway: ... }": keys in any order. */
static void named_route(struct convert *c, char *net, char *rest, const char *whole)
{
	struct route_text r = { .net = net, .hop = -1, .priority = -1 };
	char *end = strrchr(rest, '}'), *pair, *value;
	bool ok = end && !end[1 + strspn(end + 1, SPACE)];

	net[strcspn(net, ":")] = '\0';
	if (ok)
		*end = '\0';
	for (rest++; ok && (pair = next_piece(&rest, ","));) {
		value = strchr(pair, ':');
		if (!value)
			break;
		*value++ = '\0';
		value += strspn(value, SPACE);
		if (!strcmp(pair, "gateway"))
			r.gateway = value;
		else if (!strcmp(pair, "hop"))
			ok = is_number(value, &r.hop);
		else if (!strcmp(pair, "priority"))
			ok = is_number(value, &r.priority);
		else
			ok = false;
	}
	if (ok && r.gateway)
		put_route(c, &r, whole);
	else
		complain(c, "route \"%s\": \"NET: { gateway: NID, hop: N, priority: N }\" is expected",
			 whole);
}

static void plain_route(struct convert *c, char *net, char *rest, const char *whole)
{
	struct route_text r = { .net = net, .hop = -1, .priority = -1 };
	char *word, *colon;

	while ((word = next_piece(&rest, SPACE))) {
		if (!*word)
			continue;
		if (r.gateway) {
			complain(c,
				 "multiple gateway specifications found in route \"%s\"; separate "
				 "routes by semicolons, or give a range of NIDs",
				 whole);
			return;
		}
		if (r.hop >= 0 || !is_number(word, &r.hop))
			r.gateway = word;
	}
	if (!r.gateway) {
		complain(c, "route \"%s\" is not complete; \"NET [HOPS] GATEWAY\" is expected",
			 whole);
		return;
	}
	/* A colon before the "@" belongs to an IPv6 address. */
	colon = strchr(r.gateway, '@');
	colon = colon ? strchr(colon, ':') : NULL;
	if (colon && is_number(colon + 1, &r.priority))
		*colon = '\0';
	put_route(c, &r, whole);
}

static void put_routes(struct convert *c, char *text)
{
	bool first = true;
	char *entry, *net;

	while (!c->failed && (entry = next_entry(&text))) {
		LX_AUTO_FREE char *whole = strdup(entry);
		char *rest = entry;

		if (!*entry)
			continue;
		if (first)
			fputs("route:\n", c->out.file);
		first = false;
		net = next_piece(&rest, SPACE);
		rest = rest ? rest + strspn(rest, SPACE) : NULL;
		if (rest && *rest == '{')
			named_route(c, net, rest, whole);
		else
			plain_route(c, net, rest, whole);
	}
}

/* ---- other options: forwarding, and tunables ---------------------------------------------- */

#define NAME_(tag, name, def, min, max, names, help) #name,
static const struct module {
	const char *name;
	const char *const *tunables;
} modules[] = {
	{ "lnet", (const char *const[]){ LX_CORE_TUNABLES(NAME_, ) NULL } },
	{ "tcp", (const char *const[]){ LX_SOCK_TUNABLES(NAME_, ) NULL } },
	{ "o2ib", (const char *const[]){ LX_O2IB_TUNABLES(NAME_, ) NULL } },
	{ NULL, NULL },
};
#undef NAME_

/* The module here that has the tunable; NULL: there is none. */
static const struct module *module_of(const struct option_text *o)
{
	const char *name = lx_modparam_module(o->module, o->name);
	const struct module *m = modules;
	const char *const *t;

	while (m->name && strcmp(m->name, name))
		m++;
	if (!m->name)
		return NULL;
	for (t = m->tunables; *t && strcmp(*t, o->name);)
		t++;
	return *t ? m : NULL;
}

/* True if a later option has the same name, and so is the one that counts. */
static bool is_overruled(const struct convert *c, size_t i)
{
	const struct option_text *o = &c->option[i];

	for (const struct option_text *later = o + 1; later < c->option + c->n_options; later++) {
		if (!strcmp(o->name, later->name) &&
		    !strcmp(lx_modparam_module(o->module, o->name),
			    lx_modparam_module(later->module, later->name)))
			return true;
	}
	return false;
}

static bool is_forwarding(const struct option_text *o)
{
	return !strcmp(o->module, "lnet") && !strcmp(o->name, "forwarding");
}

static void put_routing(struct convert *c)
{
	for (size_t i = 0; i < c->n_options; i++) {
		const struct option_text *o = &c->option[i];
		bool on = !strcmp(o->value, "enabled");

		if (!is_forwarding(o) || is_overruled(c, i))
			continue;
		if (on || !strcmp(o->value, "disabled"))
			fprintf(c->out.file, "routing:\n    enable: %d\n", on);
		else if (*o->value)
			lx_modprobe_note("left out: lnet forwarding=%s: \"enabled\" or "
					 "\"disabled\" is expected",
					 o->value);
	}
}

/* Why an option is left out; NULL: it is not. */
static const char *why_not(const struct option_text *o)
{
	if (lx_modparam_ignored(o->module, o->name))
		return "it has no meaning in lnetx";
	if (!module_of(o))
		return "lnetx does not know it; see \"lnetx tunable show\"";
	if (!*o->value || o->value[strspn(o->value, LX_MODPROBE_NAME)])
		return "a number or a word is expected";
	return NULL;
}

static void put_tunables(struct convert *c)
{
	const char *section = "tunables:\n";

	for (const struct module *m = modules; m->name; m++) {
		bool first = true;

		for (size_t i = 0; i < c->n_options; i++) {
			const struct option_text *o = &c->option[i];

			if (module_of(o) != m || why_not(o) || is_overruled(c, i))
				continue;
			if (first)
				fprintf(c->out.file, "%s    %s:\n", section, m->name);
			section = "";
			first = false;
			fprintf(c->out.file, "        %s: %s\n", o->name, o->value);
		}
	}
	for (size_t i = 0; i < c->n_options; i++) {
		const struct option_text *o = &c->option[i];

		if (!is_forwarding(o) && why_not(o))
			lx_modprobe_note("left out: %s %s=%s: %s", o->module, o->name, o->value,
					 why_not(o));
	}
}

/* ---- sources ------------------------------------------------------------------------------ */

static void add(struct convert *c, enum param param, const char *text, size_t len)
{
	fprintf(c->in[param].file, "%.*s%s", (int)len, text, param == NETWORKS ? "," : "\n");
}

static void take_option(void *arg, const char *module, const char *name, size_t name_len,
			const char *value, size_t len)
{
	struct convert *c = arg;
	struct option_text *o;

	for (int i = 0; i < N_PARAMS; i++) {
		if (!strcmp(module, "lnet") && strlen(param_names[i]) == name_len &&
		    !strncmp(name, param_names[i], name_len)) {
			add(c, i, value, len);
			return;
		}
	}
	o = grow(&c->option, &c->n_options, sizeof(*o));
	if (!o) {
		complain(c, "out of memory");
		return;
	}
	o->module = strdup(module);
	o->name = strndup(name, name_len);
	o->value = strndup(value, len);
}

static void take_options(struct convert *c, const char *text, bool file)
{
	struct lx_modprobe_quote open;

	if (lx_modprobe_read(text, file, take_option, c, &open))
		complain(c, "line %d, column %d: the quote %c is not closed", open.line,
			 open.column, open.quote);
}

/* Takes arguments without an option: parameters by name, or rules of ip2nets. */
static void take_inline(struct convert *c, const char *text)
{
	if (lx_modprobe_has_options(text))
		take_options(c, text, false);
	else
		add(c, IP2NETS, text, strlen(text));
}

static char *read_stream(FILE *file)
{
	char *text = malloc(FILE_MAX + 1);
	size_t len = text ? fread(text, 1, FILE_MAX, file) : 0;

	if (text)
		text[len] = '\0';
	if (text && ferror(file)) {
		free(text);
		text = NULL;
	}
	return text;
}

static char *read_path(struct convert *c, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = file ? read_stream(file) : NULL;

	if (!text)
		complain(c, "cannot read %s: %s", path, strerror(errno));
	if (file)
		fclose(file);
	return text;
}

/* True if standard input has something to read. */
static bool has_input(bool other_sources)
{
	struct stat st;

	if (isatty(STDIN_FILENO) || fstat(STDIN_FILENO, &st))
		return false;
	return !other_sources || S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode);
}

/* ---- the program -------------------------------------------------------------------------- */

static const char usage[] =
	"usage: lnet_legacy2yaml [OPTION]... [PARAMETERS]\n"
	"\n"
	"Writes module parameters (networks, ip2nets, routes, ...) as YAML for \"lnetctl import\".\n"
	"PARAMETERS: 'options lnet networks=\"...\" routes=\"...\"', or rules of ip2nets alone; without\n"
	"them the standard input.\n"
	"\n"
	"  -m, --modprobe FILE      take the options of LNet in a file of modprobe's\n"
	"  -i, --ip2nets FILE       take rules of ip2nets from a file\n"
	"  -r, --routes FILE        take routes from a file\n"
	"  -n, --networks FILE      take networks from a file\n"
	"  -o, --output FILE        write to a file\n"
	"      --default-hop [N]    hops of routes that have none (1)\n"
	"  -h, --help               this\n";

struct job {
	struct {
		int kind;
		const char *path;
	} file[64];
	int n_files;
	const char *output;
	char *text; /* as given without an option; or NULL */
};

static const struct option longs[] = { { "modprobe", required_argument, NULL, 'm' },
				       { "ip2nets", required_argument, NULL, 'i' },
				       { "routes", required_argument, NULL, 'r' },
				       { "networks", required_argument, NULL, 'n' },
				       { "output", required_argument, NULL, 'o' },
				       { "default-hop", no_argument, NULL, 'd' },
				       { "help", no_argument, NULL, 'h' },
				       { NULL, 0, NULL, 0 } };

/* A number may follow as a separate word. */
static void take_hop(struct convert *c, int argc, char **argv)
{
	long hop = 1;

	if (optind < argc && is_number(argv[optind], &hop))
		optind++;
	if (hop < 1 || hop > LX_HOP_MAX)
		complain(c, "--default-hop %ld is out of range 1-255", hop);
	c->default_hop = hop;
}

/* Returns 0, or the exit status plus 1. */
static int parse_args(struct convert *c, struct job *job, int argc, char **argv)
{
	int opt;

	argv[0] = "lnet_legacy2yaml";
	/* In order, so that a number after --default-hop is not taken for a parameter. */
	while (optind < argc) {
		opt = getopt_long(argc, argv, "-m:i:r:n:o:h", longs, NULL);
		if (opt < 0)
			break;
		if (opt == 'h') {
			fputs(usage, stdout);
			return 1;
		}
		if (opt == 'd') {
			take_hop(c, argc, argv);
		} else if (opt == 'o') {
			job->output = optarg;
		} else if (opt == 1 && !job->text) {
			job->text = optarg;
		} else if (opt != 1 && opt != '?' && job->n_files < 64) {
			job->file[job->n_files].kind = opt;
			job->file[job->n_files++].path = optarg;
		} else {
			fputs(usage, stderr);
			return STATUS_WRONG + 1;
		}
	}
	return 0;
}

/* In the order of kinds, not of options. */
static void read_files(struct convert *c, const struct job *job)
{
	for (const char *kind = "mirn"; *kind; kind++) {
		for (int i = 0; i < job->n_files && !c->failed; i++) {
			LX_AUTO_FREE char *text = NULL;

			if (job->file[i].kind != *kind)
				continue;
			text = read_path(c, job->file[i].path);
			c->source = job->file[i].path;
			if (text && *kind == 'm')
				take_options(c, text, true);
			else if (text)
				add(c, *kind == 'i' ? IP2NETS : *kind == 'r' ? ROUTES : NETWORKS, text,
				    strlen(text));
			c->source = NULL;
		}
	}
}

static bool has_data(const struct convert *c)
{
	for (int i = 0; i < N_PARAMS; i++) {
		if (c->in[i].s[strspn(c->in[i].s, SPACE ",")])
			return true;
	}
	return false;
}

static int write_out(struct convert *c, const char *path)
{
	FILE *file = path ? fopen(path, "we") : stdout;
	bool ok = file && fwrite(c->out.s, 1, c->out.len, file) == c->out.len;

	if (file && path)
		ok &= !fclose(file);
	else if (file)
		ok &= !fflush(file);
	if (!ok)
		complain(c, "cannot write %s: %s", path ? path : "the output", strerror(errno));
	return ok ? 0 : STATUS_WRONG;
}

static int convert(struct convert *c, const struct job *job)
{
	static void (*const put[])(struct convert *c, char *text) = { put_networks, put_ip2nets,
								       put_routes };
	bool has_lists;

	read_files(c, job);
	if (job->text) {
		take_inline(c, job->text);
	} else if (has_input(job->n_files)) {
		LX_AUTO_FREE char *text = read_stream(stdin);

		c->source = "standard input";
		if (text)
			take_inline(c, text);
		c->source = NULL;
	}
	for (int i = 0; i < N_PARAMS; i++)
		fflush(c->in[i].file);
	if (c->failed)
		return STATUS_WRONG;
	has_lists = has_data(c);
	for (int i = 0; i < N_PARAMS && !c->failed; i++)
		put[i](c, c->in[i].s);
	if (!c->failed) {
		put_routing(c);
		put_tunables(c);
	}
	fflush(c->out.file);
	if (!c->failed && !c->out.len && !has_lists) {
		complain(c, "no ip2nets, routes, or networks data; see --help");
		return STATUS_USAGE;
	}
	return c->failed ? STATUS_WRONG : write_out(c, job->output);
}

static bool text_open(struct text *t)
{
	t->file = open_memstream(&t->s, &t->len);
	return t->file;
}

static void text_close(struct text *t)
{
	if (t->file)
		fclose(t->file);
	free(t->s);
}

int lx_legacy2yaml_main(int argc, char **argv)
{
	struct convert c = { 0 };
	struct job job = { 0 };
	bool ok = text_open(&c.out);
	int status;

	for (int i = 0; i < N_PARAMS; i++)
		ok &= text_open(&c.in[i]);
	if (!ok)
		complain(&c, "out of memory");
	status = ok ? parse_args(&c, &job, argc, argv) : STATUS_WRONG + 1;
	status = status ? status - 1 : c.failed ? STATUS_WRONG : convert(&c, &job);
	for (int i = 0; i < N_PARAMS; i++)
		text_close(&c.in[i]);
	text_close(&c.out);
	for (size_t i = 0; i < c.n_options; i++) {
		free(c.option[i].module);
		free(c.option[i].name);
		free(c.option[i].value);
	}
	free(c.option);
	free(c.rule);
	return status;
}
