#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# LNet selftest between nodes on tcp1 and tcp2, through a router: traffic, and consoles that
# vanish, are not allowed, or compete.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
# shellcheck source=tests/sys/selftest.bash
source "$BATS_TEST_DIRNAME/selftest.bash"

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

setup() {
	net_begin
	net_routed
	start_routers
	{ nets_yaml tcp1 eth0; route_yaml tcp2 10.1.0.11@tcp1; quick_yaml; } | config client
	{ nets_yaml tcp2 eth0; route_yaml tcp1 10.2.0.11@tcp2; quick_yaml; } | config server
	start client
	start server
	eventually "$PATIENCE" routes_up client
	eventually "$PATIENCE" routes_up server
}

teardown() {
	net_end
}

# measured KIND SIZES OPTION...: run from the client to the server: rates at both, no error
measured() {
	local kind=$1 sizes=$2
	shift 2

	run -0 lx client -j selftest run from $CLIENT to $SERVER "$kind" "$@" time 3s
	echo "$output"
	jq -e '.selftest | .complete and .errors == 0' <<<"$output"
	jq -e --argjson n "$sizes" '.selftest.results | length == $n and
		all(.nodes | length == 2 and all(.rpc_per_s > 0))' <<<"$output"
	eventually "$PATIENCE" all_free client server
}

# bats test_tags=router
@test "pings, reads and writes through a router; every byte is checked" {
	tests_on client server
	measured ping 1
	measured write 3 size 8,64k,1m check full
	measured read 3 size 8,64k,1m check full
	fastpath_used r1
	equal "$(stat_of r1 drop_count)" 0
}

# Until the core has given up on discovering the NID, the request's buffers are in use: much longer.
@test "a test node that is not there is reported in time" {
	local begin

	tests_on client
	ctl client set transaction_timeout 40
	begin=$SECONDS
	run ! lx client selftest run from $CLIENT to 10.2.0.99@tcp2 ping time 1s
	[[ $output == *"test node 10.2.0.99@tcp2 does not answer: Connection timed out"* ]]
	[ $((SECONDS - begin)) -le 12 ] # each request of the run has 5 s
	eventually "$PATIENCE" all_free client
	stop client KILL # it would drain that message for as long
}

@test "a console that vanishes: client and server end its session" {
	tests_on client server
	begin_test client from $CLIENT to $SERVER ping time 600s
	eventually "$PATIENCE" testing client
	in_session client server
	kill -KILL "$test_pid"
	test_ends 137 # SIGKILL
	in_session client server
	lx client selftest on consoles any session_timeout 5
	lx server selftest on consoles any session_timeout 5
	eventually "$PATIENCE" all_free client server
	log_has client 'selftest="session ends" .*no request of a console for 5 s'
	log_has server 'selftest="session ends" .*no request of a console for 5 s'
	# Both can be used again at once.
	measured write 1 size 64k
}

@test "a stranger is refused by name, however it gets there; the next step works" {
	tests_on client
	lx server selftest on consoles 10.9.9.9@tcp
	run -1 lx client selftest run from $CLIENT to $SERVER time 3s
	[[ $output == *"$SERVER does not let this node be a console; next, there: lnetx selftest on consoles $CLIENT"* ]]
	[ "$(selftest_of server refused)" -ge 1 ]
	# Nothing was begun, and what had been is undone.
	eventually "$PATIENCE" all_free client server
	lx server selftest on consoles $CLIENT
	measured write 1 size 64k
	# The other way round nobody is allowed.
	run -1 lx server selftest run from $CLIENT to $SERVER time 3s
	[[ $output == *"$SERVER does not let this node be a console"* ]]
	eventually "$PATIENCE" all_free client server
}

@test "two consoles: the second finds both nodes busy, or takes them over" {
	tests_on client server
	begin_test client from $CLIENT to $SERVER ping time 600s
	eventually "$PATIENCE" testing client
	run -1 lx server selftest run from $SERVER to $CLIENT time 3s
	[[ $output == *"$SERVER is in session \"lnetx-$test_pid\" of console $CLIENT"*"force"* ]]
	in_session client server
	testing client
	run -0 lx server -j selftest run from $SERVER to $CLIENT read size 64k force time 3s
	jq -e '.selftest | .complete and .errors == 0' <<<"$output"
	# The first one is told, and leaves nothing behind.
	test_ends 1
	eventually "$PATIENCE" all_free client server
}
