/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "fastpath.skel.h"
#include "hooks.h"

#include "../base/log.h"
#include "../io/netif.h"
#include "../io/netlink.h"
#include "bpf.h"
#include "fastpath.h"
#include "iface.h"
#include "poke.h"
#include "resegment.h"
#include "table.h"

#define NAME "fastpath"
#define INTERFACES 64
/* Why packets are not cut, after a part had wrong headers. */
#define UNTRUE "this kernel does not note anew where the headers of a part are"

/* An interface that has, or should have, the programs. */
struct place {
	unsigned int ifindex;  /* 0: none */
	unsigned int attached; /* the same, or 0; written by one thread, read by others */
	bool has_lro;	       /* when it was last judged */
};

struct lx_fastpath {
	struct lx_bpf *bpf;
	struct fastpath_bpf *skeleton;
	struct lx_bpf_set *set;
	bool loaded;
	struct lx_table table[LX_FASTPATH_TABLES];
	uint32_t n_flows, n_dests; /* added and not removed */
	uint64_t stores, stored_bytes, stuck; /* counters */
	struct ring_buffer *ring;
	const struct lx_fastpath_ops *ops; /* while dispatching */
	void *arg;
	struct lx_settings *settings; /* the map */
	struct lx_removals pair_removed; /* the interfaces of resegment.h */
	bool pair_missing;
	bool has_ipsec; /* when interfaces were last attached */
	struct mnl_socket *links; /* tells of interfaces that change; NULL: they may at any time */
	bool links_changed; /* since LRO was found to be as it was last judged */
	char no_cuts[LX_BPF_TEXT]; /* why GSO packets are resegmented, not cut; "": they are cut */
	struct perf_buffer *trace; /* NULL: no trace is on */
	void (*trace_fn)(const struct lx_trace *t, uint64_t lost, void *arg); /* while reading */
	void *trace_arg;
	struct place place[INTERFACES];
};

/* Why packets are not cut, "" if they are. */
static const char *why_no_cuts(const struct lx_fastpath *f)
{
	bool untrue = f->settings && __atomic_load_n(&f->settings->untrue, __ATOMIC_RELAXED);

	return untrue ? UNTRUE : f->no_cuts;
}

/* ---- tables that grow ---------------------------------------------------------------- */

static const struct lx_table tables[] = {
	[LX_FASTPATH_STREAMS] = { .type = "lx_stream", .each = sizeof(struct lx_stream),
				 .block = LX_STREAM_BLOCK, .max = LX_STREAMS_MAX },
	[LX_FASTPATH_LANES] = { .type = "lx_lane", .each = sizeof(struct lx_lane),
			       .block = LX_LANE_BLOCK, .max = LX_LANES_MAX },
	[LX_FASTPATH_PEERS] = { .type = "lx_fp_peer", .each = sizeof(struct lx_fp_peer),
			      .block = LX_PEER_BLOCK, .max = LX_PEERS_MAX },
};

static int tables_init(struct lx_fastpath *f)
{
	int r = 0;

	for (int i = 0; i < LX_FASTPATH_TABLES && !r; i++) {
		f->table[i] = tables[i];
		r = lx_table_init(&f->table[i]);
	}
	return r;
}

static int table_grow(struct lx_fastpath *f, enum lx_fastpath_table table)
{
	const struct bpf_map *map[] = {
		[LX_FASTPATH_STREAMS] = f->skeleton->maps.streams,
		[LX_FASTPATH_LANES] = f->skeleton->maps.lanes,
		[LX_FASTPATH_PEERS] = f->skeleton->maps.peers,
	};

	return lx_table_grow(&f->table[table], map[table], f->set);
}

/* Allocates the first blocks. */
static int tables_start(struct lx_fastpath *f)
{
	int r = 0;

	for (int i = 0; i < LX_FASTPATH_TABLES && !r; i++)
		r = table_grow(f, i);
	return r;
}

