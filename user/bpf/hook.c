/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching programs to interfaces: XDP, tcx, clsact. Owned by the sets of bpf.c. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../io/netif.h"
#include "hook.h"
#include "pin.h"

/*
 * Agents take priority 1, or none, for which the kernel chooses one from 49152 on; so 1 is ours
 * only if one of them is there. Of filters of the same priority the newest runs first.
 */
#define TC_FIRST 1
#define TC_PRIORITY 7
#define TC_HANDLE 0x6c780000u /* "lx", and what makes it different from our others */
#define TCX_BEFORE (1u << 3) /* BPF_F_BEFORE; without a relative: before all */
#define GRACE_US 100000

static const char *const kind_names[] = { "xdp", "ingress", "egress" };

const char *lx_hook_kind_name(enum lx_bpf_hook_kind kind)
{
	return kind_names[kind];
}

/* 0: unknown. */
static uint32_t prog_id(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
}

/* ---- clsact ------------------------------------------------------------------------ */

static bool is_egress(const struct lx_hook *h)
{
	return h->kind == LX_BPF_HOOK_EGRESS;
}

static struct bpf_tc_hook tc_hook(const struct lx_hook *h)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = (int)h->ifindex,
				     .attach_point =
					     is_egress(h) ? BPF_TC_EGRESS : BPF_TC_INGRESS };
}

/* Chooses a place in front of all others. */
static void clsact_place(struct lx_hook *h, uint32_t prog_id)
{
	struct lx_chain chain;

	h->priority = TC_PRIORITY;
	if (!lx_chain_read(h->ifindex, is_egress(h), false, &chain) && chain.n &&
	    chain.program[0].priority < TC_PRIORITY)
		h->priority = TC_FIRST;
	h->handle = TC_HANDLE | (prog_id & 0x7fff) << 1;
}

static int clsact_attach(struct lx_hook *h, int prog_fd)
{
	struct bpf_tc_hook hook = tc_hook(h);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .flags = BPF_TC_F_REPLACE);
	int err = bpf_tc_hook_create(&hook);

	if (err && err != -EEXIST)
		return err;
	if (!h->handle)
		clsact_place(h, prog_id(prog_fd));
	opts.handle = h->handle;
	opts.priority = h->priority;
	err = bpf_tc_attach(&hook, &opts);
	if (!err)
		h->mode = "clsact";
	return err;
}

/* The qdisc stays: others may use it by now. */
static void clsact_detach(struct lx_hook *h)
{
	struct bpf_tc_hook hook = tc_hook(h);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = h->handle, .priority = h->priority);

	bpf_tc_detach(&hook, &opts);
}

/* ---- links ------------------------------------------------------------------------- */

static int link_create(struct lx_hook *h, int prog_fd, int attach_type, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = flags);

	h->fd = bpf_link_create(prog_fd, (int)h->ifindex, attach_type, &opts);
	return h->fd < 0 ? h->fd : 0;
}

static const char *xdp_mode(unsigned int ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);

	if (bpf_xdp_query((int)ifindex, 0, &opts))
		return "unknown";
	return opts.attach_mode == XDP_ATTACHED_DRV   ? "native"
	       : opts.attach_mode == XDP_ATTACHED_SKB ? "generic"
	       : opts.attach_mode == XDP_ATTACHED_HW  ? "offload"
						      : "unknown";
}

/* Some drivers support it, but not for this program, MTU or number of queues. */
static int xdp_attach(struct lx_hook *h, int prog_fd)
{
	int err = -EOPNOTSUPP;

	if (!(h->flags & LX_BPF_GENERIC))
		err = link_create(h, prog_fd, BPF_XDP, XDP_FLAGS_DRV_MODE);
	if (err && err != -EBUSY && err != -EEXIST && !(h->flags & LX_BPF_NATIVE))
		err = link_create(h, prog_fd, BPF_XDP, XDP_FLAGS_SKB_MODE);
	if (!err)
		h->mode = xdp_mode(h->ifindex);
	return err;
}

static int tcx_attach(struct lx_hook *h, int prog_fd)
{
	int err = link_create(h, prog_fd, is_egress(h) ? LX_BPF_TCX_EGRESS : LX_BPF_TCX_INGRESS,
			      TCX_BEFORE);

	if (!err)
		h->mode = "tcx";
	return err;
}

