/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_CONF_IP2NETS_H
#define LX_CONF_IP2NETS_H

#include "yaml.h"

/*
 * Parses the value of "ip2nets:" into @conf: a list of rules (control.md 4), or a text in the
 * grammar of the module parameter. Returns 0 or the error of lx_yaml_fail().
 */
int lx_conf_ip2nets(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf);

/*
 * Parses a parameter of module lnet with its own grammar: "networks", "ip2nets", "routes",
 * "forwarding". -ENOENT: @name is none of them.
 */
int lx_conf_modparam(struct lx_yaml *y, yaml_node_t *value, const char *name,
		     struct lx_conf *conf);

#endif
