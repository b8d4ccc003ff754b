/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replaces the LNet core in tests of a transport: a minimal implementation of the calls in
 * internal/lnd.h that makes messages flow, and records what happens.
 *
 * A fake node has one NI. Received PUTs and REPLYs go into scattered memory; GETs are
 * answered. Received messages are kept until the test takes them.
 */
#ifndef LX_TESTS_FAKECORE_H
#define LX_TESTS_FAKECORE_H

#include <internal/lnd.h>

#include "../../user/base/list.h"
#include "../../user/io/env.h"
#include "../../user/io/rbuf.h"

struct fake_msg {
	struct lx_msg m; /* first */
	struct fake_node *node;
	struct lx_list link; /* node->received */
	bool rx;
	struct iovec iov[8];
	uint8_t *buf;
	size_t len;
	struct lx_hdr hdr; /* of a received message, as parsed */
	struct lx_nid from;
	void *rx_handle;
	bool done;
	int status;
	enum lx_hstatus hstatus;
};

struct fake_node {
	struct lx_env *env;
	bool own_env;
	struct lx_ni ni;
	struct lx_list link; /* of all nodes that are up */
	/* what to do with received messages */
	bool hold;    /* parse says LATER; fake_release() calls recv() */
	bool illegal; /* parse says -EPROTO */
	bool discard; /* messages are dropped: no destination */
	size_t truncate; /* accept only this many bytes; 0: all */
	bool use_rbuf;   /* receive into router buffers */
	uint32_t peer_number; /* of all peers */
	/* a router: where messages for other nodes go */
	struct fake_node *forward_to;
	struct lx_id forward_id;
	/* what happened */
	struct lx_list received; /* of fake_msg, complete or not, oldest first */
	unsigned int n_received; /* complete */
	uint64_t bytes_received;
	unsigned int n_parsed, n_lost, n_link, n_up, n_down, n_gets;
	unsigned int n_offloaded; /* PUTs by lanes */
	struct lx_nid offloaded_from;
	struct lx_tcp_bytes tcp; /* of all peers */
	struct lx_nid tcp_to;
	struct lx_type_counts lost; /* of the last lane that was lost */
	uint64_t lost_payload;
	enum lx_hstatus lost_hstatus;
	unsigned int n_dropped;
	uint32_t offloaded_src_net;
	int lost_error;
	enum lx_down_why lost_why;
	bool link_up, stopped;
	bool keep; /* received messages are kept for the test */
};

/* Creates an NI at @nid ("127.0.0.1@tcp") with its own environment, or @env. Asserts. */
struct fake_node *fake_new(const char *nid, unsigned int loops, struct lx_env *env);
/* Like fake_new(), but returns the error, for tests of start-up. */
int fake_try(const char *nid, const char *ifname, struct lx_env *env,
	     struct fake_node **ret_node);
void fake_shutdown(struct fake_node *node);
void fake_free(struct fake_node *node);

/* A message with @len bytes of payload, a pattern that fake_check() knows. */
struct fake_msg *fake_put(struct fake_node *node, const struct lx_id *to, size_t len);
/* The same with the payload in a router buffer, which the message frees. */
struct fake_msg *fake_put_rbuf(struct fake_node *node, const struct lx_id *to,
			       struct lx_rbuf *rbuf);
struct fake_msg *fake_get(struct fake_node *node, const struct lx_id *to, size_t sink);
/* To a node behind the gateway @hop. */
struct fake_msg *fake_put_via(struct fake_node *node, const struct lx_id *hop,
			      const struct lx_nid *dst, size_t len);
/* Waits for the end of a message; returns its status and frees it. */
int fake_wait(struct fake_msg *msg, enum lx_hstatus *ret_hstatus);
bool fake_is_done(struct fake_msg *msg);
/* Waits for the next complete message; NULL after @ms. The caller frees. */
struct fake_msg *fake_receive(struct fake_node *node, unsigned int ms);
void fake_msg_free(struct fake_msg *msg);
/* Write the pattern of fake_put(), and check a payload against it. */
void fake_fill(uint8_t *buf, size_t len);
bool fake_check(const struct fake_msg *msg);
/* Calls recv() for the oldest held message; false: none held. */
bool fake_release(struct fake_node *node);

/* Waits until *@value is at least @wanted; reads it under the lock. */
bool fake_wait_count(struct fake_node *node, const unsigned int *value, unsigned int wanted,
		     unsigned int ms);
unsigned int fake_conns(struct fake_node *node, const char *type);
bool fake_wait_conns(struct fake_node *node, unsigned int wanted, unsigned int ms);
/* Waits until the transport reports a lost peer, maybe after its messages have ended. */
bool fake_wait_lost(struct fake_node *node, int error);

struct lx_id fake_id(const char *nid);

#endif
