#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The control socket of a real node: permissions, malformed input, and a configuration that
# survives export and import.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_rails
	let_in # to the socket
	nets_yaml tcp eth0,eth1 | config a
	start a -g daemon
	start b
}

teardown() {
	net_end
}

# as GROUP COMMAND...: run lnetctl on a, without privileges
as() {
	local group=$1
	shift

	on a setpriv --reuid=65534 --regid="$group" --clear-groups --inh-caps=-all \
		"$LNETX_BIN/lnetctl" "$@" 3>&-
}

@test "reading is for root and the group, changes are for root" {
	[[ $(ctl a net show) == *10.1.0.1@tcp* ]]
	[[ $(as daemon net show) == *10.1.0.1@tcp* ]]
	run ! as daemon net del --net tcp --if eth1
	[[ $output == *"errno: -1"* ]]
	run ! as daemon set discovery 0
	run ! as daemon lnet unconfigure
	run ! as nogroup net show
	[[ $output == *"errno: -1"* ]]
	[[ $output != *10.1.0.1@tcp* ]]
	[[ $(ctl a net show) == *10.2.0.1@tcp* ]]
}

late() {
	on b setpriv --reuid=65534 --regid=7777 --clear-groups --inh-caps=-all \
		"$LNETX_BIN/lnetctl" net show 3>&-
}

@test "a group that is created after the start of lnetxd may read" {
	stop b
	cp /etc/group "$DIR/group"
	start b -g lnetx-late
	nsenter -m -t "${daemon_pid[b]}" mount --bind "$DIR/group" /etc/group
	run ! late
	echo "lnetx-late:x:7777:" >>"$DIR/group"
	eventually "$PATIENCE" late
}

