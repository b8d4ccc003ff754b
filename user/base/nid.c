/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * NIDs and nets as text; see the header. Pure; used everywhere.
 *
 * One table has the name and the form of addresses of each net type (lnet.md 1.3
 * and 2), for parsing and printing.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include <lnetx/nid.h>

#include "array.h"
#include "cleanup.h"
#include "grow.h"
#include "octets.h"

const struct lx_nid lx_nid_any = {
	.size = 0xff,
	.type = LX_NET_ANY,
	.num = 0xffff,
	.addr = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		  0xff, 0xff, 0xff },
};
const struct lx_nid lx_nid_lo = { .type = LX_NET_LO };

enum addr_form {
	ADDR_IP4, /* dotted quad */
	ADDR_IP, /* dotted quad or IPv6; up to here, an IP address */
	ADDR_NUMBER, /* decimal or 0x */
	ADDR_ZERO, /* just 0, and the net has no number */
};

/* No name is a prefix of another, so the first match is the right one. */
/* clang-format off */
static const struct net_form {
	uint8_t type;
	enum addr_form addr;
	const char *name;
} forms[] = {
	{ LX_NET_TCP, ADDR_IP, "tcp" },
	{ LX_NET_O2IB, ADDR_IP4, "o2ib" },
	{ LX_NET_LO, ADDR_ZERO, "lo" },
	{ LX_NET_GNI, ADDR_NUMBER, "gni" },
	{ LX_NET_GIP, ADDR_IP4, "gip" },
	{ LX_NET_PTLF, ADDR_NUMBER, "ptlf" },
	{ LX_NET_KFI, ADDR_NUMBER, "kfi" },
	{ LX_NET_TOFU, ADDR_NUMBER, "tofu" },
	{ LX_NET_EFA, ADDR_IP, "efa" },
	{ LX_NET_BXI3F, ADDR_NUMBER, "bxi3f" },
};
/* clang-format on */
#define N_FORMS (LX_ARRAY_LEN(forms))

static const struct net_form *form_of(uint8_t type)
{
	for (size_t i = 0; i < N_FORMS; i++) {
		if (forms[i].type == type)
			return &forms[i];
	}
	return NULL;
}

uint32_t lx_nid_hash(const struct lx_nid *nid)
{
	uint64_t a, b, h;
	uint32_t c;

	memcpy(&a, nid, sizeof(a));
	memcpy(&b, (const char *)nid + 8, sizeof(b));
	memcpy(&c, (const char *)nid + 16, sizeof(c));
	/* Neighbours differ in the last bytes of one word: mix after each. */
	h = a * 0x9e3779b97f4a7c15ULL;
	h = ((h ^ (h >> 32)) + b) * 0x9e3779b97f4a7c15ULL;
	h = ((h ^ (h >> 32)) + c) * 0x9e3779b97f4a7c15ULL;
	return h >> 32;
}

/* ---- nets ------------------------------------------------------------------- */

int lx_net_parse(const char *text, uint32_t *ret_net)
{
	const struct net_form *form = NULL;
	uint32_t num = 0;

	for (size_t i = 0; i < N_FORMS && !form; i++) {
		if (!strncmp(text, forms[i].name, strlen(forms[i].name)))
			form = &forms[i];
	}
	if (!form)
		return -EINVAL;
	text += strlen(form->name);
	if (*text) {
		if (form->addr == ADDR_ZERO ||
		    lx_octets_number(text, strlen(text), 10, 65535, &num))
			return -EINVAL;
	}
	*ret_net = LX_NET(form->type, num);
	return 0;
}

const char *lx_net_format(uint32_t net, char *buf, size_t size)
{
	const struct net_form *form = form_of(net >> 16);
	unsigned int num = net & 0xffff;

	if (net == LX_NET_U32_ANY)
		snprintf(buf, size, "*");
	else if (!form || net >> 24)
		snprintf(buf, size, "<%u:%u>", net >> 16, num);
	else if (num)
		snprintf(buf, size, "%s%u", form->name, num);
	else
		snprintf(buf, size, "%s", form->name);
	return buf;
}

/* ---- NIDs ------------------------------------------------------------------- */

static int addr_number_parse(const char *text, uint32_t max, struct lx_nid *nid)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	uint32_t number;
	int rc;

	text += hex ? 2 : 0;
	rc = lx_octets_number(text, strlen(text), hex ? 16 : 10, max, &number);
	if (rc)
		return rc;
	number = htonl(number);
	memcpy(nid->addr, &number, sizeof(number));
	return 0;
}

static int addr_parse(const char *text, enum addr_form form, struct lx_nid *nid)
{
	switch (form) {
	case ADDR_ZERO:
		return addr_number_parse(text, 0, nid);
	case ADDR_NUMBER:
		return addr_number_parse(text, UINT32_MAX, nid);
	case ADDR_IP:
		if (inet_pton(AF_INET6, text, nid->addr) == 1) {
			nid->size = LX_NID_SIZE16;
			return 0;
		}
		/* fall through */
	case ADDR_IP4:
		break;
	}
	return inet_pton(AF_INET, text, nid->addr) == 1 ? 0 : -EINVAL;
}

