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

	version=$(sed -n 's/^#define LX_VERSION "\(.*\)"/\1/p' include/lnetx/version.h)
	equal "$(sed -n 's/^## \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -n 1)" "$version"
	equal "$(grep -oE 'lnetx_[0-9.]+[0-9]' docs/tutorial.md | sort -uV | head -n 1)" "lnetx_$version"
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

@test "a package installs what it needs and nothing else, and says by which command" {
	local dir=$BATS_TEST_TMPDIR package

	needed=$(tools/dist/deps -l build man deb)
	for package in gcc debhelper python3-docutils; do
		grep -qx "$package" <<<"$needed" || { echo "not installed: $package"; false; }
	done
	for package in rpm rpmlint lintian mmdebstrap systemd-container bats; do
		! grep -qx "$package" <<<"$needed" || { echo "installed: $package"; false; }
	done
	[[ $(tools/dist/deps -l -m dnf build man rpm) != *debhelper* ]]
	# A user on a machine without any of it.
	mkdir "$dir/bin"
	printf '#!/bin/sh\necho 1000\n' >"$dir/bin/id"
	printf '#!/bin/sh\nexit 1\n' >"$dir/bin/dpkg-query"
	chmod +x "$dir/bin/id" "$dir/bin/dpkg-query"
	PATH=$dir/bin:$PATH run ! env -u MAKEFLAGS make package
	[[ $output == *"Next: sudo tools/dist/deps build man deb"* ]]
	PATH=$dir/bin:$PATH run ! env -u MAKEFLAGS make package-rpm
	[[ $output == *"Next: sudo tools/dist/deps build man rpm"* ]]
	PATH=$dir/bin:$PATH run ! tools/dist/deps
	[[ $output == *"Next: sudo tools/dist/deps"$'\n'* || $output == *"Next: sudo tools/dist/deps" ]]
	run -2 tools/dist/deps -l build nosuch
	[[ $output == *"no group \"nosuch\""* ]]
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

# python CODE: with what the demo and the bench have
python() {
	python3 -c "import sys; sys.path.insert(0, 'tools/bench'); import lab; $1" "${@:2}"
}

@test "what the demo starts and does not start: why, and the end of its log" {
	local dir=$BATS_TEST_TMPDIR

	[ "$(id -u)" = 0 ] || skip "needs root"
	mkdir "$dir/bin"
	printf '#!/bin/sh\nseq -f "line %%g" 20 >&2; exit 3\n' >"$dir/bin/lnetxd"
	printf '#!/bin/sh\necho "lnetx: no lnetxd" >&2; exit 1\n' >"$dir/bin/lnetx"
	chmod +x "$dir"/bin/*
	run -1 tools/bench/demo --programs "$dir"
	[[ $output == *"demo: lnetxd in router1 does not start: it has ended with status 3; its log:"$'\n    line 11\n'*"line 20" ]]
	# One that is too slow, or hangs: with what it answered.
	echo reason >"$dir/log"
	run -1 python 'import subprocess, types; p = subprocess.Popen(["sleep", "9"]); p.log = sys.argv[1]
try:
    lab.until(lambda: False, "it is not up", p, 0.1, asked=lambda: types.SimpleNamespace(stderr="starting\n"))
except lab.LabError as e: p.kill(); sys.exit(str(e))' "$dir/log"
	equal "$output" "it is not up: it runs, but not as it should, after 0.1 s; its log:
    reason
    starting"
	[ "$(python 'print(lab.PATIENCE_S)')" -ge 60 ]
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
# first time, sys/broken, sys/leaky and asan/test_x always; the last one leaks as it fails. Each adds
# a line to "ran".
# shellcheck disable=SC2016 # bats' own $2
fake_jobs() {
	local run=$PWD/tests/run

	cd "$BATS_TEST_TMPDIR" || return
	mkdir -p bin tests/unit tests/sys tools/dist build/asan/tests
	touch ran tests/unit/test_x.c
	cp "$run" "${run%/run}/changed" tests
	echo 'unit programs bench-programs sys-programs all:' >Makefile
	script tools/dist/deps <<<true
	# shellcheck disable=SC2016 # of that script
	script tools/dist/as-owner <<<'exec "$@"'
	printf '# seconds\nsys/steady 10 1\nsys/broken 30 1\nsys/leaky 20 30\n' >tests/durations
	script tests/sys/sweep <<<true
	script bin/bats <<<'echo 1..1; shift $(($# - 1)); exec "$1"'
	script tests/sys/steady.bats <<<'echo steady >>ran; echo ok 1'
	script tests/sys/first.bats <<<'grep -q first ran && echo ok 1 || echo not ok 1 once
		echo first >>ran'
	script tests/sys/broken.bats <<<'echo broken >>ran; echo not ok 1; exit 1'
	script tests/sys/leaky.bats <<<'echo leaky >>ran; echo not ok 1; echo "# LeakSanitizer: x"'
	script build/asan/tests/test_x <<<'echo "test_x ${LNETX_SEED:-7}" >>ran
		echo "seed: LNETX_SEED=${LNETX_SEED:-7}7"; echo 1..1; echo not ok 1
		echo "==1==ERROR: LeakSanitizer: detected memory leaks"
		echo "SUMMARY: AddressSanitizer: 9 byte(s) leaked in 1 allocation(s)."'
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
	[[ $output != *passed\ when\ run\ alone* ]]
}

@test "the longest job starts first, those of unknown time before it; the last lines say how long" {
	fake_jobs
	run -1 tests/run -j 1 'sys/*'
	equal "$(xargs <ran)" "first broken leaky steady first broken"
	[[ ${lines[-2]} == "time: "*" s: building "*" s, jobs "*" s, again "*" s; CPU "*"; longest: sys/"* ]]
	: >ran
	# More at a time while their CPU time allows it.
	# shellcheck disable=SC2016 # of that script
	for job in steady broken; do
		script tests/sys/$job.bats <<<'echo x >>ran
			until [ "$(wc -l <ran)" = 2 ]; do sleep 0.05; done; echo ok 1'
	done
	run -0 tests/run sys/steady sys/broken
	equal "${lines[-1]}" "2 passed, 0 failed"
	: >ran
	# A new table: of those that ran, and the others that still exist.
	echo 'sys/gone 99 9' >>tests/durations
	run -0 tests/run -d sys/first
	equal "$(awk '{ print $1 }' tests/durations | xargs)" "# sys/broken sys/leaky sys/steady sys/first"
}

# built PROGRAM OBJECT...: it is made of these, and of one from an archive; OBJECT: NAME.o=SOURCE,...
built() {
	local program=build/asan/$1 object
	shift

	mkdir -p "${program%/*}"
	: >"$program.inputs"
	for object in "$@"; do
		mkdir -p "build/asan/${object%/*}"
		echo "build/asan/${object%%=*}: ${object#*=}" | tr , ' ' >"build/asan/${object%.o=*}.d"
		echo "build/asan/${object%%=*}" >>"$program.inputs"
	done
	echo "(build/asan/lib.a)one.o" >>"$program.inputs"
}

# touches FILE: the jobs that a change of this file may touch
touches() {
	echo change >>"$1"
	tests/run -l --changed | xargs
	rm "$1"
	git checkout -q .
}

@test "--changed: the jobs that a change can touch, by what was built of what" {
	local name

	fake_jobs
	mkdir -p user docs tests/docs tests/golden tests/fuzz build/fuzz/tests
	touch tests/golden/test_g.c tests/fuzz/fuzz_f.c build/{asan/tests/test_g,fuzz/tests/fuzz_f}.inputs
	touch README.md docs/README.md tests/check-docs user/a.c user/a.h user/b.c user/one.c tests/sys/lib.bash tests/unit/test_y.c
	echo "names tests/docs/run" >tests/sys/steady.bats
	printf '%s\n' '/build/' '/ran' >.gitignore
	git init -q
	git add .
	git -c user.name=test -c user.email=test@localhost commit -qm all
	built lib one.o=user/one.c
	built tests/test_x user/a.o=user/a.c,user/a.h
	built tests/test_y user/b.o=user/b.c
	for name in bin/lnetxd bin/lnetx bin/lxload tests/packets tests/streams; do
		built $name user/b.o=user/b.c
		mkdir -p "build/release/${name%/*}"
		cp "build/asan/$name.inputs" "build/release/$name.inputs"
	done
	local all checks systems
	all=$(tests/run -l | xargs)
	checks=$(tests/run -l 'check/*' | xargs)
	systems=$(tests/run -l 'sys/*' | xargs)
	equal "$(tests/run -l --changed | xargs)" "$checks"
	equal "$(touches user/a.h)" "$checks asan/test_x"
	equal "$(touches user/b.c)" "$checks asan/test_y $systems"
	equal "$(touches user/one.c)" "$checks asan/test_x asan/test_y $systems"
	equal "$(touches tests/sys/lib.bash)" "$checks $systems"
	equal "$(touches tests/sys/first.bats)" "$checks sys/first"
	equal "$(touches tests/docs/run)" "$checks sys/steady"
	equal "$(touches tests/unit/test_z.c)" "$checks asan/test_z"
	equal "$(touches README.md)" "$checks"
	# Neither a source nor known by name.
	equal "$(touches Makefile)" "$all"
	# Built never: it may be made of anything.
	rm build/asan/tests/test_x.inputs
	equal "$(touches user/b.c)" "$checks asan/test_x asan/test_y $systems"
	git -c user.name=test -c user.email=test@localhost commit -qm two --allow-empty
	run -0 tests/run -l --changed HEAD~1 'sys/*'
	equal "$output" ""
	run -2 tests/run --changed HEAD~1 'sys/*'
	[[ $output == *"no job matches: --changed HEAD~1 sys/*"* ]]
}

@test "tests read JSON without gojq, too" {
	# shellcheck disable=SC2016 # for the inner shell
	FUNCNEST=50 run -0 bash -c 'command() { [ "$*" != "-v gojq" ] && builtin command "$@"; }
		source "$0/lib.bash"
		echo "{\"a\":1}" | jq -c .a
		echo "{\"a\":1}" | jq -e .a' "$BATS_TEST_DIRNAME"
	[ "$output" = $'1\n1' ]
}
