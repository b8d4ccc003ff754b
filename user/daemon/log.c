/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The daemon's log: stderr, one line per event, key=value. For systemd's journal a prefix
 * gives the level, and the journal has the time; elsewhere a line begins with
 * the time, and the level is a key.
 *
 * Its reader may stop, and then a pipe or the journal's socket is full. Lines come from threads
 * that move messages, with locks held, and must not wait for that. So they go to a buffer then,
 * which a thread of its own writes; those that find it full, too, are counted, and the log says so
 * when it is read again.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "log.h"

static const char *const names[] = { "emerg",	"alert",  "crit", "error",
				     "warning", "notice", "info", "debug" };

#define BUFFER (256u << 10)
#define LINE_MAX_ 640
#define LAST_WORDS_S 1 /* that the end of the process waits for what is not written yet */

static struct {
	int level;
	bool journal;
	pthread_mutex_t lock;
	pthread_cond_t more, less; /* lines came; all are written */
	bool threaded; /* there is the thread, made when first needed */
	size_t used; /* bytes in buf */
	unsigned int lost; /* lines that found it full */
	char buf[BUFFER];
	char writing[BUFFER]; /* the thread's */
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .more = PTHREAD_COND_INITIALIZER,
	   .less = PTHREAD_COND_INITIALIZER };

/* "2026-08-05T14:03:07.251+0200" */
static const char *time_now(char *buf, size_t size)
{
	char date[32], zone[8];
	struct timeval now;
	struct tm tm;

	gettimeofday(&now, NULL);
	localtime_r(&now.tv_sec, &tm);
	strftime(date, sizeof(date), "%FT%T", &tm);
	strftime(zone, sizeof(zone), "%z", &tm);
	snprintf(buf, size, "%s.%03d%s", date, (int)(now.tv_usec / 1000), zone);
	return buf;
}

static size_t format(char buf[LINE_MAX_], int level, const char *line)
{
	char now[48];
	int len;

	if (sink.journal)
		len = snprintf(buf, LINE_MAX_, "<%d>%s\n", level, line);
	else
		len = snprintf(buf, LINE_MAX_, "%s level=%s %s\n", time_now(now, sizeof(now)),
			       names[level], line);
	if (len >= LINE_MAX_) {
		len = LINE_MAX_ - 1;
		buf[len - 1] = '\n';
	}
	return len;
}

/* Whether a line can be written now; a full pipe or socket, or a stopped terminal, can not. */
static bool is_ready(int timeout_ms)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, timeout_ms) > 0 && (p.revents & POLLOUT);
}

static void write_all(const char *buf, size_t len)
{
	ssize_t n;

	for (; len; buf += n, len -= n) {
		n = write(STDERR_FILENO, buf, len);
		if (n < 0 && errno == EAGAIN) /* somebody made it non-blocking */
			is_ready(-1);
		else if (n < 0 && errno != EINTR)
			return; /* nobody left to tell */
		if (n < 0)
			n = 0;
	}
}

/* The lock must be held. */
static bool append(const char *line, size_t len)
{
	if (len > sizeof(sink.buf) - sink.used)
		return false;
	memcpy(sink.buf + sink.used, line, len);
	sink.used += len;
	return true;
}

/* The line about lost lines, if any; the lock must be held. Returns its length. */
static size_t format_lost(char line[LINE_MAX_])
{
	char text[160];

	if (!sink.lost)
		return 0;
	snprintf(text, sizeof(text),
		 "suppressed=%u reason=\"the log was not read: what stderr goes to takes no more\"",
		 sink.lost);
	return format(line, LOG_WARNING, text);
}

static void *write_lines(void *arg)
{
	char lost[LINE_MAX_];
	size_t len;

	pthread_mutex_lock(&sink.lock);
	for (;;) {
		while (!sink.used)
			pthread_cond_wait(&sink.more, &sink.lock);
		len = sink.used;
		memcpy(sink.writing, sink.buf, len);
		pthread_mutex_unlock(&sink.lock);
		write_all(sink.writing, len);
		pthread_mutex_lock(&sink.lock);
		/* Only now: until they are written, lines count. */
		sink.used -= len;
		memmove(sink.buf, sink.buf + len, sink.used);
		if (append(lost, format_lost(lost)))
			sink.lost = 0;
		if (!sink.used)
			pthread_cond_broadcast(&sink.less);
	}
	return NULL;
}

/* Signals are for the main thread. The lock must be held. */
static bool have_thread(void)
{
	sigset_t all, old;
	pthread_t thread;

	if (sink.threaded)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	sink.threaded = !pthread_create(&thread, NULL, write_lines, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (sink.threaded)
		pthread_detach(thread);
	return sink.threaded;
}

static void take_line(int level, const char *text, void *arg)
{
	char line[LINE_MAX_], lost[LINE_MAX_];
	size_t len;

	if (level > sink.level || level < 0)
		return;
	len = format(line, level, text);
	pthread_mutex_lock(&sink.lock);
	if (!sink.used && is_ready(0)) {
		write_all(lost, format_lost(lost));
		sink.lost = 0;
		write_all(line, len);
	} else if (have_thread() && append(line, len)) {
		pthread_cond_signal(&sink.more);
	} else {
		sink.lost++;
	}
	pthread_mutex_unlock(&sink.lock);
}

void lx_daemon_log_flush(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LAST_WORDS_S;
	pthread_mutex_lock(&sink.lock);
	while (sink.used && !pthread_cond_timedwait(&sink.less, &sink.lock, &until))
		;
	pthread_mutex_unlock(&sink.lock);
}

int lx_daemon_log_level(const char *name)
{
	for (int i = 0; i <= LOG_DEBUG; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -EINVAL;
}

const char *lx_daemon_log_unquoted(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%s", text);
	for (char *p = buf; *p; p++) {
		if (*p == '"')
			*p = '\'';
	}
	return buf;
}

/* $JOURNAL_STREAM is "device:inode" of the journal's stream; is stderr that stream? */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	       !fstat(STDERR_FILENO, &st) && st.st_dev == dev && st.st_ino == ino;
}

void lx_daemon_log_start(int level)
{
	sink.level = level;
	sink.journal = is_journal();
	atexit(lx_daemon_log_flush);
	lx_set_log(take_line, NULL);
}
