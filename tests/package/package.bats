#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The Debian packages in clean roots of Debian 12 and 13: installed, upgraded while traffic flows,
# beside Lustre's, removed and purged. After "make package"; it needs a mirror, so it is not part of
# make check. $SUITES are some of them.
bats_require_minimum_version 1.5.0
LNETX_BIN=${LNETX_BIN:-$PWD/build/release/bin}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/../sys/lib.bash"
# shellcheck source=tests/package/machine.bash
source "$BATS_TEST_DIRNAME/machine.bash"

SUITES=${SUITES:-bookworm trixie}
VERSION=$(sed -n 's/^#define LX_VERSION "\(.*\)"/\1/p' include/lnetx/version.h)
NEXT=99 # the version after this one

setup_file() {
	local suite

	[ "$(id -u)" = 0 ] || return 0
	for suite in $SUITES; do
		root "$suite" $NEXT gcc libc6-dev pkg-config rpm iproute2 >"$BATS_FILE_TMPDIR/$suite.log" 2>&1 ||
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

@test "links of the pages lead to what the packages have" {
	local deb top=$PWD

	for deb in build/package/{lnetx,liblnetx-dev}_*.deb; do
		dpkg-deb -x "$deb" "$DIR/${deb##*/}"
		cd "$DIR/${deb##*/}"/usr/share/doc/*/
		# shellcheck disable=SC2046 # words
		run "$top/tests/check-docs" $(find . -name '*.md')
		run ! grep 'link to nowhere' <<<"$output"
		cd "$top"
	done
}

# only SUITE: of what this run is about
only() {
	[[ " $SUITES " == *" $1 "* ]] || skip "not in SUITES"
}

@test "rpmbuild makes the same five packages, and rpmlint has nothing to say" {
	run -0 tools/dist/package rpm
	equal ${#lines[@]} 5
	run -0 rpmlint -r tools/dist/rpmlintrc build/package/*.rpm build/package/lnetx.spec
	[[ $output == *" 0 errors, 0 warnings"* ]]
}

# From a clean machine to a clean machine, as the README has it.
lifecycle() {
	only "$1"
	node a b
	link a eth0 10.1.0.1/24 b eth0 10.1.0.2/24
	start b
	boot a "$1"
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
	# A file with a mistake is a failed unit; what may heal is tried again.
	echo 'net: 7' | config_of a
	run ! inside a systemctl restart lnetxd
	is a ActiveState failed
	is a ExecMainStatus 78
	[[ $(inside a systemctl --failed) == *lnetxd.service* ]]
	nets_yaml tcp eth7 | config_of a
	run ! inside a systemctl restart lnetxd
	nets_yaml tcp eth0 | config_of a
	eventually "$PATIENCE" active a

	# An upgrade leaves what net add has set up in Linux, a removal does not.
	inside a lnetctl net add --net tcp5 --if eth0
	[[ $(on a ip rule) == *"from 10.1.0.1 "* ]]
	apt a install --reinstall lnetx="$VERSION"
	[[ $(on a ip rule) == *"from 10.1.0.1 "* ]]
	inside a grep eth0 /etc/iproute2/rt_tables.d/lnetx.conf

	apt a remove lnetx
	run -1 lnetxds a
	[[ $(on a ip rule) != *"from 10.1.0.1 "* ]]
	equal "$(on a ip route show table all protocol 98)" ""
	run ! inside a ls /etc/iproute2/rt_tables.d/lnetx.conf
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

# Their dependencies have names that Debian does not know.
@test "what rpm runs when it installs and removes the packages, on Debian" {
	local file

	node a
	boot a "${SUITES%% *}"
	apt a install rpm
	apt a satisfy "$(dpkg-deb -f "build/package/lnetx_${VERSION}_"*.deb Depends)"
	for file in build/package/lnetx-*.rpm; do
		inside a sh -c "cat >/tmp/${file##*/}" <"$file"
	done
	inside a sh -c 'rpm -i --nodeps /tmp/*.rpm'
	is a ActiveState inactive
	inside a systemctl start lnetxd
	active a
	inside a lnetctl lnet configure
	equal "$(inside a systemctl show -P Id lnet.service)" lnetxd.service
	inside a lnetxd -C -n other </dev/null >"$DIR/other.log" 2>&1 &
	eventually "$PATIENCE" inside a lnetx -n other daemon show
	inside a rpm -e lnetx lnetx-lustre-names
	run -1 lnetxds a
	run ! inside a ls /usr/sbin/lnetctl /usr/lib/systemd/system/lnet.service
}

# ---- the tutorial -----------------------------------------------------------------------------

