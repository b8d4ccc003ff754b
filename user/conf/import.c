/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sections and commands of a YAML file; see the header. Called by the CLI. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cleanup.h"
#include "import.h"
#include "yaml.h"

struct scan {
	struct lx_import *import;
	struct lx_import_probe probe; /* what the section says for all its NIDs */
};

static int probe_nid(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	struct scan *s = arg;
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	size_t n = 0;
	int err = lx_yaml_nids(y, value, "nids", &nids, &n);

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

/* Two walks: "nids" is last, whatever its place, as the others hold for all NIDs. */
static int section_probe(struct lx_yaml *y, yaml_node_t *value, struct scan *s, bool discover)
{
	static const struct lx_yaml_key first[] = { { "nids", lx_yaml_pass },
						    { "timeout", probe_timeout },
						    { "source", probe_source },
						    { NULL, NULL } };
	static const struct lx_yaml_key second[] = {
		{ "nids", probe_nids }, { "timeout", NULL }, { "source", NULL }, { NULL, NULL }
	};
	const char *what = discover ? "discover" : "ping";
	int err;

	s->probe = (struct lx_import_probe){ .discover = discover,
					     .source = lx_nid_any,
					     .timeout_ms = 1000 };
	err = lx_yaml_map(y, value, what, first, s);
	return err ? err : lx_yaml_map(y, value, what, second, s);
}

static int section(struct lx_yaml *y, yaml_node_t *key, const char *name, yaml_node_t *value,
		   void *arg)
{
#define KEY_(NAME, key) key,
	static const char *const names[] = { LX_IMPORT_SECTIONS(KEY_) };
	struct scan *s = arg;
	unsigned int i = 0;

	while (i < LX_IMPORT_COUNT && strcmp(names[i], name))
		i++;
	if (i == LX_IMPORT_COUNT)
		return lx_yaml_fail(y, key, -EINVAL, "invalid key \"%.40s\" in the file", name);
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
