#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# How o2iblnd handles another machine's node that is killed or vanishes, and returns.
# tests/rdma/test_rdma.c kills it at each stage of a transfer.
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

@test "a peer that is killed in the middle of transfers, and restarts" {
	server 2 10.77.0.12@o2ib
	"$BIN/lxload" put 10.77.0.12@o2ib -n 10.77.0.11@o2ib -s 1m -t 60 --timeout 5 \
		>/dev/null 2>&1 3>&- &
	client=$!
	sleep 2
	at 2 "kill -9 \$(cat $RUN/server.pid)"
	wait $client || true # its messages failed
	server 2 10.77.0.12@o2ib
	load 1 10.77.0.11@o2ib put 10.77.0.12@o2ib -s 1m -N 3
	stop 2 server
}

@test "a peer that vanishes and restarts: its old connection is dropped" {
	nets_yaml 10.77.0.1@o2ib | daemon 1 a
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	ctl 1 a ping 10.77.0.2@o2ib
	# It cannot close its connections.
	at 2 "modprobe sch_netem && setsid sh -c 'sleep 0.5
		tc qdisc add dev eth0 root netem loss 100%; kill -9 \$(cat $RUN/b.pid); sleep 3
		tc qdisc del dev eth0 root' >/dev/null 2>&1 </dev/null &"
	sleep 6
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	ctl 2 b ping --timeout 20 10.77.0.1@o2ib
	ctl 1 a ping --timeout 20 10.77.0.2@o2ib
	# Only the new connection remains.
	[ "$(lx 1 a -j conn show | jq '.conn | length')" = 1 ]
	stop 1 a
	stop 2 b
}
