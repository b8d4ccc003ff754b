#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Inspecting and controlling the fast path: streams, lanes, traces, off and on, counters. The
# client writes to the server through r1, whose kernel forwards most messages.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	node client server r1
	link client eth0 10.1.0.1/24 r1 eth0 10.1.0.11/24
	link server eth0 10.2.0.1/24 r1 eth1 10.2.0.11/24
	QUICK="$QUICK --set tcp.conns_per_peer=4"
}

teardown() {
	net_end
}

# router [TUNABLE: VALUE]: start r1; skip if its kernel cannot forward
router() {
	start_routers 1 "conns_per_peer: 4${1:+, $1}"
	lx r1 -j bpf status >"$DIR/bpf"
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
}

# writing [OPTION...]: the client writes until end_load
writing() {
	begin_load client 10.1.0.1@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 65536 -t 60 "$@"
}

# total OBJECT FIELD: over all streams, or all lanes
total() {
	lx r1 -j "$1" show | jq "[.$1[]?.$2] | add // 0"
}

# more_than OBJECT FIELD NUMBER
more_than() {
	[ "$(total "$1" "$2")" -gt "$3" ]
}

# all_are OBJECT STATE: there are some, all in this state
all_are() {
	lx r1 -j "$1" show | jq -e --arg s "$2" "[.$1[]?.state] | length > 0 and all(. == \$s)"
}

ended_well() {
	end_load client
	all_arrived "$DIR/client.json"
}

@test "streams and lanes agree with each other, and credits come back" {
	router
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	run -0 lx r1 stream show
	[[ $output == STREAM* && $output == *10.1.0.1@tcp1* && $output == *"TO LANE 0, BECAUSE"* ]]
	run -0 lx r1 -s lane show
	[[ $output == LANE* && $output == *10.2.0.1@tcp2* && $output == *"CREDITS"* ]]
	kill -STOP "${load_pid[client]}"
	eventually "$PATIENCE" quiet
	equal "$(total lane messages)" "$(total stream lane_messages)"
	equal "$(total lane bytes)" "$(total stream lane_bytes)"
	# Each message went by a lane, or to lane 0 for one reason.
	lx r1 -j stream show | jq -e '.stream | all(.messages >= .lane_messages and
		.lane_percent == ((.lane_bytes * 100 / .bytes) | floor))'
	lx r1 -j lane show | jq -e '.lane | all(.next_hop_credits == 8 and (has("stream") | not))'
	kill -CONT "${load_pid[client]}"
	ended_well
}

# Nothing is in flight.
quiet() {
	lx r1 -j lane show | jq -e '.lane | all(.unacked == 0 and .state == "idle")'
}

# lane_to HOP FILTER: true if a lane to it matches
lane_to() {
	lx r1 -j lane show | jq -e --arg hop "$1" "any(.lane[]; .next_hop == \$hop and ($2))"
}

# has_narrow_lane COMMAND...: after some small messages, too few to open the window
has_narrow_lane() {
	"$@" -s 64 -N 20 && sleep 0.2 && lane_to 10.1.0.1@tcp1 '.window < 200000'
}

# large_by_lane COMMAND...
large_by_lane() {
	"$@" -s 1M -t 1 >"$DIR/large.json" && all_arrived "$DIR/large.json" &&
		lane_to 10.1.0.1@tcp1 '.bytes > 10 * 1048576'
}

@test "a lane with a small window is taken back, and returns when the window opens" {
	QUICK="$QUICK --set tcp.conns_per_peer=1"
	router
	address server eth0 10.2.0.2/24
	load_server client 10.1.0.1@tcp1 -r tcp2=10.1.0.11@tcp1
	local put=(load server 10.2.0.2@tcp2 put 10.1.0.1@tcp1 -r tcp1=10.2.0.11@tcp2)
	eventually "$PATIENCE" has_narrow_lane "${put[@]}"
	eventually "$PATIENCE" large_by_lane "${put[@]}"
}

# sending COUNT: that many of r1's connections to the server have just sent something
sending() {
	[ "$(on r1 ss -tinHO dst 10.2.0.1 | grep -cvE 'lastsnd:[0-9]{3,}')" -ge "$1" ]
}

