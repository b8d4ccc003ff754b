#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Events of the RDMA device below o2iblnd: its port goes down, or it is removed. Errors come at
# once and give the reason; when the device is back, so are the nodes.
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	rdma_two
}

setup() {
	nets_yaml 10.77.0.1@o2ib | daemon 1 a
	nets_yaml 10.77.0.2@o2ib | daemon 2 b
	ctl 1 a ping 10.77.0.2@o2ib
}

teardown() {
	ip link set eth0 up
	logs
	clean
}

# ni_is STATUS: the status of machine 1's NI
ni_is() {
	lx 1 a -j net show net o2ib |
		jq -e ".net[] | .. | objects | select(.interfaces?) | .status == \"$1\""
}

# fails_at_once DESCRIPTION: a ping from machine 1 fails for this reason, not by a timeout
fails_at_once() {
	local start=$SECONDS

	run -255 ctl 1 a ping --timeout 30 10.77.0.2@o2ib
	[[ $output == *"$1"* ]]
	[ $((SECONDS - start)) -lt 15 ]
}

@test "a port that goes down, and up again" {
	ip link set eth0 down
	eventually "$PATIENCE" ni_is down
	grep 'ni=10.77.0.1@o2ib reason="its port is down"' $RUN/a.log
	ctl 1 a ping --timeout 30 10.77.0.2@o2ib || true # it finds that the connection is broken
	fails_at_once "Network is down"
	ip link set eth0 up
	eventually "$PATIENCE" ni_is up
	ctl 1 a ping --timeout 30 10.77.0.2@o2ib
	ctl 2 b ping --timeout 30 10.77.0.1@o2ib
	stop 1 a
	stop 2 b
}

@test "a device that is removed, and another one" {
	# With rxe this waits until all programs have released the device.
	rdma link delete rxe0 3>&- &
	eventually "$PATIENCE" ni_is down
	grep 'ni=10.77.0.1@o2ib reason="its RDMA device is being removed"' $RUN/a.log
	fails_at_once "No such device"
	stop 1 a
	wait $!
	rdma_two
	nets_yaml 10.77.0.1@o2ib | daemon 1 a
	ctl 1 a ping --timeout 30 10.77.0.2@o2ib
	ctl 2 b ping --timeout 30 10.77.0.1@o2ib
	stop 1 a
	stop 2 b
}