/*
 * Splits "address@net"; the address goes to @addr, of @size bytes.
 * Returns 0, or -EINVAL: not a net, or the address is too long.
 */
static int text_split(const char *text, char *addr, size_t size, uint32_t *ret_net)
{
	const char *at = strchr(text, '@');
	size_t len = at ? (size_t)(at - text) : strlen(text);

	if (len >= size)
		return -EINVAL;
	memcpy(addr, text, len);
	addr[len] = '\0';
	*ret_net = LX_NET(LX_NET_TCP, 0);
	return at ? lx_net_parse(at + 1, ret_net) : 0;
}

int lx_nid_parse(const char *text, struct lx_nid *ret_nid)
{
	struct lx_nid nid = { 0 };
	char addr[LX_NID_TEXT];
	uint32_t net;
	int rc;

	if (!strcmp(text, "*") || !strcmp(text, "<?>")) {
		*ret_nid = lx_nid_any;
		return 0;
	}
	rc = text_split(text, addr, sizeof(addr), &net);
	if (rc)
		return rc;
	nid.type = net >> 16;
	nid.num = lx_be16(net & 0xffff);
	rc = addr_parse(addr, form_of(nid.type)->addr, &nid);
	if (rc)
		return rc;
	*ret_nid = nid;
	return 0;
}

/* An address of unknown form, in hex. */
static void addr_hex_format(const struct lx_nid *nid, char *buf, size_t size)
{
	size_t n = nid->size > 12 ? 16 : nid->size + 4u, at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && at < size; i++)
		at += snprintf(buf + at, size - at, "%02x", nid->addr[i]);
}

const char *lx_nid_format(const struct lx_nid *nid, char *buf, size_t size)
{
	const struct net_form *form = form_of(nid->type);
	char addr[INET6_ADDRSTRLEN] = "", net[LX_NET_TEXT];
	uint32_t number;

	if (lx_nid_is_any(nid)) {
		snprintf(buf, size, "<?>");
		return buf;
	}
	memcpy(&number, nid->addr, sizeof(number));
	number = ntohl(number);
	if (nid->size == LX_NID_SIZE16 && form && form->addr <= ADDR_IP)
		inet_ntop(AF_INET6, nid->addr, addr, sizeof(addr));
	else if (nid->size == LX_NID_SIZE4 && !form)
		snprintf(addr, sizeof(addr), "%x", number);
	else if (nid->size != LX_NID_SIZE4)
		addr_hex_format(nid, addr, sizeof(addr));
	else if (form->addr <= ADDR_IP)
		inet_ntop(AF_INET, nid->addr, addr, sizeof(addr));
	else
		snprintf(addr, sizeof(addr), "%u", number);
	snprintf(buf, size, "%s@%s", addr, lx_net_format(lx_nid_net(nid), net, sizeof(net)));
	return buf;
}

int lx_nid_from_sockaddr(uint32_t net, const struct sockaddr *sa, struct lx_nid *ret_nid)
{
	struct lx_nid nid = { .type = net >> 16, .num = lx_be16(net & 0xffff) };
	const struct in6_addr *in6;

	switch (sa->sa_family) {
	case AF_INET:
		memcpy(nid.addr, &((const struct sockaddr_in *)sa)->sin_addr, 4);
		break;
	case AF_INET6:
		in6 = &((const struct sockaddr_in6 *)sa)->sin6_addr;
		if (IN6_IS_ADDR_V4MAPPED(in6)) {
			memcpy(nid.addr, in6->s6_addr + 12, 4);
			break;
		}
		nid.size = LX_NID_SIZE16;
		memcpy(nid.addr, in6, 16);
		break;
	default:
		return -EAFNOSUPPORT;
	}
	*ret_nid = nid;
	return 0;
}

/* ---- process ids ------------------------------------------------------------ */

#define PID_ANY_TEXT "LNET_PID_ANY"

const char *lx_id_format(const struct lx_id *id, char *buf, size_t size)
{
	char nid[LX_NID_TEXT];

	lx_nid_format(&id->nid, nid, sizeof(nid));
	if (id->pid == LX_PID_ANY)
		snprintf(buf, size, PID_ANY_TEXT "-%s", nid);
	else
		snprintf(buf, size, "%s%u-%s", id->pid & LX_PID_USERFLAG ? "U" : "",
			 id->pid & ~LX_PID_USERFLAG, nid);
	return buf;
}

static int pid_parse(const char *text, size_t len, uint32_t *ret_pid)
{
	bool user = len && text[0] == 'U';
	uint32_t pid;
	int rc;

	if (len == strlen(PID_ANY_TEXT) && !memcmp(text, PID_ANY_TEXT, len)) {
		*ret_pid = LX_PID_ANY;
		return 0;
	}
	rc = lx_octets_number(text + user, len - user, 10, user ? ~LX_PID_USERFLAG : UINT32_MAX,
			      &pid);
	if (rc)
		return rc;
	*ret_pid = pid | (user ? LX_PID_USERFLAG : 0);
	return 0;
}

