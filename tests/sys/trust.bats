#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A router, packets damaged on the way, and segments sent in a peer's name:
# nothing that TCP would not do.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_routed
	start_routers 1 "conns_per_peer: 4"
	QUICK="$QUICK --set tcp.conns_per_peer=4"
}

teardown() {
	net_end
}

# ---- damaged packets -------------------------------------------------------------------------

# cables: all packets have checksums, as on a cable. Then none is a GSO packet, and so many may be
# more than a CPU's backlog holds.
cables() {
	sums_in_packets client eth0
	sums_in_packets server eth0
	sums_in_packets r1 eth0 eth1
}

# two_takers: takers of trains, with lanes that the client has warmed up
two_takers() {
	address server eth0 10.2.0.2/24
	taker server 10.2.0.1
	taker server 10.2.0.2
	trains --count 1500
}

# enough_flips NODE IF [COUNT]: so many that TCP's checksum may miss one
enough_flips() {
	local n

	n=$(flips "$1" "$2")
	echo "# $n flipped at $1 $2"
	[ "$n" -ge "${3:-20}" ]
}

# until_flipped SENT NODE IF [COUNT]: send more until enough_flips; $sent is the number of messages
until_flipped() {
	sent=$1
	for _ in 1 2 3 4 5; do
		! enough_flips "${@:2}" || return 0
		trains --count 2000
		sent=$((sent + 2000))
	done
	enough_flips "${@:2}"
}

@test "bits flipped in front of the router: never a wrong byte" {
	cables
	two_takers
	flipping lan1 p-client 50
	trains --count 1500
	trains --count 1500 --train 16
	trains --count 800 --chop
	until_flipped 5300 lan1 p-client
	# The stack saw and counted each of them.
	[ "$(counter_of r1 TcpInCsumErrors)" -ge $(($(flips lan1 p-client) * 9 / 10)) ]
	eventually "$PATIENCE" took "$sent"
}

@test "bits flipped behind the router: never a wrong byte" {
	cables
	two_takers
	flipping lan2 p-r1 100
	trains --count 2000
	until_flipped 3500 lan2 p-r1
	[ "$(counter_of server TcpInCsumErrors)" -gt 10 ]
	eventually "$PATIENCE" took "$sent"
}

@test "bits flipped in ACKs, and losses: none is believed" {
	cables
	two_takers
	flipping lan2 p-server 300
	lossy lan2 p-r1 300
	trains --count 2000
	flipping lan2 p-server 100 8 4
	trains --count 2000
	until_flipped 5500 lan2 p-server 3
	eventually "$PATIENCE" took "$sent"
}

# ---- many messages ---------------------------------------------------------------------------

# Short, for make check; the full run:
#	sudo MESSAGES=1000000 bats tests/sys/trust.bats -f everywhere
MESSAGES=${MESSAGES:-8000}
EVERY=${EVERY:-300}
# ACKs are few: in a short run, more of them are damaged.
ACKS_EVERY=$((MESSAGES < 100000 ? EVERY / 6 : EVERY))

# many WHAT: send MESSAGES of 4 KiB from eight clients, and verify every byte
many() {
	load client '10.1.0.[21-28]@tcp1' put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 4096 \
		-N $((MESSAGES / 8)) --timeout 60 >"$DIR/$1.json"
	all_arrived "$DIR/$1.json"
	jq -r --arg what "$1" '"# \($what): \(.messages_total) messages, \(.bad) wrong, \(.lost) lost, " +
		"\(.sent_again) sent again, \(.mbps | round) Mbit/s"' "$DIR/$1.json" >&3
}

# bats test_tags=router
@test "bits flipped everywhere: all data that arrives is right, as with packets lost everywhere" {
	cables
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	address client eth0 10.1.0.2{1,2,3,4,5,6,7,8}/24
	many intact
	lossy lan1 p-client "$EVERY"
	lossy lan2 p-r1 "$EVERY"
	lossy lan2 p-server "$EVERY"
	many lost
	flipping lan1 p-client "$EVERY"
	flipping lan2 p-r1 "$EVERY"
	flipping lan2 p-server "$ACKS_EVERY" 8 4 # the acknowledgement number
	many flipped
	enough_flips lan1 p-client
	enough_flips lan2 p-r1
	enough_flips lan2 p-server 3
	fastpath_used r1
}
