#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Set up by lnetctl in Linux itself: routes for several interfaces on one subnet, and
# settings for large systems; and what lnetx doctor finds.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

#	a eth0 .1 ─┬ 10.1.0 ┬─ .2 eth0 b
#	  eth1 .3 ─┘        └─ .254 eth0 gw
setup() {
	net_begin
	node a b gw
	switch lan
	plug a eth0 10.1.0.1/24 lan
	ip link add eth1 netns "${NS}a" type veth peer name p-a1 netns "${NS}lan"
	ip -n "${NS}lan" link set p-a1 master br0 up
	address a eth1 10.1.0.3/24 fd00:1::3/64
	plug b eth0 10.1.0.2/24 lan
	plug gw eth0 10.1.0.254/24 lan
	nets_yaml tcp eth0,eth1 | config a
}

teardown() {
	net_end
}

# leaves_by ADDRESS INTERFACE: packets from that address to b leave a by it
leaves_by() {
	[[ $(on a ip route get 10.1.0.2 from "$1") == *" dev $2 "* ]]
}

rules() {
	on a ip rule | grep -c "from 10.1.0" || true
}

@test "setup-mrrouting: each address by its own interface; again, and undone" {
	start a
	start b
	on a ip route add default via 10.1.0.254 dev eth1
	leaves_by 10.1.0.3 eth0

	ctl a setup-mrrouting --dry-run >"$DIR/commands"
	[ "$(rules)" = 0 ]
	[ ! -e "$LNETX_RT_TABLES" ]
	grep -x "ip route add 10.1.0.0/24 dev eth1 src 10.1.0.3 table [0-9]* protocol 98" "$DIR/commands"
	grep -x "ip route add default via 10.1.0.254 dev eth1 table [0-9]* protocol 98" "$DIR/commands"
	grep -x "ip rule add from 10.1.0.3 table [0-9]* protocol 98" "$DIR/commands"
	grep -x "ip neigh flush dev eth1" "$DIR/commands"

	run -0 ctl a setup-mrrouting
	[ -z "$output" ]
	leaves_by 10.1.0.1 eth0
	leaves_by 10.1.0.3 eth1
	[[ $(on a ip route get 192.0.2.1 from 10.1.0.3) == *"via 10.1.0.254 dev eth1"* ]]
	pings a --source 10.1.0.3@tcp 10.1.0.2@tcp
	grep -E "^[0-9]+ eth1$" "$LNETX_RT_TABLES"

	on a ip rule >"$DIR/rules"
	run -0 ctl a setup-mrrouting --dry-run
	[ -z "$output" ]
	ctl a setup-mrrouting
	on a ip rule | diff "$DIR/rules" -

	# An address that is gone takes its routes with it; its rule is removed.
	on a ip addr del 10.1.0.3/24 dev eth1
	[ "$(rules)" = 2 ]
	ctl a setup-mrrouting
	[ "$(rules)" = 1 ]
	on a ip addr add 10.1.0.3/24 dev eth1
	ctl a setup-mrrouting

	ctl a setup-mrrouting --undo
	[ "$(rules)" = 0 ]
	[ -z "$(on a ip route show table all protocol 98)" ]
	leaves_by 10.1.0.3 eth0
}

@test "the printed commands do the same" {
	start a
	ctl a setup-mrrouting --dry-run | on a sh -e
	leaves_by 10.1.0.3 eth1
	run -0 ctl a setup-mrrouting --dry-run
	[ -z "$output" ]
}

@test "IPv6: the address of an NI gets its table" {
	nets_yaml tcp eth0 | config a
	start a
	ctl a net add --nid fd00:1::3@tcp6
	on a ip -6 rule | grep "from fd00:1::3"
	[[ $(on a ip -6 route show table all protocol 98) == *"fd00:1::/64 dev eth1"* ]]
	ctl a setup-mrrouting --undo
	run ! on a sh -c 'ip -6 rule | grep "from fd00:1::3"'
}

