/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the verbs of "lst" share: the session between commands, errors in the words of the
 * reference, exit statuses. Verbs are in lst_session.c, lst_group.c, lst_batch.c, lst_test.c and
 * lst_stat.c.
 */
#ifndef LX_TOOLS_LST_VERB_H
#define LX_TOOLS_LST_VERB_H

#include <getopt.h>

#include "console_file.h"
#include "trans.h"

/* Exit status. */
#define LX_LST_EXIT_USAGE 4 /* returned by a verb: its usage is shown */
#define LX_LST_EXIT_NO_GROUP 234 /* list_group: there is none */
#define LX_LST_EXIT_NODES 254 /* some nodes failed */
#define LX_LST_EXIT_FAILED 255

struct lx_lst {
	char socket[PATH_MAX]; /* lnetxd's */
	const char *key; /* $LST_SESSION; NULL: not given */
	struct lx_console_file file; /* open between lx_lst_begin() and lx_lst_end() */
};

struct lx_lst_verb {
	const char *name;
	/* argv[0] is the verb. Returns the exit status. */
	int (*fn)(struct lx_lst *l, int argc, char **argv);
	const char *usage, *help;
	const struct option *option; /* for completion, too; NULL: none */
};

/* Each ended by name NULL. */
extern const struct lx_lst_verb lx_lst_session_verbs[], lx_lst_group_verbs[], lx_lst_batch_verbs[],
	lx_lst_test_verbs[], lx_lst_stat_verbs[];

/* Finds lnetxd. Returns 0, or an exit status: complained about. */
int lx_lst_find_daemon(struct lx_lst *l);

/**
 * lx_lst_begin - use the session, alone
 * @keyed: with the key in LST_SESSION only
 * Returns 0, or -errno for lx_lst_error(): -ESRCH no session, -EACCES another key.
 */
int lx_lst_begin(struct lx_lst *l, bool keyed);

/* Gives it back to others, saved. Nothing if it is not in use. */
void lx_lst_end(struct lx_lst *l);

/**
 * lx_lst_error - complain
 * @err: negative errno
 * @what: the object that is missing, or exists: "group"
 * @failed: what could not be done, for other reasons: "Failed to delete group"
 * Ends the use of the session. Returns LX_LST_EXIT_FAILED.
 */
int lx_lst_error(struct lx_lst *l, int err, const char *what, const char *failed);

/* The next option of a verb, as getopt_long() does; '?': unknown or without its value. */
int lx_lst_option(int argc, char **argv, const struct option *options);

/* A decimal number of at least @min; else returns false. */
bool lx_lst_number(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* A name of a session, group or batch fits; else complains. */
bool lx_lst_name_fits(const char *name);

/* Of "10.0.0.[1-4]@tcp": the NIDs, as a new array; NULL: it is no list, complained about. */
json_t *lx_lst_nids(const char *ids);

/* The same answer of several nodes, noted in the session: who does not answer is down. */
void lx_lst_run(struct lx_lst *l, struct lx_trans *t);

/* Of @nids those that have the session; a new array. */
json_t *lx_lst_active(const struct lx_lst *l, const json_t *nids);

#endif
