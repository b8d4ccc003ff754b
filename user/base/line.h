/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files of one line, as in /proc and /sys. */
#ifndef LX_BASE_LINE_H
#define LX_BASE_LINE_H

#include <stddef.h>

#include "text.h"

/**
 * lx_line_read - read the first line of a file
 * @fmt: the file's path
 * @ret_line: without the newline
 * Returns 0, -EIO: it is empty; -EOVERFLOW: it is longer than @size; or -errno of the file.
 */
LX_PRINTF(3, 4) int lx_line_read(char *ret_line, size_t size, const char *fmt, ...);

/* Makes a line the file's content. 0 or -errno. */
LX_PRINTF(2, 3) int lx_line_write(const char *line, const char *fmt, ...);

#endif
