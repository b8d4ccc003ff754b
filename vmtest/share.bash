# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Which share of a load's bytes went by lanes of r1.

# sample: note the streams' bytes, and those of them that went by lanes, by connection
sample() {
	lx r1 -j stream show | jq -c '[.stream[]? |
		{ key: "\(.peer) \(.remote)", value: [.bytes, .lane_bytes] }] | from_entries' \
		>>"$DIR/samples"
}

# share: of the bytes since the first sample, how much went by lanes, in percent. A stream's
# counters go with its connection: its last sample counts.
share() {
	jq -rs '.[0] as $first | add | [to_entries[] | [.value, $first[.key] // [0, 0]] |
		if .[0][0] < .[1][0] then .[0] else [.[0][0] - .[1][0], .[0][1] - .[1][1]] end] |
		transpose | map(add) | if .[0] > 0 then 100 * .[1] / .[0] | round else "?" end' \
		"$DIR/samples"
}

# shared COMMAND...: that begins the client's load; until its end, and all of it must arrive
# shellcheck disable=SC2154 # of lib.bash
shared() {
	local pid

	: >"$DIR/samples"
	sample
	"$@"
	pid=${load_pid[client]}
	while ! gone "$pid"; do
		sample
		sleep 0.3
	done
	end_load client
	all_arrived "$DIR/client.json"
}
