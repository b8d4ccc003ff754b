/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions for messages, which the selftest needs to start: the fake node never has any. */
#include <errno.h>

#include <lnetx/lnetx.h>

static struct {
	struct lx_md_desc desc; /* keeps what its user has reachable */
} posted[256];
static unsigned int n_posted;

int lx_me_attach(struct lx_node *node, uint32_t portal, const struct lx_id *match,
		 uint64_t match_bits, uint64_t ignore_bits, enum lx_unlink unlink,
		 enum lx_me_pos pos, struct lx_handle *ret_me)
{
	ret_me->cookie = 1;
	return 0;
}

int lx_me_unlink(struct lx_node *node, struct lx_handle me)
{
	return 0;
}

int lx_md_attach(struct lx_node *node, struct lx_handle me, const struct lx_md_desc *md,
		 enum lx_unlink unlink, struct lx_handle *ret_md)
{
	if (n_posted == 256)
		return -ENOMEM;
	posted[n_posted++].desc = *md;
	ret_md->cookie = n_posted;
	return 0;
}

int lx_md_bind(struct lx_node *node, const struct lx_md_desc *md, enum lx_unlink unlink,
	       struct lx_handle *ret_md)
{
	return -ESHUTDOWN;
}

int lx_md_unlink(struct lx_node *node, struct lx_handle md)
{
	return 0;
}

int lx_portal_set_lazy(struct lx_node *node, uint32_t portal, bool lazy)
{
	return 0;
}

int lx_put(struct lx_node *node, const struct lx_nid *self, struct lx_handle md, bool ack,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset,
	   uint64_t hdr_data)
{
	return -ENOENT;
}

int lx_get(struct lx_node *node, const struct lx_nid *self, struct lx_handle md,
	   const struct lx_id *target, uint32_t portal, uint64_t match_bits, uint32_t offset)
{
	return -ENOENT;
}

int lx_memory_add(struct lx_node *node, void *start, size_t length)
{
	return 0;
}

int lx_memory_del(struct lx_node *node, void *start)
{
	return 0;
}
