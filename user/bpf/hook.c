/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching programs to interfaces: XDP, tcx, clsact. Owned by the sets of bpf.c. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../io/netif.h"
#include "hook.h"
#include "pin.h"

#define TC_HANDLE 1
#define TC_PRIORITY 0x6c78 /* "lx": used by no other, after the usual ones */
#define TCX_BEFORE (1u << 3) /* BPF_F_BEFORE; without a relative: before all */

static const char *const kind_names[] = { "xdp", "ingress", "egress" };

const char *lx_hook_kind_name(enum lx_bpf_hook_kind kind)
{
	return kind_names[kind];
}

/* ---- clsact ------------------------------------------------------------------------ */

static uint32_t tc_priority(const struct lx_hook *h)
{
	return h->flags & LX_BPF_FIRST ? TC_PRIORITY - 1 : TC_PRIORITY;
}

static struct bpf_tc_hook tc_hook(const struct lx_hook *h)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = (int)h->ifindex,
				     .attach_point = h->kind == LX_BPF_HOOK_EGRESS
							     ? BPF_TC_EGRESS
							     : BPF_TC_INGRESS };
}

static int clsact_attach(struct lx_hook *h, int prog_fd)
{
	struct bpf_tc_hook hook = tc_hook(h);
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = prog_fd, .handle = TC_HANDLE,
		    .priority = tc_priority(h), .flags = BPF_TC_F_REPLACE);
	int err = bpf_tc_hook_create(&hook);

	if (err && err != -EEXIST)
		return err;
	err = bpf_tc_attach(&hook, &opts);
	if (!err)
		h->mode = "clsact";
	return err;
}

/* The qdisc stays: others may use it by now. */
static void clsact_detach(struct lx_hook *h)
{
	struct bpf_tc_hook hook = tc_hook(h);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = tc_priority(h));

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
	int err = link_create(h, prog_fd,
			      h->kind == LX_BPF_HOOK_EGRESS ? LX_BPF_TCX_EGRESS
							    : LX_BPF_TCX_INGRESS,
			      h->flags & LX_BPF_FIRST ? TCX_BEFORE : 0);

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

/* 0: unknown. */
static uint32_t prog_id(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
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
	err = h->kind == LX_BPF_HOOK_XDP ? xdp_attach(h, prog_fd)
	      : h->tcx			 ? tcx_attach(h, prog_fd)
					 : clsact_attach(h, prog_fd);
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
	lx_hook_close(h);
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

static bool clsact_holds(const struct lx_hook *h)
{
	struct bpf_tc_hook hook = tc_hook(h);
	LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = tc_priority(h));

	return !bpf_tc_query(&hook, &opts) && opts.prog_id == h->prog_id;
}

bool lx_hook_holds(const struct lx_hook *h)
{
	uint32_t id = 0;

	if (h->fd < 0)
		return clsact_holds(h);
	return link_ifindex(h->fd, &id) == h->ifindex && id == h->prog_id;
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

/* A program's attachments to one interface, in every place we use. */
static void find_on(const struct lx_netif_link *dev, uint32_t prog_id, struct lx_list *hooks)
{
	for (int i = 0; i < 4; i++) {
		struct lx_hook h = { .kind = i & 1 ? LX_BPF_HOOK_EGRESS : LX_BPF_HOOK_INGRESS,
				     .flags = i & 2 ? LX_BPF_FIRST : 0,
				     .ifindex = dev->index,
				     .mode = "clsact",
				     .fd = -1 };
		struct bpf_tc_hook at = tc_hook(&h);
		LIBBPF_OPTS(bpf_tc_opts, opts, .handle = TC_HANDLE, .priority = tc_priority(&h));
		struct lx_hook *found;

		if (bpf_tc_query(&at, &opts) || opts.prog_id != prog_id)
			continue;
		found = malloc(sizeof(*found));
		if (!found)
			return;
		*found = h;
		snprintf(found->ifname, sizeof(found->ifname), "%s", dev->name);
		found->tx_dropped = tx_dropped(found);
		lx_list_append(hooks, &found->link);
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
		for (size_t i = 0; id && i < n_links; i++)
			find_on(&links[i], id, hooks);
	}
	if (d)
		closedir(d);
}
