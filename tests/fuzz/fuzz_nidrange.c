/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any text as a range of NIDs: refused, or parsed into what its canonical form parses into, too.
 * Build like fuzz_conf.c.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../../user/base/nidrange.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = calloc(1, size + 1), out[LX_NID_RANGE_TEXT];
	struct lx_nid_range range, again;
	struct lx_nid nid;

	assert(text);
	memcpy(text, data, size);
	if (!lx_nidrange_parse(text, &range)) {
		lx_nidrange_format(&range, out, sizeof(out));
		assert(strlen(out) < sizeof(out));
		/* The longest forms, with "[0-255]" for "*", are too long to be parsed. */
		if (strlen(out) < LX_NID_RANGE_TEXT / 2)
			assert(!lx_nidrange_parse(out, &again) &&
			       !memcmp(&range, &again, sizeof(range)));
		/* A NID is a range that has this NID. */
		if (!lx_nid_parse(text, &nid) && strchr(text, '@') && strcmp(text, "*"))
			assert(lx_nidrange_has(&range, &nid));
	}
	free(text);
	return 0;
}
