#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What happens to links, addresses, routes and connections while messages are routed:
# each event ends in all messages right, or in a connection error and a new connection;
# never in a wrong byte, and never in a stall. The bounds, in seconds:
#
#	QUIET	for whom the event does not concern
#	BOUND	for whom it does: until a connection is given up, what was under way on it
#		is, too, and then sent again
# bats file_tags=router
# shellcheck disable=SC2030,SC2031 # what a test sets is for itself
bats_require_minimum_version 1.5.0
GIVE_UP=6
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

QUIET=10
BOUND=$((2 * GIVE_UP + 6))

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

setup() {
	net_begin
}

teardown() {
	net_end
}

# routed [TUNABLE: VALUE]: client, r1, server, and another client; several lanes to each
routed() {
	net_routed
	node other
	plug other eth0 10.1.0.5/24 lan1
	start_routers 1 "conns_per_peer: 4${1:+, $1}"
	QUICK="$QUICK --set tcp.conns_per_peer=4"
}

# A peer that does not answer is noticed after 3 s, without traffic.
PROBES="keepalive_idle: 1, keepalive_intvl: 1, keepalive_count: 2"

# ---- verified traffic from the client to the server ------------------------------------------

# begin_traffic: until ends_within; on lanes when this returns
begin_traffic() {
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	begin_client
	eventually "$PATIENCE" routed_by r1 500
	eventually "$PATIENCE" fastpath_used r1
}

begin_client() {
	begin_load client $CLIENT put "$SERVER" -r tcp2=10.1.0.11@tcp1 -s 64k -t 300
}

routed_by() {
	[ "$(stat_of "$1" route_count)" -gt "$2" ]
}

# goes_on [SECONDS]: it moves, or does again by then
goes_on() {
	eventually "${1:-$BOUND}" routed_by r1 $(($(stat_of r1 route_count) + 500))
}

# ends_within SECONDS [LOAD]: everything has arrived, and nothing has taken longer
ends_within() {
	local begin=$SECONDS

	end_load "${2:-client}"
	all_arrived "$DIR/${2:-client}.json"
	[ $((SECONDS - begin)) -le "$1" ]
	jq -e ".max_us <= $1 * 1e6" "$DIR/${2:-client}.json" ||
		{ cat "$DIR/${2:-client}.json"; return 1; }
}

# ---- traffic of others, while something happens to one ---------------------------------------

# begin_others: from another client to the taker, until end_others
begin_others() {
	ip netns exec "$(ns other)" tests/sys/trains.py send 10.1.0.5 10.1.0.11 10.2.0.1 \
		--count 1000000 --timeout $QUIET >"$DIR/others" 2>&1 3>&- &
	others=$!
}

# end_others COUNT: none of theirs has had to wait; the taker has them and COUNT of the
# client's, every byte right
end_others() {
	local sent

	kill "$others"
	wait "$others" || { cat "$DIR/others"; return 1; }
	sent=$(awk '$1 == "sent" { print $2 }' "$DIR/others")
	[ "$sent" -gt 500 ]
	eventually "$PATIENCE" took $((sent + $1)) || { tail -n 3 "$DIR/10.2.0.1.taken"; return 1; }
}

# was_cut: the next hop has seen half a message, because that came by a lane; without the
# fast path it cannot
was_cut() {
	local cut

	cut=$(tail -n 1 "$DIR/10.2.0.1.taken" | awk '{ print $5 }')
	[ "$([ "$cut" = 0 ] && echo off || echo on)" = "$LNETX_BPF" ]
}

# no_conn ADDRESS: the router has no connection to it
no_conn() {
	! conns r1 | grep -F " $1:"
}

# reset_conns NODE ADDRESS: those with it, by the kernel of the node
reset_conns() {
	on "$1" ss -K -Ht state established dst "$2" >"$DIR/reset" 2>&1 || true
	! grep 'not supported' "$DIR/reset" ||
		skip "this kernel cannot reset connections: CONFIG_INET_DIAG_DESTROY"
	grep ':988' "$DIR/reset"
}

@test "peers that are there are not given up: lanes that are busy for long" {
	routed "$PROBES"
	begin_traffic
	sleep 6
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	run ! log_has r1 level=warning
}

