/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of modules, as in modprobe's files; see the header. No state. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../../user/base/array.h"
#include "../../../user/base/cleanup.h"
#include "modprobe.h"

#define SPACE " \t\r\v\f\n"

void lx_modprobe_note(const char *fmt, ...)
{
	va_list ap;

	fputs("lnet_legacy2yaml: note: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* Words as they are read. */
struct words {
	lx_modprobe_fn *fn;
	void *arg;
	char *flat; /* the text with continued lines joined */
	const char *module; /* of the options that follow */
	const char *quote; /* an open one; NULL: none */
};

/*
 * The length of an unquoted value: one word, or of routes and ip2nets to the next "name=" or the
 * end of the line.
 */
static size_t bare_length(const char *name, const char *value)
{
	bool is_list = !strncmp(name, "routes=", 7) || !strncmp(name, "ip2nets=", 8);
	size_t len = strcspn(value, is_list ? "\n'\"" : SPACE ";'\"");
	const char *p = is_list ? memchr(value, '=', len) : NULL;

	if (!p)
		return len;
	while (p > value && !isspace((unsigned char)p[-1]))
		p--;
	return p - value;
}

/* Takes "NAME=VALUE". Returns what follows it. */
static const char *take_option(struct words *w, const char *name)
{
	const char *value = name + strcspn(name, "=") + 1, *end = NULL;
	LX_AUTO_FREE char *own_name = strndup(name, value - 1 - name), *own_value = NULL;
	size_t len;

	if (*value == '"' || *value == '\'') {
		end = strchr(value + 1, *value);
		if (!end) {
			w->quote = value;
			return value + strlen(value);
		}
		value++;
	}
	len = end ? (size_t)(end - value) : bare_length(name, value);
	own_value = strndup(value, len);
	for (char *p = own_name; (p = strchr(p, '-'));) /* as the kernel does */
		*p = '_';
	w->fn(w->arg, w->module, own_name, own_value);
	return end ? end + 1 : value + len;
}

/* Takes what follows "options": the module. Others than LNet's are left out, with the line. */
static const char *take_module(struct words *w, const char *p)
{
	static const char *const known[] = { "lnet", "ksocklnd", "ko2iblnd" };
	int len = (int)strcspn(p, "\n"), word = (int)strcspn(p, SPACE);

	for (size_t i = 0; i < LX_ARRAY_LEN(known); i++) {
		if (strlen(known[i]) == (size_t)word && !strncmp(p, known[i], word)) {
			w->module = known[i];
			return p + word;
		}
	}
	if (len)
		lx_modprobe_note("left out: options %.*s (see \"lnetx tunable show\")", len, p);
	return p + len;
}

/* Takes a word that is none of these. */
static const char *take_word(struct words *w, const char *p)
{
	int len = (int)strcspn(p, SPACE ";'\"");

	if (len == 7 && !strncmp(p, "options", 7) && p[len] && strchr(SPACE, p[len]))
		return take_module(w, p + len + strspn(p + len, " \t"));
	lx_modprobe_note("left out: %.*s: NAME=VALUE is expected", len, p);
	return p + len;
}

static bool is_option(const char *p)
{
	size_t len = strspn(p, LX_MODPROBE_NAME);

	return len && p[len] == '=';
}

/* Takes options from @p to its end. A quote may also go around a whole option, or several. */
static void take_words(struct words *w, const char *p)
{
	while (*p) {
		if (strchr(SPACE ";", *p)) {
			p++;
		} else if (*p == '#') {
			p += strcspn(p, "\n");
		} else if (*p == '"' || *p == '\'') {
			if (!w->quote)
				w->quote = p;
			else if (*w->quote == *p)
				w->quote = NULL;
			p++;
		} else {
			p = is_option(p) ? take_option(w, p) : take_word(w, p);
		}
	}
}

static char *join_lines(const char *text)
{
	char *flat = strdup(text);

	for (char *p = flat; (p = strstr(p, "\\\n"));)
		p[0] = p[1] = ' ';
	return flat;
}

bool lx_modprobe_has_options(const char *text)
{
	const char *p = text;

	for (; *p; p += strcspn(p, SPACE "'\""), p += strspn(p, SPACE "'\"")) {
		if (*p == '#')
			p += strcspn(p, "\n");
		else if (is_option(p) || !strncmp(p, "options ", 8))
			return true;
	}
	return false;
}

/* A file's lines are separate; other lines than options are not ours. */
static void take_lines(struct words *w)
{
	char *left = w->flat, *line;

	while (!w->quote && (line = strsep(&left, "\n"))) {
		line += strspn(line, SPACE);
		if (!strncmp(line, "options", 7) && line[7] && strchr(SPACE, line[7]))
			take_words(w, line);
	}
}

static void locate(const char *text, size_t at, struct lx_modprobe_quote *ret)
{
	*ret = (struct lx_modprobe_quote){ text[at], 1, 1 };
	for (size_t i = 0; i < at; i++) {
		ret->column = text[i] == '\n' ? 1 : ret->column + 1;
		ret->line += text[i] == '\n';
	}
}

int lx_modprobe_read(const char *text, bool file, lx_modprobe_fn *fn, void *arg,
		     struct lx_modprobe_quote *ret_open)
{
	LX_AUTO_FREE char *flat = join_lines(text);
	struct words w = { .fn = fn, .arg = arg, .flat = flat, .module = "lnet" };

	if (file)
		take_lines(&w);
	else
		take_words(&w, flat);
	if (!w.quote)
		return 0;
	locate(text, w.quote - flat, ret_open);
	return -EINVAL;
}
