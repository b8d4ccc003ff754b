#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Connections whose packets come or leave by another interface than the one with the NI: lnetxd
# forwards for them as without the fast path, unless its programs are there, too.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

SERVER=10.2.0.1@tcp2

setup() {
	net_begin
	[ "$LNETX_BPF" = on ] || skip "is about BPF"
	node client server r1
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	link server eth0 10.2.0.1/24 r1 eth1 10.2.0.11/24
}

teardown() {
	net_end
}

start_server() {
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
}

# moves NODE NID VERB: sends load through r1, of which all must arrive, and in time: past the programs it
# would take minutes
moves() {
	# shellcheck disable=SC2086 # words
	timeout "$PATIENCE" ip netns exec "$NS$1" "$LNETX_LOAD/lxload" "$3" -V -j -n "$2" $QUICK $SERVER \
		-r tcp2=10.1.0.11@tcp1 -s 64k -N 5000 3>&- >"$DIR/moved.json"
	all_arrived "$DIR/moved.json"
}

begin_puts() {
	diverted=$(fastpath_sum r1 diverted)
	begin_load client 10.1.0.1@tcp1 put $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k -t 300
}

end_puts() {
	end_load client
	jq -r '"# lost \(.lost), longest pause \(.max_us / 1000 | floor) ms, \(.mbps | floor) Mbit/s"' \
		"$DIR/client.json" >&3
	all_arrived "$DIR/client.json"
}

# diverts BYTES: more than that have gone by lanes since begin_puts
diverts() {
	[ "$(fastpath_sum r1 diverted)" -gt $((${diverted:-0} + $1)) ]
}

