/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* YAML keys and their JSON form: "local NI(s)" is local_ni, "cpt[0]" is cpt_0. */
#ifndef LX_BASE_KEY_H
#define LX_BASE_KEY_H

#include <stdbool.h>
#include <stddef.h>

/* The key in JSON form. Returns @buf. */
const char *lx_key_snake(const char *key, char *buf, size_t size);

/* True if @name is the key, in either form. */
bool lx_key_is(const char *key, const char *name);

#endif