@test "the lock file is for root alone, also one that was there before" {
	local lock

	for lock in "$LNETX_RUNDIR"/*.lock; do
		equal "$(stat -c %a "$lock")" 600
	done
	stop a
	stop b
	touch "$lock"
	chmod 644 "$lock"
	start a -g daemon
	start b
	equal "$(stat -c %a "$lock")" 600
}

@test "an IPv6 address that is still tentative is called so" {
	on a sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0 net.ipv6.conf.eth0.accept_dad=1
	on a ip addr add fd00:9::1/64 dev eth0
	run ! lx a net add nid fd00:9::1@tcp9
	[[ $output == *tentative* ]]
	eventually "$PATIENCE" lx a net add nid fd00:9::1@tcp9
}

@test "without threads or /proc lnetxd says why it ends" {
	# That user may not get to the tree.
	cp "$LNETX_RELEASE/bin/lnetxd" "$DIR"
	run ! on a setpriv --reuid=65534 --regid=65534 --clear-groups prlimit --nproc=1 \
		"$DIR/lnetxd" -n x
	[[ $output == *"cannot create 8 threads"*TasksMax* ]]
	# shellcheck disable=SC2016 # for the shell inside
	run ! on a unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0"' "$LNETX_RELEASE/bin/lnetxd"
	[[ $output == *"cannot read /proc/self/ns/net"*"lnetxd -n NAME"* ]]
}

@test "malformed input on the socket: refused, with a log line; others are served" {
	tests/sys/nonsense.py "$LNETX_RUNDIR"/*.sock
	eventually "$PATIENCE" log_has a malformed
	pings a 10.1.0.2@tcp
	ctl b net show
}

@test "export --backup, unconfigure, configure, import: the same again" {
	ctl a peer add --prim_nid 10.1.0.2@tcp --nid 10.2.0.2@tcp
	ctl a route add --net tcp7 --gateway 10.1.0.2@tcp --hop 2 --priority 3
	ctl a set routing 1
	ctl a set small_buffers 4100
	ctl a set retry_count 3
	ctl a export --backup >"$DIR/first.yaml"
	ctl a lnet unconfigure
	run ! ctl a net show
	ctl a lnet configure
	[[ $(ctl a net show) != *tcp* ]]
	ctl a import "$DIR/first.yaml"
	ctl a export --backup >"$DIR/second.yaml"
	diff "$DIR/first.yaml" "$DIR/second.yaml"
	on a "$LNETX_BIN/lnetxd" -t -c "$DIR/first.yaml"
	eventually "$PATIENCE" pings a 10.1.0.2@tcp
}

@test "the full export is a valid configuration for lnetxd" {
	ctl a export >"$DIR/whole.yaml"
	on a "$LNETX_BIN/lnetxd" -t -c "$DIR/whole.yaml"
	stop a
	cp "$DIR/whole.yaml" "$DIR/a.yaml"
	start a
	pings a 10.1.0.2@tcp
}

@test "an export with this node's own NIDs as a peer: lnetxd takes it, at start and in a reload" {
	ctl a ping 10.1.0.1@tcp
	ctl a discover 0@lo
	ctl a export >"$DIR/whole.yaml"
	[[ $(sed -n '/^peer:/,$p' "$DIR/whole.yaml") == *"primary nid: 10.1.0.1@tcp"* ]]
	run -0 on a "$LNETX_BIN/lnetxd" -t -c "$DIR/whole.yaml"
	stop a
	cp "$DIR/whole.yaml" "$DIR/a.yaml"
	start a
	[[ $(ctl a peer show) == *"primary nid: 10.1.0.1@tcp"* ]]
	run -0 lx a daemon reload
	run -0 lx a ping 10.1.0.1@tcp
}

@test "monitor reports changes as they happen" {
	on a "$LNETX_BIN/lnetx" -j monitor >"$DIR/changes" 3>&- &
	# It may not be connected yet, so change until it reports.
	eventually "$PATIENCE" told_of 'ni add'
	ctl a route add --net tcp7 --gateway 10.1.0.2@tcp
	eventually "$PATIENCE" grep -q 'route add' "$DIR/changes"
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" grep -q 'conn up' "$DIR/changes"
	eventually "$PATIENCE" grep -q 'peer add' "$DIR/changes"
	jq -es 'length > 0' "$DIR/changes"
}

told_of() {
	ctl a net del --net tcp --if eth1
	ctl a net add --net tcp --if eth1
	grep -q "$1" "$DIR/changes"
}

# instance_of NODE: the name of its lnetxd
instance_of() {
	echo "net-$(on "$1" stat -L -c %i /proc/self/ns/net)"
}

@test "without lnetxd in this namespace, the error names those in others" {
	local instance

	instance=$(instance_of a)
	stop b
	run -234 ctl b net show
	[[ $output == *"no lnetxd runs in network namespace ${NS}b (/"*"/$(instance_of b).sock). Next: systemctl start "* ]]
	[[ $output == *"$instance (pid ${daemon_pid[a]}, network namespace ${NS}a)"* ]]
	run -1 lx b -n nosuch net show
	[[ $output == *"no lnetxd runs as instance nosuch"*"$instance (pid "* ]]

	# Run on b for an interface of b, it looks for the interface on a.
	ip -n "${NS}b" link add eth7 type veth peer name eth8
	export LNETX_INSTANCE=$instance
	run -234 ctl b net add --net tcp7 --if eth7
	[[ $output == *"errno: -100"*"eth7"*"no such interface"* ]]
	[[ $output == *"lnetxd $instance (pid ${daemon_pid[a]}) is in network namespace ${NS}a"* ]]
	[[ $output == *"this command in network namespace ${NS}b"* ]]
	run -234 ctl b net add --nid 10.9.9.9@tcp7
	[[ $output == *"this command in network namespace ${NS}b"* ]]
	run -234 ctl a net add --net tcp7 --if eth7
	[[ $output != *"this command"* ]]
	unset LNETX_INSTANCE
}

@test "many concurrent clients each get their answer" {
	local i pids=()

	for i in $(seq 20); do
		ctl a net show >"$DIR/show.$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in $(seq 20); do
		cmp "$DIR/show.1" "$DIR/show.$i"
	done
}
