#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A client on tcp1, a server on tcp2, and a router between them.
# bats file_tags=router
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

setup() {
	net_begin
	net_routed
	start_routers
}

teardown() {
	net_end
}

# The ends as daemons; traffic uses nodes of its own.
start_ends() {
	{ nets_yaml tcp1 eth0; route_yaml tcp2 10.1.0.11@tcp1; quick_yaml; } | config client
	{ nets_yaml tcp2 eth0; route_yaml tcp1 10.2.0.11@tcp2; quick_yaml; } | config server
	start client
	start server
	eventually "$PATIENCE" routes_up client
	eventually "$PATIENCE" routes_up server
}

pool() {
	ctl r1 routing show | awk -v pool="$1:" -v field="$2:" '
		$1 == pool { inside = 1 }
		inside && $1 == field { print $2; exit }'
}

@test "ping and discovery across a router, both ways" {
	start_ends
	pings client $SERVER
	pings server $CLIENT
	run -0 ctl client discover $SERVER
	[[ $output == *"primary nid: $SERVER"* ]]
	[[ $output == *"Multi-Rail: true"* ]]
	eventually "$PATIENCE" knows server $CLIENT
	[ "$(stat_of r1 route_count)" -ge 4 ]
	[ "$(stat_of r1 route_length)" -gt 0 ]
}

knows() {
	ctl "$1" peer show --nid "$2" | grep -q 'Multi-Rail: true'
}

@test "the route is up, one hop, and its gateway a watched peer" {
	start_ends
	# Single-hop is known once discovery has found the gateway's NI on tcp2.
	eventually "$PATIENCE" route_is single-hop
	run -0 ctl client route show --verbose
	[[ $output == *"net: tcp2"*"gateway: 10.1.0.11@tcp1"*"state: up"* ]]
	eventually "$PATIENCE" gateway_is_up
}

route_is() {
	ctl client route show --verbose | grep -q "type: $1"
}

gateway_is_up() {
	ctl client peer show --nid 10.1.0.11@tcp1 | grep -q "state: up"
}

@test "bulk across a router, both ways, in all sizes; then its buffers are free again" {
	local size class

	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	for size in 0 1 4k 4097 65536 1m; do
		load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s $size -N 200 \
			>"$DIR/put.json"
		all_arrived "$DIR/put.json"
		load client $CLIENT get $SERVER -r tcp2=10.1.0.11@tcp1 -s $size -N 200 \
			>"$DIR/get.json"
		all_arrived "$DIR/get.json"
	done
	[ "$(pool large mincredits)" -lt "$(pool large nbuffers)" ]
	for class in tiny small large; do
		equal "$(pool $class credits)" "$(pool $class nbuffers)"
	done
	equal "$(stat_of r1 drop_count)" 0
	fastpath_used r1
}

@test "several clients at a time through few buffers: queued, not lost" {
	ctl r1 set large_buffers 4
	ctl r1 set small_buffers 8
	ip -n "${NS}client" addr add 10.1.0.2/24 dev eth0
	ip -n "${NS}client" addr add 10.1.0.3/24 dev eth0
	ip -n "${NS}client" addr add 10.1.0.4/24 dev eth0
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	# By lanes, messages need no buffers.
	[ "$LNETX_BPF" = off ] || lx r1 bpf off
	# How many are in lnetxd at once is up to the machine.
	for _ in 1 2 3 4 5; do
		load client "10.1.0.[1-4]@tcp1" put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -N 50 \
			>"$DIR/put.json"
		all_arrived "$DIR/put.json"
		equal "$(jq .clients "$DIR/put.json")" 4
		[ "$(pool large mincredits)" -ge 0 ] || break
	done
	# The minimum was below zero: messages waited for a buffer, and none was dropped.
	[ "$(pool large mincredits)" -lt 0 ]
	equal "$(pool large credits)" 4
	equal "$(stat_of r1 drop_count)" 0
}

@test "a node that does not route drops messages for others, and says why" {
	start_ends
	ctl r1 set routing 0
	# It keeps routing for a while: others must learn of it first.
	eventually "$PATIENCE" routing_is off
	run -255 ctl client ping --timeout 2 $SERVER
	# The client has learnt that this is no longer a router.
	eventually "$PATIENCE" route_down
	run -1 lx client ping $SERVER
	[[ $output == *"no route to tcp2 is up: 10.1.0.11@tcp1: its gateway does not route"* ]]
	# Messages sent all the same are dropped.
	ip -n "${NS}client" addr add 10.1.0.50/24 dev eth0
	on client tests/sys/peer.py --net 1 stray 10.1.0.50 10.1.0.11 10.2.0.1
	eventually "$PATIENCE" dropped routing_disabled
	ctl r1 set routing 1
	ctl r1 routing show | grep -q "enable: 1"
	eventually "$PATIENCE" routing_is on
	eventually "$PATIENCE" pings client $SERVER
}

