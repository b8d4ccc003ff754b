/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Instances and sets: load, take over, unload, report. Feature probes are in feature.c, pins in
 * pin.c, the hooks of a set in hooks.c.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/explain.h"
#include "../base/log.h"
#include "pin.h"
#include "set.h"

static int print(enum libbpf_print_level level, const char *fmt, va_list ap);

/* Removes a set's pins, and detaches programs attached without one. */
static void clean_set(const struct lx_bpf *bpf, const char *dir)
{
	struct lx_hook *h, *next;
	struct lx_list hooks;

	lx_list_init(&hooks);
	if (!lx_bpf_has(bpf, LX_BPF_TCX))
		lx_hook_find(dir, &hooks);
	lx_list_for_each_safe (h, next, &hooks, link) {
		lx_hook_detach(h);
		free(h);
	}
	lx_pin_clean(dir);
}

/* ---- instances --------------------------------------------------------------------- */

static void forget_set(const char *dir, void *arg)
{
	clean_set(arg, dir);
}

int lx_bpf_new(const char *instance, bool enabled, struct lx_bpf **ret_bpf)
{
	struct lx_bpf *bpf = calloc(1, sizeof(*bpf));

	if (!bpf)
		return -ENOMEM;
	bpf->enabled = enabled;
	snprintf(bpf->instance, sizeof(bpf->instance), "%s", instance);
	lx_list_init(&bpf->sets);
	pthread_mutex_init(&bpf->lock, NULL);
	lx_bpf_feature_probe(bpf->feature);
	libbpf_set_print(print);
	if (!enabled)
		lx_pin_forget(instance, forget_set, bpf);
	else if (lx_bpf_has(bpf, LX_BPF_LOAD))
		lx_pin_open(instance, bpf->pins, bpf->pins_note);
	*ret_bpf = bpf;
	return 0;
}

void lx_bpf_clean(struct lx_bpf *bpf, const char *set)
{
	char dir[LX_BPF_PATH];

	if (bpf->pins[0] && !lx_pin_path(bpf->pins, set, dir) && !access(dir, F_OK)) {
		lx_info("pins=%s reason=\"left by an lnetxd that has ended\" action=removed", dir);
		clean_set(bpf, dir);
	}
}

void lx_bpf_free(struct lx_bpf *bpf)
{
	if (!bpf)
		return;
	lx_pin_close(bpf->pins);
	pthread_mutex_destroy(&bpf->lock);
	free(bpf);
}

const char *lx_bpf_instance(const struct lx_bpf *bpf)
{
	return bpf->instance;
}

bool lx_bpf_has(const struct lx_bpf *bpf, enum lx_bpf_feature feature)
{
	return bpf->feature[feature].have;
}

const char *lx_bpf_pins(const struct lx_bpf *bpf)
{
	return bpf->pins;
}

/* ---- libbpf's messages -------------------------------------------------------------- */

/* Of the load in progress: libbpf has one print callback per process. */
static __thread char *first_line;

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	char line[2048];
	const char *p = line, *end;

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), fmt, ap);
	if (first_line && !first_line[0]) {
		p = strncmp(line, "libbpf: ", 8) ? line : line + 8;
		snprintf(first_line, LX_BPF_TEXT, "%.*s", (int)strcspn(p, "\n"), p);
	}
	for (p = line; *p; p = end + !!*end) {
		end = p + strcspn(p, "\n");
		lx_debug("bpf=\"%.*s\"", (int)(end - p), p);
	}
	return 0;
}

/* ---- loading ----------------------------------------------------------------------- */

#define fail(set, error, ...) lx_explain((set)->reason, sizeof((set)->reason), error, __VA_ARGS__)

static int check_needs(struct lx_bpf_set *set, uint32_t need)
{
	const struct lx_bpf *bpf = set->bpf;

	if (!bpf->enabled)
		return fail(set, -EOPNOTSUPP, "switched off: lnetxd runs with --no-bpf");
	for (int i = 0; i < LX_BPF_FEATURE_COUNT; i++) {
		const struct lx_bpf_feature_info *f = &bpf->feature[i];

		if ((need & 1u << i) && !f->have)
			return fail(set, -EOPNOTSUPP, "needs %s: %.180s", f->name, f->reason);
	}
	return 0;
}

/* Checks leftovers of another daemon. Returns 0, -ENOENT none, -ESTALE another version. */
static int check_abi_version(const struct lx_bpf_set *set, const struct lx_abi *abi)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info), zero = 0;
	char path[LX_BPF_PATH];
	struct lx_abi found;
	int fd LX_AUTO_CLOSE = -1;

	if (!set->dir[0] || access(set->dir, F_OK))
		return -ENOENT;
	if (!lx_pin_path(set->dir, "abi", path))
		fd = bpf_obj_get(path);
	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) || info.value_size != sizeof(found) ||
	    bpf_map_lookup_elem(fd, &zero, &found))
		return -ESTALE;
	if (found.magic != abi->magic || found.version != abi->version ||
	    found.streams_max != abi->streams_max || found.lanes_max != abi->lanes_max ||
	    found.peers_max != abi->peers_max)
		return -ESTALE;
	return 0;
}

