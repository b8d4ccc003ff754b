/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a node in the columns of the reference's files in /proc/sys/lnet (control.md 9),
 * which exporters and scripts parse: for "lctl get_param" and for the files that lnetxd writes.
 */
#ifndef LX_DAEMON_COLUMNS_H
#define LX_DAEMON_COLUMNS_H

#include <stddef.h>

struct lx_node;

/* The names of the files: "stats", "nis", ... NULL: there are no more. */
const char *lx_columns_name(size_t i);

/*
 * The content of a file. @ret_text: free() it.
 * Returns 0, -ENOENT: no such file, -ENOMEM.
 */
int lx_columns_text(struct lx_node *node, const char *name, char **ret_text);

#endif
