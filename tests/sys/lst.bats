#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# lst: a console's commands, and what Lustre's own printed for them, as recorded in
# build/captures/lnetctl/lst-2.17.0.txt (tests/golden/captures/README.md). Words, order and exit
# statuses must match; rates, keys and reasons of failures are masked.
bats_require_minimum_version 1.5.0
# shellcheck source=tests/sys/lib.bash
source "$BATS_TEST_DIRNAME/lib.bash"

text=${LNETX_CAPTURES:-build/captures}/lnetctl/lst-2.17.0.txt

# Commands that differ on purpose. A line that no longer applies fails the test.
declare -gA differs=(
	["lst list_group --busy --down --unknown s"]="the reference ignores the options"
	["lst list_group --all nosuch"]="the reference does not complain"
	["lst ping --session"]="the reference's does not work"
	["lst stat --bw --read --delay 2 --count 1 c s"]="the reference shows the other direction"
	["lst stat --bw --write --delay 2 --count 1 c s"]="the reference shows the other direction"
	["lst stat --mbs --delay 2 --count 1 10.77.0.3@tcp"]="the reference knows no NIDs here"
)
# Not run.
declare -gA skipped=(
	["lst add_group bad 10.77.0.[3-2]@tcp"]="the reference crashes"
	["lst add_group bad 10.77.0.[a]@tcp"]="the group is there after the crash"
	["lst show_error c s"]="RPC errors before this session"
	["lst show_error s"]="a request that stop --force cut off may be one"
	["timeout 6 lst stat --delay 2 s"]="the status is that of the recording's machine"
)

# Console a, nodes a, b and g.
setup() {
	local name

	net_begin
	switch lan
	node a b g
	plug a eth0 10.77.0.1/24 lan
	plug b eth0 10.77.0.2/24 lan
	plug g eth0 10.77.0.3/24 lan
	for name in a b g; do
		{ nets_yaml tcp eth0; quick_yaml; } | config "$name"
		start "$name"
		lx "$name" selftest on consoles any
	done
	export LST_SESSION=4711
}

# The session's process ends with the session.
teardown() {
	lst end_session >/dev/null 2>&1 || true
	net_end
}

lst() {
	on a "$LNETX_BIN/lst" "$@" 3>&- </dev/null
}

# Not compared: noise of netlink, entries without content, names of groups that are
# missing, and what belongs to one run.
masked() {
	sed -E -e '/^Reader error/d; /LNET_PID_ANY/d; /batch in stopping/d; /^[0-9]+\) bad$/d' \
		-e 's/ID: [0-9]+@/ID: N@/; s/KEY: [0-9]+/KEY: N/' \
		-e 's/(Failed to create session:).*/\1/; s/(RPC failed on [^ ]*:).*/\1/' \
		-e 's/[0-9.]+ +(RPC|MiB|MB)/N \1/g' |
		if [[ $1 == *list_group* ]]; then
			sed -E -e '/^\tACTIVE/d; /^Group/d; /^No nodes/d; /^Total .* groups/d' \
				-e 's/^(Total .*) \[.*/\1/; s/^((\t[0-9]+){5})\t.*/\1/'
		else
			cat
		fi
}

# same COMMAND STATUS OUTPUT: run it; its status and output are those
same() {
	local status=0

	got=$(on a env PATH="$LNETX_BIN:$PATH" bash -f -c "$1" 2>&1 3>&- </dev/null | masked "$1"
		exit "${PIPESTATUS[0]}") || status=$?
	# The reference may fail silently; ours may give a reason.
	[ "$2" = 0 ] || [ "$3" ] || got=
	[ "$status" = "$2" ] && [ "$got" = "$3" ]
}

