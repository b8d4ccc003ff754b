#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Rails of a router: NIs of one net on several addresses of one interface. The peers' routes
# name the first.
#
#	client eth0 .1, .2 ── 10.1.0 ── .11 eth0 r1 eth1 .11-.14 ── 10.2.0 ── .1 eth0 server
#	                        tcp1                     tcp2
# shellcheck disable=SC2030,SC2031 # what a test sets is for itself
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2
RAILS="10.2.0.11@tcp2
10.2.0.12@tcp2
10.2.0.13@tcp2
10.2.0.14@tcp2"

setup() {
	net_begin
	net_routed
	address r1 eth1 10.2.0.12/24 10.2.0.13/24 10.2.0.14/24
	address client eth0 10.1.0.2/24
}

teardown() {
	net_end
}

# nids: of r1's NIs on tcp2
nids() {
	lx r1 -j net show net tcp2 | jq -r '.net[]?.local_ni[].nid'
}

# rails_yaml RAILS [TUNABLE: VALUE]: a router with rails on tcp2
rails_yaml() {
	nets_yaml tcp1 eth0 tcp2 eth1
	printf '          rails: %s\nrouting: { enable: 1 }\n' "$1"
	quick_yaml "${2:-}"
}

# start_rails [TUNABLE: VALUE]
start_rails() {
	rails_yaml 4 "${1:-}" | config r1
	start r1
	fastpath_as_configured r1
}

