/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * See the header. Called by main.c before anything is opened or created. Only the log's thread runs
 * by then; it keeps no capability, as it has not asked to.
 */
#include <cap-ng.h>
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <internal/ctl.h>

#include "../base/array.h"
#include "../base/log.h"
#include "../base/owner.h"
#include "../bpf/pin.h"
#include "neighbours.h"
#include "user.h"

/* As in lnetxd.service, which says what for. */
static const unsigned int kept[] = { CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF,
				     CAP_PERFMON };

#define KEPT (LX_ARRAY_LEN(kept))

/* As the unit's LimitMEMLOCK: without CAP_IPC_LOCK zero-copy sends and RDMA need it. */
static void lift_limit(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit now;

	if (!getrlimit(RLIMIT_MEMLOCK, &now) && now.rlim_max != RLIM_INFINITY &&
	    setrlimit(RLIMIT_MEMLOCK, &none))
		lx_warn("limit=memlock bytes=%llu reason=\"%s\" next=\"raise it (ulimit -Hl "
			"unlimited), or "
			"RDMA fails, and sends copy\"",
			(unsigned long long)now.rlim_max, strerror(errno));
}

static int give_directories(const struct passwd *user)
{
	char state[512], note[LX_BPF_TEXT];
	const char *dir = lx_ctl_rundir();
	int err = lx_owner_give(dir, 0755, user->pw_uid, user->pw_gid);

	if (!err) {
		dir = lx_neighbours_dir(state, sizeof(state));
		err = lx_owner_give(dir, 0755, user->pw_uid, user->pw_gid);
	}
	if (err) {
		lx_err("user=%s directory=%s action=exit reason=\"cannot give it to this user: "
		       "%s\"",
		       user->pw_name, dir, strerror(-err));
		return err;
	}
	if (lx_pin_give(user->pw_uid, user->pw_gid, note))
		lx_warn("user=%s reason=\"%s\" action=\"BPF programs have no pins: they end with "
			"lnetxd\"",
			user->pw_name, note);
	return 0;
}

/* Those that we have at all: in a container it may be fewer. */
static void choose_capabilities(void)
{
	bool have[KEPT];

	capng_get_caps_process();
	for (size_t i = 0; i < KEPT; i++) {
		have[i] = capng_have_capability(CAPNG_PERMITTED, kept[i]);
		if (!have[i])
			lx_warn("capability=cap_%s reason=\"root does not have it here\" "
				"next=\"see "
				"lnetxd(8), USERS AND CAPABILITIES: what is missing without it\"",
				capng_capability_to_name(kept[i]));
	}
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t i = 0; i < KEPT; i++) {
		if (have[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, kept[i]);
	}
}

static int drop(const struct passwd *user)
{
	int err;

	choose_capabilities();
	err = capng_change_id(user->pw_uid, user->pw_gid,
			      CAPNG_INIT_SUPP_GRP | CAPNG_CLEAR_BOUNDING);
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err = -errno;
	if (err) {
		lx_err("user=%s action=exit reason=\"cannot become this user: %s (%d)\"",
		       user->pw_name, strerror(errno), err);
		return -EPERM;
	}
	/* Otherwise our own files in /proc are root's: what BPF maps take is read there. */
	prctl(PR_SET_DUMPABLE, 1);
	return 0;
}

int lx_user_become(const char *name)
{
	const struct passwd *user = getpwnam(name);
	int err;

	if (!user) {
		lx_err("user=%s action=exit reason=\"there is no such user\" next=\"useradd "
		       "--system %s\"",
		       name, name);
		return -ENOENT;
	}
	if (user->pw_uid == geteuid())
		return 0;
	if (geteuid()) {
		lx_err("user=%s action=exit reason=\"only root can become another user\" "
		       "next=\"leave out "
		       "--user, or start it as root\"",
		       name);
		return -EPERM;
	}
	lift_limit();
	err = give_directories(user);
	if (!err)
		err = drop(user);
	if (!err)
		lx_info("user=%s uid=%d", name, (int)geteuid());
	return err;
}