bool lx_fastpath_is_short(const struct lx_fastpath *f)
{
	bool is_short = false;

	for (int i = 0; i < LX_FASTPATH_TABLES; i++)
		is_short |= __atomic_load_n(&f->table[i].is_short, __ATOMIC_RELAXED);
	return is_short;
}

int lx_fastpath_grow(struct lx_fastpath *f)
{
	int r = 0;

	for (int i = 0; i < LX_FASTPATH_TABLES && !r; i++) {
		/* If one block is not enough, the next lx_table_take() sets this again. */
		if (__atomic_exchange_n(&f->table[i].is_short, false, __ATOMIC_RELAXED))
			r = table_grow(f, i);
	}
	return r;
}

int lx_fastpath_take(struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int limit)
{
	return lx_table_take(&f->table[table], limit);
}

void lx_fastpath_give(struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int index)
{
	lx_table_give(&f->table[table], index);
}

int lx_fastpath_next(const struct lx_fastpath *f, enum lx_fastpath_table table, unsigned int index)
{
	return lx_table_next(&f->table[table], index);
}

unsigned int lx_fastpath_used(const struct lx_fastpath *f, enum lx_fastpath_table table)
{
	return __atomic_load_n(&f->table[table].n_used, __ATOMIC_RELAXED);
}

void lx_fastpath_info(struct lx_fastpath *f, unsigned int streams_max, struct lx_bpf_info *info)
{
	static const char *const name[] = { "streams", "lanes", "peers" };

	snprintf(info->resegments, sizeof(info->resegments), "%s", why_no_cuts(f));
	info->stores = __atomic_load_n(&f->stores, __ATOMIC_RELAXED);
	info->stored_bytes = __atomic_load_n(&f->stored_bytes, __ATOMIC_RELAXED);
	info->stuck = __atomic_load_n(&f->stuck, __ATOMIC_RELAXED);
	if (f->settings)
		info->unpassed = __atomic_load_n(&f->settings->unpassed, __ATOMIC_RELAXED);
	for (int i = 0; i < LX_FASTPATH_TABLES; i++) {
		const struct lx_table *t = &f->table[i];

		info->table[info->n_tables++] = (struct lx_bpf_table_info){
			.name = name[i], .used = __atomic_load_n(&t->n_used, __ATOMIC_RELAXED),
			.max = i == LX_FASTPATH_STREAMS ? streams_max : t->max,
			.ready = __atomic_load_n(&t->n, __ATOMIC_ACQUIRE),
			.memory = lx_table_memory(t),
		};
		info->memory += lx_table_memory(t);
	}
	info->table[info->n_tables++] = (struct lx_bpf_table_info){
		.name = "flows", .max = LX_FLOWS_MAX,
		.used = __atomic_load_n(&f->n_flows, __ATOMIC_RELAXED),
	};
	info->table[info->n_tables++] = (struct lx_bpf_table_info){
		.name = "dests", .max = LX_DESTS_MAX,
		.used = __atomic_load_n(&f->n_dests, __ATOMIC_RELAXED),
	};
}

void lx_fastpath_count_stored(struct lx_fastpath *f, unsigned int lanes, uint64_t bytes)
{
	__atomic_fetch_add(&f->stores, lanes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&f->stored_bytes, bytes, __ATOMIC_RELAXED);
}

void lx_fastpath_count_stuck(struct lx_fastpath *f)
{
	__atomic_fetch_add(&f->stuck, 1, __ATOMIC_RELAXED);
}

struct lx_stream *lx_fastpath_stream(struct lx_fastpath *f, unsigned int index)
{
	return lx_table_at(&f->table[LX_FASTPATH_STREAMS], index);
}

struct lx_lane *lx_fastpath_lane(struct lx_fastpath *f, unsigned int index)
{
	return lx_table_at(&f->table[LX_FASTPATH_LANES], index);
}

struct lx_fp_peer *lx_fastpath_peer(struct lx_fastpath *f, unsigned int index)
{
	return lx_table_at(&f->table[LX_FASTPATH_PEERS], index);
}

/* ---- life ---------------------------------------------------------------------------- */

