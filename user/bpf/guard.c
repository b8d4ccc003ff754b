/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Owns the guard's set; all access to its maps is here. Called by
 * user/daemon when NIs come and go, and for clients' requests.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../base/array.h"
#include "guard.skel.h"
#include "hooks.h"

#include "../base/clock.h"
#include "../base/log.h"
#include "../io/netif.h"
#include "bpf.h"
#include "guard.h"
#include "iface.h"

struct lx_guard {
	struct lx_bpf *bpf;
	pthread_mutex_t lock; /* protects everything below */
	struct guard_bpf *skeleton; /* NULL: not opened */
	struct lx_bpf_set *set;
	bool loaded;
	struct lx_guard_config config; /* as in the map */
	size_t n_prefixes;
	struct lx_guard_ni *ni; /* NIs to guard */
	size_t n_nis;
	unsigned int attached;
};

/* ---- texts ------------------------------------------------------------------------- */

int lx_guard_addr(const struct lx_nid *nid, uint8_t ret_addr[16])
{
	union lx_addr addr;

	if (nid->type != LX_NET_TCP)
		return -EAFNOSUPPORT;
	lx_addr_of_nid(&addr, nid, 0);
	lx_addr_map(&addr, ret_addr);
	return 0;
}

/* A prefix of a mapped address has all the bits that map it. */
const char *lx_guard_format(const struct lx_guard_prefix *prefix, char *buf)
{
	char host[INET6_ADDRSTRLEN];
	union lx_addr addr;

	lx_addr_unmap(&addr, prefix->addr, 0);
	snprintf(buf, LX_GUARD_PREFIX_TEXT, "%s/%u", lx_addr_host(&addr, host, sizeof(host)),
		 prefix->bits - (addr.sa.sa_family == AF_INET ? 96 : 0));
	return buf;
}

/* ---- life -------------------------------------------------------------------------- */

static int write_config(struct lx_guard *g)
{
	uint32_t zero = 0;

	return bpf_map__update_elem(g->skeleton->maps.config, &zero, sizeof(zero), &g->config,
				    sizeof(g->config), BPF_ANY);
}

/* Counts a map's elements by walking it; a concurrent change may restart the walk. */
static size_t count(const struct bpf_map *map)
{
	size_t most = bpf_map__max_entries(map);
	char key[64];
	size_t n = 0;
	void *last = NULL;

	while (n < most && !bpf_map__get_next_key(map, last, key, bpf_map__key_size(map))) {
		last = key;
		n++;
	}
	return n;
}

static void forget_listeners(struct lx_guard *g)
{
	const struct bpf_map *map = g->skeleton->maps.listeners;
	struct lx_guard_listener key;

	while (!bpf_map__get_next_key(map, NULL, &key, sizeof(key)))
		bpf_map__delete_elem(map, &key, sizeof(key), 0);
}

/* Takes over from an earlier daemon: keeps its rules, but not its listeners. */
static void take_over(struct lx_guard *g)
{
	uint32_t zero = 0;

	if (!lx_bpf_taken_over(g->set))
		return;
	bpf_map__lookup_elem(g->skeleton->maps.config, &zero, sizeof(zero), &g->config,
			     sizeof(g->config), 0);
	g->config.bans = count(g->skeleton->maps.bans);
	g->n_prefixes = count(g->skeleton->maps.prefixes);
	forget_listeners(g);
	lx_info("guard=\"taken over\" bans=%llu prefixes=%zu rate=%llu",
		(unsigned long long)g->config.bans, g->n_prefixes,
		(unsigned long long)(g->config.interval_ns ? LX_S_NS / g->config.interval_ns : 0));
}

static struct bpf_object_skeleton *open_skeleton(void *owner)
{
	struct lx_guard *g = owner;

	g->skeleton = guard_bpf__open();
	if (!g->skeleton)
		return NULL;
	/* Without it the program sees linear frames only, which is enough. */
	if (!lx_bpf_has(g->bpf, LX_BPF_XDP_FRAGS))
		bpf_program__set_flags(g->skeleton->progs.lnetx_guard, 0);
	return g->skeleton->skeleton;
}

