/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Senders that are not trusted with lanes, by address: those that left a message unfinished, and
 * those that others had to wait for. Each time for longer.
 */
#include <string.h>

#include "priv.h"

static struct lx_fp_offender *lookup(struct lx_fp *fp, const uint8_t addr[16])
{
	for (unsigned int i = 0; i < LX_OFFENDERS; i++) {
		if (fp->offender[i].pause_ns && !memcmp(fp->offender[i].addr, addr, 16))
			return &fp->offender[i];
	}
	return NULL;
}

/* Replaces the one whose pause ended first. */
static struct lx_fp_offender *offender_new(struct lx_fp *fp, const uint8_t addr[16])
{
	struct lx_fp_offender *o = &fp->offender[0];

	for (unsigned int i = 1; i < LX_OFFENDERS; i++) {
		if (fp->offender[i].until_ns < o->until_ns)
			o = &fp->offender[i];
	}
	*o = (struct lx_fp_offender){ 0 };
	memcpy(o->addr, addr, sizeof(o->addr));
	return o;
}

const struct lx_fp_offender *lx_fp_offender(struct lx_fp *fp, const uint8_t addr[16], uint64_t now)
{
	const struct lx_fp_offender *o = lookup(fp, addr);

	return o && now < o->until_ns ? o : NULL;
}

/* All streams of an address, whatever NIDs it claims; stream.c does so for later ones. */
static void keep_off_lanes(struct lx_fp *fp, const struct lx_fp_offender *o)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_stream *s = lx_fp_stream_at(fp, i);

		if (!fp->stream[i].conn || memcmp(s->key.remote, o->addr, 16))
			continue;
		lx_fp_stream_aside(&fp->stream[i], s, o->why, o->until_ns);
		lx_fp_stream_wake(fp, i);
	}
}

/* An offence is forgotten after as long again without another. */
uint64_t lx_fp_offend(struct lx_fp *fp, const uint8_t addr[16], enum lx_stream_aside why,
		      uint64_t now)
{
	struct lx_fp_offender *o = lookup(fp, addr);
	uint64_t min_ns = why == LX_STREAM_ASIDE_UNSAFE ? LX_UNSAFE_NS : LX_SLOW_NS;

	if (!o)
		o = offender_new(fp, addr);
	if (now >= o->until_ns || why == LX_STREAM_ASIDE_UNSAFE)
		o->why = why;
	if (now >= o->until_ns + o->pause_ns)
		o->pause_ns = 0;
	if (now >= o->until_ns) /* else another lane of the same incident */
		o->pause_ns = 2 * o->pause_ns < LX_PAUSE_MAX_NS ? 2 * o->pause_ns : LX_PAUSE_MAX_NS;
	if (o->pause_ns < min_ns)
		o->pause_ns = min_ns;
	o->until_ns = now + o->pause_ns;
	keep_off_lanes(fp, o);
	return o->pause_ns;
}
