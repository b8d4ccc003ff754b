#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Forged segments: those that our own TCP would reject change nothing. See events.bash.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/events.bash
source "$BATS_TEST_DIRNAME/events.bash"

# by_lanes COUNT: more than that many messages went by lanes
by_lanes() {
	[ "$(fastpath_sum r1 lane_messages)" -gt "$1" ]
}

# refused REASON COUNT: at least that many segments of streams and lanes were refused
refused() {
	[ "$LNETX_BPF" = off ] || lx r1 -j stream show | jq -e --arg why "$1" --argjson n "$2" \
		'[.stream[].refused[$why] // 0] | add >= $n'
}

# unharmed: nobody has had to send anything again, all connections are still there, and lanes carry
unharmed() {
	goes_on $QUIET
	[ "$LNETX_BPF" = off ] || eventually $QUIET by_lanes $(($(fastpath_sum r1 lane_messages) + 100))
	equal "$(conns r1)" "$connections"
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	run ! log_has r1 level=warning
}

@test "forged resets, SYNs and ACKs change nothing" {
	local kind by name connections

	routed
	begin_traffic
	connections=$(conns r1)
	for name in client server; do
		for kind in rst syn ack; do
			for by in 1000 100000 1000000000; do
				on $name tests/sys/forge.py eth0 $kind $by 20
			done
		done
	done
	unharmed
}

# As an attacker who guesses would: one in some thousand hits a window.
@test "forged data outside the window changes nothing" {
	local by name connections

	routed
	begin_traffic
	connections=$(conns r1)
	for name in client server; do
		for by in 30000000 1000000000 2000000000 2500000000 4000000000; do
			on $name tests/sys/forge.py eth0 data $by 20
		done
	done
	eventually "$PATIENCE" refused window 50
	unharmed
}

@test "old segments with correct numbers but an old timestamp change nothing" {
	local name connections

	routed
	begin_traffic
	connections=$(conns r1)
	for name in client server; do
		on $name tests/sys/forge.py eth0 old 1000000 20
		on $name tests/sys/forge.py eth0 old 3000 20
	done
	eventually "$PATIENCE" refused timestamp 20
	unharmed
}

@test "a forged window that is too large lasts only a moment" {
	local by connections

	routed
	begin_traffic
	connections=$(conns r1)
	for by in 0 1000; do
		on server tests/sys/forge.py eth0 window $by 50
	done
	unharmed
}

# from_behind KIND BY: inject segments in the client's name at the router's other interface
from_behind() {
	local mac

	mac=$(on r1 cat /sys/class/net/eth1/address)
	on client tests/sys/forge.py eth0 "$1" "$2" 20 --print |
		on server tests/sys/forge.py eth0 send "$mac"
}

@test "segments from the wrong interface are ignored if the stack would filter them" {
	local connections

	# The programs leave it what no stream is the one for.
	DROPS_EXPECTED+=('IP_RPFILTER at .*')
	routed
	begin_traffic
	connections=$(conns r1)
	on r1 sh -c 'echo 1 >/proc/sys/net/ipv4/conf/all/rp_filter'
	lx r1 tunable set tcp fastpath on # checks the interfaces again
	from_behind data 0
	from_behind data 1000000000
	from_behind ack 0
	from_behind old 1000000
	eventually "$PATIENCE" refused interface 40
	unharmed
}
