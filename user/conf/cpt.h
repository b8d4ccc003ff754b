/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of CPU partitions: they have no effect here, but what is no such list is refused. */
#ifndef LX_CONF_CPT_H
#define LX_CONF_CPT_H

#include <stddef.h>

/**
 * lx_conf_net_cpt - check "[0]", "[0,2-4]", "0-6/2"
 * @ret_text: what is wrong with it
 * Returns 0 or -EINVAL.
 */
int lx_conf_net_cpt(const char *text, char *ret_text, size_t size);

#endif