@test "net add sets routes up; its option and the tunable do not" {
	nets_yaml tcp eth0 | config a
	start a
	ctl a net add --net tcp --if eth1 --skip-mr-route-setup
	[ "$(rules)" = 0 ]
	ctl a net del --net tcp --if eth1
	lx a tunable set tcp skip_mr_route_setup 1
	ctl a net add --net tcp --if eth1
	ctl a setup-mrrouting
	[ "$(rules)" = 0 ]
	ctl a net del --net tcp --if eth1
	lx a tunable set tcp skip_mr_route_setup 0
	ctl a net add --net tcp --if eth1
	leaves_by 10.1.0.3 eth1
}

# ours: what is left in Linux of what lnetx made
ours() {
	on a ip rule | grep -F 'from 10.1.0' || :
	on a ip -6 rule | grep -F 'from fd00:' || :
	on a ip route show table all protocol 98
	on a ip -6 route show table all protocol 98
	[ ! -e "$LNETX_RT_TABLES" ] || cat "$LNETX_RT_TABLES"
}

@test "what net add has set up in Linux goes with the NI, and nothing else does" {
	nets_yaml tcp eth0 | config a
	start a
	ctl a net add --net tcp --if eth1
	ctl a net add --nid fd00:1::3@tcp6
	leaves_by 10.1.0.3 eth1
	on a ip -6 rule | grep "from fd00:1::3"
	# Another NI of the interface needs them.
	ctl a net del --net tcp --if eth1
	on a ip -6 rule | grep "from fd00:1::3"
	ctl a net del --net tcp6
	[[ $(on a ip -6 rule) != *fd00:* ]]
	[[ $(ours) != *eth1* && $(ours) != *10.1.0.3* ]]
	# eth0 has an NI.
	leaves_by 10.1.0.1 eth0
	[[ $(ours) == *" eth0 # net add "* ]]
	on a ip rule | grep "from 10.1.0.1"
	lx a daemon down
	equal "$(ours)" ""
	[ ! -e "$LNETX_RT_TABLES" ]

	# What setup-mrrouting has made stays, also where net add was first.
	ctl a lnet configure --all
	ctl a net add --net tcp --if eth1
	ctl a setup-mrrouting
	ours >"$DIR/before"
	run ! grep "net add" "$DIR/before"
	ctl a net del --net tcp --if eth1
	ctl a lnet unconfigure
	ours | diff "$DIR/before" -
	ctl a setup-mrrouting --undo
	on a ip rule add from 10.1.0.77 table 256
	# Tables of other names: the name stays, and so do others' rules and routes.
	echo "256 eth1" >"$LNETX_RT_TABLES"
	ctl a lnet configure --all
	ctl a net add --net tcp --if eth1
	grep -E '^# 256 eth1 # net add ' "$LNETX_RT_TABLES"
	leaves_by 10.1.0.3 eth1
	lx a net del nid 10.1.0.3@tcp
	run ! leaves_by 10.1.0.3 eth1
	[[ $(cat "$LNETX_RT_TABLES") == "256 eth1"* && $(ours) == *10.1.0.77* ]]
	[[ $(cat "$LNETX_RT_TABLES") != *"eth1 #"* ]]
}

@test "what net add of an lnetxd that is gone left behind" {
	nets_yaml tcp eth0 | config a
	start a
	ctl a net add --net tcp --if eth1
	stop a
	# Packages do so when they are removed; a dry run says what.
	run -0 ctl a setup-mrrouting --undo-added --dry-run
	[[ $output == *"ip rule del from 10.1.0.3"* ]]
	ctl a setup-mrrouting --undo-added
	equal "$(ours)" ""
	start a
	ctl a net add --net tcp --if eth1
	stop a
	start a
	ctl a net add --nid fd00:1::3@tcp6
	# Of another lnetxd on the interface, too: it stays, as nobody knows who needs it.
	sed -i 's/# net add .*/# net add other/' "$LNETX_RT_TABLES"
	ctl a net add --net tcp --if eth1
	ctl a lnet unconfigure
	[[ $(ours) == *eth1* ]]
}

