/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls and answers of lxload: each has its own memory, freed with its MD.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "note.h"

struct note {
	void (*failed)(int status, void *arg);
	void *arg;
	char data[];
};

static void on_event(const struct lx_event *event)
{
	struct note *note = event->user;

	if (event->type == LX_EVENT_SEND && event->status && note->failed)
		note->failed(event->status, note->arg);
	if (event->unlinked)
		free(note);
}

int lx_note_send(struct lx_node *node, const struct lx_id *to, uint64_t bits, const void *data,
		 size_t len, void (*failed)(int status, void *arg), void *arg)
{
	struct note *note = malloc(sizeof(*note) + len);
	struct lx_md_desc desc = { .length = len, .threshold = 1, .handler = on_event };
	struct lx_handle md;
	int r;

	if (!note)
		return -ENOMEM;
	*note = (struct note){ .failed = failed, .arg = arg };
	memcpy(note->data, data, len);
	desc.start = note->data;
	desc.user = note;
	r = lx_md_bind(node, &desc, LX_UNLINK, &md);
	if (r) {
		free(note);
		return r;
	}
	r = lx_put(node, NULL, md, false, to, LX_LOAD_PORTAL, bits, 0, 0);
	if (r)
		lx_md_unlink(node, md); /* its event frees */
	return r;
}
