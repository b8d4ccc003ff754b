#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# NIDs with IPv6 addresses: protocol version 4, large NIDs in headers and pings.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

A=fd77::1@tcp
B=fd77::2@tcp

setup() {
	net_begin
	net_two
	address a eth0 fd77::1/64
	address b eth0 fd77::2/64
}

teardown() {
	net_end
}

by_nid() {
	printf 'net:\n'
	while [ $# -gt 0 ]; do
		printf '    - net type: %s\n      local NI(s):\n        - nid: %s\n' \
			"${1##*@}" "$1"
		shift
	done
}

@test "ping and discovery, with protocol version 4" {
	by_nid $A | config a
	by_nid $B | config b
	start a
	start b
	pings a $B
	pings b $A
	run -0 ctl a discover $B
	[[ $output == *"primary nid: $B"* ]]
	equal "$(lx a -j conn show | jq -r '.conn[].version' | sort -u)" 4
}

@test "nodes with NIDs of both kinds: each learns all of the other's" {
	by_nid 10.1.0.1@tcp fd77::1@tcp1 | config a
	by_nid 10.1.0.2@tcp fd77::2@tcp1 | config b
	start a
	start b
	ctl a discover 10.1.0.2@tcp
	equal "$(peer_nids a 10.1.0.2@tcp)" "10.1.0.2@tcp
fd77::2@tcp1"
	eventually "$PATIENCE" b_knows_a
	pings a fd77::2@tcp1
}

b_knows_a() {
	equal "$(peer_nids b 10.1.0.1@tcp)" "10.1.0.1@tcp
fd77::1@tcp1"
}

# own_nids NODE: all except 0@lo
own_nids() {
	ctl "$1" net show | awk '$NF ~ /@/ && $NF != "0@lo" { print $NF }' | sort | xargs
}

@test "configure --large: interfaces get their IPv6 address, also those of the file" {
	link a eth1 10.2.0.1/24 b eth1 10.2.0.2/24
	{ nets_yaml tcp eth0 tcp1 eth1; by_nid 10.1.0.1@tcp2 | tail -n +2; } | config a
	start a
	equal "$(own_nids a)" "10.1.0.1@tcp 10.1.0.1@tcp2 10.2.0.1@tcp1"
	ctl a lnet unconfigure
	ctl a lnet configure --all --large
	# eth1 has only a link-local address; configured NIDs stay as they are.
	equal "$(own_nids a)" "10.1.0.1@tcp2 10.2.0.1@tcp1 fd77::1@tcp"
	ctl a net add --net tcp3 --if eth0
	equal "$(own_nids a)" "10.1.0.1@tcp2 10.2.0.1@tcp1 fd77::1@tcp fd77::1@tcp3"
	# A reload that changes something else keeps this.
	{ nets_yaml tcp eth0 tcp1 eth1 tcp4 eth0; by_nid 10.1.0.1@tcp2 | tail -n +2; } | config a
	lx a daemon reload
	equal "$(own_nids a)" "10.1.0.1@tcp2 10.2.0.1@tcp1 fd77::1@tcp fd77::1@tcp4"
	by_nid $B | config b
	start b
	pings b $A
	ctl a lnet unconfigure
	ctl a lnet configure --all
	equal "$(own_nids a)" "10.1.0.1@tcp 10.1.0.1@tcp2 10.1.0.1@tcp4 10.2.0.1@tcp1"
}

@test "configure --all --large without a file: the first interface, with its IPv6 address if it has one" {
	spawn a
	eventually "$PATIENCE" log_has a 'not configured'
	ctl a lnet configure --all --large
	equal "$(own_nids a)" "fd77::1@tcp"
	ctl a lnet unconfigure
	ip -n "${NS}a" addr del 10.1.0.1/24 dev eth0
	run ! ctl a lnet configure --all
	ctl a lnet configure --all --large
	equal "$(own_nids a)" "fd77::1@tcp"
}

has_temporary() {
	ip -n "${NS}a" -6 addr show dev eth0 temporary | grep -q inet6
}

# Each way to a NID: its own address would be another one after every restart.
@test "an interface with temporary addresses stands for its lasting one" {
	local way

	on a sysctl -qw net.ipv6.conf.eth0.use_tempaddr=2
	ip -n "${NS}a" addr del 10.1.0.1/24 dev eth0
	ip -n "${NS}a" addr del fd77::1/64 dev eth0
	ip -n "${NS}a" addr add fd77::1/64 dev eth0 nodad mngtmpaddr
	eventually "$PATIENCE" has_temporary
	spawn a
	eventually "$PATIENCE" log_has a 'not configured'
	ctl a lnet configure --all --large
	equal "$(own_nids a)" fd77::1@tcp
	for way in 'net: [{net type: tcp1, local NI(s): [{interfaces: {0: eth0}}]}]' \
		'net: [{net type: tcp1}]' \
		'ip2nets: [{net-spec: tcp1, ip-range: {0: "fd77::/64"}}]'; do
		ctl a import <<<"$way"
		equal "$(own_nids a)" "fd77::1@tcp fd77::1@tcp1"
		ctl a net del --net tcp1
	done
}

# listening NODE ADDRESS: where its processes listen on an address, whatever the interface
listening() {
	on "$1" ss -Hltn "src [$2]:988" | awk '{ print $4 }'
}

@test "a link-local NI whose interface is deleted and created again listens again" {
	link a v0 fe80::1/64 b v0 fe80::2/64
	by_nid fe80::1@tcp | config a
	by_nid fe80::2@tcp | config b
	start a
	start b
	equal "$(listening a fe80::1)" "[fe80::1]%v0:988"
	pings b fe80::1@tcp
	ip -n "${NS}a" link del v0
	ip link add v0 netns "${NS}a" type veth peer name v0 netns "${NS}b"
	# Not nodad: tentative, and nobody can listen there, until a second after it has a carrier.
	ip -n "${NS}a" addr add fe80::1/64 dev v0
	eventually "$PATIENCE" log_has a 'nid=fe80::1@tcp .*action="NI down until it can listen"'
	address b v0 fe80::2/64
	ip -n "${NS}a" link set v0 up
	eventually "$PATIENCE" log_has a 'event="ni up" .*nid=fe80::1@tcp '
	# Not before it listens.
	equal "$(listening a fe80::1)" "[fe80::1]%v0:988"
	eventually "$PATIENCE" pings b fe80::1@tcp
}

@test "bulk both ways" {
	local size

	load_server b $B
	for size in 0 4k 1m; do
		load a $A put $B -s $size -N 100 >"$DIR/put.json"
		all_arrived "$DIR/put.json"
		load a $A get $B -s $size -N 100 >"$DIR/get.json"
		all_arrived "$DIR/get.json"
	done
}

# bats test_tags=router
# Connections over IPv4 are of version 3, which has no room for NIDs with IPv6 addresses.
@test "a router between IPv6 and IPv4: the sender hears that it cannot reach the other side" {
	node r1
	link r1 eth0 fd78::2/64 b eth1 fd78::1/64
	link a eth1 10.2.0.1/24 r1 eth1 10.2.0.2/24
	{ by_nid 10.2.0.2@tcp1 fd78::2@tcp2; echo 'routing: { enable: 1 }'; } | config r1
	start r1
	fastpath_as_configured r1
	load_server b fd78::1@tcp2 -r tcp1=fd78::2@tcp2
	run ! load a 10.2.0.1@tcp1 put fd78::1@tcp2 -r tcp2=10.2.0.2@tcp1 -s 64k -N 100 --timeout 10
	[[ $output == *"Address family not supported by protocol"* ]]
}
