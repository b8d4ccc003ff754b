/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pokes: dummy segments from a connection's ports; the program at the interface makes them ACKs. */
#ifndef LX_BPF_POKE_H
#define LX_BPF_POKE_H

#include <internal/abi.h>

/* Opens a socket for pokes of connections of a family; the caller closes it. -errno. */
int lx_poke_socket(int family);

/**
 * lx_poke - send a dummy segment
 * @fd: of lx_poke_socket(@family)
 * @key: the connection
 * @ifindex: its interface. As for the connection's own segments, rules of routing see its local
 *	address, too.
 *
 * Failures are not reported: losing one does no harm. Should it get out because the program was
 * removed, its wrong checksum makes every receiver drop it.
 */
void lx_poke(int fd, int family, const struct lx_flow_key *key, unsigned int ifindex);

#endif
