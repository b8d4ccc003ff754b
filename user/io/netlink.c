/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by netwatch.c, the fast path's interfaces and the tools for this machine.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "netlink.h"

#define ANSWER_SIZE (32u << 10) /* what the kernel fills at most */
#define SEQ 1 /* one request a socket */

int lx_netlink_open(int bus, int flags, unsigned int groups, struct mnl_socket **ret_nl)
{
	struct mnl_socket *nl = mnl_socket_open2(bus, SOCK_CLOEXEC | flags);
	int r = nl && !mnl_socket_bind(nl, groups, MNL_SOCKET_AUTOPID) ? 0 : -errno;

	if (!r)
		*ret_nl = nl;
	else if (nl)
		mnl_socket_close(nl);
	return r;
}

struct nlmsghdr *lx_netlink_request(union lx_netlink_request *request, uint16_t type,
				    uint16_t flags, const void *header, size_t size)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(request);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags =
		NLM_F_REQUEST | NLM_F_ACK | flags; /* a dump needs no ACK, and has none */
	nlh->nlmsg_seq = SEQ;
	memcpy(mnl_nlmsg_put_extra_header(nlh, size), header, size);
	return nlh;
}

int lx_netlink_ask(int bus, const struct nlmsghdr *request, mnl_cb_t fn, void *arg)
{
	struct mnl_socket *nl;
	char buf[ANSWER_SIZE];
	ssize_t n;
	int r = lx_netlink_open(bus, 0, 0, &nl);

	if (r)
		return r;
	n = mnl_socket_sendto(nl, request, request->nlmsg_len);
	do {
		if (n >= 0)
			n = mnl_socket_recvfrom(nl, buf, sizeof(buf));
		r = n < 0 ? MNL_CB_ERROR
			  : mnl_cb_run(buf, n, SEQ, mnl_socket_get_portid(nl), fn, arg);
	} while (r > MNL_CB_STOP);
	r = r < 0 ? -errno : 0;
	mnl_socket_close(nl);
	return r;
}

const struct nlattr *lx_netlink_attr(const struct nlmsghdr *nlh, size_t size, uint16_t type)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, size)
	{
		if (mnl_attr_get_type(attr) == type)
			return attr;
	}
	return NULL;
}
