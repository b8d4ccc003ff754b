/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whole configurations: from a daemon to a file, and back. */
#ifndef LX_TOOLS_IMPORT_EXPORT_H
#define LX_TOOLS_IMPORT_EXPORT_H

#include <stdio.h>

#include "requests.h"

/* Prints the sections of an export: "net", "route", ... */
typedef void (*lx_export_fn)(FILE *out, const json_t *sections);

/**
 * lx_tools_export - export the state
 * @backup: only what an import needs
 * @path: the file, untouched if lnetxd refuses; NULL: standard output
 */
int lx_tools_export(struct lx_session *s, bool backup, const char *path, lx_export_fn print);

/* As YAML, in the layouts of the reference. */
void lx_tools_import_print(FILE *out, const json_t *sections);

enum lx_tools_import_mode {
	LX_TOOLS_IMPORT_ADD,
	LX_TOOLS_IMPORT_DEL,
	LX_TOOLS_IMPORT_SHOW,
	LX_TOOLS_IMPORT_EXEC,
};

/* Called for each failure; the session has its errno and text. */
typedef void (*lx_report_fn)(struct lx_session *s, enum lx_tools_import_mode mode,
			     const char *object, void *arg);

/* Prints the results of probes and shows. */
typedef void (*lx_output_fn)(const char *key, json_t *value, void *arg);

/**
 * lx_tools_import - apply a YAML file
 * @path: the file; NULL: standard input
 * Reports failures and continues. Returns 0 or the first error.
 */
int lx_tools_import(struct lx_session *s, const char *path, enum lx_tools_import_mode mode,
		    lx_report_fn report, lx_output_fn output, void *arg);

#endif
