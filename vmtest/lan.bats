#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Machines reach each other, and run commands for each other.

@test "every machine runs commands and returns output and status" {
	for vm in 2 3; do
		[ "$(vmtest/on $vm hostname)" = vm$vm ]
		run vmtest/on $vm 'echo wrong; exit 7'
		[ "$status" = 7 ]
		[ "$output" = wrong ]
	done
}

@test "the other machines reach each other" {
	vmtest/on 2 busybox ping -c 1 -W 5 10.77.0.3
}

@test "large packets arrive" {
	busybox ping -c 1 -W 5 -s 8000 10.77.0.2
}
