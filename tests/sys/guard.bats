#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The guard in front of the acceptor: secure ports, bans, prefixes, rates, and what it leaves
# behind. Node a is guarded, b is the peer.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_two
}

teardown() {
	net_end
}

guarded() {
	start a "$@"
	[ "$(lx a -j bpf status | jq '.bpf.sets[0].loaded')" = true ] ||
		skip "no guard here: $(lx a -j bpf status | jq -r '.bpf.sets[0].reason')"
}

# counter NODE NAME
counter() {
	lx "$1" -j guard show | jq ".guard.packets.$2"
}

counted() {
	[ "$(counter "$1" "$2")" -ge "$3" ]
}

# mode NODE: where the guard is attached
mode() {
	lx "$1" -j bpf status | jq -r '.bpf.hooks[]? | select(.set == "guard") | "\(.interface) \(.hook) \(.mode)"'
}

pins_of() {
	lx "$1" -j bpf status | jq -r .bpf.pins
}

# knock_from NODE SOURCE ADDRESS PORT SOURCE-PORT
knock_from() {
	on "$1" python3 - "${@:2}" <<-'END'
		import socket, sys
		s = socket.socket()
		s.bind((sys.argv[1], int(sys.argv[4])))
		s.settimeout(1.2)
		try:
		    s.connect((sys.argv[2], int(sys.argv[3])))
		except OSError as e:
		    sys.exit(str(e))
	END
}

# reaches NODE ADDRESS: true if the kernel there answers, on a port without a listener
reaches() {
	[[ $(knock "$1" "$2" 9 2>&1) == *refused* ]]
}

# knock_at_once NODE ADDRESS PORT: eight SYNs, from ports 900 to 907
knock_at_once() {
	on "$1" python3 - "$2" "$3" <<-'END'
		import socket, sys
		knocking = []
		for source in range(900, 908):
		    s = socket.socket()
		    s.bind(("", source))
		    s.setblocking(False)
		    s.connect_ex((sys.argv[1], int(sys.argv[2])))
		    knocking.append(s)
	END
}

@test "secure: a SYN from an unprivileged port is dropped before there is a connection" {
	guarded
	start b
	run -1 knock b 10.1.0.1 988
	[[ $output == *timed\ out* ]]
	eventually "$PATIENCE" counted a unprivileged 1
	run ! log_has a 'not privileged'
	knock b 10.1.0.1 988 700
	pings b 10.1.0.1@tcp
	pings a 10.1.0.2@tcp
}

# refusal NODE SOURCE FIELD: a field of the refusals of a source
refusal() {
	lx "$1" -j guard show | jq -r ".guard.refusals[] | select(.source == \"$2\") | .$3"
}

@test "dropped sources are named: in the log once a minute, and by guard show" {
	guarded
	ip -n "${NS}b" addr add 10.1.0.3/24 dev eth0
	equal "$(lx a -j guard show | jq -c .guard.refusals)" '[]'
	run -1 knock b 10.1.0.1 988 40001
	eventually "$PATIENCE" log_has a 'source=10.1.0.2 port=40001 syns=[0-9]* .*lnetx guard set accept all'
	equal "$(refusal a 10.1.0.2 reason)" unprivileged
	equal "$(refusal a 10.1.0.2 port)" 40001
	[ "$(refusal a 10.1.0.2 syns)" -ge 1 ]
	lx a guard deny 10.1.0.3
	run -1 knock_from b 10.1.0.3 10.1.0.1 988 700
	run -1 knock b 10.1.0.1 988 40002
	eventually "$PATIENCE" refuses_two
	equal "$(refusal a 10.1.0.3 reason)" denied
	run -0 lx a guard show
	[[ $output == *'REFUSED'*'10.1.0.2  unprivileged '*'10.1.0.3  denied '* ]]
	# All within a minute: one line so far.
	equal "$(grep -c 'source=10' "$DIR/a.log")" 1
}

refuses_two() {
	equal "$(lx a -j guard show | jq -r '.guard.refusals[].source' | tr '\n' ' ')" '10.1.0.2 10.1.0.3 '
}

