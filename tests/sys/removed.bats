#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Others on the machine remove from the kernel what is lnetxd's: programs at interfaces, pins,
# interfaces of its own; or put programs in front of them. The client writes to the server through r1.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	node client server r1
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	link server eth0 10.2.0.1/24 r1 eth1 10.2.0.11/24
	start_routers 1 "conns_per_peer: 4"
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	# Segments by which lnetxd has its programs acknowledge something get out without them, and are dropped.
	WRONG_EXPECTED=('checksum is wrong, .* with mark 4c520000;')
	DROPS_EXPECTED+=('SOCKET_FILTER at tcp_v4_rcv' 'TCP_CSUM at tcp_v[46]_rcv' 'QDISC_DROP at kfree_skb_list_reason') # clsact is removed
	pins=$(lx r1 -j bpf status | jq -r .bpf.pins)
	agents=()
}

teardown() {
	end_agents
	net_end
}

writing() {
	begin_load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 65536 -t 60
	eventually "$PATIENCE" forwards
}

# by_lanes: messages that the programs have forwarded
by_lanes() {
	lx r1 -j stream show | jq '[.stream[]?.lane_messages] | add // 0'
}

# forwards: the programs forward now
forwards() {
	local before
	before=$(by_lanes)
	sleep 0.3
	[ "$(by_lanes)" -gt "$before" ]
}

# there COMMAND...: in lnetxd's mount namespace
there() {
	nsenter -m -r -t "${daemon_pid[r1]}" "$@"
}

# detach SET HOOK INTERFACE: as another agent would; clsact goes with all that is on the interface
detach() {
	if hook "$1" "$2" "$3" '.mode == "clsact"'; then
		on r1 tc qdisc del dev "$3" clsact
	else
		there bpftool link detach pinned "$pins/$1/link_$2_$3"
	fi
}

# hook SET HOOK INTERFACE FILTER: what bpf status says about it matches
hook() {
	lx r1 -j bpf status | jq -e --arg s "$1" --arg h "$2" --arg i "$3" \
		".bpf.hooks[] | select(.set == \$s and .hook == \$h and .interface == \$i) | $4"
}

# agent INTERFACE HOOK: from now on another agent's program runs in front of all others there, after
# which none does. ends_agents: no more
agent() {
	if hook fastpath ingress eth0 '.mode == "clsact"'; then
		on r1 tc qdisc add dev "$1" clsact 2>/dev/null || true
		on r1 tc filter add dev "$1" "$2" prio 1 bpf direct-action bytecode '1,6 0 0 0,'
		return
	fi
	ip netns exec "${NS}r1" tests/sys/front.py "$1" "$2" 0 "${@:3}" >"$DIR/agent-$1-$2" 3>&- &
	agents+=($!)
	eventually "$PATIENCE" grep ready "$DIR/agent-$1-$2"
}

