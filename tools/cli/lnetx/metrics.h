/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx metrics": its tables, for docs/metrics.md, too, and its text, for a report. */
#ifndef LX_TOOLS_METRICS_H
#define LX_TOOLS_METRICS_H

#include <lnetx/ctl.h>
#include <stdbool.h>

#include "../common/session.h"

#define LX_METRIC_LABELS_MAX 4

enum lx_metric_kind { LX_GAUGE, LX_COUNTER };

struct lx_metric {
	const char *name, *help; /* a counter's without "_total" */
	enum lx_metric_kind kind;
	const char *path; /* of a number, or of a state: "up" is 1; NULL: always 1; "#": how many */
	const char *label; /* a label of its own, name="value"; NULL: none */
	const char *each; /* the path is a map: the name of a label with its keys; or NULL */
};

struct lx_metric_label {
	const char *name, *path;
};

/* The rows of an object. Metrics of one name are next to each other. */
struct lx_metric_source {
	enum lx_ctl_object object;
	bool peers; /* only if asked for: there may be very many */
	bool configured; /* LNet has to be started */
	struct lx_metric_label label[LX_METRIC_LABELS_MAX + 1];
	const char *list; /* samples are of the elements of this list, not of the row; or NULL */
	const struct lx_metric *metric; /* ended by name NULL; NULL: the end of the table */
};

extern const struct lx_metric_source lx_metric_sources[];

/* Whether lnetxd answers, and whether in another version: even if nothing else is known. */
extern const struct lx_metric lx_metrics_always[];

/**
 * lx_metrics_text - what "lnetx metrics" prints
 * @peers: of each peer, too
 * @openmetrics: in that format
 * @ret_text: set on failure, too, where it says that lnetxd does not answer; free()d by the
 *	caller; NULL: out of memory
 * Returns 0 or a negative errno, with the reason recorded in @s.
 */
int lx_metrics_text(struct lx_session *s, bool peers, bool openmetrics, char **ret_text);

#endif
