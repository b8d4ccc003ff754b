/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Export and import; see the header. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/conf/global.h"
#include "../../../user/conf/import.h"
#include "../../../user/ctl/codec.h"
#include "import_export.h"
#include "json.h"
#include "print.h"

#define FILE_MAX (4u << 20)

/* ---- export ------------------------------------------------------------------------ */

/* The default timeout of a net's NIs. */
static int64_t timeout_of(const json_t *tunables, const char *net)
{
	const char *type;
	uint32_t id;
	json_t *row;
	size_t i;

	if (lx_net_parse(net, &id) < 0)
		return LX_UNSET;
	type = lx_net_str(LX_NET(lx_net_type(id), 0));
	json_array_foreach ((json_t *)tunables, i, row) {
		const char *name = lx_json_text(row, "name");

		if (!strcmp(lx_json_text(row, "module"), type) &&
		    (!strcmp(name, "sock_timeout") || !strcmp(name, "timeout")))
			return lx_json_number(row, "value");
	}
	return LX_UNSET;
}

/* Removes values that follow from other settings. */
static void drop_derived(json_t *nets, const json_t *tunables)
{
	json_t *net, *ni, *settings;
	size_t i, j;

	json_array_foreach (nets, i, net) {
		int64_t timeout = timeout_of(tunables, lx_json_text(net, "net type"));

		json_array_foreach (json_object_get(net, lx_object_nets.rows), j, ni) {
			settings = json_object_get(ni, "lnd tunables");
			if (lx_json_int(settings, "timeout") == timeout)
				json_object_del(settings, "timeout");
		}
	}
}

/* True if section "global" or "buffers" has it. */
static bool is_told(const char *module, const char *name, bool has_buffers)
{
	if (strcmp(module, "lnet"))
		return false;
	for (const struct lx_global *g = lx_globals; g->key; g++) {
		if (g->tunable && !strcmp(name, g->tunable))
			return true;
	}
	return has_buffers && strstr(name, "_router_buffers");
}

/* Adds changed settings that are module parameters in the reference. */
static void add_tunables(json_t *sections, const json_t *tunables)
{
	bool has_buffers = json_object_get(sections, "buffers");
	json_t *modules = json_object(), *row, *module;
	size_t i;

	json_array_foreach ((json_t *)tunables, i, row) {
		const char *name = lx_json_text(row, "name");

		if (is_told(lx_json_text(row, "module"), name, has_buffers) ||
		    !strcmp(lx_json_text(row, "value"), lx_json_text(row, "default")))
			continue;
		module = json_object_get(modules, lx_json_text(row, "module"));
		if (!module) {
			module = json_object();
			json_object_set_new(modules, lx_json_text(row, "module"), module);
		}
		json_object_set(module, name, json_object_get(row, "value"));
	}
	if (json_object_size(modules))
		json_object_set(sections, "tunables", modules);
	json_decref(modules);
}

static int add_list(struct lx_session *s, json_t *sections, enum lx_ctl_object object,
		    unsigned int level, const json_t *tunables)
{
	json_t *list;
	int err = lx_request_show_all(s, object, level, &list);

	if (err)
		return err;
	if (object == LX_CTL_NET && level == LX_LEVEL_BACKUP)
		drop_derived(list, tunables);
	if (json_array_size(list))
		json_object_set(sections, lx_ctl_object_name(object), list);
	json_decref(list);
	return 0;
}

/* Only what lnetx has; a file for a node of the reference does not change by it if it is off. */
static int add_selftest(struct lx_session *s, json_t *sections)
{
	json_t *row;
	int err = lx_request_first(s, LX_CTL_SELFTEST, NULL, LX_LEVEL_BACKUP, &row);

	if (err)
		return err;
	if (lx_json_int(row, "enable"))
		json_object_set(sections, lx_object_selftests.yaml, row);
	json_decref(row);
	return 0;
}

static int add_rest(struct lx_session *s, json_t *sections, bool backup, const json_t *tunables)
{
	json_t *routing, *globals;
	int err = lx_request_routing_show(s, backup, &routing);

	if (err)
		return err;
	json_object_update(sections, routing);
	json_decref(routing);
	err = lx_request_globals(s, &globals);
	if (err)
		return err;
	json_object_set_new(sections, "global", globals);
	add_tunables(sections, tunables);
	err = add_selftest(s, sections);
	if (err)
		return err;
	return add_list(s, sections, LX_CTL_UDSP, backup ? LX_LEVEL_BACKUP : 0, tunables);
}

