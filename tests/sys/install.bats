#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# "make install": complete, usable from outside, and gone after "make uninstall".
# And that the checks of the sources find what they look for.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	DIR=$BATS_TEST_TMPDIR
	USR=$DIR/usr
	export PKG_CONFIG_PATH=$USR/lib/pkgconfig LD_LIBRARY_PATH=$USR/lib
}

teardown() {
	net_end
}

install_all() {
	make -s install B="$LNETX_RELEASE" PREFIX="$USR" >"$DIR/make.log" 2>&1 3>&- ||
		{ cat "$DIR/make.log"; return 1; }
}

# Builds the README's example against what is installed and nothing else.
build_example() {
	cp examples/putget.c "$DIR"
	(
		cd "$DIR" || exit 1
		# shellcheck disable=SC2046 # options
		cc -Wall -Wextra -Werror putget.c -o putget $(pkg-config "$@" lnetx) -pthread
	)
}

# Runs it as the comment in its head says: as an unprivileged user.
run_example() {
	[ "$(id -u)" = 0 ] || skip "needs root for a network namespace"
	net_begin
	node a
	local putget=(on a setpriv --reuid nobody --regid nogroup --clear-groups
		--bounding-set -all "$DIR/putget")

	chmod a+x "$BATS_RUN_TMPDIR" # so that the user can reach the program
	"${putget[@]}" 127.0.0.1 >"$DIR/served" 2>&1 3>&- &
	eventually "$PATIENCE" "${putget[@]}" 127.0.0.2 127.0.0.1 'hello, LNet'
	run -0 "${putget[@]}" 127.0.0.2 127.0.0.1 'once more'
	equal "$output" "got back: once more"
	equal "$(tail -n 2 "$DIR/served")" "127.0.0.2@tcp put 9 bytes
127.0.0.2@tcp got 9 bytes"
}

# The other library's: it follows an lnetxd in a namespace of its own.
build_watch() {
	cp examples/watch.c "$DIR"
	(
		cd "$DIR" || exit 1
		# shellcheck disable=SC2046 # options
		cc -Wall -Wextra -Werror watch.c -o watch $(pkg-config "$@" lnetxctl)
	)
}

run_watch() {
	[ "$(id -u)" = 0 ] || skip "needs root for a network of its own"
	net_begin
	node a
	nets_yaml tcp lo | config a
	start a
	on a "$DIR/watch" tcp7 127.0.0.9@tcp >"$DIR/watched" 2>&1 3>&- &
	# Changes until one arrives: the first ones may be before the subscription.
	eventually "$PATIENCE" sees_change
	[[ $(ctl a route show) == *"gateway: 127.0.0.9@tcp"* ]]
	stop a
	eventually "$PATIENCE" grep -q 'watch: lost the connection to lnetxd' "$DIR/watched"
	run -1 on a "$DIR/watch"
	[[ $output == "watch: no lnetxd runs "* ]]
}

sees_change() {
	lx a route add net tcp8 via 127.0.0.9@tcp
	lx a route del net tcp8
	grep -q '^route add' "$DIR/watched"
}

@test "the example is built with pkg-config against the shared library, and works" {
	install_all
	build_example --cflags --libs
	[[ $(readelf -d "$DIR/putget") == *liblnetx.so.2* ]]
	run_example
}

@test "the same with the static library" {
	install_all
	rm "$USR"/lib/liblnetx.so*
	build_example --static --cflags --libs
	[[ $(readelf -d "$DIR/putget") != *liblnetx* ]]
	run_example
}

@test "the example of liblnetxctl is built against the shared library, and works" {
	install_all
	build_watch --cflags --libs
	[[ $(readelf -d "$DIR/watch") == *liblnetxctl.so.0* ]]
	run_watch
}

@test "the same with the static liblnetxctl" {
	install_all
	rm "$USR"/lib/liblnetxctl.so*
	build_watch --static --cflags --libs
	[[ $(readelf -d "$DIR/watch") != *liblnetx* ]]
	run_watch
}

