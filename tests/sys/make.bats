#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# First sights after cloning: "make help", what the demo installs, what building prints; and for
# a first change, CONTRIBUTING, the format check and which failed tests run again.
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

@test "a release has the version of the Makefile, and its date in the changelog" {
	local dir=$BATS_TEST_TMPDIR/clone version

	version=$(sed -n 's/^VERSION := //p' Makefile)
	equal "$(sed -n 's/^## \[\([^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)" "$version"
	git rev-parse --git-dir || skip "this tree is not a clone"
	mkdir "$dir"
	git ls-files -z | xargs -0 cp -P --parents -t "$dir"
	sed -i "s/^## \[$version\] - .*/## [$version] - 2026-11-30/" "$dir/CHANGELOG.md"
	git -C "$dir" init -q
	git -C "$dir" add -A
	git -C "$dir" -c user.name=test -c user.email=test@localhost commit -qm all
	run -0 env -u MAKEFLAGS make -s -C "$dir" dist
	equal "$output" "build/lnetx-$version.tar.gz"
	diff <(git ls-files | sed "s,^,lnetx-$version/," | sort) \
		<(tar -tzf "$dir/$output" | grep -v '/$' | sort)
	run ! env -u MAKEFLAGS make -s -C "$dir" dist VERSION=9.9.9
	[[ $output == *"CHANGELOG.md has no date for 9.9.9"* ]]
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

@test "the demo says that it needs root before it builds" {
	local dir=$BATS_TEST_TMPDIR

	mkdir "$dir/bin"
	printf '#!/bin/sh\necho 1000\n' >"$dir/bin/id"
	chmod +x "$dir/bin/id"
	PATH=$dir/bin:$PATH run ! env -u MAKEFLAGS make demo B="$dir/b"
	equal "${lines[0]}" "only root can make network namespaces. Next: sudo make demo"
	[[ $output != *building* ]]
	[ ! -e "$dir/b" ]
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

@test "the style check passes over what git does not track, and names it" {
	cd "$BATS_TEST_TMPDIR"
	mkdir -p tests/__pycache__
	cp "$BATS_TEST_DIRNAME/../check-style" tests
	printf '#!/bin/sh\n# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only\n' >tests/check-refs
	chmod +x tests/check-refs
	git init -q
	git add tests
	run -0 tests/check-style
	equal "$output" ""
	printf 'a\0b \n' >tests/__pycache__/lab.pyc
	echo "TO""DO: call Ada" >notes
	run -0 tests/check-style
	equal "$output" 'not checked before "git add": notes tests/__pycache__/lab.pyc'
	git add notes
	run -1 tests/check-style
	[[ $output == *"notes:1: unfinished"* && $output == *"notes:1: no SPDX line"* ]]
	rm -rf .git notes
	run -0 tests/check-style
}

# script FILE <TEXT
script() {
	{ echo '#!/bin/sh'; cat; } >"$1"
	chmod +x "$1"
}

# fake_jobs: a tree in which tests/run finds these jobs: sys/steady passes, sys/first fails the
# first time, sys/broken, sys/leaky and asan/test_x always. Each adds a line to "ran".
# shellcheck disable=SC2016 # bats' own $2
fake_jobs() {
	local run=$PWD/tests/run

	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p bin tests/unit tests/sys tools/dist build/asan/tests
	touch ran tests/unit/test_x.c
	cp "$run" tests/run
	echo 'unit programs bench-programs sys-programs all:' >Makefile
	script tools/dist/deps <<<true
	script tests/sys/sweep <<<true
	script bin/bats <<<'echo 1..1; shift $(($# - 1)); exec "$1"'
	script tests/sys/steady.bats <<<'echo steady >>ran; echo ok 1'
	script tests/sys/first.bats <<<'grep -q first ran && echo ok 1 || echo not ok 1 once
		echo first >>ran'
	script tests/sys/broken.bats <<<'echo broken >>ran; echo not ok 1; exit 1'
	script tests/sys/leaky.bats <<<'echo leaky >>ran; echo not ok 1; echo "# LeakSanitizer: x"'
	script build/asan/tests/test_x <<<'echo "test_x ${LNETX_SEED:-7}" >>ran
		echo "seed: LNETX_SEED=${LNETX_SEED:-7}7"; echo 1..1; echo not ok 1'
	PATH=$PWD/bin:$PATH
}

@test "a test that fails runs once more with its seed, and the summary says so; a leaky one does not" {
	fake_jobs
	run -0 tests/run sys/steady sys/first
	[[ $output == *"not ok 1 once"*"again   sys/first "*"passed when run alone"* ]]
	equal "${lines[-1]}" "2 passed, 0 failed"
	grep 'not ok 1 once' build/log/sys-first.first.log
	equal "$(sort ran | uniq -c | xargs)" "2 first 1 steady"
	: >ran
	run -1 tests/run sys/steady sys/first sys/broken sys/leaky asan/test_x
	equal "$(grep -c '^again ' <<<"$output")" 1
	equal "${lines[-1]}" "2 passed, 3 failed"
	equal "$(sort ran | uniq -c | xargs)" "2 broken 2 first 1 leaky 1 steady 1 test_x 7 1 test_x 77"
	run -0 tests/run sys/steady
	[[ $output != *again* ]]
}
