#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The faults of docs/operations.md, each made at a site of four lnetxd, and what is then said on the
# node at fault, its router and a client: verdict, exit status and words. "make faults" makes all and
# prints a table of what was said, and after how long; without FAULTS=all those that take long are
# skipped, as in make check.
#
#	client eth0 .1 ── 10.1.0 ── .11 eth0 r1 eth1 .11 ── 10.2.0 ─┬─ .1 eth0 server
#	                                                            └─ .2 eth0 healthy
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"
# shellcheck source=tests/sys/selftest.bash
source "$BATS_TEST_DIRNAME/selftest.bash"
# Quick verdicts. Other tests look at lnetxd under the sanitizer.
# shellcheck disable=SC2034 # for lib.bash
GIVE_UP=6 SILENCE=3
LNETX_BIN=$LNETX_RELEASE/bin

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

# FAULT | NODE | COMMAND | EXIT STATUS | WORDS, a regular expression. "log" is the node's log, "ping" that
# of the server. The words of a fault's first line name it, and are not said before it is made.
faults() {
	cat <<-'END'
	silent      | r1      | doctor | 3 | 10.2.0.1@tcp2: it answers neither port 988 nor ICMP
	silent      | r1      | doctor | 3 | ^problem  drops: [0-9]+ messages were dropped in the last second: [a-z_]+; to 10.2.0.1@tcp2$
	silent      | client  | ping   | 1 | its gateway 10.1.0.11@tcp1 answers in .*: look beyond it
	silent      | healthy | doctor | 0 | ^healthy
	carrier     | server  | doctor | 3 | ^problem  10.2.0.1@tcp2: the NI is down: its interface has no carrier
	carrier     | r1      | doctor | 3 | 10.2.0.1@tcp2: it answers neither port 988 nor ICMP
	carrier     | client  | ping   | 1 | its gateway 10.1.0.11@tcp1 answers in .*: look beyond it
	no_return   | server  | doctor | 3 | ^problem  routes: there was no route for [0-9]+ messages
	no_return   | r1      | doctor | 0 | ^healthy
	no_return   | client  | ping   | 1 | its gateway 10.1.0.11@tcp1 answers in .*: look beyond it
	wrong_net   | server  | doctor | 0 | 10.2.0.11: it asked for 10.2.0.1@tcp2; this node is 10.2.0.1@tcp3: wrong net there
	wrong_net   | r1      | doctor | 3 | 10.2.0.1@tcp2: .* it has no NI with this NID .wrong net
	wrong_net   | client  | ping   | 1 | its gateway 10.1.0.11@tcp1 answers in .*: look beyond it
	wrong_nid   | client  | doctor | 3 | ^problem  10.1.0.99@tcp1: it answers neither port 988 nor ICMP; the route to tcp2 is down; silent since
	wrong_nid   | client  | ping   | 1 | no route to tcp2 is up: 10.1.0.99@tcp1
	nat         | r1      | doctor | 0 | 10.1.0.51: its connections are dropped: its source ports are above 1023
	nat         | client  | doctor | 3 | ^problem  10.1.0.11@tcp1: it answers ICMP, but not port 988: a firewall, or its guard, drops our connections
	typo        | server  | doctor | 3 | ^problem  lnetxd: the last reload failed: .*server.yaml:2:1: not YAML
	typo        | r1      | doctor | 0 | ^healthy
	typo        | client  | ping   | 0 | answered in
	duplicate   | server  | doctor | 3 | ^problem  10.2.0.1@tcp2: another machine has its address, too: the one with MAC address 02:00:00:00:00:99
	clock       | r1      | doctor | 0 | ^advice   clock: this machine's clock was set forward by 36[0-9][0-9] s
	clock       | client  | ping   | 0 | answered in
	killed      | client  | doctor | 3 | ^problem  10.1.0.11@tcp1: its machine is on, and nothing listens on port 988: .*; the route to tcp2 is down
	killed      | server  | doctor | 3 | ^problem  10.2.0.11@tcp2: its machine is on, and nothing listens on port 988
	hung        | client  | doctor | 3 | ^problem  10.1.0.11@tcp1: the route to tcp2 is down: its gateway does not answer pings
	hung        | server  | doctor | 3 | ^problem  10.2.0.11@tcp2: the route to tcp1 is down: its gateway does not answer pings
	hung        | r1      | doctor | 1 | has given no sign of life within
	off         | client  | doctor | 3 | ^problem  10.1.0.11@tcp1: it answers neither port 988 nor ICMP; the route to tcp2 is down
	off         | server  | doctor | 3 | ^problem  10.2.0.11@tcp2: it answers neither port 988 nor ICMP; the route to tcp1 is down
	routing_off | r1      | doctor | 3 | ^problem  lnetxd: it does not run as its file says: routing is off
	routing_off | client  | doctor | 3 | ^problem  10.1.0.11@tcp1: the route to tcp2 is down: its gateway does not route
	routing_off | server  | doctor | 3 | ^problem  10.2.0.11@tcp2: the route to tcp1 is down: its gateway does not route
	detached    | r1      | doctor | 0 | eth1: another program or an admin removed the program of fastpath 1 time
	detached    | client  | ping   | 0 | answered in
	flapping    | r1      | log    | 0 | event="ni down" .*has no carrier
	flapping    | client  | ping   | 0 | answered in
	flapping    | r1      | doctor | 0 | ^healthy
	full_disk   | r1      | log    | 0 | level=warning file=.*\.neighbours.* reason="No space left on device"
	full_disk   | r1      | doctor | 0 | ^healthy
	full_disk   | client  | ping   | 0 | answered in
	firewall    | r1      | doctor | 3 | 10.2.0.1@tcp2: it answers ICMP, but not port 988: a firewall, or its guard
	firewall    | server  | doctor | 3 | ^problem  10.2.0.11@tcp2: it answers ICMP, but not port 988: a firewall
	firewall    | client  | ping   | 1 | its gateway 10.1.0.11@tcp1 answers in .*: look beyond it
	loss        | r1      | doctor | 0 | 10.2.0.1@tcp2: [0-9]+ % of the bytes to it were sent again in the last second: loss behind eth1
	loss        | server  | doctor | 0 | ^healthy
	loss        | client  | doctor | 0 | ^healthy
	loss_lanes  | client  | doctor | 0 | 10.1.0.11@tcp1: [0-9]+ % of the bytes to it were sent again in the last second: loss behind eth0, or behind this gateway
	black_hole  | r1      | doctor | 3 | ^problem  10.2.0.1@tcp2: packets of 1500 bytes to it get lost, those of 576 arrive
	black_hole  | client  | fabric check 10.2.0.1@tcp2 bandwidth off | 0 | MTU: not known behind gateways, on 1 rail
	mtu         | r1      | fabric check 10.2.0.1@tcp2 bandwidth off | 3 | packets of 9000 bytes get lost, those of 1500 arrive
	slow        | r1      | log    | 0 | nid=10.1.0.50@tcp1 .*(others had to wait for the rest|left a message unfinished)
	slow        | client  | ping   | 0 | answered in
	slow        | client  | fabric check 10.2.0.1@tcp2 10.2.0.2@tcp2 bandwidth off | 0 | ^healthy: 3 rails of 3 nodes
	saturated   | r1      | explain peer 10.2.0.1@tcp2 | 0 | waiting   [0-9]+ messages to it for transmit credits
	saturated   | r1      | explain peer 10.2.0.2@tcp2 | 0 | waiting   nothing
	asymmetric  | client  | fabric check 10.2.0.1@tcp2 bandwidth off | 0 | asymmetric: 10.2.0.1@tcp2 from 10.1.0.1@tcp1: pings go by 10.1.0.11@tcp1, answers come by 10.1.0.12@tcp1
	asymmetric  | client  | -j fabric check 10.2.0.1@tcp2 bandwidth off | 0 | "answers_by":"10.1.0.12@tcp1"
	asymmetric  | server  | doctor | 0 | ^healthy
	suspended   | server  | log    | 0 | lnetxd did not run
	suspended   | r1      | doctor | 0 | ^healthy
	suspended   | client  | ping   | 0 | answered in
	END
}

