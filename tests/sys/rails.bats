#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Multi-Rail: two interfaces on each side, both on one LNet net.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
LNETX_LOAD=$LNETX_BIN

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

@test "a net that is deleted or added is pushed to nodes that know us" {
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
	run -0 ctl a ping --timeout 15 10.1.0.2@tcp
	knows a 10.1.0.2@tcp 10.1.0.2@tcp
}

# Bytes that an interface sent.
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

@test "peers configured by hand are used as they are" {
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

# pings NODE NID N: print how many of them were not answered
pings() {
	local failed=0 i

	for ((i = 0; i < $3; i++)); do
		lx "$1" ping "$2" timeout 5 >&2 || failed=$((failed + 1))
	done
	echo $failed
}

# health_of NODE NID: health of a peer NI
health_of() {
	lx "$1" -j peer show nid "$2" |
		jq --arg nid "$2" '.peer[].peer_ni[] | select(.nid == $nid).health_stats.health_value'
}

well_again() {
	[ "$(lx "$1" -j recovery show | jq '.recovery | length')" = 0 ] && [ "$(health_of "$1" "$2")" = 1000 ]
}

@test "a rail that falls silent costs one ping, and is used again when it answers" {
	start a
	start b
	ctl a discover 10.1.0.2@tcp
	[ "$(pings a 10.1.0.2@tcp 4)" = 0 ]
	lossy b eth0 1
	[ "$(pings a 10.1.0.2@tcp 8)" -le 1 ]
	[ "$(health_of a 10.1.0.2@tcp)" -lt 1000 ]
	[ "$(health_of a 10.2.0.2@tcp)" = 1000 ]
	[[ $(ctl a debug recovery -p) == *"nid-0: 10.1.0.2@tcp"* ]]
	on b tc qdisc del dev eth0 clsact
	eventually "$PATIENCE" well_again a 10.1.0.2@tcp
	[ "$(pings a 10.1.0.2@tcp 4)" = 0 ]
}

@test "a NID that refuses costs nothing but its health" {
	address b eth0 10.1.0.9/24
	start a
	start b
	ctl a set discovery 0
	ctl a peer add --prim_nid 10.1.0.9@tcp --nid 10.2.0.2@tcp
	[ "$(pings a 10.1.0.9@tcp 6)" = 0 ]
	# As on Lustre's node (capture 16e): one resend; it was never heard from, so no
	# recovery.
	ctl a stats show >"$DIR/stats"
	grep -q ' resend_count: 1$' "$DIR/stats"
	grep -q ' successful_resends: 1$' "$DIR/stats"
	grep -q ' remote_dropped_count: 1$' "$DIR/stats"
	[ "$(health_of a 10.1.0.9@tcp)" = 900 ]
	[ "$(health_of a 10.2.0.2@tcp)" = 1000 ]
	[ -z "$(ctl a debug recovery -p)" ]
}

@test "an interface that goes down is reported by the other rail" {
	start a
	start b
	ctl a discover 10.1.0.2@tcp
	[ "$(pings a 10.1.0.2@tcp 4)" = 0 ]
	on b ip link set eth0 down
	eventually "$PATIENCE" has_fallen a 10.1.0.2@tcp
	# The kernel takes up to a second to report that a carrier is gone.
	eventually "$PATIENCE" log_has a 'event="ni down".* nid=10.1.0.1@tcp'
	[ "$(pings a 10.1.0.2@tcp 6)" = 0 ]
	on b ip link set eth0 up
	eventually "$PATIENCE" well_again a 10.1.0.2@tcp
}

has_fallen() {
	[ "$(health_of "$1" "$2")" -lt 1000 ]
}

# simulated NAME: the effect on two pings while GETs to B's first NID fail with this status
simulated() {
	local failed

	ctl a fault drop add -s '*@tcp' -d 10.1.0.2@tcp -m GET -r 1 -e "$1"
	failed=$(pings a 10.1.0.2@tcp 2)
	ctl a fault drop del --all
	eventually "$PATIENCE" well_again a 10.1.0.2@tcp
	echo "$1 $failed $(ctl a stats show | awk -v key="$1_count:" '$1 == key { print ($2 > 0) }')"
}

# Capture 16a, statuses in its order: what is resent, and what makes one of two pings fail.
@test "each simulated health error is resent, or not, as on Lustre's node" {
	local name

	start a
	start b
	ctl a discover 10.1.0.2@tcp
	[ "$(pings a 10.1.0.2@tcp 4)" = 0 ]
	for name in local_interrupt local_dropped local_aborted local_no_route local_timeout remote_dropped; do
		equal "$(simulated $name 2>/dev/null)" "$name 0 1"
	done
	for name in local_error remote_error remote_timeout network_timeout; do
		equal "$(simulated $name 2>/dev/null)" "$name 1 1"
	done
}

@test "our own NI recovers by pinging itself" {
	start a
	ctl a net set --nid 10.1.0.1@tcp --health 500
	[[ $(ctl a debug recovery -l) == *"nid-0: 10.1.0.1@tcp"* ]]
	eventually "$PATIENCE" full a
	[ -z "$(ctl a debug recovery -l)" ]
}

full() {
	[ "$(ctl "$1" net show --net tcp -v 2 | grep -c 'health value: 1000')" = 2 ]
}