# exports LIBRARY VERSION HEADER...: no more and no less than the headers declare
exports() {
	nm -D --defined-only "$USR/lib/$1.so" | sed 's/.* //; s/@.*//' | grep -v "^$2\$" |
		sort >"$DIR/exported"
	tools/dist/symbols "${@:3}" | sort >"$DIR/declared"
	diff "$DIR/declared" "$DIR/exported"
}

@test "the shared libraries export what their headers declare, no more and no less" {
	local header headers=()

	install_all
	for header in "$USR"/include/lnetx/*.h; do
		[[ $header == */ctl.h ]] || headers+=("$header")
	done
	exports liblnetx LNETX_1 "${headers[@]}"
	grep -q '^lx_put$' "$DIR/exported"
	exports liblnetxctl LNETXCTL_0 "$USR/include/lnetx/ctl.h"
	grep -q '^lx_ctl_start$' "$DIR/exported"
}

@test "the library needs no libbpf, neither shared nor static: that is the daemon's" {
	install_all
	[[ $(ldd "$USR/lib/liblnetx.so") == *libuv* ]]
	[[ $(ldd "$USR/lib/liblnetx.so") != *libbpf* ]]
	[[ $(pkg-config --static --libs lnetx) != *-lbpf* ]]
	[[ $(ldd "$USR/sbin/lnetxd") == *libbpf* ]]
}

@test "liblnetxctl needs libmnl and nothing else of what nodes need" {
	install_all
	[[ $(ldd "$USR/lib/liblnetxctl.so") == *libmnl* ]]
	run -1 grep -E 'libbpf|libuv|libyaml|ibverbs|rdmacm|liblnetx' < <(ldd "$USR/lib/liblnetxctl.so" |
		grep '=>')
	equal "$(pkg-config --static --libs lnetxctl)" "-L$USR/lib -llnetxctl -lmnl "
}

@test "each public header can be included alone, in C and in C++" {
	local header

	install_all
	for header in "$USR"/include/lnetx/*.h; do
		echo "#include <lnetx/${header##*/}>" >"$DIR/alone.c"
		cc -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$USR/include" "$DIR/alone.c"
		g++ -x c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only \
			-I"$USR/include" "$DIR/alone.c"
	done
}

# From C++11 on; pedantic, so that headers use no C extension.
@test "a C++ program is compiled and linked against what is installed, and works" {
	local compiler std

	install_all
	for compiler in g++ clang++; do
		for std in c++11 c++20; do
			# shellcheck disable=SC2046 # options
			"$compiler" -std=$std -Wall -Wextra -Wpedantic -Werror tests/sys/cplusplus.cc \
				-o "$DIR/cplusplus" $(pkg-config --cflags --libs lnetx) -pthread
			run -0 "$DIR/cplusplus"
			equal "$output" "from C++, 10.1.2.3@tcp4 on tcp4, shade 4"
		done
	done
}