@test "a table that somebody else has filled is left alone" {
	echo "4711 eth1" >"$LNETX_RT_TABLES"
	on a ip route add 10.1.0.0/24 dev eth1 table 4711
	start a
	ctl a setup-mrrouting
	[ "$(rules)" = 1 ]
	[[ $(on a ip rule) != *"10.1.0.3"* ]]
	ctl a setup-mrrouting --undo
	[ "$(on a ip route show table 4711)" != "" ]
}

@test "an NI on the loopback interface needs no routes" {
	nets_yaml tcp eth0 | config a
	on a ip link set lo up
	start a
	ctl a net add --net tcp1 --if lo
	run -0 on a ip rule
	[[ $output != *127.0.0.1* ]]
	[ ! -s "$LNETX_RT_TABLES" ] || ! grep -w lo "$LNETX_RT_TABLES"
}

@test "without privileges, from elsewhere: the reason" {
	start a -g nogroup
	let_in
	run -243 on a setpriv --reuid=65534 --regid=nogroup --clear-groups --inh-caps=-all \
		"$LNETX_TOOLS/lnetctl" setup-mrrouting 3>&-
	[[ $output == *"setup-mrrouting"* ]]
	[[ $output == *"errno: -13"* ]]
	run ! on b "$LNETX_TOOLS/lnetctl" --instance "$(basename "$LNETX_RUNDIR"/*.sock .sock)" \
		setup-mrrouting 3>&-
	[[ $output == *"errno: -18"* ]]
	[[ $output == *"lnetxd is in network namespace ${NS}a, this command in network namespace ${NS}b"* ]]
}

# in_machine COMMAND: in a's network, with settings like a machine's, which other network namespaces
# do not have: neighbours, socket buffers, 40 CPUs
in_machine() {
	# shellcheck disable=SC2016 # the inner shell expands them
	on a unshare -m sh -ec '
		for v in 4 6; do
			mount -t tmpfs none /proc/sys/net/ipv$v/neigh
			mkdir /proc/sys/net/ipv$v/neigh/default
			cd /proc/sys/net/ipv$v/neigh/default
			echo 128 >gc_thresh1; echo 512 >gc_thresh2; echo 8192 >gc_thresh3
		done
		mount -t tmpfs none /proc/sys/net/core
		echo 212992 | tee /proc/sys/net/core/wmem_max >/proc/sys/net/core/rmem_max
		mount -t tmpfs none /sys/devices/system/cpu
		echo 0-39 >/sys/devices/system/cpu/online
		cd /
		values() { cat /proc/sys/net/ipv*/neigh/default/gc_thresh*; }
		lnetctl() { "$LNETX_TOOLS/lnetctl" "$@"; }
		lnetx() { "$LNETX_TOOLS/lnetx" "$@"; }
		'"$1" 3>&-
}

@test "setup-sysctl: what the tunable allows, and back" {
	export LNETX_TOOLS
	start a
	run -0 in_machine 'lnetctl setup-sysctl; values; lnetx tunable set lnet enable_sysctl_setup 1
		lnetctl setup-sysctl --dry-run; values; lnetctl setup-sysctl; values
		lnetctl setup-sysctl; lnetctl setup-sysctl --dry-run
		lnetx tunable set lnet enable_sysctl_setup 0; lnetctl setup-sysctl; values'
	[[ $output == *"enable_sysctl_setup is 0"* ]]
	# Larger values stay.
	same='128 512 8192 128 512 8192'
	sets='sysctl -w net.ipv4.neigh.default.gc_thresh1=1024'
	[[ $(grep '^[0-9]' <<<"$output" | xargs) == "$same $same 1024 2048 8192 1024 2048 8192 $same" ]]
	[ "$(grep -c -x "$sets" <<<"$output")" = 1 ]
	[ ! -e "$LNETX_RUNDIR/sysctl.saved" ]
}