# by_tutorial SUITE: what the page does, installs, and prints, on machines with the packages
by_tutorial() {
	local name versions=()

	only "$1"
	mapfile -t versions < <(grep -oE 'lnetx_[0-9.]+[0-9]' docs/tutorial.md | cut -c 7- | sort -uV)
	equal "${#versions[@]} ${versions[0]}" "2 $VERSION"
	debs "${versions[1]}" "$DIR/next"
	node router1 router2 client server
	switch left
	switch right
	plug router1 eth0 10.0.1.1/24 left
	plug router1 eth1 10.0.0.1/24 right
	plug router2 eth0 10.0.1.2/24 left
	plug router2 eth1 10.0.0.2/24 right
	plug client eth0 10.0.1.10/24 left
	plug server eth0 10.0.0.10/24 right
	for name in router1 router2 client server; do
		boot $name "$1"
		apt $name install iproute2 # machines have it
		init $name >"$DIR/$name.init"
		cp build/package/lnetx*.deb "$DIR"/next/lnetx*.deb "$DIR/machine-$name/top/root"
	done
	cat >"$DIR/enter" <<-END
		#!/bin/sh
		init=\$(cat "$DIR/\$1.init")
		shift
		exec nsenter -a -t "\$init" env -i LC_ALL=C.UTF-8 HOME=/root \
			PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "\$@"
	END
	chmod +x "$DIR/enter"
	DOCS_ENTER=$DIR/enter tests/docs/run docs/tutorial.md >"$DIR/tap" 3>&-
	cat "$DIR/tap"
	equal "$(grep -c '^ok ' "$DIR/tap")" "$(sed -n 's/^1\.\.//p' "$DIR/tap")"
}

@test "Debian 12: the tutorial, from installing to rolling back" {
	by_tutorial bookworm
}

@test "Debian 13: the tutorial, from installing to rolling back" {
	by_tutorial trixie
}

# ---- an upgrade under load -------------------------------------------------------------------

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2
# Seconds that a message may take: less than any timer that would come to its rescue.
LONGEST=20

# router NODE SUITE
router() {
	boot "$@"
	apt "$1" install {lnetx,lnetx-lustre-names}="$VERSION"
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; } | config_of "$1"
	inside "$1" systemctl enable --now lnetxd
	active "$1"
}

# routes ROUTER N: it has forwarded that many messages
routes() {
	[ "$(inside "$1" lnetctl stats show | awk '$1 == "route_count:" { print $2 }')" -gt "$2" ]
}

# fastpath_of ROUTER
fastpath_of() {
	inside "$1" lnetx -j bpf status | jq '.bpf.sets[] | select(.set == "fastpath").loaded'
}

# upgrade ROUTER: it is another process then, and used again, well before its neighbours would check
# their gateways
# shellcheck disable=SC2016 # dpkg-query's own
upgrade() {
	local pid fastpath began=$SECONDS

	pid=$(lnetxds "$1")
	fastpath=$(fastpath_of "$1")
	apt "$1" install lnetx lnetx-lustre-names
	[[ $(inside "$1" dpkg-query -W -f '${Status} ${Version}' lnetx) == *' installed '$NEXT ]]
	active "$1"
	[ "$(lnetxds "$1")" != "$pid" ]
	eventually 30 routes "$1" 100
	equal "$(fastpath_of "$1")" "$fastpath"
	echo "# $1 was back after $((SECONDS - began)) s, its fast path loaded: $fastpath"
}

@test "two routers are upgraded while traffic flows: no message is lost, none is late" {
	local node machines=()
	# shellcheck disable=SC2034 # read by load: default timers
	local QUICK=

	read -ra machines <<<"$SUITES"
	net_routed 2
	router r1 "${machines[0]}"
	router r2 "${machines[-1]}"
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2 -r tcp1=10.2.0.12@tcp2
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -r tcp2=10.1.0.12@tcp1 -s 64k -t 3000
	for node in r1 r2; do
		eventually "$PATIENCE" routes $node 100
	done
	upgrade r1
	upgrade r2
	end_load client
	all_arrived "$DIR/client.json"
	jq -e ".sent_again == 0 and .max_us <= $LONGEST * 1e6" "$DIR/client.json" ||
		{ cat "$DIR/client.json"; return 1; }
}

# ---- beside Lustre ---------------------------------------------------------------------------

# lustre_package NODE: one that has some of Lustre's files
lustre_package() {
	local dir=$DIR/lustre file

	mkdir -p "$dir/DEBIAN"
	printf '%s\n' 'Package: lustre-client-utils' 'Version: 2.15' 'Architecture: all' \
		'Maintainer: nobody <nobody@example.org>' 'Description: a test' >"$dir/DEBIAN/control"
	for file in usr/sbin/lnetctl usr/sbin/lctl usr/share/man/man8/lnetctl.8.gz \
		usr/share/man/man8/lst.8.gz lib/systemd/system/lnet.service; do
		install -D -m 755 <(echo Lustre) "$dir/$file"
	done
	dpkg-deb --root-owner-group -b "$dir" "$DIR/lustre.deb" >/dev/null
	inside "$1" sh -c 'cat >/tmp/lustre.deb' <"$DIR/lustre.deb"
}

