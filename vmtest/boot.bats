#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Whether a test machine is what the other suites expect.

@test "the kernel is the requested one" {
	[[ $(uname -r) == "$VMTEST_KERNEL"* ]]
}

@test "files can be written, and stay in the machine" {
	echo hello >"$BATS_TEST_TMPDIR/file"
	[ "$(<"$BATS_TEST_TMPDIR/file")" = hello ]
	findmnt -n -o FSTYPE / | grep overlay
}

@test "modules can be loaded, namespaces and links created" {
	ip netns add one
	ip link add veth0 type veth peer name veth1 netns one
	ip netns delete one
}

@test "the programs of the build run" {
	build/release/bin/lnetx --version
}
