/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by ni.c, peer.c and route.c; owns nothing. */
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "down.h"

void lx_down_set(struct lx_core *core, struct lx_cause *cause, enum lx_down_why why, int error,
		 uint32_t net)
{
	uint64_t since = cause->why ? cause->since_ns : core->ops->wall(core->ops_arg);

	*cause = (struct lx_cause){ .why = why, .error = error, .net = net, .since_ns = since };
}

void lx_down_clear(struct lx_cause *cause)
{
	*cause = (struct lx_cause){ .why = LX_DOWN_NO };
}

const char *lx_down_text(const struct lx_cause *cause, char *buf, size_t size)
{
#define TEXT_(NAME, text) text,
	static const char *const texts[] = { LX_DOWN_WHYS(TEXT_) };
	bool net = cause->why && cause->net != LX_NET_U32_ANY;

	snprintf(buf, size, "%s%s%s%s%s", texts[cause->why], net ? " " : "",
		 net ? lx_net_str(cause->net) : "", cause->why && cause->error ? ": " : "",
		 cause->why && cause->error ? strerror(-cause->error) : "");
	return buf;
}

void lx_down_describe(const struct lx_cause *cause, struct lx_down *ret_down)
{
	lx_down_text(cause, ret_down->reason, sizeof(ret_down->reason));
	ret_down->since_s = cause->why ? cause->since_ns / LX_S_NS : 0;
}
