#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lnetx selftest run: a console that makes a session, measures, and cleans up.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
# shellcheck source=tests/sys/selftest.bash
source "$BATS_TEST_DIRNAME/selftest.bash"

A=10.1.0.1@tcp
B=10.1.0.2@tcp

setup() {
	net_begin
	net_two
	start a
	start b
}

teardown() {
	net_end
}

@test "each kind of test in each direction, from the node itself: rates, no errors, no session left" {
	tests_on a b
	run -0 lx a -j selftest run --from $A --to $B --size 4k,1m --write --time 3s
	echo "$output"
	jq -e '.selftest | .complete and .errors == 0 and (.results | length) == 2' <<<"$output"
	jq -e '.selftest.results | all(.test == "write" and .seconds > 0)' <<<"$output"
	jq -e '.selftest.results[1] | .size == 1048576 and .nodes[0].role == "client" and
		.nodes[0].rpc_per_s > 0 and .nodes[0].mean_ms > 0 and
		.nodes[1].role == "server" and .nodes[1].rpc_per_s > 0' <<<"$output"
	eventually "$PATIENCE" all_free a b
	run -0 lx a -j selftest run from $B to $A size 64k read check full time 3s
	jq -e '.selftest.results[0] | .test == "read" and .nodes[0].nid == "'$B'" and
		.nodes[0].rpc_per_s > 0' <<<"$output"
	run -0 lx a selftest run from $A to $B ping time 3s
	[[ $output == *"ping, "*"$A"*"client"*"$B"*"server"* ]]
	eventually "$PATIENCE" all_free a b
}

@test "refusals name the node, the reason and the next step" {
	lx b selftest on consoles any
	run -1 lx a selftest run from $A to $B time 3s
	[[ $output == *"test node $A does not answer"*"lnetx selftest on"* ]]
	eventually "$PATIENCE" all_free a b
	lx a selftest on consoles 10.9.9.9@tcp
	run -1 lx a selftest run from $A to $B time 3s
	[[ $output == *"$A does not let this node be a console; next, there: lnetx selftest on consoles $A"* ]]
	tests_on a b
	# In the session of somebody else.
	begin_test b from $A to $B ping time 600s
	eventually "$PATIENCE" in_session b
	run -1 lx a selftest run from $A to $B time 3s
	[[ $output == *"is in session \"lnetx-"*"of console $B"*"force"* ]]
	in_session b
	run -0 lx a selftest run from $A to $B time 3s force
	eventually "$PATIENCE" all_free a b
	test_ends 1
	run -2 lx a selftest run to $B
	run -2 lx a selftest run from $A to $A
	run -2 lx a selftest run from $A to $B size 3
	run -2 lx a selftest run from $A to $B read write
	run -2 lx a selftest run from $A to $B time x
}

@test "Ctrl-C ends the session, and reports what was measured" {
	tests_on a b
	begin_test a from $A to $B time 600s
	eventually "$PATIENCE" testing a
	kill -TERM "$test_pid"
	test_ends 130
	jq -e '.selftest.complete == false' "$DIR/test.out"
	eventually "$PATIENCE" all_free a b
}
