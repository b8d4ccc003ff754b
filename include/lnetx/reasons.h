/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why a message was dropped: one list, from which the enum, the counters, the
 * names in JSON and YAML and the table in the manual come.
 *
 * Compiles natively and for BPF. Append only: numbers are in maps and traces.
 */
#ifndef LNETX_REASONS_H
#define LNETX_REASONS_H

/* X(NAME, "name", "what happened, and the spec section of the rule") */
#define LX_REASONS(X) \
	X(NONE, "none", "not dropped") \
	X(BAD_TYPE, "bad_type", "unknown message type; connection closed (lnet.md 7.1 row 1)") \
	X(BAD_LENGTH, "bad_length", "payload length not allowed for the type; connection closed (rows 2, 3)") \
	X(MISROUTED, "misrouted", "for another node of the net it came in on; connection closed (row 5)") \
	X(WRONG_NET, "wrong_net", "for another of our NIDs than the one it came to; connection closed (row 6)") \
	X(RDMA_NOT_FOR_ME, "rdma_not_for_me", "an optimised GET for someone else; connection closed (row 7)") \
	X(ROUTING_DISABLED, "routing_disabled", "not for us, and we are no router (row 8)") \
	X(NO_MEMORY, "no_memory", "out of memory, or of a peer limit (row 10)") \
	X(ASYM_ROUTE, "asym_route", "from a gateway we have no route through, drop_asym_route=1 (row 11)") \
	X(NO_MATCH, "no_match", "no match entry took it (lnet.md 6.1)") \
	X(TOO_LONG, "too_long", "longer than the MD and TRUNCATE not set (lnet.md 6.1 row 7)") \
	X(BAD_PORTAL, "bad_portal", "portal number out of range") \
	X(NO_HANDLE, "no_handle", "REPLY or ACK for an MD that is gone (lnet.md 8)") \
	X(NO_ROUTE, "no_route", "no live route to the destination net (lnet.md 10.4)") \
	X(PEER_DEAD, "peer_dead", "the destination is known to be down (lnet.md 10.4)") \
	X(LAZY_CLEARED, "lazy_cleared", "was delayed on a portal that is no longer lazy (lnet.md 6.1)") \
	X(SHUTDOWN, "shutdown", "the NI or the node is going down") \
	X(DEADLINE, "deadline", "waited in a queue past its deadline (lnet.md 13.4)") \
	X(BAD_NID, "bad_nid", "source or destination is no NID of a node; connection closed") \
	X(LOOP, "loop", "the next hop is the peer that it came from: routes lead back to each other") \
	X(SEND_FAILED, "send_failed", "was to be forwarded: no connection to the next hop, or it has ended")

enum lx_reason {
#define LX_REASON_ENUM_(NAME, name, help) LX_REASON_##NAME,
	LX_REASONS(LX_REASON_ENUM_)
#undef LX_REASON_ENUM_
	LX_REASON_COUNT
};

#endif
