/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Used by the core's policies; daemon and tools check texts with it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "nidrange.h"
#include "text.h"

/* "*" is formatted as "[0-255]", which is longer. */
#define TEXT_MAX (LX_NID_RANGE_TEXT - 4 * sizeof("[0-255]"))

/* ---- reading ----------------------------------------------------------------------- */

struct reader {
	struct lx_nid_range *range;
	unsigned int n; /* spans so far */
};

static int add_span(struct reader *r, const char *text, size_t len, uint32_t max, uint8_t *n)
{
	struct lx_span *span = &r->range->span[r->n];

	if (r->n == LX_NID_RANGE_SPANS || lx_octets_span(text, len, max, span))
		return -EINVAL;
	if (span->first == span->last)
		span->stride = 1; /* equal ranges must have equal structs */
	r->n++;
	++*n;
	return 0;
}

/* "[span,span,...]"; advances *@text past it. */
static int list_parse(struct reader *r, const char **text, uint32_t max, uint8_t *n)
{
	const char *at = *text;
	size_t len;

	do {
		at++;
		len = strcspn(at, ",]");
		if (add_span(r, at, len, max, n))
			return -EINVAL;
		at += len;
	} while (*at == ',');
	*text = at + 1;
	return *at == ']' ? 0 : -EINVAL;
}

/* "tcp", "tcp1" or "tcp[1-3]": all of @text. */
static int net_parse(struct reader *r, const char *text)
{
	size_t len = strcspn(text, "[");
	const char *list = text + len;
	char name[LX_NET_TEXT];
	uint32_t net;

	if (len >= sizeof(name))
		return -EINVAL;
	memcpy(name, text, len);
	name[len] = '\0';
	if (lx_net_parse(name, &net))
		return -EINVAL;
	r->range->type = net >> 16;
	/* A net with a number has no list. */
	if (len > strlen(lx_net_str(LX_NET(r->range->type, 0)))) {
		r->range->span[r->n++] = (struct lx_span){ net & 0xffff, net & 0xffff, 1 };
		r->range->n_nums = 1;
		return *list ? -EINVAL : 0;
	}
	if (!*list)
		return 0;
	if (r->range->type == LX_NET_LO || list_parse(r, &list, 0xffff, &r->range->n_nums))
		return -EINVAL;
	return *list ? -EINVAL : 0;
}

static int octet_parse(struct reader *r, const char **text, uint8_t *n)
{
	size_t len = strspn(*text, "0123456789");

	if (**text == '[')
		return list_parse(r, text, 255, n);
	if (**text == '*') {
		++*text;
		return add_span(r, "0-255", strlen("0-255"), 255, n);
	}
	*text += len;
	return add_span(r, *text - len, len, 255, n);
}

static int octets_parse(struct reader *r, const char *text)
{
	r->range->form = LX_NID_RANGE_OCTETS;
	for (int i = 0; i < 4; i++) {
		if (i && *text++ != '.')
			return -EINVAL;
		if (octet_parse(r, &text, &r->range->n_addr[i]))
			return -EINVAL;
	}
	return *text ? -EINVAL : 0;
}

static int numbers_parse(struct reader *r, const char *text)
{
	r->range->form = LX_NID_RANGE_NUMBER;
	if (*text != '[')
		return add_span(r, text, strlen(text), UINT32_MAX, &r->range->n_addr[0]);
	return list_parse(r, &text, UINT32_MAX, &r->range->n_addr[0]) || *text ? -EINVAL : 0;
}

/* True if addresses on the net have this form: tries to make a NID of one. */
static bool form_fits(const struct lx_nid_range *range)
{
	const char *addr = range->form == LX_NID_RANGE_OCTETS ? "1.2.3.4" : "0";
	char text[LX_NID_TEXT];
	struct lx_nid nid;

	snprintf(text, sizeof(text), "%s@%s", addr, lx_net_str(LX_NET(range->type, 0)));
	return !lx_nid_parse(text, &nid);
}

static int addr_parse(struct reader *r, char *addr, const char *net)
{
	struct lx_nid_range *range = r->range;
	int rc;

	if (!strchr(addr, ':')) {
		rc = strchr(addr, '.') ? octets_parse(r, addr) : numbers_parse(r, addr);
		return rc || form_fits(range) ? rc : -EINVAL;
	}
	/* A range of nets would be ambiguous here, so only a single NID is allowed. */
	memset(range, 0, sizeof(*range));
	range->form = LX_NID_RANGE_SINGLE;
	addr[strlen(addr)] = '@';
	return strchr(net, '[') || lx_nid_parse(addr, &range->nid) ? -EINVAL : 0;
}

int lx_nidrange_parse(const char *text, struct lx_nid_range *ret_range)
{
	struct reader r = { .range = ret_range };
	char copy[TEXT_MAX], *at;

	memset(ret_range, 0, sizeof(*ret_range));
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text); /* fits: just checked */
	at = strchr(copy, '@');
	if (net_parse(&r, at ? at + 1 : copy))
		return -EINVAL;
	ret_range->form = LX_NID_RANGE_NET;
	if (!at)
		return 0;
	*at = '\0';
	return addr_parse(&r, copy, at + 1);
}