static int on_record(void *arg, void *data, size_t size)
{
	struct lx_fastpath *f = arg;

	if (size >= sizeof(struct lx_record))
		f->ops->record(data, f->arg);
	return 0;
}

static int on_stored(void *arg, void *data, size_t size)
{
	struct lx_fastpath *f = arg;
	const struct lx_stored *stored = data;

	if (size >= sizeof(*stored) && size - sizeof(*stored) >= stored->len)
		f->ops->stored(stored, stored + 1, f->arg);
	return 0;
}

static int settings_map(struct lx_fastpath *f)
{
	void *at = mmap(NULL, sizeof(*f->settings), PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(f->skeleton->maps.settings), 0);

	if (at == MAP_FAILED)
		return -errno;
	f->settings = at;
	return 0;
}

int lx_fastpath_set_cuts(struct lx_fastpath *f, const char *why_not)
{
	if (!why_not && f->no_cuts[0])
		return -EOPNOTSUPP;
	f->settings->cuts = !why_not;
	if (!why_not)
		return 0;
	snprintf(f->no_cuts, sizeof(f->no_cuts), "%s", why_not);
	lx_warn("bpf=fastpath cuts=off reason=\"%s\" action=\"resegments packets with messages for "
		"several next hops, which takes longer\"", why_no_cuts(f));
	return 0;
}

static void no_macvlan(struct lx_fastpath *f, int err)
{
	char why[LX_BPF_TEXT];

	snprintf(why, sizeof(why), "no macvlan interface can be created: %s", strerror(-err));
	lx_fastpath_set_cuts(f, why);
}

/* To the interfaces that take GSO packets apart. */
static int resegment_attach(struct lx_fastpath *f)
{
	struct lx_resegment pair = lx_resegment_names(lx_bpf_instance(f->bpf));
	bool no_cut = f->settings->part_ifindex == f->settings->resegment_ifindex;
	int r;

	r = lx_hooks_attach(f->set, f->skeleton->progs.lnetx_ingress, pair.out, LX_BPF_HOOK_INGRESS,
			    0);
	if (!r)
		r = lx_hooks_attach(f->set, f->skeleton->progs.lnetx_cut, pair.out,
				    LX_BPF_HOOK_EGRESS, 0);
	if (!r)
		r = lx_hooks_attach(f->set, f->skeleton->progs.lnetx_part,
				    no_cut ? pair.in : pair.cut, LX_BPF_HOOK_EGRESS, 0);
	if (!r)
		r = lx_hooks_attach(f->set, f->skeleton->progs.lnetx_join, pair.in,
				    LX_BPF_HOOK_INGRESS, 0);
	return r;
}

/* Without the pair GSO packets that need it are dropped. */
static int resegment_start(struct lx_fastpath *f)
{
	struct lx_resegment pair;
	int r = lx_resegment_add(lx_bpf_instance(f->bpf), &pair);

	if (r)
		return r;
	f->settings->resegment_ifindex = lx_netif_index(pair.in);
	f->settings->join_ifindex = lx_netif_index(pair.out);
	f->settings->part_ifindex = lx_netif_index(pair.no_cut ? pair.in : pair.cut);
	r = resegment_attach(f);
	if (!r && pair.no_cut && !f->no_cuts[0])
		no_macvlan(f, pair.no_cut);
	return r;
}

/* ---- what others remove -------------------------------------------------------------- */

static bool pair_holds(const struct lx_fastpath *f)
{
	struct lx_resegment pair = lx_resegment_names(lx_bpf_instance(f->bpf));

	return lx_netif_index(pair.in) == f->settings->resegment_ifindex &&
	       lx_netif_index(pair.out) == f->settings->join_ifindex &&
	       lx_resegment_holds(lx_bpf_instance(f->bpf));
}

static bool has_lro(const struct place *place)
{
	char ifname[IFNAMSIZ], card[IFNAMSIZ];

	return place->ifindex && !lx_netif_name(place->ifindex, ifname) &&
	       lx_netif_has_lro(ifname, card);
}

