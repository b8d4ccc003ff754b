#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Routed messages that the kernel forwards: all arrive, intact and once, whatever the network,
# the nodes and the daemon do.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

setup() {
	net_begin
	net_routed
}

teardown() {
	net_end
}

# fastpath_router CONNS_PER_PEER: start r1; the load gets as many connections.
fastpath_router() {
	start_routers 1 "conns_per_peer: $1"
	QUICK="$QUICK --set tcp.conns_per_peer=$1"
}

start_server() {
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
}

# moves VERB OPTION...: send load from the client to the server; all of it must arrive
moves() {
	local verb=$1
	shift

	load client "${FROM:-$CLIENT}" "$verb" $SERVER -r tcp2=10.1.0.11@tcp1 "$@" \
		>"$DIR/$verb.json"
	all_arrived "$DIR/$verb.json"
}

# Connections to a next hop become lanes once they are warm.
warm_up() {
	moves put -s 64k -t 2
}

# At least half of the bytes went by lanes. A stream's counters are those of its last
# connection, so this covers only the latest loads.
most_by_lanes() {
	local lanes all

	lanes=$(fastpath_sum r1 diverted)
	all=$(fastpath_sum r1 parse_next)
	echo "# $lanes of $all bytes by lanes"
	[ "$lanes" -gt 100000 ] && [ $((2 * lanes)) -ge "$all" ]
}

# loads_until CHECK VERB OPTION...: as moves, until the check succeeds; that may take several
# loads on a machine that is busy with other things, since lanes are for senders who keep up
loads_until() {
	local check=$1
	shift

	for _ in 1 2 3 4 5 6; do
		moves "$@"
		! "$check" || return 0
	done
	return 1
}

mostly() {
	loads_until most_by_lanes "$@"
}

# 100 MB went by lanes.
lanes_are_used() {
	[ "$(fastpath_sum r1 diverted)" -gt 100000000 ]
}

# Messages sent on any lane.
messages_on_lanes() {
	lx r1 -j lane show | jq '[.lane[].messages] | add // 0'
}

@test "put and get of 4 KiB, 64 KiB, 1 MiB: most by lanes" {
	local size

	fastpath_router 8
	start_server
	warm_up
	for size in 4k 64k 1m; do
		mostly put -s $size -t 2
		moves get -s $size -t 1
	done
	equal "$(fastpath_sum r1 lost)" 0
	equal "$(stat_of r1 drop_count)" 0
}

@test "one, two connections to a peer" {
	local conns

	for conns in 1 2; do
		fastpath_router $conns
		start_server
		warm_up
		mostly put -s 64k -t 2
		moves get -s 1m -t 1
		end_load server
		stop r1
	done
}

@test "several clients on one lane: behind each other" {
	fastpath_router 1
	address client eth0 10.1.0.2/24 10.1.0.3/24 10.1.0.4/24
	FROM="10.1.0.[1-4]@tcp1"
	start_server
	warm_up
	moves put -s 4k -t 2
	moves put -s 64k -t 2
	loads_until grants_are_given put -s 1m -t 2
	moves get -s 64k -t 2
	shared_lane_told
	equal "$(stat_of r1 drop_count)" 0
}

# Clients with large messages have waited for their turn on a lane.
grants_are_given() {
	lx r1 -j lane show | jq -e '[.lane[].grants] | add > 10'
}

# shared_lane_told: many messages followed others of another client, and waits are shown, which are
# forgotten in a few seconds
shared_lane_told() {
	for _ in 1 2 3 4 5 6; do
		[ "$(lx r1 -j lane show | jq '[.lane[].handovers] | add')" -le 100 ] ||
			! lx r1 -j lane show | jq -e '.lane | max_by(.handovers) |
				.wait_p50_us > 0 and .wait_p99_us >= .wait_p50_us' || return 0
		moves put -s 64k -t 2
	done
	return 1
}

# cutting OPTION...: send a train; add up how often GSO packets and packets were split.
cutting() {
	trains "$@"
	resegmented=$((resegmented + $(fastpath_sum r1 resegmented)))
	fragments=$((fragments + $(fastpath_sum r1 fragments)))
}

