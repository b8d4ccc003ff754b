/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the programs of a set are attached, and what others do to that. */
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/log.h"
#include "../io/netif.h"
#include "set.h"

static void hook_free(struct lx_hook *h)
{
	lx_list_del(&h->link);
	lx_hook_close(h);
	free(h);
}

bool lx_hooks_refresh(struct lx_bpf_set *set)
{
	char before[IF_NAMESIZE];
	struct lx_hook *h, *next;
	bool renamed = false;

	lx_list_for_each_safe (h, next, &set->hooks, link) {
		strcpy(before, h->ifname);
		if (lx_hook_rename(h)) {
			renamed |= strcmp(before, h->ifname) != 0;
			continue;
		}
		lx_hook_detach(h);
		hook_free(h);
	}
	return renamed;
}

static struct lx_hook *hook_of(struct lx_bpf_set *set, const char *ifname,
			       enum lx_bpf_hook_kind kind)
{
	struct lx_hook *h;

	lx_hooks_refresh(set);
	lx_list_for_each (h, &set->hooks, link) {
		if (h->kind == kind && !strcmp(h->ifname, ifname))
			return h;
	}
	return NULL;
}

static int hook_new(struct lx_bpf_set *set, const char *ifname, enum lx_bpf_hook_kind kind,
		    struct lx_hook **ret_hook)
{
	struct lx_hook *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->kind = kind;
	h->ifindex = lx_netif_index(ifname);
	snprintf(h->ifname, sizeof(h->ifname), "%s", ifname);
	h->tcx = kind != LX_BPF_HOOK_XDP && set->bpf->feature[LX_BPF_TCX].have;
	h->fd = -1;
	h->mode = "none";
	lx_list_append(&set->hooks, &h->link);
	*ret_hook = h;
	return 0;
}

static bool is_attached(const struct lx_hook *h)
{
	return h->program && strcmp(h->mode, "none");
}

/* It sees all packets. */
static bool is_in_place(const struct lx_hook *h)
{
	return is_attached(h) && !h->behind;
}

/* Tells that a set is of no use, as others do not let a program be in its place. */
static void give_up(struct lx_bpf_set *set, const char *ifname, const char *hook, const char *text)
{
	snprintf(set->reason, sizeof(set->reason), "%.16s %.8s: %.210s", ifname, hook, text);
}

/*
 * Counts what others did to an object, and says what happens next about it.
 * @hook: "" for an interface itself; @what: what they did; @text: of LX_BPF_TEXT bytes
 */
static void note_removal(struct lx_bpf_set *set, struct lx_removals *r, const char *ifname,
			 const char *hook, const char *what, char *text)
{
	lx_removal_note(r, lx_clock_ns(CLOCK_MONOTONIC));
	set->bpf->n_removed++;
	if (r->n >= LX_REMOVALS_MAX)
		snprintf(text, LX_BPF_TEXT,
			 "%.110s %u times; %s; find out who did (bpftool net, tc monitor), then: "
			 "lnetx bpf on",
			 what, r->n, set->otherwise);
	else
		snprintf(text, LX_BPF_TEXT, "%.110s, %u of %u times; it is put back%s", what, r->n,
			 LX_REMOVALS_MAX, r->n > 1 ? " in some seconds" : "");
	lx_warn("bpf=%s interface=%s%s%s removed=%u reason=\"%s\"", set->name, ifname,
		*hook ? " hook=" : "", hook, r->n, text);
	if (r->n >= LX_REMOVALS_MAX)
		give_up(set, ifname, hook, text);
}

static const char removed[] = "another program or an admin removed it";

void lx_hooks_removed(struct lx_bpf_set *set, struct lx_removals *removals, const char *ifname)
{
	char text[LX_BPF_TEXT];

	pthread_mutex_lock(&set->bpf->lock);
	note_removal(set, removals, ifname, "", removed, text);
	pthread_mutex_unlock(&set->bpf->lock);
}

/* The kernel may not tell us the name of our own programs. */
static bool is_ours(const struct lx_bpf *bpf, uint32_t prog_id)
{
	const struct lx_bpf_set *set;
	const struct lx_hook *h;

	lx_list_for_each (set, &bpf->sets, link) {
		lx_list_for_each (h, &set->hooks, link) {
			if (prog_id && h->prog_id == prog_id)
				return true;
		}
	}
	return false;
}

