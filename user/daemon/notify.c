/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The service manager's protocol: a datagram of NAME=value lines to the socket in
 * $NOTIFY_SOCKET. Called by the daemon when its state changes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/clock.h"
#include "notify.h"

static void send_text(const char *text, size_t len)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int fd LX_AUTO_CLOSE = -1;
	size_t path_len;

	if (!path || (path[0] != '/' && path[0] != '@'))
		return;
	path_len = strlen(path);
	if (path_len >= sizeof(sa.sun_path))
		return;
	memcpy(sa.sun_path, path, path_len);
	if (path[0] == '@')
		sa.sun_path[0] = '\0'; /* the abstract name space */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		/* Nor does a service manager that has stopped reading stop us. */
		sendto(fd, text, len, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&sa,
		       offsetof(struct sockaddr_un, sun_path) + path_len);
}

void lx_notify(const char *fmt, ...)
{
	char text[256];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	send_text(text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

/* Several times in its time-out: one turn that comes late is no hang. */
unsigned int lx_notify_watchdog_ms(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) / 1000 / 6;
}

void lx_notify_reloading(void)
{
	lx_notify("RELOADING=1\nMONOTONIC_USEC=%lld\nSTATUS=reading the configuration again",
		  (long long)lx_clock_ns(CLOCK_MONOTONIC) / 1000);
}
