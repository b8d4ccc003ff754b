#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The neighbours of a failing node: a client sends small messages to a server that goes
# silent, and pings another one on the same connection. How long exactly they wait measures
# tools/bench/isolation; here, that nothing is lost, and nobody waits for long. See events.bash.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/events.bash
source "$BATS_TEST_DIRNAME/events.bash"
GIVE_UP=20

HEALTHY=10.2.0.2@tcp2
# Seconds; 0.13 measured, on an idle machine.
PAUSE=5
# The router's words about the silent server, and its tunables.
SAYS='has not acknowledged anything in time'
TUNABLES=

# silence: the server falls silent. If nothing was under way at that moment, tries again.
silence() {
	local before

	for _ in 1 2 3 4 5 6 7 8; do
		# A busy server may have been late before.
		before=$(grep -cE "next_hop=10.2.0.1@tcp2 .*$SAYS" "$DIR/r1.log") || :
		ip -n "${NS}lan2" link set p-server nomaster
		[ "$LNETX_BPF" = on ] || return 0
		eventually 1 log_has r1 "next_hop=10.2.0.1@tcp2 .*$SAYS" $((before + 1)) && return
		returns
		goes_on
	done
	return 1
}

# begins: the client sends to both servers, and one has gone silent
begins() {
	sends
	silence
}

# loads_give_up: the loads that follow do so after $GIVE_UP seconds, which the test may have set
loads_give_up() {
	QUICK="$QUICK --set lnet.lnet_transaction_timeout=$GIVE_UP --set tcp.sock_timeout=$GIVE_UP"
}

# two_servers [TUNABLE: VALUE [LANES]]: another server beside the silent one
two_servers() {
	links_change
	routed "$@"
	loads_give_up
	node healthy
	plug healthy eth0 10.2.0.2/24 lan2
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	load_server healthy $HEALTHY -r tcp1=10.2.0.11@tcp2
}

# by_lanes: messages flow, and by lanes
by_lanes() {
	eventually "$PATIENCE" routed_by r1 500
	eventually "$PATIENCE" fastpath_used r1
}

# sends: the client sends to both servers
sends() {
	two_servers "$TUNABLES"
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 512 --inflight 32 \
		--ping $HEALTHY -t 300
	by_lanes
}

returns() {
	ip -n "${NS}lan2" link set p-server master br0
}

# others_noticed_nothing: the client's pings to the healthy server were answered, and soon
others_noticed_nothing() {
	jq -e ".pings_failed == 0 and .pings > 20 and .ping_max_us < $PAUSE * 1e6" "$DIR/client.json" ||
		{ cat "$DIR/client.json"; return 1; }
}

no_lane_is_stored() {
	lx r1 -j lane show | jq -e '[.lane[]? | select(.state == "stored")] == []'
}

# bats test_tags=router
@test "a server falls silent and comes back: its client's other messages go on, nothing is lost" {
	begins
	sleep 3
	# With enough of its messages under way, lnetxd has got some of them.
	[ "$LNETX_BPF" = off ] ||
		lx r1 -j lane show | jq -e '[.lane[].stores] | add > 0'
	returns
	goes_on
	end_load client
	all_arrived "$DIR/client.json"
	others_noticed_nothing
	eventually "$PATIENCE" no_lane_is_stored
}

@test "... and the fast path is switched off meanwhile" {
	begins
	lx r1 bpf off
	sleep 3
	returns
	goes_on
	end_load client
	all_arrived "$DIR/client.json"
	others_noticed_nothing
	[ "$LNETX_BPF" = off ] || eventually "$PATIENCE" no_lane_is_stored
}