/* Whether one of these programs is not lnetx's, and which one. */
static bool has_stranger(const struct lx_bpf *bpf, const struct lx_chain *chain, char *ret_text)
{
	for (unsigned int i = 0; i < chain->n; i++) {
		if (!is_ours(bpf, chain->program[i].id) &&
		    !lx_chain_describe(&chain->program[i], ret_text, LX_BPF_TEXT))
			return true;
	}
	return false;
}

/* What others have done to an attachment since the last time. True: there is news. */
static bool look_at_hook(struct lx_bpf_set *set, struct lx_hook *h)
{
	char stranger[LX_BPF_TEXT], what[LX_BPF_TEXT];
	bool held, behind = h->behind;
	struct lx_chain front;

	if (!is_attached(h))
		return false;
	held = lx_hook_look(h, &front);
	h->behind = held && has_stranger(set->bpf, &front, stranger);
	if (held && h->behind == behind)
		return false;
	if (!held) {
		lx_hook_removed(h);
		strcpy(what, removed);
	} else if (h->behind) {
		strcpy(h->front, stranger);
		snprintf(what, sizeof(what), "%.80s was put in front of it", stranger);
	} else {
		h->reason[0] = set->reason[0] = '\0';
		return true;
	}
	note_removal(set, &h->removals, h->ifname, lx_hook_kind_name(h->kind), what, h->reason);
	return true;
}

/* Attaches it, or moves it. */
static int put(struct lx_bpf_set *set, const struct bpf_program *program, struct lx_hook *h)
{
	int err;

	if (!h->behind)
		return lx_hook_attach(h, bpf_program__fd(program), set->dir);
	err = lx_hook_advance(h, bpf_program__fd(program),
			      set->hold ? bpf_program__fd(set->hold) : -1, set->dir);
	if (err)
		snprintf(h->reason, sizeof(h->reason),
			 "%.110s is in front of it, where it cannot be put itself: %s", h->front,
			 strerror(-err));
	h->behind = err && strcmp(h->mode, "none");
	return err;
}

/* A program came to the front of a hook: one that has to be in front of ours goes there again. */
static void keep_order(struct lx_bpf *bpf, const struct lx_hook *moved)
{
	const struct bpf_program *program;
	struct lx_bpf_set *set;
	struct lx_hook *h;

	lx_list_for_each (set, &bpf->sets, link) {
		lx_list_for_each (h, &set->hooks, link) {
			if (h == moved || !(h->flags & LX_BPF_FIRST) || !is_in_place(h) ||
			    h->kind != moved->kind || h->ifindex != moved->ifindex)
				continue;
			program = bpf_object__find_program_by_name(*set->skeleton->obj, h->program);
			lx_hook_advance(h, bpf_program__fd(program), -1, set->dir);
		}
	}
}

static int attach_locked(struct lx_bpf_set *set, const struct bpf_program *program,
			 const char *ifname, enum lx_bpf_hook_kind kind, unsigned int flags)
{
	struct lx_hook *h = hook_of(set, ifname, kind);
	const char *name = bpf_program__name(program);
	bool told;
	int err;

	if (!set->loaded)
		return -EOPNOTSUPP;
	if (h)
		look_at_hook(set, h);
	if (h && is_in_place(h)) {
		h->reason[0] = '\0';
		return 0;
	}
	if (!lx_netif_index(ifname))
		return -ENODEV;
	err = h ? lx_removal_may_return(&h->removals, lx_clock_ns(CLOCK_MONOTONIC))
		: hook_new(set, ifname, kind, &h);
	if (err == -ECANCELED)
		give_up(set, ifname, lx_hook_kind_name(kind), h->reason);
	if (err)
		return err;
	told = h->reason[0] && !h->removals.n;
	h->program = name;
	h->flags = flags;
	err = put(set, program, h);
	if (!err) {
		lx_info("bpf=%s interface=%s hook=%s mode=%s action=attached", set->name, ifname,
			lx_hook_kind_name(kind), h->mode);
		keep_order(set->bpf, h);
	} else if (flags & LX_BPF_TRY) {
		hook_free(h);
	} else if (!told) {
		lx_warn("bpf=%s interface=%s hook=%s reason=\"%s\" action=\"runs without it\"",
			set->name, ifname, lx_hook_kind_name(kind), h->reason);
	}
	return err;
}