@test "setup-sysctl: the file's values, its mistakes, and undo" {
	export LNETX_TOOLS
	start a
	lx a tunable set lnet enable_sysctl_setup 1
	run -0 in_machine 'mount -t tmpfs none /etc
		printf "# neighbours\n\nnet.ipv4.neigh.default.gc_thresh3 = 4096\n" >/etc/lnet-sysctl.conf
		lnetctl setup-sysctl; values; lnetctl setup-sysctl --undo; values'
	[[ $(xargs <<<"$output") == "128 512 4096 128 512 8192 128 512 8192 128 512 8192" ]]
	run -234 in_machine 'mount -t tmpfs none /etc; echo "net.ipv4.x" >/etc/lnet-sysctl.conf
		lnetctl setup-sysctl'
	[[ $output == *"/etc/lnet-sysctl.conf, line 1"* ]]
	run ! in_machine 'mount -t tmpfs none /etc
		printf "net.ipv4.neigh.default.gc_thresh1=1\nnet.nosuch=1\n" >/etc/lnet-sysctl.conf
		lnetctl setup-sysctl || { values; false; }'
	[[ $output == *"cannot set net.nosuch to 1: No such file"* ]]
	[[ $output == *128$'\n'512* ]]
	# A namespace of its own has no such settings.
	run -161 ctl a setup-sysctl
	[[ $output == *"is the machine's"* ]]
}

@test "setup-sysctl: values of several numbers" {
	export LNETX_TOOLS
	start a
	lx a tunable set lnet enable_sysctl_setup 1
	# shellcheck disable=SC2016 # the inner shell expands them
	run -0 in_machine 'mount -t tmpfs none /etc
		rmem=/proc/sys/net/ipv4/tcp_rmem old=$(cat /proc/sys/net/ipv4/tcp_rmem)
		printf "net.ipv4.tcp_rmem = 4096\t131072  16777216 \n" >/etc/lnet-sysctl.conf
		lnetctl setup-sysctl --dry-run
		lnetctl setup-sysctl; xargs <$rmem
		lnetctl setup-sysctl --dry-run
		lnetctl setup-sysctl --undo; [ "$(cat $rmem)" = "$old" ]
		printf "net.ipv4.tcp_rmem = 4096 131072;16777216\n" >/etc/lnet-sysctl.conf
		! lnetctl setup-sysctl; [ "$(cat $rmem)" = "$old" ]'
	set='sysctl -w net.ipv4.tcp_rmem="4096 131072 16777216"'
	[[ $output == "$set"$'\n4096 131072 16777216\n'*"/etc/lnet-sysctl.conf, line 1"* ]]
	[ "$(grep -c -F "$set" <<<"$output")" = 1 ]
}

# found TEXT: a finds a problem with it
found() {
	lx a -j doctor | jq -e --arg text "$1" '[.doctor.findings[] | select(.level == "problem" and
		([.about, .reason, .next] | join(" ") | contains($text)))] | length > 0'
}

@test "lctl interface_list: the mask of an NI's own address; IPv6" {
	on a ip addr add 10.1.0.10/16 dev eth0
	{ nets_yaml tcp eth0
		printf '    - net type: tcp6\n      local NI(s): [ { nid: fd00:1::3@tcp6 } ]\n'; } | config a
	start a
	[[ $(tool a lctl --net tcp interface_list) == "10.1.0.1: (10.1.0.1/255.255.255.0) "* ]]
	[[ $(tool a lctl --net tcp6 interface_list) == "fd00:1::3: (fd00:1::3/64) "* ]]
}

@test "doctor: one interface is healthy; several on a subnet are not, until they are set up" {
	start a
	start b
	run -0 lx b doctor
	[ "${lines[-1]}" = healthy ]
	[ "$(lx b -j doctor | jq .doctor.healthy)" = true ]

	run -3 lx a doctor
	[[ $output == *"problem  10.1.0.3@tcp: eth1 is on one subnet with eth0 (10.1.0.1@tcp)"* ]]
	[[ $output == *"next: lnetctl setup-mrrouting"* ]]
	run -3 lx a -j doctor
	[ "$(jq .doctor.healthy <<<"$output")" = false ]
	found arp_ignore
	ctl a setup-mrrouting
	on a sysctl -q -w net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
	run -0 lx a doctor
	[[ $output != *"problem  "* ]]

	ip -n "${NS}a" link set eth1 mtu 1400
	run -0 lx a doctor
	[[ $output == *"advice   10.1.0.3@tcp: the MTU of eth1 is 1400, that of eth0 1500"* ]]

	# A network manager removes routes that are not its own, and leaves the rule.
	table=$(awk '$2 == "eth1" { print $1 }' "$LNETX_RT_TABLES")
	on a ip route flush table "$table"
	leaves_by 10.1.0.3 eth0
	run -3 lx a doctor
	[[ $output == *"problem  10.1.0.3@tcp: a routing rule sends packets from it to table $table, which has no routes"* ]]
	[[ $output == *"next: lnetctl setup-mrrouting; "*"ManageForeignRoutes=no"* ]]
	[[ $output != *"no routing rule"* ]]
	# Where no other interface is on the subnet, nothing is wrong yet.
	ctl a net del --net tcp --if eth0
	run -0 lx a doctor
	[[ $output == *"advice   10.1.0.3@tcp: a routing rule"* ]]
	ctl a setup-mrrouting
	run -0 lx a doctor
	[[ $output != *"routing rule"* ]]
}

