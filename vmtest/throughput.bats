#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Several clients, one router, servers whose lanes they share: every byte is checked, and every
# packet that the router sends (watch_packets() in tests/sys/lib.bash). Prints how fast that was,
# and which share of the bytes went by lanes. See "throughput" in docs/vmtest.md.
#
#   client eth0 ── 10.1.0, fd71::, VLAN 5 ── r1 ── 10.2.0, fd72::, VLAN 6 ── server, server6, vlan
#                  tcp1    tcp3    tcp5            tcp2    tcp4    tcp6
#
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# The library looks for its programs beside the system tests.
BATS_TEST_DIRNAME=${BATS_TEST_DIRNAME%/vmtest}/tests/sys
# An emulated machine that shares a busy one may take that long for a message.
GIVE_UP=60
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
# shellcheck source=vmtest/share.bash
source vmtest/share.bash

CELL=${CELL:-2} # seconds of load per combination

setup() {
	net_begin
	net_routed
	address client eth0 10.1.0.2/24 10.1.0.3/24 fd71::1/64 fd71::2/64 fd71::3/64
	address r1 eth0 fd71::11/64
	address r1 eth1 fd72::11/64
	node server6 vlan
	plug server6 eth0 fd72::1/64 lan2
	plug vlan eth0 10.99.0.1/24 lan2
	tagged client eth0 5 10.5.0.1/24 10.5.0.2/24 10.5.0.3/24
	tagged r1 eth0 5 10.5.0.11/24
	tagged r1 eth1 6 10.6.0.11/24
	tagged vlan eth0 6 10.6.0.1/24 10.6.0.2/24
}

teardown() {
	net_end
}

# tagged NODE IF VLAN ADDRESS...: a VLAN on it, as interface vVLAN
tagged() {
	local node=$1 vlan=$3

	ip -n "$NS$node" link add link "$2" name "v$vlan" type vlan id "$vlan"
	shift 3
	address "$node" "v$vlan" "$@"
}

# router CONNS_PER_PEER
router() {
	{ nets_yaml tcp1 eth0 tcp2 eth1 tcp5 v5 tcp6 v6
		for nid in fd71::11@tcp3 fd72::11@tcp4; do
			printf '    - net type: %s\n      local NI(s):\n        - nid: %s\n' \
				"${nid#*@}" "$nid"
		done
		echo 'routing: { enable: 1 }'
		quick_yaml "conns_per_peer: $1"; } | config r1
	start r1
	fastpath_as_configured r1
	QUICK="$QUICK --set tcp.conns_per_peer=$1"
}

servers() {
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	load_server server6 fd72::1@tcp4 -r tcp3=fd72::11@tcp4
	load_server vlan 10.6.0.1@tcp6 -r tcp5=10.6.0.11@tcp6
}

# put_or_get FAMILY VERB OPTION...: in the background, from three clients
put_or_get() {
	local family=$1 verb=$2
	shift 2

	case $family in
	IPv4) set -- "10.1.0.[1-3]@tcp1" "$verb" 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 "$@" ;;
	IPv6) set -- fd71::1@tcp3,fd71::2@tcp3,fd71::3@tcp3 "$verb" fd72::1@tcp4 \
		-r tcp4=fd71::11@tcp3 "$@" ;;
	VLAN) set -- "10.5.0.[1-3]@tcp5" "$verb" 10.6.0.1@tcp6 -r tcp6=10.5.0.11@tcp5 "$@" ;;
	esac
	begin_load client "$@"
}

# cell CONNS FAMILY VERB SIZE: one load; all of it must arrive
cell() {
	shared put_or_get "$2" "$3" -s "$4" -t "$CELL" --timeout 60
	printf '# lanes %s, %s, %s %-3s: %5.0f Mbit/s, %3s %% by lanes\n' "$1" "$2" "$3" "$4" \
		"$(jq .mbps "$DIR/client.json")" "$(share)" >&3
}

# cells CONNS: all combinations
cells() {
	local family verb size

	router "$1"
	servers
	for family in IPv4 IPv6 VLAN; do
		put_or_get $family put -s 64k -t 3 --timeout 60 # connections become lanes
		eventually "$PATIENCE" gone "${load_pid[client]}"
		end_load client
		for verb in put get; do
			for size in 4k 64k 1m; do
				cell "$1" $family $verb $size
			done
		done
	done
	equal "$(fastpath_sum r1 lost)" 0
	equal "$(stat_of r1 drop_count)" 0
}

@test "one lane for three clients" {
	cells 1
}

@test "two lanes for three clients" {
	cells 2
}

# cuts NET FROM ROUTER TO...: send trains that the router has to cut 1 to 200 bytes out of
cuts() {
	local net=$1 sent=0 options=(--to-net "$(($1 + 1))")
	shift

	[[ $1 != *:* ]] || options+=(--version 4)
	# Connections become lanes.
	for how in '--count 600 --max 20000' '--count 0 --cuts 200'; do
		SEED=$((${SEED:-0} + 1))
		# shellcheck disable=SC2086 # options
		run on client tests/sys/trains.py --net "$net" send "$@" "${options[@]}" \
			--seed $SEED --timeout "$PATIENCE" $how
		echo "$output"
		[ "$status" = 0 ]
		sent=$((sent + $(awk '$1 == "sent" { print $2 }' <<<"$output")))
	done
	grep '^200 before$' <<<"$output"
	eventually "$PATIENCE" took "$sent"
	echo "# cuts, tcp$net: ${output//$'\n'/, }; $(fastpath_sum r1 fragments) parts," \
		"$(fastpath_sum r1 resegmented) packets resegmented" >&3
}

# The effect of a cut of n bytes on a packet depends on n.
@test "cuts of 1 to 200 bytes" {
	router 2
	address server eth0 10.2.0.2/24
	address server6 eth0 fd72::2/64
	taker server 10.2.0.1
	taker server 10.2.0.2
	cuts 1 10.1.0.1 10.1.0.11 "${takers[@]}"
	takers=()
	taker server6 fd72::1 4
	taker server6 fd72::2 4
	cuts 3 fd71::1 fd71::11 "${takers[@]}"
	takers=()
	taker vlan 10.6.0.1 6
	taker vlan 10.6.0.2 6
	cuts 5 10.5.0.1 10.5.0.11 "${takers[@]}"
}