static bool lro_changed(const struct lx_fastpath *f)
{
	bool changed = false;

	for (unsigned int i = 0; i < INTERFACES; i++)
		changed |= has_lro(&f->place[i]) != f->place[i].has_lro;
	return changed;
}

/* Asking each interface costs more than the rest of a look. ENOBUFS: messages were lost. */
static bool links_changed(const struct lx_fastpath *f)
{
	bool changed = !f->links;
	char buf[8192];

	while (f->links &&
	       (mnl_socket_recvfrom(f->links, buf, sizeof(buf)) > 0 || errno == ENOBUFS))
		changed = true;
	return changed;
}

bool lx_fastpath_look(struct lx_fastpath *f)
{
	f->links_changed |= links_changed(f);
	f->links_changed = f->links_changed && lro_changed(f);
	return lx_iface_has_ipsec() != f->has_ipsec || f->links_changed ||
	       (!pair_holds(f) && (!f->pair_missing ||
				   lx_removal_due(&f->pair_removed, lx_clock_ns(CLOCK_MONOTONIC))));
}

int lx_fastpath_mend(struct lx_fastpath *f)
{
	int r;

	/* What lx_iface_check() finds now. */
	f->has_ipsec = lx_iface_has_ipsec();
	for (unsigned int i = 0; i < INTERFACES; i++)
		f->place[i].has_lro = has_lro(&f->place[i]);
	if (pair_holds(f))
		return resegment_attach(f);
	if (!f->pair_missing)
		lx_hooks_removed(f->set, &f->pair_removed,
				 lx_resegment_names(lx_bpf_instance(f->bpf)).in);
	f->pair_missing = true;
	r = lx_removal_may_return(&f->pair_removed, lx_clock_ns(CLOCK_MONOTONIC));
	if (!r)
		r = resegment_start(f);
	f->pair_missing = r;
	return r;
}

void lx_fastpath_retry(struct lx_fastpath *f)
{
	f->pair_removed = (struct lx_removals){ 0 };
}

static int start(struct lx_fastpath *f)
{
	int r = settings_map(f);

	if (!r)
		r = tables_start(f);
	if (r)
		return r;
	f->ring = ring_buffer__new(bpf_map__fd(f->skeleton->maps.records), on_record, f, NULL);
	if (!f->ring ||
	    ring_buffer__add(f->ring, bpf_map__fd(f->skeleton->maps.stored), on_stored, f))
		return -errno;
	(void)lx_netlink_open(NETLINK_ROUTE, SOCK_NONBLOCK, RTMGRP_LINK, &f->links);
	return resegment_start(f);
}

void lx_fastpath_clean(struct lx_bpf *bpf)
{
	lx_bpf_clean(bpf, NAME);
	lx_resegment_del(lx_bpf_instance(bpf));
}

static struct bpf_object_skeleton *open_skeleton(void *owner)
{
	struct lx_fastpath *f = owner;

	f->skeleton = fastpath_bpf__open();
	return f->skeleton ? f->skeleton->skeleton : NULL;
}

int lx_fastpath_new(struct lx_bpf *bpf, struct lx_fastpath **ret_fastpath)
{
	const struct lx_bpf_want want = {
		.name = NAME,
		.need = LX_BPF_NEED(LOAD) | LX_BPF_NEED(BTF) | LX_BPF_NEED(ATOMICS) |
			LX_BPF_NEED(TC) | LX_BPF_NEED(RINGBUF) | LX_BPF_NEED(LOOP) |
			LX_BPF_NEED(SKC_LOOKUP),
		/* Not kept: its connections have gone with their daemon. */
		.abi = { .magic = LX_ABI_MAGIC,
			 .version = LX_ABI_VERSION,
			 .streams_max = LX_STREAMS_MAX,
			 .lanes_max = LX_LANES_MAX,
			 .peers_max = LX_PEERS_MAX },
		.otherwise = "lnetxd forwards all messages itself",
		.hold = "lnetx_hold",
		.open = open_skeleton,
	};
	struct lx_fastpath *f = calloc(1, sizeof(*f));
	int r;

	*ret_fastpath = f;
	if (!f)
		return -ENOMEM;
	f->bpf = bpf;
	if (tables_init(f))
		return -ENOMEM;
	r = lx_bpf_load(bpf, &want, f, &f->set);
	f->loaded = !r;
	if (r)
		return r;
	r = start(f);
	if (r)
		lx_warn("bpf=fastpath reason=\"%s\" action=\"lnetxd forwards all messages itself\"",
			strerror(-r));
	return r;
}

