/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. */
#include <errno.h>

#include "core.h"
#include "origin.h"

/* Kept for reuse: they come and go with messages. */
#define FREELIST_MAX 64

int lx_origin_get(struct lx_core *core, const struct lx_rx_from *from,
		  struct lx_origin **ret_origin)
{
	const struct lx_nid *address = from->address.type ? &from->address : &from->nid;
	uint32_t hash = lx_nid_hash(address);
	struct lx_origin *origin;

	lx_hash_for_each(origin, &core->origins, hash, node) {
		if (lx_nid_eq(&origin->address, address)) {
			origin->refs++;
			*ret_origin = origin;
			return 0;
		}
	}
	origin = lx_freelist_get(&core->origin_freelist, sizeof(*origin));
	if (!origin)
		return -ENOMEM;
	origin->address = *address;
	origin->refs = 1;
	lx_list_init(&origin->waiting);
	for (unsigned int i = 0; i < LX_SHARES; i++) {
		origin->share[i].held = 0;
		lx_list_init(&origin->share[i].queue);
	}
	lx_hash_add(&core->origins, &origin->node, hash);
	*ret_origin = origin;
	return 0;
}

void lx_origin_put(struct lx_core *core, struct lx_origin *origin)
{
	if (!origin || --origin->refs)
		return;
	lx_hash_del(&core->origins, &origin->node);
	lx_freelist_put(&core->origin_freelist, origin, FREELIST_MAX);
}
