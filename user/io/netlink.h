/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests to the kernel by netlink: links, routes, IPsec. Only the callers know what their
 * messages mean; this file carries them there, and the answers back. No state: each request has a
 * socket.
 */
#ifndef LX_IO_NETLINK_H
#define LX_IO_NETLINK_H

#include <libmnl/libmnl.h>

/* Room for one; attributes are added by mnl_attr_put_*(&request.nlh, ...). */
union lx_netlink_request {
	struct nlmsghdr nlh;
	char room[1024];
};

/**
 * lx_netlink_open - open a socket
 * @bus: NETLINK_ROUTE, ...
 * @flags: SOCK_NONBLOCK, or 0
 * @groups: what to be told about: RTMGRP_LINK, ...
 * Returns 0 or -errno. mnl_socket_close() closes it.
 */
int lx_netlink_open(int bus, int flags, unsigned int groups, struct mnl_socket **ret_nl);

/* Begins a request: @header of @size bytes comes before the attributes. Returns its nlh. */
struct nlmsghdr *lx_netlink_request(union lx_netlink_request *request, uint16_t type,
				    uint16_t flags, const void *header, size_t size);

/**
 * lx_netlink_ask - send a request and read the answer to its end
 * @fn: gets each message of the answer, returns MNL_CB_OK, or MNL_CB_ERROR with errno set; NULL:
 *	there is none but success or failure
 * Returns 0 or -errno, the kernel's or of @fn.
 */
int lx_netlink_ask(int bus, const struct nlmsghdr *request, mnl_cb_t fn, void *arg);

/* The attribute of a type that follows a header of @size bytes. NULL: there is none. */
const struct nlattr *lx_netlink_attr(const struct nlmsghdr *nlh, size_t size, uint16_t type);

#endif
