/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the verbs of "lst": their words, the session between commands, errors in the words of
 * the reference, exit statuses. Verbs are in lst_session.c, lst_group.c, lst_batch.c, lst_test.c
 * and lst_stat.c.
 */
#ifndef LX_TOOLS_LST_VERB_H
#define LX_TOOLS_LST_VERB_H

#include "../common/trans.h"
#include "console_file.h"

/* Exit status. */
#define LX_LST_EXIT_USAGE 4 /* returned by a verb: its usage is shown */
#define LX_LST_EXIT_NO_GROUP 234 /* list_group: there is none */
#define LX_LST_EXIT_NODES 254 /* some nodes failed */
#define LX_LST_EXIT_FAILED 255

struct lx_lst {
	char socket[PATH_MAX]; /* lnetxd's */
	const char *key; /* $LST_SESSION; NULL: not given */
	struct lx_console_file file; /* open between lx_lst_verb_begin() and lx_lst_verb_end() */

	/* The words of the verb. */
	const char *text[128]; /* of options, by letter; "": a flag; NULL: not given */
	int64_t number[128];
	char choice; /* the last option that is a choice; 0: none */
	int n_choices;
	char **word; /* those that belong to no option; ended by NULL */
	int n_words;

	const char *what; /* the object that is missing, or exists; NULL: lx_lst_verb.what */
	size_t failed; /* nodes */
};

struct lx_lst_option {
	const char *name;
	char letter; /* of its value in struct lx_lst */
	bool valued, choice;
	int64_t min, max, number; /* of a number; max 0: a text. number: the default */
};

/* clang-format off */
#define LX_LST_FLAG(text, l) { .name = text, .letter = l }
#define LX_LST_TEXT(text, l) { .name = text, .letter = l, .valued = true }
#define LX_LST_CHOICE(text, l) { .name = text, .letter = l, .choice = true }
#define LX_LST_CHOICE_TEXT(text, l) { .name = text, .letter = l, .valued = true, .choice = true }
#define LX_LST_NUMBER(text, l, from, to, value) { text, l, true, false, from, to, value }
/* clang-format on */

struct lx_lst_verb {
	const char *name;
	/* Returns 0, the exit status or, for lx_lst_verb_error(), a negative errno. */
	int (*fn)(struct lx_lst *l);
	const char *usage, *help;
	const struct lx_lst_option *option; /* ended by name NULL; NULL: none */
	int min, max; /* words; max 0: any number */
	const char *what; /* the object that it is about: "group" */
	const char *failed; /* what could not be done: "Failed to delete group" */
	const char *wrong; /* a number that does not fit; NULL: the usage */
	bool named; /* the first word is a new name, which must fit */
};

/* Each ended by name NULL. */
extern const struct lx_lst_verb lx_lst_session_verbs[], lx_lst_group_verbs[], lx_lst_batch_verbs[],
	lx_lst_test_verbs[], lx_lst_stat_verbs[];

/* Finds lnetxd. Returns 0, or an exit status: complained about. */
int lx_lst_verb_find_daemon(struct lx_lst *l);

/* Does what a verb's words say. Returns the exit status. */
int lx_lst_verb_do(struct lx_lst *l, const struct lx_lst_verb *v, int argc, char **argv);

/**
 * lx_lst_verb_begin - use the session, alone
 * @keyed: with the key in LST_SESSION only
 * Returns 0, or -errno for the verb to return: -ESRCH no session, -EACCES another key.
 */
int lx_lst_verb_begin(struct lx_lst *l, bool keyed);

/* Gives it back to others, saved. Nothing if it is not in use. */
void lx_lst_verb_end(struct lx_lst *l);

/* Begins again after @seconds, in which others may use the session. */
int lx_lst_verb_begin_after(struct lx_lst *l, int64_t seconds);

/**
 * lx_lst_verb_error - complain
 * @err: negative errno
 * @what: the object that is missing, or exists: "group"
 * @failed: what could not be done, for other reasons
 */
void lx_lst_verb_error(const struct lx_lst *l, int err, const char *what, const char *failed);

/* A decimal number of at least @min; else returns false. */
bool lx_lst_verb_number(const char *text, int64_t min, int64_t max, int64_t *ret_value);

/* Of "10.0.0.[1-4]@tcp": the NIDs, as a new array; NULL: it is no list, complained about. */
json_t *lx_lst_verb_nids(const char *ids);

/*
 * Notes in the session which nodes have answered: who does not is down. Complains about each that
 * failed, if @what is not NULL. Returns how many failed.
 */
size_t lx_lst_verb_note(struct lx_lst *l, const struct lx_trans *t, const char *what);

/* Prints the names of "groups" or "batches". Returns how many there are. */
size_t lx_lst_verb_list(const struct lx_lst *l, const char *objects);

/* Prints those of @nids whose state is in a set, 1 << enum lx_console_state. Returns how many. */
size_t lx_lst_verb_list_nodes(const struct lx_lst *l, const json_t *nids, unsigned int states);

/* Prints how many of @nids are in each state, and all. @end: the last column; NULL: none */
void lx_lst_verb_list_counts(const struct lx_lst *l, const char *begin, const json_t *nids,
			     const char *end);

#endif