# Whatever a stranger writes into the header of a message, no connection of others ends.
@test "a stranger's message ends nobody's connections" {
	local args

	start_ends
	pings client $SERVER
	pings server $CLIENT
	conns r1 >"$DIR/before"
	ip -n "${NS}client" addr add 10.1.0.50/24 dev eth0
	for args in "--pid 1000" "--pid 2147483655" "--name 10.1.0.11" "--name 10.1.0.1"; do
		# shellcheck disable=SC2086 # two words
		on client tests/sys/peer.py --net 1 stray 10.1.0.50 10.1.0.11 10.2.0.1 $args
		pings client $SERVER
		pings server $CLIENT
	done
	eventually "$PATIENCE" dropped own_nid
	conns r1 >"$DIR/after"
	equal "$(comm -23 "$DIR/before" "$DIR/after")" ""
}

# Messages to nodes that are not there keep what they take until the router gives up on these.
@test "an address that claims many NIDs, and sends to nobody, leaves the rest to others" {
	local flood

	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	ip -n "${NS}client" addr add 10.1.0.50/24 dev eth0
	ip -n "${NS}r1" route add 10.2.0.0/16 dev eth1
	# The process itself, to be killed.
	ip netns exec "${NS}client" tests/sys/peer.py --net 1 flood 10.1.0.50 10.1.0.11 10.2.64.1 300 \
		--nobody 8192 >"$DIR/flood" 2>&1 3>&- &
	flood=$!
	eventually "$PATIENCE" grep '^ready' "$DIR/flood"
	eventually "$PATIENCE" log_has r1 'address=10.1.0.50@tcp .*reason="it has its share'
	load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -N 100 >"$DIR/put.json"
	all_arrived "$DIR/put.json"
	kill "$flood"
	# Half of the buffers, less what the others have.
	[ "$(pool large mincredits)" -gt 50 ]
	[ "$(pool large mincredits)" -le 128 ]
	eventually "$PATIENCE" all_free large
}

# all_free CLASS: no message has a buffer of this pool
all_free() {
	[ "$(pool "$1" credits)" = "$(pool "$1" nbuffers)" ]
}

routing_is() {
	lx r1 routing show | grep -qx "routing $1"
}

route_down() {
	ctl client route show --verbose | grep -q "state: down"
}