int lx_guard_new(struct lx_bpf *bpf, struct lx_guard **ret_guard)
{
	static const struct lx_bpf_want want = {
		.name = "guard",
		.need = LX_BPF_NEED(LOAD) | LX_BPF_NEED(ATOMICS) | LX_BPF_NEED(XDP) |
			LX_BPF_NEED(TC) | LX_BPF_NEED(LPM_TRIE) | LX_BPF_NEED(LRU_HASH),
		.keep = true,
		.abi = { .magic = LX_GUARD_MAGIC, .version = LX_GUARD_VERSION },
		.otherwise = "the acceptor alone refuses strangers; no bans, prefixes and rates",
		.open = open_skeleton,
	};
	struct lx_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->bpf = bpf;
	pthread_mutex_init(&g->lock, NULL);
	g->loaded = !lx_bpf_load(bpf, &want, g, &g->set);
	if (!g->set) {
		lx_guard_free(g);
		return -ENOMEM;
	}
	if (g->loaded)
		take_over(g);
	*ret_guard = g;
	return 0;
}

static bool has_rules(const struct lx_guard *g)
{
	return g->config.bans || g->n_prefixes || g->config.interval_ns;
}

void lx_guard_free(struct lx_guard *g)
{
	if (!g)
		return;
	if (g->loaded && has_rules(g))
		lx_info("guard=\"left pinned\" bans=%llu prefixes=%zu "
			"action=\"taken over at the next start\"",
			(unsigned long long)g->config.bans, g->n_prefixes);
	lx_bpf_unload(g->set, has_rules(g));
	guard_bpf__destroy(g->skeleton);
	pthread_mutex_destroy(&g->lock);
	free(g->ni);
	free(g);
}

/* ---- attachment -------------------------------------------------------------------- */

static bool is_wanted(const struct lx_hook *h, void *arg)
{
	const struct lx_guard *g = arg;

	for (size_t i = 0; h->program && i < g->n_nis; i++) {
		if (!strcmp(g->ni[i].ifname, h->ifname))
			return true;
	}
	return false;
}

/*
 * With these drivers XDP costs all packets: large ones do not pass any more (with veth
 * the other side does not even send them).
 */
static bool is_costly(const char *ifname)
{
	static const char *const costly[] = { "veth", "virtio_net", "tun" };
	char driver[32];

	if (lx_netif_driver(ifname, driver, sizeof(driver)))
		return false;
	for (size_t i = 0; i < LX_ARRAY_LEN(costly); i++) {
		if (!strcmp(driver, costly[i]))
			return true;
	}
	return false;
}

static int attach_xdp(struct lx_guard *g, const char *ifname, unsigned int flags)
{
	return lx_hooks_attach(g->set, g->skeleton->progs.lnetx_guard, ifname, LX_BPF_HOOK_XDP,
			       flags);
}

static int attach(struct lx_guard *g, const char *ifname)
{
	const struct bpf_program *tc = g->skeleton->progs.lnetx_guard_tc;
	char reason[LX_BPF_TEXT];
	int err = lx_iface_carries(ifname, reason, sizeof(reason));

	if (err)
		return lx_hooks_refuse(g->set, tc, ifname, LX_BPF_HOOK_INGRESS, err, reason);
	switch (g->config.mode) {
	case LX_GUARD_NATIVE:
		return attach_xdp(g, ifname, LX_BPF_NATIVE);
	case LX_GUARD_GENERIC:
		return attach_xdp(g, ifname, LX_BPF_GENERIC);
	case LX_GUARD_AUTO:
		err = is_costly(ifname) ? -EOPNOTSUPP
					: attach_xdp(g, ifname, LX_BPF_NATIVE | LX_BPF_TRY);
		/* If others removed it, it will be back, or they do not want it. */
		if (!err || err == -EAGAIN || err == -ECANCELED)
			return err;
	}
	return lx_hooks_attach(g->set, tc, ifname, LX_BPF_HOOK_INGRESS, LX_BPF_FIRST);
}

/* Attaches it to the NIs' interfaces, or to none if it has nothing to do. Lock held. */
static void settle(struct lx_guard *g)
{
	bool active = g->config.secure || has_rules(g);

	g->attached = 0;
	for (size_t i = 0; active && i < g->n_nis; i++)
		g->attached += !attach(g, g->ni[i].ifname);
	lx_hooks_detach(g->set, active ? is_wanted : NULL, g);
}

static bool is_listener(const struct lx_guard_ni *ni, size_t n, const uint8_t addr[16],
			uint16_t port)
{
	for (size_t i = 0; i < n; i++) {
		if (!memcmp(ni[i].addr, addr, 16) &&
		    (ni[i].port == port || ni[i].port_bulk == port))
			return true;
	}
	return false;
}

static struct lx_guard_listener listener_of(const struct lx_guard_ni *ni, uint16_t port)
{
	struct lx_guard_listener key = { .port = htons(port) };

	memcpy(key.addr, ni->addr, 16);
	return key;
}

