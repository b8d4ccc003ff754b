/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a socket of the kernel does with bytes that it has been given, in virtual time: as Linux's
 * TCP, it ignores an ACK of what it has not sent; after a timeout it has one segment in flight, and
 * repeats everything that is not acknowledged; the timeout doubles, and follows the round trips of
 * what was sent once (RFC 6298). Not modelled: SACK, windows of the other side.
 *
 *	 first ...... una ........... repeat ....... nxt ............... end     (its own numbers)
 *	   acknowledged   in flight    to be repeated    not sent yet
 */
#ifndef LX_TESTS_KERNELSOCKET_H
#define LX_TESTS_KERNELSOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define KERNEL_SOCKET_BUFFER (4u << 20)
#define KERNEL_SOCKET_MSS 1448u
#define KERNEL_SOCKET_RTO 200000000ull
#define KERNEL_SOCKET_TIMES (KERNEL_SOCKET_BUFFER / 1024)

struct kernel_socket {
	uint32_t first, una, repeat, nxt, end;
	uint32_t repeated; /* the end of what was sent more than once */
	uint32_t cwnd; /* segments */
	unsigned int backoff;
	uint64_t rtt_ns, var_ns, rto_ns;
	uint64_t sent_ns[KERNEL_SOCKET_TIMES]; /* by number: when each KiB was first sent */
	uint64_t timer_ns; /* 0: nothing is in flight */
	unsigned int ignored, repeats; /* ACKs; timeouts */
	uint8_t *bytes; /* a ring, by number */
};

static inline void kernel_socket_new(struct kernel_socket *k, uint32_t first)
{
	uint8_t *bytes = k->bytes ? k->bytes : malloc(KERNEL_SOCKET_BUFFER);

	*k = (struct kernel_socket){ .cwnd = 10, .rto_ns = KERNEL_SOCKET_RTO, .bytes = bytes };
	k->first = k->una = k->repeat = k->nxt = k->end = k->repeated = first;
}

static inline void kernel_socket_free(struct kernel_socket *k)
{
	free(k->bytes);
	*k = (struct kernel_socket){ 0 };
}

/* As SIOCOUTQ. */
static inline bool kernel_socket_is_idle(const struct kernel_socket *k)
{
	return k->una == k->end;
}

static inline uint32_t kernel_socket_room(const struct kernel_socket *k)
{
	return KERNEL_SOCKET_BUFFER - (k->end - k->una);
}

static inline uint64_t *kernel_socket_time(struct kernel_socket *k, uint32_t seq)
{
	return &k->sent_ns[seq / 1024 % KERNEL_SOCKET_TIMES];
}

static inline uint8_t *kernel_socket_at(const struct kernel_socket *k, uint32_t seq)
{
	return &k->bytes[seq % KERNEL_SOCKET_BUFFER];
}

/* Returns how many bytes it has taken. */
static inline uint32_t kernel_socket_write(struct kernel_socket *k, const uint8_t *bytes,
					   uint32_t len)
{
	uint32_t n = len < kernel_socket_room(k) ? len : kernel_socket_room(k);

	for (uint32_t i = 0; i < n; i++)
		*kernel_socket_at(k, k->end + i) = bytes[i];
	k->end += n;
	return n;
}

/* The next segment to be sent, if it may send one. Returns its length. */
static inline uint32_t kernel_socket_next(struct kernel_socket *k, uint64_t now_ns,
					  uint32_t *ret_seq, uint8_t *ret_bytes)
{
	uint32_t n = (k->repeat == k->nxt ? k->end : k->nxt) - k->repeat;

	if (!n || (k->repeat - k->una) / KERNEL_SOCKET_MSS >= k->cwnd)
		return 0;
	if (n > KERNEL_SOCKET_MSS)
		n = KERNEL_SOCKET_MSS;
	*ret_seq = k->repeat;
	for (uint32_t i = 0; i < n; i++)
		ret_bytes[i] = *kernel_socket_at(k, k->repeat + i);
	if (k->repeat == k->nxt) {
		for (uint32_t i = 0; i < n; i += 512)
			*kernel_socket_time(k, k->nxt + i) = now_ns;
		k->nxt += n;
	} else if ((int32_t)(k->repeat + n - k->repeated) > 0) {
		k->repeated = k->repeat + n;
	}
	k->repeat += n;
	if (!k->timer_ns)
		k->timer_ns = now_ns + k->rto_ns;
	return n;
}

/* A round trip of what was sent once. */
static inline void kernel_socket_round_trip(struct kernel_socket *k, uint64_t ns)
{
	uint64_t off = ns > k->rtt_ns ? ns - k->rtt_ns : k->rtt_ns - ns;

	k->var_ns = k->rtt_ns ? (3 * k->var_ns + off) / 4 : ns / 2;
	k->rtt_ns = k->rtt_ns ? (7 * k->rtt_ns + ns) / 8 : ns;
	k->rto_ns = 4 * k->var_ns > KERNEL_SOCKET_RTO ? 4 * k->var_ns : KERNEL_SOCKET_RTO;
	k->rto_ns += k->rtt_ns;
}

static inline void kernel_socket_ack(struct kernel_socket *k, uint64_t now_ns, uint32_t ack)
{
	if ((int32_t)(ack - k->nxt) > 0)
		k->ignored++;
	if ((int32_t)(ack - k->nxt) > 0 || (int32_t)(ack - k->una) <= 0)
		return;
	k->cwnd += (ack - k->una) / KERNEL_SOCKET_MSS + 1;
	if ((int32_t)(k->una - k->repeated) > 0)
		k->repeated = k->una;
	if ((int32_t)(ack - k->repeated) > 0)
		kernel_socket_round_trip(k, now_ns - *kernel_socket_time(k, k->repeated));
	k->una = ack;
	if ((int32_t)(k->una - k->repeat) > 0)
		k->repeat = k->una;
	k->backoff = 0;
	k->timer_ns = k->una == k->nxt ? 0 : now_ns + k->rto_ns;
}

static inline void kernel_socket_timer(struct kernel_socket *k, uint64_t now_ns)
{
	if (!k->timer_ns || now_ns < k->timer_ns)
		return;
	k->repeat = k->una;
	k->cwnd = 1;
	k->backoff++;
	k->repeats++;
	k->rto_ns *= 2;
	k->timer_ns = now_ns + k->rto_ns;
}

#endif
