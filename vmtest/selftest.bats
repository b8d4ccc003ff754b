#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# LNet selftest over RoCE, and through a router between tcp and o2ib; every byte checked. Three
# machines:
#
#	1 a 10.77.0.1@tcp ──── 2 r .2@tcp, .2@o2ib ──── 3 b 10.77.0.3@o2ib
bats_require_minimum_version 1.5.0
# shellcheck source=vmtest/o2ib.bash
source "$BATS_TEST_DIRNAME/o2ib.bash"

setup_file() {
	mkdir -p "$RUN"
	rdma_up 2 eth0 10.77.0.2
	rdma_up 3 eth0 10.77.0.3
}

setup() {
	{ nets_yaml 10.77.0.2@tcp 10.77.0.2@o2ib; echo 'routing: { enable: 1 }'; } | daemon 2 r
	{ nets_yaml 10.77.0.1@tcp; route_yaml o2ib 10.77.0.2@tcp; } | daemon 1 a
	{ nets_yaml 10.77.0.3@o2ib; route_yaml tcp 10.77.0.2@o2ib; } | daemon 3 b
	lx 1 a selftest on consoles any
	lx 2 r selftest on consoles any
	lx 3 b selftest on consoles any
}

teardown() {
	logs
	clean
}

# route_yaml NET GATEWAY
route_yaml() {
	printf 'route:\n    - net: %s\n      gateway: %s\n' "$1" "$2"
}

# measure VM NAME RESULTS OPTION...: runs tests from this node; all nodes work, nothing fails
measure() {
	local vm=$1 name=$2 results=$3 out
	shift 3

	out=$(lx "$vm" "$name" -j selftest run "$@" time 3s) || { echo "$out"; return 1; }
	jq -e ".selftest | .complete and .errors == 0 and (.results | length) == $results and
		([.results[].nodes[].rpc_per_s] | all(. > 0))" >/dev/null <<<"$out" ||
		{ echo "$out"; return 1; }
}

# No node is in a session any more.
free_again() {
	local node

	for node in "1 a" "2 r" "3 b"; do
		# shellcheck disable=SC2086 # two words
		[ "$(lx $node -j selftest show | jq -r '.selftest[0].session // ""')" = "" ]
	done
}

@test "over o2ib: pings, and bulk in both directions" {
	measure 2 r 1 from 10.77.0.2@o2ib to 10.77.0.3@o2ib ping
	measure 2 r 2 from 10.77.0.2@o2ib to 10.77.0.3@o2ib size 4k,1m write check full
	measure 2 r 2 from 10.77.0.2@o2ib to 10.77.0.3@o2ib size 4k,1m read check full
	free_again
}

@test "from tcp to o2ib through a router" {
	measure 1 a 2 from 10.77.0.1@tcp to 10.77.0.3@o2ib size 4k,1m write check full
	measure 1 a 2 from 10.77.0.1@tcp to 10.77.0.3@o2ib size 4k,1m read check full
	lx 2 r -j stats show | jq -e '.statistics.route_count > 100'
	free_again
	stop 1 a
	stop 3 b
	stop 2 r
}