static void pin_name(const struct lx_hook *h, char *buf, size_t size)
{
	snprintf(buf, size, "link_%s_%s", kind_names[h->kind], h->ifname);
}

void lx_hook_pin(struct lx_hook *h, const char *dir)
{
	char name[IF_NAMESIZE + 24];

	if (h->fd < 0 || !dir[0])
		return;
	pin_name(h, name, sizeof(name));
	if (lx_pin_path(dir, name, h->pin))
		return;
	unlink(h->pin);
	if (bpf_obj_pin(h->fd, h->pin))
		h->pin[0] = '\0';
}

static void explain(struct lx_hook *h, int err)
{
	if (err == -EBUSY || err == -EEXIST)
		snprintf(h->reason, sizeof(h->reason),
			 "another program is attached to %s; see \"bpftool net show dev %s\"",
			 h->ifname, h->ifname);
	else
		snprintf(h->reason, sizeof(h->reason), "cannot attach to %s: %s", h->ifname,
			 strerror(-err));
}

static uint32_t tx_dropped(const struct lx_hook *h)
{
	uint32_t dropped = 0;

	return lx_netif_tx_dropped(h->ifname, &dropped) ? h->tx_dropped : dropped;
}

uint64_t lx_hook_tx_dropped(const struct lx_hook *h)
{
	return strcmp(h->mode, "none") ? (uint32_t)(tx_dropped(h) - h->tx_dropped) : 0;
}

static int attach(struct lx_hook *h, int prog_fd)
{
	return h->kind == LX_BPF_HOOK_XDP ? xdp_attach(h, prog_fd)
	       : h->tcx			  ? tcx_attach(h, prog_fd)
					  : clsact_attach(h, prog_fd);
}

int lx_hook_attach(struct lx_hook *h, int prog_fd, const char *dir)
{
	int err;

	h->reason[0] = '\0';
	if (h->fd >= 0) {
		err = bpf_link_update(h->fd, prog_fd, NULL);
		h->prog_id = prog_id(prog_fd);
		if (!err)
			return 0;
		lx_hook_detach(h);
	}
	err = attach(h, prog_fd);
	if (err) {
		h->mode = "none";
		explain(h, err);
		return err;
	}
	h->tx_dropped = tx_dropped(h);
	h->prog_id = prog_id(prog_fd);
	lx_hook_pin(h, dir);
	return 0;
}

void lx_hook_close(struct lx_hook *h)
{
	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
}

void lx_hook_detach(struct lx_hook *h)
{
	if (!strcmp(h->mode, "clsact"))
		clsact_detach(h);
	h->mode = "none";
	/* The link may end only when its file is freed, some time later. */
	if (h->fd >= 0)
		bpf_link_detach(h->fd);
	if (h->pin[0])
		unlink(h->pin);
	h->pin[0] = '\0';
	h->handle = 0;
	lx_hook_close(h);
}

/* What tcx does by itself: packets that began before the last change have passed. */
static void clsact_settle(void)
{
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(GRACE_US);
}

int lx_hook_advance(struct lx_hook *h, int prog_fd, int hold_fd, const char *dir)
{
	struct lx_hook old = *h;
	int err;

	if (hold_fd < 0) {
		lx_hook_detach(h);
		return lx_hook_attach(h, prog_fd, dir);
	}
	h->fd = -1;
	h->pin[0] = '\0';
	if (!h->tcx) {
		h->priority = TC_FIRST;
		h->handle ^= 1;
	}
	err = attach(h, hold_fd);
	if (err) {
		*h = old;
		return err;
	}
	if (!h->tcx)
		clsact_settle();
	lx_hook_detach(&old);
	err = lx_hook_attach(h, prog_fd, dir);
	if (!err)
		lx_hook_pin(h, dir);
	return err;
}

/* ---- what others do to it ---------------------------------------------------------- */

/* Fills in the program's ID. 0: it is not attached any more. */
static unsigned int link_ifindex(int fd, uint32_t *ret_prog_id)
{
	struct bpf_link_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return 0;
	*ret_prog_id = info.prog_id;
	/* tcx has its index where XDP has it; older headers lack tcx. */
	return info.xdp.ifindex;
}

