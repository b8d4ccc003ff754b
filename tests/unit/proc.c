/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs under test; see the header. Used by the tests of daemon and tools. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "proc.h"
#include "testlib.h"

#define INSTANCE "test"
#define WORDS_MAX 64

static char bin_dir[256], work_dir[64];

void proc_init(const char *argv0)
{
	char self[256];

	snprintf(self, sizeof(self), "%s", argv0);
	snprintf(bin_dir, sizeof(bin_dir), "%s", dirname(self));
	strcpy(work_dir, "/tmp/lnetx-test-XXXXXX");
	if (!mkdtemp(work_dir) || chmod(work_dir, 0755) < 0)
		abort();
	setenv("LNETX_RUNDIR", work_dir, 1);
	setenv("LNETX_INSTANCE", INSTANCE, 1);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("JOURNAL_STREAM");
}

void proc_fini(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf %s", work_dir);
	if (system(command))
		fprintf(stderr, "%s is left\n", work_dir);
}

const char *proc_dir(void)
{
	return work_dir;
}

const char *proc_path(const char *program)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s/%s", bin_dir, program);
	if (access(path, X_OK) < 0)
		snprintf(path, sizeof(path), "%s/../bin/%s", bin_dir, program);
	return path;
}

const char *proc_file(const char *name, const char *content)
{
	static char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", work_dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(content, file);
	assert_int_equal(fclose(file), 0);
	return path;
}

char *proc_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (file) {
		size_t len = fread(text, 1, (1 << 20) - 1, file);

		text[len] = '\0';
		fclose(file);
	}
	return text;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

/* ---- daemon ------------------------------------------------------------------------ */

static bool answers(void)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool ok;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" INSTANCE ".sock", work_dir);
	ok = connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0;
	close(fd);
	return ok;
}

static void exec_daemon(const struct proc_daemon *d, const char *state, const char *const *args)
{
	/* The NIs are fake, but the machine may have interfaces of these names. */
	const char *argv[WORDS_MAX] = { "lnetxd", "--no-bpf" };
	int fd = open(d->log, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (int i = 0; args && args[i] && i < WORDS_MAX - 3; i++)
		argv[i + 2] = args[i];
	dup2(fd, STDOUT_FILENO); /* the daemon must not keep a pipe of the test open */
	dup2(fd, STDERR_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* and it must not outlive the test */
	if (state)
		setenv("FAKENODE_STATE", state, 1);
	else
		unsetenv("FAKENODE_STATE");
	execv(proc_path(d->program ? d->program : "lnetxd-fake"), (char **)argv);
	_exit(127);
}

void proc_daemon_start(struct proc_daemon *d, const char *state, const char *const *args)
{
	static pid_t last;
	char state_path[200] = "";

	/* Kill a daemon that a failed test left. If waitpid() returns 0, it is still our child. */
	if (last > 0 && waitpid(last, NULL, WNOHANG) == 0) {
		kill(last, SIGKILL);
		waitpid(last, NULL, 0);
	}
	snprintf(d->log, sizeof(d->log), "%s/log", work_dir);
	if (state)
		snprintf(state_path, sizeof(state_path), "%s", proc_file("state.yaml", state));
	d->pid = fork();
	if (!d->pid)
		exec_daemon(d, state ? state_path : NULL, args);
	last = d->pid;
	for (int i = 0; i < 12000; i++) {
		if (waitpid(d->pid, NULL, WNOHANG) == d->pid)
			fail_msg("the daemon ended:\n%s", proc_read(d->log));
		if (answers())
			return;
		nap();
	}
	fail_msg("the daemon does not answer");
}

int proc_daemon_stop(struct proc_daemon *d)
{
	int status;

	kill(d->pid, SIGTERM);
	waitpid(d->pid, &status, 0);
	if (status) { /* not by fail_msg(), which cuts a sanitizer's report */
		char *log = proc_read(d->log);

		fprintf(stderr, "the daemon's log:\n%s", log);
		free(log);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void proc_daemon_wait_log(const struct proc_daemon *d, const char *text)
{
	for (int i = 0; i < 12000; i++) {
		char *log = proc_read(d->log);
		bool found = strstr(log, text);

		free(log);
		if (found)
			return;
		nap();
	}
	fail_msg("\"%s\" is not in the log:\n%s", text, proc_read(d->log));
}

/* ---- tools ------------------------------------------------------------------------- */

static int split(char *line, char **words)
{
	int n = 0;
	char *to;

	while (*line) {
		char quote = 0;

		line += strspn(line, " ");
		if (!*line)
			break;
		words[n++] = to = line;
		for (; *line && (quote || *line != ' '); line++) {
			if (quote ? *line == quote : *line == '"' || *line == '\'')
				quote = quote ? 0 : *line;
			else
				*to++ = *line;
		}
		line += *line == ' ';
		*to = '\0';
	}
	words[n] = NULL;
	return n;
}

static void exec_tool(uid_t uid, gid_t group, const char *line, const int fds[3])
{
	char copy[4096], program[300], *words[WORDS_MAX];
	int n, file, out = fds[1];

	snprintf(copy, sizeof(copy), "%s", line);
	n = split(copy, words);
	if (n && words[n - 1][0] == '>') {
		out = open(words[n - 1] + 1, O_WRONLY);
		words[n - 1] = NULL;
	}
	snprintf(program, sizeof(program), "%s", proc_path(words[0]));
	for (int i = 0; i < 3; i++)
		dup2(i == 1 ? out : fds[i], i);
	if (!uid) {
		execv(program, words);
		_exit(127);
	}
	/* That user may not get to the tree, where the sanitizer's option names a file, too. */
	unsetenv("TSAN_OPTIONS");
	file = open(program, O_PATH | O_CLOEXEC);
	if (setgroups(group ? 1 : 0, &group) < 0 || setgid(uid) < 0 || setuid(uid) < 0)
		_exit(126);
	fexecve(file, words, environ);
	_exit(127);
}

/* Reads both streams as data arrives, so that neither pipe fills up. */
static void collect(int out, int err, struct proc_result *r)
{
	struct pollfd p[2] = { { out, POLLIN, 0 }, { err, POLLIN, 0 } };
	char *buf[2] = { r->out, r->err };
	size_t len[2] = { 0, 0 };
	int open_fds = 2;

	while (open_fds) {
		poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			ssize_t got;

			if (p[i].fd < 0 || !p[i].revents)
				continue;
			got = read(p[i].fd, buf[i] + len[i], sizeof(r->out) - 1 - len[i]);
			if (got > 0) {
				len[i] += got;
				continue;
			}
			p[i].fd = -1;
			open_fds--;
		}
	}
	r->out[len[0]] = '\0';
	r->err[len[1]] = '\0';
}

static int input_of(const char *input)
{
	int fd;

	if (!input)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = open(proc_file("stdin", input), O_RDONLY | O_CLOEXEC);
	return fd;
}

const struct proc_result *proc_run_as(uid_t uid, gid_t group, const char *line, const char *input)
{
	static struct proc_result r;
	int out[2], err[2], in = input_of(input), status;
	pid_t pid;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	pid = fork();
	if (!pid)
		exec_tool(uid, group, line, (int[]){ in, out[1], err[1] });
	close(in);
	close(out[1]);
	close(err[1]);
	collect(out[0], err[0], &r);
	close(out[0]);
	close(err[0]);
	waitpid(pid, &status, 0);
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return &r;
}
