#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Memory of lnetxd, in the release build: idle peers, and continuous traffic.
# bats file_tags=router
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_routed
	LNETX_BIN=$LNETX_RELEASE/bin
}

teardown() {
	net_end
}

@test "a thousand idle peers with three connections each: at most 64 MiB" {
	local i from=()

	start_routers
	for i in $(seq 20 39); do
		ip -n "${NS}client" addr add "10.1.0.$i/24" dev eth0
		from+=("10.1.0.$i")
	done
	on client tests/sys/peer.py --net 1 idle 10.1.0.11 1000 "${from[@]}" \
		>"$DIR/idle" 2>&1 3>&- &
	eventually 60 grep '^ready' "$DIR/idle"
	eventually "$PATIENCE" has_idle_peers
	echo "RSS: $(rss_kib r1) KiB"
	[ "$(rss_kib r1)" -le $((64 << 10)) ]
	# And it still answers quickly.
	run -0 on server tests/sys/peer.py --net 2 ping 10.2.0.1 10.2.0.11
}

has_idle_peers() {
	equal "$(lx r1 -j peer show | jq '.peer | length')" 1000 && equal "$(conns r1 | wc -l)" 3000
}

@test "a router's memory is bounded by its pools: it does not grow with traffic" {
	local before after

	start_routers
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	route_load 2
	# Buffers get their memory with their first use, which may be late on a slow machine.
	for _ in 1 2 3 4 5; do
		before=$(rss_kib r1)
		route_load 4
		after=$(rss_kib r1)
		echo "RSS: $before, then $after KiB"
		[ "$after" -gt $((before + (8 << 10))) ] || break
	done
	fastpath_used r1
	[ "$after" -le $((before + (8 << 10))) ]
}

route_load() {
	load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 1m -t "$1" \
		>"$DIR/put.json"
	all_arrived "$DIR/put.json"
}
