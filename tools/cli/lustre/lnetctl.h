/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The grammar of the reference's tool: "lnetctl GROUP VERB --option value". Tables of
 * verbs and options (lnetctl_cmds.c), and their users (lnetctl.c): parsing, help,
 * completion, error records.
 */
#ifndef LX_TOOLS_LNETCTL_H
#define LX_TOOLS_LNETCTL_H

#include "../common/print.h"
#include "../common/requests.h"

enum lx_option_kind {
	LX_OPTION_FLAG,
	LX_OPTION_VALUE,
	LX_OPTION_MANY, /* repeatable: its values become a comma list */
	LX_OPTION_LEVEL, /* a number may follow, even as a separate word */
};

struct lx_option {
	const char *name;
	char letter; /* 0: none */
	uint8_t kind;
	enum lx_arg_id id;
	const char *help; /* NULL: another spelling, not shown */
};

/* How to report an error, as scripts expect it: stream, layout and exit status. */
enum lx_error_style {
	LX_ERROR_RECORD, /* "---", wide, stderr; status 234 */
	LX_ERROR_OLD, /* four columns, stderr; status: the errno */
};

struct lx_lnetctl_cmd {
	const char *name;
	lx_request_fn *fn;
	const char *help;
	const struct lx_option *option; /* ended by name NULL; or NULL */
	uint8_t style;
	/* Of the error record: "add", "net". NULL: the verb's name, the group's. */
	const char *op, *object;
	int (*map_error)(int err); /* to the errno that the reference has; or NULL */
	unsigned int max_rest; /* words without option that may follow; more are ignored */
	const struct lx_lnetctl_cmd
		*verb; /* it has verbs of its own, ended by name NULL; or NULL */
};

struct lx_group {
	const char *name;
	const char *help;
	const struct lx_lnetctl_cmd *verb; /* ended by name NULL */
	bool is_verb; /* the group itself is the only verb: "ping NID" */
};

extern const struct lx_group lx_groups[]; /* ended by name NULL */

/* The verbs of groups, or verbs, that have a file of their own; ended by name NULL. */
extern const struct lx_lnetctl_cmd lx_lnetctl_udsp_cmds[], lx_lnetctl_debug_cmds[],
	lx_lnetctl_mrrouting_cmd[], lx_lnetctl_sysctl_cmd[], lx_fault_drop_cmds[],
	lx_fault_delay_cmds[];

/* Of shows without options in the reference: "-v" of any level, and others are ignored. */
extern const struct lx_option lx_lnetctl_show_options[];

/* Prints "key: value" unless it is empty; takes the reference to @value. */
void lx_lnetctl_print(const char *key, json_t *value, const struct lx_layout *layout);

/* Fills in the tables derived from others ("set"); call it first. */
void lx_lnetctl_cmds_init(void);

/* A verb that has reported its errors returns this plus its exit status. */
#define LX_TOLD 1000
/* Returned by a verb without arguments where the reference shows its help. */
#define LX_WANTS_HELP (LX_TOLD - 1)

int lx_lnetctl_main(int argc, char **argv);

#endif
