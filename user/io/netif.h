/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Network interfaces, their addresses, and sockets bound to them.
 */
#ifndef LX_IO_NETIF_H
#define LX_IO_NETIF_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include <lnetx/info.h>

#include "addr.h"

struct lx_netif {
	char name[IFNAMSIZ]; /* as requested; may be an alias ("eth0:1") */
	unsigned int index;
	union lx_addr addr; /* port 0 */
	unsigned int prefix_len; /* of the address */
	unsigned int mtu;
	bool enabled; /* administratively */
	bool up; /* enabled, and the kernel has noted the carrier, which may take it a second */
	bool carrier; /* the driver has one */
	bool loopback;
	bool fleeting; /* lx_netif_addrs(): an IPv6 address that is temporary, or deprecated */
	bool offload; /* scatter/gather and checksums in hardware: zero copy may pay */
	unsigned int speed_mbps; /* 0: unknown */
};

/*
 * Why an NI with this interface is down: LX_DOWN_INTERFACE, LX_DOWN_CARRIER; LX_DOWN_NO. @starting:
 * the kernel may not have noted the carrier yet.
 */
enum lx_down_why lx_netif_down(const struct lx_netif *netif, bool starting);

/**
 * lx_netif_by_name - an interface and its first address
 * @name: interface or alias
 * An IPv4 address is preferred; of the IPv6 ones, a global one. Temporary ones do not count;
 * deprecated and tentative ones come last.
 *
 * Returns 0, -ENODEV: no such interface; -EADDRNOTAVAIL: it has no address;
 * or another errno of getifaddrs().
 */
int lx_netif_by_name(const char *name, struct lx_netif *ret_netif);

/**
 * lx_netif_by_addr - the interface that has an address
 * @name: "" any, or the one it must be on
 * Returns 0, -EADDRNOTAVAIL: none has it; or another errno of getifaddrs().
 */
int lx_netif_by_addr(const union lx_addr *addr, const char *name, struct lx_netif *ret_netif);

/**
 * lx_netif_first - the first address of a family; IPv6 link-local and temporary ones do not count,
 *	deprecated and tentative ones come last
 * @name: on this interface; NULL: on any that is up, but loopback
 * Returns 0, -EADDRNOTAVAIL, -ENODEV: there is none; or another errno of getifaddrs().
 */
int lx_netif_first(int family, const char *name, struct lx_netif *ret_netif);

/* As lx_netif_by_addr(). Here, so that a test's fake of that is asked, too. */
static inline int lx_netif_by_nid(const struct lx_nid *nid, const char *name,
				  struct lx_netif *ret_netif)
{
	union lx_addr addr;

	lx_addr_of_nid(&addr, nid, 0);
	return lx_netif_by_addr(&addr, name, ret_netif);
}

/**
 * lx_netif_addrs - all IP addresses, each with its interface
 * @ret_list: to be freed
 * Returns 0, -ENOMEM or another errno of getifaddrs().
 */
int lx_netif_addrs(struct lx_netif **ret_list, size_t *ret_n);

/* 0: no such interface. */
unsigned int lx_netif_index(const char *name);

/* 0, -ENODEV: no such interface; or another errno. */
int lx_netif_name(unsigned int index, char ret_name[IFNAMSIZ]);

struct lx_netif_link {
	char name[IFNAMSIZ];
	unsigned int index;
};

/**
 * lx_netif_links - all interfaces, with and without addresses
 * @ret_list: to be freed
 * Returns 0, -ENOMEM or another errno.
 */
int lx_netif_links(struct lx_netif_link **ret_list, size_t *ret_n);

/* 1 or 0; -ENODEV: no such interface; or another errno. */
int lx_netif_is_ethernet(const char *name);

/* Whether an interface of this machine has a MAC address. */
bool lx_netif_has_mac(const uint8_t mac[6]);

/* False also for interfaces that do not exist. */
bool lx_netif_is_loopback(const char *name);

/* Large receive offload: of an interface that only passes on packets, that of those below it. */
bool lx_netif_has_lro(const char *name, char ret_card[IFNAMSIZ]);

/**
 * lx_netif_find_card - find an interface that receives for another one: itself, or for a VLAN,
 * bond, bridge and the like, one of those below it
 * @fits: called for each until it returns true
 * @ret_card: the one that fits
 * Returns false if none does.
 */
bool lx_netif_find_card(const char *name, bool (*fits)(const char *name, void *arg), void *arg,
			char ret_card[IFNAMSIZ]);

/**
 * lx_netif_tx_dropped - packets that an interface dropped instead of sending them, or failed to
 * send Counted by the kernel since the interface exists, here modulo 2^32. Returns 0, -ENODEV: no
 * such interface; or another errno.
 */
int lx_netif_tx_dropped(const char *name, uint32_t *ret_dropped);

/*
 * A setting of net.ipv4.conf: of that for the interface and that for all the larger one counts. 0
 * also if there is none.
 */
int lx_netif_conf(const char *name, const char *key);

/*
 * Whether the kernel has a route between two addresses that leaves by an interface, for packets
 * with a mark. The ports are not asked for.
 */
bool lx_netif_leads_to(unsigned int index, const union lx_addr *local, const union lx_addr *remote,
		       uint32_t mark);

/* The index of the VRF that an interface belongs to, or is; 0: none. */
unsigned int lx_netif_vrf(unsigned int index);

/* "virtio_net"; -errno: unknown. */
int lx_netif_driver(const char *name, char *ret_driver, size_t size);

/* False also for interfaces that do not exist: whether it is switched on; whether it segments. */
bool lx_netif_is_up(const char *name);
bool lx_netif_tso(const char *name);

/* Switch offloads: segmentation when sending, joining when receiving. 0 or -errno. */
int lx_netif_set_tso(const char *name, bool on);
int lx_netif_set_gro(const char *name, bool on);

/* ---- sockets -------------------------------------------------------------- */

/* These are sockets of the VRF, if the local address is that of an interface in one. */

/* A listening TCP socket, non-blocking. Returns the fd or -errno. */
int lx_netif_listen(const union lx_addr *addr, int backlog);

struct lx_netif_dial {
	const union lx_addr *local; /* the port is chosen */
	const union lx_addr *remote;
	unsigned int port_first, port_last; /* source ports to try, downwards; 0: any */
	/* Called for a new socket before it connects; may be NULL. */
	void (*prepare)(int fd, void *arg);
	void *arg;
};

/**
 * lx_netif_dial - start a TCP connection, from the first free one of the ports
 * @ret_privileged: true if the source port is one of them; false if the system does not
 *	let this process bind them, and it is any port
 *
 * Returns the non-blocking fd, connecting or connected; -EADDRINUSE: all ports
 * are in use; or another errno of bind() or connect().
 */
int lx_netif_dial(const struct lx_netif_dial *dial, bool *ret_privileged);

#endif
