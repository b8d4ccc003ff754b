/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path's programs (bpf/fastpath.bpf.c) and the maps that they share with
 * user/fastpath: streams, lanes, peers and destinations (abi.h).
 *
 * user/fastpath decides which connections are streams and lanes; it reads and writes their
 * fields in mapped memory, where each side owns some of the fields. Not thread-safe unless
 * stated.
 */
#ifndef LX_BPF_FASTPATH_H
#define LX_BPF_FASTPATH_H

#include <stdbool.h>

#include <internal/abi.h>
#include <internal/bpf_info.h>

struct lx_bpf;
struct lx_fastpath;

/* Removes what a crashed daemon left: the programs may not be loaded for a while. */
void lx_fastpath_clean(struct lx_bpf *bpf);

/**
 * lx_fastpath_new - load the programs
 * @ret_fastpath: set on failure, too, unless out of memory; then only
 *	lx_fastpath_free() may be called with it
 *
 * Takes nothing over from an earlier daemon: its connections are gone. Returns 0,
 * -ENOMEM, or an error of lx_bpf_load(), which keeps the reason.
 */
int lx_fastpath_new(struct lx_bpf *bpf, struct lx_fastpath **ret_fastpath);
void lx_fastpath_free(struct lx_fastpath *fastpath);

/* Its loader, and its program for incoming packets: for trials (trial.h). */
struct lx_bpf *lx_fastpath_owner(const struct lx_fastpath *fastpath);
int lx_fastpath_ingress(const struct lx_fastpath *fastpath);

/**
 * lx_fastpath_set_cuts - whether GSO packets are cut (bpf/cut.h) or resegmented; at first the
 * latter
 * @why_not: NULL: cut them; else they are not for this reason, which is logged and kept
 * Returns 0, or -EOPNOTSUPP: it was told why not before.
 */
int lx_fastpath_set_cuts(struct lx_fastpath *fastpath, const char *why_not);

/*
 * Whether lx_fastpath_mend() and lx_fastpath_attach() have something to do: others removed or
 * changed the interfaces of resegment.h, which may be put back now, or IPsec policies or LRO came
 * or went. Not while another thread uses the functions below.
 */
bool lx_fastpath_look(struct lx_fastpath *fastpath);

/**
 * lx_fastpath_mend - put them back, and what was attached to them
 * Returns 0, -EAGAIN not yet, -ECANCELED they were removed too often (removal.h), or another
 * -errno.
 */
int lx_fastpath_mend(struct lx_fastpath *fastpath);

/* As lx_bpf_retry(), for them. */
void lx_fastpath_retry(struct lx_fastpath *fastpath);

/**
 * lx_fastpath_attach - attach to an interface that has NIs; idempotent
 *
 * Checks each time whether the interface is suitable (iface.h). One that no longer is
 * keeps its programs, for existing streams and lanes, but gets no new ones. Returns 0,
 * -ENOSPC too many, -EAGAIN, -ECANCELED, or an error of lx_iface_check() or lx_hooks_attach(),
 * which keeps the reason.
 */
int lx_fastpath_attach(struct lx_fastpath *fastpath, const char *ifname);
/* Only connections over attached interfaces may be streams and lanes. Any thread. */
bool lx_fastpath_is_attached(const struct lx_fastpath *fastpath, unsigned int ifindex);

/*
 * Tables that grow (table.h). The caller owns an entry from lx_fastpath_take() until it
 * returns it.
 */
enum lx_fastpath_table {
	LX_FASTPATH_STREAMS, /* at most LX_STREAMS_MAX; 40 KiB each */
	LX_FASTPATH_LANES,   /* LX_LANES_MAX */
	LX_FASTPATH_PEERS,    /* LX_PEERS_MAX */
	LX_FASTPATH_TABLES
};

/**
 * lx_fastpath_take - take the lowest free entry below @limit
 * Returns its index, -EAGAIN the table has to grow first, -ENOSPC @limit is reached.
 */
int lx_fastpath_take(struct lx_fastpath *fastpath, enum lx_fastpath_table table,
		     unsigned int limit);
void lx_fastpath_give(struct lx_fastpath *fastpath, enum lx_fastpath_table table,
		     unsigned int index);
/* The first entry in use from @index on; -1: none. */
int lx_fastpath_next(const struct lx_fastpath *fastpath, enum lx_fastpath_table table,
		     unsigned int index);

unsigned int lx_fastpath_used(const struct lx_fastpath *fastpath, enum lx_fastpath_table table);

/* Iterates over entries in use; the body may return them. @i: int, declared here. */
#define lx_fastpath_for_each(i, fastpath, table)                                                   \
	for (int i = lx_fastpath_next(fastpath, table, 0); i >= 0;                                 \
	     i = lx_fastpath_next(fastpath, table, i + 1))

/* Whether a table has to grow. Growing takes some 20 ms; another thread may do it. -errno. */
bool lx_fastpath_is_short(const struct lx_fastpath *fastpath);
int lx_fastpath_grow(struct lx_fastpath *fastpath);

