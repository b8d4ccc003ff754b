# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Library of o2iblnd's suites: RDMA over an interface of a test machine, nodes on it.
#
#	at VM COMMAND             a shell command on a machine; 1 is this one
#	rdma_up VM DEV ADDRESS... an RDMA device (rxe) over an interface
#	rdma_two                  on the LAN of two machines: .1 and .11, .2 and .12
#	rdma_here                 one on this machine, with 10.9.0.1 and 10.9.0.2
#	daemon VM NAME <YAML      lnetxd with this configuration, running
#	server VM NID [OPTION...] lxload server
#	load VM NID VERB TARGET [OPTION...]
#	                          send traffic and verify every byte; fails on any loss

# shellcheck source=tests/eventually.bash
source tests/eventually.bash

PATIENCE=${PATIENCE:-90}
# The suites on one machine run under sanitizers; several emulated machines are slow enough.
if [ "${VMTEST_VMS:-1}" = 1 ]; then
	BIN=${LNETX_BIN:-build/asan/bin}
else
	BIN=${LNETX_BIN:-build/release/bin}
fi
RUN=/tmp/o2ib

export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1

at() {
	local vm=$1
	shift

	if [ "$vm" = "${VMTEST_VM:-1}" ]; then
		bash -c "$*" 3>&-
	else
		vmtest/on "$vm" "export ASAN_OPTIONS=$ASAN_OPTIONS; $*" 3>&-
	fi
}

rdma_up() {
	local vm=$1 dev=$2 addr commands
	shift 2

	commands="modprobe rdma_rxe && modprobe rdma_ucm && modprobe ib_uverbs && mkdir -p $RUN"
	for addr in "$@"; do
		commands+=" && ip address replace $addr/24 dev $dev"
	done
	commands+=" && { rdma link show rxe0/1 >/dev/null 2>&1 ||"
	commands+=" rdma link add rxe0 type rxe netdev $dev; }"
	at "$vm" "$commands"
	# The kernel creates the GIDs of addresses some time later.
	for addr in "$@"; do
		# shellcheck disable=SC2046,SC2086 # the numbers of an address
		eventually "$PATIENCE" at "$vm" "grep -qi ffff:$(printf '%02x%02x:%02x%02x' ${addr//./ })$ \
			/sys/class/infiniband/rxe0/ports/1/gids/*"
	done
}

rdma_two() {
	rdma_up 1 eth0 10.77.0.1 10.77.0.11
	rdma_up 2 eth0 10.77.0.2 10.77.0.12
}

rdma_here() {
	ip link show veth0 >/dev/null 2>&1 || ip link add veth0 type veth peer name veth1
	ip link set veth1 up
	ip link set veth0 up
	rdma_up 1 veth0 10.9.0.1 10.9.0.2
}

daemon() {
	local vm=$1 name=$2 yaml

	yaml=$(cat)
	at "$vm" "printf '%s\n' '$yaml' >$RUN/$name.yaml
		export LNETX_RUNDIR=$RUN
		setsid $BIN/lnetxd -B -n $name -c $RUN/$name.yaml >>$RUN/$name.log 2>&1 </dev/null &
		echo \$! >$RUN/$name.pid"
	eventually "$PATIENCE" alive "$vm" "$name" "LNETX_RUNDIR=$RUN LNETX_INSTANCE=$name $BIN/lnetx net show"
}

lx() {
	local vm=$1 name=$2
	shift 2

	at "$vm" "LNETX_RUNDIR=$RUN LNETX_INSTANCE=$name $BIN/lnetx $*"
}

ctl() {
	local vm=$1 name=$2
	shift 2

	at "$vm" "LNETX_RUNDIR=$RUN LNETX_INSTANCE=$name $BIN/lnetctl $*"
}

# nets_yaml NID...
nets_yaml() {
	local nid

	echo 'net:'
	for nid in "$@"; do
		printf '    - net type: %s\n      local NI(s):\n        - nid: %s\n' "${nid#*@}" "$nid"
	done
}

server() {
	local vm=$1 nid=$2
	shift 2

	at "$vm" "rm -f $RUN/server.log
		setsid $BIN/lxload server -V -n $nid $* >$RUN/server.log 2>&1 </dev/null &
		echo \$! >$RUN/server.pid"
	eventually "$PATIENCE" alive "$vm" server "grep -q ^ready $RUN/server.log"
}

# alive VM NAME COMMAND: the command's status; 9 if the process has ended
alive() {
	at "$1" "kill -0 \$(cat $RUN/$2.pid) || { cat $RUN/$2.log; exit 9; }; $3"
}

# stop VM NAME [SIGNAL]: stop a daemon or server; fail if it ends badly
stop() {
	at "$1" "pid=\$(cat $RUN/$2.pid) && kill -${3:-TERM} \$pid &&
		for i in {1..300}; do kill -0 \$pid 2>/dev/null || break; sleep 0.1; done
		! kill -0 \$pid 2>/dev/null && ! grep -E -A 40 'Sanitizer|runtime error' $RUN/$2.log"
}

load() {
	local vm=$1 nid=$2 verb=$3 out
	shift 3

	out=$(at "$vm" "$BIN/lxload $verb -V -j -n $nid $*") || { echo "$out"; return 1; }
	jq -e '.ok and .verified and .bad == 0 and .lost == 0 and .messages_total > 0' \
		>/dev/null <<<"$out" || { echo "$out"; return 1; }
}

# Kills whatever a test left running, on machines 1 to N.
clean() {
	local vm

	for vm in $(seq "${VMTEST_VMS:-1}"); do
		at "$vm" "for f in $RUN/*.pid; do kill -9 \$(cat \$f); done; rm -f $RUN/*.pid $RUN/*.log" \
			>/dev/null 2>&1 || true
	done
}

# Prints the logs if the test failed. For teardown.
logs() {
	local vm

	[ "${BATS_TEST_COMPLETED:-}" != 1 ] || return 0
	for vm in $(seq "${VMTEST_VMS:-1}"); do
		at "$vm" "tail -n 30 $RUN/*.log 2>/dev/null" | sed "s/^/# $vm: /" || true
	done
}
