#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# A busy router with short router timers: what it forwards is a sign of life, and its own pings
# are not starved. So no route goes down, and no message is resent. The bench measures how long
# pings take, case busy.
#
#	sudo BUSY=600 bats tests/sys/busy.bats		duration in seconds
#
# bats file_tags=router
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

BUSY=${BUSY:-20}
CLIENTS=16
FIRST=21

# An NI that receives nothing for the sum of the first two is considered down.
# shellcheck disable=SC2034 # read by load
QUICK="--set lnet.alive_router_check_interval=5 --set lnet.router_ping_timeout=8"

setup() {
	local i

	net_begin
	net_routed
	for i in $(seq $FIRST $((FIRST + CLIENTS - 1))); do
		ip -n "${NS}client" addr add "10.1.0.$i/24" dev eth0
	done
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; echo 'tunables:'
	  echo '    lnet: { alive_router_check_interval: 5, router_ping_timeout: 8 }'
	  echo '    tcp: { conns_per_peer: 9 }'; } | config r1
	start r1
	fastpath_as_configured r1
	QUICK="$QUICK --set tcp.conns_per_peer=9"
}

teardown() {
	net_end
}

busy_now() {
	[ "$(stat_of r1 route_count)" -gt 500 ]
}

@test "16 clients load a router with short timers: no route goes down, every ping is answered" {
	local mark

	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2 -v
	begin_load client "10.1.0.[$FIRST-$((FIRST + CLIENTS - 1))]@tcp1" put 10.2.0.1@tcp2 \
		-r tcp2=10.1.0.11@tcp1 -s 64k -t "$BUSY" -v --ping 10.1.0.11@tcp1 --timeout 10
	# On a machine that takes long to start so many clients, the router's NI is down until then.
	eventually "$PATIENCE" busy_now
	mark=$(wc -l <"$DIR/server.load")
	timeout $((BUSY + 60)) tail --pid="${load_pid[client]}" -f /dev/null
	end_load client
	fastpath_used r1
	all_arrived "$DIR/client.json"
	jq -e '.pings > 10 and .pings_failed == 0 and .sent_again == 0' "$DIR/client.json" ||
		{ cat "$DIR/client.json"; return 1; }
	# No state changed at the ends, nor at the router.
	run grep -E '(ni|peer|route) down' "$DIR/client.load" <(tail -n "+$((mark + 1))" "$DIR/server.load")
	equal "$output" ""
	run grep -E 'level=(warning|error)' "$DIR/r1.log"
	equal "$(grep -v 'too many lines' <<<"$output")" ""
}
