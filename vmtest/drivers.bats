#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A router with two cards of the kind $VMTEST_CARD, whose drivers decide what packets are made of.
# Every byte is checked, and every packet that leaves. See "drivers" in docs/vmtest.md.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# The library looks for its programs beside the system tests.
BATS_TEST_DIRNAME=${BATS_TEST_DIRNAME%/vmtest}/tests/sys
GIVE_UP=60 SILENCE=60
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
# shellcheck source=vmtest/cards.bash
source vmtest/cards.bash
# shellcheck source=vmtest/share.bash
source vmtest/share.bash

CELL=${CELL:-5} # seconds of load

setup() {
	net_begin
	cards
}

teardown() {
	[ "${BATS_ERROR_STATUS:-0}" = 0 ] || which_card_stands_still
	net_end
}

# cells LANES 'CLIENTS VERB SIZE'...: one load each
cells() {
	local cell lanes=$1
	shift

	for cell; do
		# shellcheck disable=SC2086 # three words
		shared loads $cell "$CELL"
		printf '# %s, lanes %s, %-9s: %4.0f Mbit/s, %3s %% by lanes\n' "$KIND" "$lanes" \
			"$cell" "$(jq .mbps "$DIR/client.json")" "$(share)" >&3
	done
}

# streams_are STATE: some, and all
streams_are() {
	lx r1 -j stream show | jq -e --arg state "$1" \
		'[.stream[]?.state] | length > 0 and all(. == $state)'
}

# Size, verb, clients and lanes: each value of one with each of another.
@test "PUT and GET of several sizes" {
	addresses
	router
	cells 1 '1 put 4k' '8 get 20k' '8 put 64k' '1 get 1m'
	lanes 3
	cells 3 '8 get 4k' '1 put 20k' '1 get 64k' '8 put 1m'
	lx r1 -j lane show | jq -e --arg server "$SERVER" \
		'[.lane[] | select(.next_hop == $server)] | length >= 3'
	ended_well
}

# setting LETTER CARD WORD...: of ethtool; which a card may not have
setting() {
	on r1 ethtool "$@" || refused+=("${*:1:1} ${*:3}")
}

@test "a card whose settings change under load" {
	local refused=() card what state
	cards_stop
	addresses
	router
	loads 8 get 20k 3600
	for card in eth1 eth0; do
		for what in tso gso gro sg rx tx rxvlan txvlan; do
			for state in off on; do
				setting -K $card $what $state
			done
		done
		setting -G $card rx 128
		setting -L $card combined 1
		setting -C $card rx-usecs 100
		sleep 1
		setting -G $card rx 256
		setting -L $card combined 2
		setting -C $card rx-usecs 3
		on r1 ip link set $card promisc on
		for mtu in 1400 4000 1500; do
			on r1 ip link set $card mtu $mtu || refused+=("mtu $mtu")
			sleep 1
		done
	done
	sleep "$CELL"
	end_load client
	all_arrived "$DIR/client.json"
	printf '# %s refuses %s\n' "$KIND" "$(printf '%s\n' "${refused[@]}" | sort -u |
		paste -sd ,)" >&3
	ended_well
}

# none_wrong: ends the load; while an NI is down, messages are refused
none_wrong() {
	end_load client
	jq -e '.bad == 0 and .messages_total > 0' "$DIR/client.json" ||
		{ cat "$DIR/client.json"; return 1; }
}

# goes_on: messages still go by lanes, or again
goes_on() {
	eventually "$PATIENCE" more_than $(($(fastpath_sum r1 lane_messages) + 100))
}

more_than() {
	[ "$(fastpath_sum r1 lane_messages)" -gt "$1" ]
}

@test "a card that goes down and up under load" {
	cards_stop
	addresses
	router
	loads 8 get 20k 3600
	for card in eth1 eth0; do
		sleep "$CELL"
		on r1 ip link set $card down
		sleep 1
		on r1 ip link set $card up
		goes_on
	done
	none_wrong
	ended_well
}

# cable N off|on: of one of r1's cards; the port leads to QEMU's monitor
cable() {
	local up=1

	[ "$2" = on ] || up=0
	echo "set_link near$1 $2" >"$(echo /dev/vport*p2)"
	eventually "$PATIENCE" on r1 grep -qx $up /sys/class/net/eth$(($1 - 1))/carrier
}

@test "a card whose cable is pulled under load" {
	[ "$KIND" != e1000e ] || skip "QEMU 7.2's e1000e does not tell its driver"
	cards_stop
	addresses
	router
	loads 8 get 20k 3600
	for n in 2 1; do
		sleep "$CELL"
		cable $n off
		sleep 1
		cable $n on
		goes_on
	done
	none_wrong
	ended_well
}

@test "a card whose driver lets go of it under load, and takes it again" {
	cards_stop
	addresses
	router
	loads 8 get 20k 3600
	for cable in 2 1; do
		sleep "$CELL"
		rebind eth$((cable - 1)) $cable
		goes_on
	done
	none_wrong
	ended_well
}

