#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Scripted peers of older releases: protocol versions 1 to 3, IP lists in HELLOs, the other byte
# order. They know no later version, so both sides must negotiate.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_two
	start a
	ips=$(seq -s, 1 16)
}

teardown() {
	net_end
}

# old OPTION...: run an old node in the place of b
old() {
	on b tests/sys/peer.py "$@" serve 10.1.0.2 >"$DIR/b.log" 2>&1 3>&- &
	eventually "$PATIENCE" log_has b ready
}

# a pings it: the old version must be discovered.
asked() {
	old "$@"
	ctl a ping --timeout 10 10.1.0.2@tcp
	run -0 ctl a discover 10.1.0.2@tcp
	[[ $output == *"primary nid: 10.1.0.2@tcp"* ]]
}

versions() {
	lx a -j conn show | jq -r '.conn[].version' | sort -u | tr '\n' ' '
}

@test "we dial a peer that speaks V3, as 2.15 does" {
	asked --version 3
	equal "$(versions)" "3 "
}

@test "we dial a peer that speaks V3 and lists its IPs, as 2.12 does" {
	asked --version 3 --ips "$ips"
	equal "$(versions)" "3 "
}

@test "we dial a peer that speaks V2 only: one more attempt per connection" {
	asked --version 2 --ips "$ips"
	equal "$(versions)" "2 "
	log_has b "refused version 3"
}

@test "we dial a peer that speaks V1 only" {
	asked --version 1 --ips "$ips"
	equal "$(versions)" "1 "
}

@test "we dial a peer with the other byte order" {
	asked --version 3 --big-endian
}

@test "peers of V1, V2, V3 and V4 dial us" {
	local v

	for v in 1 2 3 4; do
		equal "$(on b tests/sys/peer.py --version $v ping 10.1.0.2 10.1.0.1)" \
			"0@lo 10.1.0.1@tcp"
	done
}

@test "peers that list IPs dial us, in both byte orders" {
	local v

	for v in 1 2 3; do
		equal "$(on b tests/sys/peer.py --version $v --ips "$ips" ping 10.1.0.2 10.1.0.1)" \
			"0@lo 10.1.0.1@tcp"
	done
	for v in 2 3 4; do
		equal "$(on b tests/sys/peer.py --version $v --big-endian ping 10.1.0.2 10.1.0.1)" \
			"0@lo 10.1.0.1@tcp"
	done
}

@test "an unknown version is answered with ours and no type" {
	run ! on b tests/sys/peer.py --version 9 ping 10.1.0.2 10.1.0.1
	[[ $output == *"version 3, type 0xffffffff"* ]]
}