@test "the guard follows the tunable accept, and is not attached without a rule" {
	guarded
	[ -n "$(mode a)" ]
	lx a guard set accept all
	equal "$(mode a)" ""
	knock b 10.1.0.1 988
	equal "$(lx a -j guard show | jq -r .guard.active)" false
	lx a tunable set tcp accept secure
	run -1 knock b 10.1.0.1 988
	# Other ports are not filtered.
	run -1 knock b 10.1.0.1 80
	[[ $output == *refused* ]]
}

@test "the guard follows the ports of the acceptor" {
	guarded
	lx a tunable set tcp accept_port 7988
	before=$(counter a unprivileged)
	run -1 knock b 10.1.0.1 7988
	[[ $output == *timed\ out* ]]
	eventually "$PATIENCE" counted a unprivileged $((before + 1))
	knock b 10.1.0.1 7988 700
	run -1 knock b 10.1.0.1 988
	[[ $output == *refused* ]]
}

@test "the guard stands where configured: XDP native and generic, traffic control" {
	guarded
	start b
	equal "$(mode a)" "eth0 ingress $(tc_mode)" # on veth, XDP would cost too much
	for one in native:xdp:native generic:xdp:generic tc:ingress:"$(tc_mode)"; do
		IFS=: read -r want hook how <<<"$one"
		lx a guard set mode "$want"
		equal "$(mode a)" "eth0 $hook $how"
		before=$(counter a unprivileged)
		run -1 knock b 10.1.0.1 988
		eventually "$PATIENCE" counted a unprivileged $((before + 1))
		pings b 10.1.0.1@tcp
	done
}

# Depends on the kernel.
tc_mode() {
	lx a -j bpf status |
		jq -r '.bpf.features[] | select(.name == "tcx") | if .have then "tcx" else "clsact" end'
}

@test "a ban cuts off an established connection at once, unban lets it come back" {
	guarded
	start b
	pings b 10.1.0.1@tcp
	[ "$(conns a | wc -l)" -gt 0 ]
	run -0 lx a guard ban 10.1.0.2@tcp
	[[ $output == *"10.1.0.2@tcp is banned, "*" connections closed"* ]]
	equal "$(conns a)" ""
	run -255 ctl b ping --timeout 2 10.1.0.1@tcp
	run -1 knock b 10.1.0.1 988 700
	run ! reaches b 10.1.0.1 # nor on other ports
	eventually "$PATIENCE" counted a banned 1
	equal "$(lx a -j guard show | jq -r '.guard.bans[].nid')" 10.1.0.2@tcp
	run -1 lx a guard ban 10.1.0.2@tcp
	[[ $output == *"is banned already"* ]]
	run -1 lx a -j guard ban 10.1.0.2@tcp
	equal "$(jq -r '.error.errno' <<<"$output")" -17
	[[ $(jq -r '.error.reason' <<<"$output") == *"is banned already"* ]]
	lx a guard unban 10.1.0.2@tcp
	eventually "$PATIENCE" pings b 10.1.0.1@tcp
	run -0 --separate-stderr lx a -j guard ban 10.1.0.2@tcp
	[ "$(jq '.ban[0].connections' <<<"$output")" -gt 0 ]
	equal "$(jq -r '.ban[0].nid' <<<"$output")" 10.1.0.2@tcp
	lx a guard unban 10.1.0.2@tcp
	run -1 lx a guard unban 10.1.0.2@tcp
	[[ $output == *"is not banned"* ]]
	run -1 lx a guard ban 10.77.0.2@tcp7
	[[ $output == *"no NI on net tcp7"* ]]
}

@test "prefixes: the longest match decides" {
	guarded
	lx a guard deny 0.0.0.0/0 ::/0
	run -1 knock b 10.1.0.1 988 700
	eventually "$PATIENCE" counted a denied 1
	lx a guard allow 10.1.0.0/24
	knock b 10.1.0.1 988 700
	lx a guard deny 10.1.0.2
	run -1 knock b 10.1.0.1 988 701
	equal "$(lx a -j guard show | jq -c '[.guard.prefixes[] | .prefix + " " + .action]')" \
		'["0.0.0.0/0 deny","10.1.0.0/24 allow","10.1.0.2/32 deny","::/0 deny"]'
	lx a guard forget 10.1.0.2 10.1.0.0/24 0.0.0.0/0 ::/0
	knock b 10.1.0.1 988 702
	run -1 lx a guard forget 10.1.0.2
	[[ $output == *"no prefix 10.1.0.2"* ]]
	run -2 lx a guard deny 10.1.0.0/24 10.1.0.2/24
	[[ $output == *"without host bits"* ]]
	equal "$(lx a -j guard show | jq -c .guard.prefixes)" '[]'
}