struct lx_bpf *lx_fastpath_owner(const struct lx_fastpath *f)
{
	return f->bpf;
}

int lx_fastpath_ingress(const struct lx_fastpath *f)
{
	return bpf_program__fd(f->skeleton->progs.lnetx_ingress);
}

void lx_fastpath_free(struct lx_fastpath *f)
{
	if (!f)
		return;
	for (int i = 0; i < LX_FASTPATH_TABLES; i++)
		lx_table_fini(&f->table[i]);
	ring_buffer__free(f->ring);
	perf_buffer__free(f->trace);
	if (f->settings)
		munmap(f->settings, sizeof(*f->settings));
	lx_bpf_unload(f->set, false);
	lx_resegment_del(lx_bpf_instance(f->bpf));
	if (f->links)
		mnl_socket_close(f->links);
	fastpath_bpf__destroy(f->skeleton);
	free(f);
}

bool lx_fastpath_is_attached(const struct lx_fastpath *f, unsigned int ifindex)
{
	for (unsigned int i = 0; i < INTERFACES; i++) {
		if (__atomic_load_n(&f->place[i].attached, __ATOMIC_ACQUIRE) == ifindex)
			return ifindex;
	}
	return false;
}

/* The place of an interface; for 0 a free place; or NULL. */
static struct place *place_of(struct lx_fastpath *f, unsigned int ifindex)
{
	for (unsigned int i = 0; i < INTERFACES; i++) {
		if (f->place[i].ifindex == ifindex)
			return &f->place[i];
	}
	return NULL;
}

/* rp_filter: if one of the interfaces is strict, treat all of them so. */
static void set_strict(struct lx_fastpath *f)
{
	uint32_t strict = 0;

	for (unsigned int i = 0; i < INTERFACES; i++) {
		char ifname[IFNAMSIZ];

		if (f->place[i].attached && !lx_netif_name(f->place[i].attached, ifname))
			strict |= lx_netif_conf(ifname, "rp_filter") == 1; /* 2 is loose */
	}
	__atomic_store_n(&f->settings->strict, strict, __ATOMIC_RELAXED);
}

/* Interfaces that have been deleted; one that was created again has a new index. */
static void forget_deleted(struct lx_fastpath *f)
{
	for (unsigned int i = 0; i < INTERFACES; i++) {
		char ifname[IFNAMSIZ];

		if (!f->place[i].ifindex ||
		    lx_netif_name(f->place[i].ifindex, ifname) != -ENODEV)
			continue;
		f->place[i].ifindex = 0;
		__atomic_store_n(&f->place[i].attached, 0, __ATOMIC_RELEASE);
	}
}

/* @has_place: whether there may be one more interface. */
static int attach(struct lx_fastpath *f, const char *ifname, bool has_place)
{
	const struct bpf_program *ingress = f->skeleton->progs.lnetx_ingress;
	char reason[LX_BPF_TEXT] = "too many interfaces have programs";
	int r = has_place ? lx_iface_check(ifname, reason, sizeof(reason)) : -ENOSPC;

	if (r)
		return lx_hooks_refuse(f->set, ingress, ifname, LX_BPF_HOOK_INGRESS, r, reason);
	r = lx_hooks_attach(f->set, ingress, ifname, LX_BPF_HOOK_INGRESS, 0);
	return r ? r
		 : lx_hooks_attach(f->set, f->skeleton->progs.lnetx_egress, ifname,
				   LX_BPF_HOOK_EGRESS, 0);
}

