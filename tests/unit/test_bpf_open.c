/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Without BPF lnetxd goes on, says so, and does not ask libbpf for anything it need not: BPF
 * switched off, a kernel that lacks a feature, a skeleton that libbpf cannot open. The tests
 * with BPF on are skipped if it is not permitted.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include <lnetx/lnetx.h>

#include "testlib.h"

#include "../../user/bpf/bpf.h"
#include "../../user/bpf/fastpath.h"
#include "../../user/bpf/guard.h"

static unsigned int n_opened;
static bool no_atomics;
static char logged[2000];

int __wrap_bpf_object__open_skeleton(struct bpf_object_skeleton *s,
				     const struct bpf_object_open_opts *opts);
int __real_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *code, size_t n,
			 const struct bpf_prog_load_opts *opts);
int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *code, size_t n,
			 const struct bpf_prog_load_opts *opts);

int __wrap_bpf_object__open_skeleton(struct bpf_object_skeleton *s,
				     const struct bpf_object_open_opts *opts)
{
	n_opened++;
	errno = EINVAL;
	return -EINVAL;
}

/* A kernel before 5.12 takes an atomic instruction other than an addition for a mistake. */
int __wrap_bpf_prog_load(enum bpf_prog_type type, const char *name, const char *license,
			 const struct bpf_insn *code, size_t n,
			 const struct bpf_prog_load_opts *opts)
{
	for (size_t i = 0; no_atomics && i < n; i++) {
		if (code[i].code == (BPF_STX | BPF_ATOMIC | BPF_DW) && code[i].imm != BPF_ADD)
			return -EINVAL;
	}
	return __real_bpf_prog_load(type, name, license, code, n, opts);
}

static void take_line(int level, const char *line, void *arg)
{
	size_t used = strlen(logged);

	if (level <= LOG_WARNING)
		snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

static void logged_has(const char *text)
{
	if (!strstr(logged, text))
		fail_msg("not logged: %s; logged:\n%s", text, logged);
}

static struct lx_bpf *begin(bool enabled)
{
	struct lx_bpf *bpf;
	char instance[40];

	snprintf(instance, sizeof(instance), "unit-%d", (int)getpid());
	n_opened = 0;
	logged[0] = '\0';
	lx_set_log(take_line, NULL);
	assert_int_equal(lx_bpf_new(instance, enabled, &bpf), 0);
	return bpf;
}

static void end(struct lx_bpf *bpf)
{
	lx_bpf_free(bpf);
	lx_set_log(NULL, NULL);
}

/* The guard is there, knows why it does nothing, and refuses changes. */
static void guard_explains(struct lx_bpf *bpf, const char *reason)
{
	struct lx_guard_ni ni = { .ifname = "nosuch0", .port = 988, .port_bulk = 988 };
	struct lx_guard_info info;
	struct lx_guard *guard;
	struct lx_nid nid;

	assert_int_equal(lx_guard_new(bpf, &guard), 0);
	lx_guard_place(guard, &ni, 1, true);
	assert_int_equal(lx_guard_info(guard, &info), 0);
	assert_false(info.loaded);
	if (!strstr(info.reason, reason))
		fail_msg("reason \"%s\", not \"%s\"", info.reason, reason);
	assert_int_equal(lx_nid_parse("10.1.0.2@tcp", &nid), 0);
	assert_int_equal(lx_guard_ban(guard, &nid), -EOPNOTSUPP);
	lx_guard_free(guard);
}

static int try_fastpath(struct lx_bpf *bpf)
{
	struct lx_fastpath *fastpath;
	int r = lx_fastpath_new(bpf, &fastpath);

	lx_fastpath_free(fastpath);
	return r;
}

static void test_off(void **state)
{
	struct lx_bpf *bpf = begin(false);

	guard_explains(bpf, "switched off");
	assert_int_equal(try_fastpath(bpf), -EOPNOTSUPP);
	assert_int_equal(n_opened, 0);
	assert_string_equal(logged, "");
	end(bpf);
}

static void test_kernel_without(void **state)
{
	struct lx_bpf *bpf;

	no_atomics = true;
	bpf = begin(true);
	if (lx_bpf_has(bpf, LX_BPF_LOAD)) {
		guard_explains(bpf, "needs atomics: this kernel does not have it");
		assert_int_equal(try_fastpath(bpf), -EOPNOTSUPP);
		logged_has("bpf=guard reason=\"needs atomics");
		logged_has("action=\"the acceptor alone refuses strangers");
		logged_has("bpf=fastpath reason=\"needs ");
		logged_has("action=\"lnetxd forwards all messages itself");
		assert_int_equal(n_opened, 0);
	}
	no_atomics = false;
	end(bpf);
}

/* As in a container: root has the capabilities, and the call bpf is refused. */
static void test_seccomp(void **state)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = 4, .filter = code };
	struct lx_bpf *bpf;
	int status;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
		bpf = begin(true);
		guard_explains(bpf, "not permitted; needs a seccomp filter that allows bpf()");
		end(bpf);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_not_opened(void **state)
{
	struct lx_bpf *bpf = begin(true);
	bool possible = lx_bpf_has(bpf, LX_BPF_ATOMICS) && lx_bpf_has(bpf, LX_BPF_SKC_LOOKUP);

	if (possible) {
		guard_explains(bpf, "libbpf cannot open it: Invalid argument");
		assert_int_equal(try_fastpath(bpf), -EINVAL);
		logged_has("bpf=guard reason=\"libbpf cannot open it");
		logged_has("bpf=fastpath reason=\"libbpf cannot open it");
		assert_int_equal(n_opened, 2);
	}
	end(bpf);
	if (!possible)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_kernel_without),
		cmocka_unit_test(test_seccomp),
		cmocka_unit_test(test_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
