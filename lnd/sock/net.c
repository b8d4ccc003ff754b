/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Nets: the state of an NI. Owner: the NI until its shutdown; after that connections and
 * listeners that are being closed hold the net, and the last of them releases it.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "priv.h"

int lx_sock_net_new(struct lx_ni *ni, void (*released)(struct lx_sock_net *net),
		    struct lx_sock_net **ret_net)
{
	struct lx_sock_net *net = calloc(1, sizeof(*net));

	if (!net || lx_hash_init(&net->peer_hash)) {
		free(net);
		return -ENOMEM;
	}
	net->ni = ni;
	net->released = released;
	net->pending = 1;
	net->claim = -1;
	lx_list_init(&net->link);
	lx_list_init(&net->peers);
	*ret_net = net;
	return 0;
}

void lx_sock_net_free(struct lx_sock_net *net)
{
	if (net->claim >= 0)
		close(net->claim);
	lx_hash_fini(&net->peer_hash);
	free(net);
}

int lx_sock_net_claim(struct lx_sock_net *net)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "lnetx/%s",
			   lx_nid_str(&net->ni->nid));

	net->claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (net->claim < 0)
		return -errno;
	return bind(net->claim, (struct sockaddr *)&name,
		    offsetof(struct sockaddr_un, sun_path) + 1 + len)
		       ? -errno
		       : 0;
}

void lx_sock_net_hold(struct lx_sock_net *net)
{
	net->pending++;
}

void lx_sock_net_release(struct lx_sock_net *net)
{
	if (!--net->pending)
		net->released(net);
}

struct lx_sock_net *lx_sock_net_lookup(struct lx_sock_host *host, const struct lx_nid *nid)
{
	struct lx_sock_net *net;

	lx_list_for_each (net, &host->nets, link) {
		if (!net->closing && lx_nid_eq(&net->ni->nid, nid))
			return net;
	}
	return NULL;
}

void lx_sock_net_set_scope(const struct lx_sock_net *net, union lx_addr *addr)
{
	if (lx_addr_is_link_local(addr))
		addr->v6.sin6_scope_id = net->netif.index;
}

uint64_t lx_sock_net_timeout_ns(const struct lx_sock_net *net)
{
	int32_t seconds = net->ni->lnd_tun.value[LX_SOCK_NI_TIMEOUT];

	if (!seconds)
		seconds = lx_lnd_timeout(net->ni);
	return (seconds ? seconds : 1) * LX_S_NS;
}

unsigned int lx_sock_net_conns_per_peer(const struct lx_sock_net *net)
{
	return net->ni->lnd_tun.value[LX_SOCK_NI_CONNS_PER_PEER];
}
