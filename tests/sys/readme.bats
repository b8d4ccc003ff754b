#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# README's commands for a user with sudo, in a clone of the user's: what root builds there belongs to
# the user, who builds again without root. The root is this machine's, under an overlay, so that
# packages are there; most objects of the clone are those of the release build. make package-check has
# it in a clean root of Debian ($README_ROOT), with nothing built and few packages.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

README_ROOT=${README_ROOT:-/}

setup() {
	net_begin
	[ "$README_ROOT" != / ] || command -v sudo >/dev/null || skip "needs sudo"
	ROOT=$DIR/fresh CLONE=$DIR/fresh/home/ada/lnetx
	mkdir "$DIR/rw" "$ROOT"
	unshare -m sleep infinity 3>&- &
	machine=$!
	eventually "$PATIENCE" is_apart
	fresh_root
	clone
}

teardown() {
	[ -z "${machine:-}" ] || kill "$machine"
	net_end
}

# is_apart: the process has the mounts to itself, which end with it
is_apart() {
	[ "$(readlink "/proc/$machine/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]
}

mounts() {
	nsenter -m -t "$machine" -w "$@" 3>&-
}

fresh_root() {
	# shellcheck disable=SC2016 # for that shell
	mounts bash -e -c '
		mount -t tmpfs -o mode=755 tmpfs "$1/rw"
		mkdir "$1"/rw/{upper,work}
		mount -t overlay -o "lowerdir=$2,upperdir=$1/rw/upper,workdir=$1/rw/work" overlay "$1/fresh"
		cd "$1/fresh"
		for dir in proc sys dev; do mount --rbind "/$dir" "$dir"; done
		mount -t tmpfs -o mode=755 tmpfs run
		mount -t tmpfs -o mode=1777 tmpfs tmp
		echo "127.0.0.1 localhost $(hostname)" >etc/hosts
		[ "$2" = / ] || { cp -L /etc/resolv.conf etc; chroot . apt-get -q update
			chroot . apt-get -q -y install sudo; }
		chroot . useradd -m -s /bin/bash ada
		echo "ada ALL=(ALL) NOPASSWD: ALL" >etc/sudoers.d/ada
	' _ "$DIR" "$README_ROOT"
}

# clone: all sources, and the release build without some of what it has made
clone() {
	# shellcheck disable=SC2016 # for that shell
	mounts bash -e -c '
		cd "$1"
		mkdir "$2"
		{ git ls-files -coz --exclude-standard || find . -path ./build -prune -o -type f -print0; } |
			xargs -0 cp -a --parents -t "$2"
		chown -R --reference="$2/.." "$2"
		[ "$3" = / ] || exit 0
		mkdir "$2/build"
		cp -a build/bpf "$2/build"
		tar -c --exclude=build/release/tests build/release | tar -x -C "$2"
		rm "$2"/build/release/user/daemon/{main,log}.o "$2"/build/release/bin/lx* \
			"$2"/build/release/liblnetxctl.*
		chown -R --reference="$2/.." "$2/build"
	' _ "$PWD" "$CLONE" "$README_ROOT"
}

# user COMMAND: the user says so, in the clone
user() {
	mounts chroot "$ROOT" env -i PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 TERM=dumb \
		setpriv --reuid=ada --regid=ada --init-groups env HOME=/home/ada USER=ada \
		bash -c "cd ~/lnetx && $1" </dev/null
}

# blocks: the commands of README for somebody at a site, a line each
blocks() {
	awk '/^```/ { on = /^```console site/ } on && sub(/^\$ /, "")' README.md
}

# of_root: what belongs to root in the clone
of_root() {
	mounts find "$CLONE" -user root "$@"
}

@test "README's commands, for a user with sudo: the user owns what they build" {
	local commands

	mapfile -t commands < <(blocks)
	equal "${#commands[@]}" 2
	run -0 user "${commands[0]}"
	echo "$output"
	[[ $output == *"every byte is correct"* ]]
	equal "$(of_root)" ""
	mounts test -x "$CLONE/build/release/bin/lnetxd"
	run -0 user "touch user/base/nid.c && ${commands[1]}"
	echo "$output"
	equal "$(of_root)" ""
	run -0 user "sudo lnetx --version && getent passwd lnetx"
	[ "$README_ROOT" = / ] || return 0
	# Each test's output is root's, in a directory of the user's.
	run -0 user "touch tools/dist/reference.c && sudo make check T='check/reference check/queues'"
	equal "$(of_root -type d)" ""
	equal "$(of_root ! -path '*/build/log/*')" ""
	run -0 user "tests/run check/queues && make clean"
	mounts test ! -e "$CLONE/build"
}

@test "bench and packages are the user's, too, and a build of root's is named" {
	[ "$README_ROOT" = / ] || skip "nothing is built there"
	# shellcheck disable=SC2016 # for that shell
	mounts bash -e -c 'cd "$1"
		for file in deps package ../bench/bench ../bench/csv; do
			printf "%s\n" "#!/bin/sh" "echo $file: \$(id -un)" >"tools/dist/$file"
		done
		echo "touch build/bench.json" >>tools/bench/bench' _ "$CLONE"
	run -0 user "touch user/base/nid.c && sudo make bench && sudo make package"
	echo "$output"
	[[ $output == *"deps: root"*"../bench/bench: root"*"package: ada"* ]]
	equal "$(of_root -type d)" ""
	equal "$(of_root -name '*.o')" ""
	user "sudo chown root build"
	run -2 user make
	[[ $output == *"build/ is not of the owner of /home/ada/lnetx"*"sudo rm -r build"* ]]
	run -0 user "make help && sudo make clean && make -n"
}