end_agents() {
	[ ${#agents[@]} = 0 ] || kill "${agents[@]}"
	agents=()
}

# in_place SET HOOK INTERFACE [FILTER]: the program sees all packets
in_place() {
	hook "$1" "$2" "$3" ".mode != \"none\" and (has(\"reason\") | not) and ${4:-true}"
}

ended_well() {
	end_load client
	all_arrived "$DIR/client.json"
}

@test "programs that another agent removes under load are put back" {
	writing
	for place in "ingress eth0" "egress eth0" "ingress eth1" "egress eth1"; do
		# shellcheck disable=SC2086
		detach fastpath $place
		# shellcheck disable=SC2086
		eventually "$PATIENCE" hook fastpath $place '.removed >= 1 and .mode != "none"'
		eventually "$PATIENCE" forwards
	done
	log_has r1 'interface=eth1 hook=egress removed='
	run -0 lx r1 metrics
	[[ $output =~ lnetx_bpf_removed_total\ ([4-9]|[1-9][0-9]) && $output == *"lnetx_bpf_missing_programs 0"* ]]
	run lx r1 doctor
	[[ $output == *"removed the program of fastpath"* ]]
	ended_well
}

# Two agents may fight, or an admin may mean it.
@test "programs that are removed again and again stay away: lnetxd forwards, and bpf on tries again" {
	writing
	for n in 1 2 3; do
		eventually "$PATIENCE" hook fastpath ingress eth0 '.mode != "none"'
		detach fastpath ingress eth0
		eventually "$PATIENCE" hook fastpath ingress eth0 ".removed == $n"
	done
	eventually "$PATIENCE" hook fastpath ingress eth0 '.mode != "none"'
	detach fastpath ingress eth0
	eventually "$PATIENCE" hook fastpath ingress eth0 '.removed == 4 and .mode == "none"'
	run -0 lx r1 bpf status
	[[ $output == *"4 times; lnetxd forwards all messages itself; find out who did"*"lnetx bpf on"* ]]
	run lx r1 doctor
	[[ $output == *"lnetxd forwards all messages itself, which is slower: eth0 ingress"* ]]
	equal "$(grep -c 'interface=eth0 hook=ingress removed' "$DIR/r1.log")" 4
	end_load client || true # what was in flight may be lost
	load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 65536 -t 1 >"$DIR/after.json"
	all_arrived "$DIR/after.json"
	lx r1 bpf on
	writing
	hook fastpath ingress eth0 '.mode != "none" and (has("removed") | not)'
	ended_well
}

banned() {
	! knock client 10.1.0.11 988 700
}

@test "an interface is renamed under load: its NI is up, and forwards" {
	writing
	on r1 ip link set eth1 name uplink || skip "this kernel does not rename an interface that is up"
	eventually "$PATIENCE" hook fastpath ingress uplink '.mode != "none"'
	eventually "$PATIENCE" forwards
	[[ $(lx r1 net show) == *uplink* && $(lx r1 net show) != *eth1* ]]
	log_has r1 'interface=uplink reason="the interface eth1 has this name now"'
	run ! log_has r1 'event="ni down"'
	lx r1 guard ban 10.9.9.9@tcp1 # attaches it anew
	hook guard ingress uplink '.mode != "none"'
	ended_well
}

@test "a ban holds when another agent removes the guard" {
	lx r1 guard ban 10.1.0.1@tcp1
	eventually "$PATIENCE" banned
	detach guard ingress eth0
	eventually "$PATIENCE" hook guard ingress eth0 '.removed == 1 and .mode != "none"'
	banned
}

@test "pins that are removed come back" {
	lx r1 guard ban 10.1.0.1@tcp1
	there rm -r "$pins/guard" "$pins/fastpath"
	eventually "$PATIENCE" log_has r1 "pins=$pins/fastpath removed=1"
	eventually "$PATIENCE" there test -e "$pins/guard/bans" -a -e "$pins/guard/link_ingress_eth0" \
		-a -e "$pins/fastpath/prog_lnetx_ingress"
}

is_up() {
	[[ $(on r1 ip -o link show "$1") == *[\<,]UP[,\>]* ]]
}

@test "interfaces of the fast path that are removed or switched off come back" {
	local pair

	links_change
	pair=$(on r1 ip -o link | grep -om1 'lnetx-seg[a-z0-9]*0@' | tr -d @)
	writing
	on r1 ip link del "$pair"
	eventually "$PATIENCE" log_has r1 "interface=$pair removed=1"
	eventually "$PATIENCE" is_up "$pair"
	on r1 ip link set "$pair" down
	eventually "$PATIENCE" log_has r1 "interface=$pair removed=2"
	eventually "$PATIENCE" is_up "$pair"
	on r1 ethtool -K "$pair" tso on
	eventually "$PATIENCE" log_has r1 "interface=$pair removed=3"
	eventually "$PATIENCE" forwards
	ended_well
}

# comes_in_front HOOK INTERFACE: an agent does, under load; soon it is behind ours
comes_in_front() {
	agent "$2" "$1"
	eventually "$PATIENCE" in_place fastpath "$1" "$2" '.removed == 1'
	eventually "$PATIENCE" forwards
}

@test "a program that others put in front of ours under load ends up behind it" {
	writing
	for place in "ingress eth1" "egress eth1" "ingress eth0" "egress eth0"; do
		# shellcheck disable=SC2086
		comes_in_front $place
	done
	log_has r1 'bpf=fastpath interface=eth1 hook=ingress removed=1 reason="(agent \(program [0-9]+|a filter of tc)'
	run lx r1 doctor
	[[ $output == *"removed the program of fastpath, or was put in front of it, as a"*" 1 times"* ]]
	run -0 lx r1 metrics
	[[ $output == *'lnetx_bpf_hook_removed{set="fastpath",interface="eth1",hook="ingress",front="a'*'"} 1'* ]]
	[[ $output == *"lnetx_bpf_missing_programs 0"* ]]
	ended_well
}

@test "the same with clsact, which kernels before 6.6 have instead of tcx" {
	stop r1
	"${CC:-cc}" -D_GNU_SOURCE -shared -fPIC -o "$DIR/no_tcx.so" tests/sys/no_tcx.c
	LAUNCH="env LD_PRELOAD=$DIR/no_tcx.so ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0" \
		start r1
	hook fastpath ingress eth1 '.mode == "clsact"'
	writing
	comes_in_front ingress eth1
	comes_in_front egress eth1
	run -0 on r1 tc filter show dev eth1 ingress
	echo "$output"
	[[ $output == *"pref 1 "*lnetx_ingress*"pref 1 "*bytecode* ]]
	ended_well
}

@test "a filter of tc behind ours that gives packets a class: they still count as passed" {
	for dev in eth0 eth1; do
		on r1 tc qdisc add dev $dev clsact 2>/dev/null || true
		on r1 tc filter add dev $dev ingress prio 9 bpf bytecode '1,6 0 0 4294967295,' flowid 1:7
	done
	writing
	equal "$(lx r1 -j bpf status | jq .bpf.unpassed)" 0
	ended_well
}

@test "a program that was there before lnetxd is behind ours from the start" {
	stop r1
	for place in "eth1 ingress" "eth1 egress" "eth0 ingress" "eth0 egress"; do
		# shellcheck disable=SC2086
		agent $place
	done
	start r1
	writing
	in_place fastpath ingress eth1 '(has("removed") | not)'
	ended_well
}

@test "a program that comes to the front again and again: named, lnetxd forwards, and the fast path comes back" {
	! hook fastpath ingress eth0 '.mode == "clsact"' || skip "for an agent with tcx"
	writing
	agent eth1 ingress --again
	eventually "$PATIENCE" hook fastpath ingress eth1 '.removed == 4'
	run -0 lx r1 bpf status
	[[ $output == *"agent (program "*" of uid 0) was put in front of it 4 times; lnetxd forwards"* ]]
	run -0 lx r1 metrics
	[[ $output == *"lnetx_bpf_missing_programs 2"* ]]
	run lx r1 doctor
	[[ $output == *"lnetxd forwards all messages itself, which is slower: eth1 ingress: agent (program "* ]]
	end_load client || true # what was in flight may be lost
	load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 65536 -t 1 >"$DIR/after.json"
	all_arrived "$DIR/after.json"
	end_agents
	eventually "$PATIENCE" in_place fastpath ingress eth1
	writing
	ended_well
}

@test "a guard that others come in front of is on no more; what a banned peer opened is closed afterwards" {
	! hook fastpath ingress eth0 '.mode == "clsact"' || skip "for an agent with tcx"
	lx r1 guard ban 10.1.0.1@tcp1
	banned
	agent eth0 ingress --again
	eventually "$PATIENCE" hook guard ingress eth0 '.removed == 4'
	equal "$(lx r1 -j guard show | jq -r .guard.active)" false
	run lx r1 doctor
	[[ $output == *"no program of guard here: agent (program "*"no bans"* ]]
	begin_load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 65536 -t 60
	eventually "$PATIENCE" has_conn 10.1.0.1
	end_agents
	eventually "$PATIENCE" log_has r1 'peer=10.1.0.1@tcp1 closed=[1-9][0-9]* reason="it is banned'
	eventually "$PATIENCE" no_conn 10.1.0.1
	banned
	run lx r1 doctor
	[[ $output == *"of guard, or was put in front of it, as agent"*"what banned peers opened meanwhile was closed"* ]]
	kill -9 "${load_pid[client]}" # it would wait
	unset "load_pid[client]"
}

has_conn() {
	conns r1 | grep -F " $1:"
}