static void listener_add(struct lx_guard *g, const struct lx_guard_ni *ni, uint16_t port)
{
	struct lx_guard_listener key = listener_of(ni, port);
	uint32_t one = 1;

	bpf_map__update_elem(g->skeleton->maps.listeners, &key, sizeof(key), &one, sizeof(one),
			     BPF_ANY);
}

/* Unless one of the @n NIs guarded from now on has it. */
static void listener_del(struct lx_guard *g, const struct lx_guard_ni *old, uint16_t port,
			 const struct lx_guard_ni *ni, size_t n)
{
	struct lx_guard_listener key = listener_of(old, port);

	if (is_listener(ni, n, old->addr, port))
		return;
	bpf_map__delete_elem(g->skeleton->maps.listeners, &key, sizeof(key), 0);
}

/* Guards @ni and no others. */
static void change_listeners(struct lx_guard *g, struct lx_guard_ni *ni, size_t n)
{
	for (size_t i = 0; i < g->n_nis; i++) {
		listener_del(g, &g->ni[i], g->ni[i].port, ni, n);
		listener_del(g, &g->ni[i], g->ni[i].port_bulk, ni, n);
	}
	for (size_t i = 0; i < n; i++) {
		listener_add(g, &ni[i], ni[i].port);
		listener_add(g, &ni[i], ni[i].port_bulk);
	}
	free(g->ni);
	g->ni = ni;
	g->n_nis = n;
}

void lx_guard_place(struct lx_guard *g, const struct lx_guard_ni *ni, size_t n, bool secure)
{
	struct lx_guard_ni *copy;

	if (!g->loaded)
		return;
	copy = calloc(n ? n : 1, sizeof(*copy));
	if (!copy) {
		lx_warn("guard=\"out of memory\" action=\"guards the same NIs as before\"");
		return;
	}
	if (n)
		memcpy(copy, ni, n * sizeof(*copy));
	pthread_mutex_lock(&g->lock);
	change_listeners(g, copy, n);
	g->config.secure = secure;
	write_config(g);
	settle(g);
	pthread_mutex_unlock(&g->lock);
}

/* ---- rules ------------------------------------------------------------------------- */

/* After a change of the rules: updates the program, and attaches it if needed. */
static int apply(struct lx_guard *g)
{
	int err = write_config(g);

	settle(g);
	return err;
}

static int ban(struct lx_guard *g, const struct lx_nid *nid, const uint8_t addr[16])
{
	struct lx_guard_ban value = { .since_s = (uint64_t)time(NULL), .nid = *nid };
	int err = bpf_map__update_elem(g->skeleton->maps.bans, addr, 16, &value, sizeof(value),
				       BPF_NOEXIST);

	if (err)
		return err;
	g->config.bans++;
	return apply(g);
}

static int unban(struct lx_guard *g, const uint8_t addr[16])
{
	int err = bpf_map__delete_elem(g->skeleton->maps.bans, addr, 16, 0);

	if (err)
		return err;
	g->config.bans--;
	return apply(g);
}

int lx_guard_ban(struct lx_guard *g, const struct lx_nid *nid)
{
	uint8_t addr[16];
	int err = g->loaded ? lx_guard_addr(nid, addr) : -EOPNOTSUPP;

	if (err)
		return err;
	pthread_mutex_lock(&g->lock);
	err = ban(g, nid, addr);
	pthread_mutex_unlock(&g->lock);
	return err;
}

int lx_guard_unban(struct lx_guard *g, const struct lx_nid *nid)
{
	uint8_t addr[16];
	int err = g->loaded ? lx_guard_addr(nid, addr) : -EOPNOTSUPP;

	if (err)
		return err;
	pthread_mutex_lock(&g->lock);
	err = unban(g, addr);
	pthread_mutex_unlock(&g->lock);
	return err;
}

/* A trie overwrites an existing prefix without reporting it. */
static bool has_prefix(struct lx_guard *g, const struct lx_guard_prefix *prefix)
{
	struct lx_guard_prefix key;
	void *last = NULL;

	while (!bpf_map__get_next_key(g->skeleton->maps.prefixes, last, &key, sizeof(key))) {
		if (!memcmp(&key, prefix, sizeof(key)))
			return true;
		last = &key;
	}
	return false;
}

int lx_guard_prefix_set(struct lx_guard *g, const struct lx_guard_prefix *prefix,
			enum lx_guard_action action)
{
	struct lx_guard_rule rule = { .action = action };
	bool is_new;
	int err;