# tagged NODE INTERFACE VLAN ADDRESS...: an NI's place on it
tagged() {
	ip -n "$NS$1" addr flush dev "$2"
	ip -n "$NS$1" link set "$2" up
	ip -n "$NS$1" link add link "$2" name "$2.$3" type vlan id "$3"
	address "$1" "$2.$3" "${@:4}"
}

# router_on INTERFACE INTERFACE: those of its two NIs
router_on() {
	{ nets_yaml tcp1 "$1" tcp2 "$2"; echo 'routing: { enable: 1 }'
		quick_yaml 'conns_per_peer: 1'; } | config r1
	start r1
	fastpath_as_configured r1
	server 1
}

@test "NIs on VLANs of the cards" {
	modprobe 8021q
	no_lro eth0 eth1
	tagged client eth0 7 10.1.0.{1..8}/24
	tagged r1 eth0 7 10.1.0.11/24
	tagged r1 eth1 8 10.2.0.11/24
	tagged server eth0 8 10.2.0.1/24
	router_on eth0.7 eth1.8
	loads 8 get 20k "$CELL"
	loaded
	loads 8 put 64k "$CELL"
	loaded
	ended_well
}

# behind_switch NODE VLAN ADDRESS...: its card becomes a port of the switch lan for all VLANs, and it
# has a port for one
behind_switch() {
	ip -n "$NS$1" link set eth0 netns "${NS}lan" name "cable$2"
	ip -n "${NS}lan" link set "cable$2" master br0 up
	plug "$1" eth0 "$3" lan
	address "$1" eth0 "${@:4}"
	on lan bridge vlan add vid 7-8 dev "cable$2"
	on lan bridge vlan add vid "$2" pvid untagged dev "p-$1"
}

#	client ── VLAN 7 ─┐         ┌── eth0 ─┐                 ┌─ br0.7
#	                 lan ═══════╡         bond0 r1 ── br0 ──┤
#	server ── VLAN 8 ─┘         └── eth1 ─┘                 └─ br0.8
@test "NIs on VLANs of a bridge on a bond whose cards fail" {
	cards_stop
	# The switch does not know at once which card the bond uses, and the bond takes from no other.
	DROPS_EXPECTED+=('UNHANDLED_PROTO at __netif_receive_skb_core.*')
	modprobe -a 8021q bonding
	switch lan
	ip -n "${NS}lan" link set br0 type bridge vlan_filtering 1
	behind_switch client 7 10.1.0.{1..8}/24
	behind_switch server 8 10.2.0.1/24
	no_lro eth0 eth1
	ip -n "${NS}r1" link add bond0 up type bond mode active-backup miimon 100
	ip -n "${NS}r1" link set eth0 master bond0
	ip -n "${NS}r1" link set eth1 master bond0
	ip -n "${NS}r1" link add br0 type bridge
	ip -n "${NS}r1" link set bond0 master br0
	tagged r1 br0 7 10.1.0.11/24
	tagged r1 br0 8 10.2.0.11/24
	router_on br0.7 br0.8
	loads 8 get 20k 3600
	for card in eth0 eth1; do
		sleep "$CELL"
		on r1 ip link set $card down
		goes_on
		on r1 ip link set $card up
	done
	end_load client
	all_arrived "$DIR/client.json"
	ended_well
}

@test "a bond" {
	modprobe bonding
	ip -n "${NS}r1" link add bond0 type bond mode active-backup miimon 100
	ip -n "${NS}r1" link set eth1 down
	ip -n "${NS}r1" link set eth1 master bond0
	# It is on whatever the card does.
	on r1 ethtool -k bond0 | grep '^large-receive-offload: on'
	no_lro eth0 eth1
	address r1 eth0 10.1.0.11/24
	address r1 bond0 10.2.0.11/24
	router_on eth0 bond0
	loads 8 get 64k "$CELL"
	loaded
	ended_well
}

# refused_for_lro: the card gets no new lanes, and lnetxd says why
refused_for_lro() {
	lx r1 -j bpf status | jq -e '[.bpf.hooks[] | select(.interface == "eth1" and
		(.reason // "" | test("ethtool -K eth1 lro off")))] | length > 0'
}

@test "LRO comes on under load, and goes" {
	addresses
	router
	lx r1 guard set mode tc # with XDP, drivers refuse LRO
	no_lro eth0
	on r1 ethtool -K eth1 lro on && on r1 ethtool -k eth1 | grep '^large-receive-offload: on' ||
		skip "the driver has no LRO"
	eventually "$PATIENCE" refused_for_lro
	loads 8 put 64k $((4 * CELL))
	on r1 ethtool -K eth1 lro off
	eventually "$PATIENCE" fastpath_used r1
	on r1 ethtool -K eth1 lro on
	eventually "$PATIENCE" streams_are off
	refused_for_lro
	loaded $((4 * CELL))
	ended_well
}