@test "half-closed behind a message: it has arrived, with all before it" {
	routed
	taker server 10.2.0.1
	begin_others
	for _ in 1 2 3 4 5; do
		trains --count 300 --end fin --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	fastpath_used r1
	end_others 1500
}

@test "half-closed with losses behind the router: what was not yet there arrives" {
	routed
	taker server 10.2.0.1
	trains --count 300
	lossy lan2 p-r1 50
	for _ in 1 2 3; do
		trains --count 300 --end fin --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	eventually "$PATIENCE" took 1200
}

@test "a client pauses in the middle of a message: it is still there, and so is its lane" {
	GIVE_UP=10 routed "$PROBES"
	taker server 10.2.0.1
	begin_others
	trains --count 300 --batch 20 --end pause
	fastpath_used r1
	end_others 301
	# The taker only takes: after 3 s without a message from tcp2 the router's NI there is down.
	run ! grep level=warning <(grep -v 'event="ni down" net=tcp2' "$DIR/r1.log")
}

@test "half-closed in the middle of a message: only that one is lost" {
	routed
	taker server 10.2.0.1
	begin_others
	for _ in 1 2 3; do
		trains --count 300 --batch 20 --end half-fin --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	eventually $BOUND no_conn 10.1.0.1
	end_others 900
	was_cut
}

@test "a client that sends what is illegal is closed: nobody else, and no next hop" {
	local kind version

	routed
	taker server 10.2.0.1
	begin_others
	for version in 3 4; do
		for kind in get any; do
			trains --count 300 --batch 20 --end $kind --version $version --timeout 5
			equal "${lines[-1]}" closed
		done
	done
	fastpath_used r1
	end_others 1200
	[ "$(grep -c 'illegal message' "$DIR/r1.log")" = 4 ]
	run ! grep -E 'nid=10.(1.0.5|2.0.1)@' "$DIR/r1.log"
}

# half_way: the client has sent half a message, and waits to be killed: $victim
half_way() {
	SEED=$((${SEED:-0} + 1))
	rm -f "$DIR/victim"
	ip netns exec "$(ns client)" tests/sys/trains.py send 10.1.0.1 10.1.0.11 10.2.0.1 \
		--count 300 --batch 20 --end half --seed $SEED "$@" >"$DIR/victim" 2>&1 3>&- &
	victim=$!
	eventually "$PATIENCE" grep half "$DIR/victim"
}

@test "a client is killed in the middle of a message: only that one is lost" {
	routed
	taker server 10.2.0.1
	begin_others
	for _ in 1 2 3; do
		half_way
		kill -9 $victim
		eventually $BOUND no_conn 10.1.0.1
	done
	end_others 900
	was_cut
}

# shows_unsafe: the router tells that it does not trust the client's address with lanes
shows_unsafe() {
	lx r1 -j stream show |
		jq -e 'any(.stream[]; .state == "unsafe" and (.remote | startswith("10.1.0.1:")))'
}

@test "a client stalls in the middle of a message: it is closed first, and has no lanes then" {
	local begin

	GIVE_UP=8 routed
	taker server 10.2.0.1
	begin_others
	half_way
	begin=$SECONDS
	eventually 12 no_conn 10.1.0.1
	if [ "$LNETX_BPF" = on ]; then # before the server gives up all connections to the router
		[ $((SECONDS - begin)) -lt 8 ]
		log_has r1 'nothing received inside a message for 6 s'
		log_has r1 'nid=10.1.0.1@tcp1 .*unfinished on the fast path'
	fi
	kill -9 $victim
	half_way
	[ "$LNETX_BPF" = off ] || eventually "$PATIENCE" shows_unsafe
	kill -9 $victim
	end_others 600
	was_cut
}

@test "a client's link is cut in the middle of a message: only that one is lost" {
	routed "$PROBES"
	taker server 10.2.0.1
	begin_others
	half_way
	ip -n "$(ns lan1)" link set p-client nomaster
	kill -9 $victim
	eventually $BOUND no_conn 10.1.0.1
	ip -n "$(ns lan1)" link set p-client master br0
	trains --count 300
	end_others 600
}

