/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A session's process; see the header. Called by lst.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "keeper.h"
#include "trans.h"

size_t lx_keeper_leave(const json_t *console, const char *socket, int64_t timeout_s)
{
	json_t *nodes = json_object_get(console, "nodes"), *node, *active = json_array();
	struct lx_trans t;
	const char *nid;
	size_t failed;

	json_object_foreach (nodes, nid, node) {
		if (lx_console_node(console, nid) == LX_CONSOLE_ACTIVE)
			json_array_append_new(active, json_string(nid));
	}
	if (!lx_trans_new(&t, console, active, LX_LST_REMOVE_SESSION, timeout_s))
		lx_trans_run(&t, socket);
	failed = lx_trans_failed(&t);
	lx_trans_free(&t);
	json_decref(active);
	return failed;
}

static bool is_mine(const struct lx_console_file *f, pid_t self)
{
	return json_integer_value(json_object_get(f->console, "keeper")) == self;
}

/* What the nodes said; one with another session than ours does not have ours any more. */
static void note(struct lx_console_file *f, const struct lx_trans *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct lx_trans_one *one = &t->one[i];

		if (lx_console_node(f->console, one->nid) == LX_CONSOLE_ACTIVE)
			lx_console_heard(f->console, one->nid,
					 one->err ? LX_CONSOLE_DOWN
						  : lx_console_judge(f->console, one->row),
					 0, lx_console_now());
	}
}

/* Asks without the file's lock: commands need not wait for nodes that do not answer. */
static int look_after(struct lx_console_file *f, const char *socket, pid_t self)
{
	json_t *due = lx_console_due(f->console, lx_console_now());
	struct lx_trans t;
	int err = lx_trans_new(&t, f->console, due, LX_LST_DEBUG, 0);

	lx_console_file_close(f);
	if (!err && t.n) {
		lx_trans_run(&t, socket);
		err = lx_console_file_open(f, socket);
		if (!err && is_mine(f, self))
			note(f, &t);
		lx_console_file_close(f);
	}
	lx_trans_free(&t);
	json_decref(due);
	return err;
}

static void keep(const char *socket)
{
	struct lx_console_file f;
	pid_t self = getpid();

	for (;;) {
		if (lx_console_file_open(&f, socket))
			return;
		if (!is_mine(&f, self)) {
			lx_console_file_close(&f);
			return;
		}
		if (lx_console_expired(f.console, lx_console_now())) {
			lx_keeper_leave(f.console, socket, 0);
			json_decref(f.console);
			f.console = NULL;
			lx_console_file_close(&f);
			return;
		}
		if (look_after(&f, socket, self))
			return;
		sleep(1);
	}
}

/* Nothing of the command's is left open but the keeper's lock. */
static void detach(int keeper_fd)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	if (chdir("/"))
		return;
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < 1024; fd++) {
		if (fd != keeper_fd)
			close(fd);
	}
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_IGN);
}

int lx_keeper_start(struct lx_console_file *f)
{
	int err = lx_console_file_keep(f);
	char *socket = f->socket;
	pid_t pid;

	if (err)
		return err;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		detach(f->keeper_fd);
		keep(socket);
		_exit(0);
	}
	json_object_set_new(f->console, "keeper", json_integer(pid));
	return 0;
}
