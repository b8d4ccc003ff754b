/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads options of LNet's modules, as in modprobe's files. For lnet_legacy2yaml. */
#ifndef LX_CLI_MODPROBE_H
#define LX_CLI_MODPROBE_H

#include <stdbool.h>

#include "../../../user/base/text.h"

#define LX_MODPROBE_NAME /* characters of names */                                                 \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

/* A quote that is not closed. */
struct lx_modprobe_quote {
	char quote;
	int line, column;
};

/* Gets "NAME=VALUE" of a module, without quotes. */
typedef void lx_modprobe_fn(void *arg, const char *module, const char *name, char *value);

/* Writes a note to standard error: what is left out. */
void lx_modprobe_note(const char *fmt, ...) LX_PRINTF(1, 2);

/* True if @text has parameters by name, and is not just the value of one. */
bool lx_modprobe_has_options(const char *text);

/*
 * Calls @fn for each option of lnet, ksocklnd and ko2iblnd; a note names the rest.
 * @file: a file, of which lines of options count; else a command line, without "options MODULE"
 *	options of lnet
 * Returns 0, or -EINVAL with @ret_open: a quote is not closed.
 */
int lx_modprobe_read(const char *text, bool file, lx_modprobe_fn *fn, void *arg,
		     struct lx_modprobe_quote *ret_open);

#endif
