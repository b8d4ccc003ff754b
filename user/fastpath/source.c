/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Admission of streams. Each address has a share of them, whatever NIDs it claims. When all
 * are in use, idle ones and those that the programs do not serve are evicted; if messages went by
 * lanes, the flow stays and shifts sequence numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "priv.h"

/* Streams per address, at least one. */
static unsigned int share_of(unsigned int streams)
{
	return streams / LX_SOURCE_SHARE ? streams / LX_SOURCE_SHARE : 1;
}

static struct lx_fp_source *source_obtain(struct lx_fp *fp, const struct lx_nid *address)
{
	struct lx_fp_source *source;

	lx_hash_for_each (source, &fp->sources, lx_nid_hash(address), node) {
		if (lx_nid_eq(&source->address, address))
			return source;
	}
	source = calloc(1, sizeof(*source));
	if (!source)
		return NULL;
	source->address = *address;
	lx_hash_add(&fp->sources, &source->node, lx_nid_hash(address));
	return source;
}

void lx_fp_source_put(struct lx_fp *fp, struct lx_fp_source *source)
{
	if (--source->n_streams)
		return;
	lx_hash_del(&fp->sources, &source->node);
	free(source);
}

/* Detaches a connection from its stream; a later tick frees the entry. */
static void stream_gone(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	struct lx_fp_stream *state = &fp->stream[conn->stream];

	lx_fp_stream_of(conn)->state = LX_STREAM_FREE;
	lx_fp_source_put(fp, state->source);
	*state = (struct lx_fp_stream){ .gone_ns = lx_sock_now() };
	memset(&conn->counted, 0, sizeof(conn->counted));
	conn->stream = -1;
}

void lx_fp_stream_ended(struct lx_fp *fp, struct lx_fp_conn *conn)
{
	if (!conn->no_stream || conn->shift)
		lx_fastpath_flow_del(fp->fastpath, &conn->key);
	if (conn->stream >= 0)
		stream_gone(fp, conn);
}

/* ---- idle streams -------------------------------------------------------------------- */

/*
 * Whether everything received has been acknowledged, to the sender too, and ends with a
 * message. Unframed bytes are all the socket's, so message boundaries do not matter there.
 */
static bool is_settled(const struct lx_stream *s)
{
	return !s->have && s->acked == s->high && s->advertised_ack == s->acked &&
	       !s->cookies_due && !s->fin && (s->unframed || s->parse_next == s->high);
}

/*
 * Lets a settled connection continue without a stream. Its socket has not seen the bytes that
 * went by lanes; with nothing in flight, a constant shift of sequence numbers makes up for them.
 * s->parsing stays locked, so that no program frames it any more.
 */
static bool stream_end(struct lx_fp_conn *conn)
{
	struct lx_stream *s = lx_fp_stream_of(conn);
	uint32_t no = 0;

	if (!__atomic_compare_exchange_n(&s->parsing, &no, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	if (s->state != LX_STREAM_ON || is_settled(s)) {
		conn->shift = s->diverted;
		if (conn->no_stream || !lx_fp_flow_leave(conn))
			return true;
	}
	__atomic_store_n(&s->parsing, 0, __ATOMIC_RELEASE);
	return false;
}

/* Whether the daemon sees no activity; stream_end() checks the programs' part. */
static bool is_idle(const struct lx_fp *fp, unsigned int index, uint64_t now)
{
	const struct lx_fp_stream *state = &fp->stream[index];

	/* Only listed, not served. */
	if (state->conn->no_stream)
		return true;
	return now >= state->busy_ns + LX_IDLE_NS && lx_fp_stream_is_calm(fp, index);
}

/* Evicts idle streams of @source; NULL: of all. */
static void evict(struct lx_fp *fp, const struct lx_fp_source *source, uint64_t now)
{
	lx_fastpath_for_each (i, fp->fastpath, LX_FASTPATH_STREAMS) {
		struct lx_fp_stream *state = &fp->stream[i];
		struct lx_fp_conn *conn = state->conn;

		if (!conn || conn->closing || (source && state->source != source) ||
		    !is_idle(fp, i, now))
			continue;
		lx_fp_count_conn(fp, conn);
		if (stream_end(conn))
			stream_gone(fp, conn);
	}
}

/* ---- taking one, giving it back ------------------------------------------------------ */

static void tell_full(struct lx_fp *fp)
{
	unsigned int missed;

	if (!fp->full &&
	    lx_ratelimit(&fp->full_limit, 0, lx_sock_now(), LX_RATELIMIT_MINUTE, &missed))
		lx_warn("streams=%lld missed=%u reason=\"all of them are in use\" action=\"further "
			"connections are served without the kernel\" next=\"tunable "
			"fastpath_streams\"",
			(long long)lx_sock_offload_streams(), missed);
	fp->full = true;
}

static void tell_share(struct lx_fp *fp, const struct lx_fp_source *source,
		       const struct lx_fp_conn *conn)
{
	unsigned int missed;

	if (lx_ratelimit(&fp->share_limit, lx_nid_hash(&source->address), lx_sock_now(),
			 LX_RATELIMIT_MINUTE, &missed))
		lx_warn("nid=%s address=%s streams=%u reason=\"this host has its share of them\" "
			"action=\"its further connections are served without the kernel\" "
			"next=\"tunable fastpath_streams\"",
			lx_nid_str(&conn->facts.nid), lx_addr_str(&conn->facts.remote),
			source->n_streams - 1);
}

/* Evicts idle streams of @source (NULL: of all), at most every LX_SEARCH_NS. */
static void make_room(struct lx_fp *fp, const struct lx_fp_source *source, uint64_t *evicted_ns)
{
	uint64_t now = lx_sock_now();

	if (now < *evicted_ns + LX_SEARCH_NS)
		return;
	*evicted_ns = now;
	evict(fp, source, now);
}

static int take(struct lx_fp *fp, struct lx_fp_source *source, const struct lx_fp_conn *conn)
{
	unsigned int limit = lx_sock_offload_streams();
	int index;

	if (source->n_streams > share_of(limit))
		make_room(fp, source, &source->evicted_ns);
	if (source->n_streams > share_of(limit)) {
		tell_share(fp, source, conn);
		return -ENOSPC;
	}
	index = lx_fastpath_take(fp->fastpath, LX_FASTPATH_STREAMS, limit);
	if (index == -ENOSPC) {
		make_room(fp, NULL, &fp->evicted_ns); /* for a later request */
		tell_full(fp);
	}
	return index;
}

int lx_fp_stream_take(struct lx_fp *fp, const struct lx_fp_conn *conn,
		      struct lx_fp_source **ret_source)
{
	struct lx_fp_source *source = source_obtain(fp, &conn->facts.address);
	int index;

	if (!source)
		return -ENOMEM;
	source->n_streams++; /* keeps it when its other streams are evicted */
	index = take(fp, source, conn);
	if (index < 0)
		lx_fp_source_put(fp, source);
	*ret_source = source;
	return index;
}
