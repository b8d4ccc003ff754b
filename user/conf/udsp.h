/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The section "udsp" of conf.c: selection policies. */
#ifndef LX_CONF_UDSP_H
#define LX_CONF_UDSP_H

#include "yaml.h"

int lx_conf_udsps(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf);

#endif
