/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fault injection for clients (edit.h): rules are added, deleted, and their counters reset. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "edit.h"

__attribute__((format(printf, 3, 4))) static int say(struct lx_edit *e, int error, const char *fmt,
						     ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->text, e->size, fmt, ap);
	va_end(ap);
	return error;
}

int lx_edit_fault_add(struct lx_edit *e)
{
	int err = lx_fault_add(e->node, &e->req->fault.rule);

	switch (err) {
	case 0:
		return 0;
	case -EINVAL:
		return say(e, err,
			   "the rule would match nothing, or does not say when to act; only PUT "
			   "and GET "
			   "have a portal, and a rate or an interval is needed");
	case -ENOSPC:
		return say(e, err, "too many rules; delete some (lnetx fault del)");
	}
	return say(e, err, "cannot add the rule: %s", strerror(-err));
}

int lx_edit_fault_del(struct lx_edit *e)
{
	const struct lx_ctl_fault *req = &e->req->fault;
	const struct lx_fault_rule *r = &req->rule;
	int n = lx_fault_del(e->node, r->delay, req->all ? &lx_nid_any : &r->src,
			     req->all ? &lx_nid_any : &r->dst);

	if (n >= 0) {
		e->count = n;
		return say(e, 0, "%d rules deleted", n);
	}
	if (n == -ENOENT)
		return say(e, n, "there is no such %s rule; see \"lnetx fault show\"",
			   r->delay ? "delay" : "drop");
	return say(e, n, "cannot delete rules: %s", strerror(-n));
}

int lx_edit_fault_reset(struct lx_edit *e)
{
	lx_fault_clear(e->node, e->req->fault.rule.delay);
	return 0;
}