@test "doctor: what is down, what somebody left behind" {
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.254@tcp; quick_yaml; } | config a
	start a
	lx a fault add drop from '*' to '*' rate 1000
	eventually "$PATIENCE" route_is_down
	run -3 lx a -j doctor
	found "10.1.0.254@tcp"
	found "by 1 rule"
	lx a fault del all
	ip -n "${NS}a" link set eth0 down
	eventually "$PATIENCE" ni_is_down
	run -3 lx a -j doctor
	found "10.1.0.1@tcp the NI is down"
	run -2 lx a doctor nagios
	[[ $output == "LNETX CRITICAL - 10.1.0.1@tcp: the NI is down: "*"; next: mend that"*" | problems="* ]]
	lx a daemon down
	run -1 lx a doctor
	run -3 lx a doctor nagios
	[[ $output == "LNETX UNKNOWN - "* ]]
	# An lnetxd elsewhere knows other interfaces.
	run -1 on b "$LNETX_TOOLS/lnetx" -n "$(basename "$LNETX_RUNDIR"/*.sock .sock)" doctor 3>&-
}

# found_not TEXT: a finds nothing of the kind
found_not() {
	[[ $(lx a doctor) != *"$1"* ]]
}

@test "doctor: no NI, health below its maximum" {
	: >"$DIR/a.yaml"
	start a
	found "this node has no NI"
	ctl a net add --net tcp --if eth0
	run -0 lx a doctor
	[ "${lines[-1]}" = healthy ]
	[[ $output != *"NI"* ]]
	ctl a set recovery_limit 1
	ctl a net set --nid 10.1.0.1@tcp --health 1
	run -0 lx a doctor
	[[ $output =~ "advice   10.1.0.1@tcp: its health is "[0-9]+" of 1000" ]]
	ctl a net set --nid 10.1.0.1@tcp --health 1000
	found_not "its health"
}

# advises NODE TEXT: its doctor has this advice
advises() {
	[[ $(lx "$1" doctor) == *"advice   $2"* ]]
}

# sends_nowhere FILE: a sends to a net without route, while FILE exists
sends_nowhere() {
	while [ -e "$1" ]; do lx a ping 10.9.0.1@tcp9 || true; done >"$DIR/lost" 2>&1
}

@test "doctor: a neighbour of a router that is gone; messages without a route, while there are any" {
	nets_yaml tcp eth0 | config a
	start a
	lx a routing on
	run -1 lx a ping 10.1.0.2@tcp
	run lx a doctor
	[[ $output == *"advice   10.1.0.2@tcp: its machine is on, and nothing listens on port 988: no LNet runs there; silent since the start"* ]]
	[ "$(grep -c 10.1.0.2@tcp <<<"$output")" = 1 ]
	start b
	eventually "$PATIENCE" lx a ping 10.1.0.2@tcp
	found_not 10.1.0.2@tcp
	stop b
	run -1 lx a ping 10.1.0.2@tcp
	advises a "10.1.0.2@tcp: its machine is on, and nothing listens on port 988: no LNet runs there (since 2"
	found_not "silent since"
	touch "$DIR/sending"
	sends_nowhere "$DIR/sending" 3>&- &
	eventually "$PATIENCE" found "there was no route for"
	rm "$DIR/sending"
	wait $!
	found_not "there was no route for"
}