@test "a client comes back with the ports of connections that it knows nothing of" {
	local begin

	routed
	taker server 10.2.0.1
	begin_others
	half_way
	ip -n "$(ns lan1)" link set p-client nomaster
	reset_conns client 10.1.0.11
	kill -9 $victim
	ip -n "$(ns lan1)" link set p-client master br0
	begin=$SECONDS
	trains --count 300
	[ $((SECONDS - begin)) -le $QUIET ]
	end_others 600
}

@test "a client that writes is cut off: others do not notice, and it comes back" {
	routed "$PROBES"
	begin_traffic
	begin_load other 10.1.0.5@tcp1 put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -t 300
	goes_on
	sleep 0.5
	ip -n "$(ns lan1)" link set p-other nomaster
	eventually $BOUND no_conn 10.1.0.5
	ends_within $QUIET
	ip -n "$(ns lan1)" link set p-other master br0
	ends_within $((3 * BOUND)) other
}

# ---- links and neighbours ---------------------------------------------------------------------

# mtu LAN PEER INTERFACE BYTES: of the router's interface, a peer's, and what is between
mtu() {
	ip -n "$(ns r1)" link set "$3" mtu "$4"
	ip -n "$(ns "$2")" link set eth0 mtu "$4"
	ip -n "$(ns "$1")" link set p-r1 mtu "$4"
	ip -n "$(ns "$1")" link set "p-$2" mtu "$4"
}

# GSO packets would go through a veth whatever its MTU is; a real link has none.
cut_to_mtu() {
	ip -n "$(ns r1)" link set eth1 gso_max_segs 1
}

@test "the MTU behind the router goes down and up" {
	routed
	cut_to_mtu
	begin_traffic
	mtu lan2 server eth1 1400
	goes_on
	ends_within $BOUND
	begin_client
	goes_on
	mtu lan2 server eth1 1500
	goes_on
	ends_within $BOUND
}

@test "the MTU in front of the router goes down, and far up" {
	routed
	cut_to_mtu
	begin_traffic
	mtu lan1 client eth0 1400
	goes_on
	mtu lan1 client eth0 9000
	goes_on
	# Who connects now has larger segments than the other side can take.
	ip -n "$(ns other)" link set eth0 mtu 9000
	ip -n "$(ns lan1)" link set p-other mtu 9000
	load other 10.1.0.5@tcp1 put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -t 1 >"$DIR/large"
	all_arrived "$DIR/large"
	ends_within $BOUND
}

@test "large segments on both sides, then no more behind the router" {
	routed
	cut_to_mtu
	mtu lan1 client eth0 9000
	mtu lan2 server eth1 9000
	begin_traffic
	mtu lan2 server eth1 1500
	goes_on
	ends_within $BOUND
}

# Jumbo frames everywhere but at the server, which drops them without a word.
small_server() {
	cut_to_mtu
	mtu lan1 client eth0 9000
	mtu lan2 server eth1 9000
	ip -n "$(ns server)" link set eth0 mtu 1500
}

# segments_fit: what did not was not sent on lanes, and there was such
segments_fit() {
	[ "$LNETX_BPF" = off ] ||
		lx r1 -j stream show | jq -e '[.stream[].lane0.mss] | add > 0'
}

@test "a server whose MTU is smaller than all others: nothing is lost" {
	routed
	small_server
	begin_traffic
	goes_on $QUIET
	segments_fit
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	run ! log_has r1 level=warning
}

@test "the server's MTU alone goes down and up" {
	routed
	cut_to_mtu
	mtu lan1 client eth0 9000
	mtu lan2 server eth1 9000
	begin_traffic
	ip -n "$(ns server)" link set eth0 mtu 1500
	goes_on
	ends_within $BOUND
	begin_client
	goes_on
	ip -n "$(ns server)" link set eth0 mtu 9000
	goes_on $QUIET
	ends_within $BOUND
}