@test "switched off and on under load: nothing is lost" {
	router
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	lx r1 bpf off
	eventually "$PATIENCE" all_are stream off
	eventually "$PATIENCE" all_are lane socket
	eventually "$PATIENCE" sending 4 # the daemon has taken them back
	run -0 lx r1 bpf status
	[[ $output == *'fast path off: "lnetx bpf on"'* ]]
	local before bytes
	before=$(total stream lane_messages)
	bytes=$(total stream bytes)
	eventually "$PATIENCE" more_than stream bytes $((bytes + (8 << 20)))
	equal "$(total stream lane_messages)" "$before"
	lx r1 bpf on
	eventually "$PATIENCE" more_than stream lane_messages $((before + 500))
	for _ in 1 2 3 4 5 6; do
		lx r1 bpf off
		sleep 0.1
		lx r1 bpf on
		sleep 0.1
	done
	before=$(total stream lane_messages)
	eventually "$PATIENCE" more_than stream lane_messages "$before"
	ended_well
}

@test "a router that starts with the fast path off has no streams until it is switched on" {
	router 'fastpath: off'
	lx r1 -j bpf status | jq -e '.bpf.fastpath == false'
	writing
	eventually "$PATIENCE" routed_some
	equal "$(total stream messages)" 0
	equal "$(total lane messages)" 0
	lx r1 bpf on
	eventually "$PATIENCE" more_than stream lane_messages 100
	ended_well
}

# A site is switched on all at once: whoever finds nobody here tries again after a minute.
@test "a router accepts connections while the fast path is being loaded" {
	local accepted loaded

	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'
		quick_yaml 'accept: all'; } | config r1
	spawn r1 -c "$DIR/r1.yaml"
	accepted=$(on client timeout "$PATIENCE" python3 -c "
import datetime, socket, time
while True:
    try:
        socket.create_connection(('10.1.0.11', 988), 1)
        break
    except OSError:
        time.sleep(0.01)
print(datetime.datetime.utcnow().isoformat(timespec='milliseconds'))")
	eventually "$PATIENCE" is_running r1
	loaded=$(sed -n 's/+0000 .*bpf=fastpath action=loaded.*//p' "$DIR/r1.log")
	echo "accepted: $accepted, loaded: $loaded"
	[[ $loaded && $accepted < $loaded ]]
}

routed_some() {
	[ "$(stat_of r1 route_count)" -gt 500 ]
}

@test "a trace has source, destination, type, size and lane, and honours its filters" {
	router
	run -2 lx r1 trace nid 10.1.0.1@tcp1 type foo
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	eventually "$PATIENCE" traced '"lane":' -j trace type put nid 10.1.0.1@tcp1
	jq -se 'all(.src == "10.1.0.1@tcp1" and .type == "put" and
		(has("lane") or has("reason")))' "$DIR/trace"
	jq -se 'any(has("lane") and .bytes == 65536 and .dst == "10.2.0.1@tcp2")' "$DIR/trace"
	run ! traced . trace nid 10.9.9.9@tcp1
	eventually "$PATIENCE" traced \
		'^[-0-9]+ [:0-9.]+  stream [0-9]+  10.2.0.1@tcp2 > 10.1.0.1@tcp1  ack 0  (lane [0-9]+|[a-z_]+)$' \
		trace type ack
	ended_well
}

# traced REGEX ARGUMENT...: a second of what this prints, in $DIR/trace, has such a line
traced() {
	on r1 timeout 1 "$LNETX_BIN/lnetx" "${@:2}" >"$DIR/trace" 3>&- || true
	grep -E "$1" "$DIR/trace"
}

