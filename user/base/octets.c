/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Patterns of IPv4 addresses; see the header. Pure functions, no state. */
#include <errno.h>
#include <string.h>

#include "octets.h"

int lx_octets_number(const char *text, size_t len, unsigned int base, uint32_t max,
		     uint32_t *ret_value)
{
	uint64_t value = 0;

	if (!len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned int c = text[i], digit;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10;
		else
			return -EINVAL;
		if (digit >= base)
			return -EINVAL;
		value = value * base + digit;
		if (value > max)
			return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

int lx_octets_span(const char *text, size_t len, uint32_t max, struct lx_span *ret_span)
{
	const char *dash = memchr(text, '-', len), *slash = memchr(text, '/', len);
	const char *end = text + len;

	ret_span->stride = 1;
	if (!dash) {
		if (lx_octets_number(text, len, 10, max, &ret_span->first))
			return -EINVAL;
		ret_span->last = ret_span->first;
		return 0;
	}
	if (slash && lx_octets_number(slash + 1, end - slash - 1, 10, max, &ret_span->stride))
		return -EINVAL;
	if (slash && slash < dash)
		return -EINVAL;
	if (lx_octets_number(text, dash - text, 10, max, &ret_span->first) ||
	    lx_octets_number(dash + 1, (slash ? slash : end) - dash - 1, 10, max, &ret_span->last))
		return -EINVAL;
	return ret_span->first > ret_span->last || !ret_span->stride ? -EINVAL : 0;
}

static int add_span(const char *text, size_t len, uint64_t has[4])
{
	struct lx_span span = { 0 };
	int rc = lx_octets_span(text, len, 255, &span);

	for (uint32_t i = span.first; !rc && i <= span.last; i += span.stride)
		has[i / 64] |= 1ULL << i % 64;
	return rc;
}

/* A number, "*", or "[span,span,...]"; advances *@text past it. */
static int octet_parse(const char **text, bool star, uint64_t has[4])
{
	const char *at = *text;
	size_t len;

	if (star && *at == '*') {
		memset(has, 0xff, 4 * sizeof(*has));
		*text = at + 1;
		return 0;
	}
	if (*at != '[') {
		len = strspn(at, "0123456789");
		*text = at + len;
		return add_span(at, len, has);
	}
	do {
		at++;
		len = strcspn(at, ",]");
		if (add_span(at, len, has))
			return -EINVAL;
		at += len;
	} while (*at == ',');
	*text = at + 1;
	return *at == ']' ? 0 : -EINVAL;
}

int lx_octets_parse(const char *text, bool star, struct lx_octets *ret_octets)
{
	struct lx_octets octets = { 0 };

	for (int i = 0; i < 4; i++) {
		if (i && *text++ != '.')
			return -EINVAL;
		if (octet_parse(&text, star, octets.has[i]))
			return -EINVAL;
	}
	if (*text)
		return -EINVAL;
	*ret_octets = octets;
	return 0;
}

bool lx_octets_match(const struct lx_octets *octets, const uint8_t addr[4])
{
	for (int i = 0; i < 4; i++) {
		if (!lx_octets_has(octets, i, addr[i]))
			return false;
	}
	return true;
}