static bool same_shape(const struct bpf_map *map, const char *path)
{
	int fd LX_AUTO_CLOSE = bpf_obj_get(path);
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       info.type == (uint32_t)bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       /* 0: libbpf chooses, by the number of CPUs */
	       (info.max_entries == bpf_map__max_entries(map) || !bpf_map__max_entries(map)) &&
	       info.map_flags == bpf_map__map_flags(map);
}

/* Does not trust the version alone. Returns 0, -ESTALE a map's layout differs from ours. */
static int check_shapes(const struct lx_bpf_set *set)
{
	char path[LX_BPF_PATH];
	struct bpf_map *map;

	bpf_object__for_each_map (map, *set->skeleton->obj) {
		if (bpf_map__is_internal(map) || lx_pin_path(set->dir, bpf_map__name(map), path))
			continue;
		if (!access(path, F_OK) && !same_shape(map, path))
			return -ESTALE;
	}
	return 0;
}

static int set_pin_paths(struct lx_bpf_set *set)
{
	struct bpf_object *object = *set->skeleton->obj;
	char path[LX_BPF_PATH];
	struct bpf_map *map;
	int err;

	bpf_object__for_each_map (map, object) {
		if (bpf_map__is_internal(map))
			continue;
		err = lx_pin_path(set->dir, bpf_map__name(map), path);
		if (!err)
			err = bpf_map__set_pin_path(map, path);
		if (err)
			return err;
	}
	return 0;
}

static void pin_programs(struct lx_bpf_set *set)
{
	char name[80], path[LX_BPF_PATH];
	struct bpf_program *program;

	bpf_object__for_each_program (program, *set->skeleton->obj) {
		snprintf(name, sizeof(name), "prog_%s", bpf_program__name(program));
		if (lx_pin_path(set->dir, name, path))
			continue;
		unlink(path);
		if (bpf_program__pin(program, path))
			lx_debug("pin=%s reason=\"%s\"", path, strerror(errno));
	}
}

static int write_abi_version(struct lx_bpf_set *set, struct lx_abi abi)
{
	struct bpf_map *map = bpf_object__find_map_by_name(*set->skeleton->obj, "abi");
	uint32_t zero = 0;

	if (!map)
		return -EINVAL;
	abi.pid = (uint32_t)getpid();
	abi.started_ns = lx_clock_ns(CLOCK_MONOTONIC);
	return bpf_map__update_elem(map, &zero, sizeof(zero), &abi, sizeof(abi), BPF_ANY);
}

static int open_skeleton(struct lx_bpf_set *set, const struct lx_bpf_want *want, void *owner)
{
	char line[LX_BPF_TEXT] = "";
	int err = -ENOMEM;

	first_line = line;
	set->skeleton = want->open(owner);
	first_line = NULL;
	if (set->skeleton)
		return 0;
	if (errno)
		err = -errno;
	return fail(set, err, "libbpf cannot open it: %s (%s)", strerror(-err),
		    line[0] ? line : "no reason given");
}

static int load(struct lx_bpf_set *set, const struct lx_bpf_want *want)
{
	char line[LX_BPF_TEXT] = "";
	int err = set->dir[0] ? set_pin_paths(set) : 0;

	if (err)
		return fail(set, err, "cannot be pinned below %.160s: %s", set->dir,
			    strerror(-err));
	first_line = line;
	err = bpf_object__load_skeleton(set->skeleton);
	first_line = NULL;
	if (!err)
		err = write_abi_version(set, want->abi);
	if (err)
		return fail(set, err, "the kernel refused it: %s (%s)", strerror(-err),
			    line[0] ? line : "no reason given");
	return 0;
}

static void prepare_pins(struct lx_bpf_set *set, const struct lx_bpf_want *want)
{
	int abi_state;

	if (!set->bpf->pins[0] || lx_pin_path(set->bpf->pins, want->name, set->dir))
		return;
	abi_state = check_abi_version(set, &want->abi);
	if (!abi_state)
		abi_state = check_shapes(set);
	if (abi_state == -ESTALE)
		lx_warn("pins=%s reason=\"left by another version of lnetxd\" action=removed",
			set->dir);
	else if (!abi_state && !want->keep)
		lx_info("pins=%s reason=\"left by an lnetxd that has ended\" action=removed",
			set->dir);
	set->taken_over = !abi_state && want->keep;
	if (abi_state != -ENOENT && !set->taken_over)
		clean_set(set->bpf, set->dir);
}

