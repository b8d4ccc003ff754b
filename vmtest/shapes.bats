#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Packets made of everything that a struct sk_buff can be made of, one kind per client, each in trains
# of messages that the router has to take apart: every byte is checked, and every packet that leaves.
# What the kernel has to segment for the servers it segments itself. See docs/fastpath-reference.md.
#
#   client ── 10.9 ── x0 r1 eth1 ── 10.2.0 ─┬─ .1 .2 server
#                                           └─ .3 plain: without timestamps, so lane 0
bats_require_minimum_version 1.5.0
# The library looks for its programs beside the system tests.
BATS_TEST_DIRNAME=${BATS_TEST_DIRNAME%/vmtest}/tests/sys
GIVE_UP=60
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	on_test_machine
	node r1 server plain client
	watch_packets r1 shapes
	sent=0 takers4=() takers6=()
}

teardown() {
	[ ! "${cable:-}" ] || kill "$cable" || :
	net_end
}

# behind: what is behind the router
behind() {
	switch lan2
	plug r1 eth1 10.2.0.11/24 lan2
	plug server eth0 10.2.0.1/24 lan2
	plug plain eth0 10.2.0.3/24 lan2
	on plain sysctl -qw net.ipv4.tcp_timestamps=0
	address plain eth0 fd02::3/64
	takes plain 10.2.0.3 fd02::3
	address server eth0 10.2.0.2/24 fd02::1/64 fd02::2/64
	address r1 eth1 fd02::11/64
	on r1 ethtool -K eth1 tso off
	takes server 10.2.0.1 fd02::1
	takes server 10.2.0.2 fd02::2
}

# takes NODE ADDRESS ADDRESS: receivers of trains
takes() {
	taker "$1" "$2"
	taker "$1" "$3" 4
	takers4+=("$2")
	takers6+=("$3")
}

# veth CLIENT-OFFLOADS...: the client's cable; the router joins what it receives
veth() {
	link client eth0 10.9.0.1/24 r1 x0 10.9.0.11/24
	[ $# = 0 ] || on client ethtool -K eth0 "$@"
	on r1 ethtool -K x0 gro on
	addresses
}

addresses() {
	address client eth0 fd09::1/64
	address r1 x0 fd09::11/64
}

# driver HOW [tag]: the client's cable, of which the router has the end with a driver (cable.c)
driver() {
	modprobe tun
	"$LNETX_RELEASE/tests/cable" "$1" "${NS}client" eth0 "${NS}r1" x0 "${@:2}" \
		>"$DIR/cable" 2>&1 3>&- &
	cable=$!
	eventually "$PATIENCE" grep ready "$DIR/cable"
	address client eth0 10.9.0.1/24
	address r1 x0 10.9.0.11/24
	# Packets are joined that come in within 4 ms.
	on r1 sh -c 'echo 4000000 >/sys/class/net/x0/gro_flush_timeout'
	addresses
}

router() {
	behind
	{ printf 'net:\n'
		printf '    - net type: %s\n      local NI(s):\n        - nid: %s\n' \
			tcp1 10.9.0.11@tcp1 tcp2 10.2.0.11@tcp2 tcp3 fd09::11@tcp3 tcp4 fd02::11@tcp4
		echo 'routing: { enable: 1 }'
		quick_yaml 'conns_per_peer: 1'; } | config r1
	start r1
	fastpath_as_configured r1
}

# send_trains FROM OPTION...: some messages, and when there are connections to all takers 150 more,
# which the router has to take apart
send_trains() {
	some_trains 50 "$@"
	some_trains 150 "$@"
	# Of the last stream: the next one takes its place.
	parts=$(($(fastpath_sum r1 fragments) + $(fastpath_sum r1 resegmented)))
	echo "# $1: $parts parts and packets resegmented"
	[ $parts -ge 10 ]
}

some_trains() {
	local count=$1 from=$2 net=1
	shift 2

	SEED=$((${SEED:-0} + 1))
	if [[ $from == *:* ]]; then
		net=3
		set -- "$from" "${from%:*}:11" "${takers6[@]}" --to-net 4 --version 4 "$@"
	else
		set -- "$from" "${from%.*}.11" "${takers4[@]}" "$@"
	fi
	on client tests/sys/trains.py --net $net send "$@" --count "$count" --seed $SEED \
		--timeout "$PATIENCE"
	sent=$((sent + count))
	eventually "$PATIENCE" took $sent
}

# has SHAPE...: all trains arrived, in packets of these kinds (PACKET_SHAPES in packets.h)
has() {
	local shape

	equal "$(fastpath_sum r1 lost)" 0
	packets_are_true
	for shape in "$@"; do
		has_shape r1 x0 "$shape"
	done
}

# trains_of_all_kinds: both families; also in pieces, so that headers are split
trains_of_all_kinds() {
	router
	send_trains 10.9.0.1
	send_trains 10.9.0.1 --chop --max 20000
	send_trains fd09::1
}

@test "a frag_list of linear packets" {
	veth tx off sg off tso off gso off
	trains_of_all_kinds
	has kmalloc gso frag_list
}

@test "a frag_list of packets with page fragments" {
	veth tso off gso off
	trains_of_all_kinds
	has frags gso frag_list_frags
}

@test "a driver whose buffers are no page fragments; a priority" {
	driver kmalloc tag
	trains_of_all_kinds
	has kmalloc gso frag_list tag
}

@test "a driver whose buffers are page fragments" {
	driver head
	trains_of_all_kinds
	has head_frag frags frag_list
}

@test "packets in pieces, the first of which has not all headers" {
	driver frags
	on r1 ethtool -K x0 gro off
	trains_of_all_kinds
	has frags short gso dodgy gso_segs_0
}

@test "a virtual machine" {
	driver guest
	trains_of_all_kinds
	has frags gso dodgy gso_segs_0 csum_partial
}

@test "pages of a file, which nobody may write to; packets that a sniffer has, too" {
	veth
	on r1 tests/sys/sniff.py x0 10.9.0.11 fd09::11 >"$DIR/sniffer" 2>&1 3>&- &
	eventually "$PATIENCE" grep ready "$DIR/sniffer"
	router
	send_trains 10.9.0.1 --file
	send_trains fd09::1 --file
	run ! grep other "$DIR/sniffer"
	has frags shared_frag cloned gso csum_partial
}

@test "packets beyond 64 KiB; IPv6 with options" {
	veth
	ip -n "${NS}client" link set eth0 gso_max_size 200000
	ip -n "${NS}r1" link set x0 gso_max_size 200000
	router
	send_trains fd09::1
	some_trains 150 fd09::1 --odd
	has big gso
}
