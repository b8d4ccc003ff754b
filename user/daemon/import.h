/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Clients' YAML: what it says is added to the node, or what it names is deleted. Called by
 * change.c on its worker thread; owns nothing.
 */
#ifndef LX_DAEMON_IMPORT_H
#define LX_DAEMON_IMPORT_H

#include "edit.h"

/*
 * Each fills e->rows with struct lx_ctl_mistake: why nothing was done, or what of it could not be.
 * Returns 0 or the first of these errors.
 */
int lx_import_add(struct lx_edit *edit);
int lx_import_del(struct lx_edit *edit);

#endif
