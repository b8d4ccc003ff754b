/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The settings of an NI in commands: X(NAME, name, value) with the key in files, which is lnetx'
 * word, too, and how help names the value. Ranges: lx_conf_ni_settings(), lx_conf_lnd_settings().
 */
#ifndef LX_TOOLS_NI_WORDS_H
#define LX_TOOLS_NI_WORDS_H

/* Of the transport; "net set" changes them while the NI is up. */
#define LX_NI_LIVE_WORDS(X) \
	X(CONNS_PER_PEER, conns_per_peer, "N") \
	X(LND_TIMEOUT, timeout, "S") \
	X(TOS, tos, "N") \
	X(FASTPATH, fastpath, "0|1")

#define LX_NI_WORDS(X) \
	X(PEER_TIMEOUT, peer_timeout, "S") \
	X(PEER_CREDITS, peer_credits, "N") \
	X(PEER_BUFFER_CREDITS, peer_buffer_credits, "N") \
	X(CREDITS, credits, "N") \
	LX_NI_LIVE_WORDS(X)

#endif
