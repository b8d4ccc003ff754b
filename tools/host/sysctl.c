/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by "lnetctl setup-sysctl"; the doctor reads settings by it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../user/base/array.h"
#include "../../user/base/line.h"
#include "../cli/lustre/lnetctl.h"
#include "sysctl.h"

#define SETTINGS_MAX 64
#define SAVED "sysctl.saved" /* in the run directory: gone when the machine starts anew */

struct setting {
	char key[96], value[64];
};

/* Twice or four times what Linux has; it keeps at most the last of the three. */
static const struct setting built_in[] = {
	{ "net.ipv4.neigh.default.gc_thresh1", "1024" },
	{ "net.ipv4.neigh.default.gc_thresh2", LX_SYSCTL_NEIGHBOURS },
	{ "net.ipv4.neigh.default.gc_thresh3", "4096" },
	{ "net.ipv6.neigh.default.gc_thresh1", "1024" },
	{ "net.ipv6.neigh.default.gc_thresh2", LX_SYSCTL_NEIGHBOURS },
	{ "net.ipv6.neigh.default.gc_thresh3", "4096" },
};

/* ---- /proc/sys --------------------------------------------------------------------- */

/* As for sysctl(8), the first separator says which one it is: '.' or '/'. */
static const char *path_of(const char *key, char *buf, size_t size)
{
	bool dots = key[strcspn(key, "./")] == '.';

	snprintf(buf, size, "/proc/sys/%s", key);
	for (char *p = buf + strlen("/proc/sys/"); dots && *p; p++)
		*p = *p == '.' ? '/' : *p;
	return buf;
}