static int try_load(struct lx_bpf_set *set, const struct lx_bpf_want *want, void *owner)
{
	int err = check_needs(set, want->need);

	if (!err)
		err = open_skeleton(set, want, owner);
	if (err)
		return err;
	prepare_pins(set, want);
	return load(set, want);
}

static int load_or_clean(struct lx_bpf_set *set, const struct lx_bpf_want *want, void *owner)
{
	int err = try_load(set, want, owner);

	if (err) {
		/* If our programs do not load, do not leave the old ones running. */
		if (set->bpf->pins[0] && !lx_pin_path(set->bpf->pins, set->name, set->dir))
			clean_set(set->bpf, set->dir);
		set->taken_over = false;
		if (set->bpf->enabled)
			lx_warn("bpf=%s reason=\"%s\" action=\"%s\"", set->name, set->reason,
				want->otherwise);
		return err;
	}
	set->loaded = true;
	if (want->hold)
		set->hold = bpf_object__find_program_by_name(*set->skeleton->obj, want->hold);
	if (set->dir[0]) {
		lx_hooks_adopt(set);
		pin_programs(set);
	}
	lx_info("bpf=%s action=%s pins=%s", set->name,
		set->taken_over ? "\"loaded, state taken over\"" : "loaded",
		set->dir[0] ? set->dir : "none");
	return 0;
}

int lx_bpf_load(struct lx_bpf *bpf, const struct lx_bpf_want *want, void *owner,
		struct lx_bpf_set **ret_set)
{
	struct lx_bpf_set *set = calloc(1, sizeof(*set));
	int err;

	if (!set)
		return -ENOMEM;
	set->bpf = bpf;
	set->name = want->name;
	set->otherwise = want->otherwise;
	lx_list_init(&set->hooks);
	/* Loading takes a while, and readers of the other sets must not wait for it. */
	err = load_or_clean(set, want, owner);
	pthread_mutex_lock(&bpf->lock);
	lx_list_append(&bpf->sets, &set->link);
	pthread_mutex_unlock(&bpf->lock);
	*ret_set = set;
	return err;
}

struct bpf_object *lx_bpf_object(const struct lx_bpf_set *set)
{
	return *set->skeleton->obj;
}

void lx_bpf_pin(struct lx_bpf_set *set, int fd, const char *name)
{
	char path[LX_BPF_PATH];

	pthread_mutex_lock(&set->bpf->lock);
	if (set->dir[0] && !lx_pin_path(set->dir, name, path) && bpf_obj_pin(fd, path))
		lx_debug("pin=%s reason=\"%s\"", path, strerror(errno));
	pthread_mutex_unlock(&set->bpf->lock);
}

const char *lx_bpf_reason(const struct lx_bpf_set *set)
{
	return set->reason;
}

bool lx_bpf_taken_over(const struct lx_bpf_set *set)
{
	return set->taken_over;
}

void lx_bpf_unload(struct lx_bpf_set *set, bool keep)
{
	struct lx_bpf *bpf = set ? set->bpf : NULL;

	if (!set)
		return;
	lx_hooks_detach(set, NULL, NULL);
	pthread_mutex_lock(&bpf->lock);
	if (set->dir[0] && (!keep || !set->loaded))
		clean_set(bpf, set->dir);
	lx_list_del(&set->link);
	pthread_mutex_unlock(&bpf->lock);
	free(set);
}

/* ---- what others remove ------------------------------------------------------------- */

static bool is_pinned(const struct lx_bpf_set *set)
{
	const struct lx_hook *h;
	char path[LX_BPF_PATH];

	lx_list_for_each (h, &set->hooks, link) {
		if (h->pin[0] && access(h->pin, F_OK))
			return false;
	}
	return lx_pin_path(set->dir, "abi", path) || !access(path, F_OK);
}

static void pin_maps(const struct lx_bpf_set *set)
{
	char path[LX_BPF_PATH];
	struct bpf_map *map;

	bpf_object__for_each_map (map, *set->skeleton->obj) {
		if (!bpf_map__is_internal(map) &&
		    !lx_pin_path(set->dir, bpf_map__name(map), path) && access(path, F_OK) &&
		    bpf_obj_pin(bpf_map__fd(map), path))
			lx_debug("pin=%s reason=\"%s\"", path, strerror(errno));
	}
}

