/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Trees as YAML in the layouts of the reference's tools, as JSON, and as tables. */
#ifndef LX_TOOLS_PRINT_H
#define LX_TOOLS_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include <internal/ctl.h>

/*
 * Indentation. The reference prints nets, routes and peers WIDE, other
 * objects FOUR, and answers to probes NARROW.
 *
 *	WIDE                     FOUR                  NARROW
 *	net:                     routing:              ping:
 *	-     net type: lo           - cpt[0]:         - primary nid: ...
 *	      local NI(s):                 tiny:         peer_ni:
 *	      -     nid: 0@lo                  npages:   - nid: ...
 */
struct lx_layout {
	unsigned int map; /* a mapping within a mapping */
	unsigned int dash; /* a sequence's dashes within a mapping */
	unsigned int item; /* what follows a dash */
};

extern const struct lx_layout lx_print_wide, lx_print_four, lx_print_narrow;

/* A mapping, as a YAML document without markers. */
void lx_print_yaml(FILE *out, const json_t *map, const struct lx_layout *layout);

/* The same as JSON: keys in snake case ("local NI(s)" is local_ni). @pretty: with line breaks. */
void lx_print_json(FILE *out, const json_t *value, bool pretty);

/* The list of an object as a table, one line per row; @wide: all columns. */
void lx_print_table(FILE *out, const json_t *list, const struct lx_ctl_shown *object, bool wide);

/* Ends standard output. False, with the reason on stderr: not all of it could be written. */
bool lx_print_end(const char *program);

/* A text with quotes escaped for YAML (@quote: ' or "). */
void lx_print_quoted(FILE *out, const char *text, char quote);

#endif