# is_elsewhere LIST FILTER...: such streams or lanes say so
is_elsewhere() {
	lx r1 -j "$1" show | jq -e --arg a "$2" ".$1[] | select((.remote | startswith(\$a)) and
		(.why == \"elsewhere\" or .state == \"elsewhere\"))"
}

doctor_says() {
	run lx r1 doctor
	[[ $output == *"$1"* ]]
}

@test "a container on the router's machine uses the router's NID of another interface" {
	node inner
	link inner eth0 10.9.0.2/24 r1 inner0 10.9.0.1/24
	ip -n "${NS}inner" route add 10.1.0.0/24 via 10.9.0.1
	start_routers 1 "conns_per_peer: 2"
	start_server
	moves inner 10.9.0.2@tcp1 put
	moves inner 10.9.0.2@tcp1 get
	begin_load inner 10.9.0.2@tcp1 get $SERVER -r tcp2=10.1.0.11@tcp1 -s 64k -t 60
	eventually "$PATIENCE" is_elsewhere stream 10.9.0.2
	eventually "$PATIENCE" is_elsewhere lane 10.9.0.2
	doctor_says "10.9.0.2@tcp1: "
	end_load inner
	begin_puts # others have the fast path
	eventually "$PATIENCE" diverts 1000000
	end_puts
}

@test "a server's packets come by an interface without an NI" {
	link server eth1 10.3.0.1/24 r1 eth2 10.3.0.11/24
	ip -n "${NS}server" route add 10.2.0.11/32 via 10.3.0.11 src 10.2.0.1
	start_routers 1 "conns_per_peer: 2"
	start_server
	moves client 10.1.0.1@tcp1 put
	moves client 10.1.0.1@tcp1 get
	begin_puts
	eventually "$PATIENCE" is_elsewhere lane 10.2.0.1
	doctor_says "$SERVER: "
	# The cause has gone.
	ip -n "${NS}server" route del 10.2.0.11/32
	eventually "$PATIENCE" diverts 1000000
	end_puts
}

@test "under load a server's packets begin to come by an interface without an NI" {
	link server eth1 10.3.0.1/24 r1 eth2 10.3.0.11/24
	DROPS_EXPECTED+=('SOCKET_FILTER at .*')
	start_routers 1 "conns_per_peer: 2"
	start_server
	begin_puts
	eventually "$PATIENCE" diverts 10000000
	ip -n "${NS}server" route add 10.2.0.11/32 via 10.3.0.11 src 10.2.0.1
	eventually "$PATIENCE" log_has r1 "10.2.0.1:988 .* by interface eth2, past the programs"
	eventually "$PATIENCE" is_elsewhere lane 10.2.0.1
	end_load client || true # what was under way is lost
	moves client 10.1.0.1@tcp1 put
	equal "$(jq .bad "$DIR/client.json")" 0
}

@test "a server is reached by an interface that has another NI" {
	link server eth1 10.3.0.1/24 r1 eth2 10.3.0.11/24
	ip -n "${NS}server" route add 10.2.0.11/32 via 10.3.0.11 src 10.2.0.1
	ip -n "${NS}r1" route add 10.2.0.1/32 via 10.3.0.1 src 10.2.0.11
	{ nets_yaml tcp1 eth0 tcp2 eth1 tcp3 eth2; echo 'routing: { enable: 1 }'; quick_yaml; } |
		config r1
	start r1
	start_server
	moves client 10.1.0.1@tcp1 get
	begin_puts
	eventually "$PATIENCE" diverts 1000000
	end_puts
}

# at_socket: sends a byte in the client's name to an interface without programs, with the number that
# the socket of the only stream, from $1, expects
at_socket() {
	on client python3 - "$(on r1 cat /sys/class/net/eth2/address)" "$1" \
		"$(fastpath_sum r1 base_seq)" "$(fastpath_sum r1 socket_sent)" \
		"$(fastpath_sum r1 peer_acked)" <<-'END'
		import socket, struct, sys
		sys.path.insert(0, "tests/sys")
		import forge
		mac, port, base, sent, acked = sys.argv[1], *map(int, sys.argv[2:])
		hosts = socket.inet_aton("10.1.0.1") + socket.inet_aton("10.1.0.11")
		tcp = struct.pack("!HHIIBBH", port, 988, base + sent & 0xffffffff, acked, 0, 0x18, 1000)
		out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
		out.bind(("eth1", 0))
		out.send(bytes.fromhex(mac.replace(":", "")) + bytes(6) + b"\x08\0" +
			 forge.packet(hosts, tcp, b"", b"!"))
	END
}

unpassed() {
	lx r1 -j bpf status | jq -e --argjson n "$1" '.bpf.unpassed >= $n'
}

# It would be taken in place of the next byte.
@test "a byte that comes past the programs with the socket's number is not taken" {
	local before port

	link client eth1 10.3.0.1/24 r1 eth2 10.3.0.11/24
	DROPS_EXPECTED+=('SOCKET_FILTER at .*')
	GIVE_UP=100 start_routers 1 "conns_per_peer: 1"
	taker server 10.2.0.1
	half_way 10.1.0.1
	eventually "$PATIENCE" diverts 1000000
	port=$(lx r1 -j stream show | jq -r '.stream[0].remote | sub(".*:"; "")')
	before=$(fastpath_sum r1 socket_una)
	at_socket "$port"
	eventually "$PATIENCE" unpassed 1
	equal "$(fastpath_sum r1 socket_una)" "$before"
	kill -9 "$victim"
}

# server_has PORT: a connection from that port of the router
server_has() {
	on server ss -Htn state established "src 10.2.0.1 dport = :$1" | grep -q .
}

# An agent that fights for its place at egress: what the sockets send has their own numbers. A peer
# would keep such a connection, and decline new ones.
@test "a lane that ends while our packets pass by the programs ends at the next hop, too" {
	local agent port

	GIVE_UP=100 start_routers 1 "conns_per_peer: 1"
	taker server 10.2.0.1
	half_way 10.1.0.1
	eventually "$PATIENCE" diverts 1000000
	port=$(lx r1 -j lane show | jq -r '.lane[0].local | sub(".*:"; "")')
	server_has "$port"
	ip netns exec "${NS}r1" tests/sys/front.py eth1 egress 0 --again >"$DIR/agent" 3>&- &
	agent=$!
	eventually "$PATIENCE" log_has r1 "interface=eth1 hook=egress removed=4"
	eventually 2 eval "! server_has $port"
	kill -9 "$agent" "$victim"
}

# ---- routes ----------------------------------------------------------------------------------

# another_way: a second way to the server and back, through a gateway, by an interface with an NI.
# Nothing goes there yet.
another_way() {
	node gw
	link gw eth0 10.3.0.1/24 r1 eth2 10.3.0.11/24
	link gw eth1 10.4.0.1/24 server eth1 10.4.0.2/24
	on gw sysctl -q net.ipv4.ip_forward=1
	ip -n "${NS}gw" route add 10.2.0.1/32 via 10.4.0.2
	ip -n "${NS}gw" route add 10.2.0.11/32 via 10.3.0.11
	{ nets_yaml tcp1 eth0 tcp2 eth1 tcp3 eth2; echo 'routing: { enable: 1 }'; quick_yaml; } |
		config r1
}

# back COMMAND...: the server's route to the router, if not by the direct wire
back() {
	ip -n "${NS}server" route "$1" 10.2.0.11/32 src 10.2.0.1 "${@:2}"
}

# lanes_leave_by INTERFACE: from now on
lanes_leave_by() {
	local diverted sent

	diverted=$(fastpath_sum r1 diverted)
	sent=$(on r1 cat "/sys/class/net/$1/statistics/tx_bytes")
	eventually "$PATIENCE" diverts 20000000
	[ "$(on r1 cat "/sys/class/net/$1/statistics/tx_bytes")" -gt $((sent + 10000000)) ]
}

# What the programs send has no ports when the kernel looks for its route.
@test "policy routing with two tables: lnetxd forwards where a rule is for ports, else lanes do" {
	another_way
	back add via 10.4.0.1
	ip -n "${NS}r1" route add default via 10.3.0.1 table 100
	ip -n "${NS}r1" rule add to 10.2.0.1 ipproto tcp dport 988 lookup 100
	ip -n "${NS}r1" rule add to 10.2.0.1 ipproto tcp sport 988 lookup 100
	start r1
	start_server
	begin_puts
	eventually "$PATIENCE" is_elsewhere lane 10.2.0.1
	equal "$(fastpath_sum r1 diverted)" 0
	ip -n "${NS}r1" rule add from 10.2.0.11 lookup 100
	eventually "$PATIENCE" diverts 1000000
	lanes_leave_by eth2
	end_puts
}

@test "under load the way to a server dies, and both routes change to another one" {
	another_way
	DROPS_EXPECTED+=('NETFILTER_DROP at .*')
	start r1
	start_server
	begin_puts
	eventually "$PATIENCE" diverts 10000000
	back add via 10.4.0.1
	ip -n "${NS}r1" route add 10.2.0.1/32 via 10.3.0.1 src 10.2.0.11
	on server nft 'table netdev dead {
		chain in { type filter hook ingress device eth0 priority 0; policy drop; }
	}'
	eventually "$PATIENCE" lanes_leave_by eth2
	end_puts
	# Not until its own stream's socket sends something.
	jq -e '.max_us < 4e6' "$DIR/client.json"
}

