/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The numbers by which the fast path decides, in programs and daemon: times in nanoseconds, sizes
 * in bytes, unless their name says otherwise. docs/fastpath-reference.md tells which test or
 * bench needs each. Sizes of tables are in abi.h.
 *
 * Compiles natively and for BPF.
 */
#ifndef LNETX_POLICY_H
#define LNETX_POLICY_H

#include "units.h"

/*
 * Linux's TCP_RTO_MIN: a sender that has lost a packet may be silent for as long, then for twice
 * as long.
 */
#define LX_RTO_MIN_NS (200 * LX_MS_NS)

/* ---- a lane that takes too long ---------------------------------------------------------- */

/*
 * A next hop that takes longer does not flow, nor does a sender for which others wait: what is
 * under way is stored. Less than TCP's first timeout: then the senders repeat what we have not
 * stored.
 */
#define LX_STORE_NS (LX_RTO_MIN_NS * 3 / 4)
/* Of the budget, fastpath_store, one next hop gets a share of 1/8. */
#define LX_STORE_SHARE 8
/* No message queues behind a run that has been first for longer; such a sender is slow. */
#define LX_LANE_SLOW_NS (2 * LX_RTO_MIN_NS)
/*
 * A sender is also slow if the waits that it caused add up to this. The first 20 ms of each wait
 * are free; the sum decays by 1/16 of elapsed time.
 */
#define LX_WAITED_MIN_NS (20 * LX_MS_NS)
#define LX_WAITED_SHARE 16
/* A stream of which one took as long begins no message on a lane until so many came in time. */
#define LX_LATE_MESSAGES 16
/*
 * The first message of a lane ends if others wait for its sender, from which no byte has come for
 * so long: a sender whose packets are lost for three seconds repeats them up to 6.2 s after the
 * first.
 */
#define LX_SENDER_SILENT_NS (7 * LX_S_NS)
/* Or if they have waited for it for so long in all, ... */
#define LX_SENDER_MAX_NS (12 * LX_S_NS)
/* ... or, of either, for so long if a router forwards it, whose turn it is to end it first. */
#define LX_FORWARDED_NS (25 * LX_S_NS)
/*
 * TCP has repeated twice in it: a next hop that has acknowledged nothing for so long may itself be
 * at fault, and what a sender has not sent by then does not come.
 */
#define LX_SILENT_NS (5 * LX_RTO_MIN_NS)
/* The first run is of a stream that has ended, for longer than a delayed ACK takes. */
#define LX_LEFT_NS (500 * LX_MS_NS)
/* A socket has repeated so often in a row, each time with an answer, but none that helps. */
#define LX_STUCK_REPEATS 3
/* Without lanes: who left a message unfinished, who kept others waiting; doubled each time. */
#define LX_UNSAFE_NS (60 * LX_S_NS)
#define LX_SLOW_NS (4 * LX_S_NS)
#define LX_PAUSE_MAX_NS (3600 * LX_S_NS)
/* The daemon may have been away for longer: no sender is charged for that. */
#define LX_LOOK_MAX_NS (100 * LX_MS_NS)

/* ---- a lane that ends inside a message --------------------------------------------------- */

/*
 * Longer than a BPF program can run: afterwards none acts on state from before a change. If nothing
 * has moved for as long, the next hop has nothing to send.
 */
#define LX_SETTLE_NS (50 * LX_MS_NS)
/* At most, messages that have begun, and what a next hop has queued for us, are waited for. */
#define LX_HOLD_NS (5 * LX_S_NS)
/* In which a next hop closes a connection that got a FIN inside a message. */
#define LX_CLOSE_NS (300 * LX_MS_NS)
/* After its last connection has gone, a Lustre node may still close a new one, for an old one. */
#define LX_ALONE_NS (100 * LX_MS_NS)

/* ---- sharing a lane ---------------------------------------------------------------------- */

/*
 * Under way where streams share a lane. More would only lengthen the next hop's out-of-order
 * queue. Once so much of others has gone by, an unused grant is no longer reserved.
 */
#define LX_LANE_SHARED_MAX (4u << 20)
/*
 * In flight on a lane is at most twice what it delivers in this and a round trip. On a fast line,
 * that is more than the above, and there is no limit. What counts is the best rate of 0.1 s with a
 * queue; it decays by 1/32 with each.
 */
#ifdef LX_TEST_NEAR
#define LX_LIMIT_NS (10 * LX_S_NS)
#else
#define LX_LIMIT_NS (10 * LX_MS_NS)
#endif
#define LX_LIMIT_KEPT 32
/* A lane is shared if one stream went, or would have gone, behind another within so many bytes. */
#define LX_SHARED_BYTES (64u << 20)
#ifndef LX_GRANT_MIN /* the model test has its own */
/* Shorter messages need no grant: many of them fit. */
#define LX_GRANT_MIN (256u << 10)
/* In flight and granted on a shared lane: two messages. More would close the next hop's window. */
#define LX_GRANT_MAX ((2u << 20) + 65536)
/* Room to spare behind that, for a message that needs no grant, or is longer than expected. */
#define LX_GRANT_SPARE ((1u << 20) + 4096)
#endif

/* ---- what a sender is told --------------------------------------------------------------- */

/*
 * How far the window goes beyond what is framed. Not a usual length: it would keep ending inside
 * headers.
 */
