#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The neighbours of a failing node: a client sends small messages to a server that goes
# silent, and pings another one on the same connection. How long exactly they wait measures
# tools/bench/isolation; here, that nothing is lost, and nobody waits for long. See events.bash.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/events.bash
source "$BATS_TEST_DIRNAME/events.bash"
GIVE_UP=20

HEALTHY=10.2.0.2@tcp2
# Seconds; 0.13 measured, on an idle machine.
PAUSE=5
# The router's words about the silent server, and its tunables.
SAYS='has not acknowledged anything in time'
TUNABLES=

# silence: the server falls silent. If nothing was under way at that moment, tries again.
silence() {
	for _ in 1 2 3 4 5 6 7 8; do
		ip -n "${NS}lan2" link set p-server nomaster
		[ "$LNETX_BPF" = on ] || return 0
		eventually 1 log_has r1 \
			"next_hop=10.2.0.1@tcp2 .*$SAYS" && return
		returns
		goes_on
	done
	return 1
}

# begins: the client sends to both servers, and one has gone silent
begins() {
	links_change
	routed "$TUNABLES"
	QUICK="$QUICK --set lnet.lnet_transaction_timeout=$GIVE_UP --set tcp.sock_timeout=$GIVE_UP"
	node healthy
	plug healthy eth0 10.2.0.2/24 lan2
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	load_server healthy $HEALTHY -r tcp1=10.2.0.11@tcp2
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -s 512 --inflight 32 \
		--ping $HEALTHY -t 300
	eventually "$PATIENCE" routed_by r1 500
	eventually "$PATIENCE" fastpath_used r1
	silence
}

returns() {
	ip -n "${NS}lan2" link set p-server master br0
}

# others_noticed_nothing: the client's pings to the healthy server were answered, and soon
others_noticed_nothing() {
	jq -e ".pings_failed == 0 and .pings > 20 and .ping_max_us < $PAUSE * 1e6" "$DIR/client.json" ||
		{ cat "$DIR/client.json"; return 1; }
}

no_lane_is_stored() {
	lx r1 -j lane show | jq -e '[.lane[]? | select(.state == "stored")] == []'
}

# bats test_tags=router
@test "a server falls silent and comes back: its client's other messages go on, nothing is lost" {
	begins
	sleep 3
	# With enough of its messages under way, lnetxd has got some of them.
	[ "$LNETX_BPF" = off ] ||
		lx r1 -j lane show | jq -e '[.lane[].stores] | add > 0'
	returns
	goes_on
	end_load client
	all_arrived "$DIR/client.json"
	others_noticed_nothing
	eventually "$PATIENCE" no_lane_is_stored
}

@test "... and the fast path is switched off meanwhile" {
	begins
	lx r1 bpf off
	sleep 3
	returns
	goes_on
	end_load client
	all_arrived "$DIR/client.json"
	others_noticed_nothing
	[ "$LNETX_BPF" = off ] || eventually "$PATIENCE" no_lane_is_stored
}

@test "a server falls silent for good: what was stored is counted as lost, others go on" {
	GIVE_UP=6
	begins
	begin_load other 10.1.0.5@tcp1 put $HEALTHY -r tcp2=10.1.0.11@tcp1 -s 64k -t 8
	eventually $BOUND no_conn 10.2.0.1
	[ "$LNETX_BPF" = off ] || log_has r1 'nid=10.1.0.1@tcp1 next_hop=10.2.0.1@tcp2 messages='
	end_load other
	all_arrived "$DIR/other.json"
	jq -e ".max_us < $PAUSE * 1e6" "$DIR/other.json"
	end_load client || true # it has lost messages
}

@test "... and there is no memory to store what is under way: its clients wait, nothing is lost" {
	TUNABLES='fastpath_store: 0' SAYS='there is no memory to store that'
	begins
	sleep 1
	returns
	goes_on
	end_load client
	all_arrived "$DIR/client.json"
	[ "$LNETX_BPF" = off ] || lx r1 -j lane show | jq -e '[.lane[].stores] | add == 0'
}
