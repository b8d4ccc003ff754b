#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lnetx fabric check: which paths to other nodes are well, and which are not.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
}

teardown() {
	net_end
}

# How fast a loaded machine answers is no matter here: no rail is slow. Nobody's selftest is on,
# except where bandwidths are the subject.
ANY_SPEED="slow 1000000 bandwidth off"

# check NODE STATUS [ARGUMENT...]: the result as JSON, in $output
check() {
	local name=$1 expected=$2
	shift 2

	# shellcheck disable=SC2086 # two words
	run --separate-stderr lx "$name" -j fabric check $ANY_SPEED timeout 15 "$@"
	echo "$output"
	equal "$status" "$expected"
}

rails() {
	jq -r '.fabric.rails[] | "\(.source // "any") \(.peer) \(.state)"' <<<"$output" | sort
}

@test "two rails each: every pair of NIs is a path, with its MTU; all are well" {
	net_rails
	{ nets_yaml tcp eth0 tcp2 eth1; quick_yaml; } | config a
	{ nets_yaml tcp eth0 tcp2 eth1; quick_yaml; } | config b
	start a
	start b
	check a 0 10.1.0.2@tcp count 3 --svg "$DIR/matrix.svg"
	equal "$(rails)" "10.1.0.1@tcp 10.1.0.2@tcp well
10.2.0.1@tcp2 10.2.0.2@tcp2 well"
	jq -e '.fabric | .healthy and .complete and .faults == []' <<<"$output"
	jq -e '.fabric.rails | all(.measured == 1 and .sent == 3 and .answered == 3 and .rtt_us.min > 0 and
		.rtt_us.min <= .rtt_us.median and .rtt_us.median <= .rtt_us.max)' <<<"$output"
	jq -e '.fabric.rails | all(.mtu == 1500 and .mtu_passed == 1500)' <<<"$output"
	grep -q '10.2.0.2@tcp2</text>' "$DIR/matrix.svg"
	# Now the peer is known.
	check a 0
	equal "$(rails | wc -l)" 2
	# For people.
	# shellcheck disable=SC2086 # two words
	LC_ALL=C.UTF-8 run -0 lx a fabric check $ANY_SPEED
	[[ $output == *"10.2.0.2@tcp2"*[▁▂▃▄▅▆▇█]*"healthy: 2 rails of 1 nodes"* ]]
}

@test "a rail that is cut is named, with the one that is well" {
	net_rails
	{ nets_yaml tcp eth0 tcp2 eth1; quick_yaml; } | config a
	{ nets_yaml tcp eth0 tcp2 eth1; quick_yaml; } | config b
	start a
	start b
	ctl a discover 10.1.0.2@tcp
	lossy b eth1 1
	# shellcheck disable=SC2086 # two words
	run -3 --separate-stderr lx a -j fabric check $ANY_SPEED
	echo "$output"
	equal "$(rails)" "10.1.0.1@tcp 10.1.0.2@tcp well
10.2.0.1@tcp2 10.2.0.2@tcp2 dead"
	[[ $(jq -r '.fabric.faults[].text' <<<"$output") == \
		*"10.2.0.2@tcp2 from 10.2.0.1@tcp2: "*"next: lnetx ping 10.2.0.2@tcp2 source 10.2.0.1@tcp2"*"its other rail is well" ]]
}

@test "pings that get lost, and packets too large for the way, are faults" {
	net_two
	{ nets_yaml tcp eth0; quick_yaml; } | config a
	start a
	start b
	# Larger packets than b's interface takes: what comes in is dropped there.
	on a ip link set eth0 mtu 9000
	check a 3 10.1.0.2@tcp
	equal "$(rails)" "10.1.0.1@tcp 10.1.0.2@tcp mtu"
	jq -e '.fabric.rails[0] | .mtu == 9000 and .mtu_passed == 1500' <<<"$output"
	on a ip link set eth0 mtu 1500
	check a 0 10.1.0.2@tcp
	# One of three answers, so never three in a row. Others must not be late.
	ctl a fault drop add --source '*@tcp' --dest '*@tcp' --rate 3 --message REPLY
	# shellcheck disable=SC2086 # two words
	run -3 --separate-stderr lx a -j fabric check $ANY_SPEED count 12 timeout 3
	equal "$(rails)" "10.1.0.1@tcp 10.1.0.2@tcp lossy"
	# It is no fault because of one bad moment.
	jq -e '.fabric.rails[0].measured == 2' <<<"$output"
}

