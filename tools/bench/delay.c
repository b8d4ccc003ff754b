/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * "delay IF IF MS": while it runs, each frame received on one of the two interfaces is sent on
 * the other, MS milliseconds later: a long link, for kernels without netem. TSO frames stay
 * whole and checksums offloaded: the cost is two copies.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000ull
#define FRAME_MAX (sizeof(struct virtio_net_hdr) + (512u << 10)) /* BIG TCP */
#define UNDER_WAY_MAX (256u << 20) /* bytes per direction; more are dropped */
#define SOCKET_BYTES (64 << 20)

struct frame {
	struct frame *next;
	uint64_t due_ns;
	size_t len;
	uint8_t bytes[];
};

/* Frames received at one end that wait to leave at the other. */
struct direction {
	struct frame *first, *last;
	size_t bytes;
	uint64_t lost;
};

static uint64_t delay_ns;
static uint8_t buf[FRAME_MAX];

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "delay: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_end(const char *ifname)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	at.sll_ifindex = (int)if_nametoindex(ifname);
	if (fd < 0 || !at.sll_ifindex)
		die(ifname);
	if (setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &(int){ 1 }, sizeof(int)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &(int){ 1 }, sizeof(int)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &(int){ SOCKET_BYTES }, sizeof(int)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &(int){ SOCKET_BYTES }, sizeof(int)) ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)))
		die(ifname);
	return fd;
}

static void take(int fd, struct direction *d)
{
	struct frame *frame;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		frame = d->bytes + n <= UNDER_WAY_MAX ? malloc(sizeof(*frame) + n) : NULL;
		if (!frame) {
			d->lost++;
			continue;
		}
		frame->next = NULL;
		frame->due_ns = now_ns() + delay_ns;
		frame->len = n;
		memcpy(frame->bytes, buf, n);
		if (d->last)
			d->last->next = frame;
		else
			d->first = frame;
		d->last = frame;
		d->bytes += n;
	}
}

static void give(int fd, struct direction *d)
{
	uint64_t now = now_ns();
	struct frame *frame;

	while ((frame = d->first) && frame->due_ns <= now) {
		d->first = frame->next;
		if (!d->first)
			d->last = NULL;
		d->bytes -= frame->len;
		if (send(fd, frame->bytes, frame->len, 0) < 0)
			d->lost++;
		free(frame);
	}
}

/* Time until the next frame is due; NULL: none is waiting. */
static struct timespec *until(const struct direction *d, struct timespec *left)
{
	uint64_t now = now_ns(), due = UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		if (d[i].first && d[i].first->due_ns < due)
			due = d[i].first->due_ns;
	}
	if (due == UINT64_MAX)
		return NULL;
	due = due > now ? due - now : 0;
	left->tv_sec = due / SECOND;
	left->tv_nsec = due % SECOND;
	return left;
}

int main(int argc, char **argv)
{
	struct direction d[2] = { 0 };
	struct pollfd end[2];
	struct timespec left;

	if (argc != 4) {
		fprintf(stderr, "usage: delay IF IF MILLISECONDS\n");
		return 2;
	}
	delay_ns = strtod(argv[3], NULL) * 1e6;
	for (int i = 0; i < 2; i++)
		end[i] = (struct pollfd){ .fd = open_end(argv[1 + i]), .events = POLLIN };
	prctl(PR_SET_TIMERSLACK, 1);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		if (ppoll(end, 2, until(d, &left), NULL) < 0 && errno != EINTR)
			die("poll");
		for (int i = 0; i < 2; i++) {
			take(end[i].fd, &d[i]);
			give(end[!i].fd, &d[i]);
		}
	}
}
