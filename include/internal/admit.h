/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which message headers a node accepts, and which a router forwards: one rule for the
 * library and for the programs of the fast path. The fast path must not forward what the
 * library refuses or drops: the next hop would close the router's connections instead of the
 * offender's.
 *
 * Compiles natively and for BPF. Source of the rules: spec lnet.md, section 7.1.
 */
#ifndef LNETX_ADMIT_H
#define LNETX_ADMIT_H

#include <lnetx/reasons.h>
#include <lnetx/wire.h>

/**
 * lx_admit_header - check whether a header is legal, for any destination
 * @type: enum lx_msg_type, unchecked; @length: of the payload, in bytes
 * Returns LX_REASON_NONE, or why to close the connection (rows 1 to 3): any router refuses it, so
 * the neighbour itself has made it.
 */
LX_INLINE enum lx_reason lx_admit_header(__u32 type, __u32 length)
{
	switch (type) {
	case LX_MSG_ACK:
	case LX_MSG_GET:
		return length ? LX_REASON_BAD_LENGTH : LX_REASON_NONE;
	case LX_MSG_PUT:
	case LX_MSG_REPLY:
		return length > LX_PAYLOAD_MAX ? LX_REASON_BAD_LENGTH : LX_REASON_NONE;
	}
	return LX_REASON_BAD_TYPE;
}

/**
 * lx_admit_nids - check whether nodes can have the NIDs in a header
 * Returns LX_REASON_NONE, or why to drop the message. The neighbour is not at fault: it may have
 * forwarded it, and a router does not look at them so closely.
 */
LX_INLINE enum lx_reason lx_admit_nids(const struct lx_nid *src, const struct lx_nid *dst)
{
	if (lx_nid_is_any(src) || !lx_nid_is_valid(src) || lx_nid_is_any(dst) ||
	    !lx_nid_is_valid(dst))
		return LX_REASON_BAD_NID;
	return LX_REASON_NONE;
}

/**
 * lx_admit_transit - check whether a router may forward a message that is not for itself
 * @net: of the NI it came in on; nodes on that net need no router to reach each other
 * Returns LX_REASON_NONE, or why to drop it (row 5).
 */
LX_INLINE enum lx_reason lx_admit_transit(const struct lx_nid *dst, __u32 net)
{
	return lx_nid_net(dst) == net ? LX_REASON_MISROUTED : LX_REASON_NONE;
}

#endif
