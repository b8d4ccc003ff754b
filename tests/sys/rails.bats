#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Multi-Rail: two interfaces on each side, both on one LNet net.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_rails
	nets_yaml tcp eth0,eth1 | config a
	nets_yaml tcp eth0,eth1 | config b
}

teardown() {
	net_end
}

A_NIDS="10.1.0.1@tcp
10.2.0.1@tcp"
B_NIDS="10.1.0.2@tcp
10.2.0.2@tcp"

knows() {
	equal "$(peer_nids "$1" "$2")" "$3"
}

@test "discovery by any NID finds all of them, on both sides" {
	start a
	start b
	run -0 ctl a discover 10.2.0.2@tcp
	[[ $output == *"primary nid: 10.1.0.2@tcp"* ]]
	knows a 10.1.0.2@tcp "$B_NIDS"
	knows a 10.2.0.2@tcp "$B_NIDS"
	eventually "$PATIENCE" knows b 10.1.0.1@tcp "$A_NIDS"
}

@test "a net that is deleted or added is pushed to those who know us" {
	start a
	start b
	ctl a discover 10.1.0.2@tcp
	eventually "$PATIENCE" knows b 10.1.0.1@tcp "$A_NIDS"
	ctl a net del --net tcp --if eth1
	eventually "$PATIENCE" knows b 10.1.0.1@tcp 10.1.0.1@tcp
	ctl a net add --net tcp --if eth1
	eventually "$PATIENCE" knows b 10.1.0.1@tcp "$A_NIDS"
	# A NID on another net, too.
	address a eth1 10.3.0.1/24
	printf 'net:\n    - net type: tcp3\n      local NI(s):\n        - nid: 10.3.0.1@tcp3\n' \
		>"$DIR/more.yaml"
	ctl a import "$DIR/more.yaml"
	eventually "$PATIENCE" knows b 10.1.0.1@tcp "$A_NIDS
10.3.0.1@tcp3"
}

@test "without discovery a peer keeps the one NID it is known by" {
	start a
	start b
	ctl a set discovery 0
	run -0 ctl a ping 10.1.0.2@tcp
	knows a 10.1.0.2@tcp 10.1.0.2@tcp
}

# Bytes that an interface has sent.
sent_by() {
	on "$1" cat "/sys/class/net/$2/statistics/tx_bytes"
}

@test "bulk goes over both rails" {
	quick_yaml | cat "$DIR/a.yaml" - >"$DIR/load.yaml"
	on b "$LNETX_BIN/lxload" server -V -c "$DIR/b.yaml" >"$DIR/b.load" 2>&1 3>&- &
	eventually "$PATIENCE" grep '^ready' "$DIR/b.load"
	on a "$LNETX_BIN/lxload" put 10.1.0.2@tcp -V -j -c "$DIR/load.yaml" -s 64k -N 1000 \
		>"$DIR/put.json"
	all_arrived "$DIR/put.json"
	[ "$(sent_by a eth0)" -gt 10000000 ]
	[ "$(sent_by a eth1)" -gt 10000000 ]
}

@test "peers that were configured by hand are used as they are" {
	start a
	start b
	ctl a set discovery 0
	ctl a peer add --prim_nid 10.1.0.2@tcp --nid 10.2.0.2@tcp
	knows a 10.1.0.2@tcp "$B_NIDS"
	ctl a peer del --prim_nid 10.1.0.2@tcp --nid 10.2.0.2@tcp
	knows a 10.1.0.2@tcp 10.1.0.2@tcp
	ctl a peer del --prim_nid 10.1.0.2@tcp
	run ! ctl a peer show --nid 10.1.0.2@tcp
}
