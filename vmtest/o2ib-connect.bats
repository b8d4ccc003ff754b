#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# How o2iblnd on two machines connects, over RoCE on their LAN; or fails to.
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	rdma_two
}

teardown() {
	logs
	clean
}

@test "two machines ping each other, at once, and again after a restart" {
	for _ in 1 2; do
		nets_yaml 10.77.0.1@o2ib | daemon 1 a
		nets_yaml 10.77.0.2@o2ib | daemon 2 b
		vmtest/on 2 "sleep 0.3; LNETX_RUNDIR=$RUN LNETX_INSTANCE=b $BIN/lnetctl ping 10.77.0.1@o2ib" \
			>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		sleep 0.3
		ctl 1 a ping 10.77.0.2@o2ib
		wait $! || { cat "$BATS_TEST_TMPDIR/out"; false; }
		stop 1 a
		stop 2 b
	done
}

@test "a deeper queue is negotiated down, whichever side has it" {
	server 2 10.77.0.12@o2ib
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 8192 -N 50 -i 40 --set o2ib.peer_credits=32
	stop 2 server
	server 2 10.77.0.12@o2ib --set o2ib.peer_credits=32
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 8192 -N 50 -i 40
	stop 2 server
}

@test "several connections to a peer" {
	server 2 10.77.0.12@o2ib
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 30000 -N 30 --set o2ib.conns_per_peer=3
	stop 2 server
}

@test "a NID that the peer lacks, a host that does not exist: an error, not a wait" {
	nets_yaml 10.77.0.1@o2ib 10.77.0.1@o2ib5 | daemon 1 a
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	run -255 ctl 1 a ping --timeout 20 10.77.0.2@o2ib5
	at 1 "grep 'peer=10.77.0.2@o2ib5 reason=\"connection rejected' $RUN/a.log"
	run -255 ctl 1 a ping --timeout 30 10.77.0.99@o2ib
	ctl 1 a ping 10.77.0.2@o2ib
	stop 1 a
	stop 2 b
}
