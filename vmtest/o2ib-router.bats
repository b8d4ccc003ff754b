#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A router between tcp and o2ib, three machines:
#
#	1 client 10.77.0.1@tcp ──── 2 router .2@tcp, .2@o2ib ──── 3 server 10.77.0.3@o2ib
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	rdma_up 1 eth0 10.77.0.1
	rdma_up 2 eth0 10.77.0.2
	rdma_up 3 eth0 10.77.0.3
}

setup() {
	{ nets_yaml 10.77.0.2@tcp 10.77.0.2@o2ib; echo 'routing: { enable: 1 }'; } | daemon 2 r
}

teardown() {
	logs
	clean
}

@test "bulk from tcp to o2ib and back, every byte verified" {
	server 3 10.77.0.3@o2ib -r tcp=10.77.0.2@o2ib
	for size in 1 3976 3977 65536 1m; do
		for verb in put get; do
			load 1 10.77.0.1@tcp $verb 10.77.0.3@o2ib -r o2ib=10.77.0.2@tcp -s $size -N 5
		done
	done
	stop 3 server
	lx 2 r -j stats show | jq -e '.statistics.route_count > 100'
	stop 2 r
}

@test "bulk from o2ib to tcp and back, every byte verified" {
	server 1 10.77.0.1@tcp -r o2ib=10.77.0.2@tcp
	for size in 1 3977 1m; do
		for verb in put get; do
			load 3 10.77.0.3@o2ib $verb 10.77.0.1@tcp -r tcp=10.77.0.2@o2ib -s $size -N 5
		done
	done
	stop 1 server
	stop 2 r
}