# ---- the site --------------------------------------------------------------------------------

setup() {
	net_begin
	# What the faults do to packets is not the subject.
	DROPS_EXPECTED+=('.* at .*')
	export STATE_DIRECTORY=$DIR/state
	mkdir -p "$STATE_DIRECTORY"
	background=()
}

teardown() {
	local pid

	for pid in "${background[@]}"; do kill "$pid" || :; done
	# shellcheck disable=SC2154 # of lib.bash
	for pid in "${daemon_pid[@]}"; do kill -CONT "$pid"; done
	net_end
}

# end_yaml NET ROUTE...: of a client or server
end_yaml() {
	nets_yaml "$1" eth0
	[ $# = 1 ] || route_yaml "${@:2}"
	quick_yaml
}

site() {
	local name

	net_routed
	node healthy
	plug healthy eth0 10.2.0.2/24 lan2
	start_routers
	end_yaml tcp1 tcp2 10.1.0.11@tcp1 | config client
	end_yaml tcp2 tcp1 10.2.0.11@tcp2 | tee "$DIR/healthy.yaml" | config server
	for name in client server healthy; do start $name; done
	for name in client server healthy; do eventually "$PATIENCE" routes_up $name; done
	pings client $SERVER
}

# using: some users of the client try again and again
using() {
	for _ in 1 2 3 4; do
		while :; do
			lx client ping $SERVER timeout 1 || :
			sleep 0.2
		done >/dev/null 2>&1 3>&- &
		background+=($!)
	done
}

# loaded [SIZE]: the client writes to the server
loaded() {
	tests_on client server
	while :; do
		ip netns exec "${NS}client" "$LNETX_TOOLS/lnetx" selftest run from $CLIENT to $SERVER \
			write size "${1:-64k}" concurrency 64 time 60s || :
	done >/dev/null 2>&1 3>&- &
	background+=($!)
	eventually "$PATIENCE" testing client
}

# ---- the faults ------------------------------------------------------------------------------

make_silent() {
	using
	ip -n "${NS}lan2" link set p-server nomaster
}

make_carrier() {
	using
	ip -n "${NS}lan2" link set p-server down
}

make_no_return() {
	using
	end_yaml tcp2 | config server
	lx server daemon reload
}

make_wrong_net() {
	using
	end_yaml tcp3 | config server
	lx server daemon reload
}

make_wrong_nid() {
	end_yaml tcp1 tcp2 10.1.0.99@tcp1 | config client
	lx client daemon reload
}

# The client's address is another one in front of the router, and its ports are.
make_nat() {
	address client eth0 10.1.0.51/24
	on client nft -f - <<-'END'
		table ip t {
			chain c {
				type nat hook postrouting priority 100
				ip saddr 10.1.0.1 tcp dport 988 snat to 10.1.0.51:2000-3000
			}
			chain d {
				type filter hook output priority 0
				tcp sport 988 drop
			}
		}
	END
	lx client disconnect all
}

make_typo() {
	echo 'net: [' | config server
	! lx server daemon reload
}

make_duplicate() {
	node other
	plug other eth0 10.2.0.77/24 lan2
	ip -n "${NS}other" link set eth0 address 02:00:00:00:00:99
	address other eth0 10.2.0.1/24
}

make_clock() {
	date -s "+1 hour"
}

make_killed() {
	stop r1 KILL
}

make_hung() {
	kill -STOP "${daemon_pid[r1]}"
}

make_off() {
	ip -n "${NS}lan1" link set p-r1 nomaster
	ip -n "${NS}lan2" link set p-r1 nomaster
}

make_routing_off() {
	lx r1 routing off
}

make_detached() {
	nsenter -m -r -t "${daemon_pid[r1]}" bpftool link detach pinned \
		"$(lx r1 -j bpf status | jq -r .bpf.pins)/fastpath/link_ingress_eth1"
}

make_flapping() {
	for _ in 1 2 3; do
		ip -n "${NS}lan2" link set p-r1 down
		sleep 0.7
		ip -n "${NS}lan2" link set p-r1 up
		sleep 0.7
	done
}

make_full_disk() {
	nsenter -m -t "${daemon_pid[r1]}" sh -c "mount -t tmpfs -o size=4k none '$STATE_DIRECTORY'
		head -c 8k /dev/zero >'$STATE_DIRECTORY/full'" || :
}

make_firewall() {
	using
	on server nft -f - <<-'END'
		table inet t {
			chain c {
				type filter hook input priority 0
				tcp dport 988 drop
				tcp sport 988 drop
			}
		}
	END
}

make_loss() {
	lx r1 bpf off
	loaded
	lossy server eth0 20
}

make_loss_lanes() {
	loaded
	lossy server eth0 20
}

# Pings are small.
make_black_hole() {
	loaded
	ingress_program server eth0 drop -DEVERY=1 -DOVER=1000
}

make_mtu() {
	on r1 ip link set eth1 mtu 9000
}

# It stops inside a message.
make_slow() {
	address client eth0 10.1.0.50/24
	half_way 10.1.0.50
	background+=("$victim")
}

# Its lnetxd gets a twentieth of the time.
make_saturated() {
	local pid=${daemon_pid[server]}

	# Else kernels take all of it.
	on server sysctl -qw net.ipv4.tcp_rmem='4096 16384 65536'
	on r1 sysctl -qw net.ipv4.tcp_wmem='4096 16384 65536'
	lx r1 bpf off
	lx r1 disconnect all
	loaded 1m
	while kill -STOP "$pid"; do
		sleep 0.95
		kill -CONT "$pid"
		sleep 0.05
	done >/dev/null 2>&1 3>&- &
	background+=($!)
}

make_asymmetric() {
	node r2
	plug r2 eth0 10.1.0.12/24 lan1
	plug r2 eth1 10.2.0.12/24 lan2
	cp "$DIR/r1.yaml" "$DIR/r2.yaml"
	start r2
	lx r2 ping $CLIENT
	end_yaml tcp2 tcp1 10.2.0.12@tcp2 | config server
	lx server daemon reload
	eventually "$PATIENCE" routes_up server
}

make_suspended() {
	using
	kill -STOP "${daemon_pid[server]}"
	sleep 5
	kill -CONT "${daemon_pid[server]}"
}

# ---- what is said ----------------------------------------------------------------------------

# said NODE COMMAND: what it prints; returns its exit status
said() {
	case $2 in
	log) cat "$DIR/$1.log" ;;
	ping) lx "$1" ping $SERVER timeout 1 2>&1 ;;
	*)
		# shellcheck disable=SC2086 # words
		lx "$1" $2 2>&1
		;;
	esac
}