@test "a server falls silent for good: what was stored is counted as lost, others go on" {
	GIVE_UP=6
	begins
	begin_load other 10.1.0.5@tcp1 put $HEALTHY -r tcp2=10.1.0.11@tcp1 -s 64k -t 8
	eventually $BOUND no_conn 10.2.0.1
	[ "$LNETX_BPF" = off ] || log_has r1 'nid=10.1.0.1@tcp1 next_hop=10.2.0.1@tcp2 messages='
	end_load other
	all_arrived "$DIR/other.json"
	jq -e ".max_us < $PAUSE * 1e6" "$DIR/other.json"
	end_load client || true # it has lost messages
}

# a_lane_is_stuck: the tools name it
a_lane_is_stuck() {
	lx r1 -j lane show | jq -e 'any(.lane[]; .state == "stuck" and .next_hop == "10.2.0.1@tcp2")' &&
		lx r1 doctor | grep -F '10.2.0.1@tcp2: one of its lanes gets nowhere'
}

@test "a server answers, but takes nothing: its lane is named, counted and closed" {
	# The router is told wrongly what the server expects, where its reset ought to be.
	DROPS_EXPECTED+=('TCP_OVERWINDOW at tcp_v4_rcv')
	sends
	ingress_program lan2 p-server freeze
	eventually $BOUND a_lane_is_stuck
	eventually $BOUND log_has r1 'peer=12345-10.2.0.1@tcp2 .*but with nothing that helps'
	lx r1 -j bpf status | jq -e '.bpf.stuck > 0'
	kill -KILL "${load_pid[client]}" # it waits for lost messages
	unset 'load_pid[client]'
}

@test "... and there is no memory to store what is under way: its clients wait, nothing is lost" {
	TUNABLES='fastpath_store: 0' SAYS='there is no memory to store that'
	begins
	sleep 1
	returns
	goes_on
	end_load client
	all_arrived "$DIR/client.json"
	[ "$LNETX_BPF" = off ] || lx r1 -j lane show | jq -e '[.lane[].stores] | add == 0'
}

# fell_silent PORT: a switch port, as LAN/NAME, is dead for two seconds
fell_silent() {
	ip -n "${NS}${1%/*}" link set "${1#*/}" nomaster
	sleep 2
	ip -n "${NS}${1%/*}" link set "${1#*/}" master br0
}

# stalls PORT...: each of them is dead for two seconds, and messages go on
stalls() {
	local port

	for port in "$@"; do
		fell_silent "$port"
		goes_on
	done
}

@test "a client's port and a server's are dead for 2 s while all use each other: nobody is closed" {
	local before name

	GIVE_UP=30
	two_servers "" 2
	for name in client:1 other:5; do
		begin_load "${name%:*}" "10.1.0.${name#*:}@tcp1" put $SERVER $HEALTHY \
			-r tcp2=10.1.0.11@tcp1 --mix -t 300
	done
	by_lanes
	before=$(conns r1)
	stalls lan1/p-client lan2/p-server
	equal "$(conns r1)" "$before"
	lx r1 -j stream show | jq -e 'all(.stream[]; .why != "unsafe")'
	for name in client other; do
		end_load $name
		all_arrived "$DIR/$name.json"
	done
}

# bats test_tags=router
@test "three clients stop reading: what their server sends to another goes on" {
	two_servers
	address other eth0 10.1.0.6/24 10.1.0.7/24
	# Else their kernel takes all of it.
	on other sysctl -qw net.ipv4.tcp_rmem='4096 16384 65536'
	begin_load other '10.1.0.[5-7]@tcp1' get $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m --inflight 16 -t 300
	begin_load client $CLIENT get $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k -t 300
	by_lanes
	kill -STOP "${load_pid[other]}"
	# Beyond the second in which its messages may wait behind theirs
	for _ in 1 2 3; do
		sleep 1
		goes_on
	done
	end_load client
	all_arrived "$DIR/client.json"
	jq -e ".max_us < $PAUSE * 1e6" "$DIR/client.json" || { cat "$DIR/client.json"; return 1; }
	kill -KILL "${load_pid[other]}" # the router has given up some of its messages
	unset 'load_pid[other]'
}