static int collect(struct lx_session *s, bool backup, json_t **ret_sections)
{
	static const struct {
		enum lx_ctl_object object;
		unsigned int level;
	} parts[] = {
		{ LX_CTL_NET, 2 },
		{ LX_CTL_ROUTE, 2 },
		{ LX_CTL_PEER, 3 },
	};
	json_t *sections = json_object(), *tunables = NULL;
	int err = lx_request_show_all(s, LX_CTL_TUNABLE, LX_LEVEL_OWN, &tunables);

	for (int i = 0; i < 3 && !err; i++)
		err = add_list(s, sections, parts[i].object,
			       backup ? LX_LEVEL_BACKUP : parts[i].level, tunables);
	if (!err)
		err = add_rest(s, sections, backup, tunables);
	json_decref(tunables);
	if (err)
		json_decref(sections);
	else
		*ret_sections = sections;
	return err;
}

static int write_file(struct lx_session *s, const char *path, const json_t *sections,
		      lx_export_fn print)
{
	FILE *out = fopen(path, "we");
	bool bad;

	if (!out)
		return lx_session_fail(s, -errno, "%s: %s", path, strerror(errno));
	errno = 0;
	print(out, sections);
	bad = ferror(out);
	if (fclose(out) || bad) {
		int err = errno ? -errno : -EIO;

		return lx_session_fail(s, err, "%s: %s; it is incomplete", path, strerror(-err));
	}
	return 0;
}

/* Opening empties the file, which may be the only copy: not before all of its content is here. */
int lx_tools_export(struct lx_session *s, bool backup, const char *path, lx_export_fn print)
{
	json_t *sections;
	int err = collect(s, backup, &sections);

	if (err)
		return err;
	if (path)
		err = write_file(s, path, sections, print);
	else
		print(stdout, sections);
	json_decref(sections);
	return err;
}

/* Each section has the reference's layout for it. */
void lx_tools_import_print(FILE *out, const json_t *sections)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)sections, key, value) {
		bool wide = !strcmp(key, lx_object_nets.yaml) ||
			    !strcmp(key, lx_object_routes.yaml) ||
			    !strcmp(key, lx_object_peers.yaml);
		json_t *map = json_pack("{sO}", key, value);

		lx_print_yaml(out, map, wide ? &lx_print_wide : &lx_print_four);
		json_decref(map);
	}
}

/* ---- import ------------------------------------------------------------------------ */

struct import {
	struct lx_session *s;
	enum lx_tools_import_mode mode;
	const char *name; /* of the file */
	lx_report_fn report;
	lx_output_fn output;
	void *arg;
	int first; /* error */
};

/* Reports a failure; the first one determines the result. */
static void outcome(struct import *im, int err, const char *object)
{
	if (!err)
		return;
	if (!im->first)
		im->first = err;
	im->report(im->s, im->mode, object, im->arg);
}

static void show_list(struct import *im, enum lx_ctl_object object)
{
	json_t *list;
	int err = lx_request_show_all(im->s, object, 0, &list);

	outcome(im, err, lx_ctl_object_name(object));
	if (!err)
		im->output(lx_ctl_object_name(object), list, im->arg);
}

static void show_routing(struct import *im)
{
	json_t *map, *value;
	const char *key;
	int err = lx_request_routing_show(im->s, false, &map);

	outcome(im, err, lx_object_routing_info.yaml);
	if (err)
		return;
	json_object_foreach (map, key, value)
		im->output(key, json_incref(value), im->arg);
	json_decref(map);
}

static void show_stats(struct import *im)
{
	json_t *map;
	int err = lx_request_first(im->s, LX_CTL_STATS, NULL, 0, &map);

	outcome(im, err, lx_object_stats.yaml);
	if (!err)
		im->output(lx_object_stats.yaml, map, im->arg);
}

static void show_globals(struct import *im)
{
	json_t *map;
	int err = lx_request_globals(im->s, &map);

	outcome(im, err, "global");
	if (!err)
		im->output("global", map, im->arg);
}

static void show_sections(struct import *im, uint32_t sections)
{
	if (sections & (1u << LX_IMPORT_NET | 1u << LX_IMPORT_IP2NETS))
		show_list(im, LX_CTL_NET);
	if (sections & 1u << LX_IMPORT_ROUTE)
		show_list(im, LX_CTL_ROUTE);
	if (sections & 1u << LX_IMPORT_PEER)
		show_list(im, LX_CTL_PEER);
	if (sections & (1u << LX_IMPORT_ROUTING | 1u << LX_IMPORT_BUFFERS))
		show_routing(im);
	if (sections & 1u << LX_IMPORT_STATISTICS)
		show_stats(im);
	if (sections & 1u << LX_IMPORT_UDSP)
		show_list(im, LX_CTL_UDSP);
	if (sections & (1u << LX_IMPORT_GLOBAL | 1u << LX_IMPORT_NUMA))
		show_globals(im);
}

