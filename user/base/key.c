/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* YAML and JSON forms of keys; see the header. */
#include <ctype.h>
#include <string.h>

#include "key.h"

#define KEY_MAX 64

const char *lx_key_snake(const char *key, char *buf, size_t size)
{
	size_t used = 0;

	for (; *key && used + 2 < size; key++) {
		if (!strncmp(key, "(s)", 3))
			key += 2;
		else if (isalnum((unsigned char)*key))
			buf[used++] = tolower((unsigned char)*key);
		else if (used && buf[used - 1] != '_')
			buf[used++] = '_';
	}
	while (used && buf[used - 1] == '_')
		used--;
	buf[used] = '\0';
	return buf;
}

bool lx_key_is(const char *key, const char *name)
{
	char snake[KEY_MAX];

	return !strcmp(key, name) || !strcmp(lx_key_snake(key, snake, sizeof(snake)), name);
}
