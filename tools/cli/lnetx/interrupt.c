/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Notes signals; see the header. Called by fabric_cmds.c and selftest_run.c. */
#include <signal.h>
#include <stddef.h>

#include "interrupt.h"

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = 1;
}

void lx_interrupt_catch(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool lx_interrupt_came(void)
{
	return interrupted;
}
