/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One NI of o2iblnd alone: the test plays the core above and the hardware below, call by
 * call. For whole nodes see simib.h.
 */
#ifndef LX_TESTS_FAKEO2IB_H
#define LX_TESTS_FAKEO2IB_H

#include "../../lnd/o2ib/o2ib.h"
#include "../../lnd/o2ib/priv.h"

#define HAND_PEER 0x000500000a000002ULL /* 10.0.0.2@o2ib */
#define HAND_PEER_INCARNATION 99
#define HAND_PEER_COOKIE 4711

/* The NI is 10.0.0.1@o2ib, as started by hand_begin(). */
struct hand {
	struct lx_ni ni;
	struct lx_o2ib_net *net;
	struct lx_list nets; /* for lx_o2ib_peer_request() */
	uint64_t now_ns;
	unsigned int live_mrs;
	unsigned int n_lost; /* calls of lx_lnd_peer_lost() */
	bool stopped;
};
extern struct hand hand;

/* The core's functions; each test sets its own. */
struct hand_core {
	void (*finalize)(struct lx_msg *msg, int status);
	int (*parse)(const struct lx_hdr *hdr, void *rx, struct lx_msg **ret_msg);
	struct lx_msg *(*reply_msg)(void);
	void (*reply_length)(size_t length);
};
extern struct hand_core hand_core;

/* The hardware. Everything succeeds unless a test replaces functions. */
extern struct lx_o2ib_hw hand_hw;
/* The default registration function, for tests that fail it sometimes. */
int hand_reg(struct lx_o2ib_net *net, void *addr, size_t len, bool remote, struct lx_o2ib_mr *ret_mr);

/* @credits: peer_credits, or LX_UNSET. */
void hand_begin(int credits);
void hand_shutdown(void);

/* A message from the peer to us; body and length are not set. */
struct lx_o2ib_msg hand_msg(uint8_t type);
/* Receives it in a receive buffer. @n: as for lx_o2ib_proto_nob(). */
void hand_receive(struct lx_o2ib_conn *conn, unsigned int rx, struct lx_o2ib_msg *msg, unsigned int n);
/* The peer accepts our request unchanged. */
void hand_connack(struct lx_o2ib_conn *conn);

#endif
