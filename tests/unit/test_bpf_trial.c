/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Before the fast path is used, it tries out what it does with GSO packets (user/bpf/trial.h): on
 * this kernel all of it works, and where a step does not, that is noticed. Skipped if BPF is not
 * permitted.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testlib.h"

#include "../../user/bpf/bpf.h"
#include "../../user/bpf/fastpath.h"
#include "../../user/bpf/pin.h"
#include "../../user/bpf/resegment.h"
#include "../../user/bpf/trial.h"

static char instance[40];
static struct lx_resegment interfaces;
static struct lx_bpf *bpf;
static struct lx_fastpath *fastpath;
static struct lx_settings *settings;

static int pinned(const char *name)
{
	char dir[LX_BPF_PATH], path[LX_BPF_PATH];

	assert_int_equal(lx_pin_path(lx_bpf_pins(bpf), "fastpath", dir), 0);
	assert_int_equal(lx_pin_path(dir, name, path), 0);
	return bpf_obj_get(path);
}

static int open_all(void **state)
{
	int fd;

	if (geteuid() || unshare(CLONE_NEWNET))
		return 0;
	snprintf(instance, sizeof(instance), "unit-trial-%d", (int)getpid());
	interfaces = lx_resegment_names(instance);
	assert_int_equal(lx_bpf_new(instance, true, &bpf), 0);
	if (!lx_bpf_has(bpf, LX_BPF_LOAD) || !lx_bpf_has(bpf, LX_BPF_LOOP) || !lx_bpf_pins(bpf)[0])
		return 0;
	assert_int_equal(lx_fastpath_new(bpf, &fastpath), 0);
	assert_int_equal(lx_trial(fastpath), 0);
	fd = pinned("settings");
	assert_true(fd >= 0);
	settings = mmap(NULL, sizeof(*settings), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(settings, MAP_FAILED);
	close(fd);
	return 0;
}

static int close_all(void **state)
{
	if (settings)
		munmap(settings, sizeof(*settings));
	lx_fastpath_free(fastpath);
	lx_bpf_free(bpf);
	return 0;
}

#define NEEDS_BPF()                                                                                \
	do {                                                                                       \
		if (!settings)                                                                     \
			skip();                                                                    \
	} while (0)

static const char *resegments(void)
{
	static struct lx_bpf_info info;

	memset(&info, 0, sizeof(info));
	lx_fastpath_info(fastpath, 64, &info);
	return info.resegments;
}

/* All steps work here, and nothing of the trial is left. */
static void test_this_kernel(void **state)
{
	NEEDS_BPF();
	assert_string_equal(resegments(), "");
	assert_int_equal(settings->cuts, 1);
	assert_int_equal(settings->untrue, 0);
	assert_true(if_nametoindex(interfaces.cut));
	assert_false(if_nametoindex(interfaces.near) || if_nametoindex(interfaces.far));
	assert_int_equal(lx_fastpath_used(fastpath, LX_FASTPATH_STREAMS), 0);
	assert_int_equal(lx_fastpath_used(fastpath, LX_FASTPATH_LANES), 0);
	assert_int_equal(lx_fastpath_used(fastpath, LX_FASTPATH_PEERS), 0);
}

/* The result of a trial with these settings, and that it is over afterwards. */
static int trial(struct lx_settings with)
{
	struct lx_settings before = *settings;
	struct lx_trial *t;
	int r;

	assert_int_equal(lx_trial_new(fastpath, &t), 0);
	*settings = with;
	r = lx_trial_run(t);
	lx_trial_free(t);
	*settings = before;
	assert_false(if_nametoindex(interfaces.near));
	assert_int_equal(lx_fastpath_used(fastpath, LX_FASTPATH_STREAMS), 0);
	return r;
}

static void test_steps(void **state)
{
	struct lx_settings with;

	NEEDS_BPF();
	with = *settings;
	assert_int_equal(trial(with), 0);
	/* Cut where nothing sets the headers anew. */
	with.part_ifindex = with.resegment_ifindex;
	assert_int_equal(trial(with), -EBADMSG);
	with = *settings;
	with.cuts = 0;
	assert_int_equal(trial(with), 0);
	with.resegment_ifindex = 0;
	assert_int_equal(trial(with), -EBADMSG);
	with = *settings;
	with.cuts = 0;
	with.join_ifindex = 0;
	assert_int_equal(trial(with), -EBADMSG);
	with.cuts = 1;
	assert_int_equal(trial(with), 0);
}

/* A part whose headers the kernel does not know is dropped, and none is cut any more. */
static void test_untrue(void **state)
{
	uint8_t frame[1000] = { [12] = 8, [14] = 0x45, [23] = 6 };
	struct __sk_buff ctx = { .mark = LX_MARK | LX_MARK_CUT | 1, .gso_size = 300 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));
	int fd;

	NEEDS_BPF();
	fd = pinned("prog_lnetx_cut");
	assert_true(fd >= 0);
	assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
	assert_int_equal(opts.retval, 2);
	assert_int_equal(settings->untrue, 1);
	assert_int_equal(settings->cuts, 0);
	assert_string_not_equal(resegments(), "");
	/* One that is no GSO packet is nobody's part. */
	ctx.gso_size = 0;
	assert_int_equal(bpf_prog_test_run_opts(fd, &opts), 0);
	assert_int_equal(settings->untrue, 1);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_kernel),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_untrue),
	};

	return cmocka_run_group_tests_name("fast path: trials", tests, open_all, close_all);
}