/* By index; any thread. NULL: no such entry, or not allocated yet. */
struct lx_stream *lx_fastpath_stream(struct lx_fastpath *fastpath, unsigned int index);
struct lx_lane *lx_fastpath_lane(struct lx_fastpath *fastpath, unsigned int index);
struct lx_fp_peer *lx_fastpath_peer(struct lx_fastpath *fastpath, unsigned int index);

/* Counts, for users, lanes that are stored and bytes of them, and lanes that are stuck. */
void lx_fastpath_count_stored(struct lx_fastpath *fastpath, unsigned int lanes, uint64_t bytes);
void lx_fastpath_count_stuck(struct lx_fastpath *fastpath);

/* Adds the tables' fill levels and memory to @info. @streams_max: the tunable. */
void lx_fastpath_info(struct lx_fastpath *fastpath, unsigned int streams_max,
		      struct lx_bpf_info *info);

/* Adds up info->tx_dropped, by the hooks in @info. */
void lx_fastpath_count_tx_dropped(struct lx_bpf_info *info);

/*
 * Lists entries in use, for users; any thread. @ret_list: free() it. Returns 0 or
 * -ENOMEM.
 */
int lx_fastpath_stream_list(struct lx_fastpath *fastpath, struct lx_stream_info **ret_list,
			    size_t *ret_n);
int lx_fastpath_lane_list(struct lx_fastpath *fastpath, struct lx_lane_info **ret_list,
			 size_t *ret_n);

/* The programs handle the packets of a connection from now on; or no longer. -errno. */
int lx_fastpath_flow_add(struct lx_fastpath *fastpath, const struct lx_flow_key *key,
			 enum lx_flow_kind kind, unsigned int index);
void lx_fastpath_flow_del(struct lx_fastpath *fastpath, const struct lx_flow_key *key);
/*
 * Whether packets of a connection have been seen since lx_fastpath_flow_add(), in both directions
 * and where programs are attached. @ret_ifindex: the interface by which those of its socket leave.
 */
bool lx_fastpath_is_seen(struct lx_fastpath *fastpath, const struct lx_flow_key *key,
			 unsigned int *ret_ifindex);

/*
 * Whether what the programs send on a connection by an interface reaches the peer. They ask for
 * the route without ports, and not with the socket's mark, which rules may look at.
 */
bool lx_fastpath_leads_to(const struct lx_fastpath *fastpath, const struct lx_flow_key *key,
			  unsigned int ifindex);

/*
 * Whether a connection's packets come by another interface than @ifindex, to which its route leads,
 * too, and where programs are: sets @ifindex to it.
 */
bool lx_fastpath_moves(const struct lx_fastpath *fastpath, const struct lx_flow_key *key,
		       uint32_t *ifindex);

/*
 * A socket takes only what the programs have passed to it, from now on; or everything again. Before
 * that, its connection must have had a flow for a moment. -errno
 */
int lx_fastpath_filter(struct lx_fastpath *fastpath, int fd, bool on);

/**
 * lx_fastpath_takeover - fill in what only the kernel's socket knows
 * @on: streams: first false, then, some milliseconds after the flow was added, true
 * Returns 0, -ENOTCONN no such connection, -EAGAIN bytes are in flight, -EOPNOTSUPP
 * the socket is not suitable, or another -errno.
 */
int lx_fastpath_takeover(struct lx_fastpath *fastpath, enum lx_flow_kind kind, unsigned int index,
		   bool on);

/* Sets where messages for a NID go; NULL: remove it. -errno. */
int lx_fastpath_dest_set(struct lx_fastpath *fastpath, const struct lx_nid *nid,
			 const struct lx_dest *dest);

/*
 * Tracing: the programs emit an event for each message they frame. Main thread of
 * the daemon only. Start returns a descriptor that polls readable when there are events,
 * or -errno. bpftool, if it follows the map meanwhile, takes the events away.
 */
int lx_fastpath_trace_start(struct lx_fastpath *fastpath);
void lx_fastpath_trace_stop(struct lx_fastpath *fastpath);
/* @fn: called with an event, or with NULL and the number of events lost. */
void lx_fastpath_trace_read(struct lx_fastpath *fastpath,
			    void (*fn)(const struct lx_trace *t, uint64_t lost, void *arg),
			    void *arg);

/* Makes the programs send an ACK to a stream's peer, if there is news. */
void lx_fastpath_poke_ack(struct lx_fastpath *fastpath, unsigned int stream);
/* Sends the FIN of a lane, or its reset if it is dead, where its next hop waits. */
void lx_fastpath_poke_fin(struct lx_fastpath *fastpath, unsigned int lane);

/* Events of the programs: @arg is the caller's. */
struct lx_fastpath_ops {
	void (*record)(const struct lx_record *record, void *arg);
	/* Bytes for a lane that is stored; valid until it returns. */
	void (*stored)(const struct lx_stored *stored, const void *bytes, void *arg);
};

/* A descriptor that polls readable when there is something, and reading it. */
int lx_fastpath_fd(const struct lx_fastpath *fastpath);
void lx_fastpath_dispatch(struct lx_fastpath *fastpath, const struct lx_fastpath_ops *ops,
			  void *arg);

#endif