@test "bpftool can read the trace from its map" {
	local pins pid field b value
	command -v bpftool >/dev/null || skip "no bpftool"
	router
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	pins=$(jq -r .bpf.pins "$DIR/bpf")/fastpath pid=${daemon_pid[r1]}
	for field in $(nsenter -m -r -t "$pid" bpftool -j map dump pinned "$pins/settings" |
		jq '.[0].formatted.value | .resegment_ifindex, .join_ifindex, .part_ifindex, .cuts,
			1, .strict, .untrue, 0, .unpassed, 0'); do
		for b in 0 8 16 24; do
			value+=" $(((field >> b) & 255))"
		done
	done
	# shellcheck disable=SC2086 # value
	nsenter -m -r -t "$pid" bpftool map update pinned "$pins/settings" key 0 0 0 0 value $value
	eventually "$PATIENCE" piped "$pid" "$pins/trace"
	ended_well
}

# piped PID MAP: a second of the trace has events
piped() {
	timeout -s INT 1 nsenter -m -r -t "$1" bpftool map event_pipe pinned "$2" >"$DIR/pipe" 3>&- || true
	grep '^== @' "$DIR/pipe"
}

@test "LNet's counters include what the kernel forwarded" {
	router
	ctl r1 stats reset
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	ended_well
	local messages routed length net
	messages=$(jq .messages_total "$DIR/client.json")
	routed=$(stat_of r1 route_count)
	length=$(stat_of r1 route_length)
	# PUT and ACK for each, and a few pings and pushes.
	[ "$routed" -ge $((2 * messages)) ] && [ "$routed" -le $((2 * messages + 100)) ]
	[ "$length" -ge $((messages * 65536)) ] && [ "$length" -le $((messages * 65536 + (64 << 10))) ]
	for net in tcp1 tcp2; do
		ctl r1 net show -v 2 --net $net >"$DIR/$net"
	done
	# All that came in on one net went out on the other, by type.
	[ "$(type_of tcp1 received_stats put)" -ge "$messages" ]
	[ "$(type_of tcp2 sent_stats put)" -ge "$messages" ]
	[ "$(type_of tcp2 received_stats ack)" -ge "$messages" ]
	[ "$(type_of tcp1 sent_stats ack)" -ge "$messages" ]
}

# type_of NET received_stats|sent_stats TYPE
type_of() {
	awk -v s="$2:" -v t="$3:" '$1 == s { on = 1 } on && $1 == t { print $2; exit }' "$DIR/$1"
}

# from_client FIELD: of each stream from the client
from_client() {
	lx r1 -j stream show | jq -r ".stream[]? | select(.peer == \"10.1.0.1@tcp1\") | .$1"
}

# client_is STATE: there are streams from the client, all in this state
client_is() {
	[ "$(from_client state | sort -u)" = "$1" ]
}

client_by_lanes() {
	from_client lane_messages | awk '{ n += $1 } END { print n + 0 }'
}

# ni_fastpath: the NI's setting; empty: not set
ni_fastpath() {
	lx r1 -j -s net show | jq -r '.. | objects | .fastpath? // empty'
}

@test "one NI without the fast path: lnetxd handles its messages until it is on again" {
	local before

	router
	equal "$(ni_fastpath)" ""
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	lx r1 net set nid 10.1.0.11@tcp1 fastpath 0
	equal "$(ni_fastpath)" 0
	eventually "$PATIENCE" client_is off
	# Messages from the other NI get no lanes to the client, since those are on this NI.
	eventually "$PATIENCE" no_lanes_to_client
	before=$(client_by_lanes)
	routed_more 500
	equal "$(client_by_lanes)" "$before"
	lx r1 export | grep 'fastpath: 0'
	lx r1 net set nid 10.1.0.11@tcp1 fastpath -1
	equal "$(ni_fastpath)" ""
	eventually "$PATIENCE" more_than stream lane_messages $((before + 500))
	ended_well
}

@test "a fault rule: lnetxd handles what it may match until it is deleted, with either path" {
	local before matched

	router
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	# One of two billion: it matches all, and drops nothing.
	lx r1 fault add drop from 10.1.0.1@tcp1 msg put rate 2000000000
	eventually "$PATIENCE" off_the_lanes
	before=$(client_by_lanes)
	matched=$(rule_count)
	routed_more 500
	equal "$(client_by_lanes)" "$before"
	[ "$(rule_count)" -gt "$matched" ]
	lx r1 fault del all
	eventually "$PATIENCE" more_than stream lane_messages $((before + 500))
	lx r1 bpf off
	lx r1 fault add drop from 10.1.0.1@tcp1 msg put rate 2000000000
	routed_more 500
	[ "$(rule_count)" -gt 0 ]
	lx r1 fault del all
	ended_well
}

# Messages that the kernel had already begun when the rule came are through.
off_the_lanes() {
	local before

	before=$(client_by_lanes)
	routed_more 100
	[ "$(client_by_lanes)" = "$before" ]
}

# Messages that the rule has matched.
rule_count() {
	lx r1 -j fault show | jq '.fault[0].matched'
}

no_lanes_to_client() {
	lx r1 -j lane show | jq -e '[.lane[]? | select(.next_hop == "10.1.0.1@tcp1") | .state] |
		all(. == "socket" or . == "dead")'
}

has_routed() {
	[ "$(stat_of r1 route_count)" -gt "$1" ]
}

# routed_more COUNT: it has routed that many more messages
routed_more() {
	eventually "$PATIENCE" has_routed $(($(stat_of r1 route_count) + $1))
}

@test "a client with ECN: its streams say so, and everything arrives" {
	router
	on client sysctl -qw net.ipv4.tcp_ecn=1
	writing
	eventually "$PATIENCE" client_is unsupported
	equal "$(from_client why | sort -u)" ecn
	routed_more 500
	equal "$(client_by_lanes)" 0
	[[ $(lx r1 doctor) == *"advice   10.1.0.1@tcp1: "*"its connection uses ECN"* ]]
	ended_well
}

@test "a server without timestamps: the doctor says why nothing goes by lanes" {
	on server sysctl -qw net.ipv4.tcp_timestamps=0
	router
	writing
	eventually "$PATIENCE" doctor_says "advice   10.1.0.1@tcp1: *differ in TCP timestamps"
	equal "$(client_by_lanes)" 0
	ended_well
}

# doctor_says PATTERN
doctor_says() {
	# shellcheck disable=SC2053 # a pattern
	[[ $(lx r1 doctor) == *$1* ]]
}

@test "interfaces with IPsec policies get no programs, and the reason is shown" {
	on r1 ip xfrm policy add src 192.0.2.0/24 dst 198.51.100.0/24 dir out action block ||
		skip "no IPsec in this kernel"
	router
	jq -e '[.bpf.hooks[] | select(.set == "fastpath" and (.reason // "" | test("IPsec")))] |
		length == 2' "$DIR/bpf"
	log_has r1 'interface=eth0 .*IPsec policies are set \(ip xfrm policy lists 1\)'
	writing
	eventually "$PATIENCE" routed_some
	equal "$(total stream messages)" 0
	# lnetxd notices when policies go, and when they come.
	on r1 ip xfrm policy flush
	eventually "$PATIENCE" more_than stream lane_messages 100
	on r1 ip xfrm policy add src 192.0.2.0/24 dst 198.51.100.0/24 dir out action block
	eventually "$PATIENCE" all_are stream off
	routed_more 500
	ended_well
}

@test "an interface whose index is too large for a mark gets no programs, and the reason is shown" {
	ip -n "${NS}r1" link del eth1
	ip -n "${NS}r1" link add eth1 index 70000 type veth peer name eth1 netns "${NS}server"
	ip -n "${NS}r1" address add 10.2.0.11/24 dev eth1
	ip -n "${NS}server" address add 10.2.0.1/24 dev eth1
	ip -n "${NS}r1" link set eth1 up
	ip -n "${NS}server" link set eth1 up
	router
	jq -e '[.bpf.hooks[] | select(.set == "fastpath" and .interface == "eth1" and
		(.reason // "" | test("index of eth1 is above 65535")))] | length == 1' "$DIR/bpf"
	writing
	eventually "$PATIENCE" routed_some
	equal "$(total stream lane_messages)" 0
	ended_well
}

# dropping_now: packets that get lost while the doctor looks are told
dropping_now() {
	local status=0

	on r1 timeout 20 bash -c 'while sleep 0.1; do
		head -c 1300 /dev/zero >/dev/udp/10.2.0.1/9; done' 3>&- &
	lx r1 doctor | grep "eth1: it dropped .* packets on the way out in the last second" || status=1
	kill $!
	return $status
}

# The veth drops what is too large for its other end.
@test "packets that were dropped on the way out are told" {
	router
	ip -n "${NS}server" link set eth0 mtu 1000
	for _ in 1 2 3; do
		on r1 bash -c 'head -c 1300 /dev/zero >/dev/udp/10.2.0.1/9'
	done
	run -0 lx r1 -j bpf status
	jq -e '.bpf | .tx_dropped >= 3 and
		([.hooks[] | select(.interface == "eth1" and .set == "fastpath").tx_dropped >= 3] | all)' \
		<<<"$output"
	run -0 lx r1 bpf status
	[[ $output == *"dropped   "*" packets on the way out"*" eth1 "* ]]
	run lx r1 doctor # over
	[[ $output != *"packets on the way out"* ]]
	eventually "$PATIENCE" dropping_now
	run -0 lx r1 metrics
	[[ $output =~ lnetx_fastpath_tx_dropped_packets\ [1-9] ]]
}

# ours NODE: our interfaces, and interfaces with programs of the fast path
ours() {
	ip -n "$NS$1" link | grep lnetx
	on "$1" bpftool net | grep -E 'lnetx_(ingress|egress|join)'
	lx "$1" -j bpf status | jq -r '.bpf.hooks[] | select(.set == "fastpath") | .interface'
}

nothing_of_ours() {
	equal "$(ours "$1")" "" || return 1
	lx "$1" -j bpf status |
		jq -e '.bpf.sets[] | select(.set == "fastpath") | (.loaded | not) and .reason != ""'
}

# Messages of connections that there are now.
by_lanes_now() {
	local before

	before=$(total lane messages)
	sleep 0.5
	more_than lane messages $((before + 100))
}

# again NODE IF ADDRESS ROUTER-IF ROUTER-ADDRESS: the router's link is deleted and created again
again() {
	local before

	before=$(on r1 cat "/sys/class/net/$4/ifindex")
	ip -n "${NS}r1" link del "$4"
	link "$1" "$2" "$3" r1 "$4" "$5"
	[ "$(on r1 cat "/sys/class/net/$4/ifindex")" != "$before" ]
}

@test "an interface that is deleted and created again under load has lanes again" {
	links_change
	router
	writing
	eventually "$PATIENCE" more_than stream lane_messages 100
	again server eth0 10.2.0.1/24 eth1 10.2.0.11/24
	eventually "$PATIENCE" log_has r1 'interface=eth1 reason="the interface has been replaced"'
	eventually "$PATIENCE" by_lanes_now
	again client eth0 10.1.0.1/24 eth0 10.1.0.11/24
	eventually "$PATIENCE" log_has r1 'interface=eth0 reason="the interface has been replaced"'
	eventually "$PATIENCE" by_lanes_now
	end_load client || true # it has lost messages
}

@test "programs and interfaces of the fast path are there only while the node routes" {
	local idle tracer

	router 'fastpath: on' # skips without a fast path
	stop r1
	idle=$(sed '/^routing:/d' "$DIR/r1.yaml")
	config r1 <<<"$idle"
	start r1
	nothing_of_ours r1
	lx r1 tunable set lnet router_start_delay 0
	lx r1 routing on
	eventually "$PATIENCE" fastpath_as_configured r1
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	lx r1 trace >"$DIR/trace" 2>&1 3>&- &
	tracer=$!
	eventually "$PATIENCE" grep -q put "$DIR/trace"

	# Switched off under load: the client waits until there is a router again.
	lx r1 routing off
	eventually "$PATIENCE" nothing_of_ours r1
	ends "$tracer" 1
	grep 'routing has been switched off' "$DIR/trace"
	pings r1 10.1.0.1@tcp1
	run -1 lx r1 trace
	[[ $output == *"not loaded"* ]]
	lx r1 routing on
	eventually "$PATIENCE" more_than stream lane_messages 500
	ended_well

	# Leftovers of a killed router are removed by the next start, whether that routes or
	# not.
	stop r1 KILL
	[[ $(ip -n "${NS}r1" link) == *lnetx-seg* ]]
	start r1
	nothing_of_ours r1
}

# streams_of ADDRESS: the router's number of streams from there
streams_of() {
	lx r1 -j stream show | jq --arg a "$1:" '[.stream[]? | select(.remote | startswith($a))] | length'
}

# its_share ADDRESS NUMBER: the address has that many streams
its_share() {
	[ "$(streams_of "$1")" = "$2" ]
}

# The client's four connections for bulk, some of which may not have had a message yet.
more_than_its_share() {
	[ "$(streams_of 10.1.0.1)" -ge 4 ]
}

# table NAME FIELD: of the fast path, from "bpf status"
table() {
	lx r1 -j bpf status | jq --arg t "$1" ".bpf.tables[] | select(.table == \$t).$2"
}

@test "a host that invents NIDs gets its share of streams, and others get theirs" {
	router 'fastpath_streams: 64'
	ip -n "${NS}client" addr add 10.1.0.50/24 dev eth0
	ip netns exec "${NS}client" tests/sys/peer.py --net 1 flood 10.1.0.50 10.1.0.11 10.2.0.1 200 \
		>"$DIR/flood" 2>&1 3>&- &
	flood=$!
	eventually "$PATIENCE" grep '^ready' "$DIR/flood"
	eventually "$PATIENCE" its_share 10.1.0.50 8
	writing
	eventually "$PATIENCE" more_than stream lane_messages 500
	equal "$(streams_of 10.1.0.50)" 8
	eventually "$PATIENCE" more_than_its_share
	equal "$(table streams max)" 64
	[ "$(table streams used)" -ge 12 ]
	[ "$(table streams memory)" -gt 100000 ]
	run -0 lx r1 bpf status
	[[ $output == *"TABLE "*"IN USE"*"AT MOST"*streams* ]]
	ended_well
	kill "$flood"
	eventually "$PATIENCE" its_share 10.1.0.50 0
}
