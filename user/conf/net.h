/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_CONF_NET_H
#define LX_CONF_NET_H

#include "yaml.h"

/* Parses the value of "net:" into @conf. Returns 0 or the error of lx_yaml_fail(). */
int lx_conf_net(struct lx_yaml *y, yaml_node_t *value, struct lx_conf *conf);

/* Whether an NI is on it. */
bool lx_conf_net_is_local(const struct lx_conf *conf, uint32_t net);

/* Parts of it that other sections share. */

/* A net that has a transport, or lo. */
int lx_conf_net_type(struct lx_yaml *y, yaml_node_t *value, const char *key, uint32_t *ret_net);
/* "eth0", "eth0[0,1]". */
int lx_conf_net_ifname(struct lx_yaml *y, yaml_node_t *value, char ret_name[IF_NAMESIZE]);
/* Initializes an NI without settings. */
void lx_conf_net_ni_init(struct lx_conf_ni *ni);
/* "tunables", "lnd tunables"; ni->net is known. */
int lx_conf_net_ni_tunables(struct lx_yaml *y, yaml_node_t *value, struct lx_conf_ni *ni);
int lx_conf_net_ni_lnd_tunables(struct lx_yaml *y, yaml_node_t *value, struct lx_conf_ni *ni);

/**
 * lx_conf_net_cpt - check a list of CPU partitions: "[0]", "[0,2-4]", "0-6/2"
 * They have no effect here, but what is no such list is refused.
 * @ret_text: what is wrong with it
 * Returns 0 or -EINVAL.
 */
int lx_conf_net_cpt(const char *text, char *ret_text, size_t size);

#endif
