/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx stream" and "lnetx lane": what the kernel forwards, and on what. */
#include "lnetx.h"

static int show_streams(struct lx_session *s, const struct lx_args *a)
{
	return lx_lnetx_show_all(s, LX_CONTROL_STREAMS, &lx_control_streams);
}

static int show_lanes(struct lx_session *s, const struct lx_args *a)
{
	return lx_lnetx_show_all(s, LX_CONTROL_LANES, &lx_control_lanes);
}

const struct lx_command lx_stream_commands[] = {
	{ "show", show_streams, NULL, NULL,
	  "how many messages of each went by lanes, and why the others did not" },
	{ NULL, NULL, NULL, NULL, NULL },
};

const struct lx_command lx_lane_commands[] = {
	{ "show", show_lanes, NULL, NULL,
	  "who has each, what went by it; with -s the next hop's credits" },
	{ NULL, NULL, NULL, NULL, NULL },
};
