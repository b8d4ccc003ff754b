/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whole configurations: from a daemon to a file, and back. */
#ifndef LX_TOOLS_IMPORT_EXPORT_H
#define LX_TOOLS_IMPORT_EXPORT_H

#include <stdio.h>

#include "requests.h"

/**
 * lx_tools_export - export the state, section by section
 * @backup: only what an import needs
 * @ret_sections: "net", "route", ...; owned by the caller
 */
int lx_tools_export(struct lx_session *s, bool backup, json_t **ret_sections);

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
