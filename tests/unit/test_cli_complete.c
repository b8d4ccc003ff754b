/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the shell offers for lnetx and lnetctl, and what the manual pages have to have: both
 * go by the programs' own tables.
 */
#include <lnetx/control.h>

#include "cliworld.h"

/* What the shell would offer for the last of these words. */
static char *complete(const char *function, const char *words, int n)
{
	static char offered[4096];
	char command[1024];
	size_t len;
	FILE *out;

	snprintf(command, sizeof(command),
		 "bash -c 'source tools/completion/lnetx.bash; COMP_WORDS=(%s %s); COMP_CWORD=%d; "
		 "%s; "
		 "echo \" ${COMPREPLY[*]} \"'",
		 proc_path(function + 1), words, n, function);
	out = popen(command, "r");
	len = fread(offered, 1, sizeof(offered) - 1, out);
	offered[len] = '\0';
	pclose(out);
	return offered;
}

static void offers(const char *function, const char *words, int n, const char *expected)
{
	char *offered = complete(function, words, n);

	if (!strstr(offered, expected))
		fail_msg("%s %s: offered%snot%s", function, words, offered, expected);
}

static void test_completion(void **state)
{
	offers("_lnetx", "\"\"", 1, " conn ");
	offers("_lnetx", "t", 1, " tunable ");
	offers("_lnetx", "--j", 1, " --json ");
	offers("_lnetx", "net \"\"", 2, " add ");
	offers("_lnetx", "-j -n x net a", 5, " add ");
	offers("_lnetx", "net add net tcp p", 5, " peer_timeout peer_credits peer_buffer_credits ");
	offers("_lnetx", "net add if l", 4, " lo ");
	offers("_lnetx", "ping t", 2, " timeout ");
	offers("_lnetctl", "r", 1, " route routing ");
	offers("_lnetctl", "peer s", 2, " show set ");
	offers("_lnetctl", "net add --p", 3,
	       " --peer-timeout --peer-credits --peer-buffer-credits ");
	offers("_lnetctl", "export --b", 2, " --backup ");
	offers("_lnetctl", "set trans", 2, " transaction_timeout ");
}

/* Each word of the output has to be in the file. */
static void documented(const char *line, const char *path)
{
	char *text = proc_read(path), *words = output_of(line), *save;

	for (char *w = strtok_r(words, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
		if (strcmp(w, "-") && !strstr(text, w))
			fail_msg("%s does not have \"%s\" of \"%s\"", path, w, line);
	}
	free(text);
	free(words);
}

static void test_manual(void **state)
{
	char *text = proc_read("tools/man/lnetxd.8.rst"), *help = output_of("lnetxd-fake --help");

	documented("lnetx --list-commands", "tools/man/lnetx.8.rst");
	documented("lnetctl --list-commands", "tools/man/lnetctl.8.rst");
	for (char *p = help; (p = strstr(p, ", --")); p++) {
		char option[40] = "";

		sscanf(p + 2, "%39[a-z-]", option);
		if (!strstr(text, option))
			fail_msg("lnetxd.8 does not have %s", option);
	}
	for (const struct lx_control_global *g = lx_control_globals; g->key; g++) {
		free(text);
		text = proc_read("tools/man/lnetx.conf.5.rst");
		if (!strstr(text, g->key))
			fail_msg("lnetx.conf.5 does not have %s", g->key);
	}
	free(text);
	free(help);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_completion),
		TEST(test_manual),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
