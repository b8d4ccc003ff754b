/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pokes: segments that the programs send for lnetxd, if there is no packet that they can change. */
#ifndef LX_BPF_POKE_H
#define LX_BPF_POKE_H

#include <stdint.h>

#include <internal/abi.h>

/**
 * lx_poke - send a segment of a connection
 * @prog_fd: of lnetx_takeover
 * @mark: what it becomes, without LX_MARK: LX_MARK_TELL and the stream, or LX_MARK_FIN
 * @key: the connection
 *
 * It leaves before this returns. No rule of netfilter meets a segment that is not finished:
 * conntrack would call it invalid. Failures are not reported: losing one does no harm.
 */
void lx_poke(int prog_fd, uint32_t mark, int family, const struct lx_flow_key *key);

#endif
