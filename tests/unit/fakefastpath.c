/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fakefastpath.h"
#include "testlib.h"

/* ---- life ----------------------------------------------------------------------- */

struct lx_fastpath *fake_fastpath_new(void)
{
	struct lx_fastpath *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert_true(f->fd >= 0);
	return f;
}

void fake_fastpath_free(struct lx_fastpath *f)
{
	close(f->fd);
	free(f);
}

/* ---- tables --------------------------------------------------------------------- */

bool lx_fastpath_is_attached(const struct lx_fastpath *f, unsigned int ifindex)
{
	return true;
}

struct lx_stream *lx_fastpath_stream(struct lx_fastpath *f, unsigned int index)
{
	return index < FAKE_STREAMS ? &f->stream[index] : NULL;
}

struct lx_lane *lx_fastpath_lane(struct lx_fastpath *f, unsigned int index)
{
	return index < FAKE_LANES ? &f->lane[index] : NULL;
}

struct lx_fp_peer *lx_fastpath_peer(struct lx_fastpath *f, unsigned int index)
{
	return index < N_OF(f->peer) ? &f->peer[index] : NULL;
}

int lx_fastpath_take(struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int limit)
{
	static const unsigned int max[] = { FAKE_STREAMS, FAKE_LANES, FAKE_PEERS };
	unsigned int i = __builtin_ctzll(~f->taken[table]);

	if (i >= max[table] || i >= limit)
		return -ENOSPC;
	f->taken[table] |= 1ull << i;
	return (int)i;
}

void lx_fastpath_give(struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int index)
{
	assert_true(f->taken[table] >> index & 1);
	f->taken[table] &= ~(1ull << index);
}

int lx_fastpath_next(const struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int index)
{
	uint64_t rest = index < 64 ? f->taken[table] >> index : 0;

	return rest ? (int)(index + __builtin_ctzll(rest)) : -1;
}

unsigned int lx_fastpath_used(const struct lx_fastpath *f, enum lx_fastpath_table table)
{
	return __builtin_popcountll(f->taken[table]);
}

bool lx_fastpath_is_short(const struct lx_fastpath *f)
{
	return __atomic_load_n(&f->is_short, __ATOMIC_RELAXED);
}

int lx_fastpath_grow(struct lx_fastpath *f)
{
	__atomic_store_n(&f->is_short, false, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&f->may_grow, __ATOMIC_RELAXED))
		usleep(1000);
	usleep(200000);
	__atomic_fetch_add(&f->grown, 1, __ATOMIC_RELAXED);
	return 0;
}

int lx_fastpath_flow_add(struct lx_fastpath *f, const struct lx_flow_key *key,
			enum lx_flow_kind kind, unsigned int index)
{
	if (kind == LX_FLOW_SHIFT && index)
		f->shift = (struct lx_flow){ .kind = kind, .index = index };
	return 0;
}

void lx_fastpath_flow_del(struct lx_fastpath *f, const struct lx_flow_key *key)
{
}

bool lx_fastpath_is_seen(struct lx_fastpath *f, const struct lx_flow_key *key,
			 unsigned int *ret_ifindex)
{
	return !f->unseen;
}

bool lx_fastpath_leads_to(const struct lx_fastpath *f, const struct lx_flow_key *key,
			  unsigned int ifindex)
{
	return !f->no_route;
}

bool lx_fastpath_moves(const struct lx_fastpath *f, const struct lx_flow_key *key,
		       uint32_t *ifindex)
{
	if (f->moved == *ifindex || !f->moved)
		return false;
	*ifindex = f->moved;
	return true;
}

int lx_fastpath_filter(struct lx_fastpath *f, int fd, bool on)
{
	f->n_filtered += on ? 1 : -1;
	return 0;
}

int lx_fastpath_dest_set(struct lx_fastpath *f, const struct lx_nid *nid,
			 const struct lx_dest *dest)
{
	unsigned int i = 0;

	while (i < f->n_dests && !lx_nid_eq(&f->dest[i], nid))
		i++;
	if (!dest && i < f->n_dests)
		f->dest[i] = f->dest[--f->n_dests];
	if (!dest || i < f->n_dests)
		return 0;
	if (i == FAKE_DESTS)
		return -E2BIG;
	f->dest[f->n_dests++] = *nid;
	return 0;
}

void lx_fastpath_count_stuck(struct lx_fastpath *f)
{
}

void lx_fastpath_count_stored(struct lx_fastpath *f, unsigned int lanes, uint64_t bytes)
{
}

/* ---- asking, telling --------------------------------------------------------------- */

int lx_fastpath_takeover(struct lx_fastpath *f, enum lx_flow_kind kind, unsigned int index, bool on)
{
	struct lx_lane *lane = &f->lane[index];

	if (f->unfit) {
		if (kind == LX_FLOW_STREAM)
			f->stream[index].state = LX_STREAM_ECN;
		return -EOPNOTSUPP;
	}
	if (kind == LX_FLOW_STREAM) {
		f->stream[index].state = on ? LX_STREAM_ON : LX_STREAM_TAKEOVER;
		return 0;
	}
	lane->word = (uint64_t)LX_LANE_OWNER << 32;
	lane->una = lane->sent = 0;
	lane->window_edge = 1 << 24;
	lane->state = LX_LANE_LIVE;
	return 0;
}

void lx_fastpath_poke_ack(struct lx_fastpath *f, unsigned int stream)
{
	f->pokes[stream]++;
}

void lx_fastpath_poke_fin(struct lx_fastpath *f, unsigned int lane)
{
	f->fins[lane]++;
}

int lx_fastpath_fd(const struct lx_fastpath *f)
{
	return f->fd;
}

void lx_fastpath_dispatch(struct lx_fastpath *f, const struct lx_fastpath_ops *ops, void *arg)
{
	uint64_t n;

	(void)!read(f->fd, &n, sizeof(n));
	for (; f->n_stored; f->n_stored--)
		ops->stored(&f->stored[f->n_stored - 1].head, f->stored[f->n_stored - 1].bytes, arg);
}

void fake_fastpath_store(struct lx_fastpath *f, uint32_t lane, uint64_t pos, const void *bytes,
			 uint32_t len)
{
	struct fake_stored *stored = &f->stored[f->n_stored++];

	assert_true(f->n_stored <= FAKE_STORED && len <= sizeof(stored->bytes));
	stored->head = (struct lx_stored){ .pos = pos, .lane = lane, .len = len };
	memcpy(stored->bytes, bytes, len);
	assert_int_equal(write(f->fd, &(uint64_t){ 1 }, 8), 8);
}
