/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Looks at an lnetxd: adds a route if told to, lists the NIs, then prints changes until
 * lnetxd ends.
 *
 *	cc watch.c -o watch $(pkg-config --cflags --libs lnetxctl)
 *	./watch [NET GATEWAY]
 */
#include <lnetx/ctl.h>
#include <stdio.h>
#include <stdlib.h>

static struct lx_ctl *ctl;

/* The reason is ready for people; programs look at its error, origin, object and word. */
static void check(int error)
{
	if (error < 0)
		fprintf(stderr, "watch: %s\n", lx_ctl_why(ctl)->text), exit(1);
}

static void list_nis(void)
{
	struct lx_ctl_row ni;
	int more;

	check(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_NET, NULL));
	while ((more = lx_ctl_next(ctl, &ni)) == 1)
		printf("%s is %s, sent %lld messages\n", lx_ctl_text(&ni, "nid"),
		       lx_ctl_text(&ni, "status"),
		       (long long)lx_ctl_int(&ni, "statistics.send_count", 0));
	check(more);
}

static void follow(void)
{
	struct lx_ctl_row event;
	int more;

	check(lx_ctl_start(ctl, LX_CTL_SHOW, LX_CTL_EVENT, NULL));
	while ((more = lx_ctl_next(ctl, &event)) == 1)
		printf("%s\n", lx_ctl_text(&event, "change"));
	check(more);
}

int main(int argc, char **argv)
{
	const struct lx_ctl_arg route[] = { { "net", argv[1] }, { "gateway", argv[argc - 1] },
					    { NULL, NULL } };

	setlinebuf(stdout);
	if ((argc != 1 && argc != 3) || lx_ctl_new(NULL, &ctl))
		return fputs("usage: watch [NET GATEWAY]\n", stderr), 2;
	if (argc == 3)
		check(lx_ctl_do(ctl, LX_CTL_ADD, LX_CTL_ROUTE, route));
	list_nis();
	follow();
	return 0;
}
