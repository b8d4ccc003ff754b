/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. No state. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "line.h"

static FILE *open_file(const char *mode, const char *fmt, va_list ap)
{
	char path[256];

	vsnprintf(path, sizeof(path), fmt, ap);
	return fopen(path, mode);
}

int lx_line_read(char *ret_line, size_t size, const char *fmt, ...)
{
	bool got;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	f = open_file("re", fmt, ap);
	va_end(ap);
	if (!f)
		return -errno;
	got = fgets(ret_line, (int)size, f);
	fclose(f);
	if (!got)
		return -EIO;
	if (!strchr(ret_line, '\n') && strlen(ret_line) == size - 1)
		return -EOVERFLOW;
	ret_line[strcspn(ret_line, "\n")] = '\0';
	return 0;
}

int lx_line_write(const char *line, const char *fmt, ...)
{
	int err = 0;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	f = open_file("we", fmt, ap);
	va_end(ap);
	if (!f)
		return -errno;
	if (fprintf(f, "%s\n", line) < 0)
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}
