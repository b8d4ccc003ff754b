#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Selection policies on two real rails: which NIs carry the messages.
bats_require_minimum_version 1.5.0
GUARD=${GUARD:-off}
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

setup() {
	net_begin
	node a
	node b
	link a eth0 10.1.0.1/24 b eth0 10.1.0.2/24
	link a eth1 10.2.0.1/24 b eth1 10.2.0.2/24
	nets_yaml tcp eth0,eth1 | config a
	nets_yaml tcp eth0,eth1 | config b
	start a
	start b
	ctl a discover 10.1.0.2@tcp >/dev/null
}

teardown() {
	net_end
}

# gets NODE NID: GETs that an NI sent
gets() {
	on "$1" "$LNETX_TOOLS/lnetx" -j net show nid "$2" | python3 -c '
import json, sys
nets = json.load(sys.stdin)["net"]
print(nets[0]["local_ni"][0]["sent_stats"]["get"] if nets else 0)'
}

# pings N: send pings from a to b, and set "over" to how many left by each of a's NIs
pings() {
	local before=("$(gets a 10.1.0.1@tcp)" "$(gets a 10.2.0.1@tcp)")

	for _ in $(seq "$1"); do
		ctl a ping --timeout 10 10.1.0.2@tcp >/dev/null
	done
	over="$(($(gets a 10.1.0.1@tcp) - before[0])) $(($(gets a 10.2.0.1@tcp) - before[1]))"
}

@test "a priority keeps traffic on one rail, until it is removed" {
	pings 10
	[ "$over" = "5 5" ]
	on a "$LNETX_TOOLS/lnetx" udsp add src 10.2.0.1@tcp priority 0
	pings 10
	[ "$over" = "0 10" ]
	# The preferred rail goes and returns: the policy applies to the new NI.
	on a "$LNETX_TOOLS/lnetx" net del net tcp if eth1
	pings 4
	[ "$over" = "4 0" ]
	on a "$LNETX_TOOLS/lnetx" net add net tcp if eth1
	pings 4
	[ "$over" = "0 4" ]
	on a "$LNETX_TOOLS/lnetx" udsp del all
	pings 10
	[ "${over% *}" -ge 5 ]
}

@test "pairs keep each rail to itself" {
	on a "$LNETX_TOOLS/lnetx" udsp add src 10.1.0.1@tcp dst '10.1.0.*@tcp'
	on a "$LNETX_TOOLS/lnetx" udsp add src 10.2.0.1@tcp dst '10.2.0.*@tcp'
	pings 10
	[ "$over" = "5 5" ]
	run -0 on a "$LNETX_TOOLS/lnetx" -j peer show nid 10.1.0.2@tcp
	python3 - "$output" <<-'END'
		import json, sys
		for ni in json.loads(sys.argv[1])["peer"][0]["peer_ni"]:
		    own = ni["nid"].replace(".0.2@", ".0.1@")
		    assert ni["udsp_info"]["preferred_source_nids"] == {"nid_0": own}, ni
		    assert ni["sent_stats"]["get"] >= 5, ni
	END
}

@test "lnetx udsp: tables, JSON, and what is refused" {
	on a "$LNETX_TOOLS/lnetx" udsp add src tcp1 priority 3
	on a "$LNETX_TOOLS/lnetx" udsp add dst 'fd00::1@tcp' rte 10.1.0.9@tcp index 0
	run -0 on a "$LNETX_TOOLS/lnetx" udsp
	[ "${lines[0]}" = "INDEX  SRC   DST          RTE           PRIORITY" ]
	[ "${lines[1]}" = "    0  -     fd00::1@tcp  10.1.0.9@tcp         -" ]
	[ "${lines[2]}" = "    1  tcp1  -            -                    3" ]
	run -0 on a "$LNETX_TOOLS/lnetx" -j udsp show index 1
	[ "$output" = '{"udsp":[{"idx":1,"src":"tcp1","action":{"priority":3}}]}' ]
	run -1 on a "$LNETX_TOOLS/lnetx" udsp add src 10.1.0@tcp
	[[ $output == *'src "10.1.0@tcp" is neither a net'*'nor a range of NIDs'* ]]
	run -1 on a "$LNETX_TOOLS/lnetx" udsp add src tcp rte tcp
	[[ $output == *"do not go together"* ]]
	run -1 on a "$LNETX_TOOLS/lnetx" udsp add src tcp1 priority 3
	[[ $output == *"is there already"* ]]
	run -1 on a "$LNETX_TOOLS/lnetx" udsp del index 7
	[[ $output == *"there is no policy 7"* ]]
	run -2 on a "$LNETX_TOOLS/lnetx" udsp del
	run -2 on a "$LNETX_TOOLS/lnetx" udsp add src tcp priority 4294967295
}
