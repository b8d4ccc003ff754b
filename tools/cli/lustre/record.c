/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Error records; see the header. */
#include <stdio.h>

#include "../common/print.h"
#include "record.h"

void lx_record_print(const char *op, const char *object, int error, const char *text)
{
	fprintf(stderr, "---\n%s:\n-     %s:\n      errno: %d\n      descr: ! ", op, object, error);
	lx_print_quoted(stderr, text, '"');
	fputs("\n...\n", stderr);
}

void lx_record_print_old(const char *op, const char *object, int error, const char *text)
{
	fprintf(stderr, "%s:\n    - %s:\n          errno: %d\n          descr: ", op, object,
		error);
	lx_print_quoted(stderr, text, '"');
	fputc('\n', stderr);
}