static void exec_probes(struct import *im, const struct lx_import *what, bool discover)
{
	json_t *list = json_array();

	for (size_t i = 0; i < what->n_probes; i++) {
		const struct lx_import_probe *p = &what->probe[i];
		struct lx_ctl_ping ping = { .nid = p->nid,
					    .source = p->source,
					    .timeout_ms = p->timeout_ms };

		if (p->discover == discover)
			outcome(im, lx_request_probe(im->s, &ping, discover, false, list),
				discover ? "discover" : "ping");
	}
	if (json_array_size(list))
		im->output(discover ? "discover" : "ping", list, im->arg);
	else
		json_decref(list);
}

/* ---- the file ---------------------------------------------------------------------- */

static int read_input(struct lx_session *s, const char *path, char **ret_text, size_t *ret_len)
{
	int opened LX_AUTO_CLOSE = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	int fd = path ? opened : STDIN_FILENO;
	char *text = malloc(FILE_MAX + 1);
	size_t len = 0;
	ssize_t got = -1;

	if (text && fd >= 0) {
		while ((got = read(fd, text + len, FILE_MAX + 1 - len)) > 0)
			len += got;
	}
	if (got < 0 || len > FILE_MAX) {
		int err = got >= 0 ? -EFBIG : errno ? -errno : -ENOMEM;

		free(text);
		return lx_session_fail(s, err, "%s: %s", path ? path : "standard input",
				       strerror(-err));
	}
	*ret_text = text;
	*ret_len = len;
	return 0;
}

/* A row of lnetxd's answer: an error, or a remark. */
static int tell_mistake(const void *attrs, size_t len, void *arg)
{
	struct lx_ctl_mistake m;
	struct import *im = arg;
	char place[32] = "", why[100];
	int err = lx_codec_get(attrs, len, lx_object_mistakes.row, &m, why, sizeof(why));

	if (err)
		return lx_session_fail(im->s, err, "%s", why);
	if (m.line)
		snprintf(place, sizeof(place), ":%d:%d", m.line, m.column);
	if (!m.error)
		fprintf(stderr, "%s%s: %s\n", im->name, place, m.text);
	else
		lx_session_fail(im->s, m.error, "%s%s: %s", im->name, place, m.text);
	outcome(im, m.error, "import");
	return 0;
}

static int do_conf(struct import *im, const char *text, size_t len)
{
	bool add = im->mode == LX_TOOLS_IMPORT_ADD;
	int err = lx_session_import(im->s, add ? LX_CTL_ADD : LX_CTL_DEL, text, len, tell_mistake,
				    im);

	if (!im->first)
		outcome(im, err, "import");
	return err;
}

static int do_import(struct import *im, const char *text, size_t len)
{
	struct lx_conf_error why = { 0 };
	struct lx_import what = { 0 };
	int err;

	if (im->mode == LX_TOOLS_IMPORT_ADD || im->mode == LX_TOOLS_IMPORT_DEL)
		return do_conf(im, text, len);
	err = lx_import_scan(text, len, &what, &why);
	if (err) {
		lx_session_fail(im->s, err, "%s:%d:%d: %s", im->name, why.line, why.column,
				why.text);
		im->report(im->s, im->mode, "import", im->arg);
		return err;
	}
	if (im->mode == LX_TOOLS_IMPORT_SHOW)
		show_sections(im, what.sections);
	else
		exec_probes(im, &what, false), exec_probes(im, &what, true);
	lx_import_fini(&what);
	return 0;
}

int lx_tools_import(struct lx_session *s, const char *path, enum lx_tools_import_mode mode,
		    lx_report_fn report, lx_output_fn output, void *arg)
{
	struct import im = { .s = s, .mode = mode, .name = path ? path : "standard input",
			     .report = report, .output = output, .arg = arg };
	char *text LX_AUTO_FREE = NULL;
	size_t len = 0;
	int err = read_input(s, path, &text, &len);

	if (err)
		report(s, mode, "import", arg);
	else
		err = do_import(&im, text, len);
	return err ? err : im.first;
}
