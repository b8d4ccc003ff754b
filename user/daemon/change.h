/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes of the node: done one at a time, in order of request, by a worker
 * thread, because starting, stopping and removing may wait for messages in flight.
 */
#ifndef LX_DAEMON_CHANGE_H
#define LX_DAEMON_CHANGE_H

#include "../base/explain.h"
#include "../schema/requests.h"
#include "client.h"

struct lx_change_task;

/*
 * Of a change by the daemon itself: gets the outcome on the main thread. The text is ""
 * or a message, including the file's name. With @applied and an @error, a reload has applied
 * what it could.
 */
typedef void (*lx_change_fn)(struct lx_daemon *daemon, int error, bool applied, const char *text);

struct lx_change_kind {
	const char *verb; /* in the log; NULL: the request's */
	const char *meanwhile; /* why there is no node while it runs; NULL: there is */
	const struct lx_change_kind *first; /* comes before it; or NULL */
	bool without_node; /* it comes before there has been one */
	/* All but one may be NULL. Main thread: when it is put into the queue. */
	void (*queued)(struct lx_daemon *daemon);
	/* Main thread. False: there is nothing to do for the worker, and the answer is known. */
	bool (*begin)(struct lx_change_task *c);
	/* The worker. Not NULL. Returns 0 or a negative errno. */
	int (*run)(struct lx_change_task *c);
	/* Main thread: the daemon takes what the change has made. */
	void (*end)(struct lx_change_task *c);
};

struct lx_change_task {
	struct lx_daemon *daemon;
	uint16_t flags; /* of the request */
	struct lx_node *node; /* to work on; of a start: the new one */
	struct lx_conf *conf; /* ours if not the daemon's */
	struct lx_conf *later; /* of it, what waits for an interface; NULL: nothing */
	struct lx_saved saved; /* of a stop: the node's tunables */
	int error;
	bool applied; /* of a reload: the file holds now, even if parts of it failed */
	char text[400];

	/* For the queue alone. */
	struct lx_list link;
	uv_work_t work;
	const struct lx_change_kind *kind;
	const struct lx_edit_kind *edit; /* of run_edit() */
	const struct lx_request *request; /* a client's; else NULL */
	void *req; /* its struct */
	struct lx_client *client; /* waits for the answer; may be NULL */
	unsigned long netns; /* the client's; 0: unknown */
	long uid, pid; /* the client's; pid 0: the daemon itself */
	lx_change_fn done; /* for a change by the daemon itself */
	int fd; /* as in struct lx_edit, as the next ones */
	struct lx_rows rows;
	int64_t count;
	bool dry;
};

/* Sets the text of an error, or of a remark on success. Returns @error. */
#define lx_change_say(c, error, ...) lx_explain((c)->text, sizeof((c)->text), error, __VA_ARGS__)

int lx_changes_new(struct lx_daemon *daemon, struct lx_changes **ret_changes);
/* No change may be running: lx_change_last() was the last one. NULL is fine. */
void lx_changes_free(struct lx_changes *changes);

/* Says why there is no node now, and what to do. Returns -ENETDOWN. Main thread. */
int lx_change_no_node(struct lx_daemon *daemon, char *text, size_t size);

/* A client's request to change something; answered when it is done. @kind: unless it is an edit */
void lx_change_request(struct lx_client *client, const struct lx_change_kind *kind,
		       const struct lx_request *request, const void *attrs, size_t len);

/* A change by the daemon itself. @flags: as of a client's request; @done: or NULL */
int lx_change_own(struct lx_daemon *daemon, const struct lx_change_kind *kind, uint16_t flags,
		  lx_change_fn done);

/* The same, and the end: those that wait are refused. */
int lx_change_last(struct lx_daemon *daemon, const struct lx_change_kind *kind, lx_change_fn done);

/* None is running, and there may be another one. */
bool lx_change_idle(const struct lx_daemon *daemon);

#endif