int lx_hooks_attach(struct lx_bpf_set *set, const struct bpf_program *program, const char *ifname,
		    enum lx_bpf_hook_kind kind, unsigned int flags)
{
	int err;

	pthread_mutex_lock(&set->bpf->lock);
	err = attach_locked(set, program, ifname, kind, flags);
	pthread_mutex_unlock(&set->bpf->lock);
	return err;
}

int lx_hooks_refuse(struct lx_bpf_set *set, const struct bpf_program *program, const char *ifname,
		    enum lx_bpf_hook_kind kind, int err, const char *reason)
{
	struct lx_hook *h;

	pthread_mutex_lock(&set->bpf->lock);
	h = hook_of(set, ifname, kind);
	if (!h && lx_netif_index(ifname) && !hook_new(set, ifname, kind, &h))
		h->program = bpf_program__name(program);
	if (h && strcmp(h->reason, reason)) {
		snprintf(h->reason, sizeof(h->reason), "%s", reason);
		lx_warn("bpf=%s interface=%s reason=\"%s\" action=\"its connections are served "
			"without the kernel\"",
			set->name, ifname, reason);
	}
	pthread_mutex_unlock(&set->bpf->lock);
	return err;
}

void lx_hooks_detach(struct lx_bpf_set *set, bool (*wanted)(const struct lx_hook *h, void *arg),
		     void *arg)
{
	struct lx_hook *h, *next;

	pthread_mutex_lock(&set->bpf->lock);
	lx_list_for_each_safe (h, next, &set->hooks, link) {
		if (wanted && wanted(h, arg))
			continue;
		if (strcmp(h->mode, "none"))
			lx_info("bpf=%s interface=%s hook=%s action=detached", set->name, h->ifname,
				lx_hook_kind_name(h->kind));
		lx_hook_detach(h);
		hook_free(h);
	}
	pthread_mutex_unlock(&set->bpf->lock);
}

bool lx_hooks_look(struct lx_bpf_set *set)
{
	struct lx_hook *h;
	bool due = false;

	lx_list_for_each (h, &set->hooks, link) {
		due |= look_at_hook(set, h);
		due |= !is_in_place(h) &&
		       lx_removal_due(&h->removals, lx_clock_ns(CLOCK_MONOTONIC));
	}
	return due;
}

void lx_hooks_adopt(struct lx_bpf_set *set)
{
	DIR *d = opendir(set->dir);
	const struct dirent *e;
	struct lx_hook *h;

	if (!set->bpf->feature[LX_BPF_TCX].have)
		lx_hook_find(set->dir, &set->hooks);
	if (!d)
		return;
	while ((e = readdir(d))) {
		h = calloc(1, sizeof(*h));
		if (!h)
			break;
		if (lx_hook_adopt(h, set->dir, e->d_name))
			free(h);
		else
			lx_list_append(&set->hooks, &h->link);
	}
	closedir(d);
}

void lx_hooks_info(const struct lx_bpf_set *set, struct lx_bpf_info *info)
{
	const struct lx_hook *h;

	lx_list_for_each (h, &set->hooks, link) {
		struct lx_bpf_hook_info *to = &info->hook[info->n_hooks];

		if (info->n_hooks == LX_BPF_HOOKS_MAX)
			return;
		*to = (struct lx_bpf_hook_info){
			.set = set->name,
			.program = h->program,
			.hook = lx_hook_kind_name(h->kind),
			.mode = h->mode,
			.removed = lx_removals(&h->removals, lx_clock_ns(CLOCK_MONOTONIC)),
			.tx_dropped = lx_hook_tx_dropped(h)
		};
		strcpy(to->ifname, h->ifname);
		strcpy(to->reason, h->reason);
		strcpy(to->front, h->front);
		info->n_hooks++;
		info->n_missing += !is_in_place(h);
	}
}
