/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One program, two grammars: lnetx, and lnetctl when it is called so. */
#include <string.h>

#include "lnetctl.h"
#include "lnetx.h"

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "lnetx";

	return strcmp(name, "lnetctl") ? lx_lnetx_main(argc, argv) : lx_lnetctl_main(argc, argv);
}
