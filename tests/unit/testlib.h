/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Included by most test programs: cmocka with its headers, random numbers with a printed seed
 * that can be set (LNETX_SEED=...), bytes in hex, and a port.
 */
#ifndef LX_TESTS_TESTLIB_H
#define LX_TESTS_TESTLIB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define N_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A TCP port for the nodes of this program: parallel runs use different ones. */
static inline int own_port(void)
{
	return 20000 + getpid() % 20000;
}

static uint64_t rnd_state, rnd_seed;
static struct {
	const char *test; /* NULL: none */
	unsigned long n;
} rnd_now;

static inline void rnd_tell(void)
{
	if (rnd_now.test)
		printf("failed: case %lu of %s, LNETX_SEED=%llu\n", rnd_now.n, rnd_now.test,
		       (unsigned long long)rnd_seed);
}

/*
 * Call this before each case of a random test, and with NULL after the last one. A failure leaves
 * the test, so that the case is told at the end of the program, or at the next test's first.
 */
static inline void rnd_case(const char *test, unsigned long n)
{
	if (test && n == 0)
		rnd_tell();
	rnd_now.test = test;
	rnd_now.n = n;
}

/* Call this once, in main(). */
/* How many cases a random test has; LNETX_ROUNDS, else @usual. */
static inline unsigned long rnd_rounds(unsigned long usual)
{
	const char *rounds = getenv("LNETX_ROUNDS");

	return rounds ? strtoul(rounds, NULL, 0) : usual;
}

static inline void rnd_init(void)
{
	const char *seed = getenv("LNETX_SEED");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	rnd_state = seed ? strtoull(seed, NULL, 0) : (uint64_t)now.tv_sec << 30 ^ now.tv_nsec;
	rnd_seed = rnd_state;
	printf("seed: LNETX_SEED=%llu\n", (unsigned long long)rnd_seed);
	fflush(stdout);
	atexit(rnd_tell);
}

static inline uint64_t rnd(void)
{
	uint64_t x = rnd_state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* 0 to @n - 1. */
static inline uint64_t rnd_below(uint64_t n)
{
	return rnd() % n;
}

static inline void rnd_fill(void *buf, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)buf)[i] = rnd();
}

/*
 * The directory with the captures of Lustre nodes: LNETX_CAPTURES, or where make unpacks them.
 * Exits if they are missing.
 */
static inline const char *captures_dir(void)
{
	const char *dir = getenv("LNETX_CAPTURES");

	if (!dir)
		dir = "build/captures";
	if (access(dir, R_OK | X_OK)) {
		fprintf(stderr,
			"no captures in %s. Next: run it in the project's folder after "
			"make captures, or set LNETX_CAPTURES\n",
			dir);
		exit(1);
	}
	return dir;
}

/* "00 71 ce ac" to bytes; returns how many. Fails the test on malformed text. */
static inline size_t unhex(const char *text, void *buf, size_t size)
{
	size_t n = 0;

	for (; *text; n++) {
		unsigned int byte;

		if (*text == ' ') {
			text++;
			n--;
			continue;
		}
		assert_int_equal(sscanf(text, "%2x", &byte), 1);
		assert_true(n < size);
		((uint8_t *)buf)[n] = byte;
		text += 2;
	}
	return n;
}

#endif
