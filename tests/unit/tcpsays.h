/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP_INFO with another round trip time, for tests of senders that are far away. */
#ifndef LX_TESTS_TCPSAYS_H
#define LX_TESTS_TCPSAYS_H

extern _Atomic unsigned int tcpsays_rtt_us; /* of any connection; 0: what is true */
extern _Atomic unsigned int tcpsays_asked;  /* times that TCP was asked */

#endif