@test "trains for two servers: resegmented where targets change, split headers, every byte" {
	local version resegmented=0 fragments=0 sent=6100

	fastpath_router 4
	address server eth0 10.2.0.2/24
	taker server 10.2.0.1
	taker server 10.2.0.2
	cutting --count 1500
	for version in 2 3; do
		cutting --version $version --count 1000
		cutting --version $version --count 800 --train 16
		cutting --version $version --count 500 --chop
	done
	# How packets are put together is up to the machine.
	for _ in 1 2 3 4 5; do
		[ $resegmented = 0 ] || [ $fragments = 0 ] || [ "$(messages_on_lanes)" -le 200 ] || break
		cutting --count 1500
		cutting --count 500 --chop
		sent=$((sent + 2000))
	done
	eventually "$PATIENCE" took "$sent"
	echo "# $resegmented resegmented, $fragments split"
	[ "$(messages_on_lanes)" -gt 200 ]
	[ $resegmented -gt 0 ]
	[ $fragments -gt 0 ]
}

@test "large messages for two servers: cut out of GSO packets, every byte" {
	local resegmented=0 fragments=0 sent=0

	fastpath_router 4
	address server eth0 10.2.0.2/24
	taker server 10.2.0.1
	taker server 10.2.0.2
	# How packets are put together is up to the machine.
	for _ in 1 2 3 4 5 6; do
		cutting --min 30000 --count 400
		sent=$((sent + 400))
		[ $fragments -le 100 ] || break
	done
	eventually "$PATIENCE" took "$sent"
	[ $fragments -gt 100 ]
	[ $((4 * resegmented)) -lt $fragments ]
}

@test "the daemon handles other header forms" {
	local round

	fastpath_router 4
	taker server 10.2.0.1
	# A short train may end before the first reason is counted, so send several.
	for round in 1 2 3 4 5 6; do
		trains --version 4 --count 1500
		[ "$(fastpath_sum r1 reasons 6)" = 0 ] || break
	done
	eventually "$PATIENCE" took $((1500 * round))
	equal "$(fastpath_sum r1 lane_messages)" 0
	[ "$(fastpath_sum r1 reasons 6)" -gt 0 ]
}

@test "without BPF: the same" {
	LNETX_BPF=off fastpath_router 4
	address server eth0 10.2.0.2/24
	taker server 10.2.0.2
	trains --version 3 --count 1000
	trains --version 2 --count 500 --chop
	eventually "$PATIENCE" took 1500
	start_server
	moves put -s 64k -t 1
	moves get -s 1m -t 1
}

ipv6_yaml() {
	printf 'net:\n'
	printf '    - net type: %s\n      local NI(s):\n        - nid: %s\n' \
		tcp1 fd71::11@tcp1 tcp2 fd72::11@tcp2
}

# ipv6_router LANES: a router between IPv6 networks, and a server
ipv6_router() {
	fastpath_router 1 && stop r1
	address client eth0 fd71::1/64 fd71::2/64
	address r1 eth0 fd71::11/64
	address r1 eth1 fd72::11/64
	address server eth0 fd72::1/64
	{ ipv6_yaml; echo 'routing: { enable: 1 }'; quick_yaml "conns_per_peer: $1"; } | config r1
	start r1
	QUICK="$QUICK --set tcp.conns_per_peer=$1"
	SERVER=fd72::1@tcp2
	load_server server $SERVER -r tcp1=fd72::11@tcp2
}

@test "IPv6: two clients on one lane" {
	ipv6_router 1
	for _ in 1 2 3 4 5 6; do
		begin_load client fd71::2@tcp1 put $SERVER -r tcp2=fd71::11@tcp1 -s 64k -t 300
		load client fd71::1@tcp1 put $SERVER -r tcp2=fd71::11@tcp1 -s 64k -t 3 >"$DIR/put.json"
		fragments=$(fastpath_sum r1 fragments)
		end_load client
		all_arrived "$DIR/put.json"
		[ "$fragments" -le 20 ] || break
	done
	[ "$fragments" -gt 20 ]
	equal "$(stat_of r1 drop_count)" 0
}

@test "IPv6, protocol version 4" {
	ipv6_router 4
	for size in 64k 64k 4k 1m; do
		load client fd71::1@tcp1 put $SERVER -r tcp2=fd71::11@tcp1 -s $size -t 2 \
			>"$DIR/put.json"
		all_arrived "$DIR/put.json"
	done
	# See loads_until().
	for _ in 1 2 3 4 5; do
		! most_by_lanes || break
		load client fd71::1@tcp1 put $SERVER -r tcp2=fd71::11@tcp1 -s 1m -t 2 >"$DIR/put.json"
		all_arrived "$DIR/put.json"
	done
	most_by_lanes
	load client fd71::1@tcp1 get $SERVER -r tcp2=fd71::11@tcp1 -s 64k -t 2 >"$DIR/get.json"
	all_arrived "$DIR/get.json"
}

