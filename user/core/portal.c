/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Portals, their match entries, and matching. Owned by the core; parse.c matches messages,
 * the API attaches MEs.
 *
 * MEs with ignore bits have to be tried one by one, and come first. The others are hashed
 * by their match bits, so that a node can post very many of them, as Lustre does: one for
 * each RPC in flight.
 */
#include <errno.h>
#include <stdlib.h>

#include "core.h"
#include "msg.h"

void lx_portal_init(struct lx_portal *portal)
{
	lx_list_init(&portal->ignoring);
	lx_list_init(&portal->delayed);
}

void lx_portal_clear(struct lx_portal *portal)
{
	struct lx_me *me, *tmp;

	lx_list_for_each_safe(me, tmp, &portal->ignoring, link)
		lx_me_retire(me);
	for (unsigned int i = 0; portal->exact && i < LX_PORTAL_BUCKETS; i++) {
		lx_list_for_each_safe(me, tmp, &portal->exact[i], link)
			lx_me_retire(me);
	}
}

void lx_portal_fini(struct lx_portal *portal)
{
	free(portal->exact);
	portal->exact = NULL;
}

static struct lx_list *bucket(const struct lx_portal *portal, uint64_t bits)
{
	return &portal->exact[lx_hash_u64(bits) % LX_PORTAL_BUCKETS];
}

static int make_buckets(struct lx_portal *portal)
{
	if (portal->exact)
		return 0;
	portal->exact = malloc(LX_PORTAL_BUCKETS * sizeof(portal->exact[0]));
	if (!portal->exact)
		return -ENOMEM;
	for (unsigned int i = 0; i < LX_PORTAL_BUCKETS; i++)
		lx_list_init(&portal->exact[i]);
	return 0;
}

static enum lx_portal_kind kind_of(const struct lx_id *match, uint64_t ignore_bits)
{
	return !ignore_bits && !lx_nid_is_any(&match->nid) && match->pid != LX_PID_ANY
		       ? LX_PORTAL_UNIQUE
		       : LX_PORTAL_WILDCARD;
}

int lx_portal_attach(struct lx_core *core, uint32_t index, const struct lx_id *match,
		     uint64_t match_bits, uint64_t ignore_bits, enum lx_unlink unlink,
		     enum lx_me_pos pos, struct lx_me **ret_me)
{
	enum lx_portal_kind kind = kind_of(match, ignore_bits);
	struct lx_portal *portal;
	struct lx_list *list;
	struct lx_me *me;

	if (index >= LX_PORTALS || pos > LX_ME_LOCAL)
		return -EINVAL;
	portal = &core->portal[index];
	if (portal->n_mes && portal->kind != kind)
		return -EPERM;
	if (!ignore_bits && make_buckets(portal))
		return -ENOMEM;
	me = calloc(1, sizeof(*me));
	if (!me)
		return -ENOMEM;
	portal->kind = kind;
	portal->n_mes++;
	me->core = core;
	me->portal = portal;
	me->match = *match;
	me->match_bits = match_bits;
	me->ignore_bits = ignore_bits;
	me->unlink = unlink;
	me->handle.cookie = ++core->object_seq;
	lx_hash_add(&core->mes, &me->node, lx_hash_u64(me->handle.cookie));
	list = ignore_bits ? &portal->ignoring : bucket(portal, match_bits);
	if (pos == LX_ME_BEFORE)
		lx_list_push(list, &me->link);
	else
		lx_list_append(list, &me->link);
	*ret_me = me;
	return 0;
}

struct lx_me *lx_me_lookup(struct lx_core *core, struct lx_handle handle)
{
	struct lx_me *me;

	lx_hash_for_each(me, &core->mes, lx_hash_u64(handle.cookie), node)
		if (me->handle.cookie == handle.cookie)
			return me;
	return NULL;
}

void lx_me_free(struct lx_me *me)
{
	lx_hash_del(&me->core->mes, &me->node);
	lx_list_del(&me->link);
	me->portal->n_mes--;
	free(me);
}