/* Without blanks at its end, and one between its words: the kernel writes tabs. */
static void tidy(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (!strchr(" \t\r\n", *p))
			*to++ = *p;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

/* -EOVERFLOW: part of a value must not be saved, and put back. */
static int read_text(const char *key, char *buf, size_t size)
{
	char path[160];
	int err = lx_line_read(buf, size, "%s", path_of(key, path, sizeof(path)));

	if (!err)
		tidy(buf);
	return err;
}

int lx_sysctl_read(const char *key, long long *ret_value)
{
	char text[64], *end;
	int err = read_text(key, text, sizeof(text));
	long long value;

	if (err)
		return err;
	value = strtoll(text, &end, 10);
	if (end == text)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

/* ---- files of settings ------------------------------------------------------------- */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* Some of @chars, with '.' only between others. */
static bool consists_of(const char *text, const char *chars)
{
	return *text && *text != '.' && !strstr(text, "..") && !text[strspn(text, chars)];
}

static int parse_line(char *line, struct setting *ret_setting)
{
	char *eq = strchr(line, '='), *key = line, *value;

	if (!eq)
		return -EINVAL;
	*eq = '\0';
	value = eq + 1;
	tidy(key);
	tidy(value);
	if (!consists_of(key, LETTERS) || !consists_of(value, LETTERS " ") ||
	    strlen(key) >= sizeof(ret_setting->key) || strlen(value) >= sizeof(ret_setting->value))
		return -EINVAL;
	strcpy(ret_setting->key, key);
	strcpy(ret_setting->value, value);
	return 0;
}

/* Returns the number of settings, -ENOENT: no such file, -EINVAL at @ret_line, or another. */
static int parse_file(const char *path, struct setting *settings, int *ret_line)
{
	FILE *f = fopen(path, "re");
	int n = 0, line = 0, err = 0;
	char text[256];

	if (!f)
		return -errno;
	while (!err && fgets(text, sizeof(text), f)) {
		line++;
		if (strspn(text, " \t\r\n") == strlen(text) || text[strspn(text, " \t")] == '#' ||
		    text[strspn(text, " \t")] == ';')
			continue;
		err = n == SETTINGS_MAX ? -E2BIG : parse_line(text, &settings[n]);
		n++;
	}
	fclose(f);
	*ret_line = line;
	return err ? err : n;
}

static const char *run_path(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s", lx_ctl_rundir(), name);
	return buf;
}

static bool has_key(const struct setting *settings, int n, const char *key)
{
	for (int i = 0; i < n; i++) {
		if (!strcmp(settings[i].key, key))
			return true;
	}
	return false;
}

/* Adds the present values to those saved; what is saved already is older than our own. */
static int save(struct lx_session *s, const struct setting *settings, int n)
{
	struct setting saved[SETTINGS_MAX];
	char path[256], old[64];
	int line, n_saved = parse_file(run_path(SAVED, path, sizeof(path)), saved, &line);
	FILE *f = fopen(path, "ae");
	bool bad;

	if (!f)
		return lx_session_fail(s, -errno, "cannot save the old settings in %s: %s", path,
				       strerror(errno));
	for (int i = 0; i < n; i++) {
		if (!has_key(saved, n_saved, settings[i].key) &&
		    !read_text(settings[i].key, old, sizeof(old)))
			fprintf(f, "%s = %s\n", settings[i].key, old);
	}
	bad = ferror(f);
	if (fclose(f) || bad)
		return lx_session_fail(s, -EIO, "cannot save the old settings in %s", path);
	return 0;
}

/* ---- setting ----------------------------------------------------------------------- */

/* True if there is nothing to set: no IPv6 in this kernel. */
static bool is_absent(const char *key)
{
	return !strncmp(key, "net.ipv6.", strlen("net.ipv6.")) &&
	       access("/proc/sys/net/ipv6", F_OK);
}

static int explain(struct lx_session *s, const struct setting *one, int err)
{
	if (err == -ENOENT && strstr(one->key, ".neigh.default.gc_"))
		return lx_session_fail(s, -EOPNOTSUPP,
				       "%s is the machine's, not this network namespace's; run "
				       "\"nsenter -t 1 -n lnetctl --instance NAME setup-sysctl\"",
				       one->key);
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return lx_session_fail(s, err, "cannot set %s: %s; only root of the machine may",
				       one->key, strerror(-err));
	return lx_session_fail(s, err, "cannot set %s to %s: %s", one->key, one->value,
			       strerror(-err));
}

/* Removes the settings that hold already. Nothing is set if one does not exist. */
static int drop_done(struct lx_session *s, struct setting *settings, int *n, bool raise)
{
	int kept = 0, err;
	char old[64];

	for (int i = 0; i < *n; i++) {
		if (is_absent(settings[i].key))
			continue;
		err = read_text(settings[i].key, old, sizeof(old));
		if (err)
			return explain(s, &settings[i], err);
		if (!strcmp(old, settings[i].value) ||
		    (raise && strtoll(old, NULL, 10) > strtoll(settings[i].value, NULL, 10)))
			continue;
		settings[kept++] = settings[i];
	}
	*n = kept;
	return 0;
}

static int set_all(struct lx_session *s, const struct setting *settings, int n, bool dry_run)
{
	char path[160];
	int err = 0;

	for (int i = 0; !err && i < n; i++) {
		if (dry_run) {
			const char *quote = strchr(settings[i].value, ' ') ? "\"" : "";

			printf("sysctl -w %s=%s%s%s\n", settings[i].key, quote, settings[i].value,
			       quote);
			continue;
		}
		path_of(settings[i].key, path, sizeof(path));
		err = lx_line_write(settings[i].value, "%s", path);
		if (err)
			explain(s, &settings[i], err);
	}
	return err;
}

static int bad_file(struct lx_session *s, const char *path, int line, int err)
{
	if (err == -EINVAL)
		return lx_session_fail(s, err, "%s, line %d: \"key = value\" is expected", path,
				       line);
	return lx_session_fail(s, err, "cannot read %s: %s", path, strerror(-err));
}

static int apply(struct lx_session *s, bool dry_run)
{
	struct setting settings[SETTINGS_MAX];
	int line, err, n = parse_file(LX_SYSCTL_FILE, settings, &line);
	bool raise = n == -ENOENT;

	if (raise) {
		memcpy(settings, built_in, sizeof(built_in));
		n = LX_ARRAY_LEN(built_in);
	}
	if (n < 0)
		return bad_file(s, LX_SYSCTL_FILE, line, n);
	err = drop_done(s, settings, &n, raise);
	if (!err && n && !dry_run)
		err = save(s, settings, n);
	return err ? err : set_all(s, settings, n, dry_run);
}

static int restore(struct lx_session *s, bool dry_run)
{
	struct setting settings[SETTINGS_MAX];
	char path[256];
	int line, err, n = parse_file(run_path(SAVED, path, sizeof(path)), settings, &line);

	if (n == -ENOENT)
		return 0;
	if (n < 0)
		return bad_file(s, path, line, n);
	err = set_all(s, settings, n, dry_run);
	if (!err && !dry_run)
		unlink(path);
	return err;
}

/*
 * Changes settings if the tunable enable_sysctl_setup is 1, else puts back the old ones.
 * LX_ARG_UNDO: puts them back in any case. LX_ARG_DRY_RUN: prints sysctl commands instead.
 * Built-in values only ever raise a setting; those of the file replace it.
 *
 * Returns 0 or a negative errno, recorded in the session: -EINVAL a mistake in the file,
 * -EOPNOTSUPP the settings are not visible in this network namespace, -EACCES.
 */
static int setup_sysctls(struct lx_session *s, const struct lx_args *a)
{
	bool dry_run = a->v[LX_ARG_DRY_RUN];
	int64_t enabled = 0;
	int err = 0;

	if (!a->v[LX_ARG_UNDO])
		err = lx_request_tunable(s, "lnet", "enable_sysctl_setup", &enabled);
	if (err)
		return err;
	if (!enabled && !a->v[LX_ARG_UNDO])
		fputs("lnetctl: enable_sysctl_setup is 0, so the old settings stay or come back; "
		      "\"lnetx "
		      "tunable set lnet enable_sysctl_setup 1\" allows new ones\n",
		      stderr);
	return enabled ? apply(s, dry_run) : restore(s, dry_run);
}

/* clang-format off */
static const struct lx_option setup_options[] = {
	{ "dry-run", 0, LX_OPTION_FLAG, LX_ARG_DRY_RUN, "print what would be done, as commands" },
	{ "undo", 0, LX_OPTION_FLAG, LX_ARG_UNDO, "put the old settings back" },
	{ 0 }
};

const struct lx_lnetctl_cmd lx_lnetctl_sysctl_cmd[] = {
	{ "setup-sysctl", setup_sysctls,
	  "Linux settings for large systems, if enable_sysctl_setup is 1",
	  .option = setup_options, .style = LX_ERROR_OLD, .op = "manage" },
	{ 0 }
};
