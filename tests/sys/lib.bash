# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Library of the system tests: nodes in network namespaces, lnetxd in them, waiting.
#
# A node is a namespace with a name like "lx-t1234-3-client", so that two
# parallel runs do not interfere; interfaces are created inside, so any name will do.
# net_end removes everything, even after a failure; tests/sys/sweep does if a
# test was killed.
#
#	source "$BATS_TEST_DIRNAME/lib.bash"
#	setup() { net_begin; net_two; }
#	teardown() { net_end; }
#
# Networks that many tests use (all addresses /24):
#
#   net_two         a eth0 .1 ────────── 10.1.0 ────────── .2 eth0 b
#
#   net_rails       a eth0 .1 ────────── 10.1.0 ────────── .2 eth0 b
#                     eth1 .1 ────────── 10.2.0 ────────── .2 eth1
#
#   net_routed      client eth0 .1 ── 10.1.0 ── .11 eth0 r1 eth1 .11 ── 10.2.0 ── .1 eth0 server
#                                       tcp1                     tcp2
#
#   net_routed 2    client eth0 .1 ─┬ 10.1.0 ┬─ .11 eth0 r1 eth1 .11 ─┬ 10.2.0 ┬─ .1 eth0 server
#                                   │        └─ .12 eth0 r2 eth1 .12 ─┘        │
#                                  bridge                                    bridge

cd "${BATS_TEST_DIRNAME:-$(dirname "${BASH_SOURCE[0]}")}/../.." || exit 1
# shellcheck source=tests/eventually.bash
source tests/eventually.bash

# The system's own python3, whatever else is in PATH: a wrapper around another one takes half a second.
PATH=/usr/sbin:/usr/bin:$PATH

LNETX_BIN=${LNETX_BIN:-$PWD/build/asan/bin}
LNETX_RELEASE=${LNETX_RELEASE:-$PWD/build/release} # no sanitizer
# Tests run thousands of commands, and starting a tool under the sanitizer takes four times the CPU.
# Unit tests check the tools under it.
LNETX_TOOLS=${LNETX_TOOLS:-$LNETX_RELEASE/bin}
# Nor is the load what most tests look at. Those that do set it to LNETX_BIN.
LNETX_LOAD=${LNETX_LOAD:-$LNETX_RELEASE/bin}

# Limits for a loaded machine and a sanitizer; normally nothing takes that long.
PATIENCE=${PATIENCE:-60}

# off: all daemons run without BPF, and must give the same results.
LNETX_BPF=${LNETX_BPF:-on}

# off: daemons that do not route load no BPF programs. Checking the guard's takes the kernel a quarter
# of a second for each, half of the CPU time of tests with many daemons that are about something else.
GUARD=${GUARD:-on}

# The user that daemons started by root become; default: root.
LNETX_USER=${LNETX_USER:-}

# For how many seconds a router that ends waits for its neighbours to go another way. Few tests are
# about that; by default it takes 6 s with such short timers.
DRAIN=${DRAIN:-1}

# For how many seconds nobody may ping a router until its NI counts as down.
SILENCE=${SILENCE:-5}

# Seconds until a peer, and messages it has not answered, time out.
GIVE_UP=${GIVE_UP:-10}

declare -gA daemon_pid=() load_pid=() old_lines=()
declare -ga flipped_at=()
declare -ga WRONG_EXPECTED=() # of the lines "wrong: ..." of packets

# ---- namespaces and links ------------------------------------------------------------------

# A node's namespace is $NS and its name.
NS=lx-${LNETX_TEST_TAG:-t$PPID}-${BATS_TEST_NUMBER:-0}-

net_begin() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	# bats follows each command for the line that failed, which took half of the CPU time of some
	# tests. The lines of the test itself will do.
	set +T
	declare -ft "$BATS_TEST_NAME"
	DIR=$BATS_TEST_TMPDIR
	export LNETX_RUNDIR=$DIR/run
	export LNETX_RT_TABLES=$DIR/rt_tables
	mkdir -p "$LNETX_RUNDIR"
}

node() {
	local name

	for name in "$@"; do
		ip netns add "$NS$name"
		ip -n "$NS$name" link set lo up
	done
}

# on NODE COMMAND...: run a command on a node
on() {
	ip netns exec "$NS$1" "${@:2}"
}