	if (!g->loaded)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&g->lock);
	is_new = !has_prefix(g, prefix);
	err = bpf_map__update_elem(g->skeleton->maps.prefixes, prefix, sizeof(*prefix), &rule,
				   sizeof(rule), BPF_ANY);
	if (err == -ENOSPC)
		err = -E2BIG;
	if (!err) {
		g->n_prefixes += is_new;
		err = apply(g);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

int lx_guard_prefix_del(struct lx_guard *g, const struct lx_guard_prefix *prefix)
{
	int err;

	if (!g->loaded)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&g->lock);
	err = bpf_map__delete_elem(g->skeleton->maps.prefixes, prefix, sizeof(*prefix), 0);
	if (!err) {
		g->n_prefixes--;
		err = apply(g);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

int lx_guard_rate(struct lx_guard *g, uint32_t rate, uint32_t burst)
{
	int err;

	if (!g->loaded)
		return -EOPNOTSUPP;
	if (rate > LX_S_NS || (rate && !burst))
		return -EINVAL;
	pthread_mutex_lock(&g->lock);
	g->config.interval_ns = rate ? LX_S_NS / rate : 0;
	g->config.burst_ns = g->config.interval_ns * burst;
	err = apply(g);
	pthread_mutex_unlock(&g->lock);
	return err;
}

int lx_guard_mode(struct lx_guard *g, enum lx_guard_mode mode)
{
	int err = 0;

	if (!g->loaded)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&g->lock);
	if (g->config.mode != mode) {
		g->config.mode = mode;
		lx_hooks_detach(g->set, NULL, NULL);
		err = apply(g);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

/* ---- reporting --------------------------------------------------------------------- */

static int sum_counters(const struct lx_guard *g, uint64_t *ret_count)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *value;
	int err = 0;

	if (cpus < 0)
		return cpus;
	value = calloc((size_t)cpus, sizeof(*value));
	if (!value)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < LX_GUARD_COUNT; i++) {
		err = bpf_map__lookup_elem(g->skeleton->maps.counters, &i, sizeof(i), value,
					   (size_t)cpus * sizeof(*value), 0);
		ret_count[i] = 0;
		for (int cpu = 0; cpu < cpus; cpu++)
			ret_count[i] += value[cpu];
	}
	free(value);
	return err;
}

int lx_guard_counts(struct lx_guard *g, uint64_t *ret_count)
{
	int err;

	if (!g->loaded)
		return -EOPNOTSUPP;
	pthread_mutex_lock(&g->lock);
	err = sum_counters(g, ret_count);
	pthread_mutex_unlock(&g->lock);
	return err;
}

static void list_listeners(const struct lx_guard *g, struct lx_guard_info *info)
{
	for (size_t i = 0; i < g->n_nis && i < LX_BPF_HOOKS_MAX; i++) {
		struct lx_guard_listener key = listener_of(&g->ni[i], g->ni[i].port);
		struct lx_guard_listener_info *row = &info->listener[info->n_listeners++];

		strcpy(row->ifname, g->ni[i].ifname);
		bpf_map__lookup_elem(g->skeleton->maps.listeners, &key, sizeof(key), &row->syns,
				     sizeof(row->syns), 0);
	}
}

int lx_guard_info(struct lx_guard *g, struct lx_guard_info *ret_info)
{
	const struct lx_guard_config *c = &g->config;
	int err = 0;

	memset(ret_info, 0, sizeof(*ret_info));
	pthread_mutex_lock(&g->lock);
	ret_info->loaded = g->loaded;
	ret_info->active = g->attached && g->attached == g->n_nis;
	ret_info->mode = (uint32_t)c->mode;
	if (c->interval_ns) {
		ret_info->rate = (uint32_t)((LX_S_NS + c->interval_ns / 2) / c->interval_ns);
		ret_info->burst = (uint32_t)(c->burst_ns / c->interval_ns);
		ret_info->sources = (uint32_t)count(g->skeleton->maps.sources);
	}
	if (!g->loaded)
		snprintf(ret_info->reason, LX_BPF_TEXT, "%s", lx_bpf_reason(g->set));
	else if (!c->secure && !has_rules(g))
		strcpy(ret_info->reason, "nothing to do: accept is not secure, no rules");
	else if (!g->n_nis)
		strcpy(ret_info->reason, "no NI on a tcp net");
	else if (!ret_info->active)
		snprintf(ret_info->reason, LX_BPF_TEXT,
			 "sees all packets of %u of %zu NIs only; see \"lnetx bpf status\"",
			 g->attached, g->n_nis);
	if (g->loaded) {
		err = sum_counters(g, ret_info->count);
		list_listeners(g, ret_info);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

/*
 * The entries of a map as rows of @size bytes, at most @max, in an order. A key evicted meanwhile
 * restarts the walk: then there are duplicates. @map: NULL: there are none
 */
static int list_entries(struct lx_guard *g, const struct bpf_map *map, size_t max, size_t size,
			void (*describe)(const void *key, const void *value, void *row),
			int (*order)(const void *a, const void *b), void *ret_list, size_t *ret_n)
{
	union {
		struct lx_guard_address address;
		struct lx_guard_prefix prefix;
	} key;
	union {
		struct lx_guard_ban ban;
		struct lx_guard_rule rule;
		struct lx_guard_refusal refusal;
	} value;
	char *list = calloc(max, size);
	void *last = NULL;
	size_t n = 0;

	if (!list)
		return -ENOMEM;
	pthread_mutex_lock(&g->lock);
	while (map && n < max && !bpf_map__get_next_key(map, last, &key, bpf_map__key_size(map))) {
		last = &key;
		if (!bpf_map__lookup_elem(map, &key, bpf_map__key_size(map), &value,
					  bpf_map__value_size(map), 0))
			describe(&key, &value, list + size * n++);
	}
	pthread_mutex_unlock(&g->lock);
	qsort(list, n, size, order);
	*(void **)ret_list = list;
	*ret_n = n;
	return 0;
}

static void describe_ban(const void *key, const void *value, void *row)
{
	const struct lx_guard_ban *ban = value;

	*(struct lx_guard_ban_info *)row =
		(struct lx_guard_ban_info){ .nid = ban->nid,
					    .packets = ban->packets,
					    .age_s = time(NULL) - (int64_t)ban->since_s };
}

static int by_age(const void *a, const void *b)
{
	const struct lx_guard_ban_info *x = a, *y = b;

	return (x->age_s < y->age_s) - (x->age_s > y->age_s);
}

int lx_guard_bans(struct lx_guard *g, struct lx_guard_ban_info **ret_list, size_t *ret_n)
{
	return list_entries(g, g->loaded ? g->skeleton->maps.bans : NULL, LX_GUARD_BANS_MAX,
			    sizeof(**ret_list), describe_ban, by_age, ret_list, ret_n);
}

/* The value is that of the longest match, which for a complete key is the key itself. */
static void describe_prefix(const void *key, const void *value, void *row)
{
	const struct lx_guard_rule *rule = value;
	struct lx_guard_prefix_info *info = row;

	info->action = (uint32_t)rule->action;
	info->syns = rule->syns;
	lx_guard_format(key, info->prefix);
}

static int by_prefix(const void *a, const void *b)
{
	return strcmp(((const struct lx_guard_prefix_info *)a)->prefix,
		      ((const struct lx_guard_prefix_info *)b)->prefix);
}

int lx_guard_prefixes(struct lx_guard *g, struct lx_guard_prefix_info **ret_list, size_t *ret_n)
{
	return list_entries(g, g->loaded ? g->skeleton->maps.prefixes : NULL, LX_GUARD_PREFIXES_MAX,
			    sizeof(**ret_list), describe_prefix, by_prefix, ret_list, ret_n);
}

static void describe_refusal(const void *key, const void *value, void *row)
{
	uint64_t now_ns = lx_clock_ns(CLOCK_MONOTONIC);
	const struct lx_guard_refusal *r = value;
	struct lx_guard_refusal_info *info = row;
	union lx_addr addr;

	lx_addr_unmap(&addr, ((const struct lx_guard_address *)key)->addr, 0);
	lx_addr_host(&addr, info->source, sizeof(info->source));
	info->verdict = r->verdict;
	info->port = ntohs(r->sport);
	info->syns = r->syns;
	info->last_ns = r->last_ns;
	/* The program may just have changed it. */
	info->age_s = r->last_ns < now_ns ? (int64_t)((now_ns - r->last_ns) / LX_S_NS) : 0;
}

static int later_first(const void *a, const void *b)
{
	const struct lx_guard_refusal_info *x = a, *y = b;

	return (x->last_ns < y->last_ns) - (x->last_ns > y->last_ns);
}

int lx_guard_refusals(struct lx_guard *g, struct lx_guard_refusal_info **ret_list, size_t *ret_n)
{
	return list_entries(g, g->loaded ? g->skeleton->maps.refusals : NULL, LX_GUARD_REFUSALS_MAX,
			    sizeof(**ret_list), describe_refusal, later_first, ret_list, ret_n);
}

int lx_guard_prog_fd(const struct lx_guard *g, bool tc)
{
	if (!g->loaded)
		return -EOPNOTSUPP;
	return bpf_program__fd(tc ? g->skeleton->progs.lnetx_guard_tc
				  : g->skeleton->progs.lnetx_guard);
}
