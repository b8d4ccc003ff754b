/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Configuration of peers (control.md 1.3). */
#ifndef LX_CORE_PEERCONF_H
#define LX_CORE_PEERCONF_H

#include <lnetx/conf.h>

struct lx_core;

/* As lx_peer_add() and lx_peer_del() of lnetx.h. */
int lx_peerconf_add(struct lx_core *core, const struct lx_conf_peer *conf);
int lx_peerconf_del(struct lx_core *core, const struct lx_conf_peer *conf, bool force);

/* Whether a configured peer has a NID, as its primary one or another. */
bool lx_peerconf_lists(const struct lx_conf_peer *conf, const struct lx_nid *nid);

#endif
