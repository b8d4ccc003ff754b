#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# NIs where no program sees the packets, or finds their sockets. lnetxd forwards, and says so.
#
#	client ── 10.1.0 ── eth0 r1 dummy0 10.9.0.11          tcp1
#	                       r1 eth1 ── 10.2.0 ── server    tcp2, in a VRF
bats_require_minimum_version 1.5.0
GIVE_UP=60 SILENCE=60
# The library looks for its programs beside the system tests.
BATS_TEST_DIRNAME=${BATS_TEST_DIRNAME%/vmtest}/tests/sys
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	modprobe -a vrf dummy
	node client r1 server
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	ip -n "${NS}client" route add 10.9.0.11 via 10.1.0.11
	ip -n "${NS}r1" link add dummy0 type dummy
	address r1 dummy0 10.9.0.11/32
	ip -n "${NS}r1" link add blue type vrf table 10
	ip -n "${NS}r1" link set blue up
	link server eth0 10.2.0.1/24 r1 eth1 10.2.0.11/24
	ip -n "${NS}r1" link set eth1 master blue
}

teardown() {
	net_end
}

# no_programs SET INTERFACE REASON
no_programs() {
	jq -e --arg set "$1" --arg on "$2" --arg why "$3" '[.bpf.hooks[] |
		select(.set == $set and .interface == $on)] |
		length > 0 and all(.mode == "none" and (.reason // "" | test($why)))' "$DIR/bpf"
}

@test "a router with one NI on a dummy, and one in a VRF" {
	{ nets_yaml tcp1 dummy0 tcp2 eth1; echo 'routing: { enable: 1 }'; quick_yaml; } | config r1
	start r1
	fastpath_as_configured r1
	lx r1 guard ban 10.1.0.99@tcp1
	lx r1 -j bpf status >"$DIR/bpf"
	no_programs fastpath dummy0 'dummy0 is a dummy, which no packet passes'
	no_programs guard dummy0 'dummy0 is a dummy, which no packet passes'
	no_programs fastpath eth1 'eth1 is in a VRF'
	jq -e '[.bpf.hooks[] | select(.set == "guard" and .interface == "eth1").mode] |
		length > 0 and all(. != "none")' "$DIR/bpf"
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	load client 10.1.0.1@tcp1 get 10.2.0.1@tcp2 -r tcp2=10.9.0.11@tcp1 -s 64k -t 3 \
		>"$DIR/client.json"
	all_arrived "$DIR/client.json"
	equal "$(fastpath_sum r1 lane_messages)" 0
	lx r1 doctor
}