@test "doctor: a whole net is silent, what commands have switched off, a reload that failed" {
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.254@tcp; echo 'routing: { enable: 1 }'; } | config a
	start a
	found_not "its file says"
	eventually "$PATIENCE" route_is_down
	found_not "neighbours on this net" # the gateway may be the cause
	run -1 lx a ping 10.1.0.2@tcp
	found "tcp none of the 2 neighbours on this net answers"
	lx a routing off
	lx a route del net tcp9 via 10.1.0.254@tcp
	found "as its file says: routing is off; no route to tcp9 through 10.1.0.254@tcp"
	echo nonsense | config a
	run -1 lx a daemon reload
	found "the last reload failed: $DIR/a.yaml:1:"
	nets_yaml tcp eth0 | config a
	lx a daemon reload
	found_not "its file says"
	found_not "reload failed"
}

@test "doctor: a node that LNet does not reach: who else answers there" {
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.2@tcp; quick_yaml; } | config a
	start a
	eventually "$PATIENCE" route_is_down
	found "10.1.0.2@tcp its machine is on, and nothing listens on port 988: no LNet runs there; the route to tcp9 is down; silent since the start start LNet there"
	[[ $(lx a -j doctor | jq -r '.doctor.findings[0].since') == 20??-* ]]
	# Connections to its port get no answer, not even that nobody listens there.
	on b ip rule add from 10.1.0.2 ipproto tcp blackhole
	found "10.1.0.2@tcp it answers ICMP, but not port 988: a firewall, or its guard, drops"
	on b ip link set eth0 down
	found "10.1.0.2@tcp it answers neither port 988 nor ICMP"
}

# knows_in_time: a's doctor has asked several dead gateways, each of which takes it two seconds
knows_in_time() {
	! timeout 5 ip netns exec "${NS}a" "$LNETX_TOOLS/lnetx" doctor >"$DIR/out" || return 1
	[ "$(grep -c "it answers neither port 988 nor ICMP; the route to tcp9 is down" "$DIR/out")" = 4 ]
}

@test "doctor: what does not answer is asked at once; a router that nobody pings" {
	{ nets_yaml tcp eth0; route_yaml tcp9 10.1.0.{241..244}@tcp
		echo 'routing: { enable: 1 }'; quick_yaml; } | config a
	start a
	eventually "$PATIENCE" knows_in_time
	eventually "$PATIENCE" found "the NI is down: no neighbour has pinged this router, or sent through it, on tcp, and its messages take other NIs or fail do nodes on this net have a route through it?"
}

@test "doctor: source ports above 1023, at both ends, with a guard and without" {
	local ports='tunables: { tcp: { accept_port: 7988, accept_port_bulk: 7988 } }'
	local launch="setpriv --bounding-set -net_bind_service --inh-caps -net_bind_service"

	{ nets_yaml tcp eth0; echo "$ports"; } | config a
	{ nets_yaml tcp eth0; echo "$ports"; } | config b
	LAUNCH=$launch start a
	start b --no-bpf
	lx a routing on # it watches its neighbours
	run -1 lx a ping 10.1.0.2@tcp timeout 2
	advises a "10.1.0.2@tcp: silent since the start: nothing has come from it since lnetxd started: it closes our connections unanswered: our source ports are above 1023"
	advises b "10.1.0.1: its connections are refused: its source ports are above 1023, and accept is secure (since 2"
	stop b
	start b
	[[ $(lx b bpf status) == *guard*loaded* ]] || return 0
	run -124 on a timeout 0.2 bash -c '</dev/tcp/10.1.0.2/7988'
	advises b "10.1.0.1: its connections are dropped: its source ports are above 1023, and accept is secure"
}

