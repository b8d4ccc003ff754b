/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The version of these headers; that of the library: lx_version(). Makefile reads it here. */
#ifndef LNETX_VERSION_H
#define LNETX_VERSION_H

#define LX_VERSION "0.2.1"
#define LX_VERSION_NUMBER 0x000201 /* major << 16 | minor << 8 | patch */

#endif
