#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# o2iblnd between two machines, over RoCE on their LAN: what a peer on another kernel, and
# one that vanishes, make of it. Nodes of the load have addresses of their own: .11 and .12.
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	rdma_up 1 eth0 10.77.0.1 10.77.0.11
	rdma_up 2 eth0 10.77.0.2 10.77.0.12
}

teardown() {
	[ "${BATS_TEST_COMPLETED:-}" = 1 ] || logs
	clean
}

# pid_of VM NAME
pid_of() {
	at "$1" "cat $RUN/$2.pid"
}

@test "two machines ping each other, at once, again and again" {
	for _ in 1 2 3; do
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

@test "PUT and GET from 1 byte to 1 MiB both ways, every byte verified" {
	server 2 10.77.0.12@o2ib
	server 1 10.77.0.11@o2ib
	for size in 1 3976 3977 1m; do
		for verb in put get; do
			load 1 10.77.0.1@o2ib $verb 10.77.0.12@o2ib -s $size -N 5
			load 2 10.77.0.2@o2ib $verb 10.77.0.11@o2ib -s $size -N 5
		done
	done
	stop 1 server
	stop 2 server
}

@test "more messages than credits, small ones and RDMA" {
	server 2 10.77.0.12@o2ib
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 64 -N 1000 -i 64
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 8192 -N 200 -i 64
	load 1 10.77.0.1@o2ib get 10.77.0.12@o2ib -s 8192 -N 200 -i 64
	stop 2 server
}

@test "a deeper queue is negotiated down" {
	server 2 10.77.0.12@o2ib
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 8192 -N 50 -i 40 --set o2ib.peer_credits=32
	stop 2 server
	server 2 10.77.0.12@o2ib --set o2ib.peer_credits=32
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 8192 -N 50 -i 40
	stop 2 server
}

@test "checksums, several connections" {
	server 2 10.77.0.12@o2ib --set o2ib.cksum=1
	load 1 10.77.0.1@o2ib put 10.77.0.12@o2ib -s 3000 -N 20 --set o2ib.cksum=1 \
		--set o2ib.conns_per_peer=3
	load 1 10.77.0.1@o2ib get 10.77.0.12@o2ib -s 30000 -N 20 --set o2ib.cksum=1
	stop 2 server
}

@test "a NID the peer does not have, a host that is not there: an error, not a wait" {
	nets_yaml 10.77.0.1@o2ib 10.77.0.1@o2ib5 | daemon 1 a
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	run -255 ctl 1 a ping --timeout 20 10.77.0.2@o2ib5
	at 1 "grep 'peer=10.77.0.2@o2ib5 reason=\"it refuses to connect' $RUN/a.log"
	run -255 ctl 1 a ping --timeout 30 10.77.0.99@o2ib
	ctl 1 a ping 10.77.0.2@o2ib
	stop 1 a
	stop 2 b
}

@test "a peer that is killed in the middle of transfers, and starts again" {
	nets_yaml 10.77.0.1@o2ib | daemon 1 a
	for delay in 0.2 1; do
		server 2 10.77.0.12@o2ib
		"$BIN/lxload" put 10.77.0.12@o2ib -n 10.77.0.11@o2ib -s 1m -t 60 --timeout 5 \
			>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
		client=$!
		sleep 2
		at 2 "sleep $delay; kill -9 \$(cat $RUN/server.pid)"
		wait $client || true # it has seen messages fail
		! grep -E -A 40 'Sanitizer|runtime error' "$BATS_TEST_TMPDIR/out"
	done
	server 2 10.77.0.12@o2ib
	load 1 10.77.0.11@o2ib put 10.77.0.12@o2ib -s 1m -N 3
	stop 1 a
	stop 2 server
}

@test "a peer that vanishes and starts anew: its former life is forgotten" {
	nets_yaml 10.77.0.1@o2ib | daemon 1 a
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	ctl 1 a ping 10.77.0.2@o2ib
	# It has no chance to say goodbye. (The link is not taken down: rxe does not survive
	# a datagram of the CM that meets a link that is down.)
	at 2 "modprobe sch_netem && setsid sh -c 'sleep 0.5
		tc qdisc add dev eth0 root netem loss 100%; kill -9 $(pid_of 2 b); sleep 3
		tc qdisc del dev eth0 root' >/dev/null 2>&1 </dev/null &"
	sleep 6
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	ctl 2 b ping --timeout 20 10.77.0.1@o2ib
	ctl 1 a ping --timeout 20 10.77.0.2@o2ib
	# Only the new connection is left.
	[ "$(lx 1 a -j conn show | jq '.conn | length')" = 1 ]
	stop 1 a
	stop 2 b
}
