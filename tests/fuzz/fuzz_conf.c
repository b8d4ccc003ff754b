/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any bytes as a configuration: parsed, or refused with line and column. Build: clang
 * -fsanitize=fuzzer,address -Iinclude tests/fuzz/fuzz_conf.c liblnetx.a -lyaml ...
 */
#include <assert.h>
#include <string.h>

#include <lnetx/conf.h>

#include "../../user/conf/import.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lx_conf_error err;
	struct lx_conf *conf = NULL;
	struct lx_import import;

	if (lx_conf_parse((const char *)data, size, &conf, &err))
		assert(err.text[0] && memchr(err.text, '\0', sizeof(err.text)));
	else
		assert(conf);
	lx_conf_free(conf);
	if (!lx_import_scan((const char *)data, size, &import, &err))
		lx_import_fini(&import);
	return 0;
}
