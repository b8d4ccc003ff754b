# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Nodes as test nodes of LNet selftest, for system tests; after lib.bash.

# tests_on NODE...: let everybody be a console of these nodes
tests_on() {
	local name

	for name in "$@"; do
		lx "$name" selftest on consoles any
	done
}

# selftest_of NODE FIELD: what "lnetx selftest show" says; nothing if it does not
selftest_of() {
	lx "$1" -j selftest show | jq -r ".selftest[0].$2 // empty"
}

# in_session NODE...: all of them are in one
in_session() {
	local name

	for name in "$@"; do
		[ "$(selftest_of "$name" session)" ] || return 1
	done
}

# all_free NODE...: none of them is in a session
all_free() {
	local name

	for name in "$@"; do
		[ ! "$(selftest_of "$name" session)" ] || return 1
	done
}

# testing NODE: it generates traffic
testing() {
	[ "$(lx "$1" -j selftest show | jq '.selftest[0].active_units // 0')" -gt 0 ]
}

# begin_test NODE OPTION...: lnetx selftest run in the background, in $test_pid; its output is
# $DIR/test.out and $DIR/test.err
begin_test() {
	local name=$1
	shift

	# The process itself, without a shell around it, to receive signals.
	ip netns exec "$NS$name" "$LNETX_BIN/lnetx" -j selftest run "$@" \
		>"$DIR/test.out" 2>"$DIR/test.err" 3>&- &
	test_pid=$!
}

# test_ends STATUS: wait for the test; it ends with that exit status. Not with run: only the shell
# that began it can wait for it.
test_ends() {
	local status=0

	wait "$test_pid" || status=$?
	cat "$DIR/test.out" "$DIR/test.err"
	equal "$status" "$1"
}