# refused WORDS...: a command on r1 fails with one line that has them, and adds no NI
refused() {
	local words=$1
	shift

	run -1 lx r1 net add net tcp2 "$@"
	[[ ${#lines[@]} = 1 && $output == *"$words"* ]] || { echo "$output"; return 1; }
	equal "$(nids)" "$before"
}

@test "rails are added all or none, and deleted one by one or all" {
	local before=""

	nets_yaml tcp1 eth0 | config r1
	start r1
	refused 'rails 5: the interface has 4 addresses; add 1 with "ip address add"' if eth1 rails 5
	refused '10.2.0.15 is no address of the interface' if eth1 rails 10.2.0.13-15
	refused '10.2.0.13 is given twice' if eth1 rails 10.2.0.12-13,10.2.0.13
	refused 'net tcp2 on eth7: there is no such interface' if eth7 rails 2
	lx r1 net add net tcp2 if eth1 rails 4
	equal "$(nids)" "$RAILS"
	before=$RAILS
	refused 'NI 10.2.0.11@tcp2 on eth1 exists already' if eth1 rails 4
	lx r1 net del nid 10.2.0.13@tcp2
	before=$(grep -v 13@ <<<"$RAILS")
	equal "$(nids)" "$before"
	refused 'NI 10.2.0.14@tcp2 on eth1 exists already' if eth1 rails 10.2.0.13-14
	lx r1 net add net tcp2 if eth1 rails 10.2.0.13
	equal "$(nids | sort)" "$RAILS"
	lx r1 net del net tcp2 if eth1
	equal "$(nids)" ""
}

@test "rails whose port is taken: none is added" {
	local before="" pid

	nets_yaml tcp1 eth0 | config r1
	start r1
	ip netns exec "${NS}r1" python3 -c 'import socket, time
s = socket.create_server(("10.2.0.13", 988))
time.sleep(600)' 3>&- &
	pid=$!
	eventually "$PATIENCE" on r1 sh -c 'ss -Hltn "src 10.2.0.13:988" | grep .'
	refused '10.2.0.13@tcp2 on eth1: another program listens' if eth1 rails 4
	kill $pid
	wait $pid || :
	lx r1 net add net tcp2 if eth1 rails 4
	equal "$(nids)" "$RAILS"
}

@test "rails in a configuration, a reload and an export" {
	rails_yaml 5 | config r1
	run -1 on r1 "$LNETX_BIN/lnetxd" -t -c "$DIR/r1.yaml"
	[[ ${lines[0]} == *"r1.yaml:10:18: net tcp2 on eth1: rails 5: the interface has 4 addresses"* ]]
	rails_yaml 10.2.0.11-14 | config r1
	start r1
	equal "$(nids)" "$RAILS"
	lx r1 export >"$DIR/export.yaml"
	run ! grep rails "$DIR/export.yaml"
	# As fewer, as one, and as they were.
	rails_yaml 2 | config r1
	lx r1 daemon reload
	equal "$(nids)" "$(head -n 2 <<<"$RAILS")"
	nets_yaml tcp1 eth0 tcp2 eth1 | config r1
	lx r1 daemon reload
	equal "$(nids)" "$(head -n 1 <<<"$RAILS")"
	lx r1 net del net tcp2
	lx r1 import "$DIR/export.yaml" || true # tcp1 is there
	equal "$(nids)" "$RAILS"
	ctl r1 import --del "$DIR/export.yaml"
	equal "$(nids)" ""
}

# on_rails N: messages went by lanes on N rails at least; without the fast path, over N NIs
on_rails() {
	local what='.lane[]? | select(.next_hop == "'$SERVER'" and .messages > 0).local'

	if [ "$LNETX_BPF" = off ]; then
		[ "$(lx r1 -s -j net show net tcp2 | jq '[.net[].local_ni[] |
			select(.statistics.send_count > 20)] | length')" -ge "$1" ]
	else
		lx r1 -s -j lane show | jq -r "$what" | cut -d: -f1 | sort -u >"$DIR/carried"
		[ "$(wc -l <"$DIR/carried")" -ge "$1" ]
	fi
}

# bats test_tags=router
@test "with discovery: peers find all rails behind the one that their route names" {
	start_rails "conns_per_peer: 8"
	{ nets_yaml tcp2 eth0; route_yaml tcp1 10.2.0.11@tcp2; quick_yaml; } | config server
	start server
	lx server discover 10.2.0.11@tcp2
	equal "$(peer_nids server 10.2.0.13@tcp2)" "10.1.0.11@tcp1
$RAILS"
	stop server
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 --set tcp.conns_per_peer=8 \
		-s 64k -t 300
	eventually "$PATIENCE" on_rails 3
	end_load client
	all_arrived "$DIR/client.json"
	load client $CLIENT get $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k -t 2 >"$DIR/get.json"
	all_arrived "$DIR/get.json"
	fastpath_used r1
}

# bats test_tags=router
@test "without discovery: peers use the rail that they know, and take messages from all" {
	QUICK="$QUICK --set lnet.lnet_peer_discovery_disabled=1"
	start_rails "conns_per_peer: 8"
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 --set tcp.conns_per_peer=8 \
		-s 64k -t 300
	eventually "$PATIENCE" on_rails 3
	end_load client
	all_arrived "$DIR/client.json"
	# Its answers come over one; the others get answers to pings.
	load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 4k -N 300 >"$DIR/put.json"
	all_arrived "$DIR/put.json"
	equal "$(lx r1 -j net show net tcp2 -s | jq '[.net[].local_ni[] |
		select(.statistics.recv_count > 100)] | length')" 1
}

# sockets RAIL: those of the router on a rail; a new one may have the ports of an old one
sockets() {
	on r1 ss -Htne state established src "$1" | grep -o 'sk:[0-9a-f]*' | sort
}

# remember_sockets: of all rails, into $DIR/before.RAIL; false until each has a connection of each type
remember_sockets() {
	local rail types

	for rail in 11 12 13 14; do
		types=$(conns r1 | awk -v rail="10.2.0.$rail:" 'index($2, rail) == 1 { print $1 }' | xargs)
		equal "$types" "bulk_in bulk_out control" || return 1
		sockets 10.2.0.$rail >"$DIR/before.$rail"
	done
}

# untouched N: N rails still have the sockets that they had
untouched() {
	local rail n=0

	for rail in 11 12 13 14; do
		sockets 10.2.0.$rail >"$DIR/now"
		[ -n "$(comm -23 "$DIR/before.$rail" "$DIR/now")" ] || n=$((n + 1))
	done
	echo "# $n of 4 rails untouched"
	[ $n = "$1" ]
}

# cut_on_lane: a client is killed after half a message; false if that had not gone by a lane,
# because none had room, which costs nobody anything
cut_on_lane() {
	half_way 10.1.0.2
	kill -9 "$victim"
	wait "$victim" || true
	eventually "$PATIENCE" no_conn 10.1.0.2
	log_has r1 "nid=10.1.0.2@tcp1 .*left a message unfinished"
}

# The client has one connection: with more, each may have half a message on a rail of its own.
@test "a client is killed inside a message: the other rails keep their connections" {
	start_rails "conns_per_peer: 1"
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2 --set tcp.conns_per_peer=1
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k -t 300
	eventually "$PATIENCE" on_rails 1
	eventually "$PATIENCE" remember_sockets
	eventually $((3 * PATIENCE)) cut_on_lane
	eventually "$PATIENCE" untouched 3
	end_load client
	all_arrived "$DIR/client.json"
}
