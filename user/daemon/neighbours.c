/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The file is named after the node's first NID, because an instance's name may contain the
 * inode number of its network namespace, which changes with the next boot. A line has a NID
 * and the time at which it last used this router, in seconds since 1970, latest first.
 * Invalid lines are skipped: the file only saves time.
 *
 * Runs on the main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/grow.h"
#include "../base/log.h"
#include "neighbours.h"

#define SAVE_MS 30000
#define MOST 4096           /* lines */
#define AGE_S (24 * 3600)   /* dropped after so long without use */
#define PATH_TEXT 512

struct neighbour {
	struct lx_nid nid;
	int64_t seen_s;
};

struct lx_neighbours {
	uv_timer_t timer;
	char path[PATH_TEXT]; /* of the file that @list was read from; "": none yet */
	struct neighbour *list;
	size_t n;
	bool warned;
};

/* ---- the list ------------------------------------------------------------------------ */

static int later_first(const void *a, const void *b)
{
	int64_t seen_a = ((const struct neighbour *)a)->seen_s;
	int64_t seen_b = ((const struct neighbour *)b)->seen_s;

	return (seen_b > seen_a) - (seen_b < seen_a);
}

static int by_nid(const void *a, const void *b)
{
	const struct neighbour *na = a, *nb = b;
	int order = memcmp(&na->nid, &nb->nid, sizeof(na->nid));

	return order ? order : later_first(a, b);
}

/* Sorts by time, latest first; removes duplicates, old entries and the surplus. */
static void tidy(struct lx_neighbours *nb, int64_t not_before_s)
{
	size_t kept = 0;

	if (!nb->n)
		return;
	qsort(nb->list, nb->n, sizeof(nb->list[0]), by_nid);
	for (size_t i = 0; i < nb->n; i++) {
		if (nb->list[i].seen_s < not_before_s ||
		    (kept && lx_nid_eq(&nb->list[i].nid, &nb->list[kept - 1].nid)))
			continue;
		nb->list[kept++] = nb->list[i];
	}
	qsort(nb->list, kept, sizeof(nb->list[0]), later_first);
	nb->n = kept < MOST ? kept : MOST;
}

/* Without memory it is left out. */
static void add(struct lx_neighbours *nb, const struct lx_nid *nid, int64_t seen_s)
{
	struct neighbour *one = lx_grow(&nb->list, &nb->n, sizeof(*one));

	if (one)
		*one = (struct neighbour){ *nid, seen_s };
}

/* ---- the file ------------------------------------------------------------------------ */

const char *lx_neighbours_dir(char *buf, size_t size)
{
	const char *dir = getenv("STATE_DIRECTORY"); /* systemd's; the first of several */

	if (!dir)
		dir = getenv("LNETX_RUNDIR");
	snprintf(buf, size, "%s", dir && *dir ? dir : LX_NEIGHBOURS_STATEDIR);
	buf[strcspn(buf, ":")] = '\0';
	return buf;
}

/* False: the node has no NI yet. */
static bool make_path(struct lx_node *node, char *path, size_t size)
{
	struct lx_ni_info *list LX_AUTO_FREE = NULL;
	char dir[PATH_TEXT - LX_NID_TEXT - 16];
	size_t n = 0;

	if (lx_ni_list(node, &list, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (lx_net_type(list[i].net) == LX_NET_LO)
			continue;
		snprintf(path, size, "%s/%s.neighbours", lx_neighbours_dir(dir, sizeof(dir)),
			 lx_nid_str(&list[i].nid));
		return true;
	}
	return false;
}

static void read_file(struct lx_neighbours *nb)
{
	char line[LX_NID_TEXT + 32], nid[sizeof(line)];
	FILE *f = fopen(nb->path, "re");
	struct lx_nid one;
	long long seen_s;

	while (f && nb->n < MOST && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%s %lld", nid, &seen_s) == 2 && !lx_nid_parse(nid, &one) &&
		    !lx_nid_is_any(&one))
			add(nb, &one, seen_s);
	}
	if (f)
		fclose(f);
	tidy(nb, INT64_MIN);
}

