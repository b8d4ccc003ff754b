/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requests that lnetxd knows and liblnetxctl sends.
 * The table in docs/library.md comes from it.
 */
#ifndef LX_SCHEMA_REQUESTS_H
#define LX_SCHEMA_REQUESTS_H

#include <stdbool.h>

#include <internal/ctl.h>
#include <lnetx/ctl.h>

/* Objects of lnetx' own tools; after those of lnetx/ctl.h. */
enum { LX_CTL_ASK = LX_CTL_OBJECT_COUNT, LX_CTL_COLUMNS };

/* An argument, "true" or "false", that sets a flag of the message. */
struct lx_flag {
	const char *key;
	uint16_t flag; /* NLM_F_* */
	bool inverse;
};

struct lx_request {
	uint8_t object, verb; /* enum lx_ctl_object, enum lx_ctl_verb */
	uint8_t command; /* enum lx_ctl_command */
	uint16_t flags; /* NLM_F_*; those of @words may be added */
	bool all_users; /* else for root: a change, or it makes the node work */
	const struct lx_schema *schema; /* of the arguments; NULL: the end of the table */
	const struct lx_ctl_shown *shown; /* of the rows; NULL: there are none */
	const struct lx_ctl_arg *given; /* arguments that the caller may omit; or NULL */
	const struct lx_flag *words; /* terminated by key NULL; or NULL */
};

extern const struct lx_request lx_requests[];

/* NULL: no such request. */
const struct lx_request *lx_request_find(unsigned int object, unsigned int verb);

/* "show", "add", "del" or "set"; "?" */
const char *lx_request_verb(unsigned int verb);

/* By a message's command and flags. */
const struct lx_request *lx_request_of(uint8_t command, uint16_t flags);

#endif
