/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ranges of NIDs and nets, for policies (lnet.md 11.3): for matching; lx_nid_expand()
 * expands lists.
 *
 *	tcp, tcp1, tcp[1-3,9]       nets; without a number it is number 0
 *	10.0.*.[2-10/2]@tcp         IPv4 addresses, on one net or several
 *	[1-4]@kfi                   addresses that are numbers
 *	fd00::1@tcp                 a single NID with an IPv6 address
 */
#ifndef LX_BASE_NIDRANGE_H
#define LX_BASE_NIDRANGE_H

#include <lnetx/nid.h>

#include "octets.h"

#define LX_NID_RANGE_TEXT 256 /* room for any range */
#define LX_NID_RANGE_SPANS 32

enum lx_nid_range_form {
	LX_NID_RANGE_NONE, /* all 0: matches nothing */
	LX_NID_RANGE_NET,
	LX_NID_RANGE_OCTETS,
	LX_NID_RANGE_NUMBER,
	LX_NID_RANGE_SINGLE,
};

struct lx_nid_range {
	uint8_t form; /* enum lx_nid_range_form */
	uint8_t type; /* of the net; SINGLE has only its NID */
	uint8_t n_nums; /* spans of net numbers; 0: number 0 */
	uint8_t n_addr[4]; /* spans of each octet; [0]: of a number */
	struct lx_span span[LX_NID_RANGE_SPANS]; /* one after the other, in this order */
	struct lx_nid nid; /* SINGLE */
};

/* -EINVAL: not a range, or it has too many spans or is too long. */
int lx_nidrange_parse(const char *text, struct lx_nid_range *ret_range);

/**
 * lx_nidranges_parse - a list of ranges, separated by commas or white space
 * @ret_ranges: an array of @ret_n, to be freed with free()
 * Returns 0, -EINVAL one of them is no range, or there is none; -E2BIG more than 256; -ENOMEM.
 */
int lx_nidranges_parse(const char *text, struct lx_nid_range **ret_ranges, size_t *ret_n);

/* The inverse, with "[0-255]" for "*"; NONE is "". Returns @buf. Use LX_NID_RANGE_TEXT bytes. */
const char *lx_nidrange_format(const struct lx_nid_range *range, char *buf, size_t size);

/* True if the range names the net, or addresses on it. */
bool lx_nidrange_has_net(const struct lx_nid_range *range, uint32_t net);

/* True if a NID is in the range; a range of nets contains all NIDs on them. */
bool lx_nidrange_has(const struct lx_nid_range *range, const struct lx_nid *nid);

#endif