# A gateway of IP between the router and the server, with large segments on all links.
net_gateway() {
	node client r1 gw server
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	link r1 eth1 10.2.0.11/24 gw eth0 10.2.0.254/24
	link gw eth1 10.3.0.254/24 server eth0 10.3.0.1/24
	ip -n "$(ns r1)" route add 10.3.0.0/24 via 10.2.0.254
	# It takes large segments, and sends none: those would be lost without a word.
	ip -n "$(ns server)" route add 10.2.0.0/24 via 10.3.0.254 mtu lock 1500 advmss 8960
	on gw sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	for link in client/eth0 r1/eth0 r1/eth1 gw/eth0 gw/eth1 server/eth0; do
		ip -n "$(ns "${link%/*}")" link set "${link#*/}" mtu 9000
	done
}

@test "a gateway on the way to the server tells of a smaller MTU" {
	net_gateway
	start_routers 1 "conns_per_peer: 4"
	QUICK="$QUICK --set tcp.conns_per_peer=4"
	load_server server 10.3.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	SERVER=10.3.0.1@tcp2 begin_client
	eventually "$PATIENCE" routed_by r1 500
	eventually "$PATIENCE" fastpath_used r1
	ip -n "$(ns gw)" link set eth1 mtu 1500
	goes_on $QUIET
	segments_fit
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	run ! log_has r1 level=warning
}

@test "the router's interfaces go down and up" {
	local dev

	routed
	begin_traffic
	for dev in eth1 eth0; do
		ip -n "$(ns r1)" link set $dev down
		sleep 1
		ip -n "$(ns r1)" link set $dev up
		goes_on
	done
	ends_within $BOUND
}

@test "neighbours are forgotten, and change their MAC addresses" {
	routed
	begin_traffic
	for _ in {1..20}; do
		ip -n "$(ns r1)" neigh flush dev eth1
		ip -n "$(ns r1)" neigh flush dev eth0
		sleep 0.05
	done
	goes_on $QUIET
	for name in server client; do
		on $name sh -c 'echo 1 >/proc/sys/net/ipv4/conf/eth0/arp_notify'
		ip -n "$(ns $name)" link set eth0 address 02:00:00:00:00:99
		goes_on $QUIET
	done
	ends_within $BOUND
}

# ---- routes -------------------------------------------------------------------------------------

# client ── r1 ──┬── r2 ──┬── server
#                └── r3 ──┘
net_gateways() {
	local i

	node client r1 r2 r3 server
	switch lan2
	switch lan3
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	plug server eth0 10.3.0.1/24 lan3
	for i in 1 2 3; do
		plug r$i eth$((i == 1)) 10.2.0.1$i/24 lan2
	done
	for i in 2 3; do
		plug r$i eth1 10.3.0.1$i/24 lan3
	done
}

# gateway NODE NET INTERFACE NET INTERFACE ROUTE...: ROUTE as for route_yaml
gateway() {
	local name=$1

	{ nets_yaml "${@:2:4}"; route_yaml "${@:6}"; echo 'routing: { enable: 1 }'
		quick_yaml 'conns_per_peer: 4'; } | config "$name"
	start "$name"
}

# puts_by NODE: how many have come to it from r1
puts_by() {
	ctl "$1" net show -v 2 --net tcp2 |
		awk '$1 == "received_stats:" { on = 1 } on && $1 == "put:" { print $2; exit }'
}

has_puts() {
	[ "$(puts_by "$1")" -gt "$2" ]
}

# moved FROM TO: messages go by the one, and no more by the other
moved() {
	local left

	eventually $BOUND has_puts "$2" $(($(puts_by "$2") + 500))
	# What was under way is through; now and then there is a push.
	left=$(puts_by "$1")
	eventually $QUIET has_puts "$2" $(($(puts_by "$2") + 500))
	[ "$(puts_by "$1")" -le $((left + 3)) ]
}

