#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Connection setup: races, numbers of connections, admission.
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

# tuned NODE TUNABLE...: start it with tunables of tcp
tuned() {
	local name=$1
	shift

	{ nets_yaml tcp eth0; echo 'tunables:'; echo "    tcp: { $* }"; } | config "$name"
	start "$name"
}

count_conns() {
	conns "$1" | awk -v type="$2" '$1 == type' | wc -l
}

has_conns() {
	equal "$(count_conns "$1" control) $(count_conns "$1" bulk_in) $(count_conns "$1" bulk_out)" \
		"$2"
}

# Slow links, so that the HELLOs of both sides cross on the wire.
slow() {
	on a tc qdisc replace dev eth0 root tbf rate "$1" burst 1600 latency 10s
	on b tc qdisc replace dev eth0 root tbf rate "$1" burst 1600 latency 10s
}

@test "both sides connect at the same moment: one set of connections, both pings answered" {
	tuned a conns_per_peer: 1
	tuned b conns_per_peer: 1
	slow 100kbit
	for _ in 1 2 3 4 5; do
		pings a 10.1.0.2@tcp >"$DIR/a.ping" 2>&1 &
		pings b 10.1.0.1@tcp
		wait $!
		eventually "$PATIENCE" has_conns a "1 1 1"
		eventually "$PATIENCE" has_conns b "1 1 1"
		eventually "$PATIENCE" disconnected
	done
}

# The side that lost the race may try once more in between.
disconnected() {
	lx a disconnect all
	has_conns b "0 0 0"
}

@test "conns_per_peer of two on both sides: one for control, two each for bulk" {
	tuned a conns_per_peer: 2
	tuned b conns_per_peer: 2
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" has_conns a "1 2 2"
	eventually "$PATIENCE" has_conns b "1 2 2"
}

@test "conns_per_peer differs: the smaller number wins, and traffic goes on" {
	tuned a conns_per_peer: 3
	tuned b conns_per_peer: 1
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" has_conns a "1 1 1"
	pings b 10.1.0.1@tcp
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" has_conns b "1 1 1"
}

@test "accept=secure: a peer on an unprivileged port is refused without a byte" {
	# By the daemon, not by the guard, which would drop its SYN (guard.bats).
	start b --no-bpf
	run ! on a tests/sys/peer.py --any-port ping 10.1.0.1 10.1.0.2
	eventually "$PATIENCE" log_has b '10\.1\.0\.1'
	run -0 on a tests/sys/peer.py ping 10.1.0.1 10.1.0.2
	equal "$output" "0@lo 10.1.0.2@tcp"
}

@test "accept=all: a peer on an unprivileged port is a userspace peer" {
	tuned b accept: all
	on a tests/sys/peer.py --any-port ping 10.1.0.1 10.1.0.2
	# It disconnected, and is forgotten.
	eventually "$PATIENCE" has_conns b "0 0 0"
}

@test "accept=none: refuses all peers, but connects to others" {
	tuned b accept: none
	start a
	run ! on a tests/sys/peer.py ping 10.1.0.1 10.1.0.2
	[[ $output == *"Connection refused"* ]]
	pings b 10.1.0.1@tcp
	pings a 10.1.0.2@tcp
}

# second TYPE: another node in the namespace of a, which does not listen
second() {
	{ nets_yaml "$1" eth0; echo 'tunables:'; echo '    tcp: { accept: none }'; } >"$DIR/second.yaml"
	exec ip netns exec "${NS}a" "$LNETX_BIN/lnetxd" -n "$NS-2" --no-bpf -c "$DIR/second.yaml"
}

@test "accept=none: a second node on a machine, unless it has the NID of the first" {
	start a
	run -1 second tcp
	[[ $output == *"net tcp on eth0: another program listens on its port"*"is a node with this NID"* ]]
	second tcp7 >"$DIR/second.log" 2>&1 3>&- &
	eventually "$PATIENCE" grep state=running "$DIR/second.log"
	kill $!
	wait $!
	# The first one listens, so it starts whoever is there already.
	stop a
	second tcp >"$DIR/second.log" 2>&1 3>&- &
	eventually "$PATIENCE" grep state=running "$DIR/second.log"
	start a
	kill $!
	wait $!
}

@test "a NID that is not the other node's: refused soon, and its log names who asked" {
	local begin=$SECONDS

	start a
	nets_yaml tcp7 eth0 | config b
	start b
	run -255 ctl a ping --timeout 10 10.1.0.2@tcp
	[ $((SECONDS - begin)) -lt 15 ]
	log_has b '10\.1\.0\.2@tcp[^7].*'
	log_has b '10\.1\.0\.1'
}

@test "no root: an unprivileged port and one warning, if the other side admits it" {
	tuned b accept: all
	{ nets_yaml tcp eth0; echo 'tunables:'; echo '    tcp: { accept: none }'; } | config a
	let_in
	mkdir -m 777 "$DIR/open"
	LNETX_RUNDIR=$DIR/open ip netns exec "${NS}a" setpriv --reuid=65534 --clear-groups \
		--inh-caps=-all --bounding-set=-all "$LNETX_BIN/lnetxd" -c "$DIR/a.yaml" \
		>"$DIR/a.log" 2>&1 3>&- &
	daemon_pid[a]=$!
	eventually "$PATIENCE" log_has a state=running
	LNETX_RUNDIR=$DIR/open pings a 10.1.0.2@tcp
	# Its guard cannot be loaded either.
	equal "$(grep 'level=warning' "$DIR/a.log" | grep -vc bpf=guard)" 1
}

@test "another port than 988" {
	tuned a accept_port: 7988, accept_port_bulk: 7989
	tuned b accept_port: 7988, accept_port_bulk: 7989
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" on_ports
}

on_ports() {
	conns a | awk -v bulk=":${1:-7989}" '$1 == "control" && !/:7988/ ||
		$1 != "control" && !index($0, bulk) { bad = 1 } END { exit bad || NR < 3 }'
}

@test "a node pings itself: lctl lists one connection on its bulk port, and four in all" {
	tuned a conns_per_peer: 1, accept_port_bulk: 989
	pings a 10.1.0.1@tcp
	# The ends of one CONTROL and one bulk connection, each with the other end's port.
	eventually "$PATIENCE" listed 4 10.1.0.1@tcp
	listed 1 :989
}

# listed NUMBER TEXT: so many lines of node a's "conn_list" have the text
listed() {
	[ "$(printf 'network tcp\nconn_list\n' | tool a lctl | grep -c "$2")" = "$1" ]
}

@test "ports change while NIs are up; bulk uses the control port by default" {
	tuned a accept_port: 7988
	tuned b accept_port: 7988
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" on_ports 7988
	lx a tunable set tcp accept_port_bulk 7989
	lx b tunable set tcp accept_port_bulk 7989
	lx a disconnect all
	pings a 10.1.0.2@tcp
	eventually "$PATIENCE" on_ports 7989
	# A port that is taken: refused, and nothing changes.
	on b python3 -c 'import socket, time
s = socket.create_server(("10.1.0.2", 7990)); time.sleep(60)' 3>&- &
	eventually "$PATIENCE" knocks b 7990
	run -1 lx b tunable set tcp accept_port_bulk 7990
	kill $!
	[[ $output == *"another program listens on port 7990"* ]]
	[[ $(lx b tunable show tcp accept_port_bulk) == *7989* ]]
	knocks b 7989
}

knocks() {
	on "$1" bash -c "</dev/tcp/10.1.0.2/$2"
}
