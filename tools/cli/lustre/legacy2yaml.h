/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program when called as lnet_legacy2yaml: converts old module parameters to YAML. */
#ifndef LX_TOOLS_LEGACY2YAML_H
#define LX_TOOLS_LEGACY2YAML_H

int lx_legacy2yaml_main(int argc, char **argv);

#endif
