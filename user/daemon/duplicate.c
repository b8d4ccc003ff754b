/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Logs other machines with our addresses; see the header. Called by change.c. */
#include <stdatomic.h>
#include <stdlib.h>

#include "../base/log.h"
#include "../io/duplicate.h"
#include "duplicate.h"

struct look {
	uv_work_t work;
	struct lx_ni_info *ni;
	size_t n;
};

static bool is_looking;
static atomic_bool is_ending;

static void look_for(const struct lx_ni_info *ni)
{
	char mac[LX_MAC_TEXT];

	if (lx_duplicate_find(&ni->nid, mac) > 0)
		lx_err("nid=%s interface=%s reason=\"another machine, with MAC address %s, has its "
		       "address, too\" action=\"messages for this node arrive there, by turns\" "
		       "next=\"find that one, at the switch, and give one of the two another "
		       "address\"",
		       lx_nid_str(&ni->nid), ni->ifname, mac);
}

static void run(uv_work_t *work)
{
	struct look *l = lx_container_of(work, struct look, work);

	for (size_t i = 0; i < l->n && !atomic_load(&is_ending); i++)
		look_for(&l->ni[i]);
}

static void done(uv_work_t *work, int status)
{
	struct look *l = lx_container_of(work, struct look, work);

	is_looking = false;
	free(l->ni);
	free(l);
}

void lx_duplicates_end(void)
{
	atomic_store(&is_ending, true);
}

void lx_duplicates_look(struct lx_daemon *d)
{
	struct look *l = is_looking || !d->node ? NULL : calloc(1, sizeof(*l));

	if (!l)
		return;
	if (lx_ni_list(d->node, &l->ni, &l->n) || uv_queue_work(d->loop, &l->work, run, done)) {
		free(l->ni);
		free(l);
		return;
	}
	is_looking = true;
}