@test "a destination gets another gateway: from the next message on" {
	net_gateways
	gateway r1 tcp1 eth0 tcp2 eth1 tcp3 10.2.0.12@tcp2
	gateway r2 tcp2 eth0 tcp3 eth1 tcp1 10.2.0.11@tcp2
	gateway r3 tcp2 eth0 tcp3 eth1 tcp1 10.2.0.11@tcp2
	fastpath_as_configured r1
	QUICK="$QUICK --set tcp.conns_per_peer=4"
	load_server server 10.3.0.1@tcp3 -r tcp1=10.3.0.12@tcp3 -r tcp1=10.3.0.13@tcp3
	begin_load client $CLIENT put 10.3.0.1@tcp3 -r tcp3=10.1.0.11@tcp1 -s 64k -t 300
	eventually "$PATIENCE" has_puts r2 1000
	eventually "$PATIENCE" fastpath_used r1
	lx r1 route add net tcp3 via 10.2.0.13@tcp2
	lx r1 route del net tcp3 via 10.2.0.12@tcp2
	moved r2 r3
	lx r1 route add net tcp3 via 10.2.0.12@tcp2
	lx r1 route del net tcp3 via 10.2.0.13@tcp2
	moved r3 r2
	# With a moment in between: what comes then is lost, and sent again.
	lx r1 route del net tcp3 via 10.2.0.12@tcp2
	lx r1 route add net tcp3 via 10.2.0.13@tcp2
	moved r2 r3
	ends_within $BOUND
}

# ---- connections ----------------------------------------------------------------------------------

@test "connections are reset on each side of the router" {
	routed
	begin_traffic
	reset_conns client 10.1.0.11
	goes_on
	reset_conns r1 10.1.0.1
	goes_on
	reset_conns r1 10.2.0.1
	goes_on
	reset_conns server 10.2.0.11
	goes_on
	ends_within $BOUND
}

# by_lanes COUNT: more than so many messages have gone by lanes
by_lanes() {
	[ "$(fastpath_sum r1 lane_messages)" -gt "$1" ]
}

# refused REASON COUNT: at least so many segments of streams, and of lanes
refused() {
	[ "$LNETX_BPF" = off ] || lx r1 -j stream show | jq -e --arg why "$1" --argjson n "$2" \
		'[.stream[].refused[$why] // 0] | add >= $n'
}

# unharmed: nobody has had to send anything again, all connections are still there, and lanes carry
unharmed() {
	goes_on $QUIET
	[ "$LNETX_BPF" = off ] || eventually $QUIET by_lanes $(($(fastpath_sum r1 lane_messages) + 100))
	equal "$(conns r1)" "$connections"
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	run ! log_has r1 level=warning
}

@test "forged resets, SYNs and acknowledgements change nothing" {
	local kind by name connections

	routed
	begin_traffic
	connections=$(conns r1)
	for name in client server; do
		for kind in rst syn ack; do
			for by in 1000 100000 1000000000; do
				on $name tests/sys/forge.py eth0 $kind $by 20
			done
		done
	done
	unharmed
}

# As somebody has to who guesses: one in some thousand hits a window.
@test "forged data that is not within the window changes nothing" {
	local by name connections

	routed
	begin_traffic
	connections=$(conns r1)
	for name in client server; do
		for by in 30000000 1000000000 2000000000 2500000000 4000000000; do
			on $name tests/sys/forge.py eth0 data $by 20
		done
	done
	refused window 50
	unharmed
}

@test "old segments that have all numbers right but the timestamp change nothing" {
	local name connections

	routed
	begin_traffic
	connections=$(conns r1)
	for name in client server; do
		on $name tests/sys/forge.py eth0 old 1000000 20
		on $name tests/sys/forge.py eth0 old 100 20
	done
	refused timestamp 20
	unharmed
}

@test "a window that is made too large is so for a moment" {
	local by connections

	routed
	begin_traffic
	connections=$(conns r1)
	for by in 0 1000; do
		on server tests/sys/forge.py eth0 window $by 50
	done
	unharmed
}

# from_behind KIND BY: segments in the client's name come in by the router's other interface
from_behind() {
	local mac

	mac=$(on r1 cat /sys/class/net/eth1/address)
	on client tests/sys/forge.py eth0 "$1" "$2" 20 --print |
		on server tests/sys/forge.py eth0 send "$mac"
}

@test "segments by the other interface are none, if the stack would filter them" {
	local connections

	routed
	begin_traffic
	connections=$(conns r1)
	on r1 sh -c 'echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter'
	lx r1 tunable set tcp fastpath on # has the interfaces looked at again
	from_behind data 0
	from_behind data 1000000000
	from_behind ack 0
	from_behind old 1000000
	refused interface 40
	unharmed
}
