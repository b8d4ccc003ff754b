/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs under test: a daemon on the fake node, tools that talk to it, and their
 * output. The programs are next to the running test.
 */
#ifndef LX_TESTS_PROC_H
#define LX_TESTS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Call this first, with main()'s argv[0]. Creates a directory for sockets and files. */
void proc_init(const char *argv0);
void proc_fini(void);

/* The directory for files of the test. */
const char *proc_dir(void);

/* The path of "lnetxd-fake", "lnetx" or "lnetctl". */
const char *proc_path(const char *program);

/* Writes a file into proc_dir(); returns its path, valid until the next call. */
const char *proc_file(const char *name, const char *content);
/* Reads a whole file; the caller frees the result. */
char *proc_read(const char *path);

struct proc_daemon {
	const char *program; /* NULL: lnetxd-fake */
	pid_t pid;
	char log[200]; /* file with its stderr */
};

/*
 * Starts a daemon with these arguments (terminated by NULL; may be none) and waits until its
 * socket answers. @state: the fake node's, as YAML, or NULL. All use the same instance.
 */
void proc_daemon_start(struct proc_daemon *d, const char *state, const char *const *args);
/* SIGTERM; returns the exit status, and prints the log if that is not 0. */
int proc_daemon_stop(struct proc_daemon *d);
/* Waits until a line with this text is in the log; fails after some seconds. */
void proc_daemon_wait_log(const struct proc_daemon *d, const char *text);

struct proc_result {
	int status; /* exit status, or 128 + signal */
	char out[1 << 16];
	char err[1 << 16];
};

/*
 * Runs a command line ("lnetctl net show -v 2"; quotes as in a shell; ">FILE" as the last
 * word: standard output). @input: its standard input, NULL: none. @uid: user, 0: unchanged. The
 * result is static, valid until the next call.
 */
const struct proc_result *proc_run_as(uid_t uid, gid_t group, const char *line, const char *input);
#define proc_run(line) proc_run_as(0, 0, line, NULL)

#endif