@test "a bad moment is no fault: what seems to be at fault is measured again" {
	net_two
	start a
	start b
	# Each ping takes a second; one of those of the rail, after all discovery, is lost.
	pings a 10.1.0.2@tcp
	ctl a fault delay add --source '*@tcp' --dest '*@tcp' --rate 1 --latency 1 --message REPLY
	ip netns exec "${NS}a" "$LNETX_BIN/lnetx" -j fabric check slow 1000000 bandwidth off count 5 \
		timeout 4 10.1.0.2@tcp >"$DIR/out" 3>&- &
	pid=$!
	eventually "$PATIENCE" pinged_twice
	ctl a fault drop add --source '*@tcp' --dest '*@tcp' --rate 1 --message REPLY
	eventually "$PATIENCE" has_dropped
	lx a fault del all
	wait $pid
	output=$(<"$DIR/out")
	equal "$(rails)" "10.1.0.1@tcp 10.1.0.2@tcp well"
	jq -e '.fabric | .faults == [] and .rails[0].measured == 2' <<<"$output"
}

has_dropped() {
	lx a -j fault show | jq -e '[.. | objects | select(.type == "drop") | .acted_on] | add >= 1'
}

@test "nobody there: the reason and the next step" {
	net_two
	start a
	run -0 lx a fabric check
	[[ $output == *"knows no peers"* ]]
	run -3 lx a fabric check 10.1.0.2@tcp timeout 5
	[[ $output == *"fault: 10.1.0.2@tcp: "*"next: lnetx ping 10.1.0.2@tcp timeout 10"* ]]
	[[ $output == *"not healthy: 1 fault on 1 rails of 1 nodes"* ]]
	run -2 lx a fabric check 10.1.0.2@nosuch
	run -2 lx a fabric check count 101
}

@test "Ctrl-C: what was measured is reported" {
	net_two
	start a
	start b
	# Each ping takes a second, and there are a hundred.
	pings a 10.1.0.2@tcp
	ctl a fault delay add --source '*@tcp' --dest '*@tcp' --rate 1 --latency 1 --message REPLY
	ip netns exec "${NS}a" "$LNETX_BIN/lnetx" -j fabric check 10.1.0.2@tcp count 100 timeout 10 \
		>"$DIR/out" 2>"$DIR/err" 3>&- &
	pid=$!
	eventually "$PATIENCE" pinged_twice
	kill -TERM $pid
	wait $pid || status=$?
	equal "$status" 130
	jq -e '.fabric | .complete == false and .healthy == false' "$DIR/out"
}

# Discovery takes a GET or two.
pinged_twice() {
	[ "$(ctl a net show -v 2 --net tcp | awk '/sent_stats/ { s = 1 } s && /get:/ { print $2; exit }')" -ge 4 ]
}

# bats test_tags=router
@test "through a router: the far NI, by its gateway, and the gateway itself" {
	net_routed
	start_routers
	{ nets_yaml tcp1 eth0; route_yaml tcp2 10.1.0.11@tcp1; quick_yaml; } | config client
	{ nets_yaml tcp2 eth0; route_yaml tcp1 10.2.0.11@tcp2; quick_yaml; } | config server
	start client
	start server
	eventually "$PATIENCE" routes_up client
	eventually "$PATIENCE" routes_up server
	check client 0 10.2.0.1@tcp2
	equal "$(rails)" "10.1.0.1@tcp1 10.1.0.11@tcp1 well
10.1.0.1@tcp1 10.2.0.1@tcp2 well"
	equal "$(jq -rc '.fabric.rails[] | select(.peer == "10.2.0.1@tcp2").gateways' <<<"$output")" \
		'["10.1.0.11@tcp1"]'
	# The router dies: route and nodes behind it are faults.
	stop r1 KILL
	eventually "$PATIENCE" route_is_down
	check client 3 10.2.0.1@tcp2
	[[ $(jq -r '.fabric.faults[].text' <<<"$output") == *"10.1.0.11@tcp1: its route to tcp2 is down since"* ]]
	[[ $(jq -r '.fabric.faults[].text' <<<"$output") == *"10.2.0.1@tcp2: "* ]]
}

route_is_down() {
	! routes_up client
}

# bats test_tags=router
@test "through two routers: each is checked directly, not by its far NI through the other" {
	net_routed 2
	SILENCE=60 start_routers 2 # however late the first pings come
	{ nets_yaml tcp1 eth0; route_yaml tcp2 10.1.0.11@tcp1 10.1.0.12@tcp1; quick_yaml; } | config client
	{ nets_yaml tcp2 eth0; route_yaml tcp1 10.2.0.11@tcp2 10.2.0.12@tcp2; quick_yaml; } | config server
	start client
	start server
	eventually "$PATIENCE" routes_up client
	eventually "$PATIENCE" routes_up server
	check client 0 10.2.0.1@tcp2
	equal "$(rails)" "10.1.0.1@tcp1 10.1.0.11@tcp1 well
10.1.0.1@tcp1 10.1.0.12@tcp1 well
10.1.0.1@tcp1 10.2.0.1@tcp2 well"
	# A router closes the connections of a node that sends it messages for its far NI.
	run ! log_has r1 'illegal message'
	run ! log_has r2 'illegal message'
}
