/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sections and commands of a YAML file; see the header. Called by the CLI. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "../base/suggest.h"
#include "import.h"
#include "yaml.h"

struct scan {
	struct lx_import *import;
	struct lx_import_probe probe; /* settings of the entry, for all its NIDs */
	bool has_nids;
};

static int probe_nid(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct scan *s = arg;
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = lx_yaml_nids(y, value, "nids", &nids, &n);

	s->has_nids = true;
	for (size_t i = 0; !err && i < n; i++) {
		s->probe.nid = nids[i];
		err = lx_yaml_append(y, value, &s->import->probe, &s->import->n_probes,
				     LX_YAML_ENTRIES, &s->probe, sizeof(s->probe));
	}
	return err;
}

static int probe_nids(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_values(y, value, "nids", probe_nid, arg);
}

static int probe_timeout(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	int64_t seconds;
	int err = lx_yaml_int(y, value, "timeout", 1, 3600, &seconds);

	if (!err)
		((struct scan *)arg)->probe.timeout_ms = seconds * 1000;
	return err;
}

static int probe_source(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_nid(y, value, "source", &((struct scan *)arg)->probe.source);
}

/* NIDs last, because the other keys apply to all of them. */
static int probe_entry(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "timeout", probe_timeout },
						   { "source", probe_source },
						   { "nids", probe_nids },
						   { "nid", probe_nid },
						   { "primary nid", probe_nid },
						   { "peer_ni", NULL },
						   { "rtt_us", NULL },
						   { "error", NULL },
						   { 0 } };
	struct scan *s = arg;
	const struct lx_yaml_shape shape = { s->probe.discover ? "discover" : "ping", keys, NULL,
					     &lx_object_pings };
	int err;

	if (value->type == YAML_SCALAR_NODE)
		return probe_nid(y, value, s);
	s->probe.source = lx_nid_any;
	s->probe.timeout_ms = 0;
	s->has_nids = false;
	err = lx_yaml_map(y, value, &shape, NULL, s);
	if (!err && !s->has_nids)
		err = lx_yaml_fail(y, value, -EINVAL, "no value for \"nids\" in %s", shape.what);
	return err;
}

static int section_probe(struct lx_yaml *y, yaml_node_t *value, struct scan *s, bool discover)
{
	s->probe = (struct lx_import_probe){ .discover = discover, .source = lx_nid_any };
	if (value->type == YAML_SCALAR_NODE && !lx_yaml_null(value))
		return probe_entry(y, value, s);
	return lx_yaml_seq(y, value, discover ? "discover" : "ping", probe_entry, s);
}

static int section(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		   void *arg)
{
#define KEY_(NAME, key) key,
	static const char *const names[] = { LX_IMPORT_SECTIONS(KEY_) };
	struct lx_suggest meant = lx_suggest(name);
	struct scan *s = arg;
	unsigned int i = 0;

	while (i < LX_IMPORT_COUNT && strcmp(names[i], name))
		lx_suggest_offer(&meant, names[i++]);
	if (i == LX_IMPORT_COUNT)
		return lx_yaml_fail(y, key, -EINVAL, "invalid key \"%.40s\" in the file%s%s%s",
				    name, meant.best ? "; did you mean \"" : "",
				    meant.best ? meant.best : "", meant.best ? "\"?" : "");
	s->import->sections |= 1u << i;
	if (i == LX_IMPORT_PING || i == LX_IMPORT_DISCOVER)
		return section_probe(y, value, s, i == LX_IMPORT_DISCOVER);
	return 0;
}

int lx_import_scan(const char *yaml, size_t len, struct lx_import *ret_import,
		   struct lx_conf_error *ret_err)
{
	struct lx_import import = { 0 };
	struct scan s = { .import = &import };
	struct lx_conf_report report = { 0 };
	struct lx_yaml y;
	int err = lx_yaml_open(&y, yaml, len, &report);

	if (!err) {
		if (lx_yaml_root(&y) && !lx_yaml_null(lx_yaml_root(&y)))
			lx_yaml_pairs(&y, lx_yaml_root(&y), "the file", section, &s);
		lx_yaml_close(&y);
	}
	memset(ret_err, 0, sizeof(*ret_err));
	err = lx_conf_report_end(&report, ret_err);
	if (err)
		lx_import_fini(&import);
	else
		*ret_import = import;
	return err;
}

bool lx_import_peer_says(const struct lx_conf *conf, const struct lx_conf_peer *peer)
{
	if (peer->multi_rail || peer->n_nids || peer->lock_primary)
		return true;
	for (size_t i = 0; i < conf->n_routes; i++) {
		if (lx_nid_eq(&conf->route[i].gateway, &peer->primary))
			return false;
	}
	return true;
}

void lx_import_fini(struct lx_import *import)
{
	free(import->probe);
	memset(import, 0, sizeof(*import));
}
