/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A tool's use of liblnetxctl; see the header. Used by both grammars. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "../../../user/base/integer.h"
#include "../../../user/base/text.h"
#include "../../../user/ctl/ctl.h"
#include "../../../user/ctl/request.h"
#include "session.h"

void lx_session_init(struct lx_session *s, const char *instance)
{
	memset(s, 0, sizeof(*s));
	s->instance = instance;
	s->count = LX_UNSET;
}

static int wait_ms = LX_SESSION_WAIT_S * 1000;

bool lx_session_set_wait(const char *text)
{
	int64_t s;

	if (lx_integer_parse(text, 10, 0, INT_MAX / 1000, &s))
		return false;
	wait_ms = s ? (int)s * 1000 : -1;
	return true;
}

int lx_session_ctl_new(const char *address, struct lx_ctl **ret_ctl)
{
	int err = lx_ctl_new(address, ret_ctl);

	if (!err)
		lx_ctl_set_timeout(*ret_ctl, wait_ms);
	return err;
}

void lx_session_fini(struct lx_session *s)
{
	lx_ctl_free(s->ctl);
	s->ctl = NULL;
}

bool lx_session_connected(const struct lx_session *s)
{
	return s->ctl && lx_ctl_fd(s->ctl) >= 0;
}

int lx_session_fail(struct lx_session *s, int error, const char *fmt, ...)
{

	LX_FORMAT(s->text, sizeof(s->text), fmt);
	s->error = error;
	return error;
}

static int take_outcome(struct lx_session *s)
{
	const struct lx_ctl_error *why = lx_ctl_why(s->ctl);

	s->count = why->count;
	return lx_session_fail(s, why->error, "%s", why->text);
}

/* A failed @fn may have said why itself; the rest of the answer is discarded. */
static int stop(struct lx_session *s, int err)
{
	lx_ctl_close(s->ctl);
	return s->error ? err : lx_session_fail(s, err, "%s", strerror(-err));
}

static int begin(struct lx_session *s)
{
	s->error = 0;
	s->count = LX_UNSET;
	s->text[0] = '\0';
	if (!s->ctl && lx_session_ctl_new(s->instance, &s->ctl))
		return lx_session_fail(s, -ENOMEM, "out of memory");
	return 0;
}

/* @sent: the outcome of sending */
static int read_answer(struct lx_session *s, int sent, lx_row_fn fn, void *arg)
{
	const void *attrs;
	size_t len;
	int err;

	s->asked |= lx_session_connected(s);
	if (sent)
		return take_outcome(s);
	while (lx_ctl_receive(s->ctl, &attrs, &len) == 1) {
		err = fn ? fn(attrs, len, arg) : 0;
		if (err)
			return stop(s, err);
	}
	return take_outcome(s);
}

int lx_session_do(struct lx_session *s, enum lx_ctl_verb verb, unsigned int object, const void *obj)
{
	return lx_session_read(s, verb, object, obj, NULL, NULL, NULL);
}

int lx_session_read(struct lx_session *s, enum lx_ctl_verb verb, unsigned int object,
		    const void *obj, const struct lx_ctl_arg *words, lx_row_fn fn, void *arg)
{
	int err = begin(s);

	return err ? err
		   : read_answer(s, lx_ctl_start_with(s->ctl, verb, object, obj, words), fn, arg);
}

int lx_session_import(struct lx_session *s, enum lx_ctl_verb verb, const char *yaml, size_t len,
		      lx_row_fn fn, void *arg)
{
	int err = begin(s);

	return err ? err : read_answer(s, lx_ctl_import(s->ctl, verb, yaml, len), fn, arg);
}
