/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs (bpf/fastpath.bpf.c) and the maps that they share with a
 * transport: streams, lanes, peers and destinations (abi.h).
 *
 * The transport decides what is a stream and what a lane; it reads and writes their
 * fields in mapped memory, each side the fields that are its own. Not for several
 * threads at once.
 */
#ifndef LX_BPF_FASTPATH_H
#define LX_BPF_FASTPATH_H

#include <stdbool.h>

#include <internal/abi.h>
#include <internal/bpf_info.h>

struct lx_bpf;
struct lx_fastpath;

/* Removes what a daemon that crashed has left: it may be a while until they are loaded again. */
void lx_fastpath_clean(struct lx_bpf *bpf);

/**
 * lx_fastpath_new - load the programs
 * @ret_fastpath: set on failure, too, if there is memory; then nothing but
 *	lx_fastpath_free() may be called with it
 *
 * Nothing is taken over from a daemon before: its connections are gone. Returns 0,
 * -ENOMEM, or as lx_bpf_load(), where the reason is kept.
 */
int lx_fastpath_new(struct lx_bpf *bpf, struct lx_fastpath **ret_fastpath);
void lx_fastpath_free(struct lx_fastpath *fastpath);

/**
 * lx_fastpath_attach - attach to an interface that has NIs; idempotent
 *
 * Looks each time whether the interface is fit for it (iface.h). One that is not any more
 * keeps its programs, for what they have begun, and gets no new streams and lanes. Returns
 * 0, -ENOSPC too many, or as lx_iface_check() and lx_bpf_attach(), where the reason is kept.
 */
int lx_fastpath_attach(struct lx_fastpath *fastpath, const char *ifname);
/* Only connections over such interfaces may be streams and lanes. Any thread. */
bool lx_fastpath_is_attached(const struct lx_fastpath *fastpath, unsigned int ifindex);

/*
 * Tables, which grow (table.h): entries are taken, and belong to who has taken them until they
 * are given back.
 */
enum lx_fastpath_table {
	LX_FASTPATH_STREAMS, /* at most LX_STREAMS_MAX; 20 KiB each */
	LX_FASTPATH_LANES,   /* LX_LANES_MAX */
	LX_FASTPATH_PEERS,    /* LX_PEERS_MAX */
	LX_FASTPATH_TABLES
};

/**
 * lx_fastpath_take - take an entry that is free; the lowest one, below @limit
 * Returns its index, -EAGAIN: when the table has grown, -ENOSPC: @limit is reached.
 */
int lx_fastpath_take(struct lx_fastpath *fastpath, enum lx_fastpath_table table,
		     unsigned int limit);
void lx_fastpath_give(struct lx_fastpath *fastpath, enum lx_fastpath_table table,
		     unsigned int index);
/* The first one from @index on that is taken; -1: none. */
int lx_fastpath_next(const struct lx_fastpath *fastpath, enum lx_fastpath_table table,
		     unsigned int index);

unsigned int lx_fastpath_used(const struct lx_fastpath *fastpath, enum lx_fastpath_table table);

/* Entries that are taken; they may be given back meanwhile. @i: int, declared here. */
#define lx_fastpath_for_each(i, fastpath, table)                                                   \
	for (int i = lx_fastpath_next(fastpath, table, 0); i >= 0;                                 \
	     i = lx_fastpath_next(fastpath, table, i + 1))

/* Whether a table has to grow; growing takes some 20 ms: another thread may do it. -errno. */
bool lx_fastpath_is_short(const struct lx_fastpath *fastpath);
int lx_fastpath_grow(struct lx_fastpath *fastpath);

/* By index; any thread. NULL: there is no such entry, or not yet. */
struct lx_stream *lx_fastpath_stream(struct lx_fastpath *fastpath, unsigned int index);
struct lx_lane *lx_fastpath_lane(struct lx_fastpath *fastpath, unsigned int index);
struct lx_fp_peer *lx_fastpath_peer(struct lx_fastpath *fastpath, unsigned int index);

/* How full the tables are, and what memory they take; added to @info. @streams_max: tunable. */
void lx_fastpath_info(struct lx_fastpath *fastpath, unsigned int streams_max,
		      struct lx_bpf_info *info);

/*
 * What is in use, for people; any thread may ask. @ret_list: free() it. Returns 0 or
 * -ENOMEM.
 */
int lx_fastpath_stream_list(struct lx_fastpath *fastpath, struct lx_stream_info **ret_list,
			    size_t *ret_n);
int lx_fastpath_lane_list(struct lx_fastpath *fastpath, struct lx_lane_info **ret_list,
			 size_t *ret_n);

/* Packets of a connection are the programs' from now on; or not any more. -errno. */
int lx_fastpath_flow_add(struct lx_fastpath *fastpath, const struct lx_flow_key *key,
			 enum lx_flow_kind kind, unsigned int index);
void lx_fastpath_flow_del(struct lx_fastpath *fastpath, const struct lx_flow_key *key);

/**
 * lx_fastpath_takeover - have what only the kernel's socket knows filled in
 * @on: streams: first false, then, some milliseconds after the flow was added, true
 * Returns 0, -ENOTCONN no such connection, -EAGAIN bytes are under way, -EOPNOTSUPP
 * the socket is unfit, or another -errno.
 */
int lx_fastpath_takeover(struct lx_fastpath *fastpath, enum lx_flow_kind kind, unsigned int index,
		   bool on);

/* Where messages for a NID go; NULL: forget it. -errno. */
int lx_fastpath_dest_set(struct lx_fastpath *fastpath, const struct lx_nid *nid,
			 const struct lx_dest *dest);

/*
 * Tracing: the programs make an event of each message that they frame. Main thread of
 * the daemon only. Start returns a descriptor that polls readable when there are some,
 * or -errno. Whoever follows the map with bpftool meanwhile gets the events instead.
 */
int lx_fastpath_trace_start(struct lx_fastpath *fastpath);
void lx_fastpath_trace_stop(struct lx_fastpath *fastpath);
/* @fn: with an event, or with NULL and how many were lost. */
void lx_fastpath_trace_read(struct lx_fastpath *fastpath,
			    void (*fn)(const struct lx_trace *t, uint64_t lost, void *arg),
			    void *arg);

/* Has the programs send an ACK to a stream's peer, if there is news. */
void lx_fastpath_poke_ack(struct lx_fastpath *fastpath, unsigned int stream);

/* A descriptor that polls readable when there are records, and reading them. */
int lx_fastpath_fd(const struct lx_fastpath *fastpath);
void lx_fastpath_dispatch(struct lx_fastpath *fastpath,
			  void (*fn)(const struct lx_record *record, void *arg), void *arg);

#endif
