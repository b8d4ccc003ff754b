/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fakeforward.h"
#include "testlib.h"

/* ---- life ----------------------------------------------------------------------- */

struct lx_forward *fake_forward_new(void)
{
	struct lx_forward *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert_true(f->fd >= 0);
	return f;
}

void fake_forward_free(struct lx_forward *f)
{
	close(f->fd);
	free(f);
}

/* ---- tables --------------------------------------------------------------------- */

bool lx_forward_is_attached(const struct lx_forward *f, unsigned int ifindex)
{
	return true;
}

struct lx_stream *lx_forward_stream(struct lx_forward *f, unsigned int index)
{
	return index < FAKE_STREAMS ? &f->stream[index] : NULL;
}

struct lx_lane *lx_forward_lane(struct lx_forward *f, unsigned int index)
{
	return index < FAKE_LANES ? &f->lane[index] : NULL;
}

struct lx_hop *lx_forward_hop(struct lx_forward *f, unsigned int index)
{
	return index < N_OF(f->hop) ? &f->hop[index] : NULL;
}

int lx_forward_take(struct lx_forward *f, enum lx_forward_table table, unsigned int limit)
{
	static const unsigned int max[] = { FAKE_STREAMS, FAKE_LANES, FAKE_HOPS };
	unsigned int i = __builtin_ctzll(~f->taken[table]);

	if (i >= max[table] || i >= limit)
		return -ENOSPC;
	f->taken[table] |= 1ull << i;
	return (int)i;
}

void lx_forward_give(struct lx_forward *f, enum lx_forward_table table, unsigned int index)
{
	assert_true(f->taken[table] >> index & 1);
	f->taken[table] &= ~(1ull << index);
}

int lx_forward_next(const struct lx_forward *f, enum lx_forward_table table, unsigned int index)
{
	uint64_t rest = index < 64 ? f->taken[table] >> index : 0;

	return rest ? (int)(index + __builtin_ctzll(rest)) : -1;
}

unsigned int lx_forward_used(const struct lx_forward *f, enum lx_forward_table table)
{
	return __builtin_popcountll(f->taken[table]);
}

bool lx_forward_is_short(const struct lx_forward *f)
{
	return false;
}

int lx_forward_grow(struct lx_forward *f)
{
	return 0;
}

int lx_forward_flow_add(struct lx_forward *f, const struct lx_flow_key *key,
			enum lx_flow_kind kind, unsigned int index)
{
	return 0;
}

void lx_forward_flow_del(struct lx_forward *f, const struct lx_flow_key *key)
{
}

int lx_forward_dest_set(struct lx_forward *f, const struct lx_nid *nid, const struct lx_dest *dest)
{
	unsigned int i = 0;

	while (i < f->n_dests && !lx_nid_eq(&f->dest[i], nid))
		i++;
	if (!dest && i < f->n_dests)
		f->dest[i] = f->dest[--f->n_dests];
	if (!dest || i < f->n_dests)
		return 0;
	assert_true(i < FAKE_DESTS);
	f->dest[f->n_dests++] = *nid;
	return 0;
}

/* ---- asking, telling --------------------------------------------------------------- */

int lx_forward_arm(struct lx_forward *f, enum lx_flow_kind kind, unsigned int index, bool on)
{
	struct lx_lane *lane = &f->lane[index];

	if (kind == LX_FLOW_STREAM) {
		f->stream[index].state = on ? LX_STREAM_ON : LX_STREAM_ARMED;
		return 0;
	}
	lane->word = (uint64_t)LX_LANE_OWNER << 32;
	lane->una = lane->sent = 0;
	lane->edge = 1 << 24;
	lane->state = LX_LANE_LIVE;
	return 0;
}

void lx_forward_kick(struct lx_forward *f, unsigned int stream)
{
	f->kicks[stream]++;
}

int lx_forward_fd(const struct lx_forward *f)
{
	return f->fd;
}

void lx_forward_dispatch(struct lx_forward *f,
			 void (*fn)(const struct lx_record *record, void *arg), void *arg)
{
	uint64_t n;

	(void)!read(f->fd, &n, sizeof(n));
}