bool lx_hook_look(const struct lx_hook *h, struct lx_chain *ret_front)
{
	struct lx_chain *chain = ret_front;
	uint32_t id = 0;

	chain->n = 0;
	if (h->kind == LX_BPF_HOOK_XDP)
		return link_ifindex(h->fd, &id) == h->ifindex && id == h->prog_id;
	if (lx_chain_read(h->ifindex, is_egress(h), h->tcx, chain))
		return false;
	for (unsigned int i = 0; i < chain->n; i++) {
		if (chain->program[i].id == h->prog_id && chain->program[i].handle == h->handle) {
			chain->n = i;
			return true;
		}
	}
	return false;
}

void lx_hook_removed(struct lx_hook *h)
{
	h->mode = "none"; /* what others attached in our place is theirs */
	lx_hook_detach(h);
}

bool lx_hook_rename(struct lx_hook *h)
{
	return lx_netif_name(h->ifindex, h->ifname) != -ENODEV;
}

/* ---- taking over ------------------------------------------------------------------- */

int lx_hook_adopt(struct lx_hook *h, const char *dir, const char *name)
{
	char expected[IF_NAMESIZE + 24], path[LX_BPF_PATH];
	enum lx_bpf_hook_kind kind = 0;

	while (kind < LX_BPF_HOOK_KINDS) {
		size_t n = snprintf(expected, sizeof(expected), "link_%s_", kind_names[kind]);

		if (!strncmp(name, expected, n))
			break;
		kind++;
	}
	if (kind == LX_BPF_HOOK_KINDS || lx_pin_path(dir, name, path))
		return -ENOENT;
	*h = (struct lx_hook){ .kind = kind, .fd = bpf_obj_get(path), .mode = "none" };
	h->ifindex = h->fd < 0 ? 0 : link_ifindex(h->fd, &h->prog_id);
	strcpy(h->pin, path);
	if (!h->ifindex || lx_netif_name(h->ifindex, h->ifname)) {
		lx_hook_detach(h);
		return -ENOENT;
	}
	h->tx_dropped = tx_dropped(h);
	h->tcx = kind != LX_BPF_HOOK_XDP;
	h->mode = h->tcx ? "tcx" : xdp_mode(h->ifindex);
	return 0;
}

/* A program's attachments to one interface. */
static void find_on(const struct lx_netif_link *dev, enum lx_bpf_hook_kind kind, uint32_t prog_id,
		    struct lx_list *hooks)
{
	struct lx_chain chain;
	struct lx_hook *h;

	if (lx_chain_read(dev->index, kind == LX_BPF_HOOK_EGRESS, false, &chain))
		return;
	for (unsigned int i = 0; i < chain.n; i++) {
		if (chain.program[i].id != prog_id)
			continue;
		h = malloc(sizeof(*h));
		if (!h)
			return;
		*h = (struct lx_hook){ .kind = kind,
				       .ifindex = dev->index,
				       .priority = chain.program[i].priority,
				       .handle = chain.program[i].handle,
				       .mode = "clsact",
				       .fd = -1 };
		snprintf(h->ifname, sizeof(h->ifname), "%s", dev->name);
		h->tx_dropped = tx_dropped(h);
		lx_list_append(hooks, &h->link);
	}
}

static uint32_t pinned_prog_id(const char *dir, const char *name)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	char path[LX_BPF_PATH];
	int fd LX_AUTO_CLOSE = -1;

	if (strncmp(name, "prog_", strlen("prog_")) || lx_pin_path(dir, name, path))
		return 0;
	fd = bpf_obj_get(path);
	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

void lx_hook_find(const char *dir, struct lx_list *hooks)
{
	struct lx_netif_link *links LX_AUTO_FREE = NULL;
	const struct dirent *e;
	size_t n_links;
	uint32_t id;
	DIR *d;

	if (lx_netif_links(&links, &n_links))
		return;
	d = opendir(dir);
	while (d && (e = readdir(d))) {
		id = pinned_prog_id(dir, e->d_name);
		for (size_t i = 0; id && i < n_links; i++) {
			find_on(&links[i], LX_BPF_HOOK_INGRESS, id, hooks);
			find_on(&links[i], LX_BPF_HOOK_EGRESS, id, hooks);
		}
	}
	if (d)
		closedir(d);
}
