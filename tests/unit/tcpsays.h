/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP_INFO with a fake round trip time, for tests with distant senders. */
#ifndef LX_TESTS_TCPSAYS_H
#define LX_TESTS_TCPSAYS_H

extern _Atomic unsigned int tcpsays_rtt_us; /* of all connections; 0: the real one */
extern _Atomic unsigned int tcpsays_asked;  /* how often TCP_INFO was read */

#endif
