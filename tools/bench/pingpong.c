/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ping-pong over one TCP connection, with blocking calls: the minimum for a message
 * and its answer on this machine.
 *
 * usage: pingpong server ADDRESS PORT SIZE
 *        pingpong client ADDRESS PORT SIZE SECONDS
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "hist.h"

#define SIZE_MAX_ 65536

static char buf[SIZE_MAX_];
static struct lx_hist hist;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

/* False: the other end has closed. */
static bool receive(int fd, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t n = recv(fd, buf + have, size - have, 0);

		if (n <= 0)
			return false;
		have += n;
	}
	return true;
}

static bool transmit(int fd, size_t size)
{
	for (size_t sent = 0; sent < size;) {
		ssize_t n = send(fd, buf + sent, size - sent, MSG_NOSIGNAL);

		if (n < 0)
			return false;
		sent += n;
	}
	return true;
}

static void no_delay(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void serve(const struct sockaddr_in *address, size_t size)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (const struct sockaddr *)address, sizeof(*address)) ||
	    listen(listener, 16))
		die("listen");
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0)
			die("accept");
		no_delay(fd);
		while (receive(fd, size) && transmit(fd, size))
			;
		close(fd);
	}
}

static void play(const struct sockaddr_in *address, size_t size, double seconds)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint64_t end, before, after;

	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)))
		die("connect");
	no_delay(fd);
	before = now_ns();
	end = before + (uint64_t)(seconds * 1e9);
	while (before < end) {
		if (!transmit(fd, size) || !receive(fd, size))
			die("ping-pong");
		after = now_ns();
		lx_hist_add(&hist, after - before);
		before = after;
	}
	printf("{\"op\": \"pingpong\", \"size\": %zu, \"messages\": %llu, \"p50_us\": %.2f, "
	       "\"p99_us\": %.2f, \"max_us\": %.2f}\n",
	       size, (unsigned long long)hist.n, (double)lx_hist_percentile(&hist, 50) / 1e3,
	       (double)lx_hist_percentile(&hist, 99) / 1e3, (double)hist.max / 1e3);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	size_t size;

	if (argc < 5 || !inet_aton(argv[2], &address.sin_addr)) {
		fprintf(stderr, "usage: pingpong server ADDRESS PORT SIZE\n"
				"       pingpong client ADDRESS PORT SIZE SECONDS\n");
		return 2;
	}
	address.sin_port = htons(atoi(argv[3]));
	size = strtoul(argv[4], NULL, 10);
	if (!size || size > SIZE_MAX_)
		return 2;
	if (argc == 5 && !strcmp(argv[1], "server"))
		serve(&address, size);
	else if (argc == 6 && !strcmp(argv[1], "client"))
		play(&address, size, atof(argv[5]));
	else
		return 2;
	return 0;
}
