/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rails; see the header. Called by net.c, user/node and the tools. No state. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "rails.h"

/* Addresses one after the other. */
struct range {
	bool v6;
	unsigned int n;
	uint8_t first[16]; /* as in struct lx_conf_addr */
};

/* The NIs found so far. */
struct expand {
	const struct lx_conf_ni *ni;
	const struct lx_conf_addr *addr;
	size_t n_addrs;
	struct lx_conf_ni *list; /* room for LX_RAILS_MAX */
	size_t n;
	char *why;
	size_t size;
};

static unsigned int addr_len(bool v6)
{
	return v6 ? 16 : 4;
}

static const char *addr_str(bool v6, const uint8_t *addr, char buf[INET6_ADDRSTRLEN])
{
	return inet_ntop(v6 ? AF_INET6 : AF_INET, addr, buf, INET6_ADDRSTRLEN);
}

static int unexpected(const char *text, char *ret_why, size_t size)
{
	snprintf(ret_why, size,
		 "rails \"%.40s\": a number of addresses, 1..%d, "
		 "or the addresses (10.2.0.10-13) are expected",
		 text, LX_RAILS_MAX);
	return -EINVAL;
}

/* "4"; 0: it is no number of rails. */
static uint32_t number(const char *text)
{
	uint32_t n;

	return lx_octets_number(text, strlen(text), 10, LX_RAILS_MAX, &n) ? 0 : n;
}

static bool parse_addr(const char *text, bool *ret_v6, uint8_t *ret_addr)
{
	*ret_v6 = strchr(text, ':');
	return inet_pton(*ret_v6 ? AF_INET6 : AF_INET, text, ret_addr) == 1;
}

/* The end of a range: an address, or only its last number. */
static bool parse_last(const char *text, const struct range *range, uint8_t *ret_addr)
{
	unsigned int len = addr_len(range->v6);
	uint32_t last;
	bool v6;

	if (parse_addr(text, &v6, ret_addr))
		return v6 == range->v6;
	if (lx_octets_number(text, strlen(text), range->v6 ? 16 : 10, range->v6 ? 0xffff : 0xff,
			     &last))
		return false;
	memcpy(ret_addr, range->first, len);
	ret_addr[len - 1] = last;
	if (range->v6)
		ret_addr[len - 2] = last >> 8;
	return true;
}

static uint32_t tail_of(const uint8_t *addr, unsigned int len)
{
	uint32_t tail;

	memcpy(&tail, addr + len - 4, 4);
	return ntohl(tail);
}

/* "10.2.0.10", "10.2.0.10-13". */
static bool parse_range(char *text, struct range *ret_range)
{
	char *dash = strchr(text, '-');
	uint8_t last[16];
	unsigned int len;
	uint32_t count;

	if (dash)
		*dash = '\0';
	if (!parse_addr(text, &ret_range->v6, ret_range->first))
		return false;
	ret_range->n = 1;
	if (!dash)
		return true;
	len = addr_len(ret_range->v6);
	if (!parse_last(dash + 1, ret_range, last) || memcmp(last, ret_range->first, len - 4))
		return false;
	count = tail_of(last, len) - tail_of(ret_range->first, len);
	ret_range->n = count + 1;
	return count < LX_RAILS_MAX;
}

/* The next range of a list; false: it is none. Advances *text past it. */
static bool next_range(const char **text, struct range *ret_range)
{
	char item[2 * INET6_ADDRSTRLEN];
	size_t len = strcspn(*text, ",");

	if (!len || len >= sizeof(item))
		return false;
	memcpy(item, *text, len);
	item[len] = '\0';
	*text += len;
	if (**text && !*++*text)
		return false; /* a comma at the end */
	return parse_range(item, ret_range);
}

int lx_rails_check(const char *text, char *ret_why, size_t size)
{
	const char *left = text;
	struct range range;
	unsigned int n = 0;

	if (number(text))
		return 0;
	if (strlen(text) >= LX_RAILS_TEXT)
		return unexpected(text, ret_why, size);
	do {
		if (!next_range(&left, &range))
			return unexpected(text, ret_why, size);
		n += range.n;
	} while (*left);
	return n <= LX_RAILS_MAX ? 0 : unexpected(text, ret_why, size);
}

/* ---- the NIs of a machine ----------------------------------------------------------------- */