# paths WEIGHT WEIGHT: of the direct wire and of the gateway, for what the router and the server send
# to each other; by port
paths() {
	ip -n "${NS}r1" route replace 10.2.0.1/32 src 10.2.0.11 nexthop dev eth1 weight "$1" \
		nexthop via 10.3.0.1 dev eth2 weight "$2"
	ip -n "${NS}server" route replace 10.2.0.11/32 src 10.2.0.1 nexthop dev eth0 weight "$2" \
		nexthop via 10.4.0.1 dev eth1 weight "$1"
}

@test "equal-cost paths to a server and back, and connections change between them under load" {
	local weights

	another_way
	on r1 sysctl -q net.ipv4.fib_multipath_hash_policy=1
	on server sysctl -q net.ipv4.fib_multipath_hash_policy=1
	paths 1 1
	start r1
	start_server
	begin_puts
	eventually "$PATIENCE" diverts 1000000
	for weights in '1 20' '20 1' '1 1' '1 20' '20 1'; do
		# shellcheck disable=SC2086 # two words
		paths $weights
		sleep 2
	done
	ip -n "${NS}r1" route replace 10.2.0.1/32 src 10.2.0.11 dev eth1
	eventually "$PATIENCE" lanes_leave_by eth1
	end_puts
}

# ---- what else may hide packets: docs/fastpath-operation.md ----------------------------------

# goes_on: messages go by lanes, or do so again
goes_on() {
	diverted=$(fastpath_sum r1 diverted)
	eventually "$PATIENCE" diverts 20000000
}

# marks SET: what a firewall sets at each of its hooks
marks() {
	on r1 nft -f - <<-END
		table ip marks {
			chain pre { type filter hook prerouting priority -300; $1; }
			chain out { type route hook output priority -300; $1; }
			chain post { type filter hook postrouting priority 300; $1; }
		}
		table netdev marks {
			chain in0 { type filter hook ingress device eth0 priority 0; $1; }
			chain in1 { type filter hook ingress device eth1 priority 0; $1; }
			chain out0 { type filter hook egress device eth0 priority 0; $1; }
			chain out1 { type filter hook egress device eth1 priority 0; $1; }
		}
	END
}

@test "a firewall that sets marks at all its hooks, or clears them and sets priorities: nothing" {
	start_routers 1 "conns_per_peer: 2"
	start_server
	begin_puts
	goes_on
	marks "meta mark set 0x1234"
	goes_on
	on r1 nft flush ruleset
	marks "meta mark set 0; meta priority set 0x10001"
	goes_on
	equal "$(lx r1 -j bpf status | jq .bpf.unpassed)" 0
	end_puts
}

