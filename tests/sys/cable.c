/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A cable between two network namespaces whose second end receives as drivers do: it decides what
 * memory a packet is in. Both ends are tap interfaces, which it creates. Runs until it is killed.
 *
 *	kmalloc   frames in memory that is no page fragment: GRO hangs them on a frag_list
 *	head      frames in one page fragment each: GRO joins 17, then hangs the rest on a frag_list
 *	frags     frames, and with --gso packets, in pieces that are page fragments; the first one
 *	          has not all headers
 *	guest     packets to be segmented, as from a virtual machine: not trusted, segments not counted
 *
 * usage: cable HOW NETNS INTERFACE NETNS INTERFACE [tag]
 *
 * tag: gives each packet for the second end the tag of VLAN 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECE 4096
#define PIECES 18 /* as many as a packet may have, and its head */
#define SHORT_HEAD 20

enum how { KMALLOC, HEAD, FRAGS, GUEST, HOWS };
static const char *const how_names[HOWS] = { "kmalloc", "head", "frags", "guest" };

static enum how how;
static bool tagged;

static void die(const char *what)
{
	fprintf(stderr, "cable: %s: %s\n", what, strerror(errno));
	exit(1);
}

static bool has_gso(void)
{
	return how == GUEST || how == FRAGS;
}

static int tap_open(const char *netns, const char *name, int flags)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | flags };
	char path[128];
	int ns, fd;

	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		die(netns);
	close(ns);
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr))
		die(name);
	if (has_gso() && ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6))
		die(name);
	return fd;
}

/* Splits what is at @at into pieces; their number. The kernel makes each a page fragment. */
static int pieces(uint8_t *at, size_t n, struct iovec *ret)
{
	int count = 0;
	size_t len = SHORT_HEAD;

	while (n && count < PIECES) {
		if (len > n)
			len = n;
		ret[count++] = (struct iovec){ at, len };
		at += len;
		n -= len;
		len = PIECE;
	}
	return n ? -1 : count;
}

/* Makes room for a tag behind the addresses, and writes it. @at has 4 bytes in front. */
static uint8_t *tag(uint8_t *at)
{
	static const uint8_t priority[4] = { 0x81, 0, 3 << 5, 0 };

	memmove(at - sizeof(priority), at, 2 * ETH_ALEN);
	at -= sizeof(priority);
	memcpy(at + 2 * ETH_ALEN, priority, sizeof(priority));
	return at;
}

struct direction {
	int from, to;
	bool to_driver;
};

static void carry(const struct direction *d, uint8_t *packet, size_t n)
{
	struct virtio_net_hdr gso = { 0 };
	struct iovec iov[PIECES + 1] = { { &gso, 0 } };
	int count = 1;

	if (has_gso()) {
		memcpy(&gso, packet, sizeof(gso));
		packet += sizeof(gso);
		n -= sizeof(gso);
		iov[0].iov_len = sizeof(gso);
	}
	if (tagged && d->to_driver) {
		packet = tag(packet);
		n += 4;
		if (gso.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
			gso.csum_start += 4;
		if (gso.hdr_len)
			gso.hdr_len += 4;
	}
	if (how == FRAGS && d->to_driver)
		count = pieces(packet, n, iov + 1);
	else
		iov[1] = (struct iovec){ packet, n };
	/* Packets that the kernel does not take are lost, as on a cable. */
	if (count > 0 &&
	    pwritev2(d->to, iov + !iov[0].iov_len, count + !!iov[0].iov_len, -1,
		     how == HEAD ? RWF_NOWAIT : 0) < 0 &&
	    errno != EAGAIN && errno != EINVAL && errno != EIO && errno != ENOBUFS)
		die("write");
}

static void *carry_all(void *arg)
{
	static __thread uint8_t packet[4 + (1 << 17)];
	const struct direction *d = arg;
	ssize_t n;

	for (;;) {
		n = read(d->from, packet + 4, sizeof(packet) - 4);
		if (n > 0)
			carry(d, packet + 4, n);
		else if (errno != EIO) /* the interface is down */
			die("read");
		else
			usleep(10000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct direction there, back;
	pthread_t thread;
	int flags, near, far;

	while (argc > 1 && how < HOWS && strcmp(argv[1], how_names[how]))
		how++;
	tagged = argc == 7 && !strcmp(argv[6], "tag");
	if (argc != 6 + tagged || how == HOWS) {
		fprintf(stderr, "usage: cable kmalloc|head|frags|guest NETNS INTERFACE NETNS "
				"INTERFACE [tag]\n");
		return 2;
	}
	flags = has_gso() ? IFF_VNET_HDR : 0;
	near = tap_open(argv[2], argv[3], flags);
	if (how != GUEST)
		flags |= IFF_NAPI;
	if (how == FRAGS)
		flags |= IFF_NAPI_FRAGS;
	far = tap_open(argv[4], argv[5], flags);
	there = (struct direction){ near, far, true };
	back = (struct direction){ far, near, false };
	puts("ready");
	fflush(stdout);
	if (pthread_create(&thread, NULL, carry_all, &back))
		die("thread");
	carry_all(&there);
	return 0;
}