# lustre_stands NODE
lustre_stands() {
	equal "$(inside "$1" dpkg --verify lustre-client-utils)" ""
	equal "$(inside "$1" grep -lx Lustre /usr/sbin/lnetctl /usr/sbin/lctl \
		/usr/share/man/man8/lnetctl.8.gz /usr/share/man/man8/lst.8.gz \
		/lib/systemd/system/lnet.service | wc -l)" 5
}

# ours_are NODE PATH...: lnetx's
ours_are() {
	local path

	for path in "${@:2}"; do
		[[ $(inside "$1" readlink -f "$path") == */lnetx* ]] || { echo "not lnetx's: $path"; return 1; }
	done
}

beside_lustre() {
	only "$1"
	node a
	boot a "$1"
	lustre_package a
	apt a install {lnetx,lnetx-lustre-names}="$VERSION"
	ours_are a /usr/sbin/{lnetctl,lctl,lst,lnet_legacy2yaml} /usr/share/man/man8/{lnetctl,lst}.8.gz \
		/usr/share/bash-completion/completions/{lnetctl,lst} /usr/lib/systemd/system/lnet.service
	# Lustre comes later, goes, and is there before.
	inside a dpkg -i /tmp/lustre.deb
	lustre_stands a
	ours_are a /usr/sbin/{lst,lnet_legacy2yaml}
	apt a purge lustre-client-utils
	ours_are a /usr/sbin/{lnetctl,lctl,lst,lnet_legacy2yaml} /usr/share/man/man8/{lnetctl,lst}.8.gz \
		/usr/lib/systemd/system/lnet.service
	apt a purge lnetx-lustre-names
	run ! inside a ls /usr/sbin/{lnetctl,lctl,lst} /usr/lib/systemd/system/lnet.service
	inside a dpkg -i /tmp/lustre.deb
	apt a install lnetx-lustre-names="$VERSION"
	grep 'lnetctl is not from lnetx, and stays as it is' "$DIR/a.apt"
	lustre_stands a
	ours_are a /usr/sbin/{lst,lnet_legacy2yaml}
	apt a purge lnetx lnetx-lustre-names
	lustre_stands a
	run ! inside a ls /usr/sbin/lst
}

@test "Debian 12: of Lustre's packages nothing is replaced, whichever comes first" {
	beside_lustre bookworm
}

@test "Debian 13: of Lustre's packages nothing is replaced, whichever comes first" {
	beside_lustre trixie
}

# ---- without systemd, and the libraries -------------------------------------------------------

# in_container SUITE <SCRIPT: of sh, in a root in which no systemd runs
in_container() {
	node a
	mount_root a "$1"
	{ echo 'set -e; export DEBIAN_FRONTEND=noninteractive'; cat; } >"$DIR/machine-a/top/script"
	(nspawn a sh /script) >"$DIR/a.out" 2>&1 3>&- || { cat "$DIR/a.out"; return 1; }
}

stopped_on_removal() {
	in_container "$1" <<'END'
apt-get -q -y --no-install-recommends install lnetx
[ ! -d /run/systemd/system ]
lnetxd -C --user lnetx & one=$!
lnetxd -C -n other & other=$!
until lnetx daemon show && lnetx -n other daemon show; do sleep 0.2; done
apt-get -q -y remove lnetx
[ ! -e /proc/$one/exe ] && [ ! -e /proc/$other/exe ]
# Not killed.
wait $one
wait $other
apt-get -q -y purge lnetx
[ ! -e /run/lnetx ]
END
}

@test "without systemd a removal stops all lnetxds" {
	local suite

	for suite in $SUITES; do
		stopped_on_removal "$suite"
		machines_end
		net_end
	done
}

example() {
	in_container "$1" <<'END'
apt-get -q -y --no-install-recommends install liblnetx-dev gcc libc6-dev pkg-config
cd /tmp
cp /usr/share/doc/liblnetx-dev/examples/*.c .
cc putget.c -o putget $(pkg-config --cflags --libs lnetx) -pthread
cc putget.c -o static -Wl,-Bstatic -llnetx -Wl,-Bdynamic $(pkg-config --static --libs lnetx)
cc watch.c -o watch $(pkg-config --cflags --libs lnetxctl)
ldd putget | grep "/lib/$(gcc -print-multiarch)/liblnetx.so.2"
ldd watch | grep "/lib/$(gcc -print-multiarch)/liblnetxctl.so.0"
./putget 127.0.0.1 &
until ./putget 127.0.0.2 127.0.0.1 'hello, LNet'; do sleep 0.2; done
kill $!
END
	grep 'got back: hello, LNet' "$DIR/a.out"
}

@test "programs are built with liblnetx-dev, and work" {
	local suite

	for suite in $SUITES; do
		example "$suite"
		machines_end
		net_end
	done
}
