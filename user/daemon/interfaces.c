/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>

#include "../base/log.h"
#include "config.h"
#include "duplicate.h"
#include "interfaces.h"
#include "lifecycle.h"
#include "log.h"
#include "neighbours.h"
#include "programs.h"

/* The BPF programs follow each change: nothing but that. */
static int change_nothing(struct lx_change_task *c)
{
	return 0;
}

static const struct lx_change_kind no_change = { .run = change_nothing };

static void follow_interfaces(struct lx_daemon *d)
{
	if (d->node)
		lx_change_own(d, &no_change, 0, NULL);
}

static void on_completed(struct lx_daemon *d, int error, bool applied, const char *text)
{
	char buf[400];

	if (error && error != -EEXIST) /* an admin was faster */
		lx_err("action=\"the NI that was missing is not brought up\" reason=\"%s\" "
		       "next=\"mend this; lnetx net add\"",
		       lx_daemon_log_unquoted(text, buf, sizeof(buf)));
}

static bool can_complete(const struct lx_daemon *d)
{
	struct lx_conf_error why;

	for (size_t i = 0; d->node && d->later && i < d->later->n_nis; i++) {
		if (!lx_config_lacks(&d->later->ni[i], d->large, &why))
			return true;
	}
	return false;
}

void lx_interfaces_look(struct lx_daemon *d)
{
	if (lx_change_idle(d) && can_complete(d))
		lx_lifecycle_complete(d, on_completed);
	if (lx_change_idle(d) && lx_programs_look(d->programs))
		follow_interfaces(d);
}

void lx_interfaces_follow(struct lx_daemon *d, const struct lx_ctl_event *event, unsigned int n)
{
	bool interfaces = false, routing = false, addresses = false;

	for (unsigned int i = 0; i < n; i++) {
		enum lx_change_type type = event[i].change.type;

		interfaces |= type == LX_CHANGE_NI_UP || type == LX_CHANGE_ROUTING;
		routing |= type == LX_CHANGE_ROUTING || type == LX_CHANGE_NI_ADD;
		addresses |= type == LX_CHANGE_NI_UP || type == LX_CHANGE_NI_ADD;
	}
	if (addresses)
		lx_duplicates_look(d);
	if (interfaces)
		follow_interfaces(d);
	if (routing) {
		lx_neighbours_save(d);
		lx_neighbours_announce(d);
	}
}
