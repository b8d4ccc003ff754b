/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shell completion of lnetx and lnetctl, and completeness of the manual pages: both follow
 * the programs' own tables.
 */
#include <ctype.h>

#include <internal/ctl.h>

#include "../../user/conf/global.h"
#include "cliworld.h"

/* The shell's offers for the last of these words. */
static char *complete(const char *function, const char *words, int n)
{
	static char offered[4096];
	char command[1024];
	size_t len;
	FILE *out;

	snprintf(command, sizeof(command),
		 "bash -c 'source tools/dist/completion/lnetx.bash; COMP_WORDS=(%s %s); COMP_CWORD=%d; "
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

static void offers_not(const char *function, const char *words, int n, const char *unexpected)
{
	char *offered = complete(function, words, n);

	if (strstr(offered, unexpected))
		fail_msg("%s %s: offered%s", function, words, offered);
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
	offers("_lnetx", "ping t", 2, " timeout trace ");
	offers("_lnetx", "report s", 2, " seconds ");
	offers("_lnetx", "doctor n", 2, " nagios ");
	offers("_lnetx", "fabric check bandwidth \"\"", 4, " on off ");
	offers("_lnetx", "fabric check pa", 3, " pairs ");
	offers("_lnetctl", "r", 1, " route routing ");
	offers("_lnetctl", "peer s", 2, " show set ");
	offers("_lnetctl", "net add --p", 3,
	       " --peer-timeout --peer-credits --peer-buffer-credits ");
	offers("_lnetctl", "export --b", 2, " --backup ");
	offers("_lnetctl", "set trans", 2, " transaction_timeout ");
	/* Fault injection: kinds, keywords, and lists of values. */
	offers("_lnetx", "fault add d", 3, " drop delay ");
	offers("_lnetx", "fault del \"\"", 3, " drop delay ");
	offers_not("_lnetx", "fault add drop d", 4, "delay");
	offers("_lnetx", "fault add drop m", 4, " msg ");
	offers("_lnetx", "fault add drop msg put,\"\"", 5, " put,put put,ack put,get put,reply ");
	offers("_lnetx", "fault add drop error local_", 5, " local_interrupt ");
	offers("_lnetx", "fault add drop error ran", 5, " random ");
	offers("_lnetctl", "fault d", 2, " drop delay ");
	offers("_lnetctl", "fault drop a", 3, " add ");
	offers("_lnetctl", "fault drop add --loc", 4, " --local_nid ");
	offers("_lnetctl", "fault drop add -m g", 5, " get ");
	offers("_lnetctl", "fault delay add --lat", 4, " --latency ");
	offers("_lctl", "l", 1, " list_nids list_param lustre_build_version ");
	offers("_lctl", "network \"\"", 2, " up down tcp ");
	offers("_lctl", "list_nids a", 2, " all ");
	offers("_lctl", "get_param -n ni", 3, " nis ");
	offers("_lctl", "net_drop a", 2, " add ");
	offers("_lctl", "--net tcp conn", 3, " conn_list ");
}

/* Completes NIDs, nets and interfaces of this node and its peers, and values. */
static void test_completion_knows(void **state)
{
	start("net:\n- net type: lo\n  local NI(s):\n  - nid: 0@lo\n    status: up\n"
	      "- net type: tcp1\n  local NI(s):\n  - nid: 10.0.0.1@tcp1\n    status: up\n"
	      "    interfaces: {0: eth0}\n"
	      "route:\n- {net: tcp7, gateway: 10.0.0.3@tcp1, hop: -1, priority: 0, state: up}\n"
	      "peer:\n- primary nid: 10.0.0.5@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - nid: 10.0.0.5@tcp1\n    state: NA\n  - nid: 10.9.0.5@tcp9\n    state: NA\n");
	/* NIDs of peers or, where those are meant, our own. */
	offers("_lnetx", "ping 10.0.0.", 2, " 10.0.0.5@tcp1 10.0.0.3@tcp1 ");
	offers_not("_lnetx", "ping 10.0.0.", 2, "10.0.0.1@");
	offers("_lnetx", "ping source \"\"", 3, " 0@lo 10.0.0.1@tcp1 ");
	offers("_lnetx", "ping 10.0.0.5@tcp1 10.9", 3, " 10.9.0.5@tcp9 ");
	offers("_lnetx", "explain peer 10.9", 3, " 10.9.0.5@tcp9 ");
	offers("_lnetx", "peer show nid \"\"", 4, " 10.0.0.5@tcp1 10.9.0.5@tcp9 ");
	offers("_lnetx", "route add net tcp8 via 10.0.0.3@tcp1,10.0.0.", 6,
	       " 10.0.0.3@tcp1,10.0.0.5@tcp1 ");
	offers("_lnetx", "net del nid \"\"", 4, " 10.0.0.1@tcp1 ");
	offers("_lnetx", "route show net \"\"", 4, " tcp1 tcp7 tcp ");
	offers("_lnetctl", "ping 10.9", 2, " 10.9.0.5@tcp9 ");
	offers("_lctl", "ping 10.9", 2, " 10.9.0.5@tcp9 ");
	offers("_lctl", "--net tcp", 2, " tcp1 tcp7 tcp ");
	offers("_lnetctl", "route del --gateway 10.0.0.3", 4, " 10.0.0.3@tcp1 ");
	offers("_lnetctl", "ping --source 10", 3, " 10.0.0.1@tcp1 ");
	offers("_lnetctl", "peer del --prim_nid \"\"", 4, " 10.0.0.5@tcp1 ");
	/* Tunables: module, name, value. */
	offers("_lnetx", "tunable show \"\"", 3, " lnet tcp ");
	offers("_lnetx", "tunable set tcp acc", 4, " accept accept_port ");
	offers("_lnetx", "tunable set tcp accept \"\"", 5, " none secure all ");
	offers("_lnetx", "tunable set tcp sock_timeout \"\"", 5, " 50 ");
	offers_not("_lnetx", "tunable show tcp accept \"\"", 5, "secure");
	offers("_lnetctl", "set discovery \"\"", 3, " 0 1 ");
	offers("_lnetctl", "set response_tracking \"\"", 3, " 0 1 2 3 ");
	/* Values of keywords, instances, help, files. */
	offers("_lnetx", "guard set mode \"\"", 4, " auto native generic tc ");
	offers("_lnetx", "guard set accept s", 4, " secure ");
	offers("_lnetx", "trace type \"\"", 3, " put get ack reply ");
	offers("_lnetx", "-n \"\"", 2, " test ");
	offers("_lnetx", "net show --instance te", 4, " test ");
	offers("_lnetctl", "--instance \"\"", 2, " test ");
	offers("_lnetx", "help ne", 2, " net ");
	offers("_lnetctl", "help net a", 3, " add ");
	offers("_lnetx", "net add net tcp -", 5, " --json ");
	offers("_lnetx", "import tests/unit/test_cl", 2, " tests/unit/test_cli.c ");
	offers("_lnetctl", "import tests/unit/test_cl", 2, " tests/unit/test_cli.c ");
	offers_not("_lnetx", "net add \"\"", 3, " dev ");
	stop(NULL);
	/* Without a daemon, keywords are still offered. */
	offers("_lnetx", "ping t", 2, " timeout trace ");
	offers("_lnetx", "fabric check bandwidth \"\"", 4, " on off ");
	offers("_lnetx", "fabric check pa", 3, " pairs ");
	offers("_lnetx", "peer show nid \"\"", 4, "  ");
}

/* The shell splits a NID at colons, so the reply is only the part after the last one. */
static void test_completion_breaks(void **state)
{
	static const struct {
		const char *line, *reply;
	} lines[] = { { "ping 10.0.0.5@t", " tcp1 \n" },
		      { "ping 10.0.0.5@", " tcp1 \n" },
		      { "ping 10.0.0.", " 10.0.0.5@tcp1 \n" },
		      { "ping fd00::", " 5@tcp1 \n" },
		      { "peer show nid ", " 10.0.0.5@tcp1 fd00::5@tcp1 \n" } };

	start("peer:\n- primary nid: 10.0.0.5@tcp1\n  Multi-Rail: true\n  peer ni:\n"
	      "  - nid: 10.0.0.5@tcp1\n    state: NA\n  - nid: fd00::5@tcp1\n    state: NA\n");
	for (size_t i = 0; i < N_OF(lines); i++) {
		char command[1024], offered[1024] = "";
		FILE *out;

		snprintf(command, sizeof(command),
			 "bash -c 'source tools/dist/completion/lnetx.bash; COMP_LINE=\"%s %s\"; "
			 "COMP_POINT=${#COMP_LINE}; _lnetx; echo \" ${COMPREPLY[*]} \"'",
			 proc_path("lnetx"), lines[i].line);
		out = popen(command, "r");
		assert_true(fread(offered, 1, sizeof(offered) - 1, out) > 0);
		pclose(out);
		if (strcmp(offered, lines[i].reply))
			fail_msg("\"%s\": offered%snot%s", lines[i].line, offered, lines[i].reply);
	}
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; (p = strstr(p, word)); p += len) {
		if ((p == text || !is_letter(p[-1])) && !is_letter(p[len]))
			return true;
	}
	return false;
}

/* Help names a keyword if completion offers it: all but other spellings. */
static void test_help_and_completion_agree(void **state)
{
	char *list = output_of("lnetx --list-commands"), *save, *save_word, *help, *word;

	for (char *line = strtok_r(list, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *object = strtok_r(line, " ", &save_word);
		const char *verb = strtok_r(NULL, " ", &save_word), *offered;
		bool verbless = !strcmp(verb, "-");
		char words[100];

		verb = verbless ? object : verb;
		snprintf(words, sizeof(words), "lnetx help %s %s", object, verb);
		help = output_of(words);
		snprintf(words, sizeof(words), "%s %s \"\"", object, verbless ? "" : verb);
		offered = complete("_lnetx", words, verbless ? 2 : 3);
		while ((word = strtok_r(NULL, " ", &save_word))) {
			if (has_word(strchr(help, ' '), word) != has_word(offered, word))
				fail_msg("%s: help or completion lacks %s", words, word);
		}
		free(help);
	}
	free(list);
}

/* Each word of the output must occur in the file. */
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
	char *text = proc_read("tools/dist/man/lnetxd.8.rst"), *help = output_of("lnetxd-fake --help");

	documented("lst --list-commands", "tools/dist/man/lst.8.rst");
	documented("lctl --list-commands", "tools/dist/man/lctl.8.rst");
	for (char *p = help; (p = strstr(p, ", --")); p++) {
		char option[40] = "";

		sscanf(p + 2, "%39[a-z-]", option);
		if (!strstr(text, option))
			fail_msg("lnetxd.8 does not have %s", option);
	}
	for (const struct lx_global *g = lx_globals; g->key; g++) {
		free(text);
		text = proc_read("tools/dist/man/lnetx.conf.5.rst");
		if (!strstr(text, g->key))
			fail_msg("lnetx.conf.5 does not have %s", g->key);
	}
	free(text);
	free(help);
}

/* Each command and option has a row in the table, and vice versa. */
static void test_table(void **state)
{
	char *words = output_of("lnetctl --list-options"), *page = proc_read("docs/lnetctl.md");
	char row[200], *save;
	size_t n = 0;

	for (char *line = strtok_r(words, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		snprintf(row, sizeof(row), "\n| `%s` | ", line);
		if (!strstr(page, row))
			fail_msg("docs/lnetctl.md has no row for \"%s\"", line);
		n++;
	}
	for (const char *p = page; (p = strstr(p, "\n| `")); p++)
		n--;
	if (n)
		fail_msg("docs/lnetctl.md has rows for what does not exist");
	free(words);
	free(page);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_completion),
		TEST(test_completion_knows),
		TEST(test_completion_breaks),
		TEST(test_help_and_completion_agree),
		TEST(test_manual),
		TEST(test_table),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
