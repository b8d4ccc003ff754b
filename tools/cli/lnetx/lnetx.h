/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The program's own grammar: "lnetx [OPTIONS] OBJECT [VERB] [KEYWORD VALUE ...]", with
 * the habits of iproute2.
 */
#ifndef LX_TOOLS_LNETX_H
#define LX_TOOLS_LNETX_H

#include <jansson.h>
#include <stdbool.h>

#include "../common/requests.h"

/* Exit status. */
#define LX_EXIT_REFUSED 1 /* the daemon refused, or is not running */
#define LX_EXIT_USAGE 2 /* the command was not understood */
#define LX_EXIT_UNHEALTHY 3 /* a check found faults */
#define LX_EXIT_INTERRUPTED 130

struct lx_keyword {
	const char *name;
	enum lx_arg_id id;
	const char *value; /* its name in help; NULL: none */
};

struct lx_command {
	const char *name;
	lx_request_fn *fn; /* may also return a positive exit status, after output of its own */
	const struct lx_keyword *keyword; /* ended by name NULL; or NULL */
	const char *rest; /* words without a keyword, for help; NULL: none */
	const char *help;
	enum lx_ctl_object names; /* the object whose rows those words name, for completion; or 0 */
	unsigned int required; /* so many of the first keywords must be there */
};

/* Another spelling of the entry before it: not shown. */
static inline bool lx_keyword_is_alias(const struct lx_command *command,
				       const struct lx_keyword *keyword)
{
	return keyword != command->keyword && keyword[-1].id == keyword->id;
}

struct lx_lnetx_object {
	const char *name;
	const struct lx_command *command; /* ended by name NULL; the first one is the default */
	const char *help;
	enum lx_ctl_object shows; /* what lx_lnetx_show() shows, if it is one of the commands */
};

/* All of them (lnetx_cmds.c); ended by name NULL. */
extern const struct lx_lnetx_object lx_lnetx_cmds[];

/* The verbs of objects that have a file of their own; ended by name NULL. */
extern const struct lx_command lx_guard_commands[], lx_bpf_commands[], lx_stream_commands[],
	lx_lane_commands[], lx_trace_commands[], lx_udsp_commands[], lx_fault_commands[],
	lx_doctor_commands[], lx_fabric_commands[], lx_selftest_commands[], lx_metrics_commands[],
	lx_ping_commands[], lx_discover_commands[], lx_report_commands[], lx_explain_commands[];

/* Whether a hook of "bpf status" stands for an interface of the fast path: one of them does. */
bool lx_bpf_is_interface(const json_t *hook);

/* Output format of shows. */
struct lx_format {
	bool json, yaml, pretty, more;
};

const struct lx_format *lx_lnetx_format(void);
/* True for JSON or YAML; false for a table, or lines. */
bool lx_lnetx_as_tree(void);

/* Prints a mapping as JSON or YAML; takes the reference. */
void lx_lnetx_print_map(json_t *map);
/* The same for a mapping with a single key. */
void lx_lnetx_print(const char *key, json_t *value);
/* Rows as JSON or YAML, or as a table; takes the reference. */
void lx_lnetx_print_rows(json_t *list, const struct lx_ctl_shown *shown);
/* The value of "error" in such a mapping. */
json_t *lx_lnetx_error(int error, const char *reason);

/* "2026-11-21 09:15:05.123456", the row's time_us; and how many rows were lost before it. */
void lx_lnetx_print_time(const json_t *row, const char *what);

/* Prints a row of a monitor or trace: as JSON or YAML, or by @print. */
int lx_lnetx_event(const struct lx_ctl_shown *object, const void *attrs, size_t len,
		   void (*print)(const json_t *row));

/* Shows the command's object in the chosen format: the rows that its words select, or all. */
lx_request_fn lx_lnetx_show;

/* Prints what may stand on the line of a command: for help, and for the manual. */
void lx_lnetx_syntax(FILE *out, const struct lx_lnetx_object *o, const struct lx_command *c);

int lx_lnetx_main(int argc, char **argv);

#endif