/* ---- writing ----------------------------------------------------------------------- */

/* Without brackets if it is a single number. */
static void add_spans(const struct lx_text *w, const struct lx_span *span, unsigned int n)
{
	bool one = n == 1 && span->first == span->last;

	for (unsigned int i = 0; i < n; i++, span++) {
		if (!one)
			lx_text_add(w, "%s", i ? "," : "[");
		lx_text_add(w, "%u", span->first);
		if (span->last != span->first)
			lx_text_add(w, "-%u", span->last);
		if (span->stride != 1 && span->last != span->first)
			lx_text_add(w, "/%u", span->stride);
	}
	if (!one)
		lx_text_add(w, "]");
}

static void add_addr(const struct lx_text *w, const struct lx_nid_range *range)
{
	const struct lx_span *span = range->span + range->n_nums;
	int n = range->form == LX_NID_RANGE_OCTETS ? 4 : 1;

	for (int i = 0; i < n; i++) {
		lx_text_add(w, "%s", i ? "." : "");
		add_spans(w, span, range->n_addr[i]);
		span += range->n_addr[i];
	}
	lx_text_add(w, "@");
}

const char *lx_nidrange_format(const struct lx_nid_range *range, char *buf, size_t size)
{
	struct lx_text w = { buf, size };

	buf[0] = '\0';
	if (range->form == LX_NID_RANGE_SINGLE)
		return lx_nid_format(&range->nid, buf, size);
	if (range->form == LX_NID_RANGE_OCTETS || range->form == LX_NID_RANGE_NUMBER)
		add_addr(&w, range);
	if (range->form != LX_NID_RANGE_NONE)
		lx_text_add(&w, "%s", lx_net_str(LX_NET(range->type, 0)));
	if (range->n_nums)
		add_spans(&w, range->span, range->n_nums);
	return buf;
}

/* ---- matching ---------------------------------------------------------------------- */

static bool has(const struct lx_span *span, unsigned int n, uint32_t value)
{
	for (unsigned int i = 0; i < n; i++) {
		if (value >= span[i].first && value <= span[i].last &&
		    !((value - span[i].first) % span[i].stride))
			return true;
	}
	return false;
}

bool lx_nidrange_has_net(const struct lx_nid_range *range, uint32_t net)
{
	if (range->form == LX_NID_RANGE_SINGLE)
		return net == lx_nid_net(&range->nid);
	if (range->form == LX_NID_RANGE_NONE || range->type != net >> 16)
		return false;
	return range->n_nums ? has(range->span, range->n_nums, net & 0xffff) : !(net & 0xffff);
}

static bool has_addr(const struct lx_nid_range *range, const struct lx_nid *nid)
{
	const struct lx_span *span = range->span + range->n_nums;
	uint32_t number = 0;

	if (nid->size != LX_NID_SIZE4)
		return false;
	if (range->form == LX_NID_RANGE_NUMBER) {
		for (int i = 0; i < 4; i++)
			number = number << 8 | nid->addr[i];
		return has(span, range->n_addr[0], number);
	}
	for (int i = 0; i < 4; i++) {
		if (!has(span, range->n_addr[i], nid->addr[i]))
			return false;
		span += range->n_addr[i];
	}
	return true;
}

bool lx_nidrange_has(const struct lx_nid_range *range, const struct lx_nid *nid)
{
	if (range->form == LX_NID_RANGE_SINGLE)
		return lx_nid_eq(&range->nid, nid);
	if (!lx_nidrange_has_net(range, lx_nid_net(nid)))
		return false;
	return range->form == LX_NID_RANGE_NET || has_addr(range, nid);
}

/* ---- lists ------------------------------------------------------------------------- */

#define RANGES_MAX 256

/* Length of the first range: commas within brackets are its own. */
static size_t range_length(const char *text)
{
	bool inside = false;
	size_t len;

	for (len = 0; text[len] && (inside || !strchr(", \t\n", text[len])); len++)
		inside = text[len] == '[' || (inside && text[len] != ']');
	return len;
}

int lx_nidranges_parse(const char *text, struct lx_nid_range **ret_ranges, size_t *ret_n)
{
	struct lx_nid_range *ranges = NULL, *range;
	char one[LX_NID_RANGE_TEXT];
	size_t n = 0, len;
	int err = 0;

	for (text += strspn(text, ", \t\n"); *text && !err; text += strspn(text, ", \t\n")) {
		len = range_length(text);
		range = n < RANGES_MAX ? lx_grow(&ranges, &n, sizeof(*range)) : NULL;
		if (!range)
			err = n < RANGES_MAX ? -ENOMEM : -E2BIG;
		else if (len >= sizeof(one))
			err = -EINVAL;
		else {
			snprintf(one, sizeof(one), "%.*s", (int)len, text);
			err = lx_nidrange_parse(one, range);
		}
		text += len;
	}
	if (!err && !n)
		err = -EINVAL;
	if (err) {
		free(ranges);
		return err;
	}
	*ret_ranges = ranges;
	*ret_n = n;
	return 0;
}