int lx_id_parse(const char *text, struct lx_id *ret_id)
{
	struct lx_id id = { .pid = LX_PID_LUSTRE };
	const char *dash = strchr(text, '-');
	int rc = 0;

	if (dash)
		rc = pid_parse(text, dash - text, &id.pid);
	if (!rc)
		rc = lx_nid_parse(dash ? dash + 1 : text, &id.nid);
	if (rc)
		return rc;
	*ret_id = id;
	return 0;
}

/* ---- ranges (lnet.md 2) ------------------------------------------------------- */

static uint64_t octets_count(const struct lx_octets *octets)
{
	uint64_t product = 1;

	for (int i = 0; i < 4; i++) {
		unsigned int n = 0;

		for (int value = 0; value < 256; value++)
			n += lx_octets_has(octets, i, value);
		product *= n;
	}
	return product;
}

/* Advances to the next address, like an odometer whose digits are the members of @octets. */
static void octets_next(const struct lx_octets *octets, uint8_t addr[4])
{
	for (int i = 3; i >= 0; i--) {
		int value = addr[i];

		do {
			value = (value + 1) % 256;
		} while (!lx_octets_has(octets, i, value));
		if (value > addr[i]) {
			addr[i] = value;
			return;
		}
		addr[i] = value; /* wrapped to its first value: carry to the left */
	}
}

struct nid_list {
	struct lx_nid *nid;
	size_t n, max;
};

static int list_add(struct nid_list *list, const struct lx_nid *nid)
{
	struct lx_nid *to;

	if (list->n == list->max)
		return -E2BIG;
	to = lx_grow(&list->nid, &list->n, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = *nid;
	return 0;
}

/* "[span,span,...]" of a net whose addresses are numbers, in the order written. */
static int numbers_expand(const char *addr, struct lx_nid nid, struct nid_list *list)
{
	struct lx_span span = { 0 };
	size_t len;
	int rc;

	do {
		addr++;
		len = strcspn(addr, ",]");
		rc = lx_octets_span(addr, len, UINT32_MAX, &span);
		for (uint64_t i = span.first; !rc && i <= span.last; i += span.stride) {
			for (int byte = 0; byte < 4; byte++)
				nid.addr[byte] = i >> (24 - 8 * byte);
			rc = list_add(list, &nid);
		}
		addr += len;
	} while (!rc && *addr == ',');
	return rc ? rc : strcmp(addr, "]") ? -EINVAL : 0;
}

static int octets_expand(const char *addr, struct lx_nid nid, struct nid_list *list)
{
	struct lx_octets octets;
	int rc;

	rc = lx_octets_parse(addr, false, &octets);
	if (rc)
		return rc;
	for (int i = 0; i < 4; i++) {
		while (!lx_octets_has(&octets, i, nid.addr[i]))
			nid.addr[i]++;
	}
	for (uint64_t count = octets_count(&octets); !rc && count; count--) {
		rc = list_add(list, &nid);
		octets_next(&octets, nid.addr);
	}
	return rc;
}

static int range_expand(const char *text, struct nid_list *list)
{
	struct lx_nid nid = { 0 };
	enum addr_form form;
	char addr[256];
	uint32_t net;
	int rc;

	rc = text_split(text, addr, sizeof(addr), &net);
	if (rc)
		return rc;
	nid.type = net >> 16;
	nid.num = lx_be16(net & 0xffff);
	form = form_of(nid.type)->addr;
	if (form == ADDR_NUMBER)
		return addr[0] == '[' ? numbers_expand(addr, nid, list) : -EINVAL;
	return form <= ADDR_IP ? octets_expand(addr, nid, list) : -EINVAL;
}

/* One item of the list. */
static int item_expand(const char *text, struct nid_list *list)
{
	struct lx_nid nid;
	int rc;

	if (strchr(text, '['))
		return range_expand(text, list);
	rc = lx_nid_parse(text, &nid);
	if (!rc)
		rc = lx_nid_is_any(&nid) ? -EINVAL : list_add(list, &nid);
	return rc;
}

/* The comma that ends an item, outside brackets. NULL: the last item. */
static char *item_end(char *text)
{
	bool inside = false;

	for (; *text; text++) {
		if (*text == '[')
			inside = true;
		else if (*text == ']')
			inside = false;
		else if (*text == ',' && !inside)
			return text;
	}
	return NULL;
}

int lx_nid_expand(const char *text, size_t max, struct lx_nid **ret_nids, size_t *ret_n)
{
	struct nid_list list = { .max = max };
	LX_AUTO_FREE char *copy = strdup(text);
	int rc = 0;

	if (!copy)
		return -ENOMEM;
	for (char *item = copy, *end; item && !rc; item = end ? end + 1 : NULL) {
		end = item_end(item);
		if (end)
			*end = '\0';
		rc = item_expand(item, &list);
	}
	if (rc) {
		free(list.nid);
		return rc;
	}
	*ret_nids = list.nid;
	*ret_n = list.n;
	return 0;
}
