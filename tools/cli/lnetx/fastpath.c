/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx stream", "lnetx lane", "lnetx trace": the messages that the kernel forwards. */
#include <stdio.h>

#include "../common/json.h"
#include "lnetx.h"

const struct lx_command lx_stream_commands[] = {
	{ "show", lx_lnetx_show,
	  .help = "per stream, how many messages went by lanes, and why the others did not" },
	{ 0 },
};

const struct lx_command lx_lane_commands[] = {
	{ "show", lx_lnetx_show,
	  .help =
	  "per lane, which stream uses it, and its traffic; with -s the next hop's credits" },
	{ 0 },
};

/* ---- trace ------------------------------------------------------------------------- */

static void print_message(const json_t *row)
{
	const json_t *lane = json_object_get(row, "lane");

	lx_lnetx_print_time(row, "messages");
	printf("stream %" JSON_INTEGER_FORMAT "  %s > %s  %s %" JSON_INTEGER_FORMAT "  ",
	       lx_json_int(row, "stream"), lx_json_text(row, "src"), lx_json_text(row, "dst"),
	       lx_json_text(row, "type"), lx_json_int(row, "bytes"));
	if (lane)
		printf("lane %" JSON_INTEGER_FORMAT "\n", json_integer_value(lane));
	else
		printf("%s\n", lx_json_text(row, "reason"));
}

static int on_message(const void *attrs, size_t len, void *arg)
{
	return lx_lnetx_event(&lx_object_traces, attrs, len, print_message);
}

static int trace(struct lx_session *s, const struct lx_args *a)
{
	struct lx_ctl_filter req;
	int err = lx_args_take(s, a, &lx_object_filter_schema, &req);

	return err ? err
		   : lx_session_read(s, LX_CTL_SHOW, LX_CTL_TRACE, &req, NULL, on_message, NULL);
}

static const struct lx_keyword trace_keywords[] = {
	{ "nid", LX_ARG_NID, "NID" },
	{ "type", LX_ARG_TYPE, "put|get|ack|reply" },
	{ 0 },
};

const struct lx_command lx_trace_commands[] = {
	{ "trace", trace, trace_keywords,
	  .help =
	  "each message with its lane, or why it went to lane 0; with -j one object per line" },
	{ 0 },
};