# begin_put SIZE: load that continues through errors, until end_put (or end_load)
begin_put() {
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s "$1" -t 300 --timeout 30
}

# True if it carries messages now, whatever earlier loads left in the counters.
carries() {
	local before

	before=$(fastpath_sum r1 lane_messages)
	sleep 0.3
	[ "$(fastpath_sum r1 lane_messages)" -gt $((before + 10)) ]
}

# routes_on SINCE: r1 has routed messages since that count
routes_on() {
	[ "$(stat_of r1 route_count)" -gt $(($1 + 100)) ]
}

# Ends the load; operations may have failed, but no byte was wrong.
end_put() {
	gone "${load_pid[client]}" || kill "${load_pid[client]}"
	wait "${load_pid[client]}" || true
	unset "load_pid[client]"
	sane "$DIR/client.load"
	jq -e '.bad == 0 and .messages_total > 0' "$DIR/client.json" || {
		cat "$DIR/client.json" "$DIR/client.load"; return 1; }
}

# gateways: behind r1 are r2 and r3, both gateways to tcp3; the server is on tcp3, too
gateways() {
	local i

	switch lan3
	plug server eth1 10.3.0.1/24 lan3
	for i in 2 3; do
		node r$i
		plug r$i eth0 10.2.0.1$i/24 lan2
		plug r$i eth1 10.3.0.1$i/24 lan3
		{ nets_yaml tcp2 eth0 tcp3 eth1; route_yaml tcp1 10.2.0.11@tcp2
			echo 'routing: { enable: 1 }'; quick_yaml; } | config r$i
		start r$i
	done
	{ nets_yaml tcp1 eth0 tcp2 eth1; route_yaml tcp3 10.2.0.12@tcp2 10.2.0.13@tcp2
		echo 'routing: { enable: 1 }'; quick_yaml 'conns_per_peer: 4'; } | config r1
	start r1
}

# by_lanes_to NID: messages that r1 sent to it by lanes
by_lanes_to() {
	lx r1 -j lane show | jq --arg nid "$1" '[.lane[] | select(.next_hop == $nid).messages] | add // 0'
}

# Both are in the programs' table, and both carry messages.
by_both() {
	bpftool -j map dump id "$(fastpath_map r1 dests)" |
		jq -e 'any(.[].formatted.value; .n == 2)' &&
		[ "$(by_lanes_to 10.2.0.12@tcp2)" -gt 50 ] &&
		[ "$(by_lanes_to 10.2.0.13@tcp2)" -gt 50 ]
}

@test "two gateways to a net: streams use both" {
	gateways
	load_server server 10.3.0.1@tcp3 -r tcp1=10.3.0.12@tcp3 -r tcp1=10.3.0.13@tcp3
	begin_load client $CLIENT put 10.3.0.1@tcp3 -r tcp3=10.1.0.11@tcp1 \
		--set tcp.conns_per_peer=8 -s 64k -t 300
	eventually "$PATIENCE" by_both
	end_load client
	all_arrived "$DIR/client.json"
	# One of them dies: from the next message on, everything uses the other.
	stop r2 KILL
	load client $CLIENT put 10.3.0.1@tcp3 -r tcp3=10.1.0.11@tcp1 \
		-s 64k -t 4 --timeout 30 >"$DIR/put.json"
	all_arrived "$DIR/put.json"
}

is_lossy() {
	lx r1 -j stream show | jq -e 'any(.stream[]; .why == "lossy" and .gaps >= 4)'
}

loss_has_a_name() {
	[[ $(lx r1 doctor) == *"10.1.0.1@tcp1: "*"its packets get lost, or overtake each other"* ]]
}

# Tagged with VLAN 0, packets are still those of the interface itself.
@test "packets with an 802.1p priority go by lanes, too" {
	ingress_program lan1 p-client priority
	ingress_program lan2 p-server priority
	fastpath_router 4
	start_server
	warm_up
	mostly put -s 64k -t 2
	moves get -s 1m -t 2
	fastpath_used r1
}

# Switch ports where packets to and from the router come in.
@test "loss in front of the router" {
	local every

	fastpath_router 8
	start_server
	warm_up
	for every in 300 50; do
		lossy lan1 p-client $every
		moves put -s 64k -t 2
		moves put -s 1m -t 2
	done
	[ "$(fastpath_sum r1 n_unframed)" -gt 1 ]
	[ "$(fastpath_sum r1 lane_messages)" -gt 0 ]
	# At this loss rate the daemon takes over streams for a while.
	begin_put 1m
	eventually "$PATIENCE" is_lossy
	eventually "$PATIENCE" loss_has_a_name
	end_put
}