# bats test_tags=router
@test "a client on a slow line: what its server sends to another does not wait behind its messages" {
	two_servers
	on lan1 tc qdisc add dev p-other root tbf rate 100mbit burst 64k latency 200ms ||
		skip "this kernel has no sch_tbf"
	begin_load other 10.1.0.5@tcp1 get $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m --inflight 4 -t 300
	eventually "$PATIENCE" routed_by r1 50
	[ "$LNETX_BPF" = off ] ||
		eventually "$PATIENCE" log_has r1 'next_hop=10.1.0.5@tcp1 reason="it takes no more than'
	begin_load client $CLIENT get $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k --inflight 1 -w 1 -t 3
	eventually "$PATIENCE" gone "${load_pid[client]}"
	end_load client
	all_arrived "$DIR/client.json"
	# A message for the other takes 84 ms.
	jq -e ".mean_us < 40000" "$DIR/client.json" || { cat "$DIR/client.json"; return 1; }
	end_load other
	all_arrived "$DIR/other.json"
}

# client, other ── r1 ── r2 ── server, healthy; all use each other. "gone" is one more client.
two_in_a_row() {
	local name

	links_change
	node client other gone r1 r2 server healthy
	for name in lan1 lan2 lan3; do
		switch $name
	done
	plug client eth0 10.1.0.1/24 lan1
	plug other eth0 10.1.0.5/24 lan1
	plug gone eth0 10.1.0.6/24 lan1
	plug r1 eth0 10.1.0.11/24 lan1
	plug r1 eth1 10.2.0.11/24 lan2
	plug r2 eth0 10.2.0.12/24 lan2
	plug r2 eth1 10.3.0.12/24 lan3
	plug server eth0 10.3.0.1/24 lan3
	plug healthy eth0 10.3.0.2/24 lan3
	gateway r1 tcp1 eth0 tcp2 eth1 tcp3 10.2.0.12@tcp2
	gateway r2 tcp2 eth0 tcp3 eth1 tcp1 10.2.0.11@tcp2
	QUICK="$QUICK --set tcp.conns_per_peer=4"
	loads_give_up
	load_server server 10.3.0.1@tcp3 -r tcp1=10.3.0.12@tcp3
	load_server healthy 10.3.0.2@tcp3 -r tcp1=10.3.0.12@tcp3
	for name in client:1 other:5 gone:6; do
		begin_load "${name%:*}" "10.1.0.${name#*:}@tcp1" put 10.3.0.1@tcp3 10.3.0.2@tcp3 \
			-r tcp3=10.1.0.11@tcp1 --mix -t 300
	done
	by_lanes
	eventually "$PATIENCE" fastpath_used r2
}

# others_are_kept NODE CONNECTIONS: it has those, but for those with "gone", and blames nobody else
others_are_kept() {
	equal "$(conns "$1" | grep -vF ' 10.1.0.6:')" "$(grep -vF ' 10.1.0.6:' <<<"$2")"
	lx "$1" -j stream show |
		jq -e 'all(.stream[]?; .why != "unsafe" or (.remote | startswith("10.1.0.6:")))'
}

@test "two routers in a row: ports are dead for 2 s, and a client is gone; only that one is closed" {
	local before1 before2 name

	GIVE_UP=30
	two_in_a_row
	before1=$(conns r1) before2=$(conns r2)
	stalls lan1/p-client lan3/p-server
	equal "$(conns r1)" "$before1"
	ip -n "${NS}lan1" link set p-gone nomaster
	kill -KILL "${load_pid[gone]}"
	unset 'load_pid[gone]'
	goes_on
	eventually $((GIVE_UP + BOUND)) no_conn 10.1.0.6
	goes_on
	others_are_kept r1 "$before1"
	others_are_kept r2 "$before2"
	for name in client other; do
		end_load $name
		all_arrived "$DIR/$name.json"
	done
}
