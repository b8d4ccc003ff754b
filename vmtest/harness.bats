#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The harness itself: what hangs, panics, resets, warns or lies never passes. Runs on the
# machine that runs vmtest/run, as part of make vmtest.

setup_file() {
	cd "$BATS_TEST_DIRNAME/.." || return 1
	export KERNEL=${KERNEL:-$(vmtest/kernel -l | head -n 1)}
	vmtest/run -k "$KERNEL" --suites vmtest/harness/suites --skips vmtest/harness/skips \
		>"$BATS_FILE_TMPDIR/out" || true
	export OUT=$BATS_FILE_TMPDIR/out
}

setup() {
	cat "$OUT"
}

@test "a suite whose tests pass has passed" {
	grep '^ok  .* good: 1 passed, 1 skipped' "$OUT"
}

@test "a suite that fails passes if a second run, in a fresh machine, does; the table says so" {
	grep '^FAILED .* late: exit status 1' "$OUT"
	grep '^ok  .* late: 1 passed, 0 skipped, .*, second run$' "$OUT"
	grep '^late  *ok 1, second run$' "$OUT"
	[ "$(grep -c '^FAILED .* failing:' "$OUT")" = 2 ]
	grep 'failing.second.failed' "$OUT"
}

@test "what a kernel complains of gets no second run" {
	[ "$(grep -c '^FAILED .* warning:' "$OUT")" = 1 ]
	[ "$(grep -c '^FAILED .* panic:' "$OUT")" = 1 ]
}

@test "a suite that does not end has failed" {
	grep '^FAILED .* hang: no end within' "$OUT"
}

@test "tests that fail, an exit status, missing tests, an unlisted skip: failed" {
	grep '^FAILED .* failing: 1 failed' "$OUT"
	grep '^FAILED .* status: exit status 3' "$OUT"
	grep '^FAILED .* short: 2 tests planned, 1 seen' "$OUT"
	grep '^FAILED .* skipping: skipped, and not listed' "$OUT"
}

@test "without the token nobody can end a suite" {
	grep '^FAILED .* forged: exit status 1' "$OUT"
}

@test "BPF programs that the kernel rejects fail the suite that loads them" {
	grep '^FAILED .* broken: skipped, and not listed' "$OUT"
	grep 'the kernel refused it' "$OUT"
}

@test "a kernel warning fails the suite during which it appears" {
	grep '^FAILED .* warning: kernel of machine 1: .*on purpose' "$OUT"
}

@test "a panic fails, and so does a reset" {
	grep -E '^FAILED .* panic: kernel of machine 1: .*(panic|crash)' "$OUT"
	grep '^FAILED .* reset: the machine went away' "$OUT"
}

@test "the table says which version of the kernel that was" {
	grep -E "^$KERNEL: $KERNEL\.[^ ]+ #1 SMP .*Debian" "$OUT"
}

@test "the last line has the result" {
	[ "$(tail -1 "$OUT")" = "2 passed, 10 failed" ]
}
