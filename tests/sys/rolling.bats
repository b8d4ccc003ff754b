#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Routers that stop and return while traffic goes through them: nothing is lost and nothing is
# late. Peers have default timers (gateways are checked once in 60 s), so everything depends on
# what routers announce.
#
#	sudo RESTARTS=10 PAUSE=15 bats tests/sys/rolling.bats	with real pauses
#
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

DRAIN=70

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

RESTARTS=${RESTARTS:-4}
PAUSE=${PAUSE:-0}   # seconds from one restart to the next, at least
# Seconds that a message may take: less than any timer that would come to its rescue.
LONGEST=${LONGEST:-20}

# shellcheck disable=SC2034 # read by load
QUICK=

setup() {
	net_begin
	net_routed 2
}

teardown() {
	net_end
}

router() {
	{ nets_yaml tcp1 eth0 tcp2 eth1; echo 'routing: { enable: 1 }'; } | config "$1"
	start "$1"
	fastpath_as_configured "$1"
}

# begin_traffic OPTION...: in both directions, through both routers
begin_traffic() {
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2 -r tcp1=10.2.0.12@tcp2
	begin_load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -r tcp2=10.1.0.12@tcp1 \
		-s 64k -t 3000 "$@"
	eventually "$PATIENCE" routes r1 100
	eventually "$PATIENCE" routes r2 100
}

end_traffic() {
	end_load client
	all_arrived "$DIR/client.json"
	# Nothing was resent either: no attempt failed.
	jq -e ".sent_again == 0" "$DIR/client.json" || { cat "$DIR/client.json"; return 1; }
	jq -e ".max_us <= $LONGEST * 1e6" "$DIR/client.json" || { cat "$DIR/client.json"; return 1; }
}

# routes ROUTER N: it has forwarded that many messages
routes() {
	[ "$(stat_of "$1" route_count)" -gt "$2" ]
}

# routing_is ROUTER STATE
routing_is() {
	[ "$(lx "$1" routing show | awk -F'[ ,]+' 'NR == 1 { print $2 }')" = "$2" ]
}

# silent ROUTER: it has dropped no message
silent() {
	equal "$(stat_of "$1" drop_count)" 0
}

# bats test_tags=router
@test "routers restarted in turn: no message is lost, none is late" {
	local i name began

	router r1
	router r2
	begin_traffic
	for i in $(seq "$RESTARTS"); do
		name=r$((i % 2 + 1))
		began=$SECONDS
		stop "$name"
		start "$name"
		# It is used again, well before 60 s.
		eventually 30 routes "$name" 100
		echo "# $name was back after $((SECONDS - began)) s"
		while [ $((SECONDS - began)) -lt "$PAUSE" ]; do sleep 1; done
	done
	end_traffic
	run ! grep -E 'level=(warning|error)' "$DIR/r1.log" "$DIR/r2.log"
}

# bats test_tags=router
@test "routing is switched off, by command and by a reload: no message is lost, none is late" {
	router r1
	router r2
	begin_traffic
	lx r1 routing off
	eventually "$PATIENCE" routing_is r1 off
	silent r1
	log_has r1 'command="routing set" enable=0 client_uid=0 client_pid='
	log_has r1 'level=info routing="stopping, forwarding until all have moved away, at most 330 s"'
	eventually "$PATIENCE" log_has r1 'level=info routing="off"'
	stop r1
	router r1
	eventually 30 routes r1 100
	nets_yaml tcp1 eth0 | config r2
	kill -HUP "${daemon_pid[r2]}"
	eventually "$PATIENCE" log_has r2 'action=reloaded'
	routing_is r2 off
	silent r2
	end_traffic
}

# Messages in flight are lost; the client resends them when their time is over.
@test "a killed router is used again as soon as it is back" {
	# shellcheck disable=SC2034 # read by load
	local QUICK="--set lnet.lnet_transaction_timeout=10 --set lnet.lnet_retry_count=1
		--set tcp.sock_timeout=10"

	router r1
	router r2
	begin_traffic
	stop r1
	start r1
	eventually 30 routes r1 100
	stop r1 KILL
	start r1
	eventually 60 routes r1 100
	end_load client
	all_arrived "$DIR/client.json"
}

# It announces itself in vain, and must not take its neighbours for dead until they say something.
@test "a router that starts before its neighbours: their first messages get through" {
	printf '%s 1\n' $CLIENT $SERVER >"$LNETX_RUNDIR/10.1.0.11@tcp1.neighbours"
	router r1
	eventually "$PATIENCE" log_has r1 'peer=10.1.0.1@tcp1 .*cannot connect'
	eventually "$PATIENCE" log_has r1 'peer=10.2.0.1@tcp2 .*cannot connect'
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2
	load client $CLIENT put $SERVER -r tcp2=10.1.0.11@tcp1 -N 5 >"$DIR/client.json"
	all_arrived "$DIR/client.json"
	end_load server
}
