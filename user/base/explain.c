/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */

#include "explain.h"
#include "text.h"

int lx_explain(char *text, size_t size, int error, const char *fmt, ...)
{

	LX_FORMAT(text, size, fmt);
	return error;
}
