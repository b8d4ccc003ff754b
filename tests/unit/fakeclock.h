/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The clock of the TCP transport, lx_sock_now(), under the test's control: for tests of time
 * limits, which must not depend on how long the machine takes to run a thread. Programs that use
 * it are linked with --wrap=clock_gettime.
 *
 * Once stopped, the clock goes on only while the test waits, by 1 ms each ms, and by
 * fake_clock_go(). So nothing times out while the test does something else, however long that takes.
 */
#ifndef LX_TESTS_FAKECLOCK_H
#define LX_TESTS_FAKECLOCK_H

void fake_clock_stop(void);
/* It runs by itself again, from its present time. */
void fake_clock_run(void);
/* Moves a stopped clock forward. */
void fake_clock_go(unsigned int ms);
/* The machine was asleep for so long: the clock goes on by that, and CLOCK_BOOTTIME. */
void fake_clock_away(unsigned int ms);
/* Sleeps for 1 ms, in which a stopped clock goes on by 1 ms. */
void fake_clock_sleep(void);

#endif