int lx_fastpath_attach(struct lx_fastpath *f, const char *ifname)
{
	unsigned int ifindex = lx_netif_index(ifname);
	struct place *place;
	int r;

	forget_deleted(f);
	place = place_of(f, ifindex);
	if (!place)
		place = place_of(f, 0);
	if (place) {
		place->ifindex = ifindex;
		place->has_lro = has_lro(place);
	}
	r = attach(f, ifname, place);
	/* If it fails, programs stay for connections that use them; no new ones are added. */
	if (place)
		__atomic_store_n(&place->attached, r ? 0 : ifindex, __ATOMIC_RELEASE);
	set_strict(f);
	return r;
}

/* ---- who is what --------------------------------------------------------------------------- */

/* Adds or changes an element. Counts new ones. Returns 0 or -errno. */
static int map_set(const struct bpf_map *map, const void *key, size_t key_len, const void *value,
		   size_t value_len, uint32_t *count)
{
	int r = bpf_map__update_elem(map, key, key_len, value, value_len, BPF_NOEXIST);

	if (!r)
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	return r == -EEXIST ? bpf_map__update_elem(map, key, key_len, value, value_len, BPF_EXIST)
			    : r;
}

int lx_fastpath_flow_add(struct lx_fastpath *f, const struct lx_flow_key *key,
			enum lx_flow_kind kind, unsigned int index)
{
	struct lx_flow flow = { .kind = kind, .index = index };

	return map_set(f->skeleton->maps.flows, key, sizeof(*key), &flow, sizeof(flow),
		       &f->n_flows);
}

void lx_fastpath_flow_del(struct lx_fastpath *f, const struct lx_flow_key *key)
{
	/* A program may have removed it, if its ports were reused. */
	bpf_map__delete_elem(f->skeleton->maps.flows, key, sizeof(*key), 0);
	__atomic_fetch_sub(&f->n_flows, 1, __ATOMIC_RELAXED);
}

static bool flow_get(const struct lx_fastpath *f, const struct lx_flow_key *key,
		     struct lx_flow *ret_flow)
{
	return !bpf_map__lookup_elem(f->skeleton->maps.flows, key, sizeof(*key), ret_flow,
				     sizeof(*ret_flow), 0);
}

bool lx_fastpath_is_seen(struct lx_fastpath *f, const struct lx_flow_key *key,
			 unsigned int *ret_ifindex)
{
	struct lx_flow flow;

	if (!flow_get(f, key, &flow) || !lx_fastpath_is_attached(f, flow.in) ||
	    !lx_fastpath_is_attached(f, flow.out) || (f->settings->strict && flow.in != flow.out))
		return false;
	*ret_ifindex = flow.out;
	return true;
}

bool lx_fastpath_leads_to(const struct lx_fastpath *f, const struct lx_flow_key *key,
			  unsigned int ifindex)
{
	union lx_addr local, remote;

	lx_addr_unmap(&local, key->local, 0);
	lx_addr_unmap(&remote, key->remote, 0);
	return lx_netif_leads_to(ifindex, &local, &remote, LX_MARK | LX_MARK_DONE);
}

bool lx_fastpath_moves(const struct lx_fastpath *f, const struct lx_flow_key *key,
		       uint32_t *ifindex)
{
	struct lx_flow flow;

	if (!flow_get(f, key, &flow) || flow.in == *ifindex ||
	    !lx_fastpath_is_attached(f, flow.in) || !lx_fastpath_leads_to(f, key, flow.in))
		return false;
	*ifindex = flow.in;
	return true;
}

int lx_fastpath_dest_set(struct lx_fastpath *f, const struct lx_nid *nid,
			 const struct lx_dest *dest)
{
	const struct bpf_map *map = f->skeleton->maps.dests;
	int r;

	if (dest)
		return map_set(map, nid, sizeof(*nid), dest, sizeof(*dest), &f->n_dests);
	r = bpf_map__delete_elem(map, nid, sizeof(*nid), 0);
	if (!r)
		__atomic_fetch_sub(&f->n_dests, 1, __ATOMIC_RELAXED);
	return r;
}