@test "what drops packets, or takes them away, for a second, takes them from lnetxd, too" {
	local hook

	DROPS_EXPECTED+=('NETFILTER_DROP at .*' '.* at do_xdp_generic' 'QDISC_DROP at .*')
	start_routers 1 "conns_per_peer: 2"
	start_server
	begin_puts
	goes_on
	on r1 tc qdisc add dev eth1 clsact 2>/dev/null || true
	for hook in ingress egress; do
		on r1 nft "table netdev dead {
			chain c { type filter hook $hook device eth1 priority 0; policy drop; }
		}"
		sleep 1
		on r1 nft flush ruleset
		goes_on
		if on r1 tc filter add dev eth1 $hook prio 1 u32 match u32 0 0 \
			action mirred egress redirect dev lo; then
			sleep 1
			on r1 tc filter del dev eth1 $hook prio 1
			goes_on
		fi
	done
	end_puts
}

# An XDP program redirects what comes in at eth1: to the machine, but by an interface without an NI.
@test "an XDP program takes a server's packets to another interface, under load" {
	local address

	DROPS_EXPECTED+=('SOCKET_FILTER at .*' '.* at do_xdp_generic')
	address=$(on r1 cat /sys/class/net/eth1/address)
	ip -n "${NS}r1" link add x0 type veth peer name x1 address "$address"
	ip -n "${NS}r1" link set x0 up
	ip -n "${NS}r1" link set x1 up
	on r1 sysctl -q net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.x1.rp_filter=0
	cat >"$DIR/xdp.c" <<-END
		#define IN(name) __attribute__((section(name)))
		static long (*redirect)(int, long) = (void *)23;
		IN("xdp") int to_x0(void *ctx)
		{
			return redirect($(on r1 cat /sys/class/net/x0/ifindex), 0);
		}
		char licence[] IN("license") = "GPL";
	END
	clang -target bpf -O2 -c "$DIR/xdp.c" -o "$DIR/xdp.o"
	start_routers 1 "conns_per_peer: 2"
	start_server
	begin_puts
	goes_on
	ip -n "${NS}r1" link set dev eth1 xdpgeneric obj "$DIR/xdp.o" sec xdp ||
		skip "this ip cannot attach XDP"
	eventually "$PATIENCE" log_has r1 "by interface x1, past the programs"
	eventually "$PATIENCE" is_elsewhere lane 10.2.0.1
	ip -n "${NS}r1" link set dev eth1 xdpgeneric off
	goes_on
	end_load client || true # what was under way is lost
	equal "$(jq .bad "$DIR/client.json")" 0
}

@test "the interface becomes a port of a bridge under load, and is none again: nothing" {
	start_routers 1 "conns_per_peer: 2"
	start_server
	begin_puts
	goes_on
	ip -n "${NS}r1" link add br0 address "$(on r1 cat /sys/class/net/eth1/address)" type bridge
	ip -n "${NS}r1" link set br0 up
	ip -n "${NS}r1" link set eth1 master br0
	goes_on
	ip -n "${NS}r1" link set eth1 nomaster
	goes_on
	end_puts
}

# Each packet passes two hooks of ours; one of them changes it.
@test "NIs on a macvlan and on its parent, on a bridge and on its port" {
	node other
	link other eth0 10.4.0.1/24 r1 eth2 10.5.0.11/24
	ip -n "${NS}r1" link add br0 type bridge
	ip -n "${NS}r1" link add mac0 link eth1 type macvlan mode bridge
	ip -n "${NS}r1" link set eth2 master br0
	ip -n "${NS}r1" addr add 10.4.0.11/24 dev br0
	ip -n "${NS}r1" addr add 10.3.0.11/24 dev mac0
	ip -n "${NS}r1" link set br0 up
	ip -n "${NS}r1" link set mac0 up
	ip -n "${NS}server" addr add 10.3.0.1/24 dev eth0
	{ nets_yaml tcp1 eth0 tcp2 eth1 tcp3 mac0 tcp4 br0 tcp5 eth2
		echo 'routing: { enable: 1 }'; quick_yaml; } | config r1
	start r1
	load_server server 10.3.0.1@tcp3 -r tcp1=10.3.0.11@tcp3
	load_server other 10.4.0.1@tcp4 -r tcp1=10.4.0.11@tcp4
	for net in 3 4; do
		for verb in put get; do
			begin_load client 10.1.0.1@tcp1 $verb "10.$net.0.1@tcp$net" \
				-r "tcp$net=10.1.0.11@tcp1" -s 64k -t 300
			goes_on
			end_puts
		done
	done
}
