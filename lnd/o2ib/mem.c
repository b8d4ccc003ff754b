/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered memory.
 *
 * Registering costs more than most transfers: a system call that looks up and pins every
 * page. So memory in a region (user/base/region.h: an MD's memory, memory the application has
 * registered, router buffers) stays registered for later messages:
 *
 *	region known, room left:   found, or made ──▶ in use ◀──▶ idle ──▶ gone
 *	                                                           region ends, NI ends,
 *	                                                           or room is needed: oldest first
 *	anything else:             made ──▶ in use ──▶ gone
 *
 * A registration pins pages, not addresses: if memory is unmapped and mapped again, the
 * hardware goes on using the old pages. So a registration belongs to its region and is
 * found only through it; it ends before the memory does. Memory without a region is
 * registered for one transfer.
 *
 * A large region is registered in windows. They overlap by the longest payload, so a payload
 * lies within the window in which it begins.
 */
#include <errno.h>
#include <stdlib.h>

#include "priv.h"

#define WINDOW (16u << 20)

struct lx_o2ib_reg {
	struct lx_hash_node node; /* of the kept ones, by start */
	struct lx_list link;      /* mem->idle */
	struct lx_tie tie;
	struct lx_o2ib_net *net;
	const struct lx_region *region; /* NULL: registered for one transfer */
	struct lx_o2ib_mr mr;
	char *start;
	size_t length;
	bool remote;
	unsigned int users;
};

int lx_o2ib_mem_init(struct lx_o2ib_mem *mem)
{
	lx_list_init(&mem->idle);
	return lx_hash_init(&mem->kept);
}

void lx_o2ib_mem_fini(struct lx_o2ib_mem *mem)
{
	lx_hash_fini(&mem->kept);
}

/* ---- one registration ---------------------------------------------------------- */

static uint32_t hash_of(const char *start)
{
	return lx_hash_u64((uintptr_t)start);
}

static int reg_new(struct lx_o2ib_net *net, const struct iovec *window, bool remote,
		   struct lx_o2ib_reg **ret_reg)
{
	struct lx_o2ib_reg *reg = calloc(1, sizeof(*reg));
	int r;

	if (!reg)
		return -ENOMEM;
	lx_list_init(&reg->link);
	lx_list_init(&reg->tie.link);
	reg->net = net;
	reg->start = window->iov_base;
	reg->length = window->iov_len;
	reg->remote = remote;
	r = lx_o2ib_hw->reg(net, reg->start, reg->length, remote, &reg->mr);
	if (r) {
		free(reg);
		return r;
	}
	*ret_reg = reg;
	return 0;
}

/* Removes it from look-ups. */
static void forget(struct lx_o2ib_reg *reg)
{
	struct lx_o2ib_mem *mem = &reg->net->mem;

	lx_hash_del(&mem->kept, &reg->node);
	lx_list_del(&reg->tie.link);
	mem->bytes -= reg->length;
	reg->region = NULL;
}

static void reg_free(struct lx_o2ib_reg *reg)
{
	if (reg->region)
		forget(reg);
	lx_list_del(&reg->link);
	lx_o2ib_hw->dereg(&reg->mr);
	free(reg);
}

static void cut(struct lx_tie *tie)
{
	struct lx_o2ib_reg *reg = lx_container_of(tie, struct lx_o2ib_reg, tie);

	if (reg->users)
		forget(reg);
	else
		reg_free(reg);
}

/* ---- those that are kept --------------------------------------------------------- */

static bool drop_oldest(struct lx_o2ib_mem *mem)
{
	struct lx_o2ib_reg *reg = lx_list_first(&mem->idle, struct lx_o2ib_reg, link);

	if (reg)
		reg_free(reg);
	return reg;
}

/* Whether this many more bytes may be kept; frees idle registrations to make room. */
static bool make_room(struct lx_o2ib_mem *mem, size_t length)
{
	size_t max = (size_t)lx_o2ib_tun.mr_cache_mb << 20;

	if (length > max)
		return false;
	while (mem->bytes + length > max || mem->kept.count >= lx_o2ib_tun.mr_cache_entries) {
		if (!drop_oldest(mem))
			return false;
	}
	return true;
}