# dropped REASON: true if the router dropped something for it
dropped() {
	[ "$(lx r1 -j stats show | jq ".statistics.drops.$1 // 0")" -ge 1 ]
}

@test "a ping that times out asks the gateway" {
	start_ends
	lx client tunable set lnet router_ping_timeout 50
	run -1 lx client ping 10.2.0.77@tcp2
	[[ $output == *"its gateway 10.1.0.11@tcp1 answers in "*" ms: look beyond it"* ]]
	run -1 lx client -j ping 10.2.0.77@tcp2
	jq -e '.ping[0].gateways[0] | .nid == "10.1.0.11@tcp1" and .rtt_us > 0' <<<"$output"
	kill -STOP "${daemon_pid[r1]}"
	run -1 lx client ping $SERVER
	kill -CONT "${daemon_pid[r1]}"
	[[ $output == *"its gateway 10.1.0.11@tcp1 does not answer either: look there first"* ]]
}

# The fields of a line are apart by two spaces or more.
@test "a trace asks the gateway and the target, and says where knowledge ends" {
	start_ends
	eventually "$PATIENCE" far_side_is 'up when its gateway was checked last'
	run -0 lx client ping $SERVER trace
	[[ ${lines[0]} =~ ^10.1.0.11@tcp1\ +gateway\ +[0-9.]+\ ms$ ]]
	[[ ${lines[1]} =~ ^10.2.0.11@tcp2\ +far\ side\ +up\  ]]
	[[ ${lines[2]} =~ ^10.2.0.1@tcp2\ +target\ +[0-9.]+\ ms$ ]]
	[[ ${lines[3]} == *"there is no further one" ]]
	[ ${#lines[@]} = 4 ]
	# A neighbour.
	run -0 lx r1 ping $SERVER trace
	[[ $output =~ ^10.2.0.1@tcp2\ +target\ +[0-9.]+\ ms$ ]]
	# Nobody there.
	run -1 lx client ping 10.2.0.77@tcp2 trace
	[[ ${lines[0]} =~ \ ms$ && ${lines[2]} =~ ^10.2.0.77@tcp2\ +target\ +no\ answer$ ]]
	run -1 lx client -j ping 10.2.0.77@tcp2 trace
	jq -e '.error.errno == -110 and (.ping[0] | .nid == "10.2.0.77@tcp2" and .error.errno == -110 and
		(.trace | map(.role) == ["gateway", "far side", "target"] and .[0].rtt_us > 0 and
		.[1].state == "up" and .[2].error.errno == -110))' <<<"$output"
	# Behind another router, which this node does not know.
	lx client route add net tcp3 via 10.1.0.11@tcp1 hop 2
	run -1 lx client ping 10.3.0.1@tcp3 trace timeout 1
	[[ ${lines[0]} == 10.1.0.11@tcp1* && ${lines[1]} == 10.2.0.11@tcp2* && ${lines[2]} == 10.3.0.1@tcp3* ]]
	[[ ${lines[3]} == *"others may follow"*"next hop" ]]
	# A gateway that hangs, whose programs may go on, and one with a far side that is down.
	kill -STOP "${daemon_pid[r1]}"
	run lx client ping $SERVER trace
	kill -CONT "${daemon_pid[r1]}"
	[[ ${lines[0]} =~ ^10.1.0.11@tcp1\ +gateway.*\ no\ answer$ ]]
	DROPS_EXPECTED+=('NO_TX_TARGET at br_handle_frame_finish') # the bridge has nobody to send to
	ip -n "${NS}r1" link set eth1 down
	eventually "$PATIENCE" far_side_is 'down: its node reports it down'
	eventually "$PATIENCE" route_down
	run -1 lx client ping $SERVER trace
	[[ $output == *"gateway, route down  "*" ms"*"target  "*"no answer: No route to host"* ]]
}

# far_side_is STATE: of the router, says a trace
far_side_is() {
	output=$(lx client ping $SERVER trace || :)
	[[ $output == *"far side  "*" $1"* ]]
}

@test "no route: the ping fails at once, with a reason" {
	{ nets_yaml tcp1 eth0; quick_yaml; } | config client
	start client
	run -255 pings client $SERVER
	[[ $output == *"errno: -113"* ]]
	[[ $output == *"$SERVER"* ]]
}

@test "a router that dies under load: every operation ends, with an error" {
	local begin=$SECONDS status=0

	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -t 60 --timeout 20 \
		>"$DIR/put.json" 2>"$DIR/put.err" &
	client=$!
	eventually "$PATIENCE" routed_much
	stop r1 KILL
	wait $client || status=$?
	equal $status 1
	# The transaction timeout is 10 s, and the tool waits for 20.
	[ $((SECONDS - begin)) -lt 45 ]
	[ "$(jq .lost "$DIR/put.json")" -gt 0 ]
	unset "load_pid[server]"
}

routed_much() {
	[ "$(stat_of r1 route_count)" -gt 50 ]
}

# advises TEXT: r1's doctor has this advice
advises() {
	lx r1 doctor >"$DIR/doctor"
	grep -E "^advice   $1" "$DIR/doctor"
}

# resent NODE: bytes that its NIs sent again
resent() {
	lx "$1" -j net show | jq '[.net[].local_ni[].statistics.tcp_resent_bytes] | add'
}

@test "packets get lost behind the router: doctor, shows, metrics and explain name the next hop" {
	# What lanes carry is sent again by the client.
	[ "$LNETX_BPF" = off ] || lx r1 bpf off
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k -t 300 --timeout 30
	lossy server eth0 20
	eventually "$PATIENCE" advises "$SERVER: [0-9]+ % of the bytes to it were sent again in the last second: loss behind eth1"
	run -1 grep "10.1.0.1@tcp1: .* sent again" "$DIR/doctor"
	lx r1 explain peer $SERVER >"$DIR/page"
	cat "$DIR/page"
	grep -E "^$SERVER is up" "$DIR/page"
	grep "way       by 10.2.0.11@tcp2 on eth1, up" "$DIR/page"
	grep -E "TCP sent  [0-9]+ bytes, of these again [1-9]" "$DIR/page"
	lx r1 -j explain peer $SERVER | jq -e '.explain | .now.tcp_sent_bytes > 0 and
		all(.conns[]; .srtt_us > 0 and .cwnd_segments > 0) and
		.peer.peer_ni[0].statistics.tcp_resent_bytes > 0 and .peer.peer_ni[0].heard_s < 60'
	lx r1 metrics | grep -E 'lnetx_ni_tcp_resent_bytes_total\{nid="10.2.0.11@tcp2".* [1-9]'
	lx r1 -s conn show | grep -E 'TCP BYTES +SENT AGAIN +SRTT US +UNACKED +CWND'
	# Its connections are closed, but not forgotten.
	on server tc qdisc del dev eth0 clsact
	end_load client
	lx r1 disconnect all
	[ "$(resent r1)" -gt 0 ]
}