/* Replaces the file atomically. */
static int write_file(const struct lx_neighbours *nb)
{
	char dir[PATH_TEXT], path[PATH_TEXT + 8];
	int err = 0;
	FILE *f;

	lx_neighbours_dir(dir, sizeof(dir));
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s.new", nb->path);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	for (size_t i = 0; i < nb->n; i++)
		fprintf(f, "%s %lld\n", lx_nid_str(&nb->list[i].nid),
			(long long)nb->list[i].seen_s);
	if (ferror(f))
		err = -EIO;
	if (fclose(f) && !err)
		err = -errno;
	if (!err && rename(path, nb->path) < 0)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

/* Reads the list from the node's file. False: there is no file name yet. */
static bool open_file(struct lx_neighbours *nb, struct lx_node *node)
{
	char path[PATH_TEXT];

	if (!make_path(node, path, sizeof(path)))
		return false;
	if (strcmp(path, nb->path)) {
		strcpy(nb->path, path);
		nb->n = 0;
		read_file(nb);
	}
	return true;
}

/* ---- announcing ---------------------------------------------------------------------- */

static enum lx_routing_state routing_of(struct lx_node *node)
{
	struct lx_routing_info info = { .state = LX_ROUTING_OFF };

	if (node)
		lx_routing_get(node, &info);
	return info.state;
}

void lx_neighbours_announce(struct lx_daemon *d)
{
	struct lx_neighbours *nb = d->neighbours;
	enum lx_routing_state routing = routing_of(d->node);
	struct lx_nid *nids LX_AUTO_FREE = NULL;

	if ((routing != LX_ROUTING_ON && routing != LX_ROUTING_STARTING) ||
	    !open_file(nb, d->node) || !nb->n)
		return;
	nids = calloc(nb->n, sizeof(*nids));
	if (!nids)
		return;
	for (size_t i = 0; i < nb->n; i++)
		nids[i] = nb->list[i].nid;
	lx_announce(d->node, nids, nb->n);
}

static void add_users(struct lx_neighbours *nb, struct lx_node *node, int64_t now_s)
{
	struct lx_neighbour_info *users LX_AUTO_FREE = NULL;
	size_t n;

	if (lx_neighbour_list(node, &users, &n))
		return;
	for (size_t i = 0; i < n; i++)
		add(nb, &users[i].nid, now_s - users[i].idle_s);
}

void lx_neighbours_save(struct lx_daemon *d)
{
	struct lx_neighbours *nb = d->neighbours;
	int64_t now_s = time(NULL);
	int err;

	if (routing_of(d->node) == LX_ROUTING_OFF || !open_file(nb, d->node))
		return;
	add_users(nb, d->node, now_s);
	tidy(nb, now_s - AGE_S);
	if (!nb->n && access(nb->path, F_OK))
		return;
	err = write_file(nb);
	if (err && !nb->warned)
		lx_warn("file=%s reason=\"%s\" action=\"after a restart neighbours find this "
			"router "
			"when they next check it, not at once\"",
			nb->path, strerror(-err));
	nb->warned = err;
}

/* ---- life ---------------------------------------------------------------------------- */

static void on_timer(uv_timer_t *timer)
{
	lx_neighbours_save(timer->data);
}

int lx_neighbours_new(struct lx_daemon *daemon, struct lx_neighbours **ret_neighbours)
{
	struct lx_neighbours *nb = calloc(1, sizeof(*nb));
	int err;

	if (!nb)
		return -ENOMEM;
	err = uv_timer_init(daemon->loop, &nb->timer);
	if (!err)
		err = uv_timer_start(&nb->timer, on_timer, SAVE_MS, SAVE_MS);
	if (err) {
		free(nb);
		return err;
	}
	nb->timer.data = daemon;
	*ret_neighbours = nb;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct lx_neighbours *nb = lx_container_of(handle, struct lx_neighbours, timer);

	free(nb->list);
	free(nb);
}

void lx_neighbours_free(struct lx_neighbours *nb)
{
	if (nb)
		uv_close((uv_handle_t *)&nb->timer, on_closed);
}
