/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A minimal, fast TCP relay: the cost of a router that knows nothing of messages. One thread,
 * epoll, recv() and send() through one buffer per direction, one outgoing connection per
 * incoming one.
 *
 * It listens transparently, on the address of the server it relays to, so that clients need not
 * know about it. The system must deliver packets for that address here (by a routing rule on
 * the incoming interface).
 *
 * usage: relay ADDRESS PORT [BUFFER]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN_READS 8 /* then it is the next connection's turn */

struct end {
	struct pair *pair;
	struct end *other;
	int fd;
	unsigned int events;
	bool eof;
	char *buf; /* read, but not yet sent at the other end */
	size_t at, end;
};

struct pair {
	struct end end[2];
	struct pair *next_dead;
};

static int epoll_fd;
static size_t buffer = 128 << 10;
static struct sockaddr_in server;
static struct pair *dead;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void watch(struct end *e, unsigned int events)
{
	struct epoll_event ev = { .events = events, .data.ptr = e };

	if (e->events == events)
		return;
	e->events = events;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, e->fd, &ev))
		die("epoll_ctl");
}

static void close_pair(struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		if (pair->end[i].fd < 0)
			return;
		close(pair->end[i].fd);
		pair->end[i].fd = -1;
	}
	/* Events of this turn may still refer to it. */
	pair->next_dead = dead;
	dead = pair;
}

static void free_dead(void)
{
	struct pair *pair;

	while ((pair = dead)) {
		dead = pair->next_dead;
		free(pair->end[0].buf);
		free(pair->end[1].buf);
		free(pair);
	}
}

/* Sends what was read at @from. 0: all of it; 1: not all; -1: closed. */
static int flush(struct end *from)
{
	ssize_t n;

	while (from->at < from->end) {
		n = send(from->other->fd, from->buf + from->at, from->end - from->at,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN ? 1 : -1;
		from->at += n;
	}
	return 0;
}

/* Copies bytes from one end to the other until there are none, or sending would block. */
static int pump(struct end *from)
{
	ssize_t n;
	int r;

	for (int i = 0; i < TURN_READS; i++) {
		r = flush(from);
		if (r)
			return r;
		if (from->eof)
			return 0;
		n = recv(from->fd, from->buf, buffer, MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		from->at = 0;
		from->end = n;
		if (!n) {
			from->eof = true;
			shutdown(from->other->fd, SHUT_WR);
			return from->other->eof ? -1 : 0;
		}
		if ((size_t)n < buffer)
			return flush(from);
	}
	return 0;
}

static void update(struct end *e)
{
	bool full = e->at < e->end, owed = e->other->at < e->other->end;

	watch(e, (full || e->eof ? 0 : EPOLLIN) | (owed ? EPOLLOUT : 0));
}

static void ready(struct end *e, unsigned int events)
{
	struct pair *pair = e->pair;
	int r = 0;

	if (e->fd < 0)
		return;
	if (events & EPOLLOUT)
		r = flush(e->other);
	if (r >= 0 && (events & ~EPOLLOUT))
		r = pump(e);
	if (r < 0) {
		close_pair(pair);
		return;
	}
	update(e);
	update(e->other);
}

static void add(struct end *e)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = e };
	int one = 1;

	setsockopt(e->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	e->events = EPOLLIN;
	e->buf = malloc(buffer);
	if (!e->buf || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, e->fd, &ev))
		die("new connection");
}

/*
 * A connection to the server, from a privileged port as socklnd requires.
 * Blocking: takes no time on this lab's wires.
 */
static int connect_out(void)
{
	struct sockaddr_in from = { .sin_family = AF_INET };
	static unsigned int port;
	int fd, one = 1, error = EADDRINUSE;

	for (unsigned int i = 0; i < 512; i++) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			die("socket");
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		from.sin_port = htons(512 + port++ % 512);
		if (!bind(fd, (struct sockaddr *)&from, sizeof(from)) &&
		    !connect(fd, (struct sockaddr *)&server, sizeof(server)))
			return fd;
		error = errno;
		close(fd);
		if (error != EADDRINUSE && error != EADDRNOTAVAIL)
			break;
	}
	errno = error;
	return -1;
}

static void accept_one(int listener)
{
	struct pair *pair = calloc(1, sizeof(*pair));
	int in = accept4(listener, NULL, NULL, SOCK_CLOEXEC), out;

	if (!pair || in < 0)
		die("accept");
	out = connect_out();
	if (out < 0) {
		perror("connect");
		close(in);
		free(pair);
		return;
	}
	for (int i = 0; i < 2; i++) {
		pair->end[i].pair = pair;
		pair->end[i].other = &pair->end[!i];
		pair->end[i].fd = i ? out : in;
	}
	add(&pair->end[0]);
	add(&pair->end[1]);
}

static int listen_transparently(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)))
		die("IP_TRANSPARENT");
	if (bind(fd, (struct sockaddr *)&server, sizeof(server)) || listen(fd, 128))
		die("listen");
	return fd;
}

int main(int argc, char **argv)
{
	struct epoll_event ev[64] = { { .events = EPOLLIN } };
	int listener, n;

	if (argc < 3 || !inet_aton(argv[1], &server.sin_addr)) {
		fprintf(stderr, "usage: relay ADDRESS PORT [BUFFER]\n");
		return 2;
	}
	server.sin_family = AF_INET;
	server.sin_port = htons(atoi(argv[2]));
	if (argc > 3)
		buffer = strtoul(argv[3], NULL, 10);
	signal(SIGPIPE, SIG_IGN);
	listener = listen_transparently();
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, ev))
		die("epoll");
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		n = epoll_wait(epoll_fd, ev, 64, -1);
		if (n < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < n; i++) {
			if (ev[i].data.ptr)
				ready(ev[i].data.ptr, ev[i].events);
			else
				accept_one(listener);
		}
		free_dead();
	}
}
