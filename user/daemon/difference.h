/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The changes of a reload: the configuration of a running node as a list of facts, compared with
 * the list after the reload, and with the list as of the last time the file was read. A fact
 * that differs from that one was set by command.
 */
#ifndef LX_DAEMON_DIFFERENCE_H
#define LX_DAEMON_DIFFERENCE_H

#include <stddef.h>

struct lx_node;
struct lx_tester;

/* "route to tcp2 through 10.0.0.1@tcp" has the setting "hop" with the value "2". */
struct lx_fact {
	char *what;
	char setting[64]; /* "": that there is such a thing */
	char value[64]; /* "": there is nothing but that */
};

struct lx_facts {
	struct lx_fact *list; /* sorted; NULL: not known */
	size_t n;
};

/* Returns 0 or -ENOMEM. */
int lx_difference_take(struct lx_node *node, struct lx_tester *tester, struct lx_facts *ret_facts);
void lx_difference_clear(struct lx_facts *facts);

/* Facts in @after that are not in @before count as read from the file, too. -ENOMEM. */
int lx_difference_learn(struct lx_facts *read, const struct lx_facts *before,
			const struct lx_facts *after);

/**
 * lx_difference_log_changes - log what a reload or an import has changed, a line each
 * @key: of the lines: "reload"
 * @read: as of the last time the file was read
 * Warns of what was set by command, and is lost.
 */
void lx_difference_log_changes(const char *key, const struct lx_facts *read,
			       const struct lx_facts *before, const struct lx_facts *after);

#endif
