#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Malformed input from the network: the connection is closed, one line in the log names the
# peer, and nobody else is disturbed - least of all the traffic of another peer, which is
# verified meanwhile.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	net_routed
	start_routers
	ip -n "${NS}client" addr add 10.1.0.2/24 dev eth0
	lx r1 tunable set tcp accept_timeout 5
}

teardown() {
	net_end
}

# Traffic to another NID of the same host, through a router, until end_traffic.
begin_traffic() {
	load_server server 10.2.0.1@tcp2 -r tcp1=10.2.0.11@tcp2
	begin_load client 10.1.0.2@tcp1 put 10.2.0.1@tcp2 -r tcp2=10.1.0.11@tcp1 -s 64k -t 600
	eventually "$PATIENCE" routed_much
}

routed_much() {
	[ "$(stat_of r1 route_count)" -gt 50 ]
}

end_traffic() {
	end_load client
	all_arrived "$DIR/client.json"
}

# Log lines about a bad peer.
complaints() {
	grep -cE "level=(warning|err).*$1" "$DIR/r1.log" || true
}

# complained ADDRESS: there are lines about it
complained() {
	[ "$(complaints "${1//./\\.}[^0-9]")" -gt 0 ]
}

# Each from another address: the same reason from the same one is told once a minute.
# bats test_tags=router
@test "each kind of malformed input: closed, one line in the log, traffic unharmed" {
	local kind from n=100

	begin_traffic
	for kind in $(tests/sys/peer.py bad list 0 0); do
		from=10.1.0.$((n++))
		ip -n "${NS}client" addr add $from/24 dev eth0
		run -0 on client tests/sys/peer.py --net 1 bad "$kind" $from 10.1.0.11
		[[ ${lines[-1]} == closed ]] || { echo "$kind: $output"; false; }
		eventually "$PATIENCE" complained $from
		sleep 0.05 # for a second line, which would be wrong
		equal "$kind: $(complaints "${from//./\\.}[^0-9]") lines" "$kind: 1 lines" ||
			{ tail "$DIR/r1.log"; false; }
	done
	end_traffic
	fastpath_used r1
	# Each is counted once, under its own reason.
	equal "$(lx r1 -j stats show | jq -c '.statistics.drops | del(.[] | select(. == 0))')" \
		'{"bad_length":3,"bad_type":1,"no_match":1}'
	equal "$(stat_of r1 drop_count)" 5
}

@test "a silent client delays no other client" {
	local begin

	lx r1 tunable set tcp accept_timeout 120
	for _ in 1 2 3; do
		on client tests/sys/peer.py --net 1 bad silence 10.1.0.1 10.1.0.11 >/dev/null 3>&- &
	done
	begin=$SECONDS
	run -0 on client tests/sys/peer.py --net 1 ping 10.1.0.2 10.1.0.11
	[ $((SECONDS - begin)) -le 60 ] # accept_timeout is longer
}

owes() {
	lx "$1" -j -s stats show | jq '.statistics.answer_bytes // 0'
}

owes_nothing() {
	[ "$(owes r1)" = 0 ]
}

# The daemon answers pings itself, with and without the fast path.
# bats test_tags=router
@test "a client that asks and never reads: bounded, closed in time, and others do not notice" {
	local before

	ip -n "${NS}client" addr add 10.1.0.3/24 dev eth0
	begin_traffic
	before=$(rss_kib r1)
	on client tests/sys/peer.py --net 1 greedy 10.1.0.1 10.1.0.11 >"$DIR/greedy" 2>&1 3>&- &
	eventually 60 grep stuck "$DIR/greedy"
	echo "# memory: $before, then $(rss_kib r1) KiB; answers: $(owes r1) bytes"
	[ "$(owes r1)" -gt $((12 << 20)) ]
	[ "$(owes r1)" -le $((16 << 20)) ]
	# Gigabytes without a bound; a part of these is what the sanitizer keeps, and router buffers.
	[ $(($(rss_kib r1) - before)) -lt $((192 << 10)) ]
	log_has r1 'peer=10.1.0.1@tcp1 .*reason="it asks for more than it reads'
	run -0 on client tests/sys/peer.py --net 1 ping 10.1.0.3 10.1.0.11
	# Its window is closed: it need not hear of it.
	eventually $((3 * GIVE_UP)) no_conn 10.1.0.1
	end_traffic
	eventually "$PATIENCE" owes_nothing
	[ "$(lx r1 -j -s stats show | jq '.statistics.answer_waits')" -ge 1 ]
	[ "$(lx r1 -j stats show | jq '.statistics.drops.send_failed')" -ge 1 ]
}

@test "many silent connections: bounded, and others get in" {
	DROPS_EXPECTED+=('TCP_LISTEN_OVERFLOW at .*')
	stop r1
	# From all ports, and without a timeout: only their number can be the limit.
	{ nets_yaml tcp1 eth0 tcp2 eth1; quick_yaml "accept: all, accept_timeout: 3600"; } |
		config r1
	start r1
	on client python3 - >"$DIR/flood" 2>&1 3>&- <<-'END' &
		import resource, socket, time
		resource.setrlimit(resource.RLIMIT_NOFILE, (5000, 5000))
		held = []
		for i in range(3000):
		    sock = socket.socket()
		    sock.bind(("10.1.0.1", 0))
		    sock.setblocking(False)
		    sock.connect_ex(("10.1.0.11", 988))
		    held.append(sock)
		print("flooded", flush=True)
		time.sleep(60)
	END
	eventually "$PATIENCE" grep flooded "$DIR/flood"
	run -0 on client tests/sys/peer.py --net 1 ping 10.1.0.2 10.1.0.11
	ctl r1 net show
	[ "$(find "/proc/${daemon_pid[r1]}/fd" | wc -l)" -lt 1500 ]
}
