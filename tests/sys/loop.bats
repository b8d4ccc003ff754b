#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Routers whose routes lead back to each other. LNet's header has no hop limit, so messages
# would circle forever.
# bats file_tags=router
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_routed 2
	start_routers 2
}

teardown() {
	net_end
}

# send N: send messages to an unreachable net, through r1
send() {
	on client tests/sys/trains.py send 10.1.0.1 10.1.0.11 10.9.0.1 --to-net 9 \
		--max 4096 --count "$1" 3>&-
}

drops_of() {
	lx "$1" -s -j stats show | jq ".statistics.drops.$2 // 0"
}

drops() {
	[ "$(drops_of "$1" "$2")" -ge "$3" ]
}

# forwarded NODE AT_MOST: check how many messages it forwarded
forwarded() {
	local n

	n=$(stat_of "$1" route_count)
	echo "# $1 has forwarded $n messages"
	[ "$n" -le "$2" ]
}

# sent_back NODE: messages that its fast path refused to send back
sent_back() {
	lx "$1" -j stream show | jq '[.stream[].lane0.loop // 0] | add'
}

@test "a route via one of our own NIDs is refused" {
	run -1 lx r1 route add net tcp9 via 10.1.0.11@tcp1
	[[ $output == *"this node's own"* ]]
	run -234 ctl r1 route add --net tcp9 --gateway 10.2.0.11@tcp2
	[[ $output == *"errno: -40"* ]]
	equal "$(lx r1 -j route show net tcp9 | jq '.route | length')" 0
}

@test "two routers that point at each other: the second one drops it" {
	lx r1 route add net tcp9 via 10.1.0.12@tcp1
	lx r2 route add net tcp9 via 10.1.0.11@tcp1
	send 1000
	eventually "$PATIENCE" drops r2 loop 1000
	equal "$(drops_of r1 loop)" 0
	forwarded r1 1010
	forwarded r2 10
	equal "$(grep -c 'reason="it would go back' "$DIR/r2.log")" 1
	grep 'net=tcp9 .* from=10.1.0.11@tcp1 next_hop=10.1.0.11@tcp1' "$DIR/r2.log"
}

@test "a router gets back what it sent, by another NID of the next hop: it drops it" {
	local sent=0

	# r2 takes r1's NIDs for two peers; r1 recognizes them.
	stop r2
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; quick_yaml
		echo 'global: { discovery: 0 }'; route_yaml tcp9 10.2.0.11@tcp2; } | config r2
	start r2
	ctl r1 peer add --prim_nid 10.1.0.12@tcp1 --nid 10.2.0.12@tcp2
	lx r1 route add net tcp9 via 10.1.0.12@tcp1
	eventually "$PATIENCE" routes_up r1
	# Until the fast path has taken the stream up, the daemon drops them.
	for _ in 1 2 3 4 5; do
		send 5000
		sent=$((sent + 5000))
		eventually "$PATIENCE" drops r1 loop $sent
		[ "$LNETX_BPF" = on ] && [ "$(sent_back r1)" -le 1000 ] || break
	done
	forwarded r1 $((sent + 10))
	equal "$(grep -c 'reason="it would go back' "$DIR/r1.log")" 1
	[ "$LNETX_BPF" = off ] || [ "$(sent_back r1)" -gt 1000 ]
}

# comes_to_rest NODE: it forwards nothing any more
comes_to_rest() {
	local n

	n=$(stat_of "$1" route_count)
	sleep 2
	[ "$(stat_of "$1" route_count)" = "$n" ]
}

@test "a longer circle is found, logged and counted" {
	# Neither knows that the other's NIDs are one peer's: as if there were a third router.
	for r in r1 r2; do
		stop $r
	done
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; quick_yaml
		echo 'global: { discovery: 0 }'; route_yaml tcp9 10.1.0.12@tcp1; } | config r1
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; quick_yaml
		echo 'global: { discovery: 0 }'; route_yaml tcp9 10.2.0.11@tcp2; } | config r2
	start r1
	start r2
	eventually "$PATIENCE" routes_up r1
	eventually "$PATIENCE" routes_up r2
	send 3
	eventually "$PATIENCE" grep 'net=tcp9 dst=10.9.0.1@tcp9 .* in a circle' "$DIR/r1.log"
	equal "$(grep -c 'in a circle' "$DIR/r1.log")" 1
	grep 'first_from=10.1.0.1@tcp1 again_from=10.2.0.12@tcp2 next_hop=10.1.0.12@tcp1' "$DIR/r1.log"
	[ "$(lx r1 -s -j stats show | jq .statistics.loops)" -ge 1 ]
	# It ends with the route. On the fast path each lap is acknowledged after the next one, so the
	# lanes may have filled up before; then they are closed, and all laps are lost.
	lx r2 route del net tcp9 via 10.2.0.11@tcp2
	eventually "$PATIENCE" comes_to_rest r1
}
