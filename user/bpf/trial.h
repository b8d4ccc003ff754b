/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tries out what the programs do with GSO packets, before they get those of others: how kernels
 * cope with packets that programs have changed differs, and has changed.
 */
#ifndef LX_BPF_TRIAL_H
#define LX_BPF_TRIAL_H

struct lx_fastpath;
struct lx_trial;

/**
 * lx_trial - with a packet of our own, first resegmented, then cut
 * Lets packets be cut if that works, else not (lx_fastpath_set_cuts()). Returns 0, or -EBADMSG: the
 * programs cannot be used with this kernel.
 */
int lx_trial(struct lx_fastpath *fastpath);

/* ---- its steps, for tests ---------------------------------------------------------------- */

/**
 * lx_trial_new - a pair of interfaces, with the programs at one end
 * Needs one stream, one lane, and two peers, for as long as it lives. Returns 0, or -errno: it
 * cannot be tried here, for example -EPERM, -EAFNOSUPPORT.
 */
int lx_trial_new(struct lx_fastpath *fastpath, struct lx_trial **ret_trial);
/* NULL is fine. */
void lx_trial_free(struct lx_trial *trial);

/**
 * lx_trial_run - send a packet for a next hop, for us, and for the next hop again
 * As the programs' settings say, it is cut or resegmented. Takes some milliseconds if it works,
 * else three seconds. Returns 0: all of it arrived, intact; -EBADMSG: it did not; or -errno of
 * sending it.
 */
int lx_trial_run(struct lx_trial *trial);

#endif