@test "a C++ program with liblnetxctl is compiled, linked, and works" {
	local compiler std

	[ "$(id -u)" = 0 ] || skip "needs root for a network of its own"
	install_all
	net_begin
	node a
	nets_yaml tcp lo | config a
	start a
	for compiler in g++ clang++; do
		for std in c++11 c++20; do
			# shellcheck disable=SC2046 # options
			"$compiler" -std=$std -Wall -Wextra -Wpedantic -Werror tests/sys/cplusplus_ctl.cc \
				-o "$DIR/cplusplus" $(pkg-config --cflags --libs lnetxctl)
			run -0 on a "$DIR/cplusplus" "$LNETX_RUNDIR"/*.sock
			[[ $output == "lnetxd "*", tunable 3, ping 0@lo: 0" ]]
		done
	done
}

# installed PAGE...
installed() {
	local page

	for page; do
		[ -s "$USR/share/doc/lnetx/spec/$page" ] || [ -s "$USR/share/doc/lnetx/$page" ] ||
			{ echo "not installed: $page"; return 1; }
	done
}

@test "pages that the public headers cite are installed" {
	local cited

	install_all
	cited=$(grep -ohE '[a-z0-9]+\.md' "$USR"/include/lnetx/*.h | sort -u)
	[[ $cited == *lnet.md* ]]
	# shellcheck disable=SC2086 # words
	installed $cited
}

@test "pages that manual pages cite are installed" {
	local cited

	install_all
	cited=$(find "$USR/share/man" -type f -exec cat {} + | sed 's,\\,,g' |
		grep -oE '[a-z0-9-]+\.md' | sort -u)
	[[ $cited == *metrics.md* ]]
	# shellcheck disable=SC2086 # words
	installed $cited
}

@test "links of installed pages lead to what is installed" {
	local doc=$USR/share/doc/lnetx top=$PWD

	install_all
	grep -q '](docs/library.md' README.md && grep -q '](../CHANGELOG.md)' docs/stability.md
	cd "$doc"
	# shellcheck disable=SC2046 # words
	run "$top/tests/check-docs" $(find . -name '*.md')
	run ! grep 'link to nowhere' <<<"$output"
	grep -q '](operations.md' README.md
	# Packages have the changelog beside the pages.
	cp "$top/CHANGELOG.md" "$top/docs/stability.md" .
	(cd "$top" && tools/dist/links "$doc")
	grep -F 'the changelog](CHANGELOG.md)' stability.md
	grep -F '](stability.md)' CHANGELOG.md
	run ! grep -F '](docs/' CHANGELOG.md
}

# without_user [COMMAND...]: installs where user lnetx is missing, and these commands
without_user() {
	local name

	mkdir -p "$DIR/bin"
	ln -sf /usr/sbin/* /usr/bin/* "$DIR/bin"
	rm "$DIR/bin/getent"
	printf '#!/bin/sh\nexit 2\n' >"$DIR/bin/getent"
	chmod +x "$DIR/bin/getent"
	for name in "$@"; do
		rm -f "$DIR/bin/$name"
	done
	PATH=$DIR/bin install_all
}

@test "an install says how the missing user is made, with systemd and without" {
	without_user
	grep -x "there is no user lnetx yet, which lnetxd.service runs as. Next: systemd-sysusers" \
		"$DIR/make.log"
	without_user systemd-sysusers
	grep -x "there is no user lnetx yet, .* Next: useradd --system --user-group .* lnetx" \
		"$DIR/make.log"
}

@test "programs, manual and service are installed; uninstall removes everything" {
	local file

	install_all
	for file in sbin/lnetxd sbin/lnetx sbin/lnetctl sbin/lst share/man/man8/lnetxd.8 \
		share/man/man8/lnetctl.8 share/man/man8/lst.8 share/man/man5/lnetx.conf.5 \
		share/man/man7/lnetx-tunables.7 \
		share/bash-completion/completions/{lnetctl,lctl,lst} lib/systemd/system/lnetxd.service \
		sbin/lctl libexec/lnetx/lnetctl lib/systemd/system/lnet.service; do
		[ -s "$USR/$file" ] || { echo "missing: $file"; false; }
	done
	grep -q "^ExecStart=$USR/sbin/lnetxd " "$USR/lib/systemd/system/lnetxd.service"
	"$USR/sbin/lnetxd" --version
	"$USR/sbin/lnetctl" --list-commands
	"$USR/libexec/lnetx/lnetctl" --list-commands
	make -s uninstall B="$LNETX_RELEASE" PREFIX="$USR"
	equal "$(find "$USR" -type f -o -type l)" ""
}

# As left by Lustre: each under a name that is ours, too, and one that is compressed.
lustre_files() {
	local file

	for file in sbin/lnetctl share/man/man8/lst.8.gz share/bash-completion/completions/lst \
		lib/systemd/system/lnet.service; do
		install -D <(echo Lustre) "$USR/$file"
	done
	ln -s /opt/lustre/lctl "$USR/sbin/lctl"
}

lustre_stands() {
	equal "$(grep -rlx Lustre "$USR" | sort)" "$USR/lib/systemd/system/lnet.service
$USR/sbin/lnetctl
$USR/share/bash-completion/completions/lst
$USR/share/man/man8/lst.8.gz"
	equal "$(readlink "$USR/sbin/lctl")" /opt/lustre/lctl
}

@test "an install beside Lustre replaces nothing of it, says so, and uninstall removes only ours" {
	local man=$USR/share/man/man8

	lustre_files
	# From an lnetx before 0.2.
	ln -s lnetx "$USR/sbin/lst"
	touch -h -d 2020-01-01 "$USR/sbin/lst"
	echo '.TH "LNETCTL" 8 "" "" "lnetx"' >"$man/lnetctl.8"
	install_all
	lustre_stands
	grep -x "links to lnetx:.* $USR/sbin/lst .*" "$DIR/make.log"
	grep -x "left as they are, not from lnetx: $USR/sbin/lnetctl $USR/sbin/lctl .*lnet.service" \
		"$DIR/make.log"
	equal "$(tail -n 1 "$DIR/make.log")" "lnetx's own programs of these names are in \
$USR/libexec/lnetx. Next: PATH=$USR/libexec/lnetx:\$PATH, to use them"
	[ "$(stat -c %Y "$USR/sbin/lst")" -gt "$(date -d 2021-01-01 +%s)" ]
	equal "$(readlink "$man/lnetctl.8")" lnetx-lnetctl.8
	[ ! -e "$man/lst.8" ]
	"$USR/libexec/lnetx/lnetctl" --list-commands
	make -s uninstall B="$LNETX_RELEASE" PREFIX="$USR"
	lustre_stands
	equal "$(find "$USR" -type f -o -type l | wc -l)" 5
}

@test "the unit starts without a configuration file, as the README says; its reload tells the result" {
	local unit=$USR/lib/systemd/system/lnetxd.service command reload

	install_all
	net_begin
	node a
	run -1 grep -E '^(Condition|Assert)' "$unit"
	command=$(sed -n 's/^ExecStart=//p' "$unit")
	command=${command/\/etc\/lnetx.conf/$DIR/none.conf}
	# shellcheck disable=SC2086 # a command and its arguments
	ip netns exec "${NS}a" ${command/\/etc\/lnet.conf/$DIR/neither.conf} >"$DIR/a.log" 2>&1 3>&- &
	daemon_pid[a]=$!
	eventually "$PATIENCE" log_has a 'reason="there is no .*none.conf" next="lnetctl lnet configure'
	ctl a lnet configure
	[[ $(ctl a net show) == *"0@lo"* ]]

	reload=$(sed -n 's/^ExecReload=+//p' "$unit")
	equal "$reload" "$USR/sbin/lnetx daemon reload"
	nets_yaml tcp eth9 >"$DIR/none.conf"
	# shellcheck disable=SC2086 # a command and its arguments
	run -1 on a $reload
	[[ $output == *"none.conf:5:18: net tcp on eth9: there is no such interface"* ]]
	nets_yaml tcp lo >"$DIR/none.conf"
	# shellcheck disable=SC2086
	on a $reload
	[[ $(ctl a net show) == *"127.0.0.1@tcp"* ]]
}

@test "the unit exposes little of the machine, and its user is created" {
	local unit=tools/dist/systemd/lnetxd.service

	run -0 systemd-analyze security --offline=true --threshold=26 "$unit"
	equal "$(sed -n 's/^AmbientCapabilities=//p' "$unit")" "$(sed -n 's/^CapabilityBoundingSet=//p' "$unit")"
	install_all
	mkdir "$DIR/etc"
	run -0 systemd-sysusers --root="$DIR" - <"$USR/lib/sysusers.d/lnetx.conf"
	equal "$(cut -d: -f1,7 "$DIR/etc/passwd") $(cut -d: -f1 "$DIR/etc/group")" \
		"$(sed -n 's/^User=//p' "$unit"):/usr/sbin/nologin lnetx"
}

# admitted SET...: the system calls in these sets of systemd's
admitted() {
	local set

	for set in "$@"; do
		case $set in
		@*)
			# shellcheck disable=SC2046 # words
			admitted $(systemd-analyze syscall-filter "$set" |
				awk 'NR > 1 && $1 !~ /^#/ { print $1 }')
			;;
		*) echo "$set" ;;
		esac
	done
}

@test "the unit admits the system calls of a router with the fast path, a guard and a trace" {
	local unit=tools/dist/systemd/lnetxd.service calls

	net_routed
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; quick_yaml; } | config r1
	ip netns exec "${NS}r1" strace -D -f -c -U name -o "$DIR/calls" "$LNETX_RELEASE/bin/lnetxd" \
		-c "$DIR/r1.yaml" >"$DIR/r1.log" 2>&1 3>&- &
	daemon_pid[r1]=$!
	eventually "$PATIENCE" is_running r1
	fastpath_as_configured r1
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	begin_load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 65536 -t 60
	eventually "$PATIENCE" traced r1
	end_load client
	stop r1
	eventually "$PATIENCE" grep '^total' "$DIR/calls"
	calls=$(awk '/^[a-z0-9_]+$/ && $1 !~ /^(syscall|total)$/ { print $1 }' "$DIR/calls" | sort -u)
	[[ $calls == *perf_event_open* ]]
	# Others fail, as mounting a bpffs does anyway without the capability; they do not kill lnetxd.
	grep -x SystemCallErrorNumber=EPERM "$unit"
	# shellcheck disable=SC2046 # words
	equal "$(admitted $(sed -n 's/^SystemCallFilter=//p' "$unit") mount | sort -u |
		comm -13 - <(echo "$calls"))" ""
}

traced() {
	on "$1" timeout 1 "$LNETX_BIN/lnetx" trace >"$DIR/trace" 3>&- || true
	grep ' put ' "$DIR/trace"
}

# ---- the checks of the sources ---------------------------------------------------------

@test "the arrow check finds forbidden includes and interface calls, with file and line" {
	local top=$PWD

	cd "$DIR"
	mkdir -p user/core lnd/sock tools/cli user/base
	printf '#include <stdio.h>\n#include "../io/env.h"\n' >user/core/a.c
	printf '#include <uv.h>\n' >user/core/b.c
	printf '#include "../sim/sim.h"\n' >lnd/sock/c.c
	printf '\n#include "../../user/core/core.h"\n' >tools/cli/d.c
	printf '#include <ifaddrs.h>\n\n\tif_nametoindex("eth0");\n' >lnd/sock/e.c
	printf '#include "list.h"\n#include <lnetx/nid.h>\n' >user/base/fine.c
	run -1 "$top/tests/check-includes"
	equal "$(awk '{ print $1 }' <<<"$output" | sort)" "lnd/sock/c.c:1:
lnd/sock/e.c:1:
lnd/sock/e.c:3:
tools/cli/d.c:2:
user/core/a.c:2:
user/core/b.c:1:"
}

@test "the reference check finds dangling references, with file and line" {
	local top=$PWD m=md # so that it does not complain about this file

	cd "$DIR"
	mkdir -p docs/spec
	printf '## 1. One\n### 1.2 Two\n| 3 | row |\n' >"docs/spec/lnet.$m"
	printf '/* Fine: %s 1, 1.2 and %s 1.2, row 3 (%s\n * 1.2). */\n' lnet.$m{,,} >fine.c
	echo "md.$m = f.$m;" >>fine.c
	echo "/* lnet.$m 1 and 2 */" >a.c
	printf '/* Rules: %s,\n * sections 1 and 4.5. */\n' lnet.$m >b.h
	printf '\n# %s 1.2 row 4\n' lnet.$m >c.sh
	printf 'see [it](docs/spec/%s#1) and\n[that](gone.txt), %s\n' lnet.$m nowhere.$m >d.$m
	run -0 "$top/tests/check-refs" fine.c docs/spec/lnet.$m
	run -1 "$top/tests/check-refs" fine.c a.c b.h c.sh d.$m
	equal "$output" "a.c:1: no section 2 in docs/spec/lnet.$m
b.h:2: no section 4.5 in docs/spec/lnet.$m
c.sh:2: no row 4 in section 1.2 of docs/spec/lnet.$m
d.$m:2: no file nowhere.$m
d.$m:2: link to nowhere: gone.txt"
}