#define LX_WINDOW_AHEAD (3ull << 19)
/* At least this: a message that finds no room takes lane 0, so none waits for ever. */
#define LX_AHEAD_MIN (64ull << 10)
/* How far an unframed sender may go beyond the known boundary. */
#define LX_UNFRAMED_AHEAD (16ull << 10)
/* How long parts of a GSO packet take to be joined again; other packets may overtake them. */
#define LX_RESEGMENT_NS LX_MS_NS
/* Extents that SACK is looked for in. */
#define LX_SACK_EXTENTS 24
/*
 * How long the sender is not told of messages that went another way than the first one that is not
 * acknowledged: they may just have been faster. A next hop may keep everybody waiting for some
 * milliseconds, as its kernel acknowledges nothing while a process that has locked the socket does
 * not get a CPU; and where a message went on in one segment, longer.
 */
#define LX_STUCK_NS (10 * LX_MS_NS)
#define LX_STUCK_SMALL_NS (50 * LX_MS_NS)
/* Between answers to segments without data, or both sides could answer for ever. */
#define LX_ASKED_NS (100 * LX_MS_NS)
/*
 * From further away, a sender needs a larger window than LX_WINDOW_AHEAD, ... A build for tests on
 * an emulated machine, where everything is far away, may say otherwise.
 */
#ifdef LX_TEST_NEAR
#define LX_FAR_US 100000000
#else
#define LX_FAR_US 2000
#endif
/* ... becomes a stream after so much, enough for TCP to tune its window, ... */
#define LX_FAR_BYTES (16ull << 20)
/* ... and once the window is larger than that. TCP is asked again after so much more. */
#define LX_FAR_WINDOW (2u << 20)
#define LX_FAR_LOOK_BYTES (256u << 10)

/* ---- which connections are lanes --------------------------------------------------------- */

/*
 * A lane's window should have room for a whole message: a connection becomes one when its window is
 * this large, or it has carried so much, or after so long. One that was never used is expected to
 * carry small messages, and need not wait.
 */
#define LX_WARM_WINDOW ((1u << 20) + (1u << 16))
#define LX_WARM_BYTES (16u << 20)
#define LX_WARM_NS (2 * LX_S_NS)
#define LX_UNUSED_NS (50 * LX_MS_NS)
#define LX_UNUSED_BYTES 64 /* a keepalive or two */

/*
 * The programs have seen a connection's packets by then, or they pass elsewhere. An idle peer is
 * asked for some in so much time, which begins again and again: the kernel asks once a second.
 */
#define LX_SEEN_NS (3 * LX_S_NS)
#define LX_SEEN_AGAIN_NS (10 * LX_S_NS)
/*
 * So many segments past the programs in so much time end a stream or a lane; where the programs
 * belong, not before that has gone on for as long again: they may have been removed, and come back.
 */
#define LX_PAST 3
#define LX_PAST_NS (2 * LX_S_NS)

/* ---- which streams use lanes ------------------------------------------------------------- */

/* By then, the socket has told the programs its numbers. */
#define LX_TAKEOVER_NS (5 * LX_MS_NS)
/*
 * A packet whose messages go different ways becomes a packet for each, and a GSO packet with many
 * of them is resegmented, which costs as much as so many. With fewer bytes for each, more of them
 * for a message, and so many of them between two looks, the slow path is cheaper. Tests of packets
 * with a frag_list, all of which are resegmented, want many of them.
 */
#define LX_COPY_WORTH (8u << 10)
#define LX_COPIES_PER_MESSAGE 2
#ifdef LX_TEST_NEAR
#define LX_COPIES_MIN 0x7fffffff
#else
#define LX_COPIES_MIN 1024
#endif
#define LX_COPIES_OF_RESEGMENT 32
/*
 * With this much loss in front of us, a gap for so many bytes, our socket reports it sooner than a
 * next hop further away would; and each lost header costs a change to lane 0 and back.
 */
#define LX_GAP_WORTH (8u << 20)
#define LX_GAPS_MIN 4
/* For how long either uses none: doubled each time. */
#define LX_ASIDE_MIN_NS (2 * LX_S_NS)
#define LX_ASIDE_MAX_NS (16 * LX_S_NS)
/* How often the core gets a message for another router, from streams with this many since. */
#define LX_SAMPLE_NS LX_S_NS
#define LX_SAMPLE_MIN 64

/* ---- full tables ------------------------------------------------------------------------- */

/* An address gets 1/8 of the streams, at least one; one that is idle for so long makes room. */
#define LX_SOURCE_SHARE 8
#define LX_IDLE_NS (5 * LX_S_NS)
/* Destinations make room: so many at once, and none that is younger. */
#define LX_ROOM_DESTS 64
#define LX_ROOM_AGE_NS (10 * LX_S_NS)
/* Between two searches of a full table; between two tries to make it larger. */
#define LX_SEARCH_NS (100 * LX_MS_NS)
/* Addresses whose offences are remembered. */
#define LX_OFFENDERS 256

/* ---- how often the daemon looks ---------------------------------------------------------- */

/* Its tick, in milliseconds: with streams, while one changes, without any. */
#define LX_TICK_MS 5
#define LX_TICK_CHANGING_MS 1
#define LX_TICK_IDLE_MS 100
/*
 * A round through a table takes at most so many ticks; each visits so many entries, plus a share.
 */
#define LX_ROUND_TICKS 20
#define LX_ROUND_MIN 64
/* Between two visits to an entry of a small table: two ticks. */
#define LX_LOOK_NS (2 * LX_TICK_MS * LX_MS_NS)
/* Calm streams are looked at this often; one with packets is active for so long. */
#define LX_CALM_LOOK_NS (100 * LX_MS_NS)
#define LX_CALM_NS (500 * LX_MS_NS)
/* A lane's MSS (at once after an ICMP message) and its rate; its waits decay by 1/LX_WAITS_KEPT. */
#define LX_MSS_NS (250 * LX_MS_NS)
#define LX_WAITS_KEPT 8

#endif