@test "another machine has an NI's address: the log at the start, and doctor; IPv4 and IPv6" {
	local text="another machine, with MAC address 02:00:00:00:00:99, has its address, too"

	ip -n "${NS}b" link set eth0 address 02:00:00:00:00:99
	nets_yaml tcp eth0 | config a
	start a
	run -0 lx a doctor
	[[ $output != *"has its address"* ]]
	stop a
	on b sysctl -q -w net.ipv6.conf.eth0.accept_dad=0
	ip -n "${NS}b" address add 10.1.0.1/24 dev eth0
	ip -n "${NS}b" address add fd00:1::3/64 dev eth0 nodad
	# Another interface of its own that answers for the address is none.
	{ nets_yaml tcp eth0
		printf '    - net type: tcp6\n      local NI(s): [ { nid: fd00:1::3@tcp6 } ]\n'; } | config a
	start a
	eventually "$PATIENCE" log_has a "level=error nid=10.1.0.1@tcp interface=eth0 reason=\"$text"
	eventually "$PATIENCE" log_has a "level=error nid=fd00:1::3@tcp6 interface=eth1 reason=\"$text"
	run -3 lx a doctor
	[[ $output == *"problem  10.1.0.1@tcp: another machine has its address, too: the one with MAC address 02:00:00:00:00:99 on eth0"* ]]
	[[ $output == *"problem  fd00:1::3@tcp6: another machine has its address, too: the one with MAC address 02:00:00:00:00:99 on eth1"* ]]
}

@test "doctor: a table of peers that is full" {
	nets_yaml tcp eth0 | config a
	start a
	lx a tunable set lnet peers_max 16
	ctl a peer add --prim_nid '10.1.0.10@tcp' --nid '10.1.0.[11-25]@tcp'
	advises a "peers: the table is full: 16 of 16 are in use"
}

@test "doctor: rp_filter of interfaces on one subnet" {
	local all=net.ipv4.conf.all key

	# A name like a VLAN's: its dot separates nothing.
	on a ip link set eth1 down
	on a ip link set eth1 name eth1.7 up
	nets_yaml tcp eth0,eth1.7 | config a
	start a
	on a sysctl -q -w $all.rp_filter=0 $all.arp_ignore=1 $all.arp_announce=2
	for key in net/ipv4/conf/eth1.7/rp_filter $all.rp_filter; do
		on a sysctl -q -w "$key=1"
		found "rp_filter of eth1.7 is 1"
		on a sysctl -q -w "$key=0"
		run ! found rp_filter
	done
	# The larger one counts, and 2 is loose.
	on a sysctl -q -w net/ipv4/conf/eth1.7/rp_filter=1 $all.rp_filter=2
	run ! found rp_filter
	# With a rule, packets leave where they arrive.
	on a sysctl -q -w $all.rp_filter=1
	ctl a setup-mrrouting
	run -0 lx a doctor
}

@test "doctor: room for neighbours in Linux, IPv4 and IPv6" {
	export LNETX_TOOLS
	nets_yaml tcp eth0 | config a
	start a
	# Neither an own NID nor one behind a gateway is a neighbour.
	ctl a peer add --prim_nid '10.1.0.1@tcp'
	ctl a peer add --prim_nid '10.2.0.1@tcp' --nid '10.2.0.[2-9]@tcp'
	ctl a peer add --prim_nid '10.1.0.10@tcp' --nid '10.1.0.[11-14]@tcp,fd00:1::4@tcp,fd00:1::5@tcp,fd00:1::6@tcp,fd00:1::7@tcp'
	# shellcheck disable=SC2016 # the inner shell expands them
	run -0 in_machine 'cd /proc/sys/net; echo 5 >ipv4/neigh/default/gc_thresh2
		echo 4 >ipv6/neigh/default/gc_thresh2; lnetx doctor'
	[[ $output != *neighbour* ]]
	run -3 in_machine 'cd /proc/sys/net; echo 4 >ipv4/neigh/default/gc_thresh2
		echo 3 >ipv6/neigh/default/gc_thresh2; lnetx doctor'
	[[ $output == *"problem  neighbour table: this node has 5 peer NIDs on its subnets, Linux keeps 4 neighbours (net.ipv4.neigh.default.gc_thresh2)"* ]]
	[[ $output == *"has 4 peer NIDs on its subnets, Linux keeps 3 neighbours (net.ipv6.neigh"* ]]
	[[ $output == *"next: lnetx tunable set lnet enable_sysctl_setup 1; lnetctl setup-sysctl"* ]]
	[[ $output == *"not healthy: 2 problems"* ]]
}

