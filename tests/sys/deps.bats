#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# tools/dist/deps beside other apts, as in a new machine's first minutes. These apts are real, but
# have directories of their own ($APT_CONFIG), and two small packages.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	command -v apt-get >/dev/null || skip "needs apt"
	DIR=$BATS_TEST_TMPDIR
	mkdir -p "$DIR"/{repo,root,lists/partial,cache/archives/partial,dpkg/updates,dpkg/info}
	touch "$DIR/dpkg/status" "$DIR/dpkg/available"
	package lx-wanted
	package lx-other
	echo "deb [trusted=yes] file:$DIR/repo ./" >"$DIR/sources"
	cat >"$DIR/apt.conf" <<-END
		Dir::Etc::sourcelist "$DIR/sources";
		Dir::Etc::sourceparts "/dev/null";
		Dir::State "$DIR";
		Dir::State::status "$DIR/dpkg/status";
		Dir::Cache "$DIR/cache";
		DPkg::Options { "--admindir=$DIR/dpkg"; "--instdir=$DIR/root"; "--force-not-root"; };
		APT::Sandbox::User "root";
	END
	export APT_CONFIG=$DIR/apt.conf
	sed "/^packages='/,/^'/c packages='build lx-wanted'" tools/dist/deps >"$DIR/deps"
	chmod +x "$DIR/deps"
	apt-get -q update
}

teardown() {
	local fifo

	for fifo in "${DIR:-}"/go-*; do
		[ ! -p "$fifo" ] || : <>"$fifo"
	done
}

# package NAME: an empty one, in the archive
package() {
	local file=$DIR/repo/$1.deb

	mkdir -p "$DIR/$1/DEBIAN"
	printf '%s\n' "Package: $1" "Version: 1" "Architecture: all" "Maintainer: nobody <root@localhost>" \
		"Description: nothing" >"$DIR/$1/DEBIAN/control"
	dpkg-deb -Znone -b "$DIR/$1" "$file"
	{
		cat "$DIR/$1/DEBIAN/control"
		printf '%s\n' "Filename: ./$1.deb" "Size: $(stat -c %s "$file")" \
			"SHA256: $(sha256sum "$file" | cut -d ' ' -f 1)" ''
	} >>"$DIR/repo/Packages"
}

# holds NAME HOOK ARGUMENT...: an apt-get in the background that stops at a hook, with its locks,
# until let_go NAME; $held is its process
holds() {
	local name=$1 hook=$2
	shift 2

	mkfifo "$DIR/go-$name"
	apt-get -y -q -o "$hook::=echo >$DIR/held-$name; cat $DIR/go-$name" "$@" \
		>"$DIR/$name.out" 2>&1 3>&- &
	held=$!
	eventually "$PATIENCE" test -e "$DIR/held-$name"
}

let_go() {
	echo >"$DIR/go-$1"
}

# waits_for PID LOCK: deps has said so
waits_for() {
	eventually "$PATIENCE" \
		grep -F "waiting for the lock $DIR/$2. It is held by process $1 (apt-get)" "$DIR/out"
}

@test "make deps waits for an apt-get update and an installation, says for which, and goes on" {
	local update install deps status=0

	holds update APT::Update::Pre-Invoke update
	update=$held
	holds install DPkg::Pre-Invoke install lx-other
	install=$held
	"$DIR/deps" build >"$DIR/out" 2>&1 3>&- &
	deps=$!
	waits_for "$update" lists/lock
	let_go update
	waits_for "$install" dpkg/lock-frontend
	# It says each once.
	equal "$(grep -c waiting "$DIR/out")" 2
	let_go install
	wait $deps || status=$?
	cat "$DIR/out"
	equal $status 0
	equal "$(dpkg-query --admindir="$DIR/dpkg" -W -f '${Package} ${db:Status-Status}\n')" \
		"lx-other installed
lx-wanted installed"
}

@test "make deps gives up in the end, and names the program" {
	holds update APT::Update::Pre-Invoke update
	LOCK_SECONDS=1 run -1 "$DIR/deps" build
	[[ $output == *"another program holds $DIR/lists/lock. It is held by process $held (apt-get)"* ]]
	let_go update
}