# says NODE COMMAND STATUS WORDS
says() {
	local status=0 out

	out=$(said "$1" "$2") || status=$?
	printf '%s\nexit status %s\n' "$out" $status
	[ $status = "$3" ] && grep -qE -- "$4" <<<"$out"
}

# lines FAULT: NODE|COMMAND|STATUS|WORDS of each
lines() {
	faults | sed -n "s/^$1 *| *//p" | sed 's/ \+| \+/|/g'
}

# fault NAME [long]: make it, and hear what is said
fault() {
	local name command status words first=1 made

	[ "${2:-}" != long ] || [ "${FAULTS:-}" = all ] || skip "takes long: make faults"
	site
	IFS='|' read -r name command status words <<<"$(lines "$1")"
	run ! says "$name" "$command" "$status" "$words"
	"make_$1"
	made=${EPOCHREALTIME/./}
	while IFS='|' read -r name command status words; do
		eventually "$PATIENCE" says "$name" "$command" "$status" "$words"
		[ ! "${FAULTS_TABLE:-}" ] || printf '%-32s %-8s %-4d %4d  %s: %s\n' \
			"${first:+$BATS_TEST_DESCRIPTION}" "$name" "$status" \
			$(((${EPOCHREALTIME/./} - made) / 1000000)) "$command" "$words" >>"$FAULTS_TABLE"
		first=
	done <<<"$(lines "$1")"
}

