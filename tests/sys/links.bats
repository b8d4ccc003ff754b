#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Links, MTUs, neighbours, addresses and routes that change under load. See events.bash.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/events.bash
source "$BATS_TEST_DIRNAME/events.bash"
links_change

# mtu LAN PEER INTERFACE BYTES: set it on the router's interface, the peer's and the switch
# ports
mtu() {
	ip -n "${NS}r1" link set "$3" mtu "$4"
	ip -n "$NS$2" link set eth0 mtu "$4"
	ip -n "$NS$1" link set p-r1 mtu "$4"
	ip -n "$NS$1" link set "p-$2" mtu "$4"
}

# A veth passes GSO packets whatever its MTU, so segment them as on a real link.
cut_to_mtu() {
	ip -n "${NS}r1" link set eth1 gso_max_segs 1
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
	# New connections now send larger segments than the other side accepts.
	ip -n "${NS}other" link set eth0 mtu 9000
	ip -n "${NS}lan1" link set p-other mtu 9000
	load other 10.1.0.5@tcp1 put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -t 1 >"$DIR/large"
	all_arrived "$DIR/large"
	ends_within $BOUND
}

@test "large segments on both sides, then small ones behind the router" {
	routed
	cut_to_mtu
	mtu lan1 client eth0 9000
	mtu lan2 server eth1 9000
	begin_traffic
	mtu lan2 server eth1 1500
	goes_on
	ends_within $BOUND
}

# Jumbo frames everywhere except at the server, which drops them silently.
small_server() {
	cut_to_mtu
	mtu lan1 client eth0 9000
	mtu lan2 server eth1 9000
	ip -n "${NS}server" link set eth0 mtu 1500
}

# segments_fit: large segments occurred, and none was sent on lanes
segments_fit() {
	[ "$LNETX_BPF" = off ] ||
		lx r1 -j stream show | jq -e '[.stream[].lane0.mss] | add > 0'
}

@test "a server whose MTU is smaller than all others: nothing is lost" {
	routed
	small_server
	begin_traffic
	goes_on $QUIET
	eventually "$PATIENCE" segments_fit
	run ! log_has r1 level=warning
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
}

@test "the server's MTU alone goes down and up" {
	routed
	cut_to_mtu
	mtu lan1 client eth0 9000
	mtu lan2 server eth1 9000
	begin_traffic
	ip -n "${NS}server" link set eth0 mtu 1500
	goes_on
	ends_within $BOUND
	begin_client
	goes_on
	ip -n "${NS}server" link set eth0 mtu 9000
	goes_on $QUIET
	ends_within $BOUND
}

# An IP gateway between the router and the server, with large segments on all links.
net_gateway() {
	node client r1 gw server
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	link r1 eth1 10.2.0.11/24 gw eth0 10.2.0.254/24
	link gw eth1 10.3.0.254/24 server eth0 10.3.0.1/24
	ip -n "${NS}r1" route add 10.3.0.0/24 via 10.2.0.254
	# It receives large segments, but sends none: those would be lost silently.
	ip -n "${NS}server" route add 10.2.0.0/24 via 10.3.0.254 mtu lock 1500 advmss 8960
	on gw sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	for link in client/eth0 r1/eth0 r1/eth1 gw/eth0 gw/eth1 server/eth0; do
		ip -n "$NS${link%/*}" link set "${link#*/}" mtu 9000
	done
}

@test "a gateway on the way to the server reports a smaller MTU" {
	local warned

	net_gateway
	start_routers 1 "conns_per_peer: 4"
	QUICK="$QUICK --set tcp.conns_per_peer=4"
	load_server server 10.3.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	SERVER=10.3.0.1@tcp2 begin_client
	eventually "$PATIENCE" routed_by r1 500
	eventually "$PATIENCE" fastpath_used r1
	warned=$(grep -c level=warning "$DIR/r1.log" || true)
	ip -n "${NS}gw" link set eth1 mtu 1500
	goes_on $QUIET
	eventually "$PATIENCE" segments_fit
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	equal "$(grep -c level=warning "$DIR/r1.log" || true)" "$warned"
}

# bats test_tags=router
@test "the router's interfaces go down and up" {
	local dev

	routed
	begin_traffic
	for dev in eth1 eth0; do
		ip -n "${NS}r1" link set $dev down
		sleep 1
		ip -n "${NS}r1" link set $dev up
		goes_on
	done
	ends_within $BOUND
}

@test "neighbours are forgotten, and change their MAC addresses" {
	routed
	begin_traffic
	for _ in {1..20}; do
		ip -n "${NS}r1" neigh flush dev eth1
		ip -n "${NS}r1" neigh flush dev eth0
		sleep 0.05
	done
	goes_on $QUIET
	for name in server client; do
		on $name sh -c 'echo 1 >/proc/sys/net/ipv4/conf/eth0/arp_notify'
		ip -n "$NS$name" link set eth0 address 02:00:00:00:00:99
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

# puts_by NODE: PUTs that it received from r1
puts_by() {
	ctl "$1" net show -v 2 --net tcp2 |
		awk '$1 == "received_stats:" { on = 1 } on && $1 == "put:" { print $2; exit }'
}

has_puts() {
	[ "$(puts_by "$1")" -gt "$2" ]
}

# only_by TO FROM: 500 messages use TO, none FROM, where there is an occasional push
only_by() {
	local left

	left=$(puts_by "$2")
	eventually $QUIET has_puts "$1" $(($(puts_by "$1") + 500))
	[ "$(puts_by "$2")" -le $((left + 3)) ]
}

# moved FROM TO: messages now use TO, and, once those in flight have passed, no longer FROM
moved() {
	eventually $BOUND has_puts "$2" $(($(puts_by "$2") + 500))
	eventually "$PATIENCE" only_by "$2" "$1"
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
	# With a pause in between: messages sent then are lost, and resent.
	lx r1 route del net tcp3 via 10.2.0.12@tcp2
	lx r1 route add net tcp3 via 10.2.0.13@tcp2
	moved r2 r3
	ends_within $BOUND
}
