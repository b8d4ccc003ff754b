#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lnetx fabric check: the bandwidths between nodes.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

A=10.1.0.1@tcp
B=10.1.0.2@tcp
C=10.1.0.3@tcp

# Latencies do not matter here, nor what a loaded machine makes of bandwidths: only a factor of
# a hundred is a fault, unless a test makes a larger one; and a node that stalls for a second or two
# still moves something in the time. Small requests, so that a slow node has many.
QUICKLY="count 1 timeout 15 slow 1000000 time 3s size 16k"
LOW=1

setup() {
	net_begin
	node a b c
	switch lan
	plug a eth0 10.1.0.1/24 lan
	plug b eth0 10.1.0.2/24 lan
	plug c eth0 10.1.0.3/24 lan
	start a
	start b
	start c
}

teardown() {
	net_end
}

# tests_on NODE...
tests_on() {
	local name

	for name in "$@"; do
		lx "$name" selftest on consoles any
	done
}

# check STATUS [ARGUMENT...]: the result as JSON, in $output
check() {
	local expected=$1
	shift

	# shellcheck disable=SC2086 # words
	run --separate-stderr lx a -j fabric check $QUICKLY low $LOW "$@"
	echo "$output"
	equal "$status" "$expected"
}

pairs() {
	jq -r '.fabric.bandwidth.pairs[] | "\(.from) \(.to) \(.state)"' <<<"$output"
}

left_out() {
	jq -r '.fabric.bandwidth.left_out[] | "\(.nid) \(.reason)"' <<<"$output" | sort
}

in_session() {
	[ "$(lx "$1" -j selftest show | jq -r '.selftest[0].session // ""')" != "" ]
}

free_again() {
	! in_session a && ! in_session b && ! in_session c
}

# slow_down NODE: what it sends goes through a narrow place
slow_down() {
	on "$1" tc qdisc replace dev eth0 root tbf rate 1mbit burst 16k latency 200ms ||
		skip "this kernel has no sch_tbf"
}

@test "each to each is measured, drawn, and no session is left" {
	tests_on a b c
	check 0 $B $C --svg "$DIR/matrix.svg"
	equal "$(pairs)" "$A $B well
$A $C well
$B $A well
$B $C well
$C $A well
$C $B well"
	jq -e '.fabric.bandwidth | .size == 16384 and .left_out == [] and
		(.nodes | length == 3 and all(.state == "well" and .sends_bytes_per_s > 0 and
			.receives_bytes_per_s > 0)) and
		(.pairs | all(.errors == 0 and .bytes_per_s > 0))' <<<"$output"
	eventually "$PATIENCE" free_again
	# Both matrices.
	grep -q 'latency in ms' "$DIR/matrix.svg"
	grep -q 'bandwidth in MiB/s' "$DIR/matrix.svg"
	# For people; one pair is enough for it.
	# shellcheck disable=SC2086 # words
	LC_ALL=C.UTF-8 run -0 --separate-stderr lx a fabric check $QUICKLY low $LOW pairs 1
	[[ $output == *"bandwidth in MiB/s; from each node (row) to each node"*"bandwidth: 1 of 3 pairs measured"*"healthy"* ]]
	eventually "$PATIENCE" free_again
}

@test "the slow node is named" {
	tests_on a b c
	slow_down c
	# 128 KB/s: less than a tenth of what any machine does.
	LOW=10 check 3 $B $C
	[[ $(jq -r '.fabric.faults[] | select(.nid == "'$C'").text' <<<"$output") == "$C: sends "*" MiB/s at best, "*" % of the median of all nodes ("* ]]
	jq -e '.fabric.bandwidth.nodes | map(select(.state == "low").nid) | index("'$C'")' <<<"$output"
	jq -e '.fabric.bandwidth.pairs | map(select(.from == "'$C'")) | length == 2 and
		all(.state == "low")' <<<"$output"
	eventually "$PATIENCE" free_again
}

@test "nodes whose selftest is off, or that refuse, are left out; the rest is measured" {
	tests_on a b
	check 0 $B $C
	equal "$(pairs)" "$A $B well
$B $A well"
	# One request, to find out; nobody can ask first.
	equal "$(no_match c)" 1
	equal "$(left_out)" "$C its selftest does not answer"
	lx c selftest on consoles 10.9.9.9@tcp
	check 0 $B $C
	equal "$(left_out)" "$C does not let this node be a console; next, there: lnetx selftest on consoles $A"
	# No other node: there is nothing to measure, and that is no fault.
	lx a selftest off
	lx b selftest off
	run -0 --separate-stderr lx a fabric check count 1 timeout 5 slow 1000000 $B bandwidth on
	[[ $output == *"bandwidth: no selftest answers on $A, $B; next, there: lnetx selftest on consoles $A (Lustre: modprobe lnet_selftest)"*"healthy: 1 rails of 1 nodes"* ]]
	[[ $output != *"from each node"* ]]
	# No node here uses the selftest: none is asked.
	before=$(no_match b)
	check 0 $B $C
	jq -e '.fabric | has("bandwidth") | not' <<<"$output"
	equal "$(no_match b)" "$before"
	equal "$(no_match c)" 1
}

# no_match NODE: messages for which it had no service
no_match() {
	lx "$1" -j stats show | jq '[.. | .drops? // empty] | .[0].no_match // 0'
}

@test "Ctrl-C ends the session, and reports what was measured" {
	tests_on a b c
	ip netns exec "${NS}a" "$LNETX_BIN/lnetx" -j fabric check $B $C count 1 time 10s \
		>"$DIR/out" 2>"$DIR/err" 3>&- &
	pid=$!
	eventually "$PATIENCE" busy
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	equal "$status" 130
	jq -e '.fabric | .complete == false and (.rails | length) == 2' "$DIR/out"
	eventually "$PATIENCE" free_again
}

busy() {
	[ "$(for name in a b c; do lx $name -j selftest show; done |
		jq -s 'map(.selftest[0].active_units // 0) | add')" -gt 0 ]
}

survivors_free() {
	! in_session a && ! in_session b
}

@test "a node that dies in the middle is named; the others are measured" {
	tests_on a b c
	# Long enough for the others to be still at it when it dies.
	ip netns exec "${NS}a" "$LNETX_BIN/lnetx" -j fabric check count 1 timeout 5 slow 1000000 \
		low $LOW time 5s size 16k $B $C \
		>"$DIR/out" 2>"$DIR/err" 3>&- &
	pid=$!
	eventually "$PATIENCE" busy
	stop c KILL
	status=0
	wait $pid || status=$?
	equal "$status" 3
	jq -e '.fabric.faults | any(.nid == "'$C'")' "$DIR/out"
	jq -e '.fabric.bandwidth.pairs | any(.from == "'$A'" and .to == "'$B'" and .bytes_per_s > 0)' "$DIR/out"
	eventually "$PATIENCE" survivors_free
}
