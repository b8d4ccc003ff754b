#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Two routers side by side; one of them fails under traffic.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

CLIENT=10.1.0.1@tcp1
SERVER=10.2.0.1@tcp2

setup() {
	# Only there the neighbours get the time to use other routes.
	[[ $BATS_TEST_DESCRIPTION != *"stops cleanly"* ]] || DRAIN=70
	net_begin
	net_routed 2
	start_routers 2
}

teardown() {
	net_end
}

# begin_traffic VERB: 64 KiB messages through both routers, until end_traffic
begin_traffic() {
	load_server server $SERVER -r tcp1=10.2.0.11@tcp2 -r tcp1=10.2.0.12@tcp2
	begin_load client $CLIENT "$1" $SERVER -r tcp2=10.1.0.11@tcp1 -r tcp2=10.1.0.12@tcp1 \
		-s 64k -t 300
	eventually "$PATIENCE" routed_by r1 100
	eventually "$PATIENCE" routed_by r2 100
	eventually "$PATIENCE" fastpath_used r1
	eventually "$PATIENCE" fastpath_used r2
}

# The tool resends what a dead router swallowed; nothing may be missing.
end_traffic() {
	end_load client
	all_arrived "$DIR/client.json"
}

routed_by() {
	[ "$(stat_of "$1" route_count)" -gt "$2" ]
}

# takes_over ROUTER: what was in flight in the other is lost, then traffic goes on
takes_over() {
	eventually $((3 * PATIENCE)) routed_by "$1" $(($(stat_of "$1" route_count) + 1000))
}

@test "PUTs through two routers, one is killed: the other takes over, all arrive" {
	begin_traffic put
	stop r1 KILL
	takes_over r2
	end_traffic
}

# bats test_tags=router
@test "GETs through two routers, one is killed: the other takes over, all arrive" {
	begin_traffic get
	stop r2 KILL
	takes_over r1
	end_traffic
}

@test "a router that falls silent is noticed, too" {
	begin_traffic put
	links_change
	# No FIN, no reset, no link down: removed from the switches.
	ip -n "${NS}lan1" link set p-r1 nomaster
	ip -n "${NS}lan2" link set p-r1 nomaster
	takes_over r2
	end_traffic
}

# bats test_tags=router
@test "a router stops cleanly, and comes back" {
	begin_traffic put
	stop r1
	takes_over r2
	start r1
	eventually "$PATIENCE" routed_by r1 100
	end_traffic
}

@test "the state of a route follows its gateway" {
	{ nets_yaml tcp1 eth0; route_yaml tcp2 10.1.0.11@tcp1 10.1.0.12@tcp1; quick_yaml; } |
		config client
	{ nets_yaml tcp2 eth0; route_yaml tcp1 10.2.0.11@tcp2 10.2.0.12@tcp2; quick_yaml; } |
		config server
	start client
	start server
	eventually "$PATIENCE" route_is 11 up
	eventually "$PATIENCE" route_is 12 up
	stop r1 KILL
	eventually "$PATIENCE" route_is 11 down
	route_is 12 up
	eventually "$PATIENCE" log_has client \
		'event="route down" net=tcp2 nid=10.1.0.11@tcp1 .*next="messages to tcp2 go by 10.1.0.12@tcp1"'
	start r1
	eventually "$PATIENCE" route_is 11 up
	eventually "$PATIENCE" log_has client 'level=info event="route up" net=tcp2 nid=10.1.0.11@tcp1'
}

route_is() {
	lx client -j route show |
		jq -e ".route[] | select(.gateway == \"10.1.0.$1@tcp1\") | .state == \"$2\""
}
