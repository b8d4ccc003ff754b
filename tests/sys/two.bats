#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Two nodes on one net: ping, discovery, bulk both ways.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
LNETX_LOAD=$LNETX_BIN

setup() {
	net_begin
	net_two
	start a
	start b
}

teardown() {
	net_end
}

@test "two nodes ping each other, and several NIDs with one command" {
	pings a 10.1.0.2@tcp
	pings b 10.1.0.1@tcp
	run -0 pings a 10.1.0.2@tcp 10.1.0.1@tcp
	equal "$(grep -c 'primary nid: 10.1.0' <<<"$output")" 2
}

@test "discovery makes both a Multi-Rail peer of the other" {
	run -0 ctl a discover 10.1.0.2@tcp
	[[ $output == *"Multi-Rail: true"* ]]
	# The push that is part of it told b as much about a.
	eventually "$PATIENCE" is_multi_rail b 10.1.0.1@tcp
}

is_multi_rail() {
	ctl "$1" peer show --nid "$2" | grep -q 'Multi-Rail: true'
}

@test "one connection for control and two for bulk, or more on fast links" {
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" all_types a
	# The other side sees each connection with the opposite type.
	eventually "$PATIENCE" mirrored
}

mirrored() {
	equal "$(conns b | sed 's/bulk_in/IN/; s/bulk_out/bulk_in/; s/IN/bulk_out/' |
		awk '{ print $1, $3, $2 }' | sort)" "$(conns a)"
}

all_types() {
	[ "$(conns "$1" | awk '{ print $1 }' | sort -u | tr '\n' ' ')" = "bulk_in bulk_out control " ]
}

@test "an absent peer: no answer, and the reason is shown" {
	run -255 pings a 10.1.0.99@tcp
	[[ $output == *"errno: -"* ]]
	[[ $output == *"10.1.0.99@tcp"* ]]
	run -255 pings a 10.77.0.1@tcp5
	[[ $output == *"10.77.0.1@tcp5: No route to host: no route to tcp5 is configured"* ]]
	run -1 lx a ping 10.1.0.99@tcp timeout 20
	[[ $output == *"No route to host: it is a direct neighbour: no conn"* ]]
	pings a 10.1.0.2@tcp
}

@test "a node on another net, and one without LNet: the reason is shown, also until it is dialled again" {
	lx a net add net tcp7 if eth0
	for _ in 1 2; do
		run -1 lx a ping 10.1.0.2@tcp7
		[[ $output == *"10.1.0.2@tcp7: Connection reset by peer: it is a direct neighbour: it closes our connections unanswered: it has no NI with this NID"* ]]
	done
	log_has b 'it asked for 10.1.0.2@tcp7; this node is 10.1.0.2@tcp: wrong net there'
	lx b -j daemon | jq -e '.daemon[0].refused[0] | .address == "10.1.0.1" and .kind == "nid" and .since'
	[[ $(lx b doctor) == *"advice   10.1.0.1: it asked for 10.1.0.2@tcp7; this node is 10.1.0.2@tcp: wrong net there (since "* ]]
	stop b
	for _ in 1 2; do
		run -1 lx a ping 10.1.0.2@tcp
		[[ $output == *"10.1.0.2@tcp: Connection refused: it is a direct neighbour: no connection to it: Connection refused"* ]]
	done
}

@test "counters count, and can be reset" {
	pings a 10.1.0.2@tcp
	[ "$(stat_of a send_count)" -gt 0 ]
	equal "$(stat_of a drop_count)" 0
	eventually "$PATIENCE" is_reset
}

# Unless the node sends something just then, all by itself.
is_reset() {
	ctl a stats reset
	equal "$(stat_of a send_count)" 0
}

@test "bulk both ways: every byte arrives, in all sizes" {
	local size

	stop a
	stop b
	load_server b 10.1.0.2@tcp
	for size in 0 1 4k 16384 65537 1m; do
		load a 10.1.0.1@tcp put 10.1.0.2@tcp -s $size -N 200 >"$DIR/put.json"
		all_arrived "$DIR/put.json"
		load a 10.1.0.1@tcp get 10.1.0.2@tcp -s $size -N 200 >"$DIR/get.json"
		all_arrived "$DIR/get.json"
	done
}

@test "the load tool finds a wrong byte: the tests above can fail" {
	stop b
	load_server b 10.1.0.2@tcp
	stop a
	run -1 load a 10.1.0.1@tcp put 10.1.0.2@tcp -s 64k -N 20 --damage 10
	grep -q 'byte .* is wrong' "$DIR/b.load"
	end_load b || status=$?
	equal "${status:-0}" 1
}
