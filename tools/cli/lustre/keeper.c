/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A session's process; see the header. Called by lst.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "../common/json.h"
#include "../common/trans.h"
#include "keeper.h"

void lx_keeper_leave(const json_t *console, const char *socket, const json_t *nids)
{
	struct lx_trans t;

	lx_trans_of(&t, socket, console, nids, 0);
	lx_trans_ask(&t, LX_LST_REMOVE_SESSION);
	lx_trans_free(&t);
}

static void leave_all(const json_t *console, const char *socket)
{
	json_t *all = lx_console_nodes(console), *active = lx_console_active(console, all);

	lx_keeper_leave(console, socket, active);
	json_decref(active);
	json_decref(all);
}

void lx_keeper_end(struct lx_console_file *f)
{
	leave_all(f->console, f->socket);
	lx_console_file_drop(f);
}

static bool is_mine(const struct lx_console_file *f, pid_t self)
{
	return lx_json_int(f->console, "keeper") == self;
}

/* Notes the nodes' answers. A node with another session has lost ours. */
static void note(struct lx_console_file *f, const struct lx_trans *t)
{
	lx_trans_for_each (one, t) {
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
	int err = 0;

	lx_trans_of(&t, socket, f->console, due, 0);
	lx_console_file_close(f);
	if (t.n) {
		lx_trans_ask(&t, LX_LST_DEBUG);
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
			leave_all(f.console, socket);
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
