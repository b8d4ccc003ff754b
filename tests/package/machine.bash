# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Machines of the tests of packages: clean roots of Debian, booted with systemd (systemd-nspawn) in
# the network namespaces of nodes (tests/sys/lib.bash).
#
# Roots are made once, in build/package/roots, from $MIRROR; what a machine writes is the test's.

ROOTS=build/package/roots
MIRROR=${MIRROR:-http://deb.debian.org/debian}

declare -gA machine_pid=()

# ---- roots -----------------------------------------------------------------------------------

# in_root SUITE COMMAND...: not booted, with the network of this machine
in_root() {
	chroot "$ROOTS/$1" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}"
}

# debs VERSION DIR: today's packages as that version
debs() {
	local deb dir=$BATS_FILE_TMPDIR/deb

	mkdir -p "$2"
	for deb in build/package/*.deb; do
		[[ $deb != *-dbgsym_* ]] || continue
		rm -rf "$dir"
		dpkg-deb -R "$deb" "$dir"
		sed -i -E "s/^Version: .*/Version: $1/; s/(liblnetx[a-z0-9]* \(= )[^)]*/\1$1/g" \
			"$dir/DEBIAN/control"
		dpkg-deb -b "$dir" "$2" >/dev/null
	done
}

# repository SUITE NEXT: today's packages in /debs, for apt, and the same as version NEXT
repository() {
	local root=$ROOTS/$1

	rm -rf "$root/debs"
	debs "$2" "$root/debs"
	find build/package -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp -t "$root/debs" {} +
	(cd "$root/debs" && dpkg-scanpackages -m . >Packages)
	echo 'deb [trusted=yes] file:/debs ./' >"$root/etc/apt/sources.list.d/lnetx.list"
}

# root SUITE NEXT PACKAGE...: make it, with a repository of our packages, and in apt's cache what
# they and these others need: machines have no way to a mirror
root() {
	local suite=$1 root=$ROOTS/$1

	mkdir -p $ROOTS
	if [ ! -e "$root.made" ]; then
		rm -rf "$root"
		mmdebstrap --variant=minbase --include=systemd-sysv,dbus --mode=root "$suite" "$root" \
			"$MIRROR"
		touch "$root.made"
	fi
	cp -L /etc/resolv.conf /etc/hosts "$root/etc"
	repository "$suite" "$2"
	in_root "$suite" apt-get -q update
	in_root "$suite" apt-get -q -y -d --no-install-recommends install lnetx lnetx-lustre-names \
		liblnetx-dev "${@:3}"
	# As somebody does who follows the tutorial.
	in_root "$suite" apt-get -q -y -d install lnetx
}

# ---- machines --------------------------------------------------------------------------------

# mount_root NODE SUITE: what is written to it is kept apart
mount_root() {
	local dir=$DIR/machine-$1

	rm -rf "$dir"
	mkdir -p "$dir"/{upper,work,top,bpf}
	mount -t overlay -o "lowerdir=$ROOTS/$2,upperdir=$dir/upper,workdir=$dir/work" overlay \
		"$dir/top"
	echo "$1" >"$dir/top/etc/hostname"
	mount -t bpf bpf "$dir/bpf"
}

# nspawn NODE OPTION|COMMAND...: in its root and network namespace, with the rights that the unit
# asks for
nspawn() {
	local dir=$DIR/machine-$1 keep_unit=--keep-unit

	# Where systemd runs, it makes a unit.
	[ ! -d /run/systemd/system ] || keep_unit=
	# shellcheck disable=SC2086 # or none
	SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --register=no $keep_unit \
		--directory="$dir/top" --machine="$NS$1" --hostname="$1" \
		--network-namespace-path="/run/netns/$NS$1" --bind="$dir/bpf:/sys/fs/bpf" \
		--capability=CAP_NET_ADMIN,CAP_NET_RAW,CAP_BPF,CAP_PERFMON,CAP_SYS_NICE \
		--system-call-filter='bpf perf_event_open' --console=pipe --link-journal=no \
		--resolv-conf=off --timezone=off "${@:2}"
}

# boot NODE SUITE
boot() {
	mount_root "$@"
	nspawn "$1" --boot </dev/null >"$DIR/$1.console" 2>&1 3>&- &
	machine_pid[$1]=$!
	eventually 60 booted "$1"
}

booted() {
	kill -0 "${machine_pid[$1]}" || return 9
	[[ $(inside "$1" systemctl is-system-running) == @(running|degraded) ]]
}

# init NODE: the first process of its machine
init() {
	pgrep -P "${machine_pid[$1]}" -x systemd
}

# lnetxds NODE: those of its machine
lnetxds() {
	pgrep --ns "$(init "$1")" --nslist pid -x lnetxd
}

# inside NODE COMMAND...: on its machine
inside() {
	nsenter -a -t "$(init "$1")" env -i DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/ \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin "${@:2}" 3>&-
}

# apt NODE ARGUMENT...
apt() {
	inside "$1" apt-get -q -y --no-install-recommends "${@:2}" >"$DIR/$1.apt" 2>&1 ||
		{ cat "$DIR/$1.apt"; return 1; }
}

machines_end() {
	local dir name

	for name in "${!machine_pid[@]}"; do
		# Its first process; all others end with it.
		pkill -KILL -P "${machine_pid[$name]}" || :
		wait "${machine_pid[$name]}" || :
	done
	for dir in "$DIR"/machine-*/{top,bpf}; do
		! mountpoint -q "$dir" || eventually "$PATIENCE" umount "$dir"
	done
}
