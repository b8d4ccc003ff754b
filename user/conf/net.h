/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_CONF_NET_H
#define LX_CONF_NET_H

#include "yaml.h"

/* Reads the value of "net:" into @conf. Returns 0 or what lx_yaml_fail() did. */
int lx_conf_net(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf);

#endif