int lx_fastpath_filter(struct lx_fastpath *f, int fd, bool on)
{
	int program = bpf_program__fd(f->skeleton->progs.lnetx_passed);

	return setsockopt(fd, SOL_SOCKET, on ? SO_ATTACH_BPF : SO_DETACH_BPF, &program,
			  sizeof(program))
		       ? -errno
		       : 0;
}

/* ---- asking the kernel -------------------------------------------------------------------- */

int lx_fastpath_takeover(struct lx_fastpath *f, enum lx_flow_kind kind, unsigned int index, bool on)
{
	/* A program of this type runs on a packet: the packet contains the request. */
	struct {
		uint8_t ethernet[14];
		struct lx_takeover takeover;
	} __attribute__((packed))
	packet = { .takeover = { .kind = kind, .index = index, .on = on } };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &packet, .data_size_in = sizeof(packet));
	int r = bpf_prog_test_run_opts(bpf_program__fd(f->skeleton->progs.lnetx_takeover), &opts);

	if (r)
		return -errno;
	switch (opts.retval) {
	case LX_TAKEOVER_OK:
		return 0;
	case LX_TAKEOVER_BUSY:
		return -EAGAIN;
	case LX_TAKEOVER_UNFIT:
		return -EOPNOTSUPP;
	}
	return -ENOTCONN;
}

/* ---- poking the programs ---------------------------------------------------------- */

void lx_fastpath_poke_ack(struct lx_fastpath *f, unsigned int stream)
{
	const struct lx_stream *s = lx_fastpath_stream(f, stream);

	if (s && s->state == LX_STREAM_ON)
		lx_poke(bpf_program__fd(f->skeleton->progs.lnetx_takeover), LX_MARK_TELL | stream,
			s->family, &s->key);
}

void lx_fastpath_poke_fin(struct lx_fastpath *f, unsigned int index)
{
	const struct lx_lane *lane = lx_fastpath_lane(f, index);

	lx_poke(bpf_program__fd(f->skeleton->progs.lnetx_takeover), LX_MARK_FIN, lane->family,
		&lane->key);
}

/* ---- records ----------------------------------------------------------------------------- */

int lx_fastpath_fd(const struct lx_fastpath *f)
{
	return ring_buffer__epoll_fd(f->ring);
}

void lx_fastpath_dispatch(struct lx_fastpath *f, const struct lx_fastpath_ops *ops, void *arg)
{
	f->ops = ops;
	f->arg = arg;
	ring_buffer__consume(f->ring);
}

/* ---- tracing ----------------------------------------------------------------------------- */

#define TRACE_PAGES 64 /* per CPU, while tracing */

static void on_trace(void *arg, int cpu, void *data, uint32_t size)
{
	struct lx_fastpath *f = arg;
	struct lx_trace t;

	if (size < sizeof(t))
		return;
	memcpy(&t, data, sizeof(t)); /* unaligned: follows a length of 4 bytes */
	f->trace_fn(&t, 0, f->trace_arg);
}

static void on_trace_lost(void *arg, int cpu, unsigned long long lost)
{
	struct lx_fastpath *f = arg;

	f->trace_fn(NULL, lost, f->trace_arg);
}

int lx_fastpath_trace_start(struct lx_fastpath *f)
{
	f->trace = perf_buffer__new(bpf_map__fd(f->skeleton->maps.trace), TRACE_PAGES, on_trace,
				    on_trace_lost, f, NULL);
	if (!f->trace)
		return -errno;
	__atomic_store_n(&f->settings->trace, 1, __ATOMIC_RELAXED);
	return perf_buffer__epoll_fd(f->trace);
}

void lx_fastpath_trace_stop(struct lx_fastpath *f)
{
	__atomic_store_n(&f->settings->trace, 0, __ATOMIC_RELAXED);
	perf_buffer__free(f->trace);
	f->trace = NULL;
}

void lx_fastpath_trace_read(struct lx_fastpath *f,
			    void (*fn)(const struct lx_trace *t, uint64_t lost, void *arg),
			    void *arg)
{
	f->trace_fn = fn;
	f->trace_arg = arg;
	perf_buffer__consume(f->trace);
}
