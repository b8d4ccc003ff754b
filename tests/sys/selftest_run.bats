#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lnetx selftest run: a console that makes a session, measures, and cleans up.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

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

tests_on() {
	lx a selftest on consoles any
	lx b selftest on consoles any
}

# in_session NODE: whether a console has it
in_session() {
	[ "$(lx "$1" -j selftest show | jq -r '.selftest[0].session // ""')" != "" ]
}

free_again() {
	! in_session a
	! in_session b
}

@test "each kind of test in each direction, from the node itself: rates, no errors, no session left" {
	tests_on
	run -0 lx a -j selftest run --from $A --to $B --size 4k,1m --write --time 1s
	echo "$output"
	jq -e '.selftest | .complete and .errors == 0 and (.results | length) == 2' <<<"$output"
	jq -e '.selftest.results | all(.test == "write" and .seconds > 0)' <<<"$output"
	jq -e '.selftest.results[1] | .size == 1048576 and .nodes[0].role == "client" and
		.nodes[0].rpc_per_s > 0 and .nodes[0].mean_ms > 0 and
		.nodes[1].role == "server" and .nodes[1].rpc_per_s > 0' <<<"$output"
	free_again
	run -0 lx a -j selftest run from $B to $A size 64k read check full time 1s
	jq -e '.selftest.results[0] | .test == "read" and .nodes[0].nid == "'$B'" and
		.nodes[0].rpc_per_s > 0' <<<"$output"
	run -0 lx a selftest run from $A to $B ping time 1s
	[[ $output == *"ping, "*"$A"*"client"*"$B"*"server"* ]]
	free_again
}

@test "refusals name the node, the reason and the next step" {
	lx b selftest on consoles any
	run -1 lx a selftest run from $A to $B time 1s
	[[ $output == *"test node $A does not answer"*"lnetx selftest on"* ]]
	free_again
	lx a selftest on consoles 10.9.9.9@tcp
	run -1 lx a selftest run from $A to $B time 1s
	[[ $output == *"$A does not let this node be a console; next, there: lnetx selftest on consoles $A"* ]]
	tests_on
	# In the session of somebody else.
	lx b -j selftest run from $A to $B time 60s >"$DIR/other" 2>&1 &
	other=$!
	eventually "$PATIENCE" in_session b
	run -1 lx a selftest run from $A to $B time 1s
	[[ $output == *"is in session \"lnetx-"*"of console $B"*"force"* ]]
	in_session b
	run -0 lx a selftest run from $A to $B time 1s force
	free_again
	status=0
	wait $other || status=$?
	equal "$status" 1
	run -2 lx a selftest run to $B
	run -2 lx a selftest run from $A to $A
	run -2 lx a selftest run from $A to $B size 3
	run -2 lx a selftest run from $A to $B read write
	run -2 lx a selftest run from $A to $B time x
}

@test "Ctrl-C ends the session, and reports what was measured" {
	tests_on
	ip netns exec "$(ns a)" "$LNETX_BIN/lnetx" -j selftest run from $A to $B time 600s \
		>"$DIR/out" 2>"$DIR/err" 3>&- &
	pid=$!
	eventually "$PATIENCE" busy
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	equal "$status" 130
	jq -e '.selftest.complete == false' "$DIR/out"
	free_again
}

busy() {
	[ "$(lx a -j selftest show | jq '.selftest[0].active_units // 0')" -gt 0 ]
}