# compare COMMAND STATUS OUTPUT
compare() {
	local wanted equal=0

	[ ! "${skipped[$1]:-}" ] || return 0
	wanted=$(masked "$1" <<<"$3")
	if [[ $1 == "lst query"* ]]; then
		# Tests end by themselves, soon.
		eventually "$PATIENCE" same "$1" "$2" "$wanted" && equal=1
	else
		same "$1" "$2" "$wanted" && equal=1
	fi
	if [ $equal = 1 ] && [ "${differs[$1]:-}" ]; then
		echo "\$ $1: not different any more; listed with: ${differs[$1]}"
		return 1
	fi
	if [ $equal = 0 ] && [ ! "${differs[$1]:-}" ]; then
		printf '$ %s\nexpected, status %s:\n%s\nis:\n%s\n' "$1" "$2" "$wanted" "$got"
		return 1
	fi
}

# golden FROM TO: play the commands between two headlines; TO is not included
golden() {
	local line command='' output='' going='' n=0 wrong=0

	[ "$1" ] || going=1
	while IFS= read -r line; do
		if [[ $line == "#$2"* ]] && [ $going ] && [ $n != 0 ]; then
			break
		elif [ "$1" ] && [[ $line == "#$1"* ]]; then
			going=1
		elif [[ $line == '$ '* ]]; then
			command=${line#\$ } output=
		elif [[ $line == '# exit status '* ]]; then
			[ $going ] || continue
			compare "$command" "${line##* }" "${output%$'\n'}" || wrong=1
			n=$((n + 1))
		else
			output+=$line$'\n'
		fi
	done <"$text"
	echo "# $n commands" >&3
	[ $n -gt 9 ] && [ $wrong = 0 ]
}

@test "as recorded: sessions, groups, batches, tests, and what is refused" {
	golden "" "a short session"
}

@test "as recorded: a short session" {
	golden "a short session" "stat, while"
}

@test "as recorded: stat while tests run" {
	lst new_session s
	lst add_group c 10.77.0.3@tcp
	lst add_group s 10.77.0.2@tcp
	lst add_group both 10.77.0.[2-3]@tcp
	lst add_batch b
	lst add_test --batch b --from c --to s brw write check=simple size=64K
	lst add_test --batch b --from c --to s ping
	lst run b
	golden "stat, while" "data errors"
	# The client sends, the server receives.
	lst run b
	eventually "$PATIENCE" client_sends
	# As lst.sh and lst-survey of Lustre call it, and the words that these take from it.
	run -0 lst stat --count 1 --delay 1 --bw "" s
	equal "$(awk '/^\[(R|W)\]/ { n++; bad += $3 !~ /^[0-9.]+$/ } END { print n + 0, bad + 0 }' \
		<<<"$output")" "2 0"
	run -0 lst stat --count 1 --delay 1 --rate --bw s
	equal "$(grep -cE '^\[[RW]\]' <<<"$output")" 4
	run -0 lst show_error --session s c
	equal "$(awk '/error nodes in/ { print $2 }' <<<"$output")" $'0\n0'
}

client_sends() {
	[[ $(lst stat --bw --write --avg --count 1 --delay 1 c) == *"[W] Avg: "*[1-9]* ]]
}

# aged FILTER: change the session as a jq filter says, as if time had passed
aged() {
	local file new

	file=$(echo "$LNETX_RUNDIR"/*.lst)
	# The file itself: others wait for its lock.
	exec 9<"$file"
	flock 9
	new=$(jq -c "$1" "$file")
	printf %s "$new" >"$file"
	exec 9<&-
}

in_session() {
	[ "$(lx "$1" -j selftest show | jq -r '.selftest[0].session // ""')" = "$2" ]
}

@test "a session lasts between commands, with its key, and ends when nobody uses it" {
	run -0 lst new_session s1
	lst add_group g 10.77.0.[2-3]@tcp
	in_session b s1
	LST_SESSION=1 run -255 lst add_batch x
	equal "$output" "Unmatched session key or not root"
	run -255 on a env -u LST_SESSION "$LNETX_BIN/lst" add_batch x 3>&-
	equal "$output" "Can't find env LST_SESSION or value is not valid"
	run -0 lst show_session
	[[ $output == "s1 ID: "*"@10.77.0.1@tcp, KEY: 4711 FEATURES: 1 NODES: 2" ]]
	run -0 lst new_session --force --timeout 200 s2
	in_session b ""
	run -0 lst add_group g 10.77.0.[2-3]@tcp
	in_session b s2
	aged '.used -= 1000'
	eventually "$PATIENCE" in_session b ""
	eventually "$PATIENCE" in_session g ""
	run -255 lst show_session
	equal "$output" "No session exists"
}

# heard: prints when node b heard of its console, in seconds of this test
heard() {
	local idle

	idle=$(lx b -j selftest show | jq '.selftest[0] | if .session == "s" then .idle_s else empty end')
	[ "$idle" ] && echo $((SECONDS - idle))
}

# Rounded numbers are compared: they must differ by more.
silent() {
	[ "$(heard)" -lt $((SECONDS - 3)) ]
}

heard_since() {
	[ "$(heard)" -ge "$1" ]
}

@test "nodes hear of the console before their time-out" {
	local now

	lst new_session s
	lst add_group g 10.77.0.2@tcp
	eventually "$PATIENCE" silent
	now=$SECONDS
	# More than half of its time-out.
	aged '.nodes[].heard -= 1000'
	eventually "$PATIENCE" heard_since $((now - 1))
}

@test "without its process there is no session" {
	lst new_session s
	# Its process saves the file each second.
	kill -KILL "$(flock "$LNETX_RUNDIR"/*.lst jq .keeper "$LNETX_RUNDIR"/*.lst)"
	eventually "$PATIENCE" no_session
	lst new_session s
	lst add_group g 10.77.0.2@tcp
}

no_session() {
	! lst show_session
}

@test "a node in another session is busy until it is free" {
	lx b selftest on consoles any
	on b "$LNETX_BIN/lst" new_session other 3>&-
	on b "$LNETX_BIN/lst" add_group g 10.77.0.3@tcp 3>&-
	lst new_session mine
	run -254 lst add_group g 10.77.0.[2-3]@tcp
	[[ $output == *"operation create session failed on 12345-10.77.0.3@tcp: Device or resource busy"* ]]
	run -0 lst list_group g
	equal "$output" $'\t1\t1\t0\t0\t2\tg'
	on b "$LNETX_BIN/lst" end_session 3>&-
	run -0 lst update_group g --refresh
	run -0 lst list_group g
	equal "$output" $'\t2\t0\t0\t0\t2\tg'
	# It leaves with its last group.
	run -0 lst del_group g
	in_session g ""
}

@test "a server that is gone is down; everything else goes on" {
	lst new_session s
	lst add_group c 10.77.0.3@tcp
	lst add_group s 10.77.0.2@tcp
	lst add_batch b
	lst add_test --batch b --from c --to s brw write size=4K
	lst run b
	stop b KILL
	run -254 lst stat --timeout 1 --count 1 --delay 1 s
	[[ $output == "Failed to stat on 1 nodes"* ]]
	run -0 lst list_group s
	equal "$output" $'\t0\t0\t1\t0\t1\ts'
	run -254 lst show_error s
	[[ $output == *"RPC failure, can't show error on 12345-10.77.0.2@tcp"*"Total 1 error nodes in s" ]]
	run -255 lst update_group s --clean down
	equal "$output" "Failed to update group: Device or resource busy"
	run -0 lst stop --force b
	[[ $output == *"Batch is stopped" ]]
	run -0 lst end_session
	in_session g ""
}

@test "parameters that crash nodes with Lustre 2.17 are not sent" {
	lst new_session s
	lst add_group g 10.77.0.[2-3]@tcp
	run -255 lst add_test --from g --to g brw write size=4K off=8
	[[ $output == *"Lustre 2.17 crash"*"Failed to add test (brw)" ]]
}

@test "commands from standard input; help; completion" {
	run -0 on a "$LNETX_BIN/lst" <<<$'new_session s\nadd_batch night\nshow_session' 3>&-
	[[ $output == "SESSION: s "*$'\n'"s ID: "* ]]
	run -0 lst help add_batch
	[[ $output == *"Usage: lst add_batch NAME" ]]
	run -0 lst --complete ad
	equal "$output" $'add_group\nadd_batch\nadd_test'
	run -0 lst --complete run ni
	equal "$output" night
	run -0 lst --complete new_session --f
	equal "$output" --force
}