# rps NODE INTERFACE [MASK]: handle each flow of a veth on one CPU, in order, like a real
# card; with MASK 0 on the sender's CPU, which may change.
rps() {
	on "$1" sh -c "for f in /sys/class/net/$2/queues/rx-*/rps_cpus; do echo ${3:-1} >\$f; done"
}

# address NODE INTERFACE ADDRESS/LEN...
address() {
	local node=$1 dev=$2 addr
	shift 2

	for addr in "$@"; do
		if [[ $addr == *:* ]]; then
			ip -n "$NS$node" addr add "$addr" dev "$dev" nodad
		else
			ip -n "$NS$node" addr add "$addr" dev "$dev"
		fi
	done
	ip -n "$NS$node" link set "$dev" up
	rps "$node" "$dev"
}

# link NODE IF ADDRESS NODE IF ADDRESS: a cable between two nodes
link() {
	ip link add "$2" netns "$NS$1" type veth peer name "$5" netns "$NS$4"
	address "$1" "$2" "$3"
	address "$4" "$5" "$6"
}

# switch NAME: a bridge, in its own namespace
switch() {
	node "$1"
	ip -n "$NS$1" link add br0 type bridge
	ip -n "$NS$1" link set br0 up
}

# plug NODE IF ADDRESS SWITCH
plug() {
	ip link add "$2" netns "$NS$1" type veth peer name "p-$1" netns "$NS$4"
	ip -n "$NS$4" link set "p-$1" master br0 up
	rps "$4" "p-$1"
	address "$1" "$2" "$3"
}

net_two() {
	node a b
	link a eth0 10.1.0.1/24 b eth0 10.1.0.2/24
}

net_rails() {
	net_two
	link a eth1 10.2.0.1/24 b eth1 10.2.0.2/24
}

net_routed() {
	local i

	node client server
	switch lan1
	switch lan2
	plug client eth0 10.1.0.1/24 lan1
	plug server eth0 10.2.0.1/24 lan2
	for i in $(seq "${1:-1}"); do
		node "r$i"
		plug "r$i" eth0 "10.1.0.1$i/24" lan1
		plug "r$i" eth1 "10.2.0.1$i/24" lan2
	done
}

# sweep PREFIX: kill everything in the namespaces with such names, and remove them
sweep() {
	local name pid

	for name in $(ip netns list 2>/dev/null | awk -v t="$1" 'index($1, t) == 1 { print $1 }'); do
		for pid in $(ip netns pids "$name"); do
			kill -9 "$pid"
		done
		before_del "$name"
		ip netns del "$name"
	done
}

# before_del NAMESPACE: for those that have something to save (vmtest/cards.bash)
before_del() {
	:
}

net_end() {
	local name status=0

	[ -n "${DIR:-}" ] || return 0
	for name in "${!load_pid[@]}"; do
		end_load "$name" || status=1
	done
	packets_are_true || status=1
	for name in "${!daemon_pid[@]}"; do
		if [ -n "${BATS_ERROR_STATUS:-}" ] && [ "$BATS_ERROR_STATUS" != 0 ]; then
			echo "# log of $name:"
			tail -n 30 "$DIR/$name.log"
		fi
		stop "$name" || status=1
	done
	sweep "$NS"
	return $status
}

# ---- lnetxd and its tools --------------------------------------------------------------------

# config NODE <YAML: the file for the next start or reload
config() {
	cat >"$DIR/$1.yaml"
}

