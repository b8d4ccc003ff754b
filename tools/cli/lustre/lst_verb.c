/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the verbs of "lst"; see the header. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/integer.h"
#include "../../../user/ctl/dial.h"
#include "../common/json.h"
#include "lst_verb.h"

#define NIDS_MAX 4096 /* in one list of IDs */
#define OPTIONS_MAX 16

int lx_lst_verb_find_daemon(struct lx_lst *l)
{
	struct sockaddr_un sa = { .sun_family = AF_UNSPEC };
	socklen_t len = sizeof(sa) - 1;
	char why[256] = "";
	int fd LX_AUTO_CLOSE = lx_dial(NULL, -1, why, sizeof(why));

	*l = (struct lx_lst){ .key = getenv("LST_SESSION"), .file = { .fd = -1, .keeper_fd = -1 } };
	if (fd < 0 || getpeername(fd, (struct sockaddr *)&sa, &len) || !sa.sun_path[0]) {
		fprintf(stderr, "lst: %s\n", *why ? why : "lnetxd's socket has no path");
		return LX_LST_EXIT_FAILED;
	}
	snprintf(l->socket, sizeof(l->socket), "%s", sa.sun_path);
	return 0;
}

int lx_lst_verb_begin(struct lx_lst *l, bool keyed)
{
	int err = lx_console_file_open(&l->file, l->socket);
	int64_t key = -1;

	if (err)
		return err;
	if (!l->file.console)
		return -ESRCH;
	if (l->key)
		lx_lst_verb_number(l->key, 0, UINT32_MAX, &key);
	if (keyed && key != lx_json_int(l->file.console, "key"))
		return -EACCES;
	json_object_set_new(l->file.console, "used", json_integer(lx_console_now()));
	return 0;
}

void lx_lst_verb_end(struct lx_lst *l)
{
	int err = lx_console_file_close(&l->file);

	if (err)
		fprintf(stderr, "lst: the session cannot be kept beside %s: %s\n", l->socket,
			strerror(-err));
}

int lx_lst_verb_begin_after(struct lx_lst *l, int64_t seconds)
{
	lx_lst_verb_end(l);
	sleep(seconds);
	return lx_lst_verb_begin(l, true);
}

void lx_lst_verb_error(const struct lx_lst *l, int err, const char *what, const char *failed)
{
	switch (-err) {
	case ESRCH:
		fprintf(stderr, "No session exists\n");
		break;
	case EACCES:
		if (l->key || l->file.fd < 0) /* the file cannot be opened */
			fprintf(stderr, "Unmatched session key or not root\n");
		else
			fprintf(stderr, "Can't find env LST_SESSION or value is not valid\n");
		break;
	case ENOENT:
		fprintf(stderr, "Can't find %s in current session\n", what);
		break;
	case EINVAL:
		fprintf(stderr, "Invalid parameters list in command line\n");
		break;
	case EEXIST:
		fprintf(stderr, "%s already exists\n", what);
		break;
	default:
		fprintf(stderr, "%s: %s\n", failed, strerror(-err));
	}
}

bool lx_lst_verb_number(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	return !lx_integer_parse(text, 10, min, max, ret_value);
}

/* ---- words ------------------------------------------------------------------------------ */

static int take_option(struct lx_lst *l, const struct lx_lst_verb *v, int letter)
{
	const struct lx_lst_option *o = v->option;

	while (o->name && o->letter != letter)
		o++;
	if (!o->name)
		return LX_LST_EXIT_USAGE;
	l->text[letter] = optarg ? optarg : "";
	if (o->choice) {
		l->choice = letter;
		l->n_choices++;
	}
	if (!o->max || lx_lst_verb_number(optarg, o->min, o->max, &l->number[letter]))
		return 0;
	if (!v->wrong)
		return LX_LST_EXIT_USAGE;
	fprintf(stderr, "%s\n", v->wrong);
	return LX_LST_EXIT_FAILED;
}

static int parse(struct lx_lst *l, const struct lx_lst_verb *v, int argc, char **argv)
{
	struct option options[OPTIONS_MAX] = { 0 };
	const struct lx_lst_option *o = v->option;
	int letter, err = 0;

	optind = !o; /* 0: getopt_long() starts again */
	for (int i = 0; o && o->name; i++, o++) {
		options[i] = (struct option){ o->name, o->valued, NULL, o->letter };
		l->number[(int)o->letter] = o->number;
	}
	while (!err && v->option && (letter = getopt_long(argc, argv, "", options, NULL)) != -1)
		err = take_option(l, v, letter);
	l->word = argv + optind;
	l->n_words = argc - optind;
	if (!err && (l->n_words < v->min || (v->max && l->n_words > v->max)))
		err = LX_LST_EXIT_USAGE;
	if (!err && v->named && l->n_words && strlen(l->word[0]) >= LX_LST_NAME) {
		fprintf(stderr, "Name size is limited to %d\n", LX_LST_NAME - 1);
		err = LX_LST_EXIT_FAILED;
	}
	return err;
}

