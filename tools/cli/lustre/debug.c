/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetctl debug": what is being recovered, and how lists of NIDs are read. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/cleanup.h"
#include "../../../user/base/nidrange.h"
#include "../common/print.h"
#include "lnetctl.h"

#define STATUS_INVALID 234 /* -EINVAL, as an exit status */

/* ---- health ------------------------------------------------------------------------ */

static int recovery(struct lx_session *s, const struct lx_args *a)
{
	bool of_peers = a->v[LX_ARG_PEER];
	json_t *list, *one, *map;
	char key[32];
	size_t i;
	int err;

	if (of_peers == !!a->v[LX_ARG_LOCAL])
		return lx_session_fail(s, -EINVAL, "give --local or --peer");
	err = lx_request_show_all(s, LX_CTL_RECOVERY, LX_LEVEL_OWN, &list);
	if (err)
		return err;
	map = json_object();
	json_array_foreach (list, i, one) {
		if (strcmp(json_string_value(json_object_get(one, "kind")),
			   of_peers ? "peer" : "local"))
			continue;
		snprintf(key, sizeof(key), "nid-%zu", json_object_size(map));
		json_object_set(map, key, json_object_get(one, "nid"));
	}
	lx_lnetctl_print(of_peers ? "Peer NI recovery" : "Local NI recovery", map, &lx_print_wide);
	json_decref(list);
	return 0;
}

/* There is such a peer or not: the reference prints nothing, and neither is an error. */
static int peer(struct lx_session *s, const struct lx_args *a)
{
	struct lx_nid nid;

	if (!a->v[LX_ARG_NID])
		return lx_session_fail(s, -EINVAL, "give --nid, a NID of the peer");
	if (lx_nid_parse(a->v[LX_ARG_NID], &nid) || nid.type == LX_NET_LO)
		return lx_session_fail(s, -EINVAL, "\"%s\" is not a NID of a peer",
				       a->v[LX_ARG_NID]);
	return 0;
}

/* ---- NID lists --------------------------------------------------------------------- */

/* "*@tcp", or a range that names addresses. */
static int range_parse(const char *word, struct lx_nid_range *ret_range)
{
	const char *at = strchr(word, '@');

	if (!at)
		return -EINVAL;
	return lx_nidrange_parse(at == word + 1 && *word == '*' ? at + 1 : word, ret_range);
}

/* Ranges are separated by spaces. Prints them in their canonical form, and fills in @ret_match. */
static int print_list(const char *list, const struct lx_nid *nid, bool *ret_match)
{
	char *copy LX_AUTO_FREE = strdup(list), *save = NULL;
	char *out LX_AUTO_FREE = NULL;
	struct lx_nid_range range;
	size_t size;
	FILE *f = copy ? open_memstream(&out, &size) : NULL;
	int n = 0, err = f ? 0 : -ENOMEM;
	char text[LX_NID_RANGE_TEXT];

	*ret_match = false;
	for (char *word = strtok_r(copy, " ", &save); word && !err;
	     word = strtok_r(NULL, " ", &save)) {
		err = range_parse(word, &range);
		if (err) {
			fprintf(stderr,
				"lnetctl: \"%s\" is not a range of NIDs such as 10.0.*.[1-8]@tcp\n",
				word);
			break;
		}
		fprintf(f, "%s%s%s", n++ ? " " : "", range.form == LX_NID_RANGE_NET ? "*@" : "",
			lx_nidrange_format(&range, text, sizeof(text)));
		*ret_match = *ret_match || (nid && lx_nidrange_has(&range, nid));
	}
	if (f)
		fclose(f);
	if (!err && n)
		printf("nidlist parsed to: %s\n", out);
	return err || !n ? -EINVAL : 0;
}

static int nidlist(struct lx_session *s, const struct lx_args *a)
{
	const char *list = a->n_rest ? a->rest[0] : NULL, *text = a->n_rest > 1 ? a->rest[1] : NULL;
	struct lx_nid nid;
	bool match;

	if (!list) {
		fputs("lnetctl: give a list of NIDs\n", stderr);
		return LX_TOLD + STATUS_INVALID;
	}
	if (a->n_rest > 2) {
		fprintf(stderr,
			"lnetctl: \"%s\" is not expected: a list with spaces needs quotes\n",
			a->rest[2]);
		return LX_TOLD + STATUS_INVALID;
	}
	if (text && lx_nid_parse(text, &nid)) {
		fprintf(stderr, "lnetctl: \"%s\" is not a NID\n", text);
		return LX_TOLD + STATUS_INVALID;
	}
	if (print_list(list, text ? &nid : NULL, &match)) {
		fprintf(stderr, "lnetctl: cannot read the list of NIDs: %s\n", list);
		return LX_TOLD + STATUS_INVALID;
	}
	if (text)
		printf("%s %s nidlist %s\n", text, match ? "matches" : "does not match", list);
	return 0;
}

/* clang-format off */

static const struct lx_option recovery_options[] = {
	{ "local", 'l', LX_OPTION_FLAG, LX_ARG_LOCAL, "this node's own NIs" },
	{ "peer", 'p', LX_OPTION_FLAG, LX_ARG_PEER, "NIs of peers" },
	{ 0 }
};

static const struct lx_option peer_options[] = {
	{ "nid", 'k', LX_OPTION_VALUE, LX_ARG_NID, "a NID of the peer" },
	{ 0 }
};

const struct lx_lnetctl_cmd lx_lnetctl_debug_cmds[] = {
	{ "recovery", recovery, "NIDs below full health, which are pinged",
	  .option = recovery_options, .style = LX_ERROR_OLD, .op = "debug", .object = "recovery" },
	{ "peer", peer, "checks the NID and prints nothing; see \"peer show --verbose 4\"",
	  .option = peer_options, .style = LX_ERROR_OLD, .op = "debug", .object = "peer" },
	{ "nidlist", nidlist,
	  "show how a list of NIDs is parsed, and whether a NID is in it: LIST [NID]",
	  .op = "show", .object = "nidlist", .max_rest = LX_CTL_NIDS_MAX },
	{ 0 }
};
