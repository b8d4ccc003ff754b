/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The settings of an NI. Those that only its transport understands ("lnd tunables"): each transport
 * has a list of them, LIST(X, tag) with X(tag, NAME, name, min, max) for each, from which its enum,
 * the names and the ranges are generated. The order is that of struct lx_lnd_tunables.
 */
#ifndef LNETX_NI_SETTING_H
#define LNETX_NI_SETTING_H

#include <lnetx/conf.h>

#define LX_NI_SETTING_INDEX(tag, NAME, name, min, max) tag##NAME,
#define LX_NI_SETTING_NAME(tag, NAME, name, min, max) #name,
#define LX_NI_SETTING_RANGE(tag, NAME, name, min, max) { #name, min, max },

/* Initializers of arrays. */
#define LX_NI_SETTING_NAMES(LIST) { LIST(LX_NI_SETTING_NAME, ) NULL }
#define LX_NI_SETTING_TABLE(LIST) { LIST(LX_NI_SETTING_RANGE, ) { NULL, 0, 0 } }

/* X(number in messages, name, min, max): struct lx_ni_tunables, in the order of its members */
#define LX_NI_TUNABLES(X)                                                                          \
	X(1, peer_timeout, 0, 86400)                                                               \
	X(2, peer_credits, 1, 1 << 20)                                                             \
	X(3, peer_buffer_credits, 0, 1 << 20)                                                      \
	X(4, credits, 1, 1 << 20)

#endif
