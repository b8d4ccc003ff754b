/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef LX_BASE_ARRAY_H
#define LX_BASE_ARRAY_H

/* Elements of an array, which must not be a pointer. */
#define LX_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

#endif
