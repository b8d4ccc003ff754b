#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Packets with a frag_list, as GRO makes of what many drivers receive. Kernels have crashed when they
# took apart what had been cut out of one, so this runs on test machines only. See
# docs/fastpath-reference.md.
bats_require_minimum_version 1.5.0
# The library looks for its programs beside the system tests.
BATS_TEST_DIRNAME=${BATS_TEST_DIRNAME%/vmtest}/tests/sys
GIVE_UP=60 SILENCE=60
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

# shellcheck source=vmtest/cards.bash
source vmtest/cards.bash

CELL=${CELL:-20} # seconds of load at least
LISTS=${LISTS:-10} # such packets at least

setup() {
	net_begin
	if [ "$KIND" != veth ]; then
		cards
		addresses
		return
	fi
	node client r1 server
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	link server eth0 10.2.0.1/24 r1 eth1 10.2.0.11/24
	address client eth0 10.1.0.{2..8}/24
}

teardown() {
	net_end
}

# memory_is_no_page: each driver has its way to receive into such
memory_is_no_page() {
	local card

	case $KIND in
	veth)
		on server ethtool -K eth0 tx off sg off tso off gso off
		on r1 ethtool -K eth1 gro on
		;;
	rtl8139)
		on client ip link set eth0 mtu 4000
		on server ip link set eth0 mtu 4000
		on r1 ip link set eth0 mtu 4000
		on r1 ip link set eth1 mtu 4000
		;;
	*) # when a ring is filled anew; or if there are more than 17 segments
		on server ip link set eth0 mtu 700
		for card in eth0 eth1; do
			on r1 ethtool -G "$card" rx 128
			on r1 ethtool -G "$card" rx 256
		done
		;;
	esac
}

# enough: each has at most eight parts, and others are cut, too
enough() {
	sleep 3
	[ "$(fastpath_sum r1 fragments)" -ge $((LISTS * 10)) ]
}

# A packet of the server has messages for several clients. It is linear, in memory that is no page.
@test "packets with a frag_list and messages for several next hops" {
	memory_is_no_page
	router
	loads 8 get 20k 36000
	sleep "$CELL"
	eventually $((CELL * 10)) enough
	end_load client
	all_arrived "$DIR/client.json"
	ended_well
	[ "$(lists_apart)" -ge "$LISTS" ]
}
