/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Selection policies in a configuration; see the header. */
#include <errno.h>
#include <string.h>

#include "../base/policy.h"
#include "udsp.h"

/* 2.15 prints "NA" where a policy has no clause. */
static void drop_na(char *clause)
{
	if (!strcmp(clause, "NA"))
		*clause = '\0';
}

static int entry(struct lx_yaml *y, yaml_node_t *node, void *arg)
{
	static const struct lx_yaml_shape shape = { "udsp", NULL, &lx_object_udsp_schema, NULL };
	struct lx_conf *conf = arg;
	struct lx_policy policy;
	struct lx_conf_udsp u;
	char why[200];
	int err;

	lx_schema_init(shape.schema, &u);
	u.at = lx_yaml_at(node);
	err = lx_yaml_map(y, node, &shape, &u, NULL);
	if (err)
		return err;
	drop_na(u.src);
	drop_na(u.dst);
	drop_na(u.rte);
	if (lx_policy_parse(&u, &policy, why, sizeof(why)))
		return lx_yaml_fail(y, node, -EINVAL, "invalid policy: %s", why);
	return lx_yaml_append(y, node, &conf->udsp, &conf->n_udsps, LX_YAML_ENTRIES, &u, sizeof(u));
}

int lx_conf_udsps(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf)
{
	return lx_yaml_seq(y, value, "udsp", entry, conf);
}