static struct lx_o2ib_reg *find(const struct lx_o2ib_mem *mem, const struct lx_region *region,
				const struct iovec *window, bool remote)
{
	struct lx_o2ib_reg *reg;

	lx_hash_for_each (reg, &mem->kept, hash_of(window->iov_base), node) {
		if (reg->region == region && reg->start == window->iov_base &&
		    reg->length == window->iov_len && (reg->remote || !remote))
			return reg;
	}
	return NULL;
}

/* The window of the region in which these bytes are registered. */
static bool window_of(const struct lx_region *region, const struct iovec *bytes,
		      struct iovec *ret_window)
{
	const struct iovec *stretch = lx_region_find(region, bytes->iov_base, bytes->iov_len);
	size_t at, left;

	if (!stretch || bytes->iov_len > LX_PAYLOAD_MAX)
		return false;
	at = (char *)bytes->iov_base - (char *)stretch->iov_base;
	at -= at % WINDOW;
	left = stretch->iov_len - at;
	ret_window->iov_base = (char *)stretch->iov_base + at;
	ret_window->iov_len = left < WINDOW + LX_PAYLOAD_MAX ? left : WINDOW + LX_PAYLOAD_MAX;
	return true;
}

/* NULL: it cannot be kept. */
static struct lx_o2ib_reg *obtain_kept(struct lx_o2ib_net *net, struct lx_region *region,
				       const struct iovec *bytes, bool remote)
{
	struct lx_o2ib_mem *mem = &net->mem;
	struct lx_o2ib_reg *reg;
	struct iovec window;

	if (!window_of(region, bytes, &window))
		return NULL;
	reg = find(mem, region, &window, remote);
	if (reg)
		return reg;
	if (!make_room(mem, window.iov_len) || reg_new(net, &window, remote, &reg))
		return NULL;
	reg->region = region;
	reg->tie.cut = cut;
	mem->bytes += reg->length;
	lx_hash_add(&mem->kept, &reg->node, hash_of(reg->start));
	lx_region_tie(region, &reg->tie);
	return reg;
}

/* ---- what messages ask for --------------------------------------------------------- */

int lx_o2ib_mem_reg_get(struct lx_o2ib_net *net, struct lx_region *region,
			const struct iovec *bytes, bool remote, struct lx_o2ib_reg **ret_reg)
{
	struct lx_o2ib_reg *reg = region ? obtain_kept(net, region, bytes, remote) : NULL;
	int r = 0;

	if (!reg) {
		/* Idle registrations must not make this one fail. */
		do
			r = reg_new(net, bytes, remote, &reg);
		while (r == -ENOMEM && drop_oldest(&net->mem));
	}
	if (r)
		return r;
	reg->users++;
	lx_list_del(&reg->link);
	*ret_reg = reg;
	return 0;
}

void lx_o2ib_mem_reg_put(struct lx_o2ib_reg *reg)
{
	if (--reg->users)
		return;
	if (reg->region)
		lx_list_append(&reg->net->mem.idle, &reg->link);
	else
		reg_free(reg);
}

const struct lx_o2ib_mr *lx_o2ib_mem_reg_mr(const struct lx_o2ib_reg *reg)
{
	return &reg->mr;
}

int lx_o2ib_mem_bounce_get(struct lx_o2ib_net *net, struct lx_rbuf **ret_rbuf)
{
	struct lx_o2ib_mem *mem = &net->mem;
	struct lx_rbuf *rbuf;
	void *memory;
	int r;

	if (mem->n_bounces) {
		*ret_rbuf = mem->bounce[--mem->n_bounces];
		return 0;
	}
	r = lx_rbuf_new(LX_PAYLOAD_MAX, 1, &rbuf);
	if (r)
		return r;
	r = lx_rbuf_reserve(rbuf, &memory);
	if (r)
		lx_rbuf_free(rbuf);
	else
		*ret_rbuf = rbuf;
	return r;
}

void lx_o2ib_mem_bounce_put(struct lx_o2ib_net *net, struct lx_rbuf *rbuf)
{
	struct lx_o2ib_mem *mem = &net->mem;

	if (mem->n_bounces < LX_O2IB_BOUNCES && !net->closing)
		mem->bounce[mem->n_bounces++] = rbuf;
	else
		lx_rbuf_free(rbuf);
}

void lx_o2ib_mem_drop(struct lx_o2ib_mem *mem)
{
	while (mem->n_bounces)
		lx_rbuf_free(mem->bounce[--mem->n_bounces]);
	while (drop_oldest(mem))
		;
}
