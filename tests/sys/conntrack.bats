#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A router whose netfilter drops what conntrack calls invalid: that is nothing of ours.
# bats file_tags=router
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	command -v nft >/dev/null || skip "needs nft(8)"
	net_routed
	on r1 nft -f - <<-E || skip "this kernel has no conntrack, or no nftables"
		table inet test {
			chain in { type filter hook input priority 0; ct state invalid counter drop
				ct state established counter; }
			chain through { type filter hook forward priority 0
				ct state invalid counter drop; }
			chain out { type filter hook output priority 0; ct state invalid counter drop
				ct state established counter; }
		}
	E
}

teardown() {
	net_end
}

# matched STATE: how many packets in that state each chain has seen
matched() {
	on r1 nft list table inet test | sed -n "s/.*ct state $1 counter packets \([0-9]*\).*/\1/p" |
		xargs
}

routed_by() {
	[ "$(stat_of r1 route_count)" -gt "$1" ]
}

@test "no packet of a router is invalid to conntrack" {
	start_routers 1
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	begin_load client 10.1.0.1@tcp1 get 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 64k -t 300
	for _ in 1 2 3; do
		eventually "$PATIENCE" routed_by $(($(stat_of r1 route_count) + 300))
		[ "$LNETX_BPF" = off ] || { lx r1 bpf off; lx r1 bpf on; }
	done
	eventually "$PATIENCE" routed_by $(($(stat_of r1 route_count) + 300))
	eventually "$PATIENCE" fastpath_used r1
	end_load client
	all_arrived "$DIR/client.json"
	[[ $(matched established) =~ ^[1-9][0-9]*\ [1-9][0-9]*$ ]]
	equal "$(matched invalid)" "0 0 0"
}
