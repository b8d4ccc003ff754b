#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# What you see after cloning: "make help", what the demo installs, what building prints; and for
# a first change, CONTRIBUTING and the format check.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

@test "make help lists the existing targets, and needs nothing installed" {
	local target

	run -0 make help PKG_CONFIG=false BPF_CC=none
	for target in demo check bench vmtest fuzz deps install uninstall clean; do
		[[ $output == *"make $target"* ]] || { echo "not told of: $target"; false; }
	done
	while read -r _ target; do
		grep -qE "^([a-z]+ )*$target( [a-z]+)*:" Makefile tools/bench/bench.mk ||
			{ echo "no target: $target"; false; }
	done < <(grep -oE 'make [a-z][a-z0-9-]*' <<<"$output")
}

@test "the demo installs what it needs and nothing else" {
	local needed package

	needed=$(tools/dist/deps -l build demo)
	for package in gcc make libbpf-dev iproute2 python3; do
		grep -qx "$package" <<<"$needed" || { echo "not installed: $package"; false; }
	done
	for package in iperf3 perftest bats libcmocka-dev python3-docutils qemu-system-x86; do
		! grep -qx "$package" <<<"$needed" || { echo "installed: $package"; false; }
	done
	grep -A 1 '^demo:' tools/bench/bench.mk | grep -q 'tools/dist/deps build demo$'
}

@test "progress prints one line while it builds, and the compiler's output if that fails" {
	local object=user/base/nid.o dir=$BATS_TEST_TMPDIR/b

	run -0 env -u MAKEFLAGS tools/dist/progress B="$dir" "$dir/$object"
	equal "$output" "building: 1 files ..."
	[ -s "$dir/$object" ]
	rm "$dir/$object"
	run ! env -u MAKEFLAGS tools/dist/progress B="$dir" CPPFLAGS=-Dlx_nid_parse=1 "$dir/$object"
	[[ $output == *error:* ]]
	rm -f "$dir/$object"
	V=1 run -0 env -u MAKEFLAGS tools/dist/progress B="$dir" V=1 "$dir/$object"
	[[ $output == *"-c user/base/nid.c"* ]]
}

@test "the files that CONTRIBUTING names exist" {
	local path n=0

	while read -r path; do
		[ -e "$path" ] || { echo "no $path"; false; }
		n=$((n + 1))
	done < <(tr '\140' '\n' <CONTRIBUTING.md | grep -xE '[A-Za-z0-9_.-]+/[A-Za-z0-9_./-]*' |
		 grep -v /NAME/ | sort -u)
	[ "$n" -gt 30 ]
}

@test "the format of changed lines is checked, that of others is not" {
	local check=$PWD/tests/check-format

	cp .clang-format "$BATS_TEST_TMPDIR"
	cd "$BATS_TEST_TMPDIR"
	git init -q -b main
	git config user.name test
	git config user.email test@localhost
	printf 'int  old( int a ){return a;}\n\nint fine;\n' >a.c
	git add . && git commit -q -m first
	run -0 "$check"
	printf '\nint good(int a)\n{\n\treturn a;\n}\n' >>a.c
	run -0 "$check"
	printf '\nint bad( int a ){return a;}\n' >>a.c
	run -1 "$check"
	[[ $output == *"-int bad( int a )"*"+int bad(int a)"*"git clang-format"* ]]
	[[ $output != *"-int  old"* ]]
	run -2 "$check" nosuch
}