@test "server silent" {
	fault silent
}

@test "server without carrier" {
	fault carrier long
}

@test "no return route" {
	fault no_return
}

@test "wrong net" {
	fault wrong_net long
}

@test "wrong NID" {
	fault wrong_nid long
}

@test "NAT" {
	fault nat long
}

@test "typo at reload" {
	fault typo
}

@test "duplicate address" {
	fault duplicate long
}

# It is one clock for all nodes of a machine.
@test "clock" {
	on_test_machine
	fault clock
}

@test "gateway killed" {
	fault killed
}

@test "gateway hung" {
	fault hung long
}

@test "gateway off" {
	fault off long
}

@test "routing off" {
	fault routing_off
}

@test "programs detached" {
	[ "$LNETX_BPF" = on ] || skip "there are none"
	fault detached long
}

@test "flapping link" {
	fault flapping
}

@test "full disk" {
	fault full_disk long
}

@test "firewall" {
	fault firewall long
}

@test "packet loss" {
	fault loss
}

@test "packet loss behind the fast path" {
	[ "$LNETX_BPF" = on ] || skip "there is none"
	fault loss_lanes long
}

@test "large packets get lost behind the router" {
	fault black_hole
}

@test "MTU" {
	fault mtu long
}

@test "slow client" {
	fault slow
}

@test "saturated server" {
	fault saturated long
}

@test "asymmetric routes" {
	fault asymmetric
}

@test "daemon suspended" {
	fault suspended long
}
