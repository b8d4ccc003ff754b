/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One program under several names: lnetx, lnetctl, lnet_legacy2yaml, lctl, lst. */
#include <string.h>

#include "lnetx/lnetx.h"
#include "lustre/lctl.h"
#include "lustre/legacy2yaml.h"
#include "lustre/lnetctl.h"
#include "lustre/lst.h"

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "lnetx";

	if (!strcmp(name, "lnetctl"))
		return lx_lnetctl_main(argc, argv);
	if (!strcmp(name, "lnet_legacy2yaml"))
		return lx_legacy2yaml_main(argc, argv);
	if (!strcmp(name, "lctl"))
		return lx_lctl_main(argc, argv);
	if (!strcmp(name, "lst"))
		return lx_lst_main(argc, argv);
	return lx_lnetx_main(argc, argv);
}
