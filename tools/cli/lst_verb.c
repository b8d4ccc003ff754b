/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the verbs of "lst" share; see the header. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../user/base/cleanup.h"
#include "../../user/ctl/dial.h"
#include "lst_verb.h"
#include "quantity.h"

#define NIDS_MAX 4096 /* in one list of IDs */

int lx_lst_find_daemon(struct lx_lst *l)
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

int lx_lst_begin(struct lx_lst *l, bool keyed)
{
	int err = lx_console_file_open(&l->file, l->socket);
	int64_t key = -1;

	if (err)
		return err;
	if (!l->file.console)
		return -ESRCH;
	if (l->key)
		lx_lst_number(l->key, 0, UINT32_MAX, &key);
	if (keyed && key != json_integer_value(json_object_get(l->file.console, "key")))
		return -EACCES;
	json_object_set_new(l->file.console, "used", json_integer(lx_console_now()));
	return 0;
}

void lx_lst_end(struct lx_lst *l)
{
	int err = lx_console_file_close(&l->file);

	if (err)
		fprintf(stderr, "lst: the session cannot be kept beside %s: %s\n", l->socket,
			strerror(-err));
}

int lx_lst_error(struct lx_lst *l, int err, const char *what, const char *failed)
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
	lx_lst_end(l);
	return LX_LST_EXIT_FAILED;
}

int lx_lst_option(int argc, char **argv, const struct option *options)
{
	return getopt_long(argc, argv, "", options, NULL);
}

bool lx_lst_number(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	return !lx_quantity_number(text, 10, min, max, ret_value);
}

bool lx_lst_name_fits(const char *name)
{
	if (strlen(name) < LX_LST_NAME)
		return true;
	fprintf(stderr, "Name size is limited to %d\n", LX_LST_NAME - 1);
	return false;
}

static bool are_nid4(const struct lx_nid *nids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (lx_nid_is_any(&nids[i]) || !lx_nid_is_nid4(&nids[i]))
			return false;
	}
	return true;
}

json_t *lx_lst_nids(const char *ids)
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

void lx_lst_run(struct lx_lst *l, struct lx_trans *t)
{
	lx_trans_run(t, l->socket);
	for (size_t i = 0; i < t->n; i++) {
		const struct lx_trans_one *one = &t->one[i];
		enum lx_console_state state = lx_console_node(l->file.console, one->nid);

		/* A node that has ended the session, or has another one, says so. */
		if (state == LX_CONSOLE_ACTIVE)
			lx_console_heard(l->file.console, one->nid,
					 one->err                ? LX_CONSOLE_DOWN
					 : one->status == ESRCH  ? LX_CONSOLE_UNKNOWN
								 : LX_CONSOLE_ACTIVE,
					 0, lx_console_now());
	}
}

json_t *lx_lst_active(const struct lx_lst *l, const json_t *nids)
{
	json_t *active = json_array(), *nid;
	size_t i;

	json_array_foreach (nids, i, nid) {
		if (lx_console_node(l->file.console, json_string_value(nid)) == LX_CONSOLE_ACTIVE)
			json_array_append(active, nid);
	}
	return active;
}