static void look_at_pins(struct lx_bpf_set *set)
{
	struct lx_bpf *bpf = set->bpf;
	struct lx_hook *h;

	if (!set->dir[0] || is_pinned(set))
		return;
	lx_removal_note(&set->pins_removed, lx_clock_ns(CLOCK_MONOTONIC));
	bpf->n_removed++;
	lx_warn("pins=%s removed=%u reason=\"another program or an admin removed them\" "
		"action=\"%s\"",
		set->dir, set->pins_removed.n,
		set->pins_removed.n < LX_REMOVALS_MAX
			? "pinned again"
			: "left so: the next lnetxd cannot take over what is in the kernel");
	if (set->pins_removed.n >= LX_REMOVALS_MAX ||
	    lx_pin_open(bpf->instance, bpf->pins, bpf->pins_note) ||
	    lx_pin_path(bpf->pins, set->name, set->dir) ||
	    (mkdir(set->dir, 0700) && errno != EEXIST)) {
		set->dir[0] = '\0';
		return;
	}
	pin_maps(set);
	pin_programs(set);
	lx_list_for_each (h, &set->hooks, link)
		lx_hook_pin(h, set->dir);
}

bool lx_bpf_look(struct lx_bpf *bpf)
{
	struct lx_bpf_set *set;
	bool due = false;

	pthread_mutex_lock(&bpf->lock);
	lx_list_for_each (set, &bpf->sets, link) {
		if (!set->loaded)
			continue;
		due |= lx_hooks_refresh(set);
		look_at_pins(set);
		due |= lx_hooks_look(set);
	}
	pthread_mutex_unlock(&bpf->lock);
	return due;
}

void lx_bpf_retry(struct lx_bpf *bpf)
{
	struct lx_bpf_set *set;
	struct lx_hook *h;

	pthread_mutex_lock(&bpf->lock);
	lx_list_for_each (set, &bpf->sets, link) {
		if (set->loaded)
			set->reason[0] = '\0';
		lx_list_for_each (h, &set->hooks, link)
			h->removals = (struct lx_removals){ 0 };
	}
	pthread_mutex_unlock(&bpf->lock);
}

/* ---- telling ----------------------------------------------------------------------- */

/* "memlock:" of a descriptor: bytes that the kernel holds for it. */
static uint64_t memory_of(int fd)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f) && sscanf(line, "memlock: %llu", &bytes) != 1)
		;
	fclose(f);
	return bytes;
}

static void add_object(struct lx_bpf_info *info, const struct lx_bpf_set *set, const char *kind,
		       const char *name, uint32_t id, uint32_t entries, int fd)
{
	struct lx_bpf_object_info *o;

	if (info->n_objects == LX_BPF_OBJECTS_MAX)
		return;
	o = &info->object[info->n_objects++];
	*o = (struct lx_bpf_object_info){ .set = set->name, .kind = kind, .id = id,
					  .entries = entries, .memory = memory_of(fd) };
	snprintf(o->name, sizeof(o->name), "%s", name);
	info->memory += o->memory;
}

static void add_objects(struct lx_bpf_info *info, const struct lx_bpf_set *set)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program (program, *set->skeleton->obj) {
		struct bpf_prog_info p = { 0 };
		uint32_t len = sizeof(p);
		int fd = bpf_program__fd(program);

		if (!bpf_obj_get_info_by_fd(fd, &p, &len))
			add_object(info, set, "program", bpf_program__name(program), p.id, 0, fd);
	}
	bpf_object__for_each_map (map, *set->skeleton->obj) {
		struct bpf_map_info m = { 0 };
		uint32_t len = sizeof(m);
		int fd = bpf_map__fd(map);

		if (!bpf_obj_get_info_by_fd(fd, &m, &len))
			add_object(info, set, "map", m.name, m.id, m.max_entries, fd);
	}
}

void lx_bpf_info(struct lx_bpf *bpf, struct lx_bpf_info *ret_info)
{
	const struct lx_bpf_set *set;
	struct utsname u;

	memset(ret_info, 0, sizeof(*ret_info));
	if (!uname(&u))
		snprintf(ret_info->kernel, sizeof(ret_info->kernel), "%.40s %.36s", u.release,
			 u.machine);
	ret_info->enabled = bpf->enabled;
	strcpy(ret_info->pins, bpf->pins);
	strcpy(ret_info->reason, bpf->pins_note);
	ret_info->n_features = LX_BPF_FEATURE_COUNT;
	memcpy(ret_info->feature, bpf->feature, sizeof(bpf->feature));
	pthread_mutex_lock(&bpf->lock);
	ret_info->n_removed = bpf->n_removed;
	lx_list_for_each (set, &bpf->sets, link) {
		struct lx_bpf_set_info *to = &ret_info->set[ret_info->n_sets];

		if (ret_info->n_sets == LX_BPF_SETS_MAX)
			break;
		*to = (struct lx_bpf_set_info){ .name = set->name,
						.loaded = set->loaded,
						.taken_over = set->taken_over };
		strcpy(to->reason, set->reason);
		ret_info->n_sets++;
		lx_hooks_info(set, ret_info);
		if (set->loaded)
			add_objects(ret_info, set);
	}
	pthread_mutex_unlock(&bpf->lock);
}
