#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# o2iblnd on a kernel's own RDMA: two nodes on one machine, through one rxe device. o2ib-*.bats
# need more machines.
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	rdma_here
}

teardown() {
	logs
	clean
}

@test "without an RDMA device an NI is refused, with the reason" {
	nets_yaml | daemon 1 a
	run ! ctl 1 a net add --net o2ib --if lo
	[[ $output == *"on no RDMA device"* ]]
	run ! ctl 1 a net add --net o2ib --if nosuch
	[[ $output == *"nosuch: there is no such interface"* ]]
	stop 1 a
}

@test "two nodes ping each other; net show, conn show; NIs come and go" {
	nets_yaml 10.9.0.1@o2ib | daemon 1 a
	nets_yaml 10.9.0.2@o2ib | daemon 1 b
	ctl 1 a ping --timeout 30 10.9.0.2@o2ib
	ctl 1 b ping --timeout 30 10.9.0.1@o2ib
	run -0 ctl 1 a net show -v --net o2ib
	[[ $output == *"peer_credits: 8"* && $output == *"peercredits_hiw: 4"* ]]
	run -0 lx 1 a -j conn show
	[ "$(jq -r '.conn[0] | "\(.type) \(.remote)"' <<<"$output")" = "rc 10.9.0.2" ]
	ctl 1 a net del --net o2ib
	run ! ctl 1 b ping --timeout 3 10.9.0.1@o2ib
	ctl 1 a net add --nid 10.9.0.1@o2ib
	ctl 1 b ping --timeout 30 10.9.0.1@o2ib
	ctl 1 b discover 10.9.0.1@o2ib
	stop 1 a
	stop 1 b
}

@test "PUT and GET of all forms, every byte verified" {
	server 1 10.9.0.2@o2ib
	for size in 0 1 3976 3977 65536; do
		load 1 10.9.0.1@o2ib put 10.9.0.2@o2ib -s $size -N 20
	done
	for size in 1 3976 3977 65536 1m; do
		load 1 10.9.0.1@o2ib get 10.9.0.2@o2ib -s $size -N 10
	done
	load 1 10.9.0.1@o2ib put 10.9.0.2@o2ib -s 1m -N 10
	load 1 10.9.0.1@o2ib put 10.9.0.2@o2ib -s 4096 -N 200 -i 64
	stop 1 server
}
