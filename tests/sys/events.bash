# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# For tests that disturb links, addresses, routes or connections while messages are routed:
# after each event all messages are correct, or a connection fails and is replaced; never a
# wrong byte, and never a stall. Limits, in seconds:
#
#	QUIET	for nodes that the event does not affect
#	BOUND	for those it does: until a connection and the messages in flight
#		on it time out and are resent
GIVE_UP=6
# shellcheck source=tests/sys/lib.bash
source "${BASH_SOURCE[0]%/*}/lib.bash"

QUIET=10
BOUND=$((2 * GIVE_UP + 6))

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

setup() {
	net_begin
}

teardown() {
	net_end
}

# routed [TUNABLE: VALUE [LANES]]: client, r1, server, and another client; several lanes to each
routed() {
	net_routed
	node other
	plug other eth0 10.1.0.5/24 lan1
	start_routers 1 "conns_per_peer: ${2:-4}${1:+, $1}"
	QUICK="$QUICK --set tcp.conns_per_peer=${2:-4}"
}

# gateway NODE NET INTERFACE NET INTERFACE ROUTE...: start it; ROUTE as for route_yaml
gateway() {
	local name=$1

	{ nets_yaml "${@:2:4}"; route_yaml "${@:6}"; echo 'routing: { enable: 1 }'
		quick_yaml 'conns_per_peer: 4'; } | config "$name"
	start "$name"
}

# Without traffic, a dead peer is noticed after 3 s.
# shellcheck disable=SC2034 # for the tests
PROBES="keepalive_idle: 1, keepalive_intvl: 1, keepalive_count: 2"

# ---- verified traffic from the client to the server ------------------------------------------

# begin_traffic: runs until ends_within; on lanes when this returns
begin_traffic() {
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	begin_client
	eventually "$PATIENCE" routed_by r1 500
	eventually "$PATIENCE" fastpath_used r1
}

begin_client() {
	begin_load client $CLIENT put "$SERVER" -r tcp2=10.1.0.11@tcp1 -s 64k -t 300
}

routed_by() {
	[ "$(stat_of "$1" route_count)" -gt "$2" ]
}

# goes_on [SECONDS]: check that it makes progress, or resumes in time
goes_on() {
	eventually "${1:-$BOUND}" routed_by r1 $(($(stat_of r1 route_count) + 500))
}

# ends_within SECONDS [LOAD]: check that everything arrived, and no message took longer
ends_within() {
	local begin=$SECONDS

	end_load "${2:-client}"
	all_arrived "$DIR/${2:-client}.json"
	[ $((SECONDS - begin)) -le "$1" ]
	jq -e ".max_us <= $1 * 1e6" "$DIR/${2:-client}.json" ||
		{ cat "$DIR/${2:-client}.json"; return 1; }
}

# ---- traffic of others, while one client is disturbed ----------------------------------------

# begin_others [ADDRESS]: traffic from another client to the taker there, until end_others
begin_others() {
	ip netns exec "${NS}other" tests/sys/trains.py send 10.1.0.5 10.1.0.11 "${1:-10.2.0.1}" \
		--count 1000000 --timeout $QUIET >"$DIR/others" 2>&1 3>&- &
	others=$!
}

# end_others COUNT: check that none of their messages had to wait, and that the taker got them
# and COUNT of the client's, every byte correct
end_others() {
	local sent

	kill "$others"
	wait "$others" || { cat "$DIR/others"; return 1; }
	sent=$(awk '$1 == "sent" { print $2 }' "$DIR/others")
	[ "$sent" -gt 500 ]
	eventually "$PATIENCE" took $((sent + $1 - $(reported_lost))) ||
		{ tail -n 3 "$DIR/10.2.0.1.taken"; return 1; }
}

# reported_lost: how many messages of others the router has lost, and reported. A lane with half a
# message is reset with all that the next hop has not acknowledged; on a busy machine, messages of
# others that went before may be among that.
reported_lost() {
	sed -n 's/.* nid=10\.1\.0\.5@.* messages=\([0-9]*\) .*sent on has ended.*/\1/p' "$DIR/r1.log" |
		awk '{ n += $1 } END { print n + 0 }'
}

# was_cut: check that the next hop got half a message, by a lane; impossible without the fast
# path
was_cut() {
	local cut

	cut=$(tail -n 1 "$DIR/10.2.0.1.taken" | awk '{ print $5 }')
	[ "$([ "$cut" = 0 ] && echo off || echo on)" = "$LNETX_BPF" ]
}

# reset_conns NODE ADDRESS: make the node's kernel reset its connections with ADDRESS
reset_conns() {
	on "$1" ss -K -Ht state established dst "$2" >"$DIR/reset" 2>&1 || true
	! grep 'not supported' "$DIR/reset" ||
		skip "this kernel cannot reset connections: CONFIG_INET_DIAG_DESTROY"
	grep ':988' "$DIR/reset"
}
