/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why a message was dropped: one list that generates the enum, the counters and
 * the names in JSON and YAML.
 *
 * Compiles natively and for BPF. Append only: maps and traces contain the numbers.
 */
#ifndef LNETX_REASONS_H
#define LNETX_REASONS_H

/* X(NAME, "name", "what happened, and the spec section of the rule") */
#define LX_REASONS(X)                                                                              \
	X(NONE, "none", "not dropped")                                                             \
	X(BAD_TYPE, "bad_type", "unknown message type; connection closed (lnet.md 7.1 row 1)")     \
	X(BAD_LENGTH, "bad_length",                                                                \
	  "payload length not allowed for the type; connection closed (rows 2, 3)")                \
	X(MISROUTED, "misrouted", "for another node of the net it came in on (row 5)")             \
	X(WRONG_NET, "wrong_net", "for the NID of another NI of ours (row 6)")                     \
	X(RDMA_NOT_FOR_ME, "rdma_not_for_me",                                                      \
	  "an optimised GET for another node; connection closed (row 7)")                          \
	X(ROUTING_DISABLED, "routing_disabled", "not for us, and we do not route (row 8)")         \
	X(NO_MEMORY, "no_memory", "out of memory, or too many peers (row 10)")                     \
	X(ASYM_ROUTE, "asym_route",                                                                \
	  "from a gateway we have no route through, drop_asym_route=1 (row 11)")                   \
	X(NO_MATCH, "no_match", "no match entry accepted it (lnet.md 6.1)")                        \
	X(TOO_LONG, "too_long", "longer than the MD and TRUNCATE not set (lnet.md 6.1 row 7)")     \
	X(BAD_PORTAL, "bad_portal", "portal number out of range")                                  \
	X(NO_HANDLE, "no_handle", "REPLY or ACK for an MD that is gone (lnet.md 8)")               \
	X(NO_ROUTE, "no_route", "no live route to the destination net (lnet.md 10.4)")             \
	X(PEER_DEAD, "peer_dead", "the destination is known to be down (lnet.md 10.4)")            \
	X(LAZY_CLEARED, "lazy_cleared", "waited on a portal that is no longer lazy (lnet.md 6.1)") \
	X(SHUTDOWN, "shutdown", "the NI, the node or the peer that it waits for is going")         \
	X(DEADLINE, "deadline", "waited in a queue past its deadline (lnet.md 13.4)")              \
	X(BAD_NID, "bad_nid",                                                                      \
	  "its source or destination cannot have this NID; or the previous hop, which is closed")  \
	X(LOOP, "loop", "the next hop is the peer it came from: routes point at each other")       \
	X(SEND_FAILED, "send_failed", "not forwarded: no connection to the next hop, or it ended") \
	X(FAULT, "fault", "a rule of fault injection says so (lnet.md 14; lnetx fault show)")      \
	X(ANSWERS, "answers",                                                                      \
	  "a request: too many answers to its sender wait, and we wait for its answers")           \
	X(OWN_NID, "own_nid", "from a neighbour, with a NID of ours as its source")                \
	X(NO_PROCESS, "no_process", "for the pid of a process that has no connection to us")       \
	X(NOT_TAKEN, "not_taken", "the next hop does not take what it is sent, and others waited")

enum lx_reason {
#define LX_REASON_ENUM_(NAME, name, help) LX_REASON_##NAME,
	LX_REASONS(LX_REASON_ENUM_)
#undef LX_REASON_ENUM_
	LX_REASON_COUNT
};

#endif
