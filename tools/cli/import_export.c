/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Export and import; see the header. An import is split into commands, as if each had been typed:
 * settings and selection policies first, because NIs start with them, then NIs, routing, peers,
 * and routes last, because a gateway can no longer be configured as a peer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "../../user/base/cleanup.h"
#include "../../user/conf/check.h"
#include "../../user/conf/global.h"
#include "../../user/conf/import.h"
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

		json_array_foreach (json_object_get(net, lx_ctl_nets.rows), j, ni) {
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
		json_object_set(sections, lx_ctl_selftests.yaml, row);
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
		bool wide = !strcmp(key, lx_ctl_nets.yaml) || !strcmp(key, lx_ctl_routes.yaml) ||
			    !strcmp(key, lx_ctl_peers.yaml);
		json_t *map = json_pack("{sO}", key, value);

		lx_print_yaml(out, map, wide ? &lx_layout_wide : &lx_layout_four);
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

/* True if the peer exists with exactly the wanted NIDs. */
static bool peer_is_so(struct lx_session *s, const struct lx_conf_peer *peer)
{
	char text[LX_NID_TEXT];
	struct lx_args a = { .v[LX_ARG_NID] = lx_nid_format(&peer->primary, text, sizeof(text)) };
	json_t *group, *nis, *ni;
	size_t i, found = 0, lo = 0;
	bool same;

	if (lx_request_first(s, LX_CTL_PEER, &a, 0, &group))
		return false;
	nis = json_object_get(group, lx_ctl_peers.rows);
	json_array_foreach (nis, i, ni) {
		const char *nid = json_string_value(json_object_get(ni, "nid"));

		lo += nid && !strcmp(nid, "0@lo"); /* not configured (lx_conf_peer) */
		for (size_t j = 0; nid && j < peer->n_nids; j++)
			found += !strcmp(nid, lx_nid_str(&peer->nid[j]));
	}
	same = found == peer->n_nids && json_array_size(nis) == found + lo + 1 &&
	       json_is_true(json_object_get(group, "Multi-Rail")) == peer->multi_rail;
	json_decref(group);
	return same;
}

/* An export also lists peers that need not be configured, such as gateways. */
static int add_peer(struct lx_session *s, const struct lx_conf_peer *peer)
{
	int err = lx_request_add_peer(s, peer);
	char text[sizeof(s->text)];

	if (err != -EEXIST && err != -EPERM && err != -EBUSY)
		return err;
	memcpy(text, s->text, sizeof(text));
	return peer_is_so(s, peer) ? 0 : lx_session_fail(s, err, "%s", text);
}

/* Twice, because a value may be valid only together with a later one. */
static void set_tunables(struct import *im, const struct lx_conf *conf)
{
	const struct lx_conf_tunable *t;

	for (size_t i = 0; i < 2 * conf->n_tunables; i++) {
		bool again = i >= conf->n_tunables;
		int err;

		t = &conf->tunable[i % conf->n_tunables];
		err = lx_request_tunable_set(im->s, t->module, t->name, t->value);
		if (again)
			outcome(im, err, "global");
	}
}

/* Of a file with an interface that is missing, nothing is done. */
static bool is_anything_missing(struct import *im, const struct lx_conf *conf)
{
	bool missing = false;

	for (size_t i = 0; i < conf->n_nis; i++) {
		int err = lx_request_check_ni(im->s, &conf->ni[i]);

		missing |= err;
		outcome(im, err, lx_ctl_nets.yaml);
	}
	return missing;
}

static void add_conf(struct import *im, const struct lx_conf *conf)
{
	struct lx_session *s = im->s;
	bool has_buffers = false;

	if (is_anything_missing(im, conf))
		return;
	set_tunables(im, conf);
	for (size_t i = 0; i < conf->n_udsps; i++)
		outcome(im, lx_request_add_udsp(s, &conf->udsp[i]), lx_ctl_udsps.yaml);
	for (size_t i = 0; i < conf->n_nis; i++)
		outcome(im, lx_request_add_ni(s, &conf->ni[i]), lx_ctl_nets.yaml);
	for (int i = 0; i < LX_POOLS; i++)
		has_buffers |= conf->buffers[i] != LX_UNSET;
	if (has_buffers)
		outcome(im, lx_request_set_buffers(s, conf->buffers), "buffers");
	if (conf->routing != LX_UNSET)
		outcome(im, lx_request_routing(s, conf->routing), lx_ctl_routing_info.yaml);
	if (conf->selftest.enable != LX_UNSET)
		outcome(im, lx_request_selftest(s, &conf->selftest), lx_ctl_selftests.yaml);
	for (size_t i = 0; i < conf->n_peers; i++) {
		if (lx_import_peer_says(conf, &conf->peer[i]))
			outcome(im, add_peer(s, &conf->peer[i]), lx_ctl_peers.yaml);
	}
	for (size_t i = 0; i < conf->n_routes; i++)
		outcome(im, lx_request_add_route(s, &conf->route[i]), lx_ctl_routes.yaml);
}

/* Settings named in the file go back to their defaults. */
static void reset_tunables(struct import *im, const struct lx_conf *conf)
{
	json_t *list, *row;
	size_t j;
	int err = lx_request_show_all(im->s, LX_CTL_TUNABLE, LX_LEVEL_OWN, &list);

	outcome(im, err, "global");
	for (size_t i = 0; !err && i < conf->n_tunables; i++) {
		json_array_foreach (list, j, row) {
			const char *module = json_string_value(json_object_get(row, "module"));
			const char *name = json_string_value(json_object_get(row, "name"));
			const char *def = json_string_value(json_object_get(row, "default"));

			if (!module || !name || !def || strcmp(module, conf->tunable[i].module) ||
			    strcmp(name, conf->tunable[i].name))
				continue;
			outcome(im, lx_request_tunable_set(im->s, module, name, def), "global");
		}
	}
	if (!err)
		json_decref(list);
}

/* Routes first: a gateway in use cannot be removed. */
static void del_conf(struct import *im, const struct lx_conf *conf)
{
	struct lx_session *s = im->s;

	for (size_t i = 0; i < conf->n_routes; i++)
		outcome(im, lx_request_del_route(s, &conf->route[i]), lx_ctl_routes.yaml);
	for (size_t i = 0; i < conf->n_peers; i++) {
		struct lx_conf_peer peer = conf->peer[i];

		if (peer.primary_listed)
			peer.n_nids = 0; /* removing the primary NID removes the peer */
		outcome(im, lx_request_del_peer(s, &peer, false), lx_ctl_peers.yaml);
	}
	if (conf->routing != LX_UNSET)
		outcome(im, lx_request_routing(s, false), lx_ctl_routing_info.yaml);
	for (size_t i = 0; i < conf->n_nis; i++)
		outcome(im, lx_request_del_ni(s, &conf->ni[i]), lx_ctl_nets.yaml);
	for (size_t i = 0; i < conf->n_udsps; i++)
		outcome(im, lx_request_del_udsp(s, &conf->udsp[i]), lx_ctl_udsps.yaml);
	if (conf->n_tunables)
		reset_tunables(im, conf);
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

	outcome(im, err, lx_ctl_routing_info.yaml);
	if (err)
		return;
	json_object_foreach (map, key, value)
		im->output(key, json_incref(value), im->arg);
	json_decref(map);
}

static void show_stats(struct import *im)
{
	json_t *map;
	int err = lx_request_stats(im->s, 0, &map);

	outcome(im, err, lx_ctl_stats.yaml);
	if (!err)
		im->output(lx_ctl_stats.yaml, map, im->arg);
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

/* Rules become NIs. Routes are as any others: the nets of this node need not be in the file. */
static int resolve(struct lx_conf **conf, struct lx_conf_error *why)
{
	struct lx_conf *resolved;
	int err;

	for (size_t i = 0; i < (*conf)->n_routes; i++)
		(*conf)->route[i].legacy = false;
	err = lx_conf_resolve(*conf, &resolved, why);
	if (err)
		return err == -ENOENT ? -EINVAL : err;
	lx_conf_free(*conf);
	*conf = resolved;
	return 0;
}

/* Reports all mistakes, in the order of the file. Returns the first one's errno, or 0. */
static int tell_mistakes(struct import *im, struct lx_conf_report *mistakes)
{
	lx_conf_report_sort(mistakes);
	for (size_t i = 0; i < mistakes->n; i++) {
		const struct lx_conf_error *what = &mistakes->list[i].what;

		lx_session_fail(im->s, mistakes->list[i].error, "%s:%d:%d: %s", im->name,
				what->line, what->column, what->text);
		im->report(im->s, im->mode, "import", im->arg);
	}
	return lx_conf_report_end(mistakes, NULL);
}

static int read_conf(struct import *im, const char *text, size_t len, struct lx_conf **ret_conf)
{
	struct lx_conf_report mistakes = { 0 };
	struct lx_conf_error why = { 0 };
	struct lx_conf *conf = NULL;
	int err = lx_conf_read(text, len, &mistakes, &conf);

	if (!err && !mistakes.n) {
		if (conf->ignored)
			fprintf(stderr, "%s: ignored: %s\n", im->name, conf->ignored);
		err = resolve(&conf, &why);
	}
	if (err && !mistakes.n)
		lx_conf_note(&mistakes, err, (struct lx_conf_place){ why.line, why.column }, "%s",
			     why.text);
	err = tell_mistakes(im, &mistakes);
	if (err)
		lx_conf_free(conf);
	else
		*ret_conf = conf;
	return err;
}

static int do_conf(struct import *im, const char *text, size_t len)
{
	struct lx_conf *conf;
	int err = read_conf(im, text, len, &conf);

	if (err)
		return err;
	if (im->mode == LX_TOOLS_IMPORT_ADD)
		add_conf(im, conf);
	else
		del_conf(im, conf);
	lx_conf_free(conf);
	return 0;
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
