/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For LD_PRELOAD: libbpf as on a kernel before 6.6, where there is no tcx. */
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <errno.h>

#define TCX_INGRESS 46
#define TCX_EGRESS 47

int bpf_link_create(int prog_fd, int target_fd, enum bpf_attach_type type,
		    const struct bpf_link_create_opts *opts)
{
	int (*create)(int, int, enum bpf_attach_type, const struct bpf_link_create_opts *) =
		dlsym(RTLD_NEXT, "bpf_link_create");

	if (type == TCX_INGRESS || type == TCX_EGRESS)
		return -EINVAL;
	return create(prog_fd, target_fd, type, opts);
}
