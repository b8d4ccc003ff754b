/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selection policies in a configuration; see the header. */
#include <errno.h>
#include <string.h>

#include "../base/policy.h"
#include "udsp.h"

/* An entry being parsed, with the places of its clauses. */
struct entry {
	struct lx_conf *conf;
	struct lx_conf_udsp udsp;
};

static int take_text(struct lx_yaml *y, yaml_node_t *value, const char *what, char *buf)
{
	const char *text = lx_yaml_text(y, value, what);

	if (!text)
		return -EINVAL;
	if (!strcmp(text, "NA")) /* 2.15 prints it where a policy has none */
		return 0;
	if (strlen(text) >= LX_UDSP_TEXT)
		return lx_yaml_fail(y, value, -EINVAL, "invalid value for \"%s\": too long", what);
	strcpy(buf, text); /* fits: just checked */
	return 0;
}

static int entry_src(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return take_text(y, value, "src", ((struct entry *)arg)->udsp.src);
}

static int entry_dst(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return take_text(y, value, "dst", ((struct entry *)arg)->udsp.dst);
}

static int entry_rte(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return take_text(y, value, "rte", ((struct entry *)arg)->udsp.rte);
}

static int entry_idx(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_int32(y, value, "idx", LX_UNSET, INT32_MAX,
			     &((struct entry *)arg)->udsp.index);
}

static int action_priority(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	return lx_yaml_int(y, value, "priority", LX_UNSET, UINT32_MAX,
			   &((struct entry *)arg)->udsp.priority);
}

static int entry_action(struct lx_yaml *y, yaml_node_t *value, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "priority", action_priority },
						   { NULL, NULL } };

	return lx_yaml_null(value) ? 0 : lx_yaml_map(y, value, "action", keys, arg);
}

static int entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_key keys[] = { { "idx", entry_idx }, { "src", entry_src },
						   { "dst", entry_dst }, { "rte", entry_rte },
						   { "action", entry_action }, { NULL, NULL } };
	struct entry e = { .conf = arg,
			   .udsp = { .priority = LX_UNSET, .index = LX_UNSET,
				     .at = lx_yaml_at(node) } };
	struct lx_policy policy;
	char why[200];
	int err = lx_yaml_map(y, node, "udsp", keys, &e);

	if (err)
		return err;
	if (lx_policy_parse(&e.udsp, &policy, why, sizeof(why)))
		return lx_yaml_fail(y, node, -EINVAL, "invalid policy: %s", why);
	return lx_yaml_append(y, node, &e.conf->udsp, &e.conf->n_udsps, LX_YAML_ENTRIES, &e.udsp,
			      sizeof(e.udsp));
}

int lx_conf_udsps(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf)
{
	return lx_yaml_null(value) ? 0 : lx_yaml_seq(y, value, "udsp", entry, conf);
}
