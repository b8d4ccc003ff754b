/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* "lnetx bpf": which programs of the daemon run in the kernel, and why others do not. */
#include <stdio.h>
#include <string.h>

#include "../common/json.h"
#include "../common/print.h"
#include "lnetx.h"

bool lx_bpf_is_interface(const json_t *hook)
{
	return !strcmp(lx_json_text(hook, "set"), "fastpath") &&
	       !strcmp(lx_json_text(hook, "hook"), "ingress");
}

static void print_lacks(const json_t *features)
{
	const json_t *f;
	size_t i, lacks = 0;

	json_array_foreach ((json_t *)features, i, f) {
		if (json_is_true(json_object_get(f, "have")))
			continue;
		printf("%-8s  %s: %s\n              for: %s\n", lacks++ ? "" : "lacks",
		       lx_json_text(f, "name"), lx_json_text(f, "reason"), lx_json_text(f, "help"));
	}
	/* Without BPF in the build nothing was probed. */
	if (!lacks && json_array_size(features))
		puts("lacks     nothing");
}

/* Packets that never left, though a program or a socket sent them. */
static void print_dropped(const json_t *info)
{
	json_int_t all = lx_json_int(info, "tx_dropped"), n;
	const json_t *hook;
	size_t i;

	if (!all)
		return;
	printf("dropped   %" JSON_INTEGER_FORMAT
	       " packets on the way out, since the programs were attached:",
	       all);
	json_array_foreach (json_object_get(info, "hooks"), i, hook) {
		n = lx_json_int(hook, "tx_dropped");
		if (n && lx_bpf_is_interface(hook))
			printf(" %s %" JSON_INTEGER_FORMAT, lx_json_text(hook, "interface"), n);
	}
	putchar('\n');
}

static void print_status(const json_t *info)
{
	bool more = lx_lnetx_format()->more;
	const char *pins = lx_json_text(info, "pins");

	printf("kernel    %s\n", lx_json_text(info, "kernel"));
	if (!json_is_true(json_object_get(info, "enabled")))
		puts("bpf       off: lnetxd runs with --no-bpf");
	if (!json_is_true(json_object_get(info, "fastpath")))
		puts("fast path off: \"lnetx bpf on\" lets the kernel forward messages again");
	if (*lx_json_text(info, "resegments"))
		printf("cuts      off: %s\n"
		       "          packets with messages for several next hops are "
		       "resegmented, which takes longer\n",
		       lx_json_text(info, "resegments"));
	printf("pins      %s\n", *pins ? pins : "none");
	if (*lx_json_text(info, "reason"))
		printf("          %s\n", lx_json_text(info, "reason"));
	printf("memory    %" JSON_INTEGER_FORMAT " bytes\n", lx_json_int(info, "memory"));
	print_dropped(info);
	print_lacks(json_object_get(info, "features"));
	putchar('\n');
	lx_print_table(stdout, json_object_get(info, "sets"), &lx_object_bpf_sets, more);
	if (json_array_size(json_object_get(info, "hooks")))
		putchar('\n');
	lx_print_table(stdout, json_object_get(info, "hooks"), &lx_object_bpf_hooks, more);
	if (json_array_size(json_object_get(info, "tables")))
		putchar('\n');
	lx_print_table(stdout, json_object_get(info, "tables"), &lx_object_bpf_tables, more);
	if (!more)
		return;
	putchar('\n');
	lx_print_table(stdout, json_object_get(info, "objects"), &lx_object_bpf_objects, true);
	putchar('\n');
	lx_print_table(stdout, json_object_get(info, "features"), &lx_object_bpf_features, true);
}

static int status(struct lx_session *s, const struct lx_args *a)
{
	json_t *info;
	int err = lx_request_first(s, LX_CTL_BPF, NULL, LX_LEVEL_OWN, &info);

	if (err)
		return err;
	if (lx_lnetx_as_tree()) {
		lx_lnetx_print(lx_object_bpf.yaml, info);
		return 0;
	}
	print_status(info);
	json_decref(info);
	return 0;
}

/* ---- on, off ----------------------------------------------------------------------- */

/* Warns if the programs are switched on but cannot run. */
static int warn_not_loaded(struct lx_session *s)
{
	json_t *info, *set;
	size_t i;
	int err = lx_request_first(s, LX_CTL_BPF, NULL, LX_LEVEL_OWN, &info);

	if (err)
		return err;
	json_array_foreach (json_object_get(info, "sets"), i, set) {
		if (strcmp(lx_json_text(set, "set"), "fastpath") ||
		    json_is_true(json_object_get(set, "loaded")))
			continue;
		if (lx_lnetx_as_tree())
			lx_lnetx_print("warning", json_sprintf("on, but not loaded: %s",
							       lx_json_text(set, "reason")));
		else
			fprintf(stderr, "lnetx: on, but not loaded: %s; see \"lnetx bpf status\"\n",
				lx_json_text(set, "reason"));
	}
	json_decref(info);
	return 0;
}

static int on(struct lx_session *s, const struct lx_args *a)
{
	int err = lx_request_tunable_set(s, "tcp", "fastpath", "on");

	return err ? err : warn_not_loaded(s);
}

static int off(struct lx_session *s, const struct lx_args *a)
{
	return lx_request_tunable_set(s, "tcp", "fastpath", "off");
}

const struct lx_command lx_bpf_commands[] = {
	{ "status", status,
	  .help = "what is loaded and attached, what this kernel lacks; with -s all of it" },
	{ "show", status, .help = "the same" },
	{ "off", off, .help = "lnetxd forwards all messages, from the next one on; the same as\n"
	  "\t\"tunable set tcp fastpath off\"" },
	{ "on", on, .help = "the kernel forwards the messages it can" },
	{ 0 },
};
