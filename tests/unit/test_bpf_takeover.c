/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading the kernel's socket at a takeover: positions of a connection that becomes a stream,
 * for the first time or again, after messages went by lanes.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testlib.h"

#include "bpfworld.h"

#define RECEIVED 5000
#define AGAIN 300

static int fds[3]; /* listening, the peer's, ours */

static void address(int fd, bool remote, uint8_t addr[16], __be16 *ret_port)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	assert_int_equal((remote ? getpeername : getsockname)(fd, (void *)&at, &len), 0);
	memset(addr, 0, 16);
	addr[10] = addr[11] = 0xff;
	memcpy(addr + 12, &at.sin_addr, 4);
	*ret_port = at.sin_port;
}

/* A connection on which our socket received and read @n bytes. */
static void receive(size_t n)
{
	char bytes[RECEIVED] = { 0 };

	assert_int_equal(write(fds[1], bytes, n), n);
	assert_int_equal(recv(fds[2], bytes, n, MSG_WAITALL), n);
}

static void connected(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);

	assert_int_equal(system("ip link set lo up"), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fds[0], (void *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fds[0], 1), 0);
	assert_int_equal(getsockname(fds[0], (void *)&at, &len), 0);
	assert_int_equal(connect(fds[1], (void *)&at, sizeof(at)), 0);
	fds[2] = accept(fds[0], NULL, NULL);
	assert_true(fds[2] >= 0);
	address(fds[2], true, s->key.remote, &s->key.remote_port);
	address(fds[2], false, s->key.local, &s->key.local_port);
}

/* Runs the program. */
static void takeover_returns(enum lx_takeover_result r, bool on)
{
	struct {
		uint8_t ethernet[14];
		struct lx_takeover takeover;
	} __attribute__((packed)) in = { .takeover = { .kind = LX_FLOW_STREAM, .on = on } };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = &in, .data_size_in = sizeof(in));

	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.lnetx_takeover), &opts),
			 0);
	assert_int_equal(opts.retval, r);
}

static void takeover(bool on)
{
	takeover_returns(LX_TAKEOVER_OK, on);
}

static void becomes_a_stream(uint32_t diverted)
{
	world(false);
	memset(s, 0, sizeof(*s));
	s->family = AF_INET;
	s->diverted = diverted;
	connected();
	receive(RECEIVED);
	takeover(false);
	assert_int_equal(s->state, LX_STREAM_TAKEOVER);
	assert_int_equal(s->high, RECEIVED + (uint64_t)diverted);
	assert_int_equal(s->acked, s->high);
	/* The first time, it was read while something came in. */
	s->base_seq += 77;
	takeover_returns(LX_TAKEOVER_BUSY, true);
	assert_int_equal(s->state, LX_STREAM_TAKEOVER);
	assert_int_equal(s->high, RECEIVED + (uint64_t)diverted);
	receive(AGAIN);
	s->high += AGAIN; /* as the programs do */
	takeover(true);
	assert_int_equal(s->state, LX_STREAM_ON);
	assert_int_equal(s->diverted, diverted);
	assert_int_equal(s->socket_sent, RECEIVED + AGAIN);
	assert_in_range(s->socket_una, RECEIVED, RECEIVED + AGAIN);
	assert_int_equal(s->kacked, s->socket_una);
	assert_int_equal(s->high, s->socket_sent + diverted);
	assert_int_equal(s->acked, s->socket_una + diverted);
	assert_int_equal(s->advertised_ack, s->acked);
	assert_int_equal(s->advertised_edge, s->socket_window_edge + diverted);
	assert_int_equal(s->window_edge, s->advertised_edge);
	/* It starts unframed: what has arrived goes to the socket. */
	assert_true(s->unframed);
	assert_int_equal(s->unframed_high, s->high);
	assert_int_equal(s->tail - s->head, 1);
	assert_int_equal(s->extent[s->head].start, s->acked);
	assert_int_equal(s->extent[s->head].lane_start, s->socket_una);
	for (size_t i = 0; i < N_OF(fds); i++)
		close(fds[i]);
}

static void test_first(void **state)
{
	becomes_a_stream(0);
}

static void test_again(void **state)
{
	becomes_a_stream(1000);
	becomes_a_stream(0xfffffff0u); /* sequence numbers wrap */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_again),
	};

	rnd_init();
	return cmocka_run_group_tests_name("fast path: takeover", tests, kernel_open, kernel_close);
}