@test "rate: a source has its burst and then waits; other sources do not" {
	guarded
	ip -n "${NS}b" addr add 10.1.0.3/24 dev eth0
	lx a guard set rate 1 burst 2
	knock_at_once b 10.1.0.1 988
	eventually "$PATIENCE" counted a accepted 2
	eventually "$PATIENCE" counted a rate 1
	lx a guard set rate 0
	before=$(counter a rate)
	for port in 703 704 705 706; do
		knock b 10.1.0.1 988 $port
	done
	equal "$(counter a rate)" "$before"
	run -1 lx a guard set burst 3
	[[ $output == *"needs a rate"* ]]
}

@test "IPv6 is guarded like IPv4" {
	ip -n "${NS}a" addr add fd00::1/64 dev eth0 nodad
	ip -n "${NS}b" addr add fd00::2/64 dev eth0 nodad
	printf 'net:\n    - net type: tcp\n      local NI(s):\n        - nid: fd00::1@tcp\n' | config a
	guarded
	run -1 knock b fd00::1 988
	eventually "$PATIENCE" counted a unprivileged 1
	knock b fd00::1 988 700
	lx a guard ban fd00::2@tcp
	run -1 knock b fd00::1 988 701
	lx a guard unban fd00::2@tcp
	knock b fd00::1 988 702
}

@test "the guard comes and goes with NIs; lo is never guarded" {
	guarded
	ip link add eth1 netns "${NS}a" type veth peer name eth1 netns "${NS}b"
	address a eth1 10.2.0.1/24
	address b eth1 10.2.0.2/24
	lx a net add net tcp1 if eth1
	equal "$(mode a | awk '{ print $1 }' | sort | tr '\n' ' ')" "eth0 eth1 "
	run -1 knock b 10.2.0.1 988
	lx a net del net tcp1
	equal "$(mode a | awk '{ print $1 }')" eth0
	ctl a lnet unconfigure
	equal "$(mode a)" ""
	ctl a lnet configure --all
	equal "$(mode a | awk '{ print $1 }')" eth0
	lx a net add net tcp2 if lo
	equal "$(mode a | awk '{ print $1 }')" eth0
}

@test "an interface that is deleted and created again is guarded again" {
	guarded
	first=$(on a cat /sys/class/net/eth0/ifindex)
	ip -n "${NS}a" link del eth0
	link a eth0 10.1.0.1/24 b eth0 10.1.0.2/24
	[ "$(on a cat /sys/class/net/eth0/ifindex)" != "$first" ]
	eventually "$PATIENCE" sees_packets a
	run -1 knock b 10.1.0.1 988
	eventually "$PATIENCE" counted a unprivileged 1
}

# By the programs' counters, not by what the daemon says.
sees_packets() {
	before=$(counter "$1" other)
	reaches b 10.1.0.1
	[ "$(counter "$1" other)" -gt "$before" ]
}

@test "a killed daemon leaves the guard standing; the next one takes it over" {
	start_here a
	[ -n "$(mode a)" ] || skip "no guard here"
	pins=$(pins_of a)
	lx a guard ban 10.1.0.2@tcp
	run -1 knock b 10.1.0.1 988 700
	stop a KILL
	[ -e "$pins/guard/bans" ]
	start_here a
	log_has a 'guard="taken over" bans=1'
	run ! log_has a 'another version'
	equal "$(lx a -j bpf status | jq '.bpf.sets[0].taken_over')" true
	run -1 knock b 10.1.0.1 988 701
	lx a guard unban 10.1.0.2@tcp
	knock b 10.1.0.1 988 702
	stop a
	[ ! -e "$pins" ]
}

