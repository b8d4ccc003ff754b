#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Connections that end, stall or return in the middle of messages. See events.bash.
# shellcheck disable=SC2030,SC2031 # each test sets its own
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/events.bash
source "$BATS_TEST_DIRNAME/events.bash"

@test "living peers are not given up: lanes that stay busy" {
	routed "$PROBES"
	begin_traffic
	sleep 6
	ends_within $QUIET
	jq -e '.sent_again == 0' "$DIR/client.json"
	run ! log_has r1 level=warning
}

@test "half-closed after a message: it arrives, with all before it" {
	routed
	taker server 10.2.0.1
	begin_others
	for _ in 1 2 3 4 5; do
		trains --count 300 --end fin --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	fastpath_used r1
	end_others 1500
}

@test "half-closed with losses behind the router: everything still arrives" {
	routed
	taker server 10.2.0.1
	trains --count 300
	lossy lan2 p-r1 50
	for _ in 1 2 3; do
		trains --count 300 --end fin --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	eventually "$PATIENCE" took 1200
}

# others_elsewhere: they send to another taker, so that none waits behind the client on its lane:
# then it would have 0.8 s, however long the timeout is
others_elsewhere() {
	address server eth0 10.2.0.2/24
	taker server 10.2.0.2
	begin_others 10.2.0.2
}

@test "a client pauses in the middle of a message: it keeps its connection and its lane" {
	GIVE_UP=20 routed "$PROBES"
	taker server 10.2.0.1
	others_elsewhere
	trains --count 300 --batch 20 --end pause
	fastpath_used r1
	end_others 301
	# The takers never send, and traffic may take some seconds to begin: NIs go down.
	run ! grep level=warning <(grep -v 'event="ni down"' "$DIR/r1.log")
}

# bats test_tags=router
@test "half-closed in the middle of a message: only that one is lost" {
	routed
	taker server 10.2.0.1
	begin_others
	for _ in 1 2 3; do
		trains --count 300 --batch 20 --end half-fin --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	eventually $BOUND no_conn 10.1.0.1
	end_others 900
	was_cut
}

@test "a client that sends illegal headers is closed: no other client, and no next hop" {
	local version

	routed
	taker server 10.2.0.1
	begin_others
	for version in 3 4; do
		trains --count 300 --batch 20 --end get --version $version --timeout $BOUND
		equal "${lines[-1]}" closed
	done
	fastpath_used r1
	end_others 600
	[ "$(grep -c 'illegal message' "$DIR/r1.log")" = 2 ]
	run ! grep -E 'nid=10.(1.0.5|2.0.1)@' "$DIR/r1.log"
}

# bats test_tags=router
@test "a client is killed in the middle of a message: only that one is lost" {
	routed
	taker server 10.2.0.1
	begin_others
	for _ in 1 2 3; do
		half_way 10.1.0.1
		kill -9 $victim
		eventually $BOUND no_conn 10.1.0.1
	done
	end_others 900
	was_cut
}

# shows_unsafe: the router does not trust the client's address with lanes
shows_unsafe() {
	lx r1 -j stream show |
		jq -e 'any(.stream[]; .why == "unsafe" and (.remote | startswith("10.1.0.1:")))'
}

# stalls_on_lane: half a message of the client's is on a lane, and its connection is closed for that
# before the server gives up on the router, after 8 s
stalls_on_lane() {
	half_way 10.1.0.1
	stalls=$((stalls + 1))
	eventually "$PATIENCE" no_conn 10.1.0.1
	[ "$LNETX_BPF" = off ] || log_has r1 'nothing received inside a message for 6 s'
}

@test "a client stalls in the middle of a message: it is closed first, and has no lanes then" {
	local stalls=0

	GIVE_UP=8 routed
	taker server 10.2.0.1
	others_elsewhere
	# On a busy machine it may have no lane at that moment.
	until stalls_on_lane; do
		[ $stalls -lt 5 ]
		kill -9 $victim
	done
	if [ "$LNETX_BPF" = on ]; then
		log_has r1 'nid=10.1.0.1@tcp1 .*unfinished on the fast path'
	fi
	kill -9 $victim
	half_way 10.1.0.1
	[ "$LNETX_BPF" = off ] || eventually "$PATIENCE" shows_unsafe
	kill -9 $victim
	end_others $((300 * stalls + 300))
	was_cut
}

@test "a client's link fails in the middle of a message: only that one is lost" {
	routed "$PROBES"
	taker server 10.2.0.1
	begin_others
	half_way 10.1.0.1
	ip -n "${NS}lan1" link set p-client nomaster
	kill -9 $victim
	eventually $BOUND no_conn 10.1.0.1
	ip -n "${NS}lan1" link set p-client master br0
	trains --count 300
	end_others 600
}

@test "a client loses its power in the middle of a message: those behind it lose nothing" {
	GIVE_UP=30 routed "" 1
	taker server 10.2.0.1
	begin_others
	half_way 10.1.0.1
	ip -n "${NS}lan1" link set p-client nomaster
	if [ "$LNETX_BPF" = on ]; then
		eventually 10 log_has r1 'peer=12345-10.1.0.1@tcp1 .*others wait for the rest of a message, and nothing of it comes'
		log_has r1 'nid=10.1.0.1@tcp1 .*unfinished on the fast path'
		eventually 5 log_has r1 'next_hop=10.2.0.1@tcp2 .*messages=.*sent on another connection'
	fi
	sleep 2
	kill -9 $victim
	ip -n "${NS}lan1" link set p-client master br0
	end_others 300
	was_cut
	run ! log_has r1 'nid=10.1.0.5@tcp1 .*the connection that they were sent on has ended'
}

@test "a restarted client reuses ports of connections that it forgot" {
	local begin

	routed
	taker server 10.2.0.1
	begin_others
	half_way 10.1.0.1
	ip -n "${NS}lan1" link set p-client nomaster
	reset_conns client 10.1.0.11
	kill -9 $victim
	ip -n "${NS}lan1" link set p-client master br0
	begin=$SECONDS
	trains --count 300
	[ $((SECONDS - begin)) -le $QUIET ]
	end_others 600
}

@test "a writing client loses its link: others do not notice, and it comes back" {
	links_change
	routed "$PROBES"
	begin_traffic
	begin_load other 10.1.0.5@tcp1 put $SERVER -r tcp2=10.1.0.11@tcp1 -s 1m -t 300
	goes_on
	sleep 0.5
	ip -n "${NS}lan1" link set p-other nomaster
	eventually $BOUND no_conn 10.1.0.5
	ends_within $QUIET
	ip -n "${NS}lan1" link set p-other master br0
	ends_within $((3 * BOUND)) other
}

# bats test_tags=router
@test "connections are reset on each side of the router" {
	routed
	begin_traffic
	reset_conns client 10.1.0.11
	goes_on
	reset_conns r1 10.1.0.1
	goes_on
	reset_conns r1 10.2.0.1
	goes_on
	reset_conns server 10.2.0.11
	goes_on
	ends_within $BOUND
}