static struct lx_nid nid_of(uint32_t net, bool v6, const uint8_t *addr)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct lx_nid nid;

	memcpy(v6 ? (void *)&in6.sin6_addr : (void *)&in.sin_addr, addr, addr_len(v6));
	lx_nid_from_sockaddr(net, v6 ? (struct sockaddr *)&in6 : (struct sockaddr *)&in, &nid);
	return nid;
}

/* Appends the NI of an address; there is none yet. */
static void append(struct expand *e, bool v6, const uint8_t *addr)
{
	struct lx_conf_ni *ni = &e->list[e->n++];

	*ni = *e->ni;
	ni->rails[0] = '\0';
	ni->at = ni->rails_at;
	ni->nid = nid_of(ni->net, v6, addr);
}

LX_PRINTF(2, 3) static int fail(struct expand *e, const char *fmt, ...)
{
	int used = snprintf(e->why, e->size, "net %s on %s: rails %.40s: ", lx_net_str(e->ni->net),
			    e->ni->ifname, e->ni->rails);

	if (used > 0 && (size_t)used < e->size) {
		LX_FORMAT(e->why + used, e->size - used, fmt);
	}
	return -EADDRNOTAVAIL;
}

static bool is_on(const struct expand *e, size_t i, bool v6)
{
	return e->addr[i].v6 == v6 && !strcmp(e->addr[i].ifname, e->ni->ifname);
}

/* The family that the interface alone would be used with. */
static bool family_of(const struct expand *e)
{
	if (!lx_nid_eq(&e->ni->nid, &lx_nid_any))
		return !lx_nid_is_nid4(&e->ni->nid);
	for (size_t i = 0; i < e->n_addrs; i++) {
		if (is_on(e, i, false))
			return false;
	}
	return true;
}

static int first_addrs(struct expand *e, unsigned int wanted)
{
	bool v6 = family_of(e);

	for (size_t i = 0; i < e->n_addrs && e->n < wanted; i++) {
		if (is_on(e, i, v6))
			append(e, v6, e->addr[i].addr);
	}
	if (e->n == wanted)
		return 0;
	return fail(e, "the interface has %zu address%s; add %zu with \"ip address add\"", e->n,
		    e->n == 1 ? "" : "es", wanted - e->n);
}

static bool has_addr(const struct expand *e, bool v6, const uint8_t *addr)
{
	for (size_t i = 0; i < e->n_addrs; i++) {
		if (is_on(e, i, v6) && !memcmp(e->addr[i].addr, addr, addr_len(v6)))
			return true;
	}
	return false;
}

static bool has_ni(const struct expand *e, bool v6, const uint8_t *addr)
{
	struct lx_nid nid = nid_of(e->ni->net, v6, addr);

	for (size_t i = 0; i < e->n; i++) {
		if (lx_nid_eq(&e->list[i].nid, &nid))
			return true;
	}
	return false;
}

static int range_addrs(struct expand *e, const struct range *range)
{
	unsigned int len = addr_len(range->v6);
	char text[INET6_ADDRSTRLEN];
	uint8_t addr[16];

	memcpy(addr, range->first, len);
	for (unsigned int i = 0; i < range->n; i++) {
		uint32_t tail = htonl(tail_of(range->first, len) + i);

		memcpy(addr + len - 4, &tail, 4);
		addr_str(range->v6, addr, text);
		if (has_ni(e, range->v6, addr))
			return fail(e, "%s is given twice; leave it out once", text);
		if (!has_addr(e, range->v6, addr))
			return fail(e,
				    "%s is no address of the interface; add it with \"ip "
				    "address add\", or leave it out",
				    text);
		append(e, range->v6, addr);
	}
	return 0;
}

static int expand(struct expand *e)
{
	const char *left = e->ni->rails;
	struct range range;
	int r = 0;

	if (number(left))
		return first_addrs(e, number(left));
	while (!r && *left) {
		next_range(&left, &range); /* it was checked */
		r = range_addrs(e, &range);
	}
	return r;
}

int lx_rails_expand(const struct lx_conf_ni *ni, const struct lx_conf_addr *addr, size_t n_addrs,
		    struct lx_conf_ni **ret_ni, size_t *ret_n, char *ret_why, size_t size)
{
	struct expand e = { ni, addr, n_addrs, NULL, 0, ret_why, size };
	int r = lx_rails_check(ni->rails, ret_why, size);

	if (r)
		return r;
	e.list = calloc(LX_RAILS_MAX, sizeof(*e.list));
	r = e.list ? expand(&e) : -ENOMEM;
	if (r) {
		free(e.list);
		return r;
	}
	*ret_ni = e.list;
	*ret_n = e.n;
	return 0;
}
