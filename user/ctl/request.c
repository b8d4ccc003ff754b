/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests: the functions of lnetx/ctl.h that send them, by the table of objects and verbs. No
 * state except the handle's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/key.h"
#include "../schema/requests.h"
#include "args.h"
#include "ctl.h"
#include "request.h"
#include "row.h"

static int refuse(struct lx_ctl *ctl, int error, const char *object,
		  const struct lx_ctl_args_error *why)
{
	lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, error, "%s: %s", object,
		    *why->text ? why->text : strerror(-error));
	snprintf(ctl->why.object, sizeof(ctl->why.object), "%s", object);
	snprintf(ctl->why.word, sizeof(ctl->why.word), "%s", why->word);
	return error;
}

/* Turns arguments into flags. @rest: gets the other arguments; room for all. */
static int take_flags(const struct lx_request *r, const struct lx_ctl_arg *args,
		      struct lx_ctl_arg *rest, uint16_t *flags, struct lx_ctl_args_error *why)
{
	for (const struct lx_flag *f = r->words; f && f->key; f++)
		*flags |= f->inverse ? f->flag : 0;
	for (; args && args->key; args++) {
		const struct lx_flag *f = r->words;
		bool on = args->value && !strcmp(args->value, "true");

		while (f && f->key && !lx_key_is(f->key, args->key))
			f++;
		if (!f || !f->key) {
			*rest++ = *args;
			continue;
		}
		if (!on && (!args->value || strcmp(args->value, "false"))) {
			snprintf(why->word, sizeof(why->word), "%s", args->key);
			snprintf(why->text, sizeof(why->text),
				 "%s: \"true\" or \"false\" is expected", args->key);
			return -EINVAL;
		}
		*flags = on != f->inverse ? *flags | f->flag : *flags & ~f->flag;
	}
	*rest = (struct lx_ctl_arg){ 0 };
	return 0;
}

static int no_such(struct lx_ctl *ctl, enum lx_ctl_verb verb, unsigned int object)
{
	const char *name = lx_ctl_object_name(object);

	lx_ctl_discard(ctl);
	lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, -EINVAL, "%s: no verb \"%s\"",
		    name ? name : "no such object", lx_request_verb(verb));
	snprintf(ctl->why.object, sizeof(ctl->why.object), "%s", name ? name : "");
	return -EINVAL;
}

/* The level of detail that a request asks for. */
static unsigned int level_of(const struct lx_request *r, const void *obj)
{
	return r->schema == &lx_object_show_schema ? ((const struct lx_ctl_show *)obj)->level
						   : LX_LEVEL_OWN;
}

int lx_ctl_start(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
		 const struct lx_ctl_arg *args)
{
	const struct lx_request *r =
		(unsigned int)object < LX_CTL_OBJECT_COUNT ? lx_request_find(object, verb) : NULL;
	struct lx_ctl_args_error why = { "", "" };
	struct lx_ctl_arg *rest LX_AUTO_FREE = NULL;
	void *obj LX_AUTO_FREE = NULL;
	uint16_t flags = r ? r->flags : 0;
	size_t n = 0;
	int err;

	if (!r)
		return no_such(ctl, verb, object);
	while (args && args[n].key)
		n++;
	lx_ctl_discard(ctl);
	rest = calloc(n + 1, sizeof(*rest));
	obj = calloc(1, r->schema->size + 1);
	err = rest && obj ? take_flags(r, args, rest, &flags, &why) : -ENOMEM;
	if (!err)
		err = lx_ctl_args_take(r->schema, rest, r->given, obj, &why);
	if (err)
		return refuse(ctl, err, lx_ctl_object_name(object), &why);
	err = lx_ctl_send(ctl, r->command, flags, r->schema, obj);
	ctl->shown = r->shown;
	ctl->level = level_of(r, obj);
	return err;
}

static bool is_true(const struct lx_ctl_arg *words, const char *key)
{
	while (words && words->key && strcmp(words->key, key))
		words++;
	return words && words->key && !strcmp(words->value, "true");
}

