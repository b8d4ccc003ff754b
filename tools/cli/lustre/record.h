/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Errors of lnetctl, in the layouts that scripts expect; to stderr. */
#ifndef LX_TOOLS_RECORD_H
#define LX_TOOLS_RECORD_H

/* "---", wide */
void lx_record_print(const char *op, const char *object, int error, const char *text);
/* four columns */
void lx_record_print_old(const char *op, const char *object, int error, const char *text);

#endif