@test "leftovers of a killed router's fast path go with the next start, also without routing" {
	start_here a
	lx a tunable set lnet router_start_delay 0
	lx a routing on
	fastpath_as_configured a
	pins=$(pins_of a)
	stop a KILL
	[ -e "$pins/fastpath" ]
	[[ $(ip -n "${NS}a" link) == *lnetx-seg* ]]
	start_here a
	log_has a 'fastpath reason="left by an lnetxd that has ended" action=removed'
	[ ! -e "$pins/fastpath" ]
	[[ $(ip -n "${NS}a" link) != *lnetx-seg* ]]
}

@test "a clean exit keeps bans for the next start, and leaves nothing if there are none" {
	start_here a
	[ -n "$(mode a)" ] || skip "no guard here"
	pins=$(pins_of a)
	stop a
	[ ! -e "$pins" ]
	start_here a
	lx a guard ban 10.1.0.2@tcp
	stop a
	[ -e "$pins/guard/bans" ]
	[ ! -e "$pins/guard/link_ingress_eth0" ]
	reaches b 10.1.0.1 # nothing is attached in between
	start_here a
	run -1 knock b 10.1.0.1 988 701
	stop a
	start_here a --no-bpf # this removes all of it
	[ ! -e "$pins" ]
	knock b 10.1.0.1 988 702
}

@test "two daemons in two namespaces do not interfere" {
	start_here a
	start_here b
	[ -n "$(mode a)" ] || skip "no guard here"
	[ "$(pins_of a)" != "$(pins_of b)" ]
	lx a guard ban 10.1.0.99@tcp
	equal "$(lx b -j guard show | jq '.guard.bans | length')" 0
	stop b
	equal "$(lx a -j guard show | jq '.guard.bans | length')" 1
	[ -e "$(pins_of a)/guard/bans" ]
	lx a guard unban 10.1.0.99@tcp
}

@test "another program on the interface is left alone, and the guard says so" {
	guarded
	lx a guard set mode native
	printf '%s\n' 'int pass(void *ctx) { return 2; }' '__attribute__((section("license"))) char l[] = "GPL";' |
		sed 's/^int/__attribute__((section("xdp"))) int/' >"$DIR/other.c"
	clang -target bpf -O2 -c "$DIR/other.c" -o "$DIR/other.o"
	ip -n "${NS}b" link set dev eth0 xdpgeneric obj "$DIR/other.o" sec xdp 2>/dev/null ||
		skip "this ip cannot attach XDP"
	nets_yaml tcp eth0 | config b
	start b
	lx b guard set mode generic
	run -0 lx b bpf status
	[[ $output == *"another program is attached to eth0"* ]]
	pings b 10.1.0.1@tcp
	lx b guard set mode auto
	equal "$(mode b)" "eth0 ingress $(tc_mode)"
}

# warns_of_firewall: a's doctor says that one drops what its guard has let pass
warns_of_firewall() {
	lx a doctor >"$DIR/out"
	grep -q "^advice   eth0: nodes try to connect, and nothing of it gets through: a firewall" "$DIR/out"
}

@test "doctor: a firewall of the node drops what the guard lets pass" {
	guarded
	start b
	touch "$DIR/knocking"
	while [ -e "$DIR/knocking" ]; do
		knock b 10.1.0.1 988 901 || :
		lx b disconnect all || :
		lx b ping 10.1.0.1@tcp timeout 1 || :
	done >/dev/null 2>&1 3>&- &
	for _ in 1 2 3; do run ! warns_of_firewall; done
	grep -q '^healthy' "$DIR/out"
	on a nft add table t
	on a nft add chain t c '{ type filter hook input priority 0; }'
	on a nft add rule t c tcp dport 988 drop
	eventually "$PATIENCE" warns_of_firewall
	rm "$DIR/knocking"
	wait $!
}

@test "without BPF everything works, and the reason is shown" {
	start a --no-bpf
	start b
	pings b 10.1.0.1@tcp
	run -0 lx a bpf status
	[[ $output == *"lnetxd runs with --no-bpf"* ]]
	run -1 lx a guard ban 10.1.0.2@tcp
	[[ $output == *"the guard is not loaded: switched off"* ]]
	knock b 10.1.0.1 988 # accepted by the kernel, closed by the acceptor
	eventually "$PATIENCE" log_has a 'not privileged'
}
