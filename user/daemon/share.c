/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* See the header. Called by main.c and command.c. */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <internal/ctl.h>

#include "../base/clock.h"
#include "../base/line.h"
#include "../base/log.h"
#include "share.h"

/*
 * For a whole slice of another process lnetxd has 28. A real-time class would keep it from
 * waiting for one that runs, at a price: small messages would find lnetxd awake each, and go one by
 * one (4 KiB: a quarter less throughput where clients are on the same CPUs).
 */
#define NICE (-15)

/* Most of it is the kernel's, which checks the programs: 37 MiB in all, of which 15 stay. */
#define LOADING_MIB 40ull

static bool has_priority(void)
{
	int class = sched_getscheduler(0);

	return class == SCHED_RR || class == SCHED_FIFO || getpriority(PRIO_PROCESS, 0) < 0;
}

void lx_share_claim(void)
{
	if (sched_getscheduler(0) != SCHED_OTHER || getpriority(PRIO_PROCESS, 0) ||
	    !setpriority(PRIO_PROCESS, 0, NICE))
		return;
	lx_info("nice=0 reason=\"%s\" next=\"on a busy router lnetxd may starve: give it "
		"CAP_SYS_NICE or "
		"LimitNICE=%d\"",
		strerror(errno), NICE);
}

/* The path of this process's cgroup; "" for the root, or if there is none. */
static void read_cgroup(char *ret_path, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[512];

	*ret_path = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::/", 4) && line[4])
			snprintf(ret_path, size, "%s", line + 3);
	}
	if (f)
		fclose(f);
}

void lx_share_check_memory(void)
{
	char path[512], line[64], *end;
	uint64_t limit;

	read_cgroup(path, sizeof(path));
	/* Limits of the cgroups above count as well. */
	do {
		if (!lx_line_read(line, sizeof(line), "/sys/fs/cgroup%s/memory.max", path) &&
		    sscanf(line, "%" SCNu64, &limit) == 1 && limit < LOADING_MIB << 20) {
			lx_warn("bpf=fastpath memory_max=%" PRIu64 " cgroup=%s "
				"reason=\"its programs take up to %llu MiB while they load: Linux "
				"may end lnetxd\" next=\"a higher limit (MemoryMax=), or "
				"--no-bpf\"",
				limit, *path ? path : "/", LOADING_MIB);
			return;
		}
		end = strrchr(path, '/');
		if (end)
			*end = '\0';
	} while (end);
}

static uint64_t cpu_ms(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
}

/* Nanoseconds: the second number of a thread's schedstat. */
static uint64_t waited_ns(const char *path)
{
	uint64_t ns = 0;
	char line[128];

	if (!lx_line_read(line, sizeof(line), "%s", path))
		sscanf(line, "%*u %" SCNu64, &ns);
	return ns;
}

static uint64_t waited_ms(void)
{
	uint64_t ns = 0;
	glob_t g;

	if (glob("/proc/self/task/*/schedstat", GLOB_NOSORT, NULL, &g))
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++)
		ns += waited_ns(g.gl_pathv[i]);
	globfree(&g);
	return ns / LX_MS_NS;
}

static uint64_t interrupts_ms(void)
{
	uint64_t irq = 0, softirq = 0;
	char line[256];

	/* user, nice, system, idle, iowait come first */
	if (!lx_line_read(line, sizeof(line), "/proc/stat"))
		sscanf(line, "cpu %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &irq, &softirq);
	return (irq + softirq) * 1000 / sysconf(_SC_CLK_TCK);
}

void lx_share_fill(struct lx_ctl_status *status)
{
	status->priority = has_priority();
	status->cpu_ms = cpu_ms();
	status->waited_ms = waited_ms();
	status->interrupts_ms = interrupts_ms();
}
