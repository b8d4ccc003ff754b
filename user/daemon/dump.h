/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A snapshot being sent to a client: rows of one object, as many per packet as fit.
 * Owner: the client that requested it.
 */
#ifndef LX_DAEMON_DUMP_H
#define LX_DAEMON_DUMP_H

#include "daemon.h"

/* An array of what an object's schema describes; of peers struct lx_peer_info. */
struct lx_rows {
	void *list; /* malloc'd */
	size_t n;
};

/* Fills in the rows of a show. Returns 0 or a negative errno. */
typedef int lx_rows_fn(struct lx_daemon *d, struct lx_ctl_show *req, struct lx_rows *rows);

struct lx_dump {
	const struct lx_ctl_shown *object;
	unsigned int level;
	struct lx_rows rows;
	size_t next, next_ni; /* the next row to write */
	uint32_t seq;
	uint8_t command;
	int error; /* of the request, if its rows say more than that */
	bool done; /* the end has been written too */
};

/**
 * lx_dump_new - create a dump
 * @rows: owned by the dump from now on, even on failure
 * Returns 0 or -ENOMEM.
 */
int lx_dump_new(const struct lx_ctl_shown *object, unsigned int level, const struct lx_rows *rows,
		struct lx_dump **ret_dump);
void lx_dump_free(struct lx_dump *dump);

/* Bytes of an element. */
size_t lx_dump_size(const struct lx_ctl_shown *object);

/* A single element, zeroed; NULL: out of memory. */
void *lx_rows_one(struct lx_rows *rows, size_t size);

/* Fills a packet of LX_CTL_PACKET bytes. Returns its length; 0: nothing left. */
size_t lx_dump_fill(struct lx_dump *dump, void *packet);

/* One message of a dump, appended at @used; its length, or 0 if it does not fit. */
size_t lx_dump_message(const struct lx_ctl_shown *object, const void *group, const void *row,
		       unsigned int level, uint8_t command, uint32_t seq, void *packet,
		       size_t used);

/* The header of any answer. */
struct nlmsghdr *lx_dump_header(void *buf, uint16_t type, uint16_t flags, uint32_t seq);

#endif