int lx_lst_verb_do(struct lx_lst *l, const struct lx_lst_verb *v, int argc, char **argv)
{
	int status = parse(l, v, argc, argv);

	if (!status)
		status = v->fn(l);
	if (status < 0) {
		lx_lst_verb_error(l, status, l->what ? l->what : v->what, v->failed);
		status = LX_LST_EXIT_FAILED;
	}
	lx_lst_verb_end(l);
	if (status == LX_LST_EXIT_USAGE)
		fprintf(stderr, "Usage: lst %s\n", v->usage);
	return !status && l->failed ? LX_LST_EXIT_NODES : status;
}

/* ---- nodes ------------------------------------------------------------------------------ */

static bool are_nid4(const struct lx_nid *nids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (lx_nid_is_any(&nids[i]) || !lx_nid_is_nid4(&nids[i]))
			return false;
	}
	return true;
}

json_t *lx_lst_verb_nids(const char *ids)
{
	struct lx_nid *nids LX_AUTO_FREE = NULL;
	json_t *list;
	size_t n = 0;

	/* With a process id, as lists of nodes show them. */
	if (!strncmp(ids, "12345-", 6))
		ids += 6;
	if (lx_nid_expand(ids, NIDS_MAX, &nids, &n) || !are_nid4(nids, n)) {
		fprintf(stderr, "Invalid nid: %s\n", ids);
		return NULL;
	}
	list = json_array();
	for (size_t i = 0; i < n; i++) {
		if (!lx_console_has(list, lx_nid_str(&nids[i])))
			json_array_append_new(list, json_string(lx_nid_str(&nids[i])));
	}
	return list;
}

size_t lx_lst_verb_note(struct lx_lst *l, const struct lx_trans *t, const char *what)
{
	size_t failed = 0;

	lx_trans_for_each (one, t) {
		/* A node that has ended the session, or has another one, says so. */
		if (lx_console_node(l->file.console, one->nid) == LX_CONSOLE_ACTIVE)
			lx_console_heard(l->file.console, one->nid,
					 one->err                ? LX_CONSOLE_DOWN
					 : one->status == ESRCH  ? LX_CONSOLE_UNKNOWN
								 : LX_CONSOLE_ACTIVE,
					 0, lx_console_now());
		failed += one->failed;
		if (what && one->failed)
			fprintf(stderr, "%s%s%s failed on 12345-%s: %s\n",
				one->err ? "" : "operation ", what, one->err ? " RPC" : "",
				one->nid, strerror(one->err ? -one->err : one->status));
	}
	return failed;
}

size_t lx_lst_verb_list(const struct lx_lst *l, const char *objects)
{
	json_t *object;
	size_t i;

	json_array_foreach (json_object_get(l->file.console, objects), i, object)
		printf("%zu) %s\n", i + 1, lx_json_text(object, "name"));
	return i;
}

size_t lx_lst_verb_list_nodes(const struct lx_lst *l, const json_t *nids, unsigned int states)
{
	size_t i, n = 0;
	json_t *nid;

	json_array_foreach (nids, i, nid) {
		enum lx_console_state state =
			lx_console_node(l->file.console, json_string_value(nid));

		if (!(states >> state & 1))
			continue;
		printf("\t12345-%s: %s\n", json_string_value(nid), lx_console_state_name(state));
		n++;
	}
	return n;
}

void lx_lst_verb_list_counts(const struct lx_lst *l, const char *begin, const json_t *nids,
			     const char *end)
{
	unsigned int n[LX_CONSOLE_STATES];

	lx_console_count(l->file.console, nids, n);
	printf("%s\t%u\t%u\t%u\t%u\t%zu%s%s\n", begin, n[LX_CONSOLE_ACTIVE], n[LX_CONSOLE_BUSY],
	       n[LX_CONSOLE_DOWN], n[LX_CONSOLE_UNKNOWN], json_array_size(nids), end ? "\t" : "",
	       end ? end : "");
}
