/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * lnetctl against the captured output of the reference's lnetctl, command by command.
 *
 * Up to the captured export, each show runs on a node that is loaded from the
 * captured output itself, and must print the same text. After that
 * the captured commands change the state, so they run in order on one node, which
 * starts with the export. Error texts ("descr") are our own; their place and
 * numbers must match. Both output streams are merged, as in the captures.
 */
#include "proc.h"
#include "testlib.h"

struct block {
	char *command;
	char *output;
	int status;
};

/* Repeated: "$ command", its output, "# exit status N". */
static size_t read_blocks(const char *text, struct block *blocks, size_t max)
{
	char *copy = strdup(text), *line = copy, *next;
	struct block *b = NULL;
	size_t n = 0;

	for (; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strncmp(line, "$ ", 2) && n < max) {
			b = &blocks[n++];
			b->command = strdup(line + 2);
			b->output = calloc(1, strlen(text) + 1);
		} else if (b && sscanf(line, "# exit status %d", &b->status) == 1) {
			b = NULL;
		} else if (b) {
			strcat(strcat(b->output, line), "\n");
		}
	}
	free(copy);
	return n;
}

static void free_blocks(struct block *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(blocks[i].command);
		free(blocks[i].output);
	}
}

/* Removes error texts, which are not compared. */
static void mask(char *text)
{
	char *p = text;

	while ((p = strstr(p, "descr: "))) {
		char *end = strchr(p, '\n');

		p += strlen("descr: ");
		if (end)
			memmove(p, end, strlen(end) + 1);
	}
}

/* The reference shows 2 while routing stops, which scripts take for true. */
static void stopping(const char *want, char *got)
{
	static const char theirs[] = "- enable: 2\n";
	static const char ours[] = "- enable: 0\n      phase: stopping\n";
	char *g = strstr(got, ours);

	if (!g || !strstr(want, theirs))
		return;
	memmove(g + strlen(theirs), g + strlen(ours), strlen(g + strlen(ours)) + 1);
	memcpy(g, theirs, strlen(theirs));
}

struct difference {
	const char *command;
	const char *why;
	bool succeeds; /* here, and not in the reference */
};

/* Known differences. Everything else must be equal. */
static const struct difference differences[] = {
	{ "lnetctl service-id", "the complaint is in our own words", false },
	{ "lnetctl nosuch", "the complaint is in our own words", false },
	{ "lnetctl set bogus", "the complaint is in our own words", false },
	{ "lnetctl set discovery 2", "nonsense is refused, not taken as something else", false },
	{ "lnetctl peer add --prim_nid 10.1.1.1@tcp1 --nid bad",
	  "the reference says it a second time", false },
	{ "lnetctl set routing 1", "starting ends a stop under way", true },
};

static const struct difference *different(const char *command)
{
	for (size_t i = 0; i < N_OF(differences); i++) {
		if (!strncmp(command, differences[i].command, strlen(differences[i].command)))
			return &differences[i];
	}
	return NULL;
}

static void compare(const struct block *b)
{
	const struct proc_result *r = proc_run(b->command);
	const struct difference *d = different(b->command);
	char *got = calloc(1, sizeof(r->out) + sizeof(r->err)), *want = strdup(b->output);

	strcat(strcat(got, r->out), r->err);
	mask(got);
	mask(want);
	stopping(want, got);
	/* The reference crashed here. */
	if (strstr(want, "Aborted\n")) {
		free(got);
		free(want);
		return;
	}
	/* The reference may fail silently; ours may give a reason. */
	if (b->status && !*want)
		strcpy(got, "");
	if (!d && (strcmp(got, want) || r->status != b->status))
		fail_msg("$ %s\n%sstatus %d\n--- expected:\n%sstatus %d", b->command, got,
			 r->status, want, b->status);
	if (d && !r->status != d->succeeds)
		fail_msg("$ %s: status %d, although %s", b->command, r->status, d->why);
	free(got);
	free(want);
}

static const struct block *find_block(const struct block *blocks, size_t n, const char *command)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(blocks[i].command, command))
			return &blocks[i];
	}
	fail_msg("no \"%s\" in the capture", command);
	return NULL;
}

static bool is_lnetctl(const struct block *b)
{
	return !strncmp(b->command, "lnetctl", strlen("lnetctl"));
}

/*
 * Runs a show command on a node loaded from its output. If the output is only "---", there is
 * nothing to load.
 */
static void compare_alone(const struct block *b, const char *state)
{
	static const char *const args[] = { "--configure", NULL };
	struct proc_daemon d = { 0 };

	proc_daemon_start(&d, state, args);
	proc_daemon_wait_log(&d, "state=running");
	compare(b);
	assert_int_equal(proc_daemon_stop(&d), 0);
}

static void run_capture(const char *name, size_t expected)
{
	static const char *const args[] = { "--configure", NULL };
	static struct block blocks[128];
	const struct block *export, *b;
	struct proc_daemon d = { 0 };
	char path[300], *text;
	size_t n, compared = 0;

	snprintf(path, sizeof(path), "%s/lnetctl/%s", captures_dir(), name);
	text = proc_read(path);
	memset(blocks, 0, sizeof(blocks));
	n = read_blocks(text, blocks, N_OF(blocks));
	export = find_block(blocks, n, "lnetctl export");
	for (b = blocks; b <= export; b++) {
		compare_alone(b, strncmp(b->output, "---", 3) ? b->output : "");
		compared++;
	}
	proc_daemon_start(&d, export->output, args);
	proc_daemon_wait_log(&d, "state=running");
	for (; b < blocks + n; b++) {
		if (!is_lnetctl(b))
			continue;
		compare(b);
		compared++;
	}
	assert_int_equal(proc_daemon_stop(&d), 0);
	assert_int_equal(compared, expected);
	free_blocks(blocks, n);
	free(text);
}

static void test_client(void **state)
{
	run_capture("client-2.17.0.txt", 60);
}

static void test_router(void **state)
{
	run_capture("router-2.17.0.txt", 11);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_router),
	};
	int failed;

	proc_init(argv[0]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	proc_fini();
	return failed;
}
