#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The watcher over all tests with a fast path (packets.bpf.c) finds nothing wrong with packets of the
# kernel's own TCP, and finds what is wrong.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	switch lan
	node a b
	plug a eth0 10.1.0.1/24 lan
	plug b eth0 10.1.0.2/24 lan
	address a eth0 fd01::1/64
	address b eth0 fd01::2/64
	watch_packets a
	! grep '^cannot' "$DIR/packets" || skip "$(cat "$DIR/packets")"
}

teardown() {
	net_end
}

# stream ADDRESS: 16 MiB from a to b's address
stream() {
	rm -f "$DIR/b"
	on b python3 -c 'import socket, sys
s = socket.create_server((sys.argv[1], 5000), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print("ready", flush=True)
c = s.accept()[0]
while c.recv(1 << 20):
	pass' "$1" >"$DIR/b" 3>&- &
	eventually "$PATIENCE" grep ready "$DIR/b"
	on a python3 -c 'import socket, sys
s = socket.create_connection((sys.argv[1], 5000))
s.sendall(bytes(16 << 20))' "$1"
}

# counted NODE COUNTER: the kernel's counter is not 0
counted() {
	[ "$(counter_of "$1" "$2")" -gt 0 ]
}

# finds TEXT: the watcher tells, and the test would have failed
finds() {
	! packets_are_true >"$DIR/told"
	cat "$DIR/told"
	grep -F "$1" "$DIR/told"
}

@test "plain TCP over IPv4 and IPv6, also in packets beyond 64 KiB: nothing is wrong" {
	stream 10.1.0.2
	stream fd01::2
	if on a ip link set eth0 gso_max_size 200000; then
		stream fd01::2
	fi
	packets_are_true
	[ "$(sed -n 's/^looked at \([0-9]*\) packets.*/\1/p' "$DIR/packets")" -gt 1000 ]
}

@test "headers that are not where the kernel has noted them are found" {
	ingress_program lan p-a lie
	stream 10.1.0.2 3>&- &
	eventually "$PATIENCE" counted a TcpRetransSegs
	finds "csum_start or csum_offset does not name the TCP checksum"
}

@test "packets dropped for their checksum are found" {
	sums_in_packets a eth0
	flipping b eth0 20 0 4 # ports: it finds no socket
	DROPS_EXPECTED=()
	stream 10.1.0.2 3>&- &
	eventually "$PATIENCE" counted b TcpInCsumErrors
	finds "dropped: TCP_CSUM at "
}

@test "members of a frag_list that do not begin and end with a segment are found" {
	on_test_machine
	on a ethtool -K eth0 tx off sg off tso off gso off
	on lan ethtool -K p-a gro on
	stream 10.1.0.2
	ingress_program lan p-a pull
	stream 10.1.0.2
	finds "frag_list has a member that does not begin and end with a segment"
}
