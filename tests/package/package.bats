#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The Debian packages in clean roots of Debian 12 and 13: installed, upgraded while traffic flows,
# beside Lustre's, removed and purged. After "make package"; it needs a mirror, so it is not part of
# make check.
bats_require_minimum_version 1.5.0
LNETX_BIN=${LNETX_BIN:-$PWD/build/release/bin}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/../sys/lib.bash"
# shellcheck source=tests/package/machine.bash
source "$BATS_TEST_DIRNAME/machine.bash"

SUITES=${SUITES:-bookworm trixie}
VERSION=$(sed -n 's/^VERSION := //p' Makefile)
NEXT=99 # the version after this one

setup_file() {
	local suite

	[ "$(id -u)" = 0 ] || return 0
	for suite in $SUITES; do
		root "$suite" $NEXT gcc libc6-dev pkg-config >"$BATS_FILE_TMPDIR/$suite.log" 2>&1 ||
			{ tail "$BATS_FILE_TMPDIR/$suite.log"; return 1; }
	done
}

setup() {
	net_begin
}

teardown() {
	machines_end
	net_end
}

# ---- what is checked -------------------------------------------------------------------------

# files NODE: those of its machine, without what dpkg, apt and logs keep
files() {
	inside "$1" find / -xdev \( -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/log \
		-o -path /var/cache -o -path /run -o -path /tmp -o -path /proc -o -path /sys \) -prune \
		-o -printf '%p %l\n' | sort
}

# is NODE PROPERTY VALUE: of lnetxd.service
is() {
	equal "$(inside "$1" systemctl show -P "$2" lnetxd.service)" "$3"
}

# active NODE: its lnetxd runs; says why not
active() {
	inside "$1" systemctl is-active lnetxd || { inside "$1" journalctl -u lnetxd -n 20; return 1; }
}

# config_of NODE <YAML
config_of() {
	inside "$1" sh -c 'cat >/etc/lnetx.conf'
}

@test "lintian has nothing to say" {
	local debs=()

	mapfile -t debs < <(find build/package -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*')
	equal ${#debs[@]} 5
	run -0 lintian --allow-root --fail-on warning,error "${debs[@]}"
	equal "$output" ""
}

# From a clean machine to a clean machine, as the README has it.
lifecycle() {
	local suite=$1

	node a b
	link a eth0 10.1.0.1/24 b eth0 10.1.0.2/24
	start b
	boot a "$suite"
	apt a satisfy "$(dpkg-deb -f "build/package/lnetx_${VERSION}_"*.deb Depends)"
	files a >"$DIR/before"

	apt a install {lnetx,lnetx-lustre-names}="$VERSION"
	# Nothing runs before its admin says so.
	is a UnitFileState disabled
	is a ActiveState inactive
	equal "$(inside a id -un lnetx)" lnetx
	nets_yaml tcp eth0 | config_of a
	inside a lnetxd -t -c /etc/lnetx.conf
	inside a systemctl enable --now lnetxd
	active a
	inside a lnetx ping 10.1.0.2@tcp
	[[ $(inside a lnetctl net show) == *10.1.0.1@tcp* ]]
	is a MainPID "$(inside a lnetx -j daemon show | jq '.daemon[].pid')"
	equal "$(inside a systemctl show -P Id lnet.service)" lnetxd.service
	equal "$(inside a readlink -f /usr/share/man/man8/lst.8.gz)" \
		/usr/share/man/man8/lnetx-lst.8.gz
	inside a lnetx guard ban 10.1.0.9@tcp

	apt a remove lnetx
	run -1 lnetxds a
	run ! inside a sh -c 'command -v lnetctl lnetx'
	inside a test -s /etc/lnetx.conf
	inside a test -d /var/lib/lnetx -a -d /sys/fs/bpf/lnetx
	# As it was: it starts at the next boot, and knows whom it has banned.
	apt a install lnetx="$VERSION"
	is a UnitFileState enabled
	inside a systemctl start lnetxd
	active a
	[[ $(inside a lnetx guard show) == *10.1.0.9@tcp* ]]

	apt a purge lnetx lnetx-lustre-names
	run -1 lnetxds a
	files a >"$DIR/after"
	diff "$DIR/before" "$DIR/after"
	run ! inside a sh -c 'ls -d /run/lnetx /sys/fs/bpf/lnetx'
	equal "$(inside a systemctl is-system-running)" running
}

@test "Debian 12: installed, used, removed, installed again, purged: nothing remains" {
	lifecycle bookworm
}

@test "Debian 13: installed, used, removed, installed again, purged: nothing remains" {
	lifecycle trixie
}