@test "reordered packets, in front of the router and behind it" {
	local round

	[ "$(nproc)" -gt 1 ] || skip "one processor: no reordering"
	fastpath_router 8
	start_server
	warm_up
	rps lan1 p-client 0
	rps lan2 p-r1 0
	rps lan2 p-server 0
	for round in 1 2 3 4; do
		moves put -s 64k -t 2
		[ "$(fastpath_sum r1 gaps)" = 0 ] || break
	done
	moves put -s 1m -t 2
	moves get -s 64k -t 2
	# It is the kernel that decides which processor handles a packet, and when.
	[ "$(fastpath_sum r1 gaps)" -gt 0 ] || skip "nothing was overtaken"
}

@test "loss behind the router, of data and of ACKs" {
	local every

	fastpath_router 8
	start_server
	warm_up
	for every in 300 50; do
		lossy lan2 p-r1 $every
		lossy lan2 p-server $every
		moves put -s 64k -t 2
		moves put -s 1m -t 2
	done
	[ "$(fastpath_sum r1 lane_messages)" -gt 0 ]
}

@test "trains and loss, everywhere" {
	fastpath_router 4
	address server eth0 10.2.0.2/24
	taker server 10.2.0.1
	taker server 10.2.0.2
	trains --count 1500
	lossy lan1 p-client 100
	lossy lan1 p-r1 100
	lossy lan2 p-r1 100
	lossy lan2 p-server 100
	trains --count 1000
	trains --count 500 --train 16
	trains --count 500 --chop
	eventually "$PATIENCE" took 3500
}

@test "the daemon is killed: its programs are detached, peers recover" {
	fastpath_router 8
	start_server
	warm_up
	# Messages in flight time out after 10 s (quick_yaml) and are resent.
	begin_put 64k
	eventually "$PATIENCE" carries
	stop r1 KILL
	start r1
	eventually $((3 * PATIENCE)) carries
	end_put
	moves put -s 64k -t 1
}

# drops_are_counted NODE: compare its log of messages lost on lanes, if any, and what the daemon
# could not send, with its counters
drops_are_counted() {
	local logged

	logged=$(sed -n 's/.* messages=\([0-9]*\) reason="the connection that they.*/\1/p' \
		"$DIR/$1.log" | awk '{ n += $1 } END { print n + 0 }')
	echo "# $logged messages logged as dropped, $(stat_of "$1" drop_count) counted"
	[ "$(lx "$1" -s -j stats show | jq .statistics.drops.send_failed)" -ge "$logged" ]
	[ "$(stat_of "$1" drop_count)" -ge "$logged" ]
	ctl "$1" peer show --nid 10.2.0.1@tcp2 -v 2 | awk -v n="$logged" '
		/dropped_stats:/ { in_drops = 1 }
		in_drops && $1 == "put:" { exit $2 < n }'
}

@test "the next hop is killed: clients get errors, and go on when it is back" {
	local before

	fastpath_router 8
	start_server
	warm_up
	begin_put 1m
	eventually "$PATIENCE" carries
	kill -9 "${load_pid[server]}"
	wait "${load_pid[server]}" || true
	unset "load_pid[server]"
	# At once; or when it is sent again, if the server had got everything; or nothing is, as the
	# router has told the client that it cannot reach the server.
	for _ in {1..20}; do
		[ "$(stat_of r1 drop_count)" = 0 ] || break
		sleep 0.5
	done
	eventually $((2 * PATIENCE)) drops_are_counted r1
	before=$(stat_of r1 route_count)
	start_server
	eventually $((3 * PATIENCE)) routes_on "$before"
	end_put
	moves put -s 64k -t 2
	mostly put -s 64k -t 2
}

@test "a client is killed in the middle of a message: others go on" {
	local i

	fastpath_router 8
	address client eth0 10.1.0.2/24
	start_server
	warm_up
	begin_put 64k
	for i in 1 2 3; do
		# shellcheck disable=SC2086 # options
		ip netns exec "${NS}client" "$LNETX_LOAD/lxload" put $SERVER -n 10.1.0.2@tcp1 $QUICK \
			-r tcp2=10.1.0.11@tcp1 -s 1m -t 60 >"$DIR/other" 2>&1 3>&- &
		other=$!
		eventually "$PATIENCE" carries
		sleep 0.5
		kill -9 "$other"
		wait "$other" || true
	done
	end_load client
	all_arrived "$DIR/client.json"
	loads_until lanes_are_used put -s 1m -t 2
}
