#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# PUTs of o2iblnd between two machines, over RoCE on their LAN: every byte is verified. The load
# uses addresses of its own: .11 and .12.
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	rdma_two
	server 2 10.77.0.12@o2ib
	server 1 10.77.0.11@o2ib
}

teardown() {
	logs
}

teardown_file() {
	clean
}

@test "PUT from 1 byte to 1 MiB, both ways" {
	for size in 1 3976 3977 1m; do
		load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s $size -N 5
		load 2 10.77.0.2@o2ib put 10.77.0.11@o2ib -s $size -N 5
	done
}

@test "more PUTs than credits, small ones and RDMA" {
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 64 -N 1000 -i 64
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 8192 -N 200 -i 64
}

@test "the servers found no error" {
	stop 1 server
	stop 2 server
}
