/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What happens to the messages on a lane when the next hop stops accepting data (LX_LANE_STORED).
 *
 * A lane keeps no data: its senders do, who send nothing else meanwhile. So the daemon takes the
 * data over, and its own socket sends it (user/fastpath/store.c). A stream's bytes are stored in
 * their order, from the first one that is not acknowledged: "stored up to here" is all that has to
 * be known of it. Bytes that come earlier, or while the ring is full, are dropped; their sender
 * sends them again.
 */
#ifndef LX_BPF_STORE_H
#define LX_BPF_STORE_H

/* Records for one packet: 512 KiB, larger than any. */
#define LX_STORE_RECORDS 128

/* Sends the daemon the bytes in w->cut, behind @stored. Returns 0, or -1: the ring is full. */
static int lx_stored_emit(const struct lx_stored *stored, __u32 len);

struct lx_storing {
	struct __sk_buff *skb;
	struct lx_scratch *w;
	__u64 pos, end; /* stream positions */
};

static long lx_store_some(__u32 i, void *arg)
{
	struct lx_storing *p = arg;
	struct lx_scratch *w = p->w;
	__u32 at, n;

	(void)i;
	if (!lx_pos_before(p->pos, p->end))
		return 1;
	at = w->data_at + (__u32)(p->pos - w->fragment.pos);
	n = p->end - p->pos < LX_STORED_MAX ? p->end - p->pos : LX_STORED_MAX;
	n = LX_LENGTH(n, LX_STORED_MAX - 1);
	w->stored.pos = w->fragment.target + (p->pos - w->fragment.pos);
	w->stored.lane = w->fragment.lane;
	w->stored.len = n;
	if (bpf_skb_load_bytes(p->skb, at, w->cut, n) || lx_stored_emit(&w->stored, n))
		return 1;
	p->pos += n;
	return 0;
}

/* Called inside the section. */
LX_INLINE void lx_store_entered(struct __sk_buff *skb, struct lx_scratch *w, struct lx_stream *s)
{
	struct lx_storing p = { .skb = skb, .w = w, .end = w->fragment.end };

	p.pos = lx_store_from(s);
	if (lx_pos_before(p.pos, w->fragment.pos))
		return;
	bpf_loop(LX_STORE_RECORDS, lx_store_some, &p, 0);
	if (lx_pos_before(s->stored, p.pos))
		s->stored = p.pos;
}

/**
 * lx_store - store w->fragment, which is for a stored lane
 * @skb: has its payload at w->data_at
 * The caller answers the sender, which has its data still if it could not be stored. (Not done
 * here: the stack is small.)
 */
LX_GLOBAL int lx_store(struct __sk_buff *skb, struct lx_scratch *w, __u32 index)
{
	struct lx_stream *s = lx_stream_at(index);

	if (!w || !s)
		return 0;
	w->dirty = LX_DIRTY_BYTES; /* it may be a clone, without its framing */
	if (lx_patch_fragment(skb, w, s) || !lx_try_enter(&s->storing))
		return 0;
	lx_store_entered(skb, w, s);
	lx_leave(&s->storing);
	return 0;
}

#endif
