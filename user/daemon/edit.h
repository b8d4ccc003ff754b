/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clients' changes to pieces of a node's configuration. */
#ifndef LX_DAEMON_EDIT_H
#define LX_DAEMON_EDIT_H

#include "../base/explain.h"
#include "../schema/requests.h"
#include "dump.h"

struct lx_edit {
	struct lx_daemon *daemon;
	struct lx_node *node;
	void *req; /* the struct that the request's schema describes */
	unsigned long netns; /* the client's; 0: unknown */
	char *text; /* set to a message */
	size_t size;
	int64_t count; /* set to the number of objects affected, if not obvious; else LX_UNSET */
	bool dry; /* set if the request was only to check something */
	int fd; /* of the text that came with the request, or -1 */
	struct lx_rows rows; /* set to the answer's, if the request has some */
};

/* Sets the text of an error, or of a remark on success. Returns @error. */
#define lx_edit_say(e, error, ...) lx_explain((e)->text, (e)->size, error, __VA_ARGS__)

struct lx_edit_kind {
	uint8_t object, verb; /* enum lx_ctl_object, enum lx_ctl_verb */
	int (*run)(struct lx_edit *edit); /* 0 or a negative errno */
	bool without_node; /* works without a configured node */
};

/* Room for lx_edit_place(). */
#define LX_EDIT_PLACE_TEXT 600

/*
 * Interfaces and addresses are those of lnetxd's namespace: says so if the client is in another
 * one, to go after the text of an error. Else "".
 */
void lx_edit_place(const struct lx_edit *edit, char *buf, size_t size);

/*
 * The NIs of a net share the tunables of its first one: names those that were given for an NI that
 * has been added, and are not in effect. Else "".
 */
void lx_edit_shared(const struct lx_edit *edit, const struct lx_conf_ni *ni, char *buf,
		    size_t size);

/* NULL: it is the node itself that changes. */
const struct lx_edit_kind *lx_edit_find(const struct lx_request *request);

/**
 * lx_edit_unknown_tunable - error text for an unknown tunable, with a suggestion
 * @name: "": the module is unknown
 * Returns -ENOENT.
 */
int lx_edit_unknown_tunable(struct lx_node *node, const char *module, const char *name, char *text,
			    size_t size);

#endif