int lx_ctl_start_with(struct lx_ctl *ctl, enum lx_ctl_verb verb, unsigned int object,
		      const void *obj, const struct lx_ctl_arg *words)
{
	const struct lx_request *r = lx_request_find(object, verb);
	uint16_t flags = r ? r->flags : 0;

	if (!r)
		return no_such(ctl, verb, object);
	for (const struct lx_flag *f = r->words; f && f->key; f++)
		flags |= f->inverse != is_true(words, f->key) ? f->flag : 0;
	return lx_ctl_send(ctl, r->command, flags, obj ? r->schema : NULL, obj);
}

int lx_ctl_next(struct lx_ctl *ctl, struct lx_ctl_row *ret_row)
{
	const struct lx_ctl_shown *shown = ctl->shown;
	const void *attrs;
	size_t len;
	int more = lx_ctl_receive(ctl, &attrs, &len);

	if (more == 1)
		lx_ctl_row_of(ret_row, shown ? shown->group : NULL,
			      shown ? shown->row : &lx_request_nothing, attrs, len, ctl->level);
	return more;
}

/* Reads what is left of the answer. */
static int drain(struct lx_ctl *ctl)
{
	const void *attrs;
	size_t len;
	int more;

	do {
		more = lx_ctl_receive(ctl, &attrs, &len);
	} while (more == 1);
	if (more < 0 && ctl->answering)
		lx_ctl_close(ctl); /* a late answer is not for the next request */
	return more;
}

int lx_ctl_do(struct lx_ctl *ctl, enum lx_ctl_verb verb, enum lx_ctl_object object,
	      const struct lx_ctl_arg *args)
{
	int err = lx_ctl_start(ctl, verb, object, args);

	return err ? err : drain(ctl);
}

/* Returns a descriptor or -errno. */
static int in_memory(const char *text, size_t len)
{
	int fd = memfd_create("lnetx", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;
	size_t done = 0;
	ssize_t n = 0;

	while (fd >= 0 && n >= 0 && done < len) {
		n = pwrite(fd, text + done, len - done, done);
		done += n > 0 ? n : 0;
	}
	if (n >= 0 && fd >= 0)
		return fd;
	err = -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

int lx_ctl_import(struct lx_ctl *ctl, enum lx_ctl_verb verb, const char *yaml, size_t len)
{
	int fd LX_AUTO_CLOSE = in_memory(yaml, len), err;

	if (fd < 0) {
		lx_ctl_discard(ctl);
		return lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, fd,
				   "config: no memory for the text: %s", strerror(-fd));
	}
	ctl->give = fd;
	err = lx_ctl_start(ctl, verb, LX_CTL_CONFIG, NULL);
	ctl->give = -1;
	return err;
}

/* ---- shorthand --------------------------------------------------------------------- */

int lx_ctl_tunable_get(struct lx_ctl *ctl, const char *module, const char *name, char *buf,
		       size_t size)
{
	const struct lx_ctl_arg args[] = { { "module", module }, { "name", name }, { 0 } };
	int err = lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_TUNABLE, args);
	const char *value = NULL;
	struct lx_ctl_row row;
	bool fits = true;

	if (err)
		return err;
	err = lx_ctl_next(ctl, &row);
	if (err == 1)
		value = lx_ctl_text(&row, "value");
	if (value)
		fits = (size_t)snprintf(buf, size, "%s", value) < size;
	if (err == 1)
		err = drain(ctl);
	if (!err && !value)
		return lx_ctl_fail(ctl, LX_CTL_FROM_CONNECTION, -EPROTO,
				   "lnetxd sent no value of %s %s", module, name);
	if (!err && !fits)
		return lx_ctl_fail(ctl, LX_CTL_FROM_CALLER, -ENOSPC,
				   "%s %s: the value is longer than the buffer", module, name);
	return err;
}

int lx_ctl_tunable_set(struct lx_ctl *ctl, const char *module, const char *name,
		       const char *value)
{
	const struct lx_ctl_arg args[] = {
		{ "module", module }, { "name", name }, { "value", value }, { 0 }
	};

	return lx_ctl_do(ctl, LX_CTL_SET, LX_CTL_TUNABLE, args);
}

int lx_ctl_ping(struct lx_ctl *ctl, const char *nid, int timeout_ms)
{
	char ms[16];
	const struct lx_ctl_arg args[] = { { "nid", nid }, { "timeout", ms }, { 0 } };

	snprintf(ms, sizeof(ms), "%d", timeout_ms);
	return lx_ctl_do(ctl, LX_CTL_SHOW, LX_CTL_PING, args);
}