@test "doctor: socket buffers that Linux makes smaller" {
	export LNETX_TOOLS
	nets_yaml tcp eth0 | config a
	start a
	lx a tunable set tcp tx_buffer_size 212992
	run -0 in_machine 'lnetx doctor'
	[[ $output != *buffer* ]]
	lx a tunable set tcp tx_buffer_size 212993
	lx a tunable set tcp rx_buffer_size 4194304
	run -3 in_machine 'lnetx doctor'
	[[ $output == *"problem  tx_buffer_size: net.core.wmem_max is 212992, so that sockets get less than the 212993 bytes"* ]]
	[[ $output == *"next: sysctl -w net.core.rmem_max=4194304"* ]]
}

@test "doctor: a router's receive queues and fast path" {
	local queue=/sys/class/net/eth0/queues/rx-0/rps_cpus

	export LNETX_TOOLS
	{ nets_yaml tcp eth0; echo 'routing: { enable: 1 }'; } | config a
	start a --no-bpf
	run -0 in_machine 'lnetx doctor'
	[[ $output != *"receive queue"* ]] # address() has set RPS
	rps a eth0 0
	run -0 in_machine 'lnetx doctor'
	[[ $output == *"advice   eth0: it has one receive queue and no RPS"*"next: echo ff,ffffffff >$queue"* ]]
	# The queues of the interfaces below it count, not its own.
	on a ip link add br1 type bridge
	on a ip link set eth0 master br1
	address a br1 10.7.0.1/24
	# Linux takes up to a second to report the carrier; without one the NI is down, a problem.
	eventually "$PATIENCE" on a grep -x up /sys/class/net/br1/operstate
	ctl a net add --net tcp7 --if br1
	ctl a net del --net tcp
	run -0 in_machine 'lnetx doctor'
	[[ $output == *"advice   eth0: it has one receive queue"* ]]
	rps a eth0
	rps a br1 0
	run -0 in_machine 'lnetx doctor'
	[[ $output != *"receive queue"* ]]

	[[ $output == *"advice   fast path: lnetxd forwards all messages itself, which is slower: switched off: lnetxd runs with --no-bpf"* ]]
	lx a routing off
	found_not "fast path"
}

# starves NODE: its doctor says so
starves() {
	[[ $(lx "$1" doctor) == *"advice   CPU: lnetxd's threads waited for it for "*" %"*"next: let lnetxd come before other processes: lnetxd(8), CPU TIME"* ]]
}

@test "doctor: a router whose lnetxd waits for the CPU" {
	{ nets_yaml tcp eth0; echo 'routing: { enable: 1 }'; } | config a
	start a --no-priority
	taskset -a -p -c 0 "${daemon_pid[a]}"
	# Linux leaves others a twentieth of the CPU.
	chrt -r 9 taskset -c 0 timeout 20 bash -c 'while :; do :; done' 3>&- &
	eventually 20 starves a
	kill $!
}

@test "doctor: the fast path where it is loaded" {
	{ nets_yaml tcp eth0; echo 'routing: { enable: 1 }'; } | config a
	start a
	fastpath_as_configured a
	if [ "$LNETX_BPF" = on ]; then
		found_not "fast path"
		lx a bpf off
		run -0 lx a doctor
		[[ $output == *"advice   fast path: it is switched off"*"next: lnetx bpf on"* ]]
		lx a bpf on
		found_not "fast path"
		[ -e /dev/net/tun ] || return 0
		# No packets of NIs on such an interface can be forwarded in the kernel.
		on a ip tuntap add dev tun0 mode tun
		address a tun0 10.9.0.1/24
		ctl a net add --net tcp9 --if tun0
		# Without a carrier the NI is down as soon as the daemon looks, a problem of its own.
		run lx a doctor
		[[ $status == 0 || $status == 3 ]]
		[[ $output == *"advice   tun0: no program of fastpath here: tun0 is not an Ethernet device"* ]]
	fi
}

route_is_down() {
	lx a -j route show | jq -e '.route[0].state == "down"'
}

ni_is_down() {
	lx a -j net show | grep '"down"'
}