void lx_me_retire(struct lx_me *me)
{
	/* Whatever its unlink policy was, it goes with its MD now. */
	me->unlink = LX_UNLINK;
	if (me->md)
		lx_md_retire(me->md);
	else
		lx_me_free(me);
}

/* ---- matching (lnet.md 6.1) --------------------------------------------------- */

/*
 * Step 4: any NID of a peer matches its primary NID. Messages that a node sends to itself without
 * a transport come from 0@lo, which any of its own NIDs matches.
 */
static bool same_peer(struct lx_core *core, const struct lx_nid *nid,
		      const struct lx_nid *primary)
{
	struct lx_nid other;

	if (lx_nid_is_any(nid) || lx_nid_eq(nid, primary))
		return true;
	if (lx_nid_eq(primary, &lx_nid_lo))
		return lx_ni_lookup(core, nid) != NULL;
	lx_peer_primary_of(core, nid, &other);
	return lx_nid_eq(&other, primary);
}

/* Steps 1 to 5. */
static bool me_matches(struct lx_core *core, const struct lx_me *me, const struct lx_match *m)
{
	const struct lx_md *md = me->md;

	if (!md || lx_md_exhausted(md) || !(md->options & m->op))
		return false;
	if ((me->match_bits ^ m->bits) & ~me->ignore_bits)
		return false;
	if (me->match.pid != LX_PID_ANY && me->match.pid != m->initiator.pid)
		return false;
	return same_peer(core, &me->match.nid, &m->initiator.nid);
}

static struct lx_me *list_search(struct lx_core *core, struct lx_list *list,
				 const struct lx_match *m)
{
	struct lx_me *me;

	lx_list_for_each(me, list, link) {
		if (me_matches(core, me, m))
			return me;
	}
	return NULL;
}

static struct lx_me *search(struct lx_core *core, struct lx_portal *portal,
			    const struct lx_match *m)
{
	struct lx_me *me = list_search(core, &portal->ignoring, m);

	if (me || !portal->exact)
		return me;
	return list_search(core, bucket(portal, m->bits), m);
}

enum lx_match_result lx_portal_match(struct lx_core *core, const struct lx_match *match,
				     struct lx_md **ret_md, size_t *ret_offset,
				     size_t *ret_mlength)
{
	struct lx_me *me = search(core, &core->portal[match->portal], match);
	size_t offset, available, mlength;
	struct lx_md *md;

	if (!me)
		return LX_MATCH_NONE;
	md = me->md;
	offset = md->options & LX_MD_MANAGE_REMOTE ? match->roffset : md->offset;
	if (md->options & LX_MD_MAX_SIZE)
		available = md->max_size;
	else
		available = offset < md->length ? md->length - offset : 0;
	/* An offset from the wire must stay within the memory, with MAX_SIZE, too. */
	if (offset > md->length)
		offset = md->length;
	if (available > md->length - offset)
		available = md->length - offset;

	mlength = match->rlength;
	if (mlength > available) {
		if (!(md->options & LX_MD_TRUNCATE))
			return LX_MATCH_TOO_LONG;
		mlength = available;
	}
	md->offset = offset + mlength;
	if (md->threshold > 0)
		md->threshold--;
	lx_md_get(md);
	if (md->unlink == LX_UNLINK && lx_md_exhausted(md))
		lx_md_retire(md);
	*ret_md = md;
	*ret_offset = offset;
	*ret_mlength = mlength;
	return LX_MATCH_OK;
}

/* ---- delayed messages ------------------------------------------------------------ */

void lx_portal_delay(struct lx_portal *portal, struct lx_core_msg *msg)
{
	msg->phase = LX_PHASE_DELAYED;
	lx_list_append(&portal->delayed, &msg->link);
}

void lx_portal_take_delayed(struct lx_portal *portal, struct lx_list *ret_batch)
{
	lx_list_init(ret_batch);
	lx_list_splice(ret_batch, &portal->delayed);
}