# nets_yaml NET INTERFACE[,INTERFACE...] ...: the nets of a config
nets_yaml() {
	local dev

	echo 'net:'
	while [ $# -gt 0 ]; do
		printf '    - net type: %s\n      local NI(s):\n' "$1"
		for dev in ${2//,/ }; do
			printf '        - interfaces:\n              0: %s\n' "$dev"
		done
		shift 2
	done
}

# route_yaml NET GATEWAY...
route_yaml() {
	local net=$1 gateway
	shift

	echo 'route:'
	for gateway in "$@"; do
		printf '    - net: %s\n      gateway: %s\n' "$net" "$gateway"
	done
}

# Short timers: seconds instead of minutes, but long enough for a machine that stalls a process
# for two or three. All nodes of a test must agree: a router
# that nobody pings for longer than that considers a net lost.
quick_yaml() {
	printf 'tunables:\n    lnet: { '
	printf 'alive_router_check_interval: 1, router_ping_timeout: %d, ' "$SILENCE"
	printf 'lnet_transaction_timeout: %d, lnet_retry_count: 1 }\n' "$GIVE_UP"
	printf '    tcp: { sock_timeout: %d%s }\n' "$GIVE_UP" "${1:+, $1}"
}

# The same as options of lxload; load and load_server add them.
QUICK="--set lnet.alive_router_check_interval=1 --set lnet.router_ping_timeout=$SILENCE
	--set lnet.lnet_transaction_timeout=$GIVE_UP --set lnet.lnet_retry_count=1
	--set tcp.sock_timeout=$GIVE_UP"

# start_routers [N [TUNABLE: VALUE]]: r1, r2, ... between tcp1 on eth0 and tcp2 on eth1,
# with a tunable of tcp
start_routers() {
	local i

	for i in $(seq "${1:-1}"); do
		{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'
			quick_yaml "${2:-}"; } | config "r$i"
		start "r$i"
		fastpath_as_configured "r$i"
	done
}

# start NODE [OPTION...]: start lnetxd with the node's config, by $LAUNCH; wait until it runs
start() {
	local name=$1
	shift

	[ -e "$DIR/$name.yaml" ] || nets_yaml tcp eth0 | config "$name"
	spawn "$name" -c "$DIR/$name.yaml" "$@"
	eventually "$PATIENCE" is_running "$name"
}

# spawn NODE OPTION...: start lnetxd without waiting
spawn() {
	local name=$1 routes=
	shift

	! grep -qs '^routing' "$DIR/$name.yaml" || routes=1
	set -- --drain "$DRAIN" "$@"
	if [ "$LNETX_BPF" = off ] || [ "$GUARD$routes" = off ]; then
		set -- "$@" --no-bpf
	fi
	[ ! "$LNETX_USER" ] || { set -- "$@" --user "$LNETX_USER"; let_in; }
	# Only routers have a fast path.
	[ ! $routes ] || [ "$LNETX_BPF" = off ] || watch_packets "$name"
	new_log "$name"
	# shellcheck disable=SC2086 # words
	ip netns exec "$NS$name" ${LAUNCH:-} "$LNETX_BIN/lnetxd" "$@" >>"$DIR/$name.log" 2>&1 3>&- &
	daemon_pid[$name]=$!
}

# start_here NODE [OPTION...]: like start, but lnetxd sees the test's /sys, so that its pins
# survive it. "ip netns exec" would mount a private one.
start_here() {
	local name=$1
	shift

	[ -e "$DIR/$name.yaml" ] || nets_yaml tcp eth0 | config "$name"
	[ ! "$LNETX_USER" ] || { set -- "$@" --user "$LNETX_USER"; let_in; }
	bpffs
	new_log "$name"
	nsenter --net="/run/netns/$NS$name" "$LNETX_BIN/lnetxd" -c "$DIR/$name.yaml" "$@" \
		>>"$DIR/$name.log" 2>&1 3>&- &
	daemon_pid[$name]=$!
	eventually "$PATIENCE" is_running "$name"
}

bpffs() {
	(
		flock 9
		[ "$(stat -f -c %T /sys/fs/bpf)" = bpf_fs ] || mount -t bpf -o mode=0700 bpf /sys/fs/bpf
	) 9>"/run/lx-bpffs.lock"
}

# let_in: other users may go through the directories of this test
let_in() {
	chmod 711 "$DIR" "$DIR/.." "$DIR/../.." "$DIR/../../.."
}

# new_log NODE: what its log has so far is of an lnetxd that has ended
new_log() {
	local lines=()

	[ ! -e "$DIR/$1.log" ] || mapfile -t lines <"$DIR/$1.log"
	old_lines[$1]=${#lines[@]}
}

is_running() {
	local lines

	kill -0 "${daemon_pid[$1]}" 2>/dev/null || { cat "$DIR/$1.log"; return 9; }
	mapfile -t -s "${old_lines[$1]:-0}" lines <"$DIR/$1.log"
	[[ ${lines[*]} == *' state=running '* ]]
}

# stop NODE [SIGNAL]: stop lnetxd; fail if it ends badly, or a sanitizer complained
stop() {
	local name=$1 pid=${daemon_pid[$1]:-} status=0

	[ -n "$pid" ] || return 0
	unset "daemon_pid[$name]"
	# Its mount namespace, and with it the programs, may be gone just before its sockets are.
	[ "${2:-}" != KILL ] ||
		DROPS_EXPECTED+=('SOCKET_FILTER at tcp_v4_rcv' 'QUEUE_PURGE at tcp_disconnect')
	kill "-${2:-TERM}" "$pid"
	eventually "$PATIENCE" gone "$pid" || kill -9 "$pid"
	wait "$pid" || status=$?
	sane "$DIR/$name.log" || return 1
	[ $status = 0 ] || [ "${2:-}" = KILL ] || { echo "lnetxd $name: exit status $status"; return 1; }
}

gone() {
	local state=Z

	read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || :
	[ "$state" = Z ]
}

# sane FILE: the log has no sanitizer report
sane() {
	! grep -E -A 40 'Sanitizer|runtime error' "$1"
}

# tool NODE NAME ARGUMENT...: run a tool
tool() {
	ip netns exec "$NS$1" "$LNETX_TOOLS/$2" "${@:3}" 3>&-
}

# ctl NODE ARGUMENT...: lnetctl, lx NODE ...: lnetx
ctl() {
	tool "$1" lnetctl "${@:2}"
}

lx() {
	tool "$1" lnetx "${@:2}"
}

# ---- traffic ------------------------------------------------------------------------------------

# load_server NODE NID [OPTION...]: start the server for load
load_server() {
	local name=$1 nid=$2
	shift 2

	# The process itself, without a shell around it, to receive signals.
	# shellcheck disable=SC2086 # options
	ip netns exec "$NS$name" "$LNETX_LOAD/lxload" server -V -n "$nid" $QUICK "$@" \
		>"$DIR/$name.load" 2>&1 3>&- &
	load_pid[$name]=$!
	eventually "$PATIENCE" grep '^ready' "$DIR/$name.load" || { cat "$DIR/$name.load"; return 1; }
}

# begin_load NODE NID VERB TARGET [OPTION...]: like load, but in the background until
# end_load; the result is then in $DIR/NODE.json
begin_load() {
	local name=$1 nid=$2 verb=$3
	shift 3

	# shellcheck disable=SC2086 # options
	ip netns exec "$NS$name" "$LNETX_LOAD/lxload" "$verb" -V -j -n "$nid" $QUICK "$@" \
		>"$DIR/$name.json" 2>"$DIR/$name.load" 3>&- &
	load_pid[$name]=$!
}

# end_load NODE: stop the load; fail if it found an error
end_load() {
	local pid=${load_pid[$1]} status=0

	unset "load_pid[$1]"
	gone "$pid" || kill "$pid"
	wait "$pid" || status=$?
	sane "$DIR/$1.load" || status=1
	[ $status = 0 ] || { cat "$DIR/$1.load"; return $status; }
}

# ends PID STATUS: wait for a process that the test has started. ("run wait" would ask a shell that
# has no such child.)
ends() {
	local status=0

	wait "$1" || status=$?
	equal "$status" "$2"
}

# load NODE NID VERB TARGET [OPTION...]: send traffic and verify every byte; prints JSON
load() {
	local name=$1 nid=$2 verb=$3
	shift 3

	# shellcheck disable=SC2086 # options
	on "$name" "$LNETX_LOAD/lxload" "$verb" -V -j -n "$nid" $QUICK "$@" 3>&-
}

# jq(1), or the same in Go, which starts 15 times as fast, and always sorts keys.
JQ=(command jq -S)
! command -v gojq >/dev/null || JQ=(gojq)

# jq ARGUMENT...: in which "-e" refuses no input at all; 1.6 is content with it
jq() {
	local out

	case $1 in
	-e*)
		out=$("${JQ[@]}" "$@") && [ -n "$out" ] && printf '%s\n' "$out"
		;;
	*)
		"${JQ[@]}" "$@"
		;;
	esac
}

# all_arrived FILE: true if the result says that nothing was lost or wrong
all_arrived() {
	jq -e '.ok and .verified and .bad == 0 and .lost == 0 and .messages_total > 0' "$1" ||
		{ cat "$1"; return 1; }
}

# taker NODE ADDRESS [NET]: start a receiver of trains that checks every byte
taker() {
	on "$1" tests/sys/trains.py --net "${3:-2}" take "$2" >"$DIR/$2.taken" 2>&1 3>&- &
	eventually "$PATIENCE" grep ready "$DIR/$2.taken"
	takers+=("$2")
}

# trains OPTION...: send trains from the client to the takers
# shellcheck disable=SC2154 # set by bats' run
trains() {
	SEED=$((${SEED:-0} + 1))
	run on client tests/sys/trains.py send 10.1.0.1 10.1.0.11 "${takers[@]}" \
		--seed $SEED "$@"
	echo "$output"
	[ "$status" = 0 ]
}

# half_way ADDRESS: from that address of the client, 300 messages and half of one more, of 1 MiB,
# have been sent to the server, over one connection; sets $victim, which waits to be killed
half_way() {
	SEED=$((${SEED:-0} + 1))
	rm -f "$DIR/victim"
	ip netns exec "${NS}client" tests/sys/trains.py send "$1" 10.1.0.11 10.2.0.1 \
		--count 300 --batch 20 --end half --seed $SEED >"$DIR/victim" 2>&1 3>&- &
	# shellcheck disable=SC2034 # for the test
	victim=$!
	eventually "$PATIENCE" grep half "$DIR/victim"
}

# took COUNT: the takers have got COUNT messages in total, none of them bad
took() {
	local taker n sum=0

	for taker in "${takers[@]}"; do
		# All else that it says is a complaint.
		! grep -vE '^(ready|[0-9]+ messages, .*)$' "$DIR/$taker.taken" || return 9
		n=$(sed -n '$s/ messages, .*//p' "$DIR/$taker.taken")
		sum=$((sum + ${n:-0}))
	done
	[ $sum = "$1" ]
}

# ingress_program NODE IF NAME [-DMACRO=VALUE...]: attach tests/sys/NAME.bpf.c at ingress
ingress_program() {
	local node=$1 dev=$2 name=$3 object include
	shift 3

	object=$DIR/$name-$node-$dev.o
	include=/usr/include/$(uname -m)-linux-gnu
	"${BPF_CC:-clang}" -target bpf -O2 -g "$@" -idirafter "$include" \
		-c "$BATS_TEST_DIRNAME/$name.bpf.c" -o "$object"
	# While the kernel adds it, what leaves there is dropped.
	DROPS_EXPECTED+=("QDISC_DROP at __dev_queue_xmit: .* at $node $dev,")
	on "$node" tc qdisc replace dev "$dev" clsact
	on "$node" tc filter replace dev "$dev" ingress prio 1 handle 1 \
		bpf direct-action object-file "$object" section tc
}

# lossy NODE IF EVERY: drop one in EVERY incoming packets from now on
lossy() {
	ingress_program "$1" "$2" drop -DEVERY="$3"
}

# flipping NODE IF EVERY [FIRST LENGTH]: flip a bit in one in EVERY incoming TCP segments from now
# on, anywhere or in those bytes of the TCP header. Needs sums_in_packets.
flipping() {
	# The length of the TCP header may be flipped, too.
	DROPS_EXPECTED+=('TCP_CSUM at .*' 'PKT_TOO_SMALL at tcp_v4_rcv')
	flipped_at+=("$1")
	ingress_program "$1" "$2" flip -DEVERY="$3" -DFIRST="${4:-0}" -DLENGTH="${5:-0}"
}

# sums_in_packets NODE IF...: send packets with checksums, as on a cable; veths omit them
sums_in_packets() {
	local node=$1 dev
	shift

	for dev in "$@"; do
		on "$node" ethtool -K "$dev" tx off >/dev/null
	done
}

# flips NODE IF: the number of flips so far. Fails if packets came without a checksum.
flips() {
	local id

	id=$(on "$1" tc -j filter show dev "$2" ingress | jq '.[] | .options.prog.id // empty')
	id=$(bpftool -j prog show id "$id" | jq '.map_ids[0]')
	bpftool -j map dump id "$id" | jq -e '[.[].formatted.value] | if .[1] > 0 then
		"packets without checksums" | halt_error else .[0] end'
}

# counter_of NODE NAME: a kernel counter of the node: TcpInCsumErrors, ...
counter_of() {
	on "$1" nstat -asz "$2" | awk -v name="$2" '$1 == name { print $2 }'
}

# knock NODE ADDRESS PORT [SOURCE-PORT]: true if a TCP connection is accepted
knock() {
	on "$1" python3 - "$2" "$3" "${4:-0}" <<-'END'
		import socket, sys
		host, port, source = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
		s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		if source:
		    s.bind(("", source))
		s.settimeout(3.2) # the kernel has sent three SYNs by then
		try:
		    s.connect((host, port))
		except OSError as e:
		    sys.exit(str(e))
	END
}

# ---- the fast path -----------------------------------------------------------------------------

# fastpath_as_configured NODE: check that the fast path is loaded, or with LNETX_BPF=off is not.
# Skips the test if the kernel lacks a feature; the run without it is not skipped.
fastpath_as_configured() {
	local set

	set=$(lx "$1" -j bpf status | jq '.bpf.sets[] | select(.set == "fastpath")')
	if [ "$LNETX_BPF" = off ]; then
		equal "$(jq .loaded <<<"$set")" false
	elif jq -e '.reason // "" | startswith("needs ")' <<<"$set"; then
		skip "no fast path here: it $(jq -r .reason <<<"$set")"
	else
		jq -e .loaded <<<"$set" || { echo "$set"; return 1; }
	fi
}

# fastpath_used NODE: check that its kernel forwarded messages; with LNETX_BPF=off, none
fastpath_used() {
	local messages

	messages=$(fastpath_sum "$1" lane_messages)
	echo "# $messages messages by lanes, LNETX_BPF=$LNETX_BPF"
	[ "$([ "$messages" = 0 ] && echo off || echo on)" = "$LNETX_BPF" ]
}

# fastpath_map NODE NAME: the id of a map of the fast path's programs; nothing without them
fastpath_map() {
	lx "$1" -j bpf status | jq --arg name "$2" \
		'.bpf.objects[]? | select(.set == "fastpath" and .name == $name).id'
}

# fastpath_sum NODE FIELD [N]: the sum of a field, or of the Nth number of an array, of struct
# lx_stream (include/internal/abi.h) over all streams that the router's programs have had
fastpath_sum() {
	local id

	id=$(fastpath_map "$1" streams)
	[ -n "$id" ] || { echo 0; return; }
	"$LNETX_RELEASE/tests/streams" "$id" "${@:2}"
}

# Why, and where in the kernel, TCP packets may be dropped in any test: what the programs have made
# another packet of, or answered; what lnetxd ran a program on (user/bpf/poke.h); what comes for a
# connection that has ended, or waits for its end; the parts of a packet that GRO joined, when it is
# freed; copies for a sniffer that is too slow; what a switch that has forgotten an address sends to
# everybody; what is for a node that is not there, or has another MAC address now; and what comes in
# while the queue of a busy CPU (net.core.netdev_max_backlog) or of a veth that joins segments (256
# packets) is full, or is sent while its other end is deleted.
# A test may add its own. "REASON at FUNCTION"
DROPS_EXPECTED=(
	'TC_(IN|E)GRESS at .*'
	'NOT_SPECIFIED at bpf_prog_test_run_skb'
	'NO_SOCKET at .*'
	'NOT_SPECIFIED at tcp_v[46]_rcv'
	'.* at skb_release_data'
	'PACKET_SOCK_ERROR at .*'
	'OTHERHOST at .*'
	'NEIGH_.* at .*'
	'CPU_BACKLOG at enqueue_to_backlog'
	'NOT_SPECIFIED at veth_xmit'
)

# links_change: while packets are under way, interfaces go down or away, get a smaller MTU, or another
# MAC address. (Linux 6.1 does not specify DEV_READY where packets are queued for a CPU.)
links_change() {
	DROPS_EXPECTED+=('QDISC_DROP at __dev_queue_xmit' 'NOT_SPECIFIED at skb_do_redirect'
		'NOT_SPECIFIED at (__dev_forward_skb2|ip_fragment.*|br_.*)'
		'DEV_READY at .*' 'NOT_SPECIFIED at enqueue_to_backlog'
		'(NO_TX_TARGET|BRIDGE_INGRESS_STP_STATE) at br_.*' 'PKT_TOO_BIG at ip_forward')
}

# watch_packets NODE [shapes]: look at all packets of the test from now on
watch_packets() {
	[ ! "${packets_pid:-}" ] || return 0
	# On the node, so that sweep ends it if the test is killed.
	ip netns exec "$NS$1" "$LNETX_RELEASE/tests/packets" "$NS" "${@:2}" \
		>"$DIR/packets" 2>&1 3>&- &
	packets_pid=$!
	eventually "$PATIENCE" grep -E '^(ready|cannot)' "$DIR/packets" ||
		{ cat "$DIR/packets"; return 1; }
}

# packets_are_true: all packets of the test had headers that agree with the kernel's notes about
# them, and the kernel dropped none for a reason that is not expected. Ends watching.
packets_are_true() {
	local status=0 pid=${packets_pid:-} flipped

	[ -n "$pid" ] || return 0
	unset packets_pid
	kill "$pid" 2>/dev/null || :
	wait "$pid" || status=$?
	echo "# $(tail -n 1 "$DIR/packets")"
	[ $status != 4 ] || return 0
	grep -q '^looked at' "$DIR/packets" || { cat "$DIR/packets"; return 1; }
	# A switch passes on what was flipped in front of it.
	flipped=$(IFS='|' && echo "${flipped_at[*]:-nowhere}")
	! grep '^wrong: ' "$DIR/packets" |
		grep -vE ' packets (sent to|queued at|in the driver of) '"($flipped) " |
		grep -vE -e '^$' "${WRONG_EXPECTED[@]/#/-e^wrong: }" || status=1
	! grep '^dropped: ' "$DIR/packets" |
		grep -vE -e '^$' "${DROPS_EXPECTED[@]/#/-e^dropped: }" || status=1
	return $status
}

# has_shape NODE INTERFACE SHAPE: after packets_are_true(), if shapes were asked for: it has received
# such packets (PACKET_SHAPES in packets.h)
has_shape() {
	grep "^shapes: $1 $2 .*\<$3 " "$DIR/packets" || { grep ^shapes "$DIR/packets"; return 1; }
}

# lists_apart: after packets_are_true(): how many packets with a frag_list were taken apart
lists_apart() {
	sed -n 's/^looked at .* packets, \([0-9]*\) with.*/\1/p' "$DIR/packets"
}

# on_test_machine: skip a test whose packets have crashed kernels
on_test_machine() {
	[ "${VMTEST_KERNEL:-}" ] || skip "only on test machines (make vmtest): could crash this one"
}

# ---- waiting and asking -------------------------------------------------------------------------

# log_has NODE REGEX [COUNT]: true if at least COUNT lines of its log match
log_has() {
	[ "$(grep -cE -- "$2" "$DIR/$1.log")" -ge "${3:-1}" ]
}

# pings NODE NID...
pings() {
	local name=$1
	shift

	ctl "$name" ping --timeout 15 "$@"
}

# conns NODE: connections as "TYPE LOCAL REMOTE", sorted; count them with wc
conns() {
	lx "$1" -j conn show | jq -r '.conn[]? | "\(.type) \(.local) \(.remote)"' | sort
}

# no_conn ADDRESS: true if router r1 has no connection to it
no_conn() {
	! conns r1 | grep -F " $1:"
}

# stat_of NODE NAME: a counter
stat_of() {
	ctl "$1" stats show | awk -v key="$2:" '$1 == key { print $2 }'
}

# rss_kib NODE: the memory of its lnetxd
rss_kib() {
	awk '$1 == "VmRSS:" { print $2 }' "/proc/${daemon_pid[$1]}/status"
}

# routes_up NODE: true if all routes are up. A router advertises its NI as down while nobody on
# that net has pinged it for 6 s (quick_yaml), so a route is up once both ends are running.
routes_up() {
	lx "$1" -j route show | jq -e '[.route[].state] | all(. == "up")'
}

# peer_nids NODE NID: the NIDs of a peer known to a node, sorted
peer_nids() {
	ctl "$1" peer show --nid "$2" |
		awk '/^ *(- )? *nid:/ { print $NF }' | sort
}

# equal A B: compare, with a message
equal() {
	[ "$1" = "$2" ] || { printf 'expected:\n%s\nis:\n%s\n' "$2" "$1"; return 1; }
}
