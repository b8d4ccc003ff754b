#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# o2ib nets without an RDMA device; make vmtest covers them with one.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_two
	start a
}

teardown() {
	net_end
}

@test "an NI without an RDMA device is refused, with the reason and what to do" {
	# Whatever RDMA devices the machine has, none is on this test's veth.
	run ! ctl a net add --net o2ib --if eth0
	[[ $output == *"errno: -6"* ]]
	[[ $output == *"its address is on no RDMA device"* ]]
	log_has a 'ni=10.1.0.1@o2ib .*is on no RDMA device.* next="see rdma link'
	# It leaves nothing behind, and the rest works.
	run -0 lx a -j net show
	[ "$(jq '[.net[] | select(.["net type"] == "o2ib")] | length' <<<"$output")" = 0 ]
	run ! ctl a net add --net o2ib --if eth0
	pings a 10.1.0.1@tcp
}

@test "so is a configuration with such an NI" {
	nets_yaml tcp eth0 o2ib eth0 | config b
	spawn b -c "$DIR/b.yaml"
	if wait "${daemon_pid[b]}"; then false; fi
	unset "daemon_pid[b]"
	log_has b 'o2ib.*its address is on no RDMA device'
	sane "$DIR/b.log"
}

@test "tunables of o2ib are shown and checked" {
	run -0 lx a -j tunable show
	[[ $output == *peer_credits_hiw* ]]
	echo 'tunables: { o2ib: { service: 0 } }' >"$DIR/bad.yaml"
	run ! on a "$LNETX_BIN/lnetxd" -t -c "$DIR/bad.yaml"
	[[ $output == *"o2ib: service: "* ]]
}
